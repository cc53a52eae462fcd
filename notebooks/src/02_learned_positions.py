# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 02 · Learned positions
#
# **Is it enough to tell each token its seat number?**
#
# v1 lacked a memory, we said. The source note sees it differently: v1 lacks *positions*. Its cure, **v2**, is the first position [encoding](../docs/glossary.md#encoding) in the history of GPT and still one of the best known: give every position a vector of its own, learn it like everything else, and add it to the token's vector. The note compares it with a cinema ticket: v1 knows the film, v2 also knows the seat, row 5, number 12. And it promises that now 我爱你 and 你爱我 can be told apart.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, about 37 minutes to read and guess; the exercises about 20 more, and 35 for those marked *stretch*.

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, invariants, live, plots
from babygpt.data import CharTokenizer, batches, load_corpus
from babygpt.encodings import LearnedPositions
from babygpt.metrics import role_accuracy
from babygpt.models.language_model import BagWithPositions
from babygpt.objectives import cross_entropy
from babygpt.tables import Table, source
from babygpt.training import train
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_02 as learned_positions

plots.set_style()

# %% [markdown]
# ## The question
#
# Each character of 我爱你 (*I love you*) is told its seat: 我 is at place 0, 爱 at 1, 你 at 2. In 你爱我 it is 你 that is at 0. Nothing else changes in the model: still no token sees another. The model has read the first two characters, and is to guess the third.

# %%
after_love = live.predict(
    "Does v2 guess one thing after 我爱, and another after 你爱?", ["yes", "no", "only once it is trained"]
)
after_love

# %% [markdown]
# ## The note's sums, by hand
#
# We take the note's numbers: a table `E` with a row for each of four characters, and a new table `P` with a row for each of three places. A token's **code** is the sum of its two rows. All six sums of the note fit on one screen; check one or two of them in your head.

# %% tags=["answer"]
toy = CharTokenizer("我爱你！")
E = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])  # (V, D) = (4, 2)
P = torch.tensor([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])  # (T, D) = (3, 2)
rows = []
for sentence in ("我爱你", "你爱我"):
    for place, character in enumerate(sentence):
        token = E[toy.ids[character]]
        sums = [f"[{a:.2f}, {b:.2f}]" for a, b in (token, P[place], token + P[place])]
        rows.append((sentence, str(place), character, *sums))
heading = ("sentence", "place", "character", "row of E", "row of P", "code: their sum")
Table(heading, rows, stable=6)

# %% [markdown]
# v2 guesses what follows 爱 from the code of 爱. So we compare this code in the two sentences.

# %% tags=["answer"]
one, other = toy.encode("我爱你"), toy.encode("你爱我")
code_one, code_other = E[one] + P, E[other] + P  # (T, D) = (3, 2)
differ = not torch.equal(code_one[1], code_other[1])
after_love.compare("yes" if differ else "no")

# %%
assert not torch.equal(code_one[0], code_other[0])
assert torch.equal(code_one[1], code_other[1])

# %% [markdown]
# The note compares 我 at place 0 with 我 at place 2, and 你 likewise, before and after. In v1 each had one code; now each has two: `[0.11, 0.22]` here and `[0.15, 0.26]` there. *The same character is represented differently at different places*: this is the note's key insight, and it is true.
#
# But look at the two rows that the note does not compare. 爱 stands at place 1 in both sentences, and its code is `[0.33, 0.44]` in both. Equal codes give equal guesses, and training cannot change that, for it would have to change one row in two ways. The seat of a token tells nothing about who sits in the seat before.
#
# In the package, the sum is made by `LearnedPositions`, and v2 is v1 with one more line. Here is the source, and then the check that it does what we did by hand. (The [cache](../docs/glossary.md#cache) is for writing, and no matter here.)

# %%
source(BagWithPositions)

# %%
encoding = LearnedPositions(max_positions=3, n_embd=2)
encoding.load_state_dict({"table": P})
assert torch.allclose(encoding.embed(E[one], Positions.arange(3)), code_one)

# %% [markdown]
# A model reads a [batch](../docs/glossary.md#batch) of texts at once, here our two sentences. The tokens' vectors have the shape (B, T, D), a set for each sentence; the places' have (T, D), one set for all. PyTorch stretches the smaller over the larger, so that each sentence gets the same places. This is *broadcasting*, and the loop beside it does the same one sum at a time.

