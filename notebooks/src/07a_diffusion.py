# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 07a · Masked diffusion
#
# **Can a model write in any order, and what does a text cost then?**
#
# *A side trip after 04c, complete in itself.*
#
# v1 to v6 write from left to right. The model of this lesson gets a text with holes, looks at both sides of each hole, and may fill them in any order, which is called *masked diffusion*. Run the next three cells, and watch the names while it trains: the model is soon sure of their last letter, although nobody told it where to begin. With v4, which has one order, a text has one cost, the sum of the losses. This model can write a name of four letters in 24 orders. Does it cost the same in all of them?
#
# This is a side case, in which no two encodings are compared. For the main case it answers one question: does a model that looks both ways know who did it, as v4 does? You will be able to
#
# 1. compute what a text costs a model that has no fixed order,
# 2. compare this cost with that of a model that writes from left to right,
# 3. predict what goes wrong when several letters are written in one step,
# 4. find the control that a comparison of two ways to write needs.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, and by our estimate 53 minutes to read and guess. The exercises take about 20 minutes, and those marked *stretch* take 15 more.

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch.nn.functional import cross_entropy

import babygpt_live as live
from babygpt import ModelConfig, TrainConfig, build, load_corpus, metrics
from babygpt.objectives.diffusion import MaskedDiffusion, denoise, mask_out
from babygpt.sampling import by_confidence, fill_in
from babygpt.tables import Table
from babygpt_course import explorers
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_07a as diffusion
from babygpt_course.predictions import predict, tally
from babygpt_course.studies.results import load_results
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.tools import orders

# %%
corpus = load_corpus("plain-tales", n_chars=400_000, with_mask=True)
tokenizer = corpus.tokenizer
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
objective, recipe = MaskedDiffusion(corpus, shape.block_size, val_windows=1), TrainConfig(steps=360)
fills = explorers.filled_text(tokenizer, "wira fed lira. who fed? ____. __ ____ fed ____.", 72, columns=24)

# %% tags=["nbval-ignore-output"]
torch.manual_seed(1337)
model = build("v7-rope", shape)
run = live.train(model, objective, recipe, "v7-rope", watches=[fills])

# %% [markdown]
# The dashboard shows a text with holes, which the model fills again and again with the likeliest characters; the fuller a cell, the higher the probability. The model has the size of v4 and its RoPE, but no causal [mask](../docs/glossary.md#mask), so each token sees both sides: it is [bidirectional](../docs/glossary.md#bidirectional). Read on while it trains.
#
# ## Where the holes come from
#
# For each text a training step draws a *masking rate* between 0 and 1, replaces each character by the [MASK token](../docs/glossary.md#mask-token) ░ with this probability, and asks the model for the characters in the holes ([denoising](../docs/glossary.md#denoising)). The picture shows one sentence at four rates, with a dot • for each space.

# %%
four = tokenizer.encode("ada chased ben. who chased ben? ada.").expand(4, -1)  # (4, 36)
rates = torch.tensor([0.1, 0.4, 0.7, 0.95])
holes, targets, _ = mask_out(four, rates, tokenizer.mask_id, torch.Generator().manual_seed(1))
hidden = holes == tokenizer.mask_id
fig, ax = plt.subplots(figsize=(10, 1.8))
few, *_, many = hidden.sum(dim=1).tolist()
title = f"With {few} of 36 characters masked you can read the sentence, with {many} you cannot"
shade = np.where(hidden, 0.0, np.nan).flatten()
live.draw_text(ax, tokenizer.decode(holes.flatten()), shade, title, columns=36, size=12)
fig.axes[1].remove()  # the colour bar: these colours are no probabilities
ax.set_yticks(range(4), [f"rate {t:.0%}" for t in rates])
plt.show()

