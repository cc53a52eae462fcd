// What all pictures of the lab are made of: panels, axes, curves, matrices, handles, and the inputs below
// them. Sizes are CSS pixels, so that letters stay as large as they are, however wide a panel is.
//
// An explorer of a formula is a module with two functions. `measure` computes numbers from the values of the
// controls. `build` makes the panels once and returns a function that draws what was measured. formulas.py
// names the controls. Whatever moves sets a value of the model; the next frame draws the values of that
// moment.

const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 280; // height of a plot
// Ticks, labels and names stand in these spaces around the axes.
const LEFT = 46;
const ROOM = { right: 14, top: 24, bottom: 38 };
const WIDTH = 360; // width of a picture without axes, in its own units
export const LETTER = 7.3; // width of a letter of a tick, at most

// The hues are those of babygpt_live, in shades that can be read on white and on black.
export const COLOURS = {
  blue: "#2b7bbd",
  red: "#d55e00",
  green: "#00916a",
  pink: "#b5609a",
  grey: "#808080",
};

export function put(node, attributes = {}, parent = null, text = "") {
  for (const [name, value] of Object.entries(attributes)) {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  }
  if (text) node.textContent = text;
  parent?.append(node);
  return node;
}
export const html = (tag, ...rest) => put(document.createElement(tag), ...rest);
export const svg = (tag, ...rest) => put(document.createElementNS(SVG, tag), ...rest);
export const write = (node, words) => { if (node.textContent !== words) node.textContent = words; };

const minus = words => words.replace("-", "−");
export function format(number) {
  if (Math.abs(number) >= 100) return minus(Math.round(number).toLocaleString("en"));
  return minus(String(Number(number.toPrecision(3))));
}
// Write a number with `digits` digits behind the point, or with three in all if that is null, as Python does.
export function fixed(number, digits = 2) {
  if (!Number.isFinite(number)) return "–";
  if (digits === null) return format(number);
  const up = number.toFixed(digits), half = /^50*$/.test(number.toFixed(60).slice(digits - 60));
  const odd = half && Number(up.at(-1)) % 2; // Python takes the even one of two equally near numbers.
  return minus((Number(odd ? up - Math.sign(number) * 10 ** -digits : up) + 0).toFixed(digits));
}
export const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);
export const percent = share => `${Math.round(100 * share)}%`;
export const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
export const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
export const range = (n, f = i => i) => Array.from({ length: n }, (_, i) => f(i));
export const sum = values => values.reduce((total, value) => total + value, 0);
export const frequencies = (width, theta) => range(width / 2, i => theta ** ((-2 * i) / width));
// The score of RoPE for q = k at some distance, as a share of that at distance 0.
export const ropeScore = (away, speeds) => sum(speeds.map(speed => Math.cos(away * speed))) / speeds.length;
export const onCircle = ([x, y], r, angle) => [x + r * Math.cos(angle), y - r * Math.sin(angle)];
export const most = rows => Math.max(...rows.map(row => Math.max(...row.map(Math.abs))));

export function dot(a, b) {
  let total = 0; // a loop takes a fifth of the time of reduce()
  for (let i = 0; i < a.length; i++) total += a[i] * b[i];
  return total;
}

export function softmax(scores) {
  const highest = Math.max(...scores);
  const powers = scores.map(score => Math.exp(score - highest));
  const total = sum(powers);
  return powers.map(power => power / total);
}

// Return the largest change of a value from one cell of a square to the next one on its diagonal.
export const unevenness = rows =>
  most(rows.slice(1).map((row, i) => row.slice(1).map((value, j) => value - rows[i][j])));

// ---------------------------------------------------------------- axes

