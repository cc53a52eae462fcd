"""Tests of the training loop: it learns, repeats itself, records each step, and stops for a reason."""

import math
import threading
from dataclasses import replace
from itertools import count, islice, pairwise

import numpy as np
import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.device import compile_in_place
from babygpt.encodings import Encoding
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Branches, DiffusionBound, MaskedDiffusion, NextToken, Objective
from babygpt.positions import Positions
from babygpt.training import Step, Training, follow, replay, snapshot, train
from babygpt.training.guard import broken_part
from babygpt.training.optimizers import schedule

BLOCK = 24
PLAN = TrainConfig(steps=6, batch_size=4, warmup=2, seed=0)


@pytest.fixture
def make(small_corpus: Corpus):
    """Build a fresh model of a version, always with the same weights."""

    def fresh(version: str) -> LanguageModel:
        torch.manual_seed(0)
        V = small_corpus.tokenizer.vocab_size + VERSIONS[version].masks
        return build(version, ModelConfig(V, block_size=BLOCK, n_layer=2, n_head=2, n_embd=32))

    return fresh


@pytest.fixture
def objective(small_corpus: Corpus) -> NextToken:
    return NextToken(small_corpus, BLOCK)


@pytest.fixture
def task(small_corpus: Corpus, small_masked_corpus: Corpus):
    """Return the objective of a version."""
    single, several = NextToken(small_corpus, BLOCK), Branches(small_corpus, BLOCK, n_branches=(1, 3))
    holes = MaskedDiffusion(small_masked_corpus, BLOCK, val_windows=100)

    def of(version: str) -> Objective:
        return several if VERSIONS[version].branches else holes if VERSIONS[version].masks else single

    return of


def weights(model: LanguageModel) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in model.state_dict().items()}


def same(weights: dict[str, torch.Tensor], others: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(p, others[name]) for name, p in weights.items())


# ---------------------------------------------------------------- learning


@pytest.mark.parametrize("version", ["v1", "v4", "v6", "v7"])  # each body and each objective
def test_training_lowers_the_loss(make, task, version: str) -> None:
    model, objective = make(version), task(version)
    loss = objective.validate(model)
    *_, last = train(model, objective, TrainConfig(steps=40, batch_size=8, seed=0))
    assert last.val_loss < loss - (0.1 if VERSIONS[version].masks else 0.5)  # holes teach more slowly


def test_v1_lands_on_the_exact_bigram_floor() -> None:
    """Compute the floor from the grammar, in closed form; no model of pairs can be below it."""
    corpus = load_corpus("tales", n_chars=300_000)
    V = corpus.tokenizer.vocab_size
    model = build("v1", ModelConfig(V, block_size=64, n_embd=64))
    plan = TrainConfig(steps=300, batch_size=64, lr_other=0.03, seed=0)
    *_, last = train(model, NextToken(corpus, 64), plan)
    assert last.val_loss == pytest.approx(corpus.bigram_floor, abs=0.02)


def test_attention_passes_the_bigram_floor(make, small_corpus: Corpus) -> None:
    """Expect v4 to pass every bigram model, and within a window not the grammar's own floor."""
    model = make("v4")
    plan = TrainConfig(steps=150, batch_size=16, seed=0)
    *_, last = train(model, NextToken(small_corpus, BLOCK), plan)
    assert small_corpus.floor - 0.05 < last.val_loss < small_corpus.bigram_floor - 0.2


@pytest.mark.parametrize("objective", [MaskedDiffusion, DiffusionBound])
def test_the_notes_phase_stays_exactly_where_it_begins(make, small_masked_corpus: Corpus, objective) -> None:
    """Train many steps with momentum and decay: the note's phase stays, the exact phase moves at once."""
    phases = {}
    for version in ("v7-polar", "v7-exact"):
        model = make(version)
        list(train(model, objective(small_masked_corpus, BLOCK, 100), TrainConfig(steps=30, batch_size=4)))
        phases[version] = model.encoding.phi.detach()
    assert torch.equal(phases["v7-polar"], torch.zeros(16))
    assert (phases["v7-exact"] != 0).all()


# ---------------------------------------------------------------- the seed


def test_only_the_seed_changes_a_run(make, objective: NextToken) -> None:
    """Validate, leave gradients of another cell, and sample as a slider does: the run stays the same."""
    plain = [s.loss for s in train(make("v4"), objective, PLAN)]
    model, disturbed = make("v4"), []
    for p in model.parameters():
        p.grad = torch.randn_like(p)
    before = torch.random.get_rng_state()
    for step in train(model, objective, replace(PLAN, eval_every=1)):
        assert torch.equal(torch.random.get_rng_state(), before)
        torch.rand(7)
        before = torch.random.get_rng_state()
        disturbed.append(step.loss)
    assert disturbed == plain
    second_seed = [s.loss for s in train(make("v4"), objective, replace(PLAN, seed=1))]
    assert second_seed[1:] != plain[1:]


# ---------------------------------------------------------------- the records


