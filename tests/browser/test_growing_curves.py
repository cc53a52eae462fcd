"""The curves of a comparison grow in the page as the kernel sends them."""

from playwright.sync_api import Browser

from babygpt_live.comparison_view import GrowingCurves
from babygpt_live.panel import with_base64
from babygpt_live.view import script, style

RENDER = """async ([module, states]) => {
    const widget = (await import(`data:text/javascript,${encodeURIComponent(module)}`)).default;
    const listeners = {}, state = { title: "comparison", controls: [], shown: states[0] };
    const model = { get: name => state[name], set: () => {}, save_changes: () => {}, send: () => {},
        on: (name, listener) => { listeners[name] = listener; }, off: () => {} };
    widget.render({ model, el: document.body });
    const read = () => ({ title: document.querySelector(".explorer-title").textContent,
        names: [...document.querySelectorAll(".explorer-legend li span")].map(it => it.textContent),
        lines: ["thin", "curve", "dots"].map(name =>
            [...document.querySelectorAll(`path.${name}`)].filter(it => it.getAttribute("d")).length) });
    const frames = [];
    for (const shown of states) {
        state.shown = shown;
        listeners["change:shown"]();
        await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
        frames.push(read());
    }
    return frames;
}"""


def test_the_page_draws_each_curve_that_comes(browser: Browser) -> None:
    widget = GrowingCurves(["v4", "alibi"], 4, 0.5)
    states = [widget.shown]
    for run in (
        ("v4", 1, [[2, 3.0]]),
        ("v4", 1, [[2, 3.0], [4, 2.0]]),
        ("alibi", 1, [[2, 3.0], [4, 2.5]]),
        ("v4", 2, [[2, 3.5], [4, 3.0]]),
    ):
        widget.add(*run)
        states.append(widget.shown)
    page = browser.new_page()
    wrong = list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_content(f"<style>{style(*[widget.module.with_name('figure.css')])}</style>")
    frames = page.evaluate(RENDER, [script(widget.module), [with_base64(state) for state in states]])
    page.close()
    assert wrong == []
    lines = [[0, 0, 0], [1, 0, 0], [1, 1, 1], [2, 2, 2], [3, 2, 2]]  # of runs, of means, and points of means
    assert [frame["lines"] for frame in frames] == lines
    assert frames[0]["title"] == "Loss: no run is finished yet"
    assert frames[-1]["title"] == "Loss: v4 ends at 2.500 (2 seeds), alibi ends at 2.500 (1 seed)"
    assert frames[-1]["names"] == ["v4", "alibi", "floor 0.500"]
