"""Explorers that the page computes: their numbers are the package's, and their handles move what they stand for."""

import json
import math
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from babygpt import live
from babygpt.encodings import polar
from babygpt.encodings.alibi import slopes
from babygpt.encodings.base import norm
from babygpt.encodings.fourier import branch_codes
from babygpt.encodings.gaussian import log_kernel
from babygpt.encodings.rotary import angles, rotate
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.live.explorers.formulas import GATES, ORDERS, source
from babygpt.metrics.parallel_texts import cosines
from babygpt.models.transformer import score_scale
from babygpt.positions import Positions
from tools.browser.scripts import ENDS
from tools.browser.site import serve_folder, write_explorers

FORMULAS = {
    formula.name: formula
    for formula in (
        live.sinusoidal(), live.rotary(), live.alibi(), live.gaussian(), live.branches(), live.polar()
    )
}  # fmt: skip

# ---------------------------------------------------------------- what each explorer measures, in Python

AWAY = torch.arange(65, dtype=torch.float64)  # tokens


def rope_scores(theta: float) -> torch.Tensor:
    """Scores of q = k = (1, ..., 1), normalised and rotated as in a model of 32 channels: (65, 65)."""
    rotated = rotate(norm(torch.ones(1, 1, 65, 32, dtype=torch.float64)), AWAY, theta)[0, 0]
    return rotated @ rotated.T * score_scale(rotated)


def sinusoid_(position: float, width: int, theta: float) -> dict[str, Any]:
    rows = torch.cat([torch.arange(64.0).double(), torch.tensor([position]).double()])
    table = sinusoid(rows, int(width), theta).double()
    turning = (frequencies(int(width), theta) * 64 >= 2 * math.pi).sum()
    return {"table": table[:64], "likeness": table[:64] @ table[64] / (width / 2), "turning": turning}


def rope(position: float, distance: float, pair: int, theta: float) -> dict[str, Any]:
    places = torch.tensor([[position + later, position + later - distance] for later in (0, 37)]).double()
    hands = angles(places.flatten(), 32, theta)[:, int(pair) - 1].view(2, 2)
    scores = rope_scores(theta)[0]
    omega = angles(torch.ones(1), 32, theta)[0, int(pair) - 1]
    score = angles(torch.tensor([distance]).double(), 32, theta).cos().mean()
    between = hands[0, 0] - hands[0, 1]
    return {"omega": omega, "hands": hands, "between": between, "scores": scores / scores[0], "score": score}


def alibi(distance: int, n_head: int, steepness: float, theta: float) -> dict[str, Any]:
    scores = {f"head {h + 1}": -steepness * slope * AWAY for h, slope in enumerate(slopes(n_head).double())}
    rotated = rope_scores(theta)[0]
    scores["RoPE"] = rotated - rotated[0]
    weights = {name: score.softmax(dim=0).cumsum(dim=0) for name, score in scores.items()}
    near = {name: weight[int(distance)] for name, weight in weights.items()}
    return {"scores": scores, "weights": weights, "near": near}


def gaussian(
    kernel: str, position: int, sigma1: float, sigma2: float, alpha1: float, alpha2: float
) -> dict[str, Any]:
    alphas, sigmas = torch.tensor([[alpha1, alpha2], [sigma1, sigma2]]).double().log()

    def falls_below(share: float) -> int:
        K = log_kernel(torch.arange(10_001.0).double(), alphas, sigmas)
        below = torch.cat([(K[:-1] - K[0] < math.log(share)), torch.tensor([True])])
        return int(below.int().argmax())

    parts = [log_kernel(AWAY, alphas[j : j + 1], sigmas[j : j + 1]).exp() for j in (0, 1)]
    K, plain = log_kernel(AWAY, alphas, sigmas).exp(), rope_scores(10_000.0)
    away = (AWAY[:, None] - AWAY).abs()
    added = plain + log_kernel(away, alphas, sigmas)
    scores = added if kernel == "relative" else plain * K[:, None] * K
    rows = {
        name: s[int(position), : int(position) + 1].softmax(0)
        for name, s in (("with", scores), ("rope", plain))
    }
    return {
        **{"K": K, "parts": parts, "half": falls_below(0.5), "hundredth": falls_below(0.01)},
        **{"scores": scores, "plain": plain, "rows": rows},
        "step": (scores[1:, 1:] - scores[:-1, :-1]).abs().max(),
    }


