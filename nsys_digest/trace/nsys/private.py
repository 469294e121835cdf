"""Where an export tells of people and machines: environment, settings, processes, files, output, the log.

What is read here serves to be looked for, in names that stay and in a copy that should not have it. It is never shown.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from nsys_digest.errors import NotATrace, TraceUnreadable
from nsys_digest.trace.nsys.scrub_rules import SETTINGS, setting_stays
from nsys_digest.trace.nsys.tables import DIAGNOSTICS, STRINGS
from nsys_digest.trace.source import Source, Value

_ENVIRONMENT: Final = "TARGET_INFO_SYSTEM_ENV"
_SECRET_WORDS: Final = frozenset(
    {
        *("TOKEN", "SECRET", "SECRETS", "KEY", "APIKEY", "PASSWORD", "PASSWD", "PASSPHRASE", "PASS", "PAT"),
        *("CREDENTIAL", "CREDENTIALS", "CREDS", "COOKIE", "JWT", "DSN"),
    }
)
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_USER_NAMES: Final = frozenset(
    {"USER", "LOGNAME", "USERNAME", "SUDO_USER", "SLURM_JOB_USER", "PBS_O_LOGNAME", "NB_USER", "GIT_AUTHOR_NAME"}
)
_HOST_NAMES: Final = frozenset(
    {
        *("HOSTNAME", "HOST", "COMPUTERNAME", "SLURMD_NODENAME", "SLURM_SUBMIT_HOST", "SLURM_NODELIST"),
        *(
            "SLURM_JOB_NODELIST",
            "SLURM_TOPOLOGY_ADDR",
            "MASTER_ADDR",
            "POD_NAME",
            "NODE_NAME",
            "PBS_O_HOST",
            "SYSTEMUID",
        ),
    }
)
_COMMON_WORDS: Final = """
    root user users admin ubuntu debian centos nobody guest local localhost host server client node master worker main
    home work data temp test dev app build runner jovyan docker container kernel device stream memory launch compute
    system systems nvidia cuda gpu python python3 pytorch torch triton vllm jax cutlass developer default none null true
    false thread threads process model train training inference linux windows desktop vm job rank
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())
"""Words that tell nothing of anybody, though users and machines are called so."""
_LEAST_WORD: Final = 3
_LEAST_SECRET: Final = 6
_LEAST_VALUE: Final = 12
_LEAST_LINE: Final = 20
_MOST_LINES: Final = 200_000
_MOST_READ: Final = 5_000
_PLAIN: Final = re.compile(r"[\d.,:x%+ -]*|[A-Za-z_]+|_{0,2}cu(?:da)?[A-Z]\w*")
PATH: Final = re.compile(r"/(?:[^\s\"'<>|:;,()\[\]{}=/\\]+/)+[^\s\"'<>|:;,()\[\]{}=/\\]*|[A-Za-z]:\\[^\s\"'<>|;,]+")
_HOME: Final = re.compile(r"(?:/home|/Users|[A-Za-z]:\\Users)[/\\]([^/\\\s:;,\"']+)")

KINDS: Final = ("user", "host", "credential", "path", "command line", "environment", "setting", "program output")
"""Kinds of values, the most telling first: a value that is of two is called by the first."""


@dataclass(frozen=True, slots=True)
class Private:
    """What identifies, by kind: user, host, credential, path, environment, command line, program output, diagnostic.

    ``roots`` are the first folders of the paths, ``texts`` all that was read where an export tells of the machine.
    """

    values: defaultdict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    roots: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)

    def kind_of(self) -> dict[str, str]:
        """Return the kind of each value."""
        return {value: kind for kind in reversed(KINDS) for value in self.values.get(kind, ())}


def looks_like_credential(variable: str) -> bool:
    """Tell whether the value of an environment variable of that name may be a password, key or token."""
    if variable.upper().startswith("AWS_"):
        return not variable.upper().endswith(("REGION", "CA_BUNDLE", "PAGER", "OUTPUT"))
    return any(word.upper() in _SECRET_WORDS for word in _WORD.findall(variable))


