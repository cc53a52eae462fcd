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
# v1 and v2 predict from one token. So they cannot answer *who chased ben?* [Attention](../docs/glossary.md#attention) lets a token read earlier tokens. You will
#
# 1. follow one token from its scores to its answer,
# 2. build the Transformer of all later lessons,
# 3. train two small models on a question that needs order,
# 4. find out how a model without position encoding can see order.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 15 seconds to run on two cores, and by our estimate 57 minutes to read and guess. The exercises take about 24 minutes.

# %% tags=["nbval-ignore-output"]
import math
from dataclasses import replace

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from babygpt import ModelConfig, NextToken, TrainConfig, build, invariants, live, metrics, plots
from babygpt.data.corpus import from_grammar
from babygpt.data.grammar import Grammar
from babygpt.models.transformer import SHARPNESS, Transformer, norm
from babygpt.tables import Table
from babygpt_course.exercises import exercise, lesson_03a
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import paired, results, seed_plots

# %% [markdown]
# Here is attention at work on one sentence. The last blank (drawn as •) has to predict the next letter, the *a* of *ada*.

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
# Look at the lowest panel first. It shows what the blank has read: *a* has the largest share. So our little model answers *a*, which is right.
#
# ## Query, key, value
#
# Every token has three vectors.
#
# - Its **[query](../docs/glossary.md#query)** says what the token looks for.
# - Its **[key](../docs/glossary.md#key)** says what kind of token it is.
# - Its **[value](../docs/glossary.md#value)** is what other tokens can read from it.
#
# In a model, three learned matrices compute these vectors from the token's [embedding](../docs/glossary.md#embedding). Here we chose the vectors by hand. Queries and keys have two [channels](../docs/glossary.md#channel). The first channel means *may begin a name*, and the second means *blank or punctuation*. So a and b have the key (1, 0). Blanks and punctuation have the key (0, 1), and all other letters have (0, 0).
#
# The blank's query is (2, −1): it looks for a name, and not for a blank. Follow the three panels from top to bottom.
#
# 1. **[Score](../docs/glossary.md#score).** We take the dot product of the query with each key. For a and b it is 2 · 1 + (−1) · 0 = 2. For blanks and punctuation it is −1. For all other letters it is 0.
# 2. **[Weight](../docs/glossary.md#weight).** A [softmax](../docs/glossary.md#softmax) turns the scores into positive shares with the sum 1. Each a and each b gets 11%. All other letters get 2% or less.
# 3. **Mix.** We multiply each value by its weight, and add the products. Our values have one channel for each letter. The text has four a's, and 4 · 11% is about 45%.
#
# A key decides *whether* a token is read. A value decides *what* is read from it. So a and b can share a key and differ in their values.
#
# ## Why scores are divided by √D
#
# Our queries and keys have two channels. In a model they have $D$ = 16 to 128 channels, and before training these are random numbers. A dot product adds $D$ products of two such numbers.

# %%
growth = ["1", "√D", "D", "D²"]
question = "q and k have D random channels of variance 1. What is the variance of q · k?"
variance_guess = predict(question, growth)
variance_guess

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(0)
rows = []
for D in (4, 64, 1024):
    products = torch.randn(500, 1, D) @ torch.randn(500, 32, D).mT  # 500 queries, 32 keys each
    largest = [x.softmax(dim=-1).amax(dim=-1).mean() for x in (products, products / math.sqrt(D))]
    rows.append((str(D), f"{products.var():.1f}", *(f"{weight:.0%}" for weight in largest)))
heading = ("D", "variance of q · k", "largest weight", "largest weight after dividing by √D")
display(Table(heading, rows, stable=1))
close = [abs(products.var().item() / size - 1) < 0.1 for size in (1, D**0.5, D, D**2)]
variance_guess.compare(growth[close.index(True)])

# %% [markdown]
# Look at the second column first: the variance grows like $D$. So a typical score is $\sqrt D$ in size, for example 32 for $D$ = 1024. Now look at the third column. With such large scores nearly all weight falls on one of 32 keys, chosen by chance.
#
# Then that weight is near 1, and all others are near 0. A small change of a score changes almost nothing, so almost no [gradient](../docs/glossary.md#gradient) reaches queries and keys. **Attention therefore divides every score by $\sqrt D$.** The variance is then 1 for every $D$. The last column shows that the largest weight no longer grows.
#
# ## The causal mask
#
# A language model predicts after every token of a text. A token must not read later tokens, because the model has to predict them. So we set the scores of later tokens to $-\infty$ before the softmax. Their weights become 0, and the other weights still sum to 1. This is the **causal [mask](../docs/glossary.md#mask)**.
#
# The next picture shows all weights of our sentence. Only blanks have the query (2, −1). All other letters have the query (0, 0), so their scores are 0.

