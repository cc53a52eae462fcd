"""Bad input to the commands of the course: one line that names it, and no file is written or changed."""

import os
import shlex
import subprocess
import sys

import pytest

SMALL = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 16 --batch-size 4"
COMMANDS = {  # words before the wrong ones; each runs in the folder `made`
    "figures": "figures names --folder drawn",
    "analyze": "analyze fourier",
    "compare": f"compare encodings --corpus text.txt --out-dir out --max-iters 4 --eval-iters 2 {SMALL}",
    "generation": "compare generation --rope-weights at/rope_seed1.safetensors --corpus text.txt "
    "--polar-weights at/polar_seed1.safetensors --num-prompts 3 --prompt-len 8 --gen-len 20 --output o.json",
    "pretrain": f"pretrain --pe fpe --corpus text.txt --out-dir out/deep --max-steps 2 {SMALL}",
    "parallel-generate": "parallel-generate --model first",
    "generate": "generate",
    "train": "train",
}
FIRST = "first/pretrain.safetensors"
REFUSED = [  # command, wrong words, pieces of the line
    ("figures", "--workers 0", "workers (0) must be at least 1"),
    ("figures", "--workers 2 --redraw", "--redraw trains nothing"),
    ("figures", "--seeds 1,x", "seeds (1,x) must be whole numbers"),
    ("figures", "--cluster-option timeout_min=3", "and belongs to a --cluster"),
    ("figures", "--cluster local --cluster-option timeout_min", "(timeout_min) must be NAME=VALUE"),
    ("figures", "--cluster local --cluster-option no_such=1", "cluster (local): "),
    ("figures", "--folder damaged --redraw", "names.json holds no results"),
    ("figures", "--results text.txt", "text.txt is a file"),
    ("analyze", "--stride 0", "stride (0) must be at least 1"),
    ("analyze", "--branches 1", "1 branches", "at least 2"),
    ("analyze", "--width 7", "width (7) must be even"),
    ("compare", "--seeds 1,x", "--seeds (1,x)", "'x'", "whole numbers"),
    ("compare", "--seeds ''", "0 seeds and 2 variants"),
    ("compare", "--variants rope,v4", "variant (v4)", "rope, nope, alibi"),
    ("compare", "--eval-iters 0", "eval_iters (0) must be at least 1"),
    ("compare", "--block-size 100000", "block_size (100000)"),
    ("compare", "--corpus no/such/file.txt", "no/such/file.txt"),
    ("compare", "--out-dir text.txt", "is a file"),
    ("compare", "--out-dir taken", "weights is a file", "--out-dir"),
    ("generation", "--prompt-len 9", "prompt_len (9) must be at most 8", "rope_seed1.safetensors holds 16"),
    ("generation", "--gen-len 2000", "gen_len (2000)", "2008 characters"),
    ("generation", "--top-k 0", "top_k (0)"),
    ("generation", "--temp -1", "temp (-1.0)"),
    ("generation", "--confidence-threshold -1", "confidence_threshold (-1.0)"),
    ("generation", "--corpus tales-zh", "other characters"),
    ("generation", "--rope-weights none.safetensors", "no checkpoint at none.safetensors"),
    ("generation", "--polar-weights at/rope_seed1.safetensors", "are both called rope_seed1"),
    ("generation", "--polar-weights v4.safetensors", "v4.safetensors", "fill in masked tokens"),
    ("generation", "--output text.txt", "exists already", "--overwrite"),
    ("pretrain", "--branches-per-sample 0", "0 branches", "at least 1"),
    ("pretrain", "--min-branches-per-sample 3 --max-branches-per-sample 2", "at most 2", "at least 3"),
    ("pretrain", "--branches-per-sample 2 --max-branches-per-sample 4", "branches_per_sample (2)", "(4)"),
    ("pretrain", "--branches-per-sample 3 --fpe-max-positions 256", "3 branches", "position 256", "0 to 255"),
    ("pretrain", "--pe learned --learned-rows 2 --branches-per-sample 3", "3 branches", "0 to 1"),
    ("pretrain", "--length 17", "17 tokens", "16 times"),
    ("pretrain", "--epochs 0", "epochs (0) must be at least 1"),
    ("pretrain", "--fpe-theta 0", "fpe_theta (0.0) must be above 0"),
    ("pretrain", "--branch-slice-count 50 --branches-per-sample 3", "71 texts in 50 slices", "3 branches"),
    ("pretrain", "--n-embd 30 --n-head 4", "n_embd (30) must be divisible by n_head (4)"),
    ("pretrain", "--corpus no/such/file.txt", "no/such/file.txt"),
    ("pretrain", "--init-weight no/such/pretrain_512.pth", "no checkpoint at no/such/pretrain_512.pth"),
    ("pretrain", "--pe fourier", "fpe", "rope2d", "learned", "none"),
    ("pretrain", "--learning-rate 0.1 --lr-matrix 0.1", "--learning-rate (0.1) sets both", "leave out"),
    ("pretrain", "--lr-other 1e38 --lr-matrix 1e38 --max-steps 30", "loss is", "at step"),
    ("pretrain", "--out-dir first", "holds pretrain.safetensors already", "--out-dir"),
    ("pretrain", "--out-dir taken", "holds weights already", "--out-dir"),
    ("pretrain", "--out-dir text.txt/below", "cannot be made", "text.txt is a file"),
    ("pretrain", "--init-weight first --n-embd 32", FIRST, "n_embd (32)", "(16)"),
    ("pretrain", "--init-weight first --pe rope2d", FIRST, "v6", "v6-rope2d", "not interchangeable"),
    ("pretrain", "--init-weight first --branch-stride 64", FIRST, "stride (64)", "(128)"),
    ("pretrain", "--init-weight first --isolated", FIRST, "isolated (True)", "(False)"),
    ("pretrain", "--init-weight first --fpe-learnable --fpe-theta 100", FIRST, "theta (100.0)", "(10000.0)"),
    ("pretrain", "--init-weight first --corpus dog.txt", "other characters", "lacks 'dg'", "has 'c'"),
    ("pretrain", "--init-weight text.txt", "no safetensors file", "text.txt"),
    ("parallel-generate", "--branches 0", "0 branches"),
    ("parallel-generate", "--branches 257", "257 branches", "position 32768", "0 to 32767"),
    ("parallel-generate", "--branches 1 --prompt a --prompt b", "2 prompts", "1 branches"),
    ("parallel-generate", "--prompt cat", "1 prompts for 2 branches", "no line end"),
    ("parallel-generate", "--prompt cat! --prompt cat", "character '!' at position 3"),
    ("parallel-generate", "--prompt 'the cat sat on the mat' --prompt cat", "22 tokens", "16"),
    ("parallel-generate", "--model v4.safetensors", "v4", "generate v4.safetensors"),
    ("parallel-generate", "--model none", "no checkpoint at none"),
    ("generate", FIRST, "v6", "parallel-generate --model"),
    ("train", "v6 --corpus text.txt --out v6.safetensors", "v6", "pretrain"),
]


