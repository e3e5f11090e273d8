// Draws lines with bands into an SVG, and reads values off under the pointer or by the arrow keys.
"use strict";

const palette = ["#2a78b5", "#d1662a", "#3a9150", "#b9437a", "#7a5cc2", "#93792a", "#2b9a9a", "#c0392b", "#5d6d7e", "#8c564b"];
const dashes = ["", "7 4", "2 3", "9 3 2 3"];

function styleOf(i) {
  return { colour: palette[i % palette.length], dash: dashes[Math.floor(i / palette.length) % dashes.length] };
}

function short(x) {
  const a = Math.abs(x);
  if (x === 0) return "0";
  if (a >= 1e9) return trim(x / 1e9) + "G";
  if (a >= 1e6) return trim(x / 1e6) + "M";
  if (a >= 1e4) return trim(x / 1e3) + "k";
  if (a < 1e-3) return x.toExponential(1);
  return trim(x);
}

function trim(x) { return String(Number(x.toPrecision(4))); }

function duration(s) {
  if (s < 60) return trim(s) + " s";
  if (s < 3600) return Math.floor(s / 60) + " min" + (s % 60 >= 1 ? " " + Math.floor(s % 60) + " s" : "");
  return Math.floor(s / 3600) + " h" + (s % 3600 >= 60 ? " " + Math.floor((s % 3600) / 60) + " min" : "");
}

// ticks returns round numbers from low to high, about n of them.
function ticks(low, high, n) {
  const raw = (high - low) / n, power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(f => f * power).find(s => s >= raw) || raw;
  const out = [];
  for (let x = Math.ceil(low / step) * step; x <= high + step * 1e-9; x += step) out.push(Math.abs(x) < step * 1e-9 ? 0 : x);
  return out;
}

function element(name, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes || {})) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}

class Chart {
  constructor(svg, readout) {
    this.svg = svg;
    this.readout = readout;
    this.lines = [];
    this.at = null;
    svg.tabIndex = 0;
    new ResizeObserver(() => this.draw()).observe(svg);
    svg.addEventListener("pointermove", e => this.point(e.clientX - svg.getBoundingClientRect().left));
    svg.addEventListener("pointerleave", () => this.point(null));
    svg.addEventListener("keydown", e => {
      if (e.key !== "ArrowLeft" && e.key !== "ArrowRight") return;
      e.preventDefault();
      const width = this.right - this.left, from = this.at === null ? this.left : this.at;
      this.point(Math.min(this.right, Math.max(this.left, from + (e.key === "ArrowRight" ? 1 : -1) * width / 50)), true);
    });
  }

  show(lines, options) {
    this.lines = lines;
    this.options = options;
    this.draw();
  }

  draw() {
    const svg = this.svg, box = svg.getBoundingClientRect();
    if (box.width < 10) return;
    svg.setAttribute("viewBox", `0 0 ${box.width} ${box.height}`);
    svg.replaceChildren();
    this.cursor = null;
    const drawn = this.lines.filter(l => l.x.length > 0);
    if (drawn.length === 0) return;
    this.scale(drawn, box);
    this.axes(box);
    const clip = element("clipPath", { id: "inside" });
    clip.append(element("rect", { x: this.left, y: this.top - 2, width: this.right - this.left, height: this.bottom - this.top + 4 }));
    svg.append(clip);
    const inside = element("g", { "clip-path": "url(#inside)" });
    for (const l of drawn) if (l.low && l.low.length) inside.append(this.band(l));
    for (const l of drawn) inside.append(this.curve(l));
    svg.append(inside);
    this.cursor = element("line", { class: "cursor", y1: this.top, y2: this.bottom, visibility: "hidden" });
    this.place = element("text", { class: "at", y: this.top + 10, visibility: "hidden" });
    svg.append(this.cursor, this.place);
    if (this.at !== null) this.point(this.at); // which was there before something was drawn anew
  }

