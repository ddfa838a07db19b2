"""Audience: the workspace as a shared context may see it, and a receipt for each private part that it lacks.

Private parts are removed when files are read, under any name: no source sees them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from contextasm.model import (
    SHARED,
    Build,
    ChangedWorkspace,
    Document,
    Fragment,
    Layer,
    Location,
    Parse,
    Problem,
    Profile,
    Reason,
    Request,
    RetrievalResult,
    Workspace,
)
from contextasm.retrieval.reading.files import receipt
from contextasm.text.cleaning.private_parts import withheld_lines, withhold, withhold_file, without_ids
from contextasm.text.memories.parser import parse_memories
from contextasm.text.names.places import any_owner_pattern, list_archived
from contextasm.text.names.templates import is_pattern

PRIVATE = Reason("private")

Results = Mapping[str, RetrievalResult]
"""Results of retrieval, by layer id."""


class SharedWorkspace(ChangedWorkspace):
    """A workspace without its private parts (`model.Workspace`).

    Nothing is shown of a file that a private layer names, nor of any other file with the same text.
    """

    def __init__(self, workspace: Workspace, private_paths: Iterable[str], parse: Parse | None) -> None:
        """`private_paths` are paths and patterns of private layers, filled in. `parse` reads YAML."""
        super().__init__(workspace, self._without_private)
        self._parse = parse
        self._reads: dict[str, Document | Problem | None] = {}
        self._ids: dict[str, frozenset[str]] = {}
        self._paths = {path for pattern in private_paths for path in self._matching(pattern)}
        reads = [workspace.read(path) for path in sorted(self._paths)]
        self._texts = {_comparable(read) for read in reads if isinstance(read, Document)} - {""}

    def read(self, path: str) -> Document | Problem | None:
        """The document at a path without its private parts."""
        if path not in self._reads:
            self._reads[path] = super().read(path)
        return self._reads[path]

    def private_lines(self, document: Document) -> frozenset[int]:
        """The lines of a file, as it is or would be, that a shared context lacks as private."""
        return withheld_lines(self._withheld(document.path, document))

    @property
    def lacks_private(self) -> bool:
        """Whether a file that was read so far lacks private parts."""
        return any(isinstance(read, Document) and read.lacks_private for read in self._reads.values())

    def _without_private(self, document: Document) -> Document:
        visible = self._withheld(document.path, document)
        if "supersede" not in visible.whole or not (ids := self._private_ids(document.path)):
            return visible
        return without_ids(visible, ids)

    def _private_ids(self, path: str) -> frozenset[str]:
        """The ids that only private memories in the folder of a file have."""
        folder = path.rpartition("/")[0]
        if folder not in self._ids:
            reads = {name: self._workspace.read(name) for name in self._workspace.list(f"{folder}/*.md".lstrip("/"))}
            read = {name: document for name, document in reads.items() if isinstance(document, Document)}
            visible = {name: self._withheld(name, document) for name, document in read.items()}
            lacking = [read[name] for name, document in visible.items() if document.lacks_private]
            self._ids[folder] = _ids(lacking) - _ids(visible.values()) if lacking else frozenset()
        return self._ids[folder]

    def _withheld(self, path: str, document: Document) -> Document:
        if path in self._paths or (self._texts and _comparable(document) in self._texts):
            return withhold_file(document)
        return withhold(document, self._parse)

    def _matching(self, pattern: str) -> Sequence[str]:
        """The files of a path or pattern, those in archives that had such a path included."""
        listed = self._workspace.list(pattern) if is_pattern(pattern) else (pattern,)
        return (*listed, *list_archived(self._workspace, pattern))


def _ids(documents: Iterable[Document]) -> frozenset[str]:
    return frozenset(memory.id for document in documents for memory in parse_memories(document)[0])


def _comparable(document: Document) -> str:
    # Encoding, line ends, front matter and a managed block make no other text.
    return "\n".join(line.rstrip() for line in document.text.strip().split("\n"))


def visible_workspace(workspace: Workspace, profile: Profile, request: Request, parse: Parse | None) -> Workspace:
    """The workspace that the audience of a request may see: for a shared one, without what is private to any owner."""
    if request.audience != SHARED:
        return workspace
    return SharedWorkspace(workspace, private_patterns(profile, request), parse)


def visible_session(build: Build) -> Document:
    """The session of `--history` as the audience may see it: one like it in a file of a layer that reads sessions."""
    from contextasm.text.data.history import history_document  # here: most builds get no conversation

    session = history_document(build.request)
    if build.request.audience != SHARED:
        return session
    is_private = not session_patterns(build.profile).isdisjoint(private_patterns(build.profile, build.request))
    return withhold_file(session) if is_private else withhold(session, build.parse_yaml)


def session_patterns(profile: Profile) -> set[str]:
    """Paths and patterns of the sessions that the layers of a profile read, for every owner."""
    layers = [each for each in profile.layers if any(kind.type_filter == "event_types" for kind in each.query.traits)]
    return {any_owner_pattern(path) for layer in layers for path in layer.query.paths}


_PRIVATE_EVENT = '{"type":"private","private":true}'


def _visible_history(build: Build) -> str:
    """The session of a request with another event in the place of each private one, so that a replay counts it, too."""
    if not build.request.history:
        return ""
    private = withheld_lines(visible_session(build))
    lines = enumerate(build.request.history.split("\n"), 1)
    return "\n".join(_PRIVATE_EVENT if number in private else line for number, line in lines)


def private_patterns(profile: Profile, request: Request | None = None) -> Sequence[str]:
    """Paths and patterns of the private layers of a profile, for every owner; without a request, no open files."""
    templates = (
        *profile.private_paths,
        *(path for layer in profile.layers if layer.private for path in layer.query.paths),
    )
    named = {"{open}": request.open if request else (), "{changed}": request.changed if request else ()}
    paths_of = {template: named.get(template, (any_owner_pattern(template),)) for template in templates}
    return [path for paths in paths_of.values() for path in paths]


class _NothingStored:
    """Stored pools that no shared context looks into, as they hold private memories."""

    def query(self, *_asked: object, **_options: object) -> None:
        """None: the files are read."""


def for_audience(build: Build) -> Build:
    """The build with the workspace and history that its audience may see; a shared one reads all memories from there.

    What it does not show is counted as in any other build.
    """
    if build.request.audience != SHARED:
        return build
    workspace = visible_workspace(build.workspace, build.profile, build.request, build.parse_yaml)
    request = build.request._replace(history=_visible_history(build))
    return build._replace(workspace=workspace, request=request, memory_index=build.memory_index and _NothingStored())


def with_receipts(build: Build, results: Results) -> Results:
    """The results of a shared context with an excluded fragment for each private part that is left out."""
    return {layer.id: _with_receipts(results[layer.id], layer) for layer in build.profile.layers}


def _with_receipts(result: RetrievalResult, layer: Layer) -> RetrievalResult:
    documents = {document.path: document for document in result.documents if document.lacks_private}
    fragments = [_excluded(fragment, layer, documents) for fragment in result.fragments]
    reported = {fragment.location.path for fragment in fragments if fragment.verdict.excluded == PRIVATE}
    unreported = (document for path, document in documents.items() if path not in reported)
    receipts = [each for document in unreported for each in private_receipts(document, layer)]
    problems = result.problems
    if layer.private and layer.limits.required and (fragments or documents):
        what = "is required, but it is private, so a shared context leaves it out"
        others = (problem for problem in problems if problem.code != "required-empty")
        problems = (*others, Problem("required-private", layer.id, 0, what))
    return result._replace(fragments=(*fragments, *receipts), problems=problems)


def private_receipts(document: Document, layer: Layer) -> list[Fragment]:
    """An excluded fragment for each private part that a document lacks."""
    gaps = (gap for gap in document.gaps if gap.reason == PRIVATE.code)
    places = (Location(document.path, gap.first, rows=gap.last - gap.first + 1) for gap in gaps)
    return [receipt(f"{place.path}:{place.line}", place, layer, PRIVATE) for place in places]


def _excluded(fragment: Fragment, layer: Layer, documents: Mapping[str, Document]) -> Fragment:
    """The fragment, excluded where its layer, its file or all of its lines are private."""
    document = documents.get(fragment.location.path)
    reason = fragment.verdict.excluded
    if document and (document.withheld == "file" or (reason and reason.code == "blank")):
        gaps = [gap for gap in document.gaps if gap.reason == PRIVATE.code]
        location = Location(document.path, gaps[0].first, rows=gaps[-1].last - gaps[0].first + 1)
        return fragment._replace(location=location).exclude(PRIVATE)
    return fragment._replace(text="", statement="").exclude(PRIVATE) if layer.private else fragment
