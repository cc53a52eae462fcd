// The first screen: two models read one question letter by letter, from a recording of ours or while they
// train in this page. tools/book/start.py writes the page's words and the recording, and puts this text into
// a script.

import {
  FAINT, clamp, drawArc, fill, frequencies, percent, put, range, svg, write,
} from "../../babygpt_live/page/figure.js";
import { addGlyph } from "../../babygpt_live/page/glyphs.js";
import { CLOCK, drawClock, loadEngine, shown, startWorker } from "../lab/reading.js";

// Times are milliseconds. All that moves by itself takes less than seven seconds.
const READING = 3400; // of a question
const REREADING = 1100; // after an exchange
const REST = 700; // before the answer, and after its first letter
const LETTER = 240; // of the answer
const EXCHANGE = 700;
const SLOTS = 36; // letters of a question and its answer
const THETA = 10000;
// A model that is trained here.
const HEADS = 4; // of each layer
const HEAD_DIM = 16; // channels of a head
const ROWS = 4; // letters in a list of the next ones
const STEPS = 600;
const CALM = matchMedia("(prefers-reduced-motion: reduce)");
const ease = t => 1 - (1 - t) ** 3;

// Weights of a head as the recording has them: the lower triangle row by row, a byte for each, in base64.
function triangle(text) {
  const shares = Uint8Array.from(atob(text), sign => sign.charCodeAt(0));
  return (row, column) => shares[(row * (row + 1)) / 2 + column] / 255;
}

// ---------------------------------------------------------------- a model's lane

// Letters with their clocks, arcs to where a head looks, and the likeliest next letters.
// A reading has `text` (question and answer), `asked` (letters of the question), `weights(row, column)`,
// which count a line's end before the text, `next` (for each letter the likeliest next ones, as [letter,
// share]), `head`, and `channels` of a head, which set how quickly its clocks turn.
class Lane {
  constructor(el) {
    this.el = el;
    this.clocked = el.dataset.encoding === "rope";
    addGlyph(el.dataset.encoding, el.querySelector(".first-glyph"));
    this.svg = el.querySelector(".first-letters");
    this.list = [...el.querySelectorAll("li")].map(row => row.children);
    [this.spotted, this.arched, this.clocks, this.letters] = range(4, () => svg("g", {}, this.svg));
    this.spot = svg("rect", { class: "spot", rx: 5 }, this.spotted);
    this.nodes = range(SLOTS, () => {
      const clock = svg("g", {}, this.clocks);
      const parts = this.clocked ? [svg("circle", {}, clock), svg("line", {}, clock)] : [];
      const arc = svg("path", { class: "arc" }, this.arched);
      return { clock, parts, letter: svg("text", {}, this.letters), arc };
    });
    this.offsets = [];
    this.at = this.turned = -1;
    new ResizeObserver(() => this.resize()).observe(this.svg);
  }

  show(reading, shown = reading.asked) {
    this.reading = reading;
    this.shown = shown;
    write(this.el.querySelector(".first-head"), reading.head);
    this.resize();
  }

  resize() {
    const { width, height } = this.svg.getBoundingClientRect();
    if (!this.reading || !width) return;
    this.step = width / SLOTS;
    this.size = Math.min(32, this.step * 1.45);
    this.radius = Math.min(10, this.step * 0.42);
    this.line = height - 2 * this.radius - 8 - 0.3 * this.size; // the letters' base line
    put(this.svg, { viewBox: `0 0 ${width} ${height}` });
    this.draw();
  }

  x(i) { return (i + 0.5) * this.step; }

