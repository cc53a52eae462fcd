"""How many requests does a kernel lose when notebooks are opened in it, again and again?

    python -m tools.openings --openings 1000              the kernel of this environment
    python -m tools.openings --python other/bin/python    another one; it needs ipykernel and ipywidgets

Each opening is what JupyterLab 4.6 sends for one: a connection of its own through the server (which asks the
kernel about itself as it makes one, and closes that channel before the answer), two questions about the
kernel in quick succession, the debugger's, the comms there are, a subshell where the kernel has them, the
widgets' control comm; then three cells at once, as Run All does, moves of the slider that one of them made, a
completion, a look into the documentation, and a cell again. Between two messages there is a random moment, so
that some arrive just as the answer to another is sent: then ipykernel 7.0 to 7.3 overlook them, and all that
follow, until another connection is made (ipykernel's issue 1554).

A request is lost if there is no answer and a kernel that is not at work has said nothing for five seconds.
The rest of that opening is skipped. Every 20 openings there is a fresh kernel. Progress goes to stderr; the
last line, on stdout, is JSON: ipykernel, openings, hung (openings with a loss), requests, lost, seconds.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import click
import requests
import websocket

from tools.browser.server import jupyterlab

FRESH = 20  # openings in one kernel
PATIENCE = 5.0  # seconds without a word from a kernel at rest
LIMIT = 60.0  # seconds for a cell
PAUSES = (0.0, 0.001, 0.004, 0.03)  # seconds between two messages: at most one of these, the first the usual
NO_REPLY = ("comm_open", "comm_msg")
KERNEL = "tested"  # name of the kernel that the server starts
CELLS = (
    "import ipywidgets\nslider = ipywidgets.IntSlider()\nslider.observe(lambda change: None)\nslider",
    "print(slider.value)",
    "sum(range(1000))",
)
FLAGS = {"silent": False, "store_history": True, "allow_stdin": True, "stop_on_error": True}
VERSION = "from importlib.metadata import version; print(version('ipykernel'))"


class RequestsLost(Exception):
    """A kernel that is not at work leaves requests without an answer."""


@contextmanager
def fresh_kernel(address: str) -> Iterator[str]:
    """A fresh kernel of the JupyterLab at this address; yields where pages connect to it."""
    parts = urlsplit(address)
    token = parse_qs(parts.query)["token"][0]
    options: dict[str, Any] = {"params": {"token": token}, "timeout": LIMIT}
    kernels = f"http://{parts.netloc}/api/kernels"
    name = requests.post(kernels, json={"name": KERNEL}, **options).json()["id"]
    yield f"ws://{parts.netloc}/api/kernels/{name}/channels?token={token}"
    requests.delete(f"{kernels}/{name}", **options)


class Page:
    """One page's connection to a kernel.

    address   of the kernel; see `fresh_kernel`
    rng       draws the moments between two messages
    patience  seconds of silence after which a request is lost
    sent      how many requests it has sent
    open      those without an answer: their kinds, by id
    replies   the content of each reply, by the request's id
    comms     the widgets that the kernel has made: their comms' ids, by model
    """

    def __init__(self, address: str, rng: random.Random, patience: float) -> None:
        self.session, self.rng, self.patience = uuid4().hex, rng, patience
        self.sent, self.open, self.comms = 0, dict[str, str](), dict[str, str]()
        self.replies, self.busy, self.done = dict[str, dict[str, Any]](), set[str](), set[str]()
        self.link = websocket.create_connection(f"{address}&session_id={self.session}", timeout=LIMIT)

    def send(self, kind: str, content: object, channel: str = "shell", subshell: str | None = None) -> str:
        """Send a request after a random moment, and return its id."""
        if self.rng.random() < 0.5:
            time.sleep(self.rng.uniform(0, self.rng.choice(PAUSES)))
        name, now = uuid4().hex, datetime.now(UTC).isoformat()
        header = {"msg_id": name, "msg_type": kind, "session": self.session, "username": "", "date": now}
        header |= {"version": "5.4"} | ({"subshell_id": subshell} if subshell else {})
        parts = {"header": header, "parent_header": {}, "metadata": {}, "content": content, "buffers": []}
        self.open[name] = kind
        self.sent += 1
        self.link.send(json.dumps({"channel": channel, **parts}))
        return name

    def execute(self, code: str) -> str:
        """Send a cell, and return the request's id."""
        return self.send("execute_request", {"code": code, "user_expressions": {}, **FLAGS})

    def wait_for_replies(self, *wanted: str) -> None:
        """Wait until these requests, or all, are answered. Raises RequestsLost if the kernel falls silent."""
        self.link.settimeout(self.patience)
        end = time.monotonic() + LIMIT
        while any(name in self.open for name in wanted) if wanted else self.open:
            try:
                self._take(json.loads(self.link.recv()))
            except websocket.WebSocketTimeoutException:
                if not self.busy or time.monotonic() > end:
                    raise RequestsLost from None

    def _take(self, message: dict[str, Any]) -> None:
        """Note what is answered: a request has a reply and an end of its work, a comm's message only that."""
        kind, content = message["header"]["msg_type"], message["content"]
        parent = message["parent_header"].get("msg_id")
        if kind == "comm_open":
            self.comms[content["data"]["state"]["_model_name"]] = content["comm_id"]
        elif kind.endswith("_reply"):
            self.replies[parent] = content
            if content.get("status") == "error":
                raise ValueError(f"{self.open.get(parent)}: {content.get('ename')}: {content.get('evalue')}")
        elif kind == "status":
            idle = content["execution_state"] == "idle"
            (self.done.add if idle else self.busy.add)(parent)
            self.busy -= self.done
        if parent in self.done and (parent in self.replies or self.open.get(parent) in NO_REPLY):
            self.open.pop(parent, None)


