"""A build with everything that one context is made of, the query that a source gets of it, and the finished context.

Of the services that a build may use, only interfaces and settings are here.
"""

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from datetime import date
from itertools import takewhile
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

from contextasm.model.document import Document, Parse, Problem, Span, Workspace
from contextasm.model.fragment import OUTCOME, Message, Reason, RetrievalResult
from contextasm.model.named_tuple import NamedTuple
from contextasm.model.profile import Layer, Profile, RuleEvaluation, RuleTrace

T = TypeVar("T")
KeyT = TypeVar("KeyT")
EntryT_co = TypeVar("EntryT_co", covariant=True)


def grouped(pairs: Iterable[tuple[KeyT, T]]) -> dict[KeyT, list[T]]:
    """The values of each key, in their order."""
    groups: dict[KeyT, list[T]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


RunProgram = Callable[
    [Sequence[str], str, Mapping[str, str], Iterable[bytes], Callable[[], float]], Generator[bytes, None, None]
]
"""Runs a program of the workspace's, for as long as its output is read: takes command, folder, environment, standard
input, and a function that gives the seconds until the deadline.

Gives the lines of the program's standard output as they come, each without its line end. The function raises if the
deadline is over, and that error passes through. Raises `ProgramFailed` if the program can't be run or fails.
"""


SemanticSimilarity = Callable[[str, Sequence[str]], Sequence[float] | Problem]
"""Similarity of each text to a topic by meaning instead of words, on any scale; above 0 if it makes the text an answer.

A problem if it can't be computed in time.
"""


EMBEDDABLE = ("memories", "pages", "events", "logs")
"""What an embedder can be asked about."""


class EmbedderConfig(NamedTuple):
    """Embedder and its line in the settings file; exactly one of `command`, `url` and `folder` is set."""

    kind: str
    line: int
    """Line of `ctxasm.yaml`, counted from 1."""
    command: tuple[str, ...] = ()
    """Program and arguments; run without a shell."""
    url: str = ""
    model: str = ""
    """Name of the model on the server; for a command, a name of the user's, to be changed when its vectors change."""
    key_env: str = ""
    """Environment variable that holds a server's key; empty for none."""
    folder: str = ""
    """Folder of a sentence-transformers model with an ONNX file, relative to the workspace or absolute."""
    timeout: float = 5.0
    """Seconds that one search may wait for its vectors."""
    near: float = 0.35
    """Least cosine at which a memory that shares no word with the topic answers it.

    Measured with all-MiniLM-L6-v2 on labelled questions: 95 of 100 answers reach it, and 5 of 100 memories about
    something else. Other models have other scales.
    """
    searched: tuple[str, ...] = EMBEDDABLE[:1]
    """What is compared by meaning, too (`EMBEDDABLE`)."""

    @property
    def without(self) -> str:
        """Says how a build goes on without the embedder."""
        return f"{' and '.join(self.searched)} are ranked only by their words"


Summarizer = Callable[[str], str | Problem]
"""Gives the summary of a text, not necessarily shorter, by a model or a program of the user's.

A problem if none comes in time.
"""


class ScoreInputs(NamedTuple):
    """Inputs of an entry's score besides its words."""

    importance: float
    """0 to 1."""
    last: str
    """Day of the last use, or of creation if that is later, as YYYY-MM-DD; empty for none."""
    created: str
    """Day of creation, as YYYY-MM-DD; empty for none."""
    valid_from: str = ""
    """First day on which it holds, likewise."""
    expires: str = ""
    """Last day on which it holds, likewise."""
    repositories: str = ""
    """Patterns of the repositories in which it holds, separated by commas; empty for any place."""
    writer: str = ""
    """The program that wrote it; empty for none."""


class EntryPool(Protocol[EntryT_co]):
    """The entries of some files, such as memories, parsed in this build or read from the index.

    Each active entry has a row, a number from 0 on.
    """

    size: int
    """Number of entries, inactive ones included."""
    rows: int
    """Number of active entries."""

    @property
    def excluded(self) -> Sequence[Reason]:
        """Reasons why the other entries are inactive, each once, with the number of entries as `count`."""

    @property
    def documents(self) -> Sequence[Document]:
        """Files that were opened for the pool."""

    @property
    def problems(self) -> Sequence[Problem]:
        """Problems of all the files."""

    def outside(self, query: "SourceQuery") -> Mapping[int, str]:
        """Rows of the active entries that count for nothing in the layer, each with the code of its reason."""

    def similar(
        self, query: "SourceQuery", min_match: float, min_cover: float = 0.0, *, authors_follow: bool = False
    ) -> Mapping[int, float]:
        """Similarity of rows to the topic, from 0 to 1; rows below the share `min_match` of the best are left out.

        With `authors_follow` all rows of an author whom the topic names are hits, too, below the others.

        The figures are the ones of a pool without the `outside` entries: they are neither hits nor neighbours, and no
        statistics of words count them.
        """

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest entries, entries of one day by path, then the later in the file; all for a count of 0."""

    def marked(self) -> Sequence[int]:
        """Rows of the entries with the mark of their kind: a memory that pins itself (`pin=true`)."""

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """Score inputs of each row."""

    def entries(self, rows: Sequence[int]) -> Sequence[EntryT_co]:
        """Entries of these rows."""


class IndexedPools(Protocol):
    """Pools that outlive a build."""

    def query(
        self,
        kind: Any,
        patterns: Sequence[str],
        paths: Sequence[str],
        use: Callable[[EntryPool[Any]], T],
        *,
        new: bool = False,
    ) -> T | None:
        """Result of `use` for the stored pool of these patterns, brought up to date with the files in `paths`.

        `kind` is that of its entries (`retrieval.pool.EntryKind`). `new` stores the pool if it is not stored.

        None if no pool is stored, or if storing it can't be done or does not pay. `use` may be called and its result
        discarded.
        """


FileTexts = tuple[Sequence[str], bool]
"""Texts of the memories of one file, folded (`text.similarity.fold_text`), and whether one may supersede another one:
the file has the word."""

FactsT = TypeVar("FactsT")


class Cache(Protocol):
    """Values of texts, kept from earlier builds; any of them may be lost."""

    lookups: int
    """Number of texts that were asked for."""
    hits: int
    """Number of these that had a value."""

    def get(self, text: str) -> bytes | None:
        """The value of a text; None if none is stored."""

    def put(self, text: str, value: bytes) -> None:
        """Store the value of a text, in place of an earlier one; for later builds only after `save`."""

    def save(self) -> None:
        """Store the new values for later builds, if that can be done."""


class StoredFacts(Protocol[FactsT]):
    """Facts that an earlier run found in each file of a folder."""

    def load(self, paths: Sequence[str]) -> Mapping[str, FactsT]:
        """The facts of those files among `paths` that have not changed since they were stored."""

    def store(self, facts: Mapping[str, FactsT]) -> None:
        """Store the facts of these files, read since `load` was called, in place of all others, if that can be done."""


class FolderFacts(NamedTuple):
    """Facts that earlier runs found in the files of memories in one folder."""

    texts: StoredFacts[FileTexts]
    ids: StoredFacts[Sequence[str]]
    """Ids of the memories of each file, in their order, as written or derived from the text: some may be equal."""


class TokenCounter(NamedTuple):
    """A way of counting tokens."""

    name: str
    units_per_token: int
    units: Callable[[str], int]
    """Units of a text.

    Units of an estimate add up over the parts of a text; exact tokens need not, since one may reach across a cut.
    """
    adds_up: bool = True
    """Whether the units of a text are the sum of the units of its parts, wherever it is cut."""

    def tokens(self, units: int) -> int:
        """Tokens for a number of units, rounded up."""
        return -(-units // self.units_per_token)

    def count(self, text: str) -> int:
        """Tokens of a text; 0 for the empty one."""
        return self.tokens(self.units(text))


PERSONAL, SHARED = AUDIENCES = ("personal", "shared")
"""Audiences of a context; a shared one lacks everything private."""


class Filters(NamedTuple):
    """Restrictions on the fragments that are shown; an empty filter restricts nothing."""

    since: str = ""
    """First day of dated fragments, YYYY-MM-DD, or their first time, YYYY-MM-DDTHH:MM:SS in UTC."""
    task: str = ""
    """Id of the task of events."""
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """Ids, or patterns of paths."""


class Request(NamedTuple):
    """A request for a context, with every value fixed."""

    agent: str
    """Name; empty if the profile names no agent."""
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
    history: str = ""
    """Events of the current session that are not in a file, one JSON object a line; empty for none."""
    open: tuple[str, ...] = ()
    """Paths of open files."""
    changed: tuple[str, ...] = ()
    """Paths of files that git reports as changed; empty if no layer needs them."""
    tracked: tuple[str, ...] = ()
    """Paths of files that git tracks, cut to the folders that a layer shows; empty if no layer needs them."""
    additional: str = ""
    """Text that is shown unchanged."""
    filters: Filters = Filters()
    privacy: str = "mask"
    """Treatment of secrets in texts: `mask`, `drop` for fragments of optional layers with one, or `off`."""
    prefer: tuple[str, ...] = ()
    """Ids of fragments that take precedence over others of their key."""
    audience: str = PERSONAL
    """One of `AUDIENCES`."""
    strategy: str = ""
    """The named variant of the profile; empty for the profile as it is."""
    request_id: str = ""
    """Name that the caller gives the request; empty for none."""
    show_expired: bool = False
    """Whether memories are shown, with a label, before their first day and after their last one."""

    @property
    def is_chat(self) -> bool:
        """Whether turns, results and tools are messages and tools of a request to a model's API."""
        return self.format.startswith("chat-")


SourceTask = Callable[[], RetrievalResult]
"""Retrieves the fragments of one layer."""

RunSources = Callable[[Sequence[SourceTask]], Sequence[RetrievalResult | None]]
"""Runs tasks and gives their results in order; None for a task that was not done in time."""


def in_order(tasks: Sequence[SourceTask]) -> Sequence[RetrievalResult | None]:
    """The results of tasks run one after the other, without a deadline."""
    return [task() for task in tasks]


class Build(NamedTuple):
    """Everything needed to assemble one context."""

    workspace: Workspace
    profile: Profile
    request: Request
    counter: TokenCounter
    """The counter that `request.tokenizer` names."""
    rules: RuleEvaluation | None = None
    """Result of evaluating the workspace's rules against the request; None if it has none."""
    semantics: Mapping[str, SemanticSimilarity] = {}
    """Similarity by embeddings, by what is searched (`EMBEDDABLE`); empty if none is configured, or without a topic."""
    summarizer: Summarizer | None = None
    repository: Callable[[], Sequence[str]] = tuple
    """Names of the repository that the agent works in: its folder, and its address if it has one; empty if unknown. It
    is called only if a memory says where it holds."""
    memory_index: IndexedPools | None = None
    """Index of large pools. None if every fragment needs a decision of its own; with it, entries that are not shown are
    counted by reason."""
    parse_yaml: Parse | None = None
    """Reader of YAML; None if no layer reads any."""
    run_sources: RunSources = in_order
    watch_source: Callable[[str, SourceTask], SourceTask] = lambda _layer, task: task
    """Sees the id of each layer with its task before that runs, such as to measure it; gives a task with the same
    result."""
    watch_step: Callable[[str], None] = lambda _step: None
    """Is told the name of each step of the pipeline when it begins, such as to measure it; a step may begin again."""
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
    """Tokens of the whole fragment; None if it was excluded before tokens were counted."""
    tokens_after: int
    """Tokens of the part that is shown."""
    kept: tuple[Span, ...]
    """Lines that are shown, the last line before a cut perhaps in part."""
    score: tuple[tuple[str, float], ...] = ()
    """Parts of the score by name, and `total`; empty if the fragment was not scored."""
    boosted_by: tuple[str, ...] = ()
    """Rules that set the score's `boost`."""
    stands_for: tuple[str, ...] = ()
    """Places of the copies that are left out for it, such as `memories/m.md:3`."""
    message: Message | None = None
    """What is shown as a message or as a tool, in a format for a model's API; None for a part of the system's text."""

    @property
    def outcome(self) -> str:
        """One of included, shortened, truncated, dropped, excluded, merged."""
        return OUTCOME[self.reason.code]


class Section(NamedTuple):
    """A heading and the text under it, as emitted."""

    layer: str
    """Id of the layer that it belongs to."""
    heading: str
    """The heading, without its marks; empty if the groups in the text have headings as high."""
    text: str
    """The text under the heading, with the markers of cuts."""
    tokens: int
    """Tokens, with heading, markers and the blank line after the section."""
    truncated: bool
    """Whether something of it is missing."""
    stable: bool
    """Whether neither the date nor the topic can change the text, so that a provider's cache pays."""


class LayerUsage(NamedTuple):
    """Limit, demand and use of a layer, in tokens and in entries."""

    layer: str
    """Id of the layer."""
    limit: int | None
    """None if the layer has no limit."""
    wanted: int
    """Tokens of all candidate fragments, whole."""
    used: int
    """Tokens that it takes."""
    considered: int = 0
    """Number of entries that were found for it, the excluded ones and those that are only counted included."""
    kept: int = 0
    """Number of these of which some text is shown, and not only the title."""


class Context(NamedTuple):
    """The finished context, with its decisions and files."""

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
    cited: tuple[Document, ...] = ()
    """Files that were read only because shown memories cite them."""
    newest: tuple[tuple[str, str], ...] = ()
    """Day, YYYY-MM-DD, of the newest `memory` and `log` that is shown; without either if none with a day is."""

    @property
    def stable_sections(self) -> Sequence[Section]:
        """The sections at the beginning that a cache of prompts may keep.

        They are the same for another day, and for another topic if the build has one.
        """
        return [*takewhile(lambda section: section.stable, self.sections)]

    @property
    def truncated(self) -> bool:
        """Whether any candidate fragment was shortened, truncated, only named or dropped."""
        return any(decision.outcome in INCOMPLETE or decision.reason.code == "named" for decision in self.decisions)


class Omission(NamedTuple):
    """Text that is missing at one place, or from a section."""

    path: str
    line: int
    """First missing line, as a line of the file."""
    texts: tuple[str, ...]
    """Missing lines; empty if fragments are shortened and nothing else is missing."""
    shortened: int = 0
    """Number of the section's fragments that are shown in a shorter form; set only at the end of the section."""
    titles: tuple[str, ...] = ()
    """The headings among the missing lines."""
    more: int = 0
    """Number of fragments, besides the first one, of which all is missing."""


Marker = Callable[[Omission], str]
"""Gives the line that is shown in place of an omission."""

SectionForm = tuple[Callable[[str, str], tuple[str, str]], Callable[[str], str]]
"""How an output format writes a section: what comes before and after the text, a blank line included, by the layer's
id and the heading; and the text with its escapes."""
