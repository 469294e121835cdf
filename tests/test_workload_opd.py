"""The distillation step on the CPU: its arithmetic, its operators, its ranges, its log, checkpoints, and bad usage."""

from __future__ import annotations

import copy
import json
import math
import os
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder import TraceBuilder
from nsys_digest.errors import UsageInvalid
from nsys_digest.workloads.errors import CheckpointInvalid
from nsys_digest.workloads.phases.reader import parse_document, parse_lines, read_log
from nsys_digest.workloads.phases.records import PhaseLog
from support import Ran, call, spawn, the_line
from test_record import install

pytestmark = pytest.mark.workloads
torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("safetensors")
pytest.importorskip("nvtx")

from nsys_digest.workloads.opd.checkpoint import check_checkpoint  # noqa: E402
from nsys_digest.workloads.opd.clock import EventClock, StepTimer  # noqa: E402
from nsys_digest.workloads.opd.loss import distillation_loss  # noqa: E402
from nsys_digest.workloads.opd.model import (  # noqa: E402
    Pair,
    build,
    elements,
    load_checkpoint,
    qwen3_config,
    random_model,
)
from nsys_digest.workloads.opd.operators import MERGE_GRAD, ModuleNodes, operators_of  # noqa: E402
from nsys_digest.workloads.opd.profile import BackwardProfiler  # noqa: E402
from nsys_digest.workloads.opd.run import run  # noqa: E402
from nsys_digest.workloads.opd.settings import SIZES, Settings  # noqa: E402
from nsys_digest.workloads.opd.step import PHASES, Distillation  # noqa: E402
from nsys_digest.workloads.ranges import Marks  # noqa: E402
from nsys_digest.workloads.requirements import need_transformers  # noqa: E402

TINY = SIZES["tiny"]
CPU = torch.device("cpu")
SETTINGS = Settings(device="cpu", size=TINY, control=False, backward_profile=False)


class TickClock:
    """A clock that is one nanosecond later each time it is read."""

    def __init__(self) -> None:
        self.now_ns = 0

    def finish(self) -> None:
        """Do nothing: there is no device to wait for."""

    def stamp(self) -> int:
        """Return the next nanosecond."""
        self.now_ns += 1
        return self.now_ns

    def resolve(self, stamps: Sequence[int]) -> list[int]:
        """Return the stamps."""
        return list(stamps)


def timer(marks: Marks | None = None) -> StepTimer:
    return StepTimer(TickClock(), marks or Marks(), CPU)


def lively(settings: Settings) -> Pair:
    """Return a pair with layers that outweigh the embedding, so that the rollout is not the last token again."""
    pair = build(settings, CPU)
    with torch.no_grad():
        for model in (pair.teacher, pair.student):
            for layer in model.model.layers:
                layer.self_attn.o_proj.weight.mul_(100)
                layer.mlp.down_proj.weight.mul_(1000)
    return pair


@pytest.fixture(scope="module")
def whole() -> tuple[PhaseLog, Marks]:
    marks = Marks(keep=True)
    settings = Settings(device="cpu", size=TINY, rollout_len=3, steps=2, lr=1e-3, perturb_scale=0.3)
    return run(settings, marks), marks


def test_the_published_size_has_the_published_number_of_parameters() -> None:
    with torch.device("meta"):
        model = transformers.Qwen3ForCausalLM(qwen3_config(SIZES["0.6b"]))
    assert elements(model, trainable=True) == 596_049_920
    # by hand: embedding, 28 layers of four projections, three of the MLP, two norms and two of a head, the last norm
    layer = 1024 * 128 * (16 + 8 + 8 + 16) + 3 * 1024 * 3072 + 2 * 1024 + 2 * 128
    assert elements(model) == 151936 * 1024 + 28 * layer + 1024


