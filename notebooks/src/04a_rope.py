# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04a · RoPE
#
# **Can an attention score depend only on distance?**
#
# *The second word before me* means the same on page 1 and on page 100. So the [score](../docs/glossary.md#score) of a [query](../docs/glossary.md#query) and a [key](../docs/glossary.md#key) should depend on how far apart they stand, and not on where. The model v3 ([03b](03b_sinusoidal.ipynb)) adds a code to each token, so its scores depend on letters, positions and distances at once. RoPE adds nothing: it *rotates* queries and keys by angles that grow with their positions. **v4** uses it, and so do many large models. Our case is that v4 knows who did it and cannot spell the name. Here we test two explanations: *its positions do not tell neighbours apart*, and *it does not look at the name*. You will be able to
#
# 1. rotate a query and a key by hand, and say what their score depends on,
# 2. choose rotations that tell all distances of a window apart,
# 3. test whether an encoding makes far tokens count less,
# 4. find the heads that a model needs, with controls, and test what a head tells the others.
#
# **Needs:** what `make lab` has installed, and no network; you have met complex numbers. **Takes:** about 60 seconds to run on two cores, and by our estimate 65 minutes to read and guess. The exercises take about 20 minutes, and those marked *stretch* take 15 more.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import babygpt_live as live
from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus, metrics
from babygpt.data import batches
from babygpt.encodings.rotary import rotate, rotate_pairs
from babygpt.encodings.sinusoidal import frequencies
from babygpt.experiments import paired
from babygpt.models.transformer import norm
from babygpt.tables import Table
from babygpt_course import explorers
from babygpt_course.exercises import lesson_04a as rope
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import needed_heads, results
from babygpt_course.tools import asked, switchboard, valley

# %%
live.set_style()
explorers.rotary()

# %% [markdown]
# Drag <span class="light-text">the blue query</span>: the orange key follows, both pointers of <span class="light-clock">the clock</span> turn, and the angle between them stays the same. <span class="light-later">The second clock</span> shows the two tokens 37 positions later, again with this angle. So the angle depends only on the distance, but does it also tell the distance? The distance is 3 at first: drag the key alone, and find another distance at which the clock looks the same. <span class="light-alike">The curve</span> shows for each distance how much its angle differs from the present one. Below the dashed line the two angles differ by less than 10°, which is hard to see.
#
# ## Rotate one pair
#
# RoPE groups the [channels](../docs/glossary.md#channel) of a vector into pairs. A pair $(a, b)$ is a point in the plane, which we write as the complex number $a + bi$. Multiplying it by $e^{i\varphi}$ rotates it by the angle $\varphi$, and multiplying it by $i$ makes a quarter turn. The dot product of two pairs $q$ and $k$ is $\operatorname{Re}(q\,\overline{k})$, where $\overline{k}$ has the opposite imaginary part.
#
# We take $q = 2 + i$ and $k = 2i$, whose score is $2\cdot 0 + 1\cdot 2 = 2$ without a rotation. Now each pair makes a quarter turn for each position, so the query at position $m$ becomes $q\,i^m$, and the key at position $n$ becomes $k\,i^n$.

# %%
kinds = ["the same score, 4", "the opposite score, −4", "some other score"]
swapped = predict(
    "With the query at 2 and the key at 1 the score is 4. What is it with the query at 1 and the key at 2?",
    kinds,
)
swapped

# %% tags=["answer"]
query, key = 2 + 1j, 0 + 2j  # Python writes 1j for i
found = {}
for m, n in ((2, 1), (12, 11), (1, 2)):
    found[m] = ((query * 1j**m) * (key * 1j**n).conjugate()).real
    print(f"query at {m}, key at {n}: score {found[m]:.0f}")
swapped.compare(kinds[{4: 0, -4: 1}.get(found[1], 2)])

