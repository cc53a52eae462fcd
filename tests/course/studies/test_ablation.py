"""Comparison of encodings: finished runs are never lost, and reports agree with the numbers."""

import json
import signal

import matplotlib
import pytest
import torch
from matplotlib.figure import Figure

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import from_text
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS
from babygpt.training import checkpoint
from babygpt_course.studies import ablation as experiment
from babygpt_course.studies.ablation import DENOISERS, Ablation, AblationConfig, FixedBatches, parse_variant
from babygpt_live import STYLE

TEXT = "the cat sat on the mat. " * 60


def ablation(folder, text=TEXT, config=(4, 2, 2), n_embd=16, lr_matrix=0.03):
    corpus = from_text("text", text, with_mask=True)
    model = ModelConfig(corpus.tokenizer.vocab_size, block_size=16, n_layer=1, n_head=2, n_embd=n_embd)
    training = TrainConfig(batch_size=4, lr_matrix=lr_matrix)
    return Ablation(corpus, model, training, AblationConfig(*config), folder)


def run(comparison, variants=("rope", "polar"), seeds=(1, 2)):
    lines = []
    return experiment.run_ablation(comparison, variants, seeds, lines.append, "the command"), lines


def variants_and_seeds(results):
    return [(record["variant"], record["seed"]) for record in results["runs"]]


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    comparison = ablation(tmp_path_factory.mktemp("finished"))
    return comparison, run(comparison)[0]


# ---------------------------------------------------------------- the runs


def test_runs_are_ordered_by_seed_and_each_stores_its_weights(finished):
    comparison, results = finished
    assert variants_and_seeds(results) == [("rope", 1), ("polar", 1), ("rope", 2), ("polar", 2)]
    assert results["val_windows"] == 2 * 4
    for record in results["runs"]:
        loaded = checkpoint.load(comparison.folder / record["weights"])
        assert loaded.version == f"v7-{record['variant']}"
        assert loaded.info["steps_done"] == 4
        objective = FixedBatches(comparison.corpus, 16, 8)
        assert objective.validate(loaded.model) == pytest.approx(record["val_loss"], abs=1e-6)
        assert [step for step, _ in record["curve"]] == [2, 4]
        assert record["curve"][-1][1] == record["val_loss"]
        assert record["command"] == "the command"


def test_validation_batches_hold_the_given_windows_and_never_change():
    corpus = from_text("text", TEXT, with_mask=True)
    objective = FixedBatches(corpus, 16, 15)
    first, again = (list(objective.val_batches()) for _ in range(2))
    assert sum(len(inputs) for inputs, _, _ in first) == 15
    assert all(torch.equal(a[0], b[0]) for a, b in zip(first, again, strict=True))
    rates = torch.cat([t for _, _, t in first]).sort().values
    assert ((rates * 15).ceil() == torch.arange(1, 16)).all()  # one from each fifteenth


def test_the_same_command_again_trains_nothing(finished):
    comparison, results = finished
    before = weights(comparison), comparison.results_path.read_bytes()
    again, lines = run(comparison)
    assert again == results
    assert (weights(comparison), comparison.results_path.read_bytes()) == before
    assert lines == [f"{name}, seed {seed}: finished before" for seed in (1, 2) for name in ("rope", "polar")]


def test_seeds_and_variants_can_be_added_each_once_with_the_batches_of_their_seed(tmp_path, monkeypatch):
    comparison, batches = ablation(tmp_path), []
    draw = FixedBatches.batch
    monkeypatch.setattr(FixedBatches, "batch", lambda *a: batches.append(draw(*a)) or batches[-1])
    first, _ = run(comparison, ["rope"], [1])
    more, _ = run(comparison, ["v7-rope", "v7", "rope"], [1, 2, 1])
    assert variants_and_seeds(more) == [("rope", 1), ("v7", 1), ("rope", 2), ("v7", 2)]
    assert more["runs"][0] == first["runs"][0]
    for batch, repeated in zip(batches[:4], batches[4:8], strict=True):
        assert all(map(torch.equal, batch, repeated))


# ---------------------------------------------------------------- interruptions


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_comparison_resumes_with_the_next_run(tmp_path, finished, monkeypatch):
    comparison, (whole, uninterrupted) = ablation(tmp_path), finished
    real, calls = FixedBatches.batch, []

    def batch(self, size, generator):
        calls.append(size)
        if len(calls) == 6:  # the second step of the second run
            signal.raise_signal(signal.SIGINT)  # The thread sees the signal before it goes on.
        return real(self, size, generator)

    with monkeypatch.context() as now:
        now.setattr(FixedBatches, "batch", batch)
        with pytest.raises(KeyboardInterrupt):
            run(comparison)
    assert variants_and_seeds(json.loads(comparison.results_path.read_text())) == [("rope", 1)]
    results, lines = run(comparison)
    assert lines == ["rope, seed 1: finished before"]
    assert untimed(results["runs"]) == untimed(uninterrupted["runs"])
    assert weights(comparison) == weights(whole)


def untimed(runs):
    """Remove what depends on the clock and the folder from runs."""
    left_out = ("seconds_per_step", "minutes", "command")
    return [{name: v for name, v in run.items() if name not in left_out} for run in runs]


def weights(comparison):
    """Return each file's weights, bit by bit."""
    return {
        path.name: [p.numpy().tobytes() for p in checkpoint.load(path).model.state_dict().values()]
        for path in (comparison.folder / "weights" / "ablation").iterdir()
    }


