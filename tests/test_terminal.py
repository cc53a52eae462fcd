"""A terminal that is gone is no reason to stop."""

import io
import os

import pytest

from babygpt.terminal import Screen, echo


def test_lines_arrive_while_there_is_a_terminal(capsys) -> None:
    echo("abc")
    echo("def", error=True)
    assert capsys.readouterr() == ("abc\n", "def\n")


@pytest.mark.parametrize("kind", ["closed", "full", "unread"])
def test_a_broken_stream_falls_silent(kind: str) -> None:
    stream = io.StringIO()
    if kind == "closed":
        stream.close()
    elif kind == "full":
        if not os.path.exists("/dev/full"):
            pytest.skip("only Linux has a disk that is always full")
        stream = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115
    else:
        reader, writer = os.pipe()
        os.close(reader)
        stream = os.fdopen(writer, "w", encoding="utf-8")
    screen = Screen(stream)
    for _ in range(3):
        screen.write("x" * 100_000)
    if not stream.closed:
        assert screen.encoding == "utf-8"
        stream.close()  # writes to nowhere by now, and raises nothing
