"""Applications that were interrupted: what is taken back, what a person is told, and what is never lost."""

from __future__ import annotations

import errno
import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from contextasm.model import ContextasmError
from contextasm.upkeep.actions import Action
from contextasm.upkeep.apply import apply_actions
from contextasm.workspace import atomic
from contextasm.workspace.editing import journal
from contextasm.workspace.editing.journal import take_back
from contextasm.workspace.editing.memory_file import Edit
from tests.command import fill, inside
from tests.upkeep.test_tidy import DAY, WORDS, log_of
from tests.upkeep.trees import tree

FILE = "agents/a/memories/m.md"
COMMANDS = [("tidy",), ("remember", "-a", "a", "A new one"), ("log", "-a", "a", "Hello"), ("task", "push", "Go")]


def interrupted(root: Path) -> Path:
    """A workspace whose last application, which archived two logs, looks as if it had been interrupted."""
    fill(root, {log_of(40): "Text\n", log_of(50): "More\n", FILE: "- [fact] One\n"})
    assert inside("tidy", "-w", root, *WORDS, "--apply", "--safe").code == 0
    os.rename(root / ".tidy/last", root / ".tidy/unfinished")
    return root


def archived_log(age: int) -> str:
    """Path of a log in the archive."""
    path = Path(log_of(age))
    return str(path.parent / "archive" / path.name[:4] / path.name)


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_what_stands_in_the_way_is_named_by_every_command(tmp_path: Path, words: tuple[str, ...]) -> None:
    root = interrupted(tmp_path)
    (root / archived_log(50)).write_text("Mine\n", encoding="utf-8")
    done = inside(words[0], "-w", root, *(WORDS if words[0] != "task" else ()), *words[1:])
    assert done.code == 0
    assert f"can't be undone: {archived_log(50)} was changed since: restore" in done.err
    assert "was undone" not in done.err
    (root / archived_log(50)).write_text("More\n", encoding="utf-8")
    assert "an interrupted `ctxasm tidy` was undone" in inside("tidy", "-w", root, *WORDS).err
    assert (root / log_of(50)).read_text(encoding="utf-8") == "More\n"


def test_no_application_takes_the_place_of_a_journal_that_could_not_be_followed(tmp_path: Path) -> None:
    root = interrupted(tmp_path)
    (root / archived_log(50)).write_text("Mine\n", encoding="utf-8")
    (root / log_of(60)).write_text("Old\n", encoding="utf-8")
    kept, before = (root / ".tidy/unfinished").read_bytes(), tree(root)
    for words in (["--apply", "--all"], ["--undo"]):
        done = inside("tidy", "-w", root, *WORDS, *words)
        assert (done.code, archived_log(50) in done.err, done.err.count("\n")) == (1, True, 1)
        assert (tree(root), (root / ".tidy/unfinished").read_bytes()) == (before, kept)
    (root / ".tidy/unfinished").unlink()
    assert inside("tidy", "-w", root, *WORDS, "--apply", "--all").code == 0
    assert not (root / log_of(60)).exists()


def test_a_plan_tells_nothing_where_another_application_just_ended(tmp_path: Path) -> None:
    from contextasm.cli import owner as recovery
    from contextasm.workspace.folder import Folder

    root = interrupted(tmp_path)
    real = journal.is_unfinished

    def ended_meanwhile(folder: str) -> bool:
        found = real(folder)
        if found:
            os.rename(root / ".tidy/unfinished", root / ".tidy/last")
        return found

    with pytest.MonkeyPatch.context() as patch:
        told: list[str] = []
        patch.setattr(recovery, "write_stderr", told.append)
        patch.setattr(recovery, "is_unfinished", ended_meanwhile)
        recovery.recover_first(Folder(root))
    assert told == []
    assert (root / archived_log(50)).exists()