  // Draw letters and clocks up to `at`, which may lie between two letters, and the arcs of the letter there.
  draw() {
    if (!this.step) return;
    const { nodes, reading: { text, asked, channels }, size, radius, line } = this, now = Math.floor(this.at);
    const turn = frequencies(channels, THETA)[CLOCK]; // radians a letter
    nodes.forEach(({ clock, parts, letter }, i) => {
      const visibility = i < this.shown ? "visible" : "hidden", [dx, dy] = this.offsets[i] ?? [0, 0];
      const kind = i >= asked ? "written" : i > this.turned ? "to-come" : "";
      put(letter, { x: this.x(i) + dx, y: line + dy, "font-size": size, class: kind, visibility });
      write(letter, text[i] ?? "");
      put(clock, { visibility: i <= this.turned ? visibility : "hidden" }); // of a letter that has been read
      const angle = i * turn * ease(clamp(this.turned - i + 1, 0, 1));
      if (parts.length) drawClock(parts, this.x(i), line + 0.3 * size + radius + 4, radius, angle);
    });
    this.drawArcs(now);
  }

  drawArcs(now) {
    const { nodes, reading: { weights }, size, line } = this, lit = now >= 0 && now < this.shown;
    const top = line - 0.86 * size;
    put(this.spot, { visibility: lit ? "visible" : "hidden", x: this.x(now) - 0.55 * this.step, y: top,
      width: 1.1 * this.step, height: 1.16 * size });
    nodes.forEach(({ arc }, i) => {
      const share = lit && i < now ? weights(now + 1, i + 1) : 0, [from, to] = [this.x(now), this.x(i)];
      drawArc(arc, share, from, to, top, Math.min(top - 6, 14 + 0.3 * Math.abs(from - to)));
    });
  }

  // List likely next letters; `before` has their shares before the names changed places.
  listNext(next, before = []) {
    const shares = Object.fromEntries(before);
    this.list.forEach(([letter, bar, share], i) => {
      const [sign, p] = next[i] ?? ["", 0];
      write(letter, shown(sign));
      write(share, p < 0.01 ? "" : percent(p));
      const style = `--share: ${p}; --before: ${shares[sign] ?? 0}`;
      put(bar, { style, class: sign in shares ? "compared" : "" });
    });
  }

  mark(words, kind = "") {
    const place = this.el.querySelector(".first-mark");
    put(place, { class: `first-mark ${kind}` });
    write(place, words);
  }
}

// ---------------------------------------------------------------- the recording

class Stage {
  constructor(el) {
    const { readings, words, questions } = JSON.parse(el.querySelector("script").textContent);
    Object.assign(this, { el, words, order: 0, exchanged: false, live: null });
    this.part = name => el.querySelector(`.first-${name}`);
    this.lanes = [...el.querySelectorAll(".first-lane")].map(lane => new Lane(lane));
    const unpacked = model => ({ ...model, weights: triangle(model.weights) });
    this.recorded = readings.map(models => models.map(unpacked));
    this.questions = questions;
    this.readings = this.recorded;
    this.listen();
    if (CALM.matches) this.settle();
    else this.read(READING);
  }

  get asked() { return this.questions[this.order].text.length; }

  listen() {
    this.part("swap").onclick = () => this.exchange();
    this.part("hold").onclick = () => this.hold();
    document.querySelector(".first-train").onclick = () => this.train();
    for (const { svg: letters, el } of this.lanes) {
      const point = ({ clientX }) => {
        const { left, width } = letters.getBoundingClientRect();
        this.look(Math.floor((SLOTS * (clientX - left)) / width));
      };
      letters.addEventListener("pointermove", point);
      letters.addEventListener("pointerdown", point);
      letters.addEventListener("pointerleave", () => this.look(this.asked - 1));
      letters.addEventListener("blur", () => this.look(this.asked - 1));
      letters.addEventListener("keydown", event => {
        const last = this.asked - 1, at = Math.floor(this.lanes[0].at);
        const [back, on] = [at - 1, at + 1];
        const to = { ArrowLeft: back, ArrowDown: back, ArrowRight: on, ArrowUp: on, Home: 0, End: last };
        if (!(event.key in to)) return;
        event.preventDefault();
        this.look(clamp(to[event.key], 0, last));
      });
      put(letters, { "aria-label": `${el.querySelector("b").textContent}: ${this.words.letters}` });
    }
  }

