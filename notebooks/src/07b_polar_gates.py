# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 07b · Polar gates
#
# **Can a gate stand in for a rotation?**
#
# *A side trip after 04c, complete in itself.*
#
# This page has a model that fills *holes* in a text: some letters are replaced by a token named [MASK](../docs/glossary.md#mask-token), and the model predicts them from the letters on both sides. It knows positions by RoPE, which *rotates* queries and keys. Source note 000 replaces the rotation by [**gates**](../docs/glossary.md#gate): it multiplies each channel by a cosine of the position. The explorer shows the note's gate in one head, for a query at position $i$ and a key at position $j$. All queries and keys are equal before the gates, so only positions decide. Run the next two cells, then move **α**, the dial **φ** and **θ**. Which of them moves a score?
#
# In our case, v4 of [lesson 00](00_start_here.ipynb) does not copy the letter after the first one of a name. Here you see what a head needs to tell the letter before from the letter after. You will be able to
#
# 1. find out whether a factor of an encoding acts at all, and whether it can learn,
# 2. read from a formula what a score can tell apart, and what it never can,
# 3. repair a gate, and say how much each repair is worth.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about half a minute to run on two cores, and by our estimate 53 minutes to read and guess. The exercises take about 28 minutes.

# %% tags=["nbval-ignore-output"]
from statistics import mean

import matplotlib.pyplot as plt
import torch

import babygpt_live as live
from babygpt import ModelConfig, Positions, TrainConfig, build, load_corpus
from babygpt.encodings import polar, rotary
from babygpt.objectives.diffusion import MaskedDiffusion, denoise
from babygpt.tables import Table
from babygpt_course import explorers
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_07b as gate_exercises
from babygpt_course.predictions import predict, tally
from babygpt_course.studies.results import load_results
from babygpt_course.studies.seed_plots import draw_seed_dots

# %%
explorers.polar()

# %% [markdown]
# θ moves scores, because it changes the waves. α moves none, and the dial moves none either, unless you set it upright, where every gate is 0. So two of the note's three factors seem to do nothing.
#
# <span class="light-gates">The first panel</span> shows the gates of keys: a row for each position, a column for each channel, and frames around MASK tokens. <span class="light-scores">The second panel</span> shows the score of each query with each key. Its title says how much a score can change if query and key both move on by one position.
#
# <span class="light-across">The third panel</span> shows scores over the distance $i-j$, with a curve for each of three values of the sum $i+j$. The first number in its title, here 1.7, says how far apart these curves are. With RoPE the numbers of both panels would be 0, because there a score depends on the distance alone.
#
# ## Three factors and a norm
#
# The note multiplies channel $c$ of a query or key at position $i$ by three factors, and applies a [norm](../docs/glossary.md#norm) to the product:
#
# $$q'_{i,c} = \text{norm}\big(q_{i,c}\;\cos(i\,\omega_c)\;\cos(\varphi_c)\;a_i\big),\qquad \omega_c = 10000^{-c/D},\qquad a_i = \begin{cases}\alpha = 0.3 & \text{token } i \text{ is MASK}\\ 1 & \text{else}\end{cases}$$
#
# 1. $\cos(i\omega_c)$ is a wave over positions, and each channel has its own frequency $\omega_c$.
# 2. $\cos\varphi_c$ should shift this wave by a trained [phase](../docs/glossary.md#phase).
# 3. $a_i$, whose value at MASK is called [α](../docs/glossary.md#alpha), should turn attention away from MASK.
#
# The norm divides all channels of a token by one number, the root of their mean square, so that they get a common size. The next cell does this with a φ for each channel.

# %%
D, T = 32, 48
i, omega = torch.arange(T)[:, None], 10_000.0 ** (-torch.arange(D) / D)
positions = Positions.arange(T, masked=torch.arange(T)[None] % 3 == 1)
q, k = polar.norm(torch.randn(2, 1, 1, T, D, generator=torch.Generator().manual_seed(0)))
wave, phi = (i * omega).cos(), torch.linspace(-1, 1, D)
mask = torch.where(positions.masked[0], 0.3, 1.0)[:, None]
by_hand = [polar.norm(x * wave * phi.cos() * mask) for x in (q, k)]