# %%
numbers = torch.rand(four.shape, generator=torch.Generator().manual_seed(1))  # one for each character
masked = numbers < rates[:, None]
assert torch.equal(four.masked_fill(masked, tokenizer.mask_id), holes)
assert torch.equal(four.masked_fill(~masked, -100), targets)  # PyTorch's loss ignores the target -100

# %%
often_guess = predict(
    "Over many texts of 64 characters: how often has a text exactly one hole, compared with exactly 32?",
    ["much less often", "about equally often", "much more often"],
)
often_guess

# %% tags=["answer"]
draw = torch.Generator().manual_seed(0)
texts = mask_out(torch.zeros(65_000, 64).long(), torch.rand(65_000, generator=draw), 1, draw)[0]
one, half = (int((texts.sum(dim=1) == n).sum()) for n in (1, 32))
print(f"of 65,000 texts {one:,} have exactly one hole, and {half:,} have exactly 32")
often_guess.compare(often_guess.options[0 if one < half / 2 else 1 if one < 2 * half else 2])

# %% [markdown]
# Both come about once in 65 texts. Think of 65 random numbers between 0 and 1: one for each character, and the rate. A character becomes a hole if its number is below the rate. If the rate is the smallest of the 65 numbers, the text has no hole. If it is the second smallest, one number is below it, so the text has one hole. The rate is equally likely to be the smallest, the second smallest, and so on, so all numbers of holes are equally likely. This prepares the model for any order, because a text that is filled hole by hole has each number of holes once.
#
# ## What does a text cost?
#
# The cost of a text is $-\log p(\text{text})$, in [nats](../docs/glossary.md#nats). If chance decides which hole is filled next, each order gives the text a probability, and $p(\text{text})$ is the mean of these. Take a language of four words:
#
# | word | aa | ab | ba | bb |
# |---|---|---|---|---|
# | probability | 0.5 | 0.1 | 0.05 | 0.35 |
#
# A *perfect* model knows these numbers, and can write `ab` in two orders. Left first, it writes *a* with probability 0.6, that of `aa` and `ab` together, and then *b* with 0.1 / 0.6. Right first, it writes *b* with 0.45, that of `ab` and `bb`, and then *a* with 0.1 / 0.45. Both products are 0.1, so `ab` costs $-\log 0.1 = 2.303$ nats in both orders. This is no accident, since true probabilities multiply to that of the word in any order: a text costs a perfect model the same in all of them.
#
# A trained model is not perfect. Take one that we call *Hasty*. It never looks at the second letter when it writes the first, so it gives *a* the probability 0.6 as the first letter, whatever the second is. Otherwise it is perfect. Left first it writes `ab` with probability 0.1, as it should, but right first with 0.45 · 0.6 = 0.27, so its orders disagree. The mean of both is 0.185, and `ab` costs Hasty $-\log 0.185$.
#
# A text of 64 characters has $64!$ orders, too many for this mean. But from a few random orders we can estimate another number, the mean of $-\log p$. The cost takes the mean of all $p$ and then −log. This number takes −log of each $p$ first, and then the mean. Does this give the cost?

# %%
hasty_guess = predict(
    "Hasty's four words: how does the mean of −log p over both orders compare with the cost?",
    ["equal for every word", "above it for every word", "above it for some words, below it for others"],
)
hasty_guess

# %% tags=["answer"]
P = torch.tensor([[0.50, 0.10], [0.05, 0.35]])  # row: first letter, column: second letter; 0 is a, 1 is b
left_first = P.flatten()  # (4,)
right_first = torch.outer(P.sum(dim=1), P.sum(dim=0)).flatten()  # p of the first times p of the second
cost = -((left_first + right_first) / 2).log()
nelbo = (-left_first.log() - right_first.log()) / 2
columns = [[f"{x:.3f}" for x in column] for column in (left_first, right_first, cost, nelbo)]
rows = list(zip(("aa", "ab", "ba", "bb"), *columns, strict=True))
heading = ("word", "p, left first", "p, right first", "cost (nats)", "mean of −log p (nats)")
display(Table(heading, rows, stable=5))
never_below, sometimes = bool((nelbo > cost + 1e-5).all()), bool((nelbo < cost - 1e-5).any())
hasty_guess.compare(hasty_guess.options[1 if never_below else 2 if sometimes else 0])


