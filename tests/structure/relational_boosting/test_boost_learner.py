"""Boosted features: what is planted is found, and the trees say what the learner computed."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import mlnlearn as ml
from mlnlearn.counting.examples import RowExamples
from mlnlearn.counting.relational import (
    FLAGS,
    Link,
    Nominal,
    Number,
    Place,
    Relational,
    RowSet,
)
from mlnlearn.data.load.columns import Column
from mlnlearn.data.load.tables import ForeignKey, Table
from mlnlearn.errors import InputError
from mlnlearn.model.relational.features import Feature, Forward
from mlnlearn.model.relational.rules import Condition
from mlnlearn.model.relational.trees import Test as FeatureTest
from mlnlearn.model.relational.trees import features_of
from mlnlearn.run import drive
from mlnlearn.structure.relational_boosting.distil import _length
from mlnlearn.structure.relational_boosting.grow import GrowSettings
from mlnlearn.structure.relational_boosting.histograms import Binned
from mlnlearn.structure.relational_boosting.learner import RelationalBoost, _Learning
from mlnlearn.structure.relational_boosting.losses import Loss
from mlnlearn.structure.relational_boosting.splits import grow


def shop(seed, customers=400):
    """Customers buy; who spent much of late, or ever bought tea, comes back."""
    rng = np.random.default_rng(seed)
    buys = 6 * customers
    who = rng.integers(0, customers, buys).astype(np.int32)
    spent = rng.exponential(10.0, buys)
    goods = tuple(f"G{i}" for i in range(40))
    what = rng.integers(0, 40, buys).astype(np.int32)
    times = rng.uniform(0, 100, buys)
    none = np.zeros(customers, np.int32)
    columns = {
        "customer": Link(who, "customer"),
        "spent": Number(spent),
        "good": Nominal(what, goods),
    }
    view = Relational(
        {
            "customer": RowSet("customer", customers, {}, None, none),
            "buy": RowSet("buy", buys, columns, times, np.zeros(buys, np.int32)),
        },
        {},
        {},
    )
    moments = np.full(customers, 80.0)
    early = times < 80
    latest = np.zeros(customers)
    for row in np.argsort(times):
        if early[row]:
            latest[who[row]] = spent[row]
    tea = np.zeros(customers, bool)
    tea[who[early & (what == 7)]] = True
    base = RowSet(
        "task",
        customers,
        {"who": Link(np.arange(customers, dtype=np.int32), "customer")},
        moments,
        none,
    )
    return view, base, latest, tea, rng


def learned(view, examples, **settings):
    learner = RelationalBoost(target="y", **settings)
    return drive(None, lambda course: learner.learn_examples(view, examples, course))


def test_a_planted_latest_value_is_found_and_later_rows_are_not_seen():
    view, base, latest, _, rng = shop(1)
    label = 3 * (latest > 12) + 0.3 * rng.standard_normal(base.rows)
    fitted = learned(view, RowExamples(base, label, (), np.ones(base.rows), Place("task", "y")))
    said = [str(feature) for feature in features_of(fitted.model.trees[:3])]
    assert "latest spent of buy by customer of its who" in said
    error = label - fitted.model.scores(view, base)[:, 0]
    assert np.mean(error**2) < 0.15 * np.var(label)
    # what comes after the moment of the examples changes nothing
    buy = view["buy"]
    late = buy.times >= 80
    changed = Number(np.where(late, 1e6, buy.columns["spent"].values))
    other = view.with_row_set(
        RowSet("buy", buy.rows, {**buy.columns, "spent": changed}, buy.times, buy.part)
    )
    assert np.array_equal(fitted.model.scores(view, base), fitted.model.scores(other, base))


def goods(seed):
    """Customers, with what they spend on five goods: return it for all and for tea."""
    rng = np.random.default_rng(seed)
    customers, buys = 600, 4000
    who, good = rng.integers(0, customers, buys), rng.integers(0, 5, buys)
    spent = rng.exponential(10.0, buys)
    nothing = np.zeros(customers, np.int32)
    columns = {
        "customer": Link(who.astype(np.int32), "customer"),
        "good": Nominal(good.astype(np.int32), ("ale", "gin", "milk", "tea", "wine")),
        "spent": Number(spent),
    }
    view = Relational(
        {
            "customer": RowSet("customer", customers, {}, None, nothing),
            "buy": RowSet("buy", buys, columns, None, np.zeros(buys, np.int32)),
        },
        {},
        {},
    )
    every = np.bincount(who, spent, customers)
    return view, every, np.bincount(who, spent * (good == 3), customers), rng


def above(view, numbers, least, rng):
    """Return examples that mostly have the label where a number is large."""
    chances = np.where(numbers > least, 0.9, 0.1)
    label = (rng.random(len(numbers)) < chances).astype(float)
    place = Place("customer", "y")
    return RowExamples(view["customer"], label, FLAGS, np.ones(len(numbers)), place)


def test_what_is_spent_on_one_of_several_goods_is_found():
    view, _, on_tea, rng = goods(5)
    rule = learned(view, above(view, on_tea, 12, rng)).model.listed.rules[0]
    assert "sum spent of buy by customer with good = tea" in rule.sentence("y")


def test_what_all_rows_tell_better_is_not_asked_of_some_of_them():
    view, every, on_tea, rng = goods(6)

    def of_some(numbers, least):
        examples = above(view, numbers, least, rng)
        features = _Learning(RelationalBoost(target="y"), view, examples).open().features
        return [text for text in map(str, features) if " spent " in text and " with " in text]

    assert not of_some(every, 60)
    assert "sum spent of buy by customer with good = tea" in of_some(on_tea, 12)


def test_a_planted_constant_is_found_among_many():
    view, base, _, tea, rng = shop(2, 1000)
    label = (rng.random(base.rows) < np.where(tea, 0.8, 0.2)).astype(float)
    weight = np.ones(base.rows)
    fitted = learned(view, RowExamples(base, label, FLAGS, weight, Place("task", "y")))
    said = [str(feature) for feature in features_of(fitted.model.trees)]
    assert "any buy by customer of its who with good = G7" in said
    curve = fitted.notes.curve
    assert min(curve) < 0.95 * curve[0]
    assert fitted.notes.steps == len(fitted.model.trees)
    assert curve[fitted.notes.steps] < min(curve) + 0.01 * curve[0]


@pytest.mark.parametrize("kind", ["logistic", "classes", "squares"])
def test_slopes_are_the_derivatives_of_the_deviance(kind):
    rng = np.random.default_rng(0)
    outputs = 3 if kind == "classes" else 1
    loss = Loss(kind, outputs)
    scores, weight = rng.standard_normal((5, outputs)), rng.uniform(0.5, 2, 5)
    label = rng.integers(0, max(outputs, 2), 5).astype(float)
    slopes, _ = loss.slopes(scores, label, weight)
    for row in range(5):
        for output in range(outputs):
            moved = [scores.copy(), scores.copy()]
            moved[0][row, output] += 1e-6
            moved[1][row, output] -= 1e-6
            up, down = (loss.deviance(at, label, weight) for at in moved)
            assert -(up - down) / 2e-6 * weight.sum() == pytest.approx(
                slopes[row, output], abs=1e-5
            )


def brute_force(bins, kinds, rows, gradients, curvatures, least, ridge):
    """The best gain of any threshold, with the unknown on either side."""
    best = 0.0

    def value(mask):
        total, curved = gradients[rows][mask].sum(axis=0), curvatures[rows][mask].sum(axis=0)
        return float((total**2 / (curved + ridge)).sum())

    for feature in range(len(bins)):
        column = bins[feature][rows]
        for edge in range(-1, 20):
            for missing in (False, True):
                passing = np.where(column == 255, missing, column > edge)
                if min(passing.sum(), (~passing).sum()) >= least and edge >= 0:
                    gain = value(passing) + value(~passing) - value(np.ones(len(rows), bool))
                    best = max(best, gain)
    return best


@pytest.mark.parametrize("seed", range(8))
def test_the_best_split_is_that_of_brute_force(seed):
    rng = np.random.default_rng(seed)
    number, outputs = 60, int(rng.integers(1, 4))
    bins = rng.integers(0, 6, (4, number)).astype(np.uint8)
    bins[rng.random(bins.shape) < 0.1] = 255
    gradients = rng.standard_normal((number, outputs))
    curvatures = rng.uniform(0.1, 1, (number, outputs))
    empty = np.zeros(number + 1, np.int64)
    binned = Binned(
        bins, np.zeros(4, np.int8), np.full(4, 6), empty, np.empty(0, np.int32), np.empty(0)
    )
    rows = np.sort(rng.choice(number, 50, replace=False))
    settings = GrowSettings(2, 5, 1.0)
    slopes = gradients[rows], curvatures[rows]
    root = grow(binned, rows, *slopes, np.ones(4, bool), settings)
    expected = brute_force(bins, None, rows, gradients, curvatures, 5, 1.0)
    assert root.cut.gain == pytest.approx(expected)
    assert len(root.yes.places) + len(root.no.places) == 50


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("label", ["all", "none", "some", "number"])
def test_few_examples_and_labels_that_are_all_alike(number, label):
    view, base, *_ = shop(1, number)
    labels = {
        "all": np.ones(number),
        "none": np.zeros(number),
        "some": np.arange(number) % 2.0,
        "number": np.full(number, 7.0),
    }[label]
    classes = () if label == "number" else FLAGS
    examples = RowExamples(base, labels, classes, np.ones(number), Place("task", "y"))
    model = learned(view, examples).model
    if label == "number":
        assert model.scores(view, base) == pytest.approx(7.0)
    else:
        chances = model.probabilities(view, base)[:, 1]
        assert np.all((chances > 0) & (chances < 1))
        assert label == "some" or np.all((chances > 0.5) == (label == "all"))


def test_no_feature_at_all_leaves_the_base_rate():
    base = RowSet("coin", 40, {}, None, np.zeros(40, np.int32))
    view = Relational({"coin": base}, {}, {})
    labels = (np.arange(40) < 10).astype(float)
    model = learned(view, RowExamples(base, labels, FLAGS, np.ones(40), Place("coin", "y"))).model
    assert model.probabilities(view, base)[:, 1] == pytest.approx(0.25, abs=0.01)
    assert model.features() == []
    nothing = RowExamples(base, np.full(40, np.nan), FLAGS, np.ones(40), Place("coin", "y"))
    with pytest.raises(InputError, match="no example has a label"):
        learned(view, nothing)


def weak_features(seed, rows):
    """Return rows of forty columns that each say a little of a label, with labels."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 2, (40, rows))
    odds = 0.7 * (2 * cells - 1).sum(axis=0)
    label = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(float)
    columns = {f"c{k}": Nominal(row.astype(np.int32), ("a", "b")) for k, row in enumerate(cells)}
    return RowSet("task", rows, columns, None, np.zeros(rows, np.int32)), label


