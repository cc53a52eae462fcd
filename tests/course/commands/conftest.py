"""Fixtures of the shell's tests: run a command, check how it refuses, train a small model."""

from tests.cli.conftest import *  # noqa: F403
