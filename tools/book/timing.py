"""How quickly the book answers in a headless Chromium, and how much it weighs.

python -m tools.book.timing        after `make book`

Served from this machine. The first picture of the start page: from the request until it is drawn, median of
some openings with nothing in the browser's cache. A slider: from the key press to the new picture drawn, its
pictures being there, the median and the slowest of some presses on each lesson's first slider.
"""

from __future__ import annotations

import statistics
from pathlib import Path

import click
from playwright.sync_api import Browser, Page

from tools.book.__main__ import BUILD, megabytes
from tools.browser.chromium import chromium
from tools.browser.site import serve_folder

OPENINGS, PRESSES = 7, 8
PICTURE_DRAWN = """() => new Promise(done => {
    const image = document.querySelector('.recorded-panels img');
    const tell = () => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
    const there = () => image?.complete && image.naturalWidth;
    const look = () => (there() ? image.decode().then(tell) : setTimeout(look, 5));
    look();
})"""
PRESS = """async slider => {
    const figure = slider.closest('figure');
    const images = [...figure.querySelectorAll('.recorded-panels img')];
    const before = images.map(image => image.src).join();
    slider.value = Number(slider.value) === Number(slider.max) ? slider.min : Number(slider.value) + 1;
    const begin = performance.now();
    slider.dispatchEvent(new Event('input', { bubbles: true }));
    while (images.map(image => image.src).join() === before) {
        if (performance.now() - begin > 2000) return null;  // the same picture twice
        await new Promise(done => setTimeout(done, 0));
    }
    await Promise.all(images.map(image => image.decode()));
    await new Promise(requestAnimationFrame);
    return performance.now() - begin;
}"""
READY = """async slider => {
    const { recorded } = slider.closest('figure');
    await recorded.fetch(recorded.inputs.indexOf(slider));
}"""


def first_picture(browser: Browser, address: str) -> float:
    """Milliseconds until the start page shows its picture, in a browser that has never seen it."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(address, wait_until="commit")
    page.wait_for_selector(".recorded-panels img")
    found = float(page.evaluate(PICTURE_DRAWN))
    context.close()
    return found


def answers(page: Page) -> list[float]:
    """Milliseconds from a press to the picture, for the first slider of a page."""
    slider = page.locator("figure.recorded input[type=range]").first
    slider.evaluate(READY)
    found = [slider.evaluate(PRESS) for _ in range(PRESSES)]
    return [float(one) for one in found if one is not None]


def measure(html: Path) -> None:
    """Measure a book, and print what was found."""
    lessons = [
        path
        for path in sorted(html.glob("notebooks/*.html"))
        if 'class="recorded"' in path.read_text("utf-8")
    ]
    with chromium() as browser, serve_folder(html) as address:
        first = [first_picture(browser, address) for _ in range(OPENINGS)]
        click.echo(f"start page, first picture: {statistics.median(first):.0f} ms (slowest {max(first):.0f})")
        page = browser.new_page()
        for lesson in lessons:
            page.goto(f"{address}notebooks/{lesson.name}")
            found = answers(page)
            click.echo(
                f"{lesson.stem:<24} a slider: {statistics.median(found):.0f} ms (slowest {max(found):.0f})"
            )
    click.echo(f"all of it: {megabytes(html):.1f} MB")


@click.command(help=__doc__)
@click.option(
    "--folder", type=Path, default=BUILD / "html", help="with the pages  [default: book/_build/html]"
)
def main(folder: Path) -> None:
    """See the module's docstring."""
    measure(folder.resolve())


if __name__ == "__main__":
    main()
