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
# **How can a score depend on distance alone?**
#
# A sinusoid tells every token where it stands, counted from the beginning of the window. But language rarely cares for that. What matters is that the adjective stands *just before* the noun, that the name came *two words ago*. This notebook turns that wish into an equation, solves it, and arrives at the rotary position embedding, **RoPE**, which most of today's large models use.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about a minute to run on two cores, half an hour to read. **You will have seen:** why the answer is a rotation, two ways to lay it out and how mixing them breaks it, and who survives a text longer than any seen in training.

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import ModelConfig, NextToken, Places, TrainConfig, build, invariants, load_corpus, plots
from babygpt.data.corpus import from_grammar
from babygpt.data.grammar import Grammar
from babygpt.encodings import Encoding, LearnedPositions, Rotary, Sinusoidal
from babygpt.encodings.rotary import rotate
from babygpt.encodings.sinusoidal import frequencies
from babygpt.measure import attention_weights, loss_by_position, role_accuracy
from babygpt.panels import Table, promises, source
from babygpt.training import train

plots.set_style()

# %% [markdown]
# ## The wish
#
# Attention compares a query with a key by a dot product, the **score**. We look for a way to *place* a query at position $m$ and a key at position $n$, written $f(q, m)$ and $f(k, n)$, such that the score knows only how far apart they stand:
#
# $$f(q, m) \cdot f(k, n) = g(q, k, m - n).$$
#
# > **Predict.** Adding a vector for each position, as v2 and v3 do, gives $(q + p_m)\cdot(k + p_n)$. Multiply it out in your head. Which of the four terms would have to vanish?
#
# Four terms: $q\cdot k$ knows nothing of places, $p_m\cdot p_n$ may be a function of $m-n$ (for sinusoids it is), but the mixed terms $q\cdot p_n$ and $p_m\cdot k$ each depend on *one absolute* place. So addition does not do it. What about multiplication?

# %% [markdown]
# ## One pair, one rotation
#
# Take the smallest case: two channels, read as one complex number. The dot product of two pairs is the real part of $q\,\bar k$. Multiply $q$ by $e^{im\theta}$ and $k$ by $e^{in\theta}$, and in the product the bar turns one sign around:
#
# $$\operatorname{Re}\left(q\,e^{im\theta}\;\overline{k\,e^{in\theta}}\right) = \operatorname{Re}\left(q\,\bar k\;e^{i(m-n)\theta}\right).$$
#
# Only $m - n$ is left. And multiplying by $e^{im\theta}$ is nothing but **turning the pair by the angle $m\theta$**, which leaves its length as it was. The wish has come true. Check it on numbers small enough for a pencil: $\theta$ is a quarter turn.

# %%
quarter = torch.pi / 2
q, k = complex(2, 1), complex(1, 0)


def placed(z, m):
    """A pair as one complex number, turned by m quarter turns."""
    return z * np.exp(1j * m * quarter)


# %%
for m, n in ((0, 0), (1, 1), (5, 5), (1, 0), (6, 5)):
    print(m, n, round((placed(q, m) * np.conj(placed(k, n))).real, 2))

# %% [markdown]
# Same place, same score: three times 2. One step apart, wherever: twice −1. On the circle below, query and key of equal places turn together, so the angle between them stays.

# %% tags=["nbval-ignore-output"]
fig, axes = plt.subplots(1, 2, figsize=(10, 4.6))
for ax, n in zip(axes, (0, 3), strict=True):
    angles = [np.angle(q) + (n + 2) * 0.4, np.angle(k) + n * 0.4]
    plots.draw_clock(ax, angles, ["q", "k"], f"q at {n + 2}, k at {n}: the same angle")
plt.show()

# %% [markdown]
# ## Many pairs, many speeds
#
# A head has $D$ channels, so it has $D/2$ pairs. Pair $i$ turns by $\theta^{-2i/D}$ radians a token, the very frequencies of the sinusoid: the first pair like a second hand, the last one hardly at all. Fast pairs tell neighbours apart, slow ones tell far from near. In this course the pairs are **interleaved**, channels (0, 1), (2, 3) and so on, as in the RoFormer paper. Here is the file's own function.

# %%
source(rotate)

# %% [markdown]
# We check it against a computation that shares none of its code: view the channels as complex numbers and multiply.

# %%
def by_complex_numbers(x):
    """x (..., T, D), each adjacent pair of channels multiplied by e^(i m theta_i)."""
    pairs = torch.view_as_complex(x.double().unflatten(-1, (-1, 2)))
    angle = torch.arange(x.shape[-2], dtype=torch.float64)[:, None] * frequencies(x.shape[-1])
    return torch.view_as_real(pairs * torch.polar(torch.ones_like(angle), angle)).flatten(-2)


