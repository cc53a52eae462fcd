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
# "The second word before me" means the same on page 1 and on page 100. In v3 ([03b](03b_sinusoidal.ipynb)) a [score](../docs/glossary.md#score) mixes distance, absolute positions and letters. RoPE rotates [queries](../docs/glossary.md#query) and [keys](../docs/glossary.md#key) by angles that grow with their position. Many large models use it, and so does **v4**. You will
#
# 1. derive the rotation from one wish, and check it by hand,
# 2. find out whether RoPE makes far tokens count less,
# 3. train v4 beside v3, and turn its angles while it learns,
# 4. test whether the model needs a head.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 60 seconds to run on two cores, about 35 minutes to read and guess; the exercises about 35 more, and 15 for those marked *stretch*.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, live, metrics, plots
from babygpt.data import batches, load_corpus
from babygpt.encodings.rotary import Rotary, rotate, rotate_pairs
from babygpt.encodings.sinusoidal import frequencies
from babygpt.models.transformer import norm
from babygpt.tables import Table, source
from babygpt_course.exercises import lesson_04 as rope
from babygpt_course.studies import paired, results, seed_plots

# %%
plots.set_style()
live.rotary()

# %% [markdown]
# Drag <span class="light-text">the blue query</span>. The orange key follows, and both hands of <span class="light-clock">the first clock</span> turn. <span class="light-later">The second clock</span> shows both tokens 37 positions later, with the same angle between them. Drag the key alone, and this angle changes.
#
# ## A wish
#
# A query $q$ stands at position $m$, and a key $k$ at position $n$. The encoding multiplies them by matrices $A_m$ and $A_n$, and the score is the dot product of the results. We wish that
#
# $$(A_m q)\cdot(A_n k)\quad\text{depends on } m - n \text{ only, for every } q \text{ and } k .$$
#
# We assume that the encoding *multiplies*, and that queries and keys *share* one matrix for each position. We also let position 0 change nothing: $A_0 = I$.
#
# The score is $q^\top A_m^\top A_n k$. The wish holds for every $q$ and $k$, so the matrix $A_m^\top A_n$ depends on $m - n$ only.
#
# - **Both at one position.** The distance is 0, as at position 0: $A_m^\top A_m = A_0^\top A_0 = I$. So $A_m$ keeps all lengths, and its inverse is $A_m^\top$.
# - **One step apart.** The distance is the same as from 0 to 1: $A_m^\top A_{m+1} = A_0^\top A_1 = A_1$. Multiplied by $A_m$ from the left, this says $A_{m+1} = A_m A_1$.
#
# So $A_m$ is **one length-preserving matrix $A_1$, applied $m$ times**. In two dimensions $A_1$ is a rotation by some angle $\omega$, or a reflection. A reflection applied twice changes nothing, so it only tells odd distances from even ones.
#
# For more dimensions there is a theorem. In a suitable basis, pairs of channels rotate, each pair at its own speed, and all other channels stay fixed or change sign. RoPE takes the rotating pairs.
#
# ## By hand, with complex numbers
#
# We write a pair of [channels](../docs/glossary.md#channel) $(a, b)$ as the complex number $a + bi$. Then the dot product of two pairs is $\operatorname{Re}(q\,\bar k)$, where $\bar k$ has the opposite imaginary part. Multiplying by $e^{i\varphi}$ rotates by the angle $\varphi$, and multiplying by $i$ is a quarter turn.
#
# Let $q = (2, 1)$ and $k = (0, 2)$. Their dot product is $2\cdot 0 + 1\cdot 2 = 2$. Python writes `1j` for $i$.

# %%
cases = ["all three", "the first two", "the last two", "no two"]
which_agree = live.predict(
    "Query and key turn by a quarter turn a token. The query stands at 2 and the key at 1, then they stand "
    "at 12 and 11, then at 1 and 2. Which of the three scores agree?",
    cases,
)
which_agree

