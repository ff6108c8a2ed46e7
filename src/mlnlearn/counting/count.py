"""True groundings of formulas: in total, by variables, or for a table of examples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mlnlearn.counting.arrays import (
    AnyInts,
    Codes,
    Ints,
    common_keys,
    group_sums,
    overflow,
    places_among,
    sort_keys,
    times,
)
from mlnlearn.counting.prepare import Prepared, Summand, member_atom, prepare
from mlnlearn.counting.query import CountTable, Engine, Query, count_table
from mlnlearn.counting.sparse import merging_bytes
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Constant, Variable
from mlnlearn.logic.formulas import Formula


def prepared(engine: Engine, formula: Formula) -> Prepared:
    """Expand a formula for counting with an engine."""

    def existing(body: Formula, free: Sequence[Variable]) -> tuple[Codes, Sequence[Codes]]:
        table = count_by(engine, body, free)
        return table.database, table.columns

    with engine.holding(formula) as take:
        return prepare(engine.stack, formula, existing, take)


def groundings(engine: Engine, formula: Formula) -> list[int]:
    """Return the number of groundings of a formula in each database, true or not.

    Parameters
    ----------
    engine
        What counts: see `MemoryEngine` and `DuckEngine`.
    formula
        The formula: ``parse_formula(text, schema).formula``.
    """
    form = prepared(engine, formula)
    return engine.stack.ground_atoms(form.types.values())


def true_groundings(engine: Engine, formula: Formula) -> list[int]:
    """Return the number of true groundings of a formula in each database.

    Parameters
    ----------
    engine
        What counts: see `MemoryEngine` and `DuckEngine`.
    formula
        The formula: ``parse_formula(text, schema).formula``.

    Examples
    --------
    >>> from mlnlearn.counting.memory import MemoryEngine
    >>> from mlnlearn.data.database import Database
    >>> from mlnlearn.logic.formulas import Implies
    >>> from mlnlearn.logic.schema import Schema
    >>> schema = Schema.of("friends(person,person)", "smokes(person)")
    >>> facts = {"friends": [("Anna", "Bob"), ("Bob", "Anna")], "smokes": [("Anna",)]}
    >>> engine = MemoryEngine([Database.from_facts(schema, facts)])
    >>> friends, smokes = schema["friends"], schema["smokes"]
    >>> true_groundings(engine, Implies(friends("x", "y"), smokes("y")))
    [3]
    """
    form = prepared(engine, formula)
    totals = [0] * len(engine.stack)
    engine.ahead([Query(summand.atoms) for summand in form.summands])
    for summand in form.summands:
        counts = engine.table(Query(summand.atoms)).per_database(len(totals))
        multiples = engine.stack.ground_atoms(form.types[v] for v in summand.free)
        for number, (count, multiple) in enumerate(zip(counts, multiples, strict=True)):
            totals[number] += summand.coefficient * count * multiple
    for total in totals:
        if total >= 2**63:
            raise overflow(float(total))
    return totals


def count_by(
    engine: Engine,
    formula: Formula,
    by: Sequence[Variable],
) -> CountTable:
    """Count true groundings for each value of some free variables; zeros are left out.

    Parameters
    ----------
    engine
        The engine with its databases.
    formula
        Any formula.
    by
        Free variables of the formula, in the order of the answer's columns.
    """
    form = prepared(engine, formula)
    missing = [str(variable) for variable in by if variable not in form.types]
    if missing:
        raise InputError(f"{', '.join(missing)} is not a free variable of {formula}")
    with engine.holding(formula) as take:
        engine.ahead([_query(engine, form, summand, by) for summand in form.summands])
        tables = []
        for summand in form.summands:
            tables.append(_grouped(engine, form, summand, by))
            take(tables[-1].nbytes, len(tables[-1]))
        rows = sum(map(len, tables))
        take(rows * merging_bytes(1 + len(by)), rows)
        sizes = engine.stack.key_sizes(form.types[variable] for variable in by)
        return _added(tables, by, sizes)


def _added(
    tables: Sequence[CountTable], by: Sequence[Variable], sizes: Sequence[int]
) -> CountTable:
    if not tables:
        none = np.empty(0, np.int64)
        return count_table(by, none, [none] * len(by), none)
    rows = [np.concatenate([table.database for table in tables])]
    rows += [np.concatenate(parts) for parts in zip(*(t.columns for t in tables), strict=True)]
    (database, *columns), counts = group_sums(
        rows, sizes, np.concatenate([table.counts for table in tables])
    )
    keep = np.flatnonzero(counts)
    return count_table(by, database[keep], [column[keep] for column in columns], counts[keep])


def _query(engine: Engine, form: Prepared, summand: Summand, by: Sequence[Variable]) -> Query:
    """Return what is asked to count one summand by `by`."""
    values = [summand.values[variable] for variable in by]
    members = [
        member_atom(engine.stack, form.types[variable], variable)
        for variable in dict.fromkeys(values)
        if variable in summand.free and isinstance(variable, Variable)
    ]
    group = tuple(dict.fromkeys(value for value in values if isinstance(value, Variable)))
    return Query((*summand.atoms, *members), group)


def _grouped(
    engine: Engine,
    form: Prepared,
    summand: Summand,
    by: Sequence[Variable],
) -> CountTable:
    """Count one summand by `by`, each of whose variables may stand for another or a constant."""
    query = _query(engine, form, summand, by)
    table = engine.table(query)
    values = [summand.values[variable] for variable in by]
    free = [variable for variable in summand.free if variable not in query.group]
    multiples = domain_multiples(engine, [form.types[variable] for variable in free])
    counts = times(table.counts, multiples[table.database]) * summand.coefficient
    columns = []
    for variable, value in zip(by, values, strict=True):
        if isinstance(value, Constant):
            code = engine.stack.code(form.types[variable], value.name)
            columns.append(np.full(len(table), code, np.int32))
        else:
            columns.append(table.column(value))
    return count_table(by, table.database, columns, counts)


def domain_multiples(engine: Engine, types: Sequence[str]) -> Ints:
    """Return, per database, the product of the domain sizes of the given types."""
    totals = engine.stack.ground_atoms(types)
    if max(totals) >= 2**63:
        raise overflow(float(max(totals)))
    return np.array(totals, np.int64)


def lookup(
    engine: Engine,
    table: CountTable,
    types: Sequence[str],
    database: AnyInts,
    columns: Sequence[AnyInts],
) -> Ints:
    """Return the count of each given row, zero where the table has none."""
    if not len(table):
        return np.zeros(len(database), np.int64)
    wanted, keys = common_keys(
        [database, *columns], [table.database, *table.columns], engine.stack.key_sizes(types)
    )
    order, ordered = sort_keys(keys)
    places = places_among(ordered, wanted)
    return np.where(places >= 0, table.counts[order[places]], 0)