@pytest.mark.parametrize(("every", "due"), [(0, [6]), (1, [1, 2, 3, 4, 5, 6]), (4, [4, 6]), (9, [6])])
def test_records_count_and_are_validated_when_due_and_at_the_end(
    make, objective: NextToken, every: int, due: list[int]
) -> None:
    model, steps, tables = make("v2"), list[Step](), list[np.ndarray]()
    for step in train(model, objective, replace(PLAN, eval_every=every)):
        steps.append(step)
        tables.append(model.encoding.table.detach().numpy().copy())
        if step.val_loss is not None:
            assert step.val_loss == objective.validate(model)  # of the model after the step
            assert step.snapshot.keys() == {"table"}
    for step in (s for s in steps if s.snapshot):  # a copy, which later steps did not change
        assert np.array_equal(step.snapshot["table"], tables[step.step - 1])
    assert [s.step for s in steps if s.val_loss is not None] == due
    assert [s.step for s in steps if s.snapshot] == due
    assert [(s.step, s.tokens) for s in steps] == [(n, 4 * BLOCK * n) for n in range(1, 7)]
    assert all(later.seconds > s.seconds > 0 for s, later in pairwise(steps))
    assert snapshot(make("v4")) == snapshot(make("v1")) == {}  # their encodings learn nothing


def test_rate_is_the_schedule_times_the_peak(make, objective: NextToken) -> None:
    for version, peak in {"v1": PLAN.lr_other, "v4": PLAN.lr_matrix}.items():
        got = [s.lr for s in train(make(version), objective, PLAN)]
        assert got == pytest.approx([peak * schedule(n, PLAN) for n in range(6)])


# ---------------------------------------------------------------- steering


def at(step: int, **numbers: float):
    """Steer before one step."""
    return lambda n: numbers if n == step else {}


@pytest.mark.parametrize(("version", "name", "value"), [("alibi", "steepness", 40.0), ("v3", "theta", 3.0)])
def test_steering_takes_effect_at_its_step(make, objective: NextToken, version: str, name: str, value: float):
    model, numbers, losses = make(version), [], []
    for step in train(model, objective, PLAN, at(3, **{name: value})):
        numbers.append(getattr(model.encoding, name))
        losses.append(step.loss)
        assert step.changed == ({name: value} if step.step == 3 else {})
    before = getattr(make(version).encoding, name)
    assert numbers == [before, before, value, value, value, value]
    plain = [s.loss for s in train(make(version), objective, PLAN)]
    assert losses[:2] == plain[:2]
    assert losses[2:] != plain[2:]


def test_a_run_steered_as_an_earlier_one_repeats_it(make, objective: NextToken) -> None:
    first, again = make("v4"), make("v4")
    history = list(train(first, objective, PLAN, lambda n: {"theta": 100.0 * n} if n in (2, 5) else {}))
    repeated = list(train(again, objective, PLAN, replay(history)))
    assert [(s.loss, s.changed) for s in repeated] == [(s.loss, s.changed) for s in history]
    assert same(weights(first), weights(again))
    steering = replay(history)
    assert [steering(n) for n in (1, 2, 5, 6, 99)] == [{}, {"theta": 200.0}, {"theta": 500.0}, {}, {}]


def test_a_number_that_does_not_exist_stops_before_its_step(make, objective: NextToken) -> None:
    model, expected = make("v4"), make("v4")
    steps = train(model, objective, PLAN, at(4, steepness=2.0))
    assert [next(steps).step for _ in range(3)] == [1, 2, 3]
    with pytest.raises(ValueError, match="no number called 'steepness'"):
        next(steps)
    list(islice(train(expected, objective, PLAN), 3))
    assert same(weights(model), weights(expected))


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("n", "end"),
    [(1, "finite"), (2, "and so does 1 of the other weights"), (3, "and so do 2 of the other weights")],
)
def test_an_error_counts_the_weights_that_are_not_finite(make, n: int, end: str) -> None:
    model = make("v4")
    for _, p in zip(range(n), model.parameters(), strict=False):
        p.data.view(-1)[0] = math.inf
    assert broken_part(model).endswith(end)


def test_a_nan_loss_stops_at_its_step_and_names_remedies(make, objective: NextToken) -> None:
    model = make("v4")
    steps = train(model, objective, PLAN)
    assert [next(steps).step for _ in range(3)] == [1, 2, 3]
    model.head.weight.data[0, 0] = math.nan
    before = weights(model)
    with pytest.raises(FloatingPointError, match=r"loss is nan at step 4, learning rate") as caught:
        next(steps)
    of_head = "head.weight holds numbers that are not finite: "
    for part in (f"{PLAN.lr_matrix * schedule(3, PLAN):.2g}", of_head, "lr_matrix", "warmup"):
        assert part in str(caught.value)
    for name, p in model.state_dict().items():  # no step was taken
        assert torch.equal(p.nan_to_num(99.0), before[name].nan_to_num(99.0)), name


