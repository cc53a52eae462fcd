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
# *ada chased ben* and *ben chased ada* hold the same letters. Only the order tells who chased whom. A GPT compares its [tokens](../docs/glossary.md#token) in pairs, and this comparison ignores their order. A GPT can infer a little about order by itself, as lesson 03a shows. The rest we have to tell it. This course builds seven models. The first gets no positions. Each of the others gets them in another way. You train them on your computer and measure what they can do. In this first lesson you will
#
# 1. move the parts of a picture that shows one way to tell positions,
# 2. train a model with this method, and its twin without it,
# 3. compute what a loss is, and how low it can get,
# 4. see a map of the course.
#
# **Needs:** what `make lab` has installed, and no network. You read Python, have met vectors and matrices, and have used NumPy or PyTorch a little. **Takes:** about 40 seconds to run on two cores, and by our estimate 33 minutes to read and guess. The exercises take about 22 minutes, and those marked *stretch* take 12 more.

# %% tags=["nbval-ignore-output"]
import math

import matplotlib.pyplot as plt
import torch
from torch import Tensor

from babygpt import ModelConfig, NextToken, TrainConfig, build, live, load_corpus, metrics, plots
from babygpt.doctor import checks, format_diagnoses
from babygpt_course.exercises import lesson_00 as start
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import paired, results, seed_plots

# %% [markdown]
# We begin with a method called [RoPE](../docs/glossary.md#rope). Many of today's GPTs use it. The picture shows a text with two marked tokens, q and k. Each has a clock hand that turns with its position. Run the next cell with Shift+Enter. Then <span class="light-text">drag the blue **q** along the text</span>, and watch <span class="light-clock">the angle between the hands</span>.

# %%
plots.set_style()
live.rotary()

# %% [markdown]
# You moved both tokens together. Both hands turned, and the angle between them stayed the same. Now drag the orange **k** alone. The distance between the tokens changes, and the angle changes too.
#
# <span class="light-later">The second clock</span> shows the same two tokens 37 positions later. Its hands point elsewhere, but their angle is the same. So **the angle tells the model how far apart two tokens are**. Lesson 04 explains the rest of the picture.
#
# ## How to use a notebook
#
# - **Run** the cells from top to bottom with Shift+Enter. You can change a number and run a cell again. Do not begin with *Run All*, because it shows all results first.
# - **Guess** where you see a question. Click an answer, or type a number and press Enter. The result appears further down, beside your guess. Guessing is optional.
# - **Unfold** a result that is hidden behind three dots: run its cell, or click the dots.
# - **Look up** a word such as [token](../docs/glossary.md#token) with a click.
# - **Solve** the exercises at the end. Each has a check that says what is right and what is not.
#
# The next cell checks your installation. If a line has the mark ✗, the line also says what to do.

# %% tags=["nbval-ignore-output"]
print(format_diagnoses(checks()))

# %% [markdown]
# ## A story and its mirror
#
# Our models learn from [**tales**](../docs/glossary.md#tales). A tale is a small story that a program has written. The program is called a *grammar*. Here we use the *plain tales*, the shortest kind. Each states a fact and then asks about it.

# %%
corpus = load_corpus("plain-tales", n_chars=400_000)
tokenizer, grammar = corpus.tokenizer, corpus.grammar
print(tokenizer.decode(corpus.val[:200]))

# %% [markdown]
# For each story there is a [**mirror**](../docs/glossary.md#mirror-pair): the same story with the two names exchanged.

# %%
questions = grammar.questions(400, seed=2, max_chars=64)
story, mirror_story = questions[:2]
for question in (story, mirror_story):
    print(question.prompt.strip(), "→", question.answer)
assert sorted(story.prompt) == sorted(mirror_story.prompt)

# %% [markdown]
# Both stories hold the same letters, but the right answers differ. A model that ignores order gives the same answer twice. So it is right in one story and wrong in the other. Therefore **50%** right answers are a sign that a model does not know the order.
#
# ## Train two models
#
# Now we train two small [Transformers](../docs/glossary.md#transformer). **v4** is the fourth of our seven models, and uses RoPE. [**nope**](../docs/glossary.md#nope) is its twin without any position encoding. The twins are equal in everything else.
#
# A model reads a [window](../docs/glossary.md#window) of 64 characters, and predicts after each character the next one. Training repeats one **step** 600 times:
#
# 1. Take 12 windows of text.
# 2. Compute the [loss](../docs/glossary.md#loss), a number that is small if the predictions are good.
# 3. Change every weight of the model a little, so that the loss becomes smaller.
#
# Lesson 01 makes such a step by hand. First a guess:

# %%
outcomes = ["both", "only v4", "only nope", "neither"]
answers_guess = predict("Which model will answer more than 90% of the questions?", outcomes)
answers_guess

