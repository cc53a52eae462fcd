"""Page of claims: the sentences of the source notes, their verdicts, and filters by note and verdict."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from babygpt.experiments.paired import RULE
from babygpt.tables import MARKS
from babygpt_course.claims import VERDICTS, Claim, Finding, by_luck, count_verdicts
from tools.book.docstrings import inline
from tools.notebooks import ROOT

Measured = tuple[Claim, Finding]


def claims_page(measured: Sequence[Measured]) -> str:
    """Return the page of what was measured, as Markdown."""
    by_note: dict[str, list[Measured]] = {}
    for claim, finding in measured:
        by_note.setdefault(claim.note[:3], []).append((claim, finding))
    page = (ROOT / "book" / "claims.md").read_text(encoding="utf-8")
    return page.format(
        notes=len(by_note),
        claims=len(measured),
        **count(measured),
        rule=RULE,
        luck=by_luck(sum(finding.comparisons for _, finding in measured)),
        table=table(by_note),
        sections="\n".join(section(note, findings) for note, findings in by_note.items()),
    )


def count(measured: Iterable[Measured]) -> dict[str, int]:
    """Return how many claims have each verdict, and by how many different faults they fail."""
    return asdict(count_verdicts((claim, finding.verdict) for claim, finding in measured))


def table(by_note: Mapping[str, Sequence[Measured]]) -> str:
    """Return how many claims of each note have each verdict; each number leads to its claims."""

    def asks(text: object, **what: str) -> str:
        query = "&amp;".join(f"{name}={setting}" for name, setting in what.items())
        return f'<a href="?{query}#shown">{text}</a>'

    heads = "".join(
        f'<th scope="col">{asks(verdict_html(verdict), verdict=verdict)}</th>' for verdict in VERDICTS
    )
    rows = ""
    for note, measured in by_note.items():
        counts = count(measured)
        cells = "".join(
            f"<td>{asks(counts[verdict], note=note, verdict=verdict)}</td>" for verdict in VERDICTS
        )
        rows += f'<tr><th scope="row">{asks(note, note=note)}</th>{cells}<td>{counts["faults"]}</td></tr>\n'
    return (
        '<table class="verdicts"><thead><tr><th scope="col">note</th>'
        f'{heads}<th scope="col">faults</th></tr></thead>\n<tbody>\n{rows}</tbody></table>'
    )


def verdict_html(verdict: str) -> str:
    """Return a verdict with its mark, which a screen reader passes over."""
    mark = f'<span aria-hidden="true">{MARKS[verdict]}</span>'
    return f'<span class="verdict {verdict}">{mark} {verdict}</span>'


def section(note: str, measured: Iterable[Measured]) -> str:
    """Return the claims of a note, below its title and the pages on it."""
    place = f"docs/notes/{note}.md"
    text = (ROOT / place).read_text(encoding="utf-8")
    title = text.partition("\n")[0].removeprefix("# ")
    lessons = dict.fromkeys(re.findall(r"\]\(\.\./\.\./(notebooks/[^)]+)\)", text))
    links = [f"[what the note says, section by section]({place})"]
    links += [f"[notebook {Path(lesson).stem.partition('_')[0]}]({lesson})" for lesson in lessons]
    articles = "\n".join(article(claim, finding) for claim, finding in measured)
    return f"(note-{note})=\n## {title}\n\n{', '.join(links)}\n\n{articles}"


def article(claim: Claim, finding: Finding) -> str:
    """Return one claim with everything that is known of it; the note's own words fold out."""
    address, note = anchor(claim), claim.note[:3]
    fault = claim.fault if finding.verdict == "fails" else ""
    facts = {"because": finding.reason, "fault": fault, "measured on": claim.scope}
    words = {"in English": claim.translation, "reading": claim.reading}
    quote = f'<blockquote lang="zh"><p>{inline(claim.quote)}</p></blockquote>\n' if claim.quote else ""
    number = f'<span class="number">{finding.measured}</span>'.replace("-", "−")
    return (
        f'<article class="claim" id="{address}" data-note="{note}" data-verdict="{finding.verdict}">\n'
        f'<h3>{inline(claim.text)} <a class="headerlink" href="#{address}" title="Link to this claim">#</a>'
        f"</h3>\n<p>{verdict_html(finding.verdict)}, measured: {number}</p>\n"
        f"{terms(facts)}<details><summary>What the note says</summary>\n{quote}{terms(words)}</details>\n"
        "</article>\n"
    )


def terms(texts: Mapping[str, str]) -> str:
    """Return a list of terms and their texts, without those that are empty."""
    rows = (f"<dt>{name}</dt><dd>{inline(text)}</dd>\n" for name, text in texts.items() if text)
    return f"<dl>\n{''.join(rows)}</dl>\n"


def anchor(claim: Claim) -> str:
    """Return the address of a claim on its page: its note, and its words."""
    return "-".join(["note", claim.note[:3], *re.findall(r"\w+", claim.text.lower())])
