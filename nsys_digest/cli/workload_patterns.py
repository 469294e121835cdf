"""``nsys-digest workload patterns``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from nsys_digest.cli import output
from nsys_digest.cli.workload_options import (
    AsJson,
    Device,
    DeviceKind,
    Force,
    Nsys,
    Record,
    RecordGraphs,
    RecordTimeout,
    Summarize,
    record_instead,
)
from nsys_digest.recorder.options import GraphTrace


def command(
    context: typer.Context,
    device: Device = DeviceKind.cuda,
    rounds: Annotated[int, typer.Option("--rounds", min=1, max=1000, metavar="N", help="Rounds of each pattern.")] = 3,
    processes: Annotated[
        int, typer.Option("--processes", min=0, max=64, metavar="N", help="Processes started beside the first.")
    ] = 2,
    threads: Annotated[
        int, typer.Option("--threads", min=0, max=64, metavar="N", help="Threads started beside the first.")
    ] = 2,
    as_json: AsJson = False,
    record: Record = None,
    record_graphs: RecordGraphs = GraphTrace.node,
    record_timeout: RecordTimeout = None,
    nsys: Nsys = None,
    force: Force = False,
    summarize: Summarize = False,
) -> None:
    """Do some of all that a trace can hold, and say how much.

    The exact account is a yardstick for a digest.
    """
    record_instead(context)
    from nsys_digest.workloads.patterns import Plan, run

    account = run(Plan(device.value, rounds, processes, threads))
    if as_json:
        output.write(json.dumps(account.document, indent=2), None)
    else:
        output.write("\n".join(account.lines()), None)
