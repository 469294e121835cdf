"""More repeats never let a regression pass, and whatever reads a check reads the same verdict."""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from digests import document, placed, spans, stored
from nsys_digest import load
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.gate.checks import check_sides
from nsys_digest.gate.decisions import decide
from nsys_digest.gate.init_policy import starter_policy
from nsys_digest.gate.policy import Noise, load_policy, parse_policy
from nsys_digest.gate.significance import Direction, Samples, advised_runs, judge
from nsys_digest.gate.verdict import Outcome
from support import ROOT, call

GATE = ROOT / "fixtures" / "gate"
PLANTED = ("kernel", "eager", "sync")
SPAN = ("gpu_activity_span_s",)
RULE = '[[rule]]\nfigure = "gpu_activity_span_s"\nmax_change = "5%"\n'


def verdicts(figures: Sequence[Samples], noise: Noise | None = None) -> list[str]:
    blank = Outcome("change", "pass", 1, None, "figure", "s", "+5 %", "", base=1.0, head=2.0, change=1.0)
    decided, _ = decide([(blank, samples) for samples in figures], noise or Noise())
    return [outcome.verdict for outcome in decided]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bad", ["up", "down", "either"])
def test_a_plain_slow_down_fails_with_any_number_of_runs(seed: int, bad: Direction) -> None:
    """1 to 7 runs on either side, added one by one; 1 % of noise, 5 % allowed, 30 % slower, beside noisier figures."""
    random = np.random.default_rng(seed)
    moved = {"up": 1.3, "down": 0.7, "either": random.choice([0.7, 1.3])}[bad]
    base, head = 1 + 0.01 * random.uniform(-1, 1, 7), moved + 0.01 * random.uniform(-1, 1, 7)
    beside = 1 + 0.2 * random.standard_normal((int(random.integers(0, 12)), 14))
    for before, after in itertools.product(range(1, 8), repeat=2):
        planted = Samples(tuple(base[:before]), tuple(head[:after]), bad, 0.05, 0.0, 0.0)
        others = [
            Samples(tuple(row[:before]), tuple(row[7 : 7 + after]), ("up", "either")[at % 2], 0.05, 0.0, 0.0)
            for at, row in enumerate(beside)
        ]
        assert verdicts([planted, *others])[0] == "fail", (before, after, len(others))
        assert verdicts([*others, planted])[-1] == "fail", (before, after, len(others))


@pytest.mark.slow
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("planted", PLANTED)
def test_a_real_slow_down_fails_with_any_number_of_runs(planted: str, backwards: bool) -> None:
    sides = [[Run(path.name, load(path)) for path in sorted(GATE.glob(f"{name}_*"))] for name in ("base", planted)]
    base, head = (runs[::-1] if backwards else runs for runs in sides)
    for before, after in itertools.product(range(1, 6), repeat=2):
        result = check_sides(RunSet(tuple(head[:after])), RunSet(tuple(base[:before])), load_policy(None))
        assert result.verdict == "fail", (before, after)


@pytest.mark.slow
def test_the_command_fails_with_one_to_five_runs(tmp_path: Path) -> None:
    for runs in range(1, 6):
        heads, bases = ([GATE / f"{name}_{at}.json" for at in range(1, runs + 1)] for name in ("kernel", "base"))
        assert call("check", *heads, "-b", *bases, "-o", tmp_path / "check.json").status == 5, runs


def plain_reach(figures: Sequence[Samples]) -> float:
    """Return the share of arrangements in which the runs of a figure are apart, and beyond what is allowed."""
    runs, head_runs = len(figures[0].base) + len(figures[0].head), len(figures[0].head)
    found = 0
    for chosen in itertools.combinations(range(runs), head_runs):
        apart = False
        for figure in figures:
            values = [*figure.base, *figure.head]
            head, base = (
                [value for at, value in enumerate(values) if (at in chosen) == side] for side in (True, False)
            )
            change = statistics.median(after - before for after in head for before in base)
            if change > figure.relative * abs(statistics.median(base)):
                apart |= min(head) > max(base)
        found += apart
    return found / math.comb(runs, head_runs)


@pytest.mark.parametrize(("base_runs", "head_runs"), [(2, 3), (3, 3), (4, 2), (4, 4)])
def test_the_reach_is_counted_over_all_arrangements(base_runs: int, head_runs: int) -> None:
    random = np.random.default_rng(base_runs * 10 + head_runs)
    rows = 1 + 0.1 * random.standard_normal((4, base_runs + head_runs))
    rows[0, base_runs:] += 1
    figures = [Samples(tuple(row[:base_runs]), tuple(row[base_runs:]), "up", 0.05, 0.0, 0.0) for row in rows]
    (reach,) = {result.p_reach for result in judge(figures, 0.95) if result.exceeds}
    within = [figure for figure, result in zip(figures, judge(figures, 0.95), strict=True) if not result.exceeds]
    plain = plain_reach(figures)
    # the real arrangement of a figure that is within what is allowed counts for nothing, and is none of these
    assert reach == pytest.approx(plain), within


def test_a_change_that_is_noise_fails_while_the_runs_cannot_show_it() -> None:
    # one run a side is compared; of five the sides overlap, and 5 against 5 could have shown a change
    head, base = [1.3, 1.0, 1.1, 1.2, 1.4], [0.9, 1.3, 1.0, 1.1, 1.2]
    policy = parse_policy(RULE, "p.toml")
    found = [check_sides(spans(head[:n], "h"), spans(base[:n], "b"), policy).outcomes[0] for n in (1, 5)]
    assert [(one.verdict, one.inconclusive) for one in found] == [("fail", True), ("noise", False)]


