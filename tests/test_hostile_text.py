"""Whatever text a trace, a stored digest, a policy or a file name brings: no output lets it do anything.

Documents are made from their types, with hostile text wherever a type has room for text, so that a new field is covered
without an edit here.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from markdown_it import MarkdownIt

from nsys_digest.compare.diff import Diff
from nsys_digest.compare.threshold import Threshold
from nsys_digest.gate.baselines import Listing
from nsys_digest.gate.no_result import NoResult
from nsys_digest.gate.verdict import CheckResult
from nsys_digest.model.category_use import CategoryUse
from nsys_digest.model.digest import Digest
from nsys_digest.model.figures import figures
from nsys_digest.model.inspection import Inspection
from nsys_digest.model.stored_inspection import StoredInspection
from nsys_digest.render import github, html, junit, markdown, sarif, text
from nsys_digest.render.escape import LONGEST, json_text, markdown_code, one_line, whole_line
from nsys_digest.render.figure_lines import figure_lines
from nsys_digest.report.baseline import listing_report
from nsys_digest.report.blocks import Report
from nsys_digest.report.categories import categories_report
from nsys_digest.report.check import check_report
from nsys_digest.report.diff import _LAYOUTS, diff_report
from nsys_digest.report.digest import digest_report, inspection_report
from nsys_digest.report.no_result import no_result_report
from nsys_digest.report.short import short_report
from nsys_digest.report.stored import stored_report

HOSTILE = [
    "::error::x",
    "  ::warning file=a::b",
    ":::set-output::y",
    "##[set-output name=a]b",
    "a ###[error]b ##vso[task.setvariable variable=PATH]/evil ##teamcity[x]",
    "\x1b[31mred\x1b]0;title\x07\x9b31m",
    "two\nlines\r\nand\ttab\x0b\x0c\x85\u2028\u2029::error::x\n##[group]",
    "\u202eesrever\u2066\u200b\u2060\ufeff\u00ad",
    "\u034fin\u115fvis\u3164ible\U000e0101",
    "\udcff\x00\x7f\ufffe\U0010ffff",
    "https://example.com/?a=b#c www.example.com ftp://a.b mailto:a@b.cd xmpp:a@b.cd user@example.com",
    "<https://example.com> <b>bold</b> <!-- x --> &lt;script&gt; <script>alert(1)</script>",
    "[link](https://example.com) ![image](x) [a]: http://b [^1] [ ] [x]",
    '@someone @org/team #123 org/repo#4 GH-5 !6 $7 %8 &9 ~label %"m" :smile: :+1:',
    "# heading",
    "- item",
    "+ item",
    "1. one",
    "7) seven",
    "> quote",
    "===",
    "---",
    "```",
    "~~~ x",
    "    code",
    "| a | b |",
    "*b* _i_ **b** __b__ ~~s~~ `c` ``c`` $x$ $$y$$ \\( \\) \\",
    "a|b`c\\|d`",
    "`",
    "``",
    "\\",
    "|",
    " ",
    "",
    "]]> <![CDATA[ &amp; \"'",
    "{0} {{x}} [embedded](1) %0A%0D::error::z",
    "数 🚀 é e\u0301 ❤\ufe0f",
]
TYPES: list[Any] = [Digest, Diff, CheckResult, NoResult, Inspection, StoredInspection, CategoryUse, Listing]
LITERALS = range(5)
SGR = re.compile(r"\x1b\[[\d;]*m")
LOG_COMMAND = re.compile(r"##\w*\[")
LINKED = re.compile(
    r"@\w|[#!$&]\d|gh-\d|https?://|ftp://|www\.|mailto:\w|xmpp:\w|%[\w\"]|~\w|(?<!:):[\w+-]+:(?!:)", re.IGNORECASE
)
INVISIBLE = "\u034f\u115f\u1160\u3164\U000e0101"


def made(hint: Any, words: str, literal: int = 0) -> Any:
    """Return a value of a type in which every text is the given one, also the names of mappings."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, typing.TypeAliasType if hasattr(typing, "TypeAliasType") else ()):
        return made(hint.__value__, words, literal)
    if origin is Callable:  # how a field is read: no text of anybody
        return None
    if origin is typing.Literal:
        return inner[literal % len(inner)]
    if origin in {types.UnionType, typing.Union}:
        return made(str if str in inner else next(each for each in inner if each is not type(None)), words, literal)
    if origin is tuple and inner[-1:] == (...,):
        return (made(inner[0], words, literal),) * 2
    if origin is tuple:
        return tuple(made(each, words, literal) for each in inner)
    if origin in {dict, Mapping, typing.Mapping} or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return Every({words: made(inner[1], words, literal)})
    if origin in {list, Sequence}:
        return [made(inner[0], words, literal)]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        hints = typing.get_type_hints(hint)
        fields = [field for field in dataclasses.fields(hint) if field.init]
        return hint(**{field.name: made(hints[field.name], words, literal) for field in fields})
    plain: dict[Any, Any] = {
        str: words,
        int: 1,
        float: 0.5,
        bool: True,
        Any: words,
        Path: Path(f"a/{words}".replace("\0", "")),
    }
    return plain[hint]


