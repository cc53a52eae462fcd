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
# RoPE ([lesson 04](04_rope.ipynb)) lets an attention score depend on distance, but it does not make near tokens count more than far ones. ALiBi does: it subtracts a fixed penalty for each token of distance. Source note 001 proposes to keep RoPE and to multiply it by a [**kernel**](../docs/glossary.md#kernel), a curve that falls with distance and whose width you choose. You will
#
# 1. drag the kernel and watch attention narrow and widen,
# 2. find out whether the note's formula depends on distance,
# 3. train **v5**, a model with a corrected kernel,
# 4. test how far back each model reads.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 40 seconds to run on two cores, about 28 minutes to read and guess; the exercises about 30 more, and 15 for those marked *stretch*.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, invariants, live, metrics, plots
from babygpt.data.corpus import load_corpus
from babygpt.encodings.gaussian import RelativeGaussian, gaussian
from babygpt.encodings.rotary import rotate
from babygpt.metrics.inspection import reach
from babygpt.models.transformer import norm
from babygpt.tables import Table, source
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_05 as tasks
from babygpt_course.studies import gaussian_training as study
from babygpt_course.studies.paired import RULE, beside, decided_side

# %%
plots.set_style()
live.gaussian()


# %% [markdown]
# <span class="light-kernel">The first panel</span> draws the kernel K with its two parts. <span class="light-scores">The second</span> holds the [score](../docs/glossary.md#score) of every query with every key. <span class="light-attention">The third</span> shows where the query on the marked line looks, and in grey where it would look without K.
#
# Drag both parts of K to smaller widths. Far from the diagonal the scores turn blue, which means negative, and the query looks at fewer tokens.
#
# Even without K, 86% of the attention lies within 8 tokens; with K it is 97%. RoPE looks so local here because the explorer uses *equal* queries and keys. Then the score is a sum of cosines of the distance, and each cosine is largest at distance 0. In a model queries and keys differ, and their score may be largest at any distance. K falls whatever the vectors are.
#
# ## The kernel
#
# The kernel is a sum of two [Gaussians](../docs/glossary.md#gaussian). The narrow one favours the last few tokens, and the wide one reaches further back. The numbers are the note's:
#
# $$K(d) = \alpha_1\, e^{-d^2/2\sigma_1^2} + \alpha_2\, e^{-d^2/2\sigma_2^2},\qquad \alpha = (0.7,\ 0.3),\quad \sigma = (5,\ 20).$$
#
# The width [σ](../docs/glossary.md#sigma) is a distance in tokens. At distance σ a Gaussian has fallen to 0.61 of its height, and at 3σ to 0.01.

# %%
def K(d, alphas=(0.7, 0.3), sigmas=(5.0, 20.0)):
    """The kernel at distances in tokens: (...,) -> (...,)."""
    return sum(a * torch.exp(-(d**2) / (2 * s**2)) for a, s in zip(alphas, sigmas, strict=True))


d = torch.tensor([0.0, 5.0, 8.0, 20.0, 31.0, 53.0, 64.0])
print(" ".join(f"K({int(at)})={value:.3f}" for at, value in zip(d, K(d), strict=True)))

# %% [markdown]
# Check K(5): 0.7 · 0.61 + 0.3 · 0.97 = 0.72. At 8 the kernel has fallen to a half, and at 53 to a hundredth. In our windows of 64 tokens the oldest are almost invisible, unless their score is high.
#
# ## How a kernel enters attention
#
# Attention weights are exponentials of scores, divided by their sum: a [softmax](../docs/glossary.md#softmax). To multiply an exponential by K, add log K to its score:
#
# $$K(d)\;e^{s} = e^{\,s + \log K(d)} .$$
#
# We compute one case by hand. A model has read *ada chased ben. who chased ben?* and a space, and must now write *ada*. The space is the query, at position 31. It needs the first letter, at position 0. Let a [head](../docs/glossary.md#head) give this key some score, and the others 0.

# %%
text = "ada chased ben. who chased ben? "
distance = torch.arange(len(text)).flip(0).float()  # from the last space: 31, 30, ..., 0


def on_name(score, kernel):
    """Attention on the first letter if it has this score and all other letters have 0."""
    scores = torch.zeros(len(text))
    scores[0] = score
    return (scores + kernel.log()).softmax(dim=0)[0].item()


