"""Every frozen value that travels from one step to the next, and the one error class.

Named tuples, not dataclasses: making a frozen dataclass takes half a millisecond, and a build needs forty of them
(measured; benchmarks/run.py).

Nothing here decides anything. A value says what it holds, in which unit, and what its empty form means;
the steps that make it are on the floors above.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from hashlib import sha256
from types import MappingProxyType
from typing import NamedTuple, Protocol, TypeVar

T = TypeVar("T")

Fact = str | int | float
"""One figure or word that belongs to a reason."""

Span = tuple[int, int]
"""The first and the last line of a stretch of a file, both counted from 1 and both included."""


class ContextasmError(Exception):
    """Something the user can put right: where it is, what is wrong, and what to do about it.

    `code` is the exit code of the process: 2 where the request can't be done as asked, 1 where the answer is no.
    """

    def __init__(self, where: str, what: str, todo: str, code: int = 2) -> None:
        super().__init__(f"{where}: {what}: {todo}")
        self.where = where
        self.what = what
        self.todo = todo
        self.code = code


class Document(NamedTuple):
    """One file as read."""

    path: str
    """Posix path relative to the workspace."""
    text: str
    """The body: decoded, LF line ends, front matter taken off."""
    line: int
    """The line of the file, counted from 1, at which `text` begins."""
    front: Mapping[str, str | tuple[str, ...]]
    """The front matter's values as written; a list is a tuple."""
    data: bytes
    """The file's bytes as they lie on the disk."""

    @property
    def digest(self) -> str:
        """SHA-256 of the file's bytes, in hexadecimal."""
        return sha256(self.data).hexdigest()


class Problem(NamedTuple):
    """Something wrong that did not stop the build."""

    code: str
    path: str
    """The file, or what else the message is about (a layer, `budget`)."""
    line: int
    """The line of the file, counted from 1; 0 where no line is meant."""
    message: str


class Data(NamedTuple):
    """A file of values, YAML or JSON, as read."""

    document: Document
    value: object
    """Mappings, lists, words, numbers, true, false and None; a YAML mapping knows its line as `line`."""


Parse = Callable[[str, str], object]
"""Takes a YAML text and its path; gives its values. Raises `ContextasmError` with the line for what is none."""


class Workspace(Protocol):
    """The folder that is read, as the steps see it. Nothing outside it can be reached."""

    def list(self, pattern: str) -> Sequence[str]:
        """The paths that match, in code point order. `*` stands for any name, `**` for any folders."""

    def read(self, path: str) -> Document | Problem | None:
        """The document; a problem where it can't be read; None where there is no such file."""


class Stamp(NamedTuple):
    """What tells that a file has changed without opening it; times in nanoseconds since 1970."""

    modified: int
    changed: int
    size: int
    inode: int


class Stamped(Workspace, Protocol):
    """A workspace whose files can be told to be unchanged without opening them."""

    @property
    def root(self) -> str:
        """The folder, without links in its path."""

    def stamp(self, path: str) -> Stamp | None:
        """What a file looks like from outside; None for what is no regular file of the workspace, and for links."""


class Filters(NamedTuple):
    """What of the finds is wanted; empty for all."""

    since: str = ""
    """YYYY-MM-DD: nothing dated before it."""
    event_types: tuple[str, ...] = ()
    entity_types: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    """Ids, or patterns of paths."""


class Request(NamedTuple):
    """What is asked for, with nothing left open: no default, no clock."""

    agent: str
    """Empty where the profile names no agent."""
    team: str
    """Empty for no team."""
    topic: str
    """Empty for no topic."""
    date: date
    """The day that counts as today."""
    budget: int
    """Tokens."""
    tokenizer: str
    format: str
    session: str = ""
    """The id of the session that goes on; empty for the one with the newest event."""
    open: tuple[str, ...] = ()
    """Paths of the files that are open."""
    changed: tuple[str, ...] = ()
    """Paths of the files that git calls changed; empty where no layer asks."""
    additional: str = ""
    """Text to be shown as it is."""
    filters: Filters = Filters()
    prefer: tuple[str, ...] = ()
    """Ids of fragments that win over others of their key."""


