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
# *The way, page 4 of 8. Left to read: about 3 hours.*
#
# *The second word before me* means the same on page 1 and on page 100. So the [score](../docs/glossary.md#score) of a [query](../docs/glossary.md#query) and a [key](../docs/glossary.md#key) should depend on how far apart they stand, and not on where. The model v3 ([03b](03b_sinusoidal.ipynb)) adds a code to each token, so that its scores depend on letters, positions and distances at once. RoPE adds nothing: it *rotates* queries and keys by angles that grow with their positions. **v4** uses it, and so do many large models.
#
# In our case v4 knows who did it and cannot spell the name, and one explanation is that *its positions do not tell neighbours apart*. You will be able to
#
# 1. rotate a query and a key by hand, and say what their score depends on,
# 2. choose rotations that tell all distances of a window apart,
# 3. test whether an encoding makes far tokens count less.
#
# **Needs:** what `make lab` has installed, and no network; you know lessons 00, 03a and 03b. **Takes:** about 60 seconds to run on two cores, and by our estimate 48 minutes to read and guess. The exercises take about 28 minutes.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import babygpt_live as live
from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, load_corpus, metrics
from babygpt.data import batches
from babygpt.encodings.base import norm
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies
from babygpt.experiments import paired
from babygpt.models.transformer import score_scale
from babygpt.tables import Table
from babygpt_course import explorers
from babygpt_course.exercises import lesson_04a
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import results
from babygpt_course.tools import valley

# %%
explorers.rotary()

# %% [markdown]
# Drag <span class="light-text">the blue query</span>: the orange key follows, both pointers of <span class="light-clock">the clock</span> turn, and the angle between them stays the same. <span class="light-later">The second clock</span> shows the two tokens 37 positions later, again with this angle.
#
# So the angle depends only on the distance, but does it also tell the distance? The distance is 3 at first: drag the key alone, and find another distance at which the clock looks the same. <span class="light-alike">The curve</span> shows for each distance how much its angle differs from the present one. Below the dashed line the two angles differ by less than 10°, which is hard to see.
#
# ## Rotate one pair
#
# RoPE groups the [channels](../docs/glossary.md#channel) of a vector into pairs, and each pair $(a, b)$ is a point in the plane, which 03b rotated with a matrix of sines and cosines. We write the pair as one number $a + bi$. You need only one fact about such *complex numbers*: with the rule $i^2 = -1$ they are multiplied like any others, and multiplying by $e^{i\varphi} = \cos\varphi + i\sin\varphi$ rotates the point by the angle $\varphi$. Multiplying by $i$ makes a quarter turn.
#
# The dot product of two pairs is the real part of $q\,\overline{k}$, where $\overline{k}$ is $k$ with the sign of $b$ changed. We take $q = 2 + i$ and $k = 2i$, whose score is $2\cdot 0 + 1\cdot 2 = 2$ without a rotation. Now each pair makes a quarter turn for each position, so the query at position $m$ becomes $q\,i^m$, and the key at position $n$ becomes $k\,i^n$.

# %%
kinds = ["4 again", "the opposite, −4", "some other number"]
swapped = predict(
    "With the query at 2 and the key at 1 the score is 4. What is it with the query at 1 and the key at 2?",
    kinds,
)
swapped

# %% tags=["answer"]
query, key, score = 2 + 1j, 0 + 2j, {}  # Python writes 1j for i
for m, n in ((2, 1), (12, 11), (1, 2)):
    score[m] = ((query * 1j**m) * (key * 1j**n).conjugate()).real
    print(f"query at {m}, key at {n}: score {score[m]:.0f}")
swapped.compare(kinds[{4: 0, -4: 1}.get(score[1], 2)])

