"""Per-layer embeddings: a large table in host memory, of which each step fetches the rows of its tokens."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from nsys_digest.workloads.ranges import Marks
from nsys_digest.workloads.serve.config import ModelSizes

_INIT_ROWS = 4096


class PerLayerEmbeddings:
    """The table, shape (vocabulary, layers * width), and the buffers through which its rows reach the device.

    Host memory is pinned for a GPU, so that the copies are asynchronous.
    """

    def __init__(self, sizes: ModelSizes, most_tokens: int, seed: int, like: Tensor) -> None:
        pinned = like.device.type == "cuda"
        shape = (sizes.layers, sizes.ple_width)
        columns = sizes.layers * sizes.ple_width
        most_rows = min(most_tokens, sizes.vocabulary)
        self._shape = shape
        self.table = torch.empty(sizes.vocabulary, columns, dtype=like.dtype, pin_memory=pinned)
        generator = torch.Generator().manual_seed(seed)
        for first in range(0, sizes.vocabulary, _INIT_ROWS):  # in blocks: no second table in float32
            block = self.table[first : first + _INIT_ROWS]
            block.copy_(torch.randn(block.shape, generator=generator))
        self._staged = torch.empty(most_rows, columns, dtype=like.dtype, pin_memory=pinned)
        self._rows = torch.zeros(most_rows, columns, dtype=like.dtype, device=like.device)

    def look_up(self, count: int, wait_for_ids: Callable[[], Tensor], marks: Marks) -> Tensor:
        """Fetch the rows of the step's tokens; return for each token which of them is its own, int64, on the host.

        `wait_for_ids` returns the ids of `count` tokens on the host once the GPU has computed them.
        """
        with marks.range(f"PLE_lookup_tokens={count}"):
            with marks.range("PLE_wait_for_GPU"):
                ids = wait_for_ids()
            with marks.range("PLE_CPU_dedup"):
                unique, inverse = torch.unique(ids, return_inverse=True)
            with marks.range("PLE_CPU_gather"):
                staged = self._staged[: len(unique)]
                torch.index_select(self.table, 0, unique, out=staged)
                self._rows[: len(unique)].copy_(staged, non_blocking=True)
        return inverse

    def of_tokens(self, inverse: Tensor) -> Tensor:
        """Return the embeddings of tokens for all layers, shape (tokens, layers, width), on the device."""
        return self._rows.index_select(0, inverse).view(-1, *self._shape)
