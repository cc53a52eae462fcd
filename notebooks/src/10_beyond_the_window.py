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
# *A side trip after 04c, complete in itself.*
#
# We put digits into the tales: `<7>` *tells* a digit, and later `[` *asks* for the digit that was told last, so that `7]` has to follow. A v4 that was trained on [windows](../docs/glossary.md#window) of 64 characters gives the right digit in 92% of these questions inside a window. In a text of 256 characters, where the digit stands 192 back, it gives 32% (means over twelve [seeds](../docs/glossary.md#seed)). Two things have grown at once, because the digit is further away and more text stands around it. Which of the two does the damage?
#
# In our case, v4 of [lesson 00](00_start_here.ipynb) knows who did it and does not copy the vowel of the name, and one explanation is that *the vowel is too far away*. This lesson tests distance itself: does a model lose what stands far away, and why? You will be able to
#
# 1. separate by experiment two causes that change together,
# 2. say which pairs of RoPE a longer text takes to new angles, and what slowing them down will break,
# 3. test the memory of a model apart from its loss.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 50 seconds to run on two cores, and by our estimate 46 minutes to read and guess. The exercises take about 23 minutes, and those marked *stretch* take 12 more.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import babygpt_live as live
from babygpt import ModelConfig, NextToken, TrainConfig, build, metrics
from babygpt.data.corpus import load_corpus
from babygpt.experiments import paired
from babygpt.tables import Table
from babygpt_course import explorers
from babygpt_course.exercises import lesson_10 as tasks
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import practice, results, seed_plots, stretch
from babygpt_course.studies.stretching import stretched
from babygpt_course.tools import company, explore_stretching

# %%
corpus, window = load_corpus("recall", n_chars=400_000), 64
tokenizer = corpus.tokenizer
print(tokenizer.decode(corpus.val[:184]))

# %% tags=["nbval-ignore-output"]
told, query = "ada ch<7>ased ben. ", "who chased ben? ["
shape = ModelConfig(tokenizer.vocab_size, window, n_layer=2, n_head=4, n_embd=96)
torch.manual_seed(1337)
v4 = build("v4", shape)
watch = explorers.heads(tokenizer, told + query, answer="7")
run = live.train(v4, NextToken(corpus, window), TrainConfig(steps=400), "v4", watches=[watch])

# %% [markdown]
# Capitals and Greek letters are told in the same way, and `{` and `(` ask for them. Each kind has ten values that are drawn at random, so a model that remembers nothing is right in 10% of the questions. In training a question comes at most 52 characters after its value. Watch the arcs, which show where one head looks from the last bracket: once v4 answers, a head looks at the 7.
#
# ## Let the text grow
#
# RoPE turns pair $i$ of a head by $\omega_i = \theta^{-2i/D}$ radians per character, with $D = 24$ and $\theta = 10000$ in our models. So the angles between a question and a digit depend on their distance alone ([04a](04a_rope.ipynb)), which we use for an experiment. The digit stays 48 characters before its question, a distance that training met, and only the text *before* it grows, to two, four and eight windows. Some questions ask for a capital or a Greek letter, and we say *digit* for all three. No other of its kind is told, but a longer text holds more notes of the other two kinds.

# %%
shares = ["about as many as in one window", "at least 20 points fewer"]
grows = predict("The digit stays 48 back, and the text grows to eight windows. How many are found?", shares)
grows

# %% tags=["answer", "nbval-ignore-output"]
controls, study = results.load_results("controls"), results.load_results("stretch")
near = controls["controls"]["company"]  # "8 windows" -> the share that each of twelve seeds finds


def recall(model, distance, windows):
    """Share of digits, told so many characters ago, that a model finds in a text of so many windows."""
    return metrics.recall_by_distance(model, tokenizer, [distance], n=64, length=windows * window).accuracy[0]


run.result()
rows = []
for n, back in ((1, 48), (4, 48), (8, 48), (4, 192)):
    stored = near[f"{n} windows"] if back == 48 else stretch.values(study, "v4", "alone 4")
    rows.append((f"{n}", f"{back}", f"{recall(v4, back, n):.0%}", f"{np.mean(stored):.0%}"))
