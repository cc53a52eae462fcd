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
# *A side trip after 00, complete in itself.*
#
# The smallest model of the course, v1, predicts the next token from the present one, and does not know where this token stands. **v2** is told: each position has a vector, which training learns like all other weights, and v2 adds it to the vector of the token. The first GPT used this position [encoding](../docs/glossary.md#encoding).
#
# In our case, v4 of [lesson 00](00_start_here.ipynb) writes a name, knows that a *vowel* is due as its second letter, and hardly which one. This lesson strikes none of the explanations: it builds the first encoding, and asks what a position alone can tell about the next letter of a name. You will be able to
#
# 1. add a token and its position by hand, and say which texts v2 cannot tell apart,
# 2. measure what a position tells about the text,
# 3. read from a trained table what each position knows,
# 4. say what a model does after the last row of its table.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 15 seconds to run on two cores, and by our estimate 44 minutes to read and guess. The exercises take about 8 minutes, and those marked *stretch* take 35 more.

# %% tags=["nbval-ignore-output"]
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor

import babygpt_live as live
from babygpt import ModelConfig, NextToken, Positions, TrainConfig, build, metrics
from babygpt.data import CharTokenizer, batches, load_corpus
from babygpt.objectives import cross_entropy
from babygpt.tables import Table, source
from babygpt.training import train
from babygpt_course import explorers
from babygpt_course.claims import findings
from babygpt_course.exercises import lesson_02 as learned_positions
from babygpt_course.predictions import predict, tally
from babygpt_course.studies.results import load_results
from babygpt_course.tools import sums

# %% [markdown]
# ## Two tables
#
# We take four characters and vectors of two numbers. The table E has one row for each token, and the table P has one row for each position. v2 looks up one row in each and adds the two. From this sum, which we call the *code* of the token, it predicts the next token. Our two sentences are 我爱你, *I love you*, and 你爱我, *you love me*.

# %%
toy = CharTokenizer("我爱你！")
E = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])  # tokens: (V, D) = (4, 2)
P = torch.tensor([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])  # positions: (T, D) = (3, 2)
after = ["the same in both", "different, after training", "different, from the start"]
codes_guess = predict("v2 reads 我爱 in one text and 你爱 in another. What does it predict next?", after)
codes_guess

# %% tags=["answer", "nbval-ignore-output"]
rows = {character: E[i].numpy() for i, character in enumerate(toy.characters)}
display(sums(rows, P.numpy(), ["first", "second"], lambda row: f"[{row[0]:.2f}, {row[1]:.2f}]"))
one, other = toy.encode("我爱你"), toy.encode("你爱我")
code_one, code_other = E[one] + P, E[other] + P  # (T, D) = (3, 2)
codes_guess.compare(after[0 if torch.equal(code_one[1], code_other[1]) else 2])

# %% [markdown]
# Add the tables yourself: choose 我 at position 0 and at position 2, as in our two sentences. Its code is [0.11, 0.22] first and [0.15, 0.26] afterwards, so v2 can notice where 我 stands, which v1 could not. Then choose 爱 at position 1, where both sentences have it. Nothing in the tool asks which character stood before.
#
# **Equal codes give equal predictions: 爱 has the code [0.33, 0.44] in both sentences, so v2 predicts the same after 我爱 as after 你爱.** No training can change that. Training changes the numbers in the two tables, but both sentences still look up the row of 爱 and the row of position 1.
#
# The next cell shows v2 in the package, and checks that it computes our sums. You can ignore `cache`.

# %%
small_v2 = build("v2", ModelConfig(toy.vocab_size, block_size=3, n_head=1, n_embd=2))
small_v2.encoding.load_state_dict({"table": P})
codes = small_v2.encoding.embed(E[torch.stack([one, other])], Positions.arange(3))  # (B, T, D) = (2, 3, 2)
assert torch.allclose(codes, torch.stack([code_one, code_other]))
source(type(small_v2))

# %% [markdown]
# ## Where does a window begin?
#
# Now v2 learns from our *tales*, whose sentences vary more than the plain tales of lesson 00. A model reads [windows](../docs/glossary.md#window) cut out of a long text, and position 0 is the first token of a window. In *aligned* windows this is the beginning of a story. *Random* windows, on which GPTs are usually trained, are cut out anywhere. At each position we count the share of windows that have a space there, and draw one curve for each kind of windows. About every fifth character of the tales is a space.

# %%
choices = ["both", "only the aligned one", "only the random one", "neither"]
swinging = predict("Which curve goes up and down by more than 0.3?", choices)
swinging

