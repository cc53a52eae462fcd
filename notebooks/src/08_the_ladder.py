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
# *A side trip after 04c, complete in itself.*
#
# The picture below has the [losses](../docs/glossary.md#loss) of two [encodings](../docs/glossary.md#encoding), RoPE and the sinusoid, from the same twelve [seeds](../docs/glossary.md#seed) at every 50th step of one training. Move the step from 300 to 1,200: at 300 the sinusoid loses more from most seeds, and at 1,200 it loses less. Which of the two would you call better, and what happened in between?
#
# We also test two explanations of our case, of v4 that cannot spell the name: *it needs more steps* and *its encoding makes it late*. You will be able to
#
# 1. judge from seeds whether one model has a lower loss, and say what your study could not have seen,
# 2. tell a difference between two models from a difference in time,
# 3. find the step from which on a model has learned something.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about a minute to run on two cores, and by our estimate 35 minutes to read and guess. The exercises take about 22 minutes, and those marked *stretch* take 25 more.

# %% tags=["nbval-ignore-output"]
from math import log
from statistics import mean, stdev

import matplotlib.pyplot as plt
import torch

import babygpt_live as live
from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
from babygpt.encodings import Rotary
from babygpt.experiments.paired import beside, compare, critical_t, share_decided
from babygpt.tables import Table, source
from babygpt_course import explorers
from babygpt_course.exercises import lesson_08 as ladder
from babygpt_course.predictions import predict, tally
from babygpt_course.studies.clicks import clicked
from babygpt_course.studies.results import load_results
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.tools import click, gap

# %% tags=["nbval-ignore-output"]
clicks, board = load_results("clicks"), load_results("ladder")["board"]
gap(clicks)

# %% [markdown]
# In the right panel each dot is a seed: the loss of the sinusoid minus the loss of RoPE. The grey lines are the ends of an interval that the next section explains.
#
# ## How do we know?
#
# Two models with the same seed read the same windows in the same order, so we subtract seed by seed, and the luck that both share drops out. At step 300 the twelve differences reach from −0.005 to 0.075 nats, so a single pair decides nothing.
#
# So we take the mean of all twelve. Its [standard error](../docs/glossary.md#standard-error), the standard deviation of the differences divided by √12, tells how far the mean typically moves with other seeds. *Student's 99% interval* reaches 3.11 standard errors to both sides of the mean. If we repeated the study a hundred times, about 99 of these intervals would contain the true difference.

# %%
at = clicks["at"]


def differences_at(step, name="v3", rival="v4"):
    """Losses of one encoding minus those of another at a measured step, seed by seed."""
    ours, theirs = (clicks["models"][one]["loss"] for one in (name, rival))
    return [a[at.index(step)] - b[at.index(step)] for a, b in zip(ours, theirs, strict=True)]


twelve = differences_at(300)
half = critical_t(12) * stdev(twelve) / 12**0.5
assert abs(mean(twelve) + half - compare(twelve).high) < 1e-9
for step in (300, 600, 1200):
    print(f"step {step:5,}: {compare(differences_at(step)):+.3f}")

# %% [markdown]
# > A difference is [decided](../docs/glossary.md#decided) if three conditions hold. The interval of at least twelve seeds leaves out zero. These seeds did not suggest the comparison, because it was named before they were trained. And the mean is large enough to matter: at least 0.02 nats per character, or 5 points of right answers. Every other difference is [undecided](../docs/glossary.md#undecided).
#
# Seeds that suggest a comparison cannot decide it, because the largest of many differences is partly luck. Twelve others can. *Undecided* does not mean *equal*: at step 600 the sinusoid may be 0.028 nats better than RoPE, or 0.051 worse. This careful rule also misses real differences. Suppose that one model is really better, by one standard deviation of the differences. The mean of twelve seeds then lies about √12 = 3.5 standard errors from zero, and the interval reaches 3.1.

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
# The first row counts false alarms, about one comparison in a hundred. Nine of ten studies see a difference only if it is 1.3 deviations or more. So a difference that is small beside the luck of the seeds often stays undecided.
#
# At steps 300 and 1,200 the interval leaves out zero, in opposite directions, and at 1,500 and 1,800 it does not. But nobody had named these two steps, and we looked at six, so that luck had six chances. Neither step stands if [all six looks are counted](../docs/results.md#the-time-of-the-click), so both are only *suggested*.
#
# ## One run
#
# We train a model with ALiBi for 600 steps, and ask 24 questions on the way. The dashboard counts how often the right of two names is more probable, and how often it is written.

# %% tags=["nbval-ignore-output"]
corpus = load_corpus("plain-tales", n_chars=400_000)
objective, tokenizer = NextToken(corpus, block_size=64), corpus.tokenizer
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
questions = corpus.grammar.questions(24, seed=2, max_chars=64)
recipe, floors = TrainConfig(steps=600, seed=1005), {"best reader": load_results("ladder")["window_floor"]}


