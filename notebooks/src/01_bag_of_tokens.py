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
# **What can a model know that sees one token at a time?**
#
# 我爱你 means *I love you*, and 你爱我 *you love me*: 我 is *I*, 爱 *love*, 你 *you*. Three characters, the same three, and a world of difference. Our first model, **v1**, has no idea of position at all. Each token looks only at itself and votes for the next one. The source note that introduces v1 says that it *cannot tell these two sentences apart*. That sounds plausible. Let us see whether it is true.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 15 seconds to run on two cores, about 29 minutes to read and guess; the exercises about 28 more, and 20 for those marked *stretch*.

# %%
import math
from collections import Counter
from itertools import pairwise

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from babygpt import ModelConfig, NextToken, TrainConfig, build, invariants, live, load_corpus, plots
from babygpt.data import CharTokenizer
from babygpt.metrics import answer_log_probs, role_accuracy
from babygpt.models.language_model import BagOfTokens
from babygpt.sampling import generate
from babygpt.tables import Table, source
from babygpt.training import train
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_01 as bag_of_tokens

# %% [markdown]
# ## A table small enough to check by hand
#
# The note works with a vocabulary of four characters and vectors of two numbers, so that you can follow with a finger. To [*embed*](../docs/glossary.md#embedding) a sentence is to look up one row for each of its characters.

# %%
plots.set_style()
toy = CharTokenizer("我爱你！")
E = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])  # (V, D) = (4, 2)
for sentence in ("我爱你", "你爱我"):
    codes = E[toy.encode(sentence)]  # (T, D) = (3, 2)
    print(sentence, [[round(x, 1) for x in row] for row in codes.tolist()])

# %% [markdown]
# The same three rows, in another order: 我 is `[0.1, 0.2]` wherever it stands. This is where the name *bag of tokens* comes from.
#
# v1 then multiplies each row by a second matrix, the [**head**](../docs/glossary.md#head), and adds a bias. That gives one score, a [*logit*](../docs/glossary.md#logit), for each candidate. Nothing else happens between input and output.

# %%
W = torch.tensor([[1.0, -1.0], [0.0, 2.0], [-1.0, 1.0], [2.0, 0.0]])  # (V, D), any numbers will do
bias = torch.tensor([0.0, 0.1, 0.2, 0.3])
love = toy.encode("我爱你")
logits = E[love] @ W.T + bias  # (T, V) = (3, 4)

# %% [markdown]
# The package's v1 has the same three ingredients. Here is its source, as it stands in its file; then we hand it our numbers and compare.

# %%
source(BagOfTokens)

# %%
v1 = build("v1", ModelConfig(toy.vocab_size, block_size=3, n_head=1, n_embd=2))
weights = {"token_embedding.weight": E, "head.weight": W, "head.bias": bias}
v1.load_state_dict(weights)
assert torch.allclose(v1(love[None])[0], logits)
assert torch.allclose(v1(love.flip(0)[None])[0], logits.flip(0))

# %% [markdown]
# Both assertions hold: our three lines *are* v1, and reading the sentence backwards only reverses the rows of logits. A row depends on its own token and on nothing else.

# %% [markdown]
# ## The question
#
# So what becomes of the note's sentence, that v1 cannot tell 我爱你 from 你爱我? A [softmax](../docs/glossary.md#softmax) of each row gives a probability for each next character, and the product along the steps that of a sentence, once its first character stands there.

# %%
reasons = [
    "no: both hold the same three characters",
    "yes: each step from character to character has its own probability",
    "yes: it matters at which place a character stands",
]
apart_guess = live.predict("v1 says how probable 我爱你 and 你爱我 are. Can the two numbers differ?", reasons)
apart_guess

# %% [markdown]
# We ask our v1. The last lines look at whether a character's row changes with its place.

