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
# **Is it enough to tell each token its position?**
#
# v1 of lesson 01 does not know the past. The source note on v2 says that v1 lacks *positions*. Its remedy is the position [encoding](../docs/glossary.md#encoding) of the first GPTs: give each position a vector of its own, learn it like all other weights, and add it to the token's vector. You will
#
# 1. add tokens and positions by hand, and see what the sum cannot know,
# 2. find out for which texts a position is worth something,
# 3. train v2 and read what its table has learned,
# 4. see what a start, padding and the end of the table do to it.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, about 26 minutes to read and guess; the exercises about 20 more, and 35 for those marked *stretch*.

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt
import numpy as np
import torch
import torch.nn.functional as F
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

# %%
plots.set_style()
corpus = load_corpus("tales")
V, newline, space = corpus.tokenizer.vocab_size, *(corpus.tokenizer.ids[c] for c in "\n ")
starts = batches.line_starts(corpus.val, newline, length=65)
windows = {"aligned": batches.cut(corpus.val, starts, 65)}  # (N, 65): each begins with a story
share = F.one_hot(windows["aligned"], V).double().mean(dim=0)  # (65, V)
fig, ax = plt.subplots(figsize=(10, 5.5))
title = f"At position 4 of a story a space is certain; at position 60 its share is {share[60, space]:.0%}"
plots.draw_matrix(ax, share.numpy().T, title, "position (tokens)", "character there", top=0.5)
ax.set_yticks(range(V), plots.visible(corpus.tokenizer.characters), fontsize=8)
fig.axes[1].set_ylabel("share of stories (0.5 or more is yellow)")
plt.show()

# %% [markdown]
# A column is a position in a story, and a bright cell is a frequent character (• is a space). Stories begin with a name such as *pori*: all names have four letters, consonant, vowel, consonant, vowel. So a model that knows the position can predict a lot at the start of a story. Later words differ in length, and the columns become alike.
#
# ## Adding by hand
#
# We take the note's four characters and two channels. 我爱你 means *I love you*, and 你爱我 *you love me*. Still no token sees another.

# %%
after_love = live.predict(
    "v2 knows token and position. Can it predict one thing after 我爱, and another after 你爱?",
    ["yes", "no", "only once it is trained"],
)
after_love

# %% tags=["answer"]
toy = CharTokenizer("我爱你！")
E = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])  # tokens: (V, D) = (4, 2)
P = torch.tensor([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])  # positions: (T, D) = (3, 2)
rows = []
for sentence in ("我爱你", "你爱我"):
    for t, (character, token) in enumerate(zip(sentence, E[toy.encode(sentence)], strict=True)):
        sums = [f"[{a:.2f}, {b:.2f}]" for a, b in (token, P[t], token + P[t])]
        rows.append((sentence, str(t), character, *sums))
Table(("sentence", "position", "character", "row of E", "row of P", "code: their sum"), rows, stable=6)

# %% tags=["answer"]
one, other = toy.encode("我爱你"), toy.encode("你爱我")
code_one, code_other = E[one] + P, E[other] + P  # (T, D) = (3, 2)
after_love.compare("no" if torch.equal(code_one[1], code_other[1]) else "yes")

# %% [markdown]
# Compare the two lines of 我: its code is [0.11, 0.22] at position 0 and [0.15, 0.26] at position 2. In v1 it had one code. Now compare the two lines of 爱. It stands at position 1 in both sentences, so its code is [0.33, 0.44] in both. Equal codes give equal predictions, and no training can change that. **A position says nothing about the neighbour.**
#
# In the package, `LearnedPositions` makes the sum, and v2 is v1 with one more line. A [batch](../docs/glossary.md#batch) holds B texts, here our two: token vectors have the shape (B, T, D), and the same table (T, D) is added to each text. Lesson 03a explains `cache`.

# %%
encoding = LearnedPositions(max_positions=3, n_embd=2)
encoding.load_state_dict({"table": P})
codes = encoding.embed(E[torch.stack([one, other])], Positions.arange(3))  # (B, T, D) = (2, 3, 2)
assert torch.allclose(codes, torch.stack([code_one, code_other]))
source(BagWithPositions)

# %% [markdown]
# ## What a position is worth
#
# In lesson 01 a toy text said 我爱你 twice and 你爱我 once. The best bigram table gave them 16 and 1 of 81 parts of the probability. The other 64 parts went to nonsense such as 我！, because the table did not know that a sentence ends after three characters.