// Round numbers from low to high. `least` is the smallest step: 1 for axes of whole numbers.
function ticksOf({ span, log, least = 0 }, many) {
  const [low, high] = [Math.min(...span), Math.max(...span)];
  if (log) {
    const first = Math.ceil(Math.log10(low) - 1e-9), last = Math.floor(Math.log10(high) + 1e-9);
    return range(last - first + 1, i => 10 ** (first + i));
  }
  const rough = (high - low) / many, power = 10 ** Math.floor(Math.log10(rough));
  const steps = [1, 2, 5, 10].map(n => n * power), i = steps.findIndex(step => step >= rough * 0.999);
  const ends = step => [Math.ceil(low / step - 1e-9), Math.floor(high / step + 1e-9)];
  // An axis has two ticks at least.
  const [begin, end] = ends(steps[i]), step = Math.max(least, steps[begin === end && i ? i - 1 : i]);
  const [first, last] = ends(step);
  return range(last - first + 1, n => (first + n) * step);
}

// How far a value is from the beginning of an axis, as a share of its length; and back.
function shareOf({ span, log }, value) {
  const [from, to, at] = log ? [...span, Math.max(value, 1e-30)].map(Math.log) : [...span, value];
  return (at - from) / (to - from);
}
function valueAt({ span, log }, share) {
  const [from, to] = log ? span.map(Math.log) : span, at = from + share * (to - from);
  return log ? Math.exp(at) : at;
}

// Axes are { label, span, ticks, log, least }: `span` from left to right, or from bottom to top; `ticks` are
// pairs of a value and its name, or nothing for round numbers. `margin` of y is the least room for its names.
// `beside` is the room at the right of the axes, for the name of x, and for those of curves if it is large;
// then y has no name, and x no grid.
export class Axes {
  constructor(panel, { x, y, height = HEIGHT, beside = null }) {
    Object.assign(this, { panel, sides: { x, y }, total: height, left: LEFT, width: 300, onlay: [], beside });
    this.space = { ...ROOM, ...(beside && { right: beside, top: 10, bottom: 20 }) };
    put(panel.svg, { class: "axes" });
    this.caption = svg("text", { class: "label", y: 13 }, panel.svg);
    this.label = svg("text", { class: "label", "text-anchor": beside ? "start" : "end" }, panel.svg);
    this.ticks = svg("g", { class: "ticks" }, panel.svg);
    // An SVG inside the other one clips curves that leave the axes.
    this.inside = svg("svg", { y: this.space.top }, panel.svg);
    this.layer = svg("g", {}, panel.svg); // layer of handles
    this.lay();
  }
  get height() { return Math.max(20, this.total - this.space.top - this.space.bottom); }

  // Let the axes go from x[0] (left) to x[1] (right) and from y[0] (top) to y[1] (bottom).
  span(x, y) { this.view({ ...this.sides.x, span: x }, { ...this.sides.y, span: [y[1], y[0]] }); }

  view(x, y, room = this.room, total = this.total) {
    const key = JSON.stringify([x, y, room, total]);
    if (key === this.key) return;
    Object.assign(this, { key, sides: { x, y }, room, total });
    this.lay();
  }

  // The panel is so wide now, and perhaps so high, in CSS pixels.
  resize(room, total) { this.view(this.sides.x, this.sides.y, room, total); }

