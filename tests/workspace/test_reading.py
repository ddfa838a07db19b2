"""The one way to the bytes of a file: what it gives, and what it refuses without waiting."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from contextasm.config.input.yaml_loader import MAX_CONFIG
from contextasm.model import MAX_FILE
from contextasm.workspace.folder import Folder
from contextasm.workspace.reading import MISSING, ReadFailure, file_bytes
from tests.command import SMALL_TEXT, fill, inside, refused


def failure(path: Path | str, limit: int = MAX_FILE) -> ReadFailure:
    """The failure of a file that can't be read."""
    result = file_bytes(str(path), limit)
    assert isinstance(result, ReadFailure)
    return result


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 200_000])
def test_file_is_read_whole_up_to_the_limit(tmp_path: Path, size: int) -> None:
    """P15: one byte more is refused, with its size and the limit."""
    data = os.urandom(size)
    (tmp_path / "f").write_bytes(data)
    assert file_bytes(str(tmp_path / "f"), size) == data
    (tmp_path / "f").write_bytes(data + b"x")
    expected = f"is too large: it has {size + 1:,} bytes, and the limit is {size:,}"
    assert failure(tmp_path / "f", size) == ReadFailure("too-large", expected)


def test_file_without_a_size_is_read() -> None:
    if not os.path.exists("/proc/self/status"):
        pytest.skip("this system has no /proc")
    data = file_bytes("/proc/self/status")
    assert isinstance(data, bytes)
    assert b"Name:" in data


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server, TemporaryDirectory() as short:
        # The path of a socket is short; it is moved to the long one.
        server.bind(f"{short}/s")
        os.rename(f"{short}/s", path)


KINDS: dict[str, tuple[Callable[[Path], None], str]] = {
    "folder": (Path.mkdir, "is a folder, not a file"),
    "pipe": (os.mkfifo, "is a pipe, not a file"),
    "socket": (_socket, "is a socket, not a file"),
    "device": (lambda path: path.symlink_to("/dev/zero"), "is a device, not a file"),
    "loop": (lambda path: path.symlink_to(path), "can't be read: Too many levels of symbolic links"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_named_without_a_wait(tmp_path: Path, kind: str) -> None:
    """P13: each with what it is; its descriptor is closed."""
    make, message = KINDS[kind]
    make(tmp_path / "f")
    before = len(os.listdir("/dev/fd"))
    assert failure(tmp_path / "f").message == message
    assert len(os.listdir("/dev/fd")) == before


@contextmanager
def passed(text: str) -> Iterator[str]:
    """The path of a pipe with a text, as a shell passes it for `<(command)`."""
    handle, end = os.pipe()
    os.write(end, text.encode())
    os.close(end)
    yield f"/dev/fd/{handle}"
    os.close(handle)


PASSED: dict[str, tuple[Sequence[str], str, str]] = {
    "count": (("count",), "One two three.\n", "4\n"),
    "fit": (("fit", "-q", "-b", "100"), "One.\n", "One.\n"),
    "import": (
        ("import", "jsonl", "FILE", "-a", "a", "--dry-run"),
        '{"text": "One", "id": "m-1"}\n',
        "would be: 1 added",
    ),
    "baseline": (("check", "--baseline"), '{"schema": "ctxasm.baseline/1", "findings": []}\n', "no findings\n"),
    "history": (
        ("build", "-p", "librarian", "-q", "--history"),
        '[{"role": "user", "content": "One two."}]',
        "One two.",
    ),
    "profile": (("build", "-a", "a", "-q", "-p"), "extends: default\n", "## Identity\nI am.\n"),
}


@pytest.mark.parametrize("name", PASSED)
def test_a_pipe_that_a_shell_passes_as_a_file_is_read_by_every_command(tmp_path: Path, name: str) -> None:
    """P13: what a person types as `<(command)`."""
    words, text, shown = PASSED[name]
    fill(tmp_path, {"agents/a/IDENTITY.md": "I am.\n", "agents/a/INSTRUCTIONS.md": "Do.\n"}, base={})
    with passed(text) as path:
        words = [path if word == "FILE" else word for word in (*words, *["FILE"] * ("FILE" not in words))]
        done = inside(*words, cwd=tmp_path)
    assert (done.code, shown in done.out) == (0, True), done


def test_no_setting_makes_a_command_read_a_pipe(tmp_path: Path) -> None:
    """P13: the pipe may be one that never ends, such as that of a `make` that started the command."""
    handle, end = os.pipe()
    fill(tmp_path, {"ctxasm.yaml": f"profile: /dev/fd/{handle}\n", "agents/a/IDENTITY.md": "I am.\n"})
    refused(inside("build", "-a", "a", "-w", tmp_path), "is not a path inside the workspace")
    refused(inside("count", f"/dev/fd/{end}"), f"/dev/fd/{end}: can't be read: Bad file descriptor")
    for each in (handle, end):
        os.close(each)


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("none", MISSING),
        ("f/below", "not-a-folder"),
        ("a\0b", "unreadable"),
        ("\ud800", "unreadable"),
        ("x" * 300, "unreadable"),
    ],
)
def test_path_that_can_not_be_is_a_failure(tmp_path: Path, path: str, code: str) -> None:
    """P29: never another exception."""
    (tmp_path / "f").write_text("x")
    assert failure(f"{tmp_path}/{path}").code == code


