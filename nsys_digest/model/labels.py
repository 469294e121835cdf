"""What the user says of a run: texts by name."""

from __future__ import annotations

import re
from typing import Final

from nsys_digest.errors import UsageInvalid

_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def check_label(key: object, value: object) -> None:
    """Raise UsageInvalid unless a label is a name and a text on one line."""
    if not isinstance(key, str) or not _KEY.fullmatch(key):
        raise UsageInvalid(
            f"{key!r} is no name of a label; use letters, digits, _, . and -, beginning with a letter or _"
        )
    if not isinstance(value, str) or not value.isprintable():
        raise UsageInvalid(f"the label {key} is {value!r}; give a text on one line")
