"""What cannot be read is refused in one line, and what is odd but readable is read; no file is ever touched."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from builder import KERNEL, NVTX, RUNTIME, TraceBuilder
from nsys_digest import Digest, DigestError, summarize
from nsys_digest.trace.source import Reader
from support import READERS, Ran, call, digest_json, refused, small_trace, spawn, the_line, untouched
from test_fixtures import FIXTURES

SUMMARIES = tuple(("summarize", "--reader", reader) for reader in READERS)
LFS_POINTER = (
    "version https://git-lfs.github.com/spec/v1\n"
    "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\n"
    "size 123456\n"
)

# Everything is imported and used once before the rights go, as no file of the interpreter may be needed after.
WITHOUT_RIGHTS = """
import os, sys
from nsys_digest.cli import main
assert main(["summarize", "--quiet", "--reader", "adbc", "-o", os.devnull, sys.argv[1]]) == 0
assert main(["inspect", "-f", "text", "-o", os.devnull, sys.argv[1]]) == 0
if os.geteuid() == 0:
    os.setresuid(65534, 65534, 65534)
sys.exit(main(sys.argv[2:]))
"""
LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("locked", flush=True)
sys.stdin.read()
"""
HOT_JOURNAL = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("PRAGMA cache_size = 1")
connection.execute("PRAGMA cache_spill = 1")
connection.execute("BEGIN")
connection.execute("UPDATE StringIds SET value = value || hex(randomblob(3000))")
connection.execute("CREATE TABLE more AS SELECT hex(randomblob(5000)) FROM StringIds")
os._exit(0)
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return small_trace().write(tmp_path / "trace.sqlite")


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """Give a folder that other users can enter, unlike tmp_path."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def without_rights(*arguments: str | Path, warm: Path) -> Ran:
    return spawn(warm, *arguments, script=WITHOUT_RIGHTS)


def run_script(script: str, path: Path) -> None:
    subprocess.run([sys.executable, "-c", script, str(path)], check=True, timeout=30)


def execute(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


def test_missing_file(tmp_path: Path) -> None:
    path = tmp_path / "none.sqlite"
    assert refused(path, "trace-unreadable", folder=tmp_path) == f"{path}: no such file; check the path"


def test_file_in_place_of_a_folder(trace: Path) -> None:
    line = refused(trace / "x.sqlite", "trace-unreadable", folder=trace.parent)
    assert line == f"{trace / 'x.sqlite'}: cannot be read (Not a directory); check the path"


def test_name_too_long(tmp_path: Path) -> None:
    line = refused(tmp_path / ("x" * 300), "trace-unreadable", folder=tmp_path)
    assert "cannot be read (File name too long)" in line


def test_folder(tmp_path: Path) -> None:
    (tmp_path / "trace.sqlite").mkdir()
    line = refused(tmp_path / "trace.sqlite", "trace-unreadable", folder=tmp_path)
    folder = tmp_path / "trace.sqlite"
    assert line == (
        f"{folder}: this is a folder without a table of an export (.parquet, .arrow) in it; name the trace in it"
    )


def test_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    line = refused(tmp_path / "pipe", "trace-unreadable", folder=tmp_path)
    assert line.startswith(f"{tmp_path / 'pipe'}: this is not a regular file; ")
    assert "save it to disk first" in line


def test_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.sqlite"
    path.touch()
    line = refused(path, "trace-unreadable", folder=tmp_path)
    assert line.startswith(f"{path}: the file is empty; ")
    assert line.endswith(f"nsys export --type sqlite --force-overwrite true {tmp_path}/trace.nsys-rep")


def test_git_lfs_pointer(tmp_path: Path) -> None:
    path = tmp_path / "trace.sqlite"
    path.write_text(LFS_POINTER)
    assert path.stat().st_size == 131
    line = refused(path, "not-a-trace", folder=tmp_path)
    assert line == f"{path}: this is a Git LFS pointer, not the trace; fetch it with: git lfs pull"


def test_raw_data(tmp_path: Path) -> None:
    path = tmp_path / "run.qdstrm"
    path.write_bytes(b"QDSTRM\0\1" * 100)
    line = refused(path, "not-a-trace", folder=tmp_path)
    assert line.startswith(f"{path}: this is raw nsys data, not an export; make a report of it with QdstrmImporter")


def test_raw_data_says_its_version(tmp_path: Path) -> None:
    path = tmp_path / "run"
    path.write_bytes(b"\xaa\xf0U3w[END]NVIDIA Nsight Systems Stream 2025.3.1.0!\n" + bytes(100))
    line = refused(path, "not-a-trace", folder=tmp_path)
    assert line.startswith(f"{path}: this is raw nsys data of version 2025.3.1.0, not an export; make a report of it ")


def test_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "places.sqlite"
    execute(path, "CREATE TABLE moz_places (id, url)", "CREATE TABLE moz_hosts (id)")
    line = refused(path, "not-a-trace", folder=tmp_path)
    assert line.startswith(f"{path}: this is an SQLite file, but no nsys export (its tables: moz_hosts, moz_places); ")
    assert line.endswith("nsys export --type sqlite REPORT.nsys-rep")


def test_database_without_a_table(tmp_path: Path) -> None:
    path = tmp_path / "new.sqlite"
    execute(path, "PRAGMA user_version = 1")
    assert "no nsys export (its tables: none)" in refused(path, "not-a-trace", folder=tmp_path)


@pytest.mark.parametrize("content", [b"start,end\n1,2\n" * 50, b"x", b"SQLite format 2\0" + bytes(200)])
def test_other_content_under_the_right_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "trace.sqlite"
    path.write_bytes(content)
    assert refused(path, "not-a-trace", folder=tmp_path).startswith(f"{path}: this is not an SQLite file; ")


def test_nothing_but_the_first_word(tmp_path: Path) -> None:
    path = tmp_path / "trace.sqlite"
    path.write_bytes(b"SQLite format 3\0")
    line = refused(path, "trace-unreadable", folder=tmp_path)
    assert line.startswith(f"{path}: the file is cut short, to 16 bytes; copy or export it again: nsys export ")


@pytest.mark.parametrize("size", [100, 4096])
def test_zeroed_header(trace: Path, size: int) -> None:
    data = bytearray(trace.read_bytes())
    data[:size] = bytes(size)
    trace.write_bytes(data)
    line = refused(trace, "trace-unreadable", folder=trace.parent)
    assert line.startswith(f"{trace}: its header is all zeros, as an interrupted export leaves it; again: nsys export")


def test_cut_in_half(trace: Path) -> None:
    size = trace.stat().st_size
    os.truncate(trace, size // 2)
    line = refused(trace, "trace-unreadable", folder=trace.parent)
    assert f"cut short: its header says {size} bytes, it has {size // 2}; copy or export it again" in line


def test_cut_in_half_with_a_header_that_does_not_know_its_length(trace: Path) -> None:
    data = bytearray(trace.read_bytes())
    data[92:96] = bytes(4)
    trace.write_bytes(data[: len(data) // 2])
    assert "SQLite cannot read it (" in refused(trace, "trace-unreadable", folder=trace.parent)


@pytest.mark.parametrize("table", [KERNEL, RUNTIME, NVTX, "StringIds"])
def test_corrupt_page_in_a_table(tmp_path: Path, table: str) -> None:
    builder = TraceBuilder()
    for index in range(2000):
        builder.kernel(10 * index, 10 * index + 5, name=f"kernel {index}").api("cudaLaunchKernel", index, index + 1)
        builder.range(f"range {index}", index, index + 1)
    path = builder.write(tmp_path / "trace.sqlite")
    with closing(sqlite3.connect(path)) as connection:
        page_size = connection.execute("PRAGMA page_size").fetchone()[0]
        root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()[0]
    data = bytearray(path.read_bytes())
    # The root is an interior page: its first cell names a leaf, whose page type becomes one that does not exist.
    start = page_size * (root - 1)
    assert data[start] == 5
    cell = int.from_bytes(data[start + 12 : start + 14], "big")
    leaf = int.from_bytes(data[start + cell : start + cell + 4], "big")
    data[page_size * (leaf - 1) : page_size * leaf] = b"\xff" * page_size
    path.write_bytes(data)
    line = refused(path, "trace-unreadable", folder=tmp_path, commands=SUMMARIES)
    assert line.startswith(f"{path}: SQLite cannot read it (database disk image is malformed); copy or export it again")


def wal_mode(path: Path) -> None:
    execute(path, "PRAGMA journal_mode = WAL")
    assert path.read_bytes()[18:20] == b"\2\2"


def test_write_ahead_mode_without_a_log(trace: Path) -> None:
    expected = digest_json(trace, folder=trace.parent)
    wal_mode(trace)
    assert [path.name for path in trace.parent.iterdir()] == ["trace.sqlite"]
    assert digest_json(trace, folder=trace.parent) == expected
    with untouched(trace.parent):
        assert call("inspect", trace).status == 0


@pytest.mark.parametrize("through_a_link", [False, True])
def test_write_ahead_log_that_is_not_merged(trace: Path, tmp_path: Path, through_a_link: bool) -> None:
    wal_mode(trace)
    with closing(sqlite3.connect(trace)) as connection:
        connection.execute("DELETE FROM StringIds")
        connection.commit()
        kept = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    folder = tmp_path / "copy"
    folder.mkdir()
    for name, content in kept.items():
        (folder / name).write_bytes(content)
    asked = folder / "trace.sqlite"
    if through_a_link:
        asked = tmp_path / "link.sqlite"
        asked.symlink_to(folder / "trace.sqlite")
    line = refused(asked, "trace-in-use", folder=tmp_path)
    assert line.startswith(f"{asked}: trace.sqlite-wal beside it holds changes that are not in the file yet; ")
    assert line.endswith(f'sqlite3 {asked} "PRAGMA wal_checkpoint(TRUNCATE)"')


def test_hot_journal(trace: Path) -> None:
    run_script(HOT_JOURNAL, trace)
    journal = trace.with_name("trace.sqlite-journal")
    assert journal.stat().st_size > 512
    line = refused(trace, "trace-in-use", folder=trace.parent)
    assert line.startswith(f"{trace}: trace.sqlite-journal beside it holds changes that are not in the file yet; ")
    assert line.endswith(f'sqlite3 {trace} "PRAGMA user_version"')
    execute(trace, "PRAGMA user_version")  # as the line says
    assert not journal.exists()
    assert json.loads(digest_json(trace, folder=trace.parent))["kernel_count"] == 2


def test_journal_that_is_done(trace: Path) -> None:
    trace.with_name("trace.sqlite-journal").write_bytes(bytes(4096))
    assert json.loads(digest_json(trace, folder=trace.parent))["kernel_count"] == 2


def test_locked_by_another_process(trace: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", LOCK, str(trace)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"locked\n"
        line = refused(trace, "trace-in-use", folder=trace.parent)
        holder.communicate(timeout=30)
    assert line.startswith(f"{trace}: another program holds it locked; wait until ")
    assert call("summarize", trace).status == 0


@pytest.mark.slow
def test_no_permission_for_the_file(public_folder: Path) -> None:
    warm = small_trace().write(public_folder / "warm.sqlite")
    path = small_trace().write(public_folder / "trace.sqlite")
    path.chmod(0)
    for words in ("summarize", "inspect"):
        with untouched(public_folder):
            line = the_line(without_rights(words, path, warm=warm), 3, "trace-unreadable")
        assert line == f"{path}: no permission to read it; ask its owner, or: chmod +r"
    path.chmod(0o600)


@pytest.mark.slow
def test_no_permission_for_the_folder(public_folder: Path) -> None:
    warm = small_trace().write(public_folder / "warm.sqlite")
    closed = public_folder / "closed"
    closed.mkdir()
    path = small_trace().write(closed / "trace.sqlite")
    closed.chmod(0)
    line = the_line(without_rights("summarize", path, warm=warm), 3, "trace-unreadable")
    closed.chmod(0o700)
    assert line.startswith(f"{path}: no permission to read it")


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("wal", [False, True])
@pytest.mark.slow
def test_folder_that_cannot_be_written(public_folder: Path, reader: str, wal: bool) -> None:
    path = small_trace().write(public_folder / "trace.sqlite")
    expected = digest_json(path, folder=public_folder)
    if wal:
        wal_mode(path)
    path.chmod(0o444)
    public_folder.chmod(0o555)
    with untouched(public_folder):
        ran = without_rights("summarize", "--quiet", "--reader", reader, path, warm=path)
    public_folder.chmod(0o755)
    assert (ran.status, ran.err, ran.out) == (0, "", expected)


ODD_NAMES = [
    *("a#b.sqlite", "a?mode=rwc.sqlite", "100%.sqlite", "%41.sqlite", "a b.sqlite", "größe 数 🚀.sqlite"),
    *("a&b=c;d.sqlite", "'quoted\".sqlite", "back\\slash.sqlite", "a\nb.sqlite", "\x1b[31mred.sqlite", ":memory:"),
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_path(tmp_path: Path, name: str) -> None:
    folder = tmp_path / f"in {name}"
    folder.mkdir()
    path = small_trace().write(folder / name)
    document = json.loads(digest_json(path, folder=tmp_path))
    assert (document["file"], document["kernel_count"]) == (name, 2)
    with untouched(tmp_path):
        found = call("inspect", path)
    assert (found.status, json.loads(found.out)["file"]) == (0, name)


@pytest.mark.parametrize("name", ODD_NAMES)
def test_odd_path_that_is_missing(tmp_path: Path, name: str) -> None:
    line = refused(tmp_path / name, "trace-unreadable", folder=tmp_path)
    assert line.endswith(": no such file; check the path")
    assert line.isprintable()


def test_path_that_is_not_utf8(tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / os.fsdecode(b"caf\xe9.sqlite"))
    document = json.loads(digest_json(path, folder=tmp_path))
    assert document["file"] == os.fsdecode(b"caf\xe9.sqlite")


def test_relative_path(trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = json.loads(digest_json(trace, folder=trace.parent))
    monkeypatch.chdir(trace.parent)
    for given in ("trace.sqlite", "./trace.sqlite"):
        document = json.loads(digest_json(given, folder=trace.parent))
        assert document == expected | {"path": "trace.sqlite"}
    assert (
        refused("none.sqlite", "trace-unreadable", folder=trace.parent) == "none.sqlite: no such file; check the path"
    )


def test_symbolic_link(trace: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.sqlite"
    link.symlink_to("trace.sqlite")
    document = json.loads(digest_json(link, folder=tmp_path))
    assert (document["file"], document["kernel_count"]) == ("link.sqlite", 2)


def test_symbolic_links_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "gone.sqlite").symlink_to("nowhere")
    (tmp_path / "loop.sqlite").symlink_to("loop.sqlite")
    assert "no such file" in refused(tmp_path / "gone.sqlite", "trace-unreadable", folder=tmp_path)
    assert "symbolic links" in refused(tmp_path / "loop.sqlite", "trace-unreadable", folder=tmp_path)


def without_types(path: Path, table: str) -> None:
    """Rebuild a table so that its columns keep whatever they are given."""
    with closing(sqlite3.connect(path)) as connection:
        names = ", ".join(f'"{name}"' for _, name, *_ in connection.execute(f"PRAGMA table_info({table})"))
        connection.executescript(
            f"ALTER TABLE {table} RENAME TO old; CREATE TABLE {table} ({names}); "
            f"INSERT INTO {table} SELECT * FROM old; DROP TABLE old;"
        )


TIMED = [(KERNEL, "kernel_count"), (RUNTIME, "api"), (NVTX, "nvtx")]


@pytest.mark.parametrize(("table", "key"), TIMED)
def test_whole_floats_are_integers(trace: Path, table: str, key: str) -> None:
    expected = digest_json(trace, folder=trace.parent)
    assert json.loads(expected)[key]
    without_types(trace, table)
    execute(trace, f'UPDATE {table} SET start = CAST(start AS REAL), "end" = CAST("end" AS REAL) WHERE rowid > 1')
    execute(trace, f"UPDATE {table} SET start = CAST(start AS REAL)")
    assert digest_json(trace, folder=trace.parent) == expected


@pytest.mark.parametrize("value", ["1.5", "'soon'", "x'ff00'", "1e300", "9223372036854775808.0", "-1e999"])
@pytest.mark.parametrize(("table", "_key"), TIMED)
def test_value_of_the_wrong_type(trace: Path, table: str, _key: str, value: str) -> None:
    without_types(trace, table)
    execute(trace, f"UPDATE {table} SET start = {value} WHERE rowid = (SELECT max(rowid) FROM {table})")
    line = refused(trace, "value-unreadable", folder=trace.parent, commands=SUMMARIES)
    assert line.startswith(f"{trace}: column start of table {table} holds ")
    assert " where an integer belongs; export the report again with: nsys export --type sqlite " in line
    with untouched(trace.parent):
        assert call("inspect", trace).status == 0  # which does not read events


@pytest.mark.slow
def test_wrong_type_after_many_rows(tmp_path: Path) -> None:
    builder = small_trace()
    for index in range(20_000):
        builder.api("cudaLaunchKernel", 1000 + index, 1001 + index)
    path = builder.write(tmp_path / "trace.sqlite")
    expected = digest_json(path, folder=tmp_path)
    without_types(path, RUNTIME)
    execute(path, f"UPDATE {RUNTIME} SET start = CAST(start AS REAL) WHERE rowid > 19000")
    assert digest_json(path, folder=tmp_path) == expected
    execute(path, f"UPDATE {RUNTIME} SET start = 2.5 WHERE rowid = 19500")
    assert "holds 2.5 where" in refused(path, "value-unreadable", folder=tmp_path, commands=SUMMARIES)


@pytest.mark.parametrize("column", ["globalPid", "graphNodeId", "deviceId", "shortName"])
def test_null_reads_as_the_column_being_absent(tmp_path: Path, column: str) -> None:
    absent = -1 if column == "shortName" else 0
    found = []
    for value in ("NULL", str(absent)):
        path = small_trace().write(tmp_path / "trace.sqlite")
        without_types(path, KERNEL)
        execute(path, f"UPDATE {KERNEL} SET {column} = {value} WHERE rowid = 2")
        found.append(digest_json(path, folder=tmp_path))
    assert found[0] == found[1]
    assert json.loads(found[0])["kernel_count"] == 2


def test_text_that_is_not_utf8(tmp_path: Path) -> None:
    path = small_trace().meta("EXPORT_PRODUCT_NAME", "nsys").write(tmp_path / "trace.sqlite")
    execute(
        path,
        "UPDATE StringIds SET value = CAST(x'67ff6d' AS TEXT) WHERE value = 'gemm'",
        f"UPDATE {NVTX} SET text = CAST(x'73c328' AS TEXT) WHERE text = 'step'",
        f"UPDATE {NVTX} SET text = CAST(x'43475f4449535041544348ed' AS TEXT) WHERE text LIKE 'CG%'",
        "UPDATE META_DATA_EXPORT SET value = CAST(x'6eff' AS TEXT) WHERE name = 'EXPORT_PRODUCT_NAME'",
        "UPDATE PROCESSES SET name = CAST(x'70fe' AS TEXT)",
        "UPDATE TARGET_INFO_GPU SET name = CAST(x'48ff' AS TEXT)",
    )
    document = json.loads(digest_json(path, folder=tmp_path))
    assert document["top_kernels"][0][0] == "g\ufffdm"
    assert "s\ufffd(" in document["nvtx"]
    assert document["dispatch"] == {"CG_DISPATCH\ufffd": 1}
    assert document["capture"]["product"] == "n\ufffd"
    assert document["capture"]["processes"][0]["name"] == "p\ufffd"
    assert document["devices"][0]["name"] == "H\ufffd"
    with untouched(tmp_path):
        found = call("inspect", path)
    assert (found.status, json.loads(found.out)["product"]) == (0, "n\ufffd")


@pytest.mark.parametrize(
    ("value", "text"),
    [("x'6162ff'", "ab\ufffd"), ("7", "7"), ("1.5", "1.5"), ("1e20", "1.0e+20"), ("'a' || char(0) || 'b'", "a\0b")],
)
def test_text_that_is_stored_as_something_else(tmp_path: Path, value: str, text: str) -> None:
    path = small_trace().meta("EXPORT_PRODUCT_NAME", "nsys").write(tmp_path / "trace.sqlite")
    without_types(path, NVTX)
    without_types(path, "META_DATA_EXPORT")
    execute(
        path,
        f"UPDATE {NVTX} SET text = {value} WHERE text = 'step'",
        f"UPDATE META_DATA_EXPORT SET value = {value} WHERE name = 'EXPORT_PRODUCT_NAME'",
    )
    document = json.loads(digest_json(path, folder=tmp_path))
    assert list(document["nvtx"]) == [text, "aten::mm"]
    if value != "1e20":  # Python writes this one in its own way, and no reader has a say in it
        assert document["capture"]["product"] == text


def test_blob_and_null_in_the_strings(tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / "trace.sqlite")
    without_types(path, "StringIds")
    execute(
        path,
        "UPDATE StringIds SET value = x'67656d6dff' WHERE value = 'gemm'",
        "UPDATE StringIds SET value = NULL WHERE value = 'softmax'",
    )
    names = [name for name, _ in json.loads(digest_json(path, folder=tmp_path))["top_kernels"]]
    assert names[0] == "gemm\ufffd"
    assert names[1].startswith("[string ")


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_database_in_utf16(trace: Path, tmp_path: Path, encoding: str) -> None:
    expected = digest_json(trace, folder=tmp_path)
    with closing(sqlite3.connect(trace)) as source:
        script = "\n".join(source.iterdump())
    trace.unlink()
    with closing(sqlite3.connect(trace)) as connection:
        connection.executescript(f"PRAGMA encoding = '{encoding}'; {script}")
    assert digest_json(trace, folder=tmp_path) == expected


def every_table(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]


def test_view_of_a_table_that_is_gone(trace: Path) -> None:
    expected = digest_json(trace, folder=trace.parent)
    execute(trace, "CREATE TABLE mine (a)", "CREATE VIEW of_mine AS SELECT a FROM mine", "DROP TABLE mine")
    assert digest_json(trace, folder=trace.parent) == expected


@pytest.mark.parametrize("threads", ["1", "2"])
def test_tables_without_row_ids(trace: Path, threads: str) -> None:
    expected = digest_json(trace, folder=trace.parent)
    with closing(sqlite3.connect(trace)) as connection:
        for table in every_table(trace):
            names = ", ".join(f'"{name}"' for _, name, *_ in connection.execute(f"PRAGMA table_info({table})"))
            connection.executescript(
                f"ALTER TABLE {table} RENAME TO old; CREATE TABLE {table} (key INTEGER PRIMARY KEY, {names}) without\n"
                f"rowid; INSERT INTO {table} SELECT row_number() OVER (), * FROM old; DROP TABLE old;"
            )
    assert digest_json(trace, folder=trace.parent, options=("--threads", threads)) == expected


def test_columns_that_take_the_names_of_row_ids(trace: Path) -> None:
    expected = digest_json(trace, folder=trace.parent)
    for name in ("rowid", "_rowid_", "oid"):
        execute(trace, f"ALTER TABLE {KERNEL} ADD COLUMN {name} TEXT DEFAULT 'x'")
        assert digest_json(trace, folder=trace.parent, options=("--threads", "2")) == expected


def operations(digest: Digest) -> int:
    return sum(count for device in digest.devices for count in device.count.values())


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("reader", ["adbc", "stdlib"])
@pytest.mark.slow
def test_rows_lost_to_damage_are_never_left_out_in_silence(
    reader: Reader, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite ends a search over row ids early in a damaged table, without an error."""
    monkeypatch.setattr("nsys_digest.trace.threads.LEAST_JOB_ROWS", 500)
    whole = (FIXTURES / "traces" / "serve.sqlite").read_bytes()
    intact = summarize(FIXTURES / "traces" / "serve.sqlite", sections=())
    refused = 0
    for seed in range(60):
        rng = random.Random(seed)
        damaged = bytearray(whole)
        size = rng.choice([16, 600, 4096])
        at = rng.randrange(4096, len(whole) - size)
        damaged[at : at + size] = rng.randbytes(size)
        path = tmp_path / f"{seed}.sqlite"
        path.write_bytes(damaged)
        try:
            digest = summarize(path, sections=(), threads=threads, reader=reader)
        except DigestError as error:
            refused += error.exit_status == 3
            continue
        assert operations(digest) == operations(intact), seed
    assert refused > 10


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("table", ["kernel", "api", "range"])
def test_lengths_that_no_capture_can_have(reader: str, table: str, tmp_path: Path) -> None:
    """A start of 0 beside an end since 1970 is a damaged time stamp; twelve of them no longer fit in 64 bits."""
    trace = TraceBuilder()
    for _ in range(12):
        if table == "kernel":
            trace.kernel(0, 17 * 10**17)
        elif table == "api":
            trace.api("cudaFree_v3020", 0, 17 * 10**17)
        else:
            trace.range("r", 0, 17 * 10**17)
    path = trace.write(tmp_path / "t.sqlite")
    name = {"kernel": KERNEL, "api": RUNTIME, "range": NVTX}[table]
    line = the_line(call("summarize", path, "--reader", reader), 3, "value-unreadable")
    assert line.startswith(f"{path}: the events of table {name} last more than 292 years together")
