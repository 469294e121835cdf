"""The first cases of each target of random damage: that they run, and that the program takes them."""

from __future__ import annotations

import subprocess
import sys

import pytest

from fuzz.__main__ import TARGETS
from support import ROOT


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.slow
def test_first_cases(target: str) -> None:
    command = [sys.executable, "-m", "tests.fuzz", target, "--seconds", "60", "--cases", "12"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{target}: 12 cases, 0 failed")


def test_a_fault_is_told_with_its_case() -> None:
    """A target whose every third case raises."""
    script = (
        "import sys, types; from tests.fuzz import __main__ as main\n"
        "module = types.ModuleType('tests.fuzz.bad'); sys.modules['tests.fuzz.bad'] = module\n"
        "numbers = iter(range(99))\n"
        "module.case = lambda rng, folder: 'done' if next(numbers) % 3 else 1 / 0\n"
        "main.TARGETS['bad'] = 'bad'\n"
        "print(main.fuzz('bad', 1, 60, range(7)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["bad: 7 cases, 3 failed", "        4 done", "[0, 3, 6]"]
    assert "bad --seed 1 --case 3:\nTraceback" in done.stderr
    assert "ZeroDivisionError" in done.stderr
