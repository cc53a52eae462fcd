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
# *A side trip after 04c, complete in itself.*
#
# The picture below has two training curves, of one model with a mistake in its code and of the same model without it. You see a single line, because after each of 100 steps the two losses are equal in every digit. Yet the mistake is real, and it will harm whoever lets this model write.
#
# Our case has an explanation that no lesson has tested yet: v4 knows who did it and cannot spell the name, perhaps because *it has a bug*. Its loss falls as it should, but the picture makes us doubt what that is worth. You will be able to
#
# 1. say which mistakes a training curve can show, and which it cannot, however long you train,
# 2. test a model by promises instead of its loss,
# 3. find a bug by asking what excludes most, and not what confirms your idea.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, and by our estimate 46 minutes to read and guess. The fourteen other cases take longer, whenever you like.

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt

import babygpt_live as live
from babygpt import build, invariants, load_corpus, minimal
from babygpt_course.museum.costs import cost_differences, cost_table, effect, ending, load_costs
from babygpt_course.museum.exhibits import SHAPE
from babygpt_course.museum.museum import Museum
from babygpt_course.museum.promises import PROMISES, fill_with_noise_, random_texts
from babygpt_course.predictions import predict, tally


# %% tags=["nbval-ignore-output"]
def show(case):
    """The training curve of a case, and of the same model without what is wrong with it."""
    curves = case.curves
    ends = [ending(losses) for losses in curves.values()]
    _, ax = plt.subplots(figsize=(8, 3.2))
    title = f"Case {case.number} ends at {ends[0]:.2f}, its healthy twin at {ends[1]:.2f}"
    live.draw_losses(ax, curves, {}, title)
    plt.show()


museum = Museum(load_corpus())
first = museum.case(1)
show(first)

# %%
ours, healthy = first.curves.values()
print("the two curves agree to the last digit:", ours == healthy)

# %% [markdown]
# This is the first case of a museum of sixteen bugs and one healthy model. We found the bugs in libraries, courses and papers, and a few in the source notes of this course. Each is a small GPT of two blocks whose encoding is [RoPE](../docs/glossary.md#rope) or the sinusoid, and reads windows of 32 tokens. None raises an error, and with each of them the loss falls from the first steps on. Its *healthy twin* is the same model without the bug, from the same [seed](../docs/glossary.md#seed).
#
# Unfold the list of their names, and ask yourself for each of them whether a model meets it while it trains. Training reads full windows. So it needs no [padding](../docs/glossary.md#padding), tokens that fill up shorter texts, and no [cache](../docs/glossary.md#cache), the stored keys and values of tokens that were read before.

# %%
museum.catalogue()

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
# **Six of the sixteen bugs leave the training curve as it is, to the last digit.** Four of them act only when a model *writes*, with a cache or with padded prompts. The other two act only at positions beyond the window: in one the table of positions ends, and in the other the number type is too coarse to count that far. You might train such a model for a year, on better data and from a hundred seeds, and no curve would show the bug. Training never reaches the inputs for which the code is wrong.
#
# ## Promises
#
# So we need a test that does not depend on what a model has learned. A [promise](../docs/glossary.md#promise) is a property of the way a model is built, such as *no token sees the future*, and we measure it before any training. In a new model the last matrices of the blocks are zero, so that the blocks add nothing and almost every promise would hold. Therefore we fill all weights with random numbers first.

# %%
museum.promises()

# %% [markdown]
# `shift`, `far` and `growth` take random [queries](../docs/glossary.md#query) and [keys](../docs/glossary.md#key), and test what the encoding does to queries and keys. The sinusoid was added to the embeddings before and does not touch them, so these three tell nothing about it: a model with a sinusoid always keeps them.
#
# The game is to ask for as few promises as you can, and to name the bug:
#
# - `case.ask("shift")` measures one promise, or several, and shows ✓ or ✗.
# - `case.name("mixed layouts")` names the bug. A name is accepted only if **no other name fits** what you have seen.
# - `case.hint()` lists the names that still fit, and `case.reveal()` gives up.
#
# After that, `case.plaque()` tells where the bug was found, and `case.source()` shows its code. The score counts promises, wrong names and hints. We solve three cases together, and fourteen are yours.
#
# ## First case
#
# Its curve is that of its twin, so this is one of the six bugs. We ask for four promises, and we chose them because each is broken by at least one of the six.

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
# *Cache restarts* and *mask off by one* are left. With the second one every token sees the next token. That breaks `cache` as well, because a token that is read alone has no next token yet. Here the two equal curves exclude *mask off by one*, which would change training. But in your own work you have no healthy twin, so the museum counts promises only. So we ask one more question.

