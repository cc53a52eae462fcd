"""Flags of `train` for the options of an encoding, one for each argument of its class.

PyTorch is imported when a table of versions is needed, so that `--help` need not wait for it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from babygpt.cli import options as shell
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
    "every": "layers number `every`, twice that, ... have no encoding",
}


def versions() -> dict[str, Version]:
    """Return the table of versions. The first call imports PyTorch."""
    from babygpt.models.versions import VERSIONS

    return VERSIONS


def encoding_flags(named: Collection[str]) -> dict[str, click.Option]:
    """Return the options of all encodings that `train` knows, hidden unless those of a version in `named`."""
    flags = {}
    for version in sorted(versions(), key=lambda version: version in named):  # their defaults come last
        for name, default in versions()[version].options().items():
            flag = "--learnable/--fixed" if name == "learnable" else shell.flag_of(name)
            form = shell.form_of(default, HELP.get(name, ""))
            flags[name] = click.Option([flag, name], hidden=version not in named, **form)
    return flags


def defaults_of(version: str, layers: Sequence[str] | None) -> dict[str, Any]:
    """Return the options of a version's encoding, or of those of its layers: name -> default."""
    kinds = [versions()[name] for name in layers or [version] if name in versions()]
    return {name: default for kind in kinds for name, default in kind.options().items()}


def chosen_options(ctx: click.Context, version: str) -> dict[str, Any]:
    """Return the options on the command line, as `build` takes them.

    Raises BadInput, naming the flag and the versions that have it, for an option that the version lacks.
    """
    chosen = {name: ctx.params[name] for name in shell.typed(ctx, (*ctx.meta[OPTIONS], *BUILD_FLAGS))}
    defaults = defaults_of(version, chosen.get("layers"))
    for name in chosen:
        if name not in (*defaults, *BUILD_FLAGS):
            owners = [owner for owner, kind in versions().items() if name in kind.options()]
            raise BadInput(f"{shell.flag_of(name)}: {version} has no such choice; {', '.join(owners)} have")
    if chosen.get("isolated") and not versions()[version].branches:
        raise BadInput(f"--isolated: a {version} reads one text; versions of branches, such as v6, have it")
    return chosen


def built_with(ctx: click.Context, version: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every flag in a model that was built with these options, None where it has none.

    Lists, which JSON makes of tuples, are tuples again.
    """
    layers = options.get("layers", [])
    values = {**dict.fromkeys(ctx.meta[OPTIONS]), **BUILD_FLAGS, **defaults_of(version, layers), **options}
    return {name: tuple(x) if isinstance(x, list) else x for name, x in values.items()} | {"layers": layers}