class Layer(NamedTuple):
    """A slot of the context: where its text comes from and how much room it may take."""

    id: str
    source: tuple[str, ...]
    """Names of sources; the first that finds anything is taken."""
    heading: tuple[str, ...]
    """One heading, or one for each path."""
    path: tuple[str, ...]
    """Paths or patterns, with `{agent}` and `{team}`; one whose name is not given is skipped."""
    line: str = ""
    """The form of one fragment as a list item, such as `- [{type}] {text}`; empty for running text."""
    group: str = ""
    """The form of the heading above fragments of one day or key; empty for none."""
    order: str = "given"
    """`given`: as the source has them; `best`: by score, then the newest, then path and position; `steady`: by score,
    then text and id."""
    keep: str = "start"
    """The end of a document that is spared: `start` or `end`."""
    groups: tuple[str, ...] = ()
    """Keys in the order in which their groups are shown; those that are not among them come behind, by name."""
    tier: str = ""
    """Only memories of this tier; empty for any."""
    tiers: tuple[tuple[str, str], ...] = ()
    """The tier of a memory that names none, by patterns of its key; the first that fits."""
    quota: tuple[tuple[str, int], ...] = ()
    """How many memories of keys like this one count, the most important first; no others do."""
    limits: tuple[tuple[str, int], ...] = ()
    """How long or how many the fields of a memory may be before that is a problem."""
    start: tuple[str, ...] = ()
    """Layers before it whose finds it starts from."""
    depth: int = 1
    """How many steps relations are followed."""
    pool: int = 0
    """How many are looked at: the newest events, the most salient entities beside those named; 0 for all."""
    types: tuple[str, ...] = ()
    """The types of events that count; empty for all."""
    min_score: float = 0
    """The least total of a score that counts; 0 for any."""
    top: int = 0
    """How many fragments count, best first; 0 for all."""
    weights: tuple[tuple[str, float], ...] = (("similarity", 0.5), ("importance", 0.3), ("recency", 0.2))
    """What each part of a score counts (digest 1.2)."""
    floor: float = 0.5
    """The least sum of matching words that makes a hit, as a share of the best hit's; any match counts at 0."""
    days: int = 0
    """The oldest age, in days, of a log that is shown."""
    fallback_days: int = 0
    """Where that window holds no log: the newest existing days up to this age; 0 for none."""
    required: bool = False
    """Always whole, whatever the budget."""
    max_tokens: int | None = None
    share: float | None = None
    """Per cent of the budget for this layer."""
    ceiling: float | None = None
    """Per cent of the budget that this layer and everything counted before it may reach."""
    reserve: int = 0
    """Tokens held for this layer against those before it."""
    fit: tuple[str, ...] = ()
    """What is tried, in order, with what does not fit whole."""
    detail: str = "atomic"
    """The level of detail that its fragments are shown at; `adaptive` for the fullest that fits, each by itself."""
    priority: int = 0
    """Layers of a higher one take their room first; a rule's `set_priority` sets it."""
    enabled: bool = True
    """A layer that is not is left out."""
    varies: bool = False
    """Whether rules that fired for this request may have changed it."""


class Conflicts(NamedTuple):
    """How it is settled when fragments that declare the same key say different things."""

    severity: tuple[tuple[str, float], ...] = ()
    """By type, 0 to 1: from 0.3 on, a person has to settle it."""
    otherwise: float = 0.5
    """The severity for any other type."""
    precedence: tuple[str, ...] = ()
    """Layers, the one that is believed first before the others."""


