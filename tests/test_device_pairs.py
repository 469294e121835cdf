"""Which GPU is compared with which: one answer for the account of a span, the tables, and a check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from digests import GOLDEN
from nsys_digest import check, diff, load
from nsys_digest.compare.devices import documents, pair_devices
from nsys_digest.compare.runs import Run, RunSet
from nsys_digest.gate.policy import parse_policy
from nsys_digest.model.base_types import Device
from nsys_digest.model.digest import Digest

SERVE = load(GOLDEN / "serve.json")
(BUSY,) = (device for device in SERVE.devices if device.span_ns is not None)


def device(ordinal: int, span_ns: int | None = 1_000, name: str = "H200") -> Device:
    busy_ns = None if span_ns is None else span_ns // 2
    return replace(BUSY, device=ordinal, name=name, span_ns=span_ns, busy_ns=busy_ns)


def digest(*devices: Device) -> Digest:
    """Return a digest of these devices; each that did work has idle time, all of it in host code."""
    assert SERVE.idle is not None
    account = SERVE.idle.devices[0]
    idle = [
        replace(
            account,
            device=one.device,
            idle_ns=one.idle_ns,
            causes={
                name: replace(cause, sum_ns=one.idle_ns if name == "host" else 0)
                for name, cause in account.causes.items()
            },
        )
        for one in devices
        if one.idle_ns is not None
    ]
    return replace(SERVE, devices=devices, idle=replace(SERVE.idle, devices=tuple(idle)), communication=None)


def ordinals(*numbers: int) -> Digest:
    return digest(*(device(number, 1_000 * (at + 1)) for at, number in enumerate(numbers)))


@pytest.mark.parametrize(
    ("base", "head", "expected"),
    [
        ((0, 1), (0, 1), [(0, 0), (1, 1)]),
        ((0, 1), (1, 2), [(0, 1), (1, 2)]),  # the same work on the next GPUs
        ((0, 1, 2, 3), (0, 1, 2, 7), [(0, 0), (1, 1), (2, 2), (3, 7)]),
        ((4,), (7,), [(4, 7)]),
        ((0, 0), (0, 1), [(0, 0), (0, 1)]),  # two processes that both call their GPU 0
        ((0, 1, 2), (1, 3), [(0, 3), (1, 1)]),  # of another number: by ordinal, then in order
        ((0, 0), (0,), [(0, 0)]),
        ((), (0,), []),
    ],
)
def test_pairs(base: Sequence[int], head: Sequence[int], expected: list[tuple[int, int]]) -> None:
    pairs = pair_devices(ordinals(*base), ordinals(*head))
    assert [(base[one], head[other]) for one, other in pairs] == expected


def test_models_are_paired_with_their_like() -> None:
    base = digest(device(0, name="H200"), device(1, name="A100"), device(2, name="H200"))
    head = digest(device(0, name="A100"), device(1, name="H200"), device(2, name="H200"))
    assert pair_devices(base, head) == ((0, 1), (1, 0), (2, 2))
    other = digest(device(0, name="A100"), device(1, name="A100"), device(2, name="H200"))
    assert pair_devices(base, other) == ((0, 0), (1, 1), (2, 2))


@pytest.mark.parametrize(("base", "head"), [((0, 1), (1, 2)), ((0, 0), (0, 1)), ((0, 1), (0, 0)), ((3, 5), (0, 1))])
def test_a_check_and_a_comparison_say_the_same(base: Sequence[int], head: Sequence[int]) -> None:
    """The first GPU has a span of 1 µs, the second one of 2 µs, on both sides: nothing moved."""
    before, after = ordinals(*base), ordinals(*head)
    rules = "".join(
        f"[[rule]]\nfigure = '{path}'\nmax_change = 0\nbad = 'either'\n"
        for path in ("devices.*.span_s", "idle.devices.*.causes.host.sum_s")
    )
    result = check(after, before, parse_policy(rules, "p.toml"))
    assert [outcome.verdict for outcome in result.outcomes] == ["pass"] * 4, [one.reason for one in result.outcomes]
    found = diff(RunSet((Run("b", before),)), RunSet((Run("h", after),)))
    assert [device.breakdown.change_ns for device in found.devices] == [0, 0]
    assert [(one.base_device, one.head_device) for one in found.devices] == list(zip(base, head, strict=True))
    idle = found.tables["idle"]
    assert idle is not None
    assert not [*idle.appeared, *idle.vanished]


def test_a_gpu_that_did_nothing_makes_room() -> None:
    base = digest(device(0), device(1, None))
    head = digest(device(0, None), device(1))
    (document,), notes = documents(RunSet((Run("base", base),)), head)
    assert sorted((one["device"], one["span_s"]) for one in document["devices"]) == [(0, None), (1, 1e-6)]
    assert notes == ("base used other GPUs than HEAD; its GPU ordinals are read 0 as 1, 1 as 0",)
