"""Features along links, against their definition row by row on random small worlds."""

import math

import msgspec
import numpy as np
import pytest

from mlnlearn.cache import ByteCache
from mlnlearn.counting.relational import Link, Nominal, Number, Relational, RowSet
from mlnlearn.errors import InputError
from mlnlearn.model.relational.evaluate import Evaluator, Values
from mlnlearn.model.relational.features import Backward, Feature, Forward, Where
from mlnlearn.model.relational.files import FeatureFile, feature_from_file, feature_to_plain
from mlnlearn.model.relational.trees import Test as Condition
from mlnlearn.structure.relational_boosting.candidates import (
    extended,
    features_at,
    features_where,
)


def world(seed, timed):
    """Teams of players; games with times, a score and a mood; fines of games without times."""
    rng = np.random.default_rng(seed)
    sizes = {"team": 2, "player": int(rng.integers(2, 5)), "game": int(rng.integers(0, 12))}
    sizes["fine"] = int(rng.integers(0, 8)) if sizes["game"] else 0

    def codes(name, into):
        return rng.integers(-1, into, sizes[name]).astype(np.int32)

    def numbers(name):
        found = rng.integers(0, 5, sizes[name]).astype(float)
        found[rng.random(sizes[name]) < 0.2] = np.nan
        return found

    moods = ("bad", "fair", "good")
    columns = {
        "team": {"": Nominal(np.arange(2, dtype=np.int32), ("T0", "T1"))},
        "player": {
            "team": Link(codes("player", 2), "team"),
            "size": Number(numbers("player")),
            "born": Number(numbers("player"), is_time=True),
        },
        "game": {
            "player": Link(codes("game", sizes["player"]), "player"),
            "score": Number(numbers("game")),
            "mood": Nominal(codes("game", 3), moods),
        },
        "fine": {
            "game": Link(codes("fine", max(sizes["game"], 1)), "game"),
            "sum": Number(numbers("fine")),
        },
    }
    times = rng.integers(0, 6, sizes["game"]).astype(float)
    times[rng.random(sizes["game"]) < 0.1] = np.nan
    sets = {
        name: RowSet(
            name,
            sizes[name],
            columns[name],
            times if name == "game" and timed else None,
            np.zeros(sizes[name], np.int32),
        )
        for name in sizes
    }
    number = 6
    base = RowSet(
        "task",
        number,
        {"player": Link(rng.integers(-1, sizes["player"], number).astype(np.int32), "player")},
        rng.integers(0, 7, number).astype(float) if timed else None,
        np.zeros(number, np.int32),
    )
    return Relational(sets, {}, {}), base


def by_definition(view, here, row, moment, steps, feature, until):
    """The value of a path at a row as of a moment: None where it is unknown."""
    if not steps:
        return _read(here, row, moment, feature)
    step, rest = steps[0], steps[1:]
    if isinstance(step, Forward):
        to = int(here.columns[step.link].codes[row])
        there = view[here.columns[step.link].to]
        if to < 0:
            return None
        if moment is not None and there.times is not None and not there.times[to] <= moment:
            return None
        return by_definition(view, there, to, moment, rest, feature, until)
    there = view[step.rows]
    rows = [r for r in range(there.rows) if there.columns[step.link].codes[r] == row]
    if there.times is not None:
        rows = [r for r in rows if not math.isnan(there.times[r])]
        rows.sort(key=lambda r: there.times[r])
    if moment is not None and there.times is not None:
        rows = [r for r in rows if there.times[r] < moment or (until and there.times[r] == moment)]
        if step.within is not None:
            rows = [r for r in rows if there.times[r] >= moment - step.within]
    rows = rows[-step.last :] if step.last else rows
    values = []
    for r in rows:
        own = moment is not None and there.times is not None
        asof, later = (there.times[r], False) if own else (moment, until)
        value = by_definition(view, there, r, asof, rest, feature, later)
        if value is not None and has(view, there, r, asof, step.where):
            values.append(value)
    return _say(step, values, moment, there, rows)


