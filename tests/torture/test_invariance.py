"""A model does not depend on the order of rows, on hash seeds, on workers, or on names."""

import os
import subprocess
import sys

import pytest

import mlnlearn as ml
from mlnlearn.registry import LEARNERS
from torture.learning import NAMES, data, files_of


@pytest.fixture(scope="module")
def models():
    """Models as they are learned from rows in order."""
    found = {}

    def model(name):
        if name not in found:
            found[name] = files_of(name, data(name))
        return found[name]

    return model


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rows_changes_no_byte(name, models):
    assert files_of(name, data(name, order=3)) == models(name)


@pytest.mark.parametrize("name", [name for name in NAMES if not LEARNERS[name].tables])
def test_the_order_of_rows_in_tables_changes_no_byte(name):
    one, two = (files_of(name, data(name, order, tables=True)) for order in (None, 3))
    assert one == two


@pytest.mark.parametrize("name", NAMES)
def test_other_names_in_the_same_order_give_the_same_rules(name, models):
    renamed = files_of(name, data(name, letter="Q"))["model.mln"]
    assert renamed.replace(b"Q1_", b"P1_").replace(b"Q2_", b"P2_") == models(name)["model.mln"]


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_workers_changes_no_byte(name, models):
    assert files_of(name, data(name), ml.Run(workers=2)) == models(name)


def test_the_hash_seed_changes_no_byte():
    """Sets and dictionaries of names are walked in another order in each process."""
    said = []
    for seed in ("1", "2"):
        command = [sys.executable, "-m", "torture.learning"]
        found = subprocess.run(
            command,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        said.append(found.stdout.splitlines())
    assert len(said[0]) >= len(NAMES)
    assert [line.split()[0] for line, other in zip(*said, strict=True) if line != other] == []
