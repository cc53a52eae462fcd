"""PoPE beside RoPE, with normalised queries and keys and without."""

import torch
import torch.nn.functional as F

from babygpt.config import ModelConfig
from babygpt.models.transformer import Context, score_scale
from babygpt.positions import Positions
from babygpt_course.studies import polar_repairs as polar

CONFIG = ModelConfig(11, block_size=16, n_layer=1, n_head=2, n_embd=16)


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
