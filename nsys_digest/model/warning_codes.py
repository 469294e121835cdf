"""The codes of warnings: what limits the numbers of a digest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

CODES: Final[Mapping[str, str]] = {
    "truncated-capture": "the collector says that events are missing",
    "range-captured": "only a range of the program was captured, as was asked",
    "collector-report": "the collector reports an error, or a driver that it does not support",
    "graph-work-missing": "CUDA graphs were launched, but what they ran is not in the trace",
    "gpu-rows-missing": "launches succeeded, but what they ran is not in the trace: busy is a lower bound",
    "impossible-times": "GPU work has time stamps that cannot be right",
    "failed-calls": "CUDA API calls returned an error",
    "no-gpu-activity": "the trace has CUDA API calls or NVTX ranges, but nothing that ran on a GPU",
    "process-without-gpu": "a process launched work, but none of it is in the trace",
    "open-ranges": "NVTX ranges were never ended by the program, so their length is not their own",
    "names-capped": "there are more NVTX range names than are kept apart",
    "skipped-intervals": "zero-length or reversed intervals count for no time",
    "unattributed-work": "GPU work without a launch call: the sections that explain cannot place it",
    "graph-kernels-unseen": "CUDA graphs were traced as a whole: sections about kernels do not see inside them",
    "dispatch-capped": "there are more modes and sizes of dispatch marks than are listed",
    "streams-capped": "a device has more streams than are listed",
    "dispatch-disagrees": "dispatch marks and CUDA graph launches do not agree",
    "steps-unmeasured": "of the steps that were asked for none is left to measure",
    "steps-cut": "steps were still open when the capture ended, so that they are in no figure",
    "newer-schema": "the export is newer than what this version was checked against",
    "reduced-schema": "the export lacks columns that nsys always writes",
    "gpu-name-guessed": "the export does not say which GPU a CUDA ordinal is",
    "device-ambiguous": "processes share a CUDA ordinal, and the export does not say whether it is one GPU",
    "ordinal-shared": "one CUDA ordinal means different GPUs or MIG instances in different processes",
    "nothing-recorded": "the trace has no GPU activity, no CUDA API call and no NVTX event",
}
"""Every warning code, and what it means in one line."""
