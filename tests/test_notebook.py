"""What a notebook shows: the short report, figures by name, their completion; and the notebook of the pages, run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from builder import TraceBuilder
from notebook_cells import outputs, ran
from nsys_digest import Digest, summarize
from support import ROOT

NOTEBOOK = ROOT / "docs" / "notebook.ipynb"


@pytest.fixture
def digest(tmp_path: Path) -> Digest:
    """Draw two kernels of 1,500 and 500 ns, one in a range whose name has a dot.

    kernels  [0, 1500)           [2000, 2500)
    a.b   [-500,              1800)
    """
    trace = TraceBuilder().kernel(1_000, 2_500, name="k").kernel(3_000, 3_500, name="k", correlation=2)
    return summarize(trace.range("a.b", 500, 2_800).range("step", 0, 4_000).write(tmp_path / "trace.sqlite"))


def test_a_figure_is_in_its_unit(digest: Digest) -> None:
    assert digest["gpu_busy_union_s"] == 2e-6
    assert digest["gpu_busy_union_ns"] == 2_000
    assert type(digest["gpu_busy_union_ns"]) is int
    assert digest["kernel_count"] == 2
    assert digest["devices.0.busy_ratio"] == 0.8  # 2,000 of 2,500
    assert digest["top_kernels.k.total_ns"] == 2_000
    assert digest['nvtx."a.b".union_ns'] == 2_300


def test_a_path_with_globs_gives_what_it_matches(digest: Digest) -> None:
    assert digest["nvtx.*.union_ns"] == {'nvtx."a.b".union_ns': 2_300, "nvtx.step.union_ns": 4_000}
    assert digest["devices.*.busy_s"] == {"devices.0.busy_s": 2e-6}


def test_a_figure_that_is_null_is_none(tmp_path: Path) -> None:
    nothing = summarize(TraceBuilder().range("step", 0, 10).write(tmp_path / "trace.sqlite"))
    assert nothing["gpu_busy_union_s"] is None
    assert nothing["gpu_busy_union_ns"] is None
    assert "gpu_busy_union_ns" in nothing


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("gpu_busy_union", "no figure gpu_busy_union; there are gpu_busy_union_s"),
        ("nvtx.step", "no figure nvtx.step; there are nvtx.step.count, "),
        ("kernel_count_ns", "no figure kernel_count_ns"),
        ("nvtx.stop.union_s", "nvtx.step.union_s"),
        ("nvtx.", "nvtx.: "),
        ("nvtx.x*.union_s", "no figure"),
    ],
)
def test_what_is_no_figure_names_the_nearest(digest: Digest, path: str, said: str) -> None:
    with pytest.raises(KeyError) as raised:
        digest[path]
    assert said in str(raised.value)
    assert path not in digest


def test_a_digest_is_no_sequence(digest: Digest) -> None:
    with pytest.raises(TypeError):
        iter(digest)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="not by int"):
        digest[0]  # type: ignore[index]
    assert 0 not in digest


def test_every_completion_is_a_figure(digest: Digest) -> None:
    paths = digest._ipython_key_completions_()
    assert {"gpu_busy_union_s", "nvtx.step.union_s", 'nvtx."a.b".union_s', "top_kernels.k.count"} <= set(paths)
    assert len(paths) == len(set(paths))
    assert all(path in digest for path in paths)


def test_html_is_the_short_report(digest: Digest) -> None:
    shown = digest._repr_html_()
    assert "Left out" in shown
    assert "Kernels, most GPU time first" in shown
    assert "Launches" not in shown


def test_the_notebook_shows_what_its_cells_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """``python -m tests.write_docs`` writes the outputs."""
    stored = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    monkeypatch.chdir(NOTEBOOK.parent)
    assert [cell["cell_type"] for cell in stored["cells"]].count("code") >= 5
    for now, before in zip(ran(stored)["cells"], stored["cells"], strict=True):
        assert now == before, "".join(before["source"])
    assert NOTEBOOK.stat().st_size < 100_000


def test_the_last_line_of_a_cell_is_shown() -> None:
    names: dict[str, object] = {}
    assert outputs("x = 3", names) == []
    (value,) = outputs("x + 1", names)
    assert value["data"] == {"text/plain": ["4"]}
    assert outputs("print('a')", names) == [{"name": "stdout", "output_type": "stream", "text": ["a\n"]}]