gates = polar.Polar(D)
gates.phi.data = phi
for mine, theirs in zip(by_hand, gates.transform_qk(q, k, positions), strict=True):
    assert torch.allclose(mine, theirs, atol=1e-4)

# %% [markdown]
# This explains α: it is one number for all channels of a token, so their size shrinks by the same factor, and the norm divides it out. If the norm comes first instead, α acts:

# %%
explorers.polar(order="norm, then gates")

# %% [markdown]
# The rows and columns of MASK tokens are pale in the second panel in this order. In the note's order the norm divides cos φ out as well, because all channels of the explorer share one φ. In a model each channel has a φ of its own, so their cosines are no common factor, and training may choose them.
#
# ## Does φ learn?
#
# We train the note's gate for 150 steps, on the plain tales and with two layers of width 96. As in the note, every φ begins at 0.

# %%
distances = ["more than 0.1 radians", "less than 0.1 radians", "not at all"]
phi_guess = predict("How far does φ move in 150 steps, in the channel where it moves most?", distances)
phi_guess

# %% tags=["answer", "nbval-ignore-output"]
corpus = load_corpus("plain-tales", n_chars=400_000, with_mask=True)
tokenizer = corpus.tokenizer
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
objective, recipe = MaskedDiffusion(corpus, shape.block_size, val_windows=1), TrainConfig(steps=150)
watches = [explorers.gates()]
torch.manual_seed(1337)
models = {"as written": build("v7-polar", shape)}
runs = {"as written": live.train(models["as written"], objective, recipe, "as written", watches=watches)}

# %% tags=["answer", "nbval-ignore-output"]
runs["as written"].result()
moved = models["as written"].encoding.phi.abs().max().item()
print(f"φ moved by {moved:g} radians")
phi_guess.compare(distances[2 if moved == 0 else 1 if moved < 0.1 else 0])

# %% [markdown]
# Training moves a number against its [gradient](../docs/glossary.md#gradient). The note calls its product an approximation of a true phase, $\cos(i\omega + \varphi)$, so we compare both gradients at $\varphi = 0$, for three angles $i\omega$:

# %%
zero, angles = torch.zeros(3, requires_grad=True), torch.tensor([1.0, 2.0, 3.0])
both = {"cos(iω) cos φ": angles.cos() * zero.cos(), "cos(iω + φ)": (angles + zero).cos()}
for name, gate in both.items():
    slope = torch.autograd.grad(gate.sum(), zero)[0]
    print(f"{name:13}", [f"{x:.2f}" for x in slope.abs().tolist()])

# %% [markdown]
# The gradient of $\cos\varphi$ is $-\sin\varphi$, which is 0 where φ begins. So the first step leaves φ at 0, the next step starts from 0 again, and φ never moves, however long we train.
#
# ## What is left: cos(iω)
#
# α cancels and φ stays, so a query at $i$ and a key at $j$ meet in a product of two waves:
#
# $$\cos(i\omega)\cos(j\omega) = \tfrac12\cos\big((i-j)\omega\big) + \tfrac12\cos\big((i+j)\omega\big).$$
#
# The first half depends on the distance, and the second on *where in the window* both tokens stand. We try this on *ada cha░ed ben. who chased ben? ada.* The hole is the query, at position 7, between an *a* at 6 and an *e* at 8. Our toy [head](../docs/glossary.md#head) has four channels with ω = 1, ½, ¼, ⅛, all of them 1 before the gates, and the text starts at position 0, 20 or 40 of the window.

# %%
text, hole, w = "ada cha░ed ben. who chased ben? ada.", 7, torch.tensor([1.0, 0.5, 0.25, 0.125])


def product(i, j):
    """Score of a query at i and keys at j, by the note's waves: (T,)."""
    return ((i * w).cos() * (j[:, None] * w).cos()).sum(dim=-1)


