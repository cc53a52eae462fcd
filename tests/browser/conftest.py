"""Headless browsers for these tests; without one its tests are skipped, unless BABYGPT_BROWSER=required."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tools.browser.chromium import chromium, find_chromium
from tools.browser.firefox import Firefox, find_firefox, firefox

Visit = Callable[..., Page]  # takes a query and options of a page


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip all tests of a browser that is missing with one line."""
    if os.environ.get("BABYGPT_BROWSER") == "required":
        return
    for name, find in {"browser": find_chromium, "firefox_browser": find_firefox}.items():
        need = [item for item in items if name in getattr(item, "fixturenames", ())]
        try:
            find()
        except ValueError as missing:
            if need:
                need[0].add_marker(pytest.mark.skip(reason=f"{len(need)} browser tests: {missing}"))
                config.hook.pytest_deselected(items=need[1:])
                items[:] = [item for item in items if item not in need[1:]]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def firefox_browser() -> Iterator[Firefox]:
    with firefox() as opened:
        yield opened


@pytest.fixture
def visit(browser: Browser, address: str) -> Iterator[Visit]:
    """Open the page at `address`, which at the end must have raised no error and made no foreign request."""
    pages, wrong = list[Page](), list[str]()

    def open_page(query: str = "", **options: Any) -> Page:
        page = browser.new_page(**{"reduced_motion": "reduce", **options})
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        ours = (address, "data:")
        page.on("request", lambda sent: None if sent.url.startswith(ours) else wrong.append(sent.url))
        page.goto(address + query)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert wrong == []
