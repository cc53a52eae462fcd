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
# *A side trip after 00, complete in itself.*
#
# Run the next cell, and watch the loss and the right answers. While its loss falls, **v1** knows exactly half of the answers at every step. In lesson 00 this was the mark of a model that ignores order. Is that what v1 does?
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 15 seconds to run on two cores, and by our estimate 45 minutes to read and guess. The exercises take about 18 minutes, and those marked *stretch* take 20 more.

# %% tags=["nbval-ignore-output"]
import torch

import babygpt_live as live
from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
from babygpt_course import explorers

corpus = load_corpus("tales", n_chars=400_000)
V, ids = corpus.tokenizer.vocab_size, corpus.tokenizer.ids  # 30 characters; character -> number
questions = corpus.grammar.questions(400, seed=2, max_chars=192)
watches = [explorers.roles(corpus.tokenizer, questions[:24]), explorers.next_characters(corpus.tokenizer)]
recipe = TrainConfig(steps=300, batch_size=64, lr_other=0.03)  # lr_other: AdamW's highest learning rate
torch.manual_seed(0)
model = build("v1", ModelConfig(V, block_size=192, n_embd=64))
run = live.train(model, NextToken(corpus, 64), recipe, "v1", watches=watches)

# %% [markdown]
# v1 predicts the next character from the present one, and sees no other. The matrix shows all that it knows: a row for each present character, a column for each next one, and the darker a cell, the more probable its character. Point at a cell to read it, then drag the timeline to 0 and slowly back. The rows begin alike, and soon *q* has one dark cell, in the column of *u*, because in the tales *u* always follows *q*.
#
# In the case of [lesson 00](00_start_here.ipynb) v4 paid for a vowel about as much as a guess among five costs. Does it recall nothing of the vowel, or a part? v1 certainly recalls nothing, because it never sees the story. So at the end of this lesson we compare what v1 and v4 pay for each letter of a name, and test *it recalls the vowel only in part*. You will be able to
#
# 1. compute by hand what such a model predicts, and what one step of training changes,
# 2. compute the lowest loss that it can reach,
# 3. say on what its answers can depend, and on what they cannot,
# 4. test whether another model recalls something in part.

# %%
import math

import matplotlib.pyplot as plt
import torch.nn.functional as F
from torch import Tensor

import babygpt_live as live
from babygpt.data import CharTokenizer
from babygpt.data.tales import plain
from babygpt.metrics import role_accuracy
from babygpt.models.language_model import BagOfTokens
from babygpt.tables import Table, source
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_01 as bag_of_tokens
from babygpt_course.predictions import predict, tally
from babygpt_course.studies.results import load_results

# %% [markdown]
# ## From a token to a prediction
#
# How does v1 compute a row? We take an alphabet of four characters: 我 is *I*, 爱 is *love*, 你 is *you*, and the fourth is ！. v1 takes three steps:
#
# 1. **Look up.** Each token has a row in the [embedding](../docs/glossary.md#embedding) table `E`, here of two numbers.
# 2. **Score.** The [output head](../docs/glossary.md#head) has a weight matrix `W` and a bias, which turn the row into one number for each possible next character, its [logit](../docs/glossary.md#logit).
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
# Check one number. The row of 我 in `E` is [0.1, 0.2], and in `W` 爱 has the weights [0, 2], with a bias of 0.1. So the logit of 爱 after 我 is 0.1 · 0 + 0.2 · 2 + 0.1 = 0.5.
#
# Here is the source of the package's v1, in which you can ignore `cache` and `Positions`. The cell after it loads our numbers into this class.

# %%
source(BagOfTokens)

# %%
v1 = build("v1", ModelConfig(toy.vocab_size, block_size=3, n_head=1, n_embd=2))
v1.load_state_dict({"token_embedding.weight": E, "head.weight": W, "head.bias": bias})
assert torch.allclose(v1(love[None])[0], logits)
assert torch.allclose(v1(love.flip(0)[None])[0], logits.flip(0))

