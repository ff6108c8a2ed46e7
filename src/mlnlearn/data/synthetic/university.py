"""A university department of any size, with planted rules for who advises whom."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from mlnlearn.data.database import Database
from mlnlearn.data.sampling import distinct, unlisted
from mlnlearn.data.synthetic.campus import (
    LEVELS,
    PHASES,
    POSITIONS,
    QUARTERS,
    YEARS,
    Campus,
    make_campus,
)
from mlnlearn.data.synthetic.names import NumberedVocabulary
from mlnlearn.data.synthetic.truth import Synthetic, Truth
from mlnlearn.data.vocabulary import Vocabulary
from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Variable
from mlnlearn.logic.formulas import And, Exists, Formula, Implies, Rule
from mlnlearn.logic.schema import Schema

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

_SCHEMA = Schema.of(
    "professor(person)",
    "student(person)",
    "advisedBy(person,person)",
    "hasPosition(person,position)",
    "inPhase(person,phase!)",
    "yearsInProgram(person,year!)",
    "courseLevel(course,level!)",
    "taughtBy(course,person,quarter)",
    "ta(course,person,quarter)",
    "publication(title,person)",
)


def university(
    students: int = 100,
    areas: int = 5,
    *,
    rng: np.random.Generator | int,
    noise: float = 0.02,
    coauthor: float = 0.15,
    per_paper: float = 0.8,
    per_course: float = 1.2,
    post_generals: float = 1.0,
    faculty: float = 0.7,
) -> Synthetic:
    """Generate disconnected areas of a department, in the likeness of UW-CSE.

    An area has about nine true atoms per student. Everything but ``advisedBy`` is drawn first (see
    `mlnlearn.data.synthetic.campus`); then, independently for every student ``s`` and professor
    ``p``, the log-odds of ``advisedBy(s,p)`` are the sum of the weights of the planted rules, each
    times its count: exactly the conditional distribution of the Markov logic network returned.

    Parameters
    ----------
    students
        Students per area; 1.1 million in one area make about ten million true atoms.
    areas
        Number of areas, each a database with its own constants.
    rng
        A generator, or the seed of one.
    noise
        Sets the base rate: the probability ``noise / professors`` of advising without any link, so
        that advisors without a link stay few in an area of any size.
    coauthor
        Probability of advising a co-author, with one paper in common and nothing else in favour.
    per_paper, per_course, post_generals, faculty
        Log-odds added per paper in common, per offering of the professor's where the student
        assists, after the student's generals, and for regular faculty.

    Examples
    --------
    >>> made = university(200, areas=2, rng=0)
    >>> len(made.databases), made.databases[0].size("person")
    (2, 240)
    >>> for rule in made.rules[2:]:
    ...     print(f"{rule.weight:.1f}", rule.formula)
    -7.6 advisedBy(s,p)
    5.1 (EXIST t publication(t,s) ^ publication(t,p)) => advisedBy(s,p)
    0.8 publication(t,s) ^ publication(t,p) => advisedBy(s,p)
    1.2 ta(c,s,q) ^ taughtBy(c,p,q) => advisedBy(s,p)
    1.0 inPhase(s,Post_Generals) => advisedBy(s,p)
    0.7 hasPosition(p,Faculty) => advisedBy(s,p)
    """
    if students < 1 or areas < 1:
        raise InputError(f"a university needs students and areas; found {students} and {areas}")
    rate = noise / max(students // 5, 1)
    if not (0 < rate < 1 and 0 < coauthor < 1):
        raise InputError(
            "the base rate noise / professors and coauthor are probabilities, neither 0 nor 1;"
            f" found {rate:g} and {coauthor:g}"
        )
    generator = np.random.default_rng(rng)
    base = float(logit(rate))
    # One common paper counts for the link and for itself; together they must reach `coauthor`.
    link = float(logit(coauthor)) - base - per_paper
    weights = np.array([base, link, per_paper, per_course, post_generals, faculty])
    drawn = [_draw(students, weights, generator, f"A{area}") for area in range(areas)]
    databases, truths = (tuple(items) for items in zip(*drawn, strict=True))
    return Synthetic(databases, _rules(weights), truths)


def _draw(
    students: int, weights: Floats, rng: np.random.Generator, name: str
) -> tuple[Database, dict[str, Truth]]:
    campus = make_campus(students, rng)
    # Shuffled, so that neither codes nor names tell professors from students.
    code = rng.permutation(campus.professors + students).astype(np.int32)
    keys, log_odds = _linked(campus, weights)
    probabilities = expit(log_odds)
    listed = np.stack(np.divmod(keys, campus.professors))
    advised = np.concatenate(
        [
            listed[:, rng.random(len(keys)) < probabilities],
            _unlinked(campus, listed, weights, rng),
        ],
        axis=1,
    )

    def coded(pairs: Ints) -> NDArray[np.int32]:
        return np.stack([code[pairs[0] + campus.professors], code[pairs[1]]])

    facts = _facts(campus, code) | {"advisedBy": coded(advised)}
    database = Database.from_codes(_SCHEMA, _domains(campus, name), facts, name=name)
    columns = coded(listed)
    order = np.lexsort(columns[::-1])
    truth = Truth(
        "advisedBy",
        np.ascontiguousarray(columns[:, order]),
        probabilities[order],
        _classes(campus, code),
        _class_table(weights),
    )
    return database, {"advisedBy": truth}


def _linked(campus: Campus, weights: Floats) -> tuple[Ints, Floats]:
    """Return the pairs with a common paper or course, by key ``student · professors + professor``.

    With them come their log-odds.
    """
    papers, shared = np.unique(_coauthors(campus), return_counts=True)
    offerings, assisted = np.unique(_assisting(campus), return_counts=True)
    keys = np.union1d(papers, offerings)
    base, link, per_paper, per_course, post_generals, faculty = weights
    log_odds = np.full(len(keys), base)
    log_odds[np.searchsorted(keys, papers)] += link + per_paper * shared
    log_odds[np.searchsorted(keys, offerings)] += per_course * assisted
    student, professor = np.divmod(keys, campus.professors)
    log_odds += post_generals * _after_generals(campus)[student]
    log_odds += faculty * _regular(campus)[professor]
    return keys, log_odds


def _coauthors(campus: Campus) -> Ints:
    """Return the keys of the student and professor of every pair of authors of every paper."""
    slots = campus.authors.T
    found = []
    for one in slots:
        for other in slots:
            pair = (one >= campus.professors) & (other >= 0) & (other < campus.professors)
            found.append((one[pair] - campus.professors) * campus.professors + other[pair])
    return np.concatenate(found)


def _assisting(campus: Campus) -> Ints:
    """Return the keys of the assistant and teacher of every offering."""
    filled = campus.assistants >= 0
    teacher = np.broadcast_to(campus.teacher[:, None], filled.shape)[filled]
    return (campus.assistants[filled] - campus.professors) * campus.professors + teacher


def _after_generals(campus: Campus) -> NDArray[np.bool_]:
    return np.asarray(campus.phase == PHASES.index("Post_Generals"))


def _regular(campus: Campus) -> NDArray[np.bool_]:
    return np.asarray(campus.position == POSITIONS.index("Faculty"))


def _unlinked(campus: Campus, listed: Ints, weights: Floats, rng: np.random.Generator) -> Ints:
    """Draw the advised pairs among the many that have no link, without listing those.

    Within a class of students and professors all have the same probability, so the number of
    advised pairs is binomial, and every set of that size is equally likely.
    """
    table = _class_table(weights)
    found = [np.empty((2, 0), np.int64)]
    after, regular = _after_generals(campus), _regular(campus)
    for phase in (False, True):
        for position in (False, True):
            chosen, others = np.flatnonzero(after == phase), np.flatnonzero(regular == position)
            inside = (after[listed[0]] == phase) & (regular[listed[1]] == position)
            rows = np.searchsorted(chosen, listed[0, inside])
            keys = rows * len(others) + np.searchsorted(others, listed[1, inside])
            total = len(chosen) * len(others) - len(keys)
            count = int(rng.binomial(total, table[1 + phase, 1 + position]))
            drawn = unlisted(distinct(total, count, rng), np.sort(keys))
            row, column = np.divmod(drawn, max(len(others), 1))
            found.append(np.stack([chosen[row], others[column]]))
    return np.concatenate(found, axis=1)


def _classes(campus: Campus, code: NDArray[np.int32]) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Class 0 cannot stand at the place; 1 and 2 are without and with the favourable attribute."""
    advised, advisor = (np.zeros(len(code), np.int8) for _ in range(2))
    advised[code[campus.professors :]] = 1 + _after_generals(campus)
    advisor[code[: campus.professors]] = 1 + _regular(campus)
    return advised, advisor


