# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03a · Attention
#
# **How does a token use earlier tokens, and does it notice their order?**
#
# *The way, page 2 of 8. Left to read: about 5 hours.*
#
# A model that ignores the order of the names gives the same answer to a story and to its mirror, so it is right in exactly half of the questions. The model below has no position encoding: its input tells *which* letters stand in a text, and not *where*. Yet it will answer nearly every question. How can a model know order at all? [Lesson 00](00_start_here.ipynb) left this question open. You will be able to
#
# 1. follow one token by hand from its scores to what it reads,
# 2. write a whole Transformer in two short functions,
# 3. find by experiment which part of a trained model tells it the order,
# 4. choose an experiment that can refute an explanation.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 15 seconds to run on two cores, and by our estimate 57 minutes to read and guess. The exercises take about 28 minutes.

# %% tags=["nbval-ignore-output"]
import math
from dataclasses import replace

import matplotlib.pyplot as plt
import torch
from torch import Tensor

import babygpt_live as live
from babygpt import ModelConfig, NextToken, TrainConfig, build, metrics
from babygpt.data.corpus import from_grammar
from babygpt.data.grammar import Grammar
from babygpt.experiments import paired
from babygpt.models.transformer import SHARPNESS, Transformer, norm
from babygpt_course import explorers
from babygpt_course.exercises import exercise, lesson_03a
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import results, seed_plots
from babygpt_course.tools import masks

# %%
asked = ("who? {name.a!b}.", "whom? {name.b!a}.")  # a!b: the answer is a, and b would be wrong
stories = tuple("{name.a} fed {name.b}. " + question for question in asked)
grammar = Grammar({"name": tuple("ABCDEFGH")}, {"story": stories})
small = from_grammar("one-letter tales", grammar, 50_000)
tokenizer = small.tokenizer
questions = [replace(q, prompt=q.prompt.strip("\n")) for q in grammar.questions(200, seed=2, max_chars=20)]
print(tokenizer.decode(small.val[:67]))

# %% tags=["nbval-ignore-output"]
objective = NextToken(small, 16, aligned=True)  # every window is one story, from its beginning
models, runs = {}, {}


def start(n_layer, name):
    """Train a model without a position encoding, and show its dashboard."""
    torch.manual_seed(3)
    size = ModelConfig(tokenizer.vocab_size, block_size=24, n_layer=n_layer, n_head=2, n_embd=64)
    models[name], plan = build("nope", size), TrainConfig(steps=300, batch_size=32)
    watches = [explorers.roles(tokenizer, questions[:24])]
    runs[name] = live.train(models[name], objective, plan, name, watches=watches)


start(2, "two layers")

# %% [markdown]
# These tales have eight people with names of one letter. Every question is asked twice, the second time with the two names exchanged, so that the letters are the same and the right answers differ. In the dashboard the right answers begin at half, where a model that ignores order has to stay, and then they rise. The *nope* of lesson 00 stays at half, with longer stories, windows and names. Where does this model of two [layers](../docs/glossary.md#layer) get the order from? To find out, we build it from its parts.
#
# ## How one letter reads others
#
# [Attention](../docs/glossary.md#attention) is the only part of a [Transformer](../docs/glossary.md#transformer) in which a token reads other tokens. We compute it by hand for the last space (drawn as •) of *A fed B. whom?*, which has to predict *B*. Every token has three vectors: a [query](../docs/glossary.md#query) for what it looks for, a [key](../docs/glossary.md#key) for what kind of token it is, and a [value](../docs/glossary.md#value), which other tokens can read.
#
# In a model, three learned matrices compute these vectors from the token's [embedding](../docs/glossary.md#embedding). Here we choose them. Queries and keys get two numbers each, called [channels](../docs/glossary.md#channel), for *name* and for *space or punctuation*. So A and B have the key (1, 0), spaces and punctuation (0, 1), and all other letters (0, 0). A space has the query (2, −1), because it looks for a name and not for a space.

# %%
text = "A fed B. whom? "
letters = sorted(set(text))


