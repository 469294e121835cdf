"""Comparisons: by hand on drawn traces, by brute force on every pair of real ones, and what the command shows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import nsys_digest
from builder import TraceBuilder
from nsys_digest import Digest, diff, load
from nsys_digest.compare.comparability import MISMATCH_CODES
from nsys_digest.compare.diff import Diff
from nsys_digest.compare.runs import Run, RunSet, typical
from nsys_digest.compare.threshold import Threshold, read_threshold
from support import ROOT, call, small_trace, the_line, untouched

FIXTURES = ("graph_graph", "graph_node", "mixed", "nogpu", "rank_0", "rank_1", "serve")
ADDITIVE = ("idle", "idle_host", "api", "kernels", "categories", "memory", "communication_kinds")


def fixture(name: str) -> Path:
    return ROOT / "fixtures" / "traces" / f"{name}.sqlite"


@pytest.fixture(scope="module")
def golden() -> dict[str, Digest]:
    return {name: load(ROOT / "fixtures" / "golden" / f"{name}.json") for name in FIXTURES}


@pytest.fixture(scope="module")
def every_pair(golden: dict[str, Digest]) -> dict[tuple[str, str], Diff]:
    sides = {name: RunSet((Run(name, digest),)) for name, digest in golden.items()}
    return {(a, b): diff(sides[a], sides[b], allow_mismatch=MISMATCH_CODES) for a, b in product(FIXTURES, repeat=2)}


def strict(schema: Any) -> Any:
    """Return a JSON Schema that lets no key pass that it does not name."""
    if isinstance(schema, dict):
        closed = {key: strict(part) for key, part in schema.items()}
        return {"additionalProperties": False} | closed if "properties" in closed and "type" in closed else closed
    return [strict(part) for part in schema] if isinstance(schema, list) else schema


def ns(seconds: float) -> int:
    return round(seconds * 1e9)


def drawn(path: Path, *, slower: bool) -> Path:
    """Draw a trace of one device, or the same with a slower kernel, a sync call, and a copy that no longer overlaps.

    ::

        BASE    gemm 100-200   softmax 250-280                    HEAD    gemm 100-240
                copy      150---------300  set 310-320                    softmax 290-320  copy 340-490  set 500-510
    """
    builder = TraceBuilder().gpu(0, "NVIDIA H100").process(1, "python3").session(1_000)
    times = (
        ((100, 240), (290, 320), (340, 490), (500, 510)) if slower else ((100, 200), (250, 280), (150, 300), (310, 320))
    )
    builder.kernel(*times[0], name="gemm", correlation=1).kernel(*times[1], name="softmax", correlation=2)
    builder.memcpy(*times[2], correlation=3, stream=8).memset(*times[3], correlation=4)
    for number, name in enumerate(("cudaLaunchKernel", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync")):
        builder.api(name, 10 * number, 10 * number + 5, correlation=number + 1)
    return builder.write(path)


def test_the_account_by_hand(tmp_path: Path) -> None:
    """BASE: span 220, busy 210 of 290 summed, idle 10. HEAD: span 410, busy 330 of 330, idle 80."""
    found = diff(drawn(tmp_path / "a.sqlite", slower=False), drawn(tmp_path / "b.sqlite", slower=True))
    assert found.span is not None
    assert (found.span.base_ns, found.span.head_ns, found.span.change_ns) == (220, 410, 190)
    terms = {term.name: (term.base_ns, term.head_ns, term.change_ns) for term in found.span.terms}
    assert terms == {
        "beside": (-80, 0, 80),
        "idle queued": (10, 80, 70),
        "kernels gemm": (100, 140, 40),
        "kernels softmax": (30, 30, 0),
        "copies": (150, 150, 0),
        "sets": (10, 10, 0),
    }
    assert [term.name for term in found.span.terms][:3] == ["beside", "idle queued", "kernels gemm"]
    assert (found.span.change_of("busy"), found.span.change_of("idle")) == (120, 70)
    kernels = found.tables["kernels"]
    assert kernels is not None
    assert [(row.name, row.figures["total_ns"].change) for row in kernels.rows] == [("gemm", 40), ("softmax", 0)]
    assert found.headline["gpu_busy_ratio"].pair.base == 210 / 220


def decode(path: Path, *, wait: int = 0, kernel: int = 3_000, graph: bool = True) -> Path:
    """Draw ten steps of 10 us: a launch call at 0-500, a wait, and 3 us of work as one graph or as six kernels."""
    builder = TraceBuilder().gpu(0, "NVIDIA H100").process(1, "python3").session(200_000)
    at, correlation = 0, 0
    for _ in range(10):
        if wait:
            builder.api("cudaDeviceSynchronize", at, at + wait, correlation=900 + correlation)
            at += wait
        for part in range(1 if graph else 6):
            correlation += 1
            name, start = ("cudaGraphLaunch" if graph else "cudaLaunchKernel"), at + 1_000 * part
            builder.api(name, start, start + 500, correlation=correlation)
            if graph:
                builder.graph(start + 600, start + 600 + kernel, correlation=correlation)
            else:
                builder.kernel(start + 600, start + 600 + kernel // 6, name="decode", correlation=correlation)
        at += 10_000
    return builder.write(path)


@pytest.mark.parametrize(
    ("planted", "first", "said"),
    [
        # nine of ten waits of 4 us lie between the first and the last work
        ({"wait": 4_000}, ("idle sync", 36_000), "idle in sync calls +36.00 µs"),
        ({"kernel": 5_000}, ("graphs", 20_000), "graphs +20.00 µs"),
        ({"graph": False}, ("kernels other", 30_000), "other kernels +30.00 µs"),
    ],
)
def test_a_planted_change_is_named(planted: dict[str, Any], first: tuple[str, int], said: str, tmp_path: Path) -> None:
    paths = decode(tmp_path / "base.sqlite"), decode(tmp_path / "head.sqlite", **planted)
    found = diff(*paths)
    assert found.span is not None
    assert first in [(term.name, term.change_ns) for term in found.span.terms[:2]]
    assert said in " ".join(call("diff", *paths, "-f", "text").out.split())


def test_the_account_of_two_devices_by_hand(tmp_path: Path) -> None:
    """Device 0 works 0-100 and device 1 50-250; in HEAD device 1 works 150-250.

    Over both, busy is 250 of 300 summed, then 200 of 200, and 50 without any.
    """
    paths = []
    for name, start in (("a", 50), ("b", 150)):
        builder = TraceBuilder().gpu(0, "NVIDIA H100").gpu(1, "NVIDIA H100").process(1, "python3")
        builder.kernel(0, 100, correlation=1).kernel(start, 250, device=1, stream=8, correlation=2)
        paths.append(builder.write(tmp_path / f"{name}.sqlite"))
    found = diff(*paths, allow_mismatch=["trace-options"])
    assert found.span is not None
    terms = {term.name: (term.base_ns, term.head_ns) for term in found.span.terms}
    assert terms == {"kernels other": (300, 200), "beside": (-50, 0), "idle": (0, 50)}
    assert [(one.base_device, one.head_device, one.breakdown.change_ns) for one in found.devices] == [
        (0, 0, 0),
        (1, 1, -100),
    ]
    assert [(term.name, term.change_ns) for term in found.devices[1].breakdown.terms] == [("kernels", -100)]


@pytest.mark.slow
def test_terms_add_up_on_every_pair(every_pair: dict[tuple[str, str], Diff], golden: dict[str, Digest]) -> None:
    """The terms of each side are added up apart and held against the document of the digest, read as plain JSON."""
    documents = {name: golden[name].to_dict() for name in FIXTURES}
    with_span = 0
    for (base, head), found in every_pair.items():
        spans = [documents[name]["gpu_activity_span_s"] for name in (base, head)]
        if None in spans:
            assert found.span is None
            continue
        with_span += 1
        assert found.span is not None
        for name, side in ((base, "base_ns"), (head, "head_ns")):
            document = documents[name]
            terms = {(term.group, term.name): getattr(term, side) for term in found.span.terms}
            assert sum(terms.values()) == ns(document["gpu_activity_span_s"])
            busy = sum(value for (group, _), value in terms.items() if group == "busy")
            assert busy == ns(document["gpu_busy_union_s"])
            for category, kernels in document["categories"].items():
                assert terms["busy", f"kernels {category}"] == ns(kernels["sum_s"])
            (device,) = (device for device in document["idle"]["devices"] if device["idle_s"] is not None)
            for cause, idle in device["causes"].items():
                assert terms.get(("idle", f"idle {cause}"), 0) == ns(idle["sum_s"])
            sums = [device["sum_s"] for device in document["devices"]]
            plain = sum(ns(value) for kinds in sums for value in kinds.values())
            assert terms.get(("busy", "beside"), 0) == busy - plain
        assert sum(term.change_ns for term in found.span.terms) == ns(spans[1]) - ns(spans[0])
        (device_breakdown,) = found.devices
        breakdown = device_breakdown.breakdown
        assert sum(term.change_ns for term in breakdown.terms) == breakdown.change_ns == found.span.change_ns
    assert with_span == 36


def test_tables_add_up_on_every_pair(every_pair: dict[tuple[str, str], Diff]) -> None:
    for found in every_pair.values():
        for name in ADDITIVE:
            table = found.tables[name]
            assert table is not None
            assert table.total is not None
            rows = (*table.rows, *table.renamed, *table.appeared, *table.vanished)
            for side in ("base", "head"):
                told = sum(getattr(row.figures[table.by.name], side) or 0 for row in rows)
                assert told == getattr(table.total, side), name
            changes = [abs(row.figures[table.by.name].change or 0) for row in table.rows]
            assert changes == sorted(changes, reverse=True)
            for row in (*table.rows, *table.renamed):
                if row.split is not None:
                    assert row.split.by_count_ns + row.split.by_length_ns == row.figures[table.by.name].change


def test_no_name_is_lost(every_pair: dict[tuple[str, str], Diff], golden: dict[str, Digest]) -> None:
    for (base, head), found in every_pair.items():
        table = found.tables["kernels"]
        assert table is not None
        ours, theirs = (set(golden[name].kernel_durations or {}) for name in (base, head))
        both = {row.name for row in table.rows}
        renamed = {(row.base_name, row.name) for row in table.renamed}
        assert both == ours & theirs
        assert {row.name for row in table.vanished} | {name for name, _ in renamed} == ours - theirs
        assert {row.name for row in table.appeared} | {name for _, name in renamed} == theirs - ours


def test_a_side_with_itself_moves_nothing(every_pair: dict[tuple[str, str], Diff]) -> None:
    for name in FIXTURES:
        found = every_pair[name, name]
        assert not any(figure.pair.change for figure in found.headline.values())
        for table in found.tables.values():
            if table is not None:
                assert not table.appeared + table.vanished + table.renamed + table.families
                assert not any(pair.change for row in table.rows for pair in row.figures.values())


@pytest.mark.slow
def test_documents_are_valid(every_pair: dict[tuple[str, str], Diff]) -> None:
    schema = strict(nsys_digest.json_schema("diff"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for found in every_pair.values():
        validator.validate(json.loads(found.to_json()))
    assert json.loads(call("schema", "--of", "diff").out) == nsys_digest.json_schema("diff")


def test_backwards_is_the_same_with_other_signs(every_pair: dict[tuple[str, str], Diff]) -> None:
    for (base, head), found in every_pair.items():
        back = every_pair[head, base]
        if found.span is not None and back.span is not None:
            changes = {term.name: -term.change_ns for term in found.span.terms}
            assert changes == {term.name: term.change_ns for term in back.span.terms}


def test_a_stored_digest_is_as_good_as_its_trace(tmp_path: Path) -> None:
    stored = tmp_path / "stored.anything"
    assert call("summarize", fixture("rank_1"), "-q", "-f", "json", "-o", stored).status == 0
    of_trace, of_digest = (
        json.loads(call("diff", fixture("rank_0"), head, "-f", "json").out) for head in (fixture("rank_1"), stored)
    )
    of_trace["head"]["runs"][0]["source"] = of_digest["head"]["runs"][0]["source"] = ""
    assert of_trace == of_digest


@pytest.mark.parametrize(
    ("spans", "position"),
    [([30, 10, 20], 2), ([10, 20, 30, 40], 1), ([20, 10, 20], 0), ([5], 0), ([10, None, 30], 0)],
)
def test_the_typical_run_is_the_one_with_the_median_span(
    spans: list[int | None], position: int, golden: dict[str, Digest]
) -> None:
    runs = tuple(Run(str(span), replace(golden["nogpu"], gpu_activity_span_ns=span)) for span in spans)
    assert typical(RunSet(runs)) == position


def test_repeats(tmp_path: Path) -> None:
    paths = []
    for name, end in (("b0", 200), ("b1", 180), ("b2", 230), ("h0", 260), ("h1", 250)):
        builder = small_trace()
        paths.append(builder.kernel(290, 300 + end, name="last").write(tmp_path / f"{name}.sqlite"))
    base = [word for path in paths[:3] for word in ("--base", path)]
    found = json.loads(call("diff", *base, *paths[3:], "-f", "json").out)
    # spans begin at 100 and end with the last kernel: of 400, 380, 430 the median is 400; of 460, 450 the lower one
    assert [run["gpu_activity_span_s"] for run in found["base"]["runs"]] == [400e-9, 380e-9, 430e-9]
    assert (found["base"]["typical_run"], found["head"]["typical_run"]) == (0, 1)
    assert found["headline"]["gpu_activity_span_s"] == {
        "base": 400e-9,
        "head": 450e-9,
        "change": 50e-9,
        "ratio": 450 / 400,
        "base_runs": [400e-9, 380e-9, 430e-9],
        "head_runs": [460e-9, 450e-9],
    }
    text = call("diff", *base, *paths[3:], "-f", "text").out
    assert "3 runs of BASE span 380 ns to 430 ns; 2 runs of HEAD span 450 ns to 460 ns." in text


def test_mismatch_is_refused_then_allowed_and_recorded() -> None:
    paths = fixture("graph_graph"), fixture("graph_node")
    line = the_line(call("diff", *paths), 4, "captures-mismatch")
    assert "graph-mode" in line
    assert line.endswith("compare anyway with --allow-mismatch graph-mode")
    found = json.loads(call("diff", *paths, "--allow-mismatch", "graph-mode", "-f", "json").out)
    (allowed,) = found["mismatches"]["allowed"]
    assert (allowed["code"], allowed["base"], allowed["head"]) == ("graph-mode", "graph", "node")


def test_what_text_says() -> None:
    out = call("diff", fixture("rank_0"), fixture("rank_1"), "-f", "text", "--top", "3").out
    said = " ".join(out.split("\n\n")[0].split())
    # 7 530 120 776 - 7 412 639 832 ns; 7 002 115 248 - 6 868 731 734 ns
    assert (
        "HEAD takes 117.5 ms (1.6 %) longer than BASE (GPU span 7.413 s → 7.530 s): idle in host code +133.4 ms" in said
    )
    assert "One run a side: how much of this is noise is unknown." in said
    block = out.split("Where the change of the span comes from")[1].split("\n\n")[0]
    assert [re.split(r"  +", line.strip())[-1] for line in block.splitlines()[3:]][:3] == [
        "idle in host code",
        "overlap of GPU work",
        "idle loading code",
    ]
    assert "span: the sum of the above" in block
    same = call("diff", fixture("serve"), fixture("serve"), "-f", "text").out
    assert "HEAD takes as long as BASE, 1.710 s of GPU span, and in the same way." in same
    assert "Where the change" not in same


def test_shorter_and_without_gpu(tmp_path: Path) -> None:
    slow, fast = drawn(tmp_path / "slow.sqlite", slower=True), drawn(tmp_path / "fast.sqlite", slower=False)
    assert "HEAD takes 190 ns (46.3 %) less than BASE (GPU span 410 ns → 220 ns): more overlap -80 ns" in " ".join(
        call("diff", slow, fast, "-f", "text").out.split()
    )
    out = call("diff", fixture("nogpu"), fixture("nogpu"), "-f", "markdown").out
    assert "BASE and HEAD have no GPU activity: no span to compare." in out


@pytest.mark.parametrize("columns", ["60", "80", "120"])
def test_no_number_is_cut(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    out = call("diff", fixture("rank_0"), fixture("rank_1"), "-f", "text").out
    for number in ("+133.4 ms", "6.869 s", "7.002 s", "+1.9 %", "-36.54 ms", "2,799"):
        assert number in out


def renamed_traces(tmp_path: Path) -> tuple[Path, Path]:
    """Draw a kernel renamed, one that vanished and one that appeared, and one that moved."""
    paths = []
    for name, tile, own, end in (("a", "64x64", "gone", 120), ("b", "128x64", "new", 150)):
        builder = TraceBuilder().gpu(0, "NVIDIA H100").process(1, "python3").api("cudaLaunchKernel", 0, 5)
        builder.kernel(10, 20, name=f"gemm_tile{tile}_nn").kernel(30, 40, name=own).kernel(100, end, name="stays")
        paths.append(builder.write(tmp_path / f"{name}.sqlite"))
    return paths[0], paths[1]


def test_renamed_appeared_and_vanished(tmp_path: Path) -> None:
    paths = renamed_traces(tmp_path)
    found = json.loads(call("diff", *paths, "-f", "json").out)
    table = found["tables"]["kernels"]
    (renamed,) = table["renamed"]
    assert (renamed["base_name"], renamed["name"]) == ("gemm_tile64x64_nn", "gemm_tile128x64_nn")
    assert renamed["why"] == "same but for tile sizes"
    assert [row["name"] for row in table["appeared"]] == ["new"]
    assert [row["name"] for row in table["vanished"]] == ["gone"]
    assert table["vanished"][0]["figures"]["total_s"] == {"base": 10e-9, "head": None, "change": None, "ratio": None}
    assert table["total"] == {"base": 40e-9, "head": 70e-9, "change": 30e-9, "ratio": 70 / 40}
    out = call("diff", *paths, "-f", "text").out
    assert "Kernel names: 1 appeared, 1 vanished, 1 renamed." in " ".join(out.split())
    for title in ("Kernels: renamed", "Kernels: in HEAD only", "Kernels: in BASE only"):
        assert title in out


def test_lists_are_cut_in_text_and_whole_in_json(tmp_path: Path) -> None:
    paths = [fixture("rank_0"), fixture("rank_1")]
    whole = call("diff", *paths, "-f", "json").out
    assert call("diff", *paths, "-f", "json", "--top", "0", "--min-change", "1s").out == whole
    assert len(json.loads(whole)["tables"]["api"]["rows"]) == 64
    out = call("diff", *paths, "-f", "text", "--top", "2", "--min-change", "1ms").out
    block = out.split("CUDA API calls\n")[1].split("\n\n")[0]
    changes = [abs(ns(row["figures"]["total_s"]["change"])) for row in json.loads(whole)["tables"]["api"]["rows"]]
    moved = sum(change >= 1_000_000 for change in changes)
    assert len(block.splitlines()) == 2 + 2 + 1
    assert block.splitlines()[-1].strip() == f"{moved - 2} more moved; {64 - moved} moved less"


def test_min_change() -> None:
    assert read_threshold("50us") == Threshold(50_000, 0.0)
    assert read_threshold("5%") == Threshold(0, 0.05)
    assert read_threshold("1.5ms,10%") == Threshold(1_500_000, 0.1)
    assert read_threshold("0") == Threshold()


BAD_USAGE: list[tuple[tuple[str, ...], str]] = [
    (("A",), "1 path is given"),
    (("A", "B", "A"), "3 paths are given"),
    ((), "no path is given"),
    (("--base", "A"), "no run of HEAD"),
    (("--head", "A"), "no --base"),
    (("A", "--head", "B"), "is of neither"),
    (("A", "--base", "A", "--head", "B"), "is of neither"),
    (("--base", "A", "--head"), "--head"),
    (("A", "B", "--allow-mismatch", "nothing"), "no reason nothing"),
    (("A", "B", "--min-change", "10"), "--min-change 10: '10' has no unit; write '10s', '10ms' or '10%'"),
    (("A", "B", "--min-change", "5furlongs"), "--min-change 5furlongs"),
    (("A", "B", "--min-change", "-5us"), "--min-change -5us"),
    (("A", "B", "--min-change", ""), "--min-change"),
    (("A", "B", "--top", "-1"), "--top"),
    (("A", "B", "--format", "xml"), "--format"),
    (("A", "B", "-o", "A"), "the trace itself"),
    (("A", "B", "-o", "B"), "this is a trace"),
]


@pytest.mark.parametrize(("words", "part"), BAD_USAGE)
def test_bad_usage_is_one_line(words: tuple[str, ...], part: str, tmp_path: Path) -> None:
    files = {"A": small_trace().write(tmp_path / "a.sqlite"), "B": small_trace().write(tmp_path / "b.sqlite")}
    with untouched(tmp_path):
        line = the_line(call("diff", *(files.get(word, word) for word in words)), 2, "usage-invalid")
    assert part in line


def damage(change: Callable[[dict[str, Any]], object]) -> str:
    document = json.loads((ROOT / "fixtures" / "golden" / "graph_graph.json").read_text())
    change(document)
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("{", "this is not JSON"),
        ("[" * 100_000, "this is not JSON"),
        ("[]", "no digest of schema version 1"),
        ("{}", "no digest of schema version 1"),
        ('{"schema_version": "2.0"}', "'2.0'"),
        (damage(lambda d: d.pop("api")), "damaged one: key api is missing;"),
        (damage(lambda d: d["api"].update(x=[1, None])), "api.x[1] is null where seconds should be"),
        (damage(lambda d: d.update(kernel_count="many")), "kernel_count is text where a whole number should be"),
        (damage(lambda d: d.update(kernel_count=True)), "kernel_count is true where"),
        (
            damage(lambda d: d.update(gpu_busy_union_s=float("inf"))),
            "Infinity is no number",
        ),
        (damage(lambda d: d["devices"][0]["sum_s"].pop("graph")), "devices[0].sum_s.graph is missing"),
        (damage(lambda d: d.update(gpu_busy_union_s=[1])), "gpu_busy_union_s is a list of 1 where seconds should be"),
        (
            damage(lambda d: d["launch"]["graphs"]["api"].update(max_s="x" * 100)),
            "launch.graphs.api.max_s is text where seconds should be",
        ),
        (damage(lambda d: d["launch"]["by_api"].update(x=None)), "launch.by_api.x is null where an object should be"),
        (
            damage(lambda d: d["memory"]["copies"][0]["gbps"].update(p50=float("nan"))),
            "NaN is no number",
        ),
        (
            damage(lambda d: d["categories"]["gemm"].update(count=1.5)),
            "categories.gemm.count is 1.5 where a whole number should be",
        ),
        (
            damage(lambda d: d["dispatch_steps"][0].update(fields={"a": []})),
            "dispatch_steps[0].fields.a is a list of 0 where",
        ),
    ],
)
def test_a_damaged_digest_is_one_line(text: str, part: str, tmp_path: Path) -> None:
    path = tmp_path / "stored.json"
    path.write_text(text)
    with untouched(tmp_path):
        line = the_line(call("diff", fixture("graph_graph"), path), 3, "digest-invalid")
    assert line.startswith(f"{path}: ")
    assert part in line


def test_a_digest_that_contradicts_itself_has_no_account(golden: dict[str, Digest]) -> None:
    odd = replace(golden["serve"], gpu_busy_union_ns=None, devices=(replace(golden["serve"].devices[0], busy_ns=None),))
    found = diff(RunSet((Run("a", golden["serve"]),)), RunSet((Run("b", odd),)), allow_mismatch=MISMATCH_CODES)
    assert (found.span, found.devices) == (None, ())
    assert json.loads(found.to_json())["span"] is None


def test_files_that_are_neither(tmp_path: Path) -> None:
    binary = tmp_path / "x.json"
    binary.write_bytes(b'{"file": "\xff\xfe"}')
    assert "not UTF-8" in the_line(call("diff", binary, binary), 3, "digest-invalid")
    text = tmp_path / "notes.txt"
    text.write_text("neither")
    the_line(call("diff", fixture("serve"), text), 3, "not-a-trace")
    the_line(call("diff", fixture("serve"), tmp_path), 3, "trace-unreadable")
    the_line(call("diff", fixture("serve"), tmp_path / "none.json"), 3, "trace-unreadable")


def test_hostile_names_stay_names(tmp_path: Path) -> None:
    """A terminal sees no control character, Markdown no markup; JSON has the names as they are."""
    names = ["\x1b[31mred", "a\n::error::x", "|x|`y`", "<img src=x>", "@everyone [l](u)", "\u202eevil"]
    paths = []
    for length in (10, 20):
        builder = TraceBuilder().gpu(0, "NVIDIA H100").process(1, "python3").api("cudaLaunchKernel", 0, 5)
        for index, name in enumerate(names):
            builder.kernel(100 * index, 100 * index + length, name=name).range(name, 0, 10 + length)
        builder.kernel(2_000, 2_010, name=f"only\x07{length}\n::warning::")
        paths.append(builder.write(tmp_path / f"{length}.sqlite"))
    for form in ("text", "markdown"):
        out = call("diff", *paths, "-f", form).out
        assert all(line.isprintable() for line in out.splitlines())
        assert not any(line.lstrip().startswith("::") for line in out.splitlines())
        if form == "markdown":
            assert "<img" not in out.replace("`<img src=x>`", "")
            assert "@everyone" not in out.replace("`@everyone [l](u)`", "")
    rows = json.loads(call("diff", *paths, "-f", "json").out)["tables"]["kernels"]["rows"]
    assert {row["name"] for row in rows} == set(names)


def test_every_key_of_the_document_is_told() -> None:
    page = (ROOT / "docs" / "diff.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`([^`\n]+)`", page))
    schema = nsys_digest.json_schema("diff")
    assert set(schema["properties"]) <= told
    for part in (
        "table",
        "row",
        "family",
        "span_breakdown",
        "device_span_breakdown",
        "term",
        "headline",
        "compared_side",
    ):
        keys = set(schema["$defs"][part]["properties"]) - {"base", "head", "change", "ratio"}
        assert keys <= told, part
    assert set(schema["properties"]["tables"]["properties"]) <= told
    codes = re.findall(
        r"^\| `([a-z-]+)` \|", page.partition("## Captures that do not match")[2].partition("## ")[0], re.MULTILINE
    )
    assert codes == list(MISMATCH_CODES)


def test_the_base_alone(tmp_path: Path) -> None:
    """Digests without sections compare what they have; a table whose section is missing is null."""
    stored = tmp_path / "base.json"
    assert call("summarize", fixture("serve"), "-q", "--sections", "base", "-o", stored).status == 0
    found = json.loads(call("diff", stored, stored, "-f", "json").out)
    assert found["tables"]["idle"] is None
    assert found["tables"]["kernels"]["complete"] is False
    assert [term["name"] for term in found["span"]["terms"]] == ["idle", "kernels", "copies", "sets", "beside"]
    line = the_line(call("diff", stored, fixture("serve")), 4, "captures-mismatch")
    assert "window-or-filters" in line
