"""The kernel of two Gaussians against plain floats, and what becomes of RoPE with it."""

import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings.gaussian import AbsoluteGaussian, Gaussian, RelativeGaussian, gaussian, log_kernel
from babygpt.encodings.rotary import Rotary
from babygpt.errors import BadInput
from babygpt.metrics.inspection import kernel_values, reach
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.positions import Positions
from babygpt.training import train
from babygpt.training.checkpoint import Checkpoint, load, save

D, H = 8, 3
CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)
EVERYWHERE_ONE = {"alphas": (1.0, 0.0), "sigmas": (math.inf, math.inf), "learnable": False}
WEIGHTS = st.tuples(st.floats(0.01, 5), st.floats(0.01, 5))
WIDTHS = st.tuples(st.floats(0.5, 100), st.floats(0.5, 100))
DISTANCES = st.lists(st.integers(-500, 500), min_size=1, max_size=6)
KERNELS = ["absolute", "relative"]


def in_floats(m: int, alphas: tuple[float, float], sigmas: tuple[float, float]) -> float:
    return sum(a * math.exp(-(m**2) / (2 * s**2)) for a, s in zip(alphas, sigmas, strict=True))


def heads(T: int) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(0)
    q, k = (torch.randn(2, H, T, D, generator=draw) for _ in range(2))
    return q, k


# ---------------------------------------------------------------- the kernel


@given(distances=DISTANCES, alphas=WEIGHTS, sigmas=WIDTHS)
def test_kernel_is_the_sum_of_two_gaussians(distances: list[int], alphas: tuple, sigmas: tuple) -> None:
    got = Gaussian(D, alphas, sigmas).kernel(torch.tensor(distances))
    expected = [in_floats(m, alphas, sigmas) for m in distances]
    assert got.tolist() == pytest.approx(expected, abs=1e-5 * sum(alphas))


def test_gradients_are_finite_at_the_narrowest_width_that_there_may_be() -> None:
    """Up to a distance of a million; where K itself is far below the smallest float."""
    least = Gaussian.minimum["sigma1"]
    for sigmas in ((least, 20.0), (least, least)):
        encoding = Gaussian(D, sigmas=sigmas)
        for distance in (0, 1, 1000, 2**20):
            encoding.zero_grad()
            log = encoding.log_kernel(torch.tensor(distance))
            log.backward()
            assert log.isfinite()
            assert all(p.grad.isfinite().all() for p in encoding.parameters())
    with pytest.raises(BadInput, match=rf"at least {least:g}"):
        Gaussian(D, sigmas=(least / 2, 20.0))


@pytest.mark.parametrize("learnable", [True, False])
def test_a_width_beyond_all_floats_is_refused(learnable: bool) -> None:
    """float32 would make it infinite, and its gradient nan."""
    with pytest.raises(BadInput, match=r"sigma \(1e\+39\)"):
        Gaussian(D, sigmas=(5.0, 1e39), learnable=learnable)


def test_defaults_are_the_notes() -> None:
    encoding = gaussian(D)
    numbers = [encoding.alpha1, encoding.alpha2, encoding.sigma1, encoding.sigma2]
    assert numbers == pytest.approx([0.7, 0.3, 5, 20])
    assert type(encoding) is RelativeGaussian


def test_kernel_takes_distances_of_any_shape() -> None:
    distance = torch.arange(-12, 12).view(2, 3, 4)
    got = Gaussian(D).kernel(distance)
    assert got.shape == distance.shape
    assert torch.allclose(got.flatten(), Gaussian(D).kernel(distance.flatten()))


@pytest.mark.parametrize("far", [10**3, 10**6, -(10**6)])
def test_far_away_the_logarithm_is_finite_and_so_is_its_gradient(far: int) -> None:
    """K itself is 0 there in any float, and log 0 is not a number to add to a score."""
    encoding = Gaussian(D)
    assert encoding.kernel(torch.tensor([far])).item() == 0.0
    logs = encoding.log_kernel(torch.tensor([far]))
    assert logs.item() == pytest.approx(math.log(0.3) - far**2 / 800, rel=1e-5)  # the wide one is left
    logs.sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in encoding.parameters())


def test_gradient_is_the_slope() -> None:
    """Against finite differences, in double precision."""
    distance = torch.tensor([0.0, 1.0, -7.0, 30.0], dtype=torch.float64)
    logs = [torch.tensor(values, dtype=torch.float64).log() for values in ((0.7, 0.3), (5.0, 20.0))]
    inputs = (distance, *(each.requires_grad_() for each in logs))
    assert torch.autograd.gradcheck(log_kernel, inputs)


