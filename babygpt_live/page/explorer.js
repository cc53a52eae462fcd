// An explorer of a trained model. The kernel measures, and sends panels for the present values of its
// controls; the page chooses among them, and a head or a letter, without it.

import { addInputs, html, mount, nearest, same, write } from "./figure.js";
import { readPanel, viewOf } from "./panels.js";

const PATIENCE = 1000; // ms without an answer, after which the page says that it waits

// `addGrid` shows a control that has rows and columns; `moreViews` draw kinds of marks that panels.js does
// not know.
function make(page, addGrid, moreViews) {
  const { model, root, controls } = page, views = [];
  const host = {
    wake: () => draw(),
    choose: changes => {
      for (const [name, value] of Object.entries(changes)) if (controls[name]) page.set(name, value);
    },
  };
  root.classList.add("trained");
  const all = Object.entries(controls), grids = all.filter(([, control]) => control.columns);
  const shows = grids.map(([, control]) => addGrid(page, control));
  const problem = html("p", { class: "problem", role: "alert" }, root);
  // Only these have inputs, and a button for all of them.
  const others = Object.fromEntries(all.filter(([, control]) => !control.columns));
  const limits =
    grids.length === all.length ? {} : addInputs(Object.assign(Object.create(page), { controls: others }));
  let shown = null, frames = [], waiting = 0;

  function draw() {
    const values = page.values();
    if (model.get("shown") !== shown) {
      shown = model.get("shown");
      frames = shown.frames.map(panels => panels.map(readPanel));
    }
    const stops = controls[shown.frames_by]?.stops, at = stops ? nearest(stops, values[shown.frames_by]) : 0;
    Object.assign(limits, shown.limits);
    const frame = frames[Math.min(at, frames.length - 1)] ?? []; // A recording may have no answer.
    frame.forEach((spec, i) => {
      const View = moreViews[spec.marks[0]?.kind];
      const make = View ? (...parts) => new View(...parts) : viewOf.bind(null, spec);
      (views[i] ??= make(page.panels, host)).draw(spec, null, values);
    });
    root.classList.toggle("unanswered", !frame.length);
    if (!frame.length) for (const view of views) view.choose?.(null, shown.problem);
    write(problem, frame.length ? shown.problem : "");
    for (const knob of page.knobs) knob(values);
    for (const show of shows) show(values, frame[0]?.title ?? shown.problem);
    const behind = Object.entries(shown.asked).some(([name, value]) => !same(values[name], value));
    if (!behind) waiting = clearTimeout(waiting);
    else waiting ||= setTimeout(() => root.classList.add("waits"), PATIENCE);
    if (!behind) root.classList.remove("waits");
  }
  return draw;
}

export function explorerWith(addGrid, moreViews = {}) {
  return { render: context => mount(context, page => make(page, addGrid, moreViews), ["shown"]) };
}

export default explorerWith();