# %% tags=["answer"]
probability = {}
for sentence in ("我爱你", "你爱我"):
    ids = toy.encode(sentence)
    steps = v1(ids[None])[0].softmax(dim=-1)  # (T, V)
    probability[sentence] = math.prod(steps[t, ids[t + 1]].item() for t in range(2))
    print(f"{sentence}: {probability[sentence]:.4f}")
differ = not math.isclose(*probability.values(), rel_tol=1e-4)
by_place = not torch.allclose(v1(love.flip(0)[None])[0].flip(0), logits)
apart_guess.compare(reasons[0 if not differ else 2 if by_place else 1])

# %%
assert differ
assert not by_place

# %% [markdown]
# 我爱 and 爱你 are other steps than 你爱 and 爱我, and each has a probability of its own. **In this sense the note's claim is false.** Both sentences are made of the same three codes, and yet v1 tells them apart.
#
# Since a row depends on its own token only, there are only as many different rows as there are tokens! We can write them all down once and for all: one row for each token we may be at, one column for each token that may follow. Whatever happens inside, **v1 is a table of V × V numbers**. Such a table has a name that is much older than GPT: a [**bigram model**](../docs/glossary.md#bigram).

# %% [markdown]
# ## Counting pairs
#
# A bigram table can also be filled without any training: count which character follows which. Our toy text says 我爱你 twice and 你爱我 once. Count along with your finger: 我 is followed by 爱 twice, and by the exclamation mark once.

# %%
text = "！我爱你！我爱你！你爱我！"
counts = torch.zeros(4, 4)
for (this, following), n in Counter(pairwise(toy.encode(text).tolist())).items():
    counts[this, following] = n
table = counts / counts.sum(dim=1, keepdim=True)  # rows sum to 1
rows = [(toy.characters[i], *(f"{p:.2f}" for p in row)) for i, row in enumerate(table.tolist())]
Table(("after … comes", *toy.characters), rows, stable=5)

# %% [markdown]
# A sentence's probability is again the product along its pairs, now with the exclamation marks at both ends.

# %%
ratio_guess = live.predict(
    "How many times as probable as 你爱我 is 我爱你, which the text says twice as often, in the bigram table?",
    low=0,
    high=30,
    unit="times",
    near=1,
)
ratio_guess

# %% tags=["answer"]
p = {}
for sentence in ("我爱你", "你爱我"):
    ids = toy.encode(f"！{sentence}！").tolist()
    p[sentence] = math.prod(table[pair].item() for pair in pairwise(ids))
    print(f"{sentence}: {p[sentence] * 81:.0f} / 81")
ratio_guess.compare(p["我爱你"] / p["你爱我"])

# %% [markdown]
# Sixteen to one: each of the four pairs on the way is twice as probable. Yet the truth is two to one, and together the two sentences hold all of the text, but the table gives them only 17 of 81 parts. The rest goes to things never said, such as 我！ and 我爱我！. The table sees each step and never the walk. Here is the sentence that is true of v1: **after 爱 it says the same, whoever stood before 爱.**
#
# Is a v1 free to become this very table? Yes. Give it as many channels as tokens, let each token's row be its own unit vector, and let the head hold the logarithms:

# %%
by_counting = build("v1", ModelConfig(toy.vocab_size, block_size=3, n_head=1, n_embd=4))
log_table = table.clamp(min=1e-30).log()
weights = {"token_embedding.weight": torch.eye(4), "head.weight": log_table.T}
by_counting.load_state_dict(weights | {"head.bias": torch.zeros(4)})
assert torch.allclose(by_counting(torch.arange(4)[None])[0].softmax(dim=-1), table)

# %% [markdown]
# ## How low can v1 go?
#
# Now the real text, the tales. If v1 is a bigram model, then no training, however long, can bring it below
#
# $$H(\text{next}\mid\text{this}) = -\sum_{a,b} p(a,b)\,\ln p(b\mid a),$$
#
# the surprise that is left in the next character when the present one is all you know. For found text one would have to estimate this. Our grammar knows the expected number of every pair exactly, so it knows the [floor](../docs/glossary.md#floor) as well.

