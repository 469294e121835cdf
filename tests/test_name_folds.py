"""Names that fold: the ids of XLA, rules of the user, each text once, and what a comparison makes of them."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from builder import TraceBuilder
from nsys_digest import diff, summarize
from nsys_digest.errors import CapturesMismatch, UsageInvalid
from nsys_digest.model.digest import Digest
from nsys_digest.trace import arrow_texts
from nsys_digest.trace.collect import name_folds
from nsys_digest.trace.collect.name_folds import FoldOnce, NameFolds, fold_name
from nsys_digest.trace.source import Reader
from support import call


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Thunk:#hlo_op=fusion.1,program_id=12,unique_hlo_op_id=34#", "Thunk:#hlo_op=fusion.1#"),
        ("Thunk:#program_id=12,hlo_op=fusion.1#", "Thunk:#hlo_op=fusion.1#"),
        ("Thunk:#name=jit(f)/mul,hlo_op=mul.2,unique_hlo_op_id=-3#", "Thunk:#name=jit(f)/mul,hlo_op=mul.2#"),
        ("XlaModule:#hlo_module=jit_f,program_id=7#", "XlaModule:#hlo_module=jit_f#"),
        ("XlaModule:#program_id=7#", "XlaModule:"),
        ("#program_id=7#", ""),
        ("Thunk:#program_id=7,a=#,unique_hlo_op_id=1#", "Thunk:#a=##"),
        ("Thunk:#hlo_op=fusion.1#", "Thunk:#hlo_op=fusion.1#"),
        ("Thunk:#program_id=7", "Thunk:#program_id=7"),
        ("program_id=7#", "program_id=7#"),
        ("Thunk:#my_program_id=7#", "Thunk:#my_program_id=7#"),
        ("Thunk:#program_id=7b#", "Thunk:#program_id=7b#"),
        ("Thunk:#program_id=\u0665#", "Thunk:#program_id=\u0665#"),
        ("#", "#"),
        ("##", "##"),
        ("", ""),
    ],
)
def test_ids_of_xla(text: str, folded: str) -> None:
    assert fold_name(text) == folded


def jax_like() -> TraceBuilder:
    """Draw six runs of two operators of one program, half of the names registered, in domain TSL.

    op dot.1   ███   ███   ███        each 3 ns, every 10, from 0: a name of its own each time
    op mul.2      ██    ██    ██      each 2 ns, from 3
    """
    trace = TraceBuilder().domain(1, "TSL")
    for run in range(6):
        for op, start, length in (("dot.1", 0, 3), ("mul.2", 3, 2)):
            text = f"Thunk:#hlo_op={op},program_id={run},unique_hlo_op_id={run * 7}#"
            trace.range(text, 10 * run + start, 10 * run + start + length, domain=1, registered=run % 2 == 0)
    return trace


@pytest.mark.parametrize("reader", ["adbc", "stdlib"])
@pytest.mark.parametrize("many", [0, 256])
def test_xla_names_are_one_by_default(
    many: int, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_texts, "_MANY_TEXTS", many)
    path = jax_like().write(tmp_path / "t.sqlite")
    found = {name: (ranges.count, ranges.sum_ns) for name, ranges in summarize(path, reader=reader).nvtx.items()}
    assert found == {"TSL:Thunk:#hlo_op=dot.1#": (6, 18), "TSL:Thunk:#hlo_op=mul.2#": (6, 12)}
    raw = summarize(path, reader=reader, raw_nvtx_names=True).nvtx
    assert len(raw) == 12
    assert "TSL:Thunk:#hlo_op=dot.1,program_id=5,unique_hlo_op_id=35#" in raw


def names_of(trace: TraceBuilder, folder: Path, *rules: str, reader: Reader = "auto", raw: bool = False) -> list[str]:
    digest = summarize(trace.write(folder / "t.sqlite"), folds=rules, reader=reader, raw_nvtx_names=raw)
    assert digest.capture.folds == rules
    assert Digest.from_json(digest.to_json()) == digest
    return list(digest.nvtx)


@pytest.mark.parametrize("reader", ["adbc", "stdlib"])
def test_numbers(reader: Reader, tmp_path: Path) -> None:
    trace = TraceBuilder().domain(1, "lib2")
    trace.range("step 1", 0, 1).range("step 23", 2, 3, registered=True).range("r1.v2, seq = 5", 4, 5)
    trace.range("step 4", 6, 7, domain=1).range("\u0663 eggs", 8, 9)
    # the name of a domain is no name of a range, and digits are those of ASCII
    assert names_of(trace, tmp_path, "numbers", reader=reader) == [
        "step #",
        "r#.v#",
        "lib2:step #",
        "\u0663 eggs",
    ]
    assert "r#.v#, seq = #" in names_of(trace, tmp_path, "numbers", reader=reader, raw=True)


def test_rules_apply_in_order(tmp_path: Path) -> None:
    trace = TraceBuilder().range("request-ab12 of user 7", 0, 1).range("request-c3 of user 8", 2, 3)
    assert names_of(trace, tmp_path, r"request-[a-z0-9]+=>request", "numbers") == ["request of user #"]
    assert names_of(trace, tmp_path, "numbers", r"request-[a-z#]+=>request") == ["request of user #"]
    assert names_of(trace, tmp_path, r"^(\w+)-.* (\d)$=>\2 \1", "7=>8") == ["8 request"]
    assert names_of(trace, tmp_path, " of user .*=>") == ["request-ab12", "request-c3"]
    assert names_of(trace, tmp_path, ".+=>") == [""]


def test_dispatch_marks_are_data_that_no_rule_changes(tmp_path: Path) -> None:
    trace = TraceBuilder().mark("CG_DISPATCH:actual=3,mode=FULL,padded=4", 0).range("CG_DISPATCH:actual=5", 1, 2)
    digest = summarize(trace.range("r1", 3, 4).write(tmp_path / "t.sqlite"), folds=["numbers", "CG_.*=>x"])
    assert list(digest.dispatch) == ["CG_DISPATCH:actual=3,mode=FULL,padded=4", "CG_DISPATCH:actual=5"]
    assert list(digest.nvtx) == ["CG_DISPATCH:actual=5", "r#"]


def test_folded_names_are_what_the_limit_counts(tmp_path: Path) -> None:
    trace = TraceBuilder()
    for index in range(40):
        trace.range(f"request {index}", 10 * index, 10 * index + 5, registered=index % 2 == 0).range(
            "a", index, index + 1
        )
    path = trace.write(tmp_path / "t.sqlite")
    assert list(summarize(path, folds=["numbers"], max_nvtx_names=2, sections=[]).nvtx) == ["a", "request #"]
    assert "(other)" in summarize(path, max_nvtx_names=2, sections=[]).nvtx
    few = summarize(path, folds=["[13579]$=>odd"], max_nvtx_names=3, sections=[])
    assert few.nvtx["(other)"].count + sum(few.nvtx[name].count for name in few.nvtx if name != "(other)") == 80


def test_a_text_is_folded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    folds = NameFolds(["numbers"])
    plain = folds.fold
    monkeypatch.setattr(folds, "fold", lambda texts: seen.extend(texts) or plain(texts))
    once = FoldOnce(folds, "CG", raw=False)
    for _ in range(50):
        assert once.fold(["a1", "b2", "a1"]) == ["a#", "b#", "a#"]
    assert seen == ["a1", "b2"]
    monkeypatch.setattr(name_folds, "_REMEMBERED", 2)
    assert once.fold(["c3", "a1", "d4"]) == ["c#", "a#", "d#"]


def test_rules_mean_what_pythons_patterns_mean_where_both_know_them() -> None:
    rng = random.Random(5)
    for pattern in ("[0-9]+", "a|ab", "(?i)x", r"\bstep\b", "a{2,3}", "[^a-z ]", "é+"):
        texts = ["".join(rng.choice("aábX0 19é_stepx") for _ in range(rng.randint(0, 30))) for _ in range(200)]
        ascii_only = re.compile(pattern, re.ASCII)
        assert NameFolds([f"{pattern}=>-"]).fold(texts) == [ascii_only.sub("-", text) for text in texts]


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(a*)*b|c", ".*.*.*.*[=]$", "(.*a){12}b"])
def test_no_pattern_takes_more_than_linear_time(pattern: str) -> None:
    began = time.process_time()
    NameFolds([f"{pattern}=>x"]).fold(["a" * 100_000 + "!"])
    assert time.process_time() - began < 20  # what goes back over the name would take longer than the world is old


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("digits", "there is no fold 'digits'; give numbers, or REGEX=>TEXT"),
        ("=>x", "there is no fold '=>x'"),
        ("", "there is no fold ''"),
        ("(=>x", "is wrong: Invalid regular expression: missing )"),
        (r"(a)\1=>x", "is wrong: Invalid regular expression"),
        ("a(?=b)=>x", "is wrong: Invalid regular expression"),
        (r"a=>\2", "is wrong: Invalid replacement string"),
        ("(a{1000}){1000}=>x", "is wrong"),
        ("\udcff=>x", "is wrong"),
        ("a*=>x", "matches the empty text"),
    ],
)
def test_a_bad_rule_is_one_line_and_status_2(rule: str, said: str, tmp_path: Path) -> None:
    path = jax_like().write(tmp_path / "t.sqlite")
    for command in ("summarize", "check"):
        ran = call(command, path, "--fold", "numbers", "--fold", rule)
        assert (ran.status, ran.out, ran.err.count("\n")) == (2, "", 1)
        assert said in ran.err
        assert ran.err.endswith("[usage-invalid]\n")
    with pytest.raises(UsageInvalid):
        summarize(path, folds=[rule])


def test_rules_are_a_list_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(UsageInvalid, match="folds is the text 'numbers'; give a list of rules"):
        summarize(tmp_path / "t.sqlite", folds="numbers")


def test_digests_with_other_folds_are_not_compared(tmp_path: Path) -> None:
    path = jax_like().kernel(0, 5).write(tmp_path / "t.sqlite")
    plain, folded = summarize(path), summarize(path, folds=["numbers"])
    with pytest.raises(CapturesMismatch, match=r"folds of range names: none in BASE .*, 'numbers' in HEAD"):
        diff(plain, folded)
    diff(plain, folded, allow_mismatch=["window-or-filters"])
    assert "range names folded by  numbers" in call("summarize", path, "--fold", "numbers", "--format", "text").out
    ran = call("diff", path, path, "--fold", "numbers", "--format", "json")
    assert ran.status == 0, ran.err