# %%
both = torch.stack([one, other])  # (B, T) = (2, 3)
codes = E[both] + P  # (B, T, D) = (2, 3, 2)
one_by_one = [[(E[both[b, t]] + P[t]).tolist() for t in range(3)] for b in range(2)]
assert torch.equal(codes, torch.tensor(one_by_one))
print("ids", (*both.shape,), "tokens", (*E[both].shape,), "places", (*P.shape,), "sum", (*codes.shape,))

# %% [markdown]
# From here the [output head](../docs/glossary.md#head) makes one number for each of V candidates, their [logits](../docs/glossary.md#logit): (B, T, D) → (B, T, V). That is the whole way through v2.
#
# The note has two more pictures for the sum. **A radio:** the token is the music, the place is the carrier wave. But a carrier is *multiplied* with the music, so a receiver can divide it out again; v2 *adds*. (RoPE and v7's gates will multiply.) **GPS:** the same person in Beijing and in Shanghai senses different surroundings, as 我 has one code at place 0 and another at place 2. But a map knows how far it is from one to the other, and the rows of our table know nothing of each other: before training, row 5 is no more like row 6 than like row 50, and if nobody ever stands at place 5, it stays so.

# %% [markdown]
# ## What a seat number is worth
#
# In notebook 01 a toy text said 我爱你 twice and 你爱我 once. The best [bigram](../docs/glossary.md#bigram) table gave them 16 and 1 of 81 parts, and the other 64 to nonsense such as 我！, because it could not know that a sentence ends after three characters. A model that knows the place can.

# %%
ways = ["all to the two sentences", "some to them, and some to sentences that nobody said", "none to them"]
lost_parts = live.predict("Where do the 64 lost parts go, once the model knows the place?", ways)
lost_parts

# %% [markdown]
# Here place 0 is the exclamation mark before the sentence, so we count what follows at each of four places. (In this text the place says it all, so the token may abstain.) Then we ask for the probability of every sentence of three characters.

# %% tags=["answer"]
following = torch.zeros(4, 4)  # (place, next character)
for sentence in ("我爱你", "我爱你", "你爱我"):
    following[torch.arange(4), toy.encode(f"{sentence}！")] += 1 / 3
every = [a + b + c for a in toy.characters for b in toy.characters for c in toy.characters]
chances = {three: following[torch.arange(4), toy.encode(f"{three}！")].prod().item() for three in every}
print(*(f"{sentence}: {p * 81:.0f} / 81" for sentence, p in chances.items() if p > 0), sep="\n")
theirs = 81 * (chances["我爱你"] + chances["你爱我"])  # of 81 parts; 17 in v1
lost_parts.compare(ways[0 if theirs > 80 else 1 if theirs > 18 else 2])

# %% [markdown]
# Four sentences share everything, and each is well formed: *somebody loves somebody*. Of the 64 parts 28 have come home: place has taught the model the **shape** of a sentence, which is a real gain. The other 36 went to two sentences that nobody said, and each of these is found twice as probable as 你爱我, which somebody did say. At the third place the model knows that a person must come, and not which one, for it cannot see who stood at the first.
#
# What does it cost? One row of D [channels](../docs/glossary.md#channel) for each of T positions, and the position table is all that v2 adds to v1.

# %%
corpus = load_corpus("tales")
shape = ModelConfig(corpus.tokenizer.vocab_size, block_size=64, n_embd=64)
v1_size, v2_size = (sum(p.numel() for p in build(v, shape).parameters()) for v in ("v1", "v2"))
print(f"v1 {v1_size}, v2 {v2_size} parameters")
assert v2_size - v1_size == shape.block_size * shape.n_embd

# %% [markdown]
# ## Does the seat number help?
#
# A model does not read a text from its first page; it reads [windows](../docs/glossary.md#window) cut out of it, and position 0 is where the window begins. There are two ways to cut.
#
# - **At random**, anywhere in the text, which is what GPTs usually do. Position 0 may be the middle of a name.
# - **Aligned**: each window begins where a line begins. In the tales, that is where a story begins.
#
# What does position tell in each case? We need no model to find out. About every fifth character of the tales is a space. Let us ask, for each of 65 positions (64 that a model reads, and the one after them), in how many windows it holds one, and draw a curve over the positions for each way to cut.

