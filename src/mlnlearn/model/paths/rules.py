"""Rules along paths, as values and as text: that of AnyBURL, and a table of their counts."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mlnlearn.counting.walks import Path
from mlnlearn.data.graph import BACK
from mlnlearn.errors import DataWarning, InputError, Location, raise_all
from mlnlearn.files import AnyPath, read_text

COLUMNS = (
    "support",
    "body_size",
    "confidence",
    "pca_confidence",
    "head_coverage",
    "weight_tail",
    "weight_head",
    "rule",
)
"""The columns of a table of rules."""
_ATOM = re.compile(r"\s*(.+?)\(([^()]*?),([^(),]*)\)\s*(?:,|\Z)")
_VARIABLE = re.compile(r"[A-Z]\Z")


@dataclass(frozen=True)
class PathRule:
    """A rule along a path, with its counts.

    Attributes
    ----------
    relation
        What it predicts.
    path
        The links of its body, each a relation, with ``^-1`` after it where it leads back. Of a rule
        with constants, the one link of its body.
    constants
        Of a rule ``relation(x,c) <= link(x,e)``, the constants c and e, e empty for any entity; the
        relation then may have ``^-1``, too. Nothing of a closed rule.
    support, body
        How many pairs (or entities) head and body hold of, and the body alone.
    pca_body
        Of closed rules, how many of the body's pairs begin with an entity that the relation has a
        tail for; None where it was not counted.
    facts
        How many triples the relation has.
    weight_tail, weight_head
        What the rule adds to the score of a candidate, tails and heads asked for; None where no
        weights were learned.
    """

    relation: str
    path: tuple[str, ...]
    support: int
    body: int
    facts: int
    pca_body: int | None = None
    constants: tuple[str, ...] = ()
    weight_tail: float | None = None
    weight_head: float | None = None

    @property
    def confidence(self) -> float:
        """Share of the body's pairs that the head holds of."""
        return self.support / self.body if self.body else 0.0

    @property
    def pca_confidence(self) -> float | None:
        """The same among pairs whose first entity has the relation (partial completeness)."""
        if self.pca_body is None:
            return None
        return self.support / self.pca_body if self.pca_body else 0.0

    @property
    def head_coverage(self) -> float:
        """Share of the relation's triples that the rule finds."""
        return self.support / self.facts if self.facts else 0.0

    def smoothed(self, smoothing: float) -> float:
        """Return the confidence with so many false pairs seen beforehand."""
        return self.support / (self.body + smoothing)

    def __str__(self) -> str:
        if self.constants:
            head_end, body_end = self.constants
            head = _atom(self.relation, "X", head_end)
            return f"{head} <= {_atom(self.path[0], 'X', body_end or 'A')}"
        inner = [chr(ord("A") + number) for number in range(len(self.path) - 1)]
        names = ["X", *inner, "Y"]
        body = ", ".join(
            _atom(link, one, other)
            for link, one, other in zip(self.path, names, names[1:], strict=False)
        )
        return f"{self.relation}(X,Y) <= {body}"

    def row(self) -> tuple[str, ...]:
        """Return the cells of a table of rules, in the order of `COLUMNS`."""
        numbers = (self.confidence, self.pca_confidence, self.head_coverage)
        weights = (self.weight_tail, self.weight_head)
        return (
            str(self.support),
            str(self.body),
            *("" if number is None else f"{number:.6g}" for number in (*numbers, *weights)),
            str(self),
        )


def _atom(link: str, one: str, other: str) -> str:
    if link.endswith(BACK):
        return f"{link.removesuffix(BACK)}({other},{one})"
    return f"{link}({one},{other})"


def rules_table(rules: Iterable[PathRule]) -> str:
    """Return rules as lines of cells between tabs, below a line of titles."""
    lines = ["\t".join(COLUMNS), *("\t".join(rule.row()) for rule in rules)]
    return "\n".join(lines) + "\n"