# %% [markdown]
# The first check says that our lines compute what v1 computes. In the second one v1 reads the sentence backwards, and the logits after each character stay as they were: they depend on this character alone.
#
# ## Can v1 tell two sentences apart?
#
# 你爱我, *you love me*, has the same three characters as 我爱你, *I love you*, in another order. The probability of a sentence is the product of two probabilities, that of its second character and that of its third.

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
# The numbers differ, because v1 has a probability for each pair of neighbours: 我爱你 consists of the pairs 我爱 and 爱你, and 你爱我 of 你爱 and 爱我. So v1 does not ignore order: it knows which character follows which. But it has no memory, so after 我爱 and after 你爱 it predicts the same next character.
#
# v1 is called a *bag of tokens*, but it sees a single token, the present one. Whatever its weights are, v1 is a table of V × V probabilities, a row for each of its V characters. Such a table is called a [bigram model](../docs/glossary.md#bigram).
#
# ## Counting pairs
#
# We find the best table for a text by counting. The next text says 我爱你 twice and 你爱我 once, so 爱 comes three times: 你 follows it twice, and 我 once. After 爱, the *counted share* of 你 is 2/3.

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
# v1 does not get this table, but begins with random weights and has to find better ones from its [loss](../docs/glossary.md#loss), the mean of −ln p over the pairs of the text. For each weight the [gradient](../docs/glossary.md#gradient) says how fast the loss grows if this weight grows. A training step moves every weight against its gradient, so that the loss falls, and the [learning rate](../docs/glossary.md#learning-rate) says how far:
#
# $$\text{new weight} = \text{weight} - \text{learning rate} \cdot \text{gradient}.$$
#
# We take the simplest v1: its weights are the 16 logits of the table, and all of them begin at 0. Then every probability is 1/4, and the loss is −ln(1/4) = 1.386. If $b$ comes after $a$, the derivative of $-\ln p_b$ is $p_b - 1$ for the logit of $b$, and $p_c$ for that of any other character $c$. The mean over all pairs is the gradient:
#
# $$\text{gradient} = (\text{share of pairs that begin with } a) \cdot (p - \text{counted share of } b \text{ after } a).$$
#
# PyTorch finds the same numbers with `backward()`. The cell makes one step with a learning rate of 1, and its table shows the four logits after 爱.

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
# The counted share of 你 is 0.667, and p is only 0.25. Three of the twelve pairs begin with 爱, so the gradient is 3/12 · (0.25 − 0.667) = −0.104. A step goes against it and *raises* the logit to 0.104, and p grows a little. The gradient is 0 only where p equals the counted share. So training approaches the table that counting gives, and v1 never counts anything.
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
# With a rate of 0.1 the loss is still high after 100 steps, because each step is too small, and with a rate of 10 it has almost reached the counted table. With a rate of 100 each step jumps over the goal, so the loss rises and stays high.
#
# Real training adds three things. The gradient comes from a [batch](../docs/glossary.md#batch), a random sample of the text, so that a step is quick. An [optimizer](../docs/glossary.md#optimizer), here AdamW, adapts the size of the step to each weight. And [validation](../docs/glossary.md#validation) measures the loss on text that no step has used, because a large model could memorise its training text.
#
# ## How low can v1 go?
#
# A grammar writes the tales, so we know the exact probability $p(b\mid a)$ of each character $b$ after $a$, and the share $p(a,b)$ of each pair. On average over all texts of this grammar, no table has a lower loss than the one with these probabilities. It loses
#
# $$-\sum_{a,b} p(a,b)\,\ln p(b\mid a)$$
#
# nats per character. This number is the [bigram floor](../docs/glossary.md#floor). How near did the v1 of the first cell come?

# %%
share = torch.zeros(V, V, dtype=torch.float64)  # p(a, b)
for (this_one, next_one), n in corpus.grammar.bigrams().items():
    share[ids[this_one], ids[next_one]] = n
share /= share.sum()
exact = share / share.sum(dim=1, keepdim=True)  # p(b | a)
floor = -torch.special.xlogy(share, exact).sum().item()  # 0 ln 0 counts as 0
assert math.isclose(floor, corpus.bigram_floor)
print(f"bigram floor {floor:.2f}, entropy floor {corpus.floor:.2f} nats per character")

