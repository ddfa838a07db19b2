"""Fragments of several layers that say the same are shown once.

By content, by a declared hint, or by similarity, as the profile sets. Texts are compared by sections, too: one goes if
another file has all its blocks under the same headings, and a line that only imports a file goes if that is shown. Two
texts that differ in a number or in a negation are never the same; by similarity, nor are two that differ in another
word that turns their meaning. The copy that stays is one that is pinned or of a required layer, else one of a document,
else the surest. If it is not shown in the end, the next one takes its place.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate, chain
from typing import NamedTuple

from contextasm.model import Context, Decision, Fragment, Layer, Problem, Profile, Reason
from contextasm.text.markdown.blocks import TextBlock, blocks, has_title, heading, list_lead, list_mark, without_lines
from contextasm.text.similarity import fingerprint, fold_text, identities, most_similar

LEAST_CHARACTERS = 16
"""Length of the shortest text that is compared, of a paragraph or of a section of a text."""


class TextPart(NamedTuple):
    """A paragraph of a fragment or a line that imports a file, by lines of its text, counted from 0."""

    first: int
    stop: int
    key: str
    """The folded text of a paragraph; the path of an imported file."""


class TextSection(NamedTuple):
    """A heading with the text up to the next one, by lines of a fragment's text, counted from 0.

    The text above the first heading is one, too.
    """

    first: int
    stop: int
    size: int
    """Number of sections that it consists of: itself and the ones below its heading."""
    titles: tuple[tuple[str, ...], ...]
    """The headings that it is under and its own, folded; a second time without the title of the text."""
    blocks: tuple[str, ...]
    """Each block of its own text, folded; of code and tables, as it is."""

    @property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """Keys of all its own text under its heading."""
        return tuple(("section", *titles, "", *self.blocks) for titles in self.titles)


def paragraphs(fragment: Fragment) -> list[TextPart]:
    """The paragraphs of a fragment that other fragments may repeat; none of a fenced one."""
    if fragment.display.fence:
        return []
    lines = fragment.text.split("\n")
    in_order = [*blocks(lines)]
    if len(in_order) == 1 and not in_order[0].levels:
        return []  # the fragment itself
    return [
        TextPart(block.body, block.stop, folded)
        for block in in_order
        if block.kind == "text"
        and _stands_alone(block, lines)
        and len(folded := _folded(lines, block)) >= LEAST_CHARACTERS
    ]


def _folded(lines: list[str], block: TextBlock) -> str:
    text = "\n".join(lines[block.body : block.stop])
    return fold_text(text[len(list_lead(text)) :]) if block.kind == "text" else text.strip()


def _stands_alone(block: TextBlock, lines: list[str]) -> bool:
    # The item that begins a fragment is a memory or an event as its layer writes it.
    if block.body and list_mark(lines[block.body]):
        return False
    begins = not block.body or bool(block.levels) or not lines[block.body - 1].strip()
    return begins and (block.stop == len(lines) or not lines[block.stop - 1].strip())


def import_lines(fragment: Fragment) -> list[TextPart]:
    """The lines of a fragment that are an import such as `@docs/style.md`, and nothing else; none of a fenced one."""
    if "@" not in fragment.text or fragment.display.fence:
        return []
    from contextasm.text.markdown.imports import find_imports, imported_path  # here: few texts have any

    lines = fragment.text.split("\n")
    return [
        TextPart(line, line + 1, path)
        for line, written in find_imports(fragment.text)
        if lines[line][list_mark(lines[line]) :].strip() == f"@{written}"
        and (path := imported_path(fragment.location.path, written))
    ]


def text_sections(fragment: Fragment) -> list[TextSection]:
    """The sections of a fragment's text, in their order; none of a fenced one."""
    if fragment.display.fence:
        return []
    lines = fragment.text.split("\n")
    in_order = [*blocks(lines)]
    with_title = has_title([block.levels for block in in_order])
    sections: list[TextSection] = []
    texts: list[list[str]] = []
    above: list[tuple[int, str, int]] = []  # level, words and number of each heading that the text is under
    for block in in_order:
        for line in range(block.first, block.body):
            if found := heading(lines[line]):
                while above and above[-1][0] >= found[0]:
                    above.pop()
                for _, _, number in above:
                    sections[number] = sections[number]._replace(size=sections[number].size + 1)
                above.append((found[0], fold_text(found[1]), len(sections)))
                titles = tuple(words for _, words, _ in above)
                without_title = titles[1:] if with_title else ()
                sections.append(TextSection(line, line, 1, (titles, without_title) if without_title else (titles,), ()))
                texts.append([])
        if not sections:
            sections.append(TextSection(0, 0, 1, ((),), ()))
            texts.append([])
        if block.kind != "heading":
            texts[-1].append(_folded(lines, block))
    stops = [*(section.first for section in sections[1:]), len(lines)]
    return [
        section._replace(stop=stop, blocks=tuple(text))
        for section, stop, text in zip(sections, stops, texts, strict=True)
    ]


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
    """
    unshown: set[Copy] = set()
    while True:
        distinct, twins = _deduplicate(profile, pools, unshown)
        candidates, conflicts = _without_overruled(profile, distinct, prefer)
        problems = (*conflicts, *_low_quality_problems(profile, candidates))
        context = make_context(candidates)
        missing = _unshown_copies(twins, context.decisions)
        if missing <= unshown:
            decisions = _with_twins(context.decisions, twins)
            return context._replace(decisions=decisions, problems=(*problems, *context.problems))
        unshown |= missing


def _without_overruled(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]], prefer: Sequence[str]
) -> tuple[Mapping[str, Sequence[Fragment]], Sequence[Problem]]:
    if profile.conflicts is None:
        return pools, ()
    from contextasm.ranking.conflicts import resolve_conflicts  # here: most profiles resolve none

    return resolve_conflicts(profile, pools, prefer)


METHODS = ("content", "dedup", "near")
"""Methods of comparison: by text, by declared hint, or by similarity of the texts."""


class Copy(NamedTuple):
    """A fragment, or a paragraph or section of it, that may say the same as another."""

    layer: str
    fragment: str
    path: str
    line: int
    """Line of the file at which it begins."""
    lines: tuple[int, ...] = ()
    """Its lines of the file that are not blank, for a part of a fragment; none for a fragment."""


Twins = Mapping[Copy, tuple[Copy, str]]
"""Copies that are left out, each with the one that stands for it and the method that found them."""


class Candidate(NamedTuple):
    """A ranked fragment of a layer."""

    layer: Layer
    rank: tuple[int, int]
    """Place of its layer, and its place there."""
    fragment: Fragment

    @property
    def copy(self) -> Copy:
        """All of the fragment."""
        return Copy(self.layer.id, self.fragment.id, self.fragment.location.path, self.fragment.location.line)

    @property
    def is_protected(self) -> bool:
        """Whether it is shown whatever else says the same."""
        return self.layer.limits.required or bool(self.fragment.verdict.pinned_by)

    @property
    def precedence(self) -> tuple[bool, bool, float]:
        """The lower, the more it deserves to stay.

        A document comes before surer memories: lines of text must not come and go with what a budget lets in.
        """
        is_document = any(source.is_document for source in self.layer.query.traits)
        return not self.is_protected, not is_document, -self.fragment.labels.confidence

    def part(self, part: TextPart | TextSection) -> Copy:
        """A part of the fragment's text."""
        location, lines = self.fragment.location, self.fragment.text.split("\n")
        if location.rows:
            return self.copy._replace(lines=tuple(range(location.line, location.line + location.rows)))
        shown = (line for line in range(part.first, part.stop) if lines[line].strip())
        numbers = tuple(map(location.file_line, shown))
        return self.copy._replace(line=numbers[0], lines=numbers)


