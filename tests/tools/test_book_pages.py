"""The book's pages beside the lessons: claims, board, reference, documents; and where their links lead."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from playwright.sync_api import Page

import babygpt
from babygpt.errors import BadInput
from babygpt_course.claims import CLAIMS, Finding
from babygpt_course.studies.board import COLUMNS
from babygpt_course.studies.results import load_results
from tools.book import docstrings, reference
from tools.book.board_page import board_page
from tools.book.claims_page import anchor, claims_page
from tools.book.documents import CodeHost, Site, copy_documents, rewrite_links, site
from tools.browser.chromium import chromium, find_chromium

ROOT = Path(__file__).resolve().parents[2]
FILTERS = ROOT / "book" / "static" / "filters.js"
HOST = CodeHost("https://host/owner/name", "abc")
VERDICTS = ("holds", "fails", "depends")
MEASURED = [(claim, Finding(VERDICTS[n % 3], -0.5, "a < b")) for n, claim in enumerate(CLAIMS)]


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
        ("[`r.py`](babygpt/config.py)", "README.md", "[`r.py`]({blob}/babygpt/config.py)", None),
        ("[x](../LICENSE)", "docs/live.md", "[x]({blob}/LICENSE)", None),
        ("[x](babygpt/encodings)", "README.md", "[x]({tree}/babygpt/encodings)", "[x](api/encodings.md)"),
        ("[x](../../babygpt/data/)", "docs/notes/0.md", "[x]({tree}/babygpt/data)", "[x](../../api/data.md)"),
        ("[x](../docs/notes)", "figures/a.md", "[x]({tree}/docs/notes)", "[x](../docs/notes/README.md)"),
        ("[`x/`](tools)", "README.md", "[`x/`]({tree}/tools)", "`x/`"),
        ("[x](../figures/lookup.png)", "docs/results.md", "[x](#picture-lookup)", "[x](#picture-lookup)"),
    ],
)
def test_other_files_lead_to_the_code_host_or_are_copied_and_folders_to_a_page(
    text: str, place: str, with_host: str, without: str | None
):
    blob, tree = (f"{HOST.address}/{kind}/{HOST.commit}" for kind in ("blob", "tree"))
    assert rewrite_links(text, place, site(host=HOST)) == with_host.format(blob=blob, tree=tree)
    assert rewrite_links(text, place, site()) == (without or text)


def test_what_looks_like_a_link_in_code_is_none():
    text = "`[x](tools)` ``[y](tools) ` ``\n\n```python\nf[i](tools)  # [z](tools)\n```\n\n[x](tools)"
    assert rewrite_links(text, "README.md", site()) == text.removesuffix("[x](tools)") + "x"


# ---------------------------------------------------------------- documents


@pytest.fixture
def book(tmp_path: Path) -> Site:
    """A small repository."""
    files = {
        "README.md": "# Top\n\n[one](docs/one.md), [code](code.py), [folder](code)\n",
        "docs/one.md": "# One\n\n[shown](../figures/a.png), [only linked](../figures/b.png)\n",
        "docs/notes/README.md": "# Notes\n",
        "docs/notes/000.md": "# Note 000\n",
        "figures/README.md": "# Pictures\n\n![a](a.png) ![c](c.png)\n\nThe first and the third.\n",
        "figures/a_b.md": "| a | b |\n",
        "figures/a.png": "a",
        "figures/b.png": "b",
        "figures/c.png": "c",
        "code.py": "",
        "code/x.txt": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return site(tmp_path)


def test_documents_become_pages_with_titles_anchors_and_contents(book: Site, tmp_path: Path):
    copy_documents(tmp_path / "source", book)
    read = {page: (tmp_path / "source" / page).read_text() for page in book.pages}
    assert read["README.md"].startswith("---\norphan: true\n---\n# Top\n")
    assert "[code](code.py), folder" in read["README.md"]
    assert "[shown](#picture-a), [only linked](#picture-b)" in read["docs/one.md"]
    assert "(picture-a)=\n(picture-c)=\n![a](a.png) ![c](c.png)" in read["figures/README.md"]
    assert "(picture-b)=\n![only linked](b.png)" in read["figures/README.md"]
    assert re.search(r"\{toctree\}\n:hidden:\n\n000\n```", read["docs/notes/README.md"])
    assert read["figures/a_b.md"].startswith("# In numbers: a b\n\n| a | b |")
    for copied in ("figures/a.png", "figures/b.png", "figures/c.png", "code.py"):
        assert (tmp_path / "source" / copied).is_file()
    assert not (tmp_path / "source" / "code").exists()


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
    settings = "<dt><code>n_layer</code></dt><dd>number of Transformer blocks</dd>"
    assert settings in reference.package_page("babygpt")
    assert 'DIVERGING = "RdBu_r"' in reference.package_page("babygpt.plots")


def test_signatures_are_short_and_link_our_classes():
    shown = {
        name.anchor: reference.signature(name.thing)
        for name in reference.names()
        if not reference.is_constant(name.thing)
    }
    assert shown["babygpt.encodings.Rotary"] == "(head_dim: int, theta: float = 10000.0)"
    assert shown["babygpt.encodings.Encoding"] == ""
    assert shown["babygpt.training.train"] == (
        "(model: LanguageModel, objective: ~babygpt.objectives.Objective, config: ~babygpt.TrainConfig, "
        "steering: Steering = no_steering) -> Iterator[~babygpt.training.Step]"
    )


def test_methods_are_there_and_those_of_documented_bases_are_not_repeated():
    found = {
        name.anchor: [method for method, _ in reference.methods(name.thing)]
        for name in reference.names()
        if isinstance(name.thing, type)
    }
    assert {"embed", "transform_qk", "score_bias"} <= set(found["babygpt.encodings.Encoding"])
    assert found["babygpt.encodings.ALiBi"] == ["score_bias"]
    assert "head_dim" in found["babygpt.ModelConfig"]


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
    """The words of a page, without its marks."""
    return Counter(re.findall(r"[A-Za-z]+", re.sub(r"<[^<>]+>|&\w+;|&#x27;", " ", html)))


def test_no_word_of_a_docstring_is_lost_and_all_are_understood():
    for name in reference.names():
        said = "" if reference.is_constant(name.thing) else reference.docstring(name.thing)
        html = docstrings.to_html(said, reference.addresses(name.package))
        assert words(html) == Counter(re.findall(r"[A-Za-z]+", said)), name
        assert "<pre" not in html, name


# ---------------------------------------------------------------- claims and board


def test_every_claim_has_an_address_of_its_own_in_plain_letters():
    addresses = [anchor(claim) for claim in CLAIMS]
    assert len(set(addresses)) == len(CLAIMS)
    assert all(re.fullmatch(r"note-00\d(-[a-z0-9]+)+", address) for address in addresses)
    assert "note-000-alpha-lowers-the-attention-to-mask-tokens-under-control" in addresses


def test_the_page_of_claims_tells_all_that_is_known():
    page = claims_page(MEASURED)
    articles = re.findall(r"<article.*?</article>", page, flags=re.S)
    assert len(articles) == len(CLAIMS)
    for (claim, finding), html in zip(MEASURED, articles, strict=True):
        parts = [claim.text, claim.quote, claim.translation, claim.reading, claim.scope, finding.reason]
        parts += [claim.fault] if finding.verdict == "fails" else []
        assert all(docstrings.inline(part) in html for part in parts)
        assert f'data-note="{claim.note[:3]}" data-verdict="{finding.verdict}"' in html
        assert '<span class="number">−0.5</span>' in html
        assert "\n\n" not in html  # an empty line would end the block of HTML
    for note in sorted({claim.note[:3] for claim in CLAIMS}):
        assert f"(docs/notes/{note}.md)" in page
    assert "[notebook 07b](notebooks/07b_polar_gates.ipynb)" in page
    count = Counter(finding.verdict for _, finding in MEASURED)
    assert f"{count['holds']} hold, {count['depends']} depend" in " ".join(page.split())


def test_the_page_of_the_board_has_every_model_and_every_column():
    results = load_results("ladder")
    page = board_page(results)
    for name in results["board"]:
        assert f'<th scope="row">{name}</th>' in page
    for column in COLUMNS:
        assert f'<th scope="col">{column}</th>' in page
        assert f"- **{column}**: " in page
    assert re.search(r"!\[Losses, .* models left to right: .*\]\(figures/ladder\.png\)", page)
    assert "[Who did it?](docs/results.md#who-did-it)" in page
    assert "{" not in page


# ---------------------------------------------------------------- a build, and a browser


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All these pages as a site, by Sphinx, for which any warning is an error; notebooks are files in it."""
    pytest.importorskip("myst_parser")
    folder = tmp_path_factory.mktemp("book")
    source = folder / "source"
    copy_documents(source, site())
    shutil.copytree(ROOT / "notebooks", source / "notebooks", ignore=shutil.ignore_patterns("src"))
    reference.write_reference(source)
    (source / "board.md").write_text(board_page(load_results("ladder")), encoding="utf-8")
    (source / "claims.md").write_text(claims_page(MEASURED), encoding="utf-8")
    pages = ["board", "claims", "api/index", "CONTRIBUTING", "CHANGELOG", "docs/*", "docs/notes/README"]
    listed = "\n".join([*pages, "figures/README"])
    (source / "index.md").write_text(f"# Book\n\n```{{toctree}}\n:glob:\n\n{listed}\n```\n")
    (folder / "conf.py").write_text(
        "extensions = ['myst_parser']\nmyst_heading_anchors = 4\nsuppress_warnings = ['myst.header']\n"
        f"html_static_path = [{str(FILTERS.parent)!r}]\n"
    )
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", str(folder), str(source)]
    done = subprocess.run([*command, str(folder / "html")], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder / "html"


def test_every_link_and_anchor_of_the_built_pages_holds(built: Path):
    anchors = {
        page: set(re.findall(r'\bid="([^"]+)"', page.read_text(encoding="utf-8")))
        for page in built.rglob("*.html")
    }
    dead, tried = [], 0
    for page in anchors:
        for link in re.findall(r'\bhref="([^":]+)"', page.read_text(encoding="utf-8")):
            path, _, fragment = link.partition("#")
            target = (page.parent / path.partition("?")[0]).resolve() if path.partition("?")[0] else page
            tried += 1
            if not target.exists() or (fragment and fragment not in anchors.get(target, {fragment})):
                dead.append((page.name, link))
    assert tried > 1000
    assert dead == []
    known = {name.anchor for name in reference.names()}
    assert known <= set().union(*(ids for page, ids in anchors.items() if page.parent.name == "api"))


@pytest.fixture(scope="module")
def claims(built: Path) -> Iterator[Page]:
    """The page of claims in a browser."""
    try:
        find_chromium()
    except BadInput as missing:
        if os.environ.get("BABYGPT_BROWSER") == "required":
            raise
        pytest.skip(str(missing))
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 360, "height": 740})
        page.goto((built / "claims.html").as_uri())
        yield page


