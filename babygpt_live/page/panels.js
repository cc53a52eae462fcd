// Panels as babygpt_live.panel describes them: curves, levels, cells, heads of attention, words. A panel with
// trials belongs to the explorer that has them: switches.js of babygpt_course.
//
// A view draws one panel after another in the same place. It reads values under a pointer or the arrow keys,
// and fills in Python's templates; it makes no sentence of its own.

import {
  Cells, clamp, drawArc, fill, fixed, html, makePanel, nearest, paintCells, percent, put, range, svg, write,
} from "./figure.js";
import { themed } from "./glyphs.js";

// Lengths are CSS pixels.
const SIDES = [220, 340]; // least and greatest side of the large square of a head
const ARCS = 118; // height of a text with its arcs
const LETTERS = [12, 25]; // least and greatest size of its letters
const STEPS = [7.5, 22]; // least and greatest distance between them; a longer text scrolls
const SMALL = 54; // greatest side of a small head
const ROOM = 8.5; // width that a letter needs
const NARROW = 430; // A narrower panel has no room for small heads beside the large one.
const NAME = 52; // width of a name of small heads
const NARROWEST = 42; // least width of a small head that has the whole name of its column above it
// The legend shows by these dashes which level a name belongs to; still.py has the same ones.
const DASHES = ["5 3", "1.5 3", "10 3", "9 3 1.5 3"];
const SAMPLE = 22; // length of a line in the legend, long enough for two dashes of any kind
// A panel with another one below and that one are together about as high as a panel alone.
const UPPER = 190;
const LOWER = 118;
// A strip is low and wide: the losses below the panels of a lesson. Its names stand beside its title.
export const STRIP = { height: 110, beside: 48, strip: true };
const APART = 16; // between two names beside the axes
const LONG = 14; // characters of a name beside the axes with its value
const LINES = ["line", "thin", "marked"]; // looks of curves that are drawn as lines
const DOTS = ["marked", "dots", "rings", "bars"]; // looks of curves that have a mark at each point

// ---------------------------------------------------------------- numbers

// Float32Arrays in place of { dtype, data, scale }. The data are a view on a message, or base64.
export function decode(part) {
  if (Array.isArray(part)) return part.map(decode);
  if (part === null || typeof part !== "object") return part;
  if (!part.dtype)
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, decode(value)]));
  const { dtype, data, scale = 1, shape } = part;
  const bytes = typeof data === "string" ? Uint8Array.from(atob(data), letter => letter.charCodeAt(0))
    // A copy is aligned.
    : new Uint8Array(data.buffer ?? data, data.byteOffset ?? 0, data.byteLength).slice();
  const kinds = { f4: Float32Array, i2: Int16Array, i1: Int8Array };
  const numbers = Float32Array.from(new kinds[dtype](bytes.buffer), number => number * scale);
  return Object.assign(numbers, { shape });
}

// A panel as Python packs it, ready to be drawn: a curve without x counts its points.
export function readPanel(packed) {
  const spec = decode(packed);
  for (const { marks } of [spec, ...(spec.below ? [spec.below] : [])]) {
    for (const mark of marks) if (mark.kind === "curve") mark.x ??= mark.y.map((_, i) => i);
  }
  return spec;
}

export const withUnit = (value, { digits, unit }) =>
  Number.isFinite(value) ? `${fixed(value, digits)}${unit}` : "–";

const colourOf = ({ colour }) => (colour ? `--c: ${themed(colour)}` : "");

// The dashes of the levels of a panel: named ones differ, and those without a name have the first kind.
function dashesOf(levels) {
  let named = 0;
  return levels.map(({ name }) => DASHES[name ? named++ % DASHES.length : 0]);
}

// ---------------------------------------------------------------- views

// `host` has wake(), which asks for another drawing; over steps also scrub(step).
export class PanelView {
  constructor(parent, host, look = {}) {
    Object.assign(this, { parent, host, look, panel: null, spec: null });
  }
  get axes() { return this.panel?.axes; }
  get plot() { return this.panel.plot; }

