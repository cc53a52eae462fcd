"""One encoding for each layer, where all others serve the whole model."""

from collections.abc import Sequence
from typing import Any, cast

from torch import Tensor, nn

from babygpt.encodings.base import Encoding
from babygpt.encodings.rotary import Rotary
from babygpt.errors import BadInput
from babygpt.positions import Positions


class PerLayer(Encoding):
    """A list of encodings, one for each layer: each with its own phase or kernel, or some layers without one.

    Steering sets a number in every layer that has it. Reading a number gives that of the first such layer.
    Only the first layer's encoding may add to the embeddings, because that happens once, before all layers.

    encodings  one for each layer, the first layer's first
    Raises BadInput if a later layer's encoding adds to the embeddings.
    Source: note 000, section 4.3 (each attention has a phase of its own).
    """

    def __init__(self, encodings: Sequence[Encoding]) -> None:
        super().__init__()
        for i, encoding in enumerate(encodings[1:], start=1):
            if type(encoding).embed is not Encoding.embed:
                raise BadInput(
                    f"layer {i} has {type(encoding).__name__}, which adds to the embeddings; "
                    "that is done once, before layer 0, so only layer 0's encoding may"
                )
        self.layers = nn.ModuleList(encodings)
        limits = [e.max_positions for e in encodings if e.max_positions is not None]
        self.max_positions = min(limits, default=None)
        self.for_branches = any(e.for_branches for e in encodings)
        self.cacheable = all(e.cacheable for e in encodings)
        self.sees_earlier = self.of_layer(0).sees_earlier

    def __getattr__(self, name: str) -> Any:
        """Return a number such as theta from the first layer that has it."""
        for encoding in self.__dict__.get("_modules", {}).get("layers", ()):
            if name in encoding.steerable():
                return getattr(encoding, name)
        return super().__getattr__(name)

    def of_layer(self, layer: int) -> Encoding:
        return cast(Encoding, self.layers[layer])

    def embed(self, x: Tensor, positions: Positions) -> Tensor:
        return self.of_layer(0).embed(x, positions)

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        raise BadInput("each layer has an encoding of its own: use of_layer(0), of_layer(1), ...")

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor | None:
        raise BadInput("each layer has an encoding of its own: use of_layer(0), of_layer(1), ...")

    def content_bias(self, q: Tensor, k: Tensor, queries: Positions, keys: Positions) -> Tensor | None:
        raise BadInput("each layer has an encoding of its own: use of_layer(0), of_layer(1), ...")

    def all(self) -> list[Encoding]:
        """Return the encodings, the first layer's first."""
        return [self.of_layer(i) for i in range(len(self.layers))]

    def with_number(self, name: str) -> list[Encoding]:
        """Return the encodings of the layers that have a number of this name."""
        return [encoding for encoding in self.all() if name in encoding.steerable()]

    def steerable(self) -> list[str]:
        return sorted({name for encoding in self.all() for name in encoding.steerable()})

    def require_number(self, name: str) -> None:
        super().require_number(name)
        for encoding in self.with_number(name):
            encoding.require_number(name)

    def require_steerable(self, name: str, value: float, branches: int = 2) -> None:
        self.require_number(name)
        for encoding in self.with_number(name):
            encoding.require_steerable(name, value, branches)

    def steer(self, name: str, value: float) -> None:
        self.require_steerable(name, value)  # all layers are checked before one is changed
        for encoding in self.with_number(name):
            encoding.steer(name, value)


def rope_and_none(head_dim: int, n_layer: int, every: int = 4, theta: float = 10_000.0) -> PerLayer:
    """Return RoPE for most layers and no encoding for every fourth, which finds by content at any distance.

    head_dim  channels of a head, even
    n_layer   number of layers
    every     layers number `every`, twice that, ..., counted from 1, have no encoding; in a model of fewer
              layers, the last one
    theta     base of the frequencies
    Raises BadInput if every is below 1.
    Source: Yang et al. 2025, arXiv:2501.18795 (RoPE and NoPE in turn); every fourth as in SmolLM3.
    """
    if every < 1:
        raise BadInput(f"every ({every}) must be at least 1")
    group = min(every, n_layer)
    return PerLayer(
        [Encoding() if layer % group == 0 else Rotary(head_dim, theta) for layer in range(1, n_layer + 1)]
    )
