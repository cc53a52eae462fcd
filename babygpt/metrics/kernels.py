"""Which distances a Gaussian kernel keeps."""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
import torch

from babygpt.encodings.gaussian import Gaussian
from babygpt.errors import BadInput


@torch.inference_mode()
def kernel_values(encoding: Gaussian, furthest: int) -> np.ndarray:
    """K at every whole distance from 0 to `furthest` tokens: (furthest + 1,)."""
    return encoding.kernel(torch.arange(furthest + 1)).cpu().numpy()


@torch.inference_mode()
def reach(encoding: Gaussian, share: float, furthest: int = 10_000) -> int:
    """The first distance at which K is below a share of K(0): beyond it the kernel keeps less than that.

    encoding  with a kernel, which never rises with distance
    share     between 0 and 1
    furthest  returned where K is not below the share anywhere before it, in tokens
    returns   tokens
    Raises ValueError for a share outside its range.
    """
    if not 0 < share <= 1:
        raise BadInput(f"share ({share}) must be above 0 and at most 1")
    peak, least = encoding.log_kernel(torch.tensor(0)), math.log(share)  # K itself may be too small a number

    def below(distance: int) -> bool:
        return bool(encoding.log_kernel(torch.tensor(distance)) - peak < least)

    return bisect_left(range(furthest), True, key=below)
