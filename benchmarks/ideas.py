"""Ideas for fewer steps: each tried alone, on the same v4, with the same tokens and seeds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.encodings.base import Encoding
from babygpt.encodings.rotary import Rotary
from babygpt.models.transformer import Attention, Transformer
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.positions import Positions
from babygpt.training import Training
from babygpt.training.muon import Muon
from babygpt_course.studies.sweep import sweep
from benchmarks.pairs import build_with_pairs
from benchmarks.racing import with_options
from benchmarks.recipe import BLOCK_SIZE, NEXT_BATCH

RATE, RATE_OTHER = 0.04, 0.02  # of all ideas: v4's, before it was tuned
TAIL = 0.2  # share of the steps whose weights are averaged


def nothing(training: Training) -> None:
    """Change nothing."""


@dataclass(frozen=True)
class Idea:
    """One change to how v4 is trained.

    body    makes the model of a shape
    before  changes a training that has made no step yet
    after   is called after every step
    batch_size, share_of_steps  where it makes other steps of the same tokens
    """

    body: Callable[[ModelConfig], Transformer]
    before: Callable[[Training], None] = nothing
    after: Callable[[Training], None] = nothing
    batch_size: int = NEXT_BATCH
    share_of_steps: float = 1.0


def v4(config: ModelConfig, **options: Any) -> Transformer:
    """The v4 of the lessons."""
    model = build("v4", config, **options)
    assert isinstance(model, Transformer)
    return model


# ---------------------------------------------------------------- ideas for the model


class WithValues(nn.Module):
    """Values of a layer, with a row for each token added; it asks the token embedding what was read."""

    def __init__(self, to_v: nn.Linear, embedding: nn.Embedding) -> None:
        super().__init__()
        self.to_v, self.read = to_v, [torch.empty(0)]
        self.table = nn.Embedding(embedding.num_embeddings, to_v.out_features)
        nn.init.zeros_(self.table.weight)
        embedding.register_forward_pre_hook(self.remember)

    def remember(self, module: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        """Keep the tokens that the model is reading."""
        self.read = [inputs[0]]

    def forward(self, x: Tensor) -> Tensor:
        return self.to_v(x) + self.table(self.read[0])


def v4_with_values(config: ModelConfig) -> Transformer:
    """v4 whose layers add to their values what a table of their own has for the token (Zhou et al. 2024)."""
    model = v4(config)
    for attention in (module for module in model.modules() if isinstance(module, Attention)):
        attention.to_v = WithValues(attention.to_v, model.token_embedding)  # type: ignore[assignment]
    return model


class Sharpened(Encoding):
    """RoPE, with a sharpness that every head of every layer learns."""

    def __init__(self, rotary: Rotary, n_head: int) -> None:
        super().__init__()
        self.rotary, self.sharpness = rotary, nn.Parameter(torch.zeros(n_head, 1, 1))

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        q, k = self.rotary.transform_qk(q, k, positions)
        return q * self.sharpness.exp(), k


def v4_sharpened(config: ModelConfig) -> Transformer:
    """v4 whose heads learn how sharp they look, all layers alike."""
    model = v4(config)
    assert isinstance(model.encoding, Rotary)
    model.encoding = Sharpened(model.encoding, config.n_head)
    return model


# ---------------------------------------------------------------- ideas for the optimizer


class RoundedMuon(Muon):
    """Muon with 3 rounds of the iteration instead of 5: its moves are less orthogonal, and cheaper."""

    rounds = 3


class CautiousMuon(Muon):
    """Muon with a decay of those weights alone that the step makes smaller anyway."""

    decay = 0.1

    def _moves(self, matrices: list[Tensor], momentum: float) -> Tensor:
        moves = super()._moves(matrices, momentum)
        share = self.param_groups[0]["lr"] * self.decay
        for p, move in zip(matrices, moves, strict=True):
            p.mul_(1 - share * (p * move > 0))
        return moves


class NorMuon(Muon):
    """Muon whose moves have rows of one size, by a running mean; as a whole they stay as large as before."""

    beta = 0.95

    def _moves(self, matrices: list[Tensor], momentum: float) -> Tensor:
        moves = super()._moves(matrices, momentum)
        held = self.state[matrices[0]].setdefault("rows", torch.zeros_like(moves[..., :1]))
        held.lerp_(moves.square().mean(dim=-1, keepdim=True), 1 - self.beta)
        even = moves / held.sqrt().clamp(min=1e-8)
        size = moves.norm(dim=(-2, -1), keepdim=True) / even.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-8)
        return even * size


def with_muon(kind: type[Muon], training: Training) -> None:
    """Put another Muon in the place of a training's own."""
    own = training.optimizers[0].param_groups[0]
    training.optimizers[0] = kind(own["params"], own["lr"], own["weight_decay"], own["momentum"])


