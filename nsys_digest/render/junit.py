"""A check as JUnit XML, as CI systems read it: one test case for each figure.

The form is what the schemas of Ant's and of Jenkins' JUnit reports have in common.
"""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from nsys_digest.gate.no_result import NoResult
from nsys_digest.gate.verdict import CheckResult, Outcome
from nsys_digest.render.escape import xml

_ELEMENTS = {"fail": "failure", "missing": "error", "skipped": "skipped"}


def render(result: CheckResult, *, now: datetime) -> str:
    """Return the check as one test suite; ``now`` is its time stamp, which the schema asks for."""
    counts = result.outcome_counts
    numbers = {"failures": counts["fail"], "errors": counts["missing"], "skipped": counts["skipped"]}
    suite = _suite(result, now, {"tests": len(result.outcomes)} | numbers)
    for outcome in result.outcomes:
        _case(suite, outcome)
    return _whole(suite, "\n".join(xml(outcome.reason) for outcome in result.worst_first()))


def render_no_result(found: NoResult, *, now: datetime) -> str:
    """Return a check without a result as a suite of one test case, the error that ended it."""
    suite = _suite(found.result, now, {"tests": 1, "failures": 0, "errors": 1, "skipped": 0})
    case = ET.SubElement(suite, "testcase", {"name": xml(found.code), "classname": "nsys-digest.check", "time": "0"})
    message = xml(found.message)
    ET.SubElement(case, "error", {"message": message, "type": xml(found.code)}).text = message
    return _whole(suite, message)


def _suite(result: CheckResult, now: datetime, counts: dict[str, int]) -> ET.Element:
    suite = ET.Element(
        "testsuite",
        {
            "name": "nsys-digest check",
            "package": "nsys-digest",
            "id": "0",
            "timestamp": f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%S}",
            "hostname": "localhost",
            **{name: str(count) for name, count in counts.items()},
            "time": "0",
        },
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(result):
        ET.SubElement(properties, "property", {"name": xml(name), "value": xml(value)})
    return suite


def _whole(suite: ET.Element, text: str) -> str:
    """Return the document of a suite, with the text behind its cases."""
    ET.SubElement(suite, "system-out").text = text
    ET.SubElement(suite, "system-err")
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _properties(result: CheckResult) -> list[tuple[str, str]]:
    found = [("policy", result.policy), ("noise", result.noise.text), ("tool_version", result.tool_version)]
    found += [("head", source) for source in result.head]
    found += [("base", source) for source in result.base]
    found += [(f"mismatch_allowed.{difference.code}", difference.message) for difference in result.allowed_mismatches]
    return found


def _case(suite: ET.Element, outcome: Outcome) -> None:
    kind = "" if outcome.kind in {"change", "require", "forbid", "finding"} else f" {outcome.kind}"
    name = f"{outcome.figure}{kind}"
    classname = f"nsys-digest.{outcome.figure.partition('.')[0] if outcome.unit is not None else outcome.kind}"
    case = ET.SubElement(suite, "testcase", {"name": xml(name), "classname": xml(classname), "time": "0"})
    element = _ELEMENTS.get(outcome.verdict)
    if element is None:
        return
    message = xml(outcome.reason)
    found = ET.SubElement(case, element, {"message": message, "type": xml(outcome.kind)})
    found.text = message + (f"\n{xml(outcome.why)}" if outcome.why else "")
