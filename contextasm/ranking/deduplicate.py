"""Fragments of several layers that say the same are shown once; of fragments that contradict each other, one may win.

By content, by a declared hint, or by similarity, as the profile sets; paragraphs only by content. Two texts that
differ in a number or in a negation are never the same; by similarity, nor are two that differ in another word that
turns their meaning. The copy that stays is one that is pinned or of a required layer, else one of a document, else the
surest. If it is not shown in the end, the next one takes its place.

Fragments that declare the same key and say different things are in conflict; nothing is guessed from meaning. The
profile's table gives the severity of a conflict by type. Precedence of layers settles a minor one; any other is shown
with a problem, until the user names the fragment to prefer (digest 003-10 to 003-12).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from contextasm.model import Context, Decision, Fragment, Layer, Problem, Profile, Reason
from contextasm.text.markdown.blocks import TextBlock, blocks, list_lead, list_mark, trimmed
from contextasm.text.names.matching import list_names
from contextasm.text.similarity import fingerprint, fold_text, identities, most_similar

LEAST_CHARACTERS = 16
"""Length of the shortest paragraph that is compared."""


class Paragraph(NamedTuple):
    """A paragraph of a fragment, by lines of its text, counted from 0."""

    first: int
    """Its first line, with a heading that stands for nothing without it."""
    body: int
    """The first line of its own text."""
    stop: int
    folded: str


def paragraphs(fragment: Fragment) -> list[Paragraph]:
    """The paragraphs of a fragment that can be compared; none of a fenced one."""
    if fragment.display.fence:
        return []
    lines = fragment.text.split("\n")
    in_order = [*blocks(lines)]
    if len(in_order) == 1 and not in_order[0].levels:
        return []  # the fragment itself
    return [
        Paragraph(_first_line(block, in_order[number + 1 : number + 2]), block.body, block.stop, folded)
        for number, block in enumerate(in_order)
        if block.kind == "text"
        and _stands_alone(block, lines)
        and len(folded := _folded(lines, block)) >= LEAST_CHARACTERS
    ]


def _folded(lines: list[str], block: TextBlock) -> str:
    text = "\n".join(lines[block.body : block.stop])
    return fold_text(text[len(list_lead(text)) :])


def _stands_alone(block: TextBlock, lines: list[str]) -> bool:
    # The item that begins a fragment is a memory or an event as its layer writes it.
    if block.body and list_mark(lines[block.body]):
        return False
    begins = not block.body or bool(block.levels) or not lines[block.body - 1].strip()
    return begins and (block.stop == len(lines) or not lines[block.stop - 1].strip())


def _first_line(block: TextBlock, following: list[TextBlock]) -> int:
    # A heading goes with its only paragraph.
    is_alone = not following or (following[0].levels and following[0].levels[0] <= min(block.levels, default=0))
    return block.first if block.levels and is_alone else block.body


def without_paragraphs(fragment: Fragment, reasons: Mapping[Paragraph, Reason]) -> Iterator[Fragment]:
    """The fragment in parts: the paragraphs excluded for these reasons, and the text between them.

    The parts come in the order in which they are kept. A fragment of which nothing would be left is excluded whole.
    """
    lines = fragment.text.split("\n")
    excluded = {paragraph.first: (paragraph.stop, reason) for paragraph, reason in reasons.items()}
    parts: list[Fragment] = []
    line = 0
    while line < len(lines):
        stop, reason = excluded.get(line, (min([*(first for first in excluded if first > line), len(lines)]), None))
        blank, text = trimmed("\n".join(lines[line:stop]))
        if text:
            parts.append(_part(fragment, len(parts), line + blank, text, reason))
        line = stop
    if all(part.verdict.excluded for part in parts):
        yield fragment.exclude(next(iter(reasons.values())))
    else:
        yield from reversed(parts) if fragment.display.keep == "end" else parts


def _part(fragment: Fragment, number: int, line: int, text: str, reason: Reason | None) -> Fragment:
    first_line = fragment.location.file_line(line)
    part = fragment._replace(
        id=f"{fragment.id}:{first_line}" if number else fragment.id,
        part_of=fragment.id,
        location=fragment.location._replace(line=first_line),
        text=text,
        display=fragment.display._replace(place=(*fragment.display.place, number)),
    )
    return part.exclude(reason) if reason else part


EXACT_TURNS = 4
"""Number of turns, each for one more copy, after which turns begin to skip copies."""


def show_each_once(
    profile: Profile,
    pools: Mapping[str, Sequence[Fragment]],
    prefer: Sequence[str],
    make_context: Callable[[Mapping[str, Sequence[Fragment]]], Context],
) -> Context:
    """The context of the ranked fragments in `pools` (by layer id) without duplicates and overruled ones.

    `make_context` selects among the fragments. If a copy that stands for others is not shown, the next one takes its
    place. `prefer` are ids of fragments that win against the profile's table of conflicts. The problems of conflicts
    and of layers with nothing good enough come first.

    Each turn selects anew, and most often no copy fits. So from the fifth on a turn skips copies, twice as many as the
    turn before, and one that shows a copy which it skips is taken back.
    """
    unshown: set[Copy] = set()
    ahead: set[Copy] = set()
    turns = 0
    while True:
        distinct, twins = _deduplicate(profile, pools, unshown | ahead)
        candidates, conflicts = _resolve_conflicts(profile, distinct, prefer)
        problems = (*conflicts, *_low_quality_problems(profile, candidates))
        context = make_context(candidates)
        if _decisions_that_show(ahead, context.decisions):
            ahead, turns = set(), 0
            continue
        unshown |= ahead
        missing = _unshown_copies(twins, context.decisions) - unshown
        if not missing:
            decisions = _with_twins(context.decisions, twins)
            return context._replace(decisions=decisions, problems=(*problems, *context.problems))
        unshown |= missing
        turns += 1
        ahead = _next_copies(twins, missing, 2 ** max(turns - EXACT_TURNS, 0) - 1)


METHODS = ("content", "dedup", "near")
"""Methods of comparison: by text, by declared hint, or by similarity of the texts."""


class Copy(NamedTuple):
    """A fragment, or one paragraph of it, that may say the same as another."""

    layer: str
    fragment: str
    path: str
    line: int
    """Line of the file at which it begins."""
    is_paragraph: bool = False


Twins = Mapping[Copy, tuple[Copy, str]]
"""Copies that are left out, each with the one that stands for it and the method that found them."""


class _Candidate(NamedTuple):
    layer: Layer
    rank: tuple[int, int]
    """Place of its layer, and its place there."""
    fragment: Fragment

    @property
    def copy(self) -> Copy:
        return Copy(self.layer.id, self.fragment.id, self.fragment.location.path, self.fragment.location.line)

    @property
    def is_protected(self) -> bool:
        return self.layer.limits.required or bool(self.fragment.verdict.pinned_by)

    @property
    def precedence(self) -> tuple[bool, bool, float]:
        """The lower, the more it deserves to stay.

        A document comes before surer memories: lines of text must not come and go with what a budget lets in.
        """
        is_document = any(source.is_document for source in self.layer.query.traits)
        return not self.is_protected, not is_document, -self.fragment.labels.confidence

    def paragraph(self, paragraph: Paragraph) -> Copy:
        location = self.fragment.location
        line = location.line if location.rows else location.file_line(paragraph.body)
        return self.copy._replace(line=line, is_paragraph=True)


def _deduplicate(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]], unshown: Collection[Copy] = ()
) -> tuple[Mapping[str, Sequence[Fragment]], Twins]:
    """The ranked fragments in `pools` (by layer id), with each duplicate of another one excluded.

    The copies `unshown` stand for no other.
    """
    if not profile.merge:
        return pools, {}
    candidates = [
        _Candidate(layer, (number, place), fragment)
        for number, layer in enumerate(profile.layers)
        for place, fragment in enumerate(pools[layer.id])
        if fragment.verdict.excluded is None
    ]
    search = _Search(profile.merge, unshown)
    for candidate in sorted(candidates, key=lambda candidate: (candidate.precedence, candidate.rank)):
        search.compare(candidate)
    if "near" in profile.merge:
        search.compare_by_similarity(candidates)
    twins = search.twins()
    deduplicated = {
        layer.id: tuple(chain.from_iterable(_without_twins(fragment, layer, twins) for fragment in pools[layer.id]))
        for layer in profile.layers
    }
    return deduplicated, twins


class _Search:
    """The copies that stay so far, by text and by hint, and the copies that are left out."""

    def __init__(self, methods: Sequence[str], unshown: Collection[Copy]) -> None:
        """`methods` are the profile's, of `METHODS`."""
        self._methods = [method for method in methods if method != "near"]
        self._unshown = unshown
        self._by_identity: dict[tuple[str, ...], Copy] = {}
        self._twins: dict[Copy, tuple[Copy, str]] = {}
        self._whole_of: dict[tuple[str, str], Copy] = {}
        self._parted: set[Copy] = set()

    def compare(self, candidate: _Candidate) -> None:
        """Leave the candidate, or paragraphs of it, out for copies that stay, or have it stay."""
        text = fingerprint(candidate.fragment)
        copy = candidate.copy
        self._whole_of[copy.layer, copy.fragment] = copy
        if not text.folded:
            return
        keys = identities(text, candidate.fragment.labels.dedup, self._methods)
        if not candidate.is_protected and copy not in self._unshown and self._leave_out(copy, keys):
            return
        all_paragraphs = paragraphs(candidate.fragment) if "content" in self._methods else []
        for paragraph in all_paragraphs:
            part = candidate.paragraph(paragraph)
            if _is_divisible(candidate) and part not in self._unshown and self._leave_out_paragraph(part, paragraph):
                self._parted.add(copy)
            elif part not in self._unshown:
                self._by_identity.setdefault(("content", paragraph.folded), part)
        if copy not in self._parted and copy not in self._unshown:
            for method, key in keys.items():
                # A required layer may show headlines: those say less than a fragment of the same hint elsewhere.
                if method == "content" or not candidate.layer.limits.required:
                    self._by_identity.setdefault(key, copy)

    def _leave_out(self, copy: Copy, keys: Mapping[str, tuple[str, ...]]) -> bool:
        for method, key in keys.items():
            other = self._by_identity.get(key)
            # One memory in two layers is not a duplicate: a headline in one, all of it in the other.
            if other and (other.path, other.line) != (copy.path, copy.line):
                self._twins[copy] = other, method
                return True
        return False

    def _leave_out_paragraph(self, part: Copy, paragraph: Paragraph) -> bool:
        other = self._by_identity.get(("content", paragraph.folded))
        if not other or other.path == part.path:
            return False
        self._twins[part] = other, "content"
        return True

    def compare_by_similarity(self, candidates: Sequence[_Candidate]) -> None:
        """Leave out the candidates that are like another one, of the two the less sure, each layer's best first.

        Fragments after the first `ranking.top` of their layer can't be shown, so they are not compared.
        """
        shown: dict[tuple[tuple[str, ...], ...], dict[str, _Candidate]] = {}
        counts: dict[str, int] = {}
        for candidate in sorted(candidates, key=lambda candidate: (not candidate.is_protected, candidate.rank)):
            layer, copy = candidate.layer, candidate.copy
            is_beyond = layer.ranking.top and counts.get(layer.id, 0) >= layer.ranking.top
            is_settled = copy in self._twins or copy in self._parted or copy in self._unshown
            if is_settled or (is_beyond and not candidate.is_protected):
                continue
            text = fingerprint(candidate.fragment)
            others = shown.setdefault((text.figures, text.polarity), {})
            match = None if candidate.is_protected else most_similar(text.folded, [*others])
            if match and (others[match].copy.path, others[match].copy.line) == (copy.path, copy.line):
                match = None
            if match and candidate.precedence >= others[match].precedence:
                self._twins[copy] = others[match].copy, "near"
                continue
            if match:
                other = others.pop(match).copy
                self._twins[other] = copy, "near"
            others.setdefault(text.folded, candidate)
            counts[layer.id] = counts.get(layer.id, 0) + (not candidate.is_protected)

    def twins(self) -> Twins:
        """Each copy that is left out, with one that stays."""
        final: dict[Copy, Copy] = {}
        for copy, (shown, _) in reversed(self._twins.items()):  # A copy that is left out was left out later than these.
            final[copy] = final.get(shown) or final.get(self._whole_of[shown.layer, shown.fragment], shown)
        return {copy: (final[copy], method) for copy, (_, method) in self._twins.items()}


