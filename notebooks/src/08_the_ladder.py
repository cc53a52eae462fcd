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
# **Which encoding is better, and how do we know?**
#
# Now all versions meet on one board: the same stories, the same [seeds](../docs/glossary.md#seed), 600 steps, and the same body of 226 thousand weights around the [encoding](../docs/glossary.md#encoding). Such a board is easily misread. You will
#
# 1. train two of its models, and see that one run of each decides nothing,
# 2. build a rule that decides from six pairs of runs,
# 3. see why a bound is not a loss,
# 4. read the board: losses, answers, longer windows, cost.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about a minute to run on two cores, about 30 minutes to read and guess; the exercises about 20 more, and 25 for those marked *stretch*.

# %% tags=["nbval-ignore-output"]
from statistics import mean, stdev

import matplotlib.pyplot as plt
import numpy as np
import torch

from babygpt import ModelConfig, NextToken, TrainConfig, build, live, load_corpus, plots
from babygpt.encodings import Rotary
from babygpt.tables import Table, source
from babygpt_course.claims import CLAIMS, count_verdicts
from babygpt_course.exercises import lesson_08 as ladder
from babygpt_course.studies.board import COLUMNS, KNOWN, against, draw_ladder, paired_differences, table_row
from babygpt_course.studies.ladder_explorer import explore_ladder
from babygpt_course.studies.paired import beside, critical_t, decided_side
from babygpt_course.studies.results import load_results

# %% tags=["nbval-ignore-output"]
plots.set_style()
results, fresh = load_results("ladder"), load_results("fresh/ladder")
board = results["board"]
rivals = {"v3": "the sinusoid", "v4": "RoPE", "v5 fixed": "the fixed kernel", "alibi": "ALiBi"}
explore_ladder(results)

# %% [markdown]
# Each row is a model, and each dot one run: its [loss](../docs/glossary.md#loss) minus the loss of v4 from the same seed. The bar is the mean. Choose another **column**, or another model to be **compared with**.
#
# v3 is the sinusoid, v4 is RoPE. v5 has a trained Gaussian [kernel](../docs/glossary.md#kernel), *v5 fixed* an untrained one, and *learned* a table of positions. v6 was trained on one to four texts at once and reads one here. *alibi* is from lesson 04 and *pope* from 07b; [*nope*](../docs/glossary.md#nope) has no code.
#
# Three dots of v3 lie left of the line, one on it, and two right of it. Is the sinusoid better than RoPE?
#
# All models train at one [learning rate](../docs/glossary.md#learning-rate), and we tuned it for none of them. A model that is behind may need another rate; we have not measured that.
#
# ## Three ways to measure a model
#
# Suppose a model has read *ada chased ben. who chased ben?* and a space, and gives the letters of both names these probabilities:

# %%
letters = {"ada": [0.7, 0.4, 0.9], "ben": [0.2, 0.9, 0.9]}
rows = []
for name, p in letters.items():
    loss = -np.log(p).mean()
    rows.append((name, " · ".join(map(str, p)), f"{np.prod(p):.3f}", f"{loss:.2f}"))
Table(("name", "p of its letters", "p of the name", "loss (nats per letter)"), rows, stable=4)

# %% [markdown]
# - The **loss** is the mean of −log p over the letters that come. For *ada* it is (0.36 + 0.92 + 0.11) / 3 = 0.46 [nats](../docs/glossary.md#nats). The board computes it on text that was not used in training.
# - **Right answers**: the share of questions where the right one of two names is likelier, as here: 0.252 is more than 0.162.
# - **Whole names**: the model writes, always the likeliest letter. If *n* has 0.5 after *a*, and *d* has 0.4, it writes *an*, and the name is wrong.
#
# So a model can prefer the right name and not write it.
#
# ## Train two of the models
#
# We begin with v4 and *v5 fixed*, from one seed, for half the steps.

# %%
apart = live.predict(
    "How far apart are the losses of v4 and v5 fixed after 300 steps, in either direction?",
    low=0,
    high=0.3,
    unit="nats",
    near=0.02,
)
apart

