"""The book's pages beside the lessons: claims, board, reference, documents, and their links."""

import re
from collections import Counter
from pathlib import Path

import pytest

import babygpt
from babygpt_course.claims import CLAIMS, VERDICTS, Finding
from babygpt_course.studies.board import COLUMNS
from babygpt_course.studies.paired import RULE
from babygpt_course.studies.results import load_results
from tools.book import docstrings, reference
from tools.book.board_page import board_page
from tools.book.claims_page import anchor, claims_page
from tools.book.documents import CodeHost, rewrite_links, site

HOST = CodeHost("https://host/owner/name", "abc")
MEASURED = [(claim, Finding(VERDICTS[n % 4], -0.5, "a < b", 1)) for n, claim in enumerate(CLAIMS)]


# ---------------------------------------------------------------- links


def test_links_to_pages_and_other_sites_stay_as_they_are():
    text = (
        "[a](../docs/glossary.md#seed) [b](04_rope.ipynb) [c](https://arxiv.org/abs/1) [d](#here) "
        "![p](../figures/rope.png)"
    )
    assert rewrite_links(text, "notebooks/03b_sinusoidal.ipynb", site(host=HOST)) == text


@pytest.mark.parametrize(
    ("text", "place", "with_host", "without"),
    [
        ("[`r.py`](babygpt/config.py)", "README.md", "[`r.py`]({blob}/babygpt/config.py)", "`r.py`"),
        ("[x](../LICENSE)", "docs/live.md", "[x]({blob}/LICENSE)", "x"),
        ("[x](../docs/notes)", "figures/a.md", *["[x](../docs/notes/README.md)"] * 2),
        ("[`x/`](tools)", "README.md", "[`x/`]({tree}/tools)", "`x/`"),
        ("[x](../figures/lookup.png)", "docs/results.md", "[x](../figures/lookup.png)", None),
        ("`[x](tools)`", "README.md", "`[x](tools)`", None),
    ],
)
def test_other_files_lead_to_the_host_or_are_text(text: str, place: str, with_host: str, without: str | None):
    blob, tree = (f"{HOST.address}/{kind}/{HOST.commit}" for kind in ("blob", "tree"))
    assert rewrite_links(text, place, site(host=HOST)) == with_host.format(blob=blob, tree=tree)
    assert rewrite_links(text, place, site()) == (without or text)


# ---------------------------------------------------------------- the reference


def test_the_reference_has_every_re_exported_name():
    assert {name.name for name in reference.public_names("babygpt")} == set(babygpt.__all__)
    for package in reference.packages():
        text = (reference.folder_of(package) / "__init__.py").read_text(encoding="utf-8")
        exported = {a for a, b in re.findall(r"import (\w+) as (\w+)$", text, flags=re.M) if a == b}
        assert exported <= {name.name for name in reference.public_names(package)}, package


def test_a_page_has_a_section_for_every_name_and_the_index_leads_there():
    index = reference.index_page()
    for package in reference.packages():
        page, stem = reference.package_page(package, HOST), Path(reference.page_of(package)).stem
        for name in reference.public_names(package):
            head = rf"^`+{{py:(class|function|data)}} {name.name}\b.*\n:module: {package}$"
            assert re.search(head, page, flags=re.M), name
            assert f'href="{stem}.html#{name.anchor}"' in index
        heads = re.findall(r"^`+\{py:\w+\} (.+)$", page, flags=re.M)
        assert not [head for head in heads if re.search(r"<| at 0x|\*args, \*\*kwargs\)$|'Tensor'", head)]
    path = "babygpt/encodings/rotary.py"
    lines = rf'<a href="{HOST.link(path, folder=False)}#L\d+-L\d+">'
    assert re.search(lines, reference.package_page("babygpt.encodings", HOST))
    things = {name.anchor: name.thing for name in reference.names()}
    rotary = reference.signature(things["babygpt.encodings.Rotary"])
    assert rotary == "(head_dim: int, theta: float = 10000.0)"
    alibi = [name for name, _ in reference.methods(things["babygpt.encodings.ALiBi"])]
    assert alibi == ["score_bias"]  # those of the documented base are not repeated
    settings = "<dt><code>n_layer</code></dt><dd>number of Transformer blocks</dd>"
    assert settings in reference.package_page("babygpt")
    assert 'DIVERGING = "RdBu_r"' in reference.package_page("babygpt.plots")


