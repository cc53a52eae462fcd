# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 08 · The ladder
#
# **Which encoding is better, and how do we know?**
#
# Now all versions meet on one board. All read the same stories for 600 steps. v3 to v6 share one body, and differ in the [encoding](../docs/glossary.md#encoding). You will
#
# 1. train two models, and see that one run of each decides nothing,
# 2. learn the rule by which this course decides between two models,
# 3. read the board: which loss is lowest, which models answer questions,
# 4. compare the models in windows longer than those of training.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about a minute to run on two cores, and by our estimate 54 minutes to read and guess. The exercises take about 22 minutes, and those marked *stretch* take 25 more.

# %% tags=["nbval-ignore-output"]
from statistics import mean, stdev

import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, live, load_corpus, plots
from babygpt.encodings import Rotary
from babygpt.tables import Table, source
from babygpt_course.exercises import lesson_08 as ladder
from babygpt_course.predictions import predict, tally
from babygpt_course.studies.board import KNOWN, paired_differences
from babygpt_course.studies.ladder_explorer import explore_ladder
from babygpt_course.studies.paired import beside, compare, critical_t, share_decided
from babygpt_course.studies.results import load_results
from babygpt_course.studies.seed_plots import draw_seed_dots

# %% tags=["nbval-ignore-output"]
plots.set_style()
results = load_results("ladder")
board = results["board"]
explore_ladder(results)

# %% [markdown]
# Each row is a model, and each dot is one run. The dot shows the [loss](../docs/glossary.md#loss) of this run minus the loss of v4 from the same [seed](../docs/glossary.md#seed). The bar is the mean. The title counts what the seeds decide by a rule that this lesson explains.
#
# | name | encoding |
# |---|---|
# | v3 | sinusoid |
# | v4 | RoPE |
# | v5 | RoPE with a trained Gaussian kernel |
# | v5 fixed | RoPE with the same kernel, not trained |
# | v6 | branches; reads one text here |
# | learned | table of positions |
# | alibi | ALiBi |
# | pope | PoPE, from lesson 07b |
# | nope | none |
#
# Look at v3. Its dots lie on both sides of the line, so some seeds favour the sinusoid and others favour RoPE. Which of the two is better?
#
# ## Train two of the models
#
# We begin with one seed, and train v4 and *v5 fixed* for 300 steps.

# %%
apart = predict(
    "How far apart are the losses of v4 and v5 fixed after 300 steps, in either direction?",
    low=0,
    high=0.3,
    unit="nats",
    near=0.02,
)
apart

# %% tags=["nbval-ignore-output"]
corpus = load_corpus("plain-tales", n_chars=400_000)
objective, tokenizer = NextToken(corpus, block_size=64), corpus.tokenizer
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
questions = corpus.grammar.questions(24, seed=2, max_chars=64)
recipe, floors = TrainConfig(steps=300), {"best reader": results["window_floor"]}


def race(name, model):
    """Train a model in the background, with its right answers beside its loss."""
    return live.train(model, objective, recipe, name, floors, [live.roles(tokenizer, questions)])


# %% tags=["answer", "nbval-ignore-output"]
runs = {}
for name, version, options in (("v4", "v4", {}), ("v5 fixed", "v5", {"learnable": False})):
    torch.manual_seed(1337)
    runs[name] = race(name, build(version, shape, **options))

# %% [markdown]
# Each dashboard shows the loss and the **right answers** to 24 questions such as *who chased ben?* The model chooses between two names. Its answer is right if the right name gets the higher probability. Guessing gives 50%. The *best reader* is a program that knows the grammar of the stories.

# %% tags=["answer", "nbval-ignore-output"]
records = {name: run.result() for name, run in runs.items()}
ends = {name: steps[-1].val_loss if steps else runs[name].uniform_loss for name, steps in records.items()}
stored = load_results("gaussian")["plain"]["300"]
ours = {name: stored[name]["val_loss"] for name in ends}
for name, loss in ends.items():
    print(f"{name:9}", beside(loss, ours[name], "nats"))
lower = sum(x < y for x, y in zip(ours["v4"], ours["v5 fixed"], strict=True))
print(f"v4 has the lower loss in {lower} of our {len(ours['v4'])} pairs of runs")
apart.compare(abs(ends["v4"] - ends["v5 fixed"]))

# %% [markdown]
# First read the last line. We trained the same two models from twelve seeds. In six of these pairs v4 has the lower loss, and in the other six v5 fixed has the lower loss. So **one pair of runs decides nothing**.
#
# ## Compare pairs
#
# A seed determines the first weights of a model and the order of its batches. Two models with the same seed read the same windows in the same order. So we subtract **seed by seed**: each seed gives one difference.
#
# Here are v5 and v5 fixed after 600 steps, from twelve seeds:

# %%
trained, fixed = board["v5"]["1x"], board["v5 fixed"]["1x"]
gaps = paired_differences(results, "v5", "v5 fixed")
rows = [("v5", trained, ".3f"), ("v5 fixed", fixed, ".3f"), ("difference", gaps, "+.3f")]
cells = [(name, *(f"{x:{form}}" for x in (*numbers, mean(numbers)))) for name, numbers, form in rows]
Table(("loss (nats)", *map(str, results["seeds"]), "mean"), cells, stable=14)

# %% [markdown]
# Each column is a seed. Read the last row: all twelve differences are above zero, but they vary from 0.02 to 0.10 nats. Is that proof that v5 has the higher loss, and by how much?
#
# Signs alone are a first answer, because luck rarely puts many differences on one side.

# %%
one_sign_guess = predict(
    "Two models are equally good. How often do all of their six differences have one sign?",
    low=0,
    high=100,
    unit="%",
    near=2,
)
one_sign_guess

# %% tags=["answer"]
# six differences of equal models, 4,000 times
luck = np.random.default_rng(0).normal(size=(4000, 6)).tolist()
one_sign = mean(min(some) > 0 or max(some) < 0 for some in luck)
one_sign_guess.compare(100 * one_sign)

# %% [markdown]
# Think of coins. Six coins all fall on one side in 2 of 64 cases, which is 3%. Three coins do so in 2 of 8 cases, which is 25%. So three seeds of one sign are weak evidence, and six are stronger.
#
# But signs throw away how *large* the differences are. One seed that falls on the other side would spoil them, even if it is a hundredth of a nat off and the eleven others lie far away. So we use the sizes.
#
# ## The rule
#
# Twelve other seeds would give another mean. The [standard error](../docs/glossary.md#standard-error) tells how far the mean typically moves when the seeds change: it is the standard deviation of the differences, divided by the square root of their number. **Student's 99% interval** reaches 3.11 standard errors to both sides of the mean of twelve seeds. If we repeated the whole study a hundred times, about 99 of the intervals would contain the true difference.
#
# For v5 minus v5 fixed the mean is 0.052 nats, and the standard deviation is 0.028. So the standard error is 0.028 / √12 ≈ 0.008, and the interval reaches from 0.052 − 3.11 · 0.008 ≈ 0.027 to 0.077. A true difference of zero is excluded, and so is a difference of 0.1. The function `compare` does the same:

# %%
half = critical_t(12) * stdev(gaps) / 12**0.5
assert mean(gaps) - half > 0
print(f"by hand: {mean(gaps):.3f}, from {mean(gaps) - half:.3f} to {mean(gaps) + half:.3f}")
print(f"v5 minus v5 fixed: {compare(gaps):+.3f}")

# %% [markdown]
# This course gives the interval first, and then one word:
#
# > A difference is **decided** if three conditions hold. The 99% interval of at least twelve seeds leaves out zero. Six *fresh* seeds, which we trained after the first six had suggested the difference, have a mean on the same side. And the mean is larger than what counts: 0.02 nats per character, or 5 points of right answers. Every other difference is [**undecided**](../docs/glossary.md#undecided).
#
# The fresh seeds protect us from ourselves. Whoever looks at many differences and writes about the largest one has picked a lucky one, and fresh seeds do not share its luck.

# %% tags=["nbval-ignore-output"]
invented = [0.010, 0.008, 0.012, 0.016, 0.020, 0.024, 0.011, 0.009, 0.014, 0.018, 0.012, 0.300]
pairs = {"v5 − v5 fixed": gaps, "v5 fixed − v4": paired_differences(results, "v5 fixed", "v4")}
pairs |= {"v3 − v4": paired_differences(results, "v3", "v4"), "invented": invented}
ax = plt.figure(figsize=(9, 3.4)).gca()
title = "Only the first interval leaves out zero"
draw_seed_dots(ax, pairs, title, "difference (nats per character)", {"equal": 0.0})
for row, found in enumerate(map(compare, pairs.values())):
    ax.plot([found.low, found.high], [row + 0.3] * 2, color="black", lw=4)
plt.show()