  // Draw a panel; `at` is the step that is shown, or null for the newest.
  draw(spec, at = null, values = {}) {
    if (!this.panel) this.build(spec);
    [this.spec, this.drawn] = [spec, [spec, at, values]];
    this.show(spec, at, values);
    if (spec.note && !this.reading) write(this.panel.readout, spec.note);
    const below = this.below(spec, values);
    if (below) this.drawBelow(below, at);
  }
  // The panel under this one, or nothing.
  below(spec) { return spec.below; }
  drawBelow(spec, at) {
    const { box, readout } = this.panel, { left, width } = this.axes, { strip } = this.look;
    this.lower ??= viewOf(spec, box, this.host, strip ? this.look : { height: LOWER });
    this.lower.draw(strip ? spec : { ...spec, y: { ...spec.y, margin: left } }, at);
    if (!strip) this.lower.panel.box.style.maxWidth = `${left + width + 14}px`;
    box.append(readout);
  }
  build(spec) {
    const axes = { x: spec.x, y: spec.y, ...(spec.below && { height: UPPER }), ...this.look };
    this.panel = makePanel(this.parent, spec.title, axes);
    this.panel.box.style.setProperty("--grow", spec.width);
    put(this.panel.svg, { "aria-hidden": true }); // The plot or the canvas has the words.
    this.followSize();
  }
  followSize() {
    // Drawn in the frame that lays out the page: one frame later, a wide plot would lie on its neighbour.
    this.resized = new ResizeObserver(([{ contentRect }]) => {
      const [room, high] = [Math.round(contentRect.width), Math.floor(contentRect.height)];
      if (!room || (room === this.room && (!this.fills || high === this.high))) return;
      Object.assign(this, { room, high });
      this.draw(...this.drawn);
      this.host.wake();
    });
    this.resized.observe(this.plot);
  }
  // The width of the plot, in CSS pixels. To read it anew in each frame would lay out the page as often.
  get wide() { return this.room ?? this.plot.clientWidth; }
  get fills() { return this.look.beside && !this.look.strip; } // as high as its place
  fit() { if (this.wide) this.axes.resize(this.wide, this.fills && this.high ? this.high : undefined); }
  remove() {
    this.resized?.disconnect();
    this.lower?.remove();
  }
}

