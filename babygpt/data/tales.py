"""Tales: short stories in which word order alone tells who did what to whom.

Each story states a fact, may continue with up to three scenes, asks about the fact, and may state it again.
If two names are exchanged, the story has the same characters but another answer, so a model that ignores
order is right half of the time. Names are made of syllables. There are too many to memorise, so a model has
to look back. The words and templates are in tales.toml.
"""

import tomllib
from functools import cache
from itertools import product
from pathlib import Path

from babygpt.data.grammar import Grammar

ENGLISH_NAMES = tuple(map("".join, product("bdfgjklmnprstvwz", "aeiou", "lmnrvs", "aiou")))


def read_grammar(language: str) -> Grammar:
    """Return the grammar of a language in tales.toml.

    Each fact makes four stories: ask for the doer a or for the other one, b; repeat the fact or not.
    """
    section = tomllib.loads(Path(__file__).with_name("tales.toml").read_text("utf-8"))[language]
    stories = (
        f"{fact}[gap]{ask}{end}"
        for fact, who, whom, again in section["facts"]
        for ask in (who, whom)
        for end in ("", again)
    )
    words = {kind: tuple(line.split("|")) for kind, line in section["words"].items()}
    rules = {rule: tuple(section[rule]) for rule in ("gap", "scenes", "scene")}
    return Grammar({"name": ENGLISH_NAMES, **words}, {"story": tuple(stories), **rules})


@cache
def english() -> Grammar:
    """Return the grammar of the English tales."""
    return read_grammar("english")


@cache
def plain() -> Grammar:
    """Return a smaller grammar: one kind of fact, no scenes, and only names that end in -la or -ra."""
    whole = english()
    rules = {"story": whole.rules["story"][:4], "gap": whole.rules["gap"][:1]}
    names = tuple(name for name in whole.words["name"] if name.endswith(("la", "ra")))
    return Grammar({**whole.words, "name": names}, rules)


@cache
def chinese() -> Grammar:
    """Return the grammar of the Chinese tales."""
    return read_grammar("chinese")
