"""The options of a digest: their defaults and what makes sense, once for the library and the command line."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, get_args

from nsys_digest.errors import UsageInvalid
from nsys_digest.model.digest import ON_REQUEST, SECTIONS
from nsys_digest.model.labels import check_label
from nsys_digest.model.selection_options import WHOLE_TRACE, SelectionOptions, selection_of
from nsys_digest.trace.collect.name_folds import NameFolds
from nsys_digest.trace.packings.room import Unpacking
from nsys_digest.trace.source import Reader

if TYPE_CHECKING:
    from nsys_digest.trace.threads import Progress

_MOST_THREADS: Final = 64


Moment: TypeAlias = float | str | None
"""A side of a window: seconds, a text such as ``250ms`` or ``10%``, or None where it is open."""


class SelectionKeywords(TypedDict, total=False):
    """What is looked at, as keywords; see :func:`nsys_digest.summarize`."""

    window: str | tuple[Moment, Moment] | None
    within: str | Iterable[str] | None
    skip_warmup: bool
    device: int | Iterable[int] | None
    process: int | str | Iterable[int | str] | None
    stream: int | Iterable[int] | None


class SummarizeKeywords(SelectionKeywords, total=False):
    """The options as keywords; see :func:`nsys_digest.summarize`."""

    top: int
    dispatch_prefix: str
    raw_nvtx_names: bool
    folds: Iterable[str]
    max_nvtx_names: int
    sections: Iterable[str] | None
    by_device: bool
    gaps: int
    categories: str | os.PathLike[str] | None
    steps: str | None
    warmup: int | None
    labels: Mapping[str, str] | None
    threads: int | None
    reader: Reader
    progress: Progress | None
    when_read: Callable[[], None] | None
    max_unpacked: int | None
    nsys: str | os.PathLike[str] | None
    keep_export: str | os.PathLike[str] | None
    tell: Callable[[str], None] | None


class ExportKeywords(SelectionKeywords, total=False):
    """The options of a table as keywords; see :func:`nsys_digest.export`."""

    dispatch_prefix: str
    raw_nvtx_names: bool
    folds: Iterable[str]
    categories: str | os.PathLike[str] | None
    steps: str | None
    warmup: int | None
    reader: Reader
    progress: Progress | None
    when_read: Callable[[], None] | None
    max_unpacked: int | None
    nsys: str | os.PathLike[str] | None
    keep_export: str | os.PathLike[str] | None
    tell: Callable[[str], None] | None


EXPORT_OPTIONS: Final = tuple(ExportKeywords.__annotations__)
SELECTION: Final = tuple(SelectionKeywords.__annotations__)
"""The keywords that say what is looked at."""


@dataclass(frozen=True, slots=True)
class SummarizeOptions:
    """The options of a digest; ``sections`` are in the order of the document, all by default.

    Raises:
        UsageInvalid: one is out of range.

    """

    top: int = 20
    dispatch_prefix: str = "CG_DISPATCH"
    raw_nvtx_names: bool = False
    folds: tuple[str, ...] = ()
    max_nvtx_names: int = 100_000
    sections: tuple[str, ...] = SECTIONS
    by_device: bool = False
    gaps: int = 10
    categories: Path | None = None
    steps: str | None = None
    warmup: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    threads: int | None = None
    reader: Reader = "auto"
    progress: Progress | None = None
    when_read: Callable[[], None] | None = None
    max_unpacked: int | None = None
    nsys: Path | None = None
    keep_export: Path | None = None
    tell: Callable[[str], None] | None = None
    selection: SelectionOptions = WHOLE_TRACE

    @property
    def unpacking(self) -> Unpacking:
        """Those that say how a packed trace or a report becomes one that can be read."""
        return Unpacking(self.max_unpacked, self.nsys, self.keep_export, self.tell)

    def __post_init__(self) -> None:
        if self.top < 0:
            raise UsageInvalid(f"top is {self.top}; give 0 or more")
        if self.max_nvtx_names < 1:
            raise UsageInvalid(f"the number of NVTX names to keep is {self.max_nvtx_names}; give 1 or more")
        if self.reader not in get_args(Reader):
            raise UsageInvalid(f"there is no reader {self.reader!r}; choose from {', '.join(get_args(Reader))}")
        if self.threads is not None and not 1 <= self.threads <= _MOST_THREADS:
            raise UsageInvalid(f"threads is {self.threads}; give 1 to {_MOST_THREADS}")
        if not self.dispatch_prefix:
            raise UsageInvalid("the dispatch prefix is empty; give the text that dispatch marks begin with")
        if self.gaps < 0:
            raise UsageInvalid(f"gaps is {self.gaps}; give 0 or more")
        if self.max_unpacked is not None and self.max_unpacked < 1:
            raise UsageInvalid(f"the most bytes to unpack are {self.max_unpacked}; give 1 or more")
        if self.steps == "":
            raise UsageInvalid("the name of the steps is empty; give the name of an NVTX range or mark")
        if self.warmup is not None and self.steps is None:
            raise UsageInvalid(f"warmup is {self.warmup}, but no steps are named; name them with steps (--steps NAME)")
        if self.warmup_steps < 0:
            raise UsageInvalid(f"warmup is {self.warmup}; give 0 or more")
        for key, value in self.labels.items():
            check_label(key, value)
        if self.folds:
            NameFolds(self.folds)

    @property
    def made_sections(self) -> tuple[str, ...]:
        """The sections to make."""
        return (*self.sections, "by_device") if self.by_device and "by_device" not in self.sections else self.sections

    @property
    def warmup_steps(self) -> int:
        """How many first steps of each process warm up."""
        return 1 if self.warmup is None else self.warmup


def options_of(keywords: SummarizeKeywords | ExportKeywords, known: Iterable[str] | None = None) -> SummarizeOptions:
    """Return the options that keywords give; ``known`` are those that there are, all by default.

    Raises:
        TypeError: there is no such option. UsageInvalid: one is out of range.

    """
    if known is None:
        known = [option.name for option in fields(SummarizeOptions) if option.name != "selection"] + list(SELECTION)
    for name in keywords:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(known)}"
            raise TypeError(f"there is no option {name!r}; {hint}")
    given: dict[str, Any] = dict(keywords)
    if "sections" in given:
        given["sections"] = _chosen(given["sections"])
    if "folds" in given:
        given["folds"] = _rules(given["folds"])
    for name in ("categories", "nsys", "keep_export"):
        if given.get(name) is not None:
            given[name] = Path(given[name])
    if given.get("labels") is None:
        given.pop("labels", None)
    selection = selection_of(**{name: given.pop(name) for name in SELECTION if name in given})
    return SummarizeOptions(**given, selection=selection)


def _rules(folds: Iterable[str] | None) -> tuple[str, ...]:
    if isinstance(folds, str):
        raise UsageInvalid(f"folds is the text {folds!r}; give a list of rules")
    return tuple(folds or ())


def _chosen(sections: Iterable[str] | None) -> tuple[str, ...]:
    """Return the sections in the order of the document."""
    if sections is None:
        return SECTIONS
    if isinstance(sections, str):
        raise UsageInvalid(f"sections is the text {sections!r}; give a list of names")
    asked = set(sections)
    known = (*SECTIONS, *ON_REQUEST)
    unknown = sorted(asked - set(known))
    if unknown:
        near = list(dict.fromkeys(name for word in unknown for name in get_close_matches(word, known, 1)))
        hint = f"did you mean {', '.join(near)}? The sections are" if near else "choose from"
        raise UsageInvalid(f"there is no section {', '.join(unknown)}; {hint} {', '.join(known)}")
    if "host" in asked:
        asked.add("idle")  # what it splits
    return tuple(name for name in known if name in asked)
