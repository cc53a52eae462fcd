# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03b · Sinusoidal
#
# **Can we tell a model each token's position, in a form that attention can use?**
#
# *ada chased ben. who chased ben?* In lesson 03a an attention layer gave the same answer when the story was *ben chased ada*, because it reads a bag of letters. The Transformer of 2017 adds a fixed table of sines and cosines to the token embeddings. This makes **v3**. You will
#
# 1. see why a step along the text rotates this table,
# 2. build a head by hand that finds the name,
# 3. train v3 against a model without position encoding,
# 4. find out why v3 fails beyond its window, and meet relative positions.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, and by our estimate 60 minutes to read and guess. The exercises take about 24 minutes, and those marked *stretch* take 20 more.

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, invariants, live, metrics, plots
from babygpt.data import batches, load_corpus
from babygpt.encodings.learned_biases import T5Bias
from babygpt.encodings.rotary import rotate_pairs
from babygpt.encodings.sinusoidal import frequencies, sinusoid
from babygpt.tables import Table
from babygpt_course.exercises import lesson_03b as sinusoidal
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import order, paired, results, seed_plots

# %%
plots.set_style()
live.sinusoidal()

# %% [markdown]
# Each row of <span class="light-table">the table</span> is the code of one position, drawn as colours. <span class="light-likeness">The curve</span> compares the code of one position with all other codes; 1 means the same code. Drag the **position**: the peak moves along and keeps its shape.
#
# ## Quick and slow waves
#
# Each position needs a vector of small numbers, and nearby positions need similar vectors. A wave stays between −1 and 1, but it repeats. So the encoding of this lesson, the *sinusoid*, combines many waves. Quick waves tell neighbours apart, and slow waves tell distant positions apart. Each wave gets two [channels](../docs/glossary.md#channel), a sine and a cosine, which we call a *pair*:
#
# $$\text{code}(m) = (\sin m\omega_0,\ \cos m\omega_0,\ \sin m\omega_1,\ \cos m\omega_1,\ \dots)\qquad \omega_i = \theta^{-2i/C}$$
#
# $C$ is the number of channels. The [frequency](../docs/glossary.md#frequency) $\omega_i$ is the angle by which pair $i$ turns from one token to the next, in radians. For a small table we take four channels and [θ](../docs/glossary.md#theta) = 100, so $\omega_0 = 1$ and $\omega_1 = 0.1$:

# %%
by_hand = [[math.sin(m), math.cos(m), math.sin(m / 10), math.cos(m / 10)] for m in range(8)]
rows = [(f"{m}", *(f"{x:.2f}" for x in row)) for m, row in enumerate(by_hand)]
assert torch.allclose(torch.tensor(by_hand), sinusoid(torch.arange(8), width=4, theta=100.0))
Table(("m", "sin m", "cos m", "sin m/10", "cos m/10"), rows, stable=5)


# %% [markdown]
# Read a column from top to bottom. The quick pair on the left soon repeats. The slow pair on the right changes little.
#
# Our models have 48 pairs, and θ = 10000 as in Vaswani et al. 2017. The quickest pair turns once in 6.3 tokens, and the slowest once in 51,862.
#
# ## A step is a rotation
#
# Is there one matrix that takes the code of every position $m$ to the code of $m + 2$? We try a single pair with $\omega = 1$. Two examples determine a matrix of 2 × 2. Our matrix takes the code of 3 to the code of 5, and the code of 4 to the code of 6.

# %%
def pair(m):
    """Code of position m in one pair with a frequency of 1."""
    return np.array([math.sin(m), math.cos(m)])


start, end = (np.column_stack([pair(a), pair(b)]) for a, b in ((3, 4), (5, 6)))
step = end @ np.linalg.inv(start)  # (2, 2)
assert np.allclose(step @ pair(3), pair(5))

# %%
landings = ["to the code of 1002", "near the code of 1002", "to neither"]
far_along = predict("We found the matrix at 3 and 4. Where does it take the code of 1000?", landings)
far_along

