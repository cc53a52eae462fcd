// Codes of branches: Fourier's and 2-D RoPE's have the same cosines; and what the slowest pair alone says.

import { COLOURS, dot, explorer, frequencies, most, range } from "./figure.js";

const MOST_BRANCHES = 16;

function cosines(vectors) {
  const lengths = vectors.map(vector => Math.sqrt(dot(vector, vector)));
  return vectors.map((one, i) => vectors.map((other, j) => dot(one, other) / (lengths[i] * lengths[j])));
}

// The pair (1, 1), turned by the angle of a sine and a cosine.
const turned = ([sine, cosine]) => [cosine - sine, sine + cosine];

export function measure({ stride, n, width, theta }) {
  const speeds = frequencies(width, theta);
  const pairs = range(Math.round(n), branch => speeds.map(speed => branch * stride * speed))
    .map(angles => angles.map(angle => [Math.sin(angle), Math.cos(angle)]));
  const codes = pairs.map(row => row.flat()), fourier = cosines(codes);
  const rope = cosines(pairs.map(row => row.flatMap(turned)));
  const distance = Math.hypot(...codes[0].map((value, i) => value - codes[1][i]));
  return { fourier, rope, distance, alike: fourier[0], slowest: pairs.map(row => row.at(-1)[1]) };
}

function build(page) {
  const [added, rotated] = ["fourier", "rope"].map(name => {
    const panel = page.panel(name, { x: [0, 1], y: [0, 1], labels: ["branch", "branch"], least: 1 });
    const cells = panel.axes.matrix("cosine", (i, j, value) => `branches ${i} and ${j}: cosine ${value.toFixed(2)}`);
    return (rows, title) => {
      const ends = [-0.5, rows.length - 0.5];
      panel.axes.span(ends, ends);
      cells(rows, 1, title);
      panel.say(title);
    };
  });

  const labels = ["branch", "cosine with branch 0"];
  const first = page.panel("first", { x: [0, MOST_BRANCHES - 1], y: [1.05, -1.05], labels }), { axes } = first;
  const all = axes.curve("all pairs", COLOURS.blue), alone = axes.curve("the slowest pair", COLOURS.red);
  const last = (values, { alike }) => [axes.X(alike.length - 1), axes.Y(alike.at(-1))];
  page.handle(axes.layer, "n", COLOURS.blue, last, ([x]) => ({ n: axes.x(x) + 1 }));

  return (values, { fourier, rope, distance, alike, slowest }) => {
    const apart = most(fourier.map((row, i) => row.map((value, j) => value - rope[i][j])));
    added(fourier, `Fourier: neighbours have cosine ${alike[1].toFixed(2)} and are ${distance.toFixed(1)} apart`);
    rotated(rope, `2-D RoPE: the same cosines, within ${apart.toExponential(0)}`);
    all(alike);
    alone(slowest);
    first.say(`The slowest pair: cosine ${slowest[1].toFixed(2)}`);
  };
}

export default explorer(measure, build);
