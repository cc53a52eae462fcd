# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 00 · Start here
#
# **How does a language model know where its tokens stand?**
#
# *ada chased ben* and *ben chased ada* hold the same letters. Only their order tells who chased whom. [Attention](../docs/glossary.md#attention), the heart of every GPT, compares [tokens](../docs/glossary.md#token) in pairs, and nothing in a comparison says which token came first. A model that only looks backwards can infer a little about order, as lesson 03a shows. The rest we have to tell it. This course builds seven ways to do it, trains each on your computer, and measures what it can do.
#
# **Needs:** what `make lab` has installed, and no network. You read Python, have met vectors and matrices, and have used NumPy or PyTorch a little. You need no GPU. **Takes:** about 30 seconds to run on two cores, about 20 minutes to read and guess; the exercises about 22 more, and 12 for those marked *stretch*.

# %% tags=["nbval-ignore-output"]
import math
import re

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from babygpt import ModelConfig, NextToken, TrainConfig, build, live, load_corpus, metrics, plots
from babygpt.doctor import checks, format_diagnoses
from babygpt.sampling import generate
from babygpt.tables import Table
from babygpt_course.exercises import lesson_00 as start
from babygpt_course.studies import paired, results, seed_plots

# %% [markdown]
# Here is one of the seven ways, called [RoPE](../docs/glossary.md#rope). Two tokens of a text, q and k, each have a clock hand that turns with their position. Run the cell with Shift+Enter. Then <span class="light-text">drag the blue **q** along the text</span>, and watch <span class="light-clock">the angle between the hands</span>.

# %%
plots.set_style()
live.rotary()

# %% [markdown]
# Both hands turn, and the angle between them stays the same. Now drag the orange **k**: the angle changes with the **distance** between the tokens. <span class="light-later">The second clock</span> shows the same two tokens 37 positions later. Its hands point elsewhere, and their angle is the same. So the angle tells the model how far apart two tokens are, wherever they stand.
#
# One clock is not enough, because it repeats after a full turn. RoPE therefore uses many clocks of different speeds (*pair of channels* chooses one). <span class="light-score">The curve</span> takes the angles of all clocks and shows their mean cosine, at each distance. Notebook 04 explains every part of this picture. Here is the angle for a clock that turns by 0.3 radians a token, and tokens at distance 3:

# %%
hands = np.exp(0.3j * np.arange(100))  # 100 positions as points on a circle of complex numbers
between = np.angle(hands[3:] / hands[:-3])  # radians, for q at 3, 4, 5, ...
print(f"from {between.min():.3f} to {between.max():.3f} radians at all {len(between)} positions")
assert np.ptp(between) < 1e-9

# %% [markdown]
# ## How to use a notebook
#
# - **Run** the cells from top to bottom with Shift+Enter. Then change a number and run a cell again. You can break nothing: cells that train begin with a fresh model.
# - **Guess** where you see a question: click an answer, or type a number and press Enter. The result appears further down, beside your guess. Guessing is optional, and your guesses are not saved in the file. Do not begin with *Run All*, because it shows all results first.
# - **Unfold** results: they are hidden behind three dots until you run the cell or click the dots.
# - **Check** what you change: a line with `assert` fails if something is no longer true.
# - **Solve** the exercises at the end. They give hints, and say what is right and what is not.
# - **Look up** words such as [token](../docs/glossary.md#token) with a click; the glossary explains each in two sentences.
#
# To reset a notebook, say 04, make a copy of it and then type `git checkout notebooks/04_rope.ipynb`. This discards everything that you wrote in that notebook.
#
# The next cell checks your installation. If a line has the mark ✗, it also says what to do.

# %% tags=["nbval-ignore-output"]
print(format_diagnoses(checks()))

# %% [markdown]
# ## A story and its mirror
#
# All models of this course learn from [**tales**](../docs/glossary.md#tales): small stories, written by a grammar that comes with the package. Each story states a fact, may tell something else for a while, and then asks about the fact.

# %%
corpus = load_corpus("tales")
print(corpus.tokenizer.decode(corpus.val[:400]))

# %% [markdown]
# For every question there is a [**mirror**](../docs/glossary.md#mirror-pair): the same story with the two names exchanged. The right answer changes too.

# %%
grammar = corpus.grammar
story, mirror_story = grammar.questions(2, seed=2, max_chars=60)
for question in (story, mirror_story):
    print(question.prompt.strip(), "→", question.answer)
