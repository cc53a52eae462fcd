"""Encodings from outside babygpt: a class, a class in a file (mine.py:Sandwich), or an installed package's.

A file is run only because the user named it, never because a checkpoint does.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import metadata
from pathlib import Path
from secrets import token_hex
from traceback import walk_tb
from types import ModuleType
from typing import Any
from weakref import WeakKeyDictionary

from babygpt.encodings.base import Encoding
from babygpt.errors import BadInput, suggestion

ENTRY_POINTS = "babygpt.encodings"  # the group in which packages register classes
SHAPE = ("block_size", "head_dim", "n_embd", "n_head", "n_layer", "vocab_size")  # numbers of a ModelConfig
RESERVED = ("version", "config", "per_layer", "layers", "isolated")  # arguments of `build` itself
# A folder may hold a colon, as C:\ does, so the class is what follows the ending.
FILE_AND_CLASS = re.compile(r"(?P<file>.+\.py)(:(?P<class>.*))?", re.DOTALL)
# Digests of the files of classes; a class without a file has a random text instead.
DIGESTS: WeakKeyDictionary[type[Encoding], str | None] = WeakKeyDictionary()
SESSION_TOKENS: WeakKeyDictionary[type[Encoding], str] = WeakKeyDictionary()


def is_file_and_class(name: Any) -> bool:
    """Return whether a version's name is a file of Python, with or without a class: mine.py:Sandwich."""
    return isinstance(name, str) and FILE_AND_CLASS.fullmatch(name) is not None


@cache  # to look through all packages takes a twentieth of a second
def installed_encodings() -> dict[str, str]:
    """Return the entry points that installed packages registered: name -> module:Class."""
    return {point.name: point.value for point in metadata.entry_points(group=ENTRY_POINTS)}


# ---------------------------------------------------------------- finding the class


def encoding_class(name: str) -> type[Encoding] | None:
    """Return the class that a name such as mine.py:Sandwich stands for, or an installed package's name.

    The file is run; a second call with an unchanged file returns the same class.
    returns  None for any other name
    Raises BadInput for a file that is missing or cannot be imported, for a class that is missing or no
    Encoding, and for a name that two packages have.
    """
    if is_file_and_class(name):
        return class_in_file(name)
    points = metadata.entry_points(group=ENTRY_POINTS, name=name)
    if len(points) > 1:
        owners = " and ".join(sorted(point.value for point in points))
        raise BadInput(f"two encodings have the name {name}: {owners}")
    for point in points:
        try:
            loaded = point.load()
        except Exception as error:
            reason = describe_error(error, point.module)
            raise BadInput(f"{name} ({point.value}) cannot be imported: {reason}") from error
        return require_encoding_class(f"{name} ({point.value})", loaded)
    return None


def class_in_file(name: str) -> type[Encoding]:
    """Return the class of mine.py:Sandwich. Raise the errors of `encoding_class`."""
    words = FILE_AND_CLASS.fullmatch(name)
    assert words is not None
    path = Path(words["file"])
    if not path.is_file():
        siblings = [file.name for file in path.parent.glob("*.py")] if path.parent.is_dir() else []
        raise BadInput(f"there is no file {path} for {name}{suggestion(path.name, siblings)}")
    module = run_file(path.resolve(), path.read_bytes())
    encodings = {
        word: value
        for word, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Encoding) and value.__module__ == module.__name__
    }
    listed = f"its encodings are {', '.join(encodings)}" if encodings else "it has no class of Encoding"
    if not words["class"]:
        example = next(iter(encodings), "Sandwich")
        raise BadInput(f"{name} is a file: name its class too, as in {path}:{example}; {listed}")
    if " --" in words["class"]:
        raise BadInput(options_apart(name))
    if not hasattr(module, words["class"]):
        raise BadInput(
            f"{path} has no class {words['class']}{suggestion(words['class'], encodings)}; {listed}"
        )
    return require_encoding_class(name, getattr(module, words["class"]))


def options_apart(name: str) -> str:
    """Return where the options of a name belong that are typed behind it, as in "v4 --theta 100"."""
    version, *parts = name.split(" --")
    options: dict[str, Any] = {}
    for part in parts:
        option, *texts = part.replace("=", " ", 1).split()
        numbers = [parsed_literal(text) for text in texts]
        options[option.replace("-", "_")] = numbers if len(numbers) > 1 else (numbers or [True])[0]
    arguments = "".join(f", {option}={setting!r}" for option, setting in options.items())
    return (
        f"{name}: options stand apart from the name, as in build({version!r}, config{arguments}); "
        f"`compare_versions` takes the pair ({version!r}, {options})"
    )