# %%
swinging = live.predict(
    "Which of the two curves swings up and down by more than 0.3, beyond the noise of a sample?",
    ["both", "only the aligned one", "only the random one", "neither"],
)
swinging

# %% tags=["answer"]
newline, space = corpus.tokenizer.ids["\n"], corpus.tokenizer.ids[" "]
starts = batches.line_starts(corpus.val, newline, length=65)
dice = torch.Generator().manual_seed(0)
anywhere = torch.randint(len(corpus.val) - 65, (len(starts),), generator=dice)
windows = {"aligned": batches.cut(corpus.val, starts, 65), "random": batches.cut(corpus.val, anywhere, 65)}
spaces = {how: (w == space).double().mean(dim=0).numpy() for how, w in windows.items()}
wide = [how for how, shares in spaces.items() if np.ptp(shares) > 0.3]  # from lowest to highest
swinging.compare(f"only the {wide[0]} one" if len(wide) == 1 else "both" if wide else "neither")

# %% tags=["answer", "nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(8, 4))
title = "From a line's start, place tells where the spaces are; in random windows it does not"
labels = ("position (tokens)", "share of windows with a space there")
plots.draw_curves(ax, np.arange(65), spaces, title, *labels)
plt.show()

# %%
assert {len(name) for name in corpus.grammar.words["name"]} == {4}
assert np.ptp(spaces["random"]) < 0.1 < 0.5 < np.ptp(spaces["aligned"])

# %% [markdown]
# Stories begin with a name, and all names in these tales have four letters, so the first spike reaches 1: at place 4 there is always a space. Later words differ in length, and the further we go, the less the seat number knows: towards the end both curves meet.
#
# In random windows the curve is flat (what remains is the noise of a sample). There *every* position holds the same mixture of everything. Position and text are independent, so a token that sees *only itself and its number* learns nothing from the number.
#
# Mark the condition. Once tokens look at each other, as in the next notebook, two numbers make a distance, and a distance means the same wherever the window was cut: *the letter just before me* is worth knowing in any window. That is why GPTs read windows cut at random and use position codes all the same. v2 cannot: no token of it sees another's number.

# %% [markdown]
# ## Train and see
#
# Two models, two ways to cut: four short trainings, each from one [seed](../docs/glossary.md#seed). v1 and v2 differ in nothing but the position table. We begin with three of the four; the fourth, v2 on aligned windows, we shall watch.

# %%
recipe = TrainConfig(steps=300, batch_size=64, lr_other=0.03)
objectives = {how: NextToken(corpus, shape.block_size, how == "aligned") for how in windows}


def fresh(version):
    """An untrained model, with the same numbers each time."""
    torch.manual_seed(0)
    return build(version, shape)


# %%
models, losses = {}, {}
for version, how in (("v1", "aligned"), ("v1", "random"), ("v2", "random")):
    models[version, how] = fresh(version)
    *_, last = train(models[version, how], objectives[how], recipe)
    losses[version, how] = last.val_loss  # on validation windows cut the same way
print(f"v1, aligned: {losses['v1', 'aligned']:.1f} nats per character; entropy floor {corpus.floor:.1f}")

# %% [markdown]
# However the windows are cut, v1 ends at about 2.1 [nats](../docs/glossary.md#nats) per character, near the bigram [floor](../docs/glossary.md#floor). The [entropy](../docs/glossary.md#entropy) floor of whole stories is 0.4.

# %%
end_of_v2 = live.predict(
    "Where will v2 end on aligned windows, where v1 ends at 2.1?", low=0.4, high=2.4, unit="nats", near=0.12
)
end_of_v2

# %% [markdown]
# Beside its loss we draw what each *place* votes for, whatever token stands there: a column for each place, a row for each character that may come next. Red is a vote for, blue a vote against. (How votes are read out of the table is told further down.) The dashed line marks where v1 has ended, and the dotted one is the entropy floor. Watch in which columns colour appears first, remembering the curve of spaces, and where the loss comes to rest.

# %% tags=["answer", "nbval-ignore-output"]
v2 = models["v2", "aligned"] = fresh("v2")
lines = {"where v1 ended": losses["v1", "aligned"], "entropy floor": corpus.floor}
watch = live.votes(corpus.tokenizer)
run = live.train(v2, objectives["aligned"], recipe, "v2", lines, [watch])

