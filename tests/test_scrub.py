"""A scrubbed copy: nothing that identifies is in it, and its digest is that of the trace but for names."""

from __future__ import annotations

import io
import json
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import nsys_digest
from builder import NVTX, VERSIONS, TraceBuilder, columns_of, global_pid, global_tid, tables_of
from nsys_digest import MissingData, OutputFailed, UsageInvalid, scrub, summarize, verify_scrub
from nsys_digest.model.digest import SECTIONS
from nsys_digest.model.kernel_categories import KernelCategories
from nsys_digest.trace.nsys.private import looks_like_credential
from nsys_digest.trace.scrub import verify
from nsys_digest.trace.scrub.log_words import LogWords
from nsys_digest.trace.scrub.names import Names
from nsys_digest.trace.scrub.texts import Salt
from support import ROOT, call, small_trace, spawn, the_line, untouched

FIXTURES = sorted((ROOT / "fixtures" / "traces").glob("*.sqlite"))
SHARED = sorted((ROOT.parent / "shared" / "traces").glob("*/*.sqlite"))
USER, HOST, TOKEN = "qwalice77", "zeus-node-17", "hf_Qz81PlantedTokenValue"
PATH, ADDRESS, MAC, EMAIL = "/home/qwalice77/secret-project/run.py", "10.77.31.42", "a4:bb:6d:12:34:56", "al@corp-x.org"
IPV6 = "fe80::a6bb:6dff:fe12:3456"
SECRETS = (USER, HOST, TOKEN, PATH, "secret-project", ADDRESS, MAC, EMAIL, IPV6)
NAMES_STAY = {(NVTX, "text"), ("TARGET_INFO_GPU", "name"), ("TARGET_INFO_CUDA_GPU", "name")}
"""Columns whose text is a name, of which words that identify are taken out and no others."""
Digested = dict[str, Any]


def telling_trace(version: str = "2025.3") -> TraceBuilder:
    """Return a trace that tells of a user and a machine wherever an export can."""
    trace = small_trace(version)
    for name in (
        f"load {PATH}",
        f"to {ADDRESS}",
        f"{MAC} up",
        f"mail {EMAIL}",
        f"hi {USER}",
        f"on {HOST} now",
        f"v {IPV6}",
    ):
        trace.kernel(500, 510, name=name).range(name, 0, 5).range(f"r {name}", 0, 5, registered=True)
    trace.range("double", 0, 5, doubleValue=2.0).range("double", 6, 8, doubleValue=2.5)
    trace.range(f"key={TOKEN}", 0, 5).process(1, PATH).process(99, "/opt/other/zoom")
    settings = {
        "PROCESS_0:ENVIRONMENT_VARIABLE": f'HF_TOKEN="{TOKEN}"',
        "PROCESS_1:ENVIRONMENT_VARIABLE": f'USER="{USER}"',
        "PROCESS_0:ARGUMENT_0": PATH,
        "DEVICE_DISPLAY_NAME": HOST,
    }
    for key, value in settings.items():
        if version >= "2023.3":
            trace.meta(key, value, capture=True)
    return (
        trace.sql("CREATE TABLE TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT)")
        .sql(
            "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES "
            f"('Hostname', '{HOST}'), ('USER', '{USER}'), ('HF_TOKEN', '{TOKEN}')"
        )
        .sql(
            "CREATE TABLE ANALYSIS_FILE (filename TEXT, content TEXT); "
            f"INSERT INTO ANALYSIS_FILE VALUES ('{PATH}', 'x')"
        )
    )


def digest_of(trace: Path) -> Digested:
    """Return the whole digest of a trace, without the name of the file."""
    found: Digested = json.loads(summarize(trace, top=100_000, sections=SECTIONS).to_json())
    del found["file"]
    found.pop("path", None)
    return found


def changed(value: Any, change: Callable[[str], str]) -> Any:
    """Return a document with its texts changed, and its lists in an order that does not depend on names."""
    if isinstance(value, dict):
        return {change(key): changed(one, change) for key, one in value.items()}
    if isinstance(value, list):
        return sorted((changed(one, change) for one in value), key=lambda one: json.dumps(one, sort_keys=True))
    return change(value) if isinstance(value, str) else value