def _class_table(weights: Floats) -> Floats:
    """Return the probability of advising without a link, by the classes of `_classes`."""
    table = np.zeros((3, 3))
    flags = np.arange(2)
    table[1:, 1:] = expit(weights[0] + weights[4] * flags[:, None] + weights[5] * flags)
    return table


def _domains(campus: Campus, name: str) -> dict[str, Vocabulary]:
    people = campus.professors + campus.students
    return {
        "person": NumberedVocabulary(f"{name}_P", people),
        "course": NumberedVocabulary(f"{name}_C", len(campus.level)),
        "title": NumberedVocabulary(f"{name}_T", len(campus.authors)),
        "position": Vocabulary(POSITIONS),
        "phase": Vocabulary(PHASES),
        "year": Vocabulary(YEARS),
        "level": Vocabulary(LEVELS),
        "quarter": Vocabulary(QUARTERS),
    }


def _facts(campus: Campus, code: NDArray[np.int32]) -> dict[str, NDArray[np.integer]]:
    professors, students = code[: campus.professors], code[campus.professors :]
    # Phase and year are functional: professors too have one of each, the one that means none.
    phase = np.concatenate([np.full(len(professors), len(PHASES) - 1), campus.phase])
    year = np.concatenate([np.zeros(len(professors), np.int64), campus.year])
    paper, slot = np.nonzero(campus.authors >= 0)
    offering, place = np.nonzero(campus.assistants >= 0)
    return {
        "professor": professors[None],
        "student": students[None],
        "hasPosition": np.stack([professors, campus.position]),
        "inPhase": np.stack([code, phase]),
        "yearsInProgram": np.stack([code, year]),
        "courseLevel": np.stack([np.arange(len(campus.level)), campus.level]),
        "taughtBy": np.stack([campus.course, code[campus.teacher], campus.quarter]),
        "ta": np.stack(
            [
                campus.course[offering],
                code[campus.assistants[offering, place]],
                campus.quarter[offering],
            ]
        ),
        "publication": np.stack([paper, code[campus.authors[paper, slot]]]),
    }


def _rules(weights: Floats) -> tuple[Rule, ...]:
    names = ("advisedBy", "publication", "ta", "taughtBy", "inPhase", "hasPosition")
    advised, publication, ta, taught, phase, position = (_SCHEMA[name] for name in names)
    head = advised("s", "p")
    together = And((publication("t", "s"), publication("t", "p")))
    formulas: list[Formula] = [
        head,
        Implies(Exists((Variable("t"),), together), head),
        Implies(together, head),
        Implies(And((ta("c", "s", "q"), taught("c", "p", "q"))), head),
        Implies(phase("s", "Post_Generals"), head),
        Implies(position("p", "Faculty"), head),
    ]
    soft = [Rule(formula, float(w)) for formula, w in zip(formulas, weights, strict=True)]
    typed = [_SCHEMA["student"]("s"), _SCHEMA["professor"]("p")]
    return (*(Rule(Implies(head, atom), hard=True) for atom in typed), *soft)
