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
# v1 and v2 cannot answer *who chased ben?*, because the answer stands in earlier tokens. [Attention](../docs/glossary.md#attention) lets a token read them. You will
#
# 1. follow one token from scores to an answer,
# 2. build the Transformer of all later lessons, and count its cost,
# 3. train two small models on a question that needs order,
# 4. find out how a model without position encoding sees order.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, about 28 minutes to read and guess; the exercises about 24 more.

# %% tags=["nbval-ignore-output"]
import math
from dataclasses import replace

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from babygpt import ModelConfig, NextToken, TrainConfig, build, invariants, live, metrics, plots
from babygpt.data.corpus import from_grammar
from babygpt.data.grammar import Grammar
from babygpt.models.transformer import SHARPNESS, Attention, Transformer
from babygpt.tables import source
from babygpt_course.exercises import exercise, lesson_03a
from babygpt_course.studies import paired, results, seed_plots

# %% [markdown]
# Here is attention at work on one sentence. The last blank (drawn as •) has to predict the next letter, the *a* of *ada*. It looks back at all 32 letters.

# %%
plots.set_style()
text = "ada chased ben. who chased ben? "
letters = sorted(set(text))


def vectors(text):
    """Query, key and value of each letter: (T, 2), (T, 2), (T, V)."""
    q = torch.tensor([[2.0, -1.0] if c == " " else [0.0, 0.0] for c in text])
    k = torch.tensor([[c in "ab", c in " .?"] for c in text]).float()
    v = torch.tensor([[c == letter for letter in letters] for c in text]).float()
    return q, k, v


# %%
q, k, v = vectors(text)
scores = k @ q[-1]  # (T,)
weights = scores.softmax(dim=0)  # (T,)
mix = weights @ v  # (V,)
fig, axes = plt.subplots(3, 1, figsize=(9, 6.6))
titles = ["1. Scores: the query of the last blank fits a and b best"]
titles += ["2. Weights: the softmax makes all scores positive, and their sum 1"]
titles += [f"3. Mix: {mix[letters.index('a')]:.0%} of what the blank reads is the letter a"]
for ax, title, y, marks in zip(axes, titles, (scores, weights, mix), (text, text, letters), strict=True):
    bars = ax.bar(range(len(y)), y, color=[{"a": "C0", "b": "C3"}.get(c, "C6") for c in marks])
    ax.bar_label(bars, fmt="{:.0f}" if y is scores else "{:.0%}", fontsize=9, padding=1)
    ax.set_xticks(range(len(y)), plots.visible(marks))
    ax.set(title=title, ylabel="score" if y is scores else "share", ymargin=0.15)
plt.show()

# %% [markdown]
# The mix is the answer of this little model: *a* has a share of 45%, and *b* 23%. It chooses *a*, which is right.
#
# ## Scores, weights, mix
#
# Every token has three vectors. Its [query](../docs/glossary.md#query) says what it looks for, its [key](../docs/glossary.md#key) says what kind of token it is, and its [value](../docs/glossary.md#value) is what others can read from it. In a model, three learned matrices compute them from the token's [embedding](../docs/glossary.md#embedding).
#
# Here we chose them by hand. Queries and keys have two channels: *may begin a name* (a and b), and *blank or punctuation*. The blank's query is (2, −1).
#
# 1. **[Score](../docs/glossary.md#score).** Take the dot product of the query with each key. The letter a has the key (1, 0), so its score is 2 · 1 + (−1) · 0 = 2. A blank has the key (0, 1) and the score −1. All other letters have the key (0, 0) and the score 0.
# 2. **[Weight](../docs/glossary.md#weight).** Apply a [softmax](../docs/glossary.md#softmax). Each a and b gives $e^2 \approx 7.4$, each other letter 1, each blank and punctuation mark 0.37. The sum is 6 · 7.4 + 18 · 1 + 8 · 0.37 ≈ 65, so the weight of one a is 7.4 / 65 = 11%.
# 3. **Mix.** Multiply each value by its weight, and add. Our values have one channel for each letter. The four a's together give 4 · 11% = 45%.
#
# A key decides *whether* a token is read, and a value *what* is read. So a and b can share a key and differ in their values.
#
# A language model does this for all tokens at once. No token may see later tokens, since it has to predict them. Their scores become $-\infty$ before the softmax, so their weights are 0 and the others still sum to 1. This is the **causal [mask](../docs/glossary.md#mask)**. Here are all weights of our sentence; letters other than the blank have the query (0, 0).

