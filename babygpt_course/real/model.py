"""SmolLM2-135M, a language model that was published in 2025, with babygpt's own rotation in it.

Its body is that of the Llama models: RMSNorm with weights, three queries to each key, a gated MLP. Positions
come in as everywhere in this course, through an `Encoding`. So each encoding of the course can take the place
of its RoPE, and whatever looks into a Transformer, silences its heads or reads its weights, works here too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from babygpt.config import ModelConfig
from babygpt.device import pick_device
from babygpt.encodings.base import Encoding
from babygpt.encodings.rotary import Rotary
from babygpt.models.cache import KVCache
from babygpt.models.language_model import LanguageModel, resolve_positions
from babygpt.models.transformer import Attention, Context, Transformer
from babygpt.positions import Positions
from babygpt_course.real.file import model_file
from babygpt_course.real.tokenizer import RealTokenizer


class GroupedAttention(Attention):
    """Attention in which several heads share their keys and values.

    n_kv  the number of different keys and values at each token
    Source: Ainslie et al. 2023, arXiv:2305.13245.
    """

    sharpness = 1.0

    def __init__(self, config: ModelConfig, n_kv: int) -> None:
        nn.Module.__init__(self)
        C, D = config.n_embd, config.head_dim
        self.n_head, self.n_kv = config.n_head, n_kv
        self.to_q, self.out = (nn.Linear(C, C, bias=False) for _ in range(2))
        self.to_k, self.to_v = (nn.Linear(C, n_kv * D, bias=False) for _ in range(2))

    def qkv(self, x: Tensor, context: Context) -> tuple[Tensor, Tensor, Tensor]:
        """Compute queries, keys and values as they meet: (B, T, C) -> 3 x (B, H, T, D)."""
        q = self.to_q(x).unflatten(-1, (self.n_head, -1)).transpose(1, 2)  # (B, H, T, D)
        k, v = (
            project(x).unflatten(-1, (self.n_kv, -1)).transpose(1, 2)  # (B, n_kv, T, D)
            .repeat_interleave(self.n_head // self.n_kv, dim=1)  # (B, H, T, D)
            for project in (self.to_k, self.to_v)
        )  # fmt: skip
        q, k = context.encoding.transform_qk(q, k, context.positions)
        return q, k, v


class GatedMLP(nn.Module):
    """Two matrices into the hidden layer, one of which opens or closes what the other brings (SwiGLU).

    Source: Shazeer 2020, arXiv:2002.05202.
    """

    def __init__(self, n_embd: int, n_hidden: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(n_embd, n_hidden, bias=False) for _ in range(2))
        self.out = nn.Linear(n_hidden, n_embd, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(F.silu(self.gate(x)) * self.up(x))


class GatedBlock(nn.Module):
    """Attention, then MLP: each reads a normalised copy of the stream and adds to the stream."""

    def __init__(self, config: ModelConfig, n_kv: int, n_hidden: int, eps: float) -> None:
        super().__init__()
        self.attention_norm, self.mlp_norm = (nn.RMSNorm(config.n_embd, eps) for _ in range(2))
        self.attention = GroupedAttention(config, n_kv)
        self.mlp = GatedMLP(config.n_embd, n_hidden)

    def forward(self, x: Tensor, context: Context) -> Tensor:
        x = x + self.attention(self.attention_norm(x), context)
        return x + self.mlp(self.mlp_norm(x))


class RealModel(Transformer):
    """A Llama-like model: token embedding, blocks, norm, and a head that is the embedding turned around.

    config    the shape; block_size is the window it was trained with
    encoding  its RoPE at first; `use_encoding` exchanges it
    n_kv      different keys and values at each token
    n_hidden  channels inside an MLP
    eps       what its norms add to a mean square
    """

    def __init__(self, config: ModelConfig, encoding: Encoding, n_kv: int, n_hidden: int, eps: float) -> None:
        LanguageModel.__init__(self, config, encoding)  # the weights of our own Transformer are not needed
        self.causal, self.isolated = True, False
        self.token_embedding = nn.Embedding(config.vocab_size, config.n_embd)
        self.blocks = nn.ModuleList(GatedBlock(config, n_kv, n_hidden, eps) for _ in range(config.n_layer))
        self.norm = nn.RMSNorm(config.n_embd, eps)

    def read(self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None) -> Tensor:
        """Return the stream that the logits are made of, normalised: (B, T) -> (B, T, C)."""
        positions, readable = resolve_positions(idx, positions, cache)
        x = self.embed(idx, positions, readable, cache)  # (B, T, C)
        for i, (block, mask) in enumerate(
            zip(self.blocks, self.attn_masks(positions, readable), strict=True)
        ):
            x = block(x, Context(self.encoding.of_layer(i), positions, readable, mask, self.causal, cache))
        if cache is not None:
            cache.hold(readable, len(idx))
        return self.norm(x)

    def forward(
        self, idx: Tensor, positions: Positions | None = None, cache: KVCache | None = None
    ) -> Tensor:
        return F.linear(self.read(idx, positions, cache), self.token_embedding.weight)  # (B, T, vocab_size)


PLACES = {  # name in a GGUF file -> name in this model
    "token_embd": "token_embedding",
    "output_norm": "norm",
    "attn_norm": "attention_norm",
    "attn_q": "attention.to_q",
    "attn_k": "attention.to_k",
    "attn_v": "attention.to_v",
    "attn_output": "attention.out",
    "ffn_norm": "mlp_norm",
    "ffn_gate": "mlp.gate",
    "ffn_up": "mlp.up",
    "ffn_down": "mlp.out",
}


def name_of(tensor: str) -> str:
    """Return this model's name of a GGUF tensor: blk.3.attn_q.weight is blocks.3.attention.to_q.weight."""
    *block, kind, weight = tensor.split(".")
    return ".".join(["blocks", *block[1:]] * bool(block) + [PLACES[kind], weight])


