"""An encoding that a user has written into a file, and a class of the same name beside it."""

from babygpt.encodings import Encoding

MINE = '''
import torch
from babygpt.encodings import Encoding

class Recency(Encoding):
    """Bias that falls with the distance.

    strength  nats per token
    """

    def __init__(self, n_head: int, *, strength: float = 1.0) -> None:
        super().__init__()
        self.strength = torch.nn.Parameter(torch.full((n_head,), strength))

    def score_bias(self, queries, keys):
        distance = queries.time[..., None, :, None] - keys.time[..., None, None, :]
        return -self.strength[:, None, None] * distance.abs()
'''


class Recency(Encoding):
    """Encoding of the same name as the file's."""
