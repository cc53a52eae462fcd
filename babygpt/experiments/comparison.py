"""Results of a comparison of versions: paired differences, as a printed table and as a page to post."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from statistics import median
from typing import Any

from babygpt.experiments.paired import (
    FEWEST_SEEDS,
    LEAST_LOSS,
    LEAST_SHARE,
    RULE,
    UNDECIDED,
    Comparison,
    compare,
    counted_seeds,
    format_mean_sd,
    holm,
    mean_sd,
)
from babygpt.experiments.sweep import RunNumbers
from babygpt.experiments.variants import Candidate, as_json
from babygpt.tables import Table, markdown

RunTable = dict[str, dict[int, RunNumbers]]  # key of a variant -> seed -> what it measured
FIRST_INTERVAL = 3  # seeds; the interval of two is so wide that it only misleads


@dataclass(frozen=True)
class Measure:
    """A number of every run that variants are compared by.

    title  in words
    unit   of the number
    least  smallest difference that counts
    share  whether it is a share, which is shown in per cent and its differences in points
    """

    title: str
    unit: str
    least: float
    share: bool = False

    def mean(self, stats: Mapping[str, float | None] | None) -> str:
        """Return a mean with its standard deviation over seeds as text; a dash where there is none."""
        if not stats or stats.get("mean") is None:
            return "–"
        if not self.share:
            return format_mean_sd(stats, ".3f")
        return (
            format_mean_sd({name: None if x is None else 100 * x for name, x in stats.items()}, ".0f") + "%"
        )

    def difference(self, gap: Mapping[str, Any] | None) -> str:
        """Return a paired difference as text, with its interval and its verdict where it has them."""
        if gap is None:
            return "–"
        scale, digits = (100, 1) if self.share else (1, 3)
        form = f"+.{digits}f"
        # Adding 0.0 turns a rounded -0.0 into 0.0, which has no minus sign.
        numbers = {name: gap[name] for name in ("mean", "low", "high") if gap[name] is not None}
        rounded = {name: round(scale * number, digits) + 0.0 for name, number in numbers.items()}
        if "low" not in rounded:
            return f"{rounded['mean']:{form}} ({counted_seeds(gap['n'])})"
        comparison = Comparison(**rounded, n=gap["n"], p=gap["p"], least=self.least)
        if not gap["verdict"]:
            return f"{comparison:{form}}"
        reason = " after Holm's correction" if gap.get("corrected") else ""
        return f"{comparison:{form}}, {gap['verdict']}{reason}"


MEASURES = {
    "loss": Measure("validation loss", "nats per character", LEAST_LOSS),
    "nelbo": Measure("NELBO", "nats per character", LEAST_LOSS),
    "roles": Measure("right answers", "% of questions", LEAST_SHARE, share=True),
    "whole": Measure("whole names", "% of questions", LEAST_SHARE, share=True),
    "beyond": Measure("change beyond the window", "nats per character", LEAST_LOSS),
}


def comparison_rows(
    candidates: Sequence[Candidate],
    runs: Mapping[str, Mapping[int, RunNumbers]],
    suggesting: Mapping[str, Sequence[int]],
) -> list[dict[str, Any]]:
    """Return one row for each variant: its means, and its differences to the first variant, paired by seed.

    runs        key of a variant -> seed -> what it measured
    suggesting  name of a variant -> seeds that suggested its comparison with the first
    returns     rows with "variant", "title", "rate", "digest", "options", "seeds", "means", "differences" and
                "learned": the encoding's small weights, name -> trained values of all seeds in a row.
                A difference has "mean", "low", "high", "n", "p" and "each" seed's. Its ends are None below
                FIRST_INTERVAL seeds, and its "verdict" is None below FEWEST_SEEDS
    """
    rows, baseline = list[dict[str, Any]](), runs.get(candidates[0].key, {})
    for candidate in candidates:
        own = runs.get(candidate.key, {})
        means, gaps = dict[str, Any](), dict[str, Any]()
        for name, measure in MEASURES.items():
            values = [run[name] for run in own.values() if run.get(name) is not None]
            if not values:
                continue
            means[name] = mean_sd(values)
            each = {
                seed: run[name] - baseline[seed][name]
                for seed, run in own.items()
                if None not in (run.get(name), baseline.get(seed, {}).get(name))
            }
            if each and candidate is not candidates[0]:
                is_suggested = bool(suggesting.get(candidate.name))
                comparison = compare(list(each.values()), measure.least, suggested=is_suggested)
                gaps[name] = {"comparison": comparison, "each": each}
        rows.append(
            {
                "variant": candidate.name,
                "title": candidate.title,
                "rate": candidate.rate,
                "digest": candidate.digest,
                "options": {option: as_json(value) for option, value in candidate.options},
                "seeds": list(own),
                "means": means,
                "differences": gaps,
                "learned": learned_values(own.values()),
            }
        )
    add_verdicts([gap for row in rows for gap in row["differences"].values()])
    return rows


def learned_values(runs: Iterable[RunNumbers]) -> dict[str, list[float]]:
    """Return name of a weight -> its trained values in all runs of a variant, one after the other."""
    values: dict[str, list[float]] = {}
    for run in runs:
        for name, trained in run.get("learned", {}).items():
            values.setdefault(name, []).extend(trained)
    return values


def add_verdicts(gaps: Sequence[dict[str, Any]]) -> None:
    """Replace the comparison in each of these differences by its numbers and its verdict, in place.

    All differences of a table are one family: a verdict stands if it does after Holm's correction, and
    "corrected" says that a difference is undecided for this reason alone.
    """
    comparisons: list[Comparison] = [gap["comparison"] for gap in gaps]
    for gap, stands in zip(gaps, holm([comparison.p for comparison in comparisons]), strict=True):
        comparison = gap.pop("comparison")
        n, shown = comparison.n, comparison.n >= FIRST_INTERVAL
        gap |= {"mean": comparison.mean, "n": n, "p": comparison.p if shown else None}
        gap |= {"low": comparison.low if shown else None, "high": comparison.high if shown else None}
        words = {"below": "lower", "above": "higher"}
        word = words.get(comparison.side, UNDECIDED)
        gap["corrected"] = word != UNDECIDED and not stands
        gap["verdict"] = (UNDECIDED if gap["corrected"] else word) if n >= FEWEST_SEEDS else None


# ---------------------------------------------------------------- as text


@dataclass(frozen=True)
class VersionComparison:
    """Results of a comparison, as they are stored; a notebook shows them as a table.

    results  "settings", "rows" with means and paired differences, "runs" with curves, "costs", "failed", ...
    """

    results: Mapping[str, Any]

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each variant: its means, and its differences to the first."""
        return list(self.results["rows"])

    def __str__(self) -> str:
        return "\n".join(text_lines(self.results))

    def _repr_html_(self) -> str:
        tables = (mean_cells(self.results), difference_cells(self.results))
        shown = "".join(Table(*split_heading(cells), stable=1)._repr_html_() for cells in tables)
        return shown + "".join(f"<p>{escape(sentence)}</p>" for sentence in about(self.results))