class Rooted(Encoding):
    """ALiBi with the root of a trained slope, which has none once training takes it below 0."""

    def __init__(self) -> None:
        super().__init__()
        self.slope = torch.nn.Parameter(torch.tensor(0.1))

    def score_bias(self, queries: Positions, keys: Positions) -> torch.Tensor:
        distance = queries.time[..., :, None] - keys.time[..., None, :]  # (Tq, Tk) or (B, Tq, Tk)
        return -self.slope.sqrt() * distance.unsqueeze(-3)


def test_a_nan_loss_names_the_hook_of_an_own_encoding_that_made_it(objective: NextToken):
    model = build(Rooted, ModelConfig(int(objective.train.max()) + 1, BLOCK, n_layer=1, n_head=2, n_embd=16))
    steps = train(model, objective, PLAN)
    next(steps)
    model.encoding.slope.data.fill_(-1.0)
    with pytest.raises(FloatingPointError, match=r"Rooted: score_bias returned nan at \[0, 0, 0\]"):
        next(steps)


def test_a_run_that_diverges_in_its_last_step_raises_an_error(make, objective: NextToken):
    """Diverge in the last step: no later batch shows it, only the validation loss."""
    plan = TrainConfig(steps=1, batch_size=4, lr_other=1e38, lr_matrix=1e38, warmup=0, seed=0)
    with pytest.raises(FloatingPointError):
        list(train(make("v4"), objective, plan))


def test_interrupt_keeps_the_records_and_the_model(make, objective: NextToken, capsys) -> None:
    """Press Ctrl-C in the middle of the fourth step, while gradients are computed."""
    model, expected, steps = make("v4"), make("v4"), count(1)

    def press(_: torch.Tensor) -> None:
        if next(steps) == 4:
            raise KeyboardInterrupt

    model.token_embedding.weight.register_hook(press)
    history = follow(train(model, objective, PLAN), PLAN.steps)
    assert [s.step for s in history] == [1, 2, 3]
    assert "interrupted after step 3" in capsys.readouterr().err
    list(islice(train(expected, objective, PLAN), 3))
    assert same(weights(model), weights(expected))


# ---------------------------------------------------------------- trainings that are refused


def test_a_model_that_is_being_trained_in_another_thread_is_refused(make, objective: NextToken) -> None:
    """Train it while the other thread is in the middle of a step; afterwards anyone may go on."""
    model, refusals = make("v4"), list[str]()

    def train_too(_: torch.Tensor) -> None:
        def attempt() -> None:
            with pytest.raises(BadInput, match="is being trained in another thread") as refusal:
                next(train(model, objective, PLAN))
            next(train(make("v4"), objective, PLAN))  # another model is none of its business
            refusals.append(str(refusal.value))

        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join(60)

    steps = train(model, objective, PLAN)
    hook = model.token_embedding.weight.register_hook(train_too)
    next(steps)
    hook.remove()
    assert len(refusals) == 1
    assert next(train(model, objective, PLAN)).step == 1
    assert next(steps).step == 2


@pytest.mark.parametrize("version", ["v1", "v4", "v6", "v7"])
def test_a_model_too_small_for_a_text_is_refused(task, version: str) -> None:
    """Leave one character to the validation text alone, which is enough."""
    objective = task(version)
    last = int(max(objective.train.max(), objective.val.max()))
    small = build(version, ModelConfig(last, BLOCK, n_layer=1, n_head=2, n_embd=16))
    with pytest.raises(BadInput, match=rf"token {last}, .* vocab_size \({last}\)"):
        next(train(small, objective, PLAN))


# ---------------------------------------------------------------- compiled


def test_a_failed_compilation_is_reported(make) -> None:
    model = make("v1")
    with pytest.raises(ValueError, match=r"torch.compile does not work on this machine: .*nonesuch"):
        compile_in_place(model, "nonesuch")


def frozen(corpus) -> LanguageModel:
    return build("v4", ModelConfig(corpus.tokenizer.vocab_size, 8, 1, 2, 8)).requires_grad_(False)


def made_for_inference(corpus) -> LanguageModel:
    with torch.inference_mode():
        return build("v4", ModelConfig(corpus.tokenizer.vocab_size, 8, 1, 2, 8))


@pytest.mark.parametrize(
    ("make", "says"), [(frozen, "write model.requires_grad_"), (made_for_inference, "built under")]
)
def test_a_model_that_cannot_learn_is_refused(small_corpus, make, says) -> None:
    with pytest.raises(BadInput, match=says):
        next(train(make(small_corpus), NextToken(small_corpus, 8), TrainConfig(steps=1)))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_training_without_gradients_is_refused_before_anything_changes(small_corpus, mode) -> None:
    model = frozen(small_corpus).requires_grad_()
    training = Training(model, NextToken(small_corpus, 8), TrainConfig(steps=1))
    state = training.generator.get_state()
    with mode(), pytest.raises(BadInput, match="training needs gradients"):
        training.make_step()
    assert torch.equal(training.generator.get_state(), state)
    assert training.make_step().step == 1
