"""Table of sources: the name in a profile -> what other rooms must know of the source.

A source is one line here, and one module and one line in `retrieval`. No other module spells the name of a source: what
depends on the source of a layer asks for a trait.
"""

from collections.abc import Mapping, Sequence

from contextasm.model.named_tuple import NamedTuple


class SourceTraits(NamedTuple):
    """Facts about a source that settings are checked with, and that other steps decide by."""

    item_fields: Sequence[str] = ()
    """Names that may be in braces in a layer's `item`; empty for a source that shows text unchanged."""
    group_fields: Sequence[str] = ()
    """Names that may be in braces in a layer's `group`; empty for a source without groups."""
    score_parts: Sequence[str] = ()
    """Parts of its scores that a layer's `weights` may weigh; empty for a source without scores."""
    reads_files: bool = True
    """Whether it reads files; a source that does not shows what the request has."""
    lists_project: bool = False
    """Whether it shows the names of the project's files, which git is asked for before the build."""
    uses_open: bool = False
    """Whether the open files of a request decide what is found, independent of the layer's paths."""
    shows_text: bool = False
    """Whether files are shown as text, so that a managed block in one leaves no trace."""
    is_document: bool = False
    """Whether it shows every file that the paths name, whole: only the files decide what is shown."""
    is_log: bool = False
    """Whether its files are logs, with a day in their names."""
    holds_memories: bool = False
    """Whether its files hold memories."""
    answers_topic: bool = False
    """Whether it finds only what matches the topic, and nothing without one."""
    gives_topic: bool = False
    """Whether its current goal is the topic of a request without one."""
    message_steps: Sequence[str] = ()
    """Steps of `overflow` for fragments that are messages or tools of a request to a model's API; empty for a source
    that has none of these."""
    type_filter: str = ""
    """The field of `Filters` with the types that its fragments must have; empty for none."""

    @property
    def is_running_text(self) -> bool:
        """Whether it shows text of which a smaller budget takes lines away at the end, and nothing else."""
        return self.is_document or (self.is_log and not self.answers_topic)


SCORE_PARTS = (
    "similarity",
    "importance",
    "recency",
    "confidence",
    "credibility",
    "coherence",
    "salience",
    "weight",
    "rate",
    "named",
    "intent",
    "open",
    "changed",
    "content",
)
"""The parts of a score, in the order in which weights are shown."""


def _scores(*parts: str) -> Sequence[str]:
    # Neither credibility nor coherence is the source's own: every fragment that has a score may have both.
    return (*parts, "credibility", "coherence")


_KEY = ("key", "name")
_PAGE = ("title", "path")
_WEIGHED = ("importance", "recency", "confidence", "open")
_MEMORY = ("type", "text", "title", "rest", "confidence", "words", "link", "age", "verified")
_MEMORIES = SourceTraits(_MEMORY, _KEY, holds_memories=True)
_LOGS = SourceTraits(group_fields=("date",), is_log=True)

SOURCE_TRAITS: Mapping[str, SourceTraits] = {
    "document": SourceTraits(shows_text=True, is_document=True),
    "daily": _LOGS._replace(shows_text=True),
    "instructions": SourceTraits(group_fields=("path",), uses_open=True, shows_text=True),
    "log-search": _LOGS._replace(item_fields=("text",), score_parts=_scores("similarity"), answers_topic=True),
    "recent": _MEMORIES,
    "search": _MEMORIES._replace(score_parts=_scores("similarity", *_WEIGHED), answers_topic=True),
    "weighed": _MEMORIES._replace(score_parts=_scores(*_WEIGHED)),
    "events": SourceTraits(
        ("type", "text"),
        ("session",),
        _scores("similarity", "importance", "recency", "intent"),
        message_steps=("drop", "detail", "summarize", "truncate"),
        type_filter="event_types",
    ),
    "knowledge": SourceTraits(group_fields=_PAGE, score_parts=_scores("similarity", "recency"), shows_text=True),
    "entities": SourceTraits(
        ("type", "name", "fields"), score_parts=_scores("named", "salience"), type_filter="entity_types"
    ),
    "relations": SourceTraits(("source", "type", "target"), score_parts=_scores("weight")),
    "patterns": SourceTraits(("name", "text", "tried"), score_parts=_scores("rate")),
    "manifests": SourceTraits(("name", "text")),
    "threads": SourceTraits(group_fields=_PAGE, shows_text=True),
    "files": SourceTraits(
        group_fields=_PAGE, score_parts=_scores("open", "changed", "named", "content"), shows_text=True
    ),
    "tree": SourceTraits(("folder", "names"), reads_files=False, lists_project=True),
    "tools": SourceTraits(("name", "text", "arguments"), score_parts=_scores("similarity"), message_steps=("drop",)),
    "root-goal": SourceTraits(),
    "ancestor-goals": SourceTraits(),
    "sibling-results": SourceTraits(),
    "current-goal": SourceTraits(gives_topic=True),
    "additional": SourceTraits(reads_files=False),
}
"""Every source, by the name that profiles use."""
