"""Host files: which files of a folder a host loads by itself, and which it does not."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from contextasm.checks.finding import Finding, warning_finding
from contextasm.checks.hosts.cuts import FoundFile, LoadedFile, cut_files, within_total
from contextasm.checks.hosts.skills import Skill, list_skills, skill_of_others
from contextasm.checks.skills import SKILL_FILE, skill_findings
from contextasm.config.hosts.loader import Host, ImportRule, LoadRule, instruction_files, nested_files, skill_files
from contextasm.model import ContextasmError, Document, NamedTuple, Problem, grouped
from contextasm.text.cleaning.secrets.scanner import mask_secrets
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.markdown.imports import (
    SCOPES,
    blank_code_spans,
    find_imports,
    imported_path,
    is_file_name,
    is_for,
    no_file_words,
    scope_globs,
)
from contextasm.text.markdown.literals import indent_of, literals
from contextasm.text.names.glob import plain_pattern
from contextasm.workspace.folder import Folder, repository_top
from contextasm.workspace.reading import required_bytes
from contextasm.workspace.reads import real_path

NO_FILE = "import"
"""Code of the problem of an import that the host does not load."""

MOST_BELOW = 100
"""Folders below the session's whose files are looked at."""

_PASSED_HINT = (
    "put a space on both sides of it, with no comma or full stop next to it, and give it an ending such as .md"
)


class UnreadFile(NamedTuple):
    """A file that a host does not load though it looks like one of its own."""

    path: str
    text: str
    why: str
    """The reason, as a sentence that a colon goes before."""
    retired: bool = False
    """Whether the host has given the file up."""
    on_demand: bool = False
    """Whether the host loads the file later; else another file takes its place."""
    is_scoped: bool = False
    """Whether the file is only for some of the files of the repository, as its front matter says."""
    later: tuple[str, LoadedFile] | None = None
    """For a file below the session's folder: the words for when the host loads it, and what it then loads of it."""


class HostReading(NamedTuple):
    """The files that a host loads by itself when a session starts in a folder."""

    host: Host
    root: str
    """Top of the repository, or the session's folder outside a repository; paths are relative to it."""
    folder: str
    """The session's folder, relative to the root; empty for the root itself."""
    files: Sequence[LoadedFile]
    """In the order in which they are loaded."""
    unread: Sequence[UnreadFile]
    problems: Sequence[Problem]
    """One for each file that can't be read, and for each import that is not loaded."""
    not_looked_at: Sequence[str]
    """Other things that the host may load."""
    skills: Sequence[Skill] = ()
    """In the order in which their names win; empty if nobody looked for them."""
    skill_faults: Sequence[Finding] = ()
    """What in their files is against the specification."""
    window: int = 0
    """Tokens of the window that the list of skills is for; 0 for that of the host."""
    below: Sequence[UnreadFile] = ()
    """The files in folders below the session's, by folder; empty if nobody looked for them."""

    @property
    def found(self) -> Sequence[LoadedFile | UnreadFile]:
        """All files, the ones that are loaded first."""
        return [*self.files, *self.unread, *self.below]


def read_host_files(
    host: Host,
    folder: str,
    outside: Sequence[str] = (),
    files_of_root: Folder | None = None,
    opened: Sequence[str] = (),
    home: Folder | None = None,
    window: int | None = None,
    listed: Sequence[str] = (),
) -> HostReading:
    """The reading of a host whose session starts in `folder`; `outside` are files elsewhere that a person named.

    `files_of_root` has the files of the repository, such as those in its index; for None, they are those on the disk.
    `opened` are files that the host works on: what it loads with them is part of the reading. The person's own files
    are read only if `home` is given, and skills are looked for only for a `window`, as are the instruction files below
    the session's folder among the paths in `listed`. Raises `ContextasmError` for a folder that does not exist, for a
    file that can't be read, and for a file that the host does not load from outside the folder.
    """
    real = real_path(str(folder))
    root = repository_top(real) or real
    files_of_root = files_of_root or Folder(root)
    touched = [os.path.relpath(real_path(os.path.join(real, path)), real_path(str(root))) for path in opened]
    reader = _FolderReader(host, files_of_root, os.path.relpath(real, real_path(str(root))), touched)
    loads, passed = reader.loads()
    own = _FolderReader(host._replace(loads=_home_rules(host, root)), home, "", touched, "~/") if home else None
    own_loads, own_unread = own.loads() if own else ([], [])
    own_paths = [path for _, found in own_loads for path, _ in found]
    named = [_outside_file(host, path) for path in _each_once([*own_paths, *outside]) if path not in own_paths]
    loads += [*own_loads, *((rule, [file]) for rule, file in named)]
    places = [rule.place for rule in host.loads if rule.place and rule not in [rule for rule, _ in named]]
    not_looked_at = [*([] if own else places), *host.not_looked_at]
    files = reader.loaded(loads)
    if touched:
        first = {file.path for file in read_host_files(host, folder, outside, files_of_root, home=home).files}
        files = [file._replace(on_demand=file.path not in first) for file in files]
    unread = [*own_unread, *reader.unread_files(files, passed)]
    problems = [*reader.problems, *(own.problems if own else ())]
    reading = HostReading(host, reader.folder.root, reader.session, files, unread, problems, not_looked_at)
    return reading if window is None else _with_skills(_with_files_below(reading, reader, listed), reader, own, window)


