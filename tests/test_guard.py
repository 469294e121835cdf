"""The instruction guard, where there is no valgrind: its functions run, and it tells slower from faster."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from guard import run as guard
from support import ROOT


@pytest.mark.slow
def test_the_functions_run_and_are_those_on_record() -> None:
    trace = ROOT / "fixtures" / "traces" / "nogpu.sqlite"
    command = [sys.executable, "-m", "tests.guard.hot", str(trace)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    record = json.loads(guard.RECORD.read_text(encoding="utf-8"))
    assert told["functions"] == list(record["instructions"])
    assert list(told["versions"]) == list(record["versions"])


def counted(instructions: int, version: str = "1") -> dict[str, Any]:
    return {"versions": {"python": version}, "instructions": {"union": instructions}}


def test_more_instructions_than_allowed_fail(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    record = tmp_path / "record.json"
    record.write_text(json.dumps(counted(1000)))
    monkeypatch.setattr(guard, "RECORD", record)
    monkeypatch.setattr(guard.shutil, "which", lambda name: name)
    for found, status in ((900, 0), (1099, 0), (1101, 1)):
        monkeypatch.setattr(guard, "count", lambda *_, found=found: counted(found))
        assert guard.main([]) == status
    assert guard.main(["--allow", "0.2"]) == 0


def test_other_versions_are_only_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    record = tmp_path / "record.json"
    record.write_text(json.dumps(counted(1000)))
    monkeypatch.setattr(guard, "RECORD", record)
    monkeypatch.setattr(guard.shutil, "which", lambda name: name)
    monkeypatch.setattr(guard, "count", lambda *_: counted(5000, "2"))
    assert guard.main([]) == 0
    assert "+400.0%  union\nguard: only reported, since the record was made with another python\n" in (
        capsys.readouterr().out
    )


def test_without_valgrind_it_says_so(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(guard.shutil, "which", lambda name: None)
    assert guard.main([]) == 0
    assert capsys.readouterr().out == "guard: skipped, valgrind is not installed\n"
