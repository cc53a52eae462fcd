// Show of a list what is ticked. A group in which nothing is ticked asks for nothing.
// <form data-filters="SELECTOR"> with boxes named like the items' data-… attributes; hidden without this file.
"use strict";

for (const form of document.querySelectorAll("form[data-filters]")) {
    const items = [...document.querySelectorAll(form.dataset.filters)];
    const boxes = [...form.querySelectorAll("input[type=checkbox]")];
    const groups = [...new Set(boxes.map(box => box.name))];
    const sections = [...new Set(items.map(item => item.closest("section")))];

    const isAsked = (item, group) => {
        const ticked = boxes.filter(box => box.name === group && box.checked);
        return ticked.length === 0 || ticked.some(box => box.value === item.dataset[group]);
    };
    const show = () => {
        for (const item of items) {
            item.hidden = !groups.every(group => isAsked(item, group));
        }
        const shown = items.filter(item => !item.hidden);
        for (const section of sections) {
            section.hidden = !shown.some(item => section.contains(item));
        }
        form.querySelector("[role=status]").textContent = `${shown.length} of ${items.length} shown`;
    };
    const target = () => document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const reveal = () => { // what a link leads to is seen, whatever is ticked
        if (target()?.closest("[hidden]")) {
            boxes.forEach(box => { box.checked = false; });
            show();
            target().scrollIntoView();
        }
    };

    const asked = new URLSearchParams(location.search); // a link may ask: ?note=004&verdict=fails
    boxes.forEach(box => { box.checked = asked.getAll(box.name).includes(box.value); });
    form.hidden = false;
    form.addEventListener("change", show);
    form.addEventListener("reset", () => setTimeout(show)); // by then the boxes are empty
    form.addEventListener("reset", () => history.replaceState(null, "", location.pathname)); // nor does a link ask
    addEventListener("hashchange", reveal);
    show();
    target()?.scrollIntoView(); // the list above it is shorter now
    reveal();
}