def _is_divisible(candidate: _Candidate) -> bool:
    is_item = candidate.layer.display.item_template or candidate.fragment.location.rows
    return not (candidate.is_protected or is_item)


def _without_twins(fragment: Fragment, layer: Layer, twins: Twins) -> Iterator[Fragment]:
    """The fragment, excluded if it is left out; in parts, if paragraphs of it are."""
    candidate = _Candidate(layer, (0, 0), fragment)
    if fragment.verdict.excluded:
        yield fragment
    elif twin := twins.get(candidate.copy):
        yield fragment.exclude(_reason(*twin))
    elif not twins or not _is_divisible(candidate):
        yield fragment
    else:
        in_twins = ((paragraph, twins.get(candidate.paragraph(paragraph))) for paragraph in paragraphs(fragment))
        reasons = {paragraph: _reason(*twin) for paragraph, twin in in_twins if twin}
        yield from without_paragraphs(fragment, reasons) if reasons else (fragment,)


def _reason(shown: Copy, method: str) -> Reason:
    if shown.is_paragraph:
        return Reason.of("same-paragraph", into=shown.fragment, path=shown.path, line=shown.line, by=method)
    return Reason.of("merged", into=shown.fragment, path=shown.path, by=method)


# --- After selection -------------------------------------------------------------------------------------------------


