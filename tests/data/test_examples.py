"""Example sets against sets of tuples, and sampling against its exact distribution."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import chisquare

from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples, given, positives_and_negatives
from mlnlearn.data.population import occurring
from mlnlearn.data.sampling import distinct, is_among, number_of_keys, pack, unlisted, unpack
from mlnlearn.data.synthetic.names import NumberedVocabulary
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import CountOverflowError, InputError, InputErrors, MemoryLimitError
from mlnlearn.logic.schema import Schema

SCHEMA = Schema.of("likes(person,food)", "Rain", "person(person)")


def random_database(rng, people, foods, *, open=frozenset()):
    cells = rng.permutation(people * foods)
    cuts = np.sort(rng.integers(0, len(cells) + 1, 2))
    true, unknown, rest = np.split(cells, cuts)
    false = rest[: len(rest) // 2] if open else rest[:0]
    domains = {
        "person": Vocabulary([f"P{i}" for i in range(people)]),
        "food": Vocabulary([f"F{i}" for i in range(foods)]),
    }
    tables = [{"likes": np.stack(np.divmod(k, foods))} for k in (true, false, unknown)]
    return Database.from_codes(SCHEMA, domains, *tables, open=open)


def atoms(examples, label):
    chosen = examples.take(examples.labels == label)
    return list(zip(chosen.database.tolist(), *chosen.columns.tolist(), strict=True))


def facts(columns):
    return set(zip(*columns.tolist(), strict=True))


def test_keys_round_trip():
    sizes = [3, 4, 5]
    cells = np.array(list(product(*map(range, sizes)))).T
    assert pack(cells, sizes).tolist() == list(range(60))
    assert (unpack(np.arange(60), sizes) == cells).all()
    assert unpack(np.zeros(1, np.int64), []).shape == (0, 1)
    assert number_of_keys([10**5, 10**5]) == 10**10
    with pytest.raises(CountOverflowError, match="64-bit"):
        number_of_keys([10**7] * 3)


def test_unlisted_counts_past_the_listed():
    rng = np.random.default_rng(0)
    for _ in range(200):
        listed = np.sort(rng.permutation(30)[: rng.integers(0, 31)])
        others = np.setdiff1d(np.arange(30), listed)
        assert unlisted(np.arange(len(others)), listed).tolist() == others.tolist()
        assert (is_among(np.arange(30), listed) == np.isin(np.arange(30), listed)).all()


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 6])
def test_every_set_is_drawn_equally_often(count):
    rng = np.random.default_rng(count)
    draws = 6000
    seen = dict.fromkeys(combinations(range(6), count), 0)
    for _ in range(draws):
        seen[tuple(distinct(6, count, rng).tolist())] += 1
    assert sum(seen.values()) == draws
    if len(seen) > 1:
        assert chisquare(list(seen.values())).pvalue > 1e-3


def test_large_draws_are_distinct_sorted_and_spread():
    rng = np.random.default_rng(3)
    for total, count in [(10**15, 50_000), (200_000, 99_000), (200_000, 199_990)]:
        drawn = distinct(total, count, rng)
        assert len(drawn) == count
        assert (np.diff(drawn) > 0).all()
        assert drawn[0] >= 0
        assert drawn[-1] < total
        # The mean of a uniform sample, within five standard errors.
        error = total / np.sqrt(12 * count) * np.sqrt(1 - count / total)
        assert abs(drawn.mean() - (total - 1) / 2) < 5 * error
    with pytest.raises(ValueError, match="cannot draw 3"):
        distinct(2, 3, rng)


def test_all_examples_are_the_closed_world():
    rng = np.random.default_rng(4)
    for _ in range(50):
        databases = [random_database(rng, *rng.integers(1, 6, 2)) for _ in range(2)]
        examples = positives_and_negatives(databases, "likes")
        for index, db in enumerate(databases):
            cells = set(product(range(db.size("person")), range(db.size("food"))))
            true, unknown = facts(db.facts("likes")), facts(db.unknown_facts("likes"))
            own = examples.take(examples.database == index)
            assert [row[1:] for row in atoms(own, True)] == sorted(true)
            assert [row[1:] for row in atoms(own, False)] == sorted(cells - true - unknown)
        assert (examples.weights == 1).all()


def test_negatives_of_an_open_predicate_are_the_listed_ones():
    rng = np.random.default_rng(5)
    db = random_database(rng, 5, 5, open=frozenset({"likes"}))
    examples = positives_and_negatives([db], "likes")
    assert {row[1:] for row in atoms(examples, False)} == facts(db.false_facts("likes"))


def test_samples_are_false_atoms_and_weights_undo_the_sampling():
    rng = np.random.default_rng(6)
    databases = [random_database(rng, 30, 20) for _ in range(3)]
    full = positives_and_negatives(databases, "likes")
    population = set(atoms(full, False))
    for ratio in (0.01, 0.3, 1e9):
        sample = positives_and_negatives(databases, "likes", ratio=ratio, rng=1)
        negatives = atoms(sample, False)
        assert len(negatives) == min(round(ratio * full.positives), len(population))
        assert len(set(negatives)) == len(negatives)
        assert set(negatives) <= population
        assert atoms(sample, True) == atoms(full, True)
        assert sample.weights[~sample.labels].sum() == pytest.approx(len(population))
        assert (sample.weights[sample.labels] == 1).all()


def test_each_negative_is_drawn_equally_often_over_all_databases():
    rng = np.random.default_rng(7)
    databases = [random_database(rng, 4, 3), random_database(rng, 2, 3)]
    population = atoms(positives_and_negatives(databases, "likes"), False)
    positives = sum(db.count("likes") for db in databases)
    assert positives > 1
    assert len(population) > 5
    seen = dict.fromkeys(population, 0)
    for _ in range(4000):
        for atom in atoms(positives_and_negatives(databases, "likes", ratio=0.5, rng=rng), False):
            seen[atom] += 1
    assert chisquare(list(seen.values())).pvalue > 1e-3


def test_seeds_repeat_and_differ():
    db = random_database(np.random.default_rng(8), 40, 40)
    first, again, other = (
        positives_and_negatives([db], "likes", ratio=0.2, rng=seed) for seed in (1, 1, 2)
    )
    assert (first.columns == again.columns).all()
    assert first.columns.tolist() != other.columns.tolist()


def test_ten_billion_ground_atoms_are_sampled_not_listed():
    size = 100_000
    rng = np.random.default_rng(9)
    domains = {kind: NumberedVocabulary(kind[0].upper(), size) for kind in ("person", "food")}
    true = rng.integers(0, size, (2, 10_000))
    db = Database.from_codes(SCHEMA, domains, {"likes": true})
    sample = positives_and_negatives([db], "likes", ratio=2, rng=0)
    assert len(sample) == 3 * db.count("likes")
    assert not facts(sample.columns[:, ~sample.labels]) & facts(db.facts("likes"))
    assert sample.weights.sum() == pytest.approx(size**2)
    with pytest.raises(MemoryLimitError, match="sample the negatives"):
        positives_and_negatives([db], "likes")


def test_restricted_arguments():
    rng = np.random.default_rng(10)
    for _ in range(50):
        db = random_database(rng, *rng.integers(2, 7, 2))
        true, unknown = facts(db.facts("likes")), facts(db.unknown_facts("likes"))
        seen = [occurring(db, "likes", place).tolist() for place in (0, 1)]
        observed = positives_and_negatives([db], "likes", arguments="observed")
        assert {row[1:] for row in atoms(observed, True)} == true
        assert {row[1:] for row in atoms(observed, False)} == set(product(*seen)) - true - unknown
        some = np.array([1, 0, 1])
        chosen = positives_and_negatives([db], "likes", arguments=[[some, None]])
        box = set(product((0, 1), range(db.size("food"))))
        assert {row[1:] for row in atoms(chosen, True)} == true & box
        assert {row[1:] for row in atoms(chosen, False)} == box - true - unknown


def test_bad_arguments_are_named():
    db = random_database(np.random.default_rng(11), 3, 3)
    for wrong, message in [
        ("seen", "not 'seen'"),
        ([[None]], "2 argument places, but codes came for 1"),
        ([[np.array([3]), None]], "outside its domain of 3"),
    ]:
        with pytest.raises(InputError, match=message):
            positives_and_negatives([db], "likes", arguments=wrong)
    with pytest.raises(InputError, match="at least one database"):
        positives_and_negatives([], "likes")


def test_propositions_and_empty_domains():
    db = Database.from_facts(SCHEMA, {"Rain": [()]})
    assert positives_and_negatives([db], "Rain").labels.tolist() == [True]
    assert len(positives_and_negatives([db], "likes", ratio=2)) == 0
    dry = Database.from_facts(SCHEMA, {})
    assert positives_and_negatives([dry], "Rain", ratio=2).labels.tolist() == [False]


def test_given_examples_are_coded_per_database():
    databases = [
        Database.from_facts(SCHEMA, {"likes": [("Anna", "Pie")]}),
        Database.from_facts(SCHEMA, {"likes": [("Bob", "Pie"), ("Anna", "Egg")]}),
    ]
    likes = SCHEMA["likes"]
    positives = [[("Anna", "Pie")], [likes("Anna", "Egg")]]
    examples = given(databases, "likes", positives, [[], [("Bob", "Egg"), ("Anna", "Pie")]])
    assert examples.database.tolist() == [0, 1, 1, 1]
    assert examples.labels.tolist() == [True, True, False, False]
    assert list(examples.rows(databases)) == [
        ("Anna", "Pie"), ("Anna", "Egg"), ("Bob", "Egg"), ("Anna", "Pie"),
    ]  # fmt: skip


def test_given_examples_report_every_problem():
    db = Database.from_facts(SCHEMA, {"likes": [("Anna", "Pie")]})
    with pytest.raises(InputErrors) as caught:
        given(
            [db],
            "likes",
            [[("Anna", "Pie"), ("Anna",), SCHEMA["Rain"]()]],
            [[("Anna", "Pie"), ("Bob", "Tea")]],
        )
    assert [problem.message for problem in caught.value.problems] == [
        "likes takes 2 arguments, not 1: ['Anna']",
        "Rain is no atom of likes(person,food)",
        "no constant 'Bob' of type 'person'",
        "no constant 'Tea' of type 'food'",
        "likes('Anna', 'Pie') is listed as positive and as negative",
    ]
    with pytest.raises(InputError, match="one of each per database"):
        given([db], "likes", [], [[]])


def test_shapes_are_checked():
    with pytest.raises(ValueError, match=r"shape \(2, 1\)"):
        Examples(
            SCHEMA["likes"],
            np.zeros(1, np.int32),
            np.zeros((1, 2), np.int32),
            np.array([True]),
            np.ones(1),
        )