  lay() {
    const { sides: { x, y }, room = WIDTH, space, beside } = this;
    const up = beside ? 2 : clamp(Math.floor(this.height / 36), 2, 6);
    const upright = y.ticks ?? ticksOf(y, up).map(tick => [tick, format(tick)]);
    const names = upright.flatMap(([, name]) => name.split("\n"));
    this.left = clamp(
      12 + LETTER * Math.max(0, ...names.map(name => name.length)),
      y.margin ?? (beside ? 34 : LEFT),
      Math.max(LEFT, 0.45 * room),
    );
    this.width = Math.max(40, room - this.left - space.right);
    put(this.panel.svg, { height: this.total });
    put(this.inside, { x: this.left, width: this.width, height: this.height });
    for (const layer of [this.ticks, this.layer])
      put(layer, { transform: `translate(${this.left},${space.top})` });
    write(this.caption, beside ? "" : y.label);
    write(put(this.label, { x: this.left + this.width + (beside ? 18 : 0), y: this.total - 4 }), x.label);
    this.ticks.replaceChildren();
    const across = beside && room < 600 ? 2 : clamp(Math.floor(this.width / 60), 2, 8);
    for (const [at, name] of x.ticks ?? ticksOf(x, across).map(tick => [tick, format(tick)])) {
      if (!x.ticks && !this.plain && !beside)
        svg("line", { x1: this.X(at), x2: this.X(at), y1: 0, y2: this.height }, this.ticks);
      const turn = x.turned
        ? { transform: `rotate(-90 ${this.X(at)} ${this.height + 6})`, dy: 4 }
        : { dy: 10 };
      const place = {
        x: this.X(at),
        y: this.height + 6,
        "text-anchor": x.turned ? "end" : "middle",
        ...turn,
      };
      svg("text", place, this.ticks, name);
    }
    for (const [at, name] of upright) {
      if (!y.ticks && !this.plain)
        svg("line", { x1: 0, x2: this.width, y1: this.Y(at), y2: this.Y(at) }, this.ticks);
      name.split("\n").forEach((line, i, lines) => {
        const down = this.Y(at) + 4 + 14 * (i - (lines.length - 1) / 2);
        svg("text", { x: -6, y: down, "text-anchor": "end" }, this.ticks, line);
      });
    }
    for (const call of this.onlay) call();
  }

  X(value) { return shareOf(this.sides.x, value) * this.width; }
  x(pixel) { return valueAt(this.sides.x, pixel / this.width); }
  Y(value) { return (1 - shareOf(this.sides.y, value)) * this.height; }
  y(pixel) { return valueAt(this.sides.y, 1 - pixel / this.height); }

  // The place of a pointer inside the axes, in CSS pixels, also where a page is zoomed.
  place({ clientX, clientY }) {
    const box = this.panel.svg.getBoundingClientRect(), scale = this.total / box.height;
    return [(clientX - box.left) * scale - this.left, (clientY - box.top) * scale - this.space.top];
  }

  // A path through points (x[i], y[i]); where a number is missing it begins anew.
  path(x, y, from = 0, to = y.length) {
    let d = "", pen = "M";
    const stride = Math.max(1, Math.floor((to - from) / 2000)); // More points than that could not be seen.
    for (let i = from; i < to; i = i < to - 1 ? Math.min(i + stride, to - 1) : to) {
      if (!Number.isFinite(y[i])) { pen = "M"; continue; }
      d += `${pen}${this.X(x[i]).toFixed(2)} ${this.Y(y[i]).toFixed(2)}`;
      pen = "L";
    }
    return d;
  }

  // A curve with a name in the legend; returns what draws it over some x (by default 0, 1, 2, ...).
  curve(name, colour, look = {}) {
    const path = svg("path", { class: "curve", stroke: colour, ...look }, this.inside);
    const entry = html("li", { style: `--colour: ${colour}` }, this.panel.legend, name);
    return (y, x = y?.map((_, i) => i)) => {
      entry.hidden = !y;
      put(path, { d: y ? this.path(x, y) : "" });
    };
  }

  // A line across the axes, at one x or one y.
  line(axis, look = {}) {
    const line = svg("line", { class: "mark", x1: 0, y1: 0, ...look }, this.inside);
    return value => {
      const at = axis === "x" ? this.X(value) : this.Y(value);
      put(line, axis === "x" ? { x1: at, x2: at, y2: this.height } : { y1: at, y2: at, x2: this.width });
    };
  }

  // Frames around rows of cells: from the first one to the one behind the last.
  frames(rows) {
    this.framed ??= svg("g", {}, this.inside);
    this.framed.replaceChildren(...rows.map(([first, end]) => {
      const [y, bottom] = [this.Y(first - 0.5), this.Y(end - 0.5)];
      return svg("rect", { class: "frame", x: 0, y, width: this.width, height: bottom - y });
    }));
  }

