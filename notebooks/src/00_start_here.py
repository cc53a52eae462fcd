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
# *Ada chased Ben* and *Ben chased Ada* hold the same words, letter for letter. Only their order tells who ran after whom. You see it at a glance; a language model does not. [Attention](../docs/glossary.md#attention), the heart of every GPT, compares [tokens](../docs/glossary.md#token) two by two, and nothing in the comparison says which of the two came first, or how far apart they stand. (Whoever may only look back can guess a little of it, as notebook 03a shows.) Somebody has to tell it. *How* is an old question with many answers, some of them beautiful. This course builds seven of them, trains each on your own computer, and measures which of their promises they keep.
#
# **Who it is for.** You read Python and have met vectors and matrices; PyTorch by name is enough. You need no GPU.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, about 29 minutes to read and guess; the exercises about 22 more, and 12 for those marked *stretch*.

# %% [markdown]
# ## How to use a notebook
#
# 1. **Run.** Shift+Enter, cell by cell, from top to bottom. Afterwards change a number and run a cell again: cells that train begin with a fresh model, so you can break nothing.
# 2. **Guess.** Where a question stands above buttons or a box, click your guess, or type it and press Enter; then run on. The outcome appears beside it. Your guess is kept in the *kernel*, the program that runs your cells, and not in the file: nobody to whom you give the notebook sees it, and a restart of the kernel forgets it. A guess made after the outcome is shown and does not count, so do not begin with Run All. Nothing waits for you: without guesses everything runs as well. But a wrong guess teaches more than a right one, and no guess teaches least.
# 3. **Unfold.** What answers a question is stored folded: you see three dots. Running the cell opens it, and so does a click on the dots.
# 4. **Move.** Where there are sliders, drag them, or click one and use the arrow keys; the picture follows at once. Sliders need a running kernel; on a web page, where there is none, they choose among recorded pictures, or a still picture stands in their place.
# 5. **Check.** Lines with `assert` say what must be true. If one fails after your change, you have found something out.
# 6. **Solve.** Each lesson ends with exercises: a cell with the task, one for your answer, and one that ends in `.check(…)`, which tells you with ✓ and ✗ how far you are. `.hint()` gives one more hint each time, and `.solution()` shows one way to do it.
# 7. **Look up.** Words such as [token](../docs/glossary.md#token) lead to the course's [glossary](../docs/glossary.md), two sentences each. A click opens it in a tab of its own, at that word; close the tab to come back.
#
# If a notebook is beyond repair, make a copy of it, then type `git checkout notebooks/04_rope.ipynb` with its own name. This discards everything that you wrote in that one notebook.

# %% [markdown]
# ## Is everything here?
#
# The first code cell of every notebook imports what the notebook uses. The second one, here only, asks the doctor, who looks at your installation and says what to do about anything marked ✗.

# %%
import math
import random
import re

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from babygpt import ModelConfig, NextToken, TrainConfig, build, invariants, live, load_corpus, plots
from babygpt.doctor import checks, format_diagnoses
from babygpt.metrics import role_accuracy
from babygpt.sampling import generate
from babygpt.tables import Table
from babygpt_course.exercises import lesson_00 as start
from babygpt_course.studies.results import load_results

plots.set_style()

# %% tags=["nbval-ignore-output"]
print(format_diagnoses(checks()))

# %% [markdown]
# ## Something to move
#
# Here is one of the seven answers, before any explanation. Two tokens stand in a text: a *query* `q`, and a *key* `k` some tokens before it. Each has a hand, like that of a clock, and the hand is turned by an angle that grows with the token's place.

# %%
clock_guess = live.predict(
    "If q moves along the text, and k follows at the same distance, what does the angle between their hands do?",
    ["it grows", "it shrinks", "it stays as it is", "it swings to and fro"],
)
clock_guess

# %% [markdown]
# Now try it: <span class="light-text">drag the blue **q** along the text</span>, or turn <span class="light-clock">its hand</span>. Words in a sentence like this one light up their part of the picture.

