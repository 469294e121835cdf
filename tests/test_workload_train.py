"""Several ranks on the CPU: training as one rank would, a sharded decode as the whole model, and ranks that fail."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nsys_digest.errors import UsageInvalid
from nsys_digest.workloads.errors import WorkloadFailed
from support import call, command, environment, the_line

pytestmark = pytest.mark.workloads
torch = pytest.importorskip("torch")
pytest.importorskip("nvtx")

from nsys_digest.workloads.decode_tp import DecodeConfig, decode  # noqa: E402
from nsys_digest.workloads.decode_tp_model import Decoder, DecodeSizes, make_part  # noqa: E402
from nsys_digest.workloads.train import TrainConfig, train  # noqa: E402
from nsys_digest.workloads.train_model import SmallTransformer, TrainSizes, make_batch  # noqa: E402
from nsys_digest.workloads.train_ranks import Rank, Result, run_ranks  # noqa: E402

TRAIN = TrainConfig(
    gpus=2,
    steps=6,
    batch=8,
    bucket_mb=0.01,
    layers=1,
    hidden=16,
    heads=2,
    vocabulary=16,
    sequence=8,
    learning_rate=0.01,
    seed=0,
    dtype="float32",
    device="cpu",
)
DECODE = DecodeConfig(
    gpus=2,
    tokens=5,
    batch=3,
    layers=2,
    hidden=24,
    heads=4,
    vocabulary=31,
    graphs=False,
    seed=0,
    dtype="float32",
    device="cpu",
)


def test_two_ranks_learn_as_one_process_does() -> None:
    """Against a loop without ranks, on the whole batch: the mean of gradients is the gradient of the mean."""
    torch.manual_seed(TRAIN.seed)
    sizes = TrainSizes(TRAIN.layers, TRAIN.hidden, TRAIN.heads, TRAIN.vocabulary, TRAIN.sequence)
    model = SmallTransformer(sizes)
    optimizer = torch.optim.AdamW(model.parameters(), lr=TRAIN.learning_rate)
    expected = []
    for step in range(TRAIN.steps):
        loss = model(*make_batch(sizes, TRAIN.batch, TRAIN.seed, step))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        expected.append(loss.item())
    found = train(TRAIN)
    assert found["losses"] == pytest.approx(expected, rel=1e-4)
    assert found["first_batch_again"] == pytest.approx(model(*make_batch(sizes, 8, 0, 0)).item(), rel=1e-4)
    assert found["equal_parameters"] is True
    # tokens 16*16, positions 8*16, last norm 32, head 16*16
    # a block: two norms 64, products with their biases 16*48+48, 16*16+16, 16*64+64, 64*16+16
    assert found["parameters"] == 256 + 128 + 32 + 256 + 64 + 816 + 272 + 1088 + 1040
    for rank in found["ranks"]:
        assert rank["ranges"] == {"step": 6, "forward": 6, "backward": 6, "optimizer": 6}
        assert rank["bucket_bytes"] == 6 * 4 * found["parameters"]
        assert rank["buckets"] > 6  # more than one bucket a step


def test_a_loss_that_does_not_fall_fails() -> None:
    with pytest.raises(WorkloadFailed, match="not down"):
        train(replace(TRAIN, gpus=1, learning_rate=0.0, steps=1))


def test_a_loss_that_is_no_number_is_no_fault_of_the_ranks() -> None:
    with pytest.raises(WorkloadFailed, match="no finite number"):
        train(replace(TRAIN, gpus=1, learning_rate=1e30, steps=3))


def test_a_sharded_decode_is_the_whole_one() -> None:
    found = decode(DECODE)
    assert found["largest_difference"] < 1e-5
    assert found["best_tokens_equal"] == 15
    # two sums a layer, for each token
    assert found["all_reduces"] == 2 * 2 * 5
    for rank in found["ranks"]:
        assert rank["ranges"] == {"decode_step": 5}
        assert rank["marks"] == {"CG_DISPATCH:actual=3:mode=NONE:padded=3": 5}
    assert found["tokens"] == plain_decode()


def plain_decode() -> list[list[int]]:
    """Return the tokens of a decoder written out again: no cache, each sequence from its start for each token."""
    part = make_part(DecodeSizes(2, 24, 4, 31, 5), 0, 0, 1, torch.zeros(1))
    first = torch.randint(31, (3,), generator=torch.Generator().manual_seed(0))
    return [plain_sequence(part, [token])[1:] for token in first.tolist()]


def plain_sequence(part: Any, tokens: list[int]) -> list[int]:
    def norm(x: Any) -> Any:
        return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()

    for _ in range(5):
        x = part.embedding[tokens]
        for layer in part.layers:
            query, key, value = (norm(x) @ layer.qkv.T).view(len(tokens), 3, 4, 6).permute(1, 2, 0, 3)
            attended = torch.nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + attended.transpose(0, 1).reshape(len(tokens), 24) @ layer.output.T
            x = x + torch.nn.functional.gelu(norm(x) @ layer.up.T) @ layer.down.T
        tokens = [*tokens, int((norm(x[-1]) @ part.head.T).argmax())]
    return tokens


def test_a_sum_that_is_left_out_is_seen() -> None:
    """The comparison with the whole model can fail: one rank's part alone gives other logits."""
    sizes, like, first = DecodeSizes(2, 24, 4, 31, 5), torch.zeros(1), torch.tensor([3, 4, 5])
    whole, half = (Decoder(make_part(sizes, 0, 0, ranks, like), first, lambda partial: None) for ranks in (1, 2))
    whole.step()
    half.step()
    assert (whole.logits - half.logits).abs().max() > 1e-2 * whole.logits.abs().max()


