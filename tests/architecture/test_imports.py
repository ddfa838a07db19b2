"""Imports go down, never sideways or up (docs/DESIGN.md section 3); the lower floors see nothing of the world."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import contextasm

PACKAGE = Path(contextasm.__file__).parent

FLOORS: dict[int, tuple[str, ...]] = {
    1: ("model.*",),
    2: ("text.*", "tokens", "search.*", "plain", "notes", "compare"),
    3: ("sources.*", "rules.*", "rank", "budget.*", "merge", "conflicts", "filters", "upkeep", "render.*", "report.*"),
    4: ("assemble", "trace", "records"),
    5: (
        "config.*",
        "workspace",
        "store",
        "writing",
        "starting",
        "present",
        "revision",
        "targets",
        "tasks",
        "kept.*",
        "summaries",
        "waiting",
        "embedding.*",
    ),
    6: ("prepare.*", "watch.*", "keeping.*", "replay", "checks.*"),
    7: ("cli", "commands.*", "__main__"),
}
"""Where each module stands; `x.*` is a package, whose modules may import each other."""

SIDEWAYS = {
    ("prepare.job", "waiting"),  # threads, for those who set a deadline
    ("__main__", "cli"),
    ("cli", "commands"),
    ("commands.completion", "cli"),  # the script is made from the command line itself
    ("checks.scene", "prepare"),  # every agent is built with every team
    ("checks.outputs", "prepare"),  # and each output once more
}
"""What is allowed on the two uppermost floors; `commands` is a table of modules, each imported when it is asked for."""

FREE = "contextasm"
"""The package itself: only the version, for anyone."""

NO_WORLD = {
    "os",
    "sys",
    "time",
    "random",
    "socket",
    "subprocess",
    "logging",
    "pathlib",
    "io",
    "shutil",
    "tempfile",
    "asyncio",
    "threading",
    "urllib",
    "http",
    "secrets",
    "uuid",
    "locale",
    "getpass",
    "platform",
}
"""What no module of the floors 1 to 4 imports: disk, clock, environment, network, chance."""

NO_CALLS = {"print", "open", "input", "exec", "eval", "breakpoint", "__import__"}

NO_CLOCK = {"now", "today", "utcnow", "fromtimestamp"}
"""Methods of dates that ask the clock, or the time zone of the machine."""

ONLY: dict[str, tuple[str, ...]] = {
    "yaml": FLOORS[5],
    "watchdog": ("watch.hints",),
    "typer": FLOORS[7],
    "click": FLOORS[7],
    "rich": FLOORS[7],
    "tiktoken": ("tokens",),
    "rapidfuzz": ("search.*", "merge", "upkeep", "text.likeness"),
    "numpy": ("embedding.folder",),
    "tokenizers": ("embedding.folder",),
    "sqlite3": ("kept.*", "embedding.cache"),
}
"""Where a library may be imported at all."""


class Import(NamedTuple):
    """One import, wherever in its module it stands."""

    module: str
    """Who imports, without `contextasm.`."""
    line: int
    target: str
    """What is imported, in full."""
    function: str
    """The function it stands in; empty for none."""


@cache
def modules() -> dict[str, Path]:
    """Every module of the package by its name without `contextasm.`; a package's `__init__` by the package's name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name or FREE] = path
    return found


@cache
def tree(path: Path) -> ast.Module:
    """The parsed source."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def stands_in(module: str, places: tuple[str, ...]) -> bool:
    """Whether one of the places, as `FLOORS` writes them, holds a module."""
    return any(
        module == place.removesuffix(".*") or (place[-1] == "*" and module.startswith(place[:-1])) for place in places
    )


def floor(module: str) -> int:
    """The floor of a module; 0 for none."""
    return next((number for number, places in FLOORS.items() if stands_in(module, places)), 0)


def imports() -> Iterator[Import]:
    """Every import of every module: inside functions and for types alone, too, and by `import_module`."""
    for module, path in modules().items():
        yield from _imports(module, path, tree(path), "")


def _imports(module: str, path: Path, node: ast.AST, function: str) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        inner = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        if isinstance(child, ast.Import):
            yield from (Import(module, child.lineno, alias.name, function) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            assert not child.level, f"{path}:{child.lineno}: a relative import"
            yield from (
                Import(module, child.lineno, _meant(child.module or "", name.name), function) for name in child.names
            )
        elif isinstance(child, ast.Call) and _called(child) in {"import_module", "__import__"}:
            yield Import(module, child.lineno, _stated(child), function)
        yield from _imports(module, path, child, inner)


def _meant(source: str, name: str) -> str:
    """The module that `from source import name` needs: `source.name` where that is one."""
    own = source.removeprefix(f"{FREE}.") if source != FREE else ""
    return (
        f"{source}.{name}"
        if source.split(".", 1)[0] == FREE and ".".join(filter(None, (own, name))) in modules()
        else source
    )


def _called(call: ast.Call) -> str:
    return (
        call.func.id
        if isinstance(call.func, ast.Name)
        else call.func.attr
        if isinstance(call.func, ast.Attribute)
        else ""
    )


def _stated(call: ast.Call) -> str:
    """The beginning of a module's name that is figured out at run time."""
    first = call.args[0]
    value = first.values[0] if isinstance(first, ast.JoinedStr) else first
    return str(value.value) + "*" if isinstance(value, ast.Constant) else "*"


