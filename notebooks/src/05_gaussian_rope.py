# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 05 · Gaussian RoPE
#
# **Can we tell attention how far to look?**
#
# *A side trip after 04c, complete in itself.*
#
# RoPE by itself does not make far tokens count less ([lesson 04a](04a_rope.ipynb)). Source note 001 multiplies it by a [**kernel**](../docs/glossary.md#kernel), a curve that falls with the distance. We trained this model, **v5**, from twelve [seeds](../docs/glossary.md#seed) in two ways: with the note's kernel left alone, and with a kernel that training may change like any other weight. One of the two does harm, and you will find out why. At the end you test one explanation of the case, *the vowel is too far away*, by counting distances, which needs no kernel and no training. You will be able to
#
# 1. turn a factor on attention into a term of a score, and compute which scores overrule it,
# 2. test whether a formula depends on the distance alone,
# 3. find out how far a trained model reads,
# 4. find out by experiment why training a part of a model does harm.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, and by our estimate 50 minutes to read and guess. The exercises take about 30 minutes.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import babygpt_live as live
from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, metrics
from babygpt.data.corpus import load_corpus
from babygpt.encodings.alibi import slopes
from babygpt.encodings.gaussian import RelativeGaussian, gaussian
from babygpt.encodings.rotary import rotate
from babygpt.experiments.paired import beside, compare
from babygpt.metrics.inspection import reach
from babygpt.models.transformer import norm
from babygpt.tables import Table, source
from babygpt_course import explorers
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_05 as tasks
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import gaussian_training as study
from babygpt_course.studies import seed_plots, theta_and_rates
from babygpt_course.studies.results import load_results

# %%
stored = load_results("gaussian")["plain"]


def twelve(model, number, steps="1200"):
    """A number of our twelve stored runs of a model."""
    return np.array(stored[steps][model][number])


def count(shares):
    """How many seeds answer."""
    return sum(np.array(shares) > study.ANSWERS)


ways = {"kernel left alone": "v5 fixed", "kernel trained": "v5"}
right = {name: twelve(model, "accuracy") for name, model in ways.items()}
fig, ax = plt.subplots(figsize=(8, 2.4))
title = "{} of 12 seeds answer with the kernel left alone, and {} with a trained kernel"
title = title.format(*map(count, right.values()))
seed_plots.draw_seed_dots(ax, right, title, "share of right answers", {"": study.ANSWERS})
plt.show()

# %% [markdown]
# Each dot is a seed after 1,200 steps, in windows of 64 letters of the plain tales. A seed *answers* if it gives the right one of two names in more than 90% of the questions. With the kernel left alone 11 seeds answer, and with a trained kernel 3. Both models began with the same weights, texts and kernel, and they differ only in whether the kernel was trained. This is odd, because training lowers the loss, and finding names would lower it too. What is your first idea?
#
# ## A curve over the distance

# %%
explorers.gaussian_kernel()


# %% [markdown]
# <span class="light-kernel">The first panel</span> shows the kernel K, a sum of two [Gaussians](../docs/glossary.md#gaussian). <span class="light-scores">The second</span> shows the [score](../docs/glossary.md#score) of every query with every key. In <span class="light-attention">the third</span> you see where the query on the dashed line looks, with K and with RoPE alone, if all queries and keys are alike. Drag the two dots of the first panel to the left: both parts of K become narrower, so that the curve with K falls faster. The note chooses these numbers:
#
# $$K(d) = \alpha_1\, e^{-d^2/2\sigma_1^2} + \alpha_2\, e^{-d^2/2\sigma_2^2},\qquad \alpha = (0.7,\ 0.3),\quad \sigma = (5,\ 20).$$
#
# Here $d$ is the distance in tokens, each [α](../docs/glossary.md#alpha) is the height of a Gaussian, and each [σ](../docs/glossary.md#sigma) its width in tokens.

# %%
def K(d, alphas=(0.7, 0.3), sigmas=(5.0, 20.0)):
    """The kernel at distances in tokens: (...,) -> (...,)."""
    return sum(a * torch.exp(-(d**2) / (2 * s**2)) for a, s in zip(alphas, sigmas, strict=True))


d = torch.tensor([0.0, 5.0, 8.0, 31.0, 53.0])
print(" ".join(f"K({int(at)})={value:.3f}" for at, value in zip(d, K(d), strict=True)))

