# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 09 · The museum of bugs
#
# **The loss falls. How do you know that the model knows where its tokens stand?**
#
# A falling loss does not tell you. We found the bugs of this museum in libraries, courses and papers, and a few in the source notes of this course. None of them raises an error. With each of them the loss falls from the first steps on.
#
# But each bug breaks at least one **[promise](../docs/glossary.md#promise)**. A promise is a property of a healthy model, such as *no token sees the future*. You can measure whether a model keeps a promise without knowing its bug. This is the game: ask for as few promises as you can, and name the bug. We solve three cases here together. Fourteen cases are yours.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, and by our estimate 48 minutes to read and guess. The fourteen other cases take half an hour or more, whenever you like.

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt

from babygpt import live, load_corpus, plots
from babygpt_course.museum.costs import cost_table, differences, effect, ending, load_costs
from babygpt_course.museum.museum import Museum
from babygpt_course.predictions import predict, tally

plots.set_style()

# %% [markdown]
# ## How to play
#
# The museum holds seventeen cases: sixteen bugs and one healthy model. Each case is a small GPT of two blocks. Its encoding is [RoPE](../docs/glossary.md#rope) or a table of sines and cosines, called the sinusoid. You can compare its training curve with the curve of its *healthy twin*. The twin is the same model without the bug, from the same [seed](../docs/glossary.md#seed). There are four moves:
#
# - `case.ask("shift")` measures one promise, or several. It shows ✓ or ✗ for each.
# - `case.name("mixed layouts")` names the bug. The name is accepted only if **no other name fits** the ✓ and ✗ that you have seen.
# - `case.hint()` lists the names that still fit.
# - `case.reveal()` gives up. After that, or after a right name, you can read where the bug was found (`case.plaque()`) and its code (`case.source()`).
#
# The score counts promises, wrong names and hints.
#
# A promise is about how a model is built, not about what it has learned. So we measure it before training. But in a new model the last matrices of the blocks are zero. So the blocks add nothing, no bug can act, and almost every promise would hold. We therefore fill all weights with random numbers first. These are the promises that you can ask for:

# %%
museum = Museum(load_corpus())
museum.promises()

# %% [markdown]
# `shift`, `far` and `growth` take random [queries](../docs/glossary.md#query) and [keys](../docs/glossary.md#key), and test what the encoding does to them. RoPE rotates them. The sinusoid does nothing at this point, because it was added to the embeddings before. So a model with a sinusoid always keeps these three promises. The [window](../docs/glossary.md#window) is 32 tokens long.
#
# The next table lists the names: the sixteen bugs and *nothing wrong*. Choose two or three bugs. For each bug, ask yourself which promise it must break and which it certainly keeps.

# %%
museum.catalogue()

# %% [markdown]
# ## What a curve can show
#
# Training reads full windows of 32 tokens, without padding and without a [cache](../docs/glossary.md#cache). So the training curve depends only on what the model predicts in such windows.

# %%
untouched = predict(
    "How many of the sixteen bugs leave the training curve equal to the healthy twin's, to the last digit?",
    low=0,
    high=16,
    unit="bugs",
    near=1,
)
untouched

# %% tags=["answer"]
untouched.compare(museum.sleepers())


# %% [markdown]
# Six bugs change no prediction in such windows. Four of them act only when a model *writes*, with a cache or with padded prompts. The other two act only at positions beyond the window. In one the table of positions ends, and in the other the number type is too coarse to count far positions.
#
# ## First case

# %% tags=["nbval-ignore-output"]
def show(case):
    """The training curve of a case, and of the same model without what is wrong with it."""
    curves = case.curves
    ends = [ending(losses) for losses in curves.values()]
    _, ax = plt.subplots(figsize=(8, 3.6))
    title = f"Case {case.number} ends at {ends[0]:.2f}, its healthy twin at {ends[1]:.2f}"
    plots.draw_losses(ax, curves, {}, title)
    plt.show()


first = museum.case(1)
show(first)

