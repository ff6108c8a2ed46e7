"""Path rules planted in a graph of ten million triples: found first, and asked quickly."""

from __future__ import annotations

from bench.result import Result, clock, peak_megabytes, run_cases, run_one
from mlnlearn.data.synthetic import planted_graph
from mlnlearn.structure.paths.learner import Paths

ENTITIES = 1_000_000
_QUESTIONS = 20


def planted(entities: int = ENTITIES) -> list[Result]:
    """Learn the rules of a planted graph, and ask for the ten best answers of some questions."""
    made = planted_graph(entities, rng=0)
    with clock() as learning:
        model = Paths().fit(made.graph).model
    first = {str(rule) for rule, _ in zip(model.rules(), range(10), strict=False)}
    missing = len(set(made.rules) - first)
    relation = made.rules[0].partition("(")[0]
    model.top(relation, head="e0")
    with clock() as asking:
        for number in range(1, _QUESTIONS + 1):
            model.top(relation, head=f"e{number}")
    title = f"{made.graph.size:,} triples, {entities:,} entities"
    return [
        Result(f"{title}: learning", learning.cpu, "CPU s", 600),
        Result(f"{title}: planted rules that are not among the first ten", missing, "", 0),
        Result(f"{title}: peak memory", peak_megabytes(), "MB", 6000),
        Result(f"{title}: ten best answers", 1000 * asking.cpu / _QUESTIONS, "ms", 50),
    ]


CASES = {"planted": planted}


def main() -> list[Result]:
    """Run all cases."""
    return run_cases("bench.graphs", CASES)


if __name__ == "__main__":
    run_one(CASES)
