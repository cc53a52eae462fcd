"""The live lab in a real browser: dashboards while a model trains, explorers, and what may go wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, expect

from tests.browser import page_checks as checks
from tools.browser.notebook import COMPUTED, DASHBOARD, EXPLORER, Notebook
from tools.browser.scripts import ENDS
from tools.browser.server import notebook_text, serve_notebooks

FILES = [f"{n}.ipynb" for n in range(40)]  # one for each test, as some save theirs
SETUP, EXPLORE, MOUNT, TRAIN, WAIT = range(5)
CELLS = (
    """
import time, torch
from pathlib import Path
from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
import babygpt_live as live
from babygpt_course import explorers
from babygpt_live import dashboard
Path("letters.txt").write_text("我爱你 $x$ <b>bold</b> & you. " * 40, encoding="utf-8")
corpus, letters = load_corpus("tales", n_chars=20_000), load_corpus("letters.txt")
def small(text, n_layer=2):
    torch.manual_seed(0)
    return build("v4", ModelConfig(text.tokenizer.vocab_size, 32, n_layer, n_head=2, n_embd=32))
class Slow(NextToken):
    def batch(self, *args):
        time.sleep(0.03)  # as long as a step of a lesson's models
        return super().batch(*args)
def start(title, steps=2000, objective=Slow):
    watches = [explorers.heads(corpus.tokenizer, "ada met ben.")]
    controls = [live.Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")]
    objective, recipe = objective(corpus, 32), TrainConfig(steps=steps)
    return live.train(small(corpus), objective, recipe, title, {"floor": corpus.floor}, watches, controls)
""",
    'explorer = explorers.attention(small(letters), letters.tokenizer, "我爱你 $x$ <b>you</b>")\nexplorer',
    "rope = explorers.rotary()\nrope",
    'run = start("v4")',
    "history = run.result()",
)
LOSSES = "[step.loss for step in run.history]"
MEASURED = "[[n for n, _ in frames] for frames in run.frames.values()]"
SMOOTH = "sum(step.loss for step in run.history[{0} - 10:{0}]) / 10"
WIDE = (2200, 1200)
GRAVE = ("serious", "critical")  # findings of axe's


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serve_notebooks(dict.fromkeys(FILES, notebook_text(*CELLS))) as served:
        yield served


@pytest.fixture
def notebook(browser: Browser, address: str, request: pytest.FixtureRequest) -> Iterator[Notebook]:
    """Open the sheet with its set-up done, in a kernel of its own; the page must throw nothing."""
    thrown = list[str]()
    with Notebook(browser, address, FILES.pop(), **getattr(request, "param", {})) as opened:
        opened.page.on("pageerror", lambda error: thrown.append(str(error)))
        opened.run(SETUP)
        yield opened
    assert thrown == []


def board(notebook: Notebook, expression: str, nth: int = 0) -> Any:
    """Return what JavaScript finds in a dashboard, which is `board` there."""
    return notebook.page.locator(DASHBOARD).nth(nth).evaluate(f"({{ board }}) => {expression}")


def until(notebook: Notebook, condition: str, nth: int = 0) -> None:
    """Wait until something is true of a dashboard."""
    expression = (
        f"(({{ board }}) => board && ({condition}))(document.querySelectorAll('{DASHBOARD}')[{nth}] ?? {{}})"
    )
    notebook.page.wait_for_function(expression, timeout=30_000)


def until_it_goes_on(notebook: Notebook, steps: int = 1, nth: int = 0) -> None:
    until(notebook, "board.run.head.state === 'running'", nth)
    until(notebook, f"board.run.made >= {board(notebook, 'board.run.made', nth) + steps}", nth)


def click(notebook: Notebook, words: str, nth: int = 0) -> None:
    notebook.page.locator(DASHBOARD).nth(nth).get_by_role("button", name=words, exact=True).click()


def stop(notebook: Notebook) -> None:
    click(notebook, "Stop")
    until(notebook, "board.run.head.state === 'stopped'")


def require_whole(notebook: Notebook, nth: int = 0) -> None:
    """Compare each number of a run that is over with the kernel's."""
    assert board(notebook, "[...board.run.series.losses]", nth) == pytest.approx(
        notebook.ask(LOSSES), rel=1e-6
    )
    shown = "board.run.frames.map(frames => frames.map(({ step }) => step))"
    assert board(notebook, shown, nth) == notebook.ask(MEASURED)


def titles(notebook: Notebook, area: str = DASHBOARD) -> list[str]:
    return notebook.page.locator(f"{area} .explorer-title").all_inner_texts()


def loss_title(notebook: Notebook) -> str:
    return notebook.page.locator(f"{DASHBOARD} .strip .explorer-title").first.inner_text()


def place(notebook: Notebook, step: int) -> list[float]:
    """Return where a step is on the loss curve."""
    return list(board(notebook, checks.PLACE_OF_STEP.format(step)))


def cell(notebook: Notebook, index: int) -> Locator:
    return notebook.page.locator(".jp-Notebook .jp-CodeCell").nth(index)


# ------------------------------------------------------------ a run


def test_a_waiting_cell_serves_the_page_and_later_cells_run_in_order(notebook: Notebook):
    notebook.start_all()
    until_it_goes_on(notebook)
    notebook.move_slider(EXPLORER, "ArrowLeft")
    curve = notebook.page.locator(f"{DASHBOARD} path.curve").first
    drawn = curve.get_attribute("d")
    until_it_goes_on(notebook)
    expect(curve).not_to_have_attribute("d", str(drawn))
    notebook.page.get_by_label("θ", exact=False).last.press("ArrowLeft")  # the dial
    until(notebook, "board.run.moves.length")
    click(notebook, "Pause")
    until(notebook, "board.run.head.state === 'paused'")
    assert "θ 7,940" in notebook.page.locator(f"{DASHBOARD} .moves i").all_text_contents()
    upright = "[...document.querySelectorAll('{} svg svg line.level')].filter(it => it.x1.baseVal.value > 0)"
    assert notebook.page.evaluate(f"{upright.format(DASHBOARD)}.length") > 0  # the move, in the picture
    click(notebook, "Go on")
    until_it_goes_on(notebook)
    stop(notebook)
    notebook.wait_for_all(60)
    assert notebook.errors() == []
    counts = [cell["execution_count"] for cell in notebook.cells()]
    assert counts == list(range(counts[0], counts[0] + len(counts)))
    assert notebook.ask("[step.changed for step in run.history if step.changed]") == [{"theta": 7940.0}]
    require_whole(notebook)


@pytest.mark.parametrize("notebook", [{"has_touch": True}], indirect=True)
def test_time_goes_back_by_mouse_slider_keys_and_finger_while_the_model_trains(notebook: Notebook):
    page = notebook.page
    notebook.run(TRAIN)
    until_it_goes_on(notebook, 150)
    page.locator(DASHBOARD).scroll_into_view_if_needed()

    def require_back(step: int, within: int = 8) -> None:
        until(notebook, f"board.at !== null && Math.abs(board.at - {step}) <= {within}")
        back = board(notebook, "board.at")
        until(notebook, f"board.run.made > {board(notebook, 'board.run.made')}")
        assert board(notebook, "board.at") == back
        loss = notebook.ask(SMOOTH.format(back))
        assert loss_title(notebook) == f"v4: the loss is {loss:.2f} nats at step {back}"

    page.mouse.move(*place(notebook, 120))
    page.mouse.down()
    page.mouse.move(*place(notebook, 60), steps=4)
    page.mouse.up()
    page.mouse.move(0, 0)
    require_back(60)
    slider = page.get_by_label("show the run after step")
    back = board(notebook, "board.at")
    slider.press("ArrowLeft")
    require_back(back - 1, 0)
    click(notebook, "follow the newest step")
    until(notebook, "board.at === null")
    finger = page.context.new_cdp_session(page)
    for kind, step in (("Start", 140), ("Move", 90), ("Move", 40), ("End", None)):
        touch_points = [dict(zip("xy", place(notebook, step), strict=True))] if step else []
        finger.send("Input.dispatchTouchEvent", {"type": f"touch{kind}", "touchPoints": touch_points})
    require_back(40)
    # On a busy machine a replay is over before a test can look at it, so the page notes what it draws.
    board(notebook, "{ board.replayed = []; board.onpaint = step => board.replayed.push(step); }")
    click(notebook, "play the run")
    until(
        notebook, "board.replayed.length && board.at === null && board.playing === null"
    )  # it has caught up
    replayed = board(notebook, "board.replayed")
    assert replayed == sorted(replayed)
    assert any(80 < step < replayed[-1] for step in replayed)
    until_it_goes_on(notebook)


def test_values_under_the_pointer_are_those_of_the_run(notebook: Notebook):
    notebook.run(TRAIN)
    until_it_goes_on(notebook, 100)
    stop(notebook)
    page, dashboard = notebook.page, notebook.page.locator(DASHBOARD)
    dashboard.scroll_into_view_if_needed()
    page.mouse.move(*place(notebook, 60))
    foot = dashboard.locator("text.foot").first
    expect(foot).to_have_text(re.compile(r"step \d+"))
    step = int(str(foot.text_content()).split()[1])
    loss = notebook.ask(SMOOTH.format(step))
    expect(dashboard.locator(".explorer-legend b").first).to_have_text(f"{loss:.2f}")
    small = dashboard.locator(".small-heads button")
    small.last.click()
    expect(dashboard.locator(".explorer-title").first).to_contain_text("Layer 2, head 2")
    weights = notebook.ask("list(run.frames.values())[0][-1][1][1, 1].tolist()")
    canvas = dashboard.locator(".explorer-plot > canvas")
    size = canvas.evaluate("it => [it.clientWidth, it.clientHeight]")
    canvas.hover(position={"x": 2.5 * size[0] / 12, "y": 7.5 * size[1] / 12})
    read = dashboard.locator(".explorer-readout").first.inner_text()
    assert read.startswith("“•” (8) gives "), read
    assert checks.numbers(read)[1] == pytest.approx(100 * weights[7][2], abs=1)


def test_an_interrupt_ends_the_waiting_with_one_line_and_the_run_goes_on(notebook: Notebook):
    notebook.run(EXPLORE, TRAIN)
    notebook.start_cell(WAIT)
    notebook.move_slider(EXPLORER, "ArrowLeft")
    until_it_goes_on(notebook, 5)
    notebook.interrupt()
    notebook.wait_for_cell(60)
    line = cell(notebook, WAIT).locator(".jp-OutputArea").inner_text()
    assert len(line.strip().splitlines()) == 1, line
    assert "v4 trains on" in line
    until_it_goes_on(notebook)
    click(notebook, "Pause")
    until(notebook, "board.run.head.state === 'paused'")


# ------------------------------------------------------------ a page that was away, and faults


def reload(notebook: Notebook) -> None:
    notebook.page.reload()
    notebook.wait_for_kernel()


def reopen_tab(notebook: Notebook) -> None:
    notebook.page.evaluate(checks.REOPEN)
    notebook.wait_for_kernel()


def lose_the_network(notebook: Notebook) -> None:
    notebook.page.evaluate(checks.CUT)
    steps_made = board(notebook, "board.run.made")
    notebook.page.wait_for_timeout(10_000)
    assert board(notebook, "board.run.made") == steps_made
    expect(notebook.page.locator(f"{DASHBOARD} .status")).to_contain_text("no news for")
    notebook.page.evaluate("window.mend()")


@pytest.mark.parametrize("away", [reload, reopen_tab, lose_the_network])
def test_a_page_that_was_away_has_the_whole_run_and_follows_it(notebook: Notebook, away: Any):
    notebook.run(TRAIN)
    until_it_goes_on(notebook, 20)
    notebook.save()
    away(notebook)
    until_it_goes_on(notebook, 20)
    stop(notebook)
    require_whole(notebook)


def test_a_second_view_shows_the_same_run_and_both_obey(notebook: Notebook):
    notebook.run(TRAIN)
    until_it_goes_on(notebook, 20)
    again = notebook.add_cell("run.dashboard")
    notebook.run(again)
    until_it_goes_on(notebook, 5, nth=1)
    click(notebook, "Pause", nth=1)
    for nth in (0, 1):
        until(notebook, "board.run.head.state === 'paused'", nth)
    click(notebook, "Go on")
    until_it_goes_on(notebook, 5, nth=1)
    stop(notebook)
    for nth in (0, 1):
        require_whole(notebook, nth)


def test_lost_messages_are_asked_for(notebook: Notebook):
    lose = """
send, sent = dashboard.DashboardWidget.send_state, iter(range(10**6))
lost = lambda parts: isinstance(parts, dict) and next(sent) % 3 == 2
dashboard.DashboardWidget.send_state = lambda page, key=None: lost(key) or send(page, key)
run = start("v4", steps=150)
run.result();"""
    notebook.run(notebook.add_cell(lose))
    until(notebook, "board.run.head.over && board.run.made === 150 && !board.lacks")
    require_whole(notebook)


def test_a_dead_kernel_is_named_and_what_was_drawn_stays(notebook: Notebook):
    notebook.run(TRAIN)
    until_it_goes_on(notebook, 20)
    notebook.start_cell(notebook.add_cell("import os; os._exit(1)"))
    steps_made = board(notebook, "board.run.made")
    status, dashboard = notebook.page.locator(f"{DASHBOARD} .status"), notebook.page.locator(DASHBOARD)
    expect(status).to_contain_text("the kernel is gone", timeout=30_000)
    assert board(notebook, "board.run.made") >= steps_made
    assert "nats at step" in loss_title(notebook)
    assert dashboard.locator("path.curve").first.get_attribute("d")
    for words in ("Pause", "Stop"):
        expect(dashboard.get_by_role("button", name=words, exact=True)).to_be_disabled()


def test_a_script_that_fails_leaves_the_words_and_the_still(notebook: Notebook):
    fail = """
whole = dashboard.script
dashboard.script = lambda name: "throw new Error('planned');" + whole(name)
start("v4", steps=20).result();"""
    notebook.run(trains := notebook.add_cell(fail))
    still = cell(notebook, trains).locator(".babygpt-still img")
    expect(still).to_be_visible()
    expect(still).to_have_attribute("alt", re.compile("nats at step 20"))


def test_a_saved_notebook_shows_its_pictures_on_a_new_kernel(notebook: Notebook):
    notebook.run(EXPLORE, MOUNT, TRAIN)
    until_it_goes_on(notebook)
    stop(notebook)
    notebook.run(WAIT)
    for still in notebook.page.locator(".babygpt-still").all():  # the live view stands there
        assert not still.is_visible()
    saved = notebook.page.evaluate("jupyterapp.shell.currentWidget.content.model.toJSON()")
    assert "widgets" not in saved["metadata"]
    notebook.reopen()
    stills = notebook.page.locator(".babygpt-still img")
    expect(stills).to_have_count(3, timeout=20_000)
    for still in stills.all():
        expect(still).to_be_visible(timeout=20_000)
        assert still.evaluate("image => image.decode().then(() => image.naturalWidth)") > 500
        assert "\n" not in str(still.get_attribute("alt"))
    expect(notebook.page.get_by_text("Run the cell to move it.")).to_be_visible()
    assert notebook.page.locator(".explorer").count() == 0
    assert notebook.page.get_by_text("Error displaying widget").locator("visible=true").count() == 0


# ------------------------------------------------------------ explorers


def test_pointer_and_cell_move_an_explorer_of_the_page_while_a_cell_runs(notebook: Notebook):
    notebook.page.emulate_media(reduced_motion="reduce")  # Its query would walk by itself.
    notebook.run(MOUNT, TRAIN)
    until_it_goes_on(notebook)
    notebook.start_cell(WAIT)
    root = notebook.page.locator(COMPUTED)
    handle = root.evaluate(ENDS, [1, 2])  # the key along the text: two tokens further from the query
    notebook.page.mouse.move(*handle["now"]["place"])
    notebook.page.mouse.down()
    notebook.page.mouse.move(*handle["then"]["place"], steps=5)
    notebook.page.mouse.up()
    now = root.evaluate(ENDS, [1, 0])["now"]
    assert now["values"] == handle["then"]["values"] == ["30", "5", "2", "1", "10,000"]
    assert not notebook.page.evaluate("window.cellRun")
    stop(notebook)
    notebook.wait_for_cell(60)
    assert notebook.ask("[rope.position, rope.distance]") == [30, 5]
    notebook.ask("rope.set_trait('theta', 100.0)")
    expect(root.locator("output").nth(4)).to_have_text("100")


def test_text_is_drawn_letter_by_letter_and_rapid_events_end_with_the_right_panels(notebook: Notebook):
    notebook.run(EXPLORE)
    root = notebook.page.locator(EXPLORER)
    field = root.get_by_role("textbox")
    for text in ("我爱你 $x$ <b>you</b>", "<b>你</b> & $x$"):
        field.fill(text)
        field.press("Enter")
        ticks = root.locator(".explorer-panel").first.locator("svg .ticks").first.locator("text")
        expect(ticks).to_have_text([*text.replace(" ", "•")] * 2)
    for i in range(40):
        bars = root.locator("input[type=range]")
        bars.nth(i % 3).press("ArrowRight" if i % 7 else "ArrowLeft", no_wait_after=True)
    values = notebook.ask("explorer.values()")
    expect(bars.first).to_have_value(str(values["letter"] - 1))
    expected = notebook.ask("[panel.title for panel in explorer.now()]")
    assert [title for title in expected if title not in titles(notebook, EXPLORER)] == []


def test_an_explorer_shows_that_it_waits_only_for_a_running_cell(notebook: Notebook):
    make = """
from babygpt_live.panel import Curve, Panel
import numpy as np
draw = lambda n, values: [Panel("always alike", [Curve("line", "#2b7bbd", np.ones(5))])]
live.Explorer("still", lambda n: n, draw, [live.Slider("n", 1, 0, 9)])"""
    notebook.run(notebook.add_cell(make))
    root = notebook.page.locator(f"{EXPLORER} > .explorer")
    bar = root.locator("input[type=range]")
    bar.press("ArrowRight")  # the picture stays as it is: that is no reason to wait
    notebook.page.wait_for_timeout(1500)
    waits = re.compile("waits")
    expect(root).not_to_have_class(waits)
    notebook.start_cell(notebook.add_cell("time.sleep(4)"))
    bar.press("ArrowRight")
    expect(root).to_have_class(waits)
    notebook.wait_for_cell(30)
    expect(root).not_to_have_class(waits)


# ------------------------------------------------------------ for every reader


@pytest.mark.parametrize("notebook", [{"size": WIDE}, {"size": WIDE, "dark": True}], indirect=True)
def test_everything_fits_from_250_px_up_and_can_be_read(notebook: Notebook):
    page = notebook.page
    page.emulate_media(reduced_motion="reduce")  # A hand that points to the right has its grip outside.
    notebook.run(EXPLORE, MOUNT, TRAIN)
    until_it_goes_on(notebook)
    click(notebook, "Pause")
    until(notebook, "board.run.head.state === 'paused'")
    area = [[EXPLORER], [DASHBOARD], [COMPUTED]]
    violations = Axe().run(page, {"include": area}).response["violations"]
    assert [
        (violation["id"], violation["help"], violation["nodes"])
        for violation in violations
        if violation["impact"] in GRAVE
    ] == []
    expect(page.locator(f"{DASHBOARD} .explorer-voice")).to_contain_text("paused")
    for width, smallest in ((250, 9), (360, 9), (768, 12), (1280, 12), (1920, 12)):
        for root in page.locator(".explorer").all():
            root.evaluate(checks.MAKE_WIDE, width)
            looks = root.evaluate(checks.LOOKS)
            assert looks["sideways"] == [], width
            assert len(looks["texts"]) > 20
            for words, letters, contrast in looks["texts"]:
                assert letters >= smallest, (width, words)
                assert contrast > (4.5 if len(words) > 1 else 3), (
                    width,
                    words,
                )  # a letter is marked by a dot, too


def test_a_run_that_waits_names_the_other_one_until_it_starts(notebook: Notebook):
    notebook.run(TRAIN)
    until_it_goes_on(notebook)
    notebook.run(notebook.add_cell('second = start("second")'))
    second = notebook.page.locator(DASHBOARD).nth(1)
    expect(second.locator(".status")).to_have_text("waiting for v4")
    expect(second.get_by_role("button", name="Pause", exact=True)).to_be_disabled()
    expect(second.locator(".explorer-panels").first).to_have_class(re.compile("idle"))
    stop(notebook)
    expect(second.locator(".status")).to_have_text(re.compile(r"about \d+ s left"))
    expect(second.locator(".explorer-panels").first).not_to_have_class(re.compile("idle"))


def test_keys_go_through_a_dashboard_in_its_order_and_a_projector_shows_it_twice_as_large(notebook: Notebook):
    page = notebook.page
    notebook.run(TRAIN)
    until_it_goes_on(notebook)
    click(notebook, "Pause")
    until(notebook, "board.run.head.state === 'paused'")
    page.locator(f"{DASHBOARD} .arcs").focus()
    heads = [f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2)]
    buttons = ["Go on", "play", "show the run", "speed", "Stop", "projector view"]
    expected = ["Layer", *heads, "v4: the loss", *buttons, "θ"]
    focused = []
    for _ in expected:
        page.keyboard.press("Tab")
        focused.append(page.evaluate(checks.FOCUS))
    for name, focus in zip(expected, focused, strict=True):
        assert focus[0].startswith(name), focused
        assert focus[1], focused  # the focus can be seen
    tick = page.locator(f"{DASHBOARD} .ticks text").first
    before = tick.bounding_box()
    click(notebook, "projector view: full screen, large letters")
    page.wait_for_function("document.fullscreenElement")
    assert before
    twice = "([area, height]) => document.querySelector(area).getBoundingClientRect().height > 1.9 * height"
    area = f"{DASHBOARD} .ticks text"  # The ticks are laid out anew, so that none stays the same element.
    page.wait_for_function(twice, arg=[area, before["height"]], timeout=10_000)
    page.keyboard.press("Escape")