kernels = torch.ones(32), K(distance)
rows = [(str(s), *(f"{on_name(s, kernel):.0%}" for kernel in kernels)) for s in (2, 5, 8)]
Table(("score of the first letter", "its attention without K", "with K"), rows, stable=3)

# %% [markdown]
# Take the line of 5. Without K the first letter weighs $e^5 = 148$ and each other letter 1: 148 / 179 is 83%. With K the first letter weighs 148 · 0.09 = 13.4, and the others K(0) + … + K(30) = 11.4. That leaves 54%. **A high score overrules the kernel, and a low score does not.** Our models [normalise](../docs/glossary.md#norm) queries and keys and double the score (03a). So the highest score, with 24 channels a head, is $2\sqrt{24} = 9.8$.

# %%
effects = ["they all double", "near tokens gain, and far tokens lose", "nothing"]
alpha_guess = live.predict("You double both α. What happens to the attention weights?", effects)
alpha_guess

# %% tags=["answer"]
once, twice = K(distance), K(distance, alphas=(1.4, 0.6))
print(f"attention on the first letter: {on_name(5, once):.3f} before, {on_name(5, twice):.3f} after")
ratio = on_name(5, twice) / on_name(5, once)
alpha_guess.compare(effects[2 if abs(ratio - 1) < 1e-3 else 0 if abs(ratio - 2) < 1e-3 else 1])

# %% [markdown]
# A factor that all weights share cancels in the softmax. So only the *ratio* of the two [α](../docs/glossary.md#alpha) matters.
#
# v5 adds log K in two lines. Its α and σ are trained with the model, and all heads share one kernel.

# %%
source(RelativeGaussian)

# %% [markdown]
# We write down the scores of one query and one key at all positions, and compare with the package.

# %%
torch.manual_seed(0)
positions = Positions.arange(48)
q, k = norm(torch.randn(2, 1, 1, 1, 32)).expand(2, 1, 1, 48, 32)  # one query, one key, at 48 positions
rope = (rotate(q, positions.time) @ rotate(k, positions.time).mT)[0, 0]  # (T, T)
m = positions.time.float()


def scores(encoding):
    """Scores by an encoding of the package, (T, T)."""
    turned_q, turned_k = encoding.transform_qk(q, k, positions)
    bias = encoding.score_bias(positions, positions)
    return ((turned_q @ turned_k.mT)[0, 0] + (0 if bias is None else bias[0])).detach()


assert torch.allclose(scores(gaussian(32)), rope + K(m[:, None] - m).log(), atol=1e-4)

# %% [markdown]
# ## The note's formula
#
# The note writes something else. It multiplies each query and each key by K of its own *position*:
#
# $$f(x, m) = K(m)\, R_m x, \qquad f(q, m)\cdot f(k, n) = K(m)\,K(n)\;\big(R_m q\cdot R_n k\big),$$
#
# where $R_m$ is RoPE's rotation. For a query at 3 and a key at 0 the factor is K(3) · K(0) = 0.88.

# %%
sizes = {"less than 0.0001": 1e-4, "about 0.002": 0.02, "about 0.4": 0.7, "0.88 again": 1.1}
factor_guess = live.predict(
    "A query at 63 and a key at 60 are three tokens apart as well. What is the formula's factor for them?",
    list(sizes)[::-1],
)
factor_guess

# %% tags=["answer"]
early, late = K(torch.tensor([3.0, 0.0])).prod(), K(torch.tensor([63.0, 60.0])).prod()
print(f"at 3 and 0: {early:.6f}, at 63 and 60: {late:.6f}")
factor_guess.compare(next(words for words, top in sizes.items() if late < top))

# %% [markdown]
# One factor is over 100,000 times the other. So the formula's score **does not depend on distance alone**. Late in a window every score is nearly 0. The softmax gives equal scores equal weights, so attention becomes an average over the whole past. In the explorer, set *kernel* to *absolute* and drag the query to the end.
#
# The note speaks of *relative* positions in some sentences, of *absolute* ones in others. We test both: v5 has K(m − n), and `v5-absolute` has K(m) K(n).
#
# K(m) changes a vector's length. If the norm came after K(m), it would undo the change. Our models normalise before, so K(m) stays ([07b](07b_polar_gates.ipynb)).