// Curves and levels over two axes. Pointing, or arrow keys, read the values of all curves at one x.
export class CurvesView extends PanelView {
  build(spec) {
    super.build(spec);
    Object.assign(this, { curves: [], levels: [], pointed: null });
    this.cursor = svg("line", { class: "cursor" }, this.axes.inside);
    this.dots = svg("g", {}, this.axes.layer); // which clips nothing: dots at the edge stay whole
    this.foot = svg("text", { class: "foot", "text-anchor": "middle" }, this.axes.layer);
    put(this.plot, { role: "img", ...(this.longest(spec) && { tabindex: 0 }) });
    const read = x => { this.pointed = x; this.host.wake(true); };
    const at = event => {
      const [across] = this.axes.place(event);
      return this.axes.x(clamp(across, 0, this.axes.width));
    };
    for (const kind of ["pointerdown", "pointermove"]) {
      this.plot.addEventListener(kind, event => {
        if (kind === "pointerdown" && this.spec.over_steps && !event.button)
          this.plot.setPointerCapture(event.pointerId);
        if (this.plot.hasPointerCapture(event.pointerId)) this.host.scrub?.(Math.round(at(event)));
        read(at(event));
      });
    }
    for (const kind of ["pointerleave", "blur"]) this.plot.addEventListener(kind, () => read(null));
    this.plot.addEventListener("keydown", event => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key], curve = this.longest(this.spec);
      if (!way || !curve) return;
      const now = this.pointed === null ? curve.y.length : nearest(curve.x, this.pointed);
      read(curve.x[clamp(now + way, 0, curve.y.length - 1)]);
      event.preventDefault();
    });
  }

  longest(spec) {
    const curves = spec.marks.filter(mark => mark.kind === "curve" && mark.name);
    return curves.sort((a, b) => b.y.length - a.y.length)[0];
  }

  show(spec, at) {
    const { axes } = this;
    if (spec.over_steps) this.plot.classList.add("scrubs");
    axes.view(spec.x, spec.y);
    this.fit();
    const curves = spec.marks.filter(mark => mark.kind === "curve"), end = at ?? Infinity;
    const levels = spec.marks.filter(mark => mark.kind === "level"), dashes = dashesOf(levels);
    this.drawLevels(levels, dashes, end);
    while (this.curves.length > curves.length) {
      const { line, dots } = this.curves.pop();
      line.remove();
      dots.remove();
    }
    curves.forEach((curve, i) => this.drawCurve(i, curve, spec.over_steps ? end : Infinity));
    const named = curves.filter(curve => curve.name);
    const read = this.pointed ?? (spec.over_steps ? at : null);
    const found = this.pointed === null ? null : this.readings(named, spec, read);
    this.legend(named, levels, dashes, spec, read);
    const x = found ?? (spec.over_steps ? at : null);
    this.showCursor(x, found === null ? "" : `${spec.x.label.split(" (")[0]} ${fixed(found, spec.x.digits)}`);
    this.panel.say(spec.title);
    const keys = named.length ? ` ${this.panel.legend.textContent}. Arrow keys read values.` : "";
    put(this.plot, { "aria-label": `${spec.title || spec.y.label}.${keys}` });
  }

  // The x of the point that is nearest to where the hand points.
  readings(named, { over_steps: steps, x: { span } }, read) {
    const all = named.flatMap(({ x, y }) => (y.length ? [x[nearest(x, read)]] : []));
    return all.length ? all[nearest(all, read)] : steps ? clamp(read, ...span) : null;
  }

  drawCurve(i, { colour, x, y, look, dashed }, end) {
    const { axes } = this;
    // The n-th curve may change its look. Its groups keep their places among the others.
    const drawn = (this.curves[i] ??= { line: svg("g", {}, axes.inside), dots: svg("g", {}, this.dots) });
    if (drawn.look !== look) {
      drawn.line.replaceChildren();
      drawn.dots.replaceChildren();
      Object.assign(drawn, { look, parts: {} });
    }
    const { line, parts } = drawn, style = `--c: ${themed(colour)}`;
    const make = (part, kind, group) => put((parts[part] ??= svg("path", {}, group)), { class: kind, style });
    let n = y.length;
    if (end < Infinity) while (n > 0 && x[n - 1] > end) n--;
    if (LINES.includes(look)) {
      put(make("line", look === "thin" ? "thin" : "curve", line), {
        d: axes.path(x, y, 0, n),
        ...(dashed && { "stroke-dasharray": "6 4" }), // only the lab sends dashed curves
      });
      put(make("future", "future", line), { d: n < y.length ? axes.path(x, y, Math.max(0, n - 1)) : "" });
    }
    if (DOTS.includes(look)) {
      const dots = look === "marked" ? "dots" : look, bars = look === "bars";
      const foot = bars ? `V${axes.Y(0).toFixed(1)}` : "h0";
      const place = j => {
        const [left, top] = [axes.X(x[j]), axes.Y(y[j])], { width, height } = axes;
        const within = bars || (left > -1 && left < width + 1 && top > -1 && top < height + 1);
        return within ? `M${left.toFixed(1)} ${top.toFixed(1)}${foot}` : "";
      };
      const d = Array.from({ length: n }, (_, j) => place(j)).join("");
      put(make("dots", dots, bars ? line : drawn.dots), { d });
      if (bars) parts.dots.style.strokeWidth = clamp((0.8 * axes.width) / y.length, 2, 12);
      if (dots === "rings") put(make("holes", "holes", drawn.dots), { d });
    }
  }

  // Dashed lines across the axes; an upright one behind the shown step is hidden.
  drawLevels(levels, dashes, end) {
    const { axes } = this;
    const { width, height } = axes;
    while (this.levels.length > levels.length) this.levels.pop().remove();
    levels.forEach(({ axis, at }, i) => {
      const line = (this.levels[i] ??= svg("line", { class: "level" }, axes.inside));
      const [x, y] = [axes.X(at), axes.Y(at)];
      put(line, axis === "y" ? { x1: 0, x2: width, y1: y, y2: y } : { x1: x, x2: x, y1: 0, y2: height });
      const visibility = axis === "x" && at > end ? "hidden" : "visible";
      put(line, { style: colourOf(levels[i]), "stroke-dasharray": dashes[i], visibility });
    });
  }

  // Whether a level is inside the axes.
  shows({ axis, at }) {
    const { axes } = this;
    const [place, length] = axis === "y" ? [axes.Y(at), axes.height] : [axes.X(at), axes.width];
    return place >= 0 && place <= length;
  }

  // The legend: curves with a name and their values at some x, then levels with a name.
  legend(named, levels, dashes, { over_steps: steps, y: axis }, read) {
    const own = steps ? named.at(-1) : null; // A baseline may go on: it is read where the run itself stands.
    const at = read ?? (own?.y.length ? own.x.at(-1) : null);
    named.forEach((curve, i) => {
      const { name, colour, x, y, look } = curve;
      const k = at === null || !y.length ? -1
        : this.pointed === null ? x.findLastIndex(value => value <= at) : nearest(x, at);
      const lines = !["dots", "rings"].includes(look) || steps;
      const [, label, reading] = this.entry(i, { style: `--colour: ${themed(colour)}`, class: look }).children;
      write(label, name);
      write(reading, k >= 0 && lines ? withUnit(y[k], axis) : "");
    });
    let count = named.length;
    levels.forEach((level, i) => {
      if (!level.name || !this.shows(level)) return;
      const [sample, label, reading] = this.entry(count++, { style: "", class: "level" }).children;
      put(sample.firstChild, { style: colourOf(level), "stroke-dasharray": dashes[i] });
      write(label, level.name);
      write(reading, "");
    });
    while (this.panel.legend.children.length > count) this.panel.legend.lastChild.remove();
    if (this.fills) this.nameBeside(named, levels.filter(level => level.name && this.shows(level)));
  }

  // Names at the right of the axes, each at the height of its last value, in place of a legend that is seen.
  // One that has no room is left out: of two, the later curve stays, and a curve before a level.
  nameBeside(named, levels) {
    const { axes, panel: { legend } } = this;
    const readings = [...legend.children].map(entry => entry.lastChild.textContent);
    const most = axes.height + 10, all = named.map(({ name, colour, y }, i) => {
      const value = y.length ? y.at(-1) : NaN, words = `${name} ${readings[i]}`;
      return { words: words.length > LONG ? name : words, style: colourOf({ colour }), y: axes.Y(value) };
    }).reverse();
    all.push(...levels.map(({ name, at }) => ({ words: name, style: "", y: axes.Y(at) })));
    const placed = [];
    for (const label of all.filter(({ y }) => Number.isFinite(y))) {
      const free = y => y >= 0 && y <= most && placed.every(one => Math.abs(one.y - y) >= APART);
      const want = clamp(label.y, 4, axes.height - 4);
      const near = [want, ...placed.flatMap(one => [one.y - APART, one.y + APART])].filter(free);
      if (near.length) placed.push({ ...label, y: near[nearest(near, want)] });
    }
    this.beside ??= svg("g", { class: "beside" }, axes.layer);
    while (this.beside.children.length > placed.length) this.beside.lastChild.remove();
    placed.forEach(({ words, style, y }, i) => {
      const node = this.beside.children[i] ?? svg("text", {}, this.beside);
      write(put(node, { x: axes.width + 9, y: y + 4, style, class: style ? "curve-name" : "label" }), words);
    });
  }

  // An entry of the legend: a sample that only levels show, a name, and a value.
  entry(i, looks) {
    const list = this.panel.legend, entry = list.children[i] ?? html("li", {}, list);
    if (!entry.firstChild) {
      const sample = svg("svg", { width: SAMPLE, height: 2, "aria-hidden": true }, entry);
      svg("line", { class: "level", x2: SAMPLE, y1: 1, y2: 1 }, sample);
      for (const tag of ["span", "b"]) html(tag, {}, entry);
    }
    return put(entry, looks);
  }

  showCursor(x, words) {
    const { axes } = this, at = x === null ? -1e4 : axes.X(x), half = 3.8 * words.length;
    put(this.cursor, { x1: at, x2: at, y2: axes.height });
    write(put(this.foot, { x: clamp(at, half, axes.width - half), y: axes.height + 17 }), words);
    axes.ticks.classList.toggle("read", Boolean(words));
  }
}

