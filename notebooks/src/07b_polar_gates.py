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
# The model of [07a](07a_diffusion.ipynb) fills in masked characters. It knows positions by RoPE, which *rotates* queries and keys. Source note 000 replaces the rotation by [**gates**](../docs/glossary.md#gate): it multiplies each channel by a cosine of the position. A product is simpler than a rotation. Does the model learn as well with it? You will
#
# 1. train the note's gate, and find two factors in it that do nothing,
# 2. repair the gate step by step, up to **v7**,
# 3. compare the gates with RoPE and other rivals.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about half a minute to run on two cores, and by our estimate 57 minutes to read and guess. The exercises take about 28 minutes.

# %% tags=["nbval-ignore-output"]
from statistics import mean

import matplotlib.pyplot as plt
import torch

from babygpt import ModelConfig, Positions, TrainConfig, build, invariants, live, load_corpus, plots
from babygpt.encodings import polar, rotary
from babygpt.objectives.diffusion import MaskedDiffusion
from babygpt.tables import Table
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_07b as gate_exercises
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import paired
from babygpt_course.studies.polar_repairs import LABELS, REPAIRS
from babygpt_course.studies.results import load_results
from babygpt_course.studies.seed_plots import draw_seed_dots

# %%
plots.set_style()
live.polar()

# %% [markdown]
# The explorer shows the note's gate in one head. A query stands at position $i$, a key at position $j$.
#
# - <span class="light-gates">The first panel</span> shows the gates of keys: a row for each position, a column for each channel. Frames mark [MASK tokens](../docs/glossary.md#mask-token).
# - <span class="light-scores">The second panel</span> shows the score of each query with each key. All queries and keys are equal before the gates.
# - <span class="light-across">The third panel</span> shows scores over the distance $i-j$. Each curve belongs to one value of the sum $i+j$.
#
# Look at the third panel. With RoPE the three curves would be one, because a score depends on the distance alone. With the note's gate the curves differ.
#
# ## The gate
#
# The note multiplies channel $k$ of a query or key at position $i$ by three factors. Then it applies a [norm](../docs/glossary.md#norm):
#
# $$q'_{i,k} = \text{norm}\big(q_{i,k}\;\cos(i\,\omega_k)\;\cos(\varphi_k)\;a_i\big),\qquad \omega_k = 10000^{-k/D},\qquad a_i = \begin{cases}\alpha = 0.3 & \text{token } i \text{ is MASK}\\ 1 & \text{else}\end{cases}$$
#
# 1. $\cos(i\omega_k)$ is a wave over positions. Each channel has its own frequency $\omega_k$.
# 2. $\cos\varphi_k$ should shift this wave by a trained [phase](../docs/glossary.md#phase). All φ begin at 0.
# 3. $a_i$ should turn attention away from MASK. Its value for MASK is called [α](../docs/glossary.md#alpha).
#
# The norm divides all channels of a token by one number. Afterwards their root mean square is 1.
#
# The next cell computes the gate by hand, with phases that are not 0.

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
# ## Train it as written
#
# Texts, masks and size of the model are those of 07a. We train for 150 steps.

# %%
distances = ["more than 0.1 radians", "less than 0.1 radians", "not at all"]
phi_guess = predict("How far does φ move in 150 steps, in the channel where it moves most?", distances)
phi_guess

# %% tags=["answer", "nbval-ignore-output"]
corpus = load_corpus("plain-tales", n_chars=400_000, with_mask=True)
tokenizer = corpus.tokenizer
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
objective, recipe = MaskedDiffusion(corpus, shape.block_size, val_windows=1), TrainConfig(steps=150)
fills = live.filled_text(tokenizer, "tula met vala. met ____? vala. __ ____ met ____.", 40, columns=24)
watches = [live.gates(), fills]
torch.manual_seed(1337)
models = {"v7-polar": build("v7-polar", shape)}
runs = {"as written": live.train(models["v7-polar"], objective, recipe, "as written", watches=watches)}

# %% [markdown]
# The dashboard shows the loss, the gates of keys, and a text as the model fills it in. The gates are drawn before the norm, so the rows of MASK look paler.

