"""The public function that checks: runs, a baseline and a policy in, a result out."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.comparison import load
from nsys_digest.gate.baselines import Store
from nsys_digest.gate.checks import check_sides
from nsys_digest.gate.policy import Policy, load_policy
from nsys_digest.gate.verdict import CheckResult
from nsys_digest.model.digest import Digest

OneRun: TypeAlias = str | os.PathLike[str] | Digest
Runs: TypeAlias = OneRun | Sequence[OneRun] | RunSet
"""A side: a trace, a stored digest or a digest; several of them; or a side that was read. ``@NAME:N`` is a baseline."""


def check(
    head: Runs,
    baseline: Runs | None = None,
    policy: str | os.PathLike[str] | Policy | None = None,
    *,
    allow_mismatch: Iterable[str] = (),
    min_repeats: int | None = None,
    store: str | os.PathLike[str] | None = None,
    **options: Any,
) -> CheckResult:
    """Hold runs to a policy, against a baseline where the policy compares.

    Args:
        head: what is checked.
        baseline: what it is compared with; ``@NAME`` is the last run saved under a name, ``@NAME:5`` the last five.
        policy: path of a TOML file, or a policy that was read; the built-in one by default.
        allow_mismatch: reasons not to compare that are allowed.
        min_repeats: fewest runs a side, in place of those that the policy says.
        store: folder of the baselines; ``.nsys-digest/baselines`` by default.
        options: those of :func:`nsys_digest.summarize`, for traces.

    Raises:
        PolicyInvalid: the policy cannot be read or makes no sense.
        UsageInvalid: the policy compares, and there is no baseline.
        CapturesMismatch: the captures differ in what changes figures by itself.
        MissingData: there are too few runs. BaselineMissing: there is no such baseline.
        What :func:`nsys_digest.load` raises.

    """
    read = policy if isinstance(policy, Policy) else load_policy(None if policy is None else Path(policy))
    of_head = side(head, options, Store(store))
    notes: list[str] = []
    of_base = None if baseline is None else side(baseline, options, Store(store), like=of_head, notes=notes)
    return check_sides(of_head, of_base, read, allow_mismatch=allow_mismatch, min_repeats=min_repeats, notes=notes)


def side(
    runs: Runs, options: dict[str, Any], store: Store, *, like: RunSet | None = None, notes: list[str] | None = None
) -> RunSet:
    """Read a side; baselines are taken from the store, those of the GPU of ``like``, and what is damaged is noted."""
    if isinstance(runs, RunSet):
        return runs
    listed = [runs] if isinstance(runs, str | os.PathLike | Digest) else runs
    found: list[Run] = []
    for run in listed:
        if isinstance(run, Digest):
            found.append(Run(run.file, run))
        elif str(os.fspath(run)).startswith("@"):
            picked = store.pick(os.fspath(run), like)
            found += picked.runs
            if notes is not None:
                notes += [*picked.damaged, *picked.notes]
        else:
            found.append(Run(os.fspath(run), load(run, **options)))
    return RunSet(tuple(found))
