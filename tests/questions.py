"""The questions to `sample_workspace`, with the lines that answer them: `cases/questions/sample-workspace.yaml`."""

from pathlib import Path
from typing import NamedTuple

import yaml

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "tests" / "cases" / "questions" / "sample-workspace.yaml"
BUDGET = 2_000
"""Tokens that a context may have to answer one of them."""


class Evidence(NamedTuple):
    """Words of one line of a file."""

    path: str
    text: str


class Question(NamedTuple):
    """A question by an agent of a team, and for each fact of the answer the lines any one of which states it."""

    text: str
    agent: str
    team: str
    needs: tuple[tuple[Evidence, ...], ...]

    @property
    def words(self) -> tuple[str, ...]:
        """The words of the build that a person would ask for, but for the workspace."""
        return ("build", "-q", "-a", self.agent, "-t", self.team, "--topic", self.text, "-b", str(BUDGET))

    def held(self, context: str) -> int:
        """Number of its facts that a context states."""
        return sum(any(line.text in context for line in fact) for fact in self.needs)


def sample_questions() -> tuple[Question, ...]:
    """All questions, in the order of the file."""
    rows = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return tuple(Question(row["ask"], row["agent"], row["team"], _needs(row["needs"])) for row in rows)


def _needs(facts: list[list[dict[str, str]]]) -> tuple[tuple[Evidence, ...], ...]:
    """The facts of one question."""
    return tuple(tuple(Evidence(*pair) for line in fact for pair in line.items()) for fact in facts)
