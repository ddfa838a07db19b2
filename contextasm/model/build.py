"""A build, with everything that one context is made of, and the query that a source gets of it."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from contextasm.model.document import Parse, Workspace
from contextasm.model.errors import Problem
from contextasm.model.fragment import RetrievalResult
from contextasm.model.profile import Layer, Profile
from contextasm.model.protocols import EntryChoices, IndexedPools, SemanticSimilarity, Summarizer, TokenCounter
from contextasm.model.request import Request
from contextasm.model.rule import RuleEvaluation

SourceTask = Callable[[], RetrievalResult]
"""Retrieves the fragments of one layer."""

RunSources = Callable[[Sequence[SourceTask]], Sequence[RetrievalResult | None]]
"""Runs tasks and gives their results in order; None for a task that was not done in time."""


def in_order(tasks: Sequence[SourceTask]) -> Sequence[RetrievalResult | None]:
    """The results of tasks run one after the other, without a deadline."""
    return [task() for task in tasks]


WatchSource = Callable[[str, SourceTask], SourceTask]
"""Takes the id of a layer and the task that retrieves its fragments; gives a task with the same result."""


def unwatched(_layer: str, task: SourceTask) -> SourceTask:
    """The task itself."""
    return task


class Build(NamedTuple):
    """Everything needed to assemble one context."""

    workspace: Workspace
    profile: Profile
    request: Request
    counter: TokenCounter
    """The counter that `request.tokenizer` names."""
    rules: RuleEvaluation | None = None
    """Result of evaluating the workspace's rules against the request; None where it has none."""
    semantics: SemanticSimilarity | None = None
    """Similarity by embeddings, for searches; None where none is configured, or there is no topic."""
    summarizer: Summarizer | None = None
    memory_index: IndexedPools | None = None
    """Index of large memory pools. None where every memory needs a decision of its own; with it, memories that are not
    shown are counted by reason."""
    entry_choices: EntryChoices | None = None
    """What rules mean among the entries that an index answers for; None where they mean no entry."""
    parse_yaml: Parse | None = None
    """Reader of YAML; None where no layer reads any."""
    run_sources: RunSources = in_order
    watch_source: WatchSource = unwatched
    """Sees each task before it runs, such as to measure it."""
    timed_out: frozenset[str] = frozenset()
    """Ids of layers that are not searched but reported as late, as they were in the build that is replayed."""
    problems: tuple[Problem, ...] = ()
    """Problems of the request that were found before the build."""


class SourceQuery(NamedTuple):
    """Everything a source needs to find the fragments of one layer."""

    build: Build
    layer: Layer
    found: Mapping[str, RetrievalResult] = MappingProxyType({})
    """Results of the layers that this one starts from, by layer id."""
