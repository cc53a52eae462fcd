"""The switchboard in a page without a kernel: heads are switched by mouse, keys and fingers, and read."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, expect

from babygpt.models.language_model import LanguageModel
from babygpt_course.tools import switchboard
from babygpt_live import Axis, Explorer, Trials
from tests.browser.conftest import Visit
from tools.book.live_parts import live_html, write_scripts
from tools.book.recording import record_explorer
from tools.browser.site import PAGE, serve_folder

HEADS, BEFORE = [(16, 0), (16, 1), (29, 8)], "on the token before"
PHONE = {"viewport": {"width": 360, "height": 700}, "has_touch": True, "is_mobile": True}


def measure(model: LanguageModel) -> dict[Axis, float | str]:
    with torch.inference_mode():
        logits = model(torch.arange(6)[None])[0]
    share = Axis("right answers", (0, 100), unit="%", digits=0)
    return {share: 100 * float(logits.sigmoid().mean()), Axis("answer"): f"token {int(logits[-1].argmax())}"}


@pytest.fixture(scope="module")
def boards(awake: Callable[..., LanguageModel]) -> list[Explorer]:
    """Make the switchboards of eight heads, and of as many as a published model has."""
    shades = [[(layer * 9 + head) / 269 for head in range(9)] for layer in range(30)]
    large = awake("v4", n_layer=30, n_head=9, n_embd=18)
    small = awake("v4", n_layer=2, n_head=4, n_embd=16)
    return [switchboard(small, measure), switchboard(large, measure, HEADS, shades, BEFORE)]


@pytest.fixture(scope="module")
def address(boards: list[Explorer], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("switchboard")
    recorded = [record_explorer(board) for board in boards]
    figures = (
        live_html(recording["module"], recording["data"], "", words=recording["words"])
        for recording in recorded
    )
    write_scripts([], folder)
    (folder / "index.html").write_text(PAGE.format("".join(figures)), encoding="utf-8")
    with serve_folder(folder) as served:
        yield served


def switch(root: Locator, layer: int, head: int) -> Locator:
    return root.locator(f"[aria-label^='switch off layer {layer + 1}, head {head + 1}']")


def expect_answer(root: Locator, board: Explorer, *off: tuple[int, int]) -> None:
    """Wait until a page shows what Python says of a model without these heads."""
    board.off = list(off)
    (panel,) = board.now()
    trials = panel.find(Trials)
    expect(root.locator(".explorer-title")).to_have_text(panel.title)
    shown = [axis.write(value) for axis, value in zip(trials.quantities, trials.values[-1], strict=True)]
    expect(root.locator(".now > *")).to_have_text([trials.names[-1], *shown])
    expect(root.locator("[aria-pressed=true]")).to_have_count(len(off))
    for cell in off:
        expect(switch(root, *cell)).to_have_attribute("aria-pressed", "true")


def test_a_journey_with_mouse_and_keys(visit: Visit, boards: list[Explorer]):
    page = visit()
    root, board, heard = page.locator(".explorer").first, boards[0], page.locator(".explorer-voice").first
    expect_answer(root, board)
    switch(root, 1, 2).click()
    expect_answer(root, board, (1, 2))
    expect(heard).to_have_text(board.now()[0].title)
    for key, head in (("ArrowLeft", 3), ("ArrowUp", 2)):  # a column for each layer
        page.keyboard.press(key)
        expect(root.locator(".explorer-readout").first).to_have_text(f"layer 1, head {head}")
    page.keyboard.press("Space")
    expect_answer(root, board, (0, 1), (1, 2))
    expect(root.locator(".switches-bar")).to_contain_text("2 of 8 heads off")
    switch(root, 1, 2).press("Enter")
    expect_answer(root, board, (0, 1))
    assert root.locator(".switches-grid [tabindex='0']").count() == 1
    tried = [
        "none: the whole model",
        "layer 1, head 2",
        "layer 1, head 2; layer 2, head 3",
        "layer 2, head 3",
    ]
    expect(root.locator("tbody th")).to_have_text(tried)
    root.get_by_role("button", name=tried[2]).click()
    expect_answer(root, board, (0, 1), (1, 2))
    expect(root.locator("tbody th")).to_have_text(tried)
    switch(root, 0, 0).click()
    expect(root.locator(".explorer-title")).to_contain_text("Not measured: this page has 37 combinations")
    expect(root.locator(".now")).to_have_count(0)
    root.get_by_role("button", name="all on").click()
    expect_answer(root, board)
    for head in range(4):
        for layer in (0, 1):
            switch(root, layer, head).click()
            switch(root, layer, head).click()
    expect(root.locator("tbody tr")).to_have_count(9)
    expect(root.locator("tbody th").nth(1)).to_have_text("layer 2, head 4")


def test_bars_are_as_long_as_their_values(visit: Visit, boards: list[Explorer]):
    root, board = visit().locator(".explorer").first, boards[0]
    switch(root, 0, 0).click()
    expect_answer(root, board, (0, 0))
    looks = root.locator("i:not([hidden])").evaluate_all(
        "all => all.map(it => ['--share', '--whole'].map(name => Number(it.style.getPropertyValue(name))))"
    )
    whole, present = (values[0] / 100 for values in board.now()[0].find(Trials).values)
    assert looks == [pytest.approx([whole, whole]), pytest.approx([present, whole])]


def test_a_finger_switches_one_of_270_heads_and_sees_what_follows(visit: Visit, boards: list[Explorer]):
    page = visit(**PHONE)
    root, board = page.locator(".explorer").last, boards[1]
    boxes = root.locator(".switches-grid button").evaluate_all(
        "all => all.map(it => it.getBoundingClientRect()).map(box => [box.width, box.height, box.right])"
    )
    assert len(boxes) == 270
    assert min(min(width, height) for width, height, _ in boxes) >= 24
    assert max(right for *_, right in boxes) <= 360
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    switch(root, 16, 1).tap()
    expect_answer(root, board, (16, 1))
    expect(root.locator(".explorer-readout").first).to_have_text(f"layer 17, head 2: 54% {BEFORE} (off)")
    finding = root.locator(".switches-finding")
    expect(finding).to_be_in_viewport()
    expect(finding).to_have_text(board.now()[0].title)
    expect(root.locator(".switches-bar")).to_contain_text("1 of 270 heads off (3 recorded)")
    switch(root, 15, 0).tap(force=True)
    expect(root.locator(".explorer-readout").first).to_contain_text("(not recorded on this page)")
    expect_answer(root, board, (16, 1))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_by_everyone(scheme: str, visit: Visit):
    page = visit(color_scheme=scheme)
    switch(page.locator(".explorer").first, 1, 2).click()
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        violations = Axe().run(page).response["violations"]
        assert [
            (violation["id"], violation["help"], violation["nodes"][0]["html"]) for violation in violations
        ] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
