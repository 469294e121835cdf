"""``nsys-digest diff``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nsys_digest.cli.options import Compact, FormatChoice, Output, RulesFile
from nsys_digest.cli.output import check_output, chosen_format, write_report
from nsys_digest.cli.sides import read_side
from nsys_digest.errors import UsageInvalid


def sides(runs: list[Path], base: list[Path] | None) -> tuple[list[Path], list[Path]]:
    """Return the runs of BASE and of HEAD: two paths, or with ``--base`` all paths are of HEAD.

    Raises:
        UsageInvalid: without ``--base`` there are not two.

    """
    if base:
        return base, runs
    if len(runs) != 2:
        raise UsageInvalid(
            f"diff compares BASE with HEAD, but {len(runs)} {'path is' if len(runs) == 1 else 'paths are'} given; for "
            "repeats give each run of BASE with --base, and those of HEAD as arguments"
        )
    return runs[:1], runs[1:]


def command(
    runs: Annotated[
        list[Path], typer.Argument(metavar="BASE HEAD", help="Two traces or stored digests; with --base, runs of HEAD.")
    ],
    base: Annotated[
        list[Path] | None, typer.Option("--base", metavar="FILE", help="A run of BASE; once for each repeat.")
    ] = None,
    format: FormatChoice = None,
    output: Output = None,
    top: Annotated[int, typer.Option("--top", min=0, metavar="N", help="Rows of each list in text and markdown.")] = 10,
    min_change: Annotated[
        str,
        typer.Option(
            "--min-change", metavar="AMOUNT", help="Least change to list in text and markdown: 50us, 5%, both."
        ),
    ] = "0s",
    allow_unlike: Annotated[
        str | None,
        typer.Option("--allow-unlike", metavar="REASONS", help="Compare in spite of these, set apart by commas."),
    ] = None,
    steps: Annotated[
        str | None, typer.Option("--steps", metavar="NAME", help="Take each instance of this NVTX range as one step.")
    ] = None,
    rules: RulesFile = None,
    compact: Compact = False,
) -> None:
    """Say what moved from BASE to HEAD, and why.

    The change of the GPU span is split to the nanosecond.
    """
    of_base, of_head = sides(runs, base)
    for path in (*of_base, *of_head):
        check_output(output, path)
    chosen = chosen_format(format, output)
    from nsys_digest.compare.threshold import read_threshold
    from nsys_digest.compare.unlike import check_reasons
    from nsys_digest.comparison import diff

    threshold = read_threshold(min_change)
    reasons = [reason.strip() for reason in (allow_unlike or "").split(",") if reason.strip()]
    options = {"rules": rules, "steps": steps}
    check_reasons(reasons)
    found = diff(read_side(of_base, **options), read_side(of_head, **options), allow_unlike=reasons, rules=rules)
    from nsys_digest.render.diff import diff_report

    write_report(lambda: found.to_json(compact=compact), lambda: diff_report(found, top, threshold), chosen, output)
