"""Labels of other rows in features: read where they are known, never that of the row itself."""

import numpy as np
import pytest

from mlnlearn.counting.examples import examples_of
from mlnlearn.counting.relational import Place, relational
from mlnlearn.data.database import Database, are_among
from mlnlearn.infer.query import query
from mlnlearn.logic.schema import Schema
from mlnlearn.model.relational.evaluate import Evaluator
from mlnlearn.model.relational.features import Backward, Between, Feature, Forward, Hop, Where
from mlnlearn.model.relational.model import RelationalModel
from mlnlearn.model.relational.own import OwnEvaluator, reads_own, without_labels
from mlnlearn.structure.relational_boosting.learner import RelationalBoost

SCHEMA = Schema.of("on(track,album!)", "length(album,span!)", "genre(track,style!)")


def albums(seed, number=60, tracks=6, known=1.0):
    """Tracks of an album share a genre, more or less; some genres are not known."""
    rng = np.random.default_rng(seed)
    styles = [f"S{k}" for k in range(4)]
    facts = {"on": [], "length": [], "genre": []}
    for album in range(number):
        facts["length"].append((f"A{album}", f"L{rng.integers(3)}"))
        own = rng.integers(4)
        for track in range(tracks):
            name = f"T{album}_{track}"
            facts["on"].append((name, f"A{album}"))
            style = own if rng.random() < 0.9 else rng.integers(4)
            if rng.random() < known:
                facts["genre"].append((name, styles[style]))
    return Database.from_facts(SCHEMA, facts, domains={"style": styles})


def links(seed, people=12):
    """Who knows whom, mostly both ways, with some who know themselves."""
    rng = np.random.default_rng(seed)
    names = [f"P{k}" for k in range(people)]
    facts = {"knows": [], "likes": []}
    for one in names:
        for other in names:
            if rng.random() < 0.25:
                facts["knows"] += [(one, other)] + ([(other, one)] if rng.random() < 0.9 else [])
            if rng.random() < 0.2:
                facts["likes"].append((one, other))
    schema = Schema.of("knows(person,person)", "likes(person,person)")
    return Database.from_facts(schema, facts, domains={"person": names})


GENRE, KNOWS = Place("track", "genre"), Place("knows", None)


def of_album(kind):
    """From a track to its album, and on to the tracks of that."""
    there = (Backward("on", "track", kind), Forward("album"))
    return (*there, Backward("on", "album", kind), Forward("track"))


def lengths_of_a_genre():
    """From a track to its album, and on to the lengths of the tracks there of one genre."""
    where = Where(("track",), "genre", "S1")
    there = (Backward("on", "track", "sum"), Forward("album"))
    return (*there, Backward("on", "album", "sum", where=where), Forward("album"))


