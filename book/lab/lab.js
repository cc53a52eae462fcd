// The lab: two models train on a text of the reader's choice, one worker each, and dials steer the first one.
// tools/book/lab.py puts the other scripts before this text, and all words into the page.

const SHORTEST = 2000; // characters of a text
const LONGEST = 1e6;
const MOST = 128; // different characters that the engine knows
const RARE = "□"; // stands for all further ones
const ASKED = 48; // most tokens of a beginning
const VALID = 0.1; // share of a text that is not trained on
const FIELD = 20_000; // most characters of a text that its field shows
const EXAMINED = 20; // times in a run that the questions are asked
const MEASURED = 120; // times in a run that the losses are posted
const KEPT_RUNS = 3; // earlier runs that stay in sight
const MAGIC = "babygpt lab 1";
const SIDES = ["first", "second"];
const SHIFTS = ["shift", "shift2"]; // switches of the two models
const SIZES = ["layers", "channels", "batch", "rate", "steps", "seed"];
const FOUND = 80; // least percent of right answers that we call "found out"
const CHANCE = 65; // highest percent that we call "guesses"
const TOP = 2.2; // of the axis of the loss on tales, in nats
const REST = 150; // ms between two kernels at least
const DIGITS = /^[0-9a-z]{64}$/;
// A question of the tales, and who is asked for.
const TALE = /^(\w+) (\w+) (\w+)\. (?:(who) \2|\2 whom)\? ?$/;
const pack = (numbers, ...shape) =>
  ({ dtype: "f4", data: Float32Array.from(numbers), shape: shape.length ? shape : [numbers.length] });
const short = label => label.split(/[: (]/)[0];
const rounded = value => Number(value.toPrecision(3)).toLocaleString("en");

// ---------------------------------------------------------------- the lab

// The characters of a text, the most frequent first. Of too many, the rarest become one sign.
function alphabetOf(text) {
  const counts = new Map();
  let length = 0; // in characters, as Python counts them: an emoji is one, and two in `text.length`
  for (const one of text) length += 1, counts.set(one, (counts.get(one) ?? 0) + 1);
  const all = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || (a < b ? -1 : 1));
  const rare = all.length > MOST ? all.length - MOST + 1 : 0;
  const characters = rare ? [...all.filter(one => one !== RARE).slice(0, MOST - 1), RARE] : all;
  return { characters, kinds: all.length, rare, length };
}

class Lab {
  constructor(el) {
    const facts = JSON.parse(el.querySelector("script").textContent);
    const { words, panels, controls, dials, smooth, beginnings } = facts;
    Object.assign(this, { el, words, templates: panels, controls, dials, smooth, beginnings, earlier: [] });
    el.lab = this;
    this.form = el.querySelector("form");
    this.place = el.querySelector(".lab-board");
    const choices = [...this.form.querySelectorAll(".lab-pick input")];
    this.names = Object.fromEntries(choices.map(({ value, dataset }) => [value, dataset.name]));
    for (const choice of choices) {
      const label = choice.parentNode, span = choice.nextSibling;
      if (glyphOf(choice.value, label)) span.before(label.lastChild);
      label.classList.toggle("wide", ["drawn", "twin", "nothing"].includes(choice.value));
      put(label, { style: `--c: ${colourOfEncoding(choice.value)}` });
    }
    this.usual = { ...this.settings, first: el.dataset.first, second: el.dataset.second };
    this.values = { ...Object.fromEntries(controls.map(({ name, value }) => [name, value])), kernel: KERNEL };
    const [field, file] = ["textarea", ".lab-own input"].map(place => el.querySelector(place));
    this.own = { text: "", beginning: null, alphabet: alphabetOf(""), field, file };
    this.buildQuestions();
    this.readAddress();
    this.listen();
    this.change();
  }
  field(name) { return this.form.elements[name]; }
  // The values that a field may take; none for a number.
  choices(name) {
    const field = this.field(name);
    if (SHIFTS.includes(name)) return ["no", "yes"];
    return [...(field.options ?? (field.tagName ? [] : field))].map(({ value }) => value);
  }
  set(name, value) {
    if (SHIFTS.includes(name)) this.field(name).checked = value === "yes";
    else this.field(name).value = value;
  }
  get settings() { return { shift: "no", shift2: "no", ...Object.fromEntries(new FormData(this.form)) }; }

