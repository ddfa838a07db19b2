"""What a build starts from: documents, the request, layers and profiles; and the one error class.

Nothing here decides anything.
"""

from __future__ import annotations

from typing import NamedTuple


class Query(NamedTuple):
    """Sources of a layer, and the limits of the search for its fragments."""

    sources: tuple[str, ...] = ()
    """Names of sources; the first that finds anything is taken."""
    paths: tuple[str, ...] = ()
    """Paths or patterns, with `{agent}` and `{team}`; one whose name is not given is skipped."""
    start_from: tuple[str, ...] = ()
    """Layers before it whose fragments the search starts from."""
    max_candidates: int = 0
    """Number of candidates: the newest events, the most salient entities beside those named; 0 for all."""
    event_types: tuple[str, ...] = ()
    """Types of events that are candidates; empty for all."""
    depth: int = 1
    """Number of steps that relations are followed."""
    max_age_days: int = 0
    """Oldest age, in days, of a log that is shown."""
    fallback_days: int = 0
    """Where that window holds no log: the newest existing days up to this age; 0 for none."""
    min_match: float = 0.5
    """Least sum of matching words that makes a hit, as a share of the best hit's; any match is a hit at 0."""


class MemoryScope(NamedTuple):
    """Restriction of a layer to some memories."""

    tier: str = ""
    """Only memories of this tier; empty for any."""
    tier_of_key: tuple[tuple[str, str], ...] = ()
    """The tier of a memory that names none, by patterns of its key; the first that fits."""
    key_quota: tuple[tuple[str, int], ...] = ()
    """Number of memories for each pattern of keys, the most important first; no others are candidates."""
    field_limits: tuple[tuple[str, int], ...] = ()
    """Greatest length or number of a memory's fields before that is a problem."""


class Ranking(NamedTuple):
    """Order of a layer's fragments, and the number of them that may enter."""

    order: str = "given"
    """`given`: as the source has them; `best`: by score, then the newest, then path and position; `steady`: by score,
    then text and id."""
    weights: tuple[tuple[str, float], ...] = (("similarity", 0.5), ("importance", 0.3), ("recency", 0.2))
    """Weight of each part of a score (digest 1.2)."""
    min_score: float = 0
    """Least total of a score that may enter; 0 for any."""
    top: int = 0
    """Number of fragments that may enter, best first; 0 for all."""


class Limits(NamedTuple):
    """Limits of a layer's room in the budget."""

    required: bool = False
    """Always whole, whatever the budget."""
    max_tokens: int | None = None
    share: float | None = None
    """Per cent of the budget for this layer."""
    ceiling: float | None = None
    """Per cent of the budget that this layer and everything counted before it may reach."""
    reserve: int = 0
    """Tokens held for this layer against those before it."""
    priority: int = 0
    """Layers of a higher one take their room first; a rule's `set_priority` sets it."""


class Overflow(NamedTuple):
    """Treatment of fragments that do not fit whole."""

    steps: tuple[str, ...] = ()
    """Steps that are tried, in order, with what does not fit whole."""
    detail: str = "atomic"
    """Level of detail that its fragments are shown at; `adaptive` for the fullest that fits, each by itself."""
    keep: str = "start"
    """The end of a document that is spared: `start` or `end`."""


class LayerDisplay(NamedTuple):
    """Form in which a layer's fragments are written."""

    item_template: str = ""
    """The form of one fragment as a list item, such as `- [{type}] {text}`; empty for running text."""
    group_template: str = ""
    """The form of the heading above fragments of one day or key; empty for none."""
    group_order: tuple[str, ...] = ()
    """Keys in the order in which their groups are shown; those that are not among them come behind, by name."""


class Layer(NamedTuple):
    """A slot of the context: where its text comes from and how much room it may take."""

    id: str
    heading: tuple[str, ...] = ()
    """One heading, or one for each path."""
    query: Query = Query()
    memories: MemoryScope = MemoryScope()
    ranking: Ranking = Ranking()
    limits: Limits = Limits()
    overflow: Overflow = Overflow()
    display: LayerDisplay = LayerDisplay()
    changed_by_rules: bool = False
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
    disabled: tuple[str, ...] = ()
    """Ids of layers that are switched off: a build leaves them out."""
    merge: tuple[str, ...] = ()
    """How fragments may be found to say the same, to be shown once; in this order."""
    conflicts: Conflicts | None = None
    """How fragments of one key that say different things are settled; None where that is no conflict."""
    fill: float = 0
    """Per cent of the budget up to which detail is added where layers show less than there is; 0 for none."""
    strategies: tuple[tuple[str, Profile], ...] = ()
    """The same profile as it is under each named strategy."""
