"""The key `memories` of the settings: what may stand there, and that it connects to nothing by itself."""

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.config.input.yaml_loader import YamlMapping, load_mapping
from contextasm.config.keys.store import parse_store
from contextasm.model import ContextasmError
from contextasm.workspace.store.connection import StoreConfig
from tests.command import fill, inside
from tests.tables import column

FILES = {
    "agents/luna/IDENTITY.md": "I am luna.\n",
    "agents/luna/INSTRUCTIONS.md": "Do it.\n",
    "teams/q1/memories/m.md": "- [fact] of a file {id=f}\n",
}


def parsed(url: str, more: str = "owners: [teams/q1]") -> StoreConfig:
    """The settings of a store."""
    return parse_store(load_mapping(f"memories:\n  store: {url}\n  {more}\n", "ctxasm.yaml"))


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("postgresql://db.example/agents", {"host": "db.example", "dbname": "agents"}),
        ("postgres://luna@db:5433/agents", {"host": "db", "port": "5433", "dbname": "agents", "user": "luna"}),
        ("postgresql:///agents", {"dbname": "agents"}),
        ("postgresql://", {}),
        ("postgresql://[::1]/a?sslmode=verify-full", {"host": "::1", "dbname": "a", "sslmode": "verify-full"}),
        ("postgresql:///a?host=db&user=kenji", {"host": "db", "dbname": "a", "user": "kenji"}),
        ("postgresql://a%20b@db/agents", {"host": "db", "dbname": "agents", "user": "a b"}),
    ],
)
def test_addresses(url: str, parts: dict[str, str]) -> None:
    config = parsed(f'"{url}"')
    assert dict(config.parts) == parts
    assert parsed(f'"{config.address}"').parts == config.parts


@pytest.mark.parametrize("url", column("store/refused"))
def test_addresses_that_are_refused(url: str) -> None:
    with pytest.raises(ContextasmError, match=r"ctxasm\.yaml:2: store"):
        parsed(f'"{url}"')


@pytest.mark.parametrize("url", column("store/passwords"))
def test_a_password_is_reported_and_never_shown(tmp_path: Path, url: str) -> None:
    root = fill(tmp_path, {**FILES, "ctxasm.yaml": f"memories:\n  store: {url}\n  owners: [teams/q1]\n"})
    for words in (("check",), ("build", "-a", "luna"), ("remember", "-t", "q1", "x"), ("store", "status")):
        result = inside(*words, "-w", root, env={"CTXASM_TRUST": str(root)})
        assert result.code == (1 if words == ("check",) else 2)
        assert "ctxasm.yaml:2" in result.out + result.err
        assert "holds a password" in result.out + result.err
        assert "hunter2" not in result.out + result.err


@pytest.mark.parametrize("settings", column("store/misplaced"))
def test_a_password_in_the_wrong_place_is_not_told_either(settings: str) -> None:
    with pytest.raises(ContextasmError, match=r"ctxasm\.yaml:1") as refusal:
        parse_store(load_mapping(f"memories: {settings}\n", "ctxasm.yaml"))
    assert "hunter2" not in str(refusal.value)


PASSWORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n"), min_size=8).filter(
    lambda word: len({*word}) > 5
)
PLACES = (
    "postgresql://luna:{}@db.example/agents",
    "postgresql://luna%3A{}@db.example/agents",
    "postgresql://luna:{}@[::1]:5432/agents?sslmode=require",
    "postgresql://db.example/agents?user=luna:{}",
    "postgresql://db.example/agents?user=luna%3A{}&sslmode=require",
    "postgresql://db.example/agents?password={}",
    "postgresql://db.example/agents?sslpassword={}",
    "postgresql://db.example/agents?options=-c%20password={}",
    "postgresql://db.example/agents?passfile={}",
    "postgresql://db.example/agents?service={}",
    "postgresql://db.example/agents?{}=x",
    "dbname=agents password={}",
)


def quoted_twice(word: str) -> str:
    """A word in per cent signs, themselves in per cent signs."""
    return quote(quote(word))


@given(password=PASSWORDS, place=st.sampled_from(PLACES), encode=st.sampled_from([str, quote, quoted_twice]))
def test_no_address_with_a_password_passes_or_is_told(password: str, place: str, encode: Callable[[str], str]) -> None:
    settings_file, memories = YamlMapping("ctxasm.yaml", 1), YamlMapping("ctxasm.yaml", 2)
    memories.update(store=place.format(encode(password)), owners=["teams/q1"])
    settings_file.update(memories=memories)
    settings_file.lines["memories"] = 1
    with pytest.raises(ContextasmError) as refusal:
        parse_store(settings_file)
    told = str(refusal.value).removeprefix("ctxasm.yaml")
    assert not any(word in told for word in (password, encode(password)))
    assert "holds a password" in told or not place.startswith("postgresql://luna")


