"""Live lab: sliders that answer at once, and models to watch, pause and steer while they train."""

try:
    import anywidget  # noqa: F401
    import IPython  # noqa: F401
    import ipywidgets  # noqa: F401
except ImportError as missing:
    from babygpt.packages import install_command

    source = "babygpt.live draws with widgets, which come with the extra `lab`"
    raise ImportError(f"{source}: run `{install_command('lab')}`") from missing

from babygpt.live.dashboard import train as train
from babygpt.live.explorer import Choice as Choice
from babygpt.live.explorer import Explorer as Explorer
from babygpt.live.explorer import Line as Line
from babygpt.live.explorer import Scale as Scale
from babygpt.live.explorer import Slider as Slider
from babygpt.live.explorer import Switches as Switches
from babygpt.live.formulas import alibi as alibi
from babygpt.live.formulas import branches as branches
from babygpt.live.formulas import gaussian as gaussian
from babygpt.live.formulas import polar as polar
from babygpt.live.formulas import rotary as rotary
from babygpt.live.formulas import sinusoidal as sinusoidal
from babygpt.live.run import Run as Run
from babygpt.live.trained_models import attention as attention
from babygpt.live.trained_models import diffusion as diffusion
from babygpt.live.watches import Watch as Watch
from babygpt.live.watches import branch_similarity as branch_similarity
from babygpt.live.watches import encode_masked as encode_masked
from babygpt.live.watches import filled_text as filled_text
from babygpt.live.watches import gates as gates
from babygpt.live.watches import heads as heads
from babygpt.live.watches import interference as interference
from babygpt.live.watches import kernel as kernel
from babygpt.live.watches import next_characters as next_characters
from babygpt.live.watches import roles as roles
from babygpt.live.watches import votes as votes
