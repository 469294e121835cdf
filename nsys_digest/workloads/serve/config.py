"""What a serving run is made of, and what of it makes no sense."""

from __future__ import annotations

from dataclasses import dataclass

from nsys_digest.errors import UsageInvalid

GRAPH_MODES = ("none", "piecewise", "full")
DTYPES = ("float32", "float16", "bfloat16")
_KEYS_MULTIPLE = 64


@dataclass(frozen=True, slots=True)
class ModelSizes:
    """Sizes of the target model; the drafter is one layer of the same width."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    intermediate: int
    vocabulary: int
    ple_width: int
    experts: int
    """0: a dense MLP. Otherwise that many experts, each token's output from the best two."""

    @property
    def head_width(self) -> int:
        """Width of one attention head."""
        return self.hidden // self.heads

    @property
    def expert_choices(self) -> int:
        """Experts whose output a token takes."""
        return min(2, self.experts)

    def check(self) -> None:
        """Raise UsageInvalid where the sizes do not fit each other."""
        if self.hidden % self.heads or self.head_width % 2:
            raise UsageInvalid(
                f"--hidden {self.hidden} over --heads {self.heads}: each head needs the same even width; "
                "choose a hidden size that is an even multiple of the heads"
            )
        if self.heads % self.kv_heads:
            raise UsageInvalid(
                f"--heads {self.heads} over --kv-heads {self.kv_heads}: each key head serves the same number of heads; "
                "choose a divisor"
            )
        if self.experts == 1:
            raise UsageInvalid("--moe 1: a single expert needs no routing; give 0 for a dense MLP, or 2 or more")


LARGE = ModelSizes(
    layers=4, hidden=8192, heads=64, kv_heads=8, intermediate=28672, vocabulary=32768, ple_width=256, experts=0
)
"""Four layers of the shape that models of 70 billion parameters have: large kernels, and few of them."""
TINY = ModelSizes(layers=2, hidden=32, heads=2, kv_heads=1, intermediate=64, vocabulary=256, ple_width=8, experts=0)
"""For a CPU."""


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """A whole run: with the same one, the same tokens on the same device, up to ties between floats."""

    sizes: ModelSizes
    chunk_tokens: int = 1600
    drafts: int = 2
    max_requests: int = 8
    """Requests that are served at the same time, at most."""
    graphs: str = "none"
    graph_sizes: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
    """Padded token counts that graphs are captured for, rising."""
    temperature: float = 0.0
    synchronise: bool = False
    """Wait for the device behind each step, as lines left over from debugging do."""
    seed: int = 0
    dtype: str = "bfloat16"
    device: str = "cuda"

    @property
    def window(self) -> int:
        """Tokens that a decode step gives each request: its last token and the drafts."""
        return 1 + self.drafts

    def check(self) -> None:
        """Raise UsageInvalid where the options do not fit each other."""
        self.sizes.check()
        if self.graphs not in GRAPH_MODES:
            raise UsageInvalid(f"--graphs {self.graphs}: choose one of {', '.join(GRAPH_MODES)}")
        if self.dtype not in DTYPES:
            raise UsageInvalid(f"--dtype {self.dtype}: choose one of {', '.join(DTYPES)}")
        if self.graphs != "none" and not self.device.startswith("cuda"):
            raise UsageInvalid(
                f"--graphs {self.graphs} --device {self.device}: there are no CUDA graphs without a GPU; "
                "use --graphs none, or --device cuda"
            )
        if self.chunk_tokens < self.window * self.max_requests:
            raise UsageInvalid(
                f"--chunk-tokens {self.chunk_tokens}: {self.max_requests} requests that decode {self.window} tokens "
                f"each need {self.window * self.max_requests} in one step; raise it, or lower --max-requests"
            )
        if not self.graph_sizes or list(self.graph_sizes) != sorted(set(self.graph_sizes)) or self.graph_sizes[0] < 1:
            raise UsageInvalid("--graph-sizes: give whole numbers from 1 on, rising, separated by commas")


def cache_length(longest_tokens: int, window: int) -> int:
    """Return the positions that the KV cache has for each request.

    Beyond the longest request: room for the tokens of a step that are rejected, and one last position, into which
    padding writes and which nobody reads.
    """
    needed = longest_tokens + 2 * window + 1
    return -(-needed // _KEYS_MULTIPLE) * _KEYS_MULTIPLE
