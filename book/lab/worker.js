// One model in a worker: its first weights, batches, training loop, and what it can do. encodings.js stands
// before this text. The arithmetic of a step is gpt.c, compiled to WebAssembly.

const VALIDATED = 32; // windows, a multiple of every batch size
const LR_MATRIX = 0.03;
const LR_OTHER = 0.02;
const WARMUP = 10; // steps

// Numbers between 0 and 1 that follow from a seed (mulberry32).
function randomNumbers(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

class GPT {
  // engine    exports of gpt.wasm, new
  // encoding  { name: "none", "sinusoid", "rope", "alibi", "gaussian", "learned" or "drawn",
  //             `shift` if a token also carries the one before it, and other values than USUAL }
  constructor(engine, encoding, vocabSize, { layers = 2, heads = 4, batch = 8, rate = 1 } = {}) {
    const total = engine.make(layers, heads, vocabSize, batch);
    const width = heads * HEAD_DIM;
    const pairs = HEAD_DIM / 2;
    const { buffer } = engine.memory, padded = 8 * Math.ceil(vocabSize / 8);
    const at = name => new Uint32Array(buffer, engine[name].value, 1)[0];
    const floats = (name, n) => new Float32Array(buffer, at(name), n);
    const ints = (name, n) => new Int32Array(buffer, at(name), n);
    Object.assign(this, { engine, vocabSize, padded, layers, heads, batch, width, rate, steps: 0 });
    this.tokens = ints("tokens", batch * WINDOW); // (B, T)
    this.targets = ints("targets", batch * WINDOW); // (B, T)
    this.likelihood = floats("likelihood", batch * WINDOW); // (B, T)
    this.probabilities = floats("logits", batch * WINDOW * padded); // (B T, V) of the next token
    this.attention = floats("attention", layers * batch * heads * WINDOW * WINDOW); // (L, B, H, T, T)
    this.heard = floats("heard", layers * heads); // (L, H)  0 for a head that is switched off
    [this.weights, this.grad, this.mean, this.square] = ["w", "grad", "mean", "square"].map(name =>
      floats(name, total),
    );
    this.tables = {
      cosine: floats("cosine", WINDOW * pairs),
      sine: floats("sine", WINDOW * pairs),
      bias: floats("bias", heads * WINDOW),
    };
    this.shapes = [["embed", padded, width]]; // name, rows (in), columns (out), in their order
    for (let i = 0; i < layers; i++) {
      for (const name of ["q", "k", "v", "out"]) this.shapes.push([`${i}.${name}`, width, width]);
      this.shapes.push([`${i}.up`, width, 4 * width], [`${i}.down`, 4 * width, width]);
    }
    this.shapes.push(["head", width, padded], ["shift", 1, width], ["added", WINDOW, width]);
    this.added = this.weights.subarray(total - WINDOW * width); // (T, C) to the embeddings
    this.learned = encoding.name === "learned";
    new Int32Array(buffer, engine.learned.value, 1)[0] = this.learned;
    new Int32Array(buffer, engine.shifts.value, 1)[0] = Boolean(encoding.shift);
    this.encode(encoding);
  }

  // Fill the tables of the encoding: what is added to embeddings, angles of q and k, and what is added to
  // scores.
  encode(encoding) {
    const { cosine, sine, bias } = this.tables, { width, heads } = this, pairs = HEAD_DIM / 2;
    const { name, theta } = { ...USUAL, ...encoding };
    for (let t = 0; t < WINDOW; t++) {
      for (let i = 0; i < pairs; i++) {
        const angle = angleOf(encoding, t, i);
        [cosine[t * pairs + i], sine[t * pairs + i]] = [Math.cos(angle), Math.sin(angle)];
      }
      for (let c = 0; c < width && name === "sinusoid"; c += 2) {
        const angle = t * theta ** (-c / width);
        [this.added[t * width + c], this.added[t * width + c + 1]] = [Math.sin(angle), Math.cos(angle)];
      }
    }
    for (let h = 0; h < heads; h++) bias.set(biasOf(encoding, h, heads), h * WINDOW);
  }

  // PyTorch's first weights: embeddings from a normal distribution, matrices uniform, what writes to the
  // stream 0.
  initialise(random) {
    const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    let at = 0;
    for (const [name, rows, columns] of this.shapes) {
      if (name === "added" && !this.learned) return;
      const zero = ["head", "shift"].includes(name) || /out|down/.test(name), bound = 1 / Math.sqrt(rows);
      const draw =
        name === "embed"
          ? normal
          : name === "added"
            ? () => 0.02 * normal()
            : () => (2 * random() - 1) * bound;
      for (let i = 0; i < rows * columns; i++) this.weights[at++] = zero ? 0 : draw();
    }
  }

  // One step on the batch in `tokens` and `targets`; returns its mean loss in nats.
  step(total) {
    const rise = Math.min(1, (this.steps + 1) / WARMUP), share = this.rate * rise * (1 - this.steps / total);
    this.engine.forward(this.batch);
    this.engine.backward();
    this.steps += 1;
    this.engine.update(LR_MATRIX * share, LR_OTHER * share, 1 - 0.9 ** this.steps, 1 - 0.95 ** this.steps);
    return this.loss(this.batch);
  }

  loss(windows) {
    return (
      this.likelihood.subarray(0, windows * WINDOW).reduce((sum, p) => sum - Math.log(p), 0) /
      (windows * WINDOW)
    );
  }

  // Put windows of a text that begin at some places into the batch.
  load(text, starts) {
    starts.forEach((start, row) => {
      this.tokens.set(text.subarray(start, start + WINDOW), row * WINDOW);
      this.targets.set(text.subarray(start + 1, start + WINDOW + 1), row * WINDOW);
    });
  }

  // The mean loss on windows that lie evenly over a text, nats per character.
  validate(text) {
    const apart = (text.length - WINDOW - 1) / VALIDATED;
    const starts = Array.from({ length: VALIDATED }, (_, i) => Math.floor(i * apart));
    let total = 0;
    for (let from = 0; from < VALIDATED; from += this.batch) {
      this.load(text, starts.slice(from, from + this.batch));
      this.engine.forward(this.batch);
      total += this.loss(this.batch) * this.batch;
    }
    return total / VALIDATED;
  }

  // Do something without the heads that have these numbers, counted through the layers.
  without(off, act) {
    for (const number of off) this.heard[number] = 0;
    const found = act();
    this.heard.fill(1);
    return found;
  }

  // Where the heads look in a text, (L, H, n, n) in one list, and how likely each character is after it,
  // (V,).
  look(text) {
    const n = text.length;
    const { layers, heads, batch } = this;
    const weights = new Float32Array(layers * heads * n * n);
    this.tokens.fill(0).set(text);
    this.engine.forward(1);
    for (let i = 0; i < layers * heads * n; i++) {
      const [layer, head, row] = [Math.floor(i / n / heads), Math.floor(i / n) % heads, i % n];
      const from = (((layer * batch) * heads + head) * WINDOW + row) * WINDOW;
      weights.set(this.attention.subarray(from, from + n), i * n);
    }
    return {
      weights,
      next: this.probabilities.slice((n - 1) * this.padded, (n - 1) * this.padded + this.vocabSize),
    };
  }

  // The log-probability of the end of each text, given its beginning: [[beginning, end], ...], lists of
  // tokens.
  logProbabilities(texts) {
    const found = [];
    for (let from = 0; from < texts.length; from += this.batch) {
      const some = texts.slice(from, from + this.batch);
      this.targets.fill(-1);
      this.tokens.fill(0);
      some.forEach(([beginning, end], row) => {
        this.tokens.set([...beginning, ...end].slice(0, -1), row * WINDOW);
        this.targets.set(end, row * WINDOW + beginning.length - 1);
      });
      this.engine.forward(some.length);
      some.forEach((_, row) => {
        const ps = this.likelihood.subarray(row * WINDOW, (row + 1) * WINDOW);
        found.push(ps.reduce((sum, p) => sum + Math.log(p), 0));
      });
    }
    return found;
  }

  // The share of questions whose right answer is likelier than the wrong one; a tie counts half.
  share(questions) { // [prompt, right answer, wrong answer], lists of tokens
    const p = this.logProbabilities(
      questions.flatMap(([prompt, ...answers]) => answers.map(end => [prompt, end])),
    );
    const points = questions.map((_, i) => (Math.sign(p[2 * i] - p[2 * i + 1]) + 1) / 2);
    return points.reduce((sum, point) => sum + point, 0) / questions.length;
  }

  // Continue a text until `end` comes or the window is full: with the likeliest token, or with one that is
  // drawn.
  continue(text, end, random = null) {
    const row = [...text];
    this.tokens.fill(0).set(row);
    while (row.length < WINDOW && (row.length === 1 || row.at(-1) !== end)) {
      this.engine.forward(1);
      const at = (row.length - 1) * this.padded, next = this.probabilities.subarray(at, at + this.vocabSize);
      let left = random?.();
      const chosen = random ? next.findIndex(p => (left -= p) < 0) : next.indexOf(Math.max(...next));
      row.push((this.tokens[row.length] = Math.max(0, chosen)));
    }
    return row;
  }
}

// ---------------------------------------------------------------- the worker

const STEPS_A_TURN = 3; // then the worker looks for messages
let paused = false, wake = () => {}, model = null, task = null, asked = null, losses = [], told = 0;

// Post what is new, with the losses since the last time.
function tell(more) {
  told = performance.now();
  postMessage({ step: model.steps, losses: losses.splice(0), ...more });
}

// Train a model, from its first weights or from a `state` of an earlier one, and post its losses every
// `often` steps. Every `every` steps it also posts what it can do: its share of right answers to `questions`,
// and its loss on `valid`. Afterwards it stays, for a reader's questions.
async function trainModel(data) {
  const { wasm, text, newline, vocabSize, encoding, shape, seed, steps, every, often, state } = (task = data);
  const { instance } = await WebAssembly.instantiate(wasm, {});
  const random = randomNumbers(seed + (state?.steps ?? 0));
  model = new GPT(instance.exports, encoding, vocabSize, shape);
  model.initialise(random);
  for (const name of state ? ["weights", "mean", "square"] : []) model[name].set(state[name]);
  model.steps = state?.steps ?? 0;
  const starts = []; // each window begins at a line's end, so that it holds a whole story
  text.forEach((token, i) => (newline < 0 || token === newline) && i + WINDOW < text.length && starts.push(i));
  for (;;) {
    const examined = model.steps % every === 0 || model.steps === steps;
    if (examined || model.steps % often === 0 || performance.now() > told + 1000) {
      tell({ ...(examined && examine()), ...look(examined) });
    }
    if (model.steps >= steps) return;
    if (model.steps % STEPS_A_TURN === 0) await turn();
    if (paused) await new Promise(resolve => (wake = resolve));
    model.load(text, Array.from({ length: model.batch }, () => starts[Math.floor(random() * starts.length)]));
    losses.push(model.step(steps));
  }
}

function examine(off = []) {
  const { questions, valid } = task;
  return model.without(off, () => ({
    ...(questions && { share: model.share(questions) }),
    ...(valid && { valid: model.validate(valid) }),
  }));
}

// What the model makes of the reader's text. A whole answer also writes on, and counts without the heads that
// are off.
function look(whole) {
  if (!asked) return {};
  const { text, off, drawn } = asked;
  const written = () => model.continue(text, task.newline, drawn ? randomNumbers(drawn) : null);
  const looked = model.without(off, () => ({ ...model.look(text), ...(whole && { written: written() }) }));
  return {
    looked: {
      ...looked,
      text,
      off,
      ...(whole && off.length && { silenced: examine(off), sound: examine() }),
    },
  };
}

// Let messages in. A timer would wait for 4 ms.
function turn() {
  return new Promise(resolve => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => (port1.close(), resolve());
    port2.postMessage(null);
  });
}

onmessage = ({ data }) => {
  if (data.wasm)
    return ([asked] = [data.asked, trainModel(data).catch(error => postMessage({ error: String(error) }))]);
  if ("paused" in data) (paused = data.paused) || wake();
  if (data.asked) asked = data.asked;
  if (!model) return;
  if (data.encoding) model.encode(data.encoding);
  const { steps, weights, mean, square } = model;
  const kept = data.keep && { steps, weights: weights.slice(), mean: mean.slice(), square: square.slice() };
  tell({ ...((data.asked || data.encoding) && look(true)), kept });
};