# %% tags=["answer", "nbval-ignore-output"]
runs["as written"].result()
moved = models["v7-polar"].encoding.phi.abs().max().item()
print(f"φ moved by {moved:g} radians")
phi_guess.compare(distances[2 if moved == 0 else 1 if moved < 0.1 else 0])

# %% [markdown]
# ## Why φ does not learn
#
# Training moves a number against its [gradient](../docs/glossary.md#gradient). The note calls its product an approximation of a true phase, $\cos(i\omega + \varphi)$. We compare the two gradients at $\varphi = 0$, for three angles $i\omega$:

# %%
zero, angles = torch.zeros(3, requires_grad=True), torch.tensor([1.0, 2.0, 3.0])
both = {"cos(iω) cos φ": angles.cos() * zero.cos(), "cos(iω + φ)": (angles + zero).cos()}
for name, gate in both.items():
    slope = torch.autograd.grad(gate.sum(), zero)[0]
    print(f"{name:13}", [f"{x:.2f}" for x in slope.abs().tolist()])

# %% [markdown]
# The gradient of the note's product is 0 at each angle. The derivative of $\cos\varphi$ is $-\sin\varphi$, and $\sin 0 = 0$. So the first step leaves φ at 0. The next step starts from 0 again, and φ never moves.
#
# ## Why α does nothing
#
# We leave out one of the three factors, apply the norm, and compare the keys with those of the full gate.

# %%
factors = {"the wave cos(iω)": wave, "the factor cos φ": phi.cos(), "the mask factor α": mask}
norm_guess = predict("You leave out one factor. Which one does not change the keys?", [*factors, "none"])
norm_guess

# %% tags=["answer"]
gate = wave * phi.cos() * mask
without = {name: polar.norm(k * gate / factor) for name, factor in factors.items()}
change = {name: float((key - by_hand[1]).abs().max()) for name, key in without.items()}
for name, by in change.items():
    print(f"without {name} a key changes by {by:.1f}")
norm_guess.compare(next((name for name, by in change.items() if by < 1e-3), "none"))

# %% [markdown]
# Without α the keys stay as they are. α is **one number for all channels of a token**. It makes all channels smaller. Their root mean square gets smaller too, and the norm divides by it. So α cancels. The factor $\cos\varphi$ differs from channel to channel, so the norm cannot cancel it.
#
# In the explorer, drag α: no score moves. Set *order* to `norm, then gates` and drag α again. Now the scores move.
#
# ## What is left: cos(iω)
#
# α cancels and φ stays at 0, so only the wave is left. A query at $i$ and a key at $j$ meet in a product of two waves:
#
# $$\cos(i\omega)\cos(j\omega) = \tfrac12\cos\big((i-j)\omega\big) + \tfrac12\cos\big((i+j)\omega\big).$$
#
# The first half depends on the distance $i-j$. The second half depends on the sum $i+j$: on *where in the window* both tokens stand.
#
# Take a sentence with a hole: *ada cha░ed ben. who chased ben? ada.* The hole is the query, at position 7. Its left neighbour is *a* at 6, its right neighbour is *e* at 8. Our toy [head](../docs/glossary.md#head) has four channels with ω = 1, ½, ¼, ⅛, and all channels of queries and keys are 1 before the gates. The text starts at position 0, 20 or 40 of the window.

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
# The first score has a term for each channel. Check it by hand:
#
# $$\cos(7)\cos(6) + \cos(3.5)\cos(3) + \cos(1.75)\cos(1.5) + \cos(0.875)\cos(0.75) = 0.72 + 0.93 - 0.01 + 0.47 = 2.11$$
#
# Compare the last two columns. In a text that starts at 0 the hole looks more at *a*. In the same text at 40 the hole looks more at *e*. The distances are equal; only $i+j$ has changed.
#
# ## Five repairs
#
# Each repair removes one fault. It keeps the repairs before it, except that the fifth has no φ.
#
# 1. **Exact phase.** The gradient of φ was 0. The gate becomes $\cos(i\omega + \varphi)$, and φ has a gradient.
# 2. **Random phase.** All waves had a crest at position 0, where a cosine is flat. So neighbouring positions near 0 had nearly equal gates. Now each φ begins at a random value, so the crests lie apart.
# 3. **Gates after the norm.** The norm cancelled α. Now the norm comes first, so α counts.
# 4. **α on keys only.** α on a query makes all scores of this query smaller, so its attention gets flatter. But a query at MASK must find the letter to predict. Now only keys have α.
# 5. **[Quadrature](../docs/glossary.md#quadrature).** The scores depended on $i+j$. Now each cosine gets a sine beside it: a query becomes $[q\cos, q\sin]$, a key $[k\cos, k\sin]$.
#
# Why does a sine help? Multiply the waves of query and key, and add:
#
# $$\cos(i\omega)\cos(j\omega) + \sin(i\omega)\sin(j\omega) = \cos\big((i-j)\omega\big).$$
#
# The sum $i+j$ is gone. A φ that query and key share would cancel too, so quadrature has no φ.
#
# The next cell tests each gate on random vectors. The first column tells whether α counts, the second whether a score depends on $i-j$ alone.

