"""Two models that train in the reader's browser: their HTML, their scripts, and a recorded run.

python -m tools.book.race    compile gpt.c, and record runs of each encoding in Chromium (ten minutes)
"""

import gzip
import json
import subprocess
from base64 import b64encode
from functools import cache
from itertools import chain, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from babygpt.data.corpus import QUESTION_SEED, Corpus, load_corpus
from babygpt.live.view import script, style
from tools.book.live_parts import script_json
from tools.browser.chromium import chromium

HERE = Path(__file__).parents[2] / "book" / "race"
FOLDER = "_static/race"
ENGINE, RECORDED = HERE / "gpt.wasm", HERE / "recorded.json"
CORPUS = "plain-tales"  # the lessons' plain tales
TEXTS = {CORPUS: 200_000, "tales-zh": 60_000}  # characters of training text
VALIDATION, QUESTIONS, BLOCK = 6_000, 40, 64  # characters of other text; questions; tokens of a window
EXAMPLES = (  # of the same letters: the question, its right answer and a wrong one
    ("\nrora chased lola. who chased? ", "rora.", "lola."),
    ("\nlola chased rora. who chased? ", "lola.", "rora."),
)
SEEDS = range(1, 13)
ENCODINGS = {"none": "nope", "sinusoid": "v3", "rope": "v4", "alibi": "alibi"}  # -> version of babygpt
IN_LESSONS = {"04_rope": ("sinusoid", "rope")}  # the pair that it begins with
INTRODUCTION = """<p>In the notebook you train a model here. On this page two smaller ones train in your
browser, on shorter stories, so that it takes half a minute. Watch the right answers: which model
learns who did it?</p>"""
WORDS = {  # that the page shows
    "names": {"none": "No positions", "sinusoid": "Sinusoid (v3)", "rope": "RoPE (v4)", "alibi": "ALiBi"},
    "share": "Right answers to “who did it?”",
    "loss": "Loss (lower is better)",
    "bigram": "best without looking back (bigram floor)",
    "floor": "best of any model (floor)",
    "likelier": "Of the two names, {name} is likelier {mark}",
    "equal": "Both names are equally likely.",
    "same": "Both have the same encoding, weights and stories, so their curves are the same.",
    "one": "Only one model learned who did it: {name}. The other read the same stories, and is right in "
    "about half of the questions.",
    "both": "Both models learned who did it.",
    "neither": "Neither model learned who did it in these steps. Try another seed.",
    "unclear": "The difference is not clear with this seed. Try another one.",
}
EXPORTS = (
    "make forward backward update w grad mean square tokens targets likelihood logits attention heard "
    "learned cosine sine bias"
).split()
UNPACK = """async text => {
    const zipped = new Blob([Uint8Array.from(atob(text), letter => letter.charCodeAt(0))]);
    return new Response(zipped.stream().pipeThrough(new DecompressionStream("gzip"))).json();
}"""
FOLLOW = """() => new Promise(resolve => {
    const race = document.querySelector(".race").race, said = [[], []], receive = race.receive;
    race.receive = (side, data) => {
        said[side].push(data);
        receive.call(race, side, data);
        if (said.every(messages => messages.at(-1)?.step === 600)) resolve(said);
    };
    race.restart();
})"""


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
    found = {}
    for name in TEXTS:
        corpus = stories(name)
        assert corpus.grammar is not None
        asked = corpus.grammar.questions(QUESTIONS, QUESTION_SEED, BLOCK)
        found[name] = {
            "characters": "".join(corpus.tokenizer.characters),
            "train": corpus.tokenizer.decode(corpus.train),
            "valid": corpus.tokenizer.decode(corpus.val[:VALIDATION]),
            "questions": [[q.prompt, q.answer + q.end, q.rival + q.end] for q in asked],
            "floors": {"bigram floor": corpus.bigram_floor, "floor": corpus.floor},
        }
    return found


def engine_script() -> str:
    """Return the script that a page loads when its reader starts a training."""
    data = {
        "worker": (HERE / "worker.js").read_text(encoding="utf-8"),
        "wasm": b64encode(ENGINE.read_bytes()).decode(),
        "texts": texts(),
        "examples": EXAMPLES,
        "recorded": json.loads(RECORDED.read_text(encoding="utf-8"))["messages"],
    }
    packed = b64encode(gzip.compress(script_json(data).encode(), mtime=0)).decode()
    return f'window.babygptEngine = ({UNPACK})("{packed}");\n'


def race_html(root: str, left: str = "none", right: str = "rope") -> str:
    """Return the HTML of two models to train.

    root         the address of the book's root, seen from the page; empty on the start page
    left, right  encodings that they begin with, keys of ENCODINGS
    """
    folder, corpus = f"{root}{FOLDER}/", stories()
    return (
        f'<link rel="stylesheet" href="{folder}race.css">{INTRODUCTION if root else ""}'
        f'<div class="race" data-folder="{folder}" data-left="{left}" data-right="{right}" '
        f'data-floor="{corpus.floor}" data-bigram="{corpus.bigram_floor}">'
        f'<script type="application/json">{script_json(WORDS)}</script>'
        "<p>Here two small models train in your browser. They need JavaScript.</p></div>"
        f'<script defer src="{folder}race.js"></script>'
    )


def write_race(html: Path) -> None:
    """Write scripts and style into the folder of a book."""
    folder = html / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, module in (("race", "panels"), ("lab", "dashboard")):
        drawn = script(module).replace("export default", "const widget =").replace("\nexport ", "\n")
        own = "".join((HERE / f"{one}.js").read_text(encoding="utf-8") for one in ("trainers", name))
        (folder / f"{name}.js").write_text(f"(() => {{\n{drawn}{own}}})();\n", encoding="utf-8")
    (folder / "engine.js").write_text(engine_script(), encoding="utf-8")
    own = "".join((HERE / f"{name}.css").read_text(encoding="utf-8") for name in ("race", "lab"))
    (folder / "race.css").write_text(style("figure") + own, encoding="utf-8")


def record() -> dict[str, Any]:
    """Train with each encoding and each of SEEDS.

    returns  "messages" of the first seed and "shares" of right answers of every seed, by encoding
    Raises BadInput if there is no Chromium.
    """
    messages: dict[str, Any] = {}
    shares: dict[str, list[float]] = {name: [] for name in ENCODINGS}
    with TemporaryDirectory() as folder, chromium() as browser:
        write_race(Path(folder))
        (Path(folder) / "index.html").write_text(race_html(""), encoding="utf-8")
        page, address = browser.new_page(), (Path(folder) / "index.html").as_uri()
        for seed, pair in product(SEEDS, (("none", "rope"), ("sinusoid", "alibi"))):
            page.goto(f"{address}?race={seed}.{'.'.join(pair)}")
            for name, said in zip(pair, page.evaluate(FOLLOW), strict=True):
                messages.setdefault(name, said)
                shares[name].append(said[-1]["share"])
    for message in chain(*messages.values()):
        message["losses"] = [round(loss, 2) for loss in message["losses"]]
    return {"messages": messages, "shares": shares}


if __name__ == "__main__":
    compile_engine(ENGINE)
    text = json.dumps(record(), separators=(",", ":"))
    RECORDED.write_text(text.replace("},{", "},\n{") + "\n", encoding="utf-8")
