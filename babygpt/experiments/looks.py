"""Seeds of a comparison: which to take, and which were looked at before and so cannot decide it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from babygpt.errors import BadInput
from babygpt.experiments.sweep import SEEDS

FIRST_LOOK = 3  # seeds, unless a number is given
CONFIRM_SEEDS = tuple(range(3001, 3013))  # 2001 to 2012 are kept for the course's own studies
TUNING_SEEDS = (4001, 4002, 4003)  # choose a learning rate, and are never compared


def seeds_of(count_or_seeds: int | Sequence[int] | None = None, confirm: bool = False) -> tuple[int, ...]:
    """Return the seeds of a comparison: a number of the course's seeds, or the seeds themselves.

    count_or_seeds  by default FIRST_LOOK seeds, and all that there are to confirm
    confirm  take the seeds that confirm in place of the first ones
    Raises BadInput for a number that is too large, and for a seed that is named twice.
    """
    default = CONFIRM_SEEDS if confirm else SEEDS
    if count_or_seeds is None:
        return default if confirm else default[:FIRST_LOOK]
    if not isinstance(count_or_seeds, int):
        seeds = tuple(count_or_seeds)
        if twice := [seed for seed in seeds if seeds.count(seed) > 1]:
            raise BadInput(f"seed {twice[0]} is named twice: one run of a variant from each seed is enough")
        if not seeds:
            raise BadInput("0 seeds: a comparison needs at least 1")
        return seeds
    if not 1 <= count_or_seeds <= len(default):
        raise BadInput(
            f"seeds ({count_or_seeds}) is a number from 1 to {len(default)}, or a list with commas: 1337,2027"
        )
    return default[:count_or_seeds]


def suggesting_seeds(
    looks: Sequence[Mapping[str, Any]], pair: Mapping[str, str], seeds: Sequence[int]
) -> list[int]:
    """Return those of some seeds that suggested the comparison of two variants, because of an earlier look.

    A look at the very same runs suggests nothing. A look at fewer or more seeds does, and so does one at
    another rate, or at another file of an encoding of this name.

    looks  earlier looks: {"variants": name -> key, "seeds": [...]}, the first one first
    pair   name -> key of both variants
    """
    suggesting: set[int] = set()
    for look in looks:
        if not pair.keys() <= look["variants"].keys():
            continue
        if is_same_look(look, pair, seeds):
            break  # what came later did not suggest it
        suggesting |= set(look["seeds"])
    return [seed for seed in seeds if seed in suggesting]


def is_same_look(look: Mapping[str, Any], pair: Mapping[str, str], seeds: Sequence[int]) -> bool:
    """Return whether a look at both variants saw the very runs that these keys and seeds name."""
    return set(look["seeds"]) == set(seeds) and all(
        look["variants"][name] == key for name, key in pair.items()
    )


def read_comparison(path: Path, finished: bool = False) -> dict[str, Any]:
    """Return what a comparison stored.

    finished  whether it must hold results, and not only the settings of runs that are being made
    Raises BadInput if the file is missing, unfinished, or holds something else.
    """
    try:
        results = dict(json.loads(path.read_text(encoding="utf-8")))
        looks = [(dict(look["variants"]), list(look["seeds"])) for look in results["looks"]]
        settings = dict(results["settings"])
    except FileNotFoundError:
        raise BadInput(f"no file at {path}; `python -m babygpt compare` writes it") from None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        raise BadInput(f"{path} holds no results of a comparison; choose another path") from None
    if finished and not (looks and settings and "rows" in results):
        raise BadInput(f"{path} belongs to a comparison that has not ended: the same command continues it")
    return results


def earlier_looks(path: Path, settings: Mapping[str, Any], runs: Path) -> list[dict[str, Any]]:
    """Return the looks that a results file remembers; none where there is no file.

    runs  the file of the runs; a comparison that has neither looks nor runs may be replaced by any other
    Raises BadInput naming a setting in which its runs differ from those that are planned.
    """
    if not path.exists():
        return []
    results = read_comparison(path)
    if not results["looks"] and not runs.exists():
        return []
    for name in settings.keys() - {"corpus"}:
        if results["settings"].get(name) != settings[name]:
            shown = "corpus" if name in ("text", "val_tokens", "questions") else name
            theirs, ours = results["settings"].get(shown), settings[shown]
            raise BadInput(
                f"--{shown.replace('_', '-')} ({ours}) is not that of {path} ({theirs}); choose another --out"
            )
    return list(results["looks"])


def require_unseen(
    looks: Sequence[Mapping[str, Any]], keys: Mapping[str, str], seeds: Sequence[int], path: Path
) -> None:
    """Raise BadInput unless some seeds can confirm what an earlier look at the variants suggested.

    keys  name of a variant -> its key, which names its runs; the first variant first
    path  of the results, for the message
    """
    first, *rivals = keys
    pairs = [{first: keys[first], rival: keys[rival]} for rival in rivals]
    of_pairs = [(look, pair) for pair in pairs for look in looks if pair.keys() <= look["variants"].keys()]
    if all(is_same_look(look, pair, seeds) for look, pair in of_pairs):
        listed = " and ".join(keys)
        raise BadInput(f"{path} holds no earlier comparison of {listed} to confirm: leave out --confirm")
    if overlap := sorted({seed for pair in pairs for seed in suggesting_seeds(looks, pair, seeds)}):
        listed = ", ".join(map(str, overlap))
        raise BadInput(f"seeds {listed} were looked at before in {path}: name twelve others with --seeds")
