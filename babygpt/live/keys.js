// Makes the choices of a guess one group for the keyboard, and its keys the guess's own: without this,
// JupyterLab's arrow keys would go from cell to cell, and the browser's not from choice to choice.

const GUESS = ".babygpt-guess";

function claimKeys(guess, group) {
  for (const input of guess.querySelectorAll("input")) {
    input.setAttribute("data-lm-suppress-shortcuts", "true");
    if (input.type === "radio") input.name = group;
  }
}

export default {
  render({ el }) {
    el.style.display = "none";
    const group = `guess-${Math.random()}`; // a page may show a guess twice
    let watch = null;
    const frame = requestAnimationFrame(() => {
      const guess = el.closest(GUESS);
      if (!guess) return;
      claimKeys(guess, group);
      watch = new MutationObserver(() => claimKeys(guess, group));
      watch.observe(guess, { childList: true, subtree: true });
    });
    return () => {
      cancelAnimationFrame(frame);
      watch?.disconnect();
    };
  },
};
