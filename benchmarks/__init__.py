"""How fast the course trains, writes and answers. `python -m benchmarks` lists what can be measured."""
