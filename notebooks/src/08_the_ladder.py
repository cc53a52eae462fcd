# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 08 · The ladder
#
# **Seven versions, one board: who knows best where a token stands, and what does it cost?**
#
# In every notebook so far one idea met the one before it, on a text, a size and a number of steps chosen to show that idea. Now all of them meet on equal terms: the same stories, the same five seeds, the same number of steps and of windows in a step, the same body around the encoding. Beside the seven stand the models that are on no rung: no encoding at all, ALiBi, learned positions, PoPE, and the diffusion models of notebook 07.
#
# A board like this is easily misread. So before we look at it we learn two rules for reading it: compare **pairs**, and never subtract a bound from a loss. And one sentence to keep beside every other on this page: all of it is measured on models of 226 thousand weights after 600 steps, with one learning rate for all. What a larger model does, or a longer training, this board does not say.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about a minute to run on two cores, half an hour to read. **You will have seen:** why five seeds are enough to tell some models apart and not others, which encoding is best at what, what a rung costs, what became of the claims of the five notes, and an encoding of your own on the board.

# %% tags=["nbval-ignore-output"]
from statistics import mean, stdev

import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, invariants, live, load_corpus, plots
from babygpt.claims import CLAIMS, tally
from babygpt.encodings import Rotary
from babygpt.experiments.board import COLUMNS, against, draw_ladder, front, paired_differences, table_row
from babygpt.experiments.paired import decided_side
from babygpt.experiments.results import load_results
from babygpt.models.transformer import Transformer
from babygpt.tables import Table, source

plots.set_style()

# %% [markdown]
# ## Before you look
#
# > **Predict.** Write down an order, the best first: learned positions, sinusoid, RoPE, Gaussian RoPE, ALiBi, no encoding. Then a second order: the same models on windows **four times longer** than any they were trained on. Then a third: which of them answers *who did it?* most often. Are your three orders the same?
#
# The board comes with the package: it is read from `babygpt/experiments/results/ladder.json`, which one command makes; the cell prints which, and how long it took.

# %%
results = load_results("ladder")
board = results["board"]
print(f"{results['command']}: {results['minutes']:.0f} minutes, {len(results['seeds'])} seeds")
print(f"{results['steps']} steps, windows of {results['block_size']} that begin anywhere")
print(f"the best reader of such windows loses {results['window_floor']:.3f} nats per character")

# %% [markdown]
# ## Rule one: compare pairs
#
# Take two models, and for each the loss of its five runs. A run is one seed: it decides with which numbers the model begins, and in which order it reads the text.

# %%
ours, theirs = board["v5 fixed"]["1x"], board["v4"]["1x"]
for name, losses in (("v5 fixed", ours), ("v4", theirs)):
    print(
        f"{name:8}", *(f"{loss:.3f}" for loss in losses), f"  mean {mean(losses):.3f} ± {stdev(losses):.3f}"
    )

# %% [markdown]
# Both models read *the same* windows in the same order under the same seed. (So do all that predict the next character of one text, and all that fill in; v6 weaves texts of its own.) So the runs come in pairs, and the fair question is not how the two means differ, but how the models differ **seed by seed**, and how much *that* varies.
#
# > **Predict.** If a seed's luck were the same for both models, what would the differences look like? And if each model had luck of its own?

# %%
gaps = [a - b for a, b in zip(ours, theirs, strict=True)]
alone = (stdev(ours) ** 2 + stdev(theirs) ** 2) ** 0.5  # the spread of differences between strangers
print(*(f"{x:+.3f}" for x in gaps), f"  mean {mean(gaps):+.3f} ± {stdev(gaps):.3f}")
print(f"between runs that share nothing they would spread by ± {alone:.3f}")
assert 0.7 < stdev(gaps) / alone < 1.3

# %% [markdown]
# Common luck would drop out of the differences. Here hardly any does: they spread about as much as between strangers, so reading the same windows in the same order is not what makes a run lucky. Pairing costs nothing, so we keep it, but only more seeds help.
#
# Five differences with one sign are not yet proof: a coin falls five times on one side in one of sixteen cases. So we ask for two things. All five must have one sign, **and** their mean must be further from zero than luck takes the mean of five equal models in 95 of 100 cases: 2.78 standard errors, says Student, who brewed beer and had few samples. Otherwise we say *undecided*, and mean it: it is a result like the others.
#
# How often would this rule tell two models apart that are the same? We need not believe it. We let luck play four thousand times.

