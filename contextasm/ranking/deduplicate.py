"""Deduplication: fragments and paragraphs of several layers that say the same are shown once.

By content, by a declared hint, or by similarity, as the profile sets; paragraphs by content alone. Two texts that
differ in a number or in a negation are never the same; by similarity, nor are two that differ in another word that
turns their meaning. The copy that stays is one that is pinned or of a required
layer, else one of a document, else the surest. Where it is not shown in the end, the next one stands in.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

from contextasm.model import Decision, Fragment, Layer, Profile, Reason
from contextasm.ranking.paragraphs import Paragraph, paragraphs, without_paragraphs
from contextasm.text.similarity import SAME_PERCENT, Fingerprint, fingerprint

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


class Twin(NamedTuple):
    """A copy that is left out, and the one that stands for it."""

    left_out: Copy
    shown: Copy
    method: str


class Deduplicated(NamedTuple):
    """Fragments with the duplicates among them excluded, and each duplicate with its other copy."""

    candidates: Mapping[str, Sequence[Fragment]]
    """By layer id."""
    twins: tuple[Twin, ...] = ()


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
        is_document = "document" in self.layer.query.sources
        return not self.is_protected, not is_document, -self.fragment.labels.confidence

    def paragraph(self, paragraph: Paragraph) -> Copy:
        location = self.fragment.location
        line = location.line if location.rows else location.file_line(paragraph.body)
        return self.copy._replace(line=line, is_paragraph=True)


def deduplicate(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]], unshown: Collection[Copy] = ()
) -> Deduplicated:
    """The ranked fragments in `pools` (by layer id), with each duplicate of another one excluded.

    The copies `unshown` stand for no other.
    """
    if not profile.merge:
        return Deduplicated(pools)
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
    return Deduplicated(deduplicated, tuple(twins.values()))


class _Search:
    """The copies that stay so far, by text and by hint, and those that are left out."""

    def __init__(self, methods: Sequence[str], unshown: Collection[Copy]) -> None:
        """`methods` are the profile's, of `METHODS`."""
        self._methods = [method for method in methods if method != "near"]
        self._unshown = unshown
        self._by_text: dict[str, Copy] = {}
        self._by_hint: dict[tuple[str, tuple[str, ...]], Copy] = {}
        self._twins: dict[Copy, Twin] = {}
        self._whole_of: dict[tuple[str, str], Copy] = {}
        self._parted: set[Copy] = set()

    def compare(self, candidate: _Candidate) -> None:
        """Leave the candidate, or paragraphs of it, out for copies that stay, or have it stay."""
        text = fingerprint(candidate.fragment)
        copy = candidate.copy
        self._whole_of[copy.layer, copy.fragment] = copy
        if not text.folded:
            return
        if not candidate.is_protected and copy not in self._unshown and self._leave_out(copy, candidate, text):
            return
        all_paragraphs = paragraphs(candidate.fragment) if "content" in self._methods else []
        for paragraph in all_paragraphs:
            part = candidate.paragraph(paragraph)
            if _is_divisible(candidate) and part not in self._unshown and self._leave_out_paragraph(part, paragraph):
                self._parted.add(copy)
            elif part not in self._unshown:
                self._by_text.setdefault(paragraph.folded, part)
        if copy not in self._parted and copy not in self._unshown:
            self._by_text.setdefault(text.folded, copy)
            # A required layer may show headlines: those say less than a fragment of the same hint elsewhere.
            if candidate.fragment.labels.dedup and not candidate.layer.limits.required:
                self._by_hint.setdefault((candidate.fragment.labels.dedup, text.figures), copy)

    def _leave_out(self, copy: Copy, candidate: _Candidate, text: Fingerprint) -> bool:
        for method in self._methods:
            hint = candidate.fragment.labels.dedup, text.figures
            other = self._by_text.get(text.folded) if method == "content" else self._by_hint.get(hint)
            # One memory in two layers is no duplicate: a headline in one, all of it in the other.
            if other and (other.path, other.line) != (copy.path, copy.line):
                self._twins[copy] = Twin(copy, other, method)
                return True
        return False

    def _leave_out_paragraph(self, part: Copy, paragraph: Paragraph) -> bool:
        other = self._by_text.get(paragraph.folded)
        if not other or other.path == part.path:
            return False
        self._twins[part] = Twin(part, other, "content")
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
            match = None if candidate.is_protected else _most_similar(text, copy, others)
            if match and candidate.precedence >= others[match].precedence:
                self._twins[copy] = Twin(copy, others[match].copy, "near")
                continue
            if match:
                other = others.pop(match).copy
                self._twins[other] = Twin(other, copy, "near")
            others.setdefault(text.folded, candidate)
            counts[layer.id] = counts.get(layer.id, 0) + (not candidate.is_protected)

    def twins(self) -> dict[Copy, Twin]:
        """Each copy that is left out, with one that stays."""
        return {copy: twin._replace(shown=self._final(twin.shown)) for copy, twin in self._twins.items()}

    def _final(self, copy: Copy) -> Copy:
        while twin := self._twins.get(copy) or self._twins.get(self._whole_of[copy.layer, copy.fragment]):
            copy = twin.shown
        return copy


