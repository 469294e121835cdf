"""Why a GPU is idle: the causes, each declared once with its meaning and its words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from nsys_digest.model.cuda_calls import CallClass


@dataclass(frozen=True, slots=True)
class IdleCause:
    """One cause.

    ``meaning`` says which piece of a gap it is, ``doing`` what the thread did whose call ended the gap, and ``idle``
    names idle time of that cause.
    """

    meaning: str
    doing: str
    idle: str


IDLE_CAUSES: Final[Mapping[str, IdleCause]] = {
    "queued": IdleCause(
        "the call had returned: the work was submitted and had not started",
        "launched, waiting to start",
        "idle though launched",
    ),
    CallClass.launch.value: IdleCause(
        "the thread was in a call that submits work",
        "in a launch call",
        "idle in launch calls",
    ),
    CallClass.sync.value: IdleCause(
        "in a call that waits for the GPU, or in a blocking copy or set",
        "in a sync call or a blocking copy",
        "idle in sync calls",
    ),
    CallClass.memory.value: IdleCause(
        "in a call that allocates, frees, registers or maps memory",
        "allocating, freeing, mapping",
        "idle in allocation",
    ),
    CallClass.module.value: IdleCause(
        "in a call that loads, links or looks up code",
        "loading or looking up code",
        "idle loading code",
    ),
    CallClass.other.value: IdleCause("in another CUDA call", "in another CUDA call", "idle in other CUDA calls"),
    "host": IdleCause(
        "in no CUDA call: the thread's own code",
        "host code, in no CUDA call",
        "idle in host code",
    ),
    "unattributed": IdleCause(
        "the trace has no call that launched the operation",
        "the trace does not say",
        "idle without a known cause",
    ),
}
"""By name, in the order of the document."""
CAUSES: Final = tuple(IDLE_CAUSES)
_NEWER: Final = "of a newer version of the digest"


def doing_words(cause: str) -> str:
    """Return what the thread did; a stored digest of a newer version may name causes that this one does not know."""
    return IDLE_CAUSES[cause].doing if cause in IDLE_CAUSES else _NEWER


def idle_words(cause: str) -> str | None:
    """Return what idle time of a cause is called; None of a cause that this version does not know."""
    return IDLE_CAUSES[cause].idle if cause in IDLE_CAUSES else None
