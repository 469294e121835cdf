"""What keeps the host from launching: a lock, sleep, another program on its CPU; each for a time that is measured."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from nsys_digest.workloads.patterns.cuda import Unavailable

WAIT_S = 0.02
"""How long each wait is at least."""
_BUSY = "print(flush=True)\nwhile True: pass"
_PATIENCE_S = 60.0


def wait_for_lock() -> int:
    """Wait for a lock that another thread holds; return for how many nanoseconds."""
    lock, held = threading.Lock(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            time.sleep(WAIT_S)

    holder = threading.Thread(target=hold)
    holder.start()
    held.wait(_PATIENCE_S)
    began_ns = time.perf_counter_ns()
    with lock:
        waited_ns = time.perf_counter_ns() - began_ns
    holder.join()
    return waited_ns


def sleep() -> int:
    """Sleep; return for how many nanoseconds."""
    began_ns = time.perf_counter_ns()
    time.sleep(WAIT_S)
    return time.perf_counter_ns() - began_ns


def share_cpu() -> int:
    """Compute while the CPU is another's for half of the time; return for how many nanoseconds it was.

    It is what has passed less what this thread had the CPU for.
    """
    began_ns, ran_ns = time.perf_counter_ns(), time.thread_time_ns()
    until_ns = began_ns + int(2 * WAIT_S * 1e9)
    while time.perf_counter_ns() < until_ns:
        pass
    return (time.perf_counter_ns() - began_ns) - (time.thread_time_ns() - ran_ns)


@contextmanager
def busy_cpu() -> Iterator[None]:
    """Keep this thread on one CPU, and have another process compute there.

    Raises:
        Unavailable: the system does not let a thread choose its CPU.

    """
    if not hasattr(os, "sched_setaffinity"):
        raise Unavailable("the system does not let a thread choose its CPU")
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {max(allowed)})  # the process inherits it
    except OSError as error:
        raise Unavailable(f"a thread may not choose its CPU ({error.strerror})") from None
    try:
        command = [sys.executable, "-S", "-c", _BUSY]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as other:  # noqa: S603 - Python itself
            try:
                assert other.stdout is not None
                other.stdout.readline()
                yield
            finally:
                other.kill()
    finally:
        os.sched_setaffinity(0, allowed)
