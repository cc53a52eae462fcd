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
# v1 of lesson 01 sees the present token and nothing else. Our second model, **v2**, also knows the position of this token. Each position has a vector, and training learns this vector like all other weights. v2 adds it to the token's vector. The first GPTs used this position [encoding](../docs/glossary.md#encoding). You will
#
# 1. add tokens and positions by hand,
# 2. compare windows that begin with a story and windows that begin anywhere,
# 3. train v2 and measure what it gains over v1,
# 4. see what v2 does after the last row of its table.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 15 seconds to run on two cores, and by our estimate 49 minutes to read and guess. The exercises take about 20 minutes, and those marked *stretch* take 35 more.

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, invariants, live, metrics, plots
from babygpt.data import CharTokenizer, batches, load_corpus
from babygpt.encodings import LearnedPositions
from babygpt.models.language_model import BagWithPositions
from babygpt.objectives import cross_entropy
from babygpt.tables import Table, source
from babygpt.training import train
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_02 as learned_positions
from babygpt_course.predictions import predict, tally
from babygpt_course.studies.results import load_results

# %%
plots.set_style()
corpus = load_corpus("tales")
V, newline, space = corpus.tokenizer.vocab_size, *(corpus.tokenizer.ids[c] for c in "\n ")
starts = batches.line_starts(corpus.val, newline, length=65)
windows = {"aligned": batches.cut(corpus.val, starts, 65)}  # (N, 65): each begins with a story
share = torch.nn.functional.one_hot(windows["aligned"], V).double().mean(dim=0)  # (65, V)
fig, ax = plt.subplots(figsize=(10, 5.5))
title = f"At position 4 of a story a space is certain; at position 60 its share is {share[60, space]:.0%}"
plots.draw_matrix(ax, share.numpy().T, title, "position (tokens)", "character there", top=0.5)
ax.set_yticks(range(V), plots.visible(corpus.tokenizer.characters), fontsize=8)
fig.axes[1].set_ylabel("share of stories (0.5 or more is yellow)")
plt.show()

# %% [markdown]
# Each column of the picture is a position in a story. A bright cell is a frequent character; • is a space. Look at columns 0 to 4 first. Every story begins with a name such as *pori*. All names have four letters: consonant, vowel, consonant, vowel. So a space follows in column 4. A model that knows the position can use this.
#
# Now look at the columns on the right. Later words differ in length, so a word may begin in any of these columns. Therefore each column holds the same mixture. There the position helps less.
#
# ## A table of positions
#
# We take four characters and vectors of two numbers. The table E has one row for each token. The table P has one row for each position. v2 looks up one row in each table and adds the two rows. We call this sum the *code* of the token. v2 predicts the next token from this code.
#
# Our two sentences are 我爱你, *I love you*, and 你爱我, *you love me*.

