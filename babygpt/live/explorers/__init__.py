"""Explorers, one for each idea."""

from babygpt.live.explorers.alibi import alibi as alibi
from babygpt.live.explorers.attention import attention as attention
from babygpt.live.explorers.rotary import rotary as rotary
from babygpt.live.explorers.sinusoid import sinusoidal as sinusoidal
