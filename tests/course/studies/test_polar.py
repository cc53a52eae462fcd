"""The gate's repairs, a text that fills in, and PoPE beside RoPE with and without normalised q and k."""

from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from babygpt.config import ModelConfig
from babygpt.models.transformer import Attention, Context, score_scale
from babygpt.models.versions import VERSIONS
from babygpt.positions import Positions
from babygpt_course.studies import polar_repairs as polar
from babygpt_course.studies.results import load_results

CONFIG = ModelConfig(11, block_size=16, n_layer=1, n_head=2, n_embd=16)


def test_all_that_is_walked_through_exists():
    assert all(VERSIONS[version].masks for version in (*polar.REPAIRS, *polar.RIVALS))


def test_the_pages_say_what_is_stored():
    found = load_results("polar")
    mean = {version: float(np.mean(seeds)) for version, seeds in found["val_loss"].items()}
    docs = Path(__file__).parents[3] / "docs"
    results = (docs / "results.md").read_text(encoding="utf-8")
    note = (docs / "notes" / "000.md").read_text(encoding="utf-8")
    worse = f"({mean['v7-random']:.2f} to {mean['v7-last']:.2f} nats"
    level = f"level with RoPE ({mean['v7']:.3f} and {mean['v7-rope']:.3f})"
    plain = f"{mean['v7']:.3f} and {np.mean(found['without alpha']['v7']):.3f}"
    sine, phase = mean["v7-keys"] - mean["v7-quadrature"], mean["v7-quadrature"] - mean["v7"]
    gains = (f"gains {sine:.2f} nats", f"{phase:.2f} more", f"by {mean['v7-rope'] - mean['v7-pope']:.2f}")
    assert all(said in results for said in (worse, level, plain, *gains))
    told = [f"{mean[version]:.2f}" for version in ("v7-polar", "v7-rope", "v7-nope", "v7")]
    assert "{} nats for each masked character, RoPE {}, no code {}.".format(*told) in note
    assert f"level with RoPE ({told[3]})" in note


# ---------------------------------------------------------------- PoPE beside RoPE


def test_unnormalised_attention_is_softplus_magnitudes_over_the_root_of_the_width():
    """Sum of softplus(q) softplus(k) cos((i - j) omega - delta), over sqrt(D): the paper's score."""
    torch.manual_seed(0)
    model = polar.build_with_body("pope", "unnormalised", CONFIG).double()
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


@pytest.mark.parametrize("body", polar.BODIES)
def test_bodies_differ_in_their_attention_alone(body):
    torch.manual_seed(1)
    plain = polar.build_with_body("v4", "normalised", CONFIG)
    torch.manual_seed(1)
    other = polar.build_with_body("v4", body, CONFIG)
    assert all(torch.equal(a, b) for a, b in zip(plain.parameters(), other.parameters(), strict=True))
    assert type(other.blocks[0].attention) is polar.BODIES[body]
    assert type(plain.blocks[0].attention) is Attention


def test_the_pages_say_what_pope_stored():
    found = load_results("pope")
    here, there = polar.pope_gaps(found).values()
    root = Path(__file__).parents[3]
    told = "by {:.2f}, {:.2f} and {:.2f} nats{} instead of {:.2f}, {:.2f} and {:.2f}"
    results = (root / "docs" / "results.md").read_text(encoding="utf-8")
    notebook = (root / "notebooks" / "src" / "07b_polar_gates.py").read_text(encoding="utf-8")
    assert told.format(*there, " per character", *here) in results
    assert told.format(*there, "", *here) in notebook
    losses = [found["loss"][body]["v4"] for body in polar.BODIES]
    lost = [without - having for having, without in zip(*losses, strict=True)]
    assert "RoPE loses {:.2f}, {:.2f} and {:.2f} by it".format(*lost) in results
