"""Application: whole actions or none, what leaves a file is archived, and everything can be taken back."""

from __future__ import annotations

import gc
import gzip
import os
import signal
import tempfile
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contextasm.model import ContextasmError
from contextasm.upkeep.actions import Action, Move
from contextasm.upkeep.apply import apply_actions
from contextasm.upkeep.archive import (
    ArchivedText,
    archive_path,
    archived_text,
    format_archive,
    line_ends,
    parse_archive,
)
from contextasm.workspace.editing.files import locked
from contextasm.workspace.editing.journal import Journal, is_unfinished, recover, take_back
from contextasm.workspace.editing.memory_file import Edit
from contextasm.workspace.folder import Folder
from tests.command import fill
from tests.upkeep.trees import all_text, tree

DAY = date(2026, 3, 14)
FILE = "agents/a/memories/m.md"


def edit(path: str, data: bytes, old: bytes, new: bytes = b"", *, archived: bool = False) -> Edit:
    """The edit that replaces the first occurrence of `old`."""
    return Edit(path, data.index(old), old, new, archived)


def action(*steps: Edit | Move, verb: str = "test") -> Action:
    """One action."""
    edits = tuple(step for step in steps if isinstance(step, Edit))
    moves = tuple(step for step in steps if isinstance(step, Move))
    return Action(verb, (steps[0].path,), "a test wants it", needs_approval=False, edits=edits, moves=moves)


def root_of(folder: Path) -> str:
    """The real path of a workspace."""
    return os.path.realpath(folder)


def test_the_edits_of_one_file_are_composed_and_the_rest_of_it_stays(tmp_path: Path) -> None:
    data = b"# Mine  \r\n\r\n- [fact] One\r\n<!-- why -->\r\n- [fact] Two\r\n\r\n\r\n- [fact] Three"
    fill(tmp_path, {FILE: data})
    actions = [action(edit(FILE, data, b"Two", b"2")), action(edit(FILE, data, b"One", b"1"))]
    applied = apply_actions(root_of(tmp_path), actions, DAY)
    assert [*applied.actions] == actions
    assert (tmp_path / FILE).read_bytes() == data.replace(b"One", b"1").replace(b"Two", b"2")


def test_what_is_archived_stands_beside_the_file_with_its_place(tmp_path: Path) -> None:
    text = "- [fact] Two\n  ## agents/x.md:1, 2025-01-01, keep: no\n\n  > quoted"
    data = f"- [fact] One\n{text}\n- [fact] Three\n".encode()
    fill(tmp_path, {FILE: data})
    gone = Edit(FILE, data.index(b"- [fact] Two"), f"{text}\n".encode(), b"", is_archived=True)
    apply_actions(root_of(tmp_path), [action(gone, verb="deprecate")], DAY)
    archive = (tmp_path / "agents/a/memories/archive/m.md.txt").read_text(encoding="utf-8")
    assert archive.startswith(f"## {FILE}:2, 2026-03-14, deprecate: a test wants it\n\n> - [fact] Two\n")
    (found,) = parse_archive(archive)
    assert (found.path, found.line, found.day, found.text) == (FILE, 2, "2026-03-14", text)
    assert archive.split("\n")[found.place - 1] == "> - [fact] Two"
    assert (tmp_path / FILE).read_bytes() == b"- [fact] One\n- [fact] Three\n"


def test_actions_that_overlap_or_are_stale_are_left_out_whole_and_told(tmp_path: Path) -> None:
    data, other = b"- One\n- Two\n- Three\n", "agents/a/memories/n.md"
    fill(tmp_path, {FILE: data, other: b"- Four\n"})
    first = action(edit(FILE, data, b"- Two\n"))
    overlapping = action(edit(other, b"- Four\n", b"Four", b"4"), edit(FILE, data, b"Two\n- T", b"x"))
    stale = action(Edit(FILE, 2, b"Gone", b""), edit(other, b"- Four\n", b"Four", b"4"))
    applied = apply_actions(root_of(tmp_path), [first, overlapping, stale], DAY)
    assert applied.actions == (first,)
    assert [action for action, _ in applied.left_out] == [overlapping, stale]
    assert [why for _, why in applied.left_out] == [
        f"an earlier action changes the same lines of {FILE}",
        f"{FILE} has changed since",
    ]
    assert (tmp_path / FILE).read_bytes() == b"- One\n- Three\n"
    assert (tmp_path / other).read_bytes() == b"- Four\n"