# %%
luck = np.random.default_rng(0).normal(size=(4000, 5)).tolist()
one_sign = mean(min(some) > 0 or max(some) < 0 for some in luck)
decided = mean(decided_side(some) != "undecided" for some in luck)
assert 0.05 < one_sign < 0.075
assert 0.02 < decided < 0.05
print(f"one sign: {one_sign:.1%} of all cases; decided: {decided:.1%}")
print("v5 fixed against v4:", decided_side(gaps))

# %% [markdown]
# In four of a hundred comparisons, then, the rule is fooled. We shall make dozens on this page: expect to be fooled once or twice.
#
# ## Rule two: a bound is not a loss
#
# The models that write from left to right have a loss: $-\ln p$ of the text, exactly. The models that fill in have the NELBO of notebook 07: a number that $-\ln p$ is *at most*. A model with a NELBO of 1.0 might be better than one with a loss of 0.9, or worse; nobody knows. So the two kinds have axes of their own, and the package refuses to mix them.

# %%
try:
    paired_differences(results, "v7", "v4")
except ValueError as error:
    print(error)

# %% [markdown]
# What *can* be compared across the two kinds is what they do: the share of *who did it?* questions they get right. A model that writes is asked which of two names it holds more probable; a model that fills in gets the name masked, letter by letter in every possible way, and the bound that comes out decides.
#
# ## The board

# %% tags=["nbval-ignore-output"]
draw_ladder(plt.figure(figsize=(15, 8)), results)
plt.show()

# %% [markdown]
# And in numbers, losses as mean ± standard deviation over the seeds, answers seed by seed. *Refuses* means that the model says no to positions it has never seen, as a good table should. Speed is training steps a second as a share of v4's, all models taking turns on one machine.

# %%
Table(COLUMNS, [table_row(results, name) for name in board], stable=9)

# %% [markdown]
# ## Ask the board
#
# A table answers every question and suggests none. In the explorer, choose a **column** and the model that the others are **compared with**. Each dot is one seed's difference; the title counts by the rule above who is below the rival, who above, and who undecided.
#
# > **Predict.** Compared with v4, which models are *undecided* in their loss? And which model is the hardest to beat four windows far?

# %% tags=["nbval-ignore-output"]
live.ladder(results)

# %% [markdown]
# The loss, first. Here is each model that writes from left to right against v4, by the rule.

# %%
sides = against(results, "v4")
for side in ("below", "undecided", "above"):
    print(f"{side:10}", *(name for name, found in sides.items() if found == side))
print("nobody is below:", *front(results, masks=False))
assert all(sides[name] == "undecided" for name in ("v3", "v5 fixed", "v6", "alibi"))
assert all(sides[name] == "above" for name in ("v1", "v2", "v5", "nope", "learned", "pope"))
assert min(paired_differences(results, "nope", "v4")) > 0.15

# %% [markdown]
# Sinusoid, RoPE, the Gaussian left alone, v6 with a single text, ALiBi: six hundred steps and five seeds cannot tell them apart, and an order of them that somebody shows you from one run is an accident. (Notebook 05 trains v4 and v5 for longer, and looks whether an order comes out then.) What *is* decided, at this size and after these steps: the Gaussian whose kernel is trained, the learned table and PoPE from left to right are behind, attention without a code by a fifth of a nat and more, and without attention there is nothing to be had beyond the bigram.
#
# And how far is the front from the best that can be done? The best reader of such windows, who knows the grammar by heart and sees only the window, loses 0.47; the entropy floor of whole stories, 0.33, is out of reach here. (Notebook 04 looks at what is left.)

# %%
lowest = min(mean(board[name]["1x"]) for name in sides)
print(f"the front {lowest:.3f}, the best reader {results['window_floor']:.3f}")
assert 0.04 < lowest - results["window_floor"] < 0.08

# %% [markdown]
# ## A switch
#
# Now the right answers, and look at the dots. They hardly scatter: after 600 steps most stand at the right edge or at chance, and few between. Somewhere on its way a model finds out that it can look back for the name, and climbs from chance to nearly all within one or two hundred steps; the race below shows such a climb. A run that has not found it by step 600 tosses coins, and the few between were caught climbing.

