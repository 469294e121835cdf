"""The documentation against the program: nothing missing, nothing that is not there, every example run."""

from __future__ import annotations

import doctest
import json
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import nsys_digest
from nsys_digest.cli import app
from nsys_digest.cli.export import TableFormat
from nsys_digest.cli.options import DigestFormat, ReaderChoice
from nsys_digest.cli.output import Format
from nsys_digest.errors import ERRORS as CORE_ERRORS
from nsys_digest.model.cuda_calls import CallClass, call_class
from nsys_digest.model.digest import ON_REQUEST, SECTIONS
from nsys_digest.model.idle_causes import CAUSES
from nsys_digest.model.os_calls import HOST_STATES
from nsys_digest.model.warning_codes import CODES
from nsys_digest.workloads.errors import ERRORS as WORKLOAD_ERRORS
from support import ROOT, call
from write_docs import PAGES as WRITTEN
from write_docs import written

DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "fixtures" / "README.md", *DOCS]
ERRORS = (*CORE_ERRORS, *WORKLOAD_ERRORS)
STATUSES = {0, 1, 2, 3, 4, 5, 6, 127, 129, 130, 143}
OMITTED = "…"
SHAPES = ("durations", "cause", "launch_cost", "step")
"""Parts of the document that occur in several places, and that docs/json.md tells once."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


@dataclass(frozen=True, slots=True)
class Example:
    """A block of code in a page."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        """Return where it stands."""
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@cache
def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


@cache
def prose_of(page: Path) -> str:
    """Return a page without its blocks of code."""
    return FENCE.sub("", text_of(page))


def examples(*languages: str) -> list[Example]:
    return [
        Example(page, text_of(page).count("\n", 0, match.start()) + 1, match[1], match[2])
        for page in PAGES
        for match in FENCE.finditer(text_of(page))
        if match[1] in languages
    ]


def section(page: Path, title: str) -> str:
    """Return what stands under a heading of level 2, up to the next one."""
    parts = re.split(r"^## (.+)$", text_of(page), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))[title]


def table(text: str) -> list[list[str]]:
    """Return the cells of every table row in a text, heads included."""
    rows = [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|--")]
    return [[cell.strip() for cell in row.strip("|").split(" | ")] for row in rows]


@cache  # typer builds the whole application again at every use
def commands() -> dict[str, Any]:
    """Return the commands of the program by name, the program itself as the empty name."""
    found: dict[str, Any] = {}

    def add(name: str, command: Any) -> None:
        found[name] = command
        for word, below in getattr(command, "commands", {}).items():
            add(f"{name} {word}".strip(), below)

    add("", typer.main.get_command(app))
    return found


def options_of(command: Any) -> set[str]:
    options = (option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts))
    return {option for option in options if option.startswith("-")} | {"-h", "--help"}


def nsys_digest_commands() -> Iterator[tuple[str, list[str]]]:
    """Yield (where, words) of every use of the command line that the pages show, without pipes and redirections."""
    for page in PAGES:
        for line in [*text_of(page).splitlines(), *SPAN.findall(prose_of(page))]:
            for match in re.finditer(r"(?<![\w./-])nsys-digest ([^`|>;]+)", line.removeprefix("$ ")):
                if line.startswith(("$ ", "nsys-digest ", "- run: ", "for ")):
                    yield f"{page.name}: {line}", shlex.split(match[1], comments=True)


def ids(value: object) -> str:
    return str(value.relative_to(ROOT)) if isinstance(value, Path) else str(value)


def test_every_command_has_a_section() -> None:
    titles = {
        title.removeprefix("nsys-digest").strip()
        for title in re.findall(r"^## (nsys-digest.*)$", text_of(ROOT / "docs" / "cli.md"), re.MULTILINE)
    }
    assert titles == set(commands())
    for name in commands():
        assert f"`nsys-digest {name.partition(' ')[0]}".strip() in text_of(ROOT / "README.md")


@pytest.mark.parametrize("name", commands())
def test_the_options_of_a_command_are_those_of_its_table(name: str) -> None:
    rows = table(section(ROOT / "docs" / "cli.md", f"nsys-digest {name}".strip()))
    told = {span.split()[0] for row in rows for span in SPAN.findall(row[0])}
    assert told == options_of(commands()[name])


@pytest.mark.parametrize("name", commands())
def test_the_defaults_are_those_of_the_program(name: str) -> None:
    rows = table(section(ROOT / "docs" / "cli.md", f"nsys-digest {name}".strip()))
    told = {span.split()[0]: row[1].strip("`") for row in rows for span in SPAN.findall(row[0])}
    for parameter in commands()[name].params:
        default = getattr(parameter, "default", None)
        if isinstance(default, str | int) and not isinstance(default, bool):
            assert told[parameter.opts[0]] == str(default), parameter.name


@pytest.mark.parametrize(("option", "choices"), [("--format", Format), ("--reader", ReaderChoice)])
def test_the_choices_are_those_of_the_program(option: str, choices: type[StrEnum]) -> None:
    own = {("summarize", "--format"): DigestFormat, ("export", "--format"): TableFormat}
    for name, command in commands().items():
        if option in options_of(command):
            rows = table(section(ROOT / "docs" / "cli.md", f"nsys-digest {name}"))
            told = next(SPAN.findall(" ".join(cells[1:])) for cells in rows if f"{option} " in cells[0])
            assert {choice.value for choice in own.get((name, option), choices)} <= set(told), name


def test_every_use_of_the_command_line_is_one_that_exists() -> None:
    uses = list(nsys_digest_commands())
    assert len(uses) > 20
    for where, words in uses:
        name = words[0] if words and not words[0].startswith("-") else ""
        name = next((longer for longer in (" ".join(words[:2]),) if longer in commands()), name)
        assert name in commands() or name.isupper(), where
        name = next((longer for longer in (" ".join(words[:2]),) if longer in commands()), name)
        known = options_of(commands().get(name, commands()[""]))
        own = words[: words.index("--")] if "--" in words else words  # what is behind it belongs to another program
        used = {word.partition("=")[0] for word in own if re.match(r"-{1,2}[a-z]", word)}
        assert used <= known, where


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_options_in_the_prose_exist(page: Path) -> None:
    known = set().union(*map(options_of, commands().values()))
    named = {span.split()[0] for span in SPAN.findall(prose_of(page)) if span.startswith("-")}
    assert named <= known | {"-"}  # standard input


def test_exit_statuses() -> None:
    rows = {int(cells[0]): cells[1] for cells in table(section(ROOT / "docs" / "cli.md", "Exit statuses"))[1:]}
    assert set(rows) == STATUSES
    reserved = {status for status, meaning in rows.items() if meaning.startswith("reserved")}
    assert reserved == STATUSES - {0, 1, 129, 130, 143} - {error.exit_status for error in ERRORS}


def messages(title: str) -> dict[str, str]:
    """Return the entries of a section of docs/messages.md by code."""
    parts = re.split(r"^### `(.+)`$", section(ROOT / "docs" / "messages.md", title), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_every_code_has_an_entry() -> None:
    assert list(messages("Warnings")) == list(CODES)
    assert list(messages("Errors")) == [*(error.code for error in ERRORS), "interrupted", "terminated"]
    for code, entry in (messages("Warnings") | messages("Errors")).items():
        parts = re.findall(r"^- \*\*(\w+):\*\* \S", entry, re.MULTILINE)
        assert parts == ["Meaning", "Cause", "Fix"], code


def test_every_finding_has_a_section() -> None:
    from nsys_digest.findings.rules import RULES

    parts = re.split(r"^### `(.+)`$", section(ROOT / "docs" / "findings.md", "Rules"), flags=re.MULTILINE)
    told = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert list(told) == [rule.code for rule in RULES]
    for rule in RULES:
        assert told[rule.code].strip().startswith(f"{rule.about[0].upper()}{rule.about[1:]}."), rule.code
        assert re.findall(r"^- \*\*([\w ]+):\*\* \S", told[rule.code], re.MULTILINE) == ["Due", "At stake"], rule.code


def test_every_error_tells_its_status_and_class() -> None:
    entries = messages("Errors")
    for error in ERRORS:
        assert f"Exit status {error.exit_status}, class `{error.__name__}`." in entries[error.code]
    assert "Exit status 130." in entries["interrupted"]


def shape_of(schema: dict[str, Any]) -> str:
    """Return the name of the part that a schema refers to; nothing where it refers to none."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def type_of(schema: dict[str, Any], root: dict[str, Any]) -> str:
    """Return the type as the pages write it: a link for a shape that is told once."""
    if "anyOf" in schema:
        return " or ".join(type_of(choice, root) for choice in schema["anyOf"])
    if (shape := shape_of(schema)) in SHAPES:
        return f"[{shape}](#{shape})"
    kinds = (root["$defs"][shape] if shape else schema).get("type", "string")
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


