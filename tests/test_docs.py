"""Tests of README, CONTRIBUTING and docs/: named files and commands exist, and examples run."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch
from click import Context

import babygpt.cli
import benchmarks.cli
from babygpt import NextToken, TrainConfig, build, encodings, load, load_corpus, save, train
from babygpt.config import ModelConfig
from babygpt.models import versions
from babygpt.models.versions import VERSIONS
from babygpt_course.claims import claims_in
from babygpt_live.panel import as_plain

ROOT = Path(__file__).resolve().parent.parent
README, CONTRIBUTING = ROOT / "README.md", ROOT / "CONTRIBUTING.md"
GLOSSARY, SOURCES = ROOT / "docs" / "glossary.md", ROOT / "notebooks" / "src"
PAGES = [*ROOT.glob("*.md"), ROOT / "figures" / "README.md", *(ROOT / "docs").rglob("*.md")]
ELSEWHERE = r"\.venv/|weights/|book/_build/|\d{3}_"  # what the course makes, and git does not keep; the notes
CODE_HOST = "../../deployments/"  # seen from a README there, what has been published
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.M | re.S)
NO_PROSE = re.compile(r"(?ms)\$\$.*?\$\$|\$[^$\n]+\$|`[^`]*`|\]\([^)]*\)|^\|[^\n]*")  # formulas, code, tables
# A sentence, a paragraph or an item ends here.
END = re.compile(r"[.?!…][\"”’*_)†‡]*\s|\n\s*(?:\n|[-*>]\s|\d+\.\s)")


def prose(path: Path) -> str:
    """Return a page without its blocks of code."""
    return BLOCK.sub("", path.read_text(encoding="utf-8"))


def long_sentences(text: str) -> list[str]:
    """Return the sentences of a Markdown text that have more than 35 words."""
    parts = END.split(NO_PROSE.sub("", BLOCK.sub("", text)))
    return [part for part in parts if len(re.findall(r"[^\W\d_][\w'’-]*", part)) > 35]


def blocks(path: Path, language: str) -> list[str]:
    """Return the blocks of code in one language."""
    return [code for kind, code in BLOCK.findall(path.read_text(encoding="utf-8")) if kind == language]


def anchors(path: Path) -> set[str]:
    """Return the fragments that lead to the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(path), flags=re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(path: Path) -> Iterator[str]:
    """Yield the relative links of a page that lead to no file, or to no heading of one."""
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(path)):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if (
            "://" not in link
            and not link.startswith(CODE_HOST)
            and (not target.exists() or (anchor and anchor not in anchors(target)))
        ):
            yield link


def missing_files(path: Path) -> Iterator[str]:
    """Yield the files and folders named in code that are neither in the root nor in babygpt/."""
    named = re.findall(r"(?<!\[)`([\w.-]+/[\w./-]*|[\w./-]+\.(?:py|md|toml|yml|txt|cff))`", prose(path))
    for name in named:
        there = any((root / name).exists() for root in (ROOT, ROOT / "babygpt"))
        if not there and not re.match(ELSEWHERE, name):
            yield name


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_and_files_exist_and_sentences_are_short(path: Path):
    assert list(dead_links(path)) == []
    assert path.name == "CHANGELOG.md" or long_sentences(path.read_text(encoding="utf-8")) == []
    if path.name != "CHANGELOG.md" and not path.stem.isdecimal():  # they name what is gone, or a note's own
        assert list(missing_files(path)) == []


def test_every_link_of_a_notebook_to_the_glossary_leads_to_a_term():
    texts = "".join(path.read_text(encoding="utf-8") for path in SOURCES.glob("*.py"))
    linked = set(re.findall(r"\]\((?:\.\./)*docs/glossary\.md#?([^)\s]*)\)", texts))
    assert len(linked) > 20
    assert linked - {""} <= anchors(GLOSSARY)


def test_lessons_in_brackets_use_the_term():
    page = GLOSSARY.read_text(encoding="utf-8")
    tagged = re.findall(r"^### (.+?)\n\n[^#]*?\[([\d, ab]+)\]$", page, flags=re.M)
    assert len(tagged) > 60
    for term, lesson in [(term, lesson) for term, lessons in tagged for lesson in lessons.split(", ")]:
        (path,) = SOURCES.glob(f"{lesson}_*.py")
        text = path.read_text(encoding="utf-8").split("# ---", 2)[-1].casefold()  # without the header
        named = (term.casefold(), f"glossary.md#{term.casefold().replace(' ', '-')})")
        assert any(name in text for name in named), (term, lesson)


