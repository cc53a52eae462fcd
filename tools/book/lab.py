"""The lab, where two models train on a text of the reader's choice: its form, words and panels."""

from html import escape

import numpy as np

from babygpt.live.dashboard import gap_words, loss_words
from babygpt.live.explorer import Scale, Slider
from babygpt.plots.panel import Axis, Curve, Heads, Level, Panel, as_plain, with_base64
from babygpt.plots.style import COLOURS
from tools.book.live_parts import script_json
from tools.book.race import BLOCK, CORPUS, FOLDER

ENCODINGS = {
    "rope": "RoPE (v4)",
    "gaussian": "Gaussian RoPE (v5)",
    "sinusoid": "Sinusoid (v3)",
    "alibi": "ALiBi",
    "learned": "Learned positions",
    "none": "No positions",
}
SECOND = {"twin": "Its twin: the same, and no dial moves", "nothing": "No second model"}
TEXTS = {CORPUS: "Tales", "tales-zh": "Tales in Chinese", "own": "Your own text"}
BEGINNINGS = {CORPUS: "rora chased lola. who chased? ", "tales-zh": "妹被你劝了。劝人的是谁？", "own": ""}
CHOICES = {  # name -> label, options, first choice
    "layers": ("Layers", ("1", "2", "3", "4"), "2"),
    "channels": ("Channels", ("32", "64", "128"), "64"),
    "batch": ("Windows in a batch", ("4", "8", "16"), "8"),
    "rate": ("Learning rate", ("0.3", "1", "3"), "1"),
    "steps": ("Steps", ("300", "600", "1200", "3000"), "600"),
}
TRY = ' Or <a href="../lab.html?{}">train in your browser</a>: {}.'
LESSONS = {  # that link to the lab, with everything set
    name: TRY.format(query.replace("&", "&amp;"), words)
    for name, query, words in (
        ("00_start_here", "second=none", "RoPE beside a model without positions, and a question of your own"),
        ("04_rope", "second=twin", "move θ while RoPE learns, beside its twin"),
        ("05_gaussian_rope", "first=gaussian&second=twin", "move σ while the model learns, beside its twin"),
        ("11_a_real_model", "text=own&second=alibi", "RoPE and ALiBi on a text of your own"),
    )
}
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
WORDS = {  # that the page shows; lab.js fills in what stands in braces
    "text": "{count} characters, {kinds} different ones. {rest}",
    "rare": "The {rare} rarest become one sign, □, because the engine knows {most}.",
    "short": "This is too short: a text needs 2,000 characters.",
    "long": "This is too long: the lab reads one million characters at most.",
    "unknown": "The models have never read {marks}, so they are left out.",
    "engine": "engine.js could not be loaded. Reload the page to try again.",
    "worker": "This browser cannot train here: it allows no workers or no WebAssembly ({error}).",
    "foreign": "{name} is no model that this lab has kept.",
    "running": "{state} · step {made} of {total} · loss {loss} · {pace} ms a step",
    "right": "Right answers: {first}",
    "valid": "Loss on text that was not read: {first}",
    "beside": ", and {second}",
    "reach": "{name}: a key that equals the query scores {near} at distance 0, and {far} at 16",
    "flat": "{name} adds its codes to the embeddings, so distance changes no score by itself",
    "none": "No positions: distance changes no score",
    "silenced": "Without {heads}: {now}. With all heads: {whole}.",
    "share": "{value}% right answers to {count} questions",
    "loss": "{value} nats on text that was not read",
    "head": "head {head} of layer {layer}",
    "earlier": "earlier: {name}",
    "hidden": "Type a beginning, and train.",
}
STEPS = Axis("step", (0.0, 1.0), digits=0)
NONE = np.zeros(0, np.float32)


def select(name: str, label: str, options: dict[str, str], chosen: str) -> str:
    """Return a labelled choice as HTML."""
    made = "".join(
        f'<option value="{value}"{" selected" * (value == chosen)}>{escape(words)}</option>'
        for value, words in options.items()
    )
    return f'<label><span>{label}</span><select name="{name}">{made}</select></label>'


def form() -> str:
    """Return the settings of the lab as a form; the page's address holds the same names."""
    sizes = "".join(
        select(name, label, {value: value for value in values}, chosen)
        for name, (label, values, chosen) in CHOICES.items()
    )
    return (
        f'<form class="lab-form">{select("text", "Text", TEXTS, CORPUS)}'
        '<div class="lab-own" hidden>Paste or drop your text here (it stays on your computer), or choose '
        '<input type="file" accept="text/*" aria-label="a text file"><textarea rows="5" spellcheck="false" '
        'aria-label="your text"></textarea></div><p class="lab-counts" aria-live="polite"></p>'
        f"{select('first', 'First model', ENCODINGS, 'rope')}"
        f"{select('second', 'Second model', SECOND | ENCODINGS, 'none')}"
        f"<details><summary>Size, learning rate, steps, seed</summary><div>{sizes}<label><span>Seed</span>"
        '<input name="seed" type="number" min="1" max="999999" value="1"></label></div></details>'
        '<p class="lab-buttons"><button>Train</button> <button type="button" class="lab-keep" disabled>'
        'Keep the first model (a file)</button> <label class="lab-load">Load a model '
        '<input type="file" accept=".babygpt"></label> <a href="lab.html">All settings as at first</a></p>'
        "</form>"
    )


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
    seen = Axis("letter looked at"), Axis("letter that looks")
    return {
        "loss": Panel("", [thin, blank], STEPS, y, over_steps=True, below=gap),
        "right": Panel(
            "", [chance, points], STEPS, Axis("right answers", (0, 105), unit="%", digits=0), over_steps=True
        ),
        "valid": Panel("", [points], STEPS, y, over_steps=True),
        "reach": Panel("", [blank], distance, Axis("score of q = k", (-10.0, 10.0))),
        "heads": Panel("Layer 1, head 1", [heads], *seen, width=1.5),
    }


def lab_html() -> str:
    """Return the HTML of the lab, for a page at the book's root."""
    own = {
        "names": ENCODINGS | SECOND,
        "controls": [control.facts() for control in CONTROLS],
        "dials": DIALS,
        "beginnings": BEGINNINGS,
        "words": WORDS | {"losses": loss_words("{name}"), "gaps": gap_words("{name}")},
        "panels": with_base64(as_plain(panels())),
    }
    return (
        f'<link rel="stylesheet" href="{FOLDER}/race.css"><div class="lab" data-folder="{FOLDER}/">'
        f'<script type="application/json">{script_json(own)}</script>{form()}'
        "<noscript>The models train in your browser, which needs JavaScript.</noscript>"
        f'</div><script defer src="{FOLDER}/lab.js"></script>'
    )
