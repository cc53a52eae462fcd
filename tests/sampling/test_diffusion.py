"""Sampling by filling in, with or without remasking: tokens have exact frequencies, prompts stay."""

import math
from collections import Counter
from functools import partial
from itertools import pairwise, permutations, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS
from babygpt.objectives import denoise
from babygpt.objectives.diffusion import mask_token_id
from babygpt.sampling.diffusion import Filled, ancestral, by_confidence, by_entropy, continue_text, fill_in
from babygpt.sampling.remasking import SecondThoughts, again_chances, drafts, rewrite
from tests.conftest import draw

MASK, BLOCK = 10, 16
DENOISERS = [name for name, version in VERSIONS.items() if version.masks]
ORDERS = st.one_of(
    st.floats(0, 1.5).map(by_confidence), st.floats(0, 9).map(by_entropy), st.integers(1, 40).map(ancestral)
)


def torn(text, length: int, seed: int, rows: int = 3) -> torch.Tensor:
    """Draw random texts, about half of them MASK, one without any."""
    idx = text(rows, length, vocab_size=MASK)
    holes = torch.rand(rows, length, generator=draw(seed)) < 0.5
    holes[-1] = False
    return idx.masked_fill(holes, MASK)


def frequencies(tokens: torch.Tensor) -> dict[tuple[int, ...], float]:
    return {text: n / len(tokens) for text, n in Counter(map(tuple, tokens.tolist())).items()}


def agree(shares: dict, expected: dict, n: int) -> None:
    """Allow each frequency five standard deviations, and all together five of chi square's."""
    assert sum(expected.values()) == pytest.approx(1)
    assert set(shares) <= set(expected)
    total = 0.0
    for text, p in expected.items():
        gap = shares.get(text, 0.0) - p
        assert abs(gap) <= 5 * math.sqrt(p * (1 - p) / n), text
        total += n * gap**2 / p
    freedom = len(expected) - 1
    assert total <= freedom + 5 * math.sqrt(2 * freedom)


# ---------------------------------------------------------------- every order


def test_texts_of_several_lengths_give_what_each_gives_alone(awake, text) -> None:
    model = awake("v7")
    texts = [torn(text, length, seed=length, rows=2)[0] for length in (3, 16, 9, 3)]
    for alone, filled in zip(texts, fill_in(model, texts, temperature=0), strict=True):
        assert torch.equal(filled.tokens, fill_in(model, alone[None], temperature=0).tokens)


@pytest.mark.parametrize("version", ["v7", "v7-rope"])
@given(
    order=ORDERS,
    length=st.integers(1, BLOCK),
    seed=st.integers(0, 99),
    temperature=st.sampled_from([0.0, 0.3, 1.0, 4.0]),
    top_k=st.sampled_from([None, 1, 2, 99]),
)
def test_every_mask_is_filled_and_no_other_token_changes(
    awake, text, version: str, order, length: int, seed: int, temperature: float, top_k: int | None
) -> None:
    idx = torn(text, length, seed)
    before, holes = idx.clone(), idx == MASK
    filled = fill_in(awake(version), idx, order, temperature, top_k, draw(seed))
    assert torch.equal(idx, before)
    assert (filled.tokens < MASK).all()
    assert torch.equal(filled.tokens[~holes], idx[~holes])
    assert torch.equal(filled.when > 0, holes)
    assert (filled.confidence[~holes] == 1).all()
    assert ((filled.confidence > 0) & (filled.confidence <= 1)).all()
    for row in range(3):
        used = sorted(set(filled.when[row, holes[row]].tolist()))
        assert used == list(range(1, int(filled.steps[row]) + 1))  # something appears at every step
        assert min(1, int(holes[row].sum())) <= filled.steps[row] <= holes[row].sum()


@pytest.mark.parametrize("version", DENOISERS)
def test_every_version_fills_in_and_continues(awake, text, version: str) -> None:
    model = awake(version)
    assert (fill_in(model, torn(text, BLOCK, 1), generator=draw()).tokens < MASK).all()
    assert continue_text(model, text(2, 5, vocab_size=MASK), 20, generator=draw()).tokens.shape == (2, 25)