# %% tags=["answer"]
live.rotary()

# %% [markdown]
# The same in three lines, for a clock that turns by 0.3 radians a token, and a distance of three tokens:

# %% tags=["answer"]
hands = np.exp(0.3j * np.arange(100))  # on the circle of complex numbers
between = np.angle(hands[3:] / hands[:-3])  # radians, at each place of q
clock_guess.compare("it stays as it is" if np.ptp(between) < 1e-9 else "it swings to and fro")

# %% [markdown]
# Both hands turn, and the angle between them stays. It changes only if you drag the red **k**, that is, with the **distance**. So the two hands together tell how far apart the tokens are, and not where they stand. <span class="light-later">The second clock</span> shows the same two tokens 37 positions later: other hands, the same angle. A whole set of such clocks, each with its own speed, gives <span class="light-score">the curve</span>; **pair of channels** picks the clock that you see. This is [RoPE](../docs/glossary.md#rope), and notebook 04 takes all of it apart.

# %% [markdown]
# ## A story and its mirror
#
# All models of the course learn from [**tales**](../docs/glossary.md#tales): little stories, written by a grammar that comes with the package. Each story states a fact, may wander off for a while, and then asks about the fact. Here are a few lines of them.

# %%
corpus = load_corpus("tales")
print(corpus.tokenizer.decode(corpus.val[:400]))

# %% [markdown]
# For every question there is a [**mirror**](../docs/glossary.md#mirror-pair): the same story with the two names exchanged. So the answer changes too.

# %%
grammar = corpus.grammar
original, exchanged = grammar.questions(2, seed=2, max_chars=60)
for question in (original, exchanged):
    print(question.prompt.strip(), "→", question.answer)

# %% [markdown]
# A friend tosses a coin for one of the two, cuts it into single letters, shakes them in a bag, and hands you the bag. You know both stories.

# %%
bag_guess = live.predict(
    "In what share of many such games will you say rightly which story it was?",
    low=0,
    high=100,
    unit="%",
    near=5,
)
bag_guess

# %% [markdown]
# We play with 200 questions, 100 stories with their mirrors. The best that anyone can do with a bag is to know how often each answer goes with just these letters, and to say the more frequent one.

# %% tags=["answer"]
bags = {}  # the letters in a bag -> the answers that went with them
for question in grammar.questions(200, seed=2, max_chars=60):
    bags.setdefault("".join(sorted(question.prompt)), []).append(question.answer)
at_best = sum(max(map(answers.count, answers)) for answers in bags.values()) / 200
bag_guess.compare(100 * at_best)

# %%
assert sorted(original.prompt) == sorted(exchanged.prompt)
assert at_best == 0.5

# %% [markdown]
# Sorted letter by letter, story and mirror are the same string, and their answers are opposite. Whoever ignores order cannot be right about both. Keep the number 50% in mind: it is what a model scores that knows every word and no order.
#
# The tales also exist in Chinese, where the course's favourite pair comes from: 我爱你 *(I love you)* and 你爱我 *(you love me)*. Here is a mirror pair from the Chinese grammar: *I have an umbrella, he has a boat; who has a boat?*, and the same with *I* and *he* exchanged.

# %%
chinese = load_corpus("tales-zh", n_chars=50_000)
for question in chinese.grammar.questions(2, seed=2, max_chars=30):
    print(question.prompt.strip(), "→", question.answer)

# %% [markdown]
# ## Your first model
#
# Enough said; let us train something. The model is a very small **v4**, the fourth of our seven: two Transformer blocks, 64 channels, and RoPE for its [position code](../docs/glossary.md#encoding). It reads windows of 96 characters and learns to predict each next one. It starts from noise and takes 300 steps, about 15 seconds on one core.
#
# It trains in the background, so you can read on, and even move the sliders above, while the curve falls. You can **pause** it and **stop** it. On the right you see where its four heads of attention look, letter by letter, on one sentence; what that means is for notebook 03a, but watch how order comes out of noise.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(0)
config = ModelConfig(corpus.tokenizer.vocab_size, block_size=96, n_layer=2, n_head=2, n_embd=64)
model = build("v4", config)
recipe = TrainConfig(steps=300, batch_size=16, lr_matrix=0.03, lr_other=0.02)
watches = [live.heads(corpus.tokenizer, original.prompt.strip())]
floors = {"bigram floor": corpus.bigram_floor, "entropy floor": corpus.floor}
run = live.train(model, NextToken(corpus, 96), recipe, "v4", floors, watches)