def average_tail(training: Training) -> None:
    """After the last step give the model the mean of its weights over the last fifth of the steps."""
    total = training.config.steps
    first = total - round(TAIL * total) + 1
    for p in training.model.parameters():
        if training.step == first:
            p.tail = p.detach().clone()  # type: ignore[attr-defined]
        elif training.step > first:
            p.tail.lerp_(p.detach(), 1 / (training.step - first + 1))  # type: ignore[attr-defined]
            if training.step == total:
                p.data.copy_(p.tail)  # type: ignore[attr-defined]


# ---------------------------------------------------------------- each beside v4 as it is

IDEAS = {
    "as it is": Idea(v4),
    "pairs": Idea(partial(build_with_pairs, "v4")),
    "a table of values in every layer": Idea(v4_with_values),
    "sharpness per head": Idea(v4_sharpened),
    "theta 100": Idea(partial(v4, theta=100.0)),
    "Muon: momentum 0.9": Idea(v4, partial(with_options, muon=0.9)),
    "Muon: momentum 0.85": Idea(v4, partial(with_options, muon=0.85)),
    "Muon: 3 rounds": Idea(v4, partial(with_muon, RoundedMuon)),
    "Muon: rows of one size (NorMuon)": Idea(v4, partial(with_muon, NorMuon)),
    "Muon: cautious decay": Idea(v4, partial(with_muon, CautiousMuon)),
    "AdamW: betas 0.8, 0.95": Idea(v4, partial(with_options, adamw=(0.8, 0.95))),
    "the last fifth averaged": Idea(v4, after=average_tail),
    "batches of 8, more steps": Idea(v4, batch_size=8, share_of_steps=1.5),
    "batches of 18, fewer steps": Idea(v4, batch_size=18, share_of_steps=2 / 3),
}


def try_ideas(
    corpus: Corpus, seeds: Sequence[int], steps: int = 280, ideas: Mapping[str, Idea] = IDEAS
) -> dict[str, Any]:
    """What each idea does to the validation loss of v4, after as many tokens as it has without any.

    corpus   the text; the loss is of its whole validation part, in nats per character
    steps    of v4 as it is, half of what it needs for the target of `recipe`
    returns  "ideas": by name "val_loss" for each seed, its "change" from v4 as it is, the mean over the seeds
             with their standard deviation, and "step_ms" of processor time
    """
    objective = NextToken(corpus, BLOCK_SIZE)
    shape = ModelConfig(corpus.tokenizer.vocab_size, BLOCK_SIZE, n_layer=2, n_head=4, n_embd=64)

    def run(name: str, seed: int) -> dict[str, float]:
        return try_one(ideas[name], objective, shape, steps, seed)

    found = sweep(ideas, seeds, run)
    base = np.array(next(iter(found.values()))["val_loss"])
    for each in found.values():
        change = np.array(each["val_loss"]) - base
        each["change"] = [round(float(change.mean()), 4), round(float(change.std(ddof=len(seeds) > 1)), 4)]
        each["step_ms"] = round(median(each["step_ms"]), 2)
    return {"steps": steps, "seeds": list(seeds), "ideas": found}


def try_one(idea: Idea, objective: NextToken, shape: ModelConfig, steps: int, seed: int) -> dict[str, float]:
    """The loss that one idea comes to from one seed, and the milliseconds of a step."""
    plan = TrainConfig(
        round(steps * idea.share_of_steps),
        idea.batch_size,
        lr_matrix=RATE,
        lr_other=RATE_OTHER,
        seed=seed,
    )
    torch.manual_seed(seed)
    training = Training(idea.body(shape), objective, plan)
    idea.before(training)
    start = time.process_time()
    for _ in range(plan.steps):
        training.make_step()
        idea.after(training)
    step_ms = 1000 * (time.process_time() - start) / plan.steps
    return {"val_loss": round(objective.validate(training.model), 4), "step_ms": step_ms}
