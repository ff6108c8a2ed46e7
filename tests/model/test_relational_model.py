"""Models of boosted features: answers, explanations and files, and paths between two links."""

import itertools
import math

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.counting.examples import examples_of, find_place
from mlnlearn.counting.relational import Link, Nominal, Relational, RowSet, relational
from mlnlearn.data.population import all_atoms
from mlnlearn.errors import InputError
from mlnlearn.model.relational.between import HopMatrices, paths_between
from mlnlearn.model.relational.evaluate import Values
from mlnlearn.model.relational.features import Backward, Between, Feature, Hop
from mlnlearn.model.relational.trees import Test as FeatureTest
from mlnlearn.structure.relational_boosting.closing import ClosingSearch
from mlnlearn.structure.relational_boosting.learner import RelationalBoost

SCHEMA = ml.Schema.of(
    "smokes(person)", "home(person,town!)", "friends(person,person)", "works(person,firm)"
)


def people(seed, size=48):
    rng = np.random.default_rng(seed)
    names = [f"P{i}" for i in range(size)]
    group = rng.integers(0, 3, size)
    pairs = [(a, b) for a in range(size) for b in range(size) if a != b]
    friends = [(a, b) for a, b in pairs if rng.random() < (0.2 if group[a] == group[b] else 0.01)]
    firm = [(names[i], f"F{group[i] if rng.random() < 0.9 else 3}") for i in range(size)]
    smokes = [(names[i],) for i in range(size) if rng.random() < (0.9 if group[i] == 0 else 0.1)]
    facts = {
        "smokes": smokes,
        "home": [(names[i], f"T{group[i] if rng.random() < 0.8 else 0}") for i in range(size)],
        "friends": [(names[a], names[b]) for a, b in friends],
        "works": firm,
    }
    return ml.Database.from_facts(SCHEMA, facts, domains={"person": names})


@pytest.fixture(scope="module")
def models():
    data = people(1)
    return {
        name: RelationalBoost(target=name, steps=12, patience=12).fit(data).model
        for name in ("smokes", "home", "friends")
    }


@pytest.mark.parametrize("name", ["smokes", "home", "friends"])
def test_answers_are_good_and_survive_a_file(models, name, tmp_path):
    model, test = models[name], people(2)
    answers = model.query(test, name)
    assert len(answers) == test.ground_atoms(name)
    true = {
        str(ml.parse_formula(f"{name}({','.join(r)})", SCHEMA).formula) for r in test.rows(name)
    }
    found = answers.by_atom()
    base = len(true) / len(found)
    gain = sum(math.log(p if atom in true else 1 - p) for atom, p in found.items())
    plain = sum(math.log(base if atom in true else 1 - base) for atom in found)
    assert gain > 0.93 * plain
    # what is asked for is not read
    blind = test.without_facts([name])
    assert model.query(blind, name).by_atom() == found
    model.save(tmp_path / "m.mln")
    again = ml.load_model(tmp_path / "m.mln")
    assert again == model
    assert again.query(test, name).by_atom() == found


def test_the_classes_of_a_block_add_up_to_one(models):
    answers = models["home"].query(people(2), "home")
    total = {}
    for answer in answers:
        total[answer.constants[0]] = total.get(answer.constants[0], 0.0) + answer.probability
    assert all(value == pytest.approx(1.0, abs=1e-12) for value in total.values())


@pytest.mark.parametrize(
    "atom", ["smokes(P3)", "home(P3,T1)", "home(P7,T0)", "friends(P3,P1)", "friends(P9,P2)"]
)
def test_explanations_add_up_to_the_log_odds(models, atom):
    model, test = models[atom.split("(")[0]], people(2)
    found = model.explain(test, atom)
    chance = model.query(test, model.predicate)[atom].probability
    assert found.probability == pytest.approx(chance, abs=1e-12)
    against = 1 - chance
    if found.against is not None:
        against = model.query(test, model.predicate)[found.against].probability
    assert found.log_odds == pytest.approx(math.log(chance / against), abs=1e-9)
    assert sum(part.log_odds for part in found.contributions) == pytest.approx(found.log_odds)


def test_only_unknown_atoms_are_asked_where_some_are_known(models):
    test = people(2)
    rows = list(test.rows("smokes"))
    facts = {name: list(test.rows(name)) for name in ("home", "friends", "works")}
    unknown = {"smokes": rows[:2]}
    evidence = ml.Database.from_facts(
        SCHEMA,
        {**facts, "smokes": rows[2:]},
        unknown=unknown,
        domains={"person": test.domains["person"].names},
    )
    answers = models["smokes"].query(evidence)
    assert sorted(answer.constants for answer in answers) == sorted(rows[:2])
    with pytest.raises(ml.InputError, match="no rules for works"):
        models["smokes"].query(test, "works")


