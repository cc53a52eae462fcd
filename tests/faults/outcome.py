"""What a command leaves, undisturbed or disturbed: the same, or else something was lost."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from babygpt.files import LOCK
from babygpt.training import checkpoint as checkpoints
from tests.faults.harness import NONE, Ended, Faults, Server
from tests.faults.small import TEXT
from tests.faults.table import SHAPE, Command

TIMINGS = {"seconds_per_step", "minutes", "seconds", "command"}  # these differ from run to run


def make_desk(server: Server, folder: Path) -> None:
    """Fill a folder with what the commands read: a text and small models."""
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    trained = f"--corpus text.txt --steps 2 {SHAPE} --out"
    for version in ("v4", "v7-rope", "v7-polar"):
        done(server.run(f"train {version} {trained} {version}.safetensors".split(), folder))
    words = f"pretrain --pe fpe --corpus text.txt --out-dir v6 --max-steps 1 {SHAPE}"
    done(server.run(words.split(), folder))


def done(ended: Ended) -> Ended:
    """What has ended well; AssertionError with what it said otherwise."""
    assert ended.status == 0, ended
    return ended


def contents(folder: Path) -> dict[str, Any]:
    """All that lies in a folder and below: name -> what it holds, but for times and for pictures' pixels."""
    files = sorted(path for path in folder.rglob("*") if not path.is_dir())
    return {path.relative_to(folder).as_posix(): content(path) for path in files}


def content(path: Path) -> Any:
    """What a file holds; raises what reading it raises, if it cannot be read as what it is called."""
    if path.suffix == ".safetensors":
        held = checkpoints.load(path)
        weights = {name: p.numpy().tobytes() for name, p in held.model.state_dict().items()}
        return held.version, held.options, timeless(held.info), held.training is None, weights
    if path.suffix == ".json":
        return timeless(json.loads(path.read_text(encoding="utf-8")))
    return path.read_bytes()[:4]


def timeless(found: Any) -> Any:
    """The same without times."""
    if isinstance(found, dict):
        return {name: timeless(value) for name, value in found.items() if name not in TIMINGS}
    if isinstance(found, list):
        return [timeless(one) for one in found]
    return found


def strangers(command: Command, folder: Path) -> list[str]:
    """Files in a folder that a command was called in, which it is not to leave there."""
    known = {folder / command.file, *(path for pattern in command.also for path in folder.glob(pattern))}
    return [path.name for path in folder.rglob("*") if not path.is_dir() and path not in known]


@dataclass(frozen=True)
class Whole:
    """A command that nobody disturbed.

    left      contents of the folder that it was called in
    strangers  files there that are none of its results
    steps     of the optimizer that it made, of all models
    all       moments that there were
    training  the first and the last of them in which a step began; none in a command that trains nothing
    files     those at which a file was changed
    """

    left: dict[str, Any]
    strangers: list[str]
    steps: int
    all: int
    training: list[int]
    files: list[int]

    def moment(self, draw: random.Random, where: str) -> int:
        """A random moment: anywhere ("all"), while it trains, or as it changes files."""
        if where == "files":
            return draw.choice(self.files)
        return draw.randint(*(self.training if where == "training" else (1, self.all)))


def undisturbed(server: Server, command: Command, desk: Path, folder: Path) -> Whole:
    """Run a command of the table, and count."""
    count, steps = folder.with_suffix(".count"), folder.with_suffix(".steps")
    faults = Faults(count=str(count), steps=str(steps))
    done(server.run(command.args(desk), folder, command.faults(faults)))
    made = len(steps.read_bytes())
    return Whole(contents(folder), strangers(command, folder), made, **json.loads(count.read_text()))


# ---------------------------------------------------------------- going on


def go_on(server: Server, command: Command, desk: Path, folder: Path, faults: Faults = NONE) -> Ended:
    """Give a command as one does at first, or after it was stopped."""
    more = [command.resume] if command.resume and (folder / command.file).exists() else []
    return server.run([*command.args(desk), *more], folder, command.faults(faults))


def disturb(
    server: Server,
    command: Command,
    desk: Path,
    folder: Path,
    whole: Whole,
    faults: Sequence[Faults],
    log: Path,
) -> tuple[list[Ended], list[str]]:
    """Give a command again and again, each time into other faults, until it is finished.

    whole    the same command, undisturbed
    log      gets a byte for each step that is made
    returns  how it ended each time, and what is wrong: what stands meanwhile cannot be read, or what it
             leaves in the end is not what it would have left
    """
    ended: list[Ended] = []
    for fault in (*faults, NONE):
        ended.append(go_on(server, command, desk, folder, replace(fault, steps=str(log))))
        left = {name: held for name, held in contents(folder).items() if not name.endswith(LOCK)}
        if left == whole.left:
            break
    different = {name for name in {**left, **whole.left} if left.get(name) != whole.left.get(name)}
    wrong = [f"in the end {name} is not as it should be" for name in sorted(different)]
    wrong += [f"a traceback: {one}" for one in ended if "Traceback" in one.err]
    if ended[-1].status == 0:  # a process that was killed may leave its lock
        wrong += [f"{name} was left" for name in strangers(command, folder)]
    return ended, wrong