// Cells in colours; pointing, or arrow keys, read one.
export class CellsView extends PanelView {
  build(spec) {
    super.build(spec);
    this.cells = new Cells(this.axes);
    this.cells.onread = at => {
      this.reading = at;
      const { reading, rows, columns, values } = this.mark, [row, column] = at ?? [0, 0];
      const facts = { row: rows?.[row] ?? row, column: columns?.[column] ?? column };
      const value = at && fixed(values[row * values.shape[1] + column]);
      write(this.panel.readout, at ? fill(reading, { ...facts, value }) : this.spec.note);
    };
  }
  show(spec) {
    const { axes } = this;
    this.mark = spec.marks.find(mark => mark.kind === "cells");
    const [rows, columns] = this.mark.values.shape;
    axes.view(
      { ...spec.x, span: [-0.5, columns - 0.5], least: 1 },
      { ...spec.y, span: [rows - 0.5, -0.5], least: 1 },
    );
    this.fit();
    axes.frames(this.mark.boxes);
    this.cells.draw(
      this.mark.values,
      rows,
      columns,
      [this.mark.low, this.mark.high],
      spec.title,
      this.mark.label,
    );
    this.panel.say(spec.title);
  }
}

// The ticks of an axis along a text: its letters where `room` pixels for each are enough, or else its words.
function textTicks(letters, room, turned = false) {
  if (room >= ROOM) return { ticks: letters.map((letter, i) => [i, letter]) };
  const ticks = [];
  let begin = 0;
  for (const word of letters.join("").split("•")) {
    const middle = begin + (word.length - 1) / 2;
    if (word && !((middle - ticks.at(-1)?.[0]) * room < 14)) ticks.push([middle, word]);
    begin += word.length + 1;
  }
  return { ticks, turned };
}

