"""Sampling token after token, one text or several at once: the cache changes nothing."""

import math
from collections.abc import Iterator

import pytest
import torch

from babygpt import sampling
from babygpt.encodings.rotary import Rotary
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.sampling import generate
from babygpt.sampling.next_token import Draw
from tests.conftest import draw

BLOCK = 16


WAYS = ["v1", "v2", "v4", "v5", "pope"]  # no attention, a table that ends, a rotation, a bias, wide keys


def by_hand(model: LanguageModel, prompt: list[int], n: int) -> list[int]:
    """Find the likeliest tokens one by one, in windows that begin anew with the later half of the old."""
    written, start = list(prompt), max(0, len(prompt) - BLOCK)
    for _ in range(n):
        if len(written) - start > BLOCK:
            start = len(written) - BLOCK // 2
        with torch.no_grad():
            written.append(int(model(torch.tensor([written[start:]]))[0, -1].argmax()))
    return written


@pytest.mark.parametrize("version", WAYS)
@pytest.mark.parametrize("length", [1, 7, 16, 17, 40])
def test_likeliest_tokens_are_those_found_by_hand(awake, text, version: str, length: int) -> None:
    model, prompt = awake(version), text(1, length)
    got = generate(model, prompt, 45, temperature=0)
    assert got[0].tolist() == by_hand(model, prompt[0].tolist(), 45)