# %%
before = [polar.Polar(D), polar.ExactPhase(D), polar.RandomPhase(D)]
after = [polar.GatesLast(D), polar.KeysOnly(D), polar.Quadrature(D)]
rows = []
for name, gate in zip(REPAIRS.values(), before + after, strict=False):
    kept = not invariants.alpha_is_idle(gate).holds, invariants.shift_invariant(gate).holds
    rows.append((name, *("✓" if one else "✗" for one in kept)))
Table(("gate", "α counts", "i − j alone"), rows, stable=3)

# %% [markdown]
# α counts from the third repair on. Nothing shows that it helps: with cosines only α = 0.3 costs 0.052 nats against α = 1 (99%: 0.023 to 0.081), and in v7 the difference is undecided. Only the fifth repair removes $i+j$. In the explorer, set *gate* to `[cos, sin]`: the three curves become one.
#
# ## Left or right?
#
# Back to the toy head, now with quadrature.

# %%
sides = ["a, on the left", "e, on the right", "both get the same"]
side_guess = predict("Quadrature: which neighbour of the hole gets more attention?", sides)
side_guess


# %% tags=["answer"]
def ahead(delta):
    """Scores in which the waves of keys are ahead by an angle; 0 is quadrature."""
    return lambda i, j: ((i - j[:, None]) * w - delta).cos().sum(dim=-1)


rows = [(str(start), *neighbours(ahead(0), start)) for start in (0, 20, 40)]
display(Table(("the text starts at", *heading), rows, stable=5))
a, e = (float(score) for score in rows[0][1:3])
side_guess.compare(sides[2 if a == e else 0 if a > e else 1])

# %% [markdown]
# All three rows are equal, so the start of the text no longer matters. But *a* and *e* are equal too.
#
# The reason is the cosine. A cosine is **even**: $\cos(-x) = \cos x$. A key one position to the left and an equal key one position to the right get the same score. So the head adds up the values of both with equal weights. It cannot tell *a░e* from *e░a*.
#
# All heads of the model do the same. So the model is a **mirror**: it gives a text and its reverse the same answers. This holds for all weights, so training cannot change it.
#
# The **sixth repair** puts a phase δ *between* query and key, for each head $h$ and each channel $k$:
#
# $$\sum_k q_k k_k\cos\big((i-j)\,\omega_k - \delta_{hk}\big)$$
#
# δ moves the crest of each wave to one side. All δ begin at 0 and are trained. This model is **v7**. In the next cell all δ of the toy head have one value.

# %%
one_head = polar.LearnedPhase(1, 4, theta=16.0)  # ω = 1, ½, ¼, ⅛
one_head.delta.data.fill_(torch.pi / 4)
ones, at = torch.ones(1, 1, len(text), 4), Positions.arange(len(text), masked=torch.zeros(1, 36).bool())
queries, keys = one_head.transform_qk(ones, ones, at)
scores = (queries @ keys.mT)[0, 0, hole]
assert torch.allclose(scores, ahead(torch.pi / 4)(hole, at.time), atol=1e-4)
Table(("δ", *heading), [(f"{d}°", *neighbours(ahead(d / 180 * torch.pi))) for d in (0, 45, -45)], stable=5)

