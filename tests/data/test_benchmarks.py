"""The benchmark data sets: everything is read, and the counts are those of their index."""

import json
import os
import warnings
from pathlib import Path

import pytest

from mlnlearn.data.catalog import VARIABLE, benchmark_tables
from mlnlearn.data.load.alchemy import read_db
from mlnlearn.data.profile import profile
from mlnlearn.syntax.mln import read_mln

ROOT = os.environ.get(VARIABLE, "")
pytestmark = pytest.mark.skipif(not ROOT, reason=f"{VARIABLE} is not set")
FOLDER = Path(ROOT)
INDEX = json.loads((FOLDER / "index.json").read_text()) if ROOT else {}
WITH_FILES = sorted(name for name, entry in INDEX.items() if "folds" in entry)
WITH_TABLES = sorted(name for name, entry in INDEX.items() if "tables" in entry)


def read_all(name):
    """The databases that the index lists, by file."""
    schema = read_mln(FOLDER / name / "schema.mln").schema
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the data are clean: nothing to warn of
        return {file: read_db(FOLDER / name / file, schema=schema) for file in INDEX[name]["folds"]}


@pytest.mark.parametrize("name", WITH_FILES)
def test_counts_are_those_of_the_index(name):
    databases = read_all(name)
    found = profile(list(databases.values()))
    for file, sizes in zip(databases, found.databases, strict=True):
        listed = INDEX[name]["folds"][file]
        assert sizes.true_atoms == listed["true_atoms"]
        assert sizes.constants == listed["constants_by_type"]
        assert sizes.ground_atoms == listed["groundings"]
        present = {predicate: count for predicate, count in sizes.predicates.items() if count}
        assert present == listed["true_by_predicate"]
    total = INDEX[name]["total"]
    assert sum(sizes.true_atoms for sizes in found.databases) == total["true_atoms_sum"]
    assert sum(sizes.ground_atoms for sizes in found.databases) == total["groundings_sum"]


@pytest.mark.parametrize("name", WITH_FILES)
def test_regularities_are_those_of_the_index(name):
    found = profile(list(read_all(name).values()))
    listed = INDEX[name]["properties"]
    assert set(found.symmetric) == set(listed["symmetric"])
    assert set(found.identity) == set(listed["reflexive_only"])
    assert set(found.reflexive) == set(listed["reflexive_total"])
    assert set(found.irreflexive) == set(listed["irreflexive"])
    assert set(map(str, found.exactly_one)) == set(listed["exactly_one"])
    assert set(map(str, found.at_most_one)) == set(listed["at_most_one"])


@pytest.mark.parametrize("name", WITH_TABLES)
def test_tables_have_the_rows_of_the_index(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        database, mapping = benchmark_tables(name)
    for table, rows in INDEX[name]["tables"].items():
        entry = mapping[table]
        if entry.kind == "entity":
            assert database.size(entry.type) == rows
        elif entry.predicate:
            assert database.count(entry.predicate) == rows


@pytest.mark.parametrize(
    "path", [str(path.relative_to(ROOT)) for path in sorted(FOLDER.rglob("*.mln"))] if ROOT else []
)
def test_every_schema_is_read(path):
    assert read_mln(FOLDER / path).schema.predicates


def schema_beside(path):
    """The schema of a database: its folder's, or the one that its split has for itself."""
    own = path.parent / "schema.mln"
    return own if own.is_file() else path.with_name(path.name.split("_")[0] + "_schema.mln")


@pytest.mark.parametrize(
    "path", [str(path.relative_to(ROOT)) for path in sorted(FOLDER.rglob("*.db"))] if ROOT else []
)
def test_every_database_is_read_to_the_last_atom(path):
    file = FOLDER / path
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        database = read_db(file, schema=schema_beside(file))
    lines = [line for line in file.read_text().splitlines() if line.strip()]
    false = [line for line in lines if line.startswith("!")]
    assert database.true_atoms == len(set(lines)) - len(set(false))
