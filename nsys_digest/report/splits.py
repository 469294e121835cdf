"""The blocks of the report that split figures further: busy time, devices, CUDA graphs, ranges, payloads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from nsys_digest.model.base_types import CountTotal
from nsys_digest.model.digest import Digest
from nsys_digest.model.quantity import shown_inside
from nsys_digest.model.split_types import BusyShares, DeviceUse, GraphUse, PayloadNumbers, RangeCommunication
from nsys_digest.report.blocks import Block, Column, more
from nsys_digest.report.figure_columns import NAME_OF_ROW, MadeColumn, Row, TableColumn, mean, of, share, table, told
from nsys_digest.units import MISSING

_PROCESS: Final = told(Column("process"), lambda row: MISSING if row[0].process is None else str(row[0].process))


def split_blocks(digest: Digest, top: int) -> Iterator[tuple[str, Block]]:
    """Yield the blocks of the sections that the digest has, each with the name of its section."""
    if digest.busy_shares is not None:
        yield "busy_shares", _busy_shares(digest.busy_shares, top)
    if digest.by_device is not None:
        yield from (("by_device", block) for block in _by_device(digest.by_device, top))
    if digest.graphs is not None:
        yield "graphs", _graphs(digest.graphs, top)
    if digest.communication_by_range is not None:
        yield "communication_by_range", _communication(digest.communication_by_range, top)
    if digest.nvtx_payload is not None:
        yield "nvtx_payload", _payloads(digest.nvtx_payload, top)


_BUSY: Final = of(BusyShares, "busy_ns")
_SHARE: Final = of(BusyShares, "shares_ns")
_SHARES: Final = (of(BusyShares, "device"), _SHARE, share(_SHARE, _BUSY, "share of busy"), NAME_OF_ROW)


def _busy_shares(shares: Sequence[BusyShares], top: int) -> Block:
    several = [device for device in shares if len(device.shares_ns) > 1]  # else there is nothing to share out
    rows = [(device, name) for device in several for name in list(device.shares_ns)[:top]]
    rest = sum(len(device.shares_ns) for device in several) - len(rows)
    return table("Busy time by kind of work, shared out where several ran at once", _SHARES, rows, more(rest))


_TOTAL, _COUNT = of(CountTotal, "total_ns"), of(CountTotal, "count")
_DEVICE: Final = told(Column("device"), lambda row: "unknown" if row[0].device is None else str(row[0].device))


def _by_device(devices: Sequence[DeviceUse], top: int) -> Iterator[Block]:
    for title, field, count in (
        ("Kernels by device, most GPU time first", "kernels", _COUNT),
        ("CUDA API calls by device, most time first", "api", of(CountTotal, "count", "calls")),
    ):
        rows: list[Row] = []
        total = 0
        for device in devices:
            named = list(getattr(device, field).items())
            total += len(named)
            rows += [(device, one, name) for name, one in named[:top]]
        columns = (_DEVICE, _TOTAL, count, mean(_TOTAL, _COUNT), NAME_OF_ROW)
        yield table(title, columns, rows, more(total - len(rows)))


_GRAPH_TOTAL: Final = of(GraphUse, "durations.total_ns")
_GRAPHS: Final = (
    _PROCESS,
    of(GraphUse, "graph"),
    of(GraphUse, "launch_count"),
    _GRAPH_TOTAL,
    of(GraphUse, "durations.p50_ns"),
    of(GraphUse, "durations.p99_ns"),
    of(GraphUse, "durations.max_ns"),
    of(GraphUse, "node_kernel_count"),
    of(GraphUse, "node_kernel_sum_ns"),
)


def _graphs(graphs: Sequence[GraphUse], top: int) -> Block:
    rows = sorted(graphs, key=lambda graph: -graph.durations.total_ns)[:top]
    return table("CUDA graphs, most time first", _GRAPHS, ((graph,) for graph in rows), more(len(graphs) - len(rows)))


_UNION, _EXPOSED = of(RangeCommunication, "union_ns"), of(RangeCommunication, "exposed_ns")
_COMMUNICATION: Final = (
    _UNION,
    of(RangeCommunication, "hidden_ns"),
    _EXPOSED,
    share(_EXPOSED, _UNION, "share exposed"),
    of(RangeCommunication, "kernel_count"),
    NAME_OF_ROW,
)


def _communication(ranges: Mapping[str, RangeCommunication], top: int) -> Block:
    rows = [(one, name) for name, one in ranges.items()]
    title = "Communication by the NVTX range that launched it, most first"
    return table(title, _COMMUNICATION, rows[:top], more(len(rows) - top))


def _number(field: str) -> TableColumn:
    """Return a column of numbers that are whole, or not."""
    column = of(PayloadNumbers, field)

    def cell(row: Row) -> str:
        value = column.value(row)
        return shown_inside(value, "count", places=2 if isinstance(value, float) and value % 1 else None)

    return MadeColumn(column.head, cell)


_PAYLOADS: Final = (
    of(PayloadNumbers, "count"),
    *map(_number, ("sum", "min", "p50", "p95", "p99", "max")),
    NAME_OF_ROW,
)


def _payloads(payloads: Mapping[str, PayloadNumbers], top: int) -> Block:
    rows = [(numbers, name) for name, numbers in payloads.items()]
    return table("Payload numbers of NVTX ranges", _PAYLOADS, rows[:top], more(len(rows) - top))