# %% [markdown]
# It is above in every row, because the curve of −log bends upwards, so that a mean of −log is never below −log of the mean. So the estimate is an upper bound on the cost, and exact only if all orders agree. It is called [NELBO](../docs/glossary.md#nelbo), short for *negative evidence lower bound*, where the evidence is log p of the text. The package computes it from all sets of holes, as you will in the first exercise:

# %%
class TwoLetters(torch.nn.Module):
    """A model that looks its answers up in two tables; token 2 is MASK."""

    config, causal = ModelConfig(vocab_size=3, block_size=2), False

    def __init__(self, first, second):
        super().__init__()
        self.first, self.second = torch.nn.Parameter(first), torch.nn.Parameter(second)

    def forward(self, idx, positions=None):
        one, two = idx.T
        return torch.stack([self.first[:, two].T, self.second[one]], dim=1).log()  # (B, 2, 2)


# %%
def tables(P):
    """A perfect model's tables, for the first and the second letter of words with probabilities P (2, 2)."""
    first = torch.cat([P / P.sum(dim=0), P.sum(dim=1, keepdim=True)], dim=1)  # (2, 3): the second is a, b, ░
    second = torch.cat([P / P.sum(dim=1, keepdim=True), P.sum(dim=0, keepdim=True)])  # (3, 2): the first is
    return first, second


words = torch.tensor([[0, 0], [0, 1], [1, 0], [1, 1]])  # aa, ab, ba, bb
first, second = tables(P)
hasty = TwoLetters(first[:, [2, 2, 2]], second)
by_holes = torch.tensor([metrics.exact_nelbo(hasty, word) for word in words])
assert torch.allclose(by_holes, nelbo, atol=1e-5)

# %% [markdown]
# ## One name, 24 orders
#
# Your model has finished its training. The explorer asks it for a name in the order that you choose, and each letter sees the text on both sides and the letters that were written before it. Look for the cheapest order and the most costly one. At first you have chosen left to right, so the ring lies around the green dot. How do these two orders compare with a blind guess among all 160 names, which costs $\ln 160 = 5.08$ nats?

# %% tags=["nbval-ignore-output"]
run.result()
texts = {
    "wira, the answer": "wira fed lira. who fed lira? [wira].",
    "lira, in the story": "wira fed [lira]. who fed lira? wira.",
}
orders(model, tokenizer, texts)

# %% [markdown]
# The 24 orders disagree, so this model is not perfect. But no order is cheap. In our run the answer costs about as much as a blind guess in most orders, although the story holds the name. So of this name the model has learned hardly more than how names are made.
#
# ## Beside v4
#
# What does a whole text cost your model? The first line below is its NELBO, and the last one is v4's loss. (The loss in the dashboard is another number, the mean over masked characters.) Even if the NELBO is larger than v4's loss, v4 need not be the better model, since the cost may lie far below its bound. But your model can also write from left to right: hide a character and all that follow, and ask for this character. Then its cost is a sum of losses in the order of v4, and the two can be compared.

# %% tags=["nbval-ignore-output"]
bound, _ = metrics.nelbo(model, corpus.val[:8192])
windows = corpus.val[: 24 * 64].view(24, 64)
later = torch.ones(64, 64).triu().bool()[1:]  # (63, 64): row i hides character i + 1 and all that follow
costs = []
for text in windows:
    with torch.inference_mode():
        logits = denoise(model, text.expand(63, 64).masked_fill(later, tokenizer.mask_id))
    costs.append(float(cross_entropy(logits[range(63), range(1, 64)], text[1:])))
