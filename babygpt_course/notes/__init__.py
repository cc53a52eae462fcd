"""Computations behind the command lines of source notes 000, 002 and 003."""
