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
# You do not, and neither did the authors of the libraries, courses and papers in whose trackers the bugs of this museum were met; a few come from the source notes of this course. None of them raises an error, and with every one of them the loss falls from the first steps on.
#
# What they cannot do is keep every **[promise](../docs/glossary.md#promise)**. All the promises of this course are measurements, and so they can be put to a model whose label is covered. That is the game: ask as few promises as you can, and name the bug. Three cases are solved here together; fourteen are yours.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, about 21 minutes to read and guess. Solving the fourteen other cases takes half an hour or more, whenever you like. **You will have seen:** what a curve of training can show and what it cannot, which measurement shows the rest, and how to single out a cause with two or three questions.

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt

from babygpt import live, load_corpus, plots
from babygpt_course.museum.costs import cost_table, differences, effect, ending, load_costs
from babygpt_course.museum.museum import Museum
from babygpt_course.studies.paired import RULE

plots.set_style()

# %% [markdown]
# ## How to play
#
# The museum holds seventeen cases, in an order that tells nothing. Under each glass is a small GPT of two blocks, whose position code is [RoPE](../docs/glossary.md#rope) or a table of sines and cosines. You may see its curve of training beside that of its *healthy twin*: the same model, without the bug, from the same [seed](../docs/glossary.md#seed). Then:
#
# - `case.ask("shift")` measures one promise, or several, and shows ✓ or ✗ with the number that decides;
# - `case.name("mixed layouts")` says what is wrong. A name that contradicts your answers is wrong, and you are told where. A name that fits them is taken only if **no other fits**: a guess is no proof;
# - `case.hint()` lists what still fits. The score counts what you asked, the wrong names and the hints;
# - `case.reveal()` gives up. After a right name or this, `case.plaque()` and `case.source()` are open.
#
# These are the promises that you may ask for. They are measured on models filled with noise, since a promise is about how a model is built, and not about what it has learned. (A fresh model would not do: the last matrices of its blocks begin at zero, so nothing shows through, and it would keep almost every promise.)

# %%
museum = Museum(load_corpus())
museum.promises()

# %% [markdown]
# The first three look at what a model does to *given* [queries](../docs/glossary.md#query) and [keys](../docs/glossary.md#key). A sinusoid is added to the tokens at the bottom and does nothing to queries and keys, so it keeps these three for free. `near`, `beyond`, `sides` and `spread` look at real [scores](../docs/glossary.md#score) of the first block, with everything that was added before. The [window](../docs/glossary.md#window) is 32 tokens long; `cache`, `pieces`, `dropped`, `padding` and `batch` compare [logits](../docs/glossary.md#logit).
#
# And this is all that may hang here, the healthy model included. Read it slowly, and ask yourself of each line which promise it must break, and which it will certainly keep. That is the whole art.

# %%
museum.catalogue()

# %% [markdown]
# ## What a curve can show
#
# Training reads full windows of 32 tokens, eight side by side, without padding and without a [cache](../docs/glossary.md#cache). Its curve depends on what a model says there, and on nothing else.

# %%
untouched = live.predict(
    "How many of the sixteen bugs leave the curve of training as it is without them, to the last digit?",
    low=0,
    high=16,
    unit="bugs",
    near=1,
)
untouched

# %% tags=["answer"]
untouched.compare(museum.sleepers())


# %% [markdown]
# This was measured: these models, filled with noise, give the very logits of their healthy twins on such windows. Which six? Four bugs wait until a model *writes*, with a cache or with padded prompts. Two more wait for positions beyond the window: the end of a table, and a number too coarse to count on.
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
# You see one line, because the twin's lies upon it. (A curve *ends* at the mean of its last ten steps.) They are not merely close:

# %%
ours, healthy = first.curves.values()
print("the two curves agree to the last digit:", ours == healthy)

# %% [markdown]
# So this is one of the six, or the healthy model. We ask for what they are about, all at once, which is lazy but cannot fail.

# %%
first.ask("cache", "padding", "beyond", "far")

# %%
remaining = live.predict(
    "One ✗, at cache, and three ✓: how many of the seventeen exhibits give just these four answers?",
    ["one", "two", "five"],
)
remaining

# %% tags=["answer"]
left = first.hint()
left

# %% tags=["answer"]
remaining.compare({1: "one", 2: "two", 5: "five"}[len(left.rows)])

