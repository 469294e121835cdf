"""A stored digest as an input: printed, looked at, cut to what is asked for; what only its trace can answer is said."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

import nsys_digest
from nsys_digest import Digest, StoredInspection, UsageInvalid, inspect, load, summarize
from nsys_digest.model.digest import SECTIONS
from support import ROOT, call

SERVE = ROOT / "fixtures" / "traces" / "serve.sqlite"
GOLDEN = ROOT / "fixtures" / "golden" / "serve.json"


def refused(*words: str | Path) -> str:
    """Return the one line of a usage error."""
    ran = call("summarize", *words)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.count("\n") == 1
    assert ran.err.endswith(" [usage-invalid]\n")
    return ran.err


@pytest.mark.parametrize("golden", sorted(GOLDEN.parent.glob("*.json")), ids=lambda path: path.stem)
def test_a_stored_digest_is_printed_as_it_is(golden: Path) -> None:
    assert call("summarize", golden, "-q").out == golden.read_text()
    assert summarize(golden) == load(golden)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["text", "markdown", "json"])
def test_every_format_is_that_of_the_trace(format: str, tmp_path: Path) -> None:
    of_trace = call("summarize", SERVE, "--format", format)
    stored = tmp_path / "serve.sqlite"  # a name says nothing
    stored.write_text(call("summarize", SERVE, "-q", "--compact").out)
    of_stored = call("summarize", stored, "--format", format)
    assert of_stored.out == of_trace.out
    assert of_stored.err == of_trace.err.replace(str(SERVE), str(stored))
    for name, rows in (("--top", "3"), ("--top", "0")):
        words = ("--format", format, "-q", name, rows)
        assert call("summarize", stored, *words).out == call("summarize", SERVE, *words).out


def test_the_same_through_the_library() -> None:
    digest = load(GOLDEN)
    assert digest.to_text() == call("summarize", GOLDEN, "--format", "text", "-q").out.rstrip("\n") + "\n"
    assert digest.to_markdown() == call("summarize", GOLDEN, "--format", "markdown", "-q").out
    assert digest.to_markdown(top=2) == call("summarize", GOLDEN, "--format", "markdown", "-q", "--top", "2").out
    assert max(map(len, digest.to_text(width=60).splitlines())) <= 60
    assert "\x1b[" in digest.to_text(color=True)
    assert summarize(digest) == digest


class Checker(HTMLParser):
    """Sees that each element is closed where it should be, and keeps the text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag that opens."""
        assert {name for name, _ in attrs} <= {"style"}
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        """Take a tag that closes."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Take text."""
        self.text += data


def test_html_of_a_notebook() -> None:
    digest = load(GOLDEN)
    checker = Checker()
    checker.feed(digest._repr_html_())
    checker.close()
    assert checker.open == []
    assert {"div", "table", "td", "th"} <= checker.seen
    assert all(word in checker.text for word in ("serve.sqlite", "GPU span", "NVTX ranges", "Left out"))
    name = "<script>alert(1)</script>"
    hostile = replace(digest, file=name, top_kernels=((name, digest.top_kernels[0][1]),))
    assert "<script" not in hostile._repr_html_()
    assert "&lt;script&gt;" in hostile._repr_html_()


def test_what_only_the_trace_can_answer() -> None:
    line = refused(GOLDEN, "--steps", "decode", "--gaps", "10", "--max-names", "7")
    assert line == (
        f"nsys-digest: {GOLDEN}: this is a stored digest, and only the trace can answer --max-names and --gaps and "
        "--steps; give the trace (fixtures/traces/serve.sqlite), or leave that out [usage-invalid]\n"
    )
    for words in (
        ("--raw-nvtx-names",),
        ("--dispatch-prefix", "X"),
        ("--categories", "mine.toml"),
    ):
        assert f"only the trace can answer {words[0]};" in refused(GOLDEN, *words)


def test_what_it_has_anyway_is_granted() -> None:
    words = ("--dispatch-prefix", "CG_DISPATCH", "--max-names", "100000", "--threads", "2", "--reader", "stdlib")
    assert call("summarize", GOLDEN, "-q", *words, "--sections", "all").out == GOLDEN.read_text()


def test_fewer_kernels_and_never_more() -> None:
    digest = load(GOLDEN)
    some = call("summarize", GOLDEN, "-q", "--top", "3")
    assert json.loads(some.out)["top_kernels"] == json.loads(GOLDEN.read_text())["top_kernels"][:3]
    few = replace(digest, top_kernels=digest.top_kernels[:2])
    with pytest.raises(UsageInvalid, match=r"only the trace can answer --top \(it has 2 kernels\)"):
        summarize(few, top=3)
    assert summarize(few, top=2) == few
    # of this one all names are listed, so that more cannot be there
    whole = load(GOLDEN.with_name("graph_graph.json"))
    assert sum(total.count for _, total in whole.top_kernels) == whole.kernel_count
    assert summarize(whole, top=1000) == whole


