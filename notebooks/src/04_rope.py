# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04 · RoPE
#
# **Can an attention score depend only on distance?**
#
# *The second word before me* means the same on page 1 and on page 100. So the [score](../docs/glossary.md#score) of a [query](../docs/glossary.md#query) and a [key](../docs/glossary.md#key) should depend on their distance, and not on where they stand. v3 ([03b](03b_sinusoidal.ipynb)) adds a code to each token, so its scores also depend on the positions. RoPE adds nothing. It *rotates* queries and keys by angles that grow with their position. **v4** and many large models use RoPE. You will
#
# 1. rotate a query and a key by hand,
# 2. find out whether RoPE makes far tokens count less,
# 3. train v4 beside v3, and turn its angles while it learns,
# 4. find a head that v4 needs for its answers.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 60 seconds to run on two cores, and by our estimate 73 minutes to read and guess. The exercises take about 35 minutes, and those marked *stretch* take 15 more.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, invariants, live, metrics, plots
from babygpt.data import batches, load_corpus
from babygpt.encodings.rotary import Rotary, rotate, rotate_pairs
from babygpt.encodings.sinusoidal import frequencies
from babygpt.models.transformer import norm
from babygpt.tables import Table, source
from babygpt_course.exercises import lesson_04 as rope
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import paired, results, seed_plots

# %%
plots.set_style()
live.rotary()

# %% [markdown]
# Drag <span class="light-text">the blue query</span>. The orange key follows, so their distance stays 3. Look at <span class="light-clock">the first clock</span>. Both hands turn, and the angle between them stays the same. <span class="light-later">The second clock</span> shows both tokens 37 positions later. The angle is again the same.
#
# Now drag the key alone. The distance changes, and so does the angle.
#
# ## Rotate one pair
#
# RoPE groups the [channels](../docs/glossary.md#channel) of a vector into pairs. A pair $(a, b)$ is a point in the plane, so we can rotate it. Complex numbers make this short: we write the pair as $a + bi$. To rotate it by the angle $\varphi$, we multiply by $e^{i\varphi}$. For a quarter turn we multiply by $i$. The dot product of two pairs $q$ and $k$ is $\operatorname{Re}(q\,\bar k)$, where $\bar k$ has the opposite imaginary part.
#
# We take $q = 2 + i$ and $k = 2i$. Without a rotation, their score is $2\cdot 0 + 1\cdot 2 = 2$. Now each pair makes one quarter turn for each position. So the query at position $m$ becomes $q\,i^m$, and the key at position $n$ becomes $k\,i^n$.

# %%
kinds = ["the same score, 4", "the opposite score, −4", "some other score"]
both_moved = predict(
    "With the query at 2 and the key at 1 the score is 4. What is it with the query at 12 and the key at 11?",
    kinds,
)
both_moved

# %% tags=["answer"]
query, key = 2 + 1j, 0 + 2j  # Python writes 1j for i
found = {}
for m, n in ((2, 1), (12, 11), (1, 2)):
    found[m] = ((query * 1j**m) * (key * 1j**n).conjugate()).real
    print(f"query at {m}, key at {n}: score {found[m]:.0f}")
both_moved.compare(kinds[{4: 0, -4: 1}.get(found[12], 2)])


