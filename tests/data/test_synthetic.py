"""Generators: the same seed gives the same data, and the data follow the stated model."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit, logit

from mlnlearn.data.database import Database
from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.data.sampling import is_among, pack
from mlnlearn.data.synthetic import Truth, disjunctive, hide, smokers, university
from mlnlearn.errors import InputError, MemoryLimitError
from mlnlearn.logic.schema import Schema

GENERATORS = {
    "smokers": lambda rng: smokers(300, rng=rng, copies=2),
    "disjunctive": lambda rng: disjunctive(100, 3, rng=rng, copies=2),
    "university": lambda rng: university(60, 2, rng=rng),
}


def close(successes, trials, probability):
    """Within five standard errors of the binomial."""
    error = np.sqrt(trials * probability * (1 - probability))
    return abs(successes - trials * probability) <= 5 * error


def flags(database, name):
    result = np.zeros(database.ground_atoms(name), bool)
    result[database.facts(name)[0]] = True
    return result


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)
def test_seeds_decide_everything(make):
    first, again, other = make(1), make(np.random.default_rng(1)), make(2)
    differs = False
    for one, two, three in zip(first.databases, again.databases, other.databases, strict=True):
        for predicate in one.schema.predicates:
            mine = one.facts(predicate.name).tolist()
            assert mine == two.facts(predicate.name).tolist()
            differs |= mine != three.facts(predicate.name).tolist()
    assert differs
    a, b = first.databases[:2]
    assert any(a.facts(p.name).tolist() != b.facts(p.name).tolist() for p in a.schema.predicates)


@pytest.mark.parametrize("make", GENERATORS.values(), ids=GENERATORS)
def test_truth_scores_every_ground_atom(make):
    """The summed log-likelihood is that of the probabilities of all atoms, one by one."""
    made = make(3)
    for db, truths in zip(made.databases, made.truth, strict=True):
        for name, truth in truths.items():
            everything = positives_and_negatives([db], name)
            p = truth.probability(everything.columns)
            by_hand = np.log(np.where(everything.labels, p, 1 - p)).sum()
            assert truth.log_likelihood(db) == pytest.approx(by_hand, abs=1e-9)
            hidden = hide(db, name, 0.3, 1)
            rest = positives_and_negatives([hidden], name)
            p = truth.probability(rest.columns)
            by_hand = np.log(np.where(rest.labels, p, 1 - p)).sum()
            assert truth.log_likelihood(hidden) == pytest.approx(by_hand, abs=1e-9)


def test_a_certain_class_scores_without_infinities():
    schema = Schema.of("p(t)")
    db = Database.from_facts(schema, {"p": [("A",), ("C",)]}, domains={"t": "ABC"})
    classes = (np.array([1, 0, 0]),)
    listed = np.array([[2]], np.int32)
    truth = Truth("p", listed, np.array([0.25]), classes, np.array([0.0, 1.0]))
    assert truth.log_likelihood(db) == pytest.approx(np.log(0.25))
    wrong = Truth("p", listed, np.array([0.25]), classes, np.array([1.0, 0.0]))
    assert wrong.log_likelihood(db) == -np.inf


def test_friends_are_symmetric_distinct_and_as_many_as_asked():
    for people, degree in [(2, 1), (3, 2), (4, 3), (7, 6), (50, 4), (2000, 5)]:
        db = smokers(people, rng=people, mean_degree=degree).databases[0]
        pairs = set(map(tuple, db.facts("friends").T.tolist()))
        assert len(pairs) == people * degree
        assert all(x != y and (y, x) in pairs for x, y in pairs)


def test_every_pair_is_as_likely_to_be_friends():
    rng = np.random.default_rng(0)
    counts = np.zeros((6, 6))
    for _ in range(2000):
        x, y = smokers(6, rng=rng, mean_degree=1, sweeps=0).databases[0].facts("friends")
        counts[x, y] += 1
    upper = counts[np.triu_indices(6, 1)]
    assert all(close(count, 2000, 3 / 15) for count in upper)


def test_stress_and_cancer_follow_their_probabilities():
    people, weights = 40_000, (-2.5, 1.5, 0.6)
    made = smokers(people, rng=5, stress=0.3, cancer=weights)
    db = made.databases[0]
    assert close(db.count("stress"), people, 0.3)
    smokes, cancer = flags(db, "smokes"), flags(db, "cancer")
    x, y = db.facts("friends")
    company = np.bincount(x[smokes[y]], minlength=people)
    truth = made.truth[0]["cancer"].probability(np.arange(people)[None])
    for own, friends in product((False, True), range(4)):
        chosen = (smokes == own) & (company == friends)
        p = expit(weights[0] + weights[1] * own + weights[2] * friends)
        assert chosen.sum() > 300
        assert truth[chosen] == pytest.approx(p)
        assert close(cancer[chosen].sum(), chosen.sum(), p)


def test_smoking_follows_the_conditional_of_the_network():
    people, weights = 60_000, (-0.8, 1.5, 0.25)
    db = smokers(people, rng=6, smokes=weights).databases[0]
    stress, smokes = flags(db, "stress"), flags(db, "smokes")
    x, y = db.facts("friends")
    balance = np.bincount(x, np.where(smokes[y], 1.0, -1.0), minlength=people)
    for own, net in product((False, True), range(-3, 4)):
        chosen = (stress == own) & (balance == net)
        p = expit(weights[0] + weights[1] * own + weights[2] * net)
        assert chosen.sum() > 300
        # Neighbours are dependent, so a little more room than for independent draws.
        assert abs(smokes[chosen].mean() - p) < 7 * np.sqrt(p * (1 - p) / chosen.sum())


def test_a_tiny_smokers_network_is_sampled_exactly():
    """Frequencies of all states of two friends against enumeration of the network."""
    weights = (-0.4, 0.0, 0.9)
    rng = np.random.default_rng(7)
    draws = 4000
    counts = np.zeros((2, 2))
    for _ in range(draws):
        db = smokers(2, rng=rng, mean_degree=1, smokes=weights, sweeps=15).databases[0]
        a, b = flags(db, "smokes").astype(int)
        counts[a, b] += 1
    # Both directions of friendship count the implication.
    log_weight = np.array(
        [[weights[0] * (a + b) + weights[2] * (2 - (a != b)) for b in (0, 1)] for a in (0, 1)]
    )
    exact = np.exp(log_weight) / np.exp(log_weight).sum()
    for state in product((0, 1), repeat=2):
        assert close(counts[state], draws, exact[state])


@pytest.mark.parametrize("values", [3, 10])
def test_disjunctive_follows_its_probabilities(values):
    objects = 4000
    made = disjunctive(objects, values, rng=8, q=0.3, r_given_q=0.4, r_otherwise=0.05)
    db = made.databases[0]
    grids = {}
    for name in ("q", "r"):
        grids[name] = np.zeros((objects, values), bool)
        grids[name][tuple(db.facts(name))] = True
    q, r = grids["q"], grids["r"]
    assert close(q.sum(), q.size, 0.3)
    assert close(r[q].sum(), q.sum(), 0.4)
    assert close(r[~q].sum(), (~q).sum(), 0.05)
    assert (flags(db, "s") == r.any(axis=1)).all()
    truth = made.truth[0]["r"].probability(np.indices(q.shape).reshape(2, -1)).reshape(q.shape)
    assert (truth == np.where(q, 0.4, 0.05)).all()
    base, given_q, hard = made.rules
    assert expit(base.weight) == pytest.approx(0.05)
    assert expit(base.weight + given_q.weight) == pytest.approx(0.4)
    assert hard.hard
    assert str(hard.formula) == "s(x) <=> (EXIST y r(x,y))"


def grid(database, name):
    """All facts of a predicate as one dense array."""
    sizes = [database.size(kind) for kind in database.schema[name].types]
    result = np.zeros(sizes, np.int64)
    result[tuple(database.facts(name))] = 1
    return result


def test_advising_probabilities_are_those_of_the_planted_rules():
    """Log-odds by dense matrix products over all groundings, times the weights of the rules."""
    made = university(80, 2, rng=9)
    for db, truths in zip(made.databases, made.truth, strict=True):
        papers, ta, taught = grid(db, "publication"), grid(db, "ta"), grid(db, "taughtBy")
        shared = papers.T @ papers
        assisted = np.einsum("csq,cpq->sp", ta, taught)
        post = grid(db, "inPhase")[:, db.domains["phase"].code("Post_Generals")]
        regular = grid(db, "hasPosition")[:, db.domains["position"].code("Faculty")]
        people = np.ones(db.size("person"), np.int64)
        features = [
            np.outer(people, people), shared > 0, shared, assisted,
            np.outer(post, people), np.outer(people, regular),
        ]  # fmt: skip
        soft = [rule.weight for rule in made.rules if not rule.hard]
        log_odds = sum(w * f for w, f in zip(soft, features, strict=True))
        allowed = np.outer(grid(db, "student"), grid(db, "professor"))
        expected = np.where(allowed, expit(log_odds), 0)
        cells = np.indices(expected.shape).reshape(2, -1)
        found = truths["advisedBy"].probability(cells).reshape(expected.shape)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_stated_probabilities_of_the_university():
    made = university(100, 1, rng=10, noise=0.02, coauthor=0.15, per_paper=0.8)
    base, link, paper = [rule.weight for rule in made.rules if not rule.hard][:3]
    assert expit(base) == pytest.approx(0.02 / 20)
    assert base + link + paper == pytest.approx(logit(0.15))


@pytest.mark.parametrize(
    ("students", "areas", "noise"),
    [(20_000, 1, 0.3), (60, 60, 4.0)],  # links are rare in the first, frequent in the second
)
def test_advisors_are_drawn_with_the_true_probabilities(students, areas, noise):
    made = university(students, areas, rng=11, noise=noise)
    probabilities, hits = [], []
    trials, successes = np.zeros((3, 3), np.int64), np.zeros((3, 3), np.int64)
    for db, truths in zip(made.databases, made.truth, strict=True):
        truth, advised = truths["advisedBy"], db.facts("advisedBy")
        sizes = [db.size("person")] * 2
        linked = pack(truth.columns, sizes)
        probabilities.append(truth.probabilities)
        hits.append(is_among(linked, pack(advised, sizes)))
        left, right = truth.classes
        trials += np.multiply.outer(np.bincount(left), np.bincount(right))
        np.subtract.at(trials, (left[truth.columns[0]], right[truth.columns[1]]), 1)
        unlinked = advised[:, ~is_among(pack(advised, sizes), linked)]
        np.add.at(successes, (left[unlinked[0]], right[unlinked[1]]), 1)
    for a, b in product((1, 2), repeat=2):
        assert successes[a, b] > 50
        assert close(successes[a, b], trials[a, b], made.truth[0]["advisedBy"].table[a, b])
    p, hit = np.concatenate(probabilities), np.concatenate(hits)
    bins = np.digitize(p, np.quantile(p, np.linspace(0, 1, 9))[1:-1])
    for one in np.unique(bins):
        own = p[bins == one]
        assert abs(hit[bins == one].sum() - own.sum()) <= 5 * np.sqrt((own * (1 - own)).sum())


def test_the_university_keeps_its_schema():
    made = university(400, 2, rng=12)
    for db in made.databases:
        people = db.size("person")
        for name in ("inPhase", "yearsInProgram"):
            assert db.facts(name)[0].tolist() == list(range(people))
        assert db.facts("courseLevel")[0].tolist() == list(range(db.size("course")))
        students, professors = db.facts("student")[0], db.facts("professor")[0]
        assert sorted([*students.tolist(), *professors.tolist()]) == list(range(people))
        assert set(db.facts("hasPosition")[0].tolist()) == set(professors.tolist())
        authors = np.bincount(db.facts("publication")[0], minlength=db.size("title"))
        assert authors.min() >= 1
        assert authors.max() <= 5
        course, _, quarter = db.facts("taughtBy")
        offerings = course * db.size("quarter") + quarter
        assert len(np.unique(offerings)) == len(offerings)
        assert np.bincount(course).max() <= 4
        assistants = db.facts("ta")
        assert np.isin(assistants[0] * db.size("quarter") + assistants[2], offerings).all()
        assert np.isin(assistants[1], students).all()
        assert np.isin(db.facts("advisedBy")[0], students).all()
        assert np.isin(db.facts("advisedBy")[1], professors).all()
    first, second = (set(db.domains["person"]) for db in made.databases)
    assert not first & second


def test_degrees_do_not_grow_with_size():
    highest = []
    for students in (1000, 30_000):
        db = university(students, 1, rng=13).databases[0]
        assert 8 < db.true_atoms / students < 10
        degrees = [
            np.bincount(db.facts("publication")[1]).max(),
            np.bincount(db.facts("taughtBy")[1]).max(),
            np.bincount(db.facts("ta")[1]).max(),
            np.bincount(db.facts("advisedBy")[1]).max(),
        ]
        highest.append(max(degrees))
    assert highest[1] < 2 * highest[0]


@pytest.mark.parametrize("students", [1, 2, 5])
def test_the_smallest_universities_work(students):
    made = university(students, 1, rng=14)
    assert made.databases[0].count("student") == students


def test_a_university_without_students_is_refused():
    with pytest.raises(InputError, match="found 0 and 5"):
        university(0, rng=0)
    with pytest.raises(InputError, match=r"found 1\.5 and 0\.15"):
        university(20, rng=0, noise=6)


def test_hidden_atoms_are_exactly_the_fraction_and_nothing_else_changes():
    rng = np.random.default_rng(15)
    db = smokers(60, rng=rng).databases[0]
    for fraction in (0.0, 0.2, 0.4, 0.95, 1.0):
        hidden = hide(db, ["smokes", "friends"], fraction, rng)
        for name in ("smokes", "friends"):
            sizes = [60] * db.schema[name].arity
            unknown = set(pack(hidden.unknown_facts(name), sizes).tolist())
            before = set(pack(db.facts(name), sizes).tolist())
            assert len(unknown) == round(fraction * 60 ** len(sizes))
            assert set(pack(hidden.facts(name), sizes).tolist()) == before - unknown
        assert hidden.facts("cancer").tolist() == db.facts("cancer").tolist()
        tables = (hidden.true, hidden.false, hidden.unknown)
        Database.from_codes(hidden.schema, hidden.domains, *tables)  # refuses contradictions
    assert not db.unknown


def test_hiding_does_not_look_at_the_truth():
    db = smokers(20_000, rng=16).databases[0]
    hidden = hide(db, "smokes", 0.4, rng=1)
    assert close(hidden.count("smokes"), db.count("smokes"), 0.6)


def test_hiding_twice_adds_up():
    db = smokers(1000, rng=17).databases[0]
    once = hide(db, "smokes", 0.5, rng=1)
    twice = hide(once, "smokes", 0.5, rng=2)
    assert twice.unknown_facts("smokes").shape[1] == 750
    assert np.isin(once.unknown_facts("smokes"), twice.unknown_facts("smokes")).all()


def test_hiding_open_predicates_takes_listed_atoms_only():
    db = Database.from_facts(
        Schema.of("smokes(person)"),
        {"smokes": [("A",), ("B",)]},
        false={"smokes": [("C",), ("D",)]},
        domains={"person": "ABCDEFGH"},
        open=["smokes"],
    )
    hidden = hide(db, "smokes", 0.5, rng=0)
    assert hidden.unknown_facts("smokes").shape[1] == 2
    assert set(hidden.unknown_facts("smokes")[0].tolist()) <= {0, 1, 2, 3}
    assert hidden.count("smokes") + hidden.false_facts("smokes").shape[1] == 2


def test_hiding_refuses_what_it_cannot_do():
    db = smokers(50_000, rng=18).databases[0]
    with pytest.raises(InputError, match=r"between 0 and 1; found 1\.5"):
        hide(db, "smokes", 1.5, rng=0)
    with pytest.raises(InputError, match="no such predicate 'likes'"):
        hide(db, "likes", 0.5, rng=0)
    with pytest.raises(MemoryLimitError, match="1250000000 atoms"):
        hide(db, "friends", 0.5, rng=0)