# %% [markdown]
# While it trains, and before you see what it writes:

# %%
levels = [
    "not even the words",
    "the words, and not the shape of a story",
    "the words and the shape: fact, question, answer, full stop",
    "everything: they are stories that the grammar could have written",
]
writing_guess = live.predict(
    "After 300 steps it writes stories of its own: what will most of them get right?", levels
)
writing_guess

# %% [markdown]
# The dashed and the dotted line beside the curve are explained in a moment. The next cell waits for the end and hands over the records; the dashboard keeps its last picture. Afterwards its slider **replay** takes you back through the training: find the step at which the first pattern appears in the squares. Then the model writes.

# %% tags=["answer", "nbval-ignore-output"]
history = run.result()
opening = corpus.tokenizer.encode("\n")[None]
dice = torch.Generator().manual_seed(0)
text = generate(model, opening, n_tokens=400, generator=dice)
print(corpus.tokenizer.decode(text[0]).strip())

# %% [markdown]
# To count, we need more of them. A word is right if it stands in the training text, a shape if a question with one word for an answer comes at the end (*so …* may follow), and a whole story if the grammar can read it.

# %% tags=["answer", "nbval-ignore-output"]
vocabulary = set(re.findall(r"\w+", corpus.tokenizer.decode(corpus.train)))
pages = generate(model, opening.repeat(16, 1), n_tokens=400, generator=dice)
lines = [line for page in pages for line in corpus.tokenizer.decode(page).strip().split("\n")[:-1]]
words = [word for line in lines for word in re.findall(r"\w+", line)]
spelt = sum(word in vocabulary for word in words) / len(words)
shaped = sum(bool(re.fullmatch(r".+\? \w+\.( so .+)?", line)) for line in lines) / len(lines)
whole = sum(bool(grammar.derivations(line)) for line in lines) / len(lines)
print(f"{spelt:.0%} of {len(words)} words are right")
print(f"of {len(lines)} stories {shaped:.0%} have the shape, and {whole:.0%} are whole")

# %% tags=["answer", "nbval-ignore-output"]
writing_guess.compare(levels[sum(share > 0.5 for share in (spelt, shaped, whole))])

# %% [markdown]
# Names look like names, nine words of ten are words, and nearly every story has its question and its full stops. Yet hardly one of them could be a tale: a verb comes back in another form, or somebody asks about a thing that nobody lost. The model has learnt how tales *sound*.

# %% [markdown]
# ## What a loss is: nats per character
#
# Before each character the model says how probable it holds every candidate. Its [**loss**](../docs/glossary.md#loss) is $-\ln p$ of the character that really came, averaged over a text it has never seen. The unit is the [*nat*](../docs/glossary.md#nats), the natural logarithm's sister of the bit (one nat is 1.44 bits).
#
# The exponential of a loss, its [perplexity](../docs/glossary.md#perplexity), is easier to feel: it is the number of equally likely characters among which the model hesitates. Knowing nothing means hesitating among the whole alphabet. A loss of zero would mean never being surprised.
#
# Now comes what makes our corpus special. Because a grammar wrote it, two limits are known *exactly*:
#
# - the [**bigram floor**](../docs/glossary.md#floor): the best anyone can do who sees only the present character, and none before it;
# - the [**entropy floor**](../docs/glossary.md#entropy): the best anyone can do at all. What remains is the grammar's own dice.

