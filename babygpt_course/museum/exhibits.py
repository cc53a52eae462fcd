"""Exhibits of the museum of bugs: what each does, why it went unnoticed, and where it was met."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import torch

from babygpt.config import ModelConfig
from babygpt.invariants import Promise
from babygpt_course.museum import specimens
from babygpt_course.museum.promises import PROMISES, randomize_, same_logits
from babygpt_course.museum.specimens import Specimen, rotary, sinusoidal

Make = Callable[..., Specimen]  # given a ModelConfig
SHAPE = ModelConfig(12, block_size=32, n_layer=2, n_head=2, n_embd=32)  # of the models that are measured


@dataclass(frozen=True)
class Exhibit:
    """One thing under glass.

    name     what it is called
    does     what the code does, in a sentence
    unseen   why nobody noticed, in a sentence
    part     the wrong encoding or model; None if nothing is wrong
    met      where it was met: owner/repository/issues/number or .../pull/number, remark; or a note
    healthy  makes the model without it
    shown    the code that is shown, if it is not that of `part`
    """

    name: str
    does: str
    unseen: str
    part: type[Any] | None
    met: str = ""
    healthy: Make = rotary
    shown: type[Any] | None = None

    @cached_property
    def make(self) -> Make:
        """Makes a model with it."""
        if self.part is None:
            return self.healthy
        kind = "model" if issubclass(self.part, Specimen) else "encoding"
        return partial(self.healthy, **{kind: self.part})

    @property
    def thing(self) -> Any:
        """The class or function whose source is shown."""
        return self.shown or self.part or self.healthy

    def plaque(self) -> str:
        """Return its two sentences and where it was met, as Markdown."""
        where = f" Met in: {'; '.join(map(link, self.met.split('; ')))}." if self.met else ""
        return f"**{self.name}**: {self.does} {self.unseen}{where}"

    def twins(self) -> tuple[Specimen, Specimen]:
        """Return a model with it and a healthy one, both with the same random weights."""
        return randomize_(self.make(SHAPE)), randomize_(self.healthy(SHAPE))


def link(place: str) -> str:
    """Return one of the places where an exhibit was met, as Markdown."""
    address, _, remark = place.partition(", ")
    if address.count("/") != 3:
        return place
    _, repository, kind, number = address.split("/")
    what = {"issues": "issue", "pull": "pull request"}[kind]
    return f"[{repository}, {what} {number}{remark and ', ' + remark}](https://github.com/{address})"


@cache
@torch.inference_mode()
def measured(exhibit: Exhibit, promise: str) -> Promise:
    """Return the measurement of one of PROMISES on an exhibit."""
    return PROMISES[promise](*exhibit.twins())


def row(exhibit: Exhibit) -> dict[str, bool]:
    """Return which of all PROMISES an exhibit keeps."""
    return {promise: measured(exhibit, promise).holds for promise in PROMISES}


@cache
@torch.inference_mode()
def hidden_in_training(exhibit: Exhibit) -> bool:
    """Return whether an exhibit leaves training as it is; see `same_logits`."""
    return same_logits(*exhibit.twins())


EXHIBITS: tuple[Exhibit, ...] = (
    Exhibit(
        "nothing wrong",
        "A model with RoPE, as notebook 04 builds it.",
        "It hangs here because a doctor who never meets a healthy patient finds an illness in everyone.",
        None,
    ),
    Exhibit(
        "wrong axis",
        "RoPE turns a token by the number of its head, because the code takes axis 1 for time.",
        "Both axes are counted from 0 and the shapes fit, so nothing complains.",
        specimens.AlongHeads,
        "facebookresearch/xformers/issues/841, with the axes in another order; "
        "mlfoundations/open_lm/issues/4",
    ),
    Exhibit(
        "mixed layouts",
        "The angles are laid out for channels (i, i + D/2), and the pairs that turn are (2i, 2i + 1).",
        "Each half is right in some library, and the model learns to live with the mixture.",
        specimens.MixedLayouts,
        "huggingface/transformers/issues/47328; "
        "raiyanyahya/how-to-train-your-gpt/issues/6, the other way round; source note 001, the Python code",
    ),
    Exhibit(
        "a lost minus",
        "A pair (a, b) becomes (a cos + b sin, b cos + a sin), where one sine should be subtracted.",
        "At place 0 it is right, and further on it is still a smooth function of the place.",
        specimens.LostMinus,
        "labmlai/annotated_deep_learning_paper_implementations/pull/193, where it was lost in a comment; "
        "karpathy/nanochat/pull/489, a minus that may be lost without harm",
    ),
    Exhibit(
        "positions in bfloat16",
        "Positions get the type of the weights, and bfloat16 has no whole number between 256 and 258.",
        "No window of training was that long.",
        specimens.ShortNumbers,
        "EleutherAI/gpt-neox/pull/1016, on 256 and 257; huggingface/transformers/pull/29285; "
        "NVIDIA/Megatron-LM/issues/535, for float16",
    ),
    Exhibit(
        "silent clamp",
        "A table has a row for each place of the window, and its last row serves every place beyond.",
        "Whoever reads on gets finite numbers and no error.",
        specimens.Clamped,
        "jax-ml/jax/pull/7595, on indices past an array's end; "
        "source note 003, which sizes its table at 32768 rows so as never to get there",
    ),
    Exhibit(
        "kernel of the place",
        "RoPE is multiplied by a Gaussian of the place m, where a distance m − n was meant.",
        "In a short window the loss still falls: early tokens are merely louder than late ones.",
        specimens.AbsoluteKernel,
        "source note 001, the definition of K(m)",
    ),
    Exhibit(
        "the sine left out",
        "Each channel is multiplied by a cosine of its place; the sine that makes it a turn is left out.",
        "At place 0 it is right, and cosines of two places still know something of their distance.",
        specimens.CosineAlone,
        "source note 000, section 2.1",
    ),
    Exhibit(
        "codes added twice",
        "The embedding adds the sinusoid, and the model that calls it adds it again.",
        "The sum is a code as before, only louder; in a short training the loss even gains by it.",
        specimens.Twice,
        "gaasher/I-JEPA/issues/4",
        sinusoidal,
    ),
    Exhibit(
        "codes along the batch",
        "The sinusoid is added along the first axis, which is the batch here and was time elsewhere.",
        "Every text still gets a code, all of its tokens the same.",
        specimens.AlongBatch,
        "songyangco/GETNext/issues/2, a question still open",
        sinusoidal,
    ),
    Exhibit(
        "one code for all",
        "A missing colon, table[T] for table[:T], gives every token the code of the text's length.",
        "Broadcasting makes the shapes fit.",
        specimens.MissingColon,
        "DiffPoseTalk/DiffPoseTalk/issues/20",
        sinusoidal,
    ),
    Exhibit(
        "cache restarts",
        "With a cache, each new token is told that it stands at place 0.",
        "Training never uses a cache, so no loss can show it.",
        specimens.RestartsInCache,
        "Blaizzy/mlx-vlm/issues/1983; RobertCsordas/moeut/pull/6",
    ),
    Exhibit(
        "padding counted",
        "Padding on the left is hidden from attention, but counted: the first real token is not at place 0.",
        "Training packs its windows full, and only a batch of prompts is padded.",
        specimens.CountsPadding,
        "TransformerLensOrg/TransformerLens/issues/1609, where one padding takes a loss of GPT-2 "
        "from 4.5 to 13.6; "
        "ndif-team/nnsight/pull/673; huggingface/transformers/issues/33095, under RoPE, which forgives it",
        sinusoidal,
    ),
    Exhibit(
        "mask off by one",
        "The mask's diagonal is one step too high, and every token sees the next.",
        "The loss falls better than ever.",
        specimens.OneTooMany,
        "RVC-Boss/GPT-SoVITS/issues/965, where the diagonal is in dispute; "
        "huggingface/transformers/issues/48745, on the loss of models that look ahead",
    ),
    Exhibit(
        "dropped scale",
        "Scores are not divided by the root of the head's width.",
        "Attention is sharper than it should be, and a model learns all the same.",
        specimens.WithoutScale,
        "mlc-ai/mlc-llm/pull/3426; delzac/cntkx/issues/10, where only the root was missing",
        shown=specimens.Unscaled,
    ),
)
