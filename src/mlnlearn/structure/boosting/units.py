"""Candidates of a conjunction that are counted together, and what of them is kept together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from mlnlearn.counting.example_views import ExampleView
from mlnlearn.counting.pattern import Body
from mlnlearn.counting.view_tables import ViewTables
from mlnlearn.structure.boosting.candidates import CandidateCounts, CandidateList, Numbered
from mlnlearn.structure.boosting.language import Template

Part: TypeAlias = tuple[int, CandidateCounts]
"""Counts of some candidates of a unit, with the number of the first."""


@dataclass(frozen=True, slots=True, eq=False)
class Slab:
    """Candidates of a unit whose counts are kept together.

    Attributes
    ----------
    key
        What they are kept by: conjunctions for which the counts are the same share them.
    start, size
        Number of the first candidate among those of the unit, and how many there are.
    templates
        What is counted, each with the number of its first candidate.
    """

    key: int
    start: int
    size: int
    templates: tuple[Numbered, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """Candidates that are counted together, for one view of the examples.

    Attributes
    ----------
    key
        Its number.
    path, rest
        Literals of the conjunction that the candidates go with, by new names of variables, and the
        others, as they are.
    link
        Nothing, or the first of pairs, by these names.
    tables
        Binding tables of the view.
    listed
        The candidates as the conjunction has them.
    slabs
        What of them is kept together.
    rows
        Of the largest table that is counted from.
    """

    key: int
    path: Body
    rest: Body
    link: Body
    tables: ViewTables
    listed: CandidateList
    slabs: tuple[Slab, ...]
    rows: int

    @property
    def view(self) -> ExampleView:
        """The examples, as far as the candidates tell them apart."""
        return self.tables.view

    def joined(self, template: Template) -> Body:
        """Return all literals that are joined to count a template."""
        return (*self.path, *self.link, template.pattern)


class BegunCounts:
    """Counts of a unit while they are made, for some examples after the other.

    Parameters
    ----------
    kept
        Those there are.
    missing
        The slabs that are to be counted.
    """

    def __init__(self, kept: Mapping[Slab, CandidateCounts], missing: Sequence[Slab]) -> None:
        self.kept, self.missing = kept, missing
        self.size = 0
        self._found: dict[int, list[CandidateCounts]] = {slab.start: [] for slab in missing}

    def add(self, parts: Iterable[Part]) -> int:
        """Take the counts of some examples, and return their bytes."""
        more = 0
        for start, counts in parts:
            self._found[start].append(counts)
            more += counts.nbytes
        self.size += more
        return more

    def whole(self) -> dict[Slab, CandidateCounts]:
        """Return all counts, when they are made; what they were made of goes."""
        made = {
            slab: CandidateCounts.joined(self._found.pop(slab.start), slab.size)
            for slab in self.missing
        }
        return {**self.kept, **made}
