"""The finished context: sections, decisions, how much each layer used, and how sections are formatted."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from contextasm.model.document import Document, Span
from contextasm.model.errors import Problem
from contextasm.model.fragment import OUTCOME, Reason
from contextasm.model.request import Request
from contextasm.model.rule import RuleTrace


class Decision(NamedTuple):
    """What happened to one fragment, and why."""

    fragment: str
    layer: str
    path: str
    lines: Span
    """Where the fragment stands in its file; (0, 0) where the file was not opened."""
    reason: Reason
    tokens_before: int | None
    """Tokens of the whole fragment; None where it was ruled out before anything was counted."""
    tokens_after: int
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
    rule_traces: tuple[RuleTrace, ...] = ()
    """Every rule there is, in order of precedence."""

    @property
    def truncated(self) -> bool:
        """Whether anything that was in question was cut or dropped."""
        return any(decision.outcome in {"truncated", "dropped"} for decision in self.decisions)


class Omission(NamedTuple):
    """Text that is missing at one place."""

    path: str
    line: int
    """The first missing line, as a line of the file."""
    texts: tuple[str, ...]
    """The missing lines."""


Marker = Callable[[Omission], str]
"""Words the line that stands where text is missing."""


class SectionFormat(NamedTuple):
    """What a format puts around the text of a section, and in place of what is missing."""

    section: Callable[[str, str, str], str]
    """Takes a layer's id, a heading and the text under it; gives what is emitted, the blank line behind it included."""
    marker: Marker