# %% tags=["nbval-ignore-output"]
corpus = load_corpus("plain-tales", n_chars=400_000)
objective, tokenizer = NextToken(corpus, block_size=64), corpus.tokenizer
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
questions = corpus.grammar.questions(24, seed=2, max_chars=64)
recipe, floors, looks = TrainConfig(steps=300), {"best reader": results["window_floor"]}, {}


def race(name, model):
    """Train a model in the background, with its right answers beside its loss."""
    looks[name] = live.roles(tokenizer, questions)
    return live.train(model, objective, recipe, name, floors, [looks[name]])


# %% tags=["answer", "nbval-ignore-output"]
runs, models = {}, {}
for name, version, options in (("v4", "v4", {}), ("v5 fixed", "v5", {"learnable": False})):
    torch.manual_seed(1337)
    models[name] = build(version, shape, **options)
    runs[name] = race(name, models[name])

# %% [markdown]
# The dashboards show the loss and the right answers to 24 questions (chance: 50%). The best reader knows the grammar and sees only the window. Watch at which step each model begins to answer.

# %% tags=["answer", "nbval-ignore-output"]
records = {name: run.result() for name, run in runs.items()}
ends = {name: steps[-1].val_loss if steps else runs[name].uniform_loss for name, steps in records.items()}
stored = load_results("gaussian")["plain"]["300"]  # six seeds, as many steps
for name, loss in ends.items():
    print(f"{name:9}", beside(loss, stored[name]["val_loss"], "nats"))
apart.compare(abs(ends["v4"] - ends["v5 fixed"]))

# %% tags=["nbval-ignore-output"]
for name, run in runs.items():
    print(f"{name:9}", *(f"{share:.0%} at step {step}," for step, share in run.frames[looks[name]][2:]))
ask = questions[2]
ids, start = tokenizer.encode(ask.prompt + ask.answer), len(ask.prompt)
p = {name: model(ids[None])[0, start - 1 : -1].softmax(dim=-1).detach() for name, model in models.items()}
rows = []
for i, letter in enumerate(ask.answer):
    likeliest = [f"{tokenizer.decode(each[i].argmax()[None])} {each[i].max():.2f}" for each in p.values()]
    own = [f"{each[i, ids[start + i]]:.2f}" for each in p.values()]
    rows.append((letter, *(cell for pair in zip(own, likeliest, strict=True) for cell in pair)))
print(ask.prompt, ask.answer)
Table(("letter", "p by v4", "likeliest", "p by v5 fixed", "likeliest"), rows, stable=1)

# %% [markdown]
# In the table, look for letters that are not the likeliest: there the model would write another name.
#
# After 300 steps our six runs of v4 end at 0.57 to 0.61 nats, and those of the fixed kernel at 0.55 to 0.62. These ranges overlap, so **one pair of runs decides nothing**. At step 200 one model may answer and the other not, or the reverse with another seed.
#
# ## Compare pairs
#
# A seed determines the first weights and the order of the batches. Two models with one seed read the same windows in the same order, so we subtract **seed by seed**. Here are two other rows, after 600 steps: v5 with its kernel trained, and with its kernel left alone.

# %%
trained, fixed = board["v5"]["1x"], board["v5 fixed"]["1x"]
gaps = [a - b for a, b in zip(trained, fixed, strict=True)]
rows = [("v5", trained, ".3f"), ("v5 fixed", fixed, ".3f"), ("difference", gaps, "+.3f")]
cells = [
    (name, *(f"{x:{form}}" for x in (*numbers, mean(numbers))), f"{stdev(numbers):.3f}")
    for name, numbers, form in rows
]
Table(("loss (nats)", *map(str, results["seeds"]), "mean", "standard deviation"), cells, stable=9)

# %% [markdown]
# If a seed is lucky for both models, this luck drops out of their difference. These two models hardly share any luck. Without shared luck the difference would have a standard deviation of √(0.027² + 0.010²) = 0.029. It has 0.031. Yet pairs cost nothing, and in lesson 06 they help.
#
# All six differences have one sign. Is that proof?

# %%
one_sign_guess = live.predict(
    "Two models are equally good. How often do all of their six differences have one sign?",
    low=0,
    high=100,
    unit="%",
    near=2,
)
one_sign_guess

# %% tags=["answer"]
# six differences of equal models, 4,000 times
luck = np.random.default_rng(0).normal(size=(4000, 6)).tolist()
one_sign = mean(min(some) > 0 or max(some) < 0 for some in luck)
one_sign_guess.compare(100 * one_sign)

