import math
from itertools import product

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.infer import explain as explain_module
from mlnlearn.infer.explain import explain
from mlnlearn.infer.query import query
from mlnlearn.logic.formulas import Rule
from mlnlearn.logic.schema import Schema
from mlnlearn.model.explanation import codes_of, with_unknown
from mlnlearn.model.mln import MLN
from reference import true_count
from worlds import random_clause, random_database, random_schema

FRIENDS = MLN.parse("""
smokes(person)
friends(person,person)
-1 smokes(x)
1.5 friends(x,y) ^ smokes(x) => smokes(y)
""")


def random_case(seed):
    """A random model, a database and one of its ground atoms, or None where it has no atoms."""
    rng = np.random.default_rng(seed)
    schema = random_schema(rng, types=2, predicates=3, arity=2)
    rules = tuple(
        Rule(random_clause(rng, schema, most=3, variables=3, constants=0.0).formula, rng.normal())
        for _ in range(3)
    )
    database = random_database(rng, schema)
    sizes = {p: [database.size(kind) for kind in p.types] for p in schema.predicates}
    possible = [p for p in schema.predicates if all(sizes[p])]
    if not possible:
        return None
    predicate = possible[rng.integers(len(possible))]
    chosen = [rng.integers(size) for size in sizes[predicate]]
    names = [database.domains[k].names[c] for k, c in zip(predicate.types, chosen, strict=True)]
    return MLN(schema, rules), database, predicate(*names)


def closed(database):
    return [predicate.name for predicate in database.schema.predicates]


CASES = [case for case in map(random_case, range(60)) if case]


@pytest.mark.parametrize("case", CASES[:40])
def test_joins_and_grounding_explain_alike(case, monkeypatch):
    mln, database, atom = case
    counted = explain(mln, database, atom, closed=closed(database))
    monkeypatch.setattr(explain_module, "_all_known", lambda *_: False)
    grounded = explain(mln, database, atom, closed=closed(database))
    assert [(c.rule, c.flips) for c in counted.contributions] == [
        (c.rule, c.flips) for c in grounded.contributions
    ]
    assert counted.log_odds == pytest.approx(grounded.log_odds)
    assert counted.probability == pytest.approx(grounded.probability)
    assert grounded.assumed == 0


@pytest.mark.parametrize("case", CASES[:40])
def test_the_probability_is_that_of_the_query(case):
    mln, database, atom = case
    found = explain(mln, database, str(atom), closed=closed(database))
    asked = with_unknown(database, atom.predicate, codes_of(database, atom))
    answers = query(mln, asked, atom.predicate.name, closed=closed(database))
    assert found.probability == pytest.approx(answers[atom].probability, abs=1e-12)
    assert found.log_odds == pytest.approx(sum(c.log_odds for c in found.contributions))
    sizes = [abs(c.log_odds) for c in found.contributions]
    assert sizes == sorted(sizes, reverse=True)


def test_what_the_database_says_of_the_atom_does_not_matter():
    facts = {"friends": [("Anna", "Bob"), ("Bob", "Bob")], "smokes": [("Anna",)]}
    without = Database.from_facts(FRIENDS.schema, facts)
    facts["smokes"].append(("Bob",))
    with_it = Database.from_facts(FRIENDS.schema, facts)
    assert explain(FRIENDS, without, "smokes(Bob)") == explain(FRIENDS, with_it, "smokes(Bob)")


def test_other_unknown_atoms_take_their_most_probable_state():
    facts = {"friends": [("Anna", "Bob"), ("Bob", "Carl")], "smokes": [("Anna",)]}
    database = Database.from_facts(FRIENDS.schema, facts, unknown={"smokes": [("Carl",)]})
    found = explain(FRIENDS, database, "smokes(Bob)")
    # with Bob and Carl both smoking: -1 -1 +3; neither: 0 + 1.5; Bob alone: -1 + 1.5
    assert found.assumed == 1
    # neither is best, so Carl does not smoke: Bob gains Anna's grounding and loses Carl's
    assert [(c.rule, c.flips, c.log_odds) for c in found.contributions] == [
        ("smokes(x)", 1.0, -1.0)
    ]
    assert found.probability == pytest.approx(1 / (1 + math.e))
    assert "1 other unknown atoms" in str(found)