# %% tags=["nbval-ignore-output"]
val_loss = run.result()[-1].val_loss
ours = load_results("order")["bags"]["v1, anywhere"]
print(f"your run: {val_loss - floor:+.4f} nats from the bigram floor")
print(f"our {len(ours)} runs: {min(ours):+.4f} to {max(ours):+.4f}")

# %% [markdown]
# All twelve stored runs, each from another seed, end within 0.005 nats of the floor. The entropy floor, the loss of the best reader of whole stories, lies more than 1.5 nats lower. In windows that begin anywhere, a model gets clearly below the *bigram* floor only if it reads what came *before* the present character.
#
# ## Who did it?
#
# Back to the panel of right answers: why do they stay at 50%, although v1 tells 我爱你 from 你爱我? Take a story with invented names, *ada chased ben. who chased ben? ada.*, and its [mirror](../docs/glossary.md#mirror-pair). We ask v1 for the next character after each of the two questions.

# %% tags=["nbval-ignore-output"]
rows = []
for story in ("ada chased ben. who chased ben? ", "ben chased ada. who chased ada? "):
    logits = model(corpus.tokenizer.encode(story)[None])[0, -1].detach()  # after the last space
    p = logits.softmax(dim=-1)
    rows.append((story, f"{p[ids['a']]:.3f}", f"{p[ids['b']]:.3f}", story[0]))
Table(("story", "p of a", "p of b", "right letter"), rows, stable=1)

# %% [markdown]
# Both questions end with a space, and the space is all that v1 sees when it has to name somebody. So it prefers the same letter in both stories, and is right in one of them. **A model that sees one token says the same after a story and after its mirror, so no training brings it above half.** We ask 400 questions, in pairs of story and mirror:

# %%
accuracy = role_accuracy(model, corpus.tokenizer, questions)
print(f"{accuracy:.1%} of {len(questions)} questions")
assert accuracy == 0.5

# %% [markdown]
# ## Does v4 recall a part of the vowel?
#
# What does a model that recalls nothing pay for each letter of a name? The next table has two readers that recall nothing of the story. *v1* is the best table for the plain tales of lesson 00, which sees the letter before and nothing else. *Names alone* also knows that a name is due, and how the 160 names of these tales are made. Below them stands v4, from those 17 of 20 stored runs of 450 steps that know who did it.

# %%
names, pairs = plain().words["name"], plain().bigrams()  # pairs: (a, b) -> how often b comes after a
follows = [[(" " + name)[i : i + 2] for name in names] for i in range(4)]  # the pairs of each letter
n_after = {a: sum(n for (first, _), n in pairs.items() if first == a) for a, _ in pairs}
begins = [len({name[:i] for name in names}) for i in range(5)]  # 1, 16, 80, 160, 160 beginnings of names
stored, v4 = load_results("names"), "v4, plain-tales, 450 steps"
knows = [i for i, share in enumerate(stored["accuracy"][v4]) if share > 0.9]
costs = torch.tensor([stored["letters"][v4][i] for i in knows])[:, :4]  # (seeds, letters)
losses = {
    "v1": [sum(math.log(n_after[a] / pairs[a, b]) for a, b in each) / len(names) for each in follows],
    "names alone": [math.log(begins[i + 1] / begins[i]) for i in range(4)],
    f"v4, mean of {len(knows)} seeds": costs.mean(dim=0).tolist(),
    "v4, lowest of each letter": costs.amin(dim=0).tolist(),
    "v4, highest of each letter": costs.amax(dim=0).tolist(),
}
rows = [(name, *(f"{loss:.2f}" for loss in each)) for name, each in losses.items()]
Table(("nats for the letter", "first", "second", "third", "fourth"), rows, stable=5)

# %% [markdown]
# v1 pays 2.30 nats for the vowel, more than a guess among five. It does not know that it writes a name, so after *k* it expects the *e* of verbs such as *thanked*. The second reader knows this and pays only ln 5 = 1.61, so v4 has to be compared with *names alone*.
#
# The first letter costs v4 almost nothing, so v4 finds it in the story. Seeds differ in the third letter: some know it, and some guess between *l* and *r*. For the second letter v4 pays 1.59 nats on average, and the names alone cost 1.61. A mean may hide a few seeds that recall a part, so we also count the names that v4 writes. If it knows the third letter and guesses the vowel, it should write one name in five, and one in ten if it guesses both.

