"""What an embedder is given to do, and how it says that it can't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import NamedTuple

from contextasm.model import EmbedderConfig, RunProgram

Vector = Sequence[float]
"""A vector as an embedder gives it, nothing checked yet."""


OTHER_NUMBER = "gave another number of vectors than there were texts"


class EmbeddingFailed(Exception):  # noqa: N818 - it is no error of the build
    """Why there are no vectors: the rest of a sentence that begins with the embedder's name."""


class EmbeddingUnfinished(EmbeddingFailed):
    """As much, where the vectors that came before are sound: too late, or a server that broke off."""


class EmbeddingRequest(NamedTuple):
    """Texts to make vectors of."""

    embedder: EmbedderConfig
    root: str
    """The workspace's folder."""
    environment: Mapping[str, str]
    texts: Sequence[str]
    deadline: float
    """On the clock that only goes on (`time.monotonic`)."""
    run_program: RunProgram
    """Runs the embedder, where that is a command."""

    def left(self) -> float:
        """Seconds until the deadline. Raises `EmbeddingUnfinished` where it is over."""
        left = self.deadline - monotonic()
        if left <= 0:
            raise EmbeddingUnfinished(f"took longer than {self.embedder.timeout:g} s")
        return left
