"""Documents of version 1.0, frozen as they were written: whoever stored one can still read it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from digests import placed
from nsys_digest import CheckResult, Diff, Digest, DigestInvalid, check, diff
from nsys_digest.compare.comparability import MISMATCH_CODES
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


def test_a_comparison_of_former_names_is_read() -> None:
    document = json.loads((FROZEN / "diff.json").read_text(encoding="utf-8"))
    read = Diff.from_dict(document)
    assert to_ns(document["span"]["change_s"]) == read.span.change_ns if read.span else None
    assert [run.source for run in read.head.runs] == [run["source"] for run in document["head"]["runs"]]
    assert [one.code for one in read.comparability.allowed] == [one["code"] for one in document["unlike"]["allowed"]]
    assert {
        headline.own_key: (headline.pair.written(headline.pair.base), headline.pair.written(headline.pair.head))
        for headline in read.headline.values()
    } == {key: (value["base"], value["head"]) for key, value in document["headline"].items()}
    for former, told in document["tables"].items():
        table = read.tables[former.replace("_tails", "_durations")]
        if told is None:
            assert table is None
            continue
        assert table is not None
        for rows, stored in ((table.rows, told["rows"]), (table.appeared, told.get("appeared", []))):
            assert [row.name for row in rows] == [row["name"] for row in stored]
            for row, kept in zip(rows, stored, strict=True):
                pair, by = row.figures[table.by.name], kept["figures"][told["by"]]
                assert (pair.written(pair.base), pair.written(pair.head)) == (by["base"], by["head"])
    validate(read.to_dict(), "diff")


@pytest.mark.parametrize("head", ["rank_1", "graph_node", "mixed"])
def test_a_comparison_and_a_check_come_back(head: str) -> None:
    golden = ROOT / "fixtures" / "golden"
    paths = golden / f"{head}.json", golden / "rank_0.json"
    found = diff(*paths[::-1], allow_mismatch=MISMATCH_CODES)
    assert found.tables["kernels"] is not None
    assert found.tables["kernels"].rows or found.tables["kernels"].appeared
    assert Diff.from_json(found.to_json()) == found
    checked = check(*paths, allow_mismatch=MISMATCH_CODES)
    assert CheckResult.from_json(checked.to_json(compact=True)) == checked


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        (("schema_version",), "2.0", "this is no comparison of schema version 1 (schema_version is '2.0')"),
        (("headline", "kernel_count"), ..., "key headline.kernel_count is missing"),
        (("headline", "kernel_count", "base"), "7", "key headline.kernel_count.base is text where a number should be"),
        (
            ("headline", "kernel_count", "base_runs"),
            7,
            "key headline.kernel_count.base_runs is 7 where a list should be",
        ),
        (
            ("tables", "kernels", "rows", 0, "figures"),
            [],
            "key tables.kernels.rows[0].figures is a list of 0 where an object",
        ),
        (("tables", "kernels", "rows", 0, "figures", "total_s", "head"), 1e400, "Infinity where seconds should be"),
        (("tables", "kernels", "complete"), "yes", "key tables.kernels.complete is text where true or false should be"),
        (("tables",), None, "key tables is null where an object should be"),
        (("span", "base_s"), "x", "key span.base_s is text where seconds should be"),
    ],
)
def test_a_damaged_comparison_is_refused_with_the_place(path: tuple[str | int, ...], value: object, said: str) -> None:
    document = json.loads((FROZEN / "diff.json").read_text(encoding="utf-8"))
    with pytest.raises(DigestInvalid) as refused:
        Diff.from_dict(placed(document, {path: value}))
    assert said in str(refused.value)


def test_a_comparison_is_valid_but_for_the_names_of_its_keys() -> None:
    document = json.loads((FROZEN / "diff.json").read_text(encoding="utf-8"))
    document["mismatches"] = document.pop("unlike")
    for part in ("api", "kernel", "nvtx", "dispatch"):
        document["tables"][f"{part}_durations"] = document["tables"].pop(f"{part}_tails")
    validate(document, "diff")
