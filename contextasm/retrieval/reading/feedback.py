"""Feedback of a workspace: what `ctxasm feedback` wrote, and the credibility of fragments that follows from it.

Files are read through the workspace of the build, so that records and replay hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from contextasm.model import Problem, RetrievalResult, SourceQuery, Workspace, credibility
from contextasm.retrieval.reading.files import read_files
from contextasm.text.data.events import Feedback, count_judgements, parse_feedback
from contextasm.text.names.places import FEEDBACK_FILES


def read_feedback(workspace: Workspace, last_day: date) -> tuple[Sequence[Feedback], RetrievalResult]:
    """The feedback up to a day, one for each record, and its files with their problems; empty without any."""
    problems: list[Problem] = []
    documents = read_files(workspace, workspace.list(FEEDBACK_FILES), problems)
    lines, line_problems = parse_feedback(documents, last_day.isoformat())
    return lines, RetrievalResult((), tuple(documents), (*problems, *line_problems))


def with_credibility(query: SourceQuery, result: RetrievalResult) -> RetrievalResult:
    """The result of a source with `credibility` in each score, and with the files and problems of the feedback.

    It is from 0 to 1: the confidence that the fragment states, or 0.5, moved by judgements up to the day of the build.
    A section of a page has the judgements of all sections of that page: lines move when a page is edited.
    """
    lines, read = read_feedback(query.build.workspace, query.build.request.date)
    name_of = _page_name if any(source.shows_text for source in query.layer.query.traits) else str
    judgements = count_judgements(lines, name_of)
    fragments = []
    for each in result.fragments:
        useful, wrong = judgements.get(name_of(each.id), (0, 0))
        part = ("credibility", credibility(useful, wrong, each.labels.confidence))
        fragments.append(each._replace(score=(*each.score, part)) if each.score else each)
    documents, problems = (*result.documents, *read.documents), (*result.problems, *read.problems)
    return RetrievalResult(tuple(fragments), documents, problems)


def _page_name(fragment: str) -> str:
    """The path of a page, of an id such as `knowledge/a.md:5`; another id as it is."""
    path, _, line = fragment.rpartition(":")
    return path if line.isdecimal() else fragment
