// Models that train in workers, for race.js and lab.js. The worker's text, the compiled engine, stories and a
// recorded run lie in engine.js, which is loaded when the reader presses a button.

let engine = null, workerUrl = null;

// What engine.js holds. Raises an error if it cannot be loaded.
function loadEngine(folder) {
  engine ??= new Promise((resolve, reject) => {
    const script = html("script", { src: `${folder}engine.js` });
    script.addEventListener("load", () => resolve(window.babygptEngine));
    script.addEventListener("error", () => reject((engine = null)));
    document.head.append(script);
  });
  return engine;
}

// Train a model in a worker of its own; `hear` gets what it posts, and `fail` an error. May raise one.
function startWorker({ worker, wasm }, task, hear, fail) {
  workerUrl ??= URL.createObjectURL(new Blob([worker], { type: "text/javascript" }));
  const it = new Worker(workerUrl);
  it.addEventListener("error", fail, { once: true });
  it.addEventListener("message", ({ data }) => (data.error ? fail(data.error) : hear(data)));
  it.postMessage({ wasm: Uint8Array.from(atob(wasm), byte => byte.charCodeAt(0)), ...task });
  return it;
}
