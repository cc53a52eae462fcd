"""Writing text: token after token, several texts at once, the surest token first, or with second thoughts."""

from babygpt.sampling.diffusion import Filled as Filled
from babygpt.sampling.diffusion import ancestral as ancestral
from babygpt.sampling.diffusion import by_confidence as by_confidence
from babygpt.sampling.diffusion import by_entropy as by_entropy
from babygpt.sampling.diffusion import continue_text as continue_text
from babygpt.sampling.diffusion import fill_in as fill_in
from babygpt.sampling.next_token import generate as generate
from babygpt.sampling.next_token import generate_parallel as generate_parallel
from babygpt.sampling.remasking import SecondThoughts as SecondThoughts
from babygpt.sampling.remasking import drafts as drafts
from babygpt.sampling.remasking import rewrite as rewrite