def vectors(text):
    """Query, key and value of each letter: (T, 2), (T, 2), (T, V)."""
    q = torch.tensor([[2.0, -1.0] if c == " " else [0.0, 0.0] for c in text])
    k = torch.tensor([[c in "AB", c in " .?"] for c in text]).float()
    v = torch.tensor([[c == letter for letter in letters] for c in text]).float()
    return q, k, v


# %%
q, k, v = vectors(text)
scores = k @ q[-1]  # (T,)
weights = scores.softmax(dim=0)  # (T,)
mix = weights @ v  # (V,)
fig, axes = plt.subplots(3, 1, figsize=(8, 6.6))
titles = ["1. Scores: the query of the last space fits A and B best"]
titles += ["2. Weights: the softmax makes all scores positive, and their sum 1"]
titles += [f"3. Mix: the space reads {mix[letters.index('A')]:.0%} A and {mix[letters.index('B')]:.0%} B"]
for ax, title, y, marks in zip(axes, titles, (scores, weights, mix), (text, text, letters), strict=True):
    bars = ax.bar(range(len(y)), y, color=[{"A": "C0", "B": "C3"}.get(c, "C6") for c in marks])
    ax.bar_label(bars, fmt="{:.0f}" if y is scores else "{:.0%}", fontsize=11, padding=1)
    ax.set_xticks(range(len(y)), live.visible(marks))
    ax.set(title=title, ylabel="score" if y is scores else "share", ymargin=0.25)
plt.show()

# %% [markdown]
# 1. The [score](../docs/glossary.md#score) is the dot product of the query with each key: 2 · 1 + (−1) · 0 = 2 for A and B, −1 for spaces and punctuation, and 0 for all other letters.
# 2. A [softmax](../docs/glossary.md#softmax) turns the scores into [weights](../docs/glossary.md#weight), which are positive and sum to 1. Each name gets 31%, and every other token at most 4%.
# 3. The mix is the sum of all values, each times its weight. Our values have one channel for each letter, so the mix shows how much of each letter was read.
#
# A key decides *whether* a token is read, and a value *what* is read from it. So the space has found both names. Does its mix change if the names change places, as in *B fed A. whom?*

# %%
exchange_guess = predict(
    "Which shares in the mix of the last space change when the two names are exchanged?",
    ["none", "those of A and B", "all"],
)
exchange_guess

# %% tags=["answer"]
exchanged = "B fed A. whom? "
q, k, v = vectors(exchanged)
new_mix = (k @ q[-1]).softmax(dim=0) @ v
for story, shares in ((text, mix), (exchanged, new_mix)):
    print(story, "A {:.0%}, B {:.0%}".format(*(shares[letters.index(letter)] for letter in "AB")))
n_changed = int(((new_mix - mix).abs() > 1e-5).sum())
exchange_guess.compare("none" if n_changed == 0 else "all" if n_changed > 2 else "those of A and B")

# %% [markdown]
# Each letter has taken its weight and its value along, and a sum does not depend on the order of its terms. So the space reads a *bag*: which letters occur and how often, without their order. Other vectors would give another mix. But if the query, key and value of a letter come from this letter alone, both stories still give the same mix.
#
# ## The causal mask
#
# Our space stands last and may read the whole text. An earlier letter may not, because a language model predicts after *every* token, and a token that could read the next one would have nothing to predict. So the causal [mask](../docs/glossary.md#mask) sets the scores of later tokens to $-\infty$ before the softmax. Their weights become 0, and the other weights still sum to 1. Write this yourself: the lesson goes on with yours as soon as it is right, and with ours until then.

# %%
lesson_03a.CAUSAL_WEIGHTS


# %%
def causal_weights(scores):
    """Weights of tokens that read no later ones: scores (..., T, T), a row for each query -> (..., T, T)."""
    return scores.softmax(dim=-1)


# %%
lesson_03a.CAUSAL_WEIGHTS.check(causal_weights)

# %%
causal = lesson_03a.CAUSAL_WEIGHTS.use(causal_weights)
q, k, _ = vectors(text)
weights = causal(q @ k.T)  # (T, T)
fig, ax = plt.subplots(figsize=(6.6, 5.4))
title = "The mask hides everything above the diagonal"
labels = "letter that is read", "letter that reads"
live.draw_matrix(ax, weights.numpy(), title, *labels, live.visible(text), top=0.4)
ax.tick_params(labelsize=12)
fig.axes[1].set_ylabel("weight (yellow: 0.4 or more)")
plt.show()