v4 = load_results("gaussian")["plain"]["300"]["v4"]["val_loss"]
print(f"your model, by chance:      at most {bound:.2f} nats per character")
print(f"your model, left to right:  {np.mean(costs):.2f}")
print(f"v4 after 300 steps:         {np.mean(v4):.2f} (mean of {len(v4)} runs)")

# %% [markdown]
# Even in v4's own order your model pays far more than v4 did after fewer steps. Perhaps this is because it has to fill every set of holes with the same weights, whereas v4 learned one order only.
#
# ## Watch it write
#
# In each hole the highest probability of a character is the model's [confidence](../docs/glossary.md#confidence). The order *surest first* fills the hole with the highest confidence, and with it every other hole whose confidence reaches the [threshold](../docs/glossary.md#threshold). The character is drawn at random. In the explorer improbable characters are made rarer by a [temperature](../docs/glossary.md#temperature) of 0.8, and only the two likeliest can come, its [top-k](../docs/glossary.md#top-k); leave both as they are.
#
# Move **step** slowly, and see which letter of a name comes first. You can type your own **text**.

# %% tags=["nbval-ignore-output"]
explorers.diffusion(
    model, tokenizer, "wira fed lira. ___ fed? wira. __ ____ fed ____.\n____ ___ _______", step=6
)

# %% [markdown]
# The last letter of a name comes early, because it is always *a*, and the first comes late, because it is one of sixteen.
#
# ## Two letters in one step
#
# A low threshold saves steps, because many letters then appear together. To see what this costs without any error of training, we ask a perfect model. In its language `aa` and `bb` have a probability of 45% each, and `ab` and `ba` of 5% each. It fills both holes of a word in the same step, and draws each letter with its true probability.

# %%
once_guess = predict(
    "The perfect model fills both holes in one step. How often does it write ab, which should be 5%?",
    low=0,
    high=100,
    unit="%",
    near=5,
)
once_guess

# %% tags=["answer", "nbval-ignore-output"]
language = torch.tensor([[0.45, 0.05], [0.05, 0.45]])
perfect = TwoLetters(*tables(language))


def written(order, n=20_000):
    """How often the perfect model writes each word when it fills n pairs of holes in this order: (4,)."""
    holes, draw = torch.full((n, 2), 2), torch.Generator().manual_seed(0)
    found = fill_in(perfect, holes, order, generator=draw).tokens
    return (found[:, None] == words).all(dim=-1).float().mean(dim=0)


one_by_one, together = written(by_confidence(1.01)), written(by_confidence(0.0))
columns = [[f"{x:.1%}" for x in column] for column in (language.flatten(), one_by_one, together)]
rows = list(zip(("aa", "ab", "ba", "bb"), *columns, strict=True))
display(Table(("word", "should be", "one letter a step", "both at once"), rows, stable=2))
once_guess.compare(100 * round(float(together[1]), 3))

# %% [markdown]
# With one letter a step 5% of the words are `ab`, as it should be. With both at once it is 25%, although the model knows every probability: half of all words begin with *a*, half end in *b*, and 0.5 · 0.5 = 0.25. When the second letter is drawn, the first is not there yet. **Letters that are written in one step do not see each other.** No training helps against this in our language, and more steps do. Return to the explorer and set **sampler setting**, which is the threshold, to 0, so that all letters appear in one step, and compare the words with those at 95%.
#
# ## Letters taken back
#
# If steps help, a model could take more steps than there are holes, and repair its early letters. This is [remasking](../docs/glossary.md#remasking): each step turns some written letters into holes again, most often those that were improbable when they were drawn, and fills more holes to make up for it. In the explorer, set **sampler** to *changes its mind* and its setting to 10%; ▓ marks a letter that was taken back.
#
# Twelve models wrote texts of 63 holes in several ways. A sentence is *right* if the grammar of the tales allows it, and a *pass* is one run of the model over the text. *Surest first*, one hole a step, writes 52% right sentences in 63 passes, and remasking writes 63% in 242. With 62 passes no gain is decided ([all ways](../docs/results.md#remasking)).
#
# Remasking takes improbable letters back. A lower temperature avoids them from the start, since at 0.5 all probabilities are squared and divided by their sum. So *surest first* at a lower temperature is the control, although it cannot take back any letter, even a wrong one.