display(
    Table(("windows of text", "the digit stands back", "found by yours", "mean of 12 seeds"), rows, stable=2)
)
grows.compare(shares[int(np.mean(near["1 windows"]) - np.mean(near["8 windows"]) > 0.2)])

# %% [markdown]
# Nothing has changed between the question and its digit, so we would expect 91%, as in one window. But in eight windows the models find only 57% of these digits, 34 points fewer (99% interval: 19 to 50). Distance cannot be the reason, because each pair still has its angle of one window. What grows is the number of keys that share the attention: the more keys there are, the less the [softmax](../docs/glossary.md#softmax) leaves for one of them.
#
# ## Hide the far text
#
# v4 knows distances alone, so a longer text can act on its answer only through keys that stand a window or more back. We hide these far keys, and leave all else as it is. Then v4 should find what it finds in one window.

# %%
hidden = company(controls)
hidden.windows, hidden.hide = 8, True
hidden

# %% [markdown]
# With the far keys hidden v4 finds 91% of the digits in a text of eight windows, as many as in one. This had to come out, so it is a test of our program. What it cannot tell is *how* far keys do harm, although no other digit of its kind is told there. **Far text costs v4 a near digit even where no other digit stands.**
#
# The second panel computes the softmax. Move **score above other keys**, and compare with the third panel, which was measured. With a score between 6 and 7 the attention on the digit falls as fast as the mean recall, so the number of keys *may* do it.
#
# Distance does harm, too. In four windows v4 finds 71% of the digits 48 back, and 32% of those 192 back. Whether the longer text or the distance costs more is undecided.
#
# ## Many keys, or new angles?
#
# Far keys may do harm in two ways. They share the attention, and some of them look like the digit, because they belong to notes of the other kinds. And they stand at distances that training never met. The second panel speaks for the number of keys, and the next table for the distances. Imagine a head that reads by pair 5 alone, the green one of the first panel, with the [score](../docs/glossary.md#score) $8\cos(\text{distance}\cdot\omega_5)$:

# %%
omega = 10_000.0 ** (-np.arange(0, 24, 2) / 24)  # (12,) radians per character
rows = []
for distance in (0, 28, 48, 192, 292):
    angle = distance * omega[5]
    rows.append((f"{distance}", f"{np.degrees(angle):.0f}°", f"{8 * np.cos(angle):.1f}"))
Table(("distance", "angle of pair 5", "score"), rows, stable=3)

# %% [markdown]
# Inside a window pair 5 turns by less than 80°, and its score stays above 0. At 192 the score is negative, so this head would miss a digit there. At 292 the pair has finished a turn, so that a far key scores as high as the token itself. Eight of our twelve pairs never finish a turn in a window, and a longer text takes all of them to new angles.
#
# The two explanations disagree about a v4 whose rotation we take away after training. All keys stay, and no angle is left. If the number of keys hides the digit, this model should lose it, and if new angles do, it should find it. Without angles there is no distance, so we may put the digit 384 back, where v4 as it is finds 17%.

# %%
halves = ["fewer than half of them", "more than half of them"]
unturned = predict(
    "v4 without its rotation reads eight windows. How many of the digits 384 back are found?", halves
)
unturned

# %% tags=["answer", "nbval-ignore-output"]
for rotation, method in (("with", "none"), ("without", "drop")):
    share = recall(stretched(v4, method, 8), 384, 8)
    print(f"{rotation} rotation:", paired.beside(share, stretch.values(study, method, "alone 8"), "%"))
unturned.compare(halves[int(np.mean(stretch.values(study, "drop", "alone 8")) > 0.5)])

