"""RoPE with a kernel and without: every number is that of the models it names, and the figure shows them."""

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from babygpt.data.corpus import load_corpus
from babygpt.encodings.gaussian import ALPHAS, KERNELS, SIGMAS, Gaussian
from babygpt.experiments import gaussian
from babygpt.metrics.next_token import loss_by_position


@pytest.fixture(scope="module")
def results():
    return gaussian.measure_gaussian(seeds=(1, 2), steps=3, n_chars=9_000, n_questions=4)


def test_every_version_has_a_number_for_each_seed(results):
    assert results["seeds"] == [1, 2]
    for key in ("far", "accuracy"):
        assert {v: len(seeds) for v, seeds in results[key].items()} == dict.fromkeys(gaussian.VERSIONS, 2)
    assert {v: len(curve) for v, curve in results["loss"].items()} == dict.fromkeys(gaussian.VERSIONS, 256)
    plain, full = (results["val_loss"][world] for world in ("plain-tales", "tales"))
    assert set(plain) == set(gaussian.VERSIONS)
    assert set(full) == {"v4", "v5", "v5 fixed"}
    assert set(results["kernel"]) == {"v5", "v5-absolute"}  # nothing trains those that are fixed


def test_the_numbers_are_those_of_the_model_trained_alike(results):
    corpus = load_corpus("plain-tales", 9_000)
    model, loss = gaussian.train_variant("v5", corpus, 64, 3, seed=2)
    assert results["val_loss"]["plain-tales"]["v5"][1] == pytest.approx(loss, rel=1e-4)
    far = loss_by_position(model, corpus.val, 256)[-64:].mean()
    assert results["far"]["v5"][1] == pytest.approx(far, abs=2e-3)
    assert results["kernel"]["v5"][1]["sigma1"] == pytest.approx(model.encoding.sigma1, rel=1e-3)
    assert model.encoding.sigma1 != pytest.approx(SIGMAS[0], rel=1e-6)  # it was trained


@pytest.mark.parametrize("name", ["v5 fixed", "v5-absolute fixed"])
def test_a_fixed_kernel_stays_the_notes(name):
    model, _ = gaussian.train_variant(name, load_corpus("plain-tales", 9_000), 64, 3, seed=1)
    e = model.encoding
    assert (e.alpha1, e.alpha2, e.sigma1, e.sigma2) == pytest.approx((*ALPHAS, *SIGMAS), rel=1e-5)
    assert type(e) is KERNELS["absolute" if "absolute" in name else "relative"]


def test_what_is_kept_of_a_kernel_makes_it_again():
    encoding = Gaussian(8, (2.0, 0.1), (3.0, 9.0))
    numbers = gaussian.kernel_numbers(encoding)
    away = torch.arange(41)
    expected = (encoding.kernel(away) / encoding.kernel(away)[0]).detach().numpy()
    np.testing.assert_allclose(gaussian.relative_kernel(numbers, 40), expected, rtol=1e-3)
    assert expected[numbers["half"] - 1] >= 0.5 > expected[numbers["half"]]
    assert expected[numbers["hundredth"] - 1] >= 0.01 > expected[numbers["hundredth"]]


def test_the_figure_shows_what_was_stored(results):
    figure = Figure()
    gaussian.draw_gaussian(figure, results)
    reading, keeping, knowing = figure.axes
    assert [line.get_label() for line in reading.lines][:-1] == list(gaussian.VERSIONS)
    first, *trained = keeping.lines
    m = np.arange(129)
    start = sum(a * np.exp(-(m**2) / (2 * s**2)) for a, s in zip(ALPHAS, SIGMAS, strict=True))
    np.testing.assert_allclose(first.get_ydata(), start, rtol=1e-3, atol=1e-9)
    assert len(trained) == 4  # two kernels, two seeds
    np.testing.assert_allclose(
        trained[1].get_ydata(), gaussian.relative_kernel(results["kernel"]["v5"][1], 128), rtol=1e-6
    )
    assert [bar.get_height() for bar in knowing.patches] == pytest.approx(
        [100 * np.mean(seeds) for seeds in results["accuracy"].values()]
    )
    far = np.mean(results["far"]["v5"])
    assert f"v5 {far:.2f}," in reading.get_title(loc="left") + reading.get_title()
