"""Three slow-downs planted on an H200, five runs of each beside five without: found, named, and explained."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import pytest

from nsys_digest import diff, load, summarize
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.compare.threshold import Threshold
from nsys_digest.gate.checks import check_sides
from nsys_digest.gate.init_policy import starter_policy
from nsys_digest.gate.policy import load_policy, parse_policy
from nsys_digest.gate.verdict import CheckResult
from nsys_digest.report.check import check_report, explanation
from nsys_digest.report.diff import diff_report
from nsys_digest.report.figure_words import figure_words
from nsys_digest.report.shell_words import spelled
from support import ROOT, call

GATE = ROOT / "fixtures" / "gate"
PLANTED = ("kernel", "eager", "sync")
FOUND = {
    "kernel": {
        "categories.gemm.sum_s",
        "gpu_busy_union_s",
        "gpu_activity_span_s",
        "idle.devices.0.causes.module_call.sum_s",
    },
    "eager": {
        "idle.devices.0.causes.host.sum_s",
        "idle.devices.0.causes.queued.sum_s",
        "idle.devices.0.causes.launch_call.sum_s",
        "gpu_idle_within_span_s",
        "gpu_activity_span_s",
        "api.cudaGraphLaunch_v10000.count",
    },
    "sync": {"api.cudaDeviceSynchronize_v3020.count"},
}


@pytest.fixture(scope="module")
def runs() -> dict[str, list[Run]]:
    return {
        name: [Run(path.name, load(path)) for path in sorted(GATE.glob(f"{name}_*.json"))]
        for name in ("base", *PLANTED)
    }


def checked(head: list[Run], base: list[Run]) -> CheckResult:
    return check_sides(RunSet(tuple(head)), RunSet(tuple(base)), load_policy(None))


def failed(result: CheckResult) -> list[str]:
    return [outcome.figure for outcome in result.worst_first() if outcome.verdict == "fail"]


def test_the_runs_say_nothing_of_the_machine() -> None:
    paths = sorted(GATE.glob("*.json"))
    assert len(paths) == 20
    for path in paths:
        text = path.read_text(encoding="utf-8")
        assert text.count('"uuid":"00000000-0000-4000-8000-000000000001"') == text.count('"uuid"')
        assert f'"file":"{path.stem}.sqlite"' in text
        for word in ("/home", "/root", "/tmp", "/usr", "/opt"):
            assert word not in text


def splits(of: list[Run], confidence: float) -> list[CheckResult]:
    """Check a program against itself: its five runs dealt out two against three, in all 20 ways."""
    policy = load_policy(None)
    policy = replace(policy, noise=replace(policy.noise, confidence=confidence))
    found = []
    for chosen in combinations(range(5), 2):
        two = RunSet(tuple(of[at] for at in chosen))
        three = RunSet(tuple(run for at, run in enumerate(of) if at not in chosen))
        found += [check_sides(two, three, policy), check_sides(three, two, policy)]
    return found


@pytest.mark.slow
def test_without_a_change_the_test_is_as_seldom_wrong_as_configured(runs: dict[str, list[Run]]) -> None:
    """At 90 % two runs against three are tested: at most one in ten ways to deal may fail; at 95 % they are too few."""
    tested, compared = 0, 0
    for of in runs.values():
        found = splits(of, 0.9)
        assert all(result.noise.known for result in found)
        for way in (found[::2], found[1::2]):
            assert sum(result.verdict == "fail" for result in way) <= 1
        tested += sum(result.verdict == "fail" for result in found)
        untested = splits(of, 0.95)
        assert not any(result.noise.known for result in untested)
        compared += sum(result.verdict == "fail" for result in untested)
        counts = [outcome for result in untested for outcome in result.outcomes if outcome.unit == "count"]
        assert {outcome.verdict for outcome in counts} <= {"pass", "skipped"}
    assert (tested, compared) == (7, 23)


@pytest.mark.parametrize(("planted", "sure"), [("kernel", 70), ("eager", 100), ("sync", 100)])
@pytest.mark.slow
def test_three_runs_a_side(planted: str, sure: int, runs: dict[str, list[Run]]) -> None:
    """Of the hundred ways to take three of five on each side all find it, and in so many it is more than noise."""
    three = list(combinations(range(5), 3))
    found = [
        checked([runs[planted][at] for at in head], [runs["base"][at] for at in base])
        for head, base in product(three, three)
    ]
    assert [result.verdict for result in found] == ["fail"] * 100
    failures = [[outcome for outcome in result.outcomes if outcome.verdict == "fail"] for result in found]
    assert sum(not all(outcome.inconclusive for outcome in outcomes) for outcomes in failures) == sure


@pytest.mark.parametrize("planted", PLANTED)
def test_what_was_planted_is_found_and_named(planted: str, runs: dict[str, list[Run]]) -> None:
    result = checked(runs[planted], runs["base"])
    assert result.verdict == "fail"
    assert set(failed(result)) == FOUND[planted]
    costs = [abs(each.change or 0.0) * (each.unit == "s") for each in result.worst_first() if each.verdict == "fail"]
    assert costs == sorted(costs, reverse=True)


@pytest.mark.parametrize(
    ("planted", "first"), [("kernel", "categories.gemm.sum_s"), ("eager", "idle.devices.0.causes.host.sum_s")]
)
def test_the_cause_comes_first_after_the_sums_that_it_is_part_of(
    planted: str, first: str, runs: dict[str, list[Run]]
) -> None:
    assert next(name for name in failed(checked(runs[planted], runs["base"])) if not name.startswith("gpu_")) == first


@pytest.mark.parametrize("planted", PLANTED)
def test_the_command_ends_with_status_5(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    heads, bases = sorted(GATE.glob(f"{planted}_*.json")), sorted(GATE.glob("base_*.json"))
    ran = call("check", *heads, "--baseline", *bases, "-f", "text")
    assert ran.status == 5
    assert all(name in ran.out for name in FOUND[planted])
    assert "5 runs against 5; exact permutation test" in " ".join(ran.out.split())


def test_one_run_a_side_says_that_noise_is_not_excluded(runs: dict[str, list[Run]]) -> None:
    result = checked(runs["sync"][:1], runs["base"][:1])
    assert not result.noise.known
    assert result.noise.text.startswith("not excluded: 1 run against 1")
    # the count is told by one run; the slow run of BASE hides nothing of it
    assert "api.cudaDeviceSynchronize_v3020.count" in failed(result)


def test_a_synchronise_is_found_by_count_and_not_by_time(runs: dict[str, list[Run]]) -> None:
    result = checked(runs["sync"], runs["base"])
    (found,) = [outcome for outcome in result.outcomes if outcome.verdict == "fail"]
    assert (found.base, found.head, found.change, found.change_ratio) == (0, 28, 28, None)
    assert (found.base_runs, found.head_runs) == ((0.0,) * 5, (28,) * 5)
    times = [outcome for outcome in result.outcomes if outcome.unit == "s"]
    assert len(times) > 15
    assert {outcome.verdict for outcome in times} == {"pass"}


def test_the_same_number_of_calls_is_no_change() -> None:
    text = "[[rule]]\nfigure = 'api.\"*Synchronize*\".count'\nmax_change = ['5%', 2]\nabsent = 'zero'\n"
    policy, base = parse_policy(text, "p.toml"), load(GATE / "base_1.json")
    for extra, expected in ((2, "pass"), (3, "fail")):
        whole = base.to_dict()
        whole["api"]["cudaStreamSynchronize_v3020"] = [extra, 1e-6]
        head = RunSet((Run("head", type(base).from_dict(whole)),))
        assert check_sides(head, RunSet((Run("base", base),)), policy).verdict == expected


@pytest.mark.parametrize("planted", PLANTED)
def test_a_policy_made_from_the_base_finds_it_too(planted: str, runs: dict[str, list[Run]]) -> None:
    made = parse_policy(starter_policy(RunSet(tuple(runs["base"]))), "made.toml")
    base, head = RunSet(tuple(runs["base"])), RunSet(tuple(runs[planted]))
    assert check_sides(base, base, made).verdict == "pass"
    found = {outcome.figure for outcome in check_sides(head, base, made).outcomes if outcome.verdict == "fail"}
    assert found & FOUND[planted]


@pytest.mark.parametrize(
    ("planted", "term", "said"),
    [
        ("kernel", "kernels gemm", "gemm kernels +18.48 ms"),
        ("eager", "idle host", "cudaGraphLaunch_v10000 vanished (50 calls)"),
        ("sync", "idle host", "cudaDeviceSynchronize_v3020 appeared (28 calls)"),
    ],
)
def test_the_comparison_names_the_cause_and_adds_up(
    planted: str, term: str, said: str, runs: dict[str, list[Run]]
) -> None:
    found = diff(RunSet(tuple(runs["base"])), RunSet(tuple(runs[planted])))
    assert found.span is not None
    assert found.span.terms[0].name == term
    spans = {name: sorted(run.digest.gpu_activity_span_ns or 0 for run in runs[name])[2] for name in ("base", planted)}
    assert sum(term.change_ns for term in found.span.terms) == spans[planted] - spans["base"]
    assert any(said in paragraph for paragraph in diff_report(found, 5, Threshold()).lead)


def test_what_moved_is_spelled_short(runs: dict[str, list[Run]]) -> None:
    result = checked(runs["sync"], runs["base"])
    assert explanation(result) == "nsys-digest diff --base base_{1,2,3,4,5}.json --head sync_{1,2,3,4,5}.json"
    facts = dict(check_report(result, 0).facts)
    assert facts["HEAD"] == "5 runs: sync_{1,2,3,4,5}.json"


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a.json"], "a.json"),
        (["r/b_1.json", "r/b_2.json"], "r/b_{1,2}.json"),
        (["r/b_1.json", "r/b_12.json", "r/b_2.json"], "r/b_{1,12,2}.json"),
        (["b", "ba"], "b{,a}"),
        (["1/base.sqlite", "2/base.sqlite"], "{1,2}/base.sqlite"),
        (["a", "b"], "a b"),
        (["x_1", "x_1"], "x_1 x_1"),
        (["a b_1", "a b_2"], "'a b_1' 'a b_2'"),
        (["x,1", "x,2"], "x,1 x,2"),
        (["x{1", "x{2"], "'x{1' 'x{2'"),
    ],
)
def test_names_are_spelled_as_a_shell_takes_them(names: list[str], expected: str) -> None:
    assert spelled(names) == expected


def test_words_for_figures() -> None:
    assert figure_words("idle.devices.0.causes.host.sum_s") == "GPU 0 idle in host code"
    assert figure_words("categories.gemm.sum_s") == "gemm kernels"
    assert figure_words("api.cudaDeviceSynchronize_v3020.count") == "calls of cudaDeviceSynchronize_v3020"
    assert figure_words("nvtx.step.union_s") == ""
    for outcome in check_sides(*(RunSet((Run("r", load(GATE / "base_1.json")),)),) * 2, load_policy(None)).outcomes:
        assert figure_words(outcome.figure), outcome.figure


def test_both_sides_of_a_comparison_take_several_files(tmp_path: Path) -> None:
    bases, heads = sorted(GATE.glob("base_*.json")), sorted(GATE.glob("sync_*.json"))
    written = [tmp_path / f"{name}.json" for name in ("short", "long", "turned")]
    repeated = [word for path in bases for word in ("--base", path)]
    assert call("diff", "--base", *bases, "--head", *heads, "-o", written[0]).status == 0
    assert call("diff", *repeated, *heads, "-o", written[1]).status == 0
    assert call("diff", "--head", *heads, "-o", written[2], "--base", *bases).status == 0
    assert len({path.read_bytes() for path in written}) == 1


def lists(**options: int) -> RunSet:
    return RunSet((Run("run", summarize(ROOT / "fixtures" / "traces" / "serve.sqlite", **options)),))


@pytest.mark.parametrize("kind", ["forbid", "require"])
def test_a_name_among_those_that_were_not_kept_apart_is_unknown(kind: str) -> None:
    policy = parse_policy(f'version = 1\n[[{kind}]]\nnvtx = "PLE_wait_for_GPU"\n', "policy.toml")
    (outcome,) = check_sides(lists(max_nvtx_names=2), None, policy).outcomes
    assert outcome.verdict == "missing"
    assert "--max-names" in outcome.reason
    (outcome,) = check_sides(lists(), None, policy).outcomes
    assert outcome.verdict == ("fail" if kind == "forbid" else "pass")


def test_a_kernel_behind_the_end_of_the_list_is_unknown_and_not_zero() -> None:
    text = 'version = 1\n[[rule]]\nfigure = "top_kernels.*.total_s"\nmax_change = "5%"\nabsent = "zero"\n'
    policy = parse_policy(text, "policy.toml")
    result = check_sides(lists(top=3), lists(top=20), policy)
    verdicts = [outcome.verdict for outcome in result.outcomes]
    assert (verdicts.count("pass"), verdicts.count("missing"), len(verdicts)) == (3, 17, 20)
