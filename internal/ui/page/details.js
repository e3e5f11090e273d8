// Shows one run in full, and the cluster.
"use strict";

// details shows one run.
async function details(r) {
  open = r.id;
  remember();
  const section = by("details"), body = by("details-body");
  section.hidden = false;
  by("details-title").textContent = r.path;
  const answer = await ask("api/run?run=" + encodeURIComponent(r.id)).catch(e => ({ trouble: e.message }));
  if (open !== r.id) return;
  if (answer.trouble) { body.textContent = answer.trouble; return; }
  const left = document.createElement("div"), right = document.createElement("div");
  left.append(heading("Settings"), list(answer.settings));
  right.append(heading("Loop"), await picture("graph", r, "The dataflow graph of the training loop of " + r.name));
  right.append(heading("Plan"), planButton(r));
  if (answer.split) right.append(heading("Traffic"), live("traffic"));
  if (answer.profile) right.append(heading("Profile"), await profile(r));
  if (answer.films.length) right.append(heading("Films"), films(r, answer.films));
  if (answer.log) right.append(heading("Faults and log"), live("faults"), live("log"));
  if (open !== r.id) return;
  body.replaceChildren(left, right);
  await refresh();
  section.focus();
  section.scrollIntoView({ block: "start" });
}

// scrolls has the keyboard scroll something, under a name that tells what it is.
function scrolls(e, name) {
  e.tabIndex = 0;
  e.setAttribute("role", "group");
  e.setAttribute("aria-label", name);
}

function heading(text) {
  const h = document.createElement("h3");
  h.textContent = text;
  return h;
}

function list(settings) {
  const dl = document.createElement("dl");
  for (const k of Object.keys(settings).sort()) {
    const dt = document.createElement("dt"), dd = document.createElement("dd");
    dt.textContent = k;
    dd.textContent = settings[k] === "" ? "–" : settings[k];
    dl.append(dt, dd);
  }
  return dl;
}

// picture shows an SVG of a run, or why there is none.
async function picture(what, r, alt, as) {
  const path = `api/${what}?${as ? "as=" + as + "&" : ""}run=` + encodeURIComponent(r.id), answer = await fetch(path);
  if (!answer.ok) {
    const p = document.createElement("p");
    p.className = "hint";
    p.textContent = "No picture: " + (await answer.text()).trim();
    return p;
  }
  const div = document.createElement("div"), img = document.createElement("img");
  div.className = "picture";
  scrolls(div, alt);
  img.alt = alt;
  img.src = URL.createObjectURL(await answer.blob());
  div.append(img);
  return div;
}

// planButton makes the plan when it is asked for: it is measured, which takes a while.
function planButton(r) {
  const b = document.createElement("button");
  b.type = "button";
  b.textContent = "Make the plan and measure it";
  b.addEventListener("click", async () => {
    b.disabled = true;
    b.textContent = "Running a few iterations…";
    b.replaceWith(await picture("plan", r, "Where the groups of the loop of " + r.name + " run, and what crosses between them"));
  });
  return b;
}

function films(r, names) {
  const div = document.createElement("div");
  div.className = "films";
  for (const n of names) {
    const film = document.createElement(n.endsWith(".gif") ? "img" : "video");
    if (n.endsWith(".gif")) {
      film.loading = "lazy";
      film.alt = "Film " + n;
    } else {
      film.controls = film.muted = film.loop = true;
      film.preload = "metadata";
      film.setAttribute("aria-label", "Film " + n);
    }
    film.src = `api/file?run=${encodeURIComponent(r.id)}&name=${encodeURIComponent(n)}`;
    div.append(film);
  }
  return div;
}

// live makes the place of something that changes while the run goes on.
function live(id) {
  const div = document.createElement("div");
  div.id = id;
  return div;
}

// refresh reads again what changes while the open run goes on.
async function refresh() {
  const r = table.runs.find(x => x.id === open);
  if (!r) return;
  if (by("traffic")) await traffic(r);
  if (by("log")) await log(r);
}

