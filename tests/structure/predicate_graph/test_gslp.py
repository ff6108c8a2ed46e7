"""GSLP: planted clauses are found, runs repeat and resume, settings mean what they say."""

from dataclasses import replace

import numpy as np
import pytest

from mlnlearn.data.database import Database
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Literal, Predicate
from mlnlearn.logic.canonical import canonical
from mlnlearn.logic.clauses import as_clause, clause
from mlnlearn.logic.schema import Schema
from mlnlearn.model.mln import MLN
from mlnlearn.run import Run
from mlnlearn.structure.predicate_graph.learn import GSLP
from mlnlearn.structure.search.clauses import are_related, most_alike, predicates_in
from studies.planted_clauses import SHAPES, is_equivalent, planted, recovered

SMALL = GSLP(max_literals=3)


class Stopped(Exception):
    """Raised by a progress report to stop a run."""


@pytest.fixture(scope="module")
def example():
    return planted(np.random.default_rng(2), SHAPES[2], (20, 25, 30))[1]


@pytest.fixture(scope="module")
def learned(example):
    return SMALL.fit(example)


def test_planted_clauses_are_found():
    hits = []
    for shape in SHAPES:
        chosen, databases = planted(np.random.default_rng(0), shape, (40, 50, 60))
        hits.append(recovered(SMALL.fit(databases).model, chosen))
    assert sum(hits) >= 6


def citations(rng, name):
    """Papers cited by several titles: which are of the same paper shows in no part of the rule."""
    works = {f"{name}B{i}": i % 8 for i in range(24)}
    titles = {f"{name}T{i}": i % 8 for i in range(12)}
    own = {work: [t for t, kind in titles.items() if kind == works[work]] for work in works}
    facts = {
        "title": [(work, str(rng.choice(known))) for work, known in own.items()],
        "sameBib": [(b, c) for b in works for c in works if works[b] == works[c]],
        "sameTitle": [(t, u) for t in titles for u in titles if titles[t] == titles[u]],
    }
    schema = Schema.of("title(bib,titleid)", "sameBib(bib,bib)", "sameTitle(titleid,titleid)")
    return Database.from_facts(schema, facts)


def test_loops_find_what_paths_do_not():
    rng = np.random.default_rng(0)
    databases = [citations(rng, name) for name in ("K", "L", "M")]
    title, bib, same = (databases[0].schema[n] for n in ("title", "sameBib", "sameTitle"))
    body = [~Literal(atom) for atom in (title("b", "t"), title("c", "u"), same("t", "u"))]
    rule, swapped = clause(*body, bib("b", "c")), clause(*body, bib("c", "b"))
    found, without = (
        [
            c.clause
            for c in GSLP(max_literals=4, max_loop=most, joint=False)
            .fit(databases)
            .notes.candidates
        ]
        for most in (4, 1)
    )
    assert found[1] in (canonical(rule), canonical(swapped))
    names = {"title", "sameBib", "sameTitle"}
    assert not [other for other in without if predicates_in(other) == names and len(other) == 4]


def test_equivalence_of_features():
    p, q = Predicate("p", ("t",)), Predicate("q", ("t",))
    r = Predicate("r", ("t", "t"))
    one = clause(p("x"), ~Literal(q("x")))
    assert is_equivalent(one, clause(~Literal(p("y")), q("y")))
    assert is_equivalent(one, clause(p("y"), q("y")))
    assert not is_equivalent(one, clause(p("y"), q("z")))
    long = clause(p("x"), ~Literal(r("x", "y")), q("y"))
    assert not is_equivalent(long, clause(p("x"), r("x", "y"), q("y")))


def test_runs_repeat_whatever_the_number_of_processes(example, learned):
    assert SMALL.fit(example).model == learned.model
    assert SMALL.fit(example, Run(workers=2)).model == learned.model


