"""The live lab in a real browser: sliders, handles, buttons and pages while a model trains."""

import re
from ast import literal_eval
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from playwright.sync_api import TimeoutError as Late

from tools.browser.notebook import COMPUTED, DASHBOARD, EXPLORER, Notebook
from tools.browser.scripts import ENDS
from tools.browser.server import notebook_text, serve_notebooks

SETUP, EXPLORE, MOUNT, TRAIN, WAIT, COMPARE = range(6)
CELLS = (
    """
import torch
from babygpt import ModelConfig, NextToken, TrainConfig, build, live, load_corpus
corpus = load_corpus("tales", n_chars=20_000)
looking = build("v4", ModelConfig(corpus.tokenizer.vocab_size, 32, n_layer=2, n_head=4, n_embd=32))
def explore():
    return live.attention(looking, corpus.tokenizer, "ada met ben.")
def start(title, steps=100_000):
    torch.manual_seed(0)
    model = build("v4", ModelConfig(corpus.tokenizer.vocab_size, 32, n_layer=1, n_head=2, n_embd=32))
    watches = [live.heads(corpus.tokenizer, "ada met ben.")]
    controls = [live.Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")]
    recipe = TrainConfig(steps=steps)
    return live.train(model, NextToken(corpus, 32), recipe, title, {"floor": corpus.floor}, watches, controls)
""",
    "explorer = explore()\nexplorer",
    "rope = live.rotary()\nrope",
    'run = start("v4")',
    "history = run.result()",
    """
assert explorer.wait(10)
assert explorer.error is None
shown = explorer.image.value
explorer.refresh()
assert explorer.image.value == shown
same = explore()
for name, control in explorer.controls.items():
    same.controls[name].value = control.value
assert same.wait(10)
assert same.image.alt == explorer.image.alt
""",
)
TITLES = """
from matplotlib.text import Text
from babygpt.plots.artists import find_artist
print([find_artist(ax, Text, "title").get_text() for ax in explorer.canvas.axes])
"""
GRAVE = ("serious", "critical")  # findings of axe's
WIDTHS = """area => {
    const image = document.querySelector(`${area} img.widget-image`);
    const output = image.closest(".jp-OutputArea-output"), style = getComputedStyle(output);
    const room = output.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
    return {room, shown: image.clientWidth, drawn: image.naturalWidth};
}"""
FITS = f"""([area, scale]) => {{
    const {{room, shown, drawn}} = ({WIDTHS})(area);
    return Math.abs(shown / room - 1) < 0.02 && Math.abs(drawn / (scale * shown) - 1) < 0.02;
}}"""
NAMELESS = """handles => handles.filter(handle =>
    !handle.getAttribute("aria-label") || !handle.getAttribute("aria-valuetext")
).map(handle => handle.outerHTML)"""
# axe sees no text inside JupyterLab's cells, so this checks WCAG 2, success criterion 1.4.3.
CONTRAST = """parts => {
    const light = ([r, g, b]) => [r, g, b].map(c => c / 255)
        .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
        .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
    const parse = colour => (colour.match(/[\\d.]+/g) ?? []).map(Number);
    const over = ([r, g, b, a = 1], under) => [r, g, b].map((c, i) => a * c + (1 - a) * under[i]);
    const ground = it => it ? over(parse(getComputedStyle(it).backgroundColor), ground(it.parentElement))
        : [255, 255, 255];
    return parts.filter(it => it.innerText.trim()).map(it => {
        const back = ground(it), text = over(parse(getComputedStyle(it).color), back);
        const [low, high] = [light(back), light(text)].sort((a, b) => a - b);
        return [it.innerText, (high + 0.05) / (low + 0.05)];
    });
}"""
FOCUS = """() => {
    const it = document.activeElement, style = getComputedStyle(it);
    const own = style.outlineStyle === "auto";  // the browser's
    const lined = own || (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2);
    return {what: it.outerHTML.slice(0, 120), inside: Boolean(it.closest(".babygpt-view")),
            visible: it.matches(":focus-visible") && lined};
}"""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve_notebooks({"live.ipynb": notebook_text(*CELLS)}) as served:
        yield served


