"""Windows and ranges as people write them, as they are looked up, and every spelling and error on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builder import TraceBuilder
from nsys_digest import Digest, check, classify, diff, summarize
from nsys_digest.cli import main
from nsys_digest.errors import CapturesMismatch, MissingData, PolicyInvalid, UsageInvalid
from nsys_digest.gate.policy import parse_policy
from nsys_digest.model.selection_options import SelectionOptions, matches, selection_of

MS = 1_000_000


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a trace of two processes, in milliseconds.

    step of process 1      0 ████ 10   20 ████ 30   40 ████ 50
    step of process 2           5 ████ 15    25 ████ 35
    lib:load, request a..z  2 █ 3      22 █ 23      48 █ 49
    kernel of 1, stream 7   1 █ 2      21 █ 22      41 █ 42       device 0
    kernel of 2, stream 8       6 █ 7        26 █ 27              device 1
    dispatch mark                            26
    """
    made = TraceBuilder().process(1, "python3").process(2, "worker")
    for number, at in enumerate((0, 20, 40)):
        made.range("step", at * MS, (at + 10) * MS, process=1, thread=1)
        made.kernel((at + 1) * MS, (at + 2) * MS, process=1, device=0, stream=7)
        made.range(f"request {number}", (at + 2) * MS, (at + 3) * MS, process=1, thread=2)
    for at in (5, 25):
        made.range("step", at * MS, (at + 10) * MS, process=2, thread=1)
        made.kernel((at + 1) * MS, (at + 2) * MS, process=2, device=1, stream=8)
    made.domain(1, "lib", process=1).range("load", 48 * MS, 49 * MS, process=1, domain=1)
    made.range("odd#1", 60 * MS, 61 * MS, process=1).range("empty", 5 * MS, 5 * MS, process=1)
    made.mark("CG_DISPATCH:mode=full", 26 * MS, process=1)
    return made.write(tmp_path_factory.mktemp("selection") / "t.sqlite")


def looked_at(digest: Digest) -> list[tuple[float, float]]:
    """Return the stretches of the window in milliseconds."""
    assert digest.capture.window is not None
    return [(one.start_ns / MS, one.end_ns / MS) for one in digest.capture.window.what]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"window": "0.005:0.01"}, [(5, 10)]),
        ({"window": "5ms:10000us"}, [(5, 10)]),
        ({"window": " 5 ms : 10000000 ns "}, [(5, 10)]),
        ({"window": (0.005, "10ms")}, [(5, 10)]),
        ({"window": "30ms:"}, [(30, 42)]),  # an open side ends with the GPU span, 1 to 42
        ({"window": (None, 0.01)}, [(1, 10)]),
        ({"window": ":"}, [(1, 42)]),
        ({"window": "50%:100%"}, [(21.5, 42)]),
        ({"window": "0%:10ms"}, [(1, 10)]),
        ({"window": "0%:50%", "device": 1}, [(6, 16.5)]),  # of the work that is left: 6 to 27
        ({"window": "-1s:10ms"}, [(-1000, 10)]),
        ({"within": "step"}, [(0, 15), (20, 35), (40, 50)]),
        ({"within": "step", "process": 2}, [(5, 15), (25, 35)]),
        ({"within": "step#1"}, [(0, 10)]),
        ({"within": "step#2..3"}, [(5, 15), (20, 30)]),
        ({"within": "request *#2"}, [(22, 23)]),
        ({"within": "request ?"}, [(2, 3), (22, 23), (42, 43)]),
        ({"within": "lib:load"}, [(48, 49)]),
        ({"within": "l*d"}, [(48, 49)]),
        ({"within": "odd#1"}, [(60, 61)]),
        ({"within": "request 0..request 1"}, [(2, 23)]),
        ({"within": "step#1..lib:load"}, [(0, 49)]),
        ({"within": "step#4..request *#3"}, [(25, 43)]),
        ({"within": ["request 0", "request 2"]}, [(2, 3), (42, 43)]),
        ({"within": "step", "window": "8ms:22ms"}, [(8, 15), (20, 22)]),
        ({"skip_warmup": True}, [(26, 42)]),
        ({"skip_warmup": True, "steps": "step"}, [(25, 42)]),  # both processes have begun their second
        ({"skip_warmup": True, "steps": "step", "process": 1}, [(20, 42)]),
        ({"skip_warmup": True, "within": "step"}, [(26, 35), (40, 50)]),
    ],
)
def test_what_is_looked_at(trace: Path, options: dict[str, Any], expected: list[tuple[float, float]]) -> None:
    digest = summarize(trace, sections=(), **options)
    assert looked_at(digest) == expected
    window = digest.capture.window
    assert window is not None
    assert window.length_ns == sum(round((end - start) * MS) for start, end in expected)
    assert digest.gpu_activity_span_ns == window.length_ns
    assert Digest.from_json(digest.to_json()) == digest


