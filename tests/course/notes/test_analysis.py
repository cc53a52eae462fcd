"""The numbers of `analyze`, against closed forms."""

import math

import pytest
import torch

from babygpt.encodings.fourier import branch_codes
from babygpt.encodings.gaussian import Gaussian, log_kernel
from babygpt.encodings.polar import Quadrature
from babygpt.encodings.rotary import Rotary2D
from babygpt.positions import Positions
from babygpt_course.notes import analysis


def test_likeness_of_vectors_known_by_hand() -> None:
    cosine, distance = analysis.likeness(torch.tensor([[1.0, 0.0], [0.0, 2.0], [-3.0, 0.0]]))
    assert torch.allclose(cosine, torch.tensor([[1.0, 0, -1], [0, 1, 0], [-1, 0, 1]]).double())
    five, thirteen = math.sqrt(5), math.sqrt(13)
    expected = torch.tensor([[0, five, 4], [five, 0, thirteen], [4, thirteen, 0]]).double()
    assert torch.allclose(distance, expected)


def test_orthogonal_codes_are_perfectly_conditioned() -> None:
    numbers = analysis.code_numbers(5 * torch.eye(4))
    assert numbers["condition number of the Gram matrix"] == pytest.approx(1)
    assert numbers["cosine of the two most similar branches"] == 0
    assert numbers["distance of neighbours, mean"] == pytest.approx(5 * math.sqrt(2))


def test_equal_codes_cannot_be_told_apart() -> None:
    numbers = analysis.code_numbers(torch.ones(3, 4))
    assert numbers["condition number of the Gram matrix"] > 1e12
    assert numbers["cosine of the two most similar branches"] == pytest.approx(1)


def test_opposite_codes_are_the_most_similar_pair_there_is() -> None:
    """Whose cosine, -1, must not lose against a branch and itself."""
    numbers = analysis.code_numbers(torch.tensor([[1.0, 0], [-1, 0]]))
    assert numbers["cosine of the two most similar branches"] == -1


def test_condition_is_that_of_the_gram_matrix() -> None:
    codes = torch.randn(4, 6, dtype=torch.float64)
    eigenvalues = torch.linalg.eigvalsh(codes @ codes.T)
    got = analysis.code_numbers(codes)["condition number of the Gram matrix"]
    assert got == pytest.approx(float(eigenvalues[-1] / eigenvalues[0]), rel=1e-6)


@pytest.mark.parametrize("n", [2, 3, 8, 9])
def test_branch_0_meets_the_powers_of_two(n: int) -> None:
    numbers = analysis.code_numbers(torch.randn(n, 16))
    met = [int(name.split()[-1]) for name in numbers if name.startswith("cosine of branches 0 and")]
    assert met == [b for b in (1, 2, 4, 8) if b < n]


@pytest.mark.parametrize("stride", [1, 128, 4096])
def test_fourier_and_turned_ones_are_equally_alike_on_equal_frequencies(stride: int) -> None:
    """cos a cos b + sin a sin b = cos(a - b), whichever way it is made; a rotated (1, 1) is sqrt 2 longer."""
    codes = branch_codes(32, 10_000.0, stride, 8)
    (ours, near), (theirs, far) = (analysis.likeness(code) for code in codes.values())
    assert torch.allclose(ours, theirs, atol=1e-5)
    assert torch.allclose(math.sqrt(2) * near, far, atol=1e-5)
    steps = stride * (torch.arange(8)[:, None] - torch.arange(8)).double()
    frequencies = 10_000.0 ** (-torch.arange(0, 32, 2).double() / 32)
    assert torch.allclose(ours, (steps[..., None] * frequencies).cos().mean(dim=-1), atol=1e-5)


def test_a_wider_stride_conditions_better() -> None:
    near, far = (analysis.fourier(128, 10_000.0, stride, 8) for stride in (1, 128))
    for name in (
        "Fourier: condition number of the Gram matrix",
        "2-D RoPE, branch pairs: condition number of the Gram matrix",
    ):
        assert far[name] < near[name]


