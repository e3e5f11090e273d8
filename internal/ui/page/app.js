// Ties the page together: reads runs, draws what is chosen, and follows changes.
"use strict";

const by = id => document.getElementById(id);
const usual = ["episode/return_mean", "eval/return"];
const names = new Map(); // of runs, by id
let changes = 0, drawing = 0, open = null, clustered = false;

const chart = new Chart(by("chart"), readOff);
const table = new Table(by("runs"), { chosen() { remember(); curves(); differences(); }, sorted: () => remember(), opened: details });

async function ask(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

async function load() {
  const data = await ask("api/runs");
  changes = data.changes;
  clustered = data.cluster;
  for (const r of data.runs) {
    r.set = { ...data.common };
    for (const [k, v] of Object.entries(r.settings)) if (v === null) delete r.set[k]; else r.set[k] = v;
  }
  shorten(data.runs);
  table.load(data.runs);
  groupings();
  count();
}

// shorten gives runs the names below the folder that all of them are in.
function shorten(runs) {
  let shared = runs.length > 1 ? runs[0].name.split("/").slice(0, -1) : [];
  for (const r of runs) {
    const parts = r.name.split("/");
    let n = 0;
    while (n < shared.length && parts[n] === shared[n]) n++;
    shared = shared.slice(0, n);
  }
  for (const r of runs) {
    r.path = r.name;
    r.name = r.name.split("/").slice(shared.length).join("/");
    names.set(r.id, r.name);
  }
}

function count() {
  const live = table.runs.filter(r => r.live).length, n = table.runs.length, shown = table.visible.length;
  const runs = (shown === n ? n : `${shown} of ${n}`) + (n === 1 ? " run" : " runs");
  say("count", n === 0 ? "No runs here yet: weft train makes one" : runs + (live ? `, ${live} live` : ""));
  by("empty").hidden = shown > 0 || n === 0;
}

// say changes a text that a screen reader tells, if it is another one.
function say(id, text) {
  if (by(id).textContent !== text) by(id).textContent = text;
}

// groupings offers the settings by which runs can be joined, and those that can have a column.
function groupings() {
  const names = table.columns.filter(c => c.setting).map(c => c.key);
  offer("group", [["", "one by one"], ["algorithm env " + names.join(" "), "seeds joined"], ["algorithm", "joined by algorithm"], ["env", "joined by environment"], ...names.map(n => [n, "joined by " + n])]);
  offer("more", [["", "add a setting"], ...table.more.map(n => [n, n])]);
  by("more").parentElement.hidden = table.more.length === 0;
}

// offer has a field offer values with their texts. One that offers them is not touched: it may be open.
function offer(id, values) {
  const select = by(id), now = select.value, options = values.map(([value, text]) => option(value, text));
  if (options.map(o => o.value).join("\n") === [...select.options].map(o => o.value).join("\n")) return;
  select.replaceChildren(...options);
  if (options.some(o => o.value === now)) select.value = now;
}

function option(value, text) {
  const o = document.createElement("option");
  o.value = value.trim();
  o.textContent = text;
  return o;
}

async function metricNames() {
  const ids = [...table.chosen.keys()];
  const all = new Set();
  for (const id of [ids[0], ids[ids.length - 1]].filter(Boolean)) {
    try {
      for (const m of (await ask("api/run?run=" + encodeURIComponent(id))).metrics) all.add(m);
    } catch { /* the run is gone */ }
  }
  const names = [...all].sort(), now = by("metric").value || state.metric;
  offer("metric", names.map(n => [n, n]));
  by("metric").value = names.includes(now) ? now : usual.find(u => all.has(u)) || names[0] || "";
}

// curves draws the runs that are chosen.
async function curves() {
  const turn = ++drawing, ids = [...table.chosen.keys()].slice(0, 200);
  if (ids.length === 0) {
    chart.show([], {});
    by("legend").replaceChildren();
    by("figure-text").textContent = "Choose runs in the table to see their curves.";
    return;
  }
  await metricNames();
  const time = by("axis").value === "time", group = by("group").value;
  const query = new URLSearchParams({ metric: by("metric").value, x: time ? "time" : "steps", smooth: by("smooth").value, points: Math.max(100, Math.round(by("chart").clientWidth / 2)) });
  for (const id of ids) query.append("run", id);
  for (const g of group.split(" ").filter(Boolean)) query.append("group", g);
  let lines;
  try {
    lines = (await ask("api/curves?" + query)).lines;
  } catch (e) {
    by("figure-text").textContent = "The curves cannot be drawn: " + e.message;
    return;
  }
  if (turn !== drawing) return; // something else was chosen meanwhile
  if (!group) for (const l of lines) l.label = names.get(l.runs[0]) || l.label;
  lines.forEach((l, i) => { l.style = styleOf(group ? i : table.chosen.get(l.runs[0]) ?? i); });
  legend(lines);
  chart.show(lines, { time });
  const without = lines.filter(l => l.x.length === 0).length;
  by("figure-text").textContent = `${by("metric").value} of ${ids.length} run${ids.length > 1 ? "s" : ""} against ${time ? "time" : "steps"}` +
    (group ? ": interquartile mean with 95 % bootstrap interval, as far as all runs of a line go" : "") +
    (without ? `; ${without} have no such values` : "") + (table.chosen.size > 200 ? "; the first 200 of those chosen" : "");
}

function legend(lines) {
  by("legend").replaceChildren(...lines.map(l => {
    const li = document.createElement("li"), svg = element("svg", { width: 22, height: 8, "aria-hidden": "true" });
    svg.append(element("line", { x1: 0, x2: 22, y1: 4, y2: 4, stroke: l.style.colour, "stroke-width": 2.4, "stroke-dasharray": l.style.dash }));
    const name = document.createElement("span"), value = document.createElement("b");
    name.textContent = l.label;
    name.title = l.label;
    value.textContent = l.y.length ? short(l.y[l.y.length - 1]) : "–";
    li.append(svg, name, value);
    return li;
  }));
}

// most is how many values are told aloud at once.
const most = 5;

function readOff(x, values, aloud) {
  const lines = chart.lines, items = by("legend").children;
  lines.forEach((l, i) => {
    const v = x === null ? l.y[l.y.length - 1] : values[i];
    if (items[i]) items[i].lastChild.textContent = v === undefined || v === null ? "–" : short(v);
  });
  if (aloud) say("reading", chart.named(x) + ": " + lines.slice(0, most).map((l, i) => `${l.label} ${values[i] === null ? "nothing yet" : short(values[i])}`).join(", "));
}

// differences shows the settings in which the runs chosen differ.
function differences() {
  const runs = table.runs.filter(r => table.chosen.has(r.id)).slice(0, 12), section = by("differences");
  const keys = [...new Set(runs.flatMap(r => Object.keys(r.set)))].filter(k => new Set(runs.map(r => r.set[k])).size > 1).sort();
  section.hidden = runs.length < 2;
  if (runs.length < 2) return;
  const head = document.createElement("thead"), body = document.createElement("tbody");
  head.append(rowOf("th", ["Setting", ...runs.map(r => r.name)]));
  for (const k of keys) body.append(rowOf("td", [k, ...runs.map(r => r.set[k] ?? "–")]));
  if (keys.length === 0) body.append(rowOf("td", ["They have the same settings.", ...runs.map(() => "")]));
  by("diff").replaceChildren(head, body);
}

function rowOf(kind, texts) {
  const tr = document.createElement("tr");
  texts.forEach((t, i) => {
    const cell = document.createElement(i === 0 ? "th" : kind);
    cell.scope = kind === "th" ? "col" : "row";
    cell.textContent = t;
    tr.append(cell);
  });
  return tr;
}

// The address remembers what is shown, so that it can be sent to somebody or opened again.
const state = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

function remember() {
  const s = new URLSearchParams();
  if (table.filter) s.set("filter", table.filter);
  for (const id of ["metric", "axis", "group", "smooth"]) if (by(id).value) s.set(id, by(id).value);
  if (table.columns.some(c => c.key === table.sort.key)) s.set("sort", (table.sort.down ? "-" : "") + table.sort.key);
  for (const key of table.wanted) s.append("column", key);
  if (open) s.set("open", open);
  for (const id of table.chosen.keys()) s.append("run", id);
  history.replaceState(null, "", "#" + s);
}

function follow() {
  const source = new EventSource("api/events?after=" + changes);
  let due = 0;
  source.onopen = () => { by("link").hidden = false; };
  source.onerror = () => { by("link").hidden = true; };
  const changed = new Set();
  source.onmessage = e => {
    for (const id of JSON.parse(e.data)) changed.add(id);
    if (due) return; // several changes in a row are read once
    due = setTimeout(async () => {
      due = 0;
      const ids = new Set(changed);
      changed.clear();
      await cluster();
      if (ids.size === 0) return;
      await load();
      await curves();
      if (ids.has(open)) await refresh();
    }, 400);
  };
}

by("filter").addEventListener("input", e => { table.filter = e.target.value; table.restart(); count(); remember(); });
by("clear").addEventListener("click", () => { by("filter").value = table.filter = ""; table.restart(); count(); by("filter").focus(); });
by("all").addEventListener("click", () => table.choose(table.visible.slice(0, 200).map(r => r.id), true));
by("none").addEventListener("click", () => table.choose([...table.chosen.keys()], false));
by("close").addEventListener("click", close);
by("more").addEventListener("change", e => { table.want(e.target.value); e.target.value = ""; groupings(); remember(); });
by("smooth").addEventListener("input", e => { by("smooth-value").textContent = e.target.value; });
for (const id of ["metric", "axis", "group", "smooth"]) by(id).addEventListener("change", () => { remember(); curves(); });
document.addEventListener("keydown", e => {
  if (e.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) { e.preventDefault(); by("filter").focus(); }
  if (e.key === "Escape" && open) close();
});

// close hides the run that is shown, and goes back to its row.
function close() {
  const row = table.rows.get(open);
  open = null;
  by("details").hidden = true;
  remember();
  if (row && row.tr.isConnected) { table.stop(row.tr); row.tr.focus(); }
}

async function begin() {
  const asked = new URLSearchParams(location.hash.slice(1));
  table.wanted = asked.getAll("column");
  if (state.sort) table.sort = { key: state.sort.replace(/^-/, ""), down: state.sort.startsWith("-") };
  by("filter").value = table.filter = state.filter || "";
  for (const id of ["axis", "smooth"]) if (state[id]) by(id).value = state[id];
  by("smooth-value").textContent = by("smooth").value;
  await load();
  if (state.group && [...by("group").options].some(o => o.value === state.group)) by("group").value = state.group;
  const ids = asked.getAll("run").filter(id => table.runs.some(r => r.id === id));
  const first = ids.length ? ids : table.visible.slice(0, 5).map(r => r.id);
  if (first.length) table.choose(first, true);
  await cluster();
  const shown = table.runs.find(r => r.id === asked.get("open"));
  if (shown) await details(shown);
  document.body.dataset.ready = Math.round(performance.now()); // milliseconds after the visit began
  follow();
}

begin().catch(e => { by("count").textContent = "The runs cannot be read: " + e.message; });
