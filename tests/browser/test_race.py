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
from torch import Tensor

from babygpt import ModelConfig, NextToken, TrainConfig, build
from babygpt.models.transformer import Transformer
from babygpt.training.optimizers import optimizers, schedule
from tools.book import race
from tools.browser.firefox import FirefoxPage
from tools.browser.site import PAGE, serve_folder

STEPS, VOCAB = 30, 32  # the engine pads the vocabulary with tokens that never occur
# A content security policy without WebAssembly and workers, and one with them.
STRICT = "default-src 'self'; style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'"
ALLOWED = f"{STRICT} 'wasm-unsafe-eval'; worker-src blob:"
FOLLOW = """async ({ engine, encoding, weights, vocab, batches, steps }) => {
    window.babygptRace ?? (0, window.eval)(engine);
    window.GPT ??= (0, window.eval)(`(() => { ${window.babygptRace.worker}; return GPT; })()`);
    const wasm = Uint8Array.from(atob(window.babygptRace.wasm), byte => byte.charCodeAt(0));
    const model = new window.GPT((await WebAssembly.instantiate(wasm, {})).instance.exports, encoding, vocab);
    const load = ([tokens, targets]) => (model.tokens.set(tokens), model.targets.set(targets));
    model.weights.set(weights);
    load(batches[0]);
    [model.engine.forward(8), model.engine.backward()];
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


def packed(model: Transformer, get: Callable[[Tensor], Tensor]) -> Tensor:
    """Return the weights of a model, each passed through `get`, in the order and shapes of gpt.c."""

    def padded(matrix: Tensor) -> Tensor:
        return torch.cat([matrix, matrix.new_zeros(VOCAB - len(matrix), matrix.shape[1])])

    parts = [padded(get(model.token_embedding.weight))]
    for block in model.blocks:
        a, mlp = block.attention, block.mlp
        parts += [get(one.weight).T for one in (a.to_q, a.to_k, a.to_v, a.out, mlp.up, mlp.out)]
    return torch.cat([part.reshape(-1) for part in [*parts, padded(get(model.head.weight)).T]])


def check_engine(encoding: str, page: Page | FirefoxPage) -> None:
    """Compare the gradients and the losses that the engine computes in a page with PyTorch's."""
    corpus = race.stories()
    shape = ModelConfig(corpus.tokenizer.vocab_size, block_size=race.BLOCK, n_layer=2, n_head=4, n_embd=64)
    torch.manual_seed(1)
    model, objective = build(race.ENCODINGS[encoding], shape), NextToken(corpus, race.BLOCK, aligned=True)
    for p in model.parameters():
        if not p.any():  # a head of zeros would hide most gradients
            torch.nn.init.normal_(p, std=0.1)
    weights, plan = packed(model, lambda p: p.detach().clone()), TrainConfig(steps=STEPS, batch_size=8)
    generator = torch.Generator().manual_seed(3)
    batches = [objective.batch(8, generator) for _ in range(STEPS)]
    both, losses, grad = optimizers(model, plan), [], torch.empty(0)
    peaks = [one.lr for one in both]
    for step, batch in enumerate(batches):
        model.zero_grad()
        loss = objective.loss(model, batch)
        loss.backward()
        grad = packed(model, lambda p: p.grad) if step == 0 else grad
        for one, peak in zip(both, peaks, strict=True):
            one.lr = peak * schedule(step, plan)
            one.step()
        losses.append(loss.item())
    given = {
        "engine": race.engine_script(),
        "encoding": encoding,
        "weights": weights.tolist(),
        "steps": STEPS,
    }
    given |= {
        "batches": [[x.flatten().tolist() for x in batch] for batch in batches],
        "vocab": shape.vocab_size,
    }
    found = page.evaluate(FOLLOW, given)
    np.testing.assert_allclose(found["losses"], losses, rtol=1e-3)
    off = torch.tensor(found["grad"]) - grad
    sizes = [VOCAB * 64, *[64 * 64] * 4, *[64 * 256] * 2, *[64 * 64] * 4, *[64 * 256] * 2, VOCAB * 64]
    for mine, theirs in zip(off.split(sizes), grad.split(sizes), strict=True):
        assert mine.norm() < 1e-3 * theirs.norm()


@pytest.mark.parametrize("encoding", race.ENCODINGS)
def test_gradients_and_losses_are_those_of_pytorch(encoding: str, browser: Browser):
    check_engine(encoding, browser.new_page())


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