def _deduplicate(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]], unshown: Collection[Copy] = ()
) -> tuple[Mapping[str, Sequence[Fragment]], Twins]:
    """The ranked fragments in `pools` (by layer id), with each duplicate of another one excluded.

    The copies `unshown` stand for no other.
    """
    if not profile.merge:
        return pools, {}
    candidates = [
        Candidate(layer, (number, place), fragment)
        for number, layer in enumerate(profile.layers)
        for place, fragment in enumerate(pools[layer.id])
        if fragment.verdict.excluded is None
    ]
    files = {each.copy.path: each.copy for each in reversed(candidates) if not _is_item(each)}
    search = _Search(profile.merge, files, unshown)
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

    def __init__(self, methods: Sequence[str], files: Mapping[str, Copy], unshown: Collection[Copy]) -> None:
        """`methods` are the profile's, of `METHODS`, and `files` the texts by path."""
        self._files = files
        self._methods = [method for method in methods if method != "near"]
        self._unshown = unshown
        self._by_identity: dict[tuple[str, ...], Copy] = {}
        self._twins: dict[Copy, tuple[Copy, str]] = {}
        self._whole_of: dict[tuple[str, str], Copy] = {}
        self._parted: set[Copy] = set()

    def compare(self, candidate: Candidate) -> None:
        """Leave the candidate, or paragraphs of it, out for copies that stay, or have it stay."""
        text = fingerprint(candidate.fragment)
        copy = candidate.copy
        self._whole_of[copy.layer, copy.fragment] = copy
        if not text.folded:
            return
        keys = identities(text, candidate.fragment.labels.dedup, self._methods)
        if not candidate.is_protected and copy not in self._unshown and self._leave_out(copy, keys):
            return
        if "content" in self._methods:
            self._leave_out_imports(candidate)
        gone = self._compare_sections(candidate) if "content" in self._methods else frozenset()
        for paragraph in paragraphs(candidate.fragment) if "content" in self._methods else ():
            part = candidate.part(paragraph)
            if paragraph.first not in gone and part not in self._unshown:
                self._by_identity.setdefault(("content", paragraph.key), part)
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

    def _leave_out_imports(self, candidate: Candidate) -> None:
        for line in import_lines(candidate.fragment) if _is_divisible(candidate) else ():
            file = self._files.get(line.key)
            if file and file != candidate.copy and file not in self._unshown:
                self._twins[candidate.part(line)] = file, "import"
                self._parted.add(candidate.copy)

    def _compare_sections(self, candidate: Candidate) -> frozenset[int]:
        """Leave out sections for ones of other files under the same headings; the lines of the ones left out.

        A section goes with all sections below its heading, or not at all.
        """
        sections = [] if _is_item(candidate) else text_sections(candidate.fragment)
        parts = [candidate.part(section) for section in sections]
        others = [self._section_like(section, part) for section, part in zip(sections, parts, strict=True)]
        for number in reversed(range(len(sections))):
            if not sections[number].blocks and sections[number].size > 1:
                others[number] = others[number] or others[number + 1]  # such as a title
        found = [0, *accumulate(other is not None for other in others)]
        lengths = [0, *accumulate(sum(map(len, section.blocks)) for section in sections)]
        gone: set[int] = set()
        beyond = 0
        for number, (section, part) in enumerate(zip(sections, parts, strict=True)):
            stop = number + section.size
            is_long = lengths[stop] - lengths[number] >= LEAST_CHARACTERS
            if is_long and not candidate.is_protected and found[stop] - found[number] == section.size:
                beyond = max(beyond, stop)
            if number < beyond and (other := others[number]):
                self._twins[part] = other, "content"
                gone.update(range(section.first, section.stop))
            elif part not in self._unshown:
                for key in (*section.keys, *section._replace(blocks=()).keys, *_block_keys(section)):
                    self._by_identity.setdefault(key, part)
        if gone:
            self._parted.add(candidate.copy)
        return frozenset(gone)

    def _section_like(self, section: TextSection, part: Copy) -> Copy | None:
        """The section of another file that has the same headings and every block of this one."""
        if part in self._unshown:
            return None
        same = (self._by_identity.get(key) for key in section.keys)
        holders = {self._by_identity.get(key) for key in _block_keys(section)}
        larger = holders.pop() if len(holders) == 1 else None
        return next((other for other in (*same, larger) if other and other.path != part.path), None)

    def compare_by_similarity(self, candidates: Sequence[Candidate]) -> None:
        """Leave out the candidates that are like another one, of the two the less sure, each layer's best first.

        Fragments after the first `ranking.top` of their layer can't be shown, so they are not compared.
        """
        shown: dict[tuple[tuple[str, ...], ...], dict[str, Candidate]] = {}
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
        return {copy: (self._final(shown), method) for copy, (shown, method) in self._twins.items()}

    def _final(self, copy: Copy) -> Copy:
        while twin := self._twins.get(copy) or self._twins.get(self._whole_of[copy.layer, copy.fragment]):
            copy, _ = twin
        return copy


