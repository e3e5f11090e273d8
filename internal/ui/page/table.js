// The table of runs: which are shown, in which order, and which are chosen.
"use strict";

const fixed = [
  { key: "name", title: "Run", value: r => r.name },
  { key: "state", title: "State", value: r => stateOf(r) },
  { key: "algorithm", title: "Algorithm", value: r => r.set.algorithm },
  { key: "env", title: "Environment", value: r => r.set.env },
  { key: "seed", title: "Seed", value: r => numeric(r.set.seed), number: true },
  { key: "steps", title: "Steps", value: r => r.steps, number: true, text: short },
  { key: "return", title: "Return", value: r => r.return, number: true, text: short },
  { key: "eval", title: "Evaluation", value: r => r.eval, number: true, text: short },
  { key: "seconds", title: "Time", value: r => r.seconds, number: true, text: duration },
];

// quiet are settings that would not help to tell runs apart.
const quiet = ["seed", "env", "algorithm", "steps", "preset", "resume", "python", "keep", "checkpoint_every", "checkpoint_steps", "eval_every", "eval_episodes", "trace_parent"];
const mostSettings = 6;

// batch is how many rows are drawn at once. The others follow when the browser has nothing else to
// do: a thousand rows at every key would be felt.
const batch = 100;
const idle = window.requestIdleCallback || (work => setTimeout(work, 20));

const words = new Intl.Collator(undefined, { numeric: true });

function numeric(text) {
  const x = Number(text);
  return text === undefined || text === null || text === "" || Number.isNaN(x) ? text : x;
}

function stateOf(r) {
  if (r.trouble) return "trouble";
  if (r.live) return "live";
  if (r.trial === "pruned" || r.trial === "failed") return r.trial;
  if (r.budget > 0 && r.steps >= r.budget) return "done";
  return r.steps > 0 ? "stopped" : "new";
}

// matcher returns a function that says whether a run matches a filter.
function matcher(text) {
  const tests = text.trim().split(/\s+/).filter(Boolean).map(term => {
    const m = term.match(/^([\w./-]+)(!=|<=|>=|=|<|>)(.*)$/);
    if (!m) {
      const word = term.toLowerCase();
      return r => r.words.includes(word);
    }
    const [, key, relation, want] = m;
    return r => {
      const column = fixed.find(c => c.key === key);
      const got = column && !(key in r.set) ? column.value(r) : r.set[key];
      if (got === undefined || got === null) return relation === "!=";
      const a = numeric(got), b = numeric(want);
      const both = typeof a === "number" && typeof b === "number";
      switch (relation) {
        case "=": return both ? a === b : String(got).toLowerCase() === want.toLowerCase();
        case "!=": return both ? a !== b : String(got).toLowerCase() !== want.toLowerCase();
        case "<": return both && a < b;
        case ">": return both && a > b;
        case "<=": return both && a <= b;
        default: return both && a >= b;
      }
    };
  });
  return r => tests.every(t => t(r));
}

class Table {
  // on has functions that are called when runs were chosen, when the order is another, and when a
  // run is to be shown: chosen, sorted and opened.
  constructor(table, on) {
    this.head = table.tHead;
    this.body = table.tBodies[0];
    this.on = on;
    this.rows = new Map();
    this.runs = [];
    this.chosen = new Map(); // id to number of its style
    this.sort = { key: "written", down: true };
    this.filter = "";
    this.wanted = []; // settings that have a column although others tell the runs apart as well
    this.filling = false;
    this.body.addEventListener("keydown", e => this.key(e));
    addEventListener("beforeprint", () => this.draw(Infinity));
  }

  load(runs) {
    this.runs = runs;
    const known = new Set(runs.map(r => r.id));
    for (const id of [...this.chosen.keys()]) if (!known.has(id)) this.chosen.delete(id);
    for (const r of runs) r.words = [r.path, stateOf(r), ...Object.values(r.set)].join(" ").toLowerCase();
    this.columns = [...fixed, ...this.settings()];
    const shape = this.columns.map(c => c.key + c.number).join();
    for (const [id, row] of this.rows) if (!known.has(id) || shape !== this.shape) this.rows.delete(id);
    if (shape !== this.shape) this.drawHead();
    this.shape = shape;
    this.draw(this.body.rows.length);
  }

  // want gives a setting a column.
  want(key) {
    this.wanted.push(key);
    this.load(this.runs);
  }

