"""Several GPUs: communication that nothing hides, and work that is not shared evenly."""

from __future__ import annotations

from nsys_digest.findings.thresholds import WORKING_SHARE
from nsys_digest.findings.view import Found, Rule, View
from nsys_digest.model.figures import numbered
from nsys_digest.model.section_types import Communication
from nsys_digest.units import duration, percent


def _communication(view: View) -> dict[str, Communication]:
    return dict(numbered((str(one.device), one) for one in view.digest.communication or ()))


def _exposed(view: View) -> Found | None:
    found = _communication(view)
    if not found:
        return None
    name, most = max(found.items(), key=lambda item: item[1].exposed_ns)
    kinds = ", ".join(list(most.by_kind)[:3])
    return Found(
        most.exposed_ns,
        f"GPU {name} ran nothing but communication for {duration(most.exposed_ns)} "
        f"({percent(most.exposed_ns, most.union_ns)} of its communication; {kinds})",
        "Overlap it with compute: bucket gradients (DDP bucket_cap_mb), prefetch in FSDP, a second stream for tensor "
        "parallel all-reduces or sequence parallelism; a rank that is late makes the others wait in the collective",
        (f"communication.{name}.exposed_s", f"communication.{name}.hidden_s", f"communication.{name}.union_s"),
    )


def _imbalance(view: View) -> Found | None:
    exposed = {name: one.exposed_ns for name, one in _communication(view).items()}
    compute = {name: (device.busy_ns or 0) - exposed.get(name, 0) for name, device in view.devices}
    working = {name: ns for name, ns in compute.items() if ns >= WORKING_SHARE * max(compute.values())}
    if len(working) < 2:
        return None
    most, least = max(working, key=working.__getitem__), min(working, key=working.__getitem__)
    return Found(
        working[most] - sum(working.values()) // len(working),
        f"GPU {most} computed {duration(working[most])} and GPU {least} {duration(working[least])}: evenly shared, the "
        f"busiest would have {duration(working[most] - sum(working.values()) // len(working))} less",
        "Give each GPU the same work: even sequence lengths per rank, balanced pipeline stages and experts, the same "
        "number of layers or heads",
        tuple(f"devices.{name}.busy_s" for name in (most, least))
        + tuple(f"communication.{name}.exposed_s" for name in (most, least) if name in exposed),
    )


RULES = (
    Rule("exposed-communication", "collectives during which no other kernel runs", _exposed),
    Rule("imbalance", "GPUs that share the work unevenly", _imbalance),
)