// profile shows where the time of a run went, and its timeline.
async function profile(r) {
  const div = document.createElement("div"), at = as => `api/profile?as=${as}&run=` + encodeURIComponent(r.id);
  div.className = "stack";
  div.append(await picture("profile", r, "The time of an iteration of every replica, by what it was spent on", "bars"),
    await picture("profile", r, "The newest work of every replica along an axis of time", "timeline"));
  const pre = document.createElement("pre"), answer = await fetch(at("text")), link = document.createElement("a");
  scrolls(pre, "The profile as text");
  pre.textContent = await answer.text();
  link.href = at("trace");
  link.download = "timeline.json";
  link.textContent = "The timeline as a file for Perfetto";
  div.append(pre, link);
  return div;
}

function bytes(n) {
  for (const [unit, size] of [["GB", 1e9], ["MB", 1e6], ["kB", 1e3]]) if (n >= size) return trim(Number((n / size).toPrecision(3))) + " " + unit;
  return trim(Math.round(n)) + " B";
}

function seconds(s) { return s >= 1 ? trim(Number(s.toPrecision(3))) + " s" : s >= 1e-3 ? trim(Number((s * 1e3).toPrecision(3))) + " ms" : trim(Number((s * 1e6).toPrecision(3))) + " µs"; }

// traffic draws what crosses between the groups of a run, in columns, an edge a row, and lists it.
async function traffic(r) {
  const place = by("traffic"), t = await ask("api/traffic?run=" + encodeURIComponent(r.id)).catch(() => null);
  if (!t || !place) return;
  const rows = document.createElement("table"), head = document.createElement("thead"), body = document.createElement("tbody");
  head.append(rowOf("th", ["Edge", "From", "To", "Messages", "Bytes", "Waiting", "Queue"]));
  for (const e of t.edges) body.append(rowOf("td", [e.name, e.from || "–", e.to || "–", short(e.messages), bytes(e.bytes), seconds(e.wait), short(e.depth)]));
  rows.append(head, body);
  const scroll = document.createElement("div"), hint = document.createElement("p");
  scroll.className = "scroll";
  scrolls(scroll, "Edges of the run");
  scroll.append(rows);
  hint.className = "hint";
  hint.textContent = `An iteration, in the mean over the last ${t.lines}: waiting is that of all replicas, the queue the most messages of one sender that waited.` + (t.why ? " Where edges lead is not known: " + t.why : "");
  place.replaceChildren(...(t.groups.length && !t.why ? [lanes(t)] : []), scroll, hint);
}

