"""What a session of a host was sent: digests of its lines, in the person's cache folder, and records in the workspace.

A session has a file, which one hook at a time has open. Where none can be made, or a host names no session, nothing is
known, and all is sent again. The topic of its start is made of what git knows: the branch and the changed files.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import blake2b

from contextasm.config.build import PreparedBuild
from contextasm.config.input.options import ProcessEnvironment
from contextasm.model import Build, Context, ContextasmError, Decision, Document, Span, Workspace
from contextasm.selection.tokens import ROOMS
from contextasm.workspace.cache import cache_folder
from contextasm.workspace.folder import repository_top
from contextasm.workspace.reads import is_private, note_other_input, regular_bytes, remove_old

_MOST_SESSIONS = 200
_MOST_BYTES = 1 << 18
"""Bytes of the file of a session that are read; from half of it on, the lines before are forgotten."""

_TRIES, _PAUSE = 250, 0.02
"""Times to try for a file that another hook of the session has, and the seconds between."""


class SentLines:
    """The lines that a session was sent: a file for each part of its start, of which this process has one locked."""

    def __init__(self, key: Sequence[object], part: int, environment: Mapping[str, str]) -> None:
        """Of the session with this key, which is all that tells it from others; empty for no session."""
        self._known: set[bytes] = set()
        self._new: set[bytes] = set()
        self._handle, base = -1, cache_folder(environment)
        self._paths: list[str] = []
        if key and base:
            note_other_input()  # the answer depends on what was sent before
            name = blake2b(repr(key).encode(errors="backslashreplace"), digest_size=16).hexdigest()
            with suppress(OSError):
                self._handle = _opened(f"{base}/sessions", f"{name}-{part}")
                self._paths = [each.path for each in os.scandir(f"{base}/sessions") if each.name.startswith(name)]
                for path in self._paths:
                    self._known.update(regular_bytes(path, _MOST_BYTES)[1].split(b"\n"))

    def close(self) -> None:
        """Let other hooks of the session have the file."""
        with suppress(OSError):
            os.close(self._handle)

    def has(self, lines: Iterable[str]) -> bool:
        """Whether all of these lines were sent."""
        return all(_digest(line) in self._known for line in lines)

    def add(self, lines: Iterable[str]) -> None:
        """Note lines that are about to be sent."""
        self._new |= {*map(_digest, lines)} - self._known

    def save(self) -> None:
        """Store what was noted, once it is sent; where that can't be done, it is sent again."""
        with suppress(OSError):
            if os.lseek(self._handle, 0, os.SEEK_END) > _MOST_BYTES // 2:
                self.forget()
            os.write(self._handle, b"".join(digest + b"\n" for digest in sorted(self._new)))

    def forget(self, *, all_parts: bool = False) -> None:
        """Forget the lines of this part, since the session begins anew, or of all parts before it is compacted."""
        self._known.clear()
        with suppress(OSError):
            os.ftruncate(self._handle, 0)
            for path in self._paths if all_parts else ():
                os.truncate(path, 0)


def _digest(line: str) -> bytes:
    return blake2b(line.strip().encode(errors="backslashreplace"), digest_size=8).hexdigest().encode()


def _opened(folder: str, name: str) -> int:
    """A file of the folder, open and locked. Raises `OSError`, also for what others can open, and after a long wait."""
    import fcntl

    os.makedirs(folder, mode=0o700, exist_ok=True)
    if is_private(os.lstat(folder), stat.S_IFDIR):
        with suppress(OSError):  # another hook may remove the same file
            remove_old(folder, _MOST_SESSIONS)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        handle = os.open(f"{folder}/{name}", flags, 0o600)
        for _ in range(_TRIES if is_private(os.fstat(handle), stat.S_IFREG) else 0):
            with suppress(BlockingIOError):
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return handle
            time.sleep(_PAUSE)
        os.close(handle)
    raise PermissionError


def file_lines(decision: Decision, spans: Sequence[Span], workspace: Workspace) -> Sequence[str]:
    """The lines that a fragment has in its file, without blank ones; its id if no file has them."""
    document = workspace.read(decision.path) if decision.lines[0] else None
    lines = _lines(document.whole) if isinstance(document, Document) else []
    return [line for first, last in spans for line in lines[first - 1 : last] if line.strip()] or [decision.fragment]


