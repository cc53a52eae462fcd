"""SVG pictures as PNG, drawn by a headless Chromium."""

from collections.abc import Sequence

from tools.browser.chromium import chromium


def rasterise(pictures: Sequence[str]) -> list[bytes]:
    """Draw SVG pictures at their own size, one pixel of the result for each CSS pixel.

    pictures  texts of SVG elements
    returns   PNG files
    Raises BadInput, saying how to get one, if there is no Chromium.
    """
    with chromium() as browser:
        page = browser.new_page()
        files = []
        for picture in pictures:
            page.set_content(f"<body style='margin: 0'>{picture}")
            files.append(page.locator("svg").first.screenshot())
        return files
