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
# In every notebook so far one idea met the one before it, on a text, a size and a number of steps chosen to show that idea. Now all of them meet on equal terms: the same stories, the same three seeds, the same number of steps and of windows in a step, the same body around the encoding. Beside the seven stand the models that are on no rung: no encoding at all, ALiBi, learned positions, PoPE, and the diffusion models of notebook 07.
#
# A board like this is easily misread. So before we look at it we learn two rules for reading it: compare **pairs**, and never subtract a bound from a loss.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about a minute to run on two cores, twenty minutes to read. **You will have seen:** why three seeds are enough to tell some models apart and not others, which encoding is best at what, what a rung costs, what became of all the promises of the five notes, and an encoding of your own on the board.

# %% tags=["nbval-ignore-output"]
from collections import Counter
from statistics import mean, stdev

import matplotlib.pyplot as plt
import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, invariants, live, load_corpus, plots
from babygpt.claims import CLAIMS
from babygpt.encodings import Rotary
from babygpt.experiments.ladder import draw_ladder, of_kind, paired_differences, table_row
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
print(f"{results['steps']} steps, windows of {results['block_size']}; floor {results['floor']:.3f} nats")

# %% [markdown]
# ## Rule one: compare pairs
#
# Take two models, and for each the loss of its three runs. A run is one seed: it decides with which numbers the model begins, and in which order it reads the text.

# %%
ours, theirs = board["v5 fixed"]["1x"], board["v4"]["1x"]
for name, losses in (("v5 fixed", ours), ("v4", theirs)):
    print(
        f"{name:8}", *(f"{loss:.3f}" for loss in losses), f"  mean {mean(losses):.3f} ± {stdev(losses):.3f}"
    )

# %% [markdown]
# Both models read *the same* windows in the same order under the same seed. (So do all that predict the next character of one text, and all that fill in; v6 weaves texts of its own.) So the runs come in pairs, and what luck a seed brings, it brings to both. The fair question is not how the two means differ, but how the models differ **seed by seed**, and how much *that* varies.

# %%
by_hand = [a - b for a, b in zip(ours, theirs, strict=True)]
assert by_hand == paired_differences(results, "v5 fixed", "v4")
print(*(f"{x:+.3f}" for x in by_hand), f"  mean {mean(by_hand):+.3f} ± {stdev(by_hand):.3f}")

# %% [markdown]
# Three differences with one sign are not proof: a coin falls three times on one side in a quarter of all cases. Three differences of one sign that are *many times larger than their spread* are another matter. When the signs disagree, we say *undecided*, and mean it.
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
# And in numbers, mean ± standard deviation over the seeds. *Refuses* means that the model says no to positions it has never seen, as a good table should. Speed is training steps a second as a share of v4's, all models taking turns on one machine.

# %%
heading = ("model", "loss", "at 2× length", "at 4× length", "right answers", "parameters", "speed")
Table(heading, [table_row(results, name) for name in board], stable=7)

# %% [markdown]
# ## Ask the board
#
# A table answers every question and suggests none. In the explorer, choose a **column** and the model that the others are **compared with**. Each dot is one seed's difference; a model is better or worse than its rival when all its dots are on one side of the line.
#
# > **Predict.** Compared with v4, which models are *undecided* in their loss? And which model is the hardest to beat four windows far?

# %% tags=["nbval-ignore-output"]
live.ladder(results)

# %% [markdown]
# The loss, first. At the front stand five models, and none of them is beaten by another in every seed: sinusoid, RoPE, the Gaussian left alone, Fourier with a single text, ALiBi. Six hundred steps and three seeds cannot tell them apart, and an order of the five that somebody shows you from one run is an accident. What *is* decided: attention without a code is a quarter of a nat behind, and without attention there is nothing to be had beyond the bigram.

# %%
rivals = [name for name in of_kind(results, masks=False) if name != "v4"]
against = {name: paired_differences(results, name, "v4") for name in rivals}
print("behind v4 in every seed:", *(name for name, gaps in against.items() if min(gaps) > 0))
print("undecided:              ", *(name for name, gaps in against.items() if min(gaps) < 0 < max(gaps)))

# %% [markdown]
# ## A switch
#
# Now the right answers, and look at the dots before you look at the means. They do not scatter: after 600 steps they stand at the right edge, or at chance, and hardly one between. Somewhere on its way a model finds out that it can look back for the name, and climbs from chance to nearly all within one or two hundred steps; the race below shows such a climb. A run that has not found it by step 600 tosses coins.

# %%
for name in ("v3", "v4", "v5 fixed", "alibi", "v5", "learned", "nope"):
    print(f"{name:9}", *(f"{share:4.0%}" for share in sorted(board[name]["roles"])))

