"""The start page's first screen: two models read one question, from a recording or while they train there."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from babygpt_course.explorers.formulas import FORMULAS
from tests.browser.page_checks import LOOKS
from tools.book.__main__ import BOOK, PICTURES, start_page
from tools.book.lab import write_lab
from tools.book.live_parts import write_scripts
from tools.book.start import write_start
from tools.browser.firefox import Firefox
from tools.browser.site import serve_folder

DESK, PHONE = {"width": 1366, "height": 768}, {"width": 360, "height": 740}
WIDE = {"width": 1920, "height": 1080}
LONGEST = 7000  # milliseconds that anything moves by itself
STAGE = "document.querySelector('.first-screen').stage"
# What a lane shows: how many arcs can be seen, where the hands of its clocks point, its next letters.
DRAWN = """[...document.querySelectorAll(".first-lane")].map(lane => ({
    arcs: [...lane.querySelectorAll(".arc")].filter(it => it.getAttribute("visibility") === "visible").length,
    hands: [...lane.querySelectorAll(".first-letters g line")]
        .map(it => `${it.getAttribute("x2")} ${it.getAttribute("y2")}`),
    next: Object.fromEntries([...lane.querySelectorAll("li")].map(({ children: [letter, bar] }) =>
        [letter.textContent, Number(bar.style.getPropertyValue("--share"))])),
}))"""
# Pairs of texts on the first screen whose boxes lie on each other by more than two pixels: Firefox's boxes of
# letters in SVG are wider than the letters by a pixel on each side.
OVERLAPS = """() => {
    const texts = [...document.querySelectorAll(
        ".first-go > *, .first-top > *, .first-name > *, .first-letters text, .first-next li > *,"
        + ".first-head, .first-foot > *, .first-shelf :is(b, span), h1, .first-pages a")]
        .filter(it => it.textContent.trim() && it.getClientRects().length)
        .filter(it => it.getAttribute("visibility") !== "hidden");
    const boxes = texts.map(it => [it, it.getBoundingClientRect()]);
    const over = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 2;
    const clashes = ([one, a], rest) => rest.filter(([other, b]) => !one.contains(other) && over(a, b));
    return boxes.flatMap((box, i) => clashes(box, boxes.slice(i + 1))
        .map(([other]) => `${box[0].textContent} / ${other.textContent}`));
}"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the start page, as Sphinx makes it, among empty pages."""
    source, html = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("start")
    text = start_page(html / PICTURES)
    (source / "index.md").write_text(text, encoding="utf-8")
    for block in re.findall(r"```\{toctree\}(.*?)```", text, re.S):
        for name in re.findall(r"^[\w/]+$", block.replace("Lab <lab>", "lab"), re.M):
            page = source / f"{name}.md"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(f"# {name}\n", encoding="utf-8")
    write_scripts((explore().script for explore in FORMULAS), html)
    write_lab(html)
    write_start(html)
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-Q", "-c", str(BOOK), str(source), str(html)]
    subprocess.run(command, check=True, cwd=BOOK.parent)
    return html


@pytest.fixture(scope="session")
def address(folder: Path) -> Iterator[str]:
    with serve_folder(folder) as url:
        yield f"{url}index.html"


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Callable[..., Page]]:
    """Open the page with options of a context; it must throw nothing, and ask no other host for anything."""
    pages, wrong = list[Page](), list[str]()

    def open_it(stopped: bool = False, **options: Any) -> Page:
        page = browser.new_context(**{"viewport": DESK, **options}).new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda told: wrong.append(told.text) if told.type == "error" else None)
        page.on(
            "request",
            lambda it: (
                wrong.append(it.url) if not it.url.startswith((address[:-10], "data:", "blob:")) else None
            ),
        )
        if stopped:  # time passes by page.clock alone
            page.clock.install(time=0)
            page.clock.pause_at(1000)  # an installed clock runs on until it is paused
        page.goto(address)
        pages.append(page)
        return page

    yield open_it
    for page in pages:
        page.context.close()
    assert wrong == []