# %% [markdown]
# The first letter can read only itself, whereas the last row, that of our space, is full.
#
# ## Heads and scores
#
# A model can look for several things at once. It has $H$ [heads](../docs/glossary.md#head), each with $D = C/H$ of its $C$ channels and with scores of its own, and a fourth matrix, `out`, combines their mixes.

# %%
def split(x, n_head):
    """Give each head its channels: (B, T, C) -> (B, H, T, D)."""
    return x.unflatten(-1, (n_head, -1)).transpose(1, 2)


# %% [markdown]
# A score adds $D$ products. If these are random, of either sign, it ends like a walk of $D$ steps forward or back: typically $\sqrt D$ away from 0. This is what it does to the weights of 15 random keys.

# %% tags=["nbval-ignore-output"]
draw = torch.Generator().manual_seed(0)
for D in (4, 64, 1024):
    query, keys = torch.randn(D, generator=draw), torch.randn(15, D, generator=draw)
    largest = [(keys @ query / size).softmax(dim=0).max() for size in (1, math.sqrt(D))]
    print(f"D = {D:4}: the largest weight is {largest[0]:4.0%}, and {largest[1]:.0%} after a division by √D")


# %% [markdown]
# With many channels one key takes nearly all weight by chance. Then almost no [gradient](../docs/glossary.md#gradient), by which training changes weights, would reach queries and keys. So scores are divided by $\sqrt D$.
#
# Training could still make scores grow without end, by making queries and keys longer. So a [norm](../docs/glossary.md#norm) gives all of them the length $\sqrt D$, and after the division no score is above $\sqrt D \cdot \sqrt D\,/\sqrt D = \sqrt D$.

# %%
def my_attention(x, layer):
    """Causal attention in all heads of one layer: (B, T, C) -> (B, T, C)."""
    q, k, v = (split(matrix(x), layer.n_head) for matrix in (layer.to_q, layer.to_k, layer.to_v))
    scores = SHARPNESS * norm(q) @ norm(k).mT / math.sqrt(q.shape[-1])  # (B, H, T, T)
    return layer.out((causal(scores) @ v).transpose(1, 2).flatten(2))


# %% [markdown]
# `SHARPNESS` is 2: it doubles the scores, so that a head can choose more clearly, and the limit becomes $2\sqrt D$.
#
# ## The whole Transformer
#
# Each token has a vector of $C$ channels, the [stream](../docs/glossary.md#stream), which begins as its embedding. A layer, in code a [block](../docs/glossary.md#block), adds two things to it: what attention reads, and then the output of an [MLP](../docs/glossary.md#mlp). This small network computes with each token by itself: between two matrices it sets negative numbers to 0 and squares the others. At the end, the output head turns the stream into [logits](../docs/glossary.md#logit), whose softmax is the prediction.

# %%
def my_transformer(tokens, model):
    """Logits of a causal model without position encoding: (B, T) -> (B, T, V)."""
    x = norm(model.token_embedding(tokens))  # (B, T, C)
    for block in model.blocks:
        x = x + my_attention(norm(x), block.attention)
        x = x + block.mlp.out(block.mlp.up(norm(x)).relu().square())
    return model.head(norm(x))


tokens = tokenizer.encode(text)[None]  # (1, T)
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=3, n_head=4, n_embd=96)
random_model = exercise.randomize_(build("nope", shape), torch.Generator().manual_seed(0))
assert torch.allclose(my_transformer(tokens, random_model), random_model(tokens), atol=1e-3)

# %% [markdown]
# The package's model gives the same logits, so these two functions are the Transformer of all later lessons; [`minimal.py`](../babygpt/minimal.py) has a whole GPT in one file. The model on top of this page has two layers. Would one be enough? We train the model once more, with one layer.

# %%
outcomes = ["nearly all", "clearly more than half", "exactly half"]
one_guess = predict("How many answers of a model with one layer are right after 300 steps?", outcomes)
one_guess

