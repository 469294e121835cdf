"""The log of a distillation step: its lines to the letter, both of its forms read back, and what is no log."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsys_digest.workloads.errors import LogInvalid
from nsys_digest.workloads.phases import forms
from nsys_digest.workloads.phases.reader import parse_document, parse_lines, read_log
from nsys_digest.workloads.phases.records import (
    BackwardOperator,
    BackwardProfile,
    Config,
    ModelConfig,
    PhaseLog,
    PhaseSummary,
    RunSummary,
    StepSummary,
    TimingSummary,
    WarmupSummary,
    phase_summaries,
)

SHARED = Path(__file__).parents[2] / "shared" / "seeds" / "opd_step.log"
LINES = """\
config backend=cuda model_dir=/models/Qwen3-0.6B prompt=[1, 872, 198, 3456] rollout_len=8 lr=0.00005 grad_clip=1 \
perturb_scale=0.001
model config hidden=1024 intermediate=3072 layers=28 vocab=151936 num_heads=16 num_kv_heads=8 head_dim=128 \
tie_word_embeddings=true rope_theta=1000000 teacher_param_elements=596049920 student_model_elements=596049920 \
student_trainable_elements=596049920 teacher_load_seconds=7.000001 student_load_seconds=0.500000
run_summary steps=1 seed=0 dtype=float32 attention=eager kv_cache=false device=NVIDIA\\x20H200 torch=2.11.0+cu130 \
transformers=5.17.0
warmup_summary loss=1.788745430531e-5 seconds=1.794070
step_summary loss=1.250000000000e0 rollout_len=12 total_step_seconds=0.000010
phase_summary rank=1 phase=backward seconds=0.000006 pct_total=60.000
phase_summary rank=2 phase=unattributed seconds=0.000003 pct_total=30.000
phase_summary rank=3 phase=grad_clip seconds=0.000001 pct_total=10.000
timing_summary phase_timing=sync clock_reads=6 idle_cost_seconds=0.000002 control_step_seconds=0.000012 \
cost_seconds=-0.000002 backward_profile=separate_step
backward_profile_summary total_seconds=0.000010 op_seconds=0.000005 merge_grad_seconds=0.000002 \
prelude_seconds=0.000001 unattributed_seconds=0.000002
backward_op_summary rank=1 op=MatmulBT count=197 seconds=0.000005 pct_backward=50.000 pct_total=35.714"""
LOG = PhaseLog(
    config=Config("cuda", "/models/Qwen3-0.6B", (1, 872, 198, 3456), 8, 5e-5, 1.0, 0.001),
    model=ModelConfig(
        1024, 3072, 28, 151936, 16, 8, 128, True, 1e6, 596049920, 596049920, 596049920, 7_000_001_000, 500_000_000
    ),
    run=RunSummary(1, 0, "float32", "eager", False, "NVIDIA H200", "2.11.0+cu130", "5.17.0"),
    warmup=WarmupSummary(1.788745430531e-5, 1_794_070_000),
    steps=(StepSummary(1.25, 12, 10_000),),
    phases=phase_summaries({"grad_clip": 1_000, "backward": 6_000}, 10_000),
    timing=TimingSummary("sync", 6, 2_000, 12_000, -2_000, "separate_step"),
    backward=BackwardProfile(10_000, 5_000, 2_000, 1_000, 2_000),
    operators=(BackwardOperator(1, "MatmulBT", 197, 5_000, 50.0, 35.714),),
)


def test_lines_to_the_letter() -> None:
    assert "\n".join(LOG.to_lines()) == LINES


def test_lines_read_back() -> None:
    assert parse_lines(LINES, "log") == LOG


def test_document_reads_back() -> None:
    assert parse_document(LOG.to_json(), "log") == LOG
    document = json.loads(LOG.to_json())
    assert document["phase_summary"][0] == {"rank": 1, "phase": "backward", "seconds": 6e-06, "pct_total": 60.0}
    assert document["model_config"]["tie_word_embeddings"] is True


def test_a_document_keeps_every_nanosecond_and_lines_keep_microseconds() -> None:
    fine = replace(LOG, steps=(StepSummary(1.25, 12, 123_456_789),))
    assert parse_document(fine.to_json(), "log") == fine
    assert parse_lines("\n".join(fine.to_lines()), "log").steps[0].total_step_ns == 123_457_000


def test_parts_that_are_not_there() -> None:
    bare = PhaseLog(steps=LOG.steps, phases=LOG.phases, timing=TimingSummary("none", 2, 1_000))
    assert parse_document(bare.to_json(), "log") == bare
    assert parse_lines("\n".join(bare.to_lines()), "log") == bare


def test_ranks_go_by_time_then_by_name_and_all_add_up() -> None:
    found = phase_summaries({"b": 5, "a": 5, "late": 0, "long": 80}, 100)
    assert [(each.rank, each.phase, each.ns) for each in found] == [
        (1, "long", 80),
        (2, "unattributed", 10),
        (3, "a", 5),
        (4, "b", 5),
        (5, "late", 0),
    ]
    assert [each.pct_total for each in found] == [80, 10, 5, 5, 0]


def test_lines_of_other_kinds_and_unknown_keys_are_passed_over() -> None:
    text = (
        "    Finished `release` profile\n"
        "host_mirror_control enabled=false\n"
        "step_summary loss=1e-5 rollout_len=12 total_step_seconds=0.25 colour=blue\n"
        "phase_summary rank=1 phase=backward seconds=0.125 pct_total=50.000\n"
    )
    log = parse_lines(text, "log")
    assert log.steps == (StepSummary(1e-5, 12, 250_000_000),)
    assert log.phases == (PhaseSummary(1, "backward", 125_000_000, 50.0),)


@pytest.mark.skipif(not SHARED.is_file(), reason="the log of another program is not here")
def test_the_log_of_another_program_with_these_lines() -> None:
    log = read_log(SHARED)
    assert (len(log.phases), len(log.operators)) == (16, 15)
    assert log.total_ns == 209_275_000
    assert log.model is not None
    assert log.model.student_trainable_elements == 596049920
    assert log.operators[0] == BackwardOperator(1, "MatmulBT", 197, 11_760_000, 43.221, 5.619)
    kinds = ("config", "warmup_summary", "step_summary", "phase_summary", "backward_")
    given_lines = [line for line in SHARED.read_text("utf-8").splitlines() if line.startswith(kinds)]
    written = [line for line in log.to_lines() if line.startswith(kinds)]
    assert written == given_lines


@pytest.mark.slow
@given(st.text())
def test_any_text_goes_through_a_line(text: str) -> None:
    written = forms.TEXT.write(text)
    assert written.isprintable()
    assert not set(written) & set(" =")
    assert forms.TEXT.read(written) == text


@given(st.integers(min_value=-(10**17), max_value=10**17))
def test_any_time_goes_through_a_document(ns: int) -> None:
    read = forms.SECONDS.from_json(json.loads(json.dumps(forms.SECONDS.to_json(ns))))
    # a double holds every nanosecond below 26 days, as everywhere
    assert read == ns or abs(ns) >= 2**51


@pytest.mark.parametrize(
    ("value", "text"),
    [(5e-05, "0.00005"), (1.0, "1"), (1e6, "1000000"), (0.001, "0.001"), (100.0, "100"), (0.0, "0")],
)
def test_numbers_without_an_exponent(value: float, text: str) -> None:
    assert forms.PLAIN.write(value) == text
    assert forms.PLAIN.read(text) == value


STEP = "step_summary loss=1e-5 rollout_len=12 total_step_seconds=0.25\n"
PHASE = "phase_summary rank=1 phase=backward seconds=0.125 pct_total=50.000\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no step_summary in it"),
        (STEP, "there is no phase_summary in it"),
        (PHASE, "there is no step_summary in it"),
        (STEP + PHASE + PHASE, "phase backward is there 2 times"),
        (STEP + PHASE.replace("seconds=0.125 ", ""), "line 2: phase_summary has no seconds"),
        (STEP + PHASE.replace("0.125", "nan"), "line 2: seconds cannot be read ('nan' is no number of seconds)"),
        (STEP + PHASE.replace("0.125", "1e999999999"), "line 2: seconds cannot be read"),
        (STEP.replace("12", "many") + PHASE, "line 1: rollout_len cannot be read ('many' is no whole number)"),
        (STEP + PHASE + 2 * "warmup_summary loss=1e-5 seconds=1.0\n", "there are 2 of warmup_summary"),
        ("{", "this is no JSON document"),
        ("[" * 100_000, "there is no step_summary in it"),
        ('{"a":' * 100_000, "this is no JSON document"),
        ('{"file": "trace.sqlite"}', "this JSON document is no log of version 1"),
        ('{"log": "opd", "version": 2}', "this JSON document is no log of version 1"),
        ('{"log": "opd", "version": 1}', "there is no step_summary in it"),
        ('{"log": "opd", "version": 1, "step_summary": [3]}', "step_summary: this is no object"),
        (
            '{"log": "opd", "version": 1, "step_summary": [{"loss": NaN}]}',
            "step_summary: loss cannot be read (nan is no number)",
        ),
        (
            '{"log": "opd", "version": 1, "step_summary": [{"loss": 1, "rollout_len": true}]}',
            "step_summary: rollout_len cannot be read (True is no int)",
        ),
        (
            '{"log": "opd", "version": 1, "phase_summary": [{"rank": 1, "phase": "a", "seconds": "1"}]}',
            "phase_summary: seconds cannot be read ('1' is no number of seconds)",
        ),
    ],
)
def test_what_is_no_log_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "step.log"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(LogInvalid) as caught:
        read_log(file)
    assert said in str(caught.value)
    assert str(caught.value).startswith(f"{file}: ")
    assert "\n" not in str(caught.value)


def test_files_that_are_no_text(tmp_path: Path) -> None:
    file = tmp_path / "trace.sqlite"
    file.write_bytes(b"SQLite format 3\0\xff\xfe")
    with pytest.raises(LogInvalid, match="this is no text"):
        read_log(file)
    with pytest.raises(LogInvalid, match="cannot be read"):
        read_log(tmp_path)
    with pytest.raises(LogInvalid, match="No such file"):
        read_log(tmp_path / "none.log")