  // ------------------------------------------------------------ the form

  readAddress() {
    const asked = new URLSearchParams(location.search), light = matchMedia("(pointer: coarse)").matches;
    // A phone would take too long for a step.
    for (const name of ["channels", "batch"]) this.field(name).lastElementChild.disabled = light;
    for (const name of SIDES) this.field(name).value = this.usual[name];
    for (const [name, value] of asked) {
      const control = this.controls.find(one => one.name === name);
      if (control && Number(value) >= control.stops[0] && Number(value) <= control.stops.at(-1))
        this.values[name] = Number(value);
      if (name === "kernel" && DIGITS.test(value)) this.values.kernel = value;
      if (name in this.usual && (name === "seed" || this.choices(name).includes(value)))
        this.set(name, value);
    }
    this.begin.value = asked.get("begin") ?? this.beginnings[this.settings.text];
  }

  listen() {
    this.form.addEventListener("submit", event => (event.preventDefault(), this.press()));
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
    const find = name => this.form.querySelector(`.lab-${name}`);
    files(this.own.file, file => this.take(file));
    files(find("load").querySelector("input"), file => this.load(file));
    this.form.noValidate = true; // a number that is no seed becomes one
    this.el.addEventListener("dragover", event => event.preventDefault());
    this.el.addEventListener("drop", event => {
      const [file, ...more] = event.dataTransfer?.files ?? [];
      if (!file) return;
      event.preventDefault();
      if (more.length) write(this.said, fill(this.words.several, { count: more.length + 1 }));
      else this.take(file);
    });
    find("again").onclick = () => {
      this.field("seed").value = Number(this.field("seed").value) + 1;
      this.change();
      this.train();
    };
    [this.button, this.usually, this.over, this.keep] = ["train", "usual", "over", "keep"].map(find);
    this.usually.onclick = () => {
      this.values.kernel = KERNEL;
      for (const { name, value } of this.controls) this.values[name] = value;
      if (this.workers) this.steer("all", this.words.usual);
      this.change();
    };
    this.over.onclick = () => this.train();
    this.keep.onclick = () => this.workers[0].postMessage({ keep: true });
    find("full").onclick = () =>
      document.fullscreenElement ? document.exitFullscreen() : this.el.requestFullscreen();
    find("full").hidden = !document.fullscreenEnabled;
    find("link").onclick = async () => {
      this.writeAddress();
      const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
      write(this.verdict, this.words[copied ? "copied" : "link"]);
    };
    const folds = this.form.querySelectorAll("details");
    const close = inside => folds.forEach(fold => {
      fold.open &&= Boolean(inside && fold.contains(inside));
    });
    document.addEventListener("pointerdown", ({ target }) => close(target));
    this.form.addEventListener("keydown", ({ key }) => key === "Escape" && (close(), this.openDrawer(false)));
    find("menu").addEventListener("click", ({ target }) => target.closest("button") && close());
  }

  // On a phone the settings lie in a drawer below the pictures.
  openDrawer(open = !this.form.classList.contains("open")) {
    this.form.classList.toggle("open", open);
    put(this.board.drawer, { "aria-expanded": open });
  }