def neighbours(score, start=0):
    """Scores of the a and the e, and the attention on them, if the text starts at some position."""
    at = start + torch.arange(len(text))
    scores = score(at[hole], at)
    both = slice(hole - 1, hole + 2, 2)
    return *(f"{x:.2f}" for x in scores[both]), *(f"{x:.0%}" for x in scores.softmax(dim=0)[both])


heading = ("score of a (left)", "of e (right)", "attention on a", "on e")
rows = [(str(start), *neighbours(product, start)) for start in (0, 20, 40)]
Table(("the text starts at", *heading), rows, stable=5)

# %% [markdown]
# If the text starts at 0 the hole looks more at *a*, and at 40 more at *e*, although every distance is as it was. The number in the title of the third panel measures this change.
#
# ## Five repairs
#
# Each repair removes one fault, and is added to those before it. The first two are about φ, the next two about α, and the last is about $i+j$. All but the second are in the explorer above, under *gate* and *order*.
#
# 1. An *exact phase*: the gate becomes $\cos(i\omega + \varphi)$, so φ has a gradient.
# 2. A *random phase*: near position 0 all gates are about 1, so the first tokens look alike. Random values of φ move the crests apart.
# 3. *Gates after the norm*, so that α counts.
# 4. *α on keys only*, because a query at a hole has to find a letter, and α on this query makes its attention flat.
# 5. [*Quadrature*](../docs/glossary.md#quadrature): each cosine gets a sine beside it, so that a query becomes $[q\cos, q\sin]$ and a key $[k\cos, k\sin]$.
#
# With cosines alone the number in the third title stays above 0 wherever you drag φ. This is the explorer with a sine beside each cosine:

# %%
explorers.polar("[cos, sin]", "norm, then gates")


# %% [markdown]
# The diagonals of the second panel are constant, apart from the columns of MASK keys. The three curves lie on one another, and the number is 0, because
#
# $$\cos(i\omega)\cos(j\omega) + \sin(i\omega)\sin(j\omega) = \cos\big((i-j)\omega\big).$$
#
# The sum $i+j$ is gone, and so is every φ that query and key share. So repairs 1 and 2, which are about φ, have no effect any more, and quadrature keeps 3 and 4 only.
#
# ## Left or right?
#
# A score now depends on the distance alone, as with RoPE. Does quadrature do what RoPE does? This is the toy head with it.

# %%
def ahead(delta):
    """Scores in which the waves of keys are ahead by an angle; 0 is quadrature."""
    return lambda i, j: ((i - j[:, None]) * w - delta).cos().sum(dim=-1)


rows = [(str(start), *neighbours(ahead(0), start)) for start in (0, 20, 40)]
Table(("the text starts at", *heading), rows, stable=5)

# %% [markdown]
# The three rows are equal, so the start of the text no longer matters. But *a* and *e* are equal too. The title of the third panel has a second number, which we passed over: without MASK, scores change by 0 if query and key swap, in each picture so far.
#
# The reason is that a cosine is **even**: $\cos(-x) = \cos x$. Equal keys one position to the left and one to the right get the same score, so the head adds up their values with equal weights, and *a░e* gives it what *e░a* gives. The rest of the model cannot help, because it has no causal mask, and all its other parts read each token alone. **Without a causal mask, a model whose scores are cosines of the distance reads a text and its reversal alike.** This holds for all weights, so no training can change it.
#
# What is missing is a direction, so the *sixth repair* puts a phase δ *between* query and key, for each head $h$ and each channel $c$:
#
# $$\sum_c q_c k_c\cos\big((i-j)\,\omega_c - \delta_{hc}\big)$$
#
# It moves the crest of each wave to one side. All δ begin at 0 and are trained, which makes **v7**. In the next cell all δ of the toy head are 45°.

# %%
sides = ["a, on the left", "e, on the right"]
side_guess = predict("All δ are 45°. Which neighbour of the hole gets more attention?", sides)
side_guess

