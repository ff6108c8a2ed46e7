"""What the data are: a diagram of types and links, and a table of what is known and what is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mlnlearn.data.database import Database
from mlnlearn.logic.atoms import Predicate
from mlnlearn.logic.schema import Schema
from mlnlearn.report.markup import Cell, Markup, TableColumn, join, table, tag
from mlnlearn.report.sections import section

_LETTER, _LINE, _PAD, _GAP, _BETWEEN = 7.3, 18, 10, 18, 110
MOST_DRAWN = 60
"""Types and links; where there are more, they are listed and not drawn."""
_MOST_LINES = 12  # attributes in one box


def data_section(databases: Sequence[Database]) -> Markup:
    """Return the diagram of the schema and a profile of the data."""
    schema = databases[0].schema
    parts: list[Markup] = []
    note = "Missing is what the data leave open: cells that are empty, and atoms listed as unknown."
    if sum(map(len, split_schema(schema))) <= MOST_DRAWN:
        parts.append(tag("div", schema_svg(schema), class_="scroll", tabindex=0))
        about = "Each box is a type with its attributes; links lead to the types that they join."
        note = f"{about} {note}"
    return section("data", "Data", tag("p", note, class_="note"), *parts, _profile(databases))


@dataclass(frozen=True)
class _SchemaBox:
    """A type with its attributes, or a link; where it stands."""

    title: str
    lines: tuple[str, ...]
    kinds: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        return _LETTER * max(map(len, (self.title, *self.lines))) + 2 * _PAD

    @property
    def height(self) -> float:
        return _LINE * (1 + len(self.lines)) + _PAD


def split_schema(schema: Schema) -> tuple[dict[str, list[Predicate]], list[Predicate]]:
    """Return the attributes of each type, and the predicates that link types.

    A type of values stands in one predicate alone, and not at its first place.

    Examples
    --------
    >>> schema = Schema.of("age(person,years)", "friends(person,person)", "rich(person)")
    >>> attributes, links = split_schema(schema)
    >>> {kind: [p.name for p in found] for kind, found in attributes.items()}
    {'person': ['age', 'rich']}
    >>> [p.name for p in links]
    ['friends']
    """
    users: dict[str, set[str]] = {}
    for predicate in schema.predicates:
        for kind in predicate.types:
            users.setdefault(kind, set()).add(predicate.name)
    first = {predicate.types[0] for predicate in schema.predicates if predicate.types}
    values = {kind for kind, names in users.items() if len(names) == 1 and kind not in first}
    attributes: dict[str, list[Predicate]] = {
        kind: [] for kind in schema.types if kind not in values
    }
    links = []
    for predicate in schema.predicates:
        joined = [kind for kind in predicate.types if kind not in values]
        if len(joined) == 1:
            attributes[joined[0]].append(predicate)
        elif joined:
            links.append(predicate)
    return attributes, links


def schema_svg(schema: Schema) -> Markup:
    """Draw types with their attributes on the left, links on the right, and what they join.

    Examples
    --------
    >>> text = schema_svg(Schema.of("age(person,years)", "friends(person,person)"))
    >>> text.count("<rect"), text.count('class="edge"')
    (2, 1)
    """
    attributes, links = split_schema(schema)
    left = [
        _SchemaBox(kind, _shown([_attribute(predicate, kind) for predicate in found]))
        for kind, found in attributes.items()
    ]
    right = [
        _SchemaBox(
            f"{p.name}({','.join(p.types)})", (), tuple(k for k in p.types if k in attributes)
        )
        for p in links
    ]
    across = max((box.width for box in left), default=0.0) + _BETWEEN
    tops, height = _stacked(left)
    others, other_height = _stacked(right, height)
    shapes: list[Markup] = []
    middle = {box.title: (box, top) for box, top in zip(left, tops, strict=True)}
    for box, top in zip(right, others, strict=True):
        for kind in dict.fromkeys(box.kinds):
            owner, at = middle[kind]
            start, end = (owner.width, at + owner.height / 2), (across, top + box.height / 2)
            shapes.append(
                tag(
                    "path",
                    d=f"M{start[0]:.0f},{start[1]:.0f} L{end[0]:.0f},{end[1]:.0f}",
                    class_="edge",
                    fill="none",
                )
            )
    shapes += [_drawn(box, 0.0, top) for box, top in zip(left, tops, strict=True)]
    shapes += [_drawn(box, across, top) for box, top in zip(right, others, strict=True)]
    width = across + max((box.width for box in right), default=0.0)
    tall = max(height, other_height, 1.0)
    return tag(
        "svg",
        *shapes,
        viewBox=f"-2 -2 {width + 4:.0f} {tall + 4:.0f}",
        width=f"{width + 4:.0f}",
        height=f"{tall + 4:.0f}",
        role="img",
        aria_label=f"Schema: {len(left)} types, {len(right)} links",
        class_="tree schema",
    )


def _shown(lines: Sequence[str]) -> tuple[str, ...]:
    """Return lines, the last ones as a number where a box would be too tall."""
    more = len(lines) - _MOST_LINES
    return tuple(lines) if more <= 1 else (*lines[:_MOST_LINES], f"… and {more} more")


def _attribute(predicate: Predicate, kind: str) -> str:
    rest = [other for other in predicate.types if other != kind]
    return f"{predicate.name}: {', '.join(rest)}" if rest else predicate.name


def _stacked(boxes: Sequence[_SchemaBox], least: float = 0.0) -> tuple[list[float], float]:
    """Return the tops of boxes one below the other, spread over a least height."""
    filled = sum(box.height for box in boxes)
    gap = max(_GAP, (least - filled) / (len(boxes) - 1)) if len(boxes) > 1 else _GAP
    tops, at = [], 0.0
    for box in boxes:
        tops.append(at)
        at += box.height + gap
    return tops, at - gap if boxes else 0.0


def _drawn(box: _SchemaBox, x: float, y: float) -> Markup:
    frame = tag(
        "rect", x=f"{x:.0f}", y=f"{y:.0f}", width=f"{box.width:.0f}", height=f"{box.height:.0f}",
        rx=5,
    )  # fmt: skip
    texts = [
        tag(
            "text",
            text,
            x=f"{x + _PAD:.0f}",
            y=f"{y + _LINE * (place + 1) - 2:.0f}",
            class_="name" if place == 0 else "entry",
        )
        for place, text in enumerate((box.title, *box.lines))
    ]
    return tag("g", frame, join(texts))


def _profile(databases: Sequence[Database]) -> Markup:
    columns = (
        TableColumn("predicate", words=True),
        TableColumn("true", hint="Facts"),
        TableColumn("possible", hint="Ground atoms"),
        TableColumn("share", hint="Of the possible atoms"),
        TableColumn("missing", hint="Empty cells and atoms listed as unknown"),
        TableColumn("missing share", hint="Of cells, or of atoms"),
    )
    rows = [_profile_row(databases, predicate) for predicate in databases[0].schema.predicates]
    return table("Profile of the data", columns, rows, class_="tall cards")


def _profile_row(databases: Sequence[Database], predicate: Predicate) -> tuple[Cell, ...]:
    name = predicate.name
    true = sum(database.count(name) for database in databases)
    possible = sum(database.ground_atoms(name) for database in databases)
    cells = sum(database.empty_cells(name).shape[1] for database in databases)
    listed = sum(
        (database.unknown[name].shape[1] if name in database.unknown else 0)
        for database in databases
    )
    missing = cells + listed
    # a functional predicate has a cell for each fact or gap; of others, atoms are counted
    whole = true + cells if cells else possible
    text = f"{name}({','.join(predicate.types)})"
    return (
        Cell(tag("code", text), text),
        Cell.of(float(true), 0),
        Cell.of(float(possible), 0),
        Cell.of(true / possible if possible else None, 4),
        Cell.of(float(missing), 0),
        Cell.of(missing / whole if whole else None),
    )