def _is_divisible(candidate: _Candidate) -> bool:
    is_item = candidate.layer.display.item_template or candidate.fragment.location.rows
    return not (candidate.is_protected or is_item)


def _most_similar(text: Fingerprint, copy: Copy, others: Mapping[str, _Candidate]) -> str | None:
    """The most similar text among candidates with the same figures and polarity, the earliest among equals; or None."""
    if not others or not text.folded:
        return None
    from rapidfuzz import fuzz, process  # here: most profiles compare nothing

    match = process.extractOne(text.folded, [*others], scorer=fuzz.ratio, score_cutoff=SAME_PERCENT)
    if not match or (others[match[0]].copy.path, others[match[0]].copy.line) == (copy.path, copy.line):
        return None
    return str(match[0])


def _without_twins(fragment: Fragment, layer: Layer, twins: Mapping[Copy, Twin]) -> Iterator[Fragment]:
    """The fragment, excluded if it is left out; in parts, if paragraphs of it are."""
    candidate = _Candidate(layer, (0, 0), fragment)
    if fragment.verdict.excluded:
        yield fragment
    elif twin := twins.get(candidate.copy):
        yield fragment.exclude(_reason(twin))
    elif not twins or not _is_divisible(candidate):
        yield fragment
    else:
        in_twins = ((paragraph, twins.get(candidate.paragraph(paragraph))) for paragraph in paragraphs(fragment))
        reasons = {paragraph: _reason(twin) for paragraph, twin in in_twins if twin}
        yield from without_paragraphs(fragment, reasons) if reasons else (fragment,)


def _reason(twin: Twin) -> Reason:
    shown = twin.shown
    if shown.is_paragraph:
        return Reason.of("same-paragraph", into=shown.fragment, path=shown.path, line=shown.line, by=twin.method)
    return Reason.of("merged", into=shown.fragment, path=shown.path, by=twin.method)


# --- After selection -------------------------------------------------------------------------------------------------


def unshown_copies(twins: Sequence[Twin], decisions: Sequence[Decision]) -> set[Copy]:
    """The copies that stand for others and are not shown themselves."""
    copies = {twin.shown for twin in twins}
    return copies - _decisions_that_show(copies, decisions).keys()


def with_twins(decisions: Sequence[Decision], twins: Sequence[Twin]) -> tuple[Decision, ...]:
    """The decisions, those on shown fragments with the places of the copies that they stand for."""
    decision_of = _decisions_that_show({twin.shown for twin in twins}, decisions)
    places: dict[int, dict[str, None]] = {}
    for twin in twins:
        if twin.shown in decision_of:
            places.setdefault(decision_of[twin.shown], {})[f"{twin.left_out.path}:{twin.left_out.line}"] = None
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