# %% tags=["answer", "nbval-ignore-output"]
history = run.result()
losses["v2", "aligned"] = history[-1].val_loss
end_of_v2.compare(losses["v2", "aligned"])

# %% tags=["answer", "nbval-ignore-output"]
gain = {how: losses["v1", how] - losses["v2", how] for how in windows}
rows = [(how, *(f"{losses[v, how]:.2f}" for v in ("v1", "v2"))) for how in windows]
Table(("windows cut", "v1 (nats per character)", "v2"), rows, stable=1)

# %% [markdown]
# A few seconds, too quick to follow; but every picture is kept. Drag *replay*, under the buttons, back to 0 and slowly forward. Before step 30 the curve goes through the line at which v1, after all its 300 steps, had come to rest.
#
# And here are the four corners. Only one moves. On random windows v2 is v1 with dead weight: it lands on the bigram floor as if it had no table. On aligned windows the very same model ends two tenths of a nat below v1, and v1 could not follow if it trained for ever: it stands within two hundredths of its floor.
#
# *Where* does it gain? We take the loss apart, position by position.

# %% tags=["answer", "nbval-ignore-output"]
fig, axes = plt.subplots(1, 2, figsize=(12, 4), sharey=True)
aligned = f"Aligned: v2 gains {gain['aligned']:.2f} nats per character, most of it early"
titles = {"aligned": aligned, "random": "At random: the two curves coincide"}
for ax, (how, w) in zip(axes, windows.items(), strict=True):
    curves = {}
    for v in ("v1", "v2"):
        with torch.inference_mode():
            curves[v] = cross_entropy(models[v, how](w[:, :-1]), w[:, 1:]).mean(dim=0).numpy()
    labels = (titles[how], "position (tokens)", "loss (nats per character)")
    plots.draw_curves(ax, np.arange(64), curves, *labels)
    ax.lines[0].set_linewidth(3)
    ax.legend()
plt.show()

# %% [markdown]
# At position 3 the aligned v2 is never surprised: a name has just ended, so a space must come. Vowels and consonants of the first name stand at fixed places as well. Then the stories drift apart, and from position 50 or so the orange curve is back among the bigrams.

# %% [markdown]
# ## What the table has learnt
#
# A row of the table is 64 numbers without names. But v2 only ever does one thing with it: multiply it by the head. That turns the row into **votes**, one for each next character, and these we can read. Red is a vote for, blue a vote against, compared with the average position.

# %%
ballots = {}
for how in windows:
    voter = models["v2", how]
    ballots[how] = (voter.encoding.table @ voter.head.weight.T).detach()  # (P, V)
    ballots[how] -= ballots[how].mean(dim=0)

# %% tags=["nbval-ignore-output"]
fig, ax = plt.subplots(figsize=(10, 6))
title = "Aligned: the first places have strong opinions, the last ones hardly any"
labels = ("position (tokens)", "candidate for the next character")
plots.draw_matrix(ax, ballots["aligned"].numpy().T, title, *labels, diverging=True)
names = plots.visible(corpus.tokenizer.characters)
ax.set_yticks(range(len(names)), names, fontsize=8)
fig.axes[1].set_ylabel("vote (nats)")
plt.show()

# %% [markdown]
# Read the first columns from left to right: vowels, then consonants, then vowels, then the dark red square of the space: position has spelt out what a name looks like. Far to the right the votes fade. And the table of the v2 that saw random windows? Its votes are many times smaller, and they are noise.

# %% tags=["nbval-ignore-output"]
sizes = {how: vote.abs().mean().item() for how, vote in ballots.items()}
ratio = sizes["aligned"] / sizes["random"]
print(f"mean vote of the aligned table: more than {5 * int(ratio / 5)} times that of the other")

# %% [markdown]
# In which order did the places learn to vote? While v2 trained, the lab kept its votes in `run.frames`: this is what *replay* shows. We take out some of them, and measure how strongly the first eight places and the last eight vote, whatever for, and how strongly place 3 votes for the space.

# %% tags=["nbval-ignore-output"]
rows, frames = [], run.frames[watch]  # of a run that was stopped: fewer
for step, vote in (frames[i] for i in (1, 2, 3, 4, 8, 20, 40) if i < len(frames)):
    first, last = np.abs(vote[:8]).mean(), np.abs(vote[-8:]).mean()
    rows.append((str(step), f"{first:.2f}", f"{last:.2f}", f"{vote[3, space]:.1f}"))