# %%
later = torch.ones(len(text), len(text)).triu(1).bool()  # True where the key stands after the query
weights = (q @ k.T).masked_fill(later, -torch.inf).softmax(dim=-1)  # (T, T)
fig, ax = plt.subplots(figsize=(7.5, 6))
title = "The mask hides everything above the diagonal"
labels = "letter that is read", "letter that reads"
plots.draw_matrix(ax, weights.numpy(), title, *labels, plots.visible(text), top=0.3)
for row, share in enumerate(("1", "1/2", "1/3")):  # above the end of the colours
    ax.text(row + 0.8, row, f"{share} each" if row else share, color="white", size=9, va="center")
fig.axes[1].set_ylabel("weight (yellow: 0.3 or more)")
plt.show()

# %% [markdown]
# Each row is a letter that reads. Look at the top rows. The first letter can read only itself. The second letter gives 1/2 to each of two letters, and the third gives 1/3 to each of three letters. So a row's weights depend on how much text came before.
#
# There is one score for each pair of letters. So a text of twice the length needs **four times** as many scores. While a model writes, a [cache](../docs/glossary.md#cache) keeps the keys and values of earlier tokens, so they are not computed again.
#
# A mask can hide other tokens as well. Short texts in a batch are filled up with [padding](../docs/glossary.md#padding), and no real token should read it. You write such a mask in the exercises.
#
# ## Attention reads a bag
#
# Now we exchange the two names in the first sentence: *ben chased ada. who chased ben?* The answer *ada* is now wrong. Each letter keeps its query, key and value.

# %%
exchange_guess = predict(
    "Which shares in the mix of the last blank change when the two names are exchanged?",
    ["none", "those of a and b", "all"],
)
exchange_guess

# %% tags=["answer"]
exchanged = "ben chased ada. who chased ben? "
q, k, v = vectors(exchanged)
new_mix = (k @ q[-1]).softmax(dim=0) @ v
for story, shares in ((text, mix), (exchanged, new_mix)):
    print(story, "a {:.0%}, b {:.0%}".format(*(shares[letters.index(letter)] for letter in "ab")))
n_changed = int(((new_mix - mix).abs() > 1e-5).sum())
exchange_guess.compare("none" if n_changed == 0 else "all" if n_changed > 2 else "those of a and b")


# %% [markdown]
# No share changes. The weights and values move with their letters, and a sum does not depend on the order of its terms. So the last token reads a **bag**: which letters occur and how often, but not in which order. It still answers *a*.
#
# **Without positions, one attention layer ignores the order of earlier tokens.** Can a deeper model do better? First we need the rest of the Transformer.
#
# ## The whole Transformer
#
# A model's attention differs from our little model in three ways.
#
# - The $C$ channels of a model are split among $H$ [heads](../docs/glossary.md#head). Each head has $D = C/H$ channels and its own scores. A fourth matrix, `out`, combines the mixes of all heads.
# - A [norm](../docs/glossary.md#norm) brings each query and key to the same length. So training cannot make scores grow without end.
# - After this norm a score is at most $\sqrt D$. A head often needs higher scores for a clear choice. So our models multiply scores by 2, the `SHARPNESS`.

# %%
def my_attention(x, layer):
    """Causal attention in all heads of one layer: (B, T, C) -> (B, T, C)."""
    q, k, v = (
        matrix(x).unflatten(-1, (layer.n_head, -1)).transpose(1, 2)  # (B, T, C) -> (B, H, T, D)
        for matrix in (layer.to_q, layer.to_k, layer.to_v)
    )
    scores = SHARPNESS * norm(q) @ norm(k).mT / math.sqrt(q.shape[-1])  # (B, H, T, T)
    later = torch.ones(scores.shape[-2:]).triu(1).bool()
    weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
    return layer.out((weights @ v).transpose(1, 2).flatten(2))


# %% [markdown]
# Each token has a vector of $C$ channels, the [stream](../docs/glossary.md#stream). The stream begins as the token's embedding. A [block](../docs/glossary.md#block) adds two results to it. First, attention reads earlier tokens. Then an [MLP](../docs/glossary.md#mlp) transforms each token separately. Each step reads a normalised copy of the stream. At the end, the output head turns the stream into [logits](../docs/glossary.md#logit).

# %%
def my_transformer(tokens, model):
    """Logits of a causal model without position encoding: (B, T) -> (B, T, V)."""
    x = norm(model.token_embedding(tokens))  # (B, T, C)
    for block in model.blocks:
        x = x + my_attention(norm(x), block.attention)
        x = x + block.mlp.out(block.mlp.up(norm(x)).relu().square())
    return model.head(norm(x))