def test_a_value_of_a_block_is_compared_with_the_best_other_value():
    mln = MLN.parse("""
    town(person,place!)
    warm(place)
    0.4 town(x,p) ^ warm(p)
    1 town(x,Oslo)
    0.1 town(x,Bonn)
    """)
    facts = {"warm": [("Rome",)], "town": [("Anna", "Rome")]}
    domains = {"place": ["Rome", "Oslo", "Bonn"]}
    database = Database.from_facts(mln.schema, facts, domains=domains)
    found = explain(mln, database, "town(Anna,Rome)")
    assert str(found.against) == "town(Anna,Oslo)"
    assert found.log_odds == pytest.approx(0.4 - 1.0)
    total = math.exp(0.4) + math.exp(1) + math.exp(0.1)
    assert found.probability == pytest.approx(math.exp(0.4) / total)
    assert found.sentence().startswith("town(Anna,Rome) rather than town(Anna,Oslo)")


def test_a_hard_rule_decides():
    mln = MLN.parse("""
    p(t)
    q(t)
    -2 p(x)
    q(x) => p(x).
    """)
    database = Database.from_facts(mln.schema, {"q": [("A",)]}, domains={"t": ["A", "B"]})
    found = explain(mln, database, "p(A)", closed=["p"])
    assert found.probability == 1.0
    assert found.log_odds == math.inf
    assert found.contributions[0].rule.endswith(".")
    assert explain(mln, database, "p(B)", closed=["p"]).log_odds == -2
    # by grounding, with p open
    assert explain(mln, database, "p(A)").probability == 1.0
    assert explain(mln, database, "q(B)").log_odds == -math.inf


def test_rules_under_a_quantifier_are_explained():
    mln = MLN.parse("""
    parent(person,person)
    happy(person)
    2 happy(x) => EXIST y parent(x,y)
    """)
    facts = {"parent": [("Anna", "Bob")], "happy": [("Anna",), ("Bob",)]}
    database = Database.from_facts(mln.schema, facts)
    assert explain(mln, database, "parent(Bob,Anna)").log_odds == 2
    assert explain(mln, database, "parent(Anna,Anna)").log_odds == 0
    assert explain(mln, database, "happy(Bob)").log_odds == -2


def test_an_atom_that_no_rule_mentions():
    mln = MLN.parse("p(t)\nq(t)\n1 q(x)")
    database = Database.from_facts(mln.schema, {"p": [("A",)], "q": [("A",)]})
    found = explain(mln, database, "p(A)")
    assert (found.probability, found.contributions) == (0.5, ())
    assert "no rule says anything" in found.sentence()


def test_wrong_atoms():
    database = Database.from_facts(FRIENDS.schema, {"smokes": [("Anna",)]})
    with pytest.raises(InputError, match="not a ground atom"):
        explain(FRIENDS, database, "smokes(x)")
    with pytest.raises(InputError, match="no person Zoe"):
        explain(FRIENDS, database, "smokes(Zoe)")
    with pytest.raises(InputError, match="no such predicate"):
        explain(FRIENDS, database, "drinks(Anna)")


def test_the_only_value_of_a_block_is_certain():
    mln = MLN.parse("a = {A0}\np(a,a!)\nq(a)\n1 p(x,y)\n-3 p(x,y) ^ q(x)")
    for facts in ({}, {"p": [("A0", "A0")]}, {"q": [("A0",)]}):
        database = Database.from_facts(mln.schema, facts)
        for closed_names in ([], ["p", "q"]):
            found = explain(mln, database, "p(A0,A0)", closed=closed_names)
            assert (found.probability, found.log_odds) == (1.0, math.inf)
            assert found.contributions[0].rule == "EXIST y2 p(A0,y2)."
    assert query(mln, Database.from_facts(mln.schema, {}), "p")["p(A0,A0)"].probability == 1.0