# %% tags=["answer"]
error = np.abs(step @ pair(1000) - pair(1002)).max()
print("matrix @ code(1000) =", np.round(step @ pair(1000), 4), "and code(1002) =", np.round(pair(1002), 4))
far_along.compare(landings[0 if error < 1e-9 else 1 if error < 0.5 else 2])

# %% [markdown]
# The same matrix works at every position. The angle-addition formulas say why. For a step of $s$ tokens they read
#
# $$\begin{pmatrix}\sin (m+s)\omega\\ \cos (m+s)\omega\end{pmatrix} = \begin{pmatrix}\cos s\omega & \sin s\omega\\ -\sin s\omega & \cos s\omega\end{pmatrix}\begin{pmatrix}\sin m\omega\\ \cos m\omega\end{pmatrix}$$
#
# The matrix contains $s$ and not $m$. **A step along the text is a rotation**, the same at every position. The rotation needs both channels of a pair: the new sine is made of the old sine and the old cosine.
#
# Attention compares vectors by their dot product. In the dot product of two codes, each pair contributes $\sin m\omega \sin n\omega + \cos m\omega \cos n\omega = \cos (m-n)\omega$. So the sum depends on the [distance](../docs/glossary.md#distance) $m - n$ alone.
#
# The next cell checks both results with all 48 pairs. `rotate_pairs` turns backwards: it takes the code of $m$ to the code of $m - s$.

# %%
speeds, s = frequencies(96), 7
codes = sinusoid(torch.arange(200), 96)  # (200, C)
assert torch.allclose(rotate_pairs(codes[s:], s * speeds), codes[:-s], atol=1e-5)
alike = codes @ codes.T  # (200, 200)
by_formula = (torch.tensor(190 - 20) * speeds).cos().sum().float()
assert torch.allclose(alike[190, 20], by_formula, atol=1e-3)


# %% [markdown]
# A cosine is the same for a distance and its negative. **The dot product of two codes tells how far apart two positions are, and not which comes first.**
#
# Go back to the explorer and change **θ**. With θ = 10 all pairs turn quickly, and the peak is narrow. With a large θ most pairs hardly turn, so distant positions have similar codes.
#
# ## A head that answers
#
# Attention compares [queries](../docs/glossary.md#query) with [keys](../docs/glossary.md#key). We choose the matrices of a head by hand, and give the head only the codes. The query matrix rotates each code back by $n$ steps. The key matrix leaves the codes as they are. So the query of token $m$ is the code of $m - n$. The key of the token at $m - n$ is the same code, so this token gets the highest score.
#
# The last blank of our text stands at position 31. The answer begins with the letter at position 0. So we take $n = 31$. We do not scale the scores here.

# %%
def scores_back(n, T):
    """Scores of T tokens that each look for the token n before it: (T, T)."""
    return rotate_pairs(codes[:T], n * speeds) @ codes[:T].T


text = "ada chased ben. who chased ben? "
scores = scores_back(31, len(text))[-1]  # of the last blank: (T,)
print([f"{letter} {score:.1f}" for letter, score in zip(text[:5], scores.tolist(), strict=False)])

# %%
weight_guess = predict(
    "The right letter scores 48.0, the next one 46.5. What is the weight of the right letter?",
    low=0,
    high=100,
    unit="%",
    near=10,
)
weight_guess

# %% tags=["answer"]
weights = scores.softmax(dim=0)
for story in (text, "ben chased ada. who chased ada? "):
    print(story, *(f"{letter} {weight:.0%}" for letter, weight in zip(story[:3], weights, strict=False)))
weight_guess.compare(100 * weights[0].item())

# %% [markdown]
# The first letter scores 1.5 more than the second. So its weight is $e^{1.5} = 4.5$ times as large: 81% against 18%. The head answers *a* in the first story and *b* in its mirror, and both answers are right. But it always copies the letter 31 positions back, so it fails for questions that begin with *whom*.
#
# With $n = 1$ we get a *previous-token head*: each letter reads the letter before it.

