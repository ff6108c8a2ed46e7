"""From a network's formulas to a plan, and from a plan to log Z for given domains."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mlnlearn.errors import InputError
from mlnlearn.lifted.circuit import DEFAULT_LIMIT, Circuit, bind
from mlnlearn.lifted.plan import LiftedPlan, NotLiftable, SearchBudget
from mlnlearn.lifted.search import compile_plan
from mlnlearn.lifted.shatter import LiftedBlock, Shatterer
from mlnlearn.lifted.sizes import ONE
from mlnlearn.logic.atoms import Atom, Comparison, Predicate, Variable
from mlnlearn.logic.constants import constants_of
from mlnlearn.logic.formulas import And, Exists, Formula, Implies
from mlnlearn.logic.schema import Schema


@dataclass(frozen=True, slots=True)
class LiftedModel:
    """Formulas compiled to a plan, for any weights and any domain sizes.

    Attributes
    ----------
    plan
        The plan.
    blocks
        What the plan's symbols are the sizes of.
    features
        Number of soft formulas.
    """

    plan: LiftedPlan
    blocks: tuple[LiftedBlock, ...]
    features: int

    def bind(self, sizes: Sequence[Mapping[str, int]], *, limit: int = DEFAULT_LIMIT) -> Circuit:
        """Return the circuit for several databases, given the sizes of their types.

        A type's constants that the formulas name are not counted among its other objects.
        """
        table = np.array([[self._size(block, known) for known in sizes] for block in self.blocks])
        columns = table.reshape(len(self.blocks), len(sizes)).astype(np.float64)
        return bind(self.plan, columns, self.features, limit=limit)

    def _size(self, block: LiftedBlock, sizes: Mapping[str, int]) -> int:
        if block.constant is not None:
            return 1
        named = [b.constant for b in self.blocks if b.kind == block.kind and b.constant is not None]
        if len(named) > sizes[block.kind]:
            raise InputError(
                f"the rules name {len(named)} constants of type {block.kind!r} "
                f"({', '.join(named)}), more than its {sizes[block.kind]} objects",
                hint="count the constants that rules name among the objects of their type",
            )
        return sizes[block.kind] - len(named)


def compile_formulas(
    predicates: Iterable[Predicate],
    soft: Sequence[Formula],
    hard: Sequence[Formula] = (),
    *,
    constants: Iterable[tuple[str, str]] = (),
    sizes: Mapping[str, int] | None = None,
    max_axes: int | None = None,
    budget: SearchBudget | None = None,
) -> LiftedModel:
    """Compile formulas over whole types.

    Parameters
    ----------
    predicates
        All predicates whose atoms make up a world.
    soft
        The features, in the order of the weights.
    hard
        Formulas that every world satisfies.
    constants
        Objects with a role of their own, as (type, name); formulas may name only these. A constant
        named by a formula but not listed is taken as no object at all: atoms with it are false.
    sizes
        Typical domain sizes, to choose between plans.
    max_axes
        Most nested counting sums.
    budget
        How much work may be spent in search of a plan.

    Raises
    ------
    NotLiftable
        Where no plan is found; the message lists the formulas that stop it.

    Examples
    --------
    >>> schema = Schema.of("smokes(person)", "friends(person,person)")
    >>> smokes, friends = schema["smokes"], schema["friends"]
    >>> rule = Implies(And((smokes("x"), friends("x", "y"))), smokes("y"))
    >>> model = compile_formulas(schema.predicates, [smokes("x"), friends("x", "y"), rule])
    >>> values, _ = model.bind([{"person": 10}]).evaluate(np.array([1.4, 0.3, 1.1]))
    >>> print(f"{values[0]:.7f}")
    209.4681189
    """
    declared = tuple(predicates)
    blocks = blocks_of(declared, [*soft, *hard], constants)
    allowed = budget or SearchBudget()
    hints = {n: float(sizes[b.kind]) for n, b in enumerate(blocks) if sizes and b.kind in sizes}
    try:
        work = Shatterer(blocks, budget=allowed)
        for predicate in declared:
            work.declare(predicate)
        for number, formula in enumerate(soft):
            work.soft(formula, {number: ONE})
        for formula in hard:
            work.hard(formula)
        plan = compile_plan(work.finish(), sizes=hints, max_axes=max_axes, budget=allowed)
    except NotLiftable as problem:
        raise _named(problem, soft, hard) from None
    return LiftedModel(plan, blocks, len(soft))


def _named(problem: NotLiftable, soft: Sequence[Formula], hard: Sequence[Formula]) -> NotLiftable:
    """Say which formulas stop lifted inference, where it is known."""
    numbers = sorted(problem.rules)
    texts = [str(soft[number]) for number in numbers] + [f"{f}." for f in hard if numbers]
    return type(problem)(
        ": ".join([problem.message, *(["; ".join(texts)] if texts else [])]),
        problem.rules,
        hint=problem.hint
        or "formulas with at most two variables can always be lifted; or use another method",
    )


def blocks_of(
    predicates: Iterable[Predicate],
    formulas: Iterable[Formula],
    constants: Iterable[tuple[str, str]],
) -> tuple[LiftedBlock, ...]:
    """Return a block for the objects of each type, and one for each named constant."""
    kinds = dict.fromkeys(kind for predicate in predicates for kind in predicate.types)
    named = {pair for formula in formulas for pair in constants_of(formula)} & set(constants)
    return (
        *(LiftedBlock(kind) for kind in kinds),
        *(LiftedBlock(kind, name) for kind, name in sorted(named)),
    )


def exactly_one(schema: Schema) -> list[Formula]:
    """Return the hard formulas that ``!`` markers stand for.

    Examples
    --------
    >>> for formula in exactly_one(Schema.of("phase(person,level!)")):
    ...     print(formula)
    EXIST y1 phase(x0,y1)
    phase(x0,x1) ^ phase(x0,y1) => x1 = y1
    """
    formulas: list[Formula] = []
    for name, marked in schema.functional.items():
        predicate = schema[name]
        first = [Variable(f"x{i}") for i in range(predicate.arity)]
        other = [Variable(f"y{i}") if i in marked else v for i, v in enumerate(first)]
        one, two = Atom(predicate, tuple(first)), Atom(predicate, tuple(other))
        formulas.append(Exists(tuple(other[i] for i in marked), two))
        for place in marked:
            same = Comparison("=", first[place], other[place])
            formulas.append(Implies(And((one, two)), same))
    return formulas
