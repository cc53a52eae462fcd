"""A watch measures at fixed steps what the function behind it returns, and its panel shows these numbers."""

import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import babygpt_live as live
from babygpt.config import ModelConfig
from babygpt.data.tokenizer import MASK, CharTokenizer
from babygpt.errors import BadInput
from babygpt.metrics import role_accuracy, whole_answer_accuracy
from babygpt.metrics.inspection import attention_weights, bigram_table, gates_of, position_votes
from babygpt.metrics.parallel_texts import code_similarity, layer_similarity, parallel_loss
from babygpt.models.versions import build
from babygpt.objectives.diffusion import denoise
from babygpt.positions import Positions
from babygpt_course import explorers
from babygpt_live import Arcs, Cells, Curve, Heads, Level, Words, visible
from babygpt_live.panel import as_plain, with_base64

LETTERS = CharTokenizer("abc def\nghi")
MASKED = CharTokenizer("abcdefghi ", with_mask=True)  # eleven tokens too, as the small models have
HOLLOW = "ab__ef_hi ab__ef"
SHAPE = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)


def curves(panel):
    return {mark.name: (mark.at().tolist(), mark.y) for mark in panel.marks if isinstance(mark, Curve)}


@given(total=st.integers(1, 3000), times=st.integers(1, 100))
def test_a_watch_measures_first_and_last_and_evenly_between(total, times):
    steps = sorted(live.Watch(lambda model: None, lambda *_: None, times).steps(total))
    assert (steps[0], steps[-1]) == (0, total)
    assert len(steps) == min(times, total) + 1
    gaps = np.diff(steps)
    assert gaps.max() - gaps.min() <= 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: explorers.heads(LETTERS, ""), "empty"),
        (lambda: explorers.heads(LETTERS, "abz"), "'z'"),
        (lambda: explorers.clocks(LETTERS, "abz"), "'z'"),
        (lambda: explorers.branch_similarity(LETTERS, ""), "empty"),
        (lambda: explorers.encode_masked(MASKED, "abc"), "no hole"),
        (lambda: explorers.encode_masked(MASKED, "ab_z"), "'z' at position 3"),
        (lambda: explorers.encode_masked(CharTokenizer("abc"), "a_"), "with_mask=True"),
    ],
)
def test_an_impossible_watch_is_refused_at_once(make, words):
    with pytest.raises(BadInput, match=words):
        make()


# ---------------------------------------------------------------- all watches

WATCHES = {  # the version that each one watches, how it is made, and whether its panel is over the steps
    "roles": ("v4", lambda ids: live.Watch(lambda model: 0.125, explorers.roles(LETTERS, []).panel), True),
    "next_characters": ("v1", lambda ids: explorers.next_characters(LETTERS), False),
    "votes": ("v2", lambda ids: explorers.votes(LETTERS), False),
    "heads": ("v4", lambda ids: explorers.heads(LETTERS, "ab\nab"), False),
    "position_codes": ("v3", lambda ids: explorers.position_codes(length=16), False),
    "clocks": ("v4", lambda ids: explorers.clocks(LETTERS, "ab ab"), False),
    "kernel": ("v5", lambda ids: explorers.kernel(), False),
    "branch_similarity": ("v6", lambda ids: explorers.branch_similarity(LETTERS, "ab ab", n=2), True),
    "interference": ("v6", lambda ids: explorers.interference(ids, length=12, n_texts=4), True),
    "gates": ("v7", lambda ids: explorers.gates(), False),
    "filled_text": ("v7", lambda ids: explorers.filled_text(MASKED, HOLLOW), False),
}


SHOWN = {
    "next_characters": lambda model: 100 * bigram_table(model),
    "votes": lambda model: position_votes(model).T,
}


