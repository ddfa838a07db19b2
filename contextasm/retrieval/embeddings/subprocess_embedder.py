"""Vectors by a command: one text a line as JSON on its standard input, one vector a line as JSON on its output.

The command runs without a shell, in the workspace's folder, in a session of its own; when the search ends, every
process of that session is killed. The output is read line by line and never held as a whole.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, Any

from contextasm.retrieval.embeddings.request import EmbeddingFailed, EmbeddingRequest, Vector

_MAX_LINE = 4 << 20
"""Bytes of one vector."""

_POLL = 0.1
"""Seconds between two looks at whether a silent command has ended."""

_MAX_REASON = 200
"""Characters of the last line on standard error that a message shows."""


def embed_by_command(job: EmbeddingRequest) -> Iterator[Vector]:
    """A vector for each line of output. Raises `EmbeddingFailed` where the command does not start, fails or is slow."""
    with _texts_file(job.texts) as texts, _running(job, texts) as process:
        errors = bytearray()
        for line in _output_lines(job, process, errors):
            yield _parse(line)
        with suppress(subprocess.TimeoutExpired):
            process.wait(job.seconds_left())
        if process.returncode is None:
            job.seconds_left()
        if process.returncode:
            last = errors.decode("utf-8", "replace").strip().rpartition("\n")[2][-_MAX_REASON:]
            raise EmbeddingFailed(f"ended with exit code {process.returncode}{f' ({last})' if last else ''}")


@contextmanager
def _texts_file(texts: Sequence[str]) -> Iterator[IO[bytes]]:
    """The texts in a file without a name: a pipe would block on a command that reads slowly."""
    with ExitStack() as stack:
        try:
            file = stack.enter_context(tempfile.TemporaryFile())
            file.writelines(json.dumps(text).encode() + b"\n" for text in texts)
            file.seek(0)
        except OSError as error:
            raise EmbeddingFailed(f"can't be given its texts: {error.strerror}") from error
        yield file


@contextmanager
def _running(job: EmbeddingRequest, texts: IO[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    """The started command; it and what it has started are killed at the end."""
    try:
        process = subprocess.Popen(  # noqa: S603 - the person has allowed it (config/embedder.py)
            job.embedder.command,
            cwd=job.root,
            env=dict(job.environment),
            stdin=texts,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise EmbeddingFailed(f"can't be run: {getattr(error, 'strerror', None) or error}") from error
    try:
        yield process
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()


def _output_lines(job: EmbeddingRequest, process: subprocess.Popen[bytes], errors: bytearray) -> Iterator[bytes]:
    """The lines of output as they come; the end of standard error is put into `errors`."""
    rest = b""
    with selectors.DefaultSelector() as streams:
        for stream in (process.stdout, process.stderr):
            assert stream
            streams.register(stream, selectors.EVENT_READ)
        while streams.get_map():
            ready = streams.select(min(job.seconds_left(), _POLL))
            if not ready and process.poll() is not None:
                break  # it has ended; what holds the streams open is a child that it has left behind
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    streams.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    errors[:] = (errors + data)[-4 * _MAX_REASON :]
                else:
                    *lines, rest = (rest + data).split(b"\n")
                    yield from (line for line in lines if line.strip())
            if len(rest) > _MAX_LINE:
                raise EmbeddingFailed("gave a line that does not end")
    if rest.strip():
        yield rest


def _parse(line: bytes) -> Any:
    """The value of a line; the caller checks whether it is a vector."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        shown = line[:40].decode("utf-8", "replace")
        raise EmbeddingFailed(f"gave a line that is no JSON: {shown}") from error