# %% [markdown]
# K falls to a half at 8 tokens and to a hundredth at 53, so in our windows of 64 the oldest tokens hardly count unless their scores are high.
#
# ## A factor becomes a sum
#
# Attention weights are exponentials of scores, divided by their sum. To multiply an exponential by K, we add log K:
#
# $$K(d)\;e^{s} = e^{\,s + \log K(d)} .$$
#
# How high must a score be to overrule K? A model has read *ada chased ben. who chased ben?* and a space, and now has to write *ada*. The query is the last space, and the first letter of the answer stands 31 tokens before it. Suppose that a [head](../docs/glossary.md#head) gives this letter a score of 2, 5 or 8, and all other letters a score of 0.

# %%
text = "ada chased ben. who chased ben? "
distance = torch.arange(len(text)).flip(0).float()  # from the last space: 31, 30, ..., 0
rows = []
for score in (2.0, 5.0, 8.0):
    scores = torch.zeros(len(text))
    scores[0] = score
    attention = scores.softmax(dim=0)[0], (scores + K(distance).log()).softmax(dim=0)[0]
    rows.append((f"{score:.0f}", *(f"{share:.0%}" for share in attention)))
Table(("score of the first letter", "its attention without K", "with K"), rows, stable=3)

# %% [markdown]
# With a score of 5 and with K the first letter weighs $e^5\,K(31) = 13.4$, and the others weigh $K(0) + \dots + K(30) = 11.4$ together. So with the note's widths a high score overrules K at this distance, whereas a low one does not.
#
# v5 is RoPE with log K added to the scores of all heads:

# %%
source(RelativeGaussian)

# %% [markdown]
# ## What does the note's formula depend on?
#
# The note itself multiplies each query and each key by K of its own *position*:
#
# $$f(x, m) = K(m)\, R_m x, \qquad f(q, m)\cdot f(k, n) = K(m)\,K(n)\;\big(R_m q\cdot R_n k\big).$$
#
# Here $R_m$ is RoPE's rotation. For a query at 3 and a key at 0, the factor $K(m)\,K(n)$ is 0.88.

# %%
sizes = {"less than 0.0001": 1e-4, "about 0.002": 0.02, "about 0.4": 0.7, "0.88 again": 1.1}
factor_guess = predict(
    "A query at 63 and a key at 60 are three tokens apart as well. What is the formula's factor for them?",
    list(sizes)[::-1],
)
factor_guess

# %% tags=["answer"]
early, late = K(torch.tensor([3.0, 0.0])).prod(), K(torch.tensor([63.0, 60.0])).prod()
print(f"at 3 and 0: {early:.6f}, at 63 and 60: {late:.6f}")
factor_guess.compare(next(words for words, top in sizes.items() if late < top))

# %% [markdown]
# The first factor is over 100,000 times the second, although the distance is the same. Late in a window every score is nearly 0, so attention becomes an average over the whole past. The note's text speaks of *relative* positions, which is what v5 computes with log K(m − n).

# %%
encodings = {"v5": gaussian(32), "v5-absolute": gaussian(32, kernel="absolute")}
torch.manual_seed(0)
positions = Positions.arange(48)
m = positions.time.float()
q, k = norm(torch.randn(2, 1, 1, 1, 32)).expand(2, 1, 1, 48, 32)  # one query, one key, at 48 positions
rope = rotate(q, positions.time) @ rotate(k, positions.time).mT  # (1, 1, T, T)
bias = encodings["v5"].score_bias(positions, positions)
assert torch.allclose(bias.exp(), K(m[:, None] - m), atol=1e-5)
turned_q, turned_k = encodings["v5-absolute"].transform_qk(q, k, positions)
assert torch.allclose(turned_q @ turned_k.mT, rope * K(m)[:, None] * K(m), atol=1e-5)

# %% [markdown]
# ## Train v5
#
# We use the plain tales of lesson 04a, where the right name begins 16 to 32 letters before the answer. First we leave K alone. The panel on the right counts right answers to a few questions, of which a guess gets half. Watch *when* it rises.