heading = ("after step", "places 0 to 7 (nats)", "places 56 to 63", "place 3, for the space")
Table(heading, rows, stable=1)

# %% [markdown]
# The first places speak up at once, and they are the louder ones from the first look to the last. Now follow the last column. Place 3 passes 4 nats, where the colours of the slider's picture end, within some thirty steps; a space is all but certain then, and yet at the end of the training its voice is twice as loud and more. A [softmax](../docs/glossary.md#softmax) gives a certain thing all of the probability only for an infinite vote, so a place that is always right is never done.

# %% [markdown]
# ## Two voters who never speak
#
# We have just multiplied the table by the head, alone. That this is allowed shows something important. The head is linear, so
#
# $$\text{logits} = (e + p)\,W^\top + b = \underbrace{e\,W^\top + b}_{\text{the token's votes}} + \underbrace{p\,W^\top}_{\text{the place's votes}}.$$
#
# Token and place fill in their ballots separately, and the ballots are added. Check it on real text:

# %%
token_votes = v2.token_embedding.weight @ v2.head.weight.T + v2.head.bias  # (V, V)
place_votes = v2.encoding.table @ v2.head.weight.T  # (P, V)
ids = corpus.val[:64]
assert torch.allclose(v2(ids[None])[0], token_votes[ids] + place_votes, atol=1e-4)

# %% [markdown]
# The note prefers adding to concatenating because a sum *fuses* token and position, like red and blue paint, while concatenation leaves them side by side, like two sheets of paper; the mixture, it says, is the advantage. Let us build a model that concatenates. Its head reads 2D channels, so it has twice the weights, and each half has its own.

# %%
ends = ["above v2", "within 0.02 nats of v2", "below v2"]
beside = live.predict(
    "Trained like v2 on the same aligned windows, where will the model that concatenates end?", ends
)
beside


# %%
class SideBySide(BagWithPositions):
    """v2, but token and place are concatenated and not added."""

    def __init__(self, config):
        super().__init__(config)
        self.head = torch.nn.Linear(2 * config.n_embd, config.vocab_size)

    def forward(self, idx, positions=None, cache=None):
        tokens = self.token_embedding(idx)  # (B, T, D)
        places = self.encoding.table[: idx.shape[1]].expand_as(tokens)
        return self.head(torch.cat([tokens, places], dim=-1))  # (B, T, V)


# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(0)
sheets = SideBySide(shape)
*_, last = train(sheets, objectives["aligned"], recipe)
apart = last.val_loss - losses["v2", "aligned"]
print(f"side by side {last.val_loss:.3f}, added {losses['v2', 'aligned']:.3f} nats per character")
beside.compare(ends[1 if abs(apart) < 0.02 else 0 if apart > 0 else 2])

# %%
assert sheets.head.weight.numel() == 2 * v2.head.weight.numel()

# %% [markdown]
# Beside it: the paint was two sheets of paper all along. Twice the weights in the head buy nothing here, which is a reason to add, if not the note's.
#
# What would real fusion be worth? Imagine a model with a separate row for each *pair* of token and place: *this letter, here*. We need not train it. We count, as in notebook 01, but place by place, and fall back a little on plain bigrams where a pair was never seen.

# %%
amounts = ["under 0.05: v2 knows token and place as well", "0.05 to 0.15", "more than 0.15"]
pair_gain = live.predict(
    "Position brought v2 about 0.2 nats. How many more does the table of pairs bring?", amounts
)
pair_gain

# %% tags=["answer", "nbval-ignore-output"]
V, T, one_count = shape.vocab_size, shape.block_size, torch.ones((), dtype=torch.float64)
learn = batches.cut(corpus.train, batches.line_starts(corpus.train, newline, 65), 65)
held = windows["aligned"]
counts = torch.zeros(T, V, V, dtype=torch.float64)  # (place, this, next)
counts.index_put_((torch.arange(T), learn[:, :-1], learn[:, 1:]), one_count, accumulate=True)
counts += counts.sum(dim=0) / counts.sum(dim=(0, 2))[:, None] + 1e-6
table = counts / counts.sum(dim=-1, keepdim=True)
fused = -table[torch.arange(T), held[:, :-1], held[:, 1:]].log().mean().item()
print(f"pairs {fused:.2f}, v2 {losses['v2', 'aligned']:.2f} nats per character")
further = losses["v2", "aligned"] - fused
pair_gain.compare(amounts[(further > 0.05) + (further > 0.15)])

