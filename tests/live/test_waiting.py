"""A real kernel serves a page while a cell waits: requests as a page sends them."""

import time
from collections import deque
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from babygpt_live import waiting

LONG = 60  # seconds; nothing here takes that long unless it hangs
SETUP = """
import ipywidgets, time
from babygpt_live.waiting import wait_and_serve
slider, heard, ran = ipywidgets.IntSlider(), [], []
slider.observe(lambda change: heard.append(change["new"]), names="value")
def rest(seconds):
    time.sleep(seconds)
    return bool(heard)
"""
WAIT = "wait_and_serve(rest); ran.append('waited')"


@pytest.fixture(scope="module")
def kernel() -> Iterator[BlockingKernelClient]:
    manager, client = start_new_kernel(kernel_name="python3")
    client.manager = manager
    assert reply(client, send(client, SETUP))["status"] == "ok"
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture
def client(kernel: BlockingKernelClient) -> BlockingKernelClient:
    content = reply(kernel, send(kernel, "slider.value = 0; heard.clear(); ran.clear()"))
    kernel.slider = value(content, "slider.model_id").strip("'")
    return kernel


def send(client: BlockingKernelClient, code: str) -> str:
    """Send a cell without waiting for the one before, as Run All does."""
    expressions = {name: name for name in ("ran", "heard", "slider.model_id")}
    name: str = client.execute(code, user_expressions=expressions)
    return name


def reply(client: BlockingKernelClient, name: str) -> dict:
    """Return the reply to one request, and skip the others."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        message = client.get_shell_msg(timeout=LONG)
        if message["parent_header"]["msg_id"] == name:
            return message["content"]
    raise TimeoutError(name)


def value(content: dict, name: str) -> str:
    return content["user_expressions"][name]["data"]["text/plain"]


def move(client: BlockingKernelClient, to: int) -> None:
    """Move the slider as a page does."""
    time.sleep(0.3)  # all cells that were sent are there, and the first one waits
    data = {"method": "update", "state": {"value": to}, "buffer_paths": []}
    client.shell_channel.send(client.session.msg("comm_msg", {"comm_id": client.slider, "data": data}))


def test_a_waiting_cell_hears_a_slider_and_queued_cells_follow_in_order(client):
    names = [send(client, WAIT), *(send(client, f"ran.append({n})") for n in range(5))]
    move(client, 7)
    replies = [reply(client, name) for name in names]
    assert [content["status"] for content in replies] == 6 * ["ok"]
    assert value(replies[0], "heard") == "[7]"
    assert value(replies[0], "ran") == "['waited']"
    assert value(replies[-1], "ran") == "['waited', 0, 1, 2, 3, 4]"


@pytest.mark.parametrize("interrupted", [False, True])
def test_an_error_or_an_interrupt_of_a_waiting_cell_aborts_those_behind_it(client, interrupted):
    names = [send(client, "wait_and_serve(rest); 1 / 0"), send(client, "ran.append('never')")]
    if interrupted:
        time.sleep(0.5)
        client.manager.interrupt_kernel()
    else:
        move(client, 3)
    assert [reply(client, name)["status"] for name in names] == ["error", "aborted"]
    name = send(client, "heard.clear();" + WAIT)  # The next cell is served as before.
    move(client, 5)
    content = reply(client, name)
    assert (value(content, "heard"), value(content, "ran")) == ("[5]", "['waited']")


def test_a_page_that_asks_for_the_kernel_is_answered_meanwhile(client):
    waiting_cell = send(client, WAIT)
    time.sleep(0.2)
    assert reply(client, client.kernel_info())["status"] == "ok"  # before the waiting cell's own reply
    move(client, 9)
    assert reply(client, waiting_cell)["status"] == "ok"


def test_an_interrupt_at_any_moment_loses_no_queued_cell(monkeypatch):
    """Interrupt while the fourth header is read."""
    queue = SimpleNamespace(_queue=deque((n, "dispatch", (n,)) for n in range(10)))
    stream = SimpleNamespace(flush=lambda: None)
    kernel = SimpleNamespace(msg_queue=queue, dispatch_shell="dispatch", shell_stream=stream)

    def read(_: object, frames: int) -> str:
        if frames == 3:
            raise KeyboardInterrupt
        return "execute_request"

    monkeypatch.setattr(waiting, "message_type", read)
    with pytest.raises(KeyboardInterrupt):
        waiting.serve_queue(kernel, set())
    assert [number for number, *_ in queue._queue] == list(range(10))
