// A dashboard: draws the numbers of a run as they come from the kernel, or from a worker, or as a file has
// them.
//
// The model holds the run in parts, which dashboard.py describes. `head` tells how many there are, so that a
// page that lacks one knows it. Whatever the page can do alone (go back, play, read values) asks nobody.

import { addInput, fill, fixed, html, makeRoot, put, range, sum, svg, write } from "./figure.js";
import { STRIP, decode, readPanel, viewOf } from "./panels.js";

const BLOCK = 256; // losses in a part, as in dashboard.py
const PACE = 1000 / 30; // ms between two frames of a running dashboard; a hand gets every frame
const REPLAY = 6000; // ms of a whole replay, at its usual speed
const SPEEDS = [1, 2, 4, 0.5];
const SILENCE = 4000; // ms without news of a training, after which the page says so
const MARK = 7; // width of a letter on the timeline
const COMING = "The model is measured before its first step. The picture comes here.";
const LARGE = 320; // height of a lesson's own picture
const PATIENCE = 1000; // ms without an answer to a command

// ---------------------------------------------------------------- numbers, as dashboard.py has them

// `write_loss`: two decimals, or three digits where these decimals would all be 0.
function writeLoss(loss) {
  const words = fixed(loss);
  if (!Number.isFinite(loss)) return "nan";
  if (!loss || Number(words.replace("−", "-"))) return words;
  const digits = Math.abs(loss) >= 1e-4 ? String(Number(loss.toPrecision(3))) : loss.toExponential(2);
  return digits.replaceAll("-", "−");
}

// The lowest and the highest finite number, from `low` to `high` at least.
function endsOf(numbers, low, high) {
  for (const number of numbers) {
    if (Number.isFinite(number)) [low, high] = [Math.min(low, number), Math.max(high, number)];
  }
  return [low, high];
}

// `round_out`: two round numbers around both ends.
function roundOut([low, high]) {
  const step = 10 ** Math.floor(Math.log10(high - low)) / 2;
  return [Math.floor(low / step) * step, Math.ceil(high / step) * step];
}

// `loss_span`: the ends of the axis of losses. The lab cuts its axis, so it sends no levels.
function lossSpan({ span, cut }, levels, mean) {
  if (cut) return span;
  const [, most] = endsOf([...(levels ?? []), ...mean.subarray(0, 20)], 0, 0.25);
  const usual = Math.max(levels ? 0 : span[1], Math.ceil(2.05 * most) / 2);
  const [low, high] = endsOf(mean, ...endsOf(levels ?? [], 0, 0));
  const fits = low === 0 && high <= usual && (high === 0 || high >= usual / 10);
  return fits || !levels ? [0, usual] : roundOut([low, high]);
}

// ---------------------------------------------------------------- what the page knows of a run

// Losses and their running means, of finite losses alone as in figures.py, with room for all steps of a run;
// curves are views on them, and not copies.
class Series {
  constructor(smooth, total) {
    Object.assign(this, { smooth, made: 0, all: range(3, () => new Float64Array(total)) });
    this.all[2].forEach((_, i, steps) => { steps[i] = i + 1; });
  }
  get losses() { return this.all[0].subarray(0, this.made); }
  get mean() { return this.all[1].subarray(0, this.made); }
  get steps() { return this.all[2].subarray(0, this.made); }
  add(fresh) {
    this.all[0].set(fresh, this.made);
    for (let end = this.made + 1; end <= this.made + fresh.length; end++) {
      const last = [...this.all[0].subarray(Math.max(0, end - this.smooth), end)].filter(Number.isFinite);
      this.all[1][end - 1] = last.length ? sum(last) / last.length : NaN;
    }
    this.made += fresh.length;
  }
}

class Run {
  constructor(get) {
    const facts = (this.facts = get("facts")), { baseline, smooth, total } = facts;
    Object.assign(this, {
      get,
      series: new Series(smooth, total),
      frames: range(facts.watches, () => []),
      newest: [],
      moves: [],
    });
    this.loss = readPanel(facts.loss);
    if (baseline) {
      const losses = decode(baseline.losses);
      this.before = new Series(smooth, Math.max(total, losses.length, baseline.total ?? 0));
      this.before.add(losses);
      this.gaps = new Float64Array(total);
    }
    this.compared = 0;
    this.pull();
  }
  get made() { return this.series.made; }