def counts_of(layers: int) -> dict[str, int]:
    """Return the operators in the backward pass of a model of so many layers, from its architecture."""
    return {
        "MatmulBT": 7 * layers + 1,  # query, key, value, output, gate, up, down; and the head, tied
        "RMSNorm": 4 * layers + 1,  # before attention and MLP, of query and key heads; and the last
        "RoPE": 2 * layers,  # query and key
        "Matmul": 2 * layers,  # scores, and weights times values
        "Softmax": layers,
        "Silu": layers,
        "Transpose": 5 * layers,  # query, key, value, output, and the keys for the scores
        "AddBroadcast": 3 * layers,  # the mask; keys and values spread over the heads that share them
        "Add": 2 * layers,  # residuals
        "Mul": layers + 1,  # gate times up; probability times difference of the loss
        "MulScalar": layers + 1,  # scale of the scores; size of the vocabulary in the loss
        "Embedding": 1,
        "LogSoftmax": 1,
        "Mean": 1,
        "Sub": 1,
        MERGE_GRAD: 11 * layers + 2,  # one a parameter; the head is tied to the embedding
    }


@pytest.mark.parametrize(("layers", "kv_heads"), [(1, 2), (3, 2), (2, 4)])
def test_operators_follow_from_the_architecture(layers: int, kv_heads: int) -> None:
    model = random_model(replace(TINY, layers=layers, kv_heads=kv_heads), 0, CPU)
    modules = ModuleNodes(model)
    logits = model(input_ids=torch.tensor([[1, 2, 3]]), use_cache=False).logits
    found = operators_of(distillation_loss(logits, logits.detach()).grad_fn, modules)
    expected = counts_of(layers)
    if kv_heads == TINY.heads:  # nothing to spread
        expected["AddBroadcast"] = layers
    assert {kind: count for kind, count in found.counts.items() if kind not in {"Reshape", "Contiguous"}} == expected
    # each node has one kind, and no operator is without a node
    assert len({node for node, _ in found.kinds}) == len(found.kinds)
    assert {kind for _, kind in found.kinds} == set(found.counts)


def test_operators_with_casts_are_the_same_and_have_casts() -> None:
    model = random_model(TINY, 0, CPU).to(torch.bfloat16)
    modules = ModuleNodes(model)
    logits = model(input_ids=torch.tensor([[1, 2, 3]]), use_cache=False).logits
    found = operators_of(distillation_loss(logits, logits.detach()).grad_fn, modules).counts
    # on a CPU the softmax goes to float32 and back; the loss is in float32
    assert found.pop("Cast") == 2 * TINY.layers + 1
    assert {kind: found[kind] for kind in counts_of(TINY.layers)} == counts_of(TINY.layers)


def test_the_profile_times_every_node_once() -> None:
    model = random_model(TINY, 0, CPU)
    modules = ModuleNodes(model)
    logits = model(input_ids=torch.tensor([[1, 2, 3]]), use_cache=False).logits
    loss = distillation_loss(logits, logits.detach())
    nodes = Counter(kind for _, kind in operators_of(loss.grad_fn, modules).kinds)
    profiler = BackwardProfiler(TickClock(), modules)
    profiler(loss)
    assert profiler.profiled is not None
    found = profiler.profiled.profile
    # start, before, behind, before, behind … end: each of n nodes takes one tick, and so does each of n - 1 gaps
    count = nodes.total()
    assert (found.total_ns, found.prelude_ns, found.unattributed_ns) == (2 * count + 1, 1, count)
    assert found.merge_grad_ns == nodes.pop(MERGE_GRAD) == 24
    assert found.op_ns == nodes.total()
    assert profiler.profiled.ns_by_kind == dict(nodes)
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_a_profiled_backward_has_the_gradients_of_a_plain_one() -> None:
    models = [random_model(TINY, 0, CPU) for _ in range(2)]
    tokens = torch.tensor([[5, 6, 7, 8]])
    taught = torch.randn(1, 4, TINY.vocab, generator=torch.Generator().manual_seed(1))
    modules = ModuleNodes(models[0])
    BackwardProfiler(TickClock(), modules)(distillation_loss(models[0](input_ids=tokens).logits, taught))
    modules.close()
    distillation_loss(models[1](input_ids=tokens).logits, taught).backward()
    for profiled, plain in zip(models[0].parameters(), models[1].parameters(), strict=True):
        assert torch.equal(profiled.grad, plain.grad)


