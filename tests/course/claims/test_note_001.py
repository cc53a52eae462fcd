"""Note 001: closed forms, and changed definitions that change the verdicts."""

import math
from functools import partial
from pathlib import Path

import pytest
import torch

from babygpt.encodings.gaussian import AbsoluteGaussian, RelativeGaussian
from babygpt.encodings.rotary import Rotary, rotate
from babygpt_course.claims import note_001


def K(m):
    """Return the kernel at m, with the numbers of the note's example."""
    return 0.7 * math.exp(-m * m / 50) + 0.3 * math.exp(-m * m / 800)


def test_the_factor_of_a_score_is_a_product_of_two_kernels():
    reason = note_001.kernel_knows_the_distance.measure().reason
    assert f"{K(3) * K(0):.2f} for 3 and 0" in reason
    assert f"{K(63) * K(60):.0e} for 63 and 60" in reason


def test_the_terms_switch_where_they_are_equal():
    at = math.sqrt(math.log(0.7 / 0.3) / (1 / 50 - 1 / 800))
    assert 0.7 * math.exp(-at * at / 50) == pytest.approx(0.3 * math.exp(-at * at / 800))
    assert note_001.scales_switch.measure().value == math.ceil(at)


def test_a_matching_key_gets_the_share_that_softmax_by_hand_gives_it():
    """Write out RoPE and the kernel for one text."""
    q, k = note_001.random_heads(7, 1)
    q, k = q[0, 0].double(), k[0, 0].double()
    k[2] = q[6]
    turned_q, turned_k = (rotate(x, torch.arange(7)) for x in (q, k))
    kernel = torch.tensor([K(6 - n) for n in range(7)])
    weights = kernel * torch.exp(turned_k @ turned_q[6] * 2 / 32**0.5)
    encoding = RelativeGaussian(32, learnable=False)
    got = note_001.last_scores(encoding, q[None, None].float(), k[None, None].float()).softmax(-1)
    assert float(got[0, 2]) == pytest.approx(float(weights[2] / weights.sum()), rel=1e-4)


def test_the_shortened_program_equals_the_notes_class():
    """Compare with the note's own class, if its text is at hand; it runs with as many tokens as channels."""
    note = Path(__file__).parents[3].parent / "shared/source-notes" / note_001.NOTE
    if not note.exists():
        pytest.skip("the source notes are not at hand")
    theirs: dict = {"__name__": "note"}
    exec(note.read_text(encoding="utf-8").split("```python")[1].split("```")[0], theirs)
    q, k = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    for x, got in zip((q, k), theirs["RotaryEmbedding"](64, 0.7, 0.3, 5.0, 20.0)(q, k), strict=True):
        torch.testing.assert_close(note_001.NoteRotary()(x), got)


# ---------------------------------------------------------------- changed definitions change the verdict


class Repaired(note_001.NoteRotary):
    """The note's module without its faults."""

    def __init__(self):
        super().__init__()
        self.alpha = torch.nn.Parameter(torch.tensor([0.7, 0.3]))

    def rotate(self, x):
        return rotate(x, torch.arange(x.shape[-2]))

    def forward(self, x):
        return note_001.note_kernel(torch.arange(x.shape[-2]).float())[:, None] * self.rotate(x)


class Turning(AbsoluteGaussian):
    def transform_qk(self, q, k, positions):
        return rotate(q, 2 * positions.time), k


def more_with_a_kernel(encoding, m, back):
    return float(
        not isinstance(encoding, Rotary) or isinstance(encoding, (AbsoluteGaussian, RelativeGaussian))
    )


