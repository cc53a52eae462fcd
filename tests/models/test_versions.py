"""The ladder, and the models beside it."""

import math

import pytest
import torch
import torch.nn.functional as F

from babygpt.config import ModelConfig, TrainConfig
from babygpt.encodings import (
    FIRE,
    ALiBi,
    Encoding,
    ExactPhase,
    Fourier,
    GatesLast,
    Interpolated,
    KeysOnly,
    LearnedBranches,
    LearnedPhase,
    LearnedPositions,
    LogKernel,
    NoBranchCode,
    NTKAware,
    PartialRotary,
    PerLayer,
    Polar,
    PoPE,
    PowerKernel,
    Quadrature,
    RandomBranches,
    RandomPhase,
    Rotary,
    Rotary2D,
    Sinusoidal,
    T5Bias,
    XPos,
    YaRN,
)
from babygpt.encodings.gaussian import AbsoluteGaussian, RelativeGaussian
from babygpt.models.base import BagOfTokens, BagWithPositions
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS, build
from babygpt.training.optimizers import optimizers

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=3, n_head=2, n_embd=16)
ENCODINGS = {
    "v3": Sinusoidal,
    "v4": Rotary,
    "v5": RelativeGaussian,
    "v6": Fourier,
    "v5-absolute": AbsoluteGaussian,
    "v6-none": NoBranchCode,
    "v6-learned": LearnedBranches,
    "v6-random": RandomBranches,
    "v6-rope2d": Rotary2D,
    "nope": Encoding,
    "learned": LearnedPositions,
    "alibi": ALiBi,
    "t5": T5Bias,
    "kerple-log": LogKernel,
    "kerple-power": PowerKernel,
    "fire": FIRE,
    "pope": PoPE,
    "xpos": XPos,
    "partial": PartialRotary,
    "v4-nope": PerLayer,
    "v4-interpolated": Interpolated,
    "v4-ntk": NTKAware,
    "v4-yarn": YaRN,
    "v7": LearnedPhase,
    "v7-polar": Polar,
    "v7-exact": ExactPhase,
    "v7-random": RandomPhase,
    "v7-last": GatesLast,
    "v7-keys": KeysOnly,
    "v7-quadrature": Quadrature,
    "v7-pope": PoPE,
    "v7-rope": Rotary,
    "v7-nope": Encoding,
    "v7-alibi": ALiBi,
}
BODY = 11 * 16 + 3 * (4 * 16 * 16 + 2 * 4 * 16 * 16) + 16 * 11  # embedding, blocks, head
PARAMETERS = {
    "v1": 2 * 11 * 16 + 11,
    "v2": 2 * 11 * 16 + 11 + 16 * 16,
    "v3": BODY,
    "v4": BODY,
    "v5": BODY + 4,  # two weights, two widths
    "v6": BODY,
    "v5-absolute": BODY + 4,
    "v6-none": BODY,
    "v6-learned": BODY + 8 * 16,  # eight branches
    "v6-random": BODY,
    "v6-rope2d": BODY,
    "nope": BODY,
    "learned": BODY + 16 * 16,
    "alibi": BODY,
    "t5": BODY + 32 * 2,  # a number for each bucket and head
    "kerple-log": BODY + 2 * 2,
    "kerple-power": BODY + 2 * 2,
    "fire": BODY + 2 + 2 * 32 + 32 * 2,  # c and a threshold, a hidden layer, its output for each head
    "pope": BODY + 16,
    **dict.fromkeys(("xpos", "partial", "v4-nope", "v4-interpolated", "v4-ntk", "v4-yarn"), BODY),
    "v7": BODY + 16,  # a phase for each head and dimension
    **dict.fromkeys(("v7-polar", "v7-exact", "v7-random", "v7-last", "v7-keys"), BODY + 8),  # and no head
    "v7-quadrature": BODY,
    "v7-pope": BODY + 16,
    "v7-rope": BODY,
    "v7-nope": BODY,
    "v7-alibi": BODY,
}


def test_the_ladder_stands_in_order_before_what_is_beside_it() -> None:
    assert list(VERSIONS)[:7] == ["v1", "v2", "v3", "v4", "v5", "v6", "v7"]
    assert {"nope", "learned", "alibi"} <= set(VERSIONS)


def test_every_title_is_its_own() -> None:
    titles = [version.title for version in VERSIONS.values()]
    assert len(set(titles)) == len(titles)


def test_each_version_is_what_it_says() -> None:
    assert type(build("v1", CONFIG)) is BagOfTokens
    assert type(build("v2", CONFIG)) is BagWithPositions
    for version, encoding in ENCODINGS.items():
        model = build(version, CONFIG)
        assert type(model) is Transformer
        assert type(model.encoding) is encoding
        assert model.causal != VERSIONS[version].masks


def test_of_every_version_it_is_known_what_it_is_and_how_large() -> None:
    assert {"v1", "v2", *ENCODINGS} == set(PARAMETERS) == set(VERSIONS)


def test_who_fills_in_is_called_v7() -> None:
    assert {name for name, version in VERSIONS.items() if version.masks} == {
        name for name in VERSIONS if name.startswith("v7")
    }


