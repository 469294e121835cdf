"""Checks: what passes, what fails, what has no answer; each by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import nsys_digest
from digests import TRACES, document, one, placed, spans, stored
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.errors import CapturesMismatch, MissingData, UsageInvalid
from nsys_digest.gate.checks import check_sides
from nsys_digest.gate.policy import parse_policy
from nsys_digest.gate.verdict import CheckResult, Outcome
from nsys_digest.model.paths import path_text
from nsys_digest.render import markdown, text
from nsys_digest.report.check import check_report
from support import call, the_line
from valid import validate

SPAN = ("gpu_activity_span_s",)
EXACT = '[noise]\nmin_effect = "0%"\n'


def span_rule(text: str) -> str:
    return f'{EXACT}[[rule]]\nfigure = "gpu_activity_span_s"\n{text}\n'


def check(head: RunSet, base: RunSet | None, policy: str, **options: Any) -> CheckResult:
    result = check_sides(head, base, parse_policy(policy, "p.toml"), **options)
    validate(json.loads(result.to_json()), "check")
    return result


def verdict(base: float, head: float, rule: str) -> str:
    (outcome,) = check(one({SPAN: head}), one({SPAN: base}), span_rule(rule)).outcomes
    return outcome.verdict


@pytest.mark.parametrize(
    ("base", "head", "rule", "expected"),
    [
        (1.0, 1.05, 'max_change = "5%"', "pass"),  # equal to what is allowed is allowed
        (1.0, 1.050001, 'max_change = "5%"', "fail"),
        (0.1, 0.105, 'max_change = "5%"', "pass"),
        (1.0, 1.04, 'max_change = "5%"', "pass"),
        (1.0, 0.5, 'max_change = "5%"', "pass"),
        (1.0, 0.5, 'max_change = "5%"\nbad = "down"', "fail"),
        (1.0, 0.96, 'max_change = "5%"\nbad = "down"', "pass"),
        (1.0, 0.5, 'max_change = "5%"\nbad = "either"', "fail"),
        (1.0, 1.5, 'max_change = "5%"\nbad = "either"', "fail"),
        (1.0, 1.1, 'max_change = ["5%", "200ms"]', "pass"),  # more than one allowance, not than both
        (1.0, 1.3, 'max_change = ["5%", "200ms"]', "fail"),
        (10.0, 10.3, 'max_change = ["5%", "200ms"]', "pass"),
        (1.0, 1.2, 'max_change = "200ms"', "pass"),
        (1.0, 1.2000001, 'max_change = "200ms"', "fail"),
        (1e-6, 9e-6, 'max_change = "5%"\nfloor = "10us"', "pass"),  # nothing below the floor counts
        (1e-6, 11e-6, 'max_change = "5%"\nfloor = "10us"', "fail"),
        (11e-6, 1e-6, 'max_change = "5%"\nfloor = "10us"\nbad = "down"', "fail"),
        (0.0, 1e-9, 'max_change = "5%"', "fail"),  # from nothing, any change is more than a share
        (0.0, 0.0, 'max_change = "0%"', "pass"),
        (1.0, 1.0, 'max_change = "0%"', "pass"),
        (1.0, 1.000000002, 'max_change = "0%"', "fail"),
    ],
)
def test_one_run_against_one(base: float, head: float, rule: str, expected: str) -> None:
    assert verdict(base, head, rule) == expected


def test_the_smallest_effect_that_counts() -> None:
    policy = '[noise]\nmin_effect = "2%"\n[[rule]]\nfigure = "gpu_activity_span_s"\nmax_change = "10ms"\n'
    assert check(one({SPAN: 1.015}), one({SPAN: 1.0}), policy).verdict == "pass"
    assert check(one({SPAN: 1.025}), one({SPAN: 1.0}), policy).verdict == "fail"
    assert check(one({SPAN: 1.015}), one({SPAN: 1.0}), policy + 'min_effect = "1%"\n').verdict == "fail"


@pytest.mark.parametrize("allowed", ["0", '"0%"', '["0%", 0]'])
@pytest.mark.parametrize(
    ("bad", "head", "said"),
    [
        ("up", 1001, "changed by +1 (+0.1 %) from 1,000 to 1,001, none is allowed"),
        ("up", 1000, "is 1,000, as before"),
        ("up", 999, ""),
        ("down", 999, "changed by -1 (-0.1 %) from 1,000 to 999, none is allowed"),
        ("either", 999, "none is allowed"),
    ],
)
def test_no_change_allowed_means_none(allowed: str, bad: str, head: int, said: str) -> None:
    policy = f'[[rule]]\nfigure = "kernel_count"\nmax_change = {allowed}\nbad = "{bad}"\n'
    result = check(one({("kernel_count",): head}), one({("kernel_count",): 1000}), policy)
    (outcome,) = result.outcomes
    assert outcome.verdict == ("fail" if head > 1000 or (bad != "up" and head < 1000) else "pass")
    assert outcome.allowed == "none"
    assert said in outcome.reason
    # one more still passes where the rule itself names a smallest change, or allows a share
    for other in (policy + 'min_effect = "1%"', policy.replace(f"= {allowed}", '= "1%"')):
        assert check(one({("kernel_count",): head}), one({("kernel_count",): 1000}), other).verdict == "pass"


def test_the_title_says_when_runs_are_too_few() -> None:
    # a range that got shorter looks as bad as the five that got longer when the sides are turned round: 2 of 20 ways
    ranges = "[[rule]]\nfigure = 'nvtx.r*.union_s'\nmax_change = '5%'\n"
    mixed = ranges + "[[rule]]\nfigure = 'nvtx.down.union_s'\nmax_change = '5%'\n"

    def sides(levels: list[float], name: str) -> RunSet:
        runs: list[Run] = []
        for level in levels:
            ranges: dict[tuple[str | int, ...], Any] = {
                ("nvtx", f"r{at}"): dict(DETAIL, union_s=level) for at in range(5)
            }
            down: dict[tuple[str | int, ...], Any] = {("nvtx", "down"): dict(DETAIL, union_s=30 * (2 - level))}
            runs += one(ranges | down, name=f"{name}{level}").runs
        return RunSet(tuple(runs))

    three = sides([1.50, 1.51, 1.52], "h"), sides([1.00, 1.01, 1.02], "b")
    result = check(*three, mixed)
    assert [outcome.p_adjusted for outcome in result.outcomes[:5]] == [pytest.approx(0.1)] * 5
    assert [outcome.verdict for outcome in result.outcomes] == ["fail"] * 5 + ["pass"]
    few = "3 runs against 3 are too few to exclude noise: record 5 runs a side"
    assert check_report(result, 20).title == f"Check failed, but {few}"
    lenient = check(*three, f"[noise]\ninconclusive = 'pass'\n{mixed}")
    assert lenient.passed
    assert lenient.error() is None
    said = f"Check passed, but 5 figures are worse than allowed and {few}"
    report = check_report(lenient, 20)
    assert report.title == said
    assert f"## {said}\n" in markdown.render(report)
    assert said in " ".join(text.render(report, width=80, color=False).split())
    # two ways of the 252 are 0.008
    more = check(sides([1.50, 1.51, 1.52, 1.53, 1.54], "h"), sides([1.00, 1.01, 1.02, 1.03, 1.04], "b"), mixed)
    assert check_report(more, 20).title == "Check failed"


def test_the_title_says_what_may_be_noise() -> None:
    noisy = check(spans([1.0, 1.1, 1.2, 1.3, 1.4]), spans([0.9, 1.0, 1.1, 1.2, 1.3]), span_rule('max_change = "5%"'))
    assert check_report(noisy, 20).title == "Check passed, but 1 figure is worse than allowed, which may be noise"
    calm = check(spans(FAST, "h"), spans([1.0, 1.01, 1.02], "b"), span_rule('max_change = "5%"'))
    assert check_report(calm, 20).title == "Check passed"


def test_nobody_is_asked_to_subtract_medians() -> None:
    # the medians are 1 and 3, and yet the median of the nine differences is 1
    base, head = [0.5, 1.0, 3.0], [1.5, 3.0, 4.0]
    differences = sorted(after - before for after in head for before in base)
    assert (differences[4], 3.0 - 1.0) == (1.0, 2.0)
    (outcome,) = check(spans(head, "h"), spans(base, "b"), span_rule('max_change = "5%"')).outcomes
    assert "changed by +1.000 s (+100.0 %; medians 1.000 s and 3.000 s), up to" in outcome.reason
    (single,) = check(spans(head[:1], "h"), spans(base[1:2], "b"), span_rule('max_change = "5%"')).outcomes
    assert "changed by +500.0 ms (+50.0 %) from 1.000 s to 1.500 s, up to" in single.reason


def test_changes_of_ratios_are_points() -> None:
    (at,) = (at for at, device in enumerate(document("serve")["devices"]) if device["device"] == 0)

    def busy(seconds: float) -> RunSet:
        return one({("devices", at, "span_s"): 1.0, ("devices", at, "busy_s"): seconds})

    policy = EXACT + "[[rule]]\nfigure = 'devices.0.busy_ratio'\nmax_change = 0.01\n"
    (outcome,) = check(busy(0.5), busy(0.8), policy).outcomes
    assert outcome.allowed == "-1 pp"
    assert "changed by -30.0 pp (-37.5 %) from 80.0 % to 50.0 %, up to -1 pp is allowed" in outcome.reason


@pytest.mark.parametrize(
    ("limit", "expected"),
    [('max = "1s"', "pass"), ('max = "999ms"', "fail"), ('min = "1s"', "pass"), ('min = "1001ms"', "fail")],
)
def test_budgets_need_no_baseline(limit: str, expected: str) -> None:
    result = check(one({SPAN: 1.0}), None, span_rule(limit))
    assert result.verdict == expected
    assert (result.outcomes[0].base, result.outcomes[0].head) == (None, 1.0)


def test_a_budget_holds_the_median() -> None:
    assert check(spans([1.0, 1.1, 9.0]), None, span_rule('max = "1.1s"')).verdict == "pass"
    assert check(spans([1.0, 1.2, 9.0]), None, span_rule('max = "1.1s"')).verdict == "fail"


def test_a_change_without_a_baseline_is_an_error() -> None:
    with pytest.raises(UsageInvalid, match="no baseline"):
        check(one(), None, span_rule('max_change = "5%"'))


def outcomes(head: Mapping[Any, Any], base: Mapping[Any, Any], policy: str, stem: str = "serve") -> list[Outcome]:
    return list(check(one(head, stem), one(base, stem), EXACT + policy).outcomes)


GATHER = ("nvtx", "PLE_CPU_gather")
DETAIL = document("serve")["nvtx"]["PLE_CPU_gather"]


def nvtx_rule(absent: str, figure: str = 'nvtx."PLE_*".union_s') -> str:
    return f"[[rule]]\nfigure = '{figure}'\nmax_change = '5%'\nabsent = '{absent}'\n"


def test_a_glob_means_every_name() -> None:
    found = outcomes({(*GATHER, "union_s"): 9.0}, {}, nvtx_rule("error"))
    names = [name for name in document("serve")["nvtx"] if name.startswith("PLE_")]
    assert [outcome.figure for outcome in found] == [path_text(("nvtx", name, "union_s")) for name in names]
    assert [outcome.figure for outcome in found if outcome.verdict == "fail"] == ["nvtx.PLE_CPU_gather.union_s"]


@pytest.mark.parametrize(("absent", "expected"), [("error", "missing"), ("skip", "skipped"), ("zero", "pass")])
def test_a_name_that_vanished(absent: str, expected: str) -> None:
    found = {outcome.figure: outcome for outcome in outcomes({GATHER: ...}, {}, nvtx_rule(absent))}
    gone = found["nvtx.PLE_CPU_gather.union_s"]
    assert gone.verdict == expected
    assert gone.head == (0.0 if absent == "zero" else None)


@pytest.mark.parametrize(("absent", "expected"), [("error", "missing"), ("skip", "skipped"), ("zero", "fail")])
def test_a_name_that_appeared(absent: str, expected: str) -> None:
    found = {outcome.figure: outcome for outcome in outcomes({}, {GATHER: ...}, nvtx_rule(absent))}
    assert found["nvtx.PLE_CPU_gather.union_s"].verdict == expected


def test_a_name_that_only_some_repeats_have_is_missing() -> None:
    with_it, without = one().runs[0], one({GATHER: ...}).runs[0]
    result = check(
        RunSet((with_it, without)), RunSet((with_it,)), EXACT + nvtx_rule("error", "nvtx.PLE_CPU_gather.union_s")
    )
    assert result.verdict == "missing"
    assert "1 of 2 runs of HEAD" in result.outcomes[0].reason
    assert result.outcomes[0].head_runs == (DETAIL["union_s"], None)


@pytest.mark.parametrize(
    ("figure", "absent", "expected"),
    [
        ("nvtx.nothing_*.union_s", "error", "missing"),
        ("nvtx.nothing_*.union_s", "skip", "skipped"),
        ("nvtx.nothing_*.union_s", "zero", "skipped"),
        ("nvtx.nothing.union_s", "zero", "missing"),
        ("steps.wall.p50_s", "zero", "missing"),
        ("steps.wall.p50_s", "error", "missing"),
    ],
)
def test_a_rule_that_matches_nothing_is_never_a_pass(figure: str, absent: str, expected: str) -> None:
    result = check(one(), one(), EXACT + nvtx_rule(absent, figure))
    assert [outcome.verdict for outcome in result.outcomes] == [expected]
    assert result.verdict == "missing"
    assert not result.passed


def test_a_name_that_is_nearly_there_is_named() -> None:
    (outcome,) = check(one(), one(), nvtx_rule("error", "nvtx.PLE_CPU_gatherr.union_s")).outcomes
    assert "matches nothing; did you mean PLE_CPU_gather" in outcome.reason


def test_a_section_that_was_not_made_is_named() -> None:
    (outcome,) = check(one(), one(), nvtx_rule("error", "steps.wall.p50_s")).outcomes
    assert "--steps" in outcome.reason


def test_a_null_figure_is_never_a_pass() -> None:
    policy = "[[rule]]\nfigure = 'devices.*.busy_ratio'\nmax_change = '5%'\n"
    found = {outcome.figure: outcome.verdict for outcome in outcomes({}, {}, policy, "rank_0")}
    assert found == {"devices.0.busy_ratio": "pass", "devices.1.busy_ratio": "missing"}
    found = {outcome.figure: outcome.verdict for outcome in outcomes({}, {}, f"{policy}absent = 'skip'\n", "rank_0")}
    assert found == {"devices.0.busy_ratio": "pass", "devices.1.busy_ratio": "skipped"}
    null = outcomes({}, {}, f"{policy}absent = 'zero'\n", "rank_0")
    assert [outcome.verdict for outcome in null] == ["pass", "missing"]  # null is not measured, which is not zero


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ('[[require]]\nnvtx = "PLE_CPU_gather"', "pass"),
        ('[[require]]\nnvtx = "PLE_CPU_gone"', "fail"),
        ('[[require]]\nnvtx = "PLE_*"', "pass"),
        ('[[forbid]]\nnvtx = "PLE_*"', "fail"),
        ('[[require]]\nkernel = "nvjet_*"', "pass"),
        ('[[forbid]]\ncategory = "gemm"', "fail"),
        ('[[forbid]]\napi = "cudaMalloc"', "pass"),
        ('[[require]]\ndispatch = "CG_DISPATCH*mode=NONE*"', "pass"),
        ('[[forbid]]\nwarnings = "truncated-*"', "pass"),
    ],
)
def test_required_and_forbidden_names(policy: str, expected: str) -> None:
    assert check(one(), None, policy).verdict == expected


def test_a_name_must_be_in_every_run_or_in_none() -> None:
    with_it, without = one().runs[0], one({GATHER: ...}).runs[0]
    both = RunSet((with_it, without))
    required = check(both, None, '[[require]]\nnvtx = "PLE_CPU_gather"').outcomes[0]
    assert (required.verdict, "in 1 of 2 runs" in required.reason) == ("fail", True)
    assert check(both, None, '[[forbid]]\nnvtx = "PLE_CPU_gather"').verdict == "fail"


def test_a_forbidden_warning() -> None:
    warned = one({("warnings",): [{"code": "open-ranges", "message": "m"}]})
    assert check(warned, None, '[[forbid]]\nwarnings = "open-*"').verdict == "fail"


def test_names_of_a_section_that_was_not_made_have_no_answer() -> None:
    bare = one({("kernel_durations",): ...})
    assert check(bare, None, '[[forbid]]\nkernel = "x"').verdict == "missing"


SLOW = [1.10, 1.11, 1.12, 1.13, 1.14]
FAST = [1.00, 1.01, 1.02, 1.03, 1.04]


def test_repeats_are_tested() -> None:
    result = check(spans(SLOW, "h"), spans(FAST, "b"), span_rule('max_change = "5%"'))
    (outcome,) = result.outcomes
    assert outcome.verdict == "fail"
    assert (outcome.base, outcome.head, outcome.change) == (1.02, 1.12, pytest.approx(0.1))
    assert outcome.p_adjusted == pytest.approx(1 / 252)
    assert outcome.interval is not None
    assert result.noise.known
    assert "p = 0.004" in outcome.reason


def test_a_change_that_may_be_noise_does_not_fail() -> None:
    # HEAD is above BASE in 17 of 25 pairs; 12 of 252 arrangements would be needed to be sure, and these are more
    result = check(spans([1.0, 1.1, 1.2, 1.3, 1.4]), spans([0.9, 1.0, 1.1, 1.2, 1.3]), span_rule('max_change = "5%"'))
    assert result.outcomes[0].verdict == result.verdict == "noise"
    assert result.passed
    assert "may be noise" in result.outcomes[0].reason


def test_one_run_says_that_noise_is_not_excluded() -> None:
    result = check(spans(SLOW[:1]), spans(FAST), span_rule('max_change = "5%"'))
    assert (result.verdict, result.noise.known, result.noise.repeats_needed) == ("fail", False, 5)
    assert result.noise.text.startswith("not excluded: 1 run against 5 is too few")
    assert result.outcomes[0].p_value is None


def test_one_run_against_twenty_is_tested() -> None:
    many = spans([1 + number / 1000 for number in range(20)])
    found = check(spans([1.2]), many, span_rule('max_change = "5%"'))
    assert (found.verdict, found.noise.known) == ("fail", True)
    assert found.outcomes[0].p_adjusted == pytest.approx(1 / 21)


def test_too_few_repeats_are_an_error() -> None:
    with pytest.raises(MissingData, match="BASE has 2"):
        check(spans(SLOW), spans(FAST[:2]), span_rule('max_change = "5%"'), min_repeats=3)
    policy = '[noise]\nmin_repeats = 2\n[[rule]]\nfigure = "gpu_activity_span_s"\nmax = "9s"'
    with pytest.raises(MissingData, match="HEAD has 1"):
        check(one(), None, policy)


def test_a_run_given_twice_is_no_repeat() -> None:
    doubled = RunSet(spans([1.2]).runs * 3)
    result = check(doubled, RunSet(spans([1.0], "b").runs * 3), span_rule('max_change = "5%"'))
    assert (result.noise.known, len(result.head), len(result.base)) == (False, 1, 1)
    assert result.notes[0] == "run0 is the same run as run0, and counts once"
    with pytest.raises(MissingData):
        check(doubled, None, span_rule('max = "5s"'), min_repeats=3)


def test_failures_go_before_what_is_missing() -> None:
    policy = span_rule('max = "1ms"') + nvtx_rule("error", "nvtx.nothing.union_s")
    result = check(one(), one(), policy)
    assert [outcome.verdict for outcome in result.worst_first()] == ["fail", "missing"]
    assert result.verdict == "fail"


def test_gpus_are_matched_where_the_sides_used_others() -> None:
    result = check_sides(
        one(stem="rank_1"), one(stem="rank_0"), parse_policy(nvtx_rule("error", "devices.1.busy_s"), "p")
    )
    (outcome,) = result.outcomes
    assert outcome.base == document("rank_0")["devices"][0]["busy_s"]
    assert outcome.head == document("rank_1")["devices"][1]["busy_s"]
    assert "read 0 as 1, 1 as 0" in result.notes[0]


def test_mismatched_captures_are_refused_and_then_allowed() -> None:
    policy = parse_policy(span_rule('max_change = "5%"'), "p.toml")
    graph, node = one(stem="graph_graph"), one(stem="graph_node")
    with pytest.raises(CapturesMismatch, match="graph-mode"):
        check_sides(graph, node, policy)
    allowed = check_sides(graph, node, policy, allow_mismatch=["graph-mode"])
    assert [difference.code for difference in allowed.allowed_mismatches] == ["graph-mode"]
    with pytest.raises(CapturesMismatch, match="no repeats"):
        check_sides(RunSet((*graph.runs, *node.runs)), None, parse_policy(span_rule("max = '1s'"), "p"))


# The command line.


def test_a_run_against_itself_passes_and_against_a_slower_one_fails(tmp_path: Path) -> None:
    trace = TRACES / "serve.sqlite"
    assert call("check", trace, "--baseline", trace, "--format", "text").status == 0
    slower = stored(tmp_path, "slow.json", placed(document("serve"), {("categories", "gemm", "sum_s"): 1.0}))
    ran = call("check", slower, "--baseline", trace, "--format", "text")
    assert ran.status == 5
    assert ran.err.endswith("[check-failed]\n")
    assert "categories.gemm.sum_s changed by +984.6 ms (+6,398 %)" in ran.err
    assert ran.out.index("Worse than allowed") < ran.out.index("Within what is allowed")
    assert f"nsys-digest diff {trace} {slower}" in " ".join(ran.out.split())


def test_no_answer_has_its_own_status(tmp_path: Path) -> None:
    policy = tmp_path / "p.toml"
    policy.write_text("[[require]]\nnvtx = 'PLE_*'\n" + nvtx_rule("error", "nvtx.gone.union_s"), encoding="utf-8")
    trace = TRACES / "serve.sqlite"
    ran = call("check", trace, "--baseline", trace, "--policy", policy)
    assert (ran.status, ran.err.endswith("[figure-missing]\n")) == (4, True)
    assert json.loads(ran.out)["verdict"] == "missing"
    policy.write_text("[[rule]]\nfigure = 'nvtx.x.uni'\nmax = 1\n", encoding="utf-8")
    said = the_line(call("check", trace, "--baseline", trace, "--policy", policy), 2, "policy-invalid")
    assert said.startswith(f"{policy}, rule 1 (line 1): there is no figure nvtx.x.uni")
    the_line(call("check", trace, "--policy", tmp_path / "none.toml"), 2, "policy-invalid")
    the_line(call("check", trace), 2, "usage-invalid")
    graph, node = TRACES / "graph_graph.sqlite", TRACES / "graph_node.sqlite"
    the_line(call("check", graph, "--baseline", node), 4, "captures-mismatch")
    assert call("check", graph, "--baseline", node, "--allow-mismatch", "graph-mode").status == 0
    the_line(call("check", graph, "--baseline", node, "--allow-mismatch", "moon"), 2, "usage-invalid")
    the_line(call("check", trace, "--baseline", trace, "--min-repeats", "2"), 4, "missing-data")


def test_init_prints_a_policy_that_the_run_passes(tmp_path: Path) -> None:
    trace, policy = TRACES / "rank_0.sqlite", tmp_path / "policy.toml"
    assert call("check", "--init", trace, "-o", policy).status == 0
    assert call("check", trace, "--baseline", trace, "--policy", policy).status == 0
    assert call("check", "--init", trace, trace).out == policy.read_text()
    the_line(call("check", "--init", trace, "--baseline", trace), 2, "usage-invalid")


def test_baseline_takes_all_words_up_to_the_next_option(tmp_path: Path) -> None:
    files = {
        name: stored(tmp_path, f"{name}.json", placed(document("serve"), {SPAN: value}))
        for name, value in {"b1": 1.0, "b2": 1.01, "b3": 1.02, "h1": 1.0, "h2": 1.01, "h3": 1.02}.items()
    }
    heads, bases = [files["h1"], files["h2"], files["h3"]], [files["b1"], files["b2"], files["b3"]]
    ways = (
        [*heads, "--baseline", *bases, "--compact"],
        ["--compact", *heads, "-b", *bases],
        [*heads, f"--baseline={bases[0]}", "--baseline", *bases[1:], "--compact"],
        [f"--baseline={bases[0]}", f"--baseline={bases[1]}", "-b", bases[2], "--compact", *heads],
        ["--compact", "-b", *bases, "--", *heads],
    )
    found = [json.loads(call("check", *way).out) for way in ways]
    for result in found:
        assert result["head"] == [str(head) for head in heads]
        assert result["base"] == [str(base) for base in bases]
    the_line(call("check", "--baseline", *bases), 2, "usage-invalid")
    the_line(call("check", *heads, "--baseline"), 2, "usage-invalid")


@pytest.mark.parametrize("option", ["-o", "--json", "--markdown", "--junit", "--sarif"])
def test_no_output_goes_over_an_input(option: str, tmp_path: Path) -> None:
    head = stored(tmp_path, "head.json", document("serve"))
    policy = tmp_path / "p.toml"
    policy.write_text("[[rule]]\nfigure = 'kernel_count'\nmax = 9\n", encoding="utf-8")
    for target in (head, policy):
        before = target.read_bytes()
        the_line(call("check", head, "--policy", policy, option, target), 2, "usage-invalid")
        assert target.read_bytes() == before
    other = "--json" if option != "--json" else "--junit"
    twice = (other, tmp_path / "x", option, tmp_path / "x")
    the_line(call("check", head, "--policy", policy, *twice), 2, "usage-invalid")
    assert not (tmp_path / "x").exists()


def test_the_library_and_the_command_line_say_the_same(tmp_path: Path) -> None:
    head = stored(tmp_path, "head.json", placed(document("serve"), {SPAN: 9.0}))
    base = TRACES / "serve.sqlite"
    result = nsys_digest.check(head, str(base))
    ran = call("check", head, "--baseline", base)
    assert json.loads(ran.out) == result.to_dict()
    assert isinstance(result, nsys_digest.CheckResult)
    error = result.error()
    assert isinstance(error, nsys_digest.CheckFailed)
    assert f"nsys-digest: {error} [check-failed]\n" == ran.err
    digest = nsys_digest.summarize(base)
    assert nsys_digest.check(digest, [digest]).passed
    assert nsys_digest.check(digest, RunSet((Run("x", digest),))).error() is None
