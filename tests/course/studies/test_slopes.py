"""Study of slopes: RoPE gets exactly ALiBi's fall, and each model is compared with the one beside it."""

import pytest
import torch

from babygpt import ModelConfig, build
from babygpt.encodings import ALiBi, Rotary
from babygpt.positions import Positions
from babygpt_course.studies import slopes as study
from babygpt_course.studies.results import load_results

CONFIG = ModelConfig(20, 16, n_layer=2, n_head=4, n_embd=32)


@pytest.mark.parametrize("steepness", [1.0, -1.0])
def test_rope_gets_alibis_fall_or_its_rise_and_keeps_its_rotation(steepness: float):
    sloped, at = study.SlopedRotary(8, 4, steepness), Positions.arange(9)
    assert torch.equal(sloped.score_bias(at, at), steepness * ALiBi(4).score_bias(at, at))
    q, k = torch.randn(2, 1, 4, 9, 8)
    for ours, ropes in zip(sloped.transform_qk(q, k, at), Rotary(8).transform_qk(q, k, at), strict=True):
        assert torch.equal(ours, ropes)


def test_a_fall_of_the_keys_alone_gives_the_same_logits():
    """Attention takes a separable bias as a term of each key: without this shortcut nothing may change."""

    class Whole(study.SlopedRotary):
        separable = False

    idx = torch.randint(20, (2, 16))
    models = []
    for version in (study.SlopedRotary, Whole):
        torch.manual_seed(5)
        models.append(build(version, CONFIG))
        for p in models[-1].parameters():  # A new model's outputs are all 0.
            p.data = torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())) / 6
    torch.testing.assert_close(*(model(idx) for model in models), atol=1e-4, rtol=1e-4)


def test_every_arm_is_compared_with_the_model_beside_it_seed_by_seed():
    fresh = load_results("plain")["fresh"]
    seeds = fresh["seeds"][::-1]
    runs = {
        name: {
            key: [x + 0.05 for x in fresh[arm.kind][arm.base][key]][::-1] for key in ("1x", "roles", "whole")
        }
        for name, arm in study.ARMS.items()
    }
    results = {"command": "made", "minutes": 1.0, "seeds": seeds, "runs": runs}
    for name in study.ARMS:
        gap = study.compare_names(results, name)
        assert gap.mean == pytest.approx(5.0)
        assert gap.high - gap.low == pytest.approx(0.0, abs=1e-9)
    assert study.table(results).count("| +0.050 (") == len(study.ARMS)