# %% [markdown]
# Moving both tokens from 2 and 1 to 12 and 11 changes nothing, because both are turned further by the same angle. In the third line the key stands *after* the query, a quarter turn to the other side. So it is half a turn away from the first line, which changes the sign of the score. For any angle $\omega$ in place of the quarter turn, one line shows why only the distance $m - n$ counts, with its sign:
#
# $$\operatorname{Re}\big(q\,e^{im\omega}\;\overline{k\,e^{in\omega}}\big) = \operatorname{Re}\big(q\,\overline{k}\;e^{i(m-n)\omega}\big).$$
#
# The bar changes the sign of the key's angle. **RoPE rotates each query and key by its own position, and the score of given vectors depends only on their distance.**
#
# ## Many pairs, many speeds
#
# The pair that you moved shows 3 and 23 alike, since it makes a full turn in 20 tokens. RoPE has pairs of many speeds, which we call its *hands*. A head with $D$ channels has $D/2$ of them. Pair number $p$, counted from 0, turns by
#
# $$\omega_p = \theta^{-2p/D}\quad\text{radians a token},\qquad \theta = 10000,$$
#
# as in the [frequencies](../docs/glossary.md#frequency) of 03b. The explorer has 32 channels and so 16 hands, of which the quickest turns once in 6 tokens and the slowest once in 35,000.

# %%
which = {"the quickest": 0, "the fourth": 3, "the ninth": 8, "the slowest": 15}
one_hand = predict(
    "Which hand alone shows the fewest pairs of distances, from 0 to 64, alike within 10°?", [*which]
)
one_hand

# %% tags=["answer"]
turned = np.degrees(np.arange(1, 65)[:, None] * frequencies(32).numpy()) % 360  # (64, 16)
alike = np.minimum(turned, 360 - turned) <= 10  # distances that differ by 1, 2, ... 64
alike = (alike * np.arange(64, 0, -1)[:, None]).sum(axis=0)  # pairs of distances, for each hand
print("pairs of distances that look alike:", *alike)
one_hand.compare(min(which, key=lambda name: alike[which[name]]))

# %% [markdown]
# The fourth hand shows the fewest pairs of distances alike, but every hand shows some. A quick hand comes round again, so that distances a full turn apart look alike. A slow hand does not, but it moves so little that neighbours look alike. With our limit of 10° no hand escapes both, so we add a second one. Here is the explorer with two hands: at 23, where the first hand points as it does at 3, the second one is far off.

# %%
explorers.rotary(n_hands=2)

# %% [markdown]
# The line below the curve counts all distances from 0 to 64, and finds no two that both hands show alike, because the two come round at different times. So the angles of RoPE do tell neighbouring tokens apart: the quickest hand turns by 57° from one to the next.
#
# ## Write it yourself
#
# Code has no need of complex numbers, because rotating a pair by $\varphi$ takes $(a, b)$ to $(a\cos\varphi - b\sin\varphi,\ a\sin\varphi + b\cos\varphi)$. Write this for all pairs at once. If you would rather read on, leave the cell as it is, and the next cells use our function.

# %%
lesson_04a.ROTATION


# %%
def rotate_real(x, positions, theta=10_000.0):
    """Rotate channels 2i and 2i + 1 by positions · theta^(−2i/D): (B, H, T, D) -> the same."""
    return x


# %%
lesson_04a.ROTATION.check(rotate_real)

# %%
rotation = lesson_04a.ROTATION.use(rotate_real)

# %% [markdown]
# One random query and one random key now stand at each of 48 positions. A row of the picture is a position of the query, a column a position of the key.

# %%
torch.manual_seed(6)
places = torch.arange(48)
q, k = torch.randn(2, 1, 1, 1, 24, dtype=torch.float64).expand(2, 1, 1, 48, 24)  # one of each, 48 times
assert torch.allclose(rotation(q, places), rotate(q, places), atol=1e-4)  # the package's
scores = (rotation(q, places) @ rotation(k, places).mT)[0, 0]  # (48, 48)
assert torch.allclose(scores[1:, 1:], scores[:-1, :-1], atol=1e-3)  # one step along the diagonal
fig, ax = plt.subplots(figsize=(5.6, 4.6))
title = "One query and one key: scores are equal along every diagonal"
axes = ("position of the key n", "position of the query m")
live.draw_matrix(ax, scores.numpy(), title, *axes, diverging=True)
plt.show()

# %% [markdown]
# All pairs of positions with one distance lie on a diagonal, and each diagonal has one colour.
#
# ## Do far tokens count less?
#
# RoPE's authors write that it makes far tokens count less. If every key *equals* the query, this is roughly true: each pair adds a cosine to the score, and all cosines are 1 at distance 0, whereas they disagree farther away. But in a model queries and keys differ. So we draw 4,000 queries at random, each with a key at every distance from 0 to 63, all as long as in v4. How much of its attention does a query give to each distance, on average? For comparison we take *ALiBi*, which rotates nothing and subtracts from each score a number that grows with the distance.