def test_the_loss_is_the_divergence() -> None:
    generator = np.random.default_rng(3)
    student, teacher = generator.normal(0, 3, (2, 1, 5, 11))
    p, q = (np.exp(x) / np.exp(x).sum(-1, keepdims=True) for x in (teacher, student))
    expected = (p * np.log(p / q)).sum(-1).mean()
    found = distillation_loss(torch.from_numpy(student), torch.from_numpy(teacher))
    assert found.item() == pytest.approx(expected, rel=1e-5)
    assert distillation_loss(torch.from_numpy(student), torch.from_numpy(student)).item() == 0
    # the other way round it is another number
    assert abs((q * np.log(q / p)).sum(-1).mean() - expected) > 1e-3


def test_the_rollout_is_greedy_and_the_loss_that_of_its_positions() -> None:
    settings = replace(SETTINGS, perturb_scale=0.3, rollout_len=3)
    pair = lively(settings)
    student = copy.deepcopy(pair.student)
    found = Distillation(pair, settings, CPU).step(timer())
    tokens = list(SETTINGS.prompt)
    with torch.no_grad():
        for _ in range(3):
            tokens.append(int(student(input_ids=torch.tensor([tokens])).logits[0, -1].argmax()))
        ids = torch.tensor([tokens])
        q, p = (model(input_ids=ids).logits[0, 3:6].double().softmax(-1) for model in (student, pair.teacher))
    assert found.tokens == tuple(tokens)
    assert found.loss == pytest.approx((p * (p / q).log()).sum(-1).mean().item(), rel=1e-3)


def test_the_cache_changes_no_token() -> None:
    settings = replace(SETTINGS, perturb_scale=0.3)
    found = [
        Distillation(lively(chosen), chosen, CPU).step(timer()).tokens
        for chosen in (settings, replace(settings, kv_cache=False))
    ]
    assert found[0] == found[1]
    assert len(set(found[0][4:])) > 4


def test_the_update_is_that_of_adamw_with_clipped_gradients() -> None:
    settings = replace(SETTINGS, rollout_len=2, perturb_scale=0.3, lr=0.01, weight_decay=0.1, grad_clip=0.01)
    pair = build(settings, CPU)
    before = copy.deepcopy(pair.student)
    kept = Distillation(pair, settings, CPU).step(timer())
    ids = torch.tensor([list(kept.tokens)])
    taught = pair.teacher(input_ids=ids).logits[:, 3:5]
    distillation_loss(before(input_ids=ids).logits[:, 3:5], taught).backward()
    gradients = [parameter.grad.double() for parameter in before.parameters()]
    norm = math.sqrt(sum(float(gradient.square().sum()) for gradient in gradients))
    assert norm > 0.01
    for old, gradient, new in zip(before.parameters(), gradients, pair.student.parameters(), strict=True):
        # Loshchilov and Hutter, the first step: both moments, freed of their bias, are the gradient and its square
        clipped = gradient * 0.01 / (norm + 1e-6)
        expected = old.detach().double() * (1 - 0.01 * 0.1) - 0.01 * clipped / (clipped.abs() + 1e-8)
        big = clipped.abs() > 1e-6  # smaller ones are the noise of float32 beside epsilon
        assert big.any()
        assert torch.allclose(new.detach().double()[big], expected[big], rtol=0, atol=2e-5)
        assert new.grad is None


def test_a_student_learns() -> None:
    found = run(replace(SETTINGS, steps=8, lr=1e-3, perturb_scale=0.5, rollout_len=4))
    losses = [step.loss for step in found.steps]
    assert losses[-1] < losses[0] / 2


def test_the_teacher_does_not_change_and_a_reset_is_the_start() -> None:
    settings = replace(SETTINGS, perturb_scale=0.3, lr=1e-2, rollout_len=2)
    pair = build(settings, CPU)
    teacher, student = copy.deepcopy(pair.teacher.state_dict()), copy.deepcopy(pair.student.state_dict())
    distillation = Distillation(pair, settings, CPU)
    first = distillation.step(timer())
    learned = copy.deepcopy(pair.student.state_dict())
    assert not torch.equal(learned["model.norm.weight"], student["model.norm.weight"])
    distillation.reset()
    assert all(torch.equal(value, student[name]) for name, value in pair.student.state_dict().items())
    assert distillation.step(timer()) == first
    assert all(torch.equal(value, learned[name]) for name, value in pair.student.state_dict().items())
    assert all(torch.equal(value, teacher[name]) for name, value in pair.teacher.state_dict().items())


