"""The public face: what `import mlnlearn` offers, and that it costs nothing until used."""

import ast
import doctest
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import mlnlearn as ml

PACKAGE = Path(ml.__file__)


def imported_for_type_checkers():
    """Return name -> module as type checkers read them."""
    tree = ast.parse(PACKAGE.with_suffix(".pyi").read_text())
    return {
        name.asname: node.module
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for name in node.names
    }


@pytest.mark.parametrize("name", ml.__all__)
def test_every_public_name_is_there_and_explained(name):
    value = getattr(ml, name)
    if name == "__version__":
        assert value.count(".") == 2
    else:
        assert inspect.getdoc(value)


def test_type_checkers_and_runtime_agree():
    assert imported_for_type_checkers() == ml._HOME_OF
    assert sorted([*ml._HOME_OF, "__version__"]) == sorted(ml.__all__)


def test_dir_lists_names_before_they_are_loaded():
    assert set(ml.__all__) <= set(dir(ml))


def test_a_wrong_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = ml.nothing


def test_import_loads_nothing_heavy():
    text = (
        "import sys, mlnlearn; heavy = {'numpy', 'numba', 'scipy', 'duckdb', 'typer', 'rich', "
        "'narwhals'}; print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", text], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "[]\n"


def test_the_library_does_not_load_the_command_line():
    names = "; ".join(f"mlnlearn.{name}" for name in ml.__all__)
    text = f"import sys, mlnlearn; {names}; print('typer' in sys.modules, 'rich' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", text], check=True, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "False False\n"


def test_the_example_of_the_package(tmp_path):
    (tmp_path / "schema.mln").write_text("smokes(person)\nfriends(person,person)\n")
    (tmp_path / "people.db").write_text("friends(Anna,Bob)\nsmokes(Anna)\n")
    databases = [ml.read_db(tmp_path / "people.db", schema=tmp_path / "schema.mln")]
    engine = ml.MemoryEngine(databases)
    rule = ml.parse_formula("friends(x,y) ^ smokes(x) => smokes(y)", databases[0].schema)
    assert ml.true_groundings(engine, rule.formula) == [3]


def test_the_example_of_the_readme():
    readme = Path(__file__).parent.parent / "README.md"
    failed, tried = doctest.testfile(str(readme), module_relative=False)
    assert failed == 0
    assert tried >= 5
