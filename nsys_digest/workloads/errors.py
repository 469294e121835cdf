"""What goes wrong in a workload, or between its log and its trace."""

from __future__ import annotations

from nsys_digest.errors import DigestError


class LogInvalid(DigestError):
    """A log of phases cannot be read, or is no such log."""

    code = "log-invalid"
    exit_status = 3


class CheckpointInvalid(DigestError):
    """A folder is no whole checkpoint of a model that a workload can load."""

    code = "checkpoint-invalid"
    exit_status = 3


class PhasesDisagree(DigestError):
    """The times of a log and of its trace do not agree, and ``--check`` asked for that."""

    code = "phases-disagree"
    exit_status = 5


class WorkloadFailed(DigestError):
    """A workload went wrong."""

    code = "workload-failed"
    exit_status = 6


class WorkloadDependency(DigestError):
    """A package that workloads need is not installed."""

    code = "workload-dependency"
    exit_status = 6


class WorkloadDevice(DigestError):
    """The device that a workload was asked to use is not there."""

    code = "workload-device"
    exit_status = 6


ERRORS: tuple[type[DigestError], ...] = (
    LogInvalid,
    CheckpointInvalid,
    PhasesDisagree,
    WorkloadFailed,
    WorkloadDependency,
    WorkloadDevice,
)
