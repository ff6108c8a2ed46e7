"""The search for features to open.

Paths are opened link by link. All features at the ends of short paths are scored by how much their
bins tell of the gradients; a longer path is tried where the path that it goes on from told most.
The number of features looked at, and of those kept, is bounded whatever the schema.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mlnlearn.counting.aggregates import Floats, Ints
from mlnlearn.counting.relational import NAME, Nominal, RowSet
from mlnlearn.data.identity import digest
from mlnlearn.model.relational.evaluate import Evaluator, Values
from mlnlearn.model.relational.features import (
    AnyFeature,
    Backward,
    Both,
    Feature,
    Forward,
    Step,
    number_of_links,
)
from mlnlearn.model.relational.own import OwnEvaluator
from mlnlearn.run import check_time
from mlnlearn.structure.relational_boosting.bins import binning, screening_scores
from mlnlearn.structure.relational_boosting.candidates import (
    LinkPath,
    extended,
    features_at,
    features_where,
    lookups,
    named_together,
    own_features,
)
from mlnlearn.structure.relational_boosting.closing import ClosingSearch
from mlnlearn.structure.relational_boosting.feature_table import FeatureTable, Opened
from mlnlearn.structure.relational_boosting.folds import stratified
from mlnlearn.structure.relational_boosting.histograms import Binned
from mlnlearn.structure.relational_boosting.owners import Owners, by_fold, of_examples

_SAMPLE, _SMALL_SAMPLE, _OF_RARER = 20_000, 5_000, 30  # the least where one label is rare
_SCREEN_BINS = 16
_PATHS = 300  # most paths opened of each length
_PAIRS = 5_000_000
_FEW_NAMES = 30  # so few that pairs of them are looked at
_LEAST_SCORE = 2.0  # of a sparse column
_MORE_TOLD = 4.0  # that rows with a name must tell beyond all rows: the most of hundreds by chance
_ROOM_WHERE = 5  # of what is looked at, the part that is kept for these
_ENTRIES, _LEAST_ENTRIES = 20, 200_000  # most entries of sparse columns, by example and in any case


@dataclass(frozen=True)
class OpenSettings:
    """How much is opened.

    Attributes
    ----------
    max_links
        Most links of a path.
    max_candidates
        Most features looked at.
    max_features
        Most features kept; and up to ten times as many sparse columns, by the examples.
    min_examples
        Fewest examples that a name must have.
    seed
        Of samples.
    together
        Whether names are looked at two by two.
    two_labels
        Whether examples have one of two labels, which the first of their gradients tells: samples
        have as many of either.
    """

    max_links: int
    max_candidates: int
    max_features: int
    min_examples: int
    seed: int
    together: bool = False
    two_labels: bool = True


@dataclass(frozen=True, eq=False)
class _Sample:
    """Examples that features are scored on, with gradients and curvatures that stand for all.

    Attributes
    ----------
    folds
        The fold that each is held out in; the number of folds where in none.
    """

    rows: Ints
    gradients: Floats
    curvatures: Floats
    folds: Ints


@dataclass(eq=False)
class FeatureSearch:
    """Opens features for the examples of a base.

    Features are kept for what they tell of the labels of all examples, and for what they tell of
    those outside of each fold: a run without a fold must not have features that its labels chose.
    """

    evaluator: Evaluator
    base: RowSet
    gradients: Floats
    curvatures: Floats
    folds: Sequence[Ints]
    settings: OpenSettings
    _seen: set[str] = field(default_factory=set)
    _looked: int = 0
    _tried: Counter[int] = field(default_factory=Counter)
    _kept_owners: dict[str | None, Owners] = field(default_factory=dict)

    def table(self, more: list[AnyFeature] | None = None) -> FeatureTable:
        """Return the best features within the budget."""
        sampled = self._sampled()
        opened, paths = self._screened(sampled)
        opened.sort(key=lambda one: -float(one.scores[0]))
        scores = np.array([one.scores for one in opened]).reshape(len(opened), 1 + len(self.folds))
        dense = _best(scores.T, self.settings.max_features, -np.inf)
        kept = [opened[at] for at in np.flatnonzero(dense.any(axis=0))]
        rows = []
        for number, one in enumerate(kept):
            check_time()
            values = self.evaluator.values(one.feature, self.base)
            own = binning(
                values, self.settings.min_examples, kept=self._recurring(one.feature, values)
            )
            kept[number] = replace(one, binning=own)
            rows.append(own.bins(values))
        bins = np.array(rows, np.uint8).reshape(len(rows), self.base.rows)
        kinds = np.array([one.binning.names is not None for one in kept], np.int8)
        sizes = np.array([one.binning.size for one in kept], np.int64)
        columns, matrix, doubts, sparse = self._sets(paths)  # they count among what was tried
        usable = np.concatenate([dense[:, dense.any(axis=0)], sparse], axis=1)
        lowered = np.array([self._doubt(one.feature) for one in kept])
        pointers = matrix.indptr.astype(np.int64)
        places = matrix.indices.astype(np.int32, copy=False)
        links = np.array([link.codes for link in self.base.links.values()], np.int64)
        links = links.reshape(-1, self.base.rows)
        binned = Binned(bins, kinds, sizes, pointers, places, doubts, lowered, links)
        return FeatureTable(kept, columns, binned, usable, *self._own_bins(kept))

    def _own_bins(self, kept: list[Opened]) -> tuple[Ints, NDArray[np.uint8]]:
        """Return which features read labels, and their bins with those of each fold hidden."""
        own = [at for at, one in enumerate(kept) if self.evaluator.reads_own(one.feature)]
        bins = np.zeros((len(self.folds), len(own), self.base.rows), np.uint8)
        for number, fold in enumerate(self.folds if own else ()):
            assert isinstance(self.evaluator, OwnEvaluator)
            hiding = self.evaluator.hiding(fold)
            for place, at in enumerate(own):
                check_time()
                values = hiding.values(kept[at].feature, self.base)
                bins[number, place] = kept[at].binning.bins(values)
        return np.array(own, np.int64), bins

    def _doubt(self, feature: AnyFeature) -> float:
        """Return what a feature's gain is lowered by: of many, one is the best by chance.

        Those along shorter paths are fewer, so that the simpler of two that say the same is taken.
        """
        links = number_of_links(feature)
        tried = sum(count for length, count in self._tried.items() if length <= links)
        return float(np.log(tried))

    def _sampled(self) -> _Sample:
        """Return examples that features are scored on, all or as many as are enough to tell."""
        rows = np.flatnonzero(self.curvatures.sum(axis=1) > 0)
        true = self.gradients[rows, 0] > 0 if self.settings.two_labels else None
        most = _SAMPLE
        if true is not None:
            rarer = int(min(true.sum(), (~true).sum()))
            most = min(most, max(_SMALL_SAMPLE, _OF_RARER * rarer))
        rng = np.random.default_rng(self.settings.seed)
        drawn, factor = stratified(rows, true, most, rng)
        by = factor[:, None]
        folds = np.full(self.base.rows, len(self.folds))
        for number, fold in enumerate(self.folds):
            folds[fold] = number
        return _Sample(drawn, by * self.gradients[drawn], by * self.curvatures[drawn], folds[drawn])

    def _screened(self, sampled: _Sample) -> tuple[list[Opened], list[LinkPath]]:
        """Score features path by path, longer paths where shorter ones told most."""
        base, view = self.base, self.evaluator.data
        opened = self._scored(features_at(None, self.evaluator, base), sampled)
        if not self.evaluator.timed:
            closing = self._closing()
            for one in self._scored(iter(closing), sampled):
                picked = closing[one.feature]
                opened.append(replace(one, scores=np.where(picked, one.scores, -np.inf)))
        if isinstance(self.evaluator, OwnEvaluator) and self.evaluator.home.column is not None:
            own = own_features(self.evaluator, base, self.evaluator.home)
            opened += self._scored(own, sampled)
        found: list[LinkPath] = []
        plain: list[tuple[LinkPath, list[Opened]]] = []
        level: list[LinkPath | None] = [None]
        for links in range(self.settings.max_links + 1):
            longer = lookups if links == self.settings.max_links else extended
            every = (path for before in level for path in longer(view, base, before))
            fresh = list(islice(every, _PATHS))
            scores = []
            for path in fresh:
                if self._looked >= self.settings.max_candidates:
                    break
                here = self._scored(features_at(path, self.evaluator, base), sampled)
                opened += here
                plain.append((path, here))
                scores.append(max((float(one.scores[0]) for one in here), default=0.0))
            found += fresh[: len(scores)]
            order = np.argsort(-np.array(scores), kind="stable")
            level = [fresh[place] for place in order]
        if self.settings.together:
            named = [one.feature for one in opened if self._few_names(one)]
            opened += self._scored(named_together(named), sampled)
        # what is said of all rows comes first: this has room of its own
        most = self.settings.max_candidates
        self._looked = min(self._looked, most - most // _ROOM_WHERE)
        for path, here in plain:
            opened += self._scored_where(path, here, sampled)
        return opened, found

    def _scored_where(
        self, path: LinkPath, plain: Sequence[Opened], sampled: _Sample
    ) -> Iterator[Opened]:
        """Yield features of the rows that have a name, those that tell more than all rows do.

        Parameters
        ----------
        path
            The path.
        plain
            What all rows at its end tell.
        sampled
            The examples.
        """
        told: dict[str | None, Floats] = {}
        for one in plain:
            if isinstance(one.feature, Feature):
                before = told.get(one.feature.column, np.zeros(1 + len(self.folds)))
                told[one.feature.column] = np.maximum(before, one.scores)
        least = self.settings.min_examples
        for one in self._scored(features_where(path, self.evaluator, least), sampled):
            assert isinstance(one.feature, Feature)
            more = one.scores > told.get(one.feature.column, 0.0) + _MORE_TOLD
            if more.any():
                yield replace(one, scores=np.where(more, one.scores, -np.inf))

    def _few_names(self, one: Opened) -> bool:
        """Whether a feature has names, and so few that there are many examples of each."""
        if one.binning.names is None:
            return False
        names = self.evaluator.values(one.feature, self.base, np.arange(1)).names
        return names is not None and len(names) <= _FEW_NAMES

    def _closing(self) -> dict[AnyFeature, NDArray[np.bool_]]:
        """Return connections of links, each with the runs that may use it: by their own labels."""
        most = self.settings.max_features // 4
        search = ClosingSearch(self.evaluator.hops, self.base, most)
        found: dict[AnyFeature, NDArray[np.bool_]] = {}
        for number in range(1 + len(self.folds)):
            gradients = self.gradients[:, :1] if self.settings.two_labels else self.gradients
            if number:
                gradients = gradients.copy()
                gradients[self.folds[number - 1]] = 0.0
            for feature in search.connections(gradients):
                picked = found.setdefault(feature, np.zeros(1 + len(self.folds), np.bool_))
                picked[number] = True
        return found

    def _scored(self, features: Iterator[AnyFeature], sampled: _Sample) -> list[Opened]:
        """Score features; those whose values were seen before are left out."""
        found = []
        for feature in features:
            check_time()
            self._looked += 1
            self._tried[number_of_links(feature)] += 1
            if self._looked > self.settings.max_candidates:
                break
            values = self.evaluator.values(feature, self.base, sampled.rows)
            key = digest([values.values.tobytes(), str(values.names is not None)])
            if key in self._seen:
                continue
            self._seen.add(key)
            recurring = self._recurring(feature, values, sampled.rows)
            coarse = binning(values, self.settings.min_examples, _SCREEN_BINS, recurring)
            if coarse.size + bool(np.isnan(values.values).any()) < 2:
                continue
            bins = coarse.bins(values)
            scores = screening_scores(
                bins, sampled.folds, len(self.folds), sampled.gradients, sampled.curvatures
            )
            found.append(Opened(feature, coarse, scores))
        return found

    def _recurring(
        self, feature: AnyFeature, values: Values, sampled: Ints | None = None
    ) -> NDArray[np.bool_] | None:
        """Return which names are of several databases; None where all may be told apart."""
        part = self.base.part if sampled is None else self.base.part[sampled]
        parts = (feature.first, feature.second) if isinstance(feature, Both) else (feature,)
        is_name = any(isinstance(part, Feature) and part.column == NAME for part in parts)
        if not is_name or values.names is None or not len(part) or part.max() == 0:
            return None
        known = ~np.isnan(values.values)
        return _in_several(values.values[known].astype(np.int64), part[known], len(values.names))

    def _sets(
        self, paths: list[LinkPath]
    ) -> tuple[list[Feature], csr_array, Floats, NDArray[np.bool_]]:
        """Return sparse columns: whether an example has a row with a name at the end of a path."""
        parts: list[tuple[Owners, csr_array]] = []
        features, scores, sizes = [], [], []
        for path, name, column in self._set_columns(paths):
            check_time()
            owners = self._owners(path.steps[0])
            matrix, codes = self._has(owners, path, column, name == NAME)
            if matrix is None or not len(codes):
                continue
            score = owners.column_scores(matrix)
            good = _best(score, 5 * self.settings.max_features, _LEAST_SCORE)
            best = np.flatnonzero(good.any(axis=0))
            self._tried[len(path.steps)] += len(codes) if len(best) else 0
            if not len(best):
                continue
            steps = tuple(
                replace(step, aggregate="exists") if isinstance(step, Backward) else step
                for step in path.steps
            )
            parts.append((owners, matrix[:, best]))
            features += [Feature(steps, name, column.names[codes[at]]) for at in best]
            scores.append(np.where(good, score, -np.inf)[:, best])
            sizes.append(np.asarray(matrix.T @ owners.examples)[best])
        if not parts:
            nothing = np.zeros((1 + len(self.folds), 0), np.bool_)
            return [], csr_array((self.base.rows, 0)), np.empty(0), nothing
        most = _ENTRIES * self.base.rows + _LEAST_ENTRIES
        usable = _best(
            np.concatenate(scores, axis=1),
            self._most_columns(),
            _LEAST_SCORE,
            np.concatenate(sizes),
            most,
        )
        best = np.flatnonzero(usable.any(axis=0))
        matrix = of_examples(parts, best)
        lowered = np.array([self._doubt(features[at]) for at in best])
        return [features[at] for at in best], matrix, lowered, usable[:, best]

    def _most_columns(self) -> int:
        """Return how many sparse columns are kept: no more than examples, where these are few."""
        most = self.settings.max_features
        return min(10 * most, max(most, self.base.rows))

    def _owners(self, step: Step) -> Owners:
        """Return whose rows the examples look at by a first step: their own, or those of a link.

        What many examples link to is looked at once.
        """
        link = step.link if isinstance(step, Forward) and not self.evaluator.timed else None
        if link not in self._kept_owners:
            slopes = [by_fold(values, self.folds) for values in (self.gradients, self.curvatures)]
            found = Owners(self.base, None, slopes[0], slopes[1], np.ones(self.base.rows))
            if link is not None:
                found = found.through(self.base.links[link], self.evaluator.data)
            self._kept_owners[link] = found
        return self._kept_owners[link]

    def _set_columns(self, paths: list[LinkPath]) -> Iterator[tuple[LinkPath, str, Nominal]]:
        view = self.evaluator.data
        for path in paths:
            for name, column in view[path.end].columns.items():
                if name == NAME and self.evaluator.timed:
                    continue
                if self.evaluator.reads_own(Feature(path.steps, name)):
                    continue
                if isinstance(column, Nominal) and (
                    (path.backward and len(column.names) > 1) or len(column.names) > 254
                ):
                    yield path, name, column

    def _has(
        self, owners: Owners, path: LinkPath, column: Nominal, named: bool
    ) -> tuple[csr_array | None, Ints]:
        """Return which names (by code) owners have, those that enough examples have."""
        nothing = np.empty(0, np.int64)
        steps = path.steps if owners.of_example is None else path.steps[1:]
        reached = self.evaluator.pairs(steps, owners.rows, _PAIRS)
        if reached is None:
            return None, nothing
        question, rows = reached
        codes = column.codes[rows].astype(np.int64)
        key = np.unique((question * (len(column.names) + 1) + codes)[codes >= 0])
        question, codes = np.divmod(key, len(column.names) + 1)
        counts = np.bincount(codes, owners.examples[question], len(column.names))
        least = self.settings.min_examples
        wanted = (counts >= least) & (counts <= self.base.rows - least)
        part = owners.rows.part[question]
        if named and len(part) and self.base.part.max() > 0:
            # a name of one database says nothing of another
            wanted &= _in_several(codes, part, len(column.names))
        places = np.cumsum(wanted) - 1
        kept = wanted[codes]
        shape = (owners.rows.rows, int(wanted.sum()))
        entries = (np.ones(int(kept.sum()), np.int8), (question[kept], places[codes[kept]]))
        return csr_array(entries, shape=shape), np.flatnonzero(wanted)


def _best(
    scores: Floats,
    most: int,
    least: float,
    sizes: Floats | None = None,
    most_entries: float = np.inf,
) -> NDArray[np.bool_]:
    """Return which columns are among the best of each row of scores, those above the least."""
    found = np.zeros(scores.shape, np.bool_)
    for row, own in enumerate(scores):
        order = np.argsort(-own, kind="stable")[:most]
        order = order[own[order] > least]
        if sizes is not None:
            order = order[np.cumsum(sizes[order]) <= most_entries]
        found[row, order] = True
    return found


def _in_several(codes: Ints, part: NDArray[np.integer], names: int) -> NDArray[np.bool_]:
    """Return which names occur in several databases."""
    first = np.full(names, np.iinfo(np.int32).max)
    last = np.full(names, -1)
    np.minimum.at(first, codes, part)
    np.maximum.at(last, codes, part)
    return first < last
