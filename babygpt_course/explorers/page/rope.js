// RoPE: two hands that turn with the positions of a query and a key, and the distances that some hands show
// alike.

import {
  COLOURS,
  explorer,
  format,
  frequencies,
  html,
  onCircle,
  range,
  sum,
  svg,
  write,
} from "../../../babygpt_live/page/figure.js";

const HEAD_DIM = 32;
const FURTHEST = 64;
const LATER = 37; // tokens from one pair of hands to the other
const ALIKE = 10; // degrees by which two distances differ at most on every hand, if they look alike
const TEXT = "ada chased ben. ben fed eva. who chased ben?";
const CENTRE = [110, 105];
const RADII = [90, 72]; // The hands have different lengths, so that neither hides the other.
const LETTER = 19;
const WALK = 5000; // milliseconds
const FAR = 40; // where the handle of a walking query still fits on a phone

// Return the difference of two angles of a hand, by the shorter way, in degrees.
const apart = angle => Math.abs(angle - 2 * Math.PI * Math.round(angle / (2 * Math.PI))) * (180 / Math.PI);

export function measure({ position, distance, pair, n_hands, theta }) {
  const speeds = frequencies(HEAD_DIM, theta).slice(pair, pair + n_hands);
  const [omega] = speeds;
  const shown = Math.round(distance);
  const hands = [0, LATER].map(later => [position + later, position + later - distance].map(n => n * omega));
  const most = away => Math.max(...speeds.map(speed => apart(away * speed)));
  const first = range(FURTHEST + 1, n => apart((n - shown) * omega));
  const all = range(FURTHEST + 1, n => most(n - shown));
  const twins = all.filter((degrees, n) => n !== shown && degrees <= ALIKE).length;
  const pairs = sum(range(FURTHEST, n => (most(n + 1) <= ALIKE ? FURTHEST - n : 0)));
  return { omega, hands, between: distance * omega, first, all, twins, pairs };
}

function words(angle) {
  const degrees = Math.round(angle * (180 / Math.PI)), turns = Math.floor(degrees / 360);
  return `${turns ? `${turns} turn${turns > 1 ? "s" : ""} and ` : ""}${degrees % 360}°`;
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
    const [q, k] = angles, wide = Math.min(30, (q - k) / 2); // An arc that winds outwards shows full turns.
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

// When it comes into view, the query walks towards the end of the text and back once, and the key follows at
// its distance. A hand or a key that touches the explorer stops both where they are.
function walk(page, show) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  let begun = 0, first = 0, position = 0, over = false;
  const frame = now => {
    if (over || !page.root.isConnected) return;
    if (!begun) [begun, first] = [now, page.model.get("position")];
    const share = Math.min(1, (now - begun) / WALK);
    position = first + (FAR - first) * Math.sin(Math.PI * share) ** 2;
    show({ ...page.values(), position });
    over = share === 1;
    requestAnimationFrame(frame);
  };
  const stop = () => {
    if (begun && !over) page.set("position", position);
    over = true;
  };
  for (const kind of ["pointerdown", "keydown"]) page.root.addEventListener(kind, stop, { capture: true });
  new IntersectionObserver((entries, observer) => {
    if (!entries.at(-1).isIntersecting) return; // a busy page reports several moments at once
    observer.disconnect();
    requestAnimationFrame(frame);
  }, { threshold: 0.5 }).observe(page.panels.children[1]); // the first clock
}

function build(page) {
  const { blue, red } = COLOURS;
  const text = page.panel("text", null, [TEXT.length * LETTER, 98]);
  const at = position => (position + 0.5) * LETTER, place = x => x / LETTER - 0.5;
  const letters = [...TEXT].map((letter, i) => {
    return svg("text", { x: at(i), y: 56, class: "letter" }, text.svg, letter === " " ? "·" : letter);
  });
  page.handle(text.svg, "position", blue, v => [at(v.position), 16], ([x]) => ({ position: place(x) }));
  page.handle(text.svg, "distance", red, v => [at(v.position - v.distance), 79],
    ([x], v) => ({ distance: v.position - place(x) }));

  const [here, later] = ["clock", "later"].map((part, n) => {
    const face = clock(page, part);
    ["position", "distance"].forEach((name, i) => { // turning q moves both tokens, turning k only the key
      page.handle(
        face.layer,
        name,
        [blue, red][i],
        (v, found) => face.tip(found.hands[n][i], RADII[i]),
        (point, v) => {
          const { omega, hands } = measure(v),
            tokens = turned(point, hands[n][i]) / omega;
          return { [name]: v[name] + (name === "position" ? tokens : -tokens) };
        },
      );
    });
    return face;
  });

  const labels = ["distance (tokens)", "difference (degrees)"];
  const panel = page.panel("alike", { x: [0, FURTHEST], y: [180, 0], labels }), { axes } = panel;
  const alone = axes.curve("first hand", COLOURS.grey);
  const every = axes.curve("hand that differs most", blue);
  const limit = axes.line("y");
  page.handle(
    axes.layer,
    "distance",
    red,
    v => [axes.X(v.distance), axes.Y(0)],
    ([x]) => ({ distance: axes.x(x) }),
  );

  const draw = ({ position, distance, pair, n_hands }, found) => {
    text.say("Drag the blue query: the orange key follows. Drag the key alone.");
    letters.forEach((letter, i) => {
      const colours = { [Math.round(position - distance)]: red, [Math.round(position)]: blue };
      letter.style.fill = colours[i] ?? "currentColor";
    });
    here.draw(found.hands[0]);
    later.draw(found.hands[1]);
    here.panel.say(`Pair ${pair}: ${words(found.between)} from k to q`);
    later.panel.say(`${LATER} tokens later: again ${words(found.between)}`);
    alone(n_hands > 1 ? found.first : undefined);
    every(found.all);
    limit(ALIKE);
    const hands = `${n_hands} hand${n_hands > 1 ? "s" : ""}`;
    const many = `${found.twins || "no"} other distance${found.twins === 1 ? "" : "s"}`;
    panel.say(`${hands}: ${many} within ${ALIKE}° of distance ${Math.round(distance)}`);
    const total = format((FURTHEST * (FURTHEST + 1)) / 2);
    write(
      panel.readout,
      `Of ${total} pairs of distances, ${found.pairs} are within ${ALIKE}° on ` +
            `${n_hands > 1 ? "all hands" : "this hand"}.`,
    );
  };
  walk(page, values => {
    const found = measure(values);
    draw(values, found);
    for (const knob of page.knobs) knob(values, found);
  });
  return draw;
}

export default explorer(measure, build);
