"""Counts that are summed piece by piece give the models that kept counts give, bit for bit."""

import threading
import warnings

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn import threads
from mlnlearn.counting import view_tables
from mlnlearn.counting.objects import Objects
from mlnlearn.data.synthetic import university
from mlnlearn.errors import DataWarning
from mlnlearn.model.boosted.files import step_to_plain
from mlnlearn.structure.boosting import features as room
from mlnlearn.structure.boosting import trees
from mlnlearn.structure.boosting.candidates import CandidateCounts
from mlnlearn.structure.boosting.features import Features
from mlnlearn.structure.boosting.language import language_of
from mlnlearn.structure.boosting.scoring import NodeSums

LEARNERS = {
    "trees": ml.BoostedMLN(target="advisedBy", steps=2, fraction=0.7),
    "clauses": ml.BoostedMLN(target="advisedBy", representation="clauses", steps=1, beam=3),
    "dependency network": ml.BoostedRDN(target="advisedBy", steps=1, held_out_share=0.2),
    "recursive": ml.BoostedRDN(target="advisedBy", recursive=("advisedBy",), steps=1),
}


@pytest.fixture(scope="module")
def areas():
    return university(60, areas=2, rng=3).databases


@pytest.fixture(params=["all examples apart", "by views"])
def views(request, monkeypatch):
    if request.param == "by views":
        monkeypatch.setattr(room, "_VIEWED", 0)