// lanes draws groups as columns, with how they spend an iteration, and edges as arrows between them.
function lanes(t) {
  const names = [...new Set([...t.groups.map(g => g.name), ...t.edges.flatMap(e => [e.from, e.to])].filter(Boolean))];
  const edges = t.edges.filter(e => e.from && e.to), wide = 210, top = 58, row = 34, width = names.length * wide + 20, height = top + edges.length * row + 14;
  const svg = element("svg", { class: "traffic", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Traffic between the groups of the run; the table below has the same numbers" });
  const at = n => 20 + names.indexOf(n) * wide + (wide - 20) / 2;
  for (const n of names) {
    const g = t.groups.find(x => x.name === n), x = at(n), all = g ? Math.max(1e-12, g.busy + g.wait) : 1;
    svg.append(element("line", { class: "axis", x1: x, x2: x, y1: top - 8, y2: height }));
    svg.append(element("rect", { class: "group", x: x - 80, y: 6, width: 160, height: 44, rx: 6 }));
    svg.append(element("text", { x, y: 23, "text-anchor": "middle", class: "strong" }, n));
    if (!g) continue;
    svg.append(element("rect", { class: "wait", x: x - 70, y: 31, width: 140, height: 6 }));
    svg.append(element("rect", { class: "busy", x: x - 70, y: 31, width: 140 * g.busy / all, height: 6 }));
    svg.append(element("text", { x, y: 47, "text-anchor": "middle", class: "small" }, `busy ${Math.round(100 * g.busy / all)} % of ${seconds(all)}`));
  }
  const most = Math.max(1, ...edges.map(e => e.bytes));
  edges.forEach((e, i) => {
    const y = top + i * row + 22, a = at(e.from), b = at(e.to), w = 1.5 + 5 * Math.sqrt(e.bytes / most), self = e.from === e.to;
    const d = self ? `M${a} ${y - 6}h46v10h-46` : `M${a} ${y}H${b}`, tip = self ? a : b, side = self ? 1 : Math.sign(a - b);
    svg.append(element("path", { class: e.messages ? "flow" : "flow idle", d, "stroke-width": w }));
    svg.append(element("path", { class: "tip", d: `M${tip} ${self ? y + 4 : y}l${10 * side} -5v10z` }));
    svg.append(element("text", { x: self ? a + 52 : (a + b) / 2, y: self ? y + 3 : y - 7, "text-anchor": self ? "start" : "middle" }, `${e.name}: ${bytes(e.bytes)}` + (e.wait > 0 ? `, waits ${seconds(e.wait)}` : "")));
  });
  const div = document.createElement("div");
  div.className = "picture lanes";
  scrolls(div, "Traffic between the groups of the run");
  div.append(svg);
  return div;
}

// fault finds the lines of a log that tell of trouble, or of going on after it.
const fault = /\b(lost|failed|fault|gave up|given up|silent|refused|unreachable|killed|restart|begins at step [1-9])/i;

// log shows a run's log, and above it the lines that tell of trouble.
async function log(r) {
  const place = by("log"), answer = await fetch(`api/file?run=${encodeURIComponent(r.id)}&name=log.txt`);
  if (!answer.ok || !place) return;
  const text = await answer.text(), pre = document.createElement("pre"), lines = text.split("\n").filter(l => fault.test(l)), list = document.createElement("ul");
  scrolls(pre, "The log of the run");
  pre.textContent = text;
  place.replaceChildren(pre);
  pre.scrollTop = pre.scrollHeight;
  list.className = "faults";
  for (const l of lines.slice(-20)) {
    const li = document.createElement("li");
    li.textContent = l;
    list.append(li);
  }
  const none = document.createElement("p");
  none.className = "hint";
  none.textContent = "Nothing went wrong so far.";
  by("faults").replaceChildren(lines.length ? list : none);
}

// cluster shows the workers and runs of the cluster that the page was given.
async function cluster() {
  if (!clustered) return;
  const c = await ask("api/cluster").catch(() => null);
  if (!c) return;
  by("cluster").hidden = false;
  by("cluster-text").textContent = c.trouble ? "The coordinator does not answer: " + c.trouble : `Coordinator ${c.coordinator}, ${many(c.workers.length, "worker")}, ${many(c.runs.length, "run")}`;
  fill("cluster-workers", ["Worker", "Host", "Cores", "Memory", "Devices", "State", "Run"],
    (c.workers || []).map(w => [w.name, w.host, w.cores, w.memory ? bytes(w.memory) : "–", (w.devices || []).join(", "), w.state, w.run || "–"]));
  fill("cluster-runs", ["Run", "Phase", "Epoch", "Workers", "Steps", "Saved", "Steps/s", "Others wait for", "Restarts", "Why"],
    (c.runs || []).map(r => [r.name, r.phase, r.epoch, (r.workers || []).join(", ") || "–", short(r.steps), short(r.saved), short(r.speed), r.slowest || "–", r.restarts, r.fault || r.why || "–"]));
  const told = (c.runs || []).flatMap(r => (r.history || []).slice(-8).map(l => r.name + ": " + l)).concat(c.left_out || []);
  by("cluster-history").textContent = told.join("\n");
  by("cluster-history").hidden = told.length === 0;
}

// many returns a number of things in words.
function many(n, what) { return `${n} ${what}${n === 1 ? "" : "s"}`; }

function fill(id, head, rows) {
  const thead = document.createElement("thead"), tbody = document.createElement("tbody");
  thead.append(rowOf("th", head));
  for (const r of rows) tbody.append(rowOf("td", r));
  by(id).replaceChildren(thead, tbody);
  by(id).parentElement.hidden = rows.length === 0;
}