# %% tags=["answer"]
one_head = polar.LearnedPhase(1, 4, theta=16.0)  # ω = 1, ½, ¼, ⅛
one_head.delta.data.fill_(torch.pi / 4)
ones, at = torch.ones(1, 1, len(text), 4), Positions.arange(len(text), masked=torch.zeros(1, 36).bool())
queries, keys = one_head.transform_qk(ones, ones, at)
scores = (queries @ keys.mT)[0, 0, hole]  # those of v7, and of ahead(torch.pi / 4)
rows = [(f"{d}°", *neighbours(ahead(d / 180 * torch.pi))) for d in (0, 45, -45)]
display(Table(("δ", *heading), rows, stable=5))
side_guess.compare(sides[0 if scores[hole - 1] > scores[hole + 1] else 1])

# %% [markdown]
# With 45° the angle $(i-j)\omega - \delta$ is nearer to 0 for *a*, on the left, than for *e*, so the head looks at *a*, and with −45° at *e*. The explorer has one δ in every channel, which its dial calls *φ between*:

# %%
explorers.polar("[cos, sin], φ between", "norm, then gates", 45)

# %% [markdown]
# The curves of the third panel are highest at $i - j > 0$ now. The second number has grown, while the first stays at 0. So the fault had shown in the 0 that we passed over.
#
# ## Read a text from its end
#
# Quadrature and v7 now train on the same 150 batches. A slider under v7 sets α, which counts now, while it trains.

# %% tags=["nbval-ignore-output"]
controls = {"quadrature": [], "v7": [live.Scale("alpha", 0.3, 0.01, 10.0, "α")]}
for title, version in {"quadrature": "v7-quadrature", "v7": "v7"}.items():
    torch.manual_seed(1337)
    models[title], more = build(version, shape), {"watches": watches, "controls": controls[title]}
    runs[title] = live.train(models[title], objective, recipe, title, **more)

# %% tags=["nbval-ignore-output"]
loss = {title: run.result()[-1].val_loss for title, run in runs.items()}
sentence = explorers.encode_masked(tokenizer, "ada cha_ed ben. who cha_ed ben? ada.")  # (1, 36)
for title, model in models.items():
    with torch.inference_mode():
        there, back = (denoise(model, way).softmax(dim=-1) for way in (sentence, sentence.flip(1)))
    change = (there - back.flip(1)).abs().max()
    print(f"{title:10}  loss {loss[title]:.2f}; from its end, a probability changes by up to {change:.4f}")

# %% [markdown]
# Quadrature still reads the sentence from its end as from its beginning. The note's gate does not, but only because it depends on $i+j$. α acts in v7, but whether 0.3 is better than 1 there is undecided ([results](../docs/results.md#gates-in-place-of-a-rotation)).
#
# ## Where the repairs end
#
# Quadrature turns one channel $q$ into $(q\cos i\omega,\ q\sin i\omega)$. This is the vector $(q, 0)$, rotated by the angle $i\omega$:

# %%
pairs = torch.stack([q, torch.zeros_like(q)], dim=-1).flatten(-2)  # each channel, and a zero beside it
rotated = rotary.rotate(pairs, positions.time)
cosines, sines = polar.Quadrature(D).transform_qk(q, k, positions)[0].chunk(2, dim=-1)
assert torch.allclose(rotated[..., 0::2], cosines, atol=1e-5)
assert torch.allclose(rotated[..., 1::2], sines, atol=1e-5)

# %% [markdown]
# So quadrature is RoPE, for pairs whose second channel is 0. RoPE fills both channels of a pair, so queries and keys may point in different directions before they are rotated. Then a score can be highest to one side, and RoPE needs no δ. Of the gates that we tried, only those that are rotations give scores by the distance alone.
#
# A published encoding ends there, too: [PoPE](../docs/glossary.md#pope) has the waves and the δ of v7, and makes all numbers of queries and keys positive by a [softplus](../docs/glossary.md#softplus), a smooth curve above 0.
#
# ## How much each repair is worth
#
# Now we compare losses. We trained all gates and their rivals for 400 steps, from twelve seeds. Two models are controls: quadrature with fixed phases, so that both can tell a text from its reversal. In one all four heads have +45°, in the other two heads have +45° and two −45°.

