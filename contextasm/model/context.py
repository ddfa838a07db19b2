"""The finished context: sections, decisions, how much each layer used, and how sections are formatted."""

from collections.abc import Callable
from typing import NamedTuple

from contextasm.model.build import Request
from contextasm.model.document import Document, Span
from contextasm.model.errors import Problem
from contextasm.model.fragment import OUTCOME, Reason
from contextasm.model.profile import RuleTrace

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
    """Tokens of the whole fragment; None where it was excluded before tokens were counted."""
    tokens_after: int
    """Tokens of the part that is shown."""
    kept: tuple[Span, ...]
    """Lines that are shown, the last line before a cut perhaps in part."""
    score: tuple[tuple[str, float], ...] = ()
    """Parts of the score by name, and `total`; empty where the fragment was not scored."""
    boosted_by: tuple[str, ...] = ()
    """Rules behind the score's `boost`."""
    stands_for: tuple[str, ...] = ()
    """Places of the copies that are left out for it, such as `memories/m.md:3`."""

    @property
    def outcome(self) -> str:
        """One of included, shortened, truncated, dropped, excluded, merged."""
        return OUTCOME[self.reason.code]


class Section(NamedTuple):
    """A heading and the text under it, as emitted."""

    layer: str
    """Id of the layer that it belongs to."""
    heading: str
    """The heading, without its marks."""
    text: str
    """The text under the heading, with the markers of cuts."""
    tokens: int
    """Tokens, with heading, markers and the blank line behind the section."""
    truncated: bool
    """Whether something of it is missing."""
    stable: bool
    """Whether neither the date nor the topic can change the text, so that a provider's cache pays."""


class LayerUsage(NamedTuple):
    """Limit, demand and use of a layer, in tokens."""

    layer: str
    """Id of the layer."""
    limit: int | None
    """None where the layer has no limit."""
    wanted: int
    """Tokens of all candidate fragments, whole."""
    used: int
    """Tokens that it takes."""


class Selection(NamedTuple):
    """Result of `select`: sections, decisions, use of each layer, and problems."""

    sections: tuple[Section, ...]
    decisions: tuple[Decision, ...]
    allowances: tuple[LayerUsage, ...]
    problems: tuple[Problem, ...]


class Context(NamedTuple):
    """The finished context, with the decisions and files behind it."""

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
    documents: tuple[Document, ...]
    """Files of the workspace that were opened."""
    rule_traces: tuple[RuleTrace, ...] = ()
    """Trace of each rule, in order of precedence."""

    @property
    def truncated(self) -> bool:
        """Whether any candidate fragment was shortened, truncated or dropped."""
        return any(decision.outcome in INCOMPLETE for decision in self.decisions)


class Omission(NamedTuple):
    """Text that is missing at one place, or from a section."""

    path: str
    line: int
    """First missing line, as a line of the file."""
    texts: tuple[str, ...]
    """Missing lines; empty where fragments are shortened and nothing else is missing."""
    shortened: int = 0
    """Number of the section's fragments that are shown in a shorter form; set at the end of the section alone."""


Marker = Callable[[Omission], str]
"""Gives the line that is shown in place of an omission."""


class SectionFormat(NamedTuple):
    """Functions of a format that write a section, and the line in place of omitted text."""

    section: Callable[[str, str, str], str]
    """Takes a layer's id, a heading and the text under it; gives the section with a blank line behind it."""
    marker: Marker
