"""Nodes of parametrized Bayes nets: attributes and links of first-order variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from mlnlearn.documents import Name
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Atom, Constant, Predicate, Variable
from mlnlearn.logic.formulas import Formula, Not

ABSENT = "N/A"
"""The value of a relationship's attribute where the relationship is false."""
FALSE_TRUE = ("F", "T")


@dataclass(frozen=True)
class NetNode:
    """An attribute or a link, as a random variable.

    Attributes
    ----------
    predicate
        The predicate that holds its facts: ``Age(users,age_value)`` or ``rated(users,item)``.
    variables
        The first-order variables it speaks of.
    values
        Names of its values: of an attribute the constants, of a link or flag ``F`` and ``T``. An
        attribute of a relationship has the first value ``N/A``.
    relationship
        The link predicate that it belongs to; of a link its own; None for attributes of entities.
    main
        False for the second copy of a self-related entity's attribute: nothing is learned about
        that one, as it is the same attribute.

    Examples
    --------
    >>> age = NetNode(Predicate("Age", ("user", "band")), (Variable("u"),), ("young", "old"))
    >>> print(age, age.literal(1))
    Age(u) Age(u,"old")
    """

    predicate: Predicate
    variables: tuple[Variable, ...]
    values: tuple[str, ...]
    relationship: Predicate | None = None
    main: bool = True

    def __hash__(self) -> int:
        return hash((self.predicate.name, self.main))  # a search asks for it all the time

    @property
    def is_link(self) -> bool:
        """Whether the node is the true/false indicator of a relationship."""
        return self.predicate == self.relationship

    @property
    def is_flag(self) -> bool:
        """Whether its value is the truth of an atom, not a constant in one."""
        return self.predicate.arity == len(self.variables)

    @property
    def is_attribute(self) -> bool:
        """Whether the node is an attribute, of an entity or of a relationship."""
        return not self.is_link

    @property
    def size(self) -> int:
        """Number of values."""
        return len(self.values)

    def literal(self, value: int) -> Formula:
        """Return the literal that says the node has a value; N/A says that the link is missing."""
        if self.relationship is not None and self.values[value] == ABSENT:
            return Not(Atom(self.relationship, self.variables))
        if self.is_flag:
            atom = Atom(self.predicate, self.variables)
            return atom if self.values[value] == FALSE_TRUE[1] else Not(atom)
        return Atom(self.predicate, (*self.variables, Constant(self.values[value])))

    def __str__(self) -> str:
        return f"{self.predicate.name}({','.join(map(str, self.variables))})"

    def as_dict(self) -> dict[str, Any]:
        """Return the node as plain values, for JSON."""
        link = self.relationship
        return {
            "predicate": [self.predicate.name, *self.predicate.types],
            "variables": [variable.name for variable in self.variables],
            "values": list(self.values),
            "relationship": None if link is None else [link.name, *link.types],
            "main": self.main,
        }

    @classmethod
    def from_file(cls, file: NetNodeFile) -> NetNode:
        """Undo `as_dict`."""
        name, *types = file.predicate
        link = file.relationship
        found = cls(
            Predicate(name, tuple(types)),
            tuple(map(Variable, file.variables)),
            tuple(file.values),
            None if link is None else Predicate(link[0], tuple(link[1:])),
            file.main,
        )
        found._check()
        return found

    def _check(self) -> None:
        """Refuse what no layout of tables has."""
        if self.predicate.arity - len(self.variables) not in (0, 1):
            raise InputError(f"{self.predicate} cannot have {len(self.variables)} variables")
        if len(set(self.variables)) < len(self.variables) or len(set(self.values)) < self.size:
            raise InputError("a variable or a value is there twice")
        linked = self.relationship is not None and not self.is_link
        if linked and (self.size < 2 or self.values[0] != ABSENT):
            raise InputError(f"an attribute of a relationship has the first value {ABSENT}")
        own = self.values[1:] if linked else self.values
        if self.is_flag and own != FALSE_TRUE:
            raise InputError(f"{self.predicate} is true or false, not one of {self.values}")
        if linked and self.relationship and self.relationship.arity != len(self.variables):
            raise InputError(f"{self.relationship} has other variables than {self}")


class NetNodeFile(Struct, forbid_unknown_fields=True):
    """A node in a file."""

    predicate: Annotated[list[Name], Meta(min_length=1, max_length=64)]
    variables: list[Name]
    values: Annotated[list[str], Meta(min_length=1)]
    relationship: Annotated[list[Name], Meta(min_length=1, max_length=64)] | None
    main: bool
