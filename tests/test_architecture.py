"""The shape of the package: imports go one way, files stay small, and start-up stays light."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import lsmdp
from lsmdp.learners.declared import OPTIONAL

ROOT = Path(lsmdp.__file__).parent
SOURCES = sorted(ROOT.rglob("*.py"))

# Each module may import those above it. A package (such as solvers) counts as one; inside it any acyclic order will do.
ORDER = (
    "errors",
    "files",
    "inputs",
    "arrays",
    "output",
    "_core",
    "chain",
    "model",
    "costs",
    "ends",
    "policy",
    "certificates",
    "values",
    "solution",
    "solvers",
    "convex",
    "mixture",
    "learners",
    "regret",
    "game",
    "theory",
    "sources",
    "runs",
    "follow",
    "checks",
    "report",
    "sweeps",
    "cli",
    "__main__",
)
LONGEST_FILE = 500
# What a learner, or a sequence of costs, may declare.
CAPABILITIES = {"from_round", "replayable", "T", "t", "observe", "policy", "plays_mixtures", "follows_the_leader"} | {
    *OPTIONAL,
    "clairvoyant",
    "experts",
    "hedges",
    "tracking",
}
UNPICKLERS = {"pickle", "cloudpickle", "dill", "shelve", "joblib"}

Graph = Mapping[str, set[str]]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def is_type_checking(test: ast.expr) -> bool:
    return isinstance(test, ast.Name | ast.Attribute) and ast.unparse(test).endswith("TYPE_CHECKING")


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node below ``tree`` but the bodies of ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and is_type_checking(node.test):
            children: list[ast.AST] = list(node.orelse)
        else:
            children = [node]
        for child in children:
            yield child
            yield from runtime_nodes(child)


@cache
def parsed(source: str) -> ast.Module:
    return ast.parse(source)


def imported_names(source: str, package: str) -> set[str]:
    """Full dotted names that a file imports at run time; ``package`` is where its relative imports start."""
    names: set[str] = set()
    for node in runtime_nodes(parsed(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) + 1 - node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names |= {f"{base}.{alias.name}" for alias in node.names}
    return names


@cache
def imports() -> dict[str, set[str]]:
    """module -> full dotted names that it imports."""
    found = {}
    for path in SOURCES:
        module = module_name(path)
        package = module if path.name == "__init__.py" else module.rpartition(".")[0]
        found[module] = imported_names(path.read_text(), package)
    return found


def import_graph() -> dict[str, set[str]]:
    """module -> the modules of lsmdp that it imports; a name that is no module stands for the module that holds it."""
    graph = {}
    for module, names in imports().items():
        wanted = {name for name in names if name.split(".")[0] == "lsmdp"}
        graph[module] = {holder(name, imports()) for name in wanted if name != "lsmdp.__version__"}
    return graph


def holder(name: str, modules: Mapping[str, object]) -> str:
    while name not in modules:
        name = name.rpartition(".")[0]
    return name


def complaints(graph: Graph, order: tuple[str, ...]) -> list[str]:
    """What is wrong with an import graph, one sentence each."""
    found = []
    for module, imports in sorted(graph.items()):
        here = unit(module)
        if here and here not in order:
            found.append(f"{module} has no place in ORDER")
            continue
        for target in sorted(imports):
            there = unit(target)
            if not there:
                found.append(f"{module} imports the package lsmdp itself: name the module")
            elif here and there in order and there != here and order.index(there) >= order.index(here):
                found.append(f"{module} imports {target}, which is not above it")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as cycle:
        found.append("the imports go in a circle: " + " -> ".join(cycle.args[1]))
    return found


def unit(module: str) -> str:
    """``lsmdp.solvers.power`` belongs to ``solvers``; the package itself to nothing."""
    return module.split(".")[1] if "." in module else ""


def pickle_uses(source: str) -> list[str]:
    """Imports of modules that unpickle, and arguments that allow it."""
    uses = []
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            roots = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            uses += [root for root in roots if root.split(".")[0] in UNPICKLERS]
        elif isinstance(node, ast.keyword) and node.arg == "allow_pickle" and ast.unparse(node.value) != "False":
            uses.append(f"allow_pickle={ast.unparse(node.value)}")
    return uses


def loaded_by(statement: str, suspects: set[str]) -> set[str]:
    script = f"import sys; {statement}; print(*sorted({suspects!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_imports_go_one_way() -> None:
    assert complaints(import_graph(), ORDER) == []


def test_every_name_in_the_order_exists() -> None:
    assert {unit(module_name(path)) for path in SOURCES} - {""} == set(ORDER)


@pytest.mark.parametrize(
    ("graph", "complaint"),
    [
        (
            {"lsmdp.arrays": {"lsmdp.model"}},
            "lsmdp.arrays imports lsmdp.model, which is not above it",
        ),
        ({"lsmdp.chain": {"lsmdp.solvers.power"}}, "lsmdp.chain imports lsmdp.solvers.power, which is not above it"),
        ({"lsmdp.novelty": set()}, "lsmdp.novelty has no place in ORDER"),
        ({"lsmdp.model": {"lsmdp"}}, "lsmdp.model imports the package lsmdp itself: name the module"),
        (
            {"lsmdp.solvers.a": {"lsmdp.solvers.b"}, "lsmdp.solvers.b": {"lsmdp.solvers.a"}},
            "the imports go in a circle: lsmdp.solvers.a -> lsmdp.solvers.b -> lsmdp.solvers.a",
        ),
    ],
)
def test_a_bad_graph_is_found(graph: Graph, complaint: str) -> None:
    assert complaints(graph, ORDER) == [complaint]


def test_a_good_graph_passes() -> None:
    good = {"lsmdp.solvers": {"lsmdp.solvers.a"}, "lsmdp.solvers.a": {"lsmdp.errors"}, "lsmdp.cli": {"lsmdp.solvers"}}
    assert complaints(good, ORDER) == []


def test_the_reader_sees_every_kind_of_import() -> None:
    source = """
