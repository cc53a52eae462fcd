"""Results of runs that take minutes, as the last run of their command left them in figures/."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "figures"


def stored(name: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Read the results of `python -m babygpt figures NAME`.

    name     of the figure
    folder   where figures are kept
    returns  the numbers, with "command" and "minutes": how they were made, and how long it took
    Raises ValueError naming the command if there are none.
    """
    path = folder / f"{name}.json"
    if not path.is_file():
        raise ValueError(f"no {path}; `python -m babygpt figures {name}` measures it")
    return dict(json.loads(path.read_text(encoding="utf-8")))
