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
# **Can a score know how far, and nothing else?**
#
# "The second word before me" means the same on page 1 and on page 100. What matters between two tokens is mostly the way from one to the other, not the page. v3 knows that only in a roundabout way: it adds an absolute code and leaves the subtraction to the model. In this notebook we write down what we *wish* a score to be, and see that for matrices the wish leaves just one answer: **rotate the queries and the keys**. That is RoPE, the code in most large language models of today, and it makes **v4**.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 90 seconds to run on two cores, three quarters of an hour to do. **You will have seen:** why it must be a rotation, two ways of writing it and the bug that mixes them, what a model knows that always picks the right name of two, and three encodings sent four times further than they have ever been.

# %% tags=["nbval-ignore-output"]
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F

from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, invariants, live, metrics, plots
from babygpt.data.batches import cut
from babygpt.data.corpus import load_corpus
from babygpt.data.floors import floor_by_position, gain_of_longer_text
from babygpt.encodings import Encoding
from babygpt.encodings.rotary import Rotary, angles, rotate, rotate_pairs
from babygpt.experiments.results import load_results
from babygpt.tables import Table, source
from babygpt.training import follow, train

plots.set_style()

# %% [markdown]
# ## A wish
#
# A query $q$ stands at position $m$, a key $k$ at position $n$. Before they meet, each may be changed according to its place: $q$ by some matrix $A_m$, and $k$ by the matrix $A_n$ of *its* place; queries and keys share these matrices. Their score is the dot product of the two. Here is the wish:
#
# $$(A_m q)\cdot(A_n k)\quad\text{depends on } m - n \text{ only, for every } q \text{ and } k .$$
#
# Place 0 shall change nothing: $A_0$ is the identity. What else can we say about these matrices? Written with the transpose, the wish is about the product $A_m^\top A_n$.
#
# - **Both at the same place.** The distance is 0, as at the start of the text, so $A_m^\top A_m = A_0^\top A_0 = 1$. Such a matrix leaves every length as it is: it can turn or mirror, and never stretch.
# - **One step apart.** The distance is the same as from 0 to 1, so $A_m^\top A_{m+1} = A_0^\top A_1 = A_1$. Multiply by $A_m$ from the left: $A_{m+1} = A_m A_1$. Each step does the same thing once more.
#
# So $A_m$ is **one length-preserving matrix, applied $m$ times**. In two dimensions there are two kinds of those. A mirror, applied twice, is back where it was: it can tell odd places from even ones, and that is all. What is left is a **rotation** by some angle $\omega$ a token. (In more dimensions it is several of them, each turning its own pair.) We did not choose it. We wished, and it was the only one there.
#
# The only one, that is, of *matrices that queries and keys share*. If they may have two kinds, more will do: multiply $q$ by $c^m$ and $k$ by $c^{-n}$, and the product knows $m - n$ only; xPos (Sun et al. 2022, arXiv:2212.10554) is RoPE with such a factor. And who *adds* something to the score instead of multiplying, as ALiBi will below, is free as well.
#
# > **Predict.** A query at 2 meets a key at 1, both rotated by a quarter turn a token. Then the same query at 12 meets the same key at 11. And then the query stands at 1, the key at 2. Which of the three scores agree? Is any of them the score that the two have without a rotation?

# %% [markdown]
# ## By hand, with complex numbers
#
# Take a pair of channels $(a, b)$ to be the complex number $a + bi$. Then two old tools become short:
#
# - the dot product of two pairs is $\operatorname{Re}(q\,\bar k)$, where $\bar k$ is $k$ with the sign of its imaginary part turned;
# - rotating by an angle $\varphi$ is multiplying by $e^{i\varphi}$; by a quarter turn, multiplying by $i$.
#
# Let $q = (2, 1)$ and $k = (0, 2)$. Their dot product is $2\cdot 0 + 1\cdot 2 = 2$. Python speaks complex numbers, and calls $i$ `1j`.

# %%
query, key = 2 + 1j, 0 + 2j
assert (query * key.conjugate()).real == 2


# %%
def score(m, n):
    """The score of the query at m and the key at n, with a quarter turn a token."""
    return (query * 1j**m * (key * 1j**n).conjugate()).real


# %%
print(score(2, 1), score(12, 11), score(1, 2))
assert (score(1, 1), score(2, 1), score(1, 2)) == (2, 4, -4)

# %% [markdown]
# Side by side the two score 2, as without a rotation. With the key one step back they score 4, at the start of the text and further on; with the key one step ahead, −4. Place does not matter, distance and direction do. This query finds what stands just before it. The bare codes of v3 could not do that: their likeness was even.
#
# Why it works can be read off in one line. Conjugating turns the sign of the angle, and multiplying adds the angles:
#
# $$\operatorname{Re}\big(q\,e^{im\omega}\;\overline{k\,e^{in\omega}}\big) = \operatorname{Re}\big(q\,\bar k\;e^{i(m-n)\omega}\big).$$
#
# On the right $m$ and $n$ occur only as $m - n$. Watch the two hands: both move on, and the angle between them stays.

# %%
fig, ax = plt.subplots(figsize=(4.8, 4.8))
omega = 0.5  # radians a token
hands = {"q at 3": 3.0, "k at 1": 1.0, "q at 8": 8.0, "k at 6": 6.0}
title = "q at 3 and k at 1, q at 8 and k at 6: the same angle"
plots.draw_clock(ax, [omega * m for m in hands.values()], list(hands), title, arcs=[(1, 0), (3, 2)])
plt.show()

