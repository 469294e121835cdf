"""Several processes that work together: started, watched and ended, and the group that they talk through."""

from __future__ import annotations

import contextlib
import ctypes
import json
import multiprocessing
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, TypeAlias

from nsys_digest.workloads.errors import WorkloadFailed

Result: TypeAlias = dict[str, Any]
Work: TypeAlias = "Callable[[Rank, Any], Result]"

_GRACE_S = 5.0
_TIMEOUT = timedelta(seconds=300)
_PR_SET_PDEATHSIG = 1  # sys/prctl.h


@dataclass(frozen=True, slots=True)
class Rank:
    """One process among several."""

    index: int
    count: int
    device: str
    """``cuda`` or ``cpu``."""
    folder: Path
    """Where the processes meet, and leave what they have found."""

    @property
    def own_device(self) -> str:
        """Return the device of this rank alone."""
        return f"cuda:{self.index}" if self.device == "cuda" else self.device


def run_ranks(work: Work, config: Any, count: int, device: str) -> list[Result]:
    """Run a function of a module in as many new processes, and return what each returned, by rank.

    The environment is passed on as it is. When a process fails, the others are ended; none is left behind, whatever
    happens here.

    Raises:
        WorkloadFailed: a process failed; says which and why.

    """
    with tempfile.TemporaryDirectory(prefix="nsys-digest-") as name:
        folder = Path(name)
        ranks = [Rank(index, count, device, folder) for index in range(count)]
        processes: list[SpawnProcess] = []
        try:
            with _interrupts_held_back():  # the new processes stay deaf to Ctrl-C; this one ends them
                for rank in ranks:
                    process = multiprocessing.get_context("spawn").Process(
                        target=_run_one, args=(work, rank, config), name=f"rank {rank.index}", daemon=True
                    )
                    process.start()
                    processes.append(process)
            _watch(processes, folder)
        finally:
            _end(processes)
        return [json.loads(_result_file(rank).read_text(encoding="utf-8")) for rank in ranks]


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    resource_tracker.ensure_running()  # starting it would let interrupts through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _watch(processes: list[SpawnProcess], folder: Path) -> None:
    """Return when all have ended well; raise as soon as one has not."""
    running = list(processes)
    while running:
        wait([process.sentinel for process in running])
        for process in [process for process in running if process.exitcode is not None]:
            running.remove(process)
            if process.exitcode != 0:
                raise WorkloadFailed(_failure(processes, folder))


def _failure(processes: list[SpawnProcess], folder: Path) -> str:
    """Return which rank failed first, and why.

    Where one is gone the others fail as well, since they no longer reach it: so one that left no word comes first, and
    among those that did the one that wrote first.
    """
    time.sleep(0.2)  # a rank that wrote its word is ending; one that was killed has ended
    words = []
    for index, process in enumerate(processes):
        process.join(0)
        error = folder / f"rank_{index}.error"
        if error.exists():
            found = json.loads(error.read_text(encoding="utf-8"))
            words.append((found["monotonic_s"], index, found["message"]))
        elif process.exitcode is not None and process.exitcode < 0:
            words.append((0.0, index, f"it was ended by signal {_signal_name(-process.exitcode)}"))
        elif process.exitcode:
            words.append((0.0, index, f"it ended with status {process.exitcode}"))
    _, index, message = min(words)
    return f"rank {index} of {len(processes)} failed: {message}; the other ranks were ended"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


def _end(processes: list[SpawnProcess]) -> None:
    for process in processes:
        process.terminate()
    deadline = time.monotonic() + _GRACE_S
    for process in processes:
        process.join(max(deadline - time.monotonic(), 0.0))
        if process.is_alive():
            process.kill()
            process.join()
        process.close()


def _run_one(work: Work, rank: Rank, config: Any) -> None:
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # on the loopback device two processes of one machine always reach each other; a host's name may lead nowhere
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    try:
        result = work(rank, config)
    except Exception as error:  # whatever it is, the parent says so in one line
        told = str(error).strip().partition("\n")[0].rstrip(".")
        message = told if isinstance(error, WorkloadFailed) else f"{type(error).__name__}: {told}"
        _write_whole(rank.folder / f"rank_{rank.index}.error", {"monotonic_s": time.monotonic(), "message": message})
        os._exit(1)  # a broken group may wait for ever when it is taken down
    _write_whole(_result_file(rank), result)


def _end_with_parent() -> None:
    """Have the system end this process when its parent is gone, even when that was killed (prctl(2), Linux only)."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _result_file(rank: Rank) -> Path:
    return rank.folder / f"rank_{rank.index}.json"


def _write_whole(path: Path, found: Result) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(path)


@contextmanager
def process_group(rank: Rank) -> Iterator[None]:
    """Join the group of all ranks, through a file: NCCL on GPUs, gloo on CPUs.

    All work is over on the device, and on all ranks, before the group is left. Graphs that hold its calls must be freed
    inside.
    """
    import torch
    from torch import distributed

    if rank.device == "cuda":
        torch.cuda.set_device(rank.index)
    else:  # all ranks share the cores
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // rank.count))
    distributed.init_process_group(
        "nccl" if rank.device == "cuda" else "gloo",
        init_method=f"file://{rank.folder / 'meeting'}",
        rank=rank.index,
        world_size=rank.count,
        timeout=_TIMEOUT,
        device_id=torch.device(rank.own_device) if rank.device == "cuda" else None,
    )
    yield
    # not in a finally: after a failure the others may be gone, and the group would wait for them
    if rank.device == "cuda":
        torch.cuda.synchronize()
    distributed.barrier()
    if rank.device == "cuda":
        torch.cuda.synchronize()
    distributed.destroy_process_group()
