"""Settings of learners on the command line: ``--set name=value``, read by the fields' types."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import mlnlearn as ml
from mlnlearn.errors import InputError, collected, did_you_mean, raise_all
from mlnlearn.registry import Entry
from mlnlearn.settings import Setting, alternatives, describe, plain_type

# What has an option of its own.
_OPTIONS = {"target": "--target", "seed": "--seed", "base": "--base"}
_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def settings_of(entry: Entry) -> dict[str, Setting]:
    """Return what ``--set`` can change of a learner, by name.

    Examples
    --------
    >>> from mlnlearn.registry import LEARNERS
    >>> setting = settings_of(LEARNERS["mln-bt"])["steps"]
    >>> setting.default, setting.kind
    (20, 'a whole number, at least 0')
    """
    return {
        name: setting
        for name, setting in describe(entry.load()).items()
        if name not in _OPTIONS and name not in entry.fixed
    }


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
    >>> from mlnlearn.registry import LEARNERS
    >>> parse_settings(["steps=5", "bodies=smokes,friends"], {"rdn-b": LEARNERS["rdn-b"]})
    {'rdn-b': {'steps': 5, 'bodies': ('smokes', 'friends')}}
    """
    known = {name: settings_of(entry) for name, entry in learners.items()}
    found: dict[str, dict[str, Any]] = {name: {} for name in learners}
    problems: list[InputError] = []
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        owners = [learner for learner, settings in known.items() if name in settings]
        with collected(problems):
            if not equals:
                raise InputError(f"--set {text}: expected name=value")
            if not owners:
                raise _unknown(name, learners, known)
            for learner in owners:
                found[learner][name] = _read(value, known[learner][name])
    raise_all(problems)
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
        hint=did_you_mean(name, names),
    )


def _read(text: str, setting: Setting) -> Any:
    for hint in map(plain_type, alternatives(setting.hint)):
        try:
            return setting.value_of(_value(text, hint))
        except ValueError:
            continue
    raise InputError(f"--set {setting.name}={text}: expected {_kind(setting)}")


def _kind(setting: Setting) -> str:
    """Say what the command line takes: of networks, the file that has them."""
    kind = setting.kind.replace("'", "").replace("a MLN", "a file .mln")
    kind = kind.replace("a BoostedModel", "a file .json of a boosted model")
    return kind.replace("a list of names", "names with commas")


def _value(text: str, hint: Any) -> Any:
    """Read a text as one type; a `ValueError` says that it does not read so."""
    if hint is type(None):
        if text.lower() != "none":
            raise ValueError(text)
        return None
    if hint is bool:
        if text.lower() not in _TRUTH:
            raise ValueError(text)
        return _TRUTH[text.lower()]
    if get_origin(hint) is Literal:
        return {str(choice): choice for choice in get_args(hint)}.get(text, text)
    if hint is ml.MLN:
        return ml.MLN.read(Path(text))
    if get_origin(hint) is tuple:
        return tuple(_value(part, get_args(hint)[0]) for part in _parts(text))
    if hint is ml.BoostedModel:
        return ml.BoostedModel.load(Path(text))
    if hint not in (int, float, str):
        raise ValueError(text)  # nothing that a text could say
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


def explained(setting: Setting) -> tuple[str, str, str]:
    """Return the row of a table of settings: name, default, and what it is."""
    return setting.name, shown_default(setting), f"{setting.meaning} ({_kind(setting)})"


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
