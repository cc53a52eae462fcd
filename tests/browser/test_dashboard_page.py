"""A dashboard's page without a kernel: its bar, its layout, and what it shows before the first step."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import babygpt_live as live
from babygpt_live.dashboard import status_words
from babygpt_live.panel import Axis, Curve, Panel, with_base64
from babygpt_live.view import PAGE, script, style

STEPS = 40
BOARD = """([module, recording, width]) => import(`data:text/javascript,${encodeURIComponent(module)}`)
    .then(({ Board }) => {
        const place = document.querySelector("main");
        place.style.width = `${width}px`;
        window.told = [];
        window.recording = recording;
        window.board = new Board(name => recording[name], place, command => told.push(command.do));
    })"""


def shares(frames: Any, title: str, total: int) -> Panel:
    steps, values = np.array(frames, float).T
    axes = Axis("step", (0, total), digits=0), Axis("share (%)", (0, 100))
    return Panel(f"{steps[-1]:.0f} steps", [Curve(title, "#2b7bbd", values, steps)], *axes, over_steps=True)


def recording(watches: int = 1, steps: int = STEPS // 2) -> dict[str, Any]:
    """Return a run that trains, with a dial, after some of its steps."""
    all_watches = [live.Watch(lambda model: 50.0, shares, times=8) for _ in range(watches)]
    run = live.LoopRun("line", STEPS, all_watches, unit="nats per character", numbers=["rate"])
    run.measure_untrained(None)
    live.show_dashboard(run, {"floor": 0.5}, [live.Slider("rate", 0.1, 0.01, 0.5)])
    for step in run.steps():
        if step > steps:
            break
        run.record(step, 3 / step + 0.5, None)
    head = run.dashboard.head() | {"state": "running", "words": "about 9 s left", "over": False}
    return {**with_base64(run.dashboard.recording()), "head": head}


@pytest.fixture
def show(browser: Browser) -> Iterator[Callable[..., Page]]:
    page = browser.new_page(viewport={"width": 1400, "height": 768})
    page.set_content(f"<style>{style(PAGE / 'figure.css')}</style><main></main>")
    module = script(PAGE / "dashboard.js")

    def show_board(width: int = 960, **more: Any) -> Page:
        page.evaluate(BOARD, [module, recording(**more), width])
        expect(page.locator(".explorer-title").first).to_be_visible()
        return page

    yield show_board
    page.close()


def box(page: Page, selector: str) -> dict[str, float]:
    bounds = page.locator(selector).first.bounding_box()
    assert bounds
    return dict(bounds)


# ---------------------------------------------------------------- one bar


def test_one_bar_below_the_pictures_holds_the_state_the_time_and_the_dials(show: Callable[..., Page]):
    page = show()
    bar = page.locator(".dashboard > .bar")
    expect(bar).to_have_count(1)
    expect(bar.locator(".step")).to_have_text(f"{STEPS // 2} / {STEPS}")
    expect(bar.locator(".status")).to_have_text("about 9 s left")
    expect(bar.get_by_role("slider", name="rate")).to_be_visible()
    names = [words for words in bar.get_by_role("button").all_inner_texts() if words.strip()]
    assert names == ["Pause", "▶", "×1", "Stop"]
    others = page.locator(".dashboard > :not(.bar) :is(button, input)")
    expect(others).to_have_count(0)
    panels = box(page, ".explorer-panels")
    assert box(page, ".bar")["y"] >= panels["y"] + panels["height"]
    words = page.locator(".dashboard").inner_text()
    assert words.count(f"/ {STEPS}") == 1
    assert f"of {STEPS}" not in words


def test_the_way_back_to_now_takes_the_place_of_the_state_and_the_timeline_keeps_its_length(
    show: Callable[..., Page],
):
    page = show()
    status, back = page.locator(".status"), page.get_by_role("button", name="follow the newest step")
    long = box(page, ".track")["width"]
    expect(back).to_be_hidden()
    page.get_by_label("show the run after step").press("Home")
    expect(back).to_have_text("Go to now")
    expect(status).to_be_hidden()
    assert box(page, ".track")["width"] == long
    back.click()
    expect(back).to_be_hidden()
    expect(status).to_be_visible()
    expect(page.locator(".step")).to_have_text(f"{STEPS // 2} / {STEPS}")


def test_one_button_pauses_and_goes_on_and_leaves_when_the_run_is_over(show: Callable[..., Page]):
    page = show()
    hold = page.locator(".bar button").first
    for state, words in (("running", "Pause"), ("paused", "Go on")):
        page.evaluate("state => { recording.head.state = state; board.pull(); }", state)
        expect(hold).to_have_text(words)
        hold.click()
    assert page.evaluate("told") == ["pause", "resume"]
    page.evaluate("Object.assign(recording.head, { state: 'finished', over: true }); board.pull()")
    for button in (hold, page.get_by_role("button", name="Stop")):
        expect(button).to_be_hidden()
    expect(page.get_by_role("button", name="play the run")).to_be_visible()


def test_the_device_is_told_to_those_who_ask(show: Callable[..., Page]):
    page = show()
    page.evaluate("Object.assign(recording.head, { device: 'trains on cpu' }); board.pull()")
    expect(page.locator(".status")).to_have_attribute("title", "trains on cpu")
    assert "cpu" not in page.locator(".dashboard").inner_text()
    assert "cpu" not in status_words(live.LoopRun("line", 4), "")


# ---------------------------------------------------------------- what is large


def test_what_a_lesson_watches_is_large_and_the_losses_are_a_strip_below(show: Callable[..., Page]):
    page = show(watches=2)
    first, second = (page.locator(".explorer-panels .explorer-plot").nth(i).bounding_box() for i in (0, 1))
    losses, bar = box(page, ".strip .explorer-plot"), box(page, ".bar")
    assert first
    assert second
    assert first["y"] == second["y"]
    assert min(first["height"], second["height"]) > 2 * losses["height"]
    assert losses["width"] > 900
    assert first["y"] + first["height"] < losses["y"] < bar["y"]
    assert page.locator(".strip .explorer-title").inner_text().startswith("line: the loss is")
    assert bar["y"] + bar["height"] < 700  # all of it is seen at once
    page.evaluate("document.querySelector('.dashboard').style.width = '360px'")
    page.wait_for_function("document.querySelector('.strip .axes').getBoundingClientRect().width < 360")
    assert page.evaluate("document.querySelector('.dashboard').scrollWidth") <= 360


def test_losses_are_large_where_nothing_is_watched(show: Callable[..., Page]):
    page = show(watches=0)
    expect(page.locator(".strip")).to_have_count(0)
    assert box(page, ".explorer-panels .explorer-plot")["height"] > 200


# ---------------------------------------------------------------- nothing yet


def test_before_the_first_measurement_there_are_axes_and_what_will_come(show: Callable[..., Page]):
    page = show(steps=0)
    expect(page.locator(".strip .explorer-title")).to_have_text(
        "line is untrained: each step adds its loss here"
    )
    assert page.locator(".strip .ticks text").count() > 4
    expect(page.locator(".coming")).to_have_count(0)  # It has measured the untrained model.
    page.evaluate(
        """() => {
            board.remove();
            recording.head.frames = [0];
            window.late = { frame: recording.frame0_0, panel: recording.panel0 };
            for (const part of ["frame0_0", "panel0"]) delete recording[part];
            window.board = new board.constructor(name => recording[name], document.querySelector("main"));
        }"""
    )
    expect(page.locator(".coming")).to_contain_text("before its first step")
    assert box(page, ".coming")["height"] > 200
    page.evaluate(
        """() => {
            Object.assign(recording, { frame0_0: late.frame, panel0: late.panel });
            recording.head.frames = [1];
            board.pull();
        }"""
    )
    expect(page.locator(".explorer-panels .explorer-title")).to_have_text("0 steps")
    expect(page.locator(".coming")).to_have_count(0)


NAMES = """() => board.views.flatMap(view => [view, view.lower ?? []].flat()).flatMap(({ axes }) => {
    const { left, top } = axes.panel.svg.getBoundingClientRect(), x = left + axes.left;
    const y = top + axes.space.top;
    return [...axes.panel.svg.querySelectorAll("text")].filter(it => it.textContent).map(it => {
        const { left, right, top, bottom } = it.getBoundingClientRect();
        const beside = right <= x + 1 || left >= x + axes.width - 1;
        return [it.textContent, beside || bottom <= y + 1 || top >= y + axes.height - 1];
    });
})"""


@pytest.mark.parametrize("width", [360, 960])
def test_no_name_lies_where_a_curve_may_go(show: Callable[..., Page], width: int):
    names = show(width, watches=2).evaluate(NAMES)
    assert len(names) > 20
    assert [words for words, free in names if not free] == []
