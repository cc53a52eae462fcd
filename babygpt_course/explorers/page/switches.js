// Switches: a grid of small buttons that a reader switches off, and a table of what was measured in each
// trial.

import {
  clamp,
  COLOURS,
  html,
  makePanel,
  percent,
  put,
  range,
  same,
  write,
} from "../../../babygpt_live/page/figure.js";
import { PanelView, withUnit } from "../../../babygpt_live/page/panels.js";

const SMALL = 40; // More switches than this are drawn small.
const KEPT = 8; // trials in the table, beside the baseline
const KINDS = Object.values(COLOURS);
const byPlace = (a, b) => a[0] - b[0] || a[1] - b[1];

// The grid of a control, before the panels. Wide pages have a column for each row of the control, narrow ones
// a row: 30 layers of 9 heads then have targets of 24 px on both. Returns what shows a value.
export function addSwitches(page, control) {
  const { name, label, rows, columns, row, column, names, options } = control;
  const cells = range(rows * columns, k => [Math.floor(k / columns), k % columns]);
  const box = html("div", { class: cells.length > SMALL ? "switches many" : "switches" });
  page.panels.prepend(box);
  html("p", {}, box, label).style.fontWeight = 600;
  const legend = html("ul", { class: "explorer-legend" }, box);
  if (names[0])
    names.forEach((kind, i) => html("li", { style: `--colour: ${KINDS[i % KINDS.length]}` }, legend, kind));
  const places = {
    role: "group",
    "aria-label": `${label}. Arrow keys move.`,
    style: `--rows: ${rows}; --columns: ${columns}`,
  };
  const grid = html("div", { class: "switches-grid", ...places }, box);
  for (const [side, word, many] of [["r", row, rows], ["c", column, columns]]) {
    const name = i =>
      html(
        "span",
        { class: side, style: `--${side}: ${i}`, "aria-hidden": true },
        grid,
        i ? `${i + 1}` : `${word} 1`,
      );
    range(many, name);
  }
  const bar = html("div", { class: "switches-bar" }, box);
  const reading = html("p", { class: "explorer-readout" }, bar);
  // On a phone the panel is out of sight.
  const finding = html("p", { class: "switches-finding", "aria-hidden": true }, bar);
  const count = html("p", {}, bar), all = html("button", { type: "button" }, bar, "all on");
  // A recording answers only these.
  const recorded = page.model.get("together") && new Set(options.flat().map(String));
  const off = () => page.model.get(name);
  const isOff = cell => off().some(other => same(other, cell));
  const words = ([i, j]) => {
    const kind = names[control.kinds[i][j]], place = `${row} ${i + 1}, ${column} ${j + 1}`;
    return kind ? `${place}: ${percent(control.shades[i][j])} ${kind}` : place;
  };
  let at = 0;
  const buttons = cells.map((cell, k) => {
    const [i, j] = cell, colour = KINDS[control.kinds[i][j] % KINDS.length];
    const look = `--r: ${i}; --c: ${j}; --colour: ${colour}; --shade: ${percent(control.shades[i][j])}`;
    const button = html(
      "button",
      { type: "button", style: look, "aria-label": `switch off ${words(cell)}` },
      grid,
    );
    if (recorded && !recorded.has(String(cell))) put(button, { "aria-disabled": true });
    button.addEventListener("click", () => {
      if (button.ariaDisabled) return;
      page.set(
        name,
        isOff(cell) ? off().filter(other => !same(other, cell)) : [...off(), cell].sort(byPlace),
      );
    });
    for (const kind of ["pointermove", "pointerdown", "focus"]) button.addEventListener(kind, () => read(k));
    return button;
  });
  function read(k) {
    at = k;
    buttons.forEach((button, other) => put(button, { tabindex: other === k ? 0 : -1 }));
    const state = buttons[k].ariaDisabled ? " (not recorded on this page)" : isOff(cells[k]) ? " (off)" : "";
    write(reading, words(cells[k]) + state);
  }
  grid.addEventListener("keydown", event => {
    // A wide page shows rows as columns.
    const turned = columns > 1 && buttons[1].offsetTop > buttons[0].offsetTop;
    const way = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
    if (!way) return;
    const [i, j] = cells[buttons.indexOf(event.target)].map((n, side) =>
      clamp(n + way[turned ? 1 - side : side], 0, [rows, columns][side] - 1),
    );
    buttons[i * columns + j].focus();
    event.preventDefault();
  });
  all.addEventListener("click", () => page.set(name, []));
  read(0);
  return (values, title) => {
    buttons.forEach((button, k) => put(button, { "aria-pressed": isOff(cells[k]) }));
    const few = recorded && recorded.size < cells.length ? ` (${recorded.size} recorded)` : "";
    write(count, `${values[name].length} of ${cells.length} ${column}s off${few}`);
    // A disabled button would leave the reach of the keyboard.
    put(all, { "aria-disabled": !values[name].length });
    write(finding, title);
    read(at);
  };
}

