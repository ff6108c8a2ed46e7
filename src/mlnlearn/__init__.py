"""Learn Markov logic networks from relational data.

    import mlnlearn as ml

    databases = [ml.read_db(f"fold{k}.db", schema="schema.mln") for k in (1, 2, 3)]
    engine = ml.MemoryEngine(databases)
    rule = ml.parse_formula("friends(x,y) ^ smokes(x) => smokes(y)", databases[0].schema)
    ml.true_groundings(engine, rule.formula)

Names are loaded on first use, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlnlearn.counting.count import count_by, groundings, true_groundings
    from mlnlearn.counting.duck import DuckEngine
    from mlnlearn.counting.explain import explain_plan
    from mlnlearn.counting.flips import flip_counts
    from mlnlearn.counting.memory import MemoryEngine
    from mlnlearn.data import synthetic
    from mlnlearn.data.catalog import benchmark, benchmark_names, benchmark_path, benchmark_tables
    from mlnlearn.data.database import Database
    from mlnlearn.data.examples import Examples, positives_and_negatives
    from mlnlearn.data.graph import Graph, GraphSplit
    from mlnlearn.data.load.alchemy import parse_db, read_databases, read_db
    from mlnlearn.data.load.boostsrl import BoostSRLData, from_srlearn, read_boostsrl
    from mlnlearn.data.load.build import build_database
    from mlnlearn.data.load.cutoff import CutOff
    from mlnlearn.data.load.data import Data, as_data
    from mlnlearn.data.load.facts import facts_from_csv, triples_from_csv
    from mlnlearn.data.load.files import from_csv, from_parquet
    from mlnlearn.data.load.frames import from_frames
    from mlnlearn.data.load.read import read_tables
    from mlnlearn.data.load.save import save_tables
    from mlnlearn.data.load.sql import from_sql
    from mlnlearn.data.load.tables import Keys
    from mlnlearn.data.load.task_data import tables_data
    from mlnlearn.data.load.triples import from_triples, read_graph
    from mlnlearn.data.profile import profile
    from mlnlearn.data.write import write_db
    from mlnlearn.errors import (
        CountOverflowError,
        DataWarning,
        InputError,
        InputErrors,
        MemoryLimitError,
        MlnError,
    )
    from mlnlearn.evaluate.auto import Auto
    from mlnlearn.evaluate.chunks import query_in_chunks
    from mlnlearn.evaluate.cross_validate import cross_validate
    from mlnlearn.evaluate.held_out import held_out_scores
    from mlnlearn.evaluate.rows import predict_rows
    from mlnlearn.evaluate.significance import compare
    from mlnlearn.infer.explain import explain
    from mlnlearn.infer.network import Network
    from mlnlearn.infer.query import query
    from mlnlearn.lifted.query import lifted_query, log_partition
    from mlnlearn.logic.schema import Schema
    from mlnlearn.model.answer_files import write_answers
    from mlnlearn.model.boosted.model import BoostedModel
    from mlnlearn.model.domains import with_constants_of
    from mlnlearn.model.mln import MLN
    from mlnlearn.model.paths.model import PathModel
    from mlnlearn.model.relational.model import RelationalModel
    from mlnlearn.montecarlo.settings import Sampling
    from mlnlearn.registry import LEARNERS, METHODS, READERS
    from mlnlearn.run import Fitted, Notes, OutOfTimeError, Progress, Run
    from mlnlearn.settings import Above, AtLeast, Between, Settings
    from mlnlearn.structure.beam.learn import MSL
    from mlnlearn.structure.boosting.learners import BoostedMLN, BoostedRDN
    from mlnlearn.structure.bottom_up.busl import BUSL
    from mlnlearn.structure.bottom_up.hgsm import DMSP, HGSM
    from mlnlearn.structure.join_bayes.fill import fill_tables
    from mlnlearn.structure.join_bayes.learners import LAJDT, MBN
    from mlnlearn.structure.join_bayes.model import JoinBayesModel
    from mlnlearn.structure.learner import Learner
    from mlnlearn.structure.lifted_graph.learn import LHL
    from mlnlearn.structure.lifted_search.learn import LiftedStructureLearner
    from mlnlearn.structure.local_search.learn import ILS, DiscriminativeILS
    from mlnlearn.structure.motifs.learn import LSM
    from mlnlearn.structure.paths.learner import Paths
    from mlnlearn.structure.predicate_graph.learn import GSLP
    from mlnlearn.structure.relational_boosting.learner import RelationalBoost
    from mlnlearn.structure.saved import load_model
    from mlnlearn.structure.structural_em.learner import StructuralEM
    from mlnlearn.syntax.mln import parse_formula, parse_mln, read_mln
    from mlnlearn.syntax.writer import write_mln
    from mlnlearn.weights.conditional import learn_conditional
    from mlnlearn.weights.em import learn_em
    from mlnlearn.weights.generative import learn_pseudolikelihood
    from mlnlearn.weights.likelihood import learn_likelihood, log_likelihood

    __version__: str

# Where each public name lives; the imports above say the same to type checkers.
_HOMES = {
    "mlnlearn.counting.count": (
        "count_by",
        "groundings",
        "true_groundings",
    ),
    "mlnlearn.counting.duck": ("DuckEngine",),
    "mlnlearn.counting.explain": ("explain_plan",),
    "mlnlearn.counting.flips": ("flip_counts",),
    "mlnlearn.counting.memory": ("MemoryEngine",),
    "mlnlearn.data": ("synthetic",),
    "mlnlearn.data.catalog": (
        "benchmark",
        "benchmark_names",
        "benchmark_path",
        "benchmark_tables",
    ),
    "mlnlearn.data.database": ("Database",),
    "mlnlearn.data.examples": (
        "Examples",
        "positives_and_negatives",
    ),
    "mlnlearn.data.graph": ("Graph", "GraphSplit"),
    "mlnlearn.data.load.alchemy": (
        "parse_db",
        "read_databases",
        "read_db",
    ),
    "mlnlearn.data.load.boostsrl": (
        "BoostSRLData",
        "from_srlearn",
        "read_boostsrl",
    ),
    "mlnlearn.data.load.build": ("build_database",),
    "mlnlearn.data.load.cutoff": ("CutOff",),
    "mlnlearn.data.load.data": (
        "Data",
        "as_data",
    ),
    "mlnlearn.data.load.facts": (
        "facts_from_csv",
        "triples_from_csv",
    ),
    "mlnlearn.data.load.files": (
        "from_csv",
        "from_parquet",
    ),
    "mlnlearn.data.load.frames": ("from_frames",),
    "mlnlearn.data.load.read": ("read_tables",),
    "mlnlearn.data.load.save": ("save_tables",),
    "mlnlearn.data.load.sql": ("from_sql",),
    "mlnlearn.data.load.tables": ("Keys",),
    "mlnlearn.data.load.task_data": ("tables_data",),
    "mlnlearn.data.load.triples": ("from_triples", "read_graph"),
    "mlnlearn.data.profile": ("profile",),
    "mlnlearn.data.write": ("write_db",),
    "mlnlearn.errors": (
        "CountOverflowError",
        "DataWarning",
        "InputError",
        "InputErrors",
        "MemoryLimitError",
        "MlnError",
    ),
    "mlnlearn.evaluate.chunks": ("query_in_chunks",),
    "mlnlearn.evaluate.auto": ("Auto",),
    "mlnlearn.evaluate.cross_validate": ("cross_validate",),
    "mlnlearn.evaluate.held_out": ("held_out_scores",),
    "mlnlearn.evaluate.rows": ("predict_rows",),
    "mlnlearn.evaluate.significance": ("compare",),
    "mlnlearn.infer.explain": ("explain",),
    "mlnlearn.infer.network": ("Network",),
    "mlnlearn.infer.query": ("query",),
    "mlnlearn.lifted.query": (
        "lifted_query",
        "log_partition",
    ),
    "mlnlearn.logic.schema": ("Schema",),
    "mlnlearn.model.answer_files": ("write_answers",),
    "mlnlearn.model.boosted.model": ("BoostedModel",),
    "mlnlearn.model.domains": ("with_constants_of",),
    "mlnlearn.model.mln": ("MLN",),
    "mlnlearn.model.paths.model": ("PathModel",),
    "mlnlearn.model.relational.model": ("RelationalModel",),
    "mlnlearn.montecarlo.settings": ("Sampling",),
    "mlnlearn.registry": (
        "LEARNERS",
        "METHODS",
        "READERS",
    ),
    "mlnlearn.run": (
        "Fitted",
        "Notes",
        "OutOfTimeError",
        "Progress",
        "Run",
    ),
    "mlnlearn.settings": (
        "Above",
        "AtLeast",
        "Between",
        "Settings",
    ),
    "mlnlearn.structure.beam.learn": ("MSL",),
    "mlnlearn.structure.boosting.learners": (
        "BoostedMLN",
        "BoostedRDN",
    ),
    "mlnlearn.structure.bottom_up.busl": ("BUSL",),
    "mlnlearn.structure.bottom_up.hgsm": ("DMSP", "HGSM"),
    "mlnlearn.structure.join_bayes.fill": ("fill_tables",),
    "mlnlearn.structure.join_bayes.learners": (
        "LAJDT",
        "MBN",
    ),
    "mlnlearn.structure.join_bayes.model": ("JoinBayesModel",),
    "mlnlearn.structure.learner": ("Learner",),
    "mlnlearn.structure.lifted_search.learn": ("LiftedStructureLearner",),
    "mlnlearn.structure.lifted_graph.learn": ("LHL",),
    "mlnlearn.structure.local_search.learn": ("ILS", "DiscriminativeILS"),
    "mlnlearn.structure.motifs.learn": ("LSM",),
    "mlnlearn.structure.paths.learner": ("Paths",),
    "mlnlearn.structure.predicate_graph.learn": ("GSLP",),
    "mlnlearn.structure.relational_boosting.learner": ("RelationalBoost",),
    "mlnlearn.structure.saved": ("load_model",),
    "mlnlearn.structure.structural_em.learner": ("StructuralEM",),
    "mlnlearn.syntax.mln": (
        "parse_formula",
        "parse_mln",
        "read_mln",
    ),
    "mlnlearn.syntax.writer": ("write_mln",),
    "mlnlearn.weights.conditional": ("learn_conditional",),
    "mlnlearn.weights.em": ("learn_em",),
    "mlnlearn.weights.generative": ("learn_pseudolikelihood",),
    "mlnlearn.weights.likelihood": (
        "learn_likelihood",
        "log_likelihood",
    ),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "BUSL",
    "DMSP",
    "GSLP",
    "HGSM",
    "ILS",
    "LAJDT",
    "LEARNERS",
    "LHL",
    "LSM",
    "MBN",
    "METHODS",
    "MLN",
    "MSL",
    "READERS",
    "Above",
    "AtLeast",
    "Auto",
    "Between",
    "BoostSRLData",
    "BoostedMLN",
    "BoostedModel",
    "BoostedRDN",
    "CountOverflowError",
    "CutOff",
    "Data",
    "DataWarning",
    "Database",
    "DiscriminativeILS",
    "DuckEngine",
    "Examples",
    "Fitted",
    "Graph",
    "GraphSplit",
    "InputError",
    "InputErrors",
    "JoinBayesModel",
    "Keys",
    "Learner",
    "LiftedStructureLearner",
    "MemoryEngine",
    "MemoryLimitError",
    "MlnError",
    "Network",
    "Notes",
    "OutOfTimeError",
    "PathModel",
    "Paths",
    "Progress",
    "RelationalBoost",
    "RelationalModel",
    "Run",
    "Sampling",
    "Schema",
    "Settings",
    "StructuralEM",
    "__version__",
    "as_data",
    "benchmark",
    "benchmark_names",
    "benchmark_path",
    "benchmark_tables",
    "build_database",
    "compare",
    "count_by",
    "cross_validate",
    "explain",
    "explain_plan",
    "facts_from_csv",
    "fill_tables",
    "flip_counts",
    "from_csv",
    "from_frames",
    "from_parquet",
    "from_sql",
    "from_srlearn",
    "from_triples",
    "groundings",
    "held_out_scores",
    "learn_conditional",
    "learn_em",
    "learn_likelihood",
    "learn_pseudolikelihood",
    "lifted_query",
    "load_model",
    "log_likelihood",
    "log_partition",
    "parse_db",
    "parse_formula",
    "parse_mln",
    "positives_and_negatives",
    "predict_rows",
    "profile",
    "query",
    "query_in_chunks",
    "read_boostsrl",
    "read_databases",
    "read_db",
    "read_graph",
    "read_mln",
    "read_tables",
    "save_tables",
    "synthetic",
    "tables_data",
    "triples_from_csv",
    "true_groundings",
    "with_constants_of",
    "write_answers",
    "write_db",
    "write_mln",
]


def __getattr__(name: str) -> Any:
    """Load a public name on first use, and keep it (PEP 562)."""
    value: Any
    if name == "__version__":
        value = import_module("importlib.metadata").version("mlnlearn")
    elif name in _HOME_OF:
        home = import_module(_HOME_OF[name])
        # `synthetic` is a module itself: no attribute of its package until it is imported.
        value = getattr(home, name, None) or import_module(f"{_HOME_OF[name]}.{name}")
    else:
        raise AttributeError(f"module 'mlnlearn' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
