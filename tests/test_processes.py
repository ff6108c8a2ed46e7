"""Work is handed out by whatever back end of joblib is in use, with the same results."""

import os

import joblib
import pytest

import mlnlearn as ml
from mlnlearn.data.synthetic import smokers
from mlnlearn.evaluate.parallel import run_all
from mlnlearn.processes import pool


def process(_):
    return os.getpid()


def folds():
    return [smokers(30, rng=seed).databases[0] for seed in range(3)]


def scores(jobs):
    found = ml.cross_validate(ml.BoostedRDN(target="cancer", steps=2), folds(), "cancer", jobs=jobs)
    return [fold.scores["cll"] for fold in found.folds]


def test_by_default_it_is_done_in_other_processes():
    assert os.getpid() not in run_all(process, range(3), jobs=2)


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_a_back_end_that_is_in_use_is_asked(backend):
    with joblib.parallel_config(backend=backend):
        assert type(pool(2)._backend).__name__.lower() == f"{backend}backend"
        assert (os.getpid() in run_all(process, range(3), jobs=2)) == (backend == "threading")


def test_folds_on_dask_give_the_same_scores():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=None),
        joblib.parallel_config(backend="dask"),
    ):
        assert os.getpid() not in run_all(process, range(3), jobs=2)
        found = scores(2)
    assert found == scores(1)
