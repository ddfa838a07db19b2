"""Services that a build may use: semantic similarity, a summarizer, the memory index, a token counter.

Their interfaces and settings only; no service is implemented here.
"""

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from datetime import date
from typing import Any, NamedTuple, Protocol, TypeVar

from contextasm.model.document import Document, Problem
from contextasm.model.fragment import Reason

T = TypeVar("T")
EntryT_co = TypeVar("EntryT_co", covariant=True)


class RunProgram(Protocol):
    """Runs a program of the workspace's, for as long as its output is read."""

    def __call__(
        self,
        command: Sequence[str],
        folder: str,
        environment: Mapping[str, str],
        given: Iterable[bytes],
        seconds_left: Callable[[], float],
    ) -> Generator[bytes, None, None]:
        """The lines of the program's standard output as they come, each without its line end.

        `given` is its standard input. `seconds_left` gives the seconds until the deadline and raises where it is over;
        that error passes through. Raises `ProgramFailed` where the program can't be run or fails.
        """


SemanticSimilarity = Callable[[str, Sequence[str]], Sequence[float] | Problem]
"""Similarity of each text to a topic by meaning instead of words, on any scale; above 0 if it makes the text an answer.

A problem if it can't be computed in time.
"""


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


Summarizer = Callable[[str], str | Problem]
"""Gives the summary of a text, not necessarily shorter, by a model or a program of the user's.

A problem if none comes in time.
"""


class ScoreInputs(NamedTuple):
    """Inputs of an entry's score besides its words."""

    importance: float
    """0 to 1."""
    last: str
    """Day of the last access, else of creation, as YYYY-MM-DD; empty for none."""
    created: str
    """Day of creation, as YYYY-MM-DD; empty for none."""


class EntryPool(Protocol[EntryT_co]):
    """The entries of some files, such as memories, parsed in this build or read from the index.

    Each active entry has a row, a number from 0 on.
    """

    @property
    def size(self) -> int:
        """Number of entries, inactive ones included."""

    @property
    def rows(self) -> int:
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

    def later(self, today: date) -> Collection[int]:
        """Rows of the active entries of days after `today`."""

    def similar(self, topic: str, min_match: float, today: date) -> Mapping[int, float]:
        """Similarity of rows to a topic, from 0 to 1; rows below the share `min_match` of the best are left out.

        The figures are those of a pool without the `later` entries: they are no hits, no neighbours, and no part of
        what is known of words.
        """

    def newest(self, count: int) -> Sequence[int]:
        """Rows of the newest entries, those of one day by path, then the later in the file; all for a count of 0."""

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


class FileTexts(NamedTuple):
    """Texts of the memories of one file, folded (`text.similarity.memory_texts`)."""

    texts: Sequence[str]
    supersedes: bool
    """Whether the file has the word, so that a memory of it may supersede another one."""


class FileIds(NamedTuple):
    """Ids of the memories of one file, in their order, as they stand or follow from the text: some may be equal."""

    ids: Sequence[str]


FactsT = TypeVar("FactsT")


class StoredFacts(Protocol[FactsT]):
    """Facts that an earlier run found in each file of a folder."""

    def load(self, paths: Sequence[str]) -> Mapping[str, FactsT]:
        """The facts of those files among `paths` that have not changed since they were stored."""

    def store(self, facts: Mapping[str, FactsT]) -> None:
        """Store the facts of these files, read since `load` was called, in place of all others, if that can be done."""


class FolderFacts(NamedTuple):
    """Facts that earlier runs found in the files of memories in one folder."""

    texts: StoredFacts[FileTexts]
    ids: StoredFacts[FileIds]


class TokenCounter(NamedTuple):
    """A way of counting tokens."""

    name: str
    units_per_token: int
    units: Callable[[str], int]
    """Units of a text.

    Units of an estimate add up over the parts of a text; exact tokens need not, since one may reach across a cut.
    """
    adds_up: bool = True
    """Whether the units of a text are the sum of those of its parts, wherever it is cut."""

    def tokens(self, units: int) -> int:
        """Tokens for a number of units, rounded up."""
        return -(-units // self.units_per_token)

    def count(self, text: str) -> int:
        """Tokens of a text; 0 for the empty one."""
        return self.tokens(self.units(text))
