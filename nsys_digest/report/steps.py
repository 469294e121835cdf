"""The blocks of the report about steps, and the line that says what looks like one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from nsys_digest.model.digest import Digest
from nsys_digest.model.idle_causes import doing_words
from nsys_digest.model.step_types import ProcessSteps, RatioSpread, Step, StepCandidate, Steps, TimeSpread
from nsys_digest.report.blocks import Block, Column, more
from nsys_digest.report.figure_columns import FieldColumn, Row, TableColumn, line, of, table, told
from nsys_digest.report.shell_words import spelled
from nsys_digest.units import MISSING, counted

_MOST_PROCESSES: Final = 64
_WALL: Final = (of(Steps, "wall.p50_ns", "wall p50"), of(Steps, "wall.p95_ns"), of(Steps, "wall.max_ns"))
_STEP_IDLE: Final = (of(Steps, "idle.p50_ns", "idle p50"), of(Steps, "idle.p95_ns"), of(Steps, "idle.max_ns"))
_BUSY: Final = (of(Steps, "busy_ratio.p50", "busy p50"), of(Steps, "busy_ratio.min"))
_LAUNCHED: Final = (
    of(Steps, "launched_busy.p50_ns", "launched work p50"),
    of(Steps, "launched_busy.p95_ns"),
    of(Steps, "launched_busy.max_ns"),
)
_STEP_EXPOSED: Final = (
    of(Steps, "exposed_communication.p50_ns", "exposed communication p50"),
    of(Steps, "exposed_communication.max_ns"),
)
_STEP_CAUSES: Final = of(Steps, "idle_causes_ns")
_WARM_UP: Final = of(Step, "wall_ns", "warm-up, wall")


def step_blocks(steps: Steps) -> Iterator[Block]:
    """Yield what steps have together, by process, and the longest."""
    rows = _which(steps)
    if len(steps.warmup) == 1:
        rows.append(line((steps.warmup[0],), _WARM_UP))
    if steps.wall.count:
        rows.append(line((steps,), *_WALL))
    if steps.wall.count and steps.idle is not None:
        rows += [line((steps,), *_STEP_IDLE), line((steps,), *_BUSY)]
        if steps.launched_busy is not None:
            rows.append(line((steps,), *_LAUNCHED))
        if steps.exposed_communication is not None:
            rows.append(line((steps,), *_STEP_EXPOSED))
        if steps.idle_causes_ns:
            rows.append(("idle causes", _causes(steps.idle_causes_ns)))
    yield _steady(steps, rows)
    if len(steps.processes) > 1:
        yield _processes(steps)
        yield _spread(steps)
    yield _listed("Slowest steps", steps, steps.slowest)
    if [step.start_ns for step in steps.most_launched] != [step.start_ns for step in steps.slowest]:
        yield _listed("Steps that launched most GPU work", steps, steps.most_launched)


def steady_block(steps: Steps) -> Block:
    """Return what steps have together, in few lines."""
    rows = _which(steps)
    if steps.wall.count:
        rows.append(line((steps,), *_WALL))
        if steps.idle is not None:
            rows += [line((steps,), *_STEP_IDLE), line((steps,), *_BUSY)]
            if steps.exposed_communication is not None:
                rows.append(line((steps,), *_STEP_EXPOSED))
            if causes := _ranked(steps.idle_causes_ns, 2):
                rows.append(
                    ("idle in all", "; ".join(f"{doing_words(name)}: {_STEP_CAUSES.form(ns)}" for name, ns in causes))
                )
    return replace(_steady(steps, rows), look="pairs")


def _which(steps: Steps) -> list[tuple[str, str]]:
    rows = [("steps", _how_many(steps))]
    if steps.names not in ((), (steps.name,)):
        rows.append(("names", f"{len(steps.names):,}: {', '.join(steps.names[:3])}{' …' * (len(steps.names) > 3)}"))
    return rows


def _steady(steps: Steps, rows: list[tuple[str, str]]) -> Block:
    return Block(f"Steady state: {steps.name}", (Column("figure", "text"), Column("value", "text")), tuple(rows))


_PROCESSES: Final = (
    of(ProcessSteps, "process"),
    told(Column("device"), lambda row: ", ".join(map(str, row[0].devices)) or MISSING),
    of(ProcessSteps, "count"),
    of(Step, "wall_ns", "warm-up"),
    of(ProcessSteps, "wall.p50_ns", "wall p50"),
    of(ProcessSteps, "wall.max_ns"),
    of(ProcessSteps, "busy_ratio.p50", "busy p50"),
    of(ProcessSteps, "launched_busy.p50_ns", "launched p50"),
    of(ProcessSteps, "exposed_communication.p50_ns", "exposed p50"),
    told(Column("idle mostly", "label"), lambda row: _causes(row[0].idle_causes_ns or {}, most=1)),
)
_SLOWEST: Final = (
    of(Step, "process"),
    of(Step, "start_ns", "start"),
    of(Step, "wall_ns"),
    of(Step, "gpu_busy_ns"),
    of(Step, "gpu_idle_ns"),
    of(Step, "launched_busy_ns"),
    told(Column("idle causes", "text"), lambda row: _causes(row[0].idle_causes_ns)),
)
_STEP_NAME: Final = told(Column("name", "name"), lambda row: row[0].name)


def _processes(steps: Steps) -> Block:
    first: dict[int | None, Step] = {}
    for step in steps.warmup:
        first.setdefault(step.process, step)
    rows: list[Row] = [(own, first.get(own.process)) for own in steps.processes[:_MOST_PROCESSES]]
    title = "Steps by process, each with the devices that it used"
    return table(title, _PROCESSES, rows, more(len(steps.processes) - len(rows)))


_TIMES: Final = (of(TimeSpread, "min_ns"), of(TimeSpread, "p50_ns"), of(TimeSpread, "max_ns"))
_RATIOS: Final = (of(RatioSpread, "min"), of(RatioSpread, "p50"), of(RatioSpread, "max"))


def _spread(steps: Steps) -> Block:
    found = steps.spread
    rows = []
    if found is not None:
        figures: tuple[tuple[str, TimeSpread | RatioSpread | None, tuple[FieldColumn, ...]], ...] = (
            ("wall", found.wall, _TIMES),
            ("busy", found.busy_ratio, _RATIOS),
            ("launched", found.launched_busy, _TIMES),
            ("exposed communication", found.exposed_communication, _TIMES),
            ("GPU idle", found.idle, _TIMES),
        )
        for title, ends, columns in figures:
            if ends is not None:
                values = [column.cell((ends,)) for column in columns]
                least, most = (MISSING if one is None else str(one) for one in (ends.at_min, ends.at_max))
                rows.append((title, values[0], least, values[1], values[2], most))
    heads = (Column("median of", "label"), *map(Column, ("least", "in process", "p50", "most", "in process")))
    return Block("Spread of the steps over processes", heads, tuple(rows))


def _listed(title: str, steps: Steps, listed: Sequence[Step]) -> Block:
    columns: list[TableColumn] = list(_SLOWEST)
    if len(steps.processes) <= 1:
        del columns[0]  # of a single process there is nothing to say
    if len(steps.names) > 1:
        columns.append(_STEP_NAME)
    return table(title, columns, ((step,) for step in listed))


def _how_many(steps: Steps) -> str:
    several = len(steps.processes) > 1
    first = steps.warmup_count or len(steps.warmup)  # documents of before it was kept
    per_process = -(-first // max(len(steps.processes), 1))
    which = "first" if per_process == 1 else f"first {per_process:,}"
    of_each = f" of each of {len(steps.processes):,} processes" if several else ""
    verb = "is" if per_process == 1 else "are"
    apart = f"the {which}{of_each} {verb} set apart" if first else "none is set apart"
    if steps.cut_count:
        apart += f", {counted(steps.cut_count, 'other')} cut by the end of the capture"
    if not steps.wall.count:
        return f"{steps.count:,}: {apart}, and no other is left to measure"
    return f"{steps.count:,}: {apart}, the figures are of {'the other ' if first else ''}{steps.wall.count:,}"


def _causes(causes_ns: Mapping[str, int] | None, most: int | None = None) -> str:
    return ", ".join(f"{cause} {_STEP_CAUSES.form(ns)}" for cause, ns in _ranked(causes_ns, most)) or MISSING


def _ranked(causes_ns: Mapping[str, int] | None, most: int | None) -> list[tuple[str, int]]:
    return sorted((causes_ns or {}).items(), key=lambda item: -item[1])[:most]


_COVERED: Final = of(StepCandidate, "covered_ratio")
_CANDIDATES: Final = (of(StepCandidate, "count"), _COVERED, of(StepCandidate, "kind"), of(StepCandidate, "processes"))


def candidates_block(digest: Digest) -> Block:
    """Return what looks like steps."""
    columns = (*_CANDIDATES, _STEP_NAME)
    return table(
        "What looks like steps, most GPU work first", columns, ((one,) for one in digest.step_candidates or ())
    )


_LONGEST_NAME: Final = 200


def candidates_line(candidates: Sequence[StepCandidate]) -> str:
    """Say what looks like a step, and how to look at its steps; nothing where no name would fit on a line."""
    short = [one for one in candidates if len(one.name) <= _LONGEST_NAME]
    if not short:
        return ""
    first, *others = short
    what = f"{counted(first.count, first.kind)} look like steps, {_COVERED.cell((first,))} of the GPU work"
    also = f"; others: {', '.join(one.name for one in others)}" if others else ""
    return f"{what}: --steps {spelled([first.name])}{also}"