# %% [markdown]
# Without its rotation v4 finds 89% of the digits. Its 17% with the rotation is no fair rival, because at 384 the digit's own angle is new, too. But 48 back in an equally long text v4 finds 57%, and this is 32 points less (19 to 45). So many keys need not hide the digit, and the suspicion falls on the angles. It is no proof, because without its rotation v4 may also score the digit higher beside the other keys, and then their number matters less.
#
# Nor is this a remedy, because even in one window this model loses 2.68 nats per character in place of 1.19. *DroPE* drops the rotation, too, and then trains a little more. In eight windows it finds 90% of single digits, as many as the best method below, but of two digits it gives the later one no more often than chance would ([results](../docs/results.md#sixty-steps-of-fine-tuning)).
#
# ## Distances without angles
#
# There are other ways to bring a distance $d$ into a score, and in these no angle can be new. T5 learns a number for each range of distances, a [relative bias](../docs/glossary.md#relative-bias), and the score is $q\cdot k + b_d$ for every query. A distance that training never met would have an untrained number. Therefore all long distances share one number, in our T5 those from 27 on, which we scaled to our window. [ALiBi](../docs/glossary.md#alibi) subtracts a number that grows with the distance ([05](05_gaussian_rope.ipynb)).
#
# We compare both with [NoPE](../docs/glossary.md#nope), which has no encoding. All three were trained as v4 was. In eight windows ALiBi's loss is only 0.05 nats higher than with the last 64 characters alone.

# %%
kept = ["nearly as many as inside a window", "at least 20 points fewer"]
calm = predict("ALiBi reads eight windows. How many of the digits, told 384 back, does it find?", kept)
calm

# %% tags=["answer"]
arms = {"v4": "v4", "v4 without rotation": "drop", "ALiBi": "alibi", "T5": "t5", "NoPE": "nope"}
columns = {"loss": ".2f", "own 8": ".2f", "alone 8": ".0%", "last 1": ".0%", "last 4": ".0%"}
rows = []
for name, arm in arms.items():
    means = {column: np.mean(stretch.values(study, arm, column)) for column in columns}
    rows.append((name, *(format(means[column], form) for column, form in columns.items())))
named = (
    "loss in one window (nats)",
    "more in eight windows (nats)",
    "a digit 384 back, in eight windows",
    "later of two digits, in one window",
    "later of two, 192 back, in four windows",
)
display(Table(("mean of 12 seeds", *named), rows, stable=6))
inside, far = (np.mean(stretch.values(study, "alibi", f"alone {n}")) for n in (1, 8))
calm.compare(kept[int(inside - far > 0.2)])

# %% [markdown]
# ALiBi's loss hardly changes, yet it finds 45% of the digits, 41 points fewer than inside a window (32 to 50). NoPE's loss rises by 0.77 nats, and it finds 98%. So a steady loss only shows that a model is not disturbed, and to test memory we have to ask. T5 finds nearly all digits as well, so a long text need not make a model forget.
#
# But to find a digit is less than we want. In the last two columns *two* digits are told, and only the later one is right. T5 gives the later one in 88% of the questions inside a window, but in 51% from 192 back, where both digits get the same number of T5. NoPE gives it in hardly more than half of the questions even inside a window, so it never learned that the later one counts.
#
# ## Give v4 its old angles back
#
# *Position interpolation* (Chen et al. 2023) divides each position by a factor $s$. With $s = 4$ a distance of 192 becomes 48, and no angle is new in four windows. But quick pairs suffer: at the angle where a head had found the letter before, it now finds the fourth letter before. So two other methods spare them.
#
# - *NTK-aware scaling* (bloc97 2023) leaves the quickest pair as it is, makes the slowest one $s$ times slower, and slows each pair a little more than the one before it.
# - *YaRN* (Peng et al. 2023, here as in the released code) leaves pairs that turn often in a window, makes those that never finish a turn $s$ times slower, and slows the others in part. It also makes attention sharper.

# %% tags=["nbval-ignore-output"]
slowed = explore_stretching(v4, corpus.val)
slowed.method = "ntk"
slowed

# %% [markdown]
# On the left a ring is a pair as it was trained, and a dot the same pair under NTK-aware scaling. The orange dots are pairs that a text of four windows still takes to new angles. Compare the other methods. The six texts of the curves on the right are too few to rank the methods.
#
# We measure two things in four windows, over twelve seeds: how many digits are found 192 back, and the *cost*. This is the loss of the stretched model minus that of v4 with only the last 64 characters.

