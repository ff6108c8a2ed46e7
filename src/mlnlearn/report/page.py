"""The report: one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import resources

from mlnlearn.data.database import Database
from mlnlearn.data.identity import fingerprint
from mlnlearn.errors import InputError
from mlnlearn.evaluate.predictions import Predictions
from mlnlearn.evaluate.results import Results
from mlnlearn.files import PAGE_MARK
from mlnlearn.model.domains import with_constants_of
from mlnlearn.report.atoms import atoms_section
from mlnlearn.report.filled import filled_section
from mlnlearn.report.importance import importance_bars, importances
from mlnlearn.report.markup import Markup, tag
from mlnlearn.report.schema_diagram import data_section
from mlnlearn.report.sections import (
    drawings_section,
    headline,
    overview_section,
    performance_section,
    rules_section,
    section,
)
from mlnlearn.report.views import BayesView, NetworkView, View, view_of

_MOST_NAMED = 3
_TRAINING = (
    "Scores are those of the databases shown here; for databases that the model was learned from "
    "they are training scores."
)
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def report_page(
    model: object,
    databases: Database | Sequence[Database],
    query: str | Sequence[str] | None = None,
    *,
    results: Results | Sequence[Results] | None = None,
    trained_on: Database | Sequence[Database] | None = None,
    title: str = "",
) -> str:
    """Return a report on a model as one HTML page that works offline.

    It shows the rules by target with weight, support, share and base; the trees of a boosted model,
    or a Bayes net node by node; precision-recall, ROC and calibration plots, a learning curve over
    boosting steps, and scores by database; what the predictions rest on; the schema and a profile
    of the data; cells that a Bayes net would fill; and atoms to search, each with the rules for and
    against it.

    Parameters
    ----------
    model
        A Markov logic network or what a learner returns.
    databases
        Data to judge the model by; each is a fold. Scores of data that the model was learned from
        are training scores.
    query
        The predicates to predict, together where there are several. By default those that the
        model is about.
    results
        Results of cross-validations to show along with it.
    trained_on
        What the model was learned from, where that is known: the page then says of its scores
        whether they are those of held-out or of training data, by comparing all facts.
    title
        Of the page.

    Examples
    --------
    >>> from mlnlearn.data.synthetic import smokers
    >>> from mlnlearn.model.mln import MLN
    >>> made = smokers(30, rng=0)
    >>> mln = MLN(made.schema, made.rules)
    >>> page = report_page(mln, made.databases, "cancer", title="Who falls ill?")
    >>> page.startswith("<!doctype html>"), "<h1>Who falls ill?</h1>" in page
    (True, True)
    """
    given = [databases] if isinstance(databases, Database) else list(databases)
    if not given:
        raise InputError("a report needs at least one database")
    runs = [results] if isinstance(results, Results) else list(results or ())
    view = view_of(model)
    if isinstance(view, NetworkView):
        given = list(with_constants_of(view.mln, given))
    names = (query,) if isinstance(query, str) else tuple(query or view.queries())
    if not names:
        raise InputError(
            "the model has no rules, so what should be predicted?", hint="name a query"
        )
    for name in names:
        given[0].schema[name]  # refuse unknown names before the work begins
    others = {name: [other for other in names if other != name] for name in names}
    predictions = [view.predictions(given, name, others[name]) for name in names]
    heading = title or f"What the model says about {_named(names)}"
    drawing = drawings_section(view, given, predictions)
    sections = [
        ("rules", "Rules", rules_section(view, given)),
        *([("drawing", "Drawings", drawing)] if drawing else []),
        *(
            [("overview", "All predicates", overview_section(view, given, predictions))]
            if len(names) > 1
            else []
        ),
        *(
            (
                f"performance-{name}",
                _label(name, len(names)),
                performance_section(view, given, found, others[name], runs),
            )
            for name, found in zip(names, predictions, strict=True)
        ),
        *_importance(view, given, predictions, others),
        ("atoms", "Atoms", atoms_section(view, given, predictions)),
        *_filled(view, given),
        ("data", "Data", data_section(given)),
    ]
    figures = [*_sizes(view, given), *headline(predictions)]
    return whole_page(heading, view.kind, figures, sections, _which(given, trained_on))


def _importance(
    view: View,
    databases: Sequence[Database],
    predictions: Sequence[Predictions],
    others: Mapping[str, Sequence[str]],
) -> list[tuple[str, str, Markup]]:
    """Return what the predictions of a few predicates rest on, where it can be measured."""
    if isinstance(view, BayesView) or len(predictions) > _MOST_NAMED:
        return []
    parts = []
    for found in predictions:
        name = found.predicate.name
        lost = importances(view, databases, found, others[name]) if len(found) else None
        if lost:
            parts += [tag("h3", name) if len(predictions) > 1 else None, importance_bars(lost)]
    if not parts:
        return []
    return [("importance", "Importance", section("importance", "What it rests on", *parts))]


def _filled(view: View, databases: Sequence[Database]) -> list[tuple[str, str, Markup]]:
    found = filled_section(view.model, databases) if isinstance(view, BayesView) else None
    return [("filled", "Filled cells", found)] if found else []


def _which(databases: Sequence[Database], trained_on: Database | Sequence[Database] | None) -> str:
    """Say whether scores are those of training or of held-out data."""
    if trained_on is None:
        return _TRAINING
    known = [trained_on] if isinstance(trained_on, Database) else list(trained_on)
    learned_from = {_content(database) for database in known}
    seen = sum(_content(database) in learned_from for database in databases)
    if not seen:
        return "Scores are those of held-out data: the model was learned from other databases."
    if seen == len(databases):
        return "Scores are training scores: the model was learned from these databases."
    return (
        f"Scores mix training and held-out data: the model was learned from {seen} of these "
        f"{len(databases)} databases."
    )


def _content(database: Database) -> tuple[str, ...]:
    """Return digests of what a database says, whatever it is called."""
    return tuple(fingerprint([database]).values())


def _named(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= _MOST_NAMED else f"{len(names)} predicates"


def _label(name: str, queries: int) -> str:
    return "Performance" if queries == 1 else name


def _sizes(view: View, databases: Sequence[Database]) -> list[tuple[str, str]]:
    network = view.network()
    facts = sum(database.true_atoms for database in databases)
    rules = [] if network is None else [("rules", f"{len(network.rules):,}")]
    return [*rules, ("databases", f"{len(databases):,}"), ("true atoms", f"{facts:,}")]


def whole_page(
    heading: str,
    kind: str,
    figures: Sequence[tuple[str, str]],
    sections: Sequence[tuple[str, str, Markup]],
    note: str = _TRAINING,
) -> str:
    """Return a page: its heading, the kind of the model, tiles of figures, and sections."""
    links = [tag("li", tag("a", label, href=f"#{name}")) for name, label, _ in sections]
    tiles = [tag("div", tag("dt", label), tag("dd", value)) for label, value in figures]
    top = tag(
        "header",
        tag("p", kind, class_="kind"),
        tag("h1", heading),
        tag("dl", *tiles, class_="tiles"),
        tag("p", note, class_="note"),
    )
    body = tag(
        "body",
        tag("a", "Skip to the rules", href="#rules", class_="skip"),
        top,
        tag("nav", tag("ul", *links), aria_label="Parts of the report"),
        tag("main", *(content for _, _, content in sections)),
        tag("script", Markup(_asset("report.js"))),
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", heading),
        tag("style", Markup(_asset("report.css"))),
    )
    return f"{PAGE_MARK}{tag('html', head, body, lang='en')}\n"


def _asset(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