UUID = re.compile(r"(?:GPU-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def without_uuids(text: str) -> str:
    return UUID.sub("uuid", text)


class Read:
    """Notes what each hashed name stands for, and reads names with it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Listen to what is hashed."""
        self._letters: dict[str, str] = {}
        self._kernels: dict[str, str] = {}
        letters, kernel = Salt.letters, Names._kernel

        def note_letters(salt: Salt, text: str, length: int = 16) -> str:
            made = letters(salt, text, length)
            self._letters[made] = text
            return made

        def note_kernel(names: Names, text: str) -> str:
            made = kernel(names, text)
            self._kernels[made] = text
            return made

        monkeypatch.setattr(Salt, "letters", note_letters)
        monkeypatch.setattr(Names, "_kernel", note_kernel)

    def back(self, text: str) -> str:
        """Return a text with names for hashes; the numbers of a name stand behind its letters."""
        text = without_uuids(self._kernels.get(text, text))
        named = re.sub(r"([a-p]{16})((?:_(?:[0-9]+|#))*)", self._one, text)
        return re.sub(
            r"<([a-z-]+)-([a-p]{8})>", lambda token: self._letters[token[2]].removeprefix(f"{token[1]} "), named
        )

    @property
    def heard(self) -> bool:
        """Whether anything was hashed."""
        return bool(self._letters)

    def _one(self, match: re.Match[str]) -> str:
        first, *others = self._letters.get(match[1], match[1]).split("#")
        numbers = [*match[2].split("_")[1:], *("#" for _ in others)]
        return first + "".join(number + other for number, other in zip(numbers, others, strict=False))


def drawn(version: str, folder: Path) -> Path:
    return (
        telling_trace(version)
        .gpu(1, "NVIDIA H100", uuid="4d4f926c-bf02-47af-8a15-5ff8c1000001")
        .write(folder / f"{version}.sqlite")
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_of_any_column_is_left(version: str, tmp_path: Path) -> None:
    """Every column of every table of an export holds a text, whatever its type; numbers' columns too."""
    trace = small_trace(version).write(tmp_path / "trace.sqlite")
    planted = 0
    with closing(sqlite3.connect(trace)) as connection:
        for table in tables_of(version):
            names = [column.name for column in columns_of(table, version)]
            there = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
            if not there:
                connection.execute(f"CREATE TABLE {table} ({', '.join(names)})")
            row = [
                70_000 if name == "id" else "" if (table, name) in NAMES_STAY else f"PLANTED {table} {name}"
                for name in names
            ]
            if table == "PROCESSES":
                row = [global_pid(4242), 4242, "/usr/bin/PLANTED"]
            connection.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)
            planted += sum(isinstance(value, str) for value in row)
        connection.execute("CREATE TABLE SOMETHING_NEW (value); ")
        connection.execute("INSERT INTO SOMETHING_NEW VALUES ('PLANTED anew')")
        connection.execute("CREATE INDEX planted_index ON SOMETHING_NEW (value)")
        connection.commit()
    assert planted > 100
    before = trace.read_bytes()
    done = scrub(trace, tmp_path / "copy.sqlite", hash_names=True)
    assert trace.read_bytes() == before
    content = (tmp_path / "copy.sqlite").read_bytes()
    assert b"PLANTED" in before
    assert b"PLANTED" not in content
    assert "PLANTED".encode("utf-16-le") not in content
    assert "PLANTED" not in done.to_json()
    assert next(one for one in done.removed if one.table == "SOMETHING_NEW").kind == "unknown table"


@pytest.mark.parametrize("hash_names", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_what_identifies_is_taken_out_of_names_too(version: str, hash_names: bool, tmp_path: Path) -> None:
    trace = telling_trace(version).write(tmp_path / "trace.sqlite")
    done = scrub(trace, tmp_path / "copy.sqlite", hash_names=hash_names)
    content = (tmp_path / "copy.sqlite").read_bytes()
    for secret in SECRETS:
        assert secret.encode() in trace.read_bytes(), secret
        assert secret.encode() not in content, secret
        assert secret not in done.to_json()
    assert b"zoom" not in content
    assert done.found == ()
    assert verify_scrub(tmp_path / "copy.sqlite").found == ()
    assert verify_scrub(tmp_path / "copy.sqlite", trace).found == ()
    found = verify_scrub(trace, trace)
    assert {"path", "ip", "mac", "email", "user", "host", "credential", "environment"} <= {
        one.kind for one in found.found
    }
    for secret in SECRETS:
        assert secret not in found.to_json()


def test_offsets_are_those_of_the_values(tmp_path: Path) -> None:
    trace = telling_trace().write(tmp_path / "trace.sqlite")
    data = trace.read_bytes()
    hosts = [one for one in verify_scrub(trace, trace).found if (one.kind, one.where) == ("host", "bytes")]
    assert hosts[0].count == data.count(HOST.encode())
    assert all(data[at:].startswith(HOST.encode()) for at in hosts[0].offsets)


@pytest.mark.parametrize("length", [0, 40, 511, 512, 1_000, 1_024])
def test_forms_are_found_across_the_edges_of_chunks(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verify, "_CHUNK", 512)
    data = b"x" * length + b"\0/home/al/x\0" + b"aa@bb.com\0a4:bb:6d:12:34:56\0" + b"y" * (1_024 - length)
    places = {("path", data.index(b"/home")), ("email", data.index(b"@")), ("mac", data.index(b"a4:"))}
    assert set(verify._by_form(io.BytesIO(data))) == places
    assert len(list(verify._by_form(io.BytesIO(data)))) == 3


def test_what_was_deleted_is_found_in_free_pages(tmp_path: Path) -> None:
    trace = telling_trace().write(tmp_path / "trace.sqlite")
    scrub(trace, tmp_path / "copy.sqlite")
    with closing(sqlite3.connect(tmp_path / "copy.sqlite")) as connection:
        connection.execute("PRAGMA secure_delete = OFF")
        connection.execute("CREATE TABLE gone (value)")
        connection.execute("INSERT INTO gone VALUES (?)", (f"{TOKEN} " * 900,))
        connection.commit()
        connection.execute("DROP TABLE gone")
        connection.commit()
    kinds = {one.kind for one in verify_scrub(tmp_path / "copy.sqlite", trace).found}
    assert kinds == {"credential", "free pages"}
    assert {one.kind for one in verify_scrub(tmp_path / "copy.sqlite").found} == {"free pages"}
    ran = call("scrub", trace, "--verify", tmp_path / "copy.sqlite", "-f", "json")
    assert ran.status == 5
    assert TOKEN not in ran.out + ran.err
    assert ran.err.endswith("[check-failed]\n")


@pytest.mark.parametrize("trace", FIXTURES, ids=lambda path: path.stem)
def test_the_digest_of_a_fixture_is_the_same(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same_digests(trace, tmp_path, monkeypatch)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_digest_of_a_drawn_trace_is_the_same(version: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same_digests(drawn(version, tmp_path), tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("trace", SHARED, ids=lambda path: path.stem)
def test_the_digest_of_a_real_trace_is_the_same(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same_digests(trace, tmp_path, monkeypatch)


def same_digests(trace: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare the digests of both kinds of copies with that of the trace, with names read back."""
    expected = digest_of(trace)
    read = Read(monkeypatch)
    for hash_names in (False, True):
        copy = folder / f"copy {hash_names}.sqlite"
        assert scrub(trace, copy, hash_names=hash_names, salt="s").found == ()
        found = digest_of(copy)
        if not hash_names and not read.heard:
            assert json.loads(without_uuids(json.dumps(found))) == json.loads(without_uuids(json.dumps(expected)))
        assert changed(found, read.back) == changed(expected, without_uuids)


def names_of(copy: Path) -> set[str]:
    with closing(sqlite3.connect(copy)) as connection:
        strings = {text for (text,) in connection.execute("SELECT value FROM StringIds")}
        return strings | {text for (text,) in connection.execute("SELECT text FROM NVTX_EVENTS") if text}


def test_one_salt_gives_the_same_names_and_another_gives_others(tmp_path: Path) -> None:
    # rank 1 has a range more, and its strings have other ids
    one = small_trace().write(tmp_path / "one.sqlite")
    other = small_trace().range("more", 0, 9, registered=True).write(tmp_path / "other.sqlite")
    scrub(one, tmp_path / "a.sqlite", hash_names=True, salt="job 7")
    scrub(other, tmp_path / "b.sqlite", hash_names=True, salt="job 7")
    scrub(one, tmp_path / "c.sqlite", hash_names=True, salt="job 8")
    scrub(one, tmp_path / "d.sqlite", hash_names=True)
    stays = {"cudaLaunchKernel", "cudaMemcpyAsync", "CG_DISPATCH full"}
    first, second, third, fourth = (names_of(tmp_path / f"{name}.sqlite") for name in "abcd")
    assert first < second
    assert len(second - first) == 1
    assert first & third == first & fourth == stays
    assert third & fourth == stays


def test_names_stay_where_they_are_not_hashed(tmp_path: Path) -> None:
    trace = small_trace().write(tmp_path / "trace.sqlite")
    scrub(trace, tmp_path / "copy.sqlite")
    assert {"gemm", "softmax", "step", "aten::mm, seq = 1", "cudaLaunchKernel"} <= names_of(tmp_path / "copy.sqlite")


def test_structure_that_a_digest_reads_stays_in_hashed_names(tmp_path: Path) -> None:
    trace = (
        TraceBuilder()
        .range("aten::mm, seq = 12, op_id = 3", 0, 9)
        .range("Thunk:#hlo_op=dot.1,unique_hlo_op_id=34#", 0, 9)
        .range("step 17", 0, 9)
        .mark("CG_DISPATCH:mode=FULL:actual=3:padded=8:model=llama", 1)
        .api("cuStrange_v12000", 0, 5)
        .api("acmeLaunch_v12000", 0, 5)
        .write(tmp_path / "trace.sqlite")
    )
    scrub(trace, tmp_path / "copy.sqlite", hash_names=True)
    names = names_of(tmp_path / "copy.sqlite")
    letters = "[a-p]{16}"
    for form in (
        rf"{letters}:{letters}, seq = 12, op_id = 3",
        rf"{letters}:#{letters}_1,unique_hlo_op_id=34#",
        rf"{letters} 17",
        rf"CG_DISPATCH:mode=FULL:actual=3:padded=8:{letters}={letters}",
        r"cuStrange_v12000",
        rf"{letters}_v12000",
    ):
        assert sum(bool(re.fullmatch(form, name)) for name in names) == 1, (form, names)


def test_every_category_has_a_word_that_keeps_it() -> None:
    names = Names.__new__(Names)
    names._salt, names._categories = Salt("s"), KernelCategories.shipped()
    for entry in KernelCategories.shipped().patterns:
        places = set()

        class Fixed(KernelCategories):
            """Puts one name where the entry says."""

            def classify(self, name: str, entry: Any = entry) -> Any:
                return entry if name == "original" else super().classify(name)

        names._categories = Fixed.shipped()
        made = KernelCategories.shipped().classify(names._kernel("original"))
        assert made is not None
        places.add((made.category, made.kind))
        assert places == {(entry.category, entry.kind)}


def test_call_stacks_and_threads_of_other_processes_go(tmp_path: Path) -> None:
    """Process 1 is traced, process 5 is not: of two samples one stays, with its functions."""
    rows = [
        (10, global_tid(1, 1), 1, "mine", "/opt/mine/libmine.so"),
        (20, global_tid(5, 5), 2, "theirs", "/x/y/other"),
    ]
    trace = small_trace()
    trace.sql("CREATE TABLE COMPOSITE_EVENTS (id INTEGER, start INTEGER, globalTid INTEGER)")
    trace.sql("CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, stackDepth INTEGER)")
    for start, thread, sample, symbol, module in rows:
        at = 1000 + 10 * sample
        trace.string(at, symbol).string(at + 1, module)
        trace.sql(f"INSERT INTO COMPOSITE_EVENTS VALUES ({sample}, {start}, {thread})")
        trace.sql(f"INSERT INTO SAMPLING_CALLCHAINS VALUES ({sample}, {at}, {at + 1}, 0)")
    scrub(trace.write(tmp_path / "t.sqlite"), tmp_path / "c.sqlite")
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as connection:
        assert connection.execute("SELECT id, start FROM COMPOSITE_EVENTS").fetchall() == [(1, 10)]
        assert connection.execute("SELECT id, symbol, module FROM SAMPLING_CALLCHAINS").fetchall() == [(1, 1010, 1011)]
    names = names_of(tmp_path / "c.sqlite")
    assert {"mine", "libmine.so"} <= names
    assert not {"theirs", "other"} & names


def test_hostile_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = [
        "",
        " ",
        "#",
        "##",
        "\0",
        "a\0b",
        "\u202e/home/x",
        "\n::error::",
        "=" * 5_000,
        ",",
        ", seq = 1",
        "1",
        "CG_DISPATCH",
        "CG_DISPATCH:=:,=",
        "/" * 300,
        "<path-aaaa>",
        "é" * 300,
        "' OR 1=1 --",
        "\x1b[31m",
    ]
    trace = TraceBuilder()
    for at, name in enumerate(hostile):
        trace.range(name, 10 * at, 10 * at + 5).mark(name, 10 * at).kernel(10 * at, 10 * at + 5, name=name)
    same_digests(trace.write(tmp_path / "trace.sqlite"), tmp_path, monkeypatch)


def test_a_copy_of_a_copy_is_the_same(tmp_path: Path) -> None:
    scrub(telling_trace().write(tmp_path / "t.sqlite"), tmp_path / "a.sqlite", salt="s")
    done = scrub(tmp_path / "a.sqlite", tmp_path / "b.sqlite", salt="s")
    assert done.removed == ()
    assert names_of(tmp_path / "a.sqlite") == names_of(tmp_path / "b.sqlite")


def test_the_log_keeps_its_own_words() -> None:
    log = LogWords()
    for own in ("Not all NVTX events might have been collected.", "CUDA device 0: not supported (driver 13.0)."):
        assert log.scrub(own) == own
    assert log.scrub(f"CUDA error: cannot open {PATH} of alice on 10.1.2.3") == "CUDA error: cannot … of … on …"
    assert log.scrub("cudaAliceSecret failed") == "cuda… failed"
    assert log.scrub("cudaBobSecret failed") == "cuda… failed [2]"
    assert log.scrub("cudaAliceSecret failed") == "cuda… failed"


@pytest.mark.parametrize(
    ("name", "telling"),
    [
        ("HF_TOKEN", True), ("AWS_ACCESS_KEY_ID", True), ("AWS_PROFILE", True), ("DB_PASSWORD", True), ("ApiKey", True),
        ("WANDB_API_KEY", True), ("CLIENT_SECRET", True), ("GITHUB_PAT", True), ("TOKENIZERS_PARALLELISM", False),
        ("MAX_TOKENS", False), ("AWS_REGION", False), ("KEYBOARD", False), ("PATH", False), ("MONKEY_BUSINESS", False),
    ],
)  # fmt: skip
def test_names_of_credentials(name: str, telling: bool) -> None:
    assert looks_like_credential(name) is telling


def test_inspect_names_variables_and_no_values(tmp_path: Path) -> None:
    trace = telling_trace().write(tmp_path / "trace.sqlite")
    assert nsys_digest.inspect(trace).credentials == ("HF_TOKEN",)
    for form in ("text", "json", "markdown"):
        ran = call("inspect", trace, "-f", form)
        assert "HF_TOKEN" in ran.out
        assert TOKEN not in ran.out


def test_unknown_tables_are_kept_on_request(tmp_path: Path) -> None:
    trace = (
        small_trace()
        .sql("CREATE TABLE MINE (a, b); INSERT INTO MINE VALUES (1, 'x'), (NULL, x'00ff')")
        .write(tmp_path / "t.sqlite")
    )
    scrub(trace, tmp_path / "a.sqlite")
    scrub(trace, tmp_path / "b.sqlite", keep=["MINE"])
    with closing(sqlite3.connect(tmp_path / "a.sqlite")) as connection:
        assert not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'MINE'").fetchall()
    with closing(sqlite3.connect(tmp_path / "b.sqlite")) as connection:
        assert connection.execute("SELECT * FROM MINE").fetchall() == [(1, "x"), (None, b"\x00\xff")]
    with pytest.raises(MissingData, match=r"no table YOURS to keep; those that would be dropped: .*MINE"):
        scrub(trace, tmp_path / "c.sqlite", keep=["YOURS"])
    with pytest.raises(UsageInvalid, match="copied in any case"):
        scrub(trace, tmp_path / "c.sqlite", keep=["NVTX_EVENTS"])
    assert not (tmp_path / "c.sqlite").exists()


def test_mistakes_are_told_in_a_line(tmp_path: Path) -> None:
    trace = small_trace().write(tmp_path / "t.sqlite")
    with untouched(tmp_path):
        for words, status, code, said in (
            ((trace, "-o", trace), 2, "usage-invalid", "this is the trace itself"),
            ((trace, "-o", tmp_path / "no" / "x"), 2, "usage-invalid", "is not there; make it first"),
            ((trace, "-o", tmp_path), 2, "usage-invalid", "this is a folder"),
            ((trace,), 2, "usage-invalid", "nsys-digest scrub TRACE -o OUT"),
            ((), 2, "usage-invalid", "nsys-digest scrub TRACE -o OUT"),
            ((trace, "-o", tmp_path / "x", "--salt", ""), 2, "usage-invalid", "the salt is empty"),
            ((trace, "-o", tmp_path / "x", "--keep", "NOPE"), 4, "missing-data", "no table NOPE to keep"),
            ((trace, "-o", tmp_path / "x", "--verify", trace), 2, "usage-invalid", "leave out -o"),
            ((tmp_path / "none", "-o", tmp_path / "x"), 3, "trace-unreadable", "none"),
            (("--verify", tmp_path / "none"), 3, "trace-unreadable", "none"),
        ):
            assert said in the_line(call("scrub", *words), status, code), words


def test_the_library_refuses_what_the_command_line_refuses(tmp_path: Path) -> None:
    trace = small_trace().write(tmp_path / "t.sqlite")
    (tmp_path / "link.sqlite").symlink_to(trace)
    for output in (trace, tmp_path / "link.sqlite"):
        with pytest.raises(UsageInvalid, match="this is the trace itself"):
            scrub(trace, output)


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """The system refuses to write more than 64 kB to a file."""
    trace = small_trace()
    for at in range(3_000):
        trace.kernel(1_000 + at, 1_001 + at, name=f"k{at}")
    path = trace.write(tmp_path / "t.sqlite")
    script = (
        "import resource, signal, sys; from nsys_digest.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    with untouched(tmp_path):
        ran = spawn("scrub", path, "-o", tmp_path / "copy.sqlite", script=script)
        assert "nothing there was changed" in the_line(ran, OutputFailed.exit_status, OutputFailed.code)


def test_a_damaged_trace_leaves_nothing(tmp_path: Path) -> None:
    path = small_trace().write(tmp_path / "t.sqlite")
    path.write_bytes(path.read_bytes()[:-8192])
    with untouched(tmp_path):
        assert call("scrub", path, "-o", tmp_path / "copy.sqlite").status == 3


def test_report_and_document_tell_the_same(tmp_path: Path) -> None:
    trace = telling_trace().write(tmp_path / "t.sqlite")
    text = call("scrub", trace, "-o", tmp_path / "a.sqlite", "-f", "text")
    found = json.loads(call("scrub", trace, "-o", tmp_path / "b.sqlite", "-f", "json").out)
    assert (text.status, text.err) == (0, "")
    assert {(one["table"], one["what"], one["count"]) for one in found["removed"]} >= {
        ("TARGET_INFO_SYSTEM_ENV", "table", 3),
        ("ANALYSIS_FILE", "table", 1),
        ("PROCESSES", "rows", 1),
    }
    for one in found["removed"]:
        assert one["table"] in text.out
    assert found["found"] == []
