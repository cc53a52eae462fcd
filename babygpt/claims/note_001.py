"""The claims of note 001: Gaussian RoPE."""

from __future__ import annotations

from babygpt.claims.base import Claim

NOTE = "001_e1f3ab19410e1e33.txt"

CLAIMS: tuple[Claim, ...] = ()
