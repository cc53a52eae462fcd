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
# Our first model, **v1**, predicts the next character from the present one alone. It has no position encoding, and no token sees another. Every later model adds something to v1, so we first find out exactly what it can do. You will
#
# 1. compute v1's output by hand, and find that v1 is a table of pairs,
# 2. make one training step by hand,
# 3. compute the lowest loss that v1 can reach, and watch a v1 get there,
# 4. see why v1 answers exactly half of all questions about order.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 15 seconds to run on two cores, about 25 minutes to read and guess; the exercises about 28 more, and 20 for those marked *stretch*.

# %%
import math
from itertools import pairwise

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F
from torch import Tensor

from babygpt import ModelConfig, NextToken, TrainConfig, build, invariants, live, load_corpus, plots
from babygpt.data import CharTokenizer
from babygpt.metrics import role_accuracy
from babygpt.models.language_model import BagOfTokens
from babygpt.sampling import generate
from babygpt.tables import Table, source
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_01 as bag_of_tokens
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
# A row is the present character, a column is the next one; • is a space, ↵ a line end. Bright cells are probable. Find the row of *q*: it has one bright cell, in the column of *u*.
#
# ## From a token to a prediction
#
# We follow the numbers with four characters only. 我爱你 means *I love you*: 我 is *I*, 爱 is *love*, 你 is *you*. v1 takes three steps.
#
# 1. **Look up.** Each token has a row in the [embedding](../docs/glossary.md#embedding) table `E`, here two numbers.
# 2. **Score.** The [output head](../docs/glossary.md#head) `W` with its bias turns this row into one number for each candidate, its [logit](../docs/glossary.md#logit).
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
# Check one number: 我 has the row [0.1, 0.2], and 爱 has the weights [0, 2] and the bias 0.1. The logit of 爱 after 我 is 0.1 · 0 + 0.2 · 2 + 0.1 = 0.5.
#
# The package's v1 has the same parts. Here is its source; then we load our numbers into it and compare.

# %%
source(BagOfTokens)

# %%
v1 = build("v1", ModelConfig(toy.vocab_size, block_size=3, n_head=1, n_embd=2))
v1.load_state_dict({"token_embedding.weight": E, "head.weight": W, "head.bias": bias})
assert torch.allclose(v1(love[None])[0], logits)
assert torch.allclose(v1(love.flip(0)[None])[0], logits.flip(0))

# %% [markdown]
# Both checks pass. The first says that our lines compute what v1 computes. The second reads the sentence backwards: the rows of logits come in reverse, and no number changes. A row depends on its own token and on nothing else.
#
# ## Can v1 tell two sentences apart?
#
# 你爱我, *you love me*, has the same three characters in another order. The source note on v1 says that v1 cannot tell the two sentences apart. A model gives a sentence a probability. We multiply p(second after first) by p(third after second), and so on.

# %%
reasons = [
    "no: both hold the same three characters",
    "yes: each step from character to character has its own probability",
    "yes: the probabilities after a character depend on its position",
]
apart_guess = live.predict("v1 says how probable 我爱你 and 你爱我 are. Can the two numbers differ?", reasons)
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
# The numbers differ because the steps differ: one sentence contains the pairs 我爱 and 爱你, the other 你爱 and 爱我. What v1 lacks is memory. **After 我爱 and after 你爱 it predicts the same next character**, because it sees only 爱.
#
# There are as many different rows of probabilities as characters, so we can write them all down. Whatever its weights, **v1 is a table of V × V probabilities**. This is a [bigram model](../docs/glossary.md#bigram), much older than GPT. The note calls v1 a *bag of tokens*. Elsewhere a *bag of words* is a model that ignores order. v1 does use the order inside a pair; everything before the present character is lost.
#
# ## Counting pairs
#
# We can fill such a table without training. This text says 我爱你 twice and 你爱我 once. Count along: 我 is followed by 爱 twice, and by ！ once.

# %%
text = toy.encode("！我爱你！我爱你！你爱我！")
this, following = text[:-1], text[1:]  # 12 pairs
counts = torch.zeros(4, 4)
for a, b in zip(this, following, strict=True):
    counts[a, b] += 1
table = counts / counts.sum(dim=1, keepdim=True)
rows = [(toy.characters[i], *(f"{x:.2f}" for x in row)) for i, row in enumerate(table.tolist())]
Table(("after … comes", *toy.characters), rows, stable=5)

# %%
ratio_guess = live.predict(
    "The text says 我爱你 twice as often as 你爱我. In this table, how many times as probable is it?",
    low=0,
    high=30,
    unit="times",
    near=1,
)
ratio_guess

