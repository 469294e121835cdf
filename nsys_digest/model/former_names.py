"""Keys that had another name before: a document with those is read as one with the present names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_SECTIONS: Final[Mapping[str, str]] = {"api_tails": "api_durations", "kernel_tails": "kernel_durations"}


def with_present_names(document: dict[str, Any]) -> dict[str, Any]:
    """Return a digest's document with the present names; the one given is left as it is.

    Raises:
        KeyError, TypeError, AttributeError: it is no digest.

    """
    renamed = {_SECTIONS.get(key, key): value for key, value in document.items()}
    filters = renamed["capture"]["filters"]
    sections = [_SECTIONS.get(name, name) for name in filters["sections"]]
    return renamed | {"capture": renamed["capture"] | {"filters": filters | {"sections": sections}}}
