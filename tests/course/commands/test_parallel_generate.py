"""`parallel-generate`: several texts at once."""

import pytest


def test_parallel_generate_writes_each_branch_under_its_heading(run, pretrained):
    args = ["--branches", 2, "--prompt", "the ", "--prompt", "on", "--tokens", 5, "--seed", 1]
    first, again, other = (
        run("parallel-generate", "--model", at, *args, *more)
        for at, more in (
            (pretrained, []),
            (pretrained / "pretrain.safetensors", []),
            (pretrained, ["--seed", 2]),
        )
    )
    assert first.exit_code == 0, first.output
    lines = first.stdout.splitlines()
    assert lines[0::2] == ["--- branch 0 ---", "--- branch 1 ---"]
    assert lines[1].startswith("the ")
    assert lines[3].startswith("on")
    assert [len(lines[1]), len(lines[3])] == [9, 7]
    assert first.stdout == again.stdout != other.stdout


def test_a_branch_without_a_prompt_begins_a_line(run, pretrain, tmp_path):
    text = tmp_path / "lines.txt"
    text.write_text("abc\n" * 300, encoding="utf-8")
    assert pretrain(str(text), tmp_path / "out").exit_code == 0
    result = run("parallel-generate", "--model", tmp_path / "out", "--prompt", "ab", "--tokens", 0)
    assert result.stdout == "--- branch 0 ---\nab\n--- branch 1 ---\n\n\n"


@pytest.mark.parametrize(
    ("args", "parts"),
    [
        (["--branches", "0"], ["0 branches"]),
        (["--branches", "257"], ["257 branches", "position 32768", "0 to 32767"]),
        (["--branches", "1", "--prompt", "a", "--prompt", "b"], ["2 prompts", "1 branches"]),
        (["--prompt", "cat"], ["1 prompts for 2 branches", "no line end"]),
        (["--prompt", "cat!", "--prompt", "cat"], ["character '!' at position 3"]),
        (["--prompt", "", "--prompt", "cat"], ["prompt is empty"]),
        (["--prompt", "the cat sat on the mat", "--prompt", "cat"], ["22 tokens", "16"]),
        (["--prompt", "the", "--prompt", "cat", "--top-k", "0"], ["top_k (0)"]),
    ],
)
def test_parallel_generate_refuses_in_one_line(run, refused, pretrained, args, parts):
    refused(run("parallel-generate", "--model", pretrained, *args), *parts)


def test_each_kind_of_model_has_its_own_command(run, refused, train, tmp_path, corpus, pretrained):
    refused(run("generate", pretrained / "pretrain.safetensors"), "v6", "parallel-generate --model")
    out = train("v4")
    refused(run("parallel-generate", "--model", out), "v4", f"generate {out}")
    refused(run("parallel-generate", "--model", tmp_path / "none"), "no checkpoint at", tmp_path / "none")
    refused(run("train", "v6", "--corpus", corpus, "--out", tmp_path / "v6.safetensors"), "v6", "pretrain")
    assert not (tmp_path / "v6.safetensors").exists()
