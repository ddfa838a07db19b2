"""Durations of a build and the use of its caches, measured while it runs (`build --metrics`)."""

from __future__ import annotations

from time import perf_counter

from contextasm.config.build import PreparedBuild
from contextasm.model import Build, RetrievalResult, SourceTask
from contextasm.rendering.prometheus import BuildTimes
from contextasm.retrieval.embeddings.embedder import EmbeddingSimilarity


class BuildTimer:
    """The clock of one build."""

    def __init__(self, prepared: PreparedBuild) -> None:
        """Measure a run of `prepared` from now on."""
        self._prepared = prepared
        self._cache_at_start = self._cache_use()
        self._started: dict[str, float] = {}
        self._layers: dict[str, float] = {}
        self._start = perf_counter()

    def timed(self, build: Build) -> Build:
        """The build, with its sources measured."""
        return build._replace(watch_source=self._timed_task)

    def _timed_task(self, layer: str, task: SourceTask) -> SourceTask:
        def run() -> RetrievalResult:
            self._started[layer] = perf_counter()
            try:
                return task()
            finally:
                self._layers[layer] = perf_counter() - self._started[layer]

        return run

    def times(self, earlier_errors: int = 0) -> BuildTimes:
        """The durations up to now. `earlier_errors` are the errors of sources in earlier builds of the process."""
        now = perf_counter()
        # Copies: a source that is late may still be running, in a thread of its own.
        layers = {layer: now - started for layer, started in self._started.copy().items()} | self._layers.copy()
        lookups, hits = (now - then for now, then in zip(self._cache_use(), self._cache_at_start, strict=True))
        return BuildTimes(now - self._start, layers, lookups, hits, earlier_errors)

    def _cache_use(self) -> tuple[int, int]:
        """The texts that the caches of counts and vectors were asked for, and the ones that they had."""
        counts, semantics = self._prepared.counts, next(iter(self._prepared.build.semantics.values()), None)
        lookups, hits = (counts.lookups, counts.hits) if counts else (0, 0)
        if isinstance(semantics, EmbeddingSimilarity):
            lookups, hits = lookups + semantics.lookups, hits + semantics.hits
        return lookups, hits