# %%
later = torch.ones(len(text), len(text)).triu(1).bool()  # True where the key stands after the query
weights = (q @ k.T).masked_fill(later, -torch.inf).softmax(dim=-1)  # (T, T)
torch_mix = nn.functional.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, scale=1.0)
assert torch.allclose(weights @ v, torch_mix[0])
fig, ax = plt.subplots(figsize=(7.5, 6))
title = "The mask hides everything above the diagonal"
labels = "letter that is read", "letter that reads"
plots.draw_matrix(ax, weights.numpy(), title, *labels, plots.visible(text), top=0.3)
for row, share in enumerate(("1", "1/2", "1/3")):  # above the end of the colours
    ax.text(row + 0.8, row, f"{share} each" if row else share, color="white", size=9, va="center")
fig.axes[1].set_ylabel("weight (yellow: 0.3 or more)")
plt.show()

# %% [markdown]
# PyTorch's own attention, which all our models use, gives the same mix. Blanks read a and b. All other rows are plain averages: the first letter reads only itself, the second gives two letters 1/2 each, the third 1/3 each. Remember these fractions.
#
# ## Exchange two names
#
# Now we exchange the two names in the first sentence only: *ben chased ada. who chased ben?* In this story nobody did. Each letter keeps its query, key and value.

# %%
exchange_guess = live.predict(
    "Which shares in the mix of the last blank change when the two names are exchanged?",
    ["none", "those of a and b", "all"],
)
exchange_guess

# %% tags=["answer"]
exchanged = "ben chased ada. who chased ben? "
q, k, v = vectors(exchanged)
new_mix = (k @ q[-1]).softmax(dim=0) @ v
print([f"{letter} {share:.0%}" for letter, share in zip(letters, new_mix.tolist(), strict=True)])
n_changed = int(((new_mix - mix).abs() > 1e-5).sum())
exchange_guess.compare("none" if n_changed == 0 else "all" if n_changed > 2 else "those of a and b")

# %%
assert torch.allclose(new_mix, mix)
for story, right in ((text, "ada"), (exchanged, "nobody"), ("ben chased ada. who chased ada? ", "ben")):
    q, k, v = vectors(story)
    a, b = ((k @ q[-1]).softmax(dim=0) @ v)[[letters.index("a"), letters.index("b")]]
    print(f"{story} a {a:.0%}, b {b:.0%}, right: {right}")

# %% [markdown]
# No share changes. Scores and values move with their letters, and a sum does not depend on the order of its terms. The last token reads a **bag** of letters: which ones and how many, in no order. In the third story, the mirror of the first, our head still answers *a*, which is wrong.
#
# So one attention layer ignores the order of what came before. Can a deeper model do better? First we need the rest of the Transformer.
#
# ## Why scores are divided by √D
#
# Our queries and keys had two channels; those of a model have $D$ = 16 to 128. Before training these are random numbers, and a dot product adds $D$ products of them.

# %%
growth = ["1", "√D", "D", "D²"]
question = "q and k have D random channels of variance 1. What is the variance of q · k?"
variance_guess = live.predict(question, growth)
variance_guess

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(0)
for D in (4, 64, 1024):
    products = torch.randn(500, 1, D) @ torch.randn(500, 32, D).mT  # 500 queries, 32 keys each
    plain, divided = (x.softmax(dim=-1).amax(dim=-1).mean() for x in (products, products / math.sqrt(D)))
    print(f"D = {D:4}: variance {products.var():6.1f}; largest weight {plain:.0%}, with √D {divided:.0%}")
close = [abs(products.var().item() / size - 1) < 0.1 for size in (1, D**0.5, D, D**2)]
variance_guess.compare(growth[close.index(True)])


