"""The engine that trains models in the reader's browser, and what it trains them on."""

import gzip
import subprocess
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

from babygpt.data.corpus import QUESTION_SEED, Corpus, load_corpus
from tools.book.live_parts import script_json

HERE = Path(__file__).parents[2] / "book" / "lab"
ENGINE = HERE / "gpt.wasm"
CORPUS = "plain-tales"  # the lessons' plain tales
TEXTS = {CORPUS: 200_000, "tales-zh": 60_000}  # characters of training text
VALIDATION = 6_000  # characters of other text
QUESTIONS = 40
BLOCK = 64  # tokens of a window
EXPORTS = (
    "make forward backward update w grad mean square tokens targets likelihood logits attention heard "
    "learned shifts cosine sine bias"
).split()
UNPACK = """async text => {
    const zipped = new Blob([Uint8Array.from(atob(text), letter => letter.charCodeAt(0))]);
    return new Response(zipped.stream().pipeThrough(new DecompressionStream("gzip"))).json();
}"""


def compile_engine(target: Path) -> None:
    """Compile gpt.c to WebAssembly with the clang of this machine."""
    command = ["clang", "--target=wasm32", "-msimd128", "-mnontrapping-fptoint", "-mbulk-memory", "-O2"]
    command += ["-fno-inline-functions", "-ffast-math", "-fno-builtin", "-nostdlib", "-Wall", "-Werror"]
    command += [f"-Wl,{flag}" for flag in ("--no-entry", "--strip-debug")]
    command += [f"-Wl,--export={name}" for name in EXPORTS]
    subprocess.run([*command, "-o", str(target), str(HERE / "gpt.c")], check=True)
    target.chmod(0o644)


@cache
def stories(name: str = CORPUS) -> Corpus:
    """Return stories that the models read."""
    return load_corpus(name, TEXTS[name])


def texts() -> dict[str, dict[str, Any]]:
    """Return what the models of a page read and are asked, and the losses that can be reached."""
    facts = {}
    for name in TEXTS:
        corpus = stories(name)
        assert corpus.grammar is not None
        questions = corpus.grammar.questions(QUESTIONS, QUESTION_SEED, BLOCK)
        facts[name] = {
            "characters": "".join(corpus.tokenizer.characters),
            "train": corpus.tokenizer.decode(corpus.train),
            "valid": corpus.tokenizer.decode(corpus.val[:VALIDATION]),
            "questions": [[q.prompt, q.answer + q.end, q.rival + q.end] for q in questions],
            "floors": {"without looking back": corpus.bigram_floor, "floor": corpus.floor},
        }
    return facts


def engine_script() -> str:
    """Return the script that a page loads when its reader starts a training."""
    parts = {
        "worker": "".join(
            (HERE / name).read_text(encoding="utf-8") for name in ("encodings.js", "worker.js")
        ),
        "wasm": b64encode(ENGINE.read_bytes()).decode(),
        "texts": texts(),
    }
    packed = b64encode(gzip.compress(script_json(parts).encode(), mtime=0)).decode()
    return f'window.babygptEngine = ({UNPACK})("{packed}");\n'
