"""Policies of all kinds: keys, paths, amounts and names that make sense, and that do not, and bytes changed."""

from __future__ import annotations

from pathlib import Path
from random import Random

from nsys_digest import DigestError, check, load
from nsys_digest.gate.policy import built_in_text
from nsys_digest.render import text
from nsys_digest.report.check import check_report

_DIGEST = load(Path(__file__).resolve().parents[2] / "fixtures" / "golden" / "serve.json")
_FIGURES = (
    *("gpu_activity_span_s", "kernel_count", "devices.*.busy_ratio", "memory.copies.*.bytes", "steps.wall.p50_s"),
    *(
        "nvtx.*.union_s",
        'nvtx."*a*b*c*d*e*f*g*h*".count',
        "api.?uda*.count",
        "'",
        '"',
        "nvtx.",
        ".",
        "*",
        "*.*.*.*",
        "?" * 500,
    ),
    *('nvtx."\\u12', "nvtx." + "a." * 3000, "x" * 5000, "idle.devices.*.causes.*.*", "memory.copies.*.gbps.p50"),
)
_AMOUNTS = (
    *(
        '"5%"',
        '"50us"',
        "0",
        "1",
        "0.5",
        '"1e300s"',
        '"1e308%"',
        "9" * 5000,
        "0x" + "F" * 5000,
        "1e999",
        "-1",
        "inf",
        "nan",
    ),
    *(
        "true",
        '["5%", "1ms"]',
        '["5%", "5%"]',
        "[]",
        "{}",
        "1979-05-27",
        '""',
        f'"{"9" * 400}s"',
        '"5 %"',
        '"1 GB/s"',
        '"2MB"',
    ),
)
_KEYS = (
    "max_change",
    "max",
    "min",
    "floor",
    "min_effect",
    "absent",
    "bad",
    "why",
    "maxx",
    "a.b",
    '"\\ud800"',
    "a." * 200 + "b",
)
_HEADS = (
    "[[rule]]",
    "[[require]]",
    "[[forbid]]",
    "[noise]",
    "[rule]",
    "[[",
    "version = 1",
    "[" + "a." * 100 + "b]",
    "#",
)
_NAMES = ("nvtx", "api", "kernel", "category", "dispatch", "warnings", "confidence", "inconclusive", "min_repeats")


def case(rng: Random, folder: Path) -> str:
    """Write a policy and check a digest by it."""
    path = folder / "policy.toml"
    lines = [] if rng.random() < 0.9 else built_in_text().splitlines()
    for _ in range(rng.choice((1, 1, 2, 5))):
        lines.append(rng.choice(_HEADS) if rng.random() < 0.3 else _HEADS[0])
        if rng.random() < 0.9:
            figure = rng.choice(_FIGURES if rng.random() < 0.5 else _FIGURES[:8])
            lines.append(f"figure = '{figure}'" if "'" not in figure else f'figure = "{figure}"')
        for _ in range(rng.choice((0, 1, 1, 2))):
            names = (*_KEYS, *_NAMES) if rng.random() < 0.3 else _KEYS[:4]
            lines.append(f"{rng.choice(names)} = {rng.choice(_AMOUNTS if rng.random() < 0.5 else _AMOUNTS[:3])}")
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    if rng.random() < 0.2:
        at = rng.randrange(len(data))
        data = (
            data[:at]
            + rng.choice((b"\xff", b"\0", b'"', b"'''", b'"""', b"[" * 5000, b"\n"))
            + data[at + rng.randrange(3) :]
        )
    path.write_bytes(data)
    try:
        result = check(_DIGEST, _DIGEST if rng.random() < 0.8 else None, path)
    except DigestError as error:
        assert "\n" not in str(error)
        return error.code
    result.to_json()
    text.render(check_report(result, 3), width=80, color=False)
    return result.verdict
