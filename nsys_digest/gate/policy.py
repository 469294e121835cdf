"""Policies: what a check allows. docs/policy.md has the form of the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, get_args

from nsys_digest.errors import PolicyInvalid, UsageInvalid
from nsys_digest.files import read_text_file
from nsys_digest.gate.finding_limits import FINDING_KEYS, FindingLimits, read_finding_limits
from nsys_digest.gate.policy_mistakes import check_code, clipped, close_matches, limit_amount, unknown_figure
from nsys_digest.gate.significance import HIGHEST_CONFIDENCE
from nsys_digest.model.figures import units
from nsys_digest.model.paths import Pattern, Segment, parse_glob, parse_path
from nsys_digest.model.quantity import is_share, share
from nsys_digest.model.selection_options import WHOLE_TRACE, SelectionOptions, selection_of
from nsys_digest.model.toml_text import MOST_BYTES, parse_toml

Bad: TypeAlias = Literal["up", "down", "either"]
Absent: TypeAlias = Literal["error", "skip", "zero"]
Inconclusive: TypeAlias = Literal["fail", "status4", "pass"]
"""What becomes of a change that is more than allowed where the runs are too few to exclude noise."""

BUILT_IN: Final = "built-in policy"
GIVEN_LIMITS: Final = "the command line"
SECTIONS: Final[Mapping[str, str]] = {
    "nvtx": "nvtx",
    "api": "api",
    "kernel": "kernel_durations",
    "category": "categories",
    "dispatch": "dispatch",
    "warnings": "warnings",
}
"""What can be required or forbidden, and the section that has its names."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is allowed for the figures that a pattern matches; amounts in the unit of the figures.

    A change fails when it is bad, and more than ``relative`` of the base, and more than ``absolute``; None stands for
    no such allowance, and both None for no look at changes. ``line`` is where it stands in the file; None if unknown.
    """

    number: int
    line: int | None
    figure: Pattern
    unit: str
    bad: Bad
    relative: float | None
    absolute: float | None
    floor: float
    most: float | None
    least: float | None
    min_effect: float | None
    absent: Absent
    why: str

    @property
    def compares(self) -> bool:
        """Tell whether it needs a baseline."""
        return self.relative is not None or self.absolute is not None

    def effect(self, of_noise: float) -> float:
        """Return the smallest change that counts, a share; any does where the rule allows none at all."""
        if self.min_effect is not None:
            return self.min_effect
        return of_noise if self.relative or self.absolute else 0.0


@dataclass(frozen=True, slots=True)
class Presence:
    """A name that every run of HEAD must have, or none may."""

    number: int
    line: int | None
    required: bool
    kind: str
    name: Segment
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Noise:
    """How sure a verdict has to be: confidence of the whole check, smallest change that counts, fewest repeats.

    ``inconclusive`` says what becomes of a change that is more than allowed where noise cannot be excluded.
    """

    confidence: float = 0.95
    min_effect: float = 0.02
    min_repeats: int = 1
    inconclusive: Inconclusive = "fail"


@dataclass(frozen=True, slots=True)
class Policy:
    """The rules of a check, in the order of the file."""

    source: str
    rules: tuple[Rule, ...]
    presences: tuple[Presence, ...]
    noise: Noise
    findings: FindingLimits | None = None
    selection: SelectionOptions = WHOLE_TRACE
    """What traces are to be looked at for; the whole trace is nothing to ask for."""


def load_policy(path: Path | None) -> Policy:
    """Read a policy; the built-in one without a path.

    Raises:
        PolicyInvalid: the file cannot be read, or makes no sense.

    """
    if path is None:
        return parse_policy(built_in_text(), BUILT_IN)
    try:
        text = read_text_file(path, MOST_BYTES)
    except UnicodeDecodeError as error:
        raise PolicyInvalid(f"{path}: this is not UTF-8 ({error.reason}); save the policy as UTF-8") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PolicyInvalid(f"{path}: the policy cannot be read ({reason}); check the path") from None
    return parse_policy(text, str(path))


def built_in_text() -> str:
    """Return the policy that is used when none is given, as text."""
    return resources.files("nsys_digest.gate").joinpath("policy.toml").read_text(encoding="utf-8")


def parse_policy(text: str, source: str) -> Policy:
    """Read the text of a policy; ``source`` is what messages call it.

    Raises:
        PolicyInvalid: it makes no sense.

    """
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise PolicyInvalid(f"{source}: this cannot be read as TOML ({error}); see docs/policy.md") from None
    keys = ("version", "noise", "selection", "rule", "require", "forbid", "findings")
    _at(source, _checked, document, keys)
    if document.get("version", 1) != 1:
        raise PolicyInvalid(
            f"{source}: version {clipped(repr(document['version']))} is not known; this version reads 1"
        )
    rules = _tables(document, text, "rule", source, _rule)
    presences = [
        presence
        for kind in ("require", "forbid")
        for presence in _tables(document, text, kind, source, _presence(kind == "require"))
    ]
    noise = document.get("noise", {})
    if not isinstance(noise, dict):
        raise PolicyInvalid(f"{source}: noise is no table; begin it with [noise]")
    selection = document.get("selection", {})
    if not isinstance(selection, dict):
        raise PolicyInvalid(f"{source}: selection is no table; begin it with [selection]")
    policy = Policy(
        source,
        tuple(rules),
        tuple(presences),
        _at(f"{source}, noise", _noise, noise),
        findings=_findings(document["findings"], text, source) if "findings" in document else None,
        selection=_at(f"{source}, selection", _selection, selection),
    )
    if not policy.rules and not policy.presences and policy.findings is None:
        raise PolicyInvalid(f"{source}: there is no rule in it, so it would pass everything; see docs/policy.md")
    return policy


def with_limits(policy: Policy | None, limits: Iterable[tuple[str, str]]) -> Policy:
    """Return a policy with limits that were given one by one; without a policy, of these alone.

    Each is (``max``, ``min`` or ``max_change``, ``FIGURE=AMOUNT``); an amount of a change may be a share and an amount,
    as in ``5%,1ms``. A figure that a run lacks is an error, as in a policy that does not say otherwise.

    Raises:
        PolicyInvalid: one makes no sense.

    """
    rules = () if policy is None else policy.rules
    for key, text in limits:
        option = f"--{key.replace('_', '-')}"
        figure, equals, amount = text.rpartition("=")
        if not equals or not figure or not amount.strip():
            raise PolicyInvalid(
                f"{option} {clipped(text)}: this is no FIGURE=AMOUNT; such as {option} gpu_idle_within_span_s="
                + ("5%" if key == "max_change" else "0.5s")
            )
        parts = [part.strip() for part in amount.split(",")] if key == "max_change" else amount.strip()
        table = {"figure": figure, key: _number_or_text(parts)}
        rules += (_at(f"{option} {clipped(text)}", _rule, table, len(rules) + 1, None),)
    if policy is None:
        return Policy(GIVEN_LIMITS, rules, (), Noise())
    return replace(policy, rules=rules)


def _number_or_text(value: Any) -> Any:
    """Return amounts as TOML would have them: bare numbers as such, with units as text."""
    if isinstance(value, list):
        return [_number_or_text(part) for part in value]
    try:
        return int(value) if value.lstrip("+-").isdecimal() else float(value)
    except ValueError:
        return value


def _tables(document: Mapping[str, Any], text: str, kind: str, source: str, read: Callable[..., Any]) -> list[Any]:
    tables = document.get(kind, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise PolicyInvalid(f"{source}: {kind} is no list of tables; begin each with [[{kind}]]")
    heading = re.compile(rf"\s*\[\[\s*{kind}\s*\]\]")
    lines: list[int | None] = [at for at, line in enumerate(text.splitlines(), 1) if heading.match(line)]
    if len(lines) != len(tables):
        lines = [None] * len(tables)
    found = []
    for number, (table, line) in enumerate(zip(tables, lines, strict=True), 1):
        where = f"{source}, {kind} {number}" + (f" (line {line})" if line else "")
        found.append(_at(where, read, table, number, line))
    return found


def _findings(table: object, text: str, source: str) -> FindingLimits:
    if not isinstance(table, dict):
        raise PolicyInvalid(f"{source}: findings is no table; begin it with [findings]")
    lines = (at for at, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\s*findings\s*\]", line))
    line = next(lines, None)
    where = f"{source}, findings" + (f" (line {line})" if line else "")
    _at(where, _checked, table, FINDING_KEYS)
    found: FindingLimits = _at(where, lambda: read_finding_limits(table, line, _text(table, "why")))
    return found


def _at(where: str, read: Callable[..., Any], *arguments: Any) -> Any:
    """Read a table; an error about it says the place."""
    try:
        return read(*arguments)
    except ValueError as error:
        raise PolicyInvalid(f"{where}: {error}") from None


_RULE_KEYS: Final = ("figure", "max_change", "bad", "floor", "max", "min", "min_effect", "absent", "why")


def _checked(table: Mapping[str, Any], keys: tuple[str, ...]) -> None:
    for key in table:
        if key not in keys:
            near = close_matches(key, keys, 1)
            hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(keys)}"
            raise ValueError(f"there is no key {clipped(key)!r}; {hint}")


def _rule(table: Mapping[str, Any], number: int, line: int | None) -> Rule:
    _checked(table, _RULE_KEYS)
    figure = _figure(table.get("figure"))
    found = units(figure)
    if not found:
        raise ValueError(unknown_figure(figure))
    if len(found) > 1:
        raise ValueError(
            f"{clipped(figure.text)} means figures of several units ({', '.join(sorted(found))}); write one rule each"
        )
    (unit,) = found
    relative, absolute = _allowance(table.get("max_change"), unit)
    limits = {key: limit_amount(key, table[key], unit) if key in table else None for key in ("floor", "max", "min")}
    if relative is None and absolute is None and limits["max"] is None and limits["min"] is None:
        raise ValueError("it allows everything; give max_change, max or min")
    return Rule(
        number=number,
        line=line,
        figure=figure,
        unit=unit,
        bad=_choice(table, "bad", ("up", "down", "either"), _bad_by_default(figure, unit)),
        relative=relative,
        absolute=absolute,
        floor=limits["floor"] or 0.0,
        most=limits["max"],
        least=limits["min"],
        min_effect=share(table["min_effect"]) if "min_effect" in table else None,
        absent=_choice(table, "absent", ("error", "skip", "zero"), "error"),
        why=_text(table, "why"),
    )


def _figure(value: object) -> Pattern:
    if not isinstance(value, str) or not value:
        raise ValueError("figure is missing; name a path such as figure = 'nvtx.\"step\".union_s'")
    try:
        return parse_path(value)
    except ValueError as error:
        raise ValueError(f"the path {clipped(value)} makes no sense: {error}") from None


def _bad_by_default(figure: Pattern, unit: str) -> Bad:
    """Less is worse for busy ratios and bandwidths, more for everything else."""
    busy = any(segment.literal == "busy_ratio" for segment in figure.segments)
    return "down" if busy or unit == "gbps" else "up"


def _allowance(value: object, unit: str) -> tuple[float | None, float | None]:
    """Return the (relative, absolute) allowance of ``max_change``: one of them, or a list of both."""
    if value is None:
        return None, None
    parts = value if isinstance(value, list) else [value]
    shares = [share(part) for part in parts if is_share(part)]
    amounts = [limit_amount("max_change", part, unit) for part in parts if not is_share(part)]
    if len(shares) > 1 or len(amounts) > 1 or not parts:
        raise ValueError("max_change has two of a kind; give a share, an amount, or one of each: ['5%', '50us']")
    return next(iter(shares), None), next(iter(amounts), None)


def _choice(table: Mapping[str, Any], key: str, choices: tuple[str, ...], default: str) -> Any:
    value = table.get(key, default)
    if value not in choices:
        raise ValueError(f"{key} is {clipped(repr(value))}; choose from {', '.join(choices)}")
    return value


def _text(table: Mapping[str, Any], key: str) -> str:
    value = table.get(key, "")
    if not isinstance(value, str):
        raise ValueError(f"{key} is {clipped(repr(value))}; write it as text")
    return value


def _presence(required: bool) -> Callable[[Mapping[str, Any], int, int | None], Presence]:
    def read(table: Mapping[str, Any], number: int, line: int | None) -> Presence:
        _checked(table, (*SECTIONS, "why"))
        kinds = [key for key in table if key != "why"]
        if len(kinds) != 1:
            raise ValueError(f"it names {len(kinds)} things; give one of {', '.join(SECTIONS)}")
        text = table[kinds[0]]
        if not isinstance(text, str) or not text:
            raise ValueError(f"{kinds[0]} is {clipped(repr(text))}; give a name, with * for any text")
        name = parse_glob(text)
        if kinds[0] == "warnings":
            check_code(text, name)
        return Presence(number, line, required, kinds[0], name, text, _text(table, "why"))

    return read


def _selection(table: Mapping[str, Any]) -> SelectionOptions:
    _checked(table, ("window", "in", "skip_warmup", "device", "process", "stream"))
    named = {"within" if key == "in" else key: value for key, value in table.items()}
    try:
        return selection_of(**named)
    except UsageInvalid as error:
        raise ValueError(str(error)) from None


def _noise(table: Mapping[str, Any]) -> Noise:
    _checked(table, ("confidence", "min_effect", "min_repeats", "inconclusive"))
    default = Noise()
    confidence = table.get("confidence", default.confidence)
    numeric = isinstance(confidence, int | float) and not isinstance(confidence, bool)
    if not numeric or not 0.5 <= confidence <= HIGHEST_CONFIDENCE:
        raise ValueError(
            f"confidence is {clipped(repr(confidence))}; give a number from 0.5 to {HIGHEST_CONFIDENCE}, such as 0.95"
        )
    repeats = table.get("min_repeats", default.min_repeats)
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise ValueError(f"min_repeats is {clipped(repr(repeats))}; give a whole number, 1 or more")
    effect = share(table["min_effect"]) if "min_effect" in table else default.min_effect
    inconclusive = _choice(table, "inconclusive", get_args(Inconclusive), default.inconclusive)
    return Noise(float(confidence), effect, repeats, inconclusive)
