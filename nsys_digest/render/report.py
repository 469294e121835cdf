"""The reports: a digest, and what is in an export, as blocks of plain text."""

from __future__ import annotations

from collections.abc import Iterable

from nsys_digest.inspection import Inspection
from nsys_digest.model import Digest
from nsys_digest.parts import KINDS, CountTotal, Device
from nsys_digest.render.account import account_blocks
from nsys_digest.render.blocks import NAME, Bar, Block, Column, Report, more, numbers
from nsys_digest.units import duration, percent, size


def digest_report(digest: Digest, top: int) -> Report:
    """Arrange a digest; each list shows its first ``top`` rows and says how many more there are."""
    return Report(
        title=digest.file,
        facts=tuple(_facts(digest)),
        bars=tuple(_bar(device) for device in digest.devices),
        blocks=tuple(
            block
            for block in (
                _devices(digest),
                _kinds(digest),
                *account_blocks(digest, top),
                _kernels(digest, top),
                _api(digest, top),
                _nvtx(digest, top),
                *(() if digest.dispatch_steps else (_dispatch(digest, top),)),
            )
            if block.rows
        ),
        warnings=digest.warnings,
        notes=digest.notes,
    )


def _facts(digest: Digest) -> Iterable[tuple[str, str]]:
    capture = digest.capture
    product = " ".join(part for part in (capture.product, capture.product_version) if part) or "unknown"
    mode = f", CUDA graph trace mode {capture.graph_trace_mode}" if capture.graph_trace_mode else ""
    yield "nsys", f"{product}{mode}"
    if digest.gpu_activity_span_ns is None:
        yield "GPU", "no GPU activity: busy and idle are unknown"
    else:
        span = digest.gpu_activity_span_ns
        yield "GPU span", f"{duration(span)}, first start to last end over all devices"
        yield (
            "busy",
            f"{duration(digest.gpu_busy_union_ns)} ({percent(digest.gpu_busy_union_ns, span)}), any GPU at work",
        )
        idle = digest.gpu_idle_within_span_ns
        yield "idle", f"{duration(idle)} ({percent(idle, span)}), no GPU at work"
    graphs = sum(device.count["graph"] for device in digest.devices)
    replays = f"; {graphs:,} CUDA graph launches traced as a whole" if graphs else ""
    yield "kernels", f"{digest.kernel_count:,}, of these {digest.graph_node_kernel_count:,} in CUDA graphs{replays}"
    if digest.api_backtrace_rows:
        yield "API backtrace rows", f"{digest.api_backtrace_rows:,}, left out of the API table"


def _bar(device: Device) -> Bar:
    label = f"{device.device} {device.name or 'unknown GPU'}"
    if device.span_ns is None:
        return Bar(label, None, "no activity")
    return Bar(label, device.busy_ratio, f"{percent(device.busy_ns, device.span_ns)} busy")


def _devices(digest: Digest) -> Block:
    columns = ("device", "span", "busy", "idle", "at once", "operations", "streams", "processes")
    rows = []
    for device in digest.devices:
        times = (duration(ns) if ns is not None else "-" for ns in (device.span_ns, device.busy_ns, device.idle_ns))
        at_once = "-" if device.concurrency_mean is None else f"{device.concurrency_mean:.2f}"
        counts = (sum(device.count.values()), len(device.streams), len(device.processes))
        rows.append((str(device.device), *times, at_once, *(f"{count:,}" for count in counts)))
    return Block("Devices", tuple(map(Column, columns)), tuple(rows))


def _kinds(digest: Digest) -> Block:
    rows = [
        (str(device.device), *(duration(device.union_ns[kind]) if device.count[kind] else "-" for kind in KINDS))
        for device in digest.devices
        if device.span_ns is not None
    ]
    return Block("Busy time by kind of operation; kinds overlap", tuple(map(Column, ("device", *KINDS))), tuple(rows))


