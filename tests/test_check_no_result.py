"""The verdict comes whatever becomes of the outputs, and the outputs come whatever becomes of the verdict."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from digests import TRACES
from nsys_digest.errors import CapturesMismatch
from nsys_digest.gate.no_result import NoResult, no_result
from nsys_digest.gate.policy import load_policy
from nsys_digest.render import github, junit, markdown, sarif, text
from nsys_digest.report.no_result import no_result_report
from support import ROOT, call, command, environment, the_line
from valid import validate

GATE = ROOT / "fixtures" / "gate"
FAILS = ("check", GATE / "eager_1.json", "-b", GATE / "base_4.json", "--format", "text")
FORMS = ("json", "markdown", "junit", "sarif")
NOW = datetime(2026, 11, 30, tzinfo=UTC)
HOSTILE = "]]><evil/> \x1b[31m\r\n::error::x%0A [a](http://e) {0} | `b` @team <b>\ud800"


def without_a_reader(*arguments: str | Path) -> tuple[int, str]:
    """Return status and standard error of a run whose standard output nobody reads from the start."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command(*arguments), env=environment(), stdout=writer, stderr=subprocess.PIPE, check=False, timeout=60
    )
    os.close(writer)
    return done.returncode, done.stderr.decode()


@pytest.mark.slow
def test_a_failed_check_says_so_without_a_reader(tmp_path: Path) -> None:
    status, err = without_a_reader(*FAILS, "--junit", tmp_path / "junit.xml", "--json", "/dev/stdout")
    assert status == 5
    assert err.endswith(" [check-failed]\n")
    assert err.count("\n") == 1
    assert int(ET.parse(tmp_path / "junit.xml").getroot()[0].attrib["failures"]) > 0


