"""A headless Firefox, driven over WebDriver BiDi: as much of playwright's page as our journeys need.

Source: W3C, WebDriver BiDi, https://w3c.github.io/webdriver-bidi/
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from websocket import WebSocket, WebSocketTimeoutException, create_connection

from tools.browser.programs import find_program, run_program

FIREFOX_VARIABLE = "BABYGPT_FIREFOX"
FIREFOX_NAMES = ("firefox-esr", "firefox")
LIMIT = 60.0  # seconds for an answer
# With these preferences Firefox asks no server outside.
PREFERENCES = {
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.enabled": False,
}
# A value, or a function of an argument, as text: what a page finds has to travel.
CALL = """async text => {{
    const found = ({});
    const value = typeof found === "function" ? await found(JSON.parse(text)) : await found;
    return JSON.stringify(value === undefined ? null : value);
}}"""
PLACE = """([selector, words]) => {
    const found = [...document.querySelectorAll(selector)].find(one => one.textContent.includes(words));
    found.scrollIntoView({ block: "center", behavior: "instant" });
    const { x, y, width, height } = found.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
}"""


def find_firefox() -> str:
    """Return the path of a Firefox. Raises BadInput, saying how to get one, if there is none."""
    return find_program("Firefox", FIREFOX_NAMES, FIREFOX_VARIABLE)


class Firefox:
    """A running Firefox.

    errors  what its pages threw or wrote to the console as an error
    """

    def __init__(self, socket: WebSocket) -> None:
        self.socket, self.numbers, self.errors = socket, count(1), list[str]()
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])

    def send(self, method: str, timeout: float = LIMIT, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its result. Raises RuntimeError with Firefox's words, or TimeoutError."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        end = time.monotonic() + timeout
        while True:
            self.socket.settimeout(max(0.01, end - time.monotonic()))
            try:
                message = json.loads(self.socket.recv())
            except WebSocketTimeoutException:
                raise TimeoutError(f"{method} had no answer within {timeout:.0f} s") from None
            if message.get("method") == "log.entryAdded" and message["params"]["level"] == "error":
                self.errors.append(message["params"]["text"])
            elif message.get("id") == number:
                if message["type"] == "error":
                    raise RuntimeError(f"{method}: {message['message']}")
                return dict(message["result"])

    def new_page(self, viewport: dict[str, int] | None = None, **_: Any) -> FirefoxPage:
        """Open a page, `viewport` CSS pixels large."""
        return FirefoxPage(self, viewport)


class FirefoxPage:
    """A page with the methods of playwright's that `notebook.Notebook` and the journeys use."""

    def __init__(self, firefox: Firefox, viewport: dict[str, int] | None) -> None:
        self.firefox = firefox
        self.context = firefox.send("browsingContext.create", type="tab")["context"]
        if viewport:
            firefox.send("browsingContext.setViewport", context=self.context, viewport=viewport)

    def set_default_timeout(self, _: float) -> None:
        """Keep LIMIT."""

    def goto(self, url: str) -> None:
        """Open an address, and wait until it is loaded."""
        self.firefox.send("browsingContext.navigate", context=self.context, url=url, wait="complete")

    def evaluate(self, expression: str, arg: Any = None) -> Any:
        """Return the value of an expression, or of a function of `arg`, as JSON. Raises RuntimeError."""
        answer = self.firefox.send(
            "script.callFunction",
            functionDeclaration=CALL.format(expression.strip().removesuffix(";")),
            arguments=[{"type": "string", "value": json.dumps(arg)}],
            awaitPromise=True,
            target={"context": self.context},
        )
        if answer["type"] == "exception":
            raise RuntimeError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    def wait_for_function(self, expression: str, arg: Any = None, timeout: float = 1000 * LIMIT) -> None:
        """Wait until something is true, `timeout` milliseconds at most. Raises TimeoutError."""
        end = time.monotonic() + timeout / 1000
        while not self.evaluate(expression, arg):
            if time.monotonic() > end:
                raise TimeoutError(f"not true after {timeout / 1000:.0f} s: {expression}")
            time.sleep(0.05)

    def drag(self, *places: Sequence[float]) -> None:
        """Press the mouse at the first place (x, y), move it to the others, let go; one place is a click."""
        moves = [{"type": "pointerMove", "x": round(x), "y": round(y), "duration": 50} for x, y in places]
        down, up = ({"type": f"pointer{way}", "button": 0} for way in ("Down", "Up"))
        mouse = {"type": "pointer", "id": "mouse", "actions": [moves[0], down, *moves[1:], up]}
        self.firefox.send("input.performActions", context=self.context, actions=[mouse])

    def click(self, selector: str, words: str = "") -> None:
        """Scroll to the first element of a CSS selector that has these words, and click on its middle."""
        self.drag(self.evaluate(PLACE, [selector, words]))

    def press(self, key: str) -> None:
        """Press and release a key, named by its WebDriver code point, where the focus is."""
        actions = [{"type": f"key{way}", "value": key} for way in ("Down", "Up")]
        keys = {"type": "key", "id": "keys", "actions": actions}
        self.firefox.send("input.performActions", context=self.context, actions=[keys])

    def close(self) -> None:
        """Close the page."""
        self.firefox.send("browsingContext.close", context=self.context)


@contextmanager
def firefox() -> Iterator[Firefox]:
    """Open a headless Firefox while the context lasts.

    Raises BadInput if there is none, TimeoutError with its log if it does not come up.
    """
    path = find_firefox()
    with tempfile.TemporaryDirectory(prefix="babygpt-firefox-") as folder:
        home, log = Path(folder), Path(folder) / "log"
        lines = [
            f"user_pref({json.dumps(key)}, {json.dumps(setting)});" for key, setting in PREFERENCES.items()
        ]
        (home / "user.js").write_text("\n".join(lines), encoding="utf-8")
        command = [path, "--headless", "--no-remote", "--remote-debugging-port", "0", "--profile", folder]

        def find_address() -> str | None:
            match = re.search(r"WebDriver BiDi listening on (ws://\S+)", log.read_text("utf-8"))
            return match and match[1]

        with run_program("Firefox", command, log, find_address) as address:
            socket = create_connection(f"{address}/session", timeout=LIMIT, suppress_origin=True)
            yield Firefox(socket)
            socket.close()
