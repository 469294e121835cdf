"""What the trace says of itself, with the rows of each process."""

from __future__ import annotations

from collections import Counter, defaultdict

from nsys_digest.model.base_types import (
    OPERATION_KINDS,
    ROW_KINDS,
    Capture,
    CategoriesFile,
    Gpu,
    Process,
    Traced,
    Window,
)
from nsys_digest.model.selection_options import SelectionOptions
from nsys_digest.trace.collect.range_names import NvtxOptions
from nsys_digest.trace.collect.whole import Scanned
from nsys_digest.trace.nsys.capture import CaptureFacts
from nsys_digest.trace.nsys.tables import known_process_of, process_of


def rows_by_process(scanned: Scanned) -> dict[int, Counter[str]]:
    """Return the rows of each kind by globalPid; NVTX counts ranges."""
    rows: defaultdict[int, Counter[str]] = defaultdict(Counter)
    for (kind, place), count in zip(scanned.gpu.groups, scanned.gpu.counts.tolist(), strict=True):
        rows[scanned.gpu.places[place].process][OPERATION_KINDS[kind]] += count
    for (process, _), count in zip(scanned.api.groups, scanned.api.counts.tolist(), strict=True):
        rows[process]["api"] += count
    for process, count in scanned.nvtx.process_rows.items():
        rows[process]["nvtx"] += count
    return {process: counter for process, counter in rows.items() if counter.total()}


def capture(
    facts: CaptureFacts,
    rows: dict[int, Counter[str]],
    options: NvtxOptions,
    sections: tuple[str, ...],
    *,
    categories: CategoriesFile | None,
    steps: str | None,
    warmup: int | None,
    incomplete: bool,
    asked: SelectionOptions,
    window: Window | None,
) -> Capture:
    """Put the facts and the rows of each process together; processes by pid."""
    processes = (
        Process(
            pid=known_process_of(process),
            name=facts.process_names.get(process),
            rows={kind: counter[kind] for kind in ROW_KINDS},
        )
        for process, counter in sorted(rows.items(), key=lambda item: (process_of(item[0]), item[0]))
    )
    return Capture(
        product=facts.product,
        product_version=facts.product_version,
        schema_version=facts.schema_version,
        session_ns=facts.session_ns,
        graph_trace_mode=facts.graph_trace_mode,
        gpus=tuple(Gpu(gpu.ordinal, gpu.name, gpu.uuid) for gpu in facts.gpus),
        processes=tuple(processes),
        dispatch_prefix=options.dispatch_prefix,
        raw_nvtx_names=options.raw_names,
        folds=options.folds,
        sections=sections,
        traced=Traced(facts.traced.cuda, facts.traced.nvtx),
        max_nvtx_names=options.max_names,
        categories=categories,
        steps=steps,
        warmup=warmup,
        incomplete=incomplete,
        window=window,
        devices=asked.devices or None,
        selected_processes=asked.processes or None,
        streams=asked.streams or None,
    )