def branches(stride: float, n: int, width: int, theta: float) -> dict[str, Any]:
    added, turned = (codes.double() for codes in branch_codes(int(width), theta, stride, int(n)).values())
    slowest = angles(torch.arange(n).double() * stride, int(width), theta)[:, -1].cos()
    alike = cosines(added)
    apart = (added[0] - added[1]).norm()
    return {
        "fourier": alike,
        "rope": cosines(turned),
        "distance": apart,
        "alike": alike[0],
        "slowest": slowest,
    }


class Product(polar.GatesLast):
    """The gate of the note, cos(i omega) cos(phi), in float64 and without the norm after it."""

    def gate(self, positions: Positions) -> torch.Tensor:
        return self.wave(positions).cos() * self.phi.cos()


KINDS = dict(
    zip(GATES, (Product, polar.GatesLast, polar.KeysOnly, polar.Quadrature, polar.LearnedPhase), strict=True)
)
HIDDEN = torch.arange(49) % 16 >= 13  # MASK tokens


def polar_(gate: str, order: str, alpha: float, phi: float, theta: float) -> dict[str, Any]:
    def gated(alpha: float, masks: bool) -> list[torch.Tensor]:
        heads = {"n_head": 1} if gate == GATES[-1] else {}
        encoding = KINDS[gate](**heads, head_dim=32, alpha=alpha, theta=theta).double()
        for phase in encoding.parameters():
            torch.nn.init.constant_(phase, math.radians(phi))
        ones, positions = (
            torch.ones(1, 1, 49, 32).double(),
            Positions(torch.arange(49), masked=(HIDDEN & masks)[None]),
        )
        gates = encoding.transform_qk(ones, ones, positions)
        return [(norm(x) if order == ORDERS[0] else x)[0, 0].detach() for x in gates]

    scores, plain, neutral = (
        q @ k.T * score_scale(torch.ones(32))
        for q, k in (gated(alpha, True), gated(alpha, False), gated(1.0, True))
    )
    half = torch.arange(-12, 13)
    across = torch.stack([plain[total // 2 + half, total // 2 - half] for total in (24, 48, 72)])
    doubled = max(0, math.ceil(math.log2(float(plain.abs().max()) / 12 + 1e-9)))
    return {
        **{"gates": gated(alpha, True)[1], "scores": scores, "moved": (scores - neutral).abs().max()},
        **{"step": (plain[1:, 1:] - plain[:-1, :-1]).abs().max(), "uneven": (plain - plain.T).abs().max()},
        **{"across": across, "apart": (across.amax(0) - across.amin(0)).max()},
        "top": {"gates": 2 if order == ORDERS[0] else 1, "scores": 12 * 2**doubled},
    }


MEASURES: dict[str, Callable[..., dict[str, Any]]] = {
    "sinusoid": sinusoid_, "rope": rope, "alibi": alibi, "gaussian": gaussian, "branches": branches, "polar": polar_
}  # fmt: skip
BETWEEN = {
    "sinusoid": {"position"},
    "rope": {"position", "distance"},
}  # sliders measured between their stops, too
MEASURE_ALL = """async ([module, settings]) => {
    const { measure } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
    return JSON.stringify(settings.map(measure));
}"""


def settings_of(name: str) -> list[dict[str, Any]]:
    """The first values, each control at both ends and in its middle, and 30 draws of them all."""
    draw, controls = random.Random(31), {one["name"]: one for one in FORMULAS[name].controls}
    first = {key: one["value"] for key, one in controls.items()}

    def stops(one: dict[str, Any]) -> list[Any]:
        return one["options"] if "options" in one else one["stops"]

    def anywhere(key: str, one: dict[str, Any]) -> Any:
        if "options" in one or ("step" in one and key not in BETWEEN.get(name, ())):
            return draw.choice(stops(one))
        i = draw.randrange(len(stops(one)) - 1)
        return draw.uniform(*stops(one)[i : i + 2])

    ends = [
        first | {key: stops(one)[i]} for key, one in controls.items() for i in (0, -1, len(stops(one)) // 2)
    ]
    return [first, *ends, *({key: anywhere(key, one) for key, one in controls.items()} for _ in range(30))]


def require_equal(found: Any, expected: Any, where: str) -> None:
    if isinstance(expected, dict):
        assert set(found) == set(expected), where
        for key, value in expected.items():
            require_equal(found[key], value, f"{where}: {key}")
    elif isinstance(expected, list):
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            require_equal(one, other, f"{where}, {i}")
    else:
        expected = torch.as_tensor(expected).numpy()
        np.testing.assert_allclose(np.array(found, float), expected, 1e-6, 1e-6, err_msg=where)


@pytest.mark.parametrize("name", FORMULAS)
def test_every_number_is_that_of_the_package(name: str, page: Page):
    settings = settings_of(name)
    assert len(settings) >= 40
    measured = json.loads(page.evaluate(MEASURE_ALL, [source(name), settings]))
    for values, found in zip(settings, measured, strict=True):
        require_equal(found, MEASURES[name](**values), str(values))


# ---------------------------------------------------------------- a page with all of them, as the book shows them

MATRICES = {
    "sinusoid": ["table"],
    "gaussian": ["scores"],
    "branches": ["fourier", "rope"],
    "polar": ["gates", "scores"],
}
SHOWN = """root => [...root.querySelectorAll("select, output, .explorer-title")].map(it => it.value ?? it.textContent)"""
SETTLED = "() => new Promise(done => requestAnimationFrame(() => setTimeout(done)))"
STOPS = 3  # that a handle is dragged


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("explorers")
    with serve_folder(folder) as served:
        write_explorers(folder, list(FORMULAS.values()), '<p><em class="light-clock">the clock</em></p>')
        yield served


def open_page(browser: Browser, address: str, width: int = 1280, **options: Any) -> tuple[Page, list[str]]:
    """Open the page, and note what it does wrong: errors, and requests to anywhere else."""
    page, wrong = browser.new_page(viewport={"width": width, "height": 900}, **options), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on(
        "request",
        lambda r: wrong.append(r.url) if not r.url.startswith((address.split("?")[0], "data:")) else None,
    )
    page.goto(address)
    return page, wrong


def explorer(page: Page, name: str) -> Locator:
    return page.locator(f"[data-explorer={name}] > .explorer")


def shown(root: Locator) -> list[str]:
    """What its controls and titles say, after the next frame."""
    root.page.evaluate(SETTLED)
    return root.evaluate(SHOWN)


def numbers(words: str) -> list[float]:
    """The numbers in words."""
    return [
        float(found)
        for found in re.findall(r"-?[\d.]+", words.replace("−", "-").replace(",", ""))
        if found != "."
    ]


def drag(page: Page, start: list[float], end: list[float]) -> None:
    """Drag by mouse, or by a finger where the page is of a device that has only those."""
    if page.evaluate("matchMedia('(hover: hover)').matches"):
        page.mouse.move(*start)
        page.mouse.down()
        page.mouse.move(*end, steps=6)
        page.mouse.up()
        return
    touch = page.context.new_cdp_session(page)
    ways = [[a + (b - a) * i / 6 for a, b in zip(start, end, strict=True)] for i in range(7)]
    for kind, (x, y) in zip(["touchStart", *["touchMove"] * 6], ways, strict=True):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("device", [{"width": 1280}, {"width": 360, "has_touch": True, "is_mobile": True}])
def test_a_handle_dragged_to_where_it_stands_for_a_value_sets_it_and_no_other(
    name: str, device: dict[str, Any], browser: Browser, address: str
):
    page, wrong = open_page(browser, address, **device)
    root = explorer(page, name)
    first = shown(root)
    for nth in range(root.locator(".handle").count()):
        ends = root.evaluate(ENDS, [nth, STOPS])
        now, then, scrolled = ends["now"], ends["then"], page.evaluate("scrollY")
        drag(page, now["place"], then["place"])
        assert page.evaluate("scrollY") == scrolled
        after = root.evaluate(ENDS, [nth, 0])["now"]
        found, expected = (numbers(" ".join(one["values"])) for one in (after, then))
        assert found == pytest.approx(expected, rel=0.03, abs=1e-9), (nth, ends["name"])
        assert after["values"] != now["values"]
        if after["values"] == then["values"]:
            assert after["picture"] == then["picture"] != now["picture"]
        root.get_by_role("button", name="reset").click()
        assert shown(root) == first
    assert wrong == []
    page.close()


def test_keys_move_a_handle_from_stop_to_stop(browser: Browser, address: str):
    page, _ = open_page(browser, address)
    for name, formula in FORMULAS.items():
        knob = explorer(page, name).locator(".handle").first
        label = knob.get_attribute("aria-label")
        stops = next(one["stops"] for one in formula.controls if one["label"] == label)
        knob.focus()
        steps = {
            "Home": 0,
            "ArrowRight": 1,
            "PageUp": 11,
            "ArrowUp": 12,
            "PageDown": 2,
            "End": -1,
            "ArrowLeft": -2,
        }
        for key, at in steps.items():
            page.keyboard.press(key)
            page.evaluate(SETTLED)
            assert float(knob.get_attribute("aria-valuenow") or "") == stops[at], (name, key)
            assert numbers(knob.get_attribute("aria-valuetext") or "") == pytest.approx([stops[at]], rel=0.01)
    page.close()


def test_a_cell_of_a_matrix_is_read_by_pointer_and_by_keys(browser: Browser, address: str):
    page, _ = open_page(browser, address)
    for name, matrices in MATRICES.items():
        found = MEASURES[name](**{one["name"]: one["value"] for one in FORMULAS[name].controls})
        for nth, matrix in enumerate(matrices):
            panel = explorer(page, name).locator(".explorer-panel:has(canvas)").nth(nth)
            rows, canvas = np.asarray(found[matrix]), panel.locator("canvas")
            canvas.scroll_into_view_if_needed()
            box = canvas.bounding_box() or {}
            across, down = 5.5 / rows.shape[1], 3.5 / rows.shape[0]
            page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
            for i, j in ((3, 5), (4, 5), (4, 6)):
                read = numbers(panel.locator(".explorer-readout").inner_text())
                assert any(abs(n - rows[i, j]) <= 0.006 * max(1, abs(rows[i, j])) for n in read), (
                    name,
                    i,
                    j,
                    read,
                )
                canvas.press("ArrowDown" if i == 3 else "ArrowRight")
    page.close()


def test_the_address_keeps_the_values_and_foreign_ones_are_ignored(browser: Browser, address: str):
    page, _ = open_page(browser, f"{address}?mine=1")
    for name in ("rope", "sinusoid"):
        ends = explorer(page, name).evaluate(ENDS, [0, STOPS])
        drag(page, ends["now"]["place"], ends["then"]["place"])
        page.wait_for_url(re.compile(rf"mine=1.*{name}\.\w+="))
    sent, wrong = open_page(browser, page.url)
    assert [shown(explorer(sent, name)) for name in FORMULAS] == [
        shown(explorer(page, name)) for name in FORMULAS
    ]
    for name in ("rope", "sinusoid"):
        explorer(sent, name).get_by_role("button", name="reset").click()
    sent.wait_for_url(f"{address}?mine=1")
    first = [shown(explorer(sent, name)) for name in FORMULAS]
    nonsense = (
        "rope.position=999&rope.theta=two&rope.pair=&rope.distance=-1&alibi.n_head=3&polar.gate=<b>&rope.x=1"
    )
    sent.goto(f"{address}?{nonsense}")
    assert [shown(explorer(sent, name)) for name in FORMULAS] == first
    assert wrong == []
    page.close()
    sent.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_and_can_be_read_by_everyone(scheme: str, browser: Browser, address: str):
    page, wrong = open_page(browser, address, color_scheme=scheme)
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["help"], one["nodes"]) for one in found] == []
    for width in (360, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        right = page.locator(
            ".explorer :is(.explorer-panel, .handle circle:last-child, input, select, output)"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert max(right.evaluate_all("all => all.map(it => it.getBoundingClientRect().right)")) <= width
    assert wrong == []
    page.close()


def test_words_light_up_the_panels_of_their_name_while_a_pointer_is_on_them(browser: Browser, address: str):
    page, _ = open_page(browser, address)
    lit = page.locator(".lit")
    page.locator("em").hover()
    assert lit.evaluate_all("all => all.map(it => it.dataset.part)") == ["clock"]
    page.locator(".explorer-title").first.hover()
    expect(lit).to_have_count(0)
    page.close()
