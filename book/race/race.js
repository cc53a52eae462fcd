// Two small GPTs that train side by side in the page, one worker each.
// tools/book/race.py puts panels.js and trainers.js before this text, and every word of a finding into the page.

const { COLOURS } = $figure; // the other names that are used here, panels.js uses as well
const STEPS = 600, EVERY = 30, SMOOTH = 0.9, REPLAY_MS = 150, SETTLE_MS = 600;
const FOUND = 80, CHANCE = 65; // percents of right answers that we call "found out" and "guesses"
const TALES = "plain-tales";
const MODELS = [{ name: "first", colour: COLOURS.red }, { name: "second", colour: COLOURS.blue }];
const X = { label: "training steps", span: [0, STEPS], ticks: null, log: false, unit: "", digits: 0 };

class Race {
  // el  holds data-left, data-right, data-folder (where engine.js lies), data-floor and data-bigram in nats, and words
  constructor(el) {
    this.el = el;
    this.words = JSON.parse(el.querySelector("script").textContent);
    const [seed, ...chosen] = (new URLSearchParams(location.search).get("race") ?? "").split(".");
    const asked = chosen.length === 2 && chosen.every(one => one in this.words.names) && /^\d{1,6}$/.test(seed);
    this.seed = asked ? Number(seed) : 1;
    this.choices = asked ? chosen : [el.dataset.left, el.dataset.right];
    this.workers = [];
    const { floor, bigram } = el.dataset, level = (at, name) => ({ kind: "level", axis: "y", at: Number(at), name, colour: "" });
    const y = (label, span, unit, digits) => ({ label, span, ticks: null, log: false, unit, digits });
    this.kinds = {
      share: { look: "marked", y: y("right answers", [30, 105], "%", 0), levels: [level(50, "chance")] },
      loss: { look: "line", y: y("nats per character", [0.2, 2.2], "", 2), levels: [level(bigram, this.words.bigram), level(floor, this.words.floor)] },
    };
    this.build();
  }

  build() {
    const button = (words, act) => Object.assign(html("button", { type: "button" }, null, words), { onclick: act });
    this.start = button("Train both models", () => this.restart());
    this.pause = button("Pause", () => this.setPaused(!this.paused));
    this.again = button("Another seed", () => ((this.seed += 1), this.restart()));
    this.pause.disabled = this.again.disabled = true;
    this.said = html("p", { class: "race-said", "aria-live": "polite" });
    this.step = html("output");
    this.cards = MODELS.map((_, side) => this.card(side));
    const [controls, cards] = ["controls", "cards"].map(part => html("div", { class: `race-${part}` }));
    controls.append(this.start, this.pause, this.again, this.step);
    cards.append(...this.cards);
    const pictures = html("div", { class: "explorer race-pictures" }), panels = html("div", { class: "explorer-panels" }, pictures);
    this.el.replaceChildren(controls, cards, pictures, this.said);
    const host = { wake: () => this.wake() };
    this.views = Object.keys(this.kinds).map(kind => viewOf(this.panel(kind), panels, host));
    this.draw();
  }

  card(side) {
    const { name, colour } = MODELS[side], card = html("div", { class: "race-card", style: `--c: ${colour}` });
    const select = html("select", { "aria-label": `Encoding of the ${name} model` }, card);
    for (const [value, words] of Object.entries(this.words.names)) html("option", { value }, select, words);
    select.value = this.choices[side];
    select.addEventListener("change", () => {
      this.choices[side] = select.value;
      this.wake();
      this.saveAddress();
      clearTimeout(this.settling); // arrow keys pass through several encodings
      if (this.runs) this.settling = setTimeout(() => this.restart(), SETTLE_MS);
    });
    html("div", { class: "race-lines" }, card, "Here you will see what the model writes.");
    return card;
  }

  // ------------------------------------------------------------ pictures

  // What is known of "share" or "loss", as a panel.
  panel(kind) {
    const { look, y, levels } = this.kinds[kind], points = MODELS.map((_, side) => this.runs?.[side][kind] ?? []);
    const curves = points.map((found, side) => ({
      kind: "curve", look, name: this.nameOf(side), colour: MODELS[side].colour,
      x: Float32Array.from(found, ([step]) => step), y: Float32Array.from(found, ([, value]) => value),
    }));
    return { title: this.words[kind], marks: [...levels, ...curves], x: X, y, note: "", width: 1, over_steps: true };
  }
  nameOf(side) { return this.words.names[this.runs?.[side].encoding ?? this.choices[side]]; }