class Every(dict[str, Any]):
    """A mapping that has a value for the names that every document has, too."""

    def __missing__(self, _: str) -> Any:
        return next(iter(self.values()))


def reports(words: str, literal: int) -> list[Report]:
    """Return every report there is, of documents that are full of a text."""
    result, nothing = (made(kind, words, literal) for kind in (CheckResult, NoResult))
    diff = made(Diff, words, literal)
    tables = dict.fromkeys(_LAYOUTS, diff.tables[words])  # the names of tables are our own
    return [
        digest_report(made(Digest, words, literal), top=5),
        short_report(made(Digest, words, literal)),
        diff_report(dataclasses.replace(diff, tables=tables), 5, Threshold()),
        check_report(result, 5, ["--store", words]),
        no_result_report(nothing),
        inspection_report(made(Inspection, words, literal)),
        stored_report(made(StoredInspection, words, literal)),
        categories_report(made(CategoryUse, words, literal), top=5),
        listing_report(made(Listing, words, literal), words),
    ]


def harm(output: str, *, commands: bool = False) -> list[str]:
    """Return the lines that can do something to a terminal or a log; ``commands`` of ours are not meant."""
    found = [char for char in output if char != "\n" and (not char.isprintable() or char in INVISIBLE)]
    lines = [] if commands else [line for line in output.split("\n") if line.lstrip().startswith("::")]
    return found + lines + [line for line in output.split("\n") if LOG_COMMAND.search(line)]


@pytest.mark.parametrize("words", HOSTILE, ids=ascii)
@pytest.mark.slow
def test_text(words: str) -> None:
    for literal, width in zip(LITERALS, (20, 41, 60, 80, 120), strict=True):
        for report in reports(words, literal):
            assert harm(text.render(report, width=width, color=False)) == []
    assert harm(SGR.sub("", text.render(reports(words, 0)[0], width=80, color=True))) == []


@pytest.mark.parametrize("words", HOSTILE, ids=ascii)
@pytest.mark.slow
def test_markdown(words: str) -> None:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    for report in reports(words, 0):
        page = markdown.render(report)
        assert harm(page) == []
        tokens = parser.parse(page)
        kinds = {token.type for token in tokens} - {"inline"}
        ours = {"heading", "paragraph", "table", "thead", "tbody", "tr", "th", "td", "bullet_list", "list_item"}
        assert {kind.removesuffix("_open").removesuffix("_close") for kind in kinds} <= ours
        assert {token.tag for token in tokens if token.type == "heading_open"} <= {"h2", "h3"}
        for token in (child for inline in tokens for child in inline.children or ()):
            assert token.type in {"text", "code_inline", "strong_open", "strong_close", "em_open", "em_close"}
            assert token.type == "code_inline" or not LINKED.search(token.content), token.content


