"""Whether the system lets nsys see scheduling and call stacks of a program's threads."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

_ANSWER_S = 30.0
_VERDICT = re.compile(r"^\s*(?:CPU Profiling|Sampling) Environment(?: \(process-tree\))?:\s*(\w+)", re.MULTILINE)
_REASON = re.compile(r"^\s*((?:Linux Kernel Paranoid Level|Linux perf_event_open)[^\n]*?)\s*$", re.MULTILINE)


def why_no_cpu(nsys: Path) -> str | None:
    """Return why scheduling and samples cannot be recorded here, in the words of nsys; None where they can.

    nsys tells by ``nsys status --environment``, in a line "CPU Profiling Environment (process-tree): OK", which older
    versions write as "Sampling Environment: OK".
    """
    try:
        done = subprocess.run(  # noqa: S603 - the nsys that will record
            [str(nsys), "status", "--environment"], capture_output=True, text=True, errors="replace", timeout=_ANSWER_S
        )
    except (OSError, subprocess.TimeoutExpired):
        return "nsys does not say whether they can be recorded"
    verdict = _VERDICT.search(done.stdout)
    if verdict is None:
        return "nsys does not say whether they can be recorded"
    if verdict[1].casefold() == "ok":
        return None
    reasons = ", ".join(_REASON.findall(done.stdout))
    return f"nsys says that they cannot be recorded here{f' ({reasons})' if reasons else ''}"
