"""Settings of all learners: each is explained, each bad value is refused by its name."""

import inspect
import math
import re
from dataclasses import MISSING, FrozenInstanceError, dataclass, fields, replace
from typing import Annotated, Literal

import numpy as np
import pytest

import mlnlearn as ml
from mlnlearn.settings import (
    Above,
    AtLeast,
    Between,
    Bounds,
    Settings,
    alternatives,
    describe,
    plain_type,
)

NEEDED = {"target": "smokes", "base": ml.BoostedMLN(target="smokes")}
LEARNERS = {
    kind: {item.name: NEEDED[item.name] for item in fields(kind) if item.default is MISSING}
    for kind in dict.fromkeys(entry.load() for entry in ml.LEARNERS.values())
}
EACH = [(kind, name) for kind in LEARNERS for name in describe(kind)]


def bad_values(hint):
    """Yield values that no setting of this type can take."""
    yield object()
    kinds = [part for part in alternatives(hint) if part is not type(None)]
    if len(kinds) == len(alternatives(hint)):
        yield None
    for part in kinds:
        bounds = [b for b in getattr(part, "__metadata__", ()) if isinstance(b, Bounds)]
        plain = getattr(part, "__origin__", part)
        if plain in (int, float):
            yield from ("5", math.nan, True)
        if plain is int:
            yield from (2.5, math.inf)
        if plain is bool:
            yield from (1, "true")
        if plain is Literal:
            yield "no such word"
        if plain is tuple and str not in kinds:
            yield "smokes"  # a name alone is no list of names
        for bound in bounds:
            yield bound.low - 1
            if bound.open_low:
                yield bound.low
            if bound.high < math.inf:
                yield bound.high + 1
            if bound.open_high:
                yield bound.high


# the same thing, of another type where a learner has several targets or another model to start from
TYPED_APART = {"target", "recursive", "initial"}


def test_a_name_stands_for_values_of_one_type():
    found = {}
    for kind, name in EACH:
        parts = {plain_type(part) for part in alternatives(describe(kind)[name].hint)}
        found.setdefault(name, set()).add(frozenset(parts - {type(None)}))
    assert {name for name, types in found.items() if len(types) > 1} == TYPED_APART


@pytest.mark.parametrize(("kind", "name"), EACH)
def test_each_setting_has_a_sentence_of_its_own(kind, name):
    settings = describe(kind)
    assert settings[name].meaning.endswith(".")
    assert [other.meaning for other in settings.values()].count(settings[name].meaning) == 1
    assert f"\n{name}\n    " in inspect.getdoc(kind)  # what help() shows


@pytest.mark.parametrize(("kind", "name"), EACH)
def test_each_bad_value_is_refused_by_the_name_of_the_setting(kind, name):
    made = kind(**LEARNERS[kind])
    for bad in bad_values(describe(kind)[name].hint):
        given = LEARNERS[kind] | {name: bad}
        with pytest.raises(
            ml.InputError, match=f"^{kind.__name__}: {name} is {re.escape(repr(bad))}"
        ):
            kind(**given)
        with pytest.raises(ml.InputError, match=f"{kind.__name__}: {name} is"):
            replace(made, **{name: bad})


@dataclass(frozen=True, kw_only=True)
class Base(Settings):
    """What all share.

    Parameters
    ----------
    sigma
        A width.
    steps
        How many.
    """

    sigma: Annotated[float, Above(0)] = 1.0
    steps: Annotated[int, AtLeast(0)] = 3


@dataclass(frozen=True, kw_only=True)
class Mine(Base):
    """A learner.

    Parameters
    ----------
    steps
        How many of mine,
        at least two.
    names
        Of `things`.

    Examples
    --------
    >>> Mine().steps
    3
    """

    steps: Annotated[int, AtLeast(2)] = 3
    names: tuple[str, ...] = ()
    share: Annotated[float, Between(0, 1, open_high=True)] | None = None

    def conflicts(self):
        if len(self.names) > self.steps:
            yield "more names than steps"


def test_the_sentences_of_base_classes_are_merged():
    meanings = {name: setting.meaning for name, setting in describe(Mine).items()}
    assert meanings == {
        "sigma": "A width.",
        "steps": "How many of mine, at least two.",
        "names": "Of things.",
        "share": "",
    }
    assert Mine.__doc__.count("\nsteps\n") == 1
    assert Mine.__doc__.index("sigma\n") < Mine.__doc__.index("names\n")
    assert Mine.__doc__.rstrip().endswith("3")


def test_values_take_their_plain_form():
    mine = Mine(sigma=2, steps=np.int64(5), names=["a", "b"], share=np.float32(0.5))
    assert repr(mine) == "Mine(sigma=2.0, steps=5, names=('a', 'b'), share=0.5)"
    assert mine == Mine(sigma=2.0, steps=5, names=("a", "b"), share=0.5)
    with pytest.raises(FrozenInstanceError):
        mine.steps = 1


def test_all_problems_are_told_together_and_conflicts_where_there_are_none():
    with pytest.raises(ml.InputErrors) as caught:
        Mine(sigma=0, steps=1, share=1.0, names=("a", 2))
    assert [str(problem).split()[1] for problem in caught.value.problems] == [
        "sigma", "steps", "names", "share",
    ]  # fmt: skip
    assert "share is 1.0, and must be a number, at least 0 and below 1; or none" in str(
        caught.value
    )
    with pytest.raises(ml.InputError, match="Mine: more names than steps"):
        Mine(names=("a", "b", "c", "d"))


def test_infinity_is_allowed_where_it_has_a_meaning():
    assert ml.BoostedMLN(target="smokes", balance=math.inf).balance == math.inf
    with pytest.raises(ml.InputError, match="sigma is inf"):
        ml.GSLP(sigma=math.inf)


def test_targets_stand_once_and_structural_em_keeps_nothing_aside():
    with pytest.raises(ml.InputError, match="target is"):
        ml.BoostedMLN(target=())
    with pytest.raises(ml.InputError, match="each once"):
        ml.BoostedRDN(target=("smokes", "smokes"))
    with pytest.raises(ml.InputError, match="held_out_share=0"):
        ml.StructuralEM(base=ml.BoostedMLN(target="smokes", held_out_share=0.1))