def _unshown_copies(twins: Twins, decisions: Sequence[Decision]) -> set[Copy]:
    """The copies that stand for others and are not shown themselves."""
    copies = {shown for shown, _ in twins.values()}
    return copies - _decisions_that_show(copies, decisions).keys()


def _next_copies(twins: Twins, missing: Collection[Copy], count: int) -> set[Copy]:
    """The first `count` of the copies for which each of the missing ones stands."""
    following: dict[Copy, list[Copy]] = {}
    for copy, (shown, _) in twins.items():
        following.setdefault(shown, []).append(copy)
    return {copy for shown in missing for copy in following[shown][:count]}


def _with_twins(decisions: Sequence[Decision], twins: Twins) -> tuple[Decision, ...]:
    """The decisions, those on shown fragments with the places of the copies that they stand for."""
    decision_of = _decisions_that_show({shown for shown, _ in twins.values()}, decisions)
    places: dict[int, dict[str, None]] = {}
    for left_out, (shown, _) in twins.items():
        if shown in decision_of:
            places.setdefault(decision_of[shown], {})[f"{left_out.path}:{left_out.line}"] = None
    return tuple(
        decision._replace(stands_for=tuple(places[number])) if number in places else decision
        for number, decision in enumerate(decisions)
    )


def _decisions_that_show(copies: Collection[Copy], decisions: Sequence[Decision]) -> dict[Copy, int]:
    """For each copy that is shown, or at least its beginning, the number of the decision that shows it."""
    wholes: dict[tuple[str, str], int] = {}
    lines: dict[tuple[str, str, int], int] = {}
    with_paragraphs = {(copy.layer, copy.path) for copy in copies if copy.is_paragraph}
    for number, decision in enumerate(decisions):
        if decision.kept:
            wholes[decision.layer, decision.fragment] = number
            if (decision.layer, decision.path) in with_paragraphs:
                shown_lines = (line for first, last in decision.kept for line in range(first, last + 1))
                lines |= {(decision.layer, decision.path, line): number for line in shown_lines}
    numbers = (
        (copy, lines.get((copy.layer, copy.path, copy.line)) if copy.is_paragraph else wholes.get(copy[:2]))
        for copy in copies
    )
    return {copy: number for copy, number in numbers if number is not None}


