"""What checkers draw at random: seeds, stories, small models."""

from __future__ import annotations

import random

import torch
from torch import Generator, nn

from babygpt.data.grammar import Grammar
from babygpt.data.stories import Rule, Slot, read_template
from babygpt.data.tales import english


def dice(draw: Generator) -> random.Random:
    """Python's own random numbers, from a drawn seed."""
    return random.Random(int(torch.randint(2**30, (), generator=draw)))


def integer(draw: Generator, low: int, high: int) -> int:
    """A whole number from low up to, and without, high."""
    return int(torch.randint(low, high, (), generator=draw))


def shaken(model: nn.Module, draw: Generator) -> nn.Module:
    """The model with random numbers everywhere, so that an untrained one computes something."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(torch.randn(p.shape, generator=draw) * p.shape[-1] ** -0.5)
    return model


def _some(options: tuple[str, ...], rng: random.Random) -> tuple[str, ...]:
    """Some of the options, at least six if there are so many, in any order."""
    return tuple(rng.sample(options, rng.randint(min(6, len(options)), min(40, len(options)))))


def _hole(item: Slot) -> str:
    """A slot's name, as it stands in a template: "verb", or "name.a"."""
    return f"{item.kind}.{item.var}".rstrip(".")


def drawn_grammar(rng: random.Random) -> Grammar:
    """The English grammar with fewer words and fewer rules."""
    whole = english()
    rules = {name: _some(options, rng) for name, options in whole.rules.items()}
    rules |= {"gap": whole.rules["gap"], "scenes": whole.rules["scenes"]}
    return Grammar({kind: _some(options, rng) for kind, options in whole.words.items()}, rules)


def drawn_story(draw: Generator) -> tuple[list[str], dict[str, int], str, Grammar]:
    """A story with one scene: its holes in order, how long each list is, its text, and its grammar."""
    rng = dice(draw)
    grammar = drawn_grammar(rng)
    before, after = rng.choice(grammar.rules["story"]).split("[gap]")
    scene = rng.choice(grammar.rules["scene"])
    items = read_template(f"{before}. [gap][scenes][scene]{scene}. {after}")
    free = {kind: rng.sample(words, len(words)) for kind, words in grammar.words.items()}
    filled: dict[str, str] = {}
    holes, story = ["[story]"], ""
    for item in items:
        if isinstance(item, str):
            story += item
        elif isinstance(item, Rule):
            holes.append(f"[{item.name}]")
        else:
            holes.append(_hole(item))
            story += filled.setdefault(holes[-1], free[item.kind][-1])
            if free[item.kind][-1] == filled[holes[-1]]:
                free[item.kind].pop()
    lists = grammar.words | {f"[{name}]": options for name, options in grammar.rules.items()}
    sizes = {kind: len(lists[kind]) for kind in dict.fromkeys(hole.split(".")[0] for hole in holes)}
    return holes, sizes, story, grammar
