"""Experiments: paired comparisons over seeds, and sweeps of runs that resume."""