def test_the_model_does_not_depend_on_the_number_of_threads():
    base, label = weak_features(4, 800)
    examples = RowExamples(base, label, FLAGS, np.ones(base.rows), Place("task", "y"))
    found = []
    for threads in (1, 2, 8):
        with threadpool_limits(limits=threads):
            found.append(learned(Relational({}, {}, {}), examples, steps=10))
    assert found[0].model.trees
    assert found[0].notes.by_tests > 0  # dense sums took part
    assert found[0].model == found[1].model == found[2].model


def test_what_follows_without_exception_is_said_with_certainty():
    # thirty of four hundred: shrunken leaves alone would stop at one in ten
    view, base, _, _, rng = shop(5)
    label = np.zeros(base.rows)
    label[rng.choice(base.rows, 30, replace=False)] = 1.0
    flag = Nominal(label.astype(np.int32), FLAGS)
    base = RowSet("task", base.rows, {**base.columns, "flag": flag}, base.times, base.part)
    examples = RowExamples(base, label, FLAGS, np.ones(base.rows), Place("task", "y"))
    fitted = learned(view, examples)
    chance = fitted.model.probabilities(view, base)[:, 1]
    assert chance[label == 1].min() > 0.97
    assert chance[label == 0].mean() < 0.003
    assert fitted.notes.by_trees > 1.0 or fitted.notes.by_tests > 0.0
    short = fitted.model.distilled().probabilities(view, base)[:, 1]
    assert short[label == 1].min() > 0.95
    assert fitted.model.listed.kept > 0.95


