# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 01 · Bag of tokens
#
# **What can a model learn if it sees only one token at a time?**
#
# Our first model, **v1**, predicts the next character from the present one. It has no position encoding, and no token sees another. Every later model adds something to v1. So we first find out exactly what v1 can do. You will
#
# 1. compute v1's output by hand,
# 2. make one training step by hand,
# 3. compute the lowest loss that v1 can reach, and watch a v1 reach it,
# 4. see why v1 answers exactly half of all questions about order.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 15 seconds to run on two cores, and by our estimate 52 minutes to read and guess. The exercises take about 18 minutes, and those marked *stretch* take 30 more.

# %%
import math

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor

from babygpt import ModelConfig, NextToken, TrainConfig, build, invariants, live, load_corpus, plots
from babygpt.data import CharTokenizer
from babygpt.metrics import role_accuracy
from babygpt.models.language_model import BagOfTokens
from babygpt.tables import Table, source
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_01 as bag_of_tokens
from babygpt_course.predictions import predict, tally
from babygpt_course.studies.results import load_results

# %% [markdown]
# This picture shows everything that v1 can learn about the tales:

# %%
plots.set_style()
corpus = load_corpus("tales")
V, ids = corpus.tokenizer.vocab_size, corpus.tokenizer.ids  # 30 characters; character -> number
expected = torch.zeros(V, V, dtype=torch.float64)  # how often each pair comes in a story
for (this, following), n in corpus.grammar.bigrams().items():
    expected[ids[this], ids[following]] = n
exact = expected / expected.sum(dim=1, keepdim=True)  # rows sum to 1
fig, ax = plt.subplots(figsize=(7, 5.5))
title = f"After a space {(exact[ids[' ']] > 0).sum()} letters may come, after a question mark only a space"
marks = plots.visible(corpus.tokenizer.characters)
plots.draw_matrix(ax, exact.numpy(), title, "next character", "this character", marks)
fig.axes[1].set_ylabel("probability")
plt.show()

# %% [markdown]
# Each row belongs to a present character, and each column to a next character. • is a space, and ↵ is a line end. The brighter a cell, the more probable is its next character. Find the row of *q*. It has one bright cell, in the column of *u*: in the tales, *u* always follows *q*.
#
# ## From a token to a prediction
#
# How does v1 compute such a row? We follow the numbers with an alphabet of four characters. 我爱你 means *I love you*: 我 is *I*, 爱 is *love*, 你 is *you*. The fourth character is ！. v1 takes three steps:
#
# 1. **Look up.** Each token has a row in the [embedding](../docs/glossary.md#embedding) table `E`, here of two numbers.
# 2. **Score.** The [output head](../docs/glossary.md#head) has a weight matrix `W` and a bias. It turns the row into one number for each possible next character, its [logit](../docs/glossary.md#logit).
# 3. **Normalise.** A [softmax](../docs/glossary.md#softmax) turns the logits into probabilities.

# %%
toy = CharTokenizer("我爱你！")
E = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])  # (V, D) = (4, 2)
W = torch.tensor([[1.0, -1.0], [0.0, 2.0], [-1.0, 1.0], [2.0, 0.0]])  # (V, D), any numbers will do
bias = torch.tensor([0.0, 0.1, 0.2, 0.3])
love = toy.encode("我爱你")
logits = E[love] @ W.T + bias  # (T, V) = (3, 4)
p = logits.softmax(dim=-1)
numbers = zip("我爱你", *(x.tolist() for x in (E[love], logits, p)), strict=True)
rows = [(c, *(" ".join(f"{v:.2f}" for v in row) for row in rest)) for c, *rest in numbers]
Table(("token", "row of E", "logits of 我 爱 你 ！", "probabilities"), rows, stable=4)

# %% [markdown]
# Check one number. The row of 我 in `E` is [0.1, 0.2]. In `W`, 爱 has the weights [0, 2], and its bias is 0.1. So the logit of 爱 after 我 is 0.1 · 0 + 0.2 · 2 + 0.1 = 0.5.
#
# The package's v1 has the same parts. Here is its source. The cell after it loads our numbers into this class and compares the logits.

