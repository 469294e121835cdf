"""What is proposed in place of a command line that cannot be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import call, spawn, the_line

MEANT = [
    ("trace.sqlite", "summarize trace.sqlite"),
    ("trace.sqlite -f text", "summarize trace.sqlite -f text"),
    ("-f text trace.sqlite", "summarize -f text trace.sqlite"),
    ("--json trace.sqlite", "summarize --format json trace.sqlite"),
    ("-f text summarize trace.sqlite", "summarize -f text trace.sqlite"),
    ("Summarize trace.sqlite", "summarize trace.sqlite"),
    ("summarise trace.sqlite", "summarize trace.sqlite"),
    ("stats trace.sqlite", "summarize trace.sqlite"),
    ("compare a.sqlite b.sqlite", "diff a.sqlite b.sqlite"),
    ("summarize trace.sqlite --json", "summarize trace.sqlite --format json"),
    ("diff a.sqlite b.sqlite --md", "diff a.sqlite b.sqlite --format markdown"),
    ("summarize trace.sqlite --format md", "summarize trace.sqlite --format markdown"),
    ("summarize trace.sqlite --format=md", "summarize trace.sqlite --format markdown"),
    ("summarize trace.sqlite -f TEXT", "summarize trace.sqlite -f text"),
    ("summarize trace.sqlite --section idle", "summarize trace.sqlite --sections idle"),
    ("summarize trace.sqlite --Top=3", "summarize trace.sqlite --top=3"),
    ("summarize trace.sqlite --out o.json", "summarize trace.sqlite --output o.json"),
    ("summarize a.sqlite b.sqlite", "diff a.sqlite b.sqlite"),
    ("summarize run.sqlite -p gate.toml", "check run.sqlite -p gate.toml"),
    ("summarize -b @main run.sqlite", "check run.sqlite -b @main"),
    ("check -b @main run.sqlite", "check run.sqlite -b @main"),
    ("check --top 3 -b @main run.sqlite --compact", "check run.sqlite --top 3 --compact -b @main"),
    ("diff new.sqlite -b old.sqlite", "diff new.sqlite --base old.sqlite"),
    ("check new.sqlite --base old.sqlite", "check new.sqlite --baseline old.sqlite"),
]
NOT_MEANT = [
    ("nothing", "see: nsys-digest --help"),
    ("--nonsense", "see: nsys-digest --help"),
    ("summarize", "see: nsys-digest summarize --help"),
    ("summarize trace.sqlite --top", "see: nsys-digest summarize --help"),
    ("summarize trace.sqlite --format yaml", "see: nsys-digest summarize --help"),
    ("summarize a.sqlite b.sqlite c.sqlite", "see: nsys-digest summarize --help"),
    ("check -b @main", "see: nsys-digest check --help"),
    ("record", "see: nsys-digest record --help"),
]


@pytest.mark.parametrize(("words", "meant"), MEANT)
def test_the_command_that_was_meant(words: str, meant: str) -> None:
    line = the_line(call(*words.split()), 2, "usage-invalid")
    assert line.endswith(f"; try: nsys-digest {meant}")


@pytest.mark.parametrize(("words", "end"), NOT_MEANT)
def test_nothing_is_proposed_where_nothing_near_is_right(words: str, end: str) -> None:
    assert the_line(call(*words.split()), 2, "usage-invalid").endswith(f"; {end}")


def test_what_is_proposed_can_be_pasted() -> None:
    line = the_line(call("summarize", "a b's.sqlite", "--md"), 2, "usage-invalid")
    assert line.endswith("""; try: nsys-digest summarize 'a b'"'"'s.sqlite' --format markdown""")


def test_no_words_print_the_help_and_are_bad_usage_all_the_same() -> None:
    ran = spawn()
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("Usage: nsys-digest ")
    assert all(name in ran.err for name in ("summarize", "diff", "check", "inspect", "record"))


@pytest.mark.parametrize("words", [("summarize", ""), ("diff", "", ""), ("check", "a.json", "")])
def test_an_empty_word_is_no_path(words: tuple[str, ...]) -> None:
    assert the_line(call(*words), 2, "usage-invalid").startswith("an argument is empty")


def test_a_section_that_is_misspelt(tmp_path: Path) -> None:
    line = the_line(call("summarize", "--sections", "idel,nvtx", tmp_path / "any.sqlite"), 2, "usage-invalid")
    assert line.startswith("there is no section idel; did you mean idle? The sections are nvtx, idle, ")