# %% [markdown]
# With 45° the head looks at *a*, with −45° at *e*. In the explorer choose `[cos, sin], φ between` and drag the <span class="light-phase">dial</span>. The explorer calls this phase φ, and we call it δ. In the second panel the dark stripe leaves the diagonal.
#
# ## Train the repaired gates
#
# Two more models train on the same 150 batches: *quadrature* and v7. The note's gate is called *as written*.

# %%
orders = ["v7, quadrature, as written", "v7, as written, quadrature", "quadrature, v7, as written", "another"]
order_guess = predict("In which order are the three losses, the lowest first?", orders)
order_guess

# %% tags=["answer", "nbval-ignore-output"]
controls = {"quadrature": [], "v7": [live.Scale("alpha", 0.3, 0.01, 10.0, "α")]}
for title, version in {"quadrature": "v7-quadrature", "v7": "v7"}.items():
    torch.manual_seed(1337)
    models[version], more = build(version, shape), {"watches": watches, "controls": controls[title]}
    runs[title] = live.train(models[version], objective, recipe, title, **more)

# %% [markdown]
# While they train, compare the gates. Quadrature has cosines on the left and sines on the right. For v7 you see the head whose phases moved most.

# %% tags=["answer", "nbval-ignore-output"]
loss = {title: run.result()[-1].val_loss for title, run in runs.items()}
print("nats per masked character:", *(f"{title} {x:.2f}" for title, x in loss.items()), sep="\n")
found = ", ".join(sorted(loss, key=loss.get))
order_guess.compare(found if found in orders else "another")

# %% [markdown]
# This is one seed; the section *Who wins?* has more. The slider under v7 sets α during training. Run the training cell again and move the slider. In its picture, rows with a frame are MASK tokens. They change, because α now counts.
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
# So quadrature **is RoPE**, for pairs whose second channel is 0. **A gate can stand in for a rotation only if it becomes a rotation.** RoPE itself fills both channels of a pair. With two channels it can tell left from right, and needs no δ.
#
# A published encoding arrives at the same place. [PoPE](../docs/glossary.md#pope) has the waves and the trained δ of v7. It also makes each number of a query or key positive, by a [softplus](../docs/glossary.md#softplus). A negative number would turn a crest into a trough. If all numbers are positive, the crests depend on position and δ alone. PoPE has no α.
#
# ## Who wins?
#
# We trained ten models for 400 steps (2 layers of 96). Seven of them have gates: the note's gate, and the gate after each repair. Their rivals are RoPE, PoPE, and a model with no encoding.

# %%
winners = ["v7", "RoPE", "PoPE", "no encoding"]
winner_guess = predict("Which model has the lowest loss after 400 steps?", winners)
winner_guess

# %% tags=["answer"]
stored = load_results("polar")["val_loss"]  # twelve seeds of each model
names = {**LABELS, "v7": "v7"}
arms = (*REPAIRS, "v7-rope", "v7-pope", "v7-nope")
losses = {names[arm]: stored[arm] for arm in arms}
title = "As written the gate loses {:.2f} nats, as v7 {:.2f}; RoPE loses {:.2f}"
title = title.format(*(mean(losses[name]) for name in ("as written", "v7", "RoPE")))
fig, ax = plt.subplots(figsize=(8, 4.8))
draw_seed_dots(ax, losses, title, "loss of masked characters (nats)", means=True)
plt.show()


# %% [markdown]
# Each row is a model, each dot is a [seed](../docs/glossary.md#seed), and the bar is the mean. From *as written* down to *v7* the rows follow the repairs. The note's gate is far better than no encoding, and far behind RoPE. The dots of v7, RoPE and PoPE lie close together.
#
# Which models differ? We compare two models seed by seed. Each row of the table takes the loss of one model *minus* that of another, and gives the mean difference with its 99% interval. A difference is **decided** if the interval leaves out zero ([lesson 08](08_the_ladder.ipynb)).

# %% tags=["answer"]
def compare(one, other):
    """Row of a table: two models, the mean difference of their losses, and what is decided."""
    found = paired.compare(paired.differences(stored[one], stored[other]))
    return names[one], names[other], f"{found:+.3f}", sign[found.side]