tokens = torch.tensor([[letters.index(c) for c in text]])  # (1, 32), the sentence of the first picture
shape = ModelConfig(len(letters), block_size=64, n_layer=3, n_head=4, n_embd=96)
random_model = exercise.randomize_(build("nope", shape), torch.Generator().manual_seed(0))
assert torch.allclose(my_transformer(tokens, random_model), random_model(tokens), atol=1e-3)

# %% [markdown]
# The last line checks that the package's model gives the same logits. These two functions are the Transformer of all later lessons.
#
# ## Who fed whom?
#
# Can two layers see order? We ask a question that is as small as possible: eight people with names of one letter, and one verb.

# %%
asked = ("who? {name.a!b}.", "whom? {name.b!a}.")  # a!b: the answer is a, and b would be wrong
stories = tuple("{name.a} fed {name.b}. " + question for question in asked)
grammar = Grammar({"name": tuple("ABCDEFGH")}, {"story": stories})
small = from_grammar("one-letter tales", grammar, 50_000)
tokenizer = small.tokenizer
print(tokenizer.decode(small.val[:67]))

# %% [markdown]
# We ask every question twice, the second time with the names in the story exchanged. The letters are the same, but the right answers differ. So a model that ignores order is right in exactly half of the questions.
#
# We train a model of one [layer](../docs/glossary.md#layer) and a model of two layers. A layer is one block. Neither model has a position encoding ([NoPE](../docs/glossary.md#nope)).

# %%
outcomes = ["neither, both stay near half", "only that of one layer", "only that of two layers", "both"]
small_world = predict("After 300 steps, which model answers nearly all questions?", outcomes)
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
# The models train one after the other. Watch the second panel, the share of right answers to 24 questions. The last panel is a map of the attention weights: a row for each letter that reads, as above. The next cell waits for both models.

# %% tags=["answer", "nbval-ignore-output"]
right = {}
for name, run in runs.items():
    loss = run.result()[-1].val_loss
    right[name] = metrics.role_accuracy(models[name], tokenizer, questions)
    print(f"{name}: validation loss {loss:.2f} nats per character, {right[name]:.0%} of the answers right")
small_world.compare(outcomes[(right["one layer"] > 0.9) + 2 * (right["two layers"] > 0.9)])

# %% [markdown]
# One layer is right in **exactly** half of the questions, and training cannot change that. It reads the same bag in both stories of a pair. So it gives the same answer twice, and is right once.
#
# Two layers can learn the task. But here we chose a [seed](../docs/glossary.md#seed) that learns it. The next picture shows twenty seeds that we did not choose.

# %% tags=["answer", "nbval-ignore-output"]
stored = results.load_results("order")["fed"]
arms = [f"{name}, {steps} steps" for name in runs for steps in (300, 600)]
fed = {arm: stored[arm] for arm in arms}
learned = {arm: f"{sum(share > 0.9 for share in seeds)} of {len(seeds)}" for arm, seeds in fed.items()}
fig, ax = plt.subplots(figsize=(8.5, 3))
title, label = "Two layers learn order, but not from every seed", "right answers (%)"
seed_plots.draw_seed_dots(ax, paired.percent(fed), title, label, {"chance": 50}, (40, 112), notes=learned)
plt.show()
print("two layers, 300 steps:", paired.beside(right["two layers"], fed["two layers, 300 steps"], "%"))

# %% [markdown]
# Each dot is one trained model. The numbers on the right count models with more than 90% right answers. Look at the two lower rows. After 300 steps, 9 of 20 models have learned the task, and after 600 steps 17 have. So two layers *can* learn order without position encoding, but not reliably.
#
# ## Take the mask away
#
# Our models have no position encoding. But because of the mask, a late token reads more tokens than an early one. Does the two-layer model use this? We test it with an [ablation](../docs/glossary.md#ablation). The model keeps its trained weights and loses its mask. Now all tokens look **both ways**.

# %%
remaining = ["nearly all", "about three quarters", "exactly half", "nearly none"]
mask_guess = predict("The two-layer model loses its mask. How many of its answers are right?", remaining)
mask_guess


# %%
@torch.inference_mode()
def right_at_the_end(model):
    """Share of questions after which the right name is likelier than the other; a tie counts half."""
    gaps = []
    for q in questions:
        logits = model(tokenizer.encode(q.prompt)[None])[0, -1]
        gaps.append(logits[tokenizer.ids[q.answer]] - logits[tokenizer.ids[q.rival]])
    return (torch.stack(gaps).round(decimals=3).sign().mean().item() + 1) / 2


# %% tags=["answer", "nbval-ignore-output"]
trained = models["two layers"]
unmasked = Transformer(trained.config, trained.encoding, causal=False)
unmasked.load_state_dict(trained.state_dict())
share = right_at_the_end(unmasked)
print(f"two layers: {right_at_the_end(trained):.0%} right with the mask, {share:.0%} without it")
mask_guess.compare(remaining[0 if share > 0.9 else 1 if share > 0.6 else 2 if share > 0.4 else 3])

