"""Writing ``.mln`` files so that reading them gives back the same value."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from mlnlearn.errors import InputError
from mlnlearn.logic.atoms import Atom, Comparison, Constant, Variable
from mlnlearn.logic.formulas import EitherSign, Exists, Forall, Formula, Rule, children
from mlnlearn.logic.schema import Schema
from mlnlearn.syntax.mln import MlnFile
from mlnlearn.syntax.statements import reads_as_declaration
from mlnlearn.syntax.symbols import is_reserved, is_symbol_name
from mlnlearn.syntax.tokens import is_variable_name, tokenize

_CALCULATES = re.compile(r"[-+]?[0-9]+ [-+*/%] ")


def write_mln(file: MlnFile) -> str:
    r"""Return the text of an ``.mln`` file: types, predicates, then rules with exact weights.

    Parameters
    ----------
    file
        The declarations and rules, as `read_mln` returns them.

    Raises
    ------
    InputError
        Where the language has no words for a part: a name with a blank.

    Examples
    --------
    >>> from mlnlearn.syntax import parse_mln
    >>> print(write_mln(parse_mln("person={Anna}\n smokes( person )\n .5 smokes(+x)")), end="")
    person = {Anna}
    smokes(person)
    <BLANKLINE>
    0.5 smokes(+x)
    """
    _check_schema(file.schema)
    blocks = [str(file.schema), "\n".join(write_rule(rule) for rule in file.rules)]
    return "\n".join(f"{block}\n" for block in blocks if block)


def write_by_constant(rule: Rule, weights: Mapping[str, float]) -> str:
    """Return the line of a rule with a weight for each constant of the variable that it marks.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> genre = Predicate("genre", ("track", "kind"))
    >>> rule = Rule(genre("t", "k"), per_constant=(Variable("k"),))
    >>> print(write_by_constant(rule, {"Jazz": 0.5, "hard rock": -1.0}))
    {Jazz: 0.5, "hard rock": -1.0} genre(t,+k)
    """
    each = ", ".join(f"{Constant(name)}: {float(value)!r}" for name, value in weights.items())
    return f"{{{each}}} {write_rule(rule)}"


def write_rule(rule: Rule) -> str:
    """Return the line of a rule.

    Examples
    --------
    >>> from mlnlearn.logic.atoms import Predicate
    >>> print(write_rule(Rule(Predicate("rich", ("person",))("p"))))
    (rich(p))
    """
    _check_rule(rule)
    text = str(rule)
    if rule.weight is None and _CALCULATES.match(text):  # else its number would be the weight
        stop = "." if rule.hard else ""
        return f"({text.removesuffix(stop)}){stop}"
    return f"({text})" if reads_as_declaration(rule) else text


def _is_word(name: str) -> bool:
    tokens = tokenize(name)
    return len(tokens) == 2 and tokens[0].text == name and is_symbol_name(tokens[0])


def _check_schema(schema: Schema) -> None:
    for name in (*schema.types, *(predicate.name for predicate in schema.predicates)):
        if not _is_word(name) or is_reserved(name):
            raise InputError(
                f"{name!r} cannot be written as a name in an .mln file",
                hint="use letters, digits and '_', starting with a letter",
            )


def _check_rule(rule: Rule) -> None:
    for variable in set(_variables(rule.formula)):
        if not _is_word(variable.name) or not is_variable_name(variable.name):
            raise InputError(
                f"{variable.name!r} cannot be written as a variable in an .mln file",
                hint="use letters, digits and '_', starting in lower case",
            )
    if rule.weight is None and rule.locked:
        raise InputError(f"a locked rule needs a weight: {rule}")
    if rule.weight is not None and rule.hard:
        raise InputError(f"a hard rule has no weight: {rule}")


def _variables(formula: Formula) -> Iterator[Variable]:
    match formula:
        case EitherSign(atom):
            yield from _variables(atom)
        case Atom(_, terms):
            yield from (term for term in terms if isinstance(term, Variable))
        case Comparison():
            yield from (term for term in formula.terms if isinstance(term, Variable))
        case Exists(variables, _) | Forall(variables, _):
            yield from variables
    for part in children(formula):
        yield from _variables(part)