# %%
source(BagOfTokens)

# %%
v1 = build("v1", ModelConfig(toy.vocab_size, block_size=3, n_head=1, n_embd=2))
v1.load_state_dict({"token_embedding.weight": E, "head.weight": W, "head.bias": bias})
assert torch.allclose(v1(love[None])[0], logits)
assert torch.allclose(v1(love.flip(0)[None])[0], logits.flip(0))

# %% [markdown]
# Both checks pass. The first check says that our lines compute what v1 computes. In the second check, v1 reads the sentence backwards, and the logits after each character stay the same. So these logits depend on this character and on nothing else.
#
# ## Can v1 tell two sentences apart?
#
# 你爱我, *you love me*, has the same three characters in another order. The probability of a sentence is a product: p(second character after the first) times p(third after the second).

# %%
reasons = [
    "no: both hold the same three characters",
    "yes: each step from character to character has its own probability",
    "yes: the probabilities after a character depend on its position",
]
apart_guess = predict("v1 says how probable 我爱你 and 你爱我 are. Can the two numbers differ?", reasons)
apart_guess

# %% tags=["answer"]
probability = {}
for sentence in ("我爱你", "你爱我"):
    steps = v1(toy.encode(sentence)[None])[0].softmax(dim=-1)  # (T, V)
    one, two = (steps[t, toy.ids[sentence[t + 1]]].item() for t in (0, 1))
    probability[sentence] = one * two
    print(f"{sentence}: {one:.3f} × {two:.3f} = {one * two:.4f}")
differ = not math.isclose(*probability.values(), rel_tol=1e-4)
apart_guess.compare(reasons[1 if differ else 0])

# %% [markdown]
# The numbers differ because the pairs differ: 我爱你 contains 我爱 and 爱你, and 你爱我 contains 你爱 and 爱我. But v1 has no memory. **After 我爱 and after 你爱 it predicts the same next character**, because it sees only 爱.
#
# So v1 has one row of probabilities for each of its V characters. Whatever its weights are, **v1 is a table of V × V probabilities**. Such a table is called a [bigram model](../docs/glossary.md#bigram).
#
# ## Counting pairs
#
# Which table is best for a text? We can count. The next text says 我爱你 twice and 你爱我 once. So 爱 comes three times: 你 follows it twice, and 我 follows it once. After 爱, the *counted share* of 你 is 2/3.

# %%
text = toy.encode("！我爱你！我爱你！你爱我！")
this, following = text[:-1], text[1:]  # 12 pairs
counts = torch.zeros(4, 4)
for a, b in zip(this, following, strict=True):
    counts[a, b] += 1
table = counts / counts.sum(dim=1, keepdim=True)
rows = [(toy.characters[i], *(f"{x:.2f}" for x in row)) for i, row in enumerate(table.tolist())]
Table(("after … comes", *toy.characters), rows, stable=5)

# %% [markdown]
# ## One training step by hand
#
# v1 does not get this table. v1 begins with random weights and must find better weights. So we need a number that says how bad its probabilities are: the [loss](../docs/glossary.md#loss). Take a pair of the text, and the probability p that v1 gives to its second character. The loss of this pair is −ln p. It is 0 if p is 1, and it grows as p falls. The loss of the text is the mean over its pairs.
#
# The [gradient](../docs/glossary.md#gradient) says, for each weight, how fast the loss grows if this weight grows. **A training step moves every weight against its gradient**: in the direction in which the loss falls. The [learning rate](../docs/glossary.md#learning-rate) says how far:
#
# $$\text{new weight} = \text{weight} - \text{learning rate} \cdot \text{gradient}.$$
#
# We take the simplest v1: its weights are the 16 logits of the table, and all of them begin at 0. Then every probability is 1/4, and the loss is −ln(1/4) = 1.386. The gradient of the logit of $b$ after $a$ has a short formula:
#
# $$\text{gradient} = (\text{share of pairs that begin with } a) \cdot (p - \text{counted share of } b \text{ after } a).$$
#
# PyTorch finds the same numbers with `backward()`. The cell makes one step with a learning rate of 1. Its table shows what happens to the four logits after 爱.