OWN = {
    "where": (GENRE, Feature(lengths_of_a_genre(), "length", "L2")),
    "share": (GENRE, Feature(of_album("mean"), "genre", "S1")),
    "mode": (GENRE, Feature(of_album("mode"), "genre")),
    "count": (KNOWS, Feature((Forward("person1"), Backward("knows", "person1", "count")))),
    "back": (KNOWS, Between("person1", "person2", (Hop("knows", ("person2",), ("person1",)),))),
    "through": (
        KNOWS,
        Between("person1", "person2", (Hop("knows", ("person1",), ("person2",)),) * 2),
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_a_row_is_asked_on_data_without_the_labels_of_its_fold(name):
    home, feature = OWN[name]
    database = albums(1, 8, 4, known=0.8) if home is GENRE else links(1)
    view = relational([database])
    examples = examples_of(view, home)
    folds = np.random.default_rng(2).integers(-1, 3, examples.base.rows)
    assert reads_own(feature, home)
    own = OwnEvaluator(view, False, home=home, folds=folds).values(feature, examples.base)
    whole = Evaluator(view, False).values(feature, examples.base)
    for fold in range(3):
        here = folds == fold
        hidden = without_labels(view, home, examples.base, here)
        expected = Evaluator(hidden, False).values(feature, examples.base).values[here]
        assert np.array_equal(own.values[here], expected, equal_nan=True)
    assert np.array_equal(own.values[folds < 0], whole.values[folds < 0], equal_nan=True)
    # hiding matters: what is asked differs from what the labels themselves would tell
    assert not np.array_equal(own.values, whole.values, equal_nan=True)


def mode_by_definition(database, view, track, hidden):
    """The most common known style of the tracks on the same album, the first of several."""
    on = dict(zip(*database.facts("on").tolist(), strict=True))
    counts = np.zeros(4)
    for other, style in zip(*database.facts("genre").tolist(), strict=True):
        if on[other] == on[track] and not hidden[other]:
            counts[style] += 1
    return np.nan if not counts.sum() else float(np.argmax(counts))


def test_the_most_common_label_is_that_of_its_definition():
    database = albums(3, 10, 5, known=0.7)
    view = relational([database])
    base = examples_of(view, GENRE).base
    folds = np.arange(base.rows) % 5
    found = OwnEvaluator(view, False, home=GENRE, folds=folds).values(OWN["mode"][1], base)
    names = view["track"].columns["genre"].names
    styles = [names.index(style) for style in ("S0", "S1", "S2", "S3")]
    for track in range(base.rows):
        expected = mode_by_definition(database, view, track, folds == folds[track])
        expected = expected if np.isnan(expected) else styles[int(expected)]
        assert np.array_equal([found.values[track]], [expected], equal_nan=True)


@pytest.fixture(scope="module")
def learned():
    return RelationalBoost(target="genre").fit(albums(5)).model


def test_tracks_of_an_album_share_a_genre(learned):
    first = learned.listed.rules[0].sentence("genre")
    assert "track.genre" in first
    database = albums(6, known=0.8)
    truth = albums(6)
    asked = database.facts("on")[:1]
    asked = np.setdiff1d(asked, database.facts("genre")[0])
    style = {
        track: truth.domains["style"].names[code]
        for track, code in zip(*truth.facts("genre").tolist(), strict=True)
    }
    columns = np.array([(t, c) for t in asked for c in range(4)], np.int32).T
    chances = learned.predict(database, "genre", columns).reshape(-1, 4)
    names = database.domains["style"].names
    names_of = {database.domains["track"].names[t]: t for t in asked}
    by_truth = {truth.domains["track"].names[t]: s for t, s in style.items()}
    right = [
        names[int(np.argmax(row))] == by_truth[name]
        for name, row in zip(names_of, chances, strict=True)
    ]
    assert len(right) > 50
    assert np.mean(right) > 0.85
    assert np.allclose(chances.sum(axis=1), 1.0)


def test_a_label_does_not_change_what_is_said_of_its_own_row(learned):
    database = albums(7, 10)
    facts = database.facts("genre").copy()
    before = learned.predict(database, "genre", facts)
    seen = False
    for row in range(0, facts.shape[1], 7):
        changed = facts.copy()
        changed[1, row] = (changed[1, row] + 1) % 4
        other = Database.from_codes(
            database.schema, database.domains, {**database.true, "genre": changed}
        )
        after = learned.predict(other, "genre", facts)
        assert after[row] == before[row]
        seen |= not np.array_equal(before, after)
    assert seen  # by others


def test_data_without_any_label_are_answered_by_the_model_without_own_facts(learned, tmp_path):
    database = albums(8).without_facts(["genre"])
    columns = np.array([np.arange(8), np.arange(8) % 4], np.int32)
    assert learned.alone is not None
    home = Place("track", "genre")
    assert not any(reads_own(feature, home) for feature in learned.alone.features())
    assert any(reads_own(feature, home) for feature in learned.features())
    found = learned.predict(database, "genre", columns)
    assert np.array_equal(found, learned.alone.predict(database, "genre", columns))
    learned.save(tmp_path / "m.mln")
    again = RelationalModel.load(tmp_path / "m.mln")
    assert again == learned
    some = albums(9, known=0.5)
    assert np.array_equal(
        again.predict(some, "genre", columns), learned.predict(some, "genre", columns)
    )


def test_links_both_ways_are_found_from_known_ones_and_not_from_themselves():
    people = links(3, 40)
    model = RelationalBoost(target="knows").fit(people).model
    said = " ".join(str(feature) for feature in model.features())
    assert "from its person1 to its person2 by knows (person2 to person1)" in said
    facts = people.facts("knows")
    everything = np.array(np.meshgrid(range(40), range(40)), np.int32).reshape(2, -1)
    true = are_among(everything, facts, [40, 40])
    chances = model.predict(people, "knows", everything)
    assert chances[true].mean() > chances[~true].mean() + 0.3
    # a fact that is asked about is not read: the answer without it is that of its fold
    assert chances[true].max() < 1.0
    assert chances[true].min() < 0.5


def test_a_query_for_unknown_atoms_reads_known_labels_and_one_for_all_does_not(learned):
    some, whole = albums(9, 20), albums(9, 20).without_facts(["genre"])
    facts = some.facts("genre")
    hidden = facts[:, :1]
    evidence = Database.from_codes(
        some.schema,
        some.domains,
        {**some.true, "genre": facts[:, 1:]},
        cells={"genre": hidden[:1]},
    )
    answers = query(learned, evidence, "genre", query_evidence=True)
    assert len(answers) == 4
    asked = np.array([np.repeat(hidden[0], 4), np.arange(4)], np.int32)
    expected = learned.predict(evidence, "genre", asked)
    assert sorted(answers.by_atom().values()) == pytest.approx(sorted(expected), abs=1e-15)
    assert query(learned, evidence, "genre").by_atom() == query(learned, whole, "genre").by_atom()
    best = max(answers, key=lambda answer: answer.probability)
    explained = learned.explain(evidence, best.atom)
    assert explained.probability == pytest.approx(best.probability, abs=1e-12)
    assert any("genre" in part.rule for part in explained.contributions)