# %%
cold_guess = predict(
    "Which writes more right sentences?",
    [
        "surest first at temperature 0.5, with 63 passes",
        "remasking at temperature 1, with 242 passes",
        "they differ by less than 5 points",
    ],
)
cold_guess

# %% tags=["answer"]
shown = {
    "random order": "by chance",
    "surest first": "surest first, 1",
    "remasking": "again by doubt, 256 steps, 1",
    "surest first, temperature 0.5": "surest first, 0.5",
}  # what we call it -> what the study calls it
ways = load_results("remasking")["ways"]
dots = {name: [100 * x for x in ways[way]["sentences"]] for name, way in shown.items()}
means = {name: float(np.mean(values)) for name, values in dots.items()}
notes = {name: f"mean {means[name]:.0f}%, {np.mean(ways[shown[name]]['looks']):.0f} passes" for name in shown}

# %% tags=["answer"]
*_, remasking, cold = means.values()
fig, ax = plt.subplots(figsize=(10, 2.8))
title = f"A lower temperature brings {cold:.0f}% right sentences, remasking {remasking:.0f}%"
draw_seed_dots(ax, dots, title, "right sentences (%)", None, (15.0, 128.0), notes=notes)
ax.set_xticks(range(20, 101, 20))
plt.show()
cold_guess.compare(cold_guess.options[0 if cold - remasking > 5 else 1 if remasking - cold > 5 else 2])

# %% [markdown]
# Each dot is one model. The lower temperature raises *surest first* from 52 to 75% without a single pass more, and is 12 points ahead of remasking (99%: 2 to 22). It also repeats itself more. Without repetitions its lead shrinks to 9 points, hardly decided, and the gain of remasking over *surest first* to 7, undecided. At 0.5 remasking writes 66%, and beside it the lead is undecided as well. So here a lower temperature helps as much as remasking or more, and costs no pass.
#
# A right sentence is a low bar, however: in none of our ways to write was a whole tale right.

# %% [markdown]
# ## The case
#
# v4 at least knows who did it. Of a model that fills in we cannot say so. Shown a question whose answer is hidden, it prefers the right of two names in half of the cases after 600 steps, from each of twelve seeds (RoPE, [each seed](../figures/ladder.md)). But no such model of ours has ever passed this test, so this strikes no explanation of the list.

# %%
tally()

# %% [markdown]
# ## Exercises
#
# `diffusion.NELBO.hint()` in a new cell gives one hint at a time, `.solution()` shows a solution.

# %%
diffusion.NELBO


# %%
def nelbo(log_prob, n):
    """The NELBO of a text of n tokens, in nats: over all ways to mask it, the sum of loss times weight."""
    return -sum(log_prob(frozenset(range(n)), i) for i in range(n))


# %%
diffusion.NELBO.check(nelbo)

# %%
diffusion.AT_ONCE

# %%
at_once = []

# %%
diffusion.AT_ONCE.check(at_once)

# %%
diffusion.REMASK


# %%
def remask(masked, given, confidence, again, due):
    """Holes (B, T) once the `again` least sure letters are taken back, and how many to fill (B,)."""
    return masked, torch.full(masked.shape[:1], due)


# %%
diffusion.REMASK.check(remask)