# %% [markdown]
# Reading with a cache goes wrong for other reasons too. A model that sees the *next* token fails here, because the next token is not in the cache yet. (A code that depends on the length of the text fails as well, since with a cache every piece has length one; but it would not have kept `padding`.) The curve has told us already that nobody looks ahead here. The museum does not take that as evidence, and rightly: in the wild there is no healthy twin to compare with. One question more.

# %%
first.ask("causal")

# %%
first.name("cache restarts")

# %% [markdown]
# The plaque says where it was met, and the glass may be opened:

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
# The two lines part, and with the twin beside it everybody would look for a bug. Whoever trains a model for the first time has no twin, only other people's curves, or their own with another seed.

# %%
noise = live.predict(
    "Six healthy models like this twin differ in nothing but their seed. How far apart are the best and the "
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
# These six runs are stored, because training them takes a while (`babygpt_course.museum.costs`). They end between 1.75 and 1.80, and case 2 ends in this range too. If you have one curve and no twin, you cannot tell such a bug from a healthy model with another seed. We chose a case that shows this: the same bug from the six seeds ends between 1.85 and 1.93.
#
# So we ask, and begin with a promise that splits the catalogue. `formula` is broken by eight of the seventeen, but it only says *that* something differs. `shift` asks what RoPE is for: may both positions move together?

# %%
second.ask("shift")

# %% [markdown]
# Broken, so something is done to queries and keys, and done wrongly. Four exhibits fit: two layouts in one, a minus lost, a [kernel](../docs/glossary.md#kernel) of the position, and cosines without sines. How do they differ?
#
# - Without the minus, and without the sine, the matrix of a pair is symmetric, and two such matrices can be exchanged: the score of a query at position 12 with a key at position 5 is that of a query at 5 with a key at 12. Left and right look alike.
# - The kernel of the position fades. Just past the window everything is nearly 0, and neighbours can no longer be told apart.
# - Mixed layouts do neither.

# %%
second.ask("sides", "beyond")

# %% [markdown]
# Only the mixed layouts are left. Before you name them, look at the catalogue once more: the function lays its angles out as if channel $i$ belonged to channel $i + D/2$, and then mixes channel $2i$ with channel $2i + 1$, by cosines and sines as RoPE does, each of the two with an angle of its own.

# %%
length = live.predict(
    "What becomes of the length of a query under this function?",
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
# Every step is a cosine and a sine, and still this is no rotation: a rotation turns *both* channels of a pair by *one* angle. So `growth` ✗ with `sides` ✓ would have been proof in two questions. The score of query and key no longer depends on the distance alone; but it depends on the positions in a smooth way, and that is enough for a small model to learn from. Source note 001 prints exactly this mixture.
#
# ## Third case
#
# This one you may watch while it learns. The dashed line is the entropy of the tales, their [floor](../docs/glossary.md#floor): the least that anybody can lose on average, however much has been read before.

# %%
third = museum.case(3)
line = live.predict(
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
# A loss below what a text allows is no triumph. Whoever knows the floor needs no twin; on your own data you do not know it, and the first reaction is joy. One question is enough.

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
# Fourteen cases are left (`museum` says how many are solved). Take any: change the number, look at the curve (a training takes a few seconds), think of the promise that halves what is left, and ask.

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
# 1. **Look at the curve for what it excludes.** Equal to the last digit means that the bug, if there is one, sleeps until the model is *used*. A twin that ends near 2.0 is sinusoidal; near 1.7, it has RoPE. For you only: the museum takes promises for proof, and no curves.
# 2. **Ask what halves the list**, not what confirms your first idea. A ✓ can be worth more than a ✗.
# 3. **One ✗ is rarely proof.** Ask which other bugs would have given the same answer; `mine.hint()` knows.
# 4. **Health takes longest to prove**: every bug must be excluded.
#
# When all are done, `museum.key()` shows the whole table: which exhibit keeps which promise, and how few tell it from all others. To take home: write an exhibit of your own in a few lines (a subclass of `Rotary` or `Sinusoidal`) that breaks *one* promise and no other; or find a bug that breaks none of the fourteen, and write the promise that it breaks.
#
# ## What they cost
#
# Read this part after playing, or it tells too much. We trained all seventeen beside their twins for 100 steps, from six seeds each. Lesson 08 explains the rule that decides whether a bug moves the loss.

# %%
louder = live.predict(
    "Where does the model end whose codes are added twice, beside its healthy twin?",
    ["higher", "lower", "six seeds do not decide"],
)
louder

# %% tags=["answer"]
by_name = differences(costs)
found = effect(by_name["codes added twice"])
louder.compare(found if found in louder.options else "six seeds do not decide")

# %%
dearest = live.predict(
    "Which of these four costs most in training?",
    ["a lost minus", "wrong axis", "dropped scale", "mixed layouts"],
)
dearest

# %% tags=["answer"]
print(RULE)
cost_table(costs)

# %% tags=["answer"]
dearest.compare(max(dearest.options, key=lambda name: sum(by_name[name])))

# %% [markdown]
# In *wrong axis* the number of the head turns a token, so all tokens of a head are turned alike. The model has no code at all, and its loss shows this only to those who know what a code is worth. Codes added twice are a bug that *helps*, at this size and after 100 steps. Perhaps the codes were too faint beside the tokens. So no rule of thumb is left: of sixteen bugs eight make the loss higher, two make it lower, and six leave it alone. Six other seeds gave the same sixteen verdicts. Only one of these bugs, the mask, would strike somebody who has nothing to compare with.

# %% [markdown]
# Your guesses beside what came out:

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Recap
#
# 1. A falling loss says that a model has found something to learn from, and not that it was given what you meant to give it.
# 2. Six of the sixteen bugs do not touch training at all: three in the cache, and one each in padding, in the type of a number and at the end of a table. No curve can show them.
# 3. Of the other ten, eight raise the loss by 0.05 to 0.28 nats after 100 steps (mean of six seeds; two blocks of this size), and one lowers it by 0.11. Healthy models of different seeds lie 0.05 to 0.09 apart. Only the tenth, a mask that lets the next token through, goes below what the text allows.
# 4. Every one breaks a promise that can be measured in a fraction of a second, without training, on a model filled with noise.
# 5. One broken promise is rarely proof of a cause; two or three, chosen for what they exclude, are.

# %% [markdown]
# ## Self-test
#
# **1.** The curve is equal to that of the healthy twin, to the last digit. Is the model healthy?
#
# - a) yes, it computes the same
# - b) not proven: what training never does may still be wrong
# - c) no, two models are never equal
#
# <details><summary>Answer</summary>
#
# **b.** A cache, padding and far positions do not occur in training, and six bugs of this museum wait there. Tempting is *a*: it is right about everything that was trained.
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
# **a.** `shift` looks at *given* queries and keys, with which an additive code does nothing. What was added at the bottom of the model has already made them depend on the position. Tempting is *b*: for RoPE it would be true.
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
# **c.** A mask that looks ahead and a code that depends on the length of the text break it too. Tempting is *a*, because the promise is called after the cache.
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
# **c.** Scores still depend on the distance alone, and left still differs from right; training makes up for the direction, and only weights that were trained the other way do not fit. Tempting is *a*, because the *lost* minus breaks it; but there a sine is added in both channels of a pair, which is no rotation.
#
# </details>
#
# **5.** Why are the models filled with noise before they are measured?
#
# - a) a fresh model writes zeros, whatever it is fed, and would keep almost every promise
# - b) a trained model is too slow to measure
# - c) noise makes the differences smaller
#
# <details><summary>Answer</summary>
#
# **a.** The last matrices of its blocks begin at zero, so that nothing shows through. Tempting is *b*, but speed is not it: what a model has learned can hide how it is built.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [RoPE loses precision](https://github.com/huggingface/transformers/pull/29285) — how positions in bfloat16 were found: two losses that should have been equal were not.
# - [Problem in position embedding](https://github.com/mlfoundations/open_lm/issues/4) — RoPE along the heads, with curves of before and after.
# - [Fix rotation calculations](https://github.com/karpathy/nanochat/pull/489) — a sign that may be turned around: not every difference from the textbook is a bug.
# - [Training loss collapses](https://github.com/huggingface/transformers/issues/48745) — four models saw the future from one release on, and their loss fell to almost nothing.
# - [Perfect loss, terrible performance](https://github.com/karpathy/minGPT/issues/75) — a mask of −10000 is not a mask of −∞.

# %% [markdown]
# ## What comes next
#
# You have reached the end of the ladder and of the museum. One question of practice is left: a model was trained on short windows, and the next text is long. → [10 · Beyond the window](10_beyond_the_window.ipynb)
#
# And both can be used: [08 · The ladder](08_the_ladder.ipynb) is where an encoding of your own meets the others, and its promises are measured there before its loss is. The [README](../README.md) has the way to your own texts, to longer trainings and to the shell; and [00 · Start here](00_start_here.ipynb) reads differently the second time.