def test_noise_has_the_size_that_was_asked_for() -> None:
    pair = build(replace(SETTINGS, perturb_scale=0.25), CPU)
    embedding, given = (model.model.embed_tokens.weight.double() for model in (pair.student, pair.teacher))
    noise = embedding - given
    # of 262,144 normal numbers the deviation is known to about 0.14 %
    assert noise.std().item() == pytest.approx(0.25 * given.square().mean().sqrt().item(), rel=0.01)
    same = build(replace(SETTINGS, perturb_scale=0.0), CPU)
    assert all(torch.equal(a, b) for a, b in zip(same.student.parameters(), same.teacher.parameters(), strict=True))


def test_the_seed_decides() -> None:
    found = [run(replace(SETTINGS, seed=seed, perturb_scale=0.3, rollout_len=2)).steps[0].loss for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]


def test_phases_add_up_and_are_ranked(whole: tuple[PhaseLog, Marks]) -> None:
    log, _ = whole
    assert sum(phase.ns for phase in log.phases) == log.total_ns == sum(step.total_step_ns for step in log.steps)
    assert {phase.phase for phase in log.phases} == {*PHASES, "unattributed"}
    times = [phase.ns for phase in log.phases]
    assert times == sorted(times, reverse=True)
    assert min(times) >= 0
    assert [phase.rank for phase in log.phases] == list(range(1, len(PHASES) + 2))
    assert sum(phase.pct_total for phase in log.phases) == pytest.approx(100)


def test_the_backward_profile_adds_up(whole: tuple[PhaseLog, Marks]) -> None:
    log, _ = whole
    profile = log.backward
    assert profile is not None
    parts = (profile.op_ns, profile.merge_grad_ns, profile.prelude_ns, profile.unattributed_ns)
    assert min(parts) > 0
    assert sum(parts) == profile.total_ns
    assert sum(operator.ns for operator in log.operators) == profile.op_ns
    found = {operator.op: operator.count for operator in log.operators}
    assert {kind: found[kind] for kind in counts_of(2) if kind != MERGE_GRAD} == {
        kind: count for kind, count in counts_of(2).items() if kind != MERGE_GRAD
    }


def test_the_log_tells_what_was_done(whole: tuple[PhaseLog, Marks]) -> None:
    log, _ = whole
    assert log.config is not None
    assert (log.config.backend, log.config.model_dir, log.config.rollout_len) == ("cpu", "none", 3)
    assert [step.rollout_len for step in log.steps] == [7, 7]
    assert log.model is not None
    # by hand: 4096 words, two layers, the last norm
    layer = 64 * 16 * (4 + 2 + 2 + 4) + 3 * 64 * 128 + 2 * 64 + 2 * 16
    assert log.model.student_trainable_elements == 4096 * 64 + 2 * layer + 64
    assert log.warmup is not None
    assert log.warmup.loss == log.steps[0].loss > log.steps[1].loss
    assert log.timing is not None
    assert log.timing.control_step_ns is not None
    assert log.timing.cost_ns == log.steps[0].total_step_ns - log.timing.control_step_ns
    # per step: two for the step, two for each of 12 phases once and of 3 phases three times, and the optimizer's
    assert log.timing.clock_reads == 2 * (2 + 2 * (len(PHASES) - 3 + 3 * 3))


def test_both_forms_read_back(whole: tuple[PhaseLog, Marks]) -> None:
    log, _ = whole
    assert parse_document(log.to_json(), "log") == log
    lines = log.to_lines()
    read = parse_lines("\n".join(lines), "log")
    assert read.config == log.config
    assert [phase.phase for phase in read.phases] == [phase.phase for phase in log.phases]
    assert all(abs(a.ns - b.ns) <= 500 for a, b in zip(read.phases, log.phases, strict=True))
    assert read.to_lines() == lines


def test_only_measured_steps_have_the_plain_names(whole: tuple[PhaseLog, Marks]) -> None:
    _, marks = whole
    pushed = [name for kind, name in marks.kept if kind == "push"]
    one = [
        "opd_step",
        "rollout_tape_disable",
        *3 * ["rollout_positions", "rollout_student_forward", "rollout_argmax_readback"],
        *PHASES[4:],
    ]
    expected = [
        *(f"warmup/{name}" for name in one),
        *(f"control/{name}" for name in one),
        *one,
        *one,
        *(f"profile/{name}" for name in one),
    ]
    assert pushed == expected
    assert sum(kind == "pop" for kind, _ in marks.kept) == len(expected)


