"""The public function that checks: runs, a baseline and a policy in, a result out."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Unpack

from nsys_digest.comparison import Runs, resolve
from nsys_digest.gate.baselines import Store
from nsys_digest.gate.checks import check_sides
from nsys_digest.gate.policy import Policy, load_policy
from nsys_digest.gate.verdict import CheckResult
from nsys_digest.options import SummarizeKeywords, options_of


def check(
    head: Runs,
    baseline: Runs | None = None,
    policy: str | os.PathLike[str] | Policy | None = None,
    *,
    allow_mismatch: Iterable[str] = (),
    min_repeats: int | None = None,
    store: str | os.PathLike[str] | None = None,
    **options: Unpack[SummarizeKeywords],
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
        TypeError: there is no such option.
        PolicyInvalid: the policy cannot be read or makes no sense.
        UsageInvalid: the policy compares, and there is no baseline.
        CapturesMismatch: the captures differ in what changes figures by itself.
        MissingData: there are too few runs. BaselineMissing: there is no such baseline.
        What :func:`nsys_digest.load` raises.

    """
    read = policy if isinstance(policy, Policy) else load_policy(None if policy is None else Path(policy))
    chosen = options_of(options)
    of_head = resolve(head, chosen, Store(store))
    of_base = None if baseline is None else resolve(baseline, chosen, Store(store), like=of_head.side)
    return check_sides(
        of_head.side,
        None if of_base is None else of_base.side,
        read,
        allow_mismatch=allow_mismatch,
        min_repeats=min_repeats,
        notes=[note for found in (of_head, of_base) if found is not None for note in (*found.damaged, *found.notes)],
    )
