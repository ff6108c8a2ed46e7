"""Settings of learners: declared once, with their bounds, in the annotations of a dataclass.

    @dataclass(frozen=True, kw_only=True)
    class MyLearner(Settings):
        steps: Annotated[int, AtLeast(0)] = 20

What each setting is stands in the section "Parameters" of the class. Values are checked where a
learner is made, by their types and bounds, all of them at once. The same declarations and sentences
are what `describe` returns and ``help(MyLearner)`` shows, those of the base classes among them.

A class may name *presets*, settings that go together, such as those of the paper it is from:
``MyLearner.preset("paper", steps=10)``.
"""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from numbers import Integral, Real
from typing import (
    Annotated,
    Any,
    ClassVar,
    Literal,
    Self,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from mlnlearn.errors import InputError, InputErrors, did_you_mean

_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}
_NONE = type(None)
_LARGEST = 2**63 - 1  # of whole numbers, as arrays hold them


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where numbers may lie; made by `AtLeast`, `Above` and `Between`."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    infinite: bool = False

    def __contains__(self, value: float) -> bool:
        above = value > self.low if self.open_low else value >= self.low
        if not self.infinite and math.isinf(value):
            return False
        return above and (value < self.high if self.open_high else value <= self.high)

    def __str__(self) -> str:
        low = f"{'above' if self.open_low else 'at least'} {self.low:g}"
        if self.high == math.inf:
            return low
        return f"{low} and {'below' if self.open_high else 'at most'} {self.high:g}"


def AtLeast(low: float) -> Bounds:  # noqa: N802 - reads as a type in an annotation
    """Allow numbers from `low` on.

    Parameters
    ----------
    low
        The least number allowed.
    """
    return Bounds(low)


def Above(low: float, *, infinite: bool = False) -> Bounds:  # noqa: N802
    """Allow numbers greater than `low`; infinity, where that has a meaning.

    Parameters
    ----------
    low
        Numbers must be greater than this.
    infinite
        Whether infinity is allowed.
    """
    return Bounds(low, open_low=True, infinite=infinite)


def Between(  # noqa: N802
    low: float, high: float, *, open_low: bool = False, open_high: bool = False
) -> Bounds:
    """Allow numbers from `low` to `high`, the ends with them unless they are open.

    Parameters
    ----------
    low, high
        The ends of the interval.
    open_low, open_high
        Whether the end itself is not allowed.

    Examples
    --------
    >>> 0.0 in Between(0, 1, open_low=True), 1.0 in Between(0, 1, open_low=True)
    (False, True)
    """
    return Bounds(low, high, open_low, open_high)


class Settings:
    """Base of frozen dataclasses of settings: checks the values where an instance is made.

    Whole numbers of NumPy become ints, ints become floats where floats are asked for, lists become
    tuples: equal settings print alike.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Mine(Settings):
    ...     steps: Annotated[int, AtLeast(0)] = 20
    ...     kind: Literal["trees", "clauses"] = "trees"
    >>> Mine(steps="5")
    Traceback (most recent call last):
    mlnlearn.errors.InputError: Mine: steps is '5', and must be a whole number, at least 0
    >>> Mine(steps=-1, kind="rules")
    Traceback (most recent call last):
    mlnlearn.errors.InputErrors: 2 problems found
    Mine: steps is -1, and must be a whole number, at least 0
    Mine: kind is 'rules', and must be 'trees' or 'clauses'
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Settings that go together, by name."""

    @classmethod
    def preset(cls, name: str, **settings: Any) -> Self:
        """Return an instance with the settings of a preset, and others beside or instead of them.

        Examples
        --------
        >>> @dataclass(frozen=True, kw_only=True)
        ... class Mine(Settings):
        ...     presets = {"paper": {"steps": 50}}
        ...     steps: Annotated[int, AtLeast(0)] = 20
        ...     seed: int = 0
        >>> Mine.preset("paper", seed=1)
        Mine(steps=50, seed=1)
        >>> Mine.preset("papers")
        Traceback (most recent call last):
        mlnlearn.errors.InputError: Mine has no preset 'papers'
          hint: there are: paper; did you mean 'paper'?
        """
        return cls(**{**preset_of(cls, name), **settings})

    def __init_subclass__(cls) -> None:
        """Let the docstring tell of inherited settings, too."""
        super().__init_subclass__()
        cls.__doc__ = _with_inherited(cls)

    def __post_init__(self) -> None:
        """Refuse settings that make no sense, all at once."""
        name = type(self).__name__
        problems = []
        for setting in describe(type(self)).values():
            given = getattr(self, setting.name)
            try:
                object.__setattr__(self, setting.name, setting.value_of(given))
            except ValueError:
                problems.append(f"{setting.name} is {given!r}, and must be {setting.kind}")
        errors = [InputError(f"{name}: {text}") for text in problems or self.conflicts()]
        if errors:
            raise errors[0] if len(errors) == 1 else InputErrors(errors)

    def conflicts(self) -> Iterable[str]:
        """Say which settings, each allowed, do not go together."""
        return ()


@dataclass(frozen=True)
class Setting:
    """A setting: its name, type, bounds and default, and what its class says of it.

    Examples
    --------
    >>> Setting("share", Annotated[float, Between(0, 1)] | None, 0.5).kind
    'a number, at least 0 and at most 1; or none'
    """

    name: str
    hint: Any
    default: Any = MISSING
    meaning: str = ""

    @property
    def kind(self) -> str:
        """What values it takes, in words."""
        return "; or ".join(_words(part) for part in reversed(alternatives(self.hint)))

    def value_of(self, given: Any) -> Any:
        """Return a value in its plain form; a `ValueError` says that it is none of these."""
        for part in alternatives(self.hint):
            try:
                return _checked(given, part)
            except ValueError:
                continue
        raise ValueError(given)


