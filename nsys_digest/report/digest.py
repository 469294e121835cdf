"""The reports: a digest, and what is in an export, as blocks of plain text."""

from __future__ import annotations

from collections.abc import Iterable

from nsys_digest.model.base_types import OPERATION_KINDS, CountTotal, Device
from nsys_digest.model.digest import Digest
from nsys_digest.model.inspection import Inspection
from nsys_digest.report.blocks import NAME, Bar, Block, Column, Report, filled, more, named, numbers
from nsys_digest.report.sections import account_blocks
from nsys_digest.units import MISSING, counted, duration, instant, percent, size


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
                *account_blocks(digest, top),
                _kernels(digest, top),
                _api(digest, top),
                _nvtx(digest, top),
                *(() if digest.dispatch_steps else (_dispatch(digest, top),)),
            )
        ),
        warnings=digest.warnings,
        notes=digest.notes,
    )


def _facts(digest: Digest) -> Iterable[tuple[str, str]]:
    capture = digest.capture
    product = " ".join(part for part in (capture.product, capture.product_version) if part) or "unknown"
    mode = f", CUDA graph trace mode {capture.graph_trace_mode}" if capture.graph_trace_mode else ""
    yield "nsys", f"{product}{mode}"
    if digest.run.recorded_at:
        yield "recorded", digest.run.recorded_at
    if digest.run.labels:
        yield "labels", ", ".join(f"{key}={named(value)}" for key, value in digest.run.labels.items())
    if digest.gpu_activity_span_ns is None:
        yield "GPU", "no GPU activity: busy and idle are unknown"
    elif sum(sum(device.count.values()) for device in digest.devices) == 1:
        span = digest.gpu_activity_span_ns
        yield "GPU span", f"{duration(span)}, that of the only GPU operation: busy and idle say nothing"
    else:
        yield from _busy(digest)
    yield "kernels", _kernel_count(digest)
    if digest.api_backtrace_rows:
        yield "API backtrace rows", f"{digest.api_backtrace_rows:,}, left out of the API table"


def _busy(digest: Digest) -> Iterable[tuple[str, str]]:
    span, busy, idle = digest.gpu_activity_span_ns, digest.gpu_busy_union_ns, digest.gpu_idle_within_span_ns
    yield "GPU span", f"{duration(span)}, first start to last end over all devices"
    yield "busy", f"{duration(busy)} ({percent(busy, span)}), any GPU at work"
    yield "idle", f"{duration(idle)} ({percent(idle, span)}), no GPU at work"


def _kernel_count(digest: Digest) -> str:
    graphs = sum(device.count["graph"] for device in digest.devices)
    inside = digest.graph_node_kernel_count
    told = f"{digest.kernel_count:,}"
    if inside:
        told += f", of these {inside:,} in CUDA graphs"
    elif digest.kernel_count:
        told += " outside of CUDA graphs" if graphs else ", none in CUDA graphs"
    return told + (f"; {counted(graphs, 'CUDA graph launch')} traced as a whole" if graphs else "")


def _bar(device: Device) -> Bar:
    label = f"{device.device} {device.name or 'unknown GPU'}"
    if not device.did_work:
        return Bar(label, None, "no activity")
    if sum(device.count.values()) == 1:
        return Bar(label, None, f"one operation, of {duration(device.span_ns)}")
    return Bar(label, device.busy_ratio, f"{percent(device.busy_ns, device.span_ns)} busy")


def _devices(digest: Digest) -> Block:
    columns = ("device", "span", "busy", "idle", "at once", "operations", "streams", "processes")
    rows = []
    for device in digest.devices:
        times = map(duration, (device.span_ns, device.busy_ns, device.idle_ns))
        at_once = MISSING if device.concurrency_mean is None else f"{device.concurrency_mean:.2f}"
        counts = (sum(device.count.values()), len(device.streams), len(device.processes))
        rows.append((str(device.device), *times, at_once, *(f"{count:,}" for count in counts)))
    return Block("Devices", tuple(map(Column, columns)), tuple(rows))


def _by_process(digest: Digest) -> Block:
    rows = [
        (
            str(device.device),
            "unknown" if own.process is None else str(own.process),
            *map(duration, (own.span_ns, own.busy_ns, own.idle_ns)),
            percent(own.busy_ns, own.span_ns),
        )
        for device in digest.devices
        for own in device.by_process
    ]
    columns = numbers("device", "process", "span", "busy", "idle", "share busy")
    return Block("Each process of a shared device, as if it had the device alone", columns, tuple(rows))


def _kinds(digest: Digest) -> Block:
    rows = [
        (
            str(device.device),
            *(duration(device.union_ns[kind]) if device.count[kind] else MISSING for kind in OPERATION_KINDS),
        )
        for device in digest.devices
        if device.did_work
    ]
    return Block(
        "Busy time by kind of operation; kinds overlap", tuple(map(Column, ("device", *OPERATION_KINDS))), tuple(rows)
    )