import lsmdp.one as first
from lsmdp import two
from . import three
from .four import name
from ..five import name
if TYPE_CHECKING:
    from lsmdp import unseen
else:
    from lsmdp import six
def late():
    if True:
        from lsmdp.seven import name
"""
    expected = {"lsmdp.one", "lsmdp.two", "lsmdp.solvers.three", "lsmdp.solvers.four.name", "lsmdp.five.name"}
    assert imported_names(source, "lsmdp.solvers") == expected | {"lsmdp.six", "lsmdp.seven.name"}


def test_files_stay_small() -> None:
    lengths = {module_name(path): len(path.read_text().splitlines()) for path in SOURCES}
    assert {module: length for module, length in lengths.items() if length > LONGEST_FILE} == {}


def unnamed(docstring: str, modules: set[str]) -> set[str]:
    """The modules of a package that its docstring does not name, as ``name``, ``name.py`` or ``lsmdp.package.name``."""
    return {
        module for module in modules if not re.search(rf"(?<![A-Za-z_]){re.escape(module)}(?![A-Za-z_])", docstring)
    }


def test_every_package_says_what_its_modules_are_for() -> None:
    """A newcomer reads the docstring of a package first, and finds there which file to open."""
    missing = {}
    for init in ROOT.glob("*/**/__init__.py"):
        modules = {path.stem for path in init.parent.glob("*.py")} - {"__init__"}
        missing[module_name(init)] = unnamed(ast.get_docstring(parsed(init.read_text())) or "", modules)
    assert {package: modules for package, modules in missing.items() if modules} == {}


def test_a_module_that_is_not_named_is_found() -> None:
    told = "- :mod:`~lsmdp.game.play`: a game, with its records.py"
    assert unnamed(told, {"play", "records", "players"}) == {"players"}


def asked_for(source: str) -> set[str]:
    """The capabilities of learners and costs that a file asks an object for by name."""
    calls = (node for node in ast.walk(parsed(source)) if isinstance(node, ast.Call))
    asked = (node for node in calls if ast.unparse(node.func) in ("hasattr", "getattr") and len(node.args) > 1)
    return {node.args[1].value for node in asked if isinstance(node.args[1], ast.Constant)} & CAPABILITIES


def test_what_costs_and_learners_can_do_is_asked_in_one_place() -> None:
    """What costs can do is asked for in costs/given.py alone, and what a learner can do within learners/."""
    found = {module_name(path): asked_for(path.read_text()) for path in SOURCES}
    found = {module: names for module, names in found.items() if names and unit(module) != "learners"}
    assert found == {"lsmdp.costs.given": {"replayable", "T"}}


def test_a_capability_that_is_asked_for_by_name_is_found() -> None:
    assert asked_for('hasattr(costs, "from_round") or getattr(costs, "replayable", True)') == {
        "from_round",
        "replayable",
    }
    assert not asked_for('getattr(costs, name); hasattr(table, "columns")')


TUPLES_AND_NOTEBOOKS = {"_replace", "_asdict", "_fields", "_make", "_repr_html_", "_repr_mimebundle_"}


def private_names(source: str) -> list[str]:
    """The names of the package's inside that a test imports, or asks an object for."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("lsmdp", "cases", "benchmarks"):
            found += [name.name for name in node.names if name.name.startswith("_") or "_core" in (node.module or "")]
        elif isinstance(node, ast.Attribute) and re.match(r"_[a-zA-Z]", node.attr):
            whose = ast.unparse(node.value).split(".")[0]
            if node.attr not in TUPLES_AND_NOTEBOOKS and whose not in ("self", "typer"):
                found.append(f"{whose}.{node.attr}")
    return found


