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
# A falling loss does not tell you. The bugs of this museum were found in libraries, courses and papers, and a few come from the source notes of this course. None of them raises an error, and with each of them the loss falls from the first steps on.
#
# But each bug breaks at least one **[promise](../docs/glossary.md#promise)**. A promise is a property of a healthy model, such as *no token sees the future*. You can measure whether a model keeps it without knowing what is wrong. That is the game: ask for as few promises as you can, and name the bug. Three cases are solved here together; fourteen are yours.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, about 21 minutes to read and guess. Solving the fourteen other cases takes half an hour or more, whenever you like. **You will learn** what a training curve can show, which measurements show the rest, and how to find a cause with two or three questions.

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
# The museum holds seventeen cases, in an order that gives no hint. Each case is a small GPT of two blocks, whose position code is [RoPE](../docs/glossary.md#rope) or a table of sines and cosines. You can see its training curve beside that of its *healthy twin*: the same model, without the bug, from the same [seed](../docs/glossary.md#seed). Then:
#
# - `case.ask("shift")` measures one promise, or several, and shows ✓ or ✗ with the number that decides;
# - `case.name("mixed layouts")` says what is wrong. A name that contradicts your answers is wrong, and you are told where. A name that fits them is accepted only if **no other name fits**;
# - `case.hint()` lists what still fits. The score counts what you asked, the wrong names and the hints;
# - `case.reveal()` gives up. After a right name or this, `case.plaque()` and `case.source()` are open.
#
# These are the promises that you can ask for. A promise is about how a model is built, not about what it has learned. So we measure before training, but first fill all weights with random numbers. In a new model the last matrices of the blocks are zero, so it would keep almost every promise.

# %%
museum = Museum(load_corpus())
museum.promises()

# %% [markdown]
# The first three look at what a model does to *given* [queries](../docs/glossary.md#query) and [keys](../docs/glossary.md#key). A sinusoid is added to the tokens at the bottom and does nothing to queries and keys, so it always keeps these three. `near`, `beyond`, `sides` and `spread` look at real [scores](../docs/glossary.md#score) of the first block, so these contain what was added to the tokens. The [window](../docs/glossary.md#window) is 32 tokens long; `cache`, `pieces`, `dropped`, `padding` and `batch` compare [logits](../docs/glossary.md#logit).
#
# These are all the exhibits, with the healthy model among them. For two or three lines, ask yourself which promise the bug must break and which it certainly keeps.

# %%
museum.catalogue()

# %% [markdown]
# ## What a curve can show
#
# Training reads full windows of 32 tokens, eight side by side, without padding and without a [cache](../docs/glossary.md#cache). So its curve depends only on the model's predictions there.

