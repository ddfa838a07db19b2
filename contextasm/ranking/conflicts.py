"""Conflicts: of fragments that declare the same key and say different things, one may win.

Nothing is guessed from meaning. The profile's table gives the severity of a conflict by type. Precedence of layers
settles a minor one; any other is shown with a problem, until the user names the fragment to prefer (digest 003-10 to
003-12).
"""

from collections.abc import Iterator, Mapping, Sequence

from contextasm.model import Fragment, Problem, Profile, Reason
from contextasm.ranking.deduplicate import Candidate
from contextasm.text.names.matching import list_names
from contextasm.text.similarity import fingerprint

MINOR = 0.3
"""Severity below which a conflict is minor."""


def resolve_conflicts(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]], prefer: Sequence[str]
) -> tuple[Mapping[str, Sequence[Fragment]], Sequence[Problem]]:
    """The ranked fragments in `pools` (by layer id), without the ones that another one of their key overrules.

    `prefer` are ids of fragments that win against the table.
    """
    reasons: dict[tuple[str, str], Reason] = {}
    problems: list[Problem] = []
    for key, claims in _conflicting_claims(profile, pools):
        winner = _winner(profile, claims, prefer)
        if winner is None:
            problems.append(_conflict_problem(key, claims))
            continue
        for claim in claims:
            if claim.is_protected or _name(claim) == _name(winner):
                continue
            if _is_same(claim.fragment, winner.fragment):
                reason = Reason.of("merged", into=winner.fragment.id, path=winner.fragment.location.path, by="key")
            else:
                reason = Reason.of("overruled", by=winner.fragment.id, key=key)
            reasons[claim.layer.id, claim.fragment.id] = reason
    candidates = {
        layer: tuple(_exclude_for(fragment, reasons.get((layer, fragment.id))) for fragment in fragments)
        for layer, fragments in pools.items()
    }
    return candidates, problems


def _winner(profile: Profile, claims: Sequence[Candidate], prefer: Sequence[str]) -> Candidate | None:
    """The preferred claim, else the one of highest precedence; None for a conflict that the user has to settle."""
    preferred = next((claim for claim in claims if {claim.fragment.id, _name(claim)} & {*prefer}), None)
    if preferred or _severity(profile, claims) >= MINOR:
        return preferred
    return min(claims, key=lambda claim: _precedence(profile, claim))


def _conflicting_claims(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]]
) -> Iterator[tuple[str, list[Candidate]]]:
    """Keys whose fragments say different things, with their claims: highest layer first, each best first."""
    claims_by_key: dict[str, list[Candidate]] = {}
    for layer in profile.layers:
        for fragment in pools[layer.id]:
            if fragment.labels.key and fragment.verdict.excluded is None:
                claim = Candidate(layer, (0, 0), fragment)
                claims_by_key.setdefault(fragment.labels.key, []).append(claim)
    for key, claims in claims_by_key.items():
        others = (claim for claim in claims if _name(claim) != _name(claims[0]))
        if any(not _is_same(claims[0].fragment, claim.fragment) for claim in others):
            yield key, claims


def _name(claim: Candidate) -> str:
    """The page of a section, since its sections say one thing together; else the fragment's id."""
    return claim.fragment.labels.claim or claim.fragment.id


def _is_same(one: Fragment, other: Fragment) -> bool:
    return fingerprint(one) == fingerprint(other)


def _severity(profile: Profile, claims: Sequence[Candidate]) -> float:
    """The highest severity of the types of the claims; a page without a type takes that of the others."""
    assert profile.conflicts
    severity, otherwise = dict(profile.conflicts.severity), profile.conflicts.otherwise
    kinds = {claim.fragment.labels.kind for claim in claims} - {""}
    return max((severity.get(kind, otherwise) for kind in kinds), default=otherwise)


def _precedence(profile: Profile, claim: Candidate) -> tuple[bool, int]:
    # Protected claims first, then the layers in the order of the table, then all others.
    assert profile.conflicts
    order = profile.conflicts.precedence
    return not claim.is_protected, order.index(claim.layer.id) if claim.layer.id in order else len(order)


def _conflict_problem(key: str, claims: Sequence[Candidate]) -> Problem:
    first, *others = _first_of_each(claims)
    names = list_names([f"{other.id} ({other.location.path}:{other.location.line})" for other in others])
    message = f"{first.id} and {names} say different things of {key}; settle it, or name one with --prefer"
    return Problem("conflict", first.location.path, first.location.line, message)


def _first_of_each(claims: Sequence[Candidate]) -> list[Fragment]:
    first: dict[str, Fragment] = {}
    for claim in claims:
        first.setdefault(_name(claim), claim.fragment)
    return [*first.values()]


def _exclude_for(fragment: Fragment, reason: Reason | None) -> Fragment:
    return fragment.exclude(reason) if reason else fragment
