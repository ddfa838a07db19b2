"""Directives: the sentences of all files of a session that tell the model what to do, however many layers they are in.

By form only: a must word, or a verb at the beginning. Whether a model follows them is not known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

from contextasm.checks.finding import Finding
from contextasm.checks.hosts.files import HostReading
from contextasm.checks.text import quoted, sentences
from contextasm.model import grouped
from contextasm.text.markdown.front_matter import front_matter
from contextasm.text.markdown.managed_block import without_block
from contextasm.text.names.matching import list_names
from contextasm.text.similarity import find_similar, fold_text, negations, words_and_names

MANY, REPEATED, CONTRADICTION = "host-directives", "host-repeated", "host-contradiction"
"""Ids of the findings. An id never changes its meaning."""

MOST_DIRECTIVES = 150
"""Number of directives of all files together from which on there is a note."""

_MUST = r"\b(?:must|never|always|should|shall|do not|don['’]t|required to|make sure|no longer)\b"
_VERBS = """
add apply ask avoid be build call change check choose clean commit confirm copy create define delete do document ensure
explain fix follow format give handle ignore implement import include install keep leave list load look make match mock
move name note open pass pick place prefer preserve put read refer reference remember remove rename replace report
respect return reuse review run save search send set show skip start stay stop store test treat try update use validate
verify wait wrap write
"""
_IMPERATIVE = rf"(?:please |then |only |also |first,? )?(?:{'|'.join(_VERBS.split())})\b(?![:=(/.-])"
_DIRECTIVE = re.compile(rf"\W*(?:{_IMPERATIVE})|.*?{_MUST}", re.IGNORECASE | re.DOTALL)

_EMPHASIS = {"always", "do", "please", "must", "should", "shall", "you", "only"}
"""Words that change no directive's meaning when they come or go."""

Directive = tuple[str, int, str, int]
"""Path of a file, a line counted from 1, the sentence in one line, and the number of headings of the file above it."""


def reading_directives(reading: HostReading) -> Iterator[Directive]:
    """The directives of all files that a host loads at the start, in order; not those that it takes out."""
    for file in reading.files:
        lines = file.text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n") if file.kept else []
        first, taken = front_matter(lines).lines, {*file.taken_lines}
        above = [0, *accumulate(line.startswith("#") for line in lines)]
        for line, sentence in sentences("\n".join(lines[first:])):
            if first + line + 1 not in taken and _DIRECTIVE.match(sentence):
                yield file.path, first + line + 1, " ".join(sentence.split()).rstrip("."), above[first + line]


def directive_findings(reading: HostReading) -> Iterator[Finding]:
    """Directives that say the opposite of others, the ones that two files repeat, and too many of all."""
    directives = [*reading_directives(reading)]
    yield from _contradictions(directives)
    yield from _repeats(directives, reading)
    if len(directives) > MOST_DIRECTIVES:
        most = ", ".join(f"{path} ({count})" for path, count in Counter(each[0] for each in directives).most_common(3))
        message = f"{reading.host.summary} loads {len(directives)} directives, more than a model follows well"
        yield Finding(MANY, "note", "", 0, message, f"remove the ones that a model follows anyway; most are in {most}")


def _contradictions(directives: Sequence[Directive]) -> Iterator[Finding]:
    """Pairs that differ in a negation only, such as "use tabs" and "never use tabs".

    In one file, only directives under one heading are compared: each section may be about something else.
    """
    first: dict[tuple[object, ...], Directive] = {}
    for path, line, words, section in directives:
        key = tuple(word for word in words_and_names(words)[0] if word not in _EMPHASIS)
        sign = len(negations(fold_text(words))) % 2
        for place in ((), (path, section)):
            first.setdefault((key, sign, place), (path, line, words, section))
        other = first.get((key, 1 - sign, (path, section))) or first.get((key, 1 - sign, ()))
        if len(key) > 1 and other and (other[0] != path or other[3] == section):
            message = f"{quoted(words)} contradicts {quoted(other[2])} in {other[0]}"
            hint = f"keep one of them; the other is at {other[0]}:{other[1]}"
            yield Finding(CONTRADICTION, "warning", path, line, message, hint)


def _repeats(directives: Sequence[Directive], reading: HostReading) -> Iterator[Finding]:
    """One finding for each two files of which one repeats directives of the other, or is the same text.

    What is in our own block may be in other files, too.
    """
    text_of = {file.path: file.text for file in reading.files}
    ours = {path: without_block(text)[1] for path, text in text_of.items()}
    directives = [each for each in directives if not ours[each[0]][0] <= each[1] <= ours[each[0]][1]]
    texts, folded = [each[2] for each in directives], [fold_text(each[2]) for each in directives]
    pairs: list[tuple[tuple[str, str], Directive]] = []
    for at, (path, line, words, section) in enumerate(directives):
        similar = sorted(place for place, _ in find_similar(words, texts[:at], folded[:at]))
        if similar and (first := directives[similar[0]][0]) != path:
            pairs.append(((path, first), (path, line, words, section)))
    for (path, first), same in grouped(pairs).items():
        if text_of[path] == text_of[first]:
            message = f"the file has the same text as {first}, and {reading.host.summary} loads both"
            yield Finding(REPEATED, "note", path, 0, message, "keep one file, unless other programs need both")
            continue
        count = f"{len(same)} directives" if len(same) > 1 else "a directive"
        lines = f" (lines {list_names([str(each[1]) for each in same], 10)})" if len(same) > 1 else ""
        message = f"the file repeats {count} of {first}{lines}: {quoted(same[0][2])}"
        yield Finding(REPEATED, "note", path, same[0][1], message, "keep each directive in only one file")
