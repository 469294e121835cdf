"""nsys-digest: the truth about an NVIDIA Nsight Systems trace, in seconds.

>>> from nsys_digest import summarize
>>> digest = summarize("trace.sqlite")  # doctest: +SKIP
>>> digest.gpu_busy_union_ns, digest.to_json()  # doctest: +SKIP

Everything is imported when it is first used, so that importing this package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nsys_digest.errors import (
        CheckpointInvalid,
        CommandNotFound,
        DigestError,
        DigestInvalid,
        LogInvalid,
        MissingData,
        NotATrace,
        NsysMissing,
        OutputFailed,
        PhasesDisagree,
        RecordFailed,
        RecordTimedOut,
        RulesInvalid,
        TraceInUse,
        TraceUnreadable,
        UsageInvalid,
        ValueUnreadable,
        WorkloadDependency,
        WorkloadDevice,
        WorkloadFailed,
    )
    from nsys_digest.model import Digest
    from nsys_digest.pipeline import classify, inspect, json_schema, summarize

__version__ = "0.1.0"

_HOMES = {
    "Digest": "model",
    "classify": "pipeline",
    "inspect": "pipeline",
    "json_schema": "pipeline",
    "summarize": "pipeline",
    **dict.fromkeys(
        (
            "CheckpointInvalid",
            "CommandNotFound",
            "DigestError",
            "DigestInvalid",
            "LogInvalid",
            "MissingData",
            "NotATrace",
            "NsysMissing",
            "OutputFailed",
            "PhasesDisagree",
            "RecordFailed",
            "RecordTimedOut",
            "RulesInvalid",
            "TraceInUse",
            "TraceUnreadable",
            "UsageInvalid",
            "ValueUnreadable",
            "WorkloadDependency",
            "WorkloadDevice",
            "WorkloadFailed",
        ),
        "errors",
    ),
}

__all__ = [
    "CheckpointInvalid",
    "CommandNotFound",
    "Digest",
    "DigestError",
    "DigestInvalid",
    "LogInvalid",
    "MissingData",
    "NotATrace",
    "NsysMissing",
    "OutputFailed",
    "PhasesDisagree",
    "RecordFailed",
    "RecordTimedOut",
    "RulesInvalid",
    "TraceInUse",
    "TraceUnreadable",
    "UsageInvalid",
    "ValueUnreadable",
    "WorkloadDependency",
    "WorkloadDevice",
    "WorkloadFailed",
    "__version__",
    "classify",
    "inspect",
    "json_schema",
    "summarize",
]


def __getattr__(name: str) -> object:
    """Import a public name from its home when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"nsys_digest.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