def test_an_undo_after_an_interruption_takes_back_that_application_alone(tmp_path: Path) -> None:
    fill(tmp_path, {log_of(40): "Text\n"})
    first = tree(tmp_path)
    assert inside("tidy", "-w", tmp_path, *WORDS, "--apply", "--safe").code == 0
    finished = (tmp_path / ".tidy/last").read_bytes()
    (tmp_path / log_of(50)).write_text("More\n")
    second = tree(tmp_path)
    assert inside("tidy", "-w", tmp_path, *WORDS, "--apply", "--safe").code == 0
    os.rename(tmp_path / ".tidy/last", tmp_path / ".tidy/unfinished")
    (tmp_path / ".tidy/last").write_bytes(finished)
    done = inside("tidy", "-w", tmp_path, *WORDS, "--undo")
    assert (done.code, tree(tmp_path)) == (0, second)
    assert f"restored {log_of(50)}\n" in done.out
    assert log_of(40) not in done.out
    os.unlink(tmp_path / log_of(50))
    assert inside("tidy", "-w", tmp_path, *WORDS, "--undo").code == 0
    assert tree(tmp_path) == first


def test_an_undo_that_finds_a_file_saved_meanwhile_says_so_and_keeps_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = os.path.realpath(fill(tmp_path, {FILE: b"- One\n", "b.md": b"Two\n"}))
    edits = (Edit(FILE, 2, b"One", b"1"), Edit("b.md", 0, b"Two", b"2"))
    apply_actions(root, [Action("test", (FILE,), "why", needs_approval=False, edits=edits)], DAY)
    real = os.replace

    def saving(source: str, target: str) -> None:
        if target.endswith("/unfinished"):
            (tmp_path / "b.md").write_bytes(b"Mine\n")
        real(source, target)

    monkeypatch.setattr(os, "replace", saving)
    with pytest.raises(ContextasmError, match=r"b\.md was changed since") as caught:
        take_back(root)
    assert caught.value.code == 1
    assert ((tmp_path / FILE).read_bytes(), (tmp_path / "b.md").read_bytes()) == (b"- 1\n", b"Mine\n")
    monkeypatch.undo()
    (tmp_path / "b.md").write_bytes(b"2\n")
    take_back(root)
    assert ((tmp_path / FILE).read_bytes(), (tmp_path / "b.md").read_bytes()) == (b"- One\n", b"Two\n")


def test_a_journal_whose_mark_was_touched_is_told_from_none(tmp_path: Path) -> None:
    fill(tmp_path / "none", {FILE: "- One\n"})
    assert "there is no --apply to undo" in inside("tidy", "-w", tmp_path / "none", "--undo").err
    root = interrupted(tmp_path / "a")
    os.chmod(root / ".tidy/.gitignore", 0o600)
    kept = (root / ".tidy/unfinished").read_bytes()
    for words in (["--apply", "--all"], ["--undo"]):
        done = inside("tidy", "-w", root, *WORDS, *words)
        assert (done.code, "unfinished: is not trusted, because the folder was copied or" in done.err) == (1, True)
    assert (root / ".tidy/unfinished").read_bytes() == kept
    os.rename(root / ".tidy/unfinished", root / ".tidy/last")
    done = inside("tidy", "-w", root, *WORDS, "--undo")
    assert (done.code, ".tidy/last: is not trusted" in done.err) == (1, True)


def test_nothing_is_changed_where_no_journal_would_be_believed(tmp_path: Path) -> None:
    fill(tmp_path, {log_of(40): "Text\n"})
    (tmp_path / ".tidy/.gitignore").mkdir(parents=True)
    before = tree(tmp_path)
    done = inside("tidy", "-w", tmp_path, *WORDS, "--apply", "--safe")
    assert (done.code, ".tidy/.gitignore: is missing or not a regular file" in done.err) == (2, True)
    assert tree(tmp_path) == before


