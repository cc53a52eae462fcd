"""Live lab: sliders that answer at once, and models to watch, pause and steer while they train."""

try:
    import anywidget  # noqa: F401
    import IPython  # noqa: F401
    import ipywidgets  # noqa: F401
except ImportError as missing:
    from babygpt.doctor import FIX

    raise ImportError(f"babygpt_live draws with widgets, which come with the extra `lab`: {FIX}") from missing

from babygpt_live.dashboard import train as train
from babygpt_live.explorer import Choice as Choice
from babygpt_live.explorer import Explorer as Explorer
from babygpt_live.explorer import Line as Line
from babygpt_live.explorer import Scale as Scale
from babygpt_live.explorer import Slider as Slider
from babygpt_live.explorer import Switches as Switches
from babygpt_course.explorers.formulas import alibi as alibi
from babygpt_course.explorers.formulas import branches as branches
from babygpt_course.explorers.formulas import gaussian as gaussian
from babygpt_course.explorers.formulas import polar as polar
from babygpt_course.explorers.formulas import rotary as rotary
from babygpt_course.explorers.formulas import sinusoidal as sinusoidal
from babygpt_live.run import Run as Run
from babygpt_course.explorers.trained_models import attention as attention
from babygpt_course.explorers.trained_models import diffusion as diffusion
from babygpt_course.explorers.watches import Watch as Watch
from babygpt_course.explorers.watches import branch_similarity as branch_similarity
from babygpt_course.explorers.watches import encode_masked as encode_masked
from babygpt_course.explorers.watches import filled_text as filled_text
from babygpt_course.explorers.watches import gates as gates
from babygpt_course.explorers.watches import heads as heads
from babygpt_course.explorers.watches import interference as interference
from babygpt_course.explorers.watches import kernel as kernel
from babygpt_course.explorers.watches import next_characters as next_characters
from babygpt_course.explorers.watches import roles as roles
from babygpt_course.explorers.watches import votes as votes
