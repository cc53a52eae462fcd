// Polar gates: waves that multiply queries and keys, and what of two positions is left in a score.

import {
  COLOURS, dot, explorer, format, frequencies, html, most, onCircle, put, range, svg, unevenness,
} from "../../../babygpt_live/page/figure.js";

const HEAD_DIM = 32;
const LAST = 48;
const SUMS = [24, 48, 72];
const SCALE = 2 / Math.sqrt(HEAD_DIM); // A model scales its scores like this.
// In every 16 tokens, those from number 13 on are MASK.
const PERIOD = 16;
const MASK = 13;
const CENTRE = [110, 105];
const RADIUS = 85;

const radians = degrees => (degrees * Math.PI) / 180;
const hidden = i => i % PERIOD >= MASK;
const cosines = (wave, phi = 0) => wave.map(angle => Math.cos(angle + phi));
const pairs = (wave, phi = 0) => [...cosines(wave, phi), ...wave.map(angle => Math.sin(angle + phi))];
const product = (wave, phi) => cosines(wave).map(x => x * Math.cos(phi));

// The factors of q and k at the angles of all waves, what alpha multiplies, and what phi does.
const GATES = {
  "cos(iω) cos φ": { q: product, k: product, masks: "qk", words: "Gates times cos φ" },
  "cos(iω + φ)": { q: cosines, k: cosines, masks: "qk", words: "Waves begin at cos φ" },
  "... α on keys only": { q: cosines, k: cosines, masks: "k", words: "Waves begin at cos φ" },
  "[cos, sin]": { q: wave => pairs(wave), k: wave => pairs(wave), masks: "k" },
  "[cos, sin], φ between": {
    q: wave => pairs(wave),
    k: pairs,
    masks: "k",
    words: "At i = j, scores times cos φ",
  },
};

function norm(vector) { // A model norms like this; the eps is that of float64.
  const size = Math.sqrt(dot(vector, vector) / vector.length + Number.EPSILON);
  return vector.map(x => x / size);
}

export function measure({ gate, order, alpha, phi, theta }) {
  const speeds = frequencies(2 * HEAD_DIM, theta), last = order === "gates, then norm" ? norm : x => x;
  const gated = (side, factor) => range(LAST + 1, i => {
    const factors = GATES[gate][side](speeds.map(speed => i * speed), radians(phi));
    return last(GATES[gate].masks.includes(side) && hidden(i) ? factors.map(x => factor * x) : factors);
  });
  const scoresOf = (queries, keys) => queries.map(q => keys.map(k => SCALE * dot(q, k)));
  const gates = gated("k", alpha), scores = scoresOf(gated("q", alpha), gates);
  const plain = scoresOf(gated("q", 1), gated("k", 1)); // alpha = 1 is no MASK
  const largest = f => most(scores.map((row, i) => row.map((_, j) => f(i, j))));
  const spread = values => Math.max(...values) - Math.min(...values);
  const across = SUMS.map(n =>
    range(SUMS[0] + 1, at => plain[(n - SUMS[0]) / 2 + at][(n + SUMS[0]) / 2 - at]),
  );
  const doubled = Math.max(0, Math.ceil(Math.log2(most(plain) / 12 + 1e-9)));
  return {
    gates,
    scores,
    step: unevenness(plain),
    across,
    moved: largest((i, j) => scores[i][j] - plain[i][j]),
    uneven: largest((i, j) => plain[i][j] - plain[j][i]),
    apart: Math.max(...range(SUMS[0] + 1, at => spread(across.map(row => row[at])))),
    top: { gates: last === norm ? 2 : 1, scores: 12 * 2 ** doubled },
  };
}

