"""Counts of clauses by the sparse engine: what is too large is left out, and said to be."""

import pytest

from mlnlearn.counting.stack import Stack
from mlnlearn.data.synthetic import university
from mlnlearn.errors import DataWarning, MemoryLimitError
from mlnlearn.logic.clauses import as_clause
from mlnlearn.resources import counting_with
from mlnlearn.structure.search.background import Background
from mlnlearn.structure.search.clause_scorer import ClauseScorer
from mlnlearn.structure.search.engine_counts import EngineCounts
from mlnlearn.syntax.mln import parse_formula


def test_clauses_that_do_not_fit_are_left_out_with_a_warning():
    database = university(300, 1, rng=0).databases[0]
    background = Background.of([database], None)
    small, large = (
        as_clause(parse_formula(text, database.schema).formula)
        for text in (
            "!advisedBy(x,y) v !professor(x)",
            "!publication(t,x) v !publication(u,x) v !publication(t,y) v publication(u,y)",
        )
    )
    with counting_with(memory="2MB"):
        counts = EngineCounts.of(Stack([database]), background)
        scorer = ClauseScorer(counts, background, 100.0)
        assert scorer.alone(small) is not None
        with pytest.warns(DataWarning, match="are left out, such as"):
            assert scorer.alone(large) is None
        # it is known now, and another of its kind is no news
        with pytest.raises(MemoryLimitError):
            counts.histograms(large, "publication")
