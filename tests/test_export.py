"""Tables of events: against the digest, against plain joins over the rows, drawn by hand, and read back."""

from __future__ import annotations

import json
import signal
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import duckdb
import pandas
import polars
import pyarrow
import pytest
from pyarrow import ipc, parquet

import nsys_digest
from builder import TraceBuilder
from nsys_digest import Digest, summarize
from nsys_digest.api import export_tables
from nsys_digest.errors import MissingData, UsageInvalid
from nsys_digest.model.idle_causes import CAUSES
from nsys_digest.tables import table as table_module
from nsys_digest.tables.export import Tables
from nsys_digest.tables.registry import TABLES
from support import READERS, ROOT, call, spawn

TRACES = sorted((ROOT / "fixtures" / "traces").glob("*.sqlite"))
NAMES = [table.name for table in TABLES]
Row = dict[str, Any]
SELECTIONS: tuple[dict[str, Any], ...] = (
    {},
    {"window": "20%:60%"},
    {"device": [0]},
    {"stream": [7], "window": "10%:70%"},
)


def rows(tables: Tables, name: str) -> list[Row]:
    return tables.reader(name).read_all().to_pylist()


def totals(found: list[Row], *keys: str, of: str = "part_ns") -> dict[Any, tuple[int, int]]:
    """Return how many rows there are and the sum of a column, by the value of some columns."""
    count: Counter[Any] = Counter()
    sums: Counter[Any] = Counter()
    for row in found:
        key = tuple(row[name] for name in keys) if len(keys) != 1 else row[keys[0]]
        count[key] += 1
        sums[key] += row[of]
    return {key: (count[key], sums[key]) for key in count}


@pytest.fixture(scope="module", params=[(trace, at) for trace in TRACES for at in range(len(SELECTIONS))], ids=str)
def sides(request: pytest.FixtureRequest) -> Iterator[tuple[Digest, dict[str, list[Row]]]]:
    """Give a digest and all tables of the same part of the same trace."""
    trace, at = request.param
    try:
        digest = summarize(trace, top=10**6, raw_nvtx_names=True, **SELECTIONS[at])
    except MissingData:
        pytest.fail("choose a selection that holds something") if at == 0 else None
        with pytest.raises(MissingData):
            export_tables(trace, NAMES, **SELECTIONS[at])
        yield None, {}  # type: ignore[misc]
        return
    tables = export_tables(trace, NAMES, raw_nvtx_names=True, **SELECTIONS[at])
    yield digest, {name: rows(tables, name) for name in NAMES}


@pytest.mark.slow
def test_tables_add_up_to_the_digest(sides: tuple[Digest | None, dict[str, list[Row]]]) -> None:
    digest, found = sides
    if digest is None:
        return
    assert totals(found["kernels"], "name") == {n: (t.count, t.total_ns) for n, t in digest.top_kernels}
    assert len(found["kernels"]) == digest.kernel_count
    assert totals(found["api"], "name") == {name: (one.count, one.total_ns) for name, one in digest.api.items()}
    assert totals(found["nvtx"], "name") == {name: (one.count, one.sum_ns) for name, one in digest.nvtx.items()}
    copies = [row | {"way": (row["kind"], row["source"], row["destination"])} for row in found["copies"]]
    assert digest.memory is not None
    assert {key: (count, sum_ns) for key, (count, sum_ns) in totals(copies, "way").items()} == {
        (one.direction, one.source_kind or "unknown", one.destination_kind or "unknown"): (one.count, one.sum_ns)
        for one in digest.memory.copies
    }
    assert sum(row["bytes"] for row in copies) == sum(one.bytes for one in digest.memory.copies)
    assert sum(row["bytes"] for row in found["sets"]) == digest.memory.sets.bytes
    assert (len(found["sets"]), sum(row["part_ns"] for row in found["sets"])) == (
        digest.memory.sets.count,
        digest.memory.sets.sum_ns,
    )
    assert len(found["graphs"]) == sum(one.count["graph"] for one in digest.devices)
    marks = Counter(row["name"] for row in found["marks"] if row["name"].startswith("CG_DISPATCH"))
    assert marks == Counter(dict(digest.dispatch))
    gaps_add_up(digest, found["gaps"])
    launches_add_up(digest, found["launches"])


