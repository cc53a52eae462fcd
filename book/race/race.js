// Two small GPTs that train side by side in the page, one worker each. The worker's text, the compiled engine,
// the stories and a recorded run lie in engine.js, which is loaded when the reader presses the button.

const NAMES = { none: "No positions", sinusoid: "Sinusoid (v3)", rope: "RoPE (v4)", alibi: "ALiBi" };
const STEPS = 600, EVERY = 30, SMOOTH = 0.9, REPLAY_MS = 150, SETTLE_MS = 600;
const FOUND = 0.8, CHANCE = 0.65; // shares of right answers that we call "found out" and "guesses"
const [WIDTH, HEIGHT, LEFT, BOTTOM, TOP] = [360, 210, 40, 176, 12];

const percent = share => `${Math.round(100 * share)}%`;

function element(name, attributes = {}, ...children) {
  const it = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
  it.append(...children);
  return it;
}

function shape(name, attributes, text = "") {
  const it = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) it.setAttribute(key, value);
  it.textContent = text;
  return it;
}

// A picture of two curves over the steps, with level lines. `draw(side, points)` takes [[step, y], ...].
class Chart {
  constructor(title, unit, [low, high], ticks, levels) {
    this.x = step => LEFT + (step / STEPS) * (WIDTH - LEFT - 8);
    this.y = value => TOP + ((high - value) / (high - low)) * (BOTTOM - TOP);
    this.high = high;
    this.svg = shape("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": title });
    for (const tick of ticks) {
      const y = this.y(tick), words = unit === "%" ? percent(tick) : tick.toFixed(1);
      this.svg.append(shape("line", { class: "grid", x1: LEFT, x2: WIDTH - 8, y1: y, y2: y }));
      this.svg.append(shape("text", { x: LEFT - 5, y: y + 4, "text-anchor": "end" }, words));
    }
    for (const step of [0, 200, 400, 600])
      this.svg.append(shape("text", { x: this.x(step), y: BOTTOM + 16, "text-anchor": "middle" }, step));
    this.svg.append(shape("text", { x: this.x(STEPS / 2), y: HEIGHT - 3, "text-anchor": "middle" }, "training steps"));
    for (const [value, words, offset] of levels) {
      const y = this.y(value);
      this.svg.append(shape("line", { class: "level", x1: LEFT, x2: WIDTH - 8, y1: y, y2: y }));
      this.svg.append(shape("text", { x: WIDTH - 10, y: y + offset, "text-anchor": "end" }, words));
    }
    this.curves = ["left", "right"].map(side => shape("polyline", { class: `curve ${side}`, points: "" }));
    this.svg.append(...this.curves);
    this.figure = element("figure", {}, element("figcaption", {}, title), this.svg);
  }

  draw(side, points) {
    const inside = points.filter(([, y]) => y <= this.high);
    this.curves[side].setAttribute("points", inside.map(([step, y]) => `${this.x(step)},${this.y(y)}`).join(" "));
  }
}

class Race {
  // el  holds data-left, data-right, data-folder (where engine.js lies), data-floor and data-bigram in nats
  constructor(el) {
    this.el = el;
    const [seed, ...chosen] = (new URLSearchParams(location.search).get("race") ?? "").split(".");
    const asked = chosen.length === 2 && chosen.every(one => one in NAMES) && /^\d{1,6}$/.test(seed);
    this.seed = asked ? Number(seed) : 1;
    this.choices = asked ? chosen : [el.dataset.left, el.dataset.right];
    this.workers = [];
    const floor = Number(el.dataset.floor), bigram = Number(el.dataset.bigram);
    this.loss = new Chart("Loss (lower is better), nats per character", "", [0.2, 2.2], [0.5, 1, 1.5, 2], [
      [bigram, "best without looking back (bigram floor)", -4], [floor, "best of any model (floor)", 12],
    ]);
    this.share = new Chart("Right answers to “who did it?”", "%", [0.3, 1], [0.4, 0.6, 0.8, 1], [[0.5, "chance", 13]]);
    this.build();
  }

