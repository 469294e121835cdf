"""Baselines: a plain folder of JSON, whoever writes to it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from digests import TRACES, document, one, placed, spans, stored
from nsys_digest.compare.runs import RunSet
from nsys_digest.errors import BaselineMissing, OutputFailed, StoreUnreadable, UsageInvalid
from nsys_digest.gate import baselines
from nsys_digest.gate.baselines import Store, gpu_of
from support import ROOT, call, command, environment, snapshot, the_line

SERVE = TRACES / "serve.sqlite"
GATE = ROOT / "fixtures" / "gate"


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    store = Store(tmp_path / "a" / "b")
    side = spans([1.0, 2.0, 3.0])
    paths = store.save("main", side, commit="abc")
    assert [path.parent for path in paths] == [tmp_path / "a" / "b" / "main"] * 3
    entries = store.entries("main").entries
    assert [entry.digest for entry in entries] == [run.digest for run in side.runs]
    assert {(entry.name, entry.commit, entry.gpu) for entry in entries} == {("main", "abc", "NVIDIA H200")}
    assert [entry.saved_at for entry in entries] == sorted(entry.saved_at for entry in entries)


def test_the_last_runs_of_a_name(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for value in (1.0, 2.0, 3.0, 4.0):
        store.save("main", spans([value]))
    found = {spelling: store.pick(spelling) for spelling in ("@main", "@main:1", "@main:3", "@main:9")}
    spans_of = {
        spelling: [run.digest.gpu_activity_span_ns for run in picked.runs] for spelling, picked in found.items()
    }
    second = 1_000_000_000
    assert spans_of == {
        "@main": [4 * second],
        "@main:1": [4 * second],
        "@main:3": [2 * second, 3 * second, 4 * second],
        "@main:9": [second, 2 * second, 3 * second, 4 * second],
    }
    assert [picked.notes for picked in found.values()] == [(), (), (), ("@main:9 has 4 runs and not 9",)]


def test_only_runs_on_the_same_gpu_are_picked(tmp_path: Path) -> None:
    other = one({("devices", 0, "name"): "NVIDIA B200"})
    store = Store(tmp_path)
    store.save("main", one())
    store.save("main", other)
    (run,) = store.pick("@main:5", one()).runs
    assert gpu_of(run.digest) == "NVIDIA H200"
    assert gpu_of(store.pick("@main", other).runs[0].digest) == "NVIDIA B200"
    assert len(store.pick("@main:5").runs) == 2
    with pytest.raises(BaselineMissing, match="no run on NVIDIA A100, only on NVIDIA B200, NVIDIA H200"):
        store.pick("@main", one({("devices", 0, "name"): "NVIDIA A100"}))


@pytest.mark.parametrize("spelling", ["main", "@", "@main:", "@main:0", "@main:-1", "@main:x", "@a:b:1"])
def test_what_spells_no_baseline(spelling: str, tmp_path: Path) -> None:
    with pytest.raises(UsageInvalid):
        Store(tmp_path).pick(spelling)


HOSTILE = [
    "../../evil",
    "/etc/passwd",
    "..",
    ".",
    ".hidden",
    "a/b",
    "a\\b",
    "a\x00b",
    "a\nb",
    "\ud800",
    "~",
    "$(x)",
    "-rf",
    "%2e%2e",
    "ü ñ",
    "CON",
    "*",
]


@pytest.mark.parametrize("name", HOSTILE, ids=ascii)
def test_no_name_leaves_the_folder(name: str, tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    (path,) = store.save(name, one())
    assert path.resolve().is_relative_to((tmp_path / "store").resolve())
    assert path.parent.parent == tmp_path / "store"
    assert [entry.name for entry in store.entries().entries] == [name]
    assert len(store.pick(f"@{name}").runs) == 1
    assert {Path(key).parts[0] for key in snapshot(tmp_path)} == {"store"}
    for other in set(HOSTILE) - {name}:
        assert store.entries(other).entries == ()


@pytest.mark.parametrize("name", ["", "a:b", "@a", "x" * 300])
def test_what_cannot_be_a_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageInvalid, match="cannot name a baseline"):
        Store(tmp_path).save(name, one())
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b'{"baseline_version": "2.0"}',
        b'{"baseline_version": "1.0", "commit": null, "gpu": null}',
        b'{"baseline_version": "1.0", "commit": 3, "gpu": null, "saved_at": "x", "digest": {}}',
        b'{"baseline_version": "1.0", "commit": null, "gpu": null, "saved_at": "", "digest": {"file": "x"}}',
        b"[" * 100_000,
    ],
    ids=ascii,
)
def test_a_damaged_entry_is_one_line_and_hides_no_other(damage: bytes, tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save("main", one())
    (tmp_path / "main" / "20990101T000000.000000Z-dead.json").write_bytes(damage)
    listing = store.entries("main")
    assert len(listing.entries) == len(listing.damaged) == 1
    assert "20990101T000000.000000Z-dead.json: this is no baseline" in listing.damaged[0]
    ran = call("check", SERVE, "-b", "@main", "--store", tmp_path)
    assert ran.status == 0
    assert (ran.err.count("\n"), ran.err.endswith("[digest-invalid]\n")) == (1, True)
    assert json.loads(ran.out)["notes"] == list(listing.damaged)
    listed = call("baseline", "list", "--store", tmp_path)
    assert (listed.status, listed.err.count("\n")) == (0, 1)
    assert len(json.loads(listed.out)["entries"]) == 1


def test_what_a_killed_writer_left_is_not_seen(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save("main", one())
    (tmp_path / "main" / ".nsys-digest-x.part").write_bytes(b'{"half')
    assert len(store.entries().entries) == 1
    assert store.entries().damaged == ()


def test_update_drops_the_earlier_runs_of_that_gpu(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save("main", spans([1.0, 2.0, 3.0]))
    store.save("main", one({("devices", 0, "name"): "NVIDIA B200"}))
    saved, dropped = store.update("main", spans([9.0]), keep=1)
    assert (len(saved), len(dropped)) == (1, 2)
    left = [(entry.gpu, entry.digest.gpu_activity_span_ns) for entry in store.entries("main").entries]
    assert (left[0], left[2]) == (("NVIDIA H200", 3_000_000_000), ("NVIDIA H200", 9_000_000_000))
    assert left[1][0] == "NVIDIA B200"


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file", encoding="utf-8")
    with pytest.raises(OutputFailed, match="--store"):
        Store(tmp_path / "store").save("main", one())
    with pytest.raises(StoreUnreadable, match="Not a directory"):
        Store(tmp_path / "store").entries()


WRITER = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from digests import spans
from nsys_digest.gate.baselines import Store
store = Store({folder!r})
for number in range({times}):
    {work}
"""