# %% [markdown]
# Each product has variance 1, and variances of independent terms add up to $D$. A typical score is therefore $\sqrt D$ in size: 32 for $D$ = 1024. Such scores saturate the softmax: nearly all weight falls on one key, chosen by chance.
#
# A saturated softmax hardly learns. The slope of a weight $w$, as a function of its score, is $w(1 - w)$. It is about 0 for $w$ near 0 or 1, so almost no [gradient](../docs/glossary.md#gradient) reaches queries and keys. Dividing by $\sqrt D$ brings the variance back to 1 for every $D$.
#
# ## Why our models multiply by 2
#
# Training can still make queries and keys longer, until the softmax saturates again. To prevent this, our models normalise both before the dot product, a variant of *query–key norm* (Henry et al. 2020). The [norm](../docs/glossary.md#norm) brings the mean square of the channels to 1 ([RMSNorm](https://arxiv.org/abs/1910.07467)). Each vector then has the length $\sqrt D$, so the largest dot product is $D$. The largest score is $D/\sqrt D = \sqrt D$.
#
# Now scores may be too small. Our models of 96 channels have $D$ = 24. Take one key that fits the query perfectly, and 63 keys with score 0:

# %%
def my_norm(x):
    """Each vector with a mean square of 1: (..., C) -> (..., C)."""
    return x / x.pow(2).mean(dim=-1, keepdim=True).sqrt()


for factor in (1, 2):
    best = math.exp(factor * math.sqrt(24))
    print(f"factor {factor}: the perfect key gets {best / (best + 63):.1%} of the attention")
assert SHARPNESS == 2


# %% [markdown]
# With 1/√D alone, a third of the attention goes to keys that do not fit. A factor of 2 makes a sharp choice possible. Henry et al. learn this factor; ours is fixed, and the package calls it `SHARPNESS`.
#
# ## The whole Transformer
#
# Models split the $C$ channels of queries, keys and values among $H$ [heads](../docs/glossary.md#head) with $D = C/H$ channels each. Every head has its own scores. More heads need no more parameters: a layer has four matrices of $C \times C$, whatever $H$ is. The fourth, `out`, combines the mixes of all heads.

# %%
def my_attention(x, layer):
    """Causal attention in all heads of one layer: (B, T, C) -> (B, T, C)."""
    q, k, v = (
        matrix(x).unflatten(-1, (layer.n_head, -1)).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        for matrix in (layer.to_q, layer.to_k, layer.to_v)
    )
    scores = SHARPNESS * my_norm(q) @ my_norm(k).mT / math.sqrt(q.shape[-1])  # (B, H, T, T)
    later = torch.ones(scores.shape[-2:]).triu(1).bool()
    weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
    return layer.out((weights @ v).transpose(1, 2).flatten(2))


# %% [markdown]
# Each token has a vector of $C$ channels, the [stream](../docs/glossary.md#stream), which begins as its normalised embedding. A [block](../docs/glossary.md#block) has two steps: attention, and an [MLP](../docs/glossary.md#mlp) that transforms each token separately. Each step reads a normalised copy of the stream and *adds* its result, so no step overwrites anything. The MLP multiplies by a matrix, replaces negative numbers by 0, squares the others, and multiplies by a second matrix. At the end, the output head turns the stream into [logits](../docs/glossary.md#logit).

# %%
def my_transformer(tokens, model):
    """Logits of a causal model without position encoding: (B, T) -> (B, T, V)."""
    x = my_norm(model.token_embedding(tokens))  # (B, T, C)
    for block in model.blocks:
        x = x + my_attention(my_norm(x), block.attention)
        x = x + block.mlp.out(block.mlp.up(my_norm(x)).relu().square())
    return model.head(my_norm(x))


# %% [markdown]
# We compare with the package's model, filled with random numbers:

# %%
tokens = torch.tensor([[letters.index(c) for c in text]])  # (1, 32), the sentence of the first picture
shape = ModelConfig(len(letters), block_size=64, n_layer=3, n_head=4, n_embd=96)
random_model = exercise.randomize_(build("nope", shape), torch.Generator().manual_seed(0))
assert torch.allclose(my_transformer(tokens, random_model), random_model(tokens), atol=1e-3)

# %% [markdown]
# Both agree: these two functions are the model of this course. Here is the attention of the package. `score_scale` is 2/√D, and `context` holds the position encoding, the mask and the cache. Without an encoding, `transform_qk` changes nothing; notebook 04 explains it.

# %%
source(Attention)

# %% [markdown]
# ## What attention costs
#
# A head computes $T^2$ scores for $T$ tokens. The four matrices work on each token alone, so their cost grows like $T$. We count multiplications in the attention of one layer, with $C$ = 96 channels.