# %% tags=["answer", "nbval-ignore-output"]
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
floors, watches = {"entropy floor": corpus.floor}, [live.roles(tokenizer, questions[:24])]
plan, models, runs = TrainConfig(steps=600), {}, {}
for name in ("nope", "v4"):
    torch.manual_seed(1337)
    models[name] = build(name, shape)
    runs[name] = live.train(models[name], NextToken(corpus, 64), plan, name, floors, watches)

# %% [markdown]
# The models train one after the other while you read on. Each has a dashboard. The left panel shows the loss. The right panel shows how many of 24 questions the model answers correctly. We count an answer as right if the model gives the right name a higher probability than the other name.
#
# The next cell waits for both trainings. Then each model answers 400 questions.

# %% tags=["answer", "nbval-ignore-output"]
for run in runs.values():
    run.result()
right = {name: metrics.role_accuracy(model, tokenizer, questions) for name, model in models.items()}
for name, share in right.items():
    print(f"your {name}: {share:.0%} of 400 answers are right")
knows = {name: share > 0.9 for name, share in right.items()}
answers_guess.compare(outcomes[3 - 2 * knows["v4"] - knows["nope"]])

# %% [markdown]
# Above its panels each dashboard has a timeline. Drag that of v4 to the left and slowly back. The right answers stay near 50% for a while and then rise.
#
# Two runs may be luck. So we trained both models twelve times. Each time we used another [seed](../docs/glossary.md#seed), which gives other first weights and other windows. In the next picture each dot is one trained model.

# %% tags=["answer"]
board = results.load_results("ladder")["board"]
shares = {name: board[name]["roles"] for name in ("v4", "nope")}
known = {name: sum(share > 0.9 for share in seeds) for name, seeds in shares.items()}
fig, ax = plt.subplots(figsize=(8, 2.4))
title = f"{known['v4']} of 12 models with RoPE know who did it, and {known['nope']} of 12 without it"
seed_plots.draw_seed_dots(ax, paired.percent(shares), title, "right answers (%)", {"chance": 50}, (40, 102))
plt.show()

# %% [markdown]
# Look at the upper row first. Eleven dots of v4 lie above 90%, and one dot lies near 55%. In the lower row all dots of nope lie near 50%. So at this size and after 600 steps, **the position encoding makes the difference**.
#
# ## What a loss is
#
# Before each character, the model gives every possible character a probability. Let $p$ be the probability of the character that really comes. The loss for this character is $-\ln p$:
#
# - If the model is sure and right, $p$ is 1, and the loss is 0.
# - If the model chooses between two equally likely characters, $p$ is 1/2, and the loss is $\ln 2 \approx 0.69$.
# - If $p$ is close to 0, the loss is large.
#
# The unit is the [nat](../docs/glossary.md#nats). Let us look at the loss of your v4 for the story from above, letter by letter. The name of the doer stands in the story twice: at the start, and as the answer.

# %%
places = ["the name at the start", "the name as the answer", "nearly the same in both"]
name_guess = predict("For which name is the loss of v4 larger, summed over its letters?", places)
name_guess

# %% tags=["answer", "nbval-ignore-output"]
text = f"{story.prompt.strip()} {story.answer}.\n"
ids = tokenizer.encode("\n" + text)
with torch.inference_mode():
    log_p = models["v4"](ids[None])[0].log_softmax(dim=-1)  # (T + 1, V)
losses = -log_p[:-1].gather(1, ids[1:, None])[:, 0]  # (T,), of each character after those before it
fig, ax = plt.subplots(figsize=(9, 2.8))
ax.bar(range(len(text)), losses)
ax.set_xticks(range(len(text)), plots.visible(text))
ax.set(title=f"v4 loses {losses.sum():.1f} nats in this story", ylabel="loss (nats)")
plt.show()
first, last = losses[:4].sum(), losses[-6:-2].sum()
name_guess.compare(places[2] if abs(first - last) < 0.5 else places[int(last > first)])

# %% [markdown]
# Tall bars are surprises; • is a space, and ↵ is the end of the story. Look at the bars over the first name. The model cannot know which name will come, so this name costs several nats. Now look at the name after the question mark. The story has already told this name, so it costs less. One bar remains, over its *second* letter. v4 is sure of the first letter, so it knows who did it, but then it has to guess the vowel: it cannot spell the name yet. Lesson 04 looks for the reason.
#
# ## How low can a loss get?
#
# A grammar wrote the story, so we know how much of it was chance. The grammar made four choices:
#
# | choice | candidates | loss (nats) |
# |---|---|---|
# | form of the story | 4 | ln 4 ≈ 1.4 |
# | first name | 160 | ln 160 ≈ 5.1 |
# | verb | 24 | ln 24 ≈ 3.2 |
# | second name | 159 | ln 159 ≈ 5.1 |
#
# All candidates for a choice are equally likely. All other letters follow from the four choices. So even a perfect reader loses the sum of the four numbers:

# %%
nats = math.log(4 * 160 * 24 * 159)
print(f"{nats:.1f} nats for the story, {nats / len(text):.2f} nats per character")
assert math.isclose(nats, -grammar.log_prob(text.strip()))

# %% [markdown]
# Compare this sum with the title of the last picture. In our run v4 lost a little more than the perfect reader. Most of the difference is the bar over the answer.
#
# The average loss of a perfect reader over all stories is the [**entropy floor**](../docs/glossary.md#entropy), 0.33 nats per character here. **On average no model has a lower loss.** The dashboards show this floor as a line.
#
# Look again at the dashboard of v4. Its loss ends above the floor. One reason is the window: it may begin in the middle of a story, and then nobody can know what came before.
#
# ## A map of the course
#
# | version | name | what is new | lesson |
# |---|---|---|---|
# | v1 | bag of tokens | each token predicts the next one alone | [01](01_bag_of_tokens.ipynb) |
# | v2 | learned positions | a trained vector for each position | [02](02_learned_positions.ipynb) |
# | v3 | sinusoidal | attention, and a fixed table of waves | [03a](03a_attention.ipynb), [03b](03b_sinusoidal.ipynb) |
# | v4 | RoPE | queries and keys are rotated | [04](04_rope.ipynb) |
# | v5 | Gaussian RoPE | rotation, and a bell curve over distance | [05](05_gaussian_rope.ipynb) |
# | v6 | Fourier branches | several texts in one sequence | [06](06_fourier_branches.ipynb) |
# | v7 | polar gate diffusion | masked characters are filled in, in any order | [07a](07a_diffusion.ipynb), [07b](07b_polar_gates.ipynb) |
#
# [08](08_the_ladder.ipynb) compares all models. [09](09_museum_of_bugs.ipynb) shows models whose loss falls although something is wrong with their positions. [10](10_beyond_the_window.ipynb) asks how a model can read further than it was trained.
#
# How good were your guesses?

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Exercises
#
# Each exercise has three cells: the task, a cell for your answer, and a check. Write your answer and run its cell. Then run the check. In a new cell, `start.MIRROR.hint()` gives one hint at a time, and `start.MIRROR.solution()` shows a solution. *Warm-up* and *core* exercises belong to the lesson; *stretch* exercises go further.

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
# 1. A story and its mirror hold the same characters and have different answers. So a model that ignores order is right in half of the stories.
# 2. In RoPE a hand turns with the position of each token. The angle between two hands depends only on the distance of the tokens.
# 3. A step of training computes the loss on a few windows and changes every weight a little, so that the loss becomes smaller.
# 4. The loss for a character is $-\ln p$. A perfect reader loses only where the grammar had a choice. Its average loss per character is the entropy floor.
# 5. On the plain tales, 11 of 12 runs of v4 answer more than 90% of the questions (2 layers of 96 channels, 600 steps). All 12 runs of its twin without a position encoding stay near 50%.

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
# **b.** Both stories hold the same letters, so the model gives the same name twice. This name is right once. If you chose *c*: luck would need two independent guesses.
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
# **3.** The word *fed* stands in our story twice. Why does the second *fed* cost v4 almost nothing?
#
# - a) it is a short word
# - b) v4 has learned the story by heart
# - c) the story has already told this word
#
# <details><summary>Answer</summary>
#
# **c.** The grammar chose the verb once, and the question repeats it. If you chose *a*: the first *fed* is as short, and costs more.
#
# </details>
#
# **4.** A grammar chooses one of 8 colours and writes it twice. What does a perfect reader lose?
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
# **5.** On the plain tales 11 of 12 runs of v4 answer more than 90% of the questions, and their twins about half. What follows?
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
# The course grew out of five **source notes** in Chinese. The notes describe models and make claims about them. We measure these claims. Some hold (✓) and some fail (✗). Some depend on what you ask (≈), and some stay undecided (?). Each lesson ends with a box like this, which you can read without the note.

# %% [markdown]
# ## Further reading
#
# - [Prediction and Entropy of Printed English](https://doi.org/10.1002/j.1538-7305.1951.tb01366.x) — Shannon 1951; how well people guess the next letter.
# - [Attention Is All You Need](https://arxiv.org/abs/1706.03762) — Vaswani et al. 2017; the Transformer, and why it needs positions (section 3.5).
# - [TinyStories](https://arxiv.org/abs/2305.07759) — Eldan & Li 2023; small models that learn from small stories.

# %% [markdown]
# ## What comes next
#
# We begin with the smallest model, which sees only one token at a time. → [01 · Bag of tokens](01_bag_of_tokens.ipynb)