  // Call draw(0 ... 1) for some milliseconds, and return whether the reader has begun nothing else meanwhile.
  tween(milliseconds, run, draw = () => {}) {
    return new Promise(resolve => {
      let past = 0, last = null;
      const frame = now => {
        if (run !== this.run) return resolve(false);
        if (!run.paused && last !== null) past += Math.min(50, now - last); // a hidden page stands still
        last = now;
        draw(Math.min(1, past / milliseconds));
        if (past < milliseconds) requestAnimationFrame(frame);
        else resolve(true);
      };
      requestAnimationFrame(frame);
    });
  }

  begin() {
    write(this.part("hold"), this.words.pause);
    return (this.run = { paused: false });
  }

  // Read the question, rest, and write the answers.
  async read(milliseconds) {
    const run = this.begin(), readings = this.readings[this.order], { asked } = this;
    this.lanes.forEach((lane, side) => {
      Object.assign(lane, { at: -1, turned: -1, offsets: [] });
      lane.mark("");
      lane.show(readings[side]);
    });
    write(this.part("says"), this.words[this.exchanged ? "exchanged" : "reading"]);
    const to = share => this.lanes.forEach((lane, side) => {
      lane.at = lane.turned = share * asked - 0.001;
      lane.draw();
      lane.listNext(readings[side].next[Math.floor(lane.at) + 1]); // what comes after the letter of the arcs
    });
    if (!(await this.tween(milliseconds, run, to))) return;
    this.compare();
    if (!(await this.tween(REST, run))) return;
    const longest = Math.max(...readings.map(({ text }) => text.length)) - asked;
    for (let n = 1; n <= longest; n++) {
      for (const lane of this.lanes) {
        lane.shown = asked + n;
        lane.turned = asked + n - 1;
        lane.draw();
      }
      if (n === 1) this.judge();
      if (!(await this.tween(n === 1 ? REST : LETTER, run))) return;
    }
    this.settle();
  }

  // Show the end.
  settle() {
    this.run = null;
    this.lanes.forEach((lane, side) => {
      const reading = this.readings[this.order][side];
      Object.assign(lane, { at: this.asked - 1, turned: SLOTS, offsets: [] });
      lane.show(reading, reading.text.length);
    });
    this.compare();
    this.judge();
    write(this.part("says"), this.words[this.exchanged ? `end_${this.order}` : "end"]);
    write(this.part("hold"), CALM.matches ? this.words.play : this.words.again);
  }

  // List the next letters after the question in one order for both orders of the names, beside their shares
  // before: those of the two names, and the likeliest others.
  compare() {
    const { text, names } = this.questions[0], initials = names.map(([place]) => text[place]);
    this.lanes.forEach((lane, side) => {
      const [now, before] = [this.order, 1 - this.order].map(order => this.readings[order][side].next.at(-1));
      const first = this.readings[0][side].next.at(-1).map(([letter]) => letter);
      const letters = [...new Set([...initials, ...first])].slice(0, ROWS).sort();
      const shares = Object.fromEntries(now);
      lane.listNext(letters.map(letter => [letter, shares[letter] ?? 0]), this.exchanged ? before : []);
    });
  }

  // Mark the answers; one that is the same in both orders of the names is right in one of them by luck.
  judge() {
    const { right } = this.questions[this.order];
    this.lanes.forEach((lane, side) => {
      const answers = this.readings.map(models => models[side].text[this.asked]);
      const letter = answers[this.order], turned = answers[1 - this.order];
      const kind = letter !== right[0] ? "bad" : letter === turned ? "lucky" : "good";
      lane.mark(fill(this.words[kind], { letter }), kind);
    });
  }

  hold() {
    if (this.live) return this.live.hold();
    if (!this.run) return void this.read(READING);
    this.run.paused = !this.run.paused;
    write(this.part("hold"), this.words[this.run.paused ? "go" : "pause"]);
  }

