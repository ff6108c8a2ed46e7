"""Small random schemas of tables, and counting by enumeration."""

from collections import Counter
from itertools import product

import duckdb
import numpy as np
import pandas as pd

import mlnlearn as ml
from mlnlearn.data.load.frames import from_frames
from mlnlearn.data.load.tables import Keys
from mlnlearn.structure.join_bayes.encode import EncodedData
from mlnlearn.structure.join_bayes.family_counts import FamilyCounter
from mlnlearn.structure.join_bayes.layout import NetLayout


def entity_frame(rng, name, size, columns, missing=0.0):
    frame = {"id": [f"{name}{k}" for k in range(size)]}
    for column, values in columns.items():
        codes = rng.integers(values, size=size)
        codes[:values] = np.arange(values)[: len(codes)]  # every value occurs
        cells = [f"v{code}" for code in codes]
        frame[column] = [None if rng.random() < missing else cell for cell in cells]
    return pd.DataFrame(frame)


def link_frame(rng, left, right, density, columns, missing=0.0):
    """Random links between the rows of two entity frames, with attributes."""
    pairs = [(a, b) for a in left["id"] for b in right["id"] if rng.random() < density]
    pairs = pairs or [(left["id"][0], right["id"][0])]
    frame = {"one": [a for a, _ in pairs], "two": [b for _, b in pairs]}
    for column, values in columns.items():
        cells = [f"w{code}" for code in rng.integers(values, size=len(pairs))]
        frame[column] = [None if rng.random() < missing else cell for cell in cells]
    return pd.DataFrame(frame)


def chain_tables(seed, missing=0.0, size=3):
    """Four entity tables in a chain of three relationships."""
    rng = np.random.default_rng(seed)
    a = entity_frame(rng, "a", size, {"ax": 2, "ay": 3}, missing)
    b = entity_frame(rng, "b", size + 1, {"bx": 2}, missing)
    c = entity_frame(rng, "c", size, {"cx": 3}, missing)
    d = entity_frame(rng, "d", 2, {"dx": 2}, missing)
    tables = {
        "a": a, "b": b, "c": c, "d": d,
        "ab": link_frame(rng, a, b, 0.5, {"abx": 2, "aby": 2}, missing),
        "bc": link_frame(rng, b, c, 0.4, {}, missing),
        "cd": link_frame(rng, c, d, 0.6, {"cdx": 3}, missing),
    }  # fmt: skip
    keys = {name: Keys("id") for name in "abcd"}
    for name in ("ab", "bc", "cd"):
        keys[name] = Keys(("one", "two"), {"one": name[0], "two": name[1]})
    return load(tables, keys)


def self_tables(seed, missing=0.0, size=4):
    """People who know people, and where they live."""
    rng = np.random.default_rng(seed)
    person = entity_frame(rng, "p", size, {"sex": 2, "mood": 3}, missing)
    town = entity_frame(rng, "t", 2, {"big": 2}, missing)
    tables = {
        "person": person,
        "town": town,
        "knows": link_frame(rng, person, person, 0.5, {"since": 2}, missing),
        "lives": link_frame(rng, person, town, 0.5, {}, missing),
    }
    keys = {
        "person": Keys("id"),
        "town": Keys("id"),
        "knows": Keys(("one", "two"), {"one": "person", "two": "person"}),
        "lives": Keys(("one", "two"), {"one": "person", "two": "town"}),
    }
    return load(tables, keys)


def flag_tables(seed, missing=0.2, size=6):
    """Yes-or-no columns of an entity and of a link, and a foreign key."""
    rng = np.random.default_rng(seed)
    person = entity_frame(rng, "p", size, {"sex": 2}, missing)
    town = entity_frame(rng, "t", 3, {"big": 2})
    cells = [(1 - missing) / 2, (1 - missing) / 2, missing]
    person["fan"] = [rng.choice(["yes", "no", None], p=cells) for _ in range(size)]
    person["home"] = [rng.choice(town["id"]) for _ in range(size)]
    visits = link_frame(rng, person, town, 0.5, {})
    visits["often"] = [rng.choice(["yes", "no", None], p=cells) for _ in visits["one"]]
    keys = {
        "person": Keys("id", {"home": "town"}),
        "town": Keys("id"),
        "visits": Keys(("one", "two"), {"one": "person", "two": "town"}),
    }
    tables = {"person": person, "town": town, "visits": visits}
    flags = 'person.columns.fan = {as = "flag"}\nvisits.columns.often = {as = "flag"}'
    return from_frames(tables, keys=keys, mapping=flags)


