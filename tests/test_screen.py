"""A screen that is gone is no reason to stop."""

import io
import os

import pytest

from babygpt.screen import Screen, open_closed_streams


def test_words_arrive_while_there_is_a_screen() -> None:
    stream = io.StringIO()
    screen = Screen(stream)
    assert screen.write("abc") == 3
    screen.flush()
    assert stream.getvalue() == "abc"


@pytest.mark.parametrize("kind", ["closed", "none", "full", "gone"])
def test_a_broken_screen_is_silent(kind: str) -> None:
    stream = io.StringIO() if kind == "closed" else None
    if stream:
        stream.close()
    if kind == "full":
        stream = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115
    if kind == "gone":
        reader, writer = os.pipe()
        os.close(reader)
        stream = os.fdopen(writer, "w", encoding="utf-8")
    screen = Screen(stream)
    for _ in range(3):
        assert screen.write("x" * 100_000) == 100_000
        screen.flush()
    if stream and not stream.closed:
        stream.close()  # leads to nowhere by now, and raises nothing


def test_letters_that_a_screen_does_not_know_are_spelt() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Screen(stream).write("±")
    stream.flush()
    assert stream.buffer.getvalue() == b"\\xb1"


def test_a_stream_that_was_closed_does_not_lend_its_number_to_a_file() -> None:
    saved = os.dup(2)
    try:
        os.close(2)
        open_closed_streams()
        assert os.path.samestat(os.fstat(2), os.stat(os.devnull))
    finally:
        os.dup2(saved, 2)
        os.close(saved)
