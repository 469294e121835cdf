"""The errors that users see: each says what, where and what to do next, and knows its exit status.

DigestError
├── TraceUnreadable      trace-unreadable    3  the file cannot be read as a database
├── NotATrace            not-a-trace         3  the file is readable, but no nsys SQLite export
├── TraceInUse           trace-in-use        3  another program holds the file, or has not finished with it
├── ValueUnreadable      value-unreadable    3  a column holds a value of the wrong type
├── OutOfResources       out-of-resources    1  memory, file handles or threads ran out
├── MissingData          missing-data        4  what was asked for is not in the input
├── DigestInvalid        digest-invalid      3  a stored digest is no digest of a known version
├── OutputFailed         output-failed       1  the output could not be written
├── UsageInvalid         usage-invalid       2  an argument makes no sense
├── CategoriesInvalid    categories-invalid  2  a file of kernel categories makes no sense
├── CapturesMismatch     captures-mismatch   4  two captures differ in what changes figures by itself
├── PolicyInvalid        policy-invalid      2  a policy makes no sense
├── FigureMissing        figure-missing      4  a figure that a policy asks for is not in a digest, or null
├── BaselineMissing      baseline-missing    4  there is no such baseline in the store
├── StoreUnreadable      store-unreadable    3  the folder of baselines cannot be read
├── CheckFailed          check-failed        5  a check failed
├── NsysMissing          nsys-missing        6  nsys, or something that it needs, is not there
├── ExportFailed         export-failed       6  nsys could not export a report
├── RecordFailed         record-failed       6  the recorder made no trace
├── RecordTimedOut       record-timed-out    6  the recorded program was ended at its time limit
└── CommandNotFound      command-not-found   127  the command to record cannot be run
"""

from __future__ import annotations

import os
from typing import ClassVar, Self

NO_MEMORY = "there is not enough memory; close other programs, or raise the limit, as with: ulimit -v unlimited"
_LINE_ENDS = {ord(end): repr(end)[1:-1] for end in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}


class DigestError(Exception):
    """Base of every error that a caller may want to catch; ``str()`` is one line for people."""

    code: ClassVar[str] = "error"
    exit_status: ClassVar[int] = 1

    def __init__(self, message: str) -> None:
        """Keep the message, with line ends of paths and names that it quotes written as escapes."""
        super().__init__(message.translate(_LINE_ENDS))

    def about(self, file: str | os.PathLike[str]) -> Self:
        """Return this error with the file in front of its message, where that does not name the file yet."""
        name = os.fspath(file).translate(_LINE_ENDS)
        return self if name in str(self) else type(self)(f"{name}: {self}")


class TraceUnreadable(DigestError):
    """The file is missing, damaged, cut short or not allowed to be read."""

    code = "trace-unreadable"
    exit_status = 3


class NotATrace(DigestError):
    """The file is something else than an SQLite export of Nsight Systems."""

    code = "not-a-trace"
    exit_status = 3


class TraceInUse(DigestError):
    """Another program holds the file locked, or has left changes that are not merged into it."""

    code = "trace-in-use"
    exit_status = 3


class ValueUnreadable(DigestError):
    """A column holds a value of another type than nsys writes there."""

    code = "value-unreadable"
    exit_status = 3


class OutOfResources(DigestError):
    """Memory, file handles or threads ran out; nothing is wrong with the input."""

    code = "out-of-resources"
    exit_status = 1


class MissingData(DigestError):
    """What was asked for is not in the input."""

    code = "missing-data"
    exit_status = 4


class DigestInvalid(DigestError):
    """A JSON document is not a digest, or one of an unknown major version."""

    code = "digest-invalid"
    exit_status = 3


class OutputFailed(DigestError):
    """The output could not be written; a file that was there before is still there, unchanged."""

    code = "output-failed"
    exit_status = 1


class UsageInvalid(DigestError):
    """An argument is out of range or would harm the user's own files."""

    code = "usage-invalid"
    exit_status = 2


class CategoriesInvalid(DigestError):
    """A file of kernel categories cannot be read, or holds an entry that makes no sense."""

    code = "categories-invalid"
    exit_status = 2


class CapturesMismatch(DigestError):
    """Captures differ in a fact that changes figures without any change of the program."""

    code = "captures-mismatch"
    exit_status = 4


class PolicyInvalid(DigestError):
    """A policy cannot be read, names a figure that no digest has, or holds a rule that makes no sense."""

    code = "policy-invalid"
    exit_status = 2


class FigureMissing(DigestError):
    """A figure that a policy asks for is in no digest, not in every run, or null."""

    code = "figure-missing"
    exit_status = 4


class BaselineMissing(DigestError):
    """The store has no baseline of that name, or none that can be read."""

    code = "baseline-missing"
    exit_status = 4


class StoreUnreadable(DigestError):
    """The folder of the baselines, or one in it, may not be read."""

    code = "store-unreadable"
    exit_status = 3


class CheckFailed(DigestError):
    """A figure is worse than a policy allows, or a name is missing that it requires, or there that it forbids."""

    code = "check-failed"
    exit_status = 5


class NsysMissing(DigestError):
    """No nsys was found, or one that lacks what it needs to write a trace; nothing was run."""

    code = "nsys-missing"
    exit_status = 6


class ExportFailed(DigestError):
    """An nsys was found and could not make an export of a report."""

    code = "export-failed"
    exit_status = 6


class RecordFailed(DigestError):
    """The recorder made no trace."""

    code = "record-failed"
    exit_status = 6


class RecordTimedOut(DigestError):
    """The recorded program was ended at its time limit; what was recorded until then is kept where it came."""

    code = "record-timed-out"
    exit_status = 6


class CommandNotFound(DigestError):
    """The command to record is not there, or may not be run; the status is the one that shells use."""

    code = "command-not-found"
    exit_status = 127


ERRORS: tuple[type[DigestError], ...] = (
    TraceUnreadable,
    NotATrace,
    TraceInUse,
    ValueUnreadable,
    OutOfResources,
    MissingData,
    DigestInvalid,
    OutputFailed,
    UsageInvalid,
    CategoriesInvalid,
    CapturesMismatch,
    PolicyInvalid,
    FigureMissing,
    BaselineMissing,
    StoreUnreadable,
    CheckFailed,
    NsysMissing,
    ExportFailed,
    RecordFailed,
    RecordTimedOut,
    CommandNotFound,
)
