// Codes of branches: how alike two of them are, over the stride and pair by pair, if all pairs count or some.

import {
  COLOURS,
  dot,
  explorer,
  format,
  frequencies,
  range,
  sum,
} from "../../../babygpt_live/page/figure.js";

const THETA = 10_000, FURTHEST = 8192;
const STRIDES = [...new Set(range(24 * Math.log2(FURTHEST) + 1, i => Math.round(2 ** (i / 24))))];
const BY_NOTE = { rope: [0.93, 0.99], fourier: [0.31] }; // cosines that note 002 reports

// A Fourier code keeps the pair of sine and cosine; RoPE turns the pair (1, 1) by their angle.
const added = ([sine, cosine]) => [sine, cosine], turned = ([sine, cosine]) => [cosine - sine, sine + cosine];

function cosine(one, other) {
  return dot(one, other) / Math.sqrt(dot(one, one) * dot(other, other));
}

export function measure({ stride, width, counted }) {
  const speeds = frequencies(width, THETA), slow = speeds.slice(-Math.round(counted));
  const code = (at, kind) => slow.flatMap(speed => kind([Math.sin(at * speed), Math.cos(at * speed)]));
  const over = kind => STRIDES.map(at => cosine(code(0, kind), code(at, kind)));
  const [first, second] = [0, stride].map(at => code(at, added));
  const distance = Math.hypot(...first.map((value, i) => value - second[i]));
  const pairs = speeds.map(speed => Math.cos(stride * speed));
  return { fourier: over(added), rope: over(turned), at: cosine(first, second), distance, pairs };
}

function build(page) {
  const { blue, red, green, pink, grey } = COLOURS, dashed = { "stroke-dasharray": "7 5" };
  const labels = ["stride (positions)", "cosine of branches 0 and 1"];
  const left = page.panel("stride", { x: [1, FURTHEST], y: [1.05, -0.55], labels }), over = left.axes;
  over.view({ ...over.sides.x, log: true }, over.sides.y);
  const codes = [
    over.curve("Fourier codes", blue, { style: "stroke-width: 5" }),
    over.curve("2-D RoPE", red, dashed),
  ];
  const told = (values, name, colour) => { // One path holds a level for each number.
    const draw = over.curve(name, colour), ends = values.flatMap(value => [value, value, NaN]);
    return () => draw(ends, values.flatMap(() => [1, FURTHEST, NaN]));
  };
  const note = [
    told(BY_NOTE.rope, "note: 2-D RoPE, 93 and 99%", pink),
    told(BY_NOTE.fourier, "note: its code, 31%", green),
  ];
  page.handle(over.layer, "stride", blue, ({ stride }, { at }) => [over.X(stride), over.Y(at)],
    ([x]) => ({ stride: over.x(x) }));

  const names = ["pair, from the quickest to the slowest", "cosine of the pair"];
  const right = page.panel("pairs", { x: [1, 256], y: [1.05, -1.05], labels: names, least: 1 });
  const { axes } = right;
  const [unused, used] = [axes.curve("does not count", grey), axes.curve("counts", blue)];
  const mean = axes.curve("mean of those that count", pink, dashed);
  // The first pair that counts, from 0.
  const first = ({ counted }, { pairs }) => Math.max(0, pairs.length - Math.round(counted));
  page.handle(
    axes.layer,
    "counted",
    pink,
    (values, found) => [axes.X(first(values, found) + 1), axes.Y(found.at)],
    ([x], { width }) => ({ counted: Math.round(width / 2 + 1 - axes.x(x)) }),
  );

  return (values, found) => {
    const { fourier, rope, at, distance, pairs } = found, from = first(values, found), many = pairs.length;
    const numbers = range(many, i => i + 1);
    axes.span([0, many + 1], [1.05, -1.05]);
    [fourier, rope].forEach((curve, i) => codes[i](curve, STRIDES));
    note.forEach(draw => draw());
    unused(pairs.map((value, i) => (i <= from ? value : NaN)), numbers);
    used(pairs.map((value, i) => (i >= from ? value : NaN)), numbers);
    mean([at, at], [from + 0.5, many + 0.5]);
    const apart = `stride ${format(values.stride)}: cosine ${at.toFixed(2)} under both`;
    left.say(`At ${apart}; Fourier codes are ${distance.toFixed(1)} apart`);
    const count = many - from;
    const some = count > 1 ? `the ${count} slowest of ${many} pairs` : `the slowest of ${many} pairs`;
    right.say(
      `The mean over ${from ? some : `all ${many} pairs`} is ${(sum(pairs.slice(from)) / count).toFixed(2)}`,
    );
  };
}

export default explorer(measure, build);
