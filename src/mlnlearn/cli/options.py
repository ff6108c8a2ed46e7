"""Options that several commands share."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

import typer

import mlnlearn as ml
from mlnlearn.cli.completion import offered, preset_names, setting_names
from mlnlearn.errors import InputError, Location
from mlnlearn.registry import ENGINES, LEARNERS
from mlnlearn.resources import counting_with

LEARNER_NAMES = ", ".join(LEARNERS)


def option(*names: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    """Return an option whose default, mostly "nothing", is not shown."""
    return typer.Option(*names, metavar=metavar, help=help, show_default=False, **more)


ModelOption = Annotated[
    Path, typer.Option("--model", help="A model: an .mln file, or what learn wrote.")
]
_DATABASES = option("--db", help="Databases, one or more after --db.")
DatabasesOption = Annotated[list[Path], _DATABASES]
NoDatabasesOption = Annotated[list[Path] | None, _DATABASES]  # where there may be tables instead
# Words that follow the first database: `--db fold1.db fold2.db` reads like `--db fold1.db --db …`.
MoreArgument = Annotated[list[Path] | None, typer.Argument(hidden=True)]
SetOption = Annotated[
    list[str] | None,
    option(
        "--set",
        metavar="NAME=VALUE",
        help="A setting of the learner; may be given several times.",
        autocompletion=setting_names,
    ),
]
PresetOption = Annotated[
    str | None,
    option(
        "--preset",
        metavar="NAME",
        help="Settings of the learner that go together, such as 'paper'; --set changes some.",
        autocompletion=preset_names,
    ),
]
TablesOption = Annotated[
    str | None,
    option(
        "--tables",
        metavar="DIR|FILE|URL",
        help="Tables: a folder of CSV or Parquet files (with schema.sql), an SQLite or DuckDB "
        "file, or an address such as postgresql://user@host/name.",
    ),
]
BoostSRLOption = Annotated[
    list[Path] | None,
    option(
        "--boostsrl",
        metavar="DIR",
        help="A folder of BoostSRL: facts, examples, modes; give it once for each folder.",
    ),
]
UntilOption = Annotated[
    str | None,
    option(
        "--until",
        metavar="DATE",
        help="Use only rows of --tables up to this day, moment or number (see --time-column).",
    ),
]
TimeColumnOption = Annotated[
    list[str] | None,
    option(
        "--time-column",
        metavar="TABLE.COLUMN",
        help="The column that says when a row is from; may be given for several tables.",
    ),
]
TaskOption = Annotated[
    Path | None,
    option(
        "--task",
        metavar="FILE.csv",
        help="Examples to --tables: a key of a table, as of when, and the label to predict; only "
        "rows before an example's time count for it.",
    ),
]
FILES = typer.Argument(
    help="Alchemy .db files (also gzip), SQLite or DuckDB files, CSV or Parquet files, "
    "or folders of those.",
    show_default=False,
)
SchemaOption = Annotated[
    Path | None,
    option(
        "--schema",
        help="Declarations: an .mln file for .db files (without it, schema.mln beside the file), "
        "an .sql file with CREATE TABLE statements for CSV and Parquet.",
    ),
]
MappingOption = Annotated[
    Path | None, option("--mapping", help="Changes to how tables become predicates (TOML).")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON only.")]
TriplesOption = Annotated[
    Path | None,
    option(
        "--triples",
        metavar="FILE",
        help="A knowledge graph: a file of triples (head, relation, tail) with tabs or commas, or "
        "N-Triples, also gzip; Parquet, or a DuckDB file.",
    ),
]
PathTestsOption = Annotated[
    int,
    typer.Option(
        "--paths",
        min=0,
        help="With --triples and a boosted learner: so many path rules of each relation are tests "
        "that it may take. learn writes them beside the model, where infer finds them.",
    ),
]
OrderOption = Annotated[
    str,
    option(
        "--order", help='The order of the cells of --triples, such as "relation head tail", or rht.'
    ),
]
ValidOption = Annotated[
    Path | None, option("--valid", metavar="FILE", help="Triples to choose settings by.")
]
TestOption = Annotated[Path | None, option("--test", metavar="FILE", help="Triples to rank.")]
ForceOption = Annotated[
    bool, typer.Option("--force", help="Replace files that mlnlearn did not write.")
]
JobsOption = Annotated[int, typer.Option(help="Processes; results do not depend on it.", min=1)]
ModelOutOption = Annotated[Path | None, option(help="Write the model here.")]
SeedOption = Annotated[
    int, typer.Option("--seed", help="Same seed, same result.", min=0, max=2**63 - 1)
]


def _use_engine(context: typer.Context, engine: str | None) -> str | None:
    if engine is not None:  # until the command is over
        context.with_resource(counting_with(engine=engine))
    return engine


def _use_memory(context: typer.Context, memory: str | None) -> str | None:
    if memory is not None:
        context.with_resource(counting_with(memory=memory))
    return memory


def _use_master(context: typer.Context, master: str | None) -> str | None:
    if master is not None:
        context.with_resource(counting_with(master=master))
    return master


def _use_config(context: typer.Context, settings: list[str] | None) -> list[str] | None:
    found = {}
    for text in settings or ():
        name, sign, value = text.partition("=")
        if not sign or not name.strip():
            raise InputError(f"--spark-conf {text}: expected NAME=VALUE")
        found[name.strip()] = value.strip()
    if found:
        context.with_resource(counting_with(config=found))
    return settings


# What counts, and with how much memory, is set while the command line is read.
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        help=f"What counts: {', '.join(ENGINES)}. auto: in memory, and by DuckDB, which can spill "
        "to disk, what would not fit. spark, postgresql: on the server that --master names.",
        show_default="auto",
        callback=_use_engine,
        autocompletion=offered(ENGINES),
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="What counting may take beside the data, as 512MB or 2GB.",
        show_default="2GB",
        callback=_use_memory,
    ),
]


MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="ADDRESS",
        help="The server that an engine counts on, such as sc://host:15002 of Spark.",
        show_default=False,
        callback=_use_master,
    ),
]
SparkConfOption = Annotated[
    list[str] | None,
    typer.Option(
        "--spark-conf",
        metavar="NAME=VALUE",
        help="A setting of the session with Spark; may be given several times.",
        show_default=False,
        callback=_use_config,
    ),
]


def finite(value: float | None) -> float | None:
    """Refuse what is no number: bounds let ``nan`` and ``inf`` through.

    Examples
    --------
    >>> finite(2.5)
    2.5
    """
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a finite number.")
    return value


OpenOption = Annotated[
    str, typer.Option("--open", help="Predicates whose unlisted atoms are unknown.")
]
ClosedOption = Annotated[
    str, typer.Option("--closed", help="Predicates whose unlisted atoms are false.")
]


def names(text: str, option: str) -> tuple[str, ...]:
    """Read a list of names with commas.

    Examples
    --------
    >>> names("smokes, cancer", "--query")
    ('smokes', 'cancer')
    """
    found = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if text.strip() and not found:
        raise InputError(f"{option}: no name in {text!r}")
    return found


def cut_off(until: str | None, columns: list[str] | None) -> ml.CutOff | None:
    """Read the options of a cut-off in time.

    Examples
    --------
    >>> cut_off("2020-12-31", ["visit.day"]).columns
    {'visit': 'day'}
    """
    found = {}
    for text in columns or ():
        table, dot, column = text.rpartition(".")
        if not dot or not table or not column:
            raise InputError(f"--time-column {text}: expected TABLE.COLUMN")
        found[table] = column
    if until is None:
        if found:
            raise InputError("--time-column: up to when? Give --until, too")
        return None
    return ml.CutOff(until, found)


def one_database(paths: list[Path]) -> Path:
    """Return the only database of a command that takes one."""
    if len(paths) != 1:
        raise InputError(f"--db: one database is needed, not {len(paths)}")
    return paths[0]


def read_model(path: Path) -> ml.MLN | ml.BoostedModel | ml.RelationalModel:
    """Read a model that other commands can ask: of a Bayes net, its rules."""
    found = ml.load_model(path)
    if isinstance(found, ml.PathModel):
        raise InputError("rules of a knowledge graph are asked with --triples", Location(str(path)))
    return found.mln() if isinstance(found, ml.JoinBayesModel) else found


def read_network(path: Path) -> ml.MLN:
    """Read a model for a command that takes only Markov logic networks."""
    model = read_model(path)
    if isinstance(model, ml.MLN):
        return model
    raise InputError(
        "a boosted model is no network with weights of its own",
        Location(str(path)),
        hint="name an .mln file of rules, such as you would write or gslp and msl learn",
    )
