"""Starting is part of the product: what a command does not need is not imported, and no exact count is made twice."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.command import COMMAND, LUNA, fill, inside, python

HEAVY = (
    "rich",
    "watchdog",
    "rapidfuzz",
    "tiktoken",
    "pydantic",
    "asyncio",
    "sqlite3",
    "logging",
    "psycopg2",
    "contextasm.retrieval.search",
    "contextasm.api",
    "contextasm.config.profiles.detection",
    "contextasm.config.input.parameters",
    "contextasm.integrations",
    "contextasm.text.exchange",
    "contextasm.workspace.store",
    "contextasm.config.keys.store",
)
"""What `build` does not load (docs/architecture.md, Start-up)."""

SCRIPTS = ("ctxasm", "contextasm")
"""Names of the command: `uvx contextasm` looks for the package's own."""

SCRIPT = """
import atexit, os, sys
target = sys.argv.pop()
def tell():
    with open(target, "w") as file:
        file.write("\\n".join(sys.modules))
atexit.register(tell)
os._exit = sys.exit  # the quick end would skip the telling
from contextasm.__main__ import main
main()
"""
"""Runs the command of its words but the last, and writes the modules loaded at its end into the file named last."""


def loaded(folder: Path, *words: str, env: Mapping[str, str] | None = None) -> set[str]:
    target = folder / "modules.txt"
    result = python(SCRIPT, *words, target, env=env)
    assert result.code == 0, result.err
    return set(target.read_text().split("\n"))


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("build", *LUNA), id="markdown"),
        pytest.param(("build", "-q", *LUNA, "-b", "1500"), id="cut"),
        pytest.param(("build", *LUNA, "-f", "json", "-v", "--explain"), id="json, verbose"),
        pytest.param(("build", *LUNA, "-o", "/dev/null"), id="into a file"),
        pytest.param(("explain", *LUNA), id="explain in a pipe"),
        pytest.param(("build", "--help"), id="help"),
    ],
)
def test_build_loads_nothing_heavy(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert loaded(tmp_path, *words) & set(HEAVY) == set()


def test_build_with_foreign_front_matter_loads_nothing_heavy(tmp_path: Path) -> None:
    fill(tmp_path, {"agents/a/IDENTITY.md": "A\n", "agents/a/memories/m.md": "---\ntitle: T\n---\n- [fact] One\n"})
    words = ("build", "-w", str(tmp_path), "-a", "a", "--date", "2025-03-14")
    assert loaded(tmp_path, *words) & set(HEAVY) == set()


def test_build_loads_no_more_than_it_needs(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "build", *LUNA)
    others = {name for name in modules if name.startswith("contextasm.cli.commands.")} - {
        "contextasm.cli.commands.build"
    }
    unneeded = {
        "typer",
        "inspect",
        "pathlib",
        "threading",
        "zlib",
        "yaml.reader",
        "yaml.resolver",
        "yaml.scanner",
        "json",
        "tempfile",
        "unittest",
        "urllib.request",
        "http.client",
        "ssl",
        "socket",
        "zoneinfo",
    }
    assert others == set()
    assert modules & unneeded == set()


def test_build_with_a_topic_loads_no_embedder_where_none_is_configured(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "build", *LUNA, "--topic", "the date of the demo")
    others = {
        "contextasm.retrieval.embeddings",
        "contextasm.config.keys.embedder",
        "urllib.request",
        "socket",
        "onnxruntime",
        "tokenizers",
        "sqlite3",
    }
    assert modules & others == set()


def test_build_with_a_topic_loads_no_more_of_a_library_than_it_uses(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "build", *LUNA, "--topic", "who decieds the date of the demo")
    assert modules & {"rapidfuzz", "regex"} == set()


def test_version_loads_nothing_of_ours_but_the_version(tmp_path: Path) -> None:
    modules = loaded(tmp_path, "--version")
    assert {name for name in modules if name.split(".")[0] == "contextasm"} == {"contextasm", "contextasm.__main__"}
    assert modules & {"typer", "yaml", "typing", *HEAVY} == set()


def test_importing_the_package_loads_nothing_else() -> None:
    script = "import contextasm, sys; print(*[name for name in sys.modules if name.startswith('contextasm')])"
    assert python(script).out == "contextasm\n"


EXACT = ("build", "-q", *LUNA, "-b", "2k", "--tokenizer", "o200k_base")


def test_second_exact_build_loads_no_tables(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    assert "tiktoken" in loaded(tmp_path, *EXACT, env=env)
    assert [path.name for path in (tmp_path / "cache/ctxasm").iterdir()] == ["o200k_base.cache"]
    assert loaded(tmp_path, *EXACT, env=env) & {"tiktoken", "zlib"} <= {"zlib"}


def test_second_exact_build_gives_the_same_bytes(tmp_path: Path) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    first, second = (inside(*EXACT, env=env) for _ in range(2))
    assert first.code == 0
    assert first == second == inside(*EXACT, env={"CTXASM_NO_CACHE": "1"})


@pytest.mark.parametrize("value", ["1", "yes"])
def test_build_without_cache_leaves_no_file(tmp_path: Path, value: str) -> None:
    env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache"), "CTXASM_NO_CACHE": value}
    assert inside(*EXACT, env=env).code == 0
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("base", ["", "relative"])
def test_cache_lies_in_the_home_folder_where_nothing_else_is_named(tmp_path: Path, base: str) -> None:
    env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": base}
    assert inside(*EXACT, env=env).code == 0
    assert [path.name for path in (tmp_path / ".cache/ctxasm").iterdir()] == ["o200k_base.cache"]


@pytest.mark.parametrize("damage", [b"", b"nonsense"])
def test_damaged_cache_is_as_none(tmp_path: Path, damage: bytes) -> None:
    env = {"XDG_CACHE_HOME": str(tmp_path)}
    first = inside(*EXACT, env=env)
    (tmp_path / "ctxasm/o200k_base.cache").write_bytes(damage)
    assert inside(*EXACT, env=env) == first
    assert first.err == ""


def test_cache_that_can_not_be_written_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "ctxasm").write_text("in the way")
    assert inside(*EXACT, env={"XDG_CACHE_HOME": str(tmp_path)}).code == 0


def test_exact_build_needs_no_network_and_writes_nothing_in_the_workspace(tmp_path: Path) -> None:
    workspace = fill(tmp_path / "w", {})
    script = (
        "import socket, sys\n"
        "def refuse(*_a, **_k): raise SystemExit('a socket was opened')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from contextasm.cli.app import run\n"
        "sys.exit(run(sys.argv[1:]))\n"
    )
    env = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "TIKTOKEN_CACHE_DIR": str(tmp_path / "tiktoken")}
    result = python(script, "build", "-w", workspace, "--tokenizer", "cl100k_base", env=env)
    assert result.code == 0, result.err
    assert sorted(os.listdir(tmp_path)) == ["cache", "w"]


def test_command_is_the_module() -> None:
    from importlib.metadata import entry_points

    values = {name: [script.value for script in entry_points(group="console_scripts", name=name)] for name in SCRIPTS}
    assert (values, COMMAND[1:]) == ({name: ["contextasm.__main__:main"] for name in SCRIPTS}, ("-m", "contextasm"))


def test_only_a_locked_build_loads_the_approval_lock(tmp_path: Path) -> None:
    modules = {"contextasm.config.approval", "contextasm.text.data.lock_file"}
    workspace = fill(tmp_path / "ws", {})
    line = ("build", "-q", "-w", str(workspace), "-o", str(tmp_path / "out.md"))
    assert not modules & loaded(tmp_path, *line)
    assert inside("lock", "-w", workspace).code == 0
    assert not modules & loaded(tmp_path, *line)
    assert modules <= loaded(tmp_path, *line, "--locked")
