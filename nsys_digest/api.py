"""Every public function: a trace in, a digest out; two sides compared; runs held to a policy.

What a run is (a path, a digest, or a name of a store) is told in one place, for the library and the command line.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from nsys_digest import __version__
from nsys_digest.compare.diff import Diff, compare
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.errors import UsageInvalid
from nsys_digest.findings.rules import with_findings
from nsys_digest.gate.baselines import Store
from nsys_digest.gate.checks import check_sides
from nsys_digest.gate.documents import document_schema
from nsys_digest.gate.policy import Policy, load_policy
from nsys_digest.gate.verdict import CheckResult
from nsys_digest.model.category_use import CategoryUse
from nsys_digest.model.digest import Digest
from nsys_digest.model.inspection import Inspection
from nsys_digest.model.kernel_categories import load_kernel_categories
from nsys_digest.model.selection_options import SelectionOptions
from nsys_digest.model.stored import is_stored, read_stored
from nsys_digest.model.stored_inspection import StoredInspection, inspect_stored
from nsys_digest.options import SummarizeKeywords, SummarizeOptions, options_of
from nsys_digest.sections.summary import classify_trace, inspect_trace, summarize_trace
from nsys_digest.trace.open import unpacked
from nsys_digest.trace.packings.input_path import input_path
from nsys_digest.trace.scrub.scrub import scrub as scrub
from nsys_digest.trace.scrub.scrub import verify_scrub as verify_scrub

OneRun: TypeAlias = str | os.PathLike[str] | Digest
Runs: TypeAlias = OneRun | Sequence[OneRun] | RunSet
"""A side: a trace, a stored digest or a digest; several of them; or a side that was read. ``@NAME:N`` is a baseline."""


def summarize(
    trace: OneRun, *, store: str | os.PathLike[str] | None = None, **options: Unpack[SummarizeKeywords]
) -> Digest:
    """Digest a trace: an nsys export or report, packed or not. It is only read; nothing is written beside it.

    Args:
        trace: what docs/inputs.md lists: a path, an address with ``://``, ``-`` for standard input. Also a stored
            digest, ``@NAME`` of a store or a digest, which are returned; with fewer kernels or sections, or more
            labels, as the options say.
        store: folder of the baselines; ``.nsys-digest/baselines`` by default.
        options: these keywords.
        top: how many kernels ``top_kernels`` holds, 20.
        dispatch_prefix: how the text of a dispatch mark begins, "CG_DISPATCH".
        raw_nvtx_names: keep the serial numbers and ids that PyTorch and XLA put in range names.
        folds: rules that make range names one, in order: "numbers", or "REGEX=>TEXT" in the syntax of RE2.
        max_nvtx_names: how many range names are kept apart; the rest, with least time, become one ``(other)``; 100,000.
        sections: which of ``SECTIONS`` to make; all by default, none for the base alone, which is faster.
        by_device: make the section ``by_device`` too, as naming it does.
        gaps: how many of the longest gaps ``idle`` lists, 10.
        categories: a TOML file of kernel categories, before or in place of the shipped ones; see docs/categories.md.
        steps: the whole name of an NVTX range whose instances are steps; adds the section ``steps``.
        window: the time to look at, on the trace's clock: ``"6.5s:7s"``, ``"250ms:"``, ``"10%:90%"`` of the GPU span,
            or a pair of seconds, None for an open side; see docs/selection.md.
        within: NVTX ranges to look within, one or several: a name or glob, ``NAME#3``, ``NAME#2..9``, ``FIRST..LAST``.
        skip_warmup: look from the second instance of ``steps`` on, or from the first dispatch mark.
        device, stream: CUDA ordinals and streams of the GPU work to look at, one or several.
        process: processes to look at, by id or glob of the name, one or several.
        labels: what else to say of the run, for example its commit; kept in ``run.labels``.
        threads: reader threads; by default as many as pay off for the size of the file.
        reader: "adbc" (fast), "stdlib" (needs no driver), or "auto": adbc where it is installed and fits the file.
        progress: called with (rows read, rows in all) about ten times a second, from the calling thread.
        when_read: called once between reading the tables and the work on what was read.
        max_unpacked: most bytes to unpack; by default 200 times the packed size, 1 GiB at least, within the free disk.
        nsys: the nsys that exports a report; by default that on PATH, or the newest in the usual folders.
        keep_export: where to keep the SQLite export of a report.
        tell: called with a line on what nsys did.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse, ValueUnreadable: the file cannot be read.
        NsysMissing, ExportFailed: it is a report, and cannot be exported here.
        DigestInvalid: it is a stored digest that cannot be read. BaselineMissing: there is no such baseline.
        TypeError: there is no such option.
        UsageInvalid: an argument is out of range, or needs the trace of a stored digest.
        CategoriesInvalid: the categories file is wrong.
        MissingData: no range has the name of the step, or nothing is left of what is to be looked at.

    """
    chosen = options_of(options)
    stored = _kept(trace, store)
    if stored is None:
        path = input_path(trace)  # type: ignore[arg-type]
        with unpacked(path, chosen.unpacking) as file:
            if not is_stored(file.local):
                return with_findings(summarize_trace(file, chosen))
            stored = str(path), read_stored(file.local, path)
    from nsys_digest.model.stored_options import as_asked

    name, digest = stored
    return with_findings(as_asked(digest, name, options, sections=chosen.made_sections, labels=chosen.labels))


def inspect(
    trace: OneRun,
    *,
    store: str | os.PathLike[str] | None = None,
    max_unpacked: int | None = None,
    nsys: str | os.PathLike[str] | None = None,
    keep_export: str | os.PathLike[str] | None = None,
    tell: Callable[[str], None] | None = None,
) -> Inspection | StoredInspection:
    """Say what is in a trace without reading its event tables, or what a stored digest is.

    The arguments are those of :func:`summarize`.

    Raises:
        What :func:`summarize` raises.

    """
    kept = _kept(trace, store)
    if kept is not None:
        return inspect_stored(kept[1], kept[0])
    chosen = options_of({"max_unpacked": max_unpacked, "nsys": nsys, "keep_export": keep_export, "tell": tell})
    path = input_path(trace)  # type: ignore[arg-type]
    with unpacked(path, chosen.unpacking) as file:
        if is_stored(file.local):
            return inspect_stored(read_stored(file.local, path), path.name, file.local)
        return inspect_trace(file)


def _kept(run: OneRun, store: str | os.PathLike[str] | None) -> tuple[str, Digest] | None:
    """Return (name, digest) of what is no file: a digest, or the run of a store.

    Raises:
        UsageInvalid: several runs are named. BaselineMissing: there is none.

    """
    if isinstance(run, Digest):
        return run.file, run
    if not is_baseline(run):
        return None
    picked = Store(store).pick(os.fspath(run))
    if len(picked.runs) != 1:
        raise UsageInvalid(f"{os.fspath(run)}: these are {len(picked.runs)} runs; name one, as @NAME does the last")
    return picked.runs[0].source, picked.runs[0].digest


def classify(trace: str | os.PathLike[str], **options: Unpack[SummarizeKeywords]) -> CategoryUse:
    """Say which category each kernel of a trace is in, by which pattern, and which kernels no pattern takes.

    Args:
        trace: path of the ``.sqlite`` file.
        options: those of :func:`summarize`; categories, reader and those that say what is looked at count.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse, ValueUnreadable: the file cannot be read.
        TypeError: there is no such option. UsageInvalid: one makes no sense.
        CategoriesInvalid: the categories file is wrong.
        MissingData: nothing is left of the kernels.

    """
    chosen = options_of(options)
    kernel_categories = load_kernel_categories(chosen.categories)
    with unpacked(input_path(trace), chosen.unpacking) as file:
        return classify_trace(file, kernel_categories, chosen)


def load(path: str | os.PathLike[str], **options: Unpack[SummarizeKeywords]) -> Digest:
    """Return the digest of a trace, or a digest that was stored as JSON; the content of the file says which it is.

    Args:
        path: a trace as :func:`nsys_digest.summarize` takes it, or the JSON document of a digest.
        options: those of :func:`nsys_digest.summarize`; a stored digest is read as it is, and one of before there were
            findings gets those that its figures give.

    Raises:
        TraceUnreadable, NotATrace, TraceInUse, ValueUnreadable: the file cannot be read, or is neither.
        DigestInvalid: it is JSON, but no digest of a known version.
        TypeError: there is no such option. UsageInvalid: one is out of range.

    """
    return load_with(input_path(path), options_of(options))


def load_with(path: Path, options: SummarizeOptions) -> Digest:
    """Return a digest with options that were read; see :func:`load`."""
    with unpacked(path, options.unpacking) as file:
        return with_findings(read_stored(file.local, path) if is_stored(file.local) else summarize_trace(file, options))


def load_side(runs: Runs, **options: Unpack[SummarizeKeywords]) -> RunSet:
    """Return a side of one or more traces and stored digests: the repeats of the same run.

    Raises:
        UsageInvalid: there is none. What :func:`load` raises.

    """
    return resolve(runs, options_of(options), Store()).side


@dataclass(frozen=True, slots=True)
class Resolved:
    """A side that was read; ``notes`` say what a store has fewer of, ``damaged`` what was left out of it."""

    side: RunSet
    notes: tuple[str, ...]
    damaged: tuple[str, ...]


def resolve(
    runs: Runs,
    options: SummarizeOptions,
    store: Store,
    *,
    like: RunSet | None = None,
    read: Callable[[Path, SummarizeOptions], Digest] = load_with,
) -> Resolved:
    """Read a side, whatever its runs are; those of the store are of the GPUs of ``like``.

    ``read`` reads a file.

    Raises:
        BaselineMissing: there is no such baseline. StoreUnreadable: the store cannot be read.
        UsageInvalid: there is no run. What :func:`load` raises.

    """
    if isinstance(runs, RunSet):
        return Resolved(runs, (), ())
    found: list[Run] = []
    notes: list[str] = []
    damaged: list[str] = []
    for run in [runs] if isinstance(runs, str | os.PathLike | Digest) else runs:
        if isinstance(run, Digest):
            found.append(Run(run.file, run))
        elif is_baseline(run):
            picked = store.pick(os.fspath(run), like)
            found += picked.runs
            notes += picked.notes
            damaged += picked.damaged
        else:
            path = input_path(run)
            found.append(Run(str(path), read(path, options)))
    return Resolved(RunSet(tuple(found)), tuple(notes), tuple(damaged))


def is_baseline(run: str | os.PathLike[str]) -> bool:
    """Tell whether a run is one of a store: ``@NAME``; a file of such a name is ``./@NAME``."""
    return str(os.fspath(run)).startswith("@")


def diff(
    base: Runs,
    head: Runs,
    *,
    allow_mismatch: Iterable[str] = (),
    store: str | os.PathLike[str] | None = None,
    **options: Unpack[SummarizeKeywords],
) -> Diff:
    """Compare two sides.

    Args:
        base: what HEAD is compared with; ``@NAME`` is the last run saved under a name, ``@NAME:5`` the last five.
        head: what is compared with BASE.
        allow_mismatch: reasons not to compare that are allowed, from ``MISMATCH_CODES``.
        store: folder of the baselines; ``.nsys-digest/baselines`` by default.
        options: those of :func:`nsys_digest.summarize`, for traces; stored digests are as they are.

    Raises:
        CapturesMismatch: the captures differ in a way that is not allowed.
        UsageInvalid: there is no such reason, or an option makes no sense. TypeError: there is no such option.
        CategoriesInvalid: the categories file is wrong. BaselineMissing: there is no such baseline.
        What :func:`load` raises.

    """
    chosen = options_of(options)
    of_head = resolve(head, chosen, Store(store)).side
    of_base = resolve(base, chosen, Store(store), like=of_head).side
    return compare(
        of_base,
        of_head,
        allow_mismatch=allow_mismatch,
        asked=chosen.selection,
        kernel_categories=lambda: load_kernel_categories(chosen.categories),
        tool_version=__version__,
    )


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
    asked = asked_of(options, read)
    chosen = replace(options_of(options), selection=asked)
    of_head = resolve(head, chosen, Store(store))
    of_base = None if baseline is None else resolve(baseline, chosen, Store(store), like=of_head.side)
    return check_sides(
        of_head.side,
        None if of_base is None else of_base.side,
        read,
        allow_mismatch=allow_mismatch,
        min_repeats=min_repeats,
        asked=asked,
        notes=[note for found in (of_head, of_base) if found is not None for note in (*found.damaged, *found.notes)],
    )


def asked_of(options: SummarizeKeywords, policy: Policy) -> SelectionOptions:
    """Return what a check looks at: what its options say, or what the policy says.

    Raises:
        UsageInvalid: both do, and not the same.

    """
    asked = options_of(options).selection
    if policy.selection.is_whole or asked == policy.selection:
        return asked
    if asked.is_whole:
        return policy.selection
    raise UsageInvalid(
        f"{policy.source} says what to look at ({policy.selection.words}), and other options are given; leave one away"
    )


def json_schema(of: str = "digest") -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a document: ``digest``, ``diff`` or ``check``.

    Raises:
        UsageInvalid: there is no such document.

    """
    return document_schema(of)