  // Coloured cells. `label` says what their colours measure, and `say` puts (row, column, value) into words.
  // Returns what draws rows of numbers.
  matrix(label, say) {
    const cells = new Cells(this);
    let rows = [[0]];
    cells.onread = at => write(this.panel.readout, at ? say(...at, rows[at[0]][at[1]]) : "");
    return (values, top, title) => {
      rows = values;
      cells.draw(rows.flat(), rows.length, rows[0].length, [-top, top], title, label);
    };
  }
}

// Cells in colours inside some axes, blue below 0 and red above, or blue alone where nothing is below.
// A pointer and arrow keys read a cell: `onread` gets its row and column, or null.
export class Cells {
  constructor(axes) {
    Object.assign(this, { axes, size: [1, 1], at: null, onread: () => {} });
    axes.plain = true; // Grid lines would hide cells.
    this.canvas = html("canvas", { tabindex: 0, role: "img" });
    axes.panel.plot.prepend(this.canvas);
    const scale = html("li", { class: "scale" }, axes.panel.legend);
    this.label = html("span", {}, scale);
    // The scale has three numbers, and colours between them.
    this.scale = range(5, i => html(i % 2 ? "i" : "span", {}, scale));
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    for (const kind of ["pointermove", "pointerdown"]) {
      this.canvas.addEventListener(kind, ({ offsetX, offsetY }) => {
        const shares = [offsetY / this.canvas.clientHeight, offsetX / this.canvas.clientWidth];
        this.read(shares.map((share, i) => Math.floor(share * this.size[i])));
      });
    }
    this.canvas.addEventListener("keydown", event => {
      if (!moves[event.key]) return;
      this.read((this.at ?? [0, 0]).map((n, i) => n + moves[event.key][i]));
      event.preventDefault();
    });
    for (const kind of ["pointerleave", "blur"]) {
      this.canvas.addEventListener(kind, ({ pointerType }) => {
        if (pointerType !== "touch") this.read(null);
      });
    }
    axes.onlay.push(() => this.lay());
    axes.lay();
  }

  lay() {
    const { left, width, height, space: { top } } = this.axes, place = { left, top, width, height };
    for (const [side, pixels] of Object.entries(place)) this.canvas.style[side] = `${pixels}px`;
  }

  read(at) {
    this.at = at && at.map((n, i) => clamp(n, 0, this.size[i] - 1));
    this.onread(this.at);
  }

  // values  of all cells, row by row; `offset` is the first one's number
  // ends    values of the palest and the strongest colour; below 0, of the two strongest
  // label   says what the colours measure
  draw(values, rows, columns, ends, title, label, offset = 0) {
    this.size = [rows, columns];
    paintCells(this.canvas, values, rows, columns, ends, offset);
    const [low, high] = ends, numbers = [low, low < 0 ? 0 : high / 2, high];
    const ink = numbers.map(
      number => `rgb(${inkOf(number, low).join(" ")} / ${Math.abs(number) / Math.max(-low, high)})`,
    );
    write(this.label, label);
    this.scale.forEach((part, i) => {
      if (i % 2) put(part, { style: `--from: ${ink[(i - 1) / 2]}; --to: ${ink[(i + 1) / 2]}` });
      else write(part, format(numbers[i / 2]));
    });
    put(this.canvas, { "aria-label": `${title}. Arrow keys read a cell.` });
    if (this.at) this.read(this.at);
  }
}

// Return red, green and blue of a number in a matrix whose least colour is that of `low`.
const inkOf = (number, low) => (low < 0 && number > 0 ? [213, 94, 0] : [43, 123, 189]);

