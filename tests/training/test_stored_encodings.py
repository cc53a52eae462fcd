"""Checkpoints of encodings from outside hold a name and a digest, and never run what they name."""

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings import ALiBi
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import build
from babygpt.training.checkpoint import KEY, load, save
from tests.own_encoding import MINE, Recency

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)
TOKENIZER = CharTokenizer("\n .?abcdefg")
TRACE = """
from pathlib import Path
Path(__file__).with_name("ran").touch()
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(TRACE + MINE, encoding="utf-8")
    return path


def header(path: Path) -> dict:
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()[KEY])


def refusal(path: Path, encoding: object = None) -> str:
    """Return the message with which `load` refuses a checkpoint, in one line that names it."""
    with pytest.raises(BadInput) as caught:
        load(path, encoding)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def saved(mine: Path, wake, tmp_path: Path) -> tuple[Path, LanguageModel]:
    model = wake(build(f"{mine}:Recency", CONFIG, strength=2.0))
    save(tmp_path / "m.safetensors", model, TOKENIZER)
    return tmp_path / "m.safetensors", model


def test_a_checkpoint_loads_with_the_class_or_with_its_file(saved, mine, text):
    path, model = saved
    for encoding in (model.version, f"{mine}:Recency", [ALiBiOutside, f"{mine}:Recency"]):
        loaded = load(path, encoding)
        assert torch.equal(loaded.model(text(2, 9)), model(text(2, 9)))
        assert (loaded.version, loaded.options) == ("mine.py:Recency", {"strength": 2.0})
        assert loaded.model.version is model.version
    save(path, load(path, model.version).model, TOKENIZER)


class ALiBiOutside(ALiBi):
    pass


def test_the_file_holds_a_name_and_a_digest(saved, mine):
    path, _ = saved
    stored = header(path)
    assert (stored["version"], stored["options"]) == ("mine.py:Recency", {"strength": 2.0})
    (digest,) = stored["encodings"].values()
    assert len(digest) == 64
    assert b"score_bias" not in path.read_bytes()
    assert str(mine.parent).encode() not in path.read_bytes()


def test_nothing_that_a_checkpoint_names_is_run(saved, mine, monkeypatch):
    path, _ = saved
    (mine.parent / "ran").unlink()
    mine.write_text(TRACE + MINE + "\n# edited, so that it would run anew", encoding="utf-8")
    monkeypatch.chdir(mine.parent)
    message = refusal(path)
    assert "load(path, encoding=Recency)" in message
    assert "--encoding mine.py:Recency" in message
    stored = header(path)
    named = [
        {"version": "mine.py:Recency"},
        {"version": "v4", "options": {"layers": ["mine.py:Recency", "v4"]}},
    ]
    for change in named:  # by a stranger, who left out that it comes from outside
        plain = {name: value for name, value in (stored | change).items() if name != "encodings"}
        save_file(load_file(path), path, {KEY: json.dumps(plain)})
        assert "version (mine.py:Recency) must be one of v1" in refusal(path)
    assert not (mine.parent / "ran").exists()


def test_another_class_is_refused(saved, mine, tmp_path, awake):
    path, _ = saved
    assert "ALiBiOutside is another one" in refusal(path, ALiBiOutside)
    with pytest.raises(BadInput, match=r"encoding \(alibi\) is babygpt's own"):
        load(path, ALiBi)
    with pytest.raises(BadInput, match="two encodings have the name Recency"):
        load(path, [Recency, f"{mine}:Recency"])
    save(tmp_path / "v4.safetensors", awake("v4"), TOKENIZER)
    assert "has no encoding from outside, and test_" in refusal(tmp_path / "v4.safetensors", ALiBiOutside)
    assert load(tmp_path / "v4.safetensors", [ALiBiOutside]).version == "v4"


def test_a_changed_file_loads_only_with_the_same_logits_and_is_named(saved, mine, text):
    path, model = saved
    mine.write_text(TRACE + MINE + "\n# a remark\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="the file of mine.py:Recency has changed since the model was saved"):
        loaded = load(path, f"{mine}:Recency")
    assert torch.equal(loaded.model(text(2, 9)), model(text(2, 9)))
    for change, reason in (
        (("-self.strength", "-2 * self.strength"), "gives other logits than when the model was saved"),
        (("(n_head,)", "(2 * n_head,)"), "score_bias returned one tensor of shape"),
        (("self.strength = ", "self.weight = self.strength = "), "encoding.weight"),
    ):
        mine.write_text(TRACE + MINE.replace(*change), encoding="utf-8")
        message = refusal(path, f"{mine}:Recency")
        assert reason in message
        assert message.endswith("the file of mine.py:Recency has changed since it was written")


def test_a_changed_module_that_the_file_imports_is_noticed(mine, tmp_path, wake, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    helper = tmp_path / "strengths.py"
    helper.write_text("FACTOR = 1.0\n", encoding="utf-8")
    text = MINE.replace("-self.strength", "-strengths.FACTOR * self.strength")
    mine.write_text(f"import strengths\n{text}", encoding="utf-8")
    save(tmp_path / "m.safetensors", wake(build(f"{mine}:Recency", CONFIG)), TOKENIZER)
    load(tmp_path / "m.safetensors", f"{mine}:Recency")
    monkeypatch.setattr(sys.modules["strengths"], "FACTOR", 2.0)
    assert "gives other logits" in refusal(tmp_path / "m.safetensors", f"{mine}:Recency")


def test_an_untrained_models_encoding_is_compared_too(mine, tmp_path):
    save(tmp_path / "m.safetensors", build(f"{mine}:Recency", CONFIG), TOKENIZER)
    mine.write_text(TRACE + MINE.replace("-self.strength", "-2 * self.strength"), encoding="utf-8")
    assert "other logits" in refusal(tmp_path / "m.safetensors", f"{mine}:Recency")


def test_layers_from_outside_are_stored_by_name(mine, wake, tmp_path, text):
    path, options = tmp_path / "m.safetensors", {"layers": ["v4", f"{mine}:Recency"], "strength": 2.0}
    model = wake(build("v4", CONFIG, **options))
    save(path, model, TOKENIZER)
    assert header(path)["options"]["layers"] == ["v4", "mine.py:Recency"]
    assert "has the encoding mine.py:Recency" in refusal(path)
    loaded = load(path, f"{mine}:Recency")
    assert torch.equal(loaded.model(text(2, 9)), model(text(2, 9)))
    assert loaded.options == model.options


@pytest.fixture
def notebook(monkeypatch) -> ModuleType:
    """Return a module without a file, as a notebook's __main__ is."""
    module = ModuleType("notebook")
    monkeypatch.setitem(sys.modules, "notebook", module)
    exec(MINE, vars(module))
    return module


def test_a_class_of_a_notebook_is_compared_by_its_logits(notebook, wake, tmp_path, text):
    path, model = tmp_path / "m.safetensors", wake(build(notebook.Recency, CONFIG))
    with pytest.warns(UserWarning, match="Recency was written in no file, as in a notebook"):
        save(path, model, TOKENIZER)
    assert header(path)["encodings"] == {"Recency": None}
    assert "--encoding FILE.py:Recency" in refusal(path)
    assert torch.equal(load(path, notebook.Recency).model(text(2, 9)), model(text(2, 9)))
    exec(
        MINE.replace("-self", "-2 * self"),
        vars(notebook),
    )
    assert refusal(path, notebook.Recency).endswith(
        "Recency gives other logits than when the model was saved"
    )


def test_a_number_that_the_class_changed_by_hand_is_noticed(mine, tmp_path):
    model = build(f"{mine}:Recency", CONFIG)
    model.encoding.score_bias = lambda queries, keys: None
    with pytest.raises(BadInput, match=r"build\('mine.py:Recency'\) with the same weights"):
        save(tmp_path / "m.safetensors", model, TOKENIZER)
