# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 13 · Build your own
#
# **Can you write a GPT, and give it an encoding of your own?**
#
# *The way, page 8 of 8, at your leisure.*
#
# In the lessons before this one a model was one line, `build("v4", …)`. You have taken it apart and trained it, but you have not written it. Four short functions are enough, and each that you write here is used as soon as it works. In the second half you give a model a [position encoding](../docs/glossary.md#encoding) of your own, and find out what a comparison of a few seconds can tell about it. You will be able to
#
# 1. write attention, a block, a training step and a sampling loop without looking them up,
# 2. test a model against a second program,
# 3. turn an idea into an encoding, check its promises, and train it beside RoPE,
# 4. read a comparison from three seeds without fooling yourself.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 60 seconds to run on two cores, and by our estimate 58 minutes to read and guess. The exercises take about 36 minutes.

# %% tags=["nbval-ignore-output"]
import math
from threading import Thread

import numpy as np
import torch
from IPython.display import Markdown
from torch import Tensor, nn

import babygpt_live as live
from babygpt import ModelConfig, NextToken, TrainConfig, build, minimal
from babygpt.data.corpus import from_grammar
from babygpt.data.grammar import Grammar
from babygpt.encodings import Rotary
from babygpt.experiments import paired
from babygpt.experiments.comparison import card
from babygpt.invariants import check
from babygpt.minimal import norm, rotate  # noqa: F401  rotate is for your block
from babygpt_course.exercises import lesson_13
from babygpt_course.exercises.exercise import randomize_
from babygpt_course.predictions import predict, tally
from babygpt_live.waiting import wait_and_serve

# %%
torch.set_num_threads(1)  # models as small as these gain nothing from more
asked = ("who {verb.v}? {name.a!b}.", "{verb.v} whom? {name.b!a}.")  # a!b: the answer is a, b would be wrong
stories = tuple("{place.p} {name.a} {verb.v} {name.b}. " + question for question in asked)
words = {"name": minimal.NAMES, "verb": minimal.VERBS, "place": minimal.PLACES}
grammar = Grammar({kind: tuple(choices) for kind, choices in words.items()}, {"story": stories})
corpus = from_grammar("short stories", grammar, 200_000)
tokenizer = corpus.tokenizer
print(tokenizer.decode(corpus.train[:160]))

# %% [markdown]
# Your GPT will read these stories, in which only the order of the two names tells who did what. They come from [`minimal.py`](../babygpt/minimal.py), a whole GPT in one file, with which your functions will be compared, so open it only when you are stuck.
#
# Write over the stub of an exercise, and run its check. The lesson goes on with your function as soon as it is right, and with ours until then, so that you may also read on and come back.
#
# ## Attention: one token reads others
#
# Here are three tokens and one [head](../docs/glossary.md#head) of four [channels](../docs/glossary.md#channel), of which only the first is in use, so that you can compute everything by hand.

# %%
first = torch.tensor([1.0, 0.0, 0.0, 0.0])
q = first.expand(1, 1, 3, 4)  # (B, H, T, D): every token has the query 1
k = torch.tensor([0.0, 0.0, math.log(2)])[:, None] * first  # the third token has the key ln 2
v = torch.tensor([1.0, 2.0, 4.0])[:, None] * first
k, v = k[None, None], v[None, None]

# %% [markdown]
# Our models compute a [score](../docs/glossary.md#score) as 2 · (q · k) / √D. With four channels this is q · k itself, so the third token gives itself the score ln 2, and the others 0. A [softmax](../docs/glossary.md#softmax) takes the exponentials, 1, 1 and 2, and divides by their sum, so that the [weights](../docs/glossary.md#weight) are ¼, ¼ and ½. The mix of the values 1, 2 and 4 is then 2.75. Which mixes do the first two tokens get, if no token reads a later one?

# %%
lesson_13.ATTENTION


