"""House rules that a test can keep (ARCHITECTURE.md). A waiver is a line in a list, with its reason."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "pypto"
TILE_LEVEL = ROOT / "src" / "pypto_pro"

LONGEST_FUNCTION = 50
LONGEST_FILE = 400
MEDIAN_FUNCTION = 10

# Waivers: name -> reason.
LONG_FILES: dict[str, str] = {"ir.symbols": "one small algebra: its constructors, bounds and readers are read together"}
LONG_FUNCTIONS: dict[str, str] = {}

# Rooms in the order a kernel passes through them: a room may import at module level what stands before it, and itself.
ROOMS = [
    "version identity enums dtypes diagnostics errors elements options tiles chips cores".split(),
    ["tolerance"],
    ["ir"],
    ["ops"],
    ["reference"],
    ["frontend"],
    ["graph"],
    ["cpu"],
    ["sim"],
    ["runtime"],
    [
        "config",
        "pass_config",
        "platforms",
        "logging",
        "helpers",
        "testing",
        "error",
        "pypto_impl",
        "public",
        "beside",
        "coverage",
    ],
    ["compat"],
]
RANK = {room: rank for rank, rooms in enumerate(ROOMS) for room in rooms}
TILE_ROOMS = "errors language pipeline frontend runtime".split()  # of pypto_pro, in the same sense
HALL = len(ROOMS)  # compiler, jit, cli … may import everything

# Imports against the order, each with its reason. (importing module, imported room)
BACKWARD: dict[tuple[str, str], str] = {
    ("cpu.library", "runtime"): "compiled objects of all kinds are kept in one cache",
    ("pypto_pro.language.parser", "runtime"): "the functions that read texts are names of the language",
}


def files() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return [ROOT / name for name in listed if (ROOT / name).exists()]


def sources() -> list[Path]:
    return [path for path in files() if SOURCE in path.parents]


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def module_of(path: Path) -> str:
    """Without the package's name where it is ``pypto``."""
    base = SOURCE if SOURCE in path.parents else TILE_LEVEL.parent
    return ".".join(path.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


def module_level(path: Path) -> list[ast.stmt]:
    """Statements that run at import: not those in functions, nor under TYPE_CHECKING."""
    found: list[ast.stmt] = []
    pending: list[ast.stmt] = list(tree(path).body)
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.If) and "TYPE_CHECKING" in ast.dump(statement.test):
            continue
        found.append(statement)
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            pending += [child for child in ast.iter_child_nodes(statement) if isinstance(child, ast.stmt)]
    return found


def imports(path: Path, package: str = "pypto") -> set[str]:
    """Modules of a package that a file imports at module level, without the package's name."""
    found = set()
    for statement in module_level(path):
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            if statement.module == package:
                found |= {f"{package}.{alias.name}" for alias in statement.names}
            found.add(statement.module)
    return {name.removeprefix(f"{package}.") for name in found if name.startswith(f"{package}.")}


def room(module: str) -> str:
    return module.partition(".")[0]


def functions(path: Path) -> list[tuple[str, int]]:
    """(qualified name, lines of code without docstring) of every function."""

    def visit(node: ast.AST, prefix: str) -> list[tuple[str, int]]:
        found = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                doc = child.body[0] if ast.get_docstring(child) is not None else None
                lines = (child.end_lineno or 0) - child.lineno + 1
                lines -= ((doc.end_lineno or 0) - doc.lineno + 1) if doc is not None else 0
                found.append((f"{prefix}{child.name}", lines))
            name = getattr(child, "name", "")
            found += visit(child, f"{prefix}{name}." if name else prefix)
        return found

    return [(f"{module_of(path)}.{name}", lines) for name, lines in visit(tree(path), "")]


def all_sources() -> list[Path]:
    """Both packages."""
    return [path for path in files() if SOURCE in path.parents or TILE_LEVEL in path.parents]