PLACES: dict[str, tuple[str, ...]] = {
    "ctxasm.yaml": ("build",),
    "rules/r.yaml": ("build",),
    "p.yaml": ("build", "-p", "./p.yaml"),
    "base.json": ("check", "--baseline", "base.json"),
    "record.json": ("replay", "record.json"),
    "AGENTS.md": ("build", "-q", "--into", "AGENTS.md"),
    "agents/a/memories/m.md": ("remember", "-a", "a", "--file", "agents/a/memories/m.md", "A text."),
    "tasks.yaml": ("task", "push", "A goal."),
    "agents/a/IDENTITY.md": ("build",),
}


@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "loop"])
@pytest.mark.parametrize("place", PLACES)
def test_no_command_waits_for_what_is_no_file(tmp_path: Path, place: str, kind: str) -> None:
    """P13, P29: code 2 and one line that names it, wherever a path is taken."""
    path = fill(tmp_path, {}) / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    KINDS[kind][0](path)
    done = inside(*PLACES[place], cwd=tmp_path)
    refused(done, path.name)


@pytest.mark.parametrize(
    ("place", "words"),
    [("ctxasm.yaml", ()), ("rules/r.yaml", ()), ("p.yaml", ("-p", "./p.yaml"))],
    ids=["settings", "rules", "profile"],
)
def test_file_of_settings_has_a_smaller_limit(tmp_path: Path, place: str, words: tuple[str, ...]) -> None:
    """P15, P17: refused before it is parsed, with its size and the limit."""
    size = MAX_CONFIG + 1
    root = fill(tmp_path, {place: "#" * size})
    refused(
        inside("build", *words, cwd=root),
        place,
        f"is too large: it has {size:,} bytes, and the limit is {MAX_CONFIG:,}",
    )


@pytest.mark.parametrize("size", [MAX_FILE + 1, 1 << 30, 1 << 40])
def test_large_file_costs_itself_and_no_memory(tmp_path: Path, size: int) -> None:
    """P15: holes are not read."""
    path = fill(tmp_path, {}) / "agents/a/KNOWLEDGE.md"
    path.touch()
    os.truncate(path, size)
    done = inside("build", cwd=tmp_path)
    assert (done.code, done.out) == (0, SMALL_TEXT)
    assert f"agents/a/KNOWLEDGE.md: is too large: it has {size:,} bytes, and the limit is {MAX_FILE:,}" in done.err
    assert "agents/a/KNOWLEDGE.md: warning: is too large" in inside("check", cwd=tmp_path).out


def test_link_below_the_workspace_is_no_way_into_a_neighbour(tmp_path: Path) -> None:
    """P12: `/w` is the beginning of `/w-private`, and not the folder that it lies in."""
    fill(tmp_path / "w-private", {"secret.md": "SECRET"}, base={})
    root = fill(tmp_path / "w", {})
    (root / "agents/a/KNOWLEDGE.md").symlink_to("../../../w-private/secret.md")
    (root / "agents/a/memories").symlink_to("../../../w-private")
    done = inside("build", cwd=root)
    assert "SECRET" not in done.out + done.err
    assert done.err.count("leads out of the workspace") == 2
    assert Folder(root).stamp("agents/a/KNOWLEDGE.md") is None


@pytest.mark.parametrize("how", ["link", "extends"])
def test_profile_of_the_settings_leads_nowhere_else(tmp_path: Path, how: str) -> None:
    """P12: a repository's settings name no file outside of it; a person may, with `--profile`."""
    outside = tmp_path / "outside.yaml"
    outside.write_text("extends: default\nsummary: SECRET\n")
    root = fill(tmp_path / "w", {"ctxasm.yaml": "profile: p.yaml\n"})
    if how == "link":
        (root / "p.yaml").symlink_to(outside)
    else:
        (root / "p.yaml").write_text("extends: ../outside.yaml\n")
    done = inside("build", cwd=root)
    refused(done, "is outside the workspace")
    assert "SECRET" not in done.err
    assert inside("build", "-p", outside, cwd=root).code == 0


def test_standard_input_has_the_limit_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P15: it may never end."""
    monkeypatch.setattr("contextasm.cli.output.MAX_FILE", 100)
    done = inside("build", "--topic", "-", cwd=fill(tmp_path, {}), stdin="x" * 101)
    refused(done, "--topic -", "is too large: it has 101 bytes")


def test_file_that_memory_does_not_suffice_for_costs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P15, P29: other files need less."""

    def read(_handle: int, _count: int) -> bytes:
        raise MemoryError

    (tmp_path / "f").write_text("x")
    with monkeypatch.context() as patch:
        patch.setattr(os, "read", read)
        result = failure(tmp_path / "f")
    assert result == ReadFailure("unreadable", "can't be read: not enough memory")