# %%
def my_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Mix of the values that each token reads, causal: (B, H, T, D) -> (B, H, T, D)."""
    return v


# %%
lesson_13.ATTENTION.check(my_attention)

# %%
attention = lesson_13.ATTENTION.use(my_attention)
print("the three tokens read", [round(float(mix), 2) for mix in attention(q, k, v)[0, 0, :, 0]])

# %% [markdown]
# The first token reads itself, and the second the mean of 1 and 2. This is all that attention is: a dot product, a mask, a softmax and a weighted mean, of which only the mask knows where a token stands.
#
# ## A block: read, then think
#
# A [block](../docs/glossary.md#block) wraps attention in the rest of a layer. The [stream](../docs/glossary.md#stream) x holds a vector for each token, and a block adds to it twice: what attention has read, and then what an [MLP](../docs/glossary.md#mlp) computes token by token. Because both are *added*, what an earlier block has written stays, unless a later one cancels it.
#
# The matrices are given, and your function says how they are used. It is also the place where positions enter, because `rotate` turns queries and keys by [RoPE](../docs/glossary.md#rope).

# %%
lesson_13.BLOCK


# %%
def my_block(x: Tensor, block, attention) -> Tensor:
    """Stream after one block, which uses this attention: (B, T, C) -> (B, T, C)."""
    return x


# %%
lesson_13.BLOCK.check(my_block)

# %%
use_block = lesson_13.BLOCK.use(my_block)


class MyGPT(minimal.GPT):
    """The matrices of minimal.py, and your functions."""

    def forward(self, ids: Tensor) -> Tensor:  # (B, T) -> logits (B, T, V)
        x = norm(self.token_embedding(ids))
        for block in self.blocks:
            x = use_block(x, block, attention)
        return self.head(norm(x))


# %% [markdown]
# An [embedding](../docs/glossary.md#embedding), your blocks and a matrix that makes [logits](../docs/glossary.md#logit): this is the whole model. Before you trust it, let `minimal.py` read a text with the same weights.

# %%
config = minimal.Config(steps=300)
first_try = randomize_(MyGPT(tokenizer.vocab_size, config), torch.Generator().manual_seed(0))
second = minimal.GPT(tokenizer.vocab_size, config)
second.load_state_dict(first_try.state_dict())
window = corpus.val[None, : config.block_size]  # (1, T)
assert torch.allclose(first_try(window), second(window), atol=1e-3)

# %% [markdown]
# The two programs agree in every logit of the window. We drew random weights for this test, because the last matrices of attention, MLP and model are zero in a new GPT, which would hide most mistakes.

# %%
at_first = predict(
    f"A new GPT, whose last matrices are zero, meets an alphabet of {tokenizer.vocab_size}. Its first loss?",
    low=0,
    high=6,
    unit="nats per character",
    near=0.1,
)
at_first

# %% tags=["answer"]
torch.manual_seed(config.seed)
model = MyGPT(tokenizer.vocab_size, config)
loss = torch.nn.functional.cross_entropy(model(window)[0, :-1], window[0, 1:])
at_first.compare(round(loss.item(), 2))

# %% [markdown]
# All logits are 0, so all characters are equally likely, and each costs ln 27 nats. **A first loss of ln V says that no character is favoured yet, and nothing else**: with an attention that reads the future it would be the same number. So a second program tests a model better than its loss does.
#
# ## Writing: one token after another
#
# A model gives probabilities for one next token, so to write a text it draws a token, appends it, and reads its own text again.

# %%
lesson_13.WRITING


# %%
def my_writing(model, ids: Tensor, n_tokens: int, block_size: int) -> Tensor:
    """Texts that the model continues at random: (B, T) -> (B, T + n_tokens)."""
    return ids


# %%
lesson_13.WRITING.check(my_writing)

# %% tags=["nbval-ignore-output"]
write = lesson_13.WRITING.use(my_writing)
begin = tokenizer.encode("\n")[None]  # (1, 1), the end of a story, after which the next one begins
print(tokenizer.decode(write(model, begin, 100, config.block_size)[0, 1:]))

# %% [markdown]
# It writes, and knows nothing yet: remember this text for a minute.
#
# ## Training: one small step
#
# Training repeats one function, which reads a batch, computes the loss, and lets one or more [optimizers](../docs/glossary.md#optimizer) move the weights a little, in a direction in which the loss falls.

# %%
lesson_13.STEP


# %%
def my_step(model, inputs: Tensor, targets: Tensor, optimizers) -> float:
    """Move the weights by one step on a batch (B, T), and return its loss before the step."""
    return 0.0


# %%
lesson_13.STEP.check(my_step)

# %%
step_once = lesson_13.STEP.use(my_step)

# %% [markdown]
# The loop around your step runs in the background, with a dashboard that can pause it. In the panel of text your GPT writes a line now and then, and the fuller a cell, the surer it was of this character.

# %%
PEAK = 0.01  # of the learning rate


@torch.no_grad()
def line_of(model):
    """A text that the model writes now, and the probability that it gave to each character."""
    ids = write(model, begin, 48, config.block_size)
    chances = model(ids[:, :-1]).softmax(dim=-1).gather(-1, ids[:, 1:, None])
    return tokenizer.decode(ids[0, 1:]), chances.flatten().numpy()


def line_panel(frames, title, total):
    step, (text, sure) = frames[-1]
    line = live.Words(live.visible(text), sure, np.zeros(len(text), dtype=bool), columns=16)
    return live.Panel(f"After {step} steps, {title} writes this", [line], width=1.4)


# %%
def fit(run, model):
    """Train a model with your step, while the dashboard of the run shows it."""
    adamw = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.0)
    draw = torch.Generator().manual_seed(config.seed)
    run.measure_untrained(model)
    for step in run.steps():
        adamw.param_groups[0]["lr"] = PEAK * minimal.schedule(step - 1, config)
        inputs, targets = minimal.draw_batch(corpus.train, config, draw)
        run.record(step, step_once(model, inputs, targets, [adamw]), model)


# %% tags=["nbval-ignore-output"]
run = live.LoopRun("your GPT", config.steps, [live.Watch(line_of, line_panel, 20)], "nats per character")
live.show_dashboard(run, {"best reader of whole stories": corpus.floor})
trainer = Thread(target=fit, args=(run, model), daemon=True)
trainer.start()


# %% [markdown]
# While it trains, think of a test. A line that looks like a story need not be a true one: in *in snow ada freed jon. freed whom? ada.* every word is right but the last. Your GPT writes the names itself, and then has to look back at its own words.

# %%
def is_true(story):
    """Whether the question of a story and its answer fit what was told."""
    told, _, rest = story.partition(". ")
    doer, verb, receiver = ("", "", "", *told.split())[-3:]
    return bool(doer) and rest in (f"who {verb}? {doer}.", f"{verb} whom? {receiver}.")


print([is_true(f"in snow ada freed jon. freed whom? {name}.") for name in ("jon", "ada")])

# %%
true_guess = predict(
    "After these 300 steps your GPT writes a hundred stories. How many are true?",
    low=0,
    high=100,
    unit="stories",
    near=12,
)
true_guess

# %% tags=["answer", "nbval-ignore-output"]
wait_and_serve(lambda seconds: run.wait(seconds) or not trainer.is_alive())
torch.manual_seed(0)
texts = write(model, begin.expand(100, 1), 60, config.block_size)
written = [tokenizer.decode(text[1:]).partition("\n")[0] for text in texts]
print("\n".join(written[:4]))
true_guess.compare(sum(map(is_true, written)))


# %% [markdown]
# Most lines look like stories, and few are true. A guess among twelve names would make about 8 of 100 true, so nothing shows yet that your GPT looks back for the right name. The loss hardly shows this: the ln 12 nats of a guess among twelve names are spread over forty characters, which makes only 0.06 nats for each. (The dashed line is lower than any reader of windows can get, because windows begin anywhere.) Does it learn to look back in the end? Set `steps=900` above, where `config` is made, run the cells from there again, and count.
#
# **This is a whole GPT: four functions, a list of matrices, and a text.** Larger ones differ in the size and number of their matrices, and in a few details, so you can now read their code.
#
# ## What should a position encoding promise?
#
# One line of your block, the one with `rotate`, decides how the model knows a position. What would you put in its place? Here is our wish list.
#
# - *A text means the same wherever it stands*, so scores depend on distances and not on positions.
# - *Neighbours differ, and left differs from right*, because *ab* and *ba* are different words.
# - *Nothing looks ahead*, and reading in pieces gives what reading at once gives.
# - *It goes on beyond the window*, because a text is always longer than you thought.
# - *It costs little*: few weights, little time, nothing more in the [cache](../docs/glossary.md#cache).
# - *It helps*, which is the only wish that needs a training.
#
# Each wish but the last has been given up for a good reason by some encoding, so the list does not rank them: it says what to test before you train.
#
# ## Four hooks
#
# In the package an encoding is a class that overrides one or more of four [hooks](../docs/own_encoding.md), and the model does the rest.
#
# | hook | what it changes | who uses it |
# |---|---|---|
# | `embed` | the vectors of tokens, before the first block | the sinusoid |
# | `transform_qk` | queries and keys | RoPE |
# | `score_bias` | scores, by position | ALiBi |
# | `content_bias` | scores, by position and by what tokens hold | forgetting gates |
#
# As an example we take the smallest idea that we could think of. In [12](12_the_case_is_closed.ipynb) an earlier letter helped v4 to spell. RoPE can find the nearest one, although each head has to learn it. So each head gets a trained number, which it shares with the same head of the other layer. It is added to the score of the token right before the query. [T5](https://arxiv.org/abs/1910.10683) trains such a number for every range of distances, in place of a rotation.

# %%
class Neighbour(Rotary):
    """RoPE, and a bonus of each head for the token before: one trained number, 0 at first."""

    def __init__(self, head_dim: int, n_head: int) -> None:
        super().__init__(head_dim)
        self.bonus = nn.Parameter(torch.zeros(n_head))

    def score_bias(self, queries, keys) -> Tensor:
        distance = queries.time[..., :, None] - keys.time[..., None, :]  # (Tq, Tk)
        return self.bonus[:, None, None] * (distance == 1).unsqueeze(-3)  # (H, Tq, Tk)


# %%
promise_guess = predict(
    "`check` measures the promises of Neighbour. Which is the first to break?",
    ["scores depend on the distance alone", "reading in pieces, with a cache", "beyond the window", "none"],
)
promise_guess

# %% tags=["answer", "nbval-ignore-output"]
checked = check(Neighbour)
display(checked)
broken = {row.name for row in checked.rows if row.holds is False}
groups = ({"distance alone"}, {"cache", "pieces"}, {"beyond the window"}, {"none"})
first_group = next(i for i, names in enumerate(groups) if names & (broken | {"none"}))
promise_guess.compare(promise_guess.options[first_group])

# %% [markdown]
# The bonus asks for the distance 1 and for nothing else, and this exists in a piece of a text, with a cache, and at the millionth token. The table measures whole models with random weights, and shows for a broken promise the smallest input that breaks it.
#
# ## Train it beside RoPE
#
# The first run is for looking. Both models begin with the same [seed](../docs/glossary.md#seed), so that they read the same batches and their curves can be compared step by step.

# %% tags=["nbval-ignore-output"]
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=2, n_embd=32)
plan = TrainConfig(steps=150)


def start(encoding, title, baseline=None):
    """Train a small model with this encoding, and show its dashboard."""
    torch.manual_seed(plan.seed)
    small = build(encoding, shape)
    return live.train(small, NextToken(corpus, 64), plan, title, {"floor": corpus.floor}, baseline=baseline)


rope = start("v4", "RoPE")
neighbour = start(Neighbour, "Neighbour", baseline=rope)

# %% [markdown]
# The second dashboard also draws the gap to RoPE. Before you believe it, ask how far apart two *equal* models would be from two seeds.
#
# ## Three seeds
#
# A comparison needs pairs: from each seed both variants read the same batches, and only the difference of their losses counts. Suppose that three pairs, which give an interval by the rule of [lesson 08](08_the_ladder.ipynb), come out like this.

# %%
differences = [-0.03, -0.05, -0.04]  # nats per character, the new encoding less RoPE
interval_guess = predict(
    "All three seeds favour the new encoding, and agree within 0.02 nats. Where is the mean's 99% interval?",
    ["below 0, so the new encoding is better", "it reaches above 0"],
)
interval_guess

# %% tags=["answer"]
toy = paired.compare(differences)
print(f"mean {toy.mean:+.2f}, from {toy.low:+.2f} to {toy.high:+.2f} nats per character")
interval_guess.compare(interval_guess.options[int(toy.high > 0)])

# %% [markdown]
# Three numbers hardly tell how much seeds differ, so the interval has to reach ten standard errors in either direction. Nor is agreement rare: if two encodings are equally good, all three seeds favour the same one in a quarter of all comparisons.
#
# So why three? They show what is *excluded*: an interval from −0.10 to +0.02 says that the encoding costs at most 0.02 nats here, which may be enough to go on. **Three seeds give an interval and no verdict.** Now follows the real comparison.

# %% tags=["nbval-ignore-output"]
neighbour.result()  # one model trains at a time
tiny = TrainConfig(steps=100)
comparison = live.watch_comparison(["v4", Neighbour], corpus, seeds=3, model=shape, training=tiny)

# %% tags=["nbval-ignore-output"]
Markdown(card(comparison.results))


# %% [markdown]
# This is the *card* of the comparison, made to be posted. Read it in this order.
#
# 1. *The loss less v4's.* What does its interval exclude? After ± you see how far apart seeds are without pairs.
# 2. *Right answers.* In our run both models are right in half of them, which is chance. So a gap in the loss speaks of letters and words, and not of looking back for a name.
# 3. *What was learned.* In 100 steps the bonus can move by about 0.9. So its 0.8 gives a direction, and does not tell how much a head wants.
# 4. *The price*, in weights and in milliseconds a step.
# 5. *The conditions*: the steps, the size, and the learning rates, which were tuned for none of them.
#
# In our run the interval of the loss left out 0, but three seeds never decide. Another number of steps may give another card, too: in the longer first run the gap to RoPE opens and closes again.
#
# If a card makes you change the encoding, its seeds have suggested the change and cannot confirm it, so twelve *other* seeds decide, with `confirm=True`. With `out="mine.json"` the results are stored, and the next card says how many seeds you had looked at before.
#
# ## Your idea
#
# Replace the stub, which is plain RoPE, let `check` find what it promises, and then take away the # in the last cell. Here are ideas to begin with, from free to dear.
#
# | idea | hook | price |
# |---|---|---|
# | Rotate half of the channels, so that the others compare tokens wherever they stand | `transform_qk` | nothing |
# | Give each head a base of its own | `transform_qk` | nothing |
# | A bonus for each of the last eight distances | `score_bias` | eight numbers a head |
# | Let the bonus depend on what the query holds | `content_bias` | a vector a head |
# | Add to each token parts of the last four embeddings, where [12](12_the_case_is_closed.ipynb) adds one | `embed`, with `sees_earlier` | four vectors, and a look back |

# %%
class Mine(Rotary):
    """Plain RoPE, until you change it."""

    def __init__(self, head_dim: int) -> None:
        super().__init__(head_dim)

    def transform_qk(self, q, k, positions):
        return super().transform_qk(q, k, positions)


# %% tags=["nbval-ignore-output"]
check(Mine)

# %%
# live.watch_comparison(["v4", Mine], corpus, seeds=3, model=shape, training=tiny)

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Recap
#
# 1. Attention is a dot product, a mask, a softmax and a weighted mean. A block adds to the stream what attention reads, and then what an MLP computes.
# 2. A second program with the same random weights tests a model, whereas a first loss of ln V does not.
# 3. To write is to draw a token, append it, and read the last window again.
# 4. An encoding is a class with one to four hooks, whose promises are measured before any training.
# 5. Three paired seeds give an interval, which says what is excluded, and other seeds decide.

# %% [markdown]
# ## Self-test
#
# **1.** In `my_attention` you forget the mask. What do you notice first?
#
# - a) an error
# - b) the training loss falls below that of the best reader
# - c) nothing before the model writes
#
# <details><summary>Answer</summary>
#
# **b.** The model reads the token that it should predict. *c* is tempting, because its texts are bad as well, but the loss shows it first.
#
# </details>
#
# **2.** In `my_step` you leave out `zero_grad`. What happens?
#
# - a) each step also uses the gradients of all steps before it
# - b) the weights never move
# - c) nothing, since `backward` replaces gradients
#
# <details><summary>Answer</summary>
#
# **a.** `backward` adds to the gradients that are there. *c* is tempting, because the first step is still right, which is why the check makes three.
#
# </details>
#
# **3.** Your GPT is trained on windows of 64 tokens. Why does `my_writing` cut its text to the last 64?
#
# - a) a longer text raises an error
# - b) the model has never been trained at larger distances
# - c) earlier tokens are useless
#
# <details><summary>Answer</summary>
#
# **b.** RoPE would compute something for any distance. *a* is tempting, because it holds for a model with a table of positions.
#
# </details>
#
# **4.** An encoding of yours breaks *distance alone* and keeps all other promises. What now?
#
# - a) it has a bug
# - b) it has a bug, unless you meant scores to depend on the position itself
# - c) it cannot be trained
#
# <details><summary>Answer</summary>
#
# **b.** The sinusoid breaks it on purpose. *a* is tempting if you wanted a relative encoding, and then it is right.
#
# </details>
#
# **5.** From three seeds your encoding is 0.05 nats better (99% interval −0.11 to +0.01). What may you write?
#
# - a) it is better
# - b) there is no difference
# - c) it costs at most 0.01 nats more here, and may gain up to 0.11
#
# <details><summary>Answer</summary>
#
# **c.** *a* is tempting, because all three seeds may agree, but the interval contains 0.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [nanoGPT's `model.py`](https://github.com/karpathy/nanoGPT/blob/master/model.py), a GPT-2 in one file, in which you will find three of your functions again.
# - [A recipe for training neural networks](https://karpathy.github.io/2019/04/25/recipe/): networks fail silently, and what to check before a long training. *Verify loss @ init* is on its list.
# - [Narang et al. 2021](https://arxiv.org/abs/2102.11972) trained many proposed changes of the Transformer in one code base. Most of them did not help, so a careful *undecided* is the usual result.
# - [Your own encoding](../docs/own_encoding.md): four worked examples, and how to compare them from the shell.

# %% [markdown]
# ## What comes next
#
# This is the last lesson. The course began with a model that knew who did it and could not spell, and it ends with a GPT of your own. You also have a list of promises, and a way to compare ideas that does not fool you. Take them to your own text, because `watch_comparison` also reads the path of a file. Post the card of your encoding if it survives twelve fresh seeds, and also if it does not, because somebody else has the same idea.
