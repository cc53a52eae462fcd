"""Versions built from their rows of the table. A new row needs no entry here."""

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding
from babygpt.encodings.gaussian import AbsoluteGaussian
from babygpt.models.language_model import BagOfTokens, BagWithPositions
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS, build

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=3, n_head=2, n_embd=16)
BODY = 11 * 16 + 3 * (4 * 16 * 16 + 2 * 4 * 16 * 16) + 16 * 11  # embedding, blocks, head
LEARNED = {  # numbers that an encoding learns; all others learn none
    "v5": 4,  # two weights, two widths
    "v7": 2 * 8,  # a phase for each head and dimension
    "learned": 16 * 16,
    "t5": 32 * 2,  # a number for each bucket and head
    "kerple-log": 2 * 2,
    "fire": 2 + 2 * 32 + 32 * 2,  # c and a threshold, a hidden layer, its output for each head
    "v6-learned": 8 * 16,  # eight branches
    "v7-polar": 8,  # a phase for each dimension
    "v7-rope": 0,
    "v4-yarn": 0,
    "v6-random": 0,
}


def n_parameters(module: torch.nn.Module) -> int:
    return sum(p.numel() for p in module.parameters())


def test_the_ladder_comes_first_and_titles_differ() -> None:
    assert list(VERSIONS)[:7] == ["v1", "v2", "v3", "v4", "v5", "v6", "v7"]
    assert len({version.title for version in VERSIONS.values()}) == len(VERSIONS)
    assert all(version.masks == name.startswith("v7") for name, version in VERSIONS.items())


def test_each_version_is_the_body_and_its_encoding() -> None:
    """Expect equal bodies: versions differ in size by the parameters of the encoding alone."""
    bags = {"v1": (BagOfTokens, 2 * 11 * 16 + 11), "v2": (BagWithPositions, 2 * 11 * 16 + 11 + 16 * 16)}
    for name, version in VERSIONS.items():
        model = build(name, CONFIG)
        if name in bags:
            assert (type(model), n_parameters(model)) == bags[name]
            continue
        assert type(model) is Transformer, name
        assert model.causal != version.masks, name
        assert type(model.encoding) is type(version.make_encoding(CONFIG)), name
        if isinstance(version.encoding, type):
            assert type(model.encoding) is version.encoding, name
        assert n_parameters(model) == BODY + n_parameters(model.encoding), name
        assert n_parameters(model.encoding) == LEARNED.get(name, n_parameters(model.encoding)), name


def kinds_of_layers(encoding: Encoding) -> tuple[str, ...]:
    return tuple(type(layer).__name__ for layer in encoding.all())


@pytest.mark.parametrize(
    ("version", "options", "read", "expected"),
    [
        ("v5", {"sigmas": (2.0, 9.0)}, lambda e: [e.sigma1, e.sigma2], [2.0, 9.0]),
        ("v5", {"kernel": "absolute"}, type, AbsoluteGaussian),
        ("v6", {"stride": 7}, lambda e: e.stride, 7),
        ("v6", {"learnable": True, "max_positions": 2000}, lambda e: tuple(e.table.shape), (2000, 16)),
        ("v6-learned", {"max_branches": 3}, lambda e: len(e.table), 3),
        ("v6-rope2d", {"branch_share": 0.25}, lambda e: e.branch_width, 2),
        ("v7", {"alpha": 0.5, "theta": 100.0}, lambda e: [e.alpha, e.theta], [0.5, 100.0]),
        ("partial", {"share": 0.5}, lambda e: e.turning, 2),
        ("v4-nope", {"every": 2}, kinds_of_layers, ("Rotary", "Encoding", "Rotary")),
        ("v4-dynamic", {"factor": 4.0}, lambda e: [e.factor, e.window], [4.0, 4.0]),
        ("v4-yarn", {"factor": 4.0}, lambda e: [e.factor, e.window], [4.0, 4.0]),
        ("t5", {"n_buckets": 8, "furthest": 40}, lambda e: [*e.table.shape, e.furthest], [8, 2, 40]),
        ("fire", {"threshold": 9.0, "width": 5}, lambda e: [len(e.network[0].bias)], [5]),
    ],
)
def test_options_reach_the_encoding(version: str, options: dict, read, expected) -> None:
    got = read(build(version, CONFIG, **options).encoding)
    assert got == (pytest.approx(expected) if isinstance(expected, list) else expected)


def test_only_parallel_texts_can_be_isolated() -> None:
    for name, version in VERSIONS.items():
        if version.branches:
            assert not build(name, CONFIG).isolated
            assert build(name, CONFIG, isolated=True).isolated
        with pytest.raises(TypeError, match="colour"):
            build(name, CONFIG, colour="green")
    with pytest.raises(TypeError, match="isolated"):
        build("v4", CONFIG, isolated=True)
    with pytest.raises(ValueError, match=rf"version \(v99\) must be one of {', '.join(VERSIONS)}"):
        build("v99", CONFIG)


def test_a_model_in_place_of_a_version_is_named_in_one_line() -> None:
    with pytest.raises(ValueError, match=r"version is a model \(Transformer\): give a name, a class"):
        build(build("v4", CONFIG), CONFIG)


def test_a_model_for_a_gpu_has_ten_million_weights() -> None:
    model = build("v4", ModelConfig(65, block_size=256, n_layer=6, n_head=6, n_embd=384))
    assert n_parameters(model) == pytest.approx(10.7e6, rel=0.005)


@pytest.mark.parametrize("version", VERSIONS)
def test_bfloat16_gives_nearly_the_same_logits_and_finite_gradients(version: str, awake, text, standing):
    """Compute on the CPU in the arithmetic of a GPU."""
    model, idx = awake(version), text(2, 9, vocab_size=10)
    positions = standing(version, torch.arange(9)[None].expand(2, -1))
    exact = model(idx, positions)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = model(idx, positions)
    assert exact.shape == (2, 9, 11)
    assert (rough.float() - exact).abs().mean() < 0.05 * exact.std()
    rough.float().square().mean().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
