"""Text that is longer than the terminal, which has 24 lines here, goes through a pager; nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from nsys_digest.cli.output import CI_VARIABLES
from nsys_digest.cli.pager import pager_words
from support import call, on_terminal, spawn
from test_fixtures import TRACES

SERVE = next(path for path in TRACES if path.stem == "serve")
NOT_CI = dict.fromkeys(CI_VARIABLES, "")
MARKED = "sed s/^/paged:/"
PLAIN = {"NO_COLOR": "1", **NOT_CI}


@pytest.mark.slow
def test_long_text_is_paged() -> None:
    ran, shown = on_terminal("summarize", "-q", SERVE, PAGER=MARKED, **PLAIN)
    assert ran.status == 0
    printed = call("summarize", "-q", "-f", "text", SERVE).out
    assert shown == "".join(f"paged:{line}\n" for line in printed.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "changes"),
    [
        (("--no-pager",), {}),
        ((), {"CI": "true"}),
        ((), {"PAGER": ""}),
        ((), {"PAGER": "cat"}),
        ((), {"PAGER": "no-such-pager-here"}),
        ((), {"PAGER": "'"}),
        ((), {"TERM": "dumb"}),
        (("--format", "json"), {}),
        (("--sections", "step_candidates"), {}),
    ],
    ids=["option", "CI", "empty", "cat", "missing", "no words", "dumb", "json", "short"],
)
def test_what_is_not_paged(words: tuple[str, ...], changes: dict[str, str]) -> None:
    ran, shown = on_terminal("summarize", "-q", SERVE, *words, **{"PAGER": MARKED, **PLAIN, **changes})
    assert ran.status == 0
    assert "serve.sqlite" in shown
    assert "paged:" not in shown


def test_a_pipe_is_not_paged() -> None:
    ran = spawn("summarize", "-q", "-f", "text", SERVE, PAGER=MARKED, **NOT_CI)
    assert ran.status == 0
    assert ran.out.startswith("serve.sqlite\n")


@pytest.mark.slow
def test_a_pager_that_is_left_early_is_no_failure(tmp_path: Path) -> None:
    ran, shown = on_terminal("summarize", "-q", SERVE, PAGER="head -n 1", **PLAIN)
    assert (ran.status, shown) == (0, "serve.sqlite\n")
    assert ran.err == ""


def test_the_words_of_a_pager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PAGER", "env -u LESS cat -n")
    assert pager_words() == ["env", "-u", "LESS", "cat", "-n"]
    monkeypatch.delenv("PAGER")
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/less")
    assert pager_words() == ["less", "-FRX"]
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert pager_words() == []