def measures_of(results: Mapping[str, Any]) -> dict[str, Measure]:
    """Return the measures that at least one variant has."""
    names = {name for row in results["rows"] for name in row["means"]}
    return {name: measure for name, measure in MEASURES.items() if name in names}


def mean_cells(results: Mapping[str, Any]) -> list[list[str]]:
    """Return a table of means over seeds and of costs: the heading, and a row for each variant."""
    measures, first = measures_of(results), results["rows"][0]["variant"]
    titles = [f"{measure.title} ({measure.unit})" for measure in measures.values()]
    cells = [["", *titles, "ms a step", f"to {first}'s", "weights"]]
    for row in results["rows"]:
        cost = results["costs"][row["variant"]]
        means = [measure.mean(row["means"].get(name)) for name, measure in measures.items()]
        span = "" if row is results["rows"][0] else " ({:.2f} to {:.2f})".format(*cost["ratio_span"])
        numbers = [f"{cost['ms']:.1f}", f"{cost['ratio']:.2f}{span}", f"{cost['parameters']:,}"]
        cells.append([row["variant"], *means, *numbers])
    return cells


def difference_cells(results: Mapping[str, Any]) -> list[list[str]]:
    """Return a table of paired differences to the first variant: the heading, and a row for each other."""
    measures, first = measures_of(results), results["rows"][0]["variant"]
    titles = [f"{m.title} ({'points' if m.share else m.unit})" for m in measures.values()]
    cells = [[f"less {first}", *titles]]
    for row in results["rows"][1:]:
        gaps = row["differences"]
        cells.append([row["variant"], *(m.difference(gaps.get(name)) for name, m in measures.items())])
    return cells