# %% tags=["nbval-ignore-output"]
corpus = load_corpus("plain-tales", n_chars=400_000)
tokenizer, questions = corpus.tokenizer, corpus.grammar.questions(400, seed=2, max_chars=64)
print(questions[2].prompt.strip(), questions[2].answer)
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
recipe, objective = TrainConfig(steps=300), NextToken(corpus, shape.block_size)
watches = [explorers.kernel(), explorers.roles(tokenizer, questions[:24])]
floor = {"best reader": load_results("ladder")["window_floor"]}
torch.manual_seed(1337)
fixed = build("v5", shape, learnable=False)
run = live.train(fixed, objective, recipe, "v5 fixed", floor, watches)

# %% tags=["nbval-ignore-output"]
run.result()
mine = metrics.role_accuracy(fixed, tokenizer, questions)
print("right answers of 400:", beside(mine, list(twelve("v5 fixed", "accuracy", "300")), "%"))

# %% [markdown]
# The answers stay near a half for a while, and then rise within some 150 steps, because the model learns to look back. As the printed range shows, not all of our twelve seeds have reached this point after 300 steps.
#
# ## Move the width while it learns
#
# We train the same model again, and now the dashboard below has a slider for σ₂, the width of the wide Gaussian. Move it to 5 while the model learns, or the notebook does it at step 225. Then K falls to a hundredth at 16 tokens instead of 53.
#
# Can a head overrule this kernel? Both Gaussians then have the width 5, so K subtracts $d^2/50$ from a score. A high score could make up for this, but a head of our models has 24 channels, and the norm of [03a](03a_attention.ipynb) keeps scores between −9.8 and $2\sqrt{24} = 9.8$.

# %%
choices = ["none", "only those 16 to 20 back", "only those 24 to 32 back", "both"]
lost_guess = predict(
    "σ₂ goes from 20 to 5. Some names stand 16 to 20 characters back, the others 24 to 32. Which names "
    "does the model no longer find?",
    choices,
)
lost_guess

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(1337)
slider = live.Scale("sigma2", 20.0, 0.5, 100.0, "σ₂")
moved = build("v5", shape, learnable=False)
steered = live.train(moved, objective, recipe, "steered v5", floor, watches, [slider], baseline=run)

# %% tags=["answer", "nbval-ignore-output"]
steered.wait_for_step(225)
if not any(step.changed for step in steered.history):
    steered.steer("sigma2", 5.0)
steered.result()
groups = {"16 to 20 characters back": (0, 20), "24 to 32 characters back": (20, 64)}
rows, lost = [], []
for name, (low, high) in groups.items():
    asked = [q for q in questions if low < q.distance <= high]
    before, after = (metrics.role_accuracy(model, tokenizer, asked) for model in (fixed, moved))
    rows.append((name, f"{before:.0%}", f"{after:.0%}"))
    lost.append(before - after > 0.15)
display(Table(("right name", "right answers, σ₂ left at 20", "σ₂ moved"), rows, stable=1))
lost_guess.compare(choices[lost[0] + 2 * lost[1]])


# %% [markdown]
# Our run still finds the near names, and of the far names hardly more than a guess would. How can four tokens make so much difference? K subtracts 8 from a score at 20 tokens, and 11.5 at 24. We give one key the highest score, 9.8, and all other keys the score 0:

# %%
def attention_on(distance, alphas=(0.7, 0.3), sigmas=(5.0, 5.0)):
    """Attention on a key with the score 9.8, so many tokens back, if all others have the score 0."""
    weights = K(torch.arange(32.0), alphas, sigmas)
    weights[distance] *= np.exp(2 * 24**0.5)
    return float(weights[distance] / weights.sum())


for distance in (20, 24):
    print(
        f"a key {distance} tokens back with the score 9.8 gets {attention_on(distance):.0%} of the attention"
    )

# %% [markdown]
# At 24 tokens even the highest score gets 3%. It would get 80% if all other keys scored −5, so the norm does not forbid a head to look so far: it has to push all other keys down.
#
# ## Let training move it
#
# Now we train α and σ together with all other weights, at the same [learning rate](../docs/glossary.md#learning-rate), and K begins at the note's numbers again.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(1337)
trained = build("v5", shape)
adapting = live.train(trained, objective, recipe, "v5", floor, watches, baseline=run)

# %% tags=["nbval-ignore-output"]
adapting.result()
halves, hundredth = (reach(trained.encoding, share) for share in (1 / 2, 1 / 100))
print(f"K falls to a half in {halves} tokens (at first 8), to a hundredth in {hundredth} (at first 53)")

