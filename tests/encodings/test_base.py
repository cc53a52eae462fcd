"""Promises of every version's encoding that the body relies on."""

import torch

from babygpt.config import ModelConfig
from babygpt.encodings import ALiBi, Encoding, LearnedPositions, PerLayer, Rotary, Rotary2D, Sinusoidal
from babygpt.models.versions import VERSIONS
from babygpt.positions import Positions

B, H, T, D, C = 4, 4, 6, 8, 32  # as many rows as heads: neither may be taken for the other
CONFIG = ModelConfig(vocab_size=11, block_size=20, n_layer=2, n_head=H, n_embd=C)


@torch.no_grad()
def encodings() -> dict[str, Encoding]:
    """Make the encoding of every version, with parameters that all differ."""
    made = {name: version.make_encoding(CONFIG) for name, version in VERSIONS.items() if version.encoding}
    for encoding in made.values():
        for p in encoding.parameters():
            p.add_(0.3 * torch.randn(p.shape))
    return {name: encoding for name, encoding in made.items() if not isinstance(encoding, PerLayer)}


def at(time: torch.Tensor) -> Positions:
    return Positions(time, branch=time % 2, masked=time % 3 == 1)


def inputs() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return torch.randn(B, T, C), torch.randn(B, H, T, D), torch.randn(B, H, T, D)


def answers(encoding: Encoding, positions: Positions, x, q, k) -> list[torch.Tensor | None]:
    """Return all results that the body needs from an encoding."""
    bias = encoding.score_bias(positions, positions)
    return [encoding.embed(x, positions), *encoding.transform_qk(q, k, positions), bias]


def test_answers_have_the_promised_shapes_and_precision() -> None:
    x, q, k = inputs()
    positions = at(torch.arange(3, 3 + T))
    for name, encoding in encodings().items():
        new_x, new_q, new_k, bias = answers(encoding, positions, x, q, k)
        assert new_x.shape == x.shape, name
        assert new_q.shape == new_k.shape, name
        assert new_q.shape in {(B, H, T, D), (B, H, T, 2 * D)}, name
        assert bias is None or bias.shape in {(H, T, T), (1, T, T)}, name
        half = answers(encoding, positions, x.bfloat16(), q.bfloat16(), k.bfloat16())
        parts = half[1:3] if name == "learned" else half[:3]  # a trained table keeps its own precision
        assert {part.dtype for part in parts} == {torch.bfloat16}, name


def test_a_single_token_is_encoded_as_within_a_text() -> None:
    """Encode one position at a time, as decoding does."""
    x, q, k = inputs()
    time = torch.arange(3, 3 + T)
    for name, encoding in encodings().items():
        all_x, all_q, _, all_bias = answers(encoding, at(time), x, q, k)
        for t in range(T):
            one, here = slice(t, t + 1), at(time[t : t + 1])
            assert torch.equal(encoding.embed(x[:, one], here), all_x[:, one]), name
            alone = encoding.transform_qk(q[:, :, one], k[:, :, one], here)[0]
            torch.testing.assert_close(alone, all_q[:, :, one], rtol=0, atol=1e-5, msg=name)
            if all_bias is not None:
                bias = encoding.score_bias(here, at(time))
                torch.testing.assert_close(bias, all_bias[:, one], rtol=0, atol=1e-5, msg=name)


def test_each_row_of_a_batch_has_its_own_positions() -> None:
    x, q, k = inputs()
    time = torch.tensor([[0, 1, 2, 3, 4, 5], [1, 2, 5, 7, 9, 11], [0, 4, 5, 9, 12, 19], [5, 6, 7, 8, 9, 10]])
    for name, encoding in encodings().items():
        together = answers(encoding, at(time), x, q, k)
        for b in range(B):
            row = slice(b, b + 1)
            alone = answers(encoding, at(time[b]), x[row], q[row], k[row])
            for one, other in zip(together, alone, strict=True):
                if one is not None:
                    torch.testing.assert_close(one[row], other.view_as(one[row]), rtol=0, atol=1e-5, msg=name)


def test_each_encoding_uses_its_one_hook() -> None:
    hooks = {
        Encoding(): set(),
        LearnedPositions(20, C): {"embed"},
        Sinusoidal(C): {"embed"},
        Rotary(D): {"transform_qk"},
        Rotary2D(D): {"transform_qk"},
        ALiBi(H): {"score_bias"},
    }
    x, q, k = inputs()
    for encoding, expected in hooks.items():
        new_x, new_q, new_k, bias = answers(encoding, at(torch.arange(3, 3 + T)), x, q, k)
        used = {
            "embed": not torch.equal(new_x, x),
            "transform_qk": not (torch.equal(new_q, q) or torch.equal(new_k, k)),
            "score_bias": bias is not None,
        }
        assert {hook for hook, is_used in used.items() if is_used} == expected
        learned = isinstance(encoding, LearnedPositions)
        assert bool(list(encoding.parameters())) == learned  # the only one that is trained
        assert encoding.max_positions == (20 if learned else None)  # and that ends
