"""`python -m babygpt`."""

import signal

from babygpt.cli import main
from babygpt.screen import open_closed_streams

open_closed_streams()
try:
    main()
finally:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done; Python's own end takes up to a second