  // Read the parts that are new; returns whether none is missing.
  pull() {
    const { get, series, frames } = this, head = (this.head = get("head"));
    this.moves = get("moves") ?? [];
    // A baseline that was training when the facts were sent has more losses by now; the lab's always has.
    if (this.before) this.before.add(decode(get("before") ?? []).slice(this.before.made));
    while (series.made < head.made) {
      const { made } = series, block = get(`loss${Math.floor(made / BLOCK)}`);
      const fresh = block ? decode(block).subarray(made % BLOCK) : [];
      if (!fresh.length) return false;
      series.add(fresh);
    }
    const both = Math.min(series.made, this.before?.made ?? 0);
    for (let i = this.compared; i < both; i++) this.gaps[i] = series.mean[i] - this.before.mean[i];
    this.compared = both;
    return frames.every((have, i) => {
      for (let next; have.length < head.frames[i] && (next = get(`frame${i}_${have.length}`));) {
        have.push({ ...next, panel: next.panel && readPanel(next.panel) });
      }
      const newest = get(`panel${i}`);
      if (newest && newest !== this.newest[i]?.packed)
        this.newest[i] = { packed: newest, panel: readPanel(newest) };
      return have.length === head.frames[i];
    });
  }

  // The panel of a watch after some step; over steps it is the newest one, under the finding of that step.
  panelAt(i, step) {
    const frame = this.frames[i].findLast(one => one.step <= step) ?? this.frames[i][0];
    if (!frame) return null;
    return frame.panel ?? (this.newest[i] && { ...this.newest[i].panel, title: frame.title });
  }

  // All panels as they are after some step, with a mark at each move of a dial where x counts steps. The
  // marks have no names, because the timeline has them.
  panels(step) {
    const all = [this.lossPanel(step), ...this.frames.map((_, i) => this.panelAt(i, step))];
    return all.map(panel => panel && this.withMoves(panel));
  }
  withMoves(panel) {
    const moves = panel.over_steps ? this.moves : [], below = panel.below && this.withMoves(panel.below);
    const moved = moves.map(([at]) => ({ kind: "level", axis: "x", at, name: "", colour: "" }));
    return { ...panel, marks: [...panel.marks, ...moved], below };
  }

  // The losses after some step, or while validation goes on, and the gap to the baseline. `loss_panel` in
  // dashboard.py draws them for stills, and says why both are needed; test_panels.py compares them.
  lossPanel(step) {
    const { series, facts, head } = this, { marks, ...panel } = this.loss;
    const { losses, mean, steps } = series, { trained, untrained } = facts.words;
    const title = head.reading && step === this.made ? head.reading
      : step ? fill(trained, { loss: writeLoss(mean[step - 1]), step }) : untrained;
    const curves = marks.filter(mark => mark.kind === "curve");
    const now = curves.slice(-2);
    const before = this.before && curves.at(-3);
    const own = [losses, mean],
      drawn = marks.map(mark =>
        now.includes(mark)
          ? { ...mark, x: steps, y: own[now.indexOf(mark)] }
          : mark === before
            ? { ...mark, x: this.before.steps, y: this.before.mean }
            : mark,
      );
    const span = lossSpan(panel.y, facts.levels, mean), small = !panel.y.cut && span[1] - span[0] < 0.5;
    return {
      ...panel,
      title,
      marks: drawn,
      y: { ...panel.y, span, ...(!panel.y.cut && { digits: small ? null : 2 }) },
      below: panel.below && this.gapPanel(step, small),
    };
  }

  gapPanel(step, small) {
    const { gaps, compared, loss: { below } } = this;
    const { words } = this.facts.baseline;
    const { marks: [curve, zero], y } = below;
    const shown = gaps.subarray(0, compared);
    const now = step && shown.length ? shown[Math.min(step, shown.length) - 1] : NaN;
    const size = small ? writeLoss(Math.abs(now)) : fixed(Math.abs(now));
    const kind = !Number.isFinite(now) ? "unknown" : size === "0.00" ? "none" : now < 0 ? "below" : "above";
    const [low, high] = endsOf(shown, -0.05, 0.05), ends = endsOf(shown, 0, 0);
    const span = small && ends[0] < ends[1] ? roundOut(ends)
      : [Math.floor(20 * low) / 20, Math.ceil(20 * high) / 20];
    const line = { ...curve, y: shown, x: this.series.all[2].subarray(0, shown.length) };
    return { ...below, title: fill(words[kind], { gap: size }), marks: [line, zero],
      y: { ...y, span, digits: small ? null : 2 } };
  }
}