def test_a_full_disk_is_named_if_the_journal_has_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of the journals is made, and there is no room for the first file in it."""
    fill(tmp_path, {log_of(40): "Text\n"})
    words = (*WORDS, "--apply", "--safe")
    real = os.write

    def full(handle: int, data: bytes) -> int:
        if os.path.basename(os.readlink(f"/proc/self/fd/{handle}")) == ".gitignore":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(handle, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        done = inside("tidy", "-w", tmp_path, *words)
    assert (done.code, ".tidy: can't be made: No space left on device: free some space" in done.err) == (2, True)
    assert (tmp_path / log_of(40)).read_text() == "Text\n"
    assert inside("tidy", "-w", tmp_path, *words).code == 0


def forged(kept: bytes, key: str, value: object) -> bytes:
    """A journal with another value in its header, or in its first entry, and a digest that is right."""
    line, _, contents = kept.partition(b"\n")[2].partition(b"\n")
    header = json.loads(line)
    place = header if key in header else header["entries"][0]
    place[key] = value
    body = json.dumps(header).encode() + b"\n" + contents
    return sha256(body).hexdigest().encode() + b"\n" + body


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("entries", value) for value in (None, [None], [3])),
        *(("size", value) for value in ("1", -1, 99)),
        *(("states", None), ("folders", 3), ("schema", "x"), ("mode", None)),
    ],
)
def test_a_journal_of_another_form_is_damaged(tmp_path: Path, key: str, value: object) -> None:
    root = interrupted(tmp_path)
    path = root / ".tidy/unfinished"
    path.write_bytes(forged(path.read_bytes(), key, value))
    before = tree(root)
    done = inside("tidy", "-w", root, *WORDS, "--undo")
    assert (done.code, tree(root)) == (1, before)
    assert done.err.startswith("ctxasm: error: .tidy/unfinished: is damaged: ")


def test_the_digest_of_a_journal_covers_its_header(tmp_path: Path) -> None:
    root = interrupted(tmp_path)
    path = root / ".tidy/unfinished"
    path.write_bytes(path.read_bytes().replace(log_of(50).encode(), log_of(51).encode()))
    done = inside("tidy", "-w", root, *WORDS, "--undo")
    assert (done.code, ".tidy/unfinished: is damaged" in done.err) == (1, True)
    assert not (root / log_of(51)).exists()


def test_a_journal_that_cant_be_saved_in_a_later_round_takes_back_the_earlier_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = os.path.realpath(fill(tmp_path, {FILE: b"- One\n", "b.md": b"Two\n"}))
    before = tree(tmp_path)
    first = Action("test", (FILE,), "why", needs_approval=False, edits=(Edit(FILE, 2, b"One", b"1"),))
    second = Action("test", ("b.md",), "why", needs_approval=False, edits=(Edit("b.md", 0, b"Two", b"2"),))
    earlier = apply_actions(root, [first], DAY).journal

    def full(*_: object) -> None:
        raise ContextasmError(".tidy", "can't be written: No space left on device", "free some space")

    monkeypatch.setattr(journal, "save_journal", full)
    with pytest.raises(ContextasmError, match="No space"):
        apply_actions(root, [second], DAY, earlier)
    assert tree(tmp_path) == before
    monkeypatch.undo()
    with pytest.raises(ContextasmError, match="there is no --apply to undo"):
        take_back(root)


def test_an_error_says_so_where_earlier_changes_could_not_be_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = os.path.realpath(fill(tmp_path, {FILE: b"- One\n", "b.md": b"Two\n"}))
    edits = (Edit(FILE, 2, b"One", b"1"), Edit("b.md", 0, b"Two", b"2"))
    real = atomic.write

    def saving(path: Path, data: bytes, mode: int) -> bool:
        if path.name == "b.md":
            (tmp_path / FILE).write_bytes(b"- Mine\n")
            raise ContextasmError("b.md", "can't be written: No space left on device", "free some space")
        return real(path, data, mode)

    monkeypatch.setattr(journal, "write", saving)
    with pytest.raises(ContextasmError, match="the earlier changes can't be undone now"):
        apply_actions(root, [Action("test", (FILE,), "why", needs_approval=False, edits=edits)], DAY)
    assert (tmp_path / ".tidy/unfinished").exists()
    done = inside("tidy", "-w", tmp_path, *WORDS, "--undo")
    assert (done.code, f"{FILE} was changed since" in done.err) == (1, True)
