"""Two models that train in the page: their steps are PyTorch's, and a reader can control them."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect
from torch import Tensor, nn

from babygpt import ModelConfig, NextToken, TrainConfig, build
from babygpt.data.corpus import load_corpus
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.training.optimizers import optimizers, schedule
from tools.book import race
from tools.browser.firefox import FirefoxPage
from tools.browser.site import PAGE, serve_folder

STEPS = 30
VERSIONS = {**race.ENCODINGS, "gaussian": "v5", "learned": "learned"}  # encoding of the engine -> of babygpt
SIZES = ((2, 64, 8), (1, 32, 16), (4, 128, 4), (3, 32, 8))  # layers, channels, windows of a batch
# A content security policy without WebAssembly and workers, and one with them.
STRICT = "default-src 'self'; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'"
ALLOWED = f"{STRICT} 'wasm-unsafe-eval'; worker-src blob:"
FOLLOW = """async ({ engine, encoding, shape, weights, vocab, batches, steps }) => {
    window.babygptEngine ?? (0, window.eval)(engine);
    const parts = await window.babygptEngine, read = byte => byte.charCodeAt(0);
    const wasm = Uint8Array.from(atob(parts.wasm), read);
    window.GPT ??= (0, window.eval)(`(() => { ${parts.worker}; return GPT; })()`);
    const { instance } = await WebAssembly.instantiate(wasm, {});
    const model = new window.GPT(instance.exports, { name: encoding }, vocab, shape);
    const load = ([tokens, targets]) => (model.tokens.set(tokens), model.targets.set(targets));
    model.weights.set(weights); // without a table of positions, that of the encoding stays
    load(batches[0]);
    [model.engine.forward(shape.batch), model.engine.backward()];
    const grad = [...model.grad];
    return { grad, losses: batches.map(batch => (load(batch), model.step(steps))) };
}"""


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Serve a folder with a page for each content security policy; index.html has none."""
    folder = tmp_path_factory.mktemp("race")
    race.write_race(folder)
    for name, policy in {"index": "", "strict": STRICT, "allowed": ALLOWED}.items():
        head = f'<meta http-equiv="Content-Security-Policy" content="{policy}">' if policy else ""
        text = PAGE.format(race.race_html("")).replace("<title>", f"{head}<title>")
        (folder / f"{name}.html").write_text(text, encoding="utf-8")
    with serve_folder(folder) as found:
        yield found