# %% [markdown]
# In the first two lines the key stands one step *before* the query, and the scores are equal. In the third line the key stands one step *after* the query, and the score differs. So RoPE also knows the direction.
#
# Instead of a quarter turn for each position, we can take any angle $\omega$. One line shows why only the distance counts:
#
# $$\operatorname{Re}\big(q\,e^{im\omega}\;\overline{k\,e^{in\omega}}\big) = \operatorname{Re}\big(q\,\bar k\;e^{i(m-n)\omega}\big).$$
#
# The bar changes the sign of the key's angle. So only $m - n$ is left. **RoPE rotates each query and key by its absolute position, and the score depends on the difference.**
#
# ## Many pairs, many speeds
#
# With a single pair, scores repeat. With quarter turns, the distances 1 and 5 give the same score. So RoPE uses many pairs, and each pair turns at its own speed. A head with $D$ channels has $D/2$ pairs. From here on, $i$ is the number of a pair. Pair $i$ turns by
#
# $$\omega_i = \theta^{-2i/D}\quad\text{radians a token},\qquad \theta = 10000 .$$
#
# These are the [frequencies](../docs/glossary.md#frequency) of 03b, with the same [θ](../docs/glossary.md#theta). Our heads have 24 channels. Their quickest pair turns once in 6.3 tokens and tells neighbours apart. Their slowest pair turns once in 29,000 tokens. Within a text the slowest pair hardly turns, so its part of a score is almost the same at any distance.
#
# The same rotation in real numbers:

# %%
def rotate_real(x, position, theta=10_000.0):
    """RoPE as in the formula: (..., T, D) -> (..., T, D)."""
    D = x.shape[-1]
    omega = theta ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)  # (D / 2,)
    cos, sin = (position[:, None] * omega).cos(), (position[:, None] * omega).sin()  # (T, D / 2)
    a, b = x[..., 0::2], x[..., 1::2]  # (..., T, D / 2)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %% [markdown]
# We take one random query and one random key. The picture shows their score for each position of the query and each position of the key.

# %%
torch.manual_seed(6)
position = torch.arange(48)
q, k = torch.randn(2, 1, 1, 1, 24, dtype=torch.float64).expand(2, 1, 1, 48, 24)  # one of each, 48 times
assert torch.allclose(rotate_real(q, position), rotate(q, position))  # the package's
scores = (rotate_real(q, position) @ rotate_real(k, position).mT)[0, 0]  # (48, 48)
assert torch.allclose(scores[1:, 1:], scores[:-1, :-1])  # one step along the diagonal
fig, ax = plt.subplots(figsize=(5.6, 4.6))
title = "One query and one key: scores are equal along every diagonal"
axes = ("position of the key n", "position of the query m")
plots.draw_matrix(ax, scores.numpy(), title, *axes, diverging=True)
plt.show()

# %% [markdown]
# Follow one diagonal from the top left to the bottom right. The distance $m - n$ stays the same, and so does the colour.
#
# The package rotates queries and keys, but not values. So the position influences where a token looks, and not what it reads. The rotation has no weights to learn.

# %%
source(Rotary)

# %% [markdown]
# ## Do far tokens count less?
#
# Go back to the first picture of this lesson. Its curve on the right falls and wobbles, which looks as if RoPE made far tokens count less. But there the query *equals* the key. Queries and keys of a model differ, so now we draw 10,000 random queries and 10,000 random keys.
#
# What should we measure? The mean of their scores is 0 at every distance, because positive and negative scores cancel, and it would be 0 even if far scores were tiny. A head prefers one token to another only if their scores *differ*. So we measure the **spread** of the scores at each distance, their standard deviation. As a control we damp the same scores by $e^{-(d/8)^2}$, so that far tokens really count less.

# %%
falls = ["it falls", "it falls at first, and then wobbles", "it stays the same", "it rises"]
decay = predict("What does the spread of RoPE's scores do as the distance grows?", falls)
decay

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(0)
q, k = norm(torch.randn(2, 10_000, 24, dtype=torch.float64))  # (N, D) each
omega, distance = frequencies(24), np.arange(64)
scores = torch.stack([(rotate_pairs(q, d * omega) * k).sum(dim=-1) for d in distance]) / 24**0.5  # (64, N)
spread = {"RoPE": scores.std(dim=1).numpy()}
spread["damped (control)"] = spread["RoPE"] * np.exp(-((distance / 8) ** 2))
fig, ax = plt.subplots(figsize=(8, 4))
title = "At distance 31 RoPE's scores spread by {:.2f}, damped ones by {:.2f}"
title = title.format(*(values[31] for values in spread.values()))
plots.draw_curves(ax, distance, spread, title, "distance (tokens)", "spread of the scores q · k / √24")
plt.show()
ends = spread["RoPE"][[0, 63]]
decay.compare(falls[2 if abs(ends[1] - ends[0]) < 0.1 else 3 if ends[1] > ends[0] else 0])

