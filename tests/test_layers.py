"""Imports go down the floors only: checked on the source text of every module."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import mlnlearn

SOURCE = Path(mlnlearn.__file__).parent

# From the ground up; packages of one floor may know each other, though not in a circle. A module
# at the top of the package (errors, files) is on the ground floor; the package's own face, and the
# entry of `python -m`, may look anywhere, and only the command line may look at it.
FLOORS = (
    ("",),
    ("logic",),
    ("syntax",),
    ("data",),
    ("counting",),
    ("montecarlo",),
    ("model",),
    ("infer", "lifted"),
    ("weights",),
    ("structure",),
    ("evaluate",),
    ("report",),
    ("sklearn", "parallel", "cli"),
)
LEVEL = {room: level for level, rooms in enumerate(FLOORS) for room in rooms}
FACE = "mlnlearn"


def room_of(parts):
    """The package that an imported module is in: '' for modules at the top."""
    if len(parts) > 1 or (parts and parts[0] in LEVEL):
        return parts[0]
    return "" if parts and (SOURCE / f"{parts[0]}.py").is_file() else FACE


@cache
def nodes_of(text):
    """All nodes of the syntax of a module, from the top down; made once for all tests."""
    return tuple(ast.walk(ast.parse(text)))


def imported_modules(nodes, parts, is_package):
    """Yield the parts of every module of mlnlearn that a module imports, wherever it does so."""
    for node in nodes:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level:
            here = ["mlnlearn", *parts] if is_package else ["mlnlearn", *parts][:-1]
            base = here[: len(here) - node.level + 1]
            names = [".".join([*base, node.module] if node.module else base)]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module]
            if node.module == "mlnlearn":
                names = [f"mlnlearn.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            if first == "mlnlearn":
                yield tuple(rest)


def package_imports(sources):
    """Yield (path, package, imported package, imported module) for imports between packages."""
    for path, text in sources.items():
        parts = Path(path).with_suffix("").parts
        is_package = parts[-1] == "__init__"
        parts = parts[:-1] if is_package else parts
        own = parts[0] if len(parts) > 1 or is_package else ""
        for target in imported_modules(nodes_of(text), parts, is_package):
            if room_of(target) != own:
                yield path, own, room_of(target), ".".join(("mlnlearn", *target))


def violations(sources):
    """Say which imports do not go down; `sources` maps paths in the package to source text."""
    doors = ("__init__.py", "__main__.py")
    sources = {path: text for path, text in sources.items() if path not in doors}
    packages = {Path(path).parts[0] for path in sources if len(Path(path).parts) > 1}
    found = [f"the package {name!r} is on no floor" for name in sorted(packages - set(LEVEL))]
    graph = {}
    for path, own, other, module in package_imports(sources):
        graph.setdefault(own, set()).add(other)
        known_face = other == FACE and own == "cli"
        if not known_face and LEVEL.get(other, len(FLOORS)) > LEVEL.get(own, len(FLOORS)):
            found.append(f"{path} imports {module}")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found.append(f"packages in a circle: {error.args[1]}")
    return found


@cache
def read_sources():
    return {
        str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8")
        for path in sorted(SOURCE.rglob("*.py"))
    }


def test_imports_go_down_only():
    assert violations(read_sources()) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("logic/atoms.py", "from mlnlearn.syntax.mln import parse_mln"),
        ("logic/atoms.py", "import mlnlearn.data.database"),
        ("logic/atoms.py", "from mlnlearn import data"),
        ("logic/atoms.py", "import mlnlearn"),
        ("logic/atoms.py", "from ..syntax import mln"),
        ("logic/__init__.py", "from ..syntax import mln"),
        ("errors.py", "from .logic.atoms import Atom"),
        ("data/load/sql.py", "from ...counting import memory"),
        ("data/load/sql.py", "def f():\n    from mlnlearn.counting.memory import MemoryEngine"),
        ("infer/exact.py", "from mlnlearn.weights.optimize import fit"),
        ("model/mln.py", "from mlnlearn import MemoryEngine"),
        ("evaluate/report.py", "if TYPE_CHECKING:\n    import mlnlearn.cli.show"),
        ("nowhere/thing.py", "import numpy"),
        ("cli/app.py", "from mlnlearn.nowhere.thing import Thing"),
    ],
)
def test_a_planted_violation_is_found(path, text):
    assert len(violations({path: text})) == 1


def test_a_circle_on_one_floor_is_found():
    one = {"infer/exact.py": "from mlnlearn.lifted.plan import plan"}
    other = {"lifted/plan.py": "from mlnlearn.infer.exact import exact"}
    assert violations(one) == violations(other) == []
    [found] = violations(one | other)
    assert found.startswith("packages in a circle")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("syntax/mln.py", "from mlnlearn.logic.atoms import Atom\nfrom mlnlearn.errors import X"),
        ("data/load/sql.py", "from .build import Loaded\nfrom ..database import Database"),
        ("data/load/sql.py", "from ...syntax import mln"),
        ("cli/app.py", "import mlnlearn as ml\nfrom mlnlearn.structure.beam import Beam"),
        ("__init__.py", "from mlnlearn.cli import app"),
        ("logic/atoms.py", "import numpy, os.path\nfrom mlnlearn import errors"),
    ],
)
def test_what_goes_down_is_allowed(path, text):
    assert violations({path: text}) == []


# What the command line may import beside the face: the modules of the ground floor and the language
# itself, which are values and no machinery; and, by file, what there is a reason for.
VALUES = ("", "logic", "cli", FACE)
REASONS = {
    # outputs are refused that are inputs: those that rules include, those that addresses name
    "cli/outputs.py": {"mlnlearn.syntax.mln", "mlnlearn.data.load.urls"},
    # a condition is said in words, which the face does for whole rules
    "cli/demo_university.py": {"mlnlearn.model.sentence"},
}


def without_types(nodes):
    """Drop the imports that only type checkers run: what the face returns needs a name there."""
    typing = {
        inner
        for node in nodes
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for line in node.body
        for inner in ast.walk(line)
    }
    return [node for node in nodes if node not in typing]


def imports_of_internals(sources):
    """Say which modules the command line reaches past the face."""
    found = []
    for path, text in sources.items():
        parts = Path(path).with_suffix("").parts
        if parts[0] == "cli":
            nodes = without_types(nodes_of(text))
            for target in imported_modules(nodes, parts, parts[-1] == "__init__"):
                module = ".".join(("mlnlearn", *target))
                if room_of(target) not in VALUES and module not in REASONS.get(path, ()):
                    found.append(f"{path} imports {module}")
    return found


def test_the_command_line_uses_the_face():
    assert imports_of_internals(read_sources()) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("from mlnlearn.evaluate.folds import Fold", 1),
        ("def f():\n    from mlnlearn.data.load.read import read_tables", 1),
        ("if TYPE_CHECKING:\n    from mlnlearn.evaluate.folds import Fold", 0),
        ("import mlnlearn as ml\nfrom mlnlearn.errors import InputError", 0),
        ("from mlnlearn.data.load.urls import is_url", 1),
    ],
)
def test_a_way_past_the_face_is_found(text, found):
    assert len(imports_of_internals({"cli/learn.py": text})) == found
    assert imports_of_internals({"structure/x.py": text}) == []


def class_homes(sources):
    """Map the name of every class, nested and private ones too, to where it is defined."""
    homes = {}
    for path, text in sources.items():
        for node in nodes_of(text):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(path)
    return homes


def test_a_class_name_stands_for_one_thing():
    homes = class_homes(read_sources())
    assert {name: paths for name, paths in homes.items() if len(paths) > 1} == {}


def test_a_second_class_of_a_name_is_found():
    sources = {"logic/a.py": "class Part: ...", "data/b.py": "def f():\n    class Part: ..."}
    assert class_homes(sources) == {"Part": ["logic/a.py", "data/b.py"]}


# The steps that joins are made of: these modules of `counting` are for that room alone, but for the
# types and whole joins named here.
JOINING = {"sparse", "dense", "duck", "kernels", "evidence_kernels", "lookups", "walks"}
WHOLE = {
    "SparseTable", "Room", "sum_out", "join_all",  # tables, and a join of any number of them
    "Floats", "DuckEngine", "SCALE", "refuse_arity",
    "joined_programs", "count_candidates",  # all candidates of a tree's node, counted in one call
    "Path", "MOST_WALKS", "walk_counts", "walks_of",
}  # fmt: skip


def joins(sources):
    """Say where facts are joined outside `counting`.

    A join finds all rows that match a key: it takes the steps of one from `counting`, or searches
    sorted keys from both sides.
    """
    found = []
    for path, text in sources.items():
        if path.startswith("counting/") or path == "__init__.py":
            continue
        for node in nodes_of(text):
            if isinstance(node, ast.ImportFrom) and node.module:
                room, _, module = node.module.removeprefix("mlnlearn.").partition(".")
                steps = {alias.name for alias in node.names} - WHOLE
                if room == "counting" and module in JOINING and steps:
                    found.append(f"{path} imports {sorted(steps)} of {node.module}")
            if isinstance(node, ast.FunctionDef) and "searchsorted" in text:
                sides = {side_of(call) for call in ast.walk(node) if is_search(call)}
                if sides == {"left", "right"}:
                    found.append(f"{path} searches from both sides in {node.name}")
    return found


def is_search(node):
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "searchsorted"


def side_of(call):
    given = [*call.args[2:3], *(word.value for word in call.keywords if word.arg == "side")]
    return given[0].value if given else "left"


def test_facts_are_joined_in_counting_alone():
    assert joins(read_sources()) == []


@pytest.mark.parametrize(
    "text",
    [
        "from mlnlearn.counting.sparse import SparseTable, join",
        "def f():\n    from mlnlearn.counting.kernels import find_ranges",
        "def f(a, b):\n    return np.searchsorted(a, b, side='right') - np.searchsorted(a, b)",
        "def f(a, b):\n    return a.searchsorted(b, 'left'), np.searchsorted(a, b, 'right')",
    ],
)
def test_a_join_elsewhere_is_found(text):
    assert len(joins({"structure/x.py": text})) == 1
    assert joins({"counting/x.py": text}) == []


def judges_of_chains(sources):
    """Say who judges Markov chains by himself: only the driver of all samplers does."""
    return [
        path
        for path, text in sources.items()
        if not path.startswith("montecarlo/")
        for node in nodes_of(text)
        if isinstance(node, ast.ImportFrom) and node.module == "mlnlearn.montecarlo.diagnostics"
    ]


def test_samplers_have_one_driver():
    assert judges_of_chains(read_sources()) == []
    own = "from mlnlearn.montecarlo.diagnostics import split_r_hat"
    assert judges_of_chains({"model/x.py": own, "montecarlo/y.py": own}) == ["model/x.py"]


def walks():
    """The rows of the walks in the page on architecture: what is learned or asked, and the way."""
    page = (Path(__file__).parent.parent / "docs" / "architecture.md").read_text(encoding="utf-8")
    tables = page.partition("\n## Walks\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in tables.splitlines() if line.startswith("| ")]
    return [(name, way) for name, way in rows if name not in ("| learner", "| model")]


def test_walks_are_of_all_learners_and_short():
    named = {name for names, _ in walks() for name in re.findall(r"`([\w-]+)`", names)}
    assert set(mlnlearn.LEARNERS) <= named
    assert [names for names, way in walks() if way.count("→") > 9] == []


def test_walks_are_along_modules_that_there_are():
    files = [f"/{path.removesuffix('.py').removesuffix('/__init__')}" for path in read_sources()]
    steps = [step for _, way in walks() for step in re.findall(r"`(\w+(?:/\w+)+)`", way)]
    assert len(steps) > 40
    assert [step for step in steps if not any(file.endswith(f"/{step}") for file in files)] == []
