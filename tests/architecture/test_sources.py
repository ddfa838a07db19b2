"""Sources are known by their traits: no module but the two tables spells the name of one."""

import ast
from collections.abc import Iterator

from contextasm.model import SOURCE_TRAITS
from contextasm.retrieval.retrieve import SOURCES
from tests.architecture.source import trees

TABLES = {"model.sources", "retrieval.retrieve"}
UNMISTAKABLE = {name for name in SOURCE_TRAITS if "-" in name} | {"daily", "weighed"}
"""Names that mean nothing but a source; `search` and `files`, for example, are names of other things, too."""


def names(node: ast.AST) -> set[str]:
    return SOURCE_TRAITS.keys() & {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}


def asks_for_source(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare | ast.BinOp | ast.Call) and any(
        isinstance(each, ast.Attribute) and each.attr == "sources" for each in ast.walk(node)
    )


def spelled(tree: ast.Module) -> Iterator[str]:
    """The names that a module spells: those that mean nothing else, and those that it compares."""
    yield from names(tree) & UNMISTAKABLE
    for node in ast.walk(tree):
        if asks_for_source(node):
            yield from names(node)


def test_no_module_asks_for_the_name_of_a_source() -> None:
    found = {(module, name) for module, tree in trees().items() if module not in TABLES for name in spelled(tree)}
    assert found == set()


def test_every_source_has_traits_and_a_function() -> None:
    assert [*SOURCES] == [*SOURCE_TRAITS]