# %%
first.ask("causal")

# %%
first.name("cache restarts")

# %%
first.plaque()

# %%
first.source()

# %% [markdown]
# The bug is one argument that is not passed on. Training cannot show it, whereas a short test can: let the model read a text at once, let it read the same text token by token, and compare. The promise `cache` does this, and the model has to find its own positions.
#
# ## Second case

# %% tags=["nbval-ignore-output"]
second = museum.case(2)
show(second)

# %% [markdown]
# Here the two curves separate, and because you see the twin's, you look for a bug. A model that you train for the first time has no twin. You can compare it only with curves from other seeds, and these differ, too.

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
# The twelve healthy models end between 1.75 and 1.85. The twin in the picture is a thirteenth, and ends below them. Case 2 ends in their range, so without its twin you could not tell it from a healthy model. We chose its seed so that this happens: from the twelve other seeds the bug costs 0.11 nats in the mean.
#
# RoPE has one purpose: a score stays the same if both positions move together. So we ask for `shift` first.

# %%
second.ask("shift")

# %% [markdown]
# The bug is in what the encoding does to queries and keys, and four names fit: *mixed layouts*, *a lost minus*, *kernel of the position* and *the sine left out*. We look for a promise that halves them.
#
# - With *the sine left out*, a score at positions m and n depends on the product cos(mω) · cos(nω). If m and n are exchanged, it stays the same. So the model cannot tell left from right, and breaks `sides`. So does *a lost minus*: without the minus of a rotation its matrices are symmetric, too.
# - With *kernel of the position*, scores get smaller as positions grow. Just past the window all of them are nearly 0, so the model cannot tell neighbours apart there, and breaks `beyond`.
# - *Mixed layouts* keep both.

# %%
second.ask("sides", "beyond")

# %% [markdown]
# Only *mixed layouts* is left. RoPE turns the two channels of a pair by one angle. This bug takes the pairs from one layout and the angles from another, so that the two channels of a pair get two different angles.

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
# A rotation keeps every length, so this is no rotation, and the score no longer depends on the distance alone. But it still changes with both positions, and a small model learns from it. The code in source note 001 has this bug.
#
# > **In a real model.** Both cases happen to SmolLM2-135M when its weights are copied into another program. If its positions begin again at 0 in the middle of a text, as with *cache restarts*, it loses 0.57 nats a token more (mean over 24 texts). The wrong layout raises no error either, and [lesson 11](11_a_real_model.ipynb) measures what it costs.
#
# ## Third case
#
# You can watch this model train. This lesson reads the tales, and not the plain tales of lesson 00. The dashed line is their [floor](../docs/glossary.md#floor), the entropy. It is what the best reader of *whole* stories loses, and in windows that begin anywhere even this reader loses more.