def open_and_run(page: Page) -> None:
    """Open a notebook and run it, as JupyterLab does. Raises RequestsLost if a request is not answered."""
    info = [page.send("kernel_info_request", {}) for _ in range(2)]
    page.send("debug_request", {"type": "request", "seq": 1, "command": "debugInfo"}, "control")
    page.wait_for_replies(*info)
    subshell = connect_widgets(page, page.replies[info[0]].get("supported_features", []))
    run_cells(page, subshell)
    if subshell:
        page.send("delete_subshell_request", {"subshell_id": subshell}, "control")
    page.wait_for_replies()


def connect_widgets(page: Page, features: Sequence[str]) -> str | None:
    """Ask for the widgets that there are, as a page does; return the subshell's id if the kernel has them."""
    subshell = None
    comms = page.send("comm_info_request", {"target_name": "jupyter.widget.control"})
    if "kernel subshells" in features:
        created = page.send("create_subshell_request", {}, "control")
        page.wait_for_replies(created)
        subshell = page.replies[created]["subshell_id"]
    control = {"comm_id": uuid4().hex, "target_name": "jupyter.widget.control"}
    page.send("comm_open", {"data": {}, **control}, subshell=subshell)
    page.send("comm_msg", {"data": {"method": "request_states"}, **control}, subshell=subshell)
    page.wait_for_replies(comms)
    return subshell


def run_cells(page: Page, subshell: str | None) -> None:
    """Run three cells at once, move the slider that one of them makes, look things up, run a cell again."""
    cells = [page.execute(code) for code in CELLS]
    page.wait_for_replies(cells[0])
    for value in range(1, 4):
        move = {"method": "update", "state": {"value": value}, "buffer_paths": []}
        page.send("comm_msg", {"comm_id": page.comms["IntSliderModel"], "data": move}, subshell=subshell)
    page.send("complete_request", {"code": "slider.va", "cursor_pos": 9})
    page.send("inspect_request", {"code": "slider", "cursor_pos": 6, "detail_level": 0})
    page.execute(CELLS[1])
    page.wait_for_replies()


def count_lost_requests(
    launch: list[str],
    openings: int,
    seed: int = 0,
    patience: float = PATIENCE,
    report: Callable[[str], None] = lambda line: None,
) -> dict[str, int]:
    """Open notebooks in kernels, and count the openings that hung, the requests and the lost ones.

    launch    the command that starts a kernel; {connection_file} stands for its file
    openings  how many
    seed      for the moments between messages
    patience  seconds of silence after which a request is lost
    report    is called with a line for each loss, and for every 50th opening
    """
    rng, total = random.Random(seed), Counter(openings=0, hung=0, requests=0, lost=0)
    with tempfile.TemporaryDirectory(prefix="babygpt-") as folder:
        spec = Path(folder) / "data" / "kernels" / KERNEL / "kernel.json"
        spec.parent.mkdir(parents=True)
        kernel = {"argv": launch, "display_name": KERNEL, "language": "python"}
        spec.write_text(json.dumps(kernel), encoding="utf-8")
        with jupyterlab(Path(folder), Path(folder)) as server:
            while total["openings"] < openings:
                with fresh_kernel(server) as address:
                    for _ in range(min(FRESH, openings - total["openings"])):
                        lost = one_opening(Page(address, rng, patience), total)
                        if lost or total["openings"] % 50 == 0:
                            kinds = f", now {', '.join(lost)}" if lost else ""
                            report(f"{total['openings']} openings, {total['lost']} requests lost{kinds}")
    return dict(total)


def one_opening(page: Page, total: Counter[str]) -> list[str]:
    """Open a notebook once, add what happened to the totals, and return the kinds of the lost requests."""
    try:
        open_and_run(page)
    except RequestsLost:
        total.update(hung=1)
    page.link.close()
    total.update(openings=1, requests=page.sent, lost=len(page.open))
    return list(page.open.values())


@click.command()
@click.option("--openings", default=1000, show_default=True, help="How many.")
@click.option("--python", default=sys.executable, help="The interpreter whose ipykernel is asked.")
@click.option("--seed", default=0, show_default=True, help="For the moments between messages.")
def main(openings: int, python: str, seed: int) -> None:
    """Count the requests that a kernel loses when notebooks are opened in it."""
    asked = [python, "-c", VERSION]
    version = subprocess.run(asked, capture_output=True, encoding="utf-8", check=True).stdout.strip()
    launch = [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    began = time.monotonic()
    found = count_lost_requests(launch, openings, seed, report=lambda line: click.echo(line, err=True))
    click.echo(json.dumps({"ipykernel": version, **found, "seconds": round(time.monotonic() - began)}))


if __name__ == "__main__":
    main()