def has(view, here, row, moment, where):
    """Whether a row has the name that a step asks for."""
    if where is None:
        return True
    links = tuple(Forward(link) for link in where.links)
    feature = Feature(links, where.column, where.name)
    return by_definition(view, here, row, moment, links, feature, False) == 1.0


def _read(here, row, moment, feature):
    if feature.column is None:
        return 1.0
    column = here.columns[feature.column]
    if isinstance(column, Number):
        value = column.values[row]
        if math.isnan(value):
            return None
        return moment - value if column.is_time and moment is not None else value
    if column.codes[row] < 0:
        return None
    name = column.names[column.codes[row]]
    return name if feature.value is None else float(name == feature.value)


def _say(step, values, moment, there, rows):
    if step.aggregate == "since":
        return moment - there.times[rows[-1]] if rows else None
    if step.aggregate in ("count", "sum", "exists"):
        return {
            "count": float(len(values)),
            "sum": float(sum(v for v in values)) if step.aggregate == "sum" else None,
            "exists": float(any(v != 0 for v in values)),
        }[step.aggregate]
    if not values:
        return None
    said = {"mean": lambda v: sum(v) / len(v), "min": min, "max": max, "latest": lambda v: v[-1]}
    return said[step.aggregate](values)


def all_features(evaluator, base):
    level = [None]
    yield from features_at(None, evaluator, base)
    for _ in range(3):
        level = [path for before in level for path in extended(evaluator.data, base, before)]
        for path in level:
            yield from features_at(path, evaluator, base)
            yield from features_where(path, evaluator, 1)
            if path.end == "fine":
                good = Where(("game",), "mood", "good")
                steps = (*path.steps[:-1], Backward("fine", "game", "sum", where=good))
                yield Feature(steps, "sum")
            steps = [
                step if isinstance(step, Forward) else Backward(step.rows, step.link, "exists")
                for step in path.steps
            ]
            for name, column in evaluator.data[path.end].columns.items():
                if isinstance(column, Nominal):
                    yield Feature(tuple(steps), name, column.names[0])


@pytest.mark.parametrize("until", [False, True])
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_every_feature_is_what_its_definition_says(seed, timed, until):
    view, base = world(seed, timed)
    evaluator = Evaluator(view, timed, until)
    features = list(all_features(evaluator, base))
    assert len(features) > 10
    for feature in features:
        found = evaluator.values(feature, base)
        for row in range(base.rows):
            moment = base.times[row] if timed else None
            expected = by_definition(view, base, row, moment, feature.steps, feature, until)
            value = found.values[row]
            if expected is None:
                assert math.isnan(value), feature
            elif isinstance(expected, str):
                assert found.names[int(value)] == expected, feature
            else:
                assert value == pytest.approx(expected, abs=1e-12), feature


@pytest.mark.parametrize("seed", range(3))
def test_what_paths_share_is_kept_within_the_memory_given(seed):
    view, base = world(seed, True)
    found, most = [], []
    for limit in (0, 1500, 1 << 20):
        evaluator, cache = Evaluator(view, True), ByteCache(limit)
        evaluator._columns = cache.shelf(evaluator)
        features = list(all_features(evaluator, base))
        found.append([evaluator.values(feature, base).values for feature in features])
        most.append(cache.used)
    np.testing.assert_equal(found[0], found[2])
    np.testing.assert_equal(found[1], found[2])
    assert most[0] == 0 < most[1] <= 1500 < most[2]


def test_rows_that_have_a_name_are_looked_at_by_themselves():
    view, base = world(1, True)
    found = [
        feature
        for feature in all_features(Evaluator(view, True), base)
        if isinstance(feature, Feature)
        and any(isinstance(step, Backward) and step.where for step in feature.steps)
    ]
    assert {step.where.name for f in found for step in f.steps[-1:]} == {"bad", "fair", "good"}
    assert {f.steps[-1].where.links for f in found} == {(), ("game",)}
    assert {f.steps[-1].aggregate for f in found} == {"mean", "max", "min", "latest", "sum"}
    file = msgspec.convert(feature_to_plain(found[0]), FeatureFile)
    assert feature_from_file(file) == found[0]


