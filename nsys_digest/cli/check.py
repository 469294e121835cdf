"""``nsys-digest check``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsys_digest.cli.options import (
    AllowUnlike,
    CategoriesFile,
    Compact,
    Folds,
    FormatChoice,
    Output,
    StepName,
    StoreFolder,
    Warmup,
    words_of,
)
from nsys_digest.cli.output import Format, check_output, chosen_format, end_with, in_ci, try_all, write
from nsys_digest.cli.runs import files_of, read_side
from nsys_digest.cli.selection import (
    Devices,
    Processes,
    SkipWarmup,
    Streams,
    Window,
    Within,
    selection_keywords,
    together,
)
from nsys_digest.errors import DigestError, UsageInvalid

if TYPE_CHECKING:
    from nsys_digest.options import SummarizeKeywords

_NO_RESULT = {3, 4}
"""Statuses of a check that came to no result through its input, and not through its arguments."""


def _file(flag: str, what: str) -> Any:
    return typer.Option(flag, metavar="FILE", help=f"Write {what} too.")


def command(
    head: Annotated[list[str], typer.Argument(metavar="HEAD", help="Traces or stored digests: repeats of a run.")],
    baseline: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            "-b",
            metavar="BASE",
            help="Runs to compare with: all words that follow; @NAME:5 takes five of a store.",
        ),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", "-p", metavar="FILE", help="What is allowed. Default: a built-in policy.")
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="FIGURE=AMOUNT", help="A limit without a policy; may be given several times."),
    ] = None,
    least: Annotated[
        list[str] | None, typer.Option("--min", metavar="FIGURE=AMOUNT", help="The same, for the least.")
    ] = None,
    max_change: Annotated[
        list[str] | None,
        typer.Option("--max-change", metavar="FIGURE=AMOUNT", help="The same, against --baseline: 5%, 1ms, or 5%,1ms."),
    ] = None,
    init: Annotated[bool, typer.Option("--init", help="Print a policy to start from, made from HEAD.")] = False,
    store: StoreFolder = None,
    min_repeats: Annotated[
        int | None, typer.Option("--min-repeats", min=1, metavar="N", help="Fewest runs a side; fewer is an error.")
    ] = None,
    allow_mismatch: AllowUnlike = None,
    steps: StepName = None,
    window: Window = None,
    within: Within = None,
    skip_warmup: SkipWarmup = False,
    device: Devices = None,
    process: Processes = None,
    stream: Streams = None,
    warmup: Warmup = None,
    categories: CategoriesFile = None,
    fold: Folds = None,
    format: FormatChoice = None,
    output: Output = None,
    top: Annotated[
        int, typer.Option("--top", min=0, metavar="N", help="Figures that passed to list in text and markdown.")
    ] = 20,
    compact: Compact = False,
    json_file: Annotated[Path | None, _file("--json", "the JSON document")] = None,
    markdown_file: Annotated[Path | None, _file("--markdown", "Markdown")] = None,
    junit: Annotated[Path | None, _file("--junit", "JUnit XML")] = None,
    sarif: Annotated[Path | None, _file("--sarif", "SARIF 2.1.0")] = None,
    github: Annotated[
        bool, typer.Option("--github", help="Annotate the step of GitHub Actions, and add to its summary.")
    ] = False,
) -> None:
    """Hold runs to a policy.

    Ends with status 5 when a figure is worse than the policy allows.
    """
    outputs = (output, json_file, markdown_file, junit, sarif)
    sources = files_of([*head, *(baseline or ())])
    for path in outputs:
        for source in sources:
            check_output(path, source)
    _check_apart([path for path in outputs if path is not None], policy)
    looked_at = selection_keywords(window, within, skip_warmup, device, process, stream)
    options = together(looked_at, steps=steps, warmup=warmup, categories=categories, folds=fold or ())
    limits = [
        (key, text)
        for key, texts in (("max", most), ("min", least), ("max_change", max_change))
        for text in texts or ()
    ]
    if init:
        if baseline or policy or limits:
            raise UsageInvalid("--init makes a policy from HEAD alone; leave --baseline, --policy and limits away")
        _init(head, store, output, options)
        return
    chosen = Format.text if format is None and output is None and in_ci() else chosen_format(format, output)
    from nsys_digest.compare.comparability import check_reasons
    from nsys_digest.gate.checks import check_sides
    from nsys_digest.gate.policy import load_policy, with_limits

    allowed = with_limits(None if policy is None else load_policy(policy), limits) if limits else load_policy(policy)
    reasons = words_of(allow_mismatch)
    check_reasons(reasons)
    from nsys_digest.cli.ci import Wanted, forms_of_no_result, forms_of_result

    policy_file = None if policy is None else str(policy)
    wanted = Wanted(output, chosen, compact, json_file, markdown_file, junit, sarif, github)
    try:
        from nsys_digest.api import asked_of

        asked = asked_of(options, allowed)
        options.update(asked.keywords())
        of_head = read_side(head, store, **options)
        of_base = read_side(baseline, store, of_head.side, **options) if baseline else None
        result = check_sides(
            of_head.side,
            None if of_base is None else of_base.side,
            allowed,
            allow_mismatch=reasons,
            min_repeats=min_repeats,
            asked=asked,
            notes=[note for side in (of_head, of_base) if side is not None for note in (*side.damaged, *side.notes)],
        )
    except DigestError as error:
        if error.exit_status not in _NO_RESULT:
            raise
        from nsys_digest.gate.no_result import no_result

        found = no_result(error, head, baseline or [], allowed)
        end_with(error, try_all(wanted.writers(forms_of_no_result(found, policy_file), to_stdout=False)))
        return
    kept = {"--store": store, "--steps": steps, "--warmup": warmup, "--categories": categories}
    again = [word for flag, value in kept.items() if value is not None for word in (flag, str(value))]
    again += [] if allowed.selection == asked else asked.command_words()
    again += [word for rule in fold or () for word in ("--fold", rule)]
    forms = forms_of_result(result, policy_file, top, again)
    end_with(result.error(), try_all(wanted.writers(forms, to_stdout=True)))


def _init(head: list[str], store: Path | None, output: Path | None, options: SummarizeKeywords) -> None:
    from nsys_digest.gate.init_policy import starter_policy
    from nsys_digest.gate.repeats import distinct

    side, _ = distinct(read_side(head, store, **options).side)
    write(starter_policy(side), output)


def _check_apart(outputs: list[Path], policy: Path | None) -> None:
    """Refuse two outputs in one file, and one in the policy."""
    taken = {} if policy is None else {_place(policy): "this is the policy itself"}
    for output in outputs:
        place = _place(output)
        if place in taken:
            raise UsageInvalid(f"{output}: {taken[place]}; name another file")
        if not place.exists() or place.is_file():
            taken[place] = "two outputs go to this file"


def _place(path: Path) -> Path:
    """Return where links lead; a link that leads to itself stays as it is."""
    return Path(os.path.realpath(path))