# %% tags=["answer", "nbval-ignore-output"]
corpus = load_corpus("tales")
V, newline, space = corpus.tokenizer.vocab_size, *(corpus.tokenizer.ids[c] for c in "\n ")
starts = batches.line_starts(corpus.val, newline, length=65)
anywhere = torch.randint(len(corpus.val) - 65, (len(starts),), generator=torch.Generator().manual_seed(0))
windows = {"aligned": batches.cut(corpus.val, starts, 65), "random": batches.cut(corpus.val, anywhere, 65)}
spaces = {how: (w == space).double().mean(dim=0).numpy() for how, w in windows.items()}
fig, ax = plt.subplots(figsize=(8, 4))
title = "The position tells where spaces are, but only in aligned windows"
live.draw_curves(ax, np.arange(65), spaces, title, "position (tokens)", "share of windows with a space there")
plt.show()
wide = [how for how, shares in spaces.items() if np.ptp(shares) > 0.3]  # from lowest to highest
swinging.compare(f"only the {wide[0]} one" if len(wide) == 1 else "both" if wide else "neither")

# %% [markdown]
# Every story begins with a name of four letters, such as *pori*: consonant, vowel, consonant, vowel. So the aligned curve reaches 1 at position 4, where this name has ended. Later words differ in length, so the swings soon become smaller. The random curve stays near 0.2, because every position holds the same mixture of characters.
#
# ## Train it
#
# We train v1 and v2 on both kinds of windows, three of the four models in this cell, and the fourth below, with a picture. At each position $t$ a model predicts the *next* character, which stands at $t + 1$.

# %% tags=["nbval-ignore-output"]
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
places = {"0, the first letter": 0, "3, the last letter of the first name": 3, "20, inside the story": 20}
gain_guess = predict("On aligned windows, at which of these does v2 gain most over v1?", [*places])
gain_guess

# %% [markdown]
# The fourth model is v2 on aligned windows, and you can watch it learn. The large panel shows by how much each position changes the [logits](../docs/glossary.md#logit), the scores of the next characters, which we call its **vote**. Scores are logarithms, so their unit is the nat as well: orange makes a character more probable, and blue less. Votes stronger than 4 nats have the colour of 4.

# %% tags=["answer", "nbval-ignore-output"]
torch.manual_seed(0)
v2 = models["v2", "aligned"] = build("v2", shape)
lines = {"where v1 ended": losses["v1", "aligned"], "entropy floor": corpus.floor}
watch = explorers.votes(corpus.tokenizer)
run = live.train(v2, objectives["aligned"], recipe, "v2", lines, [watch])

# %% tags=["answer", "nbval-ignore-output"]
losses["v2", "aligned"] = run.result()[-1].val_loss
curves, w = {}, windows["aligned"]
for v in ("v1", "v2"):
    with torch.inference_mode():
        curves[v] = cross_entropy(models[v, "aligned"](w[:, :-1]), w[:, 1:]).mean(dim=0).numpy()
fig, ax = plt.subplots(figsize=(8, 4))
title = "v2 gains at the start of a story"
live.draw_curves(ax, np.arange(64), curves, title, "position (tokens)", "loss (nats per character)")
plt.show()
gains = curves["v1"] - curves["v2"]
gain_guess.compare(max(places, key=lambda name: gains[places[name]]))

# %% [markdown]
# After the last letter of the first name a space must follow, so at position 3 v2 loses almost nothing, whereas v1 has to guess. From position 50 on v2 gains hardly anything. The table compares the whole windows.

# %% tags=["nbval-ignore-output"]
bags = load_results("order")["bags"]
rows = []
for how, name in (("aligned", "aligned"), ("random", "anywhere")):
    ours = np.mean(np.subtract(bags[f"v1, {name}"], bags[f"v2, {name}"]))
    v1_loss, v2_loss = losses["v1", how], losses["v2", how]
    rows.append((how, *(f"{x:.3f}" for x in (v1_loss, v2_loss, v1_loss - v2_loss, ours))))
heading = ("windows", "your v1 (nats per character)", "your v2", "your gain", "gain in our 12 runs")
Table(heading, rows, stable=1)

# %% [markdown]
# We trained both models from twelve seeds, for 300 steps each. On aligned windows v2 gains 0.21 nats, and on random windows it gains nothing. Now drag the timeline of the dashboard to 0, and slowly forward again: the columns of the first positions get their colours first. The row without a name below ↵ is the space. At later positions the votes are weaker, except those for *?* and for ↵, the end of a story, because many questions and stories end there.
#
# ## What a position knows
#
# Let $e$ be the vector of the token and $p$ that of its position. The head multiplies their sum by a matrix $W$ and adds a bias $b$, so each of the two has a part of its own in the logits:
#
# $$\text{logits} = (e + p)\,W^\top + b = \underbrace{e\,W^\top + b}_{\text{votes of the token}} + \underbrace{p\,W^\top}_{\text{votes of the position}}.$$

