"""NVTX ranges and marks of the generated traces, held to the CUDA calls that they enclose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.bench.activity import (
    CALLS,
    FIRST_NS,
    GRAPH_AT,
    PIDS,
    SEGMENT,
    Activity,
    Strings,
    global_pid,
)

OPERATORS = [
    "addmm", "mm", "bmm", "linear", "layer_norm", "softmax", "gelu", "mul", "add", "copy_", "view",
    "transpose",
    "embedding", "cat", "dropout", "scaled_dot_product_attention", "to", "sum", "native_layer_norm",
    "as_strided",
]  # fmt: skip
BACKWARD = ["AddmmBackward0", "MmBackward0", "NativeLayerNormBackward0", "GeluBackward0", "SoftmaxBackward0",
            "MulBackward0", "AddBackward0", "TransposeBackward0", "EmbeddingBackward0",
            "CatBackward0"]  # fmt: skip


COLUMNS = ("start", "end", "eventType", "rangeId", "text", "textId", "globalTid", "endGlobalTid", "domainId")
THREADS = {"main": 0, "autograd": 1, "requests": 17, "loader": 18}


@dataclass(frozen=True)
class Template:
    """One NVTX row of every step, held to the calls first to last of the step."""

    first: int
    last: int
    depth: int
    thread: str
    name: str
    style: str = "plain"
    event: int = 59
    domain: str = ""


def step_templates() -> list[Template]:
    """Return the 500 NVTX rows of a step: push/pop ranges nest on every thread."""
    out = [
        Template(0, 1999, 0, "main", "iteration"), Template(0, 999, 1, "main", "forward"),
        Template(1000, 1599, 1, "main", "backward"), Template(1600, 1999, 1, "main", "optimizer.step"),
    ]  # fmt: skip
    for layer in range(16):
        at = 20 + 60 * layer
        out.append(Template(at, at + 59, 2, "main", f"layer.{layer}", "registered"))
        for part in range(2):
            module = at + 30 * part
            out.append(Template(module, module + 29, 3, "main", ("attn", "mlp")[part], "registered"))
            for k in range(5):
                name = OPERATORS[(5 * part + k + 10 * (layer % 2)) % 20]
                out.append(Template(module + 6 * k, module + 6 * k + 5, 4, "main", f"aten::{name}", "torch"))
                if k % 2 == 0 and (layer + part) % 6 != 5:
                    out.append(Template(module + 6 * k + 1, module + 6 * k + 4, 5, "main", f"aten::_{name}", "torch"))
    for k in range(40):
        name = ("_foreach_add_", "_foreach_mul_", "_foreach_addcdiv_", "_foreach_sqrt")[k % 4]
        out.append(Template(1600 + 10 * k, 1605 + 10 * k, 2, "main", f"aten::{name}", "torch"))
    for k in range(50):
        at, name = 1000 + 12 * k, BACKWARD[k % 10]
        out.append(Template(at, at + 11, 0, "autograd", f"autograd::engine::evaluate_function: {name}", "torch"))
        out.append(Template(at + 1, at + 7, 1, "autograd", name, "torch"))
        if k % 5 < 2:
            name = ("ncclAllReduce", "ncclReduceScatter")[k % 5]
            out.append(Template(at + 2, at + 4, 2, "autograd", name, "registered", domain="NCCL"))
    for half in range(2):
        for k, at in enumerate(GRAPH_AT[half]):
            at += SEGMENT * half
            out.append(Template(at, at, 6, "main", f"graph.{k}", domain="engine"))
            out.append(Template(at, at, 7, "main", "", "dispatch", event=34))
    out += [Template(5 + 500 * k, 0, 7, "main", "checkpoint", event=34) for k in range(4)]
    for k in range(15):
        style = "registered" if k % 3 == 0 else "plain"
        name = ("request.prefill", "request.decode")[k % 2]
        out.append(Template(100 * k, 100 * k + 350, 0, "requests", name, style, event=60))
    out += [Template(200 * k, 200 * k + 90, 0, "loader", "load batch", "registered") for k in range(9)]
    return out


def torch_text(name: str, row: int, kind: int) -> str:
    """Return a name as PyTorch's emit_nvtx writes it: mostly with a sequence number, sometimes with more."""
    seq = "" if kind % 3 == 2 else f", seq = {row // 2}"
    sizes = ", sizes = [[4096, 4096], [4096]]" if kind % 40 == 7 else ""
    return f"{name}{seq}, op_id = {row}{sizes}"


def template_rows(k: int, t: Template, process: Activity, strings: Strings) -> dict[str, list[Any]]:
    """Return the rows that template number k gives over all the steps of a process."""
    steps = process.start.size // CALLS
    start, end = process.start.reshape(steps, CALLS)[:, t.first], process.end.reshape(steps, CALLS)[:, t.last]
    margin = 30 * (7 - t.depth)
    serial = [step * 500 + k for step in range(steps)]
    nothing: list[None] = [None] * steps
    text: list[Any] = [t.name] * steps
    if t.style == "registered":
        text = nothing
    elif t.style == "torch":
        text = [torch_text(t.name, row, k) for row in serial]
    elif t.style == "dispatch":
        text = [dispatch_text(row) for row in serial]
    return {
        "start": (start - (15 if t.event == 34 else margin)).tolist(),
        "end": nothing if t.event == 34 else (end + margin).tolist(),
        "eventType": [t.event] * steps,
        "rangeId": serial if t.event == 60 else nothing,
        "text": text,
        "textId": [strings.add(t.name)] * steps if t.style == "registered" else nothing,
    }


def make_nvtx(processes: list[Activity], strings: Strings) -> dict[str, list[Any]]:
    """Return the columns of NVTX_EVENTS that are not always NULL, in no order.

    Domains have other numbers in the third process. Every process has a range that never ends.
    """
    templates = step_templates()
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}

    def put(rows: dict[str, list[Any]], tid: int, end_tid: int | None, domain: int) -> None:
        count = len(rows["start"])
        shared: dict[str, list[Any]] = {
            "globalTid": [tid] * count,
            "endGlobalTid": [end_tid] * count,
            "domainId": [domain] * count,
        }
        for name, values in (rows | shared).items():
            columns[name] += values

    for p, process in enumerate(processes):
        domains = ["", "engine", "NCCL"] if p == 2 else ["", "NCCL", "engine"]
        base = global_pid(p) + PIDS[p]
        for k, t in enumerate(templates):
            end_tid = base if t.event == 60 and k % 3 == 0 else None
            rows = template_rows(k, t, process, strings)
            put(rows, base + THREADS[t.thread], end_tid, domains.index(t.domain))
        singles = [(75, 90_000, domains[1], 1), (75, 80_000, domains[2], 2), (59, 50_000, "session", 0)]
        if p == 0:
            singles.append((60, 40_000, "profile window", 0))
        for event, before, name, domain in singles:
            values = (FIRST_NS - before, None, event, 1_000_000_000 if event == 60 else None, name, None)
            put({c: [v] for c, v in zip(COLUMNS, values, strict=False)}, base, None, domain)
    return columns


def dispatch_text(row: int) -> str:
    """Return the text of a dispatch mark: a batch of some tokens, padded to the next graph size."""
    actual = 1 + row * 7 % 61
    mode, padded = ("FULL", -(-actual // 8) * 8) if actual <= 56 else ("NONE", actual)
    return f"CG_DISPATCH:actual={actual}:mode={mode}:padded={padded}"
