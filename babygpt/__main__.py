"""`python -m babygpt`."""

import os
import signal

from babygpt.cli import main
from babygpt.screen import open_closed_streams, spell_unknown_letters

open_closed_streams()
spell_unknown_letters()
os.environ["MPLBACKEND"] = "agg"  # no command opens a window, whatever the user's notebooks do
try:
    main()
finally:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done; Python's own end takes up to a second
