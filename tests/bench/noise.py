"""False alarms and power of the permutation test, by number of repeats and kind of noise.

``python -m tests.bench.noise`` prints the table of docs/policy.md. Each cell is a share of seeded
pairs of checks: without a change, those in which any figure is called a regression; with one figure moved by twice the
standard deviation of its noise, those in which it is.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

import numpy as np

from nsys_digest.gate.significance import Samples, judge, least_p

Draw = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
NOISES: dict[str, Draw] = {
    "normal": lambda random, shape: random.standard_normal(shape),
    "lognormal": lambda random, shape: (
        (random.lognormal(0, 0.5, shape) - math.exp(0.125)) / math.sqrt((math.exp(0.25) - 1) * math.exp(0.25))
    ),
    "heavy-tailed": lambda random, shape: random.standard_t(3, shape) / math.sqrt(3),
}
"""Noise with mean 0 and standard deviation 1; the last is Student's t with 3 degrees of freedom."""


def share(draw: Draw, runs: int, *, figures: int, moved: float, relative: float, args: argparse.Namespace) -> float:
    """Return the share of pairs in which a change is found: in the moved figure, or in any where none is moved."""
    random = np.random.default_rng(args.seed)
    found = 0
    for _ in range(args.pairs):
        values = 1 + args.sd * draw(random, (figures, 2 * runs))
        values[0, runs:] += moved * args.sd
        trials = [Samples(tuple(row[:runs]), tuple(row[runs:]), "up", relative, 0.0, 0.0) for row in values]
        hits = [result.p_adjusted <= 1 - args.confidence + 1e-9 for result in judge(trials, args.confidence)]
        found += hits[0] if moved else any(hits)
    return found / args.pairs


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=1_000)
    parser.add_argument("--sd", type=float, default=0.01)
    parser.add_argument("--confidence", type=float, default=0.95)
    parser.add_argument("--seed", type=int, default=20_261_130)
    parser.add_argument("--repeats", type=int, nargs="*", default=list(range(3, 11)))
    args = parser.parse_args()
    print(
        "| noise | repeats | least p | false alarms, 1 figure | 10 figures | found, 2 sd, 1 figure | 10 sd, 1 of 10 |"
    )
    print("|---|---|---|---|---|---|---|")
    for name, draw in NOISES.items():
        for runs in args.repeats:
            cells = [
                share(draw, runs, figures=figures, moved=moved, relative=relative, args=args)
                for figures, moved, relative in ((1, 0, 0), (10, 0, 0), (1, 2, 0), (10, 10, 5 * args.sd))
            ]
            texts = " | ".join(f"{100 * cell:.1f} %" for cell in cells)
            print(f"| {name} | {runs} | {least_p(runs, runs):.2g} | {texts} |", flush=True)


if __name__ == "__main__":
    main()