// One pixel for each cell; the browser enlarges them.
export function paintCells(canvas, values, rows, columns, [low, high], offset = 0) {
  if (canvas.width !== columns || canvas.height !== rows) [canvas.width, canvas.height] = [columns, rows];
  const image = new ImageData(columns, rows), top = Math.max(-low, high);
  for (let i = 0; i < rows * columns; i++) {
    const value = values[offset + i], strength = Math.min(1, Math.abs(value) / top) || 0;
    image.data.set([...inkOf(value, low), 255 * strength], 4 * i);
  }
  canvas.getContext("2d").putImageData(image, 0, 0);
}

// ---------------------------------------------------------------- arcs over a text

export const FAINT = 0.06; // attention weight below which no arc is drawn

// Draw an arc from one letter to another, as broad and dark as an attention weight; so does still.py.
// x and y of both ends, and `up`, which its middle reaches, are pixels.
export function drawArc(arc, weight, from, to, y, up) {
  if (weight < FAINT) return put(arc, { visibility: "hidden" });
  const high = y - up / 0.75; // a cubic reaches three quarters of it
  put(arc, {
    visibility: "visible",
    d: `M${from} ${y}C${from} ${high} ${to} ${high} ${to} ${y}`,
    "stroke-width": 1 + 5 * weight,
    "stroke-opacity": 0.3 + 0.7 * weight,
  });
}

// ---------------------------------------------------------------- panels

// A panel: a finding in words, a legend, a picture, and what is read from it. `name` is that of the part of a
// lesson that lights it up: words with the class light-NAME. `size` is that of a picture without axes, in its
// own units.
export function makePanel(parent, name, axes = null, size = null) {
  const width = !size ? "" : size[0] > WIDTH ? "wide" : size[0] < WIDTH ? "small" : "";
  const box = html("div", { class: `explorer-panel ${width}`, "data-part": name }, parent);
  const title = html("p", { class: "explorer-title" }, box);
  const legend = html("ul", { class: "explorer-legend" }, box);
  const plot = html("div", { class: "explorer-plot" }, box);
  const view = size ? { viewBox: `0 0 ${size.join(" ")}` } : {};
  const picture = svg("svg", { ...view, role: "group", "aria-label": name }, plot);
  const panel = {
    box,
    title,
    legend,
    plot,
    svg: picture,
    readout: html("p", { class: "explorer-readout" }, box),
  };
  panel.say = words => write(title, words);
  panel.axes = axes && new Axes(panel, axes);
  return panel;
}

// Tell axes how wide their panels are, now and whenever that changes, and then call `changed`.
export function followWidths(panels, changed) {
  const observer = new ResizeObserver(() => {
    for (const { axes, plot } of panels) if (axes && plot.clientWidth) axes.resize(plot.clientWidth);
    changed();
  });
  for (const { axes, plot } of panels) {
    if (!axes) continue;
    if (plot.clientWidth) axes.resize(plot.clientWidth);
    observer.observe(plot);
  }
  return observer;
}

export class Page {
  constructor(model, root) {
    Object.assign(this, { model, root, knobs: [], controls: {}, made: [] });
    for (const control of model.get("controls")) this.controls[control.name] = control;
    this.panels = html("div", { class: "explorer-panels" }, root);
  }

  values() {
    return Object.fromEntries(Object.keys(this.controls).map(name => [name, this.model.get(name)]));
  }

  // Set a value, kept within the ends of its control; whole steps only once the hand lets go.
  set(name, value, settled = true) {
    const { stops, step } = this.controls[name];
    if (stops) {
      const kept = clamp(value, stops[0], stops.at(-1));
      value = step && settled ? stops[nearest(stops, kept)] : Number(kept.toPrecision(5));
    }
    this.model.set(name, value);
    this.model.save_changes();
  }

  // Go some stops on from the present value.
  step(name, n) {
    const { stops } = this.controls[name];
    this.set(name, stops[clamp(nearest(stops, this.model.get(name)) + n, 0, stops.length - 1)]);
  }

