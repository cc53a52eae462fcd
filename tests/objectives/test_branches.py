"""Several texts in one sequence, against reading them one by one and against counting."""

import math
from collections import Counter

import pytest
import torch
from torch import nn

from babygpt.data.batches import IGNORED, BranchBatch, collate
from babygpt.data.corpus import Corpus, from_text
from babygpt.objectives import Branches, branch_losses, mean_loss


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def numbers(train: int = 1000, val: int = 400) -> Corpus:
    """A text in which every token is another one, so that each tells where it comes from."""
    tokenizer = from_text("a", "a").tokenizer
    return Corpus("numbers", tokenizer, torch.arange(train), 5000 + torch.arange(val))


@pytest.mark.parametrize("by_samples", [False, True])
def test_each_target_is_the_next_token_of_its_own_branch(by_samples: bool) -> None:
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
    """How many texts each sample of some batches has."""
    found = []
    for seed in range(seeds):
        columns = BranchBatch(*objective.batch(batch_size, draw(seed)))
        kept = columns.branch.masked_fill(columns.targets == IGNORED, -1)
        found.append([len(set(row.tolist()) - {-1}) for row in kept])
    return found


def test_by_texts_a_batch_has_so_many_texts_and_fills_nothing_up() -> None:
    objective = Branches(numbers(), 16, (2, 5), length=10)
    batches = samples_of(objective, 12, seeds=40)
    assert {n for batch in batches for n in batch} == {2, 3, 4, 5}
    for batch in batches:
        assert len(set(batch)) == 1
        assert len(batch) == 12 // batch[0]
    assert (objective.batch(12, draw())[1] != IGNORED).all()
    assert samples_of(Branches(numbers(), 16, (5, 5), length=10), 3, seeds=1) == [[5]]  # at least one sample


def test_by_samples_a_batch_has_so_many_samples_each_with_its_own_number() -> None:
    batches = samples_of(Branches(numbers(), 16, (2, 5), length=10, by_samples=True), 12, seeds=20)
    assert {len(batch) for batch in batches} == {12}
    assert {n for batch in batches for n in batch} == {2, 3, 4, 5}
    assert any(len(set(batch)) > 1 for batch in batches)


def test_texts_begin_anywhere_in_the_text_and_in_the_window() -> None:
    """Equally often: 30 tokens have 20 texts of 10 with their targets, 16 times have 7 beginnings."""
    objective = Branches(numbers(train=30), 16, (1, 1), length=10)
    columns = BranchBatch(*objective.batch(7000, draw()))
    for found, positions in ((columns.tokens[:, 0], 20), (columns.time[:, 0], 7)):
        seen, expected = Counter(found.tolist()), 7000 / positions
        assert set(seen) == set(range(positions))
        assert all(abs(n - expected) < 5 * math.sqrt(expected) for n in seen.values())


def test_branch_numbers_are_in_order_or_drawn_without_repeating() -> None:
    ordered = BranchBatch(*Branches(numbers(), 16, (3, 3)).batch(30, draw()))
    assert all(set(row.tolist()) == {0, 1, 2} for row in ordered.branch)
    drawn = BranchBatch(*Branches(numbers(), 16, (3, 3), numbers=6).batch(90, draw()))
    chosen = [frozenset(row.tolist()) for row in drawn.branch]
    assert all(len(names) == 3 for names in chosen)
    assert set().union(*chosen) == set(range(6))
    assert len(set(chosen)) > 5


@pytest.mark.parametrize("by_samples", [False, True])
def test_the_generator_decides_the_sample(by_samples: bool) -> None:
    objective = Branches(numbers(), 16, (1, 4), by_samples=by_samples)
    assert objective.length == 12  # three quarters of the window
    first, again, other = (objective.batch(8, draw(seed)) for seed in (0, 0, 1))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert first[0].shape != other[0].shape or not torch.equal(first[0], other[0])


@pytest.mark.parametrize("version", ["v6", "v6-none"])
def test_loss_of_branches_is_the_mean_over_real_targets(awake, version: str) -> None:
    """Samples one by one, so that nothing is filled up; and it has a gradient."""
    corpus = from_text("digits", "".join(map(str, range(10))) * 400)
    model, objective = awake(version), Branches(corpus, 16, (1, 4), by_samples=True)
    batch = BranchBatch(*objective.batch(5, draw()))
    assert (batch.targets == IGNORED).any()
    losses = []
    for row in range(5):
        real = batch.targets[row] != IGNORED
        alone = BranchBatch(*(part[row, real][None] for part in batch))
        losses.append(
            nn.CrossEntropyLoss(reduction="none")(model(alone[0], alone.positions)[0], alone.targets[0])
        )
    loss = objective.loss(model, batch)
    assert loss.item() == pytest.approx(torch.cat(losses).mean().item(), abs=1e-5)
    loss.backward()
    assert model.head.weight.grad.abs().sum() > 0


