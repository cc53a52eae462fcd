// One model in a worker: its encoding, first weights, batches, training loop, and what it can do so far.
// The arithmetic of a step is gpt.c, compiled to WebAssembly.

const LAYERS = 2, HEADS = 4, HEAD_DIM = 16, WIDTH = 64, VOCAB = 32, BLOCK = 64, BATCH = 8;
const LR_MATRIX = 0.03, LR_OTHER = 0.02, WARMUP = 10, THETA = 10000;
const SHAPES = [["embed", VOCAB, WIDTH]]; // name, rows (in), columns (out), in the order of struct Weights
for (let i = 0; i < LAYERS; i++) {
  for (const name of ["q", "k", "v", "out"]) SHAPES.push([`${i}.${name}`, WIDTH, WIDTH]);
  SHAPES.push([`${i}.up`, WIDTH, 4 * WIDTH], [`${i}.down`, 4 * WIDTH, WIDTH]);
}
SHAPES.push(["head", WIDTH, VOCAB]);

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
  // engine    exports of gpt.wasm
  // encoding  "none", "sinusoid", "rope" or "alibi"
  constructor(engine, encoding, vocabSize) {
    const floats = (name, n) => new Float32Array(engine.memory.buffer, engine[name].value, n);
    const ints = (name, n) => new Int32Array(engine.memory.buffer, engine[name].value, n);
    this.engine = engine;
    this.steps = 0;
    this.vocabSize = ints("vocab_size", 1)[0] = vocabSize;
    this.tokens = ints("tokens", BATCH * BLOCK); // (B, T)
    this.targets = ints("targets", BATCH * BLOCK).fill(0); // (B, T)
    this.likelihood = floats("likelihood", BATCH * BLOCK); // (B, T)
    this.probabilities = floats("logits", BATCH * BLOCK * VOCAB); // (B T, V) of the next token
    const total = SHAPES.reduce((sum, [, rows, columns]) => sum + rows * columns, 0);
    [this.weights, this.grad] = [floats("w", total), floats("grad", total)];
    this.fillEncoding(encoding, floats);
  }

  // The encoding is four tables: what is added to the embeddings, the angles of q and k, and ALiBi's slopes.
  fillEncoding(encoding, floats) {
    const added = floats("added", BLOCK * WIDTH), slope = floats("slope", HEADS), pairs = HEAD_DIM / 2;
    const cosine = floats("cosine", BLOCK * pairs), sine = floats("sine", BLOCK * pairs);
    for (let t = 0; t < BLOCK; t++) {
      for (let i = 0; i < pairs; i++) {
        const angle = encoding === "rope" ? t * THETA ** ((-2 * i) / HEAD_DIM) : 0;
        [cosine[t * pairs + i], sine[t * pairs + i]] = [Math.cos(angle), Math.sin(angle)];
      }
      for (let c = 0; c < WIDTH && encoding === "sinusoid"; c += 2) {
        const angle = t * THETA ** (-c / WIDTH);
        [added[t * WIDTH + c], added[t * WIDTH + c + 1]] = [Math.sin(angle), Math.cos(angle)];
      }
    }
    for (let h = 0; h < HEADS; h++) slope[h] = encoding === "alibi" ? 2 ** ((-8 * (h + 1)) / HEADS) : 0;
  }

  // PyTorch's first weights: embeddings from a normal distribution, matrices uniform, what writes to the stream 0.
  initialise(random) {
    let at = 0;
    for (const [name, rows, columns] of SHAPES) {
      const zero = name === "head" || /out|down/.test(name), bound = 1 / Math.sqrt(rows);
      for (let i = 0; i < rows * columns; i++) {
        const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
        this.weights[at++] = zero ? 0 : name === "embed" ? normal() : (2 * random() - 1) * bound;
      }
    }
  }

  // One step on the batch in `tokens` and `targets`; returns its mean loss in nats.
  step(total) {
    this.engine.forward(BATCH);
    this.engine.backward();
    const rise = Math.min(1, (this.steps + 1) / WARMUP), share = rise * (1 - this.steps / total);
    this.steps += 1;
    this.engine.update(LR_MATRIX * share, LR_OTHER * share, 1 - 0.9 ** this.steps, 1 - 0.95 ** this.steps);
    return this.loss();
  }

  loss() {
    return this.likelihood.reduce((sum, p) => sum - Math.log(p), 0) / (BATCH * BLOCK);
  }

  // The log-probability of the end of each text, given its beginning: [[beginning, end], ...], lists of tokens.
  logProbabilities(texts) {
    const found = [];
    for (let from = 0; from < texts.length; from += BATCH) {
      const some = texts.slice(from, from + BATCH);
      this.targets.fill(-1);
      this.tokens.fill(0);
      some.forEach(([beginning, end], row) => {
        this.tokens.set([...beginning, ...end].slice(0, -1), row * BLOCK);
        this.targets.set(end, row * BLOCK + beginning.length - 1);
      });
      this.engine.forward(some.length);
      some.forEach((_, row) => {
        const ps = this.likelihood.subarray(row * BLOCK, (row + 1) * BLOCK);
        found.push(ps.reduce((sum, p) => sum + Math.log(p), 0));
      });
    }
    return found;
  }

  // The share of questions whose right answer is likelier than the wrong one; a tie counts half.
  share(questions) { // [prompt, right answer, wrong answer], lists of tokens
    const p = this.logProbabilities(questions.flatMap(([prompt, ...answers]) => answers.map(end => [prompt, end])));
    const points = questions.map((_, i) => (Math.sign(p[2 * i] - p[2 * i + 1]) + 1) / 2);
    return points.reduce((sum, point) => sum + point, 0) / questions.length;
  }

  // Continue each text with the likeliest token until `end` comes or the window is full.
  continue(texts, end) {
    const rows = texts.map(text => [...text]), open = row => row.length === 1 || row.at(-1) !== end;
    while (rows.some(row => open(row) && row.length < BLOCK)) {
      this.tokens.fill(0);
      rows.forEach((row, i) => this.tokens.set(row, i * BLOCK));
      this.engine.forward(rows.length);
      rows.forEach((row, i) => {
        if (!open(row) || row.length >= BLOCK) return;
        const at = (i * BLOCK + row.length - 1) * VOCAB;
        const next = this.probabilities.subarray(at, at + this.vocabSize);
        row.push(next.indexOf(Math.max(...next)));
      });
    }
    return rows;
  }
}

