"""Modes: which arguments of a literal are bound, new, or constant, as ILP systems write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mlnlearn.errors import InputError, collected, raise_all
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema

_MODE = re.compile(r"\s*([A-Za-z_][\w\-']*)\s*(?:\(([^()]*)\))?\s*\.?\s*\Z")


@dataclass(frozen=True, slots=True)
class Mode:
    """How the arguments of a predicate may be filled: one of ``+``, ``-``, ``#`` a place.

    ``+`` takes a variable of the path, ``-`` such a variable or a new one, ``#`` a constant.

    Examples
    --------
    >>> schema = Schema.of("inPhase(person,phase)")
    >>> Mode.parse("inPhase(+person,#phase)", schema).signs
    '+#'
    """

    predicate: Predicate
    signs: str

    @classmethod
    def parse(cls, text: str, schema: Schema) -> Mode:
        """Read a mode such as ``"publication(-title,+person)"``; the types may be left out."""
        found = _MODE.match(text.removeprefix("mode:"))
        if not found or found[1] not in schema:
            known = ", ".join(predicate.name for predicate in schema.predicates)
            raise InputError(f"{text!r} is no mode of a known predicate; declared are: {known}")
        predicate = schema[found[1]]
        places = [part.strip() for part in (found[2] or "").split(",") if part.strip()]
        if len(places) != predicate.arity:
            raise InputError(f"mode {text!r}: {predicate} has {predicate.arity} arguments")
        for part, kind in zip(places, predicate.types, strict=True):
            if part[0] not in "+-#" or part[1:] not in ("", kind):
                raise InputError(
                    f"mode {text!r}: found {part!r}, expected one of +{kind}, -{kind}, #{kind}"
                )
        return cls(predicate, "".join(part[0] for part in places))


def read_modes(modes: Sequence[str], schema: Schema, target: str) -> tuple[Mode, ...]:
    """Read all modes of predicates other than the target.

    Examples
    --------
    >>> len(read_modes(["likes(+,-)", "happy(+)"], Schema.of("likes(p,p)", "happy(p)"), "happy"))
    1
    """
    parsed: list[Mode] = []
    problems: list[InputError] = []
    for text in modes:
        with collected(problems):
            parsed.append(Mode.parse(text, schema))
    raise_all(problems)
    return tuple(mode for mode in parsed if mode.predicate.name != target)