def read_model(path: Path | None = None) -> tuple[RealModel, RealTokenizer]:
    """Return the published model and its tokenizer, on the fastest device, in float32: 540 MB.

    path  of the GGUF file; None for the one that set-up fetched
    Raises BadInput if the file is not there.
    Source: Allal et al. 2025, arXiv:2502.02737 (SmolLM2).
    """
    from gguf import GGUFReader  # of the extra `lab`; here, since all studies import this module
    from gguf.quants import dequantize

    file = GGUFReader(path or model_file())

    def number(name: str) -> float:
        return file.fields[f"llama.{name}"].contents()

    shape = ("vocab_size", "context_length", "block_count", "attention.head_count", "embedding_length")
    config = ModelConfig(*(int(number(name)) for name in shape))
    rope = Rotary(config.head_dim, number("rope.freq_base"))
    with torch.device("meta"):  # no memory for weights that are replaced at once
        model = RealModel(
            config,
            rope,
            int(number("attention.head_count_kv")),
            int(number("feed_forward_length")),
            number("attention.layer_norm_rms_epsilon"),
        )
    weights = {t.name: np.require(dequantize(t.data, t.tensor_type), requirements="W") for t in file.tensors}
    state = {name_of(name): torch.from_numpy(weight) for name, weight in weights.items()}
    model.load_state_dict(state, assign=True)
    model.requires_grad_(False)
    tokens, merges = (file.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
    return model.to(pick_device()), RealTokenizer(tokens, merges)


# ---------------------------------------------------------------- another encoding


class Rotation(Encoding):
    """A function in place of RoPE.

    function  takes queries or keys (B, H, T, D) and their positions (T,), and returns them turned
    """

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        return self.function(q, positions.time), self.function(k, positions.time)


@contextmanager
def use_encoding(
    model: Transformer, encoding: Encoding | Callable[[Tensor, Tensor], Tensor]
) -> Iterator[None]:
    """Exchange a model's encoding within the `with`. Its weights stay as they were trained.

    encoding  one of the course, or a function of queries or keys and their positions
    """
    own = model.encoding
    try:
        chosen = encoding if isinstance(encoding, Encoding) else Rotation(encoding)
        model.encoding = chosen.to(model.token_embedding.weight.device)
        yield
    finally:
        model.encoding = own


@torch.inference_mode()
def token_losses(
    model: RealModel, idx: Tensor, positions: Positions | None = None, chunk: int = 256
) -> Tensor:
    """Return the loss of each token of a text but the first, in nats.

    idx        (T,)  token ids
    positions  of the tokens; by default 0, 1, 2, ...
    chunk      tokens whose logits exist at the same time: 256 of them take 50 MB
    returns    (T - 1,)  on the CPU
    """
    device = model.token_embedding.weight.device
    idx, positions = idx.to(device), None if positions is None else positions.to(device)
    stream = model.read(idx[None], positions)[0, :-1]  # (T - 1, C)
    pairs = zip(stream.split(chunk), idx[1:].split(chunk), strict=True)
    parts = [
        F.cross_entropy(F.linear(x, model.token_embedding.weight), y, reduction="none") for x, y in pairs
    ]
    return torch.cat(parts).cpu()
