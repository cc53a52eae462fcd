"""PoPE beside RoPE: the attention of the paper is built as it says, and the gap is paired by seed."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from babygpt.config import ModelConfig
from babygpt.models.transformer import Attention, Context, score_scale
from babygpt.positions import Positions
from babygpt_course.studies import pope
from babygpt_course.studies.results import load_results

CONFIG = ModelConfig(11, block_size=16, n_layer=1, n_head=2, n_embd=16)


def test_unnormalised_attention_is_softplus_magnitudes_over_the_root_of_the_width():
    """Sum of softplus(q) softplus(k) cos((i - j) omega - delta), over sqrt(D): the paper's score."""
    torch.manual_seed(0)
    model = pope.build_model("pope", "unnormalised", CONFIG).double()
    torch.nn.init.normal_(model.encoding.delta)
    attention, x, D = model.blocks[0].attention, torch.randn(1, 5, 16).double(), 8
    q, k, v = attention.qkv(x, Context(model.encoding, Positions.arange(5), None, True, None))
    raw = (part(x).unflatten(-1, (2, D)).transpose(1, 2) for part in (attention.to_q, attention.to_k))
    apart = torch.arange(5)[:, None] - torch.arange(5)
    omega = 10_000.0 ** (-torch.arange(D).double() / D)
    waves = (apart[..., None] * omega - model.encoding.delta[:, None, None]).cos()  # (H, T, T, D)
    mu_q, mu_k = (F.softplus(part) for part in raw)
    expected = torch.einsum("bhid,bhjd,hijd->bhij", mu_q, mu_k, waves) / D**0.5
    assert torch.allclose(q @ k.mT * score_scale(v), expected, atol=1e-9)


@pytest.mark.parametrize("body", pope.BODIES)
def test_bodies_differ_in_their_attention_alone(body):
    torch.manual_seed(1)
    plain = pope.build_model("v4", "normalised", CONFIG)
    torch.manual_seed(1)
    other = pope.build_model("v4", body, CONFIG)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), other.parameters(), strict=True))
    assert type(other.blocks[0].attention) is pope.BODIES[body]
    assert type(plain.blocks[0].attention) is Attention


def test_each_seed_is_compared_with_itself():
    found = pope.measure_pope(seeds=(1, 2), steps=2, n_chars=9_000, n_questions=2)
    for body, gaps in pope.gaps(found).items():
        losses = found["loss"][body]
        assert gaps == [round(p - r, 4) for p, r in zip(losses["pope"], losses["v4"], strict=True)]
        assert len(gaps) == 2


def test_the_pages_say_what_is_stored():
    found = load_results("pope")
    here, there = pope.gaps(found).values()
    root = Path(__file__).parents[3]
    told = "by {:.2f}, {:.2f} and {:.2f} nats{} instead of {:.2f}, {:.2f} and {:.2f}"
    results = (root / "docs" / "results.md").read_text(encoding="utf-8")
    notebook = (root / "notebooks" / "src" / "07b_polar_gates.py").read_text(encoding="utf-8")
    assert told.format(*there, " per character", *here) in results
    assert told.format(*there, "", *here) in notebook
    losses = [found["loss"][body]["v4"] for body in pope.BODIES]
    lost = [without - having for having, without in zip(*losses, strict=True)]
    assert "RoPE loses {:.2f}, {:.2f} and {:.2f} by it".format(*lost) in results
