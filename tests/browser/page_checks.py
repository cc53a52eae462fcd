"""Questions of tests to a page: where a step is drawn, whether all fits, where the focus is."""

import re

# Where a step stands on a dashboard's loss curve, in the middle of its height; `board` is the dashboard.
PLACE_OF_STEP = """(({{ axes }}) => {{
    const {{ left, top, height }} = axes.panel.svg.getBoundingClientRect();
    return [left + axes.left + axes.X({}), top + height / 2];
}})(board.views[0])"""

# Cut the connection to the kernel; no new one comes about until `mend` is called.
CUT = """() => {
    const { kernel } = jupyterapp.shell.currentWidget.sessionContext.session;
    const settings = kernel.serverSettings, whole = settings.WebSocket;
    settings.WebSocket = class extends whole { constructor() { super("ws://127.0.0.1:9"); } };
    kernel._ws.close();
    window.mend = () => { settings.WebSocket = whole; return kernel.reconnect(); };
}"""

# Close the notebook's tab, and open it again.
REOPEN = """async () => {
    const { path } = jupyterapp.shell.currentWidget.context;
    await jupyterapp.commands.execute("application:close");
    await jupyterapp.commands.execute("docmanager:open", { path });
}"""

# Give an explorer a width, and wait until its panels have been drawn again.
MAKE_WIDE = """async (root, width) => {
    root.style.width = `${width}px`;
    for (let frames = 0; frames < 4; frames++) await new Promise(requestAnimationFrame);
}"""

# What stands out of an explorer sideways; and its texts, with their heights in CSS pixels, and their contrast
# to the ground (WCAG 2, success criterion 1.4.3; axe sees no text inside JupyterLab's cells).
LOOKS = r"""root => {
    const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const parse = colour => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
        return [r, g, b, a / 255];
    };
    const over = ([r, g, b, a], under) => [r, g, b].map((c, i) => a * c + (1 - a) * under[i]);
    const ground = it => it ? over(parse(getComputedStyle(it).backgroundColor), ground(it.parentElement))
        : [255, 255, 255];
    const opacity = it => it === root ? 1 : getComputedStyle(it).opacity * opacity(it.parentElement);
    const { right } = root.getBoundingClientRect();
    const all = [...root.querySelectorAll(":not(.explorer-voice)")].filter(it => {
        const { width, height } = it.getBoundingClientRect();
        return width && height && getComputedStyle(it).visibility === "visible";
    });
    const hasText = it => [...it.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim());
    const texts = all.filter(hasText).map(it => {
        const style = getComputedStyle(it), { a = 1, b = 0 } = it.getScreenCTM?.() ?? {};
        const [r, g, b2, alpha] = parse(it.getScreenCTM ? style.fill : style.color), back = ground(it);
        const text = over([r, g, b2, alpha * (it.closest("[disabled]") ? 1 : opacity(it))], back);
        const [low, high] = [light(back), light(text)].sort((x, y) => x - y);
        return [it.textContent, parseFloat(style.fontSize) * Math.hypot(a, b), (high + 0.05) / (low + 0.05)];
    });
    const out = it => !it.closest("svg svg") && it.getBoundingClientRect().right > right + 1;
    return { texts, sideways: all.filter(out).map(it => it.outerHTML.slice(0, 100)) };
}"""

# The name of the element that has the focus, and whether the focus can be seen.
FOCUS = """() => {
    const it = document.activeElement, style = getComputedStyle(it);
    const own = style.outlineStyle === "auto";  // the browser's
    const lined = own || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2);
    const name = it.getAttribute("aria-label") ?? it.labels?.[0]?.firstChild.textContent ?? it.textContent;
    return [name, it.matches(":focus-visible") && lined];
}"""


def numbers(words: str) -> list[float]:
    """Return the numbers in a text, which may have a real minus and commas between thousands."""
    return [float(n) for n in re.findall(r"-?\d[\d.]*", words.replace("−", "-").replace(",", ""))]
