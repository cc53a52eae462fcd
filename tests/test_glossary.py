"""The glossary: two sentences a term, in order, and every link from a notebook leads to one."""

import re
from pathlib import Path

from tests.test_docs import anchors

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "glossary.md"
LINK = re.compile(r"\]\((?:\.\./)*docs/glossary\.md#?([^)\s]*)\)")
SENTENCE = re.compile(r"[.?!](?=\s|$)")
# Terms that the review found unexplained, and terms that the course needs.
NEEDED = """ablation alpha attention baseline block bos branch cache cosine gate head interference invariant
kernel key kl leak logit mask nats nelbo norm optimizer perplexity phi probe query residual softplus stream
temperature theta top-k validation value window""".split()


def terms(page: str) -> dict[str, str]:
    """Return each term of a glossary with its text, without the numbers of notebooks."""
    parts = re.split(r"^### (.+)$", page, flags=re.M)[1:]
    return {
        term: re.sub(r"\s*\[[\d, a-z]+\]\s*$", "", text.strip())
        for term, text in zip(parts[::2], parts[1::2], strict=True)
    }


def wrong(page: str) -> list[str]:
    """Return the faults of a glossary, in words."""
    found, names = terms(page), re.findall(r"^### (.+)$", page, flags=re.M)
    said = [f"{term}: {n}" for term, text in found.items() if (n := len(SENTENCE.findall(text))) != 2]
    said += [] if names == sorted(names, key=str.casefold) else ["not in order"]
    low = [name.casefold() for name in names]  # two anchors that differ in capitals only are one
    return said + [f"twice: {name}" for name in sorted({name for name in low if low.count(name) > 1})]


def test_terms_are_in_order_and_have_two_sentences_each():
    assert wrong(PAGE.read_text(encoding="utf-8")) == []


def test_the_glossary_holds_the_terms_of_the_course():
    assert set(NEEDED) <= anchors(PAGE)


def test_every_link_of_a_notebook_leads_to_a_term():
    texts = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "notebooks" / "src").glob("*.py"))
    linked = set(LINK.findall(texts))
    assert len(linked) > 20
    assert linked - {""} <= anchors(PAGE)


def test_lessons_in_brackets_use_the_term():
    tagged = re.findall(r"^### (.+?)\n\n[^#]*?\[([\d, ab]+)\]$", PAGE.read_text(encoding="utf-8"), flags=re.M)
    assert len(tagged) > 60
    for term, lessons in tagged:
        for lesson in lessons.split(", "):
            (page,) = (ROOT / "notebooks" / "src").glob(f"{lesson}_*.py")
            text = page.read_text(encoding="utf-8").split("# ---", 2)[-1].casefold()  # without the header
            named = (term.casefold(), f"glossary.md#{term.casefold().replace(' ', '-')})")
            assert any(name in text for name in named), (term, lesson)
