"""Plans in words: how a formula is counted, before it is."""

from __future__ import annotations

from mlnlearn.counting.count import prepared
from mlnlearn.counting.query import Engine, Query
from mlnlearn.logic.formulas import Formula


def explain_plan(engine: Engine, formula: Formula) -> str:
    """Say how the true groundings of a formula are counted, with the rows and bytes expected.

    A formula is a sum of products of atoms; each product is counted by a plan of its own. Tables
    are named in order, those read first.

    Parameters
    ----------
    engine
        What would count: see `MemoryEngine` and `DuckEngine`.
    formula
        The formula: ``parse_formula(text, schema).formula``.

    Examples
    --------
    >>> import mlnlearn as ml
    >>> schema = ml.Schema.of("friends(person,person)", "smokes(person)")
    >>> facts = {"friends": [("Anna", "Bob"), ("Carl", "Bob")], "smokes": [("Bob",)]}
    >>> engine = ml.MemoryEngine([ml.Database.from_facts(schema, facts)])
    >>> rule = ml.parse_formula("friends(x,y) ^ smokes(y)", schema)
    >>> print(explain_plan(engine, rule.formula))
    1 times the count of friends(x,y) ^ smokes(y)
      t0  friends(x,y)     by x,y       2 rows, 40 bytes
      t1  smokes(y)        by y         1 rows, 16 bytes
      t2  t0               by y         1 rows, 16 bytes
      t3  t1 joined to t2  by database  1 rows, 12 bytes
    """
    parts = []
    for summand in prepared(engine, formula).summands:
        query = Query(summand.atoms)
        times = " ".join([f"{summand.coefficient} times the", str(query)])
        free = [f"all {variable}" for variable in summand.free]
        lines = _steps(engine, query) if query.atoms else []
        parts += [" and ".join([times, *free]), *lines]
    return "\n".join(parts)


def _steps(engine: Engine, query: Query) -> list[str]:
    plan = engine.plan(query)
    lines = [(str(atom), size) for atom, size in zip(query.atoms, plan.tables, strict=True)]
    for step in plan.steps:
        lines.append((" joined to ".join(f"t{number}" for number in step.inputs), step.size))
    width = max(len(text) for text, _ in lines)
    keys = [",".join(map(str, size.distinct)) or "database" for _, size in lines]
    key_width = max(map(len, keys))
    return [
        f"  t{number}  {text:<{width}}  by {key:<{key_width}}  "
        f"{size.rows:,.0f} rows, {size.nbytes:,.0f} bytes"
        for number, ((text, size), key) in enumerate(zip(lines, keys, strict=True))
    ]
