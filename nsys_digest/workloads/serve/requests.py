"""What is asked of the server: requests with lengths and arrivals, made up or read from a file."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsys_digest.errors import UsageInvalid

_KEYS = {"arrival_s", "prompt_tokens", "output_tokens"}
_MOST_TOKENS = 1 << 20
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class RequestSpec:
    """One request; it ends after so many tokens, or after so many decode steps where output_tokens is None."""

    arrival_s: float
    """Seconds after the start of the loop."""
    prompt_tokens: int
    output_tokens: int | None
    decode_steps: int | None = None

    def longest_tokens(self, window: int) -> int:
        """Return the most tokens that prompt and output can have together."""
        output = self.output_tokens if self.output_tokens is not None else 1 + (self.decode_steps or 0) * window
        return self.prompt_tokens + output


def read_requests(path: Path) -> tuple[RequestSpec, ...]:
    """Read requests from JSON lines; the order of the file is the order of service among those that have arrived.

    Raises:
        UsageInvalid: the file cannot be read, or a line is no request.

    """
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or error) if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageInvalid(f"{path}: the requests cannot be read ({reason}); give a file of JSON lines") from None
    if len(data) > _MOST_BYTES:
        raise UsageInvalid(f"{path}: larger than 64 MB; give fewer requests")
    specs = tuple(
        _request(f"{path}, line {number}", line) for number, line in enumerate(text.splitlines(), 1) if line.strip()
    )
    if not specs:
        raise UsageInvalid(f"{path}: there is no request in it; give one JSON object a line")
    return specs


def _request(where: str, line: str) -> RequestSpec:
    example = '{"arrival_s": 0.5, "prompt_tokens": 800, "output_tokens": 64}'
    try:
        found: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageInvalid(f"{where}: no JSON; a request is written as {example}") from None
    if not isinstance(found, dict) or set(found) != _KEYS:
        raise UsageInvalid(f"{where}: no request of these three keys: {example}")
    arrival = found["arrival_s"]
    if isinstance(arrival, bool) or not isinstance(arrival, int | float) or not 0 <= arrival < math.inf:
        raise UsageInvalid(f"{where}: arrival_s is no number of seconds from 0 on; write it as {example}")
    for key in ("prompt_tokens", "output_tokens"):
        count = found[key]
        if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= _MOST_TOKENS:
            raise UsageInvalid(f"{where}: {key} is no whole number from 1 to {_MOST_TOKENS}; write it as {example}")
    return RequestSpec(float(arrival), found["prompt_tokens"], found["output_tokens"])
