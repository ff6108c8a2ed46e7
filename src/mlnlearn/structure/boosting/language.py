"""The language bias of boosting: which literals may be tried at a node.

By default it is read off the schema and the data. A literal must share a variable with the path
before it; every other argument is a variable of the path, a new one, or, for types with few
constants, any of these constants. Users who have modes can give them instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import OPEN, Argument, Body, Pattern, equality, renamed
from mlnlearn.structure.boosting.modes import Mode, read_modes

_MOST_CONSTANTS = 20
_EVENTS = 10  # true target atoms for each constant: the usual "events per variable"


@dataclass(frozen=True, slots=True)
class Template:
    """A literal to try, or a family of them that differ in one constant.

    Attributes
    ----------
    pattern
        The literal; new variables have the next free numbers.
    slot
        The argument place that takes every constant of its type in turn, if any.
    new
        Number of new variables.
    """

    pattern: Pattern
    slot: int | None
    new: int

    def with_constant(self, name: str) -> Pattern:
        """Return the member of the family with the given constant."""
        terms = list(self.pattern.terms)
        if self.slot is not None:
            terms[self.slot] = name
        return Pattern(self.pattern.predicate, tuple(terms))

    def renamed(self, names: Mapping[Argument, Argument], bound: int, fewer: int) -> Template:
        """Return the literal by other names of variables; new ones come so many before `bound`."""
        terms = tuple(
            term - fewer
            if isinstance(term, int) and bound <= term < OPEN
            else names.get(term, term)
            for term in self.pattern.terms
        )
        return Template(Pattern(self.pattern.predicate, terms), self.slot, self.new)


Pairs: TypeAlias = tuple[tuple[Template, tuple[Template, ...]], ...]
"""Literals with new variables, each with the literals that use them."""


@dataclass(frozen=True, eq=False)
class BodyLanguage:
    """Which literals may be tried, given the variables there are.

    Attributes
    ----------
    modes
        The predicates that bodies may use, and how.
    counted
        Types whose constants may stand in rules.
    heads
        Number of the target's arguments. Only these variables are tested for equality, with each
        other or with constants; any other variable can stand in the second literal itself.
    lookahead
        Whether pairs of literals are tried.
    constants
        The constants of types that modes ask for at several places of a literal. All but the last
        such place are filled here; the last is told apart where literals are counted.
    """

    modes: tuple[Mode, ...]
    counted: tuple[str, ...]
    heads: int
    lookahead: bool = True
    constants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _single: dict[tuple[str, ...], tuple[Template, ...]] = field(default_factory=dict)
    _pairs: dict[tuple[str, ...], Pairs] = field(default_factory=dict)

    def single(self, types: tuple[str, ...]) -> tuple[Template, ...]:
        """Return the literals to be tried alone, for variables of the given types."""
        if types not in self._single:
            self._single[types] = tuple(self._templates(types, frozenset(range(len(types)))))
        return self._single[types]

    def pairs(self, types: tuple[str, ...]) -> Pairs:
        """Return the pairs to be tried: two may tell much where the first alone tells nothing."""
        if types not in self._pairs:
            self._pairs[types] = tuple(self._make_pairs(types))
        return self._pairs[types]

    def _make_pairs(
        self, types: tuple[str, ...]
    ) -> Iterator[tuple[Template, tuple[Template, ...]]]:
        seen: set[tuple[Pattern, ...]] = set()
        following: dict[tuple[str, ...], tuple[Template, ...]] = {}
        for first in self.single(types):
            if first.slot is not None or not first.new:
                continue
            after = types + new_types(first.pattern, len(types))
            if after not in following:
                needed = frozenset(range(len(types), len(after)))
                following[after] = tuple(self._templates(after, needed))
            second = tuple(
                template
                for template in following[after]
                if not repeats((first.pattern,), template, len(after))
                # one with an open constant is the first of no pair
                and (template.slot is not None or _is_new_pair(first, template, len(types), seen))
            )
            if second:
                yield first, second

    def _templates(self, types: tuple[str, ...], needed: frozenset[int]) -> Iterator[Template]:
        """Yield the literals that use at least one of the needed variables.

        Of two that tell examples apart alike, the first is taken: what facts say comes before
        whether two arguments are the same, which says the less of other data.
        """
        for mode in self.modes:
            last = mode.signs.rfind("#")
            options = [
                self.constants[kind]
                if sign == "#" and place != last
                else _options(sign, kind, types)
                for place, (sign, kind) in enumerate(
                    zip(mode.signs, mode.predicate.types, strict=True)
                )
            ]
            if not mode.predicate.arity:
                if 0 in needed:
                    yield Template(Pattern(mode.predicate, ()), None, 0)
                continue
            for choice in product(*options):
                used = [term for term in choice if isinstance(term, int) and term >= 0]
                if len(set(used)) == len(used) and needed.intersection(used):
                    yield _template(mode, choice, len(types))
        yield from self._equalities(types, needed)

    def _equalities(self, types: tuple[str, ...], needed: frozenset[int]) -> Iterator[Template]:
        for left, kind in enumerate(types[: self.heads]):
            predicate = equality(kind)
            if kind in self.counted and left in needed:
                yield Template(Pattern(predicate, (left, OPEN)), 1, 0)
            for right in range(left + 1, self.heads):
                if types[right] == kind and needed & {left, right}:
                    yield Template(Pattern(predicate, (left, right)), None, 0)


def language_of(
    world: Objects,
    target: str,
    bodies: Iterable[str],
    modes: Sequence[str] = (),
    max_constants: int | None = None,
    lookahead: bool = True,
    recursive: bool = False,
) -> BodyLanguage:
    """Return the language for one target.

    Parameters
    ----------
    world
        The training data.
    target
        The predicate to learn.
    bodies
        Names of the predicates that may stand in bodies.
    modes
        Where given, only these predicates are used, and only so.
    max_constants
        A type of values, such as colours, lends its constants to rules if it has at most this many;
        by default 20, but no more than one for every ten true atoms of the target, since the best
        of many constants fits by chance where there is little to fit. Values, unlike things, are
        shared by the databases; within a single one they are few beside the things of other types.
    lookahead
        Whether pairs of literals are tried.
    recursive
        Whether the target may stand in bodies of its own rules.

    Examples
    --------
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("happy(person)", "mood(person,colour)")
    >>> facts = {"mood": [(f"P{i}", "Red") for i in range(30)],
    ...          "happy": [(f"P{i}",) for i in range(10)]}
    >>> world = Objects([Database.from_facts(schema, facts)])
    >>> language = language_of(world, "happy", ["mood"])
    >>> language.counted, len(language.single(("person",)))
    (('colour',), 2)
    """
    schema = world.schema
    heads = schema[target].arity
    allowed = [name for name in bodies if recursive or name != target]
    most = max_constants
    if most is None:
        positives = sum(database.count(target) for database in world.databases)
        most = min(_MOST_CONSTANTS, positives // _EVENTS)
    counted = tuple(kind for kind in schema.types if is_value(world, kind, most))
    if modes:
        found = read_modes(modes, schema, "" if recursive else target)
        several = [mode for mode in found if mode.signs.count("#") > 1]
        kinds = {kind for mode in several for kind in mode.predicate.types}
        constants = {kind: tuple(world.values(kind)[0]) for kind in kinds}
        return BodyLanguage(found, counted, heads, lookahead, constants)
    derived = []
    for name in allowed:
        predicate = schema[name]
        derived.append(Mode(predicate, "-" * predicate.arity))
        derived += [
            Mode(predicate, "-" * place + "#" + "-" * (predicate.arity - place - 1))
            for place, kind in enumerate(predicate.types)
            if kind in counted and predicate.arity > 1
        ]
    return BodyLanguage(tuple(derived), counted, heads, lookahead)


def is_value(world: Objects, kind: str, most: int) -> bool:
    """Tell whether a type is one of values, such as colours, and has at most so many."""
    distinct, total = len(world.values(kind)[0]), world.number(kind)
    if not 0 < distinct <= most:
        return False
    if len(world.databases) > 1:
        return 2 * total >= 3 * distinct
    others = sum(world.number(other) for other in world.schema.types if other != kind)
    return distinct * distinct <= others


def new_types(pattern: Pattern, bound: int) -> tuple[str, ...]:
    """Return the types of a pattern's new variables, in the order of their numbers.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> new_types(Pattern(Predicate("publication", ("title", "person")), (2, 0)), 2)
    ('title',)
    """
    found = {
        term: kind
        for term, kind in zip(pattern.terms, pattern.predicate.types, strict=True)
        if isinstance(term, int) and bound <= term < OPEN
    }
    return tuple(found[term] for term in sorted(found))


def repeats(body: Body, template: Template, bound: int) -> bool:
    """Tell whether a literal of the path, with fresh variables for some, is what is to be tried.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> wrote = Predicate("publication", ("title", "person"))
    >>> repeats((Pattern(wrote, (2, 0)),), Template(Pattern(wrote, (3, 0)), None, 1), 3)
    True
    """
    if template.slot is not None:
        return False
    wanted = template.pattern
    name = wanted.predicate.name
    for pattern in body:
        if pattern.predicate.name == name and pattern.predicate == wanted.predicate:
            pairs = zip(pattern.terms, wanted.terms, strict=True)
            if all(old == new or (isinstance(new, int) and new >= bound) for old, new in pairs):
                return True
    return False


def _options(sign: str, kind: str, types: tuple[str, ...]) -> list[int | None]:
    """Return what a place takes: variables' numbers, -1 for a new one, None for constants."""
    if sign == "#":
        return [None]
    known: list[int | None] = [number for number, other in enumerate(types) if other == kind]
    return [*known, -1] if sign == "-" else known


def _template(mode: Mode, choice: Sequence[int | str | None], bound: int) -> Template:
    terms: list[int | str] = []
    slot, new = None, 0
    for place, term in enumerate(choice):
        if term is None:
            slot = place
            terms.append(OPEN)
        elif isinstance(term, int) and term < 0:
            terms.append(bound + new)
            new += 1
        else:
            terms.append(term)
    return Template(Pattern(mode.predicate, tuple(terms)), slot, new)


def _is_new_pair(
    first: Template, second: Template, bound: int, seen: set[tuple[Pattern, ...]]
) -> bool:
    """Tell whether a pair, its literals in either order, comes for the first time."""
    pair = first.pattern, second.pattern  # variables are numbered by first occurrence already
    if pair in seen:
        return False
    seen.update((pair, renamed(pair[::-1], bound)))
    return True