def test_tests_go_through_public_names() -> None:
    """So that the inside can change: only what is in tests/core knows it."""
    tests = Path(__file__).parent
    sources = [path for path in sorted(tests.rglob("*.py")) if "core" not in path.relative_to(tests).parts]
    offenders = {path.name: names for path in sources if (names := private_names(path.read_text(encoding="utf-8")))}
    assert not offenders


def test_a_private_name_is_found() -> None:
    assert private_names("from lsmdp._core.sparse import flow") == ["flow"]
    assert private_names("from lsmdp.solvers import factored, _hidden") == ["_hidden"]
    assert private_names("row._replace(t=1); plan._held") == ["plan._held"]


def test_nothing_is_pickled() -> None:
    uses = {module_name(path): pickle_uses(path.read_text()) for path in SOURCES}
    assert {module: found for module, found in uses.items() if found} == {}


def numba_importers(imported: Graph) -> list[str]:
    """The modules outside of lsmdp._core that import numba."""
    users = [module for module, names in imported.items() if any(name.split(".")[0] == "numba" for name in names)]
    return [module for module in users if unit(module) != "_core"]


def test_numba_lives_in_the_core() -> None:
    assert numba_importers(imports()) == []


def test_numba_elsewhere_is_found() -> None:
    loop = imported_names("def f():\n    from numba import njit", "lsmdp")
    assert numba_importers({"lsmdp.model": loop, "lsmdp._core.full": loop}) == ["lsmdp.model"]


@pytest.mark.parametrize(
    "source",
    ["import pickle", "from pickle import loads", "np.load(f, allow_pickle=True)", "load(f, allow_pickle=x)"],
)
def test_pickling_is_found(source: str) -> None:
    assert pickle_uses(source)
    assert not pickle_uses("np.load(f, allow_pickle=False)")


