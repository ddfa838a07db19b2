"""Pins: fragments that rules include, in their layers or, for files no layer reads, under a heading of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from contextasm.model import (
    Document,
    Effect,
    Fragment,
    FragmentDisplay,
    Layer,
    Overflow,
    Problem,
    Query,
    RetrievalResult,
    RuleEvaluation,
    Target,
    Verdict,
    Workspace,
)
from contextasm.text.markdown.blocks import heading, passage, trimmed
from contextasm.text.names.archived_paths import known_ids, known_paths, list_archived

PINS = Layer(
    "pins",
    ("Pinned",),
    changed_by_rules=True,
    query=Query(sources=("rules",), paths=()),
    overflow=Overflow(steps=("drop",)),
)
"""Layer of the files that rules include and no layer reads."""


PINNABLE_CODES = {"no-match", "not-in-top"}
"""Codes of exclusions that a rule's inclusion overrides. Superseded fragments, drafts and expired ones stay out."""


def split_at_headings(fragment: Fragment, layer: Layer, evaluation: RuleEvaluation) -> Iterator[Fragment]:
    """The fragment in parts, where rules include a section of its document; one of a required layer stays whole."""
    titles = [
        effect.target.heading
        for effect in evaluation.of("always_include")
        if effect.target.kind == "heading-path" and effect.target.value in known_paths(fragment.location.path)
    ]
    lines = fragment.text.split("\n")
    sections = sorted(filter(None, (section(lines, title) for title in titles)))
    if layer.limits.required or fragment.verdict.excluded or not sections:
        yield fragment
        return
    edges = sorted({0, len(lines), *(edge for first_and_end in sections for edge in first_and_end)})
    for number, (first, end) in enumerate(pairwise(edges)):
        blank_lines, text = trimmed("\n".join(lines[first:end]))
        if text:
            title = heading(lines[first]) if (first, end) in sections else None
            line = fragment.location.file_line(first + blank_lines)
            yield fragment._replace(
                id=f"{fragment.id}#{title[1]}" if title else f"{fragment.id}#{number}" if number else fragment.id,
                text=text,
                location=fragment.location._replace(line=line),
                display=fragment.display._replace(place=(*fragment.display.place, number)),
                labels=fragment.labels._replace(tags=(), kind="", heading=title[1] if title else ""),
            )


def section(lines: Sequence[str], title: str) -> tuple[int, int] | None:
    """Index of the first line, and of the line after the last, of the section under a heading; None without one.

    The heading's case does not matter.
    """
    start = None
    for number, line in enumerate(lines):
        level_and_title = heading(line)
        if level_and_title is None:
            continue
        if start is None and level_and_title[1].casefold() == title.casefold():
            start, level = number, level_and_title[0]
        elif start is not None and level_and_title[0] <= level:
            return start, number
    return None if start is None else (start, len(lines))


def is_pinnable(fragment: Fragment) -> bool:
    """Whether a rule can include the fragment: it was opened, and what excludes it, if anything, is only its rank."""
    # A file that was not opened has no line.
    excluded = fragment.verdict.excluded
    return bool(fragment.location.line) and (excluded is None or excluded.code in PINNABLE_CODES)


def pin_rank(evaluation: RuleEvaluation, rule: str) -> int:
    """Place of a rule that fired in the order of precedence, from 0."""
    return [fired.name for fired in evaluation.rules].index(rule)


