"""What a net of all columns says of the rows of one table, and why: by the atoms they stand for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.relational import relational
from mlnlearn.data.database import Database
from mlnlearn.data.load.data import Data
from mlnlearn.data.load.task_data import TaskData
from mlnlearn.errors import InputError
from mlnlearn.evaluate.held_out import answers_for, predicate_of
from mlnlearn.evaluate.held_out_data import keys_of, withheld
from mlnlearn.evaluate.rows import RowAnswers, asked_rows, named_answers, row_names, rows_named
from mlnlearn.logic.atoms import Atom, Constant, Predicate
from mlnlearn.model.bayesnet_nodes import ABSENT
from mlnlearn.model.explanation import Explanation
from mlnlearn.structure.join_bayes.model import JoinBayesModel


def net_rows(
    model: JoinBayesModel, read: TaskData, target: str, *, only_empty: bool = False
) -> RowAnswers:
    """Return what a net says of a column, in the order of its table.

    Parameters
    ----------
    model
        The net.
    read
        Tables as those it was learned from.
    target
        The column.
    only_empty
        Whether to answer only for rows whose value is not known.
    """
    data = read.data
    view = relational(data.databases, data.mapping)
    examples = examples_of(view, find_place(view, target))
    asked = asked_rows(examples, only_empty)
    hidden = withheld(data, view, examples, asked)
    values = answers_for(model, hidden, view, examples, asked)
    answers = named_answers(view, examples, asked, values, examples.classes, target)
    return answers.in_order_of(read.keys_of(examples.home.row_set))


def explain_net(model: JoinBayesModel, data: Data, target: str, name: str) -> Explanation:
    """Say why of a row's most probable value of a column, of its flag, or of any atom.

    Of a row, as when it is asked for: no row's value of the column is known.

    Parameters
    ----------
    model
        The net.
    data
        Tables as those it was learned from, of one database.
    target
        The column.
    name
        The key of a row, else an atom.
    """
    view = relational(data.databases, data.mapping)
    home = find_place(view, target)
    if home.column is None:  # whether a link is there is asked of all that could be: by atoms
        return model.explain(data.databases[0], name)
    examples = examples_of(view, home)
    names = row_names(view, examples.base)
    if "(" in name and name not in names:
        return model.explain(data.databases[0], name)
    (row,) = rows_named(names, [name], home.row_set)
    every_row = np.ones(len(names), np.bool_)
    (database,) = withheld(data, view, examples, every_row).databases
    column = database.schema[predicate_of(data, target)]
    codes = keys_of(data, database, view, examples, 0)[:, row].tolist()
    kinds = column.types[: len(codes)]
    key = [database.domains[kind][code] for kind, code in zip(kinds, codes, strict=True)]
    if len(key) == column.arity:
        return model.explain(database, _atom(column, key))
    return _of_best(model, database, column, key)


def _of_best(
    model: JoinBayesModel, database: Database, column: Predicate, key: Sequence[str]
) -> Explanation:
    """Explain the most probable of the values of a column: the one that no other beats."""
    known = [node.values for node in model.net.nodes if node.predicate == column and node.main]
    values = [value for own in known for value in own if value != ABSENT]
    if not values:
        raise InputError(f"the net says nothing of {column}")
    # where all values are asked for, none needs to be in the data
    database = database.extended({column.types[-1]: values})
    found = model.explain(database, _atom(column, [*key, values[0]]))
    if found.log_odds >= 0 or found.against is None:
        return found
    return model.explain(database, found.against)


def _atom(predicate: Predicate, names: Sequence[str]) -> Atom:
    return Atom(predicate, tuple(Constant(name) for name in names))
