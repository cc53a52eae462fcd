"""The self-test at the end of a notebook: five questions whose answers fold out.

It is Markdown and no widget, so that it works without a kernel: on a web page, on paper, in a notebook that
was never run. It stores nothing, and its words are there for search and for screen readers.

    ## Self-test

    **1.** What does v1 look at?

    - a) the present token
    - b) all tokens so far

    <details><summary>Answer</summary>

    **a.** Its table has a row for each token, and no other input. Tempting is *b*: …

    </details>

A question without choices is an open one. Its number and fold may then be those of a list, all in one line:

    2. Is a causal model blind to order? <details><summary>Answer</summary>No: …</details>
"""

import re

HEADING = re.compile(r"^#+ Self-test\s*$", flags=re.M)


def is_selftest(source: str) -> bool:
    """Return whether a Markdown cell holds a self-test."""
    return bool(HEADING.search(source))


def section(source: str) -> str:
    """Return what stands between the heading of a self-test and the next heading."""
    text = HEADING.split(source, maxsplit=1)[-1]
    return re.split(r"^#+ ", text, maxsplit=1, flags=re.M)[0]


def without_answers(source: str) -> str:
    """Return a self-test without its answers, for a class."""
    block = section(source)
    return source.replace(block, re.sub(r"\s*<details>.*?</details>[ \t]*", "", block, flags=re.S))
