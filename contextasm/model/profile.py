"""What a build starts from: documents, the request, layers and profiles; and the one error class.

Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from hashlib import sha256
from typing import NamedTuple, Protocol

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


class FileStamp(NamedTuple):
    """What tells that a file has changed without opening it; times in nanoseconds since 1970."""

    modified: int
    changed: int
    size: int
    inode: int


class StampedWorkspace(Workspace, Protocol):
    """A workspace whose files can be told to be unchanged without opening them."""

    @property
    def root(self) -> str:
        """The folder, without links in its path."""

    def stamp(self, path: str) -> FileStamp | None:
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
