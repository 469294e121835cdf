"""How the fields of results are declared: what a figure means, its unit, and what follows for its key in JSON.

A figure is declared once, on its field. The codec, the published schemas, the paths of policies, the tables of a
comparison, the columns of tables and the tables of the documentation all read it here.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from functools import cache
from typing import (
    Any,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

Json: TypeAlias = dict[str, Any]
"""An object of a JSON document."""
Unit: TypeAlias = Literal["s", "bytes", "count", "ratio", "gbps"]
"""In a document: seconds, bytes, how many, a share (1 is all), 1e9 bytes a second. Inside, times are nanoseconds."""
Way: TypeAlias = Literal["up", "down"]
Made = TypeVar("Made")
Method = TypeVar("Method", bound=Callable[..., Any])

AS_LIST: Final = "AS_LIST"
"""The class attribute that says: written as the list of its values."""
MORE_KEYS: Final = "MORE_KEYS"
"""The class attribute that says: other keys may be added beside, so that a stored schema lets them pass."""

WITHIN: Final = "WITHIN"
"""The class attribute that says what each object means that several fields are written in."""
OWN_FORM: Final = "own_form"
"""The method of a class whose form depends on its value; ``OWN_SCHEMA``, an attribute, is what it can be."""
OWN_SCHEMA: Final = "OWN_SCHEMA"
OWN_KEY: Final = "own_key"
"""The attribute of a value that says the key under which a mapping has it in a document."""

_DECLARED: Final = "declared"
_INSIDE, _WRITTEN = "_ns", "_s"


@dataclass(frozen=True, slots=True)
class Declared:
    """What is said of a field.

    ``unit`` is None of what is no figure: a name, a number that says which, an object. ``bad`` is the way in which a
    figure gets worse, None where neither is. ``counts`` says what a count counts. ``key`` is its key in JSON where the
    name of the field does not give it, ``former`` are keys that it had before, ``within`` is the object that it is
    written in beside others. ``names`` are the names that a mapping always has, ``may_have`` those that it can have; to
    one that ``grows`` names may be added. ``later`` are those of ``names`` that older documents lack.
    A ``section`` is asked for by the name of the field: then it is made, or has more in it.
    ``by`` are the keys that tell the items of a list apart in a path; one behind a ``?`` is left out where it is null.
    A ``left_out`` field has no key while it is None; the keys of an ``inline`` part stand among those of its owner. An
    ``always`` one is in every document, though its field has a default. ``former_values`` are texts that were called
    otherwise, and what they are called now. ``least`` and ``most`` bound what is published. ``read`` makes the
    value of what a document has, where its type does not say how.
    """

    meaning: str
    unit: Unit | None = None
    bad: Way | None = None
    label: str = ""
    counts: str = ""
    key: str | None = None
    former: tuple[str, ...] = ()
    within: str | None = None
    names: tuple[str, ...] = ()
    later: tuple[str, ...] = ()
    may_have: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    section: bool = False
    left_out: bool = False
    inline: bool = False
    grows: bool = False
    after: str = ""
    always: bool = False
    former_values: tuple[tuple[str, str], ...] = ()
    least: float | None = None
    most: float | None = None
    pattern: str | None = None
    read: Callable[[Any], Any] | None = None


def figure(
    unit: Unit,
    meaning: str,
    *,
    bad: Way | None = None,
    label: str = "",
    counts: str = "",
    key: str | None = None,
    former: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    may_have: tuple[str, ...] = (),
    least: float | None = 0,
    most: float | None = None,
    left_out: bool = False,
    default: Any = MISSING,
) -> Any:
    """Declare a number that is measured, or a mapping of such; a document without its key has the default."""
    return _field(
        Declared(
            meaning,
            unit=unit,
            bad=bad,
            label=label,
            counts=counts,
            key=key,
            former=former,
            names=names,
            may_have=may_have,
            least=least,
            most=most,
            left_out=left_out,
        ),
        default=default,
    )


def label(
    meaning: str,
    *,
    counts: str = "",
    key: str | None = None,
    former: tuple[str, ...] = (),
    within: str | None = None,
    names: tuple[str, ...] = (),
    least: float | None = None,
    pattern: str | None = None,
    always: bool = False,
    former_values: tuple[tuple[str, str], ...] = (),
    default: Any = MISSING,
    default_factory: Any = MISSING,
) -> Any:
    """Declare what is no figure: a name, a flag, a number that says which, a position on the trace's clock."""
    declared = Declared(
        meaning,
        counts=counts,
        key=key,
        former=former,
        within=within,
        names=names,
        least=least,
        pattern=pattern,
        always=always,
        former_values=former_values,
    )
    return _field(declared, default=default, default_factory=default_factory)


def part(
    meaning: str,
    *,
    key: str | None = None,
    former: tuple[str, ...] = (),
    within: str | None = None,
    by: tuple[str, ...] = (),
    names: tuple[str, ...] = (),
    later: tuple[str, ...] = (),
    section: bool = False,
    left_out: bool = False,
    inline: bool = False,
    grows: bool = False,
    always: bool = False,
    read: Callable[[Any], Any] | None = None,
    default: Any = MISSING,
    default_factory: Any = MISSING,
) -> Any:
    """Declare an object, or a list or mapping of objects."""
    declared = Declared(
        meaning,
        key=key,
        former=former,
        within=within,
        by=by,
        names=names,
        later=later,
        section=section,
        left_out=left_out,
        inline=inline,
        grows=grows,
        always=always,
        read=read,
    )
    return _field(declared, default=default, default_factory=default_factory)


