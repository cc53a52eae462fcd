"""Mistakes in the exercises of notebook 13, and right answers, which fail nothing."""

import torch
import torch.nn.functional as F

from babygpt_course.exercises.lesson_13 import (
    ATTENTION,
    BLOCK,
    STEP,
    WRITING,
    attends,
    blocks,
    my_attention_answer,
    my_block_answer,
    my_step_answer,
    my_writing_answer,
    steps_wrongly,
)
from tests.course.exercises.harness import Mutant, listed_mistake, requirements

FIRST, ONE_HEAD, SEVERAL = ALL_ATTENTION = requirements(ATTENTION)
MLP, READS, BOTH = ALL_BLOCK = requirements(BLOCK)
LOSS, MOVED, AFTER_THREE = ALL_STEP = requirements(STEP)
WITHIN, BEYOND, SHARES = ALL_WRITING = requirements(WRITING)

KEPT_MIXES = {}  # shape -> the first mix


def with_scaled_attention(q, k, v):
    return F.scaled_dot_product_attention(2 * q, k, v, is_causal=True)


def step_of_adam(model, inputs, targets, optimizers):
    """Make a step with an optimizer of its own."""
    return my_step_answer(model, inputs, targets, [torch.optim.Adam(model.parameters())])


def step_with_logarithms(model, inputs, targets, optimizers):
    """Make a right step, whose loss is written out."""
    for optimizer in optimizers:
        optimizer.zero_grad(set_to_none=False)
    log_p = model(inputs).log_softmax(dim=-1)
    loss = -log_p.gather(-1, targets[..., None]).mean()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    return loss


def write_token_by_token(model, ids, n_tokens, block_size):
    """Continue each text by itself, with Gumbel noise in place of multinomial."""
    texts = []
    for text in ids:
        for _ in range(n_tokens):
            logits = model(text[None, -block_size:])[0, -1]
            noise = -torch.empty_like(logits, dtype=torch.float).exponential_().log()
            text = torch.cat([text, (logits + noise).argmax()[None]])
        texts.append(text)
    return torch.stack(texts)


def write_in_place(model, ids, n_tokens, block_size):
    ids[:, 0] = 0
    return my_writing_answer(model, ids, n_tokens, block_size)


def write_colder(model, ids, n_tokens, block_size):
    return my_writing_answer(lambda window: 2 * model(window), ids, n_tokens, block_size)


MUTANTS = [
    Mutant(ATTENTION, "right, with PyTorch's own function", with_scaled_attention, []),
    listed_mistake(ATTENTION, "no mask", ALL_ATTENTION, "there is no mask"),
    listed_mistake(ATTENTION, "hidden scores of 0", ALL_ATTENTION, "e⁰ is 1"),
    listed_mistake(ATTENTION, "the mask turned", ALL_ATTENTION, "turned around"),
    Mutant(ATTENTION, "not itself", lambda q, k, v: attends(q, k, v, hidden=0), ALL_ATTENTION, "nan"),
    listed_mistake(ATTENTION, "softmax over queries", ALL_ATTENTION, "last axis"),
    listed_mistake(ATTENTION, "scores not doubled", [ONE_HEAD, SEVERAL], "multiplied by 2"),
    listed_mistake(ATTENTION, "no root", [ONE_HEAD, SEVERAL], "divided by √D"),
    Mutant(
        ATTENTION,
        "kept by shape",
        lambda *qkv: KEPT_MIXES.setdefault(qkv[0].shape, my_attention_answer(*qkv)),
        ALL_ATTENTION,
    ),
    Mutant(
        ATTENTION, "half precision", lambda *qkv: my_attention_answer(*qkv).half(), ALL_ATTENTION, "float16"
    ),
    Mutant(
        BLOCK,
        "an attention of its own",
        lambda x, block, _: my_block_answer(x, block, my_attention_answer),
        [READS, BOTH],
        "another attention",
    ),
    listed_mistake(BLOCK, "attention is not added", ALL_BLOCK, "What attention reads is added"),
    listed_mistake(BLOCK, "the MLP is not added", ALL_BLOCK, "added to its input"),
    listed_mistake(BLOCK, "side by side", [BOTH], "to which attention has added"),
    listed_mistake(BLOCK, "attention without norm", [READS, BOTH], "read norm(x)"),
    listed_mistake(BLOCK, "MLP without norm", [MLP, BOTH], "The MLP reads"),
    listed_mistake(BLOCK, "queries without norm", [READS, BOTH], "head by head"),
    listed_mistake(BLOCK, "no rotation", [READS, BOTH], "keys are rotated"),
    listed_mistake(BLOCK, "values rotated", [READS, BOTH], "Values are not"),
    listed_mistake(BLOCK, "heads in a row", [READS, BOTH], "Swap heads"),
    listed_mistake(BLOCK, "no square", [MLP, BOTH], "square of the ReLU"),
    Mutant(BLOCK, "right, by another way", lambda *given: blocks(*given, wrong=""), []),
    Mutant(STEP, "right, with logarithms and a tensor", step_with_logarithms, []),
    listed_mistake(STEP, "inputs as targets", ALL_STEP, "not with the inputs"),
    listed_mistake(STEP, "a sum", ALL_STEP, "is the mean"),
    listed_mistake(STEP, "the loss afterwards", [LOSS], "that you computed before"),
    listed_mistake(STEP, "no gradients", [MOVED, AFTER_THREE], "after `backward`"),
    Mutant(
        STEP,
        "no step",
        lambda *given: steps_wrongly(*given, wrong="no step"),
        [MOVED, AFTER_THREE],
        "have not moved",
    ),
    listed_mistake(STEP, "one optimizer", [MOVED, AFTER_THREE], "Only the first"),
    listed_mistake(STEP, "old gradients", [AFTER_THREE], "`backward` adds"),
    Mutant(STEP, "its own optimizer", step_of_adam, [MOVED, AFTER_THREE]),
    Mutant(STEP, "returns nothing", lambda *given: my_step_answer(*given) and None, [LOSS], "`return`"),
    Mutant(WRITING, "right, text by text", write_token_by_token, []),
    listed_mistake(WRITING, "the first window", [BEYOND], "not its beginning"),
    Mutant(
        WRITING,
        "the whole text",
        lambda model, ids, n_tokens, _: my_writing_answer(model, ids, n_tokens, 10_000),
        [BEYOND],
        "the model reads 2",
    ),
    listed_mistake(WRITING, "the last token", [WITHIN, BEYOND], "not the last token alone"),
    listed_mistake(WRITING, "the first row", [WITHIN, BEYOND], "[:, -1]"),
    Mutant(
        WRITING,
        "without the beginning",
        lambda model, ids, *more: my_writing_answer(model, ids, *more)[:, ids.shape[1] :],
        ALL_WRITING,
        "came out: shape",
    ),
    listed_mistake(WRITING, "the likeliest", [SHARES], "do not take the likeliest"),
    Mutant(WRITING, "twice as sure", write_colder, [SHARES]),
    Mutant(WRITING, "writes into the ids", write_in_place, ALL_WRITING, "work on a copy"),
]
