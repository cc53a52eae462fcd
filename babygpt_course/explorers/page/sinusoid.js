// Sinusoid: the codes of all positions as a table, and how like one of them is to each.

import { COLOURS, dot, explorer, format, frequencies, range } from "../../../babygpt_live/page/figure.js";

const LENGTH = 64; // rows of the table
const NEAR = 8; // tokens from the position to the one that the title compares with it

// The code of a position: a sine and a cosine for each pair of channels.
const codeOf = (position, speeds) =>
  speeds.flatMap(speed => [Math.sin(position * speed), Math.cos(position * speed)]);

// `position` may lie between two rows of the table: while a hand drags it, it does.
export function measure({ position, width, theta }) {
  const speeds = frequencies(width, theta), chosen = codeOf(position, speeds);
  const table = range(LENGTH, row => codeOf(row, speeds));
  // A code times itself is the number of pairs.
  const likeness = table.map(code => dot(code, chosen) / speeds.length);
  const turning = speeds.filter(speed => speed * LENGTH >= 2 * Math.PI).length;
  return { table, likeness, turning };
}

function build(page) {
  const rows = [-0.5, LENGTH - 0.5];
  const codes = page.panel("table", { x: rows, y: rows, labels: ["channel", "position (tokens)"] });
  const cells = codes.axes.matrix(
    "code",
    (row, channel, value) => `position ${row}, channel ${channel}: ${value.toFixed(2)}`,
  );
  const line = codes.axes.line("y");
  page.handle(
    codes.axes.layer,
    "position",
    "currentColor",
    ({ position }) => [codes.axes.width, codes.axes.Y(position)],
    ([, y]) => ({ position: codes.axes.y(y) }),
  );

  const labels = ["position (tokens)", "likeness (share of code · code)"];
  const likeness = page.panel("likeness", { x: [0, LENGTH - 1], y: [1.1, -0.9], labels });
  const { axes } = likeness;
  const curve = axes.curve("likeness to the chosen position", COLOURS.blue), compared = axes.line("x");
  page.handle(axes.layer, "position", "currentColor", ({ position }) => [axes.X(position), axes.Y(1)],
    ([x]) => ({ position: axes.x(x) }));

  return ({ position, width }, found) => {
    const title = `${found.turning} of ${width / 2} pairs turn at least once in ${LENGTH} tokens`;
    codes.axes.span([-0.5, width - 0.5], rows);
    cells(found.table, 1, title);
    line(position);
    codes.say(title);
    const near = Math.round(position) + (position + NEAR < LENGTH ? NEAR : -NEAR);
    curve(found.likeness);
    compared(near);
    likeness.say(`Likeness of ${format(position)} and ${near}: ${found.likeness[near].toFixed(2)}`);
  };
}

export default explorer(measure, build);