# %% [markdown]
# The next cell measures two [promises](../docs/glossary.md#promise) of each model. The first one says that no token sees the future. For the second one we shuffle all tokens before the last one. A ✓ means that the last prediction stays the same, so the model is blind to order.

# %% tags=["nbval-ignore-output"]
tested = models | {"two layers without the mask": unmasked}
panel, ids = [], tokenizer.encode(questions[0].prompt)
for name, model in tested.items():
    for promise in (invariants.causal(model, ids), invariants.order_blind(model, ids)):
        panel.append(replace(promise, statement=f"{name}: {promise.statement}"))
assert [promise.holds for promise in panel] == [True, True, True, False, False, True]
assert share == right["one layer"] == 0.5
invariants.promises(panel)

# %% [markdown]
# Compare the last four lines. With the mask, two layers see order. Without the mask they see the future, but they are blind to order. So exactly half of the answers are right. The weights are the same, so **the order came from the mask**.
#
# More layers would not help. Without a mask every token reads the same bag in every layer.
#
# If your model did not learn the task, try another number in `torch.manual_seed`.
#
# ## How the mask shows order
#
# In *A fed B* the second name can read *fed*. The first name cannot, because *fed* comes later. So after the first layer a name's vector can show whether the name stands before or after *fed*. The second layer can read this.
#
# A layer can even count. Many models put a *beginning-of-sequence* token ([BOS](../docs/glossary.md#bos)) before every text. Suppose that all scores of a head are equal. Then the first token after BOS gives BOS the weight 1/2, the second token gives it 1/3, and so on. So the weight of BOS tells each token its position.
#
# The explorer shows our trained model. It starts with the last blank, in layer 2, head 1.

# %% tags=["nbval-ignore-output"]
inside = live.attention(models["two layers"], tokenizer, "A fed B. whom? ")
inside.layer = 2
inside

# %% [markdown]
# Look at the bars below the square. In our run the blank gives 98% of its attention to *B*, the right answer. Now choose layer 1, head 2, and letter 7. This is *B*, and it reads the *f* of *fed*.
#
# Such a picture shows what a head reads. Only an ablation of this head would show whether the model needs it.

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Exercises
#
# In a new cell, `lesson_03a.SCALE.hint()` gives one hint at a time, and `.solution()` shows a solution.

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
# 1. Attention computes scores, weights and a mix. The weights come from a token's query and all keys, and the mix is a weighted mean of values.
# 2. A dot product of D random channels has variance D, so scores are divided by √D. The number of scores grows like T².
# 3. Without positions, one attention layer reads a bag: shuffle the earlier tokens, and the mix of the last token stays the same.
# 4. With the causal mask, two layers can see order without position encoding. Without the mask a model is blind to order at any depth.
# 5. On stories with one-letter names, two layers learn who fed whom with 9 of 20 seeds after 300 steps, and with 17 of 20 seeds after 600 steps. Without its mask our trained model is right in exactly half.

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
# **b.** Equal scores give equal weights, and the weights sum to 1. *c* is tempting, but values are only multiplied by the weights.
#
# </details>
#
# **2.** What does the causal mask do to the score of a later token?
#
# - a) it becomes $-\infty$ before the softmax
# - b) it becomes 0 before the softmax
# - c) nothing, but after the softmax its weight is replaced by 0
#
# <details><summary>Answer</summary>
#
# **a.** Its exponential is then 0, and the weights still sum to 1. *b* is tempting, but $e^0 = 1$, so the token is still read.
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
# **b.** The variance is 100, so a typical score is √100 = 10 in size. *a* is tempting, but 100 is the variance.
#
# </details>
#
# **4.** A causal model of *one* layer without position encoding reads *A fed B.* or *B fed A.*, and then the same question. Its predictions after the question
#
# - a) are the same, whatever its weights are
# - b) differ if it is trained long enough
# - c) differ, since the second name can read *fed* and the first cannot
#
# <details><summary>Answer</summary>
#
# **a.** The last token reads the same bag with the same scores. *c* is tempting, but only a second layer could use this difference.
#
# </details>
#
# **5.** A text becomes ten times as long. By which factor does the number of scores grow?
#
# - a) 10
# - b) 20
# - c) 100
#
# <details><summary>Answer</summary>
#
# **c.** There is a score for each pair of tokens. *a* is tempting, because the number of tokens grows by 10.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Note 001, the source of v5, says that self-attention needs a position encoding. This is true without a mask. With the causal mask, two layers can learn order without position encoding, but not from every seed.

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
# The mask shows order, but not every model learns to use it. So we *tell* each token its position. The Transformer of 2017 adds a table of sines and cosines. → [03b · Sinusoidal](03b_sinusoidal.ipynb)
