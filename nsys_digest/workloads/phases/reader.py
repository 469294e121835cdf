"""Read the log of a distillation step, in whichever of its two forms it is."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from nsys_digest.files import read_text_file
from nsys_digest.workloads.errors import LogInvalid
from nsys_digest.workloads.phases.forms import keys
from nsys_digest.workloads.phases.records import DOCUMENT_VERSION, RECORD_KINDS, TYPES, PhaseLog

_MAX_BYTES: Final = 64_000_000
_LINE = re.compile(rf"({'|'.join(sorted(RECORD_KINDS, key=len, reverse=True))}) (\w+=.*)")
_BETWEEN_PAIRS = re.compile(r" (?=\w+=)")
_MANY = frozenset({"step_summary", "phase_summary", "backward_op_summary"})
_ADVICE = "give the output of a distillation step, as text or as its JSON document"


def read_log(path: Path) -> PhaseLog:
    """Read a log from a file.

    Raises:
        LogInvalid: the file cannot be read, or is not such a log; says where.

    """
    try:
        text = read_text_file(path, _MAX_BYTES)
    except OSError as error:
        raise LogInvalid(f"{path}: cannot be read ({error.strerror or error}); {_ADVICE}") from None
    except UnicodeDecodeError:
        raise LogInvalid(f"{path}: this is no text; {_ADVICE}") from None
    return parse_document(text, str(path)) if text.lstrip().startswith("{") else parse_lines(text, str(path))


def parse_lines(text: str, where: str) -> PhaseLog:
    """Read the text form; lines of other kinds are passed over, and so are keys that are not known.

    Raises:
        LogInvalid: a line cannot be read, or there is no step or no phase.

    """
    found: dict[str, list[Any]] = {kind: [] for kind in RECORD_KINDS}
    for number, content in enumerate(text.splitlines(), start=1):
        match = _LINE.fullmatch(content.rstrip())
        if match:
            pairs = dict(pair.split("=", 1) for pair in _BETWEEN_PAIRS.split(match[2]))
            found[match[1]].append(_record(match[1], pairs, f"{where}: line {number}", lambda form: form.read))
    return _log(found, where)


def parse_document(text: str, where: str) -> PhaseLog:
    """Read the JSON form.

    Raises:
        LogInvalid: this is no JSON, or another document.

    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise LogInvalid(f"{where}: this is no JSON document, though it begins like one; {_ADVICE}") from None
    if document.get("log") != "opd" or document.get("version") != DOCUMENT_VERSION:
        raise LogInvalid(f"{where}: this JSON document is no log of version {DOCUMENT_VERSION}; {_ADVICE}")
    found: dict[str, list[Any]] = {}
    for kind in RECORD_KINDS:
        name = kind.replace(" ", "_")
        value = document.get(name)
        items = value if isinstance(value, list) else [] if value is None else [value]
        found[kind] = [_record(kind, item, f"{where}: {name}", lambda form: form.from_json) for item in items]
    return _log(found, where)


def _record(kind: str, values: Any, where: str, reader: Callable[[Any], Callable[[Any], Any]]) -> Any:
    if not isinstance(values, dict):
        raise LogInvalid(f"{where}: this is no object; {_ADVICE}")
    read: dict[str, Any] = {}
    for name, key, form, optional in keys(TYPES[kind]):
        if values.get(key) is None:
            if optional:
                continue
            raise LogInvalid(f"{where}: {kind} has no {key}; {_ADVICE}")
        try:
            read[name] = reader(form)(values[key])
        except ValueError as error:
            raise LogInvalid(f"{where}: {key} cannot be read ({error}); {_ADVICE}") from None
    return TYPES[kind](**read)


def _log(found: dict[str, list[Any]], where: str) -> PhaseLog:
    for kind in ("step_summary", "phase_summary"):
        if not found[kind]:
            raise LogInvalid(f"{where}: there is no {kind} in it; {_ADVICE}")
    for kind in RECORD_KINDS.keys() - _MANY:
        if len(found[kind]) > 1:
            raise LogInvalid(f"{where}: there are {len(found[kind])} of {kind}; give the log of one run")
    names = Counter(phase.phase for phase in found["phase_summary"])
    name, count = names.most_common(1)[0]
    if count > 1:
        raise LogInvalid(f"{where}: phase {name} is there {count} times; give the log of one run")
    parts: dict[str, Any] = {}
    for kind, name in RECORD_KINDS.items():
        parts[name] = tuple(found[kind]) if kind in _MANY else found[kind][0] if found[kind] else None
    return PhaseLog(**parts)