# %%
x = torch.randn(2, 3, 50, 16, generator=torch.Generator().manual_seed(0))
for same_x, allowed in ((x, 1e-5), (x.double(), 1e-10)):
    error = rotate(same_x, torch.arange(50)).double() - by_complex_numbers(same_x)
    assert error.abs().max() < allowed

# %% [markdown]
# > **Predict.** One random query and one random key, placed at all pairs of positions: a 48 × 48 table of scores. What will it look like?

# %%
dice = torch.Generator().manual_seed(0)
one_q, one_k = (torch.randn(1, 1, 1, 32, generator=dice).expand(1, 1, 48, 32) for _ in range(2))
places = torch.arange(48)
table = (rotate(one_q, places) @ rotate(one_k, places).mT)[0, 0]
assert (table[1:, 1:] - table[:-1, :-1]).abs().max() < 1e-4

# %% tags=["nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(6, 4.6))
title = "One score for each distance: constant along diagonals"
labels = (title, "position of the key n", "position of the query m")
plots.draw_matrix(ax, table.numpy(), *labels, diverging=True)
plt.show()

# %% [markdown]
# ## Two layouts, and what mixing them does
#
# Which channels form a pair is a matter of taste. Besides the interleaved layout there is the **half-split** one, pairing channel $i$ with $i + D/2$; many libraries use it. Each is right: they differ by a renaming of channels, and since queries and keys are renamed alike, no score changes.

# %%
def half_split(x, position):
    """RoPE with channel i paired with i + D/2."""
    angle = position[:, None] * frequencies(x.shape[-1]).float()
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], dim=-1)


# %%
renamed = [*range(0, 32, 2), *range(1, 32, 2)]  # even channels first, then odd ones
assert torch.allclose(half_split(one_q[..., renamed], places), rotate(one_q, places)[..., renamed], atol=1e-5)

# %% [markdown]
# The code in source note 001 takes its angles from one layout, `cat(freqs, freqs)`, and its pairs from the other, `x[::2]` with `x[1::2]`. It runs without an error. But now the two channels of a pair turn by *different* angles, and that is no rotation.
#
# > **Predict.** Two things RoPE promises: lengths stay, and scores depend on distance alone. Which does the mixture break?

# %%
class Mixed(Encoding):
    """Angles laid out for half-split pairs, applied to interleaved ones, as in note 001."""

    def multiply(self, q, k, places):
        freqs = places.time[:, None] * frequencies(q.shape[-1])
        angle = torch.cat((freqs, freqs), dim=-1)  # (T, D)
        swap = lambda x: torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)  # noqa: E731
        return tuple(x * angle.cos() + swap(x) * angle.sin() for x in (q, k))


# %%
rows = []
for name, encoding in (("interleaved", Rotary(32)), ("mixed, as in note 001", Mixed())):
    kept, relative = invariants.norm_preserved(encoding), invariants.shift_invariant(encoding)
    rows.append((name, "kept" if kept.holds else "lost", "yes" if relative.holds else "no"))
    print(f"{name}: length changes by {kept.value:.0%}, a score moves by {relative.value:.1f}")
Table(("layout", "length", "distance alone"), rows, stable=3)

# %% [markdown]
# Both. And nothing crashes: a model trained with it just learns worse. This is why the course tests for the *effect* and not for the line of code.

# %% [markdown]
# ## Train it
#
# The full tales take a model of four layers about a minute of undisturbed training; `python -m babygpt figures roles` does that for four encodings and three seeds, and [its picture](../figures/roles.png) is in the README. Here we take a smaller dose, so that you need not wait: tales with one kind of fact, fewer names and no digressions, and a model of two layers.
#
# > **Predict.** The sinusoidal v3 gets the same steps, the same shape, the same seed. Who will answer *who did it?* better after 400 steps?

# %%
full = load_corpus("tales", n_chars=10_000).grammar
words = full.words | {"name": full.words["name"][::12]}
rules = full.rules | {"story": full.rules["story"][:4], "gap": full.rules["gap"][:1]}
corpus = from_grammar("small tales", Grammar(words, rules), n_chars=300_000)

# %%
asked = corpus.grammar.questions(200, seed=2, max_chars=64)
print(corpus.tokenizer.decode(corpus.val[:150]))


# %%
def trained(version, block_size=64, steps=400, seed=1):
    """A model of two layers after some steps on the small tales, and its validation loss."""
    torch.manual_seed(seed)
    model = build(version, ModelConfig(corpus.tokenizer.vocab_size, block_size, 2, 4, 96))
    recipe = TrainConfig(steps=steps, batch_size=12, lr_matrix=0.03, lr_other=0.02, seed=seed)
    *_, last = train(model, NextToken(corpus, block_size), recipe)
    return model, last.val_loss


