"""T5's bias: each head learns a number for every bucket of distances; buckets widen with the distance."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.encodings.base import Encoding, require_finite
from babygpt.errors import BadInput
from babygpt.positions import Positions

MOST_BUCKETS, FURTHEST = 2**16, 2**31  # far more than there is to tell apart


def bucket_starts(n_buckets: int, furthest: int) -> list[int]:
    """The smallest distance of each bucket, where all distances are of one sign.

    The first half of the buckets hold one distance each. The others begin at distances in equal ratios, such
    that one more would begin at `furthest`; the last of them holds all that is further away.

    n_buckets  at least 2; of an odd number, the wide buckets are one more
    furthest   in tokens, more than the number of buckets that hold one distance
    returns    n_buckets whole numbers, in tokens; of two that are equal, the first bucket is empty
    Raises ValueError for fewer buckets, or a `furthest` that leaves the wide ones nothing to hold.
    """
    if not (isinstance(n_buckets, int) and 2 <= n_buckets <= MOST_BUCKETS):
        raise BadInput(f"n_buckets ({n_buckets}) must be a whole number from 2 to {MOST_BUCKETS}")
    require_finite("furthest", furthest, FURTHEST)
    single, wide = n_buckets // 2, n_buckets - n_buckets // 2
    if furthest <= single:
        raise BadInput(f"furthest ({furthest}) must be above {single}, the buckets of one distance each")
    starts = (single * (furthest / single) ** (j / wide) for j in range(wide))
    return [*range(single), *(math.ceil(round(start, 9)) for start in starts)]  # 16.000000000000004 is 16


def bucket(distance: Tensor, n_buckets: int = 32, furthest: int = 128, both_ways: bool = False) -> Tensor:
    """The number of the bucket that each distance falls into.

    distance   (...,)  of a key before its query, in tokens; negative where the key comes after
    n_buckets  how many there are, both ways together
    furthest   distance from which on all fall into the last one
    both_ways  whether the second half of the buckets is for keys that come after their query. Without, such
               keys are in bucket 0, as T5's decoder has it: a causal model never looks at them.
    returns    (...,)  from 0 to n_buckets - 1
    Raises ValueError for an odd number of buckets both ways, and where `bucket_starts` does.
    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1; where buckets begin, from T5's public code.
    """
    if both_ways and (n_buckets < 4 or n_buckets % 2):
        raise BadInput(f"n_buckets ({n_buckets}) must be even and at least 4: half of them look each way")
    one_way = n_buckets // 2 if both_ways else n_buckets
    starts = torch.tensor(bucket_starts(one_way, furthest), device=distance.device)
    size = distance.abs() if both_ways else distance.clamp(min=0)
    found = torch.bucketize(size, starts, right=True) - 1
    return found + one_way * (distance < 0) if both_ways else found


class T5Bias(Encoding):
    """Each head adds to a score a number that it has learned for the distance's bucket.

    All numbers begin at 0, so that a model begins without an encoding; T5 draws them at random.

    n_head     number of heads
    n_buckets  how many there are, both ways together
    furthest   distance from which on all are alike, in tokens
    both_ways  whether keys after their query have buckets of their own, for models that look both ways
    table      (n_buckets, H)  the numbers, a parameter
    Raises ValueError if n_head is below 1, and where `bucket` does.
    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1.
    """

    def __init__(
        self, n_head: int, n_buckets: int = 32, furthest: int = 128, both_ways: bool = False
    ) -> None:
        super().__init__()
        if n_head < 1:
            raise BadInput(f"n_head ({n_head}) must be at least 1")
        bucket(torch.zeros(0), n_buckets, furthest, both_ways)  # refuses wrong numbers at once
        self.n_buckets, self.furthest, self.both_ways = n_buckets, furthest, both_ways
        self.table = nn.Parameter(torch.zeros(n_buckets, n_head))

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        distance = queries.time[..., :, None] - keys.time[..., None, :]  # (B|, Tq, Tk)
        found = bucket(distance, self.n_buckets, self.furthest, self.both_ways)
        return F.embedding(found, self.table).movedim(-1, -3)  # (B|, H, Tq, Tk)
