"""Captures that must not be compared: each reason alone, repeats, and what is not known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nsys_digest import CapturesMismatch, Digest, UsageInvalid, load, load_side
from nsys_digest.compare.comparability import (
    MISMATCH_CODES,
    comparability,
    mismatches,
    repeat_mismatches,
    unknown_facts,
)
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.model.base_types import OTHER_NAMES, CategoriesFile, CountTotal, FailedCalls, NvtxRange, Warn
from nsys_digest.model.digest import SECTIONS
from support import ROOT


@pytest.fixture(scope="module")
def digest() -> Digest:
    return load(ROOT / "fixtures" / "golden" / "serve.json")


def side(*digests: Digest) -> RunSet:
    return RunSet(tuple(Run(f"run{index}", one) for index, one in enumerate(digests)))


def other(digest: Digest, code: str) -> Digest:
    """Return the digest with one fact changed."""
    capture, active = digest.capture, digest.devices[0]
    processes = tuple(replace(process, rows=dict(process.rows) | {"nvtx": 0}) for process in capture.processes)
    return {
        "gpu-model": replace(digest, devices=(replace(active, name="NVIDIA A100"),)),
        "device-count": replace(digest, devices=(active, replace(active, device=1))),
        "graph-mode": replace(digest, capture=replace(capture, graph_trace_mode="node")),
        "nsys-version": replace(digest, capture=replace(capture, product_version="2024.6.1")),
        "trace-options": replace(digest, capture=replace(capture, processes=processes)),
        "window-or-filters": replace(digest, capture=replace(capture, sections=("idle",))),
        "failed-calls": replace(
            digest, failed_calls=(FailedCalls("cudaMalloc_v3020", "cudaErrorMemoryAllocation", 2, 1),)
        ),
        "truncated": replace(digest, warnings=(Warn("truncated-capture", "lost"),)),
    }[code]


def test_the_order_of_sections_says_nothing(digest: Digest) -> None:
    """Stored digests have them in the order of the version that wrote them."""
    turned = replace(digest, capture=replace(digest.capture, sections=digest.capture.sections[::-1]))
    assert turned.capture.sections != digest.capture.sections
    assert mismatches(side(digest), side(turned)) == ()


@pytest.mark.parametrize("code", MISMATCH_CODES)
def test_each_reason_alone(digest: Digest, code: str) -> None:
    changed = other(digest, code)
    for base, head in ((digest, changed), (changed, digest)):
        found = mismatches(side(base), side(head))
        assert [difference.code for difference in found] == [code]
        assert found[0].base != found[0].head
        with pytest.raises(CapturesMismatch, match=rf"--allow-mismatch {code}$"):
            comparability(side(base), side(head))
        assert comparability(side(base), side(head), [code]).allowed == found


@pytest.mark.parametrize("code", MISMATCH_CODES)
def test_repeats_that_are_none(digest: Digest, code: str) -> None:
    found = mismatches(side(digest, other(digest, code)), side(digest))
    assert {difference.code for difference in found} == {code}
    if code != "truncated":
        (within,) = repeat_mismatches(side(digest, digest, other(digest, code)), "HEAD")
        assert "within HEAD" in within.message
        assert "run2" in within.message


def test_the_same_is_alike(digest: Digest) -> None:
    other_release = replace(digest, capture=replace(digest.capture, product_version="2025.9.9"))
    assert mismatches(side(digest, digest), side(other_release)) == ()


def test_an_idle_gpu_is_no_difference(digest: Digest) -> None:
    idle = replace(digest.devices[0], device=1, name="Tesla T4", span_ns=None, busy_ns=None)
    assert mismatches(side(digest), side(replace(digest, devices=(*digest.devices, idle)))) == ()


def test_a_fact_that_is_not_known_is_no_difference_and_is_told(digest: Digest) -> None:
    silent = replace(digest, capture=replace(digest.capture, product_version=None))
    assert mismatches(side(digest), side(silent)) == ()
    (unknown,) = unknown_facts(side(digest), side(silent, digest))
    assert (unknown.code, "run0" in unknown.message) == ("nsys-version", True)


def test_a_graph_mode_that_the_trace_does_not_name_is_read_from_its_rows(digest: Digest) -> None:
    unnamed = replace(digest, capture=replace(digest.capture, graph_trace_mode=None))
    nodes = replace(unnamed, graph_node_kernel_count=5)
    device = unnamed.devices[0]
    graphs = replace(unnamed, devices=(replace(device, count=dict(device.count) | {"graph": 3}),))
    (difference,) = mismatches(side(graphs), side(nodes))
    assert (difference.code, difference.base, difference.head) == ("graph-mode", "graph", "node")


def test_a_graph_mode_matters_where_graphs_were_launched(digest: Digest) -> None:
    unnamed = replace(digest, capture=replace(digest.capture, graph_trace_mode=None))
    assert unknown_facts(side(unnamed), side(unnamed)) == ()
    launching = replace(unnamed, api=dict(digest.api) | {"cudaGraphLaunch_v10000": CountTotal(1, 5)})
    assert [unknown.code for unknown in unknown_facts(side(unnamed), side(launching))] == ["graph-mode"]


def test_a_reason_that_does_not_exist(digest: Digest) -> None:
    with pytest.raises(UsageInvalid, match="no reason moon-phase not to compare; choose from gpu-model"):
        comparability(side(digest), side(digest), ["moon-phase"])


def test_a_side_has_a_run(tmp_path: Path) -> None:
    with pytest.raises(UsageInvalid, match="at least one"):
        load_side([])


def test_an_incomplete_capture_is_no_match_whatever_its_warnings_say(digest: Digest) -> None:
    lost = replace(digest, capture=replace(digest.capture, incomplete=True))
    (found,) = mismatches(side(digest), side(lost))
    assert (found.code, found.base, found.head) == ("truncated", "complete", "capture.incomplete")
    assert comparability(side(digest), side(lost), ["truncated"]).allowed == (found,)


def test_failed_calls_that_no_document_tells_of_are_not_asked_for(digest: Digest) -> None:
    silent = replace(digest, failed_calls=None)
    assert unknown_facts(side(silent), side(silent)) == ()
    assert [one.code for one in unknown_facts(side(silent), side(digest))] == ["failed-calls"]


def with_options(digest: Digest, **options: Any) -> Digest:
    return replace(digest, capture=replace(digest.capture, **options))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"steps": "decode"}, "what is a step: none in BASE (run0), 'decode' in HEAD (run0)"),
        (
            {"categories": CategoriesFile("mine.toml", "ab" * 32)},
            "kernel categories: those shipped in BASE (run0), a file with sha256 abababababababab in HEAD (run0)",
        ),
        ({"dispatch_prefix": "MARK"}, "dispatch prefix: 'CG_DISPATCH' in BASE (run0), 'MARK' in HEAD (run0)"),
        (
            {"raw_nvtx_names": True},
            "range names: without serial numbers in BASE (run0), with serial numbers in HEAD (run0)",
        ),
        (
            {"sections": tuple(name for name in SECTIONS if name != "communication")},
            "sections of the digest: communication in BASE (run0), none of these in HEAD (run0)",
        ),
    ],
    ids=["steps", "categories", "prefix", "names", "sections"],
)
def test_an_option_that_differs_is_named_alone(digest: Digest, options: dict[str, Any], message: str) -> None:
    (difference,) = mismatches(side(digest), side(with_options(digest, **options)))
    assert (difference.code, difference.message) == ("window-or-filters", message)


def test_a_limit_of_names_matters_where_it_was_reached(digest: Digest) -> None:
    fewer = with_options(digest, max_nvtx_names=5_000)
    assert mismatches(side(digest), side(fewer)) == ()
    capped = replace(fewer, nvtx=dict(digest.nvtx) | {OTHER_NAMES: NvtxRange(1, 1, 1, 0)})
    (difference,) = mismatches(side(digest), side(capped))
    assert (difference.base, difference.head) == ("all", "the first 5,000")


def test_files_of_equal_content_are_one(digest: Digest) -> None:
    one, two = (with_options(digest, categories=CategoriesFile(name, "ab" * 32)) for name in ("a.toml", "b.toml"))
    assert mismatches(side(one), side(two)) == ()


def test_categories_matter_where_they_sort_kernels(digest: Digest) -> None:
    plain = with_options(digest, sections=("idle",))
    assert mismatches(side(plain), side(with_options(plain, categories=CategoriesFile("a", "ab" * 32)))) == ()


def test_an_older_document_does_not_tell_its_options(digest: Digest) -> None:
    document = digest.to_dict()
    for key in ("max_nvtx_names", "categories", "steps"):
        del document["capture"]["filters"][key]
    older = Digest.from_dict(document)
    assert mismatches(side(older), side(with_options(digest, steps="decode"))) == ()
    (unknown,) = unknown_facts(side(older), side(digest))
    assert unknown.message == "kernel categories, what is a step: unknown for run0"


def test_gpus_are_not_counted_where_processes_may_have_had_one_each(digest: Digest) -> None:
    unsure = replace(digest, warnings=(Warn("device-ambiguous", "may be four"),))
    two = replace(digest, devices=(digest.devices[0], replace(digest.devices[0], device=1)))
    assert [difference.code for difference in mismatches(side(digest), side(two))] == ["device-count"]
    assert mismatches(side(unsure), side(two)) == ()
    assert [unknown.code for unknown in unknown_facts(side(unsure), side(two))] == ["device-count"]