columns = ("model", "minus", "difference (nats)", "its loss is")
sign = {"below": "lower", "above": "higher", "undecided": "undecided"}
steps = [*zip(arms[1:7], arms, strict=False), ("v7-rope", "v7"), ("v7-pope", "v7"), ("v7-pope", "v7-rope")]
rows = [compare(*pair) for pair in steps]
display(Table(columns, rows, stable=4))
ranked = {"v7": "v7", "v7-rope": "RoPE", "v7-pope": "PoPE", "v7-nope": "no encoding"}
winner_guess.compare(ranked[min(ranked, key=lambda arm: mean(stored[arm]))])

# %% [markdown]
# Read the table from the top. A negative mean is an improvement.
#
# - The exact phase changes the loss by less than 0.06 nats in either direction. The random phase lowers it by 0.12.
# - Gates after the norm let α count, and the loss *rises*. The fourth repair, α on keys only, takes back a part of this rise.
# - Quadrature lowers the loss most, by half a nat. The phase δ of v7 lowers it again.
# - The last three rows compare v7, RoPE and PoPE. PoPE has the lowest mean, 0.03 nats below both. Against v7 this is decided. Against RoPE the interval just contains zero, and RoPE and v7 are within 0.03 nats of each other.
#
# ## Why does δ help?
#
# δ breaks the mirror. It also lets heads look to *different* sides. Which of the two effects helps? We trained two more models, whose phases are fixed. *One side* has +45° in all four heads. *Both sides* has +45° in two heads and −45° in two.

# %%
Table(columns, [compare(arm, "v7-quadrature") for arm in ("one side", "both sides")], stable=4)

# %% [markdown]
# *One side* breaks the mirror, and loses 0.03 nats. *Both sides* gains 0.11 nats. **It is not enough to break the mirror. With fixed phases, the loss falls only if some heads look to one side and some to the other.** Trained phases gain 0.03 nats more than the fixed ones of *both sides* (0.01 to 0.05).

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
# 1. A norm after the gates cancels α = 0.3. At φ = 0 the gradient of cos φ is 0, so φ never moves.
# 2. $\cos(i\omega)\cos(j\omega)$ depends on $i-j$ and on $i+j$. A sine beside each cosine removes $i+j$.
# 3. Then left equals right. A phase δ between query and key breaks this mirror. Of our two fixed choices of phases, only *both sides* lowers the loss.
# 4. The loss of the note's gate is 2.17 nats for each masked character. It is 1.51 for v7 and 1.52 for RoPE (400 steps, 2 layers of 96). PoPE is 0.03 below v7 (0.00 to 0.05), and RoPE and v7 are level within 0.03.
# 5. Quadrature is RoPE for pairs that are half empty. The repairs end at a rotation.

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
# **c.** −sin 0 = 0. Against *b*: φ differs from channel to channel.
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
# **a.** Half of it is a cosine of i + j. *c* is tempting, but it changes RoPE's score too. With *b* the product stays as it is.
#
# </details>
#
# **4.** A new v7 has phases of 0. When does it stop being a mirror?
#
# - a) never
# - b) as soon as phases have left 0
# - c) it never was one
#
# <details><summary>Answer</summary>
#
# **b.** With phases of 0 it is quadrature, which always is a mirror. So *a* would be right for quadrature.
#
# </details>
#
# **5.** *Both sides* never trains its phases, and gains 0.11 nats over quadrature. What follows?
#
# - a) training phases is useless
# - b) a fixed phase cancels
# - c) a gain is possible without trained phases
#
# <details><summary>Answer</summary>
#
# **c.** *a* says too much: trained phases may gain more.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Note 000 replaces RoPE in a diffusion model. It leaves to an experiment whether gates are better. The repairs are ours. [A page](../docs/notes/000.md) explains all claims.

# %% tags=["nbval-ignore-output"]
SHOWN = [
    "α lowers the attention to MASK tokens, under control",
    "φ is a phase that is learned",
    "cos(iω) cos(φ) approximates a phase",
    "gates are simpler to implement than RoPE",
    "gates are an alternative to RoPE",
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
# Lesson 08 puts all seven versions on one board, with the same data, seeds and budget. → [08 · The ladder](08_the_ladder.ipynb)
