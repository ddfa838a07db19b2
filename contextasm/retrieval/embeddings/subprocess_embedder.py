"""Vectors by a command: one text a line as JSON on its standard input, one vector a line as JSON on its output.

It is run without a shell, in the workspace's folder, in a session of its own; when the search ends it and all that it
has started in that session is killed. Its output is read line by line and never held as a whole.
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

_LINE = 4 << 20
"""Bytes that one vector may take."""

_LOOK = 0.1
"""Seconds after which a silent command is looked after."""

_LAST_WORDS = 200
"""Characters of what it said last that are told."""


def embed_by_command(job: EmbeddingRequest) -> Iterator[Vector]:
    """A vector for each line of output; `EmbeddingFailed` where the command can't be run, fails or takes too long."""
    with _texts(job.texts) as texts, _running(job, texts) as process:
        said = bytearray()
        for line in _lines(job, process, said):
            yield _vector(line)
        with suppress(subprocess.TimeoutExpired):
            process.wait(job.left())
        if process.returncode is None:
            job.left()
        if process.returncode:
            last = said.decode("utf-8", "replace").strip().rpartition("\n")[2][-_LAST_WORDS:]
            raise EmbeddingFailed(f"ended with exit code {process.returncode}{f' ({last})' if last else ''}")


@contextmanager
def _texts(texts: Sequence[str]) -> Iterator[IO[bytes]]:
    """The texts in a file without a name, from which a command may read as slowly as it likes."""
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
    """The command, which does not outlive this."""
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


def _lines(job: EmbeddingRequest, process: subprocess.Popen[bytes], said: bytearray) -> Iterator[bytes]:
    """The lines of output as they come; the end of what else it says is put into `said`."""
    rest = b""
    with selectors.DefaultSelector() as streams:
        for stream in (process.stdout, process.stderr):
            assert stream
            streams.register(stream, selectors.EVENT_READ)
        while streams.get_map():
            ready = streams.select(min(job.left(), _LOOK))
            if not ready and process.poll() is not None:
                break  # it has ended; what holds the streams open is a child that it has left behind
            for key, _ in ready:
                data = os.read(key.fd, 1 << 16)
                if not data:
                    streams.unregister(key.fileobj)
                elif key.fileobj is process.stderr:
                    said[:] = (said + data)[-4 * _LAST_WORDS :]
                else:
                    *lines, rest = (rest + data).split(b"\n")
                    yield from (line for line in lines if line.strip())
            if len(rest) > _LINE:
                raise EmbeddingFailed("gave a line that does not end")
    if rest.strip():
        yield rest


def _vector(line: bytes) -> Any:
    """What a line says; whether it is a vector is found out by who asked."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        shown = line[:40].decode("utf-8", "replace")
        raise EmbeddingFailed(f"gave a line that is no JSON: {shown}") from error