def race(name, model):
    """Train a model in the background; watch what it answers and writes."""
    watches = [explorers.roles(tokenizer, questions, times=24, written=True)]
    return live.train(model, objective, recipe, name, floors, watches)


torch.manual_seed(1005)
run = race("alibi", build("alibi", shape))

# %% tags=["nbval-ignore-output"]
steps = run.result()
end = steps[-1].val_loss if steps else run.uniform_loss
print(beside(end, board["alibi"]["1x"], "nats"))

# %% [markdown]
# The loss falls smoothly, whereas the right answers stay near 50%, which is chance, and then rise within some hundred steps. The written names wait longer. We call such a rise a [click](../docs/glossary.md#click), and a run can have two of them, for answering and for spelling.
#
# ## Sixty runs
#
# Now look at models that were trained for 600 steps in all. Among RoPE, the sinusoid, the fixed kernel, ALiBi and v6 no pair is decided, so we cannot say which is better.

# %%
five = {"v4": "RoPE", "v3": "sinusoid", "v5 fixed": "fixed kernel", "alibi": "ALiBi", "v6": "v6"}
means = [mean(board[name]["1x"]) for name in five]
ax = plt.figure(figsize=(9, 3.4)).gca()
title = f"The means of five encodings lie within {max(means) - min(means):.3f} nats, and their runs do not"
draw_seed_dots(
    ax, {five[name]: board[name]["1x"] for name in five}, title, "loss (nats per character)", means=True
)
plt.show()
text = tokenizer.decode(corpus.val)
print(
    f"one answer in {len(text) / text.count('?'):.0f} characters; a guess among five vowels: {log(5):.2f} nats"
)

# %% [markdown]
# Two runs of one encoding lie up to 0.13 nats apart. We sort the same sixty runs by what they have learned. Estimate what a click is worth. A model that guesses the vowel pays 1.61 nats for it, once in each answer, and the cell has printed how many characters have one answer. A model that does not know who did it pays for the first letter as well, at most the ln 16 = 2.77 nats of a guess among sixteen.

# %%
apart_guess = predict(
    "How far apart are the mean losses of the runs that do both and of those that do neither?",
    low=0,
    high=0.3,
    unit="nats",
    near=0.02,
)
apart_guess

# %% tags=["answer"]
learned = {"answer and spell": [], "only answer": [], "neither": []}
for name in five:
    for loss, right, written in zip(*(board[name][key] for key in ("1x", "roles", "whole")), strict=True):
        group = "neither" if right < 0.9 else "only answer" if written < 0.8 else "answer and spell"
        learned[group].append(loss)
ax = plt.figure(figsize=(9, 2.6)).gca()
title = "Sorted by what they have learned, the sixty runs overlap by about 0.01 nats"
notes = {name: f"{len(some)} runs" for name, some in learned.items()}
draw_seed_dots(ax, learned, title, "loss (nats per character)", span=(0.485, 0.65), means=True, notes=notes)
plt.show()
apart_guess.compare(mean(learned["neither"]) - mean(learned["answer and spell"]))

# %% [markdown]
# The three groups lose 0.507, 0.537 and 0.589 nats, so the first and the last lie 0.08 apart, about what the two letters explain. The means of any two of the five encodings lie at most 0.026 apart. At this step the gap between two runs mostly tells whether they have clicked. A mean over such different runs may describe none of them, so we count seeds.
#
# ## When they click
#
# The study of the first picture also asked each model questions. A seed *answers* by some step if at least 90% of its answers are right at this step and at every later one. The training has 1,800 steps. Its learning rate is still high at step 600, so a seed at this step is not one of the sixty runs.

# %% tags=["nbval-ignore-output"]
click(clicks, ["answers"])

# %% [markdown]
# At step 300 seven of the twelve seeds answer at least 76% of the questions right with RoPE, and at most 67% with the sinusoid. Only in these seven do the losses lie far apart, so they make the gap that you saw. **Of the 48 seeds of RoPE, the sinusoid, the fixed kernel and ALiBi, 47 answer by step 1,800. So the gap at step 300 mostly shows which of them answer already.** Had we stopped at step 300, we would have taken *not yet* for *worse*. Still earlier the sinusoid loses more for another reason, which we have not looked for: at step 150 it is 0.05 nats behind, and hardly any seed answers.
#
# ## And the names?
#
# No seed of any encoding spells before it answers, because a model that writes the right name also prefers it. Here *spell* means that at least 80% of the names are written to their end.

# %%
sooner = ["with the sinusoid", "with RoPE", "equally many: 2 apart at most"]
sooner_guess = predict(
    "By step 600, 8 seeds answer with the sinusoid and 11 with RoPE. With which do more spell by step 1,200?",
    sooner,
)
sooner_guess

# %% tags=["answer", "nbval-ignore-output"]
spelling_seeds = click(clicks, ["spells", "answers", "loss"])
spelling_seeds.step = 1200
display(spelling_seeds)
sinusoid, rope = (clicked(clicks, "spells")[name][at.index(1200)] for name in ("v3", "v4"))
sooner_guess.compare(sooner[2 if abs(sinusoid - rope) <= 2 else 0 if sinusoid > rope else 1])