def gaps_add_up(digest: Digest, found: list[Row]) -> None:
    assert digest.idle is not None
    assert totals(found, "device", of="duration_ns") == {
        one.device: (one.gap_count, one.idle_ns) for one in digest.idle.devices if one.gap_count
    }
    for one in digest.idle.devices:
        own = [row for row in found if row["device"] == one.device]
        for cause in CAUSES:
            assert sum(row[f"{cause}_ns"] for row in own) == one.causes[cause].sum_ns
    for row in found:
        assert sum(row[f"{cause}_ns"] for cause in CAUSES) == row["duration_ns"] == row["end_ns"] - row["start_ns"] > 0
        assert row[f"{row['cause']}_ns"] == max(row[f"{cause}_ns"] for cause in CAUSES)
    by_place = {(row["device"], row["start_ns"]): row for row in found}
    for gap in digest.idle.longest:
        row = by_place[gap.device, gap.start_ns]
        assert (row["duration_ns"], row["before"] or "[window]", row["after"] or "[window]") == (
            gap.length_ns,
            gap.before,
            gap.after,
        )


def launches_add_up(digest: Digest, found: list[Row]) -> None:
    assert digest.launch is not None
    costs = [row for row in found if row["class"] == "launch_call" and row["first_start_ns"] is not None]
    for of, part in (("duration_ns", "api"), ("queue_delay_ns", "queue_delay"), ("latency_ns", "latency")):
        expected = {
            name: (getattr(cost, part).count, getattr(cost, part).total_ns)
            for name, cost in digest.launch.by_api.items()
        }
        assert totals(costs, "name", of=of) == expected


# ── Joins, in plain Python over the rows ─────────────────────────────────────────────────────────────────────────────


def plain_kernels(path: Path) -> list[Row]:
    """Join kernels with calls and ranges, row by row; each correlation id is of one call of its process."""
    with sqlite3.connect(path) as base:
        names = dict(base.execute("SELECT id, value FROM StringIds"))
        calls = defaultdict(list)
        has = {name for (name,) in base.execute("SELECT name FROM sqlite_master")}
        if "CUPTI_ACTIVITY_KIND_RUNTIME" in has:
            for start, end, tid, correlation, name in base.execute(
                "SELECT start, end, globalTid, correlationId, nameId FROM CUPTI_ACTIVITY_KIND_RUNTIME"
            ):
                calls[tid & ~0xFFFFFF, correlation].append((start, end, tid, names[name]))
        ranges = []
        if "NVTX_EVENTS" in has:
            text = "coalesce(text, (SELECT value FROM StringIds WHERE id = textId))"
            created = base.execute(f"SELECT globalTid, domainId, {text} FROM NVTX_EVENTS WHERE eventType = 75")
            domains = {(tid & ~0xFFFFFF, domain): f"{name}:" for tid, domain, name in created}
            ranges = [
                (start, end, tid, domains.get((tid & ~0xFFFFFF, domain), "") + name)
                for start, end, tid, domain, name in base.execute(
                    f"SELECT start, end, globalTid, domainId, {text} FROM NVTX_EVENTS "
                    "WHERE eventType IN (59, 70) AND end > start"
                )
            ]
        found = []
        for start, end, device, stream, pid, correlation, short in base.execute(
            "SELECT start, end, deviceId, streamId, globalPid, correlationId, shortName FROM CUPTI_ACTIVITY_KIND_KERNEL"
        ):
            launched = calls.get((pid, correlation)) if correlation else None
            row = {"start_ns": start, "end_ns": end, "device": device, "stream_id": stream, "name": names[short]}
            row |= dict.fromkeys(("call", "call_start_ns", "call_end_ns", "call_thread_id", "range"))
            if launched:
                (at, until, tid, name), *more = launched
                assert not more
                row |= {"call": name, "call_start_ns": at, "call_end_ns": until, "call_thread_id": tid & 0xFFFFFF}
                around = [(begin, -stop, text) for begin, stop, of, text in ranges if of == tid and begin <= at < stop]
                row["range"] = max(around)[2] if around else None
            found.append(row)
    return found


