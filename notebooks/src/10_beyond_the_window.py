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
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 70 seconds to run on two cores, about 36 minutes to read and guess; the exercises about 23 more, and 12 for those marked *stretch*. **You will have:** computed which angles a model has never seen, stretched a model of yours in four ways, fine-tuned one beside a control, and told models that find a value from models that know which came last.

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
from babygpt.tables import Table, source
from babygpt_course.exercises import lesson_10 as tasks
from babygpt_course.studies.paired import beside, decided_side
from babygpt_course.studies.results import load_results
from babygpt_course.studies.stretch import SHARES, STATEMENTS, TWICE, values, verdict
from babygpt_course.studies.stretching import explore_stretching, stretched

# %%
plots.set_style()
study = load_results("stretch")


def of(run, number):
    """One number of a run of the study: an array, one a seed."""
    return np.array(values(study, run, number))


# %% [markdown]
# `study` holds stored results: every model below, trained from six [seeds](../docs/glossary.md#seed). This page trains one run of its own. Where the page prints *yours* and *ours*, yours is the run of this page, and ours are the study's. A difference between two models is *decided* if all six seeds agree and Student's test agrees too ([08](08_the_ladder.ipynb)). It counts from 0.02 nats or 5 points of right answers; otherwise we write *undecided*. All models have 2 layers and 24 [channels](../docs/glossary.md#channel) a [head](../docs/glossary.md#head), and were trained for 400 steps on windows of 64 characters. Larger models may behave differently.
#
# ## A text that asks
#
# We need a text on which memory can be seen. The tales will not do: nearly all that a letter depends on stands a few letters before it, and a model that has forgotten the rest loses next to nothing. So notes are put into them. `<7>` **tells** a digit, and some time later `[7]` **asks** for it: after the bracket, the digit told last must come. Capitals are asked for in `{K}`, Greek letters in `(α)`.

# %%
corpus = load_corpus("recall", n_chars=400_000)
tokenizer, window = corpus.tokenizer, 64
print(tokenizer.decode(corpus.val[:184]))

# %% [markdown]
# The value told is drawn from ten, evenly, and cannot be predicted. The value asked for stands in the text, 8 to 52 characters back. A model that remembers it is always right, and one that has forgotten the note is right once in ten. We ask **three questions**, and keep them apart:
#
# - **loss**: how well does the model predict the text, character by character?
# - **a lone value**: it was told a chosen distance ago, and no other value of its kind stands in the text. How often is the answer right? The model only has to *find* it.
# - **the last of two**: an older value of the same kind was told 24 characters before it. How often is the answer the last one, and how often the older one? This is the rule of the text: the model has to know the *order* of the two.
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
# While it trains: how do we measure the three? Loss beyond the window can be compared with loss *inside* only on **the same characters**. Each is predicted twice: by v4 from its last 64 characters alone, as in training, and by the model in question from all that stands before it. We call the difference the *cost* of reading on; below 0 the longer text has helped. The second helper asks for a value at the end of a text, told a chosen distance before. Notes of the other two kinds stand around it, as in training.

# %% tags=["nbval-ignore-output"]
def cost(model, windows=4):
    """Nats a character that a model loses in so many windows, compared with v4's last 64 characters."""
    return metrics.position_matched_change(model, corpus.val, windows * window, 12, within=v4)[0]


def recall(model, *distances, length=4 * window, n=64, **more):
    """Shares of answers: right, and an older value (with `older`), at the end of `length` characters."""
    return metrics.recall_by_distance(model, tokenizer, distances, n=n, length=length, **more)


# %% tags=["nbval-ignore-output"]
history = run.result()
inside = recall(v4, 24, 48, length=window).accuracy
print(f"a lone value, 24 and 48 back in a window of {window}: {inside[0]:.0%} and {inside[1]:.0%} right")
lucky = recall(v4, 48, length=window, is_told=False).accuracy[0]
print(f"not told at all: {lucky:.0%}")
two = recall(v4, 24, length=window, older=[24])
print(f"two values, 24 and 48 back: the last {two.accuracy[0]:.0%}, the older one {two.older[0]:.0%}")

