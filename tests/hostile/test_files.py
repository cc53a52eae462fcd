"""Files that somebody else wrote, or half wrote: they are read, or refused by their name."""

import json

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from babygpt.cli import main
from babygpt.config import ModelConfig
from babygpt.data.corpus import from_text, load_corpus
from babygpt.errors import BadInput
from babygpt.models.versions import build
from babygpt.training import checkpoint
from babygpt.training.checkpoint import Checkpoint
from babygpt_course.notes import report

TEXT = "the cat sat on the mat. " * 40
RUN = {
    **{"variant": "rope", "version": "v7-rope", "seed": 1, "curve": [[1, 2.0]]},
    **{"val_loss": 2.0, "nelbo": 2.0, "seconds_per_step": 0.1},
}
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@pytest.mark.survives(
    "results of a comparison in which anything may stand",
    "they are read, or refused by the path of their file",
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from([*RUN, "settings", "runs", None]), value=anything)
@example(key="seed", value=float("nan"))
@example(key="variant", value="../../elsewhere")
@example(key="curve", value=[[1]])
def test_any_results_are_read_or_refused(tmp_path, key, value):
    whole = {"settings": {}, "runs": [RUN | ({key: value} if key in RUN else {})]}
    content = value if key is None else whole | ({key: value} if key in whole else {})
    path = tmp_path / "ablation_results.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    refusal = found = None
    try:
        found = report.load_runs(path)
    except BadInput as error:
        refusal = str(error)
    if found is None:
        assert str(path) in refusal
    else:
        report.aggregate(found["runs"])
        if found["runs"]:
            assert report.conclusion(found["runs"])
            assert report.compare_speed(found["runs"])


@pytest.mark.parametrize("content", [b"", b"\xff", b"[" * 100_000, b"9" * 10_000, b"null", b"{", b"\0"])
def test_what_is_no_json_is_refused_by_its_path(tmp_path, content):
    path = tmp_path / "ablation_results.json"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=r"ablation_results\.json holds no results"):
        report.load_runs(path)


def trained_on(corpus, path):
    """A checkpoint of a v7 that says it was trained on a corpus of this name."""
    text = from_text("text", TEXT, with_mask=True)
    model = build("v7-rope", ModelConfig(text.tokenizer.vocab_size, 16, 1, 2, 16))
    checkpoint.save(path, Checkpoint("v7-rope", model, text.tokenizer, {"corpus": corpus}))
    return path


def generation(folder, *more):
    files = ["--rope-weights", folder / "a.safetensors", "--polar-weights", folder / "b.safetensors"]
    brief = ["--num-prompts", 1, "--prompt-len", 4, "--gen-len", 4, "--judge-steps", 1]
    words = ["compare", "generation", *files, *brief, "--output", folder / "out.json", *more]
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.mark.survives(
    "a checkpoint names a text outside of the folder one works in",
    "it is not read unless you name it yourself",
)
@pytest.mark.parametrize("how", ["..", "from the root", "by a link"])
def test_a_path_that_leads_out_of_the_folder_is_not_followed(tmp_path, monkeypatch, how):
    work, secret = tmp_path / "work", tmp_path / "secret.txt"
    work.mkdir()
    monkeypatch.chdir(work)
    secret.write_text(TEXT, encoding="utf-8")
    (work / "link.txt").symlink_to(secret)
    path = {"..": "../secret.txt", "from the root": str(secret), "by a link": "link.txt"}[how]
    for name in ("a", "b"):
        trained_on(path, work / f"{name}.safetensors")
    result = generation(work)
    assert result.exit_code == 1
    assert f"{path}: say --corpus if you mean it" in result.output
    assert not (work / "out.json").exists()
    result = generation(work, "--corpus", path)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("name", ["../tales", "tales/../shakespeare", "TALES", "tales\0", " tales"])
def test_a_name_that_is_nearly_that_of_a_corpus_is_a_path(name):
    with pytest.raises(ValueError, match="no file at"):
        load_corpus(name)
