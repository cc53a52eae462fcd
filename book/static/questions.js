// Guesses: made on the page, compared when the outcome is opened, and gone when the page is left.
"use strict";

const guesses = new Map();  // name of a question -> what was guessed, and whether its outcome was seen before

const THOUSANDS = /^[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9,])/;
const NUMBER = /^([+-]?(?:[0-9]+[.,]?[0-9]*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?)(?:%|of[0-9]+|\p{L}{2,})?$/u;

// A number as people type it, with or without its unit, or NaN: parse_number in predictions.py, in this language.
function readNumber(text) {
  const plain = text.replace(/\s/g, "").replace("−", "-").replace(THOUSANDS, match => match.replaceAll(",", ""));
  const number = Number(NUMBER.exec(plain)?.[1].replace(",", ".") ?? NaN);
  return Number.isFinite(number) ? number : NaN;
}

class Guess {
  constructor(fieldset) {
    this.fieldset = fieldset;
    this.data = JSON.parse(fieldset.querySelector("script").textContent);
    this.said = fieldset.querySelector(".guess-said");
    this.now = null;  // the guess as it stands, value and words
    this.counted = null;  // as it stood when the outcome was first seen
    this.seen = false;
    fieldset.addEventListener("change", event => this.change(event.target.value));
    guesses.set(fieldset.dataset.guess, this);
  }

  change(text) {
    const { options, low, high, unit, asked } = this.data;
    const value = options ? text : readNumber(text);
    const wrong = !options && !(low <= value && value <= high);
    const words = options ? text : `${text.replace(unit, "").trim()}${/^%?$/.test(unit) ? "" : " "}${unit}`;
    this.now = wrong ? null : { value, words };
    this.said.textContent = wrong ? (text.trim() && `This should be a number: ${asked}.`) : "Kept on this page.";
    this.compare();
  }

  open() {
    if (!this.seen) Object.assign(this, { seen: true, counted: this.now });
    this.compare();
  }

  get shown() { return this.counted ?? this.now; }

  get right() {
    const { options, outcome, near } = this.data;
    const { value } = this.shown;
    return options ? value === outcome : Math.abs(value - outcome) <= near * (1 + 1e-9);
  }

  get came() { return this.data.options ? this.data.outcome : this.data.came; }

  get verdict() {
    if (this.shown === null) return "No guess was made before this was shown.";
    const late = this.counted === null ? " Guessed after the outcome was shown." : "";
    return `You guessed: ${this.shown.words}. ${this.right ? "✓" : "✗"}${late}`;
  }

  compare() {
    const places = document.querySelectorAll(`[data-outcome="${this.fieldset.dataset.guess}"] .outcome-guess`);
    if (this.seen) places.forEach(place => { place.textContent = this.verdict; });
    fillTallies();
  }
}

function fillTallies() {
  const all = [...guesses.values()], counted = all.filter(guess => guess.seen && guess.counted !== null);
  const right = counted.filter(guess => guess.right).length;
  const mark = guess => (counted.includes(guess) ? (guess.right ? "✓" : "✗") : "");
  for (const place of document.querySelectorAll(".tally")) {
    const table = document.createElement("table"), sum = document.createElement("p");
    const fill = (row, tag, texts) => texts.forEach(textContent => row.append(Object.assign(document.createElement(tag), { textContent })));
    fill(table.createTHead().insertRow(), "th", ["question", "guess", "outcome", "right"]);
    const body = table.createTBody();
    for (const guess of all) {
      fill(body.insertRow(), "td", [guess.data.question, guess.shown?.words ?? "–", guess.seen ? guess.came : "–", mark(guess)]);
    }
    sum.textContent = counted.length ? `${right} of ${counted.length} guesses were right; ${all.length} were asked for.`
      : "No guess was made before its outcome was shown.";
    place.replaceChildren(table, sum);
  }
}

for (const fieldset of document.querySelectorAll("fieldset.guess")) new Guess(fieldset);
for (const place of document.querySelectorAll("[data-outcome]")) {
  const guess = guesses.get(place.dataset.outcome);
  const fold = place.closest("details");
  if (guess && fold) fold.addEventListener("toggle", () => { if (fold.open) guess.open(); });
  if (guess && !fold) guess.open();
}
fillTallies();
