"""The table: every command that the shell has, how it is called small, what it writes, and how it goes on."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from babygpt.cli import main
from tests.faults.harness import NONE, Faults
from tests.faults.small import FIGURE_STEPS

SHAPE = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 16 --batch-size 4"
FOREVER = 10**9  # steps: whoever refuses a target only after them never does


@dataclass(frozen=True)
class Command:
    """A command, called small.

    words    what is typed: {desk} is a folder with a text and models, {out} and {steps} are as below
    out      where the result is to go, in the folder that the command is called in; "" if it only prints
    result   name of its result, if `out` is a folder
    also     patterns of all else that it leaves there
    steps    it is asked for, of one model; 0 if it trains none
    models   that it trains
    every    steps after which it saves; after kill -9 as many may have to be made again, of each model
    lost     of these, those that have to be made again after a signal that can be heard
    resume   flag by which it goes on, where its result is there but unfinished
    stopped  exit status after Ctrl-C in training
    before   function of small.py that is called in its process first
    """

    words: str
    out: str = ""
    result: str = ""
    also: tuple[str, ...] = ()
    steps: int = 0
    models: int = 1
    every: int = 2
    lost: int = 0
    resume: str = ""
    stopped: int = 1
    before: str = ""

    @property
    def file(self) -> Path:
        """Where the result goes, in the folder that the command is called in."""
        return Path(self.out, self.result)

    def args(self, desk: Path, out: str | Path = "", steps: int = 0) -> list[str]:
        """What is typed, word for word; with another place or more steps, if these are given."""
        values = {"desk": desk, "out": out or self.out, "steps": steps or self.steps}
        return [word.format(**values) for word in self.words.split()]

    def faults(self, faults: Faults = NONE) -> Faults:
        """These faults, and what has to be called first."""
        own = [("tests.faults.small", self.before)] if self.before else []
        return dataclasses.replace(faults, before=[*own, *faults.before])


TABLE = {
    "train": Command(
        f"train v4 --corpus {{desk}}/text.txt --steps {{steps}} --save-every 2 --out {{out}} {SHAPE}",
        out="out/m.safetensors",
        steps=8,
        resume="--resume",
        stopped=0,
    ),
    "pretrain": Command(
        f"pretrain --pe fpe --corpus {{desk}}/text.txt --max-steps {{steps}} --save-every 2 {SHAPE} "
        "--branches-per-sample 2 --out-dir {out}",
        out="out",
        result="pretrain.safetensors",
        steps=8,
        resume="--resume",
        stopped=0,
    ),
    "compare encodings": Command(
        "compare encodings --corpus {desk}/text.txt --seeds 1,2 --variants rope,polar --max-iters {steps} "
        f"--eval-interval 3 --eval-iters 1 --save-every 2 --out-dir {{out}} {SHAPE}",
        out="out",
        result="ablation_results.json",
        also=("out/ablation_plots/*.png", "out/weights/ablation/*_seed?.safetensors"),
        steps=3,
        models=4,
        before="small_pictures",
    ),
    "compare generation": Command(
        "compare generation --rope-weights {desk}/v7-rope.safetensors --polar-weights "
        "{desk}/v7-polar.safetensors --num-prompts 1 --prompt-len 4 --gen-len 4 --corpus {desk}/text.txt "
        "--judge-steps {steps} --output {out}",
        out="out/written.json",
        also=("weights/judge.safetensors",),
        steps=4,
        every=4,
        before="small_judge",
    ),
    "compare stretch": Command(
        "compare stretch {desk}/v4.safetensors --corpus {desk}/text.txt --factors 2 --methods yarn "
        "--windows 2 --fine-tune {steps} --output {out}",
        out="out/stretched.json",
        steps=3,
        models=2,
        every=6,
        lost=6,
    ),
    "figures": Command(
        "figures roles --folder {out}",
        out="out",
        result="roles.json",
        also=("out/roles.png",),
        steps=FIGURE_STEPS,
        models=4,
        every=FIGURE_STEPS,
        lost=FIGURE_STEPS,
        before="small_figure",
    ),
    "generate": Command("generate {desk}/v4.safetensors --tokens 4 --prompt the"),
    "parallel-generate": Command("parallel-generate --model {desk}/v6 --branches 1 --tokens 4 --prompt the"),
    "analyze": Command("analyze polar"),
    "claims": Command("claims 001", before="one_claim"),
    "doctor": Command("doctor"),
}
TRAINS = [name for name, command in TABLE.items() if command.steps]
WRITES = [name for name, command in TABLE.items() if command.out]
PRINTS = [name for name, command in TABLE.items() if not command.out]


def leaves(group: click.Group = main, above: str = "") -> Iterator[str]:
    """The names of all commands that the shell has."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from leaves(command, f"{above}{name} ")
        else:
            yield f"{above}{name}"
