"""Feed a reader damaged inputs for a while: ``python -m tests.fuzz trace --seconds 30 --seed 1``.

A target is a module of this folder with a function ``case(rng, folder)``: it draws one input from the random numbers
alone, writes it into the empty folder, has the program read it, and returns a word for what came of it, such as
"digest" or an error's code. Whatever it raises is a fault of the program. The number of a case and the seed are enough
to draw it again: ``--case 17 --keep FOLDER``.
"""

from __future__ import annotations

import argparse
import faulthandler
import importlib
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import FrameType
from typing import NoReturn

Case = Callable[[Random, Path], str]

TARGETS = {
    "trace": "trace",
    "exports": "exports",
    "stored_digest": "stored_digest",
    "policy": "policy",
    "phase_log": "phase_log",
}
"""Each target by its name on the command line, and the module of this folder that has its ``case``."""

CASE_LIMIT_S = 20.0
_STUCK_S = 3 * CASE_LIMIT_S


class TooSlow(Exception):
    """Raised in a case that takes longer than any should."""


def load(target: str) -> Case:
    """Return the function that runs one case of a target."""
    case: Case = importlib.import_module(f"tests.fuzz.{TARGETS[target]}").case
    return case


def run_case(case: Case, seed: int, number: int, folder: Path) -> str:
    """Run one case within its limit of time and return its outcome; the folder must be empty."""
    with _limited():
        return case(Random(f"{seed}/{number}"), folder)


@contextmanager
def _limited() -> Iterator[None]:
    """Raise after the limit; where no Python code runs by then, end the process with a trace of every thread."""

    def late(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise TooSlow(f"not done within {CASE_LIMIT_S:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, CASE_LIMIT_S)
    faulthandler.dump_traceback_later(_STUCK_S, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def fuzz(target: str, seed: int, seconds: float, numbers: Iterable[int]) -> list[int]:
    """Run those cases until the time is over, print what came of them, and return the numbers of those that failed."""
    case = load(target)
    outcomes: Counter[str] = Counter()
    failed = []
    end = time.monotonic() + seconds
    for number in numbers:
        if time.monotonic() >= end:
            break
        with tempfile.TemporaryDirectory() as folder:
            try:
                outcomes[run_case(case, seed, number, Path(folder))] += 1
            except Exception:
                failed.append(number)
                print(f"{target} --seed {seed} --case {number}:\n{traceback.format_exc()}", file=sys.stderr, flush=True)
    print(f"{target}: {sum(outcomes.values()) + len(failed)} cases, {len(failed)} failed")
    for outcome, count in outcomes.most_common():
        print(f"  {count:7} {outcome}")
    return failed


def main() -> int:
    """Run what the command line asks for; 1 where a case failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.partition("\n")[0])
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each target runs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--cases", type=int, help="how many cases at most")
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument("--keep", type=Path, help="with --case: the folder, not yet there, that keeps the input")
    options = parser.parse_args()
    if options.case is not None:
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.keep or Path(scratch)
            folder.mkdir(parents=True, exist_ok=options.keep is None)
            print(run_case(load(options.target), options.seed, options.case, folder))
        return 0
    names = list(TARGETS) if options.target == "all" else [options.target]
    last = sys.maxsize if options.cases is None else options.first + options.cases
    numbers = range(options.first, last)
    failed = [number for name in names for number in fuzz(name, options.seed, options.seconds, numbers)]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
