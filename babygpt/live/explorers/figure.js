// What explorers of formulas are made of: panels with axes, curves, matrices and handles, and sliders below them.
//
// An explorer is a module with two functions. `measure` computes numbers from the values of the controls.
// `build` makes the panels once and returns a function that draws what was measured. formulas.py names the
// controls. Whatever moves sets a value of the model; the next frame draws the values that it has then.

const SVG = "http://www.w3.org/2000/svg";
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [360, 250, 46, 12, 10, 40]; // of a panel's picture

// Of the hues of babygpt.plots; these can be read on white and on black.
export const COLOURS = { blue: "#2b7bbd", red: "#d55e00", green: "#00916a", pink: "#b5609a", grey: "#808080" };

export function put(node, attributes = {}, parent = null, text = "") {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.textContent = text;
  parent?.append(node);
  return node;
}
export const html = (tag, ...rest) => put(document.createElement(tag), ...rest);
export const svg = (tag, ...rest) => put(document.createElementNS(SVG, tag), ...rest);

export function format(number) {
  if (Math.abs(number) >= 100) return Math.round(number).toLocaleString("en").replace("-", "−");
  return String(Number(number.toPrecision(3))).replace("-", "−");
}

export const percent = share => `${Math.round(100 * share)}%`;
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

// By how much a value changes at most from one cell of a square to the next one on its diagonal.
export const unevenness = rows =>
  most(rows.slice(1).map((row, i) => row.slice(1).map((value, j) => value - rows[i][j])));

// ---------------------------------------------------------------- axes

function ticksOf(low, high, log, least) {
  if (log) return range(Math.round(Math.log10(high / low)) + 1, i => low * 10 ** i);
  const rough = (high - low) / 5, power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(least, power * [1, 2, 5, 10].find(n => n * power >= rough * 0.999));
  return range(Math.floor((high - low) / step + 1e-9) + 2, i => (Math.ceil(low / step) + i) * step)
    .filter(tick => tick <= high + 1e-9 * step);
}

class Axes {
  // `least` is the smallest step from tick to tick: 1 for axes of whole numbers.
  constructor(panel, { x, y, labels, log = false, least = 0 }) {
    Object.assign(this, { panel, log, least, width: WIDTH - LEFT - RIGHT, height: HEIGHT - TOP - BOTTOM });
    const place = { x: LEFT, y: TOP, width: this.width, height: this.height };
    this.ticks = svg("g", { class: "ticks", transform: `translate(${LEFT},${TOP})` }, panel.svg);
    this.inside = svg("svg", place, panel.svg); // clips what leaves it
    this.layer = svg("g", { transform: `translate(${LEFT},${TOP})` }, panel.svg); // of handles
    svg("text", { x: LEFT + this.width / 2, y: HEIGHT - 5, "text-anchor": "middle" }, panel.svg, labels[0]);
    const turned = `translate(11,${TOP + this.height / 2}) rotate(-90)`;
    svg("text", { transform: turned, "text-anchor": "middle" }, panel.svg, labels[1]);
    this.span(x, y);
  }

  // Let the axes go from x[0] (left) to x[1] (right) and from y[0] (top) to y[1] (bottom).
  span(x, y) {
    if (String([x, y]) === String(this.spans)) return;
    this.spans = [x, y];
    this.ticks.replaceChildren();
    for (const tick of ticksOf(Math.min(...x), Math.max(...x), false, this.least)) {
      svg("line", { x1: this.X(tick), x2: this.X(tick), y1: 0, y2: this.height }, this.ticks);
      svg("text", { x: this.X(tick), y: this.height + 14, "text-anchor": "middle" }, this.ticks, format(tick));
    }
    for (const tick of ticksOf(Math.min(...y), Math.max(...y), this.log, this.least)) {
      svg("line", { x1: 0, x2: this.width, y1: this.Y(tick), y2: this.Y(tick) }, this.ticks);
      svg("text", { x: -5, y: this.Y(tick) + 4, "text-anchor": "end" }, this.ticks, format(tick));
    }
  }

  X(value) { return ((value - this.spans[0][0]) / (this.spans[0][1] - this.spans[0][0])) * this.width; }
  x(pixel) { return this.spans[0][0] + (pixel / this.width) * (this.spans[0][1] - this.spans[0][0]); }
  Y(value) {
    const [top, bottom, at] = [...this.spans[1], value].map(v => (this.log ? Math.log(Math.max(v, 1e-30)) : v));
    return ((at - top) / (bottom - top)) * this.height;
  }
  y(pixel) {
    const [top, bottom] = this.spans[1].map(v => (this.log ? Math.log(v) : v));
    const at = top + (pixel / this.height) * (bottom - top);
    return this.log ? Math.exp(at) : at;
  }

  // A curve with a name in the legend; returns what draws it over some x (by default 0, 1, 2, ...).
  curve(name, colour, look = {}) {
    const path = svg("path", { class: "curve", stroke: colour, ...look }, this.inside);
    const entry = html("li", { style: `--colour: ${colour}` }, this.panel.legend, name);
    return (y, x = y?.keys()) => {
      entry.hidden = !y;
      const points = y ? [...x].map((at, i) => `${this.X(at).toFixed(2)} ${this.Y(y[i]).toFixed(2)}`) : [];
      path.setAttribute("d", points.length ? `M${points.join("L")}` : "");
    };
  }