# %% [markdown]
# Roughly as much again as the whole gain from position. To let token and place work *together*, something nonlinear has to stand between the sum and the head. In a Transformer that is what the blocks do, and there, adding is a fine choice. In v2 there is nothing.

# %% [markdown]
# ## Who did it?
#
# v2 has left v1 behind by a wide margin. Now the questions of notebook 00. Each stands at the beginning of a window, as v2 likes it, and is short enough for its 64 places. A story and its [mirror](../docs/glossary.md#mirror-pair) have the same characters and two different answers; a coin is right in 50%.

# %%
right_answers = live.predict(
    "What share of 400 questions does the v2 of aligned windows answer right?",
    low=0,
    high=100,
    unit="%",
    near=1,
)
right_answers

# %% tags=["answer"]
questions = corpus.grammar.questions(400, seed=2, max_chars=64)
accuracy = {how: role_accuracy(models["v2", how], corpus.tokenizer, questions) for how in windows}
print(*(f"{how}: {share:.0%}" for how, share in accuracy.items()), sep="\n")
right_answers.compare(100 * accuracy["aligned"])

# %%
assert all(0.45 <= share <= 0.55 for share in accuracy.values())

# %% [markdown]
# A coin, to the last question. In a story and its mirror the answer is asked for after the same character (a space) and at the same place. These two things are all that v2 knows, so it prefers the same name in both, and is right in one of them. A lower loss has not bought a single right answer.
#
# The panel of [promises](../docs/glossary.md#promise) says it in general. The first line is the sharpest: replace *every* earlier token, and the prediction does not move.

# %% tags=["nbval-ignore-output"]
about_v2 = [
    invariants.blind_to_the_past(v2, ids),
    invariants.order_blind(v2, ids),
    invariants.causal(v2, ids),
    invariants.cache_equals_full(v2, ids),
    invariants.extrapolates_or_refuses(v2, ids),
]
assert all(promise.holds for promise in about_v2)
invariants.promises(about_v2)

# %% [markdown]
# ## When the seats run out
#
# A table ends. What about a text that is longer than the table? The note cuts inside `forward`: only the last [`block_size`](../docs/glossary.md#block-size) tokens are kept. Here are its lines, with the usual loss after them, and a batch that is six tokens too long.

# %%
x, y = corpus.val[None, :70], corpus.val[None, 1:71]  # (1, 70) each


def note_logits(model, idx):
    """What note 004 does: cut the inputs, count the places from 0, add, read off."""
    T = min(idx.shape[1], model.config.block_size)
    idx = idx[:, -T:]
    tok_emb, pos_emb = model.token_embedding(idx), model.encoding.table[:T]
    return model.head(tok_emb + pos_emb)  # (B, T, V)


try:
    torch.nn.functional.cross_entropy(note_logits(v2, x).flatten(0, 1), y.flatten())
except ValueError as error:
    print(error)

# %% [markdown]
# The inputs were cut and the targets were not, so 64 predictions meet 70 targets. (The note speaks of inputs alone, and of those it is right.) The repair is one line: cut both. In this course a loss is taken outside the model, by `cross_entropy`, and that is where the targets are cut to fit.

# %%
loss = cross_entropy(v2(x), y).detach()
print(tuple(loss.shape), "losses, the last one for the target", repr(corpus.tokenizer.decode(y[0, -1:])))
assert torch.allclose(loss[0], cross_entropy(v2(x[:, -64:]), y[:, -64:])[0])

# %% [markdown]
# It runs, but think about what it means. Cut to the last 64, a token that stood at place 40 stands at place 34, and one step later at 33. Its seat number no longer says where it is in the story, which was all that v2 had learnt beyond bigrams.
#
# Of writing, the note says that it can go on past the table, since `forward` does the cutting. So it can. Here is its loop, which cuts nothing itself: v2 begins a line and writes 300 characters.

# %%
places = ["64, 65, 66 and so on", "0, 1, 2 and so on: it begins anew", "always 63", "always 0"]
seat = live.predict("From the 65th character on, from which place does v2 write the next one?", places)
seat

