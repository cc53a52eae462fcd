# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 10 · Beyond the window
#
# **A model was trained on windows of 64. How do you make it read 256?**
#
# Sooner or later every engineer has this question. A model reads well as far as its training [windows](../docs/glossary.md#window) reached, and the next task is four times as long. People *stretch* the positions of the model that they have: some slow RoPE's pairs down, some fine-tune for a while, some throw the code away, and some leave it out of a few layers from the start. Each has a paper that says it works. Here is one small **v4**, and all of that is done to it; and this notebook's own question is **what "works" means**. To read a text calmly is one thing, and to know what stood at its beginning is another.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 70 seconds to run on two cores, about 36 minutes to read and guess; the exercises about 23 more, and 12 for those marked *stretch*. **You will have:** computed which angles a model has never seen, stretched a model of yours in four ways, fine-tuned one beside a control, and told models that read on from models that remember.

# %% tags=["nbval-ignore-output"]
from __future__ import annotations  # solutions may name types that are not imported here

import copy

import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, follow, live, metrics, plots, train
from babygpt.data.corpus import load_corpus, recall_corpus
from babygpt.data.recall import Spacing
from babygpt.encodings import Interpolated, NTKAware, YaRN
from babygpt.models.stretching import stretched
from babygpt.tables import Table, source
from babygpt_course.exercises import lesson_10 as tasks
from babygpt_course.studies.paired import beside
from babygpt_course.studies.results import load_results
from babygpt_course.studies.stretch import STATEMENTS, seeds_for, values, verdict

# %%
plots.set_style()
study = load_results("stretch")


def of(run, number):
    """One number of a run of the study: an array, one a seed."""
    return np.array(values(study, run, number))


# %% [markdown]
# This is a study that the course has stored: everything that follows, and more, from three [seeds](../docs/glossary.md#seed) each. What is trained on this page is one run. Where a sentence speaks of "every seed", it is the study's, and a test of the course checks it. Where the page prints *yours* and *ours*, yours is the run of this page, and ours are the study's. All of it was measured on models of 2 layers and 24 [channels](../docs/glossary.md#channel) a [head](../docs/glossary.md#head), trained for 400 steps on windows of 64 characters. What holds for a model of 7 billion weights is for you to find out; the study's command takes [a checkpoint of your own](../docs/shell.md), too.
#
# ## A text that asks
#
# We need a text on which memory can be seen. The tales will not do: nearly all that a letter depends on stands a few letters before it, and a model that has forgotten the rest loses next to nothing. So notes are put into them. `<7>` **tells** a digit, and some time later `[7]` **asks** for it: after the bracket, the digit told last must come. Capitals are asked for in `{K}`, Greek letters in `(α)`.

# %%
corpus = load_corpus("recall", n_chars=400_000)
tokenizer, window = corpus.tokenizer, 64
print(tokenizer.decode(corpus.val[:184]))

# %% [markdown]
# What is told is drawn from ten values, evenly, and nobody can know it beforehand. What is asked stands in the text, 8 to 52 characters back. A reader who remembers is always right, and one who has forgotten the note is right once in ten. So we have **two questions**, and will keep them apart:
#
# - **loss**: how surprised is the model by the text, letter by letter?
# - **recall**: of values told a chosen distance ago, how many does it get right?
#
# ## By hand: who has seen which angle
#
# RoPE turns pair $i$ of a head's channels by $\omega_i = \theta^{-2i/D}$ radians a token ([04](04_rope.ipynb)). At the end of a window of $n$ tokens it has turned by $n\,\omega_i$. One turn is $2\pi$. A pair that has gone round has shown the model every angle there is; a pair that has not is somewhere on its first round, and beyond that the model has **never seen it stand**.

# %%
unfinished = live.predict(
    "A head of v4 has 24 channels, so 12 pairs, and θ is 10000. How many never finish a turn in 64 tokens?",
    **{"low": 0, "high": 12, "near": 1},
)
unfinished

# %% tags=["answer"]
omega = 10_000.0 ** (-np.arange(0, 24, 2) / 24)  # (12,) radians a token
turns = window * omega / (2 * np.pi)
print("turns in 64 tokens:", *(f"{n:.3g}" for n in turns))
unfinished.compare(int((turns < 1).sum()))

