"""Position encodings: one idea, one file."""

from babygpt.encodings.alibi import ALiBi as ALiBi
from babygpt.encodings.base import Encoding as Encoding
from babygpt.encodings.branches import LearnedBranches as LearnedBranches
from babygpt.encodings.branches import RandomBranches as RandomBranches
from babygpt.encodings.fourier import Fourier as Fourier
from babygpt.encodings.gaussian import gaussian as gaussian
from babygpt.encodings.learned import LearnedPositions as LearnedPositions
from babygpt.encodings.rotary import Rotary as Rotary
from babygpt.encodings.rotary import Rotary2D as Rotary2D
from babygpt.encodings.sinusoidal import Sinusoidal as Sinusoidal
