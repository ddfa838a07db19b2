"""The output of an earlier command line, written again if nothing that it was made of has changed.

Outputs are in the person's cache folder. One is looked up before anything else is imported, and any doubt means that
the command runs. It is stored after it was written, with digests of the bytes that were read: a file that has changed
since then is seen.
"""

from __future__ import annotations

import os
import stat
import sys
import time
from hashlib import sha256

import contextasm
from contextasm.workspace import reads

TYPE_CHECKING = False  # as in `reads`
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_DIGITS = 64
"""Length of a digest."""


def run_or_replay(words: list[str], run: Callable[[list[str]], int]) -> int:
    """Write the stored output of a command line, or `run` it and store its output; returns the exit code."""
    began = time.time()
    place = _place(words)
    if place and (output := _unchanged_output(place, words[0])):
        return _write_again(words, began, *output)
    from contextlib import suppress

    with reads.Reads() as recorded:
        code = run(words)
    if place and code == 0 and recorded.is_complete:
        with suppress(BaseException):  # the output is written; it is not an error that the next one takes longer
            _store(place, recorded, began)
    return code


def _place(words: list[str]) -> str:
    """The path of the output of a command line, without the digest of an event; empty if none may be stored."""
    base = reads.cache_base(os.environ)
    if not base or not reads.is_replay_allowed(os.environ) or "_CTXASM_COMPLETE" in os.environ:
        return ""
    try:
        process = (sys.version, contextasm.__version__, contextasm.__file__, os.getcwd(), os.isatty(1), os.isatty(2))
    except OSError:  # the current folder is gone
        return ""
    key = "\0".join([*map(str, process), *reads.relevant_variables(os.environ), "", *words])
    return f"{base}/ctxasm/outputs/{_digest(key)}"


def _digest(value: object) -> str:
    return sha256(value if isinstance(value, bytes | memoryview) else repr(value).encode()).hexdigest()


def _event_digest(event: bytes) -> str:
    return _digest(event) if event else ""


def _unchanged_output(place: str, command: str) -> tuple[bool, memoryview, memoryview] | None:
    """A stored output whose reads are all the same: whether a time follows, messages, and text; None for none."""
    folder, _, name = place.rpartition("/")
    try:
        if not reads.is_private(os.lstat(folder), stat.S_IFDIR):
            return None
        # Standard input is read only for a line that had an answer before: a wrong one would not read it.
        if command == "hook" and any(each.startswith(name) for each in os.listdir(folder)):
            place += _event_digest(_read_event())
        status, data = reads.regular_bytes(place, reads.MOST_BYTES)
        view, end = memoryview(data), data.index(b"\0\0")  # no copies: an output may have megabytes
        if not reads.is_private(status, stat.S_IFREG) or _digest(view[_DIGITS:]).encode() != view[:_DIGITS]:
            return None
        stored, is_timed, size, digest, *asked = os.fsdecode(data[_DIGITS:end]).split("\0")
        written = view[end + 2 :]
        questions = (question.partition(" ") for question in asked)
        answers = (reads.current_answer(reads.QUESTIONS[name], about) for name, _, about in questions)
        is_same = 0 <= time.time() - int(stored) < reads.WEEK and _digest_of_answers(answers) == digest
        return (is_timed == "1", written[: int(size)], written[int(size) :]) if is_same else None
    except (OSError, ValueError, LookupError):
        return None


def _read_event() -> bytes:
    """The event on standard input, which the command can read again; empty for a terminal. Raises `OSError`."""
    from io import BytesIO, TextIOWrapper

    if not sys.stdin or sys.stdin.isatty():
        return b""
    event = sys.stdin.buffer.read(reads.MOST_READ + 1)
    sys.stdin = TextIOWrapper(BytesIO(event))
    return event


def _digest_of_answers(answers: Iterable[object]) -> str:
    """One digest of all answers in their order, which takes less time than one of each."""
    digest = sha256()
    for each in answers:
        digest.update(b"file %d " % len(each) + each if isinstance(each, bytes) else repr(each).encode())
    return digest.hexdigest()


def _write_again(words: list[str], began: float, is_timed: bool, messages: memoryview, text: memoryview) -> int:
    """Write a stored output; returns the exit code."""
    try:
        reads.emit(1, text)
        reads.emit(2, messages)
    except OSError as error:
        from contextasm.cli.app import failed
        from contextasm.cli.output import stdout_error

        return failed(stdout_error(error), words)
    if is_timed:
        reads.emit(2, b"%.0f ms, written again: no input has changed\n" % ((time.time() - began) * 1000))
    return 0


def _store(place: str, recorded: reads.Reads, began: float) -> None:
    """Store an output with its reads, if it may be. Raises `OSError` if that can't be done."""
    modules = {name: getattr(module, "__file__", None) for name, module in [*sys.modules.items()]}
    files = [file for name, file in modules.items() if file and name.partition(".")[0] not in sys.stdlib_module_names]
    stamps = reads.file_stamps(paths := "\n".join(files))
    # Of a module that was changed just now, this process may have loaded the one before.
    if recorded.output is None or any(changed > began * 1e9 for changed, *_ in stamps):
        return
    event, is_timed, messages, text = recorded.output
    recorded.answers[reads.file_stamps, paths] = stamps
    head = [str(int(began)), str(int(is_timed)), str(len(messages)), _digest_of_answers(recorded.answers.values())]
    head += [f"{question.__name__} {about}" for question, about in recorded.answers]
    data = os.fsencode("\0".join(head)) + b"\0\0" + messages + text
    if len(data) <= reads.MOST_BYTES:
        from contextasm.workspace.atomic import create  # here: the command has imported it

        folder, path = os.path.dirname(place), place + _event_digest(event)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        create(temporary := f"{path}.{os.getpid()}", _digest(data).encode() + data, 0o600)
        os.replace(temporary, path)
        reads.remove_old(folder, reads.MOST_RESULTS)
