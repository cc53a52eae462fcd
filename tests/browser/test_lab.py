"""The lab: a reader brings a text, steers a model while it trains, asks it, and keeps it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tools.book import lab
from tools.browser.site import PAGE, serve_folder

# A content security policy without WebAssembly and workers.
STRICT = "default-src 'self'; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'"
LAB = "document.querySelector('.lab').lab"
TALE = "the cat sat on the mat. the dog ran to the cat. "


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a folder with the lab, and its small form as index.html, also under a strict policy."""
    folder = tmp_path_factory.mktemp("lab")
    lab.write_lab(folder)
    small = PAGE.format(lab.lab_html("", "none", "rope", small=True))
    policy = f'<meta http-equiv="Content-Security-Policy" content="{STRICT}"><title>'
    pages = {"lab": PAGE.format(lab.lab_html()), "index": small, "strict": small.replace("<title>", policy)}
    for name, text in pages.items():
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    with serve_folder(folder) as url:
        yield f"{url}lab.html"


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """Return a page on a phone, which must report no error."""
    phone = browser.new_context(viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    page, wrong = phone.new_page(), list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    assert wrong == []
    phone.close()


LIKELY_LETTERS = """() => [...document.querySelectorAll(".lab-next")].map(list =>
    [...list.children].map(row => [row.checkVisibility(), parseFloat(row.lastChild.textContent)]))"""


def start(page: Page, losses: int) -> None:
    """Press the button of the time line, and wait for this number of losses of both models."""
    page.get_by_role("button", name="train", exact=True).click()
    wait(page, f"runs?.every(run => run.losses.length >= {losses})")


def wait(page: Page, what: str) -> None:
    page.wait_for_function(f"{LAB}.{what}", timeout=120_000)


def losses(page: Page) -> list[list[float]]:
    return page.evaluate(f"{LAB}.runs.map(run => run.losses)")


def bring(page: Page, text: str | bytes, name: str = "mine.txt") -> None:
    """Bring a text, or any bytes, as a file."""
    content = text if isinstance(text, bytes) else text.encode()
    page.locator(".lab-own input").set_input_files(
        {"name": name, "mimeType": "text/plain", "buffer": content}
    )


DROP = """([selector, files]) => {
    const data = new DataTransfer();
    for (const [name, bytes] of files) data.items.add(new File([Uint8Array.from(bytes)], name));
    const event = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
    document.querySelector(selector).dispatchEvent(event);
}"""
# Chromium gives a dropped folder as a file that cannot be read.
DROP_FOLDER = """selector => {
    const event = new DragEvent("drop", { bubbles: true, cancelable: true });
    const arrayBuffer = () => Promise.reject(new DOMException("", "NotFoundError"));
    const folder = { name: "tales", arrayBuffer };
    Object.defineProperty(event, "dataTransfer", { value: { files: [folder] } });
    document.querySelector(selector).dispatchEvent(event);
}"""


def test_what_is_no_text_is_named_and_changes_nothing(page: Page, address: str):
    page.goto(f"{address}?text=own")
    bring(page, 60 * TALE)
    alert, counts = page.get_by_role("alert").first, page.locator(".lab-counts")
    for content, says in (
        ("Grüße aus Köln".encode("latin-1"), "mine.txt is not UTF-8 text: byte 2 cannot be read"),
        (TALE.encode("utf-16-le"), "character 1 is NUL, as in UTF-16 or a binary file"),
    ):
        bring(page, content)
        expect(alert).to_contain_text(says)
        expect(counts).to_contain_text(f"{60 * len(TALE):,} characters")
    bring(page, b'{"magic":"babygpt lab 1","settings":{}}\n', "kept.babygpt")
    expect(alert).to_have_text("kept.babygpt is no model that this lab has kept.")
    page.evaluate(DROP_FOLDER, ".lab")
    expect(alert).to_contain_text("tales cannot be read: it is a folder")
    page.evaluate(DROP, [".lab", [["a.txt", [97]], ["b.txt", [98]]]])
    expect(alert).to_contain_text("2 files were dropped. Drop one")
    page.evaluate(DROP, [".lab", [["emoji.txt", list(("🎲" * 1500 + "ab").encode())]]])
    expect(counts).to_contain_text("1,502 characters, 3 different ones. This is too short")


def test_the_lab_replaces_only_a_beginning_of_its_own(page: Page, address: str):
    page.goto(f"{address}?text=own")
    begin = page.get_by_label("Ask the models")
    for text, line in ((TALE, "the cat sat on the m"), ("once upon a time. " * 9, "once upon a time. on")):
        bring(page, text)
        expect(begin).to_have_value(line)
    begin.fill("mine")
    bring(page, TALE)
    expect(begin).to_have_value("mine")


def test_a_text_of_ones_own_is_counted_read_and_continued(page: Page, address: str):
    page.goto(f"{address}?text=own&layers=1&channels=32&steps=300&batch=4&second=none")
    bring(page, TALE)
    counts = f"{len(TALE)} characters, {len(set(TALE))} different ones. This is too short"
    expect(page.locator(".lab-counts")).to_contain_text(counts)
    page.get_by_role("button", name="train", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("too short")
    bring(page, 60 * TALE)
    page.get_by_label("Ask the models").fill("the cat π")
    start(page, 300)
    wait(page, "state === 'finished'")
    expect(page.locator(".lab-mid > .problem").last).to_have_text(
        "The models have never read π, so they are left out."
    )
    expect(page.locator(".lab-verdict")).to_contain_text("On text that neither has read,")
    page.get_by_label("surprise me").uncheck()
    page.get_by_label("Ask the models").fill("the dog ran to ")
    expect(page.locator(".lab-lane.first .lab-written b")).to_contain_text("the cat.")
    expect(page.locator(".lab-lane.first li b").first).to_have_text("t")
    assert losses(page)[0][-1] < 0.5 < losses(page)[0][0]
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert Axe().run(page).response["violations"] == []


def test_the_start_page_trains_two_models_by_keyboard_and_says_which_one_learned(page: Page, address: str):
    page.goto(address.replace("lab.html", "index.html"))
    for hidden in page.locator("[name=layers], [name=text]").all():
        expect(hidden).to_be_hidden()
    page.get_by_role("button", name="Train", exact=True).press("Enter")
    wait(page, "state === 'finished'")
    none, rope = page.evaluate(f"{LAB}.runs.map(run => run.points.at(-1)[1] / 100)")
    stored = json.loads(lab.SHARES.read_text(encoding="utf-8"))
    assert [none, rope] == pytest.approx([stored["none"][0], stored["rope"][0]], abs=0.05)
    expect(page.locator(".lab")).to_contain_text("Only one model learned who did it: RoPE (v4).")
    chosen = page.get_by_role("group", name="First model").get_by_role("radio", checked=True)
    chosen.press("ArrowLeft")  # from the first encoding to the last one
    page.get_by_role("button", name="Another seed").press("Enter")
    page.wait_for_url("**/index.html?first=alibi&seed=2")
    wait(page, "runs.every(run => run.losses.length > 20 && run.losses.length < 600)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert Axe().run(page).response["violations"] == []


def test_a_page_that_may_not_train_says_so(page: Page, address: str):
    page.goto(address.replace("lab.html", "strict.html"))
    page.get_by_role("button", name="Train", exact=True).click()
    expect(page.get_by_role("alert").first).to_contain_text("This browser cannot train here")


def test_the_rarest_of_too_many_characters_become_one(page: Page, address: str):
    page.goto(f"{address}?text=own&second=nothing&layers=1&channels=32")
    bring(page, 30 * "".join(map(chr, range(0x4E00, 0x4E00 + 127))) + "αβγδ" * 3)
    expect(page.locator(".lab-counts")).to_contain_text("131 different ones. The 4 rarest become one sign, □")
    start(page, 20)
    assert page.evaluate(f"[{LAB}.text.characters.length, {LAB}.text.characters.at(-1)]") == [128, "□"]
    assert page.evaluate(f"[...{LAB}.text.encode('αδ')]") == [127, 127]


def test_a_dial_steers_the_first_model_and_not_its_twin(page: Page, address: str):
    page.goto(f"{address}?first=gaussian&second=twin&layers=1&channels=32&batch=4&steps=3000&alpha=0.5")
    start(page, 30)
    assert page.evaluate(f"{LAB}.facts.controls.map(one => [one.name, one.value])") == [
        ["theta", 10_000],
        ["alpha", 0.5],
        ["sigma", 5],
    ]
    page.get_by_role("button", name="Dials").click()
    page.get_by_label("letters that the near scale hears").press("Home")
    moved = page.evaluate(f"{LAB}.moves[0][0]")
    # A worker is some steps ahead of what the page knows, on a busy machine many.
    wait(page, f"runs[0].losses.some((loss, i) => loss !== ({LAB}.runs[1].losses[i] ?? loss))")
    first, twin = losses(page)
    assert first[:moved] == twin[:moved]
    expect(page.locator(".moves")).to_have_text("σ 1")
    page.wait_for_url("**&sigma=1*")
    page.get_by_role("button", name="pause", exact=True).click()
    page.wait_for_timeout(500)
    paused = losses(page)
    page.wait_for_timeout(300)
    assert losses(page) == paused
    menu = page.locator(".lab-menu summary")
    menu.click()
    with page.expect_download() as download:  # what a worker has not told yet is kept, too
        page.get_by_role("button", name="Save the first model").click()
    header = json.loads(Path(download.value.path()).read_bytes().split(b"\n")[0])
    assert len(header["run"]["losses"]) == header["steps"]
    before = page.evaluate(f"{LAB}.runs.map(run => run.losses.length)")
    menu.click()
    page.get_by_role("button", name="Start over").click()  # the curve before stays, and the dial as well
    page.wait_for_function(
        f"before => {LAB}.runs[0].losses.length < before && {LAB}.runs[0].losses.length > 20",
        arg=before[0],
    )
    expect(page.locator(".explorer-legend").first).to_contain_text("earlier: Gaussian RoPE (v5), σ 1")
    assert page.evaluate(f"{LAB}.values.sigma") == 1
    starts = page.locator(".lab-starts")
    expect(starts).to_have_text("")
    page.get_by_role("group", name="First model").get_by_role("radio", name="RoPE (v4)", exact=True).check()
    expect(starts).to_have_text(
        "The pictures show Gaussian RoPE (v5) as it was trained; press Train for these settings."
    )


def test_heads_are_switched_off_and_a_model_is_kept_and_loaded(page: Page, address: str, tmp_path: Path):
    page.goto(f"{address}?text=tales-zh&first=learned&second=nothing&channels=32&batch=4&steps=300&seed=3")
    start(page, 300)
    wait(page, "state === 'finished'")
    trained, lane = losses(page), page.locator(".lab-lane.first")
    card, silenced = lane.locator(".lab-written"), lane.locator(".lab-silenced")
    written, off = card.inner_text(), lane.get_by_role("button", name="Switch off")
    heads = lane.get_by_role("group", name="Heads of").get_by_role("button", name="head")
    for head, words in zip(
        heads.all(), ("head 1 of layer 1:", "head 2 of layer 1:", "", "any head:"), strict=True
    ):
        head.click()
        off.click()
        expect(silenced).to_contain_text(words)
    expect(silenced).to_contain_text("right answers to 40 questions")
    page.get_by_role("button", name="Dials").click()
    page.locator(".lab-menu summary").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="Save the first model").click()
    download.value.save_as(tmp_path / "kept.babygpt")
    assert card.inner_text() != written
    page.goto(address)
    file_bytes = (tmp_path / "kept.babygpt").read_bytes()
    (tmp_path / "other.babygpt").write_bytes(file_bytes[:-12])
    page.locator(".lab-load input").set_input_files(tmp_path / "other.babygpt")
    expect(page.get_by_role("alert").first).to_have_text("other.babygpt is no model that this lab has kept.")
    page.locator(".lab-load input").set_input_files(tmp_path / "kept.babygpt")
    expect(card).to_have_text(written, use_inner_text=True)
    assert [round(loss, 3) for loss in trained[0]] == losses(page)[0]
    page.wait_for_url("**first=learned*")


SCROLLS = """() => [...document.querySelectorAll(".lab-form, .lab-mid, .explorer-panels, .lab")]
    .filter(it => it.scrollHeight > it.clientHeight + 1 || it.scrollWidth > it.clientWidth + 1)
    .map(it => `${it.className}: ${it.scrollWidth} x ${it.scrollHeight}`)"""
# Names and letters that lie on each other, and those that are smaller than they may be.
OVERLAPS = r"""least => {
    const names = ".lab :is(text, .moves i, legend, .explorer-title, .lab-name b, .lab-written)";
    const texts = [...document.querySelectorAll(names)].filter(it => it.checkVisibility());
    const boxes = texts.filter(it => it.textContent.trim())
        .map(it => [it.textContent, it.getBoundingClientRect(), it])
        .filter(([, box]) => box.width && box.height);
    const on = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 3;
    const home = it => it.closest("svg, .row, .lab-lane");
    const pairs = boxes.flatMap(([a, box, it], i) => boxes.slice(i + 1)
        .filter(([, other, one]) => home(it) === home(one) && on(box, other)).map(([b]) => `${a} on ${b}`));
    const small = texts.filter(it => parseFloat(getComputedStyle(it).fontSize) < least)
        .filter(it => !it.classList.contains("lead")).map(it => it.textContent);
    return { pairs, small };
}"""


@pytest.fixture
def desk(browser: Browser) -> Iterator[Page]:
    """Return a page on a small desk, which must report no error."""
    context = browser.new_context(viewport={"width": 1280, "height": 720}, reduced_motion="reduce")
    page, wrong = context.new_page(), list[str]()
    page.on("pageerror", lambda error: wrong.append(str(error)))
    yield page
    assert wrong == []
    context.close()


@pytest.mark.parametrize("query", ["", "?first=gaussian&second=twin", "?first=drawn&second=rope"])
def test_the_bench_fits_on_one_screen_and_nothing_jumps(desk: Page, address: str, query: str):
    desk.goto(address + query)
    parts = ".lab, .lab-lane, .lab-heads, .explorer-panel, .time, .lab-train"
    places = f"""() => [...document.querySelectorAll("{parts}")].map(it => it.getBoundingClientRect())
        .map(({{ left, top, right, bottom }}) => [left, top, right, bottom])"""
    before = desk.evaluate(places)
    assert before[0][3] - before[0][1] == 720 - 52
    assert desk.evaluate(SCROLLS) == []
    desk.locator(".lab-train").click()
    for losses_made in (5, 60):
        wait(desk, f"runs.every(run => run.losses.length > {losses_made})")
        np.testing.assert_allclose(desk.evaluate(places), before, atol=0.5)
        assert desk.evaluate(SCROLLS) == []
        assert desk.evaluate(OVERLAPS, 12) == {"pairs": [], "small": []}
    assert Axe().run(desk).response["violations"] == []


def test_an_encoding_is_chosen_by_its_glyph_with_the_arrow_keys(desk: Page, address: str):
    desk.goto(address)
    first = desk.get_by_role("group", name="First model")
    assert first.locator("svg.glyph").count() == 7
    first.get_by_role("radio", checked=True).press("ArrowRight")
    expect(first.get_by_role("radio", name="Gaussian RoPE (v5)")).to_be_checked()
    expect(desk.locator(".lab-lane.first b").first).to_have_text("Gaussian RoPE (v5)")
    expect(desk.locator(".lab-dials label")).to_have_count(3)
    desk.wait_for_url("**first=gaussian*")


def test_a_kernel_drawn_by_hand_trains_and_stands_in_the_address(desk: Page, address: str):
    desk.goto(f"{address}?first=drawn&second=twin&layers=1&channels=32&batch=4&steps=3000")
    plot = desk.locator(".explorer-plot.shapes")
    box = plot.bounding_box()
    assert box
    desk.mouse.move(box["x"] + 60, box["y"] + 15)
    desk.mouse.down()
    desk.mouse.move(box["x"] + 200, box["y"] + box["height"] - 24, steps=4)
    desk.mouse.up()
    kernel = desk.evaluate(f"{LAB}.values.kernel")
    heights = [int(one, 36) for one in kernel]
    assert heights[10] > 20 > heights[40]
    desk.wait_for_url(f"**kernel={kernel}*")
    start(desk, 40)
    plot.focus()
    for key in ("ArrowRight", "ArrowDown"):
        plot.press(key)
    redrawn = desk.evaluate(f"{LAB}.values.kernel")
    assert redrawn != kernel
    desk.mouse.move(box["x"] + 60, box["y"] + box["height"] - 24)
    desk.mouse.down()
    desk.mouse.move(box["x"] + 240, box["y"] + box["height"] - 24)
    desk.mouse.up()
    wait(desk, "moves.length === 1")
    moved = desk.evaluate(f"{LAB}.moves[0][0]")
    wait(desk, f"runs.every(run => run.losses.length > {moved} + 90)")
    first, twin = losses(desk)
    assert first[:moved] == twin[:moved]
    assert first[moved + 60 : moved + 90] != twin[moved + 60 : moved + 90]
    desk.wait_for_url(f"**kernel={desk.evaluate(f'{LAB}.values.kernel')}*")
    address_kept = desk.url
    desk.goto("about:blank")
    desk.goto(address_kept)
    assert f"kernel={desk.evaluate(f'{LAB}.values.kernel')}" in address_kept


def test_token_shift_is_a_switch_that_trains_and_is_kept(desk: Page, address: str, tmp_path: Path):
    desk.goto(f"{address}?first=none&second=none&layers=1&channels=32&batch=4&steps=300")
    desk.get_by_role("group", name="First model").get_by_role("checkbox", name="+ shift").check()
    desk.wait_for_url("**shift=yes*")
    start(desk, 40)
    with_shift, without = losses(desk)
    assert with_shift[0] == without[0]  # its weights begin at 0
    assert with_shift[39] < without[39]
    expect(desk.locator(".lab-lane.first b").first).to_have_text("No positions + shift")
    desk.locator(".lab-menu summary").click()
    with desk.expect_download() as download:
        desk.get_by_role("button", name="Save the first model").click()
    download.value.save_as(tmp_path / "shift.babygpt")
    desk.goto(address)
    desk.locator(".lab-load input").set_input_files(tmp_path / "shift.babygpt")
    wait(desk, "runs[0].losses.length === 300")
    assert desk.evaluate(f"[{LAB}.runs[0].shift, {LAB}.runs.length]") == [True, 1]


def test_a_question_keeps_its_last_space_and_its_names_are_exchanged(desk: Page, address: str):
    desk.goto(f"{address}?steps=300&channels=32&layers=1")
    begin = desk.get_by_label("Ask the models")
    begin.fill("lola chased rora. who chased?")
    assert desk.evaluate(f"[{LAB}.question().letters.at(-1), {LAB}.question().answer]") == [" ", "lola"]
    desk.get_by_role("button", name="Exchange the names").click()
    expect(begin).to_have_value("rora chased lola. who chased?")
    begin.fill("rora chased lola. chased whom?")
    assert desk.evaluate(f"{LAB}.question().answer") == "lola"


def test_a_steered_run_ends_with_a_verdict(desk: Page, address: str):
    desk.goto(f"{address}?second=twin&layers=1&channels=32&batch=4&steps=300")
    start(desk, 30)
    desk.locator(".lab-dials input").press("ArrowLeft")
    wait(desk, "state === 'finished'")
    verdict = r"θ 7,\d+: RoPE \(v4\) ends with \d+% right answers, and twin with \d+% right answers\."
    expect(desk.locator(".lab-verdict")).to_have_text(re.compile(verdict))


def test_on_a_phone_pictures_come_first_and_targets_are_large(page: Page, address: str):
    page.goto(address)
    expect(page.locator(".lab-train")).to_be_hidden()
    start(page, 10)
    top = page.locator(".explorer-panel").nth(1).bounding_box()
    assert top
    assert top["y"] < 620  # right answers
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.evaluate(OVERLAPS, 9) == {"pairs": [], "small": []}
    for letters in page.evaluate(LIKELY_LETTERS):
        shown, hidden = ([share for visible, share in letters if visible is seen] for seen in (True, False))
        assert len(shown) == 3
        assert min(shown) >= max(hidden, default=0)
    page.get_by_role("button", name="Dials").click()
    expect(page.locator(".lab-train")).to_be_visible()
    small = """() => [...document.querySelectorAll(".lab :is(button, summary, fieldset label)")]
        .filter(it => it.checkVisibility({ visibilityProperty: true }))
        .filter(it => it.getBoundingClientRect().height < 43.5).map(it => it.outerHTML)"""
    assert page.evaluate(small) == []
