// RoPE: two hands that turn with the positions of a query and a key, and the score over their distance.

import { COLOURS, explorer, format, frequencies, html, onCircle, range, ropeScore, svg } from "./figure.js";

const HEAD_DIM = 32, FURTHEST = 64, LATER = 37; // LATER: from one pair of hands to the other, tokens
const TEXT = "ada chased ben. who chased ben?";
const [CENTRE, RADII, LETTER] = [[110, 105], [90, 72], 22]; // the hands differ, so that neither hides the other

export function measure({ position, distance, pair, theta }) {
  const speeds = frequencies(HEAD_DIM, theta), omega = speeds[Math.round(pair) - 1];
  const score = away => ropeScore(away, speeds);
  const hands = [0, LATER].map(later => [position + later, position + later - distance].map(n => n * omega));
  return { omega, hands, between: distance * omega, scores: range(FURTHEST + 1, score), score: score(distance) };
}

function clock(page, name) {
  const panel = page.panel(name, null, [220, 210]), [x, y] = CENTRE;
  svg("circle", { cx: x, cy: y, r: RADII[0], class: "ring" }, panel.svg);
  const arc = svg("path", { class: "curve", stroke: COLOURS.pink, style: "stroke-width: 5" }, panel.svg);
  const hands = [COLOURS.blue, COLOURS.red].map((stroke, i) => {
    html("li", { style: `--colour: ${stroke}` }, panel.legend, ["query q", "key k"][i]);
    return svg("line", { x1: x, y1: y, stroke, class: "hand" }, panel.svg);
  });
  const layer = svg("g", {}, panel.svg);
  const tip = (angle, r) => onCircle(CENTRE, r, angle);
  const draw = angles => {
    hands.forEach((hand, i) => {
      const [x2, y2] = tip(angles[i], RADII[i]);
      hand.setAttribute("x2", x2);
      hand.setAttribute("y2", y2);
    });
    const [q, k] = angles, wide = Math.min(30, (q - k) / 2); // the arc winds outwards: full turns can be seen
    const points = range(61, i => tip(k + ((q - k) * i) / 60, 30 + (wide * i) / 60));
    arc.setAttribute("d", `M${points.map(point => point.map(n => n.toFixed(1)).join(" ")).join("L")}`);
  };
  return { panel, layer, tip, draw };
}

// How far a hand at some angle is from a place on the clock, by the shorter way.
function turned([x, y], angle) {
  const away = Math.atan2(CENTRE[1] - y, x - CENTRE[0]) - angle;
  return away - 2 * Math.PI * Math.round(away / (2 * Math.PI));
}

function build(page) {
  const { blue, red } = COLOURS;
  const text = page.panel("text", null, [TEXT.length * LETTER, 88]);
  const at = position => (position + 0.5) * LETTER, place = x => x / LETTER - 0.5;
  const letters = [...TEXT].map((letter, i) => {
    return svg("text", { x: at(i), y: 52, class: "letter" }, text.svg, letter === " " ? "·" : letter);
  });
  page.handle(text.svg, "position", blue, v => [at(v.position), 16], ([x]) => ({ position: place(x) }));
  page.handle(text.svg, "distance", red, v => [at(v.position - v.distance), 72],
    ([x], v) => ({ distance: v.position - place(x) }));

  const [here, later] = ["clock", "later"].map((part, n) => {
    const face = clock(page, part);
    ["position", "distance"].forEach((name, i) => { // turning q moves both tokens, turning k only the key
      page.handle(face.layer, name, [blue, red][i], (v, found) => face.tip(found.hands[n][i], RADII[i]), (point, v) => {
        const { omega, hands } = measure(v), tokens = turned(point, hands[n][i]) / omega;
        return { [name]: v[name] + (name === "position" ? tokens : -tokens) };
      });
    });
    return face;
  });

  const labels = ["distance (tokens)", "score q·k (1 at distance 0)"];
  const panel = page.panel("score", { x: [0, FURTHEST], y: [1.1, -0.6], labels }), { axes } = panel;
  const curve = axes.curve("mean over all 16 pairs", blue);
  page.handle(axes.layer, "distance", red, (v, found) => [axes.X(v.distance), axes.Y(found.score)],
    ([x]) => ({ distance: axes.x(x) }));

  return ({ position, distance, pair }, found) => {
    text.say("Drag the blue query: the orange key follows. Drag the key alone.");
    letters.forEach((letter, i) => {
      const colours = { [Math.round(position - distance)]: red, [Math.round(position)]: blue };
      letter.style.fill = colours[i] ?? "currentColor";
    });
    here.draw(found.hands[0]);
    later.draw(found.hands[1]);
    here.panel.say(`Pair ${Math.round(pair)}: ${found.between.toFixed(2)} rad from k to q`);
    later.panel.say(`${LATER} tokens later: again ${found.between.toFixed(2)} rad`);
    curve(found.scores);
    panel.say(`Score at distance ${format(distance)}: ${found.score.toFixed(2)}`);
  };
}

export default explorer(measure, build);
