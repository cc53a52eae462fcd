"""Order of reading, by counting; stages and the checkpoints that they may begin with."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt_course.commands.parallel import locate
from babygpt_course.notes.curriculum import (
    CHECKPOINT_NAME,
    BranchEpochs,
    CodeConfig,
    EpochConfig,
    Stage,
    prepare_stage,
)

LENGTH, TEXTS = 4, 30
COUNTED = Corpus(  # so that a text's first token tells which one it is
    "counted",
    CharTokenizer([chr(i) for i in range(256)]),
    train=torch.arange(LENGTH * TEXTS + 1),
    val=torch.arange(LENGTH * TEXTS + 1),
)


def reading(seed: int = 0, **read: int | bool) -> BranchEpochs:
    return BranchEpochs(COUNTED, 6, EpochConfig(length=LENGTH, **read), seed)


def which(r: BranchEpochs, n: int) -> list[int]:
    """Return the numbers of the next n texts."""
    return [int(text[0]) // LENGTH for text in r.texts(n, torch.Generator())]


def small(corpus: Corpus, pe: str = "fpe", stride: int = 128, seed: int = 0, **read: int | bool) -> Stage:
    config = ModelConfig(corpus.tokenizer.vocab_size, 16, n_layer=1, n_head=2, n_embd=16)
    read_config = EpochConfig(**{"max_steps": 2, **read})
    return prepare_stage(corpus, pe, config, CodeConfig(branch_stride=stride), read_config, seed=seed)


# ---------------------------------------------------------------- reading


def test_an_epoch_reads_every_text_once_in_an_order_of_its_own() -> None:
    r = reading(seed=3)
    first, second = which(r, TEXTS), which(r, TEXTS)
    assert sorted(first) == sorted(second) == list(range(TEXTS))
    assert len({tuple(order) for order in (first, second, sorted(first), which(reading(seed=4), TEXTS))}) == 4
    assert first == which(reading(seed=3), TEXTS)
    assert r.epochs_read == 2


def test_texts_lie_side_by_side() -> None:
    """Expect the last token of one text to be the first of the next: it was only a target before."""
    texts = sorted(reading().texts(TEXTS, torch.Generator()).tolist())
    assert all(one[-1] == other[0] for one, other in pairwise(texts))
    assert [t for text in texts for t in text[:-1]] == list(range(LENGTH * TEXTS))


def test_slices_are_read_in_turn() -> None:
    r = reading(branch_slice_count=3, branch_loop_all=True)
    for _ in range(2):
        for part in range(3):
            assert sorted(which(r, 10)) == list(range(10 * part, 10 * part + 10))
    assert set(which(reading(branch_slice_count=3), 100)) == set(range(10))  # without looping


@pytest.mark.parametrize("slices", [1, 4])
@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 2), (1, 4)])
def test_the_steps_of_a_stage_read_its_epochs(slices: int, by_samples: bool, low: int, high: int) -> None:
    """Read no batch too few and none too many, also where the numbers of branches are drawn."""
    numbers = {"min_branches_per_sample": low, "max_branches_per_sample": high, "branch_slice_count": slices}
    r = reading(epochs=3, batch_size=4, batch_by_samples=by_samples, branch_loop_all=True, **numbers)
    cut_short = reading(epochs=3, batch_size=4, batch_by_samples=by_samples, max_steps=2)
    assert cut_short.steps() == 2
    steps, draw = r.steps(), torch.Generator().manual_seed(0)
    for _ in range(steps - 1):
        r.batch(4, draw)
    assert r.texts_read < 3 * TEXTS
    assert r.steps() == 1
    r.batch(4, draw)
    assert 3 * TEXTS <= r.texts_read < 3 * TEXTS + 4 * high
    assert r.steps() == 0


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ({}, (1, 1)),
        ({"branches_per_sample": 3}, (3, 3)),
        ({"branches_per_sample": 3, "min_branches_per_sample": 3}, (3, 3)),
        ({"max_branches_per_sample": 3}, (1, 3)),
        ({"min_branches_per_sample": 3}, (3, 3)),
        ({"min_branches_per_sample": 2, "max_branches_per_sample": 4}, (2, 4)),
        ({"branches_per_sample": 0}, (0, 0)),
    ],
)
def test_flags_give_the_range_of_branches(read: dict[str, int], expected: tuple[int, int]) -> None:
    assert EpochConfig(**read).n_branches == expected


# ---------------------------------------------------------------- a stage


@pytest.mark.parametrize("slices", [1, 3])
def test_a_restored_reader_continues_with_the_same_batches(small_corpus: Corpus, slices: int) -> None:
    """Cross the ends of epochs and of slices, and compare the drawn numbers of branches too."""
    flags = {"batch_size": 7, "min_branches_per_sample": 1, "max_branches_per_sample": 3, "max_steps": None}
    flags |= {"epochs": 3, "branch_slice_count": slices, "branch_loop_all": True}
    whole = small(small_corpus, **flags)
    for _ in range(whole.plan.steps):
        again = small(small_corpus, **flags).objective
        again.seek(whole.objective.place())
        draw = torch.Generator().manual_seed(0)
        got = again.batch(7, draw)
        wanted = whole.objective.batch(7, draw.manual_seed(0))
        assert all(map(torch.equal, got, wanted))
        assert again.place()["texts_read"] == whole.objective.texts_read


# ---------------------------------------------------------------- starting from a checkpoint


def test_a_file_its_folder_or_the_notes_name_locates_a_checkpoint(tmp_path: Path) -> None:
    written = tmp_path / CHECKPOINT_NAME
    written.write_bytes(b"")
    assert locate(written) == written
    assert locate(tmp_path) == locate(tmp_path / "pretrain_512.pth") == written
    for wrong in ("pretrain_.pth", "pretrain_512.pt", "other_512.pth", "my_pretrain_512.pth"):
        with pytest.raises(ValueError, match=re.escape(f"no checkpoint at {tmp_path / wrong}")):
            locate(tmp_path / wrong)
    there = tmp_path / "pretrain_512.pth"
    there.write_bytes(b"")
    assert locate(there) == there
