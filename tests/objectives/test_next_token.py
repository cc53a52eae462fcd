"""Windows, random positions and parallel texts, against counting and against reading them one by one."""

import math
from collections import Counter

import pytest
import torch

from babygpt.data.batches import IGNORED, BranchBatch, collate
from babygpt.data.corpus import Corpus, from_text
from babygpt.objectives import Branches, NextToken, branch_losses, cross_entropy, mean_loss
from tests.conftest import draw


def test_targets_are_the_tokens_after(small_corpus: Corpus) -> None:
    x, y = NextToken(small_corpus, 32).batch(8, draw())
    assert x.shape == y.shape == (8, 32)
    assert torch.equal(x[:, 1:], y[:, :-1])
    whole = small_corpus.tokenizer.decode(small_corpus.train)
    for row, target in zip(x, y[:, -1:], strict=True):
        assert small_corpus.tokenizer.decode(torch.cat([row, target])) in whole


def test_validation_of_a_bigram_model_is_a_sum_over_pairs(awake, small_corpus: Corpus) -> None:
    """Count each pair of neighbours in the whole validation text once, whatever the windows."""
    model = awake("v1", vocab_size=small_corpus.tokenizer.vocab_size)
    ids = small_corpus.val
    table = model(torch.arange(small_corpus.tokenizer.vocab_size)[None])[0].log_softmax(dim=-1)
    expected = -table[ids[:-1], ids[1:]].mean().item()
    for block_size in (7, 64, 500):
        got = NextToken(small_corpus, block_size).validate(model)
        assert got == pytest.approx(expected, abs=1e-5)
    whole = (len(ids) - 1) // 20 * 20  # v1 looks at its token alone, whatever other texts are beside it
    assert whole // 20 % 3 == 0
    expected = -table[ids[:whole], ids[1 : whole + 1]].mean().item()
    for n in (1, 3):
        got = Branches(small_corpus, 24, (1, n), length=20).validate(model)
        assert got == pytest.approx(expected, abs=1e-5)


def test_aligned_windows_begin_with_a_line(awake, small_corpus: Corpus) -> None:
    model = awake("v4", vocab_size=small_corpus.tokenizer.vocab_size)
    decode, encode = small_corpus.tokenizer.decode, small_corpus.tokenizer.encode
    text = decode(small_corpus.val)
    begins = [i for i in range(len(text)) if i == 0 or text[i - 1] == "\n"]
    windows = torch.stack([encode(text[i : i + 17]) for i in begins if i + 17 <= len(text)])
    with torch.no_grad():
        expected = cross_entropy(model(windows[:, :-1]), windows[:, 1:]).mean().item()
    objective = NextToken(small_corpus, 16, aligned=True)
    assert objective.validate(model) == pytest.approx(expected, abs=1e-5)
    lines = {line[:12] for line in decode(small_corpus.train).split("\n")}
    # Training reads lines, too.
    assert all(decode(row)[:12] in lines for row in objective.batch(50, draw())[0])


def test_text_without_lines_cannot_be_aligned() -> None:
    with pytest.raises(ValueError, match=r"'\\n'"):
        NextToken(from_text("one line", "ab" * 200), 8, aligned=True)


def test_a_model_that_sees_the_next_token_is_refused(small_corpus: Corpus, awake) -> None:
    """Refuse it: it would copy the next token, and its loss would fall to 0."""
    model = awake("v7-rope", vocab_size=small_corpus.tokenizer.vocab_size)
    objective = NextToken(small_corpus, 16)
    for look in (
        lambda: objective.loss(model, objective.batch(2, draw())),
        lambda: objective.validate(model),
    ):
        with pytest.raises(ValueError, match="sees what comes next"):
            look()


# ---------------------------------------------------------------- several texts in one sequence


def numbers(train: int = 1000, val: int = 400) -> Corpus:
    """Return a text of distinct tokens, so that each token gives its position."""
    tokenizer = from_text("a", "a").tokenizer
    return Corpus("numbers", tokenizer, torch.arange(train), 5000 + torch.arange(val))


