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
# *The way, page 1 of 8. Left to read: about 5½ hours.*
#
# *zira chased wula* and *wula chased zira* hold the same letters, so only their order tells who chased whom. Run the next cell with Shift+Enter: a small model, called **v4**, learns from such stories. In less than half a minute it knows who did it, and it still writes a wrong name.
#
# **Needs:** what `make lab` has installed, and no network; you read Python and have met vectors. **Takes:** about 50 seconds to run on two cores, and by our estimate 36 minutes to read and guess. The exercises take about 22 minutes.

# %% tags=["nbval-ignore-output", "remove-stdout"]
print("PyTorch loads first, which takes a few seconds. Then v4 trains here.", flush=True)

import torch

import babygpt_live as live
from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus
from babygpt_course import explorers
from babygpt_course.tools import letters

corpus = load_corpus("plain-tales", n_chars=400_000)
tokenizer, questions = corpus.tokenizer, corpus.grammar.questions(400, seed=2, max_chars=64)
torch.manual_seed(1337)
v4 = build("v4", ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96))
watches = [letters(tokenizer, questions[2:26])]
run = live.train(v4, NextToken(corpus, 64), TrainConfig(steps=600), "v4", watches=watches)

# %% [markdown]
# Each bar tells how much one letter of the story surprises the model; • is a space. When the training is over, drag the timeline to 0 and slowly back: one bar after another falls. Blue bars stay at the names, at the verb, and where the question can go on in several ways, because no reader could know these beforehand. The orange bars belong to the answer. This name stands in the story, so the model could copy it, and still one orange bar stays.
#
# The title counts 24 questions. We now ask 400, and look at six of the names that the model writes.

# %%
import math

import matplotlib.pyplot as plt
from torch import Tensor

import babygpt_live as live
from babygpt import metrics
from babygpt.doctor import checks, format_diagnoses
from babygpt.experiments import paired
from babygpt.tables import Table
from babygpt_course.exercises import lesson_00 as start
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import results, seed_plots

# %% tags=["nbval-ignore-output"]
run.result()
known = metrics.role_accuracy(v4, tokenizer, questions)
names = metrics.greedy_answers(v4, tokenizer, questions)
written = sum(name == question.answer for name, question in zip(names, questions, strict=True)) / 400
print(f"your v4: {known:.0%} of the answers known, {written:.0%} of the names written")
rows = [(questions[i].prompt.strip(), questions[i].answer, names[i]) for i in range(2, 14, 2)]
Table(("question", "right name", "v4 writes"), rows, stable=2)

# %% [markdown]
# An answer is *known* if the model finds the right name more probable than the other name of the story. It is *written* if the model, which takes the most probable letter each time, spells the right name. We stored twelve such models, each from another [seed](../docs/glossary.md#seed), which is another random beginning. From the seed of this page v4 knew 98% of the answers and wrote 22% of the names. This is the usual result, because eleven of the twelve models know who did it, and only one of these can spell. This course finds out why, and after this first lesson you will be able to
#
# 1. turn a loss into a number of equally likely letters,
# 2. test with a story and its mirror whether a model uses order,
# 3. compute how low the loss of a story can get,
# 4. say of an explanation which result would refute it.
#
# ## How to use a notebook
#
# Run the cells from top to bottom with Shift+Enter. *Run All* would show all results first. Where you see a question, click on your answer or move the slider. The result appears further down, hidden behind three dots until you run its cell. A word such as [token](../docs/glossary.md#token) leads to the glossary; here a token is a character.

# %% [markdown]
# ## What a bar measures
#
# Before each character, the model gives every possible character a probability. Let $p$ be that of the character that really comes. Its [loss](../docs/glossary.md#loss) is $-\ln p$, and this is the height of a bar:
#
# - If the model is sure and right, $p$ is 1, and the loss is 0.
# - If it chooses between two equally likely characters, $p$ is 1/2, and the loss is $\ln 2 \approx 0.69$.
#
# The unit is the [nat](../docs/glossary.md#nats). Our stories, the [tales](../docs/glossary.md#tales), are written by a small program, their *grammar*. In the picture one orange bar stayed: the second letter of the answer costs about 1.6 nats.

# %%
letter_guess = predict(
    "A letter costs 1.6 nats. Among how many equally likely letters does v4 choose?", ["2", "5", "16", "32"]
)
letter_guess

# %% tags=["answer", "nbval-ignore-output"]
costs = metrics.answer_losses(v4, tokenizer, questions)  # of the four letters and of the full stop
rows = [(f"{i + 1}", f"{cost:.2f}", f"{math.exp(cost):.1f}") for i, cost in enumerate(costs[:4])]
display(Table(("letter of the name", "mean loss (nats)", "as among so many letters"), rows, stable=1))
letter_guess.compare(min(letter_guess.options, key=lambda n: abs(math.log(int(n)) - costs[1])))

