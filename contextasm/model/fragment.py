"""What a build comes to, step by step: memories, fragments, decisions, sections, the context.

Nothing here decides anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from contextasm.model.profile import Document, Fact, Problem, Profile, Request, Span


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


class RetrievalResult(NamedTuple):
    """What a source brought back."""

    fragments: tuple[Fragment, ...] = ()
    documents: tuple[Document, ...] = ()
    """Every file that was opened."""
    problems: tuple[Problem, ...] = ()


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


class LayerUsage(NamedTuple):
    """What a layer might take and what it took, in tokens."""

    layer: str
    limit: int | None
    """None where the layer has no limit."""
    wanted: int
    """Everything that it found and that was in question, whole."""
    used: int


class RuleTrace(NamedTuple):
    """What became of one rule."""

    rule: str
    path: str
    line: int
    fired: bool
    reason: Reason
    """`fired`, or why not."""
    lost: tuple[Reason, ...]
    """What of it another rule, or a required layer, left nothing of."""


class AfterRules(NamedTuple):
    """What is left to rank and select from."""

    profile: Profile
    found: Mapping[str, RetrievalResult]
    rulings: tuple[RuleTrace, ...]
    problems: tuple[Problem, ...]


class Selection(NamedTuple):
    """What `select` settled."""

    sections: tuple[Section, ...]
    decisions: tuple[Decision, ...]
    allowances: tuple[LayerUsage, ...]
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
    allowances: tuple[LayerUsage, ...]
    problems: tuple[Problem, ...]
    documents: tuple[Document, ...]
    """Every file of the workspace that was opened."""
    rulings: tuple[RuleTrace, ...] = ()
    """Every rule there is, in order of precedence."""

    found: Mapping[str, RetrievalResult] = MappingProxyType({})
    """What each layer's sources brought, by id; a later build may start from it."""

    @property
    def truncated(self) -> bool:
        """Whether anything that was in question was cut or dropped."""
        return any(decision.outcome in {"truncated", "dropped"} for decision in self.decisions)