# %% [markdown]
# Two in three. The first pair goes round ten times, the fourth just once (1.02 turns), and the slowest makes less than one degree of its 360. Now let a token look 100 back. Between the two the fifth pair stands at an angle that it never had:

# %%
assert (turns >= 1).sum() == 4
assert np.degrees(window * omega[-1]) < 1
known, there = np.degrees(window * omega[4]), np.degrees(100 * omega[4])
print(f"pair 5 was trained from 0° to {known:.0f}°; at position 100 it stands at {there:.0f}°")
assert known < there < 360

# %% [markdown]
# The plainest cure is **position interpolation** (Chen et al. 2023): take position $m$ for $m/s$. To read $s = 4$ times as far, put four tokens where one stood. Position 100 becomes 25, and 25 is known. It is the same as making every pair $s$ times slower, since $(m/s)\,\omega = m\,(\omega/s)$, and so one can leave the positions alone and change the frequencies:

# %%
slower = Interpolated(24, factor=4.0).frequencies().numpy()
positions = np.arange(4 * window)
assert np.allclose(np.outer(positions / 4, omega), np.outer(positions, slower))
assert (4 * window * slower <= window * omega + 1e-9).all()  # no angle that was not there in training

# %% [markdown]
# No angle is new. But there is a price to be seen already. A head that looks at the letter before it has learned what *one token* looks like: the first pair turned by 1 radian, 57°. Now one token is 14°.
#
# ## Train it
#
# A small v4, on windows of 64. Beside its loss, what its heads look at in a line that ends with a question.

# %% tags=["nbval-ignore-output"]
shape = ModelConfig(tokenizer.vocab_size, window, n_layer=2, n_head=4, n_embd=96)
objective, recipe = NextToken(corpus, window), TrainConfig(steps=400)
torch.manual_seed(1337)
v4 = build("v4", shape)
line = "wira f<6>ed lira. ["
run = live.train(v4, objective, recipe, "v4", watches=[live.heads(tokenizer, line)])


# %% [markdown]
# While it trains, the other half of the question: how will we know? Loss beyond the window can be compared with the loss *inside* only on **the same characters**. Each is predicted twice: by v4 from its last 64 alone, as in training, and by the model in question from all that stands before it. The difference is what reading on has changed; below 0 the longer text has helped. For recall, a value is told a chosen distance before the end of a window, and asked at its very end. The rest is text like any other, with notes of the two other kinds around, and none of its own kind, so that the only digit is the right one. Without the note that tells, a right answer is luck.

# %% tags=["nbval-ignore-output"]
def change(model, windows=4):
    """Nats a character that reading so many windows changes, compared with v4's last 64."""
    return metrics.position_matched_change(model, corpus.val, windows * window, 12, within=v4)[0]


def recall(model, *distances, length=4 * window, n=64, **more):
    """Share of values that come out right, told so far back and asked at the end of `length` tokens."""
    return metrics.recall_by_distance(model, tokenizer, distances, n=n, length=length, **more).accuracy


# %% tags=["nbval-ignore-output"]
history = run.result()
inside = recall(v4, 24, 48, length=window)
print(f"told 24 and 48 back in a window of {window}: {inside[0]:.0%} and {inside[1]:.0%} right")
lucky = recall(v4, 48, length=window, is_told=False)[0]
print(f"not told at all: {lucky:.0%}")

# %% tags=["nbval-ignore-output"]
print("told 48 back:", beside(inside[1], values(study, "v4", "recall 1 48"), "%"))

# %% [markdown]
# It has learned to recall. The last row of the squares is the bracket that asks; there is a head that spends more than half of its attention on the three characters of the note. (A picture, and no proof that the answer comes from there.)
#
# ## Read on
#
# Now it reads 256 characters at once, four windows, without any change.

# %%
percent = {"low": 0, "high": 100, "unit": "%", "near": 12}  # what a guess of a share may be
which_falls = live.predict(
    "v4 reads four windows as it is. Loss past the window, recall of what was told 192 back: which suffers?",
    ["neither", "the loss only", "the recall only", "both"],
)
which_falls

