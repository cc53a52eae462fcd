"""The claims of note 004: versions 1 and 2."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from babygpt.config import ModelConfig
from babygpt.errors import BadInput
from babygpt.models.base import BagOfTokens, BagWithPositions
from babygpt_course.claims.base import Claim, Finding, decide
from babygpt_course.claims.position_gains import position_helps_prediction

NOTE = "004_efa10201a3cae12e.txt"


def parameters(model: torch.nn.Module) -> int:
    """Trainable numbers of a model."""
    return sum(p.numel() for p in model.parameters())


def v1_cannot_tell_sentences_apart() -> Finding:
    """Log-probabilities that a v1 gives to two orders of the same three characters."""
    torch.manual_seed(0)
    model = BagOfTokens(ModelConfig(vocab_size=4, block_size=3, n_embd=2, n_head=1))
    ada, loves, ben = 0, 1, 2
    logs = [
        F.cross_entropy(model(torch.tensor([s[:-1]]))[0], torch.tensor(s[1:]), reduction="sum").item()
        for s in ([ada, loves, ben], [ben, loves, ada])
    ]
    gap = abs(logs[0] - logs[1])
    return Finding(
        "fails" if gap > 0 else "holds",
        gap,
        "v1 is a bigram model: each pair of neighbours has its own probability, and the pairs differ",
    )


def places_differ(model: torch.nn.Module) -> float:
    """How far what a model says after the first character of 我爱我 is from what it says after the third."""
    after_first, _, after_third = model(torch.tensor([[0, 1, 0]]))[0].detach()
    return float((after_first - after_third).abs().max())


def v1_codes_do_not_know_their_place() -> Finding:
    """Difference between what v1 says after one character at two places."""
    torch.manual_seed(0)
    gap = places_differ(BagOfTokens(ModelConfig(vocab_size=4, block_size=3, n_embd=2, n_head=1)))
    return Finding(decide(gap == 0), gap, "the same row of one table is read both times")


def v2_codes_know_their_place() -> Finding:
    """Difference between what v2 says after one character at two places."""
    torch.manual_seed(0)
    gap = places_differ(BagWithPositions(ModelConfig(vocab_size=4, block_size=3, n_embd=2, n_head=1)))
    return Finding(
        decide(gap > 0), gap, "another row is added at the other place, and the head reads the sum"
    )


def the_sums_are_right() -> Finding:
    """Difference between the codes of one character at two places, with the note's own numbers."""
    token = torch.tensor([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]])
    position = torch.tensor([[0.01, 0.02], [0.03, 0.04], [0.05, 0.06]])
    codes = torch.cat([token[[0, 1, 2]] + position, token[[2, 1, 0]] + position])  # both sentences
    expected = torch.tensor(
        [[0.11, 0.22], [0.33, 0.44], [0.55, 0.66], [0.51, 0.62], [0.33, 0.44], [0.15, 0.26]]
    )
    error = float((codes - expected).abs().max())
    return Finding(decide(error < 1e-6), error, "the note's sums are right")


def v2_tells_who_stood_before() -> Finding:
    """Change of v2's prediction after "love" when the character before it is another one."""
    torch.manual_seed(0)
    model = BagWithPositions(ModelConfig(vocab_size=4, block_size=3, n_embd=2, n_head=1))
    one, other = model(torch.tensor([[0, 1]]))[0, -1], model(torch.tensor([[2, 1]]))[0, -1]
    gap = float((one - other).abs().max().detach())
    return Finding(
        decide(gap > 0),
        gap,
        "a code for the place is not enough: without attention no token sees who stood before it",
    )


def counts_are_right() -> Finding:
    """Parameters of v1 and v2 beyond the note's formulas V D + D V and V D + T D + D V."""
    V, T, D = 65, 8, 32
    config = ModelConfig(V, T, n_embd=D)
    v1 = parameters(BagOfTokens(config)) - (V * D + D * V)
    v2 = parameters(BagWithPositions(config)) - (V * D + T * D + D * V)
    return Finding(
        decide(v1 == v2 == 0),
        float(v1),
        f"nn.Linear has a bias: {v1} parameters are missing from both formulas, one for each of {V} tokens",
    )


def the_increment_is_one_table() -> Finding:
    """Parameters that v2 adds to v1, beyond block_size n_embd."""
    config = ModelConfig(65, 8, n_embd=32)
    extra = parameters(BagWithPositions(config)) - parameters(BagOfTokens(config)) - 8 * 32
    return Finding(decide(extra == 0), float(extra), "one row of n_embd numbers a position")


def long_inputs_are_cut() -> Finding:
    """Difference between what v2 says of ten tokens and what it says of the last eight of them."""
    torch.manual_seed(0)
    model, ids = BagWithPositions(ModelConfig(65, block_size=8, n_embd=32)), torch.randint(65, (1, 10))
    said, expected = model(ids).detach(), model(ids[:, -8:]).detach()
    gap = float((said - expected).abs().max()) if said.shape == expected.shape else float("inf")
    return Finding(decide(gap == 0), gap, "the last eight of ten tokens are read, at places 0 to 7")


def writing_goes_on_past_the_table() -> Finding:
    """Tokens that the note's own loop, which cuts nothing, writes past v2's last place."""
    torch.manual_seed(0)
    model, ids = BagWithPositions(ModelConfig(65, block_size=8, n_embd=32)), torch.zeros(2, 1).long()
    written = 0
    try:
        for _ in range(24):
            ids = torch.cat([ids, model(ids)[:, -1].argmax(dim=-1, keepdim=True)], dim=1)
            written += ids.shape[1] > 8
    except (BadInput, IndexError, RuntimeError):
        pass
    return Finding(decide(written == 17), float(written), f"of 17 tokens past the eighth it writes {written}")


