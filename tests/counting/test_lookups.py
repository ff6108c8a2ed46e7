"""Facts found by key against facts found by looking at all of them."""

import numpy as np
import pytest

from mlnlearn.counting import lookups
from mlnlearn.counting.bindings import Bindings
from mlnlearn.counting.kernels import count_candidates
from mlnlearn.counting.objects import Objects
from mlnlearn.counting.pattern import Pattern
from mlnlearn.data.database import Database
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.logic.schema import Schema

SCHEMA = Schema.of("wrote(title,person,year)")
WROTE = SCHEMA["wrote"]


def world_of(sizes, facts):
    kinds = dict(zip(("title", "person", "year"), sizes, strict=True))
    names = {kind: Vocabulary([f"{kind}{k}" for k in range(n)]) for kind, n in kinds.items()}
    return Objects([Database.from_codes(SCHEMA, names, {"wrote": facts.astype(np.int32)})])


@pytest.mark.parametrize(("dense", "low_bits"), [(True, 32), (False, 32), (False, 0)])
@pytest.mark.parametrize("crowded", [True, False])
@pytest.mark.parametrize("known", [(0,), (1,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
def test_facts_are_found_by_any_of_their_places(known, crowded, dense, low_bits, monkeypatch):
    monkeypatch.setattr(lookups, "_MOST_DENSE", 1 << 40 if dense else -1)
    monkeypatch.setattr(lookups, "_MOST_LOW_BITS", low_bits)  # else keys are held as they are
    rng = np.random.default_rng(len(known) + crowded)
    sizes = np.array([400, 300, 9])
    # crowded: most facts are of a few titles, so that one bucket has many keys
    high = np.array([3 if crowded else 400, 300, 9])
    facts = np.stack([rng.integers(n, size=700) for n in high])
    facts[:, :9] = (sizes - 1)[:, None]
    world = world_of(sizes, facts)
    facts = world.relation(WROTE)[1:]
    asked = [rng.integers(n, size=500) for n in sizes]
    chosen = rng.integers(facts.shape[1], size=250)
    for place in range(3):  # half of the rows are of facts
        asked[place][:250] = facts[place][chosen]
    rows = np.stack([np.zeros(500, np.int64), *(asked[place] for place in known)])
    table = Bindings.of(world, rows.astype(np.int32))
    terms = [known.index(p) if p in known else len(known) + p for p in range(3)]
    new = sorted(term for term in terms if term >= len(known))
    pattern = Pattern(
        WROTE, tuple(t if t < len(known) else len(known) + new.index(t) for t in terms)
    )
    same = np.stack([facts[place][None, :] == asked[place][:, None] for place in known]).all(axis=0)
    np.testing.assert_array_equal(table.count(pattern), same.sum(axis=1))
    assert same.any()
    joined = table.join(pattern)
    example, number = np.nonzero(same)
    free = [place for place in range(3) if place not in known]
    expected = sorted(zip(example, *(facts[place][number] for place in free), strict=True))
    found = zip(joined.example, *joined.columns[len(known) + 1 :], strict=True)
    assert sorted(found) == expected


def test_each_key_is_found_however_many_are_in_its_bucket(monkeypatch):
    monkeypatch.setattr(lookups, "_MOST_DENSE", -1)
    monkeypatch.setattr(lookups, "_DENSE", 0)
    titles, people = 40, 2_000  # few facts: a title of k persons, close together, is a bucket
    facts = np.array([(k, 7 + 2 * n, 0) for k in range(titles) for n in range(k)]).T
    world = world_of((titles, people, 1), facts)
    title, person = (a.reshape(-1) for a in np.mgrid[:titles, : 2 * titles + 20])
    rows = np.stack([np.zeros(len(title), np.int64), title, person]).astype(np.int32)
    found = Bindings.of(world, rows).count(Pattern(WROTE, (0, 1, 2)))
    number, odd = np.divmod(person - 7, 2)
    expected = (odd == 0) & (number >= 0) & (number < title)
    np.testing.assert_array_equal(found, expected)
    program = world.lookups.find(Pattern(WROTE, (0, 1, 2)), 2)[1]
    assert 2 * titles < 1 << int(program["shift"][0])  # so that there are buckets of all sizes


def test_counts_beyond_the_room_at_first_and_by_keys_of_both_kinds_are_those_of_each(monkeypatch):
    rng = np.random.default_rng(5)
    sizes = np.array([300, 90, 9])
    facts = np.unique(np.stack([rng.integers(n, size=6000) for n in sizes]), axis=1)
    world = world_of(sizes, facts)
    rows = np.stack([np.zeros(400), rng.integers(300, size=400), rng.integers(90, size=400)])
    table = Bindings.of(world, rows.astype(np.int32))
    monkeypatch.setattr(lookups, "_MOST_DENSE", -1)
    monkeypatch.setattr(lookups, "_DENSE", 0)
    asked = []
    for low_bits, terms, slot in ((32, (0, 2, 3), None), (0, (0, 1, 2), 2), (32, (2, 1, 3), 2)):
        monkeypatch.setattr(lookups, "_MOST_LOW_BITS", low_bits)
        asked.append((10 * len(asked), world.lookups.find(Pattern(WROTE, terms), 2, slot)))
    assert [found[0].wide for _, found in asked] == [False, True, False]
    counted = [
        count_candidates(programs, table.columns, table.example, world.lookups.arena.arrays(wide))
        for wide, programs in lookups.joined_programs(asked)
    ]
    assert len(counted) == 3
    assert sum(len(example) for _, example, _, _ in counted) > 2 * (len(table) + 1024)
    title, person, year = world.relation(WROTE)[1:]
    found = np.zeros((30, 400), np.int64)
    for candidate, example, count, too_large in counted:
        np.add.at(found, (candidate, example), count)
        assert not too_large
        assert count.all()
    same_title = title == table.columns[1][:, None]
    same_person = person == table.columns[2][:, None]
    np.testing.assert_array_equal(found[0], same_title.sum(axis=1))
    for value in range(9):
        both = same_title & same_person & (year == value)
        np.testing.assert_array_equal(found[10 + value], both.sum(axis=1))
        his = same_person & (year == value)
        np.testing.assert_array_equal(found[20 + value], his.sum(axis=1))
