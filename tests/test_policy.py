"""Policies: what each key means, what is refused, and the policies that the program writes itself."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from digests import TRACES, document, placed
from nsys_digest.api import summarize
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.compare.whole import KEYS
from nsys_digest.errors import PolicyInvalid
from nsys_digest.gate.checks import check_sides
from nsys_digest.gate.init_policy import starter_policy
from nsys_digest.gate.policy import (
    _RULE_KEYS,
    BUILT_IN,
    SECTIONS,
    Policy,
    built_in_text,
    load_policy,
    parse_policy,
)
from nsys_digest.gate.policy_mistakes import _HEADLINE
from nsys_digest.model.digest import Digest
from nsys_digest.model.figures import known_paths
from nsys_digest.model.quantity import amount, share, shown, shown_allowance, shown_change, shown_limit, shown_share
from nsys_digest.model.warning_codes import CODES
from support import ROOT


def rule(text: str) -> Policy:
    return parse_policy(f"[[rule]]\n{text}", "p.toml")


def refused(text: str) -> str:
    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text, "p.toml")
    assert str(caught.value).startswith("p.toml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        ("50us", "s", 50e-6),
        ("+50µs", "s", 50e-6),
        ("1.5 ms", "s", 1.5e-3),
        ("3ns", "s", 3e-9),
        ("2e3ms", "s", 2.0),
        ("1min", "s", 60.0),
        (0, "s", 0.0),
        ("0", "bytes", 0.0),
        ("95%", "ratio", 0.95),
        (0.02, "ratio", 0.02),
        (10, "count", 10.0),
        ("10", "count", 10.0),
        ("2MB", "bytes", 2e6),
        ("3GB/s", "gbps", 3.0),
    ],
)
def test_amounts(value: object, unit: str, expected: float) -> None:
    assert amount(value, unit) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        ("50us", "count"),
        ("5%", "s"),
        ("5 apples", "s"),
        ("-5us", "s"),
        (-1, "count"),
        (True, "count"),
        (float("nan"), "s"),
        (float("inf"), "s"),
        ("1e999", "s"),
        ("1e300s", "s"),
        ("1e14min", "s"),
        (10**400, "count"),
        ("9" * 5000, "count"),
        (0.5, "s"),
        ("0.5", "bytes"),
        (3, "gbps"),
        ("", "s"),
        ([], "s"),
        ("MB", "bytes"),
    ],
)
def test_what_is_no_amount(value: object, unit: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        amount(value, unit)


def test_amounts_for_people() -> None:
    assert shown(0.0015, "s") == "1.500 ms"
    assert shown_limit(0.0015, "s") == "1.5 ms"
    assert shown_limit(100, "count") == "100"
    assert shown_limit(0.5, "ratio") == "50 %"
    assert shown_change(2, "count") == "+2"
    assert shown_change(-0.0015, "s") == "-1.500 ms"
    assert shown(1014.3, "gbps") == "1,014 GB/s"
    assert shown(0.00001234, "gbps") == "0.0000123 GB/s"
    assert (shown(52.34, "gbps"), shown(99.96, "gbps"), shown(100, "gbps")) == ("52.3 GB/s", "100 GB/s", "100 GB/s")
    assert shown_limit(100, "gbps") == "100 GB/s"
    assert (shown_change(-0.034, "ratio"), shown_allowance(0.01, "ratio")) == ("-3.4 pp", "1 pp")
    assert shown_share(0.0512) == "+5.1 %"
    assert shown_share(-0.0004) == shown_share(0.0004) == "0.0 %"
    assert shown_share(None) == shown(None, "s") == "-"
    assert share("5 %") == pytest.approx(0.05)


def test_both_kinds_of_allowance() -> None:
    found = rule('figure = "gpu_activity_span_s"\nmax_change = ["5%", "50us"]').rules[0]
    assert (found.relative, found.absolute) == (pytest.approx(0.05), pytest.approx(50e-6))
    only = rule('figure = "gpu_activity_span_s"\nmax_change = "+50us"').rules[0]
    assert (only.relative, only.absolute) == (None, pytest.approx(50e-6))
    assert rule('figure = "kernel_count"\nmax_change = 0').rules[0].absolute == 0


@pytest.mark.parametrize(
    ("figure", "bad"),
    [
        ("gpu_activity_span_s", "up"),
        ("devices.*.busy_ratio", "down"),
        ("steps.busy_ratio.p50", "down"),
        ("memory.copies.*.gbps.p50", "down"),
        ("dispatch_steps.*.padding_ratio", "up"),
    ],
)
def test_which_way_is_bad_when_nothing_is_said(figure: str, bad: str) -> None:
    assert rule(f"figure = '{figure}'\nmax_change = '5%'").rules[0].bad == bad


def test_rules_know_their_line() -> None:
    found = parse_policy(
        '# a comment\n[[rule]]\nfigure = "kernel_count"\nmax = 1\n\n[[forbid]]\nwarnings = "open-ranges"\n'
        '  [[ rule ]]  # two\nfigure = "kernel_count"\nmin = 1\n',
        "p.toml",
    )
    assert [(entry.number, entry.line) for entry in found.rules] == [(1, 2), (2, 8)]
    assert [(entry.number, entry.line) for entry in found.presences] == [(1, 6)]


def test_a_line_that_is_not_sure_is_not_told() -> None:
    text = 'rule = [{figure = "kernel_count", max = 1}]'
    assert parse_policy(text, "p.toml").rules[0].line is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no rule"),
        ("rule = 1", "[[rule]]"),
        ("[[rule]]", "rule 1 (line 1)"),
        ("[[rule]\n", "cannot be read as TOML"),
        ("[rule]\n", "[[rule]]"),
        ("version = 2\n", "version 2"),
        ("[rules]\n", "did you mean rule?"),
        ('[[rule]]\nfigure = "gpu_activity_span"\nmax = 1', "did you mean gpu_activity_span_s"),
        ("[[rule]]\nfigure = 'nvtx.step.unions_s'\nmax = 1", "nvtx.*.union_s"),
        ("[[rule]]\nfigure = 'nvtx.step'\nmax = 1", "go on with one of: count"),
        ("[[rule]]\nfigure = 'nvtx.my step.count'\nmax = 1", "quote the name"),
        ("[[rule]]\nfigure = 'nvtx.step.*'\nmax = 1", "several units"),
        ('[[rule]]\nfigure = "kernel_count"', "allows everything"),
        ('[[rule]]\nfigure = "kernel_count"\nmax_change = "50us"', "a count"),
        ('[[rule]]\nfigure = "kernel_count"\nmax_change = ["5%", "6%"]', "two of a kind"),
        ('[[rule]]\nfigure = "kernel_count"\nmax_change = []', "two of a kind"),
        ('[[rule]]\nfigure = "kernel_count"\nmax_chnge = "5%"', "did you mean max_change?"),
        ('[[rule]]\nfigure = "kernel_count"\nmax = 1\nbad = "sideways"', "choose from up, down, either"),
        ('[[rule]]\nfigure = "kernel_count"\nmax = 1\nabsent = "maybe"', "error, skip, zero"),
        ('[[rule]]\nfigure = "kernel_count"\nmax = 1\nwhy = 3', "as text"),
        ("[[require]]\n", "names 0 things"),
        ('[[require]]\nnvtx = "a"\napi = "b"', "names 2 things"),
        ('[[require]]\nnvtx = ""', "give a name"),
        ('[[require]]\nkernels = "a"', "did you mean kernel?"),
        ("[noise]\nconfidence = 95\n", "from 0.5 to 0.999"),
        ("[noise]\nconfidence = true\n", "from 0.5"),
        ("[noise]\nmin_effect = 0.02\n", "no share"),
        ("[noise]\nmin_repeats = 0\n", "1 or more"),
        ("noise = 3\n", "[noise]"),
        ('[[forbid]]\nwarnings = "truncated-captures"', "did you mean truncated-capture?"),
        ('[[require]]\nwarnings = "truncated-captures"', "did you mean truncated-capture?"),
        ('[[forbid]]\nwarnings = "truncatd-*"', "did you mean truncated-capture?"),
        ('[[forbid]]\nwarnings = "zzz"', "the codes are truncated-capture, range-captured"),
        ('[[rule]]\nfigure = "gpu_activity_span_s"\nmax_change = "5"', "write '5s', '5ms' or '5%'"),
        ('[[rule]]\nfigure = "gpu_activity_span_s"\nmax_change = ["5%", "0.05"]', "'0.05s', '0.05ms' or '0.05%'"),
        ('[[rule]]\nfigure = "gpu_activity_span_s"\nmax = "5"', "write '5s' or '5ms'"),
        (
            '[[rule]]\nfigure = "gpu_activity_span_s"\nmax_change = 10',
            "max_change: 10 has no unit; write '10s', '10ms' or",
        ),
        (
            '[[rule]]\nfigure = "gpu_activity_span_s"\nmax_change = "5%"\nfloor = 0.5',
            "floor: 0.5 has no unit; write '0.5s'",
        ),
        ("[[rule]]\nfigure = 'memory.copies.*.bytes'\nmax = 100", "max: 100 has no unit; write '100B' or '100MB'"),
        ("[[rule]]\nfigure = 'memory.copies.*.gbps.p50'\nmin = '5'", "write '5GB/s' or '5MB/s'"),
        ('[[rule]]\nfigure = "devices.*.busy_ratio"\nmin = 50', "ratios are 0 to 1; write 0.5 or '50%'"),
        ('[[rule]]\nfigure = "devices.*.busy_ratio"\nmin = "150%"', "ratios are 0 to 1; a half is 0.5 or '50%'"),
        ('[[rule]]\nfigure = "devices.*.busy_ratio"\nmax = 1.01', "ratios are 0 to 1"),
        ('[[rule]]\nfigure = "devices.*.busy_ratio"\nmax_change = 5', "0.05 for 5 points, or '5%' for that share"),
        ('[[rule]]\nfigure = "gpu_busy_ratio"\nmin = 0.5', "did you mean devices.*.busy_ratio?"),
        ('[[rule]]\nfigure = "kernel_sum_s"\nmax = 1', "did you mean categories.*.sum_s?"),
        ('[[rule]]\nfigure = "api_total_s"\nmax = 1', "did you mean api.*.total_s?"),
        ('[[rule]]\nfigure = "api_count"\nmax = 1', "did you mean api.*.count?"),
        ('[[rule]]\nfigure = "exposed_communication_s"\nmax = 1', "did you mean communication.*.exposed_s?"),
        ('[[rule]]\nfigure = "dispatch_count"\nmax = 1', "did you mean dispatch.*?"),
        ("rule = [[[[[[" * 300, "cannot be read as TOML"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    assert said in refused(text)


def test_figures_of_a_comparison_lead_to_figures_of_a_digest() -> None:
    assert set(_HEADLINE) == set(KEYS) - set(known_paths())
    for path in _HEADLINE.values():
        assert rule(f"figure = '{path}'\nmax_change = '5%'").rules[0].figure.text == path


def test_amounts_and_codes_that_are_right_are_taken() -> None:
    assert rule('figure = "kernel_count"\nmax_change = "5"').rules[0].absolute == 5
    assert rule('figure = "gpu_activity_span_s"\nmax_change = 0').rules[0].absolute == 0
    assert rule('figure = "devices.*.busy_ratio"\nmin = "50%"\nmax = 1').rules[0].least == 0.5
    for code in (*CODES, "truncated-*", "*-schema"):
        assert parse_policy(f'[[forbid]]\nwarnings = "{code}"', "p.toml").presences[0].text == code


def test_a_policy_that_cannot_be_read(tmp_path: Path) -> None:
    for content, said in ((None, "cannot be read"), (b"\xff\xfe", "not UTF-8")):
        path = tmp_path / "p.toml"
        if content is not None:
            path.write_bytes(content)
        with pytest.raises(PolicyInvalid, match=said):
            load_policy(path)
    with pytest.raises(PolicyInvalid, match="cannot be read"):
        load_policy(tmp_path)


def test_the_built_in_policy() -> None:
    built_in = load_policy(None)
    assert built_in.source == BUILT_IN
    assert tomllib.loads(built_in_text())["version"] == 1
    assert all(entry.compares for entry in built_in.rules)
    assert f"```toml\n{built_in_text()}```" in (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("trace", sorted(TRACES.glob("*.sqlite")), ids=lambda path: path.stem)
def test_a_run_passes_the_policy_made_from_it(trace: Path) -> None:
    run = Run(trace.name, summarize(trace))
    made = parse_policy(starter_policy(RunSet((run,))), "made.toml")
    result = check_sides(RunSet((run,)), RunSet((run,)), made)
    assert result.verdict == "pass", [outcome.reason for outcome in result.outcomes if outcome.verdict != "pass"]
    assert {outcome.verdict for outcome in result.outcomes} == {"pass"}
    named = [rule.number for rule in made.rules if rule.figure.literal]
    assert [outcome.rule for outcome in result.outcomes if outcome.rule in named and outcome.kind == "change"] == named


@pytest.mark.parametrize("trace", ["rank_0", "serve"])
def test_the_budgets_in_its_comments_hold_for_the_run_too(trace: str) -> None:
    run = Run(trace, summarize(TRACES / f"{trace}.sqlite"))
    budgets = starter_policy(RunSet((run,))).replace("# max =", "max =").replace("# min =", "min =")
    result = check_sides(RunSet((run,)), RunSet((run,)), parse_policy(budgets, "made.toml"))
    assert {outcome.kind for outcome in result.outcomes} == {"change", "max", "min", "require", "forbid"}
    assert {outcome.verdict for outcome in result.outcomes} == {"pass"}


def test_a_policy_made_from_hostile_names() -> None:
    names = ["a.b", "it's", 'say "hi"', "x*?", "back\\slash", "\x1b[31m\n[[rule]]", "\ud800x", "'''", "#", "\u2028"]
    for name in names:
        whole = placed(document("serve"), {("file",): f"{name}.sqlite"})
        biggest = max(whole["nvtx"], key=lambda key: whole["nvtx"][key]["union_s"])
        whole["nvtx"][name] = whole["nvtx"].pop(biggest)
        run = Run("hostile", Digest.from_dict(whole))
        text = starter_policy(RunSet((run,)))
        assert all(line.isprintable() for line in text.splitlines()), name
        made = parse_policy(text, "made.toml")
        assert any(entry.figure.segments[1].literal == name for entry in made.rules if len(entry.figure.segments) > 1)
        assert {outcome.verdict for outcome in check_sides(RunSet((run,)), RunSet((run,)), made).outcomes} == {"pass"}


def test_every_key_of_a_policy_is_told() -> None:
    told = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    for key in (*_RULE_KEYS, *SECTIONS, "confidence", "min_effect", "min_repeats", "[[require]]", "[[forbid]]"):
        assert f"`{key}`" in told, key


def test_the_policy_shown_first_is_one() -> None:
    told = (ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
    shown = told.partition("```toml\n")[2].partition("```")[0]
    assert len(parse_policy(shown, "docs").rules) == 2