def test_rooms_import_only_what_stands_before_them():
    wrong = []
    for path in sources():
        module = module_of(path)
        rank = RANK.get(room(module), HALL)
        for name in imports(path):
            if RANK.get(room(name), HALL) > rank and (module, room(name)) not in BACKWARD:
                wrong.append(f"{module} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_rooms_of_the_tile_level_import_only_what_stands_before_them():
    wrong = []
    for path in all_sources():
        module = module_of(path)
        package, _, inside = module.partition(".")
        for name in imports(path, "pypto_pro"):
            if package != "pypto_pro":
                wrong.append(f"{module} imports pypto_pro.{name}")
            elif room(inside) in TILE_ROOMS and room(name) in TILE_ROOMS and (module, room(name)) not in BACKWARD:
                if TILE_ROOMS.index(room(name)) > TILE_ROOMS.index(room(inside)):
                    wrong.append(f"{module} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_no_import_cycles():
    graph = {module_of(path): imports(path) for path in sources()}
    edges = {module: {name for name in names if name in graph and name != module} for module, names in graph.items()}
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail[trail.index(module) :], module))
        if module in done:
            return
        for name in sorted(edges[module]):
            visit(name, (*trail, module))
        done.add(module)

    for module in sorted(edges):
        visit(module, ())


def test_files_can_be_read_in_one_sitting():
    long = {module_of(p): n for p in all_sources() if (n := len(p.read_text(encoding="utf-8").splitlines())) > LONGEST_FILE}
    assert not {m: n for m, n in long.items() if m not in LONG_FILES}
    assert not [m for m in LONG_FILES if m not in long], "waivers that are not needed any more"


def test_functions_are_short():
    every = [one for path in all_sources() for one in functions(path)]
    long = {name: lines for name, lines in every if lines > LONGEST_FUNCTION}
    assert not {name: lines for name, lines in long.items() if name not in LONG_FUNCTIONS}
    assert not [name for name in LONG_FUNCTIONS if name not in long], "waivers that are not needed any more"
    assert sorted(lines for _, lines in every)[len(every) // 2] < MEDIAN_FUNCTION


def test_no_bare_except():
    found = [
        f"{module_of(path)}:{node.lineno}"
        for path in all_sources()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ExceptHandler) and node.type is None
    ]
    assert not found


# Modules in which an assert states a fact about our own data that mypy needs; never about what a user gave.
ASSERTS_ALLOWED = {"runtime.cache": "narrows Optional for mypy"}


def test_asserts_do_not_check_users():
    found = [
        f"{module_of(path)}:{node.lineno}"
        for path in all_sources()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Assert) and not _narrows(node) and module_of(path) not in ASSERTS_ALLOWED
    ]
    assert not found, "use a catalogue error, or InternalError for our own mistakes"


def _narrows(node: ast.Assert) -> bool:
    """``assert x is not None`` and ``assert isinstance(x, T)`` tell mypy what is known."""
    test = node.test
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], ast.IsNot)
    return isinstance(test, ast.Call) and getattr(test.func, "id", "") == "isinstance"


def test_torch_is_never_imported_at_module_level():
    found = []
    for path in all_sources():
        for statement in module_level(path):
            names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else []
            names += [statement.module or ""] if isinstance(statement, ast.ImportFrom) else []
            found += [module_of(path) for name in names if name == "torch" or name.startswith("torch.")]
    assert not found


def test_no_paths_of_one_machine():
    pattern = re.compile(r"/(home|root|opt|work|Users)/\w")
    found = []
    for path in [*files(), *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md"))]:
        if path == Path(__file__) or not path.exists():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found


def test_public_functions_have_docstrings():
    """Every function that users reach through ``pypto`` says what it does."""
    import pypto
    from pypto.public import HOME_OF

    missing = [name for name in HOME_OF if inspect.isfunction(value := getattr(pypto, name)) and not value.__doc__]
    assert not missing


def catalogue() -> list[type]:
    """Every class of ``pypto.errors`` that users can meet."""
    import importlib
    import pkgutil

    import pypto.errors
    from pypto.errors.base import UserError

    for one in pkgutil.iter_modules(pypto.errors.__path__):
        importlib.import_module(f"pypto.errors.{one.name}")
    pending, found = [UserError], []
    while pending:
        for cls in pending.pop().__subclasses__():
            pending.append(cls)
            if cls.__module__.startswith("pypto.errors.") and cls.message:
                found.append(cls)
    return sorted(set(found), key=lambda cls: (cls.__module__, cls.__name__))


def test_errors_are_complete():
    """A code, a message, and a builtin class that a caller may catch; one class per mistake."""
    classes = catalogue()
    assert not [cls.__name__ for cls in classes if not 0xF00000 <= cls.code <= 0xFFFFFF]
    assert not [cls.__name__ for cls in classes if cls().builtin == "Error"], "inherit the fitting builtin exception"
    names = [cls.__name__ for cls in classes]
    assert not {name for name in names if names.count(name) > 1}, "two classes for one mistake"