# %% [markdown]
# By step 1,200 ten seeds spell with the sinusoid and two with RoPE. In eight seeds the sinusoid alone spells, and in none RoPE alone, which luck does in less than one study of a hundred (a *sign test*, *p* = 0.008). This explains most of the first picture. At step 300 RoPE is ahead mainly because more of its seeds answer. By step 1,200 all seeds of both answer, and RoPE is behind because fewer of its seeds spell. So which encoding is better? Of five, no pair is decided after 600 steps, and at other steps the picture mostly compares which seeds have clicked by then. The step that we had named beforehand is the last one, where it is five to none, and luck is not excluded (*p* = 0.06).
#
# ## The case
#
# Of the twelve seeds of RoPE, which is our v4, 1, 2 and 7 spell by step 600, 1,200 and 1,800. So *it needs more steps* is right for six of twelve seeds. *Its encoding makes it late* is suggested, since at step 1,200 the sinusoid is far ahead from the same seeds, and so is ALiBi with nine ([results](../docs/results.md#the-time-of-the-click)). Lesson 12 exchanges the encoding to decide it.
#
# Neither says what the steps are for. [Lesson 12](12_the_case_is_closed.ipynb) looks at what forms in a seed that spells, and gives it to v4.

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
ladder.CLICK


# %%
def click_of(at: list[int], shares: list[float], least: float) -> float:
    """The first step from which on all shares are at least `least`; infinity if there is none."""
    return at[-1]


# %%
ladder.CLICK.check(click_of)

# %% [markdown]
# The last exercise asks for your own `Encoding`. A subclass of `Rotary` keeps RoPE's rotation. Override what you need: `embed`, `transform_qk`, or `score_bias(queries, keys)`, which returns what is added to the scores, (H, Tq, Tk). `queries.time` and `keys.time` hold the positions, (Tq,) and (Tk,).

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
# To see whether yours clicks, import `Transformer` from `babygpt.models.transformer`, and run `race("mine", Transformer(shape, RoPESoFar(shape.head_dim, shape.n_head)))`.

# %% [markdown]
# ## Recap
#
# 1. We compare models seed by seed. A difference is *decided* if the 99% interval of twelve seeds leaves out zero, these seeds did not suggest it, and the mean counts.
# 2. *Undecided* does not mean *equal*: of differences as large as one standard deviation, twelve seeds see 64 in 100.
# 3. After 600 steps the loss of a run mostly tells what it has learned.
# 4. Of four encodings 47 of 48 seeds answer by step 1,800. At step 300 the gap between RoPE and the sinusoid mostly shows which seeds answer already.
# 5. By step 1,200 ten of twelve seeds spell with the sinusoid and two with RoPE. By step 1,800 seven do with RoPE, which suggests that its encoding makes v4 late.

# %% [markdown]
# ## Self-test
#
# **1.** A difference is +0.03 nats, with an interval from −0.01 to +0.07. What do twelve seeds say?
#
# - a) the models are equal
# - b) the first model has the higher loss
# - c) the true difference may be zero, and is hardly beyond 0.07
#
# <details><summary>Answer</summary>
#
# **c.** *a* is tempting, but a difference of 0.05 is still possible.
#
# </details>
#
# **2.** At step 600 model A loses 0.03 nats less than B, and this is decided. What else do you need before you call A better?
#
# - a) nothing, twelve seeds have decided
# - b) more seeds
# - c) the same comparison at other steps
#
# <details><summary>Answer</summary>
#
# **c.** *a* is tempting, but B may only be late, as seven seeds of the sinusoid are at step 300.
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
# **a.** Three runs at 100% and three at 50% have this mean. *c* is tempting, but it describes numbers that scatter around their mean.
#
# </details>
#
# **4.** A seed of v4 answers by step 600 and does not spell by then. What will happen?
#
# - a) it will spell if it trains long enough
# - b) it may spell later: five of ten such seeds did by step 1,800
# - c) it will never spell
#
# <details><summary>Answer</summary>
#
# **b.** *a* is tempting, but five seeds did not.
#
# </details>
#
# **5.** Sixty runs of five encodings are sorted by what they have learned, and the three groups hardly overlap in their losses. What follows?
#
# - a) the loss of a run mostly tells what it has learned by this step
# - b) the five encodings are equally good
# - c) longer training makes all runs equal
#
# <details><summary>Answer</summary>
#
# **a.** *b* is tempting, but undecided does not mean equal, and the encodings differ in how soon their seeds click.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Student 1908](https://doi.org/10.1093/biomet/6.1.1): the mean of a few samples.
# - [Olsson et al. 2022](https://arxiv.org/abs/2209.11895): larger models learn to copy suddenly, too.

# %% [markdown]
# ## What comes next
#
# A mistake in our code could also keep five seeds from spelling. Would we notice it, if the loss falls as it should? → [09 · The museum of bugs](09_museum_of_bugs.ipynb)