# %% [markdown]
# Now move them yourself. In notebook 00 these sliders came without an explanation; here is the whole of it. **Place** moves both hands, **distance** only the key, **pair** chooses a slower or a quicker clock, and **θ** sets the speeds of all. The second clock shows the same two, 37 tokens further on: other hands, the same arc between them.

# %%
live.rotary()

# %% [markdown]
# The curve on the right is the score of a query that equals its key, all pairs together, as the distance grows. Each pair contributes a cosine; they agree at distance 0 and drift apart after it. Pull θ down to 10, and they drift apart within a few tokens; push it up, and they stay together.
#
# ## In the package
#
# The package does just this, for any number of pairs at once: it reads each pair of channels as one complex number, multiplies, and reads the product as a pair again.

# %%
source(rotate_pairs)

# %%
pair = torch.tensor([[2.0, 1.0], [2.0, 1.0], [2.0, 1.0], [2.0, 1.0]])
quarter = torch.arange(4)[:, None] * math.pi / 2  # no turn, a quarter, a half, three quarters
turned = rotate_pairs(pair, quarter)
print(turned.round().int().tolist())
assert torch.allclose(turned[1], torch.tensor([-1.0, 2.0]), atol=1e-6)  # (2 + i) i = -1 + 2i


# %% [markdown]
# ## Many pairs, many speeds
#
# One pair goes round and repeats itself; a quarter turn a token cannot tell 1 from 5. The cure is known from notebook 03: many pairs, each at its own speed. A head with $D$ channels has $D/2$ pairs, and pair $i$ turns by
#
# $$\omega_i = \theta^{-2i/D}\quad\text{radians a token, } \theta = 10000,$$
#
# the sinusoid's own frequencies. (Su et al. 2021, who called it *rotary position embedding*.) Nothing is added to the tokens; queries and keys are rotated in every layer just before they meet, and the values are left alone.
#
# To be sure that the package does what the formula says, we write the formula down a second time, with real numbers and nothing of the package's. Multiplied out, $(a + bi)(\cos\varphi + i\sin\varphi)$ is $(a\cos\varphi - b\sin\varphi) + (a\sin\varphi + b\cos\varphi)\,i$.


# %%
def rotate_real(x, position, theta=10_000.0):
    """RoPE as the formula has it: (..., T, D) -> (..., T, D)."""
    D = x.shape[-1]
    omega = theta ** (-torch.arange(0, D, 2, dtype=torch.float64) / D)  # (D / 2,)
    cos, sin = (position[:, None] * omega).cos(), (position[:, None] * omega).sin()  # (T, D / 2)
    a, b = x.double()[..., 0::2], x.double()[..., 1::2]  # (..., T, D / 2)
    return torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2)


# %%
torch.manual_seed(0)
positions = torch.arange(512)
x = torch.randn(2, 4, 512, 24, dtype=torch.float64)  # (B, H, T, D)
assert (rotate(x, positions) - rotate_real(x, positions)).abs().max() < 1e-10
assert (rotate(x.float(), positions) - rotate_real(x.float(), positions)).abs().max() < 1e-5
assert torch.allclose(rotate(x, positions).norm(dim=-1), x.norm(dim=-1))  # no vector is stretched

# %% [markdown]
# The sixth digit in single precision, the eleventh in double, and no length changes. Now the wish itself. We let one random query and one random key stand at every place from 0 to 47 and draw all their scores.
#
# > **Predict.** What will the picture look like, if the wish has come true?

# %%
torch.manual_seed(1)
q, k = torch.randn(2, 1, 1, 1, 24, dtype=torch.float64).expand(2, 1, 1, 48, 24)
scores = (rotate(q, torch.arange(48)) @ rotate(k, torch.arange(48)).mT)[0, 0]  # (48, 48)
assert torch.allclose(scores[1:, 1:], scores[:-1, :-1])  # one step along the diagonal

# %%
fig, ax = plt.subplots(figsize=(5.6, 4.6))
title = "One query, one key: equal along every diagonal"
axes = ("position of the key n", "position of the query m")
plots.draw_matrix(ax, scores.numpy(), title, *axes, diverging=True)
plt.show()

# %% [markdown]
# Stripes. Walk along a diagonal, and $m$ and $n$ grow together: nothing happens. Step across, and the distance changes: so does the score. And the two sides of the main diagonal are different, so *before* is not *after*.
#
# The module that v4 plugs into its attention holds no table and nothing to train:

# %%
source(Rotary)


# %% [markdown]
# ## Two layouts, and a trap
#
# Which channels form a pair? The paper takes neighbours: (0, 1), (2, 3), … We call it **interleaved**, and this course uses it everywhere. Much code in the wild takes channel $i$ and channel $i + D/2$ instead: the first half of the vector against the second, **half-split**. Here is that one.


# %%
def turn_halves(x, angle):
    """Rotate channels i and i + D/2 by angle i: (..., D) and (..., D / 2) -> (..., D)."""
    a, b = x.chunk(2, dim=-1)
    cos, sin = angle.cos(), angle.sin()
    return torch.cat([a * cos - b * sin, a * sin + b * cos], dim=-1)


# %% [markdown]
# Is it the same thing? Channels have no order of their own: the matrices that make $q$ and $k$ can put anything anywhere. So sort the channels, even ones first and odd ones after, and compare.

