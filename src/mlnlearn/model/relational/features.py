"""Features: what can be read of a row by following links, as values that print as words.

A feature is a path of links from an example's row, and a column at its end. A forward step follows
a link of the row; a backward step goes to all rows that point here, and says of them a count, a
mean, the latest value and so on. Steps are evaluated from the end of the path to its start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from mlnlearn.counting.aggregates import Aggregate
from mlnlearn.data.vocabulary import moment_name


@dataclass(frozen=True, slots=True)
class Forward:
    """Follow a link of the row.

    Attributes
    ----------
    link
        The column.
    """

    link: str


@dataclass(frozen=True, slots=True)
class Where:
    """Which rows of a set are looked at: those that have a name in a column.

    Attributes
    ----------
    links
        Links of the row to where the column is; empty for one of its own.
    column, name
        The column, and the name.
    """

    links: tuple[str, ...]
    column: str
    name: str

    def __str__(self) -> str:
        return f"{_dotted(list(self.links), self.column)} = {self.name}"


@dataclass(frozen=True, slots=True)
class Backward:
    """Go to the rows of a set that point here, and aggregate what they have.

    Attributes
    ----------
    rows
        The row set.
    link
        Its column that points here.
    aggregate
        What to say of the values.
    last
        Only the last so many rows by time; None for all.
    within
        Only rows at most so many seconds old; None for all.
    where
        Only the values of rows that have a name; None for all.
    """

    rows: str
    link: str
    aggregate: Aggregate
    last: int | None = None
    within: float | None = None
    where: Where | None = None


Step: TypeAlias = Forward | Backward
Unit: TypeAlias = Literal["", "moment", "age"]


@dataclass(frozen=True, slots=True)
class Feature:
    """A path of links and what is read at its end.

    Attributes
    ----------
    steps
        The path, from the example's row on.
    column
        The column at its end; None for the rows themselves, to count them.
    value
        Of a column of names: read 1 where it is this one, 0 where it is another.
    unit
        Of times: ``"moment"``, or ``"age"`` for how long before the example; empty for numbers.

    Examples
    --------
    >>> steps = (Forward("driver"), Backward("result", "driver", "mean", last=3))
    >>> print(Feature(steps, "position"))
    mean position of the last 3 result of its driver
    >>> print(Feature((Backward("friend", "one", "count"),)))
    number of friend by one
    >>> print(Feature((Backward("buy", "customer", "exists"),), "good", "tea"))
    any buy by customer with good = tea
    >>> print(Feature((Forward("album"), Forward("artist")), "country"))
    country of the artist of its album
    >>> lactate = Backward("lab", "stay", "max", where=Where((), "test", "lactate"))
    >>> print(Feature((lactate,), "value"))
    largest value of lab by stay with test = lactate
    """

    steps: tuple[Step, ...] = ()
    column: str | None = None
    value: str | None = None
    unit: Unit = ""

    def __str__(self) -> str:
        return words(self)

    def shown(self, number: float) -> str:
        """Return one of its numbers as it is read.

        Examples
        --------
        >>> Feature((), "joined", unit="moment").shown(86_400.0), Feature((), "price").shown(2.5)
        ('1970-01-02', '2.5')
        """
        if self.unit == "moment":
            return moment_name(float(round(number)))
        return duration(number) if self.unit == "age" else said_number(number)


@dataclass(frozen=True, slots=True)
class Hop:
    """Through the rows of a set, from what some of its columns point to, to what others point to.

    Attributes
    ----------
    rows
        The row set.
    enter, leave
        The columns that must point to where the path comes from, and those where it goes on; with
        two of each, rows are joined on two shared columns, such as course and quarter.
    """

    rows: str
    enter: tuple[str, ...]
    leave: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """The number of paths that connect what two links of an example's row point to.

    Attributes
    ----------
    start, end
        Columns of the example's row.
    hops
        The relations in between.

    Examples
    --------
    >>> print(Between("one", "two", (Hop("author", ("person",), ("paper",)),
    ...                              Hop("author", ("paper",), ("person",)))))
    number of paths from its one to its two by author (person to paper), author (paper to person)
    """

    start: str
    end: str
    hops: tuple[Hop, ...]

    def __str__(self) -> str:
        by = ", ".join(
            f"{hop.rows} ({' and '.join(hop.enter)} to {' and '.join(hop.leave)})"
            for hop in self.hops
        )
        return f"number of paths from its {self.start} to its {self.end} by {by}"


@dataclass(frozen=True, slots=True)
class Both:
    """Two names of an example's row together: a name for each pair of them.

    Attributes
    ----------
    first, second
        Features that have names.

    Examples
    --------
    >>> both = Both(Feature((), "topic"), Feature((Forward("person"),), "job"))
    >>> print(both, both.name("music", "cook"), sep=": ")
    topic and job of its person: music × cook
    """

    first: Feature
    second: Feature

    def name(self, one: str, other: str) -> str:
        """Return the name of a pair; no two pairs have the same."""
        return " × ".join(name.replace("×", "××") for name in (one, other))

    def __str__(self) -> str:
        return f"{self.first} and {self.second}"


AnyFeature: TypeAlias = Feature | Between | Both


def number_of_links(feature: AnyFeature) -> int:
    """Return the number of links that a feature follows; which rows are picked is as long to say.

    Examples
    --------
    >>> number_of_links(Both(Feature((), "topic"), Feature((Forward("person"),), "job")))
    1
    >>> number_of_links(Feature((Backward("lab", "stay", "max", where=Where((), "test", "CRP")),)))
    2
    """
    if isinstance(feature, Both):
        return max(len(feature.first.steps), len(feature.second.steps))
    if isinstance(feature, Between):
        return len(feature.hops)
    return len(feature.steps) + sum(
        isinstance(step, Backward) and step.where is not None for step in feature.steps
    )


_WORDS = {
    "count": "number",
    "exists": "whether there is any",
    "sum": "sum",
    "mean": "mean",
    "min": "least",
    "max": "largest",
    "latest": "latest",
    "mode": "most common",
    "since": "time since the latest",
}
_IN_FULL = 1e15
_OF_FLAGS = {"mean": "share of", "sum": "number of", "exists": "any"}


def words(feature: Feature) -> str:
    """Say what a feature is.

    Links are followed by dots behind the rows that they are of, as in ``order.price``.

    Examples
    --------
    >>> words(Feature((Forward("album"), Forward("artist")), "")), words(Feature((), "price"))
    ('artist of its album', 'price')
    >>> orders, items = Backward("orders", "customer", "sum"), Backward("item", "order", "sum")
    >>> words(Feature((orders, items), "price"))
    'sum price of item by order, over all orders by customer'
    >>> words(Feature((Backward("orders", "customer", "mean"), items), "price"))
    'mean over orders by customer of the sum price of item by order'
    >>> friends = Backward("friend", "one", "mean"), Forward("two")
    >>> words(Feature((*friends, *friends), "party", "red"))
    'mean over two of friend by one of the share of friend by one with two.party = red'
    """
    first, levels = _levels(feature.steps)
    if not levels:
        return _followed(first, feature.column, feature.value)
    text, counted = "", None
    for number, (step, links) in reversed(list(enumerate(levels))):
        rows = _rows(step, [] if number else first)
        if counted is None:
            text = _said(step.aggregate, rows, _dotted(links, feature.column), feature.value)
        else:
            rows = f"{'.'.join(links)} of {rows}" if links else rows
            text = _said_over(step.aggregate, rows, text, counted, feature.value is not None)
        counted = step.aggregate
    return text


def _levels(steps: tuple[Step, ...]) -> tuple[list[str], list[tuple[Backward, list[str]]]]:
    """Return the links that come first, and each step backward with the links behind it."""
    first: list[str] = []
    levels: list[tuple[Backward, list[str]]] = []
    for step in steps:
        if isinstance(step, Backward):
            levels.append((step, []))
        else:
            (levels[-1][1] if levels else first).append(step.link)
    return first, levels


def _place(links: list[str]) -> str:
    """Say where links of an example's row lead to."""
    *middle, last = reversed(links)
    return "".join(f"the {link} of " for link in middle) + f"its {last}"


