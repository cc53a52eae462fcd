"""Studies of two numbers of a branch code: the stride between branches, and the share of pairs for them."""

from functools import partial
from statistics import mean

import numpy as np
import torch
from matplotlib.figure import Figure

from babygpt import Branches, ModelConfig, TrainConfig, load_corpus
from babygpt.encodings import Encoding, Fourier, Rotary, Rotary2D
from babygpt.encodings.fourier import fourier
from babygpt.metrics.parallel_texts import parallel_loss
from babygpt.models.transformer import Transformer
from babygpt_course.studies import branches
from babygpt_course.studies.branches import BAND, CODES, RIVALS, STRIDE
from babygpt_course.studies.results import Results, load_results
from babygpt_course.studies.seed_plots import draw_by_stride, draw_seed_curves
from babygpt_course.studies.sweep import Scale, Workers, small_config, sweep, train_from_seed

FROM_EVERY_SEED = (1, 8, 1024, 4096)  # strides at which the rivals are trained; STRIDE has its own study
FROM_THE_FIRST = (256, 512)
BAND_STRIDES = (1, 4096)  # of the Fourier code with the six pairs of 2-D RoPE, first seed
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a head's pairs that turn with the branch; 2-D RoPE has 0.5
IN_BAND = "Fourier, RoPE's band"
ALL_STRIDES = tuple(sorted((STRIDE, *FROM_EVERY_SEED, *FROM_THE_FIRST)))
SCALE = Scale()

BLOCK_SIZE, LENGTH, TEXTS = 40, 32, 16  # shorter texts than in `branches`: sixteen share a row
COUNTS = (2, 8, 16)  # texts in a sequence, in training
READ = (1, 2, 8, 16, 32)  # texts in a sequence, when a trained model is measured
SHARE_SCALE = Scale(steps=200)


def stride_plans() -> dict[str, branches.Code]:
    """Return every run by name, and its code: "stride 8: Fourier", "share 0.25: 2-D RoPE"."""
    strides = [(s, code) for s in sorted((*FROM_EVERY_SEED, *FROM_THE_FIRST)) for code in RIVALS]
    strides += [(s, IN_BAND) for s in BAND_STRIDES]
    version, options = CODES["2-D RoPE"]
    shares = {f"share {x:g}: 2-D RoPE": (version, {**options, "branch_share": x}) for x in SHARES if x != 0.5}
    return {f"stride {s}: {code}": branches.with_stride(CODES[code], s) for s, code in strides} | shares


def is_decisive(name: str) -> bool:
    """Return whether a run decides a verdict, and is trained from every seed."""
    return name in {f"stride {stride}: {code}" for stride in FROM_EVERY_SEED for code in RIVALS}


def measure_strides(workers: Workers, scale: Scale = SCALE) -> Results:
    """Train every run of `stride_plans` on two branches; those that decide a verdict from every seed.

    returns  settings, and {"runs": name -> {"alone": one number a seed, "gap 2": ..., "stream 1": ...}}
    """
    corpus, planned = load_corpus("plain-tales", scale.n_chars), stride_plans()

    def run(name: str, seed: int) -> dict[str, float]:
        model = branches.build_branches(corpus, planned[name], seed)
        branches.train_phases(
            model, corpus, [branches.Phase(scale.steps, 2, 2)], seed, f"{name}, seed {seed}"
        )
        return branches.evaluate_branches(model, corpus) | branches.stream_similarity(model, corpus)

    runs = sweep(filter(is_decisive, planned), scale.seeds, run, workers)
    runs |= sweep([name for name in planned if not is_decisive(name)], scale.seeds[:1], run, workers)
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
    runs = {"share 0.5: 2-D RoPE": load_results("branches")["runs"]["two: 2-D RoPE"], **results["runs"]}
    return {x: runs[f"share {x:g}: 2-D RoPE"] for x in SHARES}