def properties(schema: dict[str, Any], root: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path, type) of every property of a JSON Schema, at all levels; shapes are not looked into."""
    if (shape := shape_of(schema)) in SHAPES:
        return
    if shape:
        schema = root["$defs"][shape]
    for name, child in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        yield here, type_of(child, root)
        yield from properties(child, root, here)
    for choice in schema.get("anyOf", ()):
        yield from properties(choice, root, path)
    for key, behind in (("items", "[]"), ("additionalProperties", ".NAME")):
        child = schema.get(key)
        if isinstance(child, dict):
            if shape_of(child) in SHAPES:
                yield f"{path}{behind}", type_of(child, root)
            yield from properties(child, root, f"{path}{behind}")


def test_every_key_of_the_document_is_told_with_its_type() -> None:
    schema = nsys_digest.json_schema()
    rows = table(section(ROOT / "docs" / "json.md", "Keys"))
    told = {path: cells[1] for cells in rows if len(cells) == 4 for path in SPAN.findall(cells[0])}
    expected = dict(properties(schema, schema))
    for shape in SHAPES:
        expected |= dict(properties(schema["$defs"][shape], schema, shape))
    assert told == expected


def test_the_tables_of_keys_are_those_that_are_declared() -> None:
    """``python -m tests.write_docs`` writes them."""
    for page in WRITTEN:
        assert text_of(page) == written(text_of(page)), page


def test_the_versions_are_told() -> None:
    version = nsys_digest.summarize(ROOT / "fixtures" / "traces" / "nogpu.sqlite").schema_version
    assert f"`schema_version` is `{version}`" in section(ROOT / "docs" / "json.md", "Versions")
    assert f"## [{nsys_digest.__version__}]" in text_of(ROOT / "CHANGELOG.md")


def test_every_key_of_an_inspection_is_told() -> None:
    found = nsys_digest.inspect(ROOT / "fixtures" / "traces" / "nogpu.sqlite").to_dict()
    rows = table(section(ROOT / "docs" / "json.md", "The document of inspect"))
    assert [key for cells in rows for key in SPAN.findall(cells[0])] == list(found)


def test_every_key_of_what_a_stored_digest_is_told() -> None:
    found = nsys_digest.inspect(ROOT / "fixtures" / "golden" / "nogpu.json").to_dict()
    rows = table(section(ROOT / "docs" / "json.md", "The document of inspect for a stored digest"))
    assert [key for cells in rows for key in SPAN.findall(cells[0])] == list(found)


def test_every_key_of_the_document_of_categories_is_told() -> None:
    found = json.loads(nsys_digest.classify(ROOT / "fixtures" / "traces" / "serve.sqlite").to_json())
    rows = table(section(ROOT / "docs" / "json.md", "The document of categories"))
    keys = [*(key for key in found if key != "kernels"), *(f"kernels[].{key}" for key in found["kernels"][0])]
    assert [key for cells in rows for key in SPAN.findall(cells[0])] == keys


def test_every_key_of_the_document_of_check_is_told() -> None:
    schema = nsys_digest.json_schema("check")
    rows = table(section(ROOT / "docs" / "json.md", "The document of check"))
    told = [key for cells in rows for key in SPAN.findall(cells[0])]
    outcome = schema["$defs"]["outcome"]["properties"]
    assert sorted(told) == sorted([*schema["properties"], *(f"outcomes[].{key}" for key in outcome)])
    noise = next(cells[1] for cells in rows if cells[0] == "`noise`")
    assert SPAN.findall(noise) == list(schema["$defs"]["noise_report"]["properties"])


def test_every_section_is_told() -> None:
    for page in ("cli.md", "metrics.md", "library.md"):
        spans = set(SPAN.findall(prose_of(ROOT / "docs" / page)))
        assert {*SECTIONS, *ON_REQUEST, "steps"} <= spans, page


def test_every_state_of_host_code_is_told() -> None:
    states = table(section(ROOT / "docs" / "metrics.md", "Host code"))
    assert [span for cells in states for span in SPAN.findall(cells[0])] == list(HOST_STATES)


def test_every_cause_is_told() -> None:
    causes = table(section(ROOT / "docs" / "metrics.md", "Idle"))
    assert [span for cells in causes for span in SPAN.findall(cells[0])] == list(CAUSES)


def test_the_calls_named_as_examples_are_of_their_class() -> None:
    rows = table(section(ROOT / "docs" / "metrics.md", "Classes of calls"))[1:]
    assert {cells[0].strip("`") for cells in rows} == {kind.value for kind in CallClass}
    for cells in rows:
        for name in SPAN.findall(cells[2]):
            assert call_class(name).value == cells[0].strip("`"), name


def test_every_number_of_the_reading_is_shown() -> None:
    """A length of time or a share in the prose of the worked reading stands in one of its blocks, which are run."""
    page = ROOT / "docs" / "reading-a-digest.md"
    shown = " ".join(example.text for example in examples("console") if example.page == page)
    named = re.findall(r"\d[\d,]*(?:\.\d+)? (?:ns|µs|ms|s|%)(?!\w)", prose_of(page))
    assert len(named) > 50
    for number in named:
        assert re.search(rf"(?<![\d.,]){re.escape(number)}(?!\w)", shown), number


def test_every_public_name_is_told() -> None:
    spans = " ".join(SPAN.findall(prose_of(ROOT / "docs" / "library.md")))
    for name in nsys_digest.__all__:
        assert re.search(rf"(?<!\w){name}(?!\w)", spans), name


def test_every_error_class_is_told_with_its_code() -> None:
    for page, skipped, errors in (("library.md", 2, CORE_ERRORS), ("workloads.md", 1, WORKLOAD_ERRORS)):
        rows = table(section(ROOT / "docs" / page, "Errors"))[skipped:]
        assert [cells[:2] for cells in rows] == [[f"`{error.__name__}`", f"`{error.code}`"] for error in errors]


def test_the_layers_are_those_of_the_architecture() -> None:
    """Every folder and module has its row, and none may import from a row below its own."""
    from test_architecture import ALLOWED

    rows = table(section(ROOT / "docs" / "how-it-works.md", "Layers"))[1:]
    told = [SPAN.findall(cells[0]) for cells in rows]
    assert sorted(name for row in told for name in row) == sorted(ALLOWED)
    above: set[str] = set()
    for row in told:
        above |= set(row)
        for name in row:
            assert ALLOWED[name] <= above, name


def anchor(heading: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_links_lead_somewhere(page: Path) -> None:
    for link in LINK.findall(prose_of(page)):
        if "://" in link:
            continue
        name, _, place = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.is_relative_to(ROOT.resolve()), link
        assert target.exists(), link
        if place:
            headings = re.findall(r"^#+ (.+)$", prose_of(target), re.MULTILINE)
            assert place in {anchor(heading) for heading in headings}, link


def test_every_page_is_linked_from_the_first() -> None:
    linked = {(ROOT / link).resolve() for link in LINK.findall(prose_of(ROOT / "README.md")) if "://" not in link}
    assert {page.resolve() for page in PAGES[1:]} <= linked | {ROOT.resolve() / "README.md"}


@pytest.mark.parametrize("page", PAGES, ids=ids)
def test_files_named_in_the_prose_exist(page: Path) -> None:
    for span in SPAN.findall(prose_of(page)):
        if re.fullmatch(r"(nsys_digest|tests|fixtures|docs)/[\w./-]+", span):
            assert (ROOT / span).exists(), span


@pytest.mark.parametrize("folder", ["traces", "workloads"])
def test_every_fixture_is_described(folder: str) -> None:
    told = [
        name for cells in table(section(ROOT / "fixtures" / "README.md", folder)) for name in SPAN.findall(cells[0])
    ]
    assert sorted(told) == sorted(path.stem for path in (ROOT / "fixtures" / folder).glob("*.sqlite"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand in a folder that has the fixtures and that examples may write into."""
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    return tmp_path