def packed(model: LanguageModel, get: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """Return the weights of a model, each passed through `get`, in the order and shapes of gpt.c."""

    def padded(matrix: Tensor) -> Tensor:  # with tokens that never occur
        return torch.cat([matrix, matrix.new_zeros(-len(matrix) % 8, matrix.shape[1])])

    assert isinstance(model, Transformer)
    parts = [padded(get(model.token_embedding.weight))]
    for block in model.blocks:
        a, mlp = block.attention, block.mlp
        parts += [get(one.weight).T for one in (a.to_q, a.to_k, a.to_v, a.out, mlp.up, mlp.out)]
    parts.append(padded(get(model.head.weight)).T)
    table = getattr(model.encoding, "table", None)
    return parts if not isinstance(table, nn.Parameter) else [*parts, get(table)]


def check_engine(
    encoding: str, page: Page | FirefoxPage, size: tuple[int, int, int] = SIZES[0], corpus: str = race.CORPUS
) -> None:
    """Compare the gradients and the losses that the engine computes in a page with PyTorch's."""
    (layers, width, windows), text = size, load_corpus(corpus, 20_000)
    shape = ModelConfig(text.tokenizer.vocab_size, race.BLOCK, layers, width // 16, width)
    torch.manual_seed(1)
    model = build(VERSIONS[encoding], shape, **({"learnable": False} if encoding == "gaussian" else {}))
    objective = NextToken(text, race.BLOCK, aligned=text.grammar is not None)
    for p in model.parameters():
        if not p.any():  # a head of zeros would hide most gradients
            torch.nn.init.normal_(p, std=0.1)
    weights, plan = packed(model, lambda p: p.detach().clone()), TrainConfig(steps=STEPS, batch_size=windows)
    generator = torch.Generator().manual_seed(3)
    batches = [objective.batch(windows, generator) for _ in range(STEPS)]
    both, losses, grad = optimizers(model, plan), [], list[Tensor]()
    peaks = [one.lr for one in both]
    for step, batch in enumerate(batches):
        model.zero_grad()
        loss = objective.loss(model, batch)
        loss.backward()
        grad = packed(model, lambda p: p.grad.clone()) if step == 0 else grad
        for one, peak in zip(both, peaks, strict=True):
            one.lr = peak * schedule(step, plan)
            one.step()
        losses.append(loss.item())
    given = {
        "engine": race.engine_script(),
        "encoding": encoding,
        "shape": {"layers": layers, "heads": width // 16, "batch": windows},
        "weights": torch.cat([one.flatten() for one in weights]).tolist(),
        "steps": STEPS,
        "batches": [[x.flatten().tolist() for x in batch] for batch in batches],
        "vocab": shape.vocab_size,
    }
    found = page.evaluate(FOLLOW, given)
    np.testing.assert_allclose(found["losses"], losses, rtol=1e-3)
    mine = torch.tensor(found["grad"])
    for theirs in grad:
        off = mine[: theirs.numel()].view(theirs.shape) - theirs
        assert off.norm() < 1e-5 * theirs.norm()
        mine = mine[theirs.numel() :]


@pytest.mark.parametrize("encoding", VERSIONS)
def test_gradients_and_losses_are_those_of_pytorch(encoding: str, browser: Browser):
    check_engine(encoding, browser.new_page())


@pytest.mark.parametrize("size", SIZES[1:])
def test_gradients_and_losses_are_those_of_pytorch_at_other_sizes(
    size: tuple[int, int, int], browser: Browser
):
    check_engine("gaussian", browser.new_page(), size, "tales-zh")


def steps_of(page: Page) -> list[int]:
    return page.evaluate("document.querySelector('.race').race.runs.map(run => run.step)")


def points_of(page: Page) -> list[int]:
    """Return how many points each curve has: the shares of both models, their losses."""
    return [
        len(re.findall("[ML]", d or ""))
        for d in (one.get_attribute("d") for one in page.locator(".race path.curve").all())
    ]


def wait_for_steps(page: Page, fewest: int) -> None:
    while min(steps_of(page)) < fewest:  # wait_for_function is eval, which a strict policy refuses
        page.wait_for_timeout(50)


def test_a_reader_starts_pauses_and_exchanges_models_by_keyboard(browser: Browser, address: str):
    page = browser.new_page(viewport={"width": 360, "height": 780})
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.goto(f"{address}allowed.html")
    page.get_by_role("button", name="Train both models").press("Enter")
    wait_for_steps(page, 30)
    page.get_by_role("button", name="Pause").press("Enter")
    page.wait_for_timeout(300)
    stopped = steps_of(page)
    page.wait_for_timeout(300)
    assert steps_of(page) == stopped
    assert all(points > 1 for points in points_of(page))
    expect(page.locator(".race-lines").first).to_contain_text("rora chased lola. who chased? ")
    page.get_by_label("Encoding of the first model").select_option("alibi")
    assert page.evaluate("new URL(location).searchParams.get('race')") == "1.alibi.rope"
    wait_for_steps(page, 10)
    page.goto(f"{address}index.html?race=7.sinusoid.none")
    expect(page.get_by_label("Encoding of the second model")).to_have_value("none")
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert [*wrong, *Axe().run(page).response["violations"]] == []


def test_a_page_that_may_not_train_shows_a_recorded_run(browser: Browser, address: str):
    page = browser.new_page()
    page.goto(f"{address}strict.html")
    page.get_by_role("button", name="Train both models").click()
    expect(page.locator(".race-said")).to_contain_text("recorded", timeout=30_000)
    told = page.locator(".race-said").inner_text()
    recorded = json.loads(race.RECORDED.read_text(encoding="utf-8"))["messages"]
    shares = [100 * recorded[name][-1]["share"] for name in ("none", "rope")]
    np.testing.assert_allclose([int(n) for n in re.findall(r"(\d+)%", told)], shares, atol=0.51)
    shares_drawn, losses_drawn = points_of(page)[:2], points_of(page)[2:]
    assert shares_drawn == [21, 21]  # every 30 steps
    assert losses_drawn == [600, 600]


def test_the_start_page_quotes_the_recorded_accuracies():
    shares = json.loads(race.RECORDED.read_text(encoding="utf-8"))["shares"]
    rope, none = (np.sort(shares[name]) * 100 for name in ("rope", "none"))
    said = re.search(
        r"From (\d+) seeds each, RoPE was right in (\d+) to (\d+)% .+ in (\d+) to (\d+)% from (\d+) seeds, "
        r"and in (\d+)% from one",
        (race.HERE.parent / "index.md").read_text(encoding="utf-8"),
    )
    assert said
    found = [len(rope), rope[0], rope[-1], none[0], none[-2], len(none) - 1, none[-1]]
    np.testing.assert_allclose([int(n) for n in said.groups()], found, atol=0.51)


@pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")
def test_the_committed_engine_equals_a_new_build_by_clang(tmp_path: Path):
    committed = race.ENGINE.read_bytes()
    version = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True).stdout
    (made_by,) = re.findall(rb"clang\x01?.?([\d.]+)", committed) or [b"?"]
    if made_by.decode() not in version:
        pytest.skip(f"gpt.wasm was compiled by another clang: {made_by.decode()}")
    race.compile_engine(tmp_path / "gpt.wasm")
    assert (tmp_path / "gpt.wasm").read_bytes() == committed


def test_the_component_stays_small():
    files = [path for path in race.HERE.iterdir() if path.suffix in (".c", ".js", ".css", ".wasm")]
    assert (
        sum(path.read_text(encoding="utf-8").count("\n") for path in files if path.suffix != ".wasm") <= 900
    )
    assert sum(path.stat().st_size for path in files) <= 60_000
