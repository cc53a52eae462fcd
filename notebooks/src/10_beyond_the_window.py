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
# **How does a model read further than it was trained?**
#
# A model was trained on [windows](../docs/glossary.md#window) of 64 characters. Now it reads a text of 256. Several papers *stretch* the positions of a trained model and report that this works. But a model can predict a long text well and still forget how it began. So we measure loss and memory separately. You will
#
# 1. see which angles of RoPE are new in a long text,
# 2. stretch the positions of your own model in three ways,
# 3. compare the loss of each model with what it remembers,
# 4. train your model a little at the new length, beside a control.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 60 seconds to run on two cores, and by our estimate 55 minutes to read and guess. The exercises take about 23 minutes, and those marked *stretch* take 12 more.

# %%
import copy

import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, follow, live, metrics, plots, train
from babygpt.data.corpus import load_corpus, recall_corpus
from babygpt.data.recall import Spacing
from babygpt.encodings import Interpolated, NTKAware, YaRN
from babygpt.tables import Table
from babygpt_course.exercises import lesson_10 as tasks
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import paired, results, stretch
from babygpt_course.studies.stretching import explore_stretching, stretched

# %%
plots.set_style()
window, omega = 64, 10_000.0 ** (-np.arange(0, 24, 2) / 24)  # omega: (12,) radians per character
fig, axes = plt.subplots(2, 6, figsize=(9, 4.2), subplot_kw={"projection": "polar"})
for pair, (ax, speed) in enumerate(zip(axes.flat, omega, strict=True), start=1):
    for length, colour in ((4 * window, "red"), (window, "grey")):
        angle = min(length * speed, 2 * np.pi)
        ax.bar(angle / 2, 1, angle, color=plots.COLOURS[colour])
    ax.set_title(f"pair {pair}\n{window * speed / (2 * np.pi):.2g} turns", fontsize=10, y=1.0, pad=1)
    ax.set_axis_off()
new = (window * omega < 2 * np.pi).sum()
fig.suptitle(f"A text of four windows takes {new} of {len(omega)} pairs to new angles (orange)")
plt.show()

# %% [markdown]
# RoPE rotates pairs of channels by an angle that grows with the position ([04](04_rope.ipynb)). Each disc shows one pair of a [head](../docs/glossary.md#head). Grey marks the angles that occur in a window of 64 characters. Orange marks the angles that a text of 256 characters adds.
#
# Look at the first four discs. They are all grey, because these pairs make a full turn within the window. The other eight discs have an orange part. In the longer text **eight pairs reach angles for which the model was never trained**.
#
# Pair $p$ turns by $\omega_p = \theta^{-2(p-1)/D}$ radians per character. Our heads have $D = 24$ [channels](../docs/glossary.md#channel), and the base is $\theta = 10000$. So pair 1 is the quickest, and pair 12 the slowest.
#
# ## A text that asks
#
# To test memory, we need a text that asks for something far back. The tales do this rarely: a letter mostly depends on the few letters before it. So we put notes into the tales. `<7>` **tells** a digit. Later `[` **asks** for a digit. The right answer is the digit that was told *last*, so `7]` follows. Capitals are told in `<K>` and asked for in `{K}`, Greek letters in `<α>` and `(α)`.

# %%
corpus = load_corpus("recall", n_chars=400_000)
tokenizer = corpus.tokenizer
print(tokenizer.decode(corpus.val[:184]))

# %% [markdown]
# Each kind has ten values, and a told value is drawn at random. A model that remembers nothing is right in 10% of the questions. In training, a question comes at most 52 characters after the value. In texts of four windows we ask from further back. We measure three things:
#
# - **Cost.** Two models predict the same characters. One model reads the whole text. The other one, a v4 without changes, reads only the 64 characters before each character. The cost is the first loss minus the second, in [nats](../docs/glossary.md#nats) per character.
# - **A lone value.** The text tells one value of a kind, 192 characters before the question. The model only has to *find* it.
# - **The last of two.** The text tells two values of a kind, 216 and 192 characters before the question. The model also has to know their *order*.
#
# Now train a v4 with 2 layers of width 96 on windows of 64. The dashboard shows the loss, and where each head looks.

# %% tags=["nbval-ignore-output"]
note, query = "ada ch<7>ased ben. ", "who chased ben? ["
shape = ModelConfig(tokenizer.vocab_size, window, n_layer=2, n_head=4, n_embd=96)
objective, recipe = NextToken(corpus, window), TrainConfig(steps=400)
torch.manual_seed(1337)
v4 = build("v4", shape)
run = live.train(v4, objective, recipe, "v4", watches=[live.heads(tokenizer, note + query)])