@pytest.mark.parametrize("name", ["smokes", "home", "friends"])
@pytest.mark.parametrize("form", ["trees", "rules"])
def test_the_network_over_derived_predicates_gives_the_same_answers(models, name, form):
    model, test = models[name], people(3, 8)
    model = model if form == "trees" else model.distilled()
    network = ml.MLN.parse(model.network_text())
    facts = model.derived_facts(test)
    given = test if name != "home" else test.extended({"town": model.classes})
    atoms = all_atoms(given, name)
    kinds = [given.domains[kind].names for kind in SCHEMA[name].types]
    expected = {
        f"{name}({','.join(k[c] for k, c in zip(kinds, codes, strict=True))})": chance
        for codes, chance in zip(atoms.T, model.predict(given, name, atoms), strict=True)
    }
    if model.alone is None:
        assert expected == model.query(test, name).by_atom()
    else:
        assert expected != model.query(test, name).by_atom()  # which reads no label
    answers = ml.query(
        network,
        facts,
        name,
        method="exact",
        closed=[p.name for p in network.schema.predicates if p.name != name],
    )
    found = answers.by_atom()
    assert len(found) == len(expected)
    for atom, chance in expected.items():
        assert found[atom] == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize("name", ["smokes", "home", "friends"])
def test_the_short_list_is_a_model_of_its_own(models, name, tmp_path):
    model, test = models[name], people(2)
    assert 0 < len(model.rules()) <= 20
    assert len(model.rules(3)) <= 3
    alone = model.distilled()
    assert all(len(rule.conditions) <= 3 for rule in alone.listed.rules)
    alone.save(tmp_path / "list.mln")
    again = ml.load_model(tmp_path / "list.mln")
    assert again.query(test, name).by_atom() == alone.query(test, name).by_atom()
    changed = (tmp_path / "list.mln").read_text() + "// changed\n"
    (tmp_path / "list.mln").write_text(changed)
    assert isinstance(ml.load_model(tmp_path / "list.mln"), ml.MLN)


def test_rules_say_what_was_planted(models):
    first = models["friends"].listed.rules
    assert any("path" in rule.sentence("friends") for rule in first[:5])
    base = people(1).count("friends") / people(1).ground_atoms("friends")
    for rule in first:
        assert rule.base == pytest.approx(base)
        assert 0 <= rule.share <= 1
        assert rule.lift == pytest.approx(rule.share / rule.base)


def random_view(seed):
    rng = np.random.default_rng(seed)

    def links(rows, to, size):
        return Link(rng.integers(-1, size, rows).astype(np.int32), to)

    none = lambda size: np.zeros(size, np.int32)  # noqa: E731
    quarters = ("Q1", "Q2", "Q3")
    one = {
        "course": links(9, "course", 4),
        "who": links(9, "person", 5),
        "quarter": Nominal(rng.integers(-1, 3, 9).astype(np.int32), quarters),
    }
    two = {
        "course": links(8, "course", 4),
        "who": links(8, "person", 5),
        "quarter": Nominal(rng.integers(-1, 3, 8).astype(np.int32), quarters),
    }
    person = {
        "": Nominal(np.arange(5, dtype=np.int32), tuple("ABCDE")),
        "boss": links(5, "person", 5),
    }
    sets = {
        "person": RowSet("person", 5, person, None, none(5)),
        "course": RowSet("course", 4, {}, None, none(4)),
        "teaches": RowSet("teaches", 9, one, None, none(9)),
        "helps": RowSet("helps", 8, two, None, none(8)),
    }
    base = {"first": links(12, "person", 5), "second": links(12, "person", 5)}
    return Relational(sets, {}, {}), RowSet("advises", 12, base, None, none(12))


def at(view, rows, row, columns):
    found = []
    for name in columns:
        column = rows.columns.get(name)
        found.append(row if name == "" else int(column.codes[row]))
    return None if any(code < 0 for code in found) else tuple(found)


def count_by_definition(view, base, row, feature):
    start, end = at(view, base, row, (feature.start,)), at(view, base, row, (feature.end,))
    if start is None or end is None:
        return 0
    choices = [range(view[hop.rows].rows) for hop in feature.hops]
    total = 0
    for chosen in itertools.product(*choices):
        here = start
        for hop, r in zip(feature.hops, chosen, strict=True):
            rows = view[hop.rows]
            if at(view, rows, r, hop.enter) != here:
                here = None
                break
            here = at(view, rows, r, hop.leave)
            if here is None:
                break
        total += here == end
    return total