class Profile(NamedTuple):
    """An ordered list of layers and the budget they share."""

    name: str
    summary: str
    budget: int
    """Tokens, where nobody names another figure."""
    marker: str
    """`plain` or `detailed`: what the marker of a cut section says."""
    layers: tuple[Layer, ...]
    merge: tuple[str, ...] = ()
    """How fragments may be found to say the same, to be shown once; in this order."""
    conflicts: Conflicts | None = None
    """How fragments of one key that say different things are settled; None where that is no conflict."""
    fill: float = 0
    """Per cent of the budget up to which detail is added where layers show less than there is; 0 for none."""
    strategies: tuple[tuple[str, Profile], ...] = ()
    """The same profile as it is under each named strategy."""


class Memory(NamedTuple):
    """One remembered statement, as it stands in its file (docs/DESIGN.md section 2)."""

    id: str
    path: str
    line: int
    """The line of the file at which `text` begins, counted from 1."""
    text: str
    """Without list mark, type and attributes. Its line number n is the file's line `line + n`."""
    type: str
    importance: float
    """0 to 1."""
    created: str
    """YYYY-MM-DD; empty for none, which counts as older than any date."""
    accessed: str
    status: str
    confidence: float
    """0 to 1."""
    key: str
    tier: str
    dedup: str
    tags: tuple[str, ...]
    files: tuple[str, ...]
    private: bool
    pin: bool
    supersedes: tuple[str, ...]
    expires: str = ""
    """The last day on which it holds, YYYY-MM-DD; empty for none. A build does not look at it; `check` does."""


class Reason(NamedTuple):
    """Why a decision fell as it did: a code of `OUTCOME` and the figures behind it."""

    code: str
    facts: tuple[tuple[str, Fact], ...] = ()

    @classmethod
    def of(cls, code: str, **facts: Fact) -> Reason:
        """A reason with its figures named."""
        return cls(code, tuple(facts.items()))


OUTCOME = {
    "required": "included",
    "fits": "included",
    "fallback": "included",
    "pinned": "included",
    "level": "shortened",
    "detail": "shortened",
    "summarized": "shortened",
    "over-allowance": "truncated",
    "no-room": "dropped",
    "starved": "dropped",
    "not-in-top": "excluded",
    "outside-window": "excluded",
    "future": "excluded",
    "blank": "excluded",
    "no-match": "excluded",
    "status": "excluded",
    "superseded": "excluded",
    "rule": "excluded",
    "filtered": "excluded",
    "below-floor": "excluded",
    "overruled": "excluded",
    "merged": "merged",
    "not-in-pool": "excluded",
    "not-reached": "excluded",
    "repeated": "merged",
}
"""What each reason amounts to."""


class Fragment(NamedTuple):
    """A piece that may enter the context whole, shortened, or not at all."""

    id: str
    path: str
    line: int
    """The line of the file at which `text` begins, counted from 1; 0 where the file was not opened."""
    text: str
    """As it would be shown. Its line number n is the file's line `line + n`."""
    heading: str
    """Of the section that it belongs to."""
    group: str = ""
    """The line shown above it and its neighbours of the same group; empty for none."""
    place: tuple[int, ...] = ()
    """Its position among the fragments of its section as shown, whatever the order they are chosen in."""
    day: str = ""
    """The date it is about, as YYYY-MM-DD; empty for none, which counts as older than any."""
    keep: str = "start"
    score: tuple[tuple[str, float], ...] = ()
    """The parts of its score by name, each from 0 to 1, and `total`; empty where nothing was scored."""
    key: str = ""
    """What it is about, in a word of the user's; empty for none."""
    dedup: str = ""
    """What it shares with others that say the same; empty for none."""
    said: str = ""
    """What it says without the form its layer gives it; empty where `text` is that."""
    rows: int = 0
    """How many lines of the file it stands for, where `text` is not those lines; else 0."""
    fence: str = ""
    """The line that opens the fence it is shown in, such as ```` ```python ````; empty for none."""
    tags: tuple[str, ...] = ()
    kind: str = ""
    """What sort of memory, event or entity it is; empty where there are no sorts."""
    boost: float = 1.0
    """What rules multiply its score by."""
    pin: str = ""
    """The rule that wants it whole whatever its layer's limit; empty for none."""
    why: str = "fits"
    """The code of the reason if it is shown whole: `fallback` where a source before its own found nothing."""
    out: Reason | None = None
    """Set by the first step that rules it out."""


