"""Every section of a part of a trace: against single nanoseconds, and as parts that add up to the whole."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from builder import VERSIONS
from nsys_digest import Digest
from nsys_digest.options import SummarizeOptions
from nsys_digest.sections.summary import summarize_selection
from nsys_digest.selection import Selection, select
from oracle_account import random_account_trace
from oracle_selection import expected_sections
from test_account import check_dispatch, check_idle, check_launch, check_memory, check_nvtx, class_of, measured_tails


def drawn(rng: random.Random, ticks: int) -> Selection:
    stretches = None
    if rng.random() < 0.8:
        starts = [rng.randint(-100, ticks) for _ in range(rng.randint(1, 3))]
        stretches = [(start, start + rng.randint(1, ticks // 2)) for start in starts]
    return select(
        stretches,
        devices=rng.sample([0, 1, 2], rng.randint(1, 2)) if rng.random() < 0.3 else None,
        processes=rng.sample([101, 202], 1) if rng.random() < 0.2 else None,
        streams=rng.sample([7, 8, 13], 2) if rng.random() < 0.2 else None,
    )


def check_sections(path: Path, selection: Selection, digest: Digest, gaps: int) -> None:
    reference = expected_sections(path, selection, class_of)
    check_idle(digest, reference["idle"], gaps)
    check_launch(digest, reference["launch"])
    check_memory(digest, reference["memory"])
    check_nvtx(digest, reference["nvtx"])
    check_dispatch(digest, reference["dispatch_steps"])
    assert digest.api_durations == {name: measured_tails(sorted(v)) for name, v in reference["api_lengths"].items()}
    assert digest.kernel_durations == {
        name: measured_tails(sorted(values)) for name, values in reference["kernel_lengths"].items()
    }
    assert digest.categories is not None
    totals = reference["kernels"].values()
    assert sum(one.count for one in digest.categories.values()) == sum(count for count, _, _ in totals)
    assert sum(one.sum_ns for one in digest.categories.values()) == sum(ns for _, ns, _ in totals)


def check_reading(path: Path, selection: Selection, whole: Digest) -> None:
    """Compare all bytes with those from only the rows that the window needs: base figures, sections and warnings."""
    for options in (SummarizeOptions(gaps=9, reader="stdlib"), SummarizeOptions(sections=(), reader="adbc")):
        part = summarize_selection(path, selection, options, reading="part")
        if not options.sections:
            whole = summarize_selection(path, selection, options, reading="whole")
        assert part.to_json() == whole.to_json()


@pytest.mark.parametrize("version", VERSIONS)
def test_random_selections_of_random_traces(version: str, tmp_path: Path) -> None:
    for seed in range(6):
        rng = random.Random(f"sections {version} {seed}")
        path = random_account_trace(rng, version).write(tmp_path / f"{seed}.sqlite", shuffle=rng)
        for number in range(4):
            selection = drawn(rng, 3000)
            digest = summarize_selection(path, selection, SummarizeOptions(gaps=9, reader="stdlib"))
            check_reading(path, selection, digest)
            try:
                check_sections(path, selection, digest, 9)
            except AssertionError as error:
                raise AssertionError(f"seed {seed}, selection {number}: {selection}") from error
