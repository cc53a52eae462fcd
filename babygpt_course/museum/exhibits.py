"""What hangs in the museum of bugs: what each specimen does, why nobody noticed, and where it was met."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from babygpt.config import ModelConfig
from babygpt.encodings import Rotary, Sinusoidal
from babygpt.invariants import Promise
from babygpt_course.museum import specimens
from babygpt_course.museum.evidence import PROMISES, trains_alike, wake
from babygpt_course.museum.specimens import Reader, rotary, sinusoidal

Make = Callable[[ModelConfig], Reader]
SHAPE = ModelConfig(12, block_size=32, n_layer=2, n_head=2, n_embd=32)  # of what is measured


@dataclass(frozen=True)
class Exhibit:
    """One thing under glass.

    name     what it is called
    does     what the code does, in a sentence
    unseen   why nobody noticed, in a sentence
    thing    the class or function that is wrong; its source is shown
    make     makes a model with it
    healthy  makes the same model without it
    met      where it was met: (what stands there, address), or "" for a source note
    """

    name: str
    does: str
    unseen: str
    thing: Any
    make: Make
    healthy: Make
    met: Sequence[tuple[str, str]]

    def plaque(self) -> str:
        """Its two sentences and where it was met, as Markdown."""
        places = (f"[{what}]({address})" if address else what for what, address in self.met)
        where = f" Met in: {'; '.join(places)}." if self.met else ""
        return f"**{self.name}**: {self.does} {self.unseen}{where}"


@cache
def measured(exhibit: Exhibit, promise: str) -> Promise:
    """What a specimen, filled with noise, keeps of one of PROMISES."""
    with torch.inference_mode():
        return PROMISES[promise](wake(exhibit.make(SHAPE)), wake(exhibit.healthy(SHAPE)))


def row(exhibit: Exhibit) -> dict[str, bool]:
    """Which of all PROMISES an exhibit keeps."""
    return {promise: measured(exhibit, promise).holds for promise in PROMISES}


@cache
def asleep(exhibit: Exhibit) -> bool:
    """Whether it leaves training as it is; see `trains_alike`."""
    with torch.inference_mode():
        return trains_alike(wake(exhibit.make(SHAPE)), wake(exhibit.healthy(SHAPE)))


GITHUB = "https://github.com/"
EXHIBITS: tuple[Exhibit, ...] = (
    Exhibit(
        "nothing wrong",
        "A model with RoPE, as notebook 04 builds it.",
        "It hangs here because a doctor who never meets a healthy patient finds an illness in everyone.",
        rotary,
        rotary,
        rotary,
        (),
    ),
    Exhibit(
        "wrong axis",
        "RoPE turns a token by the number of its head, because the code takes axis 1 for time.",
        "Both axes are counted from 0 and the shapes fit, so nothing complains.",
        specimens.AlongHeads,
        lambda c: Reader(c, specimens.AlongHeads(c.head_dim)),
        rotary,
        (
            (
                "xformers, issue 841, with the axes in another order",
                GITHUB + "facebookresearch/xformers/issues/841",
            ),
            ("open_lm, issue 4", GITHUB + "mlfoundations/open_lm/issues/4"),
        ),
    ),
    Exhibit(
        "mixed layouts",
        "The angles are laid out for channels (i, i + D/2), and the pairs that turn are (2i, 2i + 1).",
        "Each half is right in some library, and the model learns to live with the mixture.",
        specimens.MixedLayouts,
        lambda c: Reader(c, specimens.MixedLayouts(c.head_dim)),
        rotary,
        (
            ("transformers, issue 47328", GITHUB + "huggingface/transformers/issues/47328"),
            (
                "how-to-train-your-gpt, issue 6, the other way round",
                GITHUB + "raiyanyahya/how-to-train-your-gpt/issues/6",
            ),
            ("source note 001, the Python code", ""),
        ),
    ),
    Exhibit(
        "a lost minus",
        "A pair (a, b) becomes (a cos + b sin, b cos + a sin), where one sine should be subtracted.",
        "At place 0 it is right, and further on it is still a smooth function of the place.",
        specimens.LostMinus,
        lambda c: Reader(c, specimens.LostMinus(c.head_dim)),
        rotary,
        (
            (
                "labml's annotated RoPE, pull request 193, where it was lost in a comment",
                GITHUB + "labmlai/annotated_deep_learning_paper_implementations/pull/193",
            ),
            (
                "and a minus that may be lost without harm: nanochat, pull request 489",
                GITHUB + "karpathy/nanochat/pull/489",
            ),
        ),
    ),
    Exhibit(
        "positions in bfloat16",
        "Positions get the type of the weights, and bfloat16 has no whole number between 256 and 258.",
        "No window of training was that long.",
        specimens.ShortNumbers,
        lambda c: Reader(c, specimens.ShortNumbers(c.head_dim)),
        rotary,
        (
            ("gpt-neox, pull request 1016, on 256 and 257", GITHUB + "EleutherAI/gpt-neox/pull/1016"),
            ("transformers, pull request 29285", GITHUB + "huggingface/transformers/pull/29285"),
            ("Megatron-LM, issue 535, for float16", GITHUB + "NVIDIA/Megatron-LM/issues/535"),
        ),
    ),
    Exhibit(
        "silent clamp",
        "A table has a row for each place of the window, and its last row serves every place beyond.",
        "Whoever reads on gets finite numbers and no error.",
        specimens.Clamped,
        lambda c: Reader(c, specimens.Clamped(c.head_dim, c.block_size)),
        rotary,
        (
            ("JAX, pull request 7595, on indices past an array's end", GITHUB + "jax-ml/jax/pull/7595"),
            ("source note 003, which sizes its table at 32768 rows so as never to get there", ""),
        ),
    ),
    Exhibit(
        "kernel of the place",
        "RoPE is multiplied by a Gaussian of the place m, where a distance m − n was meant.",
        "In a short window the loss still falls: early tokens are merely louder than late ones.",
        specimens.KernelOfThePlace,
        lambda c: Reader(c, specimens.KernelOfThePlace(c.head_dim)),
        rotary,
        (("source note 001, the definition of K(m)", ""),),
    ),
    Exhibit(
        "the sine left out",
        "Each channel is multiplied by a cosine of its place; the sine that makes it a turn is left out.",
        "At place 0 it is right, and cosines of two places still know something of their distance.",
        specimens.CosineAlone,
        lambda c: Reader(c, specimens.CosineAlone(c.head_dim)),
        rotary,
        (("source note 000, section 2.1", ""),),
    ),
    Exhibit(
        "codes added twice",
        "The embedding adds the sinusoid, and the model that calls it adds it again.",
        "The sum is a code as before, only louder; in a short training the loss even gains by it.",
        specimens.Twice,
        lambda c: Reader(c, specimens.Twice(c.n_embd)),
        sinusoidal,
        (("I-JEPA, issue 4", GITHUB + "gaasher/I-JEPA/issues/4"),),
    ),
    Exhibit(
        "codes along the batch",
        "The sinusoid is added along the first axis, which is the batch here and was time elsewhere.",
        "Every text still gets a code, all of its tokens the same.",
        specimens.AlongBatch,
        lambda c: Reader(c, specimens.AlongBatch(c.n_embd)),
        sinusoidal,
        (("GETNext, issue 2, a question still open", GITHUB + "songyangco/GETNext/issues/2"),),
    ),
    Exhibit(
        "one code for all",
        "A missing colon, table[T] for table[:T], gives every token the code of the text's length.",
        "Broadcasting makes the shapes fit.",
        specimens.MissingColon,
        lambda c: Reader(c, specimens.MissingColon(c.n_embd)),
        sinusoidal,
        (("DiffPoseTalk, issue 20", GITHUB + "DiffPoseTalk/DiffPoseTalk/issues/20"),),
    ),
    Exhibit(
        "cache restarts",
        "With a cache, each new token is told that it stands at place 0.",
        "Training never uses a cache, so no loss can show it.",
        specimens.RestartsInCache,
        lambda c: specimens.RestartsInCache(c, Rotary(c.head_dim)),
        rotary,
        (
            ("mlx-vlm, issue 1983", GITHUB + "Blaizzy/mlx-vlm/issues/1983"),
            ("moeut, pull request 6", GITHUB + "RobertCsordas/moeut/pull/6"),
        ),
    ),
    Exhibit(
        "padding counted",
        "Padding on the left is hidden from attention, but counted: the first real token is not at place 0.",
        "Training packs its windows full, and only a batch of prompts is padded.",
        specimens.CountsPadding,
        lambda c: specimens.CountsPadding(c, Sinusoidal(c.n_embd)),
        sinusoidal,
        (
            (
                "TransformerLens, issue 1609, where one padding takes a loss of GPT-2 from 4.5 to 13.6",
                GITHUB + "TransformerLensOrg/TransformerLens/issues/1609",
            ),
            ("nnsight, pull request 673", GITHUB + "ndif-team/nnsight/pull/673"),
            (
                "transformers, issue 33095, under RoPE, which forgives it",
                GITHUB + "huggingface/transformers/issues/33095",
            ),
        ),
    ),
    Exhibit(
        "mask off by one",
        "The mask's diagonal is one step too high, and every token sees the next.",
        "The loss falls better than ever.",
        specimens.OneTooMany,
        lambda c: specimens.OneTooMany(c, Rotary(c.head_dim)),
        rotary,
        (
            (
                "GPT-SoVITS, issue 965, where the diagonal is in dispute",
                GITHUB + "RVC-Boss/GPT-SoVITS/issues/965",
            ),
            (
                "what a look ahead does to the loss: transformers, issue 48745",
                GITHUB + "huggingface/transformers/issues/48745",
            ),
        ),
    ),
    Exhibit(
        "dropped scale",
        "Scores are not divided by the root of the head's width.",
        "Attention is sharper than it should be, and a model learns all the same.",
        specimens.Unscaled,
        specimens.without_scale,
        rotary,
        (
            ("mlc-llm, pull request 3426", GITHUB + "mlc-ai/mlc-llm/pull/3426"),
            ("cntkx, issue 10, where only the root was missing", GITHUB + "delzac/cntkx/issues/10"),
        ),
    ),
)