# %% tags=["answer"]
query, key = 2 + 1j, 0 + 2j
pairs = (2, 1), (12, 11), (1, 2)
first, second, third = ((query * 1j**m * (key * 1j**n).conjugate()).real for m, n in pairs)
print(f"scores: {first:.0f}, {second:.0f}, {third:.0f}")
alike = first == second, second == third
which_agree.compare(cases[{(True, True): 0, (True, False): 1, (False, True): 2}.get(alike, 3)])


# %% [markdown]
# With the key one step *before* the query both scores are 4, and one step *after* it the score is −4. One line shows why positions do not matter:
#
# $$\operatorname{Re}\big(q\,e^{im\omega}\;\overline{k\,e^{in\omega}}\big) = \operatorname{Re}\big(q\,\bar k\;e^{i(m-n)\omega}\big).$$
#
# **RoPE rotates each query and key by its absolute position, and the score depends on the difference.**
#
# ## A head that finds the name
#
# *ada chased ben. who chased ben?* The blank after this question stands at 31, and the answer begins with the *a* at 0. We build a head with one pair that turns by 0.1 radians a token. Before the rotation, *a* and *b* have the key 1, and all other letters 0. The query of the blank is 5, turned back by 31 steps: $5\,e^{-3.1i}$. So an *a* or *b* at distance $d$ scores $5\cos\big(0.1\,(d - 31)\big)$.

# %%
def blank_scores(story, start=0):
    """Scores of the last blank with every letter; positions count from `start`: (T,)."""
    position = start + np.arange(len(story))
    keys = np.array([letter in "ab" for letter in story]) * np.exp(0.1j * position)
    query = 5 * np.exp(-3.1j) * np.exp(0.1j * position[-1])
    return torch.tensor((query * keys.conj()).real)


text = "ada chased ben. who chased ben? "
scores = blank_scores(text)
weights = scores.softmax(dim=0)
rows = [(f"{c} at {i}", f"{31 - i}", f"{scores[i]:.2f}", f"{weights[i]:.1%}") for i, c in enumerate(text)]
Table(("letter", "distance", "score", "weight"), [row for row in rows if row[0][0] in "ab"], stable=4)

# %% [markdown]
# The first letter scores 5, and the *b* at distance 20 scores $5\cos 1.1 = 2.27$. Their exponentials are 148 and 9.7, and all 32 sum to 380. So these letters get 39% and 2.5% of the attention. And the mirrored story?

# %%
for story in (text, "ben chased ada. who chased ada? "):
    for start in (0, 1000):
        weights = blank_scores(story, start).softmax(dim=0)
        share = {c: sum(w for w, letter in zip(weights, story, strict=True) if letter == c) for c in "ab"}
        print(f"{story} from {start:4}: a {share['a']:.1%}, b {share['b']:.1%}")


# %% [markdown]
# The right letter gets most attention, also from position 1000. Like the head of 03b, it works only for *who* and for this length. But one dot product combines content and distance.
#
# ## Many pairs, many speeds
#
# One pair repeats itself: with quarter turns, the distances 1 and 5 look alike. So RoPE uses many pairs. A head with $D$ channels, an even number, has $D/2$ pairs. From here on, $i$ is the number of a pair. Pair $i$ turns by
#
# $$\omega_i = \theta^{-2i/D}\quad\text{radians a token},\qquad \theta = 10000 .$$
#
# Su et al. 2021 took over the sinusoid's [frequencies](../docs/glossary.md#frequency). With the 24 channels of our heads, the quickest pair turns once in 6.3 tokens, and the slowest once in 29,000.
#
# Such a slow pair hardly turns within a text, so it compares content at any distance. A quick pair tells neighbours apart. [Partial RoPE](../docs/glossary.md#partial-rope) even leaves some channels unrotated. A larger [θ](../docs/glossary.md#theta), 500,000 in Llama 3, slows all pairs but the first.
#
# In real numbers the rotation is:

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
plots.draw_matrix(ax, scores.numpy(), title, *axes, diverging=True)
plt.show()

