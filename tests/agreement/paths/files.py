"""Models and databases written and read again: the same rules, the same answers."""

from __future__ import annotations

import mlnlearn as ml
from agreement.compare import Answer, Path
from agreement.paths import marginals
from agreement.problem import Problem, ground_atom
from agreement.program import files
from mlnlearn.data.write import write_db


def by_saved(problem: Problem) -> Answer:
    case = problem.case
    with files() as path:
        problem.mln.save(path["folder"] + "/saved.mln")
        again = ml.MLN.read(path["folder"] + "/saved.mln")
        assert again == problem.mln
        write_db(problem.evidence, path["folder"] + "/saved.db")
        evidence = ml.read_db(path["folder"] + "/saved.db", schema=again.schema)
    answers = ml.query(again, evidence, case.query, open=case.open, closed=case.closed)
    return {ground_atom(str(answer.atom)): answer.probability for answer in answers}


PATHS = (Path("marginals: saved and read", marginals.expected, by_saved, share=0.3),)
