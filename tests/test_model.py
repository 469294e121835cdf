"""The digest as a value: JSON, back again, and as tables."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from builder import TraceBuilder
from nsys_digest import Digest, DigestInvalid, UsageInvalid, json_schema, summarize
from nsys_digest.model.quantity import shown, shown_allowance, shown_change, shown_limit
from nsys_digest.units import counted, duration, instant, percent, size, to_ns, to_seconds
from support import ROOT


@pytest.fixture
def digest(tmp_path: Path) -> Digest:
    trace = (
        TraceBuilder()
        .kernel(0, 5, name="gemm")
        .kernel(6, 7, name="add")
        .api("cudaLaunchKernel_v7000", 0, 2)
        .range("step", 0, 9)
        .mark("CG_DISPATCH:actual=1:mode=NONE:padded=1", 3)
        .gpu(0, "GPU")
        .gpu(1, "idle GPU", id=1)
        .process(1, "/home/someone/bin/server")
    )
    return summarize(trace.write(tmp_path / "t.sqlite"))


def test_json_comes_back_equal(digest: Digest) -> None:
    assert Digest.from_json(digest.to_json()) == digest
    assert json.loads(digest.to_json(compact=True)) == json.loads(digest.to_json()) == digest.to_dict()
    assert "\n" not in digest.to_json(compact=True)


def test_times_become_the_nearest_seconds_and_come_back() -> None:
    for ns in (0, 1, 6_388_727_360, 17_457_997_760, 2**51 - 1):
        assert to_seconds(ns) == float(f"{ns}e-9")
        assert to_ns(to_seconds(ns)) == ns
    assert to_seconds(None) is None
    assert to_ns(None) is None


@pytest.mark.parametrize(
    "text",
    ["", "[]", "null", "{}", '{"schema_version": "2.0"}', '{"schema_version": 1}', '{"schema_version": "1.0"}'],
)
def test_what_is_no_digest_is_refused(text: str) -> None:
    with pytest.raises(DigestInvalid, match="nsys-digest summarize"):
        Digest.from_json(text)


def test_a_damaged_digest_is_refused(digest: Digest) -> None:
    for key in set(json_schema()["required"]) - {"gpu_idle_within_span_s"}:  # span minus busy, not stored
        data = digest.to_dict()
        del data[key]
        with pytest.raises(DigestInvalid):
            Digest.from_dict(data)


def test_keys_of_a_later_minor_version_are_left_out(digest: Digest) -> None:
    data = digest.to_dict() | {"later": 1, "schema_version": "1.99"}
    assert Digest.from_dict(data) == replace(digest, schema_version="1.99")


def test_process_names_are_file_names(digest: Digest) -> None:
    assert [process.name for process in digest.capture.processes] == ["server"]


def test_tables(digest: Digest) -> None:
    tables = digest.to_pandas()
    assert list(tables)[:6] == ["whole", "api", "nvtx", "dispatch", "dispatch_timeline", "top_kernels"]
    assert tables["top_kernels"].to_dict("list") == {"name": ["gemm", "add"], "count": [1, 1], "total_s": [5e-9, 1e-9]}
    assert tables["api"].to_dict("list") == {"name": ["cudaLaunchKernel_v7000"], "count": [1], "total_s": [2e-9]}
    assert tables["nvtx"].loc[0, ["name", "gpu_overlap_s"]].tolist() == ["step", 6e-9]
    assert tables["dispatch"]["count"].tolist() == [1]
    assert tables["dispatch_timeline"]["start_ns"].tolist() == [3]
    # the one gap is [5, 6)
    causes = tables["idle_devices_causes"]
    assert list(causes) == ["device", "name", "sum_s", "gaps", "longest_s"]
    assert causes["device"].tolist() == [0] * len(causes)
    assert (causes["sum_s"].sum(), causes["gaps"].sum()) == (1e-9, 1)
    assert tables["capture"]["dispatch_prefix"].tolist() == ["CG_DISPATCH"]
    assert tables["launch"].loc[0, ["unmatched_kernel_count", "graphs_api_count"]].tolist() == [0, 0]
    assert tables["devices"]["kernel_sum_s"].tolist() == [6e-9, 0.0]
    assert tables["devices"]["busy_s"].isna().tolist() == [False, True]


def test_empty_tables_keep_their_columns(tmp_path: Path) -> None:
    tables = summarize(TraceBuilder(lazy=False).write(tmp_path / "t.sqlite")).to_pandas()
    assert {name for name, table in tables.items() if not table.empty} <= {
        "whole",
        "capture_sections",
        "run",
        "capture",
        "launch",
        "memory",
        "warnings",
    }
    assert all(len(table.columns) for table in tables.values())


def test_an_empty_trace_is_a_digest_of_nulls(tmp_path: Path) -> None:
    for lazy in (True, False):
        data = summarize(TraceBuilder(lazy=lazy).range("r", 0, 1).write(tmp_path / f"{lazy}.sqlite")).to_dict()
        assert data["gpu_activity_span_s"] is data["gpu_busy_union_s"] is data["gpu_idle_within_span_s"] is None
        assert data["nvtx"]["r"]["gpu_overlap_s"] == 0
        assert data["devices"] == []


def test_the_schema_refuses_what_the_contract_forbids(digest: Digest) -> None:
    validator = jsonschema.Draft202012Validator(json_schema())
    jsonschema.Draft202012Validator.check_schema(json_schema())
    good = digest.to_dict()
    validator.validate(good)
    properties = list(json_schema()["properties"])
    asked = {"steps", "by_device", "nvtx_payload"}
    assert list(good) == [name for name in properties if name not in asked]
    later = {"findings", "path", "run", "failed_calls"}  # documents of before they were kept are read as well
    assert json_schema()["required"] == [key for key in properties[: properties.index("idle")] if key not in later]

    def broken(**changes: Any) -> bool:
        return not validator.is_valid(good | changes)

    assert broken(kernel_count=1.5)
    assert broken(gpu_busy_union_s="1")
    assert broken(api={"cudaFree": [1]})
    assert broken(nvtx={"r": {"count": 1}})
    assert broken(warnings=[{"code": "Not A Code", "message": ""}])
    assert broken(schema_version="2.0")
    assert not validator.is_valid({key: value for key, value in good.items() if key != "notes"})


@pytest.mark.parametrize("arguments", [{"top": -1}, {"threads": 0}, {"threads": 65}, {"dispatch_prefix": ""}])
def test_arguments_out_of_range(arguments: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(UsageInvalid):
        summarize(TraceBuilder().kernel(0, 1).write(tmp_path / "t.sqlite"), **arguments)


def test_durations_for_people() -> None:
    cases = {
        0: "0 ns",
        999: "999 ns",
        1_000: "1.000 µs",
        12_345: "12.35 µs",
        999_949: "999.9 µs",
        1_500_000: "1.500 ms",
    }
    cases |= {59_000_000_000: "59.00 s", 123_456_000_000: "123.5 s"}
    assert {ns: duration(ns) for ns in cases} == cases
    assert duration(None) == "-"


def test_points_in_time_are_exact() -> None:
    cases = {
        0: "0.000000000 s",
        1: "0.000000001 s",
        4_600_123_456: "4.600123456 s",
        -1_500_000_000: "-1.500000000 s",
        1_700_000_000_000_000_001: "1700000000.000000001 s",
    }
    assert {ns: instant(ns) for ns in cases} == cases


def test_things_are_counted_in_words() -> None:
    assert [counted(number, "launch") for number in (0, 1, 1_200)] == ["0 launches", "1 launch", "1,200 launches"]
    assert [counted(number, "kernel") for number in (1, 2)] == ["1 kernel", "2 kernels"]


def test_shares_are_whole_only_when_they_are() -> None:
    assert percent(0, 10) == "0.0 %"
    assert percent(10, 10) == "100.0 %"
    assert percent(999_999, 1_000_000) == ">99.9 %"
    assert percent(1, 1_000_000) == "<0.1 %"
    assert percent(1, 3) == "33.3 %"
    assert percent(15, 10) == "150.0 %"
    assert percent(10**18 - 1, 10**18) == ">99.9 %"  # a double would hold it to be all
    assert [percent(share) for share in (0, 0.0004, 0.0005, 0.9994, 0.99996, 1)] == [
        *("0.0 %", "<0.1 %", "0.1 %", "99.9 %", ">99.9 %", "100.0 %")
    ]


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.99996, ">99.9 %"), (0.00001, "<0.1 %"), (1.0, "100.0 %"), (0.0, "0.0 %")]
)
def test_a_share_is_written_alike_everywhere(ratio: float, text: str) -> None:
    assert shown(ratio, "ratio") == percent(ratio) == text


def test_limits_and_changes_of_shares() -> None:
    assert [shown_limit(value, "ratio") for value in (0.9999, 0.5, 0.07)] == ["99.99 %", "50 %", "7 %"]
    assert [shown_change(value, "ratio") for value in (0.99996, -0.05, 0.0)] == ["+100.0 pp", "-5.0 pp", "0.0 pp"]
    assert shown_allowance(0.05, "ratio") == "5 pp"
    assert percent(None, 10) == percent(1, 0) == percent(1, None) == "-"


def test_sizes_for_people() -> None:
    assert [size(count) for count in (0, 999, 1_500, 24_000_000, 10**10, 2 * 10**12)] == [
        "0 B",
        "999 B",
        "1.5 kB",
        "24.0 MB",
        "10.0 GB",
        "2.0 TB",
    ]


def test_a_truth_value_is_no_time() -> None:
    document = json.loads((ROOT / "fixtures" / "golden" / "serve.json").read_text(encoding="utf-8"))
    document["gpu_busy_union_s"] = True
    with pytest.raises(DigestInvalid):
        Digest.from_dict(document)