@pytest.mark.parametrize(
    ("text", "seconds"), [("5s", 5), ("0", 0), ("500ms", 0.5), ("2m", 120), ("1h", 3600), ("1.5", 1.5)]
)
def test_ages(text: str, seconds: float) -> None:
    assert parsed("postgresql://", f"owners: [teams/q1]\n  max_age: {text}").max_age == seconds


@pytest.mark.parametrize("more", column("store/settings"))
def test_other_settings_that_are_refused(more: str) -> None:
    with pytest.raises(ContextasmError, match=r"ctxasm\.yaml:\d"):
        parsed("postgresql://", more)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A socket that waits for a connection, and would tell of it."""
    with socket.create_server(("127.0.0.1", 0)) as waiting:
        waiting.settimeout(0.05)  # the command has ended by then: a connection that it made is there
        yield waiting


COMMANDS = (
    ("build", "-a", "luna", "-t", "q1"),
    ("search", "-t", "q1", "file"),
    ("explain", "-a", "luna", "-t", "q1"),
    ("check",),
    ("show", "f"),
    ("remember", "-t", "q1", "x"),
    ("remember", "-a", "luna", "x"),
    ("store", "status"),
    ("store", "init"),
    ("store", "pull"),
    ("store", "import"),
    ("store", "export", "--to", "/nowhere"),
    ("store", "migrate"),
    ("memory", "approve", "f"),
    ("edit", "f"),
    ("plan", "-a", "luna", "-t", "q1"),
    ("stats",),
    ("tidy",),
    ("export", "-t", "q1"),
)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_a_cloned_workspace_connects_to_nothing(
    listener: socket.socket, tmp_path: Path, words: tuple[str, ...]
) -> None:
    """P8: whatever command runs in it, and whatever else of libpq its address names."""
    port = listener.getsockname()[1]
    settings = f"date: 2025-03-14\nmemories:\n  store: postgresql://127.0.0.1:{port}/agents\n  owners: [teams/q1]\n"
    root = fill(tmp_path / "ws", {**FILES, "ctxasm.yaml": settings})
    result = inside(*words, "-w", root, env={"CTXASM_TRUST": str(tmp_path)})
    with pytest.raises(TimeoutError):
        listener.accept()
    told = "store-not-trusted" in result.err or "the store is not used" in result.err
    assert told or words in {("check",), ("tidy",), ("remember", "-a", "luna", "x")}
    if words[0] in {"build", "search", "show"}:
        assert "of a file" in result.out
    assert result.code in {0, 1, 2}


def test_a_trusted_workspace_connects(listener: socket.socket, tmp_path: Path) -> None:
    pytest.importorskip("psycopg2", reason="psycopg2 is not installed")
    listener.settimeout(20)
    port = listener.getsockname()[1]
    settings = f"memories:\n  store: postgresql://127.0.0.1:{port}/agents\n  owners: [teams/q1]\n"
    root = fill(tmp_path / "ws", {**FILES, "ctxasm.yaml": settings})
    callers: list[str] = []

    def answer() -> None:
        caller, (address, _) = listener.accept()
        caller.close()
        callers.append(address)

    answering = threading.Thread(target=answer)
    answering.start()
    result = inside("store", "status", "-w", root, env={"CTXASM_TRUST": str(root)})
    answering.join()
    assert (result.code, callers) == (1, ["127.0.0.1"])


def test_a_workspace_that_brings_a_replica_is_read_from_its_files(tmp_path: Path) -> None:
    """P8: state that came with a repository is not believed."""
    settings = "memories:\n  store: postgresql:///agents\n  owners: [teams/q1]\n"
    planted = {".ctxasm/store/teams/q1/memories/2025-03.000000.luna.md": "- [fact] planted {id=p}\n"}
    root = fill(tmp_path, {**FILES, **planted, "ctxasm.yaml": settings})
    result = inside("search", "-t", "q1", "file planted", "-w", root)
    assert "of a file" in result.out
    assert "planted" not in result.out


@pytest.mark.parametrize("file", ["store/teams/q1/memories/x.md", "store/state.json", "store.lock"])
def test_no_output_is_written_into_the_replica(tmp_path: Path, file: str) -> None:
    """P4: a page of the replica is a source."""
    root = fill(tmp_path, {**FILES, ".ctxasm/store/teams/q1/memories/a.md": "- a\n"})
    result = inside("build", "-a", "luna", "-w", root, "-o", root / ".ctxasm" / file)
    assert (result.code, (root / ".ctxasm" / file).exists()) == (2, False), result.err
