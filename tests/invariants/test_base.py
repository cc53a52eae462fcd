"""A verdict says whether it holds."""

from babygpt import invariants


def test_a_verdict_prints_its_mark():
    assert str(invariants.Verdict("it holds", 0.0, 1.0)) == "✓ it holds"
    assert str(invariants.Verdict("it fails", 2.0, 1.0)) == "✗ it fails"