def test_a_file_of_the_users_where_weights_would_go_is_left_alone(tmp_path):
    comparison = ablation(tmp_path)
    path = comparison.weights_path("polar", 1)
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    with pytest.raises(BadInput, match=f"{path} exists already"):
        run(comparison, ["rope", "polar"], [1])
    assert path.read_bytes() == b"mine"
    assert not comparison.results_path.exists()


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ({"config": (5, 2, 2)}, r"--max-iters \(5\) is not that of .*ablation_results.json \(4\)"),
        ({"config": (4, 3, 2)}, r"--eval-interval \(3\) .* \(2\)"),
        ({"config": (4, 2, 3)}, r"--eval-iters \(3\) .* \(2\)"),
        ({"n_embd": 32}, r"--n-embd \(32\) .* \(16\)"),
        ({"lr_matrix": 0.01}, r"--lr-matrix \(0.01\) .* \(0.03\)"),
        ({"text": TEXT[1:]}, r"--corpus \(text\) is not that of .* \(text\)"),
    ],
)
def test_other_flags_on_the_same_results_are_refused(finished, flags, message):
    comparison, _ = finished
    before = comparison.results_path.read_bytes()
    with pytest.raises(ValueError, match=message):
        run(ablation(comparison.folder, **flags))
    assert comparison.results_path.read_bytes() == before


def test_a_file_that_holds_no_results_is_left_alone(tmp_path):
    comparison = ablation(tmp_path)
    for content in ("[1, 2]", "{", '{"runs": []}', "7", '{"settings": 3, "runs": []}'):
        comparison.results_path.write_text(content)
        with pytest.raises(BadInput):
            run(comparison)
        assert comparison.results_path.read_text() == content


def test_every_denoiser_and_no_other_version_has_a_variant_name():
    for version, definition in VERSIONS.items():
        if definition.masks:
            assert DENOISERS[parse_variant(version)] == version
    for name in ("v4", "v6", "alpha", "", "v7-v7"):
        with pytest.raises(BadInput):
            parse_variant(name)


# ---------------------------------------------------------------- conclusions


def runs(**losses):
    """Return runs with such validation losses, seed after seed."""
    return [
        {"variant": name, "seed": seed, "val_loss": v, "nelbo": 2 * v, "curve": [[5, v + 1], [10, v]]}
        | {"seconds_per_step": 0.1 * len(name)}
        for name, values in losses.items()
        for seed, v in enumerate(values)
        if v is not None
    ]


def test_paired_differences_equal_those_by_hand():
    gap = experiment.paired_statistics(runs(a=[1.0, 2.0, 3.0], b=[1.5, 2.6, None]), "b", "a")
    assert gap["each"] == pytest.approx({0: 0.5, 1: 0.6})
    assert (gap["mean"], gap["n"]) == (pytest.approx(0.55), 2)
    assert gap["sd"] == pytest.approx(0.0707, abs=1e-4)
    assert experiment.paired_statistics(runs(a=[1.0, None], b=[None, 1.0]), "b", "a") is None
    summary = experiment.aggregate(runs(a=[1.0], bb=[1.5], c=[None, 1.0]))
    assert summary["variants"]["a"]["val_loss"] == {"mean": 1.0, "sd": None, "n": 1}
    assert list(summary["paired"]) == ["bb - a"]
    assert summary["paired"]["bb - a"]["nelbo"]["mean"] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("losses", "conclusion"),
    [
        (
            {"a": [1.0, 1.1] * 6, "b": [1.2, 1.31] * 6},
            "b less a, the lowest: +0.2050 (99%: +0.2003 to +0.2097, 12 seeds), decided",
        ),
        # Fewer than twelve seeds never decide.
        (
            {"a": [1.0, 1.1] * 2, "b": [1.2, 1.3] * 2},
            "b less a, the lowest: +0.2000 (99%: +0.2000 to +0.2000, 4 seeds), undecided",
        ),
        ({"a": [1.0], "b": [0.9998], "c": [5.0]}, "a less b, the lowest: +0.0002 (1 seed), undecided"),
        ({"a": [1.0, 3.0]}, "a ends at 2.000"),
        ({"a": [1.0, None], "b": [None, 2.0]}, "a ends at 1.000, b ends at 2.000"),
        ({"a": [1.0, 9.0], "b": [1.2, None]}, "b less a, the lowest: +0.2000 (1 seed), undecided"),
    ],
)
def test_the_conclusion_follows_from_the_losses(losses, conclusion):
    assert experiment.conclusion(runs(**losses)) == conclusion


def test_pictures_are_drawn_from_the_runs_and_show_every_seed():
    results, drawn = {"runs": runs(a=[1.0, 1.2], bb=[1.5, 1.7])}, [Figure(), Figure()]
    with matplotlib.rc_context(STYLE):
        experiment.draw_validation_losses(drawn[0], results)
        experiment.draw_bars(drawn[1], results)
    falling, bars = drawn[0].axes[0], drawn[1].axes
    assert " ".join(falling.get_title(loc="left").split()) == experiment.conclusion(results["runs"])
    assert [line.get_ydata()[0] for line in falling.lines] == pytest.approx([2.1, 2.6])
    band = falling.collections[0].get_paths()[0].vertices[:, 1]
    assert (band.min(), band.max()) == pytest.approx((1.0, 2.2))
    assert [patch.get_height() for patch in bars[0].patches] == pytest.approx([1.1, 1.6])
    assert list(bars[0].lines[1].get_ydata()) == [1.5, 1.7]
    assert [patch.get_height() for patch in bars[1].patches] == pytest.approx([2.2, 3.2])  # NELBO


def test_the_stored_results_are_strict_json(finished):
    comparison, results = finished
    text = comparison.results_path.read_text(encoding="utf-8")
    assert json.loads(text, parse_constant=pytest.fail)["runs"] == results["runs"]
    assert experiment.report_lines(results)[-1] == experiment.conclusion(results["runs"])