def learned(learner, areas, workers=1):
    """The steps and shifts of a model, to the last bit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        model = learner.fit(areas, ml.Run(workers=workers)).model
    return [
        ([step_to_plain(step) for step in rules.steps], rules.bias, rules.shifts)
        for rules in model.targets
    ]


@pytest.mark.parametrize("kind", ["dependency network", "recursive"])
def test_sums_are_exact_so_that_views_give_the_same_model(areas, kind, monkeypatch):
    expected = learned(LEARNERS[kind], areas)
    monkeypatch.setattr(room, "_VIEWED", 0)
    assert learned(LEARNERS[kind], areas) == expected


@pytest.mark.parametrize("kind", ["dependency network", "recursive"])
def test_what_is_left_of_sums_is_what_sums_over_the_rest_are(areas, kind, monkeypatch):
    taken = []
    without = NodeSums.without

    def recorded(self, other, regression):
        taken.append(len(self.entries))
        return without(self, other, regression)

    monkeypatch.setattr(NodeSums, "without", recorded)
    expected = learned(LEARNERS[kind], areas)
    assert taken
    sums = trees._GrowingTree._sums

    def anew(self, branch, regression):
        branch.before = None
        return sums(self, branch, regression)

    monkeypatch.setattr(trees._GrowingTree, "_sums", anew)
    taken.clear()
    assert learned(LEARNERS[kind], areas) == expected
    assert not taken


@pytest.mark.usefixtures("views")
@pytest.mark.parametrize("kind", LEARNERS)
def test_models_do_not_depend_on_what_is_kept(areas, kind, monkeypatch):
    expected = learned(LEARNERS[kind], areas)
    pieces = []
    monkeypatch.setattr(view_tables, "_MOST", 500)
    monkeypatch.setattr(Features, "_make", lambda _, units: pieces.append(units[0].path) or {})
    monkeypatch.setattr(view_tables, "PIECE", 700)
    monkeypatch.setattr(room, "PIECE", 700)
    monkeypatch.setattr(room, "_ROWS_PER_EXAMPLE", 1 << 21)
    assert learned(LEARNERS[kind], areas) == expected
    assert max(map(len, pieces)) >= 1  # nodes below the root were summed in pieces too


@pytest.mark.usefixtures("views")
@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("kind", LEARNERS)
def test_models_do_not_depend_on_the_number_of_threads(areas, kind, kept, monkeypatch):
    monkeypatch.setattr(threads, "_SLICE", 100)  # sums of parts are added up: parts are the same
    expected = learned(LEARNERS[kind], areas)
    helpers = set()
    monkeypatch.setattr(room, "_SHARED", 0)
    monkeypatch.setattr(view_tables, "_MOST", 500)
    counts = Features._counts

    def recorded(*given):
        helpers.add(threading.current_thread())
        return counts(*given)

    monkeypatch.setattr(Features, "_counts", recorded)
    if not kept:
        monkeypatch.setattr(Features, "_make", lambda _, units: {})
    for workers in (2, 8):
        assert learned(LEARNERS[kind], areas, workers) == expected
    assert helpers
    assert threading.main_thread() not in helpers


@pytest.mark.usefixtures("views")
def test_little_memory_gives_the_same_model(areas, monkeypatch):
    expected = learned(LEARNERS["trees"], areas)
    passed = []
    whole = Features._passed
    monkeypatch.setattr(Features, "_passed", lambda *given: passed.append(given) or whole(*given))
    with ml.counting_with(memory="1MB") as resources:
        assert learned(LEARNERS["trees"], areas) == expected
        assert 0 < resources.cache.used <= 256 << 10
    assert passed


def test_models_do_not_depend_on_which_prefixes_are_kept(areas, monkeypatch):
    """Of equal candidates the first is taken, whether the one before it is kept or summed."""
    expected = learned(LEARNERS["trees"], areas), learned(LEARNERS["clauses"], areas)
    whole = Features._make
    for odd in (0, 1):

        def some(self, units, odd=odd):
            kept = [unit for unit in units if unit.listed.place % 2 != odd]
            return whole(self, kept) if kept else {}

        monkeypatch.setattr(Features, "_make", some)
        assert (learned(LEARNERS["trees"], areas), learned(LEARNERS["clauses"], areas)) == expected


def test_counts_are_kept_in_few_bytes_and_say_the_same():
    ones, many = np.ones(3, np.int32), np.array([1, 300, 2], np.int32)
    names, examples = np.array([0, 400, 1], np.int32), np.array([4, 5, 9], np.int32)
    small = CandidateCounts.of((ones, examples, ones), 1)
    assert (len(small.candidate), len(small.count), small.nbytes) == (0, 0, 12)
    assert small.groundings.tolist() == [1, 1, 1]
    large = CandidateCounts.of((names, examples, many), 401)
    assert large.candidate.tolist() == names.tolist()
    assert large.groundings.tolist() == many.tolist()
    both = CandidateCounts.joined([small, CandidateCounts.of((ones, examples, 2 * ones), 1)], 1)
    assert both.groundings.tolist() == [1, 1, 1, 2, 2, 2]
    assert both.count.dtype == np.uint8


@pytest.mark.parametrize("kind", ["trees", "clauses", "dependency network"])
def test_counts_are_made_once_for_all_conjunctions_that_share_them(areas, kind, monkeypatch):
    monkeypatch.setattr(room, "_VIEWED", 0)
    made = []
    computed = Features._piece

    def recorded(self, part, table, unit, slabs):
        made.extend(
            (id(unit.tables), unit.joined(template)[: len(unit.path)], unit.joined(template))
            for slab in slabs
            for _, template in slab.templates
        )
        return computed(self, part, table, unit, slabs)

    monkeypatch.setattr(Features, "_piece", recorded)
    learned(LEARNERS[kind], areas)
    assert len(made) == len(set(made)) > 50


def test_what_the_cache_drops_again_and_again_is_summed(areas):
    with ml.counting_with(memory="8MB"):
        world = Objects(areas)
        language = language_of(world, "advisedBy", ["publication", "student"], max_constants=0)
        rows = np.zeros((3, 50), np.int32)
        features = Features(world, rows, ("person", "person"), language)
        unit = features.units((), True)[0]
        made = [unit in features._make([unit])]
        for _ in range(3):
            features._kept.cache._kept.clear()
            made.append(unit in features._make([unit]))
    assert made == [True, True, False, False]


def test_a_join_is_cut_between_examples_and_nowhere_else(areas, monkeypatch):
    world = Objects(areas)
    language = language_of(world, "advisedBy", ["publication", "student"], max_constants=0)
    rng = np.random.default_rng(0)
    people = world.number("person")
    rows = np.stack([np.zeros(40, np.int32), *rng.integers(people // 2, size=(2, 40))]).astype(
        np.int32
    )
    features = Features(world, rows, ("person", "person"), language)
    link = next(iter(features.counter.links(())))[0].pattern
    everyone = features.tables(features.together(()))
    whole = everyone.table((link,))
    monkeypatch.setattr(view_tables, "PIECE", 3)
    parts = list(view_tables.cut(everyone.root, link))
    assert len(parts) > 2
    joined = [part.join(link) for part in parts]
    np.testing.assert_array_equal(
        np.concatenate([t.columns for t in joined], axis=1), whole.columns
    )
    np.testing.assert_array_equal(np.concatenate([t.example for t in joined]), whole.example)
    sizes = [len(np.unique(table.example)) for table in joined if len(table) > 3]
    assert all(number >= 1 for number in sizes)
    assert all(len(table) <= 3 + everyone.root.count(link).max() for table in joined)


def test_what_is_left_out_is_said_once(areas, monkeypatch):
    monkeypatch.setattr(room, "PIECE", 10)
    monkeypatch.setattr(room, "_ROWS_PER_EXAMPLE", 0)
    learner = ml.BoostedRDN(target="advisedBy", steps=2, bodies=("publication",))
    with pytest.warns(DataWarning, match=r"publication\(.*\) joins more than 10 rows") as said:
        learner.fit(areas)
    texts = [str(warning.message) for warning in said]
    assert len(texts) == len(set(texts))


def test_all_examples_can_be_asked_for(areas):
    total = sum(area.ground_atoms("advisedBy") for area in areas)
    with_cap = ml.BoostedRDN(target="advisedBy", steps=0, max_examples=total // 2)
    without = ml.BoostedRDN(target="advisedBy", steps=0, max_examples=None)
    sizes = [
        len(learner._prepare(areas, None).targets[0].pool.labels) for learner in (with_cap, without)
    ]
    assert sizes[0] < sizes[1] == total
