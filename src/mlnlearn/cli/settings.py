"""Settings of learners on the command line: ``--set name=value``, read by the fields' types."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from mlnlearn.cli.registry import Entry
from mlnlearn.errors import InputError, InputErrors
from mlnlearn.logic.formulas import Rule
from mlnlearn.model.mln import MLN

# What has an option of its own.
_OPTIONS = {"target": "--target", "seed": "--seed", "base": "--base"}
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
_KINDS = {int: "whole number", float: "number", bool: "true or false", str: "text"}
_FILE = "file.mln"


@dataclass(frozen=True)
class Setting:
    """A setting of a learner: its name, type, default, and what its class says of it."""

    name: str
    hint: Any
    default: Any
    meaning: str = ""

    @property
    def kind(self) -> str:
        """What values it takes, in words."""
        return _kind(self.hint)


def settings_of(entry: Entry) -> dict[str, Setting]:
    """Return what ``--set`` can change of a learner, by name.

    Examples
    --------
    >>> from mlnlearn.cli.registry import learner_named
    >>> setting = settings_of(learner_named("mln-bt"))["steps"]
    >>> setting.default, setting.kind
    (20, 'whole number')
    """
    kind = entry.load()
    hints, meanings = get_type_hints(kind), _meanings(kind)
    return {
        item.name: Setting(item.name, hints[item.name], _default(item), meanings.get(item.name, ""))
        for item in fields(kind)
        if item.name not in _OPTIONS and item.name not in entry.fixed
    }


def _default(item: Field[Any]) -> Any:
    return item.default_factory() if item.default_factory is not MISSING else item.default


def _meanings(kind: type) -> dict[str, str]:
    """Read the descriptions of settings off the docstrings of a class and those it derives from."""
    found: dict[str, str] = {}
    for base in reversed(kind.__mro__):
        listed: list[str] = []
        for line in inspect.cleandoc(base.__doc__ or "").splitlines():
            if line.startswith(" ") and listed:
                for name in listed:
                    found[name] = f"{found[name]} {line.strip()}".strip()
            else:
                listed = [name for name in line.split(", ") if name.isidentifier()]
                found |= dict.fromkeys(listed, "")
    return {name: text.replace("``", "").replace("`", "") for name, text in found.items()}


def parse_settings(
    texts: Sequence[str], learners: Mapping[str, Entry]
) -> dict[str, dict[str, Any]]:
    """Read ``name=value`` texts; each goes to every learner that has the setting.

    Returns
    -------
    dict
        For each learner, its settings by name.

    Examples
    --------
    >>> from mlnlearn.cli.registry import learner_named
    >>> parse_settings(["steps=5", "bodies=smokes,friends"], {"rdn-b": learner_named("rdn-b")})
    {'rdn-b': {'steps': 5, 'bodies': ('smokes', 'friends')}}
    """
    known = {name: settings_of(entry) for name, entry in learners.items()}
    found: dict[str, dict[str, Any]] = {name: {} for name in learners}
    problems: list[InputError] = []
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        owners = [learner for learner, settings in known.items() if name in settings]
        try:
            if not equals:
                raise InputError(f"--set {text}: expected name=value")
            if not owners:
                raise _unknown(name, learners, known)
            for learner in owners:
                found[learner][name] = _read(value, known[learner][name])
        except InputError as problem:
            problems.append(problem)
    if problems:
        raise InputErrors(problems)
    return found


def _unknown(
    name: str, learners: Mapping[str, Entry], known: Mapping[str, Mapping[str, Setting]]
) -> InputError:
    label = " and ".join(learners)
    for entry in learners.values():
        if name in entry.fixed:
            return InputError(f"--set {name}: it is {entry.fixed[name]!r} in {label}")
        if name in _OPTIONS and entry.has(name):
            return InputError(f"--set {name}: give it with {_OPTIONS[name]}")
    names = dict.fromkeys(setting for settings in known.values() for setting in settings)
    return InputError(
        f"--set {name}: {label} {'has' if len(learners) == 1 else 'have'} no such setting",
        hint=f"there are: {', '.join(names)}",
    )


def _read(text: str, setting: Setting) -> Any:
    for hint in _alternatives(setting.hint):
        try:
            return _value(text, hint)
        except ValueError:
            continue
    raise InputError(f"--set {setting.name}={text}: expected {setting.kind}")


def _value(text: str, hint: Any) -> Any:
    """Read a text as one type; a `ValueError` says that it does not read so."""
    if hint is type(None):
        if text.lower() != "none":
            raise ValueError
        return None
    if hint is bool:
        if text.lower() not in _TRUTH:
            raise ValueError
        return _TRUTH[text.lower()]
    if get_origin(hint) is Literal:
        if text not in get_args(hint):
            raise ValueError
        return text
    if hint is MLN:
        return MLN.read(Path(text))
    if get_origin(hint) is tuple:
        inner = get_args(hint)[0]
        if inner is Rule:
            return MLN.read(Path(text)).rules
        return tuple(_value(part, inner) for part in _parts(text))
    return hint(text)


def _parts(text: str) -> Iterator[str]:
    """Split at commas, except those within brackets: modes are such as ``friends(+,-)``."""
    depth, part = 0, ""
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and not depth:
            yield part.strip()
            part = ""
        else:
            part += letter
    if part.strip():
        yield part.strip()


def _alternatives(hint: Any) -> list[Any]:
    """Return the types of a union, None first: the word cannot be meant for a text."""
    if get_origin(hint) in (Union, types.UnionType):
        return sorted(get_args(hint), key=lambda part: part is not type(None))
    return [hint]


def _kind(hint: Any) -> str:
    none = [part for part in _alternatives(hint) if part is type(None)]
    rest = [part for part in _alternatives(hint) if part is not type(None)]
    words = [_kind_of_one(part) for part in rest] + ["none" for _ in none]
    return ", or ".join(words)


def _kind_of_one(hint: Any) -> str:
    if hint is MLN or (get_origin(hint) is tuple and get_args(hint)[0] is Rule):
        return _FILE
    if get_origin(hint) is Literal:
        return " or ".join(get_args(hint))
    if get_origin(hint) is tuple:
        return "names with commas"
    return _KINDS[hint]


def shown_default(setting: Setting) -> str:
    """Return a default as it would be given to ``--set``.

    Examples
    --------
    >>> shown_default(Setting("balance", float, None)), shown_default(Setting("modes", str, ()))
    ('none', '')
    """
    match setting.default:
        case None:
            return "none"
        case bool(value):
            return str(value).lower()
        case tuple(values):
            return ",".join(map(str, values))
        case value:
            return str(value)