# %% [markdown]
# ## A head loses the note
#
# While v4 trains, let us compute one head by hand. Take a text of 256 characters that ends with *ada ch<7>ased ben. who chased ben? [*. The 7 stands 28 characters before the last bracket. Imagine a head that uses only pair 6. Its [score](../docs/glossary.md#score) for the 7 is $s = 8\cos(\text{distance}\cdot\omega_6)$. Each of the 255 other keys has the score 0. The [softmax](../docs/glossary.md#softmax) turns the score $s$ into the attention $e^s / (e^s + 255)$.
#
# The table shows this head at two distances: the note stands 28 or 192 characters back.

# %%
def by_hand(name, distance):
    """Name, angle of pair 6 at a distance, score, and attention on the 7: a row of texts."""
    angle = distance * omega[5]
    weight = np.exp(8 * np.cos(angle))
    return name, f"{np.degrees(angle):.0f}°", f"{np.log(weight):.1f}", f"{weight / (weight + 255):.0%}"


heading = "distance", "angle of pair 6", "score", "attention on the 7"
Table(heading, [by_hand("28", 28), by_hand("192", 192)], stable=4)

# %% [markdown]
# At distance 28 the score is high, and the head reads the 7. At distance 192 the angle is 237°, and the score is negative, so the head loses the 7. In training pair 6 turned by less than 80°. No text showed the model an angle like 237°.
#
# ## Read on
#
# Does this happen in a trained model? First your v4 reads four windows as it is. `cost` and `recall` measure your model. `ours` gives the same numbers for twelve stored models, trained from twelve [seeds](../docs/glossary.md#seed).

# %%
study = results.load_results("stretch")


def ours(run, number):
    """Stored values of one number of a run, one for each of twelve seeds."""
    return stretch.values(study, run, number)


def cost(model, windows=4):
    """Nats per character that a model loses in so many windows, compared with v4's last 64 characters."""
    return metrics.position_matched_change(model, corpus.val, windows * window, 12, within=v4)[0]


def recall(model, distance, windows=4):
    """Share of lone values, told so many characters ago, that a model finds in so many windows."""
    return metrics.recall_by_distance(model, tokenizer, [distance], n=64, length=windows * window).accuracy[0]


# %% tags=["nbval-ignore-output"]
history = run.result()
print("a lone value, 48 back in one window:", paired.beside(recall(v4, 48, 1), ours("v4", "alone 1"), "%"))

# %%
far = "What share of lone values, told 192 characters ago, does it find?"
percent = {"low": 0, "high": 100, "unit": "%", "near": 12}
finds_far = predict(f"v4 reads four windows. {far}", **percent)
finds_far

# %% tags=["answer", "nbval-ignore-output"]
nats, share = cost(v4), recall(v4, 192)
print("cost:", paired.beside(nats, ours("v4", "cost 4"), "nats"))
print("a lone value, 192 back:", paired.beside(share, ours("v4", "alone 4"), "%"))
finds_far.compare(100 * share)

# %% [markdown]
# *Ours* is the range over the twelve stored models. In each of them four windows cost at least 0.15 nats. On average they find 92% of the lone values in one window, and 32% in four.
#
# The value is further away in the longer text, and it also has more text around it. To separate the two, we left the value 48 characters back and let only the text before it grow. In one window RoPE then finds 91% of the values, in four 71%, and in eight 57%, although the distance never changes. If we hide all keys that are a window or more back, it finds 91% in each of these texts ([twelve seeds](../docs/results.md#three-controls)). So far text disturbs a head even where it has nothing to read.
#
# We compare models seed by seed. Each difference that we state below is *decided*, which means that its 99% interval leaves out zero ([lesson 08](08_the_ladder.ipynb)), unless we call it [*undecided*](../docs/glossary.md#undecided).
#
# ## Stretch the positions
#
# The simplest cure is **position interpolation** (Chen et al. 2023). It divides every position by a factor $s$. With $s = 4$ the distance 192 becomes 48, and no angle is new. The head of our example finds the note again:

# %%
Table(heading, [by_hand("192, as trained", 192), by_hand("192, read as 48", 48)], stable=4)

# %% [markdown]
# The cure has a price: every pair now turns $s$ times more slowly. Imagine a second head, which reads the letter just before with pair 1. Its score for a key at distance $d$ is $8\cos(d - 1)$. The next cell shows its attention on the keys at distances 0 to 5:

