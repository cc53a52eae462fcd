// What the bench draws of its models: for each a lane with its letters and heads, and for both one time line.
// Its words stand in the page; lab.js has the runs.

const { clamp, drawArc, nearest, paintCells, percent } = $figure;
const { CurvesView } = $panels;
const { ENCODINGS, addGlyph } = $glyphs;
const { CLOCK, drawClock, loadEngine, shown, startWorker } = $reading;
const LIKELY = 5; // characters in a list of the likeliest ones
const LEAST = 0.01; // probability of a character in that list
const LETTERS = [9, 30]; // least and greatest size, in CSS pixels
const BESIDE = 104; // room for names beside curves
const NEAR = 3; // letters back that are not called far
// A hand draws this encoding, so it has the colour of ink.
ENCODINGS.drawn = { name: "Drawn", colour: "var(--ink)", path: "M2 5c6 0 4 14 10 14s5-9 10-9" };
const colourOfEncoding = key => (key in ENCODINGS && key !== "drawn" ? `var(--enc-${key})` : "var(--ink)");
const glyphOf = (key, parent) => key in ENCODINGS && addGlyph(key, parent);

// One model: its letters with arcs to where a head looks from one of them, its next letters, its heads.
class Lane {
  // `lab` has the words, and is asked again when a head is switched.
  constructor(parent, lab, side) {
    Object.assign(this, { lab, side, off: new Set(), from: null, head: null, key: "" });
    this.box = html("section", { class: `lab-lane ${["first", "second"][side]}` }, parent);
    const top = html("div", { class: "lab-top" }, this.box);
    this.title = html("p", { class: "lab-name" }, top);
    this.written = html("p", { class: "lab-written", dir: "auto" }, top);
    this.plot = html("div", { class: "lab-letters", tabindex: 0, role: "img" }, this.box);
    this.svg = svg("svg", { "aria-hidden": true }, this.plot);
    this.next = html("ul", { class: "lab-next" }, this.box);
    this.strip = html("div", { class: "lab-heads", role: "group" }, this.box);
    this.row = html("div", { class: "lab-row" }, this.strip);
    this.looks = html("p", { class: "lab-looks" }, this.strip);
    const off = { type: "button", class: "lab-off", disabled: "" };
    this.switch = html("button", off, this.strip, lab.words.off);
    this.silenced = html("p", { class: "lab-silenced", role: "status" }, this.box);
    this.switch.onclick = () => {
      this.off.delete(this.chosen) || this.off.add(this.chosen);
      this.draw();
      this.lab.ask();
    };
    this.listen();
    this.sized = new ResizeObserver(([{ contentRect }]) => {
      [this.wide, this.high] = [contentRect.width, contentRect.height];
      this.draw();
    });
    this.sized.observe(this.plot);
  }

  listen() {
    const look = from => { this.from = from; this.draw(); };
    const at = ({ offsetX }) => clamp(Math.floor(offsetX / this.step), 0, this.count - 1);
    for (const kind of ["pointermove", "pointerdown"])
      this.plot.addEventListener(kind, event => this.frame && look(this.across(at(event))));
    this.plot.addEventListener("pointerleave", ({ pointerType }) => pointerType !== "touch" && look(null));
    this.plot.addEventListener("keydown", ({ key }) => {
      const way = { ArrowLeft: -1, ArrowRight: 1 }[key];
      if (way && this.frame) look(clamp((this.from ?? this.count - 1) + way, 0, this.count - 1));
    });
    this.plot.addEventListener("blur", () => look(null));
  }

  // Show another run: its name, its encoding, how many layers and heads it has.
  begin({ name, encoding }, layers, heads) {
    this.off.clear();
    Object.assign(this, { encoding, layers, heads, head: null, frame: null, from: null, key: "" });
    put(this.box, { style: `--c: ${colourOfEncoding(encoding)}` });
    this.title.replaceChildren();
    glyphOf(encoding, this.title);
    html("b", {}, this.title, this.lab.words[name] ?? name);
    put(this.strip, { "aria-label": fill(this.lab.words.heads, { name }) });
    put(this.plot, { "aria-label": `${name}: ${this.lab.words.knows}` });
    const many = layers * heads > 12 ? "many" : "";
    put(this.row, { class: `lab-row ${many}`, style: `--heads: ${heads}` });
    this.row.replaceChildren(...range(layers * heads, number => this.button(number)));
    for (const node of [this.silenced, this.looks]) write(node, "");
    this.written.replaceChildren(html("span", {}, null, this.lab.words.knows));
    this.next.replaceChildren();
    this.switch.disabled = true;
  }

