"""Checks of an encoding's hooks, made once when a model is built, so that a training step costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import torch
from torch import Tensor

from babygpt.config import ModelConfig
from babygpt.encodings.base import Encoding
from babygpt.errors import BadInput
from babygpt.models.own_encodings import encoding_name, name_faults
from babygpt.positions import Positions

N_TOKENS = 5  # The hooks get texts of this many tokens.
TEXTS = 3  # of a batch: at the window's beginning, middle and end. No other axis has this size


@dataclass(frozen=True)
class Probe:
    """Call of the hooks of one encoding.

    title      names the encoding in messages
    encoding   a copy of it
    positions  of the tokens
    words      what they are: "a text", "a batch of texts", ...
    x, q       (B, T, C) and (B, H, T, D)
    """

    title: str
    encoding: Encoding
    positions: Positions
    words: str
    x: Tensor
    q: Tensor

    def embed(self) -> None:
        """Call embed. Raise BadInput for a wrong return value, and for an error inside."""
        x = self.call("embed", self.x, self.positions)
        if not isinstance(x, Tensor) or x.shape != self.x.shape:
            raise self.wrong("embed", kind_of(x), f"(B, T, C) = {tuple(self.x.shape)}")
        self.require_numbers("embed", x)

    def transform_qk(self) -> tuple[Tensor, Tensor]:
        """Return what transform_qk returns. Raise BadInput for a wrong value, and for an error inside."""
        pair = self.call("transform_qk", self.q, self.q.flip(0), self.positions)
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise self.wrong("transform_qk", kind_of(pair), "a pair of tensors, the queries and the keys")
        due = f"(B, H, T, D) = {tuple(self.q.shape)}, or more channels if queries and keys have as many"
        for name, part in zip(("queries", "keys"), pair, strict=True):
            fits = isinstance(part, Tensor) and part.dim() == 4 and part.shape[:3] == self.q.shape[:3]
            if not fits or part.shape != pair[0].shape:
                raise self.wrong("transform_qk", f"{kind_of(part)} as {name}", due)
            self.require_numbers("transform_qk", part)
        return pair[0], pair[1]

    def biases(self, q: Tensor, k: Tensor) -> None:
        """Call score_bias and content_bias for all tokens, and for the last two as with a cache.

        q, k  as transform_qk left them
        Raises BadInput for a wrong return value, and for an error inside.
        """
        for probe, queries in self.readers():
            n, keys = len(queries), self.positions
            probe.require_term("score_bias", probe.call("score_bias", queries, keys), n)
            probe.require_term("content_bias", probe.call("content_bias", q[:, :, -n:], k, queries, keys), n)

    def readers(self) -> Iterator[tuple[Probe, Positions]]:
        """Yield the positions of queries: of all tokens, and of the last two where a cache could be used."""
        whole = self.positions
        yield self, whole
        if whole.branch is None and whole.masked is None and len(whole) > 2:
            start = None if whole.start is None else whole.start + len(whole) - 2
            words = f"the last two tokens of {self.words}"
            yield replace(self, words=words), Positions(whole.time[..., -2:], start=start)

    def require_term(self, hook: str, term: Any, n: int) -> None:
        """Raise BadInput unless a hook returned None, or a term to add to the scores of n queries."""
        if term is None:
            return
        B, H, T = self.q.shape[:3]
        words, dims = "(B, H or 1, Tq or 1, Tk)", [4]
        axes: list[tuple[int, ...]] = [(B, 1), (H, 1), (n, 1), (T,)]  # the sizes that each may have
        if hook == "score_bias":
            words, axes[2] = "(H or 1, Tq, Tk), after B where positions have a B", (n,)
            dims = [3] if self.positions.time.dim() == 1 else [3, 4]
        due = f"None, or {words}; here B = {B}, H = {H}, Tq = {n}, Tk = {T}"
        if not isinstance(term, Tensor) or term.dim() not in dims:
            raise self.wrong(hook, kind_of(term), due)
        if any(size not in allowed for size, allowed in zip(term.shape, axes[-term.dim() :], strict=True)):
            raise self.wrong(hook, kind_of(term), due)
        if term.dtype == torch.bool or term.is_complex():
            raise self.wrong(hook, str(term.dtype), "numbers to add, with -inf where nothing is seen")
        self.require_device(hook, term)
        # The term of each key alone is multiplied, which no -inf survives.
        may_hide = hook == "score_bias" and not self.encoding.separable
        broken = term.isnan() | (term == torch.inf) | ((term == -torch.inf) & (not may_hide))
        if bool(broken.any()):
            due = "finite numbers, or -inf" if may_hide else "finite numbers"
            raise self.wrong(hook, first_of(term, broken), due)

    def call(self, hook: str, *arguments: Any) -> Any:
        """Return what a hook returns. Raise BadInput with the error inside it, its message and its line."""
        method = getattr(self.encoding, hook)
        try:
            signature(method).bind(*arguments)
        except TypeError as error:
            due = ", ".join(signature(getattr(Encoding, hook)).parameters)
            raise BadInput(
                f"{self.title}: {hook} has other arguments ({error}); due is {hook}({due})"
            ) from None
        with name_faults(type(self.encoding), f"{hook}, for {self.words},"):
            return method(*arguments)

    def require_numbers(self, hook: str, part: Tensor) -> None:
        """Raise BadInput unless a tensor is finite, and has the device and precision of the hook's input."""
        self.require_device(hook, part)
        if part.dtype != self.x.dtype:
            raise self.wrong(hook, str(part.dtype), f"the precision of its input, {self.x.dtype}")
        broken = ~part.isfinite()
        if bool(broken.any()):
            raise self.wrong(hook, first_of(part, broken), "finite numbers")

    def require_device(self, hook: str, part: Tensor) -> None:
        """Raise BadInput unless a tensor is where the input was."""
        if part.device != self.x.device:
            raise self.wrong(
                hook, f"a tensor on {part.device}", f"one on the device of its input, {self.x.device}"
            )

    def wrong(self, hook: str, came: str, due: str) -> BadInput:
        """Return the error that names the class, the hook, what came and what was due."""
        return BadInput(f"{self.title}: {hook} returned {came} for {self.words}; due is {due}")