  wake() { this.frame ??= requestAnimationFrame(() => this.draw()); }
  draw() {
    this.frame = null;
    Object.keys(this.kinds).forEach((kind, i) => this.views[i].draw(this.panel(kind)));
  }

  // ------------------------------------------------------------ training

  async restart() {
    this.stop();
    const round = (this.round = {}); // what an earlier round still sends is dropped
    this.runs = this.choices.map(encoding => ({ encoding, step: 0, loss: [], share: [], mean: null }));
    [this.said.textContent, this.began, this.recorded] = ["", performance.now(), false];
    this.start.textContent = "Train again";
    this.saveAddress();
    this.wake();
    try {
      this.data = await loadEngine(this.el.dataset.folder);
    } catch {
      this.said.textContent = "engine.js could not be loaded. Reload the page to try again.";
    }
    if (!this.data || this.round !== round) return;
    this.pause.disabled = this.again.disabled = false;
    this.setPaused(false);
    this.choices.forEach((encoding, side) => this.launch(side, encoding, round));
  }

  launch(side, encoding, round) {
    const { texts, examples } = this.data, { characters, train, questions } = texts[TALES];
    const encode = some => Uint8Array.from(some, character => characters.indexOf(character));
    const failed = () => this.round === round && this.replay(side, encoding, round);
    try {
      this.workers[side] = startWorker(this.data, {
        text: encode(train), encoding: { name: encoding }, seed: this.seed, steps: STEPS, every: EVERY,
        questions: questions.map(question => question.map(encode)), examples: examples.map(example => example.map(encode)),
        newline: characters.indexOf("\n"), vocabSize: characters.length,
      }, data => this.round === round && this.receive(side, data), failed);
    } catch {
      failed();
    }
  }

  // Where a browser allows no workers or no WebAssembly, show a run that was recorded.
  replay(side, encoding, round) {
    const run = this.data.recorded[encoding];
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
      run.loss.push([step - losses.length + i + 1, run.mean]);
    }
    run.step = step;
    if (lines) {
      run.share.push([step, Math.round(1e4 * share) / 100]);
      this.showLines(side, lines, likelier);
    }
    this.wake();
    this.step.textContent = `seed ${this.seed}, step ${Math.min(...this.runs.map(one => one.step))} of ${STEPS}`;
    if (this.runs.every(one => one.step === STEPS)) this.conclude();
  }

  showLines(side, lines, likelier) {
    const { examples, texts } = this.data, { characters } = texts[TALES], place = this.cards[side].querySelector(".race-lines");
    place.replaceChildren();
    lines.forEach((line, i) => {
      const [prompt, right, wrong] = examples[i], row = html("p", {}, place, `${prompt.trim()} `);
      const written = Array.from(line, token => characters[token]).join("").slice(prompt.length).trimEnd();
      const found = likelier[i] === 1, name = (found ? right : wrong).slice(0, -1);
      html("b", {}, row, written || "…");
      html("i", {}, row, likelier[i] === 0.5 ? this.words.equal : fill(this.words.likelier, { name, mark: found ? "✓" : "✗" }));
    });
  }

  // ------------------------------------------------------------ the end, and the rest

  conclude() {
    const { words } = this, same = this.runs[0].encoding === this.runs[1].encoding;
    const names = MODELS.map(({ name }, side) => (same ? `the ${name} model` : this.nameOf(side)));
    const shares = this.runs.map(run => run.share.at(-1)[1]), n = this.data.texts[TALES].questions.length;
    const [found, guesses] = [shares.map(share => share >= FOUND), shares.map(share => share <= CHANCE)];
    const only = found[0] && guesses[1] ? 0 : found[1] && guesses[0] ? 1 : null;
    const verdict = same ? words.same : only !== null ? fill(words.one, { name: names[only] })
      : found[0] && found[1] ? words.both : guesses[0] && guesses[1] ? words.neither : words.unclear;
    const seconds = ((performance.now() - this.began) / 1000).toFixed(0);
    const how = this.recorded ? "(recorded, because this browser cannot train here)" : `and ${seconds} seconds`;
    const scores = names.map((name, side) => `${name} ${fixed(shares[side], 0)}%`).join(", ");
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