# %% [markdown]
# Six coins all fall on one side in 2 of 64 cases, and three coins in 2 of 8. So three seeds of one sign are weak evidence. Our rule has three conditions:
#
# 1. There are at least **six** paired seeds.
# 2. All differences have **one sign**.
# 3. Their mean is **far from zero**: luck takes it so far in only 5 of 100 cases.
#
# The third condition needs the [standard error](../docs/glossary.md#standard-error): the standard deviation of the differences, divided by √6. The statistician *Student* computed the limit for few samples: 2.57 standard errors for six. `critical_t` returns it.

# %%
error = stdev(gaps) / len(gaps) ** 0.5
print(f"{mean(gaps):.3f} / {error:.4f} = {mean(gaps) / error:.1f} standard errors from zero")
print(f"luck reaches {critical_t(len(gaps)):.2f} in 5 of 100 cases")
assert min(gaps) > 0
assert mean(gaps) > critical_t(len(gaps)) * error
assert decided_side(gaps) == "above"
decided = mean(decided_side(some) != "undecided" for some in luck)
print(f"equal models: one sign in {one_sign:.1%} of all cases, decided in {decided:.1%}")

# %% [markdown]
# All three hold: v5 is *above* v5 fixed. If one fails, as for v3 beside v4, the verdict is [undecided](../docs/glossary.md#undecided).
#
# Luck decides fewer than 1 of 35 comparisons of equal models. But eleven models from left to right make 55 pairs. If all were equal, luck would decide one or two. We therefore trained nine of them again, from six other seeds. *Confirmed* means that these give the same verdict. They put v5 above v5 fixed too, by 0.04 nats.
#
# A decided difference may be too small to matter. We ignore effects below 0.02 nats per character, or below 5 points of right answers. How small a difference can six seeds decide?

# %%
spread = stdev(paired_differences(results, "v3", "v4"))
least = critical_t(6) * spread / 6**0.5
needed = next(n for n in range(6, 100) if critical_t(n) * spread / n**0.5 < 0.01)
print(f"v3 minus v4: standard deviation {spread:.3f}, so six seeds decide a mean of {least:.3f} or more")
print(f"by the third condition a mean of 0.01 would need {needed} seeds")

# %% [markdown]
# And 26 differences with this mean and spread hardly ever have one sign. So **our rule sees only differences that are large beside the spread between seeds.**
#
# ## A bound is not a loss
#
# v1 to v6 have a loss: −log p of the text, exactly. The models of lessons 07a and 07b fill in, and have a [NELBO](../docs/glossary.md#nelbo): the text costs them *at most* this.
#
# Take the word `ab` of [lesson 07a](07a_diffusion.ipynb). The NELBO of the model *Hasty* is 1.806 nats, and the word costs it 1.687. Suppose that a model from left to right has loss 1.75 here. This is below Hasty's bound, yet Hasty is better. So we never subtract a bound from a loss, and the package refuses to:

# %%
try:
    paired_differences(results, "v7", "v4")
except ValueError as refusal:
    print(refusal)

# %% [markdown]
# You can compare their right answers. A model that fills in chooses the name with the lower bound.
#
# ## The board
#
# Three guesses about models that write from left to right, after 600 steps:

# %%
near_mean = live.predict(
    "v6 answers 82% right, in the mean of six runs. How many of them lie within 10 points of that?",
    low=0,
    high=6,
    near=0,
)
whole_names = live.predict(
    "RoPE prefers the right name in 96 to 98%. How many names does its best run write whole?",
    low=0,
    high=100,
    unit="%",
    near=10,
)
helped = live.predict("Which gains from a text four times as long?", [*rivals.values(), "none of these"])
display(near_mean, whole_names, helped)

# %% tags=["answer", "nbval-ignore-output"]
draw_ladder(plt.figure(figsize=(15, 8)), results)
plt.show()

# %% tags=["answer"]
print(f"{results['command']}: {results['minutes']:.0f} minutes, {len(results['seeds'])} seeds")
Table(COLUMNS, [table_row(results, name) for name in board], stable=9)

