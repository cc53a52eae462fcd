"""The lab, where two models train on a text of the reader's choice: its form, words and panels.

python -m tools.book.lab    compile the engine, and count right answers from twelve seeds (ten minutes)
"""

import json
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from babygpt_live.dashboard import SMOOTH, gap_words, loss_words
from babygpt_live.explorer import Scale, Slider
from babygpt_live.panel import Axis, Curve, Heads, Level, Panel, as_plain, with_base64
from babygpt_live.style import COLOURS
from babygpt_live.view import PAGE, style
from tools.book.engine import BLOCK, CORPUS, ENGINE, HERE, compile_engine, engine_script
from tools.book.live_parts import plain_script, script_json
from tools.browser.chromium import chromium

FOLDER, SHARES = "_static/lab", HERE / "shares.json"
IN_LESSONS = {"04_rope": ("sinusoid", "rope")}  # the pair that it begins with, in place of the first training
INTRODUCTION = """<p>In the notebook you train a model here. On this page two smaller ones train in your
browser, on shorter stories, so that it takes half a minute. Watch the right answers: which model
learns who did it?</p>"""
BEGINNINGS = {CORPUS: "rora chased lola. who chased? ", "tales-zh": "妹被你劝了。劝人的是谁？", "own": ""}
TRY = ' Or <a href="../lab.html?{}">train in your browser</a>: {}.'
LESSONS = {  # These lessons link to the lab with all settings filled in.
    name: TRY.format(query.replace("&", "&amp;"), words)
    for name, query, words in (
        ("00_start_here", "second=none", "RoPE beside a model without positions, and a question of your own"),
        ("04_rope", "second=twin", "move θ while RoPE learns, beside its twin"),
        ("05_gaussian_rope", "first=gaussian&second=twin", "move σ while the model learns, beside its twin"),
        ("11_a_real_model", "text=own&second=alibi", "RoPE and ALiBi on a text of your own"),
    )
}
FOLLOW = """() => new Promise(resolve => {
    const { lab } = document.querySelector(".lab");
    lab.conclude = () => resolve(lab.runs.map(run => run.points.at(-1)[1] / 100));
    lab.train();
})"""
DIALS = {  # encoding -> what steers it
    "rope": ("theta",),
    "gaussian": ("theta", "alpha", "sigma"),
    "sinusoid": ("theta",),
    "alibi": ("steepness",),
}
CONTROLS = (
    Scale("theta", 10_000, 1, 1_000_000, "θ"),
    Scale("alpha", 0.7, 0.01, 0.99, "α: weight of the near scale"),
    Scale("sigma", 5, 1, 64, "σ of the near scale (tokens)", doubling=True),
    Slider("steepness", 1, 0, 10, "steepness"),
)
WORDS = {  # The page shows these texts, and lab.js fills in the braces.
    "text": "{count} characters, {kinds} different ones. {rest}",
    "rare": "The {rare} rarest become one sign, □, because the engine knows {most}.",
    "short": "This is too short: a text needs 2,000 characters.",
    "long": "This is too long: the lab reads one million characters at most.",
    "starts": "The first model starts with {label} = {now} (usual: {usual}).",
    "changed": "The pictures show {name} as it was trained; press Train for these settings.",
    "names": "Ask the models, in small letters: change the names, or their order",
    "begin": "Ask the models: type a beginning, and read how they go on",
    "drawn": "draw letters by chance",
    "switches": "Switch heads off in",
    "unknown": "The models have never read {marks}, so they are left out.",
    "engine": "engine.js could not be loaded. Reload the page to try again.",
    "worker": "This browser cannot train here: it allows no workers or no WebAssembly ({error}).",
    "foreign": "{name} is no model that this lab has kept.",
    "unreadable": "{name} cannot be read: it is a folder, or the file is no longer there.",
    "several": "{count} files were dropped. Drop one: a text in UTF-8, or a model that this lab has kept.",
    "one": "Only one model learned who did it: {name}. The other read the same stories, and is right in "
    "about half of the questions.",
    "both": "Both models learned who did it.",
    "neither": "Neither model learned who did it in these steps. Try another seed, or more steps.",
    "unclear": "The difference is not clear with this seed. Try another one.",
    "reads": "On text that neither has read, {better} is {gap} nats per character better than {worse}.",
    "running": "{state} · step {made} of {total} · loss {loss} · {pace} ms a step",
    "right": "Right answers: {first}",
    "valid": "Loss on text that was not read: {first}",
    "beside": ", and {second}",
    "reach": "{name}: a key that equals the query scores {near} at distance 0, and {far} at 16",
    "flat": "{name} adds its codes to the embeddings, so distance changes no score by itself",
    "none": "{name}: distance changes no score by itself",
    "silenced": "Without {heads}: {now}. With all heads: {whole}.",
    "share": "{value}% right answers to {count} questions",
    "loss": "{value} nats on text that was not read",
    "head": "head {head} of layer {layer}",
    "earlier": "earlier: {name}",
    "hidden": "Press Train, and see what each model writes here while it learns.",
}
NOTE = "How a score changes with distance alone: query and key are equal. Nothing of this is learned."
STEPS = Axis("step", (0.0, 1.0), digits=0)
NONE = np.zeros(0, np.float32)


