"""Trees over features as plain data, and back: what model files and journals hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from mlnlearn.counting.aggregates import Aggregate
from mlnlearn.data.load.mapping import MappingFile
from mlnlearn.documents import within
from mlnlearn.errors import InputError
from mlnlearn.model.boosted.files import SchemaFile
from mlnlearn.model.relational.axis import ByName, NameAxis
from mlnlearn.model.relational.features import (
    AnyFeature,
    Backward,
    Between,
    Both,
    Feature,
    Forward,
    Hop,
    Step,
    Where,
)
from mlnlearn.model.relational.rules import Condition, ReadableRule, RuleList
from mlnlearn.model.relational.trees import FeatureNode, Test, axis_of

FORMAT = "mlnlearn boosted features 1"


class WhereFile(msgspec.Struct, forbid_unknown_fields=True):
    """The name that rows have in a column, behind links."""

    links: list[str]
    column: str
    name: str


class LinkStepFile(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A step: a link to follow, or rows that point here with what is said of them."""

    link: str
    rows: str | UnsetType = UNSET
    say: Aggregate | UnsetType = UNSET
    last: int | UnsetType = UNSET
    within: float | UnsetType = UNSET
    where: WhereFile | UnsetType = UNSET


class HopFile(msgspec.Struct, forbid_unknown_fields=True):
    """Rows in between."""

    rows: str
    enter: list[str]
    leave: list[str]


