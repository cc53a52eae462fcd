// An explorer of a trained model. The kernel measures, and sends panels for the present values of its controls;
// the page chooses among them, and a head or a letter, without it.

import { addInputs, html, mount, nearest, write } from "./figure.js";
import { readPanel, viewOf } from "./panels.js";

const PATIENCE = 1000; // ms without an answer, after which the page says that it waits

function make(page) {
  const { model, root, controls } = page, views = [];
  const host = {
    wake: () => draw(),
    choose: changes => {
      for (const [name, value] of Object.entries(changes)) if (controls[name]) page.set(name, value);
    },
  };
  root.classList.add("trained");
  const problem = html("p", { class: "problem", role: "alert" }, root), limits = addInputs(page);
  let shown = null, frames = [], waiting = 0;

  function draw() {
    const values = page.values();
    if (model.get("shown") !== shown) {
      shown = model.get("shown");
      frames = shown.frames.map(panels => panels.map(readPanel));
    }
    const stops = controls[shown.frames_by]?.stops, at = stops ? nearest(stops, values[shown.frames_by]) : 0;
    Object.assign(limits, shown.limits);
    write(problem, shown.problem);
    frames[Math.min(at, frames.length - 1)].forEach((spec, i) => {
      (views[i] ??= viewOf(spec, page.panels, host)).draw(spec, null, values);
    });
    for (const knob of page.knobs) knob(values);
    const behind = Object.entries(shown.asked).some(([name, value]) => values[name] !== value);
    if (!behind) waiting = clearTimeout(waiting);
    else waiting ||= setTimeout(() => root.classList.add("waits"), PATIENCE);
    if (!behind) root.classList.remove("waits");
  }
  return draw;
}

export default { render: context => mount(context, make, ["shown"]) };