@pytest.fixture
def notebook(browser: Browser, address: str) -> Iterator[Notebook]:
    """Open the sheet with its set-up done, in a kernel of its own."""
    with Notebook(browser, address, "live.ipynb") as opened:
        opened.run(SETUP)
        yield opened


def dashboard_text(notebook: Notebook, nth: int = 0) -> str:
    """Return the words of a dashboard about its run."""
    return notebook.page.locator(DASHBOARD).nth(nth).inner_text()


def steps(notebook: Notebook) -> int:
    found = re.search(r"step (\d+) of", dashboard_text(notebook))
    return int(found[1]) if found else 0


def until_it_says(notebook: Notebook, word: str) -> None:
    expect(notebook.page.locator(DASHBOARD).first).to_contain_text(word, timeout=20_000)


def until_it_goes_on(notebook: Notebook) -> None:
    before = steps(notebook)
    until_it_says(notebook, "running")
    notebook.page.wait_for_function(
        f"Number(/step (\\d+) of/.exec(document.querySelector('{DASHBOARD}').innerText)?.[1]) > {before}"
    )


def click(notebook: Notebook, words: str) -> None:
    notebook.page.locator(DASHBOARD).get_by_role("button", name=words).click()


def test_a_waiting_cell_serves_the_page_and_later_cells_run_in_order(notebook: Notebook):
    notebook.start_all()
    until_it_goes_on(notebook)
    notebook.move_slider(EXPLORER, "ArrowLeft")
    click(notebook, "pause")
    until_it_says(notebook, "paused")
    notebook.move_slider(EXPLORER, "ArrowLeft")
    click(notebook, "resume")
    until_it_goes_on(notebook)
    click(notebook, "stop")
    notebook.wait_for_all(60)
    assert notebook.errors() == []
    cells = notebook.cells()
    counts = [cell["execution_count"] for cell in cells]
    assert counts == list(range(counts[0], counts[0] + len(counts)))
    assert [out for out in cells[WAIT]["outputs"] if out["output_type"] == "display_data"] == []


def test_a_slider_steers_the_run_which_can_be_paused_rewound_and_stopped(notebook: Notebook):
    notebook.run(TRAIN)
    until_it_goes_on(notebook)
    assert [handle.name for handle in notebook.sliders(DASHBOARD)] == ["θ"]  # no replay yet
    notebook.move_slider(DASHBOARD, "ArrowLeft")
    until_it_goes_on(notebook)
    click(notebook, "pause")
    until_it_says(notebook, "paused")
    notebook.page.wait_for_timeout(500)  # the last step's news may come after the word
    paused_at = steps(notebook)
    notebook.move_slider(DASHBOARD, "ArrowLeft", slider=1)
    assert steps(notebook) == paused_at
    click(notebook, "resume")
    until_it_goes_on(notebook)
    click(notebook, "stop")
    until_it_says(notebook, "stopped")
    assert [handle.name for handle in notebook.sliders(DASHBOARD)] == ["replay: step"]
    notebook.run(WAIT)
    notebook.replace_cell(COMPARE, "assert [step.changed for step in history if step.changed], history[-1]")
    notebook.run(COMPARE)


def test_a_reloaded_page_shows_the_live_view_again(notebook: Notebook):
    notebook.run(EXPLORE, TRAIN)
    until_it_goes_on(notebook)
    notebook.save()
    notebook.page.reload()
    notebook.wait_for_kernel()
    until_it_goes_on(notebook)
    notebook.move_slider(EXPLORER, "ArrowLeft")
    click(notebook, "stop")
    until_it_says(notebook, "stopped")


def test_an_interrupt_ends_the_waiting_with_one_line_and_the_run_goes_on(notebook: Notebook):
    notebook.run(EXPLORE, TRAIN)
    notebook.start_cell(WAIT)
    notebook.move_slider(EXPLORER, "ArrowLeft")  # sent after the cell: its answer means that this waits
    notebook.interrupt()  # a kernel ignores one that comes before the cell
    notebook.wait_for_cell(60)
    line = notebook.page.locator(".jp-CodeCell").nth(WAIT).locator(".jp-OutputArea").inner_text()
    assert len(line.strip().splitlines()) == 1, line
    assert "v4 trains on" in line
    until_it_goes_on(notebook)
    notebook.move_slider(EXPLORER, "ArrowLeft")
    click(notebook, "pause")
    until_it_says(notebook, "paused")