# %% [markdown]
# A dot is one seed, and the black bar below the dots is the interval.
#
# - **First row.** The whole bar lies right of zero, so v5 has the higher loss. This is decided.
# - **Second and third row.** Both bars cross zero, so nothing is decided, and yet they say different things. The bar of *v5 fixed − v4* is short: a difference beyond 0.023 nats is excluded, so for most purposes these two models are equal. The bar of *v3 − v4* is longer, because from some seeds v3 learns to answer early and from others late.
# - **Fourth row.** We invented these numbers. All dots lie right of zero, but one lies far from the others, and this one makes most of the mean. The interval crosses zero: one seed should not decide.
#
# ## What can twelve seeds see?
#
# A careful rule misses true differences. Suppose one model really is better, and by exactly as much as the differences vary from seed to seed: by one standard deviation.

# %%
power_guess = predict(
    "In how many of 100 studies with twelve seeds does the rule decide such a difference?",
    low=0,
    high=100,
    unit="of 100",
    near=8,
)
power_guess

# %% tags=["answer"]
effects = {"none": 0.0, "half a deviation": 0.5, "one deviation": 1.0, "1.3 deviations": 1.3, "two": 2.0}
rows = [(name, *(f"{share_decided(size, n):.0%}" for n in (12, 20))) for name, size in effects.items()]
display(Table(("true difference", "decided with 12 seeds", "with 20"), rows, stable=3))
power_guess.compare(100 * share_decided(1.0, 12))


# %% [markdown]
# The first row counts false alarms: between equal models luck decides about one comparison in a hundred. Nine true differences in ten are seen from 1.3 deviations on, or from 0.95 on with twenty seeds. A difference of half a deviation is seen in one study of seven. So *undecided* often means that the difference is small beside the luck of the seeds, and the interval tells how large it can still be.

# %%
def decide(name, rival):
    """Return on which side of a rival's loss a model's loss is, or "undecided"."""
    return compare(paired_differences(results, name, rival)).side


print("v5 beside v5 fixed:", decide("v5", "v5 fixed"))
print("v3 beside v4:", decide("v3", "v4"))

# %% [markdown]
# *Undecided* does not mean *equal*. The bar of *v3 − v4* reaches from −0.033 to +0.034 nats, so v3 may be a little better than v4, or a little worse.
#
# ## A bound is not a loss
#
# The board also has five models that fill in letters ([lesson 07a](07a_diffusion.ipynb)). Their names begin with v7. For these models we cannot compute the loss. We can compute a bound, the [NELBO](../docs/glossary.md#nelbo): the loss is *at most* this number. The loss may be far lower. So we never subtract a bound from a loss, and the package refuses to:

# %%
try:
    paired_differences(results, "v7", "v4")
except ValueError as refusal:
    print(refusal)

# %% [markdown]
# ## The board
#
# Make a guess about right answers after 600 steps:

# %%
near_mean = predict(
    "v6 answers 81% right, in the mean of twelve runs. How many of these runs lie within 10 points of 81%?",
    low=0,
    high=12,
    near=0,
)
near_mean

# %% [markdown]
# Each model has a row.
#
# - **Loss** is the mean over all seeds. The sign ≤ marks a bound, which has no verdict.
# - **Minus v4** is the mean difference from v4 with its interval. The **verdict** says whether this difference is decided: *above* means a higher loss than v4.
# - **Answers** counts the seeds that answer at least nine of ten questions right.

# %% tags=["answer"]
rows, ranked = [], sorted(board, key=lambda name: (board[name]["masks"], mean(board[name]["1x"])))
for name in ranked:
    loss, roles = f"{mean(board[name]['1x']):.3f}", board[name]["roles"]
    minus, side = "–", "–"
    if board[name]["masks"]:
        loss = f"≤ {loss}"
    elif name != "v4":
        found = compare(paired_differences(results, name, "v4"))
        minus, side = f"{found:+.3f}", found.side
    rows.append((name, loss, minus, side, f"{sum(x >= KNOWN for x in roles)} of {len(roles)}"))
Table(("model", "loss (nats)", "minus v4", "verdict", "answers, of all seeds"), rows, stable=5)

# %% [markdown]
# The picture shows the nine models that have attention and read from left to right. Each dot is a seed.

# %% tags=["answer", "nbval-ignore-output"]
attending = [name for name in ranked if name not in ("v1", "v2") and not board[name]["masks"]]
minus_v4 = {name: paired_differences(results, name, "v4") for name in attending}
shares = {name: [100 * x for x in board[name]["roles"]] for name in attending}
left, right = plt.figure(figsize=(12, 4.5)).subplots(1, 2)
title = "Only PoPE and nope lie above v4 in every seed"
draw_seed_dots(left, minus_v4, title, "loss minus v4 (nats per character)", {"equal": 0.0})
title = "Most runs answer nearly everything, or guess"
draw_seed_dots(right, shares, title, "right answers (%)", {"chance": 50.0}, (-3, 103))
plt.show()

