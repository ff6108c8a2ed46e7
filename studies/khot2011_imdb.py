"""Table IV of Khot et al. (2011): three targets on IMDB. ``python -m studies.khot2011_imdb``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mlnlearn.data.database import Database
from mlnlearn.data.examples import Examples
from mlnlearn.evaluate.metrics import mean_of
from studies.common import Options, Study, run
from studies.khot2011 import SETTINGS, Question, evaluate, examples_of, folds_of, scores_of
from studies.khot2011_pages import ABOUT, SHIFTED, published_of, question_sections

DATA = "imdb_khot", "schema.mln"
# the paper's names of the targets
TARGETS = {"workedUnder": "workedUnder", "genre": "genre", "femaleGender": "gender"}
# workedUnder: mean of two folds; the others: fold 1 alone.
BOOSTSRL = {
    "workedUnder": {
        "MLN-BT": ("1.0", "-0.114"),
        "MLN-BC": ("1.0", "-0.149"),
        "RDN-B": ("1.0", "-0.045"),
    },
    "genre": {
        "MLN-BT": ("0.56 (fold 1)", "-0.82"),
        "MLN-BC": ("0.53 (fold 1)", "-0.77"),
        "RDN-B": ("0.57 (fold 1)", "-0.75"),
    },
    "femaleGender": {
        "MLN-BT": ("0.81 (fold 1)", "-0.71"),
        "MLN-BC": ("0.78 (fold 1)", "-0.68"),
        "RDN-B": ("0.47 (fold 1)", "-0.69"),
    },
}
STUDY = Study(
    name="khot2011_imdb",
    title="Boosting on IMDB: workedUnder, genre, femaleGender",
    about=(
        "Table IV of Khot, Natarajan, Kersting and Shavlik (2011): each predicate given all "
        "others, five folds. The paper does not say which negatives it tests on; its figures "
        f"stand beside both of ours, and are judged, once, on all of them. {ABOUT}"
    ),
    settings=SETTINGS,
    minutes=1,
    of_papers=True,
)


NOTES = {
    "genre": (
        "Only directors have genres, and little tells which: no rule may use the target itself. "
        "On fold 3 half of the pairs of a director and a genre are false. A published 1.00 ± 0.00 "
        "is beyond what the data allow on all negatives, and on twice the negatives it would take "
        "a lucky sample, so the paper's test set probably was another. Where the simple rule has "
        "the better CLL: twenty steps of length one, each the mean gradient of a leaf, do not take "
        "sure negatives far enough down when they start near the base rate; with a balance of 2, "
        "which the training folds choose, they start higher and fall faster."
    ),
    "femaleGender": (
        "All that can be known is that directors are not listed as female; what the learners find "
        "beyond that does not hold in the next fold."
    ),
}


def actor_rule(question: Question) -> str:
    """Score the rule that knows the share of positives among actors and among others."""
    folds = folds_of(question)
    found = []
    for test in range(len(folds)):
        numbers = [number for number in range(len(folds)) if number != test]
        train, tested = (examples_of(question, folds, part) for part in (numbers, [test]))
        inside, asked = (
            are_actors(train, [folds[n] for n in numbers]),
            are_actors(tested, folds[test:]),
        )
        shares = [
            (train.labels[inside == kind].sum() + 0.5) / ((inside == kind).sum() + 1.0)
            for kind in (False, True)
        ]
        odds = np.log(shares) - np.log1p(-np.array(shares))
        found.append(scores_of(tested.labels, odds[asked.astype(int)], 0.0, [0, test]))
    means = {kind: mean_of([scored[kind] for scored in found]) for kind in ("all", "2x")}
    return (
        "A rule that knows nothing but who is an actor: AUC-PR "
        f"{means['all']['auc_pr']:.3f} and CLL {means['all']['cll']:.3f} on all negatives, AUC-PR "
        f"{means['2x']['auc_pr']:.3f} on twice the negatives."
    )


def twins() -> str:
    """Say in which folds two tests differ that are alike in the others."""
    numbers = []
    for database in folds_of(Question(*DATA, "workedUnder")):
        actors = {person for (person,) in database.rows("actor")}
        cast: dict[str, set[str]] = {}
        for movie, person in database.rows("movie"):
            cast.setdefault(movie, set()).add(person)
        pairs = {(one, other) for people in cast.values() for one in people for other in people}
        others = [(one, other) for one, other in pairs if other not in actors and one != other]
        numbers.append(sum(one not in actors for one, _ in others))
    return (
        "Who worked under whom follows from who is an actor: two people of one movie, the first an "
        "actor, the second none. Among such pairs, that the first is no actor and that both are "
        f"the same person are different tests for {', '.join(map(str, numbers))} pairs of the five "
        "folds. Where the training folds have none, trees take one of the two, which are equally "
        "good there, by the order of tests; a fold that has some may be predicted badly by it."
    )


def are_actors(examples: Examples, databases: Sequence[Database]) -> NDArray[np.bool_]:
    """Tell which examples have an actor in their first place."""
    result = np.zeros(len(examples), np.bool_)
    for number, database in enumerate(databases):
        among = np.isin(examples.columns[0], database.facts("actor")[0])
        result |= among & (examples.database == number)
    return result


def sections(options: Options) -> Iterator[str]:
    """Compute the page."""
    questions = {name: Question(*DATA, name) for name in TARGETS}
    questions["femaleGender, listed examples"] = Question(*DATA, "femaleGender", listed=True)
    for title, question in questions.items():
        name = TARGETS[question.target]
        columns = (f"AUC-PR, {name}", f"CLL, {name}")
        published = published_of("IV", dict.fromkeys(("all", "2x"), columns))
        yield f"## {title}"
        if question.listed:
            yield (
                "Only persons whose gender is known: those listed as male are the negatives, those "
                "listed as both count as female, directors take no part."
            )
        found = evaluate(question, options)
        yield from question_sections(found, published, BOOSTSRL[question.target], judged=("all",))
        if question.target == "workedUnder":
            yield f"### What can be known\n\n{twins()}"
        if question.target in NOTES:
            yield f"### What can be known\n\n{actor_rule(question)} {NOTES[question.target]}"
    yield SHIFTED


if __name__ == "__main__":
    run(STUDY, sections)