def write_together(folder: Path, works: list[str], times: int) -> None:
    """Run several processes at once, each doing its work many times."""
    tests = str(Path(__file__).parent)
    scripts = [WRITER.format(tests=tests, folder=str(folder), times=times, work=work) for work in works]
    children = [subprocess.Popen(command(script=script), env=environment()) for script in scripts]
    assert [child.wait(timeout=120) for child in children] == [0] * len(children)


@pytest.mark.slow
def test_two_writers_lose_nothing(tmp_path: Path) -> None:
    works = [f'store.save("main", spans([number + {start}]))' for start in (1, 101)]
    write_together(tmp_path, works, 25)
    listing = Store(tmp_path).entries("main")
    values = {(entry.digest.gpu_activity_span_ns or 0) // 1_000_000_000 for entry in listing.entries}
    assert (values, listing.damaged) == ({*range(1, 26), *range(101, 126)}, ())
    assert not [path for path in snapshot(tmp_path) if not path.endswith(".json") and path != "main"]


@pytest.mark.slow
def test_two_updates_and_a_reader_at_once_never_find_nothing(tmp_path: Path) -> None:
    Store(tmp_path).save("main", spans([1.0]))
    works = ['store.update("main", spans([number + 1]))'] * 2 + [
        'assert store.pick("@main").runs and not store.entries().damaged'
    ]
    write_together(tmp_path, works, 15)
    listing = Store(tmp_path).entries("main")
    assert 1 <= len(listing.entries) <= 2
    assert listing.damaged == ()


# The command line.


def test_a_branch_against_the_last_runs_of_main(tmp_path: Path) -> None:
    store = tmp_path / "store"
    runs = [
        stored(tmp_path, f"{number}.json", placed(document("serve"), {("gpu_activity_span_s",): 1 + number / 1000}))
        for number in range(6)
    ]
    ran = call("baseline", "save", "main", *runs, "--store", store, "--commit", "0123456789abcdef")
    assert (ran.status, ran.err, len(ran.out.splitlines())) == (0, "", 6)
    slow = [
        stored(tmp_path, f"s{number}.json", placed(document("serve"), {("gpu_activity_span_s",): 2 + number / 1000}))
        for number in range(5)
    ]
    checked = call("check", *slow, "--baseline", "@main:5", "--store", store)
    found = json.loads(checked.out)
    assert (checked.status, found["noise"]["known"], found["base"]) == (5, True, ["@main 0123456789ab"] * 5)
    assert found["outcomes"][0]["base_runs"] == [1.001, 1.002, 1.003, 1.004, 1.005]
    accepted = call("baseline", "update", "main", *slow, "--store", store)
    assert (accepted.status, "6 earlier runs of main dropped" in accepted.err) == (0, True)
    assert call("check", *slow, "--baseline", "@main:5", "--store", store).status == 0


def test_list_and_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_SHA", "feedfacefeedface")
    call("baseline", "save", "feature/x", SERVE, "--store", tmp_path)
    listed = json.loads(call("baseline", "list", "--store", tmp_path).out)
    (entry,) = listed["entries"]
    assert (entry["name"], entry["commit"], entry["gpu"], entry["file"]) == (
        "feature/x",
        "feedfacefeedface",
        "NVIDIA H200",
        "serve.sqlite",
    )
    shown = call("baseline", "list", "feature/x", "--store", tmp_path, "--format", "text").out
    assert "@feature/x" in shown
    assert "feedfacefeed " in shown
    document_of = call("baseline", "show", "@feature/x", "--store", tmp_path).out
    assert document_of == call("summarize", "-q", SERVE).out
    assert call("baseline", "show", "feature/x", "--store", tmp_path, "-f", "text").out.startswith("serve.sqlite\n")
    the_line(call("baseline", "show", "@none", "--store", tmp_path), 4, "baseline-missing")
    the_line(call("baseline", "save", "a:b", SERVE, "--store", tmp_path), 2, "usage-invalid")
    the_line(call("check", SERVE, "-b", "@none:3", "--store", tmp_path), 4, "baseline-missing")
    assert call("baseline", "list", "none", "--store", tmp_path).status == 0


def test_the_store_of_the_folder_one_is_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert call("baseline", "save", "main", SERVE).out.startswith(".nsys-digest/baselines/main/")
    assert call("check", SERVE, "-b", "@main").status == 0


def test_traces_are_never_kept(tmp_path: Path) -> None:
    call("baseline", "save", "main", SERVE, "--store", tmp_path)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [path.suffix for path in files] == [".json"]
    assert files[0].stat().st_size < SERVE.stat().st_size / 4


def test_a_side_needs_a_run() -> None:
    with pytest.raises(UsageInvalid):
        RunSet(())


def test_what_was_saved_before_a_failure_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, written = baselines.write_whole, []

    def second_fails(path: Path, data: bytes) -> None:
        if written:
            raise OSError(28, "No space left on device")
        whole(path, data)
        written.append(path)

    monkeypatch.setattr(baselines, "write_whole", second_fails)
    ran = call("baseline", "save", "main", GATE / "base_1.json", GATE / "base_1.json", "--store", tmp_path)
    line = the_line(ran, 1, "output-failed")
    assert line.startswith(f"{tmp_path / 'main'}: the baseline cannot be saved (No space left on device); ")
    assert line.endswith(f"; {written[0]} was written whole, and nothing else")
    assert [*tmp_path.rglob("*.json")] == written
