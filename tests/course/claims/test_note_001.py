"""Note 001: closed forms, and measurements that can come out otherwise."""

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


def test_the_terms_switch_where_they_are_equal_whatever_the_text():
    at = math.sqrt(math.log(0.7 / 0.3) / (1 / 50 - 1 / 800))
    assert 0.7 * math.exp(-at * at / 50) == pytest.approx(0.3 * math.exp(-at * at / 800))
    assert note_001.crossovers().tolist() == [[math.ceil(at)] * note_001.TEXTS] * 2


def test_a_matching_key_gets_the_share_that_softmax_by_hand_gives_it():
    """With RoPE and the kernel written out, for one text."""
    q, k = note_001.random_heads(7, 1)
    q, k = q[0, 0].double(), k[0, 0].double()
    k[2] = q[6]
    turned_q, turned_k = (rotate(x, torch.arange(7)) for x in (q, k))
    kernel = torch.tensor([K(6 - n) for n in range(7)])
    weights = kernel * torch.exp(turned_k @ turned_q[6] * 2 / 32**0.5)
    encoding = RelativeGaussian(32, learnable=False)
    got = note_001.last_scores(encoding, q[None, None].float(), k[None, None].float()).softmax(-1)
    assert float(got[0, 2]) == pytest.approx(float(weights[2] / weights.sum()), rel=1e-4)


def test_the_shortened_code_is_the_notes():
    """Against the note's own class, if its text is at hand: with as many tokens as channels it runs."""
    note = Path(__file__).parents[3].parent / "shared/source-notes" / note_001.NOTE
    if not note.exists():
        pytest.skip("the source notes are not at hand")
    theirs: dict = {"__name__": "note"}
    exec(note.read_text(encoding="utf-8").split("```python")[1].split("```")[0], theirs)
    q, k = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))
    for x, got in zip((q, k), theirs["RotaryEmbedding"](64, 0.7, 0.3, 5.0, 20.0)(q, k), strict=True):
        torch.testing.assert_close(note_001.NoteRotary()(x), got)


# ---------------------------------------------------------------- each could come out otherwise


class Repaired(note_001.NoteRotary):
    """The note's module with its four faults mended."""

    def __init__(self):
        super().__init__()
        self.alpha = torch.nn.Parameter(torch.tensor([0.7, 0.3]))
        self.register_buffer("inv_freq", self.__dict__.pop("inv_freq"))

    def rotate(self, x):
        return rotate(x, torch.arange(x.shape[-2]))

    def forward(self, x):
        return note_001.note_kernel(torch.arange(x.shape[-2]).float())[:, None] * self.rotate(x)


class Turning(AbsoluteGaussian):
    def transform_qk(self, q, k, positions):
        return rotate(q, 2 * positions.time), k


class Growing(AbsoluteGaussian):
    def transform_qk(self, q, k, positions):
        q, k = Rotary.transform_qk(self, q, k, positions)
        return 3 * q, k


class Rising(RelativeGaussian):
    def score_bias(self, queries, keys):
        return -super().score_bias(queries, keys)


class TextPositions(AbsoluteGaussian):
    """Its widths are the text's: the first query says how much wider they are."""

    def transform_qk(self, q, k, positions):
        scale = self.kernel(positions.time / (1 + q[:, 0, :1, 0].abs()))[:, None, :, None]  # (B, 1, T, 1)
        q, k = Rotary.transform_qk(self, q, k, positions)
        return q * scale, k * scale


class TextDistances(RelativeGaussian):
    """A kernel of the distance whose widths are the text's."""

    def transform_qk(self, q, k, positions):
        self.wider = 1 + q[:, 0, :1, :1].abs()  # (B, 1, 1)
        return super().transform_qk(q, k, positions)

    def score_bias(self, queries, keys):
        return self.log_kernel((queries.time[:, None] - keys.time) / self.wider)  # (B, T, T)


