"""Exercises of notebook 13: the four functions of a GPT that the reader writes, compared with minimal.py."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn
from torch.optim import SGD, Optimizer

from babygpt import minimal
from babygpt.errors import BadInput
from babygpt.minimal import norm, rotate
from babygpt_course.exercises.agreement import Agrees, Case, first_token
from babygpt_course.exercises.checks import Unusable, require
from babygpt_course.exercises.compare import count, describe
from babygpt_course.exercises.exercise import Exercise, each, integer, randomize_, read_tasks
from babygpt_course.exercises.lesson_03a import weights_of, weights_of_later

TASKS = read_tasks("lesson_13")

Mix = Callable[[Tensor, Tensor, Tensor], Tensor]  # queries, keys and values (B, H, T, D) -> (B, H, T, D)
Model = Callable[[Tensor], Tensor]  # ids (B, T) -> logits (B, T, V)


def mistakes_of(function: Callable[..., Any], sentences: Mapping[str, str]) -> dict[str, Callable[..., Any]]:
    """Return sentence -> the function with the mistake that the sentence speaks of.

    function   takes a mistake's word as `wrong`
    sentences  word of a mistake -> what a learner who made it should hear
    """
    return {sentence: partial(function, wrong=wrong) for wrong, sentence in sentences.items()}


# ---------------------------------------------------------------- attention


def my_attention_answer(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention with doubled scores: queries, keys and values (B, H, T, D) -> (B, H, T, D)."""
    T, D = q.shape[-2:]
    scores = 2 * q @ k.mT / D**0.5  # (B, H, T, T), a row for each query
    later = torch.ones(T, T).triu(1).bool()
    weights = scores.masked_fill(later, -torch.inf).softmax(dim=-1)
    return weights @ v


def attends(q: Tensor, k: Tensor, v: Tensor, hidden: int = 1, factor: float = 2.0, axis: int = -1) -> Tensor:
    """Attend with one detail changed; keys from `hidden` positions after their query on are hidden."""
    return weights_of(scores_of(q, k, factor), hidden, axis=axis) @ v


def scores_of(q: Tensor, k: Tensor, factor: float = 2.0) -> Tensor:
    """Return the scores of queries and keys: (..., T, T), a row for each query."""
    return factor * q @ k.mT / q.shape[-1] ** 0.5


ATTENTION_MISTAKES: dict[str, Callable[..., Tensor]] = {
    "Tokens read those after them, because there is no mask": partial(attends, hidden=10_000),
    "A hidden score is −∞. With 0 it still gets weight, because e⁰ is 1": (
        lambda q, k, v: weights_of(scores_of(q, k), score=0.0) @ v
    ),
    "Your mask is turned around: it hides the earlier tokens": (
        lambda q, k, v: weights_of_later(scores_of(q, k)) @ v
    ),
    "A token may read itself: the mask begins one above the diagonal": partial(attends, hidden=0),
    "The softmax runs over the keys, the last axis": partial(attends, axis=-2),
    "Scores are multiplied by 2": partial(attends, factor=1.0),
    "Scores are divided by √D": lambda q, k, v: attends(q, k, v, factor=2 * q.shape[-1] ** 0.5),
}


def attention_cases(draw: Generator, aspect: str) -> Iterator[Case]:
    """Draw queries, keys and values of one head or of several; some texts are as long as a head is wide."""
    shapes = [(1, 1, 1, 2), (1, 1, 2, 2), (1, 1, 5, 4), (1, 1, 300, 6)]
    if aspect == "several":
        shapes = [(2, 3, 4, 4), (3, 1, 2, 6), (1, 4, integer(draw, 5, 12), integer(draw, 1, 9))]
    for shape in shapes:
        q, k, v = 1.5 * torch.randn(3, *shape, generator=draw)
        yield Case(f"q, k and v of shape {shape}", (q, k, v))


one_head, several_heads = (partial(attention_cases, aspect=aspect) for aspect in ("one", "several"))
ATTENTION = Exercise(
    TASKS["Attention"],
    [
        Agrees(one_head, my_attention_answer, ATTENTION_MISTAKES, view=first_token),
        Agrees(one_head, my_attention_answer, ATTENTION_MISTAKES),
        Agrees(several_heads, my_attention_answer, ATTENTION_MISTAKES),
    ],
    my_attention_answer,
    ATTENTION_MISTAKES,
)


# ---------------------------------------------------------------- block