def same_kernels(found: list[Row], path: Path) -> None:
    expected = plain_kernels(path)
    key = lambda row: tuple(map(str, row.values()))  # noqa: E731
    columns = list(expected[0])
    assert sorted(({name: row[name] for name in columns} for row in found), key=key) == sorted(expected, key=key)


@pytest.mark.slow
@pytest.mark.parametrize("trace", [trace for trace in TRACES if trace.stem in {"serve", "graph_graph", "mixed"}])
def test_kernels_of_real_traces_against_a_plain_join(trace: Path) -> None:
    same_kernels(rows(export_tables(trace, ["kernels"], raw_nvtx_names=True), "kernels"), trace)


def drawn(seed: int, path: Path) -> Path:
    """Draw kernels of two processes on two GPUs, calls of two threads each, nested ranges; some things are missing."""
    rng, trace = Random(seed), TraceBuilder()
    for process in (1, 2):
        for thread in (1, 2):
            at = 0
            for step in range(rng.randrange(1, 5)):
                end = at + rng.randrange(20, 60)
                trace.range(f"step {step} {thread}", at, end, process=process, thread=thread)
                inner = at
                while inner < end - 10:
                    stop = rng.randrange(inner + 1, end - 4)
                    trace.range(f"inner {rng.randrange(3)}", inner, stop, process=process, thread=thread)
                    inner = stop + rng.randrange(4)
                at = end + rng.randrange(9)
        for correlation in range(1, rng.randrange(4, 40)):
            at, thread = rng.randrange(200), rng.randrange(1, 4)
            until = at + rng.randrange(6)
            if rng.random() < 0.9:
                trace.api("cudaLaunchKernel", at, until, process=process, thread=thread, correlation=correlation)
            begun = until + rng.randrange(20)
            for _ in range(rng.randrange(3)):
                trace.kernel(
                    begun,
                    begun + rng.randrange(15),
                    device=rng.randrange(2),
                    stream=rng.randrange(7, 9),
                    process=process,
                    correlation=correlation,
                    name=rng.choice("abc"),
                )
        trace.kernel(0, 5, process=process, correlation=None)
    return trace.write(path, shuffle=rng)


@pytest.mark.parametrize("seed", range(12))
def test_kernels_of_drawn_traces_against_a_plain_join(seed: int, tmp_path: Path) -> None:
    trace = drawn(seed, tmp_path / "t.sqlite")
    same_kernels(rows(export_tables(trace, ["kernels"]), "kernels"), trace)
    everything = {reader: export_tables(trace, NAMES, reader=reader) for reader in READERS}
    for name in NAMES:
        assert rows(everything["adbc"], name) == rows(everything["stdlib"], name)


@pytest.mark.parametrize("seed", range(12))
def test_parents_and_ids_of_drawn_traces(seed: int, tmp_path: Path) -> None:
    tables = export_tables(drawn(seed, tmp_path / "t.sqlite"), NAMES)
    ranges, calls = rows(tables, "nvtx"), {row["id"]: row for row in rows(tables, "api")}
    by_id = {row["id"]: row for row in ranges}
    assert len(by_id) == len(ranges)
    for row in ranges:
        around = [
            other
            for other in ranges
            if (other["process_id"], other["thread_id"]) == (row["process_id"], row["thread_id"])
            and other["start_ns"] <= row["start_ns"]
            and row["end_ns"] <= other["end_ns"]
            and (other["duration_ns"], -other["id"]) > (row["duration_ns"], -row["id"])
            and row["duration_ns"]
        ]
        inner = min(around, key=lambda other: (other["duration_ns"], -other["id"]), default=None)
        assert row["parent_id"] == (inner and inner["id"])
        assert row["parent"] == (inner and inner["name"])
    for row in rows(tables, "kernels"):
        if row["call_id"] is not None:
            own = calls[row["call_id"]]
            assert (own["start_ns"], own["correlation_id"]) == (row["call_start_ns"], row["correlation_id"])
            assert own["range_id"] == row["range_id"]
            assert row["range_id"] is None or by_id[row["range_id"]]["name"] == row["range"]
    launched = Counter(row["call_id"] for row in rows(tables, "kernels") if row["call_id"] is not None)
    assert {row["id"]: row["operations"] for row in calls.values() if row["operations"]} == launched
    assert {row["call_id"]: row["kernels"] for row in rows(tables, "launches")} == launched