# %% tags=["nbval-ignore-output"]
print("a lone value, 48 back:", beside(inside[1], values(study, "v4", "alone 1"), "%"))
print("the last of two:", beside(two.accuracy[0], values(study, "v4", "last 1"), "%"))

# %% [markdown]
# v4 has learned to find a value, and it has learned the rule. In the study it gives the last of two values in 84 to 100% of the questions, by seed, and the older one in 0 to 11%. The last row of the squares is the bracket that asks. In our run one head spends more than half of its attention there on the three characters of the note. That is a picture, and no proof that the answer comes from there.
#
# ## Read on
#
# Now it reads 256 characters at once, four windows, without any change.

# %%
percent = {"low": 0, "high": 100, "unit": "%", "near": 12}  # what a guess of a share may be
which_falls = live.predict(
    "v4 reads four windows as it is. Loss past the window, recall of a lone value 192 back: which suffers?",
    ["neither", "the loss only", "the recall only", "both"],
)
which_falls

# %% tags=["answer", "nbval-ignore-output"]
nats, share = cost(v4), recall(v4, 192).accuracy[0]
print(f"reading four windows costs {nats:+.2f} nats; a lone value, 192 back: {share:.0%} right")
worse, forgot = nats > 0.05, share < 0.5
which_falls.compare("both" if worse and forgot else "the loss only" if worse else "neither")

# %% tags=["nbval-ignore-output"]
print("cost:", beside(nats, values(study, "v4", "cost 4"), "nats"))
print("a lone value:", beside(share, values(study, "v4", "alone 4"), "%"))

# %% [markdown]
# Both suffer, in every one of the study's six seeds: the cost is 0.25 to 0.47 nats, and v4 finds 10 to 48% of the lone values, where chance is 10%. The last characters of that long window *could* be predicted as in training, from what stands close by, if the model ignored the rest. It does not: something further back disturbs it, either the new angles or simply more tokens to look at.
#
# ## Three ways to slow down
#
# Interpolation slows all pairs alike, and blurs neighbours. Two refinements keep the quick pairs as they were.
#
# - **NTK-aware** (bloc97 2023): a larger base. $\theta' = \theta\, s^{D/(D-2)}$ leaves the quickest pair alone and makes the slowest exactly $s$ times slower; the others lie in between.
# - **YaRN** (Peng et al. 2023): look at how often each pair turned in the window. Those that turned often stay; those that never finished a turn are interpolated; in between a ramp. The paper's ramp ends at 32 turns, for windows of 4,096. And attention is made a little sharper, by a rule that its authors found by trying: [queries](../docs/glossary.md#query) and [keys](../docs/glossary.md#key) are each multiplied by $1 + 0.1\ln s$.

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
# Two of these settings were made for other models. No pair of ours makes 32 turns in 64 tokens, so YaRN's ramp leaves only the first pair alone. And YaRN's paper says that the factor of NTK-aware scaling has to be *higher* than the text is longer. So the study also has a YaRN whose ramp ends at 2 turns, NTK-aware scaling with twice the factor, and YaRN's two parts alone: the ramp without the sharper attention, and the sharper attention without the ramp.
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
explorer = explore_stretching(v4, corpus.val)
explorer.controls["method"].value = "yarn"
explorer.refresh()
explorer

# %% tags=["answer", "nbval-ignore-output"]
models = {method: stretched(v4, method, 4) for method in methods}
losses = {method: cost(model) for method, model in models.items()}
print(", ".join(f"{method} {nats:+.2f} nats" for method, nats in losses.items()))
calmest.compare(min(losses, key=losses.get))

# %% tags=["nbval-ignore-output"]
for method, nats in losses.items():
    print(f"{method:13}", beside(nats, values(study, method, "cost 4"), "nats"))

# %% [markdown]
# In the study NTK-aware scaling costs less than the other three, 0.19 nats (decided), though it is the one *with* new angles. Interpolation has none, and costs 1.50 nats, far more than v4 as it is (decided). It loses 1.41 of them in windows of 64 already, because neighbours look four times as close to each other as in training. Is it good for nothing?

# %%
told = "A lone value, told 192 characters ago: what share of answers will be right?"
with_interpolation = live.predict(f"Interpolation by 4, untuned. {told}", **percent)
with_interpolation