# %% [markdown]
# ## Recap
#
# 1. Training draws a masking rate evenly between 0 and 1, so every number of holes is equally likely.
# 2. The orders of a perfect model agree on what a text costs, and those of a trained model do not. The cost is −log of their mean probability, and the NELBO, the mean of $-\log p$, is never below it.
# 3. A bound above v4's loss decides nothing, but the cost from left to right does. In this order our model pays far more.
# 4. Letters that are written in one step do not see each other, so even a perfect model writes `ab` in 25% of its words instead of 5%.
# 5. Remasking writes more right sentences than *surest first* only with four times the passes. *Surest first* at temperature 0.5 costs no pass more, repeats more, and is 12 points ahead of remasking at 1 (2 to 22; 800 steps, twelve seeds).

# %% [markdown]
# ## Self-test
#
# **1.** A text has 10 letters, and its rate is drawn evenly from 0 to 1. How likely are exactly 10 holes?
#
# - a) one in 1,024
# - b) one in 11
# - c) practically never
#
# <details><summary>Answer</summary>
#
# **b.** All numbers from 0 to 10 are equally likely. *a* is tempting, but belongs to a fixed rate of one half.
#
# </details>
#
# **2.** A model that fills holes has a NELBO of 0.60, and v4 has a loss of 0.53 on the same text. For which model is the text cheaper?
#
# - a) for v4, by 0.07 nats a character
# - b) for the model that fills holes
# - c) this does not tell
#
# <details><summary>Answer</summary>
#
# **c.** *a* is tempting because the units are alike, but the cost may lie anywhere below the bound.
#
# </details>
#
# **3.** When is the NELBO equal to what a text costs the model?
#
# - a) when all orders give the text the same probability
# - b) after enough training
# - c) when the text has few letters
#
# <details><summary>Answer</summary>
#
# **a.** The mean of −log equals −log of the mean only if all numbers are equal. *c* forgets Hasty.
#
# </details>
#
# **4.** A perfect model writes 64 letters in one step, and they make no words. What would help?
#
# - a) a better encoding
# - b) a lower temperature
# - c) more steps
#
# <details><summary>Answer</summary>
#
# **c.** A letter can only depend on letters that are written already. *b* is tempting, but likely letters need not make a likely word.
#
# </details>
#
# **5.** Remasking with 242 passes writes more right sentences than *surest first* with 63, both at temperature 1. What is missing before you recommend remasking?
#
# - a) nothing
# - b) a comparison with a lower temperature
# - c) longer texts
#
# <details><summary>Answer</summary>
#
# **b.** A lower temperature also avoids improbable letters, and needs no extra pass. *a* is tempting, but remasking took four times the passes.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Source note 000 introduces v7. It says that the threshold matters much to the written text. It also says that two scores do not tell how readable a text is: the share of distinct pairs of characters (*distinct-2*) and that of repeated triples (*3-grams*). Both claims hold ([all claims](../docs/notes/000.md)).

# %% tags=["nbval-ignore-output"]
SHOWN = [
    "the threshold matters much to what is written",
    "distinct-2 and repeated 3-grams do not tell how readable a text is",
]
findings("000", SHOWN)

# %% [markdown]
# ## Further reading
#
# - [Uria, Murray and Larochelle 2014](https://arxiv.org/abs/1310.1757): one network trained for all orders at once, and the mean over orders.
# - [Hoogeboom et al. 2022](https://arxiv.org/abs/2110.02037): masked diffusion is such a model, and may write several letters a step.
# - [Nie et al. 2025](https://arxiv.org/abs/2502.09992): LLaDA, a masked diffusion model with eight billion weights.
# - [Wang et al. 2025](https://arxiv.org/abs/2503.00307): remasking; ours is a variant of its confidence rule.
# - [Ben-Hamu et al. 2025](https://arxiv.org/abs/2505.24857): the *entropy bound*, a third sampler in the explorer.

# %% [markdown]
# ## What comes next
#
# This model knows left from right by RoPE. Source note 000 wants to do without a rotation, and multiplies queries and keys by cosines. Is that enough for a model that looks both ways? → [07b · Polar gates](07b_polar_gates.ipynb)