# %%
corpus = load_corpus("tales")
vocab_size = corpus.tokenizer.vocab_size
exact = torch.zeros(vocab_size, vocab_size, dtype=torch.float64)
for pair, n in corpus.grammar.bigrams().items():
    exact[tuple(corpus.tokenizer.encode("".join(pair)))] = n
share = exact.sum(dim=1) / exact.sum()  # how often each character stands in the text
exact /= exact.sum(dim=1, keepdim=True)

# %%
surprise = -torch.special.xlogy(exact, exact).sum(dim=1)  # nats, after each character
floor = (share * surprise).sum().item()
assert math.isclose(floor, corpus.bigram_floor)
print(f"bigram floor {floor:.2f}, entropy floor {corpus.floor:.2f} nats per character")

# %% [markdown]
# ## Watch it learn
#
# Now we train v1, and the lab lets us watch. It draws three panels: the **loss**, with both floors; the share of **right answers** to two dozen questions, *who did it?*, each beside its mirror as in notebook 00; and v1's whole **table**, read out of the model again and again. A row of it is for the present character, a column for the next, and brighter means more probable.
#
# v1 begins as noise, with 64 [channels](../docs/glossary.md#channel), and takes 300 steps. It knows nothing of counting. Three guesses, before it starts; for the last one you need to know that in the tales a space *always* stands after a question mark, and a *u* always after a *q*.

# %%
ends = ["more than 0.02 nats above the bigram floor", "on it, within 0.02", "more than 0.02 below it"]
end_guess = live.predict("Where will v1's loss end?", ends)
ways = ["they rise as the loss falls", "they wander about 12", "they stand at 12 from first to last"]
way_guess = live.predict("What will v1's right answers to 24 questions do while it learns?", ways)
firsts = ["the space after a question mark", "the u after a q", "both at the same step"]
first_guess = live.predict("Which certainty will v1 learn first?", firsts)
display(end_guess, way_guess, first_guess)

# %%
shape = ModelConfig(vocab_size, block_size=192, n_embd=64)
recipe = TrainConfig(steps=300, batch_size=64, lr_other=0.03)
floors = {"bigram floor": floor, "entropy floor": corpus.floor}
questions = corpus.grammar.questions(400, seed=2, max_chars=shape.block_size)
roles, table_now = live.roles(corpus.tokenizer, questions[:24]), live.next_characters(corpus.tokenizer)

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(0)
model = build("v1", shape)
run = live.train(model, NextToken(corpus, 64), recipe, "v1", floors, [roles, table_now])

# %% [markdown]
# The training goes on in the background, and the page stays yours. Press *pause* and *resume*, if you like; all of it takes a few seconds at most. (For more time, write `steps=1000` into the recipe and run the two cells above again. *stop* ends a run for good, and what follows here wants a finished one.) The next cell waits for the end and hands over the records; the dashboard above keeps its last picture.

# %% tags=["answer", "nbval-ignore-output"]
history = run.result()
val_loss = history[-1].val_loss
print(f"v1 ends {val_loss - floor:+.3f} nats per character from the bigram floor")
end_guess.compare(ends[0 if val_loss - floor > 0.02 else 2 if val_loss - floor < -0.02 else 1])

# %% tags=["answer", "nbval-ignore-output"]
right_share = [found for _, found in run.frames[roles]]  # of the 24, at each look
rises = right_share[-1] - right_share[0] > 0.1
way_guess.compare(ways[0 if rises else 2 if max(right_share) - min(right_share) < 0.01 else 1])

# %% [markdown]
# What the slider *replay*, under the dashboard's buttons, shows is kept in `run.frames`. So we can look up when v1 first gave a pair nine parts of ten; for *e* after *x*, which is as certain, as well.