def _with_files_below(reading: HostReading, reader: _FolderReader, listed: Sequence[str]) -> HostReading:
    nested = reader.nested({*listed}.difference(file.path for file in reading.found))
    below = [file for folder in [*nested][:MOST_BELOW] for file in _files_below(reader, folder, nested[folder])]
    left = len(nested) - MOST_BELOW
    passed = [f"instruction files of {left:,} folders below the session's folder"] if left > 0 else []
    return reading._replace(below=below, not_looked_at=[*reading.not_looked_at, *passed])


def _files_below(reader: _FolderReader, folder: str, paths: Sequence[str]) -> Sequence[UnreadFile]:
    """The files at paths of a folder below the session's that are loaded later, or not even in a session there."""
    host = reader.host
    rules = tuple(rule for rule in host.loads if rule.folders == "below")
    working = _FolderReader(host._replace(loads=rules), reader.folder, reader.session, [f"{folder}/"])
    starting = _FolderReader(host, reader.folder, folder)
    loads, passed = starting.loads()
    files = starting.loaded(loads)
    unread = {file.path: file for file in starting.unread_files(files, passed)}
    later = {file.path: ("when a session starts in its folder", file) for file in files}
    at_work = working.loaded(working.loads()[0])
    later |= {file.path: ("when the agent works on a file in its folder", file) for file in at_work}
    for when, file in later.values():
        unread[file.path] = UnreadFile(file.path, file.text, f"it is loaded {when}", on_demand=True, later=(when, file))
    texts = {unread[path].text: unread[path] for path in reversed(paths) if path in unread}  # one of links and copies
    return [*texts.values()][::-1]


def _with_skills(reading: HostReading, reader: _FolderReader, own: _FolderReader | None, window: int) -> HostReading:
    if not (skills := reading.host.skills):
        return reading._replace(not_looked_at=[*reading.not_looked_at, "skills"])
    passed = [] if own else ["skills in your home folder"]
    reading = reading._replace(not_looked_at=[*reading.not_looked_at, *passed])
    parts = [(own if pattern.startswith("~/") else reader, pattern.removeprefix("~/")) for pattern in skills.files]
    rules = [(each, LoadRule((pattern,), folders=skills.folders)) for each, pattern in parts if each]
    found = [file for each, rule in rules for file in each.found(rule)[0]]
    files = [(path, text) for path, text in found if path.endswith(f"/{SKILL_FILE}")]
    faults = [fault for path, text in files for fault in skill_findings(path, text)]
    faults += [fault for each, rule in rules for fault in _misplaced_skills(each, rule)]
    listed = list_skills(skills, found, window)
    others = LoadRule(tuple({*skill_files()}.difference(skills.files)), folders=skills.folders)
    texts = {text for _, text in found}
    theirs = sorted(reader.found(others, is_own=False)[0])
    absent = [skill_of_others(*file) for file in theirs if file[1] not in texts]
    return reading._replace(skills=[*listed, *absent], skill_faults=faults, window=window)


def _misplaced_skills(reader: _FolderReader, rule: LoadRule) -> Iterator[Finding]:
    """Files with the front matter of a skill that are not where the host looks for one."""
    folder, one, name = rule.files[0].rpartition("/*/")
    if one and name == SKILL_FILE:
        misfits = LoadRule((f"{folder}/*.md", f"{folder}/*/[Ss][Kk][Ii][Ll][Ll].md"), folders=rule.folders)
        for path, text in reader.found(misfits, is_own=False)[0]:
            above, file = os.path.split(path)
            if file != SKILL_FILE and "description" in front_matter(text.removeprefix("\ufeff").split("\n")).values:
                place = above if file.lower() == SKILL_FILE.lower() else f"{above}/{os.path.splitext(file)[0]}"
                message = "the file looks like a skill, but the host does not find it here"
                yield warning_finding(path, 1, message, f"move it to {place}/{SKILL_FILE}")


