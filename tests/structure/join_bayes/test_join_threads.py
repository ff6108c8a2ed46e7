"""Families counted ahead by several threads: the same model, and the same work."""

import pytest

import mlnlearn as ml
from join_worlds import campus_tables, chain_tables, flag_tables, self_tables
from mlnlearn.structure.join_bayes import family_counts
from mlnlearn.structure.join_bayes.work import OutOfWorkError, Work


def told(fitted):
    model = fitted.model
    return (
        str(model.net),
        [str(rule.formula) for rule in model.mln().rules],
        model.weights.tolist(),
        [table.counts.tolist() for table in model.net.tables],
        fitted.notes.remarks,
    )


@pytest.mark.parametrize("tables", [chain_tables, self_tables, flag_tables])
@pytest.mark.parametrize("links", [False, True])
def test_the_same_model_by_any_number_of_threads(tables, links):
    loaded = tables(1, missing=0.1, size=12)
    for learner in (ml.LAJDT(links=links), ml.LAJDT(links=links, max_work=700_000)):
        expected = told(learner.fit(loaded))
        for workers in (2, 8):
            assert told(learner.fit(loaded, ml.Run(workers=workers))) == expected


def test_a_limit_on_work_stops_at_the_same_place(monkeypatch):
    loaded = campus_tables(0, 60)
    spent, add = [], Work.add
    monkeypatch.setattr(Work, "add", lambda self, rows: (add(self, rows), spent.append(self.spent)))
    remarks = set()
    for limit in (0, 300_000, 2_000_000):
        found = []
        for workers in (1, 2):
            spent.clear()
            fitted = ml.LAJDT(max_work=limit).fit(loaded, ml.Run(workers=workers))
            found.append((told(fitted), max(spent)))
        assert found[0] == found[1]
        remarks.add(fitted.notes.remarks)
    assert len(remarks) > 1


def test_families_are_counted_ahead(monkeypatch):
    seen = []
    share = family_counts.in_order
    monkeypatch.setattr(
        family_counts, "in_order", lambda f, items: seen.append(len(items)) or share(f, items)
    )
    ml.LAJDT().fit(campus_tables(0, 100))
    assert seen == []
    ml.LAJDT().fit(campus_tables(0, 100), ml.Run(workers=2))
    assert max(seen) > 2


def test_work_apart_is_no_work_until_it_is_asked_for():
    work = Work()
    with work.at_most(10):
        with work.apart() as noted:
            work.add(8)
            with pytest.raises(OutOfWorkError):
                work.add(8)
        assert (work.spent, noted) == (0, [8, 8])


def test_weights_are_the_same_by_any_number_of_threads_where_rows_are_shared_out(monkeypatch):
    monkeypatch.setattr("mlnlearn.structure.join_bayes.feature_rows._PIECE", 4)
    monkeypatch.setattr("mlnlearn.weights.rows._SHARED", 0)
    loaded = campus_tables(0, 100)
    models = [ml.LAJDT().fit(loaded, ml.Run(workers=workers)).model for workers in (1, 2, 8)]
    assert len({tuple(model.weights.tolist()) for model in models}) == 1
    monkeypatch.undo()
    whole = ml.LAJDT().fit(loaded).model
    assert models[0].weights == pytest.approx(whole.weights, abs=1e-6)