# %% tags=["answer", "nbval-ignore-output"]
recalled = {method: recall(model, 192).accuracy[0] for method, model in models.items()}
with_interpolation.compare(100 * recalled["interpolation"])


# %%
def board(runs, **columns):
    """A row for each run of the study: shares as a mean in percent with their range, losses as a mean."""

    def cell(run, number):
        x = of(run, number)
        if number.startswith(SHARES):
            return f"{x.mean():.0%} ({x.min():.0%} to {x.max():.0%})"
        return f"{x.mean():.2f}"

    heading = ("", *(name.replace("_", " ") for name in columns))
    return Table(heading, [(run, *(cell(run, what) for what in columns.values())) for run in runs], stable=1)


# %% [markdown]
# From the study, six seeds, nothing trained after the stretch. Costs are in nats; with 200 questions a share is known to 3.5 points, one standard error.

# %% tags=["nbval-ignore-output"]
answers = {"a_lone_value": "alone 4", "the_last_of_two": "last 4", "the_older_one": "older 4"}
kinds = ("none", "interpolation", "ntk", TWICE, "yarn", "yarn, 2 turns")
board(kinds, cost="cost 4", **answers)

# %% [markdown]
# **The columns do not agree.**
#
# - *Cost.* NTK-aware scaling costs 0.19 nats with the factor 4 and 0.17 with 8 (undecided). YaRN costs 0.32 as published, and 0.26 if its ramp ends at 2 turns (undecided: five seeds of six). NTK-aware scaling with the factor 8 costs less than either (decided).
# - *A lone value.* YaRN finds 96%, more than v4 as it is and more than NTK-aware scaling with the factor 8, 55% (both decided). Beside interpolation, 86%, and the factor 4, 64%, the side is undecided.
# - *The last of two.* Inside the window v4 gives the last one in 93% of the questions. No method reaches that at four windows (decided for each). YaRN comes closest with 76%, ahead of interpolation with 57% and NTK-aware scaling with 34% (decided). Six other seeds confirm NTK-aware scaling (68% and 27%), but not interpolation (61%, undecided), so we call that pair undecided. The ramp to 2 turns, which finds as much, gives the last one in 45% only (decided): it finds a value and does not know which came last.
#
# The picture of the pairs suggests why. Quick pairs tell neighbours apart, and spelling depends on neighbours; interpolation changes these pairs, NTK-aware scaling hardly does. Slow pairs tell far from near; at new angles they say something that no head has learned, and interpolation and YaRN avoid that. This explanation fits the table, and we have not tested it.
#
# The two parts of YaRN alone:

# %% tags=["nbval-ignore-output"]
board(("none", "temperature alone", "yarn, no temperature", "yarn"), cost="cost 4", **answers)

# %% [markdown]
# The ramp does most of the work. Without the sharper attention it finds 88% of the lone values, and with it 96% (undecided). The sharper attention takes 0.02 nats off the ramp's cost (decided). Without the ramp it adds 9 points of lone values to v4 as it is, which six other seeds do not confirm (4 points, undecided). It changes nothing about the cost that is decided.
#
# Chen et al. fine-tune what they interpolate, and so do we.
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
after = [(cost(model), recall(model, 192).accuracy[0]) for model in (tuned, control)]
print("tuned: {:+.2f} nats; a lone value, 192 back: {:.0%} right".format(*after[0]))
print("control: {:+.2f} nats; a lone value, 192 back: {:.0%} right".format(*after[1]))
after_control.compare(100 * after[1][1])

# %% tags=["nbval-ignore-output"]
for arm, (nats, share) in zip(("ntk tuned", "control tuned"), after, strict=True):
    print(f"{arm:14}", beside(nats, values(study, arm, "cost 4"), "nats"))
    print("  a lone value", beside(share, values(study, arm, "alone 4"), "%"))

# %% [markdown]
# In the study the control finds 10 to 48% of the lone values. RoPE as it is, tuned at the new length, finds 42 to 94% (decided). So the new length is what helps, and not more training. How do the methods compare, once each has had its sixty steps?

