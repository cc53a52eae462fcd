"""Studies that train models for minutes, a file each, and the figures drawn from what they measured."""
