"""A real kernel, and what it does for a page while a cell waits: requests as a page sends them."""

import time
from collections import deque
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from jupyter_client.blocking import BlockingKernelClient
from jupyter_client.manager import start_new_kernel

from babygpt.live import waiting

LONG = 60  # seconds; nothing here takes that long unless it hangs
SETUP = """
import ipywidgets, time
from babygpt.live.waiting import WaitInterrupted, wait_and_serve
slider, heard, ran = ipywidgets.IntSlider(), [], []
slider.observe(lambda change: heard.append(change["new"]), names="value")
def rest(seconds):
    time.sleep(seconds)
    return bool(heard)
def wait():
    wait_and_serve(rest)
"""


@pytest.fixture(scope="module")
def client() -> Iterator[BlockingKernelClient]:
    manager, client = start_new_kernel(kernel_name="python3")
    client.manager = manager
    run(client, SETUP)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def send(client: BlockingKernelClient, code: str) -> str:
    """Ask for a cell to be run, as Run All does: without waiting for the one before."""
    name: str = client.execute(code, user_expressions={"ran": "ran", "heard": "heard"})
    return name


def reply(client: BlockingKernelClient, name: str) -> dict:
    """The reply to one request; replies to others are passed over."""
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        message = client.get_shell_msg(timeout=LONG)
        if message["parent_header"]["msg_id"] == name:
            return message["content"]
    raise TimeoutError(name)


def run(client: BlockingKernelClient, code: str) -> dict:
    found = reply(client, send(client, code))
    assert found["status"] == "ok", found
    return found


def value(found: dict, name: str) -> str:
    return found["user_expressions"][name]["data"]["text/plain"]


def move(client: BlockingKernelClient, to: int) -> None:
    """Move the slider as a page does."""
    model = client.session.msg(
        "comm_msg",
        {"comm_id": client.slider, "data": {"method": "update", "state": {"value": to}, "buffer_paths": []}},
    )
    client.shell_channel.send(model)


@pytest.fixture
def waits(client: BlockingKernelClient) -> Iterator[str]:
    """A cell that waits until it hears of the slider."""
    reply(client, send(client, "heard.clear(); ran.clear(); slider.value = 0; heard.clear()"))
    found = reply(client, client.execute("", user_expressions={"id": "slider.model_id"}))
    client.slider = value(found, "id").strip("'")
    return "wait(); ran.append('waited')"


def test_an_interrupt_at_any_moment_loses_no_queued_cell(monkeypatch):
    """The reading of the fourth header is where it comes."""
    queue = SimpleNamespace(_queue=deque((n, "dispatch", (n,)) for n in range(10)))
    kernel = SimpleNamespace(
        msg_queue=queue, dispatch_shell="dispatch", shell_stream=SimpleNamespace(flush=lambda: None)
    )

    def read(_: object, frames: int) -> str:
        if frames == 3:
            raise KeyboardInterrupt
        return "execute_request"

    monkeypatch.setattr(waiting, "message_type", read)
    with pytest.raises(KeyboardInterrupt):
        waiting.serve_queue(kernel, set())
    assert [number for number, *_ in queue._queue] == list(range(10))


def test_a_slider_is_heard_by_the_cell_that_waits_and_queued_cells_follow_in_order(client, waits):
    names = [send(client, waits), *(send(client, f"ran.append({n})") for n in range(5))]
    time.sleep(0.3)  # all of them are there
    move(client, 7)
    found = [reply(client, name) for name in names]
    assert [content["status"] for content in found] == 6 * ["ok"]
    assert value(found[0], "heard") == "[7]"
    assert value(found[0], "ran") == "['waited']"
    assert value(found[-1], "ran") == "['waited', 0, 1, 2, 3, 4]"


def test_an_error_in_a_waiting_cell_aborts_those_behind_it(client, waits):
    names = [send(client, "wait(); 1 / 0"), send(client, "ran.append('never')")]
    time.sleep(0.3)
    move(client, 3)
    assert [reply(client, name)["status"] for name in names] == ["error", "aborted"]
    assert value(run(client, ""), "ran") == "[]"


def test_an_interrupt_ends_the_waiting_and_aborts_those_behind_it(client, waits):
    names = [send(client, waits), send(client, "ran.append('never')")]
    time.sleep(0.5)
    client.manager.interrupt_kernel()
    assert [reply(client, name)["status"] for name in names] == ["error", "aborted"]
    assert value(run(client, ""), "ran") == "[]"
    name = send(client, waits)  # and the next one is served as ever
    time.sleep(0.3)
    move(client, 5)
    assert value(reply(client, name), "heard") == "[5]"


def test_a_page_that_asks_for_the_kernel_is_answered_meanwhile(client, waits):
    waiting = send(client, waits)
    time.sleep(0.2)
    name = client.kernel_info()
    assert reply(client, name)["status"] == "ok"  # the waiting cell's own reply has not come
    move(client, 9)
    assert reply(client, waiting)["status"] == "ok"


def test_an_interrupted_wait_is_one_line(client):
    found = reply(client, send(client, "raise WaitInterrupted('v4')"))
    assert found["status"] == "error"
    end = time.monotonic() + LONG
    while time.monotonic() < end:
        message = client.get_iopub_msg(timeout=LONG)
        if message["msg_type"] == "error" and "v4" in str(message["content"]["evalue"]):
            assert len(message["content"]["traceback"]) == 1
            return
    raise TimeoutError("no error was shown")
