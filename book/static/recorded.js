// Sliders without a kernel: they choose among pictures that were drawn when the book was made.
"use strict";

const loaded = new Map();  // address -> its image, as a promise: kept, so that the browser keeps it too

function load(address, priority = "low") {
  if (!loaded.has(address)) {
    const image = new Image();
    const there = new Promise((done, fail) => Object.assign(image, { onload: () => done(image), onerror: fail }));
    Object.assign(image, { fetchPriority: priority, src: address });
    there.catch(() => loaded.delete(address));  // the network may be back next time
    loaded.set(address, there);
  }
  return loaded.get(address);
}

class Recorded {
  constructor(figure) {
    this.folder = figure.dataset.folder;
    this.data = JSON.parse(figure.querySelector("script").textContent);
    this.at = this.data.controls.map(control => control.rest);
    this.panels = [...figure.querySelectorAll(".recorded-panels img")];
    this.box = figure.querySelector(".recorded-panels");
    this.said = figure.querySelector(".recorded-said");
    const place = figure.querySelector(".recorded-controls");
    this.inputs = this.data.controls.map((control, i) => this.makeInput(control, i, place));
    place.hidden = false;
    this.showPositions();
  }

  makeInput(control, i, place) {
    const input = document.createElement(control.kind === "select" ? "select" : "input");
    const label = document.createElement("label");
    label.append(Object.assign(document.createElement("span"), { textContent: control.label }), input);
    if (control.kind === "select") control.stops.forEach((words, stop) => input.append(new Option(words, stop)));
    else {
      Object.assign(input, { type: "range", min: 0, max: control.stops.length - 1, step: 1 });
      label.append(document.createElement("output"));
    }
    for (const event of ["pointerenter", "focus"]) input.addEventListener(event, () => this.fetch(i));
    input.addEventListener("input", () => {
      this.at[i] = Number(input.value);
      this.show();
    });
    place.append(label);
    return input;
  }

  pictureAt(at) {
    const number = this.data.controls.reduce((sum, control, i) => sum * control.stops.length + at[i], 0);
    return this.data.pictures[this.data.numbers[number]];
  }

  images(picture, priority) {
    return (picture.panels ?? []).map(name => load(this.folder + name, priority));
  }

  // Fetch what moving a control may show, beginning with what is nearest.
  fetch(i) {
    const stops = this.data.controls[i].stops.map((_, stop) => stop);
    stops.sort((a, b) => Math.abs(a - this.at[i]) - Math.abs(b - this.at[i]));
    for (const stop of stops) this.images(this.pictureAt(this.at.with(i, stop)), "low");
  }

  async show() {
    this.showPositions();
    const picture = this.wanted = this.pictureAt(this.at);
    this.box.classList.toggle("refused", Boolean(picture.refused));
    if (picture.refused) return this.tell(picture.refused);
    try {
      const images = await Promise.all(this.images(picture, "high"));
      await Promise.all(images.map(image => image.decode()));
      if (this.wanted !== picture) return;  // the slider has moved on
      images.forEach((image, i) => {
        this.panels[i].loading = "eager";  // even where it is just out of sight
        if (this.panels[i].src !== image.src) this.panels[i].src = image.src;
      });
      this.tell(picture.alt);
    } catch {
      if (this.wanted !== picture) return;
      this.box.classList.add("refused");
      this.tell("This picture could not be loaded.");
    }
  }

  showPositions() {
    this.data.controls.forEach((control, i) => {
      const words = control.stops[this.at[i]];
      this.inputs[i].value = this.at[i];
      if (control.kind === "select") return;
      this.inputs[i].setAttribute("aria-valuetext", words);
      this.inputs[i].nextElementSibling.textContent = words;
    });
  }

  tell(words) {
    this.said.textContent = words;
    this.box.setAttribute("aria-label", words);
  }
}

for (const figure of document.querySelectorAll("figure.recorded")) figure.recorded = new Recorded(figure);
