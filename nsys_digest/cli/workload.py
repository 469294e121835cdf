"""``nsys-digest workload``: one sub-command for each program that makes a trace."""

from __future__ import annotations

import typer

from nsys_digest import signals
from nsys_digest.cli import workload_opd, workload_patterns, workload_phases, workload_serve, workload_train

app = typer.Typer(
    help="Run a CUDA program of known shape, and record it. Needs nsys-digest[workloads].",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback()
def _started(context: typer.Context) -> None:
    context.with_resource(signals.raised())  # a workload ends its processes before it ends


app.command("patterns")(workload_patterns.command)
app.command("serve")(workload_serve.command)
app.command("train")(workload_train.command)
app.command("opd")(workload_opd.command)
app.command("phases")(workload_phases.command)
