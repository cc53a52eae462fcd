// One glyph and one colour for each encoding, in the lab, the explorers, the dashboards and the book. A glyph is a
// path in 24 x 24 units, drawn with round lines of width 2 (.glyph in tokens.css).

const SVG = "http://www.w3.org/2000/svg";

// `colour` is the one on white, as Python sends it with a curve; tokens.css has both, and a test compares them.
export const ENCODINGS = {
  none: { name: "No positions", colour: "#717272", path: "M6 6h.01M13 4h.01M18 9h.01M5 14h.01M12 12h.01M18 17h.01M10 20h.01" },
  learned: { name: "Learned", colour: "#9a6803", path: "M2 21h20M5 17v-5M10 17V5M15 17v-8M20 17v-3" },
  sinusoid: { name: "Sinusoid", colour: "#01390e", path: "M2 12c1.7-9.3 5-9.3 6.7 0s5 9.3 6.7 0 5-9.3 6.6 0" },
  rope: { name: "RoPE", colour: "#1b67dc", path: "M3 12a9 9 0 1 0 18 0a9 9 0 1 0-18 0M12 12l4.5-4.5" },
  gaussian: { name: "Gaussian", colour: "#854316", path: "M2 20C8 20 7.5 5 12 5S16 20 22 20" },
  alibi: { name: "ALiBi", colour: "#5e0152", path: "M3 4v16h18z" },
  branches: { name: "Branches", colour: "#205a5e", path: "M2 12h20M9 12c4.5 0 4-7 12-7M9 12c4.5 0 4 7 12 7" },
  gates: { name: "Gates", colour: "#4d218a", path: "M3 5v14l9-7zM21 5v14l-9-7z" },
};
const KEYS = Object.keys(ENCODINGS);

// Return a colour for the theme of the page: the token of an encoding for its colour, any other colour as it is.
export function themed(colour) {
  const key = KEYS.find(name => ENCODINGS[name].colour === colour);
  return key ? `var(--enc-${key}, ${colour})` : colour;
}

// Draw the glyph of an encoding at the end of an element, in the colour of its text; `key` is a key of ENCODINGS.
export function addGlyph(key, parent) {
  const picture = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  for (const [name, value] of Object.entries({ class: "glyph", viewBox: "0 0 24 24", "aria-hidden": "true" })) {
    picture.setAttribute(name, value);
  }
  path.setAttribute("d", ENCODINGS[key].path);
  picture.append(path);
  parent.append(picture);
  return picture;
}