# ---------------------------------------------------------------- docstrings

DOCSTRING = """Rotate x.

It may `turn` < 1.

x         (B, T)  queries, or
          keys
low, high the ends, in `unit`
position  in tokens
returns   (B, T)  same norm
Raises ValueError if D is odd, and
another time.
Source: a paper.
"""


def test_aligned_lines_become_a_list_and_the_rest_prose():
    html = docstrings.to_html(DOCSTRING, {"unit": "#unit"}.get)
    shape = ' <span class="shape">(B, T)</span>'
    assert html.splitlines() == [
        "<p>Rotate x.</p>",
        '<p>It may <code class="literal">turn</code> &lt; 1.</p>',
        '<dl class="arguments">',
        f"<dt><code>x</code>{shape}</dt><dd>queries, or keys</dd>",
        "<dt><code>low, high</code></dt><dd>the ends, in "
        '<a href="#unit"><code class="literal">unit</code></a></dd>',
        "<dt><code>position</code></dt><dd>in tokens</dd>",
        f"<dt>returns{shape}</dt><dd>same norm</dd>",
        "</dl>",
        "<p>Raises ValueError if D is odd, and another time.</p>",
        "<p>Source: a paper.</p>",
    ]


def words(html: str) -> Counter[str]:
    """Return the words of a page, without its tags."""
    return Counter(re.findall(r"[A-Za-z]+", re.sub(r"<[^<>]+>|&\w+;|&#x27;", " ", html)))


def test_no_word_of_a_docstring_is_lost_and_all_are_understood():
    for name in reference.names():
        said = "" if reference.is_constant(name.thing) else reference.docstring(name.thing)
        html = docstrings.to_html(said, reference.addresses(name.package))
        assert words(html) == Counter(re.findall(r"[A-Za-z]+", said)), name


# ---------------------------------------------------------------- claims and board


def test_the_page_of_claims_shows_each_whole_at_its_own_address():
    addresses = [anchor(claim) for claim in CLAIMS]
    assert len(set(addresses)) == len(CLAIMS)
    assert all(re.fullmatch(r"note-00\d(-\w+)+", address) for address in addresses)
    page = claims_page(MEASURED)
    articles = re.findall(r"<article.*?</article>", page, flags=re.S)
    for (claim, finding), html in zip(MEASURED, articles, strict=True):
        parts = [claim.text, claim.quote, claim.translation, claim.reading, claim.scope, finding.reason]
        parts += [claim.fault] if finding.verdict == "fails" else []
        assert all(docstrings.inline(part) in html for part in parts)
        assert f'data-note="{claim.note[:3]}" data-verdict="{finding.verdict}"' in html
        assert '<span class="number">−0.5</span>' in html
        assert "\n\n" not in html  # an empty line would end the block of HTML
        assert f"(docs/notes/{claim.note[:3]}.md)" in page
    count = Counter(finding.verdict for _, finding in MEASURED)
    text = " ".join(page.split())
    assert f"{count['holds']} hold, {count['depends']} depend" in text
    assert f"{count['undecided']} are undecided, {count['fails']} fail" in text
    assert f"{RULE} Between equal models luck would decide fewer than 1 of these {len(CLAIMS)}" in text


def test_the_page_of_the_board_has_every_model_and_every_column():
    results = load_results("ladder")
    page = board_page(results)
    for name in results["board"]:
        assert f'<th scope="row">{name}</th>' in page
    for column in COLUMNS:
        assert f'<th scope="col">{column}</th>' in page
        assert f"- **{column}**: " in page
    assert re.search(r"!\[Losses, .* models left to right: .*\]\(figures/ladder\.png\)", page)
    assert RULE in page
    assert "luck would decide fewer than 1 of these 55 comparisons" in page
    assert "{" not in page
