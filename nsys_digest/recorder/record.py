"""Record a program: everything is checked first, nsys writes into a folder of its own, the trace is moved out of it."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsys_digest.errors import CommandNotFound, DigestError, NsysMissing, RecordFailed, RecordTimedOut, UsageInvalid
from nsys_digest.files import WRITTEN
from nsys_digest.recorder.cpu import why_no_cpu
from nsys_digest.recorder.find import Nsys, find_nsys
from nsys_digest.recorder.libraries import IMPORTER, importer_of, missing_libraries, packages_of
from nsys_digest.recorder.options import Recording, check_options, nsys_command, nsys_environment
from nsys_digest.recorder.supervise import Ended, Patience, Supervisor, program_words, signals_held, supported
from nsys_digest.signals import SignalReceived

_KINDS = {".sqlite": "trace", ".nsys-rep": "report", ".qdstrm": "raw data"}
_PREFIX = ".nsys-digest-"
_STEM = "trace"


@dataclass(frozen=True, slots=True)
class Target:
    """The files that a recording writes, by what nsys calls them."""

    folder: Path
    name: str

    def file(self, suffix: str) -> Path:
        """Return the file with a suffix; the name may hold dots."""
        return self.folder / f"{self.name}{suffix}"

    @property
    def trace(self) -> Path:
        """The SQLite export."""
        return self.file(".sqlite")

    @property
    def report(self) -> Path:
        """The report, which the window of nsys opens."""
        return self.file(".nsys-rep")

    def taken(self) -> Path | None:
        """Return a file of this name that is there."""
        return next((file for file in (self.trace, self.report) if file.exists() or file.is_symlink()), None)

    def next(self) -> Target:
        """Return the first of NAME-2, NAME-3 … of which there is no file."""
        others = (Target(self.folder, f"{self.name}-{number}") for number in range(2, 1_000_000))
        return next(target for target in others if target.taken() is None)


@dataclass(frozen=True, slots=True)
class Recorded:
    """What came of a recording: the files, the program's exit status, and why it was ended, where it was.

    ``ended`` are the names of processes that the program left running.
    """

    trace: Path
    report: Path | None
    status: int
    stopped: DigestError | None
    ended: tuple[str, ...]


def target_of(output: Path | None, recording: Recording) -> Target:
    """Return the files to write; without a name the first of trace, trace-2, trace-3 … that is free.

    Raises:
        UsageInvalid: there is such a file and ``force`` is off, or no such folder.

    """
    if output is None:
        target = Target(Path(), _STEM)
        return target if recording.force or target.taken() is None else target.next()
    name = output.stem if output.suffix in _KINDS else output.name
    target = Target(output.parent, name)
    if not name or name in {".", ".."} or output.is_dir():
        raise UsageInvalid(f"{output}: this is a folder; name a file in it")
    if not target.folder.is_dir():
        raise UsageInvalid(f"{output}: the folder {target.folder} is not there; make it first")
    found = target.taken()
    if found is not None and found.is_dir():
        raise UsageInvalid(f"{found}: this is a folder; choose another name")
    if found is not None and not recording.force:
        raise UsageInvalid(f"{found}: it is there already; choose another name, or replace it with --force")
    return target


def record(
    program: Sequence[str],
    target: Target,
    recording: Recording,
    *,
    patience: Patience | None = None,
    tell: Callable[[str], None] | None = None,
) -> Recorded:
    """Run a program under nsys and keep the trace; everything that can be known before is checked before.

    ``tell`` is called, before the program starts, with what a deep recording will lack and why.

    Raises:
        NsysMissing: no nsys can write a trace here.
        CommandNotFound: the program is not there or may not be run.
        UsageInvalid: an option makes no sense, or the folder cannot be written.
        RecordFailed, RecordTimedOut: no trace came.
        SignalReceived: a signal ended it, and no trace came.

    """
    check_options(recording)
    if not supported():
        raise NsysMissing("programs are recorded on Linux only; record there, and digest the trace anywhere")
    _check_program(program)
    nsys = find_nsys(recording.nsys)
    lacking = why_no_cpu(nsys.path) if recording.deep else None
    if lacking is not None and tell is not None:
        tell(
            f"the trace will have calls of the operating system, but no scheduling and no call stacks: {lacking}; "
            "allow them with sysctl kernel.perf_event_paranoid=2, in a container with the capability SYS_ADMIN too"
        )
    cpu = recording.deep and lacking is None
    with signals_held() as mask:
        work = _folder_in(target.folder)
        try:
            # Not in the work folder: nsys has sockets there, whose names may not be long, nor lie on every file system.
            with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as temporary:
                ended = _run(nsys, program, recording, work, Path(temporary), mask, patience or Patience(), cpu=cpu)
            return _outcome(nsys, ended, target, recording, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)


def _check_program(program: Sequence[str]) -> None:
    name = program[0]
    if shutil.which(name) is not None:
        return
    path = Path(name)
    if os.sep in name and path.is_dir():
        raise CommandNotFound(f"{name}: this is a folder; name a program")
    if os.sep in name and path.exists():
        raise CommandNotFound(f"{name}: it may not be run; make it executable, or name its interpreter before it")
    hint = "; for a shell string: sh -c '…'" if " " in name else ""
    raise CommandNotFound(f"{name}: there is no such program; correct its name{hint}")


def _folder_in(folder: Path) -> Path:
    try:
        return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=folder)).absolute()
    except OSError as error:
        raise UsageInvalid(
            f"{folder}: cannot be written ({error.strerror or error}); choose another place with -o"
        ) from None


def _run(
    nsys: Nsys,
    program: Sequence[str],
    recording: Recording,
    work: Path,
    temporary: Path,
    mask: set[int],
    patience: Patience,
    *,
    cpu: bool,
) -> Ended:
    environment = nsys_environment(os.environ, recording, temporary)
    words = nsys_command(nsys.path, recording, work / _STEM, program_words(program, os.environ), cpu=cpu)
    supervisor = Supervisor(nsys.folder, f"TMPDIR={temporary}", patience)
    return supervisor.run(words, environment, work / "nsys.log", mask, recording.timeout_s)


def _outcome(nsys: Nsys, ended: Ended, target: Target, recording: Recording, work: Path) -> Recorded:
    written = Target(work, _STEM)
    if not _is_database(written.trace):
        raise _failure(nsys, ended, target, recording, work)
    place = target if recording.force or target.taken() is None else target.next()
    trace = _move(written.trace, place, ".sqlite", recording.force)
    WRITTEN.append(str(trace))
    report = None
    if recording.keep_report and written.report.is_file():
        report = _move(written.report, place, ".nsys-rep", recording.force)
        WRITTEN.append(str(report))
    elif recording.force:
        place.report.unlink(missing_ok=True)  # that of an earlier recording would go with the wrong trace
    stopped: DigestError | None = None
    if ended.timed_out:
        stopped = RecordTimedOut(
            f"the program ran longer than {recording.timeout_s:g} s and was ended; what was recorded until then is in "
            f"{trace}"
        )
    return Recorded(trace, report, ended.status, stopped, ended.leftovers)


def _is_database(file: Path) -> bool:
    try:
        with file.open("rb") as opened:
            return opened.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def _move(source: Path, target: Target, suffix: str, force: bool) -> Path:
    """Move a file to its place in one step; a file that came there meanwhile is not replaced."""
    try:
        if force:
            source.replace(target.file(suffix))
            return target.file(suffix)
        while True:
            try:
                target.file(suffix).hardlink_to(source)
                return target.file(suffix)
            except FileExistsError:
                target = target.next()
            except OSError as error:
                if error.errno not in {errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK, errno.EACCES}:
                    raise
                source.replace(target.file(suffix))  # no hard links there; it was free a moment ago
                return target.file(suffix)
    except OSError as error:
        raise RecordFailed(
            f"{target.file(suffix)}: the {_KINDS[suffix]} could not be moved there ({error.strerror or error}); choose "
            "another place with -o"
        ) from None


def _failure(nsys: Nsys, ended: Ended, target: Target, recording: Recording, work: Path) -> BaseException:
    """Say why there is no trace, and keep what another nsys can make one of."""
    written = Target(work, _STEM)
    rescued = None
    for suffix in (".nsys-rep", ".qdstrm"):
        if rescued is None and written.file(suffix).is_file():
            free = target if not target.file(suffix).exists() else target.next()
            rescued = _move(written.file(suffix), free, suffix, force=False)
    if rescued is None and ended.signal is not None:
        return SignalReceived(ended.signal)
    said = _said(work / "nsys.log")
    if ended.timed_out:
        kept = f"its data is in {rescued}" if rescued else "there is no trace"
        return RecordTimedOut(
            f"the program ran longer than {recording.timeout_s:g} s and was ended, and {kept}; give it more time with "
            f"--timeout{said}"
        )
    if rescued is not None and rescued.suffix == ".qdstrm":
        lacking = missing_libraries(nsys.path)
        cure = f"it lacks {', '.join(lacking)}: install {packages_of(lacking)}; then" if lacking else "where it runs:"
        return RecordFailed(
            f"nsys recorded the program and its importer failed, so there is no trace; the raw data is in {rescued}; "
            f"{cure} {importer_of(nsys.path) or IMPORTER} -i {rescued}{said}"
        )
    if rescued is not None:
        return RecordFailed(
            f"nsys wrote a report and no SQLite export; it is in {rescued}; try: nsys export --type sqlite "
            f"{rescued}{said}"
        )
    cause = ""
    if recording.capture_range != "none":
        cause = f"; did the range of --capture-range {recording.capture_range} begin?"
    return RecordFailed(f"nsys ended with status {ended.status} and wrote no trace{cause}{said}")


def _said(log: Path) -> str:
    """Return the last words of nsys, for a message."""
    try:
        text = log.read_bytes()[-4000:].decode("utf-8", "replace")
    except OSError:
        return ""
    lines = [line.strip() for line in text.replace("\r", "\n").splitlines() if line.strip()]
    return f"; nsys said: {' / '.join(lines[-3:])[-400:]}" if lines else ""
