"""Errors and problems; documents as read, memories in them, data files, and the workspace that gives documents."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Annotated, Protocol

from contextasm.model.named_tuple import NamedTuple


class ContextasmError(Exception):
    """An error that the user can correct: where it is, what is wrong, and a hint for what to do.

    `code` is the exit code of the process: 2 for a request that can't be carried out, 1 for the answer no.
    """

    def __init__(self, where: str, what: str, hint: str, code: int = 2) -> None:
        # An empty value that was typed is the place itself.
        self.where = where or '""'
        super().__init__(f"{self.where}: {what}: {hint}")
        self.what = what
        self.hint = hint
        self.code = code


@contextmanager
def system_errors(where: str, what: str, hint: str) -> Iterator[None]:
    """Raise `ContextasmError` for each `OSError` inside; `what` begins the message, which the system's words end."""
    try:
        yield
    except OSError as error:
        raise ContextasmError(where, f"{what}: {error.strerror}", hint) from error


def utf8_text(data: bytes, where: str, hint: str) -> str:
    """The text of bytes in UTF-8, without a byte order mark. Raises `ContextasmError` for other bytes."""
    try:
        return data.decode().removeprefix("\ufeff")  # for `utf-8-sig` Python imports a module
    except UnicodeDecodeError as error:
        raise ContextasmError(where, f"byte {error.start} is not UTF-8", hint) from error


def failure_words(error: BaseException) -> str:
    """The message of an error that ends a command or a request, whosever error it is, of any length."""
    match error:
        case ContextasmError():
            return str(error)
        case MemoryError():
            return "memory: this command needs more than there is: leave out large files"
        case OSError():
            # Only what a library prints by itself, such as a help text, has no file's name.
            where = error.filename or "standard output: can't be written"
            return f"{where}: {error.strerror or error}: correct the cause and try again"
    what = f"{type(error).__name__}: {error}"
    return f"this is a bug: {what}: please report it; CTXASM_DEBUG=1 shows where it happened"


class ProgramFailed(Exception):  # noqa: N818 - it is not an error of the build
    """Why a program of the workspace gave no output: the rest of a sentence that begins with the program's name."""


class Problem(NamedTuple):
    """A fault that does not stop the build."""

    code: str
    path: str
    """File, or another subject of the message (a layer, `budget`)."""
    line: int
    """Line of the file, counted from 1; 0 for no line."""
    message: str
    hint: str = ""
    """What to do; empty if the message says all."""

    @property
    def advice(self) -> str:
        """Message and hint in one text."""
        return "; ".join(filter(None, (self.message, self.hint)))


TIMEOUT = "source-timeout"
"""Code of the problem of a layer whose sources are late; its path is the layer's id."""


def timed_out_layers(problems: Iterable[Problem]) -> frozenset[str]:
    """Ids of the layers whose sources did not answer before the deadline."""
    return frozenset(problem.path for problem in problems if problem.code == TIMEOUT)


MAX_FILE = 64 * 1024 * 1024
"""Bytes of the largest file that is read, and of the most that a compressed one holds."""

Span = tuple[int, int]
"""First and last line of a part of a file, counted from 1, both included."""


class Gap(NamedTuple):
    """Lines of a file that are blank in its document's text, and that belong to no fragment."""

    first: int
    """Counted from 1."""
    last: int
    reason: str
    """`block` for the managed block, `secret` for the further lines of a secret, `private` for private lines.

    `host` for lines that a host loads by itself, `memory` for a memory that may not be shown.
    """


class Hidden(NamedTuple):
    """One unbroken run of unseen characters of one kind."""

    kind: str
    """`tag`, `bidi`, `zero-width`, `variation`, `control` or `blank`."""
    line: int
    column: int
    """Counted from 1, in code points."""
    length: int
    """Code points in the run."""
    payload: str
    """The message of the run, in printable characters, of any length; empty if it can't be decoded."""
    codes: str
    """The first few different characters of the run, as `U+202E U+2066`."""


class Secret(NamedTuple):
    """A key, token or password in a text, fit to be shown to anybody."""

    kind: str
    """Kind of secret, such as `github-token`."""
    line: int
    column: int
    """Counted from 1, in code points."""
    masked: str
    """The prefix of all secrets of the kind, four characters of it at most; the length; four digits of a hash."""
    placeholder: bool
    """Whether manuals print this text, or one like it, in place of a secret."""
    doubtful: bool = False
    """Whether it may be an ordinary word or value: it is masked, and `check` only warns."""
    last: int = 0
    """The line in which it ends."""

    @property
    def words(self) -> str:
        """The secret in a message: `what looks like a secret (github-token: ghp_... (40 characters, #1a2b))`."""
        what = "what may be a secret" if self.doubtful else "what looks like a secret"
        what = "a placeholder that looks like a secret" if self.placeholder else what
        return f"{what} ({self.kind}: {self.masked})"


class Cleaning(NamedTuple):
    """Characters that reading leaves in the texts of files."""

    hidden: str = "strip"
    """`strip`; `keep`, which removes only control characters; or `raw`, which removes nothing."""
    secrets: str = "mask"
    """`mask` or `keep`."""


CLEAN = Cleaning()
"""The cleaning of everything that nobody asked to keep."""

AS_WRITTEN = Cleaning("raw", "keep")
"""No cleaning at all, for texts that are written back."""