// ---------------------------------------------------------------- the dashboard

export class Board {
  // get   returns a part of the run by its name
  // tell  sends a command to whoever trains; without one, the run is a recording
  constructor(get, el, tell = null) {
    this.run = new Run(get);
    const { facts } = this.run;
    Object.assign(this, {
      tell,
      at: null,
      playing: null,
      speed: 0,
      painted: 0,
      timer: 0,
      asked: 0,
      told: {},
      newsAt: performance.now(),
    });
    this.root = makeRoot(el, "explorer dashboard", `training: ${facts.title}`);
    this.panels = html("div", { class: "explorer-panels" }, this.root);
    this.buildHead();
    this.inputs = tell ? this.buildDials(facts.controls) : {};
    this.problem = html("p", { class: "problem", role: "alert" }, this.root);
    this.voice = html("p", { class: "explorer-voice", role: "status" }, this.root);
    this.host = { wake: hurry => this.wake(hurry), scrub: step => this.goTo(step) };
    this.views = [];
    this.seen = new IntersectionObserver(() => this.wake(), { rootMargin: "200px" });
    this.seen.observe(this.panels);
    this.watchdog = tell && setInterval(() => this.listen(), 1000);
    this.paint(performance.now());
  }

  button(parent, words, act, label = "") {
    const button = html(
      "button",
      { type: "button", ...(label && { "aria-label": label, title: label }) },
      parent,
      words,
    );
    return Object.assign(button, { onclick: act });
  }

  // One bar below the pictures: what is done, the timeline, what goes on, and dials.
  buildHead() {
    this.bar = html("div", { class: "bar" }, this.root);
    const line = html("div", { class: "row time" }, this.bar);
    if (this.tell) this.hold = this.button(line, "", () => this.pauseOrGoOn());
    this.buildTime(line);
    // What goes on is of no use to a reader who looks at an earlier step: a way back stands in its place.
    const now = html("div", { class: "now" });
    this.live.replaceWith(now);
    this.status = html("p", { class: "status" }, now);
    now.append(this.live);
    if (this.tell) {
      this.stop = this.button(line, "Stop", () => this.command("stop"));
      this.offer = this.button(line, "", () => this.command("stop_earlier"));
    }
    if (document.fullscreenEnabled) {
      const label = "projector view: full screen, large letters";
      const button = this.button(line, "", () => this.project(), label);
      const icon = svg("svg", { class: "icon", viewBox: "0 0 20 20", "aria-hidden": true }, button);
      svg("path", { d: "M3 8V3h5M12 3h5v5M17 12v5h-5M8 17H3v-5" }, icon);
      const words = html("span", {}, button);
      this.root.addEventListener("fullscreenchange", () => {
        icon.toggleAttribute("hidden", Boolean(document.fullscreenElement));
        write(words, document.fullscreenElement ? "leave (Esc)" : "");
      });
    }
  }
  pauseOrGoOn() { this.command(this.run.head.state === "paused" ? "resume" : "pause"); }

  buildTime(line) {
    const { facts } = this.run;
    this.play = this.button(line, "▶", () => this.press(), "play the run");
    const track = html("div", { class: "track" }, line);
    this.slider = html(
      "input",
      { type: "range", min: 0, max: facts.total, step: 1, "aria-label": "show the run after step" },
      track,
    );
    this.moves = html("div", { class: "moves" }, track);
    this.slider.oninput = () => this.goTo(Number(this.slider.value));
    this.place = html("output", { class: "step" }, line);
    const faster = () => write(this.pace, `×${SPEEDS[(this.speed = (this.speed + 1) % SPEEDS.length)]}`);
    this.pace = this.button(line, "×1", faster, "speed");
    this.live = this.button(line, "", () => this.follow(), "follow the newest step");
  }

  buildDials(controls) {
    const box = html("div", { class: "explorer-controls" }, this.bar);
    return Object.fromEntries(controls.map(control => {
      const show = addInput(control, box, value => {
        show(value);
        this.command("steer", { name: control.name, value });
      });
      show(control.value);
      return [control.name, show];
    }));
  }

