"""The code cells of a notebook run as a notebook does, without one: what they print, and what their last line shows."""

from __future__ import annotations

import ast
import contextlib
import io
import json
from pathlib import Path
from typing import Any


def outputs(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a cell within names, and return its outputs in the form of a notebook."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    value = None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    found: list[dict[str, Any]] = []
    if printed.getvalue():
        found.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None:
        data = {"text/plain": _lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data = {"text/html": _lines(value._repr_html_()), **data}
        found.append({"data": data, "execution_count": None, "metadata": {}, "output_type": "execute_result"})
    return found


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def ran(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with the outputs of its code cells as they are now."""
    names: dict[str, Any] = {}
    cells = []
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["cell_type"] == "code":
            found = outputs("".join(cell["source"]), names)
            cell = {**cell, "execution_count": number, "outputs": [_numbered(one, number) for one in found]}
        cells.append(cell)
    return {**notebook, "cells": cells}


def _numbered(output: dict[str, Any], number: int) -> dict[str, Any]:
    return {**output, "execution_count": number} if "execution_count" in output else output


def rewrite(path: Path) -> None:
    """Run a notebook in its folder, and write it with its outputs."""
    with contextlib.chdir(path.parent):
        found = ran(json.loads(path.read_text(encoding="utf-8")))
    path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