class Document(NamedTuple):
    """A file of the workspace as read."""

    path: str
    """Posix path relative to the workspace."""
    text: str
    """Body of the file: decoded, with LF line ends, without front matter."""
    line: int
    """Line of the file, counted from 1, at which `text` begins."""
    front: Mapping[str, str | tuple[str, ...]]
    """Values of the front matter as written; a list is a tuple."""
    data: bytes
    """Bytes of the file as they are on the disk."""
    head: str = ""
    """The lines above `text`, front matter with its rules; empty for none."""
    gaps: tuple[Gap, ...] = ()
    """Lines that are blank in `text`, in ascending order."""
    hidden: tuple[Hidden, ...] = ()
    """Hidden characters of the file as it is on the disk."""
    secrets: tuple[Secret, ...] = ()
    """Secrets of the file, at their places in the text without hidden characters."""
    cleaning: Cleaning = CLEAN
    withheld: str = ""
    """How it is read for a shared context: `rows` without the private parts of its text and values, if it has any;
    `file` with nothing of it, since all is private. Empty if it is read for a personal one."""
    hidden_ids: frozenset[str] = frozenset()
    """Ids of private memories that are taken out of what its own memories replace or are replaced by."""

    @property
    def whole(self) -> str:
        """Text of the file from its first line on."""
        return self.head + self.text

    @property
    def lacks_private(self) -> bool:
        """Whether private lines are left out of the text or the values."""
        return any(gap.reason == "private" for gap in self.gaps)

    @property
    def size(self) -> int:
        """Bytes of the file on the disk."""
        return len(self.data)

    @property
    def digest(self) -> str:
        """SHA-256 of the file's bytes, in hexadecimal."""
        return sha256(self.data).hexdigest()


class Data(NamedTuple):
    """A file of values, YAML or JSON, as read."""

    document: Document
    value: object
    """Mappings, lists, words, numbers, true, false and None; a YAML mapping knows its line as `line`."""


Parse = Callable[[str, str], object]
"""Takes a YAML text and its path; gives its values. Raises `ContextasmError` with the line of a fault."""


class Workspace(Protocol):
    """The user's folder as the steps see it. No file outside it can be reached."""

    def list(self, pattern: str) -> Sequence[str]:
        """Paths that match, in code point order. `*` matches any name, `**` any folders (`text/names/glob`)."""

    def read(self, path: str) -> Document | Problem | None:
        """The document at a path; a problem if it can't be read; None if no such file exists."""


class ChangedWorkspace:
    """A workspace with the documents of another one, each as a function changes it (`Workspace`)."""

    def __init__(self, workspace: Workspace, change: Callable[[Document], Document | Problem]) -> None:
        self._workspace = workspace
        self._change = change

    def list(self, pattern: str) -> Sequence[str]:
        """Paths as the other workspace lists them."""
        return self._workspace.list(pattern)

    def read(self, path: str) -> Document | Problem | None:
        """The changed document."""
        read = self._workspace.read(path)
        return self._change(read) if isinstance(read, Document) else read


class FileStamp(NamedTuple):
    """Metadata that shows a change of a file without opening it; times in nanoseconds since 1970."""

    modified: int
    changed: int
    size: int
    inode: int


class StampedWorkspace(Workspace, Protocol):
    """A workspace that tells unchanged files without opening them."""

    @property
    def root(self) -> str:
        """Path of the folder, without links in it."""

    def stamp(self, path: str) -> FileStamp | None:
        """Metadata of a file; None for a link, and for a path that is not a regular file of the workspace."""


MemoryDay = Annotated[str, ("pattern", r"^(\d{4}-\d{2}-\d{2})?$")]
"""A field of a memory that is a day, YYYY-MM-DD, or empty."""


class Memory(NamedTuple):
    """A remembered statement with its fields, as parsed from its file (man/ctxasm.yaml.5, MEMORIES).

    The type of a default is the form of the field: a word, a list, a number from 0 to 1, or yes or no. Days are
    declared as such.
    """

    id: str
    path: str
    line: int
    """Line of the file at which `text` begins, counted from 1."""
    text: str
    """Text without list mark, type and attributes. Its line number n is the file's line `line + n`."""
    type: str = "note"
    importance: float = 0.5
    """0 to 1."""
    created: MemoryDay = ""
    """Day, YYYY-MM-DD; empty for none, which counts as older than any date."""
    accessed: MemoryDay = ""
    """Day of the last use, YYYY-MM-DD; empty for none."""
    status: str = "active"
    confidence: float = 0.5
    """0 to 1."""
    key: str = ""
    tier: str = ""
    dedup: str = ""
    tags: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    private: bool = False
    pin: bool = False
    supersedes: tuple[str, ...] = ()
    valid_from: MemoryDay = ""
    """First day on which it holds, YYYY-MM-DD; empty for none."""
    expires: MemoryDay = ""
    """Last day on which it holds, YYYY-MM-DD; empty for none."""
    verified: MemoryDay = ""
    """Day on which somebody last confirmed it, YYYY-MM-DD; empty for none."""
    superseded_by: str = ""
    """Id of the memory that it is consolidated in; empty for none."""
    repositories: tuple[str, ...] = ()
    """Patterns of the addresses or folders of the repositories in which it holds; empty for any place."""
    writer: str = ""
    """Who wrote it, such as `mcp`; empty for a person, or unknown."""
    cites: tuple[str, ...] = ()
    """Lines of files that it rests on, as `FILE:FIRST-LAST@DIGEST` (`text/memories/cites.py`)."""

    @property
    def last_use(self) -> str:
        """The last of the days of use, creation and verification, YYYY-MM-DD; empty for none."""
        return max(self.created, self.accessed, self.verified)
