# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 11 · A real model
#
# **Do real models work like ours?**
#
# *A side trip after 04c, complete in itself.*
#
# The models of this course have two layers, and you trained them in a minute. SmolLM2-135M-Instruct has 30 layers and 134.5 million weights, and was trained on two trillion [tokens](../docs/glossary.md#token) ([its page](../docs/real_model.md)). Apart from its causal mask, only [RoPE](04a_rope.ipynb) tells it where a word stands. You will be able to
#
# 1. show which pairs of RoPE a published model uses, and which it ignores,
# 2. judge what right answers to a set of questions show,
# 3. find heads by what they look at, and test with controls whether the model needs them,
# 4. test by an exchange what a head tells the next layer.
#
# **Needs:** the file of the model, 98 MB, which `make lab` has fetched; if it is missing, run `python -m babygpt_course.real.file`. **Takes:** about 90 seconds to run on two cores, and by our estimate 52 minutes to read and guess. The exercises take about 27 minutes, and those marked *stretch* take 8 more.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import babygpt_live as live
from babygpt.encodings import Encoding
from babygpt.encodings.rotary import angles_at, rotate_pairs
from babygpt.metrics import attention_weights, with_heads, without_heads, written_by_heads
from babygpt.tables import Table
from babygpt_course.exercises import lesson_11 as tasks
from babygpt_course.predictions import predict, tally
from babygpt_course.real import heads, views
from babygpt_course.real.model import read_model, token_losses, use_encoding
from babygpt_course.studies import first_token, published_model, results
from babygpt_course.tools import switchboard
from babygpt_live import Axis

# %% tags=["nbval-ignore-output"]
model, tokenizer = read_model()
device = model.token_embedding.weight.device
views.attention(model, tokenizer, "Sam chased Anna. Who chased Anna? Sam.", layer=12, head=2)

# %% [markdown]
# A token of this model is a word or a piece of a word, so its losses are in nats a *token*, and cannot be compared with our nats a character. Each row of the picture shows where one token looks. We begin every text with a line end, ↵, which means nothing. Layer 12, head 2 looks at the token before. Move both sliders: many heads look at the line end, the [attention sink](../docs/glossary.md#attention-sink) of [03a](03a_attention.ipynb).
#
# Why this token? It is a line end, and it is the first. To part the two, we cut the line end off, so that another token comes first. And in the whole text we put a copy of the line end into the middle.

# %%
sinks = ["the line end, wherever it stands", "whatever token is first", "both"]
sink_guess = predict("Which token gets much attention?", sinks)
sink_guess

# %% tags=["answer"]
being_first = results.load_results("sinks")
fig, ax = plt.subplots(figsize=(8, 3))
first_token.draw_model(ax, being_first, "SmolLM2")
plt.show()
cut, copied = (np.mean(being_first["models"]["SmolLM2"][key]) > 0.1 for key in ("cut", "repeated"))
sink_guess.compare(sinks[2 if cut and copied else int(cut)])

# %% [markdown]
# Each dot is one of 24 texts, and the weights are those that its second half gives, over all heads. Whatever token is first gets 30% of them, and as second it gets 0.1%. The copy in the middle gets 0.7%. **Being first is what counts**, and RoPE cannot tell it, because it knows distances alone. The causal mask can: the first token is the only one that sees nothing but itself. In our v4 the first token gets less than even attention would give it ([results](../docs/results.md#a-published-model)).

# %% [markdown]
# ## Take the rotation away
#
# With RoPE a position enters a score as a distance, so by construction a text costs the same wherever it begins. Moved by 5,000 positions, none of the 24 texts that we wrote for this lesson, of about 236 tokens each, changed its loss ([results](../docs/results.md#a-published-model)). What is the model worth without distances?
#
# We change the rotation in two ways. In the first nothing turns, so a token sees which words stand before it, and hardly their order ([03a](03a_attention.ipynb)). The second is the wrong layout of [09](09_museum_of_bugs.ipynb): the rotation takes channel $i$ with channel $i + D/2$, although in this file channels $2i$ and $2i + 1$ form a pair ([why](../docs/real_model.md)). The text is a recipe for onion soup.

# %%
worse = ["no rotation costs more, by 0.5 nats or more", "the wrong layout does", "they differ by less"]
layout_guess = predict("Which of the two costs this text more?", worse)
layout_guess

