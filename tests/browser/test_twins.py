"""Rules that the package and the book's pages share: one table of inputs tests both languages."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "tests" / "tables"
READ_NUMBERS = """([script, texts]) => {
    const read = new Function(`${script}; return readNumber;`)();
    return texts.map(text => { const number = read(text); return Number.isNaN(number) ? null : number; });
}"""
READ_TEXTS = """([script, texts]) => {
    const read = new Function(`${script}; return asText;`)();
    return texts.map(bytes => {
        try {
            return { text: read(Uint8Array.from(bytes), "mine.txt") };
        } catch (error) {
            return { says: error.message };
        }
    });
}"""
COUNT = """([script, texts]) => {
    const count = new Function("MOST", "RARE", `${script}; return alphabetOf;`)(128, "□");
    return texts.map(text => count(text).length);
}"""


@pytest.fixture
def blank(browser: Browser) -> Iterator[Page]:
    page = browser.new_page()
    yield page
    page.close()


def table(name: str) -> Any:
    return json.loads((TABLES / f"{name}.json").read_text(encoding="utf-8"))


def test_the_book_reads_numbers_as_the_notebook_does(blank: Page):
    script = (ROOT / "book" / "static" / "questions.js").read_text(encoding="utf-8")
    numbers = table("numbers")
    got = blank.evaluate(READ_NUMBERS, [script, list(numbers)])
    assert dict(zip(numbers, got, strict=True)) == numbers


def test_the_lab_reads_files_as_the_package_does(blank: Page):
    script, rows = (ROOT / "book" / "lab" / "text.js").read_text(encoding="utf-8"), table("texts")
    replies = blank.evaluate(READ_TEXTS, [script, [list(bytes.fromhex(row["bytes"])) for row in rows]])
    for row, reply in zip(rows, replies, strict=True):
        if "text" in row:
            assert reply == {"text": row["text"]}, row["name"]
        else:
            assert row["says"] in reply["says"], row["name"]
            assert "mine.txt is not UTF-8 text: " in reply["says"]


def test_the_lab_counts_characters_as_python_does(blank: Page):
    whole = (ROOT / "book" / "lab" / "lab.js").read_text(encoding="utf-8")
    script = whole[whole.index("function alphabetOf") : whole.index("\nclass Lab")]
    texts = ["", "abc", "🎲" * 1000, "a🎲\u200d世\n", "e\u0301"]
    assert blank.evaluate(COUNT, [script, texts]) == [len(text) for text in texts]
