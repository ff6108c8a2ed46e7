"""Markov logic networks: a schema and weighted rules."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from mlnlearn.errors import InputError
from mlnlearn.files import RULES_MARK, write_files
from mlnlearn.logic.atoms import Atom, Predicate, Variable
from mlnlearn.logic.expand import expand_rule
from mlnlearn.logic.formulas import EitherSign, Rule, children
from mlnlearn.logic.normalize import clauses_of
from mlnlearn.logic.schema import Schema
from mlnlearn.model.plots import Plots
from mlnlearn.model.sentence import sentence
from mlnlearn.notebook import Shown, ShownTable
from mlnlearn.syntax import MlnFile, parse_mln, read_mln, write_mln


@dataclass(frozen=True, repr=False)
class MLN(Shown, Plots):
    """A Markov logic network: weighted formulas over a schema. Immutable.

    A world's probability is proportional to the exponential of the sum over rules of weight times
    number of true groundings; worlds that violate a hard rule have none. A formula is one feature,
    however it is built; `clausal` splits formulas into clauses for those who want Alchemy's way.

    Parameters
    ----------
    schema
        The predicates, and the constants of types that list them.
    rules
        The weighted formulas; hard ones have no weight.

    Examples
    --------
    >>> mln = MLN.parse('''
    ... smokes(person)
    ... friends(person,person)
    ... 1.1 friends(x,y) ^ smokes(x) => smokes(y)
    ... ''')
    >>> print(mln.with_unit_clauses())
    smokes(person)
    friends(person,person)
    <BLANKLINE>
    1.1 friends(x,y) ^ smokes(x) => smokes(y)
    0.0 smokes(a1)
    0.0 friends(a1,a2)
    """

    schema: Schema
    rules: tuple[Rule, ...] = ()

    @classmethod
    def parse(cls, text: str) -> MLN:
        """Read a network from text in the ``.mln`` language."""
        return cls._of(parse_mln(text))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> MLN:
        """Read a network from an ``.mln`` file."""
        return cls._of(read_mln(path))

    @classmethod
    def _of(cls, file: MlnFile) -> MLN:
        return cls(file.schema, file.rules)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the network as an ``.mln`` file, in full or not at all."""
        write_files({path: self.file_text()})

    def file_text(self) -> str:
        """Return what `save` writes: the rules under a line that says whose they are."""
        return f"{RULES_MARK}{self}\n"

    def __str__(self) -> str:
        return write_mln(MlnFile(self.schema, self.rules)).rstrip("\n")

    def summary(self) -> str:
        """Say how many rules there are, over how many predicates."""
        return f"{len(self.rules):,} rules over {len(self.schema.predicates):,} predicates"

    def table(self) -> ShownTable:
        """Return the rules as logic and as sentences, the strongest first."""
        ranked = sorted(self.rules, key=lambda rule: (not rule.hard, -abs(rule.weight or 0.0)))
        rows = ((shown_weight(rule), str(rule.formula), sentence(rule)) for rule in ranked)
        return ("weight", "rule", "meaning"), rows

    @property
    def soft(self) -> tuple[Rule, ...]:
        """The rules that have (or want) a weight."""
        return tuple(rule for rule in self.rules if not rule.hard)

    @property
    def hard(self) -> tuple[Rule, ...]:
        """The rules that must hold."""
        return tuple(rule for rule in self.rules if rule.hard)

    @property
    def weights(self) -> NDArray[np.float64]:
        """Weights of the soft rules; every one must be known."""
        missing = [str(rule.formula) for rule in self.soft if rule.weight is None]
        if missing:
            raise InputError(
                f"{len(missing)} rules have no weight, the first is: {missing[0]}",
                hint="learn the weights first",
            )
        return np.array([rule.weight for rule in self.soft], np.float64)

    def with_weights(self, weights: Sequence[float] | NDArray[np.float64]) -> MLN:
        """Return the network with new weights for its soft rules."""
        given = iter(np.asarray(weights, np.float64).tolist())
        if len(weights) != len(self.soft):
            raise ValueError(f"{len(self.soft)} weights are needed, not {len(weights)}")
        rules = tuple(r if r.hard else replace(r, weight=next(given)) for r in self.rules)
        return replace(self, rules=rules)

    def with_unit_clauses(self) -> MLN:
        """Return the network with a unit clause for every predicate that has none."""
        present = {rule.formula for rule in self.soft if isinstance(rule.formula, Atom)}
        known = {atom.predicate for atom in present if _is_open_unit(atom)}
        units = tuple(
            Rule(unit_atom(predicate), weight=0.0)
            for predicate in self.schema.predicates
            if predicate not in known
        )
        return replace(self, rules=self.rules + units)

    def expanded(self, domains: Mapping[str, Collection[str]]) -> MLN:
        """Return the network with ``+x`` and ``*P(x)`` written out over the given constants."""
        if not any(rule.per_constant or _has_either_sign(rule) for rule in self.rules):
            return self
        rules: Iterable[Rule] = (r for rule in self.rules for r in expand_rule(rule, domains))
        return replace(self, rules=tuple(rules))

    def clausal(self) -> MLN:
        """Return the network with each formula split into its clauses, sharing the weight equally.

        This is how Alchemy reads formulas; those in square brackets stay whole, and so do those
        whose weight is a variable.
        """
        rules: list[Rule] = []
        for rule in self.rules:
            clauses = () if rule.whole or rule.weighted_by else clauses_of(rule.formula)
            if len(clauses) < 2:
                rules.append(rule)
                continue
            share = None if rule.weight is None else rule.weight / len(clauses)
            rules += [replace(rule, formula=part.formula, weight=share) for part in clauses]
        return replace(self, rules=tuple(rules))


def unit_atom(predicate: Predicate) -> Atom:
    """Return the atom of a predicate with distinct variables.

    Examples
    --------
    >>> print(unit_atom(Predicate("friends", ("person", "person"))))
    friends(a1,a2)
    """
    return Atom(predicate, tuple(Variable(f"a{i + 1}") for i in range(predicate.arity)))


def _is_open_unit(atom: Atom) -> bool:
    variables = [term for term in atom.terms if isinstance(term, Variable)]
    return len(variables) == len(atom.terms) == len(set(variables))


def _has_either_sign(rule: Rule) -> bool:
    waiting = [rule.formula]
    while waiting:
        part = waiting.pop()
        if isinstance(part, EitherSign):
            return True
        waiting.extend(children(part))
    return False


def shown_weight(rule: Rule) -> str:
    """Return a weight as tables show it.

    Examples
    --------
    >>> shown_weight(MLN.parse("p(x)" + chr(10) + "1.23456 p(x)").rules[0])
    '1.235'
    """
    return "always" if rule.hard else "" if rule.weight is None else f"{rule.weight:.3f}"