  // A line across the axes, at one x or one y.
  line(axis, look = {}) {
    const line = svg("line", { class: "mark", x1: 0, y1: 0, x2: this.width, y2: this.height, ...look }, this.inside);
    return value => {
      for (const end of [1, 2]) line.setAttribute(axis + end, axis === "x" ? this.X(value) : this.Y(value));
    };
  }

  // A matrix of coloured cells, blue below 0 and red above; pointing at a cell, or arrow keys, read it aloud.
  // `say` puts (row, column, value) into words. Returns what draws rows of numbers between -top and top.
  matrix(say) {
    const sides = { left: LEFT / WIDTH, top: TOP / HEIGHT, width: this.width / WIDTH, height: this.height / HEIGHT };
    const style = Object.entries(sides).map(([side, share]) => `${side}: ${100 * share}%`).join("; ");
    const canvas = html("canvas", { style, tabindex: 0, role: "img" });
    this.panel.plot.prepend(canvas);
    const ends = ["blue", "red"].map(hue => html("li", { style: `--colour: ${COLOURS[hue]}` }, this.panel.legend));
    let rows = [[0]], cell = [0, 0];
    const read = (i, j) => {
      cell = [Math.min(rows.length - 1, Math.max(0, i)), Math.min(rows[0].length - 1, Math.max(0, j))];
      this.panel.readout.textContent = say(...cell, rows[cell[0]][cell[1]]);
    };
    for (const kind of ["pointermove", "pointerdown"]) {
      canvas.addEventListener(kind, ({ offsetX, offsetY }) => {
        const [across, down] = [offsetX / canvas.clientWidth, offsetY / canvas.clientHeight];
        read(Math.floor(down * rows.length), Math.floor(across * rows[0].length));
      });
    }
    const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    canvas.addEventListener("keydown", event => {
      if (!moves[event.key]) return;
      read(cell[0] + moves[event.key][0], cell[1] + moves[event.key][1]);
      event.preventDefault();
    });
    return (values, top, title) => {
      rows = values;
      [canvas.width, canvas.height] = [rows[0].length, rows.length];
      const image = new ImageData(canvas.width, canvas.height);
      rows.flat().forEach((value, i) => {
        const strength = Math.min(1, Math.abs(value) / top) * 255;
        image.data.set(value < 0 ? [43, 123, 189, strength] : [213, 94, 0, strength], 4 * i);
      });
      canvas.getContext("2d").putImageData(image, 0, 0);
      ends.forEach((end, i) => { end.textContent = format([-top, top][i]); });
      canvas.setAttribute("aria-label", `${title}. Arrow keys read a cell.`);
      if (this.panel.readout.textContent) read(...cell);
    };
  }
}

// ---------------------------------------------------------------- panels and handles

class Page {
  constructor(model, root) {
    Object.assign(this, { model, root, knobs: [], controls: {} });
    for (const control of model.get("controls")) this.controls[control.name] = control;
    this.panels = html("div", { class: "explorer-panels" }, root);
  }

  values() { return Object.fromEntries(Object.keys(this.controls).map(name => [name, this.model.get(name)])); }

  // Set a value, kept within the ends of its control; whole steps only once the hand lets go.
  set(name, value, settled = true) {
    const { stops, step } = this.controls[name];
    if (stops) {
      const kept = Math.min(stops.at(-1), Math.max(stops[0], value));
      value = step && settled ? stops[nearest(stops, kept)] : Number(kept.toPrecision(5));
    }
    this.model.set(name, value);
    this.model.save_changes();
  }

  // Go some stops on from the present value.
  step(name, n) {
    const { stops } = this.controls[name];
    const at = nearest(stops, this.model.get(name)) + n;
    this.set(name, stops[Math.min(stops.length - 1, Math.max(0, at))]);
  }

  // A panel: a finding in words, a legend, a picture, and what is read from it. Words of a lesson that have the
  // class light-NAME light it up. `size` is that of the picture, where it has no axes.
  panel(name, axes = null, size = [WIDTH, HEIGHT]) {
    const width = size[0] > WIDTH ? "wide" : size[0] < WIDTH ? "small" : "";
    const box = html("div", { class: `explorer-panel ${width}`, "data-part": name }, this.panels);
    const title = html("p", { class: "explorer-title" }, box);
    const legend = html("ul", { class: "explorer-legend" }, box);
    const plot = html("div", { class: "explorer-plot" }, box);
    const picture = svg("svg", { viewBox: `0 0 ${size.join(" ")}`, role: "group", "aria-label": name }, plot);
    const panel = { box, legend, plot, svg: picture, readout: html("p", { class: "explorer-readout" }, box) };
    panel.say = words => { title.textContent = words; };
    panel.axes = axes && new Axes(panel, axes);
    return panel;
  }

