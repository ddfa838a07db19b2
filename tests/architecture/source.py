"""The package as source: every module parsed once, and every import in it."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import contextasm

PACKAGE = Path(contextasm.__file__).parent


class Import(NamedTuple):
    """One import, wherever in its module it stands; modules of the package are named without `contextasm.`."""

    module: str
    target: str
    ours: bool
    lazy: bool
    """Whether it stands inside a function."""


@cache
def trees() -> dict[str, ast.Module]:
    """Modules by name; a folder's name stands for its `__init__`, and the empty name for that of the whole package."""
    files = {file.relative_to(PACKAGE).with_suffix(""): file for file in sorted(PACKAGE.rglob("*.py"))}
    return {
        ".".join(path.parts).removesuffix("__init__").strip("."): ast.parse(file.read_bytes())
        for path, file in files.items()
    }


@cache
def imports() -> tuple[Import, ...]:
    """All imports, those for types too; `from contextasm.a import b` imports `a.b` where that is a module, else `a`."""
    return tuple(found for module, tree in trees().items() for found in _imports(module, tree))


def _imports(module: str, tree: ast.Module) -> Iterator[Import]:
    for node, lazy in _statements(tree):
        for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
            name = f"{node.module}.{alias.name}" if isinstance(node, ast.ImportFrom) else alias.name
            ours = inside(name, "contextasm")
            target = name.removeprefix("contextasm").lstrip(".") if ours else name
            if ours and target not in trees():
                target = target.rpartition(".")[0]
            yield Import(module, target, ours, lazy)


def _statements(parent: ast.AST, *, lazy: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """Every statement below this one, and whether it stands inside a function; expressions hold none."""
    for node in ast.iter_child_nodes(parent):
        if not isinstance(node, ast.expr):
            yield node, lazy
            yield from _statements(node, lazy=lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def inside(name: str, *places: str) -> bool:
    """Whether a dotted name is one of the places, or inside one."""
    return any(f"{name}.".startswith(f"{place}.") for place in places)
