"""Semantic similarity of texts to a topic: cosines of vectors that a command, a server or a model in a folder makes.

Vectors are remembered between builds. A failure is a problem, never an error: the build then goes on with the words
alone. Nothing is downloaded.
"""

from __future__ import annotations

import math
import os
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from operator import mul
from sys import byteorder
from time import monotonic
from typing import TypeAlias

from contextasm.model import Cache, EmbedderConfig, Problem, RunProgram
from contextasm.retrieval.embeddings.request import (
    OTHER_NUMBER,
    EmbeddingFailed,
    EmbeddingRequest,
    EmbeddingUnfinished,
    Vector,
    embed_by_command,
)

PackedVector: TypeAlias = "array[float]"
"""Numbers of 32 bits."""

_VERSION = "2"
"""Goes up when the same model and text may give another vector."""


def _embed(job: EmbeddingRequest) -> Iterator[Vector]:
    """A vector for each text, in order. Raises `EmbeddingFailed`."""
    if job.embedder.kind == "url":
        from contextasm.retrieval.embeddings.http_embedder import embed_by_url

        return embed_by_url(job)
    if job.embedder.kind == "folder":
        from contextasm.retrieval.embeddings.local_model import embed_by_folder

        return embed_by_folder(job)
    return embed_by_command(job)


SETTINGS_FILE = "ctxasm.yaml"


class EmbeddingSimilarity:
    """Semantic similarity for one build (`model.SemanticSimilarity`); an embedder that fails is not used again."""

    def __init__(
        self,
        embedder: EmbedderConfig,
        root: str,
        environment: Mapping[str, str],
        cache_of: Callable[[str], Cache],
        run_program: RunProgram,
    ) -> None:
        """Embed for the workspace at `root`, and remember vectors in the cache that `cache_of` gives for a version."""
        self._embedder = embedder
        self._request = EmbeddingRequest(embedder, root, environment, (), 0.0, run_program)
        self._problem: Problem | None = None
        self.cache = cache_of(_model_key(embedder, root))

    def __call__(self, topic: str, texts: Sequence[str]) -> Sequence[float] | Problem:
        """Cosine of each text to the topic, less the cosine from which on a text is a match; or the problem."""
        if not self._problem and texts:
            try:
                vectors = self._vectors([topic, *texts])
                return [_cosine(vectors[topic], vectors[text]) - self._embedder.near for text in texts]
            except EmbeddingFailed as error:
                message = f"the embedder {error}; {self._embedder.without}"
                self._problem = Problem("embedder", SETTINGS_FILE, self._embedder.line, message)
        return self._problem or ()

    def _vectors(self, texts: Sequence[str]) -> Mapping[str, PackedVector]:
        """A vector for each text, remembered or new, all of one length."""
        distinct = list(dict.fromkeys(texts))
        stored = {text: self.cache.get(text) for text in distinct}
        remembered = {text: array("f", vector) for text, vector in stored.items() if vector}
        new = self._make([text for text in distinct if text not in remembered])
        if len({len(vector) for vector in (*remembered.values(), *new.values())}) > 1:
            # Another model makes the vectors now, under the same name: the remembered ones fit nothing.
            remembered, new = {}, self._make(distinct)
        return {**remembered, **new}

    def _make(self, texts: Sequence[str]) -> dict[str, PackedVector]:
        """New vectors, which are remembered; after a deadline those in time are, so the next build gets further."""
        vectors: dict[str, PackedVector] = {}
        if not texts:
            return vectors
        job = self._request._replace(texts=texts, deadline=monotonic() + self._embedder.timeout)
        try:
            with closing(_embed(job)) as answers:  # type: ignore[type-var]
                _collect(answers, texts, vectors)
        except EmbeddingUnfinished:
            self._remember(vectors)
            raise
        self._remember(vectors)
        return vectors

    def _remember(self, vectors: Mapping[str, PackedVector]) -> None:
        for text, vector in vectors.items():
            self.cache.put(text, vector.tobytes())
        self.cache.save()


def _collect(answers: Iterator[Vector], texts: Sequence[str], vectors: dict[str, PackedVector]) -> None:
    """Put the vector of each text into `vectors`, as the answers come.

    Raises `EmbeddingFailed` for answers that are not vectors, differ in length, or are not one for each text.
    """
    for answer in answers:
        if len(vectors) == len(texts):
            raise EmbeddingFailed(OTHER_NUMBER)
        vector = vectors[texts[len(vectors)]] = _normalize(answer)
        if len(vector) != len(vectors[texts[0]]):
            raise EmbeddingFailed("gave vectors of different lengths")
    if len(vectors) < len(texts):
        raise EmbeddingFailed(OTHER_NUMBER)


def _model_key(embedder: EmbedderConfig, root: str) -> str:
    """Key that vectors are remembered under: another model has another one."""
    place = root if embedder.kind == "command" else ""
    file = _file_version(embedder.folder, root) if embedder.kind == "folder" else ""
    return "\0".join((_VERSION, byteorder, embedder.kind, *embedder.command, embedder.url, embedder.model, place, file))


def _file_version(folder: str, root: str) -> str:
    from contextasm.retrieval.embeddings.local_model import model_path

    path = model_path(folder, root)
    try:
        status = os.stat(path)
    except OSError:
        return path
    return f"{os.path.realpath(path)} {status.st_size} {status.st_mtime_ns}"


def _normalize(values: Vector) -> PackedVector:
    """The vector at length one; zeros stay zeros. Raises `EmbeddingFailed` for anything but finite numbers."""
    if not isinstance(values, list) or not values or any(type(value) not in {float, int} for value in values):
        raise EmbeddingFailed("gave something that is not a list of numbers")
    try:
        norm = math.hypot(*values)
    except OverflowError:
        norm = math.inf
    if not math.isfinite(norm):
        raise EmbeddingFailed("gave a number that is not finite")
    return array("f", (value / (norm or 1.0) for value in values))


def _cosine(one: PackedVector, other: PackedVector) -> float:
    """Cosine of two vectors of length one, rounded: the last digits of a sum differ between versions of Python."""
    return round(float(sum(map(mul, one, other))), 6)