def shown(page: Page) -> SimpleNamespace:
    """What is seen of the list, and what the page says of it."""
    articles = page.locator("article.claim:visible")
    values = articles.evaluate_all("all => all.map(one => one.dataset.note + one.dataset.verdict)")
    return SimpleNamespace(values=values, said=page.locator("[role=status]").inner_text())


def of(*keys: str) -> list[str]:
    """Note and verdict of the claims that have one of the given notes or verdicts in every argument."""
    known = [f"{claim.note[:3]}{finding.verdict}" for claim, finding in MEASURED]
    return [one for one in known if all(any(part in one for part in key.split("|")) for key in keys)]


def test_filters_work_by_keyboard_and_say_what_they_did(claims: Page):
    assert shown(claims).said == f"{len(CLAIMS)} of {len(CLAIMS)} shown"
    claims.get_by_label("fails").focus()
    claims.keyboard.press("Space")
    assert shown(claims).values == of("fails")
    assert shown(claims).said == f"{len(of('fails'))} of {len(CLAIMS)} shown"
    claims.get_by_label("004").focus()
    claims.keyboard.press("Space")
    assert shown(claims).values == of("fails", "004")
    assert claims.get_by_role("heading", name="Note 000").count() == 0
    claims.get_by_label("depends").check()
    assert shown(claims).values == of("fails|depends", "004")
    claims.get_by_role("button", name="Show all").press("Enter")
    claims.wait_for_function("document.querySelectorAll('article[hidden]').length === 0")
    assert len(shown(claims).values) == len(CLAIMS)
