"""Source `instructions`: what coding agents read, from the root of a repository down to the open files.

Each file, an imported one too, is a fragment of its own.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence

from contextasm.model import Document, Layer, Problem, Reason, Request, RetrievalResult, SourceQuery, Workspace
from contextasm.retrieval.reading.files import layer_display, layer_paths, whole_fragment
from contextasm.text.markdown.front_matter import front_matter_fault
from contextasm.text.markdown.imports import (
    find_imports,
    glob_fault,
    imported_path,
    is_file_name,
    is_for,
    no_file_words,
    scope_globs,
)
from contextasm.text.names.glob import plain_pattern
from contextasm.text.names.places import any_owner_pattern, has_other_form
from contextasm.text.names.templates import is_pattern, one_line

MAX_DEPTH = 5
"""Imports that may lead from a file to another one, which is the most that any host follows."""

MAX_IMPORTS = 1_000
"""Words with an `@` that are looked at in one file."""

_EVERYTHING = {"**", "**/*"}
_ON_REQUEST_ENDINGS = (".mdc", ".instructions.md")
"""Endings of rule files that apply to nothing by themselves."""

_ALWAYS = {"alwaysApply": ("true",), "trigger": ("always_on",), "inclusion": ("always",)}
"""Values of front matter with which a rule is for everything: of Cursor, of Antigravity and Windsurf, and of Kiro."""

_ON_REQUEST = {"trigger": ("manual", "model_decision"), "inclusion": ("manual", "auto")}
"""Values of front matter with which a rule applies only if an agent or a person asks for it."""

_OVERRIDE = ".override.md"
"""Ending of a file that replaces the one without it in the same folder, as Codex reads AGENTS.override.md."""


InstructionFile = tuple[Document, Reason | None]
"""A file that instructs an agent, as read, and the reason why it does not apply.

None is for a file that is for every file, or for an open one.
"""

InstructionFiles = tuple[Sequence[InstructionFile], Sequence[Problem], Sequence[str]]
"""Instruction files, their problems, and every path that was looked at, whether there is a file or not.

