"""Study of controls: where a sinusoid is trained, and what a near-sighted RoPE sees."""

import torch

from babygpt import ModelConfig, build, load_corpus
from babygpt.encodings import Rotary
from babygpt.experiments.sweep import StudySize, in_turn
from babygpt_course.studies import controls
from babygpt_course.studies.stretching import with_encoding

TINY = StudySize(steps=2, seeds=(1,), n_chars=20_000, n_questions=4)


def test_windows_stand_at_two_places_and_nowhere_between():
    objective, generator = (
        controls.TwoPlaces(load_corpus("plain-tales", 20_000), 64, aligned=True),
        torch.Generator(),
    )
    firsts = [(objective.batch(1, generator), objective.first)[1] for _ in range(50)]
    assert set(firsts) == {0, 128}


def test_a_near_sighted_rope_reads_long_texts_as_if_the_far_part_were_cut():
    torch.manual_seed(0)
    model = build("v4", ModelConfig(20, 256, n_layer=1, n_head=2, n_embd=16))
    torch.nn.init.normal_(model.head.weight)
    torch.nn.init.normal_(model.blocks[0].attention.out.weight)
    near = with_encoding(model, controls.NearRotary(8), 256)
    text = torch.randint(20, (1, 200))
    torch.testing.assert_close(near(text)[:, -1], model(text[:, -64:])[:, -1])
    assert isinstance(model.encoding, Rotary)
    assert not torch.allclose(near(text)[:, -1], model(text)[:, -1])


def test_every_control_is_measured_where_it_is_drawn():
    accuracies = controls.measure_controls(in_turn, TINY)["controls"]
    assert accuracies.keys() == controls.CONTROLS.keys()
    assert [len(values) for each in accuracies.values() for values in each.values()] == [1] * 30
    assert len({*(accuracies["v4, first place"][f"at {n}"][0] for n in controls.BESIDE)}) == 1  # relative
