"""A check as SARIF 2.1.0, as code scanning reads it: one result for each figure that did not pass."""

from __future__ import annotations

import hashlib
import json
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from nsys_digest.gate.no_result import NoResult
from nsys_digest.gate.verdict import CheckResult, Outcome
from nsys_digest.render.escape import one_line, sarif

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final = {"fail": "error", "missing": "error", "noise": "warning"}
_RULES: Final = {
    "change": "A figure changed by more than the policy allows",
    "max": "A figure is above its budget",
    "min": "A figure is below its budget",
    "require": "A name that the policy requires is not there",
    "forbid": "A name that the policy forbids is there",
    "finding": "A finding that the policy forbids",
    "error": "Nothing could be checked",
}


def render(result: CheckResult, *, policy_file: str | None) -> str:
    """Return the check as a log of one run; a result is at its rule in the policy, or at HEAD without a file."""
    ids = list(_RULES)
    place = policy_file if policy_file is not None else result.head[0]
    found = [
        _result(outcome, ids.index(outcome.kind), place, policy_file is not None)
        for outcome in result.worst_first()
        if outcome.verdict in _LEVELS
    ]
    return _log(result, {"results": found})


def render_no_result(found: NoResult, *, policy_file: str | None) -> str:
    """Return a check without a result as a run that did not succeed: one result, the error that ended it."""
    message = {"text": sarif(found.message)}
    result = {
        "ruleId": "error",
        "ruleIndex": list(_RULES).index("error"),
        "level": "error",
        "message": message,
        "locations": [_location(policy_file if policy_file is not None else found.result.head[0], 1)],
        "partialFingerprints": {"figure/v1": _fingerprint("error", found.code)},
    }
    notification = {"descriptor": {"id": found.code}, "level": "error", "message": message}
    invocation = {"executionSuccessful": False, "toolExecutionNotifications": [notification]}
    return _log(found.result, {"invocations": [invocation], "results": [result]})


def _log(result: CheckResult, found: dict[str, Any]) -> str:
    document = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "nsys-digest",
                        "version": result.tool_version,
                        "rules": [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()],
                    }
                },
                **found,
                "columnKind": "unicodeCodePoints",
                "properties": {"verdict": result.verdict, "noise": one_line(result.noise.text)},
            }
        ],
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2)


def _result(outcome: Outcome, rule: int, place: str, in_policy: bool) -> dict[str, Any]:
    line = outcome.line if in_policy and outcome.line else 1
    return {
        "ruleId": outcome.kind,
        "ruleIndex": rule,
        "level": _LEVELS[outcome.verdict],
        "message": {"text": sarif(outcome.reason)},
        "locations": [_location(place, line)],
        "partialFingerprints": {"figure/v1": _fingerprint(outcome.kind, outcome.figure)},
    }


def _location(place: str, line: int) -> dict[str, Any]:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(place)}, "region": {"startLine": line}}}


def _uri(place: str) -> str:
    path = PurePath(place)
    quoted = quote(path.as_posix().encode("utf-8", "surrogatepass"))
    return f"file://{quoted}" if path.is_absolute() else quoted


def _fingerprint(kind: str, figure: str) -> str:
    """Return what stays the same when a result comes back: its kind and figure."""
    text = f"{kind} {figure}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()[:32]
