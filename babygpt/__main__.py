"""Entry point of the commands: `python -m babygpt`."""

import io
import os
import signal
import sys

from babygpt.cli import main

if isinstance(sys.stdout, io.TextIOWrapper):
    sys.stdout.reconfigure(errors="backslashreplace")  # Windows' code pages lack ✓ and Chinese
os.environ["MPLBACKEND"] = "agg"  # no command opens a window, whatever the user's notebooks do
try:
    main()
finally:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done; Python's own end takes up to a second
