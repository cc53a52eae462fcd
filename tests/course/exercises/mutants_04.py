"""Mistakes in the exercises of notebook 04."""

import copy
from functools import partial

import torch

from babygpt_course.exercises.lesson_04 import HALF_SPLIT, RANKING, RELATIVE, WHOLE_NAMES
from tests.course.exercises.harness import Mutant, requirements

LENGTHS, ZERO, TURNS = requirements(HALF_SPLIT)
THROUGH, PLACE, HIDDEN = requirements(RELATIVE)
EACH, ORDER, BACK = requirements(RANKING)
RIGHT, NAME, LETTER, END = ALL = requirements(WHOLE_NAMES)


def split(x, positions, theta, sign=1, pairs=False, exponent=2.0, mixed=False):
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-exponent * torch.arange(D // 2) / D)
    a, b = (x[..., ::2], x[..., 1::2]) if pairs else (x[..., : D // 2], x[..., D // 2 :])
    cos, sin = angle.cos(), sign * angle.sin()
    both = a * cos - b * sin, a * sin + b * cos
    return torch.stack(both, -1).flatten(-2) if pairs or mixed else torch.cat(both, -1)


def note_001(x, positions, theta):
    """Neighbours are swapped, halves share an angle: two layouts at once."""
    D = x.shape[-1]
    angle = (positions[:, None] * theta ** (-2 * torch.arange(D // 2) / D)).repeat(1, 2)
    partner = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * angle.cos() + partner * angle.sin()


def relative(score, D, shifts=(1, 7, 333, 800), ones=False, exact=1e-3, start=200, apart=200, later=True):
    for _ in range(30):
        q, k = torch.ones(2, D) if ones else torch.randn(2, D, dtype=torch.float64)
        m, n = torch.randint(start, (2,)).tolist()
        n = max(n, m - apart) if n < m else min(n if later else m, m + apart)
        gaps = [abs(score(q, k, m + s, n + s) - score(q, k, m, n)) for s in shifts]
        if max(gaps) > exact:
            return False
    return True


def ranking(model, score, where="out", rows=False, keep=False, sign=1):
    D, found = model.config.head_dim, {}
    for layer, block in enumerate(model.blocks):
        weight = getattr(block.attention, where).weight
        kept = weight.detach().clone()
        for head in range(model.config.n_head):
            with torch.no_grad():
                (weight if rows else weight.T)[head * D : (head + 1) * D] = 0.0
                found[layer, head] = score(model)
                if not keep:
                    weight.copy_(kept)
    return sorted(found, key=lambda at: sign * found[at])


def on_a_copy(model, score):
    """Never gives a head back, but the model it was given stays as it was."""
    return ranking(copy.deepcopy(model), score, keep=True)


def from_1(model, score):
    return [(layer + 1, head + 1) for layer, head in ranking(model, score)]


def written(model, tokenizer, question, n, sample=False):
    text = question.prompt
    for _ in range(n):
        logits = model(tokenizer.encode(text)[None])[0, -1]
        token = torch.multinomial(logits.softmax(0), 1) if sample else logits.argmax()[None]
        text += tokenizer.decode(token)
    return text.removeprefix(question.prompt)


def names(model, tokenizer, questions, sample=False, end=True, right=str.__eq__):
    wanted = [q.answer + (q.end if end else "") for q in questions]
    found = [written(model, tokenizer, q, len(w), sample) for q, w in zip(questions, wanted, strict=True)]
    return sum(right(a, b) for a, b in zip(found, wanted, strict=True)) / len(questions)


def letters(model, tokenizer, questions):
    n = sum(len(q.answer + q.end) for q in questions)
    share = names(model, tokenizer, questions, right=lambda a, b: sum(map(str.__eq__, a, b)))
    return share * len(questions) / n


def likelier(model, tokenizer, questions):
    def score(q, name):
        ids = tokenizer.encode(q.prompt + name + q.end)[None]
        log_probs = model(ids[:, :-1]).log_softmax(-1).gather(-1, ids[:, 1:, None])
        return log_probs[0, len(q.prompt) - 1 :].sum()

    return sum(bool(score(q, q.answer) > score(q, q.rival)) for q in questions) / len(questions)


MUTANTS = [
    Mutant(RELATIVE, "up to 500", partial(relative, shifts=(1, 7, 300)), [HIDDEN], "700 taken"),
    Mutant(RELATIVE, "up to 0.02", partial(relative, exact=0.02), [HIDDEN], "0.004 times"),
    Mutant(RELATIVE, "neighbours", partial(relative, apart=5), [HIDDEN], "up to 60 apart"),
    Mutant(RELATIVE, "one step", partial(relative, shifts=(2,), start=50), [HIDDEN], "let this one"),
    Mutant(RELATIVE, "ones", partial(relative, ones=True), [HIDDEN]),
    Mutant(RELATIVE, "exactly", partial(relative, exact=0), [THROUGH], "last digits"),
    Mutant(RELATIVE, "never far", partial(relative, shifts=(1, 7), start=50), [HIDDEN], "200 taken"),
    Mutant(RELATIVE, "even steps", partial(relative, shifts=(2, 8, 334)), [HIDDEN], "even numbers"),
    Mutant(RELATIVE, "never later", partial(relative, later=False), [HIDDEN], "not later"),
    Mutant(RANKING, "rows", partial(ranking, rows=True), [ORDER]),
    Mutant(RANKING, "least first", partial(ranking, sign=-1), [ORDER], "matters least"),
    Mutant(RANKING, "never given back", partial(ranking, keep=True), [EACH, ORDER, BACK], "changed"),
    Mutant(RANKING, "never given back in a copy", on_a_copy, [ORDER], "before you silence the next"),
    Mutant(RANKING, "counted from 1", from_1, [EACH, ORDER], "each of"),
    Mutant(WHOLE_NAMES, "one letter", partial(names, right=lambda a, b: a[0] == b[0]), [LETTER, END]),
    Mutant(WHOLE_NAMES, "letters counted", letters, [NAME, LETTER, END], "spoils the name"),
    Mutant(WHOLE_NAMES, "no end", partial(names, end=False), [END], "must come"),
    Mutant(WHOLE_NAMES, "likelier of two", likelier, [LETTER, END], "not what is written"),
    Mutant(WHOLE_NAMES, "any end", partial(names, right=lambda a, b: a[:-1] == b[:-1]), [END], "must come"),
    Mutant(WHOLE_NAMES, "its letters", partial(names, right=lambda a, b: sorted(a) == sorted(b)), [LETTER]),
    Mutant(WHOLE_NAMES, "sampled", partial(names, sample=True), ALL),
    Mutant(WHOLE_NAMES, "a number of them", lambda *a: names(*a) * len(a[2]), ALL),
    Mutant(HALF_SPLIT, "neighbours", partial(split, pairs=True), [TURNS]),
    Mutant(HALF_SPLIT, "never below 0", lambda x, p, t: split(x, p.abs(), t), [TURNS]),
    Mutant(HALF_SPLIT, "a table of 40", lambda x, p, t: split(x, p.clamp(-40, 40), t), [TURNS]),
    Mutant(HALF_SPLIT, "exponent −i/D", partial(split, exponent=1.0), [TURNS]),
    Mutant(HALF_SPLIT, "two layouts mixed", note_001, [LENGTHS, TURNS], "of one layout"),
]
