"""Which argument of a target, if any, leaves have a vector of values for."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from mlnlearn.counting.objects import Objects
from mlnlearn.errors import InputError
from mlnlearn.structure.boosting.class_regression import ClassAxis
from mlnlearn.structure.boosting.language import BodyLanguage, is_value

_MOST_CONSTANTS = 50


@dataclass(frozen=True, slots=True)
class AxisRequest:
    """What is wanted, and what is known before the data are seen.

    Attributes
    ----------
    wanted
        ``"auto"``, where an argument is a class; ``"on"``, or an error; ``"off"``.
    obstacles
        Why vectors cannot be learned with the settings.
    """

    wanted: str
    obstacles: tuple[str, ...] = ()

    def axis(self, world: Objects, target: str, bodies: Collection[str]) -> ClassAxis | None:
        """Return the axis of a target, None for none; refuse what is asked for and cannot be.

        Examples
        --------
        >>> from mlnlearn.data.database import Database
        >>> from mlnlearn.logic.schema import Schema
        >>> schema = Schema.of("is(track,genre!)", "on(track,album)")
        >>> facts = {"is": [("A", "Jazz"), ("B", "Rock")], "on": [("A", "X")]}
        >>> world = Objects([Database.from_facts(schema, facts)])
        >>> AxisRequest("auto").axis(world, "is", ["is", "on"])
        ClassAxis(place=1, kind='genre', names=('Jazz', 'Rock'), exclusive=True)
        >>> AxisRequest("auto").axis(world, "on", ["is", "on"]) is None
        True
        """
        if self.wanted == "off":
            return None
        reasons = [*self.obstacles]
        predicate = world.schema[target]
        exclusive = world.schema.exclusive(target)
        if predicate.arity < 2:
            reasons.append(f"{target} has no argument beside it")
        if len(exclusive) > 1:
            reasons.append(f"{target} has several arguments marked !")
        places = exclusive if exclusive else tuple(reversed(range(predicate.arity)))
        if not reasons and self.wanted == "auto":
            places = tuple(
                place for place in places if _is_class(world, target, place, bodies, exclusive)
            )
        if reasons or not places:
            if self.wanted == "on":
                raise InputError(
                    f"leaves of {target} cannot have a value for each constant: {reasons[0]}",
                    hint='leave axis at "auto"',
                )
            return None
        kind = predicate.types[places[0]]
        names = tuple(sorted(world.values(kind)[0]))
        return ClassAxis(places[0], kind, names, bool(exclusive))


def _is_class(
    world: Objects, target: str, place: int, bodies: Collection[str], exclusive: tuple[int, ...]
) -> bool:
    """Tell whether an argument has few values, known wherever the target is, that join nothing."""
    kind = world.schema[target].types[place]
    names = world.values(kind)[0]
    if not 2 <= len(names) <= _MOST_CONSTANTS or kind in _joined(world, target, place, bodies):
        return False
    if exclusive and len(world.databases) == 1:
        return True
    return is_value(world, kind, _MOST_CONSTANTS)


def _joined(world: Objects, target: str, place: int, bodies: Collection[str]) -> Iterator[str]:
    """Yield the types of all that the argument could be joined with."""
    own = world.schema[target].types
    yield from (kind for other, kind in enumerate(own) if other != place)
    for name in bodies:
        if name != target:
            yield from world.schema[name].types


def without_axis(language: BodyLanguage, heads: int) -> BodyLanguage:
    """Return the language for a head of fewer arguments."""
    return replace(language, heads=heads, _single={}, _pairs={})