@lru_cache(maxsize=64)  # many fragments are of one file
def _lines(text: str) -> Sequence[str]:
    return text.split("\n")


_ITEM = re.compile(r"\s*(?:[-*+]\s+)?(?:\[[\w-]+\]\s+)?(.*?)\s*(?:\{[^{}]*\})?\s*")
"""A line of a file; its group is the text without the mark, the type and the fields of a memory."""


def shown_lines(context: Context, workspace: Workspace, text: str) -> Iterator[str]:
    """The lines of files that a text shows whole, which is the context or a part of it."""
    for decision in context.decisions:
        lines = file_lines(decision, decision.kept, workspace) if decision.kept else ()
        if decision.outcome == "included" and text == context.text:
            yield from lines
        else:
            matches = ((line, _ITEM.fullmatch(line)) for line in lines)
            yield from (line for line, match in matches if match and match[1] in text)


def save_sent(prepared: PreparedBuild, build: Build, context: Context, session: str, event: str) -> str:
    """Write the record of a context that a session is sent at an event; the fault if that can't be done, else empty."""
    from contextasm.records.record import RecordingServices
    from contextasm.records.replay import save_record

    counter = ROOMS[context.request.tokenizer]
    build = build._replace(counter=counter, request=context.request, memory_index=None)
    services = RecordingServices(build)
    try:
        context = prepared.run(services.listen(build))
        save_record(prepared._replace(build=build), context, services, {}, session=session[:200], event=event)
    except ContextasmError as error:
        return str(error)
    return ""


_TRUNKS = ("main", "master", "trunk", "develop", "HEAD")
"""Names of branches that are about nothing."""

_LEAST_COVER = 0.25
"""Share of what the topic's words are worth that the best match holds; below it nothing comes before the newest."""

_LEAST_MATCH = 0.6
"""Share of the best match that the others have: a name of a file is not a question, and may be a common word."""

_MAX_CHANGED = 20
"""Changed files that are about one thing; more are about nothing."""


def with_git_topic(prepared: PreparedBuild, process: ProcessEnvironment) -> Build:
    """The build with the words of the branch and of the changed files as its topic, if it has none.

    What matches them takes half of the places, and the newest the others. Without git, or if a source of the profile
    would show something else for any topic, it is the build itself.
    """
    build, profile, root = prepared.build, prepared.build.profile, prepared.workspace.root
    traits = [source for layer in profile.layers for source in layer.query.traits]
    is_searched = any(source.answers_topic for source in traits)
    is_safe = all(source.answers_topic or source.holds_memories or not source.score_parts for source in traits)
    if build.request.topic.strip() or not (is_searched and is_safe and repository_top(root)):
        return build
    words = _topic_words(root, process)
    layers = []
    for layer in profile.layers:
        query = layer.query._replace(min_cover=_LEAST_COVER, min_match=_LEAST_MATCH, keeps_newest=True)
        ranking = layer.ranking._replace(top=layer.ranking.fallback_top or layer.ranking.top)
        layers.append(layer._replace(query=query, ranking=ranking))
    request = build.request._replace(topic=words)
    return build._replace(profile=profile._replace(layers=tuple(layers)), request=request) if words else build


def _topic_words(root: str, process: ProcessEnvironment) -> str:
    from contextasm.workspace.git.commands import changed_files, current_branch  # here: many workspaces are in no git

    names: list[str] = []
    with suppress(ContextasmError):  # git fails, or takes long: a start does without it
        names = [name for name in [current_branch(root, process.environment)] if name not in _TRUNKS]
        # Notes are what is chosen from, and change with every session.
        files = [path for path in changed_files(root, process.environment) if not path.endswith(".md")]
        names += files if len(files) <= _MAX_CHANGED else []
    stems = (os.path.splitext(os.path.basename(name))[0] for name in names)
    return " ".join(dict.fromkeys(re.findall(r"[^\W\d_]{3,}", " ".join(stems))))