  // Let the names change places, and read again.
  async exchange() {
    const run = this.begin(), { names } = this.questions[this.order], [[first, length], [second]] = names;
    for (const lane of this.lanes) {
      lane.mark("");
      Object.assign(lane, { at: -1, shown: this.asked });
    }
    write(this.part("says"), this.words.exchanged);
    const move = t => this.lanes.forEach(lane => {
      const along = ease(t) * (second - first) * lane.step, up = Math.sin(Math.PI * t) * lane.size;
      range(length, i => {
        lane.offsets[first + i] = [along, -1.4 * up];
        lane.offsets[second + i] = [-along, 0.5 * up];
      });
      lane.draw();
    });
    if (!CALM.matches && !(await this.tween(EXCHANGE, run, move))) return;
    this.order = 1 - this.order;
    this.exchanged = true;
    if (this.live) this.live.ask();
    else if (CALM.matches) this.settle();
    else this.read(REREADING);
  }

  // Show where a letter looks, and what each model expects after it.
  look(i) {
    if (this.run || this.live || i < 0 || i >= this.asked) return;
    const { text } = this.questions[this.order];
    this.lanes.forEach((lane, side) => {
      lane.at = i;
      lane.draw();
      const { weights, next } = this.readings[this.order][side];
      const shares = range(i, j => [weights(i + 1, j + 1), j]).filter(([share]) => share >= FAINT);
      const looks = shares.sort((a, b) => b[0] - a[0]);
      const places = looks.slice(0, 3).map(([share, j]) => `${shown(text[j])} (${j + 1}) ${percent(share)}`);
      const facts = { n: i + 1, letter: text[i], places: places.join(", ") || this.words.nothing };
      const words = fill(this.words.look, facts);
      put(lane.svg, { "aria-valuenow": i + 1, "aria-valuemax": this.asked, "aria-valuetext": words });
      if (i < this.asked - 1) lane.listNext(next[i + 1]);
    });
    if (i === this.asked - 1) this.compare();
  }

  async train() {
    this.run = null;
    this.live?.stop();
    this.live = new Training(this, (this.live?.seed ?? 0) + 1);
    await this.live.start();
  }
}

// ---------------------------------------------------------------- training here

// Both models train in workers, and the stage shows what they expect after the question so far.
class Training {
  constructor(stage, seed) {
    Object.assign(this, { stage, seed, paused: false, workers: [], runs: [] });
  }

  async start() {
    const { stage, seed } = this, { words } = stage, again = document.querySelector(".first-train");
    again.disabled = true;
    write(stage.part("says"), words.loading);
    try {
      const loaded = await loadEngine(stage.el.dataset.engine);
      this.text = loaded.texts["plain-tales"];
      const { characters, train, valid, questions } = this.text, all = [...characters];
      this.encode = text => Uint8Array.from(text, letter => all.indexOf(letter));
      this.decode = tokens => Array.from(tokens, token => all[token]).join("");
      const task = { text: this.encode(train), valid: this.encode(valid), newline: all.indexOf("\n"),
        questions: questions.map(parts => parts.map(this.encode)), vocabSize: all.length, seed, steps: STEPS,
        every: 20, often: 5, shape: { layers: 2, heads: HEADS, batch: 8, rate: 1 }, asked: this.question() };
      this.workers = stage.lanes.map(({ el }, side) => {
        const own = { ...task, encoding: { name: el.dataset.encoding } };
        const hear = news => this.hear(side, news);
        return startWorker(loaded, own, hear, error => this.fail(error.message ?? error));
      });
      this.runs = this.workers.map(() => ({ step: 0, shares: [] }));
      write(stage.part("hold"), words.pause);
      stage.exchanged = false;
    } catch (error) {
      this.fail(error?.message ?? words.engine);
    }
    again.disabled = false;
    write(again, words.another);
  }

  fail(error) {
    this.stop();
    this.stage.live = null;
    this.stage.readings = this.stage.recorded;
    this.stage.settle();
    write(this.stage.part("says"), fill(this.stage.words.failed, { error }));
  }

