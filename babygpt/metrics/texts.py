"""Numbers of a written text: how much of it repeats, and how likely a model finds it.

No number here knows whether a text is any good. A text that says one thing over and over is very likely;
letters drawn at random never repeat. So these numbers are read together, beside those of real text.
"""

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence

from babygpt.config import require_countable

WORD = re.compile(r"\w+(?:['’-]\w+)*")


def words(text: str) -> list[str]:
    """Return the words of a text, without the marks around them; for texts that put spaces between words."""
    return WORD.findall(text)


def grams(units: Sequence[Hashable], n: int) -> Counter[tuple[Hashable, ...]]:
    """Count each n units that stand beside each other. Raises BadInput if n is below 1."""
    require_countable("n", n)
    return Counter(tuple(units[i : i + n]) for i in range(len(units) - n + 1))


def distinct(units: Sequence[Hashable], n: int) -> float:
    """Return the share of different n-grams among all: 1 if none comes twice, nan if there is none.

    units  characters, words, or anything else
    Raises BadInput if n is below 1.
    Source: Li et al. 2016, arXiv:1510.03055 (distinct-1 and distinct-2).
    """
    counts = grams(units, n)
    return len(counts) / counts.total() if counts else math.nan


def repeated_share(units: Sequence[Hashable], n: int) -> float:
    """Return the share of n-grams that come more than once: 0 if none does, nan if there is no n-gram.

    units  characters, words, or anything else
    Raises BadInput if n is below 1.
    Source: note 000, section 6 (repeat_3gram).
    """
    counts = grams(units, n)
    return sum(c for c in counts.values() if c > 1) / counts.total() if counts else math.nan


def entropy(units: Sequence[Hashable]) -> float:
    """Return the entropy of how often each unit comes, in nats; nan for an empty text.

    From few units it comes out too low: n units have at most log(n).
    """
    counts = Counter(units)
    n = counts.total()
    return -sum(c / n * math.log(c / n) for c in counts.values()) + 0.0 if n else math.nan


def text_measures(text: str, has_words: bool) -> dict[str, float]:
    """Return how varied a text is, over characters and, if it has words, over words too.

    returns  "distinct_1_chars", "distinct_2_chars", "repeat_3gram_chars" and "entropy_chars" (nats), and the
             same of words
    Source: note 000, section 6.
    """
    units: dict[str, Sequence[str]] = {"chars": text, "words": words(text)} if has_words else {"chars": text}
    measures: dict[str, float] = {}
    for kind, tokens in units.items():
        measures |= {f"distinct_{n}_{kind}": distinct(tokens, n) for n in (1, 2)}
        measures |= {f"repeat_3gram_{kind}": repeated_share(tokens, 3), f"entropy_{kind}": entropy(tokens)}
    return measures