# %% tags=["nbval-ignore-output"]
formula = gaussian(32, kernel="absolute")
assert torch.allclose(scores(formula), rope * K(m)[:, None] * K(m), atol=1e-5)
assert torch.allclose(norm(K(m)[:, None] * q), norm(q), atol=1e-3)  # up to the norm's eps
readings = {"v5": gaussian(32), "v5-absolute": formula}
changes = {name: invariants.shift_invariant(encoding).value for name, encoding in readings.items()}
kept = [invariants.Promise(f"{name}: scores depend on m − n alone", x, 1e-6) for name, x in changes.items()]
assert [promise.holds for promise in kept] == [True, False]
invariants.promises(kept)

# %% [markdown]
# If query and key move together, a score of v5 stays as it is. The formula breaks this [promise](../docs/glossary.md#promise).
#
# ## Train v5
#
# We use the plain tales of lesson 04, with windows of 64 characters and questions between two names. The right name begins 16 to 32 characters before the answer.

# %%
corpus = load_corpus("plain-tales", n_chars=400_000)
tokenizer, questions = corpus.tokenizer, corpus.grammar.questions(400, seed=2, max_chars=64)
ask = questions[2]
print(ask.prompt.strip(), ask.answer)
widths, shares = ("wider", "narrower"), ("more than 75% of the answers are right", "fewer are")
kernel_guess = live.predict(
    "K is trained with the model for 300 steps. Does K become wider or narrower, and are the answers right?",
    [f"K becomes {width}, and {share}" for width in widths for share in shares],
)
kernel_guess

# %% tags=["answer", "nbval-ignore-output"]
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
recipe, objective = TrainConfig(steps=300), NextToken(corpus, shape.block_size)
watches, floor = [live.kernel(), live.roles(tokenizer, questions[:24])], {"floor": corpus.floor}
torch.manual_seed(1337)
models = {"v5": build("v5", shape)}
adapting = live.train(models["v5"], objective, recipe, "v5", floor, watches)

# %% [markdown]
# The right panel counts 24 questions (chance: 50%).

# %% tags=["answer", "nbval-ignore-output"]
adapting.result()
right = {"v5": metrics.role_accuracy(models["v5"], tokenizer, questions)}
trained = models["v5"].encoding
halves = reach(trained, 0.5)  # 8 tokens before training
print(f"σ {trained.sigma1:.1f} and {trained.sigma2:.1f} tokens; K halves in {halves} tokens, at first in 8")
kernel_guess.compare(f"K becomes {widths[halves < 8]}, and {shares[right['v5'] <= 0.75]}")

# %% [markdown]
# K became narrower in each of our twelve stored runs: it halved in 2 or 3 tokens. We say that a run *answers* if more than 90% of the 400 answers are right. 2 of the 12 runs did.
#
# Is a kernel bad for such questions? We need a control: the same first weights, the same batches, and a kernel that stays at the note's numbers.

# %%
fixed_guess = live.predict(
    "K stays at its widths of 5 and 20 tokens. How many answers are right after 300 steps?",
    low=0,
    high=100,
    unit="%",
    near=10,
)
fixed_guess

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(1337)
models["v5 fixed"] = build("v5", shape, learnable=False)
fixed = live.train(models["v5 fixed"], objective, recipe, "v5 fixed", floor, watches, baseline=adapting)

# %% tags=["answer", "nbval-ignore-output"]
fixed.result()
right["v5 fixed"] = metrics.role_accuracy(models["v5 fixed"], tokenizer, questions)
first, second = (study.load_results(name)["plain"] for name in ("gaussian", "fresh/gaussian"))
for name, share in right.items():
    ours = first["300"][name]["accuracy"] + second["300"][name]["accuracy"]
    print(f"right answers, {name:8}  {beside(share, ours, '%')}")
fixed_guess.compare(round(100 * right["v5 fixed"]))

# %% [markdown]
# We stored twelve runs of each model. 5 answered with K fixed, 2 with K trained, and 9 with RoPE alone. The first six seeds made training K look harmful, and the next six did not confirm it.
#
# ## One question, number by number
#
# Follow a question through your model with the fixed kernel. We take the head that looks most at the right name. The table lists three keys for the last query: the first letters of both names, and its own position, whose score is set to 0.