# %% tags=["answer", "nbval-ignore-output"]
nats, share = change(v4), recall(v4, 192)[0]
print(f"past the window the loss changes by {nats:+.2f} nats; told 192 back: {share:.0%} right")
worse, forgot = nats > 0.05, share < 0.5
which_falls.compare("both" if worse and forgot else "the loss only" if worse else "neither")

# %% tags=["nbval-ignore-output"]
print("change of the loss:", beside(nats, values(study, "v4", "change 4"), "nats"))
print("told 192 back:", beside(share, values(study, "v4", "recall 4 192"), "%"))

# %% [markdown]
# Both. And mind the 64 characters at the end of that long window: each of them *could* be predicted as in training, from what stands close by. The model would only have to overlook the rest. It does not: something back there disturbs it, be it the odd angles or simply that there are more tokens to look at. Nor is it for want of training. After four times as many steps its loss inside the window is lower, in every seed of the study, and at eight windows it loses 1.4 to 2.1 times as much beyond it.
#
# ## Three ways to slow down
#
# Interpolation slows all pairs alike, and blurs neighbours. Two refinements keep the quick pairs as they were.
#
# - **NTK-aware** (bloc97 2023): a larger base. $\theta' = \theta\, s^{D/(D-2)}$ leaves the quickest pair alone and makes the slowest exactly $s$ times slower; the others lie in between.
# - **YaRN** (Peng et al. 2023): look at how often each pair turned in the window. Those that turned often stay; those that never finished a turn are interpolated; in between a ramp. And attention is made a little sharper, by a rule that its authors found by trying: [queries](../docs/glossary.md#query) and [keys](../docs/glossary.md#key) are each multiplied by $1 + 0.1\ln s$.

# %%
source(NTKAware)

# %% tags=["nbval-ignore-output"]
new = {"interpolation": Interpolated(24, 4.0), "NTK-aware": NTKAware(24, 4.0), "YaRN": YaRN(24, 256, 4.0)}
slowing = {name: omega / encoding.frequencies().numpy() for name, encoding in new.items()}
fig, ax = plt.subplots(figsize=(7, 3.4))
title = "To read four times as far: how much slower each pair turns"
plots.draw_curves(ax, np.arange(1, 13), slowing, title, "pair of channels", "times slower")
ax.axvline(4.5, color="black", lw=1, ls="--")  # to the right: never finished a turn
plt.show()

# %% [markdown]
# To the right of the dashed line stand the pairs that never finished a turn. Interpolation and YaRN keep all of them within the angles they know. NTK-aware scaling does not: all but the last of these eight pairs still reach angles that are new.
#
# Now bet (`none` is v4 as it is):

# %%
methods = ("none", "interpolation", "ntk", "yarn")
calmest = live.predict(
    "Each method with the factor 4, nothing trained: with which does the loss of four windows suffer least?",
    methods,
)
calmest

# %% [markdown]
# Play before you look. On the left each pair, with the tokens that it takes for a turn: rings as trained, dots as stretched, in red those that reach new angles. On the right the loss along 512 characters. (A mean over six texts only, so it wobbles; both curves read the same six. Dotted: what v4 loses with its last 64 alone.) The red line marks how far the factor is meant to reach.

# %% tags=["answer", "nbval-ignore-output"]
explorer = live.stretching(v4, corpus.val)
explorer.controls["method"].value = "yarn"
explorer.refresh()
explorer

# %% tags=["answer", "nbval-ignore-output"]
models = {method: stretched(v4, method, 4) for method in methods}
losses = {method: change(model) for method, model in models.items()}
print(", ".join(f"{method} {nats:+.2f} nats" for method, nats in losses.items()))
calmest.compare(min(losses, key=losses.get))

# %% tags=["nbval-ignore-output"]
for method, nats in losses.items():
    print(f"{method:13}", beside(nats, values(study, f"{method} 4", "change 4"), "nats"))

# %% [markdown]
# NTK-aware, in every seed of the study, though it is the one *with* new angles; and interpolation, which has none, **stammers**: it loses more than a nat on every character, far more than v4 as it is. (Two thirds of that or more it loses on windows of 64 already, where its neighbours are as blurred.) Is it good for nothing?

