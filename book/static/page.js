// What every page does once it is there.
"use strict";

// A box that scrolls sideways can be reached with the keyboard: where it does scroll, and only there.
function markScrolling() {
  for (const box of document.querySelectorAll("article :is(pre, .formula, .table-wrapper, .output.text_html, p:has(> img))")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

addEventListener("load", markScrolling);
addEventListener("resize", markScrolling);
document.addEventListener("toggle", markScrolling, true);  // what has unfolded may scroll

// Pictures that nobody has scrolled to come when the page is at rest: Chrome prints those that are there.
addEventListener("load", () => setTimeout(() => {
  for (const image of document.querySelectorAll("img[loading=lazy]")) image.loading = "eager";
}, 2000));
