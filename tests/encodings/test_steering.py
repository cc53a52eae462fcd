"""Numbers set between two steps: the model becomes one made with them, or nothing has changed."""

import json
import math
from collections.abc import Callable
from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import Tensor

from babygpt import Branches, ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.encodings import (
    ALiBi,
    Encoding,
    ExactPhase,
    Fourier,
    GatesLast,
    KeysOnly,
    LearnedPhase,
    LearnedPositions,
    LogKernel,
    Polar,
    PoPE,
    PowerKernel,
    Quadrature,
    RandomPhase,
    Rotary,
    Rotary2D,
    Sinusoidal,
    gaussian,
)
from babygpt.models.transformer import Transformer
from babygpt.positions import Positions
from babygpt.training import Training, replay, train
from babygpt.training.saved_run import restore, training_state

SHAPE = ModelConfig(vocab_size=11, block_size=12, n_layer=2, n_head=2, n_embd=16)
C, D, H = SHAPE.n_embd, SHAPE.head_dim, SHAPE.n_head
Make = Callable[..., Encoding]

# an encoding, one of its numbers, a value, and the argument that makes it so; None where no argument does
NUMBERS: list[tuple[Make, str, float, dict | None]] = [
    (lambda **o: ALiBi(H, **o), "steepness", 3.0, {"steepness": 3.0}),
    (lambda **o: Sinusoidal(C, **o), "theta", 50.0, {"theta": 50.0}),
    (lambda **o: Rotary(D, **o), "theta", 50.0, {"theta": 50.0}),
    (lambda **o: Fourier(D, C, **o), "theta", 50.0, {"theta": 50.0}),
    (lambda **o: Fourier(D, C, **o), "stride", 8.0, {"stride": 8}),
    (lambda **o: Fourier(D, C, max_positions=512, learnable=True, **o), "stride", 8, {"stride": 8}),
    (lambda **o: Rotary2D(D, **o), "stride", 7.5, {"stride": 7.5}),
    (lambda **o: Rotary2D(D, **o), "theta", 50.0, {"theta": 50.0}),
    *(
        (lambda gate=gate, **o: gate(D, **o), "alpha", 2.0, {"alpha": 2.0})
        for gate in (GatesLast, KeysOnly, Quadrature)
    ),
    *(
        (lambda gate=gate, **o: gate(D, **o), "phi", 0.7, None)
        for gate in (ExactPhase, RandomPhase, GatesLast, KeysOnly)
    ),
    (lambda **o: LearnedPhase(H, D, **o), "alpha", 2.0, {"alpha": 2.0}),
    (lambda **o: LearnedPhase(H, D, **o), "theta", 50.0, {"theta": 50.0}),
    (lambda **o: LearnedPhase(H, D, **o), "delta", -0.7, None),
    (lambda **o: PoPE(H, D, **o), "delta", -0.7, None),
    (lambda **o: LogKernel(H, **o), "log_r1", 0.7, None),
    (lambda **o: LogKernel(H, **o), "log_r2", 0.7, None),
    (lambda **o: PowerKernel(H, **o), "logit_r2", 0.7, None),
    *(
        (
            lambda kernel=kernel, learnable=learnable, **o: gaussian(D, kernel, learnable=learnable, **o),
            *number,
        )
        for kernel in ("relative", "absolute")
        for learnable in (True, False)
        for number in (
            ("theta", 50.0, {"theta": 50.0}),
            ("sigma1", 2.0, {"sigmas": (2.0, 20.0)}),
            ("sigma2", 3.0, {"sigmas": (5.0, 3.0)}),
            ("alpha1", 0.1, {"alphas": (0.1, 0.3)}),
            ("alpha2", 1.5, {"alphas": (0.7, 1.5)}),
        )
    ),
]


def model(encoding: Encoding) -> Transformer:
    """Make a model whose logits depend on the encoding, with the same weights every time."""
    torch.manual_seed(0)
    made = Transformer(SHAPE, encoding)
    for name, p in sorted(made.named_parameters()):
        if not name.startswith("encoding."):
            torch.nn.init.normal_(p, std=0.5)
    return made