# %%
more = ["more than v4 as it is", "fewer than v4 as it is"]
finds = predict("Interpolation costs more than a nat. How many digits does it find, 192 back?", more)
finds

# %% tags=["answer", "nbval-ignore-output"]
methods = {"none": "v4 as it is", "interpolation": "interpolation", "ntk": "NTK-aware", "yarn": "YaRN"}
found, last, cost = (
    {name: stretch.values(study, method, f"{what} 4") for method, name in methods.items()}
    for what in ("alone", "last", "cost")
)
yours = recall(stretched(v4, "interpolation", 4), 192, 4)
print("interpolation:", paired.beside(yours, found["interpolation"], "%"))
rows = [
    (name, f"{np.mean(cost[name]):.2f}", f"{np.mean(found[name]):.0%}", f"{np.mean(last[name]):.0%}")
    for name in methods.values()
]
display(Table(("mean of 12 seeds", "cost (nats)", "digits found", "later of two digits"), rows, stable=4))
fig, ax = plt.subplots(figsize=(8, 3.4))
title = "Interpolation and YaRN find most digits, and YaRN most often the later of two (rings)"
label = "right digits, 192 back in four windows (%); dashed: chance"
dots, rings = paired.percent(found), paired.percent(last)
seed_plots.draw_seed_dots(ax, dots, title, label, {"chance": 10}, (0, 103), rings)
plt.show()
finds.compare(more[int(np.mean(found["interpolation"]) < np.mean(found["v4 as it is"]))])

# %% [markdown]
# Interpolation finds 84% of the digits 192 back. It turns this distance into 48, where v4 as it is finds only 71%, among as many keys. We had not named this lead beforehand, so it only suggests that the number of keys is not the whole harm.
#
# The losses put the methods in another order. Interpolation finds many digits and costs most, 1.47 nats. NTK-aware scaling costs least, 0.18, and finds least of the three. So again the loss does not tell what is remembered. The rings are the harder question, the later of two digits. Here YaRN is best, with 72%, and still below the 88% that v4 gives inside a window.
#
# > **In a real model.** [Lesson 11](11_a_real_model.ipynb) stretches SmolLM2-135M by 4 with these three methods, and measures what each of them costs in short texts. What do you expect, given the pairs that each of them slows?
#
# ## What later models leave out
#
# Some published models do without rotation somewhere: in every fourth layer, or in a part of the pairs ([since 2024](../docs/since_2024.md)). Others give each token the one before it, which is called [token shift](../docs/glossary.md#token-shift). We built each of these into a v4 of four layers, which read the plain tales. Past the window, how much does the loss of a character change, compared with its loss inside one window?

# %%
less = [
    "no rotation in the fourth layer",
    "rotation of a quarter of the pairs",
    "token shift",
    "none of them",
]
steadier = predict("Which of them changes less, four windows far, than RoPE in every layer?", less)
steadier

# %% tags=["answer"]
four_layers = results.load_results("practice")
fig, ax = plt.subplots(figsize=(8, 3))
practice.draw_past(ax, four_layers)
plt.show()
sides = [comparison["past"].side for comparison in practice.against_rope(four_layers).values()]
steadier.compare(less[sides.index("below")] if sides.count("below") == 1 else less[3])