print("letters of both:", "".join(sorted(story.prompt)).strip())
assert sorted(story.prompt) == sorted(mirror_story.prompt)

# %% [markdown]
# Sorted by letter, both stories are the same string, but their answers differ. A model that ignores order gives the same answer twice, and is right exactly once. So **50%** means: no knowledge of order.
#
# The tales also exist in Chinese. There our favourite pair is 我爱你, *I love you*, and its mirror 你爱我, *you love me*.
#
# ## Your first model
#
# We train a very small **v4**, the fourth of our seven models: two [Transformer](../docs/glossary.md#transformer) blocks, 64 [channels](../docs/glossary.md#channel), and RoPE. It reads [windows](../docs/glossary.md#window) of 96 characters and learns to predict each next character. Its 300 steps take about 15 seconds on one core.
#
# One **step** of training takes 16 windows of text and computes the [loss](../docs/glossary.md#loss), a number that is small if the predictions are good. The [gradient](../docs/glossary.md#gradient) says how the loss changes with each weight. The [optimizer](../docs/glossary.md#optimizer) then moves every weight a little in the direction that makes the loss smaller; the [learning rate](../docs/glossary.md#learning-rate) sets how far. Lesson 01 makes one such step by hand. At the end we measure the loss in [validation](../docs/glossary.md#validation), on text that no step has used.
#
# The model trains in the background while you read on. You can **pause** and **stop** it. Its curve shows the training loss. The four small squares show where its attention heads look; lesson 03a explains them. The large square shows the head that changed most.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
config = ModelConfig(corpus.tokenizer.vocab_size, block_size=96, n_layer=2, n_head=2, n_embd=64)
model = build("v4", config)
floors = {"bigram floor": corpus.bigram_floor, "entropy floor": corpus.floor}
watches = [live.heads(corpus.tokenizer, story.prompt.strip())]
plan = TrainConfig(steps=300, batch_size=16)
run = live.train(model, NextToken(corpus, 96), plan, "v4", floors, watches)

# %%
levels = ["not even words", "words", "words and the shape of a story", "stories that the grammar could write"]
writing_guess = live.predict("What will most of the model's own texts get right after 300 steps?", levels)
writing_guess

# %% [markdown]
# The next cell waits for the end of the training, then lets the model write. Afterwards, the slider **replay** under the dashboard takes you back through the training.

# %% tags=["answer", "nbval-ignore-output"]
history = run.result()
opening = corpus.tokenizer.encode("\n")[None]
texts = generate(model, opening.repeat(16, 1), n_tokens=400, generator=torch.Generator().manual_seed(0))
lines = [line for text in texts for line in corpus.tokenizer.decode(text).strip().split("\n")[:-1]]
print("\n".join(lines[:8]))

# %% [markdown]
# We count. A word is right if it stands in the training text. A story is in shape if it ends with a question and a one-word answer; one sentence with *so* may follow. A story is whole if the grammar can write it.

# %% tags=["answer", "nbval-ignore-output"]
vocabulary = set(re.findall(r"\w+", corpus.tokenizer.decode(corpus.train)))
words = [word for line in lines for word in re.findall(r"\w+", line)]
spelt = sum(word in vocabulary for word in words) / len(words)
shaped = sum(bool(re.fullmatch(r".+\? \w+\.( so .+)?", line)) for line in lines) / len(lines)
whole = sum(bool(grammar.derivations(line)) for line in lines) / len(lines)
print(
    f"{len(words)} words: {spelt:.0%} right; {len(lines)} stories: {shaped:.0%} in shape, {whole:.0%} whole"
)
writing_guess.compare(levels[sum(share > 0.5 for share in (spelt, shaped, whole))])

# %% [markdown]
# Words come first, then the shape. A whole story is much harder: it must not change its verb, and the answer has to fit. At this stage a model has learned how tales *sound*, and not yet what they say.
#
# ## What a loss is
#
# Before each character the model gives every candidate a probability. Its loss for this character is $-\ln p$, where $p$ is the probability of the character that really comes. If $p$ is 1, the loss is 0. If $p$ is small, the loss is large. The unit is the [nat](../docs/glossary.md#nats); one nat is $1/\ln 2 \approx 1.44$ bits. Here is your model's loss for one sentence, letter by letter:

# %% tags=["nbval-ignore-output"]
text = "ada chased ben. who chased ben? ada."
ids = corpus.tokenizer.encode("\n" + text)
with torch.inference_mode():
    log_p = model(ids[None])[0].log_softmax(dim=-1)  # (37, V)
losses = -log_p[:-1].gather(1, ids[1:, None])[:, 0]  # (36,), of each letter after those before it
fig, ax = plt.subplots(figsize=(9, 2.8))
ax.bar(range(len(text)), losses)
ax.set_xticks(range(len(text)), plots.visible(text))
ax.set(title=f"The model loses {losses.mean():.2f} nats per character here", ylabel="loss (nats)")
plt.show()

# %% [markdown]
# Tall bars mark surprises, and • is a space. Names in the tales have four letters and begin with a consonant. So *ada* begins wrongly for this model, and *ada* and *ben* end too early. The last letters of *chased* are cheap, because the model knows the word.
#
# The loss of a model is the mean over a long text. Its exponential, the [perplexity](../docs/glossary.md#perplexity), is easier to imagine: it is the number of equally likely characters among which the model chooses. A grammar wrote our text, so we know two limits *exactly*:
#
# - the [**bigram floor**](../docs/glossary.md#floor), the lowest loss of a model that sees the present character only;
# - the [**entropy floor**](../docs/glossary.md#entropy), the lowest average loss of any model. What is left is pure chance in the grammar.

# %% tags=["nbval-ignore-output"]
limits = {"uniform guess": math.log(corpus.tokenizer.vocab_size)} | floors
fig, ax = plt.subplots(figsize=(7, 3.6))
title = f"In {plan.steps} steps a tiny v4 reaches a validation loss of {history[-1].val_loss:.2f} nats"
plots.draw_losses(ax, {"v4": [step.loss for step in history]}, limits, title)
ax.legend(loc="upper right", bbox_to_anchor=(1, 0.92))
plt.show()
rows = [(name, f"{nats:.2f}", f"{math.exp(nats):.1f}") for name, nats in limits.items()]
Table(("", "nats per character", "perplexity"), rows, stable=3)

# %% [markdown]
# The training loss starts at a uniform guess. It falls below the bigram floor, so the model uses more than one character. Then the loss slowly approaches the entropy floor.

# %%
yes, below, no = "yes", "yes, and even below it", "no, whatever its size"
floor_guess = live.predict(
    "Our windows are cut out of the text anywhere. Could a larger model reach the entropy floor on them?",
    [yes, below, no],
)
floor_guess

# %% tags=["answer"]
stored = results.load_results("floors")  # the best possible reader of such windows, who knows the grammar
least = np.array(stored["mean"]["tales"][:96])  # (96,) nats, by position in the window
gap = least.mean() - corpus.floor
print(f"best reader of our windows: {least.mean():.3f} nats; first 8 positions: {least[:8].mean():.3f}")
print(f"entropy floor: {corpus.floor:.3f} nats")
floor_guess.compare(no if gap > 0.05 else below if gap < -0.05 else yes)

# %% [markdown]
# If a window starts in the middle of a story, nobody can know what came before. Even the best possible reader therefore loses 0.17 nats more than the entropy floor, most of it at the start of the window. Learning stories by heart does not lead below the floor: there are too many stories, as we see now.
#
# ## A story by hand
#
# How can we know a floor exactly? A grammar fills holes in a template, and all candidates for a hole are equally likely. We write one story and count the choices. The cell prints the template first; its `!b` only names the wrong answer.

# %%
names, verbs = grammar.words["name"], grammar.words["verb"]
print("template:", grammar.rules["story"][0])
by_hand = f"{names[0]} {verbs[0]} {names[1]}. who {verbs[0]}? {names[0]}."
choices = [len(grammar.rules["story"]), len(names), len(verbs), len(names) - 1, len(grammar.rules["gap"])]
nats = math.log(math.prod(choices))
print(f"{by_hand} One story in {math.prod(choices):,}: {nats:.2f} nats")
assert math.isclose(nats, -grammar.log_prob(by_hand))

# %% [markdown]
# There were five choices: the template, the first name, the verb, the second name (one fewer is left), and what stands in the gap. The answer and all repeated words were no choice. Multiply the five numbers of candidates: the probability of the story is 1 over this product. Its loss is the sum of the five logarithms. The entropy floor is the average of such sums over all stories, divided by their average length.
#
# ## Does your model know who did it?
#
# We ask 200 questions, each beside its mirror. Both names stand in the story, and the model has to give the right one more probability than the other.