def test_a_window_in_which_nothing_happens_is_idle(trace: Path) -> None:
    # 16 to 19 ms: between the steps of both processes; outside of the GPU span, 1 to 42 ms, it would hold nothing
    digest = summarize(trace, window="16ms:19ms")
    assert (digest.gpu_busy_union_ns, digest.gpu_idle_within_span_ns) == (0, 3 * MS)
    assert digest.idle is not None
    assert [one.idle_ns for one in digest.idle.devices] == [3 * MS, 3 * MS]


def test_filters(trace: Path) -> None:
    by_name = summarize(trace, process="py*")
    assert by_name == summarize(trace, process=1) or by_name.capture.selected_processes == ("py*",)
    assert (by_name.kernel_count, [one.device for one in by_name.devices]) == (3, [0])
    assert by_name.nvtx["step"].count == 3
    of_stream = summarize(trace, stream=[8, 9])
    assert (of_stream.kernel_count, of_stream.nvtx["step"].count) == (2, 5)
    assert summarize(trace, device=[0, 1]).kernel_count == 5
    document = summarize(trace, device=1, process=["worker", 2], stream=8, window="0:1").to_dict()
    filters = document["capture"]["filters"]
    assert (filters["devices"], filters["processes"], filters["streams"]) == ([1], ["worker", "2"], [8])
    assert document["capture"]["window"] == {"from": "window 0:1", "what": [[0, 1_000_000_000]], "length_s": 1.0}
    whole = summarize(trace).to_dict()["capture"]
    assert whole["window"] is None
    assert not {"devices", "processes", "streams"} & set(whole["filters"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"window": "5s:6s"},
            r"\(window 5s:6s\) holds nothing; there are devices 0, 1, processes 1 \(python3\), 2",
        ),
        ({"window": "1s:"}, "an open side ends with the GPU span; GPU work runs from 0.001000000 s to 0.042000000 s"),
        ({"device": 3}, r"\(device 3\) holds nothing; there are devices 0, 1"),
        ({"device": 1, "stream": 7}, "holds nothing; there are devices 0, 1, streams 7, 8"),
        ({"process": 77}, r"\(process 77\) holds nothing"),
        ({"process": "pyth"}, "no process is named 'pyth'; names like it: 'python3'"),
        ({"within": "stop"}, "no NVTX range is named 'stop'; names like it: 'step'"),
        ({"within": "load"}, "names like it: 'lib:load'"),
        ({"within": "step#9"}, "'step' has 5 instances, and number 9 is asked for"),
        ({"within": "empty"}, "the ranges 'empty' have no length"),
        ({"within": "lib:load..step"}, "no range 'step' starts after 'lib:load' does"),
        ({"within": "step#1", "window": "20ms:30ms"}, "window 20ms:30ms and in step#1 have no time in common"),
        ({"skip_warmup": True, "process": 2}, "nothing tells where warm-up ends"),
        ({"skip_warmup": True, "steps": "request 1"}, "no process has a second instance of the step 'request 1'"),
    ],
)
def test_what_is_not_there(trace: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(MissingData, match=message) as raised:
        summarize(trace, **options)
    assert raised.value.exit_status == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": "5s"}, "no FROM:TO"),
        ({"window": "5h:"}, "has the time '5h'"),
        ({"window": "7s:5s"}, "ends before it starts"),
        ({"window": "5s:5000ms"}, "has no length"),
        ({"window": "110%:"}, "give 0% to 100%"),
        ({"window": "9999999999999s:"}, "further away than 146 years"),
        ({"window": 5}, "give a pair of seconds"),
        ({"window": (1, 2, 3)}, "give a pair of seconds"),
        ({"within": ""}, "named by an empty text"),
        ({"within": "step#0"}, "count from 1"),
        ({"within": "step#3..2"}, "count from 1"),
        ({"device": -1}, "give a CUDA ordinal"),
        ({"device": "0"}, "give a whole number"),
        ({"process": ""}, "named by an empty text"),
        ({"skip_warmup": "yes"}, "give true or false"),
        ({"window": "90%:10ms"}, "which has no length"),
    ],
)
def test_what_makes_no_sense(trace: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageInvalid, match=message):
        summarize(trace, **options)


def test_globs() -> None:
    assert matches("a*c?", "abbcd")
    assert matches("[x]", "[x]")
    assert not matches("[x]", "x")
    assert matches("a?", "a?")
    assert not matches("a", "ab")


def test_words_lead_back_to_what_was_asked() -> None:
    asked = selection_of(window="1:2", within=["a", "b#2"], skip_warmup=True, device=0, process="p*", stream=[7, 8])
    assert selection_of(**asked.keywords()) == asked
    assert asked.words == "window 1:2; in a; in b#2; skip-warmup; device 0; process p*; stream 7, 8"
    assert SelectionOptions().words == "the whole trace"
    assert " ".join(asked.command_words()) == (
        "--window 1:2 --in a --in b#2 --device 0 --process p* --stream 7 --stream 8 --skip-warmup"
    )


def run(capsys: pytest.CaptureFixture[str], *words: str | Path) -> tuple[int, str, str]:
    status = main([str(word) for word in words])
    out, err = capsys.readouterr()
    return status, out, err


