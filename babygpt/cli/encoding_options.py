"""Flags of `train` for the options of an encoding, one for each argument of its class.

PyTorch is imported when a table of versions is needed, so that `--help` need not wait for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, get_args

import click

from babygpt.cli import options as shell
from babygpt.config import annotations_of
from babygpt.errors import BadInput

if TYPE_CHECKING:
    from babygpt.models.versions import Version

OPTIONS = "babygpt.encoding_options"  # key in a context's meta
# Options of `build` itself, which belong to no encoding.
BUILD_FLAGS = {"per_layer": False, "layers": [], "isolated": False}
HELP = {
    "theta": "base of the frequencies",
    "kernel": '"relative": K of the distance; "absolute": K of the position, as in the note',
    "alphas": "weights of K's scales, above 0",
    "sigmas": "widths of K's scales in tokens, above 0; a fixed one may be inf",
    "learnable": "whether K, or the table of branch codes, is trained",
    "max_positions": "size of the note's table: positions from here on are refused",
    "stride": "distance between neighbouring branches, in positions",
    "band": "channels after which the frequencies begin again  [default: n_embd]",
    "branch_share": "share of the frequency pairs that rotate with the branch, between 0 and 1",
    "max_branches": "rows of the table: the most branches that it can tell apart",
    "alpha": "factor of MASK tokens",
    "steepness": "factor of ALiBi's slopes; 1 is the paper's value",
    "n_buckets": "number of buckets of distances",
    "furthest": "distance from which on all distances share the last bucket, in tokens",
    "both_ways": "use half of the buckets for later tokens, in a bidirectional model",
    "width": "hidden units of the network",
    "threshold": "first value of the threshold, in tokens",
    "factor": "length of texts, as a multiple of the trained window",
    "share": "share of the frequency pairs that rotate, the quickest ones",
    "back": "positions between a token and the one that is added to it; 0 adds the token itself",
    "every": "layers number `every`, twice that, ... have no encoding",
}


def version_of(name: Any) -> Version:
    """Return the version of a name or a class, such as mine.py:Sandwich, whose file is then run."""
    from babygpt.models.versions import require_version

    return require_version(name)


def versions() -> dict[str, Version]:
    """Return the table of versions. The first call imports PyTorch."""
    from babygpt.models.versions import VERSIONS

    return VERSIONS


def is_own(word: str) -> bool:
    """Return whether a word names an encoding from outside: a file of Python, or an installed package's."""
    from babygpt.models.own_encodings import installed_encodings, is_file_and_class

    return word not in versions() and (is_file_and_class(word) or word in installed_encodings())


def encoding_flags(named: Collection[str], others: Collection[str] = ()) -> dict[str, click.Option]:
    """Return the options of all encodings that `train` knows, hidden unless those of a version in `named`.

    others  names of the command's other options
    Raises BadInput for an encoding from outside that cannot be used, or that has an option of another's name.
    """
    flags = {}
    own = {word: version_of(word) for word in named if is_own(word) and not word.endswith(".py")}
    table = {**versions(), **own}
    for word in sorted(table, key=lambda version: version in named):  # their defaults come last
        for name, default in table[word].options().items():
            if word in own and name in others:
                raise BadInput(f"{word}: train has a flag {shell.flag_of(name)} already; rename the option")
            if form := option_form(table[word], name, default):
                flag = "--learnable/--fixed" if name == "learnable" else shell.flag_of(name)
                if name != "learnable" and default is True:
                    flag += f"/--no-{flag[2:]}"
                flags[name] = click.Option([flag, name], hidden=word not in named, **form)
    return flags


def option_form(version: Version, name: str, default: Any) -> dict[str, Any] | None:
    """Return how an encoding's option is made a flag; None for what cannot be typed, such as a list.

    The annotation of an encoding from outside decides where its default does not: `strength: float = 1`.
    """
    own: Any = version.own
    if own is None:
        return shell.form_of(default, HELP.get(name, ""))
    parts = default if isinstance(default, tuple) else (default,)
    if not parts or not all(part is None or isinstance(part, bool | int | float | str) for part in parts):
        return None
    form = shell.form_of(default, sentence_of(own, name))
    annotation = annotations_of(own).get(name)
    kinds = [kind for kind in (float, int, str) if kind in (annotation, *get_args(annotation))]
    return form | {"type": kinds[0]} if kinds and not form["is_flag"] else form


def sentence_of(encoding: type, name: str) -> str:
    """Return the line of a class's docstring that describes an argument: "name  ..." or "name: ..."."""
    line = re.search(rf"^\s*{name}(?:\s\s+|\s*:\s*)(\S.*)$", encoding.__doc__ or "", flags=re.M)
    return line[1].strip() if line else ""


def defaults_of(version: str, layers: Sequence[Any] | None) -> dict[str, Any]:
    """Return the options of a version's encoding, or of those of its layers: name -> default.

    layers  names of versions or classes; unknown ones are left out
    """
    rows = []
    for layer in layers or [version]:
        with suppress(BadInput):
            rows.append(version_of(layer))
    return {name: default for row in rows for name, default in row.options().items()}


def build_options(command: shell.Command) -> shell.Command:
    """Give a command the options of `build` itself, which belong to no encoding."""
    options = [
        click.option("--per-layer", is_flag=True, help="give each layer an encoding of its own"),
        click.option(
            "--layers", default="", callback=shell.list_of(str), help="their versions, as v4,v4,v4,nope"
        ),
        click.option("--isolated", is_flag=True, help="v6: let each text see nothing but itself"),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def chosen_options(ctx: click.Context, version: str) -> dict[str, Any]:
    """Return the options on the command line, as `build` takes them.

    Raises BadInput, naming the flag and the versions that have it, for an option that the version lacks.
    """
    chosen = {
        name: ctx.params[name] for name in shell.typed_parameters(ctx, (*ctx.meta[OPTIONS], *BUILD_FLAGS))
    }
    defaults = defaults_of(version, chosen.get("layers"))
    for name in chosen:
        if name not in (*defaults, *BUILD_FLAGS):
            owners = [owner for owner, kind in versions().items() if name in kind.options()]
            raise BadInput(f"{shell.flag_of(name)}: {version} has no such choice; {', '.join(owners)} have")
    if chosen.get("isolated") and not version_of(version).branches:
        raise BadInput(f"--isolated: a {version} reads one text; versions of branches, such as v6, have it")
    return chosen


def built_with(ctx: click.Context, version: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every flag in a model that was built with these options, None where it has none.

    Lists, which JSON makes of tuples, are tuples again. Layers are names.
    """
    layers = options.get("layers", [])
    values = {**dict.fromkeys(ctx.meta[OPTIONS]), **BUILD_FLAGS, **defaults_of(version, layers), **options}
    values = {name: tuple(x) if isinstance(x, list) else x for name, x in values.items()}
    return values | {"layers": [version_of(layer).name for layer in layers]}
