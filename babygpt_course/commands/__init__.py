"""Commands that the course adds to `python -m babygpt`.

The entry point `babygpt.commands` in pyproject.toml names the table below. Reading it imports neither PyTorch
nor the rest of the course, so that `--help` stays quick.
"""

COMMANDS = {  # name -> its module, and the first sentence of its help
    "claims": ("babygpt_course.commands.claims", "Measure what the source notes claim."),
    "figures": ("babygpt_course.commands.run_studies", "Measure and draw the course's figures."),
}
