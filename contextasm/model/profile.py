"""Profiles and their layers, each layer in one part for each step that uses it.

A layer is the same however it was configured: files and flags are read in `config`.
"""

from collections.abc import Mapping, Sequence
from typing import Self

from contextasm.model.fragment import MIN_MATCH, Reason
from contextasm.model.named_tuple import NamedTuple
from contextasm.model.sources import SOURCE_TRAITS, SourceTraits


class Query(NamedTuple):
    """Sources of a layer, and the limits of the search for its fragments."""

    sources: tuple[str, ...] = ()
    """Names of sources; the first that retrieves a fragment is used."""
    paths: tuple[str, ...] = ()
    """Paths or patterns, with `{agent}` and `{team}`; a path that needs a missing name is skipped."""
    except_paths: tuple[str, ...] = ()
    """Patterns of files that are not read although a path names them."""
    dates: tuple[str, ...] = ()
    """Forms of dates in the names of logs (`text.names.dates`), the first that fits; empty for YYYY-MM-DD."""
    app: str = ""
    """Program whose own settings name the folder of the daily logs and the form of their dates; empty for none."""
    start_from: tuple[str, ...] = ()
    """Earlier layers whose fragments the search starts from."""
    max_candidates: int = 0
    """Number of candidates: the newest events, the most salient entities besides the named ones; 0 for all."""
    event_types: tuple[str, ...] = ()
    """Types of events that are candidates; empty for all."""
    intents: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Types of events that count for a topic of each intent, by the name of the intent (`retrieval.reading`)."""
    depth: int = 1
    """Number of steps that relations are followed."""
    max_age_days: int = 0
    """Oldest age, in days, of a log that is shown."""
    fallback_days: int = 0
    """Age, in days, up to which the newest logs are shown if none is within `max_age_days`; 0 for none."""
    min_match: float = MIN_MATCH
    """Least sum of matching words that makes a hit, as a share of the best hit's sum; 0 makes any match a hit."""
    min_cover: float = 0.0
    """Least sum of the best hit, as a share of what the topic's words are worth together; below it nothing is a hit."""
    keeps_newest: bool = False
    """Whether hits take half of the `top` places, and the newest memories the others."""
    open_only: bool = False
    """Whether only memories that name an open file are found."""

    @property
    def traits(self) -> Sequence[SourceTraits]:
        """The traits of the sources, in their order."""
        # The layer of what rules include has a source that no profile can name.
        return [SOURCE_TRAITS.get(name, SourceTraits()) for name in self.sources]

    @property
    def has_scores(self) -> bool:
        """Whether a source of the layer gives scores."""
        return any(source.score_parts for source in self.traits)


class MemoryScope(NamedTuple):
    """Restriction of a layer to some memories."""

    tier: str = ""
    """Tier of the memories; empty for any."""
    tier_of_key: tuple[tuple[str, str], ...] = ()
    """Tier of a memory that names none, by patterns of its key; the first pattern that fits is used."""
    key_quota: tuple[tuple[str, int], ...] = ()
    """Number of memories for each pattern of keys, the most important first, and no others; empty for no quota."""
    field_limits: tuple[tuple[str, int], ...] = ()
    """Greatest length or number of each field of a memory; above it there is a problem."""


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
    fallback_top: int = 0
    """The same where an earlier source found nothing and a later one is used; 0 for `top`."""


class Limits(NamedTuple):
    """Limits of a layer's room in the budget."""

    required: bool = False
    """Whether the layer is always shown whole, within the budget or not."""
    max_tokens: int | None = None
    """Tokens that the layer may take; None for no limit."""
    share: float | None = None
    """Per cent of the budget for this layer; None for no limit."""
    max_chars: int | None = None
    """UTF-16 code units of its text that the layer may show, more if the profile's `max_chars` leaves them; None for no
    limit."""
    grow: bool = False
    """Whether room that other layers leave may be taken above the share, or above `max_tokens` if there is no share."""
    ceiling: float | None = None
    """Per cent of the budget that this layer and all layers counted before it may reach; None for no limit."""
    reserve: int = 0
    """Tokens held for this layer against the layers before it."""
    reserve_share: float | None = None
    """Per cent of the budget held if that is more than `reserve`; both then hold half of the budget at most."""
    reserve_against: tuple[str, ...] = ()
    """Ids of the layers that the reserve is held against, up to half of the room left to them; empty for all."""
    within: str = ""
    """Id of the earlier layer whose room this layer shares; empty for a room of its own."""
    leaves: float = 0.2
    """Part of its room, from 0 to 1, that the layer `within` keeps at least."""
    priority: int = 0
    """Rank; layers of a higher rank take their room first. A rule's `set_priority` sets it."""

    def capped(self, tokens: int) -> Self:
        """The limits with this many tokens as `max_tokens`, above which the layer may not grow."""
        return self._replace(max_tokens=tokens, grow=self.grow and self.share is not None)