# --- Conflicts -------------------------------------------------------------------------------------------------------


MINOR = 0.3
"""Severity below which a conflict is minor."""


def _resolve_conflicts(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]], prefer: Sequence[str]
) -> tuple[Mapping[str, Sequence[Fragment]], Sequence[Problem]]:
    """The ranked fragments in `pools` (by layer id), without the ones that another one of their key overrules.

    `prefer` are ids of fragments that win against the table.
    """
    if profile.conflicts is None:
        return pools, ()
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


def _winner(profile: Profile, claims: Sequence[_Candidate], prefer: Sequence[str]) -> _Candidate | None:
    """The preferred claim, else the one of highest precedence; None for a conflict that the user has to settle."""
    preferred = next((claim for claim in claims if {claim.fragment.id, _name(claim)} & {*prefer}), None)
    if preferred or _severity(profile, claims) >= MINOR:
        return preferred
    return min(claims, key=lambda claim: _precedence(profile, claim))


def _conflicting_claims(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]]
) -> Iterator[tuple[str, list[_Candidate]]]:
    """Keys whose fragments say different things, with their claims: highest layer first, each best first."""
    claims_by_key: dict[str, list[_Candidate]] = {}
    for layer in profile.layers:
        for fragment in pools[layer.id]:
            if fragment.labels.key and fragment.verdict.excluded is None:
                claim = _Candidate(layer, (0, 0), fragment)
                claims_by_key.setdefault(fragment.labels.key, []).append(claim)
    for key, claims in claims_by_key.items():
        others = (claim for claim in claims if _name(claim) != _name(claims[0]))
        if any(not _is_same(claims[0].fragment, claim.fragment) for claim in others):
            yield key, claims


