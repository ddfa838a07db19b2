"""Host files: which files of a folder a host loads by itself, and which parts of them it keeps."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from contextasm.checks.host_cuts import (
    LostSection,
    common_runs,
    kept_runs,
    lost_runs,
    lost_sections,
)
from contextasm.checks.host_digest import Run
from contextasm.config.host_loader import Cut, Host, LoadRule
from contextasm.model import ContextasmError, Document, Problem
from contextasm.selection.tokens import LENGTHS
from contextasm.workspace.folder import Folder
from contextasm.workspace.reading import file_bytes


class LoadedFile(NamedTuple):
    """A file that a host loads by itself, whole or in part."""

    path: str
    """Path in the folder that the reading is of, or as typed for a file outside of it."""
    text: str
    """The text of the file's bytes, as the host decodes them."""
    kept: Sequence[Run]
    """The parts of the text that reach the model."""
    rule: LoadRule
    limit: str
    """The limit that cuts the file, in words; empty for a file that is loaded whole."""

    @property
    def lost_parts(self) -> Sequence[Sequence[LostSection]]:
        """The parts that never reach the model, each as its sections; those between the lines of a digest are one."""
        lost = lost_runs(self.text, self.kept)
        parts = [lost] if lost and self.rule.each.digest else [[run] for run in lost]
        return [lost_sections(self.text, part) for part in parts]


class UnreadFile(NamedTuple):
    """A file that a host does not load though it looks like one of its own."""

    path: str
    why: str
    """The reason, as a sentence that a colon goes before."""
    is_retired: bool
    """Whether the host has given the file up; else another file takes its place."""


class HostReading(NamedTuple):
    """The files that a host loads by itself when a session starts in a folder."""

    host: Host
    root: str
    """Top of the repository, or the session's folder where there is none; paths are relative to it."""
    folder: str
    """The session's folder, relative to the root; empty for the root itself."""
    files: Sequence[LoadedFile]
    """In the order in which they are loaded."""
    unread: Sequence[UnreadFile]
    problems: Sequence[Problem]
    """One for each file that can't be read."""
    not_looked_at: Sequence[str]
    """What the host may load besides."""


class _FoundFile(NamedTuple):
    path: str
    text: str


def read_host_files(host: Host, folder: Path, outside: Sequence[str] = ()) -> HostReading:
    """The reading of a host whose session starts in `folder`; `outside` are files elsewhere that a person named.

    Raises `ContextasmError` for a folder that is none, for a file that can't be read, and for one that the host loads
    from no place outside the folder.
    """
    root = repository_top(folder)
    reader = _FolderReader(Folder(root), os.path.relpath(os.path.realpath(folder), os.path.realpath(root)))
    loads, unread = reader.loads(host)
    named = [(_outside_rule(host, path), _read_outside(path)) for path in outside]
    for rule, file in named:
        loads.append((rule, [file]))
    places = [rule.place for rule in host.loads if rule.place and rule not in [rule for rule, _ in named]]
    retired = [
        UnreadFile(path, rule.why, is_retired=True)
        for rule in host.unread
        for path in reader.paths(rule.files, reader.session)
        if reader.text(path).strip()
    ]
    return HostReading(
        host,
        reader.folder.root,
        reader.session,
        _within_total(host, [file for rule, files in loads for file in _cut_files(rule, files)]),
        [*unread, *retired],
        reader.problems,
        [*places, *host.not_looked_at],
    )


def repository_top(folder: Path) -> Path:
    """The nearest folder upwards that holds `.git`; the folder itself where none does."""
    real = Path(os.path.realpath(folder))
    return next((place for place in (real, *real.parents) if (place / ".git").exists()), real)