// ---------------------------------------------------------------- the worker

const STEPS_A_TURN = 3; // then the worker looks for messages
let paused = false, wake = () => {};

// Train a model from its first weights, and post its losses every 10 steps. Every `every` steps it also posts
// its continuations of `examples`, whether it finds their right answers likelier, and the share of `questions`.
async function trainModel({ wasm, text, questions, examples, newline, vocabSize, encoding, seed, steps, every }) {
  const { instance } = await WebAssembly.instantiate(wasm, {});
  const model = new GPT(instance.exports, encoding, vocabSize), random = randomNumbers(seed);
  const starts = []; // each window begins at a line's end, so that it holds a whole story
  text.forEach((token, i) => token === newline && i + BLOCK < text.length && starts.push(i));
  model.initialise(random);
  for (let losses = []; ; ) {
    const examined = model.steps % every === 0 || model.steps === steps;
    if (examined || model.steps % 10 === 0) {
      const found = examined && {
        lines: model.continue(examples.map(([prompt]) => prompt), newline),
        likelier: examples.map(example => model.share([example])), share: model.share(questions),
      };
      postMessage({ step: model.steps, losses: losses.splice(0), ...found });
    }
    if (model.steps === steps) return;
    if (model.steps % STEPS_A_TURN === 0) await turn();
    if (paused) await new Promise(resolve => (wake = resolve));
    for (let row = 0; row < BATCH; row++) {
      const start = starts[Math.floor(random() * starts.length)];
      model.tokens.set(text.subarray(start, start + BLOCK), row * BLOCK);
      model.targets.set(text.subarray(start + 1, start + BLOCK + 1), row * BLOCK);
    }
    losses.push(model.step(steps));
  }
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
  if (data.wasm) trainModel(data).catch(error => postMessage({ error: String(error) }));
  else if ("paused" in data) (paused = data.paused) || wake();
};
