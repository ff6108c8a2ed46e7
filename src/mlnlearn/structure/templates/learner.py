"""From sets of literals to a network: signs, scores, sub-clauses, one clause after the other.

BUSL, LHL, LSM, HGSM and DMSP differ in where they look for literals that go together. What they do
then is the same: give the literals signs, score each clause beside the unit clauses, drop what is
no better than a part of it, and add the rest in turn, the best first, as long as that is worth it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any, ClassVar

from mlnlearn.data.load.data import Data
from mlnlearn.logic.canonical import ClauseKey, canonical_key, is_part
from mlnlearn.model.mln import MLN
from mlnlearn.run import Course, Fitted
from mlnlearn.settings import AtLeast
from mlnlearn.structure.search.growth import add_in_turn
from mlnlearn.structure.search.network import Alone, Model
from mlnlearn.structure.search.settings import LanguageSettings, SearchNotes, SearchRun
from mlnlearn.structure.search.ties import exceeds, ranked

_BATCH = 512

Template = ClauseKey
"""Literals without signs: of each, the number of its predicate and those of its variables."""


@dataclass(frozen=True, kw_only=True)
class TemplateNotes(SearchNotes):
    """How a learner of templates went.

    Attributes
    ----------
    templates
        How many sets of literals were found.
    candidates
        How many clauses were tried in the end.
    """

    templates: int
    candidates: int


@dataclass(frozen=True, kw_only=True)
class TemplateLearner(LanguageSettings[TemplateNotes]):
    """Base of learners that find sets of literals first; the preset ``"paper"`` scores all clauses.

    Parameters
    ----------
    flips
        Most literals of a clause that are asserted: 0 for denials alone; None for all signs.
    min_weight
        Clauses with a smaller absolute weight beside the unit clauses are dropped.
    one_a_template
        Try the best clause of each set of literals, even if a part of it is better; else all
        clauses that are better than their parts.
    max_clauses
        Score at most so many clauses, as many of each length as the others leave; None for all.
    """

    presets: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {
            **LanguageSettings.presets["paper"],
            "max_literals": 5,
            "max_variables": 5,
            "min_weight": 0.0,
            "one_a_template": False,
            "max_clauses": None,
        }
    }

    max_literals: Annotated[int, AtLeast(2)] = 4
    max_variables: Annotated[int, AtLeast(1)] = 5
    flips: Annotated[int, AtLeast(0)] | None = 1
    min_weight: Annotated[float, AtLeast(0)] = 0.0
    one_a_template: bool = False
    max_clauses: Annotated[int, AtLeast(1)] | None = 5000

    @abstractmethod
    def templates(self, data: Data, course: Course) -> Iterable[Template]:
        """Return sets of at least two literals that go together, the most promising first."""

    def learn(self, data: Data, course: Course) -> Iterator[Fitted[MLN, TemplateNotes]]:
        """Yield the network with the unit clauses alone, and after every clause that is added."""
        with self.started(data, course) as search:
            yield from _TemplateRun(self, search).steps(data)


class _TemplateRun:
    """One run of such a learner."""

    def __init__(self, settings: TemplateLearner, search: SearchRun) -> None:
        self.settings = settings
        self.search = search
        self.language = settings.language(search)
        self.templates: list[Template] = []
        self.candidates: list[ClauseKey] = []

    def steps(self, data: Data) -> Iterator[Fitted[MLN, TemplateNotes]]:
        """Find templates, choose clauses, add them in turn and prune."""
        search, model = self.search, self.search.start()
        yield self.fitted(model)
        self.templates = list(dict.fromkeys(self.settings.templates(data, search.course)))
        self.candidates = self.chosen()
        clauses = [self.language.clause(key) for key in self.candidates]
        larger = model
        for larger in add_in_turn(model, clauses, search.accept, search.journal, search.course):
            yield self.fitted(larger)
        yield self.fitted(search.pruned(larger))

    def fitted(self, model: Model) -> Fitted[MLN, TemplateNotes]:
        """Return a network with what is known of the search."""
        templates, candidates = len(self.templates), len(self.candidates)
        return self.search.fitted(model, TemplateNotes, templates=templates, candidates=candidates)

    def chosen(self) -> list[ClauseKey]:
        """Return the clauses to be tried, the best first.

        Those that are better than all their parts; or, if so told, the best of each template.
        """
        scores: dict[ClauseKey, float] = {}
        for literals in range(2, self.settings.max_literals + 1):
            variants = [
                signed(template, self.settings.flips)
                for template in self.templates
                if len(template) == literals
            ]
            keys = dict.fromkeys(key for keys in variants for key in keys)
            scored = self.scores(list(keys)[: self.room(literals)], literals)
            if self.settings.one_a_template:
                known = [[key for key in keys if key in scored] for keys in variants]
                best = [ranked(keys, scored.__getitem__, lambda k: k)[0] for keys in known if keys]
                scores |= {key: scored[key] for key in best}
            else:
                scores |= {k: score for k, score in scored.items() if is_better(k, score, scores)}
        return ranked(scores, scores.__getitem__, lambda key: key)

    def room(self, literals: int) -> int | None:
        """Return how many clauses of a length may be scored: longer ones have their share, too."""
        if self.settings.max_clauses is None:
            return None
        left = self.settings.max_clauses - self.search.scored
        return max(left, 0) // (self.settings.max_literals + 1 - literals)

    def scores(self, keys: Sequence[ClauseKey], literals: int) -> dict[ClauseKey, float]:
        """Return what clauses gain beside the unit clauses, less what their literals cost."""
        found: dict[ClauseKey, float] = {}
        for start in range(0, len(keys), _BATCH):
            batch = keys[start : start + _BATCH]
            self.search.course.check()
            alone = self.search.alone([self.language.clause(key) for key in batch])
            for key, result in zip(batch, alone, strict=True):
                if result is not None and self.is_worth_it(result, literals):
                    found[key] = result.gain - self.search.price * literals
            stage = f"scoring clauses of {literals} literals"
            self.search.course.tell(stage, start + len(batch), len(keys))
        return found

    def is_worth_it(self, alone: Alone, literals: int) -> bool:
        """Tell whether a clause gains more than it costs, by a weight that is not small."""
        gain, cost = alone.gain, self.search.price * literals
        if self.settings.held_out and alone.held_out is not None:
            gain = min(gain, alone.held_out)
        return exceeds(gain, cost) and abs(alone.weight) >= self.settings.min_weight


def signed(template: Template, flips: int | None) -> list[ClauseKey]:
    """Return the clauses of a template: all literals denied, then up to `flips` of them asserted.

    Examples
    --------
    >>> signed(((0, 0), (1, 0)), 1)  # !p(x) v !q(x), p(x) v !q(x), !p(x) v q(x)
    [((0, 0), (2, 0)), ((1, 0), (2, 0)), ((0, 0), (3, 0))]
    """
    most = len(template) if flips is None else min(flips, len(template))
    found = [
        canonical_key(
            (2 * literal[0] + (place in asserted), *literal[1:])
            for place, literal in enumerate(template)
        )
        for number in range(most + 1)
        for asserted in combinations(range(len(template)), number)
    ]
    return list(dict.fromkeys(found))


def is_better(key: ClauseKey, score: float, scores: Mapping[ClauseKey, float]) -> bool:
    """Tell whether a clause scores more than every part of it that has a score.

    Examples
    --------
    >>> part = canonical_key([(0, 0, 1), (2, 1)])
    >>> is_better(((0, 0, 1), (2, 0), (2, 1)), 0.3, {part: 0.4})
    False
    """
    labels = Counter(literal[0] for literal in key)
    return not any(
        len(part) < len(key)
        and not exceeds(score, other)
        and Counter(literal[0] for literal in part) <= labels
        and is_part(part, key)
        for part, other in scores.items()
    )