# %% tags=["answer", "nbval-ignore-output"]
rows, learnt = [], {}
for pair in ("? ", "qu", "xe"):
    this, following = corpus.tokenizer.encode(pair).tolist()
    sure_steps = (step for step, found in run.frames[table_now] if found[this, following] > 0.9)
    learnt[pair] = next(sure_steps, math.inf)  # inf: not before the run ended
    in_a_batch = share[this].item() * recipe.batch_size * 64
    rows.append(("".join(plots.visible(pair)), f"{in_a_batch:.1f}", str(learnt[pair])))
Table(("certain pair", "times in a batch", "learnt after step"), rows, stable=2)

# %% tags=["answer", "nbval-ignore-output"]
sooner = learnt["? "] - learnt["qu"]
first_guess.compare(firsts[0 if sooner < 0 else 1 if sooner > 0 else 2])

# %% tags=["nbval-ignore-output"]
assert max(abs(found - 0.5) for found in right_share) < 0.01
assert all(exact[tuple(corpus.tokenizer.encode(pair))] == 1 for pair in learnt)

# %% [markdown]
# The loss lands on the floor and stays there. And the curve of right answers is no curve at all: while the loss falls by more than a nat, the number of right answers is 12 of 24 at every look, from the noise before the first step to the end. **Exactly 50%**, never one more, never one less. (Why v1 cannot even be unlucky is told below, under *Who did it?*)
#
# Now drag *replay* back to 0 and slowly forward again. First there is noise. Then, within some fifteen steps, whole columns light up, the space and the vowels, and the space after the question mark is almost as bright as can be. And the *u* after *q*?
#
# Three equal certainties, and they are not learnt at the same time. A [batch](../docs/glossary.md#batch) holds some fifty question marks, about one *q*, and about one batch in four holds an *x*. v1 learns from what it meets, and what it seldom meets comes late. The loss hardly shows it, and for the same reason: what is rare is cheap to get wrong.
#
# And the last few thousandths above the floor? They are partly luck, since the validation text is a sample and even the exact table does not score exactly the floor on it, and partly the wrong probabilities of a short training, whose price is called [KL](../docs/glossary.md#kl). The next cell tells them apart. Everything between the two floors, more than a nat and a half, is knowledge of what came *before* the present character, and closed to v1 for ever.

# %% tags=["nbval-ignore-output"]
on_val = -exact[corpus.val[:-1], corpus.val[1:]].log().mean().item()
print(f"on this text: exact table {on_val:.3f}, trained v1 {val_loss:.3f}; floor {floor:.3f}")

# %% [markdown]
# ## Three tables, one content
#
# Let us look inside. We have three tables for the same thing: the **exact** one from the grammar, one **counted** in the training text, and the one that gradient descent has **trained** into v1, having never counted anything. We measure how much probability sits on the wrong character, averaged over the text: 0 means identical, 1 means nothing in common.

# %%
seen = corpus.train
counted = torch.zeros_like(exact)
counted.index_put_((seen[:-1], seen[1:]), torch.ones((), dtype=torch.float64), accumulate=True)
counted /= counted.sum(dim=1, keepdim=True)
trained = model(torch.arange(vocab_size)[None])[0].softmax(dim=-1).detach().double()
off = {
    name: (share * (found - exact).abs().sum(dim=1) / 2).sum().item()
    for name, found in (("counted", counted), ("trained", trained))
}
assert off["counted"] < 0.05

# %% tags=["nbval-ignore-output"]
fig, (left, right) = plt.subplots(1, 2, figsize=(12, 5))
marks = plots.visible(corpus.tokenizer.characters)
left_title = f"The exact table: about {math.exp(floor):.0f} of {vocab_size} characters in question"
right_title = f"After training: {off['trained']:.0%} of the probability stands elsewhere"
for ax, title, what in ((left, left_title, exact), (right, right_title, trained)):
    plots.draw_matrix(ax, what.numpy(), title, "next character", "this character", marks)
