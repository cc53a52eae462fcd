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
# The models of this course have two layers, read tales, and were trained by you in a minute. SmolLM2 was published in 2025, has 30 layers and 134.5 million weights, and was trained on two trillion [tokens](../docs/glossary.md#token) of web pages, textbooks and code. Nothing tells it where a word stands but [RoPE](04_rope.ipynb), and here it runs with *your* RoPE: the function `rotate` of lesson 04. So whatever you do to this function, you do to the model's sense of order. You will be able to
#
# 1. show which part of a position a published model uses, and which it ignores,
# 2. say which pairs of channels it needs, and predict what slowing them down will break,
# 3. find heads by what they look at, and test with a control whether the model needs them,
# 4. tell why it answers *who did it* after an example, and not before.
#
# **Needs:** the file of the model, 98 MB, which `make lab` has fetched; if it is missing, run `python -m babygpt_course.real.file`. **Takes:** about 90 seconds to run on two cores, and about 34 minutes to read and guess. The exercises take about 27 minutes, and those marked *stretch* take 8 more.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import Positions, plots
from babygpt.encodings import Encoding, Interpolated, NTKAware, YaRN
from babygpt.encodings.rotary import angles_at, rotate_pairs
from babygpt.metrics import with_heads, without_heads, written_by_heads
from babygpt.plots import Axis
from babygpt.sampling import generate
from babygpt.tables import Table
from babygpt_course.exercises import lesson_11 as tasks
from babygpt_course.predictions import predict, tally
from babygpt_course.real import heads, questions, views
from babygpt_course.real.model import read_model, token_losses, use_encoding
from babygpt_course.studies import published_model, results
from babygpt_course.tools import switchboard

# %% tags=["nbval-ignore-output"]
plots.set_style()
model, tokenizer = read_model()
views.attention(model, tokenizer, "Sam chased Anna. Who chased Anna? Sam.", layer=17, head=1)

# %% [markdown]
# A token of this model is a word or a piece of a word, so the picture has one row for each token, and the row shows where it looks. Every text begins with a line end, ↵, which means nothing. **Layer 17, head 1** looks at the token before. Now move both sliders, and you will see that many heads look at the line end. A head has to give its weight to *something*, because a [softmax](../docs/glossary.md#softmax) adds up to 1, so the first token is where heads look that find nothing else. Such a token is called an [attention sink](../docs/glossary.md#attention-sink). In 24 texts it gets 36% of all attention, and 29% of the heads give it more than half of theirs.
#
# Does the model speak? It continues a text, and the most probable token is taken each time.

# %% tags=["nbval-ignore-output"]
prompt = tokenizer.encode("The capital of France is")
print(tokenizer.decode(generate(model, prompt[None], 24, temperature=0)[0]))

