"""Mistakes in the exercises of notebook 04."""

import copy

import torch

from babygpt_course.exercises.rope import HALF_SPLIT, RANKING, RELATIVE, WHOLE_NAMES
from tests.course.exercises.harness import Mutant

LENGTHS, ZERO, TURNS = (check.asked for check in HALF_SPLIT.checks)

THROUGH, PLACE, HIDDEN = (check.asked for check in RELATIVE.checks)
EACH, ORDER, BACK = (check.asked for check in RANKING.checks)
RIGHT, NAME, LETTER, END = (check.asked for check in WHOLE_NAMES.checks)


def split(x, positions, theta, sign=1, pairs=False, exponent=2.0, mixed=False):
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-exponent * torch.arange(D // 2) / D)
    a, b = (x[..., ::2], x[..., 1::2]) if pairs else (x[..., : D // 2], x[..., D // 2 :])
    cos, sin = angle.cos(), sign * angle.sin()
    both = a * cos - b * sin, a * sin + b * cos
    return torch.stack(both, -1).flatten(-2) if pairs or mixed else torch.cat(both, -1)


def note_001(x, positions, theta=10_000.0):
    """Neighbours are swapped, halves share an angle: two layouts at once."""
    D = x.shape[-1]
    angle = positions[:, None] * theta ** (-2 * torch.arange(D // 2) / D)
    angle = torch.cat([angle, angle], -1)
    partner = torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    return x * angle.cos() + partner * angle.sin()


def relative(score, D, shifts=(1, 7, 333, 800), ones=False, exact=False, start=200, same=False, later=True):
    for _ in range(10):
        q, k = torch.ones(2, D) if ones else torch.randn(2, D, dtype=torch.float64)
        m, n = torch.randint(start, (2,)).tolist()
        n = m if same else n if later else min(m, n)
        apart = [abs(score(q, k, m + s, n + s) - score(q, k, m, n)) for s in shifts]
        if max(apart) > (0 if exact else 1e-3):
            return False
    return True


def backwards_and_forwards(score, D):
    q, k = torch.randn(2, D)
    return all(abs(score(q, k, m, n) - score(q, k, n, m)) < 1e-3 for m, n in ((3, 1), (100, 70)))


def ranking(model, score, where="out", rows=False, keep=False, least=False):
    D, found = model.config.head_dim, {}
    for layer, block in enumerate(model.blocks):
        weight = getattr(block.attention, where).weight
        kept = weight.detach().clone()
        for head in range(model.config.n_head):
            some = slice(head * D, (head + 1) * D)
            with torch.no_grad():
                if rows:
                    weight[some] = 0.0
                else:
                    weight[:, some] = 0.0
                found[layer, head] = score(model)
                if not keep:
                    weight.copy_(kept)
    return sorted(found, key=lambda at: -found[at] if least else found[at])


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


def names(model, tokenizer, questions, sample=False, end=True, how=lambda a, b: a == b):
    wanted = [q.answer + (q.end if end else "") for q in questions]
    found = [written(model, tokenizer, q, len(w), sample) for q, w in zip(questions, wanted, strict=True)]
    return sum(how(a, b) for a, b in zip(found, wanted, strict=True)) / len(questions)


def letters(model, tokenizer, questions):
    n = sum(len(q.answer + q.end) for q in questions)
    share = names(model, tokenizer, questions, how=lambda a, b: sum(map(str.__eq__, a, b)))
    return share * len(questions) / n


def likelier(model, tokenizer, questions):
    def score(q, name):
        ids = tokenizer.encode(q.prompt + name + q.end)[None]
        log_probs = model(ids[:, :-1]).log_softmax(-1).gather(-1, ids[:, 1:, None])
        return log_probs[0, len(q.prompt) - 1 :].sum()

    return sum(bool(score(q, q.answer) > score(q, q.rival)) for q in questions) / len(questions)


MUTANTS = [
    Mutant(
        RELATIVE, "one step", lambda s, D: relative(s, D, shifts=(2,), start=50), [HIDDEN], "let this one"
    ),
    Mutant(RELATIVE, "ones", lambda s, D: relative(s, D, ones=True), [HIDDEN]),
    Mutant(RELATIVE, "exactly", lambda s, D: relative(s, D, exact=True), [THROUGH], "last digits"),
    Mutant(RELATIVE, "distance 0", lambda s, D: relative(s, D, same=True), [HIDDEN]),
    Mutant(
        RELATIVE, "never far", lambda s, D: relative(s, D, shifts=(1, 7), start=50), [HIDDEN], "200 taken"
    ),
    Mutant(RELATIVE, "even steps", lambda s, D: relative(s, D, shifts=(2, 8, 334)), [HIDDEN], "even numbers"),
    Mutant(RELATIVE, "never later", lambda s, D: relative(s, D, later=False), [HIDDEN], "not later"),
    Mutant(RELATIVE, "exchanges m and n", backwards_and_forwards, [THROUGH, PLACE]),
    Mutant(RANKING, "rows", lambda m, s: ranking(m, s, rows=True), [ORDER]),
    Mutant(RANKING, "least first", lambda m, s: ranking(m, s, least=True), [ORDER], "matters least"),
    Mutant(
        RANKING, "never given back", lambda m, s: ranking(m, s, keep=True), [EACH, ORDER, BACK], "changed"
    ),
    Mutant(RANKING, "never given back in a copy", on_a_copy, [ORDER], "before you silence the next"),
    Mutant(RANKING, "queries", lambda m, s: ranking(m, s, where="to_q", rows=True), [ORDER]),
    Mutant(RANKING, "counted from 1", from_1, [EACH, ORDER], "each of"),
    Mutant(RANKING, "one layer", lambda m, s: ranking(m, s)[: m.config.n_head], [EACH, ORDER]),
    Mutant(WHOLE_NAMES, "one letter", lambda *a: names(*a, how=lambda x, y: x[0] == y[0]), [LETTER, END]),
    Mutant(WHOLE_NAMES, "letters counted", letters, [NAME, LETTER, END], "spoils the name"),
    Mutant(WHOLE_NAMES, "no end", lambda *a: names(*a, end=False), [END], "must come"),
    Mutant(WHOLE_NAMES, "likelier of two", likelier, [LETTER, END], "not what is written"),
    Mutant(WHOLE_NAMES, "sampled", lambda *a: names(*a, sample=True), [RIGHT, NAME, LETTER, END]),
    Mutant(WHOLE_NAMES, "a number of them", lambda *a: names(*a) * len(a[2]), [RIGHT, NAME, LETTER, END]),
    Mutant(HALF_SPLIT, "neighbours", lambda x, p, t=1e4: split(x, p, t, pairs=True), [TURNS]),
    Mutant(HALF_SPLIT, "the other way round", lambda x, p, t=1e4: split(x, p, t, sign=-1), [TURNS]),
    Mutant(HALF_SPLIT, "exponent −i/D", lambda x, p, t=1e4: split(x, p, t, exponent=1.0), [TURNS]),
    Mutant(HALF_SPLIT, "theta forgotten", lambda x, p, t=1e4: split(x, p, 1e4), [TURNS]),
    Mutant(
        HALF_SPLIT,
        "put back in the other layout",
        lambda x, p, t=1e4: split(x, p, t, mixed=True),
        [ZERO, TURNS],
    ),
    Mutant(HALF_SPLIT, "two layouts mixed", note_001, [LENGTHS, TURNS], "A rotation keeps them"),
    Mutant(
        HALF_SPLIT,
        "places counted, not read",
        lambda x, p, t=1e4: split(x, torch.arange(len(p)), t),
        [ZERO, TURNS],
    ),
]