def my_block_answer(x: Tensor, block: Any, attention: Mix) -> Tensor:
    """One block of a GPT: what attention reads is added to x (B, T, C), and then what the MLP computes."""
    layer, mlp = block.attention, block.mlp
    q, k, v = (
        matrix(norm(x)).unflatten(-1, (layer.n_head, -1)).transpose(1, 2)  # (B, H, T, D)
        for matrix in (layer.to_q, layer.to_k, layer.to_v)
    )
    position = torch.arange(x.shape[1])
    q, k = rotate(norm(q), position, layer.theta), rotate(norm(k), position, layer.theta)
    x = x + layer.out(attention(q, k, v).transpose(1, 2).flatten(2))
    return x + mlp.out(mlp.up(norm(x)).relu().square())


def blocks(x: Tensor, block: Any, attention: Mix, wrong: str) -> Tensor:
    """Compute a block with one mistake, named by a word."""

    def size(vectors: Tensor, where: str) -> Tensor:
        return vectors if wrong == where else norm(vectors)

    layer, mlp = block.attention, block.mlp
    q, k, v = (
        matrix(size(x, "raw attention")).unflatten(-1, (layer.n_head, -1)).transpose(1, 2)
        for matrix in (layer.to_q, layer.to_k, layer.to_v)
    )
    position = torch.arange(x.shape[1])
    q, k = size(q, "raw queries"), size(k, "raw queries")
    if wrong != "no rotation":
        q, k = rotate(q, position, layer.theta), rotate(k, position, layer.theta)
    v = rotate(v, position, layer.theta) if wrong == "rotated values" else v
    mixes = attention(q, k, v)
    mixes = mixes if wrong == "heads in a row" else mixes.transpose(1, 2)
    read = layer.out(mixes.reshape(x.shape))
    after = read if wrong == "no first sum" else x + read
    hidden = mlp.up(size(x if wrong == "side by side" else after, "raw mlp")).relu()
    computed = mlp.out(hidden if wrong == "no square" else hidden.square())
    return computed if wrong == "no second sum" else after + computed


BLOCK_MISTAKES = mistakes_of(
    blocks,
    {
        "no first sum": "What attention reads is added to x: x + …",
        "no second sum": "What the MLP computes is added to its input",
        "side by side": "The MLP works on the x to which attention has added",
        "raw attention": "The matrices to_q, to_k and to_v read norm(x)",
        "raw mlp": "The MLP reads norm(x)",
        "raw queries": "Queries and keys go through norm, head by head, before they are rotated",
        "no rotation": "Queries and keys are rotated by their positions",
        "rotated values": "Values are not rotated",
        "heads in a row": "Swap heads and positions back before you join heads: .transpose(1, 2).flatten(2)",
        "no square": "The MLP takes the square of the ReLU",
    },
)