# %% tags=["nbval-ignore-output"]
ids, last = tokenizer.encode(ask.prompt), len(ask.prompt) - 1
at = {ask.answer: ask.prompt.index(ask.answer), ask.rival: ask.prompt.index(ask.rival), "itself": last}
weights = torch.tensor(metrics.attention_weights(models["v5 fixed"], ids))[:, :, -1]  # (L, H, T)
layer, head = divmod(int(weights[:, :, at[ask.answer]].argmax()), shape.n_head)
weight, log_K = weights[layer, head], K(last - torch.arange(last + 1.0)).log()
score = weight.log() - log_K  # up to a number that all keys share
columns = score - score[last], log_K, weight.log() - weight[last].log()
rows = [
    (f"{name}, {last - i} back", *(f"{x[i]:.1f}" for x in columns), f"{weight[i]:.1%}")
    for name, i in at.items()
]
display(Table((f"layer {layer + 1}, head {head + 1}", "score", "log K", "sum", "attention"), rows, stable=1))
p = models["v5 fixed"](ids[None])[0, -1].softmax(dim=-1).detach()
print("next letter:", ", ".join(f"p({name[0]}) = {p[tokenizer.ids[name[0]]]:.2f}" for name in list(at)[:2]))

# %% [markdown]
# At 29 tokens K takes 2.3 from a score. A head that is sure of the name can afford that, as in the first table.
#
# ## Longer training
#
# We stored runs of 300, 600 and 1200 steps (2 layers of 96) from six [seeds](../docs/glossary.md#seed). The rule of [lesson 08](08_the_ladder.ipynb) decides between two models if all six differences of their losses lie on one side, and the mean is too large to be luck (Student's t, 95%).

# %%
choices = ["only the fixed one", "only the trained one", "both", "neither"]
late_guess = live.predict("After 1200 steps, which kernel has a lower loss than RoPE (decided)?", choices)
late_guess

# %% tags=["answer"]
results, board = (study.load_results(name) for name in ("gaussian", "ladder"))
gaps = study.behind(study.race(results, board))
fig, axes = plt.subplots(1, 2, figsize=(13, 4.6))
study.draw_race(axes[0], results)
study.draw_answers(axes[1], results)
axes[0].set_title(f"After 1200 steps v5 is {np.mean(gaps[1200]['v5']):.2f} nats above v4 (mean)")
plt.show()
sides = {name: [decided_side(gaps[steps][name]) for steps in gaps] for name in ("v5 fixed", "v5")}
print(f"loss beside v4's after {', '.join(map(str, gaps))} steps: {sides}\n{RULE}")
below = [name for name, each in sides.items() if each[-1] == "below"]
late_guess.compare(choices[3 if not below else 2 if len(below) == 2 else below == ["v5"]])

# %% [markdown]
# v4 is RoPE alone, and v5 has a trained K; *late* and *slow* follow in the next section. **The fixed kernel and RoPE are undecided** after 300, 600 and 1200 steps, and so they are with six other seeds.
#
# After 1200 steps the trained kernel is 0.07 nats behind RoPE (decided; 0.06 with the other seeds). After 600 steps the two sets of seeds disagree. After 1200 steps all 12 runs with RoPE answer. With the fixed kernel 11 of 12 answer, and with the trained kernel 3 of 12. The two kernels differ only in the training of K. So **it is the training of the kernel, not the kernel,** that keeps v5 from answering.
#
# ## Why does training close the kernel?
#
# Here is a conjecture. At first a model gains most from the last few letters, which make up words. A name far back does not help yet, because no head has learned to use it. So the gradient narrows K, and then the name is hard to find. Here is the table of *ada* again, with the kernels of our twelve runs after 300 steps:

# %%
numbers = [kernel for run in (first, second) for (kernel,) in run["300"]["v5"]["kernel"]]
ours = [K(distance, (n["alpha1"], n["alpha2"]), (n["sigma1"], n["sigma2"])) for n in numbers]
rows = []
for s in (2, 5, 8):
    some = [on_name(s, kernel) for kernel in ours]
    rows.append((str(s), f"{on_name(s, K(distance)):.0%}", f"{min(some):.1%} to {max(some):.1%}"))
Table(("score of the first letter", "its attention with K fixed", "with K trained"), rows, stable=3)

# %% [markdown]
# A score of 5 gave the name 54% of the attention, and now it gives 1.5% to 11.5%. Only a head with a score near 8 still reads the name.
#
# If the conjecture is right, a kernel that is trained *later*, when heads find names, stays open. So we left K alone for 200 of 300 steps, or for 600 of 1200, and trained it from there (*late*). By then the learning rate has fallen, so a control trains K from the start at a lower rate (*slow*).