class _FolderReader:
    """The files of one folder that rules name, each read once."""

    def __init__(self, folder: Folder, session: str) -> None:
        self.folder = folder
        self.session = "" if session == "." else session
        self.problems: list[Problem] = []
        self._texts: dict[str, str] = {}

    def loads(self, host: Host) -> tuple[list[tuple[LoadRule, Sequence[_FoundFile]]], list[UnreadFile]]:
        """The files of each rule, and those that give way to others."""
        loads: list[tuple[LoadRule, Sequence[_FoundFile]]] = []
        passed: list[tuple[_FoundFile, str]] = []
        chosen: dict[str, str] = {}
        for rule in host.loads:
            files, second = self._found(rule) if rule.folders != "outside" else ([], [])
            passed += second
            if files and rule.choice in chosen:
                passed += [(file, chosen[rule.choice]) for file in files]
            elif files:
                loads.append((rule, files))
                if rule.choice:
                    chosen[rule.choice] = files[0].path
        shown = {file.text for _, files in loads for file in files}
        unread = [
            UnreadFile(file.path, f"{winner} takes its place", is_retired=False)
            for file, winner in passed
            if file.text not in shown
        ]
        return loads, unread

    def _found(self, rule: LoadRule) -> tuple[list[_FoundFile], list[tuple[_FoundFile, str]]]:
        """The files of a rule that are not blank, and those that give way to one of them, with its path."""
        found: list[_FoundFile] = []
        passed: list[tuple[_FoundFile, str]] = []
        folders = self._folders() if rule.folders == "repository" else [self.session]
        for folder in reversed(folders) if rule.nearest else folders:
            files = [_FoundFile(path, self.text(path)) for path in self.paths(rule.files, folder)]
            files = [file for file in files if file.text.strip()]
            if rule.first_only and files:
                passed += [(file, files[0].path) for file in files[1:]]
                files = files[:1]
            found += files
            if rule.nearest and found:
                break
        return found, passed

    def _folders(self) -> list[str]:
        """The root, and the folders from there down to the session's."""
        names = self.session.split("/") if self.session else []
        return ["/".join(names[:depth]) for depth in range(len(names) + 1)]

    def paths(self, patterns: Sequence[str], folder: str) -> Iterator[str]:
        """The files of a folder that match, pattern by pattern."""
        from glob import escape  # of `fnmatch`, whose signs are those of our patterns

        prefix = f"{escape(folder)}/" if folder else ""
        seen: set[str] = set()
        for pattern in patterns:
            for path in self.folder.list(prefix + pattern):
                if path not in seen and not path.endswith("/"):
                    seen.add(path)
                    yield path

    def text(self, path: str) -> str:
        """The text of a file; empty, with a problem, for one that can't be read."""
        if path not in self._texts:
            answer = self.folder.read(path)
            self._texts[path] = decode_as_host(answer.data) if isinstance(answer, Document) else ""
            if isinstance(answer, Problem):
                self.problems.append(answer)
        return self._texts[path]


def decode_as_host(data: bytes) -> str:
    """The text as hosts decode it: UTF-8, with a sign in place of what is none; lines end as people see them."""
    return data.decode("utf-8-sig", "replace")


def _outside_rule(host: Host, path: str) -> LoadRule:
    rules = [rule for rule in host.loads if rule.folders == "outside"]
    for rule in rules:
        if os.path.basename(path) in rule.files:
            return rule
    what = f"{host.summary} loads no file of this name from outside the folder: {path}"
    places = ", ".join(rule.place for rule in rules)
    raise ContextasmError("--host-file", what, f"name one such as {places}" if places else "leave it out")


def _read_outside(path: str) -> _FoundFile:
    data = file_bytes(os.path.expanduser(path))
    if not isinstance(data, bytes):
        raise ContextasmError("--host-file", f"{path} {data.message}", "name a file that can be read")
    return _FoundFile(path, decode_as_host(data))


def _cut_files(rule: LoadRule, files: Sequence[_FoundFile]) -> Sequence[LoadedFile]:
    """The files of a rule, each with what its own limits and those of all together leave."""
    cut = [kept_runs(file.text, rule.each) for file in files]
    loaded = [
        LoadedFile(file.path, file.text, kept, rule, _limit_words(rule.each) if _is_less(file.text, kept) else "")
        for file, kept in zip(files, cut, strict=True)
    ]
    whole = "".join(file.text[start:stop] for file in loaded for start, stop in file.kept)
    kept_together = kept_runs(whole, rule.together)
    if not _is_less(whole, kept_together):
        return loaded
    position = 0
    result = []
    for file in loaded:
        kept: list[Run] = []
        for start, stop in file.kept:
            part = common_runs(kept_together, [(position, position + stop - start)])
            kept += [(a - position + start, b - position + start) for a, b in part]
            position += stop - start
        limit = f"{_limit_words(rule.together)} for all of them" if kept != [*file.kept] else file.limit
        result.append(file._replace(kept=kept, limit=limit))
    return result


def _within_total(host: Host, files: Sequence[LoadedFile]) -> Sequence[LoadedFile]:
    """The files, cut again to what is left of the host's total where there is one."""
    if not host.total:
        return files
    left = host.total
    result = []
    for file in files:
        result.append(_cut_to(file, left if left >= host.least else 0, host.total))
        left -= _used_units(result[-1])
    return result


def _used_units(file: LoadedFile) -> int:
    """Units of the total that a file takes, with the host's marker, and with a digest in full."""
    kept, cut = _kept_units(file), file.rule.each
    if not (kept and file.limit):
        return kept
    if cut.digest and cut.characters:
        return max(kept, cut.characters * (cut.head + cut.digest.share + cut.tail) // 100)
    return kept + cut.marker


def _cut_to(file: LoadedFile, left: int, total: int) -> LoadedFile:
    """The file with no more kept than the units that are left of the total."""
    if _kept_units(file) <= left:
        return file
    kept = kept_runs(file.text, file.rule.each._replace(characters=left)) if left else []
    return file._replace(kept=kept, limit=f"{total:,} characters in all")


def _kept_units(file: LoadedFile) -> int:
    return sum(LENGTHS["chars"].units(file.text[start:stop]) for start, stop in file.kept)


def _is_less(text: str, kept: Sequence[Run]) -> bool:
    return bool(lost_runs(text, kept))


def _limit_words(cut: Cut) -> str:
    limits = ((cut.characters, "characters"), (cut.lines, "lines"), (cut.bytes, "bytes"))
    return " or ".join(f"{limit:,} {unit}" for limit, unit in limits if limit)
