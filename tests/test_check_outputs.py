"""What CI systems read of a check: in their form, and with names in it that want out."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from digests import TRACES, document, one, placed, stored
from nsys_digest.gate.checks import check_sides
from nsys_digest.gate.policy import parse_policy
from nsys_digest.gate.verdict import CheckResult
from nsys_digest.render import github, junit, markdown, sarif, text
from nsys_digest.report.check import check_report
from support import call, spawn, the_line

NOW = datetime(2026, 11, 30, 12, 34, 56, tzinfo=UTC)
HOSTILE = {
    "controls": "a\x00\x08\x1b[31mred\x1b[0m\ufffe\ud800",
    "xml": "]]></failure><evil a='b'>&amp;<!-- -->",
    "line": "one\r\n::error::two\u2028three",
    "annotation": "::error file=x,line=1::boom%0A::set-output name=x::y",
    "markdown": "`a` | b ` | <script>alert(1)</script> [x](http://e) ![](http://e) @team #1",
    "sarif": "[link](http://evil) {0} {1} \\[",
    "html": "<img src=x onerror=alert(1)>&quot;",
    "figure": "a.b'\"*?",
    "empty": "",
    "long": "x" * 3000,
}
POLICY = """
[[rule]]
figure = 'nvtx.*.union_s'
max_change = "5%"
absent = "zero"
why = "::warning::]]> `x` | <b>"

[[rule]]
figure = 'nvtx.*.count'
max_change = "1%"