def _dotted(links: list[str], column: str | None) -> str | None:
    """Say a column behind links; what a link points to has the link's name."""
    return None if column is None else ".".join([*links, column] if column else links) or "name"


def _followed(links: list[str], column: str | None, value: str | None) -> str:
    """Say what is read where links of an example's row lead to."""
    text = column or "name"
    if links and not column:
        *links, text = links
        text = text if links or value is not None else f"its {text}"
    text = text if value is None else f"{text} = {value}"
    return f"{text} of {_place(links)}" if links else text


def _rows(step: Backward, first: list[str]) -> str:
    """Say which rows point here, that is to where the links lead that come first.

    Where the last of these has the name of the link by which they do, that is not said again.
    """
    which = step.rows if step.last is None else f"the last {step.last} {step.rows}"
    if step.within is not None:
        which = f"{which} of the last {duration(step.within)}"
    by = "" if first[-1:] == [step.link] else f" by {step.link}"
    which = f"{which}{by} of {_place(first)}" if first else f"{which}{by}"
    return which if step.where is None else f"{which} with {step.where}"


def _said(aggregate: Aggregate, rows: str, column: str | None, value: str | None) -> str:
    """Say an aggregate of a column of rows, or of the rows themselves."""
    if column is None or aggregate == "since":
        joint = " " if aggregate in ("exists", "since") else " of "
        return f"{_WORDS[aggregate]}{joint}{rows}"
    if value is not None and aggregate in _OF_FLAGS:
        return f"{_OF_FLAGS[aggregate]} {rows} with {column} = {value}"
    column = column if value is None else f"{column} = {value}"
    return f"{_WORDS[aggregate]} {column} of {rows}"


def _said_over(aggregate: Aggregate, rows: str, text: str, inner: Aggregate, flag: bool) -> str:
    """Say an aggregate over rows of what `text` says of each of them, itself an aggregate."""
    if aggregate == "since":
        return f"{_WORDS[aggregate]} {rows}"
    if aggregate == "sum" and (flag or inner in ("sum", "count")):
        return f"{text}, over all {rows}"
    if flag and aggregate == "exists":
        return f"{_OF_FLAGS[aggregate]} {rows} with {text}"
    the = "" if inner == "exists" else "the "
    return f"{_WORDS[aggregate]} over {rows} of {the}{text}"


def said_number(number: float, digits: int = 6) -> str:
    """Return a number as it is read, large ones in full.

    Examples
    --------
    >>> said_number(9_848_940.0), said_number(0.1234567), said_number(123_456.7, 3)
    ('9848940', '0.123457', '123457')
    """
    text = f"{number:.{digits}g}"
    return f"{number:.0f}" if "e+" in text and abs(number) < _IN_FULL else text


def duration(seconds: float) -> str:
    """Say a time in the largest unit that suits it.

    Examples
    --------
    >>> duration(3 * 86400), duration(90.0)
    ('3 days', '90 seconds')
    """
    for unit, name in ((86400.0 * 365.25, "years"), (86400.0, "days"), (3600.0, "hours")):
        if abs(seconds) >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.3g} seconds"