# %%
told = "Of values told 192 characters ago, what share will be right?"
with_interpolation = live.predict(f"Interpolation by 4, untuned. {told}", **percent)
with_interpolation

# %% tags=["answer", "nbval-ignore-output"]
recalled = {method: recall(model, 192)[0] for method, model in models.items()}
rows = [(name, f"{losses[name]:+.2f}", f"{recalled[name]:.0%}") for name in models]
with_interpolation.compare(100 * recalled["interpolation"])

# %% tags=["nbval-ignore-output"]
Table(("method", "change of the loss (nats)", "right, told 192 back"), rows, stable=1)

# %% [markdown]
# **The two columns do not agree.** The stammerer finds nearly everything that was told three windows ago, and the calmest reader forgets a third of it. It is so in every seed: by loss, NTK-aware, then YaRN or no change at all, then interpolation, far behind; by recall, YaRN, then interpolation, then NTK-aware, then no change.
#
# It can be understood from the picture of the pairs. Quick pairs tell neighbours apart, and spelling hangs on neighbours; interpolation changes them, NTK-aware scaling hardly does. Slow pairs say *long ago*, and at new angles they say something that no head has learned; interpolation and YaRN spare them that. YaRN spares both, and pays with what lies in between. (It fits, and is no proof: which pair carries what in this model, and what YaRN's sharper attention does by itself, we have not taken apart.)
#
# Chen et al. fine-tune what they interpolate, and YaRN's paper speaks of models with 64 pairs; of our 12, YaRN's ramp leaves only one wholly alone. So we fine-tune.
#
# ## A little training
#
# Sixty steps at the new length, with as many characters a step as before (3 windows of 256 instead of 12 of 64), and at three tenths of the [learning rates](../docs/glossary.md#learning-rate). The text asks at longer distances now, up to 244. And a **control**, for any model might get better with sixty more steps: the same number of steps at the old length, on the old text. (So two things differ: how long the windows are, and how far back they ask. They go together, and we do not part them.)

# %%
after_control = live.predict(f"The control: 60 more steps on windows of 64, RoPE as it is. {told}", **percent)
after_control

# %% tags=["answer", "nbval-ignore-output"]
longer = recall_corpus(400_000, Spacing(furthest=52 + 3 * window))
gentle = {"lr_matrix": 0.3 * recipe.lr_matrix, "lr_other": 0.3 * recipe.lr_other}
tuned = copy.deepcopy(models["ntk"])  # the stretched models share v4's weights
brief = TrainConfig(steps=60, batch_size=3, **gentle)
fine = live.train(tuned, NextToken(longer, 4 * window), brief, "v4, NTK-aware, on windows of 256")

# %% tags=["answer", "nbval-ignore-output"]
fine.result()
control = copy.deepcopy(v4)
follow(train(control, objective, TrainConfig(steps=60, **gentle)), 60, "control", leave=False)
after = [(change(model), recall(model, 192)[0]) for model in (tuned, control)]
print("tuned: {:+.2f} nats; told 192 back {:.0%} right".format(*after[0]))
print("control: {:+.2f} nats; told 192 back {:.0%} right".format(*after[1]))
after_control.compare(100 * after[1][1])

# %% tags=["nbval-ignore-output"]
for arm, (nats, share) in zip(("ntk tuned", "control tuned"), after, strict=True):
    print(f"{arm:14}", beside(nats, values(study, arm, "change 4"), "nats"))
    print("  told 192 back", beside(share, values(study, arm, "recall 4 192"), "%"))

# %% [markdown]
# More training is not it; more training **at the new length** is. (The tuned one was also stretched. In the study RoPE as it is, tuned at the new length, recalls 59 to 95%, and the control 13 to 41%.) How do the methods compare, once each has had its sixty steps? From the study, three seeds each, untuned as dots and fine-tuned as rings:

# %%
dots, rings = ({m: of(f"{m} {when}", "change 4") for m in methods} for when in ("4", "tuned"))
fig, ax = plt.subplots(figsize=(7, 2.8))
title = "Fine-tuned, interpolation is still the furthest behind"
plots.draw_seed_dots(ax, dots, title, "change of the loss at four windows (nats)", {"": 0.0}, rings=rings)
plt.show()


