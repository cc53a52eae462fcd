"""The pages of the book beside the lessons: claims, board, reference, and the repository's documents."""

from __future__ import annotations

from pathlib import Path

from babygpt_course.studies.results import load_results
from tools.book.api import write_reference
from tools.book.board_page import board_page
from tools.book.claims_page import claims_page, measure_claims
from tools.book.documents import Site, code_host, copy_documents, site


def write_pages(source: Path, book: Site | None = None) -> None:
    """Write every page but the lessons and the start into the folder that the book is made of.

    source  the folder; paths in it are those of the repository
    book    where links lead; by default what the environment says
    """
    book = book or site(host=code_host())
    source.mkdir(parents=True, exist_ok=True)
    copy_documents(source, book)
    write_reference(source, book.host)
    (source / "board.md").write_text(board_page(load_results("ladder")), encoding="utf-8")
    (source / "claims.md").write_text(claims_page(measure_claims()), encoding="utf-8")
