"""T5, KERPLE and FIRE: each head learns what to add to a score at each distance.

T5 learns one number for each bucket of distances. KERPLE learns two numbers of a formula. FIRE learns a small
network that reads the distance as a share of how far the query could look.
"""

import math
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.encodings.alibi import slopes
from babygpt.encodings.base import Encoding, Number, distances, high_precision
from babygpt.errors import BadInput
from babygpt.positions import Positions


def bucket_starts(n_buckets: int, furthest: int) -> list[int]:
    """Return the smallest distance of each bucket, for distances of one sign.

    The first half of the buckets hold one distance each. The others begin at distances in equal ratios, such
    that one more would begin at `furthest`. The last bucket holds everything further away.

    n_buckets  at least 2; an odd number has one more wide bucket
    furthest   in tokens, more than the number of buckets that hold one distance
    returns    n_buckets whole numbers, in tokens; of two that are equal, the first bucket is empty
    Raises BadInput for other numbers.
    """
    single, wide = n_buckets // 2, n_buckets - n_buckets // 2
    if not 0 < single < furthest < math.inf:
        raise BadInput(
            f"n_buckets ({n_buckets}) must be at least 2, and furthest ({furthest}) above {single}"
        )
    starts = (single * (furthest / single) ** (j / wide) for j in range(wide))
    return [*range(single), *(math.ceil(round(start, 9)) for start in starts)]  # 16.000000000000004 is 16


def bucket(distance: Tensor, n_buckets: int = 32, furthest: int = 128, both_ways: bool = False) -> Tensor:
    """Return the number of the bucket that each distance falls into.

    distance   (...,)  of a key before its query, in tokens; negative where the key comes after
    n_buckets  number of buckets, both ways together
    furthest   distance from which on all fall into the last one
    both_ways  whether the second half of the buckets is for keys that come after their query. Otherwise such
               keys are in bucket 0, as in T5's decoder: a causal model never looks at them.
    returns    (...,)  from 0 to n_buckets - 1
    Raises BadInput for an odd number of buckets both ways, and where `bucket_starts` does.
    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1; where buckets begin, from T5's public code.
    """
    if both_ways and (n_buckets < 4 or n_buckets % 2):
        raise BadInput(f"n_buckets ({n_buckets}) must be even and at least 4: half of them look each way")
    one_way = n_buckets // 2 if both_ways else n_buckets
    starts = torch.tensor(bucket_starts(one_way, furthest), device=distance.device)
    size = distance.abs() if both_ways else distance.clamp(min=0)
    buckets = torch.bucketize(size, starts, right=True) - 1
    return buckets + one_way * (distance < 0) if both_ways else buckets


class T5Bias(Encoding):
    """Bias of T5: each head adds to a score a number that it has learned for the distance's bucket.

    All numbers begin at 0, so a model begins without an encoding. T5 draws them at random.

    n_head     number of heads
    n_buckets  number of buckets, both ways together
    furthest   distance from which on all are alike, in tokens
    both_ways  whether keys after their query have buckets of their own, for models that look both ways
    table      (n_buckets, H)  the numbers, a parameter
    Raises BadInput where `bucket` does.
    Source: Raffel et al. 2020, arXiv:1910.10683, section 2.1.
    """

    numbers: ClassVar = {"table": Number()}

    def __init__(
        self, n_head: int, n_buckets: int = 32, furthest: int = 128, both_ways: bool = False
    ) -> None:
        super().__init__()
        bucket(torch.zeros(0), n_buckets, furthest, both_ways)  # refuses wrong numbers at once
        self.n_buckets, self.furthest, self.both_ways = n_buckets, furthest, both_ways
        self.table = nn.Parameter(torch.zeros(n_buckets, n_head))

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        distance = distances(queries, keys)  # (B|, Tq, Tk)
        buckets = bucket(distance, self.n_buckets, self.furthest, self.both_ways)
        return F.embedding(buckets, self.table).movedim(-1, -3)  # (B|, H, Tq, Tk)