# %% [markdown]
# You see one line, because the two curves coincide. Are they equal, or only close?

# %%
ours, healthy = first.curves.values()
print("the two curves agree to the last digit:", ours == healthy)

# %% [markdown]
# They are equal. So this is one of the six bugs, or the healthy model. We ask for four promises that the six bugs may break.

# %%
first.ask("cache", "padding", "beyond", "far")

# %%
remaining = predict(
    "Use only these four answers: one ✗, at cache, and three ✓. How many of the seventeen names fit them?",
    ["one", "two", "five"],
)
remaining

# %% tags=["answer"]
left = first.hint()
left

# %% tags=["answer"]
remaining.compare({1: "one", 2: "two", 5: "five"}[len(left.rows)])

# %% [markdown]
# Two names are left. *Cache restarts* is one of the bugs that leave the curve unchanged. *Mask off by one* lets every token see the next token. It also breaks `cache`, because the next token is not in the cache yet.
#
# The curve already tells us that this model does not look ahead. But the museum accepts only promises as evidence, because in your own work you have no healthy twin. So we ask one more question.

# %%
first.ask("causal")

# %%
first.name("cache restarts")

# %% [markdown]
# The plaque says where this bug was found, and the source is open now:

# %%
first.plaque()

# %%
first.source()

# %% [markdown]
# The bug is one argument that is not passed on. Training cannot show the bug, but a short test can: let the model read a text at once, let it read the text token by token, and compare. This test is `invariants.cache_equals_full`.
#
# ## Second case

# %% tags=["nbval-ignore-output"]
second = museum.case(2)
show(second)

# %% [markdown]
# The two curves separate. Because you see the twin's curve, you look for a bug. But a model that you train for the first time has no twin. You can only compare it with curves from other seeds.

# %%
noise = predict(
    "Twelve healthy models like this twin differ in nothing but their seed. How far apart are the best and the "
    "worst of them after 100 steps?",
    low=0,
    high=0.5,
    unit="nats",
    near=0.02,
)
noise

# %% tags=["answer"]
costs = load_costs()
by_seed = costs["ends"]["nothing wrong"]
noise.compare(max(by_seed) - min(by_seed))

# %% [markdown]
# The twelve healthy models end between 1.75 and 1.85, and the twin in the picture, a thirteenth, below them. Look at the title of the picture: case 2 ends in this range. So without its twin, you cannot tell case 2 from a healthy model with another seed.
#
# The museum trains each case and its twin from a thirteenth seed. We chose a seed with which the curve alone, without the twin, does not show the bug. From the twelve other seeds this bug ends between 1.84 and 1.97, so from most of them it shows.
#
# So we ask. RoPE has one purpose: a score stays the same if both positions move together. `shift` tests this.

# %%
second.ask("shift")

# %% [markdown]
# `shift` is broken, so the bug is in what the position encoding does to queries and keys. Four names fit: *mixed layouts*, *a lost minus*, *kernel of the position* and *the sine left out*. How do they differ?
#
# - With *the sine left out*, a score depends on cos(mω) · cos(nω). This product stays the same if the positions m and n are exchanged. So the model cannot tell left from right, and it breaks `sides`. *A lost minus* has the same effect.
# - With *kernel of the position*, scores get smaller as positions grow. Just past the window all scores are nearly 0. So the model cannot tell neighbours apart there, and it breaks `beyond`.
# - *Mixed layouts* keep `sides` and `beyond`.

# %%
second.ask("sides", "beyond")

# %% [markdown]
# Only *mixed layouts* is left. Before you name it, look at its line in the catalogue once more. RoPE turns the two channels of a pair by one angle. *Mixed layouts* takes the pairs from one layout and the angles from another. So the two channels of a pair get two different angles.

# %%
length = predict(
    "What happens to the length of a query if the two channels of a pair get different angles?",
    ["it stays as it is", "some queries grow longer", "none grows longer, and most shrink"],
)
length