# %%
lengths = {20: "about 20", 200: "about 200", 2_000: "about 2,000", 20_000: "about 20,000"}
cost_guess = live.predict(
    "From how many tokens on do scores and mix need more multiplications than the four matrices (C = 96)?",
    list(lengths.values()),
)
cost_guess

# %% tags=["answer"]
longer = []
for T in (48, 96, 192, 384, 768):
    with FlopCounterMode(display=False) as counter, torch.inference_mode():
        my_attention(torch.zeros(1, T, 96), random_model.blocks[0].attention)
    matrices = 4 * T * 96**2
    both = counter.get_total_flops() // 2 - matrices  # PyTorch counts additions as well
    print(f"{T} tokens: {T * T:7,} scores a head; {matrices:,} in the matrices, {both:,} in scores and mix")
    longer += [T] if both >= matrices else []
cost_guess.compare(lengths[min(lengths, key=lambda n: abs(math.log(n / longer[0])))])

# %% [markdown]
# Twice the text needs twice the multiplications in the matrices, and **four times** as many in scores and mix. The scores of all heads take $T^2C$, and the mix as many. The matrices take $4TC^2$, so the costs are equal at $T = 2C$, here 192 tokens.
#
# While a model writes, the keys and values of earlier tokens do not change. A [cache](../docs/glossary.md#cache) keeps them, and each new token computes only its own row of $T$ scores.
#
# ## Who fed whom?
#
# Can a deeper model see order? We make the question as small as possible: eight people with names of one letter, and one verb.

# %%
asked = ("who? {name.a!b}.", "whom? {name.b!a}.")  # a!b: the answer is a, and b would be wrong
stories = tuple("{name.a} fed {name.b}. " + question for question in asked)
grammar = Grammar({"name": tuple("ABCDEFGH")}, {"story": stories})
small = from_grammar("one-letter tales", grammar, 50_000)
tokenizer = small.tokenizer
print(tokenizer.decode(small.val[:67]))

# %% [markdown]
# We ask every question twice, the second time with the names in the story exchanged. The characters are the same, and the right answers differ. A model that ignores order is therefore right in exactly half of the questions.
#
# Neither of our two models has a position encoding ([NoPE](../docs/glossary.md#nope)). One has a single [layer](../docs/glossary.md#layer), that is, one block; the other has two.

# %%
outcomes = ["neither, both stay near half", "only that of one layer", "only that of two layers", "both"]
small_world = live.predict("After 300 steps, which model answers nearly all questions?", outcomes)
small_world

# %% tags=["answer", "nbval-ignore-output"]
questions = [replace(q, prompt=q.prompt.strip("\n")) for q in grammar.questions(200, seed=2, max_chars=20)]
objective = NextToken(small, 16, aligned=True)  # every window is one story, from its beginning
watches = [live.roles(tokenizer, questions[:24]), live.heads(tokenizer, questions[0].prompt)]
models, runs = {}, {}
for n_layer, name in ((1, "one layer"), (2, "two layers")):
    torch.manual_seed(3)
    size = ModelConfig(tokenizer.vocab_size, block_size=24, n_layer=n_layer, n_head=2, n_embd=64)
    models[name] = build("nope", size)
    plan = TrainConfig(steps=300, batch_size=32)
    runs[name] = live.train(models[name], objective, plan, name, watches=watches)

# %% [markdown]
# They train in the background, one after the other, on the same batches. A panel shows 24 questions. The next cell waits for both models.

# %% tags=["answer", "nbval-ignore-output"]
right = {}
for name, run in runs.items():
    loss = run.result()[-1].val_loss
    right[name] = metrics.role_accuracy(models[name], tokenizer, questions)
    print(f"{name}: validation loss {loss:.2f} nats per character, {right[name]:.0%} of the answers right")
small_world.compare(outcomes[(right["one layer"] > 0.9) + 2 * (right["two layers"] > 0.9)])

# %% [markdown]
# One layer is right in **exactly** half of the questions, and training cannot change that. It reads the same bag in both stories of a pair, gives the same answer twice, and is right once.
#
# Two layers can learn it. For this page we chose a [seed](../docs/glossary.md#seed) that learns it. Here are twenty seeds that we did not choose.