def test_the_command_line_takes_all_of_them(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--window", "0:1s", "--in", "step", "--in", "request *", "--device", "0", "--device", "1"]
    words += ["--process", "1", "--process", "worker", "--stream", "7", "--stream", "8", "--skip-warmup"]
    status, out, _ = run(capsys, "summarize", trace, *words, "-q", "--format", "json")
    capture = json.loads(out)["capture"]
    assert status == 0
    assert capture["window"]["from"] == (
        "window 0:1s; in step; in request *; skip-warmup (from the first dispatch mark)"
    )
    assert capture["window"]["what"] == [[26 * MS, 35 * MS], [40 * MS, 50 * MS]]
    status, out, _ = run(capsys, "summarize", trace, "--in", "step#1", "--device", "0", "-q", "--format", "text")
    told = [line for line in out.splitlines() if line.startswith(("  window ", "  only "))]
    assert told == [
        "  window    in step#1: 10.00 ms, from 0.000000000 s to 0.010000000 s",
        "  only      device 0",
    ]
    status, out, _ = run(capsys, "categories", trace, "--window", ":10ms", "--format", "json")
    assert (status, sum(one["count"] for one in json.loads(out)["kernels"])) == (0, 2)
    assert run(capsys, "inspect", trace, "--format", "text")[1].count("0.001000000 s to 0.042000000 s") == 1


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--window", "x:"], 2, "has the time 'x'"),
        (["--in", "nothing"], 4, "no NVTX range is named 'nothing'"),
        (["--device", "5"], 4, "holds nothing; there are devices 0, 1"),
        (["--device", "x"], 2, "--device"),
    ],
)
@pytest.mark.parametrize("command", ["summarize", "categories"])
def test_errors_are_one_line(
    command: str, words: list[str], status: int, message: str, trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found, out, err = run(capsys, command, trace, *words)
    assert (found, out, len(err.splitlines())) == (status, "", 1)
    assert message in err


def test_the_library_sorts_kernels_of_a_part(trace: Path) -> None:
    assert sum(one.count for one in classify(trace, device=1).kernels) == 2
    with pytest.raises(MissingData, match="holds nothing"):
        classify(trace, window="100ms:200ms")


def test_sides_that_look_at_different_parts_are_not_compared(trace: Path, tmp_path: Path) -> None:
    stored, part = tmp_path / "whole.json", tmp_path / "part.json"
    stored.write_text(summarize(trace).to_json(), encoding="utf-8")
    part.write_text(summarize(trace, within="step#1").to_json(), encoding="utf-8")
    with pytest.raises(CapturesMismatch, match=r"what is looked at: the whole trace in BASE .*, in step#1 in HEAD"):
        diff(stored, part)
    with pytest.raises(CapturesMismatch, match="in step#1 is asked for"):
        diff(stored, stored, within="step#1")
    assert diff(stored, part, allow_mismatch=["window-or-filters"]).comparability.allowed
    assert not diff(part, trace, within="step#1").comparability.allowed
    assert not diff(trace, trace, window="0:20ms", device=0).comparability.allowed
    warm = tmp_path / "warm.json"
    warm.write_text(summarize(trace, skip_warmup=True).to_json(), encoding="utf-8")
    assert not diff(warm, trace, skip_warmup=True).comparability.allowed


POLICY = """
[selection]
in = "step#1"
device = 0

[[rule]]
figure = "gpu_busy_union_s"
max = "1500us"
"""


def test_a_policy_says_what_it_is_about(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # of step#1, 0 to 10 ms, device 0 is busy for 1 ms; of the whole trace for 3 ms
    path = tmp_path / "policy.toml"
    path.write_text(POLICY, encoding="utf-8")
    assert run(capsys, "check", trace, "--policy", path, "--format", "json")[0] == 0
    assert check(trace, policy=path).verdict == "pass"
    assert check(trace, policy=path, within="step#1", device=0).verdict == "pass"
    with pytest.raises(UsageInvalid, match=r"says what to look at \(in step#1; device 0\), and other"):
        check(trace, policy=path, within="step#2")
    stored = tmp_path / "whole.json"
    stored.write_text(summarize(trace).to_json(), encoding="utf-8")
    with pytest.raises(CapturesMismatch, match="in step#1; device 0 is asked for"):
        check(stored, policy=path)
    assert check(stored, policy=path, allow_mismatch=["window-or-filters"]).verdict == "fail"
    status, _, err = run(capsys, "check", trace, "--policy", path, "--in", "step")
    assert (status, "leave one away" in err) == (2, True)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("selection = 3", "selection is no table"),
        ("[selection]\nwidow = '1:2'", "there is no key 'widow'; did you mean window"),
        ("[selection]\nwindow = '1'", "no FROM:TO"),
        ("[selection]\ndevice = '0'", "give a whole number"),
    ],
)
def test_a_selection_of_a_policy_that_makes_no_sense(table: str, message: str) -> None:
    rule = "\n[[forbid]]\nwarnings = 'truncated-capture'\n"
    with pytest.raises(PolicyInvalid, match=message):
        parse_policy(table + rule, "policy.toml")