# %%
ways = ["all to the two sentences", "some to them, and some to sentences that nobody said", "none to them"]
lost_parts = live.predict("A model knows the position. Where do the 64 lost parts go?", ways)
lost_parts

# %% [markdown]
# We count what follows at each of four positions; position 0 is the ！ before the sentence. To keep the table small we use the position alone and ignore the token.

# %% tags=["answer"]
following = torch.zeros(4, 4)  # (position, next character)
for sentence in ("我爱你", "我爱你", "你爱我"):
    following[torch.arange(4), toy.encode(f"{sentence}！")] += 1 / 3
every = [a + b + c for a in toy.characters for b in toy.characters for c in toy.characters]
chances = {three: following[torch.arange(4), toy.encode(f"{three}！")].prod().item() for three in every}
print(*(f"{sentence}: {p * 81:.0f} / 81" for sentence, p in chances.items() if p > 0), sep="\n")
theirs = 81 * (chances["我爱你"] + chances["你爱我"])  # 17 in v1
lost_parts.compare(ways[0 if theirs > 80 else 1 if theirs > 18 else 2])

# %% [markdown]
# All four sentences have the form *somebody loves somebody*. The position has taught the model the **shape** of a sentence, and 28 of the 64 parts now go to sentences of the text. The other 36 go to two sentences that nobody said. For the last character the model knows that a person must come. It does not know which one, because it cannot see the first.
#
# ## Two ways to cut windows
#
# A model reads [windows](../docs/glossary.md#window) cut out of a long text, and position 0 is where the window begins. There are two ways to cut.
#
# - **Aligned**: each window begins with a story, as in the first picture.
# - **At random**, as GPTs usually do. Position 0 may then be the middle of a name.
#
# About every fifth character of the tales is a space. We ask for each position in how many windows it holds a space.

# %%
choices = ["both", "only the aligned one", "only the random one", "neither"]
swinging = live.predict(
    "Two curves, one for each cut. Which rises more than 0.3 above its own lowest point?", choices
)
swinging

# %% tags=["answer", "nbval-ignore-output"]
anywhere = torch.randint(len(corpus.val) - 65, (len(starts),), generator=torch.Generator().manual_seed(0))
windows["random"] = batches.cut(corpus.val, anywhere, 65)
spaces = {how: (w == space).double().mean(dim=0).numpy() for how, w in windows.items()}
fig, ax = plt.subplots(figsize=(8, 4))
title = "From a story's start the position tells where spaces are; in random windows it does not"
plots.draw_curves(
    ax, np.arange(65), spaces, title, "position (tokens)", "share of windows with a space there"
)
plt.show()
wide = [how for how, shares in spaces.items() if np.ptp(shares) > 0.3]  # from lowest to highest
swinging.compare(f"only the {wide[0]} one" if len(wide) == 1 else "both" if wide else "neither")

# %% [markdown]
# In random windows every position holds the same mixture of characters; only sampling noise is left. Position and text are independent, so a token that sees *only itself and its position* learns nothing from the position. Once tokens see each other (lesson 03a), a model can compare two positions, and then a position code helps in random windows too. BERT and GPT-2 used learned tables in this way.
#
# ## Train it
#
# We train v1 and v2 on both kinds of windows, four short runs from one [seed](../docs/glossary.md#seed). Three come first; the fourth, v2 on aligned windows, we shall watch.

# %%
shape = ModelConfig(V, block_size=64, n_embd=64)
recipe = TrainConfig(steps=300, batch_size=64, lr_other=0.03)
objectives = {how: NextToken(corpus, shape.block_size, how == "aligned") for how in windows}
models, losses = {}, {}
for version, how in (("v1", "aligned"), ("v1", "random"), ("v2", "random")):
    torch.manual_seed(0)
    models[version, how] = build(version, shape)
    *_, last = train(models[version, how], objectives[how], recipe)
    losses[version, how] = last.val_loss  # on validation windows cut the same way
print(f"v1, aligned: {losses['v1', 'aligned']:.1f} nats; entropy floor {corpus.floor:.1f}")

# %%
end_of_v2 = live.predict(
    "Where will v2 end on aligned windows, where v1 ends at 2.1?", low=0.4, high=2.4, unit="nats", near=0.12
)
end_of_v2