  press() {
    const { state, changed } = this, going = ["running", "paused"].includes(state) && !changed;
    this.openDrawer(false);
    if (going) this.board.command(state === "paused" ? "resume" : "pause");
    else this.train();
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

  // Show what belongs to the settings, and put them into the address. A dial that moves changes no model.
  change(dial = false) {
    const { text } = this.settings, { words } = this, counts = this.form.querySelector(".lab-counts");
    this.form.querySelector(".lab-own").hidden = text !== "own";
    this.asking.firstChild.data = text === "own" ? words.begin : words.names;
    this.exchange.hidden = !TALE.test(this.begin.value);
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
    const { layers, channels, steps, seed, first } = this.settings;
    write(this.form.querySelector("summary"), fill(words.size, { layers, channels, steps, seed }));
    const dials = first === "drawn" ? ["kernel"] : this.dials[first] ?? [];
    const usual = { kernel: KERNEL, ...Object.fromEntries(this.controls.map(one => [one.name, one.value])) };
    this.usually.disabled = dials.every(name => this.values[name] === usual[name]);
    const { trained = {} } = this;
    this.changed =
      this.trained && Object.entries(this.settings).some(([name, value]) => trained[name] !== value);
    write(this.form.querySelector(".lab-starts"),
      this.changed ? fill(words.changed, { name: this.runs[0].name }) : "");
    if (!this.trained && !dial) this.prepare();
    this.board.wake(true);
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
    put("kernel", this.values.kernel, KERNEL);
    put("begin", this.begin.value, this.beginnings[this.settings.text]);
    history.replaceState(null, "", address);
  }

  // The text to be read, in tokens, with its alphabet.
  async corpus() {
    this.data ??= await loadEngine(`${this.el.dataset.folder}engine.js`);
    const { texts } = this.data, { text } = this.settings;
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

  // Show the models of the settings, before they have read anything.
  prepare() {
    const own = this.settings.text === "own";
    this.text = { floors: {}, characters: [], questions: own ? null : [], key: this.settings.text };
    this.begun({}, "ready");
  }

  // Begin runs of the settings, and draw what is known of them.
  begun(first, state) {
    const { layers, channels, steps, second } = this.settings, twin = second === "twin";
    Object.assign(this, { layers: Number(layers), heads: channels / HEAD_DIM, total: Number(steps), state });
    Object.assign(this, { moves: [], heard: 0, frames: [[], []], newest: [] });
    this.from = first.losses?.length ?? 0;
    const encodings = [this.settings.first, twin ? this.settings.first : second];
    this.runs = encodings.filter(name => name !== "nothing").map((encoding, side) => {
      const own = side && !twin, shift = this.settings[SHIFTS[own ? 1 : 0]] === "yes";
      const name = side && twin ? this.names.twin : `${this.names[encoding]}${shift ? this.words.shift : ""}`;
      const values = own ? {} : { ...this.values }; // A twin keeps those with which it begins.
      const run = { encoding, shift, values, twin: side && twin, name };
      return { ...run, losses: [], points: [], looks: [], step: 0, ...(side ? {} : first) };
    });
    if (this.runs[1]?.name === this.runs[0].name) this.runs[1].name += " (2)";
    this.showPoints();
    this.frames[1].push({ step: this.from, panel: this.reachPanel() });
    this.facts = this.describe();
    this.lanes.forEach((lane, side) => {
      lane.box.hidden = !this.runs[side];
      if (this.runs[side]) lane.begin(this.runs[side], this.layers, this.heads);
    });
    this.board?.remove();
    this.board = new Bench(name => this.get(name), this.place, command => this.obey(command));
  }

  // Train both models from their first weights, or the first one on from a state that was kept.
  async train(state = null) {
    for (const part of [this.said, this.verdict]) write(part, "");
    let text;
    try {
      text = await this.corpus();
    } catch (error) {
      return write(this.said, error?.message ?? this.words.engine);
    }
    this.stop();
    this.remember(text);
    this.text = text;
    this.field("seed").value = clamp(Math.round(this.field("seed").value) || 1, 1, 999_999);
    this.trained = this.settings;
    const [layers, , batch, rate, steps, seed] = SIZES.map(name => Number(this.trained[name]));
    this.begun({ step: state?.steps ?? 0, ...state?.run }, "getting ready");
    const { train, valid, questions, newline, characters: { length: vocabSize } } = this.text;
    const task = {
      text: train,
      valid,
      questions,
      newline,
      vocabSize,
      shape: { layers, heads: this.heads, batch, rate },
      seed,
      steps,
      every: Math.ceil(steps / EXAMINED),
      often: Math.ceil(steps / MEASURED),
    };
    try {
      this.workers = this.runs.map((run, side) => {
        const asked = this.question(side);
        const own = { ...task, asked, encoding: this.encodingOf(side), ...(!side && state && { state }) };
        const hear = message => run === this.runs[side] && this.receive(side, message);
        return startWorker(this.data, own, hear, error => this.fail(error));
      });
    } catch (error) {
      return this.fail(error);
    }
    for (const button of [this.keep, this.over]) button.disabled = false;
    this.change();
  }

  encodingOf(side) {
    const { encoding, shift, values } = this.runs[side];
    return { name: encoding, shift, ...(side ? values : this.values) };
  }
  fail(error) {
    this.state = "failed";
    write(this.said, fill(this.words.worker, { error: error?.message ?? error }));
    this.board.pull();
  }
  stop() { for (const worker of this.workers ?? []) worker.terminate(); }

  // Keep the curve of the run that ends, for the next pictures of the same text.
  remember(text) {
    const { losses, name, encoding } = this.trained ? this.runs[0] : {}, dial = this.moves?.at(-1)?.[1];
    if (losses?.length > 20)
      this.earlier.push({
        name: dial ? `${name}, ${dial}` : name,
        encoding,
        mean: this.board.run.series.mean.slice(),
        key: this.text.key,
      });
    this.earlier = this.earlier.filter(one => one.key === text.key).slice(-KEPT_RUNS);
  }

  // What the board asks for by hand: dials, pause.
  obey({ do: what, name, value, number }) {
    this.heard = number;
    if (what === "steer") {
      this.values[name] = value;
      const { label } = this.controls.find(one => one.name === name);
      this.steer(name, `${short(label)} ${rounded(value)}`);
    } else if (["pause", "resume"].includes(what)) {
      this.state = { pause: "paused", resume: "running" }[what];
      for (const worker of this.workers) worker.postMessage({ paused: what === "pause" });
    }
    this.board.pull();
  }

  // Give the first model its encoding anew, and note the move where it trains.
  steer(name, words) {
    const { step } = this.runs[0], panel = this.reachPanel(), last = this.moves.at(-1);
    if (this.frames[1].at(-1).step === step) this.frames[1].pop();
    this.frames[1].push({ step, panel });
    this.board.run.frames[1] = []; // They are few, and the last one may have been drawn again.
    if (this.workers && this.going) {
      const close = last && step - last[0] < this.total / 12 && last[2] === name;
      this.moves = [...(close ? this.moves.slice(0, -1) : this.moves), [close ? last[0] : step, words, name]];
    }
    clearTimeout(this.sending);
    const send = () => {
      this.sent = performance.now();
      this.workers?.[0].postMessage({ encoding: this.encodingOf(0) });
    };
    this.sending = setTimeout(send, Math.max(0, REST - (performance.now() - (this.sent ?? 0))));
    this.change(true);
  }
  get going() { return ["running", "paused", "getting ready"].includes(this.state); }

  // Draw a line from one place [distance, share] of the kernel to another.
  shape([from, low], [to, high]) {
    const kernel = [...this.values.kernel], many = Math.max(1, Math.abs(to - from));
    for (let i = 0; i <= many; i++)
      kernel[Math.round(from + ((to - from) * i) / many)] = digit(low + ((high - low) * i) / many);
    this.values.kernel = kernel.join("");
    this.steer("kernel", "kernel");
    this.board.pull();
  }

  receive(side, { step, losses, share, valid, looked, kept }) {
    const run = this.runs[side];
    run.losses.push(...losses);
    run.step = step;
    if (kept) this.save(kept);
    if (share !== undefined || valid !== undefined) {
      run.points.push([step, share === undefined ? valid : Math.round(1e4 * share) / 100]);
      this.showPoints();
    }
    if (looked) this.answer(side, looked, step);
    const going = ["getting ready", "running"].includes(this.state);
    if (going) this.state = this.runs.every(one => one.step >= this.total) ? "finished" : "running";
    if (going && this.state === "finished") this.conclude();
    this.board.pull();
  }

  // Say which of two models learned to answer, or reads an unknown text better. After a dial has moved, say
  // with what each one ends.
  conclude() {
    const { words, moves, text: { questions } } = this, found = this.runs.map(run => run.points.at(-1)[1]);
    const reading = value =>
      fill(questions ? words.answers : words.losses, { value: fixed(value, questions ? 0 : 2) });
    if (moves.length) {
      const [first, second] = this.runs;
      const beside = second ? fill(words.beside, { name: second.name, b: reading(found[1]) }) : "";
      const facts = { moves: moves.map(move => move[1]).join(", "), first: first.name, a: reading(found[0]) };
      return write(this.verdict, fill(words.steered, { ...facts, second: beside }));
    }
    if (!this.runs[1]) return;
    const low = found[0] < found[1] ? 0 : 1;
    const [better, worse] = [this.runs[low].name, this.runs[1 - low].name];
    const [least, most] = [found[low], found[1 - low]];
    const one = least <= CHANCE ? fill(words.one, { name: worse }) : words.unclear;
    const both = least >= FOUND ? words.both : one;
    const learned = most < FOUND ? words[most <= CHANCE ? "neither" : "unclear"] : both;
    write(this.verdict, questions ? learned : fill(words.reads, { better, worse, gap: fixed(most - least) }));
  }

  // Where a model begins to find the answers: the first of two measurements in a row that are right.
  clicks() {
    const { questions } = this.text;
    if (!questions) return [];
    return this.runs.flatMap(({ points }) => {
      const i = points.findIndex(([, share], i) => share >= FOUND && points[i + 1]?.[1] >= FOUND);
      return i < 0 ? [] : [[points[i][0], fill(this.words.clicks, { step: points[i][0] })]];
    });
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
    const { losses } = this.runs[0], { state, total, values, heard } = this, made = losses.length;
    const last = losses.slice(-this.smooth);
    const words = made ? fill(this.words.loss_now, { loss: fixed(sum(last) / last.length) }) : state;
    const frames = this.frames.slice(0, this.el.dataset.watches).map(all => all.length);
    const over = state === "finished";
    return { made, frames, state, over, words, offer: "", reading: "", values, heard, problem: "" };
  }

  // Draw what depends on the state, and each model as it was after a step.
  drawState(step, behind) {
    const { state, words, runs } = this, rests = behind || !["running", "getting ready"].includes(state);
    const going = !this.changed && { running: "pause", "getting ready": "pause", paused: "resume" }[state];
    write(this.button, words[going || "train"]);
    runs.forEach(({ looks }, side) => {
      const then = behind && (looks.findLast(look => look.step <= step) ?? looks[0]);
      this.lanes[side].draw(then || looks.at(-1), rests);
    });
  }

  // The name of a model beside its curves, and the colour there; a second one of the same encoding is dashed.
  curveOf(side) {
    const { encoding, name, shift, twin } = this.runs[side], more = shift && !twin ? "+" : "";
    const label = twin ? name : short(ENCODINGS[encoding]?.name ?? name).split(" ")[0];
    const same = Boolean(side) && encoding === this.runs[0].encoding;
    const plain = twin ? label : { none: "none", drawn: "drawn" }[encoding] ?? label;
    const again = same && !twin && shift === this.runs[0].shift ? " 2" : "";
    return { name: `${plain}${more}${again}`, colour: this.curveColour(side), dashed: same };
  }
  curveColour(side) { return colourOfEncoding(this.runs[side].encoding); }

  describe() {
    const { loss } = this.templates, title = this.words.loss_of;
    const tale = Boolean(this.text.questions), most = Math.log(Math.max(20, this.text.characters.length));
    const curve = (look, name, colour, y = [], dashed = false) =>
      ({ kind: "curve", name, colour, look, dashed, x: pack(y.map((_, i) => i + 1)), y: pack(y) });
    const earlier = this.earlier.map(({ name, mean, encoding }) =>
      curve("thin", fill(this.words.earlier, { name }), colourOfEncoding(encoding),
        [...mean].slice(0, this.total)));
    const levels = Object.entries(this.text.floors).map(([floor, at]) => {
      const name = floor === "floor" ? `floor ${fixed(at)}` : "no look back";
      return { kind: "level", axis: "y", at, name, colour: "" };
    });
    const own = this.curveOf(0), beside = this.runs[1] && this.curveOf(1);
    const marks = [
      ...levels,
      ...earlier,
      ...(beside ? [curve("line", beside.name, beside.colour, [], beside.dashed)] : []),
      curve("thin", "", own.colour),
      curve("line", own.name, own.colour),
    ];
    const dials = this.dials[this.runs[0].encoding] ?? [];
    const y = { ...loss.y, cut: true, span: [0, tale ? TOP : 0.8 * most] };
    return {
      title: this.runs[0].name,
      watches: this.el.dataset.watches,
      total: this.total,
      smooth: this.smooth,
      words: { trained: title, untrained: title },
      loss: { ...loss, title, marks, x: this.steps(loss), y, below: null },
      controls: this.controls
        .filter(({ name }) => dials.includes(name))
        .map(one => ({ ...one, value: this.values[one.name] })),
      baseline: beside ? { losses: pack([]), words: {} } : null,
    };
  }

  // An axis of all steps, with three ticks.
  steps({ x }) {
    const ticks = [0, 0.5, 1].map(share => [share * this.total, (share * this.total).toLocaleString("en")]);
    return { ...x, span: [0, 1.02 * this.total], ticks }; // the last point is not cut in half
  }

  showPoints() {
    this.newest[0] = this.pointsPanel();
    this.frames[0].push({ step: this.runs[0].step, title: this.newest[0].title });
  }

  pointsPanel() {
    const { questions } = this.text, { words } = this;
    const template = this.templates[questions ? "right" : "valid"];
    const marks = [...template.marks], look = marks.pop();
    const curves = this.runs.map(({ points }, side) => {
      const [x, y] = [0, 1].map(i => pack(points.map(point => point[i])));
      return { ...look, ...this.curveOf(side), x, y };
    });
    const values = this.runs.flatMap(run => run.points.map(point => point[1])), [low, high] = template.y.span;
    const most = 0.1 + Math.ceil(10 * Math.max(0.9, ...values)) / 10;
    const span = questions ? [Math.min(low, ...values), high] : [0, most];
    return {
      ...template,
      title: questions ? fill(words.right, { count: questions.length || 40 }) : words.valid,
      marks: [...marks, ...curves.reverse()],
      x: this.steps(template),
      y: { ...template.y, span },
    };
  }

  // The kernel that is drawn by hand, or how the score of an equal query and key changes with distance.
  reachPanel() {
    const { reach: template } = this.templates, { words, heads } = this, [{ encoding }] = this.runs;
    const look = { ...template.marks[0], ...this.curveOf(0), name: "" };
    if (encoding === "drawn") {
      const y = pack([...this.values.kernel].map(one => 100 * shareOf(one)));
      const shapes = (from, to) => this.shape(from, to);
      const share = { ...template.y, span: [0, 100], unit: "%", digits: 0 };
      return { ...template, title: words.kernel, marks: [{ ...look, y }], y: share, shapes };
    }
    const reach = reachOf(this.encodingOf(0), heads);
    const alike = range(heads).every(h => reach[h * WINDOW + 9] === reach[9]);
    const marks = range(alike ? 1 : heads, h => ({ ...look, name: alike ? "" : `head ${h + 1}`,
      y: pack(reach.slice(h * WINDOW, (h + 1) * WINDOW)) }));
    const span = [clamp(Math.floor(Math.min(...reach)) - 1, -40, 0), Math.ceil(Math.max(...reach)) + 1];
    return { ...template, title: words.reach, marks, y: { ...template.y, span } };
  }

  // ------------------------------------------------------------ a reader's questions

  buildQuestions() {
    const { words } = this, box = this.el.querySelector(".lab-mid");
    const row = html("div", { class: "lab-ask" }, box);
    this.asking = html("label", {}, row, " ");
    const field = { name: "begin", spellcheck: "false", maxlength: 200, dir: "auto" };
    this.begin = html("input", field, this.asking);
    const label = { "aria-label": words.exchange, title: words.exchange };
    const exchange = { type: "button", class: "lab-exchange", ...label };
    this.exchange = html("button", exchange, row, "⇄");
    const drawn = html("label", { class: "lab-drawn", title: words.drawn_why }, row);
    this.drawn = html("input", { type: "checkbox" }, drawn);
    html("span", {}, drawn, words.drawn);
    this.said = html("p", { class: "lab-said problem", role: "alert" }, box);
    this.strange = html("p", { class: "problem", role: "status" }, box);
    this.lanes = SIDES.map((_, side) => new Lane(box, this, side));
    this.verdict = html("p", { class: "lab-verdict", role: "status" }, box);
    this.begin.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.asked(), 150);
    });
    this.exchange.onclick = () => {
      this.begin.value = this.begin.value.replace(TALE, text => {
        const [, one, , other] = TALE.exec(text);
        return text.replace(one, "\0").replace(other, one).replace("\0", other);
      });
      this.asked();
    };
    this.drawn.addEventListener("change", () => this.ask());
  }
  asked() {
    this.saveAddress();
    this.ask();
    if (!this.workers) for (const lane of this.lanes) lane.draw();
    this.exchange.hidden = !TALE.test(this.begin.value);
  }

  // The question as a model reads it. The tales ask with a space at the end, which nobody sees in a field.
  question(side = 0) {
    const { encode = text => [...text], lead = "", strange = () => [], questions } = this.text;
    const marks = strange(this.begin.value).join(" "), spaced = TALE.test(this.begin.value) ? " " : "";
    write(this.strange, marks ? fill(this.words.unknown, { marks }) : "");
    const whole = spaced ? `${this.begin.value.trimEnd()} ` : this.begin.value;
    const text = encode(lead + whole).slice(-ASKED), cut = encode(lead + whole).length > ASKED;
    const drawn = this.drawn.checked ? Math.ceil(1e6 * Math.random()) : 0;
    const letters = this.workers || lead ? Array.from(text, token => this.text.characters[token]) : [...text];
    const [, first, , last, who] = (questions && TALE.exec(whole)) ?? [];
    return {
      text: text.length ? text : Uint8Array.of(0), off: [...this.lanes[side].off], drawn,
      letters, lead: cut ? 0 : lead.length, answer: first && (who ? first : last),
    };
  }
  ask() {
    this.workers?.forEach((worker, side) => {
      const { text, off, drawn } = this.question(side);
      worker.postMessage({ asked: { text, off, drawn } });
    });
  }

  answer(side, { weights, next, text, written, silenced, sound, off }, step) {
    const { words, text: { characters, questions } } = this, run = this.runs[side], lane = this.lanes[side];
    const read = tokens => Array.from(tokens, token => characters[token]).join("");
    const before = run.looks.at(-1), { answer, lead } = this.question(side), letters = [...read(text)];
    // It does not write at every look. In between its likeliest letter stands for what it would write.
    const likeliest = characters[next.indexOf(Math.max(...next))];
    const earlier = before?.text.join() === text.join() ? before.written : "";
    const more = written ? [...read(written)].slice(letters.length).join("")
      : this.drawn.checked || earlier.trim()[0] === likeliest ? earlier : `${likeliest}…`;
    const [name] = more.trim().split(/[.。]/), ended = name !== more.trim();
    const right = answer && /^[^…]/.test(name) ? name[0] === answer[0] : undefined;
    run.looks.push({
      step, text, letters, lead, next, written: more, right, number: run.looks.length,
      spelled: right && ended ? name === answer : undefined,
      answerAt: answer ? letters.join("").indexOf(answer) : -1,
      weights: Uint8Array.from(weights, weight => Math.round(255 * weight)),
    });
    if (!silenced) return off.length || write(lane.silenced, "");
    const value = found =>
      questions
        ? fill(words.share, { value: fixed(100 * found.share, 0), count: questions.length })
        : fill(words.loss, { value: fixed(found.valid) });
    const all = this.layers * this.heads;
    const many = off.length > 3 && fill(words.many_heads, { count: off.length, all });
    const heads = (off.length === all && words.all_heads) || many
      || off.map(number => fill(words.head, lane.headAt(number))).join(" and ");
    const whole = questions ? `${fixed(100 * sound.share, 0)}%` : fixed(sound.valid);
    write(lane.silenced, fill(words.silenced, { heads, now: value(silenced), whole }));
    put(lane.silenced, { title: lane.silenced.textContent });
  }

  // The θ with which a side's clocks turn.
  thetaOf(side) { return this.encodingOf(side).theta; }

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
      const choices = this.choices(name);
      return !choices.length || choices.includes(value);
    });
    const whole =
      numbers.length === 3 * count &&
      numbers.every(Number.isFinite) &&
      this.controls.every(({ name }) => values[name] >= 0) &&
      DIGITS.test(values.kernel ?? KERNEL);
    const trained = steps > 0 && steps <= settings.steps && run.losses.length === steps;
    if (magic !== MAGIC || !known || !whole || !trained) throw new Error(magic);
    // A file from before the token shift lacks its weights, which begin at zero.
    const gap = settings.shift ? [] : Array(Number(settings.channels)).fill(0);
    const [weights, mean, square] = range(3, i => {
      const own = numbers.subarray(i * count, (i + 1) * count), at = count - WINDOW * settings.channels;
      return Float32Array.of(...own.subarray(0, at), ...gap, ...own.subarray(at));
    });
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
    const all = { shift: "no", ...settings, second: "nothing" };
    for (const [name, value] of Object.entries(all)) this.set(name, value);
    Object.assign(this.values, { kernel: KERNEL }, values);
    if (settings.text === "own") this.readOwn(own, true);
    this.begin.value = begin;
    this.train(state);
  }
}

for (const el of document.querySelectorAll(".lab")) el.lab ??= new Lab(el);
