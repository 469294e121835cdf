"""The files for CI systems in docs/ci: they run, and use what the program has."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from digests import TRACES, document, placed, stored
from support import ROOT, environment
from test_docs import commands, options_of

ACTION = ROOT / "docs" / "ci" / "github-action" / "action.yml"
GITLAB = ROOT / "docs" / "ci" / "gitlab.yml"


def script(text: str, after: str) -> str:
    """Return the block of shell behind a marker of a YAML file."""
    _, _, rest = text.partition(after)
    block = rest.partition("|\n")[2]
    indent = len(block) - len(block.lstrip(" "))
    lines = []
    for line in block.splitlines():
        if line.strip() and not line.startswith(" " * indent):
            break
        lines.append(line)
    return textwrap.dedent("\n".join(lines))


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """Return a folder with a program nsys-digest that is this one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "nsys-digest"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nsys_digest "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def bash(text: str, folder: Path, tools: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", text],
        cwd=folder,
        env=environment(PATH=f"{tools}{os.pathsep}{os.environ['PATH']}", **variables),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(("factor", "status"), [(1.0, 0), (2.0, 5)])
@pytest.mark.slow
def test_the_action_checks_and_leaves_its_reports(factor: float, status: int, tmp_path: Path, tools: Path) -> None:
    whole = document("serve")
    gemm = whole["categories"]["gemm"]["sum_s"]
    (tmp_path / "my runs").mkdir()
    stored(tmp_path / "my runs", "head 1.json", placed(whole, {("categories", "gemm", "sum_s"): gemm * factor}))
    ran = bash(
        script(ACTION.read_text(encoding="utf-8"), "REPORTS: ${{ inputs.reports }}"),
        tmp_path,
        tools,
        HEAD="my runs/*.json\n",
        BASELINE=str(TRACES / "serve.sqlite"),
        POLICY="",
        STORE=".nsys-digest/baselines",
        MIN_REPEATS="1",
        REPORTS="my reports",
        GITHUB_OUTPUT=str(tmp_path / "outputs"),
        GITHUB_STEP_SUMMARY=str(tmp_path / "summary.md"),
    )
    assert ran.returncode == status, ran
    assert (tmp_path / "outputs").read_text() == f"reports=my reports\nstatus={status}\n"
    names = {path.name for path in (tmp_path / "my reports").iterdir()}
    assert names == {"report.json", "report.md", "junit.xml", "check.sarif"}
    assert (tmp_path / "summary.md").read_text().startswith(f"## Check {'passed' if status == 0 else 'failed'}")
    assert "::notice" in ran.stderr if status == 0 else "::error title=nsys-digest%3A categories.gemm" in ran.stderr


def test_inputs_of_the_action_never_reach_the_script_as_text() -> None:
    text = ACTION.read_text(encoding="utf-8")
    assert "${{" not in script(text, "REPORTS: ${{ inputs.reports }}")


@pytest.mark.slow
def test_the_job_of_main_saves_the_first_runs_and_keeps_those_that_pass(tmp_path: Path, tools: Path) -> None:
    gate = script(GITLAB.read_text(encoding="utf-8"), "only saves one.\n")
    whole = document("serve")
    (tmp_path / "runs").mkdir()
    policy = tmp_path / "p.toml"
    policy.write_text('[[rule]]\nfigure = "gpu_activity_span_s"\nmax_change = "5%"\n', encoding="utf-8")

    def job(branch: str, seconds: float) -> int:
        stored(tmp_path / "runs", "1.sqlite", placed(whole, {("gpu_activity_span_s",): seconds}))
        variables = {"NSYS_STORE": "store", "NSYS_POLICY": "p.toml", "CI_COMMIT_BRANCH": branch}
        return bash(gate, tmp_path, tools, **variables).returncode

    def kept() -> int:
        return len(list((tmp_path / "store").rglob("*.json")))

    assert job("topic", 1.0) == 4  # nothing to compare with yet
    assert job("main", 1.0) == 0
    assert kept() == 1
    assert job("main", 1.01) == 0
    assert kept() == 2
    assert job("topic", 1.2) == 5
    assert job("main", 1.2) == 5
    assert kept() == 2


@pytest.mark.parametrize("path", [ACTION, GITLAB], ids=lambda path: path.name)
def test_the_options_exist(path: Path) -> None:
    known = set().union(*map(options_of, commands().values()))
    others = {"--quiet", "--force-overwrite", "--type"}  # of pip and nsys
    used = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", path.read_text(encoding="utf-8")))
    assert used - others <= known
    assert len(used) > 5