@pytest.mark.parametrize("fault", ["throw 'planned';", "await new Promise(up => setTimeout(up, 4e3));"])
def test_a_view_with_a_failed_or_late_script_is_a_plain_live_picture(notebook: Notebook, fault: str):
    """Expect a plain picture: Anywidget waits for two seconds, and a later script gets no messages."""
    plant = f"from babygpt.live.view import Page\nPage._esm = {fault!r} + str(Page._esm)"
    notebook.run(notebook.add_cell(plant), TRAIN)
    dashboard = notebook.page.locator(DASHBOARD)
    image, sentence = dashboard.locator("img.widget-image"), dashboard.get_by_text("script did not start")
    if "throw" in fault:
        expect(sentence).to_be_visible(timeout=20_000)
    else:  # the script has come up, and the sentence goes
        expect(image).to_have_attribute("alt", re.compile("nats at step"), timeout=20_000)
        expect(sentence).to_be_hidden()
    before = image.get_attribute("src")
    until_it_goes_on(notebook)
    expect(image).not_to_have_attribute("src", str(before))
    drawn = image.element_handle()  # its source may change while it is decoded, so wait for a width
    notebook.page.wait_for_function("image => image.naturalWidth > 500", arg=drawn)
    assert not notebook.page.locator(".jp-CodeCell").nth(TRAIN).locator(".babygpt-still").is_visible()


def test_pointer_and_cell_move_an_explorer_of_the_page_while_a_cell_runs(notebook: Notebook):
    notebook.run(MOUNT, TRAIN)
    until_it_goes_on(notebook)
    notebook.start_cell(WAIT)
    root = notebook.page.locator(COMPUTED)
    ends = root.evaluate(ENDS, [1, 2])  # the key along the text: two tokens further from the query
    notebook.page.mouse.move(*ends["now"]["place"])
    notebook.page.mouse.down()
    notebook.page.mouse.move(*ends["then"]["place"], steps=5)
    notebook.page.mouse.up()
    now = root.evaluate(ENDS, [1, 0])["now"]
    assert now["values"] == ends["then"]["values"] == ["20", "5", "3", "10,000"]
    assert not notebook.page.evaluate("window.cellRun")
    click(notebook, "stop")
    notebook.wait_for_cell(60)
    notebook.replace_cell(COMPARE, "assert (rope.position, rope.distance) == (20, 5)\nrope.theta = 100.0")
    notebook.run(COMPARE)
    expect(root.locator("output").nth(3)).to_have_text("100")


def test_training_twice_waits_and_offers_to_stop_the_first(notebook: Notebook):
    notebook.run(TRAIN)
    until_it_goes_on(notebook)
    notebook.run(TRAIN)
    until_it_says(notebook, "waiting")
    assert notebook.page.locator(DASHBOARD).count() == 1
    click(notebook, "stop v4, start this one")
    until_it_goes_on(notebook)


def test_rapid_events_lead_to_the_right_picture(notebook: Notebook):
    notebook.run(EXPLORE)
    handles = notebook.page.locator(f"{EXPLORER} .noUi-handle")
    for i in range(40):
        handles.nth(i % 3).press("ArrowRight" if i % 7 else "ArrowLeft", no_wait_after=True)
    notebook.run(COMPARE)


def test_a_saved_notebook_shows_its_pictures_on_a_new_kernel(notebook: Notebook):
    notebook.run(EXPLORE, MOUNT, TRAIN)
    until_it_goes_on(notebook)
    click(notebook, "stop")
    notebook.run(WAIT)
    for still in notebook.page.locator(".babygpt-still").all():  # the live view stands there
        assert not still.is_visible()
    saved = notebook.page.evaluate("jupyterapp.shell.currentWidget.content.model.toJSON()")
    assert "widgets" not in saved["metadata"]
    notebook.reopen()
    stills = notebook.page.locator(".babygpt-still img")
    expect(stills).to_have_count(3, timeout=20_000)
    for nth in range(3):
        expect(stills.nth(nth)).to_be_visible(timeout=20_000)
        assert stills.nth(nth).evaluate("image => image.decode().then(() => image.naturalWidth)") > 500
        assert "\n" not in stills.nth(nth).get_attribute("alt")
    expect(notebook.page.get_by_text("Run the cell to move it.")).to_be_visible()
    assert notebook.page.locator(f".babygpt-view, {COMPUTED}").count() == 0
    assert notebook.page.get_by_text("Error displaying widget").locator("visible=true").count() == 0