# %%
for name in ("v3", "v4", "v5 fixed", "alibi", "v6", "v5", "learned", "pope", "nope"):
    roles, whole = (sorted(board[name][key], reverse=True) for key in ("roles", "whole"))
    print(f"{name:9}", *(f"{x:4.0%}" for x in roles), "  whole names", *(f"{x:4.0%}" for x in whole))
writers = {name: board[name]["roles"] for name in ("v4", *sides)}
between = [x for seeds in writers.values() for x in seeds if 0.6 < x < 0.9]
found = {name: sum(x >= 0.9 for x in seeds) for name, seeds in writers.items()}
print("seeds that found it:", *(f"{name} {n}" for name, n in found.items() if n))
assert found["v4"] == found["v5 fixed"] == len(results["seeds"])
assert found["nope"] == found["pope"] == found["v1"] == 0
assert len(between) < sum(map(len, writers.values())) / 8

# %% [markdown]
# So the mean of such a row describes none of its runs, and its standard deviation is not an error bar. The question to ask is *how many seeds found it in time*, nine right answers of ten or more. RoPE and the fixed Gaussian: all. PoPE from left to right, and attention without a code: none. In between, it depends on the seed: the learned table, ALiBi, v6, even the sinusoid. The Gaussian whose kernel is trained is among the slow ones too; notebook 05 asks whether it is short of sight or short of time.
#
# The right half of the list is a warning. *Right* means: of the two names in the story, the right one is held more probable. Asked to **write** the name, letter by letter, the same models write it whole far less often: they have the first letter, and guess the vowel after it. RoPE, sure of *who* from every seed, writes a quarter of the names at best; ALiBi, v6, the sinusoid and the fixed Gaussian each have a seed that writes most of them. So who is best depends on which of the two one asks for. Notebook 04 shows that with more steps whole names come to RoPE too, in some seeds.
#
# And none of those that fill in answers. They had as many steps as the others, and a harder task: every text in every order.

# %%
known = [x for name, found in board.items() if not found["masks"] for x in found["roles"] if x >= 0.9]
written = [x for found in board.values() for x in found["whole"] if x is not None]
print(
    f"of the runs that prefer the right name ({min(known):.0%} or more), the best writes {max(written):.0%}"
)
assert max(board["v4"]["whole"]) < 0.3
assert all(max(board[name]["whole"]) > 0.7 for name in ("v3", "v5 fixed", "v6", "alibi"))
assert max(max(m["roles"]) for m in board.values() if m["masks"]) < 0.55

# %% [markdown]
# ## Longer than trained
#
# What happens four windows far? A mean over long windows cannot say: in any window the first characters are hard, and a long window has fewer of them, so its mean falls even for a model that reads no further back. (In the column *at 4× length* of the table it does.) So each character past the window is predicted twice: from everything before it, up to 255 characters, and from the last 64 alone, which is all that any model was trained on. The difference is what the longer text changes.

# %%
for name in writers:
    past = board[name]["past"]
    told = "refuses" if None in past else f"{decided_side(past):10}" + " ".join(f"{x:+.3f}" for x in past)
    print(f"{name:9}", told)
past = {name: board[name]["past"] for name in writers if None not in board[name]["past"]}
assert max(map(abs, past["v5"] + past["v5 fixed"])) < 0.001
assert "below" not in {decided_side(seeds) for seeds in past.values()}
assert 0.02 < min(past["alibi"]) < max(past["alibi"]) < 0.1
assert 0.05 < mean(past["pope"]) < mean(past["v6"]) < 0.15
assert min(past["v3"]) > 2
assert min(past["v4"]) > 0.3
stories = load_corpus("plain-tales").grammar.write(100_000, seed=0).splitlines()
assert max(map(len, stories)) < results["block_size"]

# %% [markdown]
# Nobody gains. The two Gaussians change by less than a thousandth of a nat, and the reason is plain: their kernel has fallen to nothing before 64 characters are over, so they read no further than in training, whatever stands there. They stay calm because they do not look. ALiBi does look, and loses about a twentieth of a nat for it; PoPE and v6 lose about a tenth. RoPE loses four tenths and more, and the sinusoid, level with the best where it was trained, more than two nats: it has learned what *these* 64 rows look like, and row 100 is a stranger. Learned tables refuse, which is the honest way to fail.
#
# And nobody could have gained: no story of this corpus is longer than a window, so what stands further back belongs to other stories. A longer window can only do harm here, and the board shows to whom.
#
# Now those that fill in. Their bound is taken on windows of 256 characters and on windows of 64. (A long window has fewer edges, where a character has neighbours on one side only; so these changes are, if anything, too kind.)