# %% [markdown]
# Even the model whose pairs were left alone, and which was just trained on at the new length, is within 0.2 nats now; NTK-aware is ahead of it in every seed, and interpolation, the one that needs fine-tuning most, is not done after sixty steps. (The papers fine-tune for hundreds.) None of it is free: on windows of 64, the old length, each of them has become worse by a tenth of a nat or so, interpolation by three. Those who serve both lengths keep both sets of weights, or mix the lengths.
#
# ## Throw the code away
#
# Does it need a code at all? In a [causal](../docs/glossary.md#causal) model the early tokens see fewer others, and that alone tells something of order ([03a](03a_attention.ipynb)). DroPE (Gelberg et al. 2025) trains *with* RoPE, since that learns faster, then drops it and recalibrates briefly at the old length. What has no angles has no new angles. In the study that was done, too, with our sixty steps:

# %%
def board(runs, **columns):
    """A row for each run of the study: recall of every seed in percent, all else as a mean in nats."""
    form = {True: lambda x: " ".join(f"{one:.0%}" for one in x), False: lambda x: f"{x.mean():.2f}"}
    cells = {run: [form["recall" in what](of(run, what)) for what in columns.values()] for run in runs}
    heading = ("", *(name.replace("_", " ") for name in columns))
    return Table(heading, [(runs[run], *cells[run]) for run in runs], stable=1)


runs = {"none 8": "as it is", "drop 8": "dropped", "drop tuned": "dropped, recalibrated", "yarn 8": "YaRN"}
board(runs, loss_in_one_window="loss", right_384_back_of_512="recall 8 384")

# %% [markdown]
# Without its code the model hardly spells any more, and **recalls** almost everything, before any recalibration: which value was told is found by content, bracket to value, and needs no angle. Sixty steps bring back two thirds of the spelling, not all of it. The paper's claim, nothing lost inside the window, does not hold here after sixty steps; whether it would after more, this study does not say.

# %% [markdown]
# ## Another family
#
# ALiBi and its kin rotate nothing; they add to each [score](../docs/glossary.md#score) a number that depends on the distance, a [kernel](../docs/glossary.md#kernel). No angle can be new. [04](04_rope.ipynb) and [05](05_gaussian_rope.ipynb) found them calm far beyond the window: nothing happens to the loss. We train one, on the same batches, and ask it, too.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(1337)
alibi = build("alibi", shape)
follow(train(alibi, objective, recipe), recipe.steps, "alibi", leave=False)
calm = metrics.position_matched_change(alibi, corpus.val, 4 * window, 12)[0]
print(f"ALiBi, four windows: the loss changes by {calm:+.2f} nats")

# %%
calm_recalls = live.predict(f"ALiBi's loss has not changed by a tenth of a nat. {told}", **percent)
calm_recalls

# %% tags=["answer", "nbval-ignore-output"]
distances = np.array([8, 24, 48, 96, 144, 192, 240])
asked = {"v4": v4, "stretched: YaRN": models["yarn"], "alibi": alibi}
curves = {name: 100 * recall(model, *distances, n=40) for name, model in asked.items()}
fig, ax = plt.subplots(figsize=(7, 3.6))
title = f"ALiBi: {calm:+.2f} nats, and {curves['alibi'][5]:.0f}% right at a distance of 192"
labels = (title, "told so many characters before the end of 256", "right (%)")
colours = {
    "v4": plots.COLOURS["blue"],
    "alibi": plots.COLOURS["pink"],
    "stretched: YaRN": plots.COLOURS["green"],
}
plots.draw_curves(ax, distances, curves, *labels, y_span=(0, 105), legend="lower left", colours=colours)
plt.show()
calm_recalls.compare(curves["alibi"][5])

# %% tags=["nbval-ignore-output"]
print("change of the loss:", beside(calm, values(study, "alibi", "change 4"), "nats"))
print("told 192 back:", beside(curves["alibi"][5] / 100, values(study, "alibi", "recall 4 192"), "%"))