# %%
numbers = ["none", "1 to 5", "6 to 10", "more than 10"]
vowel_guess = predict(
    "From how many of the 17 seeds does v4 write more than a quarter of the names?", numbers
)
vowel_guess

# %% tags=["answer"]
written = torch.tensor([stored["whole"][v4][i] for i in knows])
guessed = costs[:, 2] > 0.6  # a guess between l and r costs ln 2 = 0.69 nats
fig, ax = plt.subplots(figsize=(8, 3.6))
ax.plot(costs[~guessed, 1], 100 * written[~guessed], "o", color="C0", label="third letter known, or in part")
ax.plot(costs[guessed, 1], 100 * written[guessed], "o", color="C0", mfc="none", label="third letter guessed")
ax.axvline(math.log(5), color="C3", ls="--", label="guess among five")
title, x = "A few seeds pay less for the vowel and write more names", "loss of the second letter (nats)"
live.set_labels(ax, title, x, "names written (%)")
ax.set_ylim(0, 40)
ax.legend(loc="lower left")
plt.show()
many = int((written > 0.25).sum())
vowel_guess.compare(numbers[(many > 0) + (many > 5) + (many > 10)])

# %% [markdown]
# Each mark is a seed, and one that recalls a part of the vowel stands far to the left. Four seeds pay 1.48 to 1.57 nats, clearly less than ln 5 = 1.61. Three of them write 29 to 35% of the names, more than a guess gives. The fourth is the ring on the left: it guesses the third letter and still writes 17%, where two guesses would give 10%.
#
# The next ring is doubtful, because its loss lies between theirs and the rest. The twelve others stand at the dashed line, so their numbers show no part that is recalled.
#
# ## The case
#
# *It recalls the vowel only in part* is true of four seeds after 450 steps, and one is doubtful. It cannot explain the case, because from 12 of 17, v4 pays what a guess among five costs, and writes about as many names as such a guess. So it is true of a few seeds, and does not explain the usual one: as an explanation of the case we strike it. With the two that lesson 00 struck, six are left. v1 cannot test them, because it never sees a second token.

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
# 2. v1 gives 我爱你 and 你爱我 different probabilities, because their pairs differ, and it predicts the same after 我爱 as after 你爱.
# 3. A training step moves every weight against its gradient, which is 0 where the probability equals the counted share. So training approaches the counted table. For the tales the exact table can be computed, and loses 2.10 nats per character.
# 4. v1 knows exactly half of the answers, because a story and its mirror end with the same character.
# 5. Does v4 recall a part of the vowel? Of 17 seeds four pay clearly less for it than a guess among five, one is doubtful, and twelve pay what a guess costs (450 steps).

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
# **b.** The gradient is (0.3 − 0.2) times a positive number, and a step goes against the gradient. *a* has the sign of the gradient wrong.
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
# **5.** A model pays 1.2 nats for a letter where a guess among five would cost 1.6. What does it know?
#
# - a) nothing about this letter
# - b) a part: it gives the right one of the five more than a fifth
# - c) the letter, in 1.2 of 1.6 cases
#
# <details><summary>Answer</summary>
#
# **b.** A loss of 1.2 nats is that of a probability of $e^{-1.2} = 0.3$, and a guess among five gives 0.2. *c* is tempting, but a ratio of losses is no share of cases.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Source note 004, which introduces v1, says that v1 cannot tell 我爱你 from 你爱我, because both consist of the same three vectors. The conclusion goes too far: the probabilities of the two sentences differ, and only the next prediction after 我爱 and after 你爱 is the same. The next cell measures this claim and one more, and [the page of note 004](../docs/notes/004.md) has all of them.

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
# Source note 004 gives each position a learned vector, and adds it to the vector of the token. What can such a model know about the next letter of a name, and what not? → [02 · Learned positions](02_learned_positions.ipynb)