# %% tags=["answer", "nbval-ignore-output"]
study = results.load_results("real")
texts = study["rotations"]  # name of a change -> one loss for each of 24 texts
soup = tokenizer.encode(published_model.texts()[0])
own = token_losses(model, soup).mean()


def loss_with(encoding):
    """Nats a token that the soup costs with another encoding: an `Encoding`, or a function (x, position)."""
    with use_encoding(model, encoding):
        return float(token_losses(model, soup).mean())


theta = model.encoding.theta
none, layout = loss_with(Encoding()), loss_with(published_model.half_split(theta))
rows = [
    ("its own rotation", own, "own"),
    ("none", none, "none"),
    ("the other layout", layout, "other layout"),
]
rows = [(name, f"{loss:.2f}", f"{np.mean(texts[key]):.2f}") for name, loss, key in rows]
display(Table(("rotation", "this text (nats a token)", "24 texts"), rows, stable=1))
layout_guess.compare(worse[0 if none - layout > 0.5 else 1 if layout - none > 0.5 else 2])

# %% [markdown]
# Over the 24 texts the model loses 1.89 nats a token more without its rotation, and with the other layout 1.79, although every weight is as it was. So the wrong layout is hardly better than none: every pair still turns, but these are not the pairs that were trained.
#
# ## Which pairs does it use?
#
# A head has 64 channels, so 32 pairs turn, each at its own speed. The quickest makes a full turn in six tokens, and the slowest in more than 400,000. We let some pairs stand still and leave the others alone.

# %%
pairs = ["the eight slowest", "the eight quickest", "about equal"]
pairs_guess = predict("Eight of the 32 pairs stand still. Which eight cost more?", pairs)
pairs_guess

# %% tags=["answer", "nbval-ignore-output"]
frequency, pair = model.encoding.frequencies(), torch.arange(32)


def still(stops):
    """The model's rotation, in which some pairs do not turn: stops (32,) tells which."""
    return lambda x, position: rotate_pairs(x, angles_at(position, frequency.where(~stops, 0.0)))


slow, quick = loss_with(still(pair >= 24)), loss_with(still(pair < 8))
print(
    f"this text: {own:.2f} nats; the eight slowest stand still: {slow:.2f}, the eight quickest: {quick:.2f}"
)
fig, ax = plt.subplots(figsize=(8, 4.4))
published_model.draw_frozen(ax, study)
plt.show()
pairs_guess.compare(pairs[0 if slow - quick > 0.1 else 1 if quick - slow > 0.1 else 2])

# %% [markdown]
# The slower half of all pairs can stand still (the blue line), and the texts cost 0.005 nats more. But without the four quickest pairs the texts cost 1.04 nats more, of the 1.89 nats that the whole rotation is worth ([all numbers](../docs/results.md#a-published-model)). With 20 pairs still it is 0.08, and with 24 it is 0.62. **In texts of this length the model needs few pairs besides its twelve quickest. The slower half, which turns by 49° at most, hardly matters.**
#
# So interpolation by 4 ([lesson 10](10_beyond_the_window.ipynb)) costs these short texts 1.43 nats, and NTK-aware scaling, which spares the quick pairs, 0.02.
#
# ## Ask who did it
#
# Can SmolLM2 do what our tales demand? We tell it *Sam chased Anna* and ask *Who chased Anna?*, with each pair of six names. Its rival is the other name. After one answered question about other people the model is right in all 30.

# %%
proofs = ["yes", "no: these questions have a shortcut", "no: 30 questions are too few"]
proof_guess = predict("Does this show that the model knows who did what to whom?", proofs)
proof_guess

# %% tags=["answer", "nbval-ignore-output"]
asked = {kind: np.array(values) > 0 for kind, values in study["questions"].items()}  # (5, 30) each
fig, ax = plt.subplots(figsize=(8, 4.2))
for kind in ("shortcut", "who", "whom"):
    ax.plot(range(5), 100 * asked[kind].mean(axis=1), "o-", label=published_model.ASKED[kind])
