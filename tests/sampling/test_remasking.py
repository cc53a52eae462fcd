"""Second thoughts: the chain is the paper's, the clock is kept, and without strength nothing changes."""

import math
from collections import Counter
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.objectives import denoise
from babygpt.sampling import SecondThoughts, ancestral, drafts, fill_in, rewrite
from babygpt.sampling.remasking import weights

MASK, BLOCK = 10, 16
THOUGHTS = st.builds(SecondThoughts, st.integers(1, 12), st.floats(0, 1), st.floats(0, 20))


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def torn(text, length: int, seed: int, rows: int = 3) -> torch.Tensor:
    """Random texts, about half of them MASK, one without any."""
    idx = text(rows, length, vocab_size=MASK)
    holes = torch.rand(rows, length, generator=draw(seed)) < 0.5
    holes[-1] = False
    return idx.masked_fill(holes, MASK)


@pytest.mark.parametrize("version", ["v7", "v7-rope"])
@given(
    thoughts=THOUGHTS,
    length=st.integers(1, BLOCK),
    seed=st.integers(0, 99),
    temperature=st.sampled_from([0.0, 1.0, 4.0]),
    top_k=st.sampled_from([None, 1, 2]),
)
def test_every_hole_is_filled_and_nothing_else_is_touched(
    awake, text, version: str, thoughts, length: int, seed: int, temperature: float, top_k: int | None
) -> None:
    model, idx = awake(version), torn(text, length, seed)
    before, holes = idx.clone(), idx == MASK
    shown = list(drafts(model, idx, thoughts, temperature, top_k, draw(seed)))
    assert torch.equal(idx, before)
    assert torch.equal(shown[0].tokens, idx)
    assert len(shown) <= thoughts.n_steps + 1
    for draft in shown:
        assert torch.equal(draft.tokens[~holes], idx[~holes])
        assert torch.equal(draft.when == 0, ~holes | (draft.tokens == MASK))
        assert (draft.confidence[draft.when == 0] == 1).all()
        assert ((draft.confidence > 0) & (draft.confidence <= 1)).all()
    assert (shown[-1].tokens < MASK).all()
    assert (shown[-1].steps <= len(shown) - 1).all()
    last = rewrite(model, idx, thoughts, temperature, top_k, draw(seed))
    for name in ("tokens", "when", "confidence"):
        assert torch.equal(getattr(last, name), getattr(shown[-1], name))


@given(n_steps=st.integers(1, 40), doubt=st.floats(0, 20), seed=st.integers(0, 50))
def test_without_strength_it_is_the_ancestral_sampler(awake, text, n_steps: int, doubt: float, seed: int):
    """Token for token: one text where tokens are drawn, and several where the likeliest are taken."""
    model, idx, thoughts = awake("v7"), torn(text, BLOCK, seed), SecondThoughts(n_steps, 0.0, doubt)
    for some, temperature in ((idx[:1], 1.0), (idx, 0.0)):
        plain = fill_in(model, some, ancestral(n_steps), temperature, generator=draw(seed))
        same = rewrite(model, some, thoughts, temperature, generator=draw(seed))
        assert torch.equal(same.tokens, plain.tokens)
        assert torch.equal(same.when, plain.when)
        assert torch.allclose(same.confidence, plain.confidence, atol=1e-6)


# ---------------------------------------------------------------- against the paper


def by_the_paper(model, n_steps: int, strength: float) -> dict[tuple[int, ...], float]:
    """How often each text comes out: the chain of Wang et al. 2025, eq. 5, over all its states."""
    n_tokens, length = len(model.joint), model.joint.dim()
    now = {(n_tokens,) * length: 1.0}
    for step in range(n_steps):
        before, after = step / n_steps, (step + 1) / n_steps  # alpha of t and of s
        sigma = min(strength, (1 - after) / before if before else 1.0)
        appear = (after - (1 - sigma) * before) / (1 - before)
        following: Counter[tuple[int, ...]] = Counter()
        for state, p in now.items():
            said = model.answer(torch.tensor(state))[:, :n_tokens].softmax(dim=-1).tolist()
            each = []
            for token, chances in zip(state, said, strict=True):
                if token == n_tokens:
                    each.append([*(appear * x for x in chances), 1 - appear])
                else:
                    stays = [(1 - sigma) * (other == token) for other in range(n_tokens)]
                    each.append([*stays, sigma])
            for other in product(range(n_tokens + 1), repeat=length):
                q = math.prod(options[token] for options, token in zip(each, other, strict=True))
                if q > 0:
                    following[other] += p * q
        now = dict(following)
    return now


def frequencies(tokens: torch.Tensor) -> dict[tuple[int, ...], float]:
    return {text: n / len(tokens) for text, n in Counter(map(tuple, tokens.tolist())).items()}


@pytest.mark.parametrize(("n_steps", "strength"), [(2, 1.0), (3, 0.3), (3, 1.0), (5, 0.5)])
def test_texts_come_as_often_as_in_the_paper_s_chain(posterior, n_steps: int, strength: float) -> None:
    model, n = posterior(), 6000
    expected = by_the_paper(model, n_steps, strength)
    assert sum(expected.values()) == pytest.approx(1)
    assert all(max(text) < 3 for text in expected)  # no MASK is left
    seen = rewrite(model, torch.full((n, 3), 3), SecondThoughts(n_steps, strength), generator=draw()).tokens
    found = frequencies(seen)
    for text, p in expected.items():
        assert abs(found.get(text, 0.0) - p) <= 5 * math.sqrt(p * (1 - p) / n), text