@pytest.mark.parametrize("by_samples", [False, True])
def test_each_target_is_the_next_token_of_its_own_branch(by_samples: bool) -> None:
    assert Branches(numbers(), 16).length == 12  # three quarters of the window
    objective = Branches(numbers(), 16, (1, 5), length=10, by_samples=by_samples)
    columns = BranchBatch(*objective.batch(12, draw()))
    real = columns.targets != IGNORED
    assert torch.equal(columns.targets[real], columns.tokens[real] + 1)
    for row, has in enumerate(real):
        for b in columns.branch[row, has].unique():
            own = has & (columns.branch[row] == b)
            first, begin = columns.tokens[row, own][0], columns.time[row, own][0]
            assert columns.tokens[row, own].tolist() == list(range(first, first + 10))
            assert columns.time[row, own].tolist() == list(range(begin, begin + 10))
            assert 0 <= begin <= 6


def samples_of(objective: Branches, batch_size: int, seeds: int) -> list[list[int]]:
    """Return the number of texts in each sample of some batches."""
    sizes = []
    for seed in range(seeds):
        columns = BranchBatch(*objective.batch(batch_size, draw(seed)))
        branches = columns.branch.masked_fill(columns.targets == IGNORED, -1)
        sizes.append([len(set(row.tolist()) - {-1}) for row in branches])
    return sizes


def test_by_texts_a_batch_has_the_given_number_of_texts_and_no_padding() -> None:
    objective = Branches(numbers(), 16, (2, 5), length=10)
    batches = samples_of(objective, 12, seeds=40)
    assert {n for batch in batches for n in batch} == {2, 3, 4, 5}
    for batch in batches:
        assert len(set(batch)) == 1
        assert len(batch) == 12 // batch[0]
    assert (objective.batch(12, draw())[1] != IGNORED).all()
    # A batch has at least one sample.
    assert samples_of(Branches(numbers(), 16, (5, 5), length=10), 3, seeds=1) == [[5]]


def test_by_samples_a_batch_has_the_given_number_of_samples_of_any_size() -> None:
    batches = samples_of(Branches(numbers(), 16, (2, 5), length=10, by_samples=True), 12, seeds=20)
    assert {len(batch) for batch in batches} == {12}
    assert {n for batch in batches for n in batch} == {2, 3, 4, 5}
    assert any(len(set(batch)) > 1 for batch in batches)


def test_texts_begin_anywhere_in_the_text_and_in_the_window() -> None:
    """Count beginnings: 30 tokens have 20 texts of 10 with their targets, 16 times have 7."""
    objective = Branches(numbers(train=30), 16, (1, 1), length=10)
    columns = BranchBatch(*objective.batch(7000, draw()))
    for starts, positions in ((columns.tokens[:, 0], 20), (columns.time[:, 0], 7)):
        counts, expected = Counter(starts.tolist()), 7000 / positions
        assert set(counts) == set(range(positions))
        assert all(abs(n - expected) < 5 * math.sqrt(expected) for n in counts.values())


def test_branch_numbers_are_in_order_or_drawn_without_repeating() -> None:
    ordered = BranchBatch(*Branches(numbers(), 16, (3, 3)).batch(30, draw()))
    assert all(set(row.tolist()) == {0, 1, 2} for row in ordered.branch)
    drawn = BranchBatch(*Branches(numbers(), 16, (3, 3), numbers=6).batch(90, draw()))
    chosen = [frozenset(row.tolist()) for row in drawn.branch]
    assert all(len(names) == 3 for names in chosen)
    assert set().union(*chosen) == set(range(6))
    assert len(set(chosen)) > 5


def test_mean_loss_weighs_every_target_equally(awake, woven) -> None:
    """Mix batches of different sizes, with and without padding."""
    model = awake("v6")
    batches = [collate([woven((3, 4), (0, 2)), woven((9, 9, 9), (1, 0, 5))]), woven((2,), (3,))]
    with torch.no_grad():
        losses = [branch_losses(model, batch)[batch.targets != IGNORED] for batch in batches]
    assert [len(each) for each in losses] == [34, 2]
    assert mean_loss(model, batches, branch_losses) == pytest.approx(
        torch.cat(losses).mean().item(), abs=1e-6
    )