@pytest.mark.parametrize(
    "order",
    [by_confidence(0.2), by_confidence(2.0), by_entropy(3.0), ancestral(5)],
    ids=["sure", "one by one", "entropy", "ancestral"],
)
def test_confidence_is_the_probability_at_the_step_of_each_token(awake, text, order) -> None:
    """Replay the steps: at each one the model sees only tokens of earlier steps."""
    model, idx = awake("v7"), torn(text, BLOCK, 3)
    filled = fill_in(model, idx, order, generator=draw())
    assert filled.steps.max() > 1
    for step in range(1, int(filled.steps.max()) + 1):
        draft = filled.tokens.masked_fill(filled.when >= step, MASK)
        with torch.no_grad():
            chances = denoise(model, draft).softmax(dim=-1)
        now = filled.when == step
        expected = chances[now, filled.tokens[now]]
        assert torch.allclose(filled.confidence[now], expected, atol=1e-5)


def test_the_generator_decides_and_the_global_one_is_unchanged(awake, text) -> None:
    model, idx, state = awake("v7"), torn(text, BLOCK, 4), torch.random.get_rng_state()
    orders = [by_confidence(), by_entropy(), ancestral(9)]
    for write in (*(partial(fill_in, order=order) for order in orders), rewrite):
        first, again, second_seed = (write(model, idx, generator=draw(seed)) for seed in (0, 0, 1))
        assert torch.equal(first.tokens, again.tokens)
        assert torch.equal(first.when, again.when)
        assert not torch.equal(first.tokens, second_seed.tokens)
    assert torch.equal(torch.random.get_rng_state(), state)


# ---------------------------------------------------------------- the surest tokens first


@pytest.mark.parametrize("threshold", [0.0, 0.2, 0.35, 0.95, 2.0])
def test_each_step_fills_the_sure_tokens_and_always_the_surest(awake, text, threshold: float) -> None:
    model, idx = awake("v7"), torn(text, BLOCK, 6)
    filled = fill_in(model, idx, by_confidence(threshold), generator=draw())
    for step in range(1, int(filled.steps.max()) + 1):
        draft = filled.tokens.masked_fill(filled.when >= step, MASK)
        with torch.no_grad():
            best = denoise(model, draft).softmax(dim=-1).amax(dim=-1)
        for row in range(3):
            waiting = (draft[row] == MASK).nonzero()[:, 0].tolist()
            if waiting:
                surest = max(waiting, key=lambda i: float(best[row, i]))
                expected = {i for i in waiting if best[row, i] >= threshold} | {surest}
                assert set((filled.when[row] == step).nonzero()[:, 0].tolist()) == expected


# ---------------------------------------------------------------- entropy-bounded steps


@given(bound=st.floats(0, 9), seed=st.integers(0, 99))
def test_each_step_fills_tokens_until_their_entropy_exceeds_the_bound(bound: float, seed: int) -> None:
    """Loop from the surest token on, until the entropies before it add up to more than the bound."""
    chances = (4 * torch.rand(3, 7, 5, generator=draw(seed))).softmax(dim=-1)
    masked = torch.rand(3, 7, generator=draw(seed + 1)) < 0.7
    now = by_entropy(bound)(masked, None)(masked, chances)
    for row in range(3):
        entropy = [-sum(p * math.log(p) for p in chances[row, i].tolist()) for i in range(7)]
        spent, expected = 0.0, set()
        for i in sorted(masked[row].nonzero()[:, 0].tolist(), key=lambda i: entropy[i]):
            if spent > bound:
                break
            expected.add(i)
            spent += entropy[i]
        assert set(now[row].nonzero()[:, 0].tolist()) == expected