# %% tags=["nbval-ignore-output"]
fine_tuned = ("control", "none", "interpolation", "ntk", "yarn, 2 turns")
columns = {"loss_in_one_window": "loss", "cost": "cost 4", **answers}
board([f"{method} tuned" for method in fine_tuned], **columns)

# %% [markdown]
# RoPE as it is, just trained on at the new length, costs 0.15 nats. Interpolation costs 0.41 after the same sixty steps (decided; six other seeds confirm it). These six seeds also decide that it finds more of the lone values, 86% instead of 65%. From six others it is 79% instead of 55%, but undecided: from one seed both find nearly all. Chen et al. find interpolation ahead in both, for large models and about 1,000 steps. The *last of two* does not come back: each tuned model gives it less often than YaRN without any training. For RoPE as it is and the ramp to 2 turns, six other seeds confirm that; for interpolation they do not decide. And tuning costs something at the old length: on windows of 64 the loss rises from 1.18 nats to 1.28 with NTK-aware scaling and to 1.50 with interpolation. To serve both lengths, keep both sets of weights or mix the lengths.
#
# ## Throw the code away
#
# Does it need a code at all? In a [causal](../docs/glossary.md#causal) model the early tokens see fewer others, and that alone tells something of order ([03a](03a_attention.ipynb)). DroPE (Gelberg et al. 2025) trains *with* RoPE, since that learns faster, then drops it and recalibrates briefly at the old length. What has no angles has no new angles. In the study that was done, too, with our sixty steps:

# %% tags=["nbval-ignore-output"]
board(("none", "drop", "drop tuned", "yarn"), **columns)

# %% [markdown]
# Without its code the model hardly spells any more: its loss in one window is 2.66 nats. It still **finds** 95% of the lone values: a value is found by its content, bracket to value, and that needs no angle. It does not know which of two values came last: it gives the last one in 49% and the older one in 48%, as if it tossed a coin. Sixty steps bring back 66% of the lost spelling, and nothing of the order (48%). The paper recalibrates models of up to 7 billion weights, and asks for needles that differ in content.

# %% [markdown]
# ## Another family
#
# ALiBi and its kin rotate nothing; they add to each [score](../docs/glossary.md#score) a number that depends on the distance, a [kernel](../docs/glossary.md#kernel). No angle can be new. [04](04_rope.ipynb) and [05](05_gaussian_rope.ipynb) found them calm far beyond the window: nothing happens to the loss. We train one, on the same batches, and ask it, too.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(1337)
alibi = build("alibi", shape)
follow(train(alibi, objective, recipe), recipe.steps, "alibi", leave=False)
calm = metrics.position_matched_change(alibi, corpus.val, 4 * window, 12)[0]
print(f"ALiBi, four windows beside its own last 64 characters: {calm:+.2f} nats")

# %%
calm_recalls = live.predict(f"ALiBi's loss has not changed by a tenth of a nat. {told}", **percent)
calm_recalls

# %% tags=["answer", "nbval-ignore-output"]
distances = np.array([8, 24, 48, 96, 144, 192, 240])
asked = {"v4": v4, "stretched: YaRN": models["yarn"], "alibi": alibi}
curves = {name: 100 * recall(model, *distances, n=40).accuracy for name, model in asked.items()}
fig, ax = plt.subplots(figsize=(7, 3.6))
title = f"A lone value: ALiBi is right in {curves['alibi'][5]:.0f}% at a distance of 192"
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
print("change of the loss:", beside(calm, values(study, "alibi", "own 4"), "nats"))
print("a lone value, 192 back:", beside(curves["alibi"][5] / 100, values(study, "alibi", "alone 4"), "%"))

# %% [markdown]
# ALiBi forgets as it goes, and its loss does not show it. In the study its loss changes by 0.05 nats at eight windows, and there it finds 44% of the lone values. KERPLE's logarithm makes it plainer: its loss changes by 0.00 nats, and it finds 9%, no more than chance. Inside the window it finds 40 to 98%, by seed. A model that does not look far back cannot be disturbed by what stands there. **A steady loss beyond the window only shows that the model is not disturbed. To test memory, ask a question.**
#
# ## Which shape does training choose?
#
# The kernels differ in what they can be. ALiBi's straight lines are fixed. T5 learns a number for every bucket of distances, and KERPLE learns how fast a logarithm falls. A kernel has to begin somewhere: our KERPLE begins close to ALiBi, and the public code begins at random. Here is, from one seed of each, the head that forgets least:

