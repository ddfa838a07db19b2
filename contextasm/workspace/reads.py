"""The reads of a request: its questions to the disk and the clock, and whether each has the same answer now.

A request whose reads are all the same has the same result. Answers are contents, so an edit that keeps size and time is
seen. Nothing heavy is imported: a stored output is looked up before anything else is loaded.
"""

from __future__ import annotations

import os
import stat
import time
from contextvars import ContextVar

TYPE_CHECKING = False  # importing `typing` takes as long as looking a stored output up
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Question = Callable[[str], object]

MOST_RESULTS = 16
"""Results that are kept for equal requests."""

MOST_BYTES = 8 << 20
"""Bytes of what is kept for one result in a process, and for all together on the disk."""

WEEK = 7 * 24 * 3600
"""Seconds after which nothing of this is used any more."""

MOST_READ = 1 << 26
"""Bytes of the largest file that is read again (`model.MAX_FILE`)."""

_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC

_LEAST_CHUNK = 64 * 1024
"""Bytes to ask for if the size of a file is not known, or was wrong."""


# --- Questions -------------------------------------------------------------------------------------------------------


def file_type(path: str) -> str:
    """The type of a path: `file`, `folder`, `other`, or empty for nothing; for a link, with `link ` before it."""
    if not os.path.lexists(path):
        return ""
    name = "folder" if os.path.isdir(path) else "file" if os.path.isfile(path) else "other"
    return f"link {name}" if os.path.islink(path) else name


def folder_names(folder: str) -> object:
    """The names in a folder without hidden ones, with their types as far as the folder has them. Raises `OSError`."""
    return _marked_names(folder_entries(folder))


def _marked_names(entries: list[os.DirEntry[str]]) -> object:
    shown = [each for each in entries if each.name[0] != "."]
    return sorted((each.name, file_type(each.path) if each.is_symlink() else each.is_dir()) for each in shown)


def file_content(path: str) -> bytes | None:
    """The bytes of a regular file of up to `MOST_READ` bytes; None for anything else. Raises `OSError`."""
    status = os.lstat(path)
    is_read = stat.S_ISREG(status.st_mode) and status.st_size <= MOST_READ
    return regular_bytes(path, MOST_READ)[1] if is_read else None


def file_stamp(path: str) -> tuple[int, ...]:
    """Times, size and inode, for a file that is compared by them. Raises `OSError`."""
    status = os.lstat(path)
    return status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino


def file_stamps(paths: str) -> list[tuple[int, ...]]:
    """The stamps of several files, one a line. Raises `OSError`."""
    return [*map(file_stamp, paths.split("\n"))]


def current_day(zone: str) -> object:
    """The day of the clock in a time zone, YYYY-MM-DD; an empty zone is the machine's."""
    if not zone:
        return time.strftime("%Y-%m-%d")
    from datetime import datetime
    from zoneinfo import ZoneInfo

    return str(datetime.now(ZoneInfo(zone)).date())


_ALL = (file_type, folder_names, file_content, file_stamp, file_stamps, os.path.realpath, current_day)

QUESTIONS: Mapping[str, Question] = {question.__name__: question for question in _ALL}


# --- Their record ----------------------------------------------------------------------------------------------------


class Reads:
    """The questions of one request in their order, with their answers."""

    def __init__(self) -> None:
        self.answers: dict[tuple[Question, str], object] = {}
        """Answers by question and by the path or time zone that it is about."""
        self.is_complete = True
        """False if the result depends on more, such as a program, a server or a file that fails."""
        self.streams = {1: b"", 2: b""}
        """What was written to standard output and standard error."""
        self.output: tuple[bytes, bool, bytes, bytes] | None = None
        """Standard input, whether a line with the time follows, messages, text; None if the command must run again."""

    def __enter__(self) -> Reads:  # noqa: PYI034 - `Self` is a name of `typing`
        """Record until the end of `with`."""
        self._token = _current.set(self)
        return self

    def __exit__(self, *_error: object) -> None:
        _current.reset(self._token)

    def are_same(self) -> bool:
        """Whether every question has the same answer now."""
        return all(current_answer(*question) == answer for question, answer in self.answers.items())


_current: ContextVar[Reads | None] = ContextVar("reads", default=None)


def real_path(path: str) -> str:
    """The absolute path with all links followed."""
    return ask(os.path.realpath, path)


def path_type(path: str) -> str:
    """The answer to `file_type`."""
    return ask(file_type, path)


def is_folder(path: str) -> bool:
    """Whether a path is a folder, or a link to one."""
    return path_type(path).endswith("folder")


def current_answer(question: Question, about: str) -> object:
    """The answer to a question now; None if it fails."""
    try:
        return question(about)
    except (OSError, ValueError, LookupError):
        return None


def ask(question: Callable[[str], str], about: str) -> str:
    """The answer to a question, which is recorded. Raises what the question raises."""
    answer = question(about)
    note_read(question, about, answer)
    return answer