# %% [markdown]
# A choice among $n$ equally likely letters costs $\ln n$, so a loss of $L$ is that of a choice among $e^L$ letters, and $e^{1.6} \approx 5$. How names are made explains the number: one of 16 consonants, one of five vowels, *l* or *r*, and *a*, as in *zira* and *wula*. A guess among five vowels costs ln 5 = 1.61 nats. Your v4 pays about as much for the vowel, and so does v4 from [other seeds](../docs/results.md#knowing-who-and-writing-the-name). **The second letter of the name costs as much as a guess among five: v4 knows that a vowel is due, and hardly which one.**
#
# That makes the case strange. In your table the first letter costs almost nothing, so v4 finds the right one of 16 consonants in the story. The vowel stands right after this consonant: why does v4 not copy the vowel too?
#
# ## Nine explanations
#
# Think of an explanation of your own before you read these nine, of which more than one may be right.
#
# 1. *it recalls the vowel only in part*
# 2. *it ignores order*: it may know which names it has read, and not in which order they stood
# 3. *its positions do not tell neighbours apart*: to copy, it has to find what stands right after a letter
# 4. *it does not look at the name*
# 5. *the vowel is too far away*
# 6. *the model is too small to copy*: it has two layers and 226 thousand weights
# 7. *it needs more steps*: 600 are few
# 8. *it has a bug*: a model can learn although its code is wrong
# 9. *its encoding makes it late*: told in another way where its tokens stand, the same model might spell sooner
#
# Which one would you test first, and which result would refute it? The lessons test them one after another, and this lesson begins with *it ignores order*.
#
# ## A story and its mirror
#
# Our questions come in pairs. Each story has a [mirror](../docs/glossary.md#mirror-pair), the same story with the two names exchanged.

# %%
story, mirror_story = questions[2:4]
for question in (story, mirror_story):
    print(question.prompt.strip(), "→", question.answer)
assert sorted(story.prompt) == sorted(mirror_story.prompt)

# %% [markdown]
# v4 is a small [Transformer](../docs/glossary.md#transformer), the kind of network behind today's language models. It gets the position of each token by [RoPE](../docs/glossary.md#rope), a rotation that lesson 04a builds. Its twin [nope](../docs/glossary.md#nope) gets no positions and is equal in everything else. Both train in 600 steps. Each step takes 12 [windows](../docs/glossary.md#window), pieces of 64 characters that begin anywhere in the text. It changes every weight a little, so that the mean loss of these characters becomes smaller. Lesson 01 makes such a step by hand.
#
# The story and the mirror above hold the same letters, and their right answers differ. A model that ignores order cannot tell the two apart, so it prefers the same name in both, and this name is right in one story and wrong in the other. So it is right in one of the two, whatever its weights are. Without any knowledge of order a model knows *exactly* 50% of our answers, whereas a coin gets 50% only on average. Whether nope is such a model, we shall see.

# %% tags=["nbval-ignore-output"]
torch.manual_seed(1337)
nope = build("nope", v4.config)
ladder = results.load_results("ladder")
floors = {"best reader": ladder["window_floor"]}
watches = [explorers.roles(tokenizer, questions[:24])]
without = live.train(
    nope, NextToken(corpus, 64), TrainConfig(steps=600), "nope", floors, watches, baseline=run
)

# %% tags=["nbval-ignore-output"]
without.result()
share = metrics.role_accuracy(nope, tokenizer, questions)
print(f"your nope: {share:.0%} of 400 answers known")

# %% [markdown]
# At first the twins learn alike, and then v4, the blue curve, leaves its twin behind. One pair of runs may be luck, so the picture after your guess has our twelve seeds of both. A dot is the share of answers that a model knows, and its ring the share of names that it writes.

# %%
exactly = ["all twelve", "about half of them", "two or fewer"]
nope_guess = predict("From how many of twelve seeds does nope know exactly half of the answers?", exactly)
nope_guess

# %% tags=["answer"]
board = {key: {name: ladder["board"][name][key] for name in ("v4", "nope")} for key in ("roles", "whole")}
known, written = (paired.percent(shares) for shares in board.values())
count = {name: sum(share > 90 for share in seeds) for name, seeds in known.items()}
fig, ax = plt.subplots(figsize=(8, 2.4))
title = f"{count['v4']} of 12 models with RoPE know who did it, and {count['nope']} of 12 without it"
seed_plots.draw_seed_dots(
    ax, known, title, "● answers known, ○ names written (%)", {"chance": 50}, (-2, 102), written
)
plt.show()
n_exact = sum(share == 0.5 for share in ladder["board"]["nope"]["roles"])
nope_guess.compare(exactly[0 if n_exact == 12 else 1 if n_exact > 2 else 2])