def _home_rules(host: Host, root: str) -> tuple[LoadRule, ...]:
    """The rules for files outside of the folder, as rules for the person's home.

    PROJECT in the place of a rule is the top of the repository, with a hyphen for each sign.
    """
    project = re.sub("[^A-Za-z0-9]", "-", root)
    folders = {rule: os.path.dirname(rule.place).replace("PROJECT", project)[2:] for rule in host.loads if rule.place}
    files = {rule: tuple(f"{folder}/{name}" for name in rule.files) for rule, folder in folders.items()}
    return tuple(rule._replace(files=files[rule], folders="folder") for rule in folders)


def is_in_use(host: Host, folder: Folder, session: str) -> bool:
    """Whether one of the host's own files or folders is at the top of a folder, or in the session's folder in it."""
    return any(
        folder.exists(os.path.normpath(os.path.join(place, own))) for place in (".", session) for own in host.own
    )


def _each_once(paths: Sequence[str]) -> Iterable[str]:
    """The paths as typed, without paths that lead to the same file as one before."""
    first: dict[str, str] = {}
    for path in paths:
        first.setdefault(real_path(os.path.expanduser(path)), path)
    return first.values()


class _FolderReader:
    """The files of one folder that a host's rules name, each read once."""

    def __init__(self, host: Host, folder: Folder, session: str, opened: Sequence[str] = (), mark: str = "") -> None:
        self.host = host
        self._mark = mark
        """Beginning of each path in what is found."""
        self.folder = folder
        self.session = "" if session == "." else session
        self._opened = opened
        self.problems: list[Problem] = []
        self._texts: dict[str, str] = {}

    def loads(self) -> tuple[list[tuple[LoadRule, Sequence[FoundFile]]], list[UnreadFile]]:
        """The files of each rule, and the files that give way to others or are loaded later."""
        loads: list[tuple[LoadRule, Sequence[FoundFile]]] = []
        passed: list[tuple[FoundFile, str]] = []
        later: list[UnreadFile] = []
        chosen: dict[str, Sequence[FoundFile]] = {}
        for rule in self.host.loads:
            files, second = self.found(rule) if rule.folders != "outside" else ([], [])
            passed += second
            waiting = {file: why for file in files if (why := _scope(rule, file[1], self._opened))}
            later += [UnreadFile(*file, why, on_demand=True) for file, why in waiting.items()]
            files = [file for file in files if file not in waiting]
            if files and rule.choice in chosen:
                passed += [(file, _winner(file[0], chosen[rule.choice])) for file in files]
            elif files:
                loads.append((rule, files))
                if rule.choice:
                    chosen[rule.choice] = files
        return loads, [*(UnreadFile(*file, f"it is overridden by {winner}") for file, winner in passed), *later]

    def loaded(self, loads: Sequence[tuple[LoadRule, Sequence[FoundFile]]]) -> list[LoadedFile]:
        """The files of rules as the limits of the host leave them, with the files that they import."""
        files = [file for rule, files in loads for file in cut_files(rule, files, self.session)]
        return [*self.with_imports(within_total(self.host, files))]

    def nested(self, listed: Iterable[str]) -> Mapping[str, Sequence[str]]:
        """The instruction files among some files, by the folder below the session's that they are for."""
        names = "|".join(map(re.escape, nested_files())).replace(r"\*\*/", "(?:.+/)?").replace(r"\*", "[^/]+")
        pattern = re.compile(f"({re.escape(self.session and f'{self.session}/')}.+?)/(?:{names})")
        matches = filter(None, map(pattern.fullmatch, listed))
        return grouped(sorted((match[1], match[0]) for match in matches))

    def found(self, rule: LoadRule, *, is_own: bool = True) -> tuple[list[FoundFile], list[tuple[FoundFile, str]]]:
        """The files of a rule that are not blank, and the files that give way to one of them, with its path.

        Files that are not the host's `own` are no problem, even if they can't be read.
        """
        found: list[FoundFile] = []
        passed: list[tuple[FoundFile, str]] = []
        folders = {"repository": self._folders(), "below": self._folders_below()}.get(rule.folders, [self.session])
        for folder in reversed(folders) if rule.nearest else folders:
            paths = self.paths(rule.files, folder)
            paths = self._without_links(paths) if is_own else paths
            files = [(self._mark + path, self.text(path, is_own=is_own)) for path in paths]
            files = [(path, text) for path, text in files if rule.blank_wins or text.strip()]
            if rule.first_only and files:
                passed += [(file, files[0][0]) for file in files[1:] if file[1].strip()]
                files = files[:1]
            found += [(path, text) for path, text in files if text.strip()]
            if rule.nearest and found:
                break
        return found, passed

    def _folders(self) -> list[str]:
        """The root, and the folders from there down to the session's."""
        names = self.session.split("/") if self.session else []
        return ["/".join(names[:depth]) for depth in range(len(names) + 1)]

    def _folders_below(self) -> list[str]:
        """The folders from below the session's down to each file that the host works on."""
        prefix = f"{self.session}/" if self.session else ""
        ways = [path.removeprefix(prefix).split("/")[:-1] for path in self._opened if path.startswith(prefix)]
        return [*dict.fromkeys(prefix + "/".join(way[: n + 1]) for way in ways for n in range(len(way)))]

    def paths(self, patterns: Sequence[str], folder: str) -> Sequence[str]:
        """The files of a folder that match, pattern by pattern."""
        prefix = f"{plain_pattern(folder)}/" if folder else ""
        listed = dict.fromkeys(path for pattern in patterns for path in self.folder.list(prefix + pattern))
        return [path for path in listed if not path.endswith("/")]

    def _without_links(self, paths: Sequence[str]) -> Sequence[str]:
        """The files at paths, as far as the host loads links; else a link is a problem."""
        linked = [] if self.host.links else [path for path in paths if os.path.islink(f"{self.folder.root}/{path}")]
        message, hint = f"{self.host.summary} does not load a link to a file", "replace the link with the text"
        self.problems += [Problem("link", path, 0, message, hint) for path in linked]
        return [path for path in paths if path not in linked]

    def with_imports(self, files: Sequence[LoadedFile]) -> Iterator[LoadedFile]:
        """The files, each with the files behind it that it imports and that no other one is; limits cut none of these.

        A file outside of the root is not looked at.
        """
        seen = {self._real(file.path) for file in files}
        for file in files:
            yield file
            yield from self._imported(file, seen, 1)

    def _imported(self, file: LoadedFile, seen: set[str], depth: int) -> Iterator[LoadedFile]:
        rule = self.host.imports
        if not rule or not file.rule.imports or depth > rule.depth:
            return
        for line, written, is_followed in sorted(find_host_imports(file.text, rule), key=lambda each: not each[2]):
            path = imported_path(file.path, written)
            if path is None or self._real(path) in seen:
                continue
            if not is_followed:
                message = f"{self.host.summary} does not load @{written} as it is written"
                self.problems.append(Problem(NO_FILE, file.path, line, message, _PASSED_HINT))
            elif self.folder.is_file(path):
                seen.add(self._real(path))
                if text := self.text(path):
                    (each,) = cut_files(file.rule, [(path, text)], self.session)
                    yield (each := each._replace(imported_by=f"{file.path}:{line}"))
                    yield from self._imported(each, seen, depth + 1)
            elif is_file_name(written):
                message = no_file_words(written, path)
                self.problems.append(Problem(NO_FILE, file.path, line, message, "correct the path"))

    def unread_files(self, files: Sequence[LoadedFile], passed: Sequence[UnreadFile]) -> Sequence[UnreadFile]:
        """The files that were `passed`, and the others that are not loaded, unless the loaded ones have their lines."""
        unread = [*passed]
        retired = ((path, rule.why) for rule in self.host.unread for path in self.paths(rule.files, self.session))
        unread += [
            UnreadFile(path, text, why, retired=True)
            for path, why in retired
            if (text := self.text(path, is_own=False)).strip()
        ]
        unread += self.others({file.path for file in files} | {file.path for file in unread})
        shown = "".join(_plain(file.text) for file in files)
        return [file for file in unread if _plain(file.text) not in shown]

    def others(self, known: Collection[str]) -> Iterator[UnreadFile]:
        """The other files of hosts and coding agents on the way to the session's folder."""
        own = {name for rule in self.host.loads if not rule.place for name in rule.files}
        names = [name for name in instruction_files() if name not in own]
        for path in dict.fromkeys(path for folder in self._folders() for path in self.paths(names, folder)):
            if path not in known and (text := self.text(path, is_own=False)).strip():
                globs = scope_globs(front_matter(text.removeprefix("\ufeff").split("\n")).values) or ()
                yield UnreadFile(path, text, "it is for other programs", is_scoped=not {"**", "**/*"}.issuperset(globs))

    def _real(self, path: str) -> str:
        return real_path(os.path.join(self.folder.root, path))

    def text(self, path: str, *, is_own: bool = True) -> str:
        """The text of a file; empty, with a problem if the host loads it, for one that can't be read."""
        if path not in self._texts:
            answer = self.folder.read(path)
            self._texts[path] = decode_as_host(answer.data, self.host) if isinstance(answer, Document) else ""
            if isinstance(answer, Problem) and is_own:
                self.problems.append(answer._replace(path=self._mark + answer.path))
        return self._texts[path]