@pytest.mark.parametrize(("strength", "doubt"), [(0.0, 0.0), (0.3, 0.0), (1.0, 0.0), (0.1, 5.0)])
def test_the_clock_is_kept_whatever_the_strength(posterior, strength: float, doubt: float) -> None:
    """At step k of n a share of k / n is visible: the marginals that the paper keeps."""
    n, n_steps = 20_000, 6
    thoughts = SecondThoughts(n_steps, strength, doubt)
    shown = list(drafts(posterior(), torch.full((n, 3), 3), thoughts, generator=draw()))
    assert len(shown) == n_steps + 1  # among so many texts something appears at every step
    for step, draft in enumerate(shown):
        share = step / n_steps
        gap = float((draft.tokens < 3).double().mean()) - share
        assert abs(gap) <= 5 * math.sqrt(share * (1 - share) / n)  # even if a text's tokens moved together


def test_exact_answers_gain_by_a_longer_clock_and_lose_by_second_thoughts(posterior) -> None:
    """By enumeration: there is nothing to mend, and more appears together, each on its own."""
    model = posterior()

    def distance(n_steps: int, strength: float) -> float:
        found = by_the_paper(model, n_steps, strength)
        return sum(abs(found[text] - float(model.joint[text])) for text in found) / 2

    for n_steps in (4, 8):
        far = [distance(n_steps, strength) for strength in (0.0, 0.1, 0.5, 1.0)]
        assert far == sorted(far)
        assert far[-1] > 1.3 * far[0]
    assert distance(16, 1.0) < distance(8, 1.0) < distance(4, 1.0)


# ---------------------------------------------------------------- doubt


@given(doubt=st.floats(0, 20), seed=st.integers(0, 99))
def test_doubt_is_likelier_where_the_model_was_unsure(doubt: float, seed: int) -> None:
    confidence = torch.rand(4, 9, generator=draw(seed)).double()
    visible = torch.rand(4, 9, generator=draw(seed + 1)) < 0.6
    found = weights(confidence, visible, doubt)
    for row in range(4):
        some = visible[row].nonzero()[:, 0].tolist()
        if some:
            raw = [math.exp(-doubt * float(confidence[row, i])) for i in some]
            expected = [x * len(some) / sum(raw) for x in raw]
            assert found[row, some].tolist() == pytest.approx(expected)
            assert float(found[row, some].mean()) == pytest.approx(1)


def test_what_is_doubted_is_masked_again(awake) -> None:
    """The tokens that vanish were less sure than those that stay, and without doubt they were not."""
    gaps = {}
    for doubt in (0.0, 20.0):
        thoughts = SecondThoughts(8, 0.3, doubt)
        shown = drafts(awake("v7"), torch.full((300, BLOCK), MASK), thoughts, generator=draw())
        gone, stayed = [], []
        for one, later in pairwise(shown):
            visible, vanished = one.when > 0, later.tokens == MASK
            gone.append(one.confidence[visible & vanished])
            stayed.append(one.confidence[visible & ~vanished])
        gaps[doubt] = float(torch.cat(stayed).mean() - torch.cat(gone).mean())
    assert gaps[20.0] > 0.1
    assert abs(gaps[0.0]) < 0.02


# ---------------------------------------------------------------- steps and chance


def test_what_appears_is_what_the_model_said_of_the_draft_before(awake, text) -> None:
    """The clock is short, so that something appears at each of its steps."""
    model, idx = awake("v7"), torch.full((6, BLOCK), MASK)
    shown = list(drafts(model, idx, SecondThoughts(4, 0.5, 2.0), generator=draw()))
    assert len(shown) == 5
    again = 0
    for before, after in pairwise(shown):
        now = (before.tokens == MASK) & (after.tokens < MASK)
        with torch.no_grad():
            chances = denoise(model, before.tokens).softmax(dim=-1)
        assert torch.allclose(after.confidence[now], chances[now, after.tokens[now]], atol=1e-5)
        kept = (before.tokens < MASK) & (after.tokens < MASK)
        assert torch.equal(before.tokens[kept], after.tokens[kept])  # nothing changes unseen
        again += int(((before.tokens < MASK) & (after.tokens == MASK)).sum())
    assert again > 0


def test_the_generator_decides_and_the_global_one_rests(awake, text) -> None:
    model, idx, state = awake("v7"), torn(text, BLOCK, 4), torch.random.get_rng_state()
    first, same, other = (rewrite(model, idx, generator=draw(seed)) for seed in (0, 0, 1))
    assert torch.equal(first.tokens, same.tokens)
    assert torch.equal(first.when, same.when)
    assert not torch.equal(first.tokens, other.tokens)
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n_steps": 0}, r"n_steps \(0\)"),
        ({"n_steps": 2.5}, r"n_steps \(2.5\)"),
        ({"strength": -0.1}, r"strength \(-0.1\) must lie between 0 and 1"),
        ({"strength": 1.5}, r"strength \(1.5\)"),
        ({"strength": math.nan}, r"strength \(nan\)"),
        ({"doubt": -1.0}, r"doubt \(-1.0\) must lie between 0 and 100"),
        ({"doubt": math.inf}, r"doubt \(inf\)"),
    ],
)
def test_thoughts_that_cannot_be_are_named(arguments: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        SecondThoughts(**arguments)


@pytest.mark.parametrize(
    ("length", "arguments", "says"),
    [
        (0, {}, "the prompt is empty"),
        (17, {}, "17 tokens do not fit: the window holds 16"),
        (3, {"temperature": -1.0}, r"temperature \(-1.0\)"),
        (3, {"top_k": 0}, r"top_k \(0\)"),
    ],
)
def test_bad_arguments_are_named(awake, text, length: int, arguments: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        rewrite(awake("v7"), text(1, length), **arguments)
    with pytest.raises(ValueError, match=says):
        next(drafts(awake("v7"), text(1, length), **arguments))
