"""Blocks of exclusive atoms: what their values have in common does not count."""

import numpy as np

from mlnlearn.counting.engines import open_engine
from mlnlearn.counting.flips import flip_counts
from mlnlearn.data.database import Database
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.mln import parse_formula
from mlnlearn.weights.blocks import compress_blocks
from mlnlearn.weights.pseudolikelihood import PseudoLikelihood


def test_counts_common_to_a_block_cost_no_digits():
    """Every value of a block has some 25,000 groundings, and they differ by a few."""
    schema = Schema.of("phase(a,b!)", "taught(c,a,d)")
    people, phases = [f"A{i}" for i in range(20)], ["P0", "P1", "P2"]
    facts = {
        "phase": [(name, phases[i % 3]) for i, name in enumerate(people)],
        "taught": [("C0", name, "D0") for name in people[:7]],
    }
    domains = {"c": [f"C{i}" for i in range(2500)], "d": [f"D{i}" for i in range(10)]}
    engine = open_engine([Database.from_facts(schema, facts, domains=domains)])
    formula = parse_formula("phase(x,y) v taught(c,x,d)", schema).formula
    rows = compress_blocks(
        engine.stack, schema["phase"], (1,), [flip_counts(engine, formula, schema["phase"], (1,))]
    )
    assert float(np.asarray(rows.counts).max()) == 0.0
    _, bend = PseudoLikelihood(engine, (formula,), predicates=(schema["phase"],)).derivatives(
        np.array([-2.7])
    )
    assert abs(float(bend[0, 0])) < 1e-12