def _block_keys(section: TextSection) -> list[tuple[str, ...]]:
    return [("block", *section.titles[-1], "", block) for block in section.blocks]


def _is_divisible(candidate: Candidate) -> bool:
    return not (candidate.is_protected or _is_item(candidate))


def _is_item(candidate: Candidate) -> bool:
    return bool(candidate.layer.display.item_template or candidate.fragment.location.rows)


def _without_twins(fragment: Fragment, layer: Layer, twins: Twins) -> Iterator[Fragment]:
    """The fragment, excluded if it is left out; without the parts of it that are, and each of these, excluded."""
    candidate = Candidate(layer, (0, 0), fragment)
    if fragment.verdict.excluded:
        yield fragment
    elif twin := twins.get(candidate.copy):
        yield fragment.exclude(_reason(*twin))
    elif not twins or not _is_divisible(candidate):
        yield fragment
    else:
        every: tuple[TextPart | TextSection, ...] = (*text_sections(fragment), *import_lines(fragment))
        parts = {candidate.part(part): part for part in every}
        reasons = {part: _reason(*twins[copy]) for copy, part in parts.items() if copy in twins}
        yield from _without_parts(fragment, reasons)


def _without_parts(fragment: Fragment, reasons: Mapping[TextPart | TextSection, Reason]) -> Iterator[Fragment]:
    """The fragment without these parts, and each of them, excluded; excluded whole if nothing would be left."""
    lines = fragment.text.split("\n")
    gone = {line for part in reasons for line in range(part.first, part.stop)}
    shown = [line for line in range(len(lines)) if line not in gone and lines[line].strip()]
    if not reasons or not shown:
        yield fragment.exclude(next(iter(reasons.values()))) if reasons else fragment
        return
    kept = [line for line in range(shown[0], shown[-1] + 1) if line not in gone]
    location = without_lines(fragment.location, len(lines), frozenset(range(len(lines))).difference(kept))
    yield fragment._replace(text="\n".join(lines[line] for line in kept), location=location)
    for part, reason in sorted(reasons.items(), key=lambda item: dict(item[1].facts)["path"]):
        own = fragment.location._replace(line=fragment.location.file_line(part.first), gaps=())
        text = "\n".join(lines[part.first : part.stop]).rstrip()
        yield fragment._replace(id=f"{fragment.id}:{own.line}", location=own, text=text).exclude(reason)


def _reason(shown: Copy, method: str) -> Reason:
    if method == "import":
        return Reason.of("imports", path=shown.path)
    if shown.lines:
        return Reason.of("same-text", into=shown.fragment, path=shown.path, line=shown.line, by=method)
    return Reason.of("merged", into=shown.fragment, path=shown.path, by=method)


# --- After selection -------------------------------------------------------------------------------------------------


def _unshown_copies(twins: Twins, decisions: Sequence[Decision]) -> set[Copy]:
    """The copies that stand for others and are not shown themselves."""
    copies = {shown for shown, _ in twins.values()}
    return copies - _decisions_that_show(copies, decisions).keys()


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
    """For each copy that is shown, of a part of a fragment each line, the number of the decision that shows it."""
    numbers = {(each.layer, each.fragment): number for number, each in enumerate(decisions) if each.kept}
    with_parts = {copy[:2] for copy in copies if copy.lines} & numbers.keys()
    lines = {
        whole: {line for first, last in decisions[numbers[whole]].kept for line in range(first, last + 1)}
        for whole in with_parts
    }
    return {
        copy: numbers[copy[:2]]
        for copy in copies
        if copy[:2] in numbers and (not copy.lines or lines[copy[:2]].issuperset(copy.lines))
    }


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
