"""The same weights under another encoding, and RoPE made to read further than its window."""

import pytest
import torch

from babygpt.encodings import Encoding, Interpolated, PerLayer, Rotary, YaRN
from babygpt.errors import BadInput
from babygpt.models.cache import KVCache
from babygpt.models.transformer import Transformer
from babygpt.models.versions import build
from babygpt.positions import Positions
from babygpt_course.studies.stretching import METHODS, stretched

BLOCK = 16


@pytest.fixture
def v4(awake) -> Transformer:
    return awake("v4")


@pytest.mark.parametrize("method", METHODS)
def test_stretching_shares_weights_and_leaves_the_model_unchanged(v4: Transformer, text, method: str) -> None:
    idx, before = text(2, 60), v4.encoding
    logits = v4(idx)
    longer = stretched(v4, method, 4)
    assert longer(idx).shape == logits.shape
    assert [p.data_ptr() for p in longer.parameters()] == [p.data_ptr() for p in v4.parameters()]
    assert v4.encoding is before
    assert torch.equal(v4(idx), logits)
    assert (v4.config.block_size, longer.config.block_size) == (BLOCK, 4 * BLOCK)
    assert torch.equal(longer(idx), stretched(v4, method, 8)(idx)) == (method in ("none", "drop"))


@pytest.mark.parametrize("method", METHODS)
def test_a_cache_changes_no_logits_of_a_stretched_model(v4: Transformer, text, method: str) -> None:
    model, idx, cache = stretched(v4, method, 4), text(2, 60), KVCache(60)
    with torch.inference_mode():
        pieces = [model(idx[:, t : t + 7], cache=cache) for t in range(0, 60, 7)]
        torch.testing.assert_close(torch.cat(pieces, dim=1), model(idx), rtol=0, atol=1e-5)


def test_interpolation_reads_every_second_position(v4: Transformer, text) -> None:
    """Compare at factor 2: positions 0, 2, 4, ... equal the former positions 0, 1, 2, ..."""
    idx = text(2, BLOCK)
    positions = Positions(2 * torch.arange(BLOCK))
    torch.testing.assert_close(stretched(v4, "interpolation", 2)(idx, positions), v4(idx), rtol=0, atol=1e-5)


@pytest.mark.parametrize("factor", [4, 1.1])
def test_a_version_loads_a_stretched_model(v4: Transformer, text, factor: float) -> None:
    """Find the trained window of `v4-yarn`, also if the stretched window was rounded down."""
    model = stretched(v4, "yarn", factor)
    loaded = build("v4-yarn", model.config, factor=factor)
    loaded.load_state_dict(model.state_dict())
    assert isinstance(loaded.encoding, YaRN)
    assert loaded.encoding.window == model.encoding.window == BLOCK
    assert torch.equal(loaded(text(2, 60)), model(text(2, 60)))


def test_layers_without_an_encoding_stay_without_one(awake) -> None:
    model = awake("v4-nope")
    encoding = stretched(model, "interpolation", 4).encoding
    assert isinstance(encoding, PerLayer)
    kinds = {Rotary: Interpolated, Encoding: Encoding}
    assert [type(e) for e in encoding.all()] == [kinds[type(e)] for e in model.encoding.all()]


@pytest.mark.parametrize(
    ("version", "method", "factor"),
    [
        ("v4", "longer", 4),
        ("v4", "ntk", 0.5),
        ("v5", "ntk", 2),
        ("nope", "yarn", 2),
        ("alibi", "none", 2),
        ("partial", "drop", 2),
    ],
)
def test_bad_stretches_are_refused(awake, version: str, method: str, factor: float) -> None:
    with pytest.raises(BadInput):
        stretched(awake(version), method, factor)