# %%
controls_lower = [
    "both",
    "only the one with all heads to one side",
    "only the one with two heads to each side",
]
control_guess = predict("Which of the two controls has a lower loss than quadrature?", controls_lower)
control_guess

# %% tags=["answer"]
stored = load_results("polar")["val_loss"]  # twelve seeds of each model
arms = {
    **{"as written": "v7-polar", "1 exact phase": "v7-exact", "2 random phase": "v7-random"},
    **{"3 after the norm": "v7-last", "4 α on keys": "v7-keys", "5 quadrature": "v7-quadrature"},
    **{"5, δ to one side": "one side", "5, δ to both sides": "both sides", "6 δ learned (v7)": "v7"},
    **{"RoPE, a rotation": "v7-rope", "PoPE": "v7-pope"},
}
losses, rows = {name: stored[arm] for name, arm in arms.items()}, list(arms)
notes = {name: f"{mean(seeds):.2f}" for name, seeds in losses.items()}
for name, before in zip(rows[1:9], (*rows[:6], rows[5], rows[5]), strict=True):
    against = " from 5" if name in rows[6:] else ""
    notes[name] += f" ({mean(losses[name]) - mean(losses[before]):+.2f}{against})"
title = "Quadrature lowers the loss by 0.51 nats, the four repairs before it by 0.00"
label = "loss of masked characters (nats)"
_, ax = plt.subplots(figsize=(8, 5))
draw_seed_dots(ax, losses, title, label, span=(1.4, 2.8), notes=notes, means=True)
plt.show()
one, two = (mean(stored[arm]) < mean(stored["v7-quadrature"]) for arm in ("one side", "both sides"))
control_guess.compare(controls_lower[0 if one and two else 1 if one else 2])

# %% [markdown]
# Each dot is a [seed](../docs/glossary.md#seed). At the right stands the mean, and in brackets its change from the row above, or from *5 quadrature* in the three rows with δ.
#
# Not every repair gains something: gates after the norm raise the loss by more than the random phase had lowered it, and α on keys only takes back a part of this. So after four repairs the loss is where it began, at 2.17. Quadrature loses 0.51 nats less than the gate before it. A part of this may come from larger scores, because gates after the norm make scores smaller, and the sine makes them large again. Beside repair 2, whose gates stand before the norm, it loses 0.38 nats less.
#
# A fixed direction does not help if all heads share it. With all heads on one side the loss rises by 0.03 nats, since a hole has neighbours on both sides. It falls where some heads look left and others right. In v7 training chooses the phases, and the loss is 0.15 nats lower than quadrature's ([all intervals](../docs/results.md#gates-in-place-of-a-rotation)).
#
# Between v7 and RoPE nothing is [decided](../docs/glossary.md#decided), and they are level within 0.035 nats. Between PoPE and RoPE nothing is decided either.
#
# ## The case
#
# Our model with holes needed a direction to tell the letter before from the letter after, and a cosine of the distance has none. v4 has a causal mask, so that no later letter is there, and a rotation, whose angles tell neighbours apart anyway ([04a](04a_rope.ipynb)). Whether trained heads use them is open. So this page strikes nothing: *its positions do not tell neighbours apart* stays out for the encoding, and open for trained heads.

# %%
tally()

# %% [markdown]
# ## Exercises
#
# In a new cell, `gate_exercises.CONTROLS.hint()` gives one hint at a time, and `.solution()` shows a solution.

# %%
gate_exercises.CONTROLS


# %%
def controls(arms, one, other):
    """The names of the arms that change one setting of `one` to that of `other`, and no more."""
    return [other]


# %%
gate_exercises.CONTROLS.check(controls)

# %%
gate_exercises.FIXED_PHASE


# %%
def fixed_phase(q, k, positions, omega, masked, alpha):
    """Quadrature gates with the keys' waves 45° ahead: q and k (B, H, T, D) -> (B, H, T, 2D) each."""
    wave = positions[:, None] * omega
    gates = torch.cat([wave.cos(), wave.sin()], dim=-1)
    return torch.cat([q, q], dim=-1) * gates, torch.cat([k, k], dim=-1) * gates


# %%
gate_exercises.FIXED_PHASE.check(fixed_phase)

