// Page side of the live lab. A picture: shows it, sends its width, names the sliders beside it.
// A guess: makes its choices one group for the keyboard.

function follow(model, name, put) {
  const change = () => put(model.get(name));
  model.on(`change:${name}`, change);
  change();
  return () => model.off(`change:${name}`, change);
}

function showPicture(model, image) {
  let shown = null;
  const stop = follow(model, "value", (png) => {
    if (!png?.byteLength) return;
    const next = URL.createObjectURL(new Blob([png], { type: "image/png" }));
    image.src = next;
    if (shown) URL.revokeObjectURL(shown);
    shown = next;
  });
  return () => {
    stop();
    if (shown) URL.revokeObjectURL(shown);
  };
}

// The kernel draws for this width and this screen. While a window is being dragged, nothing is sent.
function sendWidth(model, el) {
  let timer = null;
  const send = () => {
    const width = Math.floor(el.clientWidth);
    if (!width || !el.isConnected) return;
    if (width === model.get("cell_width") && devicePixelRatio === model.get("ratio")) return;
    model.set({ cell_width: width, ratio: devicePixelRatio });
    model.save_changes();
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(send, 120);
  };
  const size = new ResizeObserver(soon);
  size.observe(el);
  addEventListener("resize", soon); // another zoom or screen has another pixel ratio
  soon();
  return () => {
    size.disconnect();
    clearTimeout(timer);
    removeEventListener("resize", soon);
  };
}

// Calls `act` with the closest ancestor of a class, and again after every change inside it.
function watchAncestor(el, selector, act, attributeFilter) {
  const watch = new MutationObserver(() => act(root));
  let root = null;
  let timer = null;
  const begin = (tries) => {
    root = el.closest(selector);
    if (root) {
      act(root);
      const options = attributeFilter ? { characterData: true, attributeFilter } : {};
      watch.observe(root, { subtree: true, childList: true, ...options });
    } else if (tries) {
      timer = setTimeout(begin, 50, tries - 1); // a widget is put into the page after it is made
    }
  };
  begin(100);
  return () => {
    clearTimeout(timer);
    watch.disconnect();
  };
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

function hideStill(model) {
  const style = document.createElement("style");
  document.head.append(style);
  const stop = follow(model, "still", (still) => {
    const copy = `[data-babygpt="${still}"]`;
    style.textContent = `${copy}, .jp-OutputArea-child:has(${copy}) { display: none; }`;
  });
  return () => {
    stop();
    style.remove();
  };
}

function renderPicture({ model, el }) {
  el.classList.add("babygpt-picture");
  el.innerHTML = '<img class="widget-image" draggable="false">'
    + '<span class="babygpt-voice" role="status" aria-live="polite"></span>';
  const [image, voice] = el.children;
  const ends = [
    showPicture(model, image),
    follow(model, "alt", (alt) => { image.alt = alt; }),
    follow(model, "announcement", (text) => { voice.textContent = text; }),
    sendWidth(model, el),
    watchAncestor(el, ".babygpt-view", nameSliders, ["aria-valuetext"]),
    hideStill(model),
  ];
  return () => ends.forEach((end) => end());
}

// Without this, JupyterLab's arrow keys would go from cell to cell, and the browser's not from choice to choice.
function renderGuess({ el }) {
  el.style.display = "none";
  const group = `guess-${Math.random()}`; // a page may show a guess twice
  return watchAncestor(el, ".babygpt-guess", (guess) => {
    for (const input of guess.querySelectorAll("input")) {
      input.setAttribute("data-lm-suppress-shortcuts", "true");
      if (input.type === "radio" && input.name !== group) input.name = group;
    }
  });
}

export default {
  render: (view) => (view.model.get("guess") ? renderGuess(view) : renderPicture(view)),
};
