"""The engine that trains models in a page: its steps are PyTorch's, and its files stay small."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page
from torch import Tensor, nn

from babygpt import ModelConfig, NextToken, TrainConfig, build
from babygpt.data.corpus import load_corpus
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.training.optimizers import optimizers, schedule
from tools.book import engine, lab
from tools.browser.firefox import FirefoxPage

STEPS = 30
VERSIONS = {  # encoding of the engine -> of babygpt
    "none": "nope",
    "sinusoid": "v3",
    "rope": "v4",
    "alibi": "alibi",
    "gaussian": "v5",
    "learned": "learned",
    "rope-shift": "v4-shift",
    "none-shift": "nope-shift",
}
SIZES = ((2, 64, 8), (1, 32, 16), (4, 128, 4), (3, 32, 8))  # layers, channels, windows of a batch
FOLLOW = """async ({ engine, encoding, shape, weights, vocab, batches, steps }) => {
    window.babygptEngine ?? (0, window.eval)(engine);
    const parts = await window.babygptEngine, read = byte => byte.charCodeAt(0);
    const wasm = Uint8Array.from(atob(parts.wasm), read);
    window.GPT ??= (0, window.eval)(`(() => { ${parts.worker}; return GPT; })()`);
    const { instance } = await WebAssembly.instantiate(wasm, {});
    const [name, shift] = encoding.split("-");
    const model = new window.GPT(instance.exports, { name, shift }, vocab, shape);
    const load = ([tokens, targets]) => (model.tokens.set(tokens), model.targets.set(targets));
    model.weights.set(weights); // without a table of positions, that of the encoding stays
    load(batches[0]);
    [model.engine.forward(shape.batch), model.engine.backward()];
    const grad = [...model.grad];
    return { grad, losses: batches.map(batch => (load(batch), model.step(steps))) };
}"""


def packed(model: LanguageModel, get: Callable[[Tensor], Tensor]) -> list[Tensor]:
    """Return the weights of a model, each passed through `get`, in the order and shapes of gpt.c."""

    def padded(matrix: Tensor) -> Tensor:  # The added rows stand for tokens that never occur.
        return torch.cat([matrix, matrix.new_zeros(-len(matrix) % 8, matrix.shape[1])])

    assert isinstance(model, Transformer)
    parts = [padded(get(model.token_embedding.weight))]
    for block in model.blocks:
        a, mlp = block.attention, block.mlp
        parts += [get(layer.weight).T for layer in (a.to_q, a.to_k, a.to_v, a.out, mlp.up, mlp.out)]
    parts.append(padded(get(model.head.weight)).T)
    shift, table = (getattr(model.encoding, name, None) for name in ("shift", "table"))
    width = model.token_embedding.weight.shape[1]
    parts.append(get(shift) if isinstance(shift, nn.Parameter) else torch.zeros(width))
    return parts if not isinstance(table, nn.Parameter) else [*parts, get(table)]


def check_engine(
    encoding: str,
    page: Page | FirefoxPage,
    size: tuple[int, int, int] = SIZES[0],
    corpus: str = engine.CORPUS,
) -> None:
    """Compare the gradients and the losses that the engine computes in a page with PyTorch's."""
    (layers, width, windows), text = size, load_corpus(corpus, 20_000)
    shape = ModelConfig(text.tokenizer.vocab_size, engine.BLOCK, layers, width // 16, width)
    torch.manual_seed(1)
    model = build(VERSIONS[encoding], shape, **({"learnable": False} if encoding == "gaussian" else {}))
    objective = NextToken(text, engine.BLOCK, aligned=text.grammar is not None)
    for p in model.parameters():
        if not p.any():  # a head of zeros would hide most gradients
            torch.nn.init.normal_(p, std=0.1)
    weights, plan = packed(model, lambda p: p.detach().clone()), TrainConfig(steps=STEPS, batch_size=windows)
    generator = torch.Generator().manual_seed(3)
    batches = [objective.batch(windows, generator) for _ in range(STEPS)]
    both, losses, grad = optimizers(model, plan), [], list[Tensor]()
    peaks = [optimizer.lr for optimizer in both]
    for step, batch in enumerate(batches):
        model.zero_grad()
        loss = objective.loss(model, batch)
        loss.backward()
        grad = packed(model, lambda p: p.grad.clone()) if step == 0 else grad
        for optimizer, peak in zip(both, peaks, strict=True):
            optimizer.lr = peak * schedule(step, plan)
            optimizer.step()
        losses.append(loss.item())
    inputs = {
        "engine": engine.engine_script(),
        "encoding": encoding,
        "shape": {"layers": layers, "heads": width // 16, "batch": windows},
        "weights": torch.cat([weight.flatten() for weight in weights]).tolist(),
        "steps": STEPS,
        "batches": [[x.flatten().tolist() for x in batch] for batch in batches],
        "vocab": shape.vocab_size,
    }
    page_run = page.evaluate(FOLLOW, inputs)
    np.testing.assert_allclose(page_run["losses"], losses, rtol=1e-3)
    mine = torch.tensor(page_run["grad"])
    for theirs in grad:
        off = mine[: theirs.numel()].view(theirs.shape) - theirs
        assert off.norm() <= 1e-5 * theirs.norm()
        mine = mine[theirs.numel() :]


@pytest.mark.parametrize("encoding", VERSIONS)
def test_gradients_and_losses_are_those_of_pytorch(encoding: str, browser: Browser):
    check_engine(encoding, browser.new_page())


@pytest.mark.parametrize("size", SIZES[1:])
def test_gradients_and_losses_are_those_of_pytorch_at_other_sizes(
    size: tuple[int, int, int], browser: Browser
):
    check_engine("gaussian", browser.new_page(), size, "tales-zh")


def test_the_start_page_quotes_the_recorded_accuracies():
    shares = json.loads(lab.SHARES.read_text(encoding="utf-8"))
    rope, none = (np.sort(shares[name]) * 100 for name in ("rope", "none"))
    match = re.search(
        r"From (\d+) seeds each, RoPE was right in (\d+) to (\d+)% .+ in (\d+) to (\d+)% from (\d+) seeds, "
        r"and in (\d+)% from one",
        (engine.HERE.parent / "index.md").read_text(encoding="utf-8"),
    )
    assert match
    expected = [len(rope), rope[0], rope[-1], none[0], none[-2], len(none) - 1, none[-1]]
    np.testing.assert_allclose([int(n) for n in match.groups()], expected, atol=0.51)


def links_webassembly() -> bool:
    """Return whether clang and its linker for WebAssembly are here; some systems have the first alone."""
    if not shutil.which("clang"):
        return False
    ask = ["clang", "--print-prog-name=wasm-ld"]
    linker = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    return shutil.which(linker) is not None


@pytest.mark.skipif(not links_webassembly(), reason="needs clang and wasm-ld")
def test_the_committed_engine_equals_a_new_build_by_clang(tmp_path: Path):
    committed = engine.ENGINE.read_bytes()
    version = subprocess.run(["clang", "--version"], capture_output=True, text=True, check=True).stdout
    (made_by,) = re.findall(rb"clang\x01?.?([\d.]+)", committed) or [b"?"]
    if made_by.decode() not in version:
        pytest.skip(f"gpt.wasm was compiled by another clang: {made_by.decode()}")
    engine.compile_engine(tmp_path / "gpt.wasm")
    assert (tmp_path / "gpt.wasm").read_bytes() == committed


def test_the_component_is_a_small_download():
    stay = ("gpt.c", "shares.json")  # no page loads them
    assert sum(path.stat().st_size for path in engine.HERE.iterdir() if path.name not in stay) <= 115_000
