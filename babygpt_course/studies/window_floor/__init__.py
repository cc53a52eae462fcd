"""Exact loss floor at each position of a window that begins in the middle of a story."""
