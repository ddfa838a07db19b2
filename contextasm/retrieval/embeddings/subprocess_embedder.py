"""Vectors by a command: one text a line as JSON on its standard input, one vector a line as JSON on its output.

The program is run by the function that the request brings along; nothing is started here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

from contextasm.model import ProgramFailed
from contextasm.retrieval.embeddings.request import EmbeddingFailed, EmbeddingRequest, Vector


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
        raise EmbeddingFailed(f"gave a line that is no JSON: {shown}") from error