# %% tags=["answer"]
answer = second.ask("growth")
answer

# %% tags=["answer"]
length.compare("some queries grow longer" if answer.rows[0][0] == "✗" else "it stays as it is")

# %%
second.name("mixed layouts")

# %%
second.plaque()

# %%
second.source()

# %% [markdown]
# A rotation keeps every length, so this is no rotation. The score no longer depends on the distance alone. But it still depends on the positions smoothly, and this is enough for a small model to learn from. The code in source note 001 has this bug.
#
# ## Third case
#
# You can watch this model train. The dashed line is the entropy of the tales, their [floor](../docs/glossary.md#floor). No healthy model can have a lower loss on average.

# %%
third = museum.case(3)
line = predict(
    "After 100 steps, where is the loss of case 3?",
    ["above the line, like every model of this course", "on the line, within 0.05 nats", "below the line"],
)
line

# %% tags=["answer", "nbval-ignore-output"]
floor = museum.corpus.floor
run = live.train(third.model(), museum.objective, museum.plan, "case 3", {"entropy of the tales": floor})

# %% tags=["answer", "nbval-ignore-output"]
end = ending([step.loss for step in run.result()])
which = [end > floor + 0.05, end > floor - 0.05, True].index(True)
line.compare(line.options[which])

# %% [markdown]
# A loss below the floor is a sign of a bug. On your own data you do not know the floor, and such a loss looks like a success. One question is enough.

# %%
third.ask("causal")

# %%
third.name("mask off by one")

# %% [markdown]
# *Mask off by one* is the only bug that looks ahead. So a single ✗ proves it. In your own work, two other mistakes can also give such a loss. Perhaps the targets are not shifted by one, or the text repeats itself.

# %%
third.source()

# %% [markdown]
# ## The rest is yours
#
# Fourteen cases are left. Choose one by its number and look at its curve; training takes a few seconds. Then ask for a promise that halves the list.

# %% tags=["nbval-ignore-output"]
mine = museum.case(4)
show(mine)

# %%
# mine.ask("shift")
# mine.name("…")
mine

# %% [markdown]
# Some advice from the first three:
#
# 1. **Ask which bugs the curve excludes.** If it equals the twin's curve, training never meets the bug. The curve helps you to choose a question, but the museum does not accept it as proof.
# 2. **Ask what halves the list**, not what confirms your first idea. A ✓ can tell you more than a ✗.
# 3. **One ✗ is rarely proof.** Ask which other bugs give the same answer; `mine.hint()` lists them.
# 4. **A healthy model needs the most questions**: you must exclude every bug.
#
# When all cases are solved, `museum.key()` shows which bug breaks which promise.
#
# ## What they cost
#
# Read this part after you have played, because it reveals answers. We trained all seventeen models beside their twins for 100 steps, from twelve seeds each. Lesson 08 explains the rule that the table uses.

# %%
louder = predict(
    "The codes are added twice. Is the loss at the end higher or lower than that of the healthy twin?",
    ["higher", "lower", "twelve seeds do not decide"],
)
louder

# %% tags=["answer"]
by_name = differences(costs)
found = effect(by_name["codes added twice"])
louder.compare(found if found in louder.options else "twelve seeds do not decide")

# %%
dearest = predict(
    "Which of these four costs most in training?",
    ["a lost minus", "wrong axis", "dropped scale", "mixed layouts"],
)
dearest

# %% tags=["answer"]
cost_table(costs)

# %% tags=["answer"]
dearest.compare(max(dearest.options, key=lambda name: sum(by_name[name])))

# %% [markdown]
# Look at the last column. Eight bugs make the loss higher. Six bugs do not change it. Two bugs make it lower: *mask off by one*, which sees the next token, and *codes added twice*, which really helps at this size and after 100 steps.
#
# The first row has the largest cost. In *wrong axis* the angle depends on the head instead of the position, so the model has no position code at all. Its loss still falls. You notice the damage only if you know what a healthy model reaches.

