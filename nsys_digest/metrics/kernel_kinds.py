"""Kernels by what they do: categories by rules, and communication against compute."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsys_digest.codec import encode
from nsys_digest.collect.events import Bools, Ints
from nsys_digest.collect.gpu import GpuCollector
from nsys_digest.events import Operations
from nsys_digest.intervals import Int64s, Intervals, empty, grouped_union, intersect, subtract, union
from nsys_digest.rules import COMMUNICATION, OTHER, Rule, Rules
from nsys_digest.schema.tables import GPU_KINDS
from nsys_digest.sections import Category, Communication, KindTotal

_SLICE = 1 << 19


def full_names(gpu: GpuCollector, strings: Mapping[int, str]) -> list[str]:
    """Return the full name of each kernel label; the short one where the export has no other."""
    short, full = gpu.kernel_names.values, gpu.full_names.values
    return [strings.get(full[long]) or strings.get(short[brief], "") for brief, long in gpu.kernel_labels.pairs]


class Classified:
    """The kernels among the operations, each with the rule that knows its name."""

    def __init__(self, operations: Operations, names: Sequence[str], rules: Rules) -> None:
        """Classify each label once; ``names`` are the full names by label."""
        self.rules: list[Rule | None] = [rules.classify(name) for name in names]
        kernels = np.flatnonzero(operations.kind == GPU_KINDS.index("kernel"))
        self.start_ns, self.end_ns = operations.start_ns[kernels], operations.end_ns[kernels]
        self.device, self.label = operations.device[kernels], operations.label[kernels]

    def ids(self, names: Sequence[str]) -> tuple[list[str], Ints]:
        """Return the distinct of one name a label, and the index of each kernel's name in them."""
        index: dict[str, int] = {}
        of_label = np.array([index.setdefault(name, len(index)) for name in names], np.int32)
        return list(index), of_label[self.label] if self.label.size else self.label


def categories(kernels: Classified) -> dict[str, Category]:
    """Return the kernels of each category over all devices, most time first; what no rule knows is ``other``."""
    names, category = kernels.ids([rule.category if rule else OTHER for rule in kernels.rules])
    length_ns = np.maximum(kernels.end_ns - kernels.start_ns, 0)
    counts, sums = np.bincount(category, minlength=len(names)), np.zeros(len(names), np.int64)
    np.add.at(sums, category, length_ns)
    unions = union_by_group(kernels.start_ns, kernels.end_ns, category, len(names))
    rows = [
        (name, Category(int(counts[index]), int(sums[index]), int(unions[index]))) for index, name in enumerate(names)
    ]
    return dict(sorted((row for row in rows if row[1].count), key=lambda row: (-row[1].sum_ns, row[0])))


def union_by_group(start_ns: Int64s, end_ns: Int64s, group: Ints, groups: int) -> Int64s:
    """Return the length of the union of each group; intervals in order of start, so that slices overlap little."""
    lengths = np.zeros(groups, np.int64)
    reach = np.full(groups, np.iinfo(np.int64).min)
    for low in range(0, start_ns.size, _SLICE):
        part = slice(low, low + _SLICE)
        merged = grouped_union(start_ns[part], end_ns[part], group[part].astype(np.int64))
        # what an earlier slice covered is taken off; rows are in order of start, so only what reaches beyond counts
        begin = np.maximum(merged.start_ns, reach[merged.group])
        np.add.at(lengths, merged.group, np.maximum(merged.end_ns - begin, 0))
        np.maximum.at(reach, merged.group, merged.end_ns)
    return lengths


def communication(kernels: Classified, devices: Sequence[int]) -> tuple[Communication, ...]:
    """Return collectives against all other kernels on each device with kernels; ``devices`` are the CUDA ordinals."""
    kinds, kind = kernels.ids([_kind(rule) for rule in kernels.rules])
    is_communication = kind != kinds.index("") if "" in kinds else np.ones(kind.size, bool)
    found = []
    for index, ordinal in enumerate(devices):
        own = kernels.device == index
        if not own.any():
            continue
        collectives = own & is_communication
        total = _union(kernels, collectives)
        overlapped_ns = intersect(total, _union(kernels, own & ~is_communication)).total_ns
        length_ns = np.maximum(kernels.end_ns - kernels.start_ns, 0)
        by_kind = {
            name: KindTotal(int(np.count_nonzero(chosen)), int(length_ns[chosen].sum()))
            for number, name in enumerate(kinds)
            if name and (chosen := collectives & (kind == number)).any()
        }
        ordered = dict(sorted(by_kind.items(), key=lambda row: (-row[1].ns, row[0])))
        found.append(Communication(ordinal, total.total_ns, overlapped_ns, total.total_ns - overlapped_ns, ordered))
    return tuple(found)


def exposed(kernels: Classified) -> Intervals:
    """Return when a collective ran on some device and no other kernel did on that device, over all devices."""
    is_communication = np.array([_is_communication(rule) for rule in kernels.rules], bool)
    chosen = is_communication[kernels.label] if kernels.label.size else np.zeros(0, bool)
    parts = []
    for device in np.unique(kernels.device).tolist():
        own = kernels.device == device
        total = _union(kernels, own & chosen)
        hidden = intersect(total, _union(kernels, own & ~chosen))
        parts.append((total, hidden))
    bare = [subtract(total, hidden) for total, hidden in parts]
    if not bare:
        return empty()
    return union(np.concatenate([part.start_ns for part in bare]), np.concatenate([part.end_ns for part in bare]))


def _kind(rule: Rule | None) -> str:
    return (rule.kind or OTHER) if rule is not None and rule.category == COMMUNICATION else ""


def _is_communication(rule: Rule | None) -> bool:
    return rule is not None and rule.category == COMMUNICATION


def _union(kernels: Classified, chosen: Bools) -> Intervals:
    return union(kernels.start_ns[chosen], kernels.end_ns[chosen])


@dataclass(frozen=True, slots=True)
class KernelUse:
    """A full kernel name with its time, and the rule that took it; the last four are None where none did."""

    name: str
    count: int
    total_ns: int
    category: str | None
    kind: str | None
    rule: str | None
    pattern: str | None


@dataclass(frozen=True, slots=True)
class RuleUse:
    """Which rule took which kernel of a trace, most time first."""

    file: str
    kernels: tuple[KernelUse, ...]

    def to_json(self, *, compact: bool = False) -> str:
        """Return the fields as JSON text, times in seconds."""
        layout: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
        return json.dumps(encode(self), ensure_ascii=False, allow_nan=False, **layout)


def rule_use(file: str, gpu: GpuCollector, strings: Mapping[int, str], rules: Rules) -> RuleUse:
    """Return the kernels by full name with the rule that knows each; takes the operations out of the collector."""
    assert gpu.operations is not None
    start_ns, end_ns, _, _, label = gpu.operations.take()
    names = full_names(gpu, strings)
    counts, sums = np.bincount(label, minlength=len(names)), np.zeros(len(names), np.int64)
    np.add.at(sums, label, np.maximum(end_ns - start_ns, 0))
    totals: dict[str, list[int]] = {}
    for name, count, total_ns in zip(names, counts.tolist(), sums.tolist(), strict=True):
        both = totals.setdefault(name, [0, 0])
        both[0] += count
        both[1] += total_ns
    uses = []
    for name, (count, total_ns) in sorted(totals.items(), key=lambda row: (-row[1][1], row[0])):
        rule = rules.classify(name)
        known = (rule.category, rule.kind, rule.source, rule.pattern) if rule else (None, None, None, None)
        uses.append(KernelUse(name, count, total_ns, *known))
    return RuleUse(file, tuple(uses))