# %% tags=["answer"]
answers = board["v6"]["roles"]
near_mean.compare(sum(abs(share - mean(answers)) <= 0.1 for share in answers))

# %% [markdown]
# ## Which loss is lowest?
#
# Look at the left panel. A dot right of the line is a seed in which the model has a higher loss than v4.
#
# - ALiBi, v5 fixed, v3 and v6 have dots on both sides, and their intervals cross zero. **Among these four and v4 no pair is decided**, and the intervals exclude differences beyond 0.06 nats. We cannot name the best model.
# - PoPE and nope have all their dots right of the line. PoPE is 0.08 nats above v4, and nope is 0.23 nats above v4.
# - v5 and *learned* each have eleven dots right of the line and one dot left. Both are 0.05 nats above v4, and their intervals leave out zero, so this is decided.
#
# v1 and v2 stand only in the table. They are a whole nat above v4, as they have no attention.
#
# All models train at one [learning rate](../docs/glossary.md#learning-rate), and we tuned it for none of them. PoPE or nope may need another rate.
#
# ## Which models answer?
#
# Look at the right panel. Most dots stand near 100% or near 50%. At some step a run learns to look back for the name. The runs near 50% had not learned this by step 600.
#
# So a mean may describe no run at all: no run of v6 lies within 10 points of its mean. Therefore we **count the seeds that answer**. v4 and v5 fixed each answer with 11 of twelve seeds. v5 answers with only 3 ([lesson 05](05_gaussian_rope.ipynb) asks why). PoPE and nope answer with none.
#
# ## Longer than trained
#
# In windows of 64 characters, *v5 fixed* has a loss of 0.54 nats. In windows four times as long its loss is 0.45. Does v5 fixed gain from the longer text?
#
# This comparison is unfair. The first characters of any window are hard to predict, because little text stands before them. A long window has a smaller share of such characters. So its mean loss is lower even if the model gains nothing.
#
# For a fair comparison each model predicts **the same characters twice**: once from up to 255 characters before them, and once from the last 64 characters alone. We subtract the second loss from the first. A model that gains has a change below zero.

# %%
rivals = {"v3": "v3 (sinusoid)", "v4": "v4 (RoPE)", "v5 fixed": "v5 fixed", "alibi": "ALiBi"}
helped = predict("Which model gains from the longer text?", [*rivals.values(), "none of these"])
helped

# %% tags=["answer"]
rows = []
for name in attending:
    if None not in board[name]["past"]:
        short, long, change = (mean(board[name][key]) for key in ("1x", "4x", "past"))
        rows.append((name, f"{short:.2f}", f"{long:.2f}", f"{round(change, 2) + 0:+.2f}"))
heading = ("mean loss (nats)", "windows of 64", "windows of 256", "change, same characters")
Table(heading, rows, stable=4)

# %% tags=["answer"]
gains = [name for name in rivals if compare(board[name]["past"]).side == "below"]
helped.compare(rivals[gains[0]] if gains else "none of these")

# %% [markdown]
# Look at the last column: it is nowhere below zero. **No model gains.** Even a perfect reader would gain nothing here, because no story is longer than 64 characters.
#
# - v5 and v5 fixed change by less than 0.001 nats. At a distance of 64 their kernel is below 0.002, so the text beyond the window hardly reaches them.
# - All other models lose. ALiBi and PoPE lose little. v3 loses 3 nats, since it never met such positions in training.
# - *learned* has no row: it refuses positions beyond its window.
#
# **So which encoding is better?** At this size and after 600 steps, no encoding is best in everything. Inside the window, five models are undecided. Beyond the window, the two Gaussian kernels, ALiBi and PoPE lose little. [Lesson 10](10_beyond_the_window.ipynb) asks whether they *remember*.

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run it, then the check. In a new cell, `ladder.VERDICT.hint()` gives one hint at a time, and `ladder.VERDICT.solution()` shows a solution.

# %%
ladder.VERDICT


# %%
def verdict(ours: list[float], theirs: list[float]) -> tuple[float, float, str]:
    """Mean difference, half the width of its 99% interval, and "better", "worse" or "undecided"."""
    return mean(ours) - mean(theirs), stdev(ours), "better"


# %%
ladder.VERDICT.check(verdict)

# %%
ladder.LONGER


