"""Application of a plan: the selected actions of one round become changes of files, and these are made as one.

An action is done whole or not at all. It is left out if the bytes that it changes are not there any more, or if an
earlier action changes the same bytes. What one action changes may make another one possible: rounds of a new plan and
its application go on until nothing is left to do, and `--undo` undoes them as one.
"""

from __future__ import annotations

import gzip
import os
import stat
from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from contextasm.config.input.yaml_loader import load_yaml
from contextasm.model import AS_WRITTEN, MAX_FILE, ContextasmError, Document, NamedTuple
from contextasm.text.cleaning.clean import decode_document
from contextasm.text.cleaning.private_parts import private_lines
from contextasm.upkeep.actions import Action, Move
from contextasm.upkeep.archive import ArchivedText, archive_path, archived_text, format_archive, line_ends
from contextasm.upkeep.input import UpkeepInput
from contextasm.upkeep.plan import make_plan
from contextasm.upkeep.retention import RETENTION_VERBS
from contextasm.workspace.editing.files import EditableFile
from contextasm.workspace.editing.journal import FileChange, Journal, changeable_content, finish, make_changes, withdraw
from contextasm.workspace.editing.memory_file import Edit, edited

_USUAL_MODE = 0o644


class Applied(NamedTuple):
    """Result of an application: the actions that were carried out, and the others."""

    actions: tuple[Action, ...] = ()
    left_out: tuple[tuple[Action, str], ...] = ()
    """Each with the reason, in words for a person, without the period."""
    journal: Journal | None = None
    """By which everything is taken back; None if nothing was changed."""


def apply_actions(
    root: str, actions: Sequence[Action], today: date, earlier: Journal | None = None, *, is_last: bool = True
) -> Applied:
    """Carry out actions in their order, and put what leaves a file into its archive.

    The caller holds the workspace's lock. `earlier` is the journal of earlier rounds of this application: they are
    taken back together. After a round that is not the last, the application goes on. Raises `ContextasmError` if a
    file can't be written; then nothing is changed.
    """
    composition = _Composition(root, today)
    applied: list[Action] = []
    left_out: list[tuple[Action, str]] = []
    for action in actions:
        why = "a person has to decide" if action.for_you else composition.add(action)
        if why:
            left_out.append((action, why))
        else:
            applied.append(action)
    changes = composition.changes()
    journal = make_changes(root, changes, earlier, is_last=is_last) if changes else earlier
    return Applied(tuple(applied), tuple(left_out), journal)


class _Composition:
    """The accepted actions, and the files that they are about, as they are now."""

    def __init__(self, root: str, today: date) -> None:
        self._root = root
        self._today = today
        self._contents: dict[str, bytes | None] = {}
        self._edits: dict[str, list[tuple[Edit, Action]]] = {}
        """The edits of each file in the order of their places, with their actions."""
        self._moves: dict[str, str] = {}
        self._targets: set[str] = set()
        self._archive_sizes: dict[str, int] = {}
        self._lines: dict[str, tuple[Sequence[int], frozenset[int]]] = {}
        """Where the lines of each file end, and which of them are private."""

    def add(self, action: Action) -> str:
        """Accept an action; gives the reason why it is left out instead, empty for an accepted one."""
        accepted: list[Edit] = []
        sizes: dict[str, int] = {}
        try:
            why = self._objection(action, accepted) or self._objection_to_archives(action, sizes)
            why = why or self._objection_to_moves(action.moves, sizes)
        except ContextasmError as error:
            why = f"{error.where}: {error.what}"
        if why:
            for edit in accepted:
                self._edits[edit.path].remove((edit, action))
            return why
        self._moves.update((move.path, move.target) for move in action.moves)
        self._targets.update(move.target for move in action.moves)
        self._archive_sizes.update(sizes)
        return ""

    def _objection(self, action: Action, accepted: list[Edit]) -> str:
        """Why an action can't be carried out; its `accepted` edits are among the edits of their files."""
        for edit in action.edits:
            content = self._content(edit.path) or b""
            if edit.is_archived:
                self._content(archive_path(edit.path))  # raises if it can't be written to
            if edit.start > len(content) or content[edit.start : edit.stop] != edit.removed:
                return f"{edit.path} has changed since"
            placed = self._edits.setdefault(edit.path, [])
            at = bisect(placed, _span(edit), key=lambda each: _span(each[0]))
            # Edits do not overlap, so the neighbours decide.
            if edit.path in self._moves or any(_overlap(edit, other) for other, _ in placed[max(at - 1, 0) : at + 1]):
                return f"an earlier action changes the same lines of {edit.path}"
            placed.insert(at, (edit, action))
            accepted.append(edit)
        return ""

    def _objection_to_archives(self, action: Action, sizes: dict[str, int]) -> str:
        """Why an action's texts can't be archived; `sizes` is given the bytes of each archive with them."""
        for edit in action.edits:
            if not edit.is_archived:
                continue
            archive = archive_path(edit.path)
            if archive in self._targets or archive in self._moves:
                return f"an earlier action moves a file to or from {archive}"
            content = self._content(archive) or b""
            size = sizes.get(archive) or self._archive_sizes.get(archive) or len(content) + 1
            text = self._archived_text(self._content(edit.path) or b"", edit, action)
            sizes[archive] = size + len(format_archive(b"", [text]))
            if sizes[archive] > MAX_FILE:
                return f"{archive} would have more than {MAX_FILE:,} bytes, the limit for files"
        return ""

    def _objection_to_moves(self, moves: Sequence[Move], sizes: Mapping[str, int]) -> str:
        """Why files can't be moved; `sizes` has the archives that the same action writes to."""
        claimed: set[str] = set()
        for move in moves:
            if self._content(move.path) is None:
                return f"{move.path} is gone"
            written = {move.path, move.target} & {*sizes, *self._archive_sizes}
            if move.path in self._moves or move.path in claimed or self._edits.get(move.path) or move.path in written:
                return f"an earlier action changes {move.path}"
            is_occupied = move.target in self._targets or move.target in claimed or move.target in written
            if is_occupied or self._content(move.target) is not None:
                return f"{move.target} exists already"
            claimed |= {move.path, move.target}
        return ""

    def _content(self, path: str) -> bytes | None:
        """The bytes of a file that is to change; None for no file. Raises `ContextasmError` if it can't change."""
        if path not in self._contents:
            self._contents[path] = changeable_content(self._root, path)
        return self._contents[path]

    def changes(self) -> list[FileChange]:
        """Changes of all files by the accepted actions; none that changes nothing."""
        changes: dict[str, FileChange] = {}
        archives: dict[str, list[ArchivedText]] = {}
        for path, placed in self._edits.items():
            before = self._content(path)
            after = edited(before or b"", [edit for edit, _ in placed])
            changes[path] = FileChange(path, before, after, self._mode(path))
            archives[path] = [self._archived_text(before or b"", *each) for each in placed if each[0].is_archived]
        for path, texts in archives.items():
            if texts:
                archive = archive_path(path)
                content = self._content(archive)
                old = changes.get(archive) or FileChange(archive, content, content, self._mode(path))
                changes[archive] = old._replace(after=format_archive(old.after or b"", texts))
        for path, target in self._moves.items():
            content = self._content(path) or b""
            packed = gzip.compress(content, mtime=0) if target.endswith(".gz") and not path.endswith(".gz") else content
            changes[target] = FileChange(target, None, packed, self._mode(path))
            changes[path] = FileChange(path, content, None, self._mode(path))
        return [change for change in changes.values() if change.before != change.after]

    def _archived_text(self, data: bytes, edit: Edit, action: Action) -> ArchivedText:
        """The text that leaves a file of these bytes; a line of it that is private makes all of it private."""
        file = EditableFile(data)
        if edit.path not in self._lines:
            document = decode_document(edit.path, data, AS_WRITTEN)
            private = private_lines(document, load_yaml) if isinstance(document, Document) else frozenset()
            self._lines[edit.path] = line_ends(data, file.encoding), private
        ends, private = self._lines[edit.path]
        start = max(edit.start, len(file.mark))
        removed = edit.removed[start - edit.start :]
        line, text = archived_text(ends, start, removed, file.encoding)
        is_private = not private.isdisjoint(range(line, line + text.count("\n") + 1))
        return ArchivedText(edit.path, line, str(self._today), action.verb, action.reason, text, is_private)

    def _mode(self, path: str) -> int:
        try:
            return stat.S_IMODE(os.lstat(f"{self._root}/{path}").st_mode)
        except FileNotFoundError:
            return _USUAL_MODE


