"""Sums over examples by SQL, against groundings that are listed one by one."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting.example_joins import AskedCandidates
from mlnlearn.counting.example_sums import AskedSums, ExampleSums
from mlnlearn.counting.pattern import EQUALS, Pattern
from mlnlearn.counting.spark import SparkEngine
from mlnlearn.errors import CountOverflowError
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema

PEOPLE, TERMS = 4, 2
SCHEMA = Schema.of("ta(person,person,term)", "knows(person,person)", "old(person)", "cold(term)")
HEADS = 2
SAME = Predicate(EQUALS, ("person", "person"))


def random_database(rng):
    def chosen(*kinds):
        sizes = {"P": PEOPLE, "T": TERMS}
        cells = product(*([f"{kind}{n}" for n in range(sizes[kind])] for kind in kinds))
        return [cell for cell in cells if rng.random() < 0.4]

    facts = {"ta": chosen(*"PPT"), "knows": chosen(*"PP"), "old": chosen("P"), "cold": chosen("T")}
    domains = {
        "person": [f"P{n}" for n in range(PEOPLE)],
        "term": [f"T{n}" for n in range(TERMS)],
    }
    return ml.Database.from_facts(SCHEMA, facts, domains=domains), facts


def random_candidates(rng):
    """A conjunction whose variables from 2 on have the type that their number says."""
    body = []
    for _ in range(rng.integers(1, 5)):
        predicate = SCHEMA.predicates[rng.integers(len(SCHEMA.predicates))]
        terms = []
        for kind in predicate.types:
            if rng.random() < 0.15:
                terms.append(f"{kind[0].upper()}{rng.integers(2)}")
            else:  # 0, 1, 2 and 3 are people, 4 and 5 are terms
                terms.append(int(rng.integers(4) if kind == "person" else rng.integers(4, 6)))
        body.append(Pattern(predicate, tuple(terms)))
    slot = int(rng.integers(body[-1].predicate.arity)) if rng.random() < 0.4 else None
    if rng.random() < 0.2:
        body.insert(0, Pattern(SAME, (0, 1)))
    if rng.random() < 0.1:
        body.append(Pattern(SAME, (0, 1)))
        slot = 1 if slot is not None else None
    return AskedCandidates(tuple(body), slot)


def listed(named, example, candidates):
    """How many groundings an example has, by the code of the open place (0 where there is none)."""
    code = {f"P{n}": n for n in range(PEOPLE)} | {f"T{n}": n for n in range(TERMS)}
    facts = {name: {tuple(code[n] for n in row) for row in rows} for name, rows in named.items()}
    facts[EQUALS] = {(n, n) for n in range(PEOPLE)}
    body, slot = candidates.body, candidates.slot
    open_terms = list(body[-1].terms)
    if slot is not None:
        open_terms[slot] = "open"
    literals = [(p.predicate.name, p.terms) for p in body[:-1]]
    literals.append((body[-1].predicate.name, tuple(open_terms)))
    names = sorted(
        {t for _, terms in literals for t in terms if not (isinstance(t, int) and t < HEADS)}
        - code.keys(),
        key=str,
    )
    kinds = {
        term: kind
        for pattern, (_, terms) in zip(body, literals, strict=True)
        for kind, term in zip(pattern.predicate.types, terms, strict=True)
    }
    found = Counter()
    for values in product(*(range(PEOPLE if kinds[n] == "person" else TERMS) for n in names)):
        given = {**code, 0: example[0], 1: example[1], **dict(zip(names, values, strict=True))}
        if all(tuple(given[t] for t in terms) in facts[name] for name, terms in literals):
            found[given.get("open", 0)] += 1
    return dict(found)


def check(engine, facts, rng, number):
    examples = np.array([(0, *pair) for pair in product(range(PEOPLE), repeat=2)], np.int32).T
    examples = np.ascontiguousarray(examples[:, rng.random(PEOPLE**2) < 0.7])
    asked = [random_candidates(rng) for _ in range(number)]
    expected = [[listed(facts, example, one) for example in examples[1:].T] for one in asked]
    sums = ExampleSums(engine)
    for one, by_example in zip(asked, expected, strict=True):
        if one.slot is None:
            counts = [by_slot.get(0, 0) for by_slot in by_example]
            assert sums.groundings(examples, one.body).tolist() == counts
    groups, every = [], np.arange(examples.shape[1])
    for chosen, part in ((every, asked[: number // 2]), (every[::2], asked[number // 2 :])):
        numbers = {name: rng.integers(1, 9, len(chosen)).astype(float) for name in "gwn"}
        groups.append(AskedSums(examples, chosen, numbers, part))
    for existential in (True, False):
        found = sums.sums(groups, existential=existential)
        for group, by_candidate in zip(groups, found, strict=True):
            for one, by_slot in zip(group.asked, by_candidate, strict=True):
                wanted = {}
                for place, who in enumerate(group.chosen):
                    for slot, many in expected[asked.index(one)][who].items():
                        times = 1 if existential else many
                        factors = times, times * times, 1
                        row = wanted.setdefault(slot, [0.0, 0.0, 0.0])
                        for column, factor in enumerate(factors):
                            row[column] += factor * group.numbers["gwn"[column]][place]
                assert by_slot == wanted, one


@pytest.mark.parametrize("seed", range(4))
def test_sums_are_those_of_listed_groundings(seed):
    rng = np.random.default_rng(seed)
    database, facts = random_database(rng)
    with ml.DuckEngine([database], threads=1) as engine:
        check(engine, facts, rng, 40)


def test_sums_on_spark_are_those_of_listed_groundings(spark_master):
    rng = np.random.default_rng(9)
    database, facts = random_database(rng)
    with SparkEngine([database], master=spark_master) as engine:
        check(engine, facts, rng, 20)


def test_literals_that_meet_in_few_values_are_not_joined_pair_by_pair():
    people = 3000  # all in one term: 27 billion groundings
    schema = Schema.of("ta(person,term)")
    facts = {"ta": [(f"P{n}", "Spring") for n in range(people)]}
    database = ml.Database.from_facts(schema, facts)
    ta = schema["ta"]
    body = Pattern(ta, (0, 2)), Pattern(ta, (3, 2)), Pattern(ta, (4, 2))
    examples = np.array([np.zeros(people), np.arange(people), np.arange(people)], np.int32)
    with ml.DuckEngine([database], threads=1) as engine:
        sums = ExampleSums(engine)
        assert sums.groundings(examples, body).tolist() == [people**2] * people


def test_groundings_that_would_be_rounded_are_refused():
    schema = Schema.of("knows(person,person)")
    names = [f"P{n}" for n in range(60)]
    database = ml.Database.from_facts(schema, {"knows": list(product(names, repeat=2))})
    knows = schema["knows"]
    chain = tuple(Pattern(knows, (n, n + 1) if n else (0, 2)) for n in (0, *range(2, 11)))
    examples = np.array([[0], [0], [0]], np.int32)
    asked = [AskedCandidates(chain, None)]
    given = AskedSums(examples, np.arange(1), {"g": np.ones(1), "w": np.ones(1)}, asked)
    with ml.DuckEngine([database], threads=1) as engine:
        sums = ExampleSums(engine)
        with pytest.raises(CountOverflowError, match=r"about 6.05e\+17 groundings"):
            sums.groundings(examples, chain)
        with pytest.raises(CountOverflowError, match="would be rounded"):
            sums.sums([given], existential=False)
        assert sums.sums([given], existential=True) == [[{0: [1.0, 1.0]}]]
