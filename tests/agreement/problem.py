"""A case as the library reads it: its text parsed, once, and the reference's worlds beside it."""

from __future__ import annotations

from functools import cached_property

import mlnlearn as ml
from agreement.case import Case, Domains, Facts
from agreement.language import GroundAtom
from agreement.reference import (
    Distribution,
    TooLarge,
    Unknown,
    Worlds,
    listed_worlds,
    open_names,
)
from mlnlearn.data.database import Database


class Skip(Exception):
    """The question does not arise in this case."""


class Problem:
    """A case with what several paths need of it."""

    def __init__(self, case: Case) -> None:
        self.case = case

    @cached_property
    def mln(self) -> ml.MLN:
        return ml.MLN.parse(self.case.mln_text())

    def database(self, facts: Facts) -> Database:
        return ml.parse_db(str(facts), self.mln.schema)

    @cached_property
    def evidence(self) -> Database:
        return self.database(self.case.evidence)

    @cached_property
    def read(self) -> list[Database]:
        """The training data as they are read."""
        return [self.database(facts) for facts in self.case.training]

    @cached_property
    def training(self) -> list[Database]:
        """The training data with the constants that the rules name, for counting."""
        return self.with_constants(self.read)

    def with_constants(self, databases: list[Database]) -> list[Database]:
        return list(ml.with_constants_of(self.mln, databases))

    @cached_property
    def hidden(self) -> list[Database]:
        return [self.database(facts) for facts in self.case.hidden]

    # The reference's side ---------------------------------------------------------------------

    @cached_property
    def _asked(self) -> tuple[Worlds, Unknown]:
        case = self.case
        domains = case.domains(case.evidence)
        opened = open_names(case, case.evidence)
        try:
            return listed_worlds(case.predicates, domains, case.evidence, opened)
        except TooLarge:
            raise Skip from None

    @property
    def unknown(self) -> Unknown:
        return self._asked[1]

    @cached_property
    def posterior(self) -> Distribution:
        """The worlds that the evidence leaves, weighted by the model."""
        worlds = self._asked[0]
        return Distribution(worlds, worlds.log_weights(self.case.rules))

    def prior(self, facts: Facts) -> Distribution:
        """All worlds over the domains of some facts, weighted by the model."""
        names = {p.name for p in self.case.predicates}
        domains = self.case.domains(facts)
        try:
            worlds, _ = listed_worlds(self.case.predicates, domains, Facts(), names)
        except TooLarge:
            raise Skip from None
        return Distribution(worlds, worlds.log_weights(self.case.rules))


def own_domains(database: Database) -> Domains:
    """The domains that a database of the library has."""
    return {kind: tuple(names.names) for kind, names in database.domains.items()}


def ground_atom(text: str) -> GroundAtom:
    """Read an atom as the library prints it."""
    name, _, rest = text.partition("(")
    terms = rest.rstrip(")").replace('"', "").replace(" ", "")
    return name, tuple(terms.split(",")) if terms else ()
