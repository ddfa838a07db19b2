"""Source `patterns`: ways of working, with their rates of success; the ones that fit the topic.

A pattern fits by its keywords, intents and entities; its text is not searched.
"""

from __future__ import annotations

from collections.abc import Sequence

from contextasm.model import Fragment, Location, Reason, RetrievalResult, SourceQuery
from contextasm.retrieval.reading.files import layer_display, read_data
from contextasm.retrieval.reading.query_signals import intent, keywords
from contextasm.text.data.rows import parse_rows
from contextasm.text.names.templates import fill_item

LINE = "**{name}**: {text}"
"""Template of a pattern where the layer has no `item`."""


def patterns(query: SourceQuery) -> RetrievalResult:
    """Patterns of the layer's files as fragments, matches of the topic first, by rate of success.

    One fits by a keyword, by the intent, or by the type of an entity that the topic names (`start_from`).
    """
    files, problems = read_data(query)
    topic = query.build.request.topic
    words, topic_intent, types = set(keywords(topic)), intent(topic), _named_entity_types(query)
    fragments: list[Fragment] = []
    for row in (row for data in files for row in parse_rows(data, "patterns", problems)):
        name = row.word("name") or row.word("text")
        applied, succeeded = row.count("applied"), row.count("succeeded")
        if not name:
            row.report("has no `name`")
            continue
        if succeeded > applied:
            row.report(f"`succeeded` is {succeeded}, but `applied` is {applied}; it counts as {applied}")
            succeeded = applied
        text = row.word("text")
        own_words, intents, own_types = row.words("keywords"), row.words("intent"), row.words("entities")
        fits = topic_intent in intents or _overlap(words, own_words) or _overlap(types, own_types)
        tried = f"worked {succeeded} of {applied} times" if applied else "not tried yet"
        values = {"name": name, "text": " ".join(text.split()), "tried": tried}
        fragment = Fragment(
            f"{row.path}#{len(fragments)}",
            Location(row.path, row.line, rows=1),
            fill_item(query.layer.display.item_template or LINE, values),
            layer_display(query.layer),
            # From 0 to 1, nearer to a half the fewer the tries; 0 if it was never tried (001-16).
            score=(("rate", (succeeded + 1) / (applied + 2) if applied else 0.0),) if fits else (),
        )
        fragments.append(fragment if fits else fragment.exclude(Reason("no-match")))
    fragments.sort(key=lambda each: (each.verdict.excluded is not None, -dict(each.score).get("rate", 0.0), each.text))
    return RetrievalResult(tuple(fragments), tuple(data.document for data in files), tuple(problems))


def _overlap(folded: set[str], words: Sequence[str]) -> bool:
    return not folded.isdisjoint(map(str.casefold, words))


def _named_entity_types(query: SourceQuery) -> set[str]:
    fragments = [fragment for result in query.found.values() for fragment in result.fragments]
    return {fragment.labels.kind.casefold() for fragment in fragments if dict(fragment.score).get("named")}