[[require]]
nvtx = "::error::]]> <x> | `y` %0A*"
"""


def failed() -> CheckResult:
    """Return a check in which a range of every hostile name appeared, some figures are missing, and some passed."""
    whole = document("serve")
    named = {("nvtx", name): dict(whole["nvtx"]["PLE_CPU_gather"], union_s=9.0) for name in HOSTILE.values()}
    named[("file",)] = HOSTILE["xml"]  # type: ignore[index]
    sides = one(named, name=f"head {HOSTILE['line']}"), one(name=f"base {HOSTILE['annotation']}")  # type: ignore[arg-type]
    return check_sides(*sides, parse_policy(POLICY, f"p {HOSTILE['annotation']}.toml"), notes=[HOSTILE["markdown"]])


RESULT = failed()


def test_the_example_has_every_kind_of_verdict() -> None:
    counts = RESULT.outcome_counts
    assert counts["fail"] == len(HOSTILE) + 1
    assert counts["missing"] == len(HOSTILE)
    assert counts["pass"] > 10


CHILDREN = ["properties", "testcase", "system-out", "system-err"]
SUITE = {"name", "timestamp", "hostname", "tests", "failures", "errors", "time", "package", "id"}


def test_junit_has_the_form_of_its_schema() -> None:
    """The elements, their order and their attributes, as the schemas of Ant and of Jenkins have them in common."""
    root = ET.fromstring(junit.render(RESULT, now=NOW))
    assert (root.tag, root.attrib, [child.tag for child in root]) == ("testsuites", {}, ["testsuite"])
    suite = root[0]
    assert set(suite.attrib) == SUITE | {"skipped"}
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    tags = [child.tag for child in suite]
    assert sorted(tags, key=CHILDREN.index) == tags
    assert [tags.count(tag) for tag in CHILDREN if tag != "testcase"] == [1, 1, 1]
    for entry in suite.iter("property"):
        assert set(entry.attrib) == {"name", "value"}
        assert entry.attrib["name"]
    for case in suite.iter("testcase"):
        assert set(case.attrib) == {"name", "classname", "time"}
        assert all(case.attrib.values())
        assert [child.tag for child in case] in ([], ["failure"], ["error"], ["skipped"])
        for child in case:
            assert set(child.attrib) == {"message", "type"}
            assert not list(child)
    for tag, verdict in (("failure", "fail"), ("error", "missing"), ("skipped", "skipped")):
        found = len(list(suite.iter(tag)))
        assert found == RESULT.outcome_counts[verdict]  # type: ignore[index]
    assert int(suite.attrib["tests"]) == len(list(suite.iter("testcase"))) == len(RESULT.outcomes)
    assert int(suite.attrib["failures"]) == RESULT.outcome_counts["fail"]
    assert int(suite.attrib["errors"]) == RESULT.outcome_counts["missing"]
    names = [(case.attrib["classname"], case.attrib["name"]) for case in suite.iter("testcase")]
    assert len(set(names)) == len(names)


def test_junit_says_what_failed_by_name() -> None:
    suite = ET.fromstring(junit.render(RESULT, now=NOW))[0]
    assert not list(suite.iter("evil"))
    messages = " ".join(failure.attrib["message"] for failure in suite.iter("failure"))
    assert HOSTILE["xml"] in messages
    assert "\\\\u001b[31mred" in messages or "\\u001b[31mred" in messages


def test_sarif_has_what_the_standard_asks_for() -> None:
    log = json.loads(sarif.render(RESULT, policy_file="ci/policy file.toml"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "nsys-digest"
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(run["results"]) == RESULT.outcome_counts["fail"] + RESULT.outcome_counts["missing"]
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert result["level"] in {"error", "warning"}
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "ci/policy%20file.toml"
        assert place["region"]["startLine"] in {2, 8, 12}
        # no placeholder, and no link: single braces and bare brackets are gone
        said = result["message"]["text"]
        assert not re.search(r"(?<!\{)\{(?!\{)", said.replace("{{", "").replace("}}", ""))
        assert not re.search(r"(?<!\\)(?:\\\\)*\[", said)
    prints = [result["partialFingerprints"]["figure/v1"] for result in run["results"]]
    assert len(set(prints)) == len(prints)


def test_sarif_without_a_policy_file_points_at_head() -> None:
    log = json.loads(sarif.render(RESULT, policy_file=None))
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"].startswith("head%20one%0D%0A")
    assert place["region"]["startLine"] == 1


def test_annotations_are_one_command_a_line() -> None:
    lines = github.render(RESULT, policy_file="p,q:r.toml").splitlines()
    assert len(lines) == 10  # a step shows no more of a level
    assert "more; see the report" in lines[-1]
    for line in lines[:-1]:
        match = re.fullmatch(r"::error title=([^:,]*),file=([^:,]*),line=(\d+)::(.*)", line)
        assert match, line
        assert match[2] == "p%2Cq%3Ar.toml"
        # every per cent sign is one of ours, and nothing but ours begins a line in the log
        assert not re.search(r"%(?!25|0A|0D|3A|2C)", line)
    assert all(line.startswith("::error") for line in lines)


def test_an_annotation_gives_the_text_back() -> None:
    """Undo the escapes as the runner does, and find the name as it was, but for characters made visible."""
    found = [line.rpartition("::error title=")[2] for line in github.render(RESULT, policy_file=None).splitlines()]
    decoded = [
        line.replace("%3A", ":").replace("%2C", ",").replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")
        for line in found
    ]
    assert any("boom%0A::set-output name=x::y" in line for line in decoded)


@pytest.mark.parametrize("width", [80, 120])
def test_text_has_no_command_and_moves_no_cursor(width: int) -> None:
    shown = text.render(check_report(RESULT, 20), width=width, color=False)
    assert not re.search(r"^\s*::", shown, re.MULTILINE)
    assert all(char == "\n" or char.isprintable() for char in shown)


def test_markdown_starts_no_markup() -> None:
    shown = markdown.render(check_report(RESULT, 20))
    outside = re.sub(r"(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)", "", shown)
    assert not re.search(r"(?<!\\)<(?:script|img|b>|x>|evil)", outside)
    assert not re.search(r"(?<!\\)\]\(http", outside)
    assert not re.search(r"(?<!\\)@team", outside)
    for line in shown.splitlines():
        if line.startswith("| +"):
            assert len(re.findall(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", line))) == 7, line


def slow(tmp_path: Path) -> Path:
    return stored(tmp_path, "slow.json", placed(document("serve"), {("categories", "gemm", "sum_s"): 1.0}))


def test_all_outputs_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n", encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    files = {name: tmp_path / f"out.{name}" for name in ("json", "markdown", "junit", "sarif")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    ran = call("check", slow(tmp_path), "-b", TRACES / "serve.sqlite", "--github", "--format", "text", *options)
    assert ran.status == 5
    assert json.loads(files["json"].read_text())["verdict"] == "fail"
    assert "categories.gemm.sum" in files["markdown"].read_text().replace("\\", "")
    assert next(ET.parse(files["junit"]).getroot().iter("failure")).attrib["type"] == "change"
    assert json.loads(files["sarif"].read_text())["runs"][0]["results"][0]["ruleId"] == "change"
    assert summary.read_text() == "before\n" + files["markdown"].read_text() + "\n"
    (annotated,) = [line for line in ran.err.splitlines() if line.startswith("::")]
    assert annotated == (
        "::error title=nsys-digest%3A categories.gemm.sum_s::categories.gemm.sum_s changed by +984.6 ms (+6,398 %25) "
        "from 15.39 ms to 1.000 s, up to +10 %25 or +1 ms is allowed; noise is not excluded, which takes 5 runs a side "
        "(kernels of one kind take longer)"
    )
    assert "::" not in re.sub(r"^.*nsys-digest diff.*$", "", ran.out, flags=re.MULTILINE)


def test_a_passed_check_is_a_notice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    ran = call("check", TRACES / "serve.sqlite", "-b", TRACES / "serve.sqlite", "--github")
    assert ran.status == 0
    assert "GITHUB_STEP_SUMMARY is not set" in ran.err
    notice = "::notice title=nsys-digest::27 checks: 26 within what is allowed, 1 left out"
    assert ran.err.splitlines()[-1] == notice


def test_a_summary_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "none" / "summary.md"))
    ran = call("check", TRACES / "serve.sqlite", "-b", TRACES / "serve.sqlite", "--github")
    assert (ran.status, ran.err.endswith("[output-failed]\n")) == (1, True)


# As an assertion.


def test_the_assertion_raises_the_report(tmp_path: Path) -> None:
    from nsys_digest.testing import assert_no_regression

    assert assert_no_regression(TRACES / "serve.sqlite", TRACES / "serve.sqlite").passed
    with pytest.raises(AssertionError, match=r"(?s)Check failed.*categories\.gemm\.sum_s changed by") as caught:
        assert_no_regression(slow(tmp_path), TRACES / "serve.sqlite")
    assert "Worse than allowed" in str(caught.value)


@pytest.mark.slow
def test_the_fixture_of_the_same_name(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["nsys_digest.testing"]\n', encoding="utf-8")
    (tmp_path / "test_speed.py").write_text(
        "def test_same(assert_no_regression):\n"
        f"    assert assert_no_regression({str(TRACES / 'serve.sqlite')!r}, {str(TRACES / 'serve.sqlite')!r}).passed\n"
        "def test_slow(assert_no_regression):\n"
        f"    assert_no_regression({str(slow(tmp_path))!r}, {str(TRACES / 'serve.sqlite')!r})\n",
        encoding="utf-8",
    )
    script = "import pytest, sys; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'test_speed.py']))"
    ran = spawn(script=script, cwd=tmp_path)
    assert "1 failed, 1 passed" in ran.out, ran
    assert "categories.gemm.sum_s changed by" in ran.out


def test_the_assertion_needs_no_pytest() -> None:
    script = (
        "import sys; sys.modules['pytest'] = None\n"
        "from nsys_digest.testing import assert_no_regression\n"
        "print(assert_no_regression.__name__)"
    )
    assert spawn(script=script).out == "assert_no_regression\n"


def test_the_hint_of_a_stored_baseline(tmp_path: Path) -> None:
    store = tmp_path / "store"
    assert call("baseline", "save", "main", TRACES / "serve.sqlite", "--store", store).status == 0
    ran = call("check", slow(tmp_path), "-b", "@main", "--store", store, "--format", "text")
    assert ran.status == 5
    hint = f"nsys-digest diff --store {store} @main {slow(tmp_path)}"
    assert "".join(hint.split()) in "".join(ran.out.split())
    line = hint.split()[1:]
    found = json.loads(call(*line, "-f", "json").out)
    assert found["base"]["runs"][0]["file"] == "serve.sqlite"
    few = call("diff", "--base", "@main:7", "--head", line[-1], "--store", store)
    assert few.err == "nsys-digest: note: @main:7 has 1 run and not 7 [baseline-short]\n"
    the_line(call("diff", "@moon", line[-1], "--store", store), 4, "baseline-missing")


def test_an_unknown_document_has_no_schema() -> None:
    assert json.loads(call("schema", "--of", "check").out)["$id"] == "urn:nsys-digest:check:1"
    the_line(call("schema", "--of", "moon"), 2, "usage-invalid")


def test_the_document_is_as_its_schema_says() -> None:
    import jsonschema

    schema: dict[str, Any] = json.loads(call("schema", "--of", "check").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(json.loads(RESULT.to_json()), schema)