# %% [markdown]
# ## Move the text
#
# Its window is 8,192 tokens. We take a recipe for onion soup, one of 24 texts that we wrote for this lesson so that no model has read them, and let its positions begin at 5,000 in place of 0. In [03b](03b_sinusoidal.ipynb) a move of this kind ruined v3, and in [04](04_rope.ipynb) it did nothing to v4.

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
# Nothing changes, in any of the 24 texts. A score of RoPE depends on the distance of two tokens alone, and the model has no other source of positions, so it cannot know whether a text begins at 0 or at 5,000.
#
# ## Take the rotation away
#
# If distances are all that it has, what is it worth without them? We try two changes. In the first one nothing turns, so the words of a text become a bag, apart from what a causal mask lets a model infer ([03a](03a_attention.ipynb)). The second one is a bug that happens when weights are copied from one program to another: the rotation takes channel $i$ with channel $i + D/2$, although these weights were trained with neighbours as pairs. You wrote this rotation yourself in the first exercise of lesson 04.

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
# Without its rotation the model loses 1.89 nats a token more (99%: 1.76 to 2.02), and with the other layout 1.79 (1.66 to 1.91), although every weight is as it was. So the wrong layout is hardly better than none: the model still computes an angle for every pair, but the pairs are not those that were trained, so almost nothing about distance arrives. This is how the bug of [lesson 09](09_museum_of_bugs.ipynb) looks in a model that you would download: nothing crashes, the shapes fit, and the model still writes English words.
#
# ## Which pairs does it use?
#
# A head has 64 channels, so 32 pairs turn, each at its own speed. The quickest makes a full turn in six tokens. The slowest needs more than 400,000, and in a text of 226 tokens it moves by less than a thousandth of a turn. We let some pairs stand still and leave the others alone.

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
# Read the blue line from left to right. Half of all pairs can stand still, and the texts cost 0.005 nats more on average; only from the twentieth pair on does it matter. Then read the orange line: the four quickest pairs alone are worth 1.04 nats, and without the eight quickest the model has lost 1.58 of the 1.89 nats that the whole rotation is worth. **The model tells near tokens apart with its quick pairs, and in texts of this length the slow ones only carry content, as if it had no position encoding there.**
#
# ## Compress the positions
#
# Lesson 10 stretched a model with RoPE to longer texts. Interpolation divides every position by 4, NTK-aware scaling leaves the quickest pair alone and slows the slowest by 4, and YaRN slows only the pairs that never finished a turn in training. Here the text is short, so no one needs these methods. What remains is their price, and what you know about pairs should tell you which is dear.

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
# On average interpolation costs 1.43 nats, NTK-aware scaling 0.02 and YaRN 0.07. You could have read this from the orange line above, because interpolation slows the quick pairs as well, so that a neighbour stands at a quarter of the angle that the heads have learned. That is why models which are stretched in this way are trained a little longer at the new length.
#
# ## What do 270 heads look at?
#
# We need a text in which only the *order* can help. So we draw 60 tokens at random and let the model read them twice. The first time no token can be predicted. The second time each token is known, to a model that looks back to where the present token stood before and reads what followed it.

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
# The map has one cell for each head, and its colour tells what the head looks at in these texts. Nearly half of all heads, 123 of 270, give more than half of their weight to the first token, as heads do that find nothing. Six look at the token before, and six, the orange ones, are [induction heads](../docs/glossary.md#induction-head): at a token that has occurred before, they look at what followed it last time.
#
# How can a head know what *followed* a token? The token behind it would have to say "before me stands such a word", and the blue heads see to just that, because they look at the token before and write what they find there. So the conjecture is a circuit in two steps: layer 17, head 1 tells every token what stands before it, and the orange heads of layers 18 and 19 look for that note.
#
# ## Silence a head
#
# Attention is only a hint. A head is needed if the model fails without it, *and if it does not fail without other heads*. So we silence one of 270, and as a control five others that we draw at random.

# %%
silent_guess = predict(
    "Which one, when it is silent, costs the second half most?",
    ["layer 17, head 1 (the token before)", "layer 19, head 7 (induction)", "the five random heads"],
)
silent_guess

# %% tags=["answer", "nbval-ignore-output"]
before, induction = (16, 0), (18, 6)  # layer and head, counted from 0
five = [(3, 2), (9, 5), (13, 7), (21, 4), (26, 1)]
names, costs = ("layer 17, head 1", "layer 19, head 7", "five others"), []
for silent in ([before], [induction], five):
    with without_heads(model, silent):
        costs.append(published_model.halves(model, random)[1] - second)
stored = published_model.costs(study, "induction", "second")
keys = [f"without {before}", f"without {induction}", "without random"]
rows = [
    (name, f"{cost:+.2f}", f"{stored[key]:+.2f}") for name, cost, key in zip(names, costs, keys, strict=True)
]
display(Table(("silent", "this draw (nats more)", "24 draws: mean and 99% interval"), rows, stable=1))
silent_guess.compare([*silent_guess.options][int(np.argmax(costs))])