# %% [markdown]
# Beside the loss you see the **votes** of each position: the part of the logits that does not depend on the token. Red is for a character, blue against it. Watch which columns get their colour first.

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(0)
v2 = models["v2", "aligned"] = build("v2", shape)
lines = {"where v1 ended": losses["v1", "aligned"], "entropy floor": corpus.floor}
watch = live.votes(corpus.tokenizer)
run = live.train(v2, objectives["aligned"], recipe, "v2", lines, [watch])

# %% tags=["answer", "nbval-ignore-output"]
losses["v2", "aligned"] = run.result()[-1].val_loss
rows = [(how, *(f"{losses[v, how]:.2f}" for v in ("v1", "v2"))) for how in windows]
display(Table(("windows cut", "v1 (nats per character)", "v2"), rows, stable=1))
end_of_v2.compare(losses["v2", "aligned"])

# %% [markdown]
# In all twelve of our runs the same came out. On aligned windows v2 ended 0.21 nats below v1. On random windows the position table gained nothing. More training would not help v1: the best bigram table, counted on aligned windows, scores 2.11, and v1 ends there.
#
# *Where* does v2 gain? We take the loss apart, position by position.

# %% tags=["nbval-ignore-output"]
fig, axes = plt.subplots(1, 2, figsize=(12, 4), sharey=True)
titles = {"aligned": "Aligned: v2 gains at the start of a story", "random": "At random: the curves coincide"}
for ax, (how, w) in zip(axes, windows.items(), strict=True):
    curves = {}
    for v in ("v1", "v2"):
        with torch.inference_mode():
            curves[v] = cross_entropy(models[v, how](w[:, :-1]), w[:, 1:]).mean(dim=0).numpy()
    plots.draw_curves(
        ax, np.arange(64), curves, titles[how], "position (tokens)", "loss (nats per character)"
    )
    ax.lines[0].set_linewidth(3)
    ax.legend()
plt.show()

# %% [markdown]
# At position 3 the aligned v2 loses almost nothing: a name has ended, so a space must come. Then the stories drift apart, and from position 50 on v2 is hardly better than v1.
#
# Drag *replay* slowly forward. The first columns get their colours first. Position *t* votes for the character at *t* + 1, so columns 0 to 3 spell the rest of a name: vowel, consonant, vowel, space. Further right the votes fade. The row of the line end ↵ is red on the right, because a story that has gone on for 50 characters is more likely to end.
#
# Training keeps raising the vote of position 3 for the space, even when the space is already predicted. No finite vote gives the space all of the probability, so a little loss is always left.
#
# ## Token and position vote separately
#
# Let $e$ be the token's vector and $p$ the position's vector. The head is linear, so the logits of v2 are a sum of two parts:
#
# $$\text{logits} = (e + p)\,W^\top + b = \underbrace{e\,W^\top + b}_{\text{votes of the token}} + \underbrace{p\,W^\top}_{\text{votes of the position}}.$$

# %%
token_votes = v2.token_embedding.weight @ v2.head.weight.T + v2.head.bias  # (V, V)
position_votes = v2.encoding.table @ v2.head.weight.T  # (T, V)
part = corpus.val[:64]
assert torch.allclose(v2(part[None])[0], token_votes[part] + position_votes, atol=1e-4)

# %% [markdown]
# The alternative to adding is to *concatenate*: the head then reads 2D channels and has twice the weights, a half for tokens and a half for positions.

# %%
ends = ["above v2", "within 0.02 nats of v2", "below v2"]
beside = live.predict("Trained on the same windows, where does the model that concatenates end?", ends)
beside


# %% tags=["answer", "nbval-ignore-output"]
class SideBySide(BagWithPositions):
    """v2, but token and position are concatenated and not added."""

    def __init__(self, config):
        super().__init__(config)
        self.head = torch.nn.Linear(2 * config.n_embd, config.vocab_size)

    def forward(self, idx, positions=None, cache=None):
        tokens = self.token_embedding(idx)  # (B, T, D)
        return self.head(torch.cat([tokens, self.encoding.table[: idx.shape[1]].expand_as(tokens)], dim=-1))


torch.manual_seed(0)
*_, last = train(SideBySide(shape), objectives["aligned"], recipe)
apart = last.val_loss - losses["v2", "aligned"]
print(f"concatenated {last.val_loss:.3f}, added {losses['v2', 'aligned']:.3f} nats per character")
beside.compare(ends[1 if abs(apart) < 0.02 else 0 if apart > 0 else 2])