def test_a_whole_key_of_2d_rope_is_alike_as_half_its_pairs_say() -> None:
    """Half of a head's pairs turn with the branch, by the frequencies of a head of half the width."""
    c = analysis.fourier(16, 10_000.0, 128, 2)["2-D RoPE, branch pairs: cosine of branches 0 and 1"]
    encoding, positions = Rotary2D(32, stride=128), Positions(torch.zeros(2), torch.tensor([0, 1]))
    key, _ = encoding.transform_qk(*torch.ones(2, 1, 1, 2, 32), positions)
    assert float(torch.cosine_similarity(*key[0, 0], dim=0)) == pytest.approx((1 + c) / 2, abs=1e-5)


@pytest.mark.parametrize(("stride", "branches", "says"), [(0, 2, r"stride \(0\)"), (1, 0, r"branches \(0\)")])
def test_no_stride_and_no_branches_are_refused(stride: int, branches: int, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        analysis.fourier(8, 10.0, stride, branches)


# ---------------------------------------------------------------- the kernel


@pytest.mark.parametrize("share", [0.9, 0.5, 0.01])
def test_one_scale_falls_where_the_closed_form_says(share: float) -> None:
    """exp(-m^2 / 2 s^2) < p from m = s sqrt(-2 ln p) on."""
    one_scale = Gaussian(2, (3.0, 0.0), (10.0, 1.0), learnable=False)
    assert analysis.first_below(one_scale, share) == math.ceil(10 * math.sqrt(-2 * math.log(share)))


def test_a_kernel_that_never_falls_says_so() -> None:
    numbers = analysis.two_scales((1.0, 1.0), (math.inf, 3.0))
    half, hundredth = (x for name, x in numbers.items() if "first distance" in name)
    assert half == hundredth == math.inf


def test_two_scales_are_v5s_kernel() -> None:
    alphas, sigmas = torch.tensor([0.7, 0.3]), torch.tensor([5.0, 20.0])
    numbers = analysis.two_scales(alphas.tolist(), sigmas.tolist())
    for m in (0, 8, 64):
        k = log_kernel(torch.tensor(float(m)), alphas.log(), sigmas.log()).exp()
        assert numbers[f"K at distance {m}"] == pytest.approx(float(k), rel=1e-6)
    first = next(x for name, x in numbers.items() if "below 0.5" in name)
    k = log_kernel(torch.tensor([first - 1, first]), alphas.log(), sigmas.log()).exp()
    assert k[0] >= 0.5 > k[1]


# ---------------------------------------------------------------- the gates


def test_a_group_tells_the_variance_between_its_means() -> None:
    """By hand: means 1 and 5 around 3, and 1 left over in each group."""
    scores, group = torch.tensor([0.0, 2.0, 4.0, 6.0]).double(), torch.tensor([0, 0, 1, 1])
    assert analysis.variance_told(scores, group) == pytest.approx(4 / 5)
    assert analysis.variance_told(scores, torch.tensor([0, 1, 1, 0])) == pytest.approx(0)


def test_quadrature_leaves_the_distance_alone_and_gates_do_not() -> None:
    numbers = analysis.polar(8, 64)
    share = "share of a score's variance told by i"
    assert numbers[f"quadrature: {share} - j"] == pytest.approx(1, abs=1e-9)
    assert numbers[f"quadrature: {share} + j"] < 0.01
    for name in ("as written", "alpha on keys"):
        told = [numbers[f"{name}: {share} {sign} j"] for sign in "-+"]
        assert min(told) > 0.2
    assert sum(told) == pytest.approx(1, abs=0.05)  # cos a cos b is half cos(a - b), half cos(a + b)


@pytest.mark.parametrize("alpha", [1.0, 0.25])
def test_alpha_scales_a_score_where_no_norm_follows(alpha: float) -> None:
    """All tokens MASK: as written nothing changes, on keys every score is alpha times what it was."""
    numbers = analysis.polar(8, 64, alpha=alpha)
    change = "change of a score between MASK tokens (sd)"
    assert numbers[f"as written: {change}"] == pytest.approx(0, abs=1e-4)
    scores = analysis.gate_scores(Quadrature(8, alpha), 64)
    size = float(scores.square().mean().sqrt() / scores.std())
    assert numbers[f"quadrature: {change}"] == pytest.approx((1 - alpha) * size, rel=1e-6)


@pytest.mark.parametrize(("name", "args"), [("sinusoidal", (16, 20, 100.0)), ("learned", (16, 20))])
def test_a_table_of_positions_has_finite_numbers(name: str, args: tuple[float, ...]) -> None:
    assert all(math.isfinite(x) for x in analysis.ANALYSES[name](*args).values())
