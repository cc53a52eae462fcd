"""Windows of a text: no token is lost or counted twice."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.data.batches import (
    IGNORED,
    BranchBatch,
    branch_batches,
    collate,
    consecutive_windows,
    evenly_spaced,
    interleave,
    line_starts,
)


@given(n=st.integers(2, 300), block_size=st.integers(1, 40), batch_size=st.integers(1, 9))
def test_every_token_is_a_target_once(n: int, block_size: int, batch_size: int) -> None:
    """Count all tokens but the first, which has no token before it."""
    ids = 1000 + torch.arange(n)
    targets: Counter[int] = Counter()
    lengths = []
    for x, y in consecutive_windows(ids, block_size, batch_size):
        assert x.shape == y.shape
        assert x.shape[0] <= batch_size
        assert x.shape[1] <= block_size
        assert torch.equal(y, x + 1)  # each target is the token after its input
        targets.update(y.flatten().tolist())
        lengths.append(x.shape[1])
    assert all(length == block_size for length in lengths[:-1])
    assert targets == Counter(range(1001, 1000 + n))


@given(text=st.text("ab\n", max_size=60), length=st.integers(1, 12))
def test_line_starts_follow_line_ends_and_leave_room_for_a_window(text: str, length: int) -> None:
    ids = torch.tensor(["ab\n".index(c) for c in text], dtype=torch.long)
    starts = [i for i in range(len(text) + 1) if (i == 0 or text[i - 1] == "\n") and i + length <= len(text)]
    assert line_starts(ids, newline=2, length=length).tolist() == starts


# ---------------------------------------------------------------- several texts in one sequence

TEXTS = st.lists(
    st.tuples(st.lists(st.integers(0, 9), min_size=2, max_size=8), st.integers(0, 9)), min_size=1, max_size=5
)  # the tokens of each, and the time of its first


def by_hand(texts: list[tuple[list[int], int]], names: list[int]) -> list[tuple[int, int, int, int]]:
    """List (time, branch, token, target) of every token with a target, in order of time, then of branch."""
    return sorted(
        (offset + t, names[b], text[t], text[t + 1])
        for b, (text, offset) in enumerate(texts)
        for t in range(len(text) - 1)
    )


def rows_of(columns: BranchBatch) -> list[list[tuple[int, int, int, int]]]:
    """List these rows for each sample of a batch, without the padding."""
    parts = (columns.time, columns.branch, columns.tokens, columns.targets)
    together = torch.stack(parts, dim=-1)
    return [[tuple(token) for token in row.tolist() if token[3] != IGNORED] for row in together]


def woven_of(texts: list[tuple[list[int], int]], names: list[int] | None = None) -> BranchBatch:
    return interleave([torch.tensor(text) for text, _ in texts], [offset for _, offset in texts], names)


@given(texts=TEXTS, data=st.data())
def test_columns_are_all_texts_sorted_by_time_then_branch(texts: list, data: st.DataObject) -> None:
    plain = woven_of(texts)
    assert rows_of(plain) == [by_hand(texts, list(range(len(texts))))]
    assert (plain.targets != IGNORED).all()  # without padding
    names = data.draw(st.lists(st.integers(0, 20), min_size=len(texts), max_size=len(texts), unique=True))
    assert rows_of(woven_of(texts, names)) == [by_hand(texts, names)]


@given(samples=st.lists(TEXTS, min_size=1, max_size=4))
def test_stacking_keeps_every_sample_and_fills_up_the_rest(samples: list) -> None:
    batch = collate([woven_of(texts) for texts in samples])
    expected = [by_hand(texts, list(range(len(texts)))) for texts in samples]
    assert rows_of(batch) == expected
    assert {part.shape for part in batch} == {(len(samples), max(map(len, expected)))}
    latest = max(time for row in expected for time, *_ in row)
    fills = batch.targets == IGNORED
    assert (batch.time[fills] > latest).all()  # Therefore no token with a target looks at it.
    assert (batch.tokens[fills] >= 0).all()  # The padding can be embedded.


@pytest.mark.parametrize("isolated", [False, True])
def test_padding_changes_no_logits(awake, woven, isolated: bool) -> None:
    """Compare a short sample beside a long one with itself alone; other padding changes not a bit of it."""
    model = awake("v6", {"isolated": isolated})
    short, long = woven((3, 4), (0, 2)), woven((9, 9, 9), (1, 0, 5))
    batch, n = collate([short, long]), short.tokens.shape[1]
    logits = model(batch.tokens, batch.positions)
    assert torch.allclose(logits[0, :n], model(short.tokens, short.positions)[0], atol=1e-5)
    assert torch.allclose(logits[1:], model(long.tokens, long.positions), atol=1e-5)
    repadded = torch.where(batch.targets == IGNORED, 7, batch.tokens)
    assert not torch.equal(repadded, batch.tokens)
    changed = model(repadded, batch.positions)
    assert torch.equal(changed[0, :n], logits[0, :n])
    assert torch.equal(changed[1], logits[1])
    assert torch.isfinite(changed).all()


@given(
    n_texts=st.integers(1, 13),
    n=st.integers(1, 5),
    length=st.integers(1, 6),
    room=st.integers(0, 5),
    batch_size=st.integers(1, 4),
    seed=st.integers(0, 9),
)
def test_each_text_is_in_one_sample(n_texts: int, n: int, length: int, room: int, batch_size: int, seed: int):
    """Keep its tokens, at times of the window, and leave out the remainder that fills no sample."""
    if n_texts < n:
        return
    texts, block_size = torch.arange(n_texts * (length + 1)).view(n_texts, -1), length + room
    counts: Counter[tuple[int, ...]] = Counter()
    draw = torch.Generator().manual_seed(seed)
    samples = 0
    for batch in branch_batches(texts, n, block_size, draw, batch_size):
        assert len(batch.tokens) <= batch_size
        for row in rows_of(batch):
            samples += 1
            assert {branch for _, branch, *_ in row} == set(range(n))
            for b in range(n):
                times, _, tokens, targets = zip(*(token for token in row if token[1] == b), strict=True)
                assert times == tuple(range(times[0], times[0] + length))
                assert times[0] >= 0
                assert times[-1] < block_size
                counts[(*tokens, targets[-1])] += 1
    assert samples == n_texts // n
    assert set(counts.values()) == {1}
    assert len(counts) == n_texts // n * n
    assert set(counts) <= {tuple(text) for text in texts.tolist()}


def test_samples_and_times_are_drawn_by_the_generator() -> None:
    texts = torch.arange(400).view(100, 4)
    batch, same_seed, other_seed = (
        next(branch_batches(texts, 2, 9, torch.Generator().manual_seed(seed), 50)) for seed in (0, 0, 1)
    )
    assert all(torch.equal(a, b) for a, b in zip(batch, same_seed, strict=True))
    assert not torch.equal(batch.tokens, other_seed.tokens)
    assert set(other_seed.time.flatten().tolist()) == set(range(9))


def test_texts_that_make_no_sample_are_refused() -> None:
    def batches(n: int, length: int) -> BranchBatch:
        texts = torch.zeros(6, length + 1, dtype=torch.long)
        return next(branch_batches(texts, n, 8, torch.Generator()))

    for n, length, message in (
        (2, 9, "a branch of 9 tokens does not fit: the window has 8 times"),
        (7, 4, "6 texts do not make one sample of 7 branches"),
    ):
        with pytest.raises(ValueError, match=message):
            batches(n, length)
    with pytest.raises(ValueError, match=r"branches \[1, 1\] must be different"):
        interleave([torch.arange(4), torch.arange(3)], [0, 0], [1, 1])


# ---------------------------------------------------------------- windows at even distances


@given(last=st.integers(0, 400), n=st.integers(1, 50))
def test_windows_are_evenly_spaced_from_the_first_to_the_last(last: int, n: int) -> None:
    starts = evenly_spaced(torch.zeros(last + 6, dtype=torch.long), 5, n).tolist()
    assert starts == [i * last // max(1, n - 1) for i in range(n)]
    assert starts[-1] == (last if n > 1 else 0)