def parsed_literal(text: str) -> Any:
    """Return the number that a text of the shell stands for, or the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


@cache
def run_file(path: Path, source: bytes) -> ModuleType:
    """Run a file of Python as a module of its own, whose folder it may import from, as a script may.

    The module's name holds the digest of the file, so that an edited file becomes another module.
    Raises BadInput with the file's own error and line.
    """
    sha256 = hashlib.sha256(source).hexdigest()
    module = ModuleType(f"{path.stem}_{sha256[:12]}")
    module.__file__ = str(path)
    module.__dict__["__sha256__"] = sha256  # of what is run, if the file changes later
    sys.modules[module.__name__] = module  # torch.compile and dataclasses look it up there
    sys.path.insert(0, str(path.parent))
    try:
        exec(compile(source, str(path), "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        reason = describe_error(error, module.__name__, path.parent)
        raise BadInput(f"{path} cannot be imported: {reason}") from error
    finally:
        sys.path.remove(str(path.parent))
    return module


def require_encoding_class(name: str, value: Any) -> type[Encoding]:
    """Return a class of Encoding whose arguments `build` can give it. Raise BadInput for anything else."""
    if not (isinstance(value, type) and issubclass(value, Encoding)):
        kind = f"a {type(value).__name__}" if not isinstance(value, type) else "no class of Encoding"
        raise BadInput(f"{name} is {kind}: it must inherit from babygpt.encodings.Encoding")
    for p in inspect.signature(value).parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        if p.default is p.empty and p.name not in SHAPE:
            raise BadInput(
                f"{name}: the argument {p.name} of __init__ needs a default; without one it must be a number "
                f"of the model's shape: {', '.join(SHAPE)}{suggestion(p.name, SHAPE)}"
            )
        if p.default is not p.empty and p.name in RESERVED:
            raise BadInput(
                f"{name}: build has an argument {p.name} already, so the option needs another name"
            )
    return value


# ---------------------------------------------------------------- its name, its source, its errors


def encoding_name(encoding: type[Encoding]) -> str:
    """Return the name of a class with its file, as in mine.py:Sandwich; without the file in a notebook."""
    path = source_file(encoding)
    return f"{path.name}:{encoding.__qualname__}" if path else encoding.__qualname__


def own_classes(model: Any) -> list[type[Encoding]]:
    """Return the classes from outside that a model was built with, each once."""
    options = getattr(model, "options", {})  # a wrapper, as of torch.compile, may lack both
    parts = dict.fromkeys([getattr(model, "version", None), *options.get("layers", ())])
    return [part for part in parts if isinstance(part, type)]


def require_different_names(encodings: Iterable[type[Encoding]]) -> None:
    """Raise BadInput if two of these classes have one name, by which nobody could tell them apart."""
    classes: dict[str, type[Encoding]] = {}
    for encoding in encodings:
        twin = classes.setdefault(encoding.__qualname__, encoding)
        if twin is not encoding:
            places = " and ".join(str(source_file(c) or "a notebook") for c in (twin, encoding))
            raise BadInput(f"two encodings have the name {encoding.__qualname__}: those of {places}")


def source_file(encoding: type[Encoding]) -> Path | None:
    """Return the file in which a class was written, or None if it was typed into a notebook."""
    file = getattr(sys.modules.get(encoding.__module__), "__file__", None)
    path = Path(file) if file else None
    return path if path and path.suffix == ".py" and path.is_file() else None


def source_digest(encoding: type[Encoding]) -> str | None:
    """Return the SHA-256 of the whole file in which a class was written, as it was at the first call.

    returns  None where there is no file, as in a notebook
    """
    if encoding not in DIGESTS:
        path = source_file(encoding)
        run = getattr(sys.modules.get(encoding.__module__), "__sha256__", None)
        DIGESTS[encoding] = run or (hashlib.sha256(path.read_bytes()).hexdigest() if path else None)
    return DIGESTS[encoding]


def source_key(encoding: type[Encoding]) -> str:
    """Return a text that differs for classes of one name whose files differ: the beginning of the digest.

    A class without a file gets a random text, which it has until the process ends.
    """
    sha256 = source_digest(encoding)
    return sha256[:12] if sha256 else SESSION_TOKENS.setdefault(encoding, f"typed {token_hex(6)}")


def describe_error(error: BaseException, module: str, folder: Path | None = None) -> str:
    """Return an error's kind and message, with the innermost line of the user's own code that led to it.

    module  name of the module whose lines are the user's
    folder  the user's own: lines of all its files count, too
    """
    words = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, SyntaxError) and Path(error.filename or "").is_file():
        return words  # Python's message names the file and line already.
    lines = [
        (Path(frame.f_code.co_filename), line)
        for frame, line in walk_tb(error.__traceback__)
        if frame.f_globals.get("__name__") == module or Path(frame.f_code.co_filename).parent == folder
    ]
    if not lines:
        return words
    file, line = lines[-1]
    return f"{words} ({file.name}, line {line})" if file.is_file() else f"{words} (line {line})"


def fault_of_a_file(error: BaseException) -> str | None:
    """Return an error in words, with its line, if a file that `run_file` ran led to it; None otherwise."""
    for frame, _ in walk_tb(error.__traceback__):
        if "__sha256__" in frame.f_globals:
            path = Path(frame.f_globals["__file__"])
            return f"{path.name} raised {describe_error(error, frame.f_globals['__name__'], path.parent)}"
    return None


@contextmanager
def name_faults(encoding: type[Encoding], method: str) -> Iterator[None]:
    """Let an error inside a class from outside say which class and method raised it, and in which line.

    BadInput, which the class may raise about its options, stays as it is.
    """
    try:
        yield
    except BadInput:
        raise
    except Exception as error:
        path = source_file(encoding)
        reason = describe_error(error, encoding.__module__, path.parent if path else None)
        raise BadInput(f"{encoding_name(encoding)}: {method} raised {reason}") from error