// A text on a line, and arcs from one letter to those that it looks at. A pointer or the arrow keys choose
// the letter: `look` gets its number, or null.
class Arcs {
  constructor(parent, look) {
    this.plot = html("div", { class: "arcs", tabindex: 0, role: "img" }, parent);
    this.svg = svg("svg", { height: ARCS, "aria-hidden": true }, this.plot);
    this.spot = svg("rect", { class: "spot", rx: 4 }, this.svg);
    this.parts = ["path", "text"].map(tag => ({ tag, layer: svg("g", {}, this.svg) }));
    for (const kind of ["pointermove", "pointerdown"])
      this.plot.addEventListener(kind, ({ clientX }) => {
        const { left, width } = this.svg.getBoundingClientRect();
        look(clamp(Math.floor(((clientX - left) / width) * this.count), 0, this.count - 1));
      });
    for (const kind of ["pointerleave", "blur"])
      this.plot.addEventListener(kind, ({ pointerType }) => pointerType !== "touch" && look(null));
    this.plot.addEventListener("keydown", event => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!way) return;
      look(clamp(this.from + way, 0, this.count - 1));
      event.preventDefault();
    });
  }

  // `weights` of letter `from` to each letter; `wide` is the room, in CSS pixels.
  draw({ letters, colour }, weights, from, wide, words) {
    const count = letters.length, full = letters.some(letter => letter > "\u2e80") ? 1.05 : 0.62;
    const step = clamp(wide / count, Math.max(STEPS[0], full * LETTERS[0]), STEPS[1]);
    const size = clamp(step / full, ...LETTERS), base = ARCS - 0.35 * size, top = base - 0.95 * size;
    const x = i => (i + 0.5) * step;
    Object.assign(this, { count, from, words });
    put(this.svg, { width: count * step, style: colourOf({ colour }) });
    for (const { tag, layer } of this.parts) {
      while (layer.children.length > count) layer.lastChild.remove();
      // Chromium reckons with pointed joins, of which an arc has none, and would find it far beyond its text.
      while (layer.children.length < count) svg(tag, { "stroke-linejoin": "round" }, layer);
    }
    const [arcs, signs] = this.parts.map(({ layer }) => layer.children);
    letters.forEach((letter, i) => {
      write(put(signs[i], { x: x(i), y: base, style: `font-size: ${size}px` }), letter);
      const away = Math.abs(x(from) - x(i));
      drawArc(arcs[i], i === from ? 0 : weights[i], x(from), x(i), top, Math.min(top - 4, 12 + 0.38 * away));
    });
    put(this.spot, { x: from * step, y: base - 0.9 * size, width: step, height: 1.25 * size });
    put(this.plot, { "aria-label": `${words}. Arrow keys choose a letter.` });
  }
}

