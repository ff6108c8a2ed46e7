"""From a mapping of tables to the nodes of a net: variables, relationships, attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from mlnlearn.data.database import Database
from mlnlearn.data.load.mapping import Mapping
from mlnlearn.errors import InputError, raise_all
from mlnlearn.logic.atoms import Predicate, Variable
from mlnlearn.model.bayesnet_nodes import ABSENT, FALSE_TRUE, NetNode


@dataclass(frozen=True)
class Relationship:
    """A link predicate between first-order variables, with its attributes.

    A foreign key of an entity table is such a link too, from the row to the one it names.
    """

    link: NetNode
    attributes: tuple[NetNode, ...] = ()

    @property
    def predicate(self) -> Predicate:
        """The predicate of the link."""
        return self.link.predicate

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The first-order variables that the link joins."""
        return self.link.variables

    @property
    def nodes(self) -> tuple[NetNode, ...]:
        """The link and its attributes."""
        return (self.link, *self.attributes)


@dataclass(frozen=True)
class NetLayout:
    r"""What a net over some tables can speak of.

    Attributes
    ----------
    types
        The type of each first-order variable. A type has one variable, or as many as it has places
        in one relationship; the first is its main one, and other relationships use that.
    attributes
        Attributes of entities: those of the main variables, then those of the copies.
    relationships
        All links with their attributes.

    Examples
    --------
    >>> from mlnlearn.data.load.files import from_csv
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> _ = pathlib.Path(folder.name, "person.csv").write_text("id,sex,boss\nA,f,B\nB,m,B\n")
    >>> from mlnlearn.data.load.tables import Keys
    >>> loaded = from_csv(folder.name, keys={"person": Keys("id", {"boss": "person"})})
    >>> print(*NetLayout.of([loaded.database], loaded.mapping).nodes)
    sex(person0) sex(person1) boss(person0,person1)
    """

    types: dict[Variable, str]
    attributes: tuple[NetNode, ...]
    relationships: tuple[Relationship, ...]

    @classmethod
    def of(cls, databases: Sequence[Database], mapping: Mapping) -> NetLayout:
        """Read off the layout; values of attributes are those of all databases."""
        return _LayoutBuilder(databases, mapping).layout()

    @classmethod
    def from_nodes(cls, nodes: Iterable[NetNode]) -> NetLayout:
        """Read the layout off the nodes of a net."""
        every = tuple(nodes)
        types = {
            variable: kind
            for node in every
            for variable, kind in zip(node.variables, node.predicate.types, strict=False)
        }
        relationships = tuple(
            Relationship(
                link,
                tuple(n for n in every if n.relationship == link.predicate and n.is_attribute),
            )
            for link in every
            if link.is_link
        )
        return cls(types, tuple(n for n in every if n.relationship is None), relationships)

    @property
    def nodes(self) -> tuple[NetNode, ...]:
        """All nodes: attributes of entities, then links with their attributes."""
        return (*self.attributes, *chain.from_iterable(r.nodes for r in self.relationships))

    def attributes_of(self, variable: Variable) -> tuple[NetNode, ...]:
        """Return the entity attributes of a variable."""
        return tuple(node for node in self.attributes if node.variables == (variable,))


class _LayoutBuilder:
    def __init__(self, databases: Sequence[Database], mapping: Mapping) -> None:
        self.databases, self.schema, self.mapping = databases, databases[0].schema, mapping
        self.problems: list[InputError] = []
        self.links: list[Predicate] = []
        self.entity_attributes: list[Predicate] = []
        self.link_attributes: dict[str, list[Predicate]] = {}
        for table in mapping:
            if table.kind == "skip":
                continue
            if table.kind == "relationship":
                if table.predicate:
                    self.links.append(self.schema[table.predicate])
                else:
                    self.problems.append(
                        InputError(
                            f"table {table.name!r} is a relationship without a predicate",
                            hint="give it one in the mapping, or skip the table",
                        )
                    )
            for column in table.columns:
                self._add_column(table.kind, table.predicate, column.role, column.predicate)

    def _add_column(self, kind: str, owner: str, role: str, name: str) -> None:
        if role == "link":
            self.links.append(self.schema[name])
        elif role in ("value", "flag") and self._has_values(role, name):
            if kind in ("entity", "event"):
                self.entity_attributes.append(self.schema[name])
            else:
                self.link_attributes.setdefault(owner, []).append(self.schema[name])

    def _has_values(self, role: str, name: str) -> bool:
        """Tell whether there is anything to learn about a column: one without a value is none."""
        kind = self.schema[name].types[-1]
        return role == "flag" or any(len(db.domains[kind]) for db in self.databases)

    def layout(self) -> NetLayout:
        raise_all(self.problems)
        kinds: dict[str, int] = {predicate.types[0]: 1 for predicate in self.entity_attributes}
        for link in self.links:
            for kind in link.types:
                kinds[kind] = max(kinds.get(kind, 1), link.types.count(kind))
        variables = {
            (kind, place): Variable(_name(kind) + (str(place) if copies > 1 else ""))
            for kind, copies in kinds.items()
            for place in range(copies)
        }
        attributes = [
            NetNode(predicate, (variable,), self._values(predicate, 1), main=place == 0)
            for (kind, place), variable in sorted(variables.items(), key=lambda item: item[0][1])
            for predicate in self.entity_attributes
            if predicate.types[0] == kind
        ]
        relationships = [self._relationship(link, variables) for link in self.links]
        types = {variable: kind for (kind, _), variable in variables.items()}
        return NetLayout(types, tuple(attributes), tuple(relationships))

    def _relationship(
        self, link: Predicate, variables: dict[tuple[str, int], Variable]
    ) -> Relationship:
        seen = [link.types[:place].count(kind) for place, kind in enumerate(link.types)]
        places = tuple(variables[kind, copy] for kind, copy in zip(link.types, seen, strict=True))
        attributes = tuple(
            NetNode(
                predicate,
                places,
                (ABSENT, *self._values(predicate, link.arity)),
                relationship=link,
            )
            for predicate in self.link_attributes.get(link.name, [])
        )
        return Relationship(NetNode(link, places, FALSE_TRUE, relationship=link), attributes)

    def _values(self, predicate: Predicate, keys: int) -> tuple[str, ...]:
        if predicate.arity == keys:
            return FALSE_TRUE
        kind = predicate.types[-1]
        return tuple(dict.fromkeys(n for db in self.databases for n in db.domains[kind].names))


def _name(kind: str) -> str:
    """Return a variable's name for a type: variables start in lower case and hold no ``-``."""
    name = kind[:1].lower() + kind[1:] if kind[:1].isalpha() else f"x{kind}"
    return name.replace("-", "_")
