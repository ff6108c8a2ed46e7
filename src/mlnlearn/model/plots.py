"""Pictures of models and explanations for notebooks; they need the extra ``mlnlearn[plot]``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mlnlearn.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_UP, _DOWN, _REST = "#1f5fae", "#a34a06", "#a9b4c2"
_LETTERS = 60


class Plots:
    """What models can draw."""

    def plot_rules(self, most: int = 12, ax: Axes | None = None) -> Axes:
        """Draw the weights of the strongest rules as bars.

        Parameters
        ----------
        most
            How many rules.
        ax
            Where to draw; a new figure by default.
        """
        found = sorted(rule_weights(self), key=lambda rule: -abs(rule[1]))[:most]
        if not found:
            raise InputError("the model has no rules to draw")
        return _bars([text for text, _ in found], [weight for _, weight in found], "weight", ax)


def rule_weights(model: Any) -> list[tuple[str, float]]:
    """Return the rules of a model of any kind as texts, with their weights.

    Examples
    --------
    >>> from mlnlearn.model.mln import MLN
    >>> rule_weights(MLN.parse("smokes(person)" + chr(10) + "-1.5 smokes(x)"))
    [('smokes(x)', -1.5)]
    """
    if hasattr(model, "shown_rules"):
        return [(rule.sentence, rule.weight) for rule in model.shown_rules()]
    if hasattr(model, "mln"):
        return rule_weights(model.mln())
    rules = model.rules() if callable(model.rules) else model.rules
    found = []
    for rule in rules:
        if isinstance(rule, tuple):
            found.append((str(rule[0]), float(rule[1])))
        elif hasattr(rule, "confidence"):
            found.append((str(rule), float(rule.confidence)))
        elif rule.weight is not None:
            found.append((str(rule.formula), float(rule.weight)))
    return found


def plot_waterfall(
    parts: Sequence[tuple[str, float]],
    title: str,
    *,
    most: int,
    unit: str = "log-odds",
    ax: Axes | None = None,
) -> Axes:
    """Draw how parts add up: each bar begins where the one before it ended.

    Beyond the first `most`, all others are one bar.
    """
    shown, rest = list(parts[:most]), parts[most:]
    shown += [(f"{len(rest)} more", sum(value for _, value in rest))] if rest else []
    labels, values = [label for label, _ in shown], [value for _, value in shown]
    axes = _axes(len(labels) + 1, ax)
    total = 0.0
    for place, value in enumerate([*values, 0.0]):
        last = place == len(labels)
        start, width = (0.0, total) if last else (total, value)
        colour = _REST if last else _UP if value > 0 else _DOWN
        axes.barh(place, width, left=start, color=colour)
        axes.text(start + width, place, f" {width:+.2f}", va="center", fontsize=8)
        total += 0.0 if last else value
    axes.set_yticks(range(len(labels) + 1), [*map(_short, labels), "together"], fontsize=8)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_xlabel(unit)
    axes.set_title(title, fontsize=10)
    return axes


def plot_curve(
    values: Sequence[float], answers: Sequence[float], names: tuple[str, str], ax: Axes | None
) -> Axes:
    """Draw answers over values as steps: what trees say changes at their thresholds alone."""
    axes = _axes(8, ax)
    axes.step(list(values), list(answers), where="post", color=_UP)
    axes.set_xlabel(_short(names[0]))
    axes.set_ylabel(_short(names[1]))
    return axes


def _bars(labels: Sequence[str], values: Sequence[float], title: str, ax: Axes | None) -> Axes:
    axes = _axes(len(labels), ax)
    colours = [_UP if value > 0 else _DOWN for value in values]
    axes.barh(range(len(labels)), values, color=colours)
    axes.set_yticks(range(len(labels)), list(map(_short, labels)), fontsize=8)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.invert_yaxis()
    axes.set_xlabel(title)
    return axes


def _axes(rows: int, ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot as plt  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise InputError("drawing needs matplotlib", hint="pip install mlnlearn[plot]") from error
    _, axes = plt.subplots(figsize=(8, 0.8 + 0.32 * rows), layout="constrained")
    return axes


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else text[: _LETTERS - 1] + "…"
