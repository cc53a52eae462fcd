"""A process that has imported babygpt, and is copied for every command: `python -m tests.faults.server FD`.

To import PyTorch takes seconds, to fork milliseconds. A copy is set up as a fresh process is: its signals,
streams and folder; then it does what `python -m babygpt` does, and ends as Python would.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import faulthandler
import fcntl
import gc
import importlib
import json
import os
import resource
import runpy
import signal
import socket
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from types import FrameType
from typing import Any

import tqdm

MODULES = ("train", "parallel", "compare", "tools", "claims", "doctor")
FLUSH_FAILED = 120  # Python's exit status where the last words could not be written
PACKAGE = str(Path(__file__).resolve().parents[2] / "babygpt")
CHANGES = {"write", "fsync", "replace", "rename", "unlink", "rmdir", "mkdir", "chmod", "open"}


def warm_up() -> None:
    """Import all that any command imports, and train once: PyTorch puts off much until then."""
    for name in MODULES:
        importlib.import_module(f"babygpt.cli.{name}")
    from babygpt.cli import main

    patience, tqdm.tqdm.monitor_interval = tqdm.tqdm.monitor_interval, 0  # its thread would not be copied
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        text, out = Path(folder) / "text.txt", Path(folder) / "m.safetensors"
        text.write_text("the cat sat on the mat. " * 40, encoding="utf-8")
        words = (
            f"train v4 --corpus {text} --out {out} --steps 1 --n-embd 8 --n-head 1 --n-layer 1 --block-size 8"
        )
        with redirect_stdout(nowhere), redirect_stderr(nowhere):
            main(words.split(), standalone_mode=False)
    tqdm.tqdm.monitor_interval = patience


def serve(door: socket.socket) -> dict[str, Any] | None:
    """Answer what the other side asks for: to start a command, or how one ended.

    returns  in a copy, the order that it is to do; None in the server itself, when nobody asks any more
    """
    while True:
        message, streams, _, _ = socket.recv_fds(door, 2**16, 3)
        if not message:
            return None
        order = json.loads(message)
        if "poll" in order:
            pid, status = os.waitpid(order["poll"], os.WNOHANG)
            answer = os.waitstatus_to_exitcode(status) if pid else None
        elif answer := os.fork():
            for stream in streams:
                os.close(stream)
        else:
            door.close()
            return order | {"streams": streams}
        door.sendall(json.dumps(answer).encode())


# ---------------------------------------------------------------- in a copy


def become(order: dict[str, Any]) -> None:
    """Make this copy the process that an order describes: streams, folder, signals, limits, faults."""
    for fd, stream in enumerate(order["streams"]):
        os.dup2(stream, fd)
        os.close(stream)
    faulthandler.register(signal.SIGUSR1, fcntl.fcntl(2, fcntl.F_DUPFD, 100), all_threads=True)
    for fd in order["closed"]:
        os.close(fd)
        setattr(sys, ("stdin", "stdout", "stderr")[fd], None)  # as in a process that was started so
    tqdm.tqdm.set_lock(threading.RLock())  # its own is shared by copies: one that is killed would hold it
    os.chdir(order["cwd"])
    os.umask(order["umask"])
    for name in ("SIGTERM", "SIGHUP"):
        signal.signal(getattr(signal, name), signal.SIG_IGN if name in order["ignored"] else signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name, most in order["limits"].items():
        resource.setrlimit(getattr(resource, name), (most, most))
    for module, function in order["before"]:
        getattr(importlib.import_module(module), function)()
    plant(order)
    if order["user"]:
        os.setuid(order["user"])


def plant(order: dict[str, Any]) -> None:
    """Let functions of `os` fail, log the steps, and count the moments, as an order says."""
    for name, nth, error in order["failing"]:
        setattr(os, name, failing(getattr(os, name), nth, getattr(errno, error)))
    if order["steps"]:
        log_steps(order["steps"])
    if order["moments"] is not None or order["count"]:
        sys.setprofile(Moments(dict(order["moments"] or []), order["count"]))


def failing(real: Callable[..., Any], nth: int, error: int) -> Callable[..., Any]:
    """A function that raises OSError from its n-th call on."""
    calls = 0

    def call(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls >= nth:
            raise OSError(error, os.strerror(error))
        return real(*given, **named)

    return call


def log_steps(path: str) -> None:
    """Add a byte to a file after every optimizer step that was made whole."""
    from babygpt.training.loop import Training

    opened, make_step = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666), Training.make_step
    log = fcntl.fcntl(opened, fcntl.F_DUPFD, 100)  # 1 is not to be taken, where stdout was closed
    os.close(opened)

    def make_and_log(self: Training, *given: Any) -> Any:
        step = make_step(self, *given)
        os.write(log, b".")
        return step

    Training.make_step = make_and_log  # type: ignore[method-assign]


class Moments:
    """What happens in babygpt, counted: calls of its functions, and what it does to files, before and after.

    sent   signal by the number of the moment at which this process sends it to itself
    count  file that gets the number of moments at the end, the first and the last of training, and those at
           which files change; or ""
    """

    def __init__(self, sent: dict[int, str], count: str) -> None:
        self.sent, self.now = sent, 0
        self.training: list[int] = []
        self.files: list[int] = []
        if count:
            atexit.register(lambda: Path(count).write_text(json.dumps(self.found())))

    def found(self) -> dict[str, Any]:
        """What was counted."""
        return {"all": self.now, "training": self.training, "files": self.files}

    def __call__(self, frame: FrameType, event: str, arg: Any) -> None:
        if not frame.f_code.co_filename.startswith(PACKAGE) or event not in ("call", "c_call", "c_return"):
            return
        changes = event != "call" and changes_files(arg)
        if event != "call" and not changes:
            return
        self.now += 1
        if changes:
            self.files.append(self.now)
        elif frame.f_code.co_name == "make_step":
            self.training = [*self.training[:1], self.now]
        if self.now in self.sent:
            send(getattr(signal, self.sent[self.now]))


def send(number: int) -> None:
    """Send this process a signal; a KeyboardInterrupt is raised after this, or Python would count no more."""
    try:
        os.kill(os.getpid(), number)
        time.sleep(0)  # here it is heard
    except KeyboardInterrupt:
        thread = ctypes.c_ulong(threading.get_ident())
        ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, ctypes.py_object(KeyboardInterrupt))


def changes_files(call: Any) -> bool:
    """Whether a function that is written in C changes a file: one of the system's, or a file's own."""
    owner = type(getattr(call, "__self__", None)).__module__
    ours = getattr(call, "__module__", None) == "posix" or owner == "_io"
    return ours and call.__name__ in CHANGES


def end(error: BaseException | None) -> int:
    """Do what Python does when the main program is over or has raised: the exit status."""
    code = 0
    if isinstance(error, SystemExit):
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if code and not isinstance(error.code, int) and sys.stderr:
            print(error.code, file=sys.stderr)
    elif error:
        code = 1
        if sys.stderr:
            traceback.print_exception(error)
    sys.setprofile(None)
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        if sys.stdout:
            sys.stdout.flush()
    except OSError:
        code = FLUSH_FAILED
    if isinstance(error, KeyboardInterrupt):
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    return code & 0xFF


def main() -> None:
    """Serve until nobody asks; in a copy, run the command and end as Python does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # one process is asked to end by closing its door
    warm_up()
    gc.collect()
    gc.freeze()  # what copies never touch is never copied
    with socket.socket(fileno=int(sys.argv[1])) as door:
        door.sendall(b"ready")
        order = serve(door)
    if order is None:
        return
    error: BaseException | None = None
    try:
        become(order)
        sys.argv = ["babygpt", *order["args"]]
        runpy.run_module("babygpt", run_name="__main__", alter_sys=True)
    except BaseException as raised:
        error = raised
    os._exit(end(error))


if __name__ == "__main__":
    main()
