"""Token shift carries the token before of the same text, also when a cache holds it."""

import pytest
import torch

from babygpt.config import ModelConfig
from babygpt.encodings import Fourier, ShiftedRotary, Sinusoidal, TokenShift
from babygpt.encodings.token_shift import token_before
from babygpt.errors import BadInput
from babygpt.models.cache import KVCache
from babygpt.models.transformer import Transformer
from babygpt.positions import Positions

T, C = 12, 16
CONFIG = ModelConfig(vocab_size=11, block_size=T, n_layer=2, n_head=2, n_embd=C)


class ShiftedFourier(TokenShift, Fourier):
    def __init__(self, back: int) -> None:
        Fourier.__init__(self, head_dim=8, n_embd=C)
        self.add_shift(C, back)


class ShiftedSinusoidal(TokenShift, Sinusoidal):
    def __init__(self) -> None:
        Sinusoidal.__init__(self, C)
        self.add_shift(C, back=1)


def columns(n: int = T) -> Positions:
    """Return positions of three texts, one token of each at every time, without one token in the middle."""
    steps = torch.arange(n + 1)
    steps = steps[steps != 4]
    return Positions(steps // 3, steps % 3)


def by_hand(x: torch.Tensor, positions: Positions, back: int) -> torch.Tensor:
    before = torch.zeros_like(x)
    for b in range(len(x)):
        for i in range(x.shape[1]):
            for j in range(x.shape[1]):
                times, branches = (
                    None if part is None else (part if part.dim() == 2 else part.expand(len(x), -1))[b]
                    for part in (positions.time, positions.branch)
                )
                same = branches is None or branches[i] == branches[j]
                if same and times[j] == times[i] - back:
                    before[b, i] = x[b, j]
    return before


@pytest.mark.parametrize("back", [0, 1, 2])
@pytest.mark.parametrize(
    "positions",
    [
        Positions.arange(T, 5),
        columns(),
        Positions(torch.tensor([0, 1, 2, 4, 5, 9, 10, 11, 12, 14, 15, 16])),
        Positions(torch.stack([torch.arange(T), torch.arange(T).flip(0)])),
    ],
    ids=["in a row", "branches", "gaps", "a batch of orders"],
)
def test_the_token_before_is_the_one_at_the_time_before_in_the_same_text(
    positions: Positions, back: int
) -> None:
    x = torch.randn(2, T, C)
    assert torch.equal(token_before(x, positions, back), by_hand(x, positions, back))


def test_a_code_that_is_added_is_not_shifted() -> None:
    encoding, x, positions = ShiftedSinusoidal(), torch.randn(2, T, C), Positions.arange(T)
    torch.nn.init.normal_(encoding.shift)
    carried = encoding.shift * token_before(x, positions)
    torch.testing.assert_close(encoding.embed(x, positions), Sinusoidal(C).embed(x + carried, positions))


@pytest.mark.parametrize("back", [0, 1, 3])
@pytest.mark.parametrize("pieces", [[1] * T, [3, 1, 5, 3]], ids=["token by token", "pieces"])
@pytest.mark.parametrize("kind", ["rotary", "alone", "branches"])
def test_a_cache_keeps_the_tokens_before(kind: str, pieces: list[int], back: int) -> None:
    make = {
        "rotary": lambda: ShiftedRotary(8, C, back=back),
        "alone": lambda: TokenShift(C, back),
        "branches": lambda: ShiftedFourier(back),
    }
    model = Transformer(CONFIG, make[kind]()).double()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    positions = columns() if kind == "branches" else Positions.arange(T)
    idx, cache = torch.randint(11, (2, T)), KVCache(T)
    logits = [
        model(idx[:, tokens], positions.select(tokens), cache) for tokens in torch.arange(T).split(pieces)
    ]
    torch.testing.assert_close(torch.cat(logits, dim=1), model(idx, positions), rtol=0, atol=1e-12)


def test_a_token_that_comes_later_is_refused() -> None:
    with pytest.raises(BadInput, match=r"back \(-1\) must be at least 0"):
        TokenShift(C, back=-1)