TITLE = "title"
"""The step of `overflow` that names what is not shown whole."""


class Overflow(NamedTuple):
    """Treatment of fragments that do not fit whole."""

    steps: tuple[str, ...] = ()
    """Steps that are tried, in order, with a fragment that does not fit whole."""
    detail: str = "atomic"
    """Level of detail of the fragments; `adaptive` for the fullest level that fits, for each fragment by itself."""
    keep: str = "start"
    """End of a document that is spared: `start` or `end`."""


class LayerDisplay(NamedTuple):
    """Form in which a layer's fragments are written."""

    item_template: str = ""
    """Template of a fragment as a list item, such as `- [{type}] {text}`; empty for running text."""
    group_template: str = ""
    """Template of the heading above fragments of one day or key; empty for none."""
    headings: str = "nest"
    """`nest` for headings below the section's, `keep` for headings as written."""
    comments: str = "keep"
    """`keep` or `strip` for HTML comments."""
    group_order: tuple[str, ...] = ()
    """Keys in the order in which their groups are shown; other groups come after them, by name."""
    cited: str = "mark"
    """Treatment of a memory that cites text which has changed: `show`, `mark` or `leave-out`."""


class Layer(NamedTuple):
    """A slot of the context, with the origin of its text and its limits in the budget."""

    id: str
    heading: tuple[str, ...] = ()
    """Heading of its section, or one heading for each path."""
    query: Query = Query()
    memories: MemoryScope = MemoryScope()
    ranking: Ranking = Ranking()
    limits: Limits = Limits()
    overflow: Overflow = Overflow()
    display: LayerDisplay = LayerDisplay()
    hidden: str = "strip"
    """Treatment of hidden characters: `strip`, `keep`, or `fail`, which stops the build."""
    locked: bool | None = None
    """Whether its files instruct the agent and belong in the approval lock; None for whole files that are required."""
    private: bool = False
    """Whether a shared context shows nothing of the layer, nor of the files in its paths wherever they are read."""
    changed_by_rules: bool = False
    """Whether rules that fired for this request may have changed it."""

    @property
    def instructs(self) -> bool:
        """Whether its files instruct the agent: as it says itself, else if it is required and shows whole files."""
        if self.locked is not None:
            return self.locked
        return self.limits.required and all(source.is_document for source in self.query.traits)

    def most_named(self, budget: int) -> int:
        """Most of its fragments that may be named: one for each 100 tokens of its room; 0 without the step `title`.

        The titles take a tenth of that room, and none has fewer than ten tokens.
        """
        limits = (budget, self.limits.max_tokens, self.limits.share and budget * self.limits.share / 100)
        return int(min(limit for limit in limits if limit is not None)) // 100 if TITLE in self.overflow.steps else 0


class Conflicts(NamedTuple):
    """Treatment of fragments that declare the same key and say different things."""

    severity: tuple[tuple[str, float], ...] = ()
    """Severity by type, 0 to 1: from 0.3 on, a person has to resolve the conflict."""
    otherwise: float = 0.5
    """Severity for any other type."""
    precedence: tuple[str, ...] = ()
    """Layers in order of precedence, the highest first."""


MERGE_METHODS = ("content", "dedup", "near")
"""Methods by which fragments say the same: by text, by declared hint, or by similarity of the texts."""

CONCATENATE = "concatenate"
"""The `fallback` of a profile that shows fragments in the order of their sources."""