@pytest.mark.parametrize("name", WATCHES)
def test_every_panel_is_plain_data_with_a_finding_and_its_frames_stay_as_they_were(awake, text, name):
    version, make, over_steps = WATCHES[name]
    model, watch = awake(version), make(text(400))
    frames = [(0, watch.measure(model))]
    if name in SHOWN:
        np.testing.assert_allclose(watch.panel(frames, version, 40).find(Cells).values, SHOWN[name](model))
    first = as_plain(watch.panel(frames, version, 40))
    frames.append((7, watch.measure(model)))
    panel = watch.panel(frames, version, 40)
    assert as_plain(watch.panel(frames[:1], version, 40)) == first
    plain = as_plain(panel)
    json.dumps(with_base64(plain), allow_nan=False)
    assert len(panel.title.split()) > 3
    assert panel.over_steps == over_steps == (panel.x.span == (0, 40))
    assert watch.times > 1
    for mark, packed in zip(panel.marks, plain["marks"], strict=True):
        if isinstance(mark, Curve) and over_steps:
            assert mark.at().tolist() == [0, 7]
        if isinstance(mark, Cells):
            mark.reading.format(row=mark.rows[0], column=0, value=0)
            assert mark.values.shape == tuple(packed["values"]["shape"])
            assert len(mark.rows) == len(mark.values)


# ---------------------------------------------------------------- waves and clocks


@pytest.mark.parametrize("version", ["v3", "v2"])
def test_codes_are_shown_with_the_likeness_of_the_middle_one(awake, version):
    model, watch = awake(version), explorers.position_codes(length=16)
    codes = model.encoding.embed(torch.zeros(1, 16, model.config.n_embd), Positions.arange(16))[0].detach()
    panel = watch.panel([(0, watch.measure(model))], version, 40)
    cells = panel.find(Cells)
    np.testing.assert_array_equal(cells.values, codes.T)
    assert cells.high == -cells.low == max(1, codes.abs().max())
    likeness = torch.cosine_similarity(codes[8], codes, dim=-1)
    np.testing.assert_allclose(curves(panel.below)["cosine with position 8"][1], likeness, atol=1e-6)
    assert panel.title == f"Before training neighbours are alike with cosine {likeness[9]:.2f}"
    assert panel.below.y.span[0] <= likeness.min()
    with pytest.raises(BadInput, match="Rotary adds no code to a position; v3"):
        watch.measure(awake("v4"))


def test_larger_theta_makes_neighbours_more_alike():
    model, watch = build("v3", SHAPE), explorers.position_codes()
    likeness = []
    for theta in (10, 10_000, 1_000_000):
        model.encoding.steer("theta", theta)
        panel = watch.panel([(0, watch.measure(model))], "v3", 40)
        likeness.append(panel.below.find(Curve).y[33])
    assert likeness == sorted(set(likeness))


def test_clocks_show_each_hand_and_how_far_back_each_layer_looks(awake):
    model, watch, text = awake("v4", block_size=16), explorers.clocks(LETTERS, "ab cab de"), "ab cab de"
    model.encoding.steer("theta", 100.0)
    hands, shares = watch.measure(model)
    distance, pairs = np.arange(len(text)), model.config.head_dim // 2
    angle = distance[:, None] * 100.0 ** (-np.arange(pairs) / pairs)
    np.testing.assert_allclose(hands, np.cos(angle), atol=1e-6)
    weights = attention_weights(model, LETTERS.encode(text))  # (L, H, T, T)
    layer, back = 1, 4
    weights_back = [weights[layer, :, m, m - back].mean() for m in range(back, len(text))]
    np.testing.assert_allclose(shares[layer, back], sum(weights_back) / len(text), rtol=1e-5)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-5)
    shares = np.zeros((2, len(text)))
    shares[0, 0], shares[1, [2, 4]] = 1, 0.5
    panel = watch.panel([(7, (hands, shares))], "v4", 40)
    np.testing.assert_allclose(panel.find(Cells).values, np.cos(angle).T, atol=1e-6)
    np.testing.assert_array_equal(curves(panel.below)["layer 2"][1], shares[1])
    assert panel.title == "After 7 steps layer 1 looks 0.0 tokens back, and layer 2 looks 3.0 tokens back"
    with pytest.raises(BadInput, match="Sinusoidal has no clocks to watch; v4"):
        watch.measure(awake("v3"))


# ---------------------------------------------------------------- predictions and attention


