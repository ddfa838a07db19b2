"""What a build starts from: documents, the request, layers and profiles; and the one error class.

Nothing here decides anything.
"""

from __future__ import annotations

from typing import NamedTuple


class Layer(NamedTuple):
    """A slot of the context: where its text comes from and how much room it may take."""

    id: str
    source: tuple[str, ...]
    """Names of sources; the first that finds anything is taken."""
    heading: tuple[str, ...]
    """One heading, or one for each path."""
    path: tuple[str, ...]
    """Paths or patterns, with `{agent}` and `{team}`; one whose name is not given is skipped."""
    line: str = ""
    """The form of one fragment as a list item, such as `- [{type}] {text}`; empty for running text."""
    group: str = ""
    """The form of the heading above fragments of one day or key; empty for none."""
    order: str = "given"
    """`given`: as the source has them; `best`: by score, then the newest, then path and position; `steady`: by score,
    then text and id."""
    keep: str = "start"
    """The end of a document that is spared: `start` or `end`."""
    groups: tuple[str, ...] = ()
    """Keys in the order in which their groups are shown; those that are not among them come behind, by name."""
    tier: str = ""
    """Only memories of this tier; empty for any."""
    tiers: tuple[tuple[str, str], ...] = ()
    """The tier of a memory that names none, by patterns of its key; the first that fits."""
    quota: tuple[tuple[str, int], ...] = ()
    """How many memories of keys like this one count, the most important first; no others do."""
    limits: tuple[tuple[str, int], ...] = ()
    """How long or how many the fields of a memory may be before that is a problem."""
    start: tuple[str, ...] = ()
    """Layers before it whose finds it starts from."""
    depth: int = 1
    """How many steps relations are followed."""
    pool: int = 0
    """How many are looked at: the newest events, the most salient entities beside those named; 0 for all."""
    types: tuple[str, ...] = ()
    """The types of events that count; empty for all."""
    min_score: float = 0
    """The least total of a score that counts; 0 for any."""
    top: int = 0
    """How many fragments count, best first; 0 for all."""
    weights: tuple[tuple[str, float], ...] = (("similarity", 0.5), ("importance", 0.3), ("recency", 0.2))
    """What each part of a score counts (digest 1.2)."""
    floor: float = 0.5
    """The least sum of matching words that makes a hit, as a share of the best hit's; any match counts at 0."""
    days: int = 0
    """The oldest age, in days, of a log that is shown."""
    fallback_days: int = 0
    """Where that window holds no log: the newest existing days up to this age; 0 for none."""
    required: bool = False
    """Always whole, whatever the budget."""
    max_tokens: int | None = None
    share: float | None = None
    """Per cent of the budget for this layer."""
    ceiling: float | None = None
    """Per cent of the budget that this layer and everything counted before it may reach."""
    reserve: int = 0
    """Tokens held for this layer against those before it."""
    fit: tuple[str, ...] = ()
    """What is tried, in order, with what does not fit whole."""
    detail: str = "atomic"
    """The level of detail that its fragments are shown at; `adaptive` for the fullest that fits, each by itself."""
    priority: int = 0
    """Layers of a higher one take their room first; a rule's `set_priority` sets it."""
    enabled: bool = True
    """A layer that is not is left out."""
    varies: bool = False
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
    merge: tuple[str, ...] = ()
    """How fragments may be found to say the same, to be shown once; in this order."""
    conflicts: Conflicts | None = None
    """How fragments of one key that say different things are settled; None where that is no conflict."""
    fill: float = 0
    """Per cent of the budget up to which detail is added where layers show less than there is; 0 for none."""
    strategies: tuple[tuple[str, Profile], ...] = ()
    """The same profile as it is under each named strategy."""
