"""A model does not depend on the order of rows, on hash seeds, on workers, or on names."""

import pytest

from torture.invariance import more_workers, other_hash_seed, other_names, other_order
from torture.learning import NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_same", [other_order, other_names, more_workers])
def test_a_model_is_the_same_after(is_same, name):
    assert is_same(name)


def test_the_hash_seed_changes_no_byte():
    """Sets and dictionaries of names are walked in another order in each process."""
    assert [name for name in NAMES if not other_hash_seed(name)] == []
