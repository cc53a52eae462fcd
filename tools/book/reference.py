"""The reference: a page for each part of the packages, a section for each public name, from docstrings."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from tools.book.docstrings import Link, inline, summary, to_html

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("babygpt", "babygpt_course")
COMMANDS = ("babygpt.cli", "babygpt_course.commands")  # docs/shell.md tells of them


# ---------------------------------------------------------------- which names there are


@dataclass(frozen=True)
class Name:
    """A public name: the package that offers it, its name there, and the module it comes from."""

    package: str
    name: str
    module: str

    @property
    def anchor(self) -> str:
        """Its address on the page of its package, such as babygpt.encodings.Rotary."""
        return f"{self.package}.{self.name}"

    @property
    def thing(self) -> Any:
        """The function, class or value that it stands for."""
        return getattr(import_module(self.package), self.name)


def packages() -> list[str]:
    """Return the packages with public names, apart from those of commands."""
    parts = [
        f"{package}.{path.parent.name}"
        for package in PACKAGES
        for path in sorted((ROOT / package).glob("*/__init__.py"))
    ]
    offering = [part for part in parts if part not in COMMANDS and public_names(part)]
    return ["babygpt", "babygpt_live", *offering]


def page_of(package: str) -> str:
    """Return the page on a package, as a path from the folder of the book."""
    return f"api/{package.rpartition('.')[2]}.md"


def folder_of(package: str) -> Path:
    return ROOT.joinpath(*package.split("."))


@cache
def public_names(package: str) -> tuple[Name, ...]:
    """Return the names that a package re-exports (`from x import y as y`) or defines itself.

    They stand in its `__init__.py`, or in the stub beside it if that one imports them late.
    """
    stub = folder_of(package) / "__init__.pyi"
    tree = ast.parse((stub if stub.exists() else stub.with_suffix(".py")).read_text(encoding="utf-8"))
    exports = []
    for node in tree.body:
        match node:
            case ast.ImportFrom(module, aliases, level):
                home = ".".join(filter(None, [package * (level or 0), module]))
                exports += [Name(package, a.name, home) for a in aliases if a.asname == a.name and module]
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(name)):
                exports += [Name(package, name, package)] if name[0] != "_" else []
    return tuple(exports)


@cache
def names() -> tuple[Name, ...]:
    """Return every public name; one that two parts offer comes twice."""
    return tuple(name for package in packages() for name in public_names(package))


@cache
def class_anchors() -> dict[str, str]:
    """Return the address of each public class by its bare name: in its own part if it has one."""
    classes = [name for name in names() if inspect.isclass(name.thing)]
    return {name.name: name.anchor for name in sorted(classes, key=lambda name: name.package != "babygpt")}


def addresses(package: str) -> Link:
    """Return a function from a name to its address, seen from a package's page: on it, if it is there."""
    links = {}
    for name in sorted(names(), key=lambda name: (name.package == package, name.package != "babygpt")):
        page = "" if name.package == package else f"{Path(page_of(name.package)).stem}.html"
        links[name.name] = f"{page}#{name.anchor}"
    return lambda name: links.get(name, "")


# ---------------------------------------------------------------- signatures


class Verbatim(str):
    """Source code: a signature shows it without quotes."""

    def __repr__(self) -> str:
        return str(self)


def signature(thing: Any) -> str:
    """Return the arguments and the result of a function or class, with types as they stand in the source."""
    declaration = inspect.signature(thing)
    if inspect.isclass(thing) and any(
        parameter.kind is parameter.VAR_POSITIONAL for parameter in declaration.parameters.values()
    ):
        return ""  # it is PyTorch's, or a protocol's, and tells nothing
    parameters = [
        parameter.replace(
            annotation=short_type(parameter.annotation), default=short_default(parameter.default)
        )
        for parameter in declaration.parameters.values()
    ]
    return_type = (
        inspect.Signature.empty if inspect.isclass(thing) else short_type(declaration.return_annotation)
    )
    return str(declaration.replace(parameters=parameters, return_annotation=return_type))


def short_type(annotation: Any) -> Any:
    """Return a type without its modules; "~" lets Sphinx link ours, and show the bare name."""
    if annotation is inspect.Signature.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text, ours = re.sub(r"\b(?:[a-z_]\w*\.)+", "", text), class_anchors()
    return Verbatim(re.sub(r"\w+", lambda word: f"~{ours[word[0]]}" if word[0] in ours else word[0], text))


def short_default(default: Any) -> Any:
    """Return a function that is a default by its name, an object of ours by its class, others as they are."""
    if repr(default) == "<factory>":  # a new list or dictionary each time
        return Verbatim("...")
    if inspect.isroutine(default):
        return Verbatim(default.__name__)
    ours = type(default).__module__.startswith("babygpt")
    return Verbatim(f"{type(default).__name__}(...)") if ours else default


# ---------------------------------------------------------------- a section


def directive(kind: str, head: str, body: str, option: str = "", ticks: int = 4) -> str:
    """Return a description of Sphinx's domain for Python."""
    return f"{'`' * ticks}{{py:{kind}}} {head}\n{option}\n\n{body}\n{'`' * ticks}\n"


