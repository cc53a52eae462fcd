"""`python -m babygpt`."""

from babygpt.cli import main
from babygpt.screen import open_closed_streams

open_closed_streams()
main()