# %%
kinds = {
    "alibi": "ALiBi",
    "t5": "T5",
    "kerple-log": "KERPLE",
    "kerple-log, public start": "KERPLE, public start",
}

# %% tags=["nbval-ignore-output"]
every = {arm: np.array(study["kernels"][arm][0]) for arm in kinds}  # (H, distances)
curves = {kinds[arm]: kernel[kernel[:, -1].argmax()] for arm, kernel in every.items()}
fig, ax = plt.subplots(figsize=(7, 3.6))
title = "Four kernels, of each the head that forgets least"
labels = (title, "distance (tokens)", "added to a score")
colours = dict(
    zip(curves, (plots.COLOURS[name] for name in ("pink", "blue", "orange", "green")), strict=True)
)
x = np.log2(np.array(study["kernel_at"]) + 1)
plots.draw_curves(ax, x, curves, *labels, y_span=(-40, 4), colours=colours)
ax.set_xticks(range(0, 10, 3), [2**power - 1 for power in range(0, 10, 3)])
ax.axvline(np.log2(window + 1), color="black", lw=1, ls="--")
plt.show()

# %%
who_recalls = live.predict(
    "Which of these finds a lone value 384 back in a text of 512 nearly always, in every seed?",
    list(kinds.values()),
)
who_recalls

# %% tags=["answer", "nbval-ignore-output"]
least = {name: of(arm, "alone 8").min() for arm, name in kinds.items()}
far = {
    "beside_its_own_window": "own 8",
    "lone_value,_48_of_64": "alone 1",
    "lone_value,_384_of_512": "alone 8",
}
order = {"last_of_two,_24_of_64": "last 1", "last_of_two,_192_of_256": "last 4"}
board((*kinds, "t5, public start", "t5, 128"), **far, **order)

# %% tags=["answer", "nbval-ignore-output"]
who_recalls.compare(max(least, key=least.get))

# %% [markdown]
# Training fits the kernel **inside** the window. Beyond it T5's last bucket stands still, 2 to 4 below the bias at distance 0. A query and a key that fit well can outbid that from any distance, so T5 finds 100% of the lone values, and its loss changes by 0.16 nats. (ALiBi's gentlest head falls no lower, but its three others fall by 8, 32 and 128.)
#
# But T5 cannot tell which of two far values came last. From 27 characters on all distances are in one bucket, so both notes get the same bias. At 192 it gives the last one in 51% of the questions, as if it tossed a coin; inside the window, where the two notes fall into different buckets, it gives it in 89%.
#
# Two settings matter here. *Buckets:* with the published 32 buckets up to 128, those beyond the window are never trained, and the loss rises by 1.17 nats. *The start:* KERPLE begins close to ALiBi here and finds 68% of the lone values inside the window; at 192 it finds no more than chance, from every seed. With the public code's random start it depends on the seed: at 192 it finds 10 to 62%, more than 30% from 2 of 6 seeds. So the logarithm alone is not to blame. T5's public start changes nothing that is decided.
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
inside_too = {"loss_in_one_window": "loss", "beside_its_own_window": "own 4", "lone_value": "alone 4"}
board(("v4", "v4-nope", "partial", "nope"), **inside_too, **order)

# %% tags=["answer"]
loses = decided_side(of("partial", "own 4") - of("v4", "own 4")) == "above"
recalls = decided_side(of("partial", "alone 4") - of("v4", "alone 4")) == "above"
parts.compare(f"it loses {'more' if loses else 'less'}, recalls {'more' if recalls else 'less'}")