# %%
token_votes = v2.token_embedding.weight @ v2.head.weight.T + v2.head.bias  # (V, V)
position_votes = v2.encoding.table @ v2.head.weight.T  # (T, V)
part = corpus.val[:64]
assert torch.allclose(v2(part[None])[0], token_votes[part] + position_votes, atol=1e-4)


# %% [markdown]
# So the tool of the toy works for the trained v2 as well, if its rows hold votes in place of vectors. Its *code* is then a sum of two votes for each possible next character. The mean vote of all positions is counted with the token. Keep the letter *p*, move along positions 0 to 5, and read which characters the position alone would make likeliest.

# %% tags=["nbval-ignore-output"]
def likeliest(votes):
    """Name the five characters that these votes make likeliest, with their probabilities."""
    p = torch.as_tensor(votes).softmax(dim=-1)
    return ", ".join(f"{letters[i]} {p[i]:.0%}" for i in p.argsort(descending=True)[:5])


letters = live.visible(corpus.tokenizer.characters)
mean = position_votes.mean(dim=0)
rows = {c: (token_votes[corpus.tokenizer.ids[c]] + mean).detach().numpy() for c in "paior "}
sums(rows, (position_votes - mean)[:8].detach().numpy(), letters, likeliest)

# %% [markdown]
# Position 0 holds the first consonant, and its votes are for the five vowels. Position 1 votes for consonants, position 2 for vowels again, and position 3 for the space after the name. So the votes follow the pattern of a name, *vowel, consonant, vowel, space*, without a single name. Inside a name a position tells which letters are possible, above all their *kind*, and not which of them comes.
#
# Since the two kinds of votes are only added, a position also votes the same for every token. v2 cannot learn a rule such as *at position 3 a space is more probable after a, and less probable after b*. For such a rule a model has to compute something from the sum before it votes, as the MLP of lesson 03a does.
#
# A story and its mirror end with the same space at the same position, so v2 knows exactly half of the answers, like v1, although its loss is lower:

# %%
questions = corpus.grammar.questions(400, seed=2, max_chars=64)
assert metrics.role_accuracy(v2, corpus.tokenizer, questions) == 0.5

# %% [markdown]
# ## When the table ends
#
# The table has 64 rows, for positions 0 to 63. Still we let v2 write 300 characters.

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
# Of a long text v2 reads only the last 64 tokens, its [`block_size`](../docs/glossary.md#block-size), and numbers them from 0 to 63 at every step. So the newest token always gets row 63. The vote of the position is then the same at every step, and v2 writes as v1 does, from the last letter alone, without knowing how far the story has gone.
#
# ## The case
#
# From the present token and its position alone, v2 knows that a vowel is due as the second letter of the first name. Which vowel it is, v2 has to guess, as v4 does in most seeds. But v4 could look for it in the story, and v2 cannot. No explanation is struck here.

# %%
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run your cell, then run the check. In a new cell, `learned_positions.VOTES.hint()` gives one hint at a time, and `learned_positions.VOTES.solution()` shows a solution.

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
# 1. v2 adds to each token's vector a learned vector for its position, and still sees no other token.
# 2. 爱 has the same code after 我 as after 你, so v2 predicts the same. It answers exactly half of the mirror questions right.
# 3. On windows that begin with a story, v2 ends 0.21 nats below v1 (tales, 300 steps, twelve seeds), and gains most at the first positions. On windows that begin anywhere, v2 gains nothing.
# 4. Under a linear head token and position vote separately. Inside a name a position tells the kind of the next letter, whatever the token is.
# 5. The table ends with the window. In a longer text v2 always writes from its last row, so only the last letter counts.

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
# **5.** Names begin each story, and a model with a position table has learned that a vowel stands at position 1. What does this save, if five vowels are equally likely?
#
# - a) everything: it knows the letter
# - b) the choice between vowels and other characters, and not ln 5 nats
# - c) nothing, since the model sees no other token
#
# <details><summary>Answer</summary>
#
# **b.** Its best guess among five letters still costs ln 5 = 1.61 nats. *c* is tempting, but the position alone excludes all other characters.
#
# </details>

# %% [markdown]
# ## What the source note says
#
# Source note 004 proposes v2. It says rightly that a character has another code at another position, and concludes that v2 can tell 我爱你 from 你爱我. The probabilities of the two whole sentences do differ, in v2 as in v1, but v2 predicts the same after 我爱 as after 你爱. The note also says that adding *fuses* token and position, like two colours of paint. But nothing but one matrix follows the sum, so that the two vote separately, as they would if the two vectors stood one after the other (*concatenation*). All claims are in [`docs/notes/004.md`](../docs/notes/004.md).

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
# v2 knows where it stands, and cannot look anywhere else. For that we need **attention**, in which a token reads other tokens. Then we take all positions away again, and something unexpected happens. → [03a · Attention](03a_attention.ipynb)
