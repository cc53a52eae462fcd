"""Numbers set between two steps: the model then is one that was made with them, or nothing has changed."""

import json
import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass

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


@dataclass(frozen=True)
class Steered:
    """An encoding, one of its numbers, a value, and the encoding that is made with that value."""

    make: Callable[[], Encoding]
    name: str
    value: float
    expected: Callable[[], Encoding]


def filled(make: Callable[[], Encoding], name: str, value: float) -> Callable[[], Encoding]:
    """An encoding whose parameter holds one value everywhere: no constructor takes it."""

    def fresh() -> Encoding:
        encoding = make()
        torch.nn.init.constant_(getattr(encoding, name), value)
        return encoding

    return fresh


GATES = {gate.__name__: gate for gate in (GatesLast, KeysOnly, Quadrature)}
PHASED = {gate.__name__: gate for gate in (ExactPhase, RandomPhase, GatesLast, KeysOnly)}
PAIRS = {"learnable": {"learnable": True}, "fixed": {"learnable": False}}
KNOBS = {
    "ALiBi steepness": Steered(lambda: ALiBi(H), "steepness", 3.0, lambda: ALiBi(H, 3.0)),
    "v3 theta": Steered(lambda: Sinusoidal(C), "theta", 50.0, lambda: Sinusoidal(C, 50.0)),
    "v4 theta": Steered(lambda: Rotary(D), "theta", 50.0, lambda: Rotary(D, 50.0)),
    **{
        f"v5 {kind}, {kernel} {name}": Steered(
            lambda kernel=kernel, how=how: gaussian(D, kernel, **how),
            name,
            value,
            lambda kernel=kernel, how=how, made=made: gaussian(D, kernel, **how, **made),
        )
        for kind, how in PAIRS.items()
        for kernel in ("relative", "absolute")
        for name, value, made in (
            ("theta", 50.0, {"theta": 50.0}),
            ("sigma1", 2.0, {"sigmas": (2.0, 20.0)}),
            ("sigma2", 3.0, {"sigmas": (5.0, 3.0)}),
            ("alpha1", 0.1, {"alphas": (0.1, 0.3)}),
            ("alpha2", 1.5, {"alphas": (0.7, 1.5)}),
        )
    },
    "v6 stride": Steered(lambda: Fourier(D, C), "stride", 8.0, lambda: Fourier(D, C, stride=8)),
    "v6 theta": Steered(lambda: Fourier(D, C), "theta", 50.0, lambda: Fourier(D, C, 50.0)),
    "v6 learnable stride": Steered(
        lambda: Fourier(D, C, max_positions=512, learnable=True),
        "stride",
        8,
        lambda: Fourier(D, C, max_positions=512, learnable=True, stride=8),
    ),
    "2-D stride": Steered(lambda: Rotary2D(D), "stride", 7.5, lambda: Rotary2D(D, stride=7.5)),
    "2-D theta": Steered(lambda: Rotary2D(D), "theta", 50.0, lambda: Rotary2D(D, theta=50.0)),
    **{
        f"{name} alpha": Steered(lambda gate=gate: gate(D), "alpha", 2.0, lambda gate=gate: gate(D, 2.0))
        for name, gate in GATES.items()
    },
    **{
        f"{name} phi": Steered(
            lambda gate=gate: gate(D), "phi", 0.7, filled(lambda gate=gate: gate(D), "phi", 0.7)
        )
        for name, gate in PHASED.items()
    },
    "v7 alpha": Steered(lambda: LearnedPhase(H, D), "alpha", 2.0, lambda: LearnedPhase(H, D, 2.0)),
    "v7 theta": Steered(lambda: LearnedPhase(H, D), "theta", 50.0, lambda: LearnedPhase(H, D, theta=50.0)),
    "v7 delta": Steered(
        lambda: LearnedPhase(H, D), "delta", -0.7, filled(lambda: LearnedPhase(H, D), "delta", -0.7)
    ),
    **{
        f"{kind.__name__} {name}": Steered(
            lambda kind=kind: kind(H), name, 0.7, filled(lambda kind=kind: kind(H), name, 0.7)
        )
        for kind, name in ((LogKernel, "log_r1"), (LogKernel, "log_r2"), (PowerKernel, "logit_r2"))
    },
    "PoPE delta": Steered(lambda: PoPE(H, D), "delta", -0.7, filled(lambda: PoPE(H, D), "delta", -0.7)),
}