# %% tags=["answer"]
found = {}
for sentence in ("我爱你", "你爱我"):  # with an exclamation mark before and after
    pairs = pairwise(toy.encode(f"！{sentence}！").tolist())
    found[sentence] = math.prod(table[pair].item() for pair in pairs)
    print(f"{sentence}: {found[sentence] * 81:.0f} / 81")
ratio_guess.compare(found["我爱你"] / found["你爱我"])

# %% [markdown]
# Each of the four pairs in ！我爱你！ is twice as probable as its counterpart in ！你爱我！, and 2 · 2 · 2 · 2 = 16. The two sentences are the whole text. Yet together they get only 17/81 of the probability. The rest goes to strings such as 我！ and 我爱我！, which nobody wrote. The table knows pairs, and not sentences.
#
# The table also contains zeros. If a new text holds a pair that was never counted, its loss is −ln 0, which is infinite. People therefore add a small number to every count; this is called *smoothing*. A softmax never gives 0, so v1 needs no smoothing.
#
# Can v1 represent every table that has no zeros? Yes, V channels are enough: let `E` be the identity matrix and `W` hold the logarithms. With D channels the product `E @ W.T` has rank D at most. So with many fewer than V channels most tables are out of reach. The last exercise is about this case.
#
# ## One training step by hand
#
# v1 does not get this table; it must learn it. Its weights begin as random numbers, and all we can compute is how bad they are: the [loss](../docs/glossary.md#loss), the mean of −ln p over all pairs of a text. The [gradient](../docs/glossary.md#gradient) says how fast the loss changes with each weight. **A training step moves every weight against its gradient.** The [learning rate](../docs/glossary.md#learning-rate) says how far.
#
# We take the simplest v1, a table of 16 logits, all 0. Every probability is 1/4, and the loss is ln 4 = 1.386. For a table of logits $z$ the chain rule gives a short formula,
#
# $$\frac{\partial\,\text{loss}}{\partial z_{ab}} = \frac{n_a}{N}\,\bigl(p_{ab} - \text{counted share}_{ab}\bigr),$$
#
# where $p_{ab}$ is the probability of $b$ after $a$, and $n_a$ of the $N$ pairs begin with $a$. PyTorch finds the same numbers with `backward()`.

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
# Read the line of 你. It follows 爱 in two of three cases, and p is only 0.25. The gradient is 3/12 · (0.25 − 0.667) = −0.104, so the step *raises* the logit by 0.104, and p grows a little.
#
# The gradient is 0 where p equals the counted share. **Training therefore approaches the table that counting gives**, although it never counts. This is the *maximum-likelihood* solution.

# %%
effects = ["it falls 100 times as far", "it falls at once to the loss of the counted table", "it rises"]
rate_guess = live.predict("One step at a learning rate of 100 instead of 1: what does the loss do?", effects)
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
# A rate of 0.1 is slow, and 10 soon reaches the loss of the counted table. At 100 each step jumps over the goal and lands on the other side, so the loss stays high.
#
# Real training adds four things. A [batch](../docs/glossary.md#batch): the gradient comes from a random sample of the text. An [optimizer](../docs/glossary.md#optimizer), here AdamW: it averages the latest gradients and scales the step of each weight. A schedule: the learning rate falls during the run. And [validation](../docs/glossary.md#validation): we measure the loss on text that no step has seen, since a large model could memorise its training text.
#
# ## How low can v1 go?
#
# For v1 the best next-character probabilities on the tales are those of the first picture, $p(b\mid a)$. No training can bring v1 below their expected loss,
#
# $$H(\text{next}\mid\text{this}) = -\sum_{a,b} p(a,b)\,\ln p(b\mid a).$$
#
# Our grammar knows the expected share $p(a,b)$ of every pair, so we can compute this [floor](../docs/glossary.md#floor) exactly.

# %%
share = expected / expected.sum()  # p(a, b)
floor = -torch.special.xlogy(share, exact).sum().item()  # 0 ln 0 counts as 0
assert math.isclose(floor, corpus.bigram_floor)
print(f"bigram floor {floor:.2f}, entropy floor {corpus.floor:.2f} nats per character")

# %% [markdown]
# ## Watch it learn
#
# We train a v1 with 64 [channels](../docs/glossary.md#channel) for 300 steps. The dashboard shows its **loss** with both floors, its **right answers** to 24 questions about order, and its **table**.
#
# For the second guess: in the tales a space always follows a question mark, and *u* always follows *q*.

