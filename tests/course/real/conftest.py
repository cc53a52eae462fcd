"""A real language model for these tests; without it they are skipped, unless BABYGPT_REAL_TESTS=required."""

import os
from pathlib import Path

import pytest

from babygpt.errors import BadInput
from babygpt_course.real.file import model_file
from babygpt_course.real.model import RealModel, read_model
from babygpt_course.real.tokenizer import RealTokenizer


@pytest.fixture(scope="session")
def real_file() -> Path:
    """Return the path of the model's file."""
    try:
        return model_file()
    except BadInput as missing:
        if os.environ.get("BABYGPT_REAL_TESTS") == "required":
            raise
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def real_model(real_file: Path) -> tuple[RealModel, RealTokenizer]:
    """Return the model and its tokenizer, which are read once."""
    return read_model(real_file)