def adding_mixes_token_and_position() -> Finding:
    """Interaction of token and position in v2's logits: zero if each just adds its own part."""
    torch.manual_seed(0)
    model = BagWithPositions(ModelConfig(5, block_size=4, n_embd=8))
    rows = torch.stack([model(torch.full((1, 4), t))[0] for t in range(5)]).double()  # (token, place, V)
    main = rows.mean(0, keepdim=True) + rows.mean(1, keepdim=True) - rows.mean((0, 1), keepdim=True)
    interaction = float((rows - main).abs().max().detach())
    return Finding(
        decide(interaction > 1e-5),
        interaction,
        "under one linear head a sum is no fusion: token and place vote separately, as if concatenated",
    )


SMALL = "an untrained model with random weights; for this it takes no training"
CODES_FOR_SENTENCES = "what is true of a character's code is taken to be true of the sentence"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        NOTE,
        "v1 cannot tell 我爱你 from 你爱我",
        v1_cannot_tell_sentences_apart,
        quote='模型无法区分 "我爱你" 和 "你爱我"！',
        translation="The model cannot tell “I love you” from “you love me”!",
        reading="Asked: does v1 give both sentences the same probability? (That both are made of the same "
        "three codes is true; it is the next claim.)",
        scope=SMALL,
        fault=CODES_FOR_SENTENCES,
    ),
    Claim(
        NOTE,
        "in v1 a character has the same code at every place",
        v1_codes_do_not_know_their_place,
        quote='v1 中，"我"在任何位置的编码都是 `[0.1, 0.2]`，模型无法区分位置',
        translation="In v1 the code of “I” is [0.1, 0.2] at every place; the model cannot tell places apart.",
        scope=SMALL,
    ),
    Claim(
        NOTE,
        "the note's worked table of sums is right",
        the_sums_are_right,
        quote='位置2 "我": [0.1, 0.2] + [0.05, 0.06] = [0.15, 0.26]',
        translation="Place 2, “I”: [0.1, 0.2] + [0.05, 0.06] = [0.15, 0.26], and five more such sums.",
        scope="the note's six sums",
    ),
    Claim(
        NOTE,
        "in v2 a character has another code at another place",
        v2_codes_know_their_place,
        quote="让同一个字在不同位置有不同的表示",
        translation="It lets the same character have different representations at different places.",
        scope=SMALL,
    ),
    Claim(
        NOTE,
        "with a code for each place v2 knows who loves whom",
        v2_tells_who_stood_before,
        quote='位置编码让同一个字在不同位置有不同的表示，从而区分"我爱你"和"你爱我"。',
        translation="The position code lets the same character have different representations at different "
        "places, and so tells “I love you” from “you love me”.",
        reading="Asked: does v2 say something else after 我爱 than after 你爱? (That the codes and the "
        "probabilities of the two sentences differ is true; the probabilities did so in v1 already.)",
        scope=SMALL,
        fault=CODES_FOR_SENTENCES,
    ),
    Claim(
        NOTE,
        "knowing the place helps prediction",
        position_helps_prediction,
        quote='位置编码让模型知道"这个字在序列的哪个位置"',
        translation="The position code lets the model know at which place of the sequence this character is.",
        reading="The note does not say what this is good for. Asked: does v2 predict better than v1, on "
        "windows that begin with a line, and on windows that begin anywhere?",
        scope="tales, windows of 32 characters, width 64, 150 steps, 3 seeds",
    ),
    Claim(
        NOTE,
        "v1 has VD + DV parameters, v2 VD + TD + DV",
        counts_are_right,
        quote="| **参数量** | `V × D + D × V` | `V × D + T × D + D × V` |",
        translation="Number of parameters: V × D + D × V; V × D + T × D + D × V.",
        scope="the note's code at V = 65, T = 8, D = 32",
    ),
    Claim(
        NOTE,
        "v2 adds block_size × n_embd parameters to v1",
        the_increment_is_one_table,
        quote="| **参数增量** | `block_size × n_embd` 个参数 |",
        translation="Additional parameters: block_size × n_embd.",
        scope="the note's code at V = 65, T = 8, D = 32",
    ),
    Claim(
        NOTE,
        "an input that is too long is cut to its last block_size tokens",
        long_inputs_are_cut,
        quote="如果输入超过最大长度，自动截断到最近的 `block_size` 个 token",
        translation="If the input exceeds the greatest length, it is cut to the latest block_size tokens.",
        reading="Asked of inputs alone, as the note has it. (It forgets to cut the targets of a loss.)",
        scope=SMALL,
    ),
    Claim(
        NOTE,
        "so v2 can write on past block_size",
        writing_goes_on_past_the_table,
        quote="由于 forward 内部处理了长度限制，生成时可以处理超长序列",
        translation="Since forward deals with the limit on length, generating can handle longer sequences.",
        reading="Asked: does the loop run on? What it writes there is another question: notebook 02 looks.",
        scope=SMALL,
    ),
    Claim(
        NOTE,
        "adding mixes token and position in one space",
        adding_mixes_token_and_position,
        quote="这是一种**融合**而非简单的拼接",
        translation="This is a kind of fusion, and not a simple concatenation.",
        reading="Asked of v2's logits. (With a nonlinear layer between sum and head they do mix.)",
        scope=SMALL,
    ),
)
