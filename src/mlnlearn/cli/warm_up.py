"""``mlnlearn warm-up``: compile what is compiled on first use, so that no later run waits."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import mlnlearn as ml
from mlnlearn.cli.show import console, print_table
from mlnlearn.errors import DataWarning

_RULES = """
smokes(person)
friends(person,person)
0.4 smokes(x)
0.8 friends(x,y) ^ smokes(x) => smokes(y)
"""


def warm_up() -> None:
    """Compile the kernels, once for all later runs of this installation.

    Learns from and asks about a few made-up facts; what is compiled is kept on disk.
    """
    rows = []
    for name, work in _works().items():
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            work()
        rows.append((name, f"{time.perf_counter() - started:.1f}"))
    print_table(console(), ("compiled", "seconds"), rows)


def _works() -> dict[str, Callable[[], object]]:
    """Return small pieces of work that use the compiled parts, by what they are for."""
    made = ml.synthetic.university(12, areas=2, rng=0)
    network = ml.MLN.parse(_RULES)
    names = [f"P{i}" for i in range(6)]
    pairs = list(zip(names, names[1:] + names[:1], strict=True))
    people = ml.Database.from_facts(network.schema, {"friends": pairs, "smokes": [("P0",)]})

    def boosted(representation: str) -> object:
        learner = ml.BoostedMLN(target="advisedBy", steps=1, representation=representation)  # type: ignore[arg-type]
        return learner.fit(list(made.databases)).model.query(made.databases[0], ["advisedBy"])

    def asked(method: str) -> object:
        return ml.query(network, people, ["smokes"], method=method, open=["friends"], samples=50)

    return {
        "boosted trees": lambda: boosted("trees"),
        "boosted clauses": lambda: boosted("clauses"),
        "weights": lambda: ml.learn_pseudolikelihood(network, [people]),
        "exact likelihood": lambda: ml.log_likelihood(network, people),
        "Gibbs sampling": lambda: asked("gibbs"),
        "MC-SAT": lambda: asked("mcsat"),
        "most probable worlds": lambda: asked("map"),
    }