# %%
limits = {
    "no idea at all": math.log(corpus.tokenizer.vocab_size),
    "bigram floor": corpus.bigram_floor,
    "entropy floor": corpus.floor,
}
rows = [(name, f"{nats:.2f}", f"{math.exp(nats):.1f}") for name, nats in limits.items()]
Table(("", "nats per character", "hesitates among … characters"), rows, stable=3)

# %% [markdown]
# Here is your training run once more, between all three limits. It starts where anyone starts who has no idea, falls through the bigram floor once it looks further back than one character, and then goes on more slowly towards the entropy floor.

# %% tags=["nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(7, 4))
title = f"In {recipe.steps} steps a tiny v4 falls to {history[-1].val_loss:.2f} nats per character"
plots.draw_losses(ax, {"v4": [step.loss for step in history]}, limits, title)
ax.legend(loc="upper right", bbox_to_anchor=(1, 0.92))
plt.show()

# %% [markdown]
# Half a nat is left. Remember what the model reads: windows of 96 characters, cut out of the text anywhere.

# %%
yes, below, no = (
    "yes, as close as you like",
    "yes, and below it, once it knows the stories by heart",
    "no, however large it is and however long it learns",
)
floor_guess = live.predict(
    "On such windows, could a larger model, with more steps, get down to the entropy floor?", [yes, below, no]
)
floor_guess

# %% [markdown]
# `floor_by_position` works out what the best of all readers loses on such windows: one who knows the grammar by heart, and sees nothing but the window. (It takes a while, so the result is stored.)

# %% tags=["answer", "nbval-ignore-output"]
floors_found = load_results("floors")  # floor_by_position, on 80 windows of each corpus
least = np.array(floors_found["mean"]["tales"][: config.block_size])  # (96,) nats
reached, cut_price = history[-1].val_loss - least.mean(), least.mean() - corpus.floor
print(f"best reader of such windows: {least.mean():.2f}; first 8 places {least[:8].mean():.2f}")
print(f"of the gap, {cut_price:.2f} is the cut's and {reached:.2f} the model's")
floor_guess.compare(no if cut_price > 0.05 else below if cut_price < -0.05 else yes)

# %% [markdown]
# Who reads a window from the middle of a story does not know what happened before the cut, and has to guess. So the gap has two parts. The smaller one is the price of cut windows, highest at their beginning, where nobody can know. The larger one is our model's own: in 300 steps it has not learned all that this text offers. And learning by heart does not help, as the next section shows.

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

# %%
sizes = ["thousands", "millions", "billions", "trillions"]
story_guess = live.predict("With lists as long as these, our story is one in how many?", sizes)
story_guess

