"""What weight learning asks of its data: the rules' constants, all atoms known, hard rules kept."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from mlnlearn.counting.count import groundings, true_groundings
from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.query import Engine
from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.formulas import Formula
from mlnlearn.model.domains import with_constants_of
from mlnlearn.model.mln import MLN


def engine_of(mln: MLN, data: Sequence[Database] | Engine) -> Engine:
    """Return an engine over databases that have all constants that the rules name.

    An engine is taken as it is, and refused where constants are missing.

    Examples
    --------
    >>> mln = MLN.parse("smokes(person)")
    >>> db = Database.from_facts(mln.schema, {"smokes": [("Anna",)]})
    >>> engine_of(mln, [db]).stack.size("person")
    1
    """
    if isinstance(data, Sequence):
        return open_engine(with_constants_of(mln, data))
    given = data.stack.databases
    if any(new is not old for new, old in zip(with_constants_of(mln, given), given, strict=True)):
        raise InputError(
            "the rules name constants that the engine's databases do not have",
            hint="give the databases themselves, or an engine of "
            "mlnlearn.with_constants_of(mln, databases)",
        )
    return data


def refuse_unknown(
    databases: Iterable[Database], predicates: Collection[str] | None = None
) -> None:
    """Refuse databases with unknown atoms: to take them as false would be to guess.

    Parameters
    ----------
    databases
        The databases.
    predicates
        The predicates that matter; by default all.

    Examples
    --------
    >>> from mlnlearn.logic.schema import Schema
    >>> db = Database.from_facts(Schema.of("rain"), {}, unknown={"rain": [()]}, name="may.db")
    >>> refuse_unknown([db])
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: may.db has unknown atoms of rain
      hint: learn with EM, which sums them out (learn_em, --method em), or take them as false with \
Database.closed()
    """
    for database in databases:
        names = [n for n in database.incomplete if predicates is None or n in predicates]
        if names:
            raise InputError(
                f"{database.name or 'a database'} has unknown atoms of {', '.join(names)}",
                hint="learn with EM, which sums them out (learn_em, --method em), or take them as "
                "false with Database.closed()",
            )


def refuse_violations(engine: Engine, hard: Iterable[Formula]) -> None:
    """Refuse data that break a hard formula: their likelihood is zero whatever the weights.

    Examples
    --------
    >>> schema = MLN.parse("smokes(person)").schema
    >>> db = Database.from_facts(schema, {}, domains={"person": ["Anna"]})
    >>> refuse_violations(open_engine([db]), [schema["smokes"]("x")])
    Traceback (most recent call last):
    ...
    mlnlearn.errors.InputError: the data violate a hard formula, so their likelihood is zero: \
smokes(x)
      hint: give it a weight instead of a full stop, strip the '!' markers with \
Schema.without_functional(), or mend the data
    """
    for formula in hard:
        if true_groundings(engine, formula) != groundings(engine, formula):
            raise InputError(
                f"the data violate a hard formula, so their likelihood is zero: {formula}",
                hint="give it a weight instead of a full stop, strip the '!' markers with "
                "Schema.without_functional(), or mend the data",
            )
