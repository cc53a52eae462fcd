"""Fixtures that tests of several studies share: a short corpus of plain tales, and questions about places."""

import pytest

from babygpt import load_corpus
from babygpt.experiments.sweep import questions
from babygpt_course.studies.places import PlaceRows


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("plain-tales", 20_000)


@pytest.fixture(scope="module")
def rows(corpus):
    return PlaceRows(corpus, questions(corpus, 64, 40))