def first_of(part: Tensor, broken: Tensor) -> str:
    """Return in words the first number of a tensor that is marked as broken, its index, and how many are.

    part, broken  of the same shape; at least one entry is marked
    """
    indices = broken.nonzero()  # (n, part.dim())
    number, index = float(part[tuple(indices[0])]), indices[0].tolist()
    return f"{number:g} at {index}, the first of {len(indices)} of its {part.numel()} numbers,"


def kind_of(value: Any) -> str:
    """Return in words what a hook returned: a tensor with its shape, or the type of anything else."""
    if isinstance(value, Tensor):
        return f"one tensor of shape {tuple(value.shape)}"
    if isinstance(value, tuple | list):
        return f"a {type(value).__name__} of {len(value)}"
    return "None" if value is None else f"a {type(value).__name__}"


def probe_positions(block_size: int, branches: bool, masks: bool) -> Iterator[tuple[str, Positions]]:
    """Yield positions of short texts as models of this kind give them to the hooks, with what they are."""
    T = min(N_TOKENS, block_size)
    last = block_size - T  # where a text of the batch begins, so that it ends with the window
    steps, later = torch.arange(T), torch.tensor([[0], [last // 2], [last]])
    masked = (steps + later) % 3 == 1 if masks else None
    if branches:
        yield "two texts in one sequence", Positions(steps // 2, steps % 2)
        yield "a batch of texts in branches", Positions((steps + later) // 2, (steps + later) % 2)
        return
    yield "a text", Positions.arange(T, masked=masked)
    yield "a batch of texts", Positions(steps + later, masked=masked)


def require_sound_hooks(
    encoding: Encoding,
    config: ModelConfig,
    branches: bool = False,
    masks: bool = False,
    device: torch.device | None = None,
) -> None:
    """Call the hooks of an encoding from outside on short texts, and check what they return.

    A copy is called, so that nothing stays in the encoding. The global random numbers stay as they are.

    branches  whether its model reads several texts in one sequence
    masks     whether its model fills in masked tokens
    device    where the encoding is, by default PyTorch's own; nothing is checked on "meta"
    Raises BadInput that names the class, the hook, what came and what was due, or the error inside the hook
    with its line.
    """
    device = device or torch.get_default_device()
    if device.type == "meta":
        return
    draw, dtype = torch.Generator("cpu").manual_seed(0), torch.get_default_dtype()
    with torch.random.fork_rng([device] if device.type == "cuda" else []), torch.no_grad():
        with name_faults(type(encoding), "a copy of it"):
            copy = deepcopy(encoding)
        for words, positions in probe_positions(config.block_size, branches, masks):
            T = len(positions)
            x = torch.randn(TEXTS, T, config.n_embd, generator=draw, dtype=dtype, device="cpu")
            q = torch.randn(
                TEXTS, config.n_head, T, config.head_dim, generator=draw, dtype=dtype, device="cpu"
            )
            title = encoding_name(type(encoding))
            probe = Probe(title, copy, positions.to(device), words, x.to(device), q.to(device))
            probe.embed()
            for layer in {id(e): e for e in map(copy.of_layer, range(config.n_layer))}.values():
                of_layer = replace(probe, encoding=layer)
                of_layer.biases(*of_layer.transform_qk())
