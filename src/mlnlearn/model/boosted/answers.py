"""Probabilities of ground atoms, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Columns, Database
from mlnlearn.logic.atoms import Atom, Constant, Predicate


@dataclass(frozen=True, eq=False)
class AnswerPart:
    """The atoms of one predicate with their probabilities.

    Attributes
    ----------
    predicate
        Whose atoms.
    columns
        Constants' codes in the database, shape ``(arity, atoms)``.
    probabilities
        One an atom.
    """

    predicate: Predicate
    columns: Columns
    probabilities: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Answers:
    """A table of ground atoms and probabilities.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> db = Database.from_facts(Schema.of("rich(person)"), {"rich": [("Anna",)]})
    >>> part = AnswerPart(db.schema["rich"], np.zeros((1, 1), np.int32), np.array([0.25]))
    >>> list(Answers(db, (part,)))
    [('rich(Anna)', 0.25)]
    """

    database: Database
    parts: tuple[AnswerPart, ...]

    def __len__(self) -> int:
        return sum(len(part.probabilities) for part in self.parts)

    def __iter__(self) -> Iterator[tuple[str, float]]:
        for part in self.parts:
            rows = self.database.decode(part.predicate.name, part.columns)
            yield from zip(
                (atom_text(part.predicate, row) for row in rows),
                part.probabilities.tolist(),
                strict=True,
            )

    def top(self, number: int) -> list[tuple[str, float]]:
        """Return the most probable atoms, the most probable first."""
        return sorted(self, key=lambda row: -row[1])[:number]


def atom_text(predicate: Predicate, names: Sequence[str]) -> str:
    """Return a ground atom as it stands in a ``.db`` file.

    Examples
    --------
    >>> atom_text(Predicate("likes", ("person", "person")), ("Anna", "Bob"))
    'likes(Anna,Bob)'
    """
    return str(Atom(predicate, tuple(map(Constant, names))))
