"""Whether something fits into memory: told before it is taken, and taken in portions where it must be."""

import errno
import subprocess
import sys
import weakref

import numpy as np
import psutil
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from babygpt import memory as budget
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.stories import Question
from babygpt.memory import (
    BatchShape,
    device_memory,
    is_out_of_memory,
    limits,
    portions,
    require_memory,
    require_memory_for_branches,
    require_memory_for_model,
    require_memory_to_train,
)
from babygpt.metrics import (
    answer_log_probs,
    exact_nelbo,
    greedy_answers,
    loss_by_position,
    nelbo,
    position_matched_losses,
)
from babygpt.metrics.branches import parallel_loss
from babygpt.metrics.text import nll_and_entropy
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Branches, MaskedDiffusion, NextToken, largest_batch, objective_for
from babygpt.sampling import continue_text, fill_in, generate
from babygpt.training import train
from babygpt_course.studies.lookup import Lookup

SHAPE = ModelConfig(11, block_size=16, n_layer=3, n_head=2, n_embd=16)
CPU = torch.device("cpu")


@pytest.fixture
def memory(monkeypatch):
    """Give the machine so many bytes of memory."""
    return lambda size: monkeypatch.setattr("babygpt.memory.device_memory", lambda device: size)


# ---------------------------------------------------------------- how much there is


def test_the_memory_is_that_of_the_machine_or_what_this_process_may_have_of_it():
    assert device_memory(CPU) == min(limits().values())
    assert limits()[""] == psutil.virtual_memory().total


@pytest.mark.survives("a container with a quota of memory", "what does not fit the quota is refused")
def test_an_error_says_whose_limit_it_is(monkeypatch):
    monkeypatch.setattr(budget, "memory_limits", lambda root: [2 * 10**9, 10**9])
    with pytest.raises(ValueError, match=r"at least 3 GB of memory; there are 1 \(this container's limit\)"):
        require_memory("zeros", 3 * 10**9)


def test_a_limit_of_the_address_space_counts(monkeypatch):
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(resource, "getrlimit", lambda kind: {resource.RLIMIT_AS: (5000, -1)}[kind])
    assert device_memory(CPU) == limits()[" (the limit of ulimit -v)"] == 5000
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (resource.RLIM_INFINITY, -1))
    assert device_memory(CPU) > 5000


# ---------------------------------------------------------------- refused before it begins


def held(model):
    """The bytes of a model's blocks and of the two tables that every model has."""
    common = [p for name, p in model.named_parameters() if not name.startswith("encoding.")]
    return sum(p.numel() * p.element_size() for p in common if p.ndim == 2)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_model_needs_what_its_matrices_take(version, memory):
    size = held(build(version, SHAPE))
    blocks = VERSIONS[version].blocks
    memory(size)
    require_memory_for_model(SHAPE, blocks)
    memory(size - 1)
    with pytest.raises(ValueError, match=r"n_layer 3, n_embd 16 .* GB of memory"):
        require_memory_for_model(SHAPE, blocks)


def test_no_model_is_made_for_which_there_is_no_room(memory):
    memory(1000)
    with pytest.raises(ValueError, match="need at least"):
        build("v4", SHAPE)


def test_training_needs_room_for_weights_gradients_moments_the_stream_and_the_logits(memory):
    model = build("v4", SHAPE)
    weights = sum(p.numel() for p in model.parameters())
    tokens = 5 * SHAPE.block_size
    memory(4 * (3 * weights + tokens * (8 * SHAPE.n_embd * SHAPE.n_layer + 2 * SHAPE.vocab_size)))
    require_memory_to_train(model, SHAPE, TrainConfig(batch_size=5))
    with pytest.raises(ValueError, match=r"batches of 6 windows \(batch_size\)"):
        require_memory_to_train(model, SHAPE, TrainConfig(batch_size=6))
    require_memory_to_train(model, SHAPE, TrainConfig(batch_size=11), share=2)  # 5 for each of two processes