# %% tags=["answer", "nbval-ignore-output"]
start(1, "one layer")

# %% tags=["answer", "nbval-ignore-output"]
right = {}
for name, run in runs.items():
    loss = run.result()[-1].val_loss
    right[name] = metrics.role_accuracy(models[name], tokenizer, questions)
    print(f"{name}: validation loss {loss:.2f} nats per character, {right[name]:.1%} of the answers right")
share = right["one layer"]
one_guess.compare(outcomes[0 if share > 0.9 else 1 if share > 0.5 else 2])

# %% [markdown]
# One layer is right in exactly half, and no training can change that. The last space reads the same bag in both stories of a pair, because the MLP reads no other token. So the model gives the same name twice, and is right once. For two layers we chose the [seed](../docs/glossary.md#seed), so here are twenty that we did not choose.

# %% tags=["answer", "nbval-ignore-output"]
stored = results.load_results("order")["fed"]
arms = [f"{name}, {steps} steps" for name in ("one layer", "two layers") for steps in (300, 600)]
fed = {arm: stored[arm] for arm in arms}
learned = {arm: f"{sum(share > 0.9 for share in seeds)} of {len(seeds)}" for arm, seeds in fed.items()}
fig, ax = plt.subplots(figsize=(8.5, 3))
title, label = "Two layers learn order, but not from every seed", "right answers (%)"
seed_plots.draw_seed_dots(ax, paired.percent(fed), title, label, {"chance": 50}, (40, 112), notes=learned)
plt.show()
print("two layers, 300 steps:", paired.beside(right["two layers"], fed["two layers, 300 steps"], "%"))

# %% [markdown]
# The numbers on the right count models with more than 90% right answers. Two layers have learned the task from 9 of 20 seeds after 300 steps, and from 17 after 600, whereas one layer never leaves the line. So the second layer matters, although it only reads a bag once more.
#
# ## Take the mask away
#
# Of the parts that we have built, only the mask is still untested. For an [ablation](../docs/glossary.md#ablation) we keep all weights of the trained model and remove its mask in both layers, so that every letter also reads the later ones. (If your model did not learn the task, take another number in `torch.manual_seed` first.)

# %%
remaining = ["nearly all", "about three quarters", "exactly half", "nearly none"]
mask_guess = predict("The model of two layers loses its mask. How many answers are right?", remaining)
mask_guess

# %% tags=["answer", "nbval-ignore-output"]
masked = masks(models["two layers"], tokenizer, questions, ["earlier", "all"])


def outcome(layer_1, layer_2):
    """Print what the model answers with these masks, and return it in words."""
    _, (share, twice) = masked.measure(layer_1=layer_1, layer_2=layer_2)
    print(f"{share:.1f}% of the answers are right; {twice:.0f}% of the pairs get one name twice")
    return remaining[0 if share > 90 else 1 if share > 55 else 2 if share > 45 else 3]


mask_guess.compare(outcome("all", "all"))

# %% [markdown]
# It is exactly half, as with one layer, although all that the model could read is still there. Two explanations come to mind.
#
# - *The space is distracted*, because it now reads letters that were hidden in training.
# - *The model is broken*, because its weights were trained with one mask. Any other mask spoils what they compute, and the right answers that remain are luck.
#
# In the next tool you choose for each layer what its letters may read: the triangles are the masks, and the bars count the right answers. First find the setting that would refute *the space is distracted*.

# %% tags=["nbval-ignore-output"]
masked

# %% tags=["answer", "nbval-ignore-output"]
for layer_1, layer_2 in (("earlier", "all"), ("all", "earlier")):
    print(f"layer 1 reads {layer_1} letters and layer 2 {layer_2}:", end=" ")
    outcome(layer_1, layer_2)

# %% [markdown]
# The space reads the name in layer 2, and without the mask of this layer nothing changes. The picture of the mask shows why: the row of the last space was full already, because no letter comes after it. So nothing distracts the space, and the damage is done in layer 1, to the letters *before* it.
#
# If the model is broken, any strange mask should leave about half of the answers right, by luck. The tool after your guess has a mask that is turned around: each letter of *A fed B* reads itself and the *later* letters of the story.

