"""What a build comes to, step by step: memories, fragments, decisions, sections, the context.

Nothing here decides anything.
"""

from __future__ import annotations

from typing import NamedTuple

from contextasm.model.document import Document
from contextasm.model.errors import Problem


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


class RetrievalResult(NamedTuple):
    """What a source brought back."""

    fragments: tuple[Fragment, ...] = ()
    documents: tuple[Document, ...] = ()
    """Every file that was opened."""
    problems: tuple[Problem, ...] = ()


Fact = str | int | float
"""One figure or word that belongs to a reason."""