# time        0    2    4    6    8   10   12   14   16   18   20   22   24
# range       [ step ------------------------------------------------)
# range                 [ inner --)
# launch           [1   )    [2   )
# sync                            [ wait ------)
# launch                                             [3  )
# kernel                [ a  )         [ b   )                [ c )
# mark          0
def test_a_drawn_trace(tmp_path: Path) -> None:
    trace = (
        TraceBuilder()
        .process(1, "/opt/serve/server")
        .gpu(0, name="GPU A")
        .range("step", 0, 21)
        .range("inner", 4, 8)
        .mark("CG_DISPATCH:mode=FULL", 1)
        .mark("other", 5)
        .api("cudaLaunchKernel", 2, 4, correlation=1)
        .api("cudaLaunchKernel", 6, 8, correlation=2)
        .api("cudaStreamSynchronize", 8, 14, correlation=3)
        .api("cudaLaunchKernel", 17, 19, correlation=4)
        .kernel(4, 6, correlation=1, name="a")
        .kernel(10, 13, correlation=2, name="b")
        .kernel(22, 24, correlation=4, name="c")
        .write(tmp_path / "t.sqlite")
    )
    tables = export_tables(trace, NAMES)
    kernels = rows(tables, "kernels")
    assert [(row["name"], row["call_start_ns"], row["range"]) for row in kernels] == [
        ("a", 2, "step"),
        ("b", 6, "inner"),
        ("c", 17, "step"),
    ]
    assert {(row["process_id"], row["process"], row["device"]) for row in kernels} == {(1, "server", 0)}
    # the first gap [6, 10): the call that ended it returned at 8, and was the innermost from 6 on
    # the second [13, 22): its thread waited until 14, was in no call until 17, launched until 19, and c was queued
    gaps = rows(tables, "gaps")
    assert [(row["start_ns"], row["end_ns"], row["before"], row["after"], row["cause"]) for row in gaps] == [
        (6, 10, "a", "b", "queued"),
        (13, 22, "b", "c", "queued"),
    ]
    assert [[row[f"{cause}_ns"] for cause in ("queued", "launch_call", "sync", "host")] for row in gaps] == [
        [2, 2, 0, 0],
        [3, 2, 1, 3],
    ]
    assert [(row["range"], row["call_id"], row["process"]) for row in gaps] == [
        ("inner", 1, "server"),
        ("step", 3, "server"),
    ]
    assert [(row["queue_delay_ns"], row["latency_ns"], row["kernels"]) for row in rows(tables, "launches")] == [
        (0, 2, 1),
        (2, 4, 1),
        (3, 5, 1),
    ]
    assert [(row["time_ns"], row["name"], row["range"]) for row in rows(tables, "marks")] == [
        (1, "CG_DISPATCH:mode=FULL", "step"),
        (5, "other", "inner"),
    ]
    assert [(row["name"], row["parent"], row["gpu_overlap_ns"]) for row in rows(tables, "nvtx")] == [
        ("step", None, 5),
        ("inner", "step", 2),
    ]
    # within [5, 12) there is 1 of a, 2 of b, none of c; their calls and ranges are those of before
    part = rows(export_tables(trace, NAMES, window=(5e-9, 12e-9)), "kernels")
    assert [(row["name"], row["duration_ns"], row["part_ns"], row["range"]) for row in part] == [
        ("a", 2, 1, "step"),
        ("b", 3, 2, "inner"),
    ]


def test_steps(tmp_path: Path) -> None:
    # step [0, 10) warms up; step [10, 30) has the kernel [12, 17)
    trace = (
        TraceBuilder()
        .range("step", 0, 10)
        .range("step", 10, 30)
        .api("cudaLaunchKernel", 10, 11)
        .kernel(12, 17)
        .mark("CG_DISPATCH:a", 3)
        .mark("CG_DISPATCH:b", 7)
        .write(tmp_path / "t.sqlite")
    )
    found = rows(export_tables(trace, ["steps"], steps="step"), "steps")
    assert [(row["start_ns"], row["warmup"], row["gpu_busy_ns"], row["launched_busy_ns"]) for row in found] == [
        (0, True, 0, 0),
        (10, False, 5, 5),
    ]
    dispatched = rows(export_tables(trace, ["steps"]), "steps")
    assert [(row["name"], row["start_ns"], row["end_ns"]) for row in dispatched] == [("CG_DISPATCH:a", 3, 7)]
    with pytest.raises(MissingData, match=r"t\.sqlite: no NVTX range or mark is named 'stop'"):
        nsys_digest.export(trace, "steps", steps="stop").read_all()


