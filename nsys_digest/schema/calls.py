"""Names of CUDA API calls, and what kind of call each is."""

from __future__ import annotations

import re
from typing import Final

_ABI_SUFFIX = re.compile(r"_v\d{4,5}$")
_STREAM_SUFFIX = re.compile(r"_(ptsz|ptds)$")

GRAPH_LAUNCH_CALLS: Final = frozenset({"cudaGraphLaunch", "cuGraphLaunch"})
KERNEL_LAUNCH_CALLS: Final = frozenset(
    {
        "cudaLaunch",
        "cudaLaunchKernel",
        "cudaLaunchKernelExC",
        "cudaLaunchCooperativeKernel",
        "cudaLaunchCooperativeKernelMultiDevice",
        "cuLaunch",
        "cuLaunchGrid",
        "cuLaunchGridAsync",
        "cuLaunchKernel",
        "cuLaunchKernelEx",
        "cuLaunchCooperativeKernel",
        "cuLaunchCooperativeKernelMultiDevice",
    }
)


def call_name(recorded: str) -> str:
    """Return the API function without its ABI version and per-thread-stream suffix.

    ``cudaLaunchKernel_ptsz_v7000`` gives ``cudaLaunchKernel``; revisions such as ``cuGetProcAddress_v2`` stay.
    """
    return _STREAM_SUFFIX.sub("", _ABI_SUFFIX.sub("", recorded))
