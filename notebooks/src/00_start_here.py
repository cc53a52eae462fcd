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
# *Ada chased Ben* and *Ben chased Ada* hold the same words, letter for letter. Only their order tells who ran after whom. You see it at a glance; a language model does not. Attention, the heart of every GPT, compares tokens two by two, and nothing in the comparison says which of the two came first, or how far apart they stand. (Whoever may only look back can guess a little of it, as notebook 03 shows.) Somebody has to tell it. How is an old question with many answers, some of them beautiful. This course builds seven of them, trains each on your own computer, and measures which of their promises they keep.
#
# **Who it is for.** You read Python and have met vectors and matrices; PyTorch by name is enough. You need no GPU.
#
# **What this notebook needs.** What `make lab` has installed, and no network. All cells together run in about 30 seconds on two cores; reading takes about a quarter of an hour. Within the first minute you will have moved something that matters; within the second you will watch your first model learn.

# %% [markdown]
# ## How to use a notebook
#
# 1. **Predict.** Where the text asks for a guess, make one before you run the cell; aloud is fine, on paper is better. A wrong guess teaches more than a right one, and no guess teaches least.
# 2. **Run.** Shift+Enter, from top to bottom. Afterwards change a number and run a cell again: cells that train begin with a fresh model, so you can break nothing.
# 3. **Move.** Where there are sliders, drag them; the picture follows at once. You can also click a slider and use the arrow keys. Sliders need a running kernel: on a web page, where there is none, you see a still picture in their place.
# 4. **Check.** Lines with `assert` say what must be true. If one fails after your change, you have found something out.
#
# A notebook too far gone comes back with `git checkout notebooks/`.

# %% [markdown]
# ## Is everything here?
#
# The first code cell of every notebook imports what the notebook uses. Here it also asks the doctor, who looks at your installation and says what to do about anything marked ✗.

# %% tags=["nbval-ignore-output"]
import math
import random

import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, invariants, live, load_corpus, plots
from babygpt.doctor import checks, report
from babygpt.experiments.results import load_results
from babygpt.metrics import role_accuracy
from babygpt.sampling import generate
from babygpt.tables import Table

plots.set_style()
print(report(checks()))

# %% [markdown]
# ## Something to move
#
# Here is one of the seven answers, before any explanation. Two tokens stand in a text: a *query* `q`, and a *key* `k` some tokens before it. Each is turned by an angle that grows with its place, like the hand of a clock.
#
# > **Predict.** If you move `q` along the text, and `k` follows at the same distance, what will happen to the angle between the hands? Then move **place of q** and see.

# %%
live.rotary()

# %% [markdown]
# Both hands turn, and the angle between them stays. Only **distance** changes it. Whoever compares the two hands learns how far apart the tokens are, and nothing about the page they stand on. On the right is what a whole set of such clocks, each at its own speed, makes of a distance; **pair of channels** picks the clock on the left. Notebook 04 takes all of it apart.

# %% [markdown]
# ## Same characters, another story
#
# All models of the course learn from **tales**: little stories, written by a grammar that comes with the package. Each story states a fact, may wander off for a while, and then asks about the fact. Here are a few lines of them.

# %%
corpus = load_corpus("tales")
print(corpus.tokenizer.decode(corpus.val[:400]))

# %% [markdown]
# For every question there is a **mirror**: the same story with the two names exchanged. Story and mirror hold exactly the same characters, and their answers are opposite. Whoever ignores order cannot be right about both.
#
# > **Predict.** A friend cuts a story and its mirror into single letters, shakes each heap in its own bag, and hands you one bag. Which story was it? How often will you be right, over many bags?

# %%
grammar = corpus.grammar
told, mirror = grammar.questions(2, seed=2, max_chars=60)
for question in (told, mirror):
    print(question.prompt.strip(), "→", question.answer)
assert sorted(told.prompt) == sorted(mirror.prompt)