def own_imports() -> list[Import]:
    """Those of our own modules, the target's name without `contextasm.`."""
    return [
        each._replace(target=each.target.removeprefix(f"{FREE}.").removesuffix(".*"))
        for each in imports()
        if each.target.split(".")[0] == FREE
    ]


def test_every_module_stands_on_a_floor() -> None:
    """A new one has to be put into the table."""
    assert [module for module in modules() if module != FREE and not floor(module)] == []


def test_every_module_stands_on_one_floor_only() -> None:
    """Else the table says nothing."""
    for module in modules():
        assert sum(stands_in(module, places) for places in FLOORS.values()) == (module != FREE), module


def test_imports_go_down() -> None:
    """Never up, and never sideways but inside one package."""
    wrong = [
        f"{each.module}:{each.line} (floor {floor(each.module)}) imports {each.target} (floor {floor(each.target)})"
        for each in own_imports()
        if each.target != FREE
        and not floor(each.target) < floor(each.module)
        and not (floor(each.target) == floor(each.module) and each.target.split(".")[0] == each.module.split(".")[0])
        and (each.module, each.target) not in SIDEWAYS
    ]
    assert wrong == []


def test_import_at_run_time_is_of_commands_and_sources_alone() -> None:
    """`import_module` would else be a way around this test."""
    assert {(each.module, each.target) for each in imports() if each.target.endswith("*")} <= {
        ("cli", "contextasm.cli.options.*"),
        ("sources", "contextasm.retrieval.retrieve.*"),
    }


def test_modules_import_each_other_in_no_circle() -> None:
    """Inside a package, too."""
    edges: dict[str, set[str]] = {}
    for each in own_imports():
        if each.module == each.target:  # a package that imports its modules by name
            continue
        edges.setdefault(each.module, set()).add(each.target)
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for target in sorted(edges.get(module, ())):
                if not (
                    target in module and module.startswith(f"{target}.")
                ):  # a package's `__init__` is no part of it
                    visit(target, (*trail, module))
            done.add(module)

    for module in sorted(edges):
        visit(module, ())


def test_lower_floors_import_nothing_of_the_world() -> None:
    """No disk, clock, environment, network, chance, log."""
    wrong = [each for each in imports() if 0 < floor(each.module) < 5 and each.target.split(".")[0] in NO_WORLD]
    assert wrong == []


def test_lower_floors_ask_no_clock_and_print_nothing() -> None:
    """Nor do they open a file, with or without an import."""
    wrong = [
        f"{module}:{node.lineno}: {_called(node)}"
        for module, path in modules().items()
        if 0 < floor(module) < 5
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and _asks_the_world(node)
    ]
    assert wrong == []


def _asks_the_world(call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id in NO_CALLS
    return isinstance(call.func, ast.Attribute) and call.func.attr in NO_CLOCK


@pytest.mark.parametrize("library", ONLY)
def test_library_is_imported_in_its_place_only(library: str) -> None:
    """Each heavy or optional one has one owner."""
    wrong = [
        each for each in imports() if each.target.split(".")[0] == library and not stands_in(each.module, ONLY[library])
    ]
    assert wrong == []


@pytest.mark.parametrize("library", ["tiktoken", "rapidfuzz", "watchdog", "tokenizers"])
def test_heavy_library_is_imported_inside_one_function(library: str) -> None:
    """So that only who needs it waits for it, and one message tells of its absence."""
    places = {(each.module, each.function) for each in imports() if each.target.split(".")[0] == library}
    assert all(function for _, function in places), places
    assert len({each for each in places if each[0] == "tokens"}) <= 1, places


def test_clock_is_asked_on_the_upper_floors_only_by_name() -> None:
    """`time.time` is handed over in `prepare.surroundings`, so a test can hand over another one."""
    users = {each.module for each in imports() if each.target.split(".")[0] == "time"}
    allowed = {"prepare", "watch", "watch.rescan", "watch.turns", "commands.build", "commands.watch"}
    assert users <= {*allowed, "summaries", "waiting", "embedding", "embedding.job"}, users


def test_one_module_alone_opens_a_socket() -> None:
    """The one that asks a server of embeddings, where an address is configured; to read an address is no socket."""
    network = {"socket", "urllib", "http", "requests", "httpx", "ssl", "ftplib", "smtplib"}
    users = {
        each.module for each in imports() if each.target.split(".")[0] in network and each.target != "urllib.parse"
    }
    assert users == {"embedding.server"}