# %%
z = torch.zeros(4, 4, requires_grad=True)
F.cross_entropy(z[this], following).backward()
by_hand = counts.sum(dim=1, keepdim=True) / counts.sum() * (1 / 4 - table)
assert torch.allclose(z.grad, by_hand)
after = -1.0 * by_hand  # one step from 0, at a learning rate of 1
columns = [x[toy.ids["爱"]] for x in (table, by_hand, after, after.softmax(dim=-1))]
rows = [(c, "0.25", *(f"{x[i]:.3f}" for x in columns)) for i, c in enumerate(toy.characters)]
Table(("after 爱", "p before", "counted share", "gradient", "logit after", "p after"), rows, stable=6)

# %% [markdown]
# Look at the row of 你. Its counted share is 0.667, but p is only 0.25. Three of the twelve pairs begin with 爱. So the gradient is 3/12 · (0.25 − 0.667) = −0.104. A step goes against the gradient, so it *raises* the logit to 0.104. In the last column p has grown a little.
#
# The gradient is 0 where p equals the counted share. **So training approaches the table that counting gives**, although it never counts.
#
# How far should one step go? We try four learning rates.

# %%
effects = ["it falls 100 times as far", "it falls at once to the loss of the counted table", "it rises"]
rate_guess = predict("One step at a learning rate of 100 instead of 1: what does the loss do?", effects)
rate_guess


# %% tags=["answer"]
def loss_after(rate: float, n_steps: int) -> float:
    """Loss of the table of logits after some steps from 0."""
    z = torch.zeros(4, 4)
    for _ in range(n_steps):
        z -= rate * counts.sum(dim=1, keepdim=True) / counts.sum() * (z.softmax(dim=-1) - table)
    return F.cross_entropy(z[this], following).item()


rows = [(f"{rate}", *(f"{loss_after(rate, n):.3f}" for n in (0, 1, 10, 100))) for rate in (0.1, 1, 10, 100)]
display(Table(("learning rate", "before", "after 1 step", "10 steps", "100 steps"), rows, stable=5))
print(f"counted table: {-table[this, following].log().mean():.3f}")
rate_guess.compare(effects[2 if loss_after(100, 1) > loss_after(1, 0) else 0])

# %% [markdown]
# Look at the last column. With a rate of 0.1 the loss is still high, because each step is too small. With a rate of 10 it has almost reached the loss of the counted table. With a rate of 100 each step jumps over the goal, and the loss stays high.
#
# Real training adds three things:
#
# - The gradient comes from a [**batch**](../docs/glossary.md#batch), a random sample of the text. So a step is quick, even for a long text.
# - An [**optimizer**](../docs/glossary.md#optimizer) makes the step. Ours is AdamW. It averages the latest gradients, and it adapts the size of the step to each weight. The learning rate falls during the run.
# - [**Validation**](../docs/glossary.md#validation) measures the loss on text that no step has used. A large model could memorise its training text, and then the training loss would be too good.
#
# ## How low can v1 go?
#
# We can compute the lowest loss of v1 before we train it. A grammar writes the tales, so we know the exact probability $p(b\mid a)$ of each character $b$ after $a$. The first picture shows these numbers. No other table has a lower expected loss than this one. We also know the share $p(a,b)$ of each pair in the tales. So the expected loss of the best table is
#
# $$-\sum_{a,b} p(a,b)\,\ln p(b\mid a).$$
#
# This number is the [**bigram floor**](../docs/glossary.md#floor). The cell also prints the **entropy floor** of lesson 00, the lowest loss of a model that sees the whole past.

# %%
share = expected / expected.sum()  # p(a, b)
floor = -torch.special.xlogy(share, exact).sum().item()  # 0 ln 0 counts as 0
assert math.isclose(floor, corpus.bigram_floor)
print(f"bigram floor {floor:.2f}, entropy floor {corpus.floor:.2f} nats per character")

