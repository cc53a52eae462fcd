"""Flags for the settings of an encoding: one for every setting of an encoding that `train` can build."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from babygpt.cli.options import Command, flag_of, list_of, typed
from babygpt.encodings.gaussian import KERNELS
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS

SETTINGS = {  # setting of an encoding -> its help; its type and default are the encoding's own
    "theta": "base of the frequencies",
    "kernel": "K of the distance, or of the note's position",
    "alphas": "weights of K's two scales",
    "sigmas": "their widths, in tokens",
    "learnable": "whether K's weights and widths are trained",
    "alpha": "factor of MASK tokens",
    "steepness": "1 as in the paper, more to forget faster",
    "n_buckets": "of distances, each with a number that a head learns",
    "furthest": "distance from which on all are in one bucket, in tokens",
    "both_ways": "whether half of the buckets are for what comes after",
    "width": "hidden units of FIRE's network",
    "threshold": "FIRE's at first: queries before it divide by the same, in tokens",
    "factor": "how many times longer texts may be than those trained on, 4 for 4n",
    "share": "of the pairs that turn, the quickest ones; the others never do",
    "scale_base": "tokens over which the quickest pair fades to 0.29",
    "every": "layers number N, 2N, ... have no code, counted from 1",
}
LAYERED = ("per_layer", "layers")


def takers(setting: str) -> list[str]:
    """Return the versions with a setting, of those that `train` trains."""
    return [name for name, kind in VERSIONS.items() if setting in kind.options() and not kind.branches]


def setting_option(name: str, about: str) -> Callable[[Command], Command]:
    """Return the option for a setting; without it, the encoding's own default holds."""
    versions = takers(name)
    default = VERSIONS[versions[0]].options()[name]
    form, shown = dict[str, Any](type=type(default)), str(default)
    if isinstance(default, bool):
        form, shown = {"is_flag": True}, "learnable" if default else "off"
    elif isinstance(default, tuple):
        form, shown = {"type": float, "nargs": len(default)}, " ".join(map(str, default))
    elif name == "kernel":
        form = {"type": click.Choice(list(KERNELS))}
    some = versions if len(versions) <= 4 else [*versions[:3], f"... {versions[-1]}"]
    flag = "--learnable/--fixed" if name == "learnable" else flag_of(name)
    words = f"{about} ({', '.join(some)})  [default: {shown}]"
    return click.option(flag, name, default=None, help=words, **form)


def encoding_options(command: Command) -> Command:
    """Add the flags by which a version's encoding is chosen."""
    for name, about in reversed(SETTINGS.items()):
        command = setting_option(name, about)(command)
    command = click.option(
        "--layers",
        callback=lambda ctx, param, value: value and list_of(str)(ctx, param, value),
        help="each layer's encoding, by its version: v4,v4,v4,nope",
    )(command)
    return click.option("--per-layer", is_flag=True, help="give each layer an encoding of its own")(command)


def chosen_options(ctx: click.Context, version: str) -> dict[str, Any]:
    """Return what was chosen on the command line, as `build` takes it.

    Raises BadInput, naming the flag and the versions that have it, for a setting that the encoding lacks.
    """
    given = {name: ctx.params[name] for name in typed(ctx, (*SETTINGS, *LAYERED))}
    layers: Sequence[str] = given.get("layers") or [version]
    taken = {option for name in layers if name in VERSIONS for option in VERSIONS[name].options()}
    for name in given:
        if name in SETTINGS and name not in taken:
            raise BadInput(f"{flag_of(name)}: {version} has no such choice; {', '.join(takers(name))} have")
    return given


def options_of(version: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of every flag in a model that was built with these options, None where it has none.

    Lists, which JSON makes of tuples, are tuples again.
    """
    found = {"per_layer": False, "layers": None, **VERSIONS[version].options(), **options}
    found |= {name: tuple(found[name]) for name in SETTINGS if isinstance(found.get(name), list)}
    return {name: found.get(name) for name in (*SETTINGS, *LAYERED)}
