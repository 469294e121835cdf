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
    from nsys_digest.api import check, classify, diff, inspect, json_schema, load, load_side, summarize
    from nsys_digest.errors import (
        BaselineMissing,
        CapturesMismatch,
        CategoriesInvalid,
        CheckFailed,
        CommandNotFound,
        DigestError,
        DigestInvalid,
        FigureMissing,
        MissingData,
        NotATrace,
        NsysMissing,
        OutOfResources,
        OutputFailed,
        PolicyInvalid,
        RecordFailed,
        RecordTimedOut,
        StoreUnreadable,
        TraceInUse,
        TraceUnreadable,
        UsageInvalid,
        ValueUnreadable,
    )
    from nsys_digest.gate.verdict import CheckResult
    from nsys_digest.model.digest import Digest

__version__ = "0.1.0"

_HOMES = {
    "CheckResult": "gate.verdict",
    "Digest": "model.digest",
    "check": "api",
    "classify": "api",
    "diff": "api",
    "inspect": "api",
    "json_schema": "api",
    "load": "api",
    "load_side": "api",
    "summarize": "api",
    **dict.fromkeys(
        (
            "BaselineMissing",
            "CapturesMismatch",
            "CheckFailed",
            "DigestError",
            "DigestInvalid",
            "FigureMissing",
            "CommandNotFound",
            "MissingData",
            "NotATrace",
            "NsysMissing",
            "OutOfResources",
            "OutputFailed",
            "PolicyInvalid",
            "RecordFailed",
            "RecordTimedOut",
            "CategoriesInvalid",
            "StoreUnreadable",
            "TraceInUse",
            "TraceUnreadable",
            "UsageInvalid",
            "ValueUnreadable",
        ),
        "errors",
    ),
}

__all__ = [
    "BaselineMissing",
    "CapturesMismatch",
    "CategoriesInvalid",
    "CheckFailed",
    "CheckResult",
    "CommandNotFound",
    "Digest",
    "DigestError",
    "DigestInvalid",
    "FigureMissing",
    "MissingData",
    "NotATrace",
    "NsysMissing",
    "OutOfResources",
    "OutputFailed",
    "PolicyInvalid",
    "RecordFailed",
    "RecordTimedOut",
    "StoreUnreadable",
    "TraceInUse",
    "TraceUnreadable",
    "UsageInvalid",
    "ValueUnreadable",
    "__version__",
    "check",
    "classify",
    "diff",
    "inspect",
    "json_schema",
    "load",
    "load_side",
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