class LogKernel(Encoding):
    """Head h adds -r1 log(1 + r2 |m - n|) to every score, and learns r1 and r2.

    This is a straight line within 1 / r2 tokens that flattens beyond: far away, doubling the distance takes
    r1 log 2. The logarithms of r1 and r2 are trained, so they stay positive. Head h begins with r1 = 1 and
    ALiBi's slope for r2: nearby it equals ALiBi, and distant tokens lose much less. The public code draws r1
    from 0 to 2 and r2 from 0 to 1, at random.

    n_head  number of heads
    Source: Chi et al. 2022, arXiv:2205.09921, the logarithmic kernel.
    """

    numbers: ClassVar = {"log_r1": Number(), "log_r2": Number()}

    def __init__(self, n_head: int) -> None:
        super().__init__()
        self.log_r2 = nn.Parameter(slopes(n_head).log())
        self.log_r1 = nn.Parameter(torch.zeros(n_head))

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        r1, r2 = (log[:, None, None].exp() for log in (self.log_r1, self.log_r2))  # (H, 1, 1)
        distance = distances(queries, keys).abs().unsqueeze(-3)  # (B|, 1, Tq, Tk)
        return -r1 * torch.log1p(r2 * distance)  # (B|, H, Tq, Tk)


FIRST_C = 0.1  # FIRE's c, where public code begins


def relative_distance(query: Tensor, key: Tensor, c: Tensor, threshold: Tensor) -> Tensor:
    """Return how far a key at n lies behind a query at m: psi(|m - n|) / psi(max(m, threshold)).

    psi(x) = log(c x + 1) spreads out small distances.
    Its range is the same in a text of any length: 0 is the query itself, and from `threshold` on 1 is the
    first token. A key ahead counts like one as far behind, as in public code. A causal model never looks at
    one. FIRE does not suit other models: it cannot tell ahead from behind, and shares ahead exceed 1.

    query      (..., Tq, 1)  m, in tokens
    key        (..., 1, Tk)  n
    c          (1,)  above 0: from 1 / c tokens on, distances count by their logarithm
    threshold  (1,)  above 0, in tokens: all queries before it have the same divisor
    returns    (..., Tq, Tk)  computed in float64, so that c may be very large or small
    Source: Li et al. 2024, arXiv:2310.04418, section 3.
    """
    distance, reach = high_precision((query - key).abs()), torch.maximum(high_precision(query), threshold)
    return torch.log1p(c * distance) / torch.log1p(c * reach)


class FIRE(Encoding):
    """A network of one hidden layer gives each head a number for every share, added to the score.

    The logarithms of c and threshold are trained, so they stay positive. The output layer begins at 0, so
    that a model begins without an encoding (public code draws it at random). It has no bias, which would add
    the same to all scores of a head and change nothing. Memory: `width` numbers for every query and key,
    once for all windows with the same positions. All layers share one network (the paper's FIRE-S), unless
    a model is built with `per_layer`.

    n_head     number of heads
    width      hidden units, 32 in the paper
    threshold  first value of the threshold, in tokens: a quarter of a window of 64, as public code has 512 of
               2048
    Raises BadInput for a threshold not above 0.
    Source: Li et al. 2024, arXiv:2310.04418.
    """

    numbers: ClassVar = {"log_c": Number(), "log_threshold": Number()}

    def __init__(self, n_head: int, width: int = 32, threshold: float = 16.0) -> None:
        super().__init__()
        Number(above=0).valid("threshold", threshold)
        self.log_c = nn.Parameter(torch.tensor([math.log(FIRST_C)]))
        self.log_threshold = nn.Parameter(torch.tensor([math.log(threshold)]))
        self.network = nn.Sequential(nn.Linear(1, width), nn.ReLU(), nn.Linear(width, n_head, bias=False))
        nn.init.zeros_(self.get_parameter("network.2.weight"))

    def score_bias(self, queries: Positions, keys: Positions) -> Tensor:
        c, threshold = (high_precision(log).exp() for log in (self.log_c, self.log_threshold))
        query, key = queries.time[..., :, None], keys.time[..., None, :]
        x = relative_distance(query, key, c, threshold)  # (B|, Tq, Tk)
        return self.network(x[..., None].to(self.log_c.dtype)).movedim(-1, -3)  # (B|, H, Tq, Tk)
