"""What every test may rely on, and what keeps several processes of tests out of each other's way."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from nsys_digest.cli.output import CI_VARIABLES

# Each process of tests has a core; with a thread of PyTorch for each core in every one they would wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# In CI a check prints text, and the tests mean what it prints elsewhere.
for _name in CI_VARIABLES:
    os.environ.pop(_name, None)

# A shell starts what runs in its background with Ctrl-C ignored, and children would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_runtest_setup() -> None:
    """Leave the size of the terminal to the test: readline, which pytest imports, may have written one here."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files that need PyTorch where no test of theirs is asked for: to import it takes seconds."""
    if "not workloads" not in config.option.markexpr or collection_path.suffix != ".py":
        return None
    return True if "\npytestmark = pytest.mark.workloads\n" in collection_path.read_text(encoding="utf-8") else None
