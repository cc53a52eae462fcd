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
# "The second word before me" means the same on page 1 and on page 100. What matters between two tokens is mostly the way from one to the other, not the page. v3 knows that only in a roundabout way: it adds an absolute code and leaves the subtraction to the model. In this notebook we write down what we *wish* a score to be, and see that the wish leaves just one answer: **rotate the queries and the keys**. That is RoPE, the code in most large language models of today, and it makes **v4**.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** one to two and a half minutes to run on two cores, by their speed, half an hour to read. **You will have seen:** why it must be a rotation, two ways of writing it and the bug that mixes them, a model that looks up the right name, and five encodings sent four times further than they have ever been.

# %% tags=["nbval-ignore-output"]
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F

from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, invariants, live, plots
from babygpt.data.corpus import from_grammar, load_corpus
from babygpt.data.grammar import Grammar
from babygpt.encodings import Encoding
from babygpt.encodings.rotary import Rotary, angles, rotate, rotate_pairs
from babygpt.metrics import attention_weights, loss_by_position, role_accuracy
from babygpt.tables import Table, source
from babygpt.training import follow, train

plots.set_style()

# %% [markdown]
# ## A wish
#
# A query $q$ stands at position $m$, a key $k$ at position $n$. Before they meet, each may be changed according to its place: $q$ by some matrix $A_m$, and $k$ by $A_n$. Their score is the dot product of the two. Here is the wish:
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
# > **Predict.** A query at 2 meets a key at 1, both rotated by a quarter turn a token. Then the same query at 12 meets the same key at 11. And then the query stands at 1, the key at 2. Which of the three scores agree?

# %% [markdown]
# ## By hand, with complex numbers
#
# Take a pair of channels $(a, b)$ to be the complex number $a + bi$. Then two old tools become short:
#
# - the dot product of two pairs is $\operatorname{Re}(q\,\bar k)$, where $\bar k$ is $k$ with the sign of its imaginary part turned;
# - rotating by an angle $\varphi$ is multiplying by $e^{i\varphi}$; by a quarter turn, multiplying by $i$.
#
# Let $q = (2, 1)$ and $k = (1, 3)$. Their dot product is $2\cdot 1 + 1\cdot 3 = 5$. Python speaks complex numbers, and calls $i$ `1j`.

# %%
query, key = 2 + 1j, 1 + 3j
assert (query * key.conjugate()).real == 5


# %%
def score(m, n):
    """The score of the query at m and the key at n, with a quarter turn a token."""
    return (query * 1j**m * (key * 1j**n).conjugate()).real


# %%
print(score(2, 1), score(12, 11), score(1, 2))

# %% [markdown]
# One step back scores 5, at the start of the text and further on; one step forward scores −5. Place does not matter, and direction does. The bare codes of v3 could not do that: their likeness was even.
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
# Both. The first two rows are RoPE's, the last two the mixture's. With random queries and keys the mixture changes a length by the factors in the table, and a score by as much as it shows, when both tokens move together, where typical scores are about 6. Two numbers, to be exact about it:

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
# We take the small world of notebook 03: stories of one kind of fact, and only names that end in *-la* or *-ra*. There v3 needed a favour, windows that begin where a story begins. Here the windows are cut **anywhere**, as for any real language model, so a place in the window says nothing about the place in a story. v3 runs beside v4 for comparison.
#
# > **Predict.** What will become of v3 without its favour? And how many questions does v4 get right? In which of the two will the curve of right answers leave the dashed line first?

# %%
grammar = load_corpus("tales", n_chars=50_000).grammar
rules = {"story": grammar.rules["story"][:4], "gap": grammar.rules["gap"][:1]}
names = [name for name in grammar.words["name"] if name.endswith(("la", "ra"))]
corpus = from_grammar("plain tales", Grammar({**grammar.words, "name": names}, rules), n_chars=400_000)
vocab_size = corpus.tokenizer.vocab_size
questions = corpus.grammar.questions(400, seed=2, max_chars=64)
print(f"floor {corpus.floor:.2f} nats per character")

