// The page's side of a view: shows the picture, sends its width, gives the sliders names and values.

const VIEW = ".babygpt-view";

function showPicture(model, image) {
  let shown = null;
  const show = () => {
    const png = model.get("value");
    if (!png || !png.byteLength) return;
    const next = URL.createObjectURL(new Blob([png], { type: "image/png" }));
    image.src = next;
    if (shown) URL.revokeObjectURL(shown);
    shown = next;
  };
  model.on("change:value", show);
  show();
  return () => {
    model.off("change:value", show);
    if (shown) URL.revokeObjectURL(shown);
  };
}

function keepInStep(model, name, put) {
  const change = () => put(model.get(name));
  model.on(`change:${name}`, change);
  change();
  return () => model.off(`change:${name}`, change);
}

// The kernel draws for this width and this screen; a window that is being dragged is waited for.
function sendWidth(model, el) {
  let timer = null;
  let screen = null;
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
  const otherScreen = () => {
    screen?.removeEventListener("change", otherScreen);
    screen = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
    screen.addEventListener("change", otherScreen);
    soon();
  };
  const size = new ResizeObserver(soon);
  size.observe(el);
  otherScreen();
  return () => {
    size.disconnect();
    clearTimeout(timer);
    screen.removeEventListener("change", otherScreen);
  };
}

// A slider's handle knows neither its label nor the value that a reader sees beside it.
function nameSliders(root) {
  for (const box of root.querySelectorAll(".widget-inline-hbox")) {
    const handle = box.querySelector(".noUi-handle");
    if (!handle) continue;
    const words = {
      "aria-label": box.querySelector(".widget-label")?.textContent,
      "aria-valuetext": box.querySelector(".widget-readout")?.textContent,
    };
    for (const [name, text] of Object.entries(words)) {
      if (text && handle.getAttribute(name) !== text) handle.setAttribute(name, text);
    }
    const readout = box.querySelector(".widget-readout[contenteditable]");
    if (readout && !readout.hasAttribute("aria-label")) {
      readout.setAttribute("role", "textbox");
      readout.setAttribute("aria-label", words["aria-label"]);
    }
  }
}

function watchSliders(el) {
  let tries = 0;
  let timer = null;
  const watch = new MutationObserver(() => nameSliders(watch.root));
  const begin = () => {
    watch.root = el.closest(VIEW);
    if (watch.root) {
      nameSliders(watch.root);
      watch.observe(watch.root, {
        subtree: true, childList: true, characterData: true, attributes: true,
        attributeFilter: ["aria-valuetext"],
      });
    } else if (++tries < 100) {
      timer = setTimeout(begin, 50); // the view is put into the page after it is made
    }
  };
  begin();
  return () => {
    clearTimeout(timer);
    watch.disconnect();
  };
}

function hideStill(model) {
  const style = document.createElement("style");
  document.head.append(style);
  const stop = keepInStep(model, "still", (still) => {
    const copy = `[data-babygpt="${still}"]`;
    style.textContent = still ? `${copy}, .jp-OutputArea-child:has(${copy}) { display: none; }` : "";
  });
  return () => {
    stop();
    style.remove();
  };
}

function render({ model, el }) {
  const image = document.createElement("img");
  image.className = "widget-image";
  image.draggable = false;
  const voice = document.createElement("span");
  voice.className = "babygpt-voice";
  voice.setAttribute("role", "status");
  voice.setAttribute("aria-live", "polite");
  el.classList.add("babygpt-picture");
  el.append(image, voice);
  const ends = [
    showPicture(model, image),
    keepInStep(model, "alt", (alt) => { image.alt = alt; }),
    keepInStep(model, "announcement", (text) => { voice.textContent = text; }),
    sendWidth(model, el),
    watchSliders(el),
    hideStill(model),
  ];
  return () => ends.forEach((end) => end());
}

export default { render };
