"""Stored results of the studies, as the last run of `make figures` left them; the JSON files lie here."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

from babygpt.errors import BadInput

Results = dict[str, Any]


def load_results(name: str, folder: Path | None = None) -> Results:
    """Return the results of `python -m babygpt figures NAME`.

    name     of the figure
    folder   where they are kept; by default here, in the package
    returns  the numbers, with "command" and "minutes": how they were made, and how long it took
    Raises BadInput naming the command if there are none.
    """
    path = (folder or files(__name__)) / f"{name}.json"
    if not path.is_file():
        raise BadInput(f"no {path}; `python -m babygpt figures {name}` measures it")
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError, RecursionError) as error:
        raise BadInput(f"{path} holds no results: {error}") from error