class Peak(TorchDispatchMode):
    """Counts the bytes of all tensors that are made while it lasts, and keeps the most there were at once."""

    now = most = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for part in made if isinstance(made, tuple | list) else [made]:
            if isinstance(part, torch.Tensor):
                self.add(part.untyped_storage())
        return made

    def add(self, storage):
        if storage not in self.seen:
            self.seen.add(storage)
            self.now += storage.nbytes()
            self.most = max(self.most, self.now)
            weakref.finalize(storage, self.remove, storage.nbytes())

    def remove(self, size):
        self.now -= size

    def __enter__(self):
        self.seen = weakref.WeakSet()
        return super().__enter__()


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_refused_that_fits(version, small_corpus, small_masked_corpus, monkeypatch):
    """What is counted is at most what a step of training takes; and a good part of it."""
    corpus = small_masked_corpus if VERSIONS[version].masks else small_corpus
    V, counted = corpus.tokenizer.vocab_size, []
    model = build(version, ModelConfig(V, block_size=96, n_layer=2, n_head=4, n_embd=16))
    objective = objective_for(version, corpus, 96, n_branches=(2, 2))
    monkeypatch.setattr(budget, "require_memory", lambda what, size, device: counted.append(size))
    require_memory_to_train(model, model.config, TrainConfig(batch_size=4), objective.largest(4))
    weights = sum(p.numel() * p.element_size() for p in model.parameters())
    with Peak() as peak:
        next(train(model, objective, TrainConfig(steps=2, batch_size=4)))
    assert 0.25 < max(counted) / (weights + peak.most) <= 1


GB = 10**9
USUAL = [{}, {"block_size": 64}, {"block_size": 256, "n_embd": 256, "n_layer": 6}]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("shape", USUAL)
def test_usual_sizes_fit_into_four_gigabytes(version, shape, memory):
    memory(4 * GB)
    model = build(version, ModelConfig(100, **shape))
    rows = BatchShape(2, 8 * 144, own_positions=True) if VERSIONS[version].branches else None
    require_memory_to_train(model, model.config, TrainConfig(), rows)


LARGE = {  # a version, its shape, its batch, and the gigabytes that do not do
    "a bias for every head": ("alibi", {"block_size": 100_000, "n_embd": 4}, BatchShape(1, 100_000), 150),
    "a kernel": ("v5", {"block_size": 100_000, "n_embd": 8}, BatchShape(1, 100_000), 150),
    "keys wider than values": ("v7", {"block_size": 20_000, "n_embd": 8}, BatchShape(2, 20_000), 12),
    "logits": ("v1", {"vocab_size": 50_000, "n_embd": 8}, BatchShape(64, 192), 4),
    "branches": ("v6", {"n_embd": 8}, BatchShape(1, 1000 * 144, own_positions=True), 80),
    "a bias for every sample": ("v6", {"n_embd": 8}, BatchShape(50, 50 * 144, own_positions=True), 10),
}


