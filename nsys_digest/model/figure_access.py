"""A figure of a digest by its path as text, for people at a prompt: ``digest["nvtx.step.union_s"]``."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Final

from nsys_digest.model.digest import Digest
from nsys_digest.model.figures import ANY, Figure, figures, select, value_of
from nsys_digest.model.paths import Pattern, parse_path, path_text
from nsys_digest.units import to_ns

_SUGGESTED: Final = 5


def figure_by_path(digest: Digest, text: str) -> float | dict[str, float | None] | None:
    """Return a figure in the unit of its document: a time in seconds where its name ends in ``_s``.

    The same name with ``_ns`` gives integer nanoseconds. A path with globs gives the figures that it matches, by path.

    Raises:
        KeyError: there is no such figure; the text names the nearest.
        TypeError: the path is no text.

    """
    if not isinstance(text, str):
        raise TypeError(f"a figure is named by text such as 'gpu_busy_union_s', not by {type(text).__name__}")
    head, _, unit = text.rpartition("_")
    seconds, in_ns = (f"{head}_s", True) if unit == "ns" else (text, False)
    try:
        pattern = parse_path(seconds)
    except ValueError as error:
        raise KeyError(f"{text}: {error}") from None
    found = _found(digest, pattern)
    if not found:
        raise KeyError(f"no figure {text}{_nearest(digest, seconds)}")
    values = {path: to_ns(value) if in_ns else value for path, value in found.items()}
    if pattern.literal:
        return next(iter(values.values()))
    return {f"{path[:-2]}_ns" if in_ns else path: value for path, value in values.items()}


def paths_of(digest: Digest) -> list[str]:
    """Return the path of every figure of a digest as text, in the order of its document."""
    return [path_text(tuple(_keys(figure))) for figure in figures(digest)]


def _keys(figure: Figure) -> Iterator[str]:
    names = iter(figure.names)
    for key in figure.figure.split("."):
        yield next(names) if key == ANY else key


def _found(digest: Digest, pattern: Pattern) -> dict[str, float | None]:
    if not pattern.literal:
        return {path_text(path): value for path, value in select(pattern, digest.to_dict()).items()}
    path = tuple(segment.literal or "" for segment in pattern.segments)
    try:
        return {path_text(path): value_of(digest, path)}
    except KeyError:
        return {}


def _nearest(digest: Digest, text: str) -> str:
    paths = paths_of(digest)
    below = [path for path in paths if path.startswith(f"{text}.")]
    near = below[:_SUGGESTED] or difflib.get_close_matches(text, paths, _SUGGESTED)
    return f"; there are {', '.join(near)}" if near else ""