def read_rules(path: AnyPath) -> list[PathRule]:
    """Read rules of a file of AnyBURL, or of a table that `rules_table` wrote.

    A line of AnyBURL holds the size of the body, the support, the confidence and the rule, between
    tabs. Rules that are neither closed paths nor have the form ``r(X,c) <= s(X,e)`` or
    ``r(X,c) <= s(X,A)`` are left out, with a warning; what is no rule is an error.
    """
    rules: list[PathRule] = []
    problems: list[InputError] = []
    left_out: list[str] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        cells = line.rstrip("\r").split("\t")
        if not line.strip() or cells[0] == COLUMNS[0]:
            continue
        try:
            rules.append(parse_rule(cells))
        except OtherRuleError as error:
            left_out.append(f"line {number}, {cells[-1]}: {error}")
        except ValueError as error:
            problems.append(InputError(str(error), Location(str(path), number)))
    raise_all(problems)
    if left_out:
        warnings.warn(
            f"{path}: {len(left_out):,} rules are of no form that is used, and left out, such as "
            f"{left_out[0]}",
            DataWarning,
            stacklevel=2,
        )
    return rules


class OtherRuleError(ValueError):
    """A rule that is well written, but of a form that is not used."""


def parse_rule(cells: Sequence[str]) -> PathRule:
    """Read one line of a file of rules; a `ValueError` says what is wrong.

    Examples
    --------
    >>> print(parse_rule(["40", "30", "0.75", "speaks(X,Y) <= lives(X,A), official(Y,A)"]))
    speaks(X,Y) <= lives(X,A), official(Y,A)
    >>> parse_rule(["40", "30", "0.75", "speaks(X,de) <= lives(X,A)"]).constants
    ('de', '')
    """
    if len(cells) not in (4, len(COLUMNS)):
        raise ValueError(
            f"expected 4 cells (body size, support, confidence, rule), not {len(cells)}"
        )
    mine = len(cells) == len(COLUMNS)
    try:
        first, second = int(cells[0]), int(cells[1])
    except ValueError:
        raise ValueError("support and body size must be whole numbers") from None
    support, body = (first, second) if mine else (second, first)
    if not 0 <= support <= body:
        raise ValueError(f"the support {support} is not between 0 and the body size {body}")
    head_text, arrow, body_text = cells[-1].partition(" <=")
    head, atoms = _atoms(head_text), _atoms(body_text.strip())
    if not arrow or len(head) != 1:
        raise ValueError(f"expected head <= body, found {cells[-1]!r}")
    if not atoms:
        raise OtherRuleError("it has no body")
    relation, one, other = head[0]
    if _VARIABLE.match(one) and _VARIABLE.match(other):
        path = _path(atoms, one, other)
        return PathRule(relation, path, support, body, 0)
    return _constant_rule(head[0], atoms, support, body)


def _atoms(text: str) -> list[tuple[str, str, str]]:
    found, place = [], 0
    while place < len(text):
        atom = _ATOM.match(text, place)
        if atom is None:
            raise ValueError(f"expected relation(X,Y), found {text[place:]!r}")
        found.append((atom[1], atom[2].strip(), atom[3].strip()))
        place = atom.end()
    return found


def _path(atoms: list[tuple[str, str, str]], start: str, end: str) -> tuple[str, ...]:
    """Return the links that lead from the first variable of the head to the second."""
    links, here, left = [], start, list(atoms)
    while left:
        step = next((atom for atom in left if here in atom[1:]), None)
        if step is None or not all(_VARIABLE.match(name) for name in step[1:]):
            raise OtherRuleError("the body is no path between the variables of the head")
        left.remove(step)
        links.append(step[0] if step[1] == here else f"{step[0]}{BACK}")
        here = step[2] if step[1] == here else step[1]
    if here != end:
        raise OtherRuleError("the body is no path between the variables of the head")
    return tuple(links)


def _constant_rule(
    head: tuple[str, str, str], atoms: list[tuple[str, str, str]], support: int, body: int
) -> PathRule:
    relation, one, other = head
    if not _VARIABLE.match(one):
        relation, one, other = f"{relation}{BACK}", other, one
    if len(atoms) != 1 or not _VARIABLE.match(one):
        raise OtherRuleError("rules with constants have one atom in their body")
    link, first, second = atoms[0]
    if first != one:
        link, first, second = f"{link}{BACK}", second, first
    if first != one:
        raise OtherRuleError(f"the body does not speak of {one}")
    end = "" if _VARIABLE.match(second) else second
    return PathRule(relation, (link,), support, body, 0, constants=(other, end))


def coded_path(path: Iterable[str], relations: dict[str, int]) -> Path:
    """Return a path of names as links; a relation that is not there is a `KeyError`."""
    return tuple(
        relations[link.removesuffix(BACK)] + (len(relations) if link.endswith(BACK) else 0)
        for link in path
    )
