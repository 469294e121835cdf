"""The base of a digest: what needs totals and unions alone, of the whole trace or of a selection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nsys_digest.model.base_types import CountTotal, Device, DispatchMark, NvtxRange
from nsys_digest.sections.devices import GpuTime, gpu_time
from nsys_digest.sections.nvtx import dispatch_timeline, nvtx_ranges
from nsys_digest.sections.totals import api_totals, kernel_totals
from nsys_digest.selection import Selection
from nsys_digest.trace.collect.whole import Activity, Scanned
from nsys_digest.trace.nsys.capture import CaptureFacts


@dataclass(frozen=True, slots=True)
class BaseFigures:
    """Figures of a selection; see ``Digest`` for the meaning of each."""

    gpu: GpuTime
    kernels: tuple[tuple[str, CountTotal], ...]
    """Every short name, most total time first."""
    graph_node_kernel_count: int
    api: Mapping[str, CountTotal]
    nvtx: Mapping[str, NvtxRange]
    range_idle_ns: Mapping[str, int]
    """Idle time within the ranges of each name."""
    dispatch_timeline: tuple[DispatchMark, ...]

    @property
    def kernel_count(self) -> int:
        """How many kernels there are."""
        return sum(total.count for _, total in self.kernels)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices, in order."""
        return self.gpu.devices


def base_figures(
    scanned: Scanned, activity: Activity, facts: CaptureFacts, strings: Mapping[int, str], selection: Selection
) -> BaseFigures:
    """Add up what was scanned; ``strings`` are the texts of the string ids in use.

    Raises:
        OverflowError: there are more devices than any machine has, or idle time over all of them leaves int64.

    """
    gpu = gpu_time(scanned.gpu, activity.gpu, facts, selection)
    ranges, idle_ns = nvtx_ranges(scanned.nvtx, activity.nvtx, gpu.busy, selection)
    return BaseFigures(
        gpu=gpu,
        kernels=kernel_totals(scanned.gpu, strings),
        graph_node_kernel_count=scanned.gpu.graph_node_kernel_count,
        api=api_totals(scanned.api, strings),
        nvtx=ranges,
        range_idle_ns=idle_ns,
        dispatch_timeline=dispatch_timeline(scanned.nvtx, selection),
    )