# %% [markdown]
# Without layer 17, head 1 the second half costs 6.5 nats a token more (99%: 6.2 to 6.8), although this head never looks at what followed. Without the strongest induction head it costs 1.9 more, because others do the same work. Five heads drawn at random cost 0.3 together (0.1 to 0.6), so it matters *which* head is silent, and not that one is. In the 24 ordinary texts the same head costs only 0.04 nats: it is needed for copying, and for little else.
#
# Is it the only one? We silenced each of the 270 heads on one draw ([picture](../figures/real.png)): 18 cost more than 0.5 nats, eight of them in the first two layers. Layer 1, head 6 even costs more than ours, and we have not found out what it does.
#
# ## Exchange what it wrote
#
# The ablation shows that the head is needed. It does not show *what it says*. If layer 17, head 1 notes which token stands before, then we can forge the notes: take two places of the first half, and exchange what this head wrote there. Everything else stays. Then the model should look for the first token and find the place behind the second one.

# %% tags=["nbval-ignore-output"]
one, other = 20, 45  # places in the first half
written = written_by_heads(model, random[None])


def exchanged(layer, head):
    """What a head wrote, with its outputs behind the two places exchanged."""
    forged = written[layer][:, :, head].clone()
    forged[:, [one + 1, other + 1]] = forged[:, [other + 1, one + 1]]
    return {(layer, head): lambda _: forged}


for name, change in {"as it is": {}, "exchanged": exchanged(16, 0), "another head": exchanged(16, 1)}.items():
    with torch.inference_mode(), with_heads(model, change):
        logits = model(random[None])[0, 60 + one]
    print(
        f"{name:13} margin of the true token: {logits[random[one + 1]] - logits[random[other + 1]]:+.1f} nats"
    )

# %% [markdown]
# The margin says how much more probable the token is that really followed than the one that followed the other place. In 24 draws it is 14.9 nats with the head's own notes. With two notes exchanged it falls to −0.7 on average, and in 11 of the 24 draws the model now prefers the wrong token, whereas exchanging what the next head of this layer wrote changes nothing (15.2). So the ablation could not tell, and the exchange does: **the note that this head leaves behind a token is what the later heads search for.**
#
# A v4 that has learned to spell ([04](04_rope.ipynb)) leaves such notes too, in three of the six seeds that we took apart: a head of layer 1 tells each letter which letter stands before it. But there a head of layer 2 reads the note itself, the vowel, from the letter behind it ([all results](../docs/results.md)). SmolLM2 only searches for the note, and then reads the token that stands there.
#
# ## Ask who did it
#
# Can it do what our tales demand? *Sam chased Anna. Who chased Anna?* and its mirror image have the same words, so only the order decides. We ask 30 such questions, and count the right name against the other name of the story. Then we put answered questions about other people before each one.

# %%
shown = ["about half", "about two thirds", "nine of ten or more"]
asked_guess = predict("How many of the 30 does it answer after one example?", shown)
asked_guess

# %% tags=["answer", "nbval-ignore-output"]
answers = np.array(study["questions"]["margins"])  # (5, 30) nats, after 0 to 4 examples
fig, ax = plt.subplots(figsize=(8, 4))
for n, margins in enumerate(answers):
    ax.plot(n + np.linspace(-0.2, 0.2, len(margins)), margins, ".", color=plots.COLOURS["blue"])
    ax.text(n, 5.1, f"{(margins > 0).mean():.0%}", ha="center")
ax.axhline(0, color=plots.COLOURS["grey"])
title = f"One example takes right answers from {(answers[0] > 0).mean():.0%} to {(answers[1] > 0).mean():.0%}"
ax.set(
    title=title,
    xlabel="examples before the question",
    ylabel="margin of the right name (nats)",
    ylim=(-4, 5.6),
)
plt.show()
asked_guess.compare(shown[int(np.digitize((answers[1] > 0).mean(), [0.6, 0.85]))])