# %% [markdown]
# Moving both tokens changes nothing, because both are turned further by the same angle. In the third line the key stands *after* the query, a quarter turn to the other side. From the first line this differs by half a turn, which changes the sign of the score. For any angle $\omega$ in place of the quarter turn, one line shows why only the distance counts:
#
# $$\operatorname{Re}\big(q\,e^{im\omega}\;\overline{k\,e^{in\omega}}\big) = \operatorname{Re}\big(q\,\overline{k}\;e^{i(m-n)\omega}\big).$$
#
# The bar changes the sign of the key's angle. **RoPE rotates each query and key by its own position, and the score depends only on their distance.**
#
# ## Many pairs, many speeds
#
# The pair that you moved shows 3 and 23 alike, since it makes a full turn in 20 tokens. RoPE has pairs of many speeds, which we call its *hands*. A head with $D$ channels has $D/2$ of them. From here on $i$ is no longer the imaginary unit but numbers the pairs from 0, and pair $i$ turns by
#
# $$\omega_i = \theta^{-2i/D}\quad\text{radians a token},\qquad \theta = 10000,$$
#
# as in the [frequencies](../docs/glossary.md#frequency) of 03b. The explorer has 32 channels and so 16 hands, of which the quickest turns once in 6 tokens and the slowest once in 35,000.

# %%
which = ["the quickest", "one in the middle", "the slowest", "none of the 16"]
one_hand = predict("Which hand alone tells all distances from 0 to 64 apart, by more than 10°?", which)
one_hand

# %% tags=["answer"]
turned = np.degrees(np.arange(1, 65)[:, None] * frequencies(32).numpy()) % 360  # (64, 16)
alike = np.minimum(turned, 360 - turned) <= 10  # distances that differ by 1, 2, ... 64
alike = (alike * np.arange(64, 0, -1)[:, None]).sum(axis=0)  # pairs of distances, for each hand
print("pairs of distances that look alike:", *alike)
one_hand.compare(which[3 if alike.all() else min(int(alike.argmin()), 2)])

# %% [markdown]
# A quick hand comes round again, so that distances a full turn apart look alike. A slow hand does not, but it moves so little that neighbours look alike. No hand escapes both, so RoPE needs several. In a running notebook, add a second hand in the explorer, and try other first hands.

# %%
explorers.rotary()


# %% [markdown]
# Two hands $i$ and $i + 1$ are enough if the first is one of the four quickest ($i \le 3$): then no two of the 65 distances look alike. Such hands come round at different times. So the angles of RoPE do tell neighbouring tokens apart: the quickest hand turns by 57° from one to the next.
#
# The next cells write the same rotation in real numbers. They draw the scores of one random query and one random key, each at 48 positions.

# %%
def rotate_real(x, position, theta=10_000.0):
    """RoPE as in the formula: (..., T, D) -> (..., T, D)."""
    D = x.shape[-1]
    omega = theta ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)  # (D / 2,)
    cos, sin = (position[:, None] * omega).cos(), (position[:, None] * omega).sin()  # (T, D / 2)
    a, b = x[..., 0::2], x[..., 1::2]  # (..., T, D / 2)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


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
live.draw_matrix(ax, scores.numpy(), title, *axes, diverging=True)
plt.show()

# %% [markdown]
# ## Do far tokens count less?
#
# RoPE's authors write that it makes far tokens count less. If the query *equals* the key, this is roughly true: each pair adds a cosine to the score, and all cosines are 1 at distance 0. Farther away they disagree, so the score falls at first and then wobbles. But queries and keys of a model differ, so we draw 10,000 pairs of them at random.
#
# Their mean score is about 0 at every distance, because large scores of both signs cancel. But a head prefers one token to another only if their scores *differ*. So we measure how widely the scores spread at each distance, by their standard deviation. To see that this measure would notice a fall, we also damp the same scores by $e^{-(d/8)^2}$, as a *control*.

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
damped = scores * torch.from_numpy(np.exp(-((distance / 8) ** 2)))[:, None]
spread["damped (control)"] = damped.std(dim=1).numpy()
fig, ax = plt.subplots(figsize=(8, 4))
title = "At distance 31 RoPE's scores spread by {:.2f}, damped ones by {:.2f}"
title = title.format(*(values[31] for values in spread.values()))
live.draw_curves(ax, distance, spread, title, "distance (tokens)", "spread of the scores q · k / √24")
plt.show()
ends = spread["RoPE"][[0, 63]]
decay.compare(falls[2 if abs(ends[1] - ends[0]) < 0.1 else 3 if ends[1] > ends[0] else 0])