def test_mean_loss_weighs_every_target_alike(awake, woven) -> None:
    """In batches of different sizes, with and without what fills up."""
    model = awake("v6")
    batches = [collate([woven((3, 4), (0, 2)), woven((9, 9, 9), (1, 0, 5))]), woven((2,), (3,))]
    with torch.no_grad():
        losses = [branch_losses(model, batch)[batch.targets != IGNORED] for batch in batches]
    assert [len(each) for each in losses] == [34, 2]
    assert mean_loss(model, batches, branch_losses) == pytest.approx(
        torch.cat(losses).mean().item(), abs=1e-6
    )


class Listener(nn.Module):
    """Keeps all that it is shown, and says that everything is as likely."""

    def __init__(self) -> None:
        super().__init__()
        self.nothing = nn.Parameter(torch.zeros(()))
        self.heard: list[BranchBatch] = []

    def forward(self, idx: torch.Tensor, positions) -> torch.Tensor:
        self.heard.append(BranchBatch(idx, torch.zeros_like(idx), positions.time, positions.branch))
        return torch.zeros(*idx.shape, 6000)


@pytest.mark.parametrize(("n", "left"), [(1, 0), (3, 0), (4, 3), (39, 0)])
def test_validation_looks_at_every_text_once(n: int, left: int) -> None:
    """39 texts of 10 tokens; what makes no whole sample of n is left out."""
    model = Listener()
    loss = Branches(numbers(val=400), 16, (1, n), length=10).validate(model)
    assert loss == pytest.approx(math.log(6000), abs=1e-4)
    seen = Counter(token for heard in model.heard for token in heard.tokens.flatten().tolist())
    assert set(seen.values()) == {1}
    assert set(seen) <= set(range(5000, 5390))
    assert len(seen) == 10 * (39 - left)
    assert all(len(row.unique()) == n for heard in model.heard for row in heard.branch)


def test_validation_of_a_bigram_model_is_the_same_in_any_company(awake, small_corpus: Corpus) -> None:
    """v1 looks at nothing but its token: each pair of the texts once, whoever is beside it."""
    model, ids = awake("v1", vocab_size=small_corpus.tokenizer.vocab_size), small_corpus.val
    table = model(torch.arange(small_corpus.tokenizer.vocab_size)[None])[0].log_softmax(dim=-1)
    whole = (len(ids) - 1) // 20 * 20
    assert whole // 20 % 3 == 0
    expected = -table[ids[:whole], ids[1 : whole + 1]].mean().item()
    for n in (1, 3):
        got = Branches(small_corpus, 24, (1, n), length=20).validate(model)
        assert got == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n_branches": (0, 3)}, "0 branches: a sample needs at least 1"),
        ({"n_branches": (3, 2)}, "at most 2 branches are fewer than at least 3"),
        ({"length": 17}, "a branch of 17 tokens does not fit: the window has 16 times"),
        ({"length": 0}, "a branch of 0 tokens does not fit"),
        ({"n_branches": (1, 4), "numbers": 3}, "3 numbers are too few for 4 branches"),
    ],
)
def test_branches_that_cannot_be_are_named(arguments: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        Branches(numbers(), 16, **arguments)


@pytest.mark.parametrize("part", ["train", "val"])
def test_a_text_too_short_for_a_branch_is_refused(part: str) -> None:
    sizes = {"train": 100, "val": 100, part: 10}
    with pytest.raises(ValueError, match=r"10 tokens.* at least 11"):
        Branches(numbers(**sizes), 16, (1, 1), length=10)
    Branches(numbers(**sizes), 16, (1, 1), length=9)


def test_too_little_to_validate_on_is_said_before_training() -> None:
    with pytest.raises(ValueError, match="makes 3 texts of 10 tokens: too few for 4 branches"):
        Branches(numbers(val=40), 16, (1, 4), length=10)
    assert Branches(numbers(val=41), 16, (1, 4), length=10).validate(Listener()) > 0