# %%
for name in ("v7", "v7-rope", "v7-pope"):
    change = [far - near for far, near in zip(board[name]["4x"], board[name]["1x"], strict=True)]
    print(f"{name:9}", *(f"{x:+.2f}" for x in change))
print("inside, v7-pope is", against(results, "v7-rope")["v7-pope"], "v7-rope")
change = {name: mean(board[name]["4x"]) - mean(board[name]["1x"]) for name in ("v7", "v7-rope", "v7-pope")}
assert change["v7"] > 1 > change["v7-rope"] > 0.3 > 0.15 > change["v7-pope"] > 0

# %% [markdown]
# These are bounds, so compare them with each other only. Inside the window three seeds do not decide between RoPE and PoPE. Outside it they are worlds apart: v7's gates turn bad by more than a nat, RoPE by four tenths, PoPE by less than a tenth. That was its authors' point (Gopalakrishnan et al. 2025, arXiv:2509.10534). Nothing in the loss at 1× gave a hint of it.
#
# ## What a rung costs
#
# In parameters, next to nothing: an encoding is a few numbers in a model of two hundred thousand, or none. The one that pays is the learned table, a row for every place. In time, these are the speeds of the board, as shares of v4's:

# %%
written = {name: board[name] for name in ("v4", *sides)}
cost = {name: f"{m['parameters'] - board['v4']['parameters']:+,}" for name, m in written.items()}
heading = ("model", "parameters beyond v4's", "steps a second, v4 = 1")
rows = [(name, cost[name], f"{m['speed']:.2f}") for name, m in written.items() if m["speed"] < 2]
speed = {name: m["speed"] for name, m in board.items()}
assert 1.0 <= speed["nope"] < 1.06
assert all(0.9 <= speed[name] < 1 for name in ("v5", "v5 fixed", "alibi"))
assert 0.8 < speed["pope"] < 0.9
Table(heading, rows, 3)

# %% [markdown]
# RoPE costs a few hundredths against nothing at all, ALiBi and the Gaussians, which compute a bias for every pair of places, some four to eight hundredths more, and PoPE, which gives queries and keys twice the channels, about fifteen. v6 takes more too, but there the weaving of texts and their mask are counted along with the code. (How much of all that is the idea, and how much a slow way to write it, is another question.)
#
# ## A race of your own
#
# A stored board is somebody else's measurement. So run two of its rows yourself, smaller: v4 and v5 with its kernel left alone, from one seed, for half the steps. The dashboards show the loss and, beside it, the right answers. While they run, read on.
#
# > **Predict.** Will the order be that of the board after half the steps? What would it mean if it were not?

