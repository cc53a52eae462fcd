"""Encodings from outside: a class, a class in a file, an installed package's; each mistake is named."""

from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest
from torch import nn

from babygpt.config import ModelConfig
from babygpt.encodings import ALiBi, Encoding, Rotary
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS, build, require_version
from tests.own_encoding import MINE, Recency

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)


class ForBranches(Encoding):
    for_branches = True


class ForMasks(Encoding):
    for_masks = True


@pytest.fixture
def written(tmp_path: Path) -> Callable[..., str]:
    """Write a file of Python and return its path."""

    def write(content: str = MINE, name: str = "mine.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return str(path)

    return write


def refusal(version: object, **options: object) -> str:
    """Return the message with which `build` refuses a version, in one line."""
    with pytest.raises(BadInput) as caught:
        build(version, CONFIG, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


# ---------------------------------------------------------------- what may stand for a version


def test_a_class_in_a_file_is_built_with_the_shape_and_its_options(written, text):
    name = f"{written()}:Recency"
    model = build(name, CONFIG, strength=3.0)
    assert model.encoding.strength.tolist() == [3.0, 3.0]
    assert (type(model.encoding), model.options) == (model.version, {"strength": 3.0})
    assert require_version(name).name == "mine.py:Recency"
    assert require_version(name).options() == {"strength": 1.0}
    assert build(model.version, CONFIG, **model.options)(text(2, 9)).shape == (2, 9, 11)
    with pytest.raises(TypeError, match=r"mine.py:Recency has no option colour"):
        build(name, CONFIG, colour="green")
    with pytest.raises(TypeError, match=r"has no option strenght; did you mean strength\?"):
        build(name, CONFIG, strenght=1.0)


def test_a_file_runs_once_until_it_is_edited(written):
    name = f"{written()}:Recency"
    first = build(name, CONFIG).version
    assert build(name, CONFIG).version is first
    written(MINE.replace("1.0", "2.0"))
    assert build(name, CONFIG).encoding.strength.tolist() == [2.0, 2.0]
    assert build(first, CONFIG).encoding.strength.tolist() == [1.0, 1.0]


def test_a_file_may_import_what_lies_beside_it(written):
    written("NAME = 7", "beside_mine.py")
    name = written("from beside_mine import NAME\n" + MINE)
    assert issubclass(build(f"{name}:Recency", CONFIG).version, Encoding)


def test_a_class_says_what_its_model_reads():
    for encoding, branches, masks in (
        (Recency, False, False),
        (ForBranches, True, False),
        (ForMasks, False, True),
    ):
        version = require_version(encoding)
        assert (version.branches, version.masks) == (branches, masks)
        assert build(encoding, CONFIG).causal != masks
    assert build(ForBranches, CONFIG, isolated=True).isolated


def test_a_class_of_ours_is_the_first_version_that_has_it():
    for encoding, name in ((ALiBi, "alibi"), (Rotary, "v4"), (Encoding, "nope")):
        assert require_version(encoding) is VERSIONS[name]
        assert build(encoding, CONFIG).version == name


def test_layers_may_have_encodings_from_outside(written):
    name = f"{written()}:Recency"
    model = build("v4", CONFIG, layers=("v4", name), strength=2.0)
    mixed = model.options["layers"]
    assert (mixed[0], mixed[1].__name__, model.version) == ("v4", "Recency", "v4")
    again = build(model.version, CONFIG, **model.options)
    assert [type(layer) for layer in again.encoding.all()] == [Rotary, mixed[1]]
    assert [layer.strength[0].item() for layer in build(name, CONFIG, per_layer=True).encoding.all()] == [
        1.0
    ] * 2
    assert "two encodings have the name Recency" in refusal(Recency, layers=(name, Recency))
    assert "ForMasks is no encoding for a layer of v4" in refusal("v4", layers=("v4", ForMasks))
    assert "no file nowhere.py" in refusal("v4", layers=("v4", "nowhere.py:Mine"))


def test_an_installed_package_registers_a_name(monkeypatch, written):
    points = [
        metadata.EntryPoint(name, f"{__name__}:{name}", "babygpt.encodings") for name in ("Recency", "Gone")
    ]

    def entry_points(group: str, name: str) -> list[metadata.EntryPoint]:
        assert group == "babygpt.encodings"
        return [point for point in points if point.name == name]

    monkeypatch.setattr(metadata, "entry_points", entry_points)
    assert require_version("Recency").encoding is Recency
    assert "Gone" in refusal("Gone")
    assert "cannot be imported: AttributeError" in refusal("Gone")
    points.append(metadata.EntryPoint("Recency", "other:Recency", "babygpt.encodings"))
    assert refusal("Recency").startswith("two encodings have the name Recency: other:Recency and ")


# ---------------------------------------------------------------- mistakes


def test_a_missing_file_or_class_is_named_with_what_was_probably_meant(written):
    path = written()
    assert "did you mean mine.py?" in refusal(path.replace("mine", "mime") + ":Recency")
    assert "did you mean Recency?; its encodings are Recency" in refusal(f"{path}:Recensy")
    assert f"as in {path}:Recency" in refusal(path)
    assert "a class in a file is FILE.py:CLASS" in refusal("mine:Recency")


@pytest.mark.parametrize(
    ("options", "arguments", "pair"),
    [
        ("--back 2", "back=2", {"back": 2}),
        (
            "--theta=1e4 --sigmas 8 64.5 --code-rate -1",
            None,
            {"theta": 1e4, "sigmas": [8, 64.5], "code_rate": -1},
        ),
        ("--learn --kernel relative", "learn=True, kernel='relative'", {"learn": True, "kernel": "relative"}),
    ],
)
def test_options_behind_a_name_are_written_as_python_takes_them(written, options, arguments, pair):
    for name in ("v4", f"{written()}:Recency"):
        message = refusal(f"{name} {options}")
        assert message.startswith(
            f"{name} {options}: options stand apart from the name, as in build({name!r}, config, "
        )
        assert message.endswith(f"`compare_versions` takes the pair ({name!r}, {pair})")
        assert arguments is None or f"config, {arguments});" in message


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("x = 1\nclass Recency(", ["SyntaxError", "mine.py, line 2"]),
        ("x = 1\n\ny = nothing", ["NameError: name 'nothing' is not defined (mine.py, line 3)"]),
        ("import torch\nimport no_such_module", ["No module named 'no_such_module' (mine.py, line 2)"]),
        ("def f():\n    return {}[3]\nf()", ["KeyError: 3 (mine.py, line 2)"]),
        ("import sys\nsys.exit('no')", ["SystemExit: no (mine.py, line 2)"]),
        ("import faulty", ["ZeroDivisionError: division by zero (faulty.py, line 2)"]),
    ],
)
def test_a_file_that_cannot_be_imported_says_its_own_error_and_line(written, content, parts):
    written("x = 1\nx / 0", "faulty.py")
    message = refusal(f"{written(content)}:Recency")
    assert "mine.py cannot be imported: " in message
    for part in parts:
        assert part in message


