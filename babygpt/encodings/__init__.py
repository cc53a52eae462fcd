"""Position encodings: one idea, one file."""

from babygpt.encodings.alibi import ALiBi as ALiBi
from babygpt.encodings.base import Encoding as Encoding
from babygpt.encodings.learned import LearnedPositions as LearnedPositions
from babygpt.encodings.rotary import Rotary as Rotary
from babygpt.encodings.rotary import Rotary2D as Rotary2D
from babygpt.encodings.sinusoidal import Sinusoidal as Sinusoidal