@pytest.mark.parametrize("version", ["v5", "v5-absolute"])
def test_a_models_loss_reaches_weights_and_widths(awake, text, version: str) -> None:
    model, idx = awake(version), text(2, 17)
    model(idx[:, :-1]).logsumexp(dim=-1).mean().backward()
    for name in ("log_alphas", "log_sigmas"):
        assert (getattr(model.encoding, name).grad.abs() > 0).all(), name


# ---------------------------------------------------------------- how it meets q and k


@given(start=st.integers(0, 60), alphas=WEIGHTS, sigmas=WIDTHS)
def test_absolute_is_rope_times_the_kernel_of_each_place(start: int, alphas: tuple, sigmas: tuple) -> None:
    (q, k), positions = heads(4), Positions.arange(4, start)
    got = AbsoluteGaussian(D, alphas, sigmas).transform_qk(q, k, positions)
    for each, turned in zip(got, Rotary(D).transform_qk(q, k, positions), strict=True):
        for t in range(4):
            expected = turned[:, :, t] * in_floats(start + t, alphas, sigmas)
            assert torch.allclose(each[:, :, t], expected, atol=1e-4)


@given(queries=DISTANCES, keys=DISTANCES, alphas=WEIGHTS, sigmas=st.just((30.0, 90.0)))
def test_relative_adds_the_logarithm_at_each_distance(
    queries: list[int], keys: list[int], alphas: tuple, sigmas: tuple
) -> None:
    """Widths at which the kernel is still above the smallest double at a distance of 1000."""
    encoding = RelativeGaussian(D, alphas, sigmas)
    got = encoding.score_bias(Positions(torch.tensor(queries)), Positions(torch.tensor(keys)))[0]
    for i, m in enumerate(queries):
        for j, n in enumerate(keys):
            expected = math.log(in_floats(m - n, alphas, sigmas))
            assert got[i, j].item() == pytest.approx(expected, abs=1e-4, rel=1e-4)


def test_relative_turns_as_rope_and_absolute_adds_no_bias() -> None:
    (q, k), positions = heads(5), Positions.arange(5, start=3)
    for got, expected in zip(
        RelativeGaussian(D).transform_qk(q, k, positions),
        Rotary(D).transform_qk(q, k, positions),
        strict=True,
    ):
        assert torch.equal(got, expected)
    assert AbsoluteGaussian(D).score_bias(positions, positions) is None


@pytest.mark.parametrize("kernel", KERNELS)
def test_each_row_of_a_batch_has_its_own_times(kernel: str) -> None:
    encoding, (q, k) = gaussian(D, kernel), heads(4)
    time = torch.tensor([[0, 1, 2, 3], [2, 30, 31, 99]])
    together = encoding.transform_qk(q, k, Positions(time))
    bias = encoding.score_bias(Positions(time), Positions(time))
    for b in range(2):
        row = slice(b, b + 1)
        alone = encoding.transform_qk(q[row], k[row], Positions(time[b]))
        assert all(torch.equal(one[row], other) for one, other in zip(together, alone, strict=True))
        if bias is not None:
            assert torch.equal(bias[b], encoding.score_bias(Positions(time[b]), Positions(time[b])))


@pytest.mark.parametrize("distance", [0, 1, 5])
def test_far_from_the_start_the_notes_score_is_next_to_nothing(distance: int) -> None:
    """At a distance that it is meant to keep: 200 tokens into a text nothing is left of any score."""
    q, k = heads(1)
    encoding = gaussian(D, "absolute")

    def scores(m: int) -> torch.Tensor:
        placed_q, _ = encoding.transform_qk(q, k, Positions.arange(1, m + distance))
        _, placed_k = encoding.transform_qk(q, k, Positions.arange(1, m))
        return (placed_q * placed_k).sum(dim=-1).abs().max()

    assert scores(0) > 1
    assert scores(200) < 1e-20


# ---------------------------------------------------------------- a kernel for each head


def of_heads(kernel: str = "relative") -> Gaussian:
    """Three heads with different numbers."""
    encoding = gaussian(D, kernel, n_head=H)
    with torch.no_grad():
        encoding.log_alphas += torch.tensor([[0.0, 1.0], [-1.0, 0.5], [2.0, 0.0]])
        encoding.log_sigmas += torch.tensor([[0.0, 0.0], [1.0, 0.3], [-0.5, 2.0]])
    return encoding