# %% [markdown]
# A rotated random vector is again a random vector, so its scores spread as widely at distance 60 as at distance 0, whereas the control loses its spread after a few tokens. **RoPE by itself does not make far tokens count less.**
#
# Why does the curve of the first picture fall, then? Let the query equal the key again, and let us turn each query a few steps back as a second case:

# %% tags=["nbval-ignore-output"]
curves = {}
for name, query in {"q = k": k, "q = k, turned 31 steps back": rotate_pairs(k, -31 * omega)}.items():
    products = [(rotate_pairs(query, d * omega) * k).sum(dim=-1).mean().item() for d in distance]
    curves[name] = np.array(products) / 24**0.5  # (64,)
fig, ax = plt.subplots(figsize=(8, 4))
title = "A query that equals its key prefers distance 0, a turned one distance 31"
plots.draw_curves(ax, distance, curves, title, "distance (tokens)", "mean score q · k / √24")
plt.show()

# %% [markdown]
# For q = k the score is a sum of cosines of the distance, one for each pair. All cosines are 1 at distance 0, and then they drift apart, so the curve falls and wobbles.
#
# For the second curve we turned each query 31 steps back, as in the hand-made head of 03b. Now the peak stands at distance 31. In *ada chased ben. who chased ben?* the first letter stands 31 steps before the space that follows the question. Suppose that all keys are alike. Take a query that equals these keys, turn it 31 steps back, and put it at the space. Then its score is highest at the first letter. A model learns its queries and keys, so a head can prefer any distance.
#
# ## ALiBi: a penalty for distance
#
# [**ALiBi**](../docs/glossary.md#alibi) is an encoding that does make far tokens count less. It subtracts a penalty from each score, and the penalty grows with the distance.

# %%
live.alibi()

# %% [markdown]
# <span class="light-score">The first picture</span> shows the penalties of four heads. The dashed curve is RoPE with q = k, moved down so that it begins at 0. <span class="light-attention">The second picture</span> supposes that all keys are alike. It shows how much attention the nearest token gets, how much the two nearest get, and so on. Head 1 has the steepest line, so it looks at the last few tokens.
#
# ## Train v4 beside v3
#
# v3 adds its code to the tokens, and v4 rotates queries and keys. All else is equal. We use the plain tales of 03b, but now windows begin anywhere. So a position in the window tells nothing about the story.

# %%
corpus = load_corpus("plain-tales", n_chars=400_000)
tokenizer, questions = corpus.tokenizer, corpus.grammar.questions(400, seed=2, max_chars=64)
print(questions[0].prompt + questions[0].answer)
sides = ["neither", "only v3's", "only v4's", "both"]
moved_guess = predict(
    "After training we count positions from 1000, and not from 0. Whose loss changes by more than 0.1 nats?",
    sides,
)
moved_guess

# %% tags=["answer", "nbval-ignore-output"]
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
recipe = TrainConfig(steps=450, batch_size=12, lr_matrix=0.03, lr_other=0.02)
objective, floor = NextToken(corpus, shape.block_size), {"floor": corpus.floor}
watches = [live.roles(tokenizer, questions[:24]), live.heads(tokenizer, questions[0].prompt.strip("\n"))]
models, runs = {}, {}
for version in ("v3", "v4"):
    torch.manual_seed(1337)
    models[version] = build(version, shape)
    runs[version] = live.train(models[version], objective, recipe, version, floor, watches)

# %% [markdown]
# Both models see the same batches. The second panel counts the right answers to 24 questions; chance is 50%. The third panel shows where the heads look. Its last row belongs to the space after the question. From there the model predicts the answer.

# %% tags=["answer", "nbval-ignore-output"]
starts = torch.linspace(0, len(corpus.val) - 65, 64).long()
windows = batches.cut(corpus.val, starts, 65)


