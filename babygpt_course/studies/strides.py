"""Study of the stride between branches: what two texts lose, and how alike they are inside a model."""

from statistics import mean

import torch
from matplotlib.figure import Figure

from babygpt import load_corpus
from babygpt.encodings.fourier import fourier
from babygpt.experiments.paired import differences, exceeds, has_more_seeds
from babygpt.experiments.sweep import StudySize, Workers, sweep
from babygpt_course.studies import branches
from babygpt_course.studies.branches import BAND, CODES, RIVALS, STRIDE, losses_among
from babygpt_course.studies.results import Results, load_results
from babygpt_course.studies.seed_plots import draw_by_stride

STRIDES = (1, 8, 1024, 4096)  # the study `branches` trains at STRIDE
NAMES = {s: "two" if s == STRIDE else f"stride {s}" for s in sorted((STRIDE, *STRIDES))}  # of their runs
SCALE = StudySize()


def stride_plans() -> dict[str, branches.Code]:
    """Return every run by name, and its code: "stride 8: Fourier"."""
    return {f"{NAMES[s]}: {code}": branches.with_stride(CODES[code], s) for s in STRIDES for code in RIVALS}


def measure_strides(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train every run of `stride_plans` on two branches, from every seed.

    returns  settings, and {"runs": name -> {"alone": one number a seed, "gap 2": ..., "stream 1": ...}}
    """
    corpus, planned = load_corpus("plain-tales", scale.n_chars), stride_plans()

    def run(name: str, seed: int) -> dict[str, float]:
        model, two = branches.build_branches(corpus, planned[name], seed), branches.Phase(scale.steps, 2, 2)
        branches.train_phases(model, corpus, [two], seed, f"{name}, seed {seed}")
        return branches.evaluate_branches(model, corpus) | branches.stream_similarity(model, corpus)

    runs = sweep(planned, scale.seeds, run, workers)
    return {"steps": scale.steps, "seeds": list(scale.seeds), "floor": corpus.floor, "runs": runs}


# ---------------------------------------------------------------- of stored results


def with_stride_128(results: Results) -> Results:
    """Return the results of this study with the runs of the stored study of branches added."""
    return {**results, "runs": {**load_results("branches")["runs"], **results["runs"]}}


def by_stride(results: Results, key: str) -> dict[str, dict[int, list[float]]]:
    """Return one measurement of either code at each stride: code -> stride -> one value a seed."""
    runs = with_stride_128(results)["runs"]
    return {code: {s: runs[f"{name}: {code}"][key] for s, name in NAMES.items()} for code in RIVALS}


def losses_among_two(results: Results) -> dict[str, dict[int, list[float]]]:
    """Return the loss of two branches of either code at each stride: code -> stride -> one value a seed."""
    found = with_stride_128(results)
    return {code: {s: losses_among(found, f"{n}: {code}", 2) for s, n in NAMES.items()} for code in RIVALS}


def stride_costs(results: Results) -> dict[str, dict[int, list[float]]]:
    """Return how much more either code loses than at STRIDE: code -> stride -> one difference a seed."""
    return {
        code: {s: differences(seeds, losses[STRIDE]) for s, seeds in losses.items() if s != STRIDE}
        for code, losses in losses_among_two(results).items()
    }


def draw_strides(figure: Figure, results: Results) -> None:
    """Draw how alike two branches are at each stride, by the code and inside the model, and their loss."""
    strides = torch.tensor(list(NAMES))
    cosine = torch.cosine_similarity(fourier(torch.zeros(1), BAND), fourier(strides, BAND))
    formula = {int(s): [float(c)] for s, c in zip(strides, cosine, strict=True)}
    streams = by_stride(results, "stream 1")
    left, right = figure.subplots(1, 2)
    added, turned = ([x for seeds in streams[code].values() for x in seeds] for code in RIVALS)
    title = f"Streams are {min(added):.2f} to {max(added):.2f} alike under Fourier codes\n"
    title += f"and {min(turned):.3f} or more under 2-D RoPE, at any stride"
    curves = {**streams, "both codes, 6 pairs (formula)": formula}
    draw_by_stride(left, curves, title, "cosine (codes; streams after a layer)")
    costs = stride_costs(results)
    family = [more for of_code in costs.values() for more in of_code.values()]
    dear = [
        f"stride {s} costs {mean(more):.2f} ({code})"
        for code, of_code in costs.items()
        for s, more in of_code.items()
        if exceeds(more, suggested=has_more_seeds(more, family)) == "holds"
    ]
    title = "Compared with stride 128:\n" + ("; ".join(dear) or "no cost that counts is decided")
    draw_by_stride(right, losses_among_two(results), title, "loss among two (nats per character)")