def head_alone(encoding: Gaussian, kernel: str, h: int) -> Gaussian:
    numbers = (encoding.get(name)[h].exp().tolist() for name in ("log_alphas", "log_sigmas"))
    return gaussian(D, kernel, *numbers)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("time", [torch.arange(5), torch.tensor([[0, 1, 2, 3, 9], [2, 30, 31, 60, 99]])])
def test_each_head_has_the_kernel_that_it_would_have_alone(kernel: str, time: torch.Tensor) -> None:
    encoding, (q, k), positions = of_heads(kernel), heads(5), Positions(time)
    together, bias = encoding.transform_qk(q, k, positions), encoding.score_bias(positions, positions)
    for h in range(H):
        alone = head_alone(encoding, kernel, h)
        for one, other in zip(together, alone.transform_qk(q, k, positions), strict=True):
            torch.testing.assert_close(one[:, h], other[:, h])
        if bias is not None:
            torch.testing.assert_close(
                bias[..., h, :, :], alone.score_bias(positions, positions)[..., 0, :, :]
            )


def test_heads_that_are_alike_are_one_kernel(awake, text) -> None:
    shared, own, idx = awake("v5"), awake("v5", {"n_head": 2}), text(2, 16)
    state = shared.state_dict()
    own.load_state_dict({k: v.repeat(2, 1) if "log_" in k else v for k, v in state.items()})
    torch.testing.assert_close(own(idx), shared(idx))
    assert own.encoding.log_sigmas.shape == (2, 2)


def test_the_one_that_reaches_furthest_counts_and_a_slider_moves_all() -> None:
    encoding = of_heads()
    alone = [reach(head_alone(encoding, "relative", h), 0.5) for h in range(H)]
    assert reach(encoding, 0.5) == max(alone) > min(alone)
    assert kernel_values(encoding, 9).shape == (H, 10)
    encoding.steer("sigma1", 9.5)
    assert encoding.log_sigmas[:, 0].exp().tolist() == pytest.approx([9.5] * H)
    assert encoding.sigma1 == pytest.approx(9.5)
    assert encoding.sigma2 == pytest.approx(20 * math.exp((0.3 + 2.0) / 3))


def test_fewer_heads_than_one_are_refused() -> None:
    with pytest.raises(ValueError, match=r"n_head \(0\) must be at least 1"):
        gaussian(D, n_head=0)


# ---------------------------------------------------------------- a kernel that is 1 everywhere


@pytest.mark.parametrize("kernel", KERNELS)
@given(start=st.integers(0, 5000))
def test_a_kernel_of_one_is_rope_bit_by_bit(kernel: str, start: int) -> None:
    encoding, (q, k), positions = gaussian(D, kernel, **EVERYWHERE_ONE), heads(5), Positions.arange(5, start)
    for got, expected in zip(
        encoding.transform_qk(q, k, positions), Rotary(D).transform_qk(q, k, positions), strict=True
    ):
        assert torch.equal(got, expected)
    bias = encoding.score_bias(positions, positions)
    assert bias is None or not bias.any()


@pytest.mark.parametrize(("version", "exactly"), [("v5-absolute", True), ("v5", False)])
def test_a_model_with_a_kernel_of_one_is_v4(awake, text, version: str, exactly: bool) -> None:
    """Relative: to the last digits, for adding zeros takes another path through attention."""
    model, plain, idx = awake(version, EVERYWHERE_ONE), awake("v4"), text(2, 16)
    missing, unexpected = model.load_state_dict(plain.state_dict(), strict=False)
    assert (set(missing), unexpected) == ({"encoding.log_alphas", "encoding.log_sigmas"}, [])
    assert torch.allclose(model(idx), plain(idx), atol=0 if exactly else 2e-6, rtol=0)
    assert torch.allclose(model.double()(idx), plain.double()(idx), atol=1e-12)


@pytest.mark.parametrize("version", ["v5", "v5-absolute"])
def test_with_the_notes_kernel_it_is_not(awake, text, version: str) -> None:
    model, plain, idx = awake(version), awake("v4"), text(2, 16)
    model.load_state_dict(plain.state_dict(), strict=False)
    assert (model(idx) - plain(idx)).abs().max() > 1e-2


# ---------------------------------------------------------------- training and steering


@pytest.mark.parametrize("version", ["v5", "v5-absolute"])
def test_however_fast_it_learns_the_kernel_stays_one(awake, small_corpus, version: str) -> None:
    """A hundred times the usual rate, which would take a plain width below 0 in a few steps."""
    config = ModelConfig(small_corpus.tokenizer.vocab_size, block_size=16, n_layer=1, n_head=2, n_embd=16)
    model = build(version, config)
    plan = TrainConfig(steps=12, batch_size=4, lr_other=2.0, warmup=0, seed=0)
    numbers = []
    for _ in train(model, NextToken(small_corpus, 16), plan):
        encoding = model.encoding
        numbers.append([encoding.alpha1, encoding.alpha2, encoding.sigma1, encoding.sigma2])
        assert all(0 < number < math.inf for number in numbers[-1])
    assert max(abs(math.log(a / b)) for a, b in zip(numbers[0], numbers[-1], strict=True)) > 1