def model(encoding: Encoding) -> Transformer:
    """A model around an encoding that says something, with the same weights every time."""
    torch.manual_seed(0)
    made = Transformer(SHAPE, encoding)
    for name, p in sorted(made.named_parameters()):
        if not name.startswith("encoding."):
            torch.nn.init.normal_(p, std=0.5)
    return made


def says(around: Transformer) -> Tensor:
    """What a model answers to two texts in two branches, with a MASK here and there: (B, T, V)."""
    ids = torch.arange(24).view(2, 12) * 7 % 11
    positions = Positions(torch.arange(12) // 2, torch.arange(12) % 2, ids % 5 == 0)
    with torch.inference_mode():
        return around(ids, positions)


@pytest.mark.parametrize("knob", KNOBS.values(), ids=KNOBS.keys())
def test_a_steered_model_answers_as_one_made_with_that_number(knob: Steered) -> None:
    torch.manual_seed(1)  # random phases and tables are drawn alike
    steered = model(knob.make())
    torch.manual_seed(1)
    expected = model(knob.expected())
    before, held = says(steered), dict(steered.named_parameters())
    steered.encoding.steer(knob.name, knob.value)
    torch.testing.assert_close(says(steered), says(expected), rtol=0, atol=1e-5)
    assert (says(steered) - before).abs().max() > 1e-3
    assert all(p is held[name] and p.grad_fn is None for name, p in steered.named_parameters())


@pytest.mark.parametrize("knob", KNOBS.values(), ids=KNOBS.keys())
def test_a_number_reads_as_it_was_steered_and_steered_back_all_is_as_before(knob: Steered) -> None:
    torch.manual_seed(1)
    steered = model(knob.make())
    before, first = says(steered), torch.as_tensor(getattr(steered.encoding, knob.name)).detach().clone()
    steered.encoding.steer(knob.name, knob.value)
    now = torch.as_tensor(getattr(steered.encoding, knob.name)).detach().double()
    torch.testing.assert_close(now, torch.full_like(now, knob.value), rtol=1e-6, atol=0)
    if first.dim() == 0:  # a whole parameter that gets one value has forgotten what it was
        steered.encoding.steer(knob.name, float(first))
        torch.testing.assert_close(says(steered), before, rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", ["alpha", "phi"])
def test_what_the_notes_norm_divides_out_can_be_steered_and_does_nothing(name: str) -> None:
    """A phase too, as long as all dimensions have the same: it is one factor for all channels."""
    steered = model(Polar(D))
    before = says(steered)
    steered.encoding.steer(name, 0.7)
    assert torch.allclose(torch.as_tensor(getattr(steered.encoding, name)), torch.tensor(0.7))
    torch.testing.assert_close(says(steered), before, rtol=0, atol=1e-3)


# ---------------------------------------------------------------- trained numbers


@pytest.mark.parametrize(
    ("make", "name"), [(lambda: LearnedPhase(H, D), "delta"), (lambda: ExactPhase(D), "phi")]
)
def test_a_trained_number_is_set_where_it_is_and_goes_on_learning(make: Callable, name: str) -> None:
    encoding = make()
    parameter = getattr(encoding, name)
    address = parameter.data_ptr()
    encoding.steer(name, 0.5)
    assert getattr(encoding, name) is parameter
    assert parameter.data_ptr() == address
    assert parameter.requires_grad
    says_something = model(encoding)
    ids = torch.arange(12)[None] % 11
    says_something(ids, Positions(torch.arange(12), masked=ids == 3)).square().sum().backward()
    assert parameter.grad.abs().max() > 0


@pytest.mark.parametrize("how", PAIRS.values(), ids=PAIRS.keys())
def test_one_width_is_set_and_the_other_numbers_stay(how: dict) -> None:
    encoding = gaussian(D, **how)
    others = {name: getattr(encoding, name) for name in ("sigma1", "alpha1", "alpha2", "theta")}
    encoding.steer("sigma2", 9.0)
    assert encoding.sigma2 == pytest.approx(9.0)
    assert {name: getattr(encoding, name) for name in others} == others
    assert encoding.log_sigmas.requires_grad == how["learnable"]
    assert encoding.log_sigmas.grad_fn is None


# ---------------------------------------------------------------- whole numbers


@pytest.mark.parametrize("value", [8, 8.0, np.int64(8), np.float64(8), np.float32(8)])
def test_a_stride_stays_a_whole_number_whatever_a_slider_hands_over(value: float) -> None:
    encoding = Fourier(D, C)
    encoding.steer("stride", value)
    assert encoding.stride == 8
    assert type(encoding.stride) is int


REFUSED = [
    (lambda: Fourier(D, C), "stride", 1.5, r"stride \(1.5\) must be a whole number"),
    (lambda: Fourier(D, C), "stride", 0, r"stride \(0\) must be at least 1"),
    (lambda: Fourier(D, C), "stride", -8.0, r"stride \(-8.0\) must be at least 1"),
    (lambda: Fourier(D, C), "stride", math.nan, r"stride \(nan\) must be a finite number"),
    (lambda: Fourier(D, C), "stride", math.inf, r"stride \(inf\) must be a finite number"),
    (
        lambda: Fourier(D, C, max_positions=400, stride=100),
        "stride",
        400.0,
        r"stride \(400\) must be below max_positions \(400\): branch 1 would have no row",
    ),
    (lambda: Fourier(D, C), "stride", "8", r"stride \('8'\) must be a number"),
    (lambda: Rotary(D), "theta", True, r"theta \(True\) must be a number"),
    (lambda: Rotary(D), "theta", 10**400, r"theta \(inf\) must be a finite number, at most 1e\+12"),
    (lambda: gaussian(D), "log_sigmas", 5000.0, r"log_sigmas \(5000.0\) must be .* at most 27.6"),
    (lambda: Rotary(D), "theta", None, r"theta \(None\) must be a number"),
    (lambda: Sinusoidal(C), "theta", 0.0, r"theta \(0.0\) must be above 0, and at least 1e-30"),
    (lambda: Rotary(D), "theta", -10.0, r"theta \(-10.0\) must be above 0"),
    (lambda: Rotary2D(D), "theta", 0.0, r"theta \(0.0\) must be above 0"),
    (lambda: gaussian(D), "theta", 0.0, r"theta \(0.0\) must be above 0"),
    (lambda: gaussian(D), "sigma1", 0.0, r"sigma1 \(0.0\) must be above 0"),
    (lambda: gaussian(D, learnable=False), "alpha2", -1.0, r"alpha2 \(-1.0\) must be above 0"),
    (lambda: Fourier(D, C), "theta", 0.0, r"theta \(0.0\) must be above 0"),
    (lambda: LearnedPhase(H, D), "theta", -1.0, r"theta \(-1.0\) must be above 0"),
    (lambda: LearnedPhase(H, D), "delta", math.nan, r"delta \(nan\) must be a finite number"),
    (lambda: Fourier(D, C), "max_positions", 9.0, "Fourier has no number called 'max_positions'"),
    (lambda: Fourier(D, C), "n_embd", 9.0, "it has stride, theta"),
    (lambda: PoPE(H, D), "alpha", 1.0, "PoPE has no number called 'alpha' to steer; it has delta, theta"),
    (
        lambda: gaussian(D),
        "alpha",
        1.0,
        "it has alpha1, alpha2, log_alphas, log_sigmas, sigma1, sigma2, theta",
    ),
    (lambda: Encoding(), "theta", 1.0, "Encoding has no number called 'theta' to steer; it has none"),
    (lambda: LearnedPositions(9, C), "theta", 1.0, "it has table"),
]


@pytest.mark.parametrize(("make", "name", "value", "sentence"), REFUSED)
def test_what_may_not_be_is_refused_in_a_sentence_and_nothing_has_changed(
    make: Callable[[], Encoding], name: str, value: float, sentence: str
) -> None:
    encoding = make()
    before = {number: torch.as_tensor(getattr(encoding, number)).clone() for number in encoding.steerable()}
    for refuse in (encoding.require_steerable, encoding.steer):
        with pytest.raises(ValueError, match=sentence):
            refuse(name, value)
    for number, was in before.items():
        assert torch.equal(torch.as_tensor(getattr(encoding, number)), was)


def test_to_ask_whether_a_number_may_be_set_sets_nothing() -> None:
    encoding = Fourier(D, C)
    encoding.require_steerable("stride", 8.0)
    encoding.require_steerable("theta", 8.0)
    assert (encoding.stride, encoding.theta) == (128, 10_000.0)


def test_theta_of_a_trained_table_is_not_steered_in_vain() -> None:
    encoding = Fourier(D, C, max_positions=400, learnable=True)
    for refuse in (lambda: encoding.require_number("theta"), lambda: encoding.steer("theta", 10.0)):
        with pytest.raises(ValueError, match="theta made the table that is trained now"):
            refuse()


@pytest.mark.parametrize("learnable", [False, True])
def test_a_branch_that_a_stride_carries_past_the_table_is_named_when_it_is_read(learnable: bool) -> None:
    encoding = Fourier(D, C, max_positions=400, stride=100, learnable=learnable)
    encoding.steer("stride", 200)
    encoding.code(torch.tensor([0, 1]))
    with pytest.raises(ValueError, match=r"position 600 is not in the table: .* \(branch 3 at stride 200\)"):
        encoding.code(torch.tensor([0, 3]))


# ---------------------------------------------------------------- while a model trains


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus("plain-tales", n_chars=20_000)


@pytest.fixture(scope="module")
def objective(corpus: Corpus) -> Branches:
    return Branches(corpus, block_size=12, n_branches=(2, 2), length=10)


def branches(corpus: Corpus, learnable: bool = False) -> Transformer:
    torch.manual_seed(0)
    shape = ModelConfig(corpus.tokenizer.vocab_size, 12, n_layer=1, n_head=2, n_embd=16)
    return Transformer(shape, Fourier(shape.head_dim, shape.n_embd, max_positions=512, learnable=learnable))


PLAN = TrainConfig(steps=6, batch_size=4)


@pytest.mark.parametrize("learnable", [False, True])
def test_a_stride_turned_in_a_run_counts_from_that_step_on_and_can_be_repeated(
    corpus: Corpus, objective: Branches, learnable: bool
) -> None:
    turns = {4: {"stride": 8.0}}
    first, again, plain = (branches(corpus, learnable) for _ in range(3))
    history = list(train(first, objective, PLAN, lambda step: turns.get(step, {})))
    repeated = list(train(again, objective, PLAN, replay(history)))
    untouched = list(train(plain, objective, PLAN))
    assert [s.loss for s in history] == [s.loss for s in repeated]
    assert [s.loss for s in history[:3]] == [s.loss for s in untouched[:3]]
    assert history[3].loss != untouched[3].loss
    assert [s.changed for s in history] == [{}, {}, {}, {"stride": 8.0}, {}, {}]


def test_a_steered_stride_is_restored_as_a_whole_number(corpus: Corpus, objective: Branches) -> None:
    trained, fresh = branches(corpus), branches(corpus)
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
