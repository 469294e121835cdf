"""What a serving run tells: its log, line by line, and the one JSON document."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from nsys_digest.workloads.requirements import need_torch
from nsys_digest.workloads.serve.config import ServeConfig
from nsys_digest.workloads.serve.loop import Outcome, StepLine
from nsys_digest.workloads.serve.requests import RequestSpec


def config_line(config: ServeConfig, specs: Sequence[RequestSpec]) -> str:
    """Return the line that says what is run."""
    sizes = " ".join(f"{key}={value}" for key, value in asdict(config.sizes).items())
    prompts = sum(spec.prompt_tokens for spec in specs)
    return (
        f"config device={config.device} device_name={device_name(config)!r} torch={need_torch().__version__} "
        f"dtype={config.dtype} seed={config.seed} graphs={config.graphs} chunk_tokens={config.chunk_tokens} "
        f"drafts={config.drafts} temperature={config.temperature:g} synchronise={str(config.synchronise).lower()} "
        f"max_requests={config.max_requests} requests={len(specs)} prompt_tokens={prompts} {sizes}"
    )


def step_line(step: StepLine) -> str:
    """Return the line of one step."""
    return (
        f"step index={step.index} requests={step.requests} prompt_tokens={step.prompt_tokens} "
        f"decode_tokens={step.decode_tokens} mark={step.mark} wall_s={step.wall_s:.6f}"
    )


def summary_lines(outcome: Outcome) -> list[str]:
    """Return the lines that stand behind the steps."""
    totals = _totals(outcome)
    lines = [
        *(f"mark_count text={text} count={count}" for text, count in sorted(outcome.marks.items())),
        *(f"range_count name={name} count={count}" for name, count in sorted(outcome.ranges.items())),
        *(
            f"graph_launches mode={mode} padded={padded} count={count}"
            for (mode, padded), count in sorted(outcome.graph_launches.items())
        ),
    ]
    for kind in ("prefill", "decode", "mixed"):
        if (walls := totals[f"{kind}_steps"])["steps"]:
            p50, p95 = walls["wall_p50_s"], walls["wall_p95_s"]
            lines.append(f"{kind}_steps steps={walls['steps']} wall_p50_s={p50:.6f} wall_p95_s={p95:.6f}")
    plain = {key: value for key, value in totals.items() if not isinstance(value, dict)}
    return [*lines, "serve_summary " + " ".join(f"{key}={_short(value)}" for key, value in plain.items())]


def document(config: ServeConfig, specs: Sequence[RequestSpec], outcome: Outcome) -> str:
    """Return the whole run as JSON."""
    steps = [asdict(step) for step in outcome.steps]
    requests: list[dict[str, Any]] = [
        {**asdict(request.spec), "decode_steps": request.decode_steps, "output": request.output}
        | {"drafts_accepted": request.drafts_accepted}
        for request in outcome.requests
    ]
    found = {
        "workload": "serve",
        "config": asdict(config) | {"device_name": device_name(config), "torch": need_torch().__version__},
        "summary": _totals(outcome),
        "marks": dict(sorted(outcome.marks.items())),
        "ranges": dict(sorted(outcome.ranges.items())),
        "graph_launches": [
            {"mode": mode, "padded": padded, "count": count}
            for (mode, padded), count in sorted(outcome.graph_launches.items())
        ],
        "steps": steps,
        "requests": requests,
    }
    return json.dumps(found, indent=2)


def device_name(config: ServeConfig) -> str:
    """Return what the device calls itself."""
    return str(need_torch().cuda.get_device_name(config.device)) if config.device.startswith("cuda") else "CPU"


def _totals(outcome: Outcome) -> dict[str, Any]:
    steps = outcome.steps
    prompt_tokens = sum(step.prompt_tokens for step in steps)
    output_tokens = sum(len(request.output) for request in outcome.requests)
    return {
        "requests": len(outcome.requests),
        "steps": len(steps),
        "prompt_tokens": prompt_tokens,
        "output_tokens": output_tokens,
        "drafts_offered": outcome.drafts_offered,
        "drafts_accepted": outcome.drafts_accepted,
        "wall_s": outcome.wall_s,
        "prefill_steps": _walls([step for step in steps if not step.decode_tokens]),
        "decode_steps": _walls([step for step in steps if not step.prompt_tokens]),
        "mixed_steps": _walls([step for step in steps if step.prompt_tokens and step.decode_tokens]),
    }


def _walls(steps: Sequence[StepLine]) -> dict[str, Any]:
    """Return count and percentiles (linear between neighbours) of the wall time of steps; null for none."""
    p50, p95 = np.percentile([step.wall_s for step in steps], [50, 95]).tolist() if steps else (None, None)
    return {"steps": len(steps), "wall_p50_s": p50, "wall_p95_s": p95}


def _short(value: object) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)