  // See makePanel. `axes` has x (left, right), y (top, bottom), their labels, and whether y is logarithmic.
  panel(name, axes = null, size = axes ? null : [WIDTH, 250]) {
    const { x, y, labels, log = false, least = 0 } = axes ?? {};
    const view = axes && {
      x: { label: labels[0], span: x, least },
      y: { label: labels[1], span: [y[1], y[0]], log, least },
    };
    this.made.push(makePanel(this.panels, name, view, size));
    return this.made.at(-1);
  }

  // A handle on a picture. `at` returns its place [x, y] in the layer for the values and what was measured,
  // `moved` the values, by name, that belong to a place. Keys move the control `name` from stop to stop.
  handle(layer, name, colour, at, moved) {
    const { label, stops } = this.controls[name];
    const ends = { "aria-valuemin": stops[0], "aria-valuemax": stops.at(-1) };
    const style = `color: ${colour}`;
    const names = { class: "handle", tabindex: 0, role: "slider", "aria-label": label, ...ends, style };
    const own = layer.closest("svg[viewBox]")?.viewBox.baseVal.width ?? WIDTH;
    const scale = Math.max(1, own / WIDTH);
    const knob = svg("g", names, layer);
    svg("circle", { r: 22 * scale, class: "grip" }, knob);
    svg("circle", { r: 8 * scale }, knob);
    let place = [0, 0],
      held = null;
    const point = event => {
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(
        layer.getScreenCTM().inverse(),
      );
      return [x, y];
    };
    // The property touch-action has no effect inside an SVG.
    knob.addEventListener("touchstart", event => event.preventDefault());
    knob.addEventListener("pointerdown", event => {
      held = point(event).map((n, i) => place[i] - n);
      knob.setPointerCapture(event.pointerId);
    });
    knob.addEventListener("pointermove", event => {
      if (!held) return;
      const changes = moved(
        point(event).map((n, i) => n + held[i]),
        this.values(),
      );
      for (const [changed, value] of Object.entries(changes)) this.set(changed, value, false);
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      knob.addEventListener(kind, () => {
        if (held)
          for (const moves of Object.keys(moved(place, this.values())))
            this.set(moves, this.model.get(moves));
        held = null;
      });
    }
    knob.addEventListener("keydown", event => {
      const up = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[
        event.key
      ];
      const far = { Home: -stops.length, End: stops.length }[event.key];
      if (!(up ?? far)) return;
      this.step(name, up ?? far);
      event.preventDefault();
    });
    this.knobs.push((values, found) => {
      place = at(values, found);
      knob.setAttribute("transform", `translate(${place.map(n => n.toFixed(2))})`);
      knob.setAttribute("aria-valuenow", values[name]);
      knob.setAttribute("aria-valuetext", format(values[name]));
    });
  }
}

// ---------------------------------------------------------------- inputs

export const nearest = (stops, value) =>
  stops.reduce((best, stop, i) => (Math.abs(stop - value) < Math.abs(stops[best] - value) ? i : best), 0);

// An input for a control, in a row of `box`; `set` gets a new value. Returns what shows a value, and a
// highest one.
export function addInput({ label, stops, options, labels, text }, box, set) {
  const row = html("label", text ? { class: "line" } : {}, box);
  html("span", {}, row, label);
  if (options) {
    const select = html("select", {}, row);
    for (const words of labels) html("option", {}, select, words);
    select.addEventListener("change", () => set(options[select.selectedIndex]));
    return value => { select.selectedIndex = options.indexOf(value); };
  }
  if (text) {
    const field = html("input", { type: "text" }, row);
    field.addEventListener("change", () => set(field.value));
    return value => { if (field !== document.activeElement || !field.value) field.value = value; };
  }
  const input = html("input", { type: "range", min: 0, max: stops.length - 1, step: 1 }, row);
  const output = html("output", {}, row);
  input.addEventListener("input", () => set(stops[input.value]));
  return (value, highest = stops.at(-1)) => {
    put(input, { max: Math.max(1, nearest(stops, highest)) });
    input.value = nearest(stops, value);
    input.style.setProperty("--filled", `${(100 * input.value) / input.max}%`);
    write(output, format(Math.min(value, highest)));
    put(input, { "aria-valuetext": output.textContent });
  };
}

// The inputs of a page, and a button that brings their first values back.
export function addInputs(page) {
  const box = html("div", { class: "explorer-controls" }, page.root), limits = {};
  for (const control of Object.values(page.controls)) {
    const show = addInput(control, box, value => page.set(control.name, value));
    page.knobs.push(values => show(values[control.name], limits[control.name]));
  }
  html("button", { type: "button" }, box, "reset").addEventListener("click", () => {
    for (const { name, value } of Object.values(page.controls)) page.set(name, value);
  });
  return limits;
}

// ---------------------------------------------------------------- what a page mounts

// Words with the class light-NAME light up the panels of that name while a pointer is over them; a click goes
// there.
function lightUp({ type, target }) {
  const part = /(?:^| )light-(\S+)/.exec(target.closest?.("[class^='light-']")?.className ?? "")?.[1];
  for (const panel of document.querySelectorAll(".explorer-panel")) {
    const lit = panel.classList.toggle("lit", panel.dataset.part === part);
    if (lit && type === "click") panel.scrollIntoView({ block: "nearest" });
  }
}

// What holds an explorer or a dashboard. A key that is pressed inside is not one of JupyterLab's, such as an
// arrow that goes to another cell.
export function makeRoot(el, kind, name) {
  const root = html("div", { class: kind, role: "group", "aria-label": name }, el);
  root.addEventListener("keydown", event => {
    if (!(event.ctrlKey || event.metaKey || event.altKey)) event.stopPropagation();
  });
  let before = ""; // the value of the input under a finger that may be about to scroll
  root.addEventListener("pointerdown", ({ target }) => { before = target.value; });
  root.addEventListener("pointercancel", ({ target }) => { // The finger scrolls the page.
    if (target.type !== "range" || target.value === before) return;
    target.value = before;
    target.dispatchEvent(new Event("input"));
  });
  return root;
}

// Let `make(page)` build the panels of an explorer; it returns what draws them for the present values, in a
// frame.
export function mount({ model, el }, make, names = []) {
  const root = makeRoot(el, "explorer", model.get("title"));
  const page = new Page(model, root), draw = make(page);
  const voice = html("p", { class: "explorer-voice", role: "status" }, root);
  let frame = 0, speaking = 0;
  const paint = () => { frame = 0; draw(); };
  const change = () => {
    frame ||= requestAnimationFrame(paint);
    clearTimeout(speaking); // the findings are spoken when nothing has moved for a while
    speaking = setTimeout(() => {
      write(voice, [...root.querySelectorAll(".explorer-title")].map(title => title.textContent).join(". "));
    }, 700);
  };
  const changes = [...Object.keys(page.controls), ...names].map(name => `change:${name}`);
  for (const name of changes) model.on(name, change);
  for (const kind of ["pointerover", "click"]) document.addEventListener(kind, lightUp);
  const observer = followWidths(page.made, () => { frame ||= requestAnimationFrame(paint); });
  paint();
  return () => {
    for (const name of changes) model.off(name, change);
    for (const kind of ["pointerover", "click"]) document.removeEventListener(kind, lightUp);
    observer.disconnect();
    cancelAnimationFrame(frame);
    clearTimeout(speaking);
    root.remove();
  };
}

export function explorer(measure, build) {
  const make = page => {
    const draw = build(page);
    addInputs(page);
    return () => {
      const values = page.values(), found = measure(values);
      draw(values, found);
      for (const knob of page.knobs) knob(values, found);
    };
  };
  return { render: context => mount(context, make) };
}