def moved_loss(model, start):
    """Loss on windows whose positions count from `start`, nats per character."""
    with torch.inference_mode():
        logits = model(windows[:, :-1], Positions.arange(64, start))
    return torch.nn.functional.cross_entropy(logits.transpose(1, 2), windows[:, 1:]).item()


# %% tags=["answer", "nbval-ignore-output"]
losses = {name: [step.loss for step in run.result()] for name, run in runs.items()}
moved = {name: [moved_loss(model, start) for start in (0, 1000)] for name, model in models.items()}
rows = [(name, f"{a:.3f}", f"{b:.3f}") for name, (a, b) in moved.items()]
display(Table(("model", "loss from 0 (nats per character)", "from 1000"), rows, stable=1))
changes = [abs(b - a) > 0.1 for a, b in moved.values()]
moved_guess.compare(sides[changes[0] + 2 * changes[1]])

# %% [markdown]
# Compare the two losses of v4. They are equal, because only differences of positions enter its scores. The loss of v3 leaps, because v3 never met the codes from 1000 on.
#
# Which model has the lower loss if positions count from 0? That is [undecided](../docs/glossary.md#undecided): v3 less v4 is +0.001 nats, with a 99% interval from −0.033 to +0.034 (600 steps, twelve seeds).
#
# ## Turn θ while it learns
#
# We train v4 again, and you can change its angles. Move the slider for θ to its left end, 10. If you do not, the notebook does it at step 225. Then every pair except the first one turns faster.

# %%
effects = ["it stays equal", "it rises slowly", "it leaps, then is equal again", "it leaps, and stays higher"]
turn_guess = predict(
    "θ falls to 10 during the training. Compare the loss with that of the untouched v4:", effects
)
turn_guess

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(1337)
slider = live.Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")
again, dials = build("v4", shape), [slider]
steered = live.train(again, objective, recipe, "steered v4", floor, watches, dials, baseline=runs["v4"])

# %% tags=["answer", "nbval-ignore-output"]
steered.wait_for_step(225)
if not any(step.changed for step in steered.history):
    steered.steer("theta", 10.0)
history = steered.result()
n = min(len(history), len(losses["v4"]))  # either run may have been stopped
gap = np.subtract([step.loss for step in history[:n]], losses["v4"][:n])
moves = [i for i, step in enumerate(history[:n]) if step.changed] or [n - 1]
leap = gap[moves[0] : moves[-1] + 20].max()
fig, ax = plt.subplots(figsize=(7, 4))
curves = {"untouched": losses["v4"][:n], "steered": [step.loss for step in history[:n]]}
title = f"The change costs {leap:+.2f} nats in the worst step and {gap[-10:].mean():+.2f} at the end"
plots.draw_losses(ax, curves, floor, title, smooth=1, baseline="untouched")
plt.show()
turn_guess.compare(effects[2 * bool(leap > 0.1) + bool(gap[-10:].mean() > 0.03)])

# %% [markdown]
# Look at the steps after the change. At θ = 10 the loss leaps, although no weight has changed. Training had fitted the matrices of queries and keys to the old angles. Now it has to fit them again. Over twelve seeds of 450 steps, θ = 10 costs 0.025 nats if it is there from the start (99%: 0.008 to 0.042), and 0.063 if it comes halfway (0.040 to 0.087).
#
# ## Does v4 write the name?
#
# Until now an answer was right if v4 gave the right name a higher probability than the other name. Now v4 *writes* the answer. It takes the most probable letter each time.

# %%
percent = {"low": 0, "high": 100, "unit": "%", "near": 12}
writes = predict("In what share of the questions does your v4 write the whole right name?", **percent)
writes

# %% tags=["answer", "nbval-ignore-output"]
study, arm = results.load_results("names"), "v4, plain-tales, 450 steps"
ours = {key: study[key][arm] for key in ("accuracy", "whole", "without")}
for ask, name in zip(questions[:4], metrics.greedy_answers(models["v4"], tokenizer, questions), strict=False):
    print(f"{ask.prompt.strip():45} {ask.answer:6} v4: {name}")
