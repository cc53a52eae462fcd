# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 04b · Which heads?
#
# **Which heads does v4 need, and what do they tell each other?**
#
# *The way, page 5 of 8. Left to read: about 2 hours.*
#
# In [04a](04a_rope.ipynb) RoPE's angles told neighbouring tokens apart, and a score of given vectors depended on their distance alone. The model v4, which uses RoPE, nearly always found the right name more probable, and yet wrote few names. One explanation is that *it does not look at the name*. So we look inside a trained v4, first at the attention of its eight [heads](../docs/glossary.md#head), and then at what happens without one of them. You will be able to
#
# 1. find the heads to which a model owes its answers, with a control,
# 2. silence heads alone and in pairs, and say what each of the two can miss,
# 3. test what one head tells the others, by exchanging what it writes.
#
# **Needs:** what `make lab` has installed, and no network; you know lessons 00, 03a and 04a. **Takes:** about 50 seconds to run on two cores, and by our estimate 37 minutes to read and guess. The exercises take about 16 minutes, and those marked *stretch* take 15 more.

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

import babygpt_live as live
from babygpt import ModelConfig, NextToken, TrainConfig, build, load_corpus, metrics
from babygpt.data import batches
from babygpt.experiments import paired
from babygpt.tables import Table
from babygpt_course import explorers
from babygpt_course.exercises import lesson_04b
from babygpt_course.predictions import predict, tally
from babygpt_course.studies import needed_heads, results, seed_plots
from babygpt_course.tools import asked, switchboard

# %%
corpus = load_corpus("plain-tales", n_chars=400_000)
tokenizer, questions = corpus.tokenizer, corpus.grammar.questions(400, seed=2, max_chars=64)
shape = ModelConfig(tokenizer.vocab_size, block_size=64, n_layer=2, n_head=4, n_embd=96)
recipe = TrainConfig(steps=450, batch_size=12, lr_matrix=0.03, lr_other=0.02)
objective, study = NextToken(corpus, shape.block_size), results.load_results("heads")
text = questions[0].prompt.strip("\n")

# %% tags=["nbval-ignore-output"]
torch.manual_seed(1337)
v4 = build("v4", shape)
watches = [explorers.roles(tokenizer, questions[:24]), explorers.heads(tokenizer, text)]
run = live.train(v4, objective, recipe, "v4", watches=watches)

# %% [markdown]
# This is the v4 of 04a, trained once more. The right answers rise from half, which is chance, to nearly all. Beside them stand the eight heads, one small picture each: a row is a letter that looks, a column a letter that is looked at. They begin alike, and then each finds something to look at. Is it the name?
#
# ## Where do the heads look?
#
# First the fault, once more, in four answers and two numbers:

# %% tags=["nbval-ignore-output"]
run.result()  # waits for the end
for ask, name in zip(questions[:4], metrics.greedy_answers(v4, tokenizer, questions), strict=False):
    print(f"{ask.prompt.strip():28} {ask.answer:6} v4: {name}")
right = metrics.role_accuracy(v4, tokenizer, questions)
written = metrics.whole_answer_accuracy(v4, tokenizer, questions)
print("right name more probable:", paired.beside(right, study["accuracy"], "%"))
print("right name written:      ", paired.beside(written, study["whole"], "%"))

# %% [markdown]
# To prefer the right name, v4 has to look back at it when the first letter of the answer is due, that is, from the last token of the question. Write the function that finds the head which does so. For your v4 `names` also marks the character right after a name, because a head may look there. If you would rather read on, leave the stub as it is.

# %%
lesson_04b.READER


# %%
def find_reader(weights, names):
    """Layer and head, from 0, that give the names most weight: (L, H, Q, T) and (Q, T) -> two numbers."""
    return 0, 0


# %%
lesson_04b.READER.check(find_reader)

# %% tags=["nbval-ignore-output"]
find = lesson_04b.READER.use(find_reader)
prompts = needed_heads.PromptRows(corpus, questions[:200])
weights, names = needed_heads.weights_from_last(v4, prompts), prompts.parts[0]  # (L, H, Q, T), (Q, T)
layer, head = find(weights, names)
share = float((weights[layer, head] * names).sum(dim=-1).mean())
print(f"layer {layer + 1}, head {head + 1} gives {share:.0%} of its weight to the right name")

