"""Random sets of tables with what makes it hard to tell from a part of the rows what they are."""

from __future__ import annotations

import datetime

import duckdb
import numpy as np
import pandas as pd

NAMES = ("customer", "product", "town", "order", "visit", "region", "clerk")


def few(rng, n):
    return rng.choice(["red", "green", "blue"], n).tolist()


def many(rng, n):
    return [f"w{k}" for k in np.minimum(rng.zipf(1.3, n), 90)]


def own(rng, n):
    return [f"x{k}-{rng.integers(1 << 30)}" for k in range(n)]


def half(rng, n):
    return [f"v{k}" for k in rng.integers(0, max(1, int(n * rng.uniform(0.3, 2))), n)]


def flag(rng, n):
    return rng.choice([["no", "yes"], ["0", "1"], ["n", "j"]][rng.integers(3)], n).tolist()


def truth(rng, n):
    return (rng.random(n) < 0.3).tolist()


def grade(rng, n):
    return rng.integers(1, rng.integers(3, 14), n).tolist()


def whole(rng, n):
    return rng.integers(0, 10_000, n).tolist()


def real(rng, n):
    return rng.normal(0, 10, n).round(2).tolist()


def real_whole(rng, n):
    return rng.integers(0, 50, n).astype(float).tolist()


def day(rng, n):
    return [datetime.date(2020, 1, 1) + datetime.timedelta(int(k)) for k in rng.integers(0, 900, n)]


def day_text(rng, n):
    form = ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%Y-%m-%d"][rng.integers(4)]
    return [d.strftime(form) for d in day(rng, n)]


def money(rng, n):
    form = ["{:,.2f}", "{:.1f} kg", "{:.0f}"][rng.integers(3)]
    return [form.format(k) for k in rng.gamma(1, 500, n)]


def constant(rng, n):
    return ["EUR"] * n


def seconds(rng, n):
    return rng.integers(1_500_000_000, 1_600_000_000, n).tolist()


def day_number(rng, n):
    return [int(d.strftime("%Y%m%d")) for d in day(rng, n)]


def address(rng, n):
    return [f"https://shop.example/{k}" for k in rng.integers(0, 40, n)]


def sentence(rng, n):
    return [" ".join(rng.choice(["a", "red", "big", "dog", "ran"], 6)) for _ in range(n)]


def clock(rng, n):
    return [f"{k // 60}:{k % 60:02}" for k in rng.integers(0, 1400, n)]


def blank(rng, n):
    return rng.choice(["", "x", " "], n).tolist()


KINDS = (few, many, own, half, flag, truth, grade, whole, real, real_whole, day, day_text, money)
KINDS += (constant, seconds, day_number, address, sentence, clock, blank)


def column(rng, n):
    """Cells of a random kind; of some, only one row tells what they are not."""
    kind = KINDS[rng.integers(len(KINDS))]
    cells = kind(rng, n)
    if rng.random() < 0.25:
        cells = [
            None if gone else cell for gone, cell in zip(rng.random(n) < 0.2, cells, strict=True)
        ]
    elif rng.random() < 0.3 and n:
        cells[rng.integers(n)] = None
    if rng.random() < 0.15 and n and all(isinstance(c, str | None) for c in cells):
        cells[rng.integers(n)] = ["n/a", " ", "12", "maybe"][rng.integers(4)]
    if rng.random() < 0.2 and n and all(isinstance(c, float | None) for c in cells):
        cells[rng.integers(n)] = [0.5, float("inf"), 1e9][rng.integers(3)]
    if rng.random() < 0.1 and n and all(type(c) is int for c in cells):
        cells[rng.integers(n)] = [-1, 0, 10**12][rng.integers(3)]
    return kind.__name__, cells


def keys(rng, n):
    """Names of rows; sometimes one repeats or is missing."""
    found = [list(range(1, n + 1)), [f"k{k}" for k in range(n)], (rng.permutation(n) * 3).tolist()][
        rng.integers(3)
    ]
    if rng.random() < 0.1 and n > 1:
        found[rng.integers(n)] = found[rng.integers(n)]
    if rng.random() < 0.05 and n:
        found[rng.integers(n)] = None
    return found


def links(rng, n, target, *, sound):
    """Cells that refer to a table; unless they are to be sound, some lead nowhere."""
    there = [key for key in target if key is not None]
    cells = [there[k] for k in rng.integers(0, len(there), n)] if there else [None] * n
    if rng.random() < 0.3:
        cells = [None if rng.random() < 0.1 else cell for cell in cells]
    share = 0 if sound else rng.choice([0, 0, 0, 0.01, 0.04, 0.06, 0.5])
    lost = rng.random(n) < share
    if not sound and rng.random() < 0.3 and n:
        lost[rng.integers(n)] = True
    strange = "k999999" if there and isinstance(there[0], str) else 999_999
    return [strange if gone else cell for gone, cell in zip(lost, cells, strict=True)]


