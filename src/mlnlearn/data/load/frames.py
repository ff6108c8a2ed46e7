"""Tables from data frames: pandas, polars, pyarrow and whatever else narwhals knows."""

from __future__ import annotations

from collections import abc
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlnlearn.data.load.build import Loaded, build_database
from mlnlearn.data.load.columns import Column, OpaqueCellsError
from mlnlearn.data.load.cutoff import CutOff
from mlnlearn.data.load.define import define_tables
from mlnlearn.data.load.edits import MappingLike
from mlnlearn.data.load.tables import KeysLike, Table
from mlnlearn.errors import InputError, Location, collected, raise_all
from mlnlearn.late import late

if TYPE_CHECKING:
    import narwhals as nw
else:
    nw = late("narwhals")


def from_frames(
    frames: abc.Mapping[str, Any],
    *,
    keys: KeysLike | None = None,
    ddl: str | Path | None = None,
    mapping: MappingLike | None = None,
    cut_off: CutOff | None = None,
    name: str = "",
) -> Loaded:
    """Load a database from data frames by table; everything else as for `from_csv`.

    Parameters
    ----------
    frames
        Data frames (pandas, polars, Arrow and others) by table.
    keys
        The keys by table: see `Keys`.
    ddl
        ``CREATE TABLE`` statements in place of `keys`: an SQL file, or the text.
    mapping
        Changes to the derived mapping: TOML text, a TOML file, or a `Mapping`.
    cut_off
        Up to when rows are used, of tables with a time column: see `CutOff`.
    name
        What the database is called in messages and results.

    Examples
    --------
    >>> import pandas as pd
    >>> from mlnlearn.data.load.tables import Keys
    >>> people = pd.DataFrame({"id": [1, 2], "smokes": [True, False]})
    >>> friends = pd.DataFrame({"a": [1], "b": [2]})
    >>> database, mapping = from_frames(
    ...     {"person": people, "friends": friends},
    ...     keys={"person": "id", "friends": Keys(("a", "b"), {"a": "person", "b": "person"})},
    ...     mapping='person.columns.smokes = { as = "flag" }',
    ... )
    >>> print(database.schema)
    smokes(person)
    friends(person,person)
    >>> list(database.rows("smokes")), list(database.rows("friends"))
    ([('1',)], [('1', '2')])
    """
    tables = read_frames(frames)
    return build_database(define_tables(tables, ddl, keys), mapping, name, cut_off)


def read_frames(frames: abc.Mapping[str, Any]) -> list[Table]:
    """Read frames by table, without keys; all that cannot be read are named together."""
    tables: list[Table] = []
    problems: list[InputError] = []
    for table, frame in frames.items():
        with collected(problems):
            tables.append(read_frame(table, frame))
    raise_all(problems)
    return tables


def read_frame(name: str, frame: Any) -> Table:
    """Read one frame, eager or lazy, as a table without keys."""
    where = Location(f"table {name}")
    try:
        native = nw.from_native(frame)
        eager = native.collect() if isinstance(native, nw.LazyFrame) else native
        titles = eager.columns
    except TypeError:
        found = type(frame).__name__
        raise InputError(f"expected a data frame, found {found}", where) from None
    except nw.exceptions.NarwhalsError as error:
        raise InputError(str(error).splitlines()[0], where) from None
    columns = {}
    for title in titles:
        if not isinstance(title, str):
            raise InputError(f"expected names of columns, found {title!r}", where)
        try:
            columns[title] = _column(eager[title])
        except OpaqueCellsError as cells:
            columns[title] = Column.unreadable(len(eager), cells.what)
    return Table(name, columns)


def _column(series: nw.Series[Any]) -> Column:
    missing = series.is_null().to_numpy()
    if series.dtype.is_integer():
        # Filled, because NumPy has integers with gaps only as floats, which round large ones.
        return Column.of(series.fill_null(0).to_numpy(), missing)
    if series.dtype.is_float():
        return Column.of(series.to_numpy(), missing)
    return Column.of(series.to_list(), missing)
