"""Fragments of several layers that say the same are shown once; of fragments that contradict each other, one may win.

By content, by a declared hint, or by similarity, as the profile sets. Texts are compared by sections, too: one goes if
another file has all its blocks under the same headings, and a line that only imports a file goes if that is shown. Two
texts that differ in a number or in a negation are never the same; by similarity, nor are two that differ in another
word that turns their meaning. The copy that stays is one that is pinned or of a required layer, else one of a document,
else the surest. If it is not shown in the end, the next one takes its place.

Fragments that declare the same key and say different things are in conflict; nothing is guessed from meaning. The
profile's table gives the severity of a conflict by type. Precedence of layers settles a minor one; any other is shown
with a problem, until the user names the fragment to prefer (digest 003-10 to 003-12).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate, chain

from contextasm.model import Context, Decision, Fact, Fragment, Layer, NamedTuple, Problem, Profile, Reason, grouped
from contextasm.ranking.order import low_quality_problems
from contextasm.text.markdown.blocks import list_mark, without_lines
from contextasm.text.names.matching import list_names
from contextasm.text.similarity import TextSection, find_similar, fingerprint, identities, stated_text, text_sections

LEAST_CHARACTERS = 16
"""Length of the shortest text that is compared, of a paragraph or of a section of a text."""


def import_lines(fragment: Fragment) -> list[tuple[int, str]]:
    """The lines of a fragment that are an import such as `@docs/style.md` and nothing else, with these paths."""
    if "@" not in fragment.text or fragment.display.fence:
        return []
    from contextasm.text.markdown.imports import find_imports, imported_path  # here: few texts have any

    lines, importing = fragment.text.split("\n"), fragment.location.path
    return [
        (line, imported_path(importing, written) or "")
        for line, written in find_imports(fragment.text)
        if lines[line][list_mark(lines[line]) :].strip() == f"@{written}"
    ]


EXACT_TURNS = 4
"""Number of turns, each for one more copy, after which turns begin to skip copies."""


def show_each_once(
    profile: Profile,
    pools: Mapping[str, Sequence[Fragment]],
    prefer: Sequence[str],
    make_context: Callable[[Mapping[str, Sequence[Fragment]]], Context],
) -> Context:
    """The context of the ranked fragments in `pools` (by layer id) without duplicates and overruled ones.

    `make_context` selects among the fragments. If a copy that represents others is not shown, the next one takes its
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
        problems = (*conflicts, *low_quality_problems(profile, candidates))
        context = make_context(candidates)
        if _decisions_that_show(ahead, context.decisions):
            ahead, turns = set(), 0
            continue
        unshown |= ahead
        standing = {shown for shown, _ in twins.values()}
        missing = standing - _decisions_that_show(standing, context.decisions).keys() - unshown
        if not missing:
            decisions = _with_twins(context.decisions, twins)
            return context._replace(decisions=decisions, problems=(*problems, *context.problems))
        unshown |= missing
        turns += 1
        following = grouped((shown, copy) for copy, (shown, _) in twins.items())
        ahead = {copy for shown in missing for copy in following[shown][: 2 ** max(turns - EXACT_TURNS, 0) - 1]}


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
"""Copies that are left out, each with the one that represents it and the method that found them."""


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
    def stays(self) -> bool:
        """Whether no copy takes its place: the same answer to another question is another part of a conversation."""
        is_spoken = self.fragment.message is not None or self.fragment.labels.kind == "turn"
        return is_spoken or self.is_protected

    @property
    def precedence(self) -> tuple[bool, bool, float]:
        """The lower, the more it deserves to stay.

        A document comes before surer memories: lines of text must not come and go with what a budget lets in.
        """
        is_document = any(source.is_document for source in self.layer.query.traits)
        return not self.is_protected, not is_document, -self.fragment.labels.confidence

    def parts(self, spans: Sequence[tuple[int, int]]) -> list[Copy]:
        """Parts of the fragment's text, each some of its lines, counted from 0."""
        lines = self.fragment.text.split("\n")
        own = ([line for line in range(first, stop) if lines[line].strip()] for first, stop in spans)
        numbers = [tuple(map(self.fragment.location.file_line, shown)) for shown in own]
        return [self.copy._replace(line=each[0], lines=each) for each in numbers]