def test_roles_are_the_share_of_right_answers_over_the_steps(awake, small_grammar):
    tokenizer = CharTokenizer(small_grammar.alphabet())
    questions = small_grammar.questions(12, seed=0, max_chars=60)
    model = awake("v4", vocab_size=tokenizer.vocab_size, block_size=64)
    watch = explorers.roles(tokenizer, questions)
    assert watch.measure(model) == role_accuracy(model, tokenizer, questions)
    panel = watch.panel([(0, 0.5), (10, 0.125)], "v4", 40)
    assert curves(panel)["v4"][0] == [0, 10]
    np.testing.assert_allclose(curves(panel)["v4"][1], [50, 12.5])
    assert panel.title == "After 10 steps 13% of the answers are right"  # The page rounds 12.5 up.
    assert panel.find(Level).at == 50
    both = explorers.roles(tokenizer, questions, written=True)
    written = whole_answer_accuracy(model, tokenizer, questions)
    assert both.measure(model) == (role_accuracy(model, tokenizer, questions), written)
    panel = both.panel([(0, (0.5, 0.0)), (10, (1.0, 0.25))], "v4", 40)
    np.testing.assert_allclose(curves(panel)["names written"][1], [0, 25])
    assert "100% of the answers are right, and 25% of the names are written" in panel.title


def test_the_head_that_has_changed_most_is_the_large_one(awake):
    model, watch = awake("v4"), explorers.heads(LETTERS, "ab ab")
    expected = attention_weights(model, LETTERS.encode("ab ab"))
    np.testing.assert_allclose(watch.measure(model), expected, atol=1e-3)  # kept in half precision
    first = np.broadcast_to(np.eye(5, dtype=np.float16), (2, 3, 5, 5))
    now = first.copy()
    now[1, 2, 3:] = [1, 0, 0, 0, 0]  # two of five letters look elsewhere
    now[0, 1, 3] = [1, 0, 0, 0, 0]
    assert "before training" in watch.panel([(0, first)], "v4", 40).title
    panel = watch.panel([(0, first), (7, now)], "v4", 40)
    mark = panel.find(Heads)
    np.testing.assert_array_equal(mark.weights, now)
    np.testing.assert_allclose(mark.shares, [[0, 0.2, 0], [0, 0, 0.4]])
    assert (mark.chosen, mark.letters) == ((1, 2), ["a", "b", "•", "a", "b"])
    assert panel.title == "Layer 2, head 3 changed most: 40% of its attention in 7 steps"
    finding = mark.finding.format(layer=1, head=2, share="20%")
    assert finding == "Layer 1, head 2 changed 20% of its attention in 7 steps"


def test_the_head_that_looks_most_at_the_answer_is_the_large_one_and_has_the_arcs():
    watch = explorers.heads(LETTERS, "ab cd ", answer="cd")
    now = np.broadcast_to(np.eye(6, dtype=np.float16), (2, 3, 6, 6)).copy()
    now[0, 1, 5], now[1, 0, 5] = [0.75, 0, 0, 0.25, 0, 0], [0, 0, 0, 0.5, 0.25, 0.25]
    panel = watch.panel([(0, now), (7, now)], "v4", 40)
    heads, arcs = panel.find(Heads), panel.find(Arcs)
    assert (heads.chosen, arcs.letter) == ((1, 0), 5)
    np.testing.assert_allclose(arcs.weights, now[1, 0, 5])
    assert panel.title == "Layer 2, head 1 looks most at the answer: 50% on its “c”"
    assert heads.finding.format(layer=1, head=2, share="25%") == "Layer 1, head 2: 25% on the answer's “c”"
    before = watch.panel([(0, now)], "v4", 40).title
    assert before == "Before training, layer 2, head 1 looks most at the answer: 50% on its “c”"
    with pytest.raises(BadInput, match="does not contain the answer 'x'"):
        explorers.heads(LETTERS, "ab cd ", answer="x")


