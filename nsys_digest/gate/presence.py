"""Names that a policy requires or forbids, held against the runs of HEAD."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nsys_digest.compare.runs import RunSet
from nsys_digest.gate.policy import SECTIONS, Presence
from nsys_digest.gate.verdict import Kind, Outcome
from nsys_digest.model.catalogue import Json
from nsys_digest.model.figures import lists_all, names


def presence_outcome(presence: Presence, head: RunSet, documents: Sequence[Json]) -> Outcome:
    """Return the verdict on one name; ``documents`` are those of the runs of HEAD."""
    kind: Kind = "require" if presence.required else "forbid"
    figure = f"{kind} {presence.kind} {presence.text}"
    outcome = Outcome(kind, "pass", presence.number, presence.line, figure, None, "", "", presence.why)
    section = SECTIONS[presence.kind]
    if section == "warnings":
        found = [tuple(warn.code for warn in digest.warnings) for digest in head.digests]
    else:
        listed = [names(section, document) for document in documents]
        if any(own is None for own in listed):
            reason = f"{figure}: the digests have no section {section}; make it with --sections all"
            return replace(outcome, verdict="missing", reason=reason)
        found = [own or () for own in listed]
        for own, document in zip(found, documents, strict=True):
            if not lists_all(section, document) and not any(map(presence.name.matches, own)):
                reason = f"{figure}: a run keeps some names apart only; digest it with a larger --max-names"
                return replace(outcome, verdict="missing", reason=reason)
    having = [sum(map(presence.name.matches, own)) for own in found]
    runs, of = sum(map(bool, having)), len(having)
    allowed = "in every run" if presence.required else "in no run"
    failed = runs < of if presence.required else runs > 0
    where = f"in {runs} of {of} runs" if of > 1 else "there" if runs else "not there"
    reason = f"{presence.kind} {presence.text} is {'required' if presence.required else 'forbidden'}, and {where}"
    return replace(outcome, verdict="fail" if failed else "pass", allowed=allowed, reason=reason)