@pytest.mark.parametrize("stop_at", [2, 5, 9])
def test_a_stopped_run_resumes_to_the_same_network(example, learned, tmp_path, stop_at):
    calls = []

    def stop(progress):
        calls.append(progress)
        if len(calls) == stop_at:
            raise Stopped

    path = tmp_path / "run.jsonl"
    with pytest.raises(Stopped):
        SMALL.fit(example, Run(progress=stop, checkpoint=path))
    resumed = SMALL.fit(example, Run(checkpoint=path))
    assert resumed.model == learned.model
    assert resumed.notes.candidates == learned.notes.candidates
    with pytest.raises(InputError, match="other settings"):
        replace(SMALL, min_gain=0.1).fit(example, Run(checkpoint=path))


def test_candidates_are_measured_sorted_and_eliminated(example, learned):
    result = replace(SMALL, drop_subclauses=True, drop_same_predicates=True).fit(example)
    measures = [candidate.measure for candidate in result.notes.candidates]
    assert measures == sorted(measures, reverse=True)
    clauses = [candidate.clause for candidate in result.notes.candidates]
    sets = [predicates_in(found) for found in clauses]
    assert len(set(sets)) == len(sets)
    pairs = [(a, b) for place, a in enumerate(clauses) for b in clauses[:place]]
    assert not any(are_related(a, b) for a, b in pairs)
    assert set(result.notes.candidates) < set(learned.notes.candidates)
    assert learned.notes.likelihood >= result.notes.likelihood - 1e-6


def test_thresholds_reduce_the_graph(example, learned):
    full = learned.notes.graph
    high = sorted(full.measures.values())[len(full.edges) // 2]
    reduced = replace(SMALL, min_measure=high).fit(example)
    assert 0 < len(reduced.notes.graph.edges) < len(full.edges)
    assert min(reduced.notes.graph.measures.values()) > high
    none = replace(SMALL, min_instances=10**9).fit(example)
    assert not none.notes.graph.edges
    assert len(none.model.rules) == 6


def test_limits_of_clauses_hold(example):
    result = GSLP(max_literals=4, max_same=1, beam=20).fit(example)
    clauses = [as_clause(rule.formula) for rule in result.model.rules]
    assert all(len(found) <= 4 and most_alike(found) == 1 for found in clauses)
    few = replace(SMALL, max_clauses=50).fit(example)
    assert few.notes.scored == 50
    assert SMALL.fit(example, Run(max_seconds=0.0)).notes.scored == 0


def test_an_initial_network_stays_and_locked_weights_too(example):
    schema = example[0].schema
    given = MLN.parse(f"{schema}\n0.3. a(x) v s(x,y)\na(x) ^ b(x) => r(x,x).\n")
    true_only = [
        Database.from_facts(
            schema,
            {
                **{p.name: list(db.rows(p.name)) for p in schema.predicates},
                "r": sorted({*db.rows("r"), *((n, n) for n in db.domains["t"])}),
            },
            domains=db.domains,
        )
        for db in example
    ]
    result = replace(SMALL, initial=given).fit(true_only)
    kept = {str(rule.formula): rule for rule in result.model.rules}
    assert kept["a(x) v s(x,y)"].weight == 0.3
    assert kept["a(x) v s(x,y)"].locked
    assert kept["a(x) ^ b(x) => r(x,x)"].hard
    other = MLN.parse("zebra(t)")
    with pytest.raises(InputError, match="other predicates"):
        replace(SMALL, initial=other).fit(example)


def test_exclusive_places_stay_so_in_the_network():
    schema = Schema.of("colour(t,c!)", "red(t)")
    names = [f"T{i}" for i in range(12)]
    facts = {
        "colour": [(n, "Red" if i < 6 else "Blue") for i, n in enumerate(names)],
        "red": [(n,) for n in names[:6]],
    }
    result = SMALL.fit([Database.from_facts(schema, facts)])
    assert result.model.schema.functional == {"colour": (1,)}