def _kernels(digest: Digest, top: int) -> Block:
    whole = sum(device.sum_ns["kernel"] for device in digest.devices)
    columns = (Column("total"), Column("share"), Column("count"), Column("mean"), NAME)
    rows = tuple(
        (duration(total.total_ns), percent(total.total_ns, whole), f"{total.count:,}", _mean(total), named(name))
        for name, total in digest.top_kernels[:top]
    )
    shown = sum(total.count for _, total in digest.top_kernels[:top])
    rest = digest.kernel_count - shown
    return Block(
        "Kernels, most GPU time first", columns, rows, f"{counted(rest, 'kernel')} of other names" if rest else ""
    )


def _api(digest: Digest, top: int) -> Block:
    columns = (Column("total"), Column("calls"), Column("mean"), NAME)
    rows = tuple(
        (duration(call.total_ns), f"{call.count:,}", _mean(call), named(name))
        for name, call in list(digest.api.items())[:top]
    )
    return Block("CUDA API calls, most time first", columns, rows, more(len(digest.api) - len(rows)))


def _nvtx(digest: Digest, top: int) -> Block:
    detailed = any(ranges.detail is not None for ranges in digest.nvtx.values())
    columns = numbers("union", "GPU busy", "share", "count")
    columns += numbers("p50", "max", "self", "launched", "kernels") if detailed else numbers("sum")
    rows = []
    gpu = digest.gpu_activity_span_ns is not None
    for name, ranges in sorted(digest.nvtx.items(), key=lambda item: -item[1].union_ns)[:top]:
        busy = ranges.gpu_overlap_ns if gpu else None
        own: tuple[str, ...] = (duration(ranges.sum_ns),)
        if ranges.detail is not None:
            detail = ranges.detail
            times = (detail.p50_ns, detail.max_ns, detail.self_ns, detail.launched_busy_ns)
            own = (*map(duration, times), f"{detail.launched_kernel_count:,}" if gpu else MISSING)
        share = percent(busy, ranges.union_ns)
        rows.append((duration(ranges.union_ns), duration(busy), share, f"{ranges.count:,}", *own, named(name)))
    title = "NVTX ranges, longest union first"
    return Block(title, (*columns, NAME), tuple(rows), more(len(digest.nvtx) - len(rows)))


def _dispatch(digest: Digest, top: int) -> Block:
    rows = tuple(
        (f"{count:,}", named(name)) for name, count in sorted(digest.dispatch.items(), key=lambda item: -item[1])[:top]
    )
    timeline = digest.dispatch_timeline
    note = more(len(digest.dispatch) - len(rows))
    if timeline:
        between = duration(timeline[-1].start_ns - timeline[0].start_ns)
        note = "; ".join(part for part in (note, f"{counted(len(timeline), 'mark')} over {between}") if part)
    return Block("Dispatch marks, most first", (Column("count"), NAME), rows, note)


def _mean(total: CountTotal) -> str:
    return duration(total.total_ns // total.count) if total.count else MISSING


def _traced(found: Inspection) -> str:
    words = {True: "yes", False: "no", None: "unknown"}
    return f"CUDA {words[found.traced.cuda]}, NVTX {words[found.traced.nvtx]}"


def inspection_report(found: Inspection) -> Report:
    """Arrange what is in an export."""
    about = "" if found.times_exact else "about "
    facts = [
        ("size", size(found.size_bytes)),
        ("product", " ".join(part for part in (found.product, found.product_version) if part) or "unknown"),
        ("export schema", found.schema_version or "unknown"),
        ("recorded", found.recorded_at or "unknown"),
        ("traced", _traced(found)),
        ("CUDA graph trace mode", found.graph_trace_mode or "unknown"),
        ("session", "unknown" if found.session_ns is None else duration(found.session_ns)),
    ]
    if found.first_ns is not None and found.last_ns is not None:
        facts.append(
            ("events", f"{about}{instant(found.first_ns)} to {instant(found.last_ns)} on the trace's own clock")
        )
    shown = [table for table in found.tables if not table.name.startswith("ENUM_")]
    tables = tuple((f"{table.rows:,}" + ("" if table.exact else " ~"), table.name) for table in shown)
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
    others = found.process_count - len(processes)
    blocks = (
        Block("GPUs", (Column("ordinal"), NAME, Column("uuid", "name")), gpus),
        Block("Processes", (Column("pid"), NAME), processes, f"{others:,} others on the machine" if others > 0 else ""),
        Block("Tables with rows", (Column("rows"), NAME), tables, "; ".join(filter(None, notes))),
        Block(
            "Missing, and why it matters",
            (Column("what is missing", "text"),),
            tuple((line,) for line in found.missing),
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
