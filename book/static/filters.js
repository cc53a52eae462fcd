// Show only the claims that the address asks for, as in ?note=004&verdict=fails.
"use strict";

const asked = [...new URLSearchParams(location.search)];
const claims = [...document.querySelectorAll("article.claim")];
const shown = claims.filter(claim => asked.every(([name, value]) => claim.dataset[name] === value));
const line = document.getElementById("shown");

for (const claim of claims) claim.hidden = !shown.includes(claim);
for (const section of new Set(claims.map(claim => claim.closest("section")))) {
  section.hidden = !section.querySelector("article.claim:not([hidden])");
}
line.hidden = asked.length === 0;
line.querySelector("[role=status]").textContent = `${shown.length} of ${claims.length} claims are shown.`;

function reveal() {  // what a link leads to is seen, whatever was asked for
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (target?.closest("[hidden]")) location.replace(location.pathname + location.hash);
  else target?.scrollIntoView();  // the list above it is shorter now
}
addEventListener("hashchange", reveal);
reveal();
