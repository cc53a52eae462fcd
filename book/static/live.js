// Stands in for the kernel. `widget` draws what the page shows; tools/book/live_parts.py puts it, and the name of
// its MODULE, before this text. An explorer of a formula keeps its values in the page's address: who opens that
// sees the same view. The other states are recordings.

// The state in a recording: JSON, a zero byte, and the bytes of its arrays; gzipped, in base64.
async function unpack(text) {
  const zipped = new Blob([Uint8Array.from(atob(text), letter => letter.charCodeAt(0))]);
  const stream = zipped.stream().pipeThrough(new DecompressionStream("gzip"));
  const all = new Uint8Array(await new Response(stream).arrayBuffer()), end = all.indexOf(0);
  const revive = (key, value) => (key === "data" ? all.subarray(...value.map(n => end + 1 + n)) : value);
  return JSON.parse(new TextDecoder().decode(all.subarray(0, end)), revive);
}

// What the kernel answered for the values of the controls that were recorded together, in all combinations.
function answer({ together, controls, answers, ...state }, before) {
  let unknown = null;
  const number = together.reduce((sum, name) => {
    const control = controls.find(control => control.name === name), { stops, options } = control;
    if (stops) return sum * stops.length + $figure.nearest(stops, state[name]);
    const at = options.findIndex(option => JSON.stringify(option) === JSON.stringify(state[name]));
    if (at < 0) unknown = control;
    return sum * options.length + at;
  }, 0);
  if (unknown) return { ...before, asked: {}, frames: [], problem: unknown.refusal };
  return { ...before, ...answers[number] }; // of a refused combination there is only the problem
}

// Let the address of the page keep the values of an explorer; returns what saves them.
function keepInAddress(name, state) {
  const asked = new URLSearchParams(location.search), rest = {};
  for (const { name: control, stops, options, value } of state.controls) {
    const given = asked.get(`${name}.${control}`);
    const known = stops ? given >= stops[0] && given <= stops.at(-1) : options.map(String).includes(given);
    if (given && known) state[control] = stops ? Number(given) : options.find(option => String(option) === given);
    rest[control] = value;
  }
  let saving = 0;
  const save = () => {
    const address = new URL(location);
    for (const [control, value] of Object.entries(rest)) {
      address.searchParams.delete(`${name}.${control}`);
      if (state[control] !== value) address.searchParams.set(`${name}.${control}`, state[control]);
    }
    history.replaceState(null, "", address);
  };
  return () => { // browsers refuse a page that changes its address too often
    clearTimeout(saving);
    saving = setTimeout(save, 300);
  };
}

// The n-th explorer of its kind on a page has an address of its own.
function localModel(state, n) {
  const calls = new Map(), save = state.name ? keepInAddress(`${state.name}${n || ""}`, state) : () => {};
  if (state.answers) state.shown = answer(state, {});
  return {
    get: key => state[key],
    set(key, value) {
      if (state[key] === value) return;
      state[key] = value;
      if (state.answers) state.shown = answer(state, state.shown);
      for (const call of calls.get(`change:${key}`) ?? []) call();
    },
    save_changes: save,
    on(key, call) { calls.set(key, [...(calls.get(key) ?? []), call]); },
    off(key, call) { calls.set(key, (calls.get(key) ?? []).filter(known => known !== call)); },
  };
}

// Let the first run of a page play once when half of it is in sight or it fills half of the screen (a phone never shows
// half of a high one), unless a reader wants calm. It takes six seconds; its own button, its slider and its curves stop
// it.
function playOnce(el) {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const seen = new IntersectionObserver(entries => {
    const { intersectionRect, boundingClientRect, rootBounds } = entries.at(-1);
    if (intersectionRect.height < Math.min(boundingClientRect.height, rootBounds.height) / 2) return;
    seen.disconnect();
    if (el.board.at === null) el.board.replay();
  }, { threshold: Array.from({ length: 21 }, (_, i) => i / 20) });
  seen.observe(el);
}

for (const figure of document.querySelectorAll(`[data-live="${MODULE}"]:has(> script)`)) {
  const data = figure.querySelector("script"), el = document.createElement("div");
  const isFirst = figure === document.querySelector("figure.live[data-live=dashboard]");
  const n = [...document.querySelectorAll(`figure[data-live="${MODULE}"]`)].indexOf(figure);
  const show = state => {
    widget.render({ model: localModel(state, n), el });
    if (isFirst) playOnce(el);
  };
  data.replaceWith(el); // a page that has this script twice mounts nothing twice
  if (data.type === "application/json") show(JSON.parse(data.textContent));
  else unpack(data.textContent).then(show);
}
