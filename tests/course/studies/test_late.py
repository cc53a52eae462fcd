"""Study of the time of the click: seeds that spell by a step, with RoPE and with ALiBi."""

import pytest
from matplotlib.figure import Figure

from babygpt_course.studies import late


def test_seeds_that_spell_by_a_step_are_counted_and_compared():
    sooner, later = [0.1, 0.9, 0.9], [0.1, 0.1, 0.9]
    names = {late.ROPE: [later] * 7 + [sooner], late.ALIBI: [sooner] * 8}
    results = {
        "at": [600, 1200, 1800],
        "seeds": [*range(8)],
        "long": {n: {"spells": s} for n, s in names.items()},
    }
    assert late.spelling_by(results, 1200) == {"v4": 1, "alibi": 8, "p": pytest.approx(2 / 2**7)}
    assert late.spelling_by(results, 1800) == {"v4": 8, "alibi": 8, "p": 1.0}
    late.draw_late(figure := Figure(), results)
    assert figure.axes[0].get_title() == "By step 1,200 8 seeds spell with ALiBi, and 1 with RoPE"
