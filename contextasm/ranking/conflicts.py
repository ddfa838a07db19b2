"""Conflicts: fragments that declare the same key and say different things. Nothing is guessed from meaning.

How bad that is, the profile's table says by type. What is minor is settled by the order of the layers; what is not is
shown with a problem, until the person names the one to prefer (digest 003-10 to 003-12).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from contextasm.model import Fragment, Problem, Profile, Reason
from contextasm.text.similarity import fingerprint

MINOR = 0.3
"""A severity below it is minor; at it, it no longer is."""


class ResolvedConflicts(NamedTuple):
    """The fragments after their conflicts."""

    candidates: Mapping[str, Sequence[Fragment]]
    problems: tuple[Problem, ...]


class _Claim(NamedTuple):
    """One fragment that says something of a key."""

    layer: str
    fragment: Fragment
    protected: bool
    """Required or pinned: it can't be overruled."""


def resolve_conflicts(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]], prefer: Sequence[str]
) -> ResolvedConflicts:
    """The ranked fragments in `pools` (by layer id), those out that another one of their key takes precedence of.

    `prefer` are ids of fragments that win whatever the table says.
    """
    if profile.conflicts is None:
        return ResolvedConflicts(pools, ())
    out: dict[tuple[str, str], Reason] = {}
    problems: list[Problem] = []
    for key, claims in _contested(profile, pools):
        winner = next((each for each in claims if each.fragment.id in prefer), None)
        severity = max(_severity(profile, each.fragment) for each in claims)
        if winner is None and severity < MINOR:
            winner = min(claims, key=lambda each: _precedence(profile, each))
        if winner is None:
            problems.append(_flagged(key, claims))
            continue
        for each in claims:
            if not each.protected and not _agree(each.fragment, winner.fragment):
                out[each.layer, each.fragment.id] = Reason.of("overruled", by=winner.fragment.id, key=key)
            elif each is not winner and not each.protected:
                out[each.layer, each.fragment.id] = Reason.of(
                    "merged", into=winner.fragment.id, path=winner.fragment.location.path, by="key"
                )
    return ResolvedConflicts(
        {layer: tuple(_replaced(layer, each, out) for each in own) for layer, own in pools.items()}, tuple(problems)
    )


def _contested(profile: Profile, pools: Mapping[str, Sequence[Fragment]]) -> Iterator[tuple[str, list[_Claim]]]:
    """The keys of which different things are said, with what says them, highest layer and best first."""
    claims: dict[str, list[_Claim]] = {}
    for layer in profile.layers:
        for fragment in pools[layer.id]:
            if fragment.labels.key and fragment.verdict.excluded is None:
                claim = _Claim(layer.id, fragment, layer.limits.required or bool(fragment.verdict.pinned_by))
                claims.setdefault(fragment.labels.key, []).append(claim)
    for key, own in claims.items():
        if any(not _agree(own[0].fragment, each.fragment) for each in own):
            yield key, own


def _agree(one: Fragment, other: Fragment) -> bool:
    """Whether two fragments say the same."""
    return fingerprint(one) == fingerprint(other)


def _severity(profile: Profile, fragment: Fragment) -> float:
    """How bad it is that a fragment of this type is contradicted, 0 to 1."""
    assert profile.conflicts
    return dict(profile.conflicts.severity).get(fragment.labels.kind, profile.conflicts.otherwise)


def _precedence(profile: Profile, claim: _Claim) -> tuple[bool, int]:
    """What can't be overruled first, then the layers in the order of the table, then those that it does not name."""
    assert profile.conflicts
    order = profile.conflicts.precedence
    return not claim.protected, order.index(claim.layer) if claim.layer in order else len(order)


def _flagged(key: str, claims: Sequence[_Claim]) -> Problem:
    """The problem of a conflict that a person has to settle."""
    first, others = claims[0].fragment, [each.fragment for each in claims[1:]]
    named = ", ".join(f"{each.id} ({each.location.path}:{each.location.line})" for each in others)
    message = f"{first.id} and {named} say different things of {key}; settle it, or name one with --prefer"
    return Problem("conflict", first.location.path, first.location.line, message)


def _replaced(layer: str, fragment: Fragment, out: Mapping[tuple[str, str], Reason]) -> Fragment:
    """A fragment, out where another one won."""
    reason = out.get((layer, fragment.id))
    return fragment._replace(verdict=fragment.verdict._replace(excluded=reason)) if reason else fragment