# %%
def longer(near: torch.Tensor, far: torch.Tensor, least: int) -> tuple[float, float]:
    """How much the loss changes in longer windows: over all tokens, and over those that can be compared."""
    return float(far.mean() - near.mean()), float(far.mean() - near.mean())


# %%
ladder.LONGER.check(longer)

# %% [markdown]
# The last exercise asks for an `Encoding` of your own. Override what you need: `embed` adds to the embeddings, `transform_qk` changes queries and keys, and `score_bias(queries, keys)` returns what is added to the scores, (H, Tq, Tk). `queries.time` and `keys.time` hold the positions, (Tq,) and (Tk,). A subclass of `Rotary` keeps RoPE's rotation:

# %%
source(Rotary)

# %%
ladder.OWN_ENCODING


# %%
class RoPESoFar(Rotary):
    """RoPE, until you change it."""

    def __init__(self, head_dim: int, n_head: int) -> None:
        super().__init__(head_dim)
        self.n_head = n_head


# %%
ladder.OWN_ENCODING.check(RoPESoFar)

# %% [markdown]
# Then put yours into the race: `race("mine", Transformer(shape, RoPESoFar(shape.head_dim, shape.n_head)))`, with `from babygpt.models.transformer import Transformer`.

# %% [markdown]
# ## Recap
#
# 1. One pair of runs decides nothing. We compare models seed by seed, and give the mean difference with its 99% interval.
# 2. A difference is *decided* if the interval of twelve seeds leaves out zero, six fresh seeds agree, and the mean counts. *Undecided* does not mean *equal*: the interval says what is excluded.
# 3. A bound is not a loss, and we never subtract one from the other.
# 4. At this size (226 thousand weights, 600 steps, one learning rate) ALiBi, v5 fixed, RoPE, the sinusoid and v6 are undecided. The trained kernel, learned positions, PoPE and nope have a higher loss than RoPE.
# 5. Past the window, on the same characters, no model gains. The Gaussian kernels hardly change, ALiBi and PoPE lose less than 0.1 nats, RoPE loses 0.46, and the sinusoid loses 3.

# %% [markdown]
# ## Self-test
#
# **1.** A difference is +0.03 nats, with an interval from −0.01 to +0.07. What do twelve seeds say?
#
# - a) the models are equal
# - b) the first model has the higher loss, since most of the interval lies above zero
# - c) the true difference may be zero, and is not beyond 0.07
#
# <details><summary>Answer</summary>
#
# **c.** The interval contains zero, so nothing is decided. *a* takes *undecided* for *equal*: a difference of 0.05 is still possible.
#
# </details>
#
# **2.** v7-pope has a bound of 1.04, and v4 a loss of 0.54. What follows?
#
# - a) v4 is better on these stories, by half a nat
# - b) v7-pope is better, since its loss is less than the bound
# - c) nothing about which model has the lower loss
#
# <details><summary>Answer</summary>
#
# **c.** The loss of v7-pope is at most 1.04, and perhaps far less. *a* subtracts a loss from a bound.
#
# </details>
#
# **3.** A table says that a model answers 75% ± 27% over six seeds. What do you ask for first?
#
# - a) the six numbers
# - b) a longer training
# - c) the standard error, 27% divided by √6
#
# <details><summary>Answer</summary>
#
# **a.** Three runs at 100% and three at 50% have this mean, and none is near it. *c* describes numbers that scatter around their mean.
#
# </details>
#
# **4.** ALiBi's mean loss is lower in windows four times as long. What does it gain from the longer text?
#
# - a) the difference of the two means
# - b) a little, in stories that began more than 64 characters ago
# - c) nothing: on the same characters it is a little worse
#
# <details><summary>Answer</summary>
#
# **c.** A long window has a smaller share of hard first characters. *a* takes means over different characters.
#
# </details>
#
# **5.** The Gaussians lose nothing past the window. Why does this not show that they use the longer text well?
#
# - a) their kernel is almost 0 there, so they hardly read it
# - b) they were trained on longer windows
# - c) their change was measured on other characters
#
# <details><summary>Answer</summary>
#
# **a.** Text that a model hardly reads can neither confuse it nor help it. Against *c*: the characters were the same.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Student 1908](https://doi.org/10.1093/biomet/6.1.1): how far the mean of a few samples may be off.
# - [Bouthillier et al. 2021](https://arxiv.org/abs/2103.03098): what varies from run to run besides the seed.

# %% [markdown]
# ## What comes next
#
# The museum shows models whose loss falls although something is wrong with their positions. → [09 · The museum of bugs](09_museum_of_bugs.ipynb)
#
# The course began with five source notes. `python -m babygpt claims` prints what became of their claims.
