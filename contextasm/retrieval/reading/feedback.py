"""Feedback of a workspace: what `ctxasm feedback` wrote, and the credibility of memories that follows from it.

Files are read through the workspace of the build, so that records and replay hold them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from contextasm.model import Document, Memory, NamedTuple, Problem, RetrievalResult, Workspace, credibility
from contextasm.retrieval.reading.files import read_files
from contextasm.text.data.events import Feedback, count_judgements, parse_feedback
from contextasm.text.names.places import FEEDBACK_FILES


class WorkspaceFeedback(NamedTuple):
    """The feedback of a workspace, with its files."""

    lines: Sequence[Feedback]
    """One for each record."""
    judgements: Mapping[str, tuple[int, int]]
    """How often each judged fragment was useful, and how often wrong, by its id."""
    documents: Sequence[Document]
    problems: Sequence[Problem]
    """Of files that can't be read, and of lines that are not feedback."""

    def credibility(self, memory: Memory) -> float:
        """The credibility of a memory, 0 to 1: its `confidence` (0.5 if it states none), moved by judgements."""
        useful, wrong = self.judgements.get(memory.id, (0, 0))
        return credibility(useful, wrong, memory.confidence)

    def added_to(self, result: RetrievalResult) -> RetrievalResult:
        """The result with the files and problems of the feedback."""
        return result._replace(
            documents=(*result.documents, *self.documents), problems=(*result.problems, *self.problems)
        )


def read_feedback(workspace: Workspace, last_day: date) -> WorkspaceFeedback:
    """The feedback up to a day; a workspace without any gives an empty one."""
    problems: list[Problem] = []
    documents = read_files(workspace, workspace.list(FEEDBACK_FILES), problems)
    lines, line_problems = parse_feedback(documents, last_day.isoformat())
    return WorkspaceFeedback(lines, count_judgements(lines), documents, (*problems, *line_problems))