def note_read(question: Question, about: str, answer: object) -> None:
    """Record an answer that was found in another way; a second one must be the same."""
    reads = _current.get()
    if reads and reads.answers.setdefault((question, about), answer) != answer:
        reads.is_complete = False


def note_other_input() -> None:
    """Record that the result depends on something that can't be asked again."""
    if reads := _current.get():
        reads.is_complete = False


def note_failure(path: str, error: OSError) -> None:
    """Record that a path can't be read: that nothing is there, or anything else, which need not be the same again."""
    note_read(file_type, path, "") if isinstance(error, FileNotFoundError) else note_other_input()


def note_whole_output(event: str = "", *, is_timed: bool = False) -> None:
    """Record that what was written is all that the request does, and that it follows from its reads and the event."""
    if reads := _current.get():
        reads.output = (event.encode(), is_timed, reads.streams[2], reads.streams[1])


# --- Recorded ways to the disk and to the streams --------------------------------------------------------------------


def regular_bytes(path: str, limit: int) -> tuple[os.stat_result, bytes]:
    """The status of what is at a path, and its bytes if it is a regular file of up to `limit` bytes.

    Those of a file that grows meanwhile may be one more. Links are not followed, and nothing is waited for. Raises
    `OSError`.
    """
    handle = os.open(path, _OPEN_FLAGS)
    try:
        status = os.fstat(handle)
        is_read = stat.S_ISREG(status.st_mode) and status.st_size <= limit
        return status, _read_up_to(handle, limit + 1, status.st_size + 1) if is_read else b""
    finally:
        os.close(handle)


def piped_bytes(handle: int, limit: int) -> bytes:
    """All that comes through an open pipe, up to `limit` bytes and one more. Raises `OSError`."""
    with open(handle, "rb", closefd=False) as pipe:
        return pipe.read(limit + 1)


def _read_up_to(handle: int, limit: int, expected: int) -> bytes:
    chunks = [os.read(handle, min(limit, expected))]
    size = len(chunks[0])
    if (
        size == expected - 1 > 0
    ):  # `expected` is one more than the size: all was read, and nothing has to be asked again
        return chunks[0]
    while size < limit and (chunk := os.read(handle, min(limit - size, max(expected - size, _LEAST_CHUNK)))):
        chunks.append(chunk)
        size += len(chunk)
    return b"".join(chunks)


def folder_entries(folder: str) -> list[os.DirEntry[str]]:
    """The entries of a folder. Raises `OSError` if it can't be listed."""
    try:
        with os.scandir(folder) as scan:
            entries = [*scan]
    except OSError as error:
        note_failure(folder, error)
        raise
    if _current.get():
        note_read(folder_names, folder, _marked_names(entries))
    return entries


def emit(handle: int, data: bytes | memoryview) -> None:
    """Write all of `data` to an open file, in as many steps as it takes, blocking or not.

    Raises `OSError`, but for standard error: a message that can't be written is lost.
    """
    if (reads := _current.get()) and handle in reads.streams:
        reads.streams[handle] += data
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(handle, rest) :]
        except BlockingIOError:
            import select

            poll = select.poll()
            poll.register(handle, select.POLLOUT)
            poll.poll()
        except OSError:
            if handle != 2:
                raise
            return


# --- The key of a request --------------------------------------------------------------------------------------------


def is_replay_allowed(environment: Mapping[str, str]) -> bool:
    """Whether the result of an equal request may be taken."""
    return all(environment.get(f"CTXASM_NO_{name}", "0") in {"", "0"} for name in ("REPLAY", "CACHE"))


def relevant_variables(environment: Mapping[str, str]) -> Iterator[str]:
    """The environment variables that may change a result, as `NAME=VALUE`."""
    own = {"HOME", "LANG", "NO_COLOR", "SOURCE_DATE_EPOCH", "TERM", "TZ"}
    names = (name for name in environment if name in own or name.startswith(("CTXASM_", "LC_", "PYTHON", "XDG_")))
    return (f"{name}={environment[name]}" for name in sorted(names))


def is_private(status: os.stat_result, kind: int) -> bool:
    """Whether something is of this kind, is the person's own, and can't be opened by anybody else."""
    return stat.S_IFMT(status.st_mode) == kind and not status.st_mode & 0o077 and status.st_uid == os.geteuid()


def remove_old(folder: str, most: int) -> None:
    """Remove files older than a week, and the oldest of more than `most` or of more bytes than may be kept.

    Raises `OSError`.
    """
    files = [(each.stat().st_mtime, each.stat().st_size, each.path) for each in os.scandir(folder)]
    total = 0
    for number, (changed, size, path) in enumerate(sorted(files, reverse=True)):
        total += size
        if number >= most or total > MOST_BYTES or changed < time.time() - WEEK:
            os.unlink(path)


def cache_base(environment: Mapping[str, str]) -> str:
    """The folder for caches of all programs (XDG base directories); empty if none is known."""
    base, home = environment.get("XDG_CACHE_HOME", ""), environment.get("HOME", "")
    return base if base.startswith("/") else f"{home}/.cache" if home.startswith("/") else ""