def test_all_aggregates_and_windows_are_tried():
    features = []
    for seed in range(6):
        view, base = world(seed, True)
        features += all_features(Evaluator(view, True), base)
    steps = [step for f in features for step in f.steps if isinstance(step, Backward)]
    said = {step.aggregate for step in steps}
    assert said == {"count", "exists", "mean", "min", "max", "sum", "latest", "since"}
    assert {step.last for step in steps} == {None, 3, 10}
    assert len({step.within for step in steps}) > 1


@pytest.mark.parametrize("seed", range(6))
def test_the_rows_of_a_path_are_those_its_existence_sees(seed):
    view, base = world(seed, True)
    evaluator = Evaluator(view, True)
    steps = (Forward("player"), Forward("team"), Backward("player", "team", "exists"))
    games = Backward("game", "player", "exists")
    for path in (steps, (*steps, games), (steps[0], games), (steps[0], games, Forward("player"))):
        question, rows = evaluator.pairs(path, base, 1000)
        name = "mood" if path[-1] is games else "team"
        column = view["game" if path[-1] is games else "player"].columns[name]
        for value in range(2):
            having = np.zeros(base.rows)
            having[question[column.codes[rows] == value]] = 1
            if name == "team":
                last, said = Forward("team"), ("", f"T{value}")
                found = evaluator.values(Feature((*path, last), *said), base).values
            else:
                found = evaluator.values(Feature(path, "mood", column.names[value]), base).values
            assert having.tolist() == np.nan_to_num(found).tolist()


def test_names_asked_of_a_number_are_refused():
    count = Feature((Backward("friend", "one", "count"),))
    numbers = Values(np.array([3.0, np.nan]))
    with pytest.raises(InputError, match="number of friend by one is a number"):
        Condition(count, names=("Rome",)).holds(numbers)
    assert Condition(count, missing=True).holds(numbers).tolist() == [False, True]


def test_a_path_whose_links_do_not_meet_is_refused():
    view, _ = world(0, False)
    evaluator = Evaluator(view, timed=False)
    with pytest.raises(InputError, match="player of game does not lead to team"):
        evaluator.values(Feature((Backward("game", "player", "count"),)), view.row_sets["team"])


def test_aggregates_of_aggregates_are_said_as_what_they_are():
    def said(aggregate):
        steps = (
            Backward("Invoice", "CustomerId", aggregate),
            Backward("Line", "InvoiceId", aggregate),
        )
        return str(Feature(steps, "Name", "Jazz"))

    assert (
        said("sum")
        == "number of Line by InvoiceId with Name = Jazz, over all Invoice by CustomerId"
    )
    over = "mean over Invoice by CustomerId of the share of Line by InvoiceId with Name = Jazz"
    assert said("mean") == over
    assert said("exists") == "any Invoice by CustomerId with any Line by InvoiceId with Name = Jazz"


def test_links_behind_rows_are_said_by_dots_and_those_before_them_in_words():
    tracks = Backward("Track", "AlbumId", "mean")
    same_album = Feature((Forward("AlbumId"), tracks, Forward("GenreId")), "Name", "Jazz")
    assert str(same_album) == "share of Track of its AlbumId with GenreId.Name = Jazz"
    pages = (Forward("member"), Backward("loan", "reader", "max"), Forward("book"))
    assert str(Feature(pages, "pages")) == "largest book.pages of loan by reader of its member"
    friends = Backward("friend", "b", "sum"), Forward("a")
    of_friends = Feature((*friends, *friends), "party", "red")
    assert str(of_friends) == "number of friend by b with a.party = red, over all a of friend by b"
    back = Feature((Backward("friend", "a", "mean"), Forward("b"), *friends), "party", "red")
    assert str(back) == "mean over b of friend by a of the number of friend by b with a.party = red"