class Found(NamedTuple):
    """What a source brought back."""

    fragments: tuple[Fragment, ...] = ()
    documents: tuple[Document, ...] = ()
    """Every file that was opened."""
    problems: tuple[Problem, ...] = ()


class Meaning(Protocol):
    """A second opinion on which texts answer a topic, by meaning instead of words."""

    def __call__(self, topic: str, texts: Sequence[str]) -> Sequence[float] | Problem:
        """How near each text is to the topic: above 0 where that alone makes it an answer, on any scale else.

        A problem where it can't be said in time.
        """


class Embedder(NamedTuple):
    """What makes vectors of texts, and where the file says so: one of `command`, `url` and `folder`."""

    kind: str
    line: int
    """Of `ctxasm.yaml`, counted from 1."""
    command: tuple[str, ...] = ()
    """Program and arguments; run without a shell."""
    url: str = ""
    model: str = ""
    """As a server calls it; of a command, a name of one's own, to be changed when its vectors change."""
    key_env: str = ""
    """The variable that holds a server's key; empty for none."""
    folder: str = ""
    """Of a sentence-transformers model; relative to the workspace, or absolute."""
    timeout: float = 5.0
    """Seconds that one search may wait for its vectors."""
    near: float = 0.35
    """The least cosine at which a memory that shares no word with the topic answers it.

    Measured with all-MiniLM-L6-v2 on labelled questions: 95 of 100 answers reach it, and 5 of 100 memories about
    something else. Other models have other scales.
    """


class SummaryCommand(NamedTuple):
    """A program that reads a text on standard input and prints a shorter one."""

    words: tuple[str, ...]
    """Program and arguments; run without a shell."""
    line: int
    """Of `ctxasm.yaml`, counted from 1."""
    timeout: float = 20.0
    """Seconds that all summaries of one build may take together."""


class Summarizer(Protocol):
    """Says a text in fewer words, by means of a model or a program of the user's."""

    def __call__(self, text: str) -> str | Problem:
        """The text in other words, not necessarily fewer; a problem where there are none in time."""


class Standing(NamedTuple):
    """What of a memory goes into its score besides its words."""

    importance: float
    last: str
    """The day it was accessed, else created, as YYYY-MM-DD; empty for none."""
    created: str


class Pool(Protocol):
    """The memories of some files, read a moment ago or kept from an earlier build; those that count have a row."""

    @property
    def size(self) -> int:
        """How many memories there are, those that do not count included."""

    @property
    def rows(self) -> int:
        """How many of them count."""

    @property
    def left_out(self) -> Sequence[Reason]:
        """Why the others do not count, each reason once, with how many it holds for (`count`)."""

    @property
    def documents(self) -> Sequence[Document]:
        """The files that were opened for it."""

    @property
    def problems(self) -> Sequence[Problem]:
        """What is wrong with any of the files."""

    def similar(self, topic: str, floor: float) -> Mapping[int, float]:
        """Rows with how well they answer a topic, from 0 to 1; none below `floor` of the best."""

    def newest(self, count: int) -> Sequence[int]:
        """The rows of the newest, of one day by path and then the later in its file; every one for a count of 0."""

    def standing(self, rows: Sequence[int]) -> Sequence[Standing]:
        """What each row's score needs."""

    def memories(self, rows: Sequence[int]) -> Sequence[Memory]:
        """The memories of rows."""