class FeatureFile(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A path with its end, a connection of two links, or two names together."""

    path: list[LinkStepFile] | UnsetType = UNSET
    column: str | UnsetType = UNSET
    value: str | UnsetType = UNSET
    unit: Literal["moment", "age"] | UnsetType = UNSET
    start: str | UnsetType = UNSET
    end: str | UnsetType = UNSET
    by: list[HopFile] | UnsetType = UNSET
    both: list[FeatureFile] | UnsetType = UNSET


class FeatureNodeFile(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A node; its feature by number."""

    values: list[float]
    feature: int | UnsetType = UNSET
    above: float | UnsetType = UNSET
    names: list[str] | UnsetType = UNSET
    missing: bool | UnsetType = UNSET
    yes: FeatureNodeFile | UnsetType = UNSET
    no: FeatureNodeFile | UnsetType = UNSET
    by_name: list[float] | UnsetType = UNSET


class AxisFile(msgspec.Struct, forbid_unknown_fields=True):
    """An argument of which nodes have a value for each name; its feature by number."""

    argument: int
    feature: int
    names: list[str]


class ConditionFile(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """A test that must pass or fail."""

    feature: int
    holds: bool
    above: float | UnsetType = UNSET
    names: list[str] | UnsetType = UNSET
    missing: bool | UnsetType = UNSET


class RuleFile(msgspec.Struct, forbid_unknown_fields=True):
    """A rule to read."""

    conditions: list[ConditionFile]
    weights: list[float]
    share: float
    base: float
    support: int
    says: str


class ListFile(msgspec.Struct, forbid_unknown_fields=True):
    """A short list of rules."""

    start: list[float]
    rules: list[RuleFile]
    kept: float | None


class PartFile(msgspec.Struct, forbid_unknown_fields=True):
    """What a model says, without what it is about."""

    start: list[float]
    features: list[FeatureFile]
    trees: list[FeatureNodeFile]
    listed: ListFile | None
    axis: AxisFile | None = None


class RelationalFile(msgspec.Struct, forbid_unknown_fields=True):
    """A model of boosted features."""

    format: Literal["mlnlearn boosted features 1"]
    target: str
    kind: Literal["logistic", "classes", "squares"]
    classes: list[str]
    timed: bool
    until: bool
    row_set: str
    column: str | None
    schema: SchemaFile
    mapping: MappingFile | None
    start: list[float]
    features: list[FeatureFile]
    trees: list[FeatureNodeFile]
    listed: ListFile | None
    axis: AxisFile | None = None
    alone: PartFile | None = None
    lagged: bool = False
    collective: bool = False
    checksum: str = ""
    rules: str = ""


def feature_to_plain(feature: AnyFeature) -> dict[str, Any]:
    """Return a feature as plain data."""
    if isinstance(feature, Both):
        return {"both": [feature_to_plain(feature.first), feature_to_plain(feature.second)]}
    if isinstance(feature, Between):
        hops = [
            {"rows": hop.rows, "enter": list(hop.enter), "leave": list(hop.leave)}
            for hop in feature.hops
        ]
        return {"start": feature.start, "end": feature.end, "by": hops}
    found: dict[str, Any] = {"path": [_step_to_plain(step) for step in feature.steps]}
    for name in ("column", "value"):
        if getattr(feature, name) is not None:
            found[name] = getattr(feature, name)
    if feature.unit:
        found["unit"] = feature.unit
    return found


def _step_to_plain(step: Step) -> dict[str, Any]:
    if isinstance(step, Forward):
        return {"link": step.link}
    found: dict[str, Any] = {"link": step.link, "rows": step.rows, "say": step.aggregate}
    for name in ("last", "within"):
        if getattr(step, name) is not None:
            found[name] = getattr(step, name)
    if step.where is not None:
        where = step.where
        found["where"] = {"links": list(where.links), "column": where.column, "name": where.name}
    return found


def feature_from_file(file: FeatureFile) -> AnyFeature:
    """Undo `feature_to_plain`."""
    if not isinstance(file.both, UnsetType):
        parts = [feature_from_file(part) for part in file.both]
        if len(parts) != 2 or not all(isinstance(part, Feature) for part in parts):
            raise InputError("expected two paths with their ends in `both`")
        return Both(*(part for part in parts if isinstance(part, Feature)))
    if not isinstance(file.path, UnsetType):
        steps = tuple(_step_from_file(step) for step in file.path)
        return Feature(
            steps, _or_none(file.column), _or_none(file.value), _or_none(file.unit) or ""
        )
    if isinstance(file.start, UnsetType) or isinstance(file.end, UnsetType):
        raise InputError("expected a path, a start and an end, or both of two")
    hops = [] if isinstance(file.by, UnsetType) else file.by
    return Between(
        file.start,
        file.end,
        tuple(Hop(hop.rows, tuple(hop.enter), tuple(hop.leave)) for hop in hops),
    )


def _step_from_file(file: LinkStepFile) -> Step:
    if isinstance(file.rows, UnsetType):
        return Forward(file.link)
    if isinstance(file.say, UnsetType):
        raise InputError("a step to rows must say something of them")
    where = None
    if not isinstance(file.where, UnsetType):
        where = Where(tuple(file.where.links), file.where.column, file.where.name)
    last, within = _or_none(file.last), _or_none(file.within)
    return Backward(file.rows, file.link, file.say, last, within, where)


def _or_none(value: Any) -> Any:
    return None if isinstance(value, UnsetType) else value


def node_to_plain(node: FeatureNode, numbers: dict[AnyFeature, int]) -> dict[str, Any]:
    """Return a tree as plain data; features get their numbers as they come."""
    found: dict[str, Any] = {"values": list(node.values)}
    if node.by_name is not None:
        found["by_name"] = list(node.by_name.values)
    if node.test is None or node.yes is None or node.no is None:
        return found
    found |= _test_to_plain(node.test, numbers)
    found["yes"] = node_to_plain(node.yes, numbers)
    found["no"] = node_to_plain(node.no, numbers)
    return found


def _test_to_plain(test: Test, numbers: dict[AnyFeature, int]) -> dict[str, Any]:
    found: dict[str, Any] = {"feature": numbers.setdefault(test.feature, len(numbers))}
    if test.threshold is None:
        found["names"] = list(test.names)
    else:
        found["above"] = test.threshold
    found["missing"] = test.missing
    return found


def _test_from_file(file: FeatureNodeFile | ConditionFile, features: list[AnyFeature]) -> Test:
    if isinstance(file.feature, UnsetType) or not 0 <= file.feature < len(features):
        raise InputError(f"there is no feature {file.feature}")
    if isinstance(file.above, UnsetType) == isinstance(file.names, UnsetType):
        raise InputError("a test has a threshold or names")
    names = () if isinstance(file.names, UnsetType) else tuple(file.names)
    return Test(features[file.feature], _or_none(file.above), names, file.missing is True)


def list_to_plain(rules: RuleList, numbers: dict[AnyFeature, int]) -> dict[str, Any]:
    """Return a list of rules as plain data; features get their numbers as they come."""
    plain = [
        {
            "conditions": [
                {**_test_to_plain(c.test, numbers), "holds": c.holds} for c in rule.conditions
            ],
            "weights": list(rule.weights),
            "share": rule.share,
            "base": rule.base,
            "support": rule.support,
            "says": rule.says,
        }
        for rule in rules.rules
    ]
    return {"start": list(rules.start), "rules": plain, "kept": rules.kept}


def list_from_file(file: ListFile, features: list[AnyFeature], outputs: int) -> RuleList:
    """Undo `list_to_plain`."""
    rules = []
    for rule in file.rules:
        if len(rule.weights) != outputs:
            raise InputError(f"a rule has {len(rule.weights)} weights, and not {outputs}")
        conditions = tuple(
            Condition(_test_from_file(item, features), item.holds) for item in rule.conditions
        )
        weights = tuple(rule.weights)
        rules.append(
            ReadableRule(conditions, weights, rule.share, rule.base, rule.support, rule.says)
        )
    return RuleList(tuple(file.start), tuple(rules), file.kept)


def node_from_file(
    file: FeatureNodeFile, features: list[AnyFeature], outputs: int, axis: NameAxis | None = None
) -> FeatureNode:
    """Undo `node_to_plain`."""
    if len(file.values) != outputs:
        raise InputError(f"a node has {len(file.values)} values, and not {outputs}")
    values, named = tuple(file.values), _by_name_from_file(file, axis)
    if isinstance(file.feature, UnsetType):
        return FeatureNode(values, by_name=named)
    if isinstance(file.yes, UnsetType) or isinstance(file.no, UnsetType):
        raise InputError("a test without nodes below")
    test = _test_from_file(file, features)
    yes, no = (node_from_file(part, features, outputs, axis) for part in (file.yes, file.no))
    if any((part.by_name is None) != (named is None) for part in (yes, no)):
        raise InputError("some nodes of a tree have values by name, and others have not")
    return FeatureNode(values, test, yes, no, named)


def _by_name_from_file(file: FeatureNodeFile, axis: NameAxis | None) -> ByName | None:
    if isinstance(file.by_name, UnsetType):
        return None
    if axis is None or len(file.values) != 1:
        raise InputError("a node has values by name, and there is no axis to name them")
    if len(file.by_name) != len(axis.names):
        raise InputError(f"a node has {len(file.by_name)} values for {len(axis.names)} names")
    return ByName(axis, tuple(file.by_name))


def _axis_from_file(file: AxisFile, features: list[AnyFeature]) -> NameAxis:
    feature = features[file.feature] if 0 <= file.feature < len(features) else None
    if not isinstance(feature, Feature) or file.argument < 0:
        raise InputError("axis: expected an argument and the number of the feature of its name")
    if len(set(file.names)) < len(file.names):
        raise InputError("axis: a name stands there twice")
    return NameAxis(file.argument, feature, tuple(file.names))


def trees_to_plain(trees: Sequence[FeatureNode], rules: RuleList | None = None) -> dict[str, Any]:
    """Return trees and a list of rules, with the features that they test."""
    numbers: dict[AnyFeature, int] = {}
    plain = [node_to_plain(tree, numbers) for tree in trees]
    listed = None if rules is None else list_to_plain(rules, numbers)
    found = {"trees": plain, "listed": listed}
    axis = axis_of(trees)
    if axis is not None:
        number = numbers.setdefault(axis.feature, len(numbers))
        found["axis"] = {
            "argument": axis.argument,
            "feature": number,
            "names": list(axis.names),
        }
    return {"features": [feature_to_plain(feature) for feature in numbers], **found}


class TreesFile(msgspec.Struct, forbid_unknown_fields=True):
    """Trees, as a journal has them."""

    features: list[FeatureFile]
    trees: list[FeatureNodeFile]
    listed: ListFile | None
    axis: AxisFile | None = None


def trees_from_file(
    file: TreesFile | RelationalFile | PartFile, outputs: int
) -> tuple[list[FeatureNode], RuleList | None]:
    """Undo `trees_to_plain`."""
    features = [feature_from_file(feature) for feature in file.features]
    axis = None if file.axis is None else _axis_from_file(file.axis, features)
    trees = [node_from_file(tree, features, outputs, axis) for tree in file.trees]
    listed = None if file.listed is None else list_from_file(file.listed, features, outputs)
    return trees, listed


def outputs_of(file: RelationalFile) -> int:
    """Return how many scores a row has; classes that cannot be are refused."""
    if len(set(file.classes)) < len(file.classes):
        raise InputError("classes: one of them stands there twice")
    if file.kind == "logistic" and len(file.classes) != 2:
        raise InputError(f"classes: expected 2, found {len(file.classes)}")
    return len(file.classes) if file.kind == "classes" else 1


def part_from_file(file: RelationalFile | PartFile, outputs: int) -> dict[str, Any]:
    """Return what a model says, as its attributes: `start`, `trees` and `listed`."""
    if len(file.start) != outputs:
        raise InputError(f"start: expected {outputs} numbers, found {len(file.start)}")
    with within("trees"):
        trees, listed = trees_from_file(file, outputs)
    return {"start": tuple(file.start), "trees": tuple(trees), "listed": listed}
