"""What a source is asked, and what it may lean on: a second opinion, a summarizer, pools that are kept.

Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from contextasm.model.document import Document, Memory
from contextasm.model.errors import Problem
from contextasm.model.fragment import Reason

T = TypeVar("T")


class SemanticSimilarity(Protocol):
    """A second opinion on which texts answer a topic, by meaning instead of words."""

    def __call__(self, topic: str, texts: Sequence[str]) -> Sequence[float] | Problem:
        """How near each text is to the topic: above 0 where that alone makes it an answer, on any scale else.

        A problem where it can't be said in time.
        """


class EmbedderConfig(NamedTuple):
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


class SummarizerConfig(NamedTuple):
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


class ScoreInputs(NamedTuple):
    """What of a memory goes into its score besides its words."""

    importance: float
    last: str
    """The day it was accessed, else created, as YYYY-MM-DD; empty for none."""
    created: str


class MemoryPool(Protocol):
    """The memories of some files, read a moment ago or kept from an earlier build; those that count have a row."""

    @property
    def size(self) -> int:
        """How many memories there are, those that do not count included."""

    @property
    def rows(self) -> int:
        """How many of them count."""

    @property
    def excluded(self) -> Sequence[Reason]:
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

    def score_inputs(self, rows: Sequence[int]) -> Sequence[ScoreInputs]:
        """What each row's score needs."""

    def memories(self, rows: Sequence[int]) -> Sequence[Memory]:
        """The memories of rows."""


class IndexedPools(Protocol):
    """Pools that outlive a build."""

    def query(self, patterns: Sequence[str], paths: Sequence[str], use: Callable[[MemoryPool], T]) -> T | None:
        """What `use` makes of the kept pool of these patterns, once it is up to date with the files in `paths`.

        None where none is kept, or none that is worth it. `use` may be called and its answer thrown away.
        """

    def store(self, patterns: Sequence[str], paths: Sequence[str]) -> None:
        """Keep a pool of these files from now on, if that can be done."""


class TokenCounter(NamedTuple):
    """A way of counting tokens."""

    name: str
    units_per_token: int
    units: Callable[[str], int]
    """Units of a text.

    Those of an estimate add up over its parts; exact tokens need not, since one may reach across a cut.
    """

    def tokens(self, units: int) -> int:
        """Tokens for a number of units, rounded up."""
        return -(-units // self.units_per_token)

    def count(self, text: str) -> int:
        """Tokens of a text; 0 for the empty one."""
        return self.tokens(self.units(text))
