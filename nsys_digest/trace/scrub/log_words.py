"""Lines of the collector's log, of which only the collector's own words stay."""

from __future__ import annotations

import re
from typing import Final

_OWN_WORDS: Final = """
    a about absent account activity after all already an analysis and any api application are as asynchronous at
    attempting backtrace backtraces based be because been before behavior between buffer buffers build but by c cached
    call called calls can cannot cause check clock collect collected collecting collection command common compute
    configure context control copy correctly could counters cpu cpus created creating cuda cudadevicereset
    cudaprofilerstart cudaprofilerstop cudnn cublas cupti cycles data debuginfod deduced device devices did dll does don
    driver dropped due during dwarf enable enabled enabling ended environment error errors event events every exception
    exit exited failed faults file files finished flush flushed flushing for found from frequency functioning gpu gpus
    graph graphs hardware has have holding if in inaccurate information initialization initialize initialized injection
    installed instead instrumented interrupts into invoked ip is it kernel launch launched learn legacy let libcupti
    libraries library linux loaded log loss lost machine make may memory metrics might missing mmap more mpi mode
    multiple must need no node nodes not nsight nsys number nvidia nvlink nvtx of on one only openacc opengl openmp opt
    options or os osrt out output overflow peer perf period periodically permission permissions pid please process
    processes produced profile profiled profiler profiling program programs properly queries quits range ranges received
    remain removed replay required resolve run running runtime s sample samples sampling scheduling sec second seconds
    see session set size sli so software some source spent start started starting status stderr stdout stop stopped
    stream streams successful successfully such support supported sure sw switch symbol symbols system systems t take
    target than that the there this thread threads time timed to total trace traced traces tracing transfers tree
    trigger try unable unexpected unified unknown unresolved until unsupported use used using value verify version
    versions vulkan wait was were when which will windows with without work x you your
"""
_OWN: Final = frozenset(_OWN_WORDS.split())
_OF_INTEREST: Final = re.compile(r"(?:cuda|cupti|nvtx|flush|buffer|gpu|dropped|lost)", re.IGNORECASE)
"""Beginnings of words by which a digest knows that a line bears on CUDA or NVTX."""
_PARTS: Final = re.compile(r"[A-Za-z]+|[0-9]+")
_GONE: Final = "…"
_LONGEST_NUMBER: Final = 12
_FEWEST_OF_ADDRESS: Final = 4
_AROUND: Final = ".,:;()'\"?!"
_PLAIN: Final = re.compile(r"(?:[A-Za-z0-9._'#%&*()-]+(?:[/:][A-Za-z._-]+)?)?")


class LogWords:
    """Takes out what is not the collector's own; lines that differ still do."""

    def __init__(self) -> None:
        """Start without a line."""
        self._known: dict[str, str] = {}
        self._taken: set[str] = set()
        self.changed_count = 0
        """Different lines of which something was taken out."""

    def scrub(self, line: str) -> str:
        """Return what stays of a line."""
        if line not in self._known:
            kept = re.sub(rf"{_GONE}(?: {_GONE})+", _GONE, re.sub(r"\S+", lambda word: _word(word[0]), line))
            self.changed_count += kept != line
            number, unique = 1, kept
            while unique in self._taken:
                number += 1
                unique = f"{kept} [{number}]"
            self._taken.add(unique)
            self._known[line] = unique
        return self._known[line]


def _word(word: str) -> str:
    bare = word.strip(_AROUND)
    parts = _PARTS.findall(bare)
    own = all(part.isdigit() or part.lower() in _OWN for part in parts)
    numbers = [part for part in parts if part.isdigit()]
    few = len(numbers) < _FEWEST_OF_ADDRESS and all(len(number) <= _LONGEST_NUMBER for number in numbers)
    if own and few and _PLAIN.fullmatch(bare):
        return word
    found = _OF_INTEREST.match(parts[0]) if parts else None
    return (found[0] if found else "") + _GONE