# %% [markdown]
# Both end at the same loss, because both models can only add two votes. What would a real *combination* gain, with a row for each **pair** of token and position? No training is needed: we count, as in lesson 01, but for each position separately. Some pairs are rare. So each pair gets one more count, divided among the next characters as in the bigram table.

# %%
amounts = ["under 0.05 nats", "0.05 to 0.15 nats", "more than 0.15 nats"]
pair_gain = live.predict("Positions gained 0.2 nats. How much more does the table of pairs gain?", amounts)
pair_gain

# %% tags=["answer", "nbval-ignore-output"]
T, held = shape.block_size, windows["aligned"]
learn = batches.cut(corpus.train, batches.line_starts(corpus.train, newline, T + 1), T + 1)
keys = (torch.arange(T) * V + learn[:, :-1]) * V + learn[:, 1:]  # position, token, next token
counts = torch.bincount(keys.flatten(), minlength=T * V * V).view(T, V, V).double()
bigrams = counts.sum(dim=0) / counts.sum(dim=(0, 2))[:, None]
smoothed = counts + bigrams + 1e-6
table = smoothed / smoothed.sum(dim=-1, keepdim=True)
combined = -table[torch.arange(T), held[:, :-1], held[:, 1:]].log().mean().item()
further = losses["v2", "aligned"] - combined
print(f"pairs {combined:.2f}, v2 {losses['v2', 'aligned']:.2f} nats per character")
pair_gain.compare(amounts[int(further > 0.05) + int(further > 0.15)])

# %% [markdown]
# The table of pairs gains another 0.2 nats. A nonlinear layer after the sum could learn such combinations; v2 has none.
#
# ## Starts and padding
#
# In aligned windows the table learns about *starts*, because position 0 is always the start of a story. Where windows are cut at random, models often get a [BOS](../docs/glossary.md#bos) token (*beginning of sequence*) in front of each text, so that a start can be recognised by its token. In the tales the line end does this work. BOS does not help v2 in random windows: it changes the prediction of the first character only, since no later token sees it.
#
# Stories differ in length, but a batch is a rectangle. Shorter stories are therefore filled up with [padding](../docs/glossary.md#padding). This costs twice. First, computing time: in a batch of 64 stories of our validation text almost half of the tokens would be padding. Second, positions: if the padding stands on the *left*, a story no longer begins at position 0. We pad 64 short stories on both sides and count only the loss of real characters.

# %% tags=["nbval-ignore-output"]
stories = [corpus.tokenizer.encode(line + "\n") for line in corpus.tokenizer.decode(corpus.val).split("\n")]
some = [story for story in stories if 2 <= len(story) <= 65][:64]  # they fit into the table
gaps = torch.tensor([65 - len(story) for story in some])
right = torch.stack([F.pad(story, (0, n), value=newline) for story, n in zip(some, gaps, strict=True)])
left = torch.stack([F.pad(story, (n, 0), value=newline) for story, n in zip(some, gaps, strict=True)])
real = {"right": torch.arange(64) < 64 - gaps[:, None], "left": torch.arange(64) >= gaps[:, None]}
from_start = Positions((torch.arange(64) - gaps[:, None]).clamp(min=0))  # counted from the story's start
for side, batch, positions in (("right", right, None), ("left", left, None), ("left", left, from_start)):
    each = cross_entropy(v2(batch[:, :-1], positions), batch[:, 1:])[real[side]]
    counted = "the story" if positions else "the window"
    print(f"v2, padded on the {side}, positions from the start of {counted}: {each.mean():.2f} nats")
each = cross_entropy(models["v1", "aligned"](left[:, :-1]), left[:, 1:])[real["left"]]
print(f"v1, padded on the left: {each.mean():.2f} nats")
longest = max(map(len, stories[:64]))
print(f"padding in a batch of 64 stories: {1 - sum(map(len, stories[:64])) / (64 * longest):.0%}")

# %% [markdown]
# Left padding costs v2 more than its table had gained: v1, which knows no positions, is now better. If each story's positions are counted from its own start, nothing is lost. Remember this where a model answers several prompts at once: the prompts are padded on the left, because the model writes on at the right.
#
# ## Who did it?
#
# *ada chased ben. who chased ben? ada.* The tales have no such names. v2 has to predict the *a* from the space before it, at position 31. In the mirror, *ben chased ada. who chased ada? ben.*, the same space stands at the same position. Token and position are all that v2 knows, so its two predictions are equal, and one of them is wrong.

