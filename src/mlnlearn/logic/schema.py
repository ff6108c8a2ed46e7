"""The schema: which types and predicates there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from mlnlearn.errors import InputError, nearest
from mlnlearn.logic.atoms import Constant, Predicate


@dataclass(frozen=True)
class Schema:
    """Types, typed predicates, and which arguments are functional.

    Attributes
    ----------
    predicates
        All predicates, in the order of declaration.
    declared
        Constants declared for a type (``person = {Anna, Bob}``); such a type is closed. The domain
        of any other type is the set of constants found in a database.
    functional
        For a predicate, the argument places marked ``!``: exactly one value for every choice of the
        other arguments.
    listed
        Constants that a type has at least (``topic = {Sports, Politics, ...}``); a database may
        have more.
    closed
        Predicates declared ``*p(type)``: what a database does not list of them is false, even
        where it lists nothing.

    Examples
    --------
    >>> schema = Schema.of("student(person)", "inPhase(person,phase!)")
    >>> schema["inPhase"].types, schema.functional["inPhase"], schema.types
    (('person', 'phase'), (1,), ('person', 'phase'))
    """

    predicates: tuple[Predicate, ...] = ()
    declared: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    functional: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    listed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()

    @classmethod
    def of(cls, *declarations: str) -> Schema:
        """Build a schema from plain declarations such as ``"inPhase(person,phase!)"``."""
        predicates, functional = [], {}
        for declaration in declarations:
            name, _, arguments = declaration.replace(" ", "").rstrip(")").partition("(")
            kinds = [kind for kind in arguments.split(",") if kind]
            marked = tuple(i for i, kind in enumerate(kinds) if kind.endswith("!"))
            predicates.append(Predicate(name, tuple(kind.rstrip("!") for kind in kinds)))
            if marked:
                functional[name] = marked
        return cls(tuple(predicates), {}, functional)

    @cached_property
    def _by_name(self) -> dict[str, Predicate]:
        return {predicate.name: predicate for predicate in self.predicates}

    def __getitem__(self, name: str) -> Predicate:
        try:
            return self._by_name[name]
        except KeyError:
            known = ", ".join(self._by_name) or "none"
            near = nearest(name, self._by_name)
            raise InputError(
                f"no such predicate {name!r}; declared are: {known}",
                hint=f"did you mean '{near}'?" if near else "",
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @cached_property
    def types(self) -> tuple[str, ...]:
        """All types, in order of first mention."""
        found = dict.fromkeys(kind for predicate in self.predicates for kind in predicate.types)
        return tuple(found | dict.fromkeys(self.declared) | dict.fromkeys(self.listed))

    @property
    def constants(self) -> dict[str, tuple[str, ...]]:
        """The constants that every database has, by type: all of a closed type, or the listed."""
        return {**self.listed, **self.declared}

    def without_functional(self) -> Schema:
        """Return the schema with all ``!`` markers stripped, as most published work reads it."""
        return replace(self, functional={})

    def exclusive(self, name: str) -> tuple[int, ...]:
        """Return the places of a predicate of which exactly one value is true; none for most.

        They are the places marked ``!``, and the value of a function.

        Examples
        --------
        >>> Schema.of("inPhase(person,phase!)", "rich(person)").exclusive("inPhase")
        (1,)
        """
        marked = self.functional.get(name, ())
        return (self[name].arity - 1,) if self[name].function and not marked else marked

    def restricted(self, names: Iterable[str]) -> Schema:
        """Return the schema with only the named predicates."""
        keep = set(names)
        for name in keep:
            self[name]
        return Schema(
            tuple(p for p in self.predicates if p.name in keep),
            self.declared,
            {name: places for name, places in self.functional.items() if name in keep},
            self.listed,
            self.closed & keep,
        )

    def declaration(self, name: str) -> str:
        """Return the declaration of a predicate as it stands in an ``.mln`` file."""
        predicate, marked = self[name], self.functional.get(name, ())
        star = "*" if name in self.closed else ""
        if predicate.function or not predicate.types:
            return f"{star}{predicate}"
        kinds = (k + "!" if i in marked else k for i, k in enumerate(predicate.types))
        return f"{star}{name}({','.join(kinds)})"

    def __str__(self) -> str:
        lines = [
            f"{kind} = {{{', '.join([*(str(Constant(name)) for name in names), *more])}}}"
            for types, more in ((self.declared, ()), (self.listed, ("...",)))
            for kind, names in types.items()
        ]
        lines += [self.declaration(predicate.name) for predicate in self.predicates]
        return "\n".join(lines)