@pytest.mark.survives("windows or branches for which there is no memory", "refused before step 1")
@pytest.mark.parametrize("case", LARGE)
def test_a_batch_is_counted_with_its_scores_and_logits(case, memory):
    version, shape, batch, there = LARGE[case]
    model = build(version, ModelConfig(**{"vocab_size": 11, "n_head": 4, "n_layer": 1, "n_embd": 4} | shape))
    memory(there * GB)
    with pytest.raises(ValueError, match="need at least"):
        require_memory_to_train(model, model.config, TrainConfig(), batch)
    small = batch._replace(length=batch.length // 8)
    require_memory_to_train(model, model.config, TrainConfig(), small)


def test_branches_to_be_written_are_counted_with_their_mask(awake, memory):
    memory(GB)
    require_memory_for_branches(awake("v6"), 1000, 10)
    with pytest.raises(ValueError, match="1000000 branches of 10 tokens need at least"):
        require_memory_for_branches(awake("v6"), 10**6, 10)


def test_every_objective_tells_its_largest_batch(small_corpus, small_masked_corpus):
    draw = torch.Generator().manual_seed(0)
    for made in (
        NextToken(small_corpus, 16),
        MaskedDiffusion(small_masked_corpus, 16),
        Lookup(),
        Branches(small_corpus, 16, (3, 3)),
        Branches(small_corpus, 16, (3, 3), by_samples=True),
    ):
        assert largest_batch(made, 7)[:2] == tuple(made.batch(7, draw)[0].shape)


def test_a_batch_without_room_is_refused_before_the_first_step(small_corpus):
    V = small_corpus.tokenizer.vocab_size
    model = build("v4", ModelConfig(V, block_size=16, n_layer=1, n_head=2, n_embd=16))
    before = [p.clone() for p in model.parameters()]
    with pytest.raises(ValueError, match="10000000000000 windows"):
        next(train(model, NextToken(small_corpus, 16), TrainConfig(batch_size=10**13)))
    assert all(torch.equal(p, old) for p, old in zip(model.parameters(), before, strict=True))


def test_all_of_it_may_be_asked_for_and_no_more():
    there = device_memory(CPU)
    require_memory("zeros", there)
    with pytest.raises(ValueError, match=r"zeros need at least .* GB of memory; there are "):
        require_memory("zeros", there + 1)


def test_a_number_that_no_float_holds_is_told_too():
    with pytest.raises(ValueError, match=r"zeros need at least 1\.000e\+391 GB"):
        require_memory("zeros", 10**400)


# ---------------------------------------------------------------- done in portions


def ask(score):
    """A measurement of questions."""

    def measure(model, corpus):
        letters = corpus.tokenizer.characters
        asked = [Question("".join(letters[i : i + 9]), letters[0], letters[1], letters[2]) for i in range(5)]
        return score(model, corpus.tokenizer, asked)

    return measure


def windows(corpus, length=9, n=5):
    return corpus.val[: n * length].view(n, length)


def holes(corpus):
    return torch.full((5, 9), corpus.tokenizer.mask_id)


def draw():
    return torch.Generator().manual_seed(0)


MEASURED = {
    "NextToken": ("v5", lambda m, c: NextToken(c, 16).validate(m)),
    "MaskedDiffusion": ("v7", lambda m, c: MaskedDiffusion(c, 16, 90).validate(m)),
    "Branches": ("v6", lambda m, c: Branches(c, 16, (1, 3)).validate(m)),
    "parallel_loss": ("v6", lambda m, c: parallel_loss(m, c.val, 2, 10, 20)),
    "loss_by_position": ("v4", lambda m, c: loss_by_position(m, c.val, 20)),
    "position_matched": ("v4", lambda m, c: np.concatenate(position_matched_losses(m, c.val, 30, 2, 1)[1:])),
    "answer_log_probs": ("v4", ask(answer_log_probs)),
    "greedy_answers": ("v4", ask(greedy_answers)),
    "nelbo": ("v7", lambda m, c: nelbo(m, c.val)),
    "exact_nelbo": ("v7", lambda m, c: exact_nelbo(m, c.val[:6])),
    "nll_and_entropy": ("v4", lambda m, c: torch.stack(nll_and_entropy(m, windows(c), 2))),
    "generate": ("v4", lambda m, c: generate(m, windows(c), 12, temperature=0)),
    "fill_in": ("v7", lambda m, c: fill_in(m, holes(c), temperature=0).tokens),
    "continue_text": ("v7", lambda m, c: continue_text(m, windows(c), 12, temperature=0).when),
}


@pytest.mark.parametrize("name", MEASURED)
def test_where_there_is_little_room_windows_are_read_one_by_one(
    name, awake, small_corpus, small_masked_corpus, memory, monkeypatch
):
    """The numbers stay what they are when all go together."""
    version, measure = MEASURED[name]
    corpus = small_masked_corpus if VERSIONS[version].masks else small_corpus
    model, rows = awake(version, vocab_size=corpus.tokenizer.vocab_size), []
    model.register_forward_pre_hook(lambda _, inputs: rows.append(len(inputs[0])))
    together = measure(model, corpus)
    assert max(rows) > 1
    rows.clear()
    monkeypatch.setattr(budget, "ALWAYS", 0)
    memory(1)
    apart = measure(model, corpus)
    assert set(rows) == {1}
    if isinstance(together, list):
        assert apart == together
    else:
        np.testing.assert_allclose(apart, together, rtol=1e-5)


def test_a_task_made_of_rows_is_measured_in_portions_too(awake, memory, monkeypatch):
    task = Lookup()
    model = awake("v4", vocab_size=task.vocab_size, block_size=task.block_size)
    together, rows = (task.validate(model), task.accuracy(model)), []
    model.register_forward_pre_hook(lambda _, inputs: rows.append(len(inputs[0])))
    monkeypatch.setattr(budget, "ALWAYS", 0)
    memory(1)
    assert (task.validate(model), task.accuracy(model)) == pytest.approx(together, rel=1e-5)
    assert set(rows) == {1}


def test_where_there_is_room_all_go_at_once(awake):
    """Also the largest that the course measures: so no stored number depends on the machine."""
    model, idx = awake("v4", vocab_size=200, block_size=192, n_embd=128, n_layer=4), torch.zeros(64, 192)
    assert [len(rows) for (rows,) in portions(model, idx)] == [64]
    assert [len(rows) for (rows,) in portions(model, idx, at_most=24)] == [24, 24, 16]
    assert [len(rows) for (rows,) in portions(model, idx[:0])] == [0]


IN_LITTLE_MEMORY = """
import psutil, resource
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import from_text
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import train
most = psutil.Process().memory_info().vms + 500_000_000
resource.setrlimit(resource.RLIMIT_AS, (most, most))
corpus = from_text("letters", "".join(map(chr, range(20_000, 40_000))) * 4)
model = build("v4", ModelConfig(20_000, 128, n_layer=1, n_head=2, n_embd=8))
print([s.val_loss > 9 for s in train(model, NextToken(corpus, 128), TrainConfig(steps=1, batch_size=2))])
"""


@pytest.mark.survives("20,000 different characters in little memory", "validation takes fewer windows a time")
def test_validation_fits_where_training_does():
    """62 windows of 128 tokens and 20,000 letters make 0.6 GB of logits, and more than once."""
    pytest.importorskip("resource")
    code = [sys.executable, "-c", IN_LITTLE_MEMORY]
    done = subprocess.run(code, capture_output=True, text=True, timeout=300)
    assert done.stdout == "[True]\n", done.stderr


# ---------------------------------------------------------------- when there was none after all


def torch_out_of_memory():
    return torch.empty(2**60, dtype=torch.uint8)


def numpy_out_of_memory():
    return np.empty(2**60, dtype=np.uint8)


def python_out_of_memory():
    return bytearray(2**62)


@pytest.mark.parametrize("ask_for_it", [torch_out_of_memory, numpy_out_of_memory, python_out_of_memory])
def test_an_allocation_that_failed_is_known_whoever_made_it(ask_for_it):
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        ask_for_it()
    assert is_out_of_memory(caught.value)


@pytest.mark.parametrize(
    ("error", "known"),
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("MPS backend out of memory"), True),
        (RuntimeError("std::bad_alloc"), True),
        (RuntimeError("not enough memory: you tried to allocate 9 bytes."), True),  # PyTorch on Windows
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), False),
        (ValueError("zeros need at least 3 GB of memory; there are 1"), False),
        (KeyboardInterrupt(), False),
    ],
)
def test_other_errors_are_none_of_memory(error, known):
    assert is_out_of_memory(error) is known