# %% tags=["nbval-ignore-output"]
rows = []
for version in ("v3", "v4"):
    model, val_loss = trained(version)
    accuracy = role_accuracy(model, corpus.tokenizer, asked)
    rows.append((version, f"{val_loss:.2f}", f"{accuracy:.0%}"))

# %% tags=["nbval-ignore-output"]
assert accuracy > 0.85
assert val_loss < 0.62
Table(("version", "loss (nats per character)", "right answers"), rows, stable=3)

# %% [markdown]
# v4 has learnt to look back at the right name; v3, with everything else equal, is still tossing coins. (Whether it would get there with more steps, the larger figure tells.) RoPE makes the useful thing, *the word just before that verb*, the same direction at every place, so it needs to be learnt only once.
#
# Where does v4 look when it answers? Below, the weights of the last token before the answer, over the characters of the story, for the head that looks most sharply at a name.

# %%
question = asked[0]
weights = attention_weights(model, corpus.tokenizer.encode(question.prompt))  # (layers, heads, T, T)
name_at = question.prompt.index(question.answer)
layer, head = np.unravel_index(weights[:, :, -1, name_at].argmax(), weights.shape[:2])

# %% tags=["nbval-ignore-output"]
letters = [{"\n": "↵", " ": "␣"}.get(c, c) for c in question.prompt]
fig, ax = plt.subplots(figsize=(9, 3))
ax.bar(range(len(letters)), weights[layer, head, -1])
ax.set_xticks(range(len(letters)), letters)
plots.finish(ax, f"A head looks back at “{question.answer}”", "character of the story", "attention weight")
plt.show()

# %% [markdown]
# ## What each code promises
#
# The panel measures five promises on the model just trained, and on untrained encodings beside it.

# %% tags=["nbval-ignore-output"]
about_rope = [invariants.norm_preserved(Rotary(32)), invariants.shift_invariant(Rotary(32))]
of_model = (invariants.causal, invariants.cache_equals_full, invariants.extrapolates_or_refuses)
about_v4 = about_rope + [promise(model, corpus.val[:48]) for promise in of_model]
assert all(promise.holds for promise in about_v4)
promises(about_v4)

# %% [markdown]
# ## Longer than trained
#
# A score that depends on distance alone looks like a licence to read texts of any length. Is it? We train five small models on windows of 48 characters and let them read 192.
#
# > **Predict.** Learned positions, sinusoid, RoPE, ALiBi (a score that simply falls with distance) and no code at all. Whose loss stays calm beyond 48? Who refuses?

# %% tags=["nbval-ignore-output"]
curves = {}
for version in ("nope", "learned", "v3", "v4", "alibi"):
    reader, _ = trained(version, block_size=48, steps=150)
    length = reader.encoding.max_positions or 192
    curves[version] = loss_by_position(reader, corpus.val, length, n_windows=128)

# %% tags=["nbval-ignore-output"]
worse = {v: c[144:].mean() - c[24:48].mean() for v, c in curves.items() if len(c) > 48}
calm, wild = min(worse, key=worse.get), max(worse, key=worse.get)
fig, ax = plt.subplots(figsize=(8, 4.4))
title = f"Past the window {calm} stays calmest and {wild} suffers most"
plots.draw_by_position(ax, curves, 48, title, smooth=12)
plt.show()

# %% tags=["nbval-ignore-output"]
assert worse["alibi"] < 0.15
assert len(curves["learned"]) == 48
Table(("code", "loss added beyond 3 windows (nats)"), [(v, f"{w:+.2f}") for v, w in worse.items()], stable=2)

# %% [markdown]
# The learned table **refuses**: it has no row 48, and says so. The sinusoid has rows, but the model has never seen them. RoPE's scores are functions of distance, as promised, *but distances beyond 48 were never trained*: slow pairs reach angles they have never been at. Relative is not the same as unlimited. ALiBi was built for this: what is far counts for little, so a longer text looks like a short one. `python -m babygpt figures lengths` repeats this with larger models.

# %%
try:
    LearnedPositions(48, 96).embed(torch.zeros(1, 1, 96), Places.count(1, start=48))
except ValueError as error:
    print(error)
assert torch.isfinite(Sinusoidal(96).embed(torch.zeros(1, 1, 96), Places.count(1, start=48))).all()

# %% [markdown]
# ## Exercise
#
# You will write RoPE in the half-split layout as an `Encoding`, and the checker will ask it for both promises on random inputs. (Exercises with a checker are still being written; here is their place.)

# %% [markdown]
# ## What comes next
#
# RoPE tells distances apart but has no opinion on them: near and far are equally welcome. Source note 001 asks whether attention can be given a **scale**, by multiplying rotations with a kernel that falls off. Its formula uses the absolute position, and you can already guess what that will do to the promise above. That is notebook 05.
