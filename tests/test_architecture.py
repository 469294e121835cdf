"""The package is cut as docs/how-it-works.md says: which folder may import which, and who knows foreign names."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

PACKAGE = Path(__file__).parent.parent / "nsys_digest"
MODULES = sorted(PACKAGE.rglob("*.py"))

_BASE: Final = frozenset({"errors", "units"})
_DIGEST: Final = _BASE | {"algorithms", "model"}
_API: Final = _DIGEST | {
    "trace",
    "selection",
    "sections",
    "tables",
    "findings",
    "compare",
    "gate",
    "report",
    "render",
    "files",
    "options",
}
ALLOWED: Final[Mapping[str, frozenset[str]]] = {
    "errors": frozenset(),
    "units": frozenset({"errors"}),
    "files": frozenset({"errors", "signals"}),
    "signals": frozenset(),
    "algorithms": _BASE,
    "model": _BASE | {"algorithms", "files"},
    "trace": _DIGEST | {"files", "recorder", "signals"},
    "options": _DIGEST | {"trace"},
    "selection": _DIGEST | {"trace"},
    "sections": _DIGEST | {"trace", "options", "selection"},
    "tables": _DIGEST | {"trace", "options", "selection", "sections"},
    "compare": _DIGEST,
    "findings": _DIGEST,
    "gate": _DIGEST | {"findings", "compare", "files"},
    "report": _DIGEST | {"findings", "compare", "gate"},
    "render": _DIGEST | {"compare", "gate", "report"},
    "api": _API,
    "testing": _API | {"api"},
    "recorder": _BASE | {"files", "signals"},
    "workloads": _API | {"api", "recorder"},
    "cli": _API | {"api", "recorder", "workloads", "signals"},
    "__main__": frozenset({"cli", "errors", "signals"}),
}
"""Each folder or module at the top of the package, and what else of the package it may import."""


def place_of(path: Path) -> str:
    """Return the folder or module at the top of the package that a file is in."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported(source: str, package: tuple[str, ...]) -> set[str]:
    """Return the places of the package that a module imports, in whatever spelling and wherever it stands.

    ``package`` is the package that the module is in, for relative imports.
    """
    return {name for name in _imported(ast.parse(source), package) if name in ALLOWED}


def _imported(tree: ast.AST, package: tuple[str, ...]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            full = [tuple(alias.name.split(".")) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else ()
            start += tuple(node.module.split(".")) if node.module else ()
            full = [(*start, alias.name) for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("nsys_digest."):
            full = [tuple(node.value.split("."))]  # importlib.import_module, and strings like it
        else:
            continue
        yield from (names[1] for names in full if names[0] == "nsys_digest" and len(names) > 1)


def broken(source: str, path: Path) -> set[str]:
    """Return what a module imports and must not."""
    relative = path.relative_to(PACKAGE)
    found = imported(source, ("nsys_digest", *relative.parts[:-1]))
    return found - ALLOWED[place_of(path)] - {place_of(path)}


def test_every_module_has_a_place() -> None:
    assert {place_of(path) for path in MODULES} - {"__init__"} == set(ALLOWED)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    if place_of(path) != "__init__":
        assert broken(path.read_text(encoding="utf-8"), path) == set()


@pytest.mark.parametrize(
    ("file", "planted", "found"),
    [
        ("compare/diff.py", "from nsys_digest.trace.scan import scan", {"trace"}),
        ("render/text.py", "from nsys_digest import sections", {"sections"}),
        ("model/codec.py", "import nsys_digest.gate.policy as policy", {"gate"}),
        ("algorithms/intervals.py", "def late():\n    from ..model import digest", {"model"}),
        ("report/check.py", "import importlib\nimportlib.import_module('nsys_digest.cli.output')", {"cli"}),
        ("trace/nsys/tables.py", "from ... import sections", {"sections"}),
        ("tables/gaps.py", "from nsys_digest.render import records", {"render"}),
        ("trace/scan.py", "from nsys_digest.selection import WHOLE", {"selection"}),
        ("recorder/find.py", "from nsys_digest import workloads as programs, errors", {"workloads"}),
    ],
)
def test_a_planted_import_is_found(file: str, planted: str, found: set[str]) -> None:
    path = PACKAGE / file
    assert broken(f"{path.read_text(encoding='utf-8')}\n{planted}\n", path) == found


def strings_of(path: Path) -> list[str]:
    """Return the texts in a module."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@pytest.mark.slow
def test_only_trace_nsys_knows_names_of_nsys() -> None:
    for path in MODULES:
        if path.is_relative_to(PACKAGE / "trace" / "nsys"):
            continue
        foreign = ("CUPTI_ACTIVITY", "NVTX_EVENTS", "TARGET_INFO", "StringIds", "PROFILER_OVERHEAD")
        assert not [text for text in strings_of(path) if text.startswith(foreign)], path


def test_only_the_command_line_prints() -> None:
    for path in MODULES:
        if place_of(path) in {"cli", "__main__"}:
            continue
        calls = [
            node.func.id
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        ]
        assert "print" not in calls, path


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_files_have_one_reason_to_exist(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