# %% [markdown]
# The table has all eight heads, and below yours those of a stored model. Rounding differs between machines, so yours may be another model although seed and settings are the same. The numbers in the text are those of the stored one. The switchboard has your model, with a button for each head: a press *silences* the head, so that it writes zeros, an [ablation](../docs/glossary.md#ablation). Guess before you press one.

# %% tags=["nbval-ignore-output"]
looks = needed_heads.looks(v4, prompts)[0][..., [0, 2]]  # (L, H, 2), on the right name and the question
kinds = np.array(["to the right name", "to the question"])[looks.argmax(axis=-1)]
ours = study["heads"][study["seeds"].index(1337)]
rows = []
for whose, weights in (("yours", looks), ("stored", np.reshape(ours["looks"], (2, 4, -1))[..., [0, 2]])):
    for i in range(2):
        cells = (f"{on_name:.0%}, {on_question:.0%}" for on_name, on_question in weights[i])
        rows.append((f"{whose}, layer {i + 1}", *cells))
heading = ("weight on the right name, and on the question", *(f"head {j + 1}" for j in range(4)))
display(Table(heading, rows, stable=1))
windows = batches.cut(corpus.val, torch.linspace(0, len(corpus.val) - 65, 16).long(), 65)
switchboard(v4, asked(tokenizer, questions[:100], windows), None, looks.max(axis=-1).tolist(), kinds.tolist())

# %%
heads = ["one that looks mostly at the right name", "one that hardly looks at it"]
needed_guess = predict("Which head costs the most right answers if it is silent alone?", heads)
needed_guess

# %% tags=["answer", "nbval-ignore-output"]
without = metrics.ablate_heads(v4, lambda m: metrics.role_accuracy(m, tokenizer, questions[:200]))
rows = []
for whose, shares in (("yours", without), ("stored", np.diag(ours["without"]).reshape(2, 4))):
    for i in range(2):
        rows.append((f"{whose}, layer {i + 1}", *(f"{share:.0%}" for share in shares[i])))
heading = ("right answers (of 200) without it", *(f"head {j + 1}" for j in range(4)))
display(Table(heading, rows, stable=1))
needed_guess.compare(heads[int(looks[..., 0].flat[without.argmin()] < 0.5)])

# %% [markdown]
# In the stored model (seed 1337, the lower rows) two heads of layer 2 look mostly at the right name, so they should do the work. But when either of them is silent, most answers stay right. Layer 1, head 1 gives the name 1% of its weight, and without it v4 falls from 98% to 53%, little more than chance.
#
# Training never showed a model such zeros, so *any* silent head may disturb it. The other three heads of layer 1 are the control: none costs more than 7 percentage points, so the 45 points are mostly due to this head.
#
# ## Two heads at once
#
# Are the two heads that look at the name of no use, then?

# %%
together = predict(
    "The two heads of layer 2 cost 6.5 and 2.5 points alone. How many do they cost together?",
    low=0,
    high=50,
    unit="points",
    near=8,
)
together

# %% tags=["answer"]
cost = 100 * (ours["right"] - np.array(ours["without"]))  # (8, 8), and alone on the diagonal
print(f"alone {cost[4, 4]:.1f} and {cost[6, 6]:.1f} points, together {cost[4, 6]:.1f}")
together.compare(cost[4, 6])

# %% [markdown]
# Together they cost 46.5 points, whereas any other pair of heads in layer 2 costs at most 8. So each can do the work of the other, and silencing heads one by one cannot show that they are needed. Silence both in your own model, and as a control two that look elsewhere.
#
# One run is one seed. We stored eleven that know 96 to 99% of the answers, and silenced every head of each.

# %%
most = ["one that looks mostly at the right name", "one that hardly looks at it"]
seeds_guess = predict("Which kind is the most needed head in the majority of eleven seeds?", most)
seeds_guess

# %% tags=["answer"]
dissected = needed_heads.dissected(study)
top = [int(needed_heads.alone(seed).argmin()) for seed in dissected]  # of all eight heads
readers = sum(seed["looks"][i][0] > 0.5 for seed, i in zip(dissected, top, strict=True))
gaps = np.array([seed["right"] - needed_heads.alone(seed).min(axis=1) for seed in dissected])  # (seeds, 2)
both = int((gaps > 0.0999).all(axis=1).sum())
fig, ax = plt.subplots(figsize=(9, 4))
title = f"From {both} of {len(dissected)} seeds each layer has a head that costs 10 points or more"
rows = {name: [100 * share for share in row] for name, row in needed_heads.without_rows(dissected).items()}
seed_plots.draw_seed_dots(ax, rows, title, "right answers (%), a dot for each seed", {"chance": 50.0})
plt.show()
seeds_guess.compare(most[0 if readers > len(dissected) / 2 else 1])

# %% [markdown]
# A dot is a seed, and the dashed line is chance. Without the most needed head of either layer most dots move far to the left, whereas without the next one of this layer they move much less. In ten seeds a head of each layer costs 10 points or more; the exception is our seed 1337, whose two heads of layer 2 replace each other.
#
# In seven of the eleven seeds the most needed head of all is one of layer 2, and in four, of which 1337 is one, it is one of layer 1. In every seed the most needed head of layer 2 gives 90 to 98% of its weight to the right name: it reads the name. So looking and being needed go together more often than this one seed suggests, but the weights alone would have misled us in four seeds ([results](../docs/results.md#which-heads-answer)).
#
# ## What does the other head do?
#
# The needed head of layer 1 looks at the question. What does it tell layer 2: only that a name is due, or which of the two? A story has two questions, such as *who fed?* and *fed whom?*, whose answers are different names. So we run v4 on both questions, and keep what this head writes at the last token of the *other* one.
#
# Then we ask the first question again, and put the kept output in the place of the head's own. All other heads work as before. This *exchange* (activation patching) is stricter than silence, because the head writes something that training has shown the model, and no zeros.

# %%
wins = ["the name that is asked for", "the other name", "now the one, now the other"]
exchange_guess = predict("Which name does v4 then prefer?", wins)
exchange_guess

# %% tags=["answer", "nbval-ignore-output"]
changed = [1 - needed_heads.exchanged(v4, prompts, 0, head) for head in range(4)]
rows = [
    (
        f"layer 1, head {j + 1}",
        f"{looks[0, j, 0]:.0%}",
        f"{changed[j]:.0%}",
        f"{1 - ours['exchanged'][j]:.0%}",
    )
    for j in range(4)
]
heading = ("exchanged", "weight on the right name", "answers that change", "in the stored model")
display(Table(heading, rows, stable=1))
stored = needed_heads.turned(dissected)["one head of layer 1"]
print("answers that one head changes:", paired.beside(max(changed), stored, "%"))
share = changed[without[0].argmin()]
exchange_guess.compare(wins[0 if share < 0.2 else 1 if share > 0.8 else 2])

# %% [markdown]
# With one output exchanged, the other name wins in all questions of the stored model. In eight of the eleven seeds a single head of layer 1 changes 85 to 100% of the answers, and no other head of this layer more than 5%. This head gives the right name 1 to 13% of its weight. In the other three seeds no head does it all.
#
# So in eight of eleven seeds v4 finds a name in two steps: one head tells which name is asked for, and another one reads it. The weights on the name show only the second step, and silencing single heads missed the two readers of seed 1337. **Attention alone does not show what a model needs: test it by silencing heads, alone and in pairs, and by exchanging their outputs.**
#
# The same division of work is known from a far larger model. [Wang et al. 2022](https://arxiv.org/abs/2211.00593) ask GPT-2 small to go on with *When Mary and John went to the store, John gave a drink to*. There, *name movers* write the name, *S-inhibition heads* tell them which name to leave alone, and *backup* heads take over when name movers are silenced.
#
# ## The case
#
# This lesson decides one half of *it does not look at the name*: when the first letter is due, a head reads the name, so there it is out. For the vowel, where we have not measured, it is open. *Its positions do not tell neighbours apart* was out for the encoding (04a). Whether a head makes use of it we have not tested. No head of the eleven seeds gives the letter before more than 42% of its weight, averaged over all letters ([results](../docs/results.md#which-heads-answer)). Untested on the way are *the vowel is too far away*, *it needs more steps*, *it has a bug* and *its encoding makes it late*.

# %% tags=["nbval-ignore-output"]
tally()

# %% [markdown]
# ## Exercises
#
# Write over the stub, run your cell, then run the check. In a new cell, `lesson_04b.STAND_INS.hint()` gives one hint at a time, and `.solution()` shows a solution. The first exercise stands above.

# %%
lesson_04b.STAND_INS


# %%
def stand_ins(right, without):
    """Two heads that cost most beyond the sum of what each costs alone: shares without pairs (n, n)."""
    return 0, 1


# %%
lesson_04b.STAND_INS.check(stand_ins)

# %%
lesson_04b.ABLATION


# %%
def controlled_effect(model, score, layer, head):
    """How much lower the score is without this head than without a random other head of its layer."""
    return 0.0


# %%
lesson_04b.ABLATION.check(controlled_effect)

# %% [markdown]
# > **In a real model.** SmolLM2-135M has 270 heads in 30 layers. [Lesson 11](11_a_real_model.ipynb) lets it read 60 random tokens twice, and asks what the second reading costs without one head or another, with controls.

# %% [markdown]
# ## Recap
#
# 1. A silent head writes zeros, which no training has shown the model, so its cost is compared with that of other heads of its layer.
# 2. In ten of eleven seeds each layer has a head whose silence costs at least 10 points (450 steps, 2 layers of 96). Two heads that do the same work cost 6.5 and 2.5 points alone and 46.5 together.
# 3. In eight of eleven seeds one head of layer 1, which hardly looks at the name, tells which name is asked for, and a head of layer 2 reads it.

# %% [markdown]
# ## Self-test
#
# **1.** You silence each head of a model alone, and none costs more than 3 points. Which conclusion holds?
#
# - a) the model needs none of them
# - b) the head with the highest weight on the answer is needed
# - c) for each head, the others can make up for most of what it does
#
# <details><summary>Answer</summary>
#
# **c.** Two heads can do the same work, so *a* does not follow.
#
# </details>
#
# **2.** Without one head a model loses 12 points. Each other head of its layer, silenced alone, costs 11 to 13. What do you conclude?
#
# - a) this head is needed
# - b) any silent head of this layer disturbs the model, and this one is nothing special
# - c) the heads of this layer stand in for each other
#
# <details><summary>Answer</summary>
#
# **b.** The control costs as much, so *a* does not follow. Heads that stand in for each other would cost little alone, so *c* does not follow either.
#
# </details>
#
# **3.** One head writes what it would write after another question, and the answer turns to that question. What does this show?
#
# - a) the head looks at the name
# - b) later parts of the model take from this head which name is asked for
# - c) the other heads do nothing
#
# <details><summary>Answer</summary>
#
# **b.** Our head gave the name only 1% of its weight, so *a* fails.
#
# </details>
#
# **4.** Two heads cost 20 points each alone, and 40 together. Do they stand in for each other?
#
# - a) yes, because they cost much together
# - b) no, because together they cost what they cost alone
# - c) only an exchange can tell
#
# <details><summary>Answer</summary>
#
# **b.** *a* forgets to subtract: only what goes beyond the sum counts.
#
# </details>
#
# **5.** A head gives the right name 95% of its weight, and its silence costs nothing. What is excluded?
#
# - a) another head reads the name, too
# - b) later parts of the model make no use of what it writes
# - c) it does not look at the name
#
# <details><summary>Answer</summary>
#
# **c.** Its weight shows that it looks. Silencing it together with others tells *a* and *b* apart.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Michel et al. 2019](https://arxiv.org/abs/1905.10650): silencing heads.
# - [Wang et al. 2022](https://arxiv.org/abs/2211.00593): the heads with which GPT-2 small finds a name.
# - [Olsson et al. 2022](https://arxiv.org/abs/2209.11895): heads that copy what followed before, which lesson 11 looks for.

# %% [markdown]
# ## What comes next
#
# Seven versions of the course differ in what they can notice. The next page trains all of them, each with its panel and a slider, and after it lesson 12 closes the case. → [04c · Seven models, live](04c_seven_models.ipynb)