# %% tags=["answer"]
fig, ax = plt.subplots(figsize=(8, 4.2))
study.draw_reach(ax, results)
ends = {v: [k["hundredth"] for (k,) in first["1200"][v]["kernel"]] for v in ("v5", "v5 late")}
narrow, open_ = max(ends["v5"]), min(ends["v5 late"])
ax.set_title(f"In 1200 steps K closes to {narrow} tokens or fewer; trained late it keeps {open_} or more")
plt.show()

# %% [markdown]
# Before training K fell to a hundredth at 53 tokens (dashed). In runs of 300 steps *late* and *slow* both keep K open, so a low learning rate may be the reason.
#
# A low rate does not explain the runs of 1200 steps. There the rates after step 600 have the same sum as in a whole run of 300 steps, and such a run closes K. But *late* kept K open to 41 to 50 tokens; trained from the start, K ended at 13 to 17. With *late* 5 of 6 runs answer, instead of 1. The loss of *late* is 0.06 nats lower (decided). Six other seeds confirm this: 6 of them answer, instead of 2. So **a kernel that is trained late stays open**, also in the run that does not answer. The losses of *late* and of the fixed kernel are undecided.
#
# ## How far back does each model read?
#
# An [ablation](../docs/glossary.md#ablation) shows it: hide everything further back than some distance, and see how much the loss rises. Then we test [extrapolation](../docs/glossary.md#extrapolation) to texts four times as long.

# %%
called = {"v4": "RoPE", "v5 fixed": "the fixed kernel", "v5": "the trained kernel", "alibi": "ALiBi"}
hiding_guess = live.predict(
    "Characters more than 20 back are hidden. Whose loss rises most?", list(called.values())
)
far_guess = live.predict(
    "In a text four times as long, whose loss is lowest (decided)?", [*called.values(), "no single one"]
)
display(hiding_guess, far_guess)

# %% tags=["answer"]
long, beyond_20 = first["1200"], results["distances"].index(20)
price = {name: np.mean([cost[beyond_20] for cost in long[name]["hiding"]]) for name in called}
fig, ax = plt.subplots(figsize=(8, 4.2))
study.draw_hiding(ax, results)
ax.set_title(
    f"Hiding beyond 20 characters costs ALiBi {price['alibi']:.2f} nats, v5 {price['v5']:.2f} (means)"
)
plt.show()
hiding_guess.compare(called[max(price, key=price.get)])

# %% [markdown]
# **RoPE uses the far part of its window.** If characters more than 20 back are hidden, RoPE's loss in the window's second half rises by 0.09 to 0.12 [nats](../docs/glossary.md#nats). The fixed kernel and RoPE are undecided. ALiBi fades with distance too, but its loss rises more than RoPE's, by 0.13 to 0.15 nats. The loss of the trained kernel rises less than RoPE's, by 0.02 to 0.06: it hardly reads there. Both differences from RoPE are decided and confirmed.

# %% tags=["answer"]
fig, ax = plt.subplots(figsize=(8, 4.4))
study.draw_reading(ax, results)
far = {name: long[name]["far"] for name in called}
means = [np.mean(far[name]) for name in ("v4", "v5 fixed")]
ax.set_title(
    f"In the last of four windows RoPE loses {means[0]:.2f} nats, the fixed kernel {means[1]:.2f} (means)"
)
plt.show()
lead = [v for v in far if all(decided_side(np.subtract(far[v], far[w])) == "below" for w in far if w != v)]
far_guess.compare(called[lead[0]] if lead else "no single one")

# %% [markdown]
# In the last of four windows RoPE meets distances that it was never trained on. Its loss is 1.16 to 1.54 nats (six seeds). Past 64 the loss of v5 stays below 0.6, because K hides these distances.
#
# The fixed kernel is about one nat lower than RoPE there (decided and confirmed). ALiBi and the fixed kernel are undecided there. Inside the window ALiBi's line is the lowest. But a second set of six seeds disagrees, so ALiBi, RoPE and the fixed kernel are undecided there.
#
# The note's formula (grey) had only 300 steps. After 300 steps it is 0.18 nats behind RoPE even inside the window (decided and confirmed).
#
# **So a kernel of the distance, left at its widths, is a sound idea.** But a low loss in a long text does not mean that the model remembers: K hides the far past.

# %%
live.tally()

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

# %%
tasks.BROKEN