def test_moves_keep_mode_and_bytes_and_never_replace_a_file(tmp_path: Path) -> None:
    logs = {f"agents/a/daily/2025-01-0{day}.md": b"Day\r\n" for day in (1, 2, 3)}
    fill(tmp_path, {**logs, "agents/a/daily/archive/2025/2025-01-03.md": b"Mine\n"})
    os.chmod(tmp_path / "agents/a/daily/2025-01-01.md", 0o600)
    moves = [
        Move(path, path.replace("daily/", "daily/archive/2025/") + suffix)
        for path, suffix in zip(logs, ("", ".gz", ""), strict=True)
    ]
    applied = apply_actions(root_of(tmp_path), [action(move, verb="archive") for move in moves], DAY)
    archive = tmp_path / "agents/a/daily/archive/2025"
    assert sorted(os.listdir(archive)) == ["2025-01-01.md", "2025-01-02.md.gz", "2025-01-03.md"]
    assert (archive / "2025-01-01.md").stat().st_mode & 0o777 == 0o600
    assert gzip.decompress((archive / "2025-01-02.md.gz").read_bytes()) == b"Day\r\n"
    assert (archive / "2025-01-03.md").read_bytes() == b"Mine\n"
    assert [why for _, why in applied.left_out] == [f"{moves[2].target} exists already"]


@pytest.mark.parametrize("path", ["agents/a/out.md", ".git/config", "../x.md", "agents/linked/x.md", "/etc/x.md"])
def test_nothing_is_written_through_a_link_or_outside(tmp_path: Path, path: str) -> None:
    root = fill(tmp_path / "root", {FILE: b"- One\n", ".git/config": b"[core]\n"})
    outside = fill(tmp_path / "outside", {"x.md": b"x\n"})
    (root / "agents/a/out.md").symlink_to(outside / "x.md")
    (root / "agents/linked").symlink_to(outside)
    for step in (Edit(path, 0, b"", b"evil\n"), Move(path, "agents/a/y.md"), Move(FILE, f"{path}.txt")):
        before = tree(tmp_path)
        if path == "agents/a/out.md" and isinstance(step, Move) and step.path == FILE:
            continue
        applied = apply_actions(root_of(root), [action(step)], DAY)
        assert (len(applied.left_out), tree(tmp_path)) == (1, before)


def test_a_linked_archive_takes_nothing(tmp_path: Path) -> None:
    root = fill(tmp_path / "root", {FILE: b"- One\n"})
    (tmp_path / "outside").mkdir()
    (root / "agents/a/memories/archive").symlink_to(tmp_path / "outside")
    applied = apply_actions(root_of(root), [action(edit(FILE, b"- One\n", b"- One\n", archived=True))], DAY)
    assert (len(applied.left_out), os.listdir(tmp_path / "outside")) == (1, [])
    assert (root / FILE).read_bytes() == b"- One\n"


_CONTENTS = st.lists(st.sampled_from([b"- One\n", b"- Two\r\n", b"\n", b"\xff\n", b"## H\n", "- ü\n".encode(), b"x"]))


@st.composite
def _rounds(draw: st.DrawFn) -> tuple[dict[str, bytes], list[list[Action]]]:
    """Files, and rounds of random actions on them as they are at first; many overlap, or are stale in later rounds."""
    paths = [FILE, "agents/a/memories/n.md", "agents/a/daily/2025-01-01.md", "memories/p.md"]
    files = {path: b"".join(draw(_CONTENTS)) for path in draw(st.sets(st.sampled_from(paths), min_size=1))}
    rounds: list[list[Action]] = []
    for _ in range(draw(st.integers(1, 3))):
        actions: list[Action] = []
        for _ in range(draw(st.integers(1, 5))):
            steps = [draw(_steps(files)) for _ in range(draw(st.integers(1, 3)))]
            actions.append(action(*steps, verb=f"v{len(actions)}"))
        rounds.append(actions)
    return files, rounds


@st.composite
def _steps(draw: st.DrawFn, files: dict[str, bytes]) -> Edit | Move:
    path = draw(st.sampled_from(sorted(files)))
    if draw(st.integers(0, 4)) == 0:
        return Move(path, draw(st.sampled_from(["archive/a.md", "archive/b.md.gz"])))
    start = draw(st.integers(0, len(files[path])))
    end = draw(st.integers(start, len(files[path])))
    added = draw(st.sampled_from([b"", b"- New\n", b"y"]))
    return Edit(path, start, files[path][start:end], added, draw(st.booleans()))


@given(_rounds())
def test_undo_of_any_application_is_the_identity_on_bytes(drawn: tuple[dict[str, bytes], list[list[Action]]]) -> None:
    files, rounds = drawn
    with tempfile.TemporaryDirectory() as folder:
        root = fill(Path(folder), files)
        before = tree(root)
        journal = None
        for actions in rounds:
            journal = apply_actions(root_of(root), actions, DAY, journal).journal
        if journal:
            take_back(root_of(root))
        assert tree(root) == before
        with pytest.raises(ContextasmError, match="there is no --apply to undo"):
            take_back(root_of(root))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r")), min_size=1))