def run(line: str) -> str:
    """Run a use of the command line in this process, through jq where the line says so; return what a user sees.

    Where the line ends in ``|| echo "exit status $?"`` the command has to fail.
    """
    line, _, failing = line.partition(" || ")
    words = [name for word in shlex.split(line) for name in expanded(word)]
    assert words[0] == "nsys-digest"
    pipe = words.index("|") if "|" in words else None
    own = words[1:pipe]
    if ">" in own:
        own = own[: own.index(">")]
    ran = call(*own)
    if failing:
        assert failing == 'echo "exit status $?"'
        assert ran.status != 0, ran
        return f"{ran.out}{ran.err}exit status {ran.status}\n"
    assert ran.status == 0, ran
    if pipe is None:
        return ran.err + ran.out
    json.loads(ran.out)
    assert words[pipe + 1] == "jq"
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    done = subprocess.run(words[pipe + 1 :], input=ran.out, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    return ran.err + done.stdout


def expanded(word: str) -> list[str]:
    """Return the files that a shell would put for a word, or the word itself."""
    return sorted(map(str, Path().glob(word))) or [word] if word.endswith("*.json") else [word]


def lines_of(text: str, *, numbers: bool) -> list[str]:
    """Return lines without blanks at their ends; versions of jq write one number differently."""
    if numbers:
        text = NUMBER.sub(lambda match: f"{float(match[0]):.9g}", text)
    return [line.rstrip() for line in text.rstrip("\n").split("\n")]


def assert_shown(shown: list[str], printed: list[str], where: str) -> None:
    """Compare what a page shows with what was printed; a line of dots stands for any lines."""
    at, anywhere = 0, False
    for line in shown:
        if line == OMITTED:
            anywhere = True
            continue
        found = printed.index(line, at) if anywhere and line in printed[at:] else at
        assert found < len(printed), f"{where}: {line!r} was not printed"
        assert printed[found] == line, where
        at, anywhere = found + 1, False
    assert anywhere or at == len(printed), f"{where}: more was printed: {printed[at:]}"


def printed_as_shown(line: str, shown: str) -> str:
    """Run the command of an example that shows this so far; a page shows what a terminal gets, which is text."""
    own_form = "--format" in line or "--init" in line
    on_terminal = " | " not in line and not own_form and not shown.startswith("{")
    before, failing, after = line.partition(" || ")
    return run(f"{before} --format text{failing}{after}" if on_terminal else line)


@pytest.mark.parametrize("example", examples("console"), ids=str)
def test_examples_show_what_is_printed(example: Example, folder: Path) -> None:
    for use in re.split(r"^\$ ", example.text, flags=re.MULTILINE)[1:]:
        line, _, shown = use.partition("\n")
        piped = " | " in line
        printed = printed_as_shown(line, shown)
        assert_shown(lines_of(shown, numbers=piped), lines_of(printed, numbers=piped), str(example))
    assert folder.exists()


@pytest.mark.parametrize(
    ("example", "line"),
    [
        pytest.param(example, line, id=f"{example} {line}")
        for example in examples("sh")
        for line in example.text.splitlines()
        if line.startswith("nsys-digest ") and ("fixtures/" in line or " schema" in line)
    ],
)
def test_shell_examples_run(example: Example, line: str, folder: Path) -> None:
    printed = run(line)
    output = re.search(r"(?:-o|--output) (\S+)", line)
    assert printed if output is None else (folder / output[1]).stat().st_size, example


@pytest.mark.parametrize("example", examples("python"), ids=str)
def test_python_examples_run(example: Example, folder: Path) -> None:
    exec(compile(example.text, str(example), "exec"), {"__name__": "example"})
    assert folder.exists()


@pytest.mark.parametrize("example", examples("pycon"), ids=str)
def test_python_sessions_show_what_is_printed(example: Example, folder: Path) -> None:
    session = doctest.DocTestParser().get_doctest(example.text, {}, str(example), str(example.page), example.line)
    report: list[str] = []
    doctest.DocTestRunner(verbose=False).run(session, out=report.append)
    assert not report, "".join(report)
    assert folder.exists()