# %%
print(f"{'distance':12}", " ".join(f"{distance:4}" for distance in range(6)))
for name, slower in (("as trained", 1), ("interpolated", 4)):
    scores = 8 * torch.cos(torch.arange(6) / slower - 1)
    print(f"{name:12}", " ".join(f"{share:4.0%}" for share in scores.softmax(dim=0)))

# %% [markdown]
# Look at distance 1. As trained, the head gives 95% of its attention to the letter before. Interpolated, it gives this letter 4%. **Slow pairs need the change, and quick pairs suffer from it.**
#
# Two other methods therefore spare the quick pairs.
#
# - **NTK-aware scaling** (bloc97 2023) takes a larger base, $\theta' = \theta\, s^{D/(D-2)}$. Pair 1 keeps its speed, and the last pair becomes $s$ times slower. The slowdown grows from pair to pair.
# - **YaRN** (Peng et al. 2023) counts the turns of each pair in the window. Pairs that make many turns keep their speed. Pairs that never finish a turn become $s$ times slower. The pairs in between become slower by less than $s$. YaRN also multiplies queries and keys by $1 + 0.1\ln s$, so attention becomes sharper.
#
# Our window is short, so YaRN leaves only pair 1 as it is.

# %%
ramp = np.clip(np.arange(12) / 4, 0, 1)  # pair 1 stays, pairs 5 to 12 get the whole factor
base = 10_000 * 4 ** (24 / 22)
formulas = {
    "interpolation": omega / 4,
    "NTK-aware": base ** (-np.arange(0, 24, 2) / 24),
    "YaRN": omega * (1 - ramp) + omega / 4 * ramp,
}
package = Interpolated(24, 4.0), NTKAware(24, 4.0), YaRN(24, 256, 4.0)
for frequencies, encoding in zip(formulas.values(), package, strict=True):
    assert np.allclose(frequencies, encoding.frequencies().numpy())
fig, ax = plt.subplots(figsize=(7, 3.4))
slower = {name: omega / speed for name, speed in formulas.items()}
title = "Only interpolation slows the quickest pair"
plots.draw_curves(ax, np.arange(1, 13), slower, title, "pair of channels", "times slower")
plt.show()

# %% [markdown]
# Look at pair 1 on the left: only interpolation slows it. Then look at pairs 5 to 12, which reach new angles. Interpolation and YaRN slow all of them by 4. NTK-aware scaling slows most of them less, so some new angles remain.

# %%
methods = {"none": "v4 as it is", "interpolation": "interpolation", "ntk": "NTK-aware", "yarn": "YaRN"}
cheapest = predict(
    "Factor 4, nothing trained: which method costs least at four windows?", list(methods.values())
)
cheapest

# %% [markdown]
# Choose a method, and move the factor. In the left picture, orange dots are pairs that reach new angles. In the right picture, the orange curve is the loss of the stretched model along 512 characters, and the vertical line is at 64 · factor. Which methods have no orange dots? What do they do to the loss of the *first* 64 characters?

# %% tags=["answer", "nbval-ignore-output"]
explore_stretching(v4, corpus.val)

# %% tags=["answer", "nbval-ignore-output"]
models = {method: stretched(v4, method, 4) for method in methods}
losses = {method: cost(model) for method, model in models.items()}
for method, nats in losses.items():
    print(f"{methods[method]:14}", paired.beside(nats, ours(method, "cost 4"), "nats"))
cheapest.compare(methods[min(losses, key=losses.get)])

# %%
finds = predict(f"Interpolation costs more than a nat. {far}", **percent)
finds

# %% tags=["answer", "nbval-ignore-output"]
found = {method: recall(model, 192) for method, model in models.items()}
for method, share in found.items():
    print(f"{methods[method]:14}", paired.beside(share, ours(method, "alone 4"), "%"))
finds.compare(100 * found["interpolation"])


# %% [markdown]
# The next table shows the means over our twelve models. The first column is the loss in windows of 64. The other columns are the three measures at four windows.

# %%
def board(runs, **columns):
    """Table of means over twelve stored models: a row for each run, a column for each number."""

    def cell(run, number):
        mean = np.mean(ours(run, number))
        return f"{mean:.0%}" if number.startswith(stretch.SHARES) else f"{mean:.2f}"

    rows = [(name, *(cell(run, number) for number in columns.values())) for name, run in runs.items()]
    return Table(("means", *(name.replace("_", " ") for name in columns)), rows, stable=1)