# %%
gate_exercises.LOOK_RIGHT

# %%
phases_to_the_right = [0.0, 0.0, 0.0, 0.0]

# %%
gate_exercises.LOOK_RIGHT.check(phases_to_the_right)

# %% [markdown]
# ## Recap
#
# 1. A norm after the gates cancels α, which is one number for all channels of a token. φ never moves, because the gradient of cos φ is 0 where φ begins.
# 2. $\cos(i\omega)\cos(j\omega)$ depends on $i-j$ and on $i+j$. A sine beside each cosine removes $i+j$. It makes scores larger, too, and the two lower the loss by 0.51 nats for each masked character, whereas after the four repairs before it the loss is where it began.
# 3. Without a causal mask, a model whose scores are cosines of the distance reads a text and its reversal alike, whatever its weights are. A phase δ between query and key gives it a direction.
# 4. The note's gate loses 2.17 nats for each masked character, v7 1.51 and RoPE 1.52 (400 steps, 2 layers of 96, one learning rate). The last two are level within 0.035 nats.
# 5. Quadrature is RoPE for pairs that are half empty, so the repairs end at a rotation.

# %% [markdown]
# ## Self-test
#
# **1.** You multiply all channels of every key by 5, and a norm follows. What happens to the scores?
#
# - a) they grow five times
# - b) nothing
# - c) attention gets flatter
#
# <details><summary>Answer</summary>
#
# **b.** *a* would be right if the norm came first.
#
# </details>
#
# **2.** Why does φ of the note's gate not learn?
#
# - a) the learning rate is too low
# - b) the norm divides it out
# - c) its gradient is 0 where it begins
#
# <details><summary>Answer</summary>
#
# **c.** −sin 0 = 0. *b* explains α, one number for all channels of a token, but each channel may have a φ of its own.
#
# </details>
#
# **3.** Which of these can change $\cos(i\omega)\cos(j\omega)$, but not a score of RoPE?
#
# - a) moving both tokens by the same number of positions
# - b) exchanging the two tokens
# - c) moving the tokens apart
#
# <details><summary>Answer</summary>
#
# **a.** Half of it is a cosine of i + j. *c* changes RoPE's score too.
#
# </details>
#
# **4.** A new v7 has phases of 0. When does it begin to tell a text from its reversal?
#
# - a) never
# - b) as soon as phases have left 0
# - c) before its first step
#
# <details><summary>Answer</summary>
#
# **b.** With phases of 0 it is quadrature, which reads both alike for all weights. So *a* is right for quadrature.
#
# </details>
#
# **5.** You give all heads a fixed phase of −45°, and the loss rises. Does this show that a direction is useless?
#
# - a) yes, because the model can tell left from right and nothing is gained
# - b) no, because all heads now look to the same side
# - c) no, because −45° is the wrong sign
#
# <details><summary>Answer</summary>
#
# **b.** With two heads to each side the loss falls by 0.11 nats. *c* only turns all heads to the other side.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Note 000 advises to tune α over a small grid, but as written α changes nothing that a model writes ([all claims](../docs/notes/000.md)).

# %% tags=["nbval-ignore-output"]
SHOWN = [
    "α lowers the attention to MASK tokens, under control",
    "φ is a phase that is learned",
    "cos(iω) cos(φ) approximates a phase",
    "gates are simpler to implement than RoPE",
    "gates are an alternative to RoPE",
    "α matters much to what is written",
]
findings("000", first=SHOWN)

# %% [markdown]
# ## Further reading
#
# - [Gopalakrishnan et al. 2025](https://arxiv.org/abs/2509.10534): PoPE, with the learned phase.
# - [Su et al. 2021](https://arxiv.org/abs/2104.09864): RoPE, at which the repairs arrive.
# - [Zhang and Sennrich 2019](https://arxiv.org/abs/1910.07467): the norm that cancels α.

# %% [markdown]
# ## What comes next
#
# Lesson 08 puts all encodings side by side, with the same data, seeds and steps, and returns to v4. → [08 · The ladder](08_the_ladder.ipynb)
