// Page side of the live lab. Beside a picture: describes it, sends its width, names the sliders above it.
// Beside a guess: makes its choices one group for the keyboard.

// The kernel draws for this width and this screen.
function sendWidth(model, el) {
  const width = Math.floor(el.clientWidth);
  if (!width || !el.isConnected) return;
  const [before, ratio] = model.get("size");
  if (width === before && devicePixelRatio === ratio) return;
  model.set("size", [width, devicePixelRatio]);
  model.save_changes();
}

// A slider's handle has neither its label nor the value shown beside it.
function nameSliders(root) {
  for (const box of root.querySelectorAll(".widget-inline-hbox")) {
    const handle = box.querySelector(".noUi-handle");
    if (!handle) continue;
    const readout = box.querySelector(".widget-readout");
    const label = box.querySelector(".widget-label")?.textContent;
    for (const [name, text] of [["aria-label", label], ["aria-valuetext", readout?.textContent]]) {
      if (text && handle.getAttribute(name) !== text) handle.setAttribute(name, text);
    }
    if (readout?.matches("[contenteditable]:not([aria-label])")) {
      readout.setAttribute("role", "textbox");
      readout.setAttribute("aria-label", label);
    }
  }
}

// Without this, JupyterLab's arrow keys would go from cell to cell, and the browser's not from choice to choice.
function groupChoices(root, group) {
  for (const input of root.querySelectorAll("input")) {
    input.setAttribute("data-lm-suppress-shortcuts", "true");
    if (input.type === "radio" && input.name !== group) input.name = group;
  }
}

async function render({ model, el }) {
  const id = model.get("picture");
  const picture = id && (await model.widget_manager.get_model(id));
  el.innerHTML = '<span class="babygpt-voice" role="status" aria-live="polite"></span>';
  const voice = el.firstChild;
  const group = `guess-${Math.random()}`; // a page may show a guess twice
  let root = null;
  let timer = null;
  const act = () => {
    if (!root) return;
    if (!picture) return groupChoices(root, group);
    for (const image of root.querySelectorAll("img.widget-image")) image.alt = picture.get("alt");
    const words = picture.get("announcement");
    if (voice.textContent !== words) voice.textContent = words; // each change calls `act` again
    nameSliders(root);
  };
  const watch = new MutationObserver(act);
  let late; // a cell that runs keeps the kernel from answering: then the view says so
  const ask = () => {
    model.send({});
    late ??= setTimeout(() => root.classList.add("babygpt-waits"), 1000);
  };
  model.on("msg:custom", () => (late = clearTimeout(late), root.classList.remove("babygpt-waits")));
  const resized = () => {
    if (!root && (root = el.closest(".babygpt-view, .babygpt-guess"))) {
      root.classList.add("babygpt-alive");
      for (const event of ["pointerup", "keydown"]) root.addEventListener(event, ask);
      const kinds = { subtree: true, childList: true, characterData: true };
      watch.observe(root, { ...kinds, attributeFilter: ["aria-valuetext"] });
      act();
    }
    clearTimeout(timer); // while a window is being dragged, nothing is sent
    timer = setTimeout(sendWidth, 120, model, el);
  };
  const size = new ResizeObserver(resized); // also calls when this widget is put into the page
  size.observe(el);
  addEventListener("resize", resized); // another zoom or screen has another pixel ratio
  if (picture) picture.on("change:alt change:announcement", act);
  return () => {
    size.disconnect();
    watch.disconnect();
    clearTimeout(timer);
    removeEventListener("resize", resized);
    if (picture) picture.off("change:alt change:announcement", act);
  };
}

export default { render };
