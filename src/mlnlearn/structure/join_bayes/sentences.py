"""Rules of a net in words: shares of rows, beside those of all rows, in the names of the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.load.mapping import Mapping
from mlnlearn.late import late
from mlnlearn.model.bayesnet_nodes import ABSENT, FALSE_TRUE, NetNode
from mlnlearn.model.shown import ShownRule
from mlnlearn.structure.join_bayes.rules import FamilyRules

special = late("scipy.special")

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class _Words:
    """What tables and columns are called, by predicate."""

    tables: dict[str, str]
    columns: dict[str, str]

    @classmethod
    def of(cls, mapping: Mapping | None) -> _Words:
        tables, columns = {}, {}
        for name, table, column in () if mapping is None else mapping.predicates():
            tables[name] = table.name
            if column is not None:
                columns[name] = column.name
        return cls(tables, columns)

    def is_about(self, node: NetNode, target: str) -> bool:
        """Tell whether a node is of the column, or predicate, that a target names."""
        name = node.predicate.name
        column = self.columns.get(name, name)
        return target in (name, column, f"{self.tables.get(name, '')}.{column}")

    def rows(self, node: NetNode) -> str:
        """Return what the rows are that a node is an attribute of."""
        name = node.predicate.name
        if name in self.tables and not node.is_link:
            return self.tables[name]
        return " and ".join(node.predicate.types[: len(node.variables)])

    def value(self, node: NetNode, value: int, *, whose: str = "") -> str:
        """Return what it is to have a value: a column and what stands in it."""
        name, text = node.predicate.name, node.values[value]
        column = self.columns.get(name, self.tables.get(name, name))
        if whose and self.tables.get(name, whose) != whose:
            column = f"{self.tables[name]}.{column}"
        if node.is_link or text == ABSENT:
            link = node.relationship or node.predicate
            table = self.columns.get(link.name, self.tables.get(link.name, link.name))
            return table if text == FALSE_TRUE[1] else f"no {table}"
        if node.is_flag:
            return column if text == FALSE_TRUE[1] else f"not {column}"
        return f"{column} {text}"

    def links(self, family: FamilyRules) -> str:
        """Return the links that a family's rows are joined by, other than the child's own."""
        own = family.child.relationship
        names = [r.predicate.name for r in family.given if r.predicate != own]
        shown = [self.columns.get(name, self.tables.get(name, name)) for name in names]
        return f" (by {', '.join(shown)})" if shown else ""


def shown_rules(
    families: Sequence[FamilyRules], weights: Floats, mapping: Mapping | None, target: str = ""
) -> list[ShownRule]:
    """Return rules in words, those that tell most first; how frequent links are comes last.

    A rule tells as much as its share differs from that of all rows, times its rows. Rules that
    count each row of a table once come before those of joined rows, which are many for one row. Of
    a column of two values one is shown, of two leaves that mirror each other as well; of other
    columns, those values that are more frequent than among all rows. Rows in which a cell is empty
    that a rule speaks of are not counted.

    With a target, only rules that speak of it are returned: first those that tell it, then others.
    """
    words = _Words.of(mapping)
    found: dict[str, tuple[bool, bool, bool, bool, float, ShownRule]] = {}
    start = 0
    for family in families:
        if not family.inverse and family.child.main:
            own = weights[start : start + family.size].reshape(family.counts.shape)
            joined, is_link = not _one_each(family, words), family.child.is_link
            about = not target or words.is_about(family.child, target)
            asking = [words.is_about(node, target) for node in family.parents]
            for leaf, told, rule in _of_family(family, own, words):
                if about or any(asking[place] for place, _ in family.leaves[leaf]):
                    order = not about, is_link, " => " not in rule.rule, joined, -told
                    found.setdefault(rule.rule, (*order, rule))
        start += family.size
    return [rule for *_, rule in sorted(found.values(), key=lambda entry: entry[:5])]


def _of_family(
    family: FamilyRules, weights: Floats, words: _Words
) -> Iterator[tuple[int, float, ShownRule]]:
    """Yield the leaf of each rule, how much it tells, and the rule."""
    shown = np.flatnonzero(family.emitted.reshape(family.counts.shape)[:1].any(axis=0))
    counts, every = family.checkable()
    support = counts[:, shown].sum(axis=1)
    total = every[shown].sum()
    if not total:
        return
    base = every[shown] / total
    leaves = np.flatnonzero(support > 0)
    shares = counts[np.ix_(leaves, shown)] / support[leaves, None]
    told = support[leaves, None] * (
        special.rel_entr(shares, base) + special.rel_entr(1 - shares, 1 - base)
    )
    two = len(shown) == 2
    # a flag is told where it is set, another pair of values by the rarer one
    values = list(range(len(shown)))
    if two:
        values = [1 if family.child.is_flag else int(base.argmin())]
    if two and len(leaves) == 2:
        kept = [int(told[:, values[0]].argmax())]
    else:
        kept = list(range(len(leaves)))
    for row in kept:
        for place in values:
            if two or len(leaves) == 1 or shares[row, place] > base[place]:
                leaf, value = int(leaves[row]), int(shown[place])
                numbers = float(shares[row, place]), float(base[place]), round(support[leaf])
                weight = float(weights[leaf, value])
                rule = _rule(family, leaf, value, numbers, weight, words)
                yield leaf, float(told[row, place]), rule


def _rule(
    family: FamilyRules,
    leaf: int,
    value: int,
    numbers: tuple[float, float, int],
    weight: float,
    words: _Words,
) -> ShownRule:
    share, base, support = numbers
    rows = words.rows(family.child)
    path = family.leaves[leaf]
    asked = [words.value(family.parents[p], v, whose=rows) for p, v in path]
    told = words.value(family.child, value)
    counted = f"{support:,} {rows}" if _one_each(family, words) else f"{support:,} joined rows"
    links = words.links(family)
    if not asked:
        rule = f"{rows}: {told}"
        sentence = f"of {rows}{links} {share:.1%} have {told} ({counted})"
    else:
        rule = f"{rows}: {' and '.join(asked)} => {told}"
        sentence = (
            f"of {rows} with {' and '.join(asked)}{links} {share:.1%} have {told}, "
            f"against {base:.1%} of all ({counted})"
        )
    return ShownRule(rule, sentence, share, base, support, weight)


def _one_each(family: FamilyRules, words: _Words) -> bool:
    """Tell whether each row of the child's table counts once: it leads to single other rows."""
    reached = set(family.child.variables)
    left = [r for r in family.given if r.predicate != family.child.relationship]
    while left:
        # a foreign key leads from a row to the one that it names, a table of links to many
        key = next(
            (r for r in left if r.predicate.name in words.columns and r.variables[0] in reached),
            None,
        )
        if key is None:
            return False
        reached |= set(key.variables)
        left.remove(key)
    return all(reached.issuperset(node.variables) for node in family.parents)
