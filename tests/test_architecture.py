"""The package is cut as docs/how-it-works.md says: who may import whom, and who knows foreign names."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "nsys_digest"
LAYERS = [
    {"errors", "files", "units", "rules", "schema_file"},
    {"codec", "intervals"},
    {"accumulators", "timeline", "sections"},
    {"parts"},
    {"model", "frames"},
    {"sources"},
    {"schema"},
    {"collect"},
    {"scan", "events"},
    {"metrics", "inspection"},
    {"account"},
    {"compare", "phase_log", "phases"},
    {"render"},
    {"pipeline", "comparison"},
    {"checking"},
    {"recorder", "workloads"},
    {"cli", "testing"},
    {"__main__"},
]
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(PACKAGE.rglob("*.py"))


def layer_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    """Return the layers that a module imports, wherever in it the import stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            parts = name.split(".")
            if parts[0] == "nsys_digest" and len(parts) > 1:
                found.add(parts[1])
    return found


def test_every_module_has_a_layer() -> None:
    assert {layer_of(path) for path in MODULES} - {"__init__"} == set(RANK)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_one_way(path: Path) -> None:
    own = layer_of(path)
    if own == "__init__":
        return
    upward = {name for name in imported_layers(path) if RANK[name] > RANK[own]}
    # the digest makes its tables only when they are asked for
    assert upward == set()


def test_only_the_schema_knows_names_of_nsys() -> None:
    for path in MODULES:
        if layer_of(path) == "schema":
            continue
        strings = [
            node.value
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]
        names = [
            text for text in strings if text.startswith(("CUPTI_ACTIVITY", "NVTX_EVENTS", "TARGET_INFO", "StringIds"))
        ]
        assert not names, path


def test_only_the_command_line_prints() -> None:
    for path in MODULES:
        if layer_of(path) in {"cli", "__main__"}:
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
