"""The model of boosted features: trees along links for one target, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mlnlearn.counting.aggregates import Floats
from mlnlearn.counting.relational import FLAGS, Place, Relational, RowSet, relational
from mlnlearn.counting.staleness import overdue, seen_earlier
from mlnlearn.data.database import Columns, Database, are_among, asked_database
from mlnlearn.data.load.mapping import Mapping as TablesMapping
from mlnlearn.documents import SavedModel, decode, in_file, within
from mlnlearn.errors import InputError
from mlnlearn.files import RULES_MARK, AnyPath
from mlnlearn.late import late
from mlnlearn.logic.atoms import Atom
from mlnlearn.logic.schema import Schema
from mlnlearn.logistic import expit
from mlnlearn.model.answers import CLOSED_FORM, Answers, AnswerTable, ComponentSummary
from mlnlearn.model.boosted.files import schema_from_file, schema_to_plain
from mlnlearn.model.explanation import (
    Contribution,
    Explanation,
    atom_of,
    by_size,
    codes_of,
    ground_atom,
)
from mlnlearn.model.plots import Plots
from mlnlearn.model.relational.atoms import atom_rows, possible_atoms, shares_in_blocks
from mlnlearn.model.relational.collective import JointChances, Sweeps, answer_by, joint_chances
from mlnlearn.model.relational.evaluate import Evaluator, Values
from mlnlearn.model.relational.explain import contrast, feature_effects, said_value
from mlnlearn.model.relational.features import AnyFeature
from mlnlearn.model.relational.files import (
    FORMAT,
    RelationalFile,
    outputs_of,
    part_from_file,
    trees_to_plain,
)
from mlnlearn.model.relational.network import derived_database, derived_names, network_text
from mlnlearn.model.relational.own import OwnEvaluator, asked_folds, has_labels, reads_own
from mlnlearn.model.relational.rules import RuleList
from mlnlearn.model.relational.trees import FeatureNode, axis_of, features_of, tree_scores
from mlnlearn.model.shown import ShownRule
from mlnlearn.notebook import Shown, ShownTable
from mlnlearn.resources import in_use
from mlnlearn.syntax.mln import parse_mln

_BYTES, _FEWEST_AT_ONCE = 8, 10_000  # of a value; of the rows that are answered together

special = late("scipy.special")

Kind = Literal["logistic", "classes", "squares"]


@dataclass(frozen=True, repr=False)
class RelationalModel(Shown, Plots, SavedModel):
    """Trees of tests on features along links, whose values add up to scores. Immutable.

    Attributes
    ----------
    target
        What is predicted: a predicate, or a column of a table.
    kind
        What scores are: ``"logistic"``, the log-odds of true; ``"classes"``, log-weights of the
        classes; ``"squares"``, the number itself.
    classes
        The names of the classes; none of a number.
    start
        The scores before all trees.
    trees
        The trees.
    timed, until
        Whether examples have times, so that only rows before them count; and whether rows at the
        very time of an example count.
    schema, mapping
        Predicates of the data, and how tables became them; None where there were no tables.
    row_set, column
        Where what is predicted stands: a column of a row set, or (None) its rows.
    listed
        A short list of rules that says most of what the trees say.
    alone
        Where trees read labels of other rows: the model for data that tell no label at all.
    lagged
        Whether it learned to answer where facts end before the moment of the question.
    collective
        Whether labels that are not known are answered together, where trees read those of other
        rows; else they say nothing.
    """

    target: str
    kind: Kind
    classes: tuple[str, ...]
    start: tuple[float, ...]
    trees: tuple[FeatureNode, ...]
    timed: bool = False
    until: bool = False
    schema: Schema = field(default_factory=Schema)
    mapping: TablesMapping | None = None
    row_set: str = ""
    column: str | None = None
    listed: RuleList | None = None
    alone: RelationalModel | None = None
    lagged: bool = False
    collective: bool = False

    @property
    def called(self) -> str:
        """What is predicted, as the tables call it; a predicate by its name."""
        return self.target if self.mapping is None or not self.column else self.column

    @property
    def _of_moments(self) -> bool:
        tables = () if self.mapping is None else self.mapping.tables
        columns = [c for table in tables if table.name == self.row_set for c in table.columns]
        return any(c.name == self.column and c.role == "time" and not c.cuts for c in columns)

    @property
    def outputs(self) -> int:
        """Number of scores."""
        return len(self.start)

    def features(self) -> list[AnyFeature]:
        """Return the features that trees test."""
        return features_of(self.trees)

    def with_trees_of(self, other: RelationalModel) -> RelationalModel:
        """Return the model of the same target with what another says."""
        return replace(
            other,
            target=self.target,
            schema=self.schema,
            mapping=self.mapping,
            row_set=self.row_set,
            column=self.column,
            alone=None if other.alone is None else self.with_trees_of(other.alone),
        )

    def columns(
        self, view: Relational, base: RowSet, rows: NDArray[np.integer] | None = None
    ) -> dict[AnyFeature, Values]:
        """Return the values of all features for the rows of a set, or for some of them.

        Labels that the data tell are read of other rows, never of the row itself.
        """
        (found,) = self._columns_by_part(view, base, [rows])
        return found

    def _columns_by_part(
        self, view: Relational, base: RowSet, parts: Iterable[NDArray[np.integer] | None]
    ) -> Iterator[dict[AnyFeature, Values]]:
        """Yield the values of all features for some rows after others."""
        home = Place(self.row_set, self.column)
        if self.lagged:
            base = seen_earlier(base, overdue(view, base))
        evaluator = Evaluator(view, self.timed, self.until)
        if any(reads_own(feature, home) for feature in self.features()):
            folds = asked_folds(view, home, base)
            evaluator = OwnEvaluator(view, self.timed, self.until, home=home, folds=folds)
        for rows in parts:
            yield {feature: evaluator.values(feature, base, rows) for feature in self.features()}

    def scores(self, view: Relational, base: RowSet) -> Floats:
        """Return the scores of rows, shape (rows, outputs).

        Parameters
        ----------
        view
            The data; what is to be predicted is read of other rows alone.
        base
            The rows.
        """
        used = self.used_for(view)
        width = _BYTES * max(len(used.features()), 1)
        number = max(in_use().nbytes // 4 // width, _FEWEST_AT_ONCE)
        starts = range(0, max(base.rows, 1), number)
        parts = [np.arange(start, min(start + number, base.rows)) for start in starts]
        found = used._columns_by_part(view, base, parts)
        scores = [used.scores_of(each, len(rows)) for rows, each in zip(parts, found, strict=True)]
        return np.concatenate(scores)

    def used_for(self, view: Relational) -> RelationalModel:
        """Return the model that answers for data: `alone` where they tell no label at all."""
        if self.alone is None or has_labels(view, Place(self.row_set, self.column)):
            return self
        return self.alone

    def scores_of(self, columns: Mapping[AnyFeature, Values], rows: int) -> Floats:
        """Return the scores of rows by the values of their features."""
        total = np.repeat(np.array([self.start]), rows, axis=0)
        for tree in self.trees:
            total += tree_scores(tree, columns, rows, self.outputs)
        return total

    def probabilities(self, view: Relational, base: RowSet) -> Floats:
        """Return the probabilities of the classes, shape (rows, classes)."""
        if self.collective:
            return self.together(view, base).values
        return self.chances(self.scores(view, base))

    def chances(self, scores: Floats) -> Floats:
        """Return the probabilities of the classes by the scores of rows."""
        if self.kind == "squares":
            raise InputError(f"{self.target} is a number and has no classes", hint="ask for scores")
        if self.kind == "logistic":
            return np.stack([expit(-scores[:, 0]), expit(scores[:, 0])], axis=1)
        return np.asarray(special.softmax(scores, axis=1))

    def together(
        self, view: Relational, base: RowSet, sweeps: Sweeps | None = None
    ) -> JointChances:
        """Return the probabilities of the classes, labels that are not known answered together.

        Parameters
        ----------
        view, base
            The data, and the rows.
        sweeps
            How long labels are drawn.
        """
        used, home = self.used_for(view), Place(self.row_set, self.column)
        alone = used.chances(used.scores(view, base))
        if used.timed or not any(reads_own(feature, home) for feature in used.features()):
            nothing = np.zeros(base.rows, np.bool_)
            return JointChances(alone, np.zeros_like(alone), nothing)
        answer = answer_by(
            used.features(), lambda *given: used.chances(used.scores_of(*given)), view, home, base
        )
        return joint_chances(answer, alone, view, home, base, self.classes, sweeps)

    # What is asked with databases.

    @property
    def predicate(self) -> str:
        """The predicate whose atoms are predicted."""
        if self.schema.predicates:
            nothing = relational([Database.from_facts(self.schema, {})], self.mapping)
            for name, place in nothing.places.items():
                if (place.row_set, place.column) == (self.row_set, self.column):
                    return name
        raise InputError(
            f"{self.target} is the label of a table of examples, and no predicate",
            hint="ask for scores or probabilities of such a table",
        )

    @property
    def _valued(self) -> bool:
        """Whether the last argument of the predicate is the class."""
        return self.column is not None and self.classes != FLAGS

    def predict(self, database: Database, predicate: str, columns: Columns) -> Floats:
        """Return the probability of atoms, given as ``(arity, atoms)`` codes, by the evidence."""
        if predicate != self.predicate:
            raise InputError(f"no rules for {predicate}: this model predicts {self.predicate}")
        if self.kind == "squares":
            raise InputError(f"{self.target} is a number: its values have no probabilities")
        return self._answered(database, columns, self.collective)[0]

    def _answered(
        self, database: Database, columns: Columns, together: bool
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Return the probabilities of atoms, their standard errors, and which were sampled."""
        view = relational([database], self.mapping)
        atoms = atom_rows(view, Place(self.row_set, self.column), columns, self._valued)
        marked = not self._valued and database.schema.exclusive(self.predicate)
        if marked and self.kind == "logistic":
            odds = self.scores(view, atoms.base)[atoms.row, 0]
            found = self._in_blocks(database, columns, odds)
            return found, np.zeros(len(found)), np.zeros(len(found), np.bool_)
        if together:
            joint = self.together(view, atoms.base)
        else:
            chances = replace(self, collective=False).probabilities(view, atoms.base)
            joint = JointChances(chances, np.zeros_like(chances), np.zeros(len(chances), np.bool_))
        place = np.ones(len(atoms.row), np.int64)
        if atoms.value is not None:
            names = database.domains[database.schema[self.predicate].types[-1]].names
            places = {name: place for place, name in enumerate(self.classes)}
            place = np.array([places.get(name, -1) for name in names], np.int64)[atoms.value]
        nothing = np.zeros((len(joint.values), 1))
        values, error = (
            np.append(one, nothing, axis=1)[atoms.row, place] for one in (joint.values, joint.error)
        )
        return values, error, joint.sampled[atoms.row]

    def _in_blocks(self, database: Database, columns: Columns, log_odds: Floats) -> Floats:
        """Of atoms of which exactly one of a block is true, let the chances add up to one.

        The atoms of a block that are not asked for count, too.
        """
        marked = database.schema.exclusive(self.predicate)
        fixed = [place for place in range(len(columns)) if place not in marked]
        whole = possible_atoms(database, self.predicate)
        if whole.shape[1] != columns.shape[1]:
            everything = self.predict(database, self.predicate, whole)
            sizes = [database.size(kind) for kind in database.schema[self.predicate].types]
            grid: Floats = everything.reshape(sizes)
            return np.asarray(grid[tuple(columns)])
        return shares_in_blocks(columns[fixed], log_odds)

    def query(
        self,
        database: Database,
        asked: str | Sequence[str] | None = None,
        *,
        closed: Collection[str] = (),
        method: str = "auto",
        query_evidence: bool = False,
    ) -> Answers:
        """Return the probabilities of target atoms.

        Parameters
        ----------
        database
            The evidence.
        asked
            The target, to ask for all of its atoms, of which the database then says nothing. By
            default, the unknown ones where the database lists some of its atoms, which are read
            where trees ask for labels of other rows; and else all.
        closed
            Predicates of which atoms that are not listed are false; here all are.
        method
            ``"exact"``: in closed form, where labels of other rows that are not known say nothing;
            ``"gibbs"``: they are answered together, by sampling; ``"auto"``: what the model was
            found to be better with.
        query_evidence
            Whether only atoms are asked for that the database marks as unknown, given the others.
        """
        if method not in ("auto", "exact", "gibbs"):
            raise InputError(
                f"method {method!r}: boosted features answer in closed form, or by Gibbs sampling",
                hint='ask with "auto", "exact" or "gibbs"',
            )
        name = self.predicate
        chosen = [asked] if isinstance(asked, str) else list(asked or ())
        for other in chosen:
            if other != name:
                raise InputError(f"no rules for {other}: this model predicts {name}")
        chosen = [] if query_evidence else chosen
        known = self._with_classes(database)
        listed = known.count(name) + known.false_facts(name).shape[1]
        unknown = known.unknown_facts(name)
        if not query_evidence and (chosen or not (listed or unknown.shape[1])):
            known = known.without_facts([name])
            unknown = possible_atoms(known, name)
        if self.kind == "squares":
            raise InputError(f"{self.target} is a number: its values have no probabilities")
        together = method == "gibbs" or (method == "auto" and self.collective)
        chances, errors, sampled = self._answered(known, unknown, together)
        kinds = known.schema[name].types
        table = AnswerTable(
            known.schema[name],
            unknown,
            tuple(known.domains[kind] for kind in kinds),
            chances,
            errors,
            np.where(sampled, "gibbs", CLOSED_FORM).astype(object),
        )
        drawn = int(sampled.sum())
        parts = [(drawn, "gibbs"), (len(chances) - drawn, CLOSED_FORM)]
        return Answers((table,), tuple(ComponentSummary(n, 0, how) for n, how in parts if n))

    def _with_classes(self, database: Database) -> Database:
        database = asked_database(database)
        if not self._valued:
            return database
        kind = database.schema[self.predicate].types[-1]
        missing = [name for name in self.classes if name not in database.domains[kind]]
        return database.extended({kind: missing})

    def explain(
        self,
        database: Database,
        atom: Atom | str,
        *,
        open: Collection[str] = (),
        closed: Collection[str] = (),
        seed: int = 0,
    ) -> Explanation:
        """Explain the probability of a target atom by what each feature adds to its log-odds.

        As for `query`: of an atom that the database marks as unknown, labels of other rows are
        read; of others, no label is. Rows of tables are asked about one by one: labels of other
        rows are read.
        """
        known = self._with_classes(database)
        found = ground_atom(known, atom)
        if found.predicate.name != self.predicate:
            raise InputError(f"no rules for {found.predicate.name}")
        codes = codes_of(known, found)
        if self.mapping is None and not self._is_unknown(known, codes):
            known = known.without_facts([self.predicate])
        view = relational([known], self.mapping)
        home = Place(self.row_set, self.column)
        atoms = atom_rows(view, home, codes, self._valued)
        used = self.used_for(view)
        columns = used.columns(view, atoms.base)
        row = int(atoms.row[0])
        effects = used.effects(columns, row)
        pick, against = self._contrast(known, found, sum(effects.values(), np.zeros(self.outputs)))
        parts = [Contribution(said, None, float(pick @ e)) for said, e in effects.items()]
        (probability,) = self.predict(known, self.predicate, codes)
        odds = sum(part.log_odds for part in parts)
        return Explanation(found, by_size(parts), odds, float(probability), against)

    def effects(self, columns: Mapping[AnyFeature, Values], row: int) -> dict[str, Floats]:
        """Return what each feature adds to the scores of a row, by what it says; the start first.

        Parameters
        ----------
        columns
            The values of all features, see `columns`.
        row
            The number of the row.
        """
        always, effects = feature_effects(self.trees, columns, row, self.outputs)
        found = {"before anything is known": np.array(self.start) + always}
        for feature, effect in effects.items():
            said = said_value(feature, columns[feature], row)
            found[said] = found.get(said, 0.0) + effect
        return found

    def _is_unknown(self, database: Database, codes: Columns) -> bool:
        """Whether a database marks an atom, or the cell of its value, as unknown."""
        name = self.predicate
        keys = codes[:-1] if self._valued else codes
        sizes = [database.size(kind) for kind in database.schema[name].types[: len(keys)]]
        marked = [database.unknown_facts(name)[: len(keys)]]
        if self._valued:
            marked.append(database.empty_cells(name))
        return any(bool(are_among(keys, one, sizes)[0]) for one in marked)

    def _contrast(
        self, database: Database, atom: Atom, scores: Floats
    ) -> tuple[Floats, Atom | None]:
        """Return the weights of scores in the log-odds of an atom, and what it is held against."""
        if not self._valued:
            return np.ones(1), None
        value = str(atom.terms[-1].name)
        if value not in self.classes:
            raise InputError(f"{value} is no class of this model: {', '.join(self.classes[:10])}")
        pick, other = contrast(self.kind, self.classes, scores, value)
        codes = codes_of(database, atom)
        kind = database.schema[self.predicate].types[-1]
        codes[-1] = database.domains[kind].code(other)
        return pick, atom_of(database, atom, codes)

    # What is written and read.

    def summary(self) -> str:
        """Say what it predicts, with how many trees."""
        return next(self._lines())

    def table(self) -> ShownTable:
        """Return the rules of the short list."""
        rows = ((rule.sentence, f"{rule.weight:+.4f}") for rule in self.shown_rules())
        return ("rule", "weight"), rows

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        features = f"{len(self.trees)} trees over {len(self.features())} features"
        axis = axis_of(self.trees)
        if axis is not None:
            features += f", with values for each of {len(axis.names)} names ({axis.feature})"
        yield f"{self.called}: {features}"
        if self.listed is None:
            return
        kept, number = self.listed.kept, len(self.listed.rules)
        share = "" if kept is None else f", for {kept:.0%} of what they gain"
        yield f"in {number} rule{'s' * (number != 1)}{share}:"
        for rule, sentence in zip(self.listed.rules, self._sentences(), strict=True):
            yield f"{rule.weight:+8.4f}  {sentence}"

    def rules(self, max_rules: int = 20) -> list[tuple[str, float]]:
        """Return the rules of the short list as sentences with their weights, the first so many.

        `listed` has them with their conditions, shares and numbers of examples, and how much of
        the trees' gain over the base rate they keep on held-out examples.
        """
        return [(rule.sentence, rule.weight) for rule in self.shown_rules(max_rules)]

    def _sentences(self) -> list[str]:
        """Return the rules of the short list in words."""
        if self.listed is None:
            return []
        return self.listed.sentences(self.called, self._of_moments)

    def shown_rules(self, max_rules: int = 20) -> list[ShownRule]:
        """Return the rules of the short list with share, base rate and number of examples."""
        rules = () if self.listed is None else self.listed.rules[:max_rules]
        return [
            ShownRule(
                " and ".join(map(str, rule.conditions)) + (f" => {rule.says}" if rule.says else ""),
                sentence,
                rule.share,
                rule.base,
                rule.support,
                rule.weight,
            )
            for rule, sentence in zip(rules, self._sentences(), strict=False)
        ]

    def distilled(self) -> RelationalModel:
        """Return the short list of rules as a model of its own."""
        if self.listed is None:
            raise InputError("this model has no short list of rules")
        alone = replace(self.listed, kept=None)
        other = None if self.alone is None else self.alone.distilled()
        return replace(self, start=alone.start, trees=alone.trees(), listed=alone, alone=other)

    def to_plain(self) -> dict[str, Any]:
        """Return the model as plain data."""
        return {
            "format": FORMAT,
            "target": self.target,
            "kind": self.kind,
            "classes": list(self.classes),
            "timed": self.timed,
            "until": self.until,
            "lagged": self.lagged,
            "collective": self.collective,
            "row_set": self.row_set,
            "column": self.column,
            "schema": schema_to_plain(self.schema),
            "mapping": None if self.mapping is None else self.mapping.as_dict(),
            **self.part_as_plain(),
            "alone": None if self.alone is None else self.alone.part_as_plain(),
        }

    def part_as_plain(self) -> dict[str, Any]:
        """Return what the model says, without what it is about, as plain data."""
        return {"start": list(self.start), **trees_to_plain(self.trees, self.listed)}

    def file_text(self) -> str:
        """Return the short list of rules as a network over derived predicates, with comments."""
        lines = "\n".join(f"// {line}" for line in str(self).splitlines())
        if self.kind == "squares" or not self.schema.predicates or self.listed is None:
            return f"{RULES_MARK}{lines}\n"
        return f"{RULES_MARK}{lines}\n\n{self.distilled().network_text()}"

    def network_text(self) -> str:
        """Return the model as a Markov logic network over derived predicates.

        Each test is a predicate, with a comment that says it in words; `derived_facts` has the
        facts of these predicates. Given them, the network gives the model's probabilities exactly.
        For data that tell no label, take those of `alone`, where there is one.
        """
        if self.kind == "squares":
            raise InputError(f"{self.target} is a number: no network speaks of its values")
        target = self.schema[self.predicate]
        heads: tuple[str, ...] = ()
        if self._valued:
            heads = self.classes if self.kind == "classes" else self.classes[1:]
        marked = self.schema.exclusive(target.name)
        return network_text(target, marked, heads, self.start, self.trees)

    def derived_facts(self, database: Database) -> Database:
        """Return the facts of the predicates that `network_text` declares."""
        known = self._with_classes(database)
        schema = parse_mln(self.network_text()).schema
        atoms = possible_atoms(known, self.predicate)
        view = relational([known], self.mapping)
        home = Place(self.row_set, self.column)
        rows = atom_rows(view, home, atoms, self._valued)
        columns = self.columns(view, rows.base)
        names = derived_names(self.trees, self.predicate)
        keys = atoms[:-1] if self._valued else atoms
        passing = {name: t.holds(columns[t.feature])[rows.row] for t, name in names.items()}
        return derived_database(schema, known.domains, passing, keys)

    @classmethod
    def from_plain(cls, plain: object, where: AnyPath = "the model") -> RelationalModel:
        """Return the model that plain content of a file says."""
        with in_file(where):
            file = decode(plain, RelationalFile)
            outputs = outputs_of(file)
            own = part_from_file(file, outputs)
            other = None
            if file.alone is not None:
                with within("alone"):
                    other = part_from_file(file.alone, outputs)
            with within("schema"):
                schema = schema_from_file(file.schema)
            with within("mapping"):
                mapping = None if file.mapping is None else TablesMapping.from_file(file.mapping)
        found = cls(
            file.target,
            file.kind,
            tuple(file.classes),
            timed=file.timed,
            until=file.until,
            schema=schema,
            mapping=mapping,
            row_set=file.row_set,
            column=file.column,
            lagged=file.lagged,
            collective=file.collective,
            **own,
        )
        return found if other is None else replace(found, alone=replace(found, **other))
