"""Which text a command takes for checkpoints that were trained before."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from babygpt.data.corpus import NAMES, Corpus, load_corpus
from babygpt.errors import BadInput
from babygpt.training.checkpoint import Checkpoint
from babygpt_course.notes.pretrain import require_same_characters


def common_corpus(name: str | None, models: Mapping[Path, Checkpoint], with_mask: bool = False) -> Corpus:
    """The corpus of a name, or that which all models were trained on, if they know its characters.

    models     where each is stored -> the model
    with_mask  whether its tokenizer gets a MASK token
    Raises BadInput if no name is given and they were trained on several, or on a file outside of this folder,
    and for a model that knows other characters.
    """
    named = {str(one.info.get("corpus", "tales")): path for path, one in models.items()}
    if name is None and len(named) > 1:
        on = " and ".join(f"{path} was trained on {corpus}" for corpus, path in named.items())
        raise BadInput(f"{on}: say which --corpus to use")
    own, path = next(iter(named.items()))
    if name is None and is_outside(own):
        raise BadInput(f"{path} names a corpus outside of this folder, {own}: say --corpus if you mean it")
    text = load_corpus(own if name is None else name, with_mask=with_mask)
    for path, one in models.items():
        require_same_characters(one.tokenizer, text.tokenizer, path)
    return text


def is_outside(corpus: str) -> bool:
    """Whether a corpus is a file outside of the folder one works in, links followed."""
    return corpus not in NAMES and not Path(corpus).resolve().is_relative_to(Path.cwd().resolve())
