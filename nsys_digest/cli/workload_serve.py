"""``nsys-digest workload serve``."""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from nsys_digest.cli import output
from nsys_digest.cli.workload_options import (
    AsJson,
    Device,
    DeviceKind,
    DtypeName,
    Force,
    Nsys,
    Record,
    RecordGraphs,
    RecordTimeout,
    Seed,
    Summarize,
    record_instead,
)
from nsys_digest.errors import UsageInvalid
from nsys_digest.recorder.options import GraphTrace

if TYPE_CHECKING:
    from nsys_digest.workloads.serve.config import ModelSizes, ServeConfig
    from nsys_digest.workloads.serve.requests import RequestSpec


class GraphMode(StrEnum):
    """What of a step is launched as CUDA graphs."""

    none = "none"
    piecewise = "piecewise"
    full = "full"


Size: TypeAlias = int | None


def command(
    context: typer.Context,
    device: Device = DeviceKind.cuda,
    graphs: Annotated[GraphMode, typer.Option("--graphs", help="What is launched as CUDA graphs.")] = GraphMode.none,
    graph_sizes: Annotated[
        str, typer.Option("--graph-sizes", metavar="LIST", help="Padded tokens to capture graphs for.")
    ] = "1,2,4,8,16,32,64,128,256,512",
    chunk_tokens: Annotated[
        int, typer.Option("--chunk-tokens", min=1, max=65536, metavar="N", help="Most tokens of one step.")
    ] = 1600,
    prompt_tokens: Annotated[
        int, typer.Option("--prompt-tokens", min=1, max=1 << 20, metavar="N", help="Length of the one prompt.")
    ] = 32742,
    decode_steps: Annotated[
        int, typer.Option("--decode-steps", min=0, max=100_000, metavar="N", help="Decode steps after the prompt.")
    ] = 25,
    drafts: Annotated[
        int, typer.Option("--drafts", min=0, max=16, metavar="N", help="Speculative tokens of a decode.")
    ] = 2,
    requests: Annotated[
        Path | None, typer.Option("--requests", metavar="FILE", help="Serve these requests instead: JSON lines.")
    ] = None,
    max_requests: Annotated[
        int | None,
        typer.Option("--max-requests", min=1, max=256, metavar="N", help="Requests served at the same time."),
    ] = None,
    temperature: Annotated[
        float, typer.Option("--temperature", min=0.0, max=100.0, metavar="T", help="0: greedy.")
    ] = 0.0,
    layers: Annotated[
        Size, typer.Option("--layers", min=1, max=1000, metavar="N", help="Layers of the target.")
    ] = None,
    hidden: Annotated[Size, typer.Option("--hidden", min=2, max=65536, metavar="N", help="Width of the model.")] = None,
    heads: Annotated[Size, typer.Option("--heads", min=1, max=1024, metavar="N", help="Heads of attention.")] = None,
    kv_heads: Annotated[
        Size, typer.Option("--kv-heads", min=1, max=1024, metavar="N", help="Heads of the KV cache.")
    ] = None,
    intermediate: Annotated[
        Size, typer.Option("--intermediate", min=1, max=1 << 18, metavar="N", help="Width of the MLP.")
    ] = None,
    vocabulary: Annotated[
        Size, typer.Option("--vocabulary", min=2, max=1 << 20, metavar="N", help="Different tokens.")
    ] = None,
    ple_width: Annotated[
        Size, typer.Option("--ple-width", min=1, max=65536, metavar="N", help="Width of the per-layer embeddings.")
    ] = None,
    moe: Annotated[
        int, typer.Option("--moe", min=0, max=1024, metavar="EXPERTS", help="Experts in place of each MLP.")
    ] = 0,
    synchronise: Annotated[
        bool, typer.Option("--synchronise", help="Wait for the GPU after each step: a slow-down to find.")
    ] = False,
    seed: Seed = 0,
    dtype: Annotated[DtypeName | None, typer.Option("--dtype", help="Type of weights and activations.")] = None,
    as_json: AsJson = False,
    record: Record = None,
    record_graphs: RecordGraphs = GraphTrace.node,
    record_timeout: RecordTimeout = None,
    nsys: Nsys = None,
    force: Force = False,
    summarize: Summarize = False,
) -> None:
    """Serve an LLM of random weights.

    Chunked prefill, speculative decode, per-layer embeddings, dispatch marks.
    """
    from nsys_digest.workloads.serve.config import LARGE, TINY, ServeConfig
    from nsys_digest.workloads.serve.requests import RequestSpec, read_requests

    if requests is None:
        specs: tuple[RequestSpec, ...] = (RequestSpec(0.0, prompt_tokens, None, decode_steps),)
    else:
        _refuse_with_requests(context)
        specs = read_requests(requests)
    on_gpu = device is DeviceKind.cuda
    given = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "kv_heads": kv_heads,
        "intermediate": intermediate,
        "vocabulary": vocabulary,
        "ple_width": ple_width,
        "experts": moe,
    }
    sizes: ModelSizes = replace(LARGE if on_gpu else TINY, **{key: n for key, n in given.items() if n is not None})
    config = ServeConfig(
        sizes=sizes,
        chunk_tokens=chunk_tokens,
        drafts=drafts,
        max_requests=max_requests or min(len(specs), 8),
        graphs=graphs.value,
        graph_sizes=_numbers(graph_sizes),
        temperature=temperature,
        synchronise=synchronise,
        seed=seed,
        dtype=dtype.value if dtype else ("bfloat16" if on_gpu else "float32"),
        device=device.value,
    )
    config.check()
    record_instead(context, capture_range="cudaProfilerApi" if on_gpu else "none")
    _run(config, specs, as_json)


def _run(config: ServeConfig, specs: tuple[RequestSpec, ...], as_json: bool) -> None:
    from nsys_digest.workloads.requirements import need_device, need_nvtx

    need_nvtx()
    need_device(config.device)
    from nsys_digest.workloads.serve import report
    from nsys_digest.workloads.serve.loop import serve

    if as_json:
        output.write(report.document(config, specs, serve(config, specs)), None)
        return
    output.write(report.config_line(config, specs), None)
    outcome = serve(config, specs)
    # steps are told behind the loop, so that a slow terminal is no part of it
    output.write("\n".join([*map(report.step_line, outcome.steps), *report.summary_lines(outcome)]), None)


def _refuse_with_requests(context: typer.Context) -> None:
    for name in ("prompt_tokens", "decode_steps"):
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageInvalid(
                f"--{name.replace('_', '-')} with --requests: the file says the lengths; give one of them"
            )


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError:
        raise UsageInvalid(f"--graph-sizes {text}: give whole numbers separated by commas, as in 1,2,4,8") from None
