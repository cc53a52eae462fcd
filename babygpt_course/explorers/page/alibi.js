// ALiBi: what distance takes from a score in each head, and how far each head looks, beside RoPE.

import {
  explorer,
  format,
  frequencies,
  percent,
  range,
  ropeScore,
  softmax,
} from "../../../babygpt_live/page/figure.js";
import { ENCODINGS, themed } from "../../../babygpt_live/page/glyphs.js";

const HEAD_DIM = 32, SHARPNESS = 2, FURTHEST = 64, HEADS = [1, 2, 3, 4, 5, 6];
// Length from the start of head 1's line to the handle that turns it, in the picture's units.
const LEVER = 150;

const nameOf = head => `head ${head}`;
const slopeOf = (head, heads) => 2 ** ((-8 * head) / heads);
// Hues of one lightness can be read on white and on black.
const hueOf = head => `oklch(60% 0.14 ${94 + 46 * head})`;
const each = (table, f) => Object.fromEntries(Object.entries(table).map(([name, value]) => [name, f(value)]));

function cumulate(values) {
  let total = 0;
  return values.map(value => (total += value));
}

// All keys are alike; for RoPE, the query equals them, both normalised.
export function measure({ distance, n_head, steepness, theta }) {
  const speeds = frequencies(HEAD_DIM, theta), scores = {};
  for (const head of HEADS.slice(0, n_head)) {
    scores[nameOf(head)] = range(FURTHEST + 1, away => -steepness * slopeOf(head, n_head) * away);
  }
  scores.RoPE = range(FURTHEST + 1, away => SHARPNESS * Math.sqrt(HEAD_DIM) * (ropeScore(away, speeds) - 1));
  const weights = each(scores, values => cumulate(softmax(values)));
  return { scores, weights, near: each(weights, shares => shares[Math.round(distance)]) };
}

// A curve for RoPE and for each head that there can be; heads that were not measured are hidden.
function curvesOf(axes) {
  const curves = Object.fromEntries(HEADS.map(head => [nameOf(head), axes.curve(nameOf(head), hueOf(head))]));
  curves.RoPE = axes.curve("RoPE", themed(ENCODINGS.rope.colour), { "stroke-dasharray": "7 3" });
  return table => Object.entries(curves).forEach(([name, curve]) => curve(table[name]));
}

function build(page) {
  const x = [0, FURTHEST];
  const score = page.panel("score", { x, y: [1, -20], labels: ["distance (tokens)", "score"] });
  const labels = ["distance (tokens)", "share of attention up to there"];
  const attention = page.panel("attention", { x, y: [1, 0], labels });
  const [scores, shares] = [score, attention].map(({ axes }) => curvesOf(axes));
  const lines = [score, attention].map(({ axes }) => axes.line("x"));
  for (const { axes } of [score, attention]) {
    page.handle(
      axes.layer,
      "distance",
      "currentColor",
      ({ distance }) => [axes.X(distance), 0.95 * axes.height],
      ([at]) => ({ distance: axes.x(at) }),
    );
  }
  // Head 1's line is a lever: it points at the hand.
  const { axes } = score;
  page.handle(axes.layer, "steepness", hueOf(1), (values, found) => {
    const [right, down] = [axes.X(1), axes.Y(found.scores[nameOf(1)][1]) - axes.Y(0)];
    const longer = LEVER / Math.hypot(right, down);
    return [right * longer, axes.Y(0) + down * longer];
  }, ([at, y], { n_head }) => ({ steepness: -axes.y(y) / axes.x(Math.max(1, at)) / slopeOf(1, n_head) }));

  return ({ distance }, { scores: all, weights, near }) => {
    const away = Math.round(distance), first = nameOf(1);
    scores(all);
    shares(weights);
    for (const line of lines) line(distance);
    score.say(
      `Score at distance ${away}: ${first} ${format(all[first][away])}, RoPE ${format(all.RoPE[away])}`,
    );
    attention.say(`Within ${away} tokens: ${first} ${percent(near[first])}, RoPE ${percent(near.RoPE)}`);
  };
}

export default explorer(measure, build);
