"""Explorers computed in the page: their numbers are the package's, and their handles move what they show."""

import json
import math
import random
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect
from torch import Tensor

from babygpt.encodings import polar as gates
from babygpt.encodings.alibi import slopes
from babygpt.encodings.base import norm
from babygpt.encodings.fourier import fourier
from babygpt.encodings.gaussian import RelativeGaussian, log_kernel
from babygpt.encodings.rotary import angles, rotate
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.metrics.inspection import reach
from babygpt.models.transformer import score_scale
from babygpt.positions import Positions
from babygpt_course.explorers import formulas
from babygpt_live import view
from tests.browser.conftest import Visit
from tests.browser.page_checks import numbers
from tools.browser.scripts import ENDS
from tools.browser.site import serve_folder, write_explorers

ROOT = Path(__file__).resolve().parents[2]
FORMULAS = {formula.name: formula for formula in (explore() for explore in formulas.FORMULAS)}
FIRST = {
    name: {control["name"]: control["value"] for control in formula.controls}
    for name, formula in FORMULAS.items()
}
AWAY = torch.arange(65).double()  # tokens

# ---------------------------------------------------------------- the numbers of each explorer, in Python


def rope_scores(theta: float) -> Tensor:
    """Compute scores of q = k = (1, ..., 1), normalised and rotated as with 32 channels: (65, 65)."""
    rotated = rotate(norm(torch.ones(1, 1, 65, 32).double()), AWAY, theta)[0, 0]
    return rotated @ rotated.T * score_scale(rotated)


def max_step(scores: Tensor) -> Tensor:
    return (scores[1:, 1:] - scores[:-1, :-1]).abs().max()


def measure_sinusoid(position: float, width: int, theta: float) -> dict[str, Any]:
    table = sinusoid(torch.cat([AWAY[:64], torch.tensor([position])]), width, theta).double()
    turning = (frequencies(width, theta) * 64 >= 2 * math.pi).sum()
    return {"table": table[:64], "likeness": table[:64] @ table[64] / (width / 2), "turning": turning}


def measure_rope(position: float, distance: int, pair: int, n_hands: int, theta: float) -> dict[str, Any]:
    omegas = frequencies(32, theta)[pair : pair + n_hands].double()
    hands = omegas[0] * torch.tensor([[n, n - distance] for n in (position, position + 37)]).double()
    turned = ((AWAY[:, None] - AWAY)[..., None] * omegas).rad2deg() % 360  # (65, 65, hands)
    gaps = turned.minimum(360 - turned)
    alike = (gaps <= 10).all(dim=-1).triu(1)  # (65, 65)
    quantities = {"omega": omegas[0], "hands": hands, "between": hands[0, 0] - hands[0, 1]}
    quantities |= {"first": gaps[distance, :, 0], "all": gaps[distance].amax(dim=-1)}
    return quantities | {"twins": (alike + alike.T)[distance].sum(), "pairs": alike.sum()}


def measure_alibi(distance: int, n_head: int, steepness: float, theta: float) -> dict[str, Any]:
    scores = {f"head {h + 1}": -steepness * slope * AWAY for h, slope in enumerate(slopes(n_head).double())}
    scores["RoPE"] = rope_scores(theta)[0] - rope_scores(theta)[0, 0]
    weights = {name: score.softmax(dim=0).cumsum(dim=0) for name, score in scores.items()}
    near = {name: weight[distance] for name, weight in weights.items()}
    return {"scores": scores, "weights": weights, "near": near}


def measure_gaussian(kernel: str, position: int, **four: float) -> dict[str, Any]:
    sigmas, alphas = ([four[f"{name}{j}"] for j in (1, 2)] for name in ("sigma", "alpha"))
    log_alphas, log_sigmas = (torch.tensor(values).double().log() for values in (alphas, sigmas))
    parts = log_kernel(AWAY, log_alphas[:, None, None], log_sigmas[:, None, None]).exp()
    K, plain = log_kernel(AWAY, log_alphas, log_sigmas).exp(), rope_scores(10_000.0)
    added = plain + log_kernel(AWAY[:, None] - AWAY, log_alphas, log_sigmas)
    scores = added if kernel == "relative" else plain * K[:, None] * K
    shares = [row[position, : position + 1].softmax(dim=0) for row in (scores, plain)]
    encoding = RelativeGaussian(32, alphas, sigmas, learnable=False)
    quantities = {"half": reach(encoding, 0.5), "hundredth": reach(encoding, 0.01), "step": max_step(scores)}
    quantities |= {"K": K, "parts": parts, "scores": scores, "plain": plain}
    return quantities | {"rows": dict(zip(("with", "rope"), shares, strict=True))}