# %% [markdown]
# Sorted letter by letter, both are the same string: that is what the last line checks. From the bag you can only toss a coin, so you are right half of the time. Keep the number 50% in mind: it is what a model scores that knows every word and no order.
#
# The tales also exist in Chinese, where the course's favourite pair comes from: 我爱你 *(I love you)* and 你爱我 *(you love me)*. Here is such a mirror, from the Chinese grammar.

# %%
chinese = load_corpus("tales-zh", n_chars=50_000)
for question in chinese.grammar.questions(2, seed=2, max_chars=30):
    print(question.prompt.strip(), "→", question.answer)

# %% [markdown]
# ## Your first model
#
# Enough said; let us train something. The model is a very small **v4**, the fourth of our seven: two Transformer blocks, 64 channels, and a position encoding called RoPE, which notebook 04 takes apart. It reads windows of 96 characters and learns to predict each next one. It starts from noise and takes 300 steps, about 15 seconds on one core.
#
# It trains in the background, so you can read on, and even move the sliders above, while the curve falls. You can **pause** it and **stop** it. On the right you see where its four heads of attention look, letter by letter, on one sentence; what that means is for notebook 03, but watch how order comes out of noise.
#
# > **Predict.** After 300 steps it will write stories of its own. What will be right by then, and what wrong: the spelling, the shape of a story, the sense?

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
config = ModelConfig(corpus.tokenizer.vocab_size, block_size=96, n_layer=2, n_head=2, n_embd=64)
model = build("v4", config)
recipe = TrainConfig(steps=300, batch_size=16, lr_matrix=0.03, lr_other=0.02)
watches = [live.heads(corpus.tokenizer, told.prompt.strip())]
floors = {"bigram floor": corpus.bigram_floor, "entropy floor": corpus.floor}
run = live.train(model, NextToken(corpus, 96), recipe, "v4", floors, watches)

# %% [markdown]
# The two lines below the curve are explained in a moment. The next cell waits for the end and hands over the records; the dashboard keeps its last picture. Afterwards its slider **replay** takes you back through the training: find the step at which the first pattern appears in the squares.

# %% tags=["nbval-ignore-output"]
history = run.result()
assert history[-1].val_loss < 1.1

# %% tags=["nbval-ignore-output"]
start = corpus.tokenizer.encode("\n")[None]
dice = torch.Generator().manual_seed(0)
text = generate(model, start, n_tokens=400, generator=dice)
print(corpus.tokenizer.decode(text[0]).strip())

# %% [markdown]
# Names look like names, most words are words, and a story has its question and its full stops. Now read who does what. People appear from nowhere, and the answers have little to do with the facts. The model has learnt how tales *sound*, and not yet how to look back and see who stood where.

# %% [markdown]
# ## What a loss is: nats per character
#
# Before each character the model says how probable it holds every candidate. Its **loss** is $-\ln p$ of the character that really came, averaged over a text it has never seen. The unit is the *nat*, the natural logarithm's sister of the bit (one nat is 1.44 bits).
#
# The exponential of a loss is easier to feel: it is the number of equally likely characters among which the model hesitates. Knowing nothing means hesitating among the whole alphabet. A loss of zero would mean never being surprised.
#
# Now comes what makes our corpus special. Because a grammar wrote it, two limits are known *exactly*:
#
# - the **bigram floor**: the best anyone can do who sees only the present character, and none before it;
# - the **entropy floor**: the best anyone can do at all. What remains is the grammar's own dice.

# %%
limits = {
    "no idea at all": math.log(corpus.tokenizer.vocab_size),
    "bigram floor": corpus.bigram_floor,
    "entropy floor": corpus.floor,
}
rows = [(name, f"{nats:.2f}", f"{math.exp(nats):.1f}") for name, nats in limits.items()]
Table(("", "nats per character", "hesitates among … characters"), rows, stable=3)

# %% [markdown]
# Here is your training run once more, between all three limits. It starts where anyone starts who has no idea, falls through the bigram floor once it looks further back than one character, and then goes on more slowly towards the entropy floor, which it cannot pass.