class _Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take a tag that opens."""
        self.seen |= {tag, *(name for name, _ in attrs)}


@pytest.mark.parametrize("words", HOSTILE, ids=ascii)
def test_lines_of_figures(words: str) -> None:
    found = list(figures(made(Digest, words)))
    assert words in {name for one in found for name in one.names}
    rows = [json.loads(line) for line in figure_lines(found, "ndjson")]
    assert [row["names"] for row in rows] == [list(one.names) for one in found]
    for form in ("csv", "ndjson"):
        lines = list(figure_lines(found, form))
        assert harm("\n".join(lines)) == []
        assert len(lines) == len(found) + (form == "csv")
    cells = [row[1:-2] for row in csv.reader(figure_lines(found, "csv"))]
    assert all(cell.strip()[:1] not in {"=", "+", "-", "@"} for row in cells for cell in row if cell.strip())


@pytest.mark.parametrize("words", HOSTILE, ids=ascii)
def test_html(words: str) -> None:
    ours = {"div", "h3", "h4", "p", "i", "b", "ul", "li", "code", "table", "tr", "th", "td", "style"}
    for report in reports(words, 0):
        page = html.render(report)
        assert harm(page) == []
        tags = _Tags()
        tags.feed(page)
        assert tags.seen <= ours


@pytest.mark.parametrize("words", HOSTILE, ids=ascii)
def test_what_ci_systems_read(words: str) -> None:
    now = datetime(2025, 1, 1, tzinfo=UTC)
    for literal in LITERALS:
        result, nothing = made(CheckResult, words, literal), made(NoResult, words, literal)
        for page in (junit.render(result, now=now), junit.render_no_result(nothing, now=now)):
            assert harm(page) == []
            assert {element.tag for element in ET.fromstring(page).iter()} <= {
                *("testsuites", "testsuite", "properties", "property", "testcase", "failure", "error", "skipped"),
                *("system-out", "system-err"),
            }
        for log in (sarif.render(result, policy_file=words), sarif.render_no_result(nothing, policy_file=words)):
            assert harm(json_text(log)) == []
            assert json.loads(json_text(log)) == json.loads(log)
            for found in json.loads(log)["runs"][0]["results"]:
                shown = found["message"]["text"]
                assert harm(shown.replace("::", "")) == []
                assert not re.search(r"(?<!\\)\[", shown)
        for commands in (github.render(result, policy_file=words), github.render_no_result(nothing)):
            assert harm(commands, commands=True) == []
            for line in commands.splitlines():
                assert re.fullmatch(r"::(?:error|warning|notice) [^:]*::.*", line)


@pytest.mark.parametrize("words", HOSTILE, ids=ascii)
@pytest.mark.parametrize("kind", [Digest, Diff, CheckResult, NoResult, Inspection, StoredInspection, CategoryUse])
def test_json(kind: Any, words: str) -> None:
    document = made(kind, words).to_json()
    safe = json_text(document)
    assert harm(safe) == []
    assert json.loads(safe) == json.loads(document)
    assert (
        words in json.dumps(json.loads(safe), ensure_ascii=False).replace("\\\\", "\\")
        or not words.isprintable()
        or '"' in words
    )


def test_the_documents_are_full_of_it() -> None:
    """Where a type has room for text, the text is there: as many times as the types have such fields, at least."""

    def fields(hint: Any) -> int:
        if hint is str:
            return 1
        if dataclasses.is_dataclass(hint) and isinstance(hint, type):
            return sum(map(fields, typing.get_type_hints(hint).values()))
        return sum(map(fields, typing.get_args(hint)))

    def count(value: Any) -> int:
        if isinstance(value, str):
            return "WORDS" in value
        if isinstance(value, dict):
            return sum(map(count, [*value, *value.values()]))
        if isinstance(value, list | tuple):
            return sum(map(count, value))
        return (
            sum(count(getattr(value, field.name)) for field in dataclasses.fields(value))
            if (dataclasses.is_dataclass(value))
            else 0
        )

    for kind in TYPES:
        assert count(made(kind, "WORDS")) >= fields(kind) > 0, kind


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("##[a]", "\\x23#[a]"),
        ("###x[a] ## b #[c]", "#\\x23#x[a] ## b #[c]"),
        ("::a", "::a"),
        ("a\u200bb\x1b", "a\\u200bb\\x1b"),
        ("\U000e0101", "\\U000e0101"),
        ("plain数", "plain数"),
    ],
)
def test_one_line(words: str, shown: str) -> None:
    assert one_line(words) == shown


def test_what_begins_a_line() -> None:
    assert whole_line("  ::a") == "  \\x3a:a"
    assert whole_line("a ::b") == "a ::b"


@pytest.mark.parametrize("make", [one_line, markdown_code, whole_line])
def test_a_name_of_absurd_length_loses_its_middle(make: Callable[[str], str]) -> None:
    assert LONGEST < 11_000
    first, second = ("a" * 5_000_000 + middle + "b" * 5_000_000 for middle in "xy")
    assert 10_000 < len(make(first)) < 10_100
    assert "[9,990,001 characters left out, CRC " in make(first)
    assert make(first) != make(second)
    assert one_line("a" * LONGEST) == "a" * LONGEST