right = metrics.role_accuracy(models["v4"], tokenizer, questions)
written = metrics.whole_answer_accuracy(models["v4"], tokenizer, questions)
print("right name more probable:", paired.beside(right, ours["accuracy"], "%"))
print("right name written:", paired.beside(written, ours["whole"], "%"))
writes.compare(100 * written)

# %% [markdown]
# The first letter is often right, and the second letter is often wrong. The last two lines count all 400 questions. In 17 of 20 stored runs the right name is more probable in over 90% of the questions. But no stored run writes more than 35% of the names. So v4 knows the first letter and guesses the second. After 1800 steps most seeds write most names ([results](../docs/results.md)).
#
# ## Which head does v4 need?
#
# To know the first letter, v4 must look back at the name. Which head does this? We silence one head and count the right answers again. This is an [ablation](../docs/glossary.md#ablation). A silent head returns zeros. Training never showed such zeros, so *any* silent head may disturb a model. So we need a **control**: we also silence the other heads of the same layer.

# %%
heads = ["the head that looks most at the right name", "another head"]
needed_guess = predict("We silence one head at a time. Which head costs the most right answers?", heads)
needed_guess

# %% tags=["answer", "nbval-ignore-output"]
on_right = np.zeros((shape.n_layer, shape.n_head))
for ask in questions[:100]:
    weights = metrics.attention_weights(models["v4"], tokenizer.encode(ask.prompt))[:, :, -1]  # (L, H, T)
    at = ask.prompt.index(ask.answer)
    on_right += weights[:, :, at : at + len(ask.answer)].sum(axis=-1) / 100
without = metrics.ablate_heads(models["v4"], lambda m: metrics.role_accuracy(m, tokenizer, questions[:200]))
rows = [
    (f"layer {i + 1}, head {j + 1}", f"{on_right[i, j]:.0%}", f"{without[i, j]:.0%}")
    for i, j in np.ndindex(without.shape)
]
display(Table(("head", "weight on the right name", "right answers without it"), rows, stable=1))
needed_guess.compare(heads[int(without.argmin() != on_right.argmax())])


# %% tags=["answer", "nbval-ignore-output"]
def needed_and_control(without):
    """Right answers without the most needed head, and without the next worst head of its layer."""
    layer, head = np.unravel_index(without.argmin(), without.shape)
    return without[layer, head], np.delete(without[layer], head).min()


known = [np.array(x) for x, share in zip(ours["without"], ours["accuracy"], strict=True) if share > 0.9]
needed, control = zip(*map(needed_and_control, known), strict=True)
mine = needed_and_control(without)
print("without the head that is needed most:", paired.beside(mine[0], needed, "%"))
print("without the next worst of its layer: ", paired.beside(mine[1], control, "%"))

# %% [markdown]
# The table has one row for each head. Its second column is the weight of the right name, seen from the space after the question. The last column counts right answers to 200 questions while the head is silent. The head with the highest weight need not be the head that costs most. If two heads look at the name, one of them may be enough.
#
# Compare the two lines below the table. In the 17 stored runs that know the first letter, v4 gives 46 to 84% right answers without the head that it needs most. We also silenced the other heads of this layer, one at a time. Then v4 still gives at least 88%. So v4 needs this head, and not just any head. It needs one in each layer: of eleven seeds that answer, all have a head of layer 1 that costs at least 10 points, and ten have one of layer 2.
#
# **Weights show where a head looks. An ablation with its control shows whether the model needs the head.**
#
# ## A text longer than the window
#
# v4 was trained on windows of 64 letters. We test stored models on texts of 256. Each model predicts the same letters twice. The first time it sees only the 64 letters before the predicted letter. The second time it sees all letters before it.

