"""Hypothesis strategies: random schemas, formulas, rules and whole ``.mln`` files."""

from hypothesis import strategies as st

from mlnlearn.logic.atoms import Atom, Comparison, Constant, Predicate, Variable
from mlnlearn.logic.formulas import (
    And,
    EitherSign,
    Exists,
    Forall,
    Iff,
    Implies,
    Not,
    Or,
    Rule,
    free_variables,
    variable_types,
)
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax import MlnFile

TYPES = ["person", "project", "num", "Place", "t-1"]
# Names are shared between types, predicates and variables wherever the language allows it.
PREDICATES = ["smokes", "Friends", "project", "p'", "_q", "x", "vv", "Rain"]
VARIABLES = ["x", "y", "z", "v", "exist", "x_1", "y'", "_a", "é", "person"]

constant_names = st.one_of(
    st.sampled_from(["Anna", "Bob", "1", "-3", "2.5", "anna", "new york", "v", ".5", "+1", "3D"]),
    st.text(max_size=6).map(lambda text: text.encode("utf-8", "ignore").decode()),
)


@st.composite
def schemas(draw):
    """Draw a schema with closed and listed types, ``!`` marks and functions."""
    predicates, functional = [], {}
    for name in draw(st.lists(st.sampled_from(PREDICATES), min_size=1, max_size=5, unique=True)):
        kinds = tuple(draw(st.lists(st.sampled_from(TYPES), max_size=3)))
        function = bool(kinds) and draw(st.booleans())
        predicates.append(Predicate(name, kinds, function))
        places = range(len(kinds))
        marked = [len(kinds) - 1] if function else draw(st.sets(st.sampled_from(places or [0])))
        if kinds and marked:
            functional[name] = tuple(sorted(marked))
    closed = draw(st.lists(st.sampled_from(TYPES), max_size=2, unique=True))
    names = st.lists(constant_names, max_size=4, unique=True)
    declared = {kind: tuple(draw(names)) for kind in closed}
    listed = {}
    if draw(st.booleans()):
        some = st.lists(constant_names, min_size=1, max_size=4, unique=True)
        listed = {kind: tuple(draw(some)) for kind in TYPES[:1] if kind not in closed}
    return Schema(tuple(predicates), declared, functional, listed)


class _Drawer:
    """Draws the parts of one well-typed formula; every variable has its type from the start."""

    def __init__(self, draw, schema):
        self.draw = draw
        self.schema = schema
        self.kinds = list(dict.fromkeys(k for p in schema.predicates for k in p.types))
        names = draw(st.permutations(VARIABLES))
        self.variables = {
            kind: [Variable(n) for n in names[i::5]] for i, kind in enumerate(self.kinds)
        }

    def term(self, kind):
        names = self.schema.declared.get(kind)
        if self.draw(st.integers(0, 3)) == 0 and names != ():
            strategy = constant_names if names is None else st.sampled_from(names)
            return Constant(self.draw(strategy))
        return self.draw(st.sampled_from(self.variables[kind]))

    def atom(self, predicate=None):
        predicate = predicate or self.draw(st.sampled_from(self.schema.predicates))
        return Atom(predicate, tuple(self.term(kind) for kind in predicate.types))

    def comparison(self):
        kind = self.draw(st.sampled_from(self.kinds))
        operator = self.draw(st.sampled_from(["=", "<", ">", "<=", ">="]))
        return Comparison(operator, self.term(kind), self.term(kind))

    def formula(self, depth):
        shape = self.draw(st.integers(0, 9 if depth else 2))
        if shape <= 1 or (shape == 2 and not self.kinds):
            return self.atom()
        if shape == 2:
            return self.comparison()
        if shape == 3:
            return EitherSign(self.atom())
        if shape == 4:
            return Not(self.formula(depth - 1))
        if shape in (5, 6):
            count = self.draw(st.integers(2, 3))
            return (And, Or)[shape - 5](tuple(self.formula(depth - 1) for _ in range(count)))
        if shape in (7, 8):
            return (Implies, Iff)[shape - 7](self.formula(depth - 1), self.formula(depth - 1))
        return self.quantified(self.formula(depth - 1))

    def quantified(self, body):
        free = free_variables(body)
        if not free:
            return body
        bound = self.draw(st.lists(st.sampled_from(free), min_size=1, max_size=3, unique=True))
        return self.draw(st.sampled_from([Exists, Forall]))(tuple(bound), body)

    def typed(self, formula):
        """Give a type to variables that stand in comparisons only, by one more atom each."""
        types = variable_types(formula)
        missing = [v for v in _all_variables(formula) if v not in types]
        parts = [formula]
        for variable in missing:
            kind = next(k for k, names in self.variables.items() if variable in names)
            predicate = next(p for p in self.schema.predicates if kind in p.types)
            atom = self.atom(predicate)
            place = predicate.types.index(kind)
            parts.append(Atom(predicate, (*atom.terms[:place], variable, *atom.terms[place + 1 :])))
        return And(tuple(parts)) if missing else formula


def _all_variables(formula):
    """Variables of the comparisons, bound or free."""
    match formula:
        case Comparison(_, left, right):
            return [t for t in (left, right) if isinstance(t, Variable)]
        case Not(part) | Exists(_, part) | Forall(_, part):
            return _all_variables(part)
        case And(parts) | Or(parts):
            return [v for part in parts for v in _all_variables(part)]
        case Implies(left, right) | Iff(left, right):
            return _all_variables(left) + _all_variables(right)
    return []


@st.composite
def formulas(draw, schema, depth=3):
    """Draw a well-typed formula over the predicates of a schema."""
    drawer = _Drawer(draw, schema)
    return drawer.typed(drawer.formula(depth))


weights = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def rules(draw, schema):
    """Draw a rule: weighted, locked, hard or bare, with ``+`` marks and brackets."""
    formula = draw(formulas(schema))
    weight = draw(st.none() | weights)
    marked = [v for v in free_variables(formula) if draw(st.integers(0, 3)) == 0]
    return Rule(
        formula,
        weight,
        hard=weight is None and draw(st.booleans()),
        locked=weight is not None and draw(st.booleans()),
        per_constant=tuple(marked),
        whole=draw(st.booleans()),
    )


@st.composite
def mln_files(draw):
    """Draw a whole file."""
    schema = draw(schemas())
    return MlnFile(schema, tuple(draw(st.lists(rules(schema), max_size=4))))
