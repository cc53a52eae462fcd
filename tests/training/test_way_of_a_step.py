"""The way of a training step: the files that CONTRIBUTING draws are all that a step of v4 enters."""

import re
import sys
from pathlib import Path
from types import FrameType

import babygpt
from babygpt import ModelConfig, NextToken, TrainConfig, build
from babygpt.training import Training

PACKAGE = Path(babygpt.__file__).parent
DRAWING = (PACKAGE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("Training.make_step  ")


def test_a_step_enters_the_files_that_are_drawn(small_corpus) -> None:
    model = build("v4", ModelConfig(small_corpus.tokenizer.vocab_size, 16, 2, 2, 16))
    training = Training(model, NextToken(small_corpus, 16), TrainConfig(steps=2, batch_size=2))
    training.make_step()  # the first step makes the optimizers' state
    files = set[str]()

    def note_file(frame: FrameType, event: str, _: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and PACKAGE in path.parents:
            files.add(path.relative_to(PACKAGE).as_posix())

    profiler = sys.getprofile()
    sys.setprofile(note_file)
    try:
        training.make_step()
    finally:
        sys.setprofile(profiler)
    assert files == set(re.findall(r"\b[\w/]+\.py\b", DRAWING[2].partition("```")[0]))
    assert len(files) == 8