def test_the_kernel_is_shown_as_a_share_beside_the_first_one(awake):
    model, watch, m = build("v5", SHAPE), explorers.kernel(furthest=32), np.arange(33)
    first = watch.measure(model)
    expected = 0.7 * np.exp(-(m**2) / 50) + 0.3 * np.exp(-(m**2) / 800)
    np.testing.assert_allclose(first, expected, rtol=1e-4)
    for name, value in (("sigma1", 10.0), ("sigma2", 10.0), ("alpha1", 1.7)):
        model.encoding.steer(name, value)
    now = watch.measure(model)
    np.testing.assert_allclose(now, 2 * np.exp(-(m**2) / 200), rtol=1e-4)
    panel = watch.panel([(0, first), (7, now)], "v5", 40)
    np.testing.assert_allclose(curves(panel)["at first"][1], expected, rtol=1e-4)
    np.testing.assert_allclose(curves(panel)["now"][1], np.exp(-(m**2) / 200), rtol=1e-4)
    halves = "After {} steps the kernel K halves {}"
    assert panel.title == halves.format(
        7, "in 12 tokens, at first in 8"
    )  # 10 times the square root of 2 ln 2
    assert watch.panel([(9, np.ones(33))], "v5", 40).title == halves.format(9, "beyond 32 tokens")
    with pytest.raises(BadInput, match="Rotary has no kernel"):
        watch.measure(awake("v4"))


# ---------------------------------------------------------------- parallel texts


def test_the_curves_are_the_similarities_of_codes_and_streams(awake):
    model, watch = awake("v6", n_layer=3), explorers.branch_similarity(LETTERS, "abc dab", n=3)
    squares = [code_similarity(model, 3), *layer_similarity(model, LETTERS.encode("abc dab"), 3)]
    # Each of the three pairs is counted twice.
    means = [(square.sum() - np.trace(square)) / 6 for square in squares]
    similarities = watch.measure(model)
    panel = watch.panel([(0, 0 * similarities), (7, similarities)], "v6", 40)
    names = ("codes", "input", "after layer 1", "after layer 2", "after layer 3")
    for name, mean in zip(names, means, strict=True):
        np.testing.assert_allclose(curves(panel)[name][1], [0, mean], atol=1e-6)
    assert panel.title == f"After 7 steps the branches leave the last layer with cosine {means[-1]:.2f}"
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert torch.is_grad_enabled()


def test_interference_is_the_loss_beside_others_less_that_alone(awake, text):
    model, ids = awake("v6"), text(400)
    watch = explorers.interference(ids, length=12, n=2, n_texts=8)
    alone, beside = (parallel_loss(model, ids, n, 12, 8) for n in (1, 2))
    assert watch.measure(model) == beside - alone
    panel = watch.panel([(0, 0.5), (5, 0.25)], "v6", 10)
    assert panel.title == "After 5 steps each of 2 texts loses 0.25 nats more than alone"
    assert curves(panel)["gap"][1].tolist() == [0.5, 0.25]
    assert panel.y.span == (-0.05, 0.5)  # it fills the axis
    assert watch.panel([(0, -0.25)], "v6", 10).title.endswith("0.25 nats less than alone")
    assert watch.panel([(0, -0.004)], "v6", 10).title.endswith("as much as alone (to 0.01 nats)")


# ---------------------------------------------------------------- diffusion


def test_each_underscore_is_a_mask_unless_it_is_a_character():
    assert explorers.encode_masked(MASKED, f"a_{MASK}b").tolist() == [[0, 10, 10, 1]]
    assert explorers.encode_masked(CharTokenizer("a_", with_mask=True), f"a_{MASK}").tolist() == [[0, 1, 2]]


