"""Folders of Parquet and Arrow files: the digest of the SQLite export of the same report, whatever the types are."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from builder import VERSIONS, TraceBuilder
from folders import write_folder
from nsys_digest import NotATrace, TraceUnreadable, ValueUnreadable, classify, inspect, summarize
from nsys_digest.trace.folder.batch import values_of
from nsys_digest.trace.folder.source import open_folder
from nsys_digest.trace.threads import LEAST_JOB_ROWS
from oracle_account import random_account_trace
from support import ROOT, call

KINDS = ("parquetdir", "arrowdir")
FIXTURES = sorted((ROOT / "fixtures" / "traces").glob("*.sqlite"))
THREADED = "nsys_digest.trace.threads.LEAST_JOB_ROWS"


def same(found: dict[str, Any], expected: dict[str, Any]) -> bool:
    """Tell whether two documents are the same text, but for the name and path of the trace."""
    return json.dumps(found | {key: expected[key] for key in ("file", "path")}) == json.dumps(expected)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Return a trace with a kernel, a copy and a range.

    ::

        kernel  10 ###### 30
        copy          25 #### 40
        range  0 ------------------ 50
    """
    builder = TraceBuilder().kernel(10, 30, name="gemm").memcpy(25, 40).range("step", 0, 50)
    return builder.write(tmp_path / "small.sqlite")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("trace", FIXTURES, ids=lambda path: path.stem)
def test_a_folder_gives_the_golden_document(trace: Path, kind: str, tmp_path: Path) -> None:
    folder = write_folder(trace, tmp_path / f"{trace.stem}.{kind}")
    golden = json.loads((ROOT / "fixtures" / "golden" / f"{trace.stem}.json").read_text())
    found = summarize(folder).to_dict()
    assert (found["file"], found["path"]) == (f"{trace.stem}.{kind}", str(folder))
    assert same(found, golden)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", VERSIONS)
