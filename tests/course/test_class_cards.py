"""Comparisons of a class in one table."""

import json

import pytest

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput
from babygpt.experiments.compare import compare_versions
from babygpt_course.class_cards import class_cards


def found(path, versions, seeds=(1, 2)):
    """Compare untrained models of one small layer, and store what came out."""
    corpus = load_corpus("plain-tales", 3_000)
    shape = ModelConfig(corpus.tokenizer.vocab_size, 64, n_layer=1, n_head=2, n_embd=16)
    compare_versions(versions, corpus, list(seeds), shape, TrainConfig(2, batch_size=2), out=path)
    return json.loads(path.read_text())


def test_the_encodings_of_a_class_stand_in_one_table(tmp_path):
    ada, ben = (
        found(tmp_path / f"{student}.json", versions)
        for student, versions in (("ada", ["v4", "nope"]), ("ben", ["v4", "alibi", "v3"]))
    )
    table = class_cards(tmp_path)
    gaps = {
        (student, row["variant"]): row["differences"]["loss"]["mean"]
        for student, results in (("ada", ada), ("ben", ben))
        for row in results["rows"][1:]
    }
    *rows, last = table.rows
    assert [row[:2] for row in rows] == sorted(gaps, key=gaps.get)
    assert {row[2:4] for row in rows} == {("v4", "plain-tales, 2 steps, 2 seeds")}
    assert table.heading[4].startswith("validation loss")
    assert all(row[4].startswith(f"{gaps[row[:2]]:+.3f}") for row in rows if abs(gaps[row[:2]]) > 5e-4)
    assert (*last[:2], *set(last[2:])) == ("2 files", "3 encodings", "")


def test_a_folder_without_comparisons_says_what_goes_there(tmp_path):
    with pytest.raises(BadInput, match=r"ada\.json"):
        class_cards(tmp_path)
    (tmp_path / "ada.json").write_text("{}")
    with pytest.raises(BadInput, match="holds no results of a comparison"):
        class_cards(tmp_path)
