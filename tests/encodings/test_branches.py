"""What all codes of a branch have in common, and the two that are tables."""

from pathlib import Path

import pytest
import torch

from babygpt.config import TrainConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings import Fourier, LearnedBranches, RandomBranches, Rotary, Rotary2D
from babygpt.encodings.fourier import BranchCode
from babygpt.objectives import Branches
from babygpt.positions import Positions
from babygpt.training import train
from babygpt.training.checkpoint import Checkpoint, load, save

D, C = 8, 16
CODES = {"fourier": Fourier, "learned": LearnedBranches, "random": RandomBranches}
TABLES = {"learned": LearnedBranches, "random": RandomBranches}


@pytest.mark.parametrize("name", CODES)
def test_the_code_of_its_branch_is_added_to_every_token(name: str) -> None:
    encoding, x = CODES[name](D, C), torch.randn(2, 4, C)
    branch = torch.tensor([[0, 1, 1, 2], [7, 0, 0, 3]])
    got = encoding.embed(x, Positions(torch.tensor([0, 0, 4, 9]), branch))
    for b in range(2):
        for t in range(4):
            expected = x[b, t] + encoding.code(branch[b, t])
            assert torch.allclose(got[b, t], expected, atol=1e-6)


@pytest.mark.parametrize("name", CODES)
def test_time_is_ropes_whatever_the_branch(name: str) -> None:
    q, k = torch.randn(1, 2, 4, D), torch.randn(1, 2, 4, D)
    time = torch.tensor([0, 0, 4, 9])
    expected = Rotary(D).transform_qk(q, k, Positions(time))
    for branch in (torch.zeros(4, dtype=torch.long), torch.arange(4)):
        got = CODES[name](D, C).transform_qk(q, k, Positions(time, branch))
        assert all(torch.equal(one, other) for one, other in zip(got, expected, strict=True))


@pytest.mark.parametrize("name", CODES)
def test_codes_differ_from_branch_to_branch(name: str) -> None:
    codes = CODES[name](D, C).code(torch.arange(8)).detach()
    assert torch.pdist(codes).min() > 0.01


@pytest.mark.parametrize("name", CODES)
def test_a_code_needs_to_know_the_branch(name: str) -> None:
    with pytest.raises(ValueError, match=r"needs positions\.branch"):
        CODES[name](D, C).embed(torch.randn(1, 3, C), Positions.arange(3))


@pytest.mark.parametrize("version", ["v6", "v6-learned", "v6-random", "v6-rope2d"])
def test_a_model_of_branches_does_not_guess_which_it_reads(awake, text, version: str) -> None:
    with pytest.raises(ValueError, match=r"positions\.branch"):
        awake(version)(text(1, 4))


@pytest.mark.parametrize("name", CODES)
def test_half_precision_stays_half(name: str) -> None:
    x = torch.randn(1, 2, C, dtype=torch.bfloat16)
    got = CODES[name](D, C).embed(x, Positions(torch.arange(2), torch.arange(2)))
    assert got.dtype == torch.bfloat16


def test_the_base_says_that_it_has_no_code() -> None:
    with pytest.raises(TypeError, match="BranchCode does not say"):
        BranchCode(D).embed(torch.zeros(1, 1, C), Positions(torch.zeros(1), torch.zeros(1)))


@pytest.mark.parametrize("encoding", [*CODES.values(), lambda D, C: Rotary2D(D)])
def test_odd_heads_are_refused(encoding) -> None:
    with pytest.raises(ValueError, match=r"\(7\) must be even"):
        encoding(7, C)


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("branch", [3, -1])
def test_a_branch_that_has_no_row_is_refused(name: str, branch: int) -> None:
    encoding = TABLES[name](D, C, max_branches=3)
    with pytest.raises(ValueError, match=f"position {branch} is not in the table: it has 0 to 2"):
        encoding.code(torch.tensor([0, branch]))


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("rows", [0, -1])
def test_a_table_without_rows_is_refused(name: str, rows: int) -> None:
    with pytest.raises(ValueError, match=rf"max_branches \({rows}\) must be at least 1"):
        TABLES[name](D, C, max_branches=rows)


def test_random_codes_are_as_long_as_fourier_codes() -> None:
    """On the average: their square is half the width."""
    table = RandomBranches(D, 64, max_branches=2000).table
    fixed = Fourier(D, 64).code(torch.arange(8))
    assert fixed.square().sum(dim=1).tolist() == pytest.approx([32.0] * 8)
    assert table.square().sum(dim=1).mean().item() == pytest.approx(32.0, rel=0.02)


@pytest.mark.parametrize(("version", "moves"), [("v6-learned", True), ("v6-random", False)])
def test_learned_codes_are_trained_and_random_ones_are_not(
    awake, small_corpus, version: str, moves: bool
) -> None:
    model = awake(version, vocab_size=small_corpus.tokenizer.vocab_size)
    before = model.encoding.table.detach().clone()
    plan = TrainConfig(steps=2, batch_size=4, seed=0)
    list(train(model, Branches(small_corpus, 16, n_branches=(2, 2)), plan))
    assert torch.equal(model.encoding.table, before) != moves


@pytest.mark.parametrize("version", ["v6-learned", "v6-random"])
def test_codes_come_back_from_a_checkpoint(awake, tmp_path: Path, version: str) -> None:
    """Also those that were drawn once and never trained: nobody could draw them again."""
    torch.manual_seed(1)
    model = awake(version)
    path = tmp_path / "codes.safetensors"
    save(path, Checkpoint(version, model, CharTokenizer("\n .?abcdefg")))
    torch.manual_seed(2)
    fresh = awake("v6-random").encoding.table
    loaded = load(path).model.encoding.table
    assert torch.equal(loaded, model.encoding.table)
    assert not torch.equal(loaded, fresh)