  project() {
    if (document.fullscreenElement) document.exitFullscreen();
    else this.root.requestFullscreen();
  }

  // ------------------------------------------------------------ the kernel

  command(what, more = {}) {
    try {
      this.tell({ do: what, number: ++this.asked, ...more });
    } catch {
      this.gone = true; // The kernel has ended or was started again, so no command arrives.
      return this.wake(true);
    }
    clearTimeout(this.waiting);
    this.waiting = setTimeout(
      () => this.root.classList.toggle("waits", this.run.head.heard < this.asked),
      PATIENCE,
    );
  }

  // Read what has come, and draw it in the next frame.
  pull() {
    const { run } = this, now = performance.now();
    this.lacks = !run.pull();
    if (this.lacks) this.askAgain(now);
    [this.newsAt, this.gone] = [now, false];
    if (run.head.heard >= this.asked) this.root.classList.remove("waits");
    this.wake();
  }

  askAgain(now) {
    if (now < this.missed + 1000) return; // An answer is on its way.
    this.missed = now;
    this.command("resend");
  }

  // Say so if there has been no news of a training for a while.
  listen() {
    const { state } = this.run.head, silent = performance.now() - this.newsAt;
    const late = ["running", "getting ready"].includes(state) && silent > SILENCE && !document.hidden;
    if (late || this.lateness) this.wake(true);
    // The last message may be lost.
    if (this.lacks || (late && !this.lateness)) this.askAgain(performance.now());
    this.lateness = late ? Math.round(silent / 1000) : 0;
  }

  // ------------------------------------------------------------ time

  // Show the run after a step, or follow the newest one from now on.
  goTo(step) {
    [this.playing, this.at] = [null, step < this.run.made ? Math.max(0, step) : null];
    this.wake(true);
  }

  follow() {
    [this.playing, this.at] = [null, null];
    this.wake(true);
  }

  press() { this.replay(); } // the button at the timeline
  replay() {
    if (this.playing !== null) this.playing = null;
    else this.playing = this.at === null || this.at >= this.run.made ? 0 : this.at;
    this.wake(true);
  }

  advance(now) {
    const { run } = this;
    this.playing += (run.facts.total * Math.min(100, now - this.painted) * SPEEDS[this.speed]) / REPLAY;
    this.at = Math.floor(this.playing);
    if (this.at < run.made) return;
    [this.playing, this.at] = [null, null];
  }

  // ------------------------------------------------------------ drawing

  // Paint in the next frame; `hurry` if a hand waits for it.
  wake(hurry = false) {
    this.hurry ||= hurry;
    this.timer ||= requestAnimationFrame(now => this.paint(now));
  }

  paint(now) {
    this.timer = 0;
    if (!this.panels.clientWidth) return; // An observer wakes it when it comes into sight.
    if (!this.hurry && now - this.painted < PACE - 2) return this.wake();
    if (this.playing !== null) this.advance(now);
    Object.assign(this, { painted: now, hurry: false });
    const { run } = this;
    const newest = run.made;
    const step = this.at ?? newest;
    const cursor = this.at !== null && this.at < newest ? this.at : null;
    const specs = run.panels(step);
    specs.forEach((spec, i) => {
      if (spec) (this.views[i] ??= this.makeView(spec, i)).draw(spec, cursor);
    });
    const lacks = specs.some((spec, i) => !spec && !this.views[i]);
    if (lacks) this.coming ??= html("p", { class: "coming" }, this.panels, COMING);
    else this.coming?.remove();
    this.drawHead(step);
    this.keepRoom();
    this.onpaint?.(step, newest);
    if (this.playing !== null) this.wake();
  }

  // What a lesson watches is large, and the losses are a strip below, unless there is nothing else to see.
  makeView(spec, i) {
    if (!this.run.facts.watches) return viewOf(spec, this.panels, this.host);
    if (i) return viewOf(spec, this.panels, this.host, spec.below ? {} : { height: LARGE });
    this.bar.before((this.strip = html("div", { class: "strip" })));
    return viewOf(spec, this.strip, this.host, STRIP);
  }