# %%
falls = ["it falls", "it falls at first, and then wobbles", "it stays the same", "it rises"]
decay = predict("What happens to the mean attention under RoPE as the distance grows?", falls)
decay


# %% tags=["answer"]
@torch.no_grad()
def mean_attention(version, q, k):
    """Mean attention from position 63 to each distance, with the encoding of a version: (64,)."""
    shape = ModelConfig(vocab_size=30, block_size=64, n_layer=1, n_head=4, n_embd=96)
    encoding, places = build(version, shape).encoding, Positions(torch.arange(64))
    q, k = encoding.transform_qk(q, k, places)
    scores, bias = score_scale(q) * q[:, :, -1:] @ k.mT, encoding.score_bias(places, places)
    scores = scores if bias is None else scores + bias[:, -1:]  # (N, 4, 1, 64)
    return scores.softmax(dim=-1).mean(dim=(0, 1, 2)).flip(0).numpy()


# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(0)
q, k = norm(torch.randn(2, 1000, 4, 64, 24))  # (N, H, T, D) each
equal = q[:, :, -1:].expand_as(k)
attention = {"RoPE": mean_attention("v4", q, k), "ALiBi": mean_attention("alibi", q, k)}
attention["RoPE, keys equal to the query"] = mean_attention("v4", q, equal)
fig, ax = plt.subplots(figsize=(8, 4))
title = "A key 60 tokens back gets {:.1%} of the attention under RoPE, and {:.1%} under ALiBi"
title = title.format(*(attention[name][60] for name in ("RoPE", "ALiBi")))
shares = {name: 100 * share for name, share in attention.items()}
live.draw_curves(ax, np.arange(64), shares, title, "distance (tokens)", "mean attention (%)")
ax.set_yscale("log")
ax.set_yticks([0.1, 1, 10], ["0.1", "1", "10"])
plt.show()
near, far = attention["RoPE"][:8].mean(), attention["RoPE"][-8:].mean()
decay.compare(falls[2 if 0.8 < far / near < 1.25 else 3 if far > near else 0])

# %% [markdown]
# With random keys RoPE's curve is flat. It is flat by construction, because a rotated random vector is still a random vector, so this says nothing about trained queries and keys. But the measure can fall: under ALiBi far keys get a tenth of what near ones get. And with keys equal to the query RoPE's own curve falls and wobbles, as its authors say.
#
# **RoPE by itself does not make far tokens count less.** What a head prefers depends on its queries and keys, which are learned: in 03b, queries turned one step back preferred the letter right before. [Barbero et al. 2024](https://arxiv.org/abs/2410.06205) make this point with proofs, and for a large model.
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
    explorers.heads(tokenizer, questions[0].prompt.strip("\n"), answer=questions[0].answer),
]
models, runs = {}, {}
for version in ("v3", "v4"):
    torch.manual_seed(1337)
    models[version] = build(version, shape)
    runs[version] = live.train(models[version], objective, recipe, version, floor, watches)

# %% [markdown]
# The dashed line is at 0.47 nats, which even the best reader of lesson 00 loses in these windows. Both models met windows at the positions 0 to 63 only, and now we move the same text to position 256.

# %% tags=["nbval-ignore-output"]
for run in runs.values():
    run.result()  # waits for the end

# %%
sides = ["v3 alone", "v4 alone", "both", "neither"]
drag_guess = predict("Which model loses more than 0.5 nats more at 256 than at 0?", sides)
drag_guess

# %% tags=["answer", "nbval-ignore-output"]
windows = batches.cut(corpus.val, torch.linspace(0, len(corpus.val) - 65, 16).long(), 65)
dragged = valley(results.load_results("controls"), models, windows)
dragged.first = 256
display(dragged)
live_losses = dragged.measure(256)["live"]
worse = [name for name, (_, losses) in live_losses.items() if losses[-1] > losses[0] + 0.5]
drag_guess.compare(f"{worse[0]} alone" if len(worse) == 1 else "both" if worse else "neither")

