// Makes the choices of a guess one group for the keyboard. Without this, JupyterLab's arrow keys would go from cell
// to cell, and the browser's not from choice to choice.

function render({ el }) {
  const group = `guess-${Math.random()}`; // a page may show a guess twice
  const act = () => {
    for (const input of el.closest(".babygpt-guess")?.querySelectorAll("input") ?? []) {
      input.setAttribute("data-lm-suppress-shortcuts", "true");
      if (input.type === "radio" && input.name !== group) input.name = group;
    }
  };
  const placed = new ResizeObserver(act), watch = new MutationObserver(act); // the choices come when they are ready
  placed.observe(el);
  const box = setInterval(() => {
    const root = el.closest(".babygpt-guess");
    if (!root) return;
    clearInterval(box);
    watch.observe(root, { subtree: true, childList: true });
    act();
  }, 50);
  return () => {
    placed.disconnect();
    watch.disconnect();
    clearInterval(box);
  };
}

export default { render };
