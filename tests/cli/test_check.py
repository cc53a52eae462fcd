"""`check`: its table, its exit status, the file it stores, and refusals."""

import json

from babygpt import invariants
from babygpt.invariants import encoding_check
from babygpt.invariants.checked_promise import EncodingCheck


def test_check_prints_the_table_and_its_exit_status_says_whether_a_promise_is_broken(run):
    sound, broken = run("check", "v1"), run("check", "v2", "--block-size", 16)
    assert (sound.exit_code, broken.exit_code) == (0, 1)
    assert sound.output.rstrip("\n") == repr(invariants.check("v1"))
    assert "✗ distance alone" in broken.output
    assert "refused: position 16 is not in the table" in broken.output


def test_check_stores_its_table_and_overwrites_only_with_its_flag(run, refused, tmp_path):
    out = tmp_path / "v1.json"
    assert run("check", "v1", "--json", out).exit_code == 0
    assert json.loads(out.read_text(encoding="utf-8")) == invariants.check("v1").as_json()
    refused(run("check", "v2", "--json", out), "exists already", out)
    assert run("check", "v2", "--json", out, "--overwrite").exit_code == 1
    assert json.loads(out.read_text(encoding="utf-8"))["encoding"] == "v2: learned positions"


def test_options_of_the_encoding_and_the_shape_reach_the_check(run, monkeypatch):
    calls = []

    def record(version, config, show, **options):
        calls.append((version, config.block_size, config.n_layer, config.n_head, options))
        return EncodingCheck(version, [])

    monkeypatch.setattr(encoding_check, "check", record)
    assert run("check", "v4-yarn", "--factor", 4, "--block-size", 64).exit_code == 0
    assert run("check", "v5", "--sigmas", 3, 9, "--n-head", 1).exit_code == 0
    assert calls == [("v4-yarn", 64, 2, 2, {"factor": 4.0}), ("v5", 192, 2, 1, {"sigmas": (3.0, 9.0)})]
    assert "--steepness" in run("check", "alibi", "--help").output


OWN = """
from babygpt.encodings import Encoding


class Parity(Encoding):
    def __init__(self, strength: float = 1.0):
        super().__init__()
        self.strength = strength

    def embed(self, x, positions):
        return x + self.strength * (positions.time[..., None] % 2).to(x.dtype)
"""


def test_an_encoding_in_a_file_is_checked_with_its_options(run, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(OWN, encoding="utf-8")
    moves, stays = (run("check", f"{path}:Parity", "--strength", strength) for strength in (1.0, 0.0))
    assert moves.output.startswith("mine.py:Parity\n✗ distance alone")
    assert "1 token, position 0: a logit changes by" in moves.output
    assert "✓ distance alone" in stays.output


def test_a_version_or_an_option_that_does_not_exist_is_refused(run, refused):
    refused(run("check", "v44"), "v44")
    refused(run("check", "v4", "--sigmas", 2, 9), "--sigmas: v4 has no such choice; v5, v5-absolute have")
    refused(run("check", "v5", "--sigmas", 0, 9), "sigmas (0.0)")