# %% tags=["answer", "nbval-ignore-output"]
first, fresh = (results.load_results(name)["fed"] for name in ("order", "fresh/order"))
fed = {arm: [*first[arm], *fresh[arm]] for arm in first}
learned = {arm: f"{sum(share > 0.9 for share in seeds)} of {len(seeds)}" for arm, seeds in fed.items()}
fig, ax = plt.subplots(figsize=(8.5, 3.6))
title, label = "Two layers learn order, but not from every seed", "right answers (%)"
seed_plots.draw_seed_dots(ax, paired.percent(fed), title, label, {"chance": 50}, (40, 112), notes=learned)
plt.show()
print("two layers, 300 steps:", paired.beside(right["two layers"], fed["two layers, 300 steps"], "%"))

# %% [markdown]
# A dot is one trained model; the numbers count models with more than 90% right answers. With two layers these are 9 of 20 after 300 steps and 17 after 600. So two causal layers *can* learn order without position encoding, but not reliably.
#
# Many models put a *beginning-of-sequence* token (BOS) before every text; the picture calls it *marked start*. Our seeds do not decide whether such a mark matters.
#
# ## Where the order comes from
#
# How can two layers see order? We test models with random numbers. `order_blind` shuffles all tokens before the last one, and checks whether the last prediction changes. We compare causal models with models without a mask, whose tokens look **both ways**.

# %%
without = ["no, at no depth", "yes, from two layers on", "yes, from three layers on"]
depth_guess = live.predict("Does a model without a mask see order?", without)
depth_guess

# %% tags=["answer"]
seers = {"causal": [], "both ways": []}
for n_layer in (1, 2, 3):
    model = build("nope", replace(shape, n_layer=n_layer))
    causal = exercise.randomize_(model, torch.Generator().manual_seed(0))
    both_ways = Transformer(causal.config, causal.encoding, causal=False)
    both_ways.load_state_dict(causal.state_dict())
    for name, model in (("causal", causal), ("both ways", both_ways)):
        seers[name] += [] if invariants.order_blind(model, tokens[0]).holds else [n_layer]
print("numbers of layers that see order:", seers)
depth_guess.compare(without[0 if not seers["both ways"] else min(seers["both ways"]) - 1])

# %%
assert seers == {"causal": [2, 3], "both ways": []}

# %% [markdown]
# Without the mask a model is blind at any depth. A causal model sees order from two layers on, even before training. Haviv et al. 2022 found this in trained models. Kazemnejad et al. 2023 proved that the first layer can compute each position if the text begins with BOS.
#
# If all scores are equal, the first letter gets the weight 1 from itself, 1/2 from the second letter, 1/3 from the third. Give the first letter the value 1, and all others 0. Then the mix of token $t$, counted from 0, is $1/(t + 1)$: **the mask is a clock**. Of two names, the one with the larger mix came first. A second layer can compare the mixes. Without a mask each token's result depends only on the token itself and on the bag, in every layer.
#
# ## Take the mask away
#
# Does the trained model use the mask? We test it with an [ablation](../docs/glossary.md#ablation): in *one* layer all tokens may look both ways, and we count right answers again. The weights stay as they are.

# %%
masks = ["neither", "that of layer 1", "that of layer 2", "either"]
which_mask = live.predict("Without which mask does the two-layer model fall back to half?", masks)
which_mask


# %%
def remove_mask(_, given):
    """Inputs of a block, changed so that its tokens look both ways."""
    x, context = given
    return x, replace(context, causal=False)


@torch.inference_mode()
def right_at_the_end(model):
    """Share of questions after which the right name is likelier than the other; a tie counts half."""
    gaps = []
    for q in questions:
        logits = model(tokenizer.encode(q.prompt)[None])[0, -1]
        gaps.append(logits[tokenizer.ids[q.answer]] - logits[tokenizer.ids[q.rival]])
    return (torch.stack(gaps).round(decimals=3).sign().mean().item() + 1) / 2


# %% tags=["answer", "nbval-ignore-output"]
model, shares = models["two layers"], [right_at_the_end(models["two layers"])]
for block in model.blocks:
    hook = block.register_forward_pre_hook(remove_mask)
    shares.append(right_at_the_end(model))
    hook.remove()
print("as trained {:.0%}, without the first mask {:.0%}, without the second {:.0%}".format(*shares))
which_mask.compare(masks[(shares[1] < 0.6) + 2 * (shares[2] < 0.6)])

# %% tags=["nbval-ignore-output"]
assert shares[1] == right["one layer"] == 0.5
assert shares[2] == shares[0]