def _span(edit: Edit) -> tuple[int, int]:
    return edit.start, edit.stop


def _overlap(edit: Edit, other: Edit) -> bool:
    """Whether two edits are about the same bytes; an insertion next to removed bytes is not."""
    if edit.removed and other.removed:
        return edit.start < other.stop and other.start < edit.stop
    return other.start < edit.start < other.stop or edit.start < other.start < edit.stop


MOST_ROUNDS = 10
"""Rounds of one application; what is still to be done after them waits for the next one."""


def apply_all(upkeep: UpkeepInput, selects: Callable[[Action], bool]) -> Applied:
    """Apply every action that `selects` takes. The caller holds the workspace's lock.

    What policies of retention shorten and evict comes after everything else: what leaves by itself makes room.
    Raises `ContextasmError` if a file can't be written; nothing is changed then, unless the error says so.
    """
    done = Applied()
    is_last = False
    for _ in range(MOST_ROUNDS):
        try:
            upkeep = upkeep.read_again()
            todo = [action for action in make_plan(upkeep) if not action.for_you and selects(action)]
            early = [action for action in todo if action.verb not in RETENTION_VERBS]
            is_last = is_last or not early
            root, now = upkeep.workspace.root, todo if is_last else early
            result = apply_actions(root, now, upkeep.today, done.journal, is_last=False)
        except BaseException as error:
            if done.journal:
                withdraw(upkeep.workspace.root, error)
            raise
        done = Applied((*done.actions, *result.actions), result.left_out, result.journal)
        if not result.actions:
            if is_last:
                break
            is_last = True
    if done.journal:
        finish(upkeep.workspace.root)
    return done


def apply_named(upkeep: UpkeepInput, names: list[str]) -> Applied:
    """Apply the actions with these ids, in the order of the plan. The caller holds the workspace's lock.

    Raises `ContextasmError` for an id that the plan does not have; nothing is changed then.
    """
    upkeep = upkeep.read_again()
    selected = named_actions(make_plan(upkeep), names)
    return apply_actions(upkeep.workspace.root, selected, upkeep.today)


def named_actions(actions: Sequence[Action], names: list[str]) -> list[Action]:
    """The actions with these ids. Raises `ContextasmError` for an id that none of them has."""
    ids = {action.id for action in actions}
    for name in names:
        if name not in ids:
            what = f"the plan has no action {name}"
            raise ContextasmError("tidy", what, "run `ctxasm tidy` to see the ids, which change with the files")
    return [action for action in actions if action.id in names]