# %% [markdown]
# Your guesses beside what came out:

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Recap
#
# 1. A falling loss shows that a model learns something. It does not show that the model works as you intended.
# 2. Six of the sixteen bugs do not change training at all, because they act with a cache, with padding or beyond the window. No training curve can show them.
# 3. Eight bugs raise the loss, by 0.06 to 0.28 nats after 100 steps (mean of twelve seeds, two blocks). Healthy models with RoPE from different seeds already lie as far apart as the smallest of these. So without a twin a small cost looks like another seed.
# 4. Each bug breaks a promise that you can measure in a fraction of a second, without training, on a model with random weights.
# 5. One broken promise is rarely proof of a cause. Two or three answers can be proof, if each of them excludes other bugs.

# %% [markdown]
# ## Self-test
#
# **1.** The curve is equal to that of the healthy twin, to the last digit. Is the model healthy?
#
# - a) yes, it computes the same
# - b) not proven: what training never uses may still be wrong
# - c) no, two models are never equal
#
# <details><summary>Answer</summary>
#
# **b.** A cache, padding and far positions do not occur in training, and six bugs act only there. *a* is tempting, but equal curves only show that the two models compute the same in training.
#
# </details>
#
# **2.** A sinusoidal model keeps `shift`. Do its predictions stay the same when the whole text moves five positions on?
#
# - a) no
# - b) yes, that is what `shift` says
# - c) only inside the window
#
# <details><summary>Answer</summary>
#
# **a.** `shift` looks at *given* queries and keys, and a sinusoid does not change them. But in the model they depend on the position, because the sinusoid was added to the embeddings. *b* is tempting because it is true for RoPE.
#
# </details>
#
# **3.** `cache` is ✗. What is certain?
#
# - a) the cache holds wrong positions
# - b) training was affected
# - c) only that reading a text token by token gives other numbers than reading it at once
#
# <details><summary>Answer</summary>
#
# **c.** *a* is tempting, but it is only one possible cause. A mask that looks ahead breaks `cache` too.
#
# </details>
#
# **4.** A sign is turned around in RoPE, in queries and keys alike: every pair turns backwards. Which of the fourteen promises breaks?
#
# - a) `sides`
# - b) `shift`
# - c) `formula`, and no other
#
# <details><summary>Answer</summary>
#
# **c.** Scores still depend on the distance alone, and left still differs from right. *a* is tempting, because *a lost minus* breaks `sides`. But a lost minus is no rotation, and turning backwards is one.
#
# </details>
#
# **5.** Why do the models get random weights before we measure them?
#
# - a) the blocks of a fresh model return zeros for every input, so it would keep almost every promise
# - b) a trained model is too slow to measure
# - c) random weights make the differences smaller
#
# <details><summary>Answer</summary>
#
# **a.** The last matrices of its blocks begin at zero. *b* is tempting, but a trained model is as quick to measure.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [RoPE loses precision](https://github.com/huggingface/transformers/pull/29285) — how positions in bfloat16 were found: two losses that should have been equal were not.
# - [Problem in position embedding](https://github.com/mlfoundations/open_lm/issues/4) — RoPE along the heads, with curves of before and after.
# - [Fix rotation calculations](https://github.com/karpathy/nanochat/pull/489) — a sign that is turned around without harm: not every difference from the textbook is a bug.
# - [Training loss collapses](https://github.com/huggingface/transformers/issues/48745) — four models saw the future from one release on, and their loss fell to almost nothing.
# - [Perfect loss, terrible performance](https://github.com/karpathy/minGPT/issues/75) — a mask of −10000 is not a mask of −∞.

# %% [markdown]
# ## What comes next
#
# One practical question is left: a model was trained on short windows, and the next text is long. → [10 · Beyond the window](10_beyond_the_window.ipynb)
#
# In the last exercise of [08 · The ladder](08_the_ladder.ipynb) you write an encoding of your own, and its promises are measured before its loss. The [README](../README.md) shows how to use your own texts, train for longer and work from the shell.
