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
# You do not, and neither did the authors of large libraries. Nearly everything that hangs in this museum was met in the wild: in the trackers of well-known projects, or in the source notes of this course. None of these bugs raises an error. None keeps the loss from falling. Some cost a tenth or two of a nat, which nobody missed, some cost nothing until the day somebody pads a prompt, and one makes the loss better than it can be.
#
# What they cannot do is keep every **promise**. All the promises of this course are measurements, and so they can be put to a model whose label is covered. That is the game: ask as few promises as you can, and name the bug.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about half a minute to run on two cores, thirty minutes to play. **You will have seen:** bugs that no loss curve can show, which measurement shows each, and how to single out a cause with two or three questions.

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt

from babygpt import load_corpus, plots
from babygpt.exercises.museum import Museum

plots.set_style()

# %% [markdown]
# ## The question
#
# > **Predict.** A bug is planted in a small GPT: each new token is told that it stands at place 0, but only when the model writes with a cache. You see the curve of its training beside that of the same model without the bug. How far are the two apart after 100 steps: a lot, a little, or not at all?
#
# Keep your answer in mind; the first case will tell.

# %% [markdown]
# ## How to play
#
# The museum holds fifteen cases, in an order that tells nothing. Under each glass is a small model of two blocks, with RoPE or with sines and cosines. You see its training curve and nothing else. Three things can be done with a case:
#
# - `case.ask("shift")` measures one promise, or several, and shows ✓ or ✗ with the number that decides;
# - `case.name("mixed layouts")` says what is wrong. A name that contradicts your answers is wrong, and you are told where. A name that fits them is taken only if **no other fits**: a guess is no proof;
# - `case.reveal()` gives up. After either, `case.plaque()` and `case.source()` are open.
#
# These are the promises that you may ask for. They are measured on models filled with noise, since a promise is about how a model is built and not about what it has learned.

# %%
museum = Museum(load_corpus())
museum.promises()

# %% [markdown]
# The first three look at what a model does to *given* queries and keys. A sinusoid does nothing to them, so it keeps all three for free; `near`, `beyond` and `sides` look at scores with everything that was added before. The window is 32 tokens long.
#
# And this is all that may hang here, the healthy model included. Read it slowly, and ask yourself of each line which promise it must break, and which it will certainly keep. That is the whole art.

# %%
museum.catalogue()

# %% [markdown]
# ## First case


# %% tags=["nbval-ignore-output"]
def show(case):
    """The training curve of a case, and of the same model without what is wrong with it."""
    curves = case.curves
    ends = [sum(losses[-10:]) / 10 for losses in curves.values()]
    _, ax = plt.subplots(figsize=(8, 3.6))
    title = f"Case {case.number} ends at {ends[0]:.2f}, its healthy twin at {ends[1]:.2f}"
    plots.draw_losses(ax, curves, {}, title)
    plt.show()


first = museum.case(1)
show(first)

# %% [markdown]
# You see one line, because the twin's lies upon it. They are not merely close:

# %%
ours, healthy = first.curves.values()
print("the two curves agree to the last digit:", ours == healthy)

# %% [markdown]
# So whatever is wrong here plays no part in training. That is worth a lot: it excludes every bug that changes what a model computes on a full window without padding. Look through the catalogue again: which ones are left?
#
# A cache and padding are used only when a model *writes*; places far beyond the window occur only in texts longer than that. Four bugs and the healthy model are left, and four promises are about just these things. We ask for them all, which is lazy but cannot fail.

# %%
first.ask("cache", "padding", "beyond", "far")

# %% [markdown]
# One ✗. Is that proof? Reading with a cache goes wrong for other reasons too. A model that sees the *next* token fails here as well, because the next token is not in the cache yet; and a code that depends on the length of the text fails, since with a cache every piece has length one. The second would not have kept `padding`; the first would have shown in the curve, but the museum counts only what was asked. One question more.

# %%
first.ask("causal")

# %%
first.name("cache restarts")

# %% [markdown]
# The score counts what you asked, and tells how few could have been enough for one who had known where to look. The plaque says where it was met, and the glass may be opened:

# %%
first.plaque()

# %%
first.source()

# %% [markdown]
# One argument is thrown away, and every benchmark that reads without a cache is perfect. The remedy is one line in a test: read a text at once, read it token by token, and compare (`invariants.cache_equals_full`).
#
# ## Second case

# %% tags=["nbval-ignore-output"]
second = museum.case(2)
show(second)

# %% [markdown]
# > **Predict.** Without the twin beside it, would you have suspected anything? Whoever trains a model for the first time has no twin.
#
# Begin with the promise that splits the catalogue best. `formula` is broken by eight of the fifteen, but it only says *that* something differs. `shift` asks what RoPE is for: may both places move together?

# %%
second.ask("shift")

