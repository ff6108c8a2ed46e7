"""Tiny random worlds, and counts by brute force, to hold the library against.

All randomness comes from the generator passed in. Constants of a type ``t0`` are ``T0_0 … T0_3``;
variables of it are ``t0_0, t0_1, …``, so that a variable's type can be read from its name.
"""

from itertools import product

from mlnlearn.counting.query import Query
from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Atom, Constant, Literal, Variable
from mlnlearn.logic.clauses import Clause, clause
from mlnlearn.logic.schema import Schema

CONSTANTS_PER_TYPE = 4


def random_schema(rng, types=3, predicates=4, arity=3):
    """Up to so many types, predicates and argument places."""
    kinds = [f"t{i}" for i in range(rng.integers(1, types + 1))]
    declarations = []
    for number in range(rng.integers(1, predicates + 1)):
        arguments = rng.choice(kinds, rng.integers(0, arity + 1))
        declarations.append(f"p{number}({','.join(arguments)})")
    return Schema.of(*declarations)


def constant_names(kind):
    """All names of a type; a database has some of them."""
    return [f"{kind.upper()}_{i}" for i in range(CONSTANTS_PER_TYPE)]


def random_database(rng, schema, name=""):
    """A random part of each type's constants, in random order, and random facts over them."""
    domains = {
        kind: rng.permutation(constant_names(kind))[: rng.choice([0, 1, 2, 3, 3, 4, 4, 4])]
        for kind in schema.types
    }
    true = {}
    for predicate in schema.predicates:
        density = rng.choice([0.0, 0.3, 0.5, 0.7, 0.9])
        atoms = product(*(domains[kind].tolist() for kind in predicate.types))
        true[predicate.name] = [atom for atom in atoms if rng.random() < density]
    domains = {kind: names.tolist() for kind, names in domains.items()}
    return Database.from_facts(schema, true, domains=domains, name=name)


def random_database_list(rng, schema=None, most=3):
    """One to `most` databases of one schema, each with domains of its own."""
    schema = random_schema(rng) if schema is None else schema
    return [random_database(rng, schema, f"db{i}") for i in range(rng.integers(1, most + 1))]


def random_atom(rng, schema, variables=3, constants=0.15):
    """A random atom: per argument one of few variables of the type or, at times, a constant."""
    predicate = schema.predicates[rng.integers(len(schema.predicates))]
    terms = []
    for kind in predicate.types:
        if rng.random() < constants:
            name = "Nowhere" if rng.random() < 0.1 else str(rng.choice(constant_names(kind)))
            terms.append(Constant(name))
        else:
            terms.append(Variable(f"{kind}_{rng.integers(variables)}"))
    return predicate(*terms)


def random_atoms(rng, schema, most=4, repeats=3, variables=5, **options):
    """Distinct atoms: no predicate over `repeats` times, at most so many variables in all."""
    atoms = []
    wanted = rng.integers(1, most + 1)
    for _ in range(10 * wanted):
        atom = random_atom(rng, schema, **options)
        uses = sum(other.predicate == atom.predicate for other in atoms)
        if (
            atom not in atoms
            and uses < repeats
            and len(variables_of([*atoms, atom])) <= variables
            and len(atoms) < wanted
        ):
            atoms.append(atom)
    return tuple(atoms)


def random_query(rng, stack, **options):
    """Random atoms over the stack's schema, and a random choice of group variables."""
    atoms = random_atoms(rng, stack.schema, **options)
    found = variables_of(atoms)
    chosen = rng.permutation(len(found))[: rng.integers(0, len(found) + 1)]
    return Query(atoms, tuple(found[i] for i in chosen))


def random_clause(rng, schema, **options) -> Clause:
    """A clause of random literals."""
    atoms = random_atoms(rng, schema, **options)
    return clause(*(Literal(atom, bool(rng.random() < 0.5)) for atom in atoms))


def variables_of(atoms):
    """The distinct variables, in order of first occurrence."""
    return tuple(dict.fromkeys(t for atom in atoms for t in atom.terms if isinstance(t, Variable)))


def groundings(database, atoms):
    """Yield every assignment of a database's constants to the variables of some atoms."""
    types = {
        term: kind
        for atom in atoms
        for term, kind in zip(atom.terms, atom.predicate.types, strict=True)
    }
    found = variables_of(atoms)
    for names in product(*(database.domains[types[variable]].names for variable in found)):
        yield dict(zip(found, names, strict=True))


def grounded(atom: Atom, assignment):
    """The constant names of an atom under an assignment."""
    return tuple(
        term.name if isinstance(term, Constant) else assignment[term] for term in atom.terms
    )


def true_facts(database):
    """The true facts of each predicate, as sets of tuples of names."""
    return {p.name: set(database.rows(p.name)) for p in database.schema.predicates}


def brute_table(databases, atoms, group=()):
    """Count groundings that make all atoms true: ``{(database, *group names): count}``."""
    counts = {}
    for number, database in enumerate(databases):
        facts = true_facts(database)
        for assignment in groundings(database, atoms):
            if all(grounded(atom, assignment) in facts[atom.predicate.name] for atom in atoms):
                key = (number, *(assignment[variable] for variable in group))
                counts[key] = counts.get(key, 0) + 1
    return counts


def named_table(stack, query, table):
    """An engine's table in the form of `brute_table`; fails where a row comes twice."""
    types = query.types()
    assert table.variables == query.group
    names = [
        [stack.vocabularies[types[variable]][code] for code in column.tolist()]
        for variable, column in zip(table.variables, table.columns, strict=True)
    ]
    rows = list(zip(table.database.tolist(), *names, strict=True))
    assert len(set(rows)) == len(rows)
    return dict(zip(rows, table.counts.tolist(), strict=True))