# ------------------------------------------------------------ sharpness, width and accessibility


def fits(notebook: Notebook, scale: float) -> None:
    """Wait until the explorer's picture is as wide as its cell's output, and has `scale` pixels for each."""
    try:
        notebook.page.wait_for_function(FITS, arg=[EXPLORER, scale], timeout=15_000)
    except Late:
        raise AssertionError(notebook.page.evaluate(WIDTHS, EXPLORER)) from None


def unreadable(notebook: Notebook) -> dict[str, float]:
    """Return the explorer's words with too little contrast to their background, with the ratio."""
    words = notebook.page.locator(f"{EXPLORER} :is(label, button, .widget-readout)").evaluate_all(CONTRAST)
    assert len(words) > 5
    return {word: ratio for word, ratio in words if ratio < 4.5}


def test_a_picture_is_as_wide_as_its_cell_and_as_sharp_as_the_screen(browser: Browser, address: str):
    """Include a dark page, where the words beside the picture can be read, too."""
    with Notebook(
        browser, address, "live.ipynb", (1920, 1000), dark=True, device_scale_factor=2.0
    ) as notebook:
        notebook.run(SETUP, EXPLORE)
        fits(notebook, 2.0)
        notebook.page.set_viewport_size({"width": 1300, "height": 768})
        fits(notebook, 2.0)
        assert unreadable(notebook) == {}


def test_explorers_and_dashboards_pass_axe_and_work_by_keyboard(notebook: Notebook):
    notebook.run(EXPLORE, MOUNT, TRAIN)
    until_it_goes_on(notebook)
    click(notebook, "pause")
    until_it_says(notebook, "paused")
    found = Axe().run(notebook.page, {"include": [[".babygpt-view"], [COMPUTED]]}).response["violations"]
    grave = [(one["id"], one["help"], one["nodes"]) for one in found if one["impact"] in GRAVE]
    assert grave == []
    assert unreadable(notebook) == {}
    assert notebook.page.locator(".babygpt-view .noUi-handle").evaluate_all(NAMELESS) == []
    letter = notebook.page.locator(EXPLORER).get_by_role("slider", name="letter that looks")
    assert letter.get_attribute("aria-valuetext") == "12"
    expect(notebook.page.locator(DASHBOARD).get_by_role("status")).to_contain_text("paused")
    notebook.replace_cell(COMPARE, TITLES)
    notebook.run(COMPARE)
    titles = literal_eval(notebook.cells()[COMPARE]["outputs"][0]["text"])
    alt = notebook.page.locator(f"{EXPLORER} img").get_attribute("alt")
    assert titles
    assert [title for title in titles if title not in alt] == []
    notebook.page.locator(f"{DASHBOARD} button").first.focus()
    seen = []
    for _ in range(4):  # stop, the knob, its number, the replay
        notebook.page.keyboard.press("Tab")
        seen.append(notebook.page.evaluate(FOCUS))
    assert all(one["inside"] and one["visible"] for one in seen), seen


def test_a_view_shows_that_it_waits_only_for_a_running_cell(notebook: Notebook):
    shown = "root => getComputedStyle(root, '::before').content"
    view = notebook.page.locator(EXPLORER).first
    notebook.run(
        notebook.add_cell("""
def show(ax, n):
    ax.set_title("always alike")
live.Explorer("still", lambda n: n, show, [live.Slider("n", 1, 0, 9)])
""")
    )
    handle = view.locator(".noUi-handle")
    handle.press("ArrowRight")  # the picture stays as it is: that is no reason to wait
    notebook.page.wait_for_timeout(1500)
    assert view.evaluate(shown) == "none"
    notebook.start_cell(notebook.add_cell("import time; time.sleep(4)"))
    handle.press("ArrowRight")
    words = "waiting for the running cell"
    notebook.page.wait_for_function(f"({shown})(document.querySelector('{EXPLORER}')).includes('{words}')")
    notebook.wait_for_cell(30)
    notebook.page.wait_for_function(f"({shown})(document.querySelector('{EXPLORER}')) === 'none'")
