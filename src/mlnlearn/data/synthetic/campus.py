"""The facts of one university area that advising depends on: people, papers and courses.

People are numbered professors first, then students; -1 marks an empty slot. Every count per paper,
course and offering is bounded, and every person's is a sum of rare events, so that joins through
papers and courses stay linear in the number of facts at any size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

PHASES = ("Pre_Quals", "Post_Quals", "Post_Generals", "Not_Enrolled")
POSITIONS = ("Faculty", "Faculty_adjunct", "Faculty_affiliate", "Faculty_emeritus")
LEVELS = ("Level_100", "Level_300", "Level_400", "Level_500")
YEARS = tuple(f"Year_{year}" for year in range(8))
QUARTERS = tuple(f"{season}_{year}" for year in range(3) for season in ("Fall", "Winter", "Spring"))

_AUTHORS = (0.15, 0.35, 0.25, 0.15, 0.10)  # probability of 1, 2, 3, 4, 5 authors
_POSITION_SHARES = (0.75, 0.10, 0.10, 0.05)


@dataclass(frozen=True, eq=False)
class Campus:
    """People with their attributes, papers with their authors, courses with their offerings.

    Attributes
    ----------
    position
        Per professor, an index into `POSITIONS`.
    year, phase
        Per student, an index into `YEARS` (1 to 7) and `PHASES` (0 to 2).
    authors
        Per paper, up to five different people.
    level
        Per course, an index into `LEVELS`.
    course, quarter, teacher
        Per offering of a course; a course is offered at most once a quarter, by one professor.
    assistants
        Per offering, up to three different students.

    Examples
    --------
    >>> campus = make_campus(100, np.random.default_rng(0))
    >>> campus.professors, campus.students, campus.authors.shape
    (20, 100, (100, 5))
    """

    position: Ints
    year: Ints
    phase: Ints
    authors: Ints
    level: Ints
    course: Ints
    quarter: Ints
    teacher: Ints
    assistants: Ints

    @property
    def professors(self) -> int:
        """Number of professors."""
        return len(self.position)

    @property
    def students(self) -> int:
        """Number of students."""
        return len(self.year)


def make_campus(students: int, rng: np.random.Generator) -> Campus:
    """Draw an area with a professor to five students, a paper to each, a course to four.

    Every student belongs to the group of a random professor; the groups are not recorded, but
    papers and, less so, teaching assistants come from them.

    Examples
    --------
    >>> campus = make_campus(50, np.random.default_rng(1))
    >>> bool((campus.assistants < 60).all()), campus.phase.max() <= 2
    (True, np.True_)
    """
    professors, courses = max(students // 5, 1), max(students // 4, 1)
    groups = _Groups(professors, students, rng)
    year = rng.integers(1, 8, students)
    course, quarter, teacher = _offerings(courses, professors, rng)
    return Campus(
        position=rng.choice(len(POSITIONS), professors, p=_POSITION_SHARES),
        year=year,
        # Quals come in the second year or after it, generals in the fourth or after it.
        phase=np.minimum((year - 1 + rng.integers(0, 2, students)) // 2, 2),
        authors=_authors(students, groups),
        level=rng.integers(0, len(LEVELS), courses),
        course=course,
        quarter=quarter,
        teacher=teacher,
        assistants=_assistants(teacher, groups),
    )


class _Groups:
    """Which students work with which professor, and draws from both."""

    def __init__(self, professors: int, students: int, rng: np.random.Generator) -> None:
        self.rng, self.professors, self.students = rng, professors, students
        group = rng.integers(0, professors, students)
        self.members = np.argsort(group, kind="stable") + professors
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(group, minlength=professors))])

    def professor(self, count: int) -> Ints:
        return self.rng.integers(0, self.professors, count)

    def student_of(self, leaders: Ints, loyalty: float) -> Ints:
        """Draw a student of each leader's group with probability `loyalty`, else any student."""
        first = self.starts[leaders]
        size = self.starts[leaders + 1] - first
        drawn = (self.rng.random(len(leaders)) * size).astype(np.int64)
        anyone = self.rng.integers(0, self.students, len(leaders)) + self.professors
        loyal = (self.rng.random(len(leaders)) < loyalty) & (size > 0)
        member = self.members[np.minimum(first + drawn, self.students - 1)]
        return np.where(loyal, member, anyone)


def _authors(papers: int, groups: _Groups) -> Ints:
    rng = groups.rng
    leader = groups.professor(papers)
    number = rng.choice(len(_AUTHORS), papers, p=_AUTHORS) + 1
    slots = np.empty((papers, len(_AUTHORS)), np.int64)
    for slot in range(len(_AUTHORS)):
        # The first author is mostly the group's professor; further professors are from anywhere.
        professor = leader if slot == 0 else groups.professor(papers)
        chosen = rng.random(papers) < (0.85 if slot == 0 else 0.15)
        drawn = np.where(chosen, professor, groups.student_of(leader, 0.8))
        slots[:, slot] = np.where(slot < number, drawn, -1)
    return _without_repeats(slots)


def _offerings(courses: int, professors: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Offer every course in one to four quarters in a row, mostly by its own professor."""
    times = rng.integers(1, 5, courses)
    course = np.repeat(np.arange(courses), times)
    place = np.arange(len(course)) - np.repeat(np.cumsum(times) - times, times)
    quarter = (rng.integers(0, len(QUARTERS), courses)[course] + place) % len(QUARTERS)
    own = rng.integers(0, professors, courses)[course]
    other = rng.integers(0, professors, len(course))
    return course, quarter, np.where(rng.random(len(course)) < 0.8, own, other)


def _assistants(teacher: Ints, groups: _Groups) -> Ints:
    number = groups.rng.integers(0, 4, len(teacher))
    slots = np.stack([groups.student_of(teacher, 0.3) for _ in range(3)], axis=1)
    return _without_repeats(np.where(np.arange(3) < number[:, None], slots, -1))


def _without_repeats(slots: Ints) -> Ints:
    """Empty every slot whose person stands in an earlier slot of the same row."""
    for later in range(1, slots.shape[1]):
        repeated = (slots[:, :later] == slots[:, later : later + 1]).any(axis=1)
        slots[repeated, later] = -1
    return slots
