"""Runs that take minutes: comparisons, benchmarks, figures."""