# %%
angle = angles(torch.arange(512), 24)
evens_first = [*range(0, 24, 2), *range(1, 24, 2)]
assert torch.allclose(turn_halves(x[..., evens_first], angle), rotate_pairs(x, angle)[..., evens_first])


# %% [markdown]
# Equal, up to a permutation of the channels. As long as $q$ and $k$ are permuted alike, no score can tell. **Each layout is right by itself.** (A model trained with one must not be run with the other, unless its matrices are permuted too. It has happened.)
#
# The trap is to take half of each. Many implementations write RoPE as `x * cos + rotate_half(x) * sin`, where `rotate_half` makes the partner of every channel, with its sign. For half-split pairs the angles have to be laid out as $\omega_0, \omega_1, \dots, \omega_0, \omega_1, \dots$; for interleaved pairs as $\omega_0, \omega_0, \omega_1, \omega_1, \dots$ The code in source note 001 lays the angles out for the one, and swaps the channels for the other. Here are its lines.


# %%
def turn_mixed(x, angle):
    """As note 001 has it: half-split angles, interleaved partners."""
    emb = torch.cat((angle, angle), dim=-1)  # the angles of half-split pairs
    x1, x2 = x[..., ::2], x[..., 1::2]
    partner = torch.stack((-x2, x1), dim=-1).flatten(-2)  # the partners of interleaved pairs
    return x * emb.cos() + partner * emb.sin()


# %% [markdown]
# It runs, the shapes are right, and nothing complains. But look at channels 0 and 1. They are partners, and channel 0 is turned by $a = m\omega_0$, channel 1 by $b = m\omega_1$:
#
# $$\begin{pmatrix}\cos a & -\sin a\\ \sin b & \cos b\end{pmatrix},\qquad\text{determinant } \cos a\cos b + \sin a\sin b = \cos(a - b).$$
#
# For a rotation the determinant is 1. Here it is anything between −1 and 1, depending on the place: the pair is squashed.
#
# > **Predict.** Two promises of RoPE are at stake: that no vector changes its length, and that a score depends on the distance alone. Which of them does the mixture break?


# %%
class Mixed(Encoding):
    """The mixture as an encoding, so that the invariants can examine it."""

    def transform_qk(self, q, k, positions):
        angle = angles(positions.time, q.shape[-1])
        return turn_mixed(q, angle), turn_mixed(k, angle)


# %% tags=["nbval-ignore-output"]
checks = (invariants.norm_preserved, invariants.shift_invariant)
clean, mixed = ([check(encoding) for check in checks] for encoding in (Rotary(32), Mixed()))
assert all(promise.holds for promise in clean)
assert not any(promise.holds for promise in mixed)
invariants.promises([*clean, *mixed])

# %% [markdown]
# Both. The first two rows are RoPE's, the last two the mixture's. The third row says by what part of itself the mixture has changed a random vector's length, the fourth by how much a score when both tokens move together; typical scores are about 6. Two numbers, to be exact about it:

# %%
lengths = turn_mixed(x, angle).norm(dim=-1) / x.norm(dim=-1)
print(f"a vector's length is multiplied by {lengths.min():.2f} to {lengths.max():.2f}")
pairs = [(3, 1), (103, 101)]
both = [float(turn_mixed(q, angle[m])[0, 0, 0] @ turn_mixed(k, angle[n])[0, 0, 0]) for m, n in pairs]
print(f"score at 3 and 1: {both[0]:.2f}, at 103 and 101: {both[1]:.2f}")
assert abs(both[0] - both[1]) > 0.1

# %% [markdown]
# No rotation, and no relative code either. What note 001 *claims* for its model, a kernel on top of this, is examined in notebook 05. A model can often learn in spite of such a bug, so a falling loss does not reveal it. An invariant does, in a second.
#
# ## Train it
#
# We take the small world of notebook 03: stories of one kind of fact, and only names that end in *-la* or *-ra*. There v3 was done a favour, windows that begin where a story begins. Here the windows are cut **anywhere**, as for any real language model, so a place in the window says nothing about the place in a story.
#
# > **Predict.** How many of the *who* questions does v4 get right, if we ask which of the two names is likelier? And if it has to write the name itself?

# %%
corpus = load_corpus("plain-tales", n_chars=400_000)
tokenizer, vocab_size = corpus.tokenizer, corpus.tokenizer.vocab_size
questions = corpus.grammar.questions(400, seed=2, max_chars=64)
print(f"floor {corpus.floor:.2f} nats per character")
print(questions[0].prompt + questions[0].answer)