def environment(source: Source) -> Iterator[tuple[str, str]]:
    """Yield (name, value) of each variable in the environment of the profiled processes and of the machine."""
    for name, value in _readable(source, _ENVIRONMENT):
        if name is not None and value is not None:
            yield str(name), str(value)
    for table in SETTINGS:
        for name, value in source.rows(table, ("name", "value")):
            if "ENVIRONMENT" in str(name).upper() and value is not None:
                variable, _, content = str(value).partition("=")
                yield variable, content.strip('"')


def _readable(source: Source, table: str) -> list[tuple[Value, ...]]:
    """Return the rows of a table that no digest needs; none where it is damaged."""
    try:
        return source.rows(table, ("name", "value"))
    except (NotATrace, TraceUnreadable):
        return []


def credentials(source: Source) -> tuple[str, ...]:
    """Return the names of variables that may hold a password, key or token and are not empty, sorted, each once."""
    return tuple(sorted({name for name, value in environment(source) if value and looks_like_credential(name)}))


def identify(source: Source) -> Private:
    """Read what the small tables tell of people and the machine."""
    found = Private()
    gpus = {str(name) for (name,) in source.rows("TARGET_INFO_GPU", ("name",)) if name is not None}
    for name, value in environment(source):
        found.texts.append(value)
        if looks_like_credential(name):
            _add(found, "credential", value, _LEAST_SECRET)
        _named(found, name.upper(), value)
        _add(found, "environment", value, _LEAST_VALUE)
    for table in SETTINGS:
        for key, content in source.rows(table, ("name", "value")):
            name, value = str(key), "" if content is None else str(content)
            if setting_stays(name, value):
                continue
            found.texts.append(value)
            upper = name.upper()
            if upper.endswith(("USER_NAME", "_USER")):
                _word(found, "user", value)
            elif upper.endswith(("_HOST", "DISPLAY_NAME")):
                _word(found, "host", value)
            elif "ENVIRONMENT" not in upper:
                _add(
                    found,
                    "command line" if "ARGUMENT" in upper or "COMMAND" in upper else "setting",
                    value,
                    _LEAST_VALUE,
                )
    _read_files(source, found)
    for text in found.texts:
        found.values["path"].update(PATH.findall(text))
        for user in _HOME.findall(text):
            _word(found, "user", user)
    found.roots.update(path.split("/")[1] for path in found.values["path"] if path.startswith("/"))
    for values in found.values.values():
        values -= gpus
    return found


def _read_files(source: Source, found: Private) -> None:
    """Read names of programs and files, what programs wrote, and the log."""
    for (program,) in source.rows("PROCESSES", ("name",)):
        text = "" if program is None else str(program)
        if "/" in text.strip("/") or "\\" in text:
            found.texts.append(text)
    for (line,) in source.rows(DIAGNOSTICS, ("text",)):
        found.texts.append(str(line))
    contents: set[int] = set()
    for row in source.rows("ProcessStreams", ("filenameId", "contentId")):
        contents.update(value for value in row if isinstance(value, int))
    for name, content, inline in source.rows("ANALYSIS_FILE", ("filename", "contentId", "content")):
        found.texts.append(str(name))
        if isinstance(content, int):
            contents.add(content)
        _lines(found, "" if inline is None else str(inline))
    for content_text in source.strings(STRINGS, contents).values():
        _lines(found, content_text)


def _lines(found: Private, text: str) -> None:
    lines = found.values["program output"]
    for line in text.splitlines():
        if len(line.strip()) >= _LEAST_LINE and len(lines) < _MOST_LINES:
            lines.add(line.strip())
            if len(lines) < _MOST_READ:
                found.texts.append(line)


def _named(found: Private, name: str, value: str) -> None:
    if name in _USER_NAMES:
        _word(found, "user", value)
    elif name in _HOST_NAMES:
        _word(found, "host", value)
    elif name == "HOME":
        _word(found, "user", PurePosixPath(value).name)


def _word(found: Private, kind: str, value: str) -> None:
    """Take the name of a user or host, and the first part of one with dots."""
    for word in {value.strip(), value.strip().partition(".")[0]}:
        if len(word) >= _LEAST_WORD and word.casefold() not in _COMMON and not re.fullmatch(r"[\d.:]+", word):
            found.values[kind].add(word)


def _add(found: Private, kind: str, value: str, least: int) -> None:
    text = value.strip()
    if len(text) >= least and (kind == "credential" or not _PLAIN.fullmatch(text)):
        found.values[kind].add(text)
