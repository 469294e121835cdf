"""Damaged logs of a distillation step, in both forms."""

from __future__ import annotations

from pathlib import Path
from random import Random

from nsys_digest import DigestError
from nsys_digest.workloads.phases.reader import read_log

_LOG = (Path(__file__).resolve().parents[2] / "fixtures" / "workloads" / "opd.log").read_bytes()
_PIECES = (
    *(
        b"9" * 5000,
        b"-1",
        b"nan",
        b"1e999",
        b"=",
        b" ",
        b"\n",
        b"\0",
        b"\xff",
        b"{",
        b'{"',
        b"[" * 100_000,
        b"step_summary ",
    ),
    *(b"phase_summary phase=x", b"backward_op_summary ", b"2" * 19, b"0", b"", b"\xef\xbb\xbf"),
)


def case(rng: Random, folder: Path) -> str:
    """Change pieces of a log, leave lines out or double them, and read it."""
    path = folder / "step.log"
    lines = _LOG.splitlines(keepends=True)
    for _ in range(rng.choice((0, 1, 2, 5))):
        at = rng.randrange(len(lines))
        how = rng.randrange(4)
        if how == 0:
            lines[at : at + rng.randrange(1, 20)] = []
        elif how == 1:
            lines.insert(rng.randrange(len(lines)), lines[at])
        else:
            start = rng.randrange(len(lines[at]) + 1)
            lines[at] = lines[at][:start] + rng.choice(_PIECES) + lines[at][start + rng.randrange(10) :]
        lines = lines or [b"\n"]
    path.write_bytes(b"".join(lines) if rng.random() < 0.9 else rng.choice(_PIECES) + b"".join(lines))
    try:
        read_log(path)
    except DigestError as error:
        assert "\n" not in str(error)
        return error.code
    return "log"
