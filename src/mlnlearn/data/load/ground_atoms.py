"""Ground atoms read from text: coded, sorted, and checked as a whole."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.errors import DataWarning, InputError, Location
from mlnlearn.logic.atoms import Atom, Constant
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.db import MOST_PROBLEMS, AtomList, DbText

_SHOWN = 3
_Part = tuple[NDArray[np.int32], NDArray[np.int64]]


class AtomTable(NamedTuple):
    """Atoms of one predicate and truth value, sorted by key, equal keys by origin.

    The key of an atom is one number made of its codes; its origin is the number of its line.
    """

    codes: NDArray[np.int32]
    keys: NDArray[np.int64]
    origins: NDArray[np.int64]

    def take(self, rows: NDArray[Any]) -> AtomTable:
        """Return the given rows."""
        return AtomTable(self.codes[:, rows], self.keys[rows], self.origins[rows])

    def repeated(self) -> NDArray[np.bool_]:
        """Tell for each row but the last whether the next one is the same atom."""
        return np.asarray(self.keys[1:] == self.keys[:-1])


class AtomBuilder:
    """Codes the atoms of several texts and finds what is wrong with them as a whole.

    The origin of an atom is one number: lines are counted through all texts.
    """

    def __init__(self, schema: Schema, scanned: Sequence[DbText]) -> None:
        self.schema = schema
        self.scanned = scanned
        self.problems = list(chain.from_iterable(text.problems for text in scanned))
        self.unlisted = sum(text.unlisted for text in scanned)
        self.codes: dict[str, dict[str, int]] = {kind: {} for kind in schema.types}
        for kind, names in schema.constants.items():
            self.codes[kind] = {name: code for code, name in enumerate(dict.fromkeys(names))}
        for text in scanned:
            for kind, name, place in text.constants:
                if kind not in schema.declared:
                    self.codes[kind].setdefault(name, len(self.codes[kind]))
                elif name not in self.codes[kind]:
                    message = f"constant {Constant(name)} is not in the closed type '{kind}'"
                    self.problems.append(InputError(message, place))
        ends = np.cumsum([text.source.text.count("\n") + 1 for text in scanned])
        self.starts = [0, *ends.tolist()][: len(scanned)]

    def tables(self) -> dict[tuple[str, str], AtomTable]:
        """Code all atoms, by truth value and predicate."""
        parts: dict[tuple[str, str], list[_Part]] = defaultdict(list)
        for text, start in zip(self.scanned, self.starts, strict=True):
            for key, atoms in text.atoms.items():
                codes = self._encode(text, key[1], atoms)
                parts[key].append((codes, np.asarray(atoms.lines, np.int64) + start))
        return {key: self._table(key[1], found) for key, found in parts.items()}

    def _table(self, name: str, parts: list[_Part]) -> AtomTable:
        codes = np.concatenate([codes for codes, _ in parts], axis=1)
        origins = np.concatenate([origins for _, origins in parts])
        table = AtomTable(codes, self._keys(codes, self.schema[name].types), origins)
        if bool((table.keys[1:] <= table.keys[:-1]).any()):
            table = table.take(np.argsort(table.keys, kind="stable"))
        return table

    def _encode(self, text: DbText, name: str, atoms: AtomList) -> NDArray[np.int32]:
        kinds = self.schema[name].types
        columns = [atoms.names[place :: len(kinds)] for place in range(len(kinds))]
        codes = np.empty((len(kinds), len(atoms.lines)), np.int32)
        for kind in dict.fromkeys(kinds):
            places = [place for place, other in enumerate(kinds) if other == kind]
            self._learn(text, atoms.lines, kind, {place: columns[place] for place in places})
            known = self.codes[kind]
            for place in places:
                codes[place] = np.fromiter(
                    map(known.__getitem__, columns[place]), np.int32, len(atoms.lines)
                )
        return codes

    def _learn(
        self, text: DbText, lines: list[int], kind: str, columns: dict[int, list[str]]
    ) -> None:
        """Give new constants of a type their codes, row by row; a closed type takes none."""
        known = self.codes[kind]
        same = list(columns.values())
        rows = same[0] if len(same) == 1 else chain.from_iterable(zip(*same, strict=True))
        new = [name for name in dict.fromkeys(rows) if name not in known]
        if kind in self.schema.declared and new:
            foreign = set(new)
            for place, column in columns.items():
                for line, name in zip(lines, column, strict=True):
                    if name in foreign and self._listed():
                        message = f"constant {Constant(name)} is not in the closed type '{kind}'"
                        self.problems.append(InputError(message, text.argument(line, place)))
        for name in new:
            known[name] = len(known)

    def _listed(self) -> bool:
        """Tell whether there is room for one more problem; past that they are only counted."""
        full = len(self.problems) >= MOST_PROBLEMS
        self.unlisted += full
        return not full

    def all_problems(self) -> list[InputError]:
        """Return the problems in the order of the files and lines."""
        order = {text.source.file: index for index, text in enumerate(self.scanned)}

        def place(problem: InputError) -> tuple[int, int, int]:
            where = problem.location or Location("")
            return order.get(where.file, 0), where.line, where.column

        rest = [InputError(f"and {self.unlisted} more problems like these")]
        return sorted(self.problems, key=place) + (rest if self.unlisted else [])

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """The constants of each type by code, once all are coded."""
        return {kind: list(codes) for kind, codes in self.codes.items()}

    def location(self, origin: int) -> Location:
        """Return the place of an atom."""
        index = int(np.searchsorted(self.starts, origin, side="left")) - 1
        return self.scanned[index].location(origin - self.starts[index])

    def _keys(self, codes: NDArray[np.int32], kinds: Sequence[str]) -> NDArray[np.int64]:
        """Return one number per row, equal where the rows are equal."""
        sizes = [max(len(self.codes[kind]), 1) for kind in kinds]
        if math.prod(sizes) < 2**62:
            keys = np.zeros(codes.shape[1], np.int64)
            for column, size in zip(codes, sizes, strict=True):
                keys *= size
                keys += column
            return keys
        _, inverse = np.unique(codes, axis=1, return_inverse=True)
        return np.asarray(inverse, np.int64).reshape(-1)

    def _atom(self, name: str, codes: NDArray[np.int32], row: int) -> str:
        predicate = self.schema[name]
        terms = zip(predicate.types, codes[:, row].tolist(), strict=True)
        return str(Atom(predicate, tuple(Constant(self._names[k][code]) for k, code in terms)))

    def find_contradictions(self, tables: dict[tuple[str, str], AtomTable]) -> None:
        """Note a problem for every atom with two truth values, naming both lines."""
        for name in dict.fromkeys(predicate for _, predicate in tables):
            for first, second in (("true", "false"), ("true", "unknown"), ("false", "unknown")):
                if (first, name) in tables and (second, name) in tables:
                    self._find_clashes(name, first, second, tables)

    def _find_clashes(
        self, name: str, first: str, second: str, tables: dict[tuple[str, str], AtomTable]
    ) -> None:
        codes, _, origins = tables[first, name]
        other, _, other_origins = tables[second, name]
        both = self._keys(np.concatenate([codes, other], axis=1), self.schema[name].types)
        split = len(origins)
        _, left, right = np.intersect1d(both[:split], both[split:], return_indices=True)
        for i, j in zip(left.tolist(), right.tolist(), strict=True):
            places = sorted([(int(origins[i]), first), (int(other_origins[j]), second)])
            (earlier, before), (later, now) = places
            if self._listed():
                message = f"{self._atom(name, codes, i)} is {now} here, but {before} at "
                message += _line(self.location(earlier))
                hint = "keep one of the two lines"
                self.problems.append(InputError(message, self.location(later), hint))

    def without_duplicates(
        self, tables: dict[tuple[str, str], AtomTable]
    ) -> dict[tuple[str, str], AtomTable]:
        """Keep every atom once; warn of those that are listed more than once."""
        shown: list[str] = []
        count = 0
        unique = {}
        for (truth, name), table in tables.items():
            again = table.repeated()
            repeats = np.flatnonzero(again)
            count += len(repeats)
            for row in repeats[:_SHOWN].tolist():
                lines = (_line(self.location(int(table.origins[row + i]))) for i in (0, 1))
                shown.append(f"{self._atom(name, table.codes, row)} at {' and '.join(lines)}")
            first = np.concatenate([[True], ~again])[: len(table.keys)]
            unique[truth, name] = table.take(first) if len(repeats) else table
        if count:
            what = "1 repeated atom" if count == 1 else f"{count} repeated atoms"
            _warn(f"{what}, taken once: ", shown, count)
        return unique

    def warn_functional(self, tables: dict[tuple[str, str], AtomTable]) -> None:
        """Warn where arguments marked ``!`` have not exactly one value; the data win."""
        for name, marked in self.schema.functional.items():
            if ("true", name) not in tables or ("unknown", name) in tables:
                continue
            table = tables["true", name]
            kinds = self.schema[name].types
            others = [place for place in range(len(kinds)) if place not in marked]
            cases = self._keys(table.codes[others], [kinds[place] for place in others])
            table = table._replace(keys=cases).take(np.argsort(cases, kind="stable"))
            repeats = np.flatnonzero(table.repeated())
            promise = f"though {self.schema.declaration(name)} promises one"
            if len(repeats):
                shown = [
                    " and ".join(self._placed(name, table, row + i) for i in (0, 1))
                    for row in repeats[:_SHOWN].tolist()
                ]
                _warn(f"{name} has more than one value, {promise}: ", shown, len(repeats))
            wanted = math.prod(len(self.codes[kinds[place]]) for place in others)
            missing = wanted - (len(table.keys) - len(repeats))
            if missing:
                _warn(f"{name} has no value in {missing} of {wanted} cases, {promise}", [], 0)

    def _placed(self, name: str, table: AtomTable, row: int) -> str:
        place = self.location(int(table.origins[row]))
        return f"{self._atom(name, table.codes, row)} at {_line(place)}"


def _line(place: Location) -> str:
    return f"{place.file}:{place.line}"


def _warn(message: str, shown: list[str], count: int) -> None:
    rest = "; …" if count > len(shown[:_SHOWN]) else ""
    warnings.warn(message + "; ".join(shown[:_SHOWN]) + rest, DataWarning, stacklevel=5)
