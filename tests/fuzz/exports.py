"""Exports as others make them: every real fixture, changed through SQL, through the whole command line."""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
from pathlib import Path
from random import Random

from nsys_digest.cli import main
from tests.fuzz.trace import damage_rows

_FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
_LINE = re.compile(r"nsys-digest: .*\[([a-z-]+)\]")


def case(rng: Random, folder: Path) -> str:
    """Change an export and summarize it: a digest, or one line with a code and status 3 or 4."""
    path = folder / "trace.sqlite"
    shutil.copyfile(rng.choice(sorted(_FIXTURES.rglob("*.sqlite"))), path)
    damage_rows(rng, path)
    chosen = rng.choice(("json", "text", "markdown"))
    with contextlib.redirect_stdout(_stream()) as out, contextlib.redirect_stderr(_stream()) as err:
        status = main(["summarize", "--format", chosen, str(path)])
    lines = err.buffer.getvalue().decode().splitlines()
    found = [_LINE.fullmatch(line) for line in lines]
    assert all(found), lines
    assert sorted(folder.iterdir()) == [path], "something was left beside the trace"
    if status == 0:
        product = out.buffer.getvalue().decode()
        assert product.isascii() or product.replace("\n", "").isprintable()
        if chosen == "json":
            json.loads(product, parse_constant=float.fromhex)  # raises at NaN and Infinity
        return f"digest, {chosen}"
    assert status in (3, 4), (status, lines)
    assert len(lines) == 1, lines
    assert not out.buffer.getvalue()
    return str(found[0][1])  # type: ignore[index]


class _Stream(io.TextIOWrapper):
    buffer: io.BytesIO


def _stream() -> _Stream:
    return _Stream(io.BytesIO(), encoding="utf-8", write_through=True)
