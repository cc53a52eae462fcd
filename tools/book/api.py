"""The reference: a page for each part of the package, a section for each public name, from docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from tools.book.docstrings import Link, inline, summary, to_html
from tools.book.documents import CodeHost
from tools.book.reference import (
    ROOT,
    Name,
    borrowed,
    constant_source,
    docstring,
    documented,
    is_constant,
    methods,
    modules,
    names,
    packages,
    page_of,
    public_names,
    signature,
    without_self,
)

INDEX = """# Reference

What a notebook, or a program of yours, imports from `babygpt`: {count} names in {parts} parts, each
described by its own docstring. Shapes stand beside arguments, with the letters of the whole course: B batch,
T time, C channels, H heads, D channels of a head.

Whatever is wrong with an input is refused with a `babygpt.errors.BadInput`, a `ValueError` that names the
value and what would be right. For the commands of the shell, see [From the shell](../docs/shell.md).

{table}
```{{toctree}}
:hidden:

{pages}
```
"""


def addresses(package: str) -> Link:
    """Where a name leads from the page of a package: to that page if it is there, or else to its part's."""
    known = {}
    for name in sorted(names(), key=lambda name: (name.package == package, name.package != "babygpt")):
        page = "" if name.package == package else f"{Path(page_of(name.package)).stem}.html"
        known[name.name] = f"{page}#{name.anchor}"
    return lambda name: known.get(name, "")


# ---------------------------------------------------------------- a section


def directive(kind: str, head: str, body: str, options: Sequence[str] = (), ticks: int = 4) -> str:
    """A description of Sphinx's domain for Python."""
    given = "".join(f":{option}\n" for option in options)
    return f"{'`' * ticks}{{py:{kind}}} {head}\n{given}\n{body}\n{'`' * ticks}\n"


def section(name: Name, host: CodeHost | None = None) -> str:
    """What the reference says of a name."""
    thing, link = name.thing, addresses(name.package)
    module = [f"module: {name.package}"]
    if is_constant(thing):
        return directive("data", name.name, f"```python\n{constant_source(name)}\n```\n", module)
    body = to_html(docstring(thing), link)
    for one, said in borrowed(thing).items():
        body += (
            f"<details><summary>{inline(f'`{one}`')} asks for</summary>\n{to_html(said, link)}</details>\n"
        )
    body += source_line(thing, host)
    if not inspect.isclass(thing):
        return directive("function", name.name + signature(thing), body, module)
    bases = [link(base.__name__) and inline(f"`{base.__name__}`", link) for base in thing.__bases__]
    kinds = f"<p>A kind of {', '.join(filter(None, bases))}.</p>\n" if any(bases) else ""
    parts = "\n".join(member(*found, link) for found in methods(thing, documented()))
    return directive("class", name.name + signature(thing), f"{kinds}{body}\n{parts}", module, ticks=5)


def member(name: str, thing: Any, link: Link) -> str:
    """A method or property of a class: how it is called, and its first sentence."""
    body = f"<p>{inline(summary(inspect.getdoc(thing) or ''), link)}</p>\n"
    if isinstance(thing, property):
        return directive("property", name, body)
    kind = {classmethod: ["classmethod:"], staticmethod: ["staticmethod:"]}.get(type(thing), [])
    function = getattr(thing, "__func__", thing)
    head = signature(function) if kind == ["staticmethod:"] else without_self(signature(function))
    return directive("method", name + head, body, kind)


def source_line(thing: Any, host: CodeHost | None) -> str:
    """Which file it is written in; with a code host, a link to its lines."""
    thing = inspect.unwrap(thing)
    path = Path(inspect.getsourcefile(thing) or "").resolve().relative_to(ROOT).as_posix()
    lines, first = inspect.getsourcelines(thing)
    shown = f"<code>{path}</code>"
    if host:
        address = f"{host.link(path, folder=False)}#L{first}-L{first + len(lines) - 1}"
        shown = f'<a href="{escape(address)}">{shown}</a>'
    return f'<p class="source">{shown}</p>\n'


# ---------------------------------------------------------------- pages


def package_page(package: str, host: CodeHost | None = None) -> str:
    """The page of a part of the package."""
    sections = "\n".join(section(name, host) for name in public_names(package))
    files = "".join(
        f"<dt>{file_link(path, host)}</dt><dd>{inline(said)}</dd>\n" for path, said in modules(package)
    )
    none = "" if sections else "Nothing is re-exported here: import from its files.\n\n"
    about = to_html(inspect.getdoc(import_module(package)) or "", addresses(package))
    return f'# `{package}`\n\n{about}\n{none}{sections}\n## Its files\n\n<dl class="files">\n{files}</dl>\n'


def file_link(path: str, host: CodeHost | None) -> str:
    """The name of a file; with a code host, a link to it."""
    name = f"<code>{Path(path).name}</code>"
    return f'<a href="{escape(host.link(path, folder=False))}">{name}</a>' if host else name


def index_page() -> str:
    """The page that lists the parts, and every name of each."""
    rows = []
    for package in packages():
        page = Path(page_of(package)).name
        listed = public_names(package)
        links = " ".join(f'<a href="{page[:-3]}.html#{n.anchor}"><code>{n.name}</code></a>' for n in listed)
        about = inline(summary(inspect.getdoc(import_module(package)) or "").strip())
        listed_names = f'<p class="names">{links}</p>\n' if links else ""
        rows.append(f"## [`{package}`]({page})\n\n<p>{about}</p>\n{listed_names}")
    pages = "\n".join(Path(page_of(package)).stem for package in packages())
    return INDEX.format(count=len(names()), parts=len(packages()), table="\n".join(rows), pages=pages)


def write_reference(source: Path, host: CodeHost | None = None) -> None:
    """Write the pages of the reference into the folder that the book is made of."""
    (source / "api").mkdir(parents=True, exist_ok=True)
    (source / "api" / "index.md").write_text(index_page(), encoding="utf-8")
    for package in packages():
        (source / page_of(package)).write_text(package_page(package, host), encoding="utf-8")