def reads_both_ways(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attend to all tokens, with plain scores: a block has to use the attention that it is given."""
    return (q @ k.mT).softmax(dim=-1) @ v


def block_cases(draw: Generator, silent: str) -> Iterator[Case]:
    """Draw blocks and their inputs; the output matrix of the part called `silent` holds zeros."""
    for B, T, n_head, head_dim in ((1, 1, 1, 2), (1, 4, 1, 4), (2, 3, 2, 2), (2, 5, 4, 4), (1, 30, 3, 6)):
        config = minimal.Config(n_head=n_head, n_embd=n_head * head_dim)
        block = randomize_(minimal.Block(config), draw).requires_grad_(False)
        if silent:
            nn.init.zeros_(getattr(block, silent).out.weight)
        x = 1 + 2 * torch.randn(B, T, config.n_embd, generator=draw)
        for attention in (my_attention_answer, reads_both_ways):
            used = "another attention" if attention is reads_both_ways else "attention"
            what = f"x of shape {tuple(x.shape)}, {count(n_head, 'head')} and {used}"
            yield Case(what, (x, block, attention))


BLOCK = Exercise(
    TASKS["Block"],
    [
        Agrees(partial(block_cases, silent=silent), my_block_answer, BLOCK_MISTAKES)
        for silent in ("attention", "mlp", "")
    ],
    my_block_answer,
    BLOCK_MISTAKES,
)


# ---------------------------------------------------------------- writing


@torch.no_grad()
def my_writing_answer(model: Model, ids: Tensor, n_tokens: int, block_size: int) -> Tensor:
    """Continue texts (B, T) by n_tokens, each drawn with the model's probabilities: (B, T + n_tokens)."""
    for _ in range(n_tokens):
        logits = model(ids[:, -block_size:])[:, -1]  # (B, V)
        token = torch.multinomial(logits.softmax(dim=-1), num_samples=1)  # (B, 1)
        ids = torch.cat([ids, token], dim=1)
    return ids


def writes(model: Model, ids: Tensor, n_tokens: int, block_size: int, wrong: str) -> Tensor:
    """Write with one mistake, named by a word."""
    prompt = ids
    for _ in range(n_tokens):
        window = {"whole text": ids, "first window": ids[:, :block_size]}.get(wrong, ids[:, -block_size:])
        logits = model(ids[:, -1:] if wrong == "last token" else window)
        probabilities = logits[:, 0 if wrong == "first row" else -1].softmax(dim=-1)
        token = torch.multinomial(probabilities, num_samples=1)
        if wrong == "likeliest":
            token = probabilities.argmax(dim=-1, keepdim=True)
        elif wrong == "all alike":
            token = torch.randint(probabilities.shape[-1], token.shape)
        elif wrong == "one draw":
            token = token[:1].expand_as(token)
        ids = torch.cat([ids, token], dim=1)
    return ids[:, prompt.shape[1] :] if wrong == "without prompt" else ids


WRITE_MISTAKES = mistakes_of(
    writes,
    {
        "first window": "The model reads the end of the text, the last block_size tokens, not its beginning",
        "last token": "The model reads all of its window, not the last token alone",
        "first row": "The logits after the last token decide: [:, -1]",
        "without prompt": "Return the whole texts, with the tokens that were given",
        "likeliest": "Draw the token with the model's probabilities, do not take the likeliest",
        "all alike": "Tokens are drawn with the model's probabilities, and not with equal ones",
        "one draw": "Each text of the batch draws its own token",
    },
)
V = 11  # tokens of the models that a writer is tested with
N_TEXTS = 4_000  # a share of 1/2 among them lies within 0.04 of it, five standard deviations


class CountingModel:
    """Model that is certain of the next token: the sum of its window, each id times its position from 1.

    block_size  length of the longest window that it reads
    """

    def __init__(self, block_size: int) -> None:
        self.block_size = block_size

    def __call__(self, window: Tensor) -> Tensor:
        """Return logits (B, T, V) of a window (B, T). Raises BadInput if it is too long."""
        if window.shape[1] > self.block_size:
            raise BadInput(f"a window of {window.shape[1]} tokens; the model reads {self.block_size}")
        sums = (window * torch.arange(1, window.shape[1] + 1)).cumsum(dim=1) % V  # (B, T)
        return 200.0 * F.one_hot(sums, V)


class ConstantModel:
    """Model that gives the same probabilities after every token.

    probabilities  (V,)
    """

    def __init__(self, probabilities: Tensor) -> None:
        self.probabilities = probabilities

    def __call__(self, window: Tensor) -> Tensor:
        """Return logits (B, T, V) of a window (B, T)."""
        return self.probabilities.log().expand(*window.shape, -1)


def certain_cases(draw: Generator, longer: bool) -> Iterator[Case]:
    """Draw texts for a model that is certain; they stay within its window, or grow beyond it."""
    for B, T, n_tokens in ((1, 1, 1), (1, 2, 3), (2, 3, 4), (3, integer(draw, 4, 9), integer(draw, 5, 40))):
        block_size = max(2, T - 1) if longer else T + n_tokens
        ids = torch.randint(V, (B, T), generator=draw)
        what = f"ids of shape {(B, T)}, n_tokens = {n_tokens} and block_size = {block_size}"
        yield Case(what, (CountingModel(block_size), ids, n_tokens, block_size))


def shares(texts: Any, model: Any, ids: Tensor, *_: Any) -> Tensor:
    """Return how often each token was written after the prompts: (V,), with sum 1."""
    written = torch.as_tensor(texts)
    right = tuple(written.shape) == (N_TEXTS, ids.shape[1] + 1) and not written.is_floating_point()
    require(right, f"came out: shape {tuple(written.shape)}; should be shape {(N_TEXTS, ids.shape[1] + 1)}")
    return F.one_hot(written[:, -1].clamp(0, V - 1).long(), V).float().mean(dim=0)


def share_cases(draw: Generator) -> Iterator[Case]:
    """Draw models whose probabilities differ, and many texts that each write one token."""
    for _ in range(2):
        probabilities = torch.rand(V, generator=draw).square().add(0.01)
        model = ConstantModel(probabilities / probabilities.sum())
        ids = torch.randint(V, (N_TEXTS, 2), generator=draw)
        yield Case(f"{N_TEXTS:,} texts, how often each token is written:", (model, ids, 1, 8))


def expected_shares(model: Any, ids: Tensor, *_: Any) -> Tensor:
    """Return texts whose last tokens have just the model's shares, as far as whole numbers can."""
    counts = (model.probabilities * N_TEXTS).cumsum(dim=0).round().long().diff(prepend=torch.zeros(1).long())
    return torch.cat([ids, torch.arange(V).repeat_interleave(counts)[:, None]], dim=1)


WRITING = Exercise(
    TASKS["Writing"],
    [
        Agrees(partial(certain_cases, longer=False), my_writing_answer, WRITE_MISTAKES),
        Agrees(partial(certain_cases, longer=True), my_writing_answer, WRITE_MISTAKES),
        Agrees(share_cases, expected_shares, WRITE_MISTAKES, view=shares, atol=0.04),
    ],
    my_writing_answer,
    WRITE_MISTAKES,
)


# ---------------------------------------------------------------- training


def my_step_answer(model: Model, inputs: Tensor, targets: Tensor, optimizers: list[Optimizer]) -> float:
    """Move the weights by one step, and return the loss before it: inputs and targets (B, T)."""
    logits = model(inputs)  # (B, T, V)
    loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    return loss.item()


def steps_wrongly(
    model: Model, inputs: Tensor, targets: Tensor, optimizers: list[Optimizer], wrong: str
) -> float:
    """Make a step with one mistake, named by a word."""

    def loss_now() -> Tensor:
        logits = model(inputs).flatten(0, 1)
        expected = (inputs if wrong == "own tokens" else targets).flatten()
        return F.cross_entropy(logits, expected, reduction="sum" if wrong == "sum" else "mean")

    loss = loss_now()
    for optimizer in optimizers if wrong != "old gradients" else []:
        optimizer.zero_grad()
    loss.backward()
    if wrong == "no gradients":
        for optimizer in optimizers:
            optimizer.zero_grad()
    for optimizer in {"no step": [], "first optimizer": optimizers[:1]}.get(wrong, optimizers):
        optimizer.step()
    return (loss_now() if wrong == "loss after" else loss).item()


class SeededSteps:
    """Steps of a small model, made with each answer from the same weights and on the same batches.

    attempt  the function that makes a step
    """

    def __init__(self, attempt: Any) -> None:
        self.attempt = attempt

    def __call__(self, n_steps: int, shape: tuple[int, int], seed: int) -> tuple[list[Any], list[Tensor]]:
        """Return the losses of the steps, and the weights after them.

        shape  B and T of the batches
        seed   decides weights and batches
        """
        draw, V = Generator().manual_seed(seed), 7
        config = minimal.Config(block_size=shape[1], n_layer=1, n_head=2, n_embd=8)
        model = randomize_(minimal.GPT(V, config), draw)
        inner = set(model.blocks.parameters())
        rest = [weight for weight in model.parameters() if weight not in inner]
        optimizers = [SGD(inner, lr=0.3), SGD(rest, lr=0.1, momentum=0.9)]
        losses = []
        for _ in range(n_steps):
            ids = torch.randint(V, (shape[0], shape[1] + 1), generator=draw)
            losses.append(self.attempt(model, ids[:, :-1], ids[:, 1:], optimizers))
        return losses, [weight.detach().clone() for weight in model.parameters()]


STEP_MISTAKES = mistakes_of(
    steps_wrongly,
    {
        "own tokens": "Compare the logits with the targets, not with the inputs",
        "sum": "The loss is the mean over all tokens of the batch",
        "loss after": "Return the loss that you computed before the step",
        "no gradients": "You set the gradients to zero after `backward` and before the step",
        "no step": "The weights have not moved: every optimizer has to make its step",
        "first optimizer": "Only the first optimizer makes its step",
        "old gradients": "`backward` adds to the gradients: set them to zero before it",
    },
)


def steps_alike(attempt: Any, draw: Generator, n_steps: int, part: int) -> None:
    """Compare the losses (part 0) or the weights (part 1) of a few steps with those of the solution."""
    require(callable(attempt), f"this should be a function, and is {describe(attempt)}", Unusable)
    batches = [(1, 1), (2, 3), (integer(draw, 3, 6), integer(draw, 4, 9))]
    compared, seed = "weights" if part else "losses", integer(draw, 0, 1000)
    cases = [
        Case(f"batches of shape {shape}, the {compared} of {count(n_steps, 'step')}:", (n_steps, shape, seed))
        for shape in batches
    ]
    mistakes = {sentence: SeededSteps(wrong) for sentence, wrong in STEP_MISTAKES.items()}
    agrees = Agrees(lambda _: cases, SeededSteps(my_step_answer), mistakes, view=lambda both, *_: both[part])
    agrees(SeededSteps(attempt), draw)


STEP = Exercise(
    TASKS["Training step"],
    each(steps_alike, (1, 0), (1, 1), (3, 1)),
    my_step_answer,
    STEP_MISTAKES,
)

EXERCISES = (ATTENTION, BLOCK, WRITING, STEP)
