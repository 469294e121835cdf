"""Counts the buckets of gradients that are averaged over ranks."""

import torch
from torch import distributed
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook

# No "from __future__ import annotations" here: DistributedDataParallel reads the types of a hook as objects.


class BucketCount:
    """What the hook below has averaged so far."""

    def __init__(self) -> None:
        self.sizes_bytes: list[int] = []


def average_and_count(state: BucketCount, bucket: distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Average a bucket over all ranks, as DistributedDataParallel does by itself, and note its size."""
    state.sizes_bytes.append(bucket.buffer().nbytes)
    return allreduce_hook(None, bucket)