class Constant(NamedTuple):
    """A name in capitals at the top level of a module, its value as it is written, and the comment that explains it."""

    name: str
    value: ast.expr
    comment: str

    @property
    def is_explained(self) -> bool:
        """Whether its comment is a sentence, or it is itself a text that users read."""
        text = isinstance(self.value, ast.JoinedStr) or " " in str(getattr(self.value, "value", ""))
        sentence = re.fullmatch(r"[^a-z\s].*\.", self.comment, re.DOTALL) is not None or self.comment.startswith("e^")
        return text or (sentence and len(self.comment.split()) > 3)


@cache
def constants(source: str) -> list[Constant]:
    """All constants of a module but for type variables. A comment stands behind one, or in the lines above it."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {token.start[0]: token for token in tokens if token.type == tokenize.COMMENT}
    constants = []
    for node in parsed(source).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        names, values = [one.elts if isinstance(one, ast.Tuple) else [one] for one in (target, node.value)]
        above = node.lineno
        while (comment := comments.get(above - 1)) is not None and comment.start[1] == 0:
            above -= 1
        found = [comments[line] for line in range(above, node.lineno)] or [
            comments[line] for line in (node.lineno, node.end_lineno or 0) if line in comments
        ][:1]
        told = " ".join(one.string.removeprefix("#").strip() for one in found)
        for k, name in enumerate(names):
            value = values[k] if len(values) == len(names) else node.value
            is_variable = ast.unparse(value).startswith("TypeVar(")
            if isinstance(name, ast.Name) and re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name.id) and not is_variable:
                constants.append(Constant(name.id, value, told))
    return constants


def test_no_constant_has_two_values() -> None:
    """Whoever meets a name a second time may take it for what it was the first time."""
    met: dict[str, dict[str, list[str]]] = {}
    for path in SOURCES:
        for one in constants(path.read_text()):
            values = met.setdefault(one.name.lstrip("_"), {})
            values.setdefault(ast.unparse(one.value), []).append(module_name(path))
    assert {name: values for name, values in met.items() if len(values) > 1} == {}


def test_every_constant_has_a_sentence() -> None:
    """What it is, and why that number."""
    modules = {module_name(path): constants(path.read_text()) for path in SOURCES}
    unexplained = {module: [one.name for one in found if not one.is_explained] for module, found in modules.items()}
    assert {module: names for module, names in unexplained.items() if names} == {}


def taken_up(source: str) -> set[str]:
    """Names that a file imports from lsmdp, asks something for (``sparse.EPS``), or has in quotes, as a test does."""
    found = set()
    for node in ast.walk(parsed(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lsmdp"):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) != "tokenize":
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= set(re.findall(r"(?:^(?=\w+$)|\.)([A-Z][A-Z0-9_]*)", node.value))
    return found


def is_taken_up(module: str, name: str, others: set[str]) -> bool:
    """Whether a constant of this module, or of a package that hands it on, is among the names that others take up."""
    parts = module.split(".")
    return name in others or any(f"{'.'.join(parts[:k])}.{name}" in others for k in range(1, len(parts) + 1))


def test_what_only_one_module_uses_is_private_to_it() -> None:
    """A name without an underscore is an invitation: so it says that others, or the page Inside, have taken it up."""
    folders = [ROOT, *(ROOT.parents[1] / name for name in ("tests", "benchmarks", "cases", "docs"))]
    by_file = {path: taken_up(path.read_text(encoding="utf-8")) for one in folders for path in one.rglob("*.py")}
    inside = (ROOT.parents[1] / "docs" / "inside.md").read_text(encoding="utf-8")
    offenders = []
    for path in SOURCES:
        others = set().union(*(names for other, names in by_file.items() if other != path))
        for one in constants(path.read_text()):
            taken = is_taken_up(module_name(path), one.name, others) or f"`{one.name}`" in inside
            if one.name[0] != "_" and not taken:
                offenders.append(f"{module_name(path)}.{one.name}")
    assert offenders == []


def test_a_constant_that_nobody_takes_up_is_found() -> None:
    others = taken_up("from lsmdp.files import POSIX\nsparse.EPS\nsetattr(film, 'STATES', 3)\nfrom numpy import PI")
    assert is_taken_up("lsmdp.files", "POSIX", others)
    assert is_taken_up("lsmdp._core.sparse", "EPS", others)
    assert is_taken_up("lsmdp.runs.film", "STATES", others)
    assert not is_taken_up("lsmdp.runs.folder", "POSIX", others)
    assert not is_taken_up("lsmdp.arrays", "PI", others)


def test_what_the_page_about_the_inside_names_is_there() -> None:
    """Files and folders below src/lsmdp or the top, and names of the code."""
    page = (ROOT.parents[1] / "docs" / "inside.md").read_text(encoding="utf-8")
    code = re.findall(r"`([^`\n]+)`", page)
    files = [one for one in code if re.fullmatch(r"[\w./-]+(\.py|\.md|/)", one)]
    tops = (ROOT, *(folder for folder in ROOT.rglob("*") if folder.is_dir()), ROOT.parents[1])
    assert len(files) > 40
    missing = [one for one in files if not any((top / one).exists() for top in tops)]
    assert missing == ["tests/paper/test_MODULE.py"]  # whose MODULE is for the reader to fill in
    sources = [path for top in (ROOT, ROOT.parents[1] / "tests") for path in top.rglob("*.py")]
    known = {word for path in sources for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}
    names = [one for one in code if re.fullmatch(r"[A-Za-z_][\w.]*", one) and one not in files]
    assert len(names) > 40
    assert [one for one in names if not set(one.split(".")) <= known | {"test_LABEL"}] == []


def test_the_reader_sees_every_kind_of_constant() -> None:
    source = """