// What is read where letter m looks at letter n, for templates.
function attended(letters, m, n, weight) {
  return { letter: m + 1, mark: letters[m], other: n + 1, otherMark: letters[n], share: percent(weight) };
}

// What a letter looks at most, in words.
function lookedAt(template, letters, weights, m) {
  const n = weights.indexOf(Math.max(...weights));
  return fill(template, attended(letters, m, n, weights[n]));
}

// Arcs without the matrix of their head.
export class ArcsView extends PanelView {
  build(spec) {
    this.panel = makePanel(this.parent, spec.title);
    this.panel.svg.remove();
    this.panel.box.style.setProperty("--grow", spec.width);
    // Weights of other letters are not known, so that pointing at any of them reads the one that looks.
    const read = from => write(this.panel.readout, from === null ? this.spec.note : this.words);
    this.arcs = new Arcs(this.plot, read);
    this.followSize();
  }
  show(spec) {
    const mark = spec.marks.find(one => one.kind === "arcs");
    this.panel.say(spec.title);
    this.words = lookedAt(mark.reading, mark.letters, mark.weights, mark.letter);
    this.arcs.draw(mark, mark.weights, mark.letter, this.wide, this.words);
  }
}

// Attention: one head large, all heads small beside it, and perhaps the row of one letter below. A click
// chooses a head; in an explorer, its controls do, and a click sets them.
export class HeadsView extends CellsView {
  build(spec) {
    const { letters } = spec.marks.find(one => one.kind === "heads");
    const arcs = spec.marks.some(one => one.kind === "arcs");
    this.side = clamp(11 * letters.length, SIDES[0], arcs ? 270 : SIDES[1]);
    this.look = { height: this.side + 62 };
    super.build(spec);
    const { plot } = this.panel;
    this.small = html("div", { class: "small-heads" }, plot);
    this.chosen = null;
    this.cells.onread = at => {
      this.reading = at;
      write(this.panel.readout, at ? fill(this.mark.reading, this.attended(...at)) : this.spec.note);
      this.from = at?.[0] ?? null;
      if (this.arcs) this.drawArcs();
    };
    this.from = null; // the letter that is pointed at
    this.arcs = arcs && new Arcs(this.panel.box, from => {
      [this.from, this.reading] = [from, from !== null];
      this.drawArcs();
      write(this.panel.readout, this.reading ? this.arcs.words : this.spec.note);
    });
    if (arcs) this.panel.legend.before(this.arcs.plot);
    this.cells.canvas.addEventListener("pointerdown", () => {
      if (this.cells.at && this.mark.letter !== null) this.host.choose?.({ letter: this.cells.at[0] + 1 });
    });
  }