  headAt(number) { return { layer: Math.floor(number / this.heads) + 1, head: (number % this.heads) + 1 }; }
  button(number) {
    const words = fill(this.lab.words.head, this.headAt(number));
    const end = number % this.heads === this.heads - 1;
    const look = { title: words, "aria-label": words, class: end ? "end" : "" };
    const button = html("button", { type: "button", ...look });
    html("canvas", { width: 1, height: 1 }, button);
    button.onclick = () => { this.head = number; this.draw(); };
    return button;
  }

  // The weight with which a head looks from letter m at letter n.
  weight(number, m, n) { return this.frame.weights[(number * this.count + m) * this.count + n] / 255; }
  get count() { return this.frame?.text.length ?? 0; }
  get rightward() { return /[\u0590-\u08ff]/.test(this.frame.letters.join("")) ? -1 : 1; }
  across(i) { return this.rightward > 0 ? i : this.count - 1 - i; }

  // The letter that gets most of a head's attention, apart from the first one, which heads use as a rest.
  target(number, m) {
    const weights = range(m + 1, n => (n < this.frame.lead ? 0 : this.weight(number, m, n)));
    return weights.indexOf(Math.max(...weights));
  }

  // The head that gives most of its weight to the right answer, until the reader chooses one. Where nobody
  // knows the answer, it is the head that looks farthest back with most of its weight.
  get chosen() {
    if (this.head !== null) return this.head;
    const last = this.count - 1, { answerAt } = this.frame;
    const far = range(this.layers * this.heads, number => {
      const target = answerAt >= 0 ? answerAt : this.target(number, last);
      return target < last - NEAR ? this.weight(number, last, target) : 0;
    });
    const best = far.indexOf(Math.max(...far));
    if (!(far[this.found] > far[best] - 0.1)) this.found = best; // it may not change with each step
    return this.found;
  }

  // Draw a frame: { text, letters, lead, weights, next, written, right, step, number }, or the last one.
  draw(frame = this.frame, resting = this.resting) {
    if (!frame) return this.drawEmpty();
    const { values } = this.lab;
    const own = [frame.number, resting, this.from, this.head, [...this.off]];
    const key = [...own, this.wide, this.high, values.theta];
    if (key.join() === this.key) return;
    const fresh = frame !== this.frame || resting !== this.resting;
    Object.assign(this, { key: key.join(), frame, resting });
    if (fresh) {
      this.from = this.from === null ? null : Math.min(this.from, this.count - 1);
      this.drawHeads();
      this.drawNext();
    }
    const chosen = this.chosen, m = this.from ?? this.count - 1, target = this.target(chosen, m);
    [...this.row.children].forEach((button, i) => {
      put(button, { "aria-pressed": i === chosen });
      button.classList.toggle("off", this.off.has(i));
    });
    this.switch.disabled = false;
    write(this.switch, this.lab.words[this.off.has(chosen) ? "on" : "off"]);
    const [mark, from] = [target, m].map(i => shown(frame.letters[i]));
    const facts = { ...this.headAt(chosen), mark, from };
    facts.share = percent(this.weight(chosen, m, target));
    const { looks, looks_from: looksFrom, letters } = this.lab.words;
    write(this.looks, fill(this.from === null ? looks : looksFrom, facts));
    const words = { name: this.title.textContent, looks: this.looks.textContent };
    put(this.plot, { "aria-label": fill(letters, words) });
    if (this.wide) this.drawLetters(chosen, m);
  }

  // Before the first frame: the question, and clocks at twelve.
  drawEmpty() {
    if (!this.wide || !this.lab.text) return;
    const { letters, lead } = this.lab.question(this.side);
    this.frame = { letters: letters.length ? letters : [" "], lead, text: letters };
    this.drawLetters(-1, Math.max(0, letters.length - 1));
    this.frame = null;
  }

