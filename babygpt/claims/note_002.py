"""The claims of note 002: Fourier codes for parallel branches, the guide."""

from __future__ import annotations

from babygpt.claims.base import Claim

NOTE = "002_79f4b48e18265706.txt"

CLAIMS: tuple[Claim, ...] = ()
