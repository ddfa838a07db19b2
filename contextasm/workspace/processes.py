"""Programs that a workspace's settings name, run without a shell until a deadline at most.

Each runs in the workspace's folder, in a session of its own; when its output is no longer read, it is killed with
everything that it has started in that session. `config/keys/trust.py` decides whether a program may run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, TYPE_CHECKING

from contextasm.model import ProgramFailed

if TYPE_CHECKING:
    import subprocess

_LONGEST_LINE = 4 << 20
"""Bytes."""

_POLL = 0.1
"""Seconds after which a program without output is checked."""

_LAST_WORDS = 200
"""Characters of the end of a program's standard error that a message shows."""


def run_program(
    command: Sequence[str],
    folder: str,
    environment: Mapping[str, str],
    given: Iterable[bytes],
    seconds_left: Callable[[], float],
) -> Generator[bytes, None, None]:
    """The lines of a program's standard output (`model.RunProgram`), read as they come and never held as a whole."""
    import subprocess

    with _input_file(given) as file, _running(command, folder, environment, file) as process:
        errors = bytearray()
        yield from _lines(process, errors, seconds_left)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds_left())
        if process.returncode is None:
            seconds_left()
        if process.returncode:
            last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2][-_LAST_WORDS:]
            raise ProgramFailed(f"ended with exit code {process.returncode}{f' ({last})' if last else ''}")


@contextmanager
def _input_file(given: Iterable[bytes]) -> Iterator[IO[bytes]]:
    """The input in a file without a name, from which a program may read as slowly as it likes."""
    import tempfile

    with ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile())
            file.writelines(given)
            file.seek(0)
        except OSError as error:
            raise ProgramFailed(f"can't be given its input: {error.strerror}") from error
        yield file


@contextmanager
def _running(
    command: Sequence[str], folder: str, environment: Mapping[str, str], file: IO[bytes]
) -> Iterator[subprocess.Popen[bytes]]:
    """The running program; it and its session are killed when the block ends."""
    import signal
    import subprocess

    try:
        process = subprocess.Popen(  # noqa: S603 - the person has allowed it (config/keys/trust.py)
            command,
            cwd=folder,
            env=dict(environment),
            stdin=file,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise ProgramFailed(f"can't be run: {getattr(error, 'strerror', None) or error}") from error
    with process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)


def _lines(process: subprocess.Popen[bytes], errors: bytearray, seconds_left: Callable[[], float]) -> Iterator[bytes]:
    """The lines of standard output as they come; the end of standard error is put into `errors`."""
    import selectors

    rest = b""
    with selectors.DefaultSelector() as streams:
        for stream in (process.stdout, process.stderr):
            assert stream
            streams.register(stream, selectors.EVENT_READ)
        while streams.get_map():
            ready = streams.select(min(seconds_left(), _POLL))
            if not ready and process.poll() is not None:
                break  # it has ended; a child that still runs holds the streams open
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    streams.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    errors[:] = (errors + data)[-4 * _LAST_WORDS :]
                else:
                    *lines, rest = (rest + data).split(b"\n")
                    yield from lines
            if len(rest) > _LONGEST_LINE:
                raise ProgramFailed("gave an endless line")
    if rest:
        yield rest