# %% [markdown]
# To **find** a value by its content, a model needs no angles; to spell, and to know an order, it does. With no code at all, or a quarter of the pairs turning, models find nearly every lone value. Both cost more than RoPE at four windows (decided). But look at the last of two *inside their own window*: 52% and 48%, where RoPE has 93% (decided). They never learned the rule, so they cannot keep it. A layer without a code costs nothing inside the window that is decided. Of the lone values at 192 it finds 32 to 72%, by seed, and RoPE alone 10 to 48%: undecided, since RoPE is ahead in one seed. (Two layers are few to leave one out of, and the large models are fine-tuned at the new length as well.)
#
# ## What the papers say, and what came out
#
# The study puts some statements of papers to our small models, as far as that is possible. Most of the papers measured other things, at another size; the table names their setting and ours. *Holds*, *fails* and *undecided* follow the rule above. *Open* means that one of the two models has not learned the task within its window.

# %% tags=["nbval-ignore-output"]
rows = [(one.says, one.source, one.theirs, one.ours, verdict(study, one)) for one in STATEMENTS]
Table(("statement", "source", "its setting", "ours", "here it"), rows, stable=4)

# %% [markdown]
# Six other seeds could be asked about eleven of these statements, and gave nine of the verdicts again. They leave undecided whether tuned interpolation recalls more than RoPE as it is, so read that *holds* as undecided. And they decide that dropped codes recall *less* than YaRN, which the table leaves undecided.
#
# A *fails* is no accusation. Our heads have 12 pairs, those of Llama 64. The papers fine-tune for longer, and their losses are per word or part of a word, so that spelling counts less. You can use the way of asking for your own model: the same characters, a control, and a question whose answer stands a known distance away.
#
# So, the engineer's question. *On this bench*, without training: take NTK-aware scaling if the text will not ask for anything far back, and YaRN if it will. Sixty steps of training at the new length lower the loss further, and do not teach the order of far values. So test what your task needs. If it asks for the *latest* of several values, such as a balance or an address that has changed, put older values into the test: a needle alone in a haystack says nothing about that.
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
# To go on with, without a checker: which head of v4 does the recalling, and which of its pairs does it need (`metrics.ablate_heads`, and a Rotary whose `frequencies` you change one by one)?
#
# ## Recap
#
# 1. A pair that never finished a turn in training meets new angles beyond the window: in our heads 8 pairs of 12. RoPE read four windows as it is costs about 0.3 nats and finds about a quarter of the values told 192 characters back, 10 to 63% by seed. (Below stand the means of two sets of six seeds.)
# 2. Untuned, no stretch is best at everything. NTK-aware scaling has the lowest cost. YaRN gives the last of two values in 68 to 76%, more often than NTK-aware scaling; beside interpolation that is undecided. Inside the window v4 gives it in 84 to 93%. Interpolation costs more than a nat.
# 3. Sixty steps at the new length let RoPE as it is find about twice as many of the lone values as the same steps at the old length: 55 to 65% instead of 30%, and 33 instead of 16% from four more seeds.
# 4. A steady loss is no memory: at eight windows ALiBi's changes by 0.05 to 0.06 nats, and it finds 44 to 46% of the lone values. A question with a known distance tells them apart.
# 5. To find a lone value is not to know the rule. No code at all and T5 find at least 95%, 192 characters back. Dropped codes find 86 to 95% there, nearly as many as v4 in its window. Of two values all three give the last one about as often as by tossing a coin.

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
# **b.** Most characters need nothing from far back, so a model that forgets and a model that remembers may have the same loss. Tempting is *a*, which is how such curves are often read; KERPLE shows the contrary. *c* would be the same haste the other way round.
#
# </details>
#
# **4.** After sixty steps at the new length a model recalls from 192 characters. What makes this a finding about the *length*?
#
# - a) six seeds
# - b) sixty steps at the old length, which do not give it
# - c) a lower training loss
#
# <details><summary>Answer</summary>
#
# **b.** The control has had as much training, of another kind. Tempting is *a*: seeds tell whether it happens again, and not what does it.
#
# </details>
#
# **5.** A model without any code finds a lone value from 384 characters back, in every question. Of two values it gives the last one in half of the questions. Has it forgotten the rule?
#
# - a) yes, at this distance
# - b) no, it only needs a sharper attention
# - c) it never learned it: inside its window it does no better
#
# <details><summary>Answer</summary>
#
# **c.** What was never learned cannot be forgotten. Tempting is *a*, because the question was asked far back; but a control inside the window comes first.
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