# %% [markdown]
# Along a diagonal $m - n$ stays the same. The two sides of the main diagonal differ, so *before* is not *after*.

# %%
source(Rotary)

# %% [markdown]
# - **Queries and keys, not values.** Position should influence where a token looks, not what it reads.
# - **In every head.** All heads have the same angles, and $W_q$ and $W_k$ learn to use them.
# - **Cheap.** In each layer a token needs $4C$ multiplications to rotate, and $4C^2$ for the matrices of attention.
#
# ## Do RoPE and ALiBi make far tokens count less?
#
# The curve of the first explorer falls with distance. It shows a query that *equals* its key. We take 10,000 random queries and keys.

# %%
torch.manual_seed(0)
q, k = norm(torch.randn(2, 10_000, 24, dtype=torch.float64))  # (N, D) each
falls = ["it falls", "it falls at first, and then wobbles", "it stays near 0", "it rises"]
decay = live.predict(
    "Queries and keys are random and independent. What does their mean score do as the distance grows?", falls
)
decay

# %% tags=["answer", "nbval-ignore-output"]
omega, distance = frequencies(24), np.arange(64)
turned = {"independent": (q, k), "q = k": (k, k), "q = k turned 31 back": (rotate_pairs(k, -31 * omega), k)}
curves = {}
for name, (q, k) in turned.items():
    products = [(rotate_pairs(q, d * omega) * k).sum(dim=-1) for d in distance]
    scores = torch.stack(products) / 24**0.5  # (64, N)
    curves[name] = scores.mean(dim=1).numpy()
    print(f"{name:20} standard deviation {scores[0].std():.2f} at distance 0, {scores[63].std():.2f} at 63")
fig, ax = plt.subplots(figsize=(8, 4))
title = "Independent q and k score 0 on average at every distance, and q = k falls"
plots.draw_curves(ax, distance, curves, title, "distance (tokens)", "mean score q · k / √24")
plt.show()
near, far = curves["independent"][[0, 63]]
decay.compare(falls[2 if max(abs(near), abs(far)) < 0.1 else 3 if far > near else 1])

# %% [markdown]
# **RoPE does not make far tokens count less.** A rotated random vector is another random vector, so scores have the mean 0 and the same spread at every distance. If $q = k$, the score is a sum of cosines. All are 1 at distance 0 and then drift apart, so it falls and wobbles. If $q$ is turned 31 steps back, like our blank, the peak stands at 31. $W_q$ and $W_k$ are learned, so a head can prefer any distance.
#
# Su et al. prove only that an upper *bound* of the score falls with distance. Many texts say this of the score itself (Barbero et al. 2024).
#
# **ALiBi** makes far tokens count less. It subtracts a penalty for each token of distance, large in one head and small in another.

# %%
live.alibi()

# %% [markdown]
# <span class="light-score">The first picture</span> shows ALiBi's penalties, which do not depend on q and k. The dashed line is RoPE's curve for q = k, shifted so that it begins at 0. <span class="light-attention">The second</span> shows the share of attention up to each distance, if these curves are the scores. RoPE prefers near tokens here only because q = k.
#
# ## Two layouts
#
# Which channels form a pair? The paper and this course pair neighbours, (0, 1), (2, 3), …: *interleaved*. Much other code, such as Hugging Face's Transformers, pairs channel $i$ with $i + D/2$: *half-split*. Each is right, because channels have no order. But $W_q$ and $W_k$ were trained for one layout. In code with the other, no error appears, and the scores are wrong.
#
# We can **convert the weights**. Row $r$ of $W_q$ makes channel $r$ of $q$, so we permute each head's rows, in $W_q$ and $W_k$ alike.
#
# A *mixture* is wrong with any weights. In the half-split layout the first channels have the angles of the pairs 0, 1, … Suppose code takes these angles, but pairs neighbours. Then channel 0 turns by $a = m\omega_0$, and its partner, channel 1, by $b = m\omega_1$. The matrix $\begin{pmatrix}\cos a & -\sin a\\ \sin b & \cos b\end{pmatrix}$ has the determinant $\cos(a - b)$; a rotation has 1. So lengths change, and scores depend on positions. A falling loss does not reveal this bug; a test of lengths does.
#
# ## Train v4 beside v3
#
# We use the plain tales of 03b. There every window began with a story. Here windows begin anywhere, so a position in the window tells nothing about the story.