# %% tags=["nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(7, 4))
title = f"In {recipe.steps} steps a tiny v4 falls to {history[-1].val_loss:.2f} nats per character"
plots.draw_losses(ax, {"v4": [step.loss for step in history]}, limits, title)
ax.legend(loc="upper right", bbox_to_anchor=(1, 0.92))
plt.show()

# %% [markdown]
# Could it ever get down to the entropy floor? Not on such windows. They are cut anywhere, and who reads one from the middle of a story does not know what happened before the cut. `floor_by_position` works out what the best of all readers loses there, one who knows the grammar by heart and sees nothing but the window.

# %% tags=["nbval-ignore-output"]
floors_found = load_results("floors")  # floor_by_position, on 80 windows of each corpus
least = np.array(floors_found["mean"]["tales"][: config.block_size])  # (96,) nats
reached, cut_price = history[-1].val_loss - least.mean(), least.mean() - corpus.floor
print(f"best reader of such windows: {least.mean():.2f}; first 8 places {least[:8].mean():.2f}")
print(f"of the gap, {cut_price:.2f} is the cut's and {reached:.2f} the model's")
assert 0.1 < cut_price < reached

# %% [markdown]
# So the gap has two parts. The smaller one is the price of cut windows, highest at their beginning, where nobody can know. The larger one is our model's own: with more steps, or more channels, it would shrink.

# %% [markdown]
# ## A story by hand
#
# How can an entropy be known exactly? Let us write one story ourselves and count. A grammar is a set of templates with holes: `{name.a}` is filled with a name, `{name.b}` with another name, `[gap]` with nothing much or with some scenes. Every choice is fair: each candidate is equally likely.

# %%
template = grammar.rules["story"][0]
print(template)
print({rule: len(choices) for rule, choices in grammar.rules.items()})
print({kind: len(words) for kind, words in grammar.words.items()})

# %% [markdown]
# We fill the holes with the first words on the lists, and close the gap with its first, shortest filling. The hole `{name.a!b}` stands for the answer of the question: *a*, where *b* would be wrong.

# %%
a, b = grammar.words["name"][:2]
fill = {"{name.a}": a, "{name.a!b}": a, "{name.b}": b}
fill |= {"{verb}": grammar.words["verb"][0], "[gap]": grammar.rules["gap"][0]}
story = template
for hole, word in fill.items():
    story = story.replace(hole, word)
print(story)

# %% [markdown]
# Writing it took five choices: the template, the first name, the verb, the second name (one fewer is left), and the gap. The answer was no choice, and nor were the words that repeat: whoever has read the beginning knows them. The probability of the story is one over the product of these numbers, so its logarithm is **minus the sum of their logarithms**.
#
# > **Predict.** Our story is one in how many: in thousands, in millions, in billions?

# %%
names, verbs = len(grammar.words["name"]), len(grammar.words["verb"])
choices = [len(grammar.rules["story"]), names, verbs, names - 1, len(grammar.rules["gap"])]
by_hand = -sum(math.log(n) for n in choices)
assert math.isclose(by_hand, grammar.log_prob(story))
print(f"one story in {math.prod(choices):,}: {-by_hand:.2f} nats")
print(f"{-by_hand / len(story + chr(10)):.2f} nats per character")

# %% [markdown]
# Your sum equals what the package says, and it is exact, because no story of this grammar can be written in two ways. With so many stories to choose from, hardly one is ever told twice, and there is nothing to memorise: the only way to know an answer is to look back.
#
# The entropy floor is the same sum, averaged over all stories and divided by their average length. A few thousand stories, thrown with dice, come close to it.

# %%
dice = random.Random(0)
stories = [grammar.sample(dice) for _ in range(4000)]
nats = -sum(story.log_prob for story in stories)
characters = sum(len(story.text) + 1 for story in stories)
print(f"{nats / characters:.2f} by dice, {corpus.floor:.2f} exactly")
assert abs(nats / characters - corpus.floor) < 0.02

