"""The request that every kind of embedder gets, and the two ways in which it can fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from contextasm.model import EmbedderConfig, RunProgram

Vector = Sequence[float]
"""A vector as an embedder gives it, not checked yet."""


OTHER_NUMBER = "gave another number of vectors than there were texts"


class EmbeddingFailed(Exception):  # noqa: N818 - it is no error of the build
    """Reason why there are no vectors: the rest of a sentence that begins with "the embedder"."""


class EmbeddingUnfinished(EmbeddingFailed):
    """Reason why vectors are missing, where those that came before are sound: a deadline, a connection that broke."""


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