# %%
answers_guess = live.predict(
    "What share of the 200 questions does our model, after 300 steps, answer correctly?",
    low=0,
    high=100,
    unit="%",
    near=8,
)
answers_guess

# %% tags=["answer", "nbval-ignore-output"]
asked = grammar.questions(200, seed=2, max_chars=96)
answers_guess.compare(100 * metrics.role_accuracy(model, corpus.tokenizer, asked))

# %% [markdown]
# A coin would get 50%, with a standard deviation of 3.5 points. If your model is near that, it sounds right and does not know who did it. Is RoPE to blame, or is the model undertrained?
#
# We stored longer runs: 600 steps, 96 channels, and the *plain tales*, which have one kind of fact and nothing between fact and question. We trained v4 and [*nope*](../docs/glossary.md#nope), the same model without any position encoding, from twelve [seeds](../docs/glossary.md#seed) each.

# %%
outcomes = ["nearly all v4, and nearly all nope", "nearly all v4, and no nope", "no v4, and no nope"]
larger_guess = live.predict("Which of these models answer more than 90% of 400 questions?", outcomes)
larger_guess

# %% tags=["answer"]
boards = [results.load_results(name)["board"] for name in ("ladder", "fresh/ladder")]
shares = {name: [share for board in boards for share in board[name]["roles"]] for name in ("v4", "nope")}
known = {name: sum(share > 0.9 for share in seeds) for name, seeds in shares.items()}
fig, ax = plt.subplots(figsize=(8, 2.4))
title = f"{known['v4']} of 12 models with RoPE know who did it, and {known['nope']} of 12 without it"
seed_plots.draw_seed_dots(ax, paired.percent(shares), title, "right answers (%)", {"chance": 50}, (40, 102))
plt.show()
larger_guess.compare(outcomes[0 if known["nope"] > 9 else 1 if known["v4"] > 9 else 2])

# %% [markdown]
# Each dot is one trained model. v4 answers more than nine of ten questions from 11 of 12 seeds; one run stayed near chance. All twelve models without a position encoding are near chance, at this size and after 600 steps. These runs have more steps, more channels and simpler stories than ours, and we did not measure which of the three matters most.
#
# This is how the course works. We ask a question, make a prediction, train, and count, always with several seeds.
#
# ## The seven models
#
# | version | name | what is new | notebook |
# |---|---|---|---|
# | v1 | bag of tokens | each token predicts the next one alone | [01](01_bag_of_tokens.ipynb) |
# | v2 | learned positions | a trained vector for each position | [02](02_learned_positions.ipynb) |
# | v3 | sinusoidal | attention, and a fixed table of waves | [03a](03a_attention.ipynb), [03b](03b_sinusoidal.ipynb) |
# | v4 | RoPE | queries and keys are rotated | [04](04_rope.ipynb) |
# | v5 | Gaussian RoPE | rotation, and a bell curve over distance | [05](05_gaussian_rope.ipynb) |
# | v6 | Fourier branches | several texts in one sequence | [06](06_fourier_branches.ipynb) |
# | v7 | polar gate diffusion | masked characters are filled in, in any order | [07a](07a_diffusion.ipynb), [07b](07b_polar_gates.ipynb) |
#
# [08](08_the_ladder.ipynb) compares all of them. [09](09_museum_of_bugs.ipynb) shows models whose loss falls although something is wrong with their positions. [10](10_beyond_the_window.ipynb) asks how a model can read further than it was trained.
#
# How good were your guesses?

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Exercises
#
# Each exercise has three cells: the task, a cell for your answer, and a check. Write your answer, run its cell, then run the check. It says what is right, and shows a failing input for the rest. In a new cell, `start.MIRROR.hint()` gives one hint at a time, and `start.MIRROR.solution()` shows one way to do it. *Warm-up* and *core* exercises belong to the lesson; *stretch* exercises go further.

# %%
start.MIRROR


# %%
def mirror(story: str, one: str, other: str) -> str:
    """Return the story with two names exchanged."""
    return story


# %%
start.MIRROR.check(mirror)

# %%
start.UNITS


# %%
def units(p: Tensor) -> tuple[float, float, float]:
    """Nats and bits per character, and perplexity, of a text whose characters had probabilities p (T,)."""
    return 0.0, 0.0, 1.0


# %%
start.UNITS.check(units)

# %%
start.STORY