def test_a_timer_adds_instances_up_and_leaves_the_rest() -> None:
    marks = Marks(keep=True)
    found = timer(marks)
    with found.step():  # 1
        with found.phase("a"):  # 2, 3
            pass
        with found.phase("b"):  # 4
            found._clock.stamp()  # 5
        with found.phase("a"):
            pass
    # stamps 1, 2-3, 4-6, 7-8, 9
    assert (found.ns_by_phase, found.total_ns, found.stamp_count) == ({"a": 2, "b": 2}, 8, 8)


def test_events_are_placed_on_one_line_that_never_turns_back() -> None:
    class Event:
        def __init__(self, ms: float) -> None:
            self.ms = ms

        def elapsed_time(self, other: Event) -> float:
            return other.ms - self.ms

    # 0.0005 ms is the step of CUDA events
    assert EventClock(CPU).resolve([Event(5), Event(5.5), Event(5.4995), Event(7)]) == [0, 500_000, 500_000, 2_000_000]
    assert EventClock(CPU).resolve([]) == []


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoints")
    model = random_model(TINY, 7, CPU)
    model.save_pretrained(folder / "whole")
    model.save_pretrained(folder / "sharded", max_shard_size="400KB")
    return folder


@pytest.mark.parametrize("kind", ["whole", "sharded"])
def test_a_checkpoint_gives_the_model_that_was_saved(saved: Path, kind: str) -> None:
    assert len(list((saved / kind).glob("*.safetensors"))) == (1 if kind == "whole" else 2)
    ids = torch.tensor([[1, 872, 198]])
    with torch.no_grad():
        expected = random_model(TINY, 7, CPU).eval()(input_ids=ids).logits
        assert torch.equal(load_checkpoint(saved / kind).eval()(input_ids=ids).logits, expected)


def test_a_checkpoint_in_its_published_form(saved: Path, tmp_path: Path) -> None:
    """Published ones name the base of the rotation at the top, no layer types, and repeat the tied head."""
    from safetensors.torch import load_file, save_file

    folder = tmp_path / "published"
    shutil.copytree(saved / "whole", folder)
    config = json.loads((folder / "config.json").read_text())
    for name in ("rope_parameters", "layer_types", "dtype"):
        config.pop(name, None)
    old = {"rope_theta": 1000000, "rope_scaling": None, "torch_dtype": "bfloat16", "use_sliding_window": False}
    (folder / "config.json").write_text(json.dumps(config | old))
    weights = {name: value.bfloat16() for name, value in load_file(folder / "model.safetensors").items()}
    weights["lm_head.weight"] = weights["model.embed_tokens.weight"].clone()
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    pair = build(replace(SETTINGS, model_dir=folder), CPU)
    expected = random_model(TINY, 7, CPU)
    assert elements(pair.student) == elements(expected)
    for found, given in zip(pair.teacher.parameters(), expected.parameters(), strict=True):
        assert found.dtype == torch.float32
        assert torch.equal(found, given.bfloat16().float())


def test_the_rotation_stays_in_float32() -> None:
    pair = build(replace(SETTINGS, dtype="bfloat16"), CPU)
    assert {parameter.dtype for parameter in pair.student.parameters()} == {torch.bfloat16}
    assert pair.student.model.rotary_emb.inv_freq.dtype == torch.float32
    assert pair.student.lm_head.weight is pair.student.model.embed_tokens.weight


@pytest.fixture
def broken(saved: Path, tmp_path: Path) -> Path:
    shutil.copytree(saved / "whole", tmp_path / "one")
    shutil.copytree(saved / "sharded", tmp_path / "many")
    return tmp_path


def edited(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | changes))