class Pools(Protocol):
    """Pools that outlive a build."""

    def ask(self, patterns: Sequence[str], paths: Sequence[str], use: Callable[[Pool], T]) -> T | None:
        """What `use` makes of the kept pool of these patterns, once it is up to date with the files in `paths`.

        None where none is kept, or none that is worth it. `use` may be called and its answer thrown away.
        """

    def keep(self, patterns: Sequence[str], paths: Sequence[str]) -> None:
        """Keep a pool of these files from now on, if that can be done."""


class Ask(NamedTuple):
    """What a source is asked, and what it may lean on."""

    workspace: Workspace
    layer: Layer
    request: Request
    meaning: Meaning | None = None
    """None where none is configured."""
    found: Mapping[str, Found] = MappingProxyType({})
    """What the layers found that this one starts from, by id."""
    parse: Parse | None = None
    """Reads YAML; None where no layer needs it."""
    pools: Pools | None = None
    """None where every memory is to be told of by itself; else, of many, those not shown are told by number."""


class Decision(NamedTuple):
    """What happened to one fragment, and why."""

    fragment: str
    layer: str
    path: str
    lines: Span
    """Where the fragment stands in its file; (0, 0) where the file was not opened."""
    reason: Reason
    before: int | None
    """Tokens of the whole fragment; None where it was ruled out before anything was counted."""
    after: int
    """Tokens of what is shown of it."""
    kept: tuple[Span, ...]
    """The lines that are shown, wholly or, at the end of a cut, in part."""
    score: tuple[tuple[str, float], ...] = ()

    @property
    def outcome(self) -> str:
        """One of included, shortened, truncated, dropped, excluded, merged."""
        return OUTCOME[self.reason.code]


class Section(NamedTuple):
    """A heading and the text under it, as emitted."""

    layer: str
    heading: str
    text: str
    tokens: int
    """Heading, markers and the blank line after it included."""
    truncated: bool
    stable: bool
    """Whether neither the date nor the topic can change it; such text is worth a provider's cache."""


class Allowance(NamedTuple):
    """What a layer might take and what it took, in tokens."""

    layer: str
    limit: int | None
    """None where the layer has no limit."""
    wanted: int
    """Everything that it found and that was in question, whole."""
    used: int


class Ruling(NamedTuple):
    """What became of one rule."""

    rule: str
    path: str
    line: int
    fired: bool
    reason: Reason
    """`fired`, or why not."""
    lost: tuple[Reason, ...]
    """What of it another rule, or a required layer, left nothing of."""


class Ruled(NamedTuple):
    """What is left to rank and select from."""

    profile: Profile
    found: Mapping[str, Found]
    rulings: tuple[Ruling, ...]
    problems: tuple[Problem, ...]


class Selection(NamedTuple):
    """What `select` settled."""

    sections: tuple[Section, ...]
    decisions: tuple[Decision, ...]
    allowances: tuple[Allowance, ...]
    problems: tuple[Problem, ...]


class Context(NamedTuple):
    """The finished result."""

    text: str
    """The document: what the budget was held against, byte for byte."""
    tokens: int
    etag: str
    """SHA-256 of the text in UTF-8, in hexadecimal; nothing else goes into it."""
    profile: str
    request: Request
    sections: tuple[Section, ...]
    decisions: tuple[Decision, ...]
    allowances: tuple[Allowance, ...]
    problems: tuple[Problem, ...]
    documents: tuple[Document, ...]
    """Every file of the workspace that was opened."""
    rulings: tuple[Ruling, ...] = ()
    """Every rule there is, in order of precedence."""

    found: Mapping[str, Found] = MappingProxyType({})
    """What each layer's sources brought, by id; a later build may start from it."""

    @property
    def truncated(self) -> bool:
        """Whether anything that was in question was cut or dropped."""
        return any(decision.outcome in {"truncated", "dropped"} for decision in self.decisions)