def measure_branches(stride: float, width: int, counted: float) -> dict[str, Any]:
    strides = sorted({round(2 ** (i / 24)) for i in range(13 * 24 + 1)})
    positions, slow = torch.tensor([0, stride, *strides]).double(), 2 * min(round(counted), width // 2)
    ones = torch.ones(1, 1, len(positions), width).double()
    added, turned = fourier(positions, width).double()[:, -slow:], rotate(ones, positions)[0, 0, :, -slow:]
    alike, turned_alike = (torch.cosine_similarity(codes[:1], codes) for codes in (added, turned))
    quantities = {
        "fourier": alike[2:],
        "rope": turned_alike[2:],
        "at": alike[1],
        "pairs": angles(positions, width)[1].cos(),
    }
    return quantities | {"distance": (added[0] - added[1]).norm()}


class Product(gates.GatesLast):
    """Gate of the note, cos(i omega) cos(phi), in float64 and without the norm after it."""

    def gate(self, positions: Positions) -> Tensor:
        return self.wave(positions).cos() * self.phi.cos()


def measure_polar(gate: str, order: str, alpha: float, phi: float, theta: float) -> dict[str, Any]:
    kinds = (Product, gates.GatesLast, gates.KeysOnly, gates.Quadrature, gates.LearnedPhase)
    kind = dict(zip(formulas.GATES, kinds, strict=True))[gate]
    norm_last, hidden = order == formulas.ORDERS[0], torch.arange(49) % 16 >= 13  # MASK tokens

    # It returns the scores and the gated keys.
    def scores_of(alpha: float, masked: Tensor) -> tuple[Tensor, Tensor]:
        heads: Any = {"n_head": 1} if kind is gates.LearnedPhase else {}
        encoding = kind(**heads, head_dim=32, alpha=alpha, theta=theta).double()
        for phase in encoding.parameters():
            torch.nn.init.constant_(phase, math.radians(phi))
        ones, positions = torch.ones(1, 1, 49, 32).double(), Positions(torch.arange(49), masked=masked[None])
        q, k = (x[0, 0].detach() for x in encoding.transform_qk(ones, ones, positions))
        q, k = (norm(q), norm(k)) if norm_last else (q, k)
        return q @ k.T * score_scale(ones), k

    (scores, keys), (plain, _) = scores_of(alpha, hidden), scores_of(alpha, hidden & False)
    half, doubled = torch.arange(-12, 13), math.ceil(math.log2(float(plain.abs().max()) / 12 + 1e-9))
    across = torch.stack([plain[n // 2 + half, n // 2 - half] for n in (24, 48, 72)])
    quantities = {"gates": keys, "scores": scores, "moved": (scores - scores_of(1.0, hidden)[0]).abs().max()}
    quantities |= {"step": max_step(plain), "uneven": (plain - plain.T).abs().max(), "across": across}
    quantities |= {"apart": (across.amax(dim=0) - across.amin(dim=0)).max()}
    return quantities | {"top": {"gates": 2 if norm_last else 1, "scores": 12 * 2 ** max(0, doubled)}}


MEASURE_ALL = """async ([module, settings]) => {
    const { measure } = await import(`data:text/javascript,${encodeURIComponent(module)}`);
    return JSON.stringify(settings.map(measure));
}"""


def measure(name: str, values: dict[str, Any]) -> dict[str, Any]:
    formula: Callable[..., dict[str, Any]] = globals()[f"measure_{name}"]
    return formula(**values)


def settings_of(name: str) -> list[dict[str, Any]]:
    """Return each control at its ends and in its middle, and 40 draws of all of them."""
    draw = random.Random(31)
    stops = {
        control["name"]: control.get("stops") or control["options"] for control in FORMULAS[name].controls
    }
    extremes = [FIRST[name] | {key: all_[i]} for key, all_ in stops.items() for i in (0, len(all_) // 2, -1)]
    drawn = [{key: draw.choice(all_) for key, all_ in stops.items()} for _ in range(40)]
    dragged = drawn if name in ("rope", "sinusoid") else []  # measured between two positions, too
    return [
        *extremes,
        *drawn,
        *(setting | {"position": setting["position"] + draw.random()} for setting in dragged),
    ]


def require_equal(got: Any, expected: Any, where: str) -> None:
    if isinstance(expected, dict):
        assert set(got) == set(expected), where
        for key, value in expected.items():
            require_equal(got[key], value, f"{where}: {key}")
    else:
        np.testing.assert_allclose(got, torch.as_tensor(expected).numpy(), 1e-6, 1e-6, err_msg=where)


@pytest.mark.parametrize("name", FORMULAS)
def test_every_number_is_that_of_the_package(name: str, browser: Browser):
    page, settings = browser.new_page(), settings_of(name)
    measured = json.loads(page.evaluate(MEASURE_ALL, [view.script(FORMULAS[name].script), settings]))
    for values, got in zip(settings, measured, strict=True):
        require_equal(got, measure(name, values), str(values))
    page.close()


# ---------------------------------------------------------------- a page with all of them

MATRICES = {"sinusoid": "table", "gaussian": "scores", "polar": "gates scores"}
SHOWN = """async () => {
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    const parts = [...document.querySelectorAll("select, output, .explorer-title")];
    return parts.map(part => part.value ?? part.innerText);
}"""
OUTSIDE = """all => all.map(it => it.getBoundingClientRect()).filter(({ left, right }) =>
    left < 0 || right > innerWidth).length"""
PHONE = {"viewport": {"width": 360, "height": 700}, "has_touch": True, "is_mobile": True}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("explorers")
    write_explorers(folder, list(FORMULAS.values()), '<p><em class="light-clock">the clock</em></p>')
    with serve_folder(folder) as served:
        yield served


def explorer(page: Page, name: str) -> Locator:
    return page.locator(f"[data-live={name}] .explorer")


def shown(page: Page) -> list[str]:
    """Return the text of the controls and titles of all explorers, after the next frame."""
    texts: list[str] = page.evaluate(SHOWN)
    return texts


def drag(page: Page, handle: dict[str, Any], touch: bool = False) -> None:
    (x, y), (to_x, to_y) = handle["now"]["place"], handle["then"]["place"]
    if not touch:
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(to_x, to_y, steps=6)
        page.mouse.up()
        return
    finger = page.context.new_cdp_session(page)
    for i, kind in enumerate(["touchStart", *["touchMove"] * 6, "touchEnd"]):
        point = {"x": x + (to_x - x) * i / 6, "y": y + (to_y - y) * i / 6}
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point] if i < 7 else []})


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("device", [{}, PHONE], ids=["mouse", "finger"])
def test_a_dragged_handle_sets_its_own_value_and_no_other(name: str, device: dict[str, Any], visit: Visit):
    page = visit(**device)
    root, first = explorer(page, name), shown(page)
    for nth in range(root.locator(".handle").count()):
        handle = root.evaluate(ENDS, [nth, 3])
        now, then, scrolled = handle["now"], handle["then"], page.evaluate("scrollY")
        drag(page, handle, touch=bool(device))
        assert page.evaluate("scrollY") == scrolled
        after = root.evaluate(ENDS, [nth, 0])["now"]
        got, expected = (numbers(" ".join(state["values"])) for state in (after, then))
        assert got == pytest.approx(expected, rel=0.03, abs=1e-9), (nth, handle["name"])
        assert after["values"] != now["values"]
        if after["values"] == then["values"]:
            assert after["picture"] == then["picture"] != now["picture"]
        root.get_by_role("button", name="reset").click()
        assert shown(page) == first


def test_a_swipe_that_begins_on_a_slider_scrolls_and_does_not_move_it(visit: Visit):
    page = visit(**PHONE)
    slider = explorer(page, "gaussian").get_by_role("slider", name="σ₁").and_(page.locator("input"))
    slider.evaluate("it => it.scrollIntoView({ block: 'center' })")
    first, scrolled, box = shown(page), page.evaluate("scrollY"), slider.bounding_box()
    assert box
    begin = [box["x"] + 0.8 * box["width"], box["y"] + box["height"] / 2]

    def swipe(across: float, up: float) -> None:
        drag(
            page, {"now": {"place": begin}, "then": {"place": [begin[0] + across, begin[1] - up]}}, touch=True
        )

    swipe(-100, 0)
    assert shown(page) != first
    assert page.evaluate("scrollY") == scrolled
    moved = shown(page)
    swipe(0, 200)
    page.wait_for_function(f"scrollY > {scrolled + 50}")
    assert shown(page) == moved


def test_a_last_panel_is_as_wide_as_those_above_it(visit: Visit):
    panels = explorer(visit(viewport={"width": 800, "height": 900}), "gaussian").locator(".explorer-panel")
    first, second, last = panels.evaluate_all("all => all.map(it => it.getBoundingClientRect().toJSON())")
    assert first["top"] < last["top"]
    assert first["width"] == pytest.approx(second["width"]) == pytest.approx(last["width"])


def clock_in_view(page: Page) -> Locator:
    """Bring RoPE's clock to the middle of the window, after all explorers are built: return its panel."""
    shown(page)
    clock = explorer(page, "rope").locator("[data-part=clock]")
    clock.evaluate("it => it.scrollIntoView({ block: 'center' })")
    return clock


def wait_for_query(page: Page, condition: str) -> str:
    """Wait until a condition holds for the position n of RoPE's query: return the position."""
    handle = "document.querySelector('[data-live=rope] .handle').ariaValueNow"
    page.wait_for_function(f"() => {{ const n = Number({handle}); return {condition}; }}")
    position: str = page.evaluate(handle)
    return position


def test_the_query_of_rope_walks_once_with_its_key_and_comes_back(visit: Visit):
    page = visit(reduced_motion="no-preference")
    key, first = explorer(page, "rope").locator(".handle").nth(1), shown(page)
    title = clock_in_view(page).locator(".explorer-title")
    angle = title.inner_text()
    wait_for_query(page, "n > 38")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
    assert key.get_attribute("aria-valuenow") == "3"
    assert title.inner_text() == angle
    wait_for_query(page, "n === 30")
    assert shown(page) == first


def test_a_hand_stops_the_walking_query_of_rope_where_it_is(visit: Visit):
    page = visit(reduced_motion="no-preference")
    clock = clock_in_view(page)
    wait_for_query(page, "n > 32")
    clock.locator(".explorer-plot").click()
    stopped = wait_for_query(page, "Number.isInteger(n)")  # It stops at the letter that is nearest.
    page.wait_for_timeout(300)
    assert wait_for_query(page, "true") == stopped != "30"


def test_the_query_of_rope_walks_where_a_busy_page_reports_two_moments_at_once(visit: Visit):
    page = visit(reduced_motion="no-preference")
    page.add_init_script("""
      window.IntersectionObserver = class {
        constructor(report) { this.report = report; }
        observe() {
          const moments = [false, true].map(isIntersecting => ({ isIntersecting }));
          setTimeout(() => this.report(moments, this));
        }
        disconnect() {}
      };
    """)
    page.reload()
    wait_for_query(page, "n > 32")


def test_keys_move_a_handle_from_stop_to_stop(visit: Visit):
    page = visit()
    steps = {
        "Home": 0,
        "ArrowRight": 1,
        "PageUp": 11,
        "ArrowUp": 12,
        "PageDown": 2,
        "End": -1,
        "ArrowLeft": -2,
    }
    for name, formula in FORMULAS.items():
        knob = explorer(page, name).locator(".handle").first
        label = knob.get_attribute("aria-label")
        stops = next(control["stops"] for control in formula.controls if control["label"] == label)
        for key, index in steps.items():
            knob.press(key)
            expect(knob).to_have_attribute("aria-valuenow", f"{stops[index]:g}")
            assert numbers(knob.get_attribute("aria-valuetext") or "") == pytest.approx(
                [stops[index]], rel=0.01
            )


def test_a_cell_of_a_matrix_is_read_by_pointer_and_by_keys(visit: Visit):
    page = visit()
    for name, matrices in MATRICES.items():
        for nth, matrix in enumerate(matrices.split()):
            panel = explorer(page, name).locator(".explorer-panel:has(canvas)").nth(nth)
            rows, canvas = measure(name, FIRST[name])[matrix], panel.locator("canvas")
            width, height = canvas.evaluate("it => [it.clientWidth, it.clientHeight]")
            canvas.hover(position={"x": 5.5 * width / len(rows[0]), "y": 3.5 * height / len(rows)})
            for key, i, j in (("ArrowDown", 3, 5), ("ArrowRight", 4, 5), ("ArrowLeft", 4, 6)):
                first, second, value = numbers(panel.locator(".explorer-readout").inner_text())
                assert (first, second, value) == pytest.approx((i, j, float(rows[i, j])), 0.006, 0.006)
                canvas.press(key)


def test_the_address_keeps_the_values_and_foreign_ones_are_ignored(visit: Visit):
    page = visit("?mine=1")
    first = shown(page)
    for name in ("rope", "sinusoid"):
        drag(page, explorer(page, name).evaluate(ENDS, [0, 3]))
        page.wait_for_url(re.compile(rf"mine=1.*{name}\.\w+="))
    sent = visit(page.url[page.url.index("?") :])
    assert shown(sent) == shown(page) != first
    for name in ("rope", "sinusoid"):
        explorer(sent, name).get_by_role("button", name="reset").click()
    sent.wait_for_url(re.compile(r"\?mine=1$"))
    wrong = "rope.position=999&rope.theta=two&rope.pair=&rope.distance=-1"
    assert shown(visit(f"?{wrong}&alibi.n_head=3&polar.gate=<b>&rope.x=1")) == first


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_its_window_and_can_be_read_by_everyone(scheme: str, visit: Visit):
    page = visit(color_scheme=scheme)
    violations = Axe().run(page).response["violations"]
    assert [(violation["id"], violation["help"], violation["nodes"]) for violation in violations] == []
    for width in (360, 1280, 1920):
        page.set_viewport_size({"width": width, "height": 900})
        parts = page.locator(".explorer :is(.explorer-panel,.handle circle:last-child, input, select,output)")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert parts.evaluate_all(OUTSIDE) == 0
        plots = page.locator(".explorer-plot").evaluate_all("all => all.map(it => it.clientWidth)")
        assert min(plots) > 130


def test_pointing_at_a_word_highlights_the_panel_of_its_name(visit: Visit):
    page = visit()
    lit = page.locator(".lit")
    page.locator("em").hover()
    assert lit.evaluate_all("all => all.map(it => it.dataset.part)") == ["clock"]
    page.locator("h1").hover()
    expect(lit).to_have_count(0)


def test_contributing_makes_an_explorer(browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    blocks = r"^```\w+\n(?://|#) babygpt_course/explorers/\S+\n(.*?)^```"
    module, controls = re.findall(blocks, text, re.S | re.M)
    shutil.copytree(view.PAGE, tmp_path / "babygpt_live" / "page")
    scripts = tmp_path / "babygpt_course" / "explorers" / "page"
    scripts.mkdir(parents=True)
    (scripts / "kerple.js").write_text(module, encoding="utf-8")
    monkeypatch.setattr(formulas, "SCRIPTS", scripts)
    exec(controls, namespace := dict(vars(formulas)))
    write_explorers(tmp_path, [namespace["kerple"]()])
    page = browser.new_page()
    page.goto((tmp_path / "index.html").as_uri())
    root = explorer(page, "kerple")
    handle = root.evaluate(ENDS, [0, 3])
    drag(page, handle)
    assert root.evaluate(ENDS, [0, 0])["now"]["values"] == handle["then"]["values"]
    expect(root.locator(".explorer-title")).to_contain_text(f"takes {2 * math.log1p(64):.2f} from a score")
    page.close()
