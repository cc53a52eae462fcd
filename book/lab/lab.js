// The lab: two models train on a text of the reader's choice, one worker each, and dials steer the first one.
// tools/book/lab.py puts dashboard.js before this text, and every word that the page shows into the page.

const { COLOURS, clamp, percent } = $figure;
const SHORTEST = 2000; // characters of a text
const LONGEST = 1e6;
const MOST = 128; // different characters that the engine knows
const RARE = "□"; // stands for all further ones
const WINDOW = 64; // tokens that a model reads
const ASKED = 48; // most tokens of a beginning
const VALID = 0.1; // share of a text that is not trained on
const LIKELY = 6; // characters in a list of the likeliest ones
const FIELD = 20_000; // most characters of a text that its field shows
const EXAMINED = 20; // times in a run that the questions are asked
const MEASURED = 120; // times in a run that the losses are posted
const KEPT_RUNS = 3; // earlier runs that stay in sight
const HEAD_DIM = 16; // channels of a head
const MAGIC = "babygpt lab 1";
const SIDES = ["first", "second"];
const SIZES = ["layers", "channels", "batch", "rate", "steps", "seed"];
const FOUND = 80; // least percent of right answers that we call "found out"
const CHANCE = 65; // highest percent that we call "guesses"
const EARLIER = [COLOURS.green, COLOURS.pink, COLOURS.red];
const pack = (numbers, ...shape) => ({
  dtype: "f4",
  data: Float32Array.from(numbers),
  shape: shape.length ? shape : [numbers.length],
});
const short = label => label.split(/[: (]/)[0];
const rounded = value => Number(value.toPrecision(3)).toLocaleString("en");
const shown = character => ({ "\n": "↵", " ": "•" })[character] ?? character;

// ---------------------------------------------------------------- models in workers

let engine = null;
let workerUrl = null;

// What engine.js holds. Raises an error if it cannot be loaded.
function loadEngine(folder) {
  engine ??= new Promise((resolve, reject) => {
    const script = html("script", { src: `${folder}engine.js` });
    script.addEventListener("load", () => resolve(window.babygptEngine));
    script.addEventListener("error", () => reject((engine = null)));
    document.head.append(script);
  });
  return engine;
}

// Train a model in a worker of its own; `hear` gets what it posts, and `fail` an error. May raise one.
function startWorker({ worker, wasm }, task, hear, fail) {
  workerUrl ??= URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
  const it = new Worker(workerUrl);
  it.addEventListener("error", fail, { once: true });
  it.addEventListener("message", ({ data }) => (data.error ? fail(data.error) : hear(data)));
  it.postMessage({ wasm: Uint8Array.from(atob(wasm), byte => byte.charCodeAt(0)), ...task });
  return it;
}

// ---------------------------------------------------------------- the lab

// The characters of a text, the most frequent first. Of too many, the rarest become one sign.
function alphabetOf(text) {
  const counts = new Map();
  let length = 0; // in characters, as Python counts them: an emoji is one, and two in `text.length`
  for (const one of text) length += 1, counts.set(one, (counts.get(one) ?? 0) + 1);
  const all = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
  const rare = Math.max(0, all.length - MOST + 1);
  return all.length <= MOST
    ? { characters: all, kinds: all.length, rare: 0, length }
    : {
        characters: [...all.filter(one => one !== RARE).slice(0, MOST - 1), RARE],
        kinds: all.length,
        rare,
        length,
      };
}

class Lab {
  constructor(el) {
    const { words, panels, controls, dials, smooth, beginnings } = JSON.parse(
      el.querySelector("script").textContent,
    );
    Object.assign(this, {
      el,
      words,
      templates: panels,
      controls,
      dials,
      smooth,
      beginnings,
      earlier: [],
      off: new Set(),
      side: 0,
    });
    this.form = el.querySelector("form");
    this.names = Object.fromEntries(
      [...this.field("first").options].map(option => [option.value, option.textContent]),
    );
    this.usual = { ...this.settings, first: el.dataset.first, second: el.dataset.second };
    this.values = Object.fromEntries(controls.map(({ name, value }) => [name, value]));
    this.own = {
      text: "",
      beginning: null,
      alphabet: alphabetOf(""),
      field: el.querySelector("textarea"),
      file: el.querySelector(".lab-own input"),
    };
    this.said = html("p", { class: "lab-said problem", role: "alert" }, el);
    this.buildQuestions();
    this.place = html("div", { class: "lab-board" }, el);
    this.buildSwitches();
    this.readAddress();
    this.listen();
    this.change();
  }
  field(name) { return this.form.elements[name]; }
  get settings() { return Object.fromEntries(new FormData(this.form)); }

  // ------------------------------------------------------------ the form

  readAddress() {
    const asked = new URLSearchParams(location.search), light = matchMedia("(pointer: coarse)").matches;
    // A phone would take too long for a step.
    for (const name of ["channels", "batch"]) this.field(name).lastElementChild.disabled = light;
    for (const name of SIDES) this.field(name).value = this.usual[name];
    for (const [name, value] of asked) {
      const field = name in this.usual && this.field(name);
      const control = this.controls.find(one => one.name === name);
      if (control && Number(value) >= control.stops[0] && Number(value) <= control.stops.at(-1))
        this.values[name] = Number(value);
      if (field.tagName === "SELECT" ? [...field.options].some(option => option.value === value) : field)
        field.value = value;
    }
    this.begin.value = asked.get("begin") ?? this.beginnings[this.settings.text];
  }

  listen() {
    this.form.addEventListener("submit", event => (event.preventDefault(), this.train()));
    this.form.addEventListener("change", ({ target }) => {
      if (target.name === "text") {
        this.begin.value = this.beginnings[target.value];
        this.drawn.checked = target.value === "own"; // the likeliest letter again and again is dull
      }
      this.change();
    });
    this.own.field.addEventListener("input", () => this.readOwn(this.own.field.value));
    const files = (input, act) => input.addEventListener("change", () => {
      const [file] = input.files;
      if (file) act(file);
      input.value = ""; // the same file may be chosen again
    });
    files(this.own.file, file => this.take(file));
    files(this.form.querySelector(".lab-load input"), file => this.load(file));
    this.form.noValidate = true; // a number that is no seed becomes one
    this.el.addEventListener("dragover", event => event.preventDefault());
    this.el.addEventListener("drop", event => {
      const [file, ...more] = event.dataTransfer.files;
      if (!file) return; // a dropped selection of text goes to the field
      event.preventDefault();
      if (more.length) write(this.said, fill(this.words.several, { count: more.length + 1 }));
      else this.take(file);
    });
    this.form.querySelector(".lab-again").onclick = () => {
      this.field("seed").value = Number(this.field("seed").value) + 1;
      this.change();
      this.train();
    };
    this.form.querySelector(".lab-usual").onclick = () => {
      for (const { name, value } of this.controls) this.values[name] = value;
      this.change();
    };
    this.keep = this.form.querySelector(".lab-keep");
    this.keep.onclick = () => this.workers[0].postMessage({ keep: true });
  }

  // Take a file of the reader's own: a model that the lab has kept, or a text. Anything else is named.
  async take(file) {
    let bytes;
    try {
      bytes = new Uint8Array(await file.arrayBuffer());
    } catch {
      // It is a folder, or a file that is gone.
      return write(this.said, fill(this.words.unreadable, { name: file.name }));
    }
    const start = new TextDecoder().decode(bytes.subarray(0, 40));
    if (start.includes(MAGIC) || file.name.endsWith(".babygpt")) return this.load(file);
    try {
      const text = asText(bytes, file.name);
      this.field("text").value = "own";
      this.readOwn(text, true);
    } catch (error) {
      write(this.said, error.message);
    }
  }

  // Take a text of the reader's own; of a long one, the field shows the beginning and cannot be changed.
  readOwn(text, show = false) {
    this.own.text = text.replace(/\r\n?/g, "\n");
    this.own.alphabet = alphabetOf(this.own.text); // a dial that moves must not count a megabyte
    write(this.said, "");
    const long = this.own.alphabet.length > FIELD;
    const beginning = long ? [...this.own.text].slice(0, FIELD).join("") : this.own.text;
    if (show) Object.assign(this.own.field, { value: beginning, readOnly: long });
    // A beginning that the reader has typed stays.
    const usual = ["", this.own.beginning, ...Object.values(this.beginnings)];
    const [line] = this.own.text.trimStart().split("\n");
    if (usual.includes(this.begin.value))
      this.begin.value = this.own.beginning = [...line].slice(0, 20).join("");
    this.change();
  }

  // Show what belongs to the settings, and put them into the address.
  change() {
    const { text } = this.settings, { words } = this, counts = this.form.querySelector(".lab-counts");
    this.form.querySelector(".lab-own").hidden = text !== "own";
    this.asking.firstChild.data = text === "own" ? words.begin : words.names;
    const { kinds, rare } = this.own.alphabet, count = this.own.alphabet.length;
    const rest =
      count < SHORTEST
        ? words.short
        : count > LONGEST
          ? words.long
          : rare
            ? fill(words.rare, { rare, most: MOST })
            : "";
    write(
      counts,
      text === "own" && count ? fill(words.text, { count: count.toLocaleString("en"), kinds, rest }) : "",
    );
    const own = this.dials[this.field("first").value] ?? [];
    const moved = this.controls.filter(
      ({ name, value }) => own.includes(name) && this.values[name] !== value,
    );
    const dials = moved.map(({ name, label, value }) =>
      fill(words.starts, { label: short(label), now: rounded(this.values[name]), usual: rounded(value) }));
    const other =
      this.runs && Object.entries(this.settings).some(([name, value]) => this.trained[name] !== value);
    const sentences = [...(other ? [fill(words.changed, { name: this.runs[0].name })] : []), ...dials];
    write(this.form.querySelector(".lab-starts"), sentences.join(" "));
    this.form.querySelector(".lab-usual").hidden = !moved.length;
    this.saveAddress();
  }

  // Browsers refuse a page that changes its address too often.
  saveAddress() {
    clearTimeout(this.saving);
    this.saving = setTimeout(() => this.writeAddress(), 200);
  }
  writeAddress() {
    const address = new URL(location);
    const put = (name, value, usual) => {
      address.searchParams.delete(name);
      if (String(value) !== String(usual)) address.searchParams.set(name, value);
    };
    for (const [name, value] of Object.entries(this.settings)) put(name, value, this.usual[name]);
    for (const { name, value } of this.controls) put(name, this.values[name], value);
    put("begin", this.begin.value, this.beginnings[this.settings.text]);
    history.replaceState(null, "", address);
  }

  // The text to be read, in tokens, with its alphabet.
  async corpus() {
    const { texts } = (this.data ??= await loadEngine(this.el.dataset.folder)), { text } = this.settings;
    const own = text === "own" ? [...this.own.text] : [], cut = Math.floor(own.length * (1 - VALID));
    if (text === "own" && own.length < SHORTEST) throw new Error(this.words.short);
    if (text === "own" && own.length > LONGEST) throw new Error(this.words.long);
    const { train, valid, questions, floors, characters } = text === "own"
      ? { train: own.slice(0, cut), valid: own.slice(cut), floors: {}, ...this.own.alphabet } : texts[text];
    const numbers = new Map([...characters].map((one, i) => [one, i])), rest = numbers.get(RARE);
    const encode = some =>
      Uint8Array.from([...some].map(one => numbers.get(one) ?? rest).filter(one => one !== undefined));
    const strange = some => [...new Set(some)].filter(one => !numbers.has(one) && rest === undefined);
    return {
      encode,
      strange,
      floors,
      characters: [...characters],
      newline: text === "own" ? -1 : numbers.get("\n"),
      lead: text === "own" ? "" : "\n",
      train: encode(train),
      valid: encode(valid),
      questions: questions?.map(one => one.map(encode)),
      key: text === "own" ? this.own.text : text,
    };
  }

  // ------------------------------------------------------------ training

  // Train both models from their first weights, or the first one on from a state that was kept.
  async train(state = null) {
    for (const part of [this.said, this.verdict]) write(part, "");
    try {
      this.text = await this.corpus();
    } catch (error) {
      return write(this.said, error?.message ?? this.words.engine);
    }
    this.stop();
    this.remember();
    this.field("seed").value = clamp(Math.round(this.field("seed").value) || 1, 1, 999_999);
    this.trained = this.settings;
    const { first, second, ...rest } = this.trained, twin = second === "twin";
    const [layers, channels, batch, rate, steps, seed] = SIZES.map(name => Number(rest[name]));
    Object.assign(this, {
      layers,
      heads: channels / HEAD_DIM,
      total: steps,
      from: state?.steps ?? 0,
      started: performance.now(),
    });
    Object.assign(this, {
      state: "getting ready",
      moves: [],
      heard: 0,
      frames: range(3, () => []),
      newest: [],
    });
    this.written = {}; // what each model wrote last
    this.off.clear();
    this.runs = [{ encoding: first, name: this.names[first], ...state?.run },
      twin ? { encoding: first, name: "twin" } : { encoding: second, name: this.names[second] }];
    this.runs = this.runs.map(run => ({ losses: [], points: [], step: 0, ...run }));
    this.colours = [COLOURS.blue, twin ? COLOURS.grey : COLOURS.red];
    if (second === "nothing") this.runs.pop();
    if (this.runs[1]?.name === this.runs[0].name) this.runs[1].name += " (2)";
    const { train: text, valid, questions, newline, characters: { length: vocabSize } } = this.text;
    const task = {
      text,
      valid,
      questions,
      newline,
      vocabSize,
      shape: { layers, heads: this.heads, batch, rate },
      seed,
      steps,
      every: Math.ceil(steps / EXAMINED),
      often: Math.ceil(steps / MEASURED),
      asked: this.question(),
    };
    try {
      this.workers = this.runs.map((run, side) => {
        const own = { ...task, encoding: this.encodingOf(side), ...(!side && state && { state }) };
        const hear = message => run === this.runs[side] && this.receive(side, message);
        return startWorker(this.data, own, hear, error => this.fail(error));
      });
    } catch (error) {
      return this.fail(error);
    }
    this.facts = this.describe();
    this.board?.remove();
    this.board = new Board(name => this.get(name), this.place, command => this.obey(command));
    this.showSwitches();
    this.change();
    this.keep.disabled = false;
    this.begin.parentNode.scrollIntoView({ block: "start", behavior: "smooth" });
  }

  encodingOf(side) {
    const twin = side === 0 || this.trained.second === "twin", { encoding } = this.runs[side];
    return { name: encoding, ...(twin && this.values) };
  }
  fail(error) {
    this.state = "failed";
    write(this.said, fill(this.words.worker, { error: error?.message ?? error }));
  }
  stop() { for (const worker of this.workers ?? []) worker.terminate(); }

  // Keep the curve of the run that ends, for the next pictures.
  remember() {
    const { losses, name } = this.runs?.[0] ?? {}, dial = this.moves?.at(-1)?.[1];
    if (losses?.length > 20)
      this.earlier.push({
        name: dial ? `${name}, ${dial}` : name,
        mean: this.board.run.series.mean.slice(),
        key: this.key,
      });
    this.key = this.text.key;
    this.earlier = this.earlier.filter(one => one.key === this.key).slice(-KEPT_RUNS);
  }

  // What the board asks for by hand: dials, pause, stop.
  obey({ do: what, name, value, number }) {
    this.heard = number;
    if (what === "steer") {
      this.values[name] = value;
      this.workers[0].postMessage({ encoding: this.encodingOf(0) });
      const { label } = this.controls.find(one => one.name === name);
      const words = `${short(label)} ${rounded(value)}`;
      const { step } = this.runs[0];
      const last = this.moves.at(-1);
      const close = last && step - last[0] < this.total / 12 && last[2] === name;
      this.moves = [...(close ? this.moves.slice(0, -1) : this.moves), [close ? last[0] : step, words, name]];
      this.change();
    } else if (["pause", "resume", "stop"].includes(what)) {
      this.state = { pause: "paused", resume: "running", stop: "stopped" }[what];
      if (what === "resume") this.started += performance.now() - this.rested;
      this.rested = performance.now();
      for (const worker of this.workers) worker.postMessage({ paused: what !== "resume" });
    }
    this.board.pull();
  }

  receive(side, { step, losses, share, valid, reach, looked, kept }) {
    const run = this.runs[side];
    run.losses.push(...losses);
    run.step = step;
    if (kept) this.save(kept);
    if (share !== undefined || valid !== undefined) {
      run.points.push([step, share === undefined ? valid : Math.round(1e4 * share) / 100]);
      this.frames[0].push({ step: this.runs[0].step, title: this.compared() });
      this.newest[0] = this.pointsPanel();
    }
    if (reach && side === 0) this.frames[1].push({ step, panel: this.reachPanel(reach) });
    if (looked) this.answer(side, looked, step);
    const going = ["getting ready", "running"].includes(this.state);
    if (going) this.state = this.runs.every(one => one.step >= this.total) ? "finished" : "running";
    if (going && this.state === "finished") this.conclude();
    this.board?.pull();
  }

  // Say which of two models that nobody steered learned to answer, or reads an unknown text better.
  conclude() {
    if (!this.runs[1] || this.moves.length) return; // a dial that moved would have to be named, too
    const { words } = this;
    const found = this.runs.map(run => run.points.at(-1)[1]);
    const low = found[0] < found[1] ? 0 : 1;
    const [better, worse] = [this.runs[low].name, this.runs[1 - low].name];
    const [least, most] = [found[low], found[1 - low]];
    if (!this.text.questions)
      write(this.verdict, fill(words.reads, { better, worse, gap: fixed(most - least) }));
    else
      write(
        this.verdict,
        most < FOUND
          ? words[most <= CHANCE ? "neither" : "unclear"]
          : least >= FOUND
            ? words.both
            : least <= CHANCE
              ? fill(words.one, { name: worse })
              : words.unclear,
      );
  }

  // ------------------------------------------------------------ what the board reads

  get(name) {
    const [, kind, i, k] = /^([a-z]+)(\d*)_?(\d*)$/.exec(name);
    if (kind === "head") return this.head();
    if (kind === "before") return this.runs[1]?.losses;
    if (kind === "loss") return pack(this.runs[0].losses.slice(i * BLOCK, (Number(i) + 1) * BLOCK));
    return { frame: this.frames[i]?.[k], panel: this.newest[i], facts: this.facts, moves: this.moves }[kind];
  }

  head() {
    const { losses } = this.runs[0];
    const made = losses.length;
    const last = losses.slice(-this.smooth);
    const { state, total } = this;
    const pace =
      made > this.from ? ((performance.now() - this.started) / (made - this.from)).toFixed(0) : "–";
    this.pace = ["finished", "stopped", "paused"].includes(state) ? this.pace ?? pace : pace;
    const facts = { state, made, total, loss: fixed(sum(last) / last.length), pace: this.pace };
    const frames = this.frames.slice(0, this.el.dataset.watches).map(all => all.length);
    const words = made ? fill(this.words.running, facts) : state;
    const values = Object.fromEntries(this.facts.controls.map(({ name }) => [name, this.values[name]]));
    const over = ["stopped", "finished"].includes(state);
    return {
      made,
      frames,
      state,
      over,
      words,
      offer: "",
      reading: "",
      values,
      heard: this.heard,
      problem: "",
    };
  }

  describe() {
    const [own, other] = this.runs, { losses, gaps } = this.words, { loss } = this.templates;
    const named = (words, name) =>
      Object.fromEntries(Object.entries(words).map(([key, text]) => [key, text.replace("{name}", name)]));
    const x = { ...loss.x, span: [0, this.total] };
    const top = Math.ceil(2 * Math.log(this.text.characters.length)) / 2 + 0.5;
    const curve = (name, colour, look = "line", y = []) => ({
      kind: "curve",
      name,
      colour,
      look,
      x: pack(y.map((_, i) => i + 1)),
      y: pack(y),
    });
    const earlier = this.earlier.map(({ name, mean }, i) =>
      curve(fill(this.words.earlier, { name }), EARLIER[i], "line", [...mean].slice(0, this.total)));
    const levels = Object.entries(this.text.floors).map(([name, at]) =>
      ({ kind: "level", axis: "y", at, name: `${name} ${fixed(at)}`, colour: "" }));
    const beside = other ? [curve(other.name, this.colours[1])] : [];
    const marks = [
      ...levels,
      ...earlier,
      ...beside,
      curve("", COLOURS.blue, "thin"),
      curve(own.name, COLOURS.blue),
    ];
    const { watches } = this.el.dataset, dials = watches < 3 ? [] : this.dials[own.encoding] ?? [];
    return {
      title: own.name,
      watches,
      total: this.total,
      smooth: this.smooth,
      words: named(losses, own.name),
      loss: {
        ...loss,
        marks,
        x,
        y: { ...loss.y, span: [0, top] },
        below: other ? { ...loss.below, x } : null,
      },
      controls: this.controls
        .filter(({ name }) => dials.includes(name))
        .map(one => ({ ...one, value: this.values[one.name] })),
      baseline: other ? { losses: pack([]), words: named(gaps, other.name) } : null,
    };
  }

  // A result of each model, in words: right answers, or the loss on text that it has not read.
  compared() {
    const { words } = this, least = Math.min(...this.runs.map(run => run.points.length));
    const [first, second] = this.runs.map(({ name, points }) =>
      least ? `${name} ${this.reading(points[least - 1][1])}` : "",
    );
    return (
      fill(this.text.questions ? words.right : words.valid, { first }) +
      (second ? fill(words.beside, { second }) : "")
    );
  }
  reading(value) { return this.text.questions ? `${fixed(value, 0)}%` : fixed(value); }

  pointsPanel() {
    const { questions } = this.text;
    const template = this.templates[questions ? "right" : "valid"];
    const marks = [...template.marks];
    const look = marks.pop();
    const curves = this.runs.map(({ name, points }, side) => {
      const [x, y] = [0, 1].map(i => pack(points.map(point => point[i])));
      return { ...look, name, colour: this.colours[side], x, y };
    });
    const [low, high] = template.y.span;
    const most = Math.max(...this.runs.flatMap(run => run.points.map(point => point[1])));
    const y = { ...template.y, span: [low, questions ? high : 0.1 + Math.ceil(10 * most) / 10] };
    return {
      ...template,
      title: this.compared(),
      marks: [...marks, ...curves.reverse()],
      x: { ...template.x, span: [0, this.total] },
      y,
    };
  }

  reachPanel(reach) {
    const template = this.templates.reach;
    const { encoding } = this.runs[0];
    const name = this.names[encoding];
    const { words, heads } = this;
    const [near, far] = [reach[0], reach[16]];
    const alike = range(heads).every(h => reach[h * WINDOW + 9] === reach[9]);
    const flat = ["sinusoid", "learned"].includes(encoding) ? words.flat : words.none;
    const title = fill(near === far && reach[1] === near ? flat : words.reach, {
      name,
      near: fixed(near, 1),
      far: fixed(far, 1),
    });
    const lines = range(alike ? 1 : heads, h => ({ ...template.marks[0], name: alike ? "" : `head ${h + 1}`,
      colour: Object.values(COLOURS)[h % 5], y: pack(reach.slice(h * WINDOW, (h + 1) * WINDOW)) }));
    const span = [Math.max(-40, Math.floor(Math.min(...reach)) - 1), Math.ceil(Math.max(...reach)) + 1];
    return { ...template, title, marks: lines, y: { ...template.y, span } };
  }

  headsPanel(weights, text) {
    const template = this.templates.heads, [mark] = template.marks, { layers, heads } = this, n = text.length;
    const letters = Array.from(text, token => shown(this.text.characters[token]));
    const finding = `${this.runs[this.side].name}: ${mark.finding}`;
    const shares = pack(Array(layers * heads).fill(0), layers, heads);
    const drawn = { ...mark, finding, weights: pack(weights, layers, heads, n, n), letters, shares };
    return { ...template, title: fill(finding, { layer: 1, head: 1 }), marks: [drawn] };
  }

  // ------------------------------------------------------------ a reader's questions

  buildQuestions() {
    const box = html("section", { class: "lab-ask" }, this.el), row = html("div", { class: "lab-row" }, box);
    this.begin = html(
      "input",
      { name: "begin", spellcheck: "false", maxlength: 200, dir: "auto" },
      (this.asking = html("label", {}, row)),
    );
    this.asking.prepend("");
    const drawn = html("label", { class: "lab-drawn" }, row);
    this.drawn = html("input", { type: "checkbox" }, drawn);
    html("span", {}, drawn, this.words.drawn);
    this.strange = html("p", { class: "problem", role: "status" }, box);
    const cards = html("div", { class: "lab-cards" }, box);
    this.cards = SIDES.map(side => html("div", { class: `lab-card ${side}`, dir: "auto" }, cards));
    html("p", {}, this.cards[0], this.words.hidden);
    this.verdict = html("p", { class: "lab-verdict", role: "status" }, box);
    this.begin.addEventListener("input", () => {
      this.written = {};
      clearTimeout(this.typing);
      this.typing = setTimeout(() => (this.saveAddress(), this.ask()), 150);
    });
    this.drawn.addEventListener("change", () => this.ask());
  }

  buildSwitches() {
    const box = html("section", { class: "lab-more", hidden: "" }, this.el);
    const row = html("div", { class: "lab-row" }, box);
    this.looking = html("select", {}, html("label", {}, row, `${this.words.switches} `));
    this.switches = html(
      "div",
      { class: "lab-switches", role: "group", "aria-label": this.words.switches },
      box,
    );
    this.silenced = html("p", { class: "lab-silenced", role: "status" }, box);
    this.looking.addEventListener("change", () => {
      this.side = this.looking.selectedIndex;
      this.ask();
    });
  }

  question() {
    const { encode, lead, strange } = this.text, marks = strange(this.begin.value).join(" ");
    write(this.strange, marks ? fill(this.words.unknown, { marks }) : "");
    const text = encode(lead + this.begin.value).slice(-ASKED);
    const drawn = this.drawn.checked ? Math.ceil(1e6 * Math.random()) : 0;
    return { text: text.length ? text : Uint8Array.of(0), off: [...this.off], drawn };
  }
  ask() {
    if (!this.text) return;
    const asked = this.question();
    this.workers.forEach((worker, side) =>
      worker.postMessage({ asked: side === this.side ? asked : { ...asked, off: [] } }),
    );
  }

  answer(side, { weights, next, text, written, silenced, sound, off }, step) {
    if (side === this.side && !off.length)
      this.frames[2].push({ step, panel: this.headsPanel(weights, text) });
    const { characters, questions } = this.text, card = this.cards[side], { name } = this.runs[side];
    if (written) this.written[side] = written;
    const ends = this.written[side];
    const likely = range(next.length).sort((a, b) => next[b] - next[a]).slice(0, LIKELY);
    if (!card.querySelector("b"))
      card.replaceChildren(
        html("p", { class: "lab-name" }),
        html("p", { class: "lab-written" }),
        html("ul", {}),
      );
    const [title, line, list] = card.children;
    const read = tokens => Array.from(tokens, token => characters[token]).join("");
    write(title, name);
    line.replaceChildren(
      read(text).trimStart(),
      html("b", {}, null, ends ? read(ends).slice(read(text).length).trimEnd() : "…"),
    );
    list.replaceChildren(
      ...likely.map(i =>
        html(
          "li",
          { style: `--p: ${percent(next[i])}` },
          null,
          `${shown(characters[i])} ${percent(next[i])}`,
        ),
      ),
    );
    if (!silenced) return side === this.side && !off.length && write(this.silenced, "");
    const value = found =>
      questions
        ? fill(this.words.share, { value: fixed(100 * found.share, 0), count: questions.length })
        : fill(this.words.loss, { value: fixed(found.valid) });
    const heads = off.map(number => fill(this.words.head, this.headAt(number))).join(" and ");
    write(this.silenced, fill(this.words.silenced, { heads, now: value(silenced), whole: value(sound) }));
  }

  headAt(number) { return { layer: Math.floor(number / this.heads) + 1, head: (number % this.heads) + 1 }; }

  showSwitches() {
    this.switches.parentNode.hidden = false;
    this.looking.replaceChildren(...this.runs.map(({ name }) => html("option", {}, null, name)));
    this.looking.selectedIndex = this.side = Math.min(this.side, this.runs.length - 1);
    this.cards.forEach((card, side) =>
      put(card, { style: `--colour: ${this.colours[side]}` }).replaceChildren(),
    );
    this.cards[1].hidden = this.runs.length < 2;
    this.switches.replaceChildren(...range(this.layers * this.heads, number => {
      const at = this.headAt(number), words = fill(this.words.head, at);
      const button = html(
        "button",
        { type: "button", "aria-pressed": true, title: words, "aria-label": words },
        null,
        `${at.layer}.${at.head}`,
      );
      button.onclick = () => {
        this.off.delete(number) || this.off.add(number);
        put(button, { "aria-pressed": !this.off.has(number) });
        this.ask();
      };
      return button;
    }));
    write(this.silenced, "");
  }

  // ------------------------------------------------------------ a model as a file

  save({ steps, weights, mean, square }) {
    const { losses, points, encoding } = this.runs[0];
    const run = { losses: losses.map(loss => Number(loss.toFixed(3))), points };
    const settings = this.trained, own = settings.text === "own" ? this.text.key : "";
    const about = {
      magic: MAGIC,
      settings,
      own,
      values: this.values,
      begin: this.begin.value,
      steps,
      run,
      count: weights.length,
    };
    const file = new Blob([`${JSON.stringify(about)}\n`, weights, mean, square]);
    const link = html("a", { href: URL.createObjectURL(file), download: `${encoding}-${steps}.babygpt` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // What a file holds. Raises an error unless all of it is as `save` writes it.
  read(all) {
    const end = all.indexOf(10), about = JSON.parse(new TextDecoder().decode(all.subarray(0, end)));
    const numbers = new Float32Array(all.slice(end + 1).buffer);
    const { magic, settings, values, steps, run, count } = about;
    const known = Object.entries(settings).every(([name, value]) => {
      const { options } = this.field(name);
      return !options || [...options].some(option => option.value === value);
    });
    const whole =
      numbers.length === 3 * count &&
      numbers.every(Number.isFinite) &&
      this.controls.every(({ name }) => values[name] >= 0);
    const trained = steps > 0 && steps <= settings.steps && run.losses.length === steps;
    if (magic !== MAGIC || !known || !whole || !trained) throw new Error(magic);
    const [weights, mean, square] = range(3, i => numbers.subarray(i * count, (i + 1) * count));
    return { ...about, state: { steps, run, weights, mean, square } };
  }

  async load(file) {
    let found;
    try {
      found = this.read(new Uint8Array(await file.arrayBuffer()));
    } catch {
      return write(this.said, fill(this.words.foreign, { name: file.name }));
    }
    const { settings, values, begin, own, state } = found;
    for (const [name, value] of Object.entries({ ...settings, second: "nothing" }))
      this.field(name).value = value;
    Object.assign(this.values, values);
    if (settings.text === "own") this.readOwn(own, true);
    this.begin.value = begin;
    this.train(state);
  }
}

for (const el of document.querySelectorAll(".lab")) el.lab ??= new Lab(el);
