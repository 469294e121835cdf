"""The reports: a digest, and what is in an export, as blocks of plain text."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from nsys_digest.errors import UsageInvalid
from nsys_digest.model.base_types import OPERATION_KINDS, Capture, Device, DeviceProcess
from nsys_digest.model.digest import ON_REQUEST, SECTIONS, Digest
from nsys_digest.model.inspection import Inspection, TableFact
from nsys_digest.model.quantity import shown_inside
from nsys_digest.report import totals
from nsys_digest.report.blocks import NAME, Bar, Block, Column, Report, filled, more, named
from nsys_digest.report.figure_columns import NAME_OF_ROW, made, of, share, table, told
from nsys_digest.report.findings import first_findings, rest_command
from nsys_digest.report.sections import section_blocks
from nsys_digest.report.selected import selected
from nsys_digest.report.steps import candidates_block, candidates_line
from nsys_digest.units import MISSING, counted

_OF_WINDOW: Final = "the length of the window"
_OF_WORK: Final = "first start to last end over all devices"
_SPAN: Final = of(Digest, "gpu_activity_span_ns")
_BUSY: Final = of(Digest, "gpu_busy_union_ns", "busy")
_IDLE: Final = of(Digest, "gpu_idle_within_span_ns", "idle")
_KERNEL_COUNT: Final = of(Digest, "kernel_count")
_SESSION_OF: Final = of(Capture, "session_ns")
_DEVICE_SPAN: Final = of(Device, "span_ns")
_DEVICE_BUSY: Final = of(Device, "busy_ns")
_SHARE_BUSY: Final = share(_DEVICE_BUSY, _DEVICE_SPAN)


def digest_report(digest: Digest, top: int) -> Report:
    """Arrange all of a digest; each list shows its first ``top`` rows and says how many more there are."""
    return Report(
        title=digest.file,
        facts=tuple(_facts(digest)),
        bars=tuple(map(bar_of, digest.devices)),
        blocks=filled(block for name, block in tagged_blocks(digest, top) if name not in _WITHIN_OTHERS),
        warnings=digest.warnings,
        notes=digest.notes,
        lead=(*selected(digest.capture), *first_findings(digest)),
        command=rest_command(digest),
    )


def sections_report(digest: Digest, sections: Collection[str], top: int) -> Report:
    """Arrange some sections of a digest and nothing else; no section is ``base``: what every digest has.

    Raises:
        UsageInvalid: there is no section of such a name.

    """
    wanted = set(sections) or {BASE}
    if unknown := wanted - {BASE, "steps", *SECTIONS, *ON_REQUEST}:
        known = ", ".join((BASE, *SECTIONS, *ON_REQUEST, "steps"))
        raise UsageInvalid(f"no section {', '.join(sorted(unknown))}; there are {known}")
    blocks = [
        (name, block)
        for name, block in tagged_blocks(digest, top)
        if block.rows and (name in wanted or (name == "nvtx" and BASE in wanted))
    ]
    empty = [name for name in sections if name not in {found for found, _ in blocks}]
    return Report(
        title=digest.file,
        facts=tuple(headline(digest, brief=True)),
        bars=(),
        blocks=filled(block for _, block in blocks),
        warnings=digest.warnings,
        notes=f"Nothing to show of {', '.join(empty)}." if empty else "",
    )


BASE: Final = "base"
"""Stands for what every digest has."""
_WITHIN_OTHERS: Final = frozenset({"api_durations", "kernel_durations", "step_candidates"})
"""Sections of which the whole report tells the most in its other tables."""


def tagged_blocks(digest: Digest, top: int) -> Iterator[tuple[str, Block]]:
    """Yield every block of a digest, each with the name of its section."""
    yield BASE, _devices(digest)
    yield BASE, _by_process(digest)
    yield BASE, _kinds(digest)
    yield from section_blocks(digest, top)
    yield BASE, totals.kernels(digest, top)
    yield BASE, totals.calls(digest, top)
    yield "nvtx", totals.ranges(digest, top)
    yield from totals.durations(digest, top)
    yield "step_candidates", candidates_block(digest)
    if not digest.dispatch_steps:
        yield BASE, _dispatch(digest, top)


def _facts(digest: Digest) -> Iterable[tuple[str, str]]:
    capture = digest.capture
    product = " ".join(part for part in (capture.product, capture.product_version) if part) or "unknown"
    mode = f", CUDA graph trace mode {capture.graph_trace_mode}" if capture.graph_trace_mode else ""
    yield "nsys", f"{product}{mode}"
    if digest.run.recorded_at:
        yield "recorded", digest.run.recorded_at
    yield from headline(digest)
    if digest.api_backtrace_rows:
        yield "API backtrace rows", f"{digest.api_backtrace_rows:,}, left out of the API table"


def headline(digest: Digest, *, brief: bool = False) -> Iterator[tuple[str, str]]:
    """Yield how long it was and how busy, and how many kernels there were."""
    if digest.run.labels:
        yield "labels", ", ".join(f"{key}={named(value)}" for key, value in digest.run.labels.items())
    if digest.capture.folds:
        yield "range names folded by", ", ".join(map(named, digest.capture.folds))
    if digest.gpu_activity_span_ns is None:
        yield "GPU", "no GPU activity: busy and idle are unknown"
    elif digest.capture.window is None and sum(sum(device.count.values()) for device in digest.devices) == 1:
        yield _SPAN.title, f"{_SPAN.cell((digest,))}, that of the only GPU operation: busy and idle say nothing"
    else:
        yield from _busy(digest, brief=brief)
    yield _KERNEL_COUNT.title, _kernel_count(digest)
    if looks_like_steps := candidates_line(digest.step_candidates or ()):
        yield "steps", looks_like_steps


def _busy(digest: Digest, *, brief: bool) -> Iterable[tuple[str, str]]:
    row = (digest,)
    of_window = digest.capture.window is not None
    session = "" if digest.capture.session_ns is None else f" of a session of {_SESSION_OF.cell((digest.capture,))}"
    yield (
        _SPAN.title,
        f"{_SPAN.cell(row)}{session}, {_OF_WINDOW if of_window else _OF_WORK}",
    )
    busy, idle = (f"{part.cell(row)} ({share(part, _SPAN).cell(row)})" for part in (_BUSY, _IDLE))
    if brief:
        yield _BUSY.title, f"{busy}, any GPU at work; {_IDLE.title} {idle}"
    else:
        yield _BUSY.title, f"{busy}, any GPU at work"
        yield _IDLE.title, f"{idle}, no GPU at work"


def _kernel_count(digest: Digest) -> str:
    graphs = sum(device.count["graph"] for device in digest.devices)
    inside = digest.graph_node_kernel_count
    told = _KERNEL_COUNT.cell((digest,))
    if inside:
        told += f", of these {inside:,} in CUDA graphs"
    elif digest.kernel_count:
        told += " outside of CUDA graphs" if graphs else ", none in CUDA graphs"
    return told + (f"; {counted(graphs, 'CUDA graph launch')} traced as a whole" if graphs else "")


def bar_of(device: Device) -> Bar:
    """Return how busy a device was within its span."""
    label = f"{device.device} {device.name or 'unknown GPU'}"
    if not device.did_work:
        return Bar(label, None, "no activity")
    if sum(device.count.values()) == 1 and device.busy_ratio == 1:
        return Bar(label, None, f"one operation, of {_DEVICE_SPAN.cell((device,))}")
    return Bar(label, device.busy_ratio, f"{_SHARE_BUSY.cell((device,))} busy")


_AT_ONCE: Final = of(Device, "concurrency_mean")
_DEVICES: Final = (
    of(Device, "device"),
    _DEVICE_SPAN,
    _DEVICE_BUSY,
    of(Device, "idle_ns"),
    _AT_ONCE,
    made("operations", "count", lambda row: sum(row[0].count.values())),
    made("streams", "count", lambda row: row[0].stream_count),
    made("processes", "count", lambda row: len(row[0].processes)),
)
_PROCESS_SPAN: Final = of(DeviceProcess, "span_ns")
_PROCESS_BUSY: Final = of(DeviceProcess, "busy_ns")
_PROCESSES: Final = (
    of(Device, "device"),
    told(Column("process"), lambda row: "unknown" if row[1].process is None else str(row[1].process)),
    _PROCESS_SPAN,
    _PROCESS_BUSY,
    of(DeviceProcess, "idle_ns"),
    share(_PROCESS_BUSY, _PROCESS_SPAN, "share busy"),
)


def _devices(digest: Digest) -> Block:
    note = f"{_AT_ONCE.title}: how many operations ran together, on average over the busy time"
    return table("Devices", _DEVICES, ((device,) for device in digest.devices), note)


def _by_process(digest: Digest) -> Block:
    rows = ((device, own) for device in digest.devices for own in device.by_process)
    return table("Each process of a shared device, as if it had the device alone", _PROCESSES, rows)


def _kinds(digest: Digest) -> Block:
    union = of(Device, "union_ns")
    rows = tuple(
        (
            str(device.device),
            *(union.form(device.union_ns[kind] if device.count[kind] else None) for kind in OPERATION_KINDS),
        )
        for device in digest.devices
        if device.did_work
    )
    return Block(
        "Busy time by kind of operation; kinds overlap", tuple(map(Column, ("device", *OPERATION_KINDS))), rows
    )


_MARKS: Final = (of(Digest, "dispatch"), NAME_OF_ROW)


def _dispatch(digest: Digest, top: int) -> Block:
    names = sorted(digest.dispatch, key=lambda name: -digest.dispatch[name])[:top]
    timeline = digest.dispatch_timeline
    note = more(len(digest.dispatch) - len(names))
    if timeline:
        between = shown_inside(timeline[-1].start_ns - timeline[0].start_ns, "s")
        note = "; ".join(part for part in (note, f"{counted(len(timeline), 'mark')} over {between}") if part)
    prefix = f"texts that begin with {named(digest.capture.dispatch_prefix)}, which servers write at each step"
    note = "; ".join(part for part in (note, prefix) if part)
    return table("Dispatch marks, most first", _MARKS, ((digest, name) for name in names), note)


_SIZE, _SESSION = of(Inspection, "size_bytes"), of(Inspection, "session_ns")
_FIRST, _LAST = of(Inspection, "first_ns"), of(Inspection, "last_ns")
_GPU_FIRST, _GPU_LAST = of(Inspection, "gpu_first_ns"), of(Inspection, "gpu_last_ns")
_ROWS: Final = of(TableFact, "rows")
_TABLES: Final = (told(_ROWS.head, lambda row: _ROWS.cell(row) + ("" if row[0].exact else " ~")), NAME_OF_ROW)


def _traced(found: Inspection) -> str:
    words = {True: "yes", False: "no", None: "unknown"}
    return f"CUDA {words[found.traced.cuda]}, NVTX {words[found.traced.nvtx]}"


def inspection_report(found: Inspection) -> Report:
    """Arrange what is in an export."""
    about = "" if found.times_exact else "about "
    facts = [
        (_SIZE.title, _SIZE.cell((found,))),
        ("product", " ".join(part for part in (found.product, found.product_version) if part) or "unknown"),
        ("export schema", found.schema_version or "unknown"),
        ("recorded", found.recorded_at or "unknown"),
        ("traced", _traced(found)),
        ("CUDA graph trace mode", found.graph_trace_mode or "unknown"),
        (_SESSION.title, "unknown" if found.session_ns is None else _SESSION.cell((found,))),
    ]
    if found.first_ns is not None and found.last_ns is not None:
        facts.append(("events", f"{about}{_FIRST.cell((found,))} to {_LAST.cell((found,))} on the trace's own clock"))
    if found.gpu_first_ns is not None and found.gpu_last_ns is not None:
        facts.append(
            ("GPU work", f"{about}{_GPU_FIRST.cell((found,))} to {_GPU_LAST.cell((found,))}; give --window such times")
        )
    shown = [fact for fact in found.tables if not fact.name.startswith("ENUM_")]
    gpus = tuple(
        (MISSING if gpu.ordinal is None else str(gpu.ordinal), gpu.name or "unknown", gpu.uuid or MISSING)
        for gpu in found.gpus
    )
    processes = tuple((str(process.pid), named(process.name)) for process in found.processes)
    enums = len(found.tables) - len(shown)
    notes = (
        f"{enums} ENUM tables" if enums else "",
        "" if found.times_exact else "~ by the range of row ids; exact unless rows were deleted",
    )
    tables = table("Tables with rows", _TABLES, ((fact, fact.name) for fact in shown), "; ".join(filter(None, notes)))
    others = found.process_count - len(processes)
    blocks = (
        Block("GPUs", (Column("ordinal"), NAME, Column("uuid", "name")), gpus),
        Block("Processes", (Column("pid"), NAME), processes, f"{others:,} others on the machine" if others > 0 else ""),
        tables,
        Block(
            "Missing, and why it matters",
            (Column("what is missing", "text"),),
            tuple((line,) for line in found.missing),
        ),
        Block(
            "Variables that may hold a password, key or token",
            (Column("in the environment that the trace holds", "name"),),
            tuple((named(name),) for name in found.credentials),
            "their values are in the file: nsys-digest scrub makes a copy without" if found.credentials else "",
        ),
        Block(
            "The collector's own warnings and errors",
            (Column("message", "text"),),
            tuple(
                (f"{line.severity}: {line.message}" + (f" ({line.count:,} times)" if line.count > 1 else ""),)
                for line in found.diagnostics
            ),
        ),
    )
    return Report(found.file, tuple(facts), (), filled(blocks), (), "")