  // settings returns columns for settings in which the runs differ: first those in which runs of one
  // algorithm do, and of these those with fewest values. The others are in this.more.
  settings() {
    const values = new Map(); // of a setting: its values, the first of each algorithm, and whether runs of one differ
    for (const r of this.runs) for (const [k, v] of Object.entries(r.set)) {
      if (!values.has(k)) values.set(k, { all: new Set(), first: new Map(), apart: false });
      const x = values.get(k), algorithm = r.set.algorithm;
      x.all.add(v);
      if (!x.first.has(algorithm)) x.first.set(algorithm, v);
      x.apart ||= x.first.get(algorithm) !== v;
    }
    const differing = [...values].filter(([k, v]) => v.all.size > 1 && !quiet.includes(k))
      .sort(([k, a], [l, b]) => b.apart - a.apart || a.all.size - b.all.size || k.localeCompare(l));
    const shown = differing.filter(([k], i) => i < mostSettings || this.wanted.includes(k));
    this.more = differing.map(([k]) => k).filter(k => !shown.some(([other]) => k === other));
    return shown.map(([key, v]) => {
      const number = [...v.all].every(x => typeof numeric(x) === "number");
      return { key, title: key, value: r => numeric(r.set[key]), number, setting: true };
    });
  }

  drawHead() {
    const tr = document.createElement("tr");
    tr.setAttribute("aria-rowindex", 1);
    const choose = document.createElement("th");
    choose.scope = "col";
    choose.innerHTML = '<span class="unseen">Chosen</span>';
    tr.append(choose);
    for (const c of this.columns) {
      const th = document.createElement("th");
      th.scope = "col";
      if (c.number) th.className = "number";
      if (this.sort.key === c.key) th.setAttribute("aria-sort", this.sort.down ? "descending" : "ascending");
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = c.title;
      b.addEventListener("click", () => {
        this.sortBy(c.key, this.sort.key === c.key ? !this.sort.down : Boolean(c.number));
        this.head.querySelectorAll("button")[this.columns.indexOf(c)].focus();
      });
      th.append(b);
      tr.append(th);
    }
    this.head.replaceChildren(tr);
  }

  shown() {
    const matches = matcher(this.filter), c = this.columns.find(x => x.key === this.sort.key);
    const value = c ? c.value : r => r.written, sign = this.sort.down ? -1 : 1;
    const blank = v => v === undefined || v === null || v === "";
    return this.runs.filter(matches).sort((a, b) => {
      const x = value(a), y = value(b);
      if (blank(x) || blank(y)) return blank(x) - blank(y);
      return sign * (typeof x === "number" && typeof y === "number" ? x - y : words.compare(x, y));
    });
  }

  // sortBy orders the rows by a column.
  sortBy(key, down) {
    this.sort = { key, down };
    this.drawHead();
    this.restart();
    this.on.sorted();
  }

  // restart shows the rows from the first one, after the filter or the order has changed.
  restart() {
    this.body.parentElement.parentElement.scrollTop = 0;
    this.draw(batch);
  }

  // draw shows the runs that match the filter, in order: as many as asked for at once, and those up
  // to the row with the focus; the others when the browser has time.
  draw(least) {
    const focused = this.focused();
    this.visible = this.shown();
    const upTo = 1 + this.visible.findIndex(r => r.id === focused);
    this.place(this.visible.slice(0, Math.max(least, batch, upTo)));
    this.body.parentElement.setAttribute("aria-rowcount", this.visible.length + 1);
    const again = upTo > 0 && this.rows.get(focused).tr;
    if (again && !again.contains(document.activeElement)) again.focus({ preventScroll: true }); // it was made again, or moved
    this.stop(again || this.body.rows[0]);
    this.mark();
    this.fill();
  }

  // fill draws the rows that are not there yet, some at a time, so that the page's search finds them.
  fill() {
    if (this.filling || this.body.rows.length >= this.visible.length) return;
    this.filling = true;
    idle(() => {
      this.filling = false;
      const n = this.body.rows.length;
      this.place(this.visible.slice(n, n + batch), n);
      this.mark(n);
      this.fill();
    });
  }

  // place has the rows of runs follow the first ones, and no others behind them. Rows that say the
  // same as before, and are where they were, are not touched.
  place(runs, first = 0) {
    const rows = runs.map(r => this.rowFor(r));
    let at = this.body.rows[first] || null;
    rows.forEach((tr, i) => {
      if (tr === at) at = at.nextElementSibling;
      else this.body.insertBefore(tr, at);
      tr.setAttribute("aria-rowindex", first + i + 2);
    });
    while (this.body.rows.length > first + rows.length) this.body.lastElementChild.remove();
  }