def test_many_weak_features_are_weighed_together():
    base, label = weak_features(6, 300)
    view = Relational({}, {}, {})
    examples = RowExamples(base, label, FLAGS, np.ones(300), Place("task", "y"))
    fitted = learned(view, examples)
    trees_alone = min(fitted.notes.curve)
    assert fitted.notes.by_tests > 0
    asked, truth = weak_features(7, 2000)
    chance = fitted.model.probabilities(view, asked)[:, 1]
    assert -np.mean(np.log(np.where(truth > 0, chance, 1 - chance))) < 0.8 * trees_alone


def test_a_table_of_a_few_rows_at_the_end_of_three_links_is_as_good_as_a_value():
    rng = np.random.default_rng(2)
    genre = {"id": Column.of(range(5)), "label": Column.of([f"genre {n}" for n in range(5)])}
    of_song = rng.integers(0, 5, 200)
    song = {"id": Column.of(range(200)), "genre": Column.of(of_song)}
    of_invoice = rng.integers(0, 300, 900)
    invoice = {"id": Column.of(range(900)), "customer": Column.of(of_invoice)}
    in_line, sold = rng.integers(0, 900, 1500), rng.integers(0, 200, 1500)
    line = {"id": Column.of(range(1500)), "invoice": Column.of(in_line), "song": Column.of(sold)}
    jazz = np.bincount(of_invoice[in_line][of_song[sold] == 2], minlength=300)
    customer = {"id": Column.of(range(300)), "fan": Column.of(jazz >= 2)}
    tables = [
        Table("genre", genre, ("id",)),
        Table("song", song, ("id",), (ForeignKey(("genre",), "genre"),)),
        Table("customer", customer, ("id",)),
        Table("invoice", invoice, ("id",), (ForeignKey(("customer",), "customer"),)),
        Table(
            "line",
            line,
            ("id",),
            (ForeignKey(("invoice",), "invoice"), ForeignKey(("song",), "song")),
        ),
    ]
    data = ml.tables_data(tables).data
    model = RelationalBoost(target="customer.fan", steps=20).fit(data).model
    (rule,) = model.shown_rules(1)
    assert rule.rule.startswith(
        "at least 2 line by invoice with song.genre.label = genre 2, over all"
    )


