"""The boosted model: rules for one or more targets, and what can be asked of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from mlnlearn.counting.objects import Objects
from mlnlearn.data.bands import banded_like
from mlnlearn.data.database import Database, asked_database
from mlnlearn.data.examples import Examples
from mlnlearn.documents import SavedModel, decode, in_file, within
from mlnlearn.errors import InputError
from mlnlearn.files import RULES_MARK, AnyPath
from mlnlearn.late import late
from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.formulas import Formula, Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.logistic import expit
from mlnlearn.model.answers import CLOSED_FORM, Answers, AnswerTable, ComponentSummary
from mlnlearn.model.boosted.drawing import rules_html, rules_svg
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.explain import explain_atom
from mlnlearn.model.boosted.files import (
    FORMAT,
    BoostedFile,
    rules_from_file,
    rules_to_plain,
    schema_from_file,
    schema_to_plain,
    to_json,
)
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms, forgotten_targets
from mlnlearn.model.boosted.hidden.conditionals import (
    choices_given_the_rest,
    independent_probabilities,
)
from mlnlearn.model.boosted.hidden.marginals import (
    HiddenMarginals,
    depends_on_unknown,
    hidden_marginals,
)
from mlnlearn.model.boosted.potentials import potentials
from mlnlearn.model.boosted.rules import TargetRules, Tree, bodies, paths
from mlnlearn.model.boosted.text import Naming
from mlnlearn.model.domains import with_constants
from mlnlearn.model.explanation import Explanation, ground_atom
from mlnlearn.model.mln import MLN
from mlnlearn.model.plots import Plots
from mlnlearn.montecarlo.settings import Sampling
from mlnlearn.notebook import Shown, ShownTable
from mlnlearn.syntax import write_by_constant, write_rule

special = late("scipy.special")

_FormulaWeight: TypeAlias = tuple[float | None, dict[int, dict[str, float]]]
"""What a formula weighs for all heads, if that is said, and by constant of arguments besides."""


@dataclass(frozen=True, repr=False)
class BoostedModel(Shown, Plots, SavedModel):
    """Rules learned by functional gradient boosting. Immutable.

    The log-odds of a target atom are the bias plus the values of all steps. Under counting
    semantics (boosted MLN) a rule's value counts once a grounding; under existential semantics
    (boosted RDN) once an example. Of a predicate with ``!`` exactly one value of each block is
    true: the values' log-odds are then the log-weights of the choice between them.

    Attributes
    ----------
    schema
        Types and predicates.
    existential
        Which semantics.
    targets
        The rules of each target predicate.

    Examples
    --------
    >>> from mlnlearn.model.boosted.rules import ClauseList, HornClause
    >>> from mlnlearn.counting.pattern import Pattern
    >>> schema = Schema.of("smokes(person)", "friends(person,person)", "cancer(person)")
    >>> clauses = ClauseList((HornClause((Pattern(schema["smokes"], (0,)),), 1.5),))
    >>> rules = TargetRules(schema["cancer"], -2.0, steps=(clauses,))
    >>> model = BoostedModel(schema, False, (rules,))
    >>> print(model)
    -2.0000 cancer(p1)
    +1.5000 smokes(p1) => cancer(p1)
    >>> facts = {"smokes": [("Anna",)], "cancer": []}
    >>> db = Database.from_facts(schema, facts, domains={"person": ["Bob"]})
    >>> print(model.query(db))
    probability  standard error  atom
         0.3775          0.0000  cancer(Anna)
         0.1192          0.0000  cancer(Bob)
    2 atoms; 1 component by closed form
    """

    schema: Schema
    existential: bool
    targets: tuple[TargetRules, ...]

    @property
    def steps(self) -> int:
        """Number of boosting steps."""
        return max((len(rules.steps) for rules in self.targets), default=0)

    def rules_of(self, target: str | None = None) -> TargetRules:
        """Return the rules of a target; the name may be left out where there is one."""
        if target is None and len(self.targets) == 1:
            return self.targets[0]
        for rules in self.targets:
            if rules.predicate.name == target:
                return rules
        known = ", ".join(rules.predicate.name for rules in self.targets)
        raise InputError(f"no target {target!r} in this model; it has: {known}")

    def truncated(self, steps: int) -> BoostedModel:
        """Return the model after its first steps only."""
        return replace(self, targets=tuple(rules.first(steps) for rules in self.targets))

    def shifted(self, log_odds: float | Mapping[str, float]) -> BoostedModel:
        """Return the model with a number added to all log-odds (of each target).

        A model of the full population answers for a test set that keeps only a share ``s`` of the
        negatives after a shift of ``-log(s)``.
        """
        by = log_odds if isinstance(log_odds, Mapping) else {}
        same = 0.0 if isinstance(log_odds, Mapping) else log_odds
        targets = tuple(
            replace(rules, bias=rules.bias + by.get(rules.predicate.name, same))
            for rules in self.targets
        )
        return replace(self, targets=targets)

    def log_odds(self, databases: Database | Sequence[Database], examples: Examples) -> Floats:
        """Return the log-odds of atoms given everything else in their databases.

        Of a value of a ``!`` block, given everything outside of the block.
        """
        world = self._world(databases)
        predicate = examples.predicate
        if world.databases[0].schema.exclusive(predicate.name):
            return np.asarray(special.logit(self.probabilities(databases, examples)))
        rows = world.numbered(predicate, examples.database, examples.columns)
        return potentials(self.targets, self.existential, world, predicate.name, rows)

    def probabilities(self, databases: Database | Sequence[Database], examples: Examples) -> Floats:
        """Return the probabilities of atoms given everything else in their databases.

        Of a value of a ``!`` block, given everything outside of the block.
        """
        world = self._world(databases)
        predicate = self.rules_of(examples.predicate.name).predicate
        if not world.databases[0].schema.exclusive(predicate.name):
            return np.asarray(expit(self.log_odds(databases, examples)))
        rows = world.numbered(predicate, examples.database, examples.columns)
        hidden, chances = choices_given_the_rest(
            self.targets, self.existential, world.databases, predicate
        )
        numbers = hidden.numbers(predicate, rows)
        # an atom that is not unknown is the only value of its block
        return np.where(numbers < 0, 1.0, np.append(chances, 1.0)[numbers])

    def query(
        self,
        database: Database,
        asked: str | Sequence[str] | None = None,
        *,
        closed: Collection[str] = (),
        method: str = "auto",
        sampling: Sampling | None = None,
    ) -> Answers:
        """Return the probabilities of target atoms.

        Parameters
        ----------
        database
            The evidence. Unknown atoms of targets are summed over; those of other predicates,
            for which there are no rules, are taken as false.
        asked
            Targets of which all atoms are asked for, whatever the database says of them. A target
            that is not asked for is evidence where the database lists any of its atoms, and unknown
            where it lists none. By default all targets are asked for: the unknown atoms of those
            of which the database lists some, and all atoms of the others.
        closed
            Targets of which no atom that is not listed is true, even where none is listed.
        method
            How to answer where atoms depend on each other or on unknown ones: ``"auto"``, exactly
            where few do, else by sampling; ``"exact"``, exactly or not at all; ``"gibbs"``, by
            sampling.
        sampling
            How long to sample.
        """
        (database,) = self._world(asked_database(database)).databases
        names = [rules.predicate.name for rules in self.targets]
        chosen = [asked] if isinstance(asked, str) else asked
        wanted = names if chosen is None else list(dict.fromkeys(chosen))
        for name in wanted:
            self.rules_of(name)  # refuses what is no target
        for name in closed:
            self.schema[name]  # refuses what is no predicate
        forgotten = forgotten_targets(names, database, chosen, closed)
        hidden = HiddenAtoms.of([database], names, forgotten)
        if depends_on_unknown(self.targets, self.existential, database, forgotten):
            found = hidden_marginals(
                self.targets,
                self.existential,
                hidden,
                wanted=wanted,
                method=method,
                sampling=sampling,
            )
            return _answers(database, hidden, wanted, found)
        return self._closed_form(database, hidden, wanted)

    def _closed_form(
        self, database: Database, hidden: HiddenAtoms, wanted: Sequence[str]
    ) -> Answers:
        """Answer where no unknown atom matters to another."""
        chances = independent_probabilities(self.targets, self.existential, hidden, wanted)
        components = [
            ComponentSummary(columns.shape[1], 0, CLOSED_FORM)
            for predicate, (columns,) in hidden.columns.items()
            if predicate.name in wanted
        ]
        methods = np.full(len(hidden), CLOSED_FORM, object)
        exactly = HiddenMarginals(chances, np.zeros(len(hidden)), methods, tuple(components))
        return _answers(database, hidden, wanted, exactly)

    @property
    def is_joint(self) -> bool:
        """Whether a target stands in the rules of another."""
        names = {rules.predicate for rules in self.targets}
        return any(
            pattern.predicate in names
            for rules in self.targets
            for step in (rules.prior, *rules.steps)
            for body in bodies(step)
            for pattern in body
        )

    def _world(self, databases: Database | Sequence[Database]) -> Objects:
        given = [databases] if isinstance(databases, Database) else databases
        given = with_constants(dict.fromkeys(self._constants()), banded_like(self.schema, given))
        for database in given:
            for predicate in self.schema.predicates:
                if predicate.name not in database.schema:
                    raise InputError(
                        f"{database.name or 'the database'} has no predicate {predicate}",
                        hint="read it with the schema of the model",
                    )
        return Objects(given)

    def explain(
        self,
        database: Database,
        atom: Atom | str,
        *,
        open: Collection[str] = (),
        closed: Collection[str] = (),
        seed: int = 0,
    ) -> Explanation:
        """Explain the probability of a target atom; as `mlnlearn.explain`, which takes any model.

        The parts are the rules for the atom's own predicate, and those for other atoms in whose
        bodies it stands.
        """
        (database,) = self._world(asked_database(database)).databases
        found = ground_atom(database, atom)
        self.rules_of(found.predicate.name)
        for name in (*open, *closed):
            database.schema[name]  # refuses what is no predicate
        return explain_atom(
            self.targets, self.existential, database, found, open=open, closed=closed, seed=seed
        )

    def rules(self) -> list[tuple[str, float]]:
        """Return the rules as text with their weights, in the order in which they apply.

        Equal clauses of different steps are one rule with the sum of their weights; the branches
        of a tree stay together: of each tree, the first rule that has a grounding counts. Where a
        leaf has a vector, its rules are one for all heads, then one for those of each constant.
        """
        result: list[tuple[str, float]] = []
        for rules in self.targets:
            naming = Naming(rules.predicate)
            result += naming.clauses(rules)
            for step in rules.steps:
                if isinstance(step, Tree):
                    result += [rule[1:] for path in step.paths for rule in naming.weighted(path)]
        return result

    def importance(self) -> dict[str, float]:
        """Return how much each predicate matters: the absolute weights of rules that use it.

        The shares add up to one; equality is listed as ``=``.
        """
        totals: dict[str, float] = {}
        for rules in self.targets:
            for step in (rules.prior, *rules.steps):
                for path in paths(step):
                    for name in {pattern.predicate.name for pattern in path.body}:
                        totals[name] = totals.get(name, 0.0) + path.size
        whole = sum(totals.values())
        ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
        return {name: value / whole if whole else 0.0 for name, value in ranked}

    def to_mln(self) -> MLN:
        """Return a Markov logic network that gives the same answers.

        Clauses are taken as they are. A branch of a tree becomes a formula with a negated
        existential for every test that failed. A dependency network has its rules as one-way
        conditionals: it is such a network only where no target stands in a body, and is refused
        where one does; `save` then writes its rules for people to read alone, as comments. A vector
        becomes a rule for each of its constants, which `save` writes on one line.
        """
        if self.existential and self.is_joint:
            raise InputError(
                "a joint dependency network is no Markov logic network",
                hint="learn a BoostedMLN, or one target at a time",
            )
        rules: list[Rule] = []
        for target in self.targets:
            naming = Naming(target.predicate)
            for formula, (weight, vectors) in self._weights(target).items():
                rules += [] if weight is None else [Rule(formula, weight)]
                rules += [
                    Rule(naming.of_constant(formula, place, name), value)
                    for place, added in vectors.items()
                    for name, value in sorted(added.items())
                ]
        return MLN(self.schema, tuple(rules))

    def _weights(self, target: TargetRules) -> dict[Formula, _FormulaWeight]:
        """Return the formulas for a target with their weights, equal ones of all steps together."""
        naming = Naming(target.predicate)
        weights: dict[Formula, _FormulaWeight] = {naming.head: (target.intercept, {})}
        for step in (target.prior, *target.steps):
            for path in paths(step):
                formula = naming.path(path, self.existential)
                weight, vectors = weights.get(formula, (None, {}))
                if path.value or path.by is None:
                    weight = path.value if weight is None else weight + path.value
                if path.by is not None and path.by.added:
                    added = vectors.setdefault(path.by.place, {})
                    for name, value in path.by.added.items():
                        added[name] = added.get(name, 0.0) + value
                weights[formula] = weight, vectors
        return weights

    def trees(self) -> str:
        """Return all trees as indented text."""
        lines = []
        for rules in self.targets:
            naming = Naming(rules.predicate)
            for number, step in enumerate(rules.steps, 1):
                if isinstance(step, Tree):
                    lines.append(f"{naming.head}, tree {number}\n{naming.tree(step)}")
        return "\n\n".join(lines)

    def svg(self, target: str | None = None) -> str:
        """Return a picture of the rules: clauses with bars for their weights, then the trees.

        Parameters
        ----------
        target
            Draw the rules of this target only.
        """
        return str(rules_svg(self.targets if target is None else [self.rules_of(target)]))

    def summary(self) -> str:
        """Say what it predicts, in how many steps."""
        steps = (f"{rules.predicate.name} in {len(rules.steps)} steps" for rules in self.targets)
        return f"predicts {', '.join(steps)}"

    def table(self) -> ShownTable:
        """Return the rules with their weights."""
        return ("rule", "weight"), ((rule, f"{weight:+.4f}") for rule, weight in self.rules())

    def _repr_html_(self) -> str:
        return str(rules_html(self.targets))

    def __str__(self) -> str:
        return "\n".join(f"{weight:+.4f} {rule}" for rule, weight in self.rules())

    def to_plain(self) -> dict[str, Any]:
        """Return the model as plain data, for JSON."""
        return {
            "format": FORMAT,
            "schema": schema_to_plain(self.schema),
            "semantics": "existential" if self.existential else "counting",
            "targets": [rules_to_plain(rules) for rules in self.targets],
        }

    json_text = staticmethod(to_json)

    def file_text(self) -> str:
        """Return the rules as the text of a file to read."""
        shown = self.trees() or str(self)
        comment = "\n".join(f"// {line}".rstrip() for line in shown.splitlines())
        if self.existential and self.is_joint:
            return f"{RULES_MARK}{comment}\n"
        return f"{RULES_MARK}{comment}\n\n{self._mln_text()}\n"

    def _mln_text(self) -> str:
        """Return the text of `to_mln`, with the rules of a vector on one line."""
        if not any(self._constants()):
            return str(self.to_mln())
        lines = [str(MLN(self.schema)), ""]
        for target in self.targets:
            naming = Naming(target.predicate)
            for formula, (weight, vectors) in self._weights(target).items():
                lines += [] if weight is None else [write_rule(Rule(formula, weight))]
                for place, added in vectors.items():
                    marked = Rule(formula, per_constant=(naming.axis(place),))
                    lines.append(write_by_constant(marked, dict(sorted(added.items()))))
        return "\n".join(lines)

    def _constants(self) -> Iterator[tuple[str, str]]:
        """Yield the constants that vectors name, with their types."""
        for rules in self.targets:
            for step in (rules.prior, *rules.steps):
                for path in paths(step):
                    if path.by is not None:
                        yield from ((path.by.kind, name) for name in path.by.names)

    @classmethod
    def from_plain(cls, plain: object, where: AnyPath = "the model") -> BoostedModel:
        """Undo `to_plain`."""
        with in_file(where):
            file = decode(plain, BoostedFile)
            with within("schema"):
                schema = schema_from_file(file.schema)
            targets: list[TargetRules] = []
            for number, item in enumerate(file.targets):
                with within(f"targets[{number}]"):
                    targets.append(rules_from_file(item, schema))
                    if any(targets[-1].predicate == other.predicate for other in targets[:-1]):
                        raise InputError(f"{item.target} is a target twice")
        return cls(schema, file.semantics == "existential", tuple(targets))


def _answers(
    database: Database, hidden: HiddenAtoms, wanted: Sequence[str], found: HiddenMarginals
) -> Answers:
    """Return what is found of unknown atoms of one database as tables."""
    tables = []
    for name in wanted:
        predicate = database.schema[name]
        nothing = (np.empty((predicate.arity, 0), np.int32),)
        (columns,), (forced,) = (
            part.get(predicate, nothing) for part in (hidden.columns, hidden.forced)
        )
        start = hidden.starts.get(predicate, 0)
        mine, sure = slice(start, start + columns.shape[1]), forced.shape[1]
        tables.append(
            AnswerTable(
                predicate,
                np.concatenate([forced, columns], axis=1),
                tuple(database.domains[kind] for kind in predicate.types),
                np.append(np.ones(sure), found.probability[mine]),
                np.append(np.zeros(sure), found.standard_error[mine]),
                np.append(np.full(sure, "evidence", object), found.method[mine]),
            )
        )
    return Answers(tuple(tables), found.components)
