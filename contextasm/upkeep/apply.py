"""Application of a plan: the selected actions of one round become changes of files, and these are made as one.

An action is done whole or not at all. One is left out if the bytes that it is about are no longer there, or if an
earlier action changes the same bytes.
"""

from __future__ import annotations

import gzip
import os
import stat
from bisect import bisect
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple, TypeAlias

from contextasm.config.yaml_loader import load_yaml
from contextasm.model import AS_WRITTEN, ContextasmError, Document
from contextasm.text.decode import decode_document
from contextasm.text.private_parts import private_lines
from contextasm.upkeep.action import Action, Edit, Move
from contextasm.upkeep.archive import ArchivedText, archive_path, archived_text, format_archive
from contextasm.workspace.editing.files import EditableFile
from contextasm.workspace.editing.journal import FileChange, current_content, make_changes
from contextasm.workspace.editing.journal_file import Journal

_USUAL_MODE = 0o644

_Span: TypeAlias = tuple[int, int]
"""Offsets of the first byte of an edit, and behind the last one."""


class LeftOut(NamedTuple):
    """An action that was not applied."""

    action: Action
    why: str
    """Why, in words for a person, without the period."""


class Applied(NamedTuple):
    """Result of an application: the actions that were carried out, and the others."""

    actions: tuple[Action, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    journal: Journal | None = None
    """By which everything is taken back; None where nothing was changed."""


def apply_actions(root: str, actions: Sequence[Action], today: date, earlier: Journal | None = None) -> Applied:
    """Carry out actions in their order, and file what leaves a file in the archive beside it.

    The caller holds the workspace's lock. `earlier` is the journal of earlier rounds of this application: they are
    taken back together. Raises `ContextasmError` where a file can't be written; then nothing is changed.
    """
    composition = _Composition(root, today)
    applied: list[Action] = []
    left_out: list[LeftOut] = []
    for action in actions:
        if not action.changes_files:
            left_out.append(LeftOut(action, "it is for a person to decide"))
            continue
        why = composition.add(action)
        if why:
            left_out.append(LeftOut(action, why))
        else:
            applied.append(action)
    changes = composition.changes()
    journal = make_changes(root, changes, earlier) if changes else earlier
    return Applied(tuple(applied), tuple(left_out), journal)


class _PlacedEdit(NamedTuple):
    edit: Edit
    action: Action


class _Composition:
    """The accepted actions, and the files that they are about, as they are now."""

    def __init__(self, root: str, today: date) -> None:
        self._root = root
        self._today = today
        self._contents: dict[str, bytes | None] = {}
        self._edits: dict[str, list[_PlacedEdit]] = {}
        self._spans: dict[str, list[_Span]] = {}
        self._moves: dict[str, str] = {}
        self._targets: set[str] = set()

    def add(self, action: Action) -> str:
        """Accept an action; gives the reason why it is left out instead, empty for an accepted one."""
        accepted: list[Edit] = []
        try:
            why = self._objection(action, accepted)
        except ContextasmError as error:
            why = f"{error.where}: {error.what}"
        if why:
            for edit in accepted:
                self._spans[edit.path].remove(_span(edit))
            return why
        for edit in action.edits:
            self._edits.setdefault(edit.path, []).append(_PlacedEdit(edit, action))
        self._moves.update((move.path, move.target) for move in action.moves)
        self._targets.update(move.target for move in action.moves)
        return ""

    def _objection(self, action: Action, accepted: list[Edit]) -> str:
        """Why an action can't be carried out; the spans of its `accepted` edits are taken."""
        for edit in action.edits:
            content = self._content(edit.path) or b""
            if edit.is_archived:
                self._content(archive_path(edit.path))  # raises where it can't be written to
            if edit.start > len(content) or content[edit.start : _span(edit)[1]] != edit.removed:
                return f"{edit.path} has changed since"
            spans = self._spans.setdefault(edit.path, [])
            at = bisect(spans, _span(edit))
            # Spans do not overlap, so the neighbours decide.
            if edit.path in self._moves or any(_overlap(_span(edit), span) for span in spans[max(at - 1, 0) : at + 1]):
                return f"an earlier action changes the same lines of {edit.path}"
            spans.insert(at, _span(edit))
            accepted.append(edit)
        return next(filter(None, map(self._objection_to_move, action.moves)), "")

    def _objection_to_move(self, move: Move) -> str:
        if self._content(move.path) is None:
            return f"{move.path} is gone"
        if move.path in self._moves or self._spans.get(move.path):
            return f"an earlier action changes {move.path}"
        if move.target in self._targets or self._content(move.target) is not None:
            return f"{move.target} exists already"
        return ""

    def _content(self, path: str) -> bytes | None:
        if path not in self._contents:
            self._contents[path] = current_content(self._root, path)
        return self._contents[path]

    def changes(self) -> list[FileChange]:
        """Changes of all files by the accepted actions; none that changes nothing."""
        changes: dict[str, FileChange] = {}
        archives: dict[str, list[ArchivedText]] = {}
        for path, placed in self._edits.items():
            placed.sort(key=lambda each: (each.edit.start, bool(each.edit.removed)))
            before = self._content(path)
            after = _edited(before or b"", [each.edit for each in placed])
            changes[path] = FileChange(path, before, after, self._mode(path))
            leaving = [each for each in placed if each.edit.is_archived]
            archives[path] = self._archived(path, before or b"", leaving) if leaving else []
        for path, texts in archives.items():
            if texts:
                self._add_to_archive(changes, path, texts)
        for path, target in self._moves.items():
            content = self._content(path) or b""
            packed = gzip.compress(content, mtime=0) if target.endswith(".gz") and not path.endswith(".gz") else content
            changes[target] = FileChange(target, None, packed, self._mode(path))
            changes[path] = FileChange(path, content, None, self._mode(path))
        return [change for change in changes.values() if change.before != change.after]

    def _add_to_archive(self, changes: dict[str, FileChange], path: str, texts: Sequence[ArchivedText]) -> None:
        archive = archive_path(path)
        content = self._content(archive)
        old = changes.get(archive) or FileChange(archive, content, content, self._mode(path))
        changes[archive] = old._replace(after=format_archive(old.after or b"", texts))

    def _archived(self, path: str, data: bytes, leaving: Sequence[_PlacedEdit]) -> list[ArchivedText]:
        """The texts that leave a file; a line of it that is private makes the text private that it is part of."""
        file = EditableFile(path, data)
        document = decode_document(path, data, AS_WRITTEN)
        parts = private_lines(document, load_yaml) if isinstance(document, Document) else frozenset()
        texts: list[ArchivedText] = []
        for edit, action in leaving:
            start = max(edit.start, len(file.mark))
            removed = edit.removed[start - edit.start :]
            line, text = archived_text(data[len(file.mark) :], start - len(file.mark), removed, file.encoding)
            is_private = not parts.isdisjoint(range(line, line + text.count("\n") + 1))
            texts.append(ArchivedText(path, line, str(self._today), action.verb, action.reason, text, is_private))
        return texts

    def _mode(self, path: str) -> int:
        try:
            return stat.S_IMODE(os.lstat(f"{self._root}/{path}").st_mode)
        except FileNotFoundError:
            return _USUAL_MODE


def _span(edit: Edit) -> _Span:
    return edit.start, edit.start + len(edit.removed)


def _overlap(span: _Span, other: _Span) -> bool:
    """Whether two edits are about the same bytes; an insertion beside removed bytes is not."""
    (start, end), (other_start, other_end) = span, other
    if start < end and other_start < other_end:
        return start < other_end and other_start < end
    return other_start < start < other_end or start < other_start < end


def _edited(data: bytes, edits: Sequence[Edit]) -> bytes:
    """The bytes with all edits, which are in order and do not overlap."""
    parts: list[bytes] = []
    at = 0
    for edit in edits:
        parts += (data[at : edit.start], edit.added)
        at = edit.start + len(edit.removed)
    return b"".join([*parts, data[at:]])
