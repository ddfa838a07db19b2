"""Durations of a build and of its steps, and the use of its caches, measured while it runs (`--metrics`, `-v`)."""

from __future__ import annotations

from time import perf_counter

from contextasm.config.build import PreparedBuild
from contextasm.model import Build, RetrievalResult, SourceTask
from contextasm.rendering.prometheus import BuildTimes


class BuildTimer:
    """The clock of one build."""

    def __init__(self, prepared: PreparedBuild) -> None:
        """Measure a run of `prepared` from now on."""
        self._prepared = prepared
        self._cache_at_start = self._cache_use()
        self._started: dict[str, float] = {}
        self._layers: dict[str, float] = {}
        self._steps: dict[str, float] = {}
        self._step = ""
        self._start = self._step_start = perf_counter()

    def timed(self, build: Build) -> Build:
        """The build, with its sources and steps measured."""
        return build._replace(watch_source=self._timed_task, watch_step=self._begin_step)

    def _begin_step(self, step: str) -> None:
        now = perf_counter()
        if self._step:
            self._steps[self._step] = self._steps.get(self._step, 0.0) + now - self._step_start
        self._step, self._step_start = step, now

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
        self._begin_step("")
        now = perf_counter()
        # Copies: a source that is late may still be running, in a thread of its own.
        layers = {layer: now - started for layer, started in self._started.copy().items()} | self._layers.copy()
        lookups, hits = (now - then for now, then in zip(self._cache_use(), self._cache_at_start, strict=True))
        return BuildTimes(now - self._start, layers, lookups, hits, self._steps, earlier_errors)

    def _cache_use(self) -> tuple[int, int]:
        """The texts that the caches of counts and vectors were asked for, and the ones that they had."""
        caches = [self._prepared.counts] if self._prepared.counts else []
        if similarity := next(iter(self._prepared.build.semantics.values()), None):
            from contextasm.retrieval.embeddings.embedder import EmbeddingSimilarity  # here: few have an embedder

            if isinstance(similarity, EmbeddingSimilarity):  # else it is refused, and has no cache
                caches.append(similarity.cache)
        return sum(each.lookups for each in caches), sum(each.hits for each in caches)
