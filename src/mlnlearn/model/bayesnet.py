"""Parametrized Bayes nets: nodes are attributes and links of first-order variables.

A net describes one random tuple of entities: draw a user and an item, then ask for the user's age,
the item's genre, whether the one rated the other, and how. Its edges and its conditional
probabilities are those of that draw (Poole 2003; Schulte 2011).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from os import PathLike
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from mlnlearn.documents import Count, Place, decode, in_file, read_document, signed, within
from mlnlearn.errors import InputError
from mlnlearn.files import write_files
from mlnlearn.model.bayesnet_nodes import NetNode, NetNodeFile
from mlnlearn.model.bayesnet_text import bif_text, dot_text, svg_text

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_FORMAT = "mlnlearn bayes net 1"
_MOST_CELLS = 20_000_000


@dataclass(frozen=True, eq=False)
class ConditionalTable:
    """Counts of a node's values for every parent configuration that was seen, and probabilities.

    Attributes
    ----------
    parents
        Places of the parents in the net.
    configurations
        Values of the parents, one row for each configuration seen; shape ``(rows, parents)``.
    counts
        How often each value was seen there; shape ``(rows, values)``.
    prior
        Equivalent sample size, spread evenly over all cells of the table (BDeu).
    """

    parents: tuple[int, ...]
    configurations: Ints
    counts: Floats
    prior: float = 10.0


@dataclass(frozen=True, eq=False)
class ParametrizedBayesNet:
    """Nodes with one conditional table each; the edges go from the tables' parents. Immutable.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate, Variable
    >>> u = (Variable("u"),)
    >>> sex = NetNode(Predicate("sex", ("user", "mf")), u, ("m", "f"))
    >>> fan = NetNode(Predicate("fan", ("user",)), u, ("F", "T"))
    >>> root = ConditionalTable((), np.zeros((1, 0), int), np.array([[5.0, 5.0]]))
    >>> leaf = ConditionalTable((0,), np.array([[0], [1]]), np.array([[9.0, 1.0], [0.0, 5.0]]), 4.0)
    >>> net = ParametrizedBayesNet((sex, fan), (root, leaf))
    >>> print(net)
    sex(u)
    fan(u) <- sex(u)
    >>> net.probability("fan(u)", "T", {"sex(u)": "f"}).round(3)
    np.float64(0.857)
    >>> net.joint(["fan(u)"]).round(4).tolist()
    [0.4881, 0.5119]
    """

    nodes: tuple[NetNode, ...]
    tables: tuple[ConditionalTable, ...]

    def __post_init__(self) -> None:
        if len(self.nodes) != len(self.tables):
            raise InputError(f"{len(self.nodes)} nodes, but {len(self.tables)} tables")
        try:
            order = TopologicalSorter(dict(enumerate(t.parents for t in self.tables)))
            object.__setattr__(self, "_order", tuple(order.static_order()))
        except CycleError as error:
            circle = " -> ".join(str(self.nodes[place]) for place in error.args[1])
            raise InputError(f"the edges run in a circle: {circle}") from None

    @property
    def order(self) -> tuple[int, ...]:
        """Places of the nodes, parents before children."""
        return self._order  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {str(node): place for place, node in enumerate(self.nodes)}

    def place(self, node: str | NetNode) -> int:
        """Return the place of a node, by its name."""
        try:
            return self._places[str(node)]
        except KeyError:
            known = ", ".join(self._places)
            raise InputError(f"no node {str(node)!r}; there are: {known}") from None

    @property
    def edges(self) -> tuple[tuple[int, int], ...]:
        """All edges as pairs of places (parent, child)."""
        return tuple((p, child) for child, table in enumerate(self.tables) for p in table.parents)

    def possible(self, child: int, configurations: Ints) -> NDArray[np.bool_]:
        """Return which values of a node its relationship's truth allows, for parent values."""
        node, parents = self.nodes[child], self.tables[child].parents
        allowed = np.ones((len(configurations), node.size), np.bool_)
        if node.relationship is None or node.is_link:
            return allowed
        for place, parent in enumerate(parents):
            other = self.nodes[parent]
            if other.relationship == node.relationship and other.variables == node.variables:
                # the first value is F of a link, and N/A of a fellow attribute
                linked = configurations[:, place] > 0
                allowed[:, 0] &= ~linked
                allowed[:, 1:] &= linked[:, None]
        return allowed

    def probabilities(self, child: int) -> Floats:
        """Return P(values | parents) for each configuration seen, smoothed by the BDeu prior."""
        table = self.tables[child]
        cells = self.nodes[child].size * math.prod(self.nodes[p].size for p in table.parents)
        smoothed = table.counts + table.prior / cells
        smoothed = np.where(self.possible(child, table.configurations), smoothed, 0.0)
        totals = smoothed.sum(axis=1, keepdims=True)
        shares: Floats = np.divide(smoothed, totals, out=np.zeros_like(smoothed), where=totals > 0)
        return shares

    def conditional(self, child: int) -> Floats:
        """Return the full table P(child | parents): axes are the parents, then the child."""
        table, node = self.tables[child], self.nodes[child]
        sizes = [self.nodes[parent].size for parent in table.parents]
        self._refuse_large([*sizes, node.size])
        grids = np.indices(sizes).reshape(len(sizes), -1).T if sizes else np.zeros((1, 0), int)
        allowed = self.possible(child, grids.astype(np.int64)).astype(np.float64)
        # parents that contradict each other allow nothing; they never occur, any numbers will do
        totals = allowed.sum(axis=1, keepdims=True)
        full: Floats = np.divide(
            allowed, totals, out=np.full_like(allowed, 1 / node.size), where=totals > 0
        )
        if sizes:
            rows = np.ravel_multi_index(tuple(table.configurations.T), sizes)
            full[rows] = self.probabilities(child)
        elif len(table.configurations):
            full[:] = self.probabilities(child)
        return np.asarray(full.reshape(*sizes, node.size))

    def probability(
        self, node: str | NetNode, value: str, parents: Mapping[str, str] | None = None
    ) -> np.float64:
        """Return P(node = value | its parents' values), by names."""
        child = self.place(node)
        given = {self.place(name): name_of for name, name_of in (parents or {}).items()}
        wanted = self.tables[child].parents
        if set(given) != set(wanted):
            names = ", ".join(str(self.nodes[place]) for place in wanted) or "none"
            raise InputError(f"give the values of exactly the parents of {node}: {names}")
        index = [self._value(place, given[place]) for place in wanted]
        answer: np.float64 = self.conditional(child)[(*index, self._value(child, value))]
        return answer

    def joint(
        self, nodes: Sequence[str | NetNode], given: Mapping[str, str] | None = None
    ) -> Floats:
        """Return the exact joint distribution of some nodes, one axis each (say, a family).

        With `given`, it is that among tuples in which other nodes have these values.

        Examples
        --------
        >>> from mlnlearn.logic.atoms import Predicate
        >>> rain, wet = (NetNode(Predicate(name), (), ("F", "T")) for name in ("rain", "wet"))
        >>> root = ConditionalTable((), np.zeros((1, 0), int), np.array([[3.0, 1.0]]), 1e-9)
        >>> rows = np.array([[0], [1]]), np.array([[2.0, 1.0], [0.0, 1.0]])
        >>> net = ParametrizedBayesNet((rain, wet), (root, ConditionalTable((0,), *rows, 1e-9)))
        >>> net.joint(["rain()"], {"wet()": "T"}).round(3).tolist()
        [0.5, 0.5]
        """
        held = {self.place(name): value for name, value in (given or {}).items()}
        wanted = [self.place(node) for node in nodes]
        if set(held) & set(wanted):
            raise InputError("a node cannot be both asked for and given")
        whole = self._joint([*held, *wanted])
        chosen = whole[tuple(self._value(place, value) for place, value in held.items())]
        total = chosen.sum()
        if held and total <= 0:
            raise InputError("what is given has probability 0")
        return np.asarray(chosen / total) if held else chosen

    def _joint(self, wanted: list[int]) -> Floats:
        needed, waiting = set(wanted), list(wanted)
        while waiting:
            new = set(self.tables[waiting.pop()].parents) - needed
            needed |= new
            waiting += new
        if len(needed) > 52:
            raise InputError(f"{len(needed)} ancestors are more than the 52 that can be summed")
        self._refuse_large([self.nodes[place].size for place in wanted])
        label = {place: number for number, place in enumerate(sorted(needed))}
        operands: list[Any] = []
        for place in sorted(needed):
            scope = [*self.tables[place].parents, place]
            operands += [self.conditional(place), [label[p] for p in scope]]
        out = [label[place] for place in wanted]
        return np.asarray(np.einsum(*operands, out, optimize="greedy"))

    def sample(self, rng: np.random.Generator, size: int) -> Ints:
        """Draw values of all nodes for `size` random tuples, shape ``(nodes, size)``.

        Examples
        --------
        >>> from mlnlearn.logic.atoms import Predicate
        >>> node = NetNode(Predicate("rain", ()), (), ("F", "T"))
        >>> table = ConditionalTable((), np.zeros((1, 0), int), np.array([[0.0, 7.0]]), 1e-9)
        >>> ParametrizedBayesNet((node,), (table,)).sample(np.random.default_rng(0), 3).tolist()
        [[1, 1, 1]]
        """
        drawn = np.zeros((len(self.nodes), size), np.int64)
        for place in self.order:
            given = tuple(drawn[parent] for parent in self.tables[place].parents)
            steps = self.conditional(place)[given].cumsum(axis=-1)
            ticks = rng.random((size, 1)) * steps[..., -1:]
            drawn[place] = (ticks >= steps).sum(axis=-1)
        return drawn

    def parameters(self) -> int:
        """Return the number of free parameters of the full tables."""
        return sum(
            (node.size - 1) * math.prod(self.nodes[p].size for p in table.parents)
            for node, table in zip(self.nodes, self.tables, strict=True)
        )

    def dot(self) -> str:
        """Return the graph in the language of Graphviz."""
        return dot_text([str(node) for node in self.nodes], self.edges)

    def svg(self) -> str:
        """Return the graph as a picture, ready for a browser or notebook."""
        return svg_text([str(node) for node in self.nodes], self.edges)

    def _repr_svg_(self) -> str:
        return self.svg()

    def bif(self) -> str:
        """Return the net in the Bayesian interchange format, full tables included."""
        return bif_text(
            [str(node) for node in self.nodes],
            [node.values for node in self.nodes],
            [table.parents for table in self.tables],
            [self.conditional(place) for place in range(len(self.nodes))],
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the net as the ending says: ``.bif``, ``.dot``, ``.svg``; else JSON."""
        writers = {".bif": self.bif, ".dot": self.dot, ".svg": self.svg}
        write = writers.get(Path(path).suffix)
        content = signed(self.as_dict())
        text = write() if write else json.dumps(content, indent=1, ensure_ascii=False)
        write_files({path: text.rstrip("\n") + "\n"})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> ParametrizedBayesNet:
        """Read a net that was saved as ``.json``."""
        with in_file(path):
            return cls.from_file(decode(read_document(path), NetFile))

    def as_dict(self) -> dict[str, Any]:
        """Return the net as plain values, for JSON."""
        return {
            "format": _FORMAT,
            "nodes": [node.as_dict() for node in self.nodes],
            "tables": [
                {
                    "parents": list(table.parents),
                    "configurations": table.configurations.tolist(),
                    "counts": table.counts.tolist(),
                    "prior": table.prior,
                }
                for table in self.tables
            ],
        }

    @classmethod
    def from_file(cls, file: NetFile) -> ParametrizedBayesNet:
        """Undo `as_dict`."""
        nodes: list[NetNode] = []
        for number, entry in enumerate(file.nodes):
            with within(f"nodes[{number}]"):
                nodes.append(NetNode.from_file(entry))
                if str(nodes[-1]) in map(str, nodes[:-1]):
                    raise InputError(f"there are two nodes {nodes[-1]}")
        _check_links(nodes)
        if len(file.tables) != len(nodes):
            raise InputError(f"tables: {len(nodes)} nodes have {len(file.tables)} of them")
        tables = []
        for number, table in enumerate(file.tables):
            with within(f"tables[{number}]"):
                tables.append(_table(table, number, nodes))
        return cls(tuple(nodes), tuple(tables))

    def _value(self, place: int, name: str) -> int:
        values = self.nodes[place].values
        if name not in values:
            raise InputError(f"{self.nodes[place]} has no value {name!r}: {', '.join(values)}")
        return values.index(name)

    def _refuse_large(self, sizes: Sequence[int]) -> None:
        if math.prod(sizes) > _MOST_CELLS:
            raise InputError(f"a table of {math.prod(sizes):,} cells is too large to write out")

    def __str__(self) -> str:
        lines = []
        for node, table in zip(self.nodes, self.tables, strict=True):
            parents = ", ".join(str(self.nodes[place]) for place in table.parents)
            lines.append(f"{node} <- {parents}" if parents else str(node))
        return "\n".join(lines)


def _check_links(nodes: Sequence[NetNode]) -> None:
    """Refuse attributes of relationships without a link, and variables of two types."""
    links = {node.predicate: node.variables for node in nodes if node.is_link}
    types: dict[object, str] = {}
    for number, node in enumerate(nodes):
        with within(f"nodes[{number}]"):
            if node.relationship is not None and links.get(node.relationship) != node.variables:
                raise InputError(f"{node} belongs to a link that is not in the net")
            for variable, kind in zip(node.variables, node.predicate.types, strict=False):
                if types.setdefault(variable, kind) != kind:
                    raise InputError(f"{variable} is a {types[variable]} before, not a {kind}")


def _table(file: ProbabilityTableFile, child: int, nodes: Sequence[NetNode]) -> ConditionalTable:
    parents = tuple(file.parents)
    if any(parent >= len(nodes) for parent in parents) or len(set(parents)) < len(parents):
        raise InputError(f"parents: {list(parents)} are not places of different nodes")
    rows = integer_rows(file.configurations, [nodes[p].size for p in parents], "configurations")
    counts = count_rows(file.counts, nodes[child].size, len(rows))
    return ConditionalTable(parents, rows, counts, file.prior)


def integer_rows(rows: Sequence[Sequence[int]], sizes: Sequence[int], place: str) -> Ints:
    """Return rows of values, each below its size."""
    for number, row in enumerate(rows):
        if len(row) != len(sizes) or any(v >= size for v, size in zip(row, sizes, strict=True)):
            raise InputError(f"{place}[{number}]: expected values below {list(sizes)}")
    return np.array(rows, np.int64).reshape(len(rows), len(sizes))


def count_rows(rows: Sequence[Sequence[float]], width: int, length: int) -> Floats:
    """Return rows of counts, as many and as wide as said."""
    if len(rows) != length or any(len(row) != width for row in rows):
        raise InputError(f"counts: expected {length} rows of {width} numbers")
    return np.array(rows, np.float64).reshape(length, width)


class ProbabilityTableFile(Struct, forbid_unknown_fields=True):
    """A conditional table in a file."""

    parents: list[Place]
    configurations: list[list[Place]]
    counts: list[list[Count]]
    prior: Annotated[float, Meta(gt=0.0, le=1e15)]


class NetFile(Struct, forbid_unknown_fields=True):
    """A net in a file."""

    format: Literal["mlnlearn bayes net 1"]
    nodes: list[NetNodeFile]
    tables: list[ProbabilityTableFile]
    checksum: str = ""
