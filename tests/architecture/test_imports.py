"""The law of imports: rooms import downwards only, lazily and for types too; steps are pure; a library has one home."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from graphlib import TopologicalSorter

from tests.architecture.source import PACKAGE, imports, inside, trees

ROOMS = (
    "__main__ cli integrations api checks upkeep records memories config pipeline workspace steps text model".split()
)
STEPS = {"rendering", "selection", "ranking", "rules", "retrieval"}
ADAPTERS = ("retrieval.embeddings", "retrieval.memory_index", "retrieval.deadline", "selection.summarizer")
HOMES = {
    "typer rich": "cli",
    "yaml": "config workspace.editing",
    "watchdog": "workspace.watch",
    "tiktoken": "selection.tokens",
    "Stemmer": "retrieval.search.inverted_index",
    "llm": "integrations.llm_plugin",
    "mcp pydantic typing_extensions": "integrations.mcp_server integrations.mcp_answers integrations.mcp_tools",
    "numpy tokenizers onnxruntime": "retrieval.embeddings",
    "http socket ssl urllib.request": "retrieval.embeddings.http_embedder",
    "psycopg2": "workspace.store.connection",
    "sqlite3": "retrieval.memory_index",
    "rapidfuzz": "text.similarity text.names.matching retrieval.search.query_words",
    "regex": "text rules.evaluate config.rules.rule_files",
    # Tables of commands and of sources, and imports that wait for their use.
    "importlib.import_module": "cli.command_line retrieval.retrieve",
}
HEAVY = ("tiktoken", "rapidfuzz", "watchdog", "tokenizers", "onnxruntime", "rich", "psycopg2")
WORLD = "os sys io time random locale socket subprocess logging pathlib shutil tempfile asyncio threading".split()
WORLD += "concurrent multiprocessing urllib http secrets uuid signal platform glob sqlite3 importlib.resources".split()
CALLS = set("print open input exec eval breakpoint __import__ now today utcnow fromtimestamp".split())


@cache
def ours() -> set[tuple[str, str]]:
    """Which module of the package imports which."""
    return {(each.module, each.target) for each in imports() if each.ours and each.module and each.target}


@cache
def pure() -> set[str]:
    """Modules that may not see the world."""
    own = {name for name in trees() if inside(name, *STEPS, "text", "model", "pipeline")}
    return {name for name in own if not inside(name, *ADAPTERS)}


def room(module: str) -> int:
    """Position of a module's room in the list; the steps share one."""
    top = module.partition(".")[0]
    return ROOMS.index("steps" if top in STEPS else top)


def test_every_name_in_the_package_is_a_room() -> None:
    names = {path.stem for path in PACKAGE.iterdir()} - {"__init__", "__main__", "__pycache__", "py"}
    assert names <= {*ROOMS, *STEPS}
    assert len(names) <= 17


def test_imports_go_down_and_never_from_step_to_step() -> None:
    across = {(a, b) for a, b in ours() if a.partition(".")[0] != b.partition(".")[0]}
    assert {(a, b) for a, b in across if room(a) >= room(b)} == set()
    assert {each.target for each in imports() if each.ours and not each.module} <= {"api"}


def test_modules_import_each_other_in_no_circle() -> None:
    TopologicalSorter({module: {b for a, b in ours() if a == module} for module in trees()}).prepare()


def test_adapters_are_imported_by_the_configuration_only() -> None:
    users = {(a, b) for adapter in ADAPTERS for a, b in ours() if inside(b, adapter) and not inside(a, adapter)}
    users -= {(a, b) for a, b in users if inside(a, "workspace.store") and b == "retrieval.memory_index.database"}
    assert {(a, b) for a, b in users if not inside(a, "config", "memories")} == set()


def test_steps_see_nothing_of_the_world() -> None:
    calls = [(module, node) for module in pure() for node in ast.walk(trees()[module]) if isinstance(node, ast.Call)]
    names = {(module, ast.unparse(call.func).rpartition(".")[2]) for module, call in calls}
    assert {(module, name) for module, name in names if name in CALLS} == set()
    world = {(i.module, i.target) for i in imports() if i.module in pure() and inside(i.target, *WORLD)}
    assert world == {("model.named_tuple", "sys")}  # for the version of Python


def test_every_library_is_imported_at_its_home_only() -> None:
    foreign = [each for each in imports() if not each.ours]
    for names, homes in HOMES.items():
        users = {i.module for i in foreign if inside(i.target, *names.split())}
        assert {module for module in users if not inside(module, *homes.split())} == set(), names
        assert [home for home in homes.split() if not any(inside(module, home) for module in users)] == [], names
    libraries = {*sys.stdlib_module_names, *" ".join(HOMES).split()}
    assert {i.target for i in foreign if not inside(i.target, *libraries)} == set()
    assert {(i.module, i.target) for i in foreign if inside(i.target, *HEAVY) and not i.lazy} == set()


def test_an_init_module_holds_a_docstring_only() -> None:
    lazy = r"__version__ = |__all__ = |def __(getattr|dir)__\(|TYPE_CHECKING = False|if TYPE_CHECKING:"
    allowed = {"": lazy, "model": r"from contextasm\.model\.|__all__ = "}
    for name in {name for name in trees() if (PACKAGE / name.replace(".", "/")).is_dir()}:
        code = [ast.unparse(node) for node in trees()[name].body[1:]]
        assert [text for text in code if not re.match(allowed.get(name, "$"), text)] == [], name
