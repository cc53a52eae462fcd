"""v5: RoPE with a kernel of two Gaussians, which sets how far attention reaches.

There are two ways to use the kernel. The note's formula multiplies every query by K(m) and every key by K(n),
where m and n are positions: `kernel="absolute"`. The note's text promises a function of the distance, and
that needs K(m - n): `kernel="relative"`, which is v5. It adds log K to the scores, so that the softmax
multiplies attention by K. Chi et al. 2022 (KERPLE, arXiv:2205.09921) also add trained kernels of the distance
to the scores, without rotation and with one kernel for each head. Here all heads share one.
"""

import math
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn

from babygpt.encodings.base import Number, by_distance
from babygpt.encodings.rotary import Rotary
from babygpt.errors import BadInput
from babygpt.positions import Positions

ALPHAS, SIGMAS = (0.7, 0.3), (5.0, 20.0)  # the note's: a near scale and a far one
POSITIVE = Number(above=0)


def log_kernel(distance: Tensor, log_alphas: Tensor, log_sigmas: Tensor) -> Tensor:
    """Return the logarithm of K(m) = sum over j of alpha_j exp(-m^2 / (2 sigma_j^2)).

    distance    (...,)  m, in tokens
    log_alphas  (J,)    logarithms of the weights
    log_sigmas  (J,)    logarithms of the widths, in tokens
    returns     (...,)  finite also where K itself is too small for a float
    Source: note 001.
    """
    z = distance[..., None] / log_sigmas.exp()  # (..., J)
    return torch.logsumexp(log_alphas - z.square() / 2, dim=-1)  # log of a sum that may underflow to 0


class Gaussian(Rotary):
    """RoPE with a two-scale Gaussian kernel K, which the two subclasses use in different ways.

    head_dim   channels of a head, even
    alphas     weight of each scale, above 0
    sigmas     width of each scale, in tokens, above 0; a fixed one may be infinite: a kernel that never falls
    theta      base of RoPE's frequencies
    learnable  whether alphas and sigmas are trained, as logarithms, so that they stay positive
    Raises BadInput unless there are two of each, and if one cannot be trained.
    Source: note 001 (its formula and its defaults).
    """

    numbers: ClassVar = {
        **Rotary.numbers,
        **dict.fromkeys(("alpha1", "alpha2", "sigma1", "sigma2"), POSITIVE),
        **{"log_alphas": Number(), "log_sigmas": Number()},
    }

    def __init__(
        self,
        head_dim: int,
        alphas: Sequence[float] = ALPHAS,
        sigmas: Sequence[float] = SIGMAS,
        theta: float = 10_000.0,
        learnable: bool = True,
    ) -> None:
        super().__init__(head_dim, theta)
        if len(alphas) != 2 or len(sigmas) != 2:
            raise BadInput(f"alphas {tuple(alphas)} and sigmas {tuple(sigmas)} must be two numbers each")
        for name, values in (("log_alphas", alphas), ("log_sigmas", sigmas)):
            for value in values if learnable else ():
                POSITIVE.valid(name.removeprefix("log_"), value)
            logs = torch.tensor(values, dtype=torch.float32).log()  # (J,)
            if learnable:
                self.register_parameter(name, nn.Parameter(logs))
            else:
                self.register_buffer(name, logs)

    def log_kernel(self, distance: Tensor) -> Tensor:
        """Return the logarithm of K at distances in tokens: (...,) -> (...,)."""
        return log_kernel(distance.float(), self.get("log_alphas"), self.get("log_sigmas"))

    def kernel(self, distance: Tensor) -> Tensor:
        """Return K at distances in tokens: (...,) -> (...,)."""
        return self.log_kernel(distance).exp()

    def get(self, name: str) -> Tensor:
        """Return a parameter or buffer by name."""
        tensor: Tensor = getattr(self, name)
        return tensor

    alpha1 = property(lambda self: self.number("log_alphas", 0), lambda self, x: self.put("log_alphas", 0, x))
    alpha2 = property(lambda self: self.number("log_alphas", 1), lambda self, x: self.put("log_alphas", 1, x))
    sigma1 = property(lambda self: self.number("log_sigmas", 0), lambda self, x: self.put("log_sigmas", 0, x))
    sigma2 = property(lambda self: self.number("log_sigmas", 1), lambda self, x: self.put("log_sigmas", 1, x))

    def number(self, name: str, j: int) -> float:
        """Return a weight or width, computed from its logarithm."""
        return float(self.get(name)[j].detach().exp())

    def put(self, name: str, j: int, value: float) -> None:
        """Set a weight or width, as a slider on a running model does."""
        what = f"{name.removeprefix('log_')[:-1]}{j + 1}"
        self.numbers[what].valid(what, value)
        with torch.no_grad():
            self.get(name)[j] = math.log(value)


class AbsoluteGaussian(Gaussian):
    """The note's formula: q at m is rotated and multiplied by K(m), k at n by K(n).

    A score is multiplied by K(m) K(n), which is no function of m - n and vanishes for all tokens far from the
    start.
    Source: note 001, f(x, m).
    """

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        q, k = super().transform_qk(q, k, positions)
        scale = self.kernel(positions.time[..., None]).unsqueeze(-3).to(q.dtype)  # (B|, 1, T, 1)
        return q * scale, k * scale


class RelativeGaussian(Gaussian):
    """The repair: log K(m - n) is added to a score, so that the weight before normalising is times K.

    Source: note 001 ("relative distance" in its text); the form is that of ALiBi, arXiv:2108.12409.
    """

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        return by_distance(queries, keys, lambda distance: self.log_kernel(distance).unsqueeze(-3))


KERNELS: dict[str, type[Gaussian]] = {"absolute": AbsoluteGaussian, "relative": RelativeGaussian}


def gaussian(
    head_dim: int,
    kernel: str = "relative",
    alphas: Sequence[float] = ALPHAS,
    sigmas: Sequence[float] = SIGMAS,
    theta: float = 10_000.0,
    learnable: bool = True,
) -> Gaussian:
    """Return RoPE with a Gaussian kernel, used as the note's formula says or as its text means.

    kernel   "relative": K of the distance; "absolute": of the position, as in the note's formula
    The other arguments are those of `Gaussian`.
    Raises BadInput for another kernel.
    """
    if kernel not in KERNELS:
        raise BadInput(f"kernel ({kernel}) must be one of {', '.join(KERNELS)}")
    return KERNELS[kernel](head_dim, alphas, sigmas, theta, learnable)