# %% [markdown]
# The orange K falls faster than the grey K of the start: the kernel closes. It closed in each of our twelve runs, as the next cell prints. Does it hide the far names, as your steered kernel did?

# %%
for steps in ("300", "1200"):
    ends = sorted(kernel["hundredth"] for (kernel,) in twelve("v5", "kernel", steps))
    print(f"trained for {steps} steps, K falls to a hundredth at {ends[0]} to {ends[-1]} tokens")
far_key = [
    attention_on(24, *((kernel[f"{name}1"], kernel[f"{name}2"]) for name in ("alpha", "sigma")))
    for (kernel,) in twelve("v5", "kernel")
]
print(f"under these kernels a key 24 back with the score 9.8 gets {min(far_key):.0%} to {max(far_key):.0%}")
blind = count(right["kernel trained"]), sum((twelve("v5", "near") > 0.75) & (twelve("v5", "beyond") < 0.65))
fig, ax = plt.subplots(figsize=(7, 4.2))
title = f"Trained kernels: {blind[0]} seeds find all names, and {blind[1]} find near names only"
for name, model in ways.items():
    ax.plot(twelve(model, "near"), twelve(model, "beyond"), "o", alpha=0.7, label=name)
ax.axhline(0.5, color="black", lw=1, ls="--")
live.set_labels(ax, title, "right answers, name 16 to 20 back", "right answers, name 24 to 32 back")
ax.legend()
plt.show()

# %% [markdown]
# The dashed line is chance. Of the nine seeds that do not answer, six find near names, more than three quarters of them and fewer than two thirds of the far ones. The three others find neither. But these kernels hide less than yours did: under each of them a key 24 tokens back with the score 9.8 gets more than 80%. K falls to a hundredth so soon because training raises its peak, while the wide part keeps much of its width. So no head is forbidden to look far, and it only needs a higher score for it. Why does training close K, although an open kernel leads to a lower loss?
#
# ## Why does it close?
#
# *When* does training do the harm? We leave K alone until step 600 of 1,200, and train it from then on.

# %%
late_guess = predict(
    "The kernel trains from step 600 on. How many of twelve seeds answer after 1,200 steps?",
    low=0,
    high=12,
    unit="seeds",
    near=1,
)
late_guess

# %% tags=["answer"]
ends = sorted(kernel["hundredth"] for (kernel,) in twelve("v5 late", "kernel"))
print(f"K falls to a hundredth at {ends[0]} to {ends[-1]} tokens")
late_guess.compare(int(count(twelve("v5 late", "accuracy"))))

# %% [markdown]
# 11 seeds answer, the same ones as with the kernel left alone, and K has hardly closed. You may object that late steps have lower learning rates. But 600 late steps may move a weight as far as a whole run of 300 steps, in which K closed to 25 tokens or less. So late training closes K less, and does no harm that we can see.
#
# One explanation would fit all this. At first a model learns to spell words, for which the last few letters suffice. A name far back is no help yet, because no head has learned to use it, so the [gradient](../docs/glossary.md#gradient) narrows K. Once K is narrow, low scores count less, and a head finds the name less easily: perhaps the kernel closes before the model has learned to look back.
#
# If so, it should matter how fast the kernel closes. We trained K from the start again, and changed *its* learning rate alone.

# %%
answers = theta_and_rates.by_rate(load_results("rates"), "accuracy")[1200]
names = ["left alone", "a ninth of the rate", "a third", "the common rate", "three times"]
counts = ", ".join(f"{count(shares)}" for shares in answers.values())
fig, ax = plt.subplots(figsize=(8, 3.2))
title = f"A fast kernel leaves few seeds that answer: {counts} of 12"
rows = dict(zip(names, answers.values(), strict=True))
seed_plots.draw_seed_dots(ax, rows, title, "share of right answers after 1,200 steps", {"": study.ANSWERS})
plt.show()

# %% [markdown]
# **At the learning rate of all other weights the kernel closes, and 3 of 12 seeds answer. At a ninth of it the kernel stays wider, and 11 answer, as with a fixed kernel** ([how wide](../docs/results.md#the-learning-rate-of-the-kernel)). Our explanation fits only in part. Neither experiment shows that the kernel closes *before* the model learns to look back, and at three times the rate three seeds answer, although their K falls to a hundredth at 4 tokens.
#
# ## Is a kernel worth it?
#
# We found no gain from training the kernel. Does the note's own kernel gain something beside RoPE? We compare both after 1,200 steps, seed by seed: inside the window, and in the last window of a text that is four windows long. The brackets hold the [99% interval](../docs/glossary.md#interval): if we repeated the study a hundred times, about 99 of such intervals would hold the true mean.

