"""What threads did while a GPU was idle and they were in no CUDA call: the types of section ``host``."""

from __future__ import annotations

from collections.abc import Mapping

from nsys_digest.model.catalogue import figure, label, part, result
from nsys_digest.model.os_calls import HOST_STATES


@result
class HostCall:
    """Calls of one name of the operating system's libraries, where they are the innermost of their thread."""

    name: str = label("name of the call")
    state: str = label("the state that it counts as")
    sum_ns: int = figure("s", "time of `host` in it", bad="up", label="idle")


@result
class HostFunction:
    """Samples of one function."""

    function: str = label("name of the function; `(unresolved)` where the trace has an address alone")
    module: str = label("file name of its library or program")
    sample_count: int = figure("count", "samples in it", label="samples", counts="samples")


@result
class HostSplit:
    """The ``host`` time of one device, by what the thread did whose call ended each gap.

    States that the trace cannot show are left out: those of calls without calls of the OS runtime libraries,
    ``descheduled`` without scheduling.
    """

    states_ns: Mapping[str, int] = figure(
        "s",
        "the time of `host` by what the thread did; adds up to it; states that no table of the trace shows are left "
        "out",
        bad="up",
        label="idle",
        key="host_states",
        may_have=tuple(HOST_STATES),
    )
    states_by_nvtx_ns: Mapping[str, Mapping[str, int]] = figure(
        "s",
        "the same by innermost range of the thread, as in `host_by_nvtx`; states without any time are left out",
        bad="up",
        label="idle",
        key="host_states_by_nvtx",
    )
    calls: tuple[HostCall, ...] | None = part(
        "calls of the OS runtime libraries, most time first, then by name; null without such calls in the trace",
        key="host_calls",
        by=("name",),
    )
    sample_count: int | None = figure(
        "count",
        "samples of the threads' call stacks in `host`; null without samples in the trace",
        label="samples",
        counts="samples",
        key="host_sample_count",
    )
    functions: tuple[HostFunction, ...] | None = part(
        "these samples by the first function outside of the C library, the kernel and the interpreter, which is what "
        "the program did; most first, then by name; 100 at most",
        key="host_functions",
    )
    leaves: tuple[HostFunction, ...] | None = part(
        "these samples by the function that ran; in the same order", key="host_leaves"
    )