def at_rest(page: Page) -> Page:
    """Wait until nothing moves any more."""
    page.wait_for_function(f"{STAGE}.run === null")
    return page


def drawn(page: Page) -> list[dict[str, Any]]:
    return page.evaluate(DRAWN)


def test_the_listed_letters_are_those_that_come_after_the_letter_of_the_arcs(open_page):
    page = open_page(stopped=True)
    recorded = json.loads(page.locator(".first-screen script").text_content() or "")["readings"][0]
    moment = f"""{STAGE}.lanes.map(({{ at, list }}) => [Math.floor(at),
        list.map(([letter]) => letter.textContent).filter(Boolean)])"""
    seen = set()
    for _ in range(12):
        page.clock.run_for(150)
        for lane, (at, letters) in zip(recorded, page.evaluate(moment), strict=True):
            expected = [letter for letter, _ in lane["next"][at + 1]]
            assert (
                letters == [{" ": "␣", "\n": "↵"}.get(letter, letter) for letter in expected][: len(letters)]
            ), at
            seen.add(at)
    assert len(seen) > 5


def test_both_models_read_within_a_second_without_a_click_and_rest_within_seven(open_page):
    page = open_page(stopped=True)
    page.clock.run_for(200)
    first = drawn(page)
    moments = []
    for _ in range(8):  # which letter is read when depends on the frames that a machine makes
        page.clock.run_for(100)
        moments.append(drawn(page))
    assert all(any(lanes[side]["arcs"] for lanes in moments) for side in (0, 1))
    assert all(any(lanes[side]["next"] != first[side]["next"] for lanes in moments) for side in (0, 1))
    assert any(lanes[0]["hands"] != first[0]["hands"] for lanes in moments)
    assert all(lanes[1]["hands"] == [] for lanes in [first, *moments])
    assert page.evaluate(f"{STAGE}.run !== null")
    expect(page.locator(".first-hold")).to_have_text("Pause")
    page.clock.run_for(LONGEST - 1000)
    assert page.evaluate(f"{STAGE}.run === null")
    end = drawn(page)
    page.clock.run_for(3000)
    assert drawn(page) == end


def test_pause_stops_all_motion_and_goes_on(open_page):
    page = open_page(stopped=True)
    page.clock.run_for(1000)
    page.click(".first-hold")
    still = drawn(page)
    page.clock.run_for(2000)
    assert drawn(page) == still
    page.click(".first-hold")
    page.clock.run_for(500)
    assert drawn(page) != still


def test_after_an_exchange_the_bars_of_rope_change_more_than_those_of_the_other_model(open_page):
    page = at_rest(open_page(reduced_motion="reduce"))
    expect(page.locator(".first-kind")).to_have_text("recorded")
    before = [lane["next"] for lane in drawn(page)]
    page.get_by_role("button", name="Exchange the names").click()
    after = [lane["next"] for lane in drawn(at_rest(page))]
    rope, none = (max(abs(b[x] - a[x]) for x in ("r", "l")) for b, a in zip(before, after, strict=True))
    assert rope > 0.8
    assert none < 0.2
    expect(page.locator(".first-mark").first).to_have_class(re.compile("good"))
    expect(page.locator(".first-mark").last).to_have_class(re.compile("bad|lucky"))
    expect(page.locator(".first-kind")).to_have_text("recorded")


def test_an_exchange_moves_the_names_and_reads_again(open_page):
    page = open_page(stopped=True)
    page.clock.run_for(LONGEST)
    texts = "document.querySelectorAll('.first-lane[data-encoding=rope] text')"
    letters = f"[...{texts}].map(it => it.getAttribute('x'))"
    resting = page.evaluate(letters)
    page.get_by_role("button", name="Exchange the names").click()
    page.clock.run_for(300)
    assert page.evaluate(letters)[:4] != resting[:4]
    page.clock.run_for(LONGEST)
    assert page.evaluate(letters) == resting
    assert page.evaluate(f"{STAGE}.run === null")


