"""Run the patterns over all processes, and put their accounts together."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from typing import Any

from nsys_digest.errors import DigestError
from nsys_digest.workloads.errors import WorkloadFailed
from nsys_digest.workloads.patterns import program
from nsys_digest.workloads.patterns.expected_counts import merged
from nsys_digest.workloads.patterns.gpu_ops import GpuOps

_PATIENCE_S = 300.0


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to do: ``rounds`` of each pattern, and processes and threads beside the first ones."""

    device: str
    rounds: int
    processes: int
    threads: int


@dataclass(frozen=True, slots=True)
class PatternsResult:
    """What was done, by all processes together; ``document`` is what JSON says."""

    document: Mapping[str, Any]

    def lines(self) -> Iterator[str]:
        """Yield the account as lines of ``key=value``."""
        plan, total = self.document["plan"], self.document
        yield f"patterns {_pairs(plan)} gpus={total['gpus']}"
        for name, ranges in total["ranges"].items():
            yield f"range {_pairs(ranges)} name={name}"
        for row in total["copies"]:
            yield f"copies {_pairs(row)}"
        yield f"sets {_pairs(total['sets'])}"
        graphs = total["graphs"]
        yield (
            f"graphs launches={graphs['launches']} kernels={graphs['kernels']} copies={graphs['copies']['count']} "
            f"sets={graphs['sets']['count']}"
        )
        for text, count in total["marks"].items():
            yield f"mark count={count} text={text}"
        for name, waited in total["host_waits"].items():
            yield f"host {_pairs(waited)} name={name}"
        for each in total["skipped"]:
            yield f"skipped pattern={each['pattern'].replace(' ', '_')} reason={each['reason']}"
        yield (
            f"total processes={total['processes']} kernels={total['kernels']} "
            f"overlapping_kernels={total['overlapping_kernels']} managed_bytes={total['managed_bytes']} "
            f"open_ranges={total['open_ranges']}"
        )


def _pairs(row: Mapping[str, Any]) -> str:
    return " ".join(f"{key}={value}" for key, value in row.items())


def run(plan: Plan) -> PatternsResult:
    """Run every pattern and return the account.

    Raises:
        WorkloadDependency, WorkloadDevice: what is needed is not there.
        WorkloadFailed: CUDA failed, a process failed, or a result is wrong.

    """
    gpu_ops = GpuOps(plan.device)
    try:
        for pattern in program.ALL:
            program.phase(gpu_ops, pattern, plan.rounds)
        with gpu_ops.range("phase in_threads"):
            program.in_threads(gpu_ops, plan.rounds, plan.threads)
        with gpu_ops.range("phase in_processes"):
            others = in_processes(plan)
        program.left_open(gpu_ops)
    except RuntimeError as error:  # what PyTorch raises when CUDA fails
        raise WorkloadFailed(f"PyTorch failed ({str(error).strip().partition(chr(10))[0]})") from None
    head = {"workload": "patterns", "version": 1, "plan": asdict(plan), "gpus": gpu_ops.gpus()}
    return PatternsResult(head | merged(gpu_ops.expected.to_dict(), *others))


def in_processes(plan: Plan) -> list[Mapping[str, Any]]:
    """Run a few patterns in further processes at the same time; return their accounts."""
    context = multiprocessing.get_context("spawn")
    started = []
    for _ in range(plan.processes):
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_child, args=(plan.device, plan.rounds, theirs))
        process.start()
        theirs.close()
        started.append((process, mine))
    accounts = []
    for process, pipe in started:
        try:
            answer = pipe.recv() if pipe.poll(_PATIENCE_S) else {"error": f"no answer in {_PATIENCE_S:g} s"}
        except EOFError:
            answer = {"error": "it ended without an answer"}
        process.join(_PATIENCE_S if "error" not in answer else 1)
        if process.is_alive():
            process.kill()
            process.join()
        if "error" in answer or process.exitcode:
            raise WorkloadFailed(
                f"process {process.pid} failed ({answer.get('error', f'status {process.exitcode}')}); "
                "run with --processes 0 to see whether the first one works"
            )
        accounts.append(answer)
    return accounts


def _child(device: str, rounds: int, answer: Connection) -> None:
    try:
        gpu_ops = GpuOps(device)
        with gpu_ops.range("process"):
            program.warm_up(gpu_ops, rounds)
            program.kernels(gpu_ops, rounds)
            program.copies(gpu_ops, rounds)
        answer.send(gpu_ops.expected.to_dict())
    except (DigestError, RuntimeError) as error:
        answer.send({"error": str(error).strip().partition("\n")[0]})
    answer.close()