# %%
ends = ["more than 0.02 nats above the bigram floor", "on it, within 0.02", "more than 0.02 below it"]
end_guess = live.predict("Where will v1's loss end?", ends)
firsts = ["the space after a question mark", "the u after a q", "both at the same step"]
first_guess = live.predict("Which of these two certain pairs will v1 learn first?", firsts)
display(end_guess, first_guess)

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
ours = [x for study in ("order", "fresh/order") for x in load_results(study)["bags"]["v1, anywhere"]]
print(f"your run: {val_loss - floor:+.3f} nats from the bigram floor")
print(f"our {len(ours)} runs: {min(ours):+.3f} to {max(ours):+.3f}")
end_guess.compare(ends[0 if val_loss - floor > 0.02 else 2 if val_loss - floor < -0.02 else 1])

# %% [markdown]
# The loss falls to the floor and stays there. Our twelve runs, each from another seed, ended within 0.01 nats of it. The right answers stay at 12 of 24 from the first look to the last; we shall see why. The gap between the two floors, more than 1.5 nats, is knowledge of what came *before* the present character.
#
# Drag *replay* to 0 and slowly forward: when does each pair become certain? The run keeps all its pictures:

# %% tags=["answer", "nbval-ignore-output"]
rows, learnt = [], {}
for pair in ("? ", "qu", "xe"):
    a, b = corpus.tokenizer.encode(pair).tolist()
    sure = (step for step, frame in run.frames[table_now] if frame[a, b] > 0.9)
    learnt[pair] = next(sure, math.inf)  # inf: not before the run ended
    in_a_batch = share[a].sum().item() * recipe.batch_size * 64
    rows.append(("".join(plots.visible(pair)), f"{in_a_batch:.1f}", str(learnt[pair])))
display(Table(("certain pair", "times in a batch", "p above 0.9 after step"), rows, stable=2))
sooner = learnt["? "] - learnt["qu"]
first_guess.compare(firsts[0 if sooner < 0 else 1 if sooner > 0 else 2])

# %% [markdown]
# The three pairs are equally certain, but v1 meets them at different rates. A batch holds about fifty question marks, one *q*, and every third or fourth batch holds an *x*. What v1 rarely meets, it learns late. The loss hardly shows this, because rare pairs contribute little to a mean.
#
# ## How exact is a validation loss?
#
# The validation text is a sample. Another sample would give a slightly different loss. The [standard error](../docs/glossary.md#standard-error) says by how much, typically. We cut the text into 100 blocks, take the loss of each, and divide their standard deviation by √100.