def test_broken_checkpoints_are_one_line(broken: Path) -> None:
    one, many = broken / "one", broken / "many"

    def refused(folder: Path) -> str:
        with pytest.raises(CheckpointInvalid) as caught:
            load_checkpoint(folder)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert "this is no folder" in refused(broken / "none")
    shard = sorted(many.glob("*.safetensors"))[1]
    shard.rename(many / "away")
    assert f"{shard}: model.safetensors.index.json names this file and it is not in the folder" in refused(many)
    shard.write_bytes((many / "away").read_bytes()[:-100])
    assert f"{shard}: cannot be read" in refused(many)
    (many / "away").replace(shard)
    check_checkpoint(many)
    edited(many / "model.safetensors.index.json", weight_map={"a": "../one/model.safetensors"})
    assert "it is not in the folder" in refused(many)
    edited(many / "model.safetensors.index.json", weight_map={})
    assert "there is no weight_map in it" in refused(many)
    edited(one / "config.json", hidden_size=32)
    assert "cannot be loaded" in refused(one) or "mismatched" in refused(one)
    edited(one / "config.json", hidden_size=64, num_hidden_layers=3)
    assert "must be equal to the number of `layer_types`" in refused(one)
    edited(one / "config.json", layer_types=["full_attention"] * 3)
    assert "missing keys among the weights" in refused(one)
    edited(one / "config.json", num_hidden_layers=1, layer_types=["full_attention"])
    assert "unexpected keys among the weights" in refused(one)
    edited(one / "config.json", num_hidden_layers="many")
    assert "num_hidden_layers is no whole number above 0" in refused(one)
    edited(one / "config.json", model_type="llama")
    assert "the model is of type 'llama', not 'qwen3'" in refused(one)
    (one / "config.json").write_text("{")
    assert "config.json: this is no JSON" in refused(one)
    (one / "config.json").unlink()
    assert "config.json: cannot be read (No such file or directory)" in refused(one)
    (one / "model.safetensors").rename(one / "pytorch_model.bin")
    shutil.copy(saved_config(broken), one / "config.json")
    assert "there is no model.safetensors" in refused(one)


def saved_config(folder: Path) -> Path:
    return folder / "many" / "config.json"


TINY_RUN = ("workload", "opd", "--device", "cpu", "--size", "tiny", "--rollout-len", "2", "--no-control")


def test_the_command_prints_the_log_and_writes_it(tmp_path: Path) -> None:
    ran = call(*TINY_RUN, "--no-backward-profile", "--log", tmp_path / "step.log")
    assert (ran.status, ran.err) == (0, "")
    assert (tmp_path / "step.log").read_text() == ran.out
    log = read_log(tmp_path / "step.log")
    assert (log.backward, log.operators, log.warmup is not None) == (None, (), True)
    assert ran.out.splitlines()[0] == (
        "config backend=cpu model_dir=none prompt=[1, 872, 198, 3456] rollout_len=2 lr=0.00005 grad_clip=1 "
        "perturb_scale=0.001"
    )


def test_the_command_as_json_from_a_checkpoint_in_a_process_of_its_own(saved: Path, tmp_path: Path) -> None:
    ran = spawn(*TINY_RUN, "--json", "--model-dir", saved / "sharded", "--log", tmp_path / "step.json")
    assert (ran.status, ran.err) == (0, "")
    document = json.loads(ran.out)
    assert document["config"]["model_dir"] == str(saved / "sharded")
    assert document["backward_op_summary"][0]["rank"] == 1
    assert read_log(tmp_path / "step.json").to_dict() == document


@pytest.mark.parametrize(
    ("options", "status", "code", "said"),
    [
        (("--phase-timing", "events"), 2, "usage-invalid", "a CPU has no events"),
        (("--prompt", "1,two"), 2, "usage-invalid", "this is no list of token numbers"),
        (("--prompt", "1,4096"), 2, "usage-invalid", "token 4096 of the prompt is not one of the 4096"),
        (("--heads", "3"), 2, "usage-invalid", "3 heads cannot share 2 key heads evenly"),
        (("--head-dim", "15"), 2, "usage-invalid", "cannot be rotated by halves"),
        (("--lr", "nan"), 2, "usage-invalid", "--lr"),
        (("--lr", "1e31"), 2, "usage-invalid", "--lr must be a number from 0 to 1e+30"),
        (("--vocab", "16777216", "--hidden", "16777216"), 6, "workload-failed", "PyTorch could not run the step"),
        (("--size", "huge"), 2, "usage-invalid", "--size"),
        (("--layers", "3", "--model-dir", "x"), 2, "usage-invalid", "--layers is for random weights"),
        (("--model-dir", "no/such"), 3, "checkpoint-invalid", "no/such: this is no folder"),
        (("--force",), 2, "usage-invalid", "--force is for recorded runs"),
        (("--log", "no/such/step.log"), 2, "usage-invalid", "the folder"),
        (("--perturb-scale", "1e30", "--dtype", "float16"), 6, "workload-failed", "the loss is nan"),
    ],
)
def test_bad_usage_is_one_line(options: tuple[str, ...], status: int, code: str, said: str) -> None:
    assert said in the_line(call(*TINY_RUN, *options), status, code)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu() -> None:
    assert "--device cpu" in the_line(call("workload", "opd"), 6, "workload-device")