# %%
for place, number in {"inside the window": "val_loss", "in the last of four windows": "far"}.items():
    gaps = np.subtract(twelve("v5 fixed", number), twelve("v4", number))
    print(f"{place}: kernel left alone minus RoPE {compare(gaps.tolist()):+.2f} nats")

# %% [markdown]
# Inside the window nothing is decided (in [nats](../docs/glossary.md#nats) per character). Far beyond it RoPE loses about one nat more than this kernel, which hides all that is far.
#
# ## ALiBi: a straight line for each head
#
# A better-known rival, [**ALiBi**](../docs/glossary.md#alibi), rotates nothing, and subtracts from each score a penalty that is proportional to the distance. Each head has a slope of its own, which is never trained.

# %%
explorers.alibi()

# %% [markdown]
# <span class="light-score">The first picture</span> shows the penalty of each head; the dashed curve is RoPE with q = k. <span class="light-attention">The second</span> adds up how much attention the nearest tokens get if all keys are alike. A penalty on a score is a factor on its exponential, so ALiBi has a kernel as well. It falls to a hundredth where the penalty reaches log 100 = 4.6:

# %%
steep = 2.0 ** (-8 * torch.arange(1, 5) / 4)  # of four heads
assert torch.allclose(steep, slopes(4))
print("tokens until a hundredth is left:", ", ".join(f"{np.log(100) / slope:.0f}" for slope in steep))
print(f"{count(twelve('alibi', 'accuracy'))} of 12 seeds answer after 1,200 steps")

# %% [markdown]
# So head 1 looks at fewer than twenty letters, while the penalty of heads 3 and 4 is mild in our windows. In v5 all heads share one kernel, which has to be narrow and wide at once. ALiBi answers from all 12 seeds, as RoPE does, and the fixed kernel from 11.

# %% [markdown]
# > **In a real model.** SmolLM2-135M has RoPE and no kernel, so nothing in its design prefers near tokens. Training has taught it to: a token gives 26% of its attention to itself and the seven tokens before it, where even attention would give 15%, and another 36% to the first token of the text. These are means over all heads and 24 texts ([lesson 11](11_a_real_model.ipynb)).

# %% [markdown]
# ## Is the vowel too far away?
#
# Your steered model missed names 24 letters back. Could v4 in the same way reach a first letter and miss the second? Count how far each letter stands from the token that predicts it:

# %%
ask = questions[2]
stands, last = ask.prompt.index(ask.answer), len(ask.prompt) - 1
for i, letter in enumerate(ask.answer):
    print(f"{letter}: stands at {stands + i}, is predicted from {last + i}, so it is {last - stands} back")

# %% [markdown]
# To write the second letter the model has read the first one of its own answer, so query and key have both moved by one.
#
# ## The case
#
# All letters of a name are equally far from the letter that predicts them, so distance gives no reason to lose the vowel alone. So *the vowel is too far away* is out. *It does not look at the name* is open for the vowel, and *its positions do not tell neighbours apart* for trained heads (04b). Untested are *it needs more steps*, *it has a bug* and *its encoding makes it late*. And keep in mind that a model learns to look back within few steps.

# %%
tally()

# %% [markdown]
# ## Exercises
#
# In a new cell, `tasks.REPAIRED.hint()` gives one hint at a time and `tasks.REPAIRED.solution()` shows a solution.

# %%
tasks.REPAIRED


# %%
def repaired(x, K):
    """K(m) times the rotated x, at positions 0, 1, ...: (..., T, D) -> (..., T, D)."""
    dim, seq_len = x.shape[-1], x.shape[-2]
    inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))
    freqs = torch.einsum("i,j->ij", torch.arange(seq_len).float(), inv_freq)
    emb = torch.cat((freqs, freqs), dim=-1)
    x1, x2 = x[..., ::2], x[..., 1::2]
    partner = torch.stack((-x2, x1), dim=-1).flatten(-2)
    return K(torch.arange(seq_len).float()) * (x * emb.cos() + partner * emb.sin())