# %% tags=["nbval-ignore-output"]
losses = {"exact table": -exact[corpus.val[:-1], corpus.val[1:]].log()}  # one loss for each character
learned_table = model(torch.arange(V)[None])[0].log_softmax(dim=-1).detach().double()
losses["your v1"] = -learned_table[corpus.val[:-1], corpus.val[1:]]
losses["difference"] = losses["your v1"] - losses["exact table"]
for name, each in losses.items():
    blocks = each[: len(each) // 100 * 100].view(100, -1).mean(dim=1)
    print(f"{name}: {blocks.mean():.4f} ± {blocks.std() / 100**0.5:.4f} nats per character")

# %% [markdown]
# On this sample even the exact table has 2.104 ± 0.003, and not its floor of 2.101. That is one standard error above the floor, so it may well be chance. The *difference* between two models has a much smaller standard error, because both meet the same easy and hard blocks. This is why we compare models on the same text. The difference is the price of v1's slightly wrong probabilities, the [KL divergence](../docs/glossary.md#kl).
#
# ## Who did it?
#
# Now one story: *ada chased ben. who chased ben? ada.* We ask v1 for the next character after the question, in the story and in its [mirror](../docs/glossary.md#mirror-pair), where the two names are exchanged.

# %% tags=["nbval-ignore-output"]
rows = []
for story in ("ada chased ben. who chased ben? ", "ben chased ada. who chased ada? "):
    logits = model(corpus.tokenizer.encode(story)[None])[0, -1].detach()  # after the last space
    a, b = logits[ids["a"]], logits[ids["b"]]
    p = logits.softmax(dim=-1)
    rows.append((story, f"{a:.2f}", f"{b:.2f}", f"{p[ids['a']]:.3f}", f"{p[ids['b']]:.3f}", story[0]))
Table(("story", "logit of a", "logit of b", "p of a", "p of b", "right"), rows, stable=1)

# %% [markdown]
# Both questions end with a space, and v1 sees only that space. The two lines hold the same numbers, so v1 prefers *a* in both. Once it is right, once wrong. Whole names are compared in the same way.

# %%
accuracy = role_accuracy(model, corpus.tokenizer, questions)
print(f"{accuracy:.1%} of {len(questions)} questions")
assert accuracy == 0.5

# %% [markdown]
# **Exactly 50%, without any luck.** This is why our questions come in pairs: 50% means *no knowledge of order*.
#
# ## And with two letters?
#
# The next idea is a *trigram* table: a row for each *two* last characters. Our grammar gives exact numbers for pairs only, so we count in the training text, add 0.1 to each count, and measure on the validation text.

# %%
gain_guess = live.predict(
    "A bigram table scores 2.10 nats per character. What does a trigram table score?",
    low=0.4,
    high=2.1,
    unit="nats",
    near=0.15,
)
gain_guess

# %% tags=["answer"]
rows = []
for n in (1, 2, 3):  # characters that the table sees
    powers = V ** torch.arange(n, -1, -1)  # n + 1 characters as one number, in base V
    seen, held = (part.unfold(0, n + 1, 1) @ powers for part in (corpus.train, corpus.val))
    smoothed = torch.bincount(seen, minlength=V ** (n + 1)).view(-1, V) + 0.1
    probabilities = smoothed / smoothed.sum(dim=1, keepdim=True)
    rows.append((str(n), f"{V ** (n + 1):,}", f"{-probabilities.flatten()[held].log().mean():.2f}"))
display(Table(("characters seen", "size of the table", "loss (nats per character)"), rows, stable=3))
gain_guess.compare(float(rows[1][2]))

# %% [markdown]
# One more letter gains more than half a nat, and a third one 0.4 more. But each letter makes the table 30 times as large. And no trigram table knows who did it: every question ends with a question mark and a space, so it is right exactly half of the time. A model has to look further back without a table of everything: attention, lesson 03a.
#
# ## What v1 writes and what it guarantees
#
# To write, we draw each character from the row of the one before.

# %% tags=["nbval-ignore-output"]
start = corpus.tokenizer.encode("\n")[None]
written = generate(model, start, n_tokens=160, generator=torch.Generator().manual_seed(0))
print(corpus.tokenizer.decode(written[0]).strip())

# %% [markdown]
# Every pair is possible, and hardly any word is real.
#
# The last panel measures [promises](../docs/glossary.md#promise), properties that a model keeps on any text. The first two lines are v1's limits; later models must *break* them. The last line is an advantage: v1 has no idea of position, so no position is new to it. It reads texts of any length.

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
live.tally()

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
# 1. v1 is a bigram model: whatever its weights, it is a table with a row for each present character and a column for each next one.
# 2. It gives 我爱你 and 你爱我 different probabilities, because their pairs differ, but it predicts the same after 我爱 as after 你爱.
# 3. The lowest loss of any v1 can be computed without training: 2.10 nats per character on the tales. From each of twelve seeds, 300 steps on random pieces of the text ended within 0.01 nats of it.
# 4. A training step moves every weight against its gradient. In our run a pair that came often was learnt before equally certain pairs that came seldom, and the loss hardly showed it.
# 5. v1 answers exactly half of the mirror questions right, because both names get the same two numbers in a story and in its mirror.

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
# **a.** The same preference is right in one of the two and wrong in the other. With *b*, 400 random guesses would seldom give exactly 200. And *c* is not the reason: the untrained v1 has 50% too.
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
# **b.** The gradient is 0.3 − 0.2 times a positive number, and a step goes against the gradient. It is 0 only where p equals the counted share. *a* has the sign of the gradient wrong.
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
# **c.** Then each row of the table has one probability that may approach 1. It never is 1, because no softmax of finite logits is. Against *a*: v1's table has no room to memorise a text.
#
# </details>
#
# **5.** Our v1 ended a few thousandths above the floor. What would ten times as many channels do?
#
# - a) next to nothing: 64 channels can already come as near as you like to any table of 30 characters
# - b) bring the loss down to the entropy floor
# - c) let v1 see further back
#
# <details><summary>Answer</summary>
#
# **a.** The floor belongs to the best possible table. *b* is tempting, but between the two floors lies what came *before* the present character, and no width shows that to v1.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# The course is built on source notes; note 004 introduces v1. It says that v1 cannot tell 我爱你 from 你爱我, because both consist of the same three vectors. The vectors are the same, as the second line below confirms. The conclusion goes too far: the probabilities of the sentences differ, and only the next prediction after 我爱 and 你爱 is the same. The note also counts V·D + D·V parameters and forgets the V numbers of the head's bias.
#
# The cell measures these claims again; `docs/notes/004.md` has all of them.

# %% tags=["nbval-ignore-output"]
claims = [
    "v1 cannot tell 我爱你 from 你爱我",
    "in v1 a character has the same code at every position",
    "v1 has VD + DV parameters, v2 VD + TD + DV",
]
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
# The note's remedy is to give each position a learned vector and add it to the token's. Can that replace a memory? → [02 · Learned positions](02_learned_positions.ipynb)