# %%
turned_guess = predict("Layer 1 has its mask turned around. How many answers are right?", remaining)
turned_guess

# %% tags=["answer", "nbval-ignore-output"]
masked = masks(models["two layers"], tokenizer, questions)
masked.layer_1 = "later"
display(masked)
turned_guess.compare(outcome("later", "earlier"))

# %% [markdown]
# Nearly every answer is *wrong*, and luck cannot do that. To name the *other* person nearly every time, the model has to tell the two apart. So it still knows an order, the reversed one, in which the first name is the second.
#
# Compare what the names in *A fed B* can read. With the mask of training, B can read *fed*, and A cannot, because *fed* comes later. With the mask turned around, A can read *fed*, and B cannot, as if the story were written backwards. Without a mask both can. One rule would explain all three results: the model takes the name that has read *fed* for the person who was fed, and cannot choose if both have read it.
#
# **Without positions order can come from the mask alone, and this run, whose seed we chose, uses it.**
#
# Now the second layer has its reason, too. After layer 1 the vector of a name can hold something about the text before it, and the last space reads these vectors only in layer 2. Without a mask, however, all letters read the same bag in every layer, so no number of layers helps, as the next cell checks with three.

# %%
blind = Transformer(shape, random_model.encoding, causal=False)
blind.load_state_dict(random_model.state_dict())
one, mirror = (tokenizer.encode(story)[None] for story in (text, exchanged))
assert torch.allclose(blind(one)[0, -1], blind(mirror)[0, -1], atol=1e-4)
assert not torch.allclose(random_model(one)[0, -1], random_model(mirror)[0, -1], atol=1e-2)

# %% [markdown]
# If the rule is right, B should look at *fed* in layer 1. The explorer opens there, and its lower bars show where letter 7, the B, looks.

# %% tags=["nbval-ignore-output"]
inside = explorers.attention(models["two layers"], tokenizer, text)
looks = metrics.attention_weights(models["two layers"], tokenizer.encode(text))[0]  # layer 1: (H, T, T)
letter = text.index("B")
on_fed = looks[:, letter, 2:5].sum(axis=-1)  # weight that each head gives to fed: (H,)
inside.layer, inside.head, inside.letter = 1, int(on_fed.argmax()) + 1, letter + 1
inside

# %% [markdown]
# In our run B gives nearly all its weight to one letter of *fed*, as the rule says. But we chose the head that does so most, so the picture fits the rule and does not prove it. (The title is about the letter before, which does not matter here.) Now choose layer 2 and letter 15, the last space: does it prefer one name, which our head made by hand could not do?

# %% [markdown]
# > **In a real model.** Weights sum to 1, so a head that finds nothing still has to look somewhere. In SmolLM2-135M the first token of a text gets 36% of all attention, and 29% of the heads give it more than half of theirs (means over 24 texts). It is called an [attention sink](../docs/glossary.md#attention-sink); [lesson 11](11_a_real_model.ipynb) shows it.

# %% [markdown]
# ## The case
#
# *It ignores order* is out since lesson 00, because v4 knows 98% of the answers. Now we know how order can be known without positions: the mask can tell it. On v4's stories the mask alone does not suffice within 600 steps: nope has the mask and stays near half, so there RoPE makes the difference. But nope is not blind to order, so its shares of 47 to 52% need not be exactly 50%.
#
# This lesson strikes no explanation, and it gives a clue for spelling: after layer 1 the vector of a letter can hold something about the letters before it. *Its positions do not tell neighbours apart* is about the order *inside* a name, which names of one letter cannot test. It stays open. [Lesson 01](01_bag_of_tokens.ipynb), a side trip, strikes *it recalls the vowel only in part*, which is true of a few seeds only.

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Exercises
#
# In a new cell, `lesson_03a.SCALE.hint()` gives one hint at a time, and `lesson_03a.SCALE.solution()` shows a solution.

# %%
lesson_03a.SCALE


# %%
def scale(D: int, q_size: float, k_size: float) -> tuple[float, float]:
    """Variance of q · k with D random channels of these deviations, and the factor that makes it 1."""
    return 1.0, 1.0


# %%
lesson_03a.SCALE.check(scale)