# %% tags=["answer"]
names, verbs = len(grammar.words["name"]), len(grammar.words["verb"])
choices = [len(grammar.rules["story"]), names, verbs, names - 1, len(grammar.rules["gap"])]
by_hand = -sum(math.log(n) for n in choices)
print(f"one story in {math.prod(choices):,}: {-by_hand:.2f} nats")
print(f"{-by_hand / len(story + chr(10)):.2f} nats per character")
story_guess.compare(sizes[int(math.log10(math.prod(choices))) // 3 - 1])

# %%
assert math.isclose(by_hand, grammar.log_prob(story))

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
# We ask it 200 questions, each beside its mirror. The right name and the wrong one both stand in the story, and the model must give the right one more probability. Its loss is far below the bigram floor, and its stories look almost right.

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
asked = grammar.questions(200, seed=2, max_chars=config.block_size)
accuracy = role_accuracy(model, corpus.tokenizer, asked)
answers_guess.compare(100 * accuracy)

# %% [markdown]
# Little better than a coin, if at all. This gap, between sounding right and knowing who stood where, is what the course is about.
#
# Is RoPE to blame, or is this model undertrained? The course has stored longer runs: 600 steps with 96 channels, on the *plain tales*. Their stories are simpler: one kind of fact, and no scenes before the question. Each model was trained from six [seeds](../docs/glossary.md#seed). Beside v4 stands its twin without any code for position, [*nope*](../docs/glossary.md#nope).

# %%
outcomes = ["both above 90%", "v4 above 90%, its twin below 75%", "both below 75%", "none of these"]
larger_guess = live.predict(
    "What share of 400 questions do this v4 and its twin without a position code answer correctly?",
    outcomes,
)
larger_guess

# %% tags=["answer", "nbval-ignore-output"]
board = load_results("ladder")["board"]
v4, twin = (board[name]["roles"] for name in ("v4", "nope"))
for name, shares in (("v4", v4), ("nope", twin)):
    print(f"{name:5}", *(f"{share:.0%}" for share in shares))
holds = [min(v4 + twin) > 0.9, min(v4) > 0.9 and max(twin) < 0.75, max(v4 + twin) < 0.75, True]
larger_guess.compare(outcomes[holds.index(True)])

# %% [markdown]
# Each number is a run from another seed. v4 prefers the right name in more than nine of ten questions from each of these six seeds. From six others it did so five times, and one run stayed near chance. Its twin stays at chance from all twelve, at this size and after this many steps. Notebook 04 asks for more than a preference: there v4 has to write the name, letter by letter. `python -m babygpt figures ladder` trains all models of this board again, which took 23 minutes of two cores.

# %% [markdown]
# ## Promises, kept and broken
#
# Each notebook checks what a model or an encoding [**promises**](../docs/glossary.md#promise). A promise is a sentence with a number behind it: ✓ it holds, ✗ it does not. The same functions run in the package's tests. Two promises that every GPT must keep:

# %% tags=["nbval-ignore-output"]
ids = corpus.val[: config.block_size]
of_every_gpt = [invariants.causal(model, ids), invariants.cache_equals_full(model, ids)]
assert all(promise.holds for promise in of_every_gpt)
invariants.promises(of_every_gpt)

# %% [markdown]
# The first says that changing the last character changes no earlier prediction: the model does not peek. The second says that writing with a [memory](../docs/glossary.md#cache) of what was computed before, which is faster, gives the same numbers as starting over.
#
# The course grew out of five **source notes**, written in Chinese, on systems that their authors had sketched. The notes make claims: *this encoding extrapolates, that one keeps texts apart*. We measure them. Some hold (✓), some fail (✗), some depend on what you ask (≈), and some our seeds do not decide (?). The notebooks show you the number either way. A claim that fails is not an embarrassment here; it is usually where the lesson is.

# %% [markdown]
# ## The ladder
#
# Seven models, each one idea away from the last.
#
# | version | name | what is new | notebook |
# |---|---|---|---|
# | v1 | bag of tokens | a token votes for the next one, alone | [01](01_bag_of_tokens.ipynb) |
# | v2 | learned positions | a trained vector for each place | [02](02_learned_positions.ipynb) |
# | v3 | sinusoidal | attention, and a fixed table of waves to tell it the place | [03a](03a_attention.ipynb), [03b](03b_sinusoidal.ipynb) |
# | v4 | RoPE | no table: queries and keys are rotated | [04](04_rope.ipynb) |
# | v5 | Gaussian RoPE | rotation, and a bell curve over distance | [05](05_gaussian_rope.ipynb) |
# | v6 | Fourier branches | several texts in one sequence, and a code that says which is whose | [06](06_fourier_branches.ipynb) |
# | v7 | polar gate diffusion | no left to right: masked characters are filled in, in any order | [07a](07a_diffusion.ipynb), [07b](07b_polar_gates.ipynb) |
#
# [08](08_the_ladder.ipynb) puts all of them on one board, and [09](09_museum_of_bugs.ipynb) is a museum of bugs: models whose loss falls nicely while something is wrong with their positions. You find out what by asking for promises. [10](10_beyond_the_window.ipynb) asks the engineer's question: how does a model read further than it was trained?

# %% [markdown]
# How good were your guesses in this lesson? Only those count that came before their outcome.

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Exercises
#
# Solve what you like. Each exercise is three cells: the task, a cell for your answer, and a check. Write over the line that stands there, run your cell and then the check: it tells you what is right and, for what is not, an input that shows it. `start.MIRROR.hint()`, in a new cell, gives one hint at a time, and `start.MIRROR.solution()` one way to do it. *Warm-up* and *core* carry the lesson; *stretch* is for those who want more.

# %%
start.MIRROR


# %%
def mirror(story: str, one: str, other: str) -> str:
    """The same story with two names exchanged."""
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
# 1. A story and its mirror hold the same characters and have opposite answers, so whoever ignores order is right about exactly half of them.
# 2. If the hands of two tokens turn with their places, the angle between them depends on their distance alone.
# 3. A loss is counted in nats per character, and for the tales two limits are known exactly: the bigram floor for those who see one character, and the entropy floor for everybody.
# 4. On windows cut anywhere even a perfect reader stays above the entropy floor, because nobody knows what stood before the cut.
# 5. On the plain tales, v4 answered more than nine questions of ten from 11 of 12 seeds (2 layers of 96 channels, 600 steps). Its twin without a position code stayed at chance from all of them.

# %% [markdown]
# ## Self-test
#
# **1.** A model that ignores order is asked both questions of a mirror pair. How many of the two does it get right?
#
# - a) none
# - b) exactly one
# - c) none, one or two: it is luck
#
# <details><summary>Answer</summary>
#
# **b.** Both stories are the same heap of letters to it, so it prefers the same name both times, and that name is right once. Tempting is *c*, but luck would need two independent tosses, and here there is one.
#
# </details>
#
# **2.** A model loses 0.69 nats per character, which is ln 2. What does that mean?
#
# - a) about half a bit per character
# - b) it is right about 69% of the characters
# - c) one bit per character: it hesitates as between two
#
# <details><summary>Answer</summary>
#
# **c.** The exponential of ln 2 is 2, and to choose between two takes one bit. Tempting is *a*: whoever multiplies by 0.69 instead of dividing gets it; a nat is *more* than a bit.
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
# **a.** The floor holds for those who see one character. Tempting is *b*, but our model was far below this floor and answered who did it no better than a coin. (*c* would be true of the entropy floor.)
#
# </details>
#
# **4.** Why can no model reach the entropy floor on windows that are cut anywhere?
#
# - a) all models are too small
# - b) nobody knows what stood before the cut
# - c) the grammar throws dice
#
# <details><summary>Answer</summary>
#
# **b.** The floor is the price for a reader who has seen the whole story so far. Tempting is *c*, but the dice are what the floor already counts.
#
# </details>
#
# **5.** On the plain tales eleven of twelve v4 answered more than 90% of the questions, and twelve twins without a position code about half. What follows?
#
# - a) without a position code no model ever learns order
# - b) RoPE is the best of all codes
# - c) at this size and after 600 steps, this code made the difference
#
# <details><summary>Answer</summary>
#
# **c.** Nothing else differed between the twins. Tempting is *a*, but these runs tried neither longer training nor another size. In notebook 03a a model without a code learns order in a smaller world.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Shannon, 1951, *Prediction and Entropy of Printed English*](https://doi.org/10.1002/j.1538-7305.1951.tb01366.x) — how well people guess the next letter, and what entropy follows from it.
# - [Vaswani et al., 2017, *Attention Is All You Need*](https://arxiv.org/abs/1706.03762) — the Transformer, and in its section 3.5 why it needs to be told positions.
# - [Dufter, Schmitt and Schütze, 2021, *Position Information in Transformers: An Overview*](https://arxiv.org/abs/2102.11090) — a map of the many answers.
# - [Eldan and Li, 2023, *TinyStories*](https://arxiv.org/abs/2305.07759) — small models that learn from small stories, written there by a large model instead of a grammar.

# %% [markdown]
# ## What comes next
#
# We begin at the bottom. What can a model do that sees one token at a time, and where exactly does it stop? → [01 · Bag of tokens](01_bag_of_tokens.ipynb)
