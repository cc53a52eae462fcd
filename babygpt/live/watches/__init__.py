"""Watches, by what they look at: attention, predictions, parallel texts, diffusion."""

from babygpt.live.watches.attention import heads as heads
from babygpt.live.watches.attention import kernel as kernel
from babygpt.live.watches.diffusion import encode_masked as encode_masked
from babygpt.live.watches.diffusion import filled_text as filled_text
from babygpt.live.watches.diffusion import gates as gates
from babygpt.live.watches.parallel import branch_similarity as branch_similarity
from babygpt.live.watches.parallel import interference as interference
from babygpt.live.watches.predictions import next_characters as next_characters
from babygpt.live.watches.predictions import roles as roles
from babygpt.live.watches.predictions import votes as votes
from babygpt.live.watches.watch import Watch as Watch
