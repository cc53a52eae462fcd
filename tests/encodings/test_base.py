"""What the body may rely on, whichever encoding it has."""

import pytest
import torch

from babygpt.encodings import ALiBi, Encoding, LearnedPositions, Rotary, Rotary2D, Sinusoidal
from babygpt.places import Places

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


def places(start: int = 3) -> Places:
    time = torch.arange(start, start + T)
    return Places(time, branch=time % 2)


def answered(encoding: Encoding) -> set[str]:
    """The questions to which an encoding answers anything but "nothing"."""
    x, q, k = torch.randn(B, T, C), torch.randn(B, H, T, D), torch.randn(B, H, T, D)
    new_q, new_k = encoding.multiply(q, k, places())
    found = {
        "embed": not torch.equal(encoding.embed(x, places()), x),
        "multiply": not (torch.equal(new_q, q) or torch.equal(new_k, k)),
        "bias": encoding.bias(places(), places()) is not None,
    }
    return {name for name, says in found.items() if says}


@pytest.mark.parametrize("name", ENCODINGS)
def test_each_encoding_answers_its_one_question(name: str) -> None:
    assert answered(ENCODINGS[name]) == ANSWERS[name]


@pytest.mark.parametrize("name", ENCODINGS)
def test_answers_have_the_promised_shapes(name: str) -> None:
    encoding = ENCODINGS[name]
    x, q, k = torch.randn(B, T, C), torch.randn(B, H, T, D), torch.randn(B, H, T, D)
    assert encoding.embed(x, places()).shape == (B, T, C)
    assert [each.shape for each in encoding.multiply(q, k, places())] == [q.shape, k.shape]
    bias = encoding.bias(places(), places())
    assert bias is None or bias.shape in {(H, T, T), (1, T, T)}


@pytest.mark.parametrize("name", ENCODINGS)
def test_one_token_alone_is_placed_as_among_others(name: str) -> None:
    """Decoding asks for one place at a time."""
    encoding = ENCODINGS[name]
    x, q, k = torch.randn(B, T, C), torch.randn(B, H, T, D), torch.randn(B, H, T, D)
    all_x, all_q = encoding.embed(x, places()), encoding.multiply(q, k, places())[0]
    all_bias = encoding.bias(places(), places())
    for t in range(T):
        here = Places(places().time[t : t + 1], places().branch[t : t + 1])
        one = slice(t, t + 1)
        assert torch.equal(encoding.embed(x[:, one], here), all_x[:, one])
        assert torch.equal(encoding.multiply(q[:, :, one], k[:, :, one], here)[0], all_q[:, :, one])
        if all_bias is not None:
            assert torch.equal(encoding.bias(here, places()), all_bias[:, one])


@pytest.mark.parametrize("name", ["none", "learned", "sinusoidal", "rotary"])
def test_a_batch_of_places_is_each_row_alone(name: str) -> None:
    encoding = ENCODINGS[name]
    x, q, k = torch.randn(B, T, C), torch.randn(B, H, T, D), torch.randn(B, H, T, D)
    starts = torch.tensor([0, 5, 9])
    together = Places(starts[:, None] + torch.arange(T))
    for b, start in enumerate(starts.tolist()):
        alone, row = Places.count(T, start), slice(b, b + 1)
        assert torch.equal(encoding.embed(x, together)[row], encoding.embed(x[row], alone))
        assert torch.equal(
            encoding.multiply(q, k, together)[0][row], encoding.multiply(q[row], k[row], alone)[0]
        )


@pytest.mark.parametrize("name", ENCODINGS)
def test_only_the_learned_table_is_trained_and_ends(name: str) -> None:
    encoding = ENCODINGS[name]
    assert bool(list(encoding.parameters())) == (name == "learned")
    assert encoding.max_positions == (20 if name == "learned" else None)