# %% [markdown]
# A rotated random vector is still a random vector, so by construction the scores spread as widely at distance 60 as at distance 0, whereas the control's falls within a few tokens. **RoPE by itself does not make far tokens count less.** What a head prefers depends on its queries and keys, which are learned. In 03b a query that was turned 31 steps back preferred the token 31 back.
#
# ## Train v4 beside v3
#
# v3 adds its code to the tokens, v4 rotates queries and keys, and all else is equal. As in lesson 00, windows of the plain tales begin anywhere, so that a position tells nothing about the story.

# %%
corpus = load_corpus("plain-tales", n_chars=400_000)
tokenizer, questions = corpus.tokenizer, corpus.grammar.questions(400, seed=2, max_chars=64)
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
recipe = TrainConfig(steps=450, batch_size=12, lr_matrix=0.03, lr_other=0.02)
objective = NextToken(corpus, shape.block_size)
floor = {"best reader": results.load_results("ladder")["window_floor"]}
print(questions[0].prompt + questions[0].answer)

# %% tags=["nbval-ignore-output"]
watches = [
    explorers.roles(tokenizer, questions[:24]),
    explorers.heads(tokenizer, questions[0].prompt.strip("\n")),
]
models, runs = {}, {}
for version in ("v3", "v4"):
    torch.manual_seed(1337)
    models[version] = build(version, shape)
    runs[version] = live.train(models[version], objective, recipe, version, floor, watches)

# %% [markdown]
# The dashed line is at 0.47 nats, which even the best reader of lesson 00 loses in these windows.
#
# In 03b a v3 lost most at the positions that training had left out. v4's scores depend only on distances, so it should lose the same wherever a text stands. We drag a text along with the two models of this page, which met windows at 0 to 63 only.

# %% tags=["nbval-ignore-output"]
for run in runs.values():
    run.result()  # waits for the end
windows = batches.cut(corpus.val, torch.linspace(0, len(corpus.val) - 65, 16).long(), 65)
dragged = valley(results.load_results("controls"), models, windows)
dragged.first = 256
dragged

# %% [markdown]
# The text stands at 256; drag it back to 0. v4 loses the same everywhere, and so do twelve stored seeds of v4, the rings, which met position 0 alone. But v3 fails at codes that it never met. The rings lie below the best reader of our windows, because theirs begin with a story and are easier. The dots, and the line at 128, belong to stored seeds of v3 that met this position, too.
#
# ## The case
#
# *Its positions do not tell neighbours apart* is out as far as the encoding goes, because RoPE's angles do. But we have seen no head that makes use of it: averaged over all letters, no head of the eleven seeds gives the letter before more than 42% of its weight. When the first letter is due, a head reads the name, so there *it does not look at the name* is out. For the vowel, where we have not measured, it is open. Untested are *the vowel is too far away*, *the model is too small to copy*, *it needs more steps* and *it has a bug*.

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

# %% [markdown]
# ## Recap
#
# 1. RoPE rotates queries and keys by angles that grow with their positions, so that the score of given vectors depends only on their distance.
# 2. A single hand shows some distances alike. Two suitable hands tell all distances of a window apart.
# 3. RoPE by itself does not make far tokens count less.

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
# **b.** The difference $m - n$ is 4 again, but −4 in *a*.
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
# **b.** A query that is turned 25 steps back does this. *a* is roughly true only of q = k.
#
# </details>
#
# **3.** A hand that turns once in 12 tokens shows the distances 2 and 14 alike. Which second hand tells them apart?
#
# - a) one that turns once in 24 tokens
# - b) one that turns once in 6 tokens
# - c) one that turns once in 4 tokens
#
# <details><summary>Answer</summary>
#
# **a.** In 12 tokens it makes half a turn. Those of *b* and *c* also come round in 12 tokens.
#
# </details>

# %% [markdown]
# ## What the source notes say
#
# Note 001 starts from RoPE, and its code pairs the channels in two ways at once. [Lesson 05](05_gaussian_rope.ipynb) measures its claims and repairs the code.

# %% [markdown]
# ## Further reading
#
# - [Su et al. 2021](https://arxiv.org/abs/2104.09864): RoPE. Section 3.4.3 says that far tokens count less, which we tested.
# - [Barbero et al. 2024](https://arxiv.org/abs/2410.06205): the same point, proved.

# %% [markdown]
# ## What comes next
#
# Which heads does v4 need, and what do they tell each other? → [04b · Which heads?](04b_which_heads.ipynb)