# %% tags=["nbval-ignore-output"]
shape = ModelConfig(vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
recipe = TrainConfig(steps=450, batch_size=12, lr_matrix=0.03, lr_other=0.02)
models, runs, floor = {}, {}, {"floor": corpus.floor}
tokenizer, asked = corpus.tokenizer, questions[0].prompt.strip()
watches = [live.roles(tokenizer, questions[:24]), live.heads(tokenizer, asked)]
for version in ("v3", "v4"):
    torch.manual_seed(1337)
    models[version] = build(version, shape)
    objective = NextToken(corpus, shape.block_size)
    runs[version] = live.train(models[version], objective, recipe, version, floor, watches)

# %% tags=["nbval-ignore-output"]
curves, right = {}, {}
for version, run in runs.items():
    curves[version] = [step.loss for step in run.result()]
    right[version] = role_accuracy(models[version], corpus.tokenizer, questions)
assert right["v4"] > 0.8
Table(("model", "right answers"), [(name, f"{r:.0%}") for name, r in right.items()], stable=2)

# %% tags=["nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(7, 4))
title = f"v4 knows who did it in {right['v4']:.0%} of the cases, v3 in {right['v3']:.0%}"
plots.draw_losses(ax, curves, floor, title)
plt.show()


# %% [markdown]
# Did you expect v3 to fail? It does not: without its favour it takes longer to get going (compare the curves over the first hundred steps) and then arrives where v4 does. On the full tales three seeds even put it a little ahead after 600 steps, as [the figure of `python -m babygpt figures roles`](../figures/roles.png) shows. Inside the window it was trained on, an additive code can do the job. That RoPE is the better idea has to show elsewhere, and it will, two sections below.
#
# ## Where does the answer come from?
#
# To answer *who?* v4 has to find a name it has read and copy it, letter by letter. We ask each of the eight heads, over 100 questions: while the answer is written, how much of your weight is on the letter to be copied, and how much on the letter of the *wrong* name at the same place?

# %%
def looks(model, question):
    """Weight on the right and on the wrong name's letters while the answer is written: 2 of (L, H)."""
    prompt, answer = question.prompt, question.answer
    rows = len(prompt) - 1 + torch.arange(len(answer))  # the letters that predict the answer
    weights = attention_weights(model, corpus.tokenizer.encode(prompt + answer))  # (L, H, T, T)
    columns = (prompt.index(name) + torch.arange(len(name)) for name in (answer, question.rival))
    return [weights[:, :, rows, some].mean(axis=-1) for some in columns]


# %% tags=["nbval-ignore-output"]
on_right, on_wrong = np.mean([looks(models["v4"], ask) for ask in questions[:100]], axis=0)
layer, head = divmod(int(on_right.argmax()), shape.n_head)
rows = [
    (f"layer {i + 1}, head {j + 1}", f"{on_right[i, j]:.0%}", f"{on_wrong[i, j]:.0%}")
    for i in range(shape.n_layer)
    for j in range(shape.n_head)
]
Table(("", "on the right name", "on the wrong one"), rows, stable=3)

# %% [markdown]
# Now one question, and the head that gives most to the right name. Each row is a letter that looks. The last rows are the ones that write the answer.

# %% tags=["nbval-ignore-output"]
ask = max(questions[:40], key=lambda question: -len(question.prompt))
text = (ask.prompt + ask.answer).removeprefix("\n")
looked_at = attention_weights(models["v4"], corpus.tokenizer.encode("\n" + text))[layer, head, 1:, 1:]
marks = plots.visible(text)
fig, ax = plt.subplots(figsize=(8, 6.6))
share = f"{on_right[layer, head]:.0%} on the right name, {on_wrong[layer, head]:.0%} on the wrong one"
title = f"Layer {layer + 1}, head {head + 1} while it answers: {share}"
plots.draw_matrix(ax, looked_at, title, "letter looked at", "letter that looks", marks)
plt.show()

# %% [markdown]
# In the last rows, where the answer is written, the bright squares stand under the letters of a name far to the left: the right one. One head does most of the copying, and nobody has told it to. The other bright squares, close to the diagonal, are letters looking at the word they are part of.
#
# Ask the model something yourself, and go through its heads:

# %% tags=["nbval-ignore-output"]
live.attention(models["v4"], tokenizer, text)

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
# Beside it, the run that nobody touched: the v4 that you have known since above. Until the turn the two are one and the same.

# %% tags=["nbval-ignore-output"]
alone, losses = curves["v4"][: len(history)], [step.loss for step in history]
at = next((step.step for step in history if step.changed), len(history)) - 1  # steps before the turn
apart = np.subtract(losses, alone)  # nats
assert np.abs(apart[:at]).max(initial=0) < 0.1
later = [apart[at + 45 : at + 55].mean() if at + 55 < len(apart) else np.nan, apart[-10:].mean()]
assert not as_planned or (apart[at] > max(0.3, 2 * later[0]) and min(later) > 0)
print(f"{apart[at]:+.2f} nats at once, {later[0]:+.2f} fifty steps on, {later[1]:+.2f} at the end")

# %% tags=["nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(7, 4))
title = (
    f"Turned after {at} steps: {apart[at]:+.2f} nats at once, {later[1]:+.2f} at the end"
    if turns
    else "Never turned"
)
plots.draw_losses(ax, {"v4": alone, "v4, steered": losses}, floor, title)
plt.show()


# %% [markdown]
# The loss leaps, in a single step. There is nothing to learn in a rotation, and yet all that *is* learnt is learnt **for these rotations**: a head that looks one letter back does it by turning its query against a known angle, and the angles are suddenly others. Then the weights follow. When θ goes to 10, more than half of the leap is gone fifty steps later; the rest goes slowly, for the learning rate is falling, and when the steps are used up the steered run is still behind the one that nobody touched. The printed line has the three numbers of your run. (Every step keeps what you turned in its record, as `changed`, so that a steered run can be repeated to the last bit: `train(…, steering=replay(history))`.)
#
# ## Move the text
#
# A model whose scores know the distance only should not notice if a whole text is moved. Let us number the tokens of a window from 1000 on instead of from 0: same text, same distances, other places.
#
# > **Predict.** What becomes of v3's loss, and what of v4's?

# %%
def moved_loss(model, start, length=48, n=64):
    """Loss on windows whose first token is said to stand at position `start`."""
    starts = torch.linspace(0, len(corpus.val) - length - 1, n).long()
    windows = corpus.val[starts[:, None] + torch.arange(length + 1)]
    with torch.inference_mode():
        logits = model(windows[:, :-1], Positions.arange(length, start))
    return F.cross_entropy(logits.transpose(1, 2), windows[:, 1:]).item()


# %% tags=["nbval-ignore-output"]
moved = {name: [moved_loss(model, at) for at in (0, 1000)] for name, model in models.items()}
assert abs(moved["v4"][1] - moved["v4"][0]) < 0.001
assert moved["v3"][1] > moved["v3"][0] + 0.5
rows = [(name, *(f"{loss:.3f}" for loss in losses)) for name, losses in moved.items()]
Table(("loss (nats per character)", "from 0", "from 1000"), rows, stable=3)

# %% [markdown]
# v4 does not notice; v3 is lost. Position 1000 means nothing to v4, because no position does.
#
# ## Four times longer
#
# Then surely v4 can also read *longer* texts than it was trained on? Careful: in a longer text there are not only later places but also **longer distances**, and those it has never seen. Let us send five encodings past their windows: the four that we know, and **ALiBi** (Press et al. 2022), the plainest of all: it rotates nothing and adds nothing to the tokens, and just takes away from each score an amount that grows with the distance, steeply in one head and gently in another. It *forgets*, on purpose.
#
# Here is ALiBi beside RoPE. On the left, what distance takes from a score; on the right, how much of its attention a head has spent within a distance, if all tokens are alike to it.

# %%
live.alibi()

# %% [markdown]
# Each head of ALiBi has a horizon of its own, and **steepness** moves them all. RoPE's score falls at first, and then it wobbles: it has a sense of near, and no horizon.
#
# Now to the experiment. Five small models, windows of 48, the same batches. It is the same experiment as `python -m babygpt figures lengths`, which does it in large.
#
# > **Predict.** Put five names in order: who has the lowest loss at four times the trained length? Who the lowest inside the window?

# %% tags=["nbval-ignore-output"]
small = ModelConfig(vocab_size, block_size=48, n_layer=2, n_head=4, n_embd=64)
short_run = TrainConfig(steps=250, batch_size=16, lr_matrix=0.03, lr_other=0.02)
travellers, by_position = {}, {}
for version in ("nope", "learned", "v3", "v4", "alibi"):
    torch.manual_seed(1337)
    travellers[version] = build(version, small)
    steps = train(travellers[version], NextToken(corpus, small.block_size), short_run)
    follow(steps, short_run.steps, version, leave=False)
    reach = small.block_size if version == "learned" else 4 * small.block_size
    by_position[version] = loss_by_position(travellers[version], corpus.val, reach, n_windows=128)

# %% [markdown]
# The learned table got no chance to go on, and rightly so: it has 48 rows, and asked for a 49th it says no.

# %%
try:
    loss_by_position(travellers["learned"], corpus.val, length=49)
except ValueError as refusal:
    print(refusal)

# %% tags=["nbval-ignore-output"]
inside = {name: losses[24:48].mean() for name, losses in by_position.items()}
far = {name: losses[144:].mean() for name, losses in by_position.items() if len(losses) > 48}
assert min(far, key=far.get) == "alibi"
assert min(inside, key=inside.get) in ("v4", "v3")
assert far["v4"] > inside["v4"] + 0.3
rows = [(v, f"{inside[v]:.2f}", f"{far[v]:.2f}" if v in far else "refuses") for v in inside]
Table(("loss (nats per character)", "inside, 24 to 48", "far out, 144 to 192"), rows, stable=3)

# %% tags=["nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(8, 4.4))
title = f"Four times longer: ALiBi {far['alibi']:.2f}, RoPE {far['v4']:.2f}, sinusoid {far['v3']:.2f}"
plots.draw_by_position(ax, by_position, small.block_size, title, smooth=8)
plt.show()


# %% [markdown]
# Each code has its own way of growing old. **Learned** positions refuse: there is no row 48, and the error says so. The **sinusoid** goes on at once into rows that the model has never met, and its loss leaps. **RoPE** keeps calm for a while and then drifts away: scores depend on the distance alone, as promised, *but distances beyond the window were never trained*, and the slow pairs reach angles they have never been at. Relative does not mean unlimited. **NoPE** was never good and gets worse. Only **ALiBi** stays as it was: for it the far past hardly counts, so a long text looks like a short one. (It pays for that with its memory.) `python -m babygpt figures lengths` repeats this on the full tales.
#
# ## Promises
#
# What does each kind of code promise, and keep? The same five questions to three of our travellers, and one more that we have just invented: may the whole text move?

# %% tags=["nbval-ignore-output"]
def examine(model):
    """Six promises, measured on one model."""
    ids, heads = corpus.val[:40], {"n_head": small.n_head, "head_dim": small.head_dim}
    shift = abs(moved_loss(model, 8, length=40) - moved_loss(model, 0, length=40))
    return [
        invariants.norm_preserved(model.encoding, **heads),
        invariants.shift_invariant(model.encoding, **heads),
        invariants.Promise("the whole text may move by 8", shift, 1e-3),
        invariants.causal(model, ids),
        invariants.cache_equals_full(model, ids),
        invariants.extrapolates_or_refuses(model, ids),
    ]


# %%
checked = {name: examine(travellers[name]) for name in ("learned", "v3", "v4")}
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
# You will write RoPE in the half-split layout, and a checker will tell by numbers alone whether your pairs and your angles belong together. (Exercises with a checker are still being written; here is their place.)
#
# ## What comes next
#
# RoPE knows the distance, and treats all distances alike: a token 60 steps back is as loud as the one before. ALiBi knows how to forget, and nothing else. Source note 001 asks whether attention can be given a **scale**: a kernel that fades with distance, sharp for some purposes and wide for others, on top of the rotation. Its formula has a catch, and you now have the tools to find it. → 05 · Gaussian RoPE