@pytest.mark.slow
def test_what_has_no_answer_and_what_passed_without_a_reader(tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text('[[require]]\nnvtx = "no such range"\n', encoding="utf-8")
    status, err = without_a_reader("check", GATE / "base_1.json", "-p", policy)
    assert status == 5, err  # a required name that is not there is a failure
    policy.write_text('[[rule]]\nfigure = "nvtx.none.count"\nmax = 1\n', encoding="utf-8")
    status, err = without_a_reader("check", GATE / "base_1.json", "-p", policy)
    assert (status, err.endswith(" [figure-missing]\n")) == (4, True)
    assert without_a_reader("check", GATE / "base_1.json", "-b", GATE / "base_1.json") == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_hides_no_verdict(tmp_path: Path) -> None:
    ran = call(*FAILS, "-o", "/dev/full", "--json", tmp_path / "check.json")
    assert ran.status == 5
    first, last = ran.err.splitlines()
    assert first.startswith("nsys-digest: /dev/full: cannot be written")
    written = (
        f"; {tmp_path / 'check.json'} was written whole, and nothing else; /dev/full may have a part [output-failed]"
    )
    assert first.endswith(written)
    assert last.endswith(" [check-failed]")
    assert json.loads((tmp_path / "check.json").read_text())["verdict"] == "fail"
    same = GATE / "base_1.json"
    the_line(call("check", same, "-b", same, "-o", "/dev/full"), 1, "output-failed")


def asked_for(folder: Path) -> tuple[dict[str, Path], list[str | Path]]:
    """Return files of every form, each left by an earlier run, and the options that ask for them."""
    files = {name: folder / f"out.{name}" for name in FORMS}
    for path in (*files.values(), folder / "report.txt"):
        path.write_text("of an earlier run", encoding="utf-8")
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    return files, [*options, "--github", "-f", "text", "-o", folder / "report.txt"]


MISMATCH = (TRACES / "graph_graph.sqlite", "-b", TRACES / "graph_node.sqlite")


@pytest.mark.parametrize(
    ("words", "status", "code"),
    [
        (MISMATCH, 4, "captures-mismatch"),
        ((GATE / "base_1.json", "-b", "@none"), 4, "baseline-missing"),
        ((GATE / "base_1.json", "-b", GATE / "base_2.json", "--min-repeats", "3"), 4, "missing-data"),
        (("none.sqlite", "-b", GATE / "base_2.json"), 3, "trace-unreadable"),
    ],
)
def test_every_output_says_why_nothing_was_checked(
    words: tuple[str | Path, ...], status: int, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    files, options = asked_for(tmp_path)
    ran = call("check", *words, *options)
    assert (ran.status, ran.out) == (status, "")
    annotated, line = ran.err.splitlines()
    message = line.removeprefix("nsys-digest: ").removesuffix(f" [{code}]")
    assert annotated.startswith(f"::error title=nsys-digest%3A {code}::")
    whole = json.loads(files["json"].read_text())
    validate(whole, "check")
    assert (whole["verdict"], whole["passed"], whole["outcomes"]) == ("missing", False, [])
    assert whole["error"] == {"code": code, "message": message}
    assert (whole["head"], whole["base"]) == ([str(words[0])], [str(words[2])])
    (case,) = ET.parse(files["junit"]).getroot().iter("testcase")
    assert [(found.tag, found.attrib) for found in case] == [("error", {"message": message, "type": code})]
    (run,) = json.loads(files["sarif"].read_text())["runs"]
    assert [result["level"] for result in run["results"]] == ["error"]
    assert run["invocations"][0]["executionSuccessful"] is False
    assert files["markdown"].read_text().startswith("## Check without a result\n\nNothing was checked: ")
    assert (tmp_path / "summary.md").read_text() == files["markdown"].read_text() + "\n"
    assert (tmp_path / "report.txt").read_text().startswith("Check without a result")


def test_a_usage_error_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    files, options = asked_for(tmp_path)
    the_line(call("check", GATE / "base_1.json", *options), 2, "usage-invalid")  # compares, but with nothing
    the_line(call("check", *MISMATCH, "--allow-mismatch", "moon", *options), 2, "usage-invalid")
    assert {path.read_text() for path in (*files.values(), tmp_path / "report.txt")} == {"of an earlier run"}
    assert not (tmp_path / "summary.md").exists()


def hostile() -> NoResult:
    return no_result(CapturesMismatch(HOSTILE), [HOSTILE], [HOSTILE], load_policy(None))


def test_an_error_cannot_break_out() -> None:
    root = ET.fromstring(junit.render_no_result(hostile(), now=NOW))
    suite = root[0]
    assert (root.tag, [child.tag for child in suite]) == (
        "testsuites",
        ["properties", "testcase", "system-out", "system-err"],
    )
    assert (suite.attrib["tests"], suite.attrib["errors"], suite.attrib["failures"]) == ("1", "1", "0")
    assert not list(root.iter("evil"))
    said = json.loads(sarif.render_no_result(hostile(), policy_file=None))["runs"][0]
    for message in (said["results"][0]["message"], said["invocations"][0]["toolExecutionNotifications"][0]["message"]):
        assert "\\[a\\](http://e) {{0}}" in message["text"]
        assert message["text"].isprintable()
    rules = said["tool"]["driver"]["rules"]
    assert rules[said["results"][0]["ruleIndex"]]["id"] == said["results"][0]["ruleId"]
    annotated = github.render_no_result(hostile())
    assert annotated.isprintable()
    assert not re.search(r"%(?!25|0A|0D|3A|2C)", annotated)
    shown = text.render(no_result_report(hostile()), width=100, color=False)
    assert all(char == "\n" or char.isprintable() for char in shown)
    assert not re.search(r"(?<!\\)(?:<evil|<b>|\]\(http|@team)", markdown.render(no_result_report(hostile())))
    hostile().to_json().encode("utf-8", "backslashreplace")


@pytest.fixture
def _bash() -> None:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")


def suggested(words: tuple[str | Path, ...], folder: Path) -> list[str]:
    """Return the words of the command that a failed check suggests, as bash reads them."""
    ran = call("check", *words, "--format", "markdown", "-o", folder / "report.md")
    assert ran.status == 5, ran
    lines = (folder / "report.md").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("What moved, and why: ")]
    hint = line.removeprefix("What moved, and why: `").removesuffix("`")
    script = f"nsys-digest() {{ printf '%s\\n' \"$@\"; }}; {hint}"
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.usefixtures("_bash")
def test_the_suggested_command_works(tmp_path: Path) -> None:
    store = tmp_path / "my store"
    for run in (1, 2):
        assert call("baseline", "save", "main", GATE / f"base_{run}.json", "--store", store).status == 0
    one = suggested((GATE / "eager_1.json", "-b", "@main", "--store", store), tmp_path)
    two = suggested((GATE / "eager_1.json", GATE / "eager_2.json", "-b", "@main:2", "--store", store), tmp_path)
    for words in (one, two):
        assert ["--store", str(store)] == words[1:3]
        assert call(*words).status == 0, words


@pytest.mark.usefixtures("_bash")
def test_the_suggested_command_allows_what_the_check_did(tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text('[[rule]]\nfigure = "gpu_activity_span_s"\nmax = "1ns"\n', encoding="utf-8")
    again = suggested((*MISMATCH, "-p", policy, "--allow-mismatch", "graph-mode"), tmp_path)
    assert again[1:3] == ["--allow-mismatch", "graph-mode"]
    assert call(*again).status == 0, again
