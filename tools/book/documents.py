"""The repository's own pages as pages of the book, and where their links lead there."""

import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, normpath, relpath

from tools.book.reference import ROOT

DOCUMENTS = ("*.md", "docs/**/*.md", "figures/*.md")
TABLES = "figures/tables.md"  # page of the book that holds all studies' tables: a page costs its menu
MOVING_PICTURE = re.compile(r"^!\[[^\]]*\]\([^)]*\.gif\)\n+", re.M)
NO_PAGES = {
    "docs/story.md",  # It tells maintainers what learners shall find out.
    "CHANGELOG.md",  # It tells those who have the code what has moved in it.
    "docs/releases.md",  # It tells maintainers how a version is made.
}
# Code is passed over: what looks like a link there is none. The text of a link may itself hold code.
LINK = re.compile(
    r"^(?P<fence>```+|~~~+).*?^(?P=fence)[ \t]*$|(?P<tick>`+)(?:(?!\n\n).)+?(?P=tick)(?!`)"
    r"|(?P<image>!?)\[(?P<text>(?:`[^`]*`|\\.|[^\[\]`\\])*)\]\((?P<target>[^()\s]+)\)",
    flags=re.M | re.S,
)


@dataclass(frozen=True)
class CodeHost:
    """Address at which the code can be read on the web, as it was at one commit.

    address  of the repository
    commit   its hash
    """

    address: str
    commit: str

    def link(self, path: str, folder: bool) -> str:
        """Return the address of a file or a folder of the repository."""
        return f"{self.address}/{'tree' if folder else 'blob'}/{self.commit}/{path}"


@dataclass(frozen=True)
class Site:
    """Settings that decide where a link of the repository leads in the book.

    root    of the repository
    pages   its files that are pages of the book, as paths from the root
    tables  studies' tables, which share the page TABLES
    host    where the other files can be read; None if unknown
    """

    root: Path
    pages: frozenset[str]
    tables: frozenset[str] = frozenset()
    host: CodeHost | None = None


def code_host(environment: Mapping[str, str] = os.environ) -> CodeHost | None:
    """Return the code host that the publishing workflow names; None anywhere else."""
    names = ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA")
    server, repository, commit = (environment.get(name, "") for name in names)
    return CodeHost(f"{server}/{repository}", commit) if server and repository and commit else None


def site(root: Path = ROOT, host: CodeHost | None = None) -> Site:
    """Return the book of a repository: its documents and notebooks are pages, and all tables are one."""
    paths = [path for pattern in (*DOCUMENTS, "notebooks/[!.]*.ipynb") for path in root.glob(pattern)]
    pages = frozenset(path.relative_to(root).as_posix() for path in paths) - NO_PAGES
    tables = frozenset(page for page in pages if dirname(page) == "figures" and is_table(root / page))
    return Site(root, pages - tables, tables, host)


def is_table(path: Path) -> bool:
    """Return whether a document is a study's table, which has no title."""
    return not path.read_text(encoding="utf-8").startswith("# ")


def rewrite_links(text: str, place: str, book: Site) -> str:
    """Let the relative links of a Markdown text lead somewhere in the book.

    text     of a document, or of a notebook's cell
    place    where the text stands, as a path from the root
    returns  the same text. Links to pages and pictures stay. Other files and folders lead to the code host;
             where none is known, the link becomes plain text
    """

    def moved(match: re.Match[str]) -> str:
        path = target_path(match, place)
        if path is None or match["image"] or path in book.pages or path.endswith(".png"):
            return match[0]
        target = new_target(path, place, book)
        return f"[{match['text']}]({target})" if target else match["text"]

    return LINK.sub(moved, text)


def target_path(match: re.Match[str], place: str) -> str | None:
    """Return the path from the root that a link leads to; None for code, other sites, and the same page."""
    target = (match["target"] or "#").partition("#")[0]
    return None if not target or ":" in target else normpath(f"{dirname(place) or '.'}/{target}")


def new_target(path: str, place: str, book: Site) -> str:
    """Return where a link to what is no page leads; "" for nowhere."""
    if path in book.tables:
        return f"{relpath(TABLES, dirname(place) or '.')}#{Path(path).stem}"
    if path.startswith("../"):  # a page of the code host beside its files
        return f"{book.host.address}/{path.lstrip('./')}" if book.host else ""
    if f"{path}/README.md" in book.pages:
        return relpath(f"{path}/README.md", dirname(place) or ".")
    return book.host.link(path, (book.root / path).is_dir()) if book.host else ""


def copy_documents(source: Path, book: Site) -> None:
    """Copy the documents of the repository into the folder that the book is made of, and all they link to.

    source  the folder; paths in it are those of the repository
    """
    for place in sorted(page for page in book.pages if page.endswith(".md")):
        text = rewrite_links((book.root / place).read_text(encoding="utf-8"), place, book)
        path = source / place
        path.parent.mkdir(parents=True, exist_ok=True)
        text = as_page(text, place, book)
        path.write_text(text, encoding="utf-8")
        copy_linked_files(text, place, source, book)
    (source / TABLES).write_text(tables_page(book), encoding="utf-8")


def copy_linked_files(text: str, place: str, source: Path, book: Site) -> None:
    """Copy the pictures that a text with rewritten links needs beside it."""
    for match in LINK.finditer(text):
        path = target_path(match, place)
        if path and path not in book.pages and (book.root / path).is_file():
            (source / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(book.root / path, source / path)


def tables_page(book: Site) -> str:
    """Return the page of all studies' tables. Links of their figures lead to it."""
    parts = ["---\norphan: true\n---\n# In numbers\n"]
    for place in sorted(book.tables):
        text = (book.root / place).read_text(encoding="utf-8")
        parts.append(f"## {Path(place).stem}\n\n{rewrite_links(text, TABLES, book)}")
    return "\n".join(parts)


def write_old_addresses(html: Path, book: Site) -> None:
    """Let the addresses that tables once had lead to their sections of the page of all tables."""
    for place in book.tables:
        path, there = html / Path(place).with_suffix(".html"), f"{Path(TABLES).stem}.html#{Path(place).stem}"
        path.write_text(
            f'<!doctype html>\n<meta charset="utf-8">\n<title>Moved</title>\n'
            f'<meta http-equiv="refresh" content="0; url={there}">\n<a href="{there}">{there}</a>\n',
            encoding="utf-8",
        )


def as_page(text: str, place: str, book: Site) -> str:
    """Return a document with what a page needs: a menu of the documents beside it."""
    orphan = place == "README.md"  # what that says stands on the start page
    if place == "README.md":
        text = MOVING_PICTURE.sub("", text)  # the start page moves itself
    if place.endswith("/README.md"):
        named = [Path(p).stem for p in sorted(book.pages - {place}) if dirname(p) == dirname(place)]
        text += "\n```{toctree}\n:hidden:\n\n" + "".join(f"{page}\n" for page in named) + "```\n"
    return f"---\norphan: true\n---\n{text}" if orphan else text