# %% [markdown]
# In the picture a dot is a seed, and a ring its share of whole names. In the table ≤ marks a bound, and ± is the standard deviation over the seeds. Answers are sorted. *Refuses*: the model has no code for such positions. Speed is a share of v4's.

# %% tags=["answer"]
sides = against(results, "v4")
answers = board["v6"]["roles"]
gains = [v for v in rivals if decided_side(board[v]["past"]) == "below"]
display(
    near_mean.compare(sum(abs(share - mean(answers)) <= 0.1 for share in answers)),
    whole_names.compare(100 * max(board["v4"]["whole"])),
    helped.compare(rivals[gains[0]] if gains else "none of these"),
)

# %% [markdown]
# ## Which loss is lowest?

# %%
rows = []
for name, side in sides.items():
    minus = paired_differences(results, name, "v4")
    margin = critical_t(len(minus)) * stdev(minus) / len(minus) ** 0.5
    again = paired_differences(fresh, name, "v4") if name in fresh["board"] else None
    others = (f"{mean(again):+.3f}", decided_side(again)) if again else ("–", "–")
    rows.append((name, f"{mean(minus):+.3f} ± {margin:.3f}", side, *others))
Table(("minus v4 (nats)", "six seeds", "verdict", "six others", "verdict"), rows, stable=5)

# %% [markdown]
# Luck may move the mean by the number behind ±. **Among the sinusoid, RoPE, the fixed kernel, v6 and ALiBi no pair is decided.** In six other seeds one pair is decided: v6 is behind ALiBi, by 0.05 nats. As the two sets disagree, we call this pair undecided.
#
# *Undecided* does not mean *equal*. v6 may be 0.05 nats below RoPE or 0.07 above it.
#
# The first six seeds put four models with attention behind RoPE. Six others confirm **PoPE, by 0.07 to 0.08 nats, and attention without a code, by 0.23 to 0.24**. They do not confirm the trained kernel and the learned table: one run of each is below RoPE. So we call these two undecided. v1 and v2 have no attention, and stay at the [bigram](../docs/glossary.md#bigram) floor.
#
# The lowest mean is 0.535 (fixed kernel). The best reader of such windows has 0.468.
#
# ## Who answers?
#
# Most dots of the right answers stand near 100% or near 50%. At some step a run learns to look back for the name, and climbs within one or two hundred steps. So a mean may describe no run: v6 has four runs at 95% or more and two at chance. We **count the seeds** with nine right answers in ten:

# %%
attending = ["v4", *(name for name in sides if name in fresh["board"])]
both = {name: [each["board"][name] for each in (results, fresh)] for name in attending}
rows = []
for name, sets in both.items():
    known = [sum(share >= KNOWN for share in each["roles"]) for each in sets]
    whole = [100 * max(each["whole"]) for each in sets]
    rows.append((name, *map(str, known), *(f"{share:.0f}%" for share in whole)))
Table(("model", "answers, of 6 seeds", "of 6 others", "best whole names", "of 6 others"), rows, stable=5)

# %% [markdown]
# RoPE and the fixed kernel each answer from 11 of twelve seeds, the trained kernel from only 3 ([lesson 05](05_gaussian_rope.ipynb) asks why). PoPE from left to right and attention without a code have none.
#
# To write a name is harder than to prefer it. The first six seeds of RoPE answer and write 10 to 25% of the names, but one of the others writes 93%. So our seeds do not rank the models by whole names.
#
# The models that fill in learn the answers from no seed. Their task is harder: letters may come in any order.
#
# ## Longer than trained
#
# In windows four times as long the fixed kernel has a loss of 0.442 nats, against 0.535 in windows of training. Does it gain from the longer text? The first characters of any window are hard, and a long window has a smaller share of them. So its mean can fall without any gain.
#
# For a fair comparison we predict **the same characters twice**: from everything before them, up to 255 characters, and from the last 64 alone.

# %%
rows = []
for name, sets in both.items():
    if None not in sets[0]["past"]:
        changes = [each["past"] for each in sets]
        rows.append(
            (name, *(text for x in changes for text in (f"{round(mean(x), 2) + 0:+.2f}", decided_side(x))))
        )
Table(("change (nats)", "six seeds", "verdict", "six others", "verdict"), rows, stable=5)

