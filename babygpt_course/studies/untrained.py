"""Figures of encodings that need no training."""

from __future__ import annotations

from typing import Any

import torch
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.encodings import Encoding, LearnedPhase, Polar, Quadrature
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import sinusoid
from babygpt.positions import Positions
from babygpt_course.studies.results import Results


def draw_sinusoid(figure: Figure, _: Results) -> None:
    """Draw the fixed table of v3."""
    table = sinusoid(torch.arange(128), 64).numpy()
    title = "Each position has its own pattern: fast waves left, slow ones right"
    plots.draw_matrix(figure.subplots(), table, title, "channel", "position (tokens)", diverging=True)


def draw_rope(figure: Figure, _: Results) -> None:
    """Draw the score of one random query and key, at every pair of positions, under RoPE."""
    draw = torch.Generator().manual_seed(0)
    q, k = (torch.randn(1, 1, 1, 32, generator=draw).expand(1, 1, 48, 32) for _ in range(2))
    positions = torch.arange(48)
    scores = (rotate(q, positions)[0, 0] @ rotate(k, positions)[0, 0].T).numpy()
    title = "RoPE: one query, one key; the score is constant along diagonals"
    labels = (title, "position of the key n", "position of the query m")
    plots.draw_matrix(figure.subplots(), scores, *labels, diverging=True)


def draw_gate(figure: Figure, _: Results) -> None:
    """Draw the note's gate; and the score of q = k = (1, ..., 1) under it, and under two repairs."""
    gate, *squares = figure.subplots(1, 4, width_ratios=(0.8, 1, 1, 1))
    waves = Polar(32).gate(Positions.arange(64)).detach().numpy()
    plots.draw_matrix(gate, waves, "A gate for each dimension", "dimension k", "position i", None, True, 1.0)
    phase = LearnedPhase(1, 32)
    torch.nn.init.constant_(phase.delta, torch.pi / 4)
    kinds: dict[str, Encoding] = {
        "As written: i + j remains": Polar(32),
        "Quadrature: distance alone, even": Quadrature(32),
        "A phase of 45°: left is not right": phase,
    }
    for ax, (title, encoding) in zip(squares, kinds.items(), strict=True):
        labels = (title, "position j of the key", "position i of the query")
        plots.draw_matrix(ax, scores_of_ones(encoding), *labels)


@torch.inference_mode()
def scores_of_ones(encoding: Encoding, n: int = 48, head_dim: int = 32) -> Any:
    """Return the scores of q = k = (1, ..., 1) for all pairs of positions, as shares of the largest."""
    positions = Positions(torch.arange(n), masked=torch.zeros(1, n, dtype=torch.bool))
    ones = torch.ones(1, 1, n, head_dim, dtype=torch.float64)
    q, k = encoding.transform_qk(ones, ones, positions)
    scores = (q @ k.mT)[0, 0]
    return (scores / scores.abs().max()).numpy()
