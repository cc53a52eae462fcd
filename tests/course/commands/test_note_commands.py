"""The command lines of notes 000, 002 and 003 as they stand there, but for the script's name."""

import json

import pytest

from babygpt.training import checkpoint

SHORT = "--max-iters 2 --eval-interval 1 --eval-iters 1".split()  # in place of the note's 3000, 300 and 100
COMPARE = "compare encodings --seeds 1337,2027,9001"
GENERATE = (
    "compare generation --rope-weights weights/ablation/rope_seed1337.pt "
    "--polar-weights weights/ablation/polar_seed1337.pt --num-prompts 32 --prompt-len 32 --gen-len 256 "
    "--temp 0.8 --top-k 2 --confidence-threshold 0.95 --seed 1337 --output generation_eval_seed1337.json"
)
BRANCHES = {  # the stages of note 002 are in test_pretrain.py
    "002, baseline": "--pe rope --epochs 3 --batch_size 4 --max_branches_per_sample 2 --out_dir out",
    "002, new": "--pe fpe --epochs 3 --batch_size 4 --max_branches_per_sample 2 --out_dir out",
    "002, question 6": "--pe fpe --learning_rate 1e-4 --branch_stride 256 --fpe_learnable --out_dir out",
    "003, RoPE 2D": "--pe rope --out_dir out",
    "003, Fourier": "--pe fpe --fpe_theta 10000.0 --fpe_max_positions 32768 --fpe_learnable --out_dir out",
}


@pytest.fixture
def there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("the cat sat on the mat.\n" * 200, encoding="utf-8")
    return tmp_path


def test_the_commands_of_note_000_run(run, there):
    """Compare losses, then what the first seed's models write; name weights as the note does."""
    shape = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 64 --batch-size 4 --corpus text.txt".split()
    result = run(*COMPARE.split(), *SHORT, *shape)
    assert result.exit_code == 0, result.output
    assert (there / "ablation_results.json").exists()
    result = run(*GENERATE.split())
    assert result.exit_code == 0, result.output
    names = [f"weights/ablation/{name}_seed1337" for name in ("rope", "polar")]
    assert [line for line in result.stderr.splitlines() if ".pt:" in line] == [
        f"{name}.pt: reading {name}.safetensors" for name in names
    ]
    found = json.loads((there / "generation_eval_seed1337.json").read_text(encoding="utf-8"))
    assert list(found["weights"].values()) == [f"{name}.safetensors" for name in names]
    assert found["settings"]["gen_len"] == 256


@pytest.mark.parametrize("name", BRANCHES)
def test_the_commands_of_notes_002_and_003_run(run, small, there, name):
    result = run("pretrain", *BRANCHES[name].split(), "--corpus", "text.txt", "--max-steps", 1, *small)
    assert result.exit_code == 0, result.output
    assert checkpoint.load(there / "out" / "pretrain.safetensors").version == (
        "v6-rope2d" if "--pe rope" in BRANCHES[name] else "v6"
    )
    for n in (1, 2):
        written = run("parallel_generate", "--model", "out/pretrain_512.pth", "--branches", n, "--tokens", 3)
        assert written.exit_code == 0, written.output
        assert written.stdout.count("--- branch") == n