columns = {"loss_in_one_window": "loss", "cost": "cost 4", "a_lone_value": "alone 4", "last_of_two": "last 4"}
board(dict(zip(methods.values(), methods, strict=True)), **columns)

# %% [markdown]
# Compare the columns. **No method is best in all of them.**
#
# - *Cost.* NTK-aware scaling costs least. Interpolation costs most. Its loss is high already in one window, because it slows the quick pairs.
# - *A lone value.* Each method finds more than v4 as it is. Interpolation and YaRN find more than NTK-aware scaling, by 20 and 28 points. YaRN less interpolation is 7 points, from 0 to 15, so this is undecided.
# - *The last of two.* YaRN gives the last value most often: 42 points more than NTK-aware scaling (33 to 51), and 13 more than interpolation (3 to 23). In one window v4 gives the last of two in 88% of the questions. No method reaches this in four.
#
# Now compare YaRN with v4 as it is. YaRN costs 0.04 nats more, from −0.05 to +0.12, so their losses hardly differ, yet YaRN finds far more lone values. **The loss does not tell you what a model remembers.**
#
# ## A little training
#
# Chen et al. [fine-tune](../docs/glossary.md#fine-tuning) the stretched model. We train your v4 for 60 more steps on windows of 256, at lower learning rates. But any model might improve with more steps. So we need a **control**: 60 steps on the *old* windows of 64, with as many characters in each step.

# %%
after_control = predict(f"We train your v4 for 60 more steps at the old length. {far}", **percent)
after_control

# %% tags=["answer", "nbval-ignore-output"]
longer = recall_corpus(400_000, Spacing(furthest=52 + 3 * window))
gentle = {"lr_matrix": 0.3 * recipe.lr_matrix, "lr_other": 0.3 * recipe.lr_other}
tuned, control = copy.deepcopy(v4), copy.deepcopy(v4)
brief = TrainConfig(steps=60, batch_size=3, **gentle)
fine = live.train(tuned, NextToken(longer, 4 * window), brief, "v4 on windows of 256")

# %% tags=["answer", "nbval-ignore-output"]
fine.result()
follow(train(control, objective, TrainConfig(steps=60, **gentle)), 60, "control", leave=False)
after = {arm: recall(model, 192) for arm, model in (("none", tuned), ("control", control))}
for arm, share in after.items():
    length, stored = "new" if arm == "none" else "old", ours(f"{arm} tuned", "alone 4")
    print(f"60 steps at the {length} length, lone values: {paired.beside(share, stored, '%')}")
after_control.compare(100 * after["control"])

# %%
trained_on = {"control": "control tuned", **{f"{methods[m]}, tuned": f"{m} tuned" for m in list(methods)[:3]}}
board(trained_on, **columns)

# %% [markdown]
# Compare the first two rows. The control finds 30% of the lone values, about as many as before. The same steps at the new length give 60%, and a lower cost. So **the new windows bring this gain. The same training on the old windows does not.** The new windows are longer, and contain questions from further back. We did not test which of the two helps. The price: in windows of 64, the loss is 0.1 nats higher than the control's.
#
# Now look at the last column. Training does not bring back the order: tuned v4 gives the last of two in 36% of the questions, and YaRN without training gave it in 72%.
#
# ## Models that never rotated
#
# Models without rotation have no new angles. We trained three of them like v4. **ALiBi** subtracts a number from each score. This number is proportional to the distance ([03b](03b_sinusoidal.ipynb)). **T5** adds a number that it learns for each range of distances. In our T5, all distances of 27 characters or more share one number. **NoPE** has no encoding.
#
# These models read eight windows. Each model predicts the same characters twice. The first time it reads the whole text, and the second time only the 64 characters before each character. The *change of the loss* is the first loss minus the second. The lone value was told 384 characters before.

# %%
question = "Eight windows change ALiBi's loss by 0.05 nats. What share of lone values, 384 back, is found?"
calm = predict(question, **percent)
calm

# %% tags=["answer"]
arms = {"v4": "v4", "ALiBi": "alibi", "T5": "t5", "NoPE": "nope"}
eight = {"change_of_the_loss,_8_windows": "own 8", "a_lone_value,_8_windows": "alone 8"}
display(board(arms, **eight, last_of_two_in_one_window="last 1", in_four_windows="last 4"))
calm.compare(100 * np.mean(ours("alibi", "alone 8")))

