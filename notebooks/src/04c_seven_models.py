# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04c · Seven models, live
#
# **What can each position encoding tell apart?**
#
# *The way, page 6 of 8. Left to read: about 1½ hours.*
#
# This page trains all seven models of the course, each for a few seconds. Each changes one thing in how a model knows where its tokens stand, and its panel shows this thing while you move it and the model learns. For the case, only the table at the end counts. You will be able to
#
# 1. say in one sentence what each version adds,
# 2. predict what its slider does to its panel,
# 3. tell which changes of a text a version notices, and which it never will.
#
# **Needs:** what `make lab` has installed, and no network; you know lessons 00, 03a, 03b, 04a and 04b. **Takes:** about 70 seconds to run on two cores, and by our estimate 30 minutes to read and guess.

# %%
import torch

import babygpt_live as live
from babygpt import Branches, ModelConfig, NextToken, Positions, TrainConfig, build, load_corpus
from babygpt.metrics.parallel_texts import code_similarity
from babygpt.objectives.diffusion import MaskedDiffusion
from babygpt.tables import Table
from babygpt_course import explorers
from babygpt_course.predictions import predict, tally

corpus, models = load_corpus("plain-tales", n_chars=400_000), {}
tokenizer, text = corpus.tokenizer, "ada chased ben. who chased ben? ada."
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=64)


# %%
def learn(version, task, watches, controls=(), moves=(), steps=250, shape=shape):
    """Train a version. Halfway through, its sliders make these moves, unless you have moved one."""
    torch.manual_seed(1337)
    models[version] = build(version, shape)
    run = live.train(models[version], task, TrainConfig(steps=steps), version, None, watches, controls)
    run.wait_for_step(steps // 2)
    if not any(step.changed for step in run.history):
        for name, value in moves:
            run.steer(name, value)
    run.result()


# %% tags=["nbval-ignore-output"]
reading = NextToken(corpus, 64)
learn("v1", reading, [explorers.next_characters(tokenizer)], steps=1000)

# %% [markdown]
# ## v1: each letter votes for the next one
#
# **New:** nothing yet, because v1 predicts the next letter from the last one alone. A row of the panel is the letter just read, a column the next one, and • is a space. v1 knows no positions, so its slider is the timeline: drag it to 0, and slowly back.
#
# **See:** the last row, *z*, spreads evenly over five cells, the vowels, because which of them is right depends on a story that v1 does not see. → [01 · Bag of tokens](01_bag_of_tokens.ipynb)
#
# ## v2: the position votes, too
#
# **New:** a trained vector for each position, added to that of the letter. The panel shows the votes of each position for the next letter, orange for and blue against. v2 trains on windows that begin with a story. The slider gives all entries of the position table one number, so that no vote is left.
#
# If you move nothing, the slider moves by itself in the middle of the run. Press *pause* if you need time, and run the cell again to try more.

# %% tags=["nbval-ignore-output"]
stories, entries = NextToken(corpus, 64, aligned=True), live.Slider("table", 0, -1, 1, "table (all entries)")
learn("v2", stories, [explorers.votes(tokenizer)], [entries], [("table", 1)], steps=1000)

# %% [markdown]
# **See:** the colours go, and come back column by column. Which are first? Stories begin alike and drift apart, so the first positions have most to say. → [02 · Learned positions](02_learned_positions.ipynb)
#
# ## v3: waves are added
#
# **New:** attention, and a fixed table of sines and cosines in place of the trained vectors. A column of the panel is the code of one position, and the curve below tells how alike the code of position 32 is to each of the others. θ sets how slow the slowest waves are: pull it to 10, and then to 1,000,000.

# %% tags=["nbval-ignore-output"]
theta = live.Scale("theta", 10_000, 10, 1_000_000, "θ")
learn("v3", reading, [explorers.position_codes()], [theta], [("theta", 10)])

# %% [markdown]
# **See:** a large θ makes the peak of the curve wide, so that neighbours look alike, and a small one makes it narrow. → [03b · Sinusoidal](03b_sinusoidal.ipynb)
#
# ## v4: clocks turn
#
# **New:** nothing is added to the letters any more. Pairs of channels of each query and key, their *hands*, turn with the position, so that a score depends on the distance alone. A row of the panel is a hand and a column is a distance: orange where the hand points as it does at distance 0, blue where it points the other way. The curves below show how far back each layer learns to look.

# %% tags=["nbval-ignore-output"]
learn("v4", reading, [explorers.clocks(tokenizer, text)], [theta], [("theta", 10)])

# %% [markdown]
# **See:** θ makes the lower rows quicker or slower, and leaves the top row as it is, because hand $i$ of 8 turns by $\theta^{-i/8}$ radians a token, and $\theta^0 = 1$. → [04a · RoPE](04a_rope.ipynb)
#
# ## v5: near letters count more
#
# **New:** a *kernel* K, a curve that falls with the distance, multiplies the weights before they are made to sum to 1. K is the sum of two bells, each with a height α and a width σ in tokens. The grey curve is K before the first step, and the orange one is K now. Move the wide bell: first α₂, then σ₂.

# %% tags=["nbval-ignore-output"]
bell = [live.Scale("alpha2", 0.3, 0.01, 10, "α₂"), live.Scale("sigma2", 20, 0.5, 100, "σ₂ (tokens)")]
learn("v5", reading, [explorers.kernel()], bell, [("alpha2", 1), ("sigma2", 40)])

# %% [markdown]
# **See:** α₂ lifts the tail, and σ₂ makes it longer. Then let go, and the orange curve goes on moving, because α and σ are trained, too. → [05 · Gaussian RoPE](05_gaussian_rope.ipynb)
#
# ## v6: two texts share one sequence
#
# **New:** a second position. RoPE gives the time in a text, and an added code of sines and cosines tells *which* text a letter belongs to: text number $b$ gets the code of position $b \cdot$ stride. The panel reads the same text as number 0 and as number 1, so that the two differ by their codes alone. Its curves show how alike they are, from the codes to the output of the last layer.

# %%
likely = ["they get more alike", "they get less alike", "nothing changes"]
stride_guess = predict("The stride goes from 128 to 256. What happens to the codes of the two texts?", likely)
stride_guess

# %% tags=["answer", "nbval-ignore-output"]
pair = Branches(corpus, block_size=64, n_branches=(2, 2), length=32)
stride = live.Slider("stride", 128, 1, 256, "stride (positions)")
learn("v6", pair, [explorers.branch_similarity(tokenizer, text, n=2)], [stride], [("stride", 256)])

# %% tags=["answer"]
fresh, cosine = build("v6", shape), {}
for positions in (128, 256):
    fresh.encoding.steer("stride", positions)
    cosine[positions] = code_similarity(fresh, 2)[0, 1]
stride_guess.compare(likely[0 if cosine[256] > cosine[128] else 1])

# %% [markdown]
# **See:** the dark blue curve, the codes, *rises* a little, because the likeness of two codes wobbles as their distance grows (03b). Pull the stride to 1, and the codes are those of neighbours, which are nearly equal. → [06 · Fourier branches](06_fourier_branches.ipynb)
#
# ## v7: gates, and a look to both sides
#
# **New:** two things. v7 looks to both sides, because it learns to fill in letters that are hidden, or *masked*. And each channel has a *gate* in place of a rotation: it is multiplied by a cosine and a sine of the position, with a speed ω. A trained *phase* δ for each channel shifts these waves between query and key.
#
# In the panel of gates a row is a position and a column is a gate, and the curves below are the phases of one head. The framed rows are masked letters. θ sets all ω, and δ sets all phases.

# %% tags=["nbval-ignore-output"]
masked = load_corpus("plain-tales", n_chars=400_000, with_mask=True)
larger = ModelConfig(masked.tokenizer.vocab_size, 64, n_layer=2, n_head=4, n_embd=64)  # knows MASK, too
story = explorers.filled_text(masked.tokenizer, "ada cha_ed ben. who cha_ed ben? ___.", 40)
dials = [live.Slider("delta", 0, -3, 3, "δ (rad)"), live.Scale("theta", 10_000, 10, 1_000_000, "θ (sets ω)")]
filling = MaskedDiffusion(masked, 64, val_windows=1)
learn("v7", filling, [explorers.gates(), story], dials, [("delta", 1)], shape=larger)

# %% [markdown]
# **See:** all phases begin at 0, and training pulls them apart. While they are 0, equal keys on the left and on the right of a query get the same score, so that the model reads a text and its reversal alike. → [07a · Masked diffusion](07a_diffusion.ipynb), [07b · Polar gates](07b_polar_gates.ipynb)
#
# ## What can each of them tell apart?
#
# All seven models read *ada chased ben.*, and we keep what they predict at the eighth character, *s*. Then we change one thing:
#
# - **order**: two letters before it change places,
# - **ahead**: a letter after it becomes another one,
# - **place**: the whole text begins 8 positions later,
# - **number**: the text gets the number 1 in place of 0.
#
# Look through the panels, and write `y` for each change that a model can notice, and else `n`.

# %%
mine = {"v1": "????", "v2": "????", "v3": "????", "v4": "????", "v5": "????", "v6": "????", "v7": "????"}

# %%
changes = ["order alone", "place alone", "order and place", "none of the four"]
v2_guess = predict("v2 has a vector for each position. Which of the four changes does it notice?", changes)
v2_guess


# %% tags=["answer"]
def predicted(model, text, start=0, number=0):
    """Logits at the eighth character: of the one after it, and for v7 of this one."""
    time, hidden = start + torch.arange(len(text)), torch.zeros(1, len(text), dtype=torch.bool)
    with torch.inference_mode():
        positions = Positions(time, torch.full_like(time, number), hidden)
        return model(tokenizer.encode(text)[None], positions)[0, 7]  # (V,)


tale, noticed = "ada chased ben.", {}
for version, model in models.items():
    before = predicted(model, tale)
    changed = [("daa chased ben.", 0, 0), ("ada chased zen.", 0, 0), (tale, 8, 0), (tale, 0, 1)]
    noticed[version] = ["ny"[bool((predicted(model, *c) - before).abs().max() > 1e-4)] for c in changed]

# %% tags=["answer"]
rows = [
    (name, *(a + {"?": "", a: " ✓"}.get(b, " ✗") for a, b in zip(answers, mine[name], strict=True)))
    for name, answers in noticed.items()
]
display(Table(("model", "order", "ahead", "place", "number"), rows, stable=1))
v2_guess.compare(changes[{"ynnn": 0, "nnyn": 1, "ynyn": 2}.get("".join(noticed["v2"]), 3)])

# %% [markdown]
# Read the table by columns. *Order* needs attention, so v1 and v2 miss it, although v2 knows where its letter stands. *Ahead* needs a look to both sides, as v7 has, and *number* a code of its own, as v6 has. *Place* is noticed in v2 and v3, which write a position into the letter, and missed where only distances count. And v5 has the row of v4, because a kernel changes how *much* a letter counts, and not what can be told apart.
#
# A `y` says that a model can notice the change, not that it makes good use of it, whereas an `n` holds for all weights. **No training teaches a model a difference that its attention, its mask and its encoding do not carry.**
#
# ## The case
#
# This page strikes nothing. But v4 notices when two letters inside a name change places, so neither its encoding nor its mask hides their order from it. One model of lesson 00 has learned to spell, and lesson 12 asks what the others wait for.

# %%
tally()

# %% [markdown]
# ## Recap
#
# 1. v1 reads one letter. v2 adds a trained vector for each position, and v3 a fixed wave.
# 2. v4 turns queries and keys, so that distances count alone. v5 lets near letters count more.
# 3. v6 adds the number of a text, and v7 looks to both sides, through gates.
# 4. Encoding and mask decide what a model can notice, and training decides what it makes of that.

# %% [markdown]
# ## What comes next
#
# Each link above is a side trip, so take the one whose slider surprised you. The way goes on with the case: what does v4 wait for before it spells? → [12 · The case is closed](12_the_case_is_closed.ipynb)