  build() {
    const button = (words, act) => {
      const it = element("button", { type: "button" }, words);
      it.addEventListener("click", act);
      return it;
    };
    this.start = button("Train both models", () => this.restart());
    this.pause = button("Pause", () => this.setPaused(!this.paused));
    this.again = button("Another seed", () => ((this.seed += 1), this.restart()));
    this.pause.disabled = this.again.disabled = true;
    this.said = element("p", { class: "race-said", "aria-live": "polite" });
    this.step = element("output", {});
    this.cards = [0, 1].map(side => this.card(side));
    const controls = element("div", { class: "race-controls" }, this.start, this.pause, this.again, this.step);
    const pictures = element("div", { class: "race-row race-pictures" }, this.share.figure, this.loss.figure);
    const cards = element("div", { class: "race-row race-cards" }, ...this.cards);
    this.legend = [0, 1].map(side => element("span", { class: ["left", "right"][side] }));
    this.el.replaceChildren(controls, cards, element("p", { class: "race-legend" }, ...this.legend), pictures, this.said);
    this.nameCurves();
  }

  nameCurves() {
    this.legend.forEach((it, side) => (it.textContent = NAMES[this.choices[side]]));
  }

  card(side) {
    const select = element("select", { "aria-label": `Encoding of the ${["first", "second"][side]} model` });
    for (const [value, words] of Object.entries(NAMES)) select.append(element("option", { value }, words));
    select.value = this.choices[side];
    select.addEventListener("change", () => {
      this.choices[side] = select.value;
      this.nameCurves();
      this.saveAddress();
      clearTimeout(this.settling); // arrow keys pass through several encodings
      if (this.runs) this.settling = setTimeout(() => this.restart(), SETTLE_MS);
    });
    const lines = element("div", { class: "race-lines" }, "Here you will see what the model writes.");
    return element("div", { class: `race-card ${["left", "right"][side]}` }, select, lines);
  }

  // ------------------------------------------------------------ training

  async restart() {
    this.stop();
    const round = (this.round = {}); // what an earlier round still sends is dropped
    this.runs = this.choices.map(encoding => ({ encoding, step: 0, losses: [], shares: [], mean: null }));
    [this.said.textContent, this.began, this.recorded] = ["", performance.now(), false];
    this.start.textContent = "Train again";
    this.saveAddress();
    try {
      await this.load();
    } catch {
      this.said.textContent = "engine.js could not be loaded. Reload the page to try again.";
    }
    if (!window.babygptRace || this.round !== round) return;
    this.pause.disabled = this.again.disabled = false;
    this.setPaused(false);
    this.choices.forEach((encoding, side) => this.launch(side, encoding, round));
  }

  load() {
    this.loading ??= new Promise((resolve, reject) => {
      const script = element("script", { src: `${this.el.dataset.folder}engine.js` });
      script.addEventListener("load", resolve);
      script.addEventListener("error", () => reject((this.loading = null)));
      document.head.append(script);
    });
    return this.loading;
  }

  launch(side, encoding, round) {
    const { worker, wasm, characters, text, questions, examples } = window.babygptRace;
    const encode = some => Uint8Array.from(some, character => characters.indexOf(character));
    const failed = () => this.round === round && this.replay(side, encoding, round);
    try {
      this.url ??= URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
      const it = (this.workers[side] = new Worker(this.url));
      it.addEventListener("error", failed, { once: true });
      it.addEventListener("message", ({ data }) => {
        if (this.round === round) data.error ? failed() : this.receive(side, data);
      });
      it.postMessage({
        wasm: Uint8Array.from(atob(wasm), byte => byte.charCodeAt(0)), text: encode(text), encoding,
        questions: questions.map(question => question.map(encode)), examples: examples.map(example => example.map(encode)),
        newline: characters.indexOf("\n"), vocabSize: characters.length, seed: this.seed, steps: STEPS, every: EVERY,
      });
    } catch {
      failed();
    }
  }

