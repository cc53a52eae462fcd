"""Pages quote the numbers that are stored."""

from collections.abc import Callable
from pathlib import Path
from statistics import mean

import pytest

from babygpt_course.studies import board, polar_repairs
from babygpt_course.studies.results import load_results

ROOT = Path(__file__).resolve().parents[3]


def span(numbers, form, times=1.0):
    """Return the smallest and the largest of some numbers, in words."""
    return f"{times * min(numbers):{form}} to {times * max(numbers):{form}}"


def ladder(found):
    rows = found["board"]
    past = {name: mean(row["past"]) for name, row in rows.items() if None not in row["past"]}
    rise = {name: mean(row["4x"]) - mean(row["1x"]) for name, row in rows.items() if row["masks"]}
    knowing = {name: sum(x >= board.KNOWN for x in row["roles"]) for name, row in rows.items()}
    told = {"v4": 6, "v5 fixed": 6, "v3": 5, "v6": 4, "alibi": 3, "learned": 2, "v5": 1, "pope": 0, "nope": 0}
    assert {name: knowing[name] for name in told} == told
    assert max(map(abs, rows["v5"]["past"] + rows["v5 fixed"]["past"])) < 0.001
    assert min(max(rows[name]["whole"]) for name in ("v3", "v6", "alibi", "v5 fixed")) >= 0.715
    assert set(board.front(found, masks=False)) == {"v3", "v4", "v5 fixed", "v6", "alibi"}
    return (
        f"in {found['minutes']:.0f} minutes",
        f"lowest mean is {min(mean(row['1x']) for row in rows.values()):.3f}",
        f"loses {found['window_floor']:.3f}",
        f"and NoPE by {mean(rows['nope']['1x']) - mean(rows['v4']['1x']):.2f}",
        f"RoPE writes {span(rows['v4']['whole'], '.0f', 100)}% of them",
        f"ALiBi loses {past['alibi']:.2f}, PoPE {past['pope']:.2f}, v6 {past['v6']:.2f}",
        f"RoPE {past['v4']:.2f}, NoPE {past['nope']:.2f}, the sinusoid {past['v3']:.2f}",
        f"rises by {rise['v7']:.2f}, RoPE's by {rise['v7-rope']:.2f} and PoPE's by {rise['v7-pope']:.2f}",
    )


def polar(found):
    both = (found["val_loss"], polar_repairs.gaps(found))
    loss, gaps = ({v: mean(x) for v, x in each.items()} for each in both)
    return (
        f"gains {-gaps['v7-random', 'v7-exact']:.2f}",
        f"rises by {gaps['v7-last', 'v7-random']:.2f}, of which {-gaps['v7-keys', 'v7-last']:.2f} come back",
        f"costs {-gaps['v7-keys, α = 1', 'v7-keys']:.2f} against α = 1",
        f"gains {-gaps['v7-quadrature', 'v7-keys']:.2f} nats",
        f"{-gaps['v7', 'v7-quadrature']:.2f} more (all decided)",
        f"level with RoPE ({loss['v7']:.3f} and {loss['v7-rope']:.3f}, undecided)",
        f"{loss['v7']:.3f} and {loss['v7, α = 1']:.3f} (undecided)",
        f"PoPE has {loss['v7-pope']:.3f}",
        f"is {gaps['one side', 'v7-quadrature']:.2f} above quadrature's",
        f"it is {-gaps['both sides', 'v7-quadrature']:.2f} below (decided)",
    )


def names(found):
    short, long = (f"v4, plain-tales, {steps} steps" for steps in (450, 1800))
    later = sorted(found["whole"][long])
    return (
        f"({span(sorted(found['accuracy'][short])[2:], '.0f', 100)}%)",
        f"The second letter costs {span([letters[1] for letters in found['letters'][short]], '.2f')} nats",
        f"{later[6]:.0%} of the names, three write {100 * later[3]:.0f} to {later[5]:.0%}",
        f"three still guess ({span(later[:3], '.0f', 100)}%)",
        f"third letter differs, {span(found['third'][short], '.0f', 100)}%",
        f"only the vowel differs, {span(found['vowel'][short], '.0f', 100)}%",
    )


def order(found):
    learned = (sum(share > 0.9 for share in shares) for shares in found["fed"].values())
    *_, few, many, marked, marked_many = learned
    runs = found["race"]["far"]["v3"]
    far = {name: mean(run[name] for run in runs) for name in runs[0]}
    return (
        f"in {found['minutes']} minutes",
        f"from {few} of 14 seeds after 300 steps and from {many} after 600",
        f"from {marked} and {marked_many}",
        f"costs v3 {far['inside']:.2f} nats inside its window and {far['moved']:.2f} at 128 to 191",
        f"{far['moved, slow put back']:.2f} with the slow pairs put back, and",
        f"and {far['moved, quick put back']:.2f} with the quick ones",
    )


def floors(found):
    at = {name: {n: mean for n, (mean, _) in each.items()} for name, each in found["window"].items()}
    gain = -found["longer"]["tales"][0]
    assert found["longer"]["plain-tales"] == [0, 0]
    return (
        f"reads {found['n_windows']} windows",
        f"needs about {at['plain-tales']['64']:.2f} nats",
        f"{at['tales']['64']:.2f} nats per character in windows of 64 of the tales",
        f"{at['tales']['96']:.2f} in windows of 96",
        f"{at['tales']['192']:.2f} in windows of 192 (standard errors 0.01), where the text's own rate is "
        f"{found['floor']['tales']:.2f}",
        f"{at['plain-tales']['64']:.2f} in windows of 64, with a rate of {found['floor']['plain-tales']:.2f}",
        f"the best reader gains {gain:.2f} nats on the same characters of the tales",
        f"It took {found['minutes']} minutes",
    )


PHRASES: dict[str, Callable] = {
    **{"ladder": ladder, "polar": polar, "names": names},
    **{"order": order, "floors": floors},
}


@pytest.mark.parametrize("name", PHRASES)
def test_the_results_page_quotes_the_stored_numbers(name):
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert [phrase for phrase in PHRASES[name](load_results(name)) if phrase not in page] == []