# %% [markdown]
# ## Watch it learn
#
# The tales have 30 different characters, so v1 has a table of 30 × 30 logits. It is the product of `E` and the transposed `W`, plus the bias. With 30 [channels](../docs/glossary.md#channel) or more, this can be any such table. We train a v1 with 64 channels for 300 steps.
#
# The dashboard has three panels. They show the **loss**, the **right answers** to 24 questions about order, and the **table** of v1.

# %%
ends = ["more than 0.02 nats above the bigram floor", "on it, within 0.02", "more than 0.02 below it"]
end_guess = predict("Where will v1's loss end?", ends)
end_guess

# %%
shape = ModelConfig(V, block_size=192, n_embd=64)
recipe = TrainConfig(steps=300, batch_size=64, lr_other=0.03)  # lr_other: AdamW's highest learning rate
floors = {"bigram floor": floor, "entropy floor": corpus.floor}
questions = corpus.grammar.questions(400, seed=2, max_chars=shape.block_size)
roles, table_now = live.roles(corpus.tokenizer, questions[:24]), live.next_characters(corpus.tokenizer)

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(0)
model = build("v1", shape)
run = live.train(model, NextToken(corpus, 64), recipe, "v1", floors, [roles, table_now])

# %% [markdown]
# The next cell waits for the run to end.

# %% tags=["answer", "nbval-ignore-output"]
val_loss = run.result()[-1].val_loss
ours = load_results("order")["bags"]["v1, anywhere"]
print(f"your run: {val_loss - floor:+.3f} nats from the bigram floor")
print(f"our {len(ours)} runs: {min(ours):+.3f} to {max(ours):+.3f}")
end_guess.compare(ends[0 if val_loss - floor > 0.02 else 2 if val_loss - floor < -0.02 else 1])

# %% [markdown]
# The loss falls to the bigram floor and stays there. Our twelve runs, each from another seed, ended within 0.01 nats of this floor. So training finds almost the best table.
#
# The gap between the two floors is more than 1.5 nats. It is what a model can gain if it knows what came *before* the present character.
#
# ## How exact is a loss?
#
# The validation text is a sample. On another sample the loss would be slightly different. The [standard error](../docs/glossary.md#standard-error) tells how large this difference typically is. To estimate it, we cut the text into 100 blocks and compute the loss of each block. We divide the standard deviation of these losses by √100.

