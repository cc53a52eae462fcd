"""Benchmarks of training, writing and answering. `python -m benchmarks` lists what can be measured."""
