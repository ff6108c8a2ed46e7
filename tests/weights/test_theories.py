"""Hand-written theories on real data: the objective other systems reached, or better."""

import os
from pathlib import Path

import pytest

from mlnlearn.data.catalog import benchmark
from mlnlearn.model.mln import MLN
from mlnlearn.weights.generative import learn_pseudolikelihood

IMDB = """
director(person)
actor(person)
male(person)
movie(title,person)
genre(person,genr)
workedUnder(person,person)
workedUnder(x,y) => actor(x)
workedUnder(x,y) => director(y)
movie(m,x) ^ movie(m,y) ^ actor(x) ^ director(y) => workedUnder(x,y)
workedUnder(x,y) ^ movie(m,x) => movie(m,y)
actor(x) => !director(x)
genre(x,g) => director(x)
workedUnder(x,y) => !workedUnder(y,x)
actor(x) => male(x)
director(x) => male(x)
movie(m,x) => actor(x) v director(x)
"""


@pytest.mark.skipif("MLNLEARN_DATA" not in os.environ, reason="MLNLEARN_DATA is not set")
def test_imdb_objective_is_at_least_that_of_alchemy():
    """Alchemy, patched for several databases, stopped at -2.943 with the prior, -2.927 without."""
    assert Path(os.environ["MLNLEARN_DATA"]).is_dir()
    mln = MLN.parse(IMDB)
    databases = benchmark("imdb_lsl")[:4]
    learned = learn_pseudolikelihood(mln, databases)
    assert learned.converged
    assert learned.objective == pytest.approx(-2.9421, abs=1e-4)
    assert learned.likelihood == pytest.approx(-2.927, abs=1e-3)