def table_set(rng, *, sound=False, most=400):
    """Return tables as frames, and of each its key columns and links: columns with their tables."""
    frames, primary, foreign = {}, {}, {}
    names = rng.permutation(NAMES)[: rng.integers(2, 5)].tolist()
    for place, name in enumerate(names):
        n = int(rng.choice([0, 5, 19, 25, 60, most], p=[0.03, 0.07, 0.1, 0.15, 0.2, 0.45]))
        cells, linked = {}, {}
        key = str(rng.choice(["id", f"{name}_id", name, "code"]))
        is_link = place > 1 and rng.random() < 0.4
        if not is_link:
            cells[key] = list(range(n)) if sound else keys(rng, n)
            primary[name] = (key,)
        others = [other for other in names[:place] if len(primary.get(other, ())) == 1]
        for other in rng.permutation(others)[: 2 if is_link else rng.integers(0, 3)].tolist():
            title = str(rng.choice([other, f"{other}_id", f"home_{other}", primary[other][0], "z"]))
            if title in cells:
                continue
            found = frames[other][primary[other][0]].tolist()
            found = [None if pd.isna(cell) else cell for cell in found]
            cells[title] = links(rng, n, found, sound=sound)
            if not sound and rng.random() < 0.2:
                # as frames of numbers with gaps are written
                cells[title] = [float(c) if type(c) is int else c for c in cells[title]]
            elif not sound and rng.random() < 0.1:
                cells[title] = [str(c) if type(c) is int else c for c in cells[title]]
            linked[title] = other
        if place and not is_link and not sound and rng.random() < 0.2:
            # some of the things of another table
            first = names[0]
            there = frames[first][primary[first][0]].dropna().drop_duplicates().tolist()
            if there:
                del cells[key]
                n = int(rng.integers(1, len(there) + 1))
                cells = {
                    title: (cell * n)[:n] if cell else [None] * n for title, cell in cells.items()
                }
                key = primary[first][0]
                cells = {key: [there[k] for k in rng.permutation(len(there))[:n]]} | cells
                linked = {t: o for t, o in linked.items() if t != key}
                primary[name] = (key,)
        if not is_link and not sound and rng.random() < 0.05:
            cells["parent"] = [None, *cells[key][:-1]][:n]
            linked["parent"] = name
        elif not is_link and rng.random() < 0.2:
            cells["parent"] = links(rng, n, cells[key], sound=sound)
            if sound:  # a server takes rows in pieces
                step = max(1, n // 8)
                starts = [k - k % step for k in range(n)]
                cells["parent"] = [int(rng.integers(s)) if s else None for s in starts]
            linked["parent"] = name
        if rng.random() < 0.3:
            cells["copy"] = [f"k{k}" for k in rng.integers(0, 30, n)]
        for _ in range(rng.integers(1, 5)):
            kind, made = column(rng, n)
            title = str(rng.choice([kind, "note", "name", "zip", "when", "amount"]))
            cells.setdefault(title, made)
        order = rng.permutation(list(cells)).tolist() if rng.random() < 0.3 else list(cells)
        frame = pd.DataFrame({title: pd.Series(cells[title], dtype=object) for title in order})
        if is_link and len(linked) == 2 and rng.random() < 0.6:
            frame = frame.drop_duplicates(list(linked)).dropna(subset=list(linked))
            if sound or rng.random() < 0.5:
                primary[name] = tuple(linked)
        frames[name], foreign[name] = frame.reset_index(drop=True), linked
    return frames, primary, foreign


def sql_type(frame, title):
    cells = [cell for cell in frame[title] if cell is not None and cell == cell]
    for kind, name in ((bool, "BOOLEAN"), (int, "BIGINT"), (float, "DOUBLE")):
        if cells and all(type(cell) is kind for cell in cells):
            return name
    return "DATE" if cells and all(isinstance(c, datetime.date) for c in cells) else "VARCHAR"


def definitions(frames, primary, foreign):
    """Return ``CREATE TABLE`` statements."""
    found = {}
    for name, frame in frames.items():
        links_here = foreign.get(name, {})
        kinds = {
            title: sql_type(
                *(
                    (frames[links_here[title]], primary[links_here[title]][0])
                    if title in links_here
                    else (frame, title)
                )
            )
            for title in frame
        }
        parts = [f'"{title}" {kind}' for title, kind in kinds.items()]
        if primary.get(name):
            listed = ", ".join(f'"{title}"' for title in primary[name])
            parts.append(f"PRIMARY KEY ({listed})")
        for title, other in foreign.get(name, {}).items():
            parts.append(f'FOREIGN KEY ("{title}") REFERENCES "{other}" ("{primary[other][0]}")')
        found[name] = f'CREATE TABLE "{name}" ({", ".join(parts)})'
    return found


def write_file(path, frames, primary=None, foreign=None):
    """Write a DuckDB file, with the keys that are declared."""
    with duckdb.connect(str(path)) as connection:
        for name, statement in definitions(frames, primary or {}, foreign or {}).items():
            connection.execute(statement)
            fill(connection, name, frames[name])
    return path


def fill(connection, name, frame):
    """Insert rows; where they refer to others of the table, in pieces, which refer to earlier."""
    connection.register("cells", frame.map(lambda c: None if c != c else c))
    step = max(1, len(frame) // 8) if "parent" in frame else max(1, len(frame))
    for start in range(0, len(frame), step):
        rows = f"SELECT * FROM cells LIMIT {step} OFFSET {start}"
        connection.execute(f'INSERT INTO "{name}" {rows}')
    connection.unregister("cells")


def write_folder(folder, frames, schema=""):
    """Write a folder of Parquet files."""
    folder.mkdir()
    with duckdb.connect() as connection:
        for name, statement in definitions(frames, {}, {}).items():
            connection.execute(statement)
            fill(connection, name, frames[name])
            connection.execute(f"COPY \"{name}\" TO '{folder}/{name}.parquet'")
    if schema:
        (folder / "schema.sql").write_text(schema)
    return folder


def write_server(connection, frames, primary=None, foreign=None):
    """Write to PostgreSQL, over a connection."""
    for name, statement in definitions(frames, primary or {}, foreign or {}).items():
        connection.execute(statement.replace("DOUBLE", "DOUBLE PRECISION"))
        titles = ", ".join(f'"{title}"' for title in frames[name])
        with connection.cursor().copy(f'COPY "{name}" ({titles}) FROM STDIN') as copy:
            for row in frames[name].itertuples(index=False, name=None):
                copy.write_row([None if cell is None or cell != cell else cell for cell in row])