# %% [markdown]
# It forgets as it goes, and the loss does not say so. (YaRN's curve bends at its very end. Perhaps because a distance of 240 looks like 60 to its slow pairs, and in training nothing was asked further back than 52; we have not tested it.) KERPLE's logarithm, trained four times as long in the study, makes it plainer yet. Inside the window it recalls (of what was told 48 back three quarters or all, by seed). At eight windows its loss is that of one, to the second decimal. And of what was told 192 back it gets right as much as by luck. A model that does not look further back cannot be disturbed by what stands there. **Loss beyond the window measures peace of mind; only a question measures memory.**
#
# ## Which shape does training choose?
#
# The kernels differ in what they can be. ALiBi's straight lines are fixed. T5 learns a number for every bucket of distances, KERPLE how fast a logarithm falls; FIRE lets a small network read the distance as a share of how far the query could look (drawn for a query at 512), and v5's Gaussian learns its widths. Here is, from one seed of each, the head that forgets least:

# %% tags=["nbval-ignore-output"]
kinds = {"alibi": "ALiBi", "t5": "T5", "kerple-log": "KERPLE", "fire": "FIRE", "v5": "v5"}
every = {arm: np.array(study["kernels"][arm][0]) for arm in kinds}  # (H, distances)
curves = {kinds[arm]: kernel[kernel[:, -1].argmax()] for arm, kernel in every.items()}
fig, ax = plt.subplots(figsize=(7, 3.6))
title = "Five kernels, of each the head that forgets least"
labels = (title, "distance (tokens)", "added to a score")
colours = dict(
    zip(curves, (plots.COLOURS[name] for name in ("pink", "blue", "orange", "green", "red")), strict=True)
)
x = np.log2(np.array(study["kernel_at"]) + 1)
plots.draw_curves(ax, x, curves, *labels, y_span=(-40, 4), colours=colours)
ax.set_xticks(range(0, 10, 3), [2**power - 1 for power in range(0, 10, 3)])
ax.axvline(np.log2(window + 1), color="black", lw=1, ls="--")
plt.show()

# %%
who_recalls = live.predict(
    "Which of these still gets nearly all right that was told 384 back in a text of 512, in every seed?",
    list(kinds.values()),
)
who_recalls

# %% tags=["answer", "nbval-ignore-output"]
least = {name: of(arm, "recall 8 384").min() for arm, name in kinds.items()}
board(
    kinds, change_at_512="change 8", right_48_back_of_64="recall 1 48", right_384_back_of_512="recall 8 384"
)

# %% tags=["answer", "nbval-ignore-output"]
who_recalls.compare(max(least, key=least.get))

# %% [markdown]
# Training chooses the shape **inside** the window. What the kernel does beyond it, the *family* has chosen: a logarithm falls on, a square falls off a cliff, and T5's last bucket stands still, 2 to 3 below what the token itself is given, in all of its heads and however far it goes. A query and a key that fit well can outbid that from any distance. (At eight windows ALiBi's gentlest head is no lower. But it is alone: the three others have fallen by 8, 32 and 128.) It pays with a little unrest, a fifth of a nat at eight windows, for everything far away is a little audible.
#
# Two things must be said against T5's triumph. First, it depends on where the last bucket begins. Here there are 16, the last from 27 tokens on, so that each is met in training. With the published 32 buckets up to 128, those beyond the window are never trained, and the loss rises by more than a nat. Second, FIRE and v5 did not learn to recall in these 400 steps, *not even within the window* (the middle column), and whoever has not learned something cannot forget it. After four times as many v5 does recall inside, 65 to 77%, and 384 back by luck alone. FIRE still has not, perhaps for how it begins here, and so its last column says nothing about its shape.
#
# ## Layers without a code, pairs that stand still
#
# And why do large models leave the code out of some layers? Some recent ones have RoPE in three layers of four, and in the fourth no code at all; others turn only a quarter of the pairs. In the study: one layer of two without a code (`v4-nope`), a quarter of the pairs turning (`partial`), and no code at all (`nope`), each trained so from the start.

# %%
outcomes = [f"it loses {one}, recalls {other}" for one in ("less", "more") for other in ("less", "more")]
parts = live.predict(
    "Partial RoPE: only the quickest 3 of 12 pairs turn. Beside RoPE, at four windows:", outcomes
)
parts

