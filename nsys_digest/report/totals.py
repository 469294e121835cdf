"""The tables of kernels, CUDA API calls and NVTX ranges by name: how often, how long, and how the lengths spread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from nsys_digest.model.base_types import CountTotal, NvtxRange
from nsys_digest.model.digest import Digest
from nsys_digest.model.section_types import Durations
from nsys_digest.report.blocks import Block, more
from nsys_digest.report.figure_columns import NAME_OF_ROW, Row, TableColumn, mean, of, share, table
from nsys_digest.units import counted

KERNELS: Final = "Kernels, most GPU time first"
CALLS: Final = "CUDA API calls, most time first"
RANGES: Final = "NVTX ranges, longest union first"
_TOTAL: Final = of(CountTotal, "total_ns")
_COUNT: Final = of(CountTotal, "count")
_CALL_COUNT: Final = of(CountTotal, "count", "calls")
_SPREAD: Final[tuple[TableColumn, ...]] = tuple(of(Durations, name) for name in ("min_ns", "p50_ns", "max_ns"))


def kernels(digest: Digest, top: int) -> Block:
    """Return the kernels of most time."""
    whole = sum(device.sum_ns["kernel"] for device in digest.devices)
    columns: list[TableColumn] = [_TOTAL, share(_TOTAL, whole), _COUNT, mean(_TOTAL, _COUNT), *_SPREAD, NAME_OF_ROW]
    rest = digest.kernel_count - sum(total.count for _, total in digest.top_kernels[:top])
    note = f"{counted(rest, 'kernel')} of other names" if rest else ""
    return table(KERNELS, columns, _spread(digest.top_kernels[:top], digest.kernel_durations), note)


def calls(digest: Digest, top: int) -> Block:
    """Return the CUDA API calls of most time."""
    columns: list[TableColumn] = [_TOTAL, _CALL_COUNT, mean(_TOTAL, _CALL_COUNT), *_SPREAD, NAME_OF_ROW]
    rows = list(digest.api.items())[:top]
    return table(CALLS, columns, _spread(rows, digest.api_durations), more(len(digest.api) - len(rows)))


def _spread(rows: Iterable[tuple[str, CountTotal]], durations: Mapping[str, Durations] | None) -> Iterator[Row]:
    """Put the spread of the lengths beside each total; a name that stands for other rows there has none."""
    for name, total in rows:
        lengths = (durations or {}).get(name)
        yield total, lengths if lengths is not None and lengths.count == total.count else None, name


_DURATIONS: Final = tuple(
    of(Durations, name) for name in ("total_ns", "count", "min_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns")
)


def durations(digest: Digest, top: int) -> Iterator[tuple[str, Block]]:
    """Yield the lengths of kernels and calls with their percentiles, each with the name of its section."""
    for section, title, found in (
        ("api_durations", "Lengths of CUDA API calls, most time first", digest.api_durations),
        ("kernel_durations", "Lengths of kernels, most GPU time first", digest.kernel_durations),
    ):
        rows = [(lengths, name) for name, lengths in (found or {}).items()]
        total, count, *percentiles = _DURATIONS
        columns: list[TableColumn] = [total, count, mean(total, count), *percentiles, NAME_OF_ROW]
        yield section, table(title, columns, rows[:top], more(len(rows) - top))


_UNION: Final = of(NvtxRange, "union_ns")
_BUSY: Final = of(NvtxRange, "gpu_overlap_ns")
_LENGTHS: Final = tuple(of(NvtxRange, name) for name in ("min_ns", "p50_ns", "max_ns"))
_LAUNCHED: Final = (of(NvtxRange, "launched_busy_ns"), of(NvtxRange, "launched_kernel_count", "kernels"))


def ranges(digest: Digest, top: int, *, whole: bool = True) -> Block:
    """Return the NVTX ranges of the longest unions; ``whole`` adds what they launched, and their self time."""
    rows = sorted(digest.nvtx.items(), key=lambda item: -item[1].union_ns)[:top]
    detailed = any(one.detail is not None for one in digest.nvtx.values())
    gpu = digest.gpu_activity_span_ns is not None
    columns: list[TableColumn] = [_UNION, *((_BUSY, share(_BUSY, _UNION)) if gpu else ()), of(NvtxRange, "count")]
    columns += _LENGTHS if detailed else (of(NvtxRange, "sum_ns"),)
    if whole and detailed:
        columns += (of(NvtxRange, "self_ns"), *(_LAUNCHED if gpu else ()))
    notes = [more(len(digest.nvtx) - len(rows))]
    if whole and gpu and detailed:
        notes.append(
            f"{_BUSY.title}: any GPU was at work while a range was open; {_LAUNCHED[0].title}: the work that calls in "
            "it launched, whenever that ran; self: no range within it was open"
        )
    return table(RANGES, [*columns, NAME_OF_ROW], rows, "; ".join(filter(None, notes)))