@pytest.mark.parametrize("bound", [0.3, 0.9, 1.5, 3.0])
def test_tokens_filled_at_one_step_depend_on_each_other_at_most_by_the_bound(posterior, bound: float) -> None:
    """Compare independent draws with the joint: they differ by at most the bound, in nats."""
    model, blank, most = posterior(3, 4), torch.full((1, 4), 3), 0.0
    chances = denoise(model, blank).softmax(dim=-1)
    now = by_entropy(bound)(blank == 3, None)(blank == 3, chances)[0].nonzero()[:, 0].tolist()
    others = [place for place in range(4) if place not in now]
    together = model.joint.sum(dim=others) if others else model.joint
    for text in product(range(3), repeat=len(now)):
        own = math.prod(float(chances[0, i, token]) for i, token in zip(now, text, strict=True))
        most += float(together[text]) * math.log(float(together[text]) / own)
    assert -1e-9 <= most <= bound
    assert (len(now) > 1) == (bound > 0.9)


def test_every_random_order_is_equally_frequent() -> None:
    """Count the 6 orders of three holes; a token that is there takes no step."""
    masked, n = torch.tensor([True, False, True, True]).expand(6000, 4), 6000
    choose, waiting, when = ancestral(10**9)(masked, draw()), masked.clone(), torch.zeros(n, 4).long()
    for step in (1, 2, 3):
        now = choose(waiting, torch.ones(n, 4, 1))
        assert (now.sum(dim=1) == 1).all()
        when[now], waiting = step, waiting & ~now
    expected = {(a, 0, b, c): 1 / 6 for a, b, c in permutations((1, 2, 3))}
    agree(frequencies(when), expected, n)


@pytest.mark.parametrize("n_steps", [1, 2, 5])
def test_ancestral_steps_are_drawn_for_each_token_on_its_own(posterior, n_steps: int) -> None:
    """Draw three steps out of n_steps each, and leave out empty ones: count all n_steps³ of them."""
    idx, expected = torch.full((5000, 3), 3), Counter()
    when = fill_in(posterior(), idx, ancestral(n_steps), generator=draw()).when
    for turns in product(range(n_steps), repeat=3):
        ranks = {turn: rank for rank, turn in enumerate(sorted(set(turns)), start=1)}
        expected[tuple(ranks[turn] for turn in turns)] += n_steps**-3
    agree(frequencies(when), dict(expected), 5000)


# ---------------------------------------------------------------- distributions


def joint(model) -> dict[tuple[int, ...], float]:
    return {text: float(model.joint[text]) for text in product(range(3), repeat=model.joint.dim())}


def apart(model) -> dict[tuple[int, ...], float]:
    """Draw each token from its own distribution, independently of the others."""
    own = [model.joint.movedim(place, 0).reshape(3, -1).sum(dim=1) for place in range(model.joint.dim())]
    return {
        text: math.prod(float(chances[token]) for chances, token in zip(own, text, strict=True))
        for text in joint(model)
    }


@pytest.mark.parametrize("order", [by_confidence(2.0), ancestral(10**9)], ids=["surest", "ancestral"])
def test_filling_one_by_one_from_an_exact_model_draws_its_distribution(posterior, order) -> None:
    """Fill in any order: the chain rule holds for each."""
    model, n = posterior(), 6000
    filled = fill_in(model, torch.full((n, 3), 3), order, generator=draw())
    agree(frequencies(filled.tokens), joint(model), n)


@pytest.mark.parametrize("order", [by_confidence(0.0), ancestral(1)])
def test_tokens_filled_all_at_once_are_independent(posterior, order) -> None:
    model, n = posterior(), 6000
    filled = fill_in(model, torch.full((n, 3), 3), order, generator=draw())
    agree(frequencies(filled.tokens), apart(model), n)
    gap = max(abs(p - apart(model)[text]) for text, p in joint(model).items())
    assert gap > 5 * math.sqrt(0.25 / n)  # so that the two tests cannot both pass by chance


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_temperature_sharpens_each_draw(posterior, temperature: float) -> None:
    model, n = posterior(3, 1), 6000
    filled = fill_in(model, torch.full((n, 1), 3), None, temperature, generator=draw())
    weights = {text: p ** (1 / temperature) for text, p in joint(model).items()}
    agree(frequencies(filled.tokens), {t: w / sum(weights.values()) for t, w in weights.items()}, n)
    plain = torch.tensor([float(model.joint[token]) for token in filled.tokens[:, 0]])
    assert torch.allclose(filled.confidence[:, 0], plain)  # how sure it was does not depend on how it draws


