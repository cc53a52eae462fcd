"""Studies: training runs that take minutes, their stored results and their figures."""
