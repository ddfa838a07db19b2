"""The request that every kind of embedder gets, the two ways in which it can fail, and the embedder that is a command.

A command gets one text a line as JSON on its standard input, and gives one vector a line as JSON on its output. It is
run by the function that the request brings along.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from time import monotonic
from typing import Any

from contextasm.model import EmbedderConfig, NamedTuple, ProgramFailed, RunProgram

Vector = Sequence[float]
"""A vector as an embedder gives it, not checked yet."""


OTHER_NUMBER = "did not give one vector for each text"


class EmbeddingFailed(Exception):  # noqa: N818 - not an error of the build
    """Reason why there are no vectors: the rest of a sentence that begins with "the embedder"."""


class EmbeddingUnfinished(EmbeddingFailed):
    """Reason why vectors are missing, although the earlier ones are sound: a deadline, a connection that broke."""


class EmbeddingRequest(NamedTuple):
    """Texts to make vectors of, and the embedder that is to make them."""

    embedder: EmbedderConfig
    root: str
    """Folder of the workspace."""
    environment: Mapping[str, str]
    texts: Sequence[str]
    deadline: float
    """Time of `time.monotonic`, in seconds."""
    run_program: RunProgram
    """Runs the embedder where it is a command."""

    def seconds_left(self) -> float:
        """Seconds until the deadline, above 0. Raises `EmbeddingUnfinished` after it."""
        seconds = self.deadline - monotonic()
        if seconds <= 0:
            raise EmbeddingUnfinished(f"took longer than {self.embedder.timeout:g} s")
        return seconds


def embed_by_command(job: EmbeddingRequest) -> Iterator[Vector]:
    """A vector for each line of output; `EmbeddingFailed` where the command can't be run, fails or takes too long."""
    given = (json.dumps(text).encode() + b"\n" for text in job.texts)
    try:
        with closing(
            job.run_program(job.embedder.command, job.root, job.environment, given, job.seconds_left)
        ) as lines:
            for line in lines:
                if line.strip():
                    yield _vector(line)
    except ProgramFailed as error:
        raise EmbeddingFailed(str(error)) from error


def _vector(line: bytes) -> Any:
    """The value of a line, which the caller checks."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        shown = line[:40].decode("utf-8", "replace")
        raise EmbeddingFailed(f"gave a line that is not JSON: {shown}") from error