# %%
later = torch.ones(15, 15).triu(1).bool()
seen = scores_back(1, 15).masked_fill(later, -torch.inf).softmax(dim=-1)
assert (seen[1:].argmax(dim=1) == torch.arange(14)).all()
fig, ax = plt.subplots(figsize=(5.4, 4.4))
labels = "letter that is read", "letter that reads"
title = "Queries turned one step back read the letter before"
plots.draw_matrix(ax, seen.numpy(), title, *labels, plots.visible(text[:15]))
plt.show()

# %% [markdown]
# The first letter can only read itself. In every other row, the brightest cell lies just left of the diagonal, on the letter before.
#
# ## Train v3
#
# v3 is the Transformer of 03a with one change: it adds the code of each position to the embedding of the token there.
#
# We train v3 on plain tales, and every window begins with a story. The baseline is [NoPE](../docs/glossary.md#nope), the same model without position encoding.

# %%
corpus = load_corpus("plain-tales", n_chars=400_000)
tokenizer = corpus.tokenizer
print(tokenizer.decode(corpus.val[:145]))
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
recipe = TrainConfig(steps=400, batch_size=12, lr_matrix=0.03, lr_other=0.02)
objective = NextToken(corpus, shape.block_size, aligned=True)
questions = corpus.grammar.questions(400, seed=2, max_chars=shape.block_size)

# %%
either = ["neither", "only NoPE", "only v3", "both"]
race = predict("After 400 steps, which model has more than 80% right answers?", either)
race

# %% tags=["answer", "nbval-ignore-output"]
models, runs, floor = {}, {}, {"floor": corpus.floor}
watches = [live.roles(tokenizer, questions[:24]), live.heads(tokenizer, questions[0].prompt.strip())]
for version in ("nope", "v3"):
    torch.manual_seed(1337)
    models[version] = build(version, shape)
    runs[version] = live.train(models[version], objective, recipe, version, floor, watches)

# %% [markdown]
# Both models train on the same batches. The panel on the right shows the weights of every head on one question. The head whose weights have changed most is drawn large. The title says how much of this head's attention has moved to other letters since the first step.
#
# The next cell waits for both models and asks 400 questions, each after a story and after its [mirror](../docs/glossary.md#mirror-pair). So a model that ignores order is right in half of the questions.

# %% tags=["answer", "nbval-ignore-output"]
right, rows = {}, []
for version, run in runs.items():
    loss = run.result()[-1].val_loss
    right[version] = metrics.role_accuracy(models[version], tokenizer, questions)
    rows.append((version, f"{loss:.2f}", f"{right[version]:.0%}"))
display(Table(("model", "validation loss (nats per character)", "right answers"), rows, stable=1))
race.compare(either[(right["nope"] > 0.8) + 2 * (right["v3"] > 0.8)])

# %% [markdown]
# We trained both models from twelve seeds, each for 400 steps. Here are your models beside the stored runs:

# %% tags=["answer", "nbval-ignore-output"]
stored = results.load_results("order")["race"]
answered = {v: stored["accuracy"][v] for v in ("v3", "nope")}
known = {v: f"{sum(share > 0.9 for share in seeds)} of {len(seeds)}" for v, seeds in answered.items()}
fig, ax = plt.subplots(figsize=(8, 2.6))
title, label = "v3 learns to answer, and NoPE stays at chance", "right answers (%)"
seed_plots.draw_seed_dots(ax, paired.percent(answered), title, label, {"chance": 50}, (40, 112), notes=known)
plt.show()
for version, share in right.items():
    print(f"{version:5}", paired.beside(share, answered[version], "%"))

# %% [markdown]
# Each dot is one trained model; the numbers on the right count models above 90%. All dots of NoPE lie near 50%, which is chance. From nine of twelve seeds v3 answers more than 90% of the questions. From the other three seeds v3 answers 74 to 85%.
#
# In 03a a model without position encoding often learned order. Its task was smaller, with names of one letter. We have not tested what makes the difference.
#
# ## Beyond the window
#
# v2's table ends with the window, but the sinusoid has a code for every position. Vaswani et al. hoped that it "may allow the model to extrapolate" to longer texts. Our models trained in windows of 64 letters, and now read 256. For comparison: equal probabilities for all $V$ letters give a loss of $\ln V$, about 3 nats.