CODE = ("code_runs", "code_scales_by_place", "code_rotates", "code_adapts", "code_follows_its_device")
SLOW = torch.full((16,), 1e-3, dtype=torch.float64)
OTHERWISE = [  # claim, name in the module, its replacement, verdict
    *((claim, "NoteRotary", Repaired, "holds") for claim in CODE),
    ("kernel_knows_the_distance", "AbsoluteGaussian", RelativeGaussian, "holds"),
    ("sigmas_reach", "AbsoluteGaussian", RelativeGaussian, "holds"),
    ("alphas_weigh", "AbsoluteGaussian", RelativeGaussian, "holds"),
    ("kernel_changes_the_rotation", "AbsoluteGaussian", Turning, "holds"),
    ("kernel_leaves_the_frequency", "AbsoluteGaussian", Turning, "fails"),
    ("local_is_stronger", "AbsoluteGaussian", Growing, "holds"),
    ("global_is_stronger", "AbsoluteGaussian", Growing, "depends"),
    ("local_is_stronger", "RelativeGaussian", Rising, "fails"),
    ("scales_switch", "AbsoluteGaussian", TextPositions, "holds"),
    ("scales_switch", "RelativeGaussian", TextDistances, "holds"),
    ("frequencies_are_right", "rotate", partial(rotate, theta=5000.0), "fails"),
    ("rope_cannot_choose_its_scale", "frequencies", lambda D: SLOW, "holds"),
    ("rope_is_too_coarse", "frequencies", lambda D: SLOW, "holds"),
]


@pytest.mark.parametrize(("claim", "name", "other", "verdict"), OTHERWISE)
def test_it_could_come_out_otherwise(monkeypatch, claim, name, other, verdict):
    monkeypatch.setattr(note_001, name, other)
    assert getattr(note_001, claim).measure().verdict == verdict


# ---------------------------------------------------------------- what is stored


def stored(gain, late=None, further=0.0):
    """Return results in which all kernels beat RoPE by `gain` on each seed, in long runs by `late`."""

    def found(gains):
        loss = [1.0 - x for x in gains]
        rope = {"val_loss": [1.0] * 3, "far": [1.0] * 3, "hiding": [[0.3, 0.0]] * 3, "accuracy": [0.5] * 3}
        ours = {"val_loss": loss, "far": loss, "hiding": [[0.3 + further, 0.0]] * 3}
        ours |= {"kernel": [[{"half": 6}]] * 3, "accuracy": [0.5 + x for x in gains]}
        versions = dict.fromkeys(("v5", "v5-absolute", "v5-absolute fixed"), ours)
        return {"v4": rope, **versions, "v5 fixed": ours | {"accuracy": [0.5] * 3}}

    board = {"300": found(gain), "1200": found(gain if late is None else late)}
    settings = {"block_size": 64, "start": {"half": 8}, "distances": [20, 63]}
    return {**settings, "plain": board, "full": {"600": board["1200"]}}


AHEAD, MIXED, BEHIND, LEVEL = (0.1, 0.2, 0.3), (-0.1, 0.2, 0.3), (-0.1, -0.2, -0.3), (0.0, 0.0, 0.0)
GAINS = {"holds": AHEAD, "depends": MIXED, "fails": BEHIND}
LOSSES = (note_001.lowers_the_loss, note_001.formula_lowers_the_loss, note_001.helps_far_out)
STORED = [  # claim, stored results, verdict, value
    *((claim, stored(gain), verdict, sum(gain) / 3) for claim in LOSSES for verdict, gain in GAINS.items()),
    (note_001.lowers_the_loss, stored(AHEAD, late=[-0.01] * 3), "fails", -0.01),
    (note_001.reaches_further_than_rope, stored(AHEAD, further=0.1), "holds", 0.1),
    (note_001.reaches_further_than_rope, stored(AHEAD, further=-0.1), "fails", -0.1),
    (note_001.finds_the_range, stored(BEHIND), "fails", 0.2),
    (note_001.finds_the_range, stored(BEHIND, late=LEVEL), "depends", 0.0),
    (note_001.finds_the_range, stored(LEVEL), "holds", 0.0),
]


@pytest.mark.parametrize(("claim", "results", "verdict", "value"), STORED)
def test_other_stored_runs_would_decide_otherwise(monkeypatch, claim, results, verdict, value):
    monkeypatch.setattr(note_001, "load_results", lambda name: results)
    finding = claim.measure()
    assert (finding.verdict, finding.value) == (verdict, pytest.approx(value, rel=1e-3))
