"""The book in a real browser: every page, every recording, on a desk and on a telephone."""

import base64
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect

from babygpt_live.panel import unpack
from tools.book.__main__ import BOOK, BUILD, build, is_current, megabytes
from tools.book.documents import site
from tools.browser.site import serve_folder

# Run and recorded where no whole book is at hand; `.ci/run` makes one first.
SOME = ["07a_diffusion", "03a_attention"]
PHONE = {"width": 360, "height": 780}
DESK = {"width": 1280, "height": 900}
PAGE_BYTES, SITE_MEGABYTES = 1_200_000, 10
LESSON = "notebooks/07a_diffusion.html"
TWO_RUNS = "notebooks/03a_attention.html"  # page with two dashboards, among those of SOME
KINDS = [
    *("index.html", LESSON, "board.html", "claims.html", "search.html?q=10000", "404.html", "api/index.html"),
    *("docs/glossary.html", "docs/notes/004.html", "api/encodings.html", "figures/tables.html"),
]


@pytest.fixture(scope="session")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with the pages: the whole book if it is up to date, or else one with a lesson."""
    return BUILD / "html" if is_current(BUILD) else build(SOME, tmp_path_factory.mktemp("book"))


@pytest.fixture(scope="session")
def address(html: Path) -> Iterator[str]:
    with serve_folder(html) as url:
        yield url


@pytest.fixture
def desk(browser: Browser) -> Iterator[BrowserContext]:
    context = browser.new_context(viewport=DESK, reduced_motion="reduce")  # no run plays by itself
    yield context
    context.close()


MOVED = BOOK / "moved"  # pages that only lead on to others


def pages_of(html: Path) -> list[str]:
    paths = {path.relative_to(html) for path in html.rglob("*.html")}
    lessons = {path.relative_to(MOVED) for path in MOVED.rglob("*.html")}
    tables = {Path(table).with_suffix(".html") for table in site().tables}
    return sorted(path.as_posix() for path in paths - lessons - tables)  # without those that lead elsewhere


def watched(context: BrowserContext, address: str) -> tuple[Page, list[str]]:
    """Yield a page, and a list that collects every error on it and every request to another host."""
    page, wrong = context.new_page(), []

    def note(what: str, is_wrong: bool = True) -> None:
        wrong.extend([f"{page.url}: {what}"] if is_wrong else [])

    page.on("pageerror", lambda error: note(str(error)))
    # A request that the next page aborts has not failed.
    page.on(
        "requestfailed", lambda request: note(f"{request.url} failed", request.failure != "net::ERR_ABORTED")
    )
    page.on("console", lambda message: note(message.text, message.type == "error"))
    page.on("request", lambda it: note(f"asks {it.url}", not it.url.startswith((address, "data:", "blob"))))
    return page, wrong


def see_all(page: Page) -> None:
    """Scroll to the end, so that late pictures load."""
    page.evaluate(
        "async () => { for (const i of document.images) i.loading = 'eager'; "
        "await Promise.all([...document.images].map(i => i.decode().catch(() => 0))); }"
    )


@pytest.mark.slow
def test_every_page_opens_without_an_error_or_foreign_request_is_light_and_fits_its_screen(
    desk: BrowserContext, html: Path, address: str
):
    page, wrong = watched(desk, address)
    loaded: list[str] = []
    page.on("response", lambda response: loaded.append(response.url))
    for name in pages_of(html):
        loaded.clear()
        page.goto(address + name)
        see_all(page)
        broken = page.evaluate("[...document.images].filter(i => !i.naturalWidth).map(i => i.src)")
        wrong += [f"{name}: {image} shows nothing" for image in broken]
        files = {html / unquote(urldefrag(url)[0].removeprefix(address).partition("?")[0]) for url in loaded}
        size = sum(path.stat().st_size for path in files if path.is_file())
        wrong += [f"{name} has {size} bytes"] if size > PAGE_BYTES else []
        for width in (360, 1600, DESK["width"]):
            page.set_viewport_size({**DESK, "width": width})
            page_width = page.evaluate("document.documentElement.scrollWidth")
            wrong += [f"{name} is {page_width} wide on {width}"] if page_width > width else []
    assert wrong == []
    assert megabytes(html) < SITE_MEGABYTES


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(browser: Browser, address: str, scheme: str):
    context = browser.new_context(viewport=DESK, color_scheme=scheme)
    page, faults = context.new_page(), []
    for name in KINDS:
        page.goto(address + name)
        unfold(page)
        violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
        faults += [(name, violation["id"], violation["nodes"][0]["html"]) for violation in violations]
    context.close()
    assert faults == []


# ---------------------------------------------------------------- recordings


def recording(figure: Locator, page: Path) -> dict[str, Any]:
    """Read what the file of a page holds for a figure, as nested data with arrays."""
    nth = figure.evaluate("it => [...document.querySelectorAll('figure.live')].indexOf(it)")
    soup = BeautifulSoup(page.read_text("utf-8"), "html.parser")
    text = soup.select("figure.live")[nth].select_one("script").string
    head, _, numbers = gzip.decompress(base64.b64decode(text)).partition(b"\0")

    def array(part: dict[str, Any]) -> Any:
        return unpack({**part, "data": numbers[slice(*part["data"])]}) if "dtype" in part else part

    return json.loads(head, object_hook=array)


def unfold(page: Page) -> None:
    page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")


def time_of(figure: Locator) -> Locator:
    return figure.get_by_label("show the run after step")


def expect_run(figure: Locator, run: dict[str, Any], step: int) -> None:
    """Wait until a figure shows the loss and the findings that were recorded of a step."""
    losses = np.concatenate([run[f"loss{i}"] for i in range(-(-run["head"]["made"] // 256))]).astype(float)
    words, titles = run["facts"]["words"], figure.locator(".explorer-title")
    mean = losses[max(0, step - run["facts"]["smooth"]) : step].mean() if step else 0.0
    loss = words["trained"].format(loss=f"{mean:.2f}", step=step) if step else words["untrained"]
    expect(titles.filter(has_text=re.compile(f"^{re.escape(loss)}$"))).to_have_count(1)
    for i, n in enumerate(run["head"]["frames"]):
        frame = [run[f"frame{i}_{k}"] for k in range(n) if run[f"frame{i}_{k}"]["step"] <= step][-1]
        title = frame.get("title") or frame["panel"]["title"]
        expect(titles.filter(has_text=re.compile(f"^{re.escape(title)}$"))).to_have_count(1)


def fields_of(figure: Locator) -> list[Locator]:
    return figure.locator(".explorer-controls").locator("input, select").all()


def expect_answer(figure: Locator, state: dict[str, Any]) -> None:
    """Wait until an explorer shows the findings that were recorded for the values of its controls."""
    fields, choices, number = fields_of(figure), dict[str, int](), 0
    inputs = [
        control for control in state["controls"] if "rows" not in control
    ]  # others are switches, all on
    for control, field in zip(inputs, fields, strict=True):
        chosen = field.evaluate("it => it.selectedIndex ?? Number(it.value)")
        choices[control["name"]] = chosen
    for name in state["together"]:
        control = next(candidate for candidate in state["controls"] if candidate["name"] == name)
        number = number * len(control.get("stops") or control["options"]) + choices.get(name, 0)
    answer = state["answers"][number]
    if "frames" not in answer:
        return expect(figure.get_by_role("alert")).to_have_text(answer["problem"])
    frames = answer["frames"]
    frame = frames[min(choices.get(answer["frames_by"], 0), len(frames) - 1)]
    for title, panel in zip(figure.locator(".explorer-title").all(), frame, strict=False):
        if panel["marks"][0]["kind"] != "heads":  # a reader may have chosen another head
            expect(title).to_have_text(panel["title"])


@pytest.mark.slow
def test_every_recording_shows_its_numbers_wherever_it_is_moved(desk: BrowserContext, html: Path, address):
    (page, wrong), tried = watched(desk, address), 0
    for name in pages_of(html):
        if 'type="application/gzip"' not in (html / name).read_text("utf-8"):
            continue
        page.goto(address + name)
        unfold(page)
        for figure in page.locator("figure.live").all():
            if figure.get_attribute("data-live") == "dashboard":
                run = recording(figure, html / name)
                last = run["head"]["made"]
                for step in (last, 0, last // 3, last - 1):
                    time_of(figure).fill(str(step))
                    expect_run(figure, run, step)
            elif figure.get_attribute("data-live") in ("explorer", "switchboard"):
                state = recording(figure, html / name)
                for control in fields_of(figure):
                    move(control)
                    expect_answer(figure, state)
            tried += 1
    assert wrong == []
    assert tried > 3


def move(control: Locator) -> None:
    """Move a control to one of its ends: a slider with the keyboard."""
    if control.evaluate("it => it.tagName") == "SELECT":
        control.select_option(index=control.locator("option").count() - 1)
    else:
        control.press("Home" if control.input_value() == control.get_attribute("max") else "End")


def test_a_run_begins_at_its_end_and_is_wound_back_by_hand_by_keys_and_by_playing(
    desk: BrowserContext, html: Path, address: str
):
    page, wrong = watched(desk, address)
    page.goto(address + LESSON)
    figure = page.locator("figure.live[data-live=dashboard]").first
    run = recording(figure, html / LESSON)
    last, slider = run["head"]["made"], time_of(figure)
    expect(slider).to_have_value(str(last))
    expect_run(figure, run, last)
    plot = figure.locator(".strip .explorer-plot").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    assert box
    page.mouse.move(box["x"] + box["width"] - 20, box["y"] + 100)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 100, steps=5)
    page.mouse.up()
    step = int(slider.input_value())
    assert last / 3 < step < 2 * last / 3
    page.mouse.move(0, 0)
    expect_run(figure, run, step)
    slider.press("ArrowRight")
    expect_run(figure, run, step + 1)
    slider.press("Home")
    expect_run(figure, run, 0)
    figure.get_by_role("button", name="play the run").click()
    expect(slider).not_to_have_value("0")
    expect(slider).to_have_value(str(last), timeout=15_000)
    expect_run(figure, run, last)
    assert wrong == []


def test_the_first_run_of_a_page_plays_once_when_it_comes_into_sight_and_a_hand_stops_it(
    browser: Browser, html: Path, address: str
):
    page = browser.new_page(viewport=DESK)
    page.goto(address + TWO_RUNS)
    first, second = (page.locator("figure.live[data-live=dashboard]").nth(i) for i in (0, 1))
    last = str(recording(first, html / TWO_RUNS)["head"]["made"])
    time_of(first).scroll_into_view_if_needed()
    first.locator(".explorer-plot").last.scroll_into_view_if_needed()
    expect(time_of(first)).not_to_have_value(last)
    first.get_by_role("button", name="play the run").click()
    stopped = time_of(first).input_value()
    assert 0 < int(stopped) < int(last)
    page.wait_for_timeout(300)
    expect(time_of(first)).to_have_value(stopped)
    first.get_by_role("button", name="play the run").click()
    expect(time_of(first)).to_have_value(last, timeout=15_000)
    second.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    assert int(time_of(second).input_value()) == recording(second, html / TWO_RUNS)["head"]["made"]
    page.close()


def test_without_scripts_the_still_picture_shows(browser: Browser, address: str):
    context = browser.new_context(viewport=PHONE, java_script_enabled=False)
    page = context.new_page()
    page.goto(address + LESSON)
    for figure in page.locator("figure.live").all():
        expect(figure.locator("img")).to_be_visible()
    fold = page.locator("details.hint").first
    fold.locator("summary").click()
    expect(fold.locator("p").first).to_be_visible()
    context.close()


def test_a_book_opens_from_a_disk(desk: BrowserContext, html: Path):
    page, wrong = watched(desk, "file://")
    page.goto((html / LESSON).as_uri())
    unfold(page)
    figure = page.locator("figure.live[data-live=dashboard]").first
    time_of(figure).press("Home")
    expect_run(figure, recording(figure, html / LESSON), 0)
    page.goto((html / "search.html").as_uri() + "?q=rotation")
    expect(page.locator("#search-results li").first).to_be_visible()
    assert wrong == []


@pytest.mark.parametrize("query", ["10000", "10,000", "why 10000"])
def test_a_search_shows_the_sentence_and_lessons_first(desk: BrowserContext, address: str, query: str):
    page = desk.new_page()
    page.goto(address)
    page.get_by_role("search").get_by_label("Search").fill(query)
    page.keyboard.press("Enter")
    first = page.locator("#search-results li").first
    expect(first.locator("mark").last).to_have_text(re.compile("10,?000"))
    page.get_by_label("Words or numbers").fill("alibi")
    link = page.locator("#search-results li a").first
    expect(link).to_have_attribute("href", re.compile("^notebooks/05_gaussian_rope"))
    link.press("Enter")
    expect(page).to_have_url(re.compile("notebooks/05_gaussian_rope.html#"))


# ---------------------------------------------------------------- heads and first cells


def test_every_lesson_has_a_question_as_title_and_folds_its_imports(html: Path):
    titles = set()
    lessons = [name for name in pages_of(html) if name.startswith("notebooks/")]
    for name in lessons:
        soup = BeautifulSoup((html / name).read_text("utf-8"), "html.parser")
        question, title, course = soup.title.string.split(" · ")
        titles.add(question)
        assert question[-1] == "?"
        assert title in soup.h1.get_text()
        assert course == "babygpt"
        assert 40 < len(soup.select_one("meta[name=description]")["content"]) < 400
        fold = soup.select_one("div.cell").select_one("details")
        assert "The code" in fold.summary.get_text()
        assert "import" in fold.select_one("pre").get_text()
    assert len(titles) == len(lessons) > 10


# ---------------------------------------------------------------- questions, folds, links


def test_a_guess_counts_only_before_its_outcome_is_opened(desk: BrowserContext, address: str):
    page = desk.new_page()
    page.goto(address + LESSON)
    first, second = (page.locator("fieldset.guess").nth(i) for i in (0, 1))
    outcome = outcome_of(page, first)
    expect(outcome).to_be_hidden()
    facts = json.loads(first.locator("script").text_content() or "")
    answer(first, facts)
    outcome.locator("xpath=ancestor::details").locator("summary").click()
    expect(outcome).to_contain_text("You guessed:")
    expect(outcome).to_contain_text("✓")
    words = outcome.text_content()
    change(first, facts)  # too late: what counts is what was guessed before
    expect(first.locator(".guess-said")).to_be_attached()
    assert outcome.text_content() == words
    late = outcome_of(page, second)
    late.locator("xpath=ancestor::details").locator("summary").click()
    expect(late).to_contain_text("No guess was made before this was shown.")
    answer(second, json.loads(second.locator("script").text_content() or ""))
    expect(late).to_contain_text("Guessed after the outcome was shown.")
    expect(page.locator(".tally")).to_contain_text("1 of 1 guesses were right")


def outcome_of(page: Page, guess: Locator) -> Locator:
    return page.locator(f"[data-outcome='{guess.get_attribute('data-guess')}']").first


def change(guess: Locator, facts: dict) -> None:
    """Enter another guess, or none."""
    wrong = [option for option in facts.get("options", ()) if option != facts["outcome"]]
    fill(guess, wrong[0] if wrong else "", facts)


def answer(guess: Locator, facts: dict) -> None:
    """Enter the right guess."""
    fill(guess, str(facts["outcome"]), facts)


def fill(guess: Locator, text: str, facts: dict) -> None:
    if "options" in facts:
        guess.get_by_role("radio", name=text, exact=True).check()
    else:
        guess.get_by_role("textbox").fill(text)
        guess.get_by_role("textbox").press("Tab")


def test_claims_have_a_filter_and_show_without_scripts(desk: BrowserContext, browser: Browser, address: str):
    page = desk.new_page()
    page.goto(f"{address}claims.html")
    shown, line = page.locator("article.claim:visible"), page.locator("#shown")
    every = shown.count()
    expect(line).to_be_hidden()
    page.locator("table.verdicts tbody a[href*='note=002&verdict=holds']").click()
    holding = page.locator("[data-note='002'][data-verdict=holds]")
    assert 0 < holding.count() < every
    expect(shown).to_have_count(holding.count())
    expect(line).to_contain_text(f"{holding.count()} of {every}")
    failing = page.locator("article.claim[data-verdict=fails]").first
    page.evaluate("hash => { location.hash = hash }", failing.get_attribute("id"))
    expect(shown).to_have_count(every)  # what a link leads to is seen
    page.locator("table.verdicts thead").get_by_role("link", name="fails").click()
    page.get_by_role("link", name="Show all").press("Enter")
    expect(shown).to_have_count(every)
    plain = browser.new_context(java_script_enabled=False)
    page = plain.new_page()
    page.goto(f"{address}claims.html?verdict=fails")
    expect(page.locator("article.claim:visible")).to_have_count(every)
    plain.close()


def test_every_link_leads_somewhere(html: Path):
    anchors: dict[Path, set[str]] = {}
    links: list[tuple[str, str]] = []
    for name in pages_of(html):
        soup = BeautifulSoup((html / name).read_text("utf-8"), "html.parser")
        anchors[(html / name).resolve()] = {tag["id"] for tag in soup.select("[id]")}
        links += [(name, tag["href"]) for tag in soup.select("a[href]")]
    broken = {(name, link) for name, link in links if not leads_somewhere(name, link, html, anchors)}
    assert broken == set()


def test_old_addresses_lead_to_the_new_ones(desk: BrowserContext, address: str):
    page = desk.new_page()
    page.goto(f"{address}notebooks/04_rope.html")
    page.wait_for_url(f"{address}notebooks/04a_rope.html")
    for link in BeautifulSoup((MOVED / "notebooks" / "04_rope.html").read_text("utf-8"), "html.parser")("a"):
        assert page.goto(f"{address}notebooks/{link['href']}").ok


def leads_somewhere(name: str, link: str, html: Path, anchors: dict[Path, set[str]]) -> bool:
    target, anchor = urldefrag(urljoin(f"site:///{name}", link))
    if not target.startswith("site:"):
        return True
    path = (html / unquote(target.removeprefix("site:///"))).resolve()
    if not path.exists():
        return False
    return not anchor or path not in anchors or unquote(anchor) in anchors[path]


def test_pictures_on_a_telephone_keep_letters_that_can_be_read_and_scroll(browser: Browser, address: str):
    """Require widths at which letters have 9 px: of an output 0.6 of its own, of a study's figure 620 px."""
    page = browser.new_page(viewport=PHONE)
    for name in (LESSON, "docs/results.html"):
        page.goto(address + name)
        unfold(page)
        see_all(page)
        sizes = page.locator("article img").evaluate_all("all => all.map(it => [it.width, it.naturalWidth])")
        assert all(width >= min(0.59 * own, 620) for width, own in sizes)
        assert max(width for width, _ in sizes) > PHONE["width"]
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.close()


def test_a_printed_page_opens_all_folds_has_all_pictures_and_hides_controls(
    desk: BrowserContext, address: str
):
    page = desk.new_page()
    page.goto(address + LESSON)
    # Images in folds and below the window are loaded, too.
    page.wait_for_function("[...document.images].every(it => it.naturalWidth)")
    page.emulate_media(media="print")
    expect(page.locator(".explorer-controls").first).to_be_hidden()
    expect(page.locator("details.hint p").first).to_be_visible()
    assert page.locator(".explorer-panel .explorer-title").count() > 2
    page.emulate_media(media="screen")
    expect(page.locator("details.hint p").first).to_be_hidden()