  drawHead(step) {
    const { head, facts } = this.run;
    const lost = this.gone
      ? "the kernel is gone: this is what it had sent · "
      : this.lateness
        ? `no news for ${this.lateness} s · `
        : "";
    write(this.status, lost + head.words);
    put(this.status, { title: head.device ?? "" });
    write(this.problem, head.problem);
    if (head.state !== this.spoken) write(this.voice, `${facts.title}: ${(this.spoken = head.state)}`);
    if (this.tell) {
      write(this.hold, head.state === "paused" ? "Go on" : "Pause");
      this.hold.disabled = this.gone || !["running", "paused"].includes(head.state);
      this.stop.disabled = this.gone;
      for (const button of [this.hold, this.stop]) button.hidden = head.over;
      write(this.offer, head.offer);
      this.offer.hidden = !head.offer;
      for (const input of this.root.querySelectorAll(".explorer-controls input"))
        input.disabled = this.gone || head.over;
    }
    this.root.classList.toggle("behind", this.behind);
    this.drawTime(step);
  }

  // Whether an earlier step than the newest is shown.
  get behind() { return this.at !== null && this.at < this.run.made; }
  playWords() { return this.playing === null ? "▶" : "❚❚"; }

  drawTime(step) {
    const { head, facts, made } = this.run;
    for (const [name, value] of Object.entries(head.values)) { // A cell may have moved it.
      if (value !== this.told[name]) this.inputs[name]?.((this.told[name] = value));
    }
    this.slider.value = step;
    put(this.slider, { "aria-valuetext": `step ${step} of ${facts.total}` });
    put(this.slider, {
      style: `--made: ${(100 * made) / facts.total}%; --at: ${(100 * step) / facts.total}%`,
    });
    this.drawMoves(facts.total);
    write(this.play, this.playWords());
    write(this.place, `${step} / ${facts.total}`);
    write(this.live, head.over ? "Go to the end" : "Go to now");
    this.live.hidden = !this.behind;
    this.panels.classList.toggle("idle", head.state === "waiting");
  }

  // A tick on the timeline for each mark [step, words]: moves of dials. Words that would lie on others stand
  // in two rows; those that have no room there are left out, and stay in the title of the slider.
  drawMoves(total, marks = this.run.moves) {
    const key = JSON.stringify([marks, this.views[0]?.wide]);
    if (key === this.marked) return; // A measurement lays out the page, which is slow.
    this.marked = key;
    const ends = [-1, -1], wide = this.moves.clientWidth;
    while (this.moves.children.length > marks.length) this.moves.lastChild.remove();
    marks.forEach(([at, name], i) => {
      const tick = this.moves.children[i] ?? html("span", {}, this.moves), share = at / total;
      const long = MARK * name.length + 8, left = share * (wide - long);
      const row = ends.findIndex(end => left > end);
      if (row >= 0) ends[row] = left + long;
      put(tick, { style: `--share: ${100 * share}%; --row: ${Math.max(0, row)}` });
      const words = tick.firstChild ?? html("i", {}, tick);
      words.hidden = row < 0;
      write(words, name);
    });
    put(this.slider, { title: marks.map(([at, name]) => `step ${at}: ${name}`).join("\n") });
  }

  // Room that a long title has once taken is kept, so that nothing below moves up and down.
  keepRoom() {
    const titles = [...this.panels.querySelectorAll(":scope > .explorer-panel > .explorer-title")];
    const width = this.views[0].wide, longest = Math.max(...titles.map(title => title.textContent.length));
    if (width !== this.roomFor) Object.assign(this, { room: 0, longest: 0, roomFor: width });
    if (longest <= this.longest) return; // A measurement lays out the page, which is slow.
    this.longest = longest;
    const need = Math.max(...titles.map(title => title.scrollHeight));
    if (need > this.room) this.panels.style.setProperty("--room", `${(this.room = need)}px`);
  }

  remove() {
    cancelAnimationFrame(this.timer);
    clearInterval(this.watchdog);
    this.seen.disconnect();
    for (const view of this.views) view?.remove();
    this.root.remove();
  }
}

export default {
  render({ model, el }) {
    const tell = model.send ? message => model.send(message) : null;
    const board = (el.board = new Board(name => model.get(name), el, tell)), pull = () => board.pull();
    model.on("change:head", pull);
    return () => {
      model.off("change:head", pull);
      board.remove();
    };
  },
};
