"""The claims of note 001 about its code: the code itself, shortened, run and measured."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from babygpt_course.claims.base import Claim, Finding, decide
from babygpt_course.claims.gaussian_kernels import NOTE, note_kernel

DIM = 64  # as in the note's example
AXIS = "K_r lacks an axis for the channels"


class NoteRotary(nn.Module):
    """The note's module, shortened: its kernel's weights and widths are plain numbers, as there.

    dim  channels
    """

    def __init__(self, dim: int = DIM) -> None:
        super().__init__()
        self.inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))

    def rotate(self, x: Tensor) -> Tensor:
        """Turn x as the note does, without its kernel: angles for half-split pairs, partners interleaved."""
        m = torch.arange(x.shape[-2], device=x.device).type_as(self.inv_freq)
        freqs = torch.einsum("i,j->ij", m, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)  # (T, D)
        x1, x2 = x[..., ::2], x[..., 1::2]
        return x * emb.cos() + torch.stack((-x2, x1), dim=-1).flatten(-2) * emb.sin()

    def forward(self, x: Tensor) -> Tensor:
        """Multiply K and the rotation as the note does: (B, T, D) -> (B, T, D), where T and D are equal."""
        return note_kernel(torch.arange(x.shape[-2]).float()) * self.rotate(x)


def code_runs() -> Finding:
    """Tokens that the note's own example can be given: 128 tokens of 64 channels, and none if it raises."""
    try:
        out = NoteRotary()(torch.zeros(2, 128, DIM))
    except RuntimeError as error:
        return Finding("fails", 0.0, f"{str(error).splitlines()[0]}; it runs where T = D")
    return Finding("holds", float(out.shape[-2]), "it runs")


def code_scales_by_place() -> Finding:
    """Error of the factor that the note's code gives to each place, where its shapes allow it to run."""
    x, code = torch.ones(1, DIM, DIM), NoteRotary()
    by_code = code(x)[0] / code.rotate(x)[0]  # (T, D)
    by_formula = note_kernel(torch.arange(float(DIM)))[:, None]
    error = float((by_code - by_formula).abs().max())
    same = bool(torch.allclose(by_code, by_formula.T.expand(DIM, DIM), atol=1e-4))
    reason = "with as many tokens as channels it runs, and K falls along the channels, alike at every place"
    return Finding(decide(error < 1e-4), error, reason if same else "each place gets its own factor")


def code_rotates() -> Finding:
    """Largest relative change of a vector's length by the note's rotation, its kernel left out."""
    x = torch.randn(8, 128, DIM, generator=torch.Generator().manual_seed(0))
    change = NoteRotary().rotate(x).norm(dim=-1) / x.norm(dim=-1)
    worst = float((change - 1).abs().max())
    return Finding(
        decide(worst < 1e-5),
        worst,
        f"two layouts are mixed: lengths change by factors of {change.min():.2f} to {change.max():.2f}",
    )


def code_adapts() -> Finding:
    """Trainable numbers in the note's module."""
    trainable = sum(p.numel() for p in NoteRotary().parameters())
    return Finding(
        decide(trainable > 0), float(trainable), "its α and σ are plain numbers, which no gradient reaches"
    )


def code_follows_its_device() -> Finding:
    """Of the note's table of frequencies, the share that moves along with the module."""
    there = NoteRotary().to("meta").inv_freq.device.type
    return Finding(
        decide(there == "meta"),
        float(there == "meta"),
        f"inv_freq is no buffer: moved elsewhere, the module leaves it on the {there}, type_as brings the "
        "places there too, and PyTorch multiplies no two devices",
    )


CODE_CLAIMS: tuple[Claim, ...] = (
    Claim(
        NOTE,
        "the code runs on its own example",
        code_runs,
        quote="query_rotated, key_rotated = rotary_emb(query, key)",
        translation="(the last step of its example: two texts of 128 tokens with 64 channels)",
        scope="the note's code, shortened, on the note's shapes",
        fault=AXIS,
    ),
    Claim(
        NOTE,
        "the code multiplies the vector at m by K(m)",
        code_scales_by_place,
        quote="return K_r * ((x * cos) + (rotate_half(x) * sin))",
        translation="(its code for: K multiplies the rotated vector)",
        scope="the note's code, shortened, on 64 tokens with 64 channels, where it runs",
        fault=AXIS,
    ),
    Claim(
        NOTE,
        "the code rotates even and odd channels",
        code_rotates,
        quote='"""旋转一半维度，用于RoPE的奇偶维度交换"""',
        translation="turns half of the dimensions, to swap RoPE's odd and even ones",
        scope="the note's code, shortened, on 8 random texts of 128 tokens",
    ),
    Claim(
        NOTE,
        "the code's kernel adapts",
        code_adapts,
        quote="使其在处理短距离（局部）和长距离（全局）依赖时能够更加自适应",
        translation="so that it handles short (local) and long (global) dependencies more adaptively",
        reading="that K adapts as a model is trained; one that can is a claim of its own",
        scope="the note's code, shortened",
    ),
    Claim(
        NOTE,
        "the code works where its queries and keys are",
        code_follows_its_device,
        quote="t = torch.arange(seq_len, device=k.device).type_as(self.inv_freq)",
        translation="(its code for: the places, on the device of k)",
        scope="the note's code, shortened, moved to PyTorch's device meta",
    ),
)