# %%
after_love = predict(
    "v2 has read 我爱 in one text and 你爱 in another. Can its next predictions differ?",
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
# Compare the two lines of 我. Its code is [0.11, 0.22] at position 0 and [0.15, 0.26] at position 2. In v1 these two codes were equal.
#
# Now compare the two lines of 爱. It stands at position 1 in both sentences, so its code is [0.33, 0.44] in both. Equal codes give equal predictions. So v2 predicts the same after 我爱 as after 你爱, and training cannot change that. **A prediction of v2 does not depend on the character before.**
#
# The next cell shows v2 in the package. It first checks that the package computes the sums of our table. You can ignore `cache` until lesson 03a.

# %%
encoding = LearnedPositions(max_positions=3, n_embd=2)
encoding.load_state_dict({"table": P})
codes = encoding.embed(E[torch.stack([one, other])], Positions.arange(3))  # (B, T, D) = (2, 3, 2)
assert torch.allclose(codes, torch.stack([code_one, code_other]))
source(BagWithPositions)

# %% [markdown]
# ## Where does a window begin?
#
# A model reads [windows](../docs/glossary.md#window) cut out of a long text. Position 0 is the first token of a window. There are two ways to cut.
#
# - **Aligned**: each window begins with a story. The first picture shows such windows.
# - **Random**: a window may begin anywhere, for example in the middle of a name. GPTs are usually trained on random windows.
#
# About every fifth character of the tales is a space. For each position we count how many windows have a space there. This gives one curve for aligned windows and one curve for random windows.

# %%
choices = ["in both", "only in the aligned one", "only in the random one", "in neither"]
swinging = predict("In which curve are the highest and the lowest point more than 0.3 apart?", choices)
swinging

# %% tags=["answer", "nbval-ignore-output"]
anywhere = torch.randint(len(corpus.val) - 65, (len(starts),), generator=torch.Generator().manual_seed(0))
windows["random"] = batches.cut(corpus.val, anywhere, 65)
spaces = {how: (w == space).double().mean(dim=0).numpy() for how, w in windows.items()}
fig, ax = plt.subplots(figsize=(8, 4))
title = "The position tells where spaces are, but only in aligned windows"
plots.draw_curves(
    ax, np.arange(65), spaces, title, "position (tokens)", "share of windows with a space there"
)
plt.show()
wide = [how for how, shares in spaces.items() if np.ptp(shares) > 0.3]  # from lowest to highest
swinging.compare(f"only in the {wide[0]} one" if len(wide) == 1 else "in both" if wide else "in neither")

# %% [markdown]
# Look at the aligned curve first. It reaches 1 at position 4, where the first name has ended. Then it swings less and less. The random curve stays near 0.2, because every position holds the same mixture of characters.
#
# v2 sees only one token and its position. In random windows the position tells it nothing about the text. This changes in lesson 03a: there tokens see each other, so a model can compare two positions.
#
# ## Train it
#
# We train v1 and v2 on both kinds of windows. The next cell trains three of these four models.

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
end_of_v2 = predict(
    "On aligned windows, v1 ends at 2.1 nats. At which loss will v2 end?",
    low=0.4,
    high=2.4,
    unit="nats",
    near=0.12,
)
end_of_v2

# %% [markdown]
# The fourth model is v2 on aligned windows, and you can watch it learn. The left panel shows the loss. The right panel shows how each position changes the logits. We call this change the position's **vote**. Red makes a character more probable, and blue makes it less probable. Watch which columns get their colours first.

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(0)
v2 = models["v2", "aligned"] = build("v2", shape)
lines = {"where v1 ended": losses["v1", "aligned"], "entropy floor": corpus.floor}
watch = live.votes(corpus.tokenizer)
run = live.train(v2, objectives["aligned"], recipe, "v2", lines, [watch])

# %% tags=["answer", "nbval-ignore-output"]
losses["v2", "aligned"] = run.result()[-1].val_loss
bags = load_results("order")["bags"]
rows = []
for how, name in (("aligned", "aligned"), ("random", "anywhere")):
    ours = np.mean(np.subtract(bags[f"v1, {name}"], bags[f"v2, {name}"]))
    v1_loss, v2_loss = losses["v1", how], losses["v2", how]
    rows.append((how, *(f"{x:.3f}" for x in (v1_loss, v2_loss, v1_loss - v2_loss, ours))))
heading = ("windows", "your v1 (nats per character)", "your v2", "your gain", "gain in our 12 runs")
display(Table(heading, rows, stable=1))
end_of_v2.compare(losses["v2", "aligned"])

# %% [markdown]
# Look at the last two columns. The gain is the loss of v1 minus the loss of v2. We trained v1 and v2 from twelve seeds, for 300 steps each. On aligned windows v2 gains 0.21 nats. On random windows it gains nothing.
#
# Now drag the timeline of the dashboard to 0, and then move it slowly forward. The columns on the left get their colours first. Column *t* votes for the character at position *t* + 1. So columns 0 to 3 spell the rest of a name: vowel, consonant, vowel, space. Further right the votes fade.
#
# Does the loss show the same? The next picture shows the loss at each position.

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
# Look at position 3 in the left panel. The loss of v2 is almost 0 there, because the first name has ended and a space must follow. Further right the two curves approach each other. From position 50 on v2 gains hardly anything. In the right panel v1 and v2 have the same curve.
#
# ## Token and position vote separately
#
# How does v2 use its sum? Let $e$ be the token's vector and $p$ the position's vector. The head multiplies their sum by a matrix $W$ and adds a bias $b$:
#
# $$\text{logits} = (e + p)\,W^\top + b = \underbrace{e\,W^\top + b}_{\text{votes of the token}} + \underbrace{p\,W^\top}_{\text{votes of the position}}.$$
#
# So v2 adds two votes. The next cell computes the votes and checks that their sum gives the logits of v2.

# %%
token_votes = v2.token_embedding.weight @ v2.head.weight.T + v2.head.bias  # (V, V)
position_votes = v2.encoding.table @ v2.head.weight.T  # (T, V)
part = corpus.val[:64]
assert torch.allclose(v2(part[None])[0], token_votes[part] + position_votes, atol=1e-4)

# %% [markdown]
# The vote of a position is the same for every token. So v2 can learn that a space is probable after position 3. It cannot learn that position 3 makes a space more probable after *a* and less probable after *b*. A nonlinear layer after the sum could learn this, but v2 has none.
#
# ## Padding moves a story
#
# Stories differ in length, but a batch is a rectangle. So shorter stories are filled up with [padding](../docs/glossary.md#padding). Padding on the *left* moves the story: its first token no longer stands at position 0. v2 then adds the wrong rows of its table. The remedy is to count the positions of each story from its own first token.
#
# ## Who did it?
#
# *ada chased ben. who chased ben? ada.* v2 has to predict the *a* of the last word. It sees the space before this *a*, at position 31. The mirror story is *ben chased ada. who chased ada? ben.* There v2 has to predict a *b*, and it sees the same space at the same position.

# %% tags=["nbval-ignore-output"]
chances = []
for prompt in ("ada chased ben. who chased ben? ", "ben chased ada. who chased ada? "):
    p = v2(corpus.tokenizer.encode(prompt)[None])[0, -1].softmax(dim=-1)  # after the last space
    chances.append(p[corpus.tokenizer.encode("ab")].tolist())
    print(prompt, "p of a {:.3f}, p of b {:.3f}".format(*chances[-1]))
questions = corpus.grammar.questions(400, seed=2, max_chars=64)
accuracy = {how: metrics.role_accuracy(models["v2", how], corpus.tokenizer, questions) for how in windows}
for how, right in accuracy.items():
    print(f"v2, {how} windows: {right:.1%} of {len(questions)} questions")
assert chances[0] == chances[1]
assert set(accuracy.values()) == {0.5}

# %% [markdown]
# The first two lines show equal probabilities, although the right answers differ. So v2 is right in one of the two stories and wrong in the other. The last two lines count 400 questions: exactly 50% of the answers are right, as for v1. So the lower loss does not bring a single additional right answer.
#
# The panel of [promises](../docs/glossary.md#promise) is the same as for v1. Read its first line. We replaced every earlier token, and the prediction did not change.

# %% tags=["nbval-ignore-output"]
about_v2 = [
    invariants.blind_to_the_past(v2, part),
    invariants.order_blind(v2, part),
    invariants.causal(v2, part),
    invariants.extrapolates_or_refuses(v2, part),
]
assert all(promise.holds for promise in about_v2)
invariants.promises(about_v2)

# %% [markdown]
# ## When the table ends
#
# The table has 64 rows, for positions 0 to 63. A longer text has positions without a row. So v2 keeps only the last 64 tokens, its [`block_size`](../docs/glossary.md#block-size), and numbers them from 0 again. We let v2 write 300 characters in this way.

# %%
answers = ["64, 65, 66 and so on", "0, 1, 2 and so on: it begins again", "always 63", "always 0"]
row_used = predict("From the 65th character on, which row does the newest token get?", answers)
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
# The newest token is always the last of the 64 tokens that v2 keeps, so it always gets row 63. The vote of the position is now the same at every step. From here on v2 writes as a bigram model does. It no longer knows how far the story has gone.

# %%
tally()

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
# 1. v2 adds to each token's vector a learned vector for its position. It still sees no other token.
# 2. 爱 has the same code after 我 as after 你, so v2 predicts the same. It answers exactly half of the mirror questions right.
# 3. On windows that begin with a story, v2 ends 0.21 nats below v1 (tales, 300 steps, twelve seeds). Most of the gain lies at the first positions. On windows that begin anywhere, v2 gains nothing.
# 4. Under a linear head, token and position vote separately. No position can change its vote from token to token.
# 5. The table ends with the window. In a longer text v2 always writes from its last row, as a bigram model does.

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
# **b.** v2 predicts from the code of 爱 at position 1, and this code is the same in both texts. *a* is tempting: the codes at position 0 do differ, but v2 does not see them when it predicts.
#
# </details>
#
# **2.** Windows are cut at random. In which model can a position code still be of use?
#
# - a) in none, since the position says nothing about the text
# - b) in v2, if it is trained for longer
# - c) in a model whose tokens see each other
#
# <details><summary>Answer</summary>
#
# **c.** Such a model can compare two positions. *a* is tempting, but it is true only of a model that sees one token and one position.
#
# </details>
#
# **3.** v2 has 64 rows in its table and writes a long text. Which row does its 100th character get, when it is the newest one?
#
# - a) row 99, since it stands at position 99
# - b) row 35, since numbering begins again after row 63
# - c) row 63, since it is the last token that v2 keeps
#
# <details><summary>Answer</summary>
#
# **c.** v2 keeps the last 64 tokens and numbers them from 0 to 63. *b* is tempting, but v2 numbers the kept tokens anew at every step.
#
# </details>
#
# **4.** Letter *a* is followed by *b* at even positions and by *c* at odd positions. Letter *b* is followed by *c* at even positions and by *b* at odd positions. Which model can predict all of this with certainty?
#
# - a) v2, with enough channels
# - b) v2, after enough training
# - c) a table with a row for each pair of token and position
#
# <details><summary>Answer</summary>
#
# **c.** The vote of a position would have to depend on the token. *a* is tempting, but v2 adds two votes with any number of channels.
#
# </details>
#
# **5.** You pad short stories on the left for v2, and count positions from the start of the window. What happens?
#
# - a) nothing, since padding is not counted in the loss
# - b) the stories get rows of the table that were learned for later positions
# - c) v2 raises an error
#
# <details><summary>Answer</summary>
#
# **b.** The story has moved, so its first token no longer gets row 0. *a* is tempting: the loss can skip the padding, but the story still has wrong positions.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Note 004 proposes v2. It says that a character has another code at another position, and this is right. It concludes that v2 can tell 我爱你 from 你爱我. The probabilities of the two whole sentences do differ, in v2 as in v1. But v2 predicts the same after 我爱 as after 你爱.
#
# The note also says that adding *fuses* token and position, like two colours of paint. Under a linear head it does not, because the two vote separately. All claims are in [`docs/notes/004.md`](../docs/notes/004.md).

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
# v2 knows the position of each token, and still no token sees another. For this we need **attention**. But attention compares two tokens, and this comparison does not know where they stand. → [03a · Attention](03a_attention.ipynb)
