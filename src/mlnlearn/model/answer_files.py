"""Files of answers that come a part at a time."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from mlnlearn.files import PARQUET_MARK, RANKED_MARK, AnyPath, located, write_files, written_beside
from mlnlearn.late import late
from mlnlearn.model.answers import Answers, csv_text
from mlnlearn.model.triple_answers import RankedEntity

duckdb = late("duckdb")
_TYPES = {
    "atom": "VARCHAR",
    "probability": "DOUBLE",
    "standard_error": "DOUBLE",
    "method": "VARCHAR",
}
_RANKED_TYPES = {"entity": "VARCHAR", "score": "DOUBLE", "known": "BOOLEAN"}
_WILDCARDS = "*?["


def write_answers(path: AnyPath, chunks: Iterable[Answers]) -> None:
    """Write answers that come a part at a time as one file, in full or not at all.

    Parameters
    ----------
    path
        The file: Parquet where its name ends in ``.parquet``, else CSV; with columns atom,
        probability, standard_error and method.
    chunks
        The answers, such as `mlnlearn.evaluate.chunks.query_in_chunks` gives.
    """
    write_table(path, csv_text(chunks), _TYPES)


def write_ranked(path: AnyPath, answers: Iterable[RankedEntity]) -> None:
    """Write ranked entities, such as `PathModel.top` gives, as one file.

    Parameters
    ----------
    path
        The file: Parquet where its name ends in ``.parquet``, else CSV; with columns entity, score
        and known.
    answers
        The entities, best first.
    """
    text = io.StringIO()
    text.write(RANKED_MARK)
    rows = ((one.entity, one.score, str(one.known).lower()) for one in answers)
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_table(path, text.getvalue(), _RANKED_TYPES)


def write_table(path: AnyPath, text: str | Iterable[str], types: Mapping[str, str]) -> None:
    """Write a table, given as CSV text, as Parquet where the name ends so, else as it is.

    Parameters
    ----------
    path
        The file.
    text
        With a line of titles.
    types
        The SQL type of each column, in order.
    """
    if Path(path).suffix.lower() != ".parquet":
        write_files({path: text})
        return
    with written_beside(path) as file, tempfile.TemporaryDirectory(dir=file.parent) as folder:
        plain = Path(folder) / "answers.csv"
        write_files({plain: text})
        settings: dict[str, str | bool | int | float | list[str]] = {
            "temp_directory": folder,
            "memory_limit": "512MB",
            "threads": 1,
        }
        with located(path, "write"), duckdb.connect(config=settings) as connection:
            columns = ", ".join(f"{_quoted(name)}: '{kind}'" for name, kind in types.items())
            source = f"read_csv({_literal(plain, _WILDCARDS)}, columns={{{columns}}}, header=true)"
            mark = f"FORMAT parquet, KV_METADATA {{written_by: {_quoted(PARQUET_MARK)}}}"
            try:
                connection.execute(f"COPY (FROM {source}) TO {_literal(file)} ({mark})")
            except duckdb.Error as error:
                raise OSError(str(error).splitlines()[0]) from None


def _literal(path: Path, wildcards: str = "") -> str:
    """Return an SQL string of a file's name, in which wildcards stand for themselves."""
    name = "".join(f"[{sign}]" if sign in wildcards else sign for sign in str(path.absolute()))
    return _quoted(name)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
