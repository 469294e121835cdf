"""The one list of the sections that look at events one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from nsys_digest.algorithms.at_once import both
from nsys_digest.model.base_types import Warn
from nsys_digest.sections import (
    busy_shares,
    by_device,
    categories,
    communication,
    communication_by_range,
    dispatch_steps,
    durations_by_name,
    graphs,
    host,
    idle,
    launch,
    memory,
    nvtx_detail,
    nvtx_payload,
    step_candidates,
    steps,
)
from nsys_digest.sections.impossible_times import impossible_times
from nsys_digest.sections.section import Blind, Context, Lane, Made, Section

SECTIONS: Final[tuple[Section, ...]] = (
    idle.SECTION,
    host.SECTION,
    launch.SECTION,
    memory.SECTION,
    communication.SECTION,
    categories.SECTION,
    nvtx_detail.SECTION,
    dispatch_steps.SECTION,
    durations_by_name.API,
    durations_by_name.KERNELS,
    busy_shares.SECTION,
    graphs.SECTION,
    communication_by_range.SECTION,
    by_device.SECTION,
    nvtx_payload.SECTION,
    steps.SECTION,
    step_candidates.SECTION,
)


@dataclass(frozen=True, slots=True)
class MadeSections:
    """The sections that were asked for, by name, and what must be known before they are believed."""

    values: dict[str, Any]
    warnings: tuple[Warn, ...]


def make_sections(context: Context) -> MadeSections:
    """Make the sections that are asked for, and check whole events.

    Raises:
        MissingData: the trace has not what a section is asked for.

    """
    asked = [section for section in SECTIONS if section.is_asked_for(context.options)]
    in_time, ((launched, lost), impossible) = both(
        lambda: _in_lane(Lane.time, asked, replace(context)),
        lambda: (
            _launches(asked, replace(context)),
            impossible_times(
                context.looked.checked,
                context.scanned.gpu,
                context.session_ns,
                whole=context.selection.is_whole,
            ),
        ),
    )
    made = in_time | launched
    blind = {one for section in asked for one in section.blind_to}
    counted = replace(context.events, operations=context.looked.operations)
    whole = context.selection.window is None
    warned = (one.warning(counted, context.scanned.gpu, whole=whole) for one in Blind if one in blind)
    unseen = [warn for warn in warned if warn is not None]
    told = [warn for section in asked for warn in made[section.name].warnings]
    values = {section.name: made[section.name].value for section in asked}
    return MadeSections(values, (*lost, *impossible, *unseen, *told))


def _in_lane(lane: Lane, asked: Iterable[Section], context: Context) -> dict[str, Made]:
    return {section.name: section.make(context) for section in asked if section.lane is lane}


def _launches(asked: Iterable[Section], context: Context) -> tuple[dict[str, Made], tuple[Warn, ...]]:
    """Make the sections of launched work, which is let go at the end, and return the warnings of lost launches."""
    lost = context.lost.warnings  # before there is launched work in memory
    return _in_lane(Lane.launches, asked, context), lost