class Profile(NamedTuple):
    """An ordered list of layers and the budget they share."""

    name: str
    summary: str
    budget: int
    """Tokens, unless the request names another number."""
    marker: str
    """Form of the marker in place of omitted text: `plain` or `detailed`."""
    layers: tuple[Layer, ...]
    title: str = ""
    """Title above the sections of a document in Markdown; empty for none."""
    disabled: tuple[str, ...] = ()
    """Ids of layers that are switched off: a build leaves them out."""
    merge: tuple[str, ...] = ()
    """Methods that find fragments that say the same, in the order of use; empty to show all."""
    conflicts: Conflicts | None = None
    """Treatment of fragments of one key that say different things; None if that is not a conflict."""
    select: str = "layers"
    """`across` if the scores of fragments decide between the layers that rank by score, else `layers`."""
    fill: float = 0
    """Per cent of the budget up to which detail is added to shortened fragments; 0 for none."""
    min_coherence: float = 0
    """Least coherence of a finished context, 0 to 1; a context below it has a problem. 0 for any."""
    fallback: str = "none"
    """`CONCATENATE` if a context below the least coherence is assembled again, without scores; else `none`."""
    max_chars: int = 0
    """UTF-16 code units of text that the layers with a `max_chars` may show together, above these; 0 for no more."""
    strategies: tuple[tuple[str, "Profile"], ...] = ()
    """The profile under each strategy, by the strategy's name."""
    private_paths: tuple[str, ...] = ()
    """Paths of private layers, also of layers that are switched off or out of scope."""
    agents: str = ""
    """Folder of an agent that has files as this profile reads them, with `{agent}`; empty if no agent has."""
    remember: str = "{owner}/memories/{month}.md"
    """File that new memories go to, with `{owner}`, the folder of an agent or a team, and `{month}` and `{date}`."""
    log: str = "{owner}/daily/{date}.md"
    """File that new entries of logs go to, likewise."""
    host: str = ""
    """Name of the host that reads the same files; empty for none."""
    fits: str = ""
    """Name of the file of that host that the text is for, and whose limits it keeps; empty for none."""

    @property
    def head(self) -> str:
        """The lines above the sections of a document in Markdown; empty without a title."""
        return f"# {self.title}\n\n" if self.title else ""


class RuleTrace(NamedTuple):
    """Outcome of one rule: whether it fired, why not, and its effects that were overridden."""

    rule: str
    path: str
    line: int
    fired: bool
    reason: Reason
    """`fired`, or the reason why it did not fire."""
    lost: tuple[Reason, ...]
    """Reasons why effects of the rule came to nothing: another rule or a required layer."""


Facts = Mapping[str, str | tuple[str, ...]]
"""Fields of a request and their values. A field that is left out, or is empty, is missing."""


class Condition(NamedTuple):
    """A test of one field of the request."""

    field: str
    """The fact that is looked at."""
    op: str
    """The operator, a key of `OPERATORS`."""
    value: str | tuple[str, ...]
    """The value or values it is compared with; empty for operators that need none."""
    line: int
    """The line of the file on which it is."""


class Target(NamedTuple):
    """Fragments that an action of a rule applies to."""

    kind: str
    """`path`, `heading-path`, `tag`, `type`, `entity`, `id`; in an `Effect` also `layer`."""
    value: str
    heading: str = ""
    """Section of a `heading-path`; empty for other kinds."""

    def __str__(self) -> str:
        """The target in a message, such as `path docs/a.md`, `path docs/a.md#Setup`, `layer L3`."""
        return f"path {self.value}#{self.heading}" if self.heading else f"{self.kind} {self.value}"


class Effect(NamedTuple):
    """Effect of one action on one target: as one rule asks for it, or resolved from all rules that name both."""

    action: str
    """A key of `EFFECTS` (`rules/evaluate.py`), such as `always_include`."""
    target: Target
    value: float
    """The weight, the tokens or the rank; 1 for an inclusion or exclusion."""
    rules: tuple[str, ...]
    """Names of the rules that set the effect: several where boosts multiply, none if all lost."""
    lost: tuple[tuple[str, Reason], ...] = ()
    """Rules that lost, with the reason `shadowed` or `protected`."""


class Rule(NamedTuple):
    """A rule as written: conditions, and actions that take effect when all conditions hold."""

    name: str
    path: str
    line: int
    priority: float = 0
    """Higher comes first."""
    enabled: bool = True
    when: tuple[Condition, ...] = ()
    """Conditions; a rule without any always fires."""
    effects: tuple[Effect, ...] = ()
    """What it asks for, in the order of `EFFECTS` (`rules/evaluate.py`)."""


class RuleEvaluation(NamedTuple):
    """Result of evaluating all rules against a request: which fired, and their effects."""

    verdicts: tuple[tuple[Rule, Reason], ...]
    """Rules in order of precedence, each with `fired`, `disabled`, or the code of the condition that failed first."""
    effects: tuple[Effect, ...]
    """Effects, inclusions and exclusions in order of precedence."""
    missing: tuple[str, ...]
    """Fields that an enabled rule tests and the request does not have."""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules that fired, in order of precedence."""
        return tuple(rule for rule, reason in self.verdicts if reason.code == "fired")

    def of(self, action: str) -> tuple[Effect, ...]:
        """Effects of one action."""
        return tuple(effect for effect in self.effects if effect.action == action)
