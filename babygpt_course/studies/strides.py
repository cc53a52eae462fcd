"""Study of strides between two branches, from 1 to 4096, under codes of equal numbers of pairs."""

from __future__ import annotations

from statistics import mean

import torch
from matplotlib.figure import Figure

from babygpt import plots
from babygpt.data.corpus import load_corpus
from babygpt.encodings.fourier import fourier
from babygpt_course.studies.branches import (
    BAND,
    CODES,
    RIVALS,
    STRIDE,
    Code,
    Phase,
    build_branches,
    evaluate_branches,
    stream_similarity,
    train_phases,
    with_stride,
)
from babygpt_course.studies.results import Results, load_results
from babygpt_course.studies.sweep import Scale, Workers, in_turn, sweep

FROM_EVERY_SEED = (1, 8, 1024, 4096)  # strides at which the rivals are trained; STRIDE has its own study
FROM_THE_FIRST = (256, 512)
BAND_STRIDES = (1, 4096)  # of the Fourier code with the six pairs of 2-D RoPE, first seed
SHARES = (0.0, 0.25, 0.75, 1.0)  # of a head's pairs that turn with the branch; 2-D RoPE has 0.5
IN_BAND = "Fourier, RoPE's band"
ALL_STRIDES = tuple(sorted((STRIDE, *FROM_EVERY_SEED, *FROM_THE_FIRST)))
SCALE = Scale()


def stride_plans() -> dict[str, Code]:
    """Return every run by name, and its code: "stride 8: Fourier", "share 0.25: 2-D RoPE"."""
    strides = [(s, code) for s in sorted((*FROM_EVERY_SEED, *FROM_THE_FIRST)) for code in RIVALS]
    strides += [(s, IN_BAND) for s in BAND_STRIDES]
    version, options = CODES["2-D RoPE"]
    shares = {f"share {x:g}: 2-D RoPE": (version, {**options, "branch_share": x}) for x in SHARES}
    return {f"stride {s}: {code}": with_stride(CODES[code], s) for s, code in strides} | shares


def is_decisive(name: str) -> bool:
    """Whether a run decides a verdict, and is trained from every seed."""
    return name in {f"stride {stride}: {code}" for stride in FROM_EVERY_SEED for code in RIVALS}


def measure_strides(workers: Workers = in_turn, scale: Scale = SCALE, only: str = "") -> Results:
    """Train every run of `stride_plans` on two branches; those that decide a verdict from every seed.

    only     a piece of the names of the runs that are wanted; "" for all
    returns  settings, and {"runs": name -> {"alone": one number a seed, "gap 2": ..., "stream 1": ...}}
    """
    corpus, planned = load_corpus("plain-tales", scale.n_chars), stride_plans()

    def run(name: str, seed: int) -> dict[str, float]:
        model = build_branches(corpus, planned[name], seed)
        train_phases(model, corpus, [Phase(scale.steps, 2, 2)], seed, f"{name}, seed {seed}")
        return evaluate_branches(model, corpus) | stream_similarity(model, corpus)

    decisive = [name for name in planned if only in name and is_decisive(name)]
    others = [name for name in planned if only in name and not is_decisive(name)]
    runs = sweep(decisive, scale.seeds, run, workers) | sweep(others, scale.seeds[:1], run, workers)
    return {"steps": scale.steps, "seeds": list(scale.seeds), "floor": corpus.floor, "runs": runs}


# ---------------------------------------------------------------- of stored results


def by_stride(results: Results, key: str) -> dict[str, dict[int, list[float]]]:
    """Return one measurement of every code at its strides: code -> stride -> one value a seed.

    results  of this study; what was trained at STRIDE is read from the stored study of branches
    """
    runs = {**load_results("branches")["runs"], **results["runs"]}
    names = {s: "two" if s == STRIDE else f"stride {s}" for s in ALL_STRIDES}
    return {
        code: {s: runs[run][key] for s in ALL_STRIDES if key in runs.get(run := f"{names[s]}: {code}", {})}
        for code in (*RIVALS, IN_BAND)
    }


def losses_among_two(results: Results) -> dict[str, dict[int, list[float]]]:
    """Return the loss of two branches of every code at every stride: code -> stride -> one value a seed."""
    alone, gap = by_stride(results, "alone"), by_stride(results, "gap 2")
    return {
        code: {s: [a + g for a, g in zip(values, gap[code][s], strict=True)] for s, values in found.items()}
        for code, found in alone.items()
    }


def by_share(results: Results) -> dict[float, dict[str, list[float]]]:
    """Return the runs of 2-D RoPE by the share of pairs that turn with the branch, 0 to 1."""
    runs = {**load_results("branches")["runs"], **results["runs"]}
    found = {0.5: runs["two: 2-D RoPE"], **{x: runs[f"share {x:g}: 2-D RoPE"] for x in SHARES}}
    return {share: found[share] for share in sorted(found)}


def draw_strides(figure: Figure, results: Results) -> None:
    """Draw how alike two branches are at each stride, by the code and inside the model, and their loss."""
    strides = torch.tensor(ALL_STRIDES)
    cosine = torch.cosine_similarity(fourier(torch.zeros(1), BAND), fourier(strides, BAND))
    formula = {int(s): [float(c)] for s, c in zip(strides, cosine, strict=True)}
    streams, losses = by_stride(results, "stream 1"), losses_among_two(results)
    lowest, highest = (
        f([x for found in streams.values() for v in found.values() for x in v]) for f in (min, max)
    )
    spread = {c: [mean(v) for v in found.values()] for c, found in losses.items()}
    left, right = figure.subplots(1, 2)
    title = f"The stride moves the code, not the stream: {lowest:.2f} to {highest:.2f} alike"
    plots.draw_by_stride(
        left,
        {**streams, "both codes, 6 pairs (formula)": formula},
        title,
        "cosine (codes; streams after a layer)",
    )
    low, high = (f(x for found in spread.values() for x in found) for f in (min, max))
    title = f"Means all within {high - low:.2f} nats, from stride 1 to 4096"
    plots.draw_by_stride(right, losses, title, "loss among two (nats per character)")