@pytest.mark.parametrize("version", PARAMETERS)
def test_number_of_parameters_follows_from_the_shape(version: str) -> None:
    """Where only the encoding differs, models are equally large but for a table."""
    assert sum(p.numel() for p in build(version, CONFIG).parameters()) == PARAMETERS[version]


@pytest.mark.parametrize("version", ["v1", "v2", "v4", "v7"])
def test_the_seed_decides_the_weights(version: str) -> None:
    models = []
    for seed in (0, 0, 1):
        torch.manual_seed(seed)
        models.append(build(version, CONFIG).token_embedding.weight)
    assert torch.equal(models[0], models[1])
    assert not torch.equal(models[0], models[2])


ROPE_AND_NONE = ["Rotary", "Encoding", "Rotary"]
OPTIONS = [
    ("v5", {"sigmas": (2.0, 9.0)}, lambda e: [e.sigma1, e.sigma2], [2.0, 9.0]),
    ("v5", {"kernel": "absolute"}, type, AbsoluteGaussian),
    ("v5-absolute", {"alphas": (0.5, 0.25)}, lambda e: [e.alpha1, e.alpha2], [0.5, 0.25]),
    ("v6", {"stride": 7}, lambda e: e.stride, 7),
    ("v6", {"learnable": True, "max_positions": 2000}, lambda e: tuple(e.table.shape), (2000, 16)),
    ("v6-learned", {"max_branches": 3}, lambda e: len(e.table), 3),
    ("v6-random", {"max_branches": 5}, lambda e: len(e.table), 5),
    ("v6-rope2d", {"branch_share": 0.25}, lambda e: e.branch_width, 2),
    ("v7", {"alpha": 0.5, "theta": 100.0}, lambda e: [e.alpha, e.theta], [0.5, 100.0]),
    ("v7-polar", {"alpha": 1.0}, lambda e: e.alpha, 1.0),
    ("v7-pope", {"theta": 500.0}, lambda e: e.theta, 500.0),
    ("partial", {"share": 0.5}, lambda e: e.turning, 2),
    ("xpos", {"scale_base": 32.0, "theta": 500.0}, lambda e: [e.scale_base, e.theta], [32.0, 500.0]),
    ("v4-nope", {"every": 2, "theta": 500.0}, lambda e: [type(x).__name__ for x in e.all()], ROPE_AND_NONE),
    ("v4-interpolated", {"factor": 3.0}, lambda e: e.factor, 3.0),
    ("v4-ntk", {"factor": 3.0, "theta": 500.0}, lambda e: [e.factor, e.theta], [3.0, 500.0]),
    ("v4-yarn", {"factor": 4.0}, lambda e: [e.factor, e.window], [4.0, 4.0]),
    ("t5", {"n_buckets": 8, "furthest": 40}, lambda e: [*e.table.shape, e.furthest], [8, 2, 40]),
    ("fire", {"width": 5}, lambda e: len(e.network[0].bias), 5),
    ("fire", {"threshold": 9.0}, lambda e: [e.log_threshold.exp().item()], [9.0]),
]


@pytest.mark.parametrize(("version", "options", "look", "expected"), OPTIONS)
def test_what_is_chosen_reaches_the_encoding(version: str, options: dict, look, expected) -> None:
    found = look(build(version, CONFIG, **options).encoding)
    assert found == (expected if not isinstance(expected, list) else pytest.approx(expected))


@pytest.mark.parametrize("version", [name for name, v in VERSIONS.items() if v.branches])
def test_parallel_texts_can_be_isolated(version: str) -> None:
    assert not build(version, CONFIG).isolated
    assert build(version, CONFIG, isolated=True).isolated


def test_what_cannot_be_chosen_is_refused() -> None:
    for version in VERSIONS:
        with pytest.raises(TypeError, match="colour"):
            build(version, CONFIG, colour="green")


def test_unknown_version_is_named_with_those_there_are() -> None:
    with pytest.raises(ValueError, match=r"version \(v99\)") as caught:
        build("v99", CONFIG)
    for version in VERSIONS:
        assert version in str(caught.value)


def test_the_model_for_a_gpu_has_ten_million_weights_and_learns() -> None:
    """One short window, over and over: what a processor can show of it."""
    config = ModelConfig(65, block_size=256, n_layer=6, n_head=6, n_embd=384)
    model = build("v4", config)
    assert sum(p.numel() for p in model.parameters()) == pytest.approx(10.7e6, rel=0.005)
    idx = torch.arange(33)[None] % 7
    losses = []
    for _ in range(3):
        loss = F.cross_entropy(model(idx[:, :-1])[0], idx[0, 1:])
        loss.backward()
        losses.append(loss.item())
        for optimizer in optimizers(model, TrainConfig(steps=3)):
            optimizer.step()
        model.zero_grad()
    assert losses[0] == pytest.approx(math.log(65))
    assert losses[2] < losses[1] < losses[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_bfloat16_gives_nearly_the_same_logits_and_finite_gradients(
    version: str, awake, text, standing
) -> None:
    """The arithmetic of a GPU, done by the processor."""
    model, idx = awake(version), text(2, 9, vocab_size=10)
    positions = standing(version, torch.arange(9)[None].expand(2, -1))
    exact = model(idx, positions)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rough = model(idx, positions)
    assert exact.shape == (2, 9, 11)
    assert (rough.float() - exact).abs().mean() < 0.05 * exact.std()
    rough.float().square().mean().backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
