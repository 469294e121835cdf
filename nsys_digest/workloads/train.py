"""Data-parallel training: every rank has the whole model and its part of each batch; gradients are averaged."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from nsys_digest.errors import UsageInvalid
from nsys_digest.workloads.errors import WorkloadFailed
from nsys_digest.workloads.ranges import Marks
from nsys_digest.workloads.requirements import need_torch
from nsys_digest.workloads.train_ranks import Rank, Result, process_group, run_ranks


@dataclass(frozen=True, slots=True)
class TrainConfig:
    """A run of training."""

    gpus: int
    """Processes, one a GPU; on the CPU that many processes."""
    steps: int
    batch: int
    """Sequences of a step, over all ranks."""
    bucket_mb: float
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    sequence: int
    learning_rate: float
    seed: int
    dtype: str
    device: str

    def check(self) -> None:
        """Raise UsageInvalid where the options do not fit each other."""
        if self.batch % self.gpus:
            raise UsageInvalid(
                f"--batch {self.batch} over --gpus {self.gpus}: each rank needs as many sequences; choose a multiple"
            )
        if self.hidden % self.heads:
            raise UsageInvalid(
                f"--hidden {self.hidden} over --heads {self.heads}: each head needs the same width; choose a multiple"
            )


def train(config: TrainConfig) -> Result:
    """Train, and return what the ranks found, as one document.

    Raises:
        UsageInvalid: the options do not fit each other.
        WorkloadFailed: a rank failed; or the loss did not go down, or the ranks' parameters are not equal.

    """
    config.check()
    ranks = run_ranks(train_rank, config, config.gpus, config.device)
    losses, again = ranks[0]["losses"], ranks[0]["first_batch_again"]
    found = {
        "workload": "train",
        "mode": "data-parallel",
        "config": asdict(config) | {"torch": need_torch().__version__, "device_names": [r["device"] for r in ranks]},
        "parameters": ranks[0]["parameters"],
        "losses": losses,
        "first_batch_again": again,
        "equal_parameters": all(rank["equal_parameters"] for rank in ranks),
        "ranks": [
            {key: rank[key] for key in ("wall_s", "step_s", "ranges", "buckets", "bucket_bytes")} for rank in ranks
        ],
    }
    if not all(map(math.isfinite, (*losses, again))):
        raise WorkloadFailed("the loss is no finite number any more; take a smaller --learning-rate")
    if not found["equal_parameters"]:
        raise WorkloadFailed(
            "the ranks ended with different parameters; the gradients were not averaged as they must be"
        )
    if not again < losses[0]:
        raise WorkloadFailed(
            f"the loss of the first batch went from {losses[0]:.4f} to {again:.4f} and not down; take more --steps or "
            "another --learning-rate"
        )
    return found


def train_rank(rank: Rank, config: TrainConfig) -> Result:
    """Train on one rank."""
    import torch
    from torch import distributed
    from torch.nn.parallel import DistributedDataParallel

    from nsys_digest.workloads.train_buckets import BucketCount, average_and_count
    from nsys_digest.workloads.train_model import SmallTransformer, TrainSizes, make_batch

    sizes = TrainSizes(config.layers, config.hidden, config.heads, config.vocabulary, config.sequence)
    on_gpu = rank.device == "cuda"
    dtype = getattr(torch, config.dtype)
    marks = Marks(keep=True)
    buckets = BucketCount()

    with process_group(rank):
        torch.manual_seed(config.seed)
        module = SmallTransformer(sizes).to(rank.own_device)
        model = DistributedDataParallel(
            module, device_ids=[rank.index] if on_gpu else None, bucket_cap_mb=config.bucket_mb
        )
        model.register_comm_hook(buckets, average_and_count)
        optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, fused=on_gpu)
        batches = [
            tuple(part[rank.index :: rank.count].to(rank.own_device) for part in made)
            for made in (make_batch(sizes, config.batch, config.seed, step) for step in range(config.steps))
        ]

        def step(tokens: Any, targets: Any) -> Any:
            with marks.range("step"):
                with marks.range("forward"), torch.autocast(rank.device, dtype, enabled=dtype != torch.float32):
                    loss = model(tokens, targets)
                with marks.range("backward"):
                    loss.backward()
                with marks.range("optimizer"):
                    optimizer.step()
                    optimizer.zero_grad(set_to_none=True)
            return loss.detach()

        losses = torch.zeros(config.steps, device=rank.own_device)
        distributed.barrier()
        if on_gpu:
            torch.cuda.cudart().cudaProfilerStart()
        starts = []
        begin = time.perf_counter()
        for index, (tokens, targets) in enumerate(batches):
            starts.append(time.perf_counter())
            losses[index] = step(tokens, targets)
        if on_gpu:
            torch.cuda.synchronize()
        end = time.perf_counter()
        if on_gpu:
            torch.cuda.cudart().cudaProfilerStop()
        with torch.no_grad(), torch.autocast(rank.device, dtype, enabled=dtype != torch.float32):
            again = module(*batches[0]).reshape(1)
        losses = torch.cat([losses, again])
        distributed.all_reduce(losses)
        equal = _equal_on_all(module)
        return {
            "losses": (losses[:-1] / rank.count).tolist(),
            "first_batch_again": float(losses[-1]) / rank.count,
            "equal_parameters": equal,
            "parameters": sum(parameter.numel() for parameter in module.parameters()),
            "device": torch.cuda.get_device_name(rank.index) if on_gpu else "CPU",
            "wall_s": end - begin,
            "step_s": [after - before for before, after in zip(starts, [*starts[1:], end], strict=True)],
            "ranges": dict(Counter(name for kind, name in marks.kept if kind == "push")),
            "buckets": len(buckets.sizes_bytes),
            "bucket_bytes": sum(buckets.sizes_bytes),
        }


def _equal_on_all(module: Any) -> bool:
    """Tell whether every rank has the parameters of rank 0, bit by bit."""
    import torch
    from torch import distributed

    own = torch.nn.utils.parameters_to_vector(module.parameters()).detach()
    of_first = own.clone()
    distributed.broadcast(of_first, 0)
    equal = torch.tensor(int(torch.equal(own, of_first)), device=own.device)
    distributed.all_reduce(equal, distributed.ReduceOp.MIN)
    return bool(equal.item())


def train_lines(found: Result) -> list[str]:
    """Return the log of a run."""
    config = found["config"]
    lines = ["config " + " ".join(f"{key}={_word(value)}" for key, value in config.items())]
    steps = zip(found["losses"], found["ranks"][0]["step_s"], strict=True)
    lines += [f"step index={index} loss={loss:.6f} wall_s={wall_s:.6f}" for index, (loss, wall_s) in enumerate(steps)]
    for index, rank in enumerate(found["ranks"]):
        ranges = " ".join(f"{name}={count}" for name, count in rank["ranges"].items())
        lines.append(
            f"rank_summary rank={index} wall_s={rank['wall_s']:.6f} buckets={rank['buckets']} "
            f"bucket_bytes={rank['bucket_bytes']} ranges: {ranges}"
        )
    equal = "yes" if found["equal_parameters"] else "no"
    summary = (
        f"train_summary ranks={config['gpus']} steps={config['steps']} parameters={found['parameters']} "
        f"first_loss={found['losses'][0]:.6f} last_loss={found['losses'][-1]:.6f} "
        f"first_batch_again={found['first_batch_again']:.6f} equal_parameters={equal}"
    )
    return [*lines, summary]


def _word(value: Any) -> str:
    return repr(",".join(value)) if isinstance(value, list) else str(value)