# %% [markdown]
# **No model gains.** Both Gaussians change by less than 0.001 nats: at a distance of 64 their kernel is below 0.002, so they do not read there. All others lose (confirmed). The sinusoid loses 3 nats: it never met such positions in training.
#
# The best reader could not gain either: no story is longer than a window.
#
# For the models that fill in we take the bound in windows of 256 minus that in windows of 64. The characters differ, but equally for all three models, so we compare their changes:

# %%
change = {name: np.subtract(board[name]["4x"], board[name]["1x"]) for name in ("v7", "v7-rope", "v7-pope")}
inside = against(results, "v7-rope") | {"v7-rope": "–"}
rows = [
    (
        name,
        inside[name],
        f"{x.mean():+.2f}",
        "–" if name == "v7-rope" else decided_side(x - change["v7-rope"]),
    )
    for name, x in change.items()
]
heading = ("bound", "inside, beside v7-rope", "change at 4× (nats)", "change, beside v7-rope")
Table(heading, rows, stable=4)

# %% [markdown]
# Inside the window v7-pope and v7 are undecided beside v7-rope. Outside, of these three v7-pope's bound rises least and v7's most.
#
# ## What an encoding costs
#
# An encoding has few parameters: none for RoPE, the sinusoid and ALiBi, 4 for a trained kernel, 96 for PoPE, 64 rows of 96 for a learned table. From left to right PoPE is slowest (0.83 of v4's speed), because its queries and keys have twice the channels. v6 has 0.85, since it trains on several texts at once. We do not rank the others with attention (0.93 to 1.04), since other work ran on the machine.
#
# **So which encoding is better?** After 600 steps at this size, none in everything. Inside the window four are undecided, from two sets of seeds. Beyond it the Gaussians, ALiBi and PoPE lose little. Whether they *remember* is another question, which [lesson 10](10_beyond_the_window.ipynb) asks.
#
# ## What became of the notes
#
# This course began with five source notes (`docs/notes/`). We measured those of their claims that a laptop can test. A claim *holds* as written, *fails*, *depends* on what you ask, or is *undecided*.

# %%
of_ten = live.predict("Of ten claims, how many hold as they are written?", low=0, high=10, near=1)
of_ten

# %% tags=["answer", "nbval-ignore-output"]
measured = [(claim, claim.measure().verdict) for claim in CLAIMS]
total = count_verdicts(measured)
notes = sorted({claim.note for claim in CLAIMS})
rows = [(name[:3], count_verdicts([pair for pair in measured if pair[0].note == name])) for name in notes]
lines = [(name, *map(str, vars(counts).values())) for name, counts in (*rows, ("all", total))]
display(Table(("note", *vars(total)), lines, stable=1))
of_ten.compare(10 * total.holds / len(measured))

# %% [markdown]
# Fewer than half hold. One fault may make several claims fail, so the last column counts faults. Two ideas work after one line is changed: the kernel takes the distance instead of the position, and the gate gets a sine beside its cosine. `python -m babygpt claims` prints all verdicts.

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run it, then the check. In a new cell, `ladder.VERDICT.hint()` gives one hint at a time, and `ladder.VERDICT.solution()` shows a solution.

# %%
ladder.VERDICT


# %%
def verdict(ours: list[float], theirs: list[float]) -> tuple[float, float, str]:
    """Mean difference, its standard deviation over the seeds, and "better", "worse" or "undecided"."""
    return mean(ours) - mean(theirs), stdev(ours), "better"


# %%
ladder.VERDICT.check(verdict)

# %%
ladder.LONGER


# %%
def longer(near: torch.Tensor, far: torch.Tensor, least: int) -> tuple[float, float]:
    """How much the loss changes in longer windows: over all tokens, and over those that can be compared."""
    return float(far.mean() - near.mean()), float(far.mean() - near.mean())


# %%
ladder.LONGER.check(longer)

# %% [markdown]
# The last exercise asks for an `Encoding` of your own. Override what you need: `embed` adds to the embeddings, `transform_qk` changes queries and keys, and `score_bias(queries, keys)` returns what is added to the scores, (H, Tq, Tk). `queries.time` and `keys.time` hold the positions, (Tq,) and (Tk,). A subclass of `Rotary` keeps RoPE's rotation:

# %%
source(Rotary)