  scale(drawn, box) {
    let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
    for (const l of drawn) {
      x0 = Math.min(x0, l.x[0]);
      x1 = Math.max(x1, l.x[l.x.length - 1]);
      for (const values of [l.y, l.low || [], l.high || []]) for (const v of values) { y0 = Math.min(y0, v); y1 = Math.max(y1, v); }
    }
    if (x0 > 0 && x0 < .2 * x1) x0 = 0;
    if (x0 === x1) { x0 -= 1; x1 += 1; }
    if (y0 === y1) { const d = Math.abs(y0) || 1; y0 -= d / 2; y1 += d / 2; }
    const room = (y1 - y0) * .04;
    Object.assign(this, { x0, x1, y0: y0 - room, y1: y1 + room, top: 8, bottom: box.height - 40, right: box.width - 14 });
    this.yTicks = ticks(this.y0, this.y1, Math.max(3, box.height / 60));
    this.left = 24 + 7.2 * Math.max(...this.yTicks.map(t => short(t).length));
  }

  px(x) { return this.left + (x - this.x0) / (this.x1 - this.x0) * (this.right - this.left); }
  py(y) { return this.bottom - (y - this.y0) / (this.y1 - this.y0) * (this.bottom - this.top); }

  axes(box) {
    for (const t of this.yTicks) {
      const y = this.py(t);
      this.svg.append(element("line", { class: "grid", x1: this.left, x2: this.right, y1: y, y2: y }));
      this.svg.append(element("text", { x: this.left - 6, y: y + 4, "text-anchor": "end" }, short(t)));
    }
    const time = this.options.time;
    for (const t of ticks(this.x0, this.x1, Math.max(2, box.width / 130))) {
      const x = this.px(t);
      this.svg.append(element("line", { class: "axis", x1: x, x2: x, y1: this.bottom, y2: this.bottom + 4 }));
      this.svg.append(element("text", { x, y: this.bottom + 17, "text-anchor": "middle" }, time ? duration(t) : short(t)));
    }
    this.svg.append(element("line", { class: "axis", x1: this.left, x2: this.right, y1: this.bottom, y2: this.bottom }));
    this.svg.append(element("text", { x: (this.left + this.right) / 2, y: box.height - 6, "text-anchor": "middle" }, time ? "time" : "steps"));
  }

  path(xs, ys) { return xs.map((x, i) => (i ? "L" : "M") + this.px(x).toFixed(1) + " " + this.py(ys[i]).toFixed(1)).join(""); }

  curve(l) {
    const p = element("path", { class: "curve", d: this.path(l.x, l.y), stroke: l.style.colour, "stroke-dasharray": l.style.dash });
    if (l.x.length === 1) return element("circle", { cx: this.px(l.x[0]), cy: this.py(l.y[0]), r: 4, fill: l.style.colour });
    p.append(element("title", {}, l.label));
    return p;
  }

  band(l) {
    const up = this.path(l.x, l.high), down = this.path([...l.x].reverse(), [...l.low].reverse());
    return element("path", { class: "band", d: up + "L" + down.slice(1) + "Z", fill: l.style.colour });
  }

  // point reads the values at a place of the axis; aloud for those who moved there by a key.
  point(at, aloud) {
    this.at = at;
    if (!this.cursor) return;
    const inside = at !== null && at >= this.left && at <= this.right;
    for (const e of [this.cursor, this.place]) e.setAttribute("visibility", inside ? "visible" : "hidden");
    if (!inside) {
      this.readout(null);
      return;
    }
    const x = this.x0 + (at - this.left) / (this.right - this.left) * (this.x1 - this.x0), left = at > (this.left + this.right) / 2;
    this.cursor.setAttribute("x1", at);
    this.cursor.setAttribute("x2", at);
    this.place.setAttribute("x", at + (left ? -6 : 6));
    this.place.setAttribute("text-anchor", left ? "end" : "start");
    this.place.textContent = this.named(x);
    this.readout(x, this.lines.map(l => valueAt(l, x)), aloud);
  }

  // named returns a place of the axis as people write it.
  named(x) { return this.options.time ? duration(x) : short(x) + " steps"; }
}

// valueAt returns the last value at or before x.
function valueAt(l, x) {
  let low = 0, high = l.x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (l.x[middle] <= x) low = middle + 1; else high = middle;
  }
  return low === 0 ? null : l.y[low - 1];
}