def test_an_archive_gives_back_each_text(texts: Sequence[str]) -> None:
    archive = b""
    for number, text in enumerate(texts):
        data = b"line\n" * number + text.encode()
        gone = Edit(FILE, 5 * number, text.encode(), b"", is_archived=True)
        line, removed = archived_text(line_ends(data, "utf-8"), gone.start, gone.removed, "utf-8")
        archive = format_archive(archive, [ArchivedText(FILE, line, str(DAY), "deprecate", "old", removed)])
    found = list(parse_archive(archive.decode()))
    assert [(each.text, each.line) for each in found] == [
        (text.rstrip("\n"), number + 1) for number, text in enumerate(texts)
    ]


def test_undo_refuses_where_a_file_was_changed_since_and_names_it(tmp_path: Path) -> None:
    fill(tmp_path, {FILE: b"- One\n- Two\n"})
    apply_actions(root_of(tmp_path), [action(edit(FILE, b"- One\n- Two\n", b"- One\n", archived=True))], DAY)
    (tmp_path / FILE).write_bytes(b"- Two\n- Mine\n")
    after = tree(tmp_path)
    with pytest.raises(ContextasmError, match=FILE) as caught:
        take_back(root_of(tmp_path))
    assert (caught.value.code, tree(tmp_path)) == (1, after)
    (tmp_path / FILE).write_bytes(b"- Two\n")
    take_back(root_of(tmp_path))
    assert (tmp_path / FILE).read_bytes() == b"- One\n- Two\n"
    assert not (tmp_path / archive_path(FILE)).exists()


def test_a_journal_that_was_copied_is_not_believed(tmp_path: Path) -> None:
    import shutil

    root = fill(tmp_path / "a", {FILE: b"- One\n"})
    apply_actions(root_of(root), [action(edit(FILE, b"- One\n", b"One", b"1"))], DAY)
    os.rename(root / ".tidy/last", root / ".tidy/unfinished")
    shutil.copytree(root, tmp_path / "b")
    copied = recover(root_of(tmp_path / "b"))
    assert isinstance(copied, ContextasmError)
    assert str(copied).startswith(".tidy/unfinished: is not trusted, because the folder was copied")
    assert (tmp_path / "b" / FILE).read_bytes() == b"- 1\n"
    restored = recover(root_of(root))
    assert isinstance(restored, Journal)
    assert [entry.path for entry in restored.entries] == [FILE]
    assert (root / FILE).read_bytes() == b"- One\n"


def test_a_failure_in_the_middle_takes_back_what_was_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from contextasm.workspace import atomic
    from contextasm.workspace.editing import journal

    files = {f"memories/{number}.md": b"- One\n" for number in range(5)}
    root = root_of(fill(tmp_path, files))
    before = tree(tmp_path)
    earlier = apply_actions(root, [action(Edit("memories/0.md", 0, b"- One\n", b"", is_archived=True))], DAY).journal
    real, calls = atomic.write, list[Path]()

    def failing(path: Path, data: bytes, mode: int) -> bool:
        calls.append(path)
        if len(calls) == 6:
            raise ContextasmError(str(path), "can't be written: No space left on device", "free some space")
        return real(path, data, mode)

    monkeypatch.setattr(journal, "write", failing)
    actions = [action(Edit(f"memories/{n}.md", 0, b"- One\n", b"", is_archived=True)) for n in range(1, 5)]
    with pytest.raises(ContextasmError, match="No space"):
        apply_actions(root, actions, DAY, earlier)
    assert (tree(tmp_path), is_unfinished(root)) == (before, False)