  attended(m, n) { return attended(this.mark.letters, m, n, this.weight(m, n)); }
  weight(m, n) { return this.mark.weights[this.first + m * this.mark.letters.length + n]; }
  rowOf(m) { return this.mark.letters.map((_, n) => this.weight(m, n)); }

  // The arcs of the head that is large, from a letter that is pointed at, or from that of the panel.
  drawArcs() {
    const mark = this.spec.marks.find(one => one.kind === "arcs"), m = this.from ?? mark.letter;
    const row = this.rowOf(m);
    this.axes.frames([[m, m + 1]]);
    this.arcs.draw(mark, row, m, this.wide, lookedAt(this.mark.row, mark.letters, row, m));
  }

  show(spec, at, values) {
    const { axes } = this, mark = (this.mark = spec.marks.find(one => one.kind === "heads"));
    const [layers, heads, length] = mark.weights.shape, { letters } = mark;
    const asked = "layer" in values && "head" in values ? [values.layer - 1, values.head - 1] : null;
    const [layer, head] = (asked ?? this.chosen ?? mark.chosen).map((n, i) =>
      clamp(n, 0, [layers, heads][i] - 1),
    );
    this.first = (layer * heads + head) * length * length;
    // A narrow panel has a row of small heads for each layer below; a wide one, a column beside.
    const narrow = this.wide < NARROW;
    const size = clamp(narrow ? (this.wide - NAME) / heads - 4 : axes.height / heads - 4, 24, SMALL);
    const beside = narrow ? 0 : layers * (size + 4) + NAME + 14;
    const wide = Math.min(this.wide - beside, this.side + axes.left + 14);
    const room = (wide - axes.left - 14) / length;
    const spans = { x: [-0.5, length - 0.5], y: [length - 0.5, -0.5] };
    const ends = { x: textTicks(letters, room, true), y: textTicks(letters, axes.height / length) };
    axes.view(
      ...["x", "y"].map(side => ({ ...ends[side], span: spans[side], label: spec[side].label })),
      wide,
    );
    this.cells.draw(mark.weights, length, length, [0, 1], spec.title, mark.label, this.first);
    this.small.classList.toggle("below", narrow);
    const places = [
      `--columns: ${narrow ? heads : layers}`,
      `--size: ${Math.floor(size)}px`,
      `left: ${axes.left + axes.width + 18}px`,
    ].join("; ");
    put(this.small, { style: places });
    this.drawSmall(mark, narrow, size, layer, head);
    const k = layer * heads + head;
    const facts = { layer: layer + 1, head: head + 1, share: percent(mark.shares[k]) };
    const own = layer === mark.chosen[0] && head === mark.chosen[1];
    this.panel.say(own ? spec.title : fill(mark.finding, facts));
    if (!this.arcs) return;
    this.drawArcs();
    if (this.reading && !this.cells.at) write(this.panel.readout, this.arcs.words);
  }

  // The attention of one letter, as bars over the letters that it looks at.
  below({ below }, { letter }) {
    if (!below) return null;
    const { letters, row } = this.mark, m = letter ? clamp(letter, 1, letters.length) - 1 : this.mark.letter;
    const y = Float32Array.from(letters, (_, n) => this.weight(m, n)), most = y.indexOf(Math.max(...y));
    this.axes.frames([[m, m + 1]]);
    return {
      ...below,
      title: fill(row, this.attended(m, most)),
      marks: [{ ...below.marks[0], y }],
      x: this.axes.sides.x,
    };
  }