def preset_of(kind: type, name: str, label: str = "") -> Mapping[str, Any]:
    """Return the settings of a preset; `label` is what an error calls the class."""
    known: Mapping[str, Mapping[str, Any]] = getattr(kind, "presets", {})
    if name not in known:
        raise InputError(
            f"{label or kind.__name__} has no preset {name!r}",
            hint=did_you_mean(name, known),
        )
    return known[name]


def describe(kind: type) -> dict[str, Setting]:
    """Return the settings of a class, those of its base classes first.

    Examples
    --------
    >>> @dataclass(frozen=True, kw_only=True)
    ... class Mine(Settings):
    ...     '''Parameters
    ...     ----------
    ...     steps
    ...         How many steps to take.
    ...     '''
    ...     steps: Annotated[int, AtLeast(0)] = 20
    >>> describe(Mine)["steps"].default, describe(Mine)["steps"].meaning
    (20, 'How many steps to take.')
    """
    hints = get_type_hints(kind, include_extras=True)
    meanings = _entries(kind.__doc__)
    return {
        item.name: Setting(
            item.name,
            hints[item.name],
            item.default,
            " ".join(meanings.get(item.name, "").replace("`", "").split()),
        )
        for item in fields(kind)
        if item.init
    }


def alternatives(hint: Any) -> list[Any]:
    """Return the types of a union, none first: the word cannot be meant for a text.

    Examples
    --------
    >>> alternatives(int | None)
    [<class 'NoneType'>, <class 'int'>]
    """
    if get_origin(hint) in (Union, types.UnionType):
        return sorted(get_args(hint), key=lambda part: part is not _NONE)
    return [hint]


def plain_type(hint: Any) -> Any:
    """Return a type without its bounds."""
    return get_args(hint)[0] if get_origin(hint) is Annotated else hint


def _bounds(hint: Any) -> list[Bounds]:
    return [part for part in getattr(hint, "__metadata__", ()) if isinstance(part, Bounds)]


def _words(hint: Any) -> str:
    """Say what values a type takes."""
    kind = plain_type(hint)
    if kind is _NONE:
        return "none"
    if get_origin(kind) is Literal:
        return " or ".join(map(repr, get_args(kind)))
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        return "a list of names" if inner is str else f"a list of {inner.__name__}s"
    return ", ".join([_WORDS.get(kind, f"a {kind.__name__}"), *map(str, _bounds(hint))])


def _checked(given: Any, hint: Any) -> Any:
    """Return a value of one type in its plain form, or raise a `ValueError`."""
    kind = plain_type(hint)
    value = given
    if get_origin(kind) is Literal:
        if not any(type(given) is type(choice) and given == choice for choice in get_args(kind)):
            raise ValueError(given)
    elif get_origin(kind) is tuple:
        if not isinstance(given, tuple | list):
            raise ValueError(given)
        value = tuple(_checked(item, get_args(kind)[0]) for item in given)
    elif kind in (int, float):
        number = Integral if kind is int else Real
        if isinstance(given, bool) or not isinstance(given, number):
            raise ValueError(given)
        if (isinstance(given, Integral) and abs(int(given)) > _LARGEST) or math.isnan(given):
            raise ValueError(given)
        value = kind(given)
        if math.isinf(value) and not _bounds(hint):
            raise ValueError(given)
    elif not isinstance(given, get_origin(kind) or kind):
        raise ValueError(given)
    if any(value not in bounds for bounds in _bounds(hint)):
        raise ValueError(given)
    return value


def _entries(doc: str | None) -> dict[str, str]:
    """Return the entries of the section "Parameters" of a docstring: name, and text as it is."""
    lines = inspect.cleandoc(doc or "").splitlines()
    found: dict[str, str] = {}
    name = ""
    for line in lines[_start(lines) :]:
        if line and not line.startswith(" "):
            if not line.isidentifier():
                break
            name = line
            found[name] = ""
        elif name and line:
            found[name] += line + "\n"
    # the heading of the section that follows is no entry
    return {name: text for name, text in found.items() if text}


def _start(lines: list[str]) -> int:
    """Return the number of the first line under the heading "Parameters"."""
    return lines.index("Parameters") + 2 if "Parameters" in lines else len(lines)


def _with_inherited(kind: type) -> str | None:
    """Return the docstring of a class with the settings of its bases before its own."""
    inherited: Mapping[str, str] = {}
    for base in reversed(kind.__mro__[1:]):
        inherited = {**inherited, **_entries(base.__doc__)}
    if kind.__doc__ is None or not inherited:
        return kind.__doc__
    own = _entries(kind.__doc__)
    text = "".join(f"{n}\n{t}" for n, t in inherited.items() if n not in own)
    lines = inspect.cleandoc(kind.__doc__).splitlines()
    start = _start(lines)
    if start < len(lines):
        return "\n".join([*lines[:start], *text.splitlines(), *lines[start:]])
    section = ["Parameters", "----------", *text.splitlines(), ""]
    place = lines.index("Examples") if "Examples" in lines else len(lines)
    between = [] if place < len(lines) or not lines else [""]
    return "\n".join([*lines[:place], *between, *section, *lines[place:]])
