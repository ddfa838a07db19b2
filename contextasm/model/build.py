"""A build with everything that one context is made of, the query that a source gets of it, and the finished context."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from types import MappingProxyType
from typing import NamedTuple

from contextasm.model.document import Document, Parse, Problem, Span, Workspace
from contextasm.model.fragment import OUTCOME, Reason, RetrievalResult
from contextasm.model.profile import Layer, Profile, RuleEvaluation, RuleTrace
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


# --- The finished context --------------------------------------------------------------------------------------------


INCOMPLETE = {"shortened", "truncated", "dropped"}
"""Outcomes of candidate fragments that are not shown whole."""


class Decision(NamedTuple):
    """Outcome of one fragment, with its reason, tokens and place."""

    fragment: str
    layer: str
    path: str
    lines: Span
    """Lines of the fragment in its file; (0, 0) where the file was not opened."""
    reason: Reason
    tokens_before: int | None
    """Tokens of the whole fragment; None where it was excluded before tokens were counted."""
    tokens_after: int
    """Tokens of the part that is shown."""
    kept: tuple[Span, ...]
    """Lines that are shown, the last line before a cut perhaps in part."""
    score: tuple[tuple[str, float], ...] = ()
    """Parts of the score by name, and `total`; empty where the fragment was not scored."""
    boosted_by: tuple[str, ...] = ()
    """Rules behind the score's `boost`."""
    stands_for: tuple[str, ...] = ()
    """Places of the copies that are left out for it, such as `memories/m.md:3`."""

    @property
    def outcome(self) -> str:
        """One of included, shortened, truncated, dropped, excluded, merged."""
        return OUTCOME[self.reason.code]


class Section(NamedTuple):
    """A heading and the text under it, as emitted."""

    layer: str
    """Id of the layer that it belongs to."""
    heading: str
    """The heading, without its marks."""
    text: str
    """The text under the heading, with the markers of cuts."""
    tokens: int
    """Tokens, with heading, markers and the blank line after the section."""
    truncated: bool
    """Whether something of it is missing."""
    stable: bool
    """Whether neither the date nor the topic can change the text, so that a provider's cache pays."""


class LayerUsage(NamedTuple):
    """Limit, demand and use of a layer, in tokens."""

    layer: str
    """Id of the layer."""
    limit: int | None
    """None where the layer has no limit."""
    wanted: int
    """Tokens of all candidate fragments, whole."""
    used: int
    """Tokens that it takes."""


class Context(NamedTuple):
    """The finished context, with the decisions and files behind it."""

    text: str
    """The document that the budget was held against, byte for byte."""
    tokens: int
    etag: str
    """SHA-256 of the text in UTF-8, in hexadecimal, and of nothing else."""
    profile: str
    request: Request
    sections: tuple[Section, ...]
    decisions: tuple[Decision, ...]
    allowances: tuple[LayerUsage, ...]
    problems: tuple[Problem, ...]
    documents: tuple[Document, ...] = ()
    """Files of the workspace that were opened."""
    rule_traces: tuple[RuleTrace, ...] = ()
    """Trace of each rule, in order of precedence."""

    @property
    def truncated(self) -> bool:
        """Whether any candidate fragment was shortened, truncated or dropped."""
        return any(decision.outcome in INCOMPLETE for decision in self.decisions)


class Omission(NamedTuple):
    """Text that is missing at one place, or from a section."""

    path: str
    line: int
    """First missing line, as a line of the file."""
    texts: tuple[str, ...]
    """Missing lines; empty where fragments are shortened and nothing else is missing."""
    shortened: int = 0
    """Number of the section's fragments that are shown in a shorter form; set only at the end of the section."""


Marker = Callable[[Omission], str]
"""Gives the line that is shown in place of an omission."""

FormatSection = Callable[[str, str, str], str]
"""Takes a layer's id, a heading and the text under it; gives the section with a blank line after it."""