  // Where a browser allows no workers or no WebAssembly, show a run that was recorded.
  replay(side, encoding, round) {
    const run = window.babygptRace.recorded[encoding];
    this.recorded = true;
    const next = i => {
      if (this.round !== round) return;
      if (!this.paused) this.receive(side, run[i++]);
      if (i < run.length) setTimeout(next, REPLAY_MS, i);
    };
    next(0);
  }

  receive(side, { step, losses, lines, likelier, share }) {
    const run = this.runs[side];
    for (const [i, loss] of losses.entries()) {
      run.mean = run.mean === null ? loss : SMOOTH * run.mean + (1 - SMOOTH) * loss;
      run.losses.push([step - losses.length + i + 1, run.mean]);
    }
    run.step = step;
    this.loss.draw(side, run.losses);
    if (lines) {
      run.shares.push([step, share]);
      this.share.draw(side, run.shares);
      this.write(side, lines, likelier);
    }
    this.step.textContent = `seed ${this.seed}, step ${Math.min(...this.runs.map(one => one.step))} of ${STEPS}`;
    if (this.runs.every(one => one.step === STEPS)) this.conclude();
  }

  write(side, lines, likelier) {
    const { characters, examples } = window.babygptRace;
    const rows = lines.map((line, i) => {
      const [prompt, right, wrong] = examples[i];
      const written = Array.from(line, token => characters[token]).join("").slice(prompt.length).trimEnd();
      const found = likelier[i] === 1, name = (found ? right : wrong).slice(0, -1);
      const verdict = likelier[i] === 0.5 ? "Both names are equally likely." :
        `Of the two names, ${name} is likelier ${found ? "✓" : "✗"}`;
      return element("p", {}, `${prompt.trim()} `, element("b", {}, written || "…"), " ", element("i", {}, verdict));
    });
    this.cards[side].querySelector(".race-lines").replaceChildren(...rows);
  }

  // ------------------------------------------------------------ the end, and the rest

  conclude() {
    const same = this.runs[0].encoding === this.runs[1].encoding;
    const names = this.runs.map(({ encoding }, side) => (same ?
      `${["the first", "the second"][side]} model` : NAMES[encoding]));
    const shares = this.runs.map(run => run.shares.at(-1)[1]), n = window.babygptRace.questions.length;
    const found = shares.map(share => share >= FOUND), guesses = shares.map(share => share <= CHANCE);
    const only = found[0] && guesses[1] ? 0 : found[1] && guesses[0] ? 1 : null;
    const verdict = same ?
      "Both have the same encoding, weights and stories, so their curves are the same." :
      only !== null ? `Only one model learned who did it: ${names[only]}. ` +
        "The other read the same stories, and is right in about half of the questions." :
      found[0] && found[1] ? "Both models learned who did it." :
      guesses[0] && guesses[1] ? "Neither model learned who did it in these steps. Try another seed." :
      "The difference is not clear with this seed. Try another one.";
    const seconds = ((performance.now() - this.began) / 1000).toFixed(0);
    const how = this.recorded ? "(recorded, because this browser cannot train here)" : `and ${seconds} seconds`;
    const scores = names.map((name, side) => `${name} ${percent(shares[side])}`).join(", ");
    this.said.textContent = `After ${STEPS} steps ${how}. Right answers to ${n} questions: ${scores}. ${verdict}`;
    if (document.activeElement === this.pause) this.start.focus(); // a disabled button would lose the focus
    this.pause.disabled = true;
    this.stop();
  }

  setPaused(paused) {
    this.paused = paused;
    this.pause.textContent = paused ? "Continue" : "Pause";
    for (const worker of this.workers) worker?.postMessage({ paused });
  }

  stop() {
    for (const worker of this.workers) worker?.terminate();
    this.workers = [];
  }

  saveAddress() {
    const address = new URL(location);
    address.searchParams.set("race", [this.seed, ...this.choices].join("."));
    history.replaceState(null, "", address);
  }
}

for (const el of document.querySelectorAll(".race")) el.race = new Race(el);
