"""nsys-digest: the truth about an NVIDIA Nsight Systems trace, in seconds.

>>> from nsys_digest import summarize
>>> digest = summarize("trace.sqlite")  # doctest: +SKIP
>>> digest.gpu_busy_union_ns, digest.to_json()  # doctest: +SKIP

Everything is imported when it is first used, so that importing this package costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from nsys_digest.model.views import VIEWS

if TYPE_CHECKING:
    from nsys_digest.api import (
        OneRun,
        Runs,
        check,
        classify,
        diff,
        inspect,
        json_schema,
        load,
        load_side,
        scrub,
        summarize,
        verify_scrub,
    )
    from nsys_digest.compare.diff import Diff
    from nsys_digest.compare.runs import Run, RunSet
    from nsys_digest.errors import (
        BaselineMissing,
        CapturesMismatch,
        CategoriesInvalid,
        CheckFailed,
        CommandNotFound,
        DigestError,
        DigestInvalid,
        ExportFailed,
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
    from nsys_digest.gate.policy import Policy
    from nsys_digest.gate.verdict import CheckResult
    from nsys_digest.model.category_use import CategoryUse
    from nsys_digest.model.digest import Digest
    from nsys_digest.model.figures import Figure, figures
    from nsys_digest.model.finding_types import Evidence, Finding
    from nsys_digest.model.inspection import Inspection
    from nsys_digest.model.scrubbed import Scrubbed, Verified
    from nsys_digest.model.stored_inspection import StoredInspection
    from nsys_digest.model.views import Views
    from nsys_digest.options import SummarizeKeywords, SummarizeOptions
    from nsys_digest.trace.source import Reader
    from nsys_digest.trace.threads import Progress

__version__ = "0.1.0"

_HOMES = {
    "CheckResult": "gate.verdict",
    "CategoryUse": "model.category_use",
    "Diff": "compare.diff",
    "Evidence": "model.finding_types",
    "Figure": "model.figures",
    "Finding": "model.finding_types",
    "Inspection": "model.inspection",
    "OneRun": "api",
    "Policy": "gate.policy",
    "Progress": "trace.threads",
    "Reader": "trace.source",
    "Run": "compare.runs",
    "Runs": "api",
    "RunSet": "compare.runs",
    "Scrubbed": "model.scrubbed",
    "Verified": "model.scrubbed",
    "StoredInspection": "model.stored_inspection",
    "SummarizeKeywords": "options",
    "SummarizeOptions": "options",
    "Digest": "model.digest",
    "check": "api",
    "classify": "api",
    "diff": "api",
    "figures": "model.figures",
    "inspect": "api",
    "json_schema": "api",
    "load": "api",
    "load_side": "api",
    "scrub": "api",
    "summarize": "api",
    "verify_scrub": "api",
    **dict.fromkeys(
        (
            "BaselineMissing",
            "CapturesMismatch",
            "CheckFailed",
            "DigestError",
            "DigestInvalid",
            "ExportFailed",
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
    "CategoryUse",
    "CheckFailed",
    "CheckResult",
    "CommandNotFound",
    "Diff",
    "Digest",
    "DigestError",
    "DigestInvalid",
    "Evidence",
    "ExportFailed",
    "Figure",
    "FigureMissing",
    "Finding",
    "Inspection",
    "MissingData",
    "NotATrace",
    "NsysMissing",
    "OneRun",
    "OutOfResources",
    "OutputFailed",
    "Policy",
    "PolicyInvalid",
    "Progress",
    "Reader",
    "RecordFailed",
    "RecordTimedOut",
    "Run",
    "RunSet",
    "Runs",
    "Scrubbed",
    "StoreUnreadable",
    "StoredInspection",
    "SummarizeKeywords",
    "SummarizeOptions",
    "TraceInUse",
    "TraceUnreadable",
    "UsageInvalid",
    "ValueUnreadable",
    "Verified",
    "__version__",
    "check",
    "classify",
    "diff",
    "figures",
    "inspect",
    "json_schema",
    "load",
    "load_side",
    "scrub",
    "summarize",
    "verify_scrub",
]


def __getattr__(name: str) -> object:
    """Import a public name from its home when it is first asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"nsys_digest.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def _views() -> Views:
    """Import what renders a digest: the model, which comes first, may not name it."""
    from nsys_digest.render import views

    return views


VIEWS[:] = [_views]


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