ax.axhline(50, color=live.COLOURS["grey"], ls="--")
both = (asked["who"] & asked["whom"]).mean(axis=1)
title = f"Where only order decides, both questions of a story are right in {both.max():.0%} at most"
ax.set(
    title=title,
    xlabel="examples before the question",
    ylabel="right answers (%)",
    ylim=(0, 104),
    xticks=range(5),
)
ax.legend()
plt.show()
print(
    "both questions of a story right:", ", ".join(f"{share:.0%}" for share in both), "after 0 to 4 examples"
)
proof_guess.compare(proofs[1])

# %% [markdown]
# The answer to *Who chased Anna?* is the name that the question does not hold, so the order of the words is not needed. So we asked for the same stories *Who chased?* and *Who was chased?* A model that answers by habit, say with the first name, gets one of the two right and the other wrong. After four examples, two of each kind, both are right in 10 of 30 stories, where two coins would reach a quarter. **So 30 of 30 looked like proof and was none.**
#
# But *both right* is a threshold, and a habit can hide a small effect of the order. Say that a model prefers *Sam* by 2.0 nats after *Who chased?* and by 1.6 after *Who was chased?* It has the habit of saying *Sam*, and still the question has moved it by 0.4 nats in the right direction. So it does in at least 25 of 30 stories after one to four examples, which suggests that the order counts. (These stories suggested the measure, so others have to decide it.) Our v4 answers by order, in its tales ([00](00_start_here.ipynb)).

# %% [markdown]
# ## What do 270 heads look at?
#
# We need a text in which one thing alone can help. So we draw 60 tokens at random, and let the model read them twice. The first time no token can be predicted.

# %%
falls = ["about as much as the first", "about half as much", "less than a quarter"]
twice_guess = predict("What does the second half cost, compared with the first?", falls)
twice_guess

# %% tags=["answer", "nbval-ignore-output"]
random = heads.repeated_tokens(60, tokenizer.vocab_size, tokenizer.start, seed=0)
first, second = published_model.halves(model, random)
print(f"this draw: {first:.1f} nats a token, then {second:.2f}")
ours = study["induction"]
print(
    f"24 draws:  {np.mean(ours['first']):.1f} nats, then {min(ours['second']):.1f} to {max(ours['second']):.1f}"
)
fig, ax = plt.subplots(figsize=(6, 8))
published_model.draw_kinds(ax, np.array(study["induction"]["looks"]))
plt.show()
twice_guess.compare(falls[0 if second > 0.75 * first else 1 if second > 0.25 * first else 2])

# %% [markdown]
# The first reading costs more than equal probabilities would, 10.8 nats, because the model expects sentences. The map has one cell for each head, and its colour tells what the head looks at most in these texts. Nearly half of all heads, 123 of 270, give more than half of their weight to the first token. Six give more than half of it to the token before (blue). Six give more than half of it to what followed the present token last time (green), and such heads are called [induction heads](../docs/glossary.md#induction-head).
#
# How can a head find what *followed* a token? It would be easy if each token carried a note on which token stands before it. Then a head would only have to search for the note that names the present token. So we guess that two steps work together: a blue head leaves notes, and the green heads of later layers search for them.
#
# ## Silence a head
#
# Attention is only a hint. We silence a head, so that it writes 0, and see what the second half costs. Any model suffers from zeros that it never met in training, so a cost says something only beside a control: five heads drawn at random, all silent at once.

# %%
silent_guess = predict(
    "Which one, when it is silent, costs the second half most?",
    [
        "layer 17, head 1 (the token before)",
        "layer 19, head 7 (induction)",
        "layer 12, head 2 (the token before)",
    ],
)
silent_guess

# %% tags=["answer", "nbval-ignore-output"]
some = {"layer 17, head 1": (16, 0), "layer 19, head 7": (18, 6), "layer 12, head 2": (11, 1)}  # from 0
costs = []
for head in some.values():
    with without_heads(model, [head]):
        costs.append(published_model.halves(model, random)[1] - second)
stored = published_model.costs({"all": ours | study["alike"]}, "all", "second", "draw")
rows = [(name, f"{stored[f'without {head}']:+.2f}") for name, head in some.items()]
rows = [(name, f"{cost:+.2f}", mean) for (name, mean), cost in zip(rows, costs, strict=True)]
rows.append(("five drawn at random", "", f"{stored['without random']:+.2f}"))
display(Table(("silent", "this draw (nats more)", "24 draws: mean and 99% interval"), rows, stable=1))
silent_guess.compare([*silent_guess.options][int(np.argmax(costs))])

