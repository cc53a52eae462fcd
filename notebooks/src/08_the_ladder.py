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
# The picture below has the [losses](../docs/glossary.md#loss) of two [encodings](../docs/glossary.md#encoding), RoPE and the sinusoid, from the same twelve [seeds](../docs/glossary.md#seed) at every 50th step of one training. Move the step from 300 to 1,200: at 300 the sinusoid loses more than luck explains, and at 1,200 it loses less, again by more than luck explains. Which of the two would you call better, and what happened in between?
#
# We also test three explanations of our case, of v4 that cannot spell the name: *it needs more steps*, *it does not look at the name* and *the model is too small to copy*. You will be able to
#
# 1. judge from seeds whether one model has a lower loss, and say what your study could not have seen,
# 2. tell a difference between two models from a difference in time,
# 3. find the step at which a model has learned something, and the head that has formed there.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about a minute to run on two cores, and by our estimate 45 minutes to read and guess. The exercises take about 22 minutes, and those marked *stretch* take 25 more.

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
from babygpt_course.tools import click, gap, vowel_heads

# %% tags=["nbval-ignore-output"]
live.set_style()
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
# > A difference is [decided](../docs/glossary.md#decided) if three conditions hold. The interval of at least twelve seeds leaves out zero. Six of these seeds are *fresh*, trained only after the six others had suggested the difference, and their mean has the same sign. The mean counts: it is at least 0.02 nats per character, or 5 points of right answers. Every other difference is [undecided](../docs/glossary.md#undecided).
#
# Fresh seeds are needed because the largest of many differences is a lucky one. *Undecided* does not mean *equal*: at step 600 the sinusoid may be 0.028 nats better than RoPE, or 0.051 worse. This careful rule also misses real differences. Suppose that one model is really better, by one standard deviation of the differences. The mean of twelve seeds then lies about √12 = 3.5 standard errors from zero, and the interval reaches 3.1.

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
# The first row counts false alarms, about one comparison in a hundred. Before nine of ten studies see a difference, it has to be as large as 1.3 deviations. So an undecided difference is often small beside the luck of the seeds.
#
# At steps 300 and 1,200 the rule decides, in opposite directions, and nothing is decided at steps 1,500 and 1,800.
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
# The loss falls smoothly, whereas the right answers stay near 50%, which is chance, and then leap. The written names wait longer. We call such a leap a [click](../docs/glossary.md#click), and a run can have two of them, for answering and for spelling.
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
# Two runs of one encoding lie up to 0.13 nats apart. We sort the same sixty runs by what they have learned. Estimate what a click is worth. A model that guesses the vowel pays 1.61 nats for it, once in each answer, and the cell has printed how many characters have one answer. A model that does not know who did it pays for the first letter as well. In three such runs of 450 steps this letter costs 1.78 nats, as much as a guess among six letters.

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
# The three groups lose 0.507, 0.537 and 0.589 nats, so the first and the last lie 0.08 apart, about what the two letters explain, and three times as far as any two encodings. At this step the gap between two runs mostly tells whether they have clicked. Even the first group loses 0.04 nats more than the best reader, for reasons that we did not test. A mean over such different runs may describe none of them, so we count seeds.
#
# ## When they click
#
# The study of the first picture also asked each model questions. A seed *answers* by some step if at least 90% of its answers are right at this step and at every later one. The training has 1,800 steps. Its learning rate is still high at step 600, so this is not the end of a run of 600.

# %% tags=["nbval-ignore-output"]
click(clicks, ["answers"])

# %% [markdown]
# At step 300 seven of the twelve seeds answer at least 76% of the questions right with RoPE, and at most 67% with the sinusoid. Only in these seven do the losses lie far apart, so they make the gap that you saw. **Of the 48 seeds of RoPE, the sinusoid, the fixed kernel and ALiBi, 47 answer by step 1,800. So a gap at step 300 mostly shows which of them answer already.** Had we stopped at step 300, we would have taken *not yet* for *worse*.
#
# Three encodings lose more than RoPE at the end: the trained kernel, PoPE and NoPE. No seed of NoPE answers, and four of PoPE do.
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
display(click(clicks, ["spells", "answers", "loss"]))
sinusoid, rope = (clicked(clicks, "spells")[name][at.index(1200)] for name in ("v3", "v4"))
sooner_guess.compare(sooner[2 if abs(sinusoid - rope) <= 2 else 0 if sinusoid > rope else 1])

# %% [markdown]
# By step 1,200 ten seeds spell with the sinusoid and two with RoPE. In eight seeds the sinusoid alone spells, and in none RoPE alone, which luck does in less than one study of a hundred (a *sign test*, *p* = 0.008). This explains the first picture. At step 300 RoPE is ahead because more of its seeds answer. By step 1,200 all seeds of both answer, and RoPE is behind because fewer of its seeds spell. Why the sinusoid spells so early is open.
#
# Of the twelve seeds of RoPE, which is our v4, 1, 2 and 7 spell by step 600, 1,200 and 1,800, so more steps help. Of the five other seeds, 1002, 1004 and 4711 write 67.5 to 79.5% of the names at the end, 1006 writes 40%, and only 17 (20%) is near a guess of the vowel.
#
# ## What changes in a seed that spells?
#
# We took v4 apart as with the switchboard of [04b](04b_which_heads.ipynb): each head was silenced in turn, 150 steps before a seed began to spell, when it began, and at step 1,800. The first letter of the answer is given, so the model has to write the second one, the vowel, which is a guess among five (20%).
#
# By the 100 questions of this study six seeds spell. Seed 2027 writes 74% here, and 82% of 400 above. In each of the six, one head of layer 2 turns out to be needed for the vowel. It can look at the vowel itself, but after layer 1 other letters, too, can hold something about it ([03a](03a_attention.ipynb)).

