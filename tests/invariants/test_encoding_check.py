"""Check of encodings: for each promise an encoding that breaks it alone, and the marks of every version."""

import json
import math

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, Rotary
from babygpt.encodings.base import distances
from babygpt.encodings.fourier import BranchCode, NoBranchCode
from babygpt.encodings.rotary import rotate_pairs
from babygpt.errors import BadInput
from babygpt.invariants.trials import PROMISES
from babygpt.models.versions import VERSIONS
from babygpt.positions import Positions

# ---------------------------------------------------------------- each breaks one promise


class AddsPosition(Encoding):
    """A wave of the position, added to the embedding."""

    def embed(self, x, positions):
        return x + (positions.time.double() / 7).sin().to(x.dtype)[..., None]


class SeesNextToken(Encoding):
    """Half of the next token's embedding, added to each."""

    def embed(self, x, positions):
        return x + torch.cat([x[:, 1:], x[:, -1:]], dim=1) / 2


class NoBiasForOneQuery(Encoding):
    """A bias of the distance that forgets the single query which is read with a cache."""

    def score_bias(self, queries, keys):
        forgotten = len(queries) == 1 < len(keys)
        return -0.5 * distances(queries, keys)[..., None, :, :] * (not forgotten)


class CountsInPiece(Encoding):
    """A bias of the distance that counts queries from the start of the piece."""

    def score_bias(self, queries, keys):
        if len(queries) == 1:
            return -0.5 * distances(queries, keys)[..., None, :, :]
        return -0.5 * (torch.arange(len(queries))[:, None] - torch.arange(len(keys)))[None].abs()


class MixesTexts(Encoding):
    """The mean of all texts in a batch, added to each."""

    def embed(self, x, positions):
        return x + x.roll(1, dims=-1).mean(dim=0)


class ClampedRotary(Rotary):
    """RoPE that takes every position past the window for the window's last one."""

    def __init__(self, head_dim, block_size):
        super().__init__(head_dim)
        self.last_position = block_size - 1

    def transform_qk(self, q, k, positions):
        return super().transform_qk(q, k, Positions(positions.time.clamp(max=self.last_position)))


class NanPastWindow(ClampedRotary):
    """RoPE without numbers past the window."""

    def transform_qk(self, q, k, positions):
        q, k = Rotary.transform_qk(self, q, k, positions)
        return q, k.masked_fill((positions.time > self.last_position)[..., None, :, None], torch.nan)


class BeginsAgain(ClampedRotary):
    """RoPE whose positions begin again at 0 where the window ends."""

    def transform_qk(self, q, k, positions):
        return Rotary.transform_qk(self, q, k, Positions(positions.time % (self.last_position + 1)))


class BeginsAgainInTable(Encoding):
    """A table of positions that begins again where the window ends."""

    def __init__(self, block_size, n_embd):
        super().__init__()
        self.table = torch.nn.Embedding(block_size, n_embd)

    def embed(self, x, positions):
        return x + self.table(positions.time % self.table.num_embeddings)


class Float32Angles(Rotary):
    """RoPE whose angles are products of float32 numbers."""

    def transform_qk(self, q, k, positions):
        angle = positions.time.float()[..., None] * self.frequencies().float()
        angle = angle if positions.time.dim() == 1 else angle[:, None]
        return rotate_pairs(q, angle), rotate_pairs(k, angle)


class BFloat16Positions(Rotary):
    """RoPE whose positions have the precision of queries, where that is bfloat16."""

    def transform_qk(self, q, k, positions):
        if q.dtype != torch.bfloat16:
            return super().transform_qk(q, k, positions)
        angle = positions.time.to(q.dtype)[:, None] * self.frequencies().to(q.dtype)
        return rotate_pairs(q, angle.double()), rotate_pairs(k, angle.double())


class AlwaysFloat32(Rotary):
    """RoPE whose queries and keys are float32 in every model."""

    def transform_qk(self, q, k, positions):
        return super().transform_qk(q.float(), k.float(), positions)


class TwoCodes(BranchCode):
    """The same code for every second branch."""

    def code(self, branch):
        return 0.5 * (branch % 2)[..., None]


class OrderAmongBranches(NoBranchCode):
    """The number of tokens of the same time before each in the row, in place of the branch."""

    def embed(self, x, positions):
        same_time = positions.time[..., :, None] == positions.time[..., None, :]
        return x + 0.5 * same_time.tril(-1).sum(dim=-1)[..., None].to(x.dtype)


