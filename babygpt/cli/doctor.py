"""The command `doctor`, apart from the others because it has to run where PyTorch does not."""

import click

from babygpt.doctor import checks, format_diagnoses


@click.command()
def doctor() -> None:
    """Tell what is installed, and whether it will do: packages, device, widgets, disk."""
    found = checks()
    click.echo(format_diagnoses(found))
    if not all(one.ok for one in found):
        raise click.ClickException("something above needs attention")