# %% tags=["nbval-ignore-output"]
chances = []
for prompt in ("ada chased ben. who chased ben? ", "ben chased ada. who chased ada? "):
    p = v2(corpus.tokenizer.encode(prompt)[None])[0, -1].softmax(dim=-1)  # after the last space
    chances.append(p[corpus.tokenizer.encode("ab")].tolist())
    print(prompt, "p of a {:.3f}, p of b {:.3f}".format(*chances[-1]))
questions = corpus.grammar.questions(400, seed=2, max_chars=64)
accuracy = {how: role_accuracy(models["v2", how], corpus.tokenizer, questions) for how in windows}
for how, right in accuracy.items():
    print(f"v2, {how} windows: {right:.1%} of {len(questions)} questions")
assert chances[0] == chances[1]
assert set(accuracy.values()) == {0.5}

# %% [markdown]
# A lower loss has not bought a single right answer: exactly 50%. The panel of [promises](../docs/glossary.md#promise) says it in general. The first line is the sharpest: if we replace *every* earlier token, the prediction does not change.

# %% tags=["nbval-ignore-output"]
about_v2 = [
    invariants.blind_to_the_past(v2, part),
    invariants.order_blind(v2, part),
    invariants.causal(v2, part),
    invariants.cache_equals_full(v2, part),
    invariants.extrapolates_or_refuses(v2, part),
]
assert all(promise.holds for promise in about_v2)
invariants.promises(about_v2)

# %% [markdown]
# ## When the table ends
#
# The table has 64 rows, for positions 0 to 63. So for a longer text the note keeps only the last [`block_size`](../docs/glossary.md#block-size) tokens and numbers them from 0 again. Let v2 write 300 characters in this way.

# %%
answers = ["64, 65, 66 and so on", "0, 1, 2 and so on: it begins again", "always 63", "always 0"]
row_used = live.predict("From the 65th character on, which row of the table does v2 write from?", answers)
row_used

# %% tags=["answer", "nbval-ignore-output"]
written, dice = corpus.tokenizer.encode("p")[None], torch.Generator().manual_seed(0)
used = []  # the row of the table that explains the newest token's logits
while written.shape[1] < 300:
    logits = v2(written)[:, -1].detach()  # v2 cuts its input to the last 64 tokens
    off = (token_votes[written[0, -1]] + position_votes - logits).abs().amax(dim=1)  # (T,)
    used.append(int(off.argmin()) if off.min() < 1e-3 else None)
    drawn = torch.multinomial(logits.softmax(dim=-1), 1, generator=dice)
    written = torch.cat([written, drawn], dim=1)
print(corpus.tokenizer.decode(written[0]).strip())
stays = len(set(used[64:])) == 1
row_used.compare(f"always {used[-1]}" if stays else answers[0 if used[64] == 64 else 1])

# %% [markdown]
# The newest token is the last of the 64 that are kept, so it always gets row 63. What v2 knew about the start of a story is used up after 64 characters. From then on it writes as a bigram model with one fixed vote. And a token that stood at position 40 stands at 39 one step later: its number no longer says where it is in the story.

# %%
live.tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run your cell, then run the check. In a new cell, `learned_positions.SECOND_WORD.hint()` gives one hint at a time, and `.solution()` shows a solution. *Core* exercises belong to the lesson; *stretch* exercises go further.

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
    """Votes of each token (V, V) and of each position (T, V), the latter 0 on average over positions."""
    return torch.zeros(len(E), len(E)), torch.zeros(len(P), len(E))


# %%
learned_positions.VOTES.check(votes)

# %% tags=["nbval-ignore-output"]
learned_positions.VOTES.draw(votes)

# %%
learned_positions.ADDITIVE


# %%
def v2_can(table: Tensor) -> bool:
    """Whether some v2 gives these probabilities (T, V, V), of position, token and next token."""
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
# ## Recap
#
# 1. v2 adds to each token's vector a learned vector for its position, one row for each of `block_size` positions. Still no token sees another.
# 2. A character has another code at another position. But 爱 has the same code after 我 as after 你, so v2 answers exactly half of the mirror questions right.
# 3. Where windows begin with a story, v2 ends 0.2 nats below v1 on the tales (300 steps, six seeds and again six others), most of it at the first positions. Where windows begin anywhere, its table gains nothing.
# 4. Under a linear head, token and position vote separately, so concatenating them ends where adding does. A table with a row for each *pair* of token and position is ahead of v2 by another 0.2 nats; no sum can imitate it.
# 5. A table ends: the input is cut to the last `block_size` tokens, and from there on v2 writes from its last row, as a bigram model does.

