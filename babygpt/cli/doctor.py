"""`doctor`: apart from the other commands, for it has to run where PyTorch does not."""

import click

from babygpt.doctor import checks, report


@click.command()
def doctor() -> None:
    """Tell what is installed, and whether it will do: packages, device, widgets, disk."""
    findings = checks()
    click.echo(report(findings))
    if not all(check.ok for check in findings):
        raise click.ClickException("something above needs attention")
