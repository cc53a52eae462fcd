"""Writing text: token after token, several texts at once, or the surest token first."""

from babygpt.sampling.branches import generate_parallel as generate_parallel
from babygpt.sampling.diffusion import Filled as Filled
from babygpt.sampling.diffusion import ancestral as ancestral
from babygpt.sampling.diffusion import by_confidence as by_confidence
from babygpt.sampling.diffusion import continue_text as continue_text
from babygpt.sampling.diffusion import fill_in as fill_in
from babygpt.sampling.diffusion import in_random_order as in_random_order
from babygpt.sampling.next_token import generate as generate
from babygpt.sampling.next_token import sample_token as sample_token