def computed(
    meaning: str,
    *,
    after: str,
    unit: Unit | None = None,
    bad: Way | None = None,
    label: str = "",
    counts: str = "",
    key: str | None = None,
    within: str | None = None,
    names: tuple[str, ...] = (),
    least: float | None = 0,
    most: float | None = None,
) -> Callable[[Method], Method]:
    """Declare a property that is written ``after`` a field (an empty name: first) and never read."""

    def declare(method: Method) -> Method:
        declared = Declared(
            meaning,
            unit=unit,
            bad=bad,
            label=label,
            counts=counts,
            key=key,
            within=within,
            names=names,
            after=after,
            least=least,
            most=most,
        )
        setattr(method, _DECLARED, declared)
        return method

    return declare


def _field(declared: Declared, *, default: Any, default_factory: Any = MISSING) -> Any:
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata={_DECLARED: declared})
    return field(default=default, metadata={_DECLARED: declared})


@dataclass_transform(field_specifiers=(figure, label, part), frozen_default=True)
def result(cls: type[Made]) -> type[Made]:
    """Make a frozen class whose fields are declared."""
    return dataclass(frozen=True, slots=True)(cls)


@dataclass_transform(field_specifiers=(figure, label, part), frozen_default=True, kw_only_default=True)
def document(cls: type[Made]) -> type[Made]:
    """Make a frozen class of a whole document: fields by name only, in the order in which they are written."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of an object: where its value is, of what type, and what is said of it.

    ``attribute`` leads from the object to the value, by way of ``inline`` where that is the name of an inline part.
    ``default`` makes the value of a missing key; None where there must be one. ``computed`` ones are never read. One
    that ``may_lack`` is of an inline part that can be None.
    """

    key: str
    attribute: str
    hint: Any
    declared: Declared
    default: Callable[[], Any] | None = None
    computed: bool = False
    inline: str | None = None
    may_lack: bool = False

    @property
    def inside(self) -> str:
        """Its name where times are nanoseconds: ``busy_ns`` of ``busy_s``."""
        return self.key.removesuffix(_WRITTEN) + _INSIDE if self.is_time and self.key.endswith(_WRITTEN) else self.key

    @property
    def required(self) -> bool:
        """Whether every document of the major version has it."""
        declared = self.declared
        return not self.may_lack and not declared.left_out and (self.default is None or declared.always)

    @property
    def is_time(self) -> bool:
        """Whether its integers are nanoseconds, which are written as seconds; floats are seconds already."""
        return self.declared.unit == "s"


@cache
def keys_of(cls: type) -> tuple[Key, ...]:
    """Return the keys of a declared class, in the order in which they are written.

    Raises:
        TypeError: a field of it is not declared.

    """
    hints = get_type_hints(cls)
    keys: list[Key] = []
    for one in fields(cls):
        said = one.metadata.get(_DECLARED)
        if said is None:
            raise TypeError(f"{cls.__name__}.{one.name} is not declared")
        if said.inline:
            inner, optional = without_none(hints[one.name])
            keys += [_inlined(one.name, key, may_lack=optional) for key in keys_of(inner)]
        else:
            keys.append(Key(_key(one.name, said), one.name, hints[one.name], said, _default(one)))
    for name, member in vars(cls).items():
        said = getattr(member.fget, _DECLARED, None) if isinstance(member, property) else None
        if said is not None:
            _place(keys, Key(_key(name, said), name, get_type_hints(member.fget)["return"], said, computed=True))
    return tuple(keys)


def _inlined(name: str, key: Key, *, may_lack: bool) -> Key:
    attribute = f"{name}.{key.attribute}"
    return Key(key.key, attribute, key.hint, key.declared, key.default, key.computed, name, may_lack)


def _place(keys: list[Key], key: Key) -> None:
    """Put a computed key behind the field that it names; behind one of an inline part it is there with that part."""
    attributes = [one.attribute for one in keys]
    at = attributes.index(key.declared.after) + 1 if key.declared.after else 0
    before = keys[at - 1] if at else key
    own = Key(key.key, key.attribute, key.hint, key.declared, None, True, before.inline, before.may_lack)
    keys.insert(at, own)


def _key(name: str, said: Declared) -> str:
    if said.key is not None:
        return said.key
    return name.removesuffix(_INSIDE) + _WRITTEN if said.unit == "s" and name.endswith(_INSIDE) else name


def _default(one: Any) -> Callable[[], Any] | None:
    if one.default_factory is not MISSING:
        factory: Callable[[], Any] = one.default_factory
        return factory
    return None if one.default is MISSING else lambda: one.default


def without_none(hint: Any) -> tuple[Any, bool]:
    """Return a type without None, and whether None was in it."""
    if get_origin(hint) not in (Union, types.UnionType):
        return hint, False
    choices = [choice for choice in get_args(hint) if choice is not type(None)]
    return (choices[0] if len(choices) == 1 else Union[tuple(choices)]), len(choices) < len(get_args(hint))  # noqa: UP007


def is_list(hint: Any) -> bool:
    """Tell whether a type is a list of one kind of item."""
    return get_origin(hint) is tuple and get_args(hint)[-1] is Ellipsis


def is_mapping(hint: Any) -> bool:
    """Tell whether a type is a mapping from names."""
    origin = get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, Mapping)