# %%
def story_log_prob(holes: list[str], sizes: dict[str, int]) -> float:
    """Log-probability in nats of a story whose holes are filled in this order, from lists of these sizes."""
    return 0.0


# %%
start.STORY.check(story_log_prob)

# %%
start.QUESTIONS

# %%
enough_questions = 0

# %%
start.QUESTIONS.check(enough_questions)

# %% [markdown]
# ## Recap
#
# 1. A story and its mirror hold the same characters and have opposite answers, so a model that ignores order is right about exactly half of them.
# 2. If the hands of two tokens turn with their positions, the angle between the hands depends only on the distance of the tokens.
# 3. A loss is counted in nats per character. For the tales two limits are known exactly: the bigram floor for models that see one character, and the entropy floor for all models.
# 4. On windows cut anywhere even a perfect reader stays above the entropy floor, because nobody knows what stood before the cut.
# 5. On the plain tales, v4 answered more than nine questions of ten from 11 of 12 seeds (2 layers of 96 channels, 600 steps). Its twin without a position encoding stayed at chance from all of them.

# %% [markdown]
# ## Self-test
#
# **1.** A model that ignores order answers both questions of a mirror pair. How many of its answers are right?
#
# - a) none
# - b) exactly one
# - c) none, one or two: it is luck
#
# <details><summary>Answer</summary>
#
# **b.** Both stories are the same bag of letters, so it prefers the same name twice, and that name is right once. If you chose *c*: luck would need two independent guesses.
#
# </details>
#
# **2.** A model loses 0.69 nats per character, which is ln 2. What does that mean?
#
# - a) about half a bit per character
# - b) it is right about 69% of the characters
# - c) one bit per character: on average it chooses between two characters
#
# <details><summary>Answer</summary>
#
# **c.** The exponential of ln 2 is 2, and a choice between two takes one bit. If you chose *a*: divide by 0.69 instead of multiplying, since a nat is *more* than a bit.
#
# </details>
#
# **3.** A loss falls below the bigram floor. What do you know?
#
# - a) the model uses more than the present character
# - b) it knows in which order the words stand
# - c) something is wrong: nothing can lie below a floor
#
# <details><summary>Answer</summary>
#
# **a.** This floor holds for models that see one character. If you chose *b*: a model can be far below it and still not know who did it.
#
# </details>
#
# **4.** Why can no model reach the entropy floor on windows that are cut anywhere?
#
# - a) all models are too small
# - b) nobody knows what stood before the cut
# - c) the grammar makes random choices
#
# <details><summary>Answer</summary>
#
# **b.** The floor is the loss of a reader who has seen the whole story so far. If you chose *c*: the floor already counts the random choices.
#
# </details>
#
# **5.** On the plain tales 11 of 12 v4 answered more than 90% of the questions, and their twins without a position encoding about half. What follows?
#
# - a) without a position encoding no model ever learns order
# - b) RoPE is the best of all encodings
# - c) at this size and after 600 steps, this encoding made the difference
#
# <details><summary>Answer</summary>
#
# **c.** Nothing else differed between the twins. If you chose *a*: in lesson 03a a model without an encoding learns order in a smaller world.
#
# </details>

# %% [markdown]
# ## What the source notes say
#
# The course grew out of five **source notes**, written in Chinese, about systems that their authors had sketched. The notes make claims: *this encoding extrapolates, that one keeps texts apart*. We measure them. Some hold (✓), some fail (✗), some depend on what you ask (≈), and for some our seeds do not decide (?). Each lesson ends with a box like this one, which you can read without the note. Where a claim fails, there is usually something to learn.

# %% [markdown]
# ## Further reading
#
# - [Prediction and Entropy of Printed English](https://doi.org/10.1002/j.1538-7305.1951.tb01366.x) — Shannon 1951; how well people guess the next letter.
# - [Attention Is All You Need](https://arxiv.org/abs/1706.03762) — Vaswani et al. 2017; the Transformer, and why it needs positions (section 3.5).
# - [Position Information in Transformers: An Overview](https://arxiv.org/abs/2102.11090) — Dufter et al. 2021; a map of the many answers.
# - [TinyStories](https://arxiv.org/abs/2305.07759) — Eldan & Li 2023; small models that learn from small stories.

# %% [markdown]
# ## What comes next
#
# We begin with the smallest model. What can it learn if it sees only one token at a time? → [01 · Bag of tokens](01_bag_of_tokens.ipynb)
