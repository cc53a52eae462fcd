"""What the body may rely on, whichever encoding it has."""

import math

import pytest
import torch

from babygpt.encodings import ALiBi, Encoding, LearnedPositions, Rotary, Rotary2D, Sinusoidal
from babygpt.positions import Positions

B, H, T, D = 3, 4, 6, 8
C = H * D
ENCODINGS = {
    "none": Encoding(),
    "learned": LearnedPositions(20, C),
    "sinusoidal": Sinusoidal(C),
    "rotary": Rotary(D),
    "rotary 2-D": Rotary2D(D),
    "alibi": ALiBi(H),
}
ANSWERS = {
    "none": set(),
    "learned": {"embed"},
    "sinusoidal": {"embed"},
    "rotary": {"multiply"},
    "rotary 2-D": {"multiply"},
    "alibi": {"bias"},
}


def positions(start: int = 3) -> Positions:
    time = torch.arange(start, start + T)
    return Positions(time, branch=time % 2)


def answered(encoding: Encoding) -> set[str]:
    """The questions to which an encoding answers anything but "nothing"."""
    x, q, k = torch.randn(B, T, C), torch.randn(B, H, T, D), torch.randn(B, H, T, D)
    new_q, new_k = encoding.transform_qk(q, k, positions())
    found = {
        "embed": not torch.equal(encoding.embed(x, positions()), x),
        "multiply": not (torch.equal(new_q, q) or torch.equal(new_k, k)),
        "bias": encoding.score_bias(positions(), positions()) is not None,
    }
    return {name for name, says in found.items() if says}


@pytest.mark.parametrize("name", ENCODINGS)
def test_each_encoding_answers_its_one_question(name: str) -> None:
    assert answered(ENCODINGS[name]) == ANSWERS[name]


@pytest.mark.parametrize("name", ENCODINGS)
def test_answers_have_the_promised_shapes(name: str) -> None:
    encoding = ENCODINGS[name]
    x, q, k = torch.randn(B, T, C), torch.randn(B, H, T, D), torch.randn(B, H, T, D)
    assert encoding.embed(x, positions()).shape == (B, T, C)
    assert [each.shape for each in encoding.transform_qk(q, k, positions())] == [q.shape, k.shape]
    bias = encoding.score_bias(positions(), positions())
    assert bias is None or bias.shape in {(H, T, T), (1, T, T)}


@pytest.mark.parametrize("name", ENCODINGS)
def test_one_token_alone_is_placed_as_among_others(name: str) -> None:
    """Decoding asks for one place at a time."""
    encoding = ENCODINGS[name]
    x, q, k = torch.randn(B, T, C), torch.randn(B, H, T, D), torch.randn(B, H, T, D)
    all_x, all_q = encoding.embed(x, positions()), encoding.transform_qk(q, k, positions())[0]
    all_bias = encoding.score_bias(positions(), positions())
    for t in range(T):
        here = Positions(positions().time[t : t + 1], positions().branch[t : t + 1])
        one = slice(t, t + 1)
        assert torch.equal(encoding.embed(x[:, one], here), all_x[:, one])
        alone = encoding.transform_qk(q[:, :, one], k[:, :, one], here)[0]
        torch.testing.assert_close(alone, all_q[:, :, one], rtol=0, atol=1e-6)  # one is rounded unlike many
        if all_bias is not None:
            assert torch.equal(encoding.score_bias(here, positions()), all_bias[:, one])


@pytest.mark.parametrize("name", ["none", "learned", "sinusoidal", "rotary"])
def test_a_batch_of_places_is_each_row_alone(name: str) -> None:
    encoding = ENCODINGS[name]
    x, q, k = torch.randn(B, T, C), torch.randn(B, H, T, D), torch.randn(B, H, T, D)
    starts = torch.tensor([0, 5, 9])
    together = Positions(starts[:, None] + torch.arange(T))
    for b, start in enumerate(starts.tolist()):
        alone, row = Positions.arange(T, start), slice(b, b + 1)
        assert torch.equal(encoding.embed(x, together)[row], encoding.embed(x[row], alone))
        assert torch.equal(
            encoding.transform_qk(q, k, together)[0][row], encoding.transform_qk(q[row], k[row], alone)[0]
        )


@pytest.mark.parametrize("name", ENCODINGS)
def test_only_the_learned_table_is_trained_and_ends(name: str) -> None:
    encoding = ENCODINGS[name]
    assert bool(list(encoding.parameters())) == (name == "learned")
    assert encoding.max_positions == (20 if name == "learned" else None)


# ---------------------------------------------------------------- steering


def answers(encoding: Encoding) -> list[torch.Tensor]:
    """All that an encoding answers, from the same questions each time."""
    draw = torch.Generator().manual_seed(0)
    x, q, k = (torch.randn(B, *size, generator=draw) for size in ((T, C), (H, T, D), (H, T, D)))
    bias = encoding.score_bias(positions(), positions())
    return [
        encoding.embed(x, positions()),
        *encoding.transform_qk(q, k, positions()),
        torch.zeros(1) if bias is None else bias,
    ]


def test_a_whole_number_is_a_number_and_the_next_one_too() -> None:
    encoding = Rotary(D)
    for value in (100, 200, 300.0):
        encoding.steer("theta", value)
        assert encoding.theta == value


def test_a_table_is_filled_where_it_is() -> None:
    """So an optimizer that holds it goes on holding it."""
    encoding = LearnedPositions(20, C)
    table, address = encoding.table, encoding.table.data_ptr()
    encoding.steer("table", 0.5)
    assert encoding.table is table
    assert encoding.table.data_ptr() == address
    assert (encoding.table == 0.5).all()
    assert encoding.table.requires_grad
    assert encoding.table.grad_fn is None


def test_a_buffer_is_filled_too() -> None:
    encoding = ALiBi(H)
    encoding.steer("slopes", 0.25)
    assert encoding.slopes.tolist() == [0.25] * H
    assert encoding.score_bias(positions(), positions())[0, 0, 2] == -0.5


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("none", "theta"),
        ("rotary", "steepness"),
        ("rotary", "embed"),
        ("rotary", "training"),
        ("learned", "max_positions"),
        ("sinusoidal", "n_embd"),
        ("alibi", ""),
    ],
)
def test_what_is_no_number_of_the_encoding_is_refused_by_name(name: str, number: str) -> None:
    """A whole number is a shape: setting it would not change the table that was made from it."""
    encoding = ENCODINGS[name]
    before = getattr(encoding, number, None)
    for refuse in (lambda: encoding.require_number(number), lambda: encoding.steer(number, 1.0)):
        with pytest.raises(ValueError, match=f"{type(encoding).__name__} has no number called '{number}'"):
            refuse()
    assert getattr(encoding, number, None) == before


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_number_that_is_not_finite_is_refused(value: float) -> None:
    for encoding, number in ((Rotary(D), "theta"), (LearnedPositions(20, C), "table")):
        before = answers(encoding)
        with pytest.raises(ValueError, match=rf"{number} \({value}\) must be a finite number"):
            encoding.steer(number, value)
        assert all(torch.equal(a, b) for a, b in zip(answers(encoding), before, strict=True))
