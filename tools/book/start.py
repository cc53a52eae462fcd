"""The start page's first screen, where two models read a question: its HTML, its words, its recording.

python -m tools.book.start    train both models and record how they read (two minutes)
"""

import json
import sys
from base64 import b64encode
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus, train
from babygpt.data.corpus import QUESTION_SEED, Corpus
from babygpt.metrics import attention_weights, role_accuracy
from babygpt.models.transformer import Transformer
from tools.book.lab import FOLDER as LAB
from tools.book.live_parts import plain_script, script_json

HERE = Path(__file__).parents[2] / "book" / "start"
RECORDING = HERE / "reading.json"
FOLDER = "_static/start"
MODELS = {"rope": "v4", "none": "nope"}  # encoding -> version; each has a lane
CORPUS = "plain-tales"
CHARACTERS = 400_000
WINDOW = 64
SEED = 1
STEPS = 600
BATCH = 12
LAYERS = 2
HEADS = 4
CHANNELS = 96
QUESTIONS = 400
ASKED = ("rora chased lola. who chased? ", "lola chased rora. who chased? ")
LEAST = 0.01  # share of a letter that is recorded
MOST_LETTERS = 12  # letters of a place
ANSWER = 6  # letters of an answer, at most


# ---------------------------------------------------------------- the recording


def train_model(version: str, corpus: Corpus) -> Transformer:
    """Return a model of this version after its training."""
    torch.manual_seed(SEED)
    model = build(version, ModelConfig(corpus.tokenizer.vocab_size, WINDOW, LAYERS, HEADS, CHANNELS))
    config = TrainConfig(steps=STEPS, batch_size=BATCH, seed=SEED)
    assert isinstance(model, Transformer)
    for _ in train(model, NextToken(corpus, WINDOW, aligned=True), config):
        pass
    return model.eval()


@torch.inference_mode()
def read(model: Transformer, corpus: Corpus, question: str) -> dict[str, Any]:
    """Return what a model expects after each letter of a question, and its answer.

    returns  "text": the question with its answer; "next": for each number of letters that were read, the
             likeliest next ones with their shares; "weights": of all heads, (n_layer, n_head, T, T)
    """
    tokenizer, text = corpus.tokenizer, question
    while len(text) < len(question) + ANSWER and not text.endswith(".", len(question)):
        logits = model(torch.as_tensor(tokenizer.encode("\n" + text))[None])[0, -1]
        text += tokenizer.decode([int(logits.argmax())])
    ids = torch.as_tensor(tokenizer.encode("\n" + text))
    shares = model(ids[None])[0, : len(question) + 1].softmax(-1)
    likely = [
        [
            [tokenizer.decode([int(i)]), round(share, 3)]
            for share, i in zip(*(part.tolist() for part in row.topk(MOST_LETTERS)), strict=True)
            if share >= LEAST
        ]
        for row in shares
    ]
    return {"text": text, "next": likely, "weights": attention_weights(model, ids)}


def record() -> dict[str, Any]:
    """Train both models; return how they read both orders of the names, as the page draws it."""
    corpus = load_corpus(CORPUS, CHARACTERS)
    assert corpus.grammar is not None
    models = {name: train_model(version, corpus) for name, version in MODELS.items()}
    questions = corpus.grammar.questions(QUESTIONS, QUESTION_SEED, WINDOW)
    names = [ASKED[0].split()[0], ASKED[0].split()[2].rstrip(".")]
    recording: dict[str, Any] = {
        "seed": SEED,
        "steps": STEPS,
        "questions": QUESTIONS,
        "right": {name: role_accuracy(m, corpus.tokenizer, questions) for name, m in models.items()},
        "asked": [
            {
                "text": question,
                "right": question.split()[0],
                "names": [[question.index(name), len(name)] for name in names],
            }
            for question in ASKED
        ],
        "readings": [],
    }
    read_twice = {name: [read(model, corpus, text) for text in ASKED] for name, model in models.items()}
    for order in range(len(ASKED)):
        recording["readings"].append([lane(read_twice[name], order) for name in MODELS])
    return recording


def lane(readings: list[dict[str, Any]], order: int) -> dict[str, Any]:
    """Return how a model read one order of the names, with the head that looks most at the right name.

    readings  in both orders; the head is the same in both: that with the largest mean share
    """
    last = len(ASKED[0])  # the token of the space after the question, because a line's end stands before it
    looks = np.mean(
        [r["weights"][:, :, last, 1] for r in readings], axis=0
    )  # (n_layer, n_head) at the first letter
    layer, head = np.unravel_index(looks.argmax(), looks.shape)
    weights = readings[order]["weights"][layer, head]
    shares = np.round(255 * weights[np.tril_indices(len(weights))]).astype(np.uint8)
    return {
        "text": readings[order]["text"],
        "asked": len(ASKED[order]),
        "next": readings[order]["next"],
        "layer": int(layer) + 1,
        "head": int(head) + 1,
        "look": round(float(weights[last, 1]), 3),
        "weights": b64encode(shares.tobytes()).decode(),
    }


# ---------------------------------------------------------------- the page

