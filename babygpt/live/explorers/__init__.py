"""Explorers, one for each idea: what a learner moves, what is measured, how it is drawn."""

from babygpt.live.explorers.alibi import alibi as alibi
from babygpt.live.explorers.attention import attention as attention
from babygpt.live.explorers.branch_codes import branches as branches
from babygpt.live.explorers.diffusion import diffusion as diffusion
from babygpt.live.explorers.gaussian import gaussian as gaussian
from babygpt.live.explorers.polar import polar as polar
from babygpt.live.explorers.rotary import rotary as rotary
from babygpt.live.explorers.sinusoidal import sinusoidal as sinusoidal
from babygpt.live.explorers.stretching import stretching as stretching
