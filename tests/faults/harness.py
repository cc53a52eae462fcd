"""How a command is run as a process of its own, within a tenth of a second, with a fault planted in it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
PATIENCE = 20.0  # seconds until a process counts as hanging


@dataclass(frozen=True)
class Faults:
    """What is done to a process, or how it is set up otherwise than usual.

    umask    of the process
    closed   of its streams 0, 1 and 2
    stdin, stdout, stderr   path that a stream is, or a file's number; by default empty, and collected
    ignored  signals, by name: as under nohup
    limits   of the system, by name: RLIMIT_FSIZE in bytes
    failing  functions of `os`, from which call on, and the name of the error number
    moments  signals by the number of the moment at which the process sends them to itself
    later    signals that come from outside, with the seconds after the start or after the one before
    count    file that gets the number of moments
    steps    file that gets a byte for every whole step
    before   (module, function) to be called before the command
    user     number of the user to become, or 0
    """

    umask: int = 0o022
    closed: Sequence[int] = ()
    stdin: str | int = os.devnull
    stdout: str | int = ""
    stderr: str | int = ""
    ignored: Sequence[str] = ()
    limits: Mapping[str, int] = field(default_factory=dict)
    failing: Sequence[tuple[str, int, str]] = ()
    moments: Sequence[tuple[int, str]] | None = None
    later: Sequence[tuple[float, str]] = ()
    count: str = ""
    steps: str = ""
    before: Sequence[tuple[str, str]] = ()
    user: int = 0


NONE = Faults()


@dataclass(frozen=True)
class Ended:
    """How a process ended: its exit status, or minus the signal that ended it, and what it wrote."""

    status: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The last line that it wrote to stderr."""
        return ([*self.err.replace("\r", "\n").split("\n")] or [""])[
            -1 if not self.err.endswith("\n") else -2
        ]


def scratch() -> int:
    """The number of an open file that has no name."""
    fd, name = tempfile.mkstemp()
    os.unlink(name)
    return fd


class Running:
    """A command that was started.

    process  its number
    """

    def __init__(self, server: Server, process: int, out: int, err: int) -> None:
        self.process, self._server, self._streams = process, server, (out, err)
        self._status: int | None = None

    def poll(self) -> int | None:
        """Its exit status, or None while it runs."""
        if self._status is None:
            self._status = self._server.ask({"poll": self.process})
        return self._status

    def send(self, name: str) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.process, getattr(signal, name))

    def written(self) -> tuple[str, str]:
        """What it wrote to stdout and stderr so far."""
        out, err = (os.pread(fd, 2**26, 0).decode(errors="replace") for fd in self._streams)
        return out, err

    def wait(self, patience: float = PATIENCE) -> Ended:
        """Wait for its end, once. Raises TimeoutError, and kills it, if that takes too many seconds."""
        end = time.monotonic() + patience
        while (status := self.poll()) is None:
            if time.monotonic() > end:
                self.send("SIGUSR1")  # it says where it stands
                time.sleep(0.2)
                self.send("SIGKILL")
                raise TimeoutError(f"still running after {patience} s: {self.written()}")
            time.sleep(0.002)
        written = self.written()
        for fd in self._streams:
            os.close(fd)
        return Ended(status, *written)


def fresh(args: Sequence[object], cwd: Path) -> Ended:
    """Run `python -m babygpt ARGS` in a folder, as a process of its own from the beginning."""
    words = [sys.executable, "-m", "babygpt", *map(str, args)]
    ended = subprocess.run(words, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)
    return Ended(ended.returncode, ended.stdout, ended.stderr)


class Server:
    """The process that forks: commands are started in it, as many at once as one likes."""

    def __init__(self) -> None:
        self.door, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.server", str(theirs.fileno())],
                **{"cwd": ROOT, "pass_fds": [theirs.fileno()], "stdin": subprocess.DEVNULL},
                **{"stdout": subprocess.DEVNULL, "start_new_session": True},
                env=ENVIRONMENT,
            )
        if self.door.recv(100) != b"ready":
            raise RuntimeError("the server did not start")

    def ask(self, order: Mapping[str, Any], streams: Sequence[int] = ()) -> Any:
        """Send an order, with the streams of a new process: the answer."""
        socket.send_fds(self.door, [json.dumps(order).encode()], list(streams))
        return json.loads(self.door.recv(1000))

    def start(self, args: Sequence[object], cwd: Path, faults: Faults = NONE) -> Running:
        """Start `python -m babygpt ARGS` in a folder."""
        out, err = scratch(), scratch()
        wanted = (faults.stdin, faults.stdout or out, faults.stderr or err)
        streams = [os.dup(x) if isinstance(x, int) else os.open(x, os.O_RDWR) for x in wanted]
        order = {**vars(faults), "args": [str(a) for a in args], "cwd": str(cwd)}
        process = self.ask(order, streams)
        for fd in streams:
            os.close(fd)
        return Running(self, process, out, err)

    def run(self, args: Sequence[object], cwd: Path, faults: Faults = NONE) -> Ended:
        """Run `python -m babygpt ARGS` in a folder to its end."""
        running = self.start(args, cwd, faults)
        for seconds, name in faults.later:
            time.sleep(seconds)
            running.send(name)
        return running.wait()

    def close(self) -> None:
        """End the server; what it started goes on to its end."""
        self.door.close()
        self._process.wait()


@contextmanager
def serving() -> Iterator[Server]:
    """A server, for as long as one needs it."""
    server = Server()
    try:
        yield server
    finally:
        server.close()
