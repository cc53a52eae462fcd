"""Checkpoints that were written once and are never rewritten: each loads with the logits it gave then."""

import json

import pytest
import torch
from safetensors import safe_open

from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS
from babygpt.training.checkpoint import FORMAT, KEY, load
from tests.training.kept_checkpoints import FOLDER, kept_logits, randomized, write_missing

KEPT = sorted(FOLDER.glob("*.safetensors"))


def test_every_version_has_one_and_none_is_rewritten(tmp_path) -> None:
    assert {path.stem for path in KEPT} >= set(VERSIONS)
    assert sum(path.stat().st_size for path in KEPT) < 400_000
    v4 = tmp_path / "v4.safetensors"
    v4.write_bytes(b"kept")
    assert "v4" not in write_missing(tmp_path)
    assert v4.read_bytes() == b"kept"


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_a_kept_checkpoint_gives_its_logits_or_is_refused_by_its_format(path) -> None:
    with safe_open(path, framework="pt") as file:
        stored = json.loads(file.metadata()[KEY])
    if stored["format"] != FORMAT:
        with pytest.raises(BadInput, match=f"it has format {stored['format']}"):
            load(path)
        return
    loaded = load(path)
    expected = torch.tensor(loaded.info["logits"])
    assert expected.std() > 0.1
    assert torch.allclose(kept_logits(loaded.model), expected, rtol=0, atol=1e-5)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_parameter_of_a_kept_model_decides_its_logits(version) -> None:
    """Show that a difference in any of them would be seen."""
    model = randomized(version)
    before = kept_logits(model)
    for name, p in model.named_parameters():
        change = torch.linspace(0.5, -0.7, p.numel()).view_as(p)
        with torch.no_grad():
            p.add_(change)
            changed = kept_logits(model)
            p.sub_(change)
        assert (changed - before).abs().max() > 1e-4, name