def _winner(path: str, files: Sequence[FoundFile]) -> str:
    """The one of some files that is nearest to a path, in words."""
    near = max((each for each, _ in files), key=lambda each: len(posixpath.commonpath([path, each])))
    return f"{near} in the top folder" if "/" in path and "/" not in near else near


def _plain(text: str) -> str:
    """The lines of a text as a managed block may show them: without blank ones, marks of headings and secrets."""
    lines = (line.strip("# \t\r\ufeff") for line in mask_secrets(text).text.split("\n"))
    return "\n".join(["", *filter(None, lines), ""])


def decode_as_host(data: bytes, host: Host) -> str:
    """The text as a host decodes it: UTF-8, with a sign in place of what is not.

    A byte order mark is a character of it, and line ends stay, but for a host that drops both.
    """
    text = data.decode("utf-8", "replace")
    return text.removeprefix("\ufeff").replace("\r\n", "\n") if host.python_text else text


def _scope(rule: LoadRule, text: str, opened: Sequence[str]) -> str:
    """The reason why a file is loaded later, as a sentence; empty for one that is loaded now."""
    front = front_matter(text.removeprefix("\ufeff").split("\n")).values if rule.scoped else {}
    key, _, value = rule.always.partition(": ")
    patterns = scope_globs({SCOPES[0]: front.get(rule.scoped, "")}) or ()
    if (key and front.get(key) == value) or any(is_for(glob, path) for glob in patterns for path in opened):
        return ""
    if not key and {*rule.everything}.issuperset(patterns):  # none, or all files
        return ""
    needed = f"with files that match {', '.join(patterns)}" if patterns else "if the agent or a person asks for it"
    return f"it is loaded on demand, {needed}"