# %%
tasks.REPAIRED.check(repaired)

# %%
tasks.HEAD_BIAS


# %%
def head_bias(alphas, sigmas, queries, keys):
    """log K of each head, (H, Tq, Tk)."""
    return torch.zeros(len(alphas), len(queries), len(keys))


# %%
tasks.HEAD_BIAS.check(head_bias)

# %%
tasks.WIDTH

# %%
width = 5.0

# %%
tasks.WIDTH.check(width)

# %% [markdown]
# ## Recap
#
# 1. A kernel that multiplies attention is a logarithm added to scores. v5 adds log K(m − n), which depends on the distance alone, unlike the note's factor K(m) K(n).
# 2. Whether a score overrules K depends on the widths. With both widths at 5 the highest possible score gets 47% at 20 tokens and 3% at 24 if all other keys score 0.
# 3. ALiBi is a kernel as well, with a fixed slope in each head.
# 4. At the common learning rate the kernel closes to 13 to 24 tokens, and 3 of 12 seeds answer. At a ninth of it, or from step 600 on, K falls to a hundredth only beyond 34 tokens, and 11 answer, as with a fixed kernel (1,200 steps, 2 layers of 96).
# 5. All letters of a name are equally far from the token that predicts them, so distance gives no reason to lose the vowel alone.

# %% [markdown]
# ## Self-test
#
# **1.** With the note's formula and widths, a query at 60 looks at keys from 0 to 60. Where does its attention go?
#
# - a) to the nearest keys
# - b) to all keys nearly alike
# - c) to the keys at the start
#
# <details><summary>Answer</summary>
#
# **b.** K(60) is 0.003, so all scores are near 0. *a* is right for K(m − n).
#
# </details>
#
# **2.** A model should multiply the exponential of each score by K. What does it do with the scores?
#
# - a) it multiplies them by K
# - b) it adds log K to them
# - c) it adds K to them
#
# <details><summary>Answer</summary>
#
# **b.** The reason is $e^{s + \log K} = K e^s$. With *a* a small K brings the score near 0, where it still weighs $e^0 = 1$.
#
# </details>
#
# **3.** Trained at the common rate, most kernels close and most seeds do not answer. With a fixed kernel most answer. Does this show that kernels should not be trained?
#
# - a) yes, nothing but the training differs
# - b) no, the rate of the training may be to blame
# - c) no, three seeds answer
#
# <details><summary>Answer</summary>
#
# **b.** At a ninth of the rate as many seeds answer as with a fixed kernel. *a* forgets the rate.
#
# </details>
#
# **4.** A key 40 tokens back has a score of 8, and 100 other keys have a score of 0. K(40) is 0.04, and the K of the others sum to 12. How much attention does the key get?
#
# - a) about 4%
# - b) about 50%
# - c) about 90%
#
# <details><summary>Answer</summary>
#
# **c.** $e^8$ is 2981. Times 0.04 this is 119, and 119 / (119 + 12) is 91%. *a* is K alone.
#
# </details>
#
# **5.** A model writes the first letter of a name that stands 31 tokens back. From how far back does it have to read the third letter?
#
# - a) from 29 tokens
# - b) from 31 tokens
# - c) from 33 tokens
#
# <details><summary>Answer</summary>
#
# **b.** Query and key have both moved by two. *a* would be right if the query stayed.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# The code of note 001 raises an error on its own example, and the first exercise repairs it. A model *does better* in this table if its loss is lower by 0.02 nats or more. A claim *depends* if it holds for one reading of the note only ([all claims](../docs/notes/001.md)).

# %% tags=["nbval-ignore-output"]
SHOWN = (
    "K(m) controls the sensitivity at relative positions",
    "the code runs on its own example",
    "a model does better with K (K of the distance)",
    "a model does better with K (the formula)",
    "a model is able to adjust the range of K by itself",
)
findings("001", first=SHOWN)

# %% [markdown]
# ## Further reading
#
# - [Chi et al. 2022](https://arxiv.org/abs/2205.09921): trained kernels, one for each head.
# - [Press et al. 2021](https://arxiv.org/abs/2108.12409): ALiBi.

# %% [markdown]
# ## What comes next
#
# Note 002 puts **several texts into one sequence** and reports that they are 31% alike under one code and 93 to 99% under another. What did it measure? → [06 · Fourier branches](06_fourier_branches.ipynb)