# ── Files, read back ─────────────────────────────────────────────────────────────────────────────────────────────────


def plain(value: Any) -> Any:
    """Return a value as Python has it: pandas has its own of what is missing."""
    if value is None or value is pandas.NA or value != value:
        return None
    return value.item() if hasattr(value, "item") else value


def of_pandas(frame: pandas.DataFrame) -> list[Row]:
    return [{key: plain(value) for key, value in row.items()} for row in frame.astype(object).to_dict("records")]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tables of a real trace in every format, a folder each."""
    within = tmp_path_factory.mktemp("tables")
    for form in ("parquet", "arrow", "csv", "ndjson"):
        done = call("export", TRACES[0].parent / "rank_0.sqlite", "--all", "-f", form, "-o", within / form)
        assert (done.status, done.out, done.err) == (0, "", "")
    return within


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_table_is_read_back_by_pandas_polars_and_duckdb(name: str, folders: Path) -> None:
    expected = nsys_digest.export(TRACES[0].parent / "rank_0.sqlite", name).read_all().to_pylist()
    assert expected
    files = {form: folders / form / f"{name}.{form}" for form in ("parquet", "arrow", "csv", "ndjson")}
    assert of_pandas(pandas.read_parquet(files["parquet"])) == expected
    assert polars.read_parquet(files["parquet"]).to_dicts() == expected
    assert polars.read_ipc(files["arrow"]).to_dicts() == expected
    assert polars.read_ndjson(files["ndjson"], infer_schema_length=None).to_dicts() == expected
    with duckdb.connect() as base:
        columns = list(expected[0])
        for read in (f"read_parquet('{files['parquet']}')", f"read_json('{files['ndjson']}', sample_size=-1)"):
            found = base.execute(f"SELECT * FROM {read}")
            assert [one[0] for one in found.description] == columns
            values = [[str(one) if isinstance(one, UUID) else one for one in row] for row in found.fetchall()]
            assert [dict(zip(columns, row, strict=True)) for row in values] == expected
        arrow = ipc.open_file(files["arrow"]).read_all()
        assert base.execute("SELECT count(*) FROM arrow").fetchone() == (len(expected),)
        assert arrow.to_pylist() == expected
    of_csv = pandas.read_csv(files["csv"], keep_default_na=False, na_values=[""])
    assert of_pandas(of_csv) == expected
    assert [json.loads(line) for line in files["ndjson"].read_text().splitlines()] == expected


@pytest.mark.parametrize("name", NAMES)
def test_files_say_what_their_columns_mean(name: str, folders: Path) -> None:
    declared = next(table for table in TABLES if table.name == name)
    schema, in_ipc = parquet.read_schema(folders / "parquet" / f"{name}.parquet"), folders / "arrow" / f"{name}.arrow"
    for found in (schema, ipc.open_file(in_ipc).schema):
        assert found.names == [column.name for column in declared.columns]
        for column in declared.columns:
            told = found.field(column.name).metadata
            assert (told[b"unit"].decode(), told[b"meaning"].decode()) == (column.unit, column.meaning)
        assert found.metadata[b"nsys_digest.table"] == name.encode()
        assert found.metadata[b"nsys_digest.file"] == b"rank_0.sqlite"


def test_columns_are_declared_as_rules_want() -> None:
    for table in TABLES:
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names), table.name
        for column in table.columns:
            assert (column.unit == "ns") == column.name.endswith("_ns"), (table.name, column.name)
            assert column.meaning


HOSTILE = (
    "=1+1",
    "+x",
    "-x",
    "@SUM(A1)",
    "'quoted",
    " =1",
    "a,b",
    'say "x"',
    "a\nb",
    "\x1b[31mred",
    "",
    "\u202eleft",
    "\tx",
    "a\r",
)


def test_hostile_names(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for at, name in enumerate(HOSTILE):
        trace.api("cudaLaunchKernel", 10 * at, 10 * at + 1, correlation=at + 1)
        trace.kernel(10 * at + 2, 10 * at + 5, correlation=at + 1, name=name)
    path = trace.write(tmp_path / "t.sqlite")
    lines = call("export", path, "--table", "kernels", "-f", "ndjson").out.splitlines()
    assert [json.loads(line)["name"] for line in lines] == list(HOSTILE)
    out = call("export", path, "--table", "kernels").out
    assert all(line.isprintable() for line in out.splitlines())
    (tmp_path / "t.csv").write_text(out, encoding="utf-8")
    cells = pandas.read_csv(tmp_path / "t.csv", keep_default_na=False)["name"].tolist()
    assert not [cell for cell in cells if cell.strip()[:1] in set("=+-@") and cell]
    shown = {
        "a\nb": r"a\x0ab",
        "\x1b[31mred": r"\x1b[31mred",
        "\u202eleft": r"\u202eleft",
        "\tx": r"\x09x",
        "a\r": r"a\x0d",
    }
    assert [cell.removeprefix("'") for cell in cells] == [shown.get(name, name) for name in HOSTILE]
    file = tmp_path / "t.parquet"
    assert call("export", path, "-t", "kernels", "-o", file).status == 0
    assert parquet.read_table(file)["name"].to_pylist() == list(HOSTILE)


def test_a_null_is_not_an_empty_text(tmp_path: Path) -> None:
    trace = TraceBuilder().range("", 0, 9).api("cudaLaunchKernel", 1, 2).kernel(3, 4).kernel(5, 6, correlation=9)
    out = call("export", trace.write(tmp_path / "t.sqlite"), "-t", "kernels").out.splitlines()
    assert [line.rpartition(",")[2] for line in out[1:]] == ['""', ""]


def test_an_empty_trace_has_empty_tables(tmp_path: Path) -> None:
    tables = export_tables(TraceBuilder(lazy=False).range("r", 0, 1).write(tmp_path / "t.sqlite"), NAMES)
    assert {name: len(rows(tables, name)) for name in NAMES} == {name: int(name == "nvtx") for name in NAMES}
    assert call("export", tmp_path / "t.sqlite", "-t", "sets").out.count("\n") == 1


def test_batches_are_made_as_they_are_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_module, "ROWS", 4)
    trace = TraceBuilder()
    for at in range(10):
        trace.kernel(10 * at, 10 * at + 5, name=str(at), correlation=at + 1)
    tables = export_tables(trace.write(tmp_path / "t.sqlite"), ["kernels"])
    made: list[int] = []
    place = tables._linked.place
    monkeypatch.setattr(tables._linked, "place", lambda own: made.append(own.size) or place(own))
    reader = tables.reader("kernels")
    assert (reader.read_next_batch().num_rows, made) == (4, [4])
    assert isinstance(reader, pyarrow.RecordBatchReader)
    assert [batch.num_rows for batch in reader] == [4, 2]
    assert made == [4, 4, 2]


# ── Errors ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--table", "kernal"], "there is no table 'kernal'; did you mean kernels?"),
        (["--table", "zzz"], "there is no table 'zzz'; the tables are kernels, copies,"),
        ([], "one table or all: give --table NAME, or --all -o DIR"),
        (["--all", "--table", "gaps"], "one table or all"),
        (["--all"], "name the folder for them with -o DIR"),
        (["--table", "gaps", "-f", "parquet"], "name the file with -o FILE.parquet"),
        (["--table", "gaps", "-o", "gaps.xlsx"], "the name does not say in which format"),
        (["--all", "-o", "full"], "this folder is not empty"),
        (["--all", "-o", "full/file"], "this is no folder"),
        (["--all", "-o", "not/there"], "is not there; make it first"),
        (["--table", "gaps", "-o", "t.sqlite", "-f", "csv"], "this is the trace itself"),
    ],
)
def test_usage(words: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TraceBuilder().kernel(0, 1).write(tmp_path / "t.sqlite")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    done = call("export", "t.sqlite", *words)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert said in done.err
    assert done.err.endswith("[usage-invalid]\n")
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_what_is_no_trace(tmp_path: Path) -> None:
    with pytest.raises(UsageInvalid, match="stored digest"):
        nsys_digest.export(ROOT / "fixtures" / "golden" / "nogpu.json", "api")
    with pytest.raises(TypeError, match="did you mean 'window'"):
        nsys_digest.export(TRACES[0], "api", windo="1s:2s")  # type: ignore[call-arg]
    done = call("export", tmp_path / "none.sqlite", "-t", "api", "-o", tmp_path / "x.csv")
    assert (done.status, list(tmp_path.iterdir())) == (3, [])


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
from nsys_digest.__main__ import main
sys.exit(main())
"""
INTERRUPTED = """
import os, signal, sys
from nsys_digest.render import table_files
write = table_files.write_table
def then_signal(reader, form, file):
    write(reader, form, file)
    file.flush()
    os.kill(os.getpid(), signal.SIGINT)
table_files.write_table = then_signal
from nsys_digest.__main__ import main
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "arrow", "csv", "ndjson"])
@pytest.mark.parametrize("words", [("-t", "api"), ("--all",)])
def test_a_full_disk_and_ctrl_c_leave_nothing(form: str, words: tuple[str, ...], tmp_path: Path) -> None:
    trace = TRACES[0].parent / "serve.sqlite"
    asked = ("export", trace, *words, "-f", form, "-o", tmp_path / "out")
    full = spawn(*asked, script=FULL)
    assert (full.status, full.err.count("\n"), list(tmp_path.iterdir())) == (1, 1, [])
    assert full.err.endswith("[output-failed]\n")
    assert "nothing there was changed" in full.err
    stopped = spawn(*asked, script=INTERRUPTED)
    assert (stopped.status, list(tmp_path.iterdir())) == (128 + signal.SIGINT, [])
    assert stopped.err == "nsys-digest: interrupted; nothing was written [interrupted]\n"


def test_an_empty_folder_is_filled(tmp_path: Path) -> None:
    trace = TraceBuilder().kernel(0, 1).write(tmp_path / "t.sqlite")
    (tmp_path / "out").mkdir()
    assert call("export", trace, "--all", "-f", "csv", "-o", tmp_path / "out").status == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == sorted(f"{name}.csv" for name in NAMES)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "t.sqlite"]


# ── The long table of figures, and the tables of a digest ────────────────────────────────────────────────────────────


@pytest.mark.slow
def test_the_long_table_has_every_figure(tmp_path: Path) -> None:
    trace = TRACES[0].parent / "rank_0.sqlite"
    digest = summarize(trace)
    expected = [(one.figure, list(one.names), one.value, one.unit) for one in nsys_digest.figures(digest)]
    lines = [json.loads(line) for line in call("summarize", trace, "-q", "-f", "ndjson").out.splitlines()]
    assert [(row["figure"], row["names"], row["value"], row["unit"]) for row in lines] == expected
    text = call("summarize", trace, "-q", "-f", "csv").out
    (tmp_path / "figures.csv").write_text(text, encoding="utf-8")
    cells = duckdb.read_csv(str(tmp_path / "figures.csv"), all_varchar=True).fetchall()
    for (figure, *given, value, unit), (path, names, number, of) in zip(cells, expected, strict=True):
        assert (figure, unit) == (path, of)
        assert [one.removeprefix("'") for one in given if one is not None] == names
        assert (None if value is None else float(value)) == number


def numeral(value: Any) -> str:
    """Return a number or text as JSON, a whole number alike whether or not it is a float."""
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)


def leaves(value: Any) -> Iterator[str]:
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from leaves(part)
    elif value is not None:
        yield numeral(value)


@pytest.mark.slow
@pytest.mark.parametrize("trace", TRACES, ids=lambda path: path.stem)
def test_tables_of_a_digest_hold_all_that_its_document_does(trace: Path) -> None:
    digest = summarize(trace, by_device=True, labels={"commit": "0123"})
    cells: Counter[str] = Counter()
    for frame in digest.to_pandas().values():
        for column in frame:
            cells.update(numeral(plain(value)) for value in frame[column] if not isinstance(value, list | dict))
    document = digest.to_dict()
    wanted = Counter(leaves(document))
    assert not {text: (count, cells[text]) for text, count in wanted.items() if cells[text] < count}