# %% [markdown]
# ## Does your model know who did it?
#
# We ask it 200 questions, each beside its mirror. The right name and the wrong one both stand in the story, and the model must give the right one more probability. Chance is 50%.
#
# > **Predict.** Its loss is far below the bigram floor, and its stories look almost right. How many of the 200 questions does it answer correctly?

# %% tags=["nbval-ignore-output"]
asked = grammar.questions(200, seed=2, max_chars=config.block_size)
accuracy = role_accuracy(model, corpus.tokenizer, asked)
print(f"{accuracy:.0%} of {len(asked)} questions; chance is 50%")
assert 0.35 < accuracy < 0.65

# %% [markdown]
# Little better than a coin, if at all. This gap, between sounding right and knowing who stood where, is what the course is about. It is not the fault of RoPE: this model is too small and too young. The package has stored what became of larger ones, of twice the layers and twice the width, after 600 steps on windows of 192 characters:

# %% tags=["nbval-ignore-output"]
larger = load_results("roles")["accuracy"]
for name in ("v4", "nope"):
    print(f"{name:5}", *(f"{share:.0%}" for share in larger[name]))
assert min(larger["v4"]) > 0.9
assert max(larger["nope"]) < 0.75

# %% [markdown]
# Each number is a run from another seed. The larger v4 prefers the right name nearly always, while its twin without a code for position (*nope*) has hardly stopped tossing coins. (To *prefer* it is not yet to write it, letter by letter: notebook 04 asks for that too. `python -m babygpt figures roles` trains all of them again, which takes a while.)

# %% [markdown]
# ## Promises, kept and broken
#
# Each notebook checks what a model or an encoding **promises**. A promise is a sentence with a number behind it: ✓ it holds, ✗ it does not. The same functions run in the package's tests. Two promises that every GPT must keep:

# %% tags=["nbval-ignore-output"]
ids = corpus.val[: config.block_size]
kept = [invariants.causal(model, ids), invariants.cache_equals_full(model, ids)]
assert all(promise.holds for promise in kept)
invariants.promises(kept)

# %% [markdown]
# The first says that changing the last character changes no earlier prediction: the model does not peek. The second says that writing with a memory of what was computed before, which is faster, gives the same numbers as starting over.
#
# The course grew out of five **source notes**, written in Chinese, on systems that their authors had sketched. The notes make claims: *this encoding extrapolates, that one keeps texts apart*. We measure them. Some hold (✓), some fail (✗), some depend on what you ask (≈), and the notebooks show you the number either way. A claim that fails is not an embarrassment here; it is usually where the lesson is.

# %% [markdown]
# ## The ladder
#
# Seven models, each one idea away from the last.
#
# | version | name | what is new | notebook |
# |---|---|---|---|
# | v1 | bag of tokens | a token votes for the next one, alone | [01](01_bag_of_tokens.ipynb) |
# | v2 | learned positions | a trained vector for each place | [02](02_learned_positions.ipynb) |
# | v3 | sinusoidal | attention, and a fixed table of waves to tell it the place | [03](03_sinusoidal.ipynb) |
# | v4 | RoPE | no table: queries and keys are rotated | [04](04_rope.ipynb) |
# | v5 | Gaussian RoPE | rotation, and a bell curve over distance | [05](05_gaussian_rope.ipynb) |
# | v6 | Fourier branches | several texts in one sequence, and a code that says which is whose | [06](06_fourier_branches.ipynb) |
# | v7 | polar gate diffusion | no left to right: masked characters are filled in, in any order | [07](07_polar_diffusion.ipynb) |
#
# And [08](08_the_ladder.ipynb) puts all of them on one board.

# %% [markdown]
# ## Exercise
#
# Make a story with one scene in the gap, and work out its log-probability by hand, choice by choice. `grammar.log_prob(story)` says whether you counted every choice.

# %% [markdown]
# ## What comes next
#
# We begin at the bottom. What can a model do that sees one token at a time, and where exactly does it stop? → [01 · Bag of tokens](01_bag_of_tokens.ipynb)