# %%
untouched = live.predict(
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
# We measured this: with random weights, these six models give exactly the logits of their healthy twins on such windows. Four of the bugs act only when a model *writes*, with a cache or with padded prompts. Two more act only at positions beyond the window: the end of a table, and a number type that is too coarse to count positions.
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
# You see one line, because the two curves coincide. (A curve *ends* at the mean of its last ten steps.) Are they equal, or only close?

# %%
ours, healthy = first.curves.values()
print("the two curves agree to the last digit:", ours == healthy)

# %% [markdown]
# So this is one of the six, or the healthy model. We ask for four promises that these bugs may break, all at once.

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
# Of the three cache bugs only one breaks `cache`: the others break `pieces` or `dropped` instead. But a model that sees the *next* token breaks it too, because the next token is not in the cache yet. A code that depends on the length of the text would also have broken `padding`. The curve already tells us that this model does not look ahead. The museum does not accept that as evidence, because in your own work there is no healthy twin to compare with. So we ask one more question.

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
# One argument is not passed on, and no benchmark without a cache shows it. One line in a test does: read a text at once, read it token by token, and compare (`invariants.cache_equals_full`).
#
# ## Second case

# %% tags=["nbval-ignore-output"]
second = museum.case(2)
show(second)

# %% [markdown]
# The two curves separate. With the twin beside it, you would look for a bug. But if you train a model for the first time, you have no twin, only curves from other people or other seeds.

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
# These six runs are stored (`babygpt_course.museum.costs`). They end between 1.75 and 1.80, and case 2 ends in this range too. If you have one curve and no twin, you cannot tell such a bug from a healthy model with another seed. We chose a case that shows this. Its seed is lucky: the twin ends below all six. From the six stored seeds this bug ends between 1.85 and 1.93.
#
# So we ask, and begin with a promise that splits the catalogue. `formula` is broken by eight of the seventeen, but it only says *that* something differs. `shift` asks for RoPE's purpose: does a score stay the same if both positions move together?

# %%
second.ask("shift")

# %% [markdown]
# It is broken, so the bug is in what is done to queries and keys. Four exhibits fit: two layouts in one, a lost minus, a [kernel](../docs/glossary.md#kernel) of the position, and cosines without sines. How do they differ?
#
# - Without the minus, and without the sine, the 2 × 2 matrix M(m) that acts on a pair at position m is symmetric. So the score is qᵀM(12)M(5)k, and M(12)M(5) = M(5)M(12). The score does not change if query and key swap positions: left and right look alike.
# - The kernel of the position fades. Just past the window all scores are nearly 0, so the model cannot tell neighbours apart.
# - Mixed layouts do neither.

# %%
second.ask("sides", "beyond")

# %% [markdown]
# Only the mixed layouts are left. Look at the catalogue once more before you name them. The function orders its angles as if channel $i$ were paired with channel $i + D/2$. Then it mixes channel $2i$ with channel $2i + 1$, and each of the two gets an angle of its own.

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
# There are cosines and sines, and still this is no rotation: a rotation turns *both* channels of a pair by *one* angle. So `growth` ✗ and `sides` ✓ would have been proof with two questions. The score no longer depends on the distance alone. But it depends on the positions smoothly, and that is enough for a small model to learn from. Source note 001 prints this mixture.
#
# ## Third case
#
# You can watch this model train. The dashed line is the entropy of the tales, their [floor](../docs/glossary.md#floor): no model can have a lower loss on average, however much text it has read before.

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
# A loss below the floor is a sign of a bug. If you know the floor, you need no twin. On your own data you do not know it, and such a loss looks like a success. One question is enough.

# %%
third.ask("causal")

# %%
third.name("mask off by one")

# %% [markdown]
# It is the only exhibit that looks ahead, so a single ✗ proves it. In your own work you must exclude two more causes: a target that is not shifted by one, and a validation text that is part of the training text. Neither involves the position code.

# %%
third.source()

# %% [markdown]
# ## The rest is yours
#
# Fourteen cases are left (`museum` says how many are solved). Choose one by its number and look at its curve (training takes a few seconds). Then think of a promise that halves what is left, and ask.

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
# 1. **Look at the curve for what it excludes.** If it equals the twin's to the last digit, training never meets the bug (if there is one). A twin that ends near 2.0 is sinusoidal, and one near 1.7 has RoPE. This helps only you: the museum accepts promises as proof, not curves.
# 2. **Ask what halves the list**, not what confirms your first idea. A ✓ can be worth more than a ✗.
# 3. **One ✗ is rarely proof.** Ask which other bugs give the same answer; `mine.hint()` lists them.
# 4. **A healthy model needs the most questions**: you must exclude every bug.
#
# When all are done, `museum.key()` shows the whole table: which exhibit keeps which promise, and how few promises tell it from all others. Then write an exhibit of your own in a few lines (a subclass of `Rotary` or `Sinusoidal`) that breaks *one* promise and no other. Or find a bug that breaks none of the fourteen, and write the promise that it breaks.
#
# ## What they cost
#
# Read this part after you have played, because it reveals answers. We trained all seventeen beside their twins for 100 steps, from six seeds each. Lesson 08 explains the rule that decides whether a bug moves the loss.

# %%
louder = live.predict(
    "The codes are added twice. Where does the loss end, beside that of the healthy twin?",
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
# In *wrong axis* the angle depends on the head instead of the position, so all tokens of a head are rotated alike. The model has no position code at all, and you see this in its loss only if you know how much a code helps. Codes added twice are a bug that *helps*, at this size and after 100 steps. Perhaps the codes were too small beside the token embeddings. So the loss gives no rule of thumb: of sixteen bugs eight make it higher, two make it lower, and six do not change it. Six other seeds gave the same sixteen verdicts. Without a twin you would notice only one of these bugs, the mask.

# %% [markdown]
# Your guesses beside what came out:

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Recap
#
# 1. A falling loss shows that a model learns something. It does not show that the model works as you intended.
# 2. Six of the sixteen bugs do not change training at all: three in the cache, and one each in padding, in the type of a number and at the end of a table. No curve can show them.
# 3. Of the other ten, eight raise the loss by 0.05 to 0.28 nats after 100 steps (mean of six seeds; two blocks of this size), and one lowers it by 0.11. Six healthy models of different seeds lie 0.05 to 0.09 apart (RoPE and sinusoid). Only the tenth, a mask that lets the next token through, goes below what the text allows.
# 4. Each bug breaks a promise that you can measure in a fraction of a second, without training, on a model with random weights.
# 5. One broken promise is rarely proof of a cause. Two or three are, if you choose them for what they exclude.

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
# **b.** A cache, padding and far positions do not occur in training, and six bugs of this museum act only there. *a* is true only of what training uses.
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
# **a.** `shift` looks at *given* queries and keys, and an additive code does not change these. In the model they depend on the position, because the code was added to the embeddings. *b* would be true for RoPE.
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
# **c.** A mask that looks ahead and a code that depends on the length of the text break it too. *a* is one possible cause.
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
# **c.** Scores still depend on the distance alone, and left still differs from right. Training adapts to the direction; only weights that were trained with the other sign do not fit. The *lost* minus does break *a*, because there a sine is added in both channels of a pair, which is no rotation.
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
# **a.** The last matrices of its blocks begin at zero. Against *b*: a trained model is as quick to measure, but what it has learned can hide how it is built.
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
# One practical question is left: a model was trained on short windows, and the next text is long. → [10 · Beyond the window](10_beyond_the_window.ipynb)
#
# In the last exercise of [08 · The ladder](08_the_ladder.ipynb) you write an encoding of your own, and its promises are measured before its loss. The [README](../README.md) shows how to use your own texts, train for longer and work from the shell.
