// A box that scrolls sideways can be reached with the keyboard: where it does scroll, and only there.
"use strict";

function markScrolling() {
  for (const box of document.querySelectorAll("article :is(pre, .formula, .table-wrapper, .output.text_html, .tally, .recorded-panels)")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}

addEventListener("load", markScrolling);
addEventListener("resize", markScrolling);
document.addEventListener("toggle", markScrolling, true);  // what has unfolded may scroll
