"""Documents of version 1.0, frozen as they were written: whoever stored one can still read it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from nsys_digest import CheckResult, Digest, DigestInvalid
from nsys_digest.units import to_ns
from support import ROOT
from valid import validate

FROZEN = ROOT / "fixtures" / "documents_1_0"


def frozen(name: str) -> tuple[dict[str, Any], Digest]:
    """Return a frozen digest as it stands, and as it is read."""
    text = (FROZEN / f"{name}.json").read_text(encoding="utf-8")
    return json.loads(text), Digest.from_json(text)


@pytest.mark.parametrize("name", ["digest", "digest_steps"])
def test_a_digest_of_former_names_is_read(name: str) -> None:
    document, digest = frozen(name)
    assert digest.idle is not None
    for told, device in zip(document["idle"]["devices"], digest.idle.devices, strict=True):
        assert {cause: to_ns(one["s"]) for cause, one in told["causes"].items()} == {
            cause: one.sum_ns for cause, one in device.causes.items()
        }
        assert [to_ns(one["s"]) for one in told["histogram"]] == [one.sum_ns for one in device.histogram]
    assert digest.memory is not None
    assert [to_ns(row["s"]) for row in document["memory"]["copies"]] == [row.sum_ns for row in digest.memory.copies]
    assert to_ns(document["memory"]["sets"]["s"]) == digest.memory.sets.sum_ns
    assert digest.communication is not None
    for told, one in zip(document["communication"], digest.communication, strict=True):
        assert (to_ns(told["total_s"]), to_ns(told["overlapped_s"])) == (one.union_ns, one.hidden_ns)
        assert {kind: to_ns(of["s"]) for kind, of in told["by_kind"].items()} == {
            kind: of.sum_ns for kind, of in one.by_kind.items()
        }
    for told, step in zip(document["dispatch_steps"], digest.dispatch_steps or (), strict=True):
        assert (to_ns(told["gpu_busy_s"]), to_ns(told["gpu_launched_s"])) == (
            step.gpu_overlap_ns,
            step.launched_busy_ns,
        )
    for now, then in (("api_durations", "api_tails"), ("kernel_durations", "kernel_tails")):
        assert list(getattr(digest, now)) == list(document[then])


def test_the_frozen_digests_have_what_was_renamed() -> None:
    """Else the test above would compare nothing with nothing."""
    assert frozen("digest")[0]["dispatch_steps"]
    document = frozen("digest_steps")[0]
    assert any(device["by_kind"] and device["overlapped_s"] for device in document["communication"])
    assert document["memory"]["copies"]
    assert document["steps"]["slowest"]


def test_a_warning_of_a_former_code_is_read_with_the_present_one() -> None:
    document = frozen("digest")[0]
    document["warnings"] = [{"code": "unattributed-kernels", "message": "m"}, {"code": "open-ranges", "message": "n"}]
    read = Digest.from_json(json.dumps(document))
    assert [(warn.code, warn.message) for warn in read.warnings] == [("unattributed-work", "m"), ("open-ranges", "n")]


def test_a_check_of_former_names_is_read() -> None:
    document = json.loads((FROZEN / "check.json").read_text(encoding="utf-8"))
    read = CheckResult.from_dict(document)
    assert [(one.figure, one.verdict, one.base_runs) for one in read.outcomes] == [
        (one["figure"], one["verdict"], tuple(one["base_runs"])) for one in document["outcomes"]
    ]
    assert [one.code for one in read.allowed_mismatches] == ["graph-mode"]
    now = read.to_dict()
    validate(now, "check")
    assert now["noise"] == document["noise"]
    with pytest.raises(DigestInvalid, match="verdict is missing"):
        CheckResult.from_dict({key: value for key, value in document.items() if key != "verdict"})


def test_a_comparison_is_valid_but_for_the_names_of_its_keys() -> None:
    document = json.loads((FROZEN / "diff.json").read_text(encoding="utf-8"))
    document["mismatches"] = document.pop("unlike")
    for part in ("api", "kernel", "nvtx", "dispatch"):
        document["tables"][f"{part}_durations"] = document["tables"].pop(f"{part}_tails")
    validate(document, "diff")
