"""Partial RoPE: frequencies as transformers has them, and the part of a score that no distance changes."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings import Encoding, PartialRotary, Rotary
from babygpt.errors import BadInput
from babygpt.positions import Positions

DIMS = st.integers(1, 64).map(lambda pairs: 2 * pairs)
SHARES = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0])


@given(D=DIMS, share=SHARES, theta=st.sampled_from([500.0, 1e4, 1e6]))
def test_frequencies_as_published(D: int, share: float, theta: float) -> None:
    """The proportional kind, of Gemma 4."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    rope = {"rope_type": "proportional", "rope_theta": theta, "partial_rotary_factor": share}
    config = LlamaConfig(hidden_size=D, num_attention_heads=1, head_dim=D, rope_parameters=rope)
    expected, _ = ROPE_INIT_FUNCTIONS["proportional"](config, torch.device("cpu"))
    got = PartialRotary(D, share, theta).frequencies().float()
    torch.testing.assert_close(got, expected, rtol=1e-5, atol=0)


@given(share=SHARES, distance=st.integers(0, 5000))
def test_what_does_not_turn_scores_alike_at_every_distance(share: float, distance: int) -> None:
    D, ends = 16, Positions(torch.tensor([0, distance]))
    turning = 2 * int(share * D / 2)
    q = torch.randn(1, 1, 2, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    partial, _ = PartialRotary(D, share).transform_qk(q, q, ends)
    full, _ = Rotary(D).transform_qk(q, q, ends)
    torch.testing.assert_close(partial[..., turning:], q[..., turning:], rtol=0, atol=0)
    torch.testing.assert_close(partial[..., :turning], full[..., :turning], rtol=0, atol=0)


@pytest.mark.parametrize(("share", "like"), [(1.0, Rotary(16)), (0.0, Encoding())])
def test_the_ends_are_rope_and_no_encoding(share: float, like: Encoding) -> None:
    q = torch.randn(1, 1, 9, 16, generator=torch.Generator().manual_seed(0))
    got, positions = PartialRotary(16, share), Positions.arange(9)
    torch.testing.assert_close(got.transform_qk(q, q, positions), like.transform_qk(q, q, positions))


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan")])
def test_a_share_is_a_share(share: float) -> None:
    with pytest.raises(BadInput, match=rf"share \({share}\) must lie between 0 and 1"):
        PartialRotary(16, share)
