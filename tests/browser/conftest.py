"""A headless Chromium for these tests; without one they are skipped, unless BABYGPT_BROWSER=required."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tools.browser.chromium import chromium, find_chromium


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip all tests with one line if there is no Chromium."""
    need = [item for item in items if "browser" in getattr(item, "fixturenames", ())]
    try:
        find_chromium()
    except ValueError as missing:
        if need and os.environ.get("BABYGPT_BROWSER") != "required":
            need[0].add_marker(pytest.mark.skip(reason=f"{len(need)} browser tests: {missing}"))
            config.hook.pytest_deselected(items=need[1:])
            items[:] = [item for item in items if item not in need[1:]]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened
