# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # 03a · Attention
#
# **How does a token look back, and what can it see of order when it does?**
#
# So far no token has seen another. v1 looked at itself; v2 looked at itself and at its seat number. To answer *who chased Ada?* a model has to look back, and the way to look back is **attention**. We work it out by hand on three tokens, put it to work in the model that all later lessons share, and ask what it knows of *order* before anybody has told it where its tokens stand.
#
# **Needs:** what `make lab` has installed, and no network. **Takes:** about 30 seconds to run on two cores, about 28 minutes to read and guess; the exercises about 22 more, and 20 for those marked *stretch*. **You will have seen:** attention in four lines, a whole Transformer built from parts and equal to the package's, what a probe is, and two small models that learn, or fail to learn, who fed whom.

# %% tags=["nbval-ignore-output"]
import math
from dataclasses import replace

import torch
import torch.nn.functional as F
from torch import Tensor

from babygpt import ModelConfig, NextToken, TrainConfig, build, invariants, live, metrics, plots
from babygpt.data.batches import cut
from babygpt.data.corpus import from_grammar, load_corpus
from babygpt.data.grammar import Grammar
from babygpt.models.transformer import Attention, Transformer
from babygpt.tables import Table, source
from babygpt_course.exercises.lesson_03a import ATTENTION, BLOCK, HALF_BLIND
from babygpt_course.studies import paired
from babygpt_course.studies.results import load_results

plots.set_style()

# %% [markdown]
# ## By hand
#
# [Attention](../docs/glossary.md#attention) gives every token three small vectors. The [query](../docs/glossary.md#query) $q$ says what it is looking for, the [key](../docs/glossary.md#key) $k$ says what it has to offer, and the [value](../docs/glossary.md#value) $v$ is what it hands over when it is looked at. In a model, three learned matrices make them from the token's embedding. Here we pick whole numbers, for the three tokens of 我爱你 *(I love you)*, with two channels each.

# %%
q = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])  # (T, D) = (3, 2)
k = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
v = torch.tensor([[3.0, 0.0], [0.0, 3.0], [1.0, 1.0]])
scores = q @ k.T  # (T, T), row m: how well each key fits the query of token m
print(scores.int().tolist())

# %% [markdown]
# Check the last row with your finger: 你 asks with $(0, 2)$. Against the key of 我, $(1, 0)$, that gives 0; against 爱, $(0, 1)$, it gives 2; against its own key, $(1, 1)$, it gives 2 as well. These numbers are the **scores**.
#
# A model that predicts the next token must not look at it. So in each row the scores of all later tokens are replaced by $-\infty$: the **causal [mask](../docs/glossary.md#mask)**. A [softmax](../docs/glossary.md#softmax) (the exponential of each score, divided by their sum) then turns each row into shares that sum to one, the **weights**. Use $e^0 = 1$ and $e^2 \approx 7.4$:

# %%
share_of_love = live.predict(
    "The scores of 你 are 0, 2 and 2. What share of its attention does 爱 get?",
    low=0,
    high=100,
    unit="%",
    near=5,
)
share_of_love

# %% tags=["answer"]
later = torch.ones(3, 3).triu(1).bool()  # True where the key stands after the query
weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
print([[round(w, 2) for w in row] for row in weights.tolist()])
share_of_love.compare(round(100 * weights[2, 1].item()))

# %% [markdown]
# The third token splits $1 : e^2 : e^2$, and a softmax never says zero: 我, with a score of 0, keeps 6%. The first token has nobody but itself. The second splits $e : 1$, since its scores are 1 and 0.
#
# What a token takes home is the **mix** of the values, each in its share. For 你: 0.06 parts of $(3, 0)$, 0.47 parts of $(0, 3)$ and 0.47 parts of $(1, 1)$.

# %%
mix = weights @ v  # (T, D)
print([round(x, 2) for x in mix[2].tolist()])
torch_mix = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=True, scale=1.0)
assert torch.allclose(mix, torch_mix[0])

# %% [markdown]
# The last line compares with PyTorch's own attention, the one that every model of this course uses. (Left to itself it divides the scores by $\sqrt D$, as models do; `scale=1.0` keeps our whole numbers. Why one divides comes below.) That is all there is: **scores, mask, weights, mix.**
#
# ## Two tokens change places
#
# We exchange 我 and 爱, and leave 你 where it is: 爱我你. Each token takes its query, key and value along. What 你 takes home is still a vector of two numbers, a mix of three values.

# %%
after_exchange = live.predict(
    "Which of the two numbers that 你 takes home will change?",
    ["neither", "the first", "the second", "both"],
)
after_exchange

# %% tags=["answer"]
order = [1, 0, 2]
shuffled = F.scaled_dot_product_attention(q[order], k[order], v[order], is_causal=True, scale=1.0)
print([round(x, 2) for x in shuffled[2].tolist()])
first, second = ((shuffled[2] - mix[2]).abs() > 1e-5).tolist()
after_exchange.compare(["neither", "the first", "the second", "both"][first + 2 * second])

# %%
assert torch.allclose(shuffled[2], mix[2])


# %% [markdown]
# The scores were exchanged along with the keys, the values along with the scores, and a sum does not care for the order of its terms. To the last token, those before it are **a heap, and not a row**. Attention has ended v1's solitude, and it has brought the bag back.
#
# That was one layer. Does it hold for a whole model? To ask, we need one, and so we build it.
#
# ## The rest of a block
#
# Attention is half of a Transformer's [block](../docs/glossary.md#block). Through the model runs the [stream](../docs/glossary.md#stream): for each token one vector of $C$ channels, which begins as the token's embedding. No block ever replaces it. A block reads a copy, and *adds* to the stream what it has found:
#
# $$x \leftarrow x + \text{attention}(\text{norm}(x)), \qquad x \leftarrow x + \text{mlp}(\text{norm}(x)).$$
#
# The [norm](../docs/glossary.md#norm) brings a token's vector to a mean square of one, so that layers see numbers of the same size however much has been added before (RMSNorm, Zhang & Sennrich 2019). One line:

# %%
def my_norm(x):
    """Each vector at a mean square of 1: (..., C) -> (..., C)."""
    return x / x.pow(2).mean(dim=-1, keepdim=True).sqrt()


# %% [markdown]
# **Attention** is what you know, with two additions. Queries and keys are normalised before they meet (*query–key norm*, Henry et al. 2020): then no score can be larger than $2\sqrt{D}$, however large the matrices grow in training. And the $C$ channels of queries, keys and values are dealt out to several [heads](../docs/glossary.md#head), which look back side by side, each with $D = C/H$ channels, and are put together again at the end. One head can look for a name while another looks for a verb. What does a head cost?

# %%
costs = {0.5: "half as many", 1: "as many as before", 2: "twice as many", 4: "four times as many"}
cost_of_heads = live.predict(
    "A layer of 96 channels has 4 heads. With 8 heads, how many weights do its matrices have in all?",
    list(costs.values()),
)
cost_of_heads

# %% tags=["answer"]
layers = [Attention(ModelConfig(vocab_size=2, n_head=n, n_embd=96)) for n in (4, 8)]
four, eight = (sum(p.numel() for p in layer.parameters()) for layer in layers)
print(four, eight)
cost_of_heads.compare(costs[eight / four])

# %%
assert four == eight == 4 * 96**2


# %% [markdown]
# As many: four matrices of 96 by 96, for queries, keys, values and for what goes back to the stream. A head is a *cut* through channels that are there anyway. Eight heads look at more things at once, and each compares vectors of half the width.

# %%
def my_attention(x, layer, causal=True):
    """All heads of one layer: (B, T, C) -> (B, T, C)."""
    q, k, v = (
        matrix(x).unflatten(-1, (layer.n_head, -1)).transpose(1, 2)  # (B, H, T, D)
        for matrix in (layer.to_q, layer.to_k, layer.to_v)
    )
    scores = my_norm(q) @ my_norm(k).mT * 2 / math.sqrt(q.shape[-1])  # (B, H, T, T)
    if causal:
        later = torch.ones(scores.shape[-2:]).triu(1).bool()
        scores = scores.masked_fill(later, -torch.inf)
    mix = scores.softmax(dim=-1) @ v  # (B, H, T, D)
    return layer.out(mix.transpose(1, 2).flatten(2))


# %% [markdown]
# (`causal=False` leaves the mask out, for an experiment below.) The [MLP](../docs/glossary.md#mlp) is where a token thinks by itself, without looking at others: a matrix to four times as many channels, all negative numbers set to zero and the rest squared, and a matrix back. With it the block is complete.

# %%
def my_block(x, block, causal=True):
    """Attention, then MLP; each adds to the stream: (B, T, C) -> (B, T, C)."""
    x = x + my_attention(my_norm(x), block.attention, causal)
    return x + block.mlp.out(block.mlp.up(my_norm(x)).relu().square())


# %% [markdown]
# And a model is: embed the tokens, run the blocks, and read the next token's [logits](../docs/glossary.md#logit) off with one more matrix, the output head. Here is the stream of a whole model, before its first block and after each.

# %%
def my_streams(model, tokens):
    """The stream before the first block and after every block: a list of (B, T, C)."""
    found = [my_norm(model.token_embedding(tokens))]
    for block in model.blocks:
        found.append(my_block(found[-1], block, model.causal))
    return found


# %% [markdown]
# Is that what the package does? `build("nope", …)` makes its Transformer with **no** position encoding ([NoPE](../docs/glossary.md#nope)). We take three layers and fill them with random numbers, so that they compute something; once causal, and once without the mask, so that tokens look both ways.

# %%
def shaken(model):
    """The model with random numbers everywhere, so that an untrained one computes something."""
    torch.manual_seed(0)
    for p in model.parameters():
        torch.nn.init.normal_(p, std=p.shape[-1] ** -0.5)
    return model


def pair_of_models(n_layer):
    """A model whose tokens look both ways, and a causal one, with the same random numbers and no code."""
    size = ModelConfig(tales.tokenizer.vocab_size, block_size=64, n_layer=n_layer, n_head=4, n_embd=96)
    causal = build("nope", size)
    return shaken(Transformer(size, causal.encoding, causal=False)), shaken(causal)


# %%
tales = load_corpus("tales", n_chars=300_000)
tokens = tales.val[None, :48]
both, causal = pair_of_models(3)
with torch.inference_mode():
    for model in (both, causal):
        mine = model.head(my_norm(my_streams(model, tokens)[-1]))
        assert torch.allclose(mine, model(tokens), atol=1e-3)

# %% [markdown]
# Equal: there is nothing in `babygpt`'s model that you have not seen. (Nothing but a start that is kind: in a fresh model the matrices that write to the stream are zero, so every block begins by adding nothing.)
#
# Here is its attention, as it stands in the file. Three names need a word. `score_scale` is the $2/\sqrt{D}$ of `my_attention`; a sum over more channels is larger, and the root takes that back. `context` is what the layer is told besides its input `x`: which encoding there is and where the tokens stand, which of them may be seen, and a [cache](../docs/glossary.md#cache). That one is for writing: the keys and values of a text do not change while it grows, so they are kept and not computed again for each new letter. And the line with `encoding.transform_qk` can wait until notebook 04; here it does nothing.

# %%
source(Attention)

# %% [markdown]
# ## A whole model
#
# Now we can ask. The invariant `order_blind` shuffles all tokens before the last one, and looks whether the prediction after the last one changes. We ask it of random models of one, two and three layers, causal, without any position code. (And of their twins without the mask, for comparison.)

# %%
depths = ["from one layer on", "from two layers on", "from three layers on", "never: a heap stays a heap"]
depth_of_order = live.predict("From what depth on does a causal model without a code see order?", depths)
depth_of_order

# %% tags=["answer"]
rows = []
for n_layer in (1, 2, 3):
    blind = [invariants.order_blind(model, tales.val[:48]).holds for model in pair_of_models(n_layer)]
    rows.append((str(n_layer), *("blind" if is_so else "sees order" for is_so in blind)))
Table(("layers", "both ways", "causal"), rows, stable=3)

# %% tags=["answer"]
least = min((int(layers) for layers, _, there in rows if there == "sees order"), default=4)
depth_of_order.compare(depths[least - 1])

# %%
assert [row[1] for row in rows] == ["blind", "blind", "blind"]
assert [row[2] for row in rows] == ["blind", "sees order", "sees order"]

# %% [markdown]
# Without the mask all three are blind, as textbooks say. But a causal model with two layers **sees order, with no position code whatever**, before any training. (That trained language models do without a code was shown by Haviv et al. 2022; that the first layer of a causal model can work out each token's position was proved by Kazemnejad et al. 2023.)
#
# ## What an average tells
#
# Where does it get it from? Take tokens that ask for nothing in particular: all queries zero, so all weights in a row are equal. Let the first token of the text have the value 1, and all others 0.

# %%
nothing = torch.zeros(1, 6, 1)
first_one = torch.tensor([1.0, 0, 0, 0, 0, 0]).view(1, 6, 1)
heard = F.scaled_dot_product_attention(nothing, nothing, first_one, is_causal=True)
print([round(x, 2) for x in heard.flatten().tolist()])


# %% [markdown]
# One, a half, a third, a quarter: token number $t$ averages $t + 1$ things, so what it hears of the first is $1/(t+1)$. **The mask is a clock**: whoever averages over the past can tell how long the past is. The first layer makes such numbers, and the second layer can read them. Shuffle the tokens, and each gets another past to average over. With one layer, nobody is left to read. And without the mask all average over the same things, the whole text.
#
# ## Asking the stream
#
# How good is this clock? A **probe** finds out: from what a layer would read at each token (the stream, after its norm), a linear least-squares fit guesses the token's position. It is fitted on some windows and tested on others, once at every depth.

# %%
def probe(stream):
    """Mean error in tokens of the best linear guess of a position from the stream: (B, T, C) -> number."""
    fit, test = F.pad(stream.double(), (0, 1), value=1.0).chunk(2)
    place = torch.arange(fit.shape[1]).double().expand(fit.shape[:2]).flatten()
    solution = torch.linalg.lstsq(fit.flatten(0, 1), place[:, None]).solution
    return ((test.flatten(0, 1) @ solution)[:, 0] - place).abs().mean().item()


# %% [markdown]
# We probe the two random models of three layers from above, on windows of 64 cut out of the tales anywhere. Who knows nothing guesses the middle of the window, and is off by 16 tokens on average; who knows all is off by 0.

# %%
clock_error = live.predict(
    "By how many tokens is the probe off on average, after the last layer of the causal model?",
    low=0,
    high=16,
    unit="tokens",
    near=1.5,
)
clock_error

# %% tags=["answer"]
anywhere = cut(tales.val, torch.linspace(0, len(tales.val) - 64, 512).long(), 64)
off = {}
with torch.inference_mode():
    for name, model in (("both ways", both), ("causal", causal)):
        off[name] = [probe(my_norm(stream)) for stream in my_streams(model, anywhere)]
rows = [(name, *(f"{tokens:.0f}" for tokens in errors)) for name, errors in off.items()]
Table(("off by … tokens", "input", "layer 1", "layer 2", "layer 3"), rows, stable=5)

# %% tags=["answer"]
clock_error.compare(round(off["causal"][-1]))

# %%
assert off["causal"][-1] < 15 < 15.9 < min(off["both ways"])

# %% [markdown]
# Without the mask: the middle, nothing better. With the mask, a faint idea of place from the first layer on, out of nothing but random matrices. It is faint for three reasons. These matrices were not trained to count, the step from $1/30$ to $1/31$ is tiny, and nothing marks the first token of these windows, as the value 1 marked it in our example. Many models begin every text with such a mark, a *beginning-of-sequence* token.
#
# ## Who fed whom?
#
# Can a model be *trained* to use so faint a clock? We give it a world so small that a minute is enough: eight people with names of one letter, and one thing that happens between them.

# %%
who = "{name.a} fed {name.b}. who? {name.a!b}."  # the answer is a, and b would be wrong
whom = "{name.a} fed {name.b}. whom? {name.b!a}."
grammar = Grammar({"name": tuple("ABCDEFGH")}, {"story": (who, whom)})
small = from_grammar("one-letter tales", grammar, 50_000)
tokenizer = small.tokenizer
print(tokenizer.decode(small.val[:67]))

# %% [markdown]
# Every question is asked twice, once with the two names exchanged in the story: the characters are the same, and the right answer is the other one. So whoever ignores order is right half of the time. Both names stand in the story; to choose between them, a model must know which came first.
#
# Two NoPE models train in the background, one after the other, on the same batches: one has a single layer, the other has two. While one learns, the dashboard of the other says that it is waiting. Each shows its loss, its right answers on two dozen of the questions, and its heads on one story.

# %%
outcomes = ["neither, they stay near half", "only that of one layer", "only that of two layers", "both"]
small_world = live.predict(
    "After 300 steps, which NoPE model answers nearly all questions rightly?", outcomes
)
small_world

# %% tags=["answer"]
questions = [replace(q, prompt=q.prompt.strip("\n")) for q in grammar.questions(200, seed=2, max_chars=20)]
recipe = TrainConfig(steps=300, batch_size=32, lr_matrix=0.03, lr_other=0.02)
objective = NextToken(small, 16, aligned=True)  # every window is one story, from its beginning
print(questions[0].prompt, questions[0].answer, "|", questions[1].prompt, questions[1].answer)

# %% tags=["answer", "nbval-ignore-output"]
models, runs = {}, {}
watches = [live.roles(tokenizer, questions[:24]), live.heads(tokenizer, questions[0].prompt)]
for n_layer, name in ((1, "one layer"), (2, "two layers")):
    torch.manual_seed(3)
    size = ModelConfig(tokenizer.vocab_size, block_size=24, n_layer=n_layer, n_head=2, n_embd=64)
    models[name] = build("nope", size)
    runs[name] = live.train(models[name], objective, recipe, name, watches=watches)

# %% [markdown]
# The next cell waits for both.

# %% tags=["answer", "nbval-ignore-output"]
losses = {name: run.result()[-1].val_loss for name, run in runs.items()}
right = {name: metrics.role_accuracy(model, tokenizer, questions) for name, model in models.items()}
rows = [(name, f"{losses[name]:.2f}", f"{right[name]:.0%}") for name in models]
Table(("model", "validation loss (nats per character)", "right answers"), rows, stable=1)

# %% tags=["answer", "nbval-ignore-output"]
small_world.compare(outcomes[(right["one layer"] > 0.9) + 2 * (right["two layers"] > 0.9)])

# %% tags=["nbval-ignore-output"]
assert right["one layer"] == 0.5

# %% [markdown]
# One layer is right *exactly* half of the time, and no training could change that. At the end of the question it sees the same heap in a story and in its mirror image, so it says the same twice, and is right once. Two layers can learn it, from nothing but the mask. Do they always? Your run is one seed. Here are fourteen others, with 300 steps and with 600, and once more with a mark before every story.

# %% tags=["answer"]
fed = load_results("order")["fed"]
for arm, shares in fed.items():
    print(f"{arm:36} {sum(share > 0.9 for share in shares):2} of {len(shares)} seeds right in nine of ten")

# %% tags=["answer", "nbval-ignore-output"]
print("two layers:", paired.beside(right["two layers"], fed["two layers, 300 steps"], "%"))

# %% [markdown]
# Some seeds learn it and others do not: 8 of 14 in 300 steps, and 12 of 14 in 600. The two that fail stay at chance. With the mark 4 and 8 of 14 seeds learn it. Of six other seeds 1 and 5 learn it without the mark, and 5 and 5 with it. So whether the mark helps is undecided. (All of this holds for stories of sixteen or seventeen characters that begin where the window begins, and for one recipe.)
#
# ## Take the mask away
#
# Is it really the mask that the two-layer model reads? A claim like this one is tested by taking the thing away. We let the tokens of *one* layer look both ways, at the end of the question where the name has to come, and count again. The weights stay as they were trained.

# %%
masks = ["neither: it is trained now", "the first layer's", "the second layer's", "either one"]
which_mask = live.predict(
    "Without the mask of which layer does the trained two-layer model fall back to half?", masks
)
which_mask


# %%
def both_ways(_, given):
    """A block's input, with tokens that may look at all others."""
    x, context = given
    return x, replace(context, causal=False)


@torch.inference_mode()
def right_at_the_end(model):
    """Share of questions after which the right name is likelier than the other; a tie is half of one."""
    gaps = []
    for q in questions:
        logits = model(tokenizer.encode(q.prompt)[None])[0, -1]
        gaps.append(logits[tokenizer.ids[q.answer]] - logits[tokenizer.ids[q.rival]])
    gaps = torch.stack(gaps)
    return (torch.sign(gaps) * (gaps.abs() > 1e-4)).mean().item() / 2 + 0.5


# %% tags=["answer", "nbval-ignore-output"]
model = models["two layers"]
without = []
for block in model.blocks:
    hook = block.register_forward_pre_hook(both_ways)
    without.append(right_at_the_end(model))
    hook.remove()
print(f"as trained {right_at_the_end(model):.0%}, without each layer's mask:", *(f"{x:.0%}" for x in without))

# %% tags=["answer", "nbval-ignore-output"]
first, second = (share < 0.6 for share in without)
which_mask.compare(masks[first + 2 * second])

# %% tags=["nbval-ignore-output"]
assert without[0] == 0.5
assert without[1] == right_at_the_end(model)

# %% [markdown]
# Without the first mask every token of the story hears the same whole text, whether it stands early or late, and the two names can no longer be told apart: exactly half. In the second layer the token that answers stands last and may see everything anyway, so its mask hides nothing from it. The order is told by the *first* mask and read by the second layer. (The model need not count for that. It is enough if the second name has heard that somebody *fed*, and the first one has not; both come from the mask, and the experiment does not tell them apart.)
#
# ## What does it look at?
#
# Type a story of your own, and go through the two layers. The letter that looks is the last one, the blank after the question, drawn as •: from it the name will be predicted. Exchange the names, and see what changes in layer 1, and what in layer 2.

# %% tags=["nbval-ignore-output"]
live.attention(models["two layers"], tokenizer, "A fed B. whom? ")

# %% [markdown]
# A caution for all pictures of this kind: they show where a head looks, and not whether the model needs it. That took the experiment before.
#
# How did your guesses do?

# %% tags=["nbval-ignore-output"]
live.tally()

# %% [markdown]
# ## Exercises
#
# Solve what you like. `ATTENTION.hint()`, in a new cell, gives one hint at a time, and `ATTENTION.solution()` shows one way to do it. *Core* exercises belong to the lesson; *stretch* is for those who want more: try it without scrolling up.

# %%
ATTENTION


# %%
def attention(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    """Causal attention of q, k (B, H, T, D), v (B, H, T, E): mix (B, H, T, E) and weights (B, H, T, T)."""
    return v, torch.zeros(*q.shape[:-1], q.shape[-2])


# %%
ATTENTION.check(attention)

# %% tags=["nbval-ignore-output"]
ATTENTION.draw(attention)

# %%
BLOCK


# %%
def block(x: Tensor, weights: dict[str, Tensor], n_head: int) -> Tensor:
    """One causal block without position code: the stream (B, T, C) -> the stream (B, T, C)."""
    return x


# %%
BLOCK.check(block)

# %%
HALF_BLIND

# %%
half_blind = ("", "")

# %%
HALF_BLIND.check(half_blind)

# %% [markdown]
# ## Recap
#
# 1. Attention is scores, mask, weights, mix: a token takes home a mean of values, weighted by how well its query fits their keys.
# 2. To a token of one layer those before it are a heap: shuffle them, and what it takes home stays the same.
# 3. A block adds to the stream, first attention in several heads and then an MLP; more heads cost no weights.
# 4. A causal model without a position code sees order from two layers on, since an average over the past tells how long the past is; without the mask it is blind at any depth.
# 5. On stories of sixteen or seventeen characters, two layers without a code learn who fed whom from 9 of 20 seeds in 300 steps and from 17 of 20 in 600. Without the mask of the first layer such a model falls back to exactly half.

# %% [markdown]
# ## Self-test
#
# **1.** A token's scores are 1, 1 and 1, and the mask hides none of them. What are its weights?
#
# - a) 1, 1 and 1
# - b) a third each
# - c) they depend on the values
#
# <details><summary>Answer</summary>
#
# **b.** A softmax divides each exponential by their sum, and three equal scores give three equal shares. Tempting is *c*; values are mixed *by* the weights, and have no part in making them.
#
# </details>
#
# **2.** What does the causal mask do to the score of a later token?
#
# - a) it becomes $-\infty$ before the softmax
# - b) it becomes 0 before the softmax
# - c) its weight becomes 0 after the softmax
#
# <details><summary>Answer</summary>
#
# **a.** Then its exponential is 0, and the row still sums to 1. Tempting is *b*: but $e^0 = 1$, so a score of 0 is still looked at. With *c* the rows would sum to less than 1.
#
# </details>
#
# **3.** A layer gets 8 heads in place of 4, at the same number of channels. What becomes of it?
#
# - a) twice as many weights to train
# - b) twice as many channels in each head
# - c) half as many channels in each head, and the same number of weights
#
# <details><summary>Answer</summary>
#
# **c.** Heads are a cut through the channels of the same four matrices. Tempting is *a*, as if each head came with matrices of its own size.
#
# </details>
#
# **4.** A causal model of *one* layer without a code reads *A fed B.* and *B fed A.*, and a question follows that is the same both times. Its predictions after the question:
#
# - a) are the same, whatever its weights
# - b) differ, if it is trained long enough
# - c) differ, since early tokens average over fewer others
#
# <details><summary>Answer</summary>
#
# **a.** The last token mixes the values of the same tokens, and in one layer a value knows its own token alone. Tempting is *c*: it is true of what the early tokens take home, and a second layer would be needed to read that.
#
# </details>
#
# **5.** A probe reads the position from the stream with an error of 13 tokens in a window of 64, where knowing nothing costs 16. What follows?
#
# - a) the model cannot use its position for anything
# - b) something of the position is there, in a form that a linear fit can read
# - c) the model uses its position
#
# <details><summary>Answer</summary>
#
# **b.** A probe shows that something *can be read*. Tempting is *c*; whether the model reads it too needs an experiment, as when we took the mask away.
#
# </details>

# %% [markdown]
# ## Further reading
#
# - [Attention Is All You Need](https://arxiv.org/abs/1706.03762) — Vaswani et al. 2017; section 3 is this page in four of its own.
# - [Transformer Language Models without Positional Encodings Still Learn Positional Information](https://arxiv.org/abs/2203.16634) — Haviv et al. 2022; NoPE at the size of real models, with probes.
# - [The Impact of Positional Encoding on Length Generalization in Transformers](https://arxiv.org/abs/2305.19466) — Kazemnejad et al. 2023; the proof that the first layer can count.
# - [Query-Key Normalization for Transformers](https://arxiv.org/abs/2010.04245) — Henry et al. 2020; why scores should be bounded.
# - [Root Mean Square Layer Normalization](https://arxiv.org/abs/1910.07467) — Zhang & Sennrich 2019; the one-line norm.

# %% [markdown]
# ## What comes next
#
# A clock that counts by averaging goes a short way. It would be kinder to *tell* each token where it stands, in a form that attention can use. A famous table does so, made of sines and cosines. → [03b · Sinusoidal](03b_sinusoidal.ipynb)
