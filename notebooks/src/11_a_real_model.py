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
# **Does any real model do this?**
#
# The models of this course have two layers, read tales, and were trained by you in a minute. Do published models encode positions in the same way, and do their heads divide the work alike? SmolLM2-135M-Instruct has 30 layers and 134.5 million weights, which this file rounds to about five bits each, and was trained on two trillion [tokens](../docs/glossary.md#token) ([its page](../docs/real_model.md)). Apart from its causal mask, only [RoPE](04_rope.ipynb) tells it where a word stands, and here it runs with the RoPE of lesson 04. You will be able to
#
# 1. show which part of a position a published model uses, and which it ignores,
# 2. say which pairs of channels it needs, and predict what slowing them down will break,
# 3. find heads by what they look at, and test with controls what the model needs them for,
# 4. write questions that test order, and recognise those that do not.
#
# **Needs:** the file of the model, 98 MB, which `make lab` has fetched; if it is missing, run `python -m babygpt_course.real.file`. **Takes:** about 90 seconds to run on two cores, and by our estimate 64 minutes to read and guess. The exercises take about 27 minutes, and those marked *stretch* take 8 more.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import Positions, plots
from babygpt.encodings import Encoding, Interpolated, NTKAware, YaRN
from babygpt.encodings.rotary import angles_at, rotate_pairs
from babygpt.metrics import attention_weights, with_heads, without_heads, written_by_heads
from babygpt.plots import Axis
from babygpt.sampling import generate
from babygpt.tables import Table
from babygpt_course.exercises import lesson_11 as tasks
from babygpt_course.predictions import predict, tally
from babygpt_course.real import heads, views
from babygpt_course.real.model import read_model, token_losses, use_encoding
from babygpt_course.studies import published_model, results
from babygpt_course.tools import switchboard

# %% tags=["nbval-ignore-output"]
plots.set_style()
model, tokenizer = read_model()
device = model.token_embedding.weight.device
views.attention(model, tokenizer, "Sam chased Anna. Who chased Anna? Sam.", layer=17, head=1)

# %% [markdown]
# A token of this model is a word or a piece of a word, so the picture has one row for each token, and the row shows where it looks. We begin every text with a line end, ↵, which means nothing. **Layer 17, head 1** looks at the token before. Now move both sliders, and you will see that many heads look at the line end. A head has to give its weight to *something*, because a [softmax](../docs/glossary.md#softmax) adds up to 1, so a head that finds nothing needs a place to look at, and many take the first token. Such a token is called an [attention sink](../docs/glossary.md#attention-sink).
#
# Does the model speak? It continues a text, and the most probable token is taken each time.

# %% tags=["nbval-ignore-output"]
prompt = tokenizer.encode("The capital of France is")
print(tokenizer.decode(generate(model, prompt[None], 24, temperature=0)[0]))

# %% [markdown]
# ## Move the text
#
# SmolLM2 was trained on windows of up to 8,192 tokens. We take a recipe for onion soup, one of 24 texts that we wrote for this lesson so that no model has read them, and let its positions begin at 5,000 in place of 0. In [03b](03b_sinusoidal.ipynb) such a move ruined v3.

# %%
sizes = ["by less than 0.001 nats", "by 0.001 to 0.1 nats", "by more than 0.1 nats"]
moved_guess = predict("By how much does the loss of the published model change?", sizes)
moved_guess

# %% tags=["answer", "nbval-ignore-output"]
study = results.load_results("real")
texts = study["rotations"]  # name of a change -> one loss for each of 24 texts
soup = tokenizer.encode(published_model.texts()[0])
own = token_losses(model, soup).mean()
moved = token_losses(model, soup, Positions.arange(len(soup), 5000)).mean()
print(f"{len(soup)} tokens; loss {own:.4f} nats a token, and {moved:.4f} from position 5,000")
change = np.abs(np.subtract(texts["shifted"], texts["own"])).max()
print(f"largest change in 24 texts: {change:.4f} nats")
moved_guess.compare(sizes[int(np.digitize(abs(moved - own), [0.001, 0.1]))])

# %% [markdown]
# Nothing changes, in any of the 24 texts. With RoPE a position enters a score as a distance, whatever the weights are, so the model cannot know whether a text begins at 0 or at 5,000.
#
# ## Take the rotation away
#
# If the model has distances and a causal mask, what is it worth without the distances? We try two changes. In the first one nothing turns, so a token sees which words stand before it, and hardly their order ([03a](03a_attention.ipynb)). The second one is a bug that happens when weights are copied from one program to another: the rotation takes channel $i$ with channel $i + D/2$, although the rows of this file are ordered for neighbours as pairs.

# %%
worse = ["no rotation costs more, by 0.5 nats or more", "the wrong layout does", "they differ by less"]
layout_guess = predict("Which of the two costs this text more?", worse)
layout_guess