def _many_actions(number: int) -> tuple[dict[str, bytes], list[Action]]:
    """Files of memories that each lose one to the archive, and logs that move."""
    files = {f"agents/a/memories/{n:04}.md": f"- Memory {n} stays\n- Memory {n} goes\n".encode() for n in range(number)}
    logs = {f"agents/a/daily/2025-01-01 {n:04}.md": f"Log {n}\n".encode() for n in range(number // 4)}
    gone = [action(edit(path, data, data.split(b"\n")[1] + b"\n", archived=True)) for path, data in files.items()]
    moved = [action(Move(path, path.replace("daily/", "daily/archive/2025/"))) for path in logs]
    return {**files, **logs}, [*gone, *moved]


@pytest.mark.parametrize("undo", [False, True], ids=["apply", "undo"])
def test_a_process_that_is_killed_at_any_moment_loses_nothing(tmp_path: Path, undo: bool) -> None:
    files, actions = _many_actions(16)
    root = fill(tmp_path, files)
    before = tree(root)
    apply_actions(root_of(root), actions, DAY)
    after = tree(root)
    texts = [line for data in files.values() for line in data.split(b"\n") if line]
    random, killed = Random(5), 0
    if not undo:
        take_back(root_of(root))
    for moment in range(60):
        child = os.fork()
        if not child:
            _killed_after(random.randrange(1, 5_000) if moment else 1, root_of(root), actions, undo=undo)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status)
        now = tree(root)
        assert {path for path, content in now.items() if _is_half(path, content, before, after)} == set()
        text = all_text(root)
        assert [line for line in texts if line not in text] == []
        with locked(Folder(root)):
            pass
        assert tree(root) in (before, after)
        assert not any(name.endswith(".tmp") for _, _, names in os.walk(root) for name in names)
        _reset(root, actions, undo=undo, before=before)
    assert killed >= 48


def _reset(root: Path, actions: Sequence[Action], *, undo: bool, before: object) -> None:
    """Put the workspace into the state from which the next process starts."""
    if undo and tree(root) == before:
        apply_actions(root_of(root), actions, DAY)
    elif not undo and tree(root) != before:
        take_back(root_of(root))


def _is_half(path: str, content: object, before: object, after: object) -> bool:
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    is_own = path.endswith((".tmp", "/"))
    return not is_own and content not in (before.get(path), after.get(path))


def _killed_after(events: int, root: str, actions: Sequence[Action], *, undo: bool) -> None:
    """Apply or take back in this forked child, and die after a number of lines of Python; never returns."""
    import sys

    gc.disable()  # it would copy all that this process shares with its parent
    left = events

    def count(_frame: object, event: str, _argument: object) -> object:
        nonlocal left
        left -= event == "line"
        if left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return count

    try:
        sys.settrace(count)  # type: ignore[arg-type]
        if undo:
            take_back(root)
        else:
            apply_actions(root, actions, DAY)
    finally:
        os._exit(0)


def test_the_archive_of_a_file_lies_beside_it() -> None:
    assert archive_path("agents/a/memories/2025-03.md") == "agents/a/memories/archive/2025-03.md.txt"
    assert archive_path("tasks.md") == "archive/tasks.md.txt"


@pytest.mark.parametrize("is_move_first", [False, True])
def test_a_move_never_lands_on_an_archive_that_the_same_round_writes(tmp_path: Path, is_move_first: bool) -> None:
    files = {FILE: b"- One\n- Two\n", f"{FILE}.txt": b"Mine\n"}
    fill(tmp_path, files)
    gone = edit(FILE, files[FILE], b"- Two\n", archived=True)
    move = Move(f"{FILE}.txt", archive_path(FILE))
    actions = [action(gone, verb="archive"), action(move, verb="evict")]
    ordered = actions[::-1] if is_move_first else actions
    applied = apply_actions(root_of(tmp_path), ordered, DAY)
    assert ([*applied.actions], [action for action, _ in applied.left_out]) == ([ordered[0]], [ordered[1]])
    text = all_text(tmp_path)
    assert all(line in text for line in (b"- One", b"- Two", b"Mine"))
    both = apply_actions(root_of(fill(tmp_path / "both", files)), [action(gone, move)], DAY)
    assert (both.actions, len(both.left_out)) == ((), 1)


def test_two_moves_of_one_action_do_not_share_a_target(tmp_path: Path) -> None:
    fill(tmp_path, {"a.md": b"One\n", "b.md": b"Two\n"})
    applied = apply_actions(root_of(tmp_path), [action(Move("a.md", "c.md"), Move("b.md", "c.md"))], DAY)
    assert [why for _, why in applied.left_out] == ["c.md exists already"]
    assert (tmp_path / "a.md").exists()


def test_no_archive_grows_beyond_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("contextasm.upkeep.apply.MAX_FILE", 200)
    lines = [b"- " + letter * 50 + b"\n" for letter in (b"a", b"b", b"c")]
    fill(tmp_path, {FILE: b"".join(lines)})
    actions = [action(edit(FILE, b"".join(lines), line, archived=True)) for line in lines]
    applied = apply_actions(root_of(tmp_path), actions, DAY)
    assert len(applied.actions) == 1
    assert {why for _, why in applied.left_out} == {
        f"{archive_path(FILE)} would have more than 200 bytes, the limit for files"
    }
    assert (tmp_path / archive_path(FILE)).stat().st_size <= 200
    assert (tmp_path / FILE).read_bytes() == b"".join(lines[1:])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_the_line_of_an_archived_text_is_counted_in_characters(encoding: str) -> None:
    data = "ĊĀ\nĊ\n- Two\n".encode(encoding)
    start = data.index("- Two".encode(encoding))
    assert archived_text(line_ends(data, encoding), start, "- Two\n".encode(encoding), encoding) == (3, "- Two")