# %% [markdown]
# ## Self-test
#
# **1.** v2 has read 我爱 in one text and 你爱 in another, each from position 0. What can differ in its next prediction?
#
# - a) everything, since the codes at position 0 differ
# - b) nothing
# - c) nothing before training, something after it
#
# <details><summary>Answer</summary>
#
# **b.** It predicts from the code of 爱 at position 1, which is one sum in both texts, with any weights. *a* is tempting: the codes at position 0 do differ, but no token of v2 sees them.
#
# </details>
#
# **2.** Windows are cut at random. In which model can a position code still be of use?
#
# - a) in none, since position and text are independent
# - b) in v2, if it is trained for longer
# - c) in one whose tokens see each other
#
# <details><summary>Answer</summary>
#
# **c.** Such a model can compare two positions. *a* is true only of a token that sees nothing but itself and its position.
#
# </details>
#
# **3.** After position 3 of an aligned window there is always a space. Why does its vote for the space go on growing?
#
# - a) no finite vote gives the space all of the probability, so a little loss is left
# - b) the table has not yet seen all names
# - c) the learning rate is too high
#
# <details><summary>Answer</summary>
#
# **a.** The loss is −ln p, and p reaches 1 only for an infinite vote. Against *b*: every name had its space there, so further names tell the table nothing new.
#
# </details>
#
# **4.** Letter *a* is followed by *b* at even positions and by *c* at odd ones; after *b* it is the other way round. Which model can predict all of this with certainty?
#
# - a) v2, with enough channels
# - b) a model that concatenates token and position, under a linear head
# - c) a table with a row for each pair of token and position
#
# <details><summary>Answer</summary>
#
# **c.** The vote of a position would have to depend on the token, which a sum of two votes cannot express. *b* is tempting, but a linear head over a concatenation adds two votes as well.
#
# </details>
#
# **5.** You pad short prompts on the left for a v2, and count positions from the start of the window. What happens?
#
# - a) nothing, since padding is not counted in the loss
# - b) the text gets positions that it never had in training, and is predicted worse
# - c) v2 raises an error
#
# <details><summary>Answer</summary>
#
# **b.** The rows of the table belong to a story's start, and the story has moved. *a* is right about the loss, and wrong about the positions. Count its positions from its own first token.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Note 004 proposes v2 and compares a position with a cinema ticket. What it says about *codes* is right: a character has another code at another position. It concludes that v2 can tell 我爱你 from 你爱我. In one sense this is so: v2 gives the two sentences different probabilities, as v1 did. But it predicts the same after 我爱 as after 你爱.
#
# The note prefers adding because a sum *fuses* token and position, like two colours of paint. Under a linear head it does not; they vote separately. It also compares the sum with a radio wave and with GPS. But a radio wave is *multiplied* with the music. On a map distances are given; rows 5 and 6 of our table are unrelated until training relates them. Finally, its code cuts the inputs to 64 tokens but not the targets, so computing the loss of a text of 70 tokens fails.

# %% tags=["nbval-ignore-output"]
claims = [
    "the note's worked table of sums is right",
    "in v2 a character has another code at another position",
    "v2 tells 我爱你 from 你爱我",
    "adding mixes token and position in one space",
    "so v2 can write on past block_size",
]
findings("004", claims)

# %% [markdown]
# ## Further reading
#
# - [Gehring et al. 2017, *Convolutional Sequence to Sequence Learning*](https://arxiv.org/abs/1705.03122) — learned position vectors, just before the Transformer.
# - [Vaswani et al. 2017, *Attention Is All You Need*](https://arxiv.org/abs/1706.03762) — section 3.5 compares learned positions with the sinusoids of lesson 03b.
# - [Devlin et al. 2018, *BERT*](https://arxiv.org/abs/1810.04805) — a table of 512 rows, and a model that ends where its table does.
# - [Ke, He and Liu 2020, *Rethinking Positional Encoding*](https://arxiv.org/abs/2006.15595) — take token and position apart again.

# %% [markdown]
# ## What comes next
#
# Every token now knows its position, and none knows its neighbours. They have to see each other: that is **attention**. But attention compares two tokens, and a comparison alone does not know where they stand. → [03a · Attention](03a_attention.ipynb)
