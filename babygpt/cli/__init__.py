"""The shell's way into the course: `python -m babygpt --help`."""

import click

from babygpt.cli.options import CommandGroup
from babygpt.packages import DISTRIBUTION

COMMANDS = {  # name -> its module, and the first sentence of its help: to import them all takes seconds
    "train": ("babygpt.cli.train", "Train VERSION on a corpus and write a checkpoint."),
    "generate": ("babygpt.cli.generate", "Continue prompts with one checkpoint, or with several."),
    "check": ("babygpt.cli.check", "Measure the promises of VERSION's encoding."),
    "compare": (
        "babygpt.cli.compare",
        "Train encodings from several seeds, and compare them.",
    ),
    "doctor": ("babygpt.cli", "Check what is installed, and whether it suffices."),
}


@click.group(
    cls=CommandGroup,
    lazy=COMMANDS,
    entry_points="babygpt.commands",
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda name: name.replace("_", "-"),  # note 002 has --batch_size
    },
)
@click.option("--debug", is_flag=True, help="show where in the code an error was raised")
@click.version_option(package_name=DISTRIBUTION)
def main(debug: bool) -> None:
    """Train, measure and watch small GPTs that differ in how they know where their tokens stand."""


@click.command()
def doctor() -> None:
    """Check what is installed, and whether it suffices: packages, device, widgets, disk."""
    from babygpt.doctor import checks, format_diagnoses  # works where PyTorch does not

    diagnoses = checks()
    click.echo(format_diagnoses(diagnoses))
    if not all(diagnosis.ok for diagnosis in diagnoses):
        raise click.ClickException("something above needs attention")