# %% tags=["nbval-ignore-output"]
shape = ModelConfig(vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
recipe = TrainConfig(steps=450, batch_size=12, lr_matrix=0.03, lr_other=0.02)
objective, floor = NextToken(corpus, shape.block_size), {"floor": corpus.floor}
watches = [live.roles(tokenizer, questions[:24]), live.heads(tokenizer, questions[0].prompt.strip())]
torch.manual_seed(1337)
v4 = build("v4", shape)
run = live.train(v4, objective, recipe, "v4", floor, watches)

# %% [markdown]
# You can read on while it trains. Is v3 lost without its favour? It is not. On the full tales, with windows cut anywhere, three seeds put it a little *ahead* of v4 after 600 steps ([figure](../figures/roles.png)): inside the window that it was trained on, an additive code can do the job. That RoPE is the better idea has to show elsewhere, and it will, further down.

# %%
stored = load_results("roles")
by_seed = zip(stored["val_loss"]["v3"], stored["val_loss"]["v4"], strict=True)
assert all(v3 < v4 for v3, v4 in by_seed)
assert min(stored["accuracy"]["v3"]) > 0.97

# %% [markdown]
# ## What does it know?
#
# The next cell waits for v4, and then asks 400 questions in two ways. *Which of the two names that stand in the story is likelier?* That is the score of the dashboard, and chance is one half. And: *write the answer*, taking the likeliest letter each time; the whole name must be right.

# %% tags=["nbval-ignore-output"]
history = run.result()
losses = [step.loss for step in history]
likelier = metrics.role_accuracy(v4, tokenizer, questions)
written = metrics.whole_answer_accuracy(v4, tokenizer, questions)
assert likelier > 0.9
assert written < 0.5
rows = [("the right one of two names is likelier", f"{likelier:.0%}"), ("writes it", f"{written:.0%}")]
Table(("v4", "of 400 questions"), rows, stable=1)

# %% tags=["nbval-ignore-output"]
for ask, text in zip(questions[:6], metrics.greedy_answers(v4, tokenizer, questions[:6]), strict=True):
    print(f"{ask.prompt.strip():45} {ask.answer:6} v4: {text}")

# %% [markdown]
# A model that is right nearly always, and hardly ever! See what it writes: the right first letter, then one of five vowels, then something that fits. Here is the loss letter by letter.

# %% tags=["nbval-ignore-output"]
by_letter = metrics.answer_losses(v4, tokenizer, questions)  # (5,) nats: four letters and the full stop
assert by_letter[0] < 0.1
assert abs(by_letter[1] - math.log(5)) < 0.2
assert by_letter[3:].max() < 0.1
print("  ".join(f"{loss:.2f}" for loss in by_letter), f"   ln 5 = {math.log(5):.2f}")

# %% [markdown]
# The second letter costs $\ln 5$: after *who fed?* v4 has found out with which letter the right name begins, and **guesses the vowel**. (The third is *l* or *r*, and the fourth is *a* in every name of this small world.) If this is so, the score of two names has been a test of first letters. So let us ask only about names that begin with the same letter.
#
# > **Predict.** What share of those will v4 get right?

# %% tags=["nbval-ignore-output"]
many = corpus.grammar.questions(4000, seed=2, max_chars=64)
alike = [ask for ask in many if ask.answer[0] == ask.rival[0]]
different = [ask for ask in questions if ask.answer[0] != ask.rival[0]]
shares = [metrics.role_accuracy(v4, tokenizer, some) for some in (different, alike)]
assert shares[0] > 0.95
assert 0.35 < shares[1] < 0.75
rows = [(name, f"{x:.0%}") for name, x in zip(("different letters", "the same letter"), shares, strict=True)]
Table(("names begin with", "right answers"), rows, stable=1)

# %% [markdown]
# There it is. A score is a question, and one has to know which. Is v4 too small to learn the rest, or too young? The study `python -m babygpt figures names` trained it from three seeds for 450 steps and for 1800.

# %%
study = load_results("names")
for arm, seeds in study["whole"].items():
    print(f"{arm:29} writes the name:", *(f"{share:4.0%}" for share in seeds))
fewest, middle, most = sorted(study["whole"]["v4, plain-tales, 1800 steps"])
assert fewest < 0.3 < 0.85 < middle

# %% [markdown]
# It was too young, in two cases of three: after 1800 steps two seeds write nearly nine names of ten, or all, and the third still guesses the vowel. Runs of two kinds have no mean worth showing, so here is each seed. ([The figure](../figures/names.png) shows each run's letters.)
#
# ## How much of the gap is that?
#
# v4's loss is far above the floor. Is that the names? Not so fast. The floor is a rate, for a reader who has the whole text. A window that is cut anywhere begins in the middle of a story, and who did what before the cut nobody can know. `floor_by_position` works out what the best of all readers loses at each place of such windows: one who knows the grammar by heart, and sees nothing but the window.
#
# > **Predict.** The rate is 0.33. What is the floor of windows of 64, in the mean over their places? v4 is at about 0.54.

# %% tags=["nbval-ignore-output"]
least, _ = floor_by_position(corpus.grammar, shape.block_size, n_windows=300)  # (64,) nats
found = metrics.loss_by_position(v4, corpus.val, shape.block_size, n_windows=512)
assert corpus.floor + 0.1 < least.mean() < found.mean() < least.mean() + 0.13
assert least[48:].mean() < corpus.floor + 0.05
rows = [("the text's rate", corpus.floor), ("the windows' floor", least.mean()), ("v4", found.mean())]
Table(("", "nats per character"), [(name, f"{nats:.2f}") for name, nats in rows], stable=1)

# %% tags=["nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(7, 4))
title = f"The best of all readers needs {least.mean():.2f}, v4 {found.mean():.2f}"
curves = {"v4 after 450 steps": found, "best reader": least}
plots.draw_by_position(ax, curves, shape.block_size, title, smooth=4)
plt.show()

# %% [markdown]
# (The two curves are read off different windows; where v4 seems to be ahead, that is the luck of samples.) Most of the gap is nobody's fault: it is the price of a cut window, and at the window's end it is paid. And what is left? The study has sorted v4's losses by what a letter belongs to, in stories that stand in the window from their first letter on. There, answers cost the best reader nothing, and repeated words 0.006 nats per character of all text (in *fed whom?* the first letter of the repeated verb also tells which question is asked).

# %%
arm, longer = (f"v4, plain-tales, {steps} steps" for steps in (450, 1800))
for part in ("answer", "repeated word"):
    before, after = ([seed[part] for seed in study["parts"][name]] for name in (arm, longer))
    print(f"{part:14}", *(f"{x:.3f}" for x in before), "  after 1800 steps", *(f"{x:.3f}" for x in after))
    assert all(0.015 < x < 0.03 for x in before)
    assert sum(after) < sum(before)

# %% [markdown]
# After 450 steps the answers cost about 0.02 nats per character of all text, and the other words that a story repeats another 0.02: together about half of what is left. Where the vowel has been learnt, after 1800 steps, the answers' part is gone.

# %% tags=["nbval-ignore-output"]
known = sum(np.mean([seed[part] for seed in study["parts"][arm]]) for part in ("answer", "repeated word"))
assert 0.35 < known / (found.mean() - least.mean()) < 0.75
assert sorted(seed["answer"] for seed in study["parts"][longer])[1] < 0.002  # in two of three seeds


# %% [markdown]
# ## Which head does it?
#
# v4 finds the right first letter. Where in the model does that happen? A picture of attention tempts us to look for a bright square and call it the answer. Let us be careful and ask twice. First, while the answer's first letter is predicted, how much weight does each of the eight heads put on the right name, and how much on the wrong one?


# %%
def looks(model, question):
    """Weight on the right and on the wrong name while the answer's first letter is written: 2 of (L, H)."""
    weights = metrics.attention_weights(model, tokenizer.encode(question.prompt))[:, :, -1]  # (L, H, T)
    columns = (question.prompt.index(name) + np.arange(4) for name in (question.answer, question.rival))
    return [weights[:, :, some].sum(axis=-1) for some in columns]


# %% [markdown]
# Second, take each head away and see what is lost. `ablate_heads` sets to zero what one head writes into the stream, and asks the questions again.
#
# > **Predict.** Some heads put nearly all their weight on the right name. What will be left of the right answers without the strongest of them?

# %% tags=["nbval-ignore-output"]
on_right, on_wrong = np.mean([looks(v4, ask) for ask in questions[:100]], axis=0)  # (L, H) each
without = metrics.ablate_heads(
    v4, lambda model: metrics.role_accuracy(model, tokenizer, questions[:200])
)  # (L, H)
rows = [
    (f"layer {i + 1}, head {j + 1}", *(f"{x[i, j]:.0%}" for x in (on_right, on_wrong, without)))
    for i in range(shape.n_layer)
    for j in range(shape.n_head)
]
Table(("", "weight on the right name", "on the wrong one", "right answers without it"), rows, stable=1)

# %% tags=["nbval-ignore-output"]
bright = divmod(int((on_right - on_wrong).argmax()), shape.n_head)
needed = divmod(int(without.argmin()), shape.n_head)
spelt = [f"layer {i + 1}, head {j + 1}" for i, j in (bright, needed)]
print(f"looks most at the right name: {spelt[0]}; right answers without it {without[bright]:.0%}")
print(f"is needed most:               {spelt[1]}; right answers without it {without[needed]:.0%}")

# %% tags=["nbval-ignore-output"]
ask = max(questions[:40], key=lambda question: -len(question.prompt))
text = ask.prompt.removeprefix("\n")  # it ends with the space after which the answer is written
looked_at = metrics.attention_weights(v4, tokenizer.encode("\n" + text))[bright][1:, 1:]
assert looked_at[-1].argmax() == text.index(ask.answer)
fig, ax = plt.subplots(figsize=(8, 6.6))
title = f"The brightest picture: {spelt[0]}. Without it, {without[bright]:.0%} are still right"
plots.draw_matrix(ax, looked_at, title, "letter looked at", "letter that looks", plots.visible(text))
plt.show()

# %% [markdown]
# The last row is the space after which the answer is written, and its bright square stands under the first letter of the right name. It is a good picture, and no proof: this head is not alone. Let us silence the *two* that look most at the right name.

# %% tags=["nbval-ignore-output"]
order = np.argsort((on_right - on_wrong).ravel())[::-1]
pair = [divmod(int(at), shape.n_head) for at in order[:2]]
with metrics.without_heads(v4, pair):
    alone = metrics.role_accuracy(v4, tokenizer, questions[:200])
print(f"without {' and '.join(f'layer {i + 1}, head {j + 1}' for i, j in pair)}: {alone:.0%} right")
assert alone < 0.65
assert needed[0] == 0
assert without[needed] < 0.7
assert on_right[needed] < 0.2

# %% [markdown]
# Without both, v4 tosses coins: they do the same work, and one can stand in for the other. And the head that is needed most has no bright square to show. It is in the **first** layer, and where the answer is written it hardly looks at either name. What is it for? Let us silence it, and see where the two heads of the second layer look then.

# %% tags=["nbval-ignore-output"]
with metrics.without_heads(v4, [needed]):
    then_right, then_wrong = np.mean([looks(v4, ask) for ask in questions[:100]], axis=0)
for at in pair:
    now, then = (
        f"{a[at]:4.0%} and {b[at]:4.0%}" for a, b in ((on_right, on_wrong), (then_right, then_wrong))
    )
    print(f"layer {at[0] + 1}, head {at[1] + 1} on the right name and the wrong one: {now}; then {then}")
    assert on_right[at] > 5 * on_wrong[at]
    assert then_right[at] < 2.5 * then_wrong[at]

# %% [markdown]
# They still look at names, but no longer know at which! In some form the first layer's head tells them which of the two is asked for. Is it an accident of one run? In all three runs of the study there is a head in the first layer without which the answers are a coin's.

# %%
first_layer = [np.min(seed, axis=1)[0] for seed in study["without"][arm]]
print("right answers without the first layer's most needed head:", *(f"{x:.0%}" for x in first_layer))
assert max(first_layer) < 0.65

# %% [markdown]
# So the weights tell where a head looks; only taking it away tells what the model needs it for. (Even that with care: a head that says nothing is something the model has never met.)
#
# Ask the model something yourself, and go through its heads:

# %% tags=["nbval-ignore-output"]
live.attention(v4, tokenizer, text)

# %% [markdown]
# ## Turn it while it learns
#
# RoPE has nothing to train. Its one dial is θ, as it was v3's. Here is the v4 of above once more, with the same first weights, the same batches and the same steps, and a slider for its θ; a new value holds from the next step on.
#
# > **Predict.** Half-way through, θ goes from 10000 to 10, so that all pairs but the first turn faster. The weights stay as they are. What will the loss do at that step, and what after it? Which of the heads in the squares will look elsewhere at once?

# %% tags=["nbval-ignore-output"]
torch.manual_seed(1337)
dial = live.Scale("theta", 10_000.0, 10.0, 1_000_000.0, "θ")
steered = live.train(build("v4", shape), objective, recipe, "v4, steered", floor, watches, controls=[dial])

# %% [markdown]
# Turn it whenever you like. If you have not by step 225, the next cell does it for you.

# %% tags=["nbval-ignore-output"]
steered.wait_for_step(225)
if not any(step.changed for step in steered.history):
    steered.steer("theta", 10.0)
history = steered.result()
turns = [step.changed for step in history if step.changed]
as_planned = turns == [{"theta": 10.0}]  # and not by your hand

# %% [markdown]
# Beside it, the run that nobody touched: the v4 that you have known since above, with the same batches. Until the turn the two are one and the same.

# %% tags=["nbval-ignore-output"]
alone, turned = np.array(losses[: len(history)]), np.array([step.loss for step in history])
at = next((step.step for step in history if step.changed), len(history)) - 1  # steps before the turn
assert np.abs(turned - alone)[:at].max(initial=0) < 0.1
spans = {"the step of the turn": slice(at, at + 1), "45 to 55 steps on": slice(at + 45, at + 55)}
spans["the last ten steps"] = slice(-10, None)
both = {name: (alone[span].mean(), turned[span].mean()) for name, span in spans.items()}
rows = [(name, *(f"{x:.2f}" for x in (a, b)), f"{b - a:+.2f}") for name, (a, b) in both.items()]
Table(("loss (nats per character)", "untouched", "turned", "difference"), rows, stable=1)

# %% tags=["nbval-ignore-output"]
leap, later, end = (b - a for a, b in both.values())
assert not as_planned or (leap > 0.3 and 0 < later < leap and 0 < end < leap / 2)
fig, ax = plt.subplots(figsize=(7, 4))
title = (
    f"Turned after {at} steps: {leap:+.2f} nats at once, {end:+.2f} at the end" if turns else "Never turned"
)
plots.draw_losses(ax, {"untouched": alone.tolist(), "turned": turned.tolist()}, floor, title)
plt.show()

# %% [markdown]
# The loss leaps, in a single step. There is nothing to learn in a rotation, and yet all that *is* learnt is learnt **for these rotations**: a head that looks one letter back does it by turning its query against a known angle, and the angles are suddenly others. Then the weights follow, but not in a moment: the table says how far the turned run is behind fifty steps later, and that it is still behind, in this one run, when the steps are used up and the learning rate has fallen to nothing. (Whether θ = 10 from the first step on would have been worse, this run does not tell.) (Every step keeps what you turned in its record, as `changed`, so that a steered run can be repeated to the last bit: `train(…, steering=replay(history))`.)
#
# ## Three travellers
#
# For the rest of the notebook we need more than one model: **v3**, **v4**, and **ALiBi** (Press et al. 2022), the plainest of all: it rotates nothing and adds nothing to the tokens, and just takes away from each score an amount that grows with the distance, steeply in one head and gently in another. Here it is beside RoPE. On the left, what distance takes from a score; on the right, how much of its attention a head has spent within a distance, if all tokens are alike to it.

# %%
live.alibi()

# %% [markdown]
# Each head of ALiBi has a horizon of its own, and **steepness** moves them all. RoPE's score falls at first, and then it wobbles: it has a sense of near, and no horizon.

# %%
same = rotate(torch.ones(1, 1, 65, 32, dtype=torch.float64), torch.arange(65))[0, 0]  # (T, D), q = k = ones
curve = same @ same[0] / 32
print(f"RoPE's score for q = k: {curve[0]:.2f} at distance 0, {curve[8]:.2f} at 8, {curve[60]:.2f} at 60")
assert curve[60] < 0.5 < curve[0]
assert (curve.diff() > 0).any()

# %% [markdown]
# Now three small models, windows of 48, the same batches.

# %% tags=["nbval-ignore-output"]
small = ModelConfig(vocab_size, block_size=48, n_layer=2, n_head=4, n_embd=64)
short_run = TrainConfig(steps=200, batch_size=16, lr_matrix=0.03, lr_other=0.02)
travellers = {}
for version in ("v3", "v4", "alibi"):
    torch.manual_seed(1337)
    travellers[version] = build(version, small)
    steps = train(travellers[version], NextToken(corpus, small.block_size), short_run)
    follow(steps, short_run.steps, version, leave=False)


# %% [markdown]
# ## Move the text
#
# A model whose scores know the distance only should not notice if a whole text is moved. Let us number the tokens of a window from 1000 on instead of from 0: same text, same distances, other places.
#
# > **Predict.** What becomes of v3's loss, and what of v4's? And of ALiBi's?


# %%
def moved_loss(model, start, length=40, n=64):
    """Loss on windows whose first token is said to stand at position `start`."""
    windows = cut(corpus.val, torch.linspace(0, len(corpus.val) - length - 1, n).long(), length + 1)
    with torch.inference_mode():
        logits = model(windows[:, :-1], Positions.arange(length, start))
    return F.cross_entropy(logits.transpose(1, 2), windows[:, 1:]).item()


# %% tags=["nbval-ignore-output"]
moved = {name: [moved_loss(travellers[name], at) for at in (0, 1000)] for name in ("v3", "v4", "alibi")}
assert all(abs(moved[name][1] - moved[name][0]) < 0.001 for name in ("v4", "alibi"))
assert moved["v3"][1] > moved["v3"][0] + 0.5
rows = [(name, *(f"{loss:.3f}" for loss in losses)) for name, losses in moved.items()]
Table(("loss (nats per character)", "from 0", "from 1000"), rows, stable=1)

# %% [markdown]
# v4 does not notice, and neither does ALiBi; v3 is lost. Position 1000 means nothing to v4, because no position does.
#
# ## Four times longer
#
# Then surely v4 can also read *longer* texts than it was trained on? Careful: in a longer text there are not only later places but also **longer distances**, and those it has never seen. We let our travellers read windows of 192, four times what they know. A fourth one cannot come along: a learned table has 48 rows, and asked for a 49th it says no.

# %%
try:
    metrics.loss_by_position(build("learned", small), corpus.val, length=49)
except ValueError as refusal:
    print(refusal)

# %% [markdown]
# To compare fairly, we let each model predict **the same characters twice**: once with all that stands before them in the long window, and once with no more than the last 48 characters, as it was trained. What changes is due to the longer text and to nothing else.
#
# > **Predict.** Put the three names in order: whose loss changes least? Does anyone's fall?

# %% tags=["nbval-ignore-output"]
far = 4 * small.block_size
change = {
    name: metrics.position_matched_change(model, corpus.val, far, 48) for name, model in travellers.items()
}
assert change["v3"][0] > change["v4"][0] > 0.3 > 0.15 > abs(change["alibi"][0])
rows = [(name, f"{x:+.2f} ± {error:.2f}") for name, (x, error) in change.items()]
Table(("model", "change of the loss (nats per character)"), rows, stable=1)

# %% tags=["nbval-ignore-output"]
by_position = {
    name: metrics.loss_by_position(model, corpus.val, far, 128) for name, model in travellers.items()
}
fig, ax = plt.subplots(figsize=(8, 4.4))
title = f"The longer text: ALiBi {change['alibi'][0]:+.2f}, RoPE {change['v4'][0]:+.2f}, sinusoid {change['v3'][0]:+.2f}"
plots.draw_by_position(ax, by_position, small.block_size, title, smooth=8)
plt.show()

# %% [markdown]
# Each code has its own way of growing old. The **sinusoid** goes on at once into rows that the model has never met, and its loss leaps. **RoPE** goes wrong more gently: scores depend on the distance alone, as promised, *but distances beyond the window were never trained*. Relative does not mean unlimited. **ALiBi** stays nearly where it was. And nobody gains from the longer text. In these stories nobody can: the best of all readers has no use for more than 48 letters. ([Three seeds on the full tales](../figures/lengths.png) put the models in the same order; there NoPE came along, which was never good and gets worse.)

# %%
gain, _ = gain_of_longer_text(corpus.grammar, small.block_size, far, n_windows=20, every=8)
print(f"the best reader, with more than 48 letters: {abs(gain):.3f} nats better")
assert abs(gain) < 0.0005

# %% [markdown]
# Why is ALiBi so calm? The tempting answer is that it no longer looks that far. Let us see how much of its attention lies beyond the 47 tokens that its window has shown it.

# %% tags=["nbval-ignore-output"]
penalty = travellers["alibi"].encoding.slopes.double()[:, None] * torch.arange(far)  # (H, 192)
equal = (-penalty).softmax(dim=-1)[:, 48:].sum(dim=-1)  # what is beyond, if all tokens are alike
weights = metrics.attention_weights(travellers["alibi"], corpus.val[:far])  # (L, H, T, T)
trained = weights[:, :, -48:].cumsum(axis=-1)[..., range(48), range(far - 96, far - 48)].mean(axis=-1)
rows = [(f"head {h + 1}", *(f"{x:.0%}" for x in (equal[h], *trained[:, h]))) for h in range(4)]
Table(("weight beyond 47 tokens", "all tokens alike", "trained, layer 1", "layer 2"), rows, stable=2)


# %% [markdown]
# It does look. The two gentlest heads spend four and six tenths of their attention beyond all that they were trained on, much as they would if all tokens were alike to them. ALiBi's calm is not blindness. What it meets far away is more of the same, a lower score for a longer way.
#
# And RoPE? Far distances turn its slow pairs to angles where they have never been, while its quick pairs have been all the way round in any window. Are those angles to blame? Let us turn the pairs four times more slowly, so that the longest distance, 191 tokens, turns them hardly further than 47 did in training: all of them, or only those that are slow.
#
# > **Predict.** Which will do better: all, or only the slow ones?


# %%
class Slower(Rotary):
    """RoPE whose pairs turn four times more slowly: all of them, or those that take more than 48 tokens."""

    def transform_qk(self, q, k, positions):
        omega = angles(torch.ones(1), q.shape[-1])  # (1, D / 2) radians a token
        slower = (2 * math.pi / omega > 48) | self.every
        angle = positions.time[:, None] * torch.where(slower, omega / 4, omega)
        return rotate_pairs(q, angle), rotate_pairs(k, angle)


# %%
def last_losses(model):
    """Loss at places 144 to 191 of long windows; and of the same letters, each after 48 letters only."""
    at, short, long = metrics.position_matched_losses(model, corpus.val, far, n_windows=48)
    return long[:, at >= 144].mean(), short[:, at >= 144].mean()


# %% tags=["nbval-ignore-output"]
model, encoding = travellers["v4"], travellers["v4"].encoding
plain, short = last_losses(model)
tried = {"after 48 letters each": short, "as it is": plain}
for name, every in (("all pairs four times slower", True), ("slow pairs four times slower", False)):
    model.encoding = Slower(small.head_dim)
    model.encoding.every = every
    tried[name], _ = last_losses(model)
model.encoding = encoding
rows = [(name, f"{loss:.2f}") for name, loss in tried.items()]
Table(("v4 at places 144 to 191", "loss (nats per character)"), rows, stable=1)

# %% tags=["nbval-ignore-output"]
short, plain, all_slower, some_slower = tried.values()
assert all_slower > plain + 0.5
assert plain - 0.1 > some_slower > short + 0.4


# %% [markdown]
# Slowing all of them makes things much worse: the quick pairs tell neighbours apart, and now the letter before looks like no distance that the model knows. Slowing only the slow ones helps, so their angles were part of the trouble; but a good part remains. A softmax over four times as many tokens is new as well, and matrices that were fitted to old angles do not know what to do with these either.
#
# And how then do models read 100,000 tokens with RoPE? They turn the slow pairs more slowly, and train on: some raise θ (to 500,000 in Llama 3, arXiv:2407.21783), some divide all positions until the long text fits into the trained window (**position interpolation**, Chen et al. 2023, arXiv:2306.15595), and some divide for the slow pairs only and leave the quick ones, which tell neighbours apart, as they were (**YaRN**, Peng et al. 2023, arXiv:2309.00071). So the angles of far distances come to lie where the model has been before, and usually some training on long texts follows.
#
# ## Promises
#
# What does each kind of code promise, and keep? The same five questions to our three travellers, and one more that we have just invented: may the whole text move?


# %% tags=["nbval-ignore-output"]
def examine(model):
    """Six promises, measured on one model."""
    ids, heads = corpus.val[:40], {"n_head": small.n_head, "head_dim": small.head_dim}
    shift = abs(moved_loss(model, 8) - moved_loss(model, 0))
    return [
        invariants.norm_preserved(model.encoding, **heads),
        invariants.shift_invariant(model.encoding, **heads),
        invariants.Promise("the whole text may move by 8", shift, 1e-3),
        invariants.causal(model, ids),
        invariants.cache_equals_full(model, ids),
        invariants.extrapolates_or_refuses(model, ids),
    ]


# %%
checked = {name: examine(travellers[name]) for name in ("v3", "v4", "alibi")}
rows = [
    (three[0].statement, *("✓" if promise.holds else "✗" for promise in three))
    for three in zip(*checked.values(), strict=True)
]
Table(("promise", *checked), rows, stable=4)

# %% [markdown]
# One line sets them apart. Do not be taken in by the first two: the invariants look at what happens to a *given* query and key, and there an additive code does nothing at all, so it breaks nothing. It has done its work before, at the bottom of the model, where place and token were added into one vector. Only the third line asks the whole model. And here are v4's numbers:

# %% tags=["nbval-ignore-output"]
assert all(promise.holds for promise in checked["v4"])
invariants.promises(checked["v4"])

# %% [markdown]
# ## Exercise
#
# Repair `turn_mixed` twice: once so that it is half-split throughout, once so that it is interleaved throughout. `invariants.norm_preserved` and `invariants.shift_invariant` tell by numbers alone whether your pairs and your angles belong together.
#
# ## What comes next
#
# RoPE knows the distance, but nobody tells it how much distance should matter: the score of a query that equals its key falls quickly at first, and then it wobbles, up as well as down. ALiBi fades evenly, and its slope can never prefer what stands two back to what stands one back. Source note 001 asks whether attention can be given a **scale**: a kernel that fades with distance, sharp for some purposes and wide for others, on top of the rotation. Its formula has a catch, and you now have the tools to find it. → [05 · Gaussian RoPE](05_gaussian_rope.ipynb)