# %% [markdown]
# So the mean of such a row describes none of its runs, and its standard deviation is not an error bar. The question to ask is *how many seeds found it in time*. RoPE, the sinusoid and the fixed Gaussian: all three. ALiBi and v6: two. The Gaussian whose kernel is trained: one; it makes itself short-sighted, as notebook 05 found, and then cannot see the name. PoPE, from left to right: none, though it is among the best of those that fill in. Perhaps with more steps; this board does not say.
#
# And none of those that fill in. They had as many steps as the others, and a harder task: every text in every order.
#
# ## Longer than trained
#
# Four windows far the five part company. The sinusoid, level with the best where it was trained, loses about two nats: it has learned what *these* 64 rows look like, and row 100 is a stranger. RoPE loses a quarter of a nat. Learned tables refuse, which is the honest way to fail. And three models do clearly *better* than on short windows, for a longer text has more to look back on: both Gaussians and ALiBi, the ones that fall with distance. What one ties to distance alone, and lets fall, has nothing new to meet.

# %%
for name in ("v3", "v4", "v5 fixed", "alibi", "pope", "v7", "v7-rope", "v7-pope"):
    change = [far - near for far, near in zip(board[name]["4x"], board[name]["1x"], strict=True)]
    print(f"{name:9}", *(f"{x:+.2f}" for x in change))

# %% [markdown]
# The last three lines are bounds, so compare them with each other only. Inside the window RoPE and PoPE are undecided and v7 is close behind. Outside it they are worlds apart: v7's gates turn bad by more than a nat, RoPE's by four tenths, PoPE hardly notices. That was its authors' point. Nothing in the loss at 1× gave a hint of it.
#
# ## What a rung costs
#
# In parameters, next to nothing: an encoding is a few numbers in a model of two hundred thousand, or none. The one that pays is the learned table, a row for every place. In time, less than a tenth: Gaussians compute a kernel for every pair of places, gates in quadrature and PoPE give queries and keys twice the channels, and RoPE itself is a tenth slower than nothing. v6 takes more, but there the weaving of texts and their mask are counted along with the code. (How much of all that is the idea, and how much a slow way to write it, is another question.)

# %%
written = of_kind(results, masks=False)
v4 = board["v4"]["parameters"]
Table(("model", "parameters beyond v4's"), [(n, f"{m['parameters'] - v4:+,}") for n, m in written.items()], 2)

# %% [markdown]
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
# A loss says how well a model did on one text. A promise says what it will do on every text. These are checked on the encodings as they stand, untrained.

# %%
encodings = {name: build(name, shape).encoding for name in ("v3", "v4", "v5", "v5-absolute", "alibi", "nope")}
for name, encoding in encodings.items():
    print(f"{name:12}", invariants.shift_invariant(encoding, head_dim=24))

# %% [markdown]
# RoPE, the kernel of the distance and ALiBi keep this promise; the kernel of the *position* cannot. (v3 passes here for a sad reason: it does nothing to a score by itself; it adds to the input, and what it adds is absolute. So does NoPE, and it adds nothing.)
#
# ## What became of the notes
#
# The course began with five source notes. Every statement in them that makes a promise has become a function that measures it, and the last cells of each notebook ran them. Here they are together, counted.
#
# > **Predict.** Of ten claims, how many hold as they are written?

# %% tags=["nbval-ignore-output"]
verdicts = Counter((claim.note[:3], claim.measure().verdict) for claim in CLAIMS)
notes = sorted({note for note, _ in verdicts})
kinds = ("holds", "depends", "fails")
rows = [(note, *(str(verdicts[note, kind]) for kind in kinds)) for note in notes]
totals = [sum(verdicts[note, kind] for note in notes) for kind in kinds]
Table(("note", *kinds), [*rows, ("all", *map(str, totals))], stable=1)

# %% [markdown]
# Less than half hold. That is not a verdict on their author: the ideas that fail are often one line away from ideas that work, and it took the measurement to find the line. A kernel of the position became a kernel of the distance. A gate that forgot its sine got it back. An idea that is written down so exactly that it can be refuted is worth more than one that cannot.
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
    better = ends["v4"] - loss
    print("well done" if better > 0.01 else "not yet", f"- {loss:.3f}, {better:+.3f} better than v4")
    kept = [invariants.shift_invariant(encoding, head_dim=24), invariants.causal(model, corpus.val[:64])]
    return invariants.promises(kept)


# %% tags=["nbval-ignore-output"]
check(Mine(shape.head_dim))

# %% [markdown]
# With a bias of zero it *is* RoPE, to the last digit or nearly: the checker says *not yet*. `python -m babygpt figures ladder` makes the whole board again on your machine, and `python -m babygpt compare encodings` sets any diffusion models against each other over as many seeds as you like.
#
# ## What comes next
#
# This is the last notebook, and the ladder has no top. What stands beside it waits to be measured: T5's bias, xPos, interpolation of positions, codes for two and three dimensions. Each is one file in `babygpt/encodings/`, one line in `babygpt/models/versions.py` and one row on this board. If you build one, measure it from three seeds, compare it in pairs, and tell us also when it loses.
