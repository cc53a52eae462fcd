"""SVG pictures as PNG, drawn by a browser."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def rasterise(browser: Browser, pictures: Sequence[str]) -> list[bytes]:
    """Draw SVG pictures at their own size, one pixel of the result for each CSS pixel.

    pictures  texts of SVG elements
    returns   PNG files
    """
    page = browser.new_page()
    files = []
    for picture in pictures:
        page.set_content(f"<body style='margin: 0'>{picture}")
        files.append(page.locator("svg").first.screenshot())
    page.close()
    return files