def test_every_named_command_exists():
    # CHANGELOG.md also names commands that are gone.
    pages = [path for path in PAGES if path.name != "CHANGELOG.md"]
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    targets = re.findall(r"^([a-z]+):.*## \S", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
    for start, group in ("babygpt", babygpt.cli.main), ("benchmarks", benchmarks.cli.main):
        named = set(re.findall(rf"python -m {start} ([a-z][a-z-]*)", text))
        assert len(named) > 4
        assert named <= set(group.list_commands(Context(group)))
    named_targets = set(re.findall(r"(?:^|`)make ([a-z]+)", text, flags=re.M))
    assert {"lab", "test", "check", "notebooks", "figures"} <= named_targets <= set(targets)
    assert {"env", "format", "constraints", "clean", "help"} <= set(targets)


def test_readme_is_short_and_shows_the_two_commands_first():
    readme = README.read_text(encoding="utf-8")
    assert len(readme.encode()) <= 6000
    assert re.findall(r"^make (\w+)", readme.split("```")[1], flags=re.M) == ["lab", "test"]


# ---------------------------------------------------------------- the examples


@pytest.mark.parametrize("path", [README, ROOT / "docs" / "live.md", ROOT / "docs" / "shell.md"], ids=str)
def test_every_block_of_python_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    code_blocks = blocks(path, "python")
    assert code_blocks
    for code in code_blocks:
        exec(code.replace("steps=600", "steps=2"), {})


def own_encodings() -> dict[str, str]:
    """Return the files of docs/own_encoding.md: name -> code."""
    return {code.split()[1]: code for code in blocks(ROOT / "docs" / "own_encoding.md", "python")}


@pytest.fixture(scope="module")
def examples() -> Iterator[dict[str, ModuleType]]:
    """Import the examples of CONTRIBUTING, each under the name of the file in its first line.

    Its encoding is the one of docs/own_encoding.md, moved into the package.
    """
    encoding = own_encodings()["sandwich.py"].replace("# sandwich.py", "# babygpt/encodings/sandwich.py")
    modules: dict[str, ModuleType] = {}
    with pytest.MonkeyPatch.context() as patch:
        for code in [encoding, *blocks(CONTRIBUTING, "python")]:
            name = code.splitlines()[0].removeprefix("# ")
            if name not in modules:
                modules[name] = module = ModuleType(name.removesuffix(".py").replace("/", "."))
                if (ROOT / name).exists():  # the example adds to it
                    vars(module).update(vars(import_module(module.__name__)))
                else:  # later examples import it
                    patch.setitem(sys.modules, module.__name__, module)
            exec(code, vars(modules[name]))
        yield modules


def test_contributing_tests_its_encoding(examples):
    tests = vars(examples["tests/encodings/test_sandwich.py"])
    ran = [test() for name, test in tests.items() if name.startswith("test_")]
    assert len(ran) == 2


def test_contributing_watches_a_run(examples):
    watch = examples["weight_watch.py"].sizes
    size = watch.measure(build("v4", ModelConfig(11, 16, n_layer=1, n_head=2, n_embd=8)))
    panel = watch.panel([(0, size), (5, 2 * size)], "v4", 10)
    assert panel.title == f"After 5 steps the weights are {2 * size:.3f} large"
    as_plain(panel)


def test_the_page_of_the_lab_shows_a_loop_that_is_not_ours():
    (code,) = [
        code for code in blocks(ROOT / "docs" / "live.md", "python") if code.startswith("# own_loop.py")
    ]
    lines, start = code.rstrip().rsplit("\n", 1)
    exec(lines, names := {})
    run = names["run"]
    run.steer("rate", 0.2)
    exec(start, names)
    assert len(run.result()) == 200
    assert run.state == "finished"
    assert {record.step: record.changed for record in run.history if record.changed} == {1: {"rate": 0.2}}
    losses, weights = run.dashboard.panels()
    assert re.fullmatch(r"line: the loss is \d\.\d\de−\d+ mean squared error at step 200", losses.title)
    assert losses.y.label == "loss (mean squared error)"
    assert weights.title == "After 200 steps the weight is 3.00"
    assert len(weights.marks[0].y) == 42  # untrained, after the move of the dial, and 40 times


def test_contributing_adds_a_version_that_is_built_trained_and_saved(examples, tmp_path, monkeypatch):
    """Run the lines for `__init__.py` and `versions.py` as they stand there."""
    (lines,) = [code for code in blocks(CONTRIBUTING, "text") if "Version(" in code]
    imports, _, row = lines.partition("\n\n")
    sandwich = vars(examples["babygpt/encodings/sandwich.py"])
    monkeypatch.setattr(encodings, "Sandwich", sandwich["Sandwich"], raising=False)
    names: dict = {}
    exec(imports, names)
    ((name, version),) = eval(f"{{{row}}}", vars(versions)).items()
    assert version.encoding is names["Sandwich"]
    monkeypatch.setitem(VERSIONS, name, version)
    corpus = load_corpus("tales", 5_000)
    model = build(name, ModelConfig(corpus.tokenizer.vocab_size, 16, n_layer=1, n_head=2, n_embd=8))
    list(train(model, NextToken(corpus, 16), TrainConfig(steps=2, batch_size=2)))
    model.encoding.steer("strength", 3.0)
    save(tmp_path / "m.safetensors", model, corpus.tokenizer)
    again = load(tmp_path / "m.safetensors").model
    assert torch.equal(again(corpus.val[None, :9]), model(corpus.val[None, :9]))


def test_contributing_measures_a_claim(examples):
    (sentences,) = blocks(CONTRIBUTING, "toml")
    (claim,) = claims_in(examples["babygpt_course/claims/note_004.py"], sentences)
    assert (claim.text, claim.measure().verdict) == ("a sum needs no wider head", "holds")


def test_contributing_checks_an_exercise(examples):
    exercise = examples["babygpt_course/exercises/lesson_14.py"].SLOPES
    assert exercise.check(exercise.answer).solved
    for mutant in examples["tests/course/exercises/mutants_14.py"].MUTANTS:
        report = exercise.check(mutant.answer)
        assert set(report.failed) == set(mutant.fails)
        assert mutant.says in repr(report)