def fail_as_told(rank: Rank, how: str) -> Result:
    """Fail on rank 1; rank 0 would wait for ever."""
    if rank.index == 0:
        time.sleep(600)
    if how == "raise":
        raise ValueError("the weights are gone.\nsecond line")
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ("raise", "ValueError: the weights are gone"),
        ("exit", "it ended with status 3"),
        ("kill", "it was ended by signal SIGKILL"),
    ],
)
def test_a_rank_that_fails_ends_the_others(how: str, told: str) -> None:
    with pytest.raises(WorkloadFailed) as raised:
        run_ranks(fail_as_told, how, 2, "cpu")
    assert str(raised.value) == f"rank 1 of 2 failed: {told}; the other ranks were ended"
    assert multiprocessing.active_children() == []


def drop_out(rank: Rank, _config: None) -> Result:
    """Leave rank 0 alone in the middle of a sum."""
    from torch import distributed

    from nsys_digest.workloads.train_ranks import process_group

    with process_group(rank):
        if rank.index == 1:
            raise WorkloadFailed("no more of this")
        distributed.all_reduce(torch.zeros(1))
    return {}


def test_the_rank_that_failed_first_is_named_and_not_who_missed_it() -> None:
    with pytest.raises(WorkloadFailed, match=r"^rank 1 of 2 failed: no more of this; "):
        run_ranks(drop_out, None, 2, "cpu")


def tell_environment(rank: Rank, names: tuple[str, ...]) -> Result:
    return {"rank": rank.index, "found": {name: os.environ.get(name) for name in names}}


def test_the_environment_is_passed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NCCL_NVLS_ENABLE", "0")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = run_ranks(tell_environment, ("NCCL_NVLS_ENABLE", "NCCL_DEBUG"), 2, "cpu")
    assert found == [{"rank": i, "found": {"NCCL_NVLS_ENABLE": "0", "NCCL_DEBUG": None}} for i in (0, 1)]
    assert list(tmp_path.iterdir()) == []


def children_of(pid: int) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def lives(pid: int) -> bool:
    """Tell whether a process runs; one that has ended may wait for whoever asks for its status."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_leaves_no_rank_behind(tmp_path: Path) -> None:
    words = ("workload", "train", "--device", "cpu", "--gpus", "2", "--steps", "100000")
    with subprocess.Popen(
        command(*words),
        env=environment(TMPDIR=str(tmp_path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*/meeting")):  # the ranks are up once they meet
            assert time.monotonic() < deadline
            assert child.poll() is None
            time.sleep(0.05)
        ranks = children_of(child.pid)
        assert len(ranks) >= 2
        os.killpg(child.pid, signal.SIGINT)  # as a terminal does it: to all of them
        out, err = child.communicate(timeout=60)
    assert (child.returncode, out) == (130, "")
    assert err == "nsys-digest: interrupted; nothing was written [interrupted]\n"
    deadline = time.monotonic() + 30  # one of them only keeps account of resources, and ends behind its parent
    while any(map(lives, ranks)):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert list(tmp_path.iterdir()) == []


def test_the_document_and_the_log(tmp_path: Path) -> None:
    ran = call("workload", "train", "--device", "cpu", "--gpus", "2", "--steps", "3", "--json")
    assert (ran.status, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert len(found["losses"]) == len(found["ranks"][0]["step_s"]) == 3
    ran = call("workload", "train", "--device", "cpu", "--mode", "decode-tp", "--gpus", "2", "--tokens", "3")
    assert (ran.status, ran.err) == (0, "")
    assert "mark_count rank=1 text=CG_DISPATCH:actual=8:mode=NONE:padded=8 count=3\n" in ran.out
    assert ran.out.splitlines()[-1].startswith("decode_summary ranks=2 tokens=24 all_reduces=12 graph_launches=0 ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--gpus", "3"), "--batch 8 over --gpus 3"),
        (("--hidden", "33"), "--hidden 33 over --heads 4"),
        (("--tokens", "3"), "--tokens is for --mode decode-tp"),
        (("--mode", "decode-tp", "--steps", "3"), "--steps is for --mode data-parallel"),
        (("--mode", "decode-tp", "--gpus", "3"), "--heads 4 over --gpus 3"),
        (("--mode", "decode-tp", "--graphs", "full"), "no CUDA graphs without a GPU"),
    ],
)
def test_options_that_do_not_fit_are_one_line(words: tuple[str, ...], told: str) -> None:
    assert told in the_line(call("workload", "train", "--device", "cpu", *words), 2, "usage-invalid")


def test_a_check_is_made_without_the_command_line_too() -> None:
    with pytest.raises(UsageInvalid):
        train(replace(TRAIN, batch=3))
    with pytest.raises(UsageInvalid):
        decode(replace(DECODE, heads=3))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_line() -> None:
    the_line(call("workload", "train", "--gpus", "2"), 6, "workload-device")