# %% [markdown]
# Broken, so something is done to queries and keys, and done wrongly. Four exhibits fit: two layouts in one, a minus lost, a kernel of the place, and cosines without sines. How do they differ?
#
# - Without the minus, and without the sine, the matrix of a pair is symmetric, and two such matrices can be exchanged: the score of a query at place 12 with a key at place 5 is that of a query at 5 with a key at 12. Left and right look alike.
# - The kernel of the place fades. Just past the window everything is nearly 0, and neighbours can no longer be told apart.
# - Mixed layouts do neither.

# %%
second.ask("sides", "beyond")

# %%
second.name("mixed layouts")

# %%
second.plaque()

# %%
second.source()

# %% [markdown]
# The function concatenates the angles as if channel $i$ belonged to channel $i + D/2$, and then turns channel $2i$ with channel $2i + 1$. The two channels of a pair turn by different angles, which is no rotation: some queries grow longer (`growth` ✗ and `sides` ✓ would have been proof in two questions), and the score no longer depends on the distance alone. It still depends on the places in a smooth way, and that is enough for a small model to learn from. Source note 001 prints exactly this mixture.
#
# ## Third case

# %% tags=["nbval-ignore-output"]
third = museum.case(3)
show(third)

# %% [markdown]
# Nobody needs to be told that something is wrong, *if* they know the floor: a loss far below what a text allows is no triumph. On your own data you do not know the floor, and a first reaction is joy. One question is enough.

# %%
third.ask("causal")

# %%
third.name("mask off by one")

# %% [markdown]
# It is the only exhibit that looks ahead, so a single ✗ proves it. In the wild two more would have to be excluded: a target that is not shifted by one, and a validation text that stands in the training text as well. The position code has no part in either.

# %%
third.source()

# %% [markdown]
# ## The rest is yours
#
# Twelve cases are left. Take any: change the number, look at the curve (a training takes a few seconds), think of the promise that halves what is left, and ask.

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
# 1. **Look at the curve for what it excludes.** Equal to the last digit means that the bug sleeps until the model is *used*.
# 2. **Ask what halves the list**, not what confirms your first idea. A ✓ can be worth more than a ✗.
# 3. **One ✗ is rarely proof.** Ask which other bugs would have given the same answer.
#
# When all are done, `museum.key()` shows the whole table: which exhibit keeps which promise, and how few tell it from all others. Two kinds of exercise to take home: write an exhibit of your own in a few lines (a subclass of `Rotary` or `Sinusoidal`), such that it breaks *one* promise and no other; and find a bug that breaks none of the twelve, and write the promise that it breaks.
#
# ## Recap
#
# A falling loss says that a model has found something to learn from, and not that it was given what you meant to give it. Bugs in the cache, in padding, in the type of a number and at the end of a table do not touch training at all, so no curve can show them. Bugs in the code itself cost a little, which is invisible without a healthy twin of the same seed. Every one of them breaks a promise that can be measured in a fraction of a second, without training. Two or three promises, chosen for what they exclude, single out the cause.
#
# ## Self-test
#
# 1. *The curve is equal to that of the healthy twin. Is the model healthy?* <details><summary>Answer</summary>Not proven. It is tempting to say yes, because everything that was trained is right; but a cache, padding and far places do not occur in training.</details>
# 2. *A sinusoidal model keeps `shift`. Does its prediction stay the same when the whole text moves?* <details><summary>Answer</summary>No. `shift` looks at given queries and keys, with which an additive code does nothing. What was added at the bottom of the model has already made them depend on the place.</details>
# 3. *`cache` is ✗. Must it be the cache?* <details><summary>Answer</summary>No, though the name suggests it: a mask that looks ahead and a code that depends on the length of the text break it too.</details>
# 4. *A sign is turned around in RoPE, in queries and keys alike. Which promise breaks?* <details><summary>Answer</summary>Of all twelve only `formula`: both turn backwards, scores still depend on the distance alone, and training makes up for it. The *lost* minus of this museum is another thing: there, one of two sines is added that should be subtracted. (Weights that were trained one way do not fit the other.)</details>
# 5. *Why do the measurements fill the models with noise first?* <details><summary>Answer</summary>A fresh Transformer writes zeros, whatever it is fed, and so keeps almost every promise. It is tempting to take trained weights; but what a model has learned can hide what it is.</details>
#
# ## Further reading
#
# - [RoPE loses precision](https://github.com/huggingface/transformers/pull/29285): how bfloat16 positions were found, by comparing two losses that should have been equal.
# - [Rotary embedding applied to the wrong dimension](https://github.com/mlfoundations/open_lm/issues/4): with curves of before and after.
# - [A sign that may be turned around](https://github.com/karpathy/nanochat/pull/489): why not every difference from the textbook is a bug.
# - [The loss collapses](https://github.com/huggingface/transformers/issues/48745): four models saw the future from one release on, and the loss fell to almost nothing.
# - [Perfect loss, terrible texts](https://github.com/karpathy/minGPT/issues/75): a mask of −10000 is not a mask of −∞.
#
# ## What comes next
#
# You have reached the end of the ladder and of the museum. What is left is to use both: [08 · The ladder](08_the_ladder.ipynb) is where an encoding of your own meets the others, and its promises are measured there before its loss is.
