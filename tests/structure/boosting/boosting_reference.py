"""A slow, obvious reference for boosting: counts by enumeration, errors by the book."""

from itertools import product

from mlnlearn.counting.pattern import EQUALS, Pattern, equality
from mlnlearn.data.database import Database
from mlnlearn.logic.schema import Schema
from mlnlearn.model.boosted.rules import ClauseList, HornClause, Leaf, Split, Tree
from worlds import true_facts


def small_world(rng, databases=2):
    """A random schema with two targets, and random databases that share the value type only."""
    schema = Schema.of(
        "goal(thing,thing)",
        "aim(thing)",
        "link(thing,thing)",
        "part(thing,item)",
        "colour(thing,shade)",
        "three(item,thing,shade)",
        "big(item)",
        "weather()",
    )
    return [_database(rng, schema, number) for number in range(databases)]


def _database(rng, schema, number):
    domains = {
        "thing": [f"T{number}_{i}" for i in range(rng.integers(2, 5))],
        "item": [f"I{number}_{i}" for i in range(rng.integers(1, 4))],
        "shade": ["Red", "Green", "Blue"][: rng.integers(2, 4)],
    }
    facts = {}
    for predicate in schema.predicates:
        share = rng.choice([0.2, 0.4, 0.6])
        atoms = product(*(domains[kind] for kind in predicate.types))
        facts[predicate.name] = [atom for atom in atoms if rng.random() < share]
    return Database.from_facts(schema, facts, domains=domains, name=f"db{number}")


def count(database, facts, body, names):
    """Groundings of a body's further variables, given the names of the head's arguments."""
    kinds = {}
    for pattern in body:
        for term, kind in zip(pattern.terms, pattern.predicate.types, strict=True):
            if isinstance(term, int) and term >= len(names):
                kinds.setdefault(term, kind)
    total = 0
    for values in product(*(database.domains[kinds[number]].names for number in sorted(kinds))):
        known = dict(enumerate(names)) | dict(zip(sorted(kinds), values, strict=True))
        total += all(holds(pattern, known, facts) for pattern in body)
    return total


def holds(pattern, known, facts):
    """Truth of a pattern under names for its variables."""
    terms = tuple(known[term] if isinstance(term, int) else term for term in pattern.terms)
    if pattern.predicate.name == EQUALS:
        return terms[0] == terms[1]
    return terms in facts[pattern.predicate.name]


class Reference:
    """Examples with names, and everything computed for one of them at a time."""

    def __init__(self, databases, examples, existential):
        self.databases = databases
        self.facts = [true_facts(database) for database in databases]
        self.names = list(examples.rows(databases))
        self.database = examples.database.tolist()
        self.existential = existential

    def groundings(self, body, number):
        which = self.database[number]
        found = count(self.databases[which], self.facts[which], body, self.names[number])
        return min(found, 1) if self.existential else found

    def split_error(self, body, test, members, gradient, weight):
        """Squared error of a split, and the two weights, by the formulas of the paper."""
        error, weights = 0.0, []
        groups = ([], [])
        for number in members:
            inside = self.groundings(body + test, number)
            if inside:
                groups[0].append((number, inside))
            else:
                groups[1].append((number, self.groundings(body, number)))
        for group in groups:
            top = sum(weight[i] * gradient[i] * n for i, n in group)
            bottom = sum(weight[i] * n * n for i, n in group)
            best = top / bottom if bottom else 0.0
            weights.append(best)
            error += sum(weight[i] * (n * best - gradient[i]) ** 2 for i, n in group)
        return error, weights, [len(group) for group in groups]

    def clause_error(self, body, members, gradient, weight):
        """Squared error of a clause, and its weight."""
        counts = {number: self.groundings(body, number) for number in members}
        top = sum(weight[i] * gradient[i] * n for i, n in counts.items())
        bottom = sum(weight[i] * n * n for i, n in counts.items())
        best = top / bottom if bottom else 0.0
        error = sum(weight[i] * (n * best - gradient[i]) ** 2 for i, n in counts.items())
        return error, best, sum(n > 0 for n in counts.values())

    def route(self, node, number, body=()):
        """Return the value, the groundings and the path of the leaf that an example reaches."""
        if isinstance(node, Leaf):
            return node.value, self.groundings(body, number), body
        if self.groundings(body + node.test, number):
            return self.route(node.yes, number, body + node.test)
        return self.route(node.no, number, body)


def random_pattern(rng, schema, types, predicates):
    """A random literal that shares a variable with those there are; and the new types."""
    kind = types[rng.integers(len(types))]
    if rng.random() < 0.1 and types.count(kind) > 1:
        chosen = rng.choice([i for i, other in enumerate(types) if other == kind], 2, replace=False)
        return Pattern(equality(kind), tuple(int(i) for i in chosen)), types
    while True:
        predicate = schema[str(rng.choice(predicates))]
        terms, after = [], list(types)
        for place in predicate.types:
            known = [i for i, other in enumerate(types) if other == place]
            roll = rng.random()
            if known and roll < 0.6:
                terms.append(int(rng.choice(known)))
            elif place == "shade" and roll < 0.8:
                terms.append(str(rng.choice(["Red", "Green", "Violet"])))
            else:
                terms.append(len(after))
                after.append(place)
        if any(isinstance(term, int) and term < len(types) for term in terms) or not terms:
            return Pattern(predicate, tuple(terms)), tuple(after)


def random_body(rng, schema, types, predicates, most=2):
    """A random conjunction; and the types of all variables."""
    body = []
    for _ in range(rng.integers(1, most + 1)):
        pattern, types = random_pattern(rng, schema, tuple(types), predicates)
        body.append(pattern)
    return tuple(body), tuple(types)


def random_tree(rng, schema, types, predicates, depth=3):
    """A random tree."""

    def node(known, left):
        if not left or rng.random() < 0.25:
            return Leaf(float(rng.normal()))
        test, after = random_body(rng, schema, known, predicates)
        return Split(test, node(after, left - 1), node(known, left - 1))

    return Tree(node(tuple(types), depth))


def random_clauses(rng, schema, types, predicates, number=3):
    """A random list of clauses."""
    return ClauseList(
        tuple(
            HornClause(random_body(rng, schema, types, predicates, 3)[0], float(rng.normal()))
            for _ in range(number)
        )
    )


def as_arrays(rng, size):
    """Random gradients and weights."""
    return rng.normal(size=size), rng.choice([0.5, 1.0, 3.0], size)
