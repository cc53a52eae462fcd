"""What may be chosen of a version's encoding when it is trained from the shell, and how it is typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from babygpt.cli.base import Command, flag_of, list_of, typed
from babygpt.encodings.gaussian import KERNELS
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS

# Option of an encoding -> what click needs to know of its flag. Which version takes it, and its default, are
# read from the encodings themselves.
TYPED: dict[str, dict[str, Any]] = {
    "theta": {"type": float, "help": "base of the frequencies"},
    "kernel": {"type": click.Choice(list(KERNELS)), "help": "K of the distance, or of the note's position"},
    "alphas": {"type": float, "nargs": 2, "help": "weights of K's two scales"},
    "sigmas": {"type": float, "nargs": 2, "help": "their widths, in tokens"},
    "learnable": {"is_flag": True, "help": "whether K's weights and widths are trained"},
    "alpha": {"type": float, "help": "factor of MASK tokens"},
    "steepness": {"type": float, "help": "1 as in the paper, more to forget faster"},
    "n_buckets": {"type": int, "help": "of distances, each with a number that a head learns"},
    "furthest": {"type": int, "help": "distance from which on all are in one bucket, in tokens"},
    "both_ways": {"is_flag": True, "help": "whether half of the buckets are for what comes after"},
    "width": {"type": int, "help": "hidden units of FIRE's network"},
    "threshold": {"type": float, "help": "FIRE's at first: queries before it divide by the same, in tokens"},
    "factor": {"type": float, "help": "how many times longer texts may be than those trained on, 4 for 4n"},
    "share": {"type": float, "help": "of the pairs that turn, the quickest ones; the others never do"},
    "scale_base": {"type": float, "help": "tokens over which the quickest pair fades to 0.29"},
    "every": {"type": int, "help": "layers number N, 2N, ... have no code, counted from 1"},
}
LAYERED = ("per_layer", "layers")


def takers(option: str) -> list[str]:
    """The versions whose encoding has an option, of those that `train` trains."""
    return [name for name, kind in VERSIONS.items() if option in kind.options() and not kind.branches]


def in_words(default: Any) -> str:
    """A default as it would be typed, or "off" for a flag that need not be."""
    if isinstance(default, bool):
        return "learnable" if default else "off"
    return " ".join(map(str, default)) if isinstance(default, tuple) else str(default)


def encoding_options(command: Command) -> Command:
    """Add the flags by which a version's encoding is chosen; none has a default but the encoding's own."""
    for name, form in reversed(TYPED.items()):
        who = takers(name)
        some = ", ".join(who) if len(who) <= 4 else f"{', '.join(who[:3])}, ... {who[-1]}"
        about = f"{form['help']} ({some})  [default: {in_words(VERSIONS[who[0]].options()[name])}]"
        flag = "--learnable/--fixed" if name == "learnable" else flag_of(name)
        command = click.option(flag, name, default=None, **{**form, "help": about})(command)
    own = click.option("--per-layer", is_flag=True, help="give each layer an encoding of its own")
    listed = click.option(
        "--layers",
        callback=lambda ctx, param, value: value and list_of(str)(ctx, param, value),
        help="each layer's encoding, by its version: v4,v4,v4,nope",
    )
    return own(listed(command))


def chosen_options(ctx: click.Context, version: str) -> dict[str, Any]:
    """What was chosen on the command line, as `build` takes it; the rest stays as the encoding has it.

    Raises BadInput, naming the flag and who takes it, for what the version's encoding does not have.
    """
    given = {name: ctx.params[name] for name in typed(ctx, (*TYPED, *LAYERED))}
    layers: Sequence[str] = given.get("layers") or [version]
    taken = {option for name in layers if name in VERSIONS for option in VERSIONS[name].options()}
    for name in given:
        if name in TYPED and name not in taken:
            raise BadInput(f"{flag_of(name)}: {version} has no such choice; {', '.join(takers(name))} have")
    return given


def options_of(version: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Every flag's value in a model that was built with these options: name -> value, None where it has none.

    Lists, which JSON makes of them, are tuples again.
    """
    layered = {"per_layer": False, "layers": None}
    every = {**dict.fromkeys(TYPED), **layered, **VERSIONS[version].options(), **options}
    return {
        name: tuple(every[name]) if isinstance(every[name], list) and name != "layers" else every[name]
        for name in (*TYPED, *LAYERED)
    }