# %% [markdown]
# Without layer 17, head 1 the second half costs 6.5 nats a token more, half of the 12.7 nats that the first reading is worth, although this head never looks at what followed. Five heads drawn at random cost 0.3 together, and in the 24 ordinary texts the head costs only 0.04 nats. Five other heads look at the token before, too, and cost at most 0.4 nats each, so looking there is not what makes the head special.
#
# Each click below silences a head, and the model reads both texts again. Begin with layer 17, head 1, then try green heads alone and in pairs, and some orange ones.

# %% tags=["nbval-ignore-output"]
copied, ordinary = (
    Axis("random text, second half", (0, 14), unit=" nats"),
    Axis("soup", (0, 14), unit=" nats"),
)


def copy_and_read(model):
    """What the switchboard shows: the losses of the second half and of an ordinary text."""
    return {
        copied: published_model.halves(model, random)[1],
        ordinary: float(token_losses(model, soup[:100]).mean()),
    }


looks = np.array(study["induction"]["looks"])[[0, 1, 3]]  # shares of three kinds, (3, n_layer, n_head)
kinds = np.array([heads.BEFORE, heads.FIRST, heads.FOLLOWED])[looks.argmax(axis=0)]
switchboard(model, copy_and_read, some.values(), looks.max(axis=0).tolist(), kinds.tolist())

# %% [markdown]
# No green head alone costs as much as this blue one, although green heads look at what has to be copied, and the blue one does not. Nor does attention find all that matters. In this draw layer 20, head 9, which is orange, costs more than any green head, and layer 1, head 6 costs most of all, although it gives the token before only 7% of its weight.
#
# ## Exchange what it wrote
#
# The ablation does not show *what the head says*. Suppose that it writes a note at each token on the token before it. Take two tokens X and Y of the first half, which X′ and Y′ follow. We exchange what the head wrote at X′ and at Y′, and nothing else:
#
# | | its own note | the forged note |
# |---|---|---|
# | at X′ | *before me stands X* | *before me stands Y* |
# | at Y′ | *before me stands Y* | *before me stands X* |
#
# When X comes again, a green head searches for the note *before me stands X*. With its own notes it finds X′, and with the forged ones it should find Y′. Layer 12, head 2 is the control.

# %% tags=["nbval-ignore-output"]
x, y = 20, 45  # places of the two tokens in the first half
written = written_by_heads(model, random[None].to(device))
changes = {"as it is": {}}
for name in ("layer 17, head 1", "layer 12, head 2"):
    changes[f"{name} forged"] = published_model.exchange(written, some[name], x + 1, y + 1)
rows = []
for name, change in changes.items():
    with torch.inference_mode(), with_heads(model, change):
        logits = model(random[None].to(device))[0, 60 + x]
        gaze = attention_weights(model, random)[*some["layer 19, head 7"], 60 + x]
    margin = logits[random[x + 1]] - logits[random[y + 1]]
    rows.append((name, f"{gaze[x + 1]:.0%}", f"{gaze[y + 1]:.0%}", f"{margin:+.1f}"))
Table(
    ("notes", "layer 19, head 7 looks at X′", "at Y′", "logit of X′ less that of Y′ (nats)"),
    rows,
    stable=1,
)

# %% [markdown]
# The table has one draw. In the mean over 24 draws layer 19, head 7 gives X′ 97% of its weight with its own notes. With forged notes X′ gets 6% and Y′ 51%, and in the control X′ keeps 97%. So **layer 17, head 1 writes notes on what stands before, and the strongest induction head finds its place by them.** The answer turns less often: Y′ wins in 11 of 24 draws, where with its own notes X′ wins in all.
#
# ## Do real models work like ours?
#
# In this respect they do, with a difference. In three of twelve seeds of v4 heads of layer 1 leave such notes, too, and a head of layer 2 reads the vowel of a name from them ([results](../docs/results.md#where-the-note-lies)). But no seed of v4 that knows its vowels needs a note on the letter before ([lesson 12](12_the_case_is_closed.ipynb)).
#
# | | the note says | where it lies | the later head |
# |---|---|---|---|
# | SmolLM2 | before me stands X | on the token right after X | *searches* for the note, and reads the token |
# | v4, three seeds | before me stands *i* | on the letter right after *i* | *reads* the note |
#
# For the rest, the published model works like ours as far as we compared them: few heads are needed for copying, and a head that looks at a token need not be one of them.