# %% tags=["answer", "nbval-ignore-output"]
written, dice = corpus.tokenizer.encode("\n")[None], torch.Generator().manual_seed(0)
seats = []  # of the token that is written from: the place whose votes give these logits
while written.shape[1] < 300:
    logits = note_logits(v2, written)[:, -1].detach()  # (1, V)
    off = (token_votes[written[0, -1]] + place_votes - logits).abs().amax(dim=1)  # (P,)
    seats.append(int(off.argmin()) if off.min() < 1e-3 else None)
    drawn = torch.multinomial(logits.softmax(dim=-1), 1, generator=dice)
    written = torch.cat([written, drawn], dim=1)
print(corpus.tokenizer.decode(written[0]).strip())
stays = len(set(seats[64:])) == 1
seat.compare(f"always {seats[-1]}" if stays else places[0 if seats[64] == 64 else 1])

# %%
assert seats == [min(place, 63) for place in range(299)]

# %% [markdown]
# At place 63, always: for every step we looked which row of the table explains its logits. Whatever v2 knew about the shape of a line it used up in the first 64 characters; after that the same seat votes for ever, and v2 writes as a bigram model does. It does not fail. It has nothing more to say about places.
#
# And asked outright about a place beyond its last row, the table has nothing to say. Ours says so, rather than quietly reusing its last row:

# %%
try:
    v2(ids[None], Positions.arange(64, start=64))
except ValueError as error:
    print(error)

# %% [markdown]
# ## What the note claims, and what was measured
#
# Here are seven claims of note 004 about v2. You see five at once; the others fold out. The page `docs/notes/004.md` tells what the note says, and `python -m babygpt claims 004` prints its sentences.

# %% tags=["nbval-ignore-output"]
claims = [
    "the note's worked table of sums is right",
    "in v2 a character has another code at another position",
    "v2 tells 我爱你 from 你爱我",
    "adding mixes token and position in one space",
    "so v2 can write on past block_size",
    "an input that is too long is cut to its last block_size tokens",
    "v2 adds block_size × n_embd parameters to v1",
]
findings("004", claims, first=claims[:5])

# %% [markdown]
# What the note says about *codes* is right, to the last decimal. What it concludes about *sentences* is right in one sense only: v2 gives 我爱你 and 你爱我 different probabilities, as v1 did before it. After 我爱 and after 你爱 it predicts the same. To do better there, a token must see the tokens before it, and the note does not have that yet.

# %% [markdown]
# Your guesses, and what came out:

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Exercises
#
# Solve what you like, in any order. Each has a task, a cell of yours with a beginning in it, and a check that says what is still missing. In a new cell, `learned_positions.SECOND_WORD.hint()` gives one hint at a time, and `.solution()` shows one way to do it. *Core* exercises belong to the lesson; *stretch* is for those who want more.

# %%
learned_positions.SECOND_WORD


# %%
def second_word(ids: Tensor, newline: int, space: int, length: int) -> Tensor:
    """Windows (N, length) that begin at the second word of each line."""
    return ids[:0].view(0, length)


# %%
learned_positions.SECOND_WORD.check(second_word)

# %%
learned_positions.VOTES


