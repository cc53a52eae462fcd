"""Pages quote the numbers that are stored."""

from pathlib import Path

from babygpt_course.studies.results import load_results

ROOT = Path(__file__).resolve().parents[3]


def floors(results):
    means = {name: {n: mean for n, (mean, _) in each.items()} for name, each in results["window"].items()}
    gain = -results["longer"]["tales"][0]
    assert results["longer"]["plain-tales"] == [0, 0]
    return (
        f"reads {results['n_windows']} windows",
        f"needs about {means['plain-tales']['64']:.2f} nats",
        f"{means['tales']['64']:.2f} nats per character in windows of 64 of the tales",
        f"{means['tales']['96']:.2f} in windows of 96",
        f"{means['tales']['192']:.2f} in windows of 192 (standard errors 0.01), where the text's own rate is "
        f"{results['floor']['tales']:.2f}",
        f"{means['plain-tales']['64']:.2f} in windows of 64, with a rate of "
        f"{results['floor']['plain-tales']:.2f}",
        f"the best reader gains {gain:.2f} nats on the same characters of the tales",
        f"It took {results['minutes']} minutes",
    )


def test_the_results_page_gives_the_floors():
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert [phrase for phrase in floors(load_results("floors")) if phrase not in page] == []