def test_an_old_transformers_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(need_transformers(), "__version__", "4.57.1")
    assert "transformers 4.57.1 is too old" in the_line(call(*TINY_RUN), 6, "workload-dependency")


def test_settings_without_a_prompt() -> None:
    with pytest.raises(UsageInvalid, match="the prompt is empty"):
        run(replace(SETTINGS, prompt=()))


def recorded(folder: Path, trace: Path, *options: str) -> Ran:
    """Record a run with a stand-in for nsys that gives a drawn trace as what was recorded."""
    nsys = folder / "nsys" / "target-linux-x64" / "nsys"
    if not nsys.exists():
        install(folder / "nsys")
    own = {"PATH": f"{nsys.parent}{os.pathsep}{os.environ['PATH']}", "FAKE_TRACE": str(trace), "COLUMNS": "150"}
    words = (*TINY_RUN, "--no-backward-profile", "--record", "run", *options)
    return spawn(*words, cwd=folder, FAKE_NSYS_NOTE=str(folder / "note.json"), **own)


def test_a_recorded_run_sets_its_log_beside_its_trace(tmp_path: Path) -> None:
    # a second for backward, and the whole tiny step below it: they cannot agree
    trace = TraceBuilder().range("opd_step", 0, 10**12).range("backward", 0, 10**11).write(tmp_path / "drawn.sqlite")
    ran = recorded(tmp_path, trace)
    assert ran.status == 0, ran
    log = read_log(tmp_path / "run.log")
    assert ran.out.startswith("\n".join(log.to_lines()))
    assert "run.log and run.sqlite" in ran.out
    assert f"do not agree: 0 of {len(PHASES) + 1} times" in ran.out
    assert ran.err.count("\n") == 1
    assert "trace in run.sqlite" in ran.err
    again = recorded(tmp_path, trace)
    assert the_line(again, 2, "usage-invalid").startswith("run.sqlite: it is there already")
    (tmp_path / "run.sqlite").unlink()
    (tmp_path / "run.nsys-rep").unlink()
    assert the_line(recorded(tmp_path, trace), 2, "usage-invalid").startswith("run.log: it is there already")
    ran = recorded(tmp_path, trace, "--force", "--json", "--record-step")
    assert ran.status == 0, ran
    assert json.loads(ran.out)["log"] == "opd"
    assert (
        f"log and trace do not agree: 0 of {len(PHASES) + 1} times; see: nsys-digest workload phases run.log run.sqlite"
        in (ran.err)
    )
    assert "--capture-range=cudaProfilerApi" in json.loads((tmp_path / "note.json").read_text())["options"]


def test_a_recorded_run_whose_trace_has_no_ranges(tmp_path: Path) -> None:
    ran = recorded(tmp_path, TraceBuilder().range("other", 0, 10).write(tmp_path / "drawn.sqlite"))
    assert ran.status == 4
    assert "no NVTX range has the name of a phase of run.log" in ran.err
    assert (tmp_path / "run.log").exists()


def test_a_recorded_run_that_fails_is_not_compared(tmp_path: Path) -> None:
    trace = TraceBuilder().range("opd_step", 0, 10).write(tmp_path / "drawn.sqlite")
    ran = recorded(tmp_path, trace, "--prompt", "1,4096")
    assert ran.status == 2
    assert "token 4096 of the prompt" in ran.err
    assert not (tmp_path / "run.log").exists()
