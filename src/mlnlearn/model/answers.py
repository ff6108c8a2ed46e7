"""Answers to a query: a probability for each ground atom, and how each part was computed."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Columns
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError, MlnError
from mlnlearn.files import ANSWERS_MARK, write_files
from mlnlearn.logic.atoms import Atom, Constant, Predicate
from mlnlearn.notebook import Shown, ShownTable

CLOSED_FORM = "closed form"
"""How an atom that depends on no other unknown one is answered."""
_SHOWN = 20
_LINES = 1 << 16

Floats = NDArray[np.float64]


class Answer(NamedTuple):
    """One ground atom with its probability.

    Examples
    --------
    >>> print(Answer(Predicate("smokes", ("person",)), ("Anna",), 0.25, 0.0, "lifted").atom)
    smokes(Anna)
    """

    predicate: Predicate
    constants: tuple[str, ...]
    probability: float
    standard_error: float
    method: str

    @property
    def atom(self) -> Atom:
        """The atom itself."""
        return Atom(self.predicate, tuple(Constant(name) for name in self.constants))


class ComponentSummary(NamedTuple):
    """How one connected component of the network was answered.

    Attributes
    ----------
    atoms, clauses
        Its size: unknown ground atoms and undecided ground clauses.
    method
        What was used.
    converged
        False where a sampler's chains disagree, where rules are so strong that Gibbs sampling may
        be stuck in all chains alike, or where belief propagation did not settle.
    r_hat
        The largest R̂ of the sampled values; None for other methods.
    effective_sample_size
        The smallest one of the sampled values; None for other methods.
    """

    atoms: int
    clauses: int
    method: str
    converged: bool = True
    r_hat: float | None = None
    effective_sample_size: float | None = None


@dataclass(frozen=True, eq=False)
class AnswerTable:
    """The answers of one predicate, as columns.

    Attributes
    ----------
    predicate
        The predicate.
    columns
        Constant codes, shape (arity, atoms).
    domains
        The vocabulary of each argument place.
    probability
        Probability that the atom is true; for a most probable world, 1 or 0.
    standard_error
        Monte Carlo standard error: 0 for exact answers, not a number where it is unknown.
    method
        How each probability was found.
    """

    predicate: Predicate
    columns: Columns
    domains: tuple[Vocabulary, ...]
    probability: Floats
    standard_error: Floats
    method: NDArray[np.object_]

    def __post_init__(self) -> None:
        """Refuse what is no probability, whichever method it comes from."""
        wrong = np.flatnonzero(~((self.probability >= 0.0) & (self.probability <= 1.0)))
        if len(wrong):
            codes = self.columns[:, wrong[0]].tolist()
            names = (domain.names[code] for domain, code in zip(self.domains, codes, strict=True))
            atom = Atom(self.predicate, tuple(map(Constant, names)))
            raise MlnError(
                f"no probability was found for {len(wrong)} of {len(self)} atoms; for {atom} the "
                f"method gave {self.probability[wrong[0]]}",
                hint="weights may be too large, or hard rules contradict each other; another "
                "method, such as exact, may say which",
            )

    def __len__(self) -> int:
        return len(self.probability)

    def constants(self) -> list[tuple[str, ...]]:
        """Return the constant names of each atom."""
        if not self.domains:
            return [()] * len(self)
        names = [
            [domain.names[code] for code in column]
            for domain, column in zip(self.domains, self.columns.tolist(), strict=True)
        ]
        return list(zip(*names, strict=True))

    def atoms(self) -> list[str]:
        """Return the text of each atom."""
        texts = []
        for domain, column in zip(self.domains, self.columns, strict=True):
            codes, places = np.unique(column, return_inverse=True)
            names = np.array([str(Constant(domain[code])) for code in codes.tolist()], object)
            texts.append(names[places].tolist())
        if not texts:
            return [self.predicate.name] * len(self)
        name, rows = self.predicate.name, zip(*texts, strict=True)
        if self.predicate.function:
            return [f"{name}({','.join(row[:-1])}) = {row[-1]}" for row in rows]
        return [f"{name}({','.join(row)})" for row in rows]

    def part(self, chosen: slice | NDArray[np.integer]) -> AnswerTable:
        """Return some of the answers."""
        return AnswerTable(
            self.predicate,
            self.columns[:, chosen],
            self.domains,
            self.probability[chosen],
            self.standard_error[chosen],
            self.method[chosen],
        )

    def csv_text(self) -> Iterator[str]:
        """Yield the lines of a CSV file, many at a time."""
        for start in range(0, len(self), _LINES):
            part, text = self.part(slice(start, start + _LINES)), io.StringIO()
            errors = ["" if math.isnan(e) else e for e in part.standard_error.tolist()]
            csv.writer(text, lineterminator="\n").writerows(
                zip(part.atoms(), part.probability.tolist(), errors, part.method, strict=True)
            )
            yield text.getvalue()

    def __iter__(self) -> Iterator[Answer]:
        rows = zip(
            self.constants(),
            self.probability.tolist(),
            self.standard_error.tolist(),
            self.method.tolist(),
            strict=True,
        )
        return (Answer(self.predicate, *row) for row in rows)


@dataclass(frozen=True, eq=False, repr=False)
class Answers(Shown):
    """The answers to a query. Immutable.

    Attributes
    ----------
    tables
        The answers, one table a predicate.
    components
        How each connected component that holds a query atom was answered.

    Examples
    --------
    >>> table = AnswerTable(
    ...     Predicate("smokes", ("person",)), np.array([[0, 1]], np.int32),
    ...     (Vocabulary(["Anna", "Bob"]),), np.array([0.25, 0.75]), np.zeros(2),
    ...     np.array(["enumeration"] * 2, object),
    ... )
    >>> answers = Answers((table,), (ComponentSummary(2, 1, "enumeration"),))
    >>> answers["smokes(Bob)"].probability
    0.75
    >>> print(answers)
    probability  standard error  atom
         0.7500          0.0000  smokes(Bob)
         0.2500          0.0000  smokes(Anna)
    2 atoms; 1 component by enumeration
    """

    tables: tuple[AnswerTable, ...]
    components: tuple[ComponentSummary, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    def __iter__(self) -> Iterator[Answer]:
        for table in self.tables:
            yield from table

    @cached_property
    def _by_atom(self) -> dict[str, Answer]:
        return {
            atom: answer
            for table in self.tables
            for atom, answer in zip(table.atoms(), table, strict=True)
        }

    def __getitem__(self, atom: Atom | str) -> Answer:
        found = self._by_atom.get(str(atom).replace(", ", ","))
        if found is None:
            raise InputError(
                f"no answer for {atom}",
                hint="it is evidence, or not an atom of a query predicate",
            )
        return found

    def by_atom(self) -> dict[str, float]:
        """Return the probability of each atom, by its text."""
        return {atom: answer.probability for atom, answer in self._by_atom.items()}

    def top(self, number: int) -> list[Answer]:
        """Return the most probable atoms, the most probable first."""
        first = [
            answer
            for table in self.tables
            for answer in table.part(np.argsort(-table.probability, kind="stable")[:number])
        ]
        return sorted(first, key=lambda answer: -answer.probability)[:number]

    @property
    def converged(self) -> bool:
        """Whether every component's method converged."""
        return all(component.converged for component in self.components)

    def columns(self) -> dict[str, list[Any]]:
        """Return the answers as columns: predicate, atom, probability, standard_error, method."""
        rows = list(self)
        return {
            "predicate": [answer.predicate.name for answer in rows],
            "atom": [str(answer.atom) for answer in rows],
            "probability": [answer.probability for answer in rows],
            "standard_error": [answer.standard_error for answer in rows],
            "method": [answer.method for answer in rows],
        }

    def to_frame(self, backend: Literal["pandas", "polars", "pyarrow"] = "pandas") -> Any:
        """Return the answers as a data frame of a library that is installed."""
        import narwhals as nw  # noqa: PLC0415 - only where a frame is wanted

        return nw.from_dict(self.columns(), backend=backend).to_native()

    def to_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Return answers and components in the form of the command line's JSON."""
        answers = [
            {
                "atom": str(a.atom),
                "probability": a.probability,
                "standard_error": _number(a.standard_error),
                "method": a.method,
            }
            for a in self
        ]
        return {
            "answers": answers,
            "components": [component._asdict() for component in self.components],
        }

    def to_csv(self, path: str | PathLike[str]) -> None:
        """Write atom, probability, standard error and method as CSV, in full or not at all."""
        write_files({path: csv_text([self])})

    def table(self) -> ShownTable:
        """Return the most probable atoms."""
        rows = [
            (str(answer.atom), f"{answer.probability:.4f}", _shown_error(answer))
            for answer in self.top(_SHOWN)
        ]
        return ("atom", "probability", "standard error"), rows

    def __str__(self) -> str:
        lines = ["probability  standard error  atom"] if len(self) else []
        for answer in self.top(_SHOWN):
            error = _shown_error(answer)
            lines.append(f"{answer.probability:11.4f}  {error:>14}  {answer.atom}")
        if len(self) > _SHOWN:
            lines.append(f"… and {len(self) - _SHOWN} more")
        return "\n".join([*lines, self.summary()])

    def summary(self) -> str:
        """Say how many atoms there are, and how they were answered."""
        parts = [f"{len(self)} atom{'s' if len(self) != 1 else ''}"]
        for method, count in Counter(c.method for c in self.components).items():
            parts.append(f"{count} component{'s' if count != 1 else ''} by {method}")
        unsettled = sum(not component.converged for component in self.components)
        if unsettled:
            parts.append(f"{unsettled} not converged")
        return "; ".join(parts)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def csv_text(chunks: Iterable[Answers]) -> Iterator[str]:
    """Yield the text of a CSV file of answers that come a part at a time."""
    yield ANSWERS_MARK
    for answers in chunks:
        for table in answers.tables:
            yield from table.csv_text()


def _shown_error(answer: Answer) -> str:
    error = _number(answer.standard_error)
    return "unknown" if error is None else f"{error:.4f}"
