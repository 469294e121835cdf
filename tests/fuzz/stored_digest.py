"""Damaged stored digests: of other types, sizes and names, of a newer version, and with bytes changed."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from random import Random
from typing import Any

from nsys_digest import DigestError, check, diff, load
from nsys_digest.compare.comparability import MISMATCH_CODES
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.compare.threshold import Threshold
from nsys_digest.findings.rules import find
from nsys_digest.gate.init_policy import starter_policy
from nsys_digest.gate.policy import parse_policy
from nsys_digest.render import text
from nsys_digest.report.check import check_report
from nsys_digest.report.diff import diff_report
from nsys_digest.report.digest import digest_report
from nsys_digest.report.findings import findings_report
from nsys_digest.report.short import short_report

_GOLDEN = Path(__file__).resolve().parents[2] / "fixtures" / "golden"
_VALUES: tuple[Any, ...] = (
    *(None, True, "", "x", "\ud800", [], {}, [[]], {"a": None}, 0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63), 10**19),
    *(0.5, -0.0, 1e-320, 1e18, 1e300, -1e300, "9" * 5000, "2.0", "1.999"),
)
_KEYS = ("new_key", "a.b", "", "\ud800", "__class__", "x" * 10_000, "\x1b[31m", "unheard_of_cause")
_TEXTS = (b"9" * 5000, b"1e999", b"NaN", b"-Infinity", b"[" * 100_000, b"{}", b"\xff", b"\0", b"0.0", b'"', b"")


def case(rng: Random, folder: Path) -> str:
    """Damage a stored digest, load it, and where it loads do everything with it that is done with digests."""
    path = folder / "digest.json"
    golden = rng.choice(sorted(_GOLDEN.glob("*.json")))
    document = json.loads(golden.read_text(encoding="utf-8"))
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        _damage(rng, document)
    data = json.dumps(document).encode()
    if rng.random() < 0.3:
        at = rng.randrange(len(data))
        data = data[:at] + rng.choice(_TEXTS) + data[at + rng.choice((0, 1, 8, len(data))) :]
    path.write_bytes(data)
    try:
        digest = load(path)
    except DigestError as error:
        assert "\n" not in str(error)
        return error.code
    digest.from_json(digest.to_json())  # equal but for times that no trace has
    text.render(digest_report(digest, 3), width=80, color=False)
    text.render(short_report(digest), width=80, color=False)
    find(digest)  # what is stored is believed; these are worked out from damaged figures
    text.render(findings_report(digest), width=80, color=False)
    outcome = "digest"
    for base in (load(golden), digest):
        try:
            found = diff(base, digest, allow_mismatch=MISMATCH_CODES)
            found.to_json()
            text.render(diff_report(found, 3, Threshold()), width=80, color=False)
            result = check(digest, base, allow_mismatch=MISMATCH_CODES)
            result.to_json()
            text.render(check_report(result, 3), width=80, color=False)
        except DigestError as error:
            outcome = f"digest, then {error.code}"
    parse_policy(starter_policy(RunSet((Run("run", digest),))), "made.toml")
    return outcome


def _damage(rng: Random, document: Any) -> None:
    """Change a value, take a key away, or add one, somewhere in a document."""
    place = document
    for _ in range(rng.randrange(6)):
        inner = [
            value
            for value in (place.values() if isinstance(place, dict) else place)
            if value and isinstance(value, dict | list)
        ]
        if not inner:
            break
        place = rng.choice(inner)
    keys: list[Any] = list(place) if isinstance(place, dict) else list(range(len(place)))
    key = rng.choice(keys)
    how = rng.randrange(4)
    if how == 0:
        del place[key]
    elif how == 1 and isinstance(place, dict):
        place[rng.choice(_KEYS)] = _value(rng, place[key])
    elif how == 2 and isinstance(place, list):
        place.append(_value(rng, place[key]))
    else:
        place[key] = _value(rng)


def _value(rng: Random, *more: Any) -> Any:
    """Return a value that no other place of a document holds: one that is changed later changes alone."""
    return copy.deepcopy(rng.choice((*_VALUES, *more)))