# %% tags=["nbval-ignore-output"]
losses = {"best table": -exact[corpus.val[:-1], corpus.val[1:]].log()}  # one loss for each character
learned = model(torch.arange(V)[None])[0].log_softmax(dim=-1).detach().double()
losses["your v1"] = -learned[corpus.val[:-1], corpus.val[1:]]
losses["difference"] = losses["your v1"] - losses["best table"]
for name, each in losses.items():
    blocks = each[: len(each) // 100 * 100].view(100, -1).mean(dim=1)
    print(f"{name}: {blocks.mean():.4f} ± {blocks.std() / 100**0.5:.4f} nats per character")

# %% [markdown]
# Look at the numbers after ±. A loss has a standard error of 0.003 nats. The *difference* of the two losses has a much smaller standard error. An easy block is easy for both tables, so this luck drops out of the difference. Therefore we compare models on the same text.
#
# ## Who did it?
#
# Go back to the dashboard, and drag the timeline above its panels to 0 and slowly forward. In the third panel, v1's table becomes more and more like the first picture. But in the second panel, the right answers stay at 50%. Why?
#
# Take one story: *ada chased ben. who chased ben? ada.* In its [mirror](../docs/glossary.md#mirror-pair) the two names are exchanged. We ask v1 for the next character after each of the two questions.

# %% tags=["nbval-ignore-output"]
rows = []
for story in ("ada chased ben. who chased ben? ", "ben chased ada. who chased ada? "):
    logits = model(corpus.tokenizer.encode(story)[None])[0, -1].detach()  # after the last space
    p = logits.softmax(dim=-1)
    rows.append((story, f"{p[ids['a']]:.3f}", f"{p[ids['b']]:.3f}", story[0]))
Table(("story", "p of a", "p of b", "right letter"), rows, stable=1)

# %% [markdown]
# Both questions end with a space, and v1 sees only this space. So the two rows hold the same probabilities, and v1 prefers the same letter in both stories. But the right letter differs, so v1 is right once and wrong once. We now ask 400 such questions, in pairs of story and mirror.

# %%
accuracy = role_accuracy(model, corpus.tokenizer, questions)
print(f"{accuracy:.1%} of {len(questions)} questions")
assert accuracy == 0.5

# %% [markdown]
# **Exactly 50%, without any luck.** Our questions come in mirror pairs for this reason: 50% means *no knowledge of order*. To answer "who chased ben?", a model has to look further back than one character.
#
# ## Two characters or three
#
# A *trigram* table has a row for every two characters, and predicts the third one. We count in the training text and measure on the validation text. We add 0.1 to each count, so that no probability is 0.

# %%
question = "A bigram table has a loss of 2.10 nats per character. What is the loss of a trigram table?"
gain_guess = predict(question, low=0.4, high=2.1, unit="nats", near=0.15)
gain_guess

# %% tags=["answer"]
rows = []
for n in (1, 2, 3):  # characters that the table sees
    powers = V ** torch.arange(n, -1, -1)  # n + 1 characters as one number, in base V
    seen, held = (part.unfold(0, n + 1, 1) @ powers for part in (corpus.train, corpus.val))
    smoothed = torch.bincount(seen, minlength=V ** (n + 1)).view(-1, V) + 0.1
    probabilities = smoothed / smoothed.sum(dim=1, keepdim=True)
    rows.append((str(n), f"{V ** (n + 1):,}", f"{-probabilities.flatten()[held].log().mean():.2f}"))
display(Table(("characters seen", "numbers in the table", "loss (nats per character)"), rows, stable=3))
gain_guess.compare(float(rows[1][2]))

# %% [markdown]
# One more character lowers the loss by more than half a nat. But each character makes the table 30 times as large. And a trigram table still does not know who did it: every question ends with a question mark and a space. We need a model that looks far back and needs no such table. This will be [attention](../docs/glossary.md#attention), in lesson 03a.
#
# The next cell measures four [promises](../docs/glossary.md#promise), properties that a model keeps on any text. Read its first line. We replaced every earlier character, and v1's prediction did not change. Later models must *break* this promise.

# %% tags=["nbval-ignore-output"]
part = corpus.val[:64]
about_v1 = [
    invariants.blind_to_the_past(model, part),
    invariants.order_blind(model, part),
    invariants.causal(model, part),
    invariants.extrapolates_or_refuses(model, part),
]
assert all(promise.holds for promise in about_v1)
invariants.promises(about_v1)

# %%
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run your cell, then run the check. In a new cell, `bag_of_tokens.BIGRAM_LOSS.hint()` gives one hint at a time and `bag_of_tokens.BIGRAM_LOSS.solution()` shows a solution. *Core* exercises belong to the lesson; *stretch* exercises go further.

# %%
bag_of_tokens.BIGRAM_LOSS


# %%
def bigram_loss(text: str) -> float:
    """Loss in nats per prediction of the best bigram model of a text, on that text."""
    return 0.0


# %%
bag_of_tokens.BIGRAM_LOSS.check(bigram_loss)

# %%
bag_of_tokens.CERTAIN_TEXT

# %%
two_texts = ("", "")

# %%
bag_of_tokens.CERTAIN_TEXT.check(two_texts)

# %%
bag_of_tokens.STANDARD_ERROR


# %%
def compare(one: Tensor, other: Tensor) -> tuple[float, float, bool]:
    """Mean of one - other (N,), its standard error, and whether it is more than two errors from 0."""
    return 0.0, 0.0, False


# %%
bag_of_tokens.STANDARD_ERROR.check(compare)

# %%
bag_of_tokens.SQUEEZED


# %%
def squeezed(table: Tensor, n_embd: int) -> tuple[Tensor, Tensor, Tensor]:
    """Embedding (V, n_embd), head (V, n_embd) and bias (V,) of a v1 with this table and few channels."""
    V = len(table)
    return torch.eye(V)[:, :n_embd], table.log().T[:, :n_embd], torch.zeros(V)


# %%
bag_of_tokens.SQUEEZED.check(squeezed)

# %% [markdown]
# ## Recap
#
# 1. v1 is a bigram model: a table with a row for each present character and a column for each next one.
# 2. v1 gives 我爱你 and 你爱我 different probabilities, because their pairs differ. But it predicts the same after 我爱 as after 你爱.
# 3. A training step moves every weight against its gradient. The gradient is 0 where the probability equals the counted share, so training approaches the counted table.
# 4. The lowest loss of any v1 can be computed without training: 2.10 nats per character on the tales. Our twelve runs of 300 steps, each from another seed, ended within 0.01 nats of it.
# 5. v1 answers exactly half of the mirror questions right, because a story and its mirror end with the same character.

# %% [markdown]
# ## Self-test
#
# **1.** A trained v1 has read 我爱, another time 你爱. What does it predict next?
#
# - a) something else each time, because the beginnings differ
# - b) the same before training, something else after it
# - c) the same each time
#
# <details><summary>Answer</summary>
#
# **c.** Both texts end with 爱, and v1 uses only the row of 爱. *a* is tempting because the two *sentences* do get different probabilities, but these come from their pairs.
#
# </details>
#
# **2.** Why is v1 right on exactly 50% of mirror questions and never on 51%?
#
# - a) story and mirror end alike, so it prefers the same name in both
# - b) it guesses at random
# - c) its loss is on the bigram floor
#
# <details><summary>Answer</summary>
#
# **a.** The same preference is right in one of the two and wrong in the other. *b* is tempting, but 400 random guesses would seldom give exactly 200.
#
# </details>
#
# **3.** After *a*, the character *b* follows in 20% of cases, and the model says 30%. What does a training step do to the logit of *b*?
#
# - a) it raises the logit, because the gradient is negative
# - b) it lowers the logit, because the gradient is positive
# - c) nothing, because *b* is not certain
#
# <details><summary>Answer</summary>
#
# **b.** The gradient is (0.3 − 0.2) times a positive number, and a step goes against the gradient. It is 0 only where p equals the counted share. *a* has the sign of the gradient wrong.
#
# </details>
#
# **4.** On which text can a v1 bring its loss as near to 0 as you like?
#
# - a) on any text that it has seen often enough
# - b) on a text of which it knows each word
# - c) on a text in which each character has only one successor
#
# <details><summary>Answer</summary>
#
# **c.** Then each row of the table has one probability that may approach 1. Against *a*: v1's table has no room to memorise a text.
#
# </details>
#
# **5.** Our v1 ended a few thousandths above the floor. What would ten times as many channels do?
#
# - a) next to nothing: with 64 channels the product can already be any table of 30 × 30 logits
# - b) bring the loss down to the entropy floor
# - c) let v1 see further back
#
# <details><summary>Answer</summary>
#
# **a.** The floor belongs to the best possible table. *b* is tempting. But to go below the bigram floor, a model must see what came *before* the present character. More channels do not let it see this.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# The course is built on source notes, and note 004 introduces v1. It says that v1 cannot tell 我爱你 from 你爱我, because both consist of the same three vectors. The vectors are the same, but the conclusion goes too far: the probabilities of the two sentences differ. Only the next prediction after 我爱 and after 你爱 is the same.
#
# The next cell measures this claim and one more. [The page of note 004](../docs/notes/004.md) has all of them.

# %% tags=["nbval-ignore-output"]
claims = ["v1 cannot tell 我爱你 from 你爱我", "in v1 a character has the same code at every position"]
findings("004", claims)

# %% [markdown]
# ## Further reading
#
# - [Shannon, 1948](https://doi.org/10.1002/j.1538-7305.1948.tb01338.x) — section 3 writes English from tables of pairs and triples.
# - [Elhage et al., 2021](https://transformer-circuits.pub/2021/framework/index.html) — begins with Transformers without layers, and finds bigram tables.
# - [Yang et al., 2018](https://arxiv.org/abs/1711.03953) — models with fewer channels than tokens: the last exercise at full size.

# %% [markdown]
# ## What comes next
#
# Note 004 gives each position a learned vector, and adds it to the vector of the token. Can that replace a memory? → [02 · Learned positions](02_learned_positions.ipynb)
