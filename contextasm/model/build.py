"""A build, with everything that one context is made of, and the query that a source gets of it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from contextasm.model.document import Parse, Workspace
from contextasm.model.errors import Problem
from contextasm.model.fragment import RetrievalResult
from contextasm.model.profile import Layer, Profile, RuleEvaluation
from contextasm.model.protocols import IndexedPools, SemanticSimilarity, Summarizer, TokenCounter

PERSONAL, SHARED = AUDIENCES = ("personal", "shared")
"""Audiences of a context; a shared one lacks everything private."""


class Filters(NamedTuple):
    """Restrictions on the fragments that are shown; an empty filter restricts nothing."""

    since: str = ""
    """First day of dated fragments, YYYY-MM-DD."""
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """Ids, or patterns of paths."""


class Request(NamedTuple):
    """A request for a context, with every value fixed."""

    agent: str
    """Name; empty where the profile names no agent."""
    team: str
    """Name; empty for no team."""
    topic: str
    """Empty for no topic."""
    date: date
    """Day that counts as today."""
    budget: int
    """Tokens."""
    tokenizer: str
    format: str
    session: str = ""
    """Id of the session that is continued; empty for the session with the newest event."""
    open: tuple[str, ...] = ()
    """Paths of open files."""
    changed: tuple[str, ...] = ()
    """Paths of files that git reports as changed; empty where no layer needs them."""
    additional: str = ""
    """Text that is shown unchanged."""
    filters: Filters = Filters()
    privacy: str = "mask"
    """Treatment of secrets in texts: `mask`, `drop` for fragments of optional layers with one, or `off`."""
    prefer: tuple[str, ...] = ()
    """Ids of fragments that take precedence over others of their key."""
    audience: str = PERSONAL
    """One of `AUDIENCES`."""


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