@pytest.mark.parametrize(("before", "after", "tested"), [(1, 3, False), (3, 1, False), (2, 3, False), (20, 1, True)])
def test_unequal_sides(before: int, after: int, tested: bool) -> None:
    base, head = (
        spans([1 + at / 1000 for at in range(before)], "b"),
        spans([1.2 + at / 1000 for at in range(after)], "h"),
    )
    result = check_sides(head, base, parse_policy(RULE, "p.toml"))
    assert (result.verdict, result.noise.known, result.outcomes[0].inconclusive) == ("fail", tested, not tested)


def test_budgets_and_small_changes_know_no_noise() -> None:
    budget = parse_policy(RULE.replace('max_change = "5%"', 'max = "1100ms"'), "p.toml")
    small = parse_policy(RULE.replace('"5%"', '"1ms"'), "p.toml")
    for runs in range(1, 6):
        head, base = spans([1.2] * runs, "h"), spans([1.0] * runs, "b")
        over = check_sides(head, base, budget).outcomes[0]
        assert (over.verdict, over.inconclusive) == ("fail", False)
        near = spans([1.01 + at / 10_000 for at in range(runs)], "h")  # 1 % more: less than min_effect
        assert check_sides(near, base, small).verdict == "pass"


def test_more_noisy_figures_need_more_runs() -> None:
    """Thirty figures that are apart in an arrangement of their own each: 30 of 252, and 30 of 924."""
    ways = [chosen for chosen in itertools.combinations(range(10), 5) if chosen != (5, 6, 7, 8, 9)][:30]
    noisy = [
        Samples(
            tuple(1.0 + (at in way) for at in range(5)), tuple(1.0 + (at in way) for at in range(5, 10)), "up", 0, 0, 0
        )
        for way in ways
    ]
    planted = Samples((1.0,) * 5, (2.0,) * 5, "up", 0.0, 0.0, 0.0)
    blank = Outcome("change", "pass", 1, None, "figure", "s", "+5 %", "", base=1.0, head=2.0, change=1.0)
    decided, needed = decide([(blank, samples) for samples in (planted, *noisy)], Noise())
    assert (decided[0].verdict, decided[0].inconclusive, needed) == ("fail", True, 6)
    assert "noise is not excluded, which takes 6 runs a side" in decided[0].reason


@pytest.mark.parametrize(
    ("mode", "status", "verdict", "element", "level"),
    [
        ("fail", 5, "fail", "failure", "error"),
        ("status4", 4, "missing", "error", "error"),
        ("pass", 0, "noise", None, "warning"),
    ],
)
def test_every_reader_sees_the_same(
    mode: str, status: int, verdict: str, element: str | None, level: str, tmp_path: Path
) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text(f'[noise]\ninconclusive = "{mode}"\n{RULE}', encoding="utf-8")
    base, head = (
        stored(tmp_path, f"{name}.json", placed(document("serve"), {SPAN: value}))
        for name, value in (("base", 1.0), ("head", 1.2))
    )
    files = {name: tmp_path / f"out.{name}" for name in ("json", "junit", "sarif", "markdown")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    ran = call("check", head, "-b", base, "-p", policy, *options, "--github", "-f", "text", "-o", tmp_path / "out.txt")
    assert ran.status == status
    whole = json.loads(files["json"].read_text())
    assert (whole["verdict"], whole["passed"], whole["outcomes"][0]["inconclusive"]) == (verdict, status == 0, True)
    (case,) = ET.parse(files["junit"]).getroot().iter("testcase")
    assert [child.tag for child in case] == ([element] if element else [])
    (result,) = json.loads(files["sarif"].read_text())["runs"][0]["results"]
    assert result["level"] == level
    (annotated,) = [line for line in ran.err.splitlines() if line.startswith("::")]
    assert annotated.startswith(f"::{level} ")
    texts = [
        result["message"]["text"],
        annotated,
        whole["outcomes"][0]["reason"],
        *(child.text or "" for child in case),
    ]
    assert all("noise is not excluded, which takes 5 runs a side" in text for text in texts)
    title = (tmp_path / "out.txt").read_text().splitlines()[0]
    assert "1 run against 1 is too few to exclude noise: record 5 runs a side" in title
    if mode == "status4":
        assert ran.err.endswith(" [missing-data]\n")


def test_the_advice_is_one_number_everywhere() -> None:
    assert [advised_runs(confidence) for confidence in (0.5, 0.9, 0.95, 0.99, 0.999)] == [5, 5, 5, 5, 7]
    made = starter_policy(RunSet((Run("base", load(GATE / "base_1.json")),)))
    result = check_sides(spans([1.2], "h"), spans([1.0], "b"), parse_policy(RULE, "p.toml"))
    pages = "\n".join((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in ("ci", "policy"))
    texts = (made, result.noise.text, result.outcomes[0].reason, " ".join(pages.split()))
    advice = re.compile(r"(\d+) runs a side|fewer than (\d+) noise")
    for text in texts:
        assert {number for found in advice.findall(text) for number in found if number} == {"5"}


def test_what_is_refused() -> None:
    for text, said in (
        ('inconclusive = "green"', "choose from fail, status4, pass"),
        ("confidence = 0.9999", "to 0.999"),
    ):
        with pytest.raises(Exception, match=said):
            parse_policy(f"[noise]\n{text}\n{RULE}", "p.toml")