# %%
def broken(log_K):
    """The set of the promises that log_K breaks, out of "distance", "near" and "finite"."""
    return set()


# %%
tasks.BROKEN.check(broken)

# %% [markdown]
# ## Recap
#
# 1. The note's formula multiplies a score by K(m) K(n), which depends on positions and not on their distance. Late in a window attention becomes an average.
# 2. v5 adds log K(m − n) to the scores. A factor that both α share cancels in the softmax. If a vector is multiplied by K first and normalised afterwards, K is lost.
# 3. A high score overrules the kernel. 31 tokens back a score of 8 gets 96% of the attention, and a score of 2 gets 6%, if the others are 0.
# 4. A fixed K and RoPE are undecided inside the window, after 300 to 1200 steps and with both sets of six seeds (2 layers of 96, windows of 64). At four times the length the fixed K is about one nat better than RoPE (1200 steps). So is ALiBi.
# 5. K trained from the start halves in 2 tokens, and 3 of 12 seeds answer after 1200 steps. With K fixed, or trained from step 600 on, 11 of 12 do.

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
# **b.** K(60) is 0.003, so all scores are near 0, and the softmax gives equal scores equal weights. *a* would be right for K(m − n). Scores are larger at *c*, but still tiny.
#
# </details>
#
# **2.** You double both α in the *note's formula*. What changes in the attention of a query near the start?
#
# - a) nothing
# - b) it becomes sharper
# - c) it reaches further back
#
# <details><summary>Answer</summary>
#
# **b.** There α multiplies the scores, by 2 · 2 = 4, and larger scores make a softmax sharper. *a* is true for v5.
#
# </details>
#
# **3.** After 1200 steps the trained kernel answers from few seeds. What shows that its training is the cause, and not the kernel?
#
# - a) its σ became smaller
# - b) RoPE without a kernel answers from all seeds
# - c) the same runs with the kernel left alone answer
#
# <details><summary>Answer</summary>
#
# **c.** Only one thing differs. *a* comes along with the failure, and *b* removes kernel and training at once.
#
# </details>
#
# **4.** A key 40 tokens back has a score of 8, and 100 other keys have 0. K(40) is 0.04, and the K of the others sum to 14. How much attention does the key get?
#
# - a) about 4%
# - b) about 50%
# - c) about 90%
#
# <details><summary>Answer</summary>
#
# **c.** $e^8$ is 2981, times 0.04 is 119, and 119 / (119 + 14) is 89%. *a* takes K for the attention itself.
#
# </details>
#
# **5.** Hiding everything more than 20 characters back costs ALiBi more than RoPE. What follows?
#
# - a) ALiBi puts little attention there
# - b) ALiBi used what stands there
# - c) ALiBi would read a longer text badly
#
# <details><summary>Answer</summary>
#
# **b.** A model can only lose what it used. Against *a*: the head with the gentlest slope still sees far. The last picture refutes *c*.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Note 001 reports no experiment. Its code does not compute its formula:
#
# - `K_r` holds a number for each *token*, and PyTorch multiplies the *channels* by it. The note's example raises an error.
# - The angles belong to half-split pairs, and the partners are interleaved (lesson 04). The result is no rotation.
# - No gradient reaches α and σ, and the table of frequencies does not move to a GPU with the model.
#
# The first exercise repairs the first two. The cell shows six claims, and [a page](../docs/notes/001.md) explains all.

# %% tags=["nbval-ignore-output"]
SHOWN = (
    "K(m) controls the sensitivity at relative positions",
    "the code runs on its own example",
    "RoPE is fixed and cannot adapt its focus to the distance",
    "a model does better with K (K of the distance)",
    "a model does better with K (the formula)",
    "a model is able to adjust the range of K by itself",
)
findings("001", first=SHOWN)

# %% [markdown]
# ## Further reading
#
# - [Chi et al. 2022](https://arxiv.org/abs/2205.09921): trained kernels of the distance, without rotation, one for each head.
# - [Press et al. 2021](https://arxiv.org/abs/2108.12409): ALiBi, straight lines with a slope for each head.
# - [Yang et al. 2018](https://arxiv.org/abs/1810.10182): a Gaussian whose centre and width the *query* chooses.

# %% [markdown]
# ## What comes next
#
# Notes 002 and 003 put **several texts into one sequence**. Each token then needs two numbers, its position and the number of its text. → [06 · Fourier branches](06_fourier_branches.ipynb)