class AsksForValues(Encoding):
    """An encoding that reads the positions to refuse some."""

    def score_bias(self, queries, keys):
        if int(queries.time.min()) < 0:
            raise BadInput("a position is negative")
        return -0.5 * distances(queries, keys)[..., None, :, :]


class ForgotReturn(Rotary):
    """RoPE, and a bias that is computed and not returned."""

    def __init__(self, head_dim):
        super().__init__(head_dim)
        self.slope = torch.nn.Parameter(torch.ones(()))

    def score_bias(self, queries, keys):
        _ = -self.slope * distances(queries, keys)[..., None, :, :]


class Misspelled(Encoding):
    """A bias in a method that no model calls."""

    def score_bais(self, queries, keys):
        return -0.5 * distances(queries, keys)[..., None, :, :]


class WithoutHooks(Encoding):
    """Nothing at all."""


BROKEN = [
    (AddsPosition, "distance alone", "1 token, position 0: a logit changes by 0."),
    (SeesNextToken, "causal", "2 tokens, positions 0 and 1: the last token changes a logit of one before"),
    (NoBiasForOneQuery, "cache", "2 tokens, positions 0 and 1: token by token, a logit is off by 0."),
    (CountsInPiece, "pieces", "3 tokens, positions 0 to 2, read as 1 + 2: a logit is off by 0."),
    (MixesTexts, "batch", "2 texts of 1 token, equal positions: a logit is off by"),
    (ClampedRotary, "beyond the window", "2 tokens, positions 192 and 193: no logit changes when"),
    (NanPastWindow, "beyond the window", "2 tokens, positions 192 and 193: logits are not finite"),
    (BeginsAgain, "far positions", "2 tokens, positions 0 and 1: a logit changes by 0."),
    (Float32Angles, "far positions", "2 tokens, positions 0 and 1: a logit changes by 0."),
    (BFloat16Positions, "precision", "8 tokens, positions 4096 to 4103: under autocast to bfloat16, logits"),
    (AlwaysFloat32, "precision", "1 token, position 0: RuntimeError"),
    (
        TwoCodes,
        "branch permutation",
        "2 texts of 2 tokens: no logit changes when they exchange branches 0",
    ),
    (
        OrderAmongBranches,
        "branch permutation",
        "2 texts of 1 token each: in another order, a logit is off by 0.",
    ),
    (
        AsksForValues,
        "compiles",
        "2 tokens, positions 0 and 1: the graph breaks in score_bias: if int(",
    ),
    (ForgotReturn, "takes part", "8 tokens, positions 0 to 7: no logit depends on slope"),
    (
        Misspelled,
        "takes part",
        "8 tokens, positions 0 to 7: the logits are those without it; did score_bais mean score_bias?",
    ),
    (
        WithoutHooks,
        "takes part",
        "8 tokens, positions 0 to 7: the logits are those without it; it overrides none of embed, ",
    ),
]


@pytest.mark.parametrize(("encoding", "name", "note"), BROKEN)
def test_an_encoding_that_breaks_one_promise_is_shown_with_its_smallest_input(encoding, name, note):
    table = invariants.check(encoding)
    assert table.broken_names == [name], table
    assert table[name].note.startswith(note)
    assert table[name].mark == "✗"


def test_absolute_positions_that_begin_again_are_found_past_the_window():
    table = invariants.check(BeginsAgainInTable)
    assert table.broken_names == ["distance alone", "beyond the window"]
    note = "8 tokens, positions 192 to 199: logits are those at positions 0 to 7"
    assert table["beyond the window"].note == note


class Roots(Encoding):
    """Codes that are numbers only while no weight is below 0."""

    def __init__(self):
        super().__init__()
        self.squares = torch.nn.Parameter(torch.zeros(32))

    def embed(self, x, positions):
        return x + self.squares.sqrt()


def test_a_hook_that_is_sound_with_its_first_weights_alone_is_named_with_its_first_bad_number():
    with pytest.raises(
        BadInput, match=r"Roots: embed returned nan at \[0, 0, \d+\], the first of \d+ of its 480 "
    ):
        invariants.check(Roots)


def test_every_promise_is_broken_by_a_test():
    assert {name for _, name, _ in BROKEN} == set(PROMISES)


# ---------------------------------------------------------------- versions

# A score or an embedding that depends on the position itself.
ABSOLUTE = {"v2", "v3", "learned", "fire", "v5-absolute"}
ABSOLUTE |= {"v7-polar", "v7-exact", "v7-random", "v7-last", "v7-keys"}