// What was measured: the baseline in grey, and the trials of this visit, the newest first. A name brings its
// trial back.
export class TrialsView extends PanelView {
  build(spec) {
    this.panel = makePanel(this.parent, spec.title);
    this.panel.svg.remove();
    this.panel.box.style.setProperty("--grow", spec.width);
    const table = html("table", { class: "trials" }, this.plot);
    [this.head, this.body] = [html("tr", {}, html("thead", {}, table)), html("tbody", {}, table)];
    this.rows = [];
  }
  show({ title, marks: [{ quantities, names, values, settings, label }] }) {
    const trials = names.map((name, i) => ({ name, values: values[i], settings: settings[i] }));
    const known = trial => this.rows.some(row => same(row.trial, trial));
    // Trials of other quantities are no comparison.
    if (!known(trials[0])) this.begin([label, ...quantities.map(quantity => quantity.label)]);
    for (const trial of trials) if (!known(trial)) this.add(trial, quantities);
    while (this.rows.length > KEPT + 1) this.rows.pop().row.remove();
    const whole = this.rows[0].trial.values;
    const full = quantities.map(({ span }, i) =>
      Math.max(span[1], ...this.rows.map(({ trial }) => trial.values[i])),
    );
    for (const { trial, bars } of this.rows) {
      bars.forEach((bar, i) =>
        put(bar, { style: `--share: ${trial.values[i] / full[i]}; --whole: ${whole[i] / full[i]}` }),
      );
    }
    this.choose(trials.at(-1), title);
  }
  choose(now, title) {
    for (const { trial, row, button } of this.rows) {
      row.classList.toggle("now", same(trial, now));
      put(button, { "aria-current": same(trial, now) });
    }
    this.panel.say(title);
  }
  begin(labels) {
    this.rows = [];
    for (const part of [this.head, this.body]) part.replaceChildren();
    for (const words of labels) html("th", { scope: "col" }, this.head, words);
    put(this.plot, { style: `--columns: ${labels.length - 1}` });
  }
  add(trial, quantities) {
    const row = html("tr");
    const button = html("button", { type: "button" }, html("th", { scope: "row" }, row), trial.name);
    button.addEventListener("click", () => this.host.choose?.(trial.settings));
    const bars = quantities.map((quantity, i) => {
      const value = trial.values[i];
      const text = typeof value === "string";
      const first = this.rows[0]?.trial.values[i] ?? value;
      const cell = html(
        "td",
        text && value !== first ? { class: "other" } : {},
        row,
        text ? value : withUnit(value, quantity),
      );
      return html("i", text ? { hidden: true } : {}, cell);
    });
    this.rows.splice(1, 0, { trial, row, button, bars });
    this.body.insertBefore(row, this.body.children[1] ?? null);
  }
  remove() {}
}