# %%
counts = ["one or none", "two", "three", "four", "five or six"]
letter_guess = predict(
    "From how many of the six seeds does this head look mostly at the vowel that the model has to write?",
    counts,
)
letter_guess

# %% tags=["answer", "nbval-ignore-output"]
display(vowel_heads(spelling := load_results("spelling")))
spellers = [stages["end"] for stages in spelling["stages"] if "click" in stages]
at_vowel = 0
for one in spellers:
    needed = min(range(4), key=lambda head, one=one: one["without"][1][head])
    looks = [*one["looks"][1][needed], 1 - sum(one["looks"][1][needed])]  # at four letters, and elsewhere
    at_vowel += looks.index(max(looks)) == 1
letter_guess.compare(counts[min(max(at_vowel, 1), 5) - 1])

# %% [markdown]
# Seed 1337 writes a third of the vowels 150 steps before it spells, and 98% at the last step. If head 3 of layer 2 is then silent, 20% remain, whereas any other head of this layer leaves at least 97%. The five other seeds that spell come next in the menu: 18 to 26% remain without one head of layer 2, and at least 83% without any other. Layer 1 is needed as well: without its most needed head the six seeds write 21 to 63% of the vowels, and two of them hardly more than without the head of layer 2.
#
# Lesson 04b found a head that gives the name nearly all its weight, but that was measured where the *first* letter is due. Where the vowel is due, no head of these six gives the name more than 48% of its weight 150 steps before. At the last step one head gives it 78 to 97%. So **in every seed that spells, a head of layer 2 has formed that gives the name most of its weight, and 150 steps before no head gave it half.**
#
# Do the six other seeds lack this head? Only seeds 17 and 1006 do: they write 17 and 39% of the vowels at step 1,800, and no head gives the name more than 27% of its weight. In 2027, 1002 and 1004 it has formed, with 62 to 95%, yet they write 72 to 78% of the names. So the head is needed and does not suffice. Seeds 2027 and 1002 write at least 99% of the vowels, so another letter must be wrong, which we did not measure. Seed 4711 is an exception: it writes 79% of the vowels, and two heads give the name 45 and 41%.
#
# In three seeds the head looks mostly at the vowel. In the other three it looks mostly at the *third* letter, which stands behind the vowel and gets 84% of the head's weight in seed 1337. How can a head write a vowel while it looks at the letter behind it?
#
# > **In a real model.** SmolLM2-135M reads 60 random tokens twice. In the second reading six of its 270 heads give more than half of their weight to the token that followed the present one last time (means over 24 draws). [Lesson 11](11_a_real_model.ipynb) asks whether SmolLM2 needs these heads, and how they find this token.
#
# ## The case
#
# *It needs more steps* is right for seven of twelve seeds: they spell by step 1,800, once a head of layer 2 looks at the name, and with the help of layer 1. So *it does not look at the name*, out in 04b for the first letter only, is nearly right for the vowel. In the one seed that we dissected at step 450, a head gives the name 34%, and 25% of the vowels are right. The runs of 450 and 600 steps of earlier lessons we did not dissect.
#
# *The model is too small to copy* is out, since the seeds that spell have the same size. *It recalls the vowel only in part* describes seeds shortly before they spell, and three that have not spelled by step 1,800. Open are *it has a bug*, why the sinusoid spells earlier, and why a head looks at the letter behind the vowel.

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
# 1. We compare models seed by seed. A difference is *decided* if the 99% interval of twelve seeds leaves out zero, six fresh seeds agree, and the mean counts.
# 2. *Undecided* does not mean *equal*: of differences as large as one standard deviation, twelve seeds see 64 in 100.
# 3. After 600 steps the loss of a run mostly tells what it has learned.
# 4. Of four encodings 47 of 48 seeds answer by step 1,800. A gap at one step mostly shows which seeds have learned to answer or to spell.
# 5. In every seed of v4 that spells, a head of layer 2 has formed that looks at the name when the vowel is due. In three of six it looks mostly at the letter behind the vowel.

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
# **4.** A seed of v4 answers at step 350 and writes no name at step 600. What will happen?
#
# - a) it will spell if it trains long enough
# - b) it may spell later: seven of twelve seeds did by step 1,800
# - c) it will never spell
#
# <details><summary>Answer</summary>
#
# **b.** *a* is tempting, but five seeds did not.
#
# </details>
#
# **5.** Without head 3 of layer 2 a model writes 20% of the vowels. Which control shows that this head is special?
#
# - a) its attention, 84% of which goes to one letter
# - b) the other heads of the layer, silenced in the same way
# - c) a model without any heads
#
# <details><summary>Answer</summary>
#
# **b.** *a* is tempting, but it only tells where a head looks. The other heads cost a point at most, so it is not silence that hurts.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Student 1908](https://doi.org/10.1093/biomet/6.1.1): the mean of a few samples.
# - [Olsson et al. 2022](https://arxiv.org/abs/2209.11895): heads that copy form suddenly in larger models, too.

# %% [markdown]
# ## What comes next
#
# A mistake in our code could also keep five seeds from spelling. Would we notice it, if the loss falls as it should? → [09 · The museum of bugs](09_museum_of_bugs.ipynb)