def test_fewer_sections_and_never_more() -> None:
    idle_only = json.loads(call("summarize", GOLDEN, "-q", "--sections", "idle").out)
    assert idle_only["capture"]["filters"]["sections"] == ["idle"]
    of_trace = json.loads(call("summarize", SERVE, "-q", "--sections", "idle").out)
    assert idle_only | {"path": 0, "warnings": 0} == of_trace | {"path": 0, "warnings": 0}
    base = json.loads(call("summarize", GOLDEN, "-q", "--sections", "base").out)
    assert base["capture"]["filters"]["sections"] == []
    assert not set(SECTIONS) - {"nvtx"} & base.keys()
    lean = Digest.from_dict(base)
    with pytest.raises(UsageInvalid, match=r"only the trace can answer --sections \(it has the sections base\)"):
        summarize(lean, sections=["idle"])


def test_labels_are_added(tmp_path: Path) -> None:
    first = tmp_path / "first.json"
    assert call("summarize", GOLDEN, "-q", "--label", "commit=a", "-o", first).status == 0
    second = json.loads(call("summarize", first, "-q", "--label", "model=x", "--label", "commit=b").out)
    assert second["run"]["labels"] == {"commit": "b", "model": "x"}
    assert json.loads(GOLDEN.read_text()) | {"run": 0} == second | {"run": 0}


def test_runs_of_a_store(tmp_path: Path) -> None:
    store = tmp_path / "store"
    for golden in (GOLDEN, GOLDEN.with_name("mixed.json")):
        assert call("baseline", "save", "main", golden, "--store", store).status == 0
    assert json.loads(call("summarize", "@main", "--store", store, "-q").out)["file"] == "mixed.sqlite"
    assert "these are 2 runs; name one, as @NAME does the last" in refused("@main:2", "--store", store)
    found = json.loads(call("inspect", "@main", "--store", store).out)
    assert (found["kind"], found["trace"], found["size_bytes"]) == ("digest", "mixed.sqlite", None)
    assert found["file"].startswith("@main ")
    none = call("summarize", "@other", "--store", store)
    assert none.status == 4
    assert none.err.endswith("[baseline-missing]\n")


def test_inspect_says_what_it_is(tmp_path: Path) -> None:
    labelled = tmp_path / "labelled.json"
    call("summarize", GOLDEN, "-q", "--label", "commit=abc", "-o", labelled)
    digest = load(labelled)
    found = inspect(labelled)
    assert isinstance(found, StoredInspection)
    assert found.to_dict() == {
        "kind": "digest",
        "file": "labelled.json",
        "size_bytes": labelled.stat().st_size,
        "schema_version": "1.0",
        "tool": "nsys-digest",
        "tool_version": nsys_digest.__version__,
        "trace": "serve.sqlite",
        "trace_path": "fixtures/traces/serve.sqlite",
        "recorded_at": digest.run.recorded_at,
        "labels": {"commit": "abc"},
        "product": "NVIDIA Nsight Systems",
        "product_version": "2025.3.2.0",
        "gpus": json.loads(GOLDEN.read_text())["capture"]["gpus"],
        "kernel_count": digest.kernel_count,
        "sections": list(SECTIONS),
        "warnings": [warn.code for warn in digest.warnings],
    }
    assert repr(found) == f"<StoredInspection 'labelled.json': 'serve.sqlite', {len(SECTIONS)} sections>"
    text = call("inspect", labelled, "--format", "text").out
    for words in (
        "a stored digest",
        "schema version 1.0, written by nsys-digest",
        "labels",
        "commit=abc",
        "idle, launch",
    ):
        assert words in text
    assert re.search(r"^## labelled\\?\.json", call("inspect", labelled, "--format", "markdown").out)
    assert inspect(digest).to_dict()["size_bytes"] is None


def test_json_that_is_no_digest(tmp_path: Path) -> None:
    other = tmp_path / "package.json"
    other.write_text('{"name": "x"}')
    for verb in ("summarize", "inspect"):
        ran = call(verb, other)
        assert (ran.status, ran.out) == (3, "")
        assert ran.err.startswith(f"nsys-digest: {other}: this is no digest of schema version 1")
        assert ran.err.endswith("[digest-invalid]\n")