  // rowFor returns the row of a run, made again if it would say something else.
  rowFor(r) {
    const says = JSON.stringify([r.name, this.columns.map(c => c.value(r)), stateOf(r), r.trouble]), known = this.rows.get(r.id);
    if (known && known.says === says) return known.tr;
    const tr = this.row(r);
    if (known && known.tr.isConnected) known.tr.replaceWith(tr);
    this.rows.set(r.id, { tr, says });
    return tr;
  }

  // focused returns the id of the run whose row has the focus.
  focused() {
    const tr = document.activeElement && document.activeElement.closest("#runs tbody tr");
    return tr ? tr.dataset.id : null;
  }

  // stop makes a row the one that the key Tab gets to.
  stop(tr) {
    for (const other of this.body.querySelectorAll('tr[tabindex="0"]')) other.tabIndex = -1;
    if (tr) tr.tabIndex = 0;
  }

  row(r) {
    const tr = document.createElement("tr");
    tr.dataset.id = r.id;
    tr.tabIndex = -1;
    const box = document.createElement("input");
    box.type = "checkbox";
    box.tabIndex = -1;
    box.setAttribute("aria-label", "Choose " + r.name);
    box.addEventListener("change", () => this.choose([r.id], box.checked));
    const first = document.createElement("td");
    first.append(box);
    tr.append(first);
    for (const c of this.columns) tr.append(this.cell(r, c));
    tr.addEventListener("click", e => {
      if (e.target.closest("button, input, a")) return;
      this.choose([r.id], !this.chosen.has(r.id));
    });
    return tr;
  }

  cell(r, c) {
    const td = document.createElement("td"), v = c.value(r);
    if (c.number) td.className = "number";
    if (c.key === "name") {
      const b = document.createElement("button");
      b.type = "button";
      b.className = "name";
      b.tabIndex = -1;
      b.textContent = r.name;
      b.title = r.path;
      b.addEventListener("click", () => this.on.opened(r));
      const dot = document.createElement("span");
      dot.className = "dot";
      td.append(dot, b);
    } else if (c.key === "state") {
      td.innerHTML = `<span class="state ${v}"></span>`;
      td.firstChild.textContent = v + (v === "live" || v === "stopped" ? " " + Math.floor(100 * r.steps / Math.max(1, r.budget)) + " %" : "");
      if (r.trouble) td.firstChild.title = r.trouble;
    } else if (v === undefined || v === null || v === "") {
      td.textContent = "–";
      td.classList.add("off");
    } else {
      td.textContent = c.text && typeof v === "number" ? c.text(v) : String(v);
    }
    return td;
  }

  choose(ids, yes) {
    for (const id of ids) {
      if (!yes) this.chosen.delete(id);
      else if (!this.chosen.has(id)) {
        const used = new Set(this.chosen.values());
        let style = 0;
        while (used.has(style)) style++;
        this.chosen.set(id, style);
      }
    }
    this.mark();
    this.on.chosen();
  }

  // mark shows which rows are chosen, from the first one on, and in which colour their curves are.
  mark(first = 0) {
    document.body.classList.toggle("some", this.chosen.size > 0);
    for (let tr = this.body.rows[first]; tr; tr = tr.nextElementSibling) {
      const style = this.chosen.get(tr.dataset.id);
      tr.classList.toggle("chosen", style !== undefined);
      tr.querySelector("input").checked = style !== undefined;
      tr.setAttribute("aria-selected", style !== undefined);
      tr.querySelector(".dot").style.background = style === undefined ? "transparent" : styleOf(style).colour;
    }
  }

  key(e) {
    const tr = e.target.closest("tr");
    if (!tr || e.altKey || e.ctrlKey || e.metaKey) return;
    if (e.key === "End") this.draw(Infinity); // if some are still to be drawn
    const to = { ArrowDown: tr.nextElementSibling, ArrowUp: tr.previousElementSibling, Home: this.body.firstElementChild, End: this.body.lastElementChild }[e.key];
    if (to) {
      e.preventDefault();
      this.stop(to);
      to.focus();
      to.scrollIntoView({ block: "nearest" });
    } else if (e.key === " " && e.target === tr) {
      e.preventDefault();
      this.choose([tr.dataset.id], !this.chosen.has(tr.dataset.id));
    } else if (e.key === "Enter" && e.target === tr) {
      this.on.opened(this.runs.find(r => r.id === tr.dataset.id));
    }
  }
}
