// Stands in for the kernel of an explorer that the page computes. `widget` is the explorer; tools/book/computed.py
// puts it before this text. The page's address keeps the values: who opens it sees the same view.

function localModel(name, state) {
  const calls = new Map(), asked = new URLSearchParams(location.search), rest = {};
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
  return {
    get: key => state[key],
    set(key, value) {
      if (state[key] === value) return;
      state[key] = value;
      for (const call of calls.get(`change:${key}`) ?? []) call();
    },
    save_changes() { // browsers refuse a page that changes its address too often
      clearTimeout(saving);
      saving = setTimeout(save, 300);
    },
    on(key, call) { calls.set(key, [...(calls.get(key) ?? []), call]); },
    off(key, call) { calls.set(key, (calls.get(key) ?? []).filter(known => known !== call)); },
  };
}

for (const el of document.querySelectorAll(`[data-explorer="${NAME}"]`)) {
  const state = JSON.parse(el.querySelector("script").textContent);
  el.replaceChildren();
  widget.render({ model: localModel(NAME, state), el });
}