# %%
third = museum.case(3)
line = predict(
    "After 100 steps, where is the loss of case 3?",
    [
        "above the line, like a healthy model",
        "on the line, within 0.05 nats",
        "below the line",
    ],
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
# No healthy model can beat the floor on average, so a loss below it is a sign of a bug. On your own data you do not know the floor, and such a loss looks like a success. Here one question is enough.

# %%
third.ask("causal")

# %%
third.name("mask off by one")

# %% [markdown]
# No other bug of the museum looks ahead, so a single ✗ proves this one. In your own work two more mistakes can give such a loss: targets that are not shifted by one, or a text that repeats itself.
#
# ## The rest is yours
#
# Choose a case by its number and look at its curve. Then ask for a promise that halves the list. A ✓ can tell you more than a ✗, because it excludes every bug that breaks the promise. A healthy model needs the most questions, because you have to exclude every bug. When all cases are solved, `museum.key()` shows which bug breaks which promise.

# %% tags=["nbval-ignore-output"]
mine = museum.case(4)
show(mine)

# %%
# mine.ask("shift")
# mine.name("…")
mine

# %% [markdown]
# ## What they cost
#
# Read this part after you have played, because it reveals answers. We trained all models beside their twins for 100 steps, from twelve seeds each.

# %%
lower = predict(
    "Case 3 lowers the loss because it sees the future. How many of the other fifteen bugs lower the loss, too?",
    ["none: without the future no bug can help", "one", "two or more"],
)
lower

# %% tags=["answer"]
by_name = cost_differences(costs)
display(cost_table(costs))
helped = [name for name in by_name if effect(by_name[name]) == "lower" and name != "mask off by one"]
lower.compare(lower.options[0 if not helped else 1 if len(helped) == 1 else 2])

# %% [markdown]
# Eight bugs make the loss higher, six do not change it, and two make it lower. *Mask off by one* sees the next token, and *codes added twice*, in which the sinusoid is twice as large, really helps at this size and after 100 steps. A model without any position code still learns: in *wrong axis* the angle depends on the head in place of the position, and in *one code for all* every position has the same code. Both end alike, at 2.07. But the first is compared with RoPE, at 1.80, and the second with the sinusoid, at 2.02, so costs can be compared only between bugs with the same twin.
#
# ## The case
#
# A curve cannot clear v4, but promises can, so we ask v4 itself for seven of the museum's, with random weights. There is a second check, of the formula: [`babygpt/minimal.py`](../babygpt/minimal.py) is a v4 in one file that uses nothing of the package. Given the same weights, it has to give the same [logits](../docs/glossary.md#logit).

# %%
v4 = fill_with_noise_(build("v4", SHAPE)).requires_grad_(False)
names = ("causal", "cache", "pieces", "dropped", "batch", "beyond", "far")
asked = [PROMISES[name](v4, v4) for name in names]
shape = {name: getattr(SHAPE, name) for name in ("block_size", "n_layer", "n_head", "n_embd")}
again = minimal.GPT(SHAPE.vocab_size, minimal.Config(**shape))
again.requires_grad_(False).load_state_dict(v4.state_dict())
texts = random_texts(v4, 4, SHAPE.block_size)
apart = float((v4(texts) - again(texts)).abs().max())
asked.append(invariants.Promise("another program gives the same logits", apart, 1e-4))
assert all(promise.holds for promise in asked)
invariants.promises(asked)

# %% [markdown]
# v4 keeps all seven, and the two programs agree. Ten of the museum's sixteen bugs change the training curve, so they change logits, and the second program would show it. Of the six that leave the curve as it is, the promises find five. Only *padding counted* was not tested, and v4 never reads padding in this course. Both checks use random weights at the museum's size, and neither looks at the training code, that is at targets, batches and optimizer. Nor do they find a mistake that both programs share. Such faults might slow the learning. If one made spelling impossible, however, v4 would not spell from seven of twelve seeds after 1,800 steps ([lesson 08](08_the_ladder.ipynb)). The same training code lets the sinusoid spell from all twelve, so a fault in it alone does not explain why v4 is late.
#
# So *it has a bug* is out, as far as we can test it.

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Recap
#
# 1. A falling loss shows that a model learns something, and not that it works as you intended.
# 2. Six of the sixteen bugs do not change training at all, because they act with a cache, with padding or beyond the window, so no training curve can show them.
# 3. Eight bugs raise the loss, by 0.06 to 0.28 nats after 100 steps (mean of twelve seeds, two blocks). The twelve healthy seeds lie 0.10 nats apart, which is more than the smallest costs, so without a twin a small cost looks like another seed.
# 4. Each bug breaks a promise that you can measure in a fraction of a second, without training, on a model with random weights.
# 5. One broken promise names a bug only if no other bug breaks it, as in case 3. Mostly it takes two or three answers, each of which excludes other bugs.

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
# **b.** Six bugs act only with a cache, with padding or at far positions. *a* is tempting, but equal curves only show that the two models compute the same in training.
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
# **a.** `shift` looks at *given* queries and keys. In the model they depend on the position, because the sinusoid was added to the embeddings. *b* is tempting because it is true for RoPE.
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
# **c.** Scores still depend on the distance alone, and left still differs from right. *a* is tempting, because *a lost minus* breaks `sides`. But that is no rotation, and turning backwards is one.
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
# - [RoPE loses precision](https://github.com/huggingface/transformers/pull/29285): how positions in bfloat16, a coarse number type, were found by two losses that should have been equal.
# - [Problem in position embedding](https://github.com/mlfoundations/open_lm/issues/4): RoPE along the heads, with curves of before and after.
# - [Fix rotation calculations](https://github.com/karpathy/nanochat/pull/489): a sign that is turned around without harm, so not every difference from the textbook is a bug.
# - [Training loss collapses](https://github.com/huggingface/transformers/issues/48745): four models saw the future from one release on, and their loss fell to almost nothing.
# - [Perfect loss, terrible performance](https://github.com/karpathy/minGPT/issues/75): a mask of −10000 is not a mask of −∞.

# %% [markdown]
# ## What comes next
#
# The museum's bugs beyond the window harm a model that reads on. But a model without any bug has trouble there, too, and its loss hides part of it. → [10 · Beyond the window](10_beyond_the_window.ipynb)