def test_values_that_evidence_excludes_are_no_rivals():
    mln = MLN.parse("town(person,place!)\n1 town(x,Oslo)\n0.5 town(x,Bonn)")
    places = {"place": ["Rome", "Oslo", "Bonn"], "person": ["Anna"]}
    false = {"town": [("Anna", "Oslo")]}
    database = Database.from_facts(mln.schema, {}, false=false, domains=places)
    found = explain(mln, database, "town(Anna,Rome)")
    assert str(found.against) == "town(Anna,Bonn)"
    answers = query(mln, database, "town")
    assert found.probability == pytest.approx(answers["town(Anna,Rome)"].probability)
    false["town"].append(("Anna", "Bonn"))
    database = Database.from_facts(mln.schema, {}, false=false, domains=places)
    assert explain(mln, database, "town(Anna,Rome)").probability == 1.0


def random_block_case(seed):
    """A random model over a plain predicate and one or two ``!`` places, and a ground atom."""
    rng = np.random.default_rng([14, seed])
    shape = ["b(t0,t1!)", "b(t0!,t1!)", "b(t0,t0!)", "b(t0!)", "b(t1,t0!,t1)"][rng.integers(5)]
    schema = Schema.of(shape, "c(t0)", "d(t0,t1)")
    sizes = {"t0": int(rng.integers(1, 4)), "t1": int(rng.integers(1, 4))}
    domains = {kind: [f"{kind.upper()}_{i}" for i in range(n)] for kind, n in sizes.items()}
    rules = [
        Rule(random_clause(rng, schema, most=3, variables=3, constants=0.0).formula, rng.normal())
        for _ in range(4)
    ]
    block, marked = schema["b"], schema.functional["b"]
    kept = [place for place in range(block.arity) if place not in marked]
    facts = {"b": [], "c": [], "d": []}
    for index in np.ndindex(*(sizes[block.types[place]] for place in kept)):
        value = [int(rng.integers(sizes[kind])) for kind in block.types]
        for place, code in zip(kept, index, strict=True):
            value[place] = code
        row = (domains[k][code] for k, code in zip(block.types, value, strict=True))
        facts["b"].append(tuple(row))
    for name in ("c", "d"):
        rows = product(*(domains[kind] for kind in schema[name].types))
        facts[name] = [row for row in rows if rng.random() < 0.5]
    database = Database.from_facts(schema, facts, domains=domains)
    atom = block(*(str(rng.choice(domains[kind])) for kind in block.types))
    return MLN(schema, tuple(rules)), database, atom


@pytest.mark.parametrize("seed", range(40))
def test_explanations_of_block_values_add_up(seed):
    mln, database, atom = random_block_case(seed)
    found = explain(mln, database, atom, closed=closed(database))
    assert found.log_odds == pytest.approx(sum(c.log_odds for c in found.contributions))
    marked = database.schema.functional["b"]
    names = [term.name for term in atom.terms]
    facts = {(name, row) for name in ("b", "c", "d") for row in database.rows(name)}
    block = {
        ("b", row)
        for row in database.rows("b")
        if all(row[place] == names[place] for place in range(len(row)) if place not in marked)
    }
    choices = [
        database.domains[kind].names if place in marked else [names[place]]
        for place, kind in enumerate(atom.predicate.types)
    ]
    domains = {kind: vocabulary.names for kind, vocabulary in database.domains.items()}
    scores = {}
    for row in product(*choices):
        world = (facts - block) | {("b", row)}
        scores[row] = sum(r.weight * true_count(r.formula, world, domains) for r in mln.rules)
    own = scores.pop(tuple(names))
    total = math.exp(own) + sum(map(math.exp, scores.values()))
    assert found.probability == pytest.approx(math.exp(own) / total)
    expected = own - max(scores.values()) if scores else math.inf
    assert found.log_odds == pytest.approx(expected)
