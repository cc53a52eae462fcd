// Tables of the encodings: the workers train with them, and the page draws them before anything is trained.

const HEAD_DIM = 16; // channels of a head
const WINDOW = 64; // tokens that a model reads
const USUAL = { theta: 10000, steepness: 1, alpha: 0.7, sigma: 5, wider: 4 }; // as in babygpt
const LEVEL = 35; // highest digit of a kernel that is drawn by hand: one digit from 0 to z for each distance
const KERNEL = Array.from({ length: WINDOW }, (_, d) => digit(Math.exp(-d / 12))).join("");

// The digit of a share from 0 to 1, and back.
function digit(share) { return Math.round(LEVEL * Math.min(1, Math.max(0, share))).toString(36); }
function shareOf(one) { return parseInt(one, 36) / LEVEL; }

// Return the angle by which an encoding turns pair i of q and k at position t.
function angleOf({ name, theta = USUAL.theta }, t, i) {
  return ["rope", "gaussian"].includes(name) ? t * theta ** ((-2 * i) / HEAD_DIM) : 0;
}

// Return what an encoding adds to the scores of a head, by distance. A kernel multiplies attention weights
// before they are divided by their sum, so its logarithm is added; 0 would forbid a distance altogether.
function biasOf({ name, ...values }, head, heads) {
  const { steepness, alpha, sigma, wider, kernel = KERNEL } = { ...USUAL, ...values };
  const bell = (distance, wide) => Math.exp(-(distance ** 2) / (2 * wide ** 2));
  return Float32Array.from({ length: WINDOW }, (_, d) => {
    if (name === "alibi") return -steepness * d * 2 ** ((-8 * (head + 1)) / heads);
    if (name === "drawn") return Math.log(Math.max(1e-4, shareOf(kernel[d])));
    if (name !== "gaussian") return 0;
    return Math.log(Math.max(1e-30, alpha * bell(d, sigma) + (1 - alpha) * bell(d, wider * sigma)));
  });
}

// Return the score of a query and an equal key, by head and by distance, as one list.
function reachOf(encoding, heads) {
  const pairs = HEAD_DIM / 2;
  const turned = Array.from({ length: WINDOW }, (_, d) => {
    let total = 0;
    for (let i = 0; i < pairs; i++) total += Math.cos(angleOf(encoding, d, i));
    return 2 * Math.sqrt(HEAD_DIM) * (total / pairs);
  });
  const heights = h => [...biasOf(encoding, h, heads)].map((bias, d) => bias + turned[d]);
  return Array.from({ length: heads }, (_, h) => heights(h)).flat();
}
