"""The claims of note 003: whether Fourier codes need a stride."""

from __future__ import annotations

from babygpt.claims.base import Claim

NOTE = "003_1be152b6561f0619.txt"

CLAIMS: tuple[Claim, ...] = ()