# %% [markdown]
# Without an example it names the right person in 22 of 30 questions. After one answered question about other people it is right in all 30, and after two to four in 28 or 29. No weight has changed. The example shows which kind of answer is wanted, and the order of the words tells which one it is. Of the 72 heads in layers 16 to 23, four cost more than 1 of the 2.5 nats of margin when one of them is silent, the head that leaves the notes among them, and the median head costs 0.08.
#
# Now it is your turn. Each click below silences a head, and the model reads the random text and six questions again. Which heads does it need to copy, and does it need the same ones to tell who did it? Begin with layer 17, head 1, then try orange heads alone and in pairs, and grey ones as a control.

# %% tags=["nbval-ignore-output"]
copied, named = (
    Axis("random text, second half", (0, 14), unit=" nats"),
    Axis("margin of the right name", (-4, 4)),
)
once = questions.mirrors(1)[:6]


def copy_and_answer(model):
    """What the switchboard shows: the loss of the second half, and the mean margin of six questions."""
    return {
        copied: published_model.halves(model, random)[1],
        named: questions.margins(model, tokenizer, once).mean(),
    }


looks = np.array(study["induction"]["looks"])[[0, 1, 3]]  # shares of three kinds, (3, n_layer, n_head)
kinds = np.array([heads.BEFORE, heads.FIRST, heads.FOLLOWED])[looks.argmax(axis=0)]
switchboard(model, copy_and_answer, [before, induction], looks.max(axis=0).tolist(), kinds.tolist())

# %%
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run it, then the check. In a new cell, `tasks.INDUCTION.hint()` gives one hint at a time and `tasks.INDUCTION.solution()` shows a solution. None of the four needs the published model, so you can try your answers on it afterwards.

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
# 2. Without its rotation the model loses 1.9 nats a token, and with the rotation of the other layout 1.8, although no weight has changed and nothing crashes.
# 3. In texts of about 236 tokens the slowest 16 of its 32 pairs can stand still for less than 0.02 nats, whereas the quickest four cost 1.0. So interpolation, which slows all pairs, costs 1.4 nats, and NTK-aware scaling 0.02.
# 4. One head of 270 tells each token what stands before it, and later heads search for these notes. Without it the model can hardly repeat what it has read.
# 5. It tells *Sam chased Anna* from *Anna chased Sam*: it names the right person in 22 of 30 questions without an example, and in all 30 after one.

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
# **b.** Nothing is trained, so *a* has no effect. The model writes words because most of what predicts a word does not need positions.
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
# **c.** A pair that stands still still adds to the score, so it was not removed, and these pairs turn by a visible angle only in texts of thousands of tokens, which we did not read.
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
# **c.** A sink is where a head looks that has found nothing. Whether the model needs it tells an ablation with a control.
#
# </details>
#
# **4.** You silence one head, and the loss rises by 1 nat. When does the model need this head?
#
# - a) if it also has the highest weight
# - b) if other heads, silenced in the same way, cost much less
# - c) always
#
# <details><summary>Answer</summary>
#
# **b.** A model never saw such zeros in training, so any head may disturb it.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Ben Allal et al. 2025](https://arxiv.org/abs/2502.02737): how SmolLM2 was made. [This page](../docs/real_model.md) has the facts that we used.
# - [Olsson et al. 2022](https://arxiv.org/abs/2209.11895): induction heads, and the steps of training at which they form.
# - [Xiao et al. 2023](https://arxiv.org/abs/2309.17453): attention sinks.
# - [Barbero et al. 2024](https://arxiv.org/abs/2410.06205): what the quick and the slow pairs of a large model are used for.

# %% [markdown]
# ## What comes next
#
# `read_model()` gives you a `Transformer` like any other of this course, so everything that you can do with `v4` you can do with it: exchange its encoding for one of your own, silence heads, read its weights.