  // All heads, each a button, with names of the rows and columns of their grid.
  drawSmall({ weights }, narrow, size, layer, head) {
    const [layers, heads, length] = weights.shape;
    if (!this.names) {
      this.names = [layers, heads].map(many =>
        range(many, () => html("span", { "aria-hidden": true }, this.small)),
      );
      this.buttons = range(layers, i => range(heads, j => this.smallHead(i, j)));
    }
    const [[columns, column], [rows, row]] = (narrow ? [1, 0] : [0, 1]).map(side => [
      this.names[side],
      ["layer", "head"][side],
    ]);
    columns.forEach((name, k) => {
      put(name, { style: `grid-area: 1 / ${k + 1}` });
      write(name, size < NARROWEST ? `${k + 1}` : `${column} ${k + 1}`);
    });
    rows.forEach((name, k) =>
      write(put(name, { style: `grid-area: ${k + 2} / ${columns.length + 1}` }), `${row} ${k + 1}`),
    );
    this.buttons.flat().forEach((button, n) => {
      const [i, j] = [Math.floor(n / heads), n % heads];
      put(button, { style: `grid-area: ${narrow ? `${i + 2} / ${j + 1}` : `${j + 2} / ${i + 1}`}` });
      put(button, { "aria-pressed": i === layer && j === head });
      paintCells(button.firstChild, weights, length, length, [0, 1], n * length * length);
    });
  }

  smallHead(i, j) {
    const name = `layer ${i + 1}, head ${j + 1}`;
    const button = html("button", { type: "button", title: name, "aria-label": name }, this.small);
    html("canvas", {}, button);
    button.onclick = () => {
      this.chosen = [i, j];
      this.host.choose?.({ layer: i + 1, head: j + 1 });
      this.host.wake(true);
    };
    return button;
  }
}

// A text; what the model wrote stands in cells that are as full as it was sure.
export class WordsView extends PanelView {
  build(spec) {
    this.panel = makePanel(this.parent, spec.title);
    this.panel.svg.remove();
    this.panel.box.style.setProperty("--grow", spec.width);
    this.page = html("div", { class: "words" }, this.plot);
    for (const kind of ["pointerover", "pointerdown"])
      this.page.addEventListener(kind, ({ target }) => this.read(target));
    this.page.addEventListener("pointerleave", () => this.read(null));
  }
  read(target) {
    const at = this.cells?.indexOf(target) ?? -1, { characters, sure, reading } = this.mark;
    this.reading = at >= 0 && sure[at] >= 0;
    const facts = { letter: at + 1, mark: characters[at], share: percent(sure[at]) };
    write(this.panel.readout, this.reading ? fill(reading, facts) : this.spec.note);
  }
  show(spec) {
    const { characters, sure, given, columns } = (this.mark = spec.marks.find(mark => mark.kind === "words"));
    if (this.cells?.length !== characters.length) {
      this.page.replaceChildren();
      this.cells = characters.map(() => html("i", {}, this.page));
    }
    put(this.page, { style: `--columns: ${Math.min(columns, characters.length)}` });
    this.cells.forEach((cell, i) => {
      const blank = given[i] && characters[i] === "•";
      write(cell, blank ? " " : characters[i]);
      const written = sure[i] >= 0;
      put(cell, { class: written ? "written" : "", style: written ? `--sure: ${percent(sure[i])}` : "" });
    });
    this.panel.say(spec.title);
    put(this.page, {
      role: "img",
      "aria-label": `${spec.title}: ${characters.join("").replaceAll("•", " ")}`,
    });
  }
  remove() {}
}

const VIEWS = { heads: HeadsView, arcs: ArcsView, words: WordsView, cells: CellsView };

// The view that draws panels of a kind; `look` may give the height of its axes.
export function viewOf(spec, parent, host, look) {
  const kind = Object.keys(VIEWS).find(name => spec.marks.some(mark => mark.kind === name));
  return new (VIEWS[kind] ?? CurvesView)(parent, host, look);
}