@pytest.fixture(scope="module")
def made(run, tmp_path_factory):
    """Make a folder of texts, of trained models and of files where a command would write."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "text.txt").write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    (folder / "dog.txt").write_text("the dog sat on the mat. " * 40, encoding="utf-8")
    for name, content in (("taken/weights", "mine"), ("damaged/names.json", '{"names": ')):
        (folder / name).parent.mkdir()
        (folder / name).write_text(content)
    (folder / "drawn" / "jobs").mkdir(parents=True)  # submitit makes it before it refuses an option
    before = os.getcwd()
    os.chdir(folder)
    try:
        for words in (
            f"{COMMANDS['pretrain']} --out-dir first --branches-per-sample 2",
            f"{COMMANDS['compare']} --seeds 1 --out-dir compared",
            f"train v4 --corpus text.txt --steps 1 --out v4.safetensors {SMALL}",
        ):
            result = run(*words.split())
            assert result.exit_code == 0, result.output
    finally:
        os.chdir(before)
    (folder / "compared" / "weights" / "ablation").rename(folder / "at")
    return folder


def contents(folder):
    """Return each path in a folder, with the bytes of a file."""
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize(
    ("command", "wrong", "says"), [pytest.param(a, b, c, id=f"{a} {b}") for a, b, *c in REFUSED]
)
def test_bad_input_gets_one_line_and_changes_no_file(made, run, refused, monkeypatch, command, wrong, says):
    monkeypatch.chdir(made)
    before = contents(made)
    refused(run(*shlex.split(COMMANDS[command]), *shlex.split(wrong)), *says)
    assert contents(made) == before


def test_an_unknown_matplotlib_backend_does_no_harm(tmp_path):
    """Run a command with a wrong backend: no command opens a window, and none may fail for it."""
    words = [sys.executable, "-m", "babygpt", "figures", "names", "--redraw", "--folder", str(tmp_path)]
    environment = {**os.environ, "MPLBACKEND": "nonsense"}
    assert subprocess.run(words, env=environment, capture_output=True, check=False).returncode == 0
    assert (tmp_path / "names.png").exists()


def test_a_command_leaves_the_environment_of_its_caller_alone(run):
    """Keep the backend out of the environment: a kernel that inherits it shows no figures."""
    before = dict(os.environ)
    assert run("analyze", "fourier").exit_code == 0
    assert dict(os.environ) == before