# %%
ladder.OWN_ENCODING


# %%
class RoPESoFar(Rotary):
    """RoPE, until you change it."""

    def __init__(self, head_dim: int, n_head: int) -> None:
        super().__init__(head_dim)
        self.n_head = n_head


# %%
ladder.OWN_ENCODING.check(RoPESoFar)

# %% [markdown]
# Then put yours into the race: `race("mine", Transformer(shape, RoPESoFar(shape.head_dim, shape.n_head)))`, with `from babygpt.models.transformer import Transformer`.

# %% [markdown]
# ## Recap
#
# 1. Our rule needs at least six paired seeds, all on one side, and a mean so far from zero that luck reaches it in only 5 of 100 cases. *Undecided* does not mean *equal*.
# 2. A bound is not a loss. The model with the higher bound may give a text the higher probability.
# 3. On these tales (226 thousand weights, 600 steps, one learning rate) two sets of six seeds leave the sinusoid, RoPE, the fixed kernel and ALiBi undecided. Both put PoPE from left to right and attention without a code behind RoPE. The trained kernel, the learned table and v6 are undecided beside RoPE.
# 4. Most runs have nearly all answers right or toss coins, so we count seeds. A model that prefers the right name may not write it.
# 5. Past the window, on the same characters, no model gains. The Gaussians change by less than 0.001 nats. The others lose (means of two sets): ALiBi and PoPE 0.06 to 0.08, v6 0.09 to 0.17, RoPE 0.44 to 0.47, no code 0.6, the sinusoid 3.

# %% [markdown]
# ## Self-test
#
# **1.** A model is below its rival in five of five seeds. Why does our rule say *undecided*?
#
# - a) the two models must share their luck
# - b) equal models have five differences of one sign in one of sixteen comparisons
# - c) the models read different texts
#
# <details><summary>Answer</summary>
#
# **b.** Five coins fall on one side in 2 of 32 cases, six in 2 of 64. The rule does not need *a*.
#
# </details>
#
# **2.** v7-pope has a bound of 1.05, and v4 a loss of 0.54. What follows?
#
# - a) v4 is better on these stories, by half a nat
# - b) v7-pope is better, since its text costs less than the bound
# - c) nothing about which gives the text the higher probability
#
# <details><summary>Answer</summary>
#
# **c.** The text costs v7-pope at most 1.05, perhaps far less. *a* subtracts a loss from a bound.
#
# </details>
#
# **3.** A table says that a model answers 75% ± 27% over six seeds. What do you ask for first?
#
# - a) the six numbers
# - b) a longer training
# - c) the standard error, 27% divided by √6
#
# <details><summary>Answer</summary>
#
# **a.** Three runs at 100% and three at 50% have this mean, and none is near it. *c* describes numbers that scatter around their mean.
#
# </details>
#
# **4.** ALiBi's mean loss is lower in windows four times as long. What does it gain from the longer text?
#
# - a) the difference of the two means
# - b) a little, where a story began more than 64 characters before
# - c) nothing: on the same characters it is a little worse
#
# <details><summary>Answer</summary>
#
# **c.** A long window has a smaller share of hard first characters. *a* takes means over different characters.
#
# </details>
#
# **5.** The Gaussians lose nothing past the window. Why does this not show that they use the longer text well?
#
# - a) their kernel is almost 0 there, so they do not read it
# - b) they were trained on longer windows
# - c) their change was measured on other characters
#
# <details><summary>Answer</summary>
#
# **a.** Text that a model does not read can neither confuse nor help it. Against *c*: the characters were the same.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Student 1908](https://doi.org/10.1093/biomet/6.1.1): how far the mean of a few samples may be off.
# - [Bouthillier et al. 2021](https://arxiv.org/abs/2103.03098): what varies from run to run besides the seed.
# - [Kazemnejad et al. 2023](https://arxiv.org/abs/2305.19466): encodings, and none, on longer tasks than in training.
# - [Gopalakrishnan et al. 2025](https://arxiv.org/abs/2509.10534): PoPE, whose authors report that it reads further.

# %% [markdown]
# ## What comes next
#
# The museum shows models whose loss falls although something is wrong with their positions. → [09 · The museum of bugs](09_museum_of_bugs.ipynb)