def section(name: Name, host: Any = None) -> str:
    """Return the section on a name: its signature, its docstring, its methods, and where it is written."""
    thing, link, module = name.thing, addresses(name.package), f":module: {name.package}"
    if is_constant(thing):
        return directive("data", name.name, f"```python\n{constant_source(name)}\n```\n", module)
    body = to_html(docstring(thing), link)
    for callee, text in borrowed_docstrings(thing).items():
        title = f"<summary>{inline(f'`{callee}`')} asks for</summary>"
        body += f"<details>{title}\n{to_html(text, link)}</details>\n"
    body += source_line(thing, host)
    if not inspect.isclass(thing):
        return directive("function", name.name + signature(thing), body, module)
    bases = [link(base.__name__) and inline(f"`{base.__name__}`", link) for base in thing.__bases__]
    kinds = f"<p>A kind of {', '.join(filter(None, bases))}.</p>\n" if any(bases) else ""
    parts = "\n".join(member(*method, link) for method in methods(thing))
    return directive("class", name.name + signature(thing), f"{kinds}{body}\n{parts}", module, ticks=5)


def is_constant(thing: Any) -> bool:
    """Return whether a name stands for a value or the alias of a type, which have no docstring."""
    return not (inspect.isclass(thing) or inspect.isroutine(thing))


def docstring(thing: Any) -> str:
    """Return the docstring of a function or class, with those of a dataclass's settings."""
    text = inspect.getdoc(thing) or ""
    settings = fields(thing) if is_dataclass(thing) else ()
    helps = [f"{f.name}  {f.metadata['help']}\n" for f in settings if "help" in f.metadata]
    return text + "".join(["\n\n", *helps] if helps else [])


def borrowed_docstrings(thing: Any) -> dict[str, str]:
    """Return the docstrings that one refers to ("those of `Gated`") and that have no section."""
    class_names = re.findall(r"those of `(\w+)`", inspect.getdoc(thing) or "")
    public, around = {name.name for name in names()}, vars(import_module(inspect.unwrap(thing).__module__))
    return {name: docstring(around[name]) for name in class_names if name not in public and name in around}


def methods(thing: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties of a class, and of its bases that have no section."""
    own_names, classes = set[str](), [name.thing for name in names() if inspect.isclass(name.thing)]
    for base in thing.__mro__:
        if not base.__module__.startswith("babygpt") or (base is not thing and base in classes):
            continue
        for name, attribute in vars(base).items():
            if name[0] != "_" and name not in own_names and isinstance(attribute, METHODS):
                own_names.add(name)
                yield name, attribute


METHODS = (property, classmethod, staticmethod, type(signature))


def member(name: str, thing: Any, link: Link) -> str:
    """Return a method or property of a class: its signature as it is called, and its first sentence."""
    body = f"<p>{inline(summary(inspect.getdoc(thing) or ''), link)}</p>\n"
    if isinstance(thing, property):
        kind = short_type(inspect.signature(thing.fget).return_annotation)  # type: ignore[arg-type]
        return directive("property", name, body, "" if kind is inspect.Signature.empty else f":type: {kind}")
    head = signature(getattr(thing, "__func__", thing))
    if isinstance(thing, staticmethod):
        return directive("method", name + head, body, ":staticmethod:")
    option = ":classmethod:" if isinstance(thing, classmethod) else ""
    return directive("method", name + re.sub(r"^\((?:self|cls)(?:, )?", "(", head), body, option)


def source_line(thing: Any, host: Any) -> str:
    """Return the file that a thing is written in; with a code host, a link to its lines."""
    thing = inspect.unwrap(thing)
    path = Path(inspect.getsourcefile(thing) or "").resolve().relative_to(ROOT).as_posix()
    lines, first = inspect.getsourcelines(thing)
    text = f"<code>{path}</code>"
    if host:
        address = f"{host.link(path, folder=False)}#L{first}-L{first + len(lines) - 1}"
        text = f'<a href="{escape(address)}">{text}</a>'
    return f'<p class="source">{text}</p>\n'


def constant_source(name: Name) -> str:
    """Return the assignment that a constant comes from, with the comment above it."""
    text = Path(str(import_module(name.module).__file__)).read_text(encoding="utf-8")
    match = re.search(rf"(?m)(?:^#.*\n)*^{name.name}\b[^\n]*(?:\n[ )\]}}].*)*", text)
    if match is None:
        raise LookupError(f"{name.module} assigns no {name.name}")
    return match[0]


# ---------------------------------------------------------------- pages


def package_page(package: str, host: Any = None) -> str:
    """Return the page of a part of the package."""
    sections = "\n".join(section(name, host) for name in public_names(package))
    none = "" if sections else "Nothing is re-exported here: import from its files.\n\n"
    about = to_html(inspect.getdoc(import_module(package)) or "", addresses(package))
    return f"# `{package}`\n\n{about}\n{none}{sections}\n"


def index_page() -> str:
    """Return the page that lists the parts, and every name of each."""
    rows = []
    for package in packages():
        page = Path(page_of(package)).stem
        links = " ".join(
            f'<a href="{page}.html#{name.anchor}"><code>{name.name}</code></a>'
            for name in public_names(package)
        )
        about = inline(summary(inspect.getdoc(import_module(package)) or ""))
        listed = f'<p class="names">{links}</p>\n' if links else ""
        rows.append(f"## [`{package}`]({page}.md)\n\n<p>{about}</p>\n{listed}")
    pages = "\n".join(Path(page_of(package)).stem for package in packages())
    text = (ROOT / "book" / "reference.md").read_text(encoding="utf-8")
    return text.format(count=len(names()), parts=len(packages()), table="\n".join(rows), pages=pages)


def write_reference(source: Path, host: Any = None) -> None:
    """Write the pages of the reference into the folder that the book is made of.

    host  a `CodeHost` to link to, or None
    """
    (source / "api").mkdir(parents=True, exist_ok=True)
    (source / "api" / "index.md").write_text(index_page(), encoding="utf-8")
    for package in packages():
        (source / page_of(package)).write_text(package_page(package, host), encoding="utf-8")