  // A handle on a picture. `at` returns its place [x, y] in the layer for the values and what was measured,
  // `moved` the values, by name, that belong to a place. Keys move the control `name` from stop to stop.
  handle(layer, name, colour, at, moved) {
    const { label, stops } = this.controls[name];
    const ends = { "aria-valuemin": stops[0], "aria-valuemax": stops.at(-1) };
    const style = `color: ${colour}`;
    const names = { class: "handle", tabindex: 0, role: "slider", "aria-label": label, ...ends, style };
    const knob = svg("g", names, layer), scale = Math.max(1, layer.closest("svg").viewBox.baseVal.width / WIDTH);
    svg("circle", { r: 22 * scale, class: "grip" }, knob);
    svg("circle", { r: 8 * scale }, knob);
    let place = [0, 0], held = null;
    const point = event => {
      const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(layer.getScreenCTM().inverse());
      return [x, y];
    };
    knob.addEventListener("touchstart", event => event.preventDefault()); // touch-action has no effect inside an SVG
    knob.addEventListener("pointerdown", event => {
      held = point(event).map((n, i) => place[i] - n);
      knob.setPointerCapture(event.pointerId);
    });
    knob.addEventListener("pointermove", event => {
      if (!held) return;
      const changes = moved(point(event).map((n, i) => n + held[i]), this.values());
      for (const [changed, value] of Object.entries(changes)) this.set(changed, value, false);
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      knob.addEventListener(kind, () => {
        if (held) for (const moves of Object.keys(moved(place, this.values()))) this.set(moves, this.model.get(moves));
        held = null;
      });
    }
    knob.addEventListener("keydown", event => {
      const up = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
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

// ---------------------------------------------------------------- sliders

const nearest = (stops, value) =>
  stops.reduce((best, stop, i) => (Math.abs(stop - value) < Math.abs(stops[best] - value) ? i : best), 0);

function addInput(page, { name, label, stops, options, words }, box) {
  const row = html("label", {}, box), quiet = { "data-lm-suppress-shortcuts": "true" }; // of JupyterLab
  html("span", {}, row, label);
  if (options) {
    const select = html("select", quiet, row);
    for (const option of options) html("option", {}, select, String(option));
    select.addEventListener("change", () => page.set(name, options[select.selectedIndex]));
    page.knobs.push(values => { select.selectedIndex = options.indexOf(values[name]); });
    return;
  }
  const input = html("input", { ...quiet, type: "range", min: 0, max: stops.length - 1, step: 1 }, row);
  const output = html("output", {}, row);
  input.addEventListener("input", () => page.set(name, stops[input.value]));
  page.knobs.push(values => {
    input.value = nearest(stops, values[name]);
    output.textContent = format(values[name]);
    input.setAttribute("aria-valuetext", output.textContent);
  });
}

// ---------------------------------------------------------------- what a page mounts

// Words with the class light-NAME light up the panels of that name while a pointer is over them; a click goes there.
function lightUp({ type, target }) {
  const part = /(?:^| )light-(\S+)/.exec(target.closest?.("[class^='light-']")?.className ?? "")?.[1];
  for (const panel of document.querySelectorAll(".explorer-panel")) {
    const lit = panel.classList.toggle("lit", panel.dataset.part === part);
    if (lit && type === "click") panel.scrollIntoView({ block: "nearest" });
  }
}

export function explorer(measure, build) {
  function render({ model, el }) {
    // JupyterLab's own keys stay away from what is inside.
    const names = { class: "explorer", role: "group", "aria-label": model.get("title") };
    const root = html("div", { ...names, "data-lm-suppress-shortcuts": "true" }, el), page = new Page(model, root);
    const draw = build(page), inputs = html("div", { class: "explorer-controls" }, root);
    for (const control of Object.values(page.controls)) addInput(page, control, inputs);
    const reset = html("button", { type: "button" }, inputs, "reset");
    reset.addEventListener("click", () => {
      for (const { name, value } of Object.values(page.controls)) page.set(name, value);
    });
    const voice = html("p", { class: "explorer-voice", role: "status" }, root);
    let frame = 0, speaking = 0;
    const paint = () => {
      frame = 0;
      const values = page.values(), found = measure(values);
      draw(values, found);
      for (const knob of page.knobs) knob(values, found);
    };
    const change = () => {
      frame ||= requestAnimationFrame(paint);
      clearTimeout(speaking); // the findings are spoken when nothing has moved for a while
      speaking = setTimeout(() => {
        voice.textContent = [...root.querySelectorAll(".explorer-title")].map(title => title.textContent).join(". ");
      }, 700);
    };
    const changes = Object.keys(page.controls).map(name => `change:${name}`);
    for (const name of changes) model.on(name, change);
    for (const kind of ["pointerover", "click"]) document.addEventListener(kind, lightUp);
    paint();
    return () => {
      for (const name of changes) model.off(name, change);
      for (const kind of ["pointerover", "click"]) document.removeEventListener(kind, lightUp);
      cancelAnimationFrame(frame);
      clearTimeout(speaking);
      root.remove();
    };
  }
  return { render };
}