# %%
corpus = load_corpus("plain-tales", n_chars=400_000)
tokenizer, questions = corpus.tokenizer, corpus.grammar.questions(400, seed=2, max_chars=64)
print(questions[0].prompt + questions[0].answer)
sides = ["neither", "only v3's", "only v4's", "both"]
moved_guess = live.predict(
    "After training we number a text of 64 letters from 1000 on. Whose loss changes by more than 0.1 nats?",
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
# Both see the same batches. Watch the right answers to 24 questions (chance: 50%), and the last row of the heads, in which the blank before the answer looks back. Which has the lower loss inside the window? Twelve stored [seeds](../docs/glossary.md#seed) do not decide it (600 steps, [rule](08_the_ladder.ipynb), [figure](../figures/ladder.png)).

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
assert abs(moved["v4"][1] - moved["v4"][0]) < 0.001

# %% [markdown]
# v4's losses are equal, because only differences of positions enter its scores. v3 has never met the codes from 1000 on.
#
# ## What has v4 learned?
#
# In the dashboard an answer is right if v4 finds the right name more probable than the other. We can also let v4 *write* the answer, always the most probable letter.

# %%
percent = {"low": 0, "high": 100, "unit": "%", "near": 12}
writes = live.predict(
    "In 12 of 14 stored runs v4 finds the right one of two names more probable in over 90% of the questions. "
    "In what share of the questions does your v4 write the right name?",
    **percent,
)
writes

# %% tags=["answer", "nbval-ignore-output"]
study, arm = results.load_results("names"), "v4, plain-tales, 450 steps"
for ask, name in zip(questions[:4], metrics.greedy_answers(models["v4"], tokenizer, questions), strict=False):
    print(f"{ask.prompt.strip():45} {ask.answer:6} v4: {name}")
right = metrics.role_accuracy(models["v4"], tokenizer, questions)
written = metrics.whole_answer_accuracy(models["v4"], tokenizer, questions)
print("right name more probable:", paired.beside(right, study["accuracy"][arm], "%"))
print("right name written:", paired.beside(written, study["whole"][arm], "%"))
vowel = metrics.answer_losses(models["v4"], tokenizer, questions)[1]
print("loss of letter 2:", paired.beside(vowel, [letters[1] for letters in study["letters"][arm]], "nats"))
writes.compare(100 * written)

# %% [markdown]
# The stored runs write 8 to 35% of the names correctly. The second letter costs about $\ln 5 = 1.61$ nats, a guess among five vowels. v4 knows the first letter of the name and guesses the vowel. So comparing two names mostly tests first letters. v4 is undertrained: after 1800 steps 8 of 14 seeds write at least 89% of the names ([results](../docs/results.md)).
#
# ## Does v4 need this head?
#
# We take the head that looks most at the right name while the answer's first letter is predicted. An [ablation](../docs/glossary.md#ablation) silences it. But silencing *any* head may disturb a model, which never met such zeros in training. So we need a **control**: the other heads of its layer, one at a time.

# %%
ablation_guess = live.predict("What share of 200 answers is right without this head?", **percent)
ablation_guess

# %% tags=["answer", "nbval-ignore-output"]
on_right = np.zeros((shape.n_layer, shape.n_head))
for ask in questions[:100]:
    weights = metrics.attention_weights(models["v4"], tokenizer.encode(ask.prompt))[:, :, -1]  # (L, H, T)
    at = ask.prompt.index(ask.answer)
    on_right += weights[:, :, at : at + len(ask.answer)].sum(axis=-1) / 100
without = metrics.ablate_heads(models["v4"], lambda m: metrics.role_accuracy(m, tokenizer, questions[:200]))
layer, head = divmod(int(on_right.argmax()), shape.n_head)
rows = [
    (f"layer {i + 1}, head {j + 1}", f"{on_right[i, j]:.0%}", f"{without[i, j]:.0%}")
    for i, j in np.ndindex(without.shape)
]
display(Table(("", "weight on the right name", "right answers without it"), rows, stable=1))
ablation_guess.compare(100 * without[layer, head])

# %% tags=["answer", "nbval-ignore-output"]
control = np.delete(without[layer], head).mean()
print(f"without head {head + 1} of layer {layer + 1}: {without[layer, head]:.0%} right")
print(f"without another head of this layer (mean): {control:.0%} right")
fewest = np.min(study["without"][arm], axis=(1, 2))[np.array(study["accuracy"][arm]) > 0.9]
print("without the head that is needed most:", paired.beside(without.min(), fewest.tolist(), "%"))

# %% [markdown]
# The difference between the first two lines is the finding. It may be small or negative: another head may look at the name too, and the head that is needed most may look elsewhere. Twelve stored runs know the first letter. Ten of these have a head without which fewer than 70% of the answers are right. Three have it in layer 1 and five in layer 2. Two have one in each layer. Weights show where a head looks, and an ablation with its control whether the model needs it.
#
# ## Turn θ while it learns
#
# We train v4 again, with a slider for θ. Move it; if you do not, the notebook sets θ to 10 at step 225. Then all pairs but the first turn faster.

# %%
effects = ["nothing", "it drifts away slowly", "it leaps, then catches up", "it leaps, and ends behind"]
turn_guess = live.predict("θ goes from 10000 to 10 at step 225. What does the loss do, beside v4's?", effects)
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
at = next((i for i, step in enumerate(history[:n]) if step.changed), n - 1)
fig, ax = plt.subplots(figsize=(7, 4))
curves = {"untouched": losses["v4"][:n], "steered": [step.loss for step in history[:n]]}
title = f"The change costs {gap[at]:+.2f} nats at once and {gap[-10:].mean():+.2f} at the end"
plots.draw_losses(ax, curves, floor, title, smooth=1)
plt.show()
turn_guess.compare(effects[2 * bool(gap[at] > 0.1) + bool(gap[-10:].mean() > 0.03)])

# %% [markdown]
# The rotations are not learned, but the matrices are learned *for* them. A head that looks one letter back is fitted to the angles of one step. With another θ these angles are wrong at once, and training has to fit the matrices again. This is one run; yours may differ.
#
# ## Longer windows
#
# Does v4 also read texts that are *longer* than its windows? In stored runs, models predicted the same letters twice. First they read up to four windows before each letter, and then only the last 64 letters.

# %%
shown = {"alibi": "only ALiBi's", "v4": "only v4's", "v3": "only v3's"}
longer_guess = live.predict(
    "Whose loss changes by less than 0.15 nats in all stored runs?", [*shown.values(), "v4's and ALiBi's"]
)
longer_guess

# %% tags=["answer"]
boards = [results.load_results(name)["board"] for name in ("ladder", "fresh/ladder")]
past = {name: [x for board in boards for x in board[name]["past"]] for name in shown}
fig, ax = plt.subplots(figsize=(8, 2.6))
means = [np.mean(past[name]) for name in shown]
title = "Four windows cost ALiBi {:.2f} nats, v4 (RoPE) {:.2f}, v3 (sinusoid) {:.2f} (means)".format(*means)
seed_plots.draw_seed_dots(ax, past, title, "change of the loss (nats per character)", {"no change": 0})
plt.show()
calm = [name for name in shown if max(map(abs, past[name])) < 0.15]
longer_guess.compare(shown[calm[0]] if len(calm) == 1 else "v4's and ALiBi's")

# %% [markdown]
# A longer text has longer distances, and v4 never met them in training. *Relative* does not mean *unlimited*: RoPE's loss rises by 0.33 to 0.59 nats (12 seeds, 600 steps). ALiBi's rises by 0.03 to 0.13 nats. The sinusoid's rises by 2.6 to 3.3. [Lesson 10](10_beyond_the_window.ipynb) shows how models with RoPE read longer texts.

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run it, then the check. In a new cell, `rope.HALF_SPLIT.hint()` gives one hint at a time, and `rope.HALF_SPLIT.solution()` shows a solution.

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
    """Score without a random other head of the same layer, minus the score without this head."""
    return 0.0


# %%
rope.ABLATION.check(controlled_effect)

# %% [markdown]
# ## Recap
#
# 1. If queries and keys share one matrix for each position, and scores depend on distance alone, pairs of channels rotate, and others stay fixed or change sign. RoPE rotates all pairs, at many speeds.
# 2. RoPE does not make far tokens count less. Independent queries and keys score 0 on average at every distance; only the score of q = k falls.
# 3. Interleaved and half-split layouts are both right, and weights fit only their own. Permuting rows of $W_q$ and $W_k$ converts them.
# 4. We have 20 seeds of v4, six more than above (plain tales, 450 steps). 17 seeds prefer the right name in over 90% of the questions. No seed writes more than 35% of the names. The layer of the most needed head differs from seed to seed.
# 5. v4 does not notice where a text stands, but its loss rises at distances that it was not trained on. On four windows ALiBi's loss rises by less, and the sinusoid's by more. This holds for all twelve seeds (600 steps, 2 layers of 96).

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
# **b.** The score depends on $m - n$, here 4. Against *c*: in *a* it is −4.
#
# </details>
#
# **2.** Can a head with RoPE give most of its weight to tokens 20 to 30 positions back?
#
# - a) no, RoPE's scores fall with distance
# - b) yes, its queries can be turned against its keys
# - c) only with a larger θ
#
# <details><summary>Answer</summary>
#
# **b.** Our hand-made head does it. Against *a*: only the score of q = k is largest at distance 0.
#
# </details>
#
# **3.** Your code pairs neighbours, and your weights were trained half-split. What do you permute?
#
# - a) nothing
# - b) the columns of $W_q$ and $W_k$
# - c) the rows of $W_q$ and $W_k$ in each head
#
# <details><summary>Answer</summary>
#
# **c.** Rows make the channels of q and k. Against *b*: columns belong to the stream.
#
# </details>
#
# **4.** 96% of the answers are right, and 85% without some head. What is missing before you say that it is needed?
#
# - a) nothing
# - b) the costs of other heads of its layer
# - c) a picture of where it looks
#
# <details><summary>Answer</summary>
#
# **b.** If they cost as much, this head is not special. Against *c*: a picture does not show what it is needed for.
#
# </details>
#
# **5.** v4, trained on windows of 64, gets 60 tokens numbered from 1000, and then 256 tokens numbered from 0. What happens to its loss?
#
# - a) it rises both times
# - b) it stays both times
# - c) it stays, then it rises
#
# <details><summary>Answer</summary>
#
# **c.** First all distances are known, then most are new. Against *b*: relative does not mean unlimited.
#
# </details>

# %% [markdown]
# ## What the source notes say
#
# Note 001 starts from RoPE. Its code is the mixture above. [Lesson 05](05_gaussian_rope.ipynb) measures its claims and repairs the code.

# %% [markdown]
# ## Further reading
#
# - [Su et al. 2021](https://arxiv.org/abs/2104.09864): RoPE; the wish is in section 3.2, the bound in 3.4.3.
# - [Barbero et al. 2024](https://arxiv.org/abs/2410.06205): no decay, and what slow pairs do.
# - [Press et al. 2022](https://arxiv.org/abs/2108.12409): ALiBi.
# - [Michel et al. 2019](https://arxiv.org/abs/1905.10650): silencing heads.

# %% [markdown]
# ## What comes next
#
# RoPE does not make near tokens count more, and ALiBi does. Source note 001 multiplies RoPE by a curve whose width you choose. → [05 · Gaussian RoPE](05_gaussian_rope.ipynb)
