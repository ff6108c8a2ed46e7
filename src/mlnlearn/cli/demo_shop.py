"""A made-up shop of eleven untidy tables, in which those who order often leave."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rich.console import Console

import mlnlearn as ml
from mlnlearn.cli.demo import DemoResult
from mlnlearn.cli.rows import shown_of

_CUSTOMERS, _SEED = 400, 3
_CAUSE = "count of links"
_TARGET = "customer.churned"


def shop(out: Console, kept: Path | None) -> DemoResult:
    """Make up the shop, read it without a mapping, and learn who leaves."""
    made = ml.synthetic.messy_shop(_CAUSE, _CUSTOMERS, rng=_SEED)
    with tempfile.TemporaryDirectory() as folder:
        file = kept or Path(folder) / "shop.sqlite"
        file.unlink(missing_ok=True)  # it was checked that it may be replaced
        made.write(file)
        data = ml.tables_data(ml.read_tables(file)).data
    out.print(
        f"A made-up shop: {len(made.tables)} tables, {_CUSTOMERS:,} customers, a third of the "
        f"cells empty. Who leaves depends on one thing alone:\n{made.planted.sentence}"
    )
    learner = ml.RelationalBoost(target=_TARGET)
    held_out = ml.held_out_scores(learner, data)
    model = learner.fit(data).model
    rules = model.shown_rules()
    assert held_out is not None  # there are enough customers
    scores = {
        name: {"model": f"{score:.3f}", "base rate": f"{baseline:.3f}"}
        for name, score, baseline in held_out.in_words()
    }
    return DemoResult(
        [rule.sentence for rule in rules],
        len(rules),
        f"On {held_out.rows:,} customers kept aside",
        scores,
        ml.rows_report(_TARGET, rules, held_out, databases=data.databases, **shown_of(model, data)),
    )