# ---------------------------------------------------------------- block by block


def continue_by_hand(model, idx: torch.Tensor, n: int, block: int) -> Filled:
    """Fill each block after as many of the last tokens as fit before it, with the likeliest tokens."""
    text, when = idx, torch.zeros_like(idx)
    for size in [block] * (n // block) + [n % block] * (n % block > 0):
        before = text[:, -(BLOCK - size) :]
        window = torch.cat([before, torch.full((len(text), size), MASK)], dim=1)
        added = fill_in(model, window, temperature=0)
        text = torch.cat([text, added.tokens[:, -size:]], dim=1)
        when = torch.cat([when, added.when[:, -size:] + when.amax(dim=1, keepdim=True)], dim=1)
    return Filled(text, when, torch.ones(text.shape))


@pytest.mark.parametrize("length", [1, 8, 16, 30])
@pytest.mark.parametrize(("n", "block"), [(1, 8), (8, 8), (21, None), (21, 1), (20, 15)])
def test_blocks_are_filled_in_one_after_the_other(awake, text, length: int, n: int, block: int | None):
    model, prompts = awake("v7"), text(2, length, vocab_size=MASK)
    got, expected = (
        continue_text(model, prompts, n, temperature=0, block=block),
        continue_by_hand(model, prompts, n, block or BLOCK // 2),
    )
    assert torch.equal(got.tokens, expected.tokens)
    assert torch.equal(got.when, expected.when)
    assert torch.equal(got.tokens[:, :length], prompts)
    assert got.confidence.shape == got.tokens.shape == (2, length + n)


def test_bad_numbers_of_orders_and_of_remasking_are_named() -> None:
    for make, says in (
        (lambda: by_confidence(-0.1), r"threshold \(-0.1\)"),
        (lambda: by_confidence(math.nan), r"threshold \(nan\)"),
        (lambda: by_entropy(-1.0), r"bound \(-1.0\)"),
        (lambda: ancestral(0), r"n_steps \(0\)"),
        (lambda: SecondThoughts(n_steps=0), r"n_steps \(0\)"),
        (lambda: SecondThoughts(strength=1.5), r"strength \(1.5\) must lie between 0 and 1"),
        (lambda: SecondThoughts(strength=math.nan), r"strength \(nan\)"),
        (lambda: SecondThoughts(doubt=-1.0), r"doubt \(-1.0\) must lie between 0 and 100"),
    ):
        with pytest.raises(ValueError, match=says):
            make()


@pytest.mark.parametrize("order", [by_confidence(), by_entropy(), ancestral(3)])
def test_logits_that_hold_nan_end_the_filling_in(awake, text, order) -> None:
    model = awake("v7")
    holes = text(1, 9)
    holes[0, 3:] = mask_token_id(model)
    with torch.no_grad():
        model.head.weight[2] = math.nan
    with pytest.raises(BadInput, match="hold nan or inf"):
        fill_in(model, holes, order)


def test_an_order_that_chooses_nothing_is_refused(awake, text) -> None:
    model = awake("v7")
    holes = torch.full_like(text(1, 9), mask_token_id(model))
    with pytest.raises(BadInput, match="lets no token appear"):
        fill_in(model, holes, lambda masked, generator: lambda masked, chances: torch.zeros_like(masked))


def test_bad_arguments_for_filling_in_are_named(awake, text) -> None:
    model = awake("v7")
    for length, arguments, says in (
        (0, {}, "the prompt is empty"),
        (17, {}, "17 tokens do not fit: the window holds 16"),
        (3, {"temperature": math.nan}, r"temperature \(nan\)"),
        (3, {"top_k": 0}, r"top_k \(0\)"),
    ):
        for write in (fill_in, rewrite, lambda *inputs, **options: next(drafts(*inputs, **options))):
            with pytest.raises(ValueError, match=says):
                write(model, text(1, length), **arguments)
    for arguments, says in (
        ({"n_tokens": -1}, r"n_tokens \(-1\)"),
        ({"block": 0}, r"block \(0\) must lie between 1 and 15"),
        ({"block": 16}, r"block \(16\) must lie between 1 and 15"),
    ):
        with pytest.raises(ValueError, match=says):
            continue_text(model, text(1, 3, vocab_size=MASK), **{"n_tokens": 5, **arguments})
    with pytest.raises(ValueError, match="the prompt holds a MASK"):
        continue_text(model, torch.tensor([[1, MASK, 2]]), 5)


THOUGHTS = st.builds(SecondThoughts, st.integers(1, 12), st.floats(0, 1), st.floats(0, 20))


@pytest.mark.parametrize("version", ["v7", "v7-rope"])
@given(
    thoughts=THOUGHTS,
    length=st.integers(1, BLOCK),
    seed=st.integers(0, 99),
    temperature=st.sampled_from([0.0, 1.0, 4.0]),
    top_k=st.sampled_from([None, 1, 2]),
)
def test_drafts_fill_every_mask_and_change_no_other_token(
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
    """Compare token for token: one text with drawn tokens, and several with the likeliest."""
    model, idx, thoughts = awake("v7"), torn(text, BLOCK, seed), SecondThoughts(n_steps, 0.0, doubt)
    for texts, temperature in ((idx[:1], 1.0), (idx, 0.0)):
        plain = fill_in(model, texts, ancestral(n_steps), temperature, generator=draw(seed))
        same = rewrite(model, texts, thoughts, temperature, generator=draw(seed))
        assert torch.equal(same.tokens, plain.tokens)
        assert torch.equal(same.when, plain.when)
        assert torch.allclose(same.confidence, plain.confidence, atol=1e-6)


# ---------------------------------------------------------------- against the paper


def by_the_paper(model, n_steps: int, strength: float) -> dict[tuple[int, ...], float]:
    """Compute how often each text comes out: the chain of Wang et al. 2025, eq. 5, over all its states."""
    n_tokens, length = len(model.joint), model.joint.dim()
    now = {(n_tokens,) * length: 1.0}
    for step in range(n_steps):
        before, after = step / n_steps, (step + 1) / n_steps  # alpha of t and of s
        sigma = min(strength, (1 - after) / before if before else 1.0)
        appear = (after - (1 - sigma) * before) / (1 - before)
        following: Counter[tuple[int, ...]] = Counter()
        for state, p in now.items():
            answers = model.answer(torch.tensor(state))[:, :n_tokens].softmax(dim=-1).tolist()
            each = []
            for token, chances in zip(state, answers, strict=True):
                if token == n_tokens:
                    each.append([*(appear * x for x in chances), 1 - appear])
                else:
                    stays = [(1 - sigma) * (choice == token) for choice in range(n_tokens)]
                    each.append([*stays, sigma])
            for state_after in product(range(n_tokens + 1), repeat=length):
                q = math.prod(options[token] for options, token in zip(each, state_after, strict=True))
                if q > 0:
                    following[state_after] += p * q
        now = dict(following)
    return now


@pytest.mark.parametrize(("n_steps", "strength"), [(2, 1.0), (3, 0.3), (3, 1.0), (5, 0.5)])
def test_texts_have_the_frequencies_of_the_papers_chain(posterior, n_steps: int, strength: float) -> None:
    model, n = posterior(), 6000
    expected = by_the_paper(model, n_steps, strength)
    assert sum(expected.values()) == pytest.approx(1)
    assert all(max(text) < 3 for text in expected)  # no MASK is left
    texts = rewrite(model, torch.full((n, 3), 3), SecondThoughts(n_steps, strength), generator=draw()).tokens
    shares = frequencies(texts)
    for text, p in expected.items():
        assert abs(shares.get(text, 0.0) - p) <= 5 * math.sqrt(p * (1 - p) / n), text


@pytest.mark.parametrize(("strength", "doubt"), [(0.0, 0.0), (0.3, 0.0), (1.0, 0.0), (0.1, 5.0)])
def test_any_strength_keeps_the_visible_share_on_schedule(posterior, strength: float, doubt: float) -> None:
    """Expect a share of k / n visible at step k of n: the marginals that the paper keeps."""
    n, n_steps = 20_000, 6
    thoughts = SecondThoughts(n_steps, strength, doubt)
    shown = list(drafts(posterior(), torch.full((n, 3), 3), thoughts, generator=draw()))
    assert len(shown) == n_steps + 1  # among so many texts something appears at every step
    for step, draft in enumerate(shown):
        share = step / n_steps
        gap = float((draft.tokens < 3).double().mean()) - share
        assert abs(gap) <= 5 * math.sqrt(share * (1 - share) / n)  # even if a text's tokens moved together


# ---------------------------------------------------------------- remasking by doubt


@given(share=st.floats(0.01, 1), doubt=st.floats(0, 20), seed=st.integers(0, 99))
def test_remasking_is_likelier_where_the_model_was_unsure(share: float, doubt: float, seed: int) -> None:
    """Mask as many tokens as planned, in ratios of exp(-doubt x confidence), up to certainty."""
    confidence = torch.rand(4, 9, generator=draw(seed)).double()
    visible = torch.rand(4, 9, generator=draw(seed + 1)) < 0.6
    chances = again_chances(confidence, visible, share, doubt)
    assert float(chances.max()) <= 1
    assert (chances[~visible] == 0).all()
    assert chances.sum(dim=1).tolist() == pytest.approx((share * visible.sum(dim=1)).tolist())
    weights = (-doubt * confidence).exp()
    for row in range(4):
        free = visible[row] & (chances[row] < 1)
        ratios = chances[row, free] / weights[row, free]
        assert ratios.tolist() == pytest.approx([float(ratios.mean())] * int(free.sum()))
        sure = visible[row] & ~free
        assert not sure.any() or not free.any() or weights[row, sure].min() >= weights[row, free].max()


def test_certain_remasking_keeps_the_visible_share_on_schedule(awake) -> None:
    """Give other tokens the probability above 1 of a doubtful one; else the share would be 0.2 too large."""
    thoughts = SecondThoughts(16, 0.5, 100.0)
    shown = drafts(awake("v7"), torch.full((300, BLOCK), MASK), thoughts, generator=draw())
    ahead = [float((draft.tokens != MASK).double().mean()) - k / 16 for k, draft in enumerate(shown)]
    assert len(ahead) == 17
    assert max(map(abs, ahead)) < 0.03


def test_doubt_remasks_the_less_confident_tokens(awake) -> None:
    """Expect remasked tokens to be less confident than the others; with doubt 0 they are not."""
    gaps = {}
    for doubt in (0.0, 20.0):
        thoughts = SecondThoughts(8, 0.3, doubt)
        shown = drafts(awake("v7"), torch.full((300, BLOCK), MASK), thoughts, generator=draw())
        gone, stayed = [], []
        for draft, later in pairwise(shown):
            visible, vanished = draft.when > 0, later.tokens == MASK
            gone.append(draft.confidence[visible & vanished])
            stayed.append(draft.confidence[visible & ~vanished])
        gaps[doubt] = float(torch.cat(stayed).mean() - torch.cat(gone).mean())
    assert gaps[20.0] > 0.1
    assert abs(gaps[0.0]) < 0.02


# ---------------------------------------------------------------- steps and confidence


def test_confidence_is_the_probability_given_the_draft_before(awake, text) -> None:
    """Use few steps, so that something appears at each of them."""
    model, idx = awake("v7"), torch.full((6, BLOCK), MASK)
    shown = list(drafts(model, idx, SecondThoughts(4, 0.5, 2.0), generator=draw()))
    assert len(shown) == 5
    again = 0
    for before, after in pairwise(shown):
        now = (before.tokens == MASK) & (after.tokens < MASK)
        with torch.no_grad():
            chances = denoise(model, before.tokens).softmax(dim=-1)
        assert torch.allclose(after.confidence[now], chances[now, after.tokens[now]], atol=1e-5)
        stays = (before.tokens < MASK) & (after.tokens < MASK)
        assert torch.equal(before.tokens[stays], after.tokens[stays])  # nothing changes unseen
        again += int(((before.tokens < MASK) & (after.tokens == MASK)).sum())
    assert again > 0