def test_outliers_of_a_number_do_not_hide_what_it_depends_on():
    rng = np.random.default_rng(5)
    big = rng.random(600) < 0.3
    price = 10 + 5 * big + rng.normal(size=600)
    price[::97] *= 1000
    columns = {"id": Column.of(range(600)), "big": Column.of(big), "price": Column.of(price)}
    data = ml.tables_data([Table("house", columns, ("id",))]).data
    model = RelationalBoost(target="house.price").fit(data).model
    answers = ml.predict_rows(model, data).values[:, 0]
    usual = price < 100
    assert np.abs(answers - price)[usual].mean() < 1.2
    rule = model.shown_rules(1)[0]
    here = big == ("not false" in rule.rule or "true" in rule.rule)
    assert rule.share == pytest.approx(price[here].mean())  # as anyone would count it


def test_rules_are_counted_in_all_rows_not_in_a_sample(monkeypatch):
    monkeypatch.setattr("mlnlearn.structure.relational_boosting.distil._SAMPLE", 150)
    rng = np.random.default_rng(6)
    red = rng.random(700) < 0.4
    sold = rng.random(700) < np.where(red, 0.8, 0.2)
    columns = {"id": Column.of(range(700)), "red": Column.of(red), "sold": Column.of(sold)}
    data = ml.tables_data([Table("car", columns, ("id",))]).data
    rule = RelationalBoost(target="car.sold").fit(data).model.shown_rules(1)[0]
    here = red == ("red is true" in rule.rule or "red is not false" in rule.rule)
    assert rule.support == here.sum()
    assert rule.share == pytest.approx(sold[here].mean())
    assert rule.base == pytest.approx(sold.mean())


def test_a_day_is_predicted_and_said_as_a_day():
    rng = np.random.default_rng(7)
    late = rng.random(400) < 0.5
    day = np.datetime64("2020-01-01") + np.where(late, 200, 0) + rng.integers(0, 9, 400)
    columns = {
        "id": Column.of(range(400)),
        "late": Column.of(late),
        "end": Column.of(list(day.astype(str))),
    }
    data = ml.tables_data([Table("job", columns, ("id",))]).data
    learner = RelationalBoost(target="job.end")
    scores = ml.held_out_scores(learner, data)
    assert scores.scores["mae"] < 4 < 50 < scores.baseline["mae"]
    assert scores.in_words()[0][0] == "mean absolute error in days"
    (rule,) = learner.fit(data).model.shown_rules(1)
    assert "end is 2020-0" in rule.sentence


def test_of_a_skewed_number_that_nothing_tells_the_median_is_answered():
    rng = np.random.default_rng(8)
    columns = {
        "id": Column.of(range(300)),
        "sort": Column.of(rng.integers(0, 3, 300)),
        "cost": Column.of(rng.exponential(100, 300).round(2)),
    }
    data = ml.tables_data([Table("claim", columns, ("id",))]).data
    scores = ml.held_out_scores(RelationalBoost(target="claim.cost"), data)
    assert scores.scores["mae"] <= 1.001 * scores.baseline["mae"]


def test_what_names_have_in_common_is_shorter_than_a_list_of_them():
    def length(feature, *names):
        return _length((Condition(FeatureTest(feature, names=names)),))

    town = Feature((Forward("town"),), "")
    climate = Feature((Forward("town"), Forward("region")), "climate")
    assert length(climate, "wet") < length(town, *(f"town {n}" for n in range(9)))
    assert length(town, "Brno") < length(climate, "wet")
    assert length(town, "Brno", "Linz") < length(climate, "wet")