def test_every_age_in_many_pieces_by_many_threads(
    version: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(THREADED, 5)
    assert LEAST_JOB_ROWS > 5  # else nothing would be cut
    for seed, (files, rows) in enumerate(((1, 3), (3, 2), (12, 100))):
        rng = Random(seed)
        trace = random_account_trace(rng, version).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        folder = write_folder(trace, tmp_path / f"{seed}.{kind}", rows_per_batch=rows, files=files, named=seed != 1)
        expected = summarize(trace).to_dict()
        assert same(summarize(folder).to_dict(), expected)
        assert same(summarize(folder, threads=3).to_dict(), expected)
        assert classify(folder).kernels == classify(trace).kernels
        of_folder, of_trace = (inspect(path).to_dict() for path in (folder, trace))
        unlike = {key for key in of_trace if of_trace[key] != of_folder[key]}
        assert unlike <= {"file", "size_bytes"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_may_be_a_folder_of_files(small: Path, kind: str, tmp_path: Path) -> None:
    folder = write_folder(small, tmp_path / f"t.{kind}", files=2, rows_per_batch=1, named=False)
    suffix = "." + kind.removesuffix("dir")
    for path in sorted(folder.iterdir()):
        table = path.stem.rpartition("-")[0] or path.stem
        (folder / f"{table}{suffix}").mkdir(exist_ok=True)
        path.rename(folder / f"{table}{suffix}" / f"part-{path.stem[-1]}{suffix}")
    assert same(summarize(folder).to_dict(), summarize(small).to_dict())


def test_only_the_columns_in_use_are_read(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(small, tmp_path / "t.parquetdir")
    read: list[str] = []
    there = pq.ParquetFile.iter_batches

    def noted(self: Any, *args: Any, **options: Any) -> Any:
        read.extend(options["columns"])
        return there(self, *args, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", noted)
    summarize(folder)
    assert {"start", "end", "shortName"} <= set(read)
    assert not {"gridX", "registersPerThread", "launchType"} & set(read)


def replaced(folder: Path, table: str, change: Callable[[pa.Table], pa.Table]) -> None:
    """Change a table of a folder."""
    path = folder / f"{table}.parquet"
    pq.write_table(change(pq.read_table(path)), path)


def column_as(name: str, make: Callable[[pa.ChunkedArray], Any]) -> Callable[[pa.Table], pa.Table]:
    """Return what puts other values or another type into a column."""
    return lambda table: table.set_column(table.schema.get_field_index(name), name, make(table.column(name)))


def encoded_as(column: pa.ChunkedArray, kind: str) -> pa.ChunkedArray:
    """Return the values in a type of that name."""
    return column.dictionary_encode() if kind == "dictionary" else column.cast(kind)


KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"


@pytest.mark.parametrize(
    "kind", ["int8", "int16", "int32", "uint8", "uint16", "uint32", "uint64", "float", "double", "dictionary"]
)
def test_integers_of_every_type(small: Path, tmp_path: Path, kind: str) -> None:
    folder = write_folder(small, tmp_path / "t.parquetdir")
    for name in ("start", "end", "deviceId", "streamId"):
        replaced(
            folder,
            KERNELS,
            column_as(
                name,
                lambda column: (
                    column.cast("int64").dictionary_encode()
                    if kind == "dictionary"
                    else column.cast("int64").cast(kind)
                ),
            ),
        )
    assert same(summarize(folder).to_dict(), summarize(small).to_dict())


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary", "string_view", "dictionary"])
def test_texts_of_every_type(small: Path, tmp_path: Path, kind: str) -> None:
    folder = write_folder(small, tmp_path / "t.parquetdir")
    for table, name in (("StringIds", "value"), ("NVTX_EVENTS", "text")):
        replaced(
            folder,
            table,
            column_as(
                name,
                lambda column: column.dictionary_encode() if kind == "dictionary" else column.cast("string").cast(kind),
            ),
        )
    assert same(summarize(folder).to_dict(), summarize(small).to_dict())


def test_a_column_of_nulls_without_a_type_is_one_that_is_not_there(small: Path, tmp_path: Path) -> None:
    folder = write_folder(small, tmp_path / "t.parquetdir")
    replaced(folder, KERNELS, column_as("graphNodeId", lambda column: pa.nulls(len(column))))
    replaced(folder, "NVTX_EVENTS", lambda table: table)
    assert same(summarize(folder).to_dict(), summarize(small).to_dict())


def test_ids_beyond_the_sign_are_those_of_sqlite(tmp_path: Path) -> None:
    # 2**63 + 5 without a sign is what SQLite stores as -(2**63) + 5
    assert values_of(pa.array([2**63 + 5, None, 7], pa.uint64())) == [-(2**63) + 5, None, 7]
    assert values_of(pa.array([True, False, None])) == [1, 0, None]
    assert values_of(pa.array([1.5, None])) == [1.5, None]
    assert values_of(pa.array([b"a\xff", None, b"b"], pa.large_binary())) == ["a\ufffd", None, "b"]
    assert values_of(pa.array([None, None])) == [None, None]


def test_numbers_that_ranges_carry(tmp_path: Path) -> None:
    """Payloads are in four columns, one of them of 32 bits; 0.5 and 2.25 are the same in both sizes."""
    columns = [{"doubleValue": 0.5}, {"floatValue": 2.25}, {"int64Value": -3}, {"uint64Value": 7}]
    builder = TraceBuilder().kernel(0, 1)
    for index, column in enumerate(columns):
        builder.range("step", 10 * index, 10 * index + 5, **column)
    trace = builder.write(tmp_path / "t.sqlite")
    for kind in KINDS:
        folder = write_folder(trace, tmp_path / f"t.{kind}")
        expected = summarize(trace, sections=["nvtx_payload"]).to_dict()
        assert expected["nvtx_payload"]
        assert same(summarize(folder, sections=["nvtx_payload"]).to_dict(), expected)


def test_text_that_is_no_utf8(small: Path, tmp_path: Path) -> None:
    folder = write_folder(small, tmp_path / "t.parquetdir")
    raw = pa.array([b"ge\xffmm" if value == "gemm" else value.encode() for value in _strings(folder)], pa.binary())
    replaced(folder, "StringIds", column_as("value", lambda _: raw.view("string")))
    assert [name for name, _ in summarize(folder).top_kernels] == ["ge\ufffdmm"]


def _strings(folder: Path) -> list[str]:
    found: list[str] = pq.read_table(folder / "StringIds.parquet").column("value").to_pylist()
    return found


def test_text_where_a_number_belongs(small: Path, tmp_path: Path) -> None:
    folder = write_folder(small, tmp_path / "t.parquetdir")
    replaced(folder, KERNELS, column_as("start", lambda column: pa.array(["soon"] * len(column))))
    with pytest.raises(ValueUnreadable, match=r"column start of table \S+ is of type string where integers belong"):
        summarize(folder)
    replaced(folder, KERNELS, column_as("start", lambda column: pa.array([1.5] * len(column))))
    with pytest.raises(ValueUnreadable, match="is of type double where integers belong"):
        summarize(folder)


def test_a_folder_that_is_no_export(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    with pytest.raises(TraceUnreadable, match=r"a folder without a table of an export \(\.parquet, \.arrow\)"):
        summarize(tmp_path / "notes")
    other = tmp_path / "sales"
    other.mkdir()
    pq.write_table(pa.table({"price": [1]}), other / "sales.parquet")
    with pytest.raises(NotATrace, match=r"a folder of Parquet files, but no nsys export \(its tables: sales\)"):
        summarize(other)


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_that_is_missing(small: Path, kind: str, tmp_path: Path) -> None:
    folder = write_folder(small, tmp_path / f"t.{kind}")
    suffix = kind.removesuffix("dir")
    (folder / f"CUPTI_ACTIVITY_KIND_MEMCPY.{suffix}").unlink()
    assert summarize(folder).devices[0].count["memcpy"] == 0  # nsys makes tables when a row comes
    (folder / f"StringIds.{suffix}").unlink()
    ran = call("summarize", folder)
    assert (ran.status, ran.out) == (3, "")
    assert "table StringIds is missing in it" in ran.err
    assert ran.err.endswith("[not-a-trace]\n")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_that_is_cut_short(small: Path, kind: str, tmp_path: Path) -> None:
    whole = write_folder(small, tmp_path / f"t.{kind}", rows_per_batch=1)
    name = f"NVTX_EVENTS.{kind.removesuffix('dir')}"
    data = (whole / name).read_bytes()
    for index, length in enumerate([*range(0, len(data), 97), len(data) - 1]):
        folder = tmp_path / f"{index}.{kind}"
        shutil.copytree(whole, folder)
        (folder / name).write_bytes(data[:length])
        ran = call("summarize", folder)
        assert (ran.status, ran.out) == (3, ""), length
        assert ran.err.count("\n") == 1
        assert "NVTX_EVENTS" in ran.err
        assert "cut short" in ran.err
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_bytes_end_in_a_digest_or_one_line(small: Path, kind: str, tmp_path: Path) -> None:
    folder = write_folder(small, tmp_path / f"t.{kind}")
    rng = Random(7)
    names = [f"{table}.{kind.removesuffix('dir')}" for table in (KERNELS, "StringIds", "NVTX_EVENTS")]
    for round_ in range(60):
        path = folder / names[round_ % 3]
        whole = path.read_bytes()
        data = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data)
        ran = call("summarize", folder, "-q")
        assert ran.status == 0 or (ran.status == 3 and ran.err.count("\n") == 1), ran.err
        path.write_bytes(whole)


def test_one_file_of_a_folder(small: Path, tmp_path: Path) -> None:
    folder = write_folder(small, tmp_path / "t.parquetdir")
    with pytest.raises(
        NotATrace, match=r"this is one table of an export; name the folder that it is in: .*t\.parquetdir"
    ):
        summarize(folder / "StringIds.parquet")


def test_rows_that_cannot_be_there(small: Path, tmp_path: Path) -> None:
    folder = write_folder(small, tmp_path / "t.parquetdir")
    rows = pa.table({"start": pa.nulls(5_000_000, pa.int64())})  # less than a kilobyte
    pq.write_table(rows, folder / f"{KERNELS}.parquet", row_group_size=5_000_000)
    with pytest.raises(TraceUnreadable, match="it claims 5,000,000 rows in so few bytes"):
        summarize(folder)


@pytest.mark.parametrize("kind", KINDS)
def test_times_of_all_rows(small: Path, kind: str, tmp_path: Path) -> None:
    source = open_folder(write_folder(small, tmp_path / f"t.{kind}"))
    assert source.time_range(KERNELS, "start", "end", exact=False) == (10, 30)
    assert source.time_range("NVTX_EVENTS", "start", "none", exact=True) is None
    source.close()
