"""The serving loop at a tiny size on the CPU: against a plain model, against itself without tricks, and its counts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import nsys_digest
from builder import TraceBuilder
from nsys_digest.workloads.errors import WorkloadFailed
from support import ROOT, call, spawn, the_line

pytestmark = pytest.mark.workloads
torch = pytest.importorskip("torch")
pytest.importorskip("nvtx")

from nsys_digest.workloads.ranges import Marks  # noqa: E402
from nsys_digest.workloads.serve import dispatch, model  # noqa: E402
from nsys_digest.workloads.serve.attention import KVCache, PrefillRow  # noqa: E402
from nsys_digest.workloads.serve.config import ModelSizes, ServeConfig  # noqa: E402
from nsys_digest.workloads.serve.dispatch import captured_sizes  # noqa: E402
from nsys_digest.workloads.serve.engine import Engine  # noqa: E402
from nsys_digest.workloads.serve.loop import Outcome, serve, serve_all  # noqa: E402
from nsys_digest.workloads.serve.model import Target  # noqa: E402
from nsys_digest.workloads.serve.requests import RequestSpec, read_requests  # noqa: E402
from nsys_digest.workloads.serve.scheduler import Scheduler  # noqa: E402
from nsys_digest.workloads.serve.stack import Inputs, Stack  # noqa: E402

SIZES = ModelSizes(layers=2, hidden=16, heads=4, kv_heads=2, intermediate=24, vocabulary=61, ple_width=4, experts=0)
CONFIG = ServeConfig(SIZES, chunk_tokens=16, max_requests=1, device="cpu", dtype="float32")
THREE = (RequestSpec(0.0, 37, 30), RequestSpec(0.0, 9, 12), RequestSpec(0.0, 20, 21))
REFERENCE = ROOT.parent / "shared" / "seeds" / "summary.json"
REFERENCE_MARKS = {
    "CG_DISPATCH:actual=1600:mode=NONE:padded=1600": 40,
    "CG_DISPATCH:actual=742:mode=NONE:padded=742": 2,
    "CG_DISPATCH:actual=3:mode=NONE:padded=3": 50,
    "CG_DISPATCH:actual=1:mode=NONE:padded=1": 46,
}
REFERENCE_RANGES = {
    "PLE_lookup_tokens=1600": 20,
    "PLE_lookup_tokens=742": 1,
    "PLE_lookup_tokens=3": 25,
    "PLE_wait_for_GPU": 46,
    "PLE_CPU_dedup": 46,
    "PLE_CPU_gather": 46,
}


def outputs(config: ServeConfig, specs: tuple[RequestSpec, ...] = THREE) -> list[list[int]]:
    return [request.output for request in serve(config, specs).requests]


@pytest.fixture(autouse=True)
def layers_that_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what layers add outweigh the embedding, so that a token depends on all before it."""
    monkeypatch.setattr(model, "_GAIN", 4.0)