LANES = {
    "rope": ("RoPE", "turns a clock for each position"),
    "none": ("No positions", "reads the same letters"),
}
SHELF = {  # encoding -> its name, what it does, and the lesson that builds it
    "none": ("No positions", "order is left out", "03a_attention"),
    "learned": ("Learned", "a vector for each position", "02_learned_positions"),
    "sinusoid": ("Sinusoid", "waves are added", "03b_sinusoidal"),
    "rope": ("RoPE", "clocks turn", "04a_rope"),
    "gaussian": ("Gaussian", "near letters count more", "05_gaussian_rope"),
    "alibi": ("ALiBi", "far letters cost a fee", "08_the_ladder"),
    "branches": ("Branches", "which text is it?", "06_fourier_branches"),
    "gates": ("Gates", "channels open and shut", "07b_polar_gates"),
}
WORDS = {  # The page shows these texts, and start.js fills in the braces.
    "pause": "Pause",
    "go": "Go on",
    "again": "Read again",
    "play": "Play",
    "another": "Another seed",
    "letters": "the letters of the question; arrow keys show where each one looks",
    "look": "letter {n}, {letter}: looks at {places}",
    "nothing": "no letter before it",
    "good": "✓ {letter}: right",
    "bad": "✗ {letter}: wrong",
    "lucky": "{letter}: right by luck",
    "reading": "Both read one letter after the other. An arc shows how much a head looks back at a letter.",
    "exchanged": "The names have changed places. The letters are the same.",
    "loading": "The engine is loading.",
    "engine": "engine.js could not be loaded",
    "failed": "This browser cannot train here: {error}. You see the recording again.",
    "share": "{share} right",
    "head": "layer {layer}, head {head}: {share} on this {letter}",
    "live": "live · step {step} of {steps}",
    "trained": "trained here · {steps} steps",
    "training": "Both began with random weights and read the same stories. Exchange the names at any time.",
    "clicked": "Since step {step} RoPE answers at least four of five questions. The other answers {other}.",
    "found": "RoPE found out who did it at step {step}. The model without positions is at {other}.",
    "unfound": "RoPE has not found out who did it with this seed. Try another one.",
}


def load_recording() -> dict[str, Any]:
    """Return the recording that the page draws."""
    return dict(json.loads(RECORDING.read_text(encoding="utf-8")))


def template(file_name: str, **facts: Any) -> str:
    """Return a template of this page as one line of HTML, with its gaps filled."""
    text = Template((HERE / file_name).read_text(encoding="utf-8"))
    return " ".join(text.substitute(facts).split())


def sentences(recording: dict[str, Any]) -> dict[str, str]:
    """Return what the page concludes from the recording: at the first end, and after each exchange."""
    said = {}
    for order, lanes in enumerate(recording["readings"]):
        (letter, share), (same, guess) = (lane["next"][-1][0] for lane in lanes)
        before = dict(recording["readings"][1 - order][1]["next"][-1]).get(same, 0)
        said[f"end_{order}"] = (
            f"RoPE noticed: now {letter}, at {share:.0%}. The other model expects {same} as before: "
            f"{before:.0%}, and now {guess:.0%}."
        )
        if order == 0:
            said["end"] = (
                f"RoPE looks back at the one who chased: {letter}, at {share:.0%}. "
                f"The other model guesses: its likeliest letter has {guess:.0%}."
            )
    return said


def stage_state(recording: dict[str, Any]) -> dict[str, Any]:
    """Return what start.js reads: the recording, and the words of the page."""
    readings = [
        [
            {key: lane[key] for key in ("text", "asked", "next", "weights")}
            | {"head": f"layer {lane['layer']}, head {lane['head']}", "channels": CHANNELS // HEADS}
            for lane in lanes
        ]
        for lanes in recording["readings"]
    ]
    return {"readings": readings, "questions": recording["asked"], "words": WORDS | sentences(recording)}


def start_html() -> str:
    """Return the HTML of the first screen, below its heading: buttons, the stage, the shelf of encodings."""
    recording = load_recording()
    right = {name: f"{100 * share:.0f}%" for name, share in recording["right"].items()}
    lanes = [template("lane.html", encoding=key, name=name, does=does) for key, (name, does) in LANES.items()]
    shelf = [
        f'<a href="notebooks/{lesson}.html" style="--c: var(--enc-{key})">'
        f'<span class="first-glyph" data-glyph="{key}"></span><b>{name}</b><span>{does}</span></a>'
        for key, (name, does, lesson) in SHELF.items()
    ]
    state = script_json(stage_state(recording))
    facts = {name: recording[name] for name in ("seed", "steps", "questions")} | right
    links = {"engine": f"{LAB}/engine.js", "folder": FOLDER}
    html = template(
        "first.html", state="$state", lanes="".join(lanes), shelf="".join(shelf), **facts, **links
    )
    return html.replace("$state", state)  # Its spaces are letters of the stories.


def write_start(html: Path) -> None:
    """Write the first screen's script into the folder of a book."""
    folder = html / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    module = f"(() => {{\n{plain_script(HERE / 'start.js')}}})();\n"
    (folder / "start.js").write_text(module, encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:  # --help must not train and overwrite
        sys.exit(__doc__)
    RECORDING.write_text(json.dumps(record(), separators=(",", ":")) + "\n", encoding="utf-8")
