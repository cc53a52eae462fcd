"""What the package and its parts offer for import, and how each of these names is used."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PACKAGE, COURSE = ROOT / "babygpt", ROOT / "babygpt_course"
SHELL = {
    "babygpt.cli",
    "babygpt_course.commands",
}  # docs/shell.md describes these


@dataclass(frozen=True)
class Name:
    """A public name: the package that offers it, what it is called there, and the module it comes from."""

    package: str
    name: str
    module: str

    @property
    def anchor(self) -> str:
        """Where the reference tells of it, such as babygpt.encodings.Rotary."""
        return f"{self.package}.{self.name}"

    @property
    def thing(self) -> Any:
        """What it stands for."""
        return getattr(import_module(self.package), self.name)


class Verbatim(str):
    """Source code: a signature shows it without quotes."""

    def __repr__(self) -> str:
        return str(self)


def packages() -> list[str]:
    """Return babygpt and each of its folders but the shell's, then the folders of the course."""
    parts = [path.parent for root in (PACKAGE, COURSE) for path in sorted(root.glob("*/__init__.py"))]
    named = [f"{part.parent.name}.{part.name}" for part in parts]
    return ["babygpt", *(name for name in named if name not in SHELL)]


def page_of(package: str) -> str:
    """The page on a package, as a path from the folder of the book."""
    return f"api/{package.rpartition('.')[2]}.md"


def init_file(package: str) -> Path:
    """The file that says what a package offers."""
    return ROOT.joinpath(*package.split("."), "__init__.py")


def public_names(package: str) -> list[Name]:
    """What a package offers: re-exported (`from x import y as y`), or defined or declared in its own file."""
    tree = ast.parse(init_file(package).read_text(encoding="utf-8"))
    statements = (*tree.body, *type_checking(tree))
    named = [(name, getattr(node, "module", package)) for node in statements for name in offered(node)]
    return [Name(package, name, module) for name, module in named if not name.startswith("_")]


def type_checking(tree: ast.Module) -> Iterator[ast.stmt]:
    """What stands under `if TYPE_CHECKING:`."""
    for node in tree.body:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            yield from node.body


def offered(node: ast.stmt) -> list[str]:
    """The names that a statement of an `__init__.py` makes public."""
    if isinstance(node, ast.ImportFrom):
        return [alias.name for alias in node.names if alias.asname == alias.name]
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


@cache
def names() -> tuple[Name, ...]:
    """Every public name; one that two parts offer comes twice."""
    return tuple(name for package in packages() for name in public_names(package))


@cache
def documented() -> frozenset[type]:
    """The classes that have a section."""
    return frozenset(name.thing for name in names() if inspect.isclass(name.thing))


@cache
def homes() -> dict[str, str]:
    """Where the reference tells of each public class, by its bare name: in its own part if it has one."""
    classes = [name for name in names() if inspect.isclass(name.thing)]
    return {name.name: name.anchor for name in sorted(classes, key=lambda name: name.package != "babygpt")}


# ---------------------------------------------------------------- signatures


def signature(thing: Any) -> str:
    """The arguments and the result of a function or class, with types as they stand in the source."""
    found = inspect.signature(thing)
    if inspect.isclass(thing) and any(one.kind is one.VAR_POSITIONAL for one in found.parameters.values()):
        return ""  # it is PyTorch's, or a protocol's, and tells nothing
    given = [
        one.replace(annotation=shown(one.annotation), default=shown_default(one.default))
        for one in found.parameters.values()
    ]
    result = inspect.Signature.empty if inspect.isclass(thing) else shown(found.return_annotation)
    return str(found.replace(parameters=given, return_annotation=result))


def shown(annotation: Any) -> Any:
    """A type without the modules that it comes from; "~" lets Sphinx link ours, and show the bare name."""
    if annotation is inspect.Signature.empty:
        return annotation
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:[a-z_]\w*\.)+", "", text)
    return Verbatim(
        re.sub(r"\w+", lambda word: f"~{homes()[word[0]]}" if word[0] in homes() else word[0], text)
    )


def shown_default(default: Any) -> Any:
    """A function that is a default, by its name, and an object of ours by its class; others as they are."""
    if repr(default) == "<factory>":  # a new list or dictionary each time
        return Verbatim("...")
    if inspect.isroutine(default):
        return Verbatim(default.__name__)
    ours = type(default).__module__.startswith("babygpt")
    return Verbatim(f"{type(default).__name__}(...)") if ours else default


def without_self(text: str) -> str:
    """The signature of a method as it is called."""
    return re.sub(r"^\((?:self|cls)(?:, )?", "(", text)


def is_constant(thing: Any) -> bool:
    """Whether a name stands for a value or the alias of a type, which have no docstring."""
    return not (inspect.isclass(thing) or inspect.isroutine(thing))


def docstring(thing: Any) -> str:
    """What a function or class says of itself, and its settings of themselves."""
    text = inspect.getdoc(thing) or ""
    settings = fields(thing) if is_dataclass(thing) else ()
    helps = [f"{f.name}  {f.metadata['help']}\n" for f in settings if "help" in f.metadata]
    return text + "".join(["\n\n", *helps] if helps else [])


def methods(thing: type, documented: frozenset[type]) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, and of its bases that have no section of their own."""
    seen = set[str]()
    for base in thing.__mro__:
        if not base.__module__.startswith("babygpt") or (base is not thing and base in documented):
            continue
        for name, member in vars(base).items():
            callable_member = isinstance(member, classmethod | staticmethod) or inspect.isfunction(member)
            if (callable_member or isinstance(member, property)) and name[0] != "_" and name not in seen:
                seen.add(name)
                yield name, member


def borrowed(thing: Any) -> dict[str, str]:
    """The docstrings that one refers to ("arguments are those of `Gated`") and that have no section."""
    named = re.findall(r"those of `(\w+)`", inspect.getdoc(thing) or "")
    public, around = {name.name for name in names()}, vars(import_module(inspect.unwrap(thing).__module__))
    return {name: docstring(around[name]) for name in named if name not in public and name in around}


def constant_source(name: Name) -> str:
    """The assignment that a constant comes from, with the comment above it."""
    text = Path(str(import_module(name.module).__file__)).read_text(encoding="utf-8")
    lines = text.splitlines()
    for node in ast.parse(text).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name.name for target in targets):
            first = node.lineno - 1
            while lines[first - 1].startswith("#"):
                first -= 1
            return "\n".join(lines[first : node.end_lineno])
    raise LookupError(f"{name.module} assigns no {name.name}")


def modules(package: str) -> list[tuple[str, str]]:
    """The files of a package, as paths from the root, and what the first line of each says."""
    found = []
    for path in sorted(init_file(package).parent.glob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        if not path.name.startswith("__"):
            found.append((path.relative_to(ROOT).as_posix(), docstring.partition("\n")[0]))
    return found
