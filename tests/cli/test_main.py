"""The command line as a whole: it starts quickly, gives help, and separates user errors from bugs."""

import errno
import subprocess
import sys
from collections.abc import Iterator

import click
import pytest

from babygpt.cli import COMMANDS, doctor, main
from babygpt.cli.options import OUR_FAULT
from babygpt.errors import BadInput

HEAVY = {"torch", "numpy", "matplotlib", "IPython", "ipywidgets"}


def commands(group: click.Group = main, above: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield every command of the shell with its name, groups too."""
    yield above, group
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from commands(command, f"{above} {name}".strip())
        else:
            yield f"{above} {name}".strip(), command


ALONE = [["--version"], *([name, "--help"] for name in COMMANDS)]  # these need no table of the course


@pytest.mark.parametrize("words", [["--help"], ["nonsense"], *ALONE], ids=" ".join)
def test_commands_that_compute_nothing_do_not_import_pytorch(words):
    script = f"""
import sys
from babygpt.cli import main
try:
    main({words})
except SystemExit:
    course = sorted(name for name in sys.modules if name.startswith("babygpt_course"))
    print(*{HEAVY} & sys.modules.keys(), "modules", course)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    table = [] if words in ALONE else ["babygpt_course", "babygpt_course.commands"]
    assert result.stdout.splitlines()[-1] == f"modules {table}"


def test_the_help_lists_every_command_as_it_describes_itself(run):
    output = run("--help").output
    described = dict(commands())
    for name, (_, sentence) in main.lazy.items():
        assert f"  {name} " in output
        assert sentence in output
        assert described[name].help.startswith(sentence.rstrip("."))
    assert set(COMMANDS) < set(main.lazy)  # the course registers more


def test_every_option_of_every_command_has_a_sentence():
    for name, command in commands():
        options = [p for p in command.params if isinstance(p, click.Option)]
        assert [option.name for option in options if not option.help] == [], name


# ---------------------------------------------------------------- user errors and bugs


@pytest.fixture
def failing(monkeypatch, run):
    """Run `doctor`, which raises this error."""

    def fail(error, *flags):
        def checks():
            raise error

        monkeypatch.setattr(doctor, "callback", checks)
        return run(*flags, "doctor")

    return fail


USERS = [
    BadInput("n (0) must be\nat least 1"),
    FloatingPointError("loss is nan"),
    OSError(errno.ENOSPC, "No space left"),
    UnicodeEncodeError("ascii", "我", 0, 1, "ordinal not in range(128)"),
]


@pytest.mark.parametrize("error", USERS, ids=lambda error: type(error).__name__)
def test_a_user_error_gives_one_line_and_a_traceback_only_with_debug(failing, error):
    line = f"Error: {' '.join(str(error).split())}\n"
    plain, debug = failing(error), failing(error, "--debug")
    assert (plain.exit_code, debug.exit_code) == (1, 1)
    assert plain.stderr == line
    assert debug.stderr.startswith("Traceback (most recent call last):")
    assert type(error).__name__ in debug.stderr
    assert debug.stderr.endswith(line)


@pytest.mark.parametrize("error", [ValueError("too many values"), KeyError("x"), AttributeError("y")])
def test_any_other_error_is_reported_as_a_bug_and_reaches_python(failing, error):
    """Include a plain ValueError: only BadInput is an error of the user."""
    result = failing(error)
    assert result.exception is error
    assert result.stderr == OUR_FAULT + "\n"


def test_clicks_own_errors_have_no_traceback(failing):
    result = failing(click.UsageError("no"))
    assert (result.exit_code, OUR_FAULT in result.output) == (2, False)
    assert failing(click.Abort()).exit_code == 1


def test_a_broken_pipe_is_no_error(failing):
    assert "Error" not in failing(BrokenPipeError()).output