# %% tags=["nbval-ignore-output"]
corpus = load_corpus("plain-tales", n_chars=400_000)
objective = NextToken(corpus, block_size=64)
shape = ModelConfig(corpus.tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
asked = corpus.grammar.questions(24, seed=2, max_chars=64)
recipe, floors = TrainConfig(steps=300), {"floor": corpus.floor}


def race(name, model):
    """Train a model in the background, its right answers beside its loss."""
    return live.train(model, objective, recipe, name, floors, [live.roles(corpus.tokenizer, asked)])


# %% tags=["nbval-ignore-output"]
runs = {}
for name, version, options in (("v4", "v4", {}), ("v5 fixed", "v5", {"learnable": False})):
    torch.manual_seed(1337)
    runs[name] = race(name, build(version, shape, **options))

# %% tags=["nbval-ignore-output"]
ends = {name: run.result()[-1].val_loss for name, run in runs.items()}
assert all(corpus.floor < loss < corpus.bigram_floor for loss in ends.values())
print(*(f"{name}: {loss:.3f}" for name, loss in ends.items()), sep="\n")

# %% [markdown]
# Now you have one pair. One pair is an anecdote; change the seed and run the cells again, and you have two.
#
# ## Promises
#
# A loss says how well a model did on one text. A promise says what it will do on every text. These are checked on the encodings as they stand, untrained, on random queries and keys.

# %%
encodings = {name: build(name, shape).encoding for name in ("v3", "v4", "v5", "v5-absolute", "alibi", "nope")}
for name, encoding in encodings.items():
    print(f"{name:12}", invariants.shift_invariant(encoding, head_dim=24))

# %% [markdown]
# RoPE, the kernel of the distance and ALiBi keep this promise; the kernel of the *position* cannot. (v3 passes here for a sad reason: it does nothing to a score by itself; it adds to the input, and what it adds is absolute. So does NoPE, and it adds nothing.)
#
# ## What became of the notes
#
# The course began with five source notes. What they say that can be measured on a processor has become a function with a verdict, and notebooks 01, 02, 05, 06 and 07 showed the most telling of them. Here they are together, counted. Several claims of a note may fail by one and the same mistake, so the last column counts the mistakes.
#
# > **Predict.** Of ten claims, how many hold as they are written? And by how many different mistakes do the others fail?

# %% tags=["nbval-ignore-output"]
measured = [(claim, claim.measure().verdict) for claim in CLAIMS]
notes = sorted({claim.note for claim, _ in measured})
rows = [(name[:3], tally([pair for pair in measured if pair[0].note == name])) for name in notes]
rows.append(("all", tally(measured)))
told = [(name, *map(str, (t.holds, t.depends, t.fails, t.faults))) for name, t in rows]
total = rows[-1][1]
assert total.faults < total.fails
Table(("note", "holds", "depends", "fails", "different faults"), told, stable=1)

# %% [markdown]
# What fails is no verdict on its author: the ideas that fail are often one line away from ideas that work, and it took the measurement to find the line. A kernel of the position became a kernel of the distance. A gate that forgot its sine got it back. An idea that is written down so exactly that it can be refuted is worth more than one that cannot. Nor is a verdict the last word: each has a scope, which `python -m babygpt claims` prints beside the note's own sentence, and where a model was trained it was a small one. What each note says, section by section, stands in `docs/notes/`.
#
# ## Exercise
#
# Put an encoding of your own on the board. An `Encoding` answers three questions, and you override the one you have an answer to: what to **add** to the embeddings, how to **change** queries and keys, what to **add to the scores**. Here is the whole of RoPE as an example, and below it a start: a class that is RoPE so far. Give it a `score_bias`, as ALiBi has; or change the angles; or think of something that nobody has. Then race it.

# %%
source(Rotary)


# %% tags=["nbval-ignore-output"]
class Mine(Rotary):
    """RoPE, until you change it."""

    def score_bias(self, queries, keys):
        distance = queries.time[..., None, :, None] - keys.time[..., None, None, :]  # (1, Tq, Tk)
        return 0.0 * distance  # your idea here


# %% tags=["nbval-ignore-output"]
def check(encoding):
    """What an encoding promises, and what it does to the loss beside v4 in the race above."""
    torch.manual_seed(1337)
    model = Transformer(shape, encoding)
    runs["mine"] = race("mine", model)
    loss = runs["mine"].result()[-1].val_loss
    print(f"{loss:.3f}, {loss - ends['v4']:+.3f} against v4 from this one seed, which decides nothing")
    kept = [invariants.shift_invariant(encoding, head_dim=24), invariants.causal(model, corpus.val[:64])]
    return invariants.promises(kept)


# %% tags=["nbval-ignore-output"]
check(Mine(shape.head_dim))

# %% [markdown]
# With a bias of zero it *is* RoPE, and the difference is zero to the last digit or nearly. Change the seed in `check` and in the race, and collect five differences: then `decided_side` has an opinion, and not before. A promise that breaks is worse than a loss that is a little higher. `python -m babygpt figures ladder` makes the whole board again on your machine, and `python -m babygpt compare encodings` sets any diffusion models against each other over as many seeds as you like.
#
# ## What comes next
#
# This is the last notebook, and the ladder has no top. What stands beside it waits to be measured: T5's bias, xPos, interpolation of positions, codes for two and three dimensions. Each is one file in `babygpt/encodings/`, one line in `babygpt/models/versions.py` and one row on this board. If you build one, measure it from five seeds, compare it in pairs, and tell us also when it loses.