# %%
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run it, then the check. In a new cell, `tasks.INDUCTION.hint()` gives one hint at a time and `tasks.INDUCTION.solution()` shows a solution.

# %%
tasks.INDUCTION


# %%
def induction(weights, idx):
    """Attention of each head (n_layer, n_head) to what followed the same token earlier."""
    return weights.mean(dim=(-1, -2))


# %%
tasks.INDUCTION.check(induction)

# %%
tasks.STANDS_OUT


# %%
def stands_out(loss, n_layer, n_head, head):
    """Whether silencing a head costs clearly more than silencing one drawn at random."""
    return loss([head]) > loss([])


# %%
tasks.STANDS_OUT.check(stands_out)

# %%
tasks.POSITIONS


# %%
def positions_after(held, n):
    """Positions (n,) of n new tokens, after those that a cache holds."""
    return torch.arange(n)


# %%
tasks.POSITIONS.check(positions_after)

# %%
tasks.TURNING


# %%
def turning(head_dim, theta, length, share):
    """Number of pairs that turn by at least a share of a circle within a text."""
    return head_dim // 2


# %%
tasks.TURNING.check(turning)

# %% [markdown]
# ## Recap
#
# 1. Rotation tells a published model distances alone, and is worth 1.9 nats a token. Being first counts too, by the mask.
# 2. In texts of 236 tokens its 16 slowest pairs can stand still for 0.005 nats, whereas the four quickest cost 1.0.
# 3. It answers 30 of 30 questions that have a shortcut. Where only order decides, it has both questions of a story right in 10 of 30 cases at most, though order may count.
# 4. Layer 17, head 1 leaves notes on which token stands before, and the strongest induction head searches for them. Without it the model loses half of what it gains by copying.
# 5. In three of twelve seeds v4 leaves such notes, too. There a later head reads the note, where SmolLM2 searches for it.

# %% [markdown]
# ## Self-test
#
# **1.** You copy the weights of a model into your own program. It runs, and loses 1.8 nats too much. What do you look at first?
#
# - a) the learning rate
# - b) how the program pairs channels for RoPE
# - c) the length of the texts
#
# <details><summary>Answer</summary>
#
# **b.** Nothing is trained, so *a* has no effect.
#
# </details>
#
# **2.** The eight slowest pairs stand still, and texts of 236 tokens cost the same. Does the model need these pairs?
#
# - a) no, they could be removed
# - b) yes, they must turn in longer texts
# - c) this does not tell
#
# <details><summary>Answer</summary>
#
# **c.** *a* is tempting, but even a pair that does not turn adds to the score. For *b* we need longer texts.
#
# </details>
#
# **3.** How do you show that later heads find their place by what one head wrote?
#
# - a) silence the head
# - b) show that it gives the token before 90% of its weight
# - c) exchange what it wrote at two tokens, and see where the later heads look
#
# <details><summary>Answer</summary>
#
# **c.** *a* is tempting, but shows only that the head is needed, and *b* only where it looks.
#
# </details>
#
# **4.** You silence one head, and the loss rises by 1 nat. When is this head special?
#
# - a) if it also has the highest weight
# - b) if other heads, silenced in the same way, cost much less
# - c) always
#
# <details><summary>Answer</summary>
#
# **b.** A model never saw such zeros in training, so any head may disturb it. *a* only tells where a head looks.
#
# </details>
#
# **5.** A model answers 30 of 30 questions who did it. What would show that it knows the order of the words?
#
# - a) 300 more questions of this kind
# - b) two questions about each story whose answers differ
# - c) a lower loss
#
# <details><summary>Answer</summary>
#
# **b.** A habit gets one of the two wrong. *a*: a shortcut that answers 30 questions answers 300.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Olsson et al. 2022](https://arxiv.org/abs/2209.11895): induction heads.
# - [Barbero et al. 2024](https://arxiv.org/abs/2410.06205): quick and slow pairs.

# %% [markdown]
# ## What comes next
#
# `read_model()` gives you a `Transformer`, so you can exchange its encoding for one of your own. But first: the case of v4 is still open. What does it wait for before it spells? → [12 · The case is closed](12_the_case_is_closed.ipynb)
