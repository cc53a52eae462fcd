// Search in the sentences of all pages (sentences.js). A word finds what begins with it, a number only itself.
"use strict";

const MOST = 30;
const wordsOf = text => text.toLowerCase().replace(/(\d)[,\u202f](?=\d{3})/g, "$1").match(/[\p{L}\p{N}_]+/gu) ?? [];
const queryOf = text => [...new Set(wordsOf(text).map(word => (word.length > 3 ? word.replace(/s$/, "") : word)))];
const asFound = word => (/^\d+$/.test(word) ? ` ${word} ` : ` ${word}`);
const weight = page => (/^(index$|notebooks)/.test(page) ? 1 : /^(api|C[HO])/.test(page) ? .4 : .7);
let parts = [];

// Unpack the sentences, which are JSON, gzipped, in base64: page -> sections.
async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

// Take the sections of a page apart into what is searched.
const partsOf = ([page, sections]) => sections.map(([anchor, heading, sentences]) => {
  const texts = [heading, ...sentences], found = texts.map(text => ` ${wordsOf(text).join(" ")} `);
  return { page, anchor, heading, title: sections[0][1], texts, found };
});

// A part must hold the rarest of the words that occur at all; the sentence that holds most of them is shown.
function find(query) {
  const holders = query.map(word => parts.filter(part => part.found.some(text => text.includes(asFound(word)))));
  const worth = holders.map(some => Math.log(1 + parts.length / (some.length || Infinity)));
  const sum = test => query.reduce((total, word, i) => total + (test(asFound(word)) ? worth[i] : 0), 0);
  const rarest = holders.filter(some => some.length).sort((a, b) => a.length - b.length)[0] ?? [];
  const results = rarest.map(part => {
    const scores = part.found.map(text => sum(word => text.includes(word)) + Math.min(text.length, 60) / 1e4);
    const best = scores.indexOf(Math.max(...scores));
    const all = sum(word => part.found.some(text => text.includes(word)));
    const sentence = part.texts.slice(best, best + (part.texts[best].length < 40 ? 2 : 1)).join(" ");
    return { ...part, sentence, score: weight(part.page) * (all + scores[best] + .3 * scores[0]) };
  });
  return results.sort((a, b) => b.score - a.score).slice(0, MOST);
}

function marked(text, query) {
  const letters = query.map(word => [...word].join("[,\u202f]?") + (/^\d/.test(word) ? "(?!\\d)" : ""));
  return text.split(new RegExp(`(?<![\\p{L}\\p{N}])(${letters.join("|")})`, "giu")).map((piece, i) => {
    return i % 2 ? Object.assign(document.createElement("mark"), { textContent: piece }) : piece;
  });
}

function show() {
  const query = queryOf(field.value), results = find(query);
  document.getElementById("search-results").replaceChildren(...results.map(one => {
    const item = document.createElement("li"), text = document.createElement("p");
    const link = Object.assign(document.createElement("a"), { href: `${one.page}.html${one.anchor && "#"}${one.anchor}` });
    link.append(one.heading === one.title ? one.title : `${one.title}: ${one.heading}`);
    text.append(...marked(one.sentence, query));
    item.append(link, text);
    return item;
  }));
  document.querySelector("form.search [role=status]").textContent = query.length ? `${results.length} places` : "";
}

const field = document.querySelector("form.search input");
field.value = new URLSearchParams(location.search).get("q") ?? "";
field.addEventListener("input", show);
unpack(SENTENCES).then(pages => {
  parts = Object.entries(pages).flatMap(partsOf);
  show();
});