def norm(x: Any) -> Any:
    return x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def plain_layers(module: Any, x: Any, ple: Any) -> Any:
    """Return float64 hidden states of all tokens at once, by layers written out again: no cache, no chunks."""
    sizes = module.sizes
    width, share = sizes.head_width, sizes.heads // sizes.kv_heads

    def turn(x: Any) -> Any:
        """Multiply as complex numbers: the first half of a head is real, the second imaginary."""
        rates = 10_000.0 ** (-torch.arange(width // 2, dtype=torch.float64) * 2 / width)
        angles = torch.arange(len(x), dtype=torch.float64)[:, None] * rates
        turned = torch.complex(x[:, : width // 2], x[:, width // 2 :]) * torch.polar(torch.ones_like(angles), angles)
        return torch.cat([turned.real, turned.imag], dim=1)

    for index, layer in enumerate(module.layers):
        parts = (norm(x) @ layer.qkv.double().T).split(width, dim=1)
        attended = []
        for head in range(sizes.heads):
            key = turn(parts[sizes.heads + head // share])
            value = parts[sizes.heads + sizes.kv_heads + head // share]
            scores = turn(parts[head]) @ key.T / width**0.5
            later = torch.ones_like(scores, dtype=torch.bool).triu(1)
            attended.append(torch.softmax(scores.masked_fill(later, -1e300), dim=1) @ value)
        x = x + torch.cat(attended, dim=1) @ layer.output.double().T
        if sizes.experts:
            x = x + torch.stack([one_by_one(layer, token) for token in norm(x)])
        else:
            gate, up = (norm(x) @ layer.up.double().T).chunk(2, dim=1)
            x = x + (gate * gate.sigmoid() * up) @ layer.down.double().T
        if ple is not None:
            gate = torch.nn.functional.gelu(x @ layer.ple_gate.double().T, approximate="tanh")
            x = x + (gate * ple[:, index]) @ layer.ple_output.double().T
    return norm(x)


def plain_hidden(engine: Engine, tokens: Any) -> Any:
    ple = engine.ple.table.double()[tokens].view(len(tokens), SIZES.layers, -1)
    return plain_layers(engine.target, engine.target.embedding.double()[tokens], ple)


def plain_logits(engine: Engine, tokens: Any) -> Any:
    return plain_hidden(engine, tokens) @ engine.target.head.double().T


def plain_drafts(engine: Engine, tokens: Any, count: int) -> list[int]:
    """Return what is guessed behind tokens, the last of which was sampled: each guess from all before it, anew."""
    drafter = engine.drafter
    hidden, behind = plain_hidden(engine, tokens[:-1]), tokens[1:]
    for _ in range(count):
        inputs = torch.cat([norm(drafter.embedding.double()[behind]), norm(hidden)], dim=1) @ drafter.join.double().T
        made = plain_layers(drafter, inputs, None)[-1:]
        behind = torch.cat([behind, (made @ drafter.head.double().T).argmax(dim=1)])
        hidden = torch.cat([hidden, made])
    return behind[len(tokens) - 1 :].tolist()


def one_by_one(layer: Any, token: Any) -> Any:
    """Return what the two best experts make of one token, the others not asked."""
    scores = layer.router.double() @ token
    best = sorted(range(len(scores)), key=lambda expert: -scores[expert])[:2]
    shares = torch.softmax(scores[best], dim=0)
    total = 0.0
    for share, expert in zip(shares, best, strict=True):
        gate, up = (layer.up[expert].double() @ token).chunk(2)
        total = total + share * (layer.down[expert].double() @ (gate * gate.sigmoid() * up))
    return total


@pytest.mark.parametrize("experts", [0, 4])
def test_chunks_and_drafts_give_the_tokens_of_one_plain_forward(experts: int) -> None:
    config = replace(CONFIG, sizes=replace(SIZES, experts=experts), max_requests=2)
    engine = Engine(config, THREE, Marks())
    engine.prepare()
    done = serve_all(engine, config, THREE, Marks())
    for request, prompt in zip(done.requests, engine.prompts, strict=True):
        assert len(request.output) == request.spec.output_tokens
        tokens = torch.cat([prompt, torch.tensor(request.output)])
        expected = plain_logits(engine, tokens)[len(prompt) - 1 : -1].argmax(dim=1)
        assert request.output == expected.tolist()


def test_logits_of_chunks_are_those_of_one_plain_forward() -> None:
    # positions 0 to 36 in chunks of 16, 16 and 5, then 3 at once as a decode does
    engine = Engine(CONFIG, THREE[:1], Marks())
    tokens = torch.cat([engine.prompts[0], torch.tensor([5, 7, 11])])
    like = engine.target.embedding
    stack = Stack(engine.target, KVCache(SIZES, 2, 1, 64, like), engine.ple)
    found = []
    with torch.inference_mode():
        for start, end in ((0, 16), (16, 32), (32, 37), (37, 40)):
            own = engine.ple.look_up(end - start, lambda part=tokens[start:end]: part, Marks())
            slots = torch.zeros(end - start, dtype=torch.int64)
            inputs = Inputs(tokens[start:end], torch.arange(start, end), slots, own, like[: end - start])
            found.append(engine.target.logits(stack.forward(inputs, [PrefillRow(0, end - start, 0, start)])))
    torch.testing.assert_close(torch.cat(found).double(), plain_logits(engine, tokens), rtol=1e-4, atol=1e-4)


def test_drafts_are_those_of_a_plain_drafter() -> None:
    config = replace(CONFIG, drafts=3)
    spec = RequestSpec(0.0, 37, None, 6)
    engine = Engine(config, (spec,), Marks())
    engine.prepare()
    scheduler = Scheduler((spec,), 1, config.window, config.chunk_tokens)
    while segments := scheduler.next_step(0.0):
        engine.step(segments)
        engine.read_results()
        request = segments[0].request
        if request.output:
            tokens = torch.cat([engine.prompts[0], torch.tensor(request.output)])
            assert engine.next_tokens(0) == [request.output[-1], *plain_drafts(engine, tokens, 3)]
    assert request.drafts_accepted > 0
    assert request.context == 37 + 6 + request.drafts_accepted


def test_the_context_decides_the_tokens() -> None:
    """Otherwise the tests above would not see a wrong attention."""
    engine = Engine(CONFIG, THREE[:1], Marks())
    prompt = engine.prompts[0]
    best = plain_logits(engine, prompt).argmax(dim=1)
    changed = 0
    for place in range(30):
        other = prompt.clone()
        other[place] = (prompt[place] + 1) % SIZES.vocabulary
        changed += int((plain_logits(engine, other).argmax(dim=1) != best)[place + 1 :].any())
    assert changed > 20


@pytest.mark.parametrize("temperature", [0.0, 0.8])
def test_drafts_change_no_token_and_some_are_right(temperature: float) -> None:
    config = replace(CONFIG, temperature=temperature, max_requests=3, chunk_tokens=32)
    plain = outputs(replace(config, drafts=0))
    for drafts in (1, 2, 4):
        done = serve(replace(config, drafts=drafts), THREE)
        assert [request.output for request in done.requests] == plain
        assert 0 < done.drafts_accepted < done.drafts_offered
        decodes = sum(request.decode_steps for request in done.requests)
        assert done.drafts_offered == drafts * decodes
        # each request has one token from its prompt; a decode gives one and what was accepted; some are cut at the end
        assert 0 <= 3 + decodes + done.drafts_accepted - sum(map(len, plain)) <= 3 * drafts


def test_the_temperature_and_the_seed_matter() -> None:
    warm = replace(CONFIG, temperature=0.8)
    assert outputs(warm) == outputs(warm)
    assert outputs(warm) != outputs(CONFIG)
    assert outputs(replace(CONFIG, seed=1)) != outputs(CONFIG)


def test_a_request_is_served_alike_alone_and_among_others() -> None:
    alone = outputs(CONFIG)
    assert outputs(replace(CONFIG, max_requests=3)) == alone
    assert outputs(replace(CONFIG, max_requests=2, chunk_tokens=7)) == alone


def test_waiting_behind_each_step_changes_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    waited = []
    monkeypatch.setattr(Engine, "synchronize", lambda _: waited.append(1))
    without = serve(CONFIG, THREE)
    before = len(waited)
    done = serve(replace(CONFIG, synchronise=True), THREE)
    assert [request.output for request in done.requests] == [request.output for request in without.requests]
    assert len(waited) - before == before + len(done.steps)


class Replayed:
    """Graphs without a GPU: a replay does the captured work again and writes the captured tensors, and only these."""

    launched: list[tuple[str, str]]

    def __call__(self, work: Callable[[], Any]) -> tuple[Any, Any]:
        """Return a graph of the work, and what it made, as `Capture` does."""
        made, launched = work(), self.launched

        class Graph:
            def replay(self) -> None:
                launched.append(("launch", ""))
                write(made, work())

            def reset(self) -> None:
                """Nothing is held."""

        return Graph(), made


def write(old: Any, new: Any) -> None:
    if is_dataclass(old):
        for field in fields(old):
            write(getattr(old, field.name), getattr(new, field.name))
    elif old is not None and old.data_ptr() != new.data_ptr():
        old.copy_(new)


@pytest.fixture
def replayed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Outcome, Marks]]:
    def run(config: ServeConfig, specs: tuple[RequestSpec, ...] = THREE) -> tuple[Outcome, Marks]:
        marks = Marks(keep=True)
        monkeypatch.setattr(Replayed, "launched", marks.kept, raising=False)
        monkeypatch.setattr(dispatch, "Capture", Replayed)
        engine = Engine(config, specs, marks)
        engine.prepare()
        return serve_all(engine, config, specs, marks), marks

    return run


@pytest.mark.parametrize(
    ("graphs", "sizes"), [("full", (1, 2, 4, 8, 16)), ("full", (3, 7, 9)), ("piecewise", (4, 8)), ("piecewise", (16,))]
)
def test_replayed_and_padded_steps_give_the_same_tokens(
    graphs: str, sizes: tuple[int, ...], replayed: Callable[..., tuple[Outcome, Marks]]
) -> None:
    config = replace(CONFIG, max_requests=3, graphs=graphs, graph_sizes=sizes)
    done, marks = replayed(config)
    assert [request.output for request in done.requests] == outputs(CONFIG)
    # a mark of a graph is followed by launches, and one without by none, up to the next mark
    launches = Counter[str]()
    mode = ""
    of_mode: dict[str, list[int]] = {"FULL": [], "PIECEWISE": [], "NONE": []}
    for kind, name in marks.kept[[kind for kind, _ in marks.kept].index("mark") :]:
        if kind == "mark":
            mode, padded = re.fullmatch(r"CG_DISPATCH:actual=\d+:mode=(\w+):padded=(\d+)", name).groups()  # type: ignore
            of_mode[mode].append(0)
        elif kind == "launch":
            of_mode[mode][-1] += 1
            launches[mode, int(padded)] += 1
    # all of the model in one graph; or two layers cut into three, and the drafter's one into two
    assert set(of_mode["FULL"]) <= {1}
    assert set(of_mode["PIECEWISE"]) <= {2, 3}
    assert set(of_mode["NONE"]) == {0}
    assert of_mode[graphs.upper()]
    assert dict(launches) == done.graph_launches


def test_padding_is_what_the_marks_say(replayed: Callable[..., tuple[Outcome, Marks]]) -> None:
    # a prompt of 37 in chunks of 16, 16 and 5, then decodes of 3: in a graph for 4, which has room for one request
    one = (RequestSpec(0.0, 37, None, 6),)
    done, _ = replayed(replace(CONFIG, graphs="full"), one)
    assert done.marks == {
        "CG_DISPATCH:actual=16:mode=NONE:padded=16": 4,
        "CG_DISPATCH:actual=5:mode=NONE:padded=5": 2,
        "CG_DISPATCH:actual=3:mode=FULL:padded=4": 12,
        "CG_DISPATCH:actual=1:mode=NONE:padded=1": 9,
    }
    assert done.graph_launches == {("FULL", 4): 12}
    done, _ = replayed(replace(CONFIG, graphs="piecewise", graph_sizes=(2, 4, 8)), one)
    assert done.marks == {
        "CG_DISPATCH:actual=16:mode=NONE:padded=16": 4,
        "CG_DISPATCH:actual=5:mode=PIECEWISE:padded=8": 2,
        "CG_DISPATCH:actual=3:mode=PIECEWISE:padded=4": 12,
        "CG_DISPATCH:actual=1:mode=NONE:padded=1": 9,
    }
    assert done.graph_launches == {("PIECEWISE", 8): 5, ("PIECEWISE", 4): 30}


@pytest.mark.parametrize("graphs", ["full", "piecewise"])
def test_a_digest_of_what_was_emitted_agrees_with_the_account(
    graphs: str, replayed: Callable[..., tuple[Outcome, Marks]], tmp_path: Path
) -> None:
    """Marks, ranges and launches are drawn into a trace in their order, 10 ns apart, each launch with a kernel."""
    done, marks = replayed(replace(CONFIG, max_requests=3, graphs=graphs, graph_sizes=(4, 8, 16)))
    trace = TraceBuilder("2025.3").gpu(0, "GPU").process(1, "python").session(1_000_000)
    begun: list[tuple[str, int]] = []
    first = [kind for kind, _ in marks.kept].index("mark")
    for at, (kind, name) in enumerate(marks.kept[first:], 1):
        if kind == "mark":
            trace.mark(name, at * 10)
        elif kind == "push":
            begun.append((name, at * 10))
        elif kind == "pop":
            trace.range(*begun.pop(), at * 10)
        else:
            trace.api("cudaGraphLaunch_v10000", at * 10, at * 10 + 5, correlation=at)
            trace.kernel(at * 10 + 2, at * 10 + 9, correlation=at)
    digest = nsys_digest.summarize(trace.write(tmp_path / "trace.sqlite")).to_dict()
    assert digest["dispatch"] == done.marks
    assert {name: found["count"] for name, found in digest["nvtx"].items()} == done.ranges
    assert "dispatch-disagrees" not in {warning["code"] for warning in digest["warnings"]}
    found = {
        (group["mode"], group["padded"]): group["graph_launch_count"]
        for group in digest["dispatch_steps"]
        if group["padded"] is not None and group["graph_launch_count"]
    }
    assert found == done.graph_launches


def test_graphs_are_captured_for_sizes_that_can_be_used() -> None:
    full = replace(CONFIG, graphs="full", chunk_tokens=1600)
    assert captured_sizes(full) == [4]
    assert captured_sizes(replace(full, max_requests=8)) == [4, 8, 16, 32]
    assert captured_sizes(replace(full, drafts=0, max_requests=4)) == [1, 2, 4]
    assert captured_sizes(replace(full, graphs="piecewise", chunk_tokens=100)) == [1, 2, 4, 8, 16, 32, 64]


def test_the_default_run_has_the_marks_and_ranges_of_the_reference() -> None:
    smallest = ("--layers", "1", "--hidden", "4", "--heads", "1", "--kv-heads", "1", "--intermediate", "4")
    ran = call("workload", "serve", "--device", "cpu", "--json", *smallest)
    assert (ran.status, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert found["marks"] == REFERENCE_MARKS
    assert found["ranges"] == REFERENCE_RANGES
    steps = [(step["prompt_tokens"], step["decode_tokens"]) for step in found["steps"]]
    assert steps == [(1600, 0)] * 20 + [(742, 0)] + [(0, 3)] * 25
    if REFERENCE.exists():
        reference = json.loads(REFERENCE.read_text(encoding="utf-8"))
        assert found["marks"] == reference["dispatch"]
        assert found["ranges"] == {name: times["count"] for name, times in reference["nvtx"].items()}


def test_ranges_nest_as_in_the_reference() -> None:
    marks = Marks(keep=True)
    engine = Engine(CONFIG, THREE[:1], marks)
    engine.prepare()
    assert marks.kept == []
    serve_all(engine, CONFIG, THREE[:1], marks)
    inner = ("PLE_wait_for_GPU", "PLE_CPU_dedup", "PLE_CPU_gather")
    text = "CG_DISPATCH:actual=16:mode=NONE:padded=16"
    assert marks.kept[:11] == [
        ("mark", text),
        ("push", "PLE_lookup_tokens=16"),
        *((kind, name) for name in inner for kind in ("push", "pop")),
        ("pop", "PLE_lookup_tokens=16"),
        ("mark", text),
        ("mark", "CG_DISPATCH:actual=1:mode=NONE:padded=1"),
    ]


def test_without_drafts_there_is_one_mark_a_step() -> None:
    done = serve(replace(CONFIG, drafts=0), (RequestSpec(0.0, 20, None, 5),))
    assert done.marks == {
        "CG_DISPATCH:actual=16:mode=NONE:padded=16": 1,
        "CG_DISPATCH:actual=4:mode=NONE:padded=4": 1,
        "CG_DISPATCH:actual=1:mode=NONE:padded=1": 5,
    }
    assert len(done.requests[0].output) == 6


def test_requests_share_steps(tmp_path: Path) -> None:
    # 16 tokens a step; a (prompt 20) and b (prompt 6) arrive at once, two slots, drafts 2
    #   step 0: a 16          step 1: a 4, b 6        step 2: decodes of both, 6 tokens
    file = tmp_path / "requests.jsonl"
    lines = [
        {"arrival_s": 0, "prompt_tokens": 20, "output_tokens": 8},
        {"arrival_s": 0.0, "prompt_tokens": 6, "output_tokens": 8},
    ]
    file.write_text("\n".join(map(json.dumps, lines)) + "\n\n", encoding="utf-8")
    ran = call("workload", "serve", "--device", "cpu", "--json", "--chunk-tokens", "16", "--requests", file)
    assert (ran.status, ran.err) == (0, "")
    found = json.loads(ran.out)
    steps = [(step["prompt_tokens"], step["decode_tokens"], step["requests"]) for step in found["steps"]]
    assert steps[:3] == [(16, 0, 1), (10, 0, 2), (0, 6, 2)]
    assert [len(request["output"]) for request in found["requests"]] == [8, 8]
    assert found["summary"]["output_tokens"] == 16
    assert found["marks"]["CG_DISPATCH:actual=2:mode=NONE:padded=2"] >= 2


def test_an_arrival_is_waited_for() -> None:
    late = (RequestSpec(0.2, 5, 3), RequestSpec(0.0, 5, 3))
    done = serve(CONFIG, late)
    assert done.wall_s >= 0.2
    assert [len(request.output) for request in done.requests] == [3, 3]


GOOD = {"arrival_s": 0, "prompt_tokens": 5, "output_tokens": 3}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "there is no request in it"),
        ("\n\n", "there is no request in it"),
        ("{", "line 1: no JSON"),
        ("[" * 100_000, "line 1: no JSON"),
        ("[1]", "line 1: no request of these three keys"),
        (json.dumps(GOOD) + "\n" + json.dumps(GOOD | {"more": 1}), "line 2: no request of these three keys"),
        (json.dumps(GOOD | {"arrival_s": -1}), "arrival_s is no number"),
        (json.dumps(GOOD | {"arrival_s": True}), "arrival_s is no number"),
        (json.dumps(GOOD).replace("0", "NaN", 1), "arrival_s is no number"),
        (json.dumps(GOOD).replace("0", "1e999", 1), "arrival_s is no number"),
        (json.dumps(GOOD).replace("0", "9" * 5000, 1), "line 1"),
        (json.dumps(GOOD | {"prompt_tokens": 0}), "prompt_tokens is no whole number"),
        (json.dumps(GOOD | {"output_tokens": 1.5}), "output_tokens is no whole number"),
        (json.dumps(GOOD | {"prompt_tokens": 1 << 21}), "prompt_tokens is no whole number"),
    ],
)
def test_a_bad_file_of_requests_is_one_line(text: str, told: str, tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text(text, encoding="utf-8")
    line = the_line(call("workload", "serve", "--device", "cpu", "--requests", file), 2, "usage-invalid")
    assert line.startswith(f"{file}")
    assert told in line


def test_unreadable_files_of_requests(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    for name in ("missing", "binary", "."):
        the_line(call("workload", "serve", "--device", "cpu", "--requests", tmp_path / name), 2, "usage-invalid")


def test_a_file_keeps_its_order(tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_text(json.dumps(GOOD | {"arrival_s": 0.5}) + "\n" + json.dumps(GOOD), encoding="utf-8")
    assert read_requests(file) == (RequestSpec(0.5, 5, 3), RequestSpec(0.0, 5, 3))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--graphs", "full"), "no CUDA graphs without a GPU"),
        (("--graphs", "piecewise"), "no CUDA graphs without a GPU"),
        (("--hidden", "33"), "--hidden 33 over --heads 2"),
        (("--heads", "2", "--kv-heads", "3"), "--heads 2 over --kv-heads 3"),
        (("--moe", "1"), "--moe 1"),
        (("--chunk-tokens", "2"), "--chunk-tokens 2"),
        (("--graph-sizes", "4,2"), "--graph-sizes"),
        (("--graph-sizes", "a"), "--graph-sizes a"),
        (("--graph-sizes", "0,1"), "--graph-sizes"),
        (("--requests", "x", "--decode-steps", "3"), "--decode-steps with --requests"),
    ],
)
def test_options_that_do_not_fit_are_one_line(words: tuple[str, ...], told: str) -> None:
    assert told in the_line(call("workload", "serve", "--device", "cpu", *words), 2, "usage-invalid")


WITHOUT = """
import sys
sys.modules[sys.argv[1]] = None
from nsys_digest.cli import main
sys.exit(main(sys.argv[2:]))
"""


@pytest.mark.parametrize("package", ["torch", "nvtx"])
@pytest.mark.parametrize("name", ["serve", "train"])
def test_a_package_that_is_not_there_is_one_line(name: str, package: str) -> None:
    ran = spawn(package, "workload", name, "--device", "cpu", script=WITHOUT)
    line = the_line(ran, 6, "workload-dependency")
    assert package in line
    assert "pip install 'nsys-digest[workloads]'" in line


def test_too_little_memory_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    # a million positions for 4096 requests, each of 1024 heads of 64 floats: 1 PiB, more than addresses reach
    sizes = replace(SIZES, hidden=65536, heads=1024, kv_heads=1024, layers=1, intermediate=1, vocabulary=2)
    monkeypatch.setattr(Target, "__init__", lambda self, sizes, generator, like: torch.nn.Module.__init__(self))
    with pytest.raises(WorkloadFailed, match="too little memory"):
        serve(replace(CONFIG, sizes=sizes, max_requests=4096, chunk_tokens=1 << 14), (RequestSpec(0.0, 1 << 20, 1),))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_gpu_that_is_not_there_is_one_line() -> None:
    the_line(call("workload", "serve"), 6, "workload-device")


def test_the_log_tells_what_the_document_tells() -> None:
    words = ("--device", "cpu", "--prompt-tokens", "40", "--chunk-tokens", "16", "--decode-steps", "3")
    lines = call("workload", "serve", *words).out.splitlines()
    found = json.loads(call("workload", "serve", *words, "--json").out)
    kinds = Counter(line.split()[0] for line in lines)
    assert kinds["config"] == kinds["serve_summary"] == 1
    assert kinds["step"] == found["summary"]["steps"] == 6
    counts = dict(re.fullmatch(r"mark_count text=(\S+) count=(\d+)", x).groups() for x in lines if "mark_count" in x)  # type: ignore
    assert {text: int(count) for text, count in counts.items()} == found["marks"]
    assert f"drafts_accepted={found['summary']['drafts_accepted']} " in lines[-1]


def test_padding_reaches_no_position_that_is_read() -> None:
    cache = KVCache(SIZES, 1, 2, 64, torch.zeros(1, 16))
    rows = cache.rows(torch.tensor([0, 1]), torch.tensor([63, 5]))
    # slot 0, position 63 of either head; slot 1, position 5: rows are (slot * 2 + head) * 64 + position
    assert rows.tolist() == [63, 127, 133, 197]
    assert not cache.hidden_keys(torch.tensor([5, 6, 7]), 3, 64)[0, 0, 0, 0, :6].any()
    assert cache.hidden_keys(torch.tensor([5, 6, 7]), 3, 64)[0, 0, 0, 0, 6:].all()
