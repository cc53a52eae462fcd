"""A silenced head, against a model in whose matrices that head counts for nothing."""

import copy
import threading

import numpy as np
import pytest
import torch

from babygpt.metrics import ablate_heads, without_heads

HEADS = [(0, 0), (0, 1), (1, 0), (1, 1)]


def cut_out(model, heads):
    """A copy whose `out` matrices read nothing of these heads: two heads of eight channels each."""
    copied = copy.deepcopy(model)
    for layer, head in heads:
        copied.blocks[layer].attention.out.weight.data[:, 8 * head : 8 * head + 8] = 0
    return copied


@pytest.mark.parametrize("version", ["v3", "v5", "alibi", "v7-pope"])
@pytest.mark.parametrize("heads", [[(0, 1)], [(1, 0)], [(0, 0), (1, 1)], [(0, 0), (0, 1)], []])
def test_a_silenced_head_is_one_that_out_does_not_read(awake, text, version: str, heads: list) -> None:
    model, idx = awake(version), text(2, 9)
    with torch.no_grad():
        whole, expected = model(idx), cut_out(model, heads)(idx)
        with without_heads(model, heads):
            found = model(idx)
        after = model(idx)
    assert torch.allclose(found, expected, atol=1e-6)
    assert torch.equal(after, whole)
    assert bool(heads) == (not torch.allclose(found, whole, atol=1e-3))


def test_each_head_is_silenced_alone(awake, text) -> None:
    model, idx = awake("v4"), text(1, 12)

    def score(some) -> float:
        with torch.no_grad():
            return float(some(idx).log_softmax(dim=-1)[0, -1, 3])

    expected = np.array([score(cut_out(model, [at])) for at in HEADS]).reshape(2, 2)
    assert ablate_heads(model, score) == pytest.approx(expected, abs=1e-5)
    assert len(set(np.round(expected.ravel(), 4))) == 4


def test_hooks_go_even_after_an_error(awake) -> None:
    model = awake("v4")

    def fail(_) -> float:
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        ablate_heads(model, fail)
    assert not any(module._forward_pre_hooks for module in model.modules())


def test_another_thread_hears_every_head(awake, text) -> None:
    model, idx = awake("v4"), text(1, 12)
    with torch.no_grad():
        whole = model(idx)
    found = []
    with without_heads(model, HEADS):
        thread = threading.Thread(target=lambda: found.append(model(idx).detach()))
        thread.start()
        thread.join()
    assert torch.equal(found[0], whole)


@pytest.mark.parametrize("head", [(2, 0), (0, 2), (-1, 0), (0, -1)])
def test_heads_that_do_not_exist_are_refused(awake, head: tuple) -> None:
    says = f"head {head[1]} of layer {head[0]} does not exist.* 2 layers of 2 heads"
    with pytest.raises(ValueError, match=says), without_heads(awake("v4"), [(0, 0), head]):
        pass


def test_a_model_without_attention_has_no_heads(awake) -> None:
    with pytest.raises(ValueError, match="BagOfTokens has no attention"):
        ablate_heads(awake("v1"), lambda _: 0.0)