# %% tags=["answer", "nbval-ignore-output"]
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
# Without its rotation the model loses 1.89 nats a token more (99%: 1.76 to 2.02), and with the other layout 1.79 (1.66 to 1.91), although every weight is as it was. So the wrong layout is hardly better than none: the model still computes an angle for every pair, but the pairs are not those that were trained, so almost nothing about distance arrives. This is how the bug of [lesson 09](09_museum_of_bugs.ipynb) looks in a model that you would download: nothing crashes, and the shapes fit.
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
# Read the blue line from left to right. Half of all pairs can stand still, and the texts cost 0.005 nats more on average. Then read the orange line: without the four quickest pairs the texts cost 1.04 nats more, of the 1.89 nats that the whole rotation is worth. **In texts of this length the model reads positions from its quick pairs, and whether the slow ones turn makes no difference.**
#
# ## Compress the positions
#
# Lesson 10 stretched a model with RoPE to longer texts. Interpolation divides every position by 4. NTK-aware scaling leaves the quickest pair alone and slows the slowest by 4. YaRN slows a pair the more, the fewer turns it made in a window of training, and makes all scores larger. Here the text is short, so it needs none of them. What remains is their price.

# %%
ways = ["interpolation", "NTK-aware scaling", "YaRN"]
dear_guess = predict("Which of the three, by a factor of 4, costs a short text most?", ways)
dear_guess

# %% tags=["answer", "nbval-ignore-output"]
D = model.config.head_dim
stretched = [Interpolated(D, 4, theta), NTKAware(D, 4, theta), YaRN(D, 4 * 8192, 4, theta)]
losses, keys = [loss_with(one) for one in stretched], ["positions / 4", "NTK-aware, 4", "YaRN, 4"]
prices = published_model.costs(study, "rotations", "own")
rows = [
    (way, f"{loss - own:+.2f}", f"{prices[key]:+.2f}")
    for way, loss, key in zip(ways, losses, keys, strict=True)
]
display(Table(("way", "this text (nats more)", "24 texts: mean and 99% interval"), rows, stable=1))
dear_guess.compare(ways[int(np.argmax(losses))])

# %% [markdown]
# On average interpolation costs 1.43 nats, NTK-aware scaling 0.02 and YaRN 0.07. You could have foreseen the large one, because interpolation slows the quick pairs as well, so that a neighbour stands at a quarter of the angle that the heads have learned.
#
# ## What do 270 heads look at?
#
# To find out what heads do, we need a text in which one thing alone can help. So we draw 60 tokens at random, and let the model read them twice. The first time no token can be predicted.

# %%
falls = ["about as much as the first", "about half as much", "less than a quarter"]
twice_guess = predict("What does the second half cost, compared with the first?", falls)
twice_guess

# %% tags=["answer", "nbval-ignore-output"]
random = heads.repeated(60, tokenizer.vocab_size, tokenizer.start, seed=0)
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
# The map has one cell for each head, and its colour tells what the head looks at in these texts. On these texts nearly half of all heads, 123 of 270, give more than half of their weight to the first token. Six give it to the token before (the darkest blue cells). Six give it to what followed the present token last time (the darkest green cells), and such heads are called [induction heads](../docs/glossary.md#induction-head).
#
# How can a head find what *followed* a token? It would be easy if each token carried a note on which token stands before it. Then a head would only have to search for the note that names the present token. So there is a conjecture of a circuit in two steps: a blue head leaves notes, and the green heads of later layers search for them.
#
# ## Silence a head
#
# Attention is only a hint. We silence a head, so that it writes 0, and see what the second half costs. Any model suffers from zeros that it never met in training, so a cost says something only beside controls. We take the five other heads that look at the token before, each alone, and five heads drawn at random, all at once.

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
# Without layer 17, head 1 the second half costs 6.5 nats a token more (99%: 6.2 to 6.8), half of the 12.7 nats that the first reading is worth, although this head never looks at what followed. The five other heads that look at the token before cost at most 0.4 nats each, so looking there is not what makes it special. Five heads drawn at random cost 0.3 together (0.1 to 0.6). In the 24 ordinary texts the head costs only 0.04 nats.
#
# So this head is special. It is not alone: of all 270 heads, each silenced on one draw ([picture](../figures/real.png)), 18 cost more than 0.5 nats. Layer 1, head 6 cost even more than ours on this draw, and we have not found out what it does.
#
# ## Exchange what it wrote
#
# The ablation does not show *what the head says*. If its output at a token is a note such as "before me stands X", then we can forge the notes. We take two tokens X and Y of the first half. The token behind X carries the note "X", and the token behind Y carries the note "Y". We exchange these two outputs of the head, and nothing else. When X comes again, a green head that searches for the note "X" should now find it behind Y. As a control we do the same with layer 12, head 2.

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
    ("notes", "19.7 looks behind X", "behind Y", "what followed X, less what followed Y (nats)"),
    rows,
    stable=1,
)