CODE = ("code_runs", "code_scales_by_place", "code_rotates")
SLOW = torch.full((16,), 1e-3, dtype=torch.float64)
OTHERWISE = [  # claim, name in the module, its replacement, verdict
    *((claim, "NoteRotary", Repaired, "holds") for claim in CODE),
    ("adjusts_its_range", "NoteRotary", Repaired, "holds"),
    ("kernel_knows_the_distance", "AbsoluteGaussian", RelativeGaussian, "holds"),
    ("alphas_and_sigmas_set_the_range", "AbsoluteGaussian", RelativeGaussian, "holds"),
    ("alphas_and_sigmas_set_the_range", "RelativeGaussian", AbsoluteGaussian, "fails"),
    ("kernel_changes_the_rotation", "AbsoluteGaussian", Turning, "holds"),
    ("kernel_leaves_the_frequency", "AbsoluteGaussian", Turning, "fails"),
    ("near_at_small_m_and_far_at_large", "RelativeGaussian", AbsoluteGaussian, "fails"),
    ("near_at_small_m_and_far_at_large", "attention_on_match", more_with_a_kernel, "holds"),
    ("scales_switch", "ALPHAS", (0.7, 0.0), "fails"),
    ("frequencies_are_right", "rotate", partial(rotate, theta=5000.0), "fails"),
    ("rope_cannot_choose_its_scale", "frequencies", lambda D: SLOW, "holds"),
]


@pytest.mark.parametrize(("claim", "name", "other", "verdict"), OTHERWISE)
def test_a_changed_definition_changes_the_verdict(monkeypatch, claim, name, other, verdict):
    monkeypatch.setattr(note_001, name, other)
    assert getattr(note_001, claim).measure().verdict == verdict


# ---------------------------------------------------------------- stored runs


def stored(gain, late=None, half=6):
    """Return results in which all kernels beat RoPE by `gain` on each seed, in long runs by `late`."""

    def found(gains):
        rope = {"val_loss": [1.0] * len(gains), "accuracy": [0.5] * len(gains)}
        ours = {"val_loss": [1.0 - x for x in gains], "accuracy": [0.5 + x for x in gains]}
        ours |= {"kernel": [[{"half": half}]] * len(gains)}
        return {"v4": rope, **dict.fromkeys(("v5", "v5 fixed", "v5-absolute fixed"), ours)}

    board = {"300": found(gain), "1200": found(gain if late is None else late)}
    return {"block_size": 64, "start": {"half": 8}, "plain": board, "full": {"600": board["1200"]}}


AHEAD, BEHIND = 2 * (0.1, 0.2, 0.3, 0.2, 0.1, 0.3), 2 * (-0.1, -0.2, -0.3, -0.2, -0.1, -0.3)
MIXED, LITTLE = 2 * (-0.2, 0.2, 0.3, -0.1, 0.2, 0.1), 2 * (0.01, 0.02, 0.01, 0.02, 0.01, 0.02)
GAINS = {"holds": AHEAD, "undecided": MIXED, "fails": BEHIND}
LOSSES = (note_001.lowers_the_loss, note_001.formula_lowers_the_loss)
STORED = [  # claim, stored results, verdict, value
    *((claim, stored(gain), verdict, sum(gain) / 12) for claim in LOSSES for verdict, gain in GAINS.items()),
    *((claim, stored(AHEAD[:3]), "undecided", 0.2) for claim in LOSSES),
    *((claim, stored(LITTLE), "fails", 0.015) for claim in LOSSES),
    (note_001.lowers_the_loss, stored(AHEAD, late=BEHIND), "fails", -0.2),
    (note_001.adjusts_its_range, stored(BEHIND), "depends", -2.0),
    (note_001.adjusts_its_range, stored(AHEAD, half=8), "fails", 0.0),
]


@pytest.mark.parametrize(("claim", "results", "verdict", "value"), STORED)
def test_other_stored_runs_change_the_verdict(monkeypatch, claim, results, verdict, value):
    monkeypatch.setattr(note_001, "load_results", lambda name: results)
    finding = claim.measure()
    assert (finding.verdict, finding.value) == (verdict, pytest.approx(value, rel=1e-3))
