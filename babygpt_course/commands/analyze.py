"""`analyze fourier`: how well branch codes can be told apart, as note 002 measures it."""

import click
import torch
from torch import Tensor

from babygpt.encodings.fourier import fourier as fourier_code
from babygpt.encodings.rotary import rotate
from babygpt.errors import BadInput
from babygpt.metrics.parallel_texts import cosines


@click.command()
@click.argument("encoding", type=click.Choice(["fourier"]), default="fourier")
@click.option("--width", default=512, show_default=True, help="channels of the code; 512 as in note 002")
@click.option("--theta", default=10_000.0, show_default=True, help="base of the frequencies")
@click.option("--stride", default=128, show_default=True, help="positions between two branches")
@click.option("--branches", default=8, show_default=True, help="branches to tell apart")
def analyze(encoding: str, width: int, theta: float, stride: int, branches: int) -> None:
    """Show how well branch codes can be told apart.

    Fourier codes stand beside 2-D RoPE on the same frequencies. The rows of RoPE are of those pairs only that
    turn with the branch. They are half of a head's pairs, and the others are equal in every branch: if c is
    the cosine of the pairs, the cosine of whole keys is (1 + c) / 2.
    """
    fourier, rope = branch_codes(width, theta, stride, branches).values()
    rows = {"Fourier": fourier, "2-D RoPE, branch pairs": rope}
    for name, codes in rows.items():
        for what, value in code_numbers(codes).items():
            click.echo(f"{f'{name}: {what}':<64} {value:>10.4g}")


def branch_codes(width: int, theta: float, stride: float, branches: int) -> dict[str, Tensor]:
    """Return the codes of branches: Fourier's, and a vector of ones turned by 2-D RoPE at equal frequencies.

    width     channels, even
    stride    distance between neighbouring branches, in positions
    returns   name -> (branches, width)
    Raises BadInput for a width, a stride or a number of branches below 1 or too large.
    """
    for name, number in (("width", width), ("stride", stride), ("branches", branches)):
        if not 1 <= number < 2**53:
            raise BadInput(f"{name} ({number}) must be at least 1, and below 2^53")
    position = torch.arange(branches, dtype=torch.float64) * stride
    ones = torch.ones(1, 1, branches, width, dtype=torch.float64)
    turned = rotate(ones, position, theta)[0, 0]
    return {"Fourier": fourier_code(position, width, theta), "2-D RoPE": turned}


def code_numbers(codes: torch.Tensor) -> dict[str, float]:
    """Measure how well the codes of branches can be told apart.

    codes    (n, C)  a row for each branch, n at least 2
    returns  name -> number: cosine of branch 0 with 1, 2, 4, ...; distance of neighbours; cosine of the most
             similar pair; ratio of the largest to the smallest eigenvalue of the Gram matrix
    Raises BadInput for fewer than 2 branches.
    """
    if len(codes) < 2:
        raise BadInput(f"{len(codes)} branches: to be told apart there must be at least 2")
    codes = codes.double()
    cosine = cosines(codes)
    distance = torch.cdist(codes, codes, compute_mode="donot_use_mm_for_euclid_dist")
    singular = torch.linalg.svdvals(codes)  # their squares are the Gram matrix's eigenvalues
    others = cosine - 3 * torch.eye(len(codes))  # no pair of a branch with itself
    powers = [2**i for i in range(len(codes).bit_length()) if 2**i < len(codes)]
    return {
        **{f"cosine of branches 0 and {b}": float(cosine[0, b]) for b in powers},
        "distance of neighbours, mean": float(distance.diagonal(1).mean()),
        "cosine of the two most similar branches": float(others.max()),
        "condition number of the Gram matrix": float((singular[0] / singular[-1]) ** 2),
    }