def test_without_motion_the_end_shows_at_once_and_a_button_plays(open_page):
    page = open_page(stopped=True, reduced_motion="reduce")
    end = drawn(page)
    expect(page.locator(".first-mark").first).to_have_class(re.compile("good"))
    page.clock.run_for(2000)
    assert drawn(page) == end
    page.get_by_role("button", name="Play").click()
    page.clock.run_for(1000)
    assert drawn(page) != end


def test_arrow_keys_show_where_a_letter_looks(open_page):
    page = at_rest(open_page(reduced_motion="reduce"))
    slider = page.get_by_role("slider", name=re.compile("^RoPE"))
    slider.focus()
    end = drawn(page)
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    expect(slider).to_have_attribute("aria-valuenow", "26")
    expect(slider).to_have_attribute("aria-valuetext", re.compile(r"^letter 26, s: looks at .*\d%"))
    assert drawn(page)[1] != end[1]
    page.keyboard.press("End")
    assert drawn(page) == end


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("size", "least"), [(DESK, 12), (PHONE, 9), ({"width": 820, "height": 1180}, 12), (WIDE, 12)]
)
def test_the_first_screen_can_be_read_fits_and_nothing_overlaps(
    open_page, scheme: str, size: dict[str, int], least: int
):
    page = at_rest(open_page(viewport=size, color_scheme=scheme, reduced_motion="reduce"))
    for _ in range(2):
        for part in (".first-screen", ".first-go", ".first-shelf"):
            looks = page.locator(part).evaluate(LOOKS)
            assert [text for text in looks["texts"] if text[1] < least or text[2] < 4.5] == []
            assert looks["sideways"] == []
        assert page.evaluate(OVERLAPS) == []
        page.get_by_role("button", name="Exchange the names").click()
        at_rest(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    bottom = page.locator(".first-screen").bounding_box()
    assert bottom is not None
    assert bottom["y"] + bottom["height"] <= size["height"]


def test_nothing_jumps_while_the_page_loads_and_the_models_read(open_page):
    page = at_rest(open_page())
    moved = page.evaluate("""() => new Promise(resolve => new PerformanceObserver(list =>
        resolve(list.getEntries().map(it => [it.value, it.sources.map(({ node }) => node?.className ?? "")])))
        .observe({ type: "layout-shift", buffered: true })
        || setTimeout(() => resolve([]), 500))""")
    assert sum(value for value, _ in moved) < 0.02, moved


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(open_page, scheme: str):
    page = at_rest(open_page(color_scheme=scheme, reduced_motion="reduce"))
    violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [(it["id"], it["nodes"][0]["html"]) for it in violations] == []


def test_both_models_train_in_the_page_and_answer_in_both_orders(open_page):
    page = open_page()
    page.get_by_role("button", name="Train both, here").click()
    wait = page.locator(".first-kind")
    expect(wait).to_have_text(re.compile(r"live · step [1-9]\d+ of 600"), timeout=60_000)
    expect(page.locator(".first-mark").first).to_have_text(re.compile(r"^\d+% right$"))
    page.get_by_role("button", name="Exchange the names").click()
    page.wait_for_function(f"{STAGE}.lanes.every(lane => lane.reading.text.startsWith('lola chased'))")
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()


def test_the_first_screen_reads_and_exchanges_in_firefox_too(firefox_browser: Firefox, folder: Path):
    firefox_browser.errors.clear()
    page = firefox_browser.new_page(viewport=DESK)
    page.goto((folder / "index.html").as_uri())
    page.wait_for_function(f"{STAGE}.lanes.every(lane => lane.at > 5)")
    page.wait_for_function(f"{STAGE}.run === null")
    before = page.evaluate(DRAWN)
    page.click(".first-swap")
    page.wait_for_function(f"{STAGE}.order === 1 && {STAGE}.run === null")
    after = page.evaluate(DRAWN)
    rope, none = (abs(now["next"]["r"] - then["next"]["r"]) for now, then in zip(after, before, strict=True))
    assert rope > 0.8
    assert none < 0.2
    assert page.evaluate(OVERLAPS) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= DESK["width"]
    page.close()
    assert firefox_browser.errors == []
