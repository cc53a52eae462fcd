// The Gaussian kernel: its two parts over the distance, and what they do to the scores and the attention of
// RoPE.

import {
  COLOURS, explorer, format, frequencies, html, percent, range, ropeScore, softmax, sum, unevenness,
} from "../../../babygpt_live/page/figure.js";
import { ENCODINGS, themed } from "../../../babygpt_live/page/glyphs.js";

const HEAD_DIM = 32;
// Distances in tokens.
const NEAR = 8;
const FURTHEST = 64;
const BEYOND = 10_000;
const HIGHEST = 2 * Math.sqrt(HEAD_DIM); // score that a model gives q = k = (1, ..., 1) at distance 0

export function measure({ kernel, position, sigma1, sigma2, alpha1, alpha2 }) {
  const each = [[alpha1, sigma1], [alpha2, sigma2]], last = Math.round(position);
  const logParts = m => each.map(([alpha, sigma]) => Math.log(alpha) - (m / sigma) ** 2 / 2);
  const logK = m => { // The logarithm is finite where K itself is too small for a float.
    const logs = logParts(m), most = Math.max(...logs);
    return most + Math.log(sum(logs.map(log => Math.exp(log - most))));
  };
  const reach = share => range(BEYOND).find(m => logK(m) - logK(0) < Math.log(share)) ?? BEYOND;
  const all = range(FURTHEST + 1), logs = all.map(logK), K = logs.map(Math.exp);
  const speeds = frequencies(HEAD_DIM, 10_000);
  const turned = all.map(m => HIGHEST * ropeScore(m, speeds));
  const plain = all.map(m => all.map(n => turned[Math.abs(m - n)]));
  const relative = (score, m, n) => score + logs[Math.abs(m - n)];
  const absolute = (score, m, n) => score * K[m] * K[n];
  const change = { relative, absolute }[kernel];
  const scores = plain.map((row, m) => row.map((score, n) => change(score, m, n)));
  const [withK, rope] = [scores, plain].map(rows => softmax(rows[last].slice(0, last + 1)));
  const parts = [0, 1].map(i => all.map(m => Math.exp(logParts(m)[i])));
  const found = {
    K,
    parts,
    half: reach(1 / 2),
    hundredth: reach(1 / 100),
    scores,
    plain,
    step: unevenness(scores),
  };
  return { ...found, rows: { with: withK, rope } };
}

function build(page) {
  const { red, green, pink } = COLOURS, [rope, own] = ["rope", "gaussian"].map(key => themed(ENCODINGS[key].colour));
  const distance = { x: [0, FURTHEST], y: [100, 1e-4], labels: ["distance (tokens)", "K"], log: true };
  const fall = page.panel("kernel", distance);
  const whole = fall.axes.curve("K", own, { style: "stroke-width: 4" });
  const parts = [green, pink].map((colour, i) => {
    const [n, sigma, alpha, inside] = ["₁₂"[i], `sigma${i + 1}`, `alpha${i + 1}`, x => Math.min(x, FURTHEST)];
    // At distance σ a part has fallen to its weight times exp(-1/2).
    const place = v => [fall.axes.X(inside(v[sigma])), fall.axes.Y(v[alpha] * Math.exp(-1 / 2))];
    const moved = ([x, y]) => ({ [sigma]: fall.axes.x(x), [alpha]: fall.axes.y(y) * Math.exp(1 / 2) });
    page.handle(fall.axes.layer, sigma, colour, place, moved);
    return fall.axes.curve(`part ${i + 1}: drag its width σ${n} and weight α${n}`, colour);
  });

  const cells = [-0.5, FURTHEST + 0.5], labels = ["position of the key n", "position of the query m"];
  const map = page.panel("scores", { x: cells, y: cells, labels });
  const matrix = map.axes.matrix(
    "score",
    (m, n, score) => `query m = ${m}, key n = ${n}: score ${format(score)}`,
  );
  const query = map.axes.line("y", { "stroke-width": 2 });
  html("li", { style: `--colour: ${red}` }, map.legend, "query: drag it");
  const edge = ({ position }) => [map.axes.width, map.axes.Y(position)];
  page.handle(map.axes.layer, "position", red, edge, ([, y]) => ({ position: map.axes.y(y) }));

  const shares = { x: [0, FURTHEST], y: [1, 1e-4], labels: [labels[0], "attention"], log: true };
  const row = page.panel("attention", shares);
  const curves = { rope: row.axes.curve("RoPE", rope), with: row.axes.curve("with K", own) };

  return ({ position }, found) => {
    fall.say(`K falls to a half at ${format(found.half)} tokens, to 1/100 at ${format(found.hundredth)}`);
    whole(found.K);
    parts.forEach((draw, i) => draw(found.parts[i]));
    const finding = `Along a diagonal scores change by ${found.step.toFixed(2)}`;
    map.say(finding);
    matrix(found.scores, HIGHEST, finding);
    query(position);
    const [near, plain] = [found.rows.with, found.rows.rope].map(weights =>
      percent(sum(weights.slice(-NEAR - 1))),
    );
    row.say(`${near} of attention within ${NEAR} tokens; RoPE alone: ${plain}`);
    for (const [name, draw] of Object.entries(curves)) draw(found.rows[name]);
  };
}

export default explorer(measure, build);
