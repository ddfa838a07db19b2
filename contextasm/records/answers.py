"""Answers of the programs that a build asks: summaries and similarities, recorded and given again in a replay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import NamedTuple

from contextasm.model import Build, ContextasmError, Problem, T


class RecordedAnswers(NamedTuple):
    """Answers by the SHA-256 of the question; in a problem, the reason why there is none."""

    summarizer: bool = False
    """Whether the build had a summarizer."""
    embedder: bool = False
    """Whether the build had an embedder and a topic."""
    summaries: tuple[tuple[str, str | Problem], ...] = ()
    similarities: tuple[tuple[str, tuple[float, ...] | Problem], ...] = ()


NO_ANSWERS = RecordedAnswers()
"""Those of a build without summarizer and embedder."""


class RecordingServices:
    """Summarizer and embedder of a build, whose answers are remembered."""

    def __init__(self, build: Build) -> None:
        self._summarizer, self._semantics = build.summarizer, build.semantics
        self._summaries: dict[str, str | Problem] = {}
        self._similarities: dict[str, tuple[float, ...] | Problem] = {}

    def listen(self, build: Build) -> Build:
        """The build with the services that are recorded here."""
        return build._replace(
            summarizer=self._summary if self._summarizer else None,
            semantics=self._similarity if self._semantics else None,
        )

    @property
    def answers(self) -> RecordedAnswers:
        """The answers so far."""
        return RecordedAnswers(
            self._summarizer is not None,
            self._semantics is not None,
            tuple(sorted(self._summaries.copy().items(), key=lambda pair: pair[0])),
            tuple(sorted(self._similarities.copy().items(), key=lambda pair: pair[0])),
        )

    def _summary(self, text: str) -> str | Problem:
        assert self._summarizer
        answer = self._summaries[_digest(text)] = self._summarizer(text)
        return answer

    def _similarity(self, topic: str, texts: Sequence[str]) -> Sequence[float] | Problem:
        assert self._semantics
        answer = self._semantics(topic, texts)
        answer = self._similarities[_digest(topic, *texts)] = answer if isinstance(answer, Problem) else tuple(answer)
        return answer


def with_recorded_answers(build: Build, answers: RecordedAnswers) -> Build:
    """The build with services that give the recorded answers; they raise `ContextasmError` for another question."""
    summaries, similarities = dict(answers.summaries), dict(answers.similarities)

    def summary(text: str) -> str | Problem:
        return _recorded(summaries, _digest(text), "summarizer")

    def similarity(topic: str, texts: Sequence[str]) -> Sequence[float] | Problem:
        return _recorded(similarities, _digest(topic, *texts), "embedder")

    return build._replace(
        summarizer=summary if answers.summarizer else None, semantics=similarity if answers.embedder else None
    )


def _digest(*texts: str) -> str:
    return sha256(json.dumps(texts).encode()).hexdigest()


def _recorded(answers: dict[str, T], question: str, service: str) -> T:
    if question not in answers:
        what = "the recorded build did not ask it for this text"
        raise ContextasmError(service, what, "record the build again with `ctxasm build --record`", code=1)
    return answers[question]