def panels() -> dict[str, Panel]:
    """Return the panels of the lab, without their numbers."""
    blank, thin = Curve("", COLOURS["blue"], NONE), Curve("", COLOURS["blue"], NONE, look="thin")
    gap = Panel(
        "", [Curve("", COLOURS["red"], NONE), Level("", 0.0)], STEPS, Axis("gap (nats)", (-0.05, 0.05))
    )
    points, chance = Curve("", COLOURS["blue"], NONE, look="marked"), Level("chance", 50.0)
    heads = Heads(np.zeros((1, 1, 1, 1)), (), (0, 0), "Layer {layer}, head {head}", np.zeros((1, 1)))
    y = Axis("loss (nats per character)", (0.0, 1.0))
    distance = Axis("distance (tokens)", (0.0, BLOCK - 1.0), digits=0)
    axes = Axis("letter looked at"), Axis("letter that looks")
    return {
        "loss": Panel("", [thin, blank], STEPS, y, over_steps=True, below=gap),
        "right": Panel(
            "", [chance, points], STEPS, Axis("right answers", (0, 105), unit="%", digits=0), over_steps=True
        ),
        "valid": Panel("", [points], STEPS, y, over_steps=True),
        "reach": Panel("", [blank], distance, Axis("score of q = k", (-10.0, 10.0)), note=NOTE),
        "heads": Panel("Layer 1, head 1", [heads], *axes, width=1.5),
    }


def lab_html(root: str = "", first: str = "rope", second: str = "none", small: bool = False) -> str:
    """Return the HTML of the lab.

    root           the address of the book's root, seen from the page; empty for a page there
    first, second  encodings that it begins with, as form.html names them
    small          whether the reader chooses nothing but them
    """
    own = {
        "controls": [control.facts() for control in CONTROLS],
        "dials": DIALS,
        "smooth": SMOOTH,
        "beginnings": BEGINNINGS,
        "words": WORDS | {"losses": loss_words("{name}", "nats"), "gaps": gap_words("{name}", "nats")},
        "panels": with_base64(as_plain(panels())),
    }
    folder = f"{root}{FOLDER}/"
    form = " ".join((HERE / "form.html").read_text(encoding="utf-8").split())
    return (
        f'<link rel="stylesheet" href="{folder}lab.css"><div class="lab{" small" * small}" '
        f'data-folder="{folder}" data-first="{first}" data-second="{second}" '
        f'data-watches="{1 if small else 3}">'
        f'<script type="application/json">{script_json(own)}</script>{form}</div>'
        f'<script defer src="{folder}lab.js"></script>'
    )


def write_lab(html: Path) -> None:
    """Write scripts and style into the folder of a book."""
    folder = html / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    text, script, look = (
        (HERE / name).read_text(encoding="utf-8") for name in ("text.js", "lab.js", "lab.css")
    )
    module = f"(() => {{\n{plain_script(PAGE / 'dashboard.js')}{text}{script}}})();\n"
    (folder / "lab.js").write_text(module, encoding="utf-8")
    (folder / "lab.css").write_text(style(PAGE / "figure.css") + look, encoding="utf-8")
    (folder / "engine.js").write_text(engine_script(), encoding="utf-8")


def shares() -> dict[str, list[float]]:
    """Train with four encodings and twelve seeds; return the shares of right answers.

    Raises BadInput if there is no Chromium.
    """
    right_shares: dict[str, list[float]] = {}
    with TemporaryDirectory() as folder, chromium() as browser:
        write_lab(Path(folder))
        (Path(folder) / "index.html").write_text(lab_html("", "none", "rope", small=True), encoding="utf-8")
        page, address = browser.new_page(), (Path(folder) / "index.html").as_uri()
        for seed, pair in product(range(1, 13), (("none", "rope"), ("sinusoid", "alibi"))):
            page.goto(f"{address}?seed={seed}&first={pair[0]}&second={pair[1]}")
            for name, share in zip(pair, page.evaluate(FOLLOW), strict=True):
                right_shares.setdefault(name, []).append(share)
    return right_shares


if __name__ == "__main__":
    if sys.argv[1:]:  # --help must not compile and overwrite
        sys.exit(__doc__)
    compile_engine(ENGINE)
    SHARES.write_text(json.dumps(shares()) + "\n", encoding="utf-8")