def _name(claim: _Candidate) -> str:
    """The page of a section, since its sections say one thing together; else the fragment's id."""
    return claim.fragment.labels.claim or claim.fragment.id


def _is_same(one: Fragment, other: Fragment) -> bool:
    return fingerprint(one) == fingerprint(other)


def _severity(profile: Profile, claims: Sequence[_Candidate]) -> float:
    """The highest severity of the types of the claims; a page without a type takes that of the others."""
    assert profile.conflicts
    severity, otherwise = dict(profile.conflicts.severity), profile.conflicts.otherwise
    kinds = {claim.fragment.labels.kind for claim in claims} - {""}
    return max((severity.get(kind, otherwise) for kind in kinds), default=otherwise)


def _precedence(profile: Profile, claim: _Candidate) -> tuple[bool, int]:
    # Protected claims first, then the layers in the order of the table, then all others.
    assert profile.conflicts
    order = profile.conflicts.precedence
    return not claim.is_protected, order.index(claim.layer.id) if claim.layer.id in order else len(order)


def _conflict_problem(key: str, claims: Sequence[_Candidate]) -> Problem:
    first, *others = _first_of_each(claims)
    names = list_names([f"{other.id} ({other.location.path}:{other.location.line})" for other in others])
    message = f"{first.id} and {names} say different things of {key}; settle it, or name one with --prefer"
    return Problem("conflict", first.location.path, first.location.line, message)


def _first_of_each(claims: Sequence[_Candidate]) -> list[Fragment]:
    first: dict[str, Fragment] = {}
    for claim in claims:
        first.setdefault(_name(claim), claim.fragment)
    return [*first.values()]


def _exclude_for(fragment: Fragment, reason: Reason | None) -> Fragment:
    return fragment.exclude(reason) if reason else fragment


def _low_quality_problems(profile: Profile, pools: Mapping[str, Sequence[Fragment]]) -> tuple[Problem, ...]:
    """The problem of each layer whose fragments are all excluded, at least one by the least score."""
    return tuple(
        Problem("low-quality", layer.id, 0, f"found nothing with a score of {layer.ranking.min_score:g} or more")
        for layer in profile.layers
        if any(
            fragment.verdict.excluded and fragment.verdict.excluded.code == "below-floor"
            for fragment in pools[layer.id]
        )
        and all(fragment.verdict.excluded for fragment in pools[layer.id])
    )