# %% [markdown]
# Eleven dots of v4 lie above 90%, and one lies near 55%. The dots of nope lie between 47 and 52%, close to the 50% of a model that ignores order, but only one lies at *exactly* 50%. Lesson 03a explains why a model without positions need not be blind to order. At this size and after 600 steps the position encoding, which tells a model where its tokens stand, makes the difference. Of the eleven models whose dot lies above 90%, only one has its ring there as well, and this is our case.
#
# The one high ring is a clue, too. Its model has the size, the code and the encoding of the other eleven, and began with other random weights. Which of the nine explanations can a single ring refute?
#
# ## How low can a loss get?
#
# With 16 consonants, five vowels and *l* or *r* there are 16 · 5 · 2 = 160 names. The grammar wrote the story by four choices among equally likely candidates: one of 4 forms, of 160 names, of 24 verbs, and of the 159 other names. All other letters follow from these, the whole answer among them. A *best reader* knows the grammar, and not how the program will choose. So even this reader loses ln 4 + ln 160 + ln 24 + ln 159 nats, and no more:

# %% tags=["nbval-ignore-output"]
text = f"{story.prompt.strip()} {story.answer}."
best = math.log(4 * 160 * 24 * 159)
assert math.isclose(best, -corpus.grammar.log_prob(text))
ids = tokenizer.encode(f"\n{text}\n")
with torch.inference_mode():
    log_p = v4(ids[None])[0, :-1].log_softmax(dim=-1)  # (T, V), of each character after those before it
losses = -log_p.gather(1, ids[1:, None])[:, 0]  # (T,)
print(f"the best reader loses {best:.1f} nats in this story, and your v4 {losses.sum():.1f}")
print(f"the second letter of the answer: {losses[-5]:.1f}")

# %% [markdown]
# The difference is about as large as the one orange bar. Spread over the 36 letters of the story it is so small that the loss alone would not have told you that v4 cannot spell.
#
# Over all stories, the best reader loses 0.326 nats per character on average if each is read from its beginning. This is the [entropy floor](../docs/glossary.md#entropy). Our models train on windows that begin anywhere, mostly in the middle of a story. Nobody can know the names that stood before the window, so there the best reader loses more: 0.468 nats per character ([how we computed it](../docs/results.md#the-floor-of-a-window-that-begins-anywhere)). This is the dashed line *best reader* in the dashboards. After 600 steps our stored v4 from the seed of this page loses 0.53 in such windows, only 0.06 above the line.
#
# ## A map of the course
#
# The way through the course has eight pages, of which this is the first. [03a](03a_attention.ipynb), [03b](03b_sinusoidal.ipynb), [04a](04a_rope.ipynb) and [04b](04b_which_heads.ipynb) are about attention, positions and heads. [04c](04c_seven_models.ipynb) trains all seven models on one page, [12](12_the_case_is_closed.ipynb) ends the case, and in [13](13_build_your_own.ipynb) you write a GPT yourself. All other lessons are side trips, each complete in itself.
#
# | model | what is new | lesson |
# |---|---|---|
# | v1 | each token predicts the next one alone | [01](01_bag_of_tokens.ipynb) |
# | v2 | a trained vector for each position | [02](02_learned_positions.ipynb) |
# | v3 | attention, and a fixed table of waves | [03a](03a_attention.ipynb), [03b](03b_sinusoidal.ipynb) |
# | v4 | RoPE, a rotation | [04a](04a_rope.ipynb) |
# | v5 | a bell curve over distance | [05](05_gaussian_rope.ipynb) |
# | v6 | several texts in one sequence | [06](06_fourier_branches.ipynb) |
# | v7 | masked characters are filled in | [07a](07a_diffusion.ipynb), [07b](07b_polar_gates.ipynb) |
#
# Four more side trips do not add a model: [08](08_the_ladder.ipynb) compares position encodings from the same seeds, [09](09_museum_of_bugs.ipynb) collects bugs, [10](10_beyond_the_window.ipynb) reads longer texts, and [11](11_a_real_model.ipynb) takes a published model apart.
#
# ## The case
#
# v4 knows who did it, and cannot spell: it tells a story from its mirror, and then pays for the vowel what a guess among five costs. A model that ignores the order of the names knows exactly 50% of the answers, and v4 knows 98%. So *it ignores order* is out already; lesson 03a asks how a model can know order at all. The order of the letters *inside* a name is another matter, because a mirror leaves each name as it is: *its positions do not tell neighbours apart* stays on the list.
#
# The one high ring strikes a second explanation. A model of this size writes 93% of the names, so *the model is too small to copy* is out. It weakens four others, *its positions do not tell neighbours apart*, *the vowel is too far away*, *it needs more steps* and *it has a bug*. For this model has the same position encoding, reads names that stand as far away, trained for 600 steps, and runs the same code. So none of the four makes spelling impossible, although each, like the size, may still make it late. Seven explanations are left. At the end of the way you will know what helps v4 to spell, and what nobody knows yet.

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run its cell, and then run the check, which tells what is right and what is not. In a new cell, `start.MIRROR.hint()` gives one hint at a time, and `start.MIRROR.solution()` shows a solution.

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