@pytest.mark.parametrize("learnable", [True, False])
def test_learnable_is_trained_and_fixed_is_not_but_stored(learnable: bool) -> None:
    encoding = gaussian(D, learnable=learnable)
    names = {"log_alphas", "log_sigmas"}
    assert set(dict(encoding.named_parameters())) == (names if learnable else set())
    assert set(encoding.state_dict()) == names


@pytest.mark.parametrize("learnable", [True, False])
def test_a_steered_width_survives_a_checkpoint(awake, tmp_path: Path, learnable: bool) -> None:
    options = {"learnable": learnable}
    model = awake("v5", options)
    model.encoding.steer("sigma1", 9.5)
    path = tmp_path / "steered.safetensors"
    save(path, Checkpoint("v5", model, CharTokenizer("\n .?abcdefg"), options=options))
    loaded = load(path).model.encoding
    assert loaded.sigma1 == pytest.approx(9.5)
    assert loaded.sigma2 == model.encoding.sigma2
    assert bool(list(loaded.parameters())) == learnable


@pytest.mark.parametrize("name", ["alpha1", "sigma2"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_a_number_that_makes_no_kernel_is_not_steered_to(name: str, value: float) -> None:
    encoding = gaussian(D)
    before = getattr(encoding, name)
    with pytest.raises(ValueError, match=rf"{name} \({value}\) must be"):
        encoding.steer(name, value)
    assert getattr(encoding, name) == before


@pytest.mark.parametrize("name", ["kernel", "alpha3", "log_kernel"])
def test_what_is_no_number_of_the_kernel_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"no number called '{name}'"):
        gaussian(D).steer(name, 1.0)


# ---------------------------------------------------------------- bad arguments


@pytest.mark.parametrize("learnable", [True, False])
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"sigmas": (0.0, 20.0)}, r"sigma \(0.0\) must be above 0"),
        ({"sigmas": (5.0, -2.0)}, r"sigma \(-2.0\) must be above 0"),
        ({"sigmas": (math.nan, 20.0)}, r"sigma \(nan\) must be above 0"),
        ({"alphas": (-0.1, 0.3)}, r"alpha \(-0.1\) must be a finite number of at least 0"),
        ({"alphas": (0.7, math.nan)}, r"alpha \(nan\) must be a finite number"),
        ({"alphas": (math.inf, 0.3)}, r"alpha \(inf\) must be a finite number"),
        ({"alphas": (0.7,)}, "two numbers each"),
        ({"sigmas": (1.0, 2.0, 3.0)}, "two numbers each"),
    ],
)
def test_numbers_that_make_no_kernel_are_named(learnable: bool, wrong: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        gaussian(D, learnable=learnable, **wrong)


def test_a_kernel_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"alphas \(0.0, 0.0\) are all 0"):
        gaussian(D, alphas=(0.0, 0.0), learnable=False)
    with pytest.raises(ValueError, match=r"alpha \(0"):
        gaussian(D, alphas=(0.0, 0.0))


@pytest.mark.parametrize(
    ("wrong", "says"),
    [({"alphas": (0.7, 0.0)}, r"alpha \(0\)"), ({"sigmas": (5.0, math.inf)}, r"sigma \(inf\)")],
)
def test_what_could_not_be_trained_is_refused_unless_it_is_not(wrong: dict, says: str) -> None:
    with pytest.raises(ValueError, match=says + " cannot be trained"):
        gaussian(D, **wrong)
    assert torch.isfinite(gaussian(D, learnable=False, **wrong).log_kernel(torch.arange(9))).all()


@pytest.mark.parametrize("kernel", ["", "Relative", "both"])
def test_another_kernel_is_named_with_those_there_are(kernel: str) -> None:
    with pytest.raises(ValueError, match=rf"kernel \({kernel}\) must be one of absolute, relative"):
        gaussian(D, kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_odd_head_and_absurd_theta_are_refused(kernel: str) -> None:
    with pytest.raises(ValueError, match=r"\(7\) must be even"):
        gaussian(7, kernel)
    with pytest.raises(ValueError, match=r"theta \(0\)"):
        gaussian(D, kernel, theta=0)
