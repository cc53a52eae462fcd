"""Reading in order, by counting; stages and what they may begin with."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.metrics.parallel_texts import parallel_loss
from babygpt.training import Step, checkpoint, train
from babygpt.training.checkpoint import Checkpoint
from babygpt_course.notes.curriculum import (
    CHECKPOINT_NAME,
    BranchEpochs,
    CodeConfig,
    EpochConfig,
    Stage,
    find_checkpoint,
    load_weights,
    prepare_stage,
    require_codes,
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
    """The numbers of the next n texts."""
    return [int(text[0]) // LENGTH for text in r.texts(n, torch.Generator())]


def small(corpus: Corpus, pe: str = "fpe", stride: int = 128, seed: int = 0, **read: int | bool) -> Stage:
    config = ModelConfig(corpus.tokenizer.vocab_size, 16, n_layer=1, n_head=2, n_embd=16)
    read_config = EpochConfig(**{"max_steps": 2, **read})
    return prepare_stage(corpus, pe, config, CodeConfig(branch_stride=stride), read_config, seed=seed)


# ---------------------------------------------------------------- reading


def test_an_epoch_reads_every_text_once_and_shuffled() -> None:
    r = reading()
    first, second = which(r, TEXTS), which(r, TEXTS)
    assert sorted(first) == sorted(second) == list(range(TEXTS))
    assert first != second
    assert first != sorted(first)
    assert r.texts_read == 2 * r.texts_per_epoch == 2 * TEXTS


def test_texts_lie_side_by_side() -> None:
    """The last token of one is the first of the next: it was the target that was left over."""
    texts = sorted(reading().texts(TEXTS, torch.Generator()).tolist())
    assert all(one[-1] == other[0] for one, other in pairwise(texts))
    assert [t for text in texts for t in text[:-1]] == list(range(LENGTH * TEXTS))


def test_the_seed_decides_the_order() -> None:
    assert which(reading(seed=3), TEXTS) == which(reading(seed=3), TEXTS)
    assert which(reading(seed=3), TEXTS) != which(reading(seed=4), TEXTS)


def test_slices_are_read_in_turn() -> None:
    r = reading(branch_slice_count=3, branch_loop_all=True)
    for _ in range(2):
        for part in range(3):
            assert sorted(which(r, 10)) == list(range(10 * part, 10 * part + 10))


def test_without_looping_only_the_first_slice_is_read() -> None:
    r = reading(branch_slice_count=3)
    assert r.texts_per_epoch == 10
    assert set(which(r, 100)) == set(range(10))


@pytest.mark.parametrize("slices", [1, 4])
@pytest.mark.parametrize("by_samples", [False, True])
@pytest.mark.parametrize(("low", "high"), [(1, 1), (2, 2), (1, 4)])
def test_so_many_steps_read_so_many_epochs(slices: int, by_samples: bool, low: int, high: int) -> None:
    """No batch too few and none too many, also where the numbers of branches are drawn."""
    r = reading(
        epochs=3,
        batch_size=4,
        batch_by_samples=by_samples,
        min_branches_per_sample=low,
        max_branches_per_sample=high,
        branch_slice_count=slices,
        branch_loop_all=True,
    )
    steps, draw = r.steps(), torch.Generator().manual_seed(0)
    for _ in range(steps - 1):
        r.batch(4, draw)
    assert r.texts_read < 3 * TEXTS
    assert r.steps() == 1
    r.batch(4, draw)
    assert 3 * TEXTS <= r.texts_read < 3 * TEXTS + 4 * high
    assert r.steps() == 0


def test_steps_can_be_cut_short() -> None:
    assert reading(epochs=100, max_steps=7).steps() == 7
    assert reading(max_steps=1000).steps() == reading().steps()


def test_a_batch_counts_texts_or_samples() -> None:
    draw = torch.Generator().manual_seed(0)
    one, other = (reading(batch_by_samples=by, branches_per_sample=2) for by in (False, True))
    assert len(one.batch(4, draw)[0]) == 2
    assert len(other.batch(4, draw)[0]) == 4
    assert (one.texts_read, other.texts_read) == (4, 8)


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
def test_numbers_of_branches(read: dict[str, int], expected: tuple[int, int]) -> None:
    assert EpochConfig(**read).n_branches == expected


@pytest.mark.parametrize("other", ["min_branches_per_sample", "max_branches_per_sample"])
def test_numbers_of_branches_that_contradict_are_refused(other: str) -> None:
    with pytest.raises(ValueError, match=rf"branches_per_sample \(2\).*{other} \(3\)"):
        _ = EpochConfig(**{"branches_per_sample": 2, other: 3}).n_branches


@pytest.mark.parametrize(("slices", "branches"), [(16, 2), (31, 1), (10**12, 1)])
def test_too_few_texts_for_a_sample_are_refused(slices: int, branches: int) -> None:
    assert reading(branch_slice_count=15, branches_per_sample=2).texts_per_epoch == 2
    with pytest.raises(ValueError, match=f"30 texts in {slices} slices.*{branches} branches"):
        reading(branch_slice_count=slices, branches_per_sample=branches)


# ---------------------------------------------------------------- a stage


def trained(stage: Stage) -> list[Step]:
    return list(train(stage.model, stage.objective, stage.plan))


def as_checkpoint(stage: Stage) -> Checkpoint:
    return Checkpoint(stage.version, stage.model, stage.corpus.tokenizer, options=stage.options)


@pytest.mark.parametrize("slices", [1, 3])
def test_a_reader_goes_on_where_it_stood(small_corpus: Corpus, slices: int) -> None:
    """Over the ends of epochs and of slices, with as many branches as it would have drawn."""
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
    for wrong in ({}, {"texts_read": -1}, {"texts_read": 10**9}, {"texts_read": 0, "counts": torch.zeros(2)}):
        with pytest.raises(BadInput):
            whole.objective.seek(wrong)


def test_a_stage_trains_the_epochs_it_says(small_corpus: Corpus) -> None:
    stage = small(small_corpus, max_steps=None, batch_size=60, branch_slice_count=4, branches_per_sample=2)
    history = trained(stage)
    assert len(history) == stage.plan.steps
    assert stage.objective.epochs_read == pytest.approx(1, abs=0.4)
    assert history[-1].loss < history[0].loss


def test_the_gap_compares_the_same_texts(small_corpus: Corpus) -> None:
    stage = small(small_corpus, branches_per_sample=3)
    trained(stage)
    numbers = stage.measure(n_texts=10)
    val, length = stage.objective.val, stage.objective.length
    assert numbers["alone"] == parallel_loss(stage.model, val, 1, length, 12)
    assert numbers["beside"] == parallel_loss(stage.model, val, 3, length, 12)
    assert numbers["gap"] == numbers["beside"] - numbers["alone"] != 0


def test_more_branches_than_the_code_knows_are_refused_before_training(small_corpus: Corpus) -> None:
    edge = 32_768 // 2
    assert small(small_corpus, stride=edge, branches_per_sample=2).plan.steps == 2
    with pytest.raises(ValueError, match=f"3 branches.*position {2 * edge}"):
        small(small_corpus, stride=edge, branches_per_sample=3)
    with pytest.raises(ValueError, match=r"9 branches.*0 to 7"):
        small(small_corpus, "learned", branches_per_sample=9)


@pytest.mark.parametrize("pe", ["rope2d", "none"])
def test_a_code_without_a_table_knows_any_number_of_branches(small_corpus: Corpus, pe: str) -> None:
    model = small(small_corpus, pe).model
    require_codes(model, 10**9)
    with pytest.raises(ValueError, match="0 branches"):
        require_codes(model, 0)


def test_an_unknown_code_names_the_known_ones(small_corpus: Corpus) -> None:
    with pytest.raises(ValueError, match=r"pe \(alibi\) must be one of fpe, rope2d, learned, none"):
        small(small_corpus, "alibi")


# ---------------------------------------------------------------- beginning from a checkpoint


def test_a_path_means_a_checkpoint(tmp_path: Path) -> None:
    written = tmp_path / CHECKPOINT_NAME
    written.write_bytes(b"")
    assert find_checkpoint(written) == written
    assert find_checkpoint(tmp_path) == find_checkpoint(tmp_path / "pretrain_512.pth") == written
    for wrong in ("pretrain_.pth", "pretrain_512.pt", "other_512.pth", "my_pretrain_512.pth"):
        with pytest.raises(ValueError, match=re.escape(f"no checkpoint at {tmp_path / wrong}")):
            find_checkpoint(tmp_path / wrong)
    there = tmp_path / "pretrain_512.pth"
    there.write_bytes(b"")
    assert find_checkpoint(there) == there


def test_a_stage_begins_with_the_weights_it_is_given(tmp_path: Path, small_corpus: Corpus) -> None:
    before, after = small(small_corpus), small(small_corpus, seed=1)
    trained(before)
    checkpoint.save(tmp_path / CHECKPOINT_NAME, as_checkpoint(before))
    load_weights(after, tmp_path / CHECKPOINT_NAME)
    for name, p in before.model.state_dict().items():
        assert torch.equal(p, after.model.state_dict()[name])


def test_what_the_checkpoint_chose_and_the_stage_did_not_say_is_refused(
    tmp_path: Path, small_corpus: Corpus
) -> None:
    """A band of frequencies can be chosen in Python, and not by a flag."""
    stage = small(small_corpus)
    stage.options["band"] = 8
    checkpoint.save(tmp_path / CHECKPOINT_NAME, as_checkpoint(stage))
    with pytest.raises(ValueError, match=r"band \(None\) is not that of .* \(8\)"):
        load_weights(small(small_corpus), tmp_path / CHECKPOINT_NAME)


def test_a_trained_table_keeps_its_size_and_beginning(tmp_path: Path, small_corpus: Corpus) -> None:
    config = ModelConfig(small_corpus.tokenizer.vocab_size, 16, n_layer=1, n_head=2, n_embd=16)

    def learnable(**code: float) -> Stage:
        chosen = CodeConfig(**{"fpe_learnable": True, "fpe_max_positions": 300, **code})
        return prepare_stage(small_corpus, "fpe", config, chosen, EpochConfig(max_steps=1))

    checkpoint.save(tmp_path / CHECKPOINT_NAME, as_checkpoint(learnable()))
    load_weights(learnable(branch_stride=64), tmp_path / CHECKPOINT_NAME, other_code=True)
    for other, says in (({"fpe_max_positions": 301}, "max_positions"), ({"fpe_theta": 9.0}, "theta")):
        with pytest.raises(ValueError, match=rf"{says} \(.*\) is not that of .*\)$"):
            load_weights(learnable(**other), tmp_path / CHECKPOINT_NAME, other_code=True)
