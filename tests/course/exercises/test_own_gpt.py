"""The solutions of notebook 13 are those of minimal.py, with which the lesson compares them."""

import torch
from torch import Generator

from babygpt import minimal
from babygpt_course.exercises.exercise import randomize_
from babygpt_course.exercises.lesson_13 import (
    my_attention_answer,
    my_block_answer,
    my_step_answer,
    my_writing_answer,
)

CONFIG = minimal.Config(block_size=8, n_embd=16, n_head=2)


def random_gpt() -> minimal.GPT:
    return randomize_(minimal.GPT(7, CONFIG), Generator().manual_seed(0))


def test_attention_and_block_compute_what_a_block_of_minimal_does():
    x = torch.randn(2, 5, CONFIG.n_embd, generator=Generator().manual_seed(1))
    block = random_gpt().blocks[0]
    assert torch.allclose(my_block_answer(x, block, my_attention_answer), block(x), atol=1e-5)


def test_writing_draws_the_tokens_that_minimal_draws():
    ids, texts = torch.tensor([[1, 2], [3, 4]]), []
    for write, size in ((my_writing_answer, CONFIG.block_size), (minimal.generate, CONFIG)):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(2)
            texts.append(write(random_gpt(), ids, 12, size))
    assert texts[0].shape == (2, 14)
    assert torch.equal(*texts)


def test_a_step_returns_the_loss_of_minimal_and_lowers_it():
    model, ids = random_gpt(), torch.randint(7, (100,), generator=Generator().manual_seed(3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    inputs, targets = minimal.draw_batch(ids, CONFIG, Generator().manual_seed(4))

    def loss_of_minimal() -> float:
        return minimal.batch_loss(model, ids, CONFIG, Generator().manual_seed(4)).item()

    before = loss_of_minimal()
    assert abs(my_step_answer(model, inputs, targets, [optimizer]) - before) < 1e-5
    assert loss_of_minimal() < before
