"""Planner of feedback: what people said of recent builds, as figures, and the changes of settings that these call for.

Each change is proposed and never made: it is an action without edits, for a person to write into the settings. The
limits and the changes come from the digest (4.1, Feedback; 003-8).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path

from contextasm.config.input.settings import resolve_settings
from contextasm.config.profiles.loader import is_profile_path
from contextasm.config.profiles.overrides import ProfileReader
from contextasm.config.rules.rule_files import load_rules
from contextasm.model import INCOMPLETE, Conflicts, Context, ContextasmError, Layer, Profile, Rule
from contextasm.ranking.order import ORDERS
from contextasm.records.replay import load_record, record_paths
from contextasm.retrieval.reading.feedback import read_feedback
from contextasm.text.data.events import Feedback
from contextasm.upkeep.actions import Action
from contextasm.upkeep.input import UpkeepInput, without_variables

FEEDBACK_DAYS = 30
"""Age in days up to which feedback counts: an older line may be on settings that have changed since."""

MAX_CONTRADICTION = 0.05
"""Contradiction rate above which conflicts should weigh more."""

MIN_COMPLETENESS = 0.8
"""Completeness below which layers of entities should take their room first."""

MIN_MEAN_COHERENCE = 0.8
"""Mean coherence below which layers should weigh it."""

SENSITIVITY_FACTOR = 1.2
"""Factor of the severities of conflicts."""

LEAST_BUILDS = 3
"""Builds that have to agree before a layer is to have less room, or more."""

ROOM_TAKEN = 4
"""A layer that is to have less room gives one part in so many of it."""

COHERENCE_WEIGHT = 0.15
"""Weight of coherence in a score (digest 4.1, Priority)."""


def contradiction_rate(judged: Sequence[Feedback]) -> float:
    """The share of the shown fragments that someone called wrong, 0 to 1; 0 if nothing was shown.

    Feedback is one line for each build.
    """
    shown = sum(line.shown for line in judged)
    return min(1.0, sum(len(line.wrong) for line in judged) / shown) if shown else 0.0


def completeness(judged: Sequence[Feedback]) -> float:
    """The share of the builds that lacked nothing, 0 to 1; 1 without builds."""
    return 1 - sum(bool(line.missing) for line in judged) / len(judged) if judged else 1.0


def mean_coherence(judged: Sequence[Feedback]) -> float | None:
    """The mean coherence of the builds, 0 to 1; None if it is known of no build."""
    known = [line.coherence for line in judged if line.coherence is not None]
    return sum(known) / len(known) if known else None


def plan_feedback(upkeep: UpkeepInput) -> Iterator[Action]:
    """A proposal for each figure of the last 30 days that is beyond its limit, unless the settings have that change.

    And one if a layer has room that another one lacks.
    Raises `ContextasmError` for a profile or a rule that can't be loaded, if there is something to propose.
    """
    first = max(1, upkeep.today.toordinal() - FEEDBACK_DAYS)  # no calendar goes further back
    first_day = date.fromordinal(first).isoformat()
    judged = [line for line in read_feedback(upkeep.workspace, upkeep.today)[0] if line.day >= first_day]
    contradiction, complete, coherence = contradiction_rate(judged), completeness(judged), mean_coherence(judged)
    is_incoherent = coherence is not None and coherence < MIN_MEAN_COHERENCE
    is_fine = contradiction <= MAX_CONTRADICTION and complete >= MIN_COMPLETENESS and not is_incoherent
    if is_fine and sum(bool(line.useful or line.wrong) for line in judged) < LEAST_BUILDS:
        return
    builds = f"{len(judged)} build{'s' * (len(judged) != 1)} judged since {first_day}"
    profile, place = _profile_in_use(upkeep)
    if contradiction > MAX_CONTRADICTION:
        wrong, shown = sum(len(line.wrong) for line in judged), sum(line.shown for line in judged)
        found = f"{wrong} of the {shown} fragments in {builds} were wrong: {contradiction:.1%}"
        yield from _raise_sensitivity(f"{found}, above {MAX_CONTRADICTION:.0%}", profile, place)
    if complete < MIN_COMPLETENESS:
        lacking = sum(bool(line.missing) for line in judged)
        found = f"{lacking} of {builds} lacked something: {complete:.0%} complete, below {MIN_COMPLETENESS:.0%}"
        yield from _raise_entities(found, profile, place, load_rules(upkeep.workspace, upkeep.settings_file))
    if is_incoherent:
        found = f"the mean coherence of {builds} is {coherence:.2f}, below {MIN_MEAN_COHERENCE:g}"
        yield from _weigh_coherence(found, profile)
    yield from _rebalance(judged, profile, upkeep.workspace.root, first_day)


def _profile_in_use(upkeep: UpkeepInput) -> tuple[Profile, str]:
    """The profile that the settings file names, and its file; for one of the package, what a file that changes it is.

    The plan depends on no variable of the environment.
    """
    settings = resolve_settings({}, {}, upkeep.settings_file)
    process = without_variables(upkeep.workspace)
    profile = ProfileReader(upkeep.settings_file, upkeep.workspace, process).resolve(settings)
    name = str(settings["profile"].value)
    return profile, name if is_profile_path(name) else f"a profile that has `extends: {name}`"


def _proposal(target: str, reason: str) -> Action:
    return Action("propose", (target,), reason, needs_approval=True)


def _raise_sensitivity(found: str, profile: Profile, place: str) -> Iterator[Action]:
    conflicts = profile.conflicts or Conflicts()
    severity = {kind: _raised(share) for kind, share in conflicts.severity}
    raised = Conflicts(tuple(severity.items()), _raised(conflicts.otherwise), conflicts.precedence)
    if raised == profile.conflicts:
        return
    parts = [f"otherwise: {raised.otherwise:g}"]
    if severity:
        parts.insert(0, f"severity: {{{', '.join(f'{kind}: {share:g}' for kind, share in severity.items())}}}")
    if raised.precedence:
        parts.append(f"precedence: [{', '.join(raised.precedence)}]")
    yield _proposal(
        f"profile {profile.name}: conflicts",
        f"{found}; make conflicts {SENSITIVITY_FACTOR} times as severe: `conflicts: {{{', '.join(parts)}}}` in {place}",
    )


def _raised(severity: float) -> float:
    return min(1.0, round(severity * SENSITIVITY_FACTOR, 3))


def _raise_entities(found: str, profile: Profile, place: str, rules: Sequence[Rule]) -> Iterator[Action]:
    layers = [
        layer for layer in profile.layers if any(source.type_filter == "entity_types" for source in layer.query.traits)
    ]
    effects = (effect for rule in rules if rule.enabled for effect in rule.effects)
    raised = {effect.target.value for effect in effects if effect.action == "set_priority" and effect.value > 0}
    flat = [layer.id for layer in layers if not raised & {layer.id, *layer.query.sources, *layer.heading}]
    if layers and not flat:
        return
    if layers:
        ranks = ", ".join(f"{name}: 1" for name in flat)
        change = f"give entities their tokens first: `then: {{set_priority: {{{ranks}}}}}` in a rule"
        yield _proposal(f"rules: set_priority {', '.join(flat)}", f"{found}; {change}")
    else:
        change = f"show the entities that a topic names: a layer with `source: entities` in {place}"
        yield _proposal(f"profile {profile.name}: layers", f"{found}; {change}")


def _weigh_coherence(found: str, profile: Profile) -> Iterator[Action]:
    changes = [f"{{id: {layer.id}, weights: {{{_reweighted(layer)}}}}}" for layer in profile.layers if _is_flat(layer)]
    if changes:
        yield _proposal("ctxasm.yaml: layers", f"{found}; give coherence a weight: `layers: [{', '.join(changes)}]`")


def _is_flat(layer: Layer) -> bool:
    """Whether a layer orders by a sum of parts in which coherence weighs less than it should."""
    weights = dict(layer.ranking.weights)
    is_sum = sum(weight > 0 for weight in weights.values()) > 1
    is_low = weights.get("coherence", 0.0) < COHERENCE_WEIGHT
    return layer.ranking.order in ORDERS and layer.query.has_scores and is_sum and is_low


def _reweighted(layer: Layer) -> str:
    """The weights with coherence at its weight and the others in the same proportions; they add up to 1."""
    others = {part: weight for part, weight in layer.ranking.weights if part != "coherence"}
    scale = (1 - COHERENCE_WEIGHT) / sum(others.values())
    scaled = {part: round(weight * scale, 3) for part, weight in others.items()}
    largest = max(scaled, key=lambda part: scaled[part])
    scaled[largest] = round(scaled[largest] + 1 - COHERENCE_WEIGHT - sum(scaled.values()), 3)
    return ", ".join(f"{part}: {weight:g}" for part, weight in (*scaled.items(), ("coherence", COHERENCE_WEIGHT)))


# --- Room of layers --------------------------------------------------------------------------------------------------


def _rebalance(judged: Sequence[Feedback], profile: Profile, root: str, first_day: str) -> Iterator[Action]:
    """A proposal that a layer of which nothing was useful gives room to one that left out something for lack of it.

    The figures come from records of builds with the layers as they are now: after a change they begin anew.
    """
    shown, useful, short = Counter[str](), Counter[str](), Counter[str]()
    for line, context in _recorded_contexts(judged, profile, root):
        for layer in profile.layers:
            own = [each for each in context.decisions if each.layer == layer.id]
            ids = {each.fragment for each in own if each.kept}
            is_useful = not ids.isdisjoint(line.useful)
            useful[layer.id] += is_useful
            # Few people name running text as useful. Who only names what is wrong says nothing of the rest.
            is_list = not any(source.is_running_text for source in layer.query.traits)
            shown[layer.id] += bool(ids and line.useful and is_list) or not ids.isdisjoint(line.wrong)
            lacks_room = any(each.outcome in INCOMPLETE for each in own)
            short[layer.id] += lacks_room and (is_useful or bool(line.missing))
    rooms = {layer.id: limit for layer in profile.layers if (limit := _room(layer))}
    givers = [name for name in rooms if shown[name] >= LEAST_BUILDS and not useful[name]]
    takers = [name for name in rooms if short[name] >= LEAST_BUILDS and name not in givers]
    pairs = [(one, other) for one in givers for other in takers if rooms[one][0] == rooms[other][0]]
    if not pairs:
        return
    giver, taker = max(pairs, key=lambda pair: shown[pair[0]] + short[pair[1]])
    (key, room), more = rooms[giver], rooms[taker][1]
    moved = room // ROOM_TAKEN
    found = f"since {first_day}, nothing of {giver} was useful in the {shown[giver]} judged builds that showed it"
    change = f"{{id: {giver}, {key}: {room - moved:g}}}, {{id: {taker}, {key}: {more + moved:g}}}"
    yield _proposal(
        f"ctxasm.yaml: layers {giver}, {taker}",
        f"{found}, and {taker} had too little room in {short[taker]}; move a quarter of the room: `layers: [{change}]`",
    )


def _room(layer: Layer) -> tuple[str, float] | None:
    """The key and the figure of the limit that a change may move; None for a layer without one, or with very little."""
    limits = layer.limits
    key, room = ("share", limits.share) if limits.share else ("max_tokens", limits.max_tokens)
    return (key, room) if room and room >= ROOM_TAKEN and not limits.required else None


def _recorded_contexts(judged: Sequence[Feedback], profile: Profile, root: str) -> Iterator[tuple[Feedback, Context]]:
    """The judged builds of which the workspace has a record, and which had the layers as they are now."""
    paths = {path.stem: path for path in record_paths(Path(root))}
    for line in judged:
        with suppress(KeyError, ContextasmError):  # a record that is gone or damaged tells nothing
            record = load_record(paths[line.record])
            if record.making.profile.layers == profile.layers:
                yield line, record.context