# %%
def votes(E: Tensor, P: Tensor, W: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """The votes of each token (V, V) and of each place (T, V), the latter 0 on average over the places."""
    return torch.zeros(len(E), len(E)), torch.zeros(len(P), len(E))


# %%
learned_positions.VOTES.check(votes)

# %% tags=["nbval-ignore-output"]
learned_positions.VOTES.draw(votes)

# %%
learned_positions.ADDITIVE


# %%
def v2_can(table: Tensor) -> bool:
    """Whether some v2 gives these probabilities (T, V, V), of place, token and next token."""
    return True


# %%
learned_positions.ADDITIVE.check(v2_can)

# %%
learned_positions.BEYOND_V2

# %%
texts = []

# %%
learned_positions.BEYOND_V2.check(texts)

# %% [markdown]
# To go on with: cut `corpus.val` into windows of 65 with your `second_word`, say from the table of votes what will happen to v2's loss on them, and measure it with `cross_entropy(v2(w[:, :-1]), w[:, 1:]).mean()`. And what if v2 had been *trained* on them?

# %% [markdown]
# ## Recap
#
# 1. v2 adds to each token's vector a learned vector for its place, one row for each of `block_size` places, and nothing else: still no token sees another.
# 2. A character then has another code at another place, as the note says; but 爱 has the same code after 我 as after 你, so v2 does not know who loves whom, and it answers exactly half of the questions right.
# 3. Where windows begin with a story, place predicts: v2 ends 0.2 nats below v1 on the tales (300 steps, six seeds and again six others), most of it in the first places; where windows begin anywhere, a token that sees only itself and its number gains nothing.
# 4. Under a linear head token and place vote separately and their votes are added, so concatenating them ends where adding does; a table for each *pair* of token and place, which no sum can imitate, is ahead of v2 by another 0.2 nats.
# 5. A table ends: the note's `forward` cuts its input to the last `block_size` tokens, and from there on v2 writes from its last seat for ever, as a bigram model does.

# %% [markdown]
# ## Self-test
#
# **1.** v2 has read 我爱 in one text and 你爱 in another, each from place 0. What can differ in what it says next?
#
# - a) everything, since the codes at place 0 differ
# - b) nothing
# - c) nothing before training, something after it
#
# <details><summary>Answer</summary>
#
# **b.** It speaks from the code of 爱 at place 1, which is one sum in both texts, with any weights. Tempting is *a*: the codes at place 0 do differ, but no token of v2 sees them.
#
# </details>
#
# **2.** Windows are cut at random. In which model can a position code still be of use?
#
# - a) in none, since position and text are independent
# - b) in v2, if it is trained for longer
# - c) in one whose tokens look at each other
#
# <details><summary>Answer</summary>
#
# **c.** Two numbers make a distance, and a distance means the same wherever the window was cut. Tempting is *a*: it is true of a token that sees only itself and its number.
#
# </details>
#
# **3.** After place 3 of an aligned window there is always a space. Why does its vote for the space go on growing when it is right already?
#
# - a) no finite vote gives the space all of the probability, so a little loss is left
# - b) the table has not yet seen all names
# - c) the learning rate is too high
#
# <details><summary>Answer</summary>
#
# **a.** The loss is −ln p, and p reaches 1 only for an infinite vote. Tempting is *b*: every story it has seen had a space there, so further names would tell it nothing new.
#
# </details>
#
# **4.** In a text, letter *a* is followed by *b* at even places and by *c* at odd ones; after *b* it is the other way round. Which model can learn this without doubt?
#
# - a) v2, with enough channels
# - b) a model that concatenates token and place, under a linear head
# - c) a table with a row for each pair of token and place
#
# <details><summary>Answer</summary>
#
# **c.** What place votes for would have to turn round with the token, and a sum of two votes cannot say that. Tempting is *b*: concatenating keeps token and place apart, but a linear head still gives each its own vote and adds them.
#
# </details>
#
# **5.** v2 with 64 places writes 300 characters by the note's loop. What happens after the 64th?
#
# - a) it raises an error, since its table has no further row
# - b) it goes on, as a bigram model with one fixed vote for the place
# - c) it goes on, and begins a new line as if at place 0
#
# <details><summary>Answer</summary>
#
# **b.** The input is cut to its last 64 tokens, so the newest one always sits at place 63. Tempting is *a*: asked outright for place 64 the table does refuse, but the loop never asks.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Convolutional Sequence to Sequence Learning](https://arxiv.org/abs/1705.03122) — Gehring et al. 2017: learned position vectors added to token vectors, just before the Transformer.
# - [Attention Is All You Need](https://arxiv.org/abs/1706.03762) — Vaswani et al. 2017; section 3.5 compares learned positions with the sinusoids of notebook 03b, and finds nearly the same results.
# - [BERT](https://arxiv.org/abs/1810.04805) — Devlin et al. 2018: a table of 512 rows, and the best known model that ends where its table does.
# - [What Do Position Embeddings Learn?](https://arxiv.org/abs/2010.04903) — Wang and Chen 2020 look into the tables of trained models, as we did with votes.
# - [Rethinking Positional Encoding in Language Pre-training](https://arxiv.org/abs/2006.15595) — Ke, He and Liu 2020 take token and position apart again, because their sum mixes what should not be compared.

# %% [markdown]
# ## What comes next
#
# Every token now knows where it stands, and none knows who its neighbours are. They have to look at each other: that is **attention**. And as soon as they do, a question returns with a vengeance: a comparison of two tokens does not know where they stand, so what must a position code say for attention to use it? → [03a · Attention](03a_attention.ipynb)