// A hand that is dragged to the angle phi, and its shadow.
function dial(page, colour, dark) {
  const panel = page.panel("phase", null, [220, 210]);
  const [x, y] = CENTRE;
  const draw = look => svg("path", look, panel.svg);
  const tip = (phi, r = RADIUS) => onCircle(CENTRE, r, radians(phi));
  svg("circle", { cx: x, cy: y, r: RADIUS, class: "ring" }, panel.svg);
  const shadow = draw({ class: "hand", stroke: dark, style: "stroke-width: 12" });
  const drop = draw({ class: "mark" });
  const [arc, hand] = ["curve", "hand"].map(look => draw({ class: look, stroke: colour }));
  html("li", { style: `--colour: ${colour}` }, panel.legend, "φ: drag it");
  html("li", { style: `--colour: ${dark}` }, panel.legend, "cos φ");
  page.handle(svg("g", {}, panel.svg), "phi", colour, ({ phi }) => tip(phi),
    ([to, up]) => ({ phi: (Math.atan2(y - up, to - x) / Math.PI) * 180 }));
  return ({ gate, phi }) => {
    const [to, up] = tip(phi), { words } = GATES[gate];
    put(shadow, { d: `M${x} ${y}H${to}` });
    put(drop, { d: `M${to} ${up}V${y}` });
    put(hand, { d: `M${x} ${y}L${to} ${up}` });
    put(arc, { d: `M${range(31, i => tip((phi * i) / 30, 30).join(" ")).join("L")}` });
    put(panel.svg, { opacity: words ? 1 : 0.4 });
    panel.say(
      words ? `${words} = ${format(Number(Math.cos(radians(phi)).toFixed(2)))}` : "This gate has no φ",
    );
  };
}

function build(page) {
  const places = [-0.5, LAST + 0.5], { blue, red, green } = COLOURS;
  const waves = page.panel("gates", { x: places, y: places, labels: ["channel", "position (tokens)"] });
  const cell = (i, n, value) => `${hidden(i) ? "MASK" : "token"} at ${i}, channel ${n}: ${format(value)}`;
  const gates = waves.axes.matrix("gate", cell);
  html("li", { style: "--colour: currentColor" }, waves.legend, "frame: MASK tokens");
  const masked = range(Math.floor(LAST / PERIOD), i => [i * PERIOD + MASK, (i + 1) * PERIOD]);
  const sides = ["position of the key j", "position of the query i"];
  const map = page.panel("scores", { x: places, y: places, labels: sides });
  const scores = map.axes.matrix(
    "score",
    (i, j, score) => `query i = ${i}, key j = ${j}: score ${format(score)}`,
  );

  const ends = [-SUMS[0], SUMS[0]];
  const lines = page.panel("across", { x: ends, y: [12, -12], labels: ["i − j (tokens)", "score"] });
  // The widest curve lies below, so that coinciding ones can be seen.
  const looks = [["70", 8], ["a0", 5], ["", 2]];
  const curves = looks.map(([fade, width], i) =>
    lines.axes.curve(`i + j = ${SUMS[i]}`, blue + fade, { style: `stroke-width: ${width}` }));
  const phase = dial(page, red, green);

  return (values, { step, top, ...found }) => {
    const moved = `α = ${format(values.alpha)} moves scores by ${found.moved.toFixed(2)}`;
    waves.say(moved);
    waves.axes.span([-0.5, found.gates[0].length - 0.5], places);
    gates(found.gates, top.gates, moved);
    waves.axes.frames(masked);
    const change = step < 1e-9 ? "constant along diagonals" : `diagonals change by ${step.toFixed(2)}`;
    const finding = `φ = ${format(Math.round(values.phi))}°: ${change}`;
    map.say(finding);
    scores(found.scores, top.scores, finding);
    lines.say(
      `Scores change by ${found.apart.toFixed(1)} along i + j, by ${found.uneven.toFixed(1)} if i and j swap`,
    );
    lines.axes.span(ends, [top.scores, -top.scores]);
    curves.forEach((curve, i) => curve(found.across[i], range(SUMS[0] + 1, n => 2 * n - SUMS[0])));
    phase(values);
  };
}

export default explorer(measure, build);
