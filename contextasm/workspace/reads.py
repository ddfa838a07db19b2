"""The reads of a request: what it asked the disk and the clock, and whether each of these has the same answer now.

A request whose reads are all the same has the same result. Answers are contents, not times: an edit that keeps size and
time is seen. Nothing heavy is imported: a stored output is looked up before anything else is loaded.
"""

from __future__ import annotations

import os
import stat
import time
from contextvars import ContextVar

TYPE_CHECKING = False  # as `typing` has it, which takes as long to import as the check of a whole workspace
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

MOST_RESULTS = 16
MOST_BYTES = 8 << 20
"""Results that are kept for equal requests, in a process and on the disk, and bytes of all of them."""

OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC

_VARIABLES = ("HOME", "LANG", "NO_COLOR", "SOURCE_DATE_EPOCH", "TERM", "TZ")
_PREFIXES = ("CTXASM_", "LC_", "PYTHON", "XDG_")

Question = tuple[str, str]
"""A key of `_ANSWERS`, and the path or the time zone that it is about."""


class Reads:
    """The questions of one request in their order, with their answers."""

    def __init__(self) -> None:
        self.answers: dict[Question, bytes] = {}
        self.is_complete = True
        """False if the request depends on more: on a program, a server, standard input, or a file that fails."""
        self.streams: list[tuple[int, bytes]] = []
        """What it wrote to standard output and standard error, with the number of the stream."""

    def __enter__(self) -> Reads:
        """Record all reads until the end of `with`."""
        self._token = _current.set(self)
        return self

    def __exit__(self, *_error: object) -> None:
        _current.reset(self._token)

    def note(self, question: Question, answer: bytes) -> None:
        """Add a question; one that was asked before must have the same answer."""
        if self.answers.setdefault(question, answer) != answer:
            self.is_complete = False

    @property
    def size(self) -> int:
        """Bytes of all answers."""
        return sum(map(len, self.answers.values()))

    def are_same(self) -> bool:
        """Whether every question has the same answer now."""
        return all(current_answer(question) == answer for question, answer in self.answers.items())


_current: ContextVar[Reads | None] = ContextVar("reads", default=None)


def current_reads() -> Reads | None:
    """The reads that are recorded; None if nobody asked for them."""
    return _current.get()


def note_read(kind: str, about: str, answer: bytes) -> None:
    """Note a question that was asked elsewhere, with the answer that was used."""
    if reads := _current.get():
        reads.note((kind, about), answer)


def note_other_input() -> None:
    """Note that the request depends on something that can't be asked again here."""
    if reads := _current.get():
        reads.is_complete = False


def file_type(path: str) -> str:
    """The type of a path: `file`, `folder`, `other`, or empty for nothing; for a link, with `link ` before it."""
    return _asked("type", path).decode()


def is_folder(path: str) -> bool:
    """Whether a path is a folder, or a link to one."""
    return file_type(path).endswith("folder")


def real_path(path: str) -> str:
    """The absolute path with all links followed."""
    return os.fsdecode(_asked("real", path))


def scanned(folder: str) -> list[os.DirEntry[str]]:
    """The entries of a folder. Raises `OSError` if it can't be listed."""
    try:
        with os.scandir(folder) as scan:
            entries = [*scan]
    except FileNotFoundError:
        note_read("names", folder, b"")
        raise
    except OSError:
        note_other_input()
        raise
    if _current.get():
        try:
            note_read("names", folder, _names_answer(entries))
        except OSError:  # a link that leads to itself
            note_other_input()
    return entries


def _asked(kind: str, path: str) -> bytes:
    answer = _ANSWERS[kind](path)
    note_read(kind, path, answer)
    return answer


def current_answer(question: Question) -> bytes | None:
    """The answer to a question now; None if there is none."""
    kind, about = question
    try:
        return _ANSWERS[kind](about)
    except (OSError, ValueError, LookupError):
        return None


def _type(path: str) -> bytes:
    try:
        mode = os.lstat(path).st_mode
        if not stat.S_ISLNK(mode):
            return _type_of_mode(mode)
    except (OSError, ValueError):
        return b""
    try:
        return b"link " + _type_of_mode(os.stat(path).st_mode)
    except OSError:
        return b"link "


def _type_of_mode(mode: int) -> bytes:
    return b"file" if stat.S_ISREG(mode) else b"folder" if stat.S_ISDIR(mode) else b"other"


def _bytes(path: str) -> bytes | None:
    if not stat.S_ISREG(os.lstat(path).st_mode):  # opening anything else might wait
        return None
    handle = os.open(path, OPEN_FLAGS)
    try:
        status = os.fstat(handle)
        return os.read(handle, status.st_size + 1) if stat.S_ISREG(status.st_mode) else None
    finally:
        os.close(handle)


def _names(folder: str) -> bytes:
    try:
        with os.scandir(folder) as entries:
            return _names_answer(entries)
    except FileNotFoundError:
        return b""


def _names_answer(entries: Iterable[os.DirEntry[str]]) -> bytes:
    """The names in a folder without hidden ones, with a mark for a folder and one for a link."""
    marked = (f"{each.name}/{'@' * each.is_symlink()}{'/' * each.is_dir()}" for each in entries if each.name[0] != ".")
    return os.fsencode("\0".join(sorted(marked)) + "\0")


def _stamp(path: str) -> bytes:
    return stamp_answer(os.lstat(path))


def stamp_answer(status: os.stat_result) -> bytes:
    """The answer to `stamp`, for a file whose content is known by its times, size and inode."""
    return b"%d %d %d %d" % (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def _day(zone: str) -> bytes:
    if not zone:
        return b"%d-%02d-%02d" % time.localtime()[:3]
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return datetime.now(ZoneInfo(zone)).date().isoformat().encode()


_ANSWERS: Mapping[str, Callable[[str], bytes | None]] = {
    "type": _type,
    "bytes": _bytes,
    "names": _names,
    "real": lambda path: os.fsencode(os.path.realpath(path)),
    "stamp": _stamp,
    "day": _day,
}


# --- What else decides on a result -----------------------------------------------------------------------------------


def is_replay_allowed(environment: Mapping[str, str]) -> bool:
    """Whether a result may be taken for an equal request."""
    return all(environment.get(f"CTXASM_NO_{name}", "0") in {"", "0"} for name in ("REPLAY", "CACHE"))


def relevant_variables(environment: Mapping[str, str]) -> Iterator[str]:
    """The environment variables that may change a result, as `NAME=VALUE`."""
    names = sorted(name for name in environment if name in _VARIABLES or name.startswith(_PREFIXES))
    return (f"{name}={environment[name]}" for name in names)
