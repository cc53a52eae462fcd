"""A wrong hook of an encoding from outside is refused when the model is built, by its name."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from babygpt.config import ModelConfig, TrainConfig
from babygpt.encodings import ALiBi, Encoding, Fourier, LearnedPhase, PerLayer, PoPE, ShiftedRotary
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import NextToken
from babygpt.positions import Positions
from babygpt.training import train
from tests.pretended_gpu import pretended_gpu

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)


def encoding_with(**hooks: Callable[..., Any]) -> type[Encoding]:
    """Return a class of Encoding that has these hooks."""
    return type("Mine", (Encoding,), hooks)


def refusal(**hooks: Callable[..., Any]) -> str:
    """Return the message with which `build` refuses an encoding with these hooks."""
    with pytest.raises(BadInput) as caught:
        build(encoding_with(**hooks), CONFIG)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def between(queries: Positions, keys: Positions) -> Tensor:
    return (queries.time[..., None, :, None] - keys.time[..., None, None, :]).float()


@pytest.mark.parametrize(
    ("hook", "function", "came", "due"),
    [
        ("embed", lambda self, x, p: None, "None", "(B, T, C) = (3, 5, 16)"),
        ("embed", lambda self, x, p: x[:, :1], "one tensor of shape (3, 1, 16)", "(3, 5, 16)"),
        ("embed", lambda self, x, p: x.double(), "torch.float64", "precision of its input, torch.float32"),
        (
            "embed",
            lambda self, x, p: (x * 0).index_fill(2, torch.tensor(7), torch.inf),
            "inf at [0, 0, 7], the first of 15 of its 240 numbers, for a text",
            "finite",
        ),
        ("embed", lambda self, x, p: x.to("meta"), "a tensor on meta", "device of its input, cpu"),
        ("transform_qk", lambda self, q, k, p: q, "one tensor of shape (3, 2, 5, 8)", "a pair of tensors"),
        ("transform_qk", lambda self, q, k, p: (q, k, q), "a tuple of 3", "a pair of tensors"),
        ("transform_qk", lambda self, q, k, p: (q, None), "None as keys", "(B, H, T, D) = (3, 2, 5, 8)"),
        ("transform_qk", lambda self, q, k, p: (q.mT, k), "(3, 2, 8, 5) as queries", "(3, 2, 5, 8)"),
        ("transform_qk", lambda self, q, k, p: (q, k[..., :4]), "(3, 2, 5, 4) as keys", "as many"),
        ("transform_qk", lambda self, q, k, p: (q, k * torch.nan), "nan at [0, 0, 0, 0]", "finite"),
        ("transform_qk", lambda self, q, k, p: (q, k.half()), "torch.float16", "torch.float32"),
        ("score_bias", lambda self, q, k: 1.0, "a float", "(H or 1, Tq, Tk)"),
        ("score_bias", lambda self, q, k: torch.zeros(5, 5), "one tensor of shape (5, 5)", "H = 2, Tq = 5"),
        ("score_bias", lambda self, q, k: torch.zeros(3, 5, 5), "(3, 5, 5) for a text", "H = 2"),
        ("score_bias", lambda self, q, k: torch.zeros(2, 1, 5), "(2, 1, 5) for a text", "Tq = 5"),
        ("score_bias", lambda self, q, k: between(q, k) >= 0, "torch.bool", "-inf where nothing is seen"),
        (
            "score_bias",
            lambda self, q, k: between(q, k).log(),
            "nan at [0, 0, 1], the first of 10",
            "finite numbers, or -inf",
        ),
        (
            "score_bias",
            lambda self, q, k: between(k, k),
            "(1, 5, 5) for the last two tokens of a text",
            "Tq = 2",
        ),
        ("score_bias", lambda self, q, k: between(q, k).to("meta"), "a tensor on meta", "cpu"),
        ("score_bias", lambda self, q, k: torch.zeros(1, 2, len(q), len(k)), "(1, 2, 5, 5)", "(H or 1, Tq"),
        ("content_bias", lambda self, q, k, *p: q, "(3, 2, 5, 8)", "(B, H or 1, Tq or 1, Tk); here B = 3"),
        ("content_bias", lambda self, q, k, *p: (q @ k.mT)[0], "(2, 5, 5)", "(B, H or 1, Tq or 1, Tk)"),
        ("content_bias", lambda self, q, k, *p: k @ k.mT, "(3, 2, 5, 5) for the last two", "Tq = 2, Tk = 5"),
        (
            "content_bias",
            lambda self, q, k, *p: (q @ k.mT) - torch.inf,
            "-inf at [0, 0, 0, 0]",
            "finite numbers",
        ),
    ],
)
def test_what_came_and_what_was_due_are_named(hook: str, function: Callable, came: str, due: str) -> None:
    message = refusal(**{hook: function})
    assert message.startswith(f"test_hook_checks.py:Mine: {hook} returned ")
    returned, _, expected = message.partition("; due is ")
    assert came in returned
    assert due in expected


def test_a_batch_is_tried_too() -> None:
    def for_one_text(self: Encoding, x: Tensor, positions: Positions) -> Tensor:
        return x + positions.time[:, None]

    def of_two_texts(self: Encoding, queries: Positions, keys: Positions) -> Tensor:
        bias = between(queries, keys)
        return bias[:2] if bias.dim() == 4 else bias

    assert "embed, for a batch of texts, raised RuntimeError" in refusal(embed=for_one_text)
    assert "shape (2, 1, 5, 5) for a batch of texts" in refusal(score_bias=of_two_texts)


def test_the_end_of_the_window_is_tried_too() -> None:
    def of_a_small_table(self: Encoding, x: Tensor, positions: Positions) -> Tensor:
        return x + torch.zeros(CONFIG.block_size - 1)[positions.time][..., None]

    assert "embed, for a batch of texts, raised IndexError" in refusal(embed=of_a_small_table)


def test_an_error_inside_keeps_its_message_and_line() -> None:
    def forgetful(self: Encoding, queries: Positions, keys: Positions) -> Tensor:
        raise KeyError("slopes")

    line = forgetful.__code__.co_firstlineno + 1
    message = refusal(score_bias=forgetful)
    assert message == (
        "test_hook_checks.py:Mine: score_bias, for a text, raised "
        f"KeyError: 'slopes' (test_hook_checks.py, line {line})"
    )


def test_other_arguments_are_named_with_those_that_are_due() -> None:
    message = refusal(score_bias=lambda self, keys: None)
    assert message == (
        "test_hook_checks.py:Mine: score_bias has other arguments (too many positional arguments); "
        "due is score_bias(self, queries, keys)"
    )


class FourierOutside(Fourier):
    pass


class PhaseOutside(LearnedPhase):
    for_masks = True


class WideOutside(PoPE):
    pass


class WindowOutside(Encoding):
    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        return torch.zeros(len(queries), len(keys)).masked_fill(between(queries, keys) > 2, -torch.inf)


class GateOutside(Encoding):
    def content_bias(self, q: Tensor, k: Tensor, queries: Positions, keys: Positions) -> Tensor:
        return k.mean(dim=-1).cumsum(dim=-1)[..., None, :]


class ShiftOutside(ShiftedRotary):
    pass


class LayersOutside(PerLayer):
    def __init__(self, n_head: int, n_layer: int) -> None:
        super().__init__([ALiBi(n_head) for _ in range(n_layer)])


@pytest.mark.parametrize(
    "encoding", [FourierOutside, PhaseOutside, WideOutside, WindowOutside, LayersOutside]
)
@pytest.mark.parametrize("block_size", [1, 2, 16])
def test_what_ours_may_do_is_sound(encoding: type[Encoding], block_size: int) -> None:
    build(encoding, ModelConfig(11, block_size, n_layer=2, n_head=2, n_embd=16))


def test_the_check_leaves_no_trace() -> None:
    class Counting(Encoding):
        def __init__(self) -> None:
            super().__init__()
            self.calls = 0
            self.phase = nn.Parameter(torch.rand(3))

        def embed(self, x: Tensor, positions: Positions) -> Tensor:
            self.calls += 1
            return x + torch.rand(())

    torch.manual_seed(3)
    model = build(Counting, CONFIG)
    drawn = torch.rand(())
    torch.manual_seed(3)
    phase = torch.rand(3)
    assert torch.equal(model.encoding.phase, phase)
    assert model.encoding.calls == 0
    build("nope", CONFIG)
    assert torch.equal(torch.rand(()), drawn)


def test_a_hook_that_forgets_the_device_is_named_before_the_first_step(small_corpus) -> None:
    def on_the_cpu(self: Encoding, x: Tensor, positions: Positions) -> Tensor:
        return x + torch.arange(x.shape[1])[:, None]

    config = ModelConfig(small_corpus.tokenizer.vocab_size, 16, n_layer=1, n_head=2, n_embd=16)
    model = build(encoding_with(embed=on_the_cpu), config)
    with pretended_gpu() as device, pytest.raises(BadInput, match="Mine: embed, for a text, raised"):
        next(train(model.to(device), NextToken(small_corpus, 16), TrainConfig(steps=1, batch_size=2)))


def test_every_encoding_of_ours_would_pass(monkeypatch) -> None:
    """Build each version as if it came from outside."""
    for name, version in VERSIONS.items():
        if isinstance(version.encoding, type):
            outside = type("Outside", (version.encoding,), {"for_masks": version.masks})
            assert build(outside, CONFIG).causal != version.masks, name