@pytest.mark.parametrize(
    ("candidate", "part"),
    [
        (dict, "dict is no class of Encoding: it must inherit from babygpt.encodings.Encoding"),
        (nn.Linear, "Linear is no class of Encoding"),
        (ALiBi(2), "build(ALiBi, config), or write Transformer(config, encoding)"),
        (7, "version (7) must be one of v1"),
    ],
)
def test_what_is_no_class_of_encoding_is_refused(candidate, part):
    assert part in refusal(candidate)


@pytest.mark.parametrize(
    ("signature", "part"),
    [
        ("self, heads", "the argument heads of __init__ needs a default"),
        ("self, n_heads", "n_layer, vocab_size; did you mean n_head?"),
        ("self, layers=3", "build has an argument layers already"),
    ],
)
def test_an_argument_that_nothing_fills_is_named(written, signature, part):
    content = MINE.replace("self, n_head: int, *, strength: float = 1.0", signature)
    assert part in refusal(f"{written(content)}:Recency")


def test_an_error_of_its_init_keeps_its_message_and_line(written):
    name = f"{written(MINE.replace('super().__init__()', 'raise KeyError(n_head)'))}:Recency"
    with pytest.raises(
        BadInput, match=r"mine.py:Recency: __init__ raised KeyError: 2 \(mine.py, line 12\)$"
    ) as caught:
        build(name, CONFIG)
    assert isinstance(caught.value.__cause__, KeyError)