@pytest.mark.parametrize("version", WAYS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("block_size", [1, 2, 7, 16])
def test_cache_changes_no_token(awake, text, version: str, temperature: float, block_size: int) -> None:
    """Cross several windows, odd ones too."""
    model, prompt = awake(version, block_size=block_size), text(3, 5)
    with_cache, without = (
        generate(model, prompt, 50, temperature, generator=draw(), use_cache=use) for use in (True, False)
    )
    assert torch.equal(with_cache, without)


def test_rotations_are_made_once_for_each_window(awake, text, monkeypatch) -> None:
    calls = []
    frequencies = Rotary.frequencies
    monkeypatch.setattr(Rotary, "frequencies", lambda self: calls.append(self) or frequencies(self))
    generate(awake("v4", block_size=BLOCK), text(2, 1), 2 * BLOCK, temperature=0)
    assert len(calls) == 3  # a window of 16 tokens, and twice one that begins with 8 of the window before


def test_the_prompt_is_unchanged_before_the_new_text(awake, text) -> None:
    prompt = text(2, 20)
    before = prompt.clone()
    written = generate(awake("v4"), prompt, 10, generator=draw())
    assert torch.equal(prompt, before)
    assert written.shape == (2, 30)
    assert torch.equal(written[:, :20], prompt)
    assert 0 <= written.min() <= written.max() < 11


def test_texts_of_a_batch_are_independent(awake, text) -> None:
    model, prompts = awake("v4"), text(3, 6)
    together = generate(model, prompts, 20, temperature=0)
    for b in range(3):
        assert torch.equal(together[b : b + 1], generate(model, prompts[b : b + 1], 20, temperature=0))


@pytest.mark.parametrize("version", WAYS)
@pytest.mark.parametrize("lengths", [(3, 9, 1, 9), (16, 2), (40, 5, 17)])
def test_prompts_of_several_lengths_give_what_each_gives_alone(awake, text, version: str, lengths) -> None:
    model, prompts = awake(version), list(text(sum(lengths)).split(lengths))
    together = generate(model, prompts, 40, temperature=0)
    for prompt, written in zip(prompts, together, strict=True):
        assert torch.equal(written, generate(model, prompt[None], 40, temperature=0)[0])


def test_a_text_ends_after_the_word_that_stops_it(awake, text) -> None:
    """Count only words that are whole in what is new, and let the other texts go on."""
    model, prompts = awake("v4"), list(text(3 + 7).split([3, 7]))
    whole = generate(model, prompts, 30, temperature=0)
    word = whole[0][3 + 10 : 3 + 12]
    for prompt, free, written in zip(
        prompts, whole, generate(model, prompts, 30, temperature=0, stop=word), strict=True
    ):
        stops = [i for i in range(len(prompt) + 2, len(free) + 1) if torch.equal(free[i - 2 : i], word)]
        assert torch.equal(written, free[: min([*stops, len(free)])])
    assert len(generate(model, prompts[:1], 30, temperature=0, stop=word)[0]) <= 3 + 12
    longer = whole[0][3:23]  # than prompt and new text together, at first
    assert torch.equal(generate(model, prompts[:1], 30, temperature=0, stop=longer)[0], whole[0][:23])


def test_a_moving_encoding_is_read_without_a_cache(awake, text) -> None:
    model, prompt = awake("v4-dynamic", {"factor": 4.0}), text(1, 3)
    assert torch.equal(*(generate(model, prompt, 30, temperature=0, use_cache=use) for use in (True, False)))


def test_the_generator_decides_and_the_global_one_is_unchanged(awake, text) -> None:
    model, prompt = awake("v4"), text(1, 4)
    before = torch.random.get_rng_state()
    first, again, second_seed = (generate(model, prompt, 30, generator=draw(s)) for s in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, second_seed)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_bad_arguments_are_named(awake, text) -> None:
    for length, arguments, says in (
        (0, {}, "the prompt is empty"),
        (3, {"n_tokens": -1}, r"n_tokens \(-1\)"),
        (3, {"temperature": -0.5}, r"temperature \(-0.5\)"),
        (3, {"temperature": math.nan}, r"temperature \(nan\)"),
        (3, {"top_k": 0}, r"top_k \(0\)"),
        (3, {"top_p": 0.0}, r"top_p \(0.0\)"),
        (3, {"top_p": 1.5}, r"top_p \(1.5\)"),
        (3, {"stop": text(1)}, "stop needs .* prompts in a list"),
    ):
        with pytest.raises(ValueError, match=says):
            generate(awake("v1"), text(1, length), **{"n_tokens": 5, **arguments})
    with pytest.raises(BadInput, match="0 texts"):
        generate(awake("v1"), [], 5)
    with pytest.raises(BadInput, match="the prompt is empty"):
        generate(awake("v1"), [text(3), text(0)], 5)


# ---------------------------------------------------------------- one token from logits


def test_the_k_likeliest_tokens_have_the_frequencies_of_the_softmax() -> None:
    logits, n = torch.tensor([0.0, 3.0, 1.0, 2.0]), 20_000
    for temperature, k in ((1.0, 1), (1.0, 2), (1.0, 3), (1.0, 99), (0.5, None), (2.0, None)):
        counts = Draw(temperature, k, generator=draw())(logits.expand(n, 4)).bincount(minlength=4)
        likeliest = [1, 3, 2, 0][:k]
        total = sum(math.exp(logits[token] / temperature) for token in likeliest)
        for token in range(4):
            p = math.exp(logits[token] / temperature) / total if token in likeliest else 0.0
            assert abs(counts[token].item() - n * p) <= 5 * math.sqrt(n * p * (1 - p))
    equal = Draw(top_k=2, generator=draw())(torch.zeros(500, 6))  # as in a model that is not trained yet
    assert len(set(equal.tolist())) == 2


@pytest.mark.parametrize(
    ("p", "likeliest"), [(0.05, [2]), (0.49, [2]), (0.51, [2, 0]), (0.74, [2, 0]), (0.9, [2, 0, 3])]
)
def test_the_likeliest_tokens_that_make_up_p_have_their_frequencies(p: float, likeliest: list[int]) -> None:
    chances, n = torch.tensor([0.25, 0.0625, 0.5, 0.1875]), 20_000
    counts = Draw(top_p=p, generator=draw())(chances.log().expand(n, 4)).bincount(minlength=4)
    total = sum(chances[token].item() for token in likeliest)
    for token, chance in enumerate(chances.tolist()):
        q = chance / total if token in likeliest else 0.0
        assert abs(counts[token].item() - n * q) <= 5 * math.sqrt(n * q * (1 - q))


@pytest.mark.parametrize("temperature", [1e-3, 1e-20, 1e-40])
def test_almost_no_temperature_is_almost_greedy(temperature: float) -> None:
    logits = torch.tensor([[50.0, 51.0, -3.0], [7.0, 5.0, 6.0]])
    assert Draw(temperature, generator=draw())(logits).tolist() == [1, 0]


def test_draws_are_those_of_torch() -> None:
    logits = 3 * torch.randn(50, 9, generator=draw(1))
    for seed in range(20):
        expected = torch.multinomial(logits.double().softmax(dim=-1), 1, generator=draw(seed))[:, 0]
        assert torch.equal(Draw(generator=draw(seed))(logits), expected)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_logits_that_are_no_numbers_are_refused(wrong: float) -> None:
    with pytest.raises(BadInput, match="hold nan or inf"):
        Draw(generator=draw())(torch.tensor([[0.0, wrong, 1.0], [0.0, 1.0, 2.0]]))


# ---------------------------------------------------------------- what is written can be trained on


def written(model: LanguageModel, masks: bool, text) -> Iterator[torch.Tensor]:
    """Yield all tensors that each function of sampling returns."""
    idx = text(2, 6, vocab_size=10)
    if not masks:
        yield sampling.generate(model, idx, 3)
        yield from sampling.generate_parallel(model, [idx[0]], 3)
        return
    holes = torch.cat([idx, torch.full((2, 4), 10)], dim=1)
    filled = [sampling.fill_in(model, holes), sampling.continue_text(model, idx, 3)]
    filled += [*sampling.drafts(model, holes), sampling.rewrite(model, holes)]
    for draft in filled:
        yield from (draft.tokens, draft.when, draft.confidence)


@pytest.mark.parametrize("version", ["v1", "v4", "v7"])
def test_results_are_ordinary_tensors(awake, text, version: str) -> None:
    """Take a gradient through each result: PyTorch refuses that for tensors of inference mode."""
    tensors = list(written(awake(version), version == "v7", text))
    assert len(tensors) > 1
    for tensor in tensors:
        assert not tensor.is_inference()
        assert not tensor.requires_grad
        if not tensor.is_floating_point():
            awake("v4")(tensor.clamp(max=10).view(-1, tensor.shape[-1])).sum().backward()