def draw_strides(figure: Figure, results: Results) -> None:
    """Draw how alike two branches are at each stride, by the code and inside the model, and their loss."""
    strides = torch.tensor(ALL_STRIDES)
    cosine = torch.cosine_similarity(fourier(torch.zeros(1), BAND), fourier(strides, BAND))
    formula = {int(s): [float(c)] for s, c in zip(strides, cosine, strict=True)}
    streams, losses = by_stride(results, "stream 1"), losses_among_two(results)
    alike = [x for found in streams.values() for seeds in found.values() for x in seeds]
    means = [mean(seeds) for found in losses.values() for seeds in found.values()]
    left, right = figure.subplots(1, 2)
    title = f"The stride moves the code, not the stream: {min(alike):.2f} to {max(alike):.2f} alike"
    curves = {**streams, "both codes, 6 pairs (formula)": formula}
    draw_by_stride(left, curves, title, "cosine (codes; streams after a layer)")
    title = f"Means all within {max(means) - min(means):.2f} nats, from stride 1 to 4096"
    draw_by_stride(right, losses, title, "loss among two (nats per character)")


# ---------------------------------------------------------------- shares, with 2 to 32 texts in a sequence


def build_arm(arm: str, config: ModelConfig) -> Transformer:
    """Return an untrained model of an arm: "share 0.25", "Fourier", or "isolated".

    "share 0" has no pair for the branch: it is the model without a code. "share 1" has none for time.
    """
    C, D = config.n_embd, config.head_dim
    encodings: dict[str, Encoding] = {"Fourier": Fourier(D, C, stride=STRIDE), "isolated": Rotary(D)}
    encodings |= {f"share {x:g}": Rotary2D(D, x, stride=STRIDE) for x in SHARES}
    return Transformer(config, encodings[arm], isolated=arm == "isolated")


def share_plans() -> dict[str, tuple[str, int]]:
    """Return every run by name, "16 texts: share 0.5": its arm, and the texts of a row."""
    arms = [*(f"share {x:g}" for x in SHARES), "Fourier"]
    runs = {f"{n} texts: {arm}": (arm, n) for n in COUNTS for arm in arms}
    return {**runs, "8 texts: isolated": ("isolated", 8)}


def measure_shares(workers: Workers, scale: Scale = SHARE_SCALE) -> Results:
    """Train every run of `share_plans` from every seed on as many texts a step; read few and many with it.

    returns  settings, and {"runs": name -> number of texts in a sequence -> nats per character, one a seed}
    """
    corpus = load_corpus("plain-tales", scale.n_chars)
    config, planned = small_config(corpus, BLOCK_SIZE), share_plans()

    def run(name: str, seed: int) -> dict[str, float]:
        arm, n = planned[name]
        objective = Branches(corpus, BLOCK_SIZE, (n, n), LENGTH)
        plan = TrainConfig(scale.steps, TEXTS, seed=seed)
        model, _ = train_from_seed(partial(build_arm, arm), config, objective, plan, f"{name}, seed {seed}")
        assert isinstance(model, Transformer)
        return {str(n): round(parallel_loss(model, corpus.val, n, LENGTH), 5) for n in READ}

    settings = {**scale.settings(), "block_size": BLOCK_SIZE, "length": LENGTH, "texts": TEXTS}
    return {**settings, "floor": corpus.floor, "runs": sweep(planned, scale.seeds, run, workers)}


def share_table(results: Results) -> str:
    """Return the losses of all runs as Markdown."""
    return branches.runs_table(results, [str(n) for n in READ], "nats per character among so many texts")


def draw_shares(figure: Figure, results: Results) -> None:
    """Draw the loss among as many texts as trained with, by the share of pairs that turn with the branch."""
    ax, runs, many = figure.subplots(), results["runs"], COUNTS[-1]
    losses = {n: np.array([runs[f"{n} texts: share {x:g}"][str(n)] for x in SHARES]).T for n in COUNTS}
    none, half, every = losses[many].mean(axis=0)[[0, 2, 4]]
    title = f"Among {many}: {half:.2f} half and half, {none:.2f} without branch, {every:.2f} without time"
    curves = {f"{n} texts": seeds for n, seeds in losses.items()}
    label = "loss among as many as trained with (nats)"
    draw_seed_curves(ax, [round(100 * x) for x in SHARES], curves, title, label)
    ax.axhline(mean(runs["8 texts: isolated"]["8"]), color="black", lw=1, ls="--", label="isolated")
    ax.set_xlabel("pairs of a head that turn with the branch (%)")
    ax.legend()