  // Letters on a line; below them clocks if the encoding turns; above them arcs from letter m.
  drawLetters(chosen, m) {
    const { letters, lead } = this.frame, n = letters.length;
    const wide = letters.some(letter => letter > "\u2e80");
    const step = Math.min(this.wide / n, LETTERS[1] * (wide ? 1.05 : 0.62));
    const size = clamp(step / (wide ? 1.05 : 0.62), ...LETTERS);
    const turns = angleOf({ name: this.encoding }, 1, 0);
    const r = turns ? Math.min(0.42 * step, 9) : 0, base = this.high - 2 * r - 0.35 * size - 6;
    const x = i => (this.across(i) + 0.5) * step;
    this.step = step;
    put(this.svg, { width: this.wide, height: this.high });
    if (this.nodes?.length !== n || this.drawnFor !== this.encoding) {
      this.svg.replaceChildren();
      this.spot = svg("rect", { class: "spot", rx: 4 }, this.svg);
      this.arcs = range(n, () => svg("path", { class: "arc" }, this.svg));
      this.nodes = range(n, () => svg("text", {}, this.svg));
      this.clocks = range(turns ? n : 0, () => ["circle", "line"].map(tag => svg(tag, {}, this.svg)));
      this.drawnFor = this.encoding;
    }
    this.nodes.forEach((node, i) => {
      write(node, i < lead || letters[i] === "\n" ? "↵" : letters[i]);
      put(node, { x: x(i), y: base, "font-size": size, class: i < lead ? "lead" : "" });
    });
    put(this.spot, { x: x(m) - 0.5 * step, y: base - 0.9 * size, width: step, height: 1.25 * size });
    const moves = chosen >= 0, encoding = { name: this.encoding, theta: this.lab.thetaOf(this.side) };
    this.clocks.forEach((clock, i) =>
      drawClock(clock, x(i), base + 0.35 * size + r + 2, r, moves ? angleOf(encoding, i, CLOCK) : 0));
    const top = base - 0.9 * size, most = Math.max(3, top - 4);
    this.arcs.forEach((arc, j) => {
      const weight = chosen >= 0 && j < m ? this.weight(chosen, m, j) : 0;
      drawArc(arc, weight, x(m), x(j), top, Math.min(most, 12 + 0.38 * Math.abs(x(m) - x(j))));
    });
  }

  drawHeads() {
    const { weights } = this.frame, n = this.count;
    [...this.row.children].forEach((button, i) =>
      paintCells(button.firstChild, weights, n, n, [0, 255], i * n * n));
  }

  // The likeliest letters. They keep their places, by the alphabet, until training rests.
  drawNext() {
    const { next, written, right, spelled } = this.frame, { characters } = this.lab.text;
    const likely = range(next.length).sort((a, b) => next[b] - next[a]).slice(0, LIKELY);
    const rows = likely.filter(i => next[i] >= LEAST);
    if (!this.resting) rows.sort((a, b) => a - b);
    this.next.replaceChildren(...rows.map(i => {
      const rank = likely.indexOf(i) < 3 ? "likely" : ""; // a phone has room for three
      const row = html("li", { class: rank, style: `--p: ${percent(next[i])}` }, null, "");
      html("b", {}, row, shown(characters[i]));
      html("s", {}, row);
      html("span", {}, row, percent(next[i]));
      return row;
    }));
    if (!written) return;
    this.written.replaceChildren(`${this.lab.words.writes} `, html("b", {}, null, written.trim() || "…"));
    if (right === undefined) return;
    const mark = (is, what, title) => {
      const verdict = is ? "right" : "wrong", sign = is ? "✓" : "✗";
      const look = { class: verdict, role: "img", title, "aria-label": `${title}: ${verdict}` };
      return html("span", look, null, `${sign} ${what} `);
    };
    // The marks come first, because what is written may be cut at its end.
    if (spelled !== undefined) this.written.prepend(mark(spelled, "name", "the whole name"));
    this.written.prepend(mark(right, written.trim()[0], "the first letter"));
  }
}

// The board of a lab: one line of time below everything, curves at the right, dials among the settings.
class Bench extends Board {
  get lab() { return this.root.closest(".lab").lab; }

  buildHead() {
    const line = html("div", { class: "row time" }, this.root);
    this.status = html("p", { class: "explorer-voice" }, this.root);
    this.buildTime(line);
    this.graph = svg("svg", { viewBox: "0 0 100 44", preserveAspectRatio: "none", "aria-hidden": true });
    this.slider.before(this.graph);
    this.areas = range(2, () => svg("path", {}, this.graph));
    this.drawer = this.button(line, "Dials", () => this.lab.openDrawer());
    this.drawer.className = "lab-drawer";
  }

  buildDials(controls) {
    const box = this.lab.form.querySelector(".lab-dials");
    put(box, { style: `--c: ${this.lab.curveColour(0)}` }).replaceChildren();
    return Object.fromEntries(controls.map(control => {
      const [label, says] = control.label.split(": "), row = html("div", { class: "explorer-controls" }, box);
      const show = addInput({ ...control, label }, row, value => {
        show(value);
        this.command("steer", { name: control.name, value });
      });
      html("small", {}, row.firstChild, says);
      show(control.value);
      return [control.name, show];
    }));
  }

