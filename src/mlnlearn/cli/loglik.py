"""``mlnlearn loglik``: the exact log-likelihood of a database."""

from __future__ import annotations

import mlnlearn as ml
from mlnlearn.cli.options import (
    DatabasesOption,
    JsonOption,
    ModelOption,
    MoreArgument,
    one_database,
    read_network,
)
from mlnlearn.cli.show import console, print_json


def loglik(
    model: ModelOption, db: DatabasesOption, more: MoreArgument = None, json: JsonOption = False
) -> None:
    """Give the exact log-likelihood of a database under a model.

    All atoms of all predicates count; unknown ones are summed out. A model that cannot be lifted is
    grounded where that is small, and else refused.
    """
    network = read_network(model)
    path = one_database(db + (more or []))
    database = ml.read_db(path, schema=network.schema, name=str(path))
    found = {
        "loglik": ml.log_likelihood(network, database),
        "log_z": ml.log_partition(network, database),
    }
    if json:
        print_json(found)
        return
    screen = console()
    screen.print(f"log-likelihood          {found['loglik']:,.6f}")
    screen.print(f"log partition function  {found['log_z']:,.6f}")