def logits(around: Transformer) -> Tensor:
    """Return the logits of two texts in two branches, with some MASK tokens: (B, T, V)."""
    ids = torch.arange(24).view(2, 12) * 7 % 11
    positions = Positions(torch.arange(12) // 2, torch.arange(12) % 2, ids % 5 == 0)
    with torch.inference_mode():
        return around(ids, positions)


@pytest.mark.parametrize(("make", "name", "value", "argument"), NUMBERS)
def test_a_steered_model_equals_one_made_with_that_number(
    make: Make, name: str, value: float, argument: dict | None
) -> None:
    torch.manual_seed(1)  # so that random phases and tables are the same
    steered = model(make())
    torch.manual_seed(1)
    expected = make(**(argument or {}))
    if argument is None:
        torch.nn.init.constant_(getattr(expected, name), value)
    before, parameters = logits(steered), dict(steered.named_parameters())
    first = torch.as_tensor(getattr(steered.encoding, name)).detach().clone()
    steered.encoding.steer(name, value)
    torch.testing.assert_close(logits(steered), logits(model(expected)), rtol=0, atol=1e-5)
    assert (logits(steered) - before).abs().max() > 1e-3
    assert all(p is parameters[key] and p.grad_fn is None for key, p in steered.named_parameters())
    now = torch.as_tensor(getattr(steered.encoding, name)).detach().double()
    torch.testing.assert_close(now, torch.full_like(now, value), rtol=1e-6, atol=0)
    if first.dim() == 0:  # a parameter with many entries has lost them
        steered.encoding.steer(name, float(first))
        torch.testing.assert_close(logits(steered), before, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["alpha", "phi"])
def test_the_notes_norm_divides_a_steered_number_out(name: str) -> None:
    """Also a phase, if all dimensions have the same: it is one factor for all channels."""
    steered = model(Polar(D))
    before = logits(steered)
    steered.encoding.steer(name, 0.7)
    torch.testing.assert_close(logits(steered), before, rtol=0, atol=1e-3)


@pytest.mark.parametrize(
    ("make", "name"), [(lambda: LearnedPhase(H, D), "delta"), (lambda: ExactPhase(D), "phi")]
)
def test_a_steered_parameter_stays_the_same_object_and_goes_on_learning(make: Make, name: str) -> None:
    encoding = make()
    parameter, address = getattr(encoding, name), getattr(encoding, name).data_ptr()
    encoding.steer(name, 0.5)
    assert getattr(encoding, name) is parameter
    assert parameter.data_ptr() == address
    ids = torch.arange(12)[None] % 11
    model(encoding)(ids, Positions(torch.arange(12), masked=ids == 3)).square().sum().backward()
    assert parameter.grad.abs().max() > 0


@pytest.mark.parametrize("value", [8, 8.0, np.int64(8), np.float64(8), np.float32(8)])
def test_a_stride_stays_a_whole_number_for_every_type_of_a_slider(value: float) -> None:
    encoding = Fourier(D, C)
    encoding.require_steerable("stride", value)
    assert encoding.stride == 128  # nothing was set yet
    encoding.steer("stride", value)
    assert encoding.stride == 8
    assert type(encoding.stride) is int


REFUSED = [
    (lambda: Fourier(D, C), "stride", 1.5, r"stride \(1.5\) must be a whole number"),
    (lambda: Fourier(D, C), "stride", 0, r"stride \(0\) must be at least 1"),
    (lambda: Fourier(D, C), "stride", math.nan, r"stride \(nan\) must be a finite number"),
    (
        lambda: Fourier(D, C, max_positions=400, stride=100),
        "stride",
        400.0,
        r"stride \(400\) must be below .* \(400\)",
    ),
    (
        lambda: Fourier(D, C, max_positions=400, learnable=True),
        "theta",
        10.0,
        "theta made the table that is trained",
    ),
    (lambda: Fourier(D, C), "stride", "8", r"stride \('8'\) must be a number"),
    (lambda: Fourier(D, C), "theta", 0.0, r"theta \(0.0\) must be above 0"),
    (lambda: Fourier(D, C), "max_positions", 9.0, "Fourier has no number called 'max_positions'"),
    (lambda: Fourier(D, C), "n_embd", 9.0, "it has stride, theta"),
    (lambda: Rotary(D), "theta", True, r"theta \(True\) must be a number"),
    (lambda: Rotary(D), "theta", None, r"theta \(None\) must be a number"),
    (lambda: Rotary(D), "theta", 10**400, r"theta \(inf\) must be a finite number, at most 1e\+12"),
    (lambda: Rotary(D), "theta", -10.0, r"theta \(-10.0\) must be above 0"),
    (lambda: Rotary2D(D), "theta", 0.0, r"theta \(0.0\) must be above 0"),
    (lambda: Sinusoidal(C), "theta", 0.0, r"theta \(0.0\) must be above 0, and at least 1e-30"),
    (lambda: gaussian(D), "log_sigmas", 5000.0, r"log_sigmas \(5000.0\) must be .* at most 27.6"),
    (lambda: gaussian(D), "theta", 0.0, r"theta \(0.0\) must be above 0"),
    (lambda: gaussian(D), "sigma1", 0.0, r"sigma1 \(0.0\) must be above 0"),
    (lambda: gaussian(D), "sigma2", math.inf, r"sigma2 \(inf\) must be"),
    (lambda: gaussian(D, learnable=False), "alpha2", -1.0, r"alpha2 \(-1.0\) must be above 0"),
    (
        lambda: gaussian(D),
        "kernel",
        1.0,
        "it has alpha1, alpha2, log_alphas, log_sigmas, sigma1, sigma2, theta",
    ),
    (lambda: LearnedPhase(H, D), "theta", -1.0, r"theta \(-1.0\) must be above 0"),
    (lambda: LearnedPhase(H, D), "delta", math.nan, r"delta \(nan\) must be a finite number"),
    (lambda: PoPE(H, D), "alpha", 1.0, "PoPE has no number called 'alpha' to steer; it has delta, theta"),
    (lambda: Encoding(), "theta", 1.0, "Encoding has no number called 'theta' to steer; it has none"),
    (lambda: LearnedPositions(9, C), "theta", 1.0, "it has table"),
]


@pytest.mark.parametrize(("make", "name", "value", "message"), REFUSED)
def test_a_refused_number_changes_nothing(make: Make, name: str, value: float, message: str) -> None:
    encoding = make()
    before = {number: torch.as_tensor(getattr(encoding, number)).clone() for number in encoding.steerable()}
    for refuse in (encoding.require_steerable, encoding.steer):
        with pytest.raises(ValueError, match=message):
            refuse(name, value)
    for number, was in before.items():
        assert torch.equal(torch.as_tensor(getattr(encoding, number)), was)


@pytest.mark.parametrize("learnable", [False, True])
def test_a_branch_that_a_stride_moves_past_the_table_is_named_when_it_is_read(learnable: bool) -> None:
    encoding = Fourier(D, C, max_positions=400, stride=100, learnable=learnable)
    encoding.steer("stride", 200)
    encoding.code(torch.tensor([0, 1]))
    with pytest.raises(ValueError, match=r"position 600 is not in the table: .* \(branch 3 at stride 200\)"):
        encoding.code(torch.tensor([0, 3]))


# ---------------------------------------------------------------- while a model trains

PLAN = TrainConfig(steps=6, batch_size=4)


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus("plain-tales", n_chars=20_000)


def branches(corpus: Corpus, learnable: bool = False) -> tuple[Transformer, Branches]:
    torch.manual_seed(0)
    shape = ModelConfig(corpus.tokenizer.vocab_size, 12, n_layer=1, n_head=2, n_embd=16)
    encoding = Fourier(shape.head_dim, shape.n_embd, max_positions=512, learnable=learnable)
    return Transformer(shape, encoding), Branches(corpus, block_size=12, n_branches=(2, 2), length=10)


@pytest.mark.parametrize("learnable", [False, True])
def test_a_stride_steered_in_a_run_counts_from_that_step_on_and_can_be_repeated(
    corpus: Corpus, learnable: bool
) -> None:
    changes = {4: {"stride": 8.0}}
    history = list(train(*branches(corpus, learnable), PLAN, lambda step: changes.get(step, {})))
    repeated = list(train(*branches(corpus, learnable), PLAN, replay(history)))
    untouched = list(train(*branches(corpus, learnable), PLAN))
    assert [s.loss for s in history] == [s.loss for s in repeated]
    assert [s.loss for s in history[:3]] == [s.loss for s in untouched[:3]]
    assert history[3].loss != untouched[3].loss
    assert [s.changed for s in history] == [{}, {}, {}, {"stride": 8.0}, {}, {}]


def test_a_restored_stride_is_a_whole_number(corpus: Corpus) -> None:
    (trained, objective), (fresh, _) = branches(corpus), branches(corpus)
    training = Training(trained, objective, PLAN)
    steps = training.steps(lambda step: {"stride": 8.0} if step == 2 else {})
    for _ in range(3):
        next(steps)
    again = Training(fresh, objective, PLAN)
    fresh.load_state_dict(trained.state_dict())
    state = deepcopy(training_state(training))
    state["steered"] = json.loads(json.dumps(state["steered"]))
    restore(again, state)
    assert fresh.encoding.stride == 8
    assert type(fresh.encoding.stride) is int
    assert [s.loss for s in again.steps()] == [s.loss for s in steps]