# %%
shown = {"v3": "v3 (sinusoid)", "v4": "v4 (RoPE)", "alibi": "ALiBi"}
longer_guess = predict("Whose loss rises least when it sees more than 64 letters?", [*shown.values()])
longer_guess

# %% tags=["answer"]
board = results.load_results("ladder")["board"]
past = {name: board[name]["past"] for name in shown}
means = {name: np.mean(seeds) for name, seeds in past.items()}
fig, ax = plt.subplots(figsize=(8, 2.6))
title = "A longer text costs v3 {v3:.2f} nats, v4 {v4:.2f} and ALiBi {alibi:.2f} (means)".format(**means)
label = "change of the loss (nats per character)"
seed_plots.draw_seed_dots(ax, {shown[name]: past[name] for name in past}, title, label, {"no change": 0})
plt.show()
longer_guess.compare(shown[min(means, key=means.get)])

# %% [markdown]
# Each dot is one of twelve seeds, trained for 600 steps. Look at v4 first. Its loss rises by 0.46 nats on average. A longer text has distances that v4 never met in training. It also has more tokens, and we did not test which of these two causes raises the loss. ***Relative* does not mean *unlimited*.** The loss of v3 rises more, because the positions from 64 on are new to v3. The loss of ALiBi rises least. [Lesson 10](10_beyond_the_window.ipynb) shows how models with RoPE read longer texts.
#
# ## RoPE in other code
#
# You have now met all parts of a small GPT. [`babygpt/minimal.py`](../babygpt/minimal.py) holds them in one file of about 300 lines, from a text to a trained v4 that writes a story, and a test holds its losses to those of the package.
#
# **Two layouts.** This course pairs channels 0 and 1, 2 and 3, and so on: *interleaved*. Much other code, such as Hugging Face's Transformers, pairs channel $i$ with $i + D/2$: *half-split*. Weights fit only the layout in which they were trained. To convert them, we reorder the rows of the matrices $W_q$ and $W_k$, which make queries and keys.
#
# Never mix the layouts. In a head of 24 channels, half-split code computes one angle for channels 0 and 12, and another for channels 1 and 13. Now let a program treat channels 0 and 1 as a pair, but keep these angles. Then the two channels of this pair have different angles. So vectors change their length, and scores depend on absolute positions.
#
# **Positions in a cache.** While a model writes, it keeps the rotated keys in a [cache](../docs/glossary.md#cache). So a new token needs its position in the whole text. With position 0 for each new token, all distances would be wrong.
#
# The panel tests three [promises](../docs/glossary.md#promise) of your v4. The last promise is about the cache.

# %% tags=["nbval-ignore-output"]
v4 = models["v4"]
about_v4 = [
    invariants.norm_preserved(v4.encoding, head_dim=24),
    invariants.shift_invariant(v4.encoding, head_dim=24),
    invariants.cache_equals_full(v4, corpus.val[:48]),
]
assert all(promise.holds for promise in about_v4)
invariants.promises(about_v4)

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run your cell, then run the check. In a new cell, `rope.HALF_SPLIT.hint()` gives one hint at a time, and `.solution()` shows a solution.

# %%
rope.HALF_SPLIT


# %%
def half_split(x, positions, theta=10_000.0):
    """Rotate channel i with channel i + D/2 by positions · theta^(−2i/D): (B, H, T, D) -> the same."""
    return x


# %%
rope.HALF_SPLIT.check(half_split)

# %%
rope.HALF_SPLIT.draw(half_split)

# %%
rope.LAYOUTS


# %%
def interleave_rows(weight, head_dim):
    """Order the rows of W_q or W_k, (heads · head_dim, C), so that half-split pairs become neighbours."""
    return weight


# %%
rope.LAYOUTS.check(interleave_rows)

# %%
rope.RELATIVE


# %%
def is_relative(score, head_dim):
    """Whether score(q, k, m, n), of q (head_dim,) at m and k at n, depends on q, k and m − n only."""
    return True


# %%
rope.RELATIVE.check(is_relative)

# %%
rope.ABLATION


