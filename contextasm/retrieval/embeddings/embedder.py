"""A second opinion by meaning: how near texts are to a topic, by vectors that somebody else makes.

One of a command, a server and a model's folder makes them; they are remembered between builds. Whatever goes wrong is
a problem, never an error: the build then goes on without this opinion. Nothing is ever downloaded.
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from operator import mul
from pathlib import Path
from time import monotonic

from contextasm.model import EmbedderConfig, Problem, RunProgram
from contextasm.retrieval.embeddings.request import (
    OTHER_NUMBER,
    EmbeddingFailed,
    EmbeddingRequest,
    EmbeddingUnfinished,
    Vector,
)
from contextasm.retrieval.embeddings.vector_cache import PackedVector, VectorCache


def _by_command(job: EmbeddingRequest) -> Iterator[Vector]:
    from contextasm.retrieval.embeddings.subprocess_embedder import embed_by_command

    return embed_by_command(job)


def _by_url(job: EmbeddingRequest) -> Iterator[Vector]:
    from contextasm.retrieval.embeddings.http_embedder import embed_by_url

    return embed_by_url(job)


def _by_folder(job: EmbeddingRequest) -> Iterator[Vector]:
    from contextasm.retrieval.embeddings.local_model import embed_by_folder

    return embed_by_folder(job)


EMBEDDERS: Mapping[str, Callable[[EmbeddingRequest], Iterator[Vector]]] = {
    "command": _by_command,
    "url": _by_url,
    "folder": _by_folder,
}
"""Each kind of embedder: it gives a vector for each text, in order, and raises `EmbeddingFailed` where it can't go on."""

SETTINGS_FILE = "ctxasm.yaml"


class EmbeddingSimilarity:
    """The second opinion of one build (`model.Meaning`); after a failure it is not asked again."""

    def __init__(
        self,
        embedder: EmbedderConfig,
        root: str,
        environment: Mapping[str, str],
        cache: Path | None,
        run_program: RunProgram,
    ) -> None:
        """Of a workspace at `root`; vectors are remembered in the folder `cache`, None for not at all."""
        self._embedder = embedder
        self._root = root
        self._environment = environment
        self._cache = cache
        self._run_program = run_program
        self._remembered: VectorCache | None = None
        self._problem: Problem | None = None

    def __call__(self, topic: str, texts: Sequence[str]) -> Sequence[float] | Problem:
        """The cosine of each text to the topic, less the least that makes an answer."""
        if not self._problem and texts:
            try:
                vectors = self._vectors([topic, *texts])
                return [_cosine(vectors[topic], vectors[text]) - self._embedder.near for text in texts]
            except EmbeddingFailed as error:
                message = f"the embedder {error}; memories are ranked by their words alone"
                self._problem = Problem("embedder", SETTINGS_FILE, self._embedder.line, message)
        return self._problem or ()

    def _vectors(self, texts: Sequence[str]) -> Mapping[str, PackedVector]:
        """A vector for each text, all of one length: remembered ones, and new ones of those that are not."""
        self._remembered = self._remembered or VectorCache(self._cache, _name(self._embedder, self._root))
        distinct = list(dict.fromkeys(texts))
        known = self._remembered.get(distinct)
        new = self._made([text for text in distinct if text not in known])
        if len({len(vector) for vector in (*known.values(), *new.values())}) > 1:
            # What makes the vectors is another one than it was: nothing that is remembered is worth anything.
            known, new = {}, self._made(distinct)
        return {**known, **new}

    def _made(self, texts: Sequence[str]) -> dict[str, PackedVector]:
        """New vectors. Sound ones that came before a failure are remembered, so that the next build gets further."""
        made: dict[str, PackedVector] = {}
        if not texts:
            return made
        assert self._remembered
        deadline = monotonic() + self._embedder.timeout
        job = EmbeddingRequest(self._embedder, self._root, self._environment, texts, deadline, self._run_program)
        try:
            with closing(EMBEDDERS[self._embedder.kind](job)) as vectors:  # type: ignore[type-var]
                _take(vectors, texts, made)
        except EmbeddingUnfinished:
            self._remembered.put(made)
            raise
        self._remembered.put(made)
        return made


def _take(vectors: Iterator[Vector], texts: Sequence[str], made: dict[str, PackedVector]) -> None:
    """Put each vector to its text. Raises `EmbeddingFailed` where they do not fit each other or the texts."""
    for values in vectors:
        if len(made) < len(texts):
            vector = made[texts[len(made)]] = _unit(values)
            if len(vector) != len(made[texts[0]]):
                raise EmbeddingFailed("gave vectors of different lengths")
        else:
            raise EmbeddingFailed(OTHER_NUMBER)
    if len(made) < len(texts):
        raise EmbeddingFailed(OTHER_NUMBER)


def _name(embedder: EmbedderConfig, root: str) -> str:
    """What vectors are remembered under: all that tells one model from another."""
    place = root if embedder.kind == "command" else ""
    own = _state(embedder.folder, root) if embedder.kind == "folder" else ""
    return "\0".join((embedder.kind, *embedder.command, embedder.url, embedder.model, place, own))


def _state(folder: str, root: str) -> str:
    """What tells a model's file from another one, or from a later one of the same name."""
    from contextasm.retrieval.embeddings.local_model import weights_path

    path = weights_path(folder, root)
    try:
        status = os.stat(path)
    except OSError:
        return path
    return f"{os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}"


def _unit(values: Vector) -> PackedVector:
    """A vector of length one, or of zeros. Raises `EmbeddingFailed` for what is no list of finite numbers."""
    if not isinstance(values, list) or not values or any(type(value) not in {float, int} for value in values):
        raise EmbeddingFailed("gave something that is no list of numbers")
    try:
        norm = math.hypot(*values)
    except OverflowError:
        norm = math.inf
    if not math.isfinite(norm):
        raise EmbeddingFailed("gave a number that is not finite")
    return array("f", (value / (norm or 1.0) for value in values))


def _cosine(one: PackedVector, other: PackedVector) -> float:
    """Of two vectors of length one; rounded, since the last digits of a sum differ between versions of Python."""
    cosine: float = sum(map(mul, one, other))
    return round(cosine, 6)