# %% [markdown]
# With its own notes, layer 19, head 7 gives 97% of its weight to the token behind X (24 draws). With the two notes exchanged it gives 6% to it and 51% to the token behind Y, and it prefers Y in 23 of 24 draws. In the control it stays at 97%. So **layer 17, head 1 writes notes on what stands before, and the strongest induction head finds its place by them.** The answer itself turns less: in 11 of 24 draws what followed Y wins, because other heads copy too.
#
# A v4 that has learned to spell ([08](08_the_ladder.ipynb)) leaves notes too, in three of the six seeds that we took apart: a head of layer 1 tells each letter which letter stands before it. But there the later head takes the vowel *from the note* ([all results](../docs/results.md)). Here the note is what is searched for, and its token is what is read.
#
# ## Ask who did it
#
# Can it do what our tales demand? We ask *Sam chased Anna. Who chased Anna?*, with each pair of six names. The right name competes with the other name of the story. Without an example the model is right in 22 of 30 questions. After one answered question about other people it is right in all 30.

# %%
proofs = ["yes", "no: these questions have a shortcut", "no: 30 questions are too few"]
proof_guess = predict("Does this show that the model knows who did what to whom?", proofs)
proof_guess

# %% tags=["answer", "nbval-ignore-output"]
asked = {kind: np.array(values) > 0 for kind, values in study["questions"].items()}  # (5, 30) each
fig, ax = plt.subplots(figsize=(8, 4.2))
for kind in ("shortcut", "who", "whom"):
    ax.plot(range(5), 100 * asked[kind].mean(axis=1), "o-", label=published_model.ASKED[kind])
ax.axhline(50, color=plots.COLOURS["grey"], ls="--")
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
# The answer to *Who chased Anna?* is the name that the question does not hold, so the order of the words is not needed. So we asked for the same stories *Who chased?* and *Who was chased?* A model that answers by habit, say with the first name, gets one of the two right and the other wrong. That is what happens: after one example 17 and 13 of 30 are right, and not a single story has both right. After four examples, two of each kind, it is 10 of 30 stories. **This model does not tell who did it from the order of the words, although 30 of 30 looked like proof.** Our v4 is 600 times smaller and does, in the world of our tales ([04](04_rope.ipynb)).
#
# Each click below silences a head, and the model reads the random text and the beginning of the soup again. Which heads does it need to copy? Begin with layer 17, head 1, then try green heads alone and in pairs, and orange ones as a control.

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
# ## The case
#
# v4 knows who did it and cannot spell, until a head of layer 2 looks at the name when the vowel is due. *It needs more steps* is right. *It does not look at the name* turned out nearly right for the vowel, because before the click no head gives the name half of its weight there. *It recalls the vowel only in part* is out for most seeds of 450 steps, and true on the way to spelling.
#
# Five are out: *it ignores order* (03a), *its positions do not tell neighbours apart* (04) and *the vowel is too far away* (05). So are *the model is too small to copy* (08) and, as far as we tested, *it has a bug* (09). From three of six seeds the head takes the vowel from a note. Open is whether the other three use notes, and whether the seeds that do not spell are late or unable.

# %%
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run it, then the check. In a new cell, `tasks.INDUCTION.hint()` gives one hint at a time and `tasks.INDUCTION.solution()` shows a solution. None of them needs the published model.

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
# 1. A published model with RoPE uses only distances: a text that begins at 5,000 costs what it costs at 0, in all 24 texts.
# 2. Without its rotation the model loses 1.9 nats a token, and with the rotation of the other layout 1.8, although no weight has changed.
# 3. In texts of about 236 tokens the slowest 16 of its 32 pairs can stand still for 0.005 nats, whereas the quickest four cost 1.0. So interpolation, which slows all pairs, costs 1.4 nats, and NTK-aware scaling 0.02.
# 4. Layer 17, head 1 leaves notes on which token stands before, and later heads search for them. Without it the model loses half of what it gains by copying, and almost nothing in ordinary texts.
# 5. It answers 30 of 30 questions that have a shortcut. Where only order decides, it has both questions of a story right in 10 of 30 cases at most.

# %% [markdown]
# ## Self-test
#
# **1.** You copy the weights of a model into your own program. It runs, writes words, and loses 1.8 nats more than it should. What do you look at first?
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
# **c.** *a* is tempting, but even a pair that does not turn adds to the score, so it was not removed. And *b* would need texts of thousands of tokens.
#
# </details>
#
# **3.** A head gives 95% of its attention to the first token of each text. What is it good for?
#
# - a) it stores how the text begins
# - b) nothing
# - c) the picture does not tell: it may act when it finds something
#
# <details><summary>Answer</summary>
#
# **c.** *b* is tempting, but perhaps this head found nothing in this text.
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
# **b.** A habit gets one of the two wrong. *a* is tempting, but a shortcut that answers 30 questions answers 300.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Ben Allal et al. 2025](https://arxiv.org/abs/2502.02737): how SmolLM2 was made.
# - [Olsson et al. 2022](https://arxiv.org/abs/2209.11895): induction heads.
# - [Xiao et al. 2023](https://arxiv.org/abs/2309.17453): attention sinks.
# - [Barbero et al. 2024](https://arxiv.org/abs/2410.06205): what the quick and the slow pairs of a large model are used for.

# %% [markdown]
# ## What comes next
#
# `read_model()` gives you a `Transformer`, so you can exchange its encoding for one of your own.
