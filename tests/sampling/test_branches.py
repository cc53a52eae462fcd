"""Sampling of several texts at once: equal to sampling by hand, with or without the cache."""

import pytest
import torch

from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS
from babygpt.positions import Positions
from babygpt.sampling import generate, generate_parallel
from tests.conftest import draw

BLOCK = 16
WAYS = ["v6", "v6-rope2d"]  # a code that is added, and one that turns
PROMPTS = [(1,), (16,), (3, 3), (1, 7, 4), (16, 2, 9)]  # tokens of each


def prompts(text, lengths: tuple[int, ...]) -> list[torch.Tensor]:
    return list(text(sum(lengths)).split(list(lengths)))


def together_by_hand(model: LanguageModel, texts: list[torch.Tensor], n: int) -> list[list[int]]:
    """Return the likeliest tokens of all texts, which end at one time, in windows that begin anew."""
    written, now, start = [text.tolist() for text in texts], max(map(len, texts)), 0
    for _ in range(n):
        if now - start > BLOCK:
            start = now - BLOCK // 2
        tokens = [
            (now - len(own) + t, b, token)
            for b, own in enumerate(written)
            for t, token in enumerate(own)
            if now - len(own) + t >= start
        ]
        time, branch, idx = torch.tensor(sorted(tokens)).T
        with torch.no_grad():
            logits = model(idx[None], Positions(time - start, branch))[0]
        for b, own in enumerate(written):
            last = (branch == b).nonzero()[-1, 0]
            own.append(int(logits[last].argmax()))
        now += 1
    return written


@pytest.mark.parametrize("version", WAYS)
@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("lengths", PROMPTS)
def test_likeliest_tokens_of_all_branches_are_those_found_by_hand(
    awake, text, version: str, isolated: bool, lengths: tuple[int, ...]
) -> None:
    """Cross the window's end twice."""
    model, begun = awake(version, {"isolated": isolated}), prompts(text, lengths)
    got = generate_parallel(model, begun, 29, temperature=0)
    assert [own.tolist() for own in got] == together_by_hand(model, begun, 29)


@pytest.mark.parametrize("version", WAYS)
@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("block_size", [1, 2, 7, 16])
def test_cache_changes_no_token_of_any_branch(awake, text, version: str, temperature: float, block_size: int):
    model = awake(version, block_size=block_size)
    begun = prompts(text, (1, min(5, block_size), min(3, block_size)))
    with_cache, without = (
        generate_parallel(model, begun, 40, temperature, generator=draw(), use_cache=use)
        for use in (True, False)
    )
    assert all(torch.equal(cached, plain) for cached, plain in zip(with_cache, without, strict=True))


@pytest.mark.parametrize("use_cache", [True, False])
def test_each_pass_writes_one_token_of_every_branch(awake, text, use_cache: bool) -> None:
    model, sizes = awake("v6"), []
    model.register_forward_pre_hook(lambda _, inputs: sizes.append(inputs[0].shape[1]))
    got = generate_parallel(model, prompts(text, (3, 6)), 10, generator=draw(), use_cache=use_cache)
    assert [len(own) for own in got] == [13, 16]
    assert sizes == ([9] + [2] * 9 if use_cache else [9 + 2 * n for n in range(10)])


@pytest.mark.parametrize("use_cache", [True, False])
def test_each_window_counts_times_from_0(awake, text, use_cache: bool) -> None:
    """Guard models never trained past their window; with RoPE alone, other times would change nothing."""
    model, times = awake("v6"), []
    model.register_forward_pre_hook(lambda _, inputs: times.append(inputs[1].time))
    generate_parallel(model, prompts(text, (3, 6)), 40, generator=draw(), use_cache=use_cache)
    last = [int(time.max()) for time in times]
    assert last == [*range(5, 16), *range(7, 16), *range(7, 16), *range(7, 16), 7, 8]
    begins = [int(time.min()) for time, end in zip(times, last, strict=True) if end in (5, 7)]
    assert begins[0] == begins[-1] == 0


def test_one_branch_without_a_code_writes_as_v4(awake, text) -> None:
    parallel, plain = awake("v6-none"), awake("v4")
    parallel.load_state_dict(plain.state_dict())
    for length in (1, 7, 16):
        prompt = text(length)
        expected = generate(plain, prompt[None], 45, temperature=0)[0]
        assert torch.equal(generate_parallel(parallel, [prompt], 45, temperature=0)[0], expected)


def test_only_isolated_branches_write_as_each_would_alone(awake, text) -> None:
    """Use texts of one length: the times of a window count from the beginning of the longest."""
    for isolated in (True, False):
        model, begun = awake("v6-none", {"isolated": isolated}), prompts(text, (4, 4, 4))
        together = generate_parallel(model, begun, 30, temperature=0)
        alone = [generate_parallel(model, [prompt], 30, temperature=0)[0] for prompt in begun]
        same = all(torch.equal(beside, single) for beside, single in zip(together, alone, strict=True))
        assert same == isolated


def test_the_generator_decides_all_branches_and_the_global_one_is_unchanged(awake, text) -> None:
    model, begun = awake("v6"), prompts(text, (2, 4))
    before, copies = torch.random.get_rng_state(), [prompt.clone() for prompt in begun]
    first, again, second_seed = (
        [own.tolist() for own in generate_parallel(model, begun, 30, generator=draw(s))] for s in (0, 0, 1)
    )
    for prompt, then, own in zip(begun, copies, first, strict=True):
        assert prompt.tolist() == then.tolist() == own[: len(then)]
        assert len(own) == len(then) + 30
    assert all(map(torch.equal, generate_parallel(model, begun, 0), copies))
    assert first == again
    assert first != second_seed
    assert torch.equal(torch.random.get_rng_state(), before)


def test_bad_arguments_for_branches_are_named(awake, text) -> None:
    for lengths, arguments, says in (
        ((), {}, "0 branches: at least 1 prompt"),
        ((3, 0), {}, "the prompt is empty"),
        ((3, 17), {}, "branch 1 has 17 tokens; the window holds 16"),
        ((3,), {"n_tokens": -1}, r"n_tokens \(-1\)"),
        ((3,), {"top_k": 0}, r"top_k \(0\)"),
    ):
        with pytest.raises(ValueError, match=says):
            generate_parallel(awake("v6"), prompts(text, lengths), **{"n_tokens": 5, **arguments})


@pytest.mark.parametrize("version", VERSIONS)
def test_several_texts_need_a_model_with_branches(awake, text, version: str) -> None:
    model, kind = awake(version), VERSIONS[version]
    if kind.branches:
        assert len(generate_parallel(model, prompts(text, (3, 3)), 2, generator=draw())) == 2
        return
    says = "sees what comes next" if kind.masks else "2 texts at once need a model that is made for branches"
    with pytest.raises(BadInput, match=says):
        generate_parallel(model, prompts(text, (3, 3)), 2)


def test_more_branches_than_there_are_codes_are_refused(awake, text) -> None:
    for version, options, position in (
        ("v6", {"max_positions": 256}, 256),
        ("v6-learned", {"max_branches": 2}, 2),
    ):
        model = awake(version, options)
        generate_parallel(model, prompts(text, (3, 3)), 5, generator=draw())
        with pytest.raises(ValueError, match=f"position {position} is not in the table"):
            generate_parallel(model, prompts(text, (3, 3, 3)), 5)
