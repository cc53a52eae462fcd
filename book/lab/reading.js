// What the start page and the lab share: signs, clocks, workers.

import { html, put } from "../../babygpt_live/page/figure.js";

export const CLOCK = 1; // pair of channels whose angles the clocks show, from 0
const SIGNS = { "\n": "↵", " ": "␣" };
export const shown = character => SIGNS[character] ?? character;

let engine = null;
let workerUrl = null;

// What engine.js holds: the worker's text, its WebAssembly, and the stories. May raise an error.
export function loadEngine(address) {
  engine ??= new Promise((resolve, reject) => {
    const script = html("script", { src: address });
    script.addEventListener("load", () => resolve(window.babygptEngine));
    script.addEventListener("error", () => reject((engine = null)));
    document.head.append(script);
  });
  return engine;
}

// Train a model in a worker of its own; `hear` gets what it posts, and `fail` an error. May raise one.
export function startWorker({ worker, wasm }, task, hear, fail) {
  workerUrl ??= URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
  const it = new Worker(workerUrl);
  it.addEventListener("error", fail, { once: true });
  it.addEventListener("message", ({ data }) => (data.error ? fail(data.error) : hear(data)));
  it.postMessage({ wasm: Uint8Array.from(atob(wasm), byte => byte.charCodeAt(0)), ...task });
  return it;
}

// Draw a clock around (x, y) whose hand has turned by an angle since twelve, in radians.
export function drawClock([ring, hand], x, y, r, angle) {
  put(ring, { cx: x, cy: y, r });
  put(hand, { x1: x, y1: y, x2: x + r * Math.sin(angle), y2: y - r * Math.cos(angle) });
}
