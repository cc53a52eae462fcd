"""A disk that is full, a memory that is too small, and fewer cores than the machine has."""

import pytest
import torch
from click.testing import CliRunner

from babygpt import device, live, quotas
from babygpt.cli import main
from babygpt.config import ModelConfig, TrainConfig
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import train
from tests.faults.table import TABLE, TRAINS

STARVE = ("tests.faults.small", "starve")


SECOND = [(name, 2) for name in TRAINS if name != "compare stretch"]  # which writes but one file


@pytest.mark.parametrize(("name", "nth"), [*SECOND, ("compare stretch", 1), ("train", 1), ("train", 4)])
@pytest.mark.survives(
    "the disk is full, from one file on of those that it writes",
    "one line says so; what was saved stands, and the same command goes on when there is room",
)
def test_a_full_disk(stopped, whole, name, nth):
    """The steps since the last checkpoint are lost, and no others."""
    ended, steps = stopped(name, failing=[("fsync", nth, "ENOSPC")])
    assert ended.status == 1, ended
    assert "No space left on device" in ended.line, ended
    assert ended.err.count("Error: ") == 1
    assert steps <= whole(name).steps + TABLE[name].every


@pytest.mark.parametrize("name", ["train", "compare generation"])
def test_files_that_may_not_grow(stopped, name):
    """No stand-in for the disk: the system itself stops the writing of a checkpoint half-way."""
    ended, _ = stopped(name, limits={"RLIMIT_FSIZE": 5_000})
    assert ended.status == 1
    assert "File too large" in ended.line, ended


@pytest.mark.parametrize("name", TRAINS)
@pytest.mark.survives(
    "the memory does not do for a step in the middle of training",
    "one line says so, and where the last checkpoint stands; the same command goes on from there",
)
def test_out_of_memory(stopped, whole, name):
    ended, steps = stopped(name, before=[STARVE])
    assert ended.status == 1
    assert "out of memory" in ended.line, ended
    assert ended.err.count("Error: ") == 1
    assert steps <= whole(name).steps + TABLE[name].every


# ---------------------------------------------------------------- cores


PLAN = TrainConfig(steps=2, batch_size=2)


def train_small(corpus, how=train):
    """Make two steps of a small model."""
    shape = ModelConfig(corpus.tokenizer.vocab_size, block_size=8, n_layer=1, n_head=1, n_embd=8)
    return how(build("v4", shape), NextToken(corpus, 8), PLAN)


WAYS = {
    "training": lambda corpus: list(train_small(corpus)),
    "a live run": lambda corpus: train_small(corpus, live.train).result(),
    "a command": lambda corpus: CliRunner().invoke(main, ["analyze", "polar"]),
}


@pytest.fixture
def one_of_four(monkeypatch, tmp_path):
    """A machine of four cores, four threads of PyTorch, and a container that allows one core."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, text in {"proc/self/cgroup": "0::/", "sys/fs/cgroup/cpu.max": "100000 100000"}.items():
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(device, "bound_cores", lambda: 4)
    monkeypatch.setattr(device, "available_cores", lambda root: quotas.available_cores(tmp_path))
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("one_of_four")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.survives(
    "a container with a quota of one core, on a machine of many",
    "one thread computes, so that the quota takes little of the speed of one core",
)
def test_a_quota_of_cores(way, small_corpus):
    WAYS[way](small_corpus)
    assert torch.get_num_threads() == 1
