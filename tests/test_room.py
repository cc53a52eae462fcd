"""Whether there is room, in bytes of this machine."""

import psutil
import pytest
import torch

from babygpt.room import memory, require_room


def test_the_memory_is_that_of_the_machine():
    assert memory(torch.device("cpu")) == psutil.virtual_memory().total


def test_all_of_it_may_be_asked_for_and_no_more():
    there = memory(torch.device("cpu"))
    require_room("zeros", there)
    with pytest.raises(ValueError, match=r"zeros need at least .* GB of memory; there are "):
        require_room("zeros", there + 1)


def test_a_number_that_no_float_holds_is_told_too():
    with pytest.raises(ValueError, match=r"zeros need at least 1\.000e\+391 GB"):
        require_room("zeros", 10**400)