for bar in fig.axes[2:]:
    bar.set_ylabel("probability")
plt.show()

# %% [markdown]
# Read a row of the picture: after a space (•) many letters may come; after a question mark, always a space. Find a bright pair of letters, and guess which words it comes from. It is all that v1 knows, and it is all that can be known without looking back.

# %% [markdown]
# ## Who did it?
#
# Back to the line that would not move. v1 is asked for a name, right after a question mark and a space, and of two dozen questions it always answered half. Was that a whim of so small a number? We ask all 400 questions, each beside its [mirror](../docs/glossary.md#mirror-pair).

# %%
accuracy = role_accuracy(model, corpus.tokenizer, questions)
print(f"{accuracy:.1%}")
assert 0.45 <= accuracy <= 0.55

# %% [markdown]
# Not about 50%: exactly. The logarithms that v1 gives to both names show why.

# %%
for question in questions[:2]:
    right, wrong = answer_log_probs(model, corpus.tokenizer, [question])[0]
    print(question.prompt.strip(), f"{question.answer} {right:.2f}, {question.rival} {wrong:.2f}")

# %% [markdown]
# The two names get the same two numbers in both stories, since both prompts end with the same character, and v1 sees no more than that. It likes one name better, always. In one story of each pair this happens to be right; in the mirror it is wrong. One of two, in every pair: **50%, without any luck**. This is why the questions come in pairs, and why 50% here means *no knowledge of order*, and not *a bad day*.
#
# Chinese is no different. We train another v1, on Chinese tales, and ask it what comes after 我爱 and after 你爱.

# %%
torch.manual_seed(0)
zh = load_corpus("tales-zh", n_chars=500_000)
v1_zh = build("v1", ModelConfig(zh.tokenizer.vocab_size, block_size=64, n_embd=64))
for _ in train(v1_zh, NextToken(zh, 32), recipe):
    pass
one, other = (v1_zh(zh.tokenizer.encode(s)[None])[0, -1] for s in ("我爱", "你爱"))
assert torch.allclose(one, other)

# %% [markdown]
# The same logits. In the tales nobody loves themselves, so after 我爱 no 我 can follow; v1 has forgotten whom it met. Its answers to 400 Chinese questions:

# %%
asked = zh.grammar.questions(400, seed=2, max_chars=64)
accuracy_zh = role_accuracy(v1_zh, zh.tokenizer, asked)
print(f"{accuracy_zh:.1%}")
assert 0.45 <= accuracy_zh <= 0.55

# %% [markdown]
# ## What it writes
#
# Let v1 speak. Each character is drawn from the row of the one before. For comparison: of the words that the tiny v4 of notebook 00 wrote, more than four in five were words of the tales.

# %%
words_guess = live.predict(
    "What share of the English words that v1 writes are words of the tales?",
    low=0,
    high=100,
    unit="%",
    near=8,
)
words_guess

# %% tags=["answer", "nbval-ignore-output"]
for v, c in ((model, corpus), (v1_zh, zh)):
    start = c.tokenizer.encode("\n")[None]
    written = generate(v, start, n_tokens=160, generator=torch.Generator().manual_seed(0))
    print(c.tokenizer.decode(written[0]).strip(), "\n")


# %% tags=["answer", "nbval-ignore-output"]
def words(ids: Tensor) -> list[str]:
    return corpus.tokenizer.decode(ids).replace("?", " ").replace(".", " ").split()


start = corpus.tokenizer.encode("\n").repeat(16, 1)
pages = generate(model, start, n_tokens=400, generator=torch.Generator().manual_seed(0))
vocabulary = set(words(corpus.train))
in_tales = [word in vocabulary for page in pages for word in words(page)]
words_guess.compare(100 * sum(in_tales) / len(in_tales))