# %% [markdown]
# Without the first mask exactly half of the answers are right: every token reads the same bag, so nothing tells which name came first. The second mask does not matter, because the token that answers stands last and may read everything anyway. So the first layer gets the order from its mask, and the second layer reads it. If your model did not learn the task, all numbers are near half; try another number in `torch.manual_seed`.
#
# The first layer may also use its mask without counting: the second name can read *fed*, and the first cannot. Our ablation does not show which way the model uses.
#
# ## Look inside
#
# Type your own story, and compare the last row of both layers: the last blank predicts the name.

# %% tags=["nbval-ignore-output"]
live.attention(models["two layers"], tokenizer, "A fed B. whom? ")

# %% [markdown]
# Such pictures show what a head reads. Only an ablation shows whether the model needs it.
#
# How did your guesses do?

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Exercises
#
# In a new cell, `lesson_03a.SCALE.hint()` gives one hint at a time, and `.solution()` shows one way to do it.

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
# 1. Attention is scores, mask, weights, mix: a token reads a weighted mean of values. The weights come from its query and the keys.
# 2. One attention layer ignores the order of earlier tokens: shuffle them, and the mix of the last token stays the same.
# 3. A dot product of D random channels has variance D, so scores are divided by √D. Our models normalise queries and keys and multiply by 2, so that attention can be sharp. The number of scores grows like T².
# 4. A causal model without position encoding sees order from two layers on, because an average over the past depends on how long the past is. Without the mask it is blind at any depth.
# 5. On stories with one-letter names, two layers without position encoding learn who fed whom from 9 of 20 seeds in 300 steps. In 600 steps 17 seeds learn it. Without the mask of the first layer such a model falls back to exactly half.

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
# **b.** Equal scores give equal weights, and these sum to 1. If you chose *c*: values are multiplied by the weights and have no part in making them.
#
# </details>
#
# **2.** What does the causal mask do to the score of a later token?
#
# - a) it becomes $-\infty$ before the softmax
# - b) it becomes 0 before the softmax
# - c) its weight becomes 0 after the softmax
#
# <details><summary>Answer</summary>
#
# **a.** Its exponential is then 0, and the row still sums to 1. If you chose *b*: $e^0 = 1$, so the token is still read.
#
# </details>
#
# **3.** Queries and keys have 100 random channels of variance 1. How large is a typical score before and after dividing by √D?
#
# - a) 100 and 10
# - b) 10 and 1
# - c) 100 and 1
#
# <details><summary>Answer</summary>
#
# **b.** The variance is 100, so a typical score is √100 = 10 in size. If you chose *a*: 100 is the variance.
#
# </details>
#
# **4.** A causal model of *one* layer without position encoding reads *A fed B.* or *B fed A.*, followed by the same question. Its predictions after the question:
#
# - a) are the same, whatever its weights are
# - b) differ if it is trained long enough
# - c) differ, since early tokens average over fewer tokens
#
# <details><summary>Answer</summary>
#
# **a.** The last token reads the same bag with the same scores. If you chose *c*: that is true of the early tokens, but only a second layer could read it.
#
# </details>
#
# **5.** A text becomes ten times as long. How many times as many scores does a head compute for the whole text?
#
# - a) 10
# - b) 20
# - c) 100
#
# <details><summary>Answer</summary>
#
# **c.** There is a score for each pair of tokens. If you chose *a*: this is how the matrices' cost grows.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Note 001, the source of v5, begins: self-attention relies on position information in its input, and a position encoding provides it. That is true without a mask. A causal model of two layers can infer some order from its mask, though not from every seed.

# %% [markdown]
# ## Further reading
#
# - [Vaswani et al. 2017](https://arxiv.org/abs/1706.03762), the Transformer, with the reason for √D in a footnote.
# - [Haviv et al. 2022](https://arxiv.org/abs/2203.16634): NoPE at the size of real models.
# - [Kazemnejad et al. 2023](https://arxiv.org/abs/2305.19466): the proof that the first layer can count.
# - [Henry et al. 2020](https://arxiv.org/abs/2010.04245): why scores should be bounded.

# %% [markdown]
# ## What comes next
#
# A model does not reliably learn to infer order from its mask. We can *tell* each token its position instead. The Transformer of 2017 used a table of sines and cosines. → [03b · Sinusoidal](03b_sinusoidal.ipynb)