# %%
lesson_03a.MASK


# %%
def mask(lengths: Tensor, T: int) -> Tensor:
    """Which token may read which (B, T, T), for texts of these lengths (B,) with padding on their left."""
    return torch.ones(T, T).tril().bool().expand(len(lengths), T, T)


# %%
lesson_03a.MASK.check(mask)

# %% tags=["nbval-ignore-output"]
lesson_03a.MASK.draw(mask)

# %%
lesson_03a.HALF_BLIND

# %%
half_blind = ("", "")

# %%
lesson_03a.HALF_BLIND.check(half_blind)

# %% [markdown]
# ## Recap
#
# 1. Attention computes scores and weights from a token's query and all keys, and a weighted mean of values, the mix.
# 2. A dot product of D random channels is typically √D in size, so scores are divided by √D.
# 3. If queries, keys and values come from the letters alone, the last token reads a bag, whose mix stays the same if names are exchanged.
# 4. With the causal mask a token's vector can hold, after layer 1, something about the text before it, for layer 2 to read. Without the mask a model of any depth is right in exactly half.
# 5. On stories with one-letter names, two layers learn who fed whom with 9 of 20 seeds after 300 steps, and with 17 of 20 seeds after 600 steps; one layer with none.

# %% [markdown]
# ## Self-test
#
# **1.** A token's scores are 1, 1 and 1, and the mask hides none of them. What are its weights?
#
# - a) 1, 1 and 1
# - b) one third each
# - c) they depend on the values
#
# <details><summary>Answer</summary>
#
# **b.** Equal scores give equal weights. *c* is tempting, but values are only multiplied by the weights.
#
# </details>
#
# **2.** What does the causal mask do to the score of a later token?
#
# - a) it becomes $-\infty$ before the softmax
# - b) it becomes 0 before the softmax
# - c) nothing: its weight is replaced by 0
#
# <details><summary>Answer</summary>
#
# **a.** Then its weight is 0. *b* is tempting, but $e^0 = 1$, so the token is still read.
#
# </details>
#
# **3.** Queries and keys have 100 random channels of variance 1. How large is a typical score, before and after division by √D?
#
# - a) 100 and 10
# - b) 10 and 1
# - c) 100 and 1
#
# <details><summary>Answer</summary>
#
# **b.** A typical score is √100 = 10 in size. *a* is tempting, but 100 is the variance.
#
# </details>
#
# **4.** A causal model of *one* layer without position encoding reads *A fed B.* or *B fed A.*, and then a question. Its predictions after the question
#
# - a) are the same, whatever its weights are
# - b) differ if it is trained long enough
# - c) differ, since only the second name can read *fed*
#
# <details><summary>Answer</summary>
#
# **a.** The last token reads the same bag. *c* is tempting, but only a second layer could use this difference.
#
# </details>
#
# **5.** After a change, a model is wrong in 197 of 200 questions with two possible answers each. What has happened to its knowledge?
#
# - a) it is gone
# - b) it is still there, and used the wrong way round
# - c) this cannot be told from answers
#
# <details><summary>Answer</summary>
#
# **b.** *a* is tempting, but a model without the knowledge would be right in about half.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Source note 001, from which v5 comes, says that self-attention needs a position encoding. This is true without a mask. With the causal mask, two layers can learn order without any code, but not from every seed.

# %% [markdown]
# ## Further reading
#
# - [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), the Transformer, with the reason for √D in a footnote.
# - [Irie et al. 2019](https://arxiv.org/abs/1905.04226) and [Haviv et al. 2022](https://arxiv.org/abs/2203.16634): deep language models without a position encoding.
# - [Kazemnejad et al. 2023](https://arxiv.org/abs/2305.19466): a layer can count positions from a mark at the start ([BOS](../docs/glossary.md#bos)).
# - [Henry et al. 2020](https://arxiv.org/abs/2010.04245): why scores should be bounded.

# %% [markdown]
# ## What comes next
#
# To spell a name, a model has to find the *next* letter and no other. So we tell each token its position, for which the Transformer of 2017 adds a table of sines and cosines. → [03b · Sinusoidal](03b_sinusoidal.ipynb)
