"""`python -m babygpt`."""

from babygpt.cli import main

main()
