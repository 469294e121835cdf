"""Draw the pictures of the documentation from the digests of fixtures.

Usage: ``python -m tests.figures``
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path

from nsys_digest import summarize

ROOT = Path(__file__).resolve().parents[1]
SERVE_GRAPHS = ROOT / "docs" / "images" / "serve-graphs.svg"
RUNS = {"none": "serve_none_node", "piecewise": "serve_piecewise_node", "full": "serve_full_node"}

WIDTH = 880
LEFT, RIGHT = 96, 96
TOP, BAR, STEP = 92, 40, 62
TICK_MS = 100
DIGIT = 7.5
"""A digit's width at the size of the labels, in pixels, rounded up."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of every bar: its words, and colours of the Okabe-Ito palette that colour-blind people tell apart."""

    label: str
    fill: str
    ink: str


PARTS = {
    "busy": Part("GPU busy", "#0072B2", "#FFFFFF"),
    "host": Part("idle: host code", "#E69F00", "#000000"),
    "launch_call": Part("idle: launch calls", "#D55E00", "#FFFFFF"),
    "module_call": Part("idle: loading code", "#BBBBBB", "#000000"),
    "rest": Part("idle: all else", "#56B4E9", "#000000"),
}


def measured(trace: Path) -> dict[str, int]:
    """Return the nanoseconds of each part: together the GPU span of the trace's one device, exactly."""
    digest = summarize(trace)
    if digest.idle is None or digest.gpu_busy_union_ns is None or len(digest.idle.devices) != 1:
        raise ValueError(f"{trace}: not a trace of one GPU")
    causes = {name: cause.sum_ns for name, cause in digest.idle.devices[0].causes.items()}
    named = {name: causes.pop(name) for name in PARTS if name in causes}
    return {"busy": digest.gpu_busy_union_ns, **named, "rest": sum(causes.values())}


def stacked(bars: Mapping[str, Mapping[str, int]], title: str, description: str) -> str:
    """Return an SVG of horizontal bars, on one axis from zero; a part is labelled where the number fits in."""
    longest_ns = max(sum(parts.values()) for parts in bars.values())
    scale = (WIDTH - LEFT - RIGHT) / longest_ns
    bottom = TOP + STEP * (len(bars) - 1) + BAR + 12
    font = 'font-family="Helvetica, Arial, sans-serif" font-size="13"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 44}" role="img" {font}>',
        f"<title>{escape(title)}</title>",
        f"<desc>{escape(description)}</desc>",
        f'<rect width="{WIDTH}" height="{bottom + 44}" fill="#FFFFFF"/>',
        f'<text x="16" y="28" font-size="16" font-weight="bold">{escape(title)}</text>',
        *_legend(),
    ]
    for tick in range(0, longest_ns // 1_000_000 + 1, TICK_MS):
        x = LEFT + tick * 1_000_000 * scale
        lines.append(f'<path d="M{x:.1f} {TOP - 10}V{bottom}" stroke="#DDDDDD"/>')
        lines.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle" fill="#444444">{tick}</text>')
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    lines.append(
        f'<text x="{middle:.1f}" y="{bottom + 36}" text-anchor="middle" fill="#444444">GPU span, milliseconds</text>'
    )
    for place, (name, parts) in enumerate(bars.items()):
        lines += _bar(name, parts, TOP + STEP * place, scale)
    return "\n".join([*lines, "</svg>", ""])


def _legend() -> list[str]:
    lines, x = [], LEFT
    for part in PARTS.values():
        lines.append(f'<rect x="{x}" y="47" width="14" height="14" fill="{part.fill}"/>')
        lines.append(f'<text x="{x + 20}" y="59">{escape(part.label)}</text>')
        x += 44 + round(6.6 * len(part.label))
    return lines


def _bar(name: str, parts: Mapping[str, int], y: int, scale: float) -> list[str]:
    baseline = y + BAR / 2 + 4.5
    lines = [f'<text x="{LEFT - 10}" y="{baseline}" text-anchor="end">{escape(name)}</text>']
    at_ns = 0
    for key, part in PARTS.items():
        ns = parts[key]
        x, width = LEFT + at_ns * scale, ns * scale
        lines.append(f'<rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{BAR}" fill="{part.fill}"/>')
        number = f"{ns / 1e6:.0f}"
        if width > DIGIT * len(number) + 6:
            lines.append(
                f'<text x="{x + width / 2:.1f}" y="{baseline}" text-anchor="middle" fill="{part.ink}">{number}</text>'
            )
        at_ns += ns
    total = f"{at_ns / 1e6:.1f} ms"
    lines.append(f'<text x="{LEFT + at_ns * scale + 8:.1f}" y="{baseline}" font-weight="bold">{total}</text>')
    return lines


def serve_graphs() -> str:
    """Return the picture of the serving loop without graphs, with pieces, and with whole ones."""
    bars = {mode: measured(ROOT / "fixtures" / "workloads" / f"{name}.sqlite") for mode, name in RUNS.items()}
    told = "; ".join(
        f"{mode}: " + ", ".join(f"{PARTS[key].label} {ns / 1e6:.1f} ms" for key, ns in parts.items())
        for mode, parts in bars.items()
    )
    return stacked(bars, "The same 17 serving steps by --graphs, on one NVIDIA H200", told)


def main() -> None:
    """Write all pictures."""
    SERVE_GRAPHS.write_text(serve_graphs(), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