# %% [markdown]
# Every pair of neighbours is well formed, and nothing beyond a pair is: what happens to be a word is mostly a short one. Chinese fares better at first sight, because one character carries what English spells with several letters; the stories make as little sense.

# %% [markdown]
# ## Promises
#
# Our v1 was built for windows of 192 characters, and trained on windows of 64. Now it gets 2,000 characters at once.

# %%
past = ["it stops with an error", "it goes on, and its predictions change", "it goes on as before"]
past_guess = live.predict("What does v1 do with a text ten times as long as its window?", past)
past_guess

# %% tags=["answer"]
long = corpus.val[:2000]
every_row = model(torch.arange(vocab_size)[None])[0]  # (V, V): v1 as a table
as_before = torch.allclose(model(long[None])[0], every_row[long], atol=1e-4)
past_guess.compare(past[2 if as_before else 1])

# %%
assert as_before

# %% [markdown]
# v1 goes on for ever, at the same quality, and row by row it says what its table says: with no idea of position, no position is new to it. We shall meet [encodings](../docs/glossary.md#encoding) that would envy it.
#
# What can be [promised](../docs/glossary.md#promise) of v1, and does it keep it? The first two lines are its limits, stated as promises. Later models will have to *break* them.

# %% tags=["nbval-ignore-output"]
ids = corpus.val[:64]
about_v1 = [
    invariants.blind_to_the_past(model, ids),
    invariants.order_blind(model, ids),
    invariants.causal(model, ids),
    invariants.extrapolates_or_refuses(model, ids),
]
assert all(promise.holds for promise in about_v1)
invariants.promises(about_v1)

# %% [markdown]
# ## What the note claims, and what was measured
#
# Source note 004 counts v1's parameters as *V D + D V*: the embedding and the head. Count ours.

# %%
V, D = vocab_size, shape.n_embd
by_formula, in_truth = V * D + D * V, sum(p.numel() for p in model.parameters())
print(f"formula {by_formula}, model {in_truth}, difference {in_truth - by_formula}")
assert in_truth == by_formula + V

# %% [markdown]
# One number for each character is missing: the head's bias. (`nn.Linear` has one unless it is told otherwise, and the note's code does not tell it.) It is a small slip, and not much hangs on it: with at least as many channels as characters, embedding and head can express any table without a bias.
#
# Here are the note's three claims about v1. Each row is run again whenever you run the cell. What the note says, section by section, with its own sentences: `docs/notes/004.md`, and `python -m babygpt claims 004`.

# %% tags=["nbval-ignore-output"]
claims = [
    "v1 cannot tell 我爱你 from 你爱我",
    "in v1 a character has the same code at every position",
    "v1 has VD + DV parameters, v2 VD + TD + DV",
]
findings("004", claims)

# %% [markdown]
# The first two rows belong together. A character has one code at every position. It does not follow that the two *sentences* cannot be told apart: v1 gives each pair of neighbours its own probability, so it gives 我爱你 and 你爱我 different ones. But after 我爱 and after 你爱 it predicts the same, because it has forgotten the first character. That is why the first row reads ≈: v1 tells the two sentences apart, and lacks the memory to continue them differently.

# %% [markdown]
# How good were your guesses in this lesson?

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Exercises
#
# Solve what you like: write over the stub, run your cell, then the check. `bag_of_tokens.BIGRAM_LOSS.hint()`, in a new cell, gives one hint at a time, and `bag_of_tokens.BIGRAM_LOSS.solution()` one way to do it. *Core* exercises carry the lesson; *stretch* is for those who want more.

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
bag_of_tokens.BY_HAND


# %%
def by_hand(table: Tensor, bias: Tensor, n_embd: int) -> tuple[Tensor, Tensor]:
    """Embedding (V, n_embd) and head (V, n_embd) of a v1 with this bias that has this bigram table."""
    return torch.zeros(len(table), n_embd), torch.zeros(len(table), n_embd)


