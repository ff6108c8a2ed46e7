"""Boosted models under the protocols of evaluation, and in scikit-learn's tools."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score

from mlnlearn.data.examples import positives_and_negatives
from mlnlearn.data.population import all_atoms
from mlnlearn.data.synthetic import university
from mlnlearn.evaluate.ask import Conditionals, Marginals, atom_probabilities
from mlnlearn.evaluate.cross_validate import cross_validate
from mlnlearn.evaluate.predictions import predict_examples
from mlnlearn.sklearn import MLNClassifier, target_table
from mlnlearn.structure.boosting import BoostedMLN, BoostedRDN

AREAS = university(60, areas=3, rng=0).databases
RDN = BoostedRDN(target="advisedBy", steps=3, max_leaves=3)
MLN = BoostedMLN(target="advisedBy", steps=3, max_leaves=3)


def numbers(results):
    return [(f.fold, f.seed, f.scores, f.n_pos, f.n_neg) for f in results.folds]


@pytest.mark.parametrize("learner", [RDN, MLN])
def test_they_learn_and_are_the_same_in_two_processes(learner):
    one = cross_validate(learner, AREAS, "advisedBy", seeds=2)
    assert numbers(one) == numbers(cross_validate(learner, AREAS, "advisedBy", seeds=2, jobs=2))
    for fold in one.folds:
        base = fold.n_pos / (fold.n_pos + fold.n_neg)
        assert fold.scores["auc_pr"] > 5 * base
        assert fold.scores["auc_roc"] > 0.8


def test_one_target_is_answered_in_closed_form():
    """Nothing in the rules asks for another adviser, so both protocols agree."""
    model = MLN.fit(AREAS[1:]).model
    columns = all_atoms(AREAS[0], "advisedBy")
    given = [
        atom_probabilities(model, AREAS[0], "advisedBy", columns, protocol)
        for protocol in (Marginals(), Conditionals())
    ]
    assert given[0] == pytest.approx(given[1], abs=1e-12)
    found = model.query(AREAS[0]).by_atom()
    names = [f"advisedBy({','.join(row)})" for row in AREAS[0].decode("advisedBy", columns)]
    assert given[0] == pytest.approx([found[name] for name in names], abs=1e-12)


def test_known_targets_of_a_joint_model_are_evidence():
    targets = ("advisedBy", "professor")
    model = BoostedRDN(target=targets, steps=2, max_leaves=3).fit(AREAS[1:]).model
    examples = positives_and_negatives(AREAS[:1], "professor")
    alone = predict_examples(model, AREAS[:1], examples)
    expected = model.probabilities(AREAS[0], examples)
    assert alone.probability == pytest.approx(expected, abs=1e-12)
    together = Marginals(hide=("advisedBy",))
    hidden = predict_examples(model, AREAS[:1], examples, together)
    assert (hidden.probability >= 0).all()
    assert (hidden.probability <= 1).all()
    if model.is_joint:
        blind = AREAS[0].without_facts(targets)
        found = model.query(blind).by_atom()
        rows = AREAS[0].decode("professor", examples.columns)
        assert hidden.probability == pytest.approx([found[f"professor({n})"] for (n,) in rows])


def test_targets_of_a_joint_network_that_are_not_hidden_are_evidence():
    model = (
        BoostedMLN(target=("advisedBy", "professor"), steps=1, max_leaves=2).fit(AREAS[1:]).model
    )
    examples = positives_and_negatives(AREAS[:1], "professor")
    alone = predict_examples(model, AREAS[:1], examples)
    rows = list(AREAS[0].decode("professor", examples.columns))
    found = model.query(AREAS[0], "professor").by_atom()
    assert alone.probability == pytest.approx([found[f"professor({n})"] for (n,) in rows])
    for given in (Marginals(), Marginals(hide=("advisedBy",)), Conditionals()):
        found = predict_examples(model, AREAS[:1], examples, given)
        assert found.scores(["auc_roc"])["auc_roc"] > 0.5


def test_in_scikit_learn():
    X, y = target_table(AREAS, "advisedBy", ratio=3, rng=1)
    classifier = MLNClassifier(RDN, databases=AREAS)
    cuts = {"cv": GroupKFold(3), "groups": X[:, -1]}
    found = cross_val_score(classifier, X, y, scoring="roc_auc", **cuts)
    assert found.min() > 0.8
    search = GridSearchCV(
        classifier, {"learner__steps": [0, 3]}, scoring="average_precision", cv=GroupKFold(3)
    )
    search.fit(X, y, groups=X[:, -1])
    assert search.best_params_ == {"learner__steps": 3}


def test_labels_outside_x_do_not_matter():
    """Two databases that differ only in target facts outside the rows of X give one model."""
    X, y = target_table(AREAS[:2], "advisedBy", ratio=3, rng=1)
    half = np.arange(len(y)) % 2 == 0
    blind = [area.without_facts(["advisedBy"]) for area in AREAS[:2]]
    models = [
        MLNClassifier(RDN, databases=databases).fit(X[half], y[half]).model_
        for databases in (AREAS[:2], blind)
    ]
    assert str(models[0]) == str(models[1])
