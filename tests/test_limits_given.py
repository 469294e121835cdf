"""Limits on the command line, policies from several runs, and what a check prints in CI."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from digests import document, placed
from nsys_digest.cli.output import CI_VARIABLES
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.errors import PolicyInvalid
from nsys_digest.gate.checks import check_sides
from nsys_digest.gate.init_policy import starter_policy
from nsys_digest.gate.policy import load_policy, parse_policy, with_limits
from nsys_digest.model.digest import Digest
from support import ROOT, call, the_line

SERVE = ROOT / "fixtures" / "golden" / "serve.json"


def run(name: str, *, busy_s: float = 1.0, span_s: float = 4.0) -> Run:
    return Run(name, Digest.from_dict(changed({("gpu_busy_union_s",): busy_s, ("gpu_activity_span_s",): span_s})))


def changed(values: dict[Any, Any]) -> Any:
    whole = placed(document("serve"), values)
    whole["gpu_idle_within_span_s"] = whole["gpu_activity_span_s"] - whole["gpu_busy_union_s"]
    return whole


def side(*runs: Run) -> RunSet:
    return RunSet(runs)


def test_limits_without_a_policy_are_all_that_is_checked() -> None:
    policy = with_limits(None, [("max", "gpu_busy_union_s=1.5s"), ("min", "kernel_count=3")])
    result = check_sides(side(run("a")), None, policy)
    assert [(each.kind, each.figure, each.verdict) for each in result.outcomes] == [
        ("max", "gpu_busy_union_s", "pass"),
        ("min", "kernel_count", "pass"),
    ]


def test_limits_beside_a_policy_are_added() -> None:
    policy = parse_policy("[[rule]]\nfigure = 'kernel_count'\nmax = 1\n", "p.toml")
    rules = with_limits(policy, [("max", 'nvtx."a=b".union_s=2ms')]).rules
    assert [(rule.number, rule.figure.text, rule.most) for rule in rules] == [
        (1, "kernel_count", 1),
        (2, 'nvtx."a=b".union_s', 0.002),
    ]


@pytest.mark.parametrize(
    ("head_s", "text", "verdict"),
    [
        (1.04, "5%", "pass"),
        (1.06, "5%", "fail"),
        (1.06, "5%,100ms", "pass"),
        (1.2, "5%,100ms", "fail"),
        (1.2, "300ms", "pass"),
    ],
)
def test_a_change_may_be_a_share_an_amount_or_both(head_s: float, text: str, verdict: str) -> None:
    policy = with_limits(None, [("max_change", f"gpu_busy_union_s={text}")])
    result = check_sides(side(run("b", busy_s=head_s)), side(run("a")), policy)
    assert result.verdict == verdict


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("max", "kernel_count", "--max kernel_count: this is no FIGURE=AMOUNT; such as --max gpu_idle"),
        ("max", "=3", "--max =3: this is no FIGURE=AMOUNT"),
        ("max_change", "kernel_count=", "--max-change kernel_count=: this is no FIGURE=AMOUNT"),
        ("max", "gpu_busy=1s", "--max gpu_busy=1s: there is no figure gpu_busy in a digest; did you mean"),
        ("min", "gpu_busy_union_s=1", "--min gpu_busy_union_s=1: min: 1 has no unit"),
        ("max_change", "kernel_count=5%,6%", "--max-change kernel_count=5%,6%: max_change has two of a kind"),
    ],
)
def test_a_limit_that_makes_no_sense(key: str, text: str, said: str) -> None:
    with pytest.raises(PolicyInvalid) as caught:
        with_limits(load_policy(None), [(key, text)])
    assert str(caught.value).startswith(said)


def test_limits_on_the_command_line() -> None:
    ran = call("check", SERVE, "--max", "kernel_count=1", "--min", "gpu_busy_union_s=1ns", "--format", "json")
    assert ran.status == 5
    outcomes = json.loads(ran.out)["outcomes"]
    count = json.loads(SERVE.read_text())["kernel_count"]
    assert [(each["kind"], each["verdict"], each["excess"]) for each in outcomes] == [
        ("max", "fail", count - 1),
        ("min", "pass", None),
    ]
    line = the_line(call("check", SERVE, "--init", "--max", "kernel_count=1"), 2, "usage-invalid")
    assert line == "--init makes a policy from HEAD alone; leave --baseline, --policy and limits away"


def test_failures_stand_in_the_order_of_the_time_that_they_cost() -> None:
    # Past their limits: busy by 1 s - 0.9 s = 0.1 s, idle by 3 s - 1 s = 2 s, the count by far, which is no time.
    limits = [("max", "kernel_count=1"), ("max", "gpu_busy_union_s=0.9s"), ("max", "gpu_idle_within_span_s=1s")]
    result = check_sides(side(run("a")), None, with_limits(None, limits))
    assert [(each.figure, each.excess) for each in result.worst_first()][:2] == [
        ("gpu_idle_within_span_s", 2.0),
        ("gpu_busy_union_s", 0.1),
    ]


def test_a_policy_from_several_runs_allows_twice_their_spread() -> None:
    # Busy 1.00, 1.02 and 1.05 s: 0.05 s apart, over the median 4.902 %, so 9.804 % and, as a whole number, 10 %.
    # The span is the same in all three: 2 %. The budget is the most of all and a tenth: 1.05 s * 1.1 = 1.155 s.
    three = side(run("a"), run("b", busy_s=1.02), run("c", busy_s=1.05))
    text = starter_policy(three)
    assert "# It allows twice what the 3 runs spread." in text
    assert (
        "figure = 'gpu_busy_union_s'   # now 1.020 s, up to 4.9 % apart\n"
        'max_change = ["10%", "1ms"]\nbad = "up"\n# max = "1155ms"\n'
    ) in text
    assert 'figure = \'gpu_activity_span_s\'   # now 4.000 s in each run\nmax_change = ["2%", "1ms"]\n' in text
    made = parse_policy(text, "made.toml")
    for one in three.runs:
        for other in three.runs:
            assert check_sides(side(one), side(other), made).verdict == "pass"


def test_names_that_one_run_lacks_get_no_rule() -> None:
    whole = changed({})
    gone = max(filter(None, whole["nvtx"]), key=lambda name: whole["nvtx"][name]["union_s"])
    lacks = {**whole, "nvtx": {name: each for name, each in whole["nvtx"].items() if name != gone}}
    both = side(Run("a", Digest.from_dict(whole)), Run("b", Digest.from_dict(lacks)))
    assert gone in starter_policy(side(both.runs[0]))
    assert gone not in starter_policy(both)


def test_kernel_names_get_rules_only_where_there_are_no_ranges() -> None:
    whole = changed({})
    assert "kernel_durations" not in starter_policy(side(Run("a", Digest.from_dict(whole))))
    bare = Digest.from_dict({**whole, "nvtx": {}})
    assert "kernel_durations" in starter_policy(side(Run("a", bare)))


@pytest.mark.parametrize("name", CI_VARIABLES)
def test_a_check_prints_text_in_ci(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    words = ("check", SERVE, "--max", "kernel_count=1000000")
    assert call(*words).out.startswith("{")
    monkeypatch.setenv(name, "true")
    assert call(*words).out.startswith("Check passed\n")
    assert call(*words, "--format", "json").out.startswith("{")
    assert call("summarize", ROOT / "fixtures" / "traces" / "serve.sqlite", "-q").out.startswith("{")
    call(*words, "-o", tmp_path / "check.json")
    assert (tmp_path / "check.json").read_text().startswith("{")
    monkeypatch.setenv(name, "false")
    assert call(*words).out.startswith("{")
