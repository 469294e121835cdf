"""A check as JUnit XML, as CI systems read it: one test case for each figure.

The form is what the schemas of Ant's and of Jenkins' JUnit reports have in common.
"""

from __future__ import annotations

from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from nsys_digest.compare.verdict import CheckResult, Outcome
from nsys_digest.render.escape import one_line

_ELEMENTS = {"fail": "failure", "missing": "error", "skipped": "skipped"}


def render(result: CheckResult, *, now: datetime) -> str:
    """Return the check as one test suite; ``now`` is its time stamp, which the schema asks for."""
    counts = result.counts()
    root = ET.Element("testsuites")
    suite = ET.SubElement(
        root,
        "testsuite",
        {
            "name": "nsys-digest check",
            "package": "nsys-digest",
            "id": "0",
            "timestamp": f"{now.astimezone(UTC):%Y-%m-%dT%H:%M:%S}",
            "hostname": "localhost",
            "tests": str(len(result.outcomes)),
            "failures": str(counts["fail"]),
            "errors": str(counts["missing"]),
            "skipped": str(counts["skipped"]),
            "time": "0",
        },
    )
    properties = ET.SubElement(suite, "properties")
    for name, value in _properties(result):
        ET.SubElement(properties, "property", {"name": name, "value": one_line(value)})
    for outcome in result.outcomes:
        _case(suite, outcome)
    ET.SubElement(suite, "system-out").text = "\n".join(one_line(outcome.reason) for outcome in result.worst_first())
    ET.SubElement(suite, "system-err")
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"


def _properties(result: CheckResult) -> list[tuple[str, str]]:
    found = [("policy", result.policy), ("noise", result.noise.text), ("tool_version", result.tool_version)]
    found += [("head", source) for source in result.head]
    found += [("base", source) for source in result.base]
    found += [(f"unlike_allowed.{difference.code}", difference.message) for difference in result.allowed_unlike]
    return found


def _case(suite: ET.Element, outcome: Outcome) -> None:
    kind = "" if outcome.kind in {"change", "require", "forbid"} else f" {outcome.kind}"
    name = f"{outcome.figure}{kind}"
    classname = f"nsys-digest.{outcome.figure.partition('.')[0] if outcome.unit is not None else outcome.kind}"
    case = ET.SubElement(suite, "testcase", {"name": one_line(name), "classname": one_line(classname), "time": "0"})
    element = _ELEMENTS.get(outcome.verdict)
    if element is None:
        return
    message = one_line(outcome.reason)
    found = ET.SubElement(case, element, {"message": message, "type": outcome.kind})
    found.text = message + (f"\n{one_line(outcome.why)}" if outcome.why else "")