A = 1  # This one has a sentence.
# This one has a sentence, and it goes on
# in a second line.
_B: int = 2
C, D = 3, 4  # both of them
E = "a text for users"
F = (  # This one has a sentence as well.
    5,
)
T = TypeVar("T")
lower = 6
"""
    found = {one.name: one.is_explained for one in constants(source)}
    assert found == {"A": True, "_B": True, "C": False, "D": False, "E": True, "F": True}


# How one would find out what kind of learner or matrix one has; learners/ and _core/ may, and say it to the others.
SNIFFING = (
    r"isinstance\([^)]*(Leader|Passive|Fixed|LearnerBase|Sparse\b|Full\b)",
    r"type\(\w*(own|learner)\)",
    r"(getattr|hasattr)\(\w*(learner|own)\b",
    r"learner\.name (==|in \()",
    r"\.square\b(?!\()",
)
MAY_SNIFF = ("learners", "_core", "model/lmdp.py")


def sniffs(source: str) -> list[str]:
    return [match.group() for pattern in SNIFFING for match in re.finditer(pattern, source)]


def test_capabilities_are_declared_and_not_asked_for() -> None:
    others = [path for path in SOURCES if not str(path.relative_to(ROOT)).startswith(MAY_SNIFF)]
    assert len(others) > 100
    assert {module_name(path): found for path in others if (found := sniffs(path.read_text()))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "isinstance(learner.own, TrackTheLeader)",
        "type(own) is FollowTheLeader",
        'hasattr(learner, "lead")',
        'player.learner.name == "ftl"',
        "if lmdp.square is None:",
        "isinstance(lmdp.moves, Full)",
    ],
)
def test_sniffing_is_found(source: str) -> None:
    assert sniffs(source)


def test_importing_lsmdp_is_light() -> None:
    assert loaded_by("import lsmdp", {"numba", "scipy", "pyarrow", "typer", "networkx"}) == set()


def test_importing_the_command_line_is_light() -> None:
    assert loaded_by("import lsmdp.cli", {"numpy", "scipy", "numba", "pyarrow"}) == set()


def test_the_lightness_test_can_fail() -> None:
    assert loaded_by("import scipy.sparse", {"numba", "scipy"}) == {"scipy"}


def test_every_exported_name_exists() -> None:
    assert [name for name in lsmdp.__all__ if getattr(lsmdp, name, None) is None] == []
