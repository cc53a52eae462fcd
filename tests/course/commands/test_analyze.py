"""`analyze fourier`: its numbers against closed forms and note 002."""

import math

import pytest
import torch

from babygpt.encodings.rotary import Rotary2D
from babygpt.metrics.parallel_texts import cosines
from babygpt.positions import Positions
from babygpt_course.commands.analyze import branch_codes, code_numbers


def test_orthogonal_codes_are_perfectly_conditioned() -> None:
    numbers = code_numbers(5 * torch.eye(4))
    assert numbers["condition number of the Gram matrix"] == pytest.approx(1)
    assert numbers["cosine of the two most similar branches"] == 0
    assert numbers["distance of neighbours, mean"] == pytest.approx(5 * math.sqrt(2))


def test_opposite_codes_alone_are_the_most_similar_pair() -> None:
    """Find their cosine, -1: the pair of a branch with itself must not win."""
    numbers = code_numbers(torch.tensor([[1.0, 0], [-1, 0]]))
    assert numbers["cosine of the two most similar branches"] == -1


def test_condition_is_that_of_the_gram_matrix() -> None:
    codes = torch.randn(4, 6, dtype=torch.float64)
    eigenvalues = torch.linalg.eigvalsh(codes @ codes.T)
    got = code_numbers(codes)["condition number of the Gram matrix"]
    assert got == pytest.approx(float(eigenvalues[-1] / eigenvalues[0]), rel=1e-6)


@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_branch_0_is_compared_with_the_powers_of_two(n: int) -> None:
    numbers = code_numbers(torch.randn(n, 16))
    met = [int(name.split()[-1]) for name in numbers if name.startswith("cosine of branches 0 and")]
    assert met == [b for b in (1, 2, 4, 8) if b < n]


@pytest.mark.parametrize("stride", [1, 128, 4096])
def test_equal_frequencies_give_fourier_codes_and_2d_rope_equal_cosines(stride: int) -> None:
    """Use cos a cos b + sin a sin b = cos(a - b) for both codes; a rotated (1, 1) is sqrt 2 longer."""
    codes = branch_codes(32, 10_000.0, stride, 8)
    ours, theirs = (cosines(code.double()) for code in codes.values())
    assert torch.allclose(ours, theirs, atol=1e-5)
    steps = stride * (torch.arange(8)[:, None] - torch.arange(8)).double()
    frequencies = 10_000.0 ** (-torch.arange(0, 32, 2).double() / 32)
    assert torch.allclose(ours, (steps[..., None] * frequencies).cos().mean(dim=-1), atol=1e-5)


def test_the_cosine_of_2d_rope_keys_is_the_mean_of_both_halves() -> None:
    """Rotate half of a head's pairs by branch, with the frequencies of a head of half the width."""
    c = code_numbers(branch_codes(16, 10_000.0, 128, 2)["2-D RoPE"])["cosine of branches 0 and 1"]
    encoding, positions = Rotary2D(32, stride=128), Positions(torch.zeros(2), torch.tensor([0, 1]))
    key, _ = encoding.transform_qk(*torch.ones(2, 1, 1, 2, 32), positions)
    assert float(torch.cosine_similarity(*key[0, 0], dim=0)) == pytest.approx((1 + c) / 2, abs=1e-5)


# ---------------------------------------------------------------- the command


@pytest.fixture
def printed_numbers(run):
    def numbers(*args):
        result = run("analyze", "fourier", *args)
        assert result.exit_code == 0, result.output
        return dict(line.rsplit(maxsplit=1) for line in result.output.strip().splitlines())

    return numbers


def test_options_set_width_stride_and_branches(printed_numbers):
    """Use width 2: the angle between neighbours is the stride itself, one radian."""
    numbers = printed_numbers("--width", 2, "--stride", 1, "--branches", 2)
    assert numbers["Fourier: cosine of branches 0 and 1"] == "0.5403"
    assert numbers["2-D RoPE, branch pairs: cosine of branches 0 and 1"] == "0.5403"
    assert "Fourier: cosine of branches 0 and 2" not in numbers


def test_the_default_width_is_that_of_note_002(printed_numbers):
    """Note 002: L2距离17.4, at width 512 and stride 128."""
    assert printed_numbers()["Fourier: distance of neighbours, mean"].startswith("17.4")
