"""What a build comes to, step by step: memories, fragments, decisions, sections, the context.

Nothing here decides anything.
"""

from __future__ import annotations

from typing import NamedTuple

from contextasm.model.document import Document
from contextasm.model.errors import Problem
from contextasm.model.score import Score

Fact = str | int | float
"""One figure or word that belongs to a reason."""


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


class Location(NamedTuple):
    """Where a fragment stands in the workspace."""

    path: str
    line: int
    """The line of the file at which the fragment's text begins, counted from 1; 0 where the file was not opened."""
    rows: int = 0
    """Number of the file's lines that the fragment stands for, where its text is not those lines; else 0."""


class FragmentDisplay(NamedTuple):
    """Where and how a fragment is shown."""

    heading: str
    """Heading of the section that it belongs to."""
    group: str = ""
    """The line shown above it and its neighbours of the same group; empty for none."""
    place: tuple[int, ...] = ()
    """Its position among the fragments of its section as shown, whatever the order they are chosen in."""
    fence: str = ""
    """The line that opens the fence it is shown in, such as ```` ```python ````; empty for none."""
    keep: str = "start"
    """The end that is spared when it is truncated: `start` or `end`."""


class Labels(NamedTuple):
    """Properties of a fragment that ranking, rules and filters look at."""

    day: str = ""
    """The date it is about, as YYYY-MM-DD; empty for none, which counts as older than any."""
    kind: str = ""
    """Type of memory, event or entity; empty where the source has no types."""
    key: str = ""
    """Its subject, in a word of the user's; empty for none."""
    dedup: str = ""
    """Name shared by fragments that say the same; empty for none."""
    tags: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """Decisions that the steps before selection made about a fragment."""

    excluded: Reason | None = None
    """Set by the first step that excludes it."""
    pinned_by: str = ""
    """The rule that includes it whole, whatever its layer's limit; empty for none."""
    boost: float = 1.0
    """Factor by which rules multiply its score."""
    note: str = "fits"
    """Code of the reason if it is shown whole: `fallback` where a source before its own found nothing."""


class Fragment(NamedTuple):
    """A piece that may enter the context whole, shortened, or not at all."""

    id: str
    location: Location
    text: str
    """As it would be shown. Its line number n is the file's line `location.line + n`, unless `location.rows` is set."""
    display: FragmentDisplay
    statement: str = ""
    """Its text without the form its layer gives it; empty where `text` is that."""
    labels: Labels = Labels()
    score: Score = ()
    """The parts of its score by name, each from 0 to 1, and `total`; empty where nothing was scored."""
    verdict: Verdict = Verdict()

    def exclude(self, reason: Reason) -> Fragment:
        """The fragment, excluded for this reason."""
        return self._replace(verdict=self.verdict._replace(excluded=reason))


class RetrievalResult(NamedTuple):
    """What a source brought back."""

    fragments: tuple[Fragment, ...] = ()
    documents: tuple[Document, ...] = ()
    """Every file that was opened."""
    problems: tuple[Problem, ...] = ()