  makeView(spec, i) {
    const Kind = spec.shapes ? KernelView : CurvesView;
    return new Kind(this.panels, this.host, { beside: BESIDE, height: 160 });
  }

  press() {
    const { state } = this.run.head;
    if (state === "ready") this.lab.train();
    else if (["running", "paused"].includes(state)) this.pauseOrGoOn();
    else super.press();
  }
  playWords() {
    const { state } = this.run.head;
    return this.playing !== null || ["running", "getting ready"].includes(state) ? "❚❚" : "▶";
  }

  drawHead(step) {
    const { run } = this, { state } = run.head;
    this.drawTime(step);
    this.pace.style.visibility = run.head.over ? "" : "hidden"; // its room is kept
    const orders = { ready: "train", running: "pause", "getting ready": "pause", paused: "go on" };
    const title = orders[state] ?? "play the run";
    put(this.play, { "aria-label": title, title });
    put(this.place, { title: run.head.words });
    this.lab.drawState(step, this.behind);
    this.drawGraph(run.facts.total);
    if (state !== this.spoken) write(this.voice, `${run.facts.title}: ${(this.spoken = state)}`);
  }

  // The time line is the curve of right answers, or of the loss where nobody knows what is right.
  drawGraph(total) {
    const { runs, text } = this.lab;
    const key = runs.map(run => `${run.points.length} ${text.questions ? "" : run.losses.length}`).join();
    if (key === this.graphed) return;
    this.graphed = key;
    this.areas.forEach((area, side) => {
      if (!runs[side]) return;
      const { points } = runs[side], highest = Math.max(...points.map(point => point[1]));
      const y = value => 40 - 34 * (text.questions ? clamp((value - 45) / 55, 0, 1) : value / highest);
      const line = points.map(([at, value]) => `L${((100 * at) / total).toFixed(2)} ${y(value).toFixed(1)}`);
      const d = points.length > 1 ? `M${line.join("").slice(1)}` : "";
      const close = side ? "" : `V42H0Z`;
      const look = { style: `--c: ${this.lab.curveColour(side)}`, class: side ? "line" : "area" };
      put(area, { d: d && d + close, ...look });
    });
  }
  drawMoves(total) { super.drawMoves(total, [...this.lab.clicks(), ...this.run.moves]); }
  keepRoom() {} // The bench gives each panel its room.
}

// The kernel that a reader draws: a pointer, a finger or the arrow keys shape it.
class KernelView extends CurvesView {
  build(spec) {
    super.build(spec);
    put(this.plot, { class: `${this.plot.getAttribute("class")} shapes` });
    let last = null;
    const shape = event => {
      const place = this.axes.place(event), share = clamp(this.axes.y(place[1]), 0, 100) / 100;
      const at = clamp(Math.round(this.axes.x(place[0])), 0, WINDOW - 1);
      this.spec.shapes(last ?? [at, share], [at, share]);
      last = [at, share];
    };
    this.plot.addEventListener("pointerdown", event => {
      this.plot.setPointerCapture(event.pointerId);
      last = null;
      shape(event);
    });
    this.plot.addEventListener("pointermove", event =>
      this.plot.hasPointerCapture(event.pointerId) && shape(event));
    const ways = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
    this.plot.addEventListener("keydown", event => {
      const [along, up] = ways[event.key] ?? [], [{ y }] = this.spec.marks;
      if (along === undefined) return;
      this.pointed = clamp(Math.round(this.pointed ?? 0) + along, 0, WINDOW - 1);
      const place = [this.pointed, clamp(y[this.pointed] / 100 + up / LEVEL, 0, 1)];
      if (up) this.spec.shapes(place, place);
      this.host.wake(true);
      event.preventDefault();
    });
  }

  show(spec, at) {
    super.show(spec, at);
    const [{ y }] = spec.marks, away = Math.round(this.pointed ?? 0), share = Math.round(y[away]);
    const words = `distance ${away}: ${share}%`;
    this.showCursor(this.pointed, this.pointed === null ? "" : words);
    const ends = { "aria-valuemin": 0, "aria-valuemax": 100 };
    put(this.plot, { role: "slider", tabindex: 0, ...ends, "aria-valuenow": share });
    put(this.plot, { "aria-valuetext": words, "aria-label": spec.title });
  }
}
