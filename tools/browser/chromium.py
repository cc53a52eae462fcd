"""A headless Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from babygpt.errors import BadInput
from babygpt.packages import missing_package
from tools.browser.programs import find_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM_VARIABLE = "BABYGPT_CHROMIUM"
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()


def find_chromium() -> str:
    """Return the path of a Chromium or Chrome.

    Raises BadInput, saying how to get one, if there is none or playwright is missing.
    """
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError as error:
        raise BadInput(missing_package(error) or str(error)) from error
    return find_program("Chromium", CHROMIUM_NAMES, CHROMIUM_VARIABLE)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Open a headless Chromium while the context lasts. Raises BadInput if there is none."""
    path = find_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
