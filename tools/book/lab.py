"""The lab, where two models train on a text of the reader's choice: its form, words and panels.

python -m tools.book.lab    compile the engine, and count right answers from twelve seeds (ten minutes)
"""

import json
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from babygpt_live.dashboard import SMOOTH
from babygpt_live.explorer import Scale, Slider
from babygpt_live.panel import Axis, Curve, Level, Panel, as_plain, with_base64
from babygpt_live.style import COLOURS
from babygpt_live.view import PAGE, style
from tools.book.engine import BLOCK, CORPUS, ENGINE, HERE, compile_engine, engine_script
from tools.book.live_parts import plain_script, script_json
from tools.browser.chromium import chromium

FOLDER, SHARES = "_static/lab", HERE / "shares.json"
IN_LESSONS = {"04a_rope": ("sinusoid", "rope")}  # the pair that stands for the first training
INTRODUCTION = """<p>In the notebook you train a model here. On this page two smaller ones train in your
browser, on shorter stories, so that it takes half a minute. Watch the right answers: which model
learns who did it?</p>"""
BEGINNINGS = {CORPUS: "rora chased lola. who chased? ", "tales-zh": "妹被你劝了。劝人的是谁？", "own": ""}
TRY = ' Or <a href="../lab.html?{}">train in your browser</a>: {}.'
LESSONS = {  # These lessons link to the lab with all settings filled in.
    name: TRY.format(query.replace("&", "&amp;"), words)
    for name, query, words in (
        ("00_start_here", "second=none", "RoPE beside a model without positions, and a question of your own"),
        ("04a_rope", "second=twin", "move θ while RoPE learns, beside its twin"),
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
    Scale("theta", 10_000, 1, 1_000_000, "θ: how slowly the slowest clock turns"),
    Scale("alpha", 0.7, 0.01, 0.99, "α: weight of the near scale"),
    Scale("sigma", 5, 1, 64, "σ: letters that the near scale hears", doubling=True),
    Slider("steepness", 1, 0, 10, "steepness: how fast far letters fade"),
)
PICKS = (  # what a reader chooses as an encoding: value, short name, whole name
    ("none", "None", "No positions"),
    ("learned", "Learned", "Learned positions"),
    ("sinusoid", "Sinusoid", "Sinusoid (v3)"),
    ("rope", "RoPE", "RoPE (v4)"),
    ("gaussian", "Gaussian", "Gaussian RoPE (v5)"),
    ("alibi", "ALiBi", "ALiBi"),
)
DRAWN = ("drawn", "Draw a kernel", "Drawn kernel")
SHIFT = "Token shift: each letter also carries the letter before it, with one trained weight a channel"
SECOND = (("twin", "Its twin", "twin"), ("nothing", "Nobody", "No second model"))
WORDS = {  # The page shows these texts, and lab.js fills in the braces.
    "text": "{count} characters, {kinds} different ones. {rest}",
    "rare": "The {rare} rarest become one sign, □, because the engine knows {most}.",
    "short": "This is too short: a text needs 2,000 characters.",
    "long": "This is too long: the lab reads one million characters at most.",
    "changed": "The pictures show {name} as it was trained; press Train for these settings.",
    "names": "Ask the models, in small letters",
    "begin": "Ask the models: type a beginning",
    "drawn": "surprise me",
    "drawn_why": "the next letters are drawn by chance, and not always the likeliest ones",
    "exchange": "Exchange the names",
    "size": "{layers} layers × {channels}, {steps} steps, seed {seed}",
    "knows": "knows nothing yet",
    "writes": "writes",
    "next": "next letter",
    "looks": "layer {layer}, head {head}: {share} on {mark}",
    "looks_from": "layer {layer}, head {head}, from {from}: {share} on {mark}",
    "off": "Switch off",
    "on": "Switch on",
    "heads": "Heads of {name}",
    "letters": "{name}: {looks}. Arrow keys move the letter that looks.",
    "clicks": "clicks at {step}",
    "guess": "a guess",
    "copied": "The link is copied.",
    "link": "Copy this page's address: it holds all settings.",
    "train": "Train",
    "pause": "Pause",
    "resume": "Go on",
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
    "steered": "{moves}: {first} ends with {a}{second}.",
    "beside": ", and {name} with {b}",
    "answers": "{value}% right answers",
    "losses": "a loss of {value}",
    "shift": " + shift",
    "usual": "usual dials",
    "twin": "Its twin, which no dial moves",
    "loss_now": "loss {loss}",
    "right": "Right answers, % of {count} questions",
    "valid": "Loss on text that was not read",
    "loss_of": "Loss, nats a letter",
    "reach": "Score over distance, q = k",
    "kernel": "Your kernel, % heard at a distance: draw",
    "silenced": "Without {heads}: {now}. With all heads: {whole}.",
    "all_heads": "any head",
    "many_heads": "{count} of {all} heads",
    "share": "{value}% right answers to {count} questions",
    "loss": "{value} nats on text that was not read",
    "head": "head {head} of layer {layer}",
    "earlier": "earlier: {name}",
}
STEPS = Axis("step", (0.0, 1.0), digits=0)
NONE = np.zeros(0, np.float32)


def panels() -> dict[str, Panel]:
    """Return the panels of the lab, without their numbers."""
    blank, thin = Curve("", COLOURS["blue"], NONE), Curve("", COLOURS["blue"], NONE, look="thin")
    points = Curve("", COLOURS["blue"], NONE, look="marked")
    y = Axis("loss (nats per character)", (0.0, 1.0))
    distance = Axis("distance", (0.0, BLOCK - 1.0), digits=0)
    share = Axis("right answers", (40, 100), unit="%", digits=0)
    return {
        "loss": Panel("", [thin, blank], STEPS, y, over_steps=True),
        "right": Panel("", [Level("a guess", 50.0), points], STEPS, share, over_steps=True),
        "valid": Panel("", [points], STEPS, y, over_steps=True),
        "reach": Panel("", [blank], distance, Axis("score of q = k", (-10.0, 10.0))),
    }


def pick(side: str, words: str, chosen: str, rows: Sequence[tuple[str, str, str]]) -> str:
    """Return the HTML of a group of buttons that choose an encoding, of which exactly one is pressed.

    side    name of the field
    words   its name for a reader
    chosen  value that it begins with
    rows    value, short name and whole name of each button
    """
    buttons = (
        f'<label title="{name}"><input type="radio" name="{side}" value="{value}" data-name="{name}" '
        f'aria-label="{name}"{" checked" * (value == chosen)}><span>{short}</span></label>'
        for value, short, name in rows
    )
    switch = (
        f'<label class="lab-shift lab-more" title="{SHIFT}"><input type="checkbox" value="yes" '
        f'name="{"shift" if side == "first" else "shift2"}"><span>+ shift</span></label>'
    )
    inside = f"<legend>{words}</legend>{''.join(buttons)}{switch}"
    return f'<fieldset class="lab-pick" data-side="{side}">{inside}</fieldset>'


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
        "words": WORDS,
        "panels": with_base64(as_plain(panels())),
    }
    folder = f"{root}{FOLDER}/"
    form = " ".join((HERE / "form.html").read_text(encoding="utf-8").split())
    form = form.replace("{first}", pick("first", "First model", first, (*PICKS, DRAWN)[: 6 if small else 7]))
    form = form.replace("{second}", pick("second", "Second model", second, (*PICKS, *SECOND)))
    return (
        f'<link rel="stylesheet" href="{folder}lab.css"><div class="lab {"small" if small else "bench"}" '
        f'data-folder="{folder}" data-first="{first}" data-second="{second}" '
        f'data-watches="{1 if small else 2}">'
        f'<script type="application/json">{script_json(own)}</script>{form}</div>'
        f'<script defer src="{folder}lab.js"></script>'
    )


def write_lab(html: Path) -> None:
    """Write scripts and style into the folder of a book."""
    folder = html / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    names = ("text.js", "encodings.js", "lanes.js", "lab.js")
    scripts = "".join((HERE / name).read_text(encoding="utf-8") for name in names)
    module = f"(() => {{\n{plain_script(PAGE / 'dashboard.js', HERE / 'reading.js')}{scripts}}})();\n"
    (folder / "lab.js").write_text(module, encoding="utf-8")
    (folder / "lab.css").write_text(style(PAGE / "figure.css", HERE / "lab.css"), encoding="utf-8")
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