@pytest.mark.parametrize("seed", range(4))
def test_paths_between_two_links_are_counted_as_by_definition(seed):
    view, base = random_view(seed)
    gradients = np.random.default_rng(seed).standard_normal((12, 1))
    features = list(ClosingSearch(HopMatrices(view), base, 8).connections(gradients))
    lengths = {len(feature.hops) for feature in features}
    assert lengths == {0, 1, 2, 3}
    double = Between(
        "first",
        "second",
        (
            Hop("teaches", ("who",), ("course", "quarter")),
            Hop("helps", ("course", "quarter"), ("who",)),
        ),
    )
    for feature in [*features, double]:
        found = paths_between(HopMatrices(view), base, feature)
        expected = [count_by_definition(view, base, row, feature) for row in range(12)]
        assert found.tolist() == expected, feature


def test_matrices_of_hops_are_shared_but_for_rows_that_are_hidden():
    view, base = random_view(0)
    hidden = np.arange(view["teaches"].rows) < 3
    seen = view.with_row_set(view["teaches"].taken(np.flatnonzero(~hidden)))
    whole = HopMatrices(view)
    shared, own = HopMatrices(seen, whole, "teaches"), HopMatrices(seen)
    helps = Hop("helps", ("who",), ("course",)), Hop("helps", ("course",), ("who",))
    teaches = Hop("teaches", ("who",), ("course",)), Hop("teaches", ("course",), ("who",))
    assert shared.product(helps) is whole.product(helps)
    for hops in (helps, teaches, (helps[0], teaches[1]), (teaches[0], helps[1])):
        expected = own.product(hops).toarray()
        assert np.array_equal(shared.product(hops).toarray(), expected)
    assert whole.product(teaches).sum() > own.product(teaches).sum()
    assert np.array_equal(shared.ends(base, "first"), own.ends(base, "first"))


def test_names_are_asked_of_names_or_of_nothing_that_is_known():
    test = FeatureTest(Feature((Backward("friend", "one", "mode"),), "two"), None, ("Ann",), True)
    assert test.holds(Values(np.empty(0))).tolist() == []
    assert test.holds(Values(np.array([np.nan]))).tolist() == [True]
    with pytest.raises(InputError, match="is a number, and is asked for names"):
        test.holds(Values(np.array([1.0])))


def test_a_number_has_no_probabilities():
    view = relational([people(1)])
    examples = examples_of(view, find_place(view, "smokes"))
    assert examples.classes == ("false", "true")
    model = RelationalBoost(target="smokes", steps=0).fit(people(1)).model
    number = type(model)("age", "squares", (), (1.0,), ())
    with pytest.raises(ml.InputError, match="is a number and has no classes"):
        number.probabilities(view, examples.base)


def test_conditions_said_together_mean_the_same():
    """Of a few conditions on one feature, what is said in one breath holds of the same rows."""
    from itertools import product  # noqa: PLC0415

    from mlnlearn.model.relational.evaluate import Values  # noqa: PLC0415
    from mlnlearn.model.relational.features import Feature  # noqa: PLC0415
    from mlnlearn.model.relational.rules import Condition, merged  # noqa: PLC0415
    from mlnlearn.model.relational.trees import LARGEST, Test  # noqa: PLC0415

    names = ("a", "b", "c")
    column, number = Feature((), "name"), Feature((), "size")
    tests = [Test(column, None, chosen, miss) for chosen in (("a",), ("a", "b"), ("c",))
             for miss in (False, True)]  # fmt: skip
    levels = [Test(number, at, (), miss) for at in (1.0, 2.0) for miss in (False, True)]
    levels.append(Test(number, LARGEST, (), True))
    values = {
        column: Values(np.array([0, 1, 2, np.nan]), names),
        number: Values(np.array([0.5, 1.5, 2.5, np.nan])),
    }

    def holds(conditions):
        found = [c.test.holds(values[c.test.feature]) == c.holds for c in conditions]
        return np.all(found, axis=0).tolist()

    for several in (tests, levels):
        conditions = [Condition(test, yes) for test in several for yes in (False, True)]
        for chosen in product(conditions, repeat=3):
            said = merged(chosen)
            assert holds(said) == holds(chosen)
            assert len(said) <= 2
            if any(holds(chosen)):
                texts = [str(condition) for condition in said]
                assert len(set(texts)) == len(texts)
