"""Labels of a run: those given as KEY=VALUE, and those that a CI system knows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Final, TypeAlias

import typer

from nsys_digest.cli.output import note
from nsys_digest.errors import UsageInvalid

Labels: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--label", metavar="KEY=VALUE", help="Say this of the run; may be given several times."),
]
LabelCi: TypeAlias = Annotated[
    bool, typer.Option("--label-ci", help="Label the run with commit, branch and run of GitHub Actions or GitLab CI.")
]

_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "commit": ("GITHUB_SHA", "CI_COMMIT_SHA"),
    "branch": ("GITHUB_HEAD_REF", "GITHUB_REF_NAME", "CI_COMMIT_REF_NAME"),
    "run": ("GITHUB_RUN_ID", "CI_PIPELINE_ID"),
}
"""The variables of each label; the first that is set and not empty counts."""


def labels_of(given: Sequence[str] | None, *, ci: bool) -> dict[str, str]:
    """Return the labels, those given before those of the CI system; says so where that is asked for and there is none.

    Raises:
        UsageInvalid: one is not KEY=VALUE, or two have one key.

    """
    labels: dict[str, str] = {}
    for text in given or ():
        key, sign, value = text.partition("=")
        if not sign:
            raise UsageInvalid(f"--label {text} has no =; give it as KEY=VALUE")
        if key in labels:
            raise UsageInvalid(f"--label {key} is given twice; give each label once")
        labels[key] = value
    if ci:
        known = {name: found for name, variables in _VARIABLES.items() if (found := _first_set(variables))}
        if not known:
            note(
                "warning: --label-ci finds no variable of GitHub Actions or GitLab CI, such as GITHUB_SHA or "
                "CI_COMMIT_SHA; nothing is labelled by it",
                "usage-invalid",
            )
        labels = known | labels
    return labels


def _first_set(variables: Sequence[str]) -> str | None:
    return next((value for name in variables if (value := os.environ.get(name))), None)