def _kernels(digest: Digest, top: int) -> Block:
    whole = sum(device.sum_ns["kernel"] for device in digest.devices)
    columns = (Column("total"), Column("share"), Column("count"), Column("mean"), NAME)
    rows = tuple(
        (duration(total.total_ns), percent(total.total_ns, whole), f"{total.count:,}", _mean(total), name)
        for name, total in digest.top_kernels[:top]
    )
    shown = sum(total.count for _, total in digest.top_kernels[:top])
    rest = digest.kernel_count - shown
    return Block("Kernels, most GPU time first", columns, rows, f"{rest:,} kernels of other names" if rest else "")


def _api(digest: Digest, top: int) -> Block:
    columns = (Column("total"), Column("calls"), Column("mean"), NAME)
    rows = tuple(
        (duration(call.total_ns), f"{call.count:,}", _mean(call), name) for name, call in list(digest.api.items())[:top]
    )
    return Block("CUDA API calls, most time first", columns, rows, more(len(digest.api) - len(rows)))


def _nvtx(digest: Digest, top: int) -> Block:
    detailed = any(ranges.detail is not None for ranges in digest.nvtx.values())
    columns = numbers("union", "GPU busy in it", "share", "count")
    columns += numbers("p50", "max", "self", "launched", "kernels") if detailed else numbers("sum")
    rows = []
    for name, ranges in list(digest.nvtx.items())[:top]:
        own: tuple[str, ...] = (duration(ranges.sum_ns),)
        if ranges.detail is not None:
            detail = ranges.detail
            times = (detail.p50_ns, detail.max_ns, detail.self_ns, detail.launched_busy_ns)
            own = (*("-" if ns is None else duration(ns) for ns in times), f"{detail.launched_kernel_count:,}")
        share = percent(ranges.gpu_overlap_ns, ranges.union_ns)
        rows.append(
            (duration(ranges.union_ns), duration(ranges.gpu_overlap_ns), share, f"{ranges.count:,}", *own, name)
        )
    title = "NVTX ranges, in order of first start"
    return Block(title, (*columns, NAME), tuple(rows), more(len(digest.nvtx) - len(rows)))


def _dispatch(digest: Digest, top: int) -> Block:
    rows = tuple((f"{count:,}", name) for name, count in list(digest.dispatch.items())[:top])
    timeline = digest.dispatch_timeline
    note = more(len(digest.dispatch) - len(rows))
    if timeline:
        between = duration(timeline[-1].start_ns - timeline[0].start_ns)
        note = "; ".join(part for part in (note, f"{len(timeline):,} marks over {between}") if part)
    return Block("Dispatch marks, in order of first appearance", (Column("count"), NAME), rows, note)


def _mean(total: CountTotal) -> str:
    return duration(total.total_ns // total.count) if total.count else "-"


def inspection_report(found: Inspection) -> Report:
    """Arrange what is in an export."""
    about = "" if found.times_exact else "about "
    facts = [
        ("size", size(found.size_bytes)),
        ("product", " ".join(part for part in (found.product, found.product_version) if part) or "unknown"),
        ("export schema", found.schema_version or "unknown"),
        ("CUDA graph trace mode", found.graph_trace_mode or "unknown"),
        ("session", duration(found.session_ns)),
    ]
    if found.first_ns is not None and found.last_ns is not None:
        facts.append(
            ("events", f"{about}{duration(found.first_ns)} to {duration(found.last_ns)} on the trace's own clock")
        )
    shown = [table for table in found.tables if not table.name.startswith("ENUM_")]
    tables = tuple((f"{table.rows:,}" + ("" if table.exact else " ~"), table.name) for table in shown)
    gpus = tuple(
        ("-" if gpu.ordinal is None else str(gpu.ordinal), gpu.name or "unknown", gpu.uuid or "-") for gpu in found.gpus
    )
    processes = tuple((str(process.pid), process.name) for process in found.processes)
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
        Block("Missing, and why it matters", (NAME,), tuple((line,) for line in found.missing)),
        Block("The collector's own warnings and errors", (NAME,), tuple((line,) for line in found.diagnostics)),
    )
    return Report(found.file, tuple(facts), (), tuple(block for block in blocks if block.rows), (), "")