def expected_marks(version):
    """Return the marks that an encoding's claims lead to."""
    kind = VERSIONS[version]
    reads_on = version not in ("v2", "learned", "v4-dynamic", "v5-absolute")
    cached = not kind.masks and version != "v4-dynamic"
    return {
        "distance alone": "✗" if version in ABSOLUTE else "✓",
        "causal": "–" if kind.masks else "✓",
        "cache": "✓" if cached else "–",
        "pieces": "✓" if cached else "–",
        "batch": "✓",
        "beyond the window": "✗" if version == "v5-absolute" else "✓",  # K(192)^2 is 0 in float32
        "far positions": "✓" if reads_on else "–",
        "precision": "✓",
        "branch permutation": "✓" if kind.branches else "–",
        "compiles": "✓",
        "takes part": "–" if version in ("v1", "nope", "v7-nope") else "✓",
    }


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_keeps_the_promises_that_it_makes(version):
    table = invariants.check(version)
    assert {row.name: row.mark for row in table.rows} == expected_marks(version), table


def test_notes_say_how_a_promise_holds_or_why_it_was_not_measured():
    table = invariants.check("v4-dynamic", ModelConfig(12, 16, n_layer=1, n_head=1, n_embd=8))
    assert table.broken_names == []
    assert table.holds
    assert "cacheable is False" in table["cache"].note
    assert table["beyond the window"].note.startswith("refused: positions 16 to 16 reach past the window")
    assert table["branch permutation"].note == "it is made for one text"
    assert "no code" in invariants.check("v6-none")["branch permutation"].note
    assert "no code" not in invariants.check("v6-rope2d")["branch permutation"].note
    single = invariants.check("v6-learned", max_branches=1)["branch permutation"]
    assert (single.mark, single.note) == ("–", "it has a code for one text only")
    assert "both ways" in invariants.check("v7-nope")["causal"].note


# ---------------------------------------------------------------- the table


def test_a_table_is_text_html_and_json():
    table = invariants.check("v1")
    first, second, *_ = repr(table).splitlines()
    assert first == "v1: bag of tokens"
    assert second == "✓ distance alone      below 1e-4  scores depend on m − n only"
    assert "<td style='text-align:left'>distance alone</td>" in table._repr_html_()
    stored = json.loads(json.dumps(table.as_json(), allow_nan=False))
    assert stored["holds"] is True
    assert [row["name"] for row in stored["rows"]] == list(PROMISES)
    assert stored["rows"][8] == {
        "name": "branch permutation",
        "statement": "the order of texts in a row changes nothing, and their codes differ",
        "holds": None,
        "measured": None,
        "allowed": None,
        "note": "it is made for one text",
    }


def test_options_reach_the_encoding_and_the_random_numbers_stay():
    torch.manual_seed(5)
    plain, frozen = (
        invariants.check("v5-absolute", learnable=False, sigmas=(width, width)) for width in (5.0, math.inf)
    )
    assert "distance alone" in plain.broken_names
    assert frozen.broken_names == []  # a kernel that never falls is RoPE
    assert torch.initial_seed() == 5
    state = torch.get_rng_state()
    invariants.check("v1")
    assert torch.equal(torch.get_rng_state(), state)


def test_an_error_in_one_promise_breaks_it_and_one_in_all_is_refused():
    class NotSevenTokens(Encoding):
        def embed(self, x, positions):
            if len(positions) == 7:
                raise KeyError("seven")
            return x

    class Speechless(Encoding):
        def embed(self, x, positions):
            raise KeyError("no word")

    class Nan(Encoding):
        def transform_qk(self, q, k, positions):
            return q, k * torch.nan

    row = invariants.check(NotSevenTokens)["causal"]
    assert row.note == "7 tokens, positions 0 to 6: KeyError: 'seven'"
    assert row.as_json()["measured"] is None
    assert row.measured == ""
    with pytest.raises(BadInput, match=r"Speechless.*no word"):
        invariants.check(Speechless)
    with pytest.raises(BadInput, match=r"Nan"):
        invariants.check(Nan)
    with pytest.raises(BadInput, match=r"version \(v44\) must be one of"):
        invariants.check("v44")
    with pytest.raises(BadInput, match=r"vocab_size \(2\) must be at least 3"):
        invariants.check("v4", ModelConfig(2))


def test_without_torch_compile_the_row_says_so(monkeypatch):
    def missing(*arguments, **named):
        raise RuntimeError("torch.compile is not supported on Python 3.99")

    monkeypatch.setattr(torch, "compile", missing)
    row = invariants.check("v1")["compiles"]
    assert (row.mark, row.note) == (
        "–",
        "torch.compile does not work here: torch.compile is not supported on Python 3.99",
    )
