"""One comparer: an answer equals the reference's, or is refused for a reason that is listed."""

from __future__ import annotations

import math
import os
import re
import signal
import traceback
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from agreement.problem import Problem, Skip
from agreement.reference import Impossible
from agreement.refusals import reason_of
from mlnlearn.errors import MlnError

Answer = Mapping[Hashable, float]


@dataclass(frozen=True)
class Sampled:
    """Estimates with their standard errors."""

    values: Answer
    errors: Answer


@dataclass(frozen=True)
class Path:
    """A way to an answer.

    Attributes
    ----------
    name
        Of the path: question, then method.
    expected
        The reference's answer.
    answer
        The library's; for samplers, given a seed too.
    share
        How many of the models take this path: all, or fewer where it is slow.
    tolerance
        How far numbers may differ, relative to those above one.
    """

    name: str
    expected: Callable[[Problem], Answer]
    answer: Callable[..., Answer | Sampled]
    share: float = 1.0
    tolerance: float = 1e-7
    sampled: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of one path in one case: agreed, refused (with the reason), or differs."""

    path: str
    kind: str
    detail: str = ""
    scores: tuple[float, ...] = field(default=())

    @property
    def sort(self) -> str:
        """What kind of fault it is: another number, an error (which), a refusal."""
        if self.detail.startswith("Traceback"):
            return self.detail.strip().rpartition("\n")[2].partition(":")[0]
        return re.sub(r"[^a-z ].*", "", self.detail, flags=re.S)


def tried(path: Path, problem: Problem) -> Outcome | None:
    """Take a path; None where the question does not arise."""
    with warnings.catch_warnings(), _limited():
        warnings.simplefilter("ignore")
        try:
            expected = _reference(path, problem)
            found = path.answer(problem, 0) if path.sampled else path.answer(problem)
            if expected is None:
                return Outcome(
                    path.name, "differs", f"an answer to an impossible question: {found}"
                )
            if isinstance(found, Sampled):
                return _sampled(path, problem, expected, found)
            wrong = _difference(expected, found, path.tolerance)
        except Skip:
            return None
        except Impossible as error:
            return Outcome(path.name, "differs", f"an answer to an impossible question: {error}")
        except MlnError as error:
            reason = reason_of(path.name, str(error))
            if reason is None:
                return Outcome(path.name, "differs", f"an unlisted refusal: {error}")
            return Outcome(path.name, "refused", reason)
        except Exception:
            return Outcome(path.name, "differs", traceback.format_exc(limit=-4))
    return Outcome(path.name, "differs", wrong) if wrong else Outcome(path.name, "agreed")


# A path that takes so many CPU seconds on models as small as these will not end.
_MOST_SECONDS = float(os.environ.get("AGREEMENT_SECONDS", "60"))


@contextmanager
def _limited() -> Iterator[None]:
    """Stop a path that does not end: that is a fault like a wrong answer."""

    def stop(*_: object) -> None:
        raise TimeoutError(f"no answer after {_MOST_SECONDS} CPU seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, _MOST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _reference(path: Path, problem: Problem) -> Answer | None:
    try:
        return path.expected(problem)
    except Impossible:
        return None


def _difference(expected: Answer, found: Answer, tolerance: float) -> str:
    """Say where two answers differ, or nothing."""
    if set(expected) != set(found):
        missing, more = set(expected) - set(found), set(found) - set(expected)
        return f"no answer for {sorted(missing, key=str)}, but one for {sorted(more, key=str)}"
    wrong = [
        f"{key}: {found[key]!r}, not {value!r}"
        for key, value in expected.items()
        if not _close(found[key], value, tolerance)
    ]
    return "; ".join(wrong[:5])


def _close(found: float, expected: float, tolerance: float) -> bool:
    return math.isclose(found, expected, rel_tol=tolerance, abs_tol=tolerance)


# A sampler's error may be no smaller than what so many samples can tell of a rare event.
_LEAST_ERROR = 2e-4
_FAR = 4.0
_ROUNDING = 1e-6


def _sampled(path: Path, problem: Problem, expected: Answer, found: Sampled) -> Outcome:
    """Within four standard errors; beyond that, again with other random numbers."""
    if set(expected) != set(found.values):
        return Outcome(path.name, "differs", _difference(expected, found.values, 1.0))
    scores = _scores(expected, found)
    far = {key for key, score in scores.items() if abs(score) > _FAR}
    if far:
        again = path.answer(problem, 1)
        assert isinstance(again, Sampled)
        second = _scores(expected, again)
        far = {key for key in far if abs(second[key]) > _FAR}
    if far:
        shown = [f"{k}: {found.values[k]} ± {found.errors[k]}, not {expected[k]}" for k in far]
        return Outcome(path.name, "differs", "; ".join(shown[:5]))
    spread = [
        s for k, s in scores.items() if 0.01 < expected[k] < 0.99 and found.errors[k] > _ROUNDING
    ]
    return Outcome(path.name, "agreed", scores=tuple(spread))


def _scores(expected: Answer, found: Sampled) -> dict[Hashable, float]:
    return {
        key: (found.values[key] - value) / max(found.errors[key], _LEAST_ERROR)
        for key, value in expected.items()
    }