# %%
def controlled_effect(model, score, layer, head):
    """How much lower the score is without this head than without a random other head of its layer."""
    return 0.0


# %%
rope.ABLATION.check(controlled_effect)

# %% [markdown]
# ## Recap
#
# 1. RoPE rotates queries and keys by angles that grow with their positions. Then the score of a query and a key depends only on their distance.
# 2. RoPE does not make far tokens count less. Its score need not fall with distance.
# 3. v4 does not notice if a text is moved. But training fits v4 to its angles, and a new θ makes the loss leap: θ = 10 costs 0.063 nats if it comes halfway, and 0.025 from the start.
# 4. After 450 steps, 17 of 20 seeds of v4 know the first letter of the name, and no seed writes more than 35% of the names. A model needs a head if silencing this head costs more than silencing the other heads of its layer.
# 5. In a text longer than its window, the loss of v4 rises. ALiBi's loss rises less, and v3's loss rises more (twelve seeds, 600 steps, 2 layers of 96).

# %% [markdown]
# ## Self-test
#
# **1.** A query at 7 and a key at 3 score 1.5 under RoPE. Where do they score 1.5 for certain?
#
# - a) query at 3, key at 7
# - b) query at 104, key at 100
# - c) in both cases
#
# <details><summary>Answer</summary>
#
# **b.** The score depends on $m - n$, which is 4 again. *c* is tempting, but in *a* the difference is −4.
#
# </details>
#
# **2.** Can a head with RoPE give most of its weight to tokens 20 to 30 positions back?
#
# - a) no, RoPE's scores fall with distance
# - b) yes, it can learn queries and keys for this
# - c) only with a larger θ
#
# <details><summary>Answer</summary>
#
# **b.** We turned a query 31 steps back, and its score was highest there. *a* is tempting, but it is true only of q = k.
#
# </details>
#
# **3.** Your code pairs neighbours, and your weights were trained half-split. What do you reorder?
#
# - a) nothing
# - b) the columns of $W_q$ and $W_k$
# - c) the rows of $W_q$ and $W_k$ in each head
#
# <details><summary>Answer</summary>
#
# **c.** Each row makes one channel of q or k. *b* is tempting, but a column belongs to an *input* channel.
#
# </details>
#
# **4.** 96% of the answers are right, and 85% without some head. What is missing before you say that this head is needed?
#
# - a) nothing
# - b) the share of right answers without other heads of its layer
# - c) a picture of where it looks
#
# <details><summary>Answer</summary>
#
# **b.** If other heads cost as much, this head is not special. *c* is tempting, but a picture does not show what a model needs.
#
# </details>
#
# **5.** v4 was trained on windows of 64. It reads 60 tokens numbered from 1000, and then 256 tokens numbered from 0. What happens to its loss?
#
# - a) it rises both times
# - b) it stays both times
# - c) it stays, and then it rises
#
# <details><summary>Answer</summary>
#
# **c.** Only the second text is longer than those of training. *b* is tempting, but *relative* does not mean *unlimited*.
#
# </details>

# %% [markdown]
# ## What the source notes say
#
# Note 001 starts from RoPE. Its code mixes the two layouts. [Lesson 05](05_gaussian_rope.ipynb) measures its claims and repairs the code.

# %% [markdown]
# ## Further reading
#
# - [Su et al. 2021](https://arxiv.org/abs/2104.09864): RoPE, derived in section 3.2 from the question of this lesson.
# - [Barbero et al. 2024](https://arxiv.org/abs/2410.06205): no decay, and what slow pairs do.
# - [Press et al. 2022](https://arxiv.org/abs/2108.12409): ALiBi.
# - [Michel et al. 2019](https://arxiv.org/abs/1905.10650): silencing heads.

# %% [markdown]
# ## What comes next
#
# RoPE does not make near tokens count more, and ALiBi does. Source note 001 multiplies RoPE by a curve. You choose the width of the curve. → [05 · Gaussian RoPE](05_gaussian_rope.ipynb)