# %% tags=["answer", "nbval-ignore-output"]
arms = {arm: arm for arm in ("v4", "v4-nope", "partial", "nope")}
columns = {"loss_in_one_window": "loss", "change_at_256": "change 4", "right_192_back_of_256": "recall 4 192"}
board(arms, **columns, right_384_back_of_512="recall 8 384")

# %% tags=["answer"]
loses = of("partial", "change 4").min() > of("v4", "change 4").max()
recalls = of("partial", "recall 4 192").min() > of("v4", "recall 4 192").max()
parts.compare(f"it loses {'more' if loses else 'less'}, recalls {'more' if recalls else 'less'}")

# %% [markdown]
# The idea is the one that dropping the code has shown: to **find** something by what it is, angles may be in the way; to **spell**, they are needed. So a model is given both, and both halves can be seen. With pairs that stand still, recall reaches as far as we asked, 384, in every seed; and where all but three stand still, spelling at four windows suffers more than RoPE's own. A layer without a code costs nothing inside the window and recalls further than RoPE alone, if not reliably: two times in five to two in three. (Two layers are few to leave one out of. And these models were not fine-tuned at the new length, as the large ones are, on top of it.)
#
# ## What the papers say, and what came out
#
# The study asks each paper's claim of our small models, as far as it can be asked there. *Holds* means in every seed, *fails* in none; *open* that one of the two had never learned to recall in its window.

# %% tags=["nbval-ignore-output"]
said = {one.says: verdict(study, one) for one in STATEMENTS}
counts = {one.says: "{} of {}".format(*seeds_for(study, one)) for one in STATEMENTS}
rows = [(one.says, one.source, counts[one.says], said[one.says]) for one in STATEMENTS]
Table(("claim", "source", "seeds", "at this size it"), rows, stable=2, open=12)

# %% [markdown]
# A *fails* is no accusation. Our heads have 12 pairs, and those of Llama, for which much of this was made, 64; papers fine-tune longer, and their losses are per word or half a word, so that spelling is a smaller part. What can be carried away is the way of asking: on the same characters, beside a control, and with a question whose answer stands a known distance away.
#
# So, the engineer's question. *On this bench*: without any training, take YaRN if the text will ask for what stands far back, and NTK-aware scaling if it will not. With a minute of training, fine-tune at the new length, from either. Then ask for something that stands at its beginning.
#
# And your guesses beside what came out:

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Exercises
#
# Solve what you like, in any order; each says its level and about how long it takes. Write in the cell below a task and run the cell after it: ✓ or ✗ for each thing asked, and for ✗ an input that shows it. In a new cell, `tasks.NTK.hint()` gives one hint at a time, and `tasks.NTK.solution()` one way to do it.

# %%
tasks.NTK


# %%
def ntk(head_dim, theta, factor):
    """RoPE's frequencies (head_dim/2,) in radians per token, for texts `factor` times as long."""
    return theta ** (-torch.arange(0, head_dim, 2) / head_dim)


# %%
tasks.NTK.check(ntk)

# %%
tasks.NTK.draw(ntk)

# %%
tasks.YARN


# %%
def yarn(frequencies, window, factor, fewest, most):
    """YaRN's frequencies (P,) for texts `factor` times as long, and what it multiplies scores by."""
    return frequencies, 1.0


# %%
tasks.YARN.check(yarn)

# %%
tasks.FORGETS


# %%
def forgets(reader, distance):
    """Whether a reader has forgotten a digit that it was told `distance` characters ago."""
    text = "<C7>" + "." * (distance - 4) + "[C"
    return reader(text) != "7"


# %%
tasks.FORGETS.check(forgets)