# %% [markdown]
# We had expected the first. But without rotation in the fourth layer the loss rises by 0.35 nats more (0.15 to 0.55), decided, and only **token shift rises less, by 0.29 nats (0.20 to 0.38)**. Nobody had expected this, and without a control we do not know why it does. Inside the window nothing is decided, and what these models recall was not asked. Published models with such layers also train on long texts, and ours never saw one ([results](../docs/results.md#four-layers-as-later-models-have-them)).
#
# ## Which method should you use?
#
# No method is best at everything, so say first what the longer text is for.
#
# - If it has to *recall* far text and nothing may be trained, use YaRN. It gives the later of two digits most often, and costs far less than interpolation.
# - If only the *loss* counts, read the last window alone, because each of these methods loses more than that. If all of the text has to be read, NTK-aware scaling costs least.
# - If you train a *new* model, say what it has to recall. T5's bias finds nearly all single digits, if its ranges fit the window, and hardly tells two far ones apart. ALiBi has the steadier loss and finds fewer.
#
# We measured this with small models and windows of 64 characters. The papers used far larger ones, so our numbers refute none of them ([all results](../docs/results.md#beyond-the-window)).
#
# ## The case
#
# With much text a model can lose what stands near, but we saw it only beyond the window. The stories of our case fit into one window, and the first letter, which v4 finds, stands in the same text as the vowel. So *the vowel is too far away* is out.

# %%
tally()

# %% [markdown]
# ## Exercises
#
# In a new cell, `tasks.NTK.hint()` gives one hint at a time and `tasks.NTK.solution()` shows a solution.

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
# 1. A digit that stays 48 back is found in 91% of the texts of one window, and in 57% of those of eight. With the far keys hidden it is 91 or 92% at each length, so far text can make v4 forget a near digit.
# 2. A pair of RoPE that never finished a turn in training reaches new angles in a longer text. In our heads these are 8 of 12 pairs.
# 3. Many keys alone need not hide a digit: without its rotation the same v4 finds 89% of the digits 384 back, and with it 57% of those 48 back. In four windows interpolation hides no key, and finds more than v4 does at 48.
# 4. Interpolation removes the new angles and slows the quick pairs, so it finds 84% of the digits 192 back and costs 1.47 nats. NTK-aware scaling costs least, and YaRN gives the later of two digits most often.
# 5. Past the window a layer without rotation makes a model of four layers lose more, and token shift makes it lose less.
# 6. The loss does not tell what a model remembers. In eight windows ALiBi's loss rises by 0.05 nats and it finds 45% of the digits, whereas NoPE's rises by 0.77 and it finds 98%.

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
# **b.** *c* is tempting, but a smaller base makes the slow pairs quicker, so that seven of the 12 finish a turn.
#
# </details>
#
# **2.** Interpolation by 4, without further training, raises the loss also on texts of 64 characters. Why?
#
# - a) neighbours stand at a quarter of the angle that heads have learned
# - b) the text has new angles
# - c) the model has forgotten the window
#
# <details><summary>Answer</summary>
#
# **a.** *b* is tempting, but interpolation exists to avoid new angles.
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
# **b.** *a* is tempting, but ALiBi's loss is steady, too.
#
# </details>
#
# **4.** A head loses a near digit in a long text, and finds it again when the far keys are hidden. What does this show?
#
# - a) the far keys stand at new angles, and this disturbs
# - b) far keys disturb, by their number or by their angles
# - c) the digit was too far away
#
# <details><summary>Answer</summary>
#
# **b.** *a* may be true, but hiding takes away both the number of the keys and their angles.
#
# </details>
#
# **5.** T5 finds a digit 384 back, and of two digits 192 back it gives the later one in half of the questions. Has it learned that the later one counts?
#
# - a) no, or it would give it
# - b) yes, but only within the distances whose numbers differ
# - c) yes, but it needs sharper attention
#
# <details><summary>Answer</summary>
#
# **b.** Within its window it gives the later one in 88% of the questions, so *a* is wrong. Against *c*: no attention separates two keys with equal scores.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Peng et al. 2023](https://arxiv.org/abs/2309.00071): YaRN, and the three ways compared.
# - [Chen et al. 2023](https://arxiv.org/abs/2306.15595): position interpolation.
# - [Raffel et al. 2020](https://arxiv.org/abs/1910.10683): T5's bias.
# - [Gelberg et al. 2025](https://arxiv.org/abs/2512.12167): DroPE.

# %% [markdown]
# ## What comes next
#
# The models of this lesson have two layers. Does a published one with thirty use its positions in the same way? → [11 · A real model](11_a_real_model.ipynb)