# %% [markdown]
# The text stands at 256; drag it back to 0. Your v4 loses the same everywhere by construction, so its curve tests our program and not the model. Your v3 could have come out otherwise, and it fails at codes that it never met. So do the stored seeds of v3. The rings are twelve seeds of v4 that met position 0 alone. (They lie below 0.47 nats because their windows begin with a story.) The dots are twelve seeds of v3 that met 0 and 128, where the line stands.
#
# ## Does it spell?
#
# v4 can tell neighbouring letters apart, and it reads a text alike wherever it stands. Does it write the names better than v3, which only adds a code?

# %% tags=["nbval-ignore-output"]
heading, rows = ("", "right name more probable", "right name written"), []
for version, model in models.items():
    right = metrics.role_accuracy(model, tokenizer, questions)
    written = metrics.whole_answer_accuracy(model, tokenizer, questions)
    rows.append((version, f"{right:.0%}", f"{written:.0%}"))
display(Table(heading, rows, stable=1))
print("v4 writes:", paired.beside(written, results.load_results("heads")["whole"], "%"))

# %% [markdown]
# In our run both models nearly always find the right name more probable, and both write less than a third of the names. After as many steps twelve stored seeds of v4 write 1 to 28% of them. For v3 no seeds are stored at this step, and one run of each cannot say which of the two spells better. But after 450 steps RoPE alone does not mend the spelling.
#
# ## The case
#
# This lesson decides one half of *its positions do not tell neighbours apart*: for the encoding it is out, because RoPE's angles tell them. Whether a trained head makes use of these angles is another question, for which we have to look inside. *It recalls the vowel only in part* is a matter of side trip 01. Untested on the way so far are *it does not look at the name*, *the vowel is too far away*, *it needs more steps*, *it has a bug* and *its encoding makes it late*.

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run your cell, then run the check. In a new cell, `lesson_04a.HALF_SPLIT.hint()` gives one hint at a time, and `.solution()` shows a solution. The first exercise stands above.

# %%
lesson_04a.HALF_SPLIT


# %%
def half_split(x, positions, theta=10_000.0):
    """Rotate channel i with channel i + D/2 by positions · theta^(−2i/D): (B, H, T, D) -> the same."""
    return x


# %%
lesson_04a.HALF_SPLIT.check(half_split)

# %%
lesson_04a.HALF_SPLIT.draw(half_split)

# %%
lesson_04a.LAYOUTS


# %%
def interleave_rows(weight, head_dim):
    """Order the rows of W_q or W_k, (heads · head_dim, C), so that half-split pairs become neighbours."""
    return weight


# %%
lesson_04a.LAYOUTS.check(interleave_rows)

# %% [markdown]
# ## Recap
#
# 1. RoPE rotates queries and keys by angles that grow with their positions, so that the score of given vectors depends only on their distance.
# 2. A single hand shows some distances alike. Two suitable hands tell all distances of a window apart.
# 3. RoPE by itself does not make far tokens count less: with random queries and keys every distance gets the same attention, by construction.
# 4. By construction v4 loses the same wherever a text stands, whereas v3 fails at positions that it never met. Both write few names after 450 steps.

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
#
# **4.** With random queries and keys RoPE gives every distance the same mean attention. What follows for the trained heads of v4?
#
# - a) they look equally far at all distances
# - b) nothing, because their queries and keys are not random
# - c) they cannot prefer near tokens
#
# <details><summary>Answer</summary>
#
# **b.** For random vectors the curve is flat by construction. Learned queries may prefer any distance, so neither *a* nor *c* follows.
#
# </details>
#
# **5.** v4 loses the same at position 0 and at 256. Why?
#
# - a) moving a text changes no distance in it, and so no score of given vectors
# - b) v4 has met the positions up to 256
# - c) v4 makes no use of its rotation
#
# <details><summary>Answer</summary>
#
# **a.** v4 met the positions 0 to 63 only, so *b* is wrong. Moving a text does not test *c*.
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
# - [Barbero et al. 2024](https://arxiv.org/abs/2410.06205): why this is not what makes RoPE useful, and what Gemma 7B does with its quick and slow pairs.
# - [You could have designed state of the art positional encoding](https://huggingface.co/blog/designing-positional-encoding): from whole numbers to RoPE in small steps.

# %% [markdown]
# ## What comes next
#
# RoPE can tell neighbours apart, but does v4 make use of it when it writes a name? We switch its heads off, one after another. → [04b · Which heads?](04b_which_heads.ipynb)