def _deduplicate(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]], unshown: Collection[Copy] = ()
) -> tuple[Mapping[str, Sequence[Fragment]], Twins]:
    """The ranked fragments in `pools` (by layer id), with each duplicate of another one excluded.

    The copies `unshown` represent no other.
    """
    if not profile.merge:
        return pools, {}
    candidates = [
        _Candidate(layer, (number, place), fragment)
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
        """`methods` are the profile's, of `MERGE_METHODS`, and `files` the texts by path."""
        self._files = files
        self._methods = [method for method in methods if method != "near"]
        self._unshown = unshown
        self._by_identity: dict[tuple[str, ...], Copy] = {}
        self._twins: dict[Copy, tuple[Copy, str]] = {}
        self._whole_of: dict[tuple[str, str], Copy] = {}
        self._parted: set[Copy] = set()
        self._blocks: dict[Copy, Sequence[str]] = {}

    def compare(self, candidate: _Candidate) -> None:
        """Leave the candidate, or paragraphs of it, out for copies that stay, or have it stay."""
        text = fingerprint(candidate.fragment)
        copy = candidate.copy
        self._whole_of[copy.layer, copy.fragment] = copy
        if not text.folded:
            return
        keys = identities(text, candidate.fragment.labels.dedup, self._methods)
        if "content" in keys and not (_is_item(candidate) and "\n" not in candidate.fragment.text):
            keys["content"] = ("text", candidate.fragment.text.rstrip())  # Lines and indentation count.
        if not candidate.stays and copy not in self._unshown and self._leave_out(copy, keys):
            return
        staying = list[tuple[TextSection, Copy]]()
        if "content" in self._methods and not _is_item(candidate):
            self._leave_out_imports(candidate)
            staying = self._compare_sections(candidate)
        if copy not in self._parted and copy not in self._unshown:
            for method, key in keys.items():
                # A required layer may show headlines: those say less than a fragment of the same hint elsewhere.
                if method == "content" or not candidate.layer.limits.required:
                    self._by_identity.setdefault(key, copy)
        for section, part in staying:
            texts = (("content", block) for block in section.texts if len(block) >= LEAST_CHARACTERS)
            headed = (section.key(*own) for own in (section.blocks, (), *((block,) for block in section.blocks)))
            self._blocks[part] = section.blocks
            for key in chain(texts, headed):
                self._by_identity.setdefault(key, part)

    def _leave_out(self, copy: Copy, keys: Mapping[str, tuple[str, ...]]) -> bool:
        for method, key in keys.items():
            other = self._by_identity.get(key)
            # One memory in two layers is not a duplicate: a headline in one, all of it in the other.
            if other and (other.path, other.line) != (copy.path, copy.line):
                self._twins[copy] = other, method
                return True
        return False

    def _leave_out_imports(self, candidate: _Candidate) -> None:
        for line, path in () if candidate.is_protected else import_lines(candidate.fragment):
            file = self._files.get(path)
            if file and file != candidate.copy and file not in self._unshown:
                self._twins[candidate.parts([(line, line + 1)])[0]] = file, "import"
                self._parted.add(candidate.copy)

    def _compare_sections(self, candidate: _Candidate) -> list[tuple[TextSection, Copy]]:
        """Leave out sections for ones of other files under the same headings; the sections that stay.

        A section goes with all sections below its heading, or not at all.
        """
        sections = text_sections(candidate.fragment.text) if not candidate.fragment.display.fence else []
        parts = candidate.parts([section[:2] for section in sections])
        others = [self._section_like(section, part) for section, part in zip(sections, parts, strict=True)]
        for number in reversed(range(len(sections))):
            if not sections[number].blocks and not sections[number].titles and sections[number].size > 1:
                others[number] = others[number] or others[number + 1]  # a title that names no subject
        found = [0, *accumulate(other is not None for other in others)]
        staying: list[tuple[TextSection, Copy]] = []
        beyond = 0
        for number, (section, part) in enumerate(zip(sections, parts, strict=True)):
            stop = number + section.size
            if not candidate.is_protected and found[stop] - found[number] == section.size:
                length = sum(len(block) for each in sections[number:stop] for block in each.texts)
                beyond = max(beyond, stop if length >= LEAST_CHARACTERS else 0)
            if number < beyond and (other := others[number]):
                self._twins[part] = other, "content"
                self._parted.add(candidate.copy)
            elif part not in self._unshown:
                staying.append((section, part))
        return staying

    def _section_like(self, section: TextSection, part: Copy) -> Copy | None:
        """The section of another file that has the same headings and every block of this one, in their order."""
        if part in self._unshown:
            return None
        found = (self._by_identity.get(section.key(*own)) for own in (section.blocks, section.blocks[-1:]))
        others = ((other, iter(self._blocks[other])) for other in found if other and other.path != part.path)
        return next((other for other, own in others if all(block in own for block in section.blocks)), None)

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
            match = None if candidate.stays else _find_same(candidate, text.folded, others)
            if match and (others[match].copy.path, others[match].copy.line) == (copy.path, copy.line):
                match = None
            if match and (others[match].stays or candidate.precedence >= others[match].precedence):
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


def _find_same(candidate: _Candidate, folded: str, others: Mapping[str, _Candidate]) -> str | None:
    """The folded text in `others` that says the same as the candidate and is most like it; None for none."""
    names, texts = [*others], [stated_text(other.fragment) for other in others.values()]
    similar = find_similar(stated_text(candidate.fragment), texts, names) if folded else []
    return names[similar[0][0]] if similar else None


def _is_item(candidate: _Candidate) -> bool:
    return bool(candidate.layer.display.item_template or candidate.fragment.location.rows)


def _without_twins(fragment: Fragment, layer: Layer, twins: Twins) -> Iterator[Fragment]:
    """The fragment, excluded if it is left out; without the parts of it that are, and each of these, excluded."""
    candidate = _Candidate(layer, (0, 0), fragment)
    if fragment.verdict.excluded:
        yield fragment
    elif twin := twins.get(candidate.copy):
        yield fragment.exclude(_reason(*twin))
    elif not twins or _is_item(candidate):
        yield fragment
    else:
        spans = [section[:2] for section in text_sections(fragment.text)]
        spans = [*dict.fromkeys([*spans, *((line, line + 1) for line, _ in import_lines(fragment))])]
        found = zip(spans, map(twins.get, candidate.parts(spans)), strict=True)
        yield from _without_parts(fragment, {span: _reason(*twin) for span, twin in found if twin})


def _without_parts(fragment: Fragment, reasons: Mapping[tuple[int, int], Reason]) -> Iterator[Fragment]:
    """The fragment without some of its lines, and each part of them, excluded; excluded whole if nothing is left."""
    lines = fragment.text.split("\n")
    gone = {line for part in reasons for line in range(*part)}
    shown = [line for line in range(len(lines)) if line not in gone and lines[line].strip()]
    if not reasons or not shown:
        yield fragment.exclude(next(iter(reasons.values()))) if reasons else fragment
        return
    kept = [line for line in range(shown[0], shown[-1] + 1) if line not in gone]
    location = without_lines(fragment.location, len(lines), frozenset(range(len(lines))).difference(kept))
    yield fragment._replace(text="\n".join(lines[line] for line in kept), location=location)
    for (first, stop), reason in sorted(reasons.items(), key=lambda item: dict(item[1].facts)["path"]):
        own = fragment.location._replace(line=fragment.location.file_line(first), gaps=())
        text = "\n".join(lines[first:stop]).rstrip()
        yield fragment._replace(id=f"{fragment.id}:{own.line}", location=own, text=text).exclude(reason)


def _reason(shown: Copy, method: str) -> Reason:
    if method == "import":
        return Reason.of("imports", path=shown.path)
    if shown.lines:
        return Reason.of("same-text", into=shown.fragment, path=shown.path, line=shown.line, by=method)
    return Reason.of("merged", into=shown.fragment, path=shown.path, by=method)


# --- After selection -------------------------------------------------------------------------------------------------


def _with_twins(decisions: Sequence[Decision], twins: Twins) -> tuple[Decision, ...]:
    """The decisions, those on shown fragments with the places of the copies that they represent."""
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
    lines = {
        whole: {line for first, last in decisions[numbers[whole]].kept for line in range(first, last + 1)}
        for whole in {copy[:2] for copy in copies if copy.lines} & numbers.keys()
    }
    return {
        copy: numbers[copy[:2]]
        for copy in copies
        if copy[:2] in numbers and (not copy.lines or lines[copy[:2]].issuperset(copy.lines))
    }


# --- Conflicts -------------------------------------------------------------------------------------------------------


MINOR = 0.3
"""Severity below which a conflict is minor."""

CONFIDENCE = {"user_choice": 1.0, "precedence": 0.8, "flag": 0.6}
"""Confidence, 0 to 1, in what each strategy makes of a conflict (source 003 has no number for a person's choice)."""


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
        winner, strategy = _winner(profile, claims, prefer)
        severity = _severity(profile, claims)
        if winner is None:
            problems.append(_conflict_problem(key, claims, severity))
            continue
        for claim in claims:
            if claim.is_protected or _name(claim) == _name(winner):
                continue
            if fingerprint(claim.fragment) == fingerprint(winner.fragment):
                reason = Reason.of("merged", into=winner.fragment.id, path=winner.fragment.location.path, by="key")
            else:
                sure = CONFIDENCE[strategy]
                facts: dict[str, Fact] = {"strategy": strategy, "confidence": sure, "severity": severity}
                reason = Reason.of("overruled", by=winner.fragment.id, key=key, **facts)
            reasons[claim.layer.id, claim.fragment.id] = reason
    candidates = {
        layer: tuple(
            fragment.exclude(why) if (why := reasons.get((layer, fragment.id))) else fragment for fragment in fragments
        )
        for layer, fragments in pools.items()
    }
    return candidates, problems


def _winner(profile: Profile, claims: Sequence[_Candidate], prefer: Sequence[str]) -> tuple[_Candidate | None, str]:
    """The preferred claim, else that of highest precedence, else None for the user to settle; and the strategy."""
    preferred = next((claim for claim in claims if {claim.fragment.id, _name(claim)} & {*prefer}), None)
    if preferred:
        return preferred, "user_choice"
    if _severity(profile, claims) >= MINOR:
        return None, "flag"
    return min(claims, key=lambda claim: _precedence(profile, claim)), "precedence"


def _conflicting_claims(
    profile: Profile, pools: Mapping[str, Sequence[Fragment]]
) -> Iterator[tuple[str, list[_Candidate]]]:
    """Keys whose fragments say different things, with their claims: highest layer first, each best first."""
    all_claims = (_Candidate(layer, (0, 0), fragment) for layer in profile.layers for fragment in pools[layer.id])
    stated = (each for each in all_claims if each.fragment.labels.key and each.fragment.verdict.excluded is None)
    for key, claims in grouped((claim.fragment.labels.key, claim) for claim in stated).items():
        others = (claim for claim in claims if _name(claim) != _name(claims[0]))
        if any(fingerprint(claims[0].fragment) != fingerprint(claim.fragment) for claim in others):
            yield key, claims


def _name(claim: _Candidate) -> str:
    """The page of a section, since its sections say one thing together; else the fragment's id."""
    return claim.fragment.labels.claim or claim.fragment.id


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


def _conflict_problem(key: str, claims: Sequence[_Candidate], severity: float) -> Problem:
    firsts: dict[str, Fragment] = {}
    for claim in claims:
        firsts.setdefault(_name(claim), claim.fragment)
    first, *others = firsts.values()
    names = list_names([f"{other.id} ({other.location.path}:{other.location.line})" for other in others])
    why = f"(severity {severity:g}, strategy flag, confidence {CONFIDENCE['flag']:g})"
    message = f"{first.id} and {names} say different things about {key} {why}; correct one, or choose one with --prefer"
    return Problem("conflict", first.location.path, first.location.line, message)
