"""The reports: a digest, and what is in an export, as blocks of plain text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from nsys_digest.model.base_types import OPERATION_KINDS, CountTotal, Device, DeviceProcess, NvtxRange
from nsys_digest.model.digest import Digest
from nsys_digest.model.inspection import Inspection, TableFact
from nsys_digest.model.quantity import shown_inside
from nsys_digest.report.blocks import NAME, Bar, Block, Column, Report, filled, more, named
from nsys_digest.report.figure_columns import NAME_OF_ROW, made, mean, of, share, table, told
from nsys_digest.report.findings import first_findings, rest_command
from nsys_digest.report.sections import section_blocks
from nsys_digest.report.selected import selected
from nsys_digest.report.steps import candidates_line
from nsys_digest.units import MISSING, counted

_OF_WINDOW: Final = "the length of the window"
_SPAN: Final = of(Digest, "gpu_activity_span_ns")
_BUSY: Final = of(Digest, "gpu_busy_union_ns", "busy")
_IDLE: Final = of(Digest, "gpu_idle_within_span_ns", "idle")
_KERNEL_COUNT: Final = of(Digest, "kernel_count")
_DEVICE_SPAN: Final = of(Device, "span_ns")
_DEVICE_BUSY: Final = of(Device, "busy_ns")
_SHARE_BUSY: Final = share(_DEVICE_BUSY, _DEVICE_SPAN)


def digest_report(digest: Digest, top: int) -> Report:
    """Arrange a digest; each list shows its first ``top`` rows and says how many more there are."""
    return Report(
        title=digest.file,
        facts=tuple(_facts(digest)),
        bars=tuple(_bar(device) for device in digest.devices),
        blocks=filled(
            (
                _devices(digest),
                _by_process(digest),
                _kinds(digest),
                *section_blocks(digest, top),
                _kernels(digest, top),
                _api(digest, top),
                _nvtx(digest, top),
                *(() if digest.dispatch_steps else (_dispatch(digest, top),)),
            )
        ),
        warnings=digest.warnings,
        notes=digest.notes,
        lead=first_findings(digest),
        command=rest_command(digest),
    )


def _facts(digest: Digest) -> Iterable[tuple[str, str]]:
    capture = digest.capture
    yield from selected(digest.capture)
    product = " ".join(part for part in (capture.product, capture.product_version) if part) or "unknown"
    mode = f", CUDA graph trace mode {capture.graph_trace_mode}" if capture.graph_trace_mode else ""
    yield "nsys", f"{product}{mode}"
    if digest.run.recorded_at:
        yield "recorded", digest.run.recorded_at
    if digest.run.labels:
        yield "labels", ", ".join(f"{key}={named(value)}" for key, value in digest.run.labels.items())
    if capture.folds:
        yield "range names folded by", ", ".join(map(named, capture.folds))
    if digest.gpu_activity_span_ns is None:
        yield "GPU", "no GPU activity: busy and idle are unknown"
    elif capture.window is None and sum(sum(device.count.values()) for device in digest.devices) == 1:
        yield _SPAN.title, f"{_SPAN.cell((digest,))}, that of the only GPU operation: busy and idle say nothing"
    else:
        yield from _busy(digest)
    yield _KERNEL_COUNT.title, _kernel_count(digest)
    if looks_like_steps := candidates_line(digest.step_candidates or ()):
        yield "steps", looks_like_steps
    if digest.api_backtrace_rows:
        yield "API backtrace rows", f"{digest.api_backtrace_rows:,}, left out of the API table"


def _busy(digest: Digest) -> Iterable[tuple[str, str]]:
    row = (digest,)
    of_window = digest.capture.window is not None
    yield _SPAN.title, f"{_SPAN.cell(row)}, {_OF_WINDOW if of_window else 'first start to last end over all devices'}"
    for part, words in ((_BUSY, "any GPU at work"), (_IDLE, "no GPU at work")):
        yield part.title, f"{part.cell(row)} ({share(part, _SPAN).cell(row)}), {words}"


def _kernel_count(digest: Digest) -> str:
    graphs = sum(device.count["graph"] for device in digest.devices)
    inside = digest.graph_node_kernel_count
    told = _KERNEL_COUNT.cell((digest,))
    if inside:
        told += f", of these {inside:,} in CUDA graphs"
    elif digest.kernel_count:
        told += " outside of CUDA graphs" if graphs else ", none in CUDA graphs"
    return told + (f"; {counted(graphs, 'CUDA graph launch')} traced as a whole" if graphs else "")


def _bar(device: Device) -> Bar:
    label = f"{device.device} {device.name or 'unknown GPU'}"
    if not device.did_work:
        return Bar(label, None, "no activity")
    if sum(device.count.values()) == 1 and device.busy_ratio == 1:
        return Bar(label, None, f"one operation, of {_DEVICE_SPAN.cell((device,))}")
    return Bar(label, device.busy_ratio, f"{_SHARE_BUSY.cell((device,))} busy")


_DEVICES: Final = (
    of(Device, "device"),
    _DEVICE_SPAN,
    _DEVICE_BUSY,
    of(Device, "idle_ns"),
    of(Device, "concurrency_mean"),
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
    return table("Devices", _DEVICES, ((device,) for device in digest.devices))


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


_TOTAL: Final = of(CountTotal, "total_ns")
_COUNT: Final = of(CountTotal, "count")
_CALLS: Final = (_TOTAL, of(CountTotal, "count", "calls"), mean(_TOTAL, _COUNT), NAME_OF_ROW)


def _kernels(digest: Digest, top: int) -> Block:
    whole = sum(device.sum_ns["kernel"] for device in digest.devices)
    columns = (_TOTAL, share(_TOTAL, whole), _COUNT, mean(_TOTAL, _COUNT), NAME_OF_ROW)
    rest = digest.kernel_count - sum(total.count for _, total in digest.top_kernels[:top])
    note = f"{counted(rest, 'kernel')} of other names" if rest else ""
    return table("Kernels, most GPU time first", columns, digest.top_kernels[:top], note)


def _api(digest: Digest, top: int) -> Block:
    rows = list(digest.api.items())[:top]
    return table("CUDA API calls, most time first", _CALLS, rows, more(len(digest.api) - len(rows)))


_NVTX_UNION: Final = of(NvtxRange, "union_ns")
_NVTX_BUSY: Final = of(NvtxRange, "gpu_overlap_ns")
_NVTX_LENGTHS: Final = (of(NvtxRange, "p50_ns"), of(NvtxRange, "max_ns"), of(NvtxRange, "self_ns"))
_NVTX_LAUNCHED: Final = (
    of(NvtxRange, "launched_busy_ns"),
    of(NvtxRange, "launched_kernel_count", "kernels"),
)


def _nvtx(digest: Digest, top: int) -> Block:
    rows = sorted(digest.nvtx.items(), key=lambda item: -item[1].union_ns)[:top]
    detailed = any(ranges.detail is not None for ranges in digest.nvtx.values())
    gpu = digest.gpu_activity_span_ns is not None
    columns = (
        _NVTX_UNION,
        *((_NVTX_BUSY, share(_NVTX_BUSY, _NVTX_UNION)) if gpu else ()),
        of(NvtxRange, "count"),
        *(_NVTX_LENGTHS if detailed else (of(NvtxRange, "sum_ns"),)),
        *(_NVTX_LAUNCHED if detailed and gpu else ()),
        NAME_OF_ROW,
    )
    return table("NVTX ranges, longest union first", columns, rows, more(len(digest.nvtx) - len(rows)))


_MARKS: Final = (of(Digest, "dispatch"), NAME_OF_ROW)


def _dispatch(digest: Digest, top: int) -> Block:
    names = sorted(digest.dispatch, key=lambda name: -digest.dispatch[name])[:top]
    timeline = digest.dispatch_timeline
    note = more(len(digest.dispatch) - len(names))
    if timeline:
        between = shown_inside(timeline[-1].start_ns - timeline[0].start_ns, "s")
        note = "; ".join(part for part in (note, f"{counted(len(timeline), 'mark')} over {between}") if part)
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
