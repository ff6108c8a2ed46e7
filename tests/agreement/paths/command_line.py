"""The same questions, asked by the program on files."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from agreement.compare import Answer, Path
from agreement.paths import counts, likelihood, marginals
from agreement.problem import Problem, ground_atom
from agreement.program import files, said


def infer(problem: Problem, method: str) -> Answer:
    case = problem.case
    with files(model_mln=case.mln_text(), evidence_db=str(case.evidence)) as path:
        found = said(
            "infer", "--model", path["model_mln"], "--db", path["evidence_db"],
            "--query", ",".join(case.query), "--open", ",".join(case.open),
            "--closed", ",".join(case.closed), "--method", method,
        )  # fmt: skip
    return {ground_atom(answer["atom"]): answer["probability"] for answer in found["answers"]}


def loglik(problem: Problem) -> Answer:
    case = problem.case
    with files(model_mln=case.mln_text(), data_db=str(case.training[0])) as path:
        found = said("loglik", "--model", path["model_mln"], "--db", path["data_db"])
    return {"loglik": found["loglik"], "log Z": found["log_z"]}


def expected_loglik(problem: Problem) -> Answer:
    return {**likelihood.expected_likelihood(problem), **likelihood.expected_log_z(problem)}


def count(problem: Problem) -> Answer:
    case = problem.case
    found = {}
    with files(model_mln=case.mln_text(), data_db=str(case.training[0])) as path:
        for place, rule in enumerate(case.rules):
            said_of = said(
                "count", str(rule.formula), path["data_db"], "--schema", path["model_mln"]
            )
            found[0, place, "true"], found[0, place, "all"] = (
                said_of["total"],
                said_of["groundings"],
            )
    return found


def expected_count(problem: Problem) -> Answer:
    """Each formula alone: of constants that rules name, its own are in the domains."""
    found = {}
    for place, rule in enumerate(problem.case.rules):
        alone = Problem(replace(problem.case, rules=(rule,), training=problem.case.training[:1]))
        for (_, _, what), number in counts.expected(alone).items():
            found[0, place, what] = number
    return found


PATHS = (
    Path("marginals: infer", marginals.expected, partial(infer, method="auto"), share=0.08),
    Path(
        "marginals: infer lifted", marginals.expected, partial(infer, method="lifted"), share=0.04
    ),
    Path("loglik: program", expected_loglik, loglik, share=0.03),
    Path("counts: program", expected_count, count, share=0.03),
)