# %%
levels = ["lower: it has more text to use", "the same", "higher, up to ln V", "higher than ln V"]
cliff = predict("v3's loss from position 128 on, compared with its loss in the window, is", levels)
cliff

# %% tags=["answer", "nbval-ignore-output"]
starts = batches.line_starts(corpus.val, int(tokenizer.encode("\n")), 4 * shape.block_size + 1)
windows = batches.cut(corpus.val, starts[:: len(starts) // 128], 4 * shape.block_size + 1)
with torch.inference_mode():
    long = {
        name: order.losses_from(model, windows[:, :-1], windows[:, 1:]).mean(dim=0).numpy()
        for name, model in models.items()
    }
far = order.measure_far(models["v3"], corpus)  # inside the window, and from position 128 on
fig, ax = plt.subplots(figsize=(7.5, 4))
title = f"Past its window v3's loss rises from {far['inside']:.2f} to {far['long']:.2f} nats per character"
plots.draw_by_position(ax, long, shape.block_size, title, smooth=8)
plt.show()
limits = (far["inside"] - 0.05, far["inside"] + 0.05, math.log(shape.vocab_size))
cliff.compare(levels[sum(far["long"] > limit for limit in limits)])

# %% [markdown]
# Look to the right of the dashed line. v3's loss leaps above 3 nats, so v3 does worse than equal probabilities. NoPE's loss rises too, although NoPE gets no positions. So a longer text alone already has a cost.
#
# For v3 two things are new at once: the positions and the longer text. To separate them, we *move* a short text. v3 reads 64 letters, and we tell it that they stand at 128 to 191.

# %%
shares = ["none of it", "less than half", "more than half"]
moved_guess = predict("How much of this rise of the loss do we also see when we move a short text?", shares)
moved_guess

# %% tags=["answer", "nbval-ignore-output"]
remains = (far["moved"] - far["inside"]) / (far["long"] - far["inside"])
print("your v3: {inside:.2f} nats inside, {moved:.2f} moved, {long:.2f} in the long text".format(**far))
moved_guess.compare(shares[(remains > 0.02) + (remains > 0.5)])

# %% [markdown]
# The move alone causes most of the rise. The likely reason is that v3 never met the codes of 128 to 191. To test this, we trained a second v3 that met them. Its windows begin with a story, too. But in each batch the first letter gets a random position from 0 to 192. So this v3 meets the codes of 0 to 255. The table shows means over twelve seeds ([all results](../docs/results.md)).

# %%
arms = {"NoPE": "nope", "v3": "v3", "v3, trained on codes 0 to 255": "v3, all positions"}
rows = []
for model, arm in arms.items():
    seeds = stored["far"][arm]
    means = (np.mean([run[name] for run in seeds]) for name in ("inside", "moved", "long"))
    rows.append((model, *(f"{mean:.2f}" for mean in means)))
heading = ("model", "64 letters at 0 to 63 (nats)", "moved to 128 to 191", "long text, from 128 on")
Table(heading, rows, stable=4)

# %% [markdown]
# Compare the first two columns of numbers. The move raises v3's loss from 0.38 to 3.20 nats. The move does not raise the loss of the second v3. So v3 fails at codes that it did not meet in training. Its matrices were fitted to 64 codes only.
#
# The second v3 is a weak control, because it has not learned to answer from any seed. So we trained a third v3, whose windows stand at position 0 or at position 128 and nowhere else. It gives 84% right answers on average. It loses 0.39 nats at 0, 2.52 at 64, and again 0.39 at 128 ([twelve seeds](../docs/results.md#three-controls)): a position is not hard because it is far, but because training left it out.
#
# Now look at the last column. In the long text the loss of the second v3 rises, too. This rise is the cost of the longer text, since the second v3 has met all codes.
#
# ## Promises
#
# v3 keeps all promises but the last, which it was built to **break**.

# %% tags=["nbval-ignore-output"]
ids, v3 = corpus.val[:48], models["v3"]
held = [
    invariants.table_equals_closed_form(v3.encoding),
    invariants.shift_is_rotation(shape.n_embd),
    invariants.causal(v3, ids),
    invariants.cache_equals_full(v3, ids),
    invariants.extrapolates_or_refuses(v3, ids),
]
assert all(promise.holds for promise in held)
invariants.promises([*held, invariants.order_blind(v3, ids)])

# %% [markdown]
# The promise about the [cache](../docs/glossary.md#cache) needs care. While a model writes, the cache keeps the keys of earlier tokens, with their codes. The program must give the position of the new token. We try three ways to count this position. The new token stands at 31, and our previous-token head looks for token 30. The cache has dropped the 10 oldest tokens. Only the new token goes into the model; the head finds the others in the cache.

# %%
counts = {"all tokens before it in the text": 31, "tokens before it in this call": 0, "keys in the cache": 21}
rows = []
for counted, position in counts.items():
    query = rotate_pairs(codes[position], speeds)
    found = 10 + int((codes[10:31] @ query).argmax())  # the cached keys keep their codes
    rows.append((counted, str(position), str(found)))
Table(("we count", "position given to the token", "the head finds"), rows, stable=3)

# %% [markdown]
# The first row is right: the head finds token 30. The other two rows are common bugs.
#
# ## From absolute to relative
#
# In v3 a query and a key both contain a token and a code. So a score compares tokens with tokens, tokens with codes, and codes with codes. Only the last part compares two positions. Three later methods put the distance $d = m - n$ into the score directly:
#
# - **Shaw et al. 2018** learn a vector $a_d$ for each distance and add it to the key. The score is $q\cdot k + q\cdot a_d$.
# - **T5** (Raffel et al. 2020) adds a learned number $b_d$ to each score, a [relative bias](../docs/glossary.md#relative-bias). Each head has its own numbers. The score is $q\cdot k + b_d$.
# - **ALiBi** (Press et al. 2022) learns nothing. It subtracts a fixed penalty that grows with the distance. Lesson 04 shows it.
#
# We draw T5's bias for one head. We choose $b_1 = 3$, $b_2 = 2$ and $b_3 = 1$, and 0 for all other distances.

# %%
b = torch.zeros(32)
b[1:4] = torch.tensor([3.0, 2.0, 1.0])  # for the three letters before
m = torch.arange(15)
bias = b[(m[:, None] - m).clamp(min=0)]  # (T, T)
t5, here = T5Bias(n_head=1), Positions.arange(15)
t5.table.data[:, 0] = b
assert torch.equal(t5.score_bias(here, here)[0], bias)
fig, ax = plt.subplots(figsize=(5.4, 4.4))
causal = bias.masked_fill(later, torch.nan).numpy()
title = "T5's bias has one number for each diagonal"
plots.draw_matrix(ax, causal, title, *labels, plots.visible(text[:15]), diverging=True, top=5)
plt.show()

# %% [markdown]
# Each diagonal is one distance and has one colour. So the head prefers the same distances at every position.
#
# T5's bias is the same for every query. So a blank and a full stop cannot prefer different distances. In Shaw's method they can, because $q\cdot a_d$ contains the query.
#
# A distance that training never met has no trained number. So in T5 long distances share numbers: from 16 on, each number serves a range of distances, and the ranges become wider.
#
# How did your guesses do?

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Exercises
#
# In a new cell, `sinusoidal.CACHE.hint()` gives one hint at a time, and `.solution()` shows one way to do it.

# %%
sinusoidal.CACHE


# %%
def decode(x: Tensor, keys: Tensor, values: Tensor, n_read: int) -> Tensor:
    """Mix (n, C) of n new tokens x (n, C) that follow `n_read` others; the cache holds the last (R, C)."""
    q = x + sinusoid(torch.arange(len(keys), len(keys) + len(x)), x.shape[1])
    return (q @ keys.T / x.shape[1] ** 0.5).softmax(dim=-1) @ values


# %%
sinusoidal.CACHE.check(decode)

# %%
sinusoidal.LOOK_BACK


# %%
def look_back(n: int, n_embd: int) -> tuple[Tensor, Tensor]:
    """Matrices (n_embd, n_embd) of the queries and of the keys of a head that looks n tokens back."""
    return torch.eye(n_embd), torch.eye(n_embd)


# %%
sinusoidal.LOOK_BACK.check(look_back)

# %% tags=["nbval-ignore-output"]
sinusoidal.LOOK_BACK.draw(look_back)

# %%
sinusoidal.FEWEST_PAIRS

# %%
fewest_pairs = list(range(48))

# %%
sinusoidal.FEWEST_PAIRS.check(fewest_pairs)

# %% [markdown]
# ## Recap
#
# 1. The sinusoid writes a position as pairs of a sine and a cosine. Each pair turns more slowly than the pair before.
# 2. A step along the text rotates every pair, by the same angles at every position. So one fixed query matrix finds the token before.
# 3. The dot product of two codes tells how far apart two positions are, and not which comes first.
# 4. After 400 steps on the plain tales, in windows that begin with a story, v3 answers more than 90% of the questions from nine of twelve seeds. NoPE stays at chance from all twelve.
# 5. v3 fails at codes that it did not meet in training. When a text is moved past the window, v3's loss rises from 0.38 to 3.20 nats (means over twelve seeds). The loss of a v3 that met these codes does not rise.

# %% [markdown]
# ## Self-test
#
# **1.** Why does each wave get a sine *and* a cosine?
#
# - a) for twice the precision
# - b) so that a step is one matrix, the same at every position
# - c) so that every position has a code of its own
#
# <details><summary>Answer</summary>
#
# **b.** The new sine is made of the old sine and the old cosine. *c* is tempting, but sines alone can also give every position its own code.
#
# </details>
#
# **2.** The dot product of the codes of 10 and 13 is 30. The dot product of the codes of 1013 and 1010 is
#
# - a) 30
# - b) −30
# - c) less than 30, since both positions are larger
#
# <details><summary>Answer</summary>
#
# **a.** It depends on the distance alone, and 3 and −3 have the same cosines. *b* is tempting, but the dot product does not show the order.
#
# </details>
#
# **3.** How can each token $m$ read token $m-1$?
#
# - a) with a matrix for each position
# - b) if the bare codes are compared with each other
# - c) with a query matrix that rotates each pair one step back
#
# <details><summary>Answer</summary>
#
# **c.** Then the query of $m$ is the code of $m-1$, which is also the key of $m-1$. *b* is tempting, but a bare code fits itself best.
#
# </details>
#
# **4.** A head has T5's bias. A blank should prefer distance 5, and a full stop distance 1. Can the bias do this?
#
# - a) yes, since $b_5$ and $b_1$ are different numbers
# - b) no, since every query gets the same numbers
# - c) no, since the bias always prefers near letters
#
# <details><summary>Answer</summary>
#
# **b.** The bias depends on the distance alone. *a* is tempting, but a blank gets both numbers, and so does a full stop.
#
# </details>
#
# **5.** Why does v3 fail on 64 letters that are moved to position 128?
#
# - a) the table has no row 128
# - b) the text is longer than a window
# - c) training fitted its matrices to the codes of 0 to 63
#
# <details><summary>Answer</summary>
#
# **c.** A v3 that met the later codes in training does not fail. *b* is tempting, but the moved text still has 64 letters.
#
# </details>

# %% [markdown]
# ## What the source notes say
#
# None of the five source notes describes v3. Notes 002 and 003 use its table to mark which of several texts a token belongs to. Lesson 06 measures their claims.

# %% [markdown]
# ## Further reading
#
# - [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), section 3.5.
# - [Shaw et al. 2018](https://arxiv.org/abs/1803.02155): a vector for each distance.
# - [Raffel et al. 2020](https://arxiv.org/abs/1910.10683): T5, whose bias is in section 2.1.
# - [Press et al. 2022](https://arxiv.org/abs/2108.12409): ALiBi.

# %% [markdown]
# ## What comes next
#
# A step along the text rotates the codes. But v3 adds the codes to the tokens, so its scores mix distances with everything else. What if we rotate the queries and keys themselves? → [04 · RoPE](04_rope.ipynb)