# %%
bag_of_tokens.BY_HAND.check(by_hand)

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
# 1. v1 is a bigram model: whatever its weights, all it can hold is a table with a row for each present character and a column for each next one.
# 2. It does tell 我爱你 from 你爱我, since the two sentences are made of other pairs; what it cannot do is say something else after 我爱 than after 你爱.
# 3. The lowest loss of any v1 can be computed without training: 2.10 nats per character on the tales, and 300 steps on windows that begin anywhere ended within 0.01 of it from each of twelve seeds.
# 4. In that run a pair that is met often was learnt before equally certain pairs that are seldom met, and the loss hardly showed it.
# 5. v1 answers exactly half of the mirror questions right, in English as in Chinese, because both names get the same two numbers in a story and in its mirror.

# %% [markdown]
# ## Self-test
#
# **1.** A trained v1 has read 我爱, another time 你爱. What does it say of the next character?
#
# - a) something else each time, for the beginnings differ
# - b) the same before training, something else after it
# - c) the same
#
# <details><summary>Answer</summary>
#
# **c.** Both end with 爱, and 爱's row is all there is. Tempting is *a*: the two *sentences* do get different probabilities, but through their pairs, and not because v1 remembers how they began.
#
# </details>
#
# **2.** Why is v1 right about 50% of mirror questions and never about 51%?
#
# - a) story and mirror end alike, so it prefers the same name in both
# - b) it tosses a coin for each question
# - c) its loss is on the bigram floor
#
# <details><summary>Answer</summary>
#
# **a.** The same preference is right in one of the two and wrong in the other. Tempting is *b*, but 400 tosses would seldom give exactly 200; and *c* has nothing to do with it, since the untrained v1 has its 50% too.
#
# </details>
#
# **3.** Both sentences are made of the same three codes. What follows for v1?
#
# - a) they are equally probable to it
# - b) nothing: the product runs over steps, and the steps differ
# - c) it has to be told the places to find them different
#
# <details><summary>Answer</summary>
#
# **b.** A sentence is a chain of pairs and not a bag of codes. Tempting is *a*, because the codes are the same.
#
# </details>
#
# **4.** On which text can a v1 lose nothing at all?
#
# - a) on any text that it has seen often enough
# - b) on a text of which it knows each word
# - c) on a text in which each character has only one successor
#
# <details><summary>Answer</summary>
#
# **c.** Then every row of the table has a single 1. Tempting is *a*, but v1 cannot learn by heart what its table has no room for.
#
# </details>
#
# **5.** Our v1 ended a few thousandths above the floor. What would ten times as many channels do?
#
# - a) next to nothing: 64 channels can hold any table of 30 characters
# - b) bring the loss down to the entropy floor
# - c) let it see further back
#
# <details><summary>Answer</summary>
#
# **a.** With as many channels as characters every table is possible, and the floor is that of the best table. Tempting is *b*, but what lies between the two floors is what came *before* the present character, and no width shows that to v1.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Shannon, 1948, *A Mathematical Theory of Communication*](https://doi.org/10.1002/j.1538-7305.1948.tb01338.x) — writes English letter by letter from tables of pairs, in its third section.
# - [Elhage et al., 2021, *A Mathematical Framework for Transformer Circuits*](https://transformer-circuits.pub/2021/framework/index.html) — begins with Transformers without layers, and finds bigram tables.
# - [Yang et al., 2018, *Breaking the Softmax Bottleneck*](https://arxiv.org/abs/1711.03953) — what a model with fewer channels than characters cannot say: the last exercise, at full size.
# - [Sinha et al., 2021, *Masked Language Modeling and the Distributional Hypothesis*](https://arxiv.org/abs/2104.06644) — how much large models learn from sentences whose words were shuffled.

# %% [markdown]
# ## What comes next
#
# The note's cure is to tell each token its place: a second table, one row for each position, added to the first. Does a seat number cure a missing memory? → [02 · Learned positions](02_learned_positions.ipynb)