def _outside_file(host: Host, path: str) -> tuple[LoadRule, FoundFile]:
    """A file outside of the folder, with its rule."""
    rules = [rule for rule in host.loads if rule.folders == "outside"]
    if rule := next((rule for rule in rules if os.path.basename(path) in rule.files), None):
        data = required_bytes(os.path.expanduser(path), "name a file that can be read", f"--host-file: {path}")
        return rule, (path, decode_as_host(data, host))
    what = f"{host.summary} does not load {path} from outside the folder"
    places = ", ".join(rule.place for rule in rules)
    raise ContextasmError("--host-file", what, f"name a file such as {places}" if places else "leave it out")


def find_host_imports(text: str, rule: ImportRule | None) -> Iterator[tuple[int, str, bool]]:
    """The imports of a text by line: line, counted from 1, path without the `@`, and whether the host follows it.

    The rule is the host's own: a build follows others, too. One that the host does not follow names a file, and a build
    follows it.
    """
    if not rule or "@" not in text:
        return
    lines = text.removeprefix("\ufeff").split("\n")
    for part in [*literals(lines)]:
        if part.kind == "fence" or (part.kind != "doubtful" and not rule.in_html):
            # What follows a comment in its last line is text.
            rest = lines[part.stop - 1].rpartition("-->")[2] if part.kind == "comment" and part.is_closed else ""
            lines[part.first : part.stop] = [*[""] * (part.stop - part.first - 1), rest]
    is_code = not rule.in_indented
    for number, line in enumerate(lines):
        if line.strip():
            is_code = not rule.in_indented and indent_of(line) >= 4 and (is_code or not lines[number - 1].strip())
        if "@" not in line or is_code:
            continue
        found = [match[1].replace("\\ ", " ") for match in re.finditer(rule.pattern, blank_code_spans(line))]
        endings = ("", *rule.endings)
        followed = [path for path in found if not rule.endings or posixpath.splitext(path)[1].lower() in endings]
        others = [path for _, path in find_imports(line) if is_file_name(path) and path not in followed]
        for path in (*followed, *others):
            yield number + 1, path, path in followed
