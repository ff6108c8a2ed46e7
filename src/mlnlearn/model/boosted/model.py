"""The boosted model: rules for one or more targets, and what can be asked of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path as FilePath

import numpy as np
from scipy.special import expit

from mlnlearn.counting.arrays import Codes
from mlnlearn.counting.objects import Objects
from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples
from mlnlearn.data.sampling import number_of_keys, unpack
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.files import RULES_MARK, refuse_non_finite, write_files
from mlnlearn.logic.atoms import Atom, Predicate
from mlnlearn.logic.formulas import Formula, Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted.answers import AnswerPart, Answers
from mlnlearn.model.boosted.drawing import rules_html, rules_svg
from mlnlearn.model.boosted.evaluate import Floats
from mlnlearn.model.boosted.explain import Reason, reasons
from mlnlearn.model.boosted.files import (
    FORMAT,
    rules_from_plain,
    rules_to_plain,
    schema_from_plain,
    schema_to_plain,
    to_json,
)
from mlnlearn.model.boosted.gibbs import GibbsSettings
from mlnlearn.model.boosted.hidden.atoms import HiddenAtoms, unknown_predicates
from mlnlearn.model.boosted.hidden.marginals import depends_on_unknown, sampled_marginals
from mlnlearn.model.boosted.potentials import potentials
from mlnlearn.model.boosted.rules import (
    Path,
    Step,
    TargetRules,
    Tree,
    bodies,
    weighted_bodies,
)
from mlnlearn.model.boosted.text import Naming
from mlnlearn.model.mln import MLN
from mlnlearn.syntax import parse_formula

_MOST_ATOMS = 100_000_000


@dataclass(frozen=True)
class BoostedModel:
    """Rules learned by functional gradient boosting. Immutable.

    The log-odds of a target atom are the bias plus the values of all steps. Under counting
    semantics (boosted MLN) a rule's value counts once a grounding; under existential semantics
    (boosted RDN) once an example.

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
    >>> [(atom, round(probability, 3)) for atom, probability in model.query(db)]
    [('cancer(Bob)', 0.119), ('cancer(Anna)', 0.378)]
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
        """Return the log-odds of atoms given everything else in their databases."""
        world = self._world(databases)
        rows = world.numbered(examples.predicate, examples.database, examples.columns)
        return potentials(self.targets, self.existential, world, examples.predicate.name, rows)

    def probabilities(self, databases: Database | Sequence[Database], examples: Examples) -> Floats:
        """Return the probabilities of atoms given everything else in their databases."""
        result: Floats = expit(self.log_odds(databases, examples))
        return result

    def query(
        self,
        database: Database,
        gibbs: GibbsSettings | None = None,
        asked: str | Sequence[str] | None = None,
    ) -> Answers:
        """Return the probabilities of target atoms.

        Parameters
        ----------
        database
            The evidence. Unknown atoms of targets are summed over; those of other predicates,
            for which there are no rules, are taken as false.
        gibbs
            How long to sample where the answer is not in closed form: where the atoms asked for
            stand in each other's rules, or depend on unknown atoms.
        asked
            Targets of which all atoms are asked for, whatever the database says of them; all other
            targets are evidence where they are known. By default, the unknown atoms of targets of
            which the database lists some, and all atoms of all other targets.
        """
        names = [rules.predicate.name for rules in self.targets]
        chosen = [asked] if isinstance(asked, str) else asked
        listed = unknown_predicates([database])
        unknown = [name for name in names if name in listed]
        if chosen is None:
            whole = [name for name in names if name not in unknown]
        else:
            whole = [self.rules_of(name).predicate.name for name in chosen]
        settings = gibbs or GibbsSettings()
        self._world(database)
        if set(whole) == set(names) and not self.is_joint:
            return self._closed_form(database)
        if depends_on_unknown(self.targets, self.existential, database, whole):
            parts = sampled_marginals(self.targets, self.existential, [database], whole, settings)[
                0
            ]
        else:
            hidden = HiddenAtoms.of([database], unknown, whole)
            parts = [
                AnswerPart(p, columns, self._given_all(hidden.databases[0], p, columns))
                for p, (columns,) in hidden.columns.items()
            ]
        wanted = names if chosen is None else whole
        return Answers(database, tuple(part for part in parts if part.predicate.name in wanted))

    def _given_all(self, database: Database, predicate: Predicate, columns: Codes) -> Floats:
        """Return the probabilities of atoms where no unknown atom matters."""
        world = self._world(database.closed())
        rows = world.numbered(predicate, np.zeros(columns.shape[1], np.int32), columns)
        found: Floats = expit(
            potentials(self.targets, self.existential, world, predicate.name, rows)
        )
        return found

    def _closed_form(self, database: Database) -> Answers:
        """Return the probability of every target atom where none depends on another."""
        atoms = [self._all_atoms(database, rules) for rules in self.targets]
        parts = zip(self.targets, atoms, strict=True)
        return Answers(
            database,
            tuple(
                AnswerPart(r.predicate, columns, self._given_all(database, r.predicate, columns))
                for r, columns in parts
            ),
        )

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

    def _all_atoms(self, database: Database, rules: TargetRules) -> Codes:
        sizes = [database.size(kind) for kind in rules.predicate.types]
        total = number_of_keys(sizes)
        if total > _MOST_ATOMS:
            raise MemoryLimitError(
                f"{rules.predicate.name} has {total} ground atoms; the limit is {_MOST_ATOMS}",
                hint="ask for the probabilities of chosen examples instead",
            )
        return unpack(np.arange(total), sizes)

    def _world(self, databases: Database | Sequence[Database]) -> Objects:
        given = [databases] if isinstance(databases, Database) else databases
        for database in given:
            for predicate in self.schema.predicates:
                if predicate.name not in database.schema:
                    raise InputError(
                        f"{database.name or 'the database'} has no predicate {predicate}",
                        hint="read it with the schema of the model",
                    )
        return Objects(given)

    def explain(self, database: Database, atom: Atom | str) -> list[Reason]:
        """Return the parts of an atom's log-odds, the largest first.

        They are the rules for the atom's own predicate, and add up to its log-odds given the
        database; in a joint model the rules of other targets may add to that.
        """
        ground = parse_formula(atom, self.schema).formula if isinstance(atom, str) else atom
        if not isinstance(ground, Atom):
            raise InputError(f"{atom} is no atom")
        names = [term.name for term in ground.terms]
        rules = self.rules_of(ground.predicate.name)
        codes = []
        for kind, name in zip(rules.predicate.types, names, strict=True):
            code = database.domains[kind].code(name)
            if code < 0:
                raise InputError(f"no constant {name!r} of type {kind!r} in the database")
            codes.append(code)
        world = self._world(database)
        columns = np.array(codes, np.int32).reshape(-1, 1)
        row = world.numbered(rules.predicate, np.zeros(1, np.int32), columns)
        return reasons(rules, self.existential, world, row)

    def rules(self) -> list[tuple[str, float]]:
        """Return the rules as text with their weights, in the order in which they apply.

        Equal clauses of different steps are one rule with the sum of their weights; the branches
        of a tree stay together: of each tree, the first rule that has a grounding counts.
        """
        result: list[tuple[str, float]] = []
        for rules in self.targets:
            naming = Naming(rules.predicate)
            trees = (step for step in rules.steps if isinstance(step, Tree))
            paths = (path for tree in trees for path in tree.paths)
            result += [*naming.clauses(rules), *((naming.rule(p.body), p.value) for p in paths)]
        return result

    def importance(self) -> dict[str, float]:
        """Return how much each predicate matters: the absolute weights of rules that use it.

        The shares add up to one; equality is listed as ``=``.
        """
        totals: dict[str, float] = {}
        for rules in self.targets:
            for step in (rules.prior, *rules.steps):
                for body, weight in weighted_bodies(step):
                    for name in {pattern.predicate.name for pattern in body}:
                        totals[name] = totals.get(name, 0.0) + abs(weight)
        whole = sum(totals.values())
        ranked = sorted(totals.items(), key=lambda item: (-item[1], item[0]))
        return {name: value / whole if whole else 0.0 for name, value in ranked}

    def to_mln(self) -> MLN:
        """Return a Markov logic network with the same conditional probabilities.

        Clauses are taken as they are. A branch of a tree becomes a formula with a negated
        existential for every test that failed.
        """
        if self.existential and self.is_joint:
            raise InputError(
                "a joint dependency network is no Markov logic network",
                hint="learn a BoostedMLN, or one target at a time",
            )
        rules: list[Rule] = []
        for target in self.targets:
            weights: dict[Formula, float] = {Naming(target.predicate).head: target.intercept}
            for step in (target.prior, *target.steps):
                for formula, weight in self._formulas(step, Naming(target.predicate)):
                    weights[formula] = weights.get(formula, 0.0) + weight
            rules += [Rule(formula, weight) for formula, weight in weights.items()]
        return MLN(self.schema, tuple(rules))

    def _formulas(self, step: Step, naming: Naming) -> Iterator[tuple[Formula, float]]:
        paths = (
            step.paths
            if isinstance(step, Tree)
            else (Path(clause.body, (), clause.weight) for clause in step.clauses)
        )
        for path in paths:
            yield naming.path(path, self.existential), path.value

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

    def _repr_html_(self) -> str:
        return str(rules_html(self.targets))

    def __str__(self) -> str:
        return "\n".join(f"{weight:+.4f} {rule}" for rule, weight in self.rules())

    def to_plain(self) -> dict[str, object]:
        """Return the model as plain data, for JSON."""
        return {
            "format": FORMAT,
            "schema": schema_to_plain(self.schema),
            "semantics": "existential" if self.existential else "counting",
            "targets": [rules_to_plain(rules) for rules in self.targets],
        }

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model: rules to read at the path, JSON to load beside it (``.json``)."""
        file = FilePath(path)
        # Rules without their JSON would be read as another model; so the JSON comes first.
        texts = {file.with_suffix(".json"): to_json(self.to_plain())}
        write_files(texts if file.suffix == ".json" else texts | {file: self._readable()})

    def _readable(self) -> str:
        shown = self.trees() or str(self)
        comment = "\n".join(f"// {line}".rstrip() for line in shown.splitlines())
        if self.existential and self.is_joint:
            return f"{RULES_MARK}{comment}\n"
        return f"{RULES_MARK}{comment}\n\n{self.to_mln()}\n"

    @classmethod
    def load(cls, path: str | PathLike[str]) -> BoostedModel:
        """Read a model that `save` wrote."""
        file = FilePath(path).with_suffix(".json")
        try:
            plain = json.loads(file.read_text(encoding="utf-8"))
        except (OSError, ValueError) as problem:
            raise InputError(f"{file} holds no model: {problem}") from None
        return cls.from_plain(plain, str(file))

    @classmethod
    def from_plain(cls, plain: object, where: str = "the model") -> BoostedModel:
        """Undo `to_plain`."""
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise InputError(f"{where}: expected {FORMAT!r}")
        refuse_non_finite(plain, where)
        try:
            schema = schema_from_plain(plain["schema"])
            targets = tuple(rules_from_plain(item, schema) for item in plain["targets"])
            return cls(schema, plain["semantics"] == "existential", targets)
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise InputError(f"{where} is damaged: {problem!r}") from None