# %% [markdown]
# ## If a cell fails
#
# The next cell checks your installation. If a line has the mark ✗, it also says what to do.

# %% tags=["nbval-ignore-output"]
print(format_diagnoses(checks()))

# %% [markdown]
# ## Recap
#
# 1. The loss for a character is $-\ln p$, and a loss of $L$ nats is that of a choice among $e^L$ equally likely characters.
# 2. After 600 steps v4 knows nearly all answers from eleven of twelve seeds, and ten of these write at most a third of the names (2 layers of 96 channels). The second letter costs as much as a guess among five.
# 3. A story and its mirror have the same characters and different answers, so a model that ignores order knows exactly half of them.
# 4. All twelve runs of nope, which gets no positions, stay near 50%.
# 5. In whole stories the best reader loses only where the grammar had a choice: 0.326 nats per character. In windows of 64 characters that begin anywhere it loses 0.468, because names before the window are unknown.

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
# **b.** Both stories hold the same letters, so the model gives the same name twice, and this name is right once. If you chose *c*: luck would need two independent guesses.
#
# </details>
#
# **2.** A model has a loss of 0.69 nats for a character. This is ln 2. What does it mean?
#
# - a) the model gave the right character a probability of 0.69
# - b) the model gave the right character a probability of 1/2
# - c) the model is right in 69% of all cases
#
# <details><summary>Answer</summary>
#
# **b.** The loss is $-\ln p$, and $-\ln (1/2) = \ln 2$. If you chose *a*: a probability of 0.69 has a loss of only 0.37 nats.
#
# </details>
#
# **3.** A model knows 98% of the answers and writes 20% of the names. How can both be true?
#
# - a) it often guesses wrong, and luck helps it with two names
# - b) to prefer the right one of two names, it mostly needs their first letters only
# - c) one of the numbers must be a mistake
#
# <details><summary>Answer</summary>
#
# **b.** Most pairs of names begin with different letters. If you chose *a*: luck between two names would give 50%.
#
# </details>
#
# **4.** A grammar chooses one of 8 colours and writes it twice. What does the best reader lose?
#
# - a) 2 · ln 8 nats
# - b) ln 8 nats
# - c) 0 nats
#
# <details><summary>Answer</summary>
#
# **b.** There was one choice among 8 candidates. If you chose *a*: the second time the colour is known.
#
# </details>
#
# **5.** On the plain tales 11 of 12 runs of v4 know more than 90% of the answers, and their twins about half. What follows?
#
# - a) without a position encoding no model ever learns order
# - b) RoPE is the best of all encodings
# - c) at this size and after 600 steps, this encoding made the difference
#
# <details><summary>Answer</summary>
#
# **c.** The twins differ in nothing else. If you chose *a*: in lesson 03a a model without an encoding learns order on shorter stories.
#
# </details>

# %% [markdown]
# ## What the source notes say
#
# The course grew out of five source notes in Chinese, which describe models and make claims about them. We measure these claims: some hold (✓) and some fail (✗), some depend on what you ask (≈), and some stay undecided (?).

# %% [markdown]
# ## Further reading
#
# - [Prediction and Entropy of Printed English](https://doi.org/10.1002/j.1538-7305.1951.tb01366.x) — Shannon 1951; how well people guess the next letter.
# - [Attention Is All You Need](https://arxiv.org/abs/1706.03762) — Vaswani et al. 2017; the Transformer, and why it needs positions (section 3.5).
# - [TinyStories](https://arxiv.org/abs/2305.07759) — Eldan & Li 2023; small models that learn from small stories.

# %% [markdown]
# ## What comes next
#
# v4 tells a story from its mirror. How does a token learn anything about the tokens before it, and about their order? → [03a · Attention](03a_attention.ipynb)
#
# If you have time for a side trip: does v4 recall a part of the vowel, or nothing at all? To read such a number we need a model that certainly recalls nothing, and the smallest one sees a single token at a time. → [01 · Bag of tokens](01_bag_of_tokens.ipynb)