@pytest.mark.parametrize("version", ["v7", "v7-polar", "v7-quadrature", "v7-pope"])
def test_gates_are_shown_position_by_channel(awake, version):
    model, watch = awake(version), explorers.gates(length=20)
    gates = watch.measure(model)
    masked = torch.arange(20) % 16 >= 12
    with torch.no_grad():
        expected = gates_of(model.encoding, Positions(torch.arange(20), masked=masked[None])).numpy()
    np.testing.assert_allclose(gates[0], expected, atol=1e-3)  # kept in half precision
    panel = watch.panel([(0, gates)], version, 40)
    cells = panel.find(Cells)
    assert cells.values.shape == expected.shape[1:]
    assert (list(cells.boxes), cells.rows[11:13]) == ([(12, 16)], ["11", "12 (MASK)"])
    mark = "MASK" if version == "v7-pope" else "MASK × 0.3"
    assert sorted(panel.y.ticks) == [(0, "0"), (8, "8"), (13.5, mark), (16, "16")]
    assert ("sines" in panel.x.label) == (expected.shape[-1] == 16)
    assert (panel.title == "No phase to learn: the gates stay") == (version == "v7-quadrature")
    assert (panel.below is None) == (version == "v7-quadrature")


def test_the_gates_shown_are_those_whose_phases_moved_furthest(awake):
    model, watch = awake("v7"), explorers.gates()
    first = watch.measure(model)
    before = first[0].copy()
    with torch.no_grad():
        model.encoding.delta[0] += 0.25
        model.encoding.delta[1, 3] -= 0.75
    model.encoding.steer("alpha", 0.6)
    now = watch.measure(model)
    np.testing.assert_array_equal(first[0], before)  # a measurement does not move with the model
    panel = watch.panel([(0, first), (7, now)], "v7", 40)
    np.testing.assert_array_equal(panel.find(Cells).values, now[0][1])
    assert panel.title == "After 7 steps head 2's phases have moved by at most 0.75 rad"
    assert (13.5, "MASK × 0.6") in panel.y.ticks
    for mark, phases in zip(panel.below.marks, np.repeat([first[1][1], now[1][1]], 2, axis=0), strict=True):
        np.testing.assert_array_equal(mark.y, phases)
    below = [mark.at().tolist() for mark in panel.below.marks]
    assert below == [[*range(8)], [*range(8, 16)]] * 2  # Cosines and sines share the phases.
    assert panel.below.x.span == (-0.5, 15.5)  # that of the columns of cells above
    end = max(0.2, np.ceil(10 * np.abs([first[1][1], now[1][1]]).max()) / 10)
    assert panel.below.y.span == (-end, end)

    model, watch = awake("v7-random"), explorers.gates()  # one phase for all heads
    first = watch.measure(model)
    with torch.no_grad():
        model.encoding.phi[2] += 0.5
    panel = watch.panel([(0, first), (7, watch.measure(model))], "v7-random", 40)
    assert panel.title == "After 7 steps the phases have moved by at most 0.50 rad"
    assert len(panel.below.marks) == 2  # cosines alone
    with pytest.raises(BadInput, match="has no gates; v7"):
        watch.measure(awake("v7-rope"))


def test_a_watched_text_is_filled_in_a_third_at_a_time_the_surest_first_with_the_likeliest(awake):
    model, watch, passes = awake("v7"), explorers.filled_text(MASKED, HOLLOW), []
    idx = explorers.encode_masked(MASKED, HOLLOW)
    model.register_forward_hook(lambda *_: passes.append(1))
    filled = watch.measure(model)
    assert len(passes) == 3
    text, sure, holes = idx.clone(), np.full(16, np.nan), 5
    for share in (2, 2, 1):  # The five holes are filled by hand, two or one at a time.
        chances = denoise(model, text).detach().softmax(dim=-1)[0]
        candidates = [(-float(chances[i].max()), i) for i in range(16) if text[0, i] == MASKED.mask_id]
        for minus, i in sorted(candidates)[:share]:
            text[0, i], sure[i] = int(chances[i].argmax()), -minus
    assert torch.equal(filled.tokens, text)
    panel = watch.panel([(7, filled)], "v7", 40)
    words = panel.find(Words)
    assert words.characters == visible(MASKED.decode(text[0]))
    np.testing.assert_allclose(words.sure, sure, rtol=1e-5)
    assert words.given.tolist() == [char != "_" for char in HOLLOW]
    assert words.given.sum() == 16 - holes
    assert panel.title == f"After 7 steps the model is {np.nanmean(sure):.0%} sure of its characters"