def text_lines(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines to print: means in columns, each difference in a line, and what to know about them."""
    cells = mean_cells(results)
    cells[0] = [title.partition(" (")[0] for title in cells[0]]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        yield "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
    heading, *rows = difference_cells(results)
    for variant, *gaps in rows:
        yield f"{variant} {heading[0]}:"
        yield from (f"  {title}: {gap}" for title, gap in zip(heading[1:], gaps, strict=True))
    yield from about(results)


def about(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences on what a reader of the numbers has to know: seeds, rates, failures, gaps."""
    seeds, failed = results["seeds"], results["failed"]
    listed = ", ".join(map(str, seeds))
    yield from about_variants(results)
    yield from about_learned(results)
    yield f"Seeds: {listed}; all variants of a seed saw the same batches. After ±: deviation over seeds."
    yield from about_looks(results)
    if len(seeds) < FEWEST_SEEDS:
        are, they_decide = ("are", "they decide") if seeds[1:] else ("is", "it decides")
        counted = counted_seeds(len(seeds))
        yield f"{counted} {are} a first look: {they_decide} nothing, and {FEWEST_SEEDS} may."
    else:
        yield RULE
        yield "A verdict also stands after Holm's correction for all differences of this table."
    yield about_rates(results)
    measures = measures_of(results)
    if "roles" not in measures:
        corpus = results["settings"]["corpus"]
        yield f"{corpus} asks no questions that a window holds, so there are losses only."
    if "beyond" in measures:
        lacking = [row["variant"] for row in results["rows"] if "beyond" not in row["means"]]
        length = results["settings"]["block_size"]
        yield (
            f"Beyond the window of {length} characters: the loss of a character after up to {4 * length} "
            "characters, less its loss within one window."
        ) + (f" {', '.join(lacking)} cannot read that far." if lacking else "")
    yield (
        "ms a step: the median of some steps, made in turn with the other variants. In brackets stands the "
        "middle half of the ratios; on a busy machine another measurement may differ by more."
    )
    for name, reason in failed.items():
        yield f"{name} failed and is left out: {reason}. The same command makes it again."


def about_variants(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on what each variant is: its title, and the digest of its file."""
    words = []
    for row in results["rows"]:
        title = "" if row["variant"].startswith(row["title"]) else row["title"]
        if row["digest"]:
            quoted = f"“{title}”, " if title else ""
            words.append(f"{row['variant']} is {quoted}a file with digest {row['digest'][:12]}")
        elif title:
            words.append(f"{row['variant']} is {title}")
    if words:
        yield f"{'; '.join(words)}."


def about_learned(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each variant with small trained weights: between which values they ended."""
    for row in results["rows"]:
        spans = [
            f"{name} {min(values):.3g} to {max(values):.3g}, median {median(values):.3g}"
            for name, values in row.get("learned", {}).items()
        ]
        if spans:
            yield f"{row['variant']} has learned, over all seeds: {'; '.join(spans)}."


def about_looks(results: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence on the seeds that were looked at before, and on which comparisons they suggested."""
    earlier = results["earlier_seeds"]
    if not earlier:
        yield "This file holds no earlier look at these variants; it knows nothing of looks in other files."
        return
    names = [name for name, seeds in results["suggesting"].items() if seeds]
    listed = ", ".join(map(str, earlier))
    yield f"{counted_seeds(len(earlier))} {'were' if earlier[1:] else 'was'} looked at before: {listed}."
    if names:
        yield (
            f"They suggested the comparison of {', '.join(names)}, so this one leaves it undecided: "
            "--confirm takes twelve other seeds."
        )
    elif set(earlier) & set(results["seeds"]):
        yield "That look had the very same runs of these variants, so it suggests nothing more."
    else:
        yield "None of them is among the seeds of this table."


def about_rates(results: Mapping[str, Any]) -> str:
    """Return a sentence on the learning rates: tuned for every variant alike, or for none."""
    tuning, chosen = results["tuning"], {row["variant"]: row["rate"] for row in results["rows"]}
    of_settings = (
        f"{results['settings']['lr_matrix']:g} of matrices and {results['settings']['lr_other']:g} of other"
    )
    if not tuning:
        return f"Peak learning rates are {of_settings} weights for every variant, tuned for none."
    rates, seeds = (", ".join(f"{x:g}" for x in tuning[name]) for name in ("rates", "seeds"))
    words = ", ".join(f"{name} x {rate:g}" for name, rate in chosen.items())
    edges = [name for name, rate in chosen.items() if rate in (min(tuning["rates"]), max(tuning["rates"]))]
    beyond = f" For {', '.join(edges)} the best rate is the last one that was tried." if edges else ""
    return (
        f"Every variant took its best peak learning rates on further seeds ({seeds}), among {rates} times "
        f"{of_settings} weights: {words}.{beyond}"
    )


def card(results: Mapping[str, Any], picture: str = "") -> str:
    """Return the results as one page of Markdown that a person can post.

    picture  the name of its picture, in the same folder
    """
    names = [row["variant"] for row in results["rows"]]
    settings, n = results["settings"], len(results["seeds"])
    seeds = counted_seeds(n)
    title = f"# {', '.join(names[:-1])} and {names[-1]} on {settings['corpus']}, {seeds}\n"
    shape = (
        f"Each variant learned to {results['goal']} in {settings['steps']} steps of {settings['batch_size']} "
        f"windows, from {seeds}: n_layer {settings['n_layer']}, n_head {settings['n_head']}, "
        f"n_embd {settings['n_embd']}, windows of {settings['block_size']} characters."
    )
    floor = f" No model can reach a loss below {results['floor']:.3f}." if results["floor"] else ""
    origin = f"`{results['command']}`: " if results["command"] else ""
    minutes = f"{results['minutes']:.1f} minutes on {results['device']} ({results['threads']} threads)"
    parts = [
        title,
        shape + floor + "\n",
        f"![Learning curves and paired differences]({picture})\n" if picture else "",
        markdown(*split_heading(mean_cells(results))),
        "The same numbers as paired differences, seed by seed:\n",
        markdown(*split_heading(difference_cells(results))),
        "".join(f"- {sentence}\n" for sentence in about(results)),
        f"{origin}{minutes}, babygpt {results['babygpt']}.\n",
    ]
    return "\n".join(part for part in parts if part)


def split_heading(cells: Sequence[Sequence[str]]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return the heading of a table, and its rows."""
    return cells[0], cells[1:]
