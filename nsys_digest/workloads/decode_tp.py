"""Tensor-parallel decode: the sums over ranks stand inside a CUDA graph, which is replayed for each token."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from nsys_digest.errors import UsageInvalid
from nsys_digest.workloads.errors import WorkloadFailed
from nsys_digest.workloads.ranges import Marks
from nsys_digest.workloads.requirements import need_torch
from nsys_digest.workloads.train_ranks import Rank, Result, process_group, run_ranks

_TOLERANCES = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}
"""Most that a logit may differ from the unsharded one, as a share of the largest; sums in another order round apart."""


@dataclass(frozen=True, slots=True)
class DecodeConfig:
    """A run of the decode."""

    gpus: int
    tokens: int
    """Tokens that are decoded of each sequence."""
    batch: int
    layers: int
    hidden: int
    heads: int
    vocabulary: int
    graphs: bool
    seed: int
    dtype: str
    device: str

    def check(self) -> None:
        """Raise UsageInvalid where the options do not fit each other."""
        if self.heads % self.gpus:
            raise UsageInvalid(
                f"--heads {self.heads} over --gpus {self.gpus}: each rank needs as many heads; choose a multiple"
            )
        if self.hidden % self.heads:
            raise UsageInvalid(
                f"--hidden {self.hidden} over --heads {self.heads}: each head needs the same width; choose a multiple"
            )
        if self.graphs and self.device != "cuda":
            raise UsageInvalid("--graphs full --device cpu: there are no CUDA graphs without a GPU; use --graphs none")

    @property
    def mark(self) -> str:
        """Return the dispatch mark of a token."""
        return f"CG_DISPATCH:actual={self.batch}:mode={'FULL' if self.graphs else 'NONE'}:padded={self.batch}"


def decode(config: DecodeConfig) -> Result:
    """Decode, compare with the unsharded model, and return what the ranks found, as one document.

    Raises:
        UsageInvalid: the options do not fit each other.
        WorkloadFailed: a rank failed; or the ranks differ from each other, or from the unsharded model.

    """
    config.check()
    ranks = run_ranks(decode_rank, config, config.gpus, config.device)
    first = ranks[0]
    found = {
        "workload": "train",
        "mode": "decode-tp",
        "config": asdict(config) | {"torch": need_torch().__version__, "device_names": [r["device"] for r in ranks]},
        "tokens": first["tokens"],
        "largest_difference": max(rank["largest_difference"] for rank in ranks),
        "tolerance": _TOLERANCES[config.dtype],
        "best_tokens_equal": first["best_tokens_equal"],
        "all_reduces": first["all_reduces"],
        "graph_launches": config.tokens if config.graphs else 0,
        "ranks": [{key: rank[key] for key in ("wall_s", "ranges", "marks")} for rank in ranks],
    }
    if any(rank["tokens"] != first["tokens"] for rank in ranks):
        raise WorkloadFailed("the ranks decoded different tokens; their sums are not the same")
    if not found["largest_difference"] <= found["tolerance"]:
        raise WorkloadFailed(
            f"the sharded logits differ from the unsharded ones by {found['largest_difference']:.3g} of the largest, "
            f"more than {found['tolerance']:g}"
        )
    return found


def decode_rank(rank: Rank, config: DecodeConfig) -> Result:
    """Decode on one rank, and compare with the whole model there."""
    import torch
    from torch import distributed

    from nsys_digest.workloads.decode_tp_model import Decoder, DecodeSizes, make_part

    sizes = DecodeSizes(config.layers, config.hidden, config.heads, config.vocabulary, config.tokens)
    on_gpu = rank.device == "cuda"
    like = torch.zeros(1, dtype=getattr(torch, config.dtype), device=rank.own_device)
    first = torch.randint(config.vocabulary, (config.batch,), generator=torch.Generator().manual_seed(config.seed))
    first = first.to(rank.own_device)
    marks = Marks(keep=True)
    all_reduces = 0

    def add_up(partial: Any) -> None:
        nonlocal all_reduces
        all_reduces += 1
        distributed.all_reduce(partial)

    with torch.inference_mode(), process_group(rank):
        decoder = Decoder(make_part(sizes, config.seed, rank.index, rank.count, like), first, add_up)
        graph = _capture(decoder) if config.graphs else None
        if graph is None:
            decoder.step()  # what is set up at a first time is set up here
        decoder.restart()
        distributed.barrier()
        all_reduces = 0
        if on_gpu:
            torch.cuda.synchronize()
            torch.cuda.cudart().cudaProfilerStart()
        begin = time.perf_counter()
        for _ in range(config.tokens):
            with marks.range("decode_step"):
                marks.mark(config.mark)
                if graph is None:
                    decoder.step()
                else:
                    graph.replay()
        if on_gpu:
            torch.cuda.synchronize()
        wall_s = time.perf_counter() - begin
        if on_gpu:
            torch.cuda.cudart().cudaProfilerStop()
        if graph is not None:
            graph.reset()  # it holds calls of the group, which is left below
        whole = Decoder(make_part(sizes, config.seed, 0, 1, like), first, lambda partial: None)
        for position in range(config.tokens):
            whole.step(forced=decoder.chosen[position])
        difference = (decoder.logits - whole.logits).abs().max() / whole.logits.abs().max()
        kept = Counter(marks.kept)
        return {
            "tokens": decoder.chosen.T.tolist(),
            "largest_difference": float(difference),
            "best_tokens_equal": int((decoder.chosen == whole.chosen).sum()),
            "all_reduces": 2 * config.layers * config.tokens if config.graphs else all_reduces,
            "device": torch.cuda.get_device_name(rank.index) if on_gpu else "CPU",
            "wall_s": wall_s,
            "ranges": {name: count for (kind, name), count in kept.items() if kind == "push"},
            "marks": {name: count for (kind, name), count in kept.items() if kind == "mark"},
        }


def _capture(decoder: Any) -> Any:
    """Return a graph of one step, captured once NCCL and cuBLAS were used on the capturing stream."""
    import torch

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            decoder.restart()
            decoder.step()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    decoder.restart()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    # thread_local: NCCL's own threads may ask for events while this one captures
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        decoder.step()
    torch.cuda.synchronize()
    return graph


def decode_lines(found: Result) -> list[str]:
    """Return the log of a run."""
    config = found["config"]
    words = ((key, repr(",".join(value)) if isinstance(value, list) else value) for key, value in config.items())
    lines = ["config " + " ".join(f"{key}={value}" for key, value in words)]
    for index, rank in enumerate(found["ranks"]):
        lines.append(f"rank_summary rank={index} wall_s={rank['wall_s']:.6f}")
        lines += [f"mark_count rank={index} text={text} count={count}" for text, count in rank["marks"].items()]
        lines += [f"range_count rank={index} name={name} count={count}" for name, count in rank["ranges"].items()]
    total = config["tokens"] * config["batch"]
    summary = (
        f"decode_summary ranks={config['gpus']} tokens={total} all_reduces={found['all_reduces']} "
        f"graph_launches={found['graph_launches']} largest_difference={found['largest_difference']:.3g} "
        f"tolerance={found['tolerance']:g} best_tokens_equal={found['best_tokens_equal']}"
    )
    return [*lines, summary]