def pins_outside_layers(
    evaluation: RuleEvaluation, layers: Sequence[Layer], results: Mapping[str, RetrievalResult], workspace: Workspace
) -> tuple[RetrievalResult, tuple[Problem, ...]]:
    """The files that rules include and no layer shows, as fragments, and a problem for each target that is missing."""
    required = {layer.id for layer in layers if layer.limits.required}
    all_fragments = [(layer_id, fragment) for layer_id, result in results.items() for fragment in result.fragments]
    shown = [fragment for layer_id, fragment in all_fragments if fragment.verdict.pinned_by or layer_id in required]
    includes = [effect for effect in evaluation.of("always_include") if effect.rules]
    whole_files = {effect.target.value for effect in includes if effect.target.kind == "path"}
    fragments: list[Fragment] = []
    documents: list[Document] = []
    problems: list[Problem] = []
    for effect in includes:
        if any(_is_included(effect.target, fragment) for fragment in shown):
            continue
        is_file = effect.target.kind in {"path", "heading-path"}
        document = included_file(workspace, effect.target.value) if is_file else None
        pins = _pins_of(document, effect, evaluation, len(fragments)) if isinstance(document, Document) else []
        if not isinstance(document, Document) or not pins:
            message = (
                document.message if isinstance(document, Problem) else _missing_words(effect.target, all_fragments)
            )
            problems.append(Problem("pin-missing", str(effect.target), 0, f"rule {effect.rules[0]}: {message}"))
        elif effect.target.kind == "path" or effect.target.value not in whole_files:
            documents.append(document)
            fragments += pins
    return RetrievalResult(tuple(fragments), tuple(documents)), tuple(problems)


def included_file(workspace: Workspace, path: str) -> Document | Problem | None:
    """The file of a path, or the archived one that had it."""
    read = workspace.read(path)
    archived = list_archived(workspace, path) if read is None else []
    return workspace.read(archived[0]) if archived else read


def _is_included(target: Target, fragment: Fragment) -> bool:
    if target.kind in {"path", "heading-path"}:
        title = fragment.labels.heading.casefold()
        holds_section = not title or target.heading.casefold() == title
        return target.value in known_paths(fragment.location.path) and holds_section
    if target.kind == "id":
        return target.value in known_ids(fragment.id, fragment.location.path)
    return target.value in fragment.labels.tags


LEFT_OUT: Mapping[str, str] = {
    "status": "its status is {status}, so it can't be shown",
    "superseded": "{by} supersedes it",
    "future": "it is dated after the day of the build",
    "filtered": "{by} leaves it out",
    "rule": "rule {rule} excludes it",
    "private": "it is private, and this context is shared",
}
"""Words for a target that was found and can't be included, by the code of its exclusion."""


def _missing_words(target: Target, fragments: Sequence[tuple[str, Fragment]]) -> str:
    for _, fragment in fragments:
        excluded = fragment.verdict.excluded
        if excluded and target.kind in {"id", "tag"} and _is_included(target, fragment):
            return LEFT_OUT.get(excluded.code, "it is left out").format(**dict(excluded.facts))
    return "there is no such thing that may be shown"


def _pins_of(document: Document, effect: Effect, evaluation: RuleEvaluation, place: int) -> list[Fragment]:
    """The file, or the section that the effect includes, as pinned fragments; empty without text of that heading.

    Sections of the file that rules include by themselves are fragments of their own: they may outlast the rest.
    """
    title = effect.target.heading
    lines = document.text.split("\n")
    span = section(lines, title) if title else (0, len(lines))
    if span is None:
        return []
    first, end = span
    blank_lines, text = trimmed("\n".join(lines[first:end]))
    if not text:
        return []
    location, text = passage(document, document.line + first + blank_lines, text)
    fragment = Fragment(
        f"{document.path}#{title}" if title else document.path,
        location,
        text,
        FragmentDisplay(PINS.heading[0], place=(place,)),
    )
    parts = [fragment] if title else split_at_headings(fragment, PINS, evaluation)
    return [_pinned(part, effect, evaluation) for part in parts]


def _pinned(part: Fragment, effect: Effect, evaluation: RuleEvaluation) -> Fragment:
    names = [effect.rules[0]]
    if part.labels.heading:
        names += [
            other.rules[0]
            for other in evaluation.of("always_include")
            if other.rules and other.target.kind == "heading-path" and _is_included(other.target, part)
        ]
    rank, name = min((pin_rank(evaluation, name), name) for name in names)
    return part._replace(verdict=Verdict(pinned_by=name, pin_rank=rank))
