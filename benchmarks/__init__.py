"""Benchmarks of training and of sliders that answer. `python -m benchmarks` lists what can be measured."""