def campus_tables(seed, students=300):
    """Grades that go with students and courses, salaries that go with students and professors."""
    rng = np.random.default_rng(seed)
    student = entity_frame(rng, "s", students, {"bright": 3})
    course = entity_frame(rng, "c", students // 10, {"easy": 2})
    prof = entity_frame(rng, "p", students // 10, {"liked": 2})
    taken = link_frame(rng, course, student, 0.1, {})
    hired = link_frame(rng, prof, student, 0.02, {})
    bright, easy, liked = (
        dict(zip(frame["id"], frame[name].str[1:].astype(int), strict=True))
        for frame, name in ((student, "bright"), (course, "easy"), (prof, "liked"))
    )
    pairs = zip(taken["one"], taken["two"], strict=True)
    taken["grade"] = [f"g{(bright[s] + easy[c] + rng.integers(2)) % 4}" for c, s in pairs]
    pairs = zip(hired["one"], hired["two"], strict=True)
    hired["salary"] = [f"s{min(bright[s] + liked[p], 2)}" for p, s in pairs]
    tables = {"student": student, "course": course, "prof": prof, "taken": taken, "hired": hired}
    keys = {name: Keys("id") for name in ("student", "course", "prof")}
    keys["taken"] = Keys(("one", "two"), {"one": "course", "two": "student"})
    keys["hired"] = Keys(("one", "two"), {"one": "prof", "two": "student"})
    return load(tables, keys)


def load(tables, keys):
    return from_frames(tables, keys=keys)


def frames_of(loaded):
    """The tables of a database, as frames by name."""
    database, mapping = loaded
    frames = {}
    for table in mapping:
        if table.has_objects:
            rows = [(name,) for name in database.domains[table.type].names]
        else:
            rows = list(database.rows(table.predicate))
        columns = {key.name: [row[k] for row in rows] for k, key in enumerate(table.keys)}
        for column in table.columns:
            if column.role == "flag":
                true = set(database.rows(column.predicate))
                columns[column.name] = ["yes" if row in true else "no" for row in rows]
            elif column.role in ("value", "link"):
                cells = {row[:-1]: row[-1] for row in database.rows(column.predicate)}
                columns[column.name] = [cells.get(row) for row in rows]
        frames[table.name] = pd.DataFrame(columns)
    return frames


def write(loaded, folder):
    """Write a database as Parquet files, and read them as its mapping says."""
    folder.mkdir(exist_ok=True)
    for name, frame in frames_of(loaded).items():
        with duckdb.connect() as connection:
            connection.register("rows", frame)
            connection.execute(f"COPY (SELECT * FROM rows) TO '{folder}/{name}.parquet'")
    return ml.tables_data(folder, mapping=loaded.mapping).data


def counter_of(databases, mapping, **options):
    layout = NetLayout.of(databases, mapping)
    return FamilyCounter(EncodedData(databases, layout, **options))


def value_of(database, node, assignment):
    """A node's value for entities (codes), read off the facts; None where it is unknown."""
    ids = tuple(assignment[variable] for variable in node.variables)
    if node.relationship is not None:
        linked = ids in {tuple(f) for f in database.facts(node.relationship.name).T.tolist()}
        if node.is_link:
            return int(linked)
        if not linked:
            return 0
    if node.is_flag:
        unknown = {tuple(f) for f in database.unknown_facts(node.predicate.name).T.tolist()}
        if ids in unknown:
            return None
        true = {tuple(f) for f in database.facts(node.predicate.name).T.tolist()}
        return node.values.index("T" if ids in true else "F")
    found = [f[-1] for f in database.facts(node.predicate.name).T.tolist() if tuple(f[:-1]) == ids]
    if not found:
        return None
    name = database.domains[node.predicate.types[-1]].names[found[0]]
    return node.values.index(name)


def brute_counts(databases, layout, nodes, scope=(), true=(), keep=()):
    """Counts of combinations of values by trying all tuples of entities."""
    variables = dict.fromkeys(v for node in nodes for v in node.variables)
    variables |= dict.fromkeys(scope) | dict.fromkeys(v for r in true for v in r.variables)
    variables |= dict.fromkeys(keep)
    found = Counter()
    for database in databases:
        domains = [range(database.size(layout.types[v])) for v in variables]
        for codes in product(*domains):
            world = dict(zip(variables, codes, strict=True))
            if not all(value_of(database, r.link, world) for r in true):
                continue
            values = tuple(value_of(database, node, world) for node in nodes)
            if None not in values:
                found[tuple(world[v] for v in keep) + values] += 1
    return found


def as_counter(counts):
    rows = np.stack([*counts.kept, *counts.columns]) if counts.nodes or counts.kept else None
    if rows is None:
        return Counter({(): int(counts.counts[0])})
    return Counter(dict(zip(map(tuple, rows.T.tolist()), counts.counts.tolist(), strict=True)))