# %% [markdown]
# To go on with, without a checker: which head of v4 does the recalling, and which of its pairs does it need (`metrics.ablate_heads`, and a Rotary whose `frequencies` you change one by one)? And what does YaRN forget if its sharper attention is left out?
#
# ## Recap
#
# 1. A pair that never finished a turn in training comes to new angles beyond the window: in our heads 8 pairs of 12, and in every seed both loss and recall suffer.
# 2. Interpolation avoids new angles and blurs neighbours: untuned it loses more than a nat and recalls nearly everything; NTK-aware scaling reads best untuned and recalls less; YaRN recalls best.
# 3. Sixty steps at the new length bring back most of what RoPE as it is forgot, and the same steps at the old length do not.
# 4. A calm loss beyond the window is no memory: ALiBi's hardly changes while its recall fades, and KERPLE's not at all while it recalls nothing; a question with a known distance tells them apart.
# 5. What is found by content, and is the only one of its kind, needs no angle: models without a code in all or some of their pairs or layers recall from further back, and pay in spelling where it is all or most of them.

# %% [markdown]
# ## Self-test
#
# **1.** A head has 12 pairs, the window is 64, θ is 10000. Now θ is 100. How many pairs never finish a turn?
#
# - a) as many as before
# - b) fewer
# - c) more
#
# <details><summary>Answer</summary>
#
# **b.** With a smaller base the slow pairs are quicker: with 100 the slowest needs 428 tokens for a turn instead of 29,000, and seven of the 12 finish one. Tempting is *c*, since large bases are said to be for long texts: they are, because slow pairs then move little.
#
# </details>
#
# **2.** Untuned interpolation by 4 raises the loss also on texts of 64 characters. Why?
#
# - a) the angles between neighbours are a quarter of what the heads have learned
# - b) the text has new angles
# - c) the model has forgotten the window
#
# <details><summary>Answer</summary>
#
# **a.** Position 64 becomes 16, and one step a quarter of a step. Tempting is *b*, but new angles are just what interpolation avoids.
#
# </details>
#
# **3.** A model's loss at eight windows equals its loss at one, to the second decimal. What follows for its memory?
#
# - a) it recalls as far as eight windows
# - b) nothing, until it is asked
# - c) it has no memory at all
#
# <details><summary>Answer</summary>
#
# **b.** Most letters need nothing from far back, so one that forgets and one that remembers may lose the same. Tempting is *a*, which is how such curves are often read; KERPLE shows the contrary, and *c* would be the same haste the other way round.
#
# </details>
#
# **4.** After sixty steps at the new length a model recalls from 192 characters. What makes this a finding about the *length*?
#
# - a) three seeds
# - b) sixty steps at the old length, which do not give it
# - c) a lower training loss
#
# <details><summary>Answer</summary>
#
# **b.** The control has had as much training, of another kind. Tempting is *a*: seeds tell whether it happens again, and not what does it.
#
# </details>
#
# **5.** FIRE recalls nothing at 384 in this study. Is its kernel to blame?
#
# - a) yes, it falls too fast
# - b) no, it is too short of parameters
# - c) it cannot be said: it had not learned to recall within the window either
#
# <details><summary>Answer</summary>
#
# **c.** What was never learned cannot be lost. Tempting is *a*, because its curve does fall; but a control inside the window comes first.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [YaRN](https://arxiv.org/abs/2309.00071) — Peng et al. 2023: the three ways of slowing down side by side, and the fine-tuning that belongs to them.
# - [Extending Context Window via Positional Interpolation](https://arxiv.org/abs/2306.15595) — Chen et al. 2023: why interpolating is safer than going on, and a passkey that is asked for far back.
# - [The Impact of Positional Encoding on Length Generalization](https://arxiv.org/abs/2305.19466) — Kazemnejad et al. 2023: tasks instead of losses, and what no code at all can do.
# - [RoPE to NoPE and Back Again](https://arxiv.org/abs/2501.18795) — Yang et al. 2025: layers with and without a code, measured at the size where it is used.
# - [Round and Round We Go](https://arxiv.org/abs/2410.06205) — Barbero et al. 2024: which pairs of a large model carry what, and why some should not turn.

# %% [markdown]
# ## What comes next
#
# Stretch a model of your own: `stretched(model, method, factor)` takes any model with RoPE, and [the study](../docs/results.md) has every number. The encodings of this page, T5, KERPLE, FIRE, xPos and the stretched RoPEs, stand on the same ladder as the seven: [08 · The ladder](08_the_ladder.ipynb) is where one of your own meets them. And if a number here surprises you, read [09 · The museum of bugs](09_museum_of_bugs.ipynb) once more, and then check it.