The root's files come first, and an imported file after the importing one. Problems are of files that can't be
read, and of imports that lead nowhere, in a circle, too deep or out.
"""


def read_instruction_files(workspace: Workspace, layer: Layer, request: Request) -> InstructionFiles:
    """The files of the layer's paths, taken from each folder from the root down to the open files' folders."""
    return _Reading(workspace, request.open).read(_paths(workspace, layer, request, _folders_to_open(request)))


def read_all_instruction_files(workspace: Workspace, templates: Iterable[str]) -> InstructionFiles:
    """The files that these paths name in any folder, with their imports, not only for the open files."""
    patterns = [any_owner_pattern(template) for template in templates]
    paths = (path for pattern in patterns for path in workspace.list(f"**/{pattern}"))
    return read_with_imports(workspace, dict.fromkeys(paths))


def read_with_imports(workspace: Workspace, paths: Iterable[str]) -> InstructionFiles:
    """The files at these paths, with all that they import, not only for the open files."""
    return _Reading(workspace, None).read(paths)


def _paths(workspace: Workspace, layer: Layer, request: Request, folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        for template in layer.query.paths:
            if is_pattern(template):
                yield from layer_paths(workspace, posixpath.join(plain_pattern(folder), template), request)
            else:
                yield posixpath.join(folder, template)


def _folders_to_open(request: Request) -> Sequence[str]:
    """The root, and the folders from there to each open file of the workspace."""
    folders = {"": None}
    for path in request.open:
        parts = path.split("/")[:-1]
        if not path.startswith("/") and ".." not in parts:
            folders |= dict.fromkeys("/".join(parts[: number + 1]) for number in range(len(parts)))
    return [*folders]


_Import = tuple[str, int, str]
"""The place of an import: a file, its line, and the path that is written there."""


class _Reading:
    """One pass over instruction files: each is read once, and its imports are followed from the least depth."""

    def __init__(self, workspace: Workspace, open_files: Sequence[str] | None) -> None:
        """`open_files` decide which rules apply; for None, all do."""
        self._workspace = workspace
        self._open = open_files
        self._files: dict[str, InstructionFile] = {}
        self._problems: dict[Problem | _Import, Problem] = {}
        self._too_deep: dict[_Import, str] = {}
        """Imports that were not followed, with the paths that they name: each may be reached in another way."""
        self._paths: dict[str, bool] = {}
        """Every path that was looked at, and whether something is there."""
        self._followed: dict[tuple[str, str], int] = {}
        """Least depth by folder and text of the files whose imports were followed: a link or a copy has the same."""

    def read(self, paths: Iterable[str]) -> InstructionFiles:
        """The files at these paths and all that they import."""
        for path in paths:
            self._add(path, ())
        for place, path in self._too_deep.items():
            if path in self._paths:
                self._problems.pop(place, None)
        problems = tuple(each for each in self._problems.values() if not has_other_form(each.path, self._files))
        return [*self._files.values()], problems, tuple(self._paths)

    def _add(self, path: str, importing: tuple[str, ...]) -> bool:
        """Add a file and what it imports; False if the file does not exist. `importing` leads to it."""
        if path not in self._paths:
            read = self._workspace.read(path)
            self._paths[path] = read is not None
            if isinstance(read, Problem):
                self._problems.setdefault(read, read)
            if isinstance(read, Document):
                self._files[path] = read, self._exclusion(read, is_imported=bool(importing))
        document, excluded = self._files.get(path, (None, None))
        if document and not excluded:
            self._follow_imports(document, importing)
        return self._paths[path]

    def _exclusion(self, document: Document, *, is_imported: bool) -> Reason | None:
        """The reason why a file does not apply; None if it is for every file, or for an open one."""
        globs = scope_globs(document.front) or ()
        if line := self._front_fault(document) if not is_imported else 0:
            return None if self._open is None else Reason.of("front-matter", line=line)
        override = document.path.removesuffix(".md") + _OVERRIDE
        if not is_imported and self._paths.get(override):
            return Reason.of("overridden", path=override)
        if self._open is None or is_imported or _says(document, _ALWAYS) or _EVERYTHING & {*globs}:
            return None
        for fault in {fault: None for glob in globs if (fault := glob_fault(glob))}:
            problem = Problem("bad-glob", document.path, 1, f"its globs do not find every file, because {fault}")
            self._problems[problem] = problem
        if any(is_for(glob, path) for glob in globs for path in self._open):
            return None
        if not globs and not document.path.endswith(_ON_REQUEST_ENDINGS) and not _says(document, _ON_REQUEST):
            return None
        shown = one_line(", ".join(globs))[:200]
        return Reason.of("not-open", globs=shown) if shown else Reason("on-request")

    def _front_fault(self, document: Document) -> int:
        """The line of a Cursor rule's front matter that is not YAML, also as a problem; 0 for none or other files.

        Cursor skips such a rule and says nothing.
        """
        is_rule = document.path.endswith(".mdc")
        fault = front_matter_fault(f"{document.head}{document.text}".split("\n")) if is_rule else None
        if not fault:
            return 0
        message = f"{fault[1]}: Cursor skips such a rule, so it applies to nothing"
        hint = "write lines `key: value` between two lines `---`"
        problem = Problem("front-matter", document.path, fault[0], message, hint)
        self._problems[problem] = problem
        return fault[0]

    def _follow_imports(self, document: Document, importing: tuple[str, ...]) -> None:
        trail = (*importing, document.path)
        copy = (posixpath.dirname(document.path), document.digest)
        if self._followed.get(copy, len(trail) + 1) <= len(trail):
            return
        self._followed[copy] = len(trail)
        for number, (line, path) in enumerate(find_imports(document.text)):
            is_last = number == MAX_IMPORTS
            place = document.path, document.line + line, "" if is_last else path
            message = "later imports are not read" if is_last else self._import_fault(place, trail)
            if message:
                code = "home-import" if path.startswith("~/") else "import"
                self._problems.setdefault(place, Problem(code, place[0], place[1], message))
            if is_last:
                break

    def _import_fault(self, place: _Import, trail: tuple[str, ...]) -> str:
        """Read an imported file; gives the reason why it is missing; empty if it is there, or not a file's name."""
        written = place[2]
        path = imported_path(trail[-1], written)
        if path is None:
            return f"@{written} leads out of the workspace, so it is not read" if is_file_name(written) else ""
        if path in trail:
            circle = " -> ".join((*trail[trail.index(path) :], path))
            return f"@{written} makes a circle of imports: {circle}"
        if not self._is_import(path, written):
            return ""
        if len(trail) > MAX_DEPTH:
            self._too_deep[place] = path
            return f"@{written} is more than {MAX_DEPTH} imports deep, so it is not read"
        return "" if self._add(path, trail) else f"{no_file_words(written, path)} of the workspace"

    def _is_import(self, path: str, written: str) -> bool:
        # `@luna` is a person and `@scope/name` a package, unless something is there. Below a file there is nothing.
        if is_file_name(written):
            return True
        read = self._workspace.read(path)
        return isinstance(read, Document) or (isinstance(read, Problem) and read.code != "not-a-folder")


def _says(document: Document, values: Mapping[str, Sequence[str]]) -> bool:
    """Whether the front matter has one of these values at one of their keys."""
    return any(str(document.front.get(key, "")).casefold() in words for key, words in values.items())


def instructions(query: SourceQuery) -> RetrievalResult:
    """The layer's files as fragments: the root's first, the nearest to an open file last, imports after the importer.

    A rule for files of which none is open is an excluded fragment.
    """
    files, problems, _ = read_instruction_files(query.build.workspace, query.layer, query.build.request)
    fragments = (
        whole_fragment(document, layer_display(query.layer, {"path": document.path}, (place,)), excluded)
        for place, (document, excluded) in enumerate(files)
    )
    return RetrievalResult(tuple(fragments), tuple(document for document, _ in files), tuple(problems))
