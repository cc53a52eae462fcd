"""The published model: equal to transformers reading the same file, and open to the course's own tools."""

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from babygpt.encodings import ALiBi, Encoding
from babygpt.metrics.inspection import attention_weights, with_heads, without_heads, written_by_heads
from babygpt.models.cache import KVCache
from babygpt.positions import Positions
from babygpt.sampling import generate
from babygpt_course.exercises.lesson_04a import half_split_answer, interleave_rows_answer, pairs_side_by_side
from babygpt_course.real.model import token_losses, use_encoding

TEXT = "Der Fluß rose by 12 cm, and “nobody” saw it: 我爱你!\n\n  Ada ran. Ada ran."
CLOSE = {"rtol": 1e-3, "atol": 1e-3}  # Logits lie between -10 and 30.


@pytest.fixture(scope="module")
def idx(real_model):
    model, tokenizer = real_model
    return tokenizer.encode(TEXT)[None].to(model.token_embedding.weight.device)


@pytest.fixture(scope="module")
def logits(real_model, idx):
    with torch.inference_mode():
        return real_model[0](idx)


def test_tokens_and_logits_are_those_of_transformers_with_and_without_a_cache(
    real_file, real_model, idx, logits
):
    (model, tokenizer), path = real_model, real_file
    theirs = AutoTokenizer.from_pretrained(path.parent, gguf_file=path.name)
    assert theirs.encode(TEXT) == tokenizer.encode(TEXT, start=False).tolist()
    assert tokenizer.decode(idx[0]) == "\n" + TEXT
    reference = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=path.name, dtype=torch.float32)
    with torch.inference_mode():
        want = reference(idx.cpu()).logits
        torch.testing.assert_close(logits.cpu(), want, **CLOSE)
        cache = KVCache(idx.shape[1])
        parts = [model(part, cache=cache) for part in idx.split([7, 1, idx.shape[1] - 8], dim=1)]
        torch.testing.assert_close(torch.cat(parts, dim=1).cpu(), want, **CLOSE)


def test_it_continues_a_text_as_its_makers_meant_it(real_model):
    model, tokenizer = real_model
    prompt = tokenizer.encode("The capital of France is")[None]
    assert tokenizer.decode(generate(model, prompt, 2, temperature=0)[0]).endswith("France is Paris.")


def test_weights_of_the_other_layout_need_the_other_rotation(real_model, idx, logits):
    model, _ = real_model
    D, theta = model.config.head_dim, model.encoding.theta
    split = pairs_side_by_side(D).argsort()
    attention = [block.attention for block in model.blocks]
    own = [(layer.to_q.weight, layer.to_k.weight) for layer in attention]
    try:
        for layer, weights in zip(attention, own, strict=True):
            for matrix, weight in zip((layer.to_q, layer.to_k), weights, strict=True):
                halves = weight.unflatten(0, (-1, D))[:, split].flatten(0, 1)
                assert torch.equal(interleave_rows_answer(halves, D), weight)
                matrix.weight = torch.nn.Parameter(halves, requires_grad=False)
        with torch.inference_mode(), use_encoding(model, lambda x, m: half_split_answer(x, m, theta)):
            torch.testing.assert_close(model(idx), logits, **CLOSE)
        with torch.inference_mode():
            assert (model(idx) - logits).abs().max() > 1
    finally:
        for layer, (q, k) in zip(attention, own, strict=True):
            layer.to_q.weight, layer.to_k.weight = q, k


def test_losses_are_those_of_the_logits_wherever_the_text_stands(real_model, idx, logits):
    model, _ = real_model
    want = torch.nn.functional.cross_entropy(logits[0, :-1], idx[0, 1:], reduction="none").cpu()
    torch.testing.assert_close(token_losses(model, idx[0], chunk=8), want)
    shifted = token_losses(model, idx[0], Positions.arange(idx.shape[1], 5000))
    torch.testing.assert_close(shifted, want, **CLOSE)


@pytest.mark.parametrize("encoding", [Encoding(), ALiBi(9), lambda x, position: x])
def test_any_encoding_takes_the_place_of_its_own_and_leaves_again(real_model, idx, logits, encoding):
    model, _ = real_model
    with torch.inference_mode():
        with use_encoding(model, encoding):
            assert (model(idx) - logits).abs().max() > 1
        torch.testing.assert_close(model(idx), logits)


def test_the_tools_for_our_models_look_into_it(real_model, idx, logits):
    model, _ = real_model
    weights = attention_weights(model, idx[0])
    T = idx.shape[1]
    assert weights.shape == (30, 9, T, T)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)
    written = written_by_heads(model, idx)
    assert [part.shape for part in written] == [(1, T, 9, 64)] * 30
    with torch.inference_mode():
        with without_heads(model, [(16, 0)]):
            silent = model(idx)
        assert (silent - logits).abs().max() > 0.1
        with with_heads(model, {(16, 0): lambda _: written[16][:, :, 0]}):  # patched by its own output
            torch.testing.assert_close(model(idx), logits)
