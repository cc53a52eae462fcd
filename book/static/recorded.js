// Sliders without a kernel: they choose among pictures that were drawn when the book was made.
// Of several groups of controls only one is away from rest at a time; see tools/book/recording.py.
"use strict";

const WORKERS = 4;  // pictures that are fetched at once before they are wanted
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

function numberIn(data, group, at) {
  return group.pictures[group.controls.reduce((sum, i) => sum * data.controls[i].stops.length + at[i], 0)];
}

function groupFor(data, moved, at) {
  // Of the groups that hold the moved control the one that leaves most others where they are.
  const away = group => group.controls.filter(i => at[i] !== data.controls[i].rest).length;
  const holds = data.groups.filter(group => group.controls.includes(moved));
  return holds.reduce((best, group) => (away(group) > away(best) ? group : best));
}

class Recorded {
  constructor(figure) {
    this.figure = figure;
    this.folder = figure.dataset.folder;
    this.data = JSON.parse(figure.querySelector("script").textContent);
    this.at = this.data.controls.map(control => control.rest);
    this.panels = [...figure.querySelectorAll(".recorded-panels img")];
    this.box = figure.querySelector(".recorded-panels");
    this.said = figure.querySelector(".recorded-said");
    this.inputs = this.data.controls.map((control, i) => this.makeInput(control, i));
    this.makeReset();
    figure.querySelector(".recorded-controls").hidden = false;
    this.showPositions();
  }

  makeInput(control, i) {
    const select = control.kind === "select";
    const input = document.createElement(select ? "select" : "input");
    const label = document.createElement("label");
    const name = document.createElement("span");
    name.textContent = control.label;
    if (select) {
      control.stops.forEach((words, stop) => input.append(new Option(words, stop)));
      label.append(name, input);
    } else {
      Object.assign(input, { type: "range", min: 0, max: control.stops.length - 1, step: 1 });
      label.append(name, input, document.createElement("output"));
    }
    for (const event of ["pointerenter", "focus"]) input.addEventListener(event, () => this.fetch(i));
    input.addEventListener("input", () => this.move(i, Number(input.value)));
    this.figure.querySelector(".recorded-controls").append(label);
    return input;
  }

  makeReset() {
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: "reset" });
    button.addEventListener("click", () => {
      this.at = this.data.controls.map(control => control.rest);
      this.show(this.data.groups[0]);
    });
    this.figure.querySelector(".recorded-controls").append(button);
  }

  addresses(number) {
    return (this.data.pictures[number].panels ?? []).map(name => this.folder + name);
  }

  // Fetch what moving a control may show, beginning with what is nearest.
  async fetch(i) {
    const group = groupFor(this.data, i, this.at);
    const here = group.pictures.indexOf(numberIn(this.data, group, this.at));
    const away = number => Math.abs(group.pictures.indexOf(number) - here);
    const queue = [...new Set(group.pictures)].sort((a, b) => away(a) - away(b));
    this.fetched = group;
    this.queue = queue;  // whoever is fetching for another control stops
    const work = async () => {
      while (queue.length && this.queue === queue) {
        await Promise.allSettled(this.addresses(queue.shift()).map(address => load(address)));
      }
    };
    await Promise.all(Array.from({ length: WORKERS }, work));
  }

  move(i, stop) {
    const group = groupFor(this.data, i, this.at);
    this.at = this.data.controls.map((control, j) => (group.controls.includes(j) ? this.at[j] : control.rest));
    this.at[i] = stop;
    this.show(group);
    if (this.fetched !== group) this.fetch(i);
  }

  async show(group) {
    this.showPositions();
    const number = numberIn(this.data, group, this.at), picture = this.data.pictures[number];
    this.wanted = picture;
    this.box.classList.toggle("refused", Boolean(picture.refused));
    if (picture.refused) {
      this.tell(picture.refused);
      return;
    }
    try {
      const images = await Promise.all(this.addresses(number).map(address => load(address, "high")));
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
      if (control.kind !== "select") {
        this.inputs[i].setAttribute("aria-valuetext", words);
        this.inputs[i].nextElementSibling.textContent = words;
      }
    });
  }

  tell(words) {
    this.said.textContent = words;
    this.box.setAttribute("aria-label", words);
  }
}

for (const figure of document.querySelectorAll("figure.recorded")) figure.recorded = new Recorded(figure);
