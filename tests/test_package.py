"""`import babygpt`: it is fast, and every offered name exists."""

import subprocess
import sys
from importlib import metadata

import pytest

import babygpt


def test_importing_the_package_imports_no_pytorch_and_modules_need_no_import_of_their_own():
    script = "import babygpt, sys; print('torch' in sys.modules, 'numpy' in sys.modules, end=' ')"
    script += "; print(babygpt.data.load_corpus.__name__, babygpt.metrics.__name__)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == "False False load_corpus babygpt.metrics\n"


def test_every_name_is_there_and_a_star_brings_no_others():
    assert len(babygpt.__all__) > 10
    for name in babygpt.__all__:
        assert name in dir(babygpt)
        assert getattr(babygpt, name).__name__.removeprefix("babygpt.") == name
    names: dict[str, object] = {}
    exec("from babygpt import *", names)
    assert names.keys() - {"__builtins__"} == set(babygpt.__all__)


def test_the_version_is_that_of_the_installed_package():
    assert babygpt.__version__ == metadata.version("babygpt-course")


def test_a_missing_name_is_refused_as_by_any_module():
    with pytest.raises(AttributeError, match="No babygpt attribute trian"):
        babygpt.trian  # noqa: B018
    assert not hasattr(babygpt, "trian")