  stop() { for (const worker of this.workers) worker.terminate(); }

  question() {
    const { questions, order } = this.stage;
    return { text: this.encode(`\n${questions[order].text}`), off: [], drawn: 0 };
  }

  ask() {
    for (const lane of this.stage.lanes) lane.offsets = [];
    for (const worker of this.workers) worker.postMessage({ asked: this.question() });
  }

  hold() {
    if (this.runs.every(({ step }) => step >= STEPS)) return this.stage.train();
    this.paused = !this.paused;
    for (const worker of this.workers) worker.postMessage({ paused: this.paused });
    write(this.stage.part("hold"), this.stage.words[this.paused ? "go" : "pause"]);
  }

  hear(side, { step, share, looked }) {
    if (this !== this.stage.live) return;
    const run = this.runs[side], { words, lanes } = this.stage;
    run.step = step;
    if (share !== undefined) run.shares.push([step, share]);
    if (looked) this.draw(side, looked);
    const [, right] = run.shares.at(-1) ?? [];
    if (right !== undefined) lanes[side].mark(fill(words.share, { share: percent(right) }));
    const steps = Math.min(...this.runs.map(one => one.step));
    const newest = Math.max(...this.runs.map(one => one.step));
    const kind = words[steps < STEPS ? "live" : "trained"];
    write(this.stage.part("kind"), fill(kind, { step: newest, steps: STEPS }));
    this.say(steps);
  }

  // Show the head that looks most at the first letter of the right name.
  draw(side, { weights, next, text, written }) {
    const { order, questions, words, lanes } = this.stage, { names, text: asked, right } = questions[order];
    if (this.decode(text).slice(1) !== asked) return; // the names have changed places meanwhile
    const run = this.runs[side], n = text.length;
    const [place] = names.find(([at]) => asked.startsWith(right, at));
    if (written) run.written = this.decode(written).slice(n).trimEnd();
    const share = head => weights[(head * n + n - 1) * n + place + 1];
    const shares = range(weights.length / n / n, share), head = shares.indexOf(Math.max(...shares));
    const number = { layer: Math.floor(head / HEADS) + 1, head: (head % HEADS) + 1 };
    const facts = { ...number, share: percent(shares[head]), letter: right[0] };
    const letters = `${asked}${run.written ?? ""}`.slice(0, SLOTS), lane = lanes[side];
    Object.assign(lane, { at: asked.length - 1, turned: SLOTS });
    lane.show({ channels: HEAD_DIM, text: letters, asked: asked.length, head: fill(words.head, facts),
      weights: (row, column) => weights[(head * n + row) * n + column] }, letters.length);
    const initials = names.map(([at]) => asked[at]), letter = i => this.text.characters[i];
    const others = range(next.length).filter(i => !initials.includes(letter(i)));
    others.sort((a, b) => next[b] - next[a]);
    const listed = [...initials, ...others.slice(0, ROWS - 2).map(letter)].sort();
    lane.listNext(listed.map(one => [one, next[[...this.text.characters].indexOf(one)]]));
  }

  // A sentence every twentieth step; one says at which step a model has found out.
  say(steps) {
    const { words } = this.stage;
    const [clicked] = this.runs[0].shares.find(([, share]) => share >= 0.8) ?? [];
    const facts = { step: clicked, other: percent(this.runs[1].shares.at(-1)?.[1] ?? 0.5) };
    const over = steps >= STEPS, [known, unknown] = over ? ["found", "unfound"] : ["clicked", "training"];
    write(this.stage.part("says"), fill(words[clicked ? known : unknown], facts));
    if (steps >= STEPS) write(this.stage.part("hold"), words.another);
  }
}

for (const place of document.querySelectorAll("[data-glyph]")) addGlyph(place.dataset.glyph, place);
for (const el of document.querySelectorAll(".first-screen")) el.stage ??= new Stage(el);