# %% [markdown]
# Compare ALiBi and NoPE in the first two columns. ALiBi's loss hardly changes, yet ALiBi finds only 45% of the values. NoPE's loss rises by 0.77 nats, yet NoPE finds 98%. T5's loss changes little, and T5 finds nearly all values too. So the loss does not tell what a model remembers. **A steady loss only shows that the model is not disturbed. To test memory, ask a question.**
#
# The last two columns show the last of two values. Within its window T5 knows the order, because the later value is nearer than 27 characters. At four windows both values get the same number from T5, so T5 cannot tell which came later. It is right in about half of the questions. NoPE never learned the rule: it is right in about half of the questions even within one window.
#
# Our models have 2 layers and were trained for 400 steps. The papers used far larger models and mostly other tasks, so our numbers refute none of them. The page of [results](../docs/results.md) tests single statements of the papers.

# %%
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run it, then the check. In a new cell, `tasks.NTK.hint()` gives one hint at a time and `tasks.NTK.solution()` shows a solution.

# %%
tasks.NTK


# %%
def ntk(head_dim, theta, factor):
    """RoPE's frequencies (head_dim/2,) in radians per token, for texts `factor` times as long."""
    return theta ** (-torch.arange(0, head_dim, 2) / head_dim)


# %%
tasks.NTK.check(ntk)

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
# ## Recap
#
# 1. A pair of RoPE that never finished a turn in training meets new angles beyond the window. In our heads these are 8 of 12 pairs.
# 2. With new angles v4 forgets: it finds 92% of the lone values in one window, and 32% in four.
# 3. Interpolation removes all new angles, but it slows the quick pairs and costs most. NTK-aware scaling costs least. YaRN gives the last of two values more often than NTK-aware scaling.
# 4. Sixty steps at the new length let v4 find 60% of the lone values. The control finds 30%.
# 5. A steady loss is no memory. At eight windows ALiBi's loss hardly changes, and it finds 45% of the lone values. NoPE's loss rises, and it finds 98%.

# %% [markdown]
# ## Self-test
#
# **1.** A head has 12 pairs, and the window is 64. Now θ is 100 instead of 10000. How many pairs never finish a turn?
#
# - a) as many as before
# - b) fewer
# - c) more
#
# <details><summary>Answer</summary>
#
# **b.** With a smaller base the slow pairs are quicker, and seven of the 12 finish a turn. *c* is tempting, but a smaller θ makes the slow pairs quicker.
#
# </details>
#
# **2.** Untuned interpolation by 4 raises the loss also on texts of 64 characters. Why?
#
# - a) neighbours stand at a quarter of the angle that heads have learned
# - b) the text has new angles
# - c) the model has forgotten the window
#
# <details><summary>Answer</summary>
#
# **a.** One step becomes a quarter of a step. Interpolation exists to avoid *b*.
#
# </details>
#
# **3.** A model's loss at eight windows equals its loss at one. What follows for its memory?
#
# - a) it recalls as far as eight windows
# - b) nothing, until you ask
# - c) it has no memory at all
#
# <details><summary>Answer</summary>
#
# **b.** Most characters need nothing from far back, so the loss hardly shows memory. *a* is tempting, but ALiBi's loss is steady, and ALiBi finds less than half of the values.
#
# </details>
#
# **4.** After 60 steps at the new length a model recalls from 192 characters. What shows that the *new windows* did it?
#
# - a) twelve seeds
# - b) 60 steps at the old length, which do not raise its recall
# - c) a lower training loss
#
# <details><summary>Answer</summary>
#
# **b.** The control was trained as much, on the old windows. *a* shows that it happens again, and not why.
#
# </details>
#
# **5.** NoPE finds lone values 384 characters back. Of two values, it gives the last one in only half of the cases. Has it forgotten the rule?
#
# - a) yes, at this distance
# - b) no, it needs sharper attention
# - c) it never learned the rule
#
# <details><summary>Answer</summary>
#
# **c.** Within its window it does no better, so *a* is wrong.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Peng et al. 2023](https://arxiv.org/abs/2309.00071): YaRN, with the three ways side by side.
# - [Chen et al. 2023](https://arxiv.org/abs/2306.15595): position interpolation, tested with a number that stands far back in the text.
# - [Kazemnejad et al. 2023](https://arxiv.org/abs/2305.19466): encodings compared on tasks longer than in training, with NoPE among them.

# %% [markdown]
# ## What comes next
#
# `stretched(model, method, factor)` takes any model of yours with RoPE. [11 · A real model](11_a_real_model.ipynb) asks of a published model what you have asked of your own.
